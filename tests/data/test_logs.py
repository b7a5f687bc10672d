"""Logs that lm-eval and inspect_ai wrote: scored as they are, right where the tools say so, and P_C by its definition.

Golden numbers are those in the tools' own results, beside or inside the logs (tests/fixtures/logs/README.md)."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.errors import refuses
from helpers.logs import LM_EVAL, LOGS, check, double_loop, entries, inspect_log, lines, places, samples, scored

import paraconsist as pc
from paraconsist.data.logs.fields import Records, Table, value_of
from paraconsist.data.logs.reading import built_in, detect, formats, read_logs
from paraconsist.data.options import SourceOptions
from paraconsist.errors import InputError


@pytest.mark.parametrize(
    ("task", "bucket", "key", "options", "metric"),
    [
        ("yes_no", "doc.question_id", lambda doc: doc["question_id"], [], "acc,none"),
        ("yes_no", r'doc.id ~ "^(\d+)-"', lambda doc: doc["id"][:2], [], "acc,none"),
        ("which_place", "doc.meta.fact", lambda doc: doc["meta"]["fact"], [], "acc,none"),
        ("which_place", "{meta.fact}", lambda doc: doc["meta"]["fact"], ["--metric", "acc_norm"], "acc_norm,none"),
        *(
            ("yes_no_generated", "question_id", lambda doc: doc["question_id"], ["--filter", f], f"exact_match,{f}")
            for f in ("first_word", "anywhere")
        ),
    ],
)
def test_lm_eval(command, task, bucket, key, options, metric):
    reported = json.loads(next(LM_EVAL.glob("results_*.json")).read_text())
    name, which = metric.split(",")
    rows = [(key(row["doc"]), row[name] == 1.0) for row in lines(samples(task)) if row["filter"] == which]
    sizes = [sum(bucket == one for bucket, _ in rows) for one in {bucket for bucket, _ in rows}]
    assert min(sizes) < max(sizes), "lopsided buckets are the case worth testing"
    result = scored(command, samples(task), "--bucket", bucket, *options)
    check(result, reported["results"][task][metric], double_loop(rows))
    assert result["source"]["version"] == "0.4.13"
    assert (result["model"], result["set"]) == ("tiny-random-llama", task)
    if task == "yes_no_generated":
        kept = [row for row in lines(samples(task)) if row["filter"] == which]
        assert result["n_unparsed"] == sum(row["filtered_resps"] == ["[invalid]"] for row in kept) > 0


@pytest.mark.parametrize("task", ["yes-no", "which-place", "twice"])
def test_inspect(command, task):
    found = entries(inspect_log(task))
    (score,) = found["header.json"]["results"]["scores"]
    told = [content for name, content in found.items() if name.startswith("samples/")]
    verdict = [one["scores"][score["name"]] for one in told]
    key = "metadata.fact" if task == "which-place" else "metadata.question_id"
    buckets = [(one["metadata"][key.split(".")[1]], one["epoch"]) for one in told]
    rows = [(bucket, one["value"] == "C") for bucket, one in zip(buckets, verdict, strict=True)]
    result = scored(command, inspect_log(task), "--bucket", key)
    measure = check(result, score["metrics"]["accuracy"]["value"], double_loop(rows))
    assert result["n_unparsed"] == sum(not one.get("answer") for one in verdict) > 0
    assert result["source"]["version"] == "0.3.285"
    if task == "twice":
        assert "ci:group" in measure["signature"], "the epochs of a bucket are not independent"
        assert any(note.startswith("2 epochs") for note in result["warnings"])
        first = [row for row in rows if row[0][1] == 1]
        check(
            scored(command, inspect_log(task), "--bucket", key, "--epoch", 1),
            sum(right for _, right in first) / len(first),
            double_loop(first),
        )


def test_a_json_log_of_inspect_is_the_same(command, tmp_path):
    found = entries(inspect_log("which-place"))
    file = tmp_path / "log.json"
    told = [content for name, content in found.items() if name.startswith("samples/")]
    for score in (score for one in told for score in one["scores"].values()):
        score["value"] = score["value"] if score.get("answer") else "N"  # as some scorers mark that there is no answer
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))
    assert detect(file).name == "inspect_ai"
    given = ("--bucket", "metadata.fact")
    same = [scored(command, log, *given)["measures"] for log in (file, inspect_log("which-place"))]
    assert same[0] == same[1]
    file.rename(tmp_path / inspect_log("which-place").with_suffix(".json").name)  # as `--log-format json` names it
    assert scored(command, tmp_path, *given)["measures"] == same[0]  # a folder of such logs "held no logs"


@pytest.mark.parametrize(
    "given",
    [
        ("--role", "doc.kind"),
        ("--original", 'doc.kind == "Original"'),
        ("--original", 'doc.id ~ "-0$"'),
        ("--original", 'kind != "Paraphrase"'),
    ],
)
def test_originals_leave_the_buckets(command, given):
    rows = [(row["doc"], row["acc"] == 1.0) for row in lines(samples("yes_no"))]
    wordings = [(doc["question_id"], right) for doc, right in rows if doc["kind"] == "Paraphrase"]
    result = scored(command, samples("yes_no"), "--bucket", "question_id", *given, "--stratum", "doc.indoors")
    measure = check(result, sum(right for _, right in wordings) / len(wordings), double_loop(wordings))
    originals = [right for doc, right in rows if doc["kind"] == "Original"]
    assert measure["original_accuracy"] == pytest.approx(sum(originals) / len(originals))
    indoors = result["strata"]["doc.indoors"]["yes"]["paraphrastic_consistency"]["n_examples"]
    assert indoors == sum(doc["indoors"] and doc["kind"] == "Paraphrase" for doc, _ in rows)


def test_labels_and_probabilities():
    (rows,) = read_logs([samples("yes_no")], SourceOptions(bucket="question_id")).values()
    assert rows.label_names == ("no", "yes")
    told = np.array([[float(pair[0]) for pair in row["filtered_resps"]] for row in lines(samples("yes_no"))])
    softmax = np.exp(told) / np.exp(told).sum(axis=1, keepdims=True)
    assert np.allclose(rows.table["probabilities"].to_pylist(), softmax)
    assert rows.table["prediction"].to_pylist() == told.argmax(axis=1).tolist()
    (rows,) = read_logs([samples("which_place")], SourceOptions(bucket="meta.fact")).values()
    first = lines(samples("which_place"))[0]
    weights = np.exp([float(pair[0]) for pair in first["filtered_resps"]])
    assert rows.table["label"][0].as_py() == first["doc"]["place"]
    gold = first["doc"]["choices"].index(first["doc"]["place"])
    assert rows.table["gold_confidence"][0].as_py() == pytest.approx(weights[gold] / weights.sum())


def test_fields_of_probabilities_and_documents_without_prompts(tmp_path):
    file = tmp_path / "samples_yes_no.jsonl"
    rows = [{"doc_id": i, "doc": {"b": i // 2, "ask": f"Is it {i}?", "yes": i / 4}} for i in range(4)]
    for row in rows:
        row["doc"]["no"] = 1 - row["doc"]["yes"]
        row |= {"target": "yes", "filtered_resps": ["no"], "resps": [["no"]], "filter": "none"}
    file.write_text("\n".join(map(json.dumps, rows)))
    asked = SourceOptions(bucket="b", probabilities=("doc.no", "yes"), group="doc.ask")
    (read,) = read_logs([file], asked, texts=()).values()
    assert read.table["probabilities"].to_pylist() == [[1 - i / 4, i / 4] for i in range(4)]
    assert read.table["group_id"].to_pylist() == read.table["doc.ask"].to_pylist() == [f"Is it {i}?" for i in range(4)]


def rewritten(tmp_path: Path, task: str, change: Callable[[dict[str, Any]], None]) -> Path:
    rows = lines(samples(task))
    for row in rows:
        change(row)
    file = tmp_path / f"{task}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def measures(path: Path, **asked: Any) -> list[tuple[Any, ...]]:
    (found,) = read_logs([path], SourceOptions(**{"bucket": "question_id", **asked})).values()
    return list(zip(*(found.table[name].to_pylist() for name in ("bucket_id", "label", "prediction")), strict=True))


def test_other_shapes_of_lm_eval(tmp_path):
    wanted = measures(samples("yes_no"))

    def older(row: dict[str, Any]) -> None:  # lists of two kinds, no filter
        row["filtered_resps"] = [[float(value), greedy == "True"] for value, greedy in row["filtered_resps"]]
        row["arguments"] = [[one["arg_0"], one["arg_1"]] for one in row["arguments"].values()]
        row["resps"] = [[one] for one in row["filtered_resps"]]
        del row["filter"], row["metrics"]

    file = rewritten(tmp_path, "yes_no", older)
    assert measures(file, metric=None) == wanted
    file.write_text(json.dumps(lines(file), indent=2))  # as lm-eval up to 0.4.2 wrote it: it was a plain table
    assert measures(file, metric=None) == wanted

    def shuffled(row: dict[str, Any]) -> None:  # the same two choices, the other way round in some rows
        if row["doc_id"] % 3 == 0:
            row["filtered_resps"].reverse()
            first, second = row["arguments"].values()
            row["arguments"] = {"gen_args_0": second, "gen_args_1": first}
            row["target"] = str(1 - int(row["target"]))

    turned = {"no": "yes", "yes": "no"}
    found = measures(rewritten(tmp_path, "yes_no", shuffled))
    names = read_logs([tmp_path / "yes_no.jsonl"], SourceOptions(bucket="question_id"))["yes_no"].label_names
    assert names == ("yes", "no"), "the first row's order"
    assert [(b, turned[("no", "yes")[p]], turned[("no", "yes")[g]]) for b, p, g in found] == [
        (b, ("no", "yes")[p], ("no", "yes")[g]) for b, p, g in wanted
    ]

    def several(row: dict[str, Any]) -> None:  # both answers are right
        row["target"], row["acc"] = "[1, 0]", 1.0

    assert all(label == prediction == 1 for _, label, prediction in measures(rewritten(tmp_path, "yes_no", several)))

    def said(row: dict[str, Any]) -> None:  # the target is a field of true and false, which the tool takes for 1 and 0
        row["target"] = str(row["target"] == "1")

    assert measures(rewritten(tmp_path, "yes_no", said)) == wanted


@pytest.mark.parametrize("target", ["5", "[1, 5]", "[]"])
def test_a_target_that_is_no_choice_is_refused(tmp_path, target):
    def elsewhere(row: dict[str, Any]) -> None:
        (no, _), (yes, _) = row["filtered_resps"]
        row["target"], row["acc"] = target, float(float(yes) > float(no))

    refuses("be a choice's number or text", measures, rewritten(tmp_path, "yes_no", elsewhere))


@pytest.mark.faults
@pytest.mark.parametrize("task", ["yes_no", "which_place"])  # which_place offers other choices in each row
def test_a_log_likelihood_that_is_no_number_is_unparsed(command, tmp_path, task):
    def broken(row: dict[str, Any]) -> None:
        if row["doc_id"] in (2, 7):
            row["filtered_resps"][1][0], row["acc"] = "nan", float(row["target"] == "1")

    bucket = {"yes_no": "question_id", "which_place": "meta.fact"}[task]
    assert scored(command, rewritten(tmp_path, task, broken), "--bucket", bucket)["n_unparsed"] == 2


def test_an_answer_of_one_continuation_is_the_gold_one_or_another(tmp_path):
    def one(row: dict[str, Any]) -> None:
        row["filtered_resps"], row["target"] = row["filtered_resps"][:1], " yes"
        row["acc"] = float(row["doc_id"] % 2)

    wanted = [(" yes", " yes" if row["doc_id"] % 2 else "(another answer)") for row in lines(samples("yes_no"))]
    file = rewritten(tmp_path, "yes_no", one)
    assert [found[1:] for found in measures(file)] == wanted
    unjudged = rewritten(tmp_path, "yes_no", lambda row: (one(row), row.update(metrics=[])))
    refuses("`metric` must name a metric of right and wrong", measures, unjudged)


def test_an_answer_that_a_filter_left_out_is_unparsed(tmp_path):
    def empty(row: dict[str, Any]) -> None:
        if row["exact_match"] == 0.0:
            row["filtered_resps"] = [None]

    found = measures(rewritten(tmp_path, "yes_no_generated", empty), filter="anywhere")
    rows = [row for row in lines(samples("yes_no_generated")) if row["filter"] == "anywhere"]
    assert [answer for *_, answer in found] == [row["target"] if row["exact_match"] else None for row in rows]


def test_verdicts_decide_not_the_spelling(tmp_path):
    def loosely(row: dict[str, Any]) -> None:  # the metric ignored case and punctuation
        if row["exact_match"] == 1.0:
            row["filtered_resps"] = [row["filtered_resps"][0].upper() + "."]

    asked = {"filter": "anywhere"}
    assert measures(rewritten(tmp_path, "yes_no_generated", loosely), **asked) == measures(
        samples("yes_no_generated"), **asked
    )


FIELDS = Table(
    pa.table(
        {
            "doc": [{"id": "a-1", "n": 1, "list": ["x", "y"], "with.point": 7}, {"id": "b-0", "n": 2, "list": ["z"]}],
            "doc.id": ["its own", "name"],
        }
    )
)
RECORDS = Records([{"doc": {"id": "a-1", "n": 1, "list": ["x", "y"]}}, {"doc": {"id": "b-0", "n": "2", "list": ["z"]}}])


@pytest.mark.parametrize(
    ("fields", "text", "values"),
    [
        (FIELDS, "doc.n", [1, 2]),
        (FIELDS, "n", [1, 2]),
        (FIELDS, "doc.id", ["its own", "name"]),
        (FIELDS, "doc.with.point", [7, None]),
        (FIELDS, "doc.list.1", ["y", None]),
        (FIELDS, "doc.list.0", ["x", "z"]),
        (FIELDS, r"doc.id ~ '^(\w+)'", ["its", "name"]),
        (FIELDS, "doc.id ~ 'own'", [True, False]),
        (FIELDS, 'doc.n == "2"', [False, True]),
        (FIELDS, 'doc.n != "2"', [True, False]),
        (FIELDS, "{n}/{ doc.id }!", ["1/its own!", "2/name!"]),
        (RECORDS, "doc.n", ["1", "2"]),
        (RECORDS, r'doc.id ~ "(\d)$"', ["1", "0"]),
        (RECORDS, "doc.list.1", ["y", None]),
        (RECORDS, "{doc.list}", ['["x", "y"]', '["z"]']),
    ],
)
def test_expressions(fields, text, values):
    assert value_of(fields, text, parameter="bucket", roots=["doc"]).to_pylist() == values


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("doc.nothing", r"`bucket` must name a column of the file; got 'doc.nothing'. Its columns are doc.id, doc\."),
        ("doc.id.deeper", "must name a column"),
        ('doc.id ~ "(["', "must hold a regular expression"),
        ('doc.id ~ "(a)(b)"', "must have at most one group"),
        (r'doc.id ~ "^(its)"', "must match in every row; got 'name' at row 1"),
        ("{doc.id", "must hold a field in each pair of braces"),
        ("__import__('os').system('true')", "must name a column"),
    ],
)
def test_expressions_that_are_none(text, sentence):
    with pytest.raises(InputError, match=sentence):
        value_of(FIELDS, text, parameter="bucket")


def test_every_format_says_what_it_is():
    assert len({one.name for one in built_in()}) == len(built_in()) == 13
    assert [one for one in formats() if one in built_in()] == [*built_in()]
    assert [detect(path).name for path in (samples("yes_no"), inspect_log("yes-no"))] == ["lm_eval", "inspect_ai"]


def test_several_files_of_one_run_and_a_full_test_set(command):
    given = ("--bucket", r'id ~ "^(\d+)-"', "--n-resamples", 400, "--json")
    out = command.out("score", samples("yes_no"), samples("which_place"), *given)
    assert set(json.loads(out)) == {"yes_no", "which_place"}
    both = ("--bucket", "question_id", "--role", "kind", "--test-predictions", samples("yes_no"))
    measure = scored(command, samples("yes_no"), *both)["measures"]["paraphrastic_consistency"]
    reported = json.loads(next(LM_EVAL.glob("results_*.json")).read_text())["results"]["yes_no"]["acc,none"]
    assert measure["test_accuracy"] == pytest.approx(reported)
    assert 0 < measure["covered_mass"] <= 1


def prompts(folder: Path, model: str) -> Path:
    """A run of one task under three prompts, each a task of its own: question i is right under i % 4 of them."""
    for number in range(3):
        log = folder / model / f"samples_sst2_prompt_{number}_2026-05-01T10-00-00.000000.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        cells = [{"doc_id": i, "doc": {"q": f"q{i}"}, "target": "yes", "acc": float(i % 4 > number)} for i in range(24)]
        texts = [{"resps": [["no"]], "filtered_resps": ["no"], "filter": "none", "metrics": ["acc"]}] * len(cells)
        log.write_text("\n".join(json.dumps(cell | text) for cell, text in zip(cells, texts, strict=True)))
    of_run = json.dumps({"results": {}, "model_name": model})
    (folder / model / "results_2026-05-01T10-00-00.000000.json").write_text(of_run)
    return folder / model


def test_prompts_that_are_tasks_of_their_own_are_wordings_of_one(command, tmp_path):
    one, two = (prompts(tmp_path, model) for model in ("small", "large"))
    options = ("--bucket", "doc_id", "--variant", "file")
    result = json.loads(command.out("score", one, *options, "--json"))["sst2_prompt"]
    of_buckets, of_prompts = (result["measures"][name] for name in ("paraphrastic_consistency", "prompt_sensitivity"))
    # 0, 1, 2 and 3 of three right: pairs that agree 3, 1, 1 and 3 of 3
    assert of_buckets["paraphrastic_consistency_unbiased"] == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4)
    assert of_prompts["variant_accuracies"] == {f"sst2_prompt_{number}": (3 - number) / 4 for number in range(3)}
    assert "sst2_prompt: small (1) and large (2), 24 buckets" in command.out("compare", one, two, *options)
    assert "72 rows; problem 24, wording 3" in command.out("variance", one, *options)
    table = {"question": ["a", "b"] * 6, "answer": ["x", "y"] * 6, "gold": ["x", "x"] * 6}
    files = [tmp_path / f"asked_{name}.csv" for name in ("brief", "bright")]
    for file in files:
        pd.DataFrame(table).drop_duplicates().to_csv(file, index=False)
    columns = ("--bucket", "question", "--prediction", "answer", "--label", "gold")
    assert "asked: 2 buckets, 4 paraphrases" in command.out("score", *files, *columns, "--variant", "file")
    assert command("gate", "pc >= 1", *files, *columns, "--variant", "file")[0] == 0


@pytest.mark.faults
def test_wordings_in_files_of_which_one_has_an_answer_that_is_no_number(tmp_path):
    """It ended in a traceback."""
    files = [tmp_path / f"asked_{name}.csv" for name in ("brief", "bright")]
    table = {"bucket_id": [1, 2], "label": [1, 0]}
    for file, answers in zip(files, ([1, 0], [1, "n/a"]), strict=True):
        pd.DataFrame({**table, "prediction": answers}).to_csv(file, index=False)
    (scored,) = pc.score(files, variant="file").sets.values()
    assert scored.measures["paraphrastic_consistency"]["accuracy"] == 0.75
    files[1].write_text("bucket_id,label,prediction\n1,1,1.0\n2,0,n/a\n")
    refuses("have columns of one kind.*Field prediction", pc.score, files, variant="file")


def chosen(path: Path, requests: list[list[tuple[str, str]]], picked: list[int]) -> Path:
    """Write a log of multiple choice: (context, continuation) of each choice of a row, and the place of its answer."""
    lines = []
    for row, (of_row, place) in enumerate(zip(requests, picked, strict=True)):
        asked = {f"gen_args_{i}": {"arg_0": context, "arg_1": text} for i, (context, text) in enumerate(of_row)}
        numbers = [["-1.0" if i == place else "-9.0", "False"] for i in range(len(of_row))]
        line = {"doc_id": row, "doc": {"item": row // 2}, "target": "0", "arguments": asked, "filtered_resps": numbers}
        lines.append(line | {"resps": [[n] for n in numbers], "filter": "none", "metrics": ["acc"], "acc": place == 0})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_choices_that_differ_in_their_contexts_are_numbers(command, tmp_path):
    """As in WinoGrande: the same end after either name, and another end in another wording."""
    requests = [[(f"Ann {row}", f" end {row}"), (f"Bob {row}", f" end {row}")] for row in range(8)]
    log = chosen(tmp_path / "samples_who_2026-05-01T10-00-00.000000.jsonl", requests, [0, 0, 1, 1, 0, 1, 0, 0])
    (found,) = command.json("score", log, "--bucket", "item").values()
    assert found["wording"]["wording_change"] == 0.25
    assert found["measures"]["paraphrastic_consistency"]["accuracy"] == 5 / 8


def test_choices_of_one_text_have_no_names(command, tmp_path):
    requests = [[("Q", " yes"), ("Q", " yes"), ("Q", " no")]] * 8
    log = chosen(tmp_path / "samples_who_2026-05-01T10-00-00.000000.jsonl", requests, [0, 0, 1, 1, 0, 2, 0, 0])
    (found,) = command.json("score", log, "--bucket", "item").values()
    assert found["wording"]["wording_change"] == 0.25
    assert pc.score(log, bucket="item").sets["who"].predictions.label_names == ()


@pytest.mark.faults
@pytest.mark.parametrize("name", ["example_id", "item"])
def test_files_of_wordings_may_have_the_ids_of_problems(command, tmp_path, name):
    """Ids of rows were refused under a name of the user's, and ids of buckets called example_id were told apart."""
    files = [tmp_path / f"{prompt}.csv" for prompt in ("brief", "long")]
    for file in files:
        pd.DataFrame({name: ["a", "b"], "q": ["a", "b"], "prediction": ["x", "y"], "label": ["x", "x"]}).to_csv(file)
    for columns in (("--bucket", "q", "--example", name), ("--bucket", name)):
        (found,) = command.json("score", *files, *columns, "--variant", "file").values()
        assert found["measures"]["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"] == 1.0
        assert found["wording"]["n_wordings"] == 4


