"""Requests exported as batch files and their answers imported: what a run over the same server gives."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from helpers.commands import write
from helpers.endpoint import arguments as run_arguments
from helpers.endpoint import done, refused
from helpers.faulty_server import FaultyServer
from helpers.processes import write_set

from paraconsist.data.predictions import read_predictions
from paraconsist.running.requests import _unanswered


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("requests") / "set.jsonl")


def _export(data, output, *more):
    return ["export-requests", "--model", "toy", "--dataset", str(data), "--output", str(output), *map(str, more)]


def _files(output):
    return sorted((output / "requests").glob("*.jsonl"))


def _requests(output):
    return [json.loads(line) for file in _files(output) for line in file.read_text().splitlines()]


def _answered(server, requests, fails=()):
    """Answer requests as a batch interface does, in another order; those whose number is in `fails` fail."""
    lines = []
    for number, request in reversed(list(enumerate(requests))):
        status, body = server.answer(request["url"], request["body"])
        if number in fails:
            status, body = 400, {"error": {"message": "The prompt is refused."}}
        response = {"status_code": status, "request_id": str(number), "body": body}
        lines.append({"id": f"b{number}", "custom_id": request["custom_id"], "response": response, "error": None})
    return lines


def _import(output, *files):
    return ["import-answers", *map(str, files), "--output", str(output), "--n-resamples", "20"]


def test_an_export_tells_its_cost_and_an_import_what_was_read(tmp_path):
    """It exported "0 requests in 0 files:", at no price; of answers that were read it told how fast they were asked."""
    rows = [{"bucket_id": str(i // 2), "question": f"Wording {i}?", "expected": "yes"} for i in range(4)]
    data, output = write(tmp_path / "q.jsonl", rows), tmp_path / "batch"
    told = done(_export(data, output, "--price", "1,2"))
    assert "4 requests in 1 file:" in told
    assert "estimate: 4 requests, 10 tokens read" in told
    assert "at most 1,024 written, cost up to 0.0021." in told
    with FaultyServer(write=lambda text, body: "yes") as server:
        lines = _answered(server, _requests(output))
    assert "1 of 4 inputs has no answer" in refused(_import(output, write(tmp_path / "a.jsonl", lines[:3])))
    told = done(_import(output, write(tmp_path / "b.jsonl", lines)))
    assert "questions: 1 distinct input answered (3 were there already).\n" in told
    assert "questions: written answers; 4 requests answered in all, " in told
    told = done(_export(data, output, "--price", "1,2"))
    assert told == "Nothing is left to export: every request has its answer.\n"
    with FaultyServer(write=lambda text, body: "yes") as server:
        assert "q.jsonl" not in (told := done(run_arguments(server.url, data, tmp_path / "run")))
        assert "questions: written answers; 4 requests" in told


OPTIONS = {
    "label": [],
    "chat": ["--api", "chat"],
    "generate": ["--scoring", "generate", "--max-new-tokens", "3"],
    "drawn": ["--scoring", "generate", "--temperature", "0.7", "--repeats", "1", "--seed", "3"],
    "shots": ["--shots", "2", "--examples", "{data}", "--limit", "40", "--price", "1,2"],
    "noise": ["--noise-floor", "2", "--request-field", "top_k=4"],
}


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_imported_answers_are_those_of_a_run(data, tmp_path, options):
    options = [data if one == "{data}" else one for one in options]
    with FaultyServer(echo=False) as server:
        done([*run_arguments(server.url, data, tmp_path / "run"), *map(str, options)])
        out = done(_export(data, tmp_path / "batch", *options, "--per-file", "20"))
        requests = _requests(tmp_path / "batch")
        assert [file.read_text().count("\n") for file in _files(tmp_path / "batch")][:-1] == [20] * (
            len(requests) // 20
        )
        assert out.count(".jsonl") == len(_files(tmp_path / "batch"))
        sent = [r.body for r in server.received if r.tag != "probe"]
        assert sorted(map(json.dumps, sent)) == sorted(json.dumps(request["body"]) for request in requests)
        half = len(requests) // 2
        lines = _answered(server, requests)
    files = [write(tmp_path / "a.jsonl", lines[:half]), write(tmp_path / "b.jsonl", lines[half:])]
    done(_import(tmp_path / "batch", *files))
    for kind in ("predictions", "texts", "noise"):
        ours, theirs = (tmp_path / name / kind / "set.parquet" for name in ("batch", "run"))
        assert ours.is_file() == theirs.is_file()
        assert not ours.is_file() or pq.read_table(ours).equals(pq.read_table(theirs))
    about = [read_predictions(tmp_path / name / "predictions" / "set.parquet").metadata for name in ("batch", "run")]
    runs = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("batch", "run")]
    assert about[0] == about[1]
    assert runs[0]["models"] == runs[1]["models"]
    passes = [run["endpoint"]["defeasible_nli"] for run in runs]
    for one in passes:
        one["last"].pop("seconds")
    passes[1]["last"].pop("urls")
    assert passes[0] == passes[1]
    assert "were there already" in done(_import(tmp_path / "batch", files[0]))
    assert "batch.invalid" not in (tmp_path / "batch" / "run.json").read_text()  # no server's address


@pytest.fixture(scope="module")
def answered(data, tmp_path_factory):
    """A folder of exported requests, and their answers."""
    output = tmp_path_factory.mktemp("answered") / "batch"
    done(_export(data, output))
    with FaultyServer(echo=False) as server:
        return output, _answered(server, _requests(output))


def test_failed_requests_are_named_and_exported_again(data, answered, tmp_path):
    output, lines = tmp_path / "batch", answered[1]
    shutil.copytree(answered[0], output)
    requests = _requests(output)
    with FaultyServer(echo=False) as server:
        some = _answered(server, requests, fails={3, 5})
        some[0] = {**some[0], "response": None, "error": {"code": "batch_expired", "message": "It took too long."}}
        some[1]["response"]["body"]["choices"][0].pop("logprobs")
    said = refused(_import(output, write(tmp_path / "a.jsonl", some[:-2])))
    # refused or unreadable ones are kept as failed; what was not processed, or is in no file, is not there
    expired = some[0]["custom_id"].partition("-")[0]
    assert f"3 of {len(requests)} inputs have no answer; 1 failed: {expired} (It took too long.)." in said
    assert said.count("\n") == 1
    live = shutil.copytree(output, tmp_path / "live")
    for option, numbers in ((), (0, 1, -1)), (("--retry-failed",), (3, 5, -2)):
        done(_export(data, output, *option))
        left = _requests(output)
        assert {one["custom_id"] for one in left} == {requests[i]["custom_id"] for i in numbers}
        with FaultyServer(echo=False) as server:
            out = done(_import(output, write(tmp_path / "b.jsonl", _answered(server, left))))
        counts = read_predictions(output / "predictions" / "set.parquet").metadata["inputs"]
        assert (counts["n_failed"], counts["failed"]) == ((0, {}) if option else (3, {"refused": 2, "no answer": 1}))
    assert "have no answer" not in out
    with FaultyServer(echo=False) as server:
        done([*run_arguments(server.url, data, live), "--retry-failed"])  # or a server answers what is left
        assert len(server.answered()) == 6
    whole = shutil.copytree(answered[0], tmp_path / "whole")
    done(_import(whole, write(tmp_path / "all.jsonl", lines)))
    tables = [pq.read_table(folder / "predictions" / "set.parquet") for folder in (output, live, whole)]
    assert tables[0].equals(tables[2])
    assert tables[1].equals(tables[2])


def test_an_answer_that_failed_is_paid_once_however_often_its_file_is_read(tmp_path):
    """Each import counted it again."""
    rows = [{"bucket_id": str(i // 2), "question": f"Wording {i}?", "expected": "yes"} for i in range(4)]
    data, output = write(tmp_path / "q.jsonl", rows), tmp_path / "batch"
    done(_export(data, output, "--price", "1,2"))
    with FaultyServer(write=lambda text, body: "yes") as server:
        lines = _answered(server, _requests(output))
    lines[0]["response"]["body"]["choices"][0]["finish_reason"] = "content_filter"
    refused(_import(output, write(tmp_path / "a.jsonl", lines[:2])))
    for _ in range(2):
        done(_import(output, write(tmp_path / "b.jsonl", lines)))
        spent = json.loads((output / "run.json").read_text())["endpoint"]["questions"]
        read = sum(line["response"]["body"]["usage"]["prompt_tokens"] for line in lines)
        assert (spent["n_requests"], spent["prompt_tokens"]) == (4, read)


@pytest.mark.faults
def test_requests_that_were_all_refused_for_one_reason_say_which(data, tmp_path):
    with FaultyServer(echo=False, length_field="max_completion_tokens") as server:
        done(_export(data, tmp_path / "batch"))
        lines = _answered(server, _requests(tmp_path / "batch"))
        said = refused(_import(tmp_path / "batch", write(tmp_path / "a.jsonl", lines)))
        assert "use 'max_completion_tokens'" in said
        assert "max_tokens=null and max_completion_tokens=N" in said
        fields = [f"--request-field={field}" for field in ("max_tokens=null", "max_completion_tokens=1")]
        done(_export(data, tmp_path / "again", *fields))
        lines = _answered(server, _requests(tmp_path / "again"))
    done(_import(tmp_path / "again", write(tmp_path / "b.jsonl", lines)))


@pytest.mark.faults
def test_half_an_emoji_and_an_absurd_count_do_not_block_an_import(data, tmp_path):
    done(_export(data, tmp_path, "--scoring", "generate"))
    with FaultyServer(write=lambda text, body: "S \ud83d") as server:
        lines = _answered(server, _requests(tmp_path))
    lines[0]["response"]["body"]["usage"] = {"prompt_tokens": 10**1000}
    done(_import(tmp_path, write(tmp_path / "a.jsonl", lines)))
    raw = read_predictions(tmp_path / "predictions" / "set.parquet").table["raw_output"]
    assert set(raw.to_pylist()) == {"S \ufffd"}


def test_answers_that_do_not_belong(data, answered, tmp_path):
    folder, lines = answered
    done(_export(data, tmp_path / "other", "--scoring", "generate"))
    other = _requests(tmp_path / "other")[0]["custom_id"]
    key = lines[0]["custom_id"].partition("-")[2]
    changed = json.loads(json.dumps(lines[0]))
    first = changed["response"]["body"]["choices"][0]["logprobs"]["top_logprobs"][0]
    changed["response"]["body"]["choices"][0]["logprobs"]["top_logprobs"] = [{t: v - 1 for t, v in first.items()}]
    cut = tmp_path / "cut.jsonl"
    cut.write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1])[:50])
    for given, message in (
        ([{**lines[0], "custom_id": "request-1"}], "has a custom_id that `export-requests` did not write"),
        ([{**lines[0], "custom_id": other}], "is to a request of another export: of another model, prompt or setting"),
        ([{**lines[0], "custom_id": f"{'0' * 32}-{key}"}], "is to an input that is not in these sets"),
        ([lines[0], lines[0], changed], "line 3 of "),
        ([lines[0], changed], "differs from an earlier answer"),
        (None, "must be whole files of JSON lines, one an answer"),
    ):
        file = cut if given is None else write(tmp_path / "given.jsonl", given)
        said = refused(_import(folder, file))
        assert message in said, said
        assert said.count("\n") == 1
        assert "--answers" not in said
    assert "`--output` must be the folder of an export" in refused(_import(tmp_path, cut))
    assert "scoring: 'label' there, 'generate' now" in refused(_export(data, folder, "--scoring", "generate"))


def test_a_file_has_no_more_bytes_than_an_interface_takes(data, tmp_path, monkeypatch):
    monkeypatch.setattr("paraconsist.running.requests.MOST_BYTES", 4000)
    done(_export(data, tmp_path))
    sizes = [file.stat().st_size for file in _files(tmp_path)]
    assert len(sizes) > 4
    assert max(sizes) <= 4000
    assert len({request["custom_id"] for request in _requests(tmp_path)}) == len(_requests(tmp_path))


def test_a_template_that_changed_meanwhile_is_said(data, tmp_path):
    template = tmp_path / "own.yaml"
    text = 'question: "{premise} {hypothesis} {update}"\nlabels: {weakener: "e", strengthener: "s"}\n'
    template.write_text(text)
    done(_export(data, tmp_path / "batch", "--template", template))
    with FaultyServer(echo=False) as server:
        lines = _answered(server, _requests(tmp_path / "batch"))
    template.write_text(text.replace("{premise} ", "{premise}. "))
    said = refused(_import(tmp_path / "batch", write(tmp_path / "a.jsonl", lines)))
    assert "prompt_hash: " in said
    assert said.count("\n") == 1


def test_three_reasons_are_told_of_answers_that_are_missing():
    for failed, told in (("abc", "c (why)."), ("abcd", "c (why), ....")):
        said = str(_unanswered([*"abcde"], dict.fromkeys(failed, "why"), 9))
        assert f"5 of 9 inputs have no answer; {len(failed)} failed: a (why), b (why), {told} What was" in said
