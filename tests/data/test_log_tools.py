"""lighteval, deepeval, MLflow, promptfoo, OpenAI evals, Every Eval Ever: their results give the numbers by hand.

The files are those that the tools wrote (tests/fixtures/logs/README.md); here they are read with plain json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.logs import LOGS, check, double_loop, lines, scored

import paraconsist as pc
from paraconsist.data.logs.format import Head
from paraconsist.data.logs.reading import _head, built_in, detect, read_logs
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import write_predictions
from paraconsist.errors import InputError

FILES = {file: file.relative_to(LOGS).parts[0] for file in LOGS.rglob("*") if file.is_file()}
FILES = {
    file: tool
    for file, tool in FILES.items()
    if tool not in ("making", "agents", "README.md") and not file.name.startswith(("results_", "metrics"))
}


class Row(NamedTuple):
    bucket: str
    kind: str
    right: bool
    answer: str | None


def of_deepeval(path: Path) -> list[Row]:
    rows = []
    for case in json.loads(path.read_text())["testCases"]:
        (metric,) = (one for one in case["metricsData"] if one["name"] == "Right")
        more, failed = case["metadata"], metric.get("score") is None
        answer = None if failed else case["actualOutput"]
        rows.append(Row(more["question_id"], more["kind"], bool(metric["success"]) and not failed, answer))
    return rows


def of_mlflow(path: Path) -> list[Row]:
    table = json.loads(path.read_text())
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    return [Row(row["question_id"], row["kind"], row["right/v1/score"] == 1, row["outputs"]) for row in rows]


def of_promptfoo(path: Path) -> list[Row]:
    found = json.loads(path.read_text())["results"]["results"]
    more = [(one["metadata"]["question_id"], one["metadata"]["kind"]) for one in found]
    return [Row(*own, one["success"], one["response"]["output"]) for own, one in zip(more, found, strict=True)]


def of_evals(path: Path) -> list[Row]:
    told = [line["data"] for line in lines(path) if line.get("type") == "match"]
    return [Row(one["question_id"], one["kind"], one["correct"], one["sampled"]) for one in told]


def of_samples(path: Path) -> list[Row]:
    told = [line for line in lines(path) if line["evaluation_result_id"] == "acc_norm"]
    facts = [re.match(r"Where is the (\w+)", line["input"]["raw"])[1] for line in told]
    right = [line["evaluation"]["is_correct"] for line in told]
    texts = [line["output"]["raw"][0] for line in told]
    return [Row(fact, "Paraphrase", one, text) for fact, one, text in zip(facts, right, texts, strict=True)]


def of_lighteval(path: Path) -> list[Row]:
    rows = []
    for row in pq.read_table(path).to_pylist():
        more, (answer,) = row["doc"]["specific"], row["model_response"]["text"]
        rows.append(Row(more["question_id"], more["kind"], row["metric"]["em"] == 1, answer))
    return rows


BY_QUESTION = ("--bucket", "question_id", "--role", "kind")
#: Tool -> its file, what `score` is told, what is read by hand, what it says of itself.
CASES: dict[str, tuple[str, tuple[str, ...], Callable[[Path], list[Row]], dict[str, Any]]] = {
    "lighteval": ("**/details_yes_no_*", BY_QUESTION, of_lighteval, {"set": "yes_no", "model": "own/checksum"}),
    "deepeval": ("test_run_*.json", (*BY_QUESTION, "--metric", "Right"), of_deepeval, {"set": "yes_no"}),
    "mlflow": (
        "**/eval_results_table.json",
        (*BY_QUESTION, "--metric", "right/v1", "--label", "answer"),
        of_mlflow,
        {"model": None},
    ),
    "promptfoo": ("results.json", (*BY_QUESTION, "--label", "vars.answer"), of_promptfoo, {"set": "yes_no"}),
    "openai_evals": ("yes_no.jsonl", BY_QUESTION, of_evals, {"set": "yes_no.test.v0"}),
    "every_eval_ever": (
        "*_samples.jsonl",
        ("--bucket", r'input.raw ~ "^Where is the (\w+)"', "--metric", "acc_norm"),
        of_samples,
        {"set": "which_place", "model": "own/tiny-random-llama"},
    ),
}


def file_of(tool: str) -> Path:
    (file,) = (LOGS / tool).glob(CASES[tool][0])
    return file


def query_of(tool: str, **more: Any) -> SourceOptions:
    given = CASES[tool][1]
    named = dict(zip((name.removeprefix("--") for name in given[::2]), given[1::2], strict=True))
    return SourceOptions(**{**named, **more})


@pytest.mark.parametrize("tool", CASES)
def test_numbers_are_those_by_hand(command, tool):
    _, given, by_hand, says = CASES[tool]
    rows = by_hand(file_of(tool))
    wordings = [(row.bucket, row.right) for row in rows if row.kind == "Paraphrase"]
    sizes = [sum(bucket == one for bucket, _ in wordings) for one in {bucket for bucket, _ in wordings}]
    assert min(sizes) < max(sizes), "lopsided buckets are the case worth testing"
    assert {row.right for row in rows} == {True, False}
    result = scored(command, file_of(tool), *given)
    check(result, sum(right for _, right in wordings) / len(wordings), double_loop(wordings))
    assert result["n_unparsed"] == sum(not (row.answer or "").strip() for row in rows)
    assert result["source"]["tool"] == tool
    assert {name: result[name] for name in says} == says
    assert not [note for note in result["warnings"] if "rows added" in note]


def test_a_file_is_of_the_tool_that_wrote_it_and_no_other_claims_it():
    assert {*FILES.values()} == {*CASES, "lm_eval", "inspect_ai"}
    for file, tool in FILES.items():
        assert detect(file).name == tool
        claims = [one.name for one in built_in() if one.name != "table" and one.recognises(file, _head(file))]
        assert claims == [tool], file
    odd = Head(b'{"spec": 3', {"spec": 3, "testCases": 1})
    assert not [one.name for one in built_in() if one.recognises(Path("spec"), odd)]


@pytest.mark.parametrize("tool", CASES)
def test_a_file_that_was_cut_short_is_refused(tmp_path, tool):
    whole = file_of(tool).read_bytes()
    for kept in (9 * len(whole) // 10, len(whole) - 9):
        cut = tmp_path / file_of(tool).name
        cut.write_bytes(whole[:kept])
        refuses("`path` must be a readable, whole file", read_logs, [cut], query_of(tool))


def edited(tool: str, folder: Path, change: Callable[[Any], None]) -> Path:
    """Write a tool's file with something changed in what it holds: an object, or the list of its lines' objects."""
    source = file_of(tool)
    folder.mkdir(exist_ok=True)
    file = folder / source.name
    if source.suffix == ".parquet":
        rows = pq.read_table(source).to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(source)), file)
        return file
    told = lines(source) if source.suffix == ".jsonl" else json.loads(source.read_text())
    change(told)
    texts = [json.dumps(one) + "\n" for one in told] if isinstance(told, list) else [json.dumps(told)]
    file.write_text("".join(texts))
    return file


def set_in(*steps: Any) -> Callable[[Any], None]:
    """Return what puts the last of `steps` where the others lead."""

    def change(told: Any) -> None:
        *way, name, value = steps
        for step in way:
            told = told[step]
        told[name] = value

    return change


def two_models_in_a_table(table: Any) -> None:
    table["columns"].append("model")
    for number, row in enumerate(table["data"]):
        row.append(f"m{number % 2}")


@pytest.mark.parametrize(
    ("tool", "change", "more", "sentence"),
    [
        ("lighteval", lambda rows: rows.clear(), {}, "must hold answers"),
        (
            "lighteval",
            set_in(3, "model_response", "text_post_processed", ["a", "b"]),
            {},
            "one answer .* got 2 at row 3",
        ),
        ("lighteval", set_in(3, "metric", "em", 2), {}, "must be right or wrong in every row"),
        ("lighteval", lambda rows: rows.append(rows[3]), {}, "must have each question once"),
        ("lighteval", lambda rows: None, {"bucket": "bucket"}, "`bucket` must name a column.*doc.specific.question_id"),
        ("lighteval", lambda rows: None, {"metric": "acc"}, r"one of the log's \(em\)"),
        ("deepeval", lambda run: None, {"metric": None}, r"`metric` must be one of the log's \(Right, Short\)"),
        ("deepeval", lambda run: None, {"metric": "Rihgt"}, r"one of the log's \(Right, Short\); got 'Rihgt'"),
        ("deepeval", lambda run: None, {"bucket": "bucket"}, "`bucket` must name a column.*metadata.question_id"),
        ("deepeval", set_in("testCases", 2, "no case"), {}, "must hold test cases of one question each"),
        ("deepeval", set_in("testCases", []), {}, "must hold test cases of one question each"),
        ("deepeval", lambda run: run["testCases"].append(run["testCases"][3]), {}, "must have each question once"),
        ("mlflow", lambda table: None, {"label": "gold"}, "`label` must name a column.*answer, outputs"),
        ("mlflow", two_models_in_a_table, {}, "must hold one model's answers; got .*m0.*m1"),
        ("mlflow", lambda table: table["data"][2].pop(), {}, "must hold columns .*, and rows of that length"),
        ("promptfoo", set_in("results", "results", 1, "metadata", "kind", "negation"), {"label": None}, "vars.answer"),
        ("promptfoo", set_in("results", "results", 1, "provider", {"id": "b"}), {}, "one model's answers; .*`filter`"),
        ("promptfoo", set_in("results", "results", 1, "provider", "label", "b"), {}, "must hold one model's answers"),
        ("promptfoo", set_in("results", "results", 1, "promptIdx", 1), {}, "must hold one prompt's answers"),
        ("promptfoo", set_in("results", "results", 1, "testIdx", 0), {}, "must have each question once; got '0'"),
        ("promptfoo", set_in("results", "results", []), {}, "must hold results"),
        ("openai_evals", lambda told: told.pop(1), {}, "must be the record of a run that ended.*no final report"),
        ("openai_evals", set_in(5, "run_id", "another"), {}, "must hold one run; got"),
        ("openai_evals", set_in(0, "spec", "completion_fns", ["a", "b"]), {}, "must hold one model's answers"),
        ("openai_evals", lambda told: told.append(told[-1]), {}, "must have each question once"),
        ("openai_evals", lambda told: told.__delitem__(slice(3, None, 2)), {}, "hold `match` events.*with sampling"),
        ("every_eval_ever", set_in(4, "model_id", "b"), {}, "must hold one model's answers"),
        ("every_eval_ever", set_in(4, "schema_version", "0.2.0"), {}, "must hold one schema; got"),
        ("every_eval_ever", set_in(4, "evaluation_name", "b"), {}, "must hold one evaluation"),
        ("every_eval_ever", lambda told: told.append(told[3]), {}, "must have each sample once under acc"),
        ("every_eval_ever", lambda told: None, {"metric": None}, r"one of the log's \(acc, acc_norm\)"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_sentence(tmp_path, tool, change, more, sentence):
    more = {name: getattr(SourceOptions(), name) if value is None else value for name, value in more.items()}
    with pytest.raises(InputError, match=sentence) as refused:
        read_logs([edited(tool, tmp_path, change)], query_of(tool, **more))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        ("promptfoo", set_in("metadata", "promptfooVersion", "0.1.0")),
        ("every_eval_ever", lambda told: [line.update(schema_version="0.2.0", evaluation_name="b") for line in told]),
    ],
)
def test_files_of_two_versions_or_two_formats_are_not_one_run(tmp_path, tool, change):
    other = edited(tool, tmp_path, change)
    refuses("must be written by one version of the tool", read_logs, [file_of(tool), other], query_of(tool))
    refuses("must be of one format", read_logs, [file_of(tool), file_of("deepeval")], query_of(tool))


def test_repeats_of_promptfoo_are_said_to_be_counted_as_wordings(tmp_path):
    """`promptfoo eval --repeat 2` numbers its tests on: the wording change was a quarter lower, without a word."""

    def twice(told):
        results = told["results"]["results"]
        results += [{**result, "testIdx": result["testIdx"] + len(results)} for result in results]

    (rows,) = read_logs([edited("promptfoo", tmp_path, twice)], query_of("promptfoo")).values()
    assert any("26 of 52 rows ask what another row of their bucket asks, as" in note for note in rows.metadata["notes"])
    (rows,) = read_logs([file_of("promptfoo")], query_of("promptfoo")).values()
    assert not any("ask what another" in note for note in rows.metadata["notes"])


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        ("deepeval", set_in("metricsScores", 0, "passes", 30)),
        ("promptfoo", set_in("results", "stats", "successes", 1)),
        ("openai_evals", set_in(1, "final_report", "accuracy", 0.9)),
    ],
)
def test_a_mean_that_the_rows_do_not_give_is_said(tmp_path, tool, change):
    (rows,) = read_logs([edited(tool, tmp_path, change)], query_of(tool)).values()
    assert any("were rows added or removed?" in note for note in rows.metadata["notes"])
    (rows,) = read_logs([file_of(tool)], query_of(tool)).values()
    assert not any("were rows added or removed?" in note for note in rows.metadata["notes"])


@pytest.mark.parametrize("passes", [None, 0])
def test_a_mean_that_a_tool_does_not_give_is_not_missed(tmp_path, passes):
    def none(run: Any) -> None:
        run["metricsScores"][0] |= {"passes": passes, "fails": 0}

    (rows,) = read_logs([edited("deepeval", tmp_path, none)], query_of("deepeval")).values()
    assert rows.metadata["source"]["reported"] is None
    assert not any("were rows added or removed?" in note for note in rows.metadata["notes"])


def test_a_metric_of_deepeval_without_a_threshold_has_its_score(tmp_path):
    def scores_alone(run: Any) -> None:
        for case in run["testCases"]:
            for metric in case["metricsData"]:
                metric |= {"score": float(metric["success"]), "success": None}

    files = file_of("deepeval"), edited("deepeval", tmp_path, scores_alone)
    passed, scored = (read_logs([file], query_of("deepeval"))["yes_no"].table["prediction"] for file in files)
    assert passed.equals(scored)


def test_an_answer_that_was_chosen_is_the_likeliest_choice(command):
    (file,) = LOGS.rglob("details_which_place_*")
    rows = pq.read_table(file).to_pylist()
    result = scored(command, file, "--bucket", "fact", "--role", "doc.specific.kind")
    wordings = [(row["doc"]["specific"]["fact"], row["metric"]["acc"] == 1) for row in rows
                if row["doc"]["specific"]["kind"] == "Paraphrase"]  # fmt: skip
    check(result, sum(right for _, right in wordings) / len(wordings), double_loop(wordings))
    (read,) = read_logs([file], SourceOptions(bucket="fact")).values()
    for row, label, answer in zip(
        rows, *(read.table[name].to_pylist() for name in ("label", "prediction")), strict=True
    ):
        choices, likeliest = row["doc"]["choices"], max(row["model_response"]["logprobs"])
        assert label == choices[row["doc"]["gold_index"]]
        assert answer == choices[row["model_response"]["logprobs"].index(likeliest)]
    assert [*read_logs([LOGS / "lighteval"], SourceOptions(bucket="doc.query"))] == ["which_place", "yes_no"]


def test_a_provider_that_failed_gave_no_answer(tmp_path):
    def fail(found: Any) -> None:
        first = found["results"]["results"][0]
        first |= {"failureReason": 2, "error": "503", "success": False, "namedScores": None}
        del first["response"]

    (rows,) = read_logs([edited("promptfoo", tmp_path, fail)], query_of("promptfoo")).values()
    assert any("success has no value for 1 of" in note for note in rows.metadata["notes"])


def without_text(rows: list[Any]) -> None:
    wrong = next(row for row in rows if not row["metric"]["em"])
    wrong["model_response"] |= {"text": [], "text_post_processed": None}


def with_an_error(told: list[Any]) -> None:
    for line in told:
        line["error"] = "timeout" if line["sample_id"] == told[0]["sample_id"] else None


@pytest.mark.parametrize(("tool", "change"), [("lighteval", without_text), ("every_eval_ever", with_an_error)])
def test_a_sample_without_an_answer_is_unparsed(tmp_path, tool, change):
    files = file_of(tool), edited(tool, tmp_path, change)
    whole, lacking = (next(iter(read_logs([file], query_of(tool)).values())).table["prediction"] for file in files)
    assert lacking.null_count == whole.null_count + 1


def test_answers_are_compared_where_the_user_names_them(command):
    given = ("--bucket", "question_id", "--prediction", "expected", "--label", "expected")
    check(scored(command, file_of("openai_evals"), *given), 1.0, 1.0)


def with_half_an_emoji(value: Any) -> Any:
    """Return the value with half an emoji behind every text that has a space, as answers have."""
    if isinstance(value, dict):
        return {name: with_half_an_emoji(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_half_an_emoji(inner) for inner in value]
    return f"{value} \ud83d" if isinstance(value, str) and " " in value else value


@pytest.mark.faults
@pytest.mark.parametrize("tool", [tool for tool in CASES if tool != "lighteval"])  # Parquet holds none
def test_half_an_emoji_blocks_no_log(tmp_path, tool):
    def change(told: Any) -> None:
        pairs = told.items() if isinstance(told, dict) else enumerate(told)
        for key, value in list(pairs):
            told[key] = with_half_an_emoji(value)

    (rows,) = read_logs([edited(tool, tmp_path, change)], query_of(tool)).values()
    (whole,) = read_logs([file_of(tool)], query_of(tool)).values()
    assert rows.table["prediction"].null_count == whole.table["prediction"].null_count
    write_predictions(tmp_path / "out.parquet", rows.table, rows.metadata)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("provider", "prompt", "name"),
    [("", "Briefly: {{question}}", "1"), ("", "Briefly: {{question}}", None), ("second", "{{question}}", "second")],
)
def test_one_of_several_providers_or_prompts_is_chosen(command, tmp_path, provider, prompt, name):
    """promptfoo numbers pairs of a provider and a prompt (promptIdx)."""

    def add(found: Any) -> None:
        more = json.loads(json.dumps(found["results"]["results"]))
        for result in more:
            result |= {"promptIdx": 1, "success": True, "failureReason": 0}
            result["provider"]["label"], result["prompt"]["label"] = provider, prompt
        found["results"]["results"] += more

    file = edited("promptfoo", tmp_path, add)
    options = (*BY_QUESTION, "--label", "answer")
    for wrong, word in {(): "--filter", ("--filter", "none"): "provider"}.items():
        code, _, err = command("score", file, *options, *wrong)
        assert (code, word in err, "1 (" in err, "filter-p" in err) == (2, True, True, False)
    second = scored(command, file, *options, "--filter", prompt if name is None else name)
    assert second["measures"]["paraphrastic_consistency"]["accuracy"] == 1.0
    first = scored(command, file, *options, "--filter", "0")
    assert first["measures"] == scored(command, file_of("promptfoo"), *options)["measures"]


def test_several_providers_of_a_prompt_are_compared(command, tmp_path):
    def add(found: Any) -> None:
        more = json.loads(json.dumps(found["results"]["results"]))
        for result in more:
            result |= {"promptIdx": 1, "success": True}
            result["provider"]["label"] = "second"
        found["results"]["results"] += more

    file, options = edited("promptfoo", tmp_path, add), (*BY_QUESTION, "--label", "answer", "--n-resamples", 50)
    (found,) = command.json("compare", file, *options, "--n-permutations", 50)
    (pair,), own = found["pairs"], scored(command, file_of("promptfoo"), *BY_QUESTION, "--label", "answer")
    first = own["measures"]["paraphrastic_consistency"]["accuracy"]
    assert (pair["second"], pair["result"]["differences"]["accuracy"]) == ("second", pytest.approx(first - 1.0))


@pytest.mark.parametrize("tool", ["promptfoo", "mlflow"])
def test_verdicts_need_no_field_of_right_answers(command, tool):
    """P_C and accuracy are of the verdicts; a right answer to one problem is no right answer to another."""
    named = [*CASES[tool][1]]
    at = named.index("--label")
    alone = scored(command, file_of(tool), *named[:at], *named[at + 2 :])
    both, own = (one["measures"]["paraphrastic_consistency"] for one in (alone, scored(command, file_of(tool), *named)))
    assert [both[key] for key in ("accuracy", "vap")] == [own[key] for key in ("accuracy", "vap")]
    assert both["paraphrastic_consistency_unbiased"] == own["paraphrastic_consistency_unbiased"]
    assert alone["wording"]["same_answer"] == scored(command, file_of(tool), *named)["wording"]["same_answer"]
    assert any("alone: there is no field" in note for note in alone["warnings"])


@pytest.mark.faults
def test_a_table_that_mlflow_did_not_load_is_named(command, tmp_path):
    (tmp_path / "eval_results_table.json").write_text("null")
    code, _, err = command("score", tmp_path / "eval_results_table.json", "--bucket", "question_id")
    assert (code, "result.tables" in err, "copy it" in err) == (2, True, False)


def test_letters_of_a_log_are_read_already_and_the_error_of_a_comparer_says_so() -> None:
    (file,) = LOGS.glob("inspect_ai/*which-place*")
    with pytest.raises(InputError, match="leave `same` out where answers are read already, as letters in a log are"):
        pc.score(file, bucket="metadata.fact", same="choice")