def test_fields_named_by_the_user_take_the_place_of_the_verdict(command):
    given = ("--bucket", "question_id", "--label", "doc.answer", "--prediction", "doc.answer")
    check(scored(command, samples("yes_no"), *given), 1.0, 1.0)
    same = [
        scored(command, samples("yes_no"), "--bucket", "question_id", *more)["measures"]["paraphrastic_consistency"]
        for more in ((), ("--label", "doc.answer"))
    ]
    assert same[0]["accuracy"] == same[1]["accuracy"]
    assert same[0]["agreement"] == same[1]["agreement"]
    log = inspect_log("yes-no")
    values = [one["output"]["completion"] == one["target"] for one in entries(log).values() if "target" in one]
    result = scored(command, log, "--bucket", "question_id", "--prediction", "completion")
    assert result["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(sum(values) / len(values))


# ---------- Logs that cannot be scored as they are: the message says what was found and what to do

BY_QUESTION = SourceOptions(bucket="question_id")


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_eval(path: Path, **header: Any) -> Path:
    """Write a log as older versions did (deflated), with parts of its header replaced."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries(inspect_log("yes-no")).items():
            changed = content | header if name == "header.json" else content
            if changed is not None:
                archive.writestr(name, json.dumps(changed))
    return path


def refused(paths: Path | list[Path], sentence: str, query: SourceOptions = BY_QUESTION) -> None:
    with pytest.raises(InputError, match=sentence):
        read_logs(paths if isinstance(paths, list) else [paths], query)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("log.txt", b"hello", "must be a log or a table of a known format.*begins b'hello'"),
        ("shop.yaml", b"questions: []", "must hold answers.*`paraconsist run` asks them first"),
        ("log.eval", b"PK\x03\x04 and no more", "a zip archive without an inspect_ai log"),
        ("log.eval", b"{}", "not a zip archive.*may be cut short"),
        ("log.log", b'{"question": 1, "answer": 2}', "JSON with the keys question, answer"),
        ("log", b"", "It is empty"),
        ("cut.jsonl", b'{"doc_id": 0, "doc": {}, "target": "1", "filtered_resps": []}\n{"doc_id', "whole file.*row 2"),
    ],
)
def test_unknown_formats_and_damage(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, sentence)


def test_files_beside_the_logs(tmp_path):
    refused(next(LM_EVAL.glob("results_*")), "summary; its rows are in samples_.*log_samples")
    refused(tmp_path / "nothing.jsonl", "must name a file that exists")
    (tmp_path / "notes.md").write_text("nothing")
    refused(tmp_path, r"hold logs \(\*.eval, .*samples_\*.jsonl, .*It holds notes.md")


def test_a_cut_eval_log(tmp_path):
    whole = inspect_log("yes-no").read_bytes()
    damaged = bytearray(whole)
    start = whole.index(b"samples/")
    damaged[start + 60 : start + 90] = bytes(30)
    (tmp_path / "damaged.eval").write_bytes(damaged)
    refused(tmp_path / "damaged.eval", "must be a readable, whole file.*cut short or damaged")
    (tmp_path / "cut.eval").write_bytes(whole[:-100])
    refused(tmp_path / "cut.eval", "cut short|a zip archive without")


def test_runs_that_did_not_end_well(tmp_path):
    gone = {"status": "error", "results": None, "error": {"message": "the server is gone"}}
    refused(write_eval(tmp_path / "a.eval", **gone), r"succeeded; got 'error'.*the server is gone.*eval-retry")
    refused(write_eval(tmp_path / "b.eval", status="started"), "got 'started'")
    refused(write_eval(tmp_path / "c.eval", invalidated=True), "must hold valid samples")
    with zipfile.ZipFile(tmp_path / "d.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    refused(tmp_path / "d.eval", "the log of a run that ended.*was killed")
    whole = read_logs([write_eval(tmp_path / "e.eval")], BY_QUESTION)["yes_no"]
    assert whole.table.equals(read_logs([inspect_log("yes-no")], BY_QUESTION)["yes_no"].table)


def test_samples_that_ended_in_an_error_are_unparsed_and_said(tmp_path):
    found = entries(inspect_log("yes-no"))
    lost = [name for name in found if name.startswith("samples/")][:2]
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, content in found.items():
            part = {"scores": {}, "error": {"message": "timeout"}} if name in lost else {}
            archive.writestr(name, json.dumps(content | part if part else content))
    rows = read_logs([tmp_path / "log.eval"], BY_QUESTION)["yes_no"]
    assert rows.metadata["notes"][0].startswith("2 of 26 samples of log.eval have no score")
    ids = rows.table.filter(rows.table["prediction"].is_null())["example_id"].to_pylist()
    assert {found[name]["id"] for name in lost} <= set(ids)


def test_the_bucket_key_is_missing():
    known = r"Its columns are doc_id, .*doc\.id, .*doc\.question_id"
    refused(
        samples("yes_no"), f"`bucket` must name a column of the file; got 'doc.qid'. {known}", SourceOptions("doc.qid")
    )
    perhaps = r".*Perhaps `bucket` 'doc\.question_id'\?"
    refused(samples("yes_no"), f"got 'bucket_id'. {known}{perhaps}", SourceOptions())
    refused(inspect_log("yes-no"), "Its columns are id, epoch.*metadata.question_id", SourceOptions())
    both = [samples("yes_no"), samples("which_place")]
    refused(both, r"got 'question_id'.*\(In samples_which_place", BY_QUESTION)


def test_a_row_twice_and_two_models_in_one_file(tmp_path):
    rows = lines(samples("yes_no"))
    refused(write(tmp_path / "a.jsonl", rows + rows), "have each doc_id once; got '0' at row 63.*two models' logs")
    plain = [{"example_id": f"e{i}", "bucket_id": i // 2, "label": 1, "prediction": 1} for i in range(4)]
    refuses(
        r"`example` must differ within a bucket; got 'e1'", pc.score, write(tmp_path / "b.jsonl", [*plain, plain[1]])
    )
    models = [row | {"example_id": i, "model": "ab"[i % 2]} for i, row in enumerate(plain)]
    refused(
        write(tmp_path / "c.jsonl", models),
        r"one model's predictions; got \['a', 'b'\].*`compare` and `report` take them all",
        SourceOptions(),
    )
    (chosen,) = read_logs([tmp_path / "c.jsonl"], SourceOptions(model="b")).values()
    assert chosen.table["example_id"].to_pylist() == [1, 3]
    refused(
        tmp_path / "c.jsonl", r"a model that the table names; got 'c'. The table names a, b", SourceOptions(model="c")
    )
    numbered = [row | {"example_id": i, "Model": i % 2} for i, row in enumerate(plain)]
    refused(
        write(tmp_path / "e.jsonl", numbered),
        "Column Model of e.jsonl names 2 models; if it is of something else",
        SourceOptions(),
    )
    assert read_logs([tmp_path / "e.jsonl"], SourceOptions(stratum=["Model"]))
    refused(write(tmp_path / "d.jsonl", plain), "The table names no models", SourceOptions(model="c"))
    assert read_logs([tmp_path / "c.jsonl"], SourceOptions(stratum=["model"]))


def copied(folder: Path, **changes: Any) -> Path:
    """Copy the run of lm-eval, its results changed."""
    folder.mkdir(parents=True)
    for file in (samples("yes_no"), next(LM_EVAL.glob("results_*"))):
        shutil.copy(file, folder)
    results = next(folder.glob("results_*"))
    results.write_text(json.dumps(json.loads(results.read_text()) | changes))
    return folder


@pytest.mark.faults
def test_a_log_of_several_epochs_beside_one_of_one_says_which_option_chooses(command, tmp_path):
    found = entries(inspect_log("yes-no"))
    rows = [content for name, content in found.items() if name.startswith("samples/")]
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps(found["header.json"] | {"samples": rows}))
    again = [{**row, "epoch": 2} for row in rows]
    two.write_text(json.dumps(found["header.json"] | {"samples": [*rows, *again]}))
    given = ("compare", one, two, "--bucket", "metadata.question_id", "--n-resamples", 200)
    assert "several epochs: `--epoch` chooses" in command.refused(*given)
    assert "P_C" in command.done(*given, "--epoch", 1)


def test_logs_are_compared_under_the_names_of_their_models(command, tmp_path):
    """Their files are called by the time or the task."""
    copied(tmp_path / "a"), copied(tmp_path / "b", model_name="other")
    given = ("--bucket", "doc.question_id", "--role", "doc.kind", "--n-resamples", 50, "--n-permutations", 50)
    (found,) = command.json("compare", tmp_path / "a", tmp_path / "b", *given)
    assert {*found["n_buckets"]} == {"tiny-random-llama", "other"}


def test_epochs_of_a_task_without_tools_are_runs(command, tmp_path):
    """Of each question 4, 3 or 2 of 4 epochs are right: pass^2 is the mean of 1, 3/6 and 1/6."""
    header, path = entries(inspect_log("yes-no"))["header.json"], tmp_path / "asked.json"
    scorer = header["results"]["scores"][0]["name"]
    asked = [
        {"id": q, "epoch": e, "input": f"{q}?", "scores": {scorer: {"value": "CI"[e > 4 - q % 3], "answer": "x"}}}
        for q, e in product(range(12), range(1, 5))
    ]
    path.write_text(json.dumps(header | {"samples": asked}))
    out, err = command("score", path)[1:]
    assert "12 tasks, 48 runs" in out
    assert re.search(r"pass\^2, all of 2 runs succeed +55\.6 %", out)
    assert "undefined" not in out  # lines about calls
    assert "epochs are taken for runs" in err
    assert command("gate", "pass_hat_3 >= .4", path)[0] == 0
    linked = [sample | {"metadata": {"bucket_id": sample["id"] // 2}} for sample in asked]  # as in reworded tasks
    path.write_text(json.dumps(header | {"samples": linked}))
    assert "6 buckets, 48 paraphrases" in command.out("score", path)


def test_folders_of_several_runs(tmp_path):
    copied(tmp_path / "versions" / "a"), copied(tmp_path / "versions" / "b", lm_eval_version="0.4.2")
    refused(tmp_path / "versions", r"one version of the tool; got \['0.4.13', '0.4.2'\].*by themselves")
    copied(tmp_path / "models" / "a"), copied(tmp_path / "models" / "b", model_name="other")
    refused(tmp_path / "models", r"one model's answers; got \['tiny-random-llama', 'other'\].*paraconsist compare")
    copied(tmp_path / "runs" / "a"), copied(tmp_path / "runs" / "b")
    refused(tmp_path / "runs", "hold one run of yes_no; .*pass one of them only")
    refused([samples("yes_no"), inspect_log("yes-no")], r"of one format; got \['lm_eval', 'inspect_ai'\]")


def test_rows_that_were_taken_out_are_noticed(tmp_path):
    file = next(copied(tmp_path / "run").glob("samples_*"))
    write(file, [row for row in lines(file) if row["acc"] == 1.0 or row["doc_id"] % 2])
    (found,) = read_logs([file], BY_QUESTION).values()
    assert "reports acc 0.5556, its rows give" in found.metadata["notes"][0]


def test_options_that_the_log_does_not_know(tmp_path):
    generated = samples("yes_no_generated")
    refused(generated, "every answer through first_word, anywhere: give `filter` one of them")
    refused(generated, "must be one of first_word, anywhere; got 'last'", SourceOptions("question_id", filter="last"))
    refused(samples("yes_no"), r"`metric` must be one of the log's \(acc\)", SourceOptions("question_id", metric="f1"))
    refused(inspect_log("yes-no"), r"one of the log's scorers \(pattern\)", SourceOptions("question_id", metric="f1"))
    refused(inspect_log("twice"), r"one of the log's \(1, 2\); got 3", SourceOptions("question_id", epoch=3))
    refused(
        samples("yes_no"), "`original` must be true or false.*Compare it", SourceOptions("question_id", original="id")
    )
    rows = [row | {"acc": 0.5} if i == 2 else row for i, row in enumerate(lines(samples("yes_no")))]
    refused(write(tmp_path / "a.jsonl", rows), r"right or wrong in every row \(1 or 0\); got 0.5 at row 2")
    rows = [row | {"target": "perhaps"} for row in lines(samples("yes_no"))]
    refused(write(tmp_path / "b.jsonl", rows), "choice's number or text that agrees with the log's verdicts")
    asked = [row | {"filtered_resps": [["yes", "no"]]} for row in lines(generated) if row["filter"] == "anywhere"]
    refused(write(tmp_path / "c.jsonl", asked), "leave one answer to each question.*take_first")


@pytest.mark.faults
def test_a_scorer_with_several_values_is_refused_with_their_names(tmp_path):
    found = entries(inspect_log("which-place"))
    told = [content for name, content in found.items() if name.startswith("samples/")]
    (scorer,) = told[0]["scores"]
    for one in told:
        one["scores"][scorer]["value"] = {"right": 1, "length": 3}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))
    refused(file, f"the log has {scorer}.right, {scorer}.length: choose one")
    assert measures(file, bucket="metadata.fact", metric=f"{scorer}.right")


@pytest.mark.faults
def test_a_scorer_may_have_a_point_in_its_name(tmp_path):
    """Every answer was unparsed, as the scorer `judge_4` had none."""
    found = entries(inspect_log("yes-no"))
    told = [content for name, content in found.items() if name.startswith("samples/")]
    for one in told:
        one["scores"] = {"judge_4.1": one["scores"]["pattern"]}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))
    assert measures(file) == measures(file, metric="judge_4.1") == measures(inspect_log("yes-no"))
    for one in told:
        one["scores"]["judge_4.1"]["value"] = {"right.1": one["scores"]["judge_4.1"]["value"], "length": 3}
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))
    assert measures(file, metric="judge_4.1.right.1") == measures(inspect_log("yes-no"))
    refused(file, "scorers .judge_4.1.; got 'judge_4'", SourceOptions("question_id", metric="judge_4"))


@pytest.mark.faults
def test_the_scorer_that_judges_is_named_where_a_log_has_several(tmp_path):
    """The first one's verdicts were taken without a word."""
    found = entries(inspect_log("yes-no"))
    told = [content for name, content in found.items() if name.startswith("samples/")]
    for one in told:
        one["scores"]["strict"] = one["scores"]["pattern"] | {"value": "I"}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))

    def notes(file: Path, **query: Any) -> str:
        (log,) = read_logs([file], SourceOptions("question_id", **query)).values()
        return " ".join(log.metadata["notes"])

    assert "right where the scorer pattern says so; --metric takes another (strict)" in notes(file)
    assert "scorer" not in notes(file, metric="strict")
    assert "scorer" not in notes(inspect_log("yes-no"))


