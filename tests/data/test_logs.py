"""Logs that lm-eval and inspect_ai wrote: scored as they are, right where the tools say so, and P_C by its definition.

Golden numbers are those in the tools' own results, beside or inside the logs (tests/fixtures/logs/README.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.logs import LM_EVAL, check, double_loop, entries, inspect_log, lines, samples, scored

from paraconsist.data.logs.fields import Records, Table, value_of
from paraconsist.data.logs.reading import FORMATS, detect, read_logs
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
    file.write_text(json.dumps(found["header.json"] | {"samples": told}))
    assert detect(file).name == "inspect_ai"
    given = ("--bucket", "metadata.fact")
    same = [scored(command, log, *given)["measures"] for log in (file, inspect_log("which-place"))]
    assert same[0] == same[1]


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

    assert measures(rewritten(tmp_path, "yes_no", older), metric=None) == wanted

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
    assert len({one.name for one in FORMATS}) == len(FORMATS) == 8
    assert [detect(path).name for path in (samples("yes_no"), inspect_log("yes-no"))] == ["lm_eval", "inspect_ai"]


def test_several_files_of_one_run_and_a_full_test_set(command):
    given = ("--bucket", r'id ~ "^(\d+)-"', "--n-resamples", 400, "--json")
    code, out, err = command("score", samples("yes_no"), samples("which_place"), *given)
    assert code == 0, err
    assert set(json.loads(out)) == {"yes_no", "which_place"}
    both = ("--bucket", "question_id", "--role", "kind", "--test-predictions", samples("yes_no"))
    measure = scored(command, samples("yes_no"), *both)["measures"]["paraphrastic_consistency"]
    reported = json.loads(next(LM_EVAL.glob("results_*.json")).read_text())["results"]["yes_no"]["acc,none"]
    assert measure["test_accuracy"] == pytest.approx(reported)
    assert 0 < measure["covered_mass"] <= 1


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
