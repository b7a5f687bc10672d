"""Inputs that fail, and inputs that are cut: the run goes on, counts and names them, and its scores say so."""

import errno
import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import words
from helpers.endpoint import arguments, besides_the_estimate, command, done, predictions, refused
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model
from helpers.models import WORDS, tiny_encoder
from helpers.processes import launch, shards, write_set

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.store import NO_ANSWER, REFUSED, Failed, Failures, ShardWriter, Store
from paraconsist.errors import InputError
from paraconsist.running.parts import merge_parts

LONG, ODD = 33, 47  # rows with a text beyond the window, and with a sign whose numbers are not finite


def write_rows(path: Path, n: int) -> Path:
    """Write buckets of four distinct texts."""
    rng = random.Random(0)
    rows = []
    for i in range(n):
        row = {c: " ".join(rng.choices(WORDS[1:], k=5)) for c in ("premise", "hypothesis", "update")}
        row |= {"premise": {LONG: "rain " * 400, ODD: "the @"}.get(i, row["premise"])}
        row |= {"example_id": f"e{i}", "bucket_id": f"b{i // 4}", "label": i // 4 % 2}
        rows.append({**row, "role": "original" if i % 4 == 0 else "paraphrase"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def spoil(folder: Path, auto: str, sign: str) -> None:
    """Make a model's numbers for a sign, which is one token, not finite."""
    import torch
    import transformers

    model = getattr(transformers, auto).from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        for token in tokenizer(sign, add_special_tokens=False)["input_ids"]:
            model.get_input_embeddings().weight[token] = torch.nan
    model.save_pretrained(folder)


def local(data: Path, output: Path, model: Path, **options: object) -> list[str]:
    given = {"model": model, "dataset": data, "output": output, "device": "cpu", "n_resamples": 20, **options}
    return words("run", **given)


def counts_of(output: Path) -> dict[str, Any]:
    counts = json.loads((output / "run.json").read_text())["inputs"]["set"]
    assert counts == predictions(output).metadata["inputs"]
    return counts


def notes_of(output: Path) -> str:
    return " | ".join(json.loads((output / "results.json").read_text())["set"]["warnings"])


def assert_answered_but(output: Path, n_inputs: int, kinds: dict[str, int]) -> None:
    """Hold predictions, ``run.json`` and scores to what failed."""
    rows = predictions(output).table.to_pylist()
    failed = [row for row in rows if row["unanswered"] is not None]
    assert Counter(row["unanswered"] for row in failed) == kinds
    assert [row for row in rows if row["prediction"] is None] == failed
    assert [row for row in rows if row["probabilities"] is None] == failed
    counts = counts_of(output)
    assert (counts["n_inputs"], counts["n_failed"], counts["failed"]) == (n_inputs, len(failed), kinds)
    assert sorted(counts["first_failed"]) == sorted(row["input_id"] for row in failed)
    assert f"{len(failed)} of {n_inputs} inputs have no answer" in notes_of(output)
    assert all(row["input_id"] in notes_of(output) for row in failed)
    assert json.loads((output / "results.json").read_text())["set"]["n_unparsed"] == len(failed)


def test_an_endpoint_refuses_one_fails_at_one_and_finds_one_too_long(tmp_path):
    data, output = write_rows(tmp_path / "set.jsonl", 400), tmp_path / "run"
    ids = load_bucket_set(str(data)).table["input_id"].to_pylist()
    faults = {ids[5]: "400", ids[ODD]: "500", ids[LONG]: "too_long"}
    with FaultyServer(script=lambda _, tag: faults.get(tag.partition(":")[0])) as server:
        given = arguments(server.url, data, output, tries=2, concurrency=16)
        done(given)
        assert_answered_but(output, 400, {"refused": 1, "no answer": 1, "too long": 1})
        done(["report", str(output), "--output", str(tmp_path / "page.html")])
        assert "3 of 400 inputs have no answer" in (tmp_path / "page.html").read_text()
        n = len(server.received)
        done(given)
        assert not server.sent(n)
        assert len(besides_the_estimate(refused([*given, "--on-error", "stop"]))) == 1
        del faults[ids[5]], faults[ids[ODD]]
        n = len(server.received)
        done([*given, "--retry-failed"])
        assert {tag.partition(":")[0] for tag in server.sent(n)} == {ids[5], ids[ODD], ids[LONG]}
    assert_answered_but(output, 400, {"too long": 1})


def test_a_server_that_is_gone_is_no_failure_of_its_inputs(tmp_path):
    data, output = write_rows(tmp_path / "set.jsonl", 60), tmp_path / "run"
    with FaultyServer() as server:
        server.script = lambda _, tag: "500" if len(server.answered()) >= 9 and tag != "probe" else None
        given = arguments(server.url, data, output, tries=1, concurrency=4)
        assert "16 consecutive inputs failed this way" in refused(given)
        server.script = None
        done(given)
    assert counts_of(output)["n_failed"] == 0


def test_a_language_model_meets_one_not_finite_and_one_too_long(tmp_path):
    data, model = write_rows(tmp_path / "set.jsonl", 60), save_language_model(tmp_path / "model")
    spoil(model, "AutoModelForCausalLM", "@")
    done(local(data, tmp_path / "run", model, max_length=500))
    assert_answered_but(tmp_path / "run", 60, {"not finite": 1, "too long": 1})
    assert "`--shots` must make prompts of at most 500 tokens" in refused(
        local(data, tmp_path / "other", model, max_length=500, on_error="stop")
    )


def test_written_answers_out_of_numbers_that_are_not_finite_fail_and_the_others_stay(tmp_path):
    data, model = write_rows(tmp_path / "set.jsonl", 60), save_language_model(tmp_path / "model")
    given = {"scoring": "generate", "max_new_tokens": 3}
    done(local(data, tmp_path / "whole", model, **given))
    spoil(model, "AutoModelForCausalLM", "@")
    done(local(data, tmp_path / "run", model, **given))
    whole, rows = (predictions(tmp_path / name).table.to_pylist() for name in ("whole", "run"))
    assert (rows[ODD]["unanswered"], rows[ODD]["prediction"], rows[ODD]["raw_output"]) == ("not finite", None, None)
    assert [row["raw_output"] for i, row in enumerate(rows) if i != ODD] == [
        row["raw_output"] for i, row in enumerate(whole) if i != ODD
    ]
    assert counts_of(tmp_path / "run")["failed"] == {"not finite": 1}
    assert (
        f"1 of 60 inputs have no answer and count as unparsed (1 not finite; the first: {rows[ODD]['input_id']})"
        in (notes_of(tmp_path / "run"))
    )
    assert "numbers that are not finite for input" in refused(
        local(data, tmp_path / "other", model, **given, on_error="stop")
    )


def test_the_finite_rows_of_a_batch_are_kept_as_they_are(tmp_path):
    data, model = write_rows(tmp_path / "set.jsonl", 60), tiny_encoder(tmp_path / "model", words=[*WORDS, "@"])
    done(local(data, tmp_path / "whole", model))
    spoil(model, "AutoModelForSequenceClassification", "@")
    done(local(data, tmp_path / "run", model))
    assert_answered_but(tmp_path / "run", 60, {"not finite": 1})
    expected, kept = (predictions(tmp_path / name).table["probabilities"].to_pylist() for name in ("whole", "run"))
    assert [*kept[:ODD], *kept[ODD + 1 :]] == [*expected[:ODD], *expected[ODD + 1 :]]
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, start=1):
        done(local(data, part, model, part=f"{i}/2"))
    merge_parts(parts, tmp_path / "merged")
    assert (
        predictions(tmp_path / "merged").table["unanswered"].equals(predictions(tmp_path / "run").table["unanswered"])
    )
    assert counts_of(tmp_path / "merged") == counts_of(tmp_path / "run")
    assert "numbers that are not finite for input" in refused(local(data, tmp_path / "run", model, on_error="stop"))
    spoil(model, "AutoModelForSequenceClassification", " ".join(WORDS))  # a matter of all inputs
    for _ in range(2):
        assert "16 consecutive inputs failed this way" in refused(local(data, tmp_path / "all", model))


@pytest.mark.parametrize(("kind", "answers", "n"), [(REFUSED, 0, 16), (NO_ANSWER, 1, 16), (REFUSED, 1, None)])
def test_what_no_input_is_to_blame_for_ends_the_pass(kind, answers, n):
    failures = Failures("unparsed", any_answered=False)
    for _ in range(answers):
        failures.answered()
    for number in range(1, 30):
        if number == n:
            refuses("16 consecutive inputs", failures.failed, kind, InputError("it is so."))
            return
        assert failures.failed(kind, InputError("it is so.")) == Failed(kind, "it is so.")
    assert n is None


def test_an_answer_stands_before_a_failure_in_whatever_shard(tmp_path):
    for order in (0, 1), (1, 0):
        store = Store(tmp_path / str(order), {})
        store.create()
        for rank, place in enumerate(order):
            with store.writer(rank) as shard:
                shard.append(["a"], [[Failed(REFUSED, "no."), [0.5, 0.5]][place]])
        assert store.finished() == {"a": [0.5, 0.5]}


def test_two_gold_labels_in_a_bucket_are_refused_before_a_model_is_loaded(tmp_path):
    data = write_rows(tmp_path / "set.jsonl", 8)
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    rows[6]["label"] = 0
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "the same gold label. 1 of 2 in set have two, such as 'b1': weakener and" in refused(
        local(data, tmp_path / "run", tmp_path / "no_model")
    )
    assert not (tmp_path / "run").exists()
    for row in rows:  # of originals alone nothing is measured
        row["role"] = "original"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done(local(data, tmp_path / "run", tiny_encoder(tmp_path / "model")))


def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on(tmp_path, monkeypatch):
    data, model = write_rows(tmp_path / "set.jsonl", 40), tiny_encoder(tmp_path / "model")
    given = local(data, tmp_path / "run", model, batch_tokens=100)
    write, n = ShardWriter._write, []

    def full(self: ShardWriter, lines: bytes) -> None:
        n.append(lines)
        with monkeypatch.context() as patch:
            if len(n) > 3:
                patch.setattr(os, "write", _no_space)
            write(self, lines)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "_write", full)
        code, _, said = command(given)
    assert code == 2
    assert said.count("error: ") == 1
    assert said.splitlines()[-1].endswith("Run the same command again to continue from here.")
    assert sum(shards(tmp_path / "run").values()) == sum(lines.count(b"\n") for lines in n[:3]) > 0
    done(given)
    assert sum(shards(tmp_path / "run").values()) == 40


def _no_space(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_nodes_without_a_shared_folder_are_told_so(tmp_path):
    data, model = write_rows(tmp_path / "set.jsonl", 12), tiny_encoder(tmp_path / "model")
    for rank in "01":
        (tmp_path / rank).mkdir()
    script = tmp_path / "node.py"
    script.write_text(
        f"import os\nos.chdir({str(tmp_path)!r} + '/' + os.environ['RANK'])\nfrom paraconsist.cli import main\nmain()\n"
    )
    for _ in range(2):
        ended = launch(local(data, Path("run"), model), processes=2, script=(str(script),), check=False)
        assert ended.returncode != 0
        assert ended.stderr.count("Processes on several nodes need one folder that all of them see.") == 1
        shutil.copytree(tmp_path / "0" / "run", tmp_path / "1" / "run", dirs_exist_ok=True)  # an older run of that node


@pytest.mark.slow
def test_what_only_the_second_process_meets_is_told(tmp_path):
    script = tmp_path / "one_fails.py"
    script.write_text(
        "import os, sys, time\n"
        "from paraconsist.cli import main\n"
        "time.sleep(60) if os.environ['RANK'] == '0' else main()\n"
    )
    ended = launch(["score", str(tmp_path / "absent.jsonl")], processes=2, script=(str(script),), check=False)
    assert ended.returncode != 0
    assert ended.stderr.count("error: ") == 1
    assert "absent.jsonl" in ended.stderr


@pytest.mark.slow
def test_cut_inputs_are_counted_with_one_process_with_two_and_when_all_is_there(tmp_path):
    data, model = write_set(tmp_path / "set.jsonl", 60), tiny_encoder(tmp_path / "model")
    rows = load_bucket_set(str(data))
    inputs = {row["input_id"]: rows.task.encode(row) for row in rows.table.to_pylist()}
    lengths = [len(f"{one.text} {one.text_pair}".split()) + 3 for one in inputs.values()]
    n, most = sum(length > 16 for length in lengths), max(lengths) - 16
    assert 0 < n < len(inputs)
    for processes in (1, 2, 1):
        given = local(data, tmp_path / f"run{processes}", model, max_length=16)
        launch(given, processes=2) if processes == 2 else done(given)
        counts = counts_of(tmp_path / f"run{processes}")
        assert (counts["n_inputs"], counts["n_cut"], counts["most_tokens_cut"]) == (len(inputs), n, most)
        assert f"{n} of {len(inputs)} inputs are longer than the model's window of 16 tokens" in notes_of(
            tmp_path / f"run{processes}"
        )