@pytest.mark.faults
def test_repeats_that_a_filter_leaves_out_are_told(tmp_path):
    rows = [row for row in lines(samples("yes_no_generated")) if row["filter"] == "first_word"]
    once = read_logs([write(tmp_path / "a.jsonl", rows)], SourceOptions("question_id"))
    thrice = [row | {"resps": [row["resps"][0] * 3]} for row in rows]
    told = read_logs([write(tmp_path / "b.jsonl", thrice)], SourceOptions("question_id"))
    assert not once["a"].metadata["notes"]
    assert "asked 3 times" in told["b"].metadata["notes"][0]


def test_of_a_reworded_task_the_first_filter_counts_unless_another_is_given(tmp_path):
    def marked(row: dict[str, Any]) -> None:
        row["doc"] |= {"bucket_id": row["doc"]["question_id"], "wording": "w", "kind": "phrase"}

    file = rewritten(tmp_path, "yes_no_generated", marked)
    for given, expected in ((None, "first_word"), ("anywhere", "anywhere")):
        assert measures(file, filter=given) == measures(samples("yes_no_generated"), filter=expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--json", "--markdown"], "`--markdown` must not be given with `--json`"),
        (["--epoch", "1"], "`--epoch` must be used for logs of inspect_ai only; got 1"),
        (["--label-names", "no,yes"], "`--label-names` must be given for tables only"),
        (["--unparsed", "ignore"], "`--unparsed` must be one of wrong, own_class, drop_bucket"),
    ],
)
def test_options_that_do_not_fit(command, options, sentence):
    assert sentence in command.refused("score", samples("yes_no"), "--bucket", "question_id", *options)


def test_the_fixtures_are_small():
    assert all(file.stat().st_size < 60_000 for file in LOGS.rglob("*") if file.is_file())


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy with another value at a path."""
    if not path:
        return odd
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], odd)
    return copied


@pytest.mark.parametrize("odd", [None, 10**40, "\ud800", [], [None], {"a": 1}], ids=repr)
def test_a_part_of_another_shape_is_read_or_refused(tmp_path, odd):
    whole = entries(inspect_log("yes-no"))
    names = sorted(name for name in whole if name.startswith("samples/"))[:4]
    kept = ("id", "epoch", "choices", "target", "metadata", "scores", "output", "attachments")
    log = whole["header.json"] | {"samples": [{key: whole[name].get(key) for key in kept} for name in names]}
    log = {"version": log.pop("version"), "status": log.pop("status"), "eval": log.pop("eval"), **log}
    parts = ("status", "eval", "results", "samples", "invalidated", "error")
    for path in [path for path in places(log, 5) if path[0] in parts]:
        file = tmp_path / "log.json"
        file.write_text(json.dumps(replaced(log, path, odd)))
        with suppress(InputError):
            read_logs([file], BY_QUESTION)
    rows, query = lines(samples("which_place"))[:3], SourceOptions(bucket="doc.question_id")
    for path in places(rows[0], 3):
        file = write(tmp_path / "samples.jsonl", [replaced(rows[0], path, odd), *rows[1:]])
        with suppress(InputError):
            read_logs([file], query)


def test_the_epochs_of_a_full_test_set_belong_to_no_bucket():
    predictions = read_logs([inspect_log("twice")], SourceOptions(bucket=""))
    (one,) = predictions.values()
    assert "bucket_id" not in one.table.column_names
    assert len(set(one.table["example_id"].to_pylist())) == one.table.num_rows
