"""Runs of agents in the formats of five tools: the same invented runs give the same numbers, by plain json.

The files are those of tests/fixtures/logs/making/agent_runs.py."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.errors import refuses
from helpers.logs import LOGS, lines, places, scored

import paraconsist as pc
from paraconsist.data.logs.agents import _bfcl_calls, calls_of, run_columns
from paraconsist.data.logs.reading import _head, built_in, detect, read_logs
from paraconsist.data.options import SourceOptions
from paraconsist.data.writing import write_table
from paraconsist.errors import InputError
from paraconsist.files import canonical_arguments
from paraconsist.measures.results import UNCERTAINTY

AGENTS = LOGS / "agents"
FILES = {
    "runs": AGENTS / "tau_bench.json",
    "tau2_bench": AGENTS / "tau2.json",
    "bfcl": AGENTS / "bfcl" / "run_0" / "score" / "shelf-1" / "BFCL_v3_simple_score.json",
    "inspect_ai": AGENTS / "inspect.json",
}


def told() -> dict[int, list[dict[str, Any]]]:
    """Return the runs of each task as the plain lines tell them."""
    runs: dict[int, list[dict[str, Any]]] = {}
    for line in lines(AGENTS / "runs.jsonl"):
        runs.setdefault(line["task"], []).append(line)
    return runs


@pytest.mark.parametrize("file", ["runs.jsonl", "tau_bench.json", "tau2.json", "inspect.json", "bfcl"])
def test_a_log_needs_no_option(command: Any, file: str) -> None:
    result = scored(command, AGENTS / file)
    measure = result["measures"]["trajectory_consistency"]
    runs = told().values()
    assert (measure["n_buckets"], measure["n_examples"]) == (12, 36)
    assert measure["pass_hat_n"]["1"] == pytest.approx(np.mean([run["success"] for of in runs for run in of]))
    assert measure["pass_hat_n"]["3"] == pytest.approx(np.mean([all(run["success"] for run in of) for of in runs]))
    assert measure["pass_at_n"]["3"] == pytest.approx(np.mean([any(run["success"] for run in of) for of in runs]))
    pairs = [np.mean([a["calls"] == b["calls"] for a, b in combinations(of, 2)]) for of in runs]
    assert measure["identical_share"] == pytest.approx(np.mean(pairs))
    assert result["n_unparsed"] == 0
    assert result["warnings"] == []


def test_the_formats_give_the_same_numbers(command: Any) -> None:
    files = ("tau_bench.json", "tau2.json", "bfcl", "inspect.json", "runs.jsonl")
    found = [scored(command, AGENTS / file)["measures"]["trajectory_consistency"] for file in files]
    for result in found:
        del result["signature"]
    assert all(result == found[0] for result in found[:4])
    keys = ("identical_share", "first_divergence", "trajectory_consistency")
    assert [found[0][f"{key}_with_arguments"] for key in keys] == [found[0][key] for key in keys]  # each task has one
    assert not [key for key in found[4] if "arguments" in key]  # names alone
    assert found[4].items() <= {**found[0], **{key: found[4][key] for key in UNCERTAINTY}}.items()


BOOKS = [[{"book": 1, "note": None}, {"book": 2}], ['{"book": 1.0}', '{"book":3}'], [{"book": 1}, '{"book": 2']]


def test_arguments_are_kept_and_shown_where_runs_part(command: Any, tmp_path: Path) -> None:
    """Three runs of two calls with the same names: the first calls are the same, the second differ in a book."""
    names = ["find", "reserve"]
    forms: list[Any] = [
        [[{"name": name, "arguments": given} for name, given in zip(names, of, strict=True)] for of in BOOKS],
        [names] * 3,
    ]
    beside = [{}, {}, {}], [{"arguments": of} for of in BOOKS]
    for calls, more in zip(forms, beside, strict=True):
        rows = [{"task": "a", "run": i, "success": True, "calls": calls[i], **more[i]} for i in range(3)]
        rows += [{**row, "task": "b"} for row in rows]
        (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, rows)))
        result = scored(command, tmp_path / "runs.jsonl")["measures"]["trajectory_consistency"]
        assert (result["identical_share"], result["identical_share_with_arguments"]) == (1.0, 0.0)
        assert (result["first_divergence"], result["first_divergence_with_arguments"]) == (2.0, 1.0)
        assert "the arguments of 2 of 12 calls are not JSON: they are compared as text" in result["warnings"]
        assert command("report", tmp_path / "runs.jsonl", "--output", tmp_path / "page.html")[0] == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "find ┊ reserve(" in page
        assert "‖" not in page
    of_python = [pc.trajectory_consistency([names] * 3, [1] * 3, ["a"] * 3, arguments=BOOKS)]
    assert of_python[0].first_divergence_with_arguments == 1.0


def test_only_what_differs_is_shown_of_long_arguments() -> None:
    given = [{"book": n, "note": "x" * 200} for n in (1, 2)]
    columns = run_columns(["a", "a"], [1, 2], [True, True], [calls_of([{"name": "f", "arguments": a}]) for a in given])
    assert columns["text"].to_pylist() == [' ┊ f({"book": 1})', ' ┊ f({"book": 2})']
    long = [[{"name": "f", "arguments": f"{n}{'x' * 200}"}] for n in (1, 2)]
    texts = run_columns(["a", "a"], [1, 2], [True, True], [calls_of(calls) for calls in long])["text"].to_pylist()
    assert [text[:6] for text in texts] == [" ┊ f(1", " ┊ f(2"]
    assert max(map(len, texts)) < 100
    both = [calls_of([{"name": "f", "arguments": {"a": n}}, {"name": name}]) for n, name in ((1, "g"), (2, "h"))]
    parted = run_columns(["a", "a"], [1, 2], [True, True], both)["text"].to_pylist()
    assert parted == [' ┊ f({"a": 1}) ‖ g', ' ┊ f({"a": 2}) ‖ h']


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("[f(b=1, a='x')]", [("f", {"a": "x", "b": 1})]),
        ("[math.root(9), g(h(1))]", [("math.root", {"0": 9}), ("g", {"0": "h(1)"}), ("h", {"0": 1})]),
        ('[f(a=(1, 2), b="\\d(")]', [("f", {"a": [1, 2], "b": "\\d("})]),
        ([[["f(a=True)"], []], ["g()"]], [("f", {"a": True}), ("g", {})]),
        ([{"f": '{"a": 1}'}, {"g": {"b": None}}], [("f", {"a": 1}), ("g", {})]),
        ("[f(a={x: 1}.y?.z)]", [("f", "a={x: 1}.y?.z)]")]),
        ("I cannot do that.", []),
        ("[" * 300 + "f(1", [("f", "1")]),
        ("f({1: 2, 'a': 3}, {4}, b'x')", [("f", {"0": "{1: 2, 'a': 3}", "1": "{4}", "2": "b'x'"})]),
        ("f(" + "lambda:" * 500 + "1)", [("f", "lambda:" * 500 + "1)")]),
        (None, []),
    ],
)
def test_arguments_in_answers_of_bfcl(answer: Any, expected: list[tuple[str, Any]]) -> None:
    calls = calls_of(_bfcl_calls(answer))
    read = [(name, canonical_arguments(given)) for name, given in calls]
    texts = [given for _, given in calls]
    known = [given if isinstance(given, str) else canonical_arguments(given) for _, given in expected]
    assert [(name, text or raw) for (name, text), raw in zip(read, texts, strict=True)] == [
        (name, given) for (name, _), given in zip(expected, known, strict=True)
    ]


def test_a_text_of_calls_is_of_an_agent_only_beside_runs() -> None:
    """Calls may be telephone calls: a table with answers and such a column, but no runs, has none."""
    rows = {"bucket_id": [*"aabb"], "label": [1] * 4, "prediction": [1, 0, 1, 1], "calls": ["f", "g", "f", "f"]}
    for more, measure in (({}, "paraphrastic_consistency"), ({"run": [1, 2, 1, 2]}, "trajectory_consistency")):
        (scores,) = pc.score({**rows, **more}).sets.values()
        assert [*scores.measures] == [measure]
    (scores,) = pc.score(rows, measures=["trajectory_consistency"]).sets.values()  # who says so is believed
    assert scores.measures["trajectory_consistency"]["identical_share"] == 0.5
    with pytest.raises(InputError, match="a table with a column of calls"):
        pc.score({key: rows[key] for key in rows if key != "calls"}, measures=["trajectory_consistency"])


@pytest.mark.parametrize("tool", FILES)
def test_a_file_is_of_the_tool_that_wrote_it(tool: str, tmp_path: Path) -> None:
    file = FILES[tool]
    if tool != "bfcl":  # as the tools write them
        indented = tmp_path / file.name
        indented.write_text(json.dumps(json.loads(file.read_text()), indent=2))
        assert detect(indented).name == tool
    assert detect(file).name == tool
    assert [one.name for one in built_in()[:-1] if one.recognises(file, _head(file))] == [tool]


def test_a_table_in_memory_and_on_disk(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(lines(AGENTS / "runs.jsonl"))
    pa.parquet.write_table(table, tmp_path / "runs.parquet")
    rows = lines(AGENTS / "runs.jsonl")
    for name, write in {"json.csv": json.dumps, "python.csv": str}.items():  # as people and pandas write lists
        cells = {key: [write(row[key]) if key == "calls" else row[key] for row in rows] for key in rows[0]}
        write_table(pa.table(cells), tmp_path / name)
    named = [tmp_path / name for name in ("runs.parquet", "json.csv", "python.csv")]
    from_lines, *others = (pc.score(one) for one in (AGENTS / "runs.jsonl", table, rows, *named))
    expected = next(iter(from_lines.sets.values())).measures["trajectory_consistency"]
    for other in others:
        (scores,) = other.sets.values()
        np.testing.assert_equal(
            scores.measures["trajectory_consistency"]["confidence_interval"], expected["confidence_interval"]
        )


def test_rewards_in_a_csv_may_be_decimals(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("task,run,reward\na,1,1.0\na,2,0.5\nb,1,\nb,2,0.0\n")
    (scored,) = pc.score(tmp_path / "runs.csv").sets.values()
    assert scored.measures["trajectory_consistency"]["outcome_consistency_published"] == 0.5  # (0 + 1) / 2


def test_gate_compare_and_report_take_them(command: Any, tmp_path: Path) -> None:
    log = AGENTS / "tau2.json"
    assert command("gate", "pass_hat_3 >= .2", log)[0] == 0
    assert command("gate", "outcome_consistency.low >= .5", log)[0] == 1
    worse = json.loads(log.read_text())
    for run in worse["simulations"]:
        run["reward_info"]["reward"] *= run["trial"] > 0
    (tmp_path / "faults.json").write_text(json.dumps(worse))
    (tmp_path / "never.json").write_text(log.read_text().replace('"reward": 1.0', '"reward": 0.0'))
    models = [log, tmp_path / "faults.json", tmp_path / "never.json"]
    shown = [each for of in (["compare", *models], ["score", log], ["score", models[-1]]) for each in command(*of)]
    assert shown[::3] == [0, 0, 0]
    assert "(2), 12 tasks, 36 runs" in shown[1]
    assert "fewer than 10 tasks" in shown[5]
    assert "renamed" not in shown[8]
    assert re.findall(r"[^|:](?:problem|wording|bucket|paraphrase)\b", "".join(map(str, shown))) == []
    names = [word for name in "abc" for word in ("--name", name)]
    written = command.out("report", *models, *names, "--output", tmp_path / "page.html")
    assert written.endswith(", all tasks on the page.\n")
    assert "12 common tasks" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert command("report", log, "--output", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "12 tasks in 36 runs" in page
    assert "right in every run" in page
    assert "tasks whose runs do not end alike" in page
    assert "Run more tasks" in page
    assert "--noise-floor" not in page
    assert "find_book → find_book ‖ reserve" in page  # where the runs of task 7 part
    assert "What flips it" not in page
    assert re.search(r"12 tasks · ± [\d.]+ points", page)  # the line under the first screen
    shown = re.sub(r"(?s)<(script|style).*?</\1>|<dl.*?</dl>|<div popover.*?</div>|<[^>]+>", " ", page)
    assert [*re.finditer(r".*(?i:problem|wording).*", shown)] == []


def test_calls_in_every_form() -> None:
    arguments = {"b": 1, "a": "x"}
    text = json.dumps(arguments, sort_keys=True)
    forms: list[Any] = [
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [{"name": "f", "arguments": arguments}]},
        ],
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": text}}]}],
        [{"role": "assistant", "content": [{"type": "text"}, {"type": "tool_use", "name": "f", "input": arguments}]}],
        [{"function": "f", "arguments": arguments}],
        [{"tool": "f", "args": arguments}],
    ]
    assert [calls_of(form) for form in forms] == [[("f", text)]] * len(forms)
    assert calls_of("f\ng") == calls_of(["f", "g"]) == [("f", ""), ("g", "")]
    assert [calls_of(json.dumps(form)) for form in forms] == [[("f", text)]] * len(forms)
    assert calls_of("['f', 'g']") == [("f", ""), ("g", "")]
    assert calls_of("[f\ng]") == [("[f", ""), ("g]", "")]
    assert calls_of([{"arguments": {}}]) == [("(unknown tool)", "")]
    assert calls_of(None) == calls_of([3, None]) == []


def edited(tmp_path: Path, source: Path, change: Callable[[Any], Any]) -> Path:
    """Write a file with something changed in what it holds, in a folder of its own."""
    are_lines = source.suffix == ".jsonl"
    value: Any = lines(source) if are_lines else json.loads(source.read_text())
    changed = change(value) or value
    file = tmp_path / source.name
    file.write_text("\n".join(map(json.dumps, changed)) if are_lines else json.dumps(changed))
    return file


@pytest.mark.parametrize(
    ("source", "change", "sentence"),
    [
        ("runs.jsonl", lambda runs: runs.append(runs[4]), "have each run once; got '1 run 1'"),
        ("runs.jsonl", lambda runs: runs[3].update(success="yes"), "must have a reward from 0 to 1.*'yes' at row 3"),
        ("runs.jsonl", lambda runs: runs[3].update(success=50), "must have a reward from 0 to 1.*got 50 at row 3"),
        ("runs.jsonl", lambda runs: runs[3].update(task=None), "must name the task of every run; got None at row 3"),
        ("runs.jsonl", lambda runs: runs[3].update(model="b") or runs[0].update(model="a"), "one model's runs"),
        ("tau2.json", lambda whole: whole.update(simulations=[]), "must hold simulations, or have them in the folder"),
        ("tau_bench.json", lambda runs: runs[5].pop("task_id"), "must name the task of every run"),
    ],
)
def test_what_is_refused(tmp_path: Path, source: str, change: Callable[[Any], Any], sentence: str) -> None:
    def changed(value: Any) -> None:
        change(value)

    with pytest.raises(InputError, match=sentence) as refused:
        read_logs([edited(tmp_path, AGENTS / source, changed)])
    assert "\n" not in str(refused.value)


def test_runs_of_one_model_are_chosen(tmp_path: Path) -> None:
    file = edited(
        tmp_path, AGENTS / "runs.jsonl", lambda runs: [{**run, "model": "ab"[i % 2]} for i, run in enumerate(runs)]
    )
    parts = [read_logs([file], SourceOptions(model=model))["runs"] for model in "ab"]
    assert [part.metadata["model"]["model"] for part in parts] == ["a", "b"]
    assert sum(part.table.num_rows for part in parts) == len(lines(AGENTS / "runs.jsonl"))
    refuses("hold runs of this model; got 'c'", read_logs, [file], SourceOptions(model="c"))
    file = edited(tmp_path, file, lambda runs: [{**run, "model": "ab "[i % 3].strip()} for i, run in enumerate(runs)])
    refuses("name the model of every run; got None at row 2", read_logs, [file], SourceOptions(model="a"))


@pytest.mark.parametrize("file", ["runs.jsonl", "tau_bench.json", "tau2.json"])
def test_a_file_that_was_cut_short(tmp_path: Path, file: str) -> None:
    whole = (AGENTS / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: 9 * len(whole) // 10])
    refuses("must be a readable, whole file", read_logs, [tmp_path / file])


def notes_of(tmp_path: Path, source: str, change: Callable[[Any], Any]) -> str:
    (scores,) = pc.score(edited(tmp_path, AGENTS / source, change)).sets.values()
    return "; ".join([*scores.warnings, *scores.measures["trajectory_consistency"]["warnings"]])


def test_what_is_missing_is_told_in_a_sentence_each(tmp_path: Path) -> None:
    fewer = notes_of(tmp_path, "tau2.json", lambda whole: whole["simulations"].pop() and None)
    assert "1 of 36 runs are missing in tau2.json" in fewer
    assert "1 of 12 buckets have fewer runs than others (the least has 2 of 3)" in fewer

    def ended(whole: Any) -> None:
        whole["simulations"][0].update(termination_reason="infrastructure_error", reward_info={"reward": 0.0})

    out = notes_of(tmp_path, "tau2.json", ended)
    assert "1 of 36 runs ended by no fault of the agent, which tau2 leaves out" in out
    assert "1 of 36 runs of tau2.json have no reward: they count as failed here" in out
    nameless = notes_of(tmp_path, "tau_bench.json", lambda runs: runs[0]["traj"].append(
        {"role": "assistant", "tool_calls": [{"id": "x"}]}
    ))  # fmt: skip
    assert "calls of tau_bench.json name no tool" in nameless
    none = notes_of(tmp_path, "runs.jsonl", lambda runs: [{**run, "calls": []} for run in runs])
    assert "no run has a call" in none


def test_runs_in_files_beside_the_results(tmp_path: Path) -> None:
    whole = json.loads((AGENTS / "tau2.json").read_text())
    (tmp_path / "simulations").mkdir()
    for run in whole.pop("simulations"):
        (tmp_path / "simulations" / f"{run['id']}.json").write_text(json.dumps(run))
    (tmp_path / "results.json").write_text(json.dumps(whole))
    (rows,) = read_logs([tmp_path / "results.json"]).values()
    (expected,) = read_logs([AGENTS / "tau2.json"]).values()
    assert sorted(rows.table["example_id"].to_pylist()) == sorted(expected.table["example_id"].to_pylist())


def hal_files(folder: Path) -> list[Path]:
    """Write the lines as the HAL harness does, a file of each run over all tasks."""
    for trial in range(3):
        runs = {f"{task}": of[trial] for task, of in told().items()}
        ends = {True: "successful_tasks", False: "failed_tasks"}
        written = {
            "config": {"agent_name": "desk", "benchmark_name": "help_desk", "agent_args": {"model_name": "shelf-1"}},
            "results": {key: [t for t, run in runs.items() if run["success"] is won] for won, key in ends.items()},
            "raw_eval_results": {
                task: {
                    "reward": float(run["success"]),
                    "taken_actions": [{"name": n, "kwargs": {}} for n in run["calls"]],
                }
                for task, run in runs.items()
            },
        }
        (folder / f"desk_{trial}_UPLOAD.json").write_text(json.dumps(written, indent=2), encoding="utf-8")
    return sorted(folder.glob("*_UPLOAD.json"))


def test_runs_of_the_hal_harness(command: Any, tmp_path: Path) -> None:
    files = hal_files(tmp_path)
    (found,) = read_logs([tmp_path]).values()
    assert (found.metadata["set"], found.metadata["model"]["model"]) == ("help_desk", "shelf-1")
    expected = scored(command, AGENTS / "runs.jsonl")["measures"]["trajectory_consistency"]
    result = scored(command, *files)["measures"]["trajectory_consistency"]
    for key in ("trajectory_consistency", "identical_share", "outcome_consistency", "pass_hat_n", "pass_at_n"):
        assert result[key] == pytest.approx(expected[key], abs=1e-12)
    written = json.loads(files[0].read_text(encoding="utf-8"))
    files[0].write_text(json.dumps({**written, "results": {"accuracy": 0.5}}), encoding="utf-8")
    refuses("successful_tasks", read_logs, [files[0]])


def test_bfcl_needs_the_answers_beside_the_scores(tmp_path: Path) -> None:
    score = FILES["bfcl"].read_text()
    lonely = tmp_path / "simple_score.json"
    lonely.write_text(score)
    refuses(r"answers are expected in .*simple_result\.json", read_logs, [lonely])
    answers = lines(AGENTS / "bfcl" / "run_0" / "result" / "shelf-1" / "BFCL_v3_simple_result.json")
    (tmp_path / "simple_result.json").write_text("\n".join(json.dumps(line) for line in answers[1:]))
    refuses("as many right answers as its first line says", read_logs, [lonely])
    by_number = [{**line, "id": number} for number, line in enumerate(answers)]
    head, *failures = map(json.loads, score.splitlines())
    from_one = [{**line, "id": int(line["id"].split("_")[1]) + 1} for line in failures]
    (tmp_path / "simple_result.json").write_text("\n".join(map(json.dumps, by_number)))
    lonely.write_text("\n".join(map(json.dumps, [head, *from_one])))
    (rows,) = read_logs([lonely]).values()
    assert sum(rows.table["prediction"].to_pylist()) == head["correct_count"]


def test_runs_of_ten_thousand_calls(tmp_path: Path) -> None:
    rows = [{"task": t, "run": r, "success": True, "calls": ["a", "b", f"{r}"] * 3334} for t in "xy" for r in (1, 2)]
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (scores,) = pc.score(tmp_path / "long.jsonl").sets.values()
    assert scores.measures["trajectory_consistency"]["trajectory_consistency"] == pytest.approx(2 / 3)


def test_options_still_name_fields(command: Any) -> None:
    result = scored(command, AGENTS / "tau2.json", "--stratum", "termination_reason", "--bucket", "trial")
    assert result["measures"]["trajectory_consistency"]["n_buckets"] == 3


@pytest.mark.parametrize("odd", [None, "x", [[1]], {"a": 1}, float("nan")], ids=str)
@pytest.mark.parametrize("source", ["tau2.json", "inspect.json", "runs.jsonl", "bfcl"])
def test_odd_values_anywhere_are_read_or_refused(tmp_path: Path, source: str, odd: Any) -> None:
    file = shutil.copytree(AGENTS / "bfcl" / "run_0", tmp_path / "bfcl") if source == "bfcl" else AGENTS / source
    if source == "bfcl":
        file = next(file.rglob("*_result.json"))
    are_lines = source in ("runs.jsonl", "bfcl")
    whole: Any = lines(file) if are_lines else json.loads(file.read_text())
    for name in {"simulations", "samples"} & ({*whole} if isinstance(whole, dict) else set()):
        whole[name] = whole[name][:3]
    for path in places(whole, 4):
        changed = json.loads(json.dumps(whole))
        part = changed
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = odd
        target = file if source == "bfcl" else tmp_path / source
        target.write_text("\n".join(map(json.dumps, changed)) if are_lines else json.dumps(changed))
        with suppress(InputError):
            read_logs([next(tmp_path.rglob("*_score.json")) if source == "bfcl" else target])


@pytest.mark.faults
def test_traces_in_the_form_of_react() -> None:
    """Thoughts and observations were calls, too."""
    trace = (
        "Thought 1: I look.\nAction 1: Search[the book]\nObservation 1: Action is needed.\nAction 2: Finish[yes (1)]\n"
    )
    assert calls_of(trace) == [("Search", "the book"), ("Finish", "yes (1)")]
    chain = (
        'Thought: I look.\nAction: find_book\nAction Input: {"id": 3}\nObservation: none\nThought: No.\nAction: stop'
    )
    assert calls_of(chain) == [("find_book", '{"id": 3}'), ("stop", "")]
    said = [
        {"role": "user", "content": "Action: none[of these]"},
        {"role": "assistant", "content": 'Thought:\nI look.\nAction:\n{"name": "find_book", "arguments": {"id": 3}}'},
        {"role": "assistant", "content": 'Action: {"name": broken}'},
        {"role": "assistant", "content": "All done."},
    ]
    assert calls_of(said) == [("find_book", '{"id": 3}'), ("(unknown tool)", '{"name": broken}')]


@pytest.mark.faults
def test_files_of_any_name_are_compared(tmp_path: Path) -> None:
    """Their names were those of two sets with nothing in common; the how-to compares plain.json and faults.json."""
    runs = lines(AGENTS / "runs.jsonl")
    for name, won in (("plain", True), ("faults", False)):
        changed = [{**run, "success": won and run["success"]} for run in runs]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
    found = pc.compare(tmp_path / "plain.jsonl", tmp_path / "faults.jsonl").to_frame().set_index("measure")
    rate = sum(run["success"] for run in runs) / len(runs)
    assert found.difference["paraphrastic_consistency.accuracy"] == pytest.approx(rate)


@pytest.mark.faults
def test_rows_of_tasks_and_rewards_alone_are_runs():
    """They were asked for a prediction and gold labels; with a column of anything else they might be other rows."""
    rows = [{"task": f"t{task}", "success": task % (run + 2) > 0} for task in range(12) for run in range(3)]
    (scored,) = pc.score(rows).sets.values()
    (numbered,) = pc.score([{**row, "run": at % 3} for at, row in enumerate(rows)]).sets.values()
    assert (
        scored.measures["trajectory_consistency"]["pass_hat_n"]
        == numbered.measures["trajectory_consistency"]["pass_hat_n"]
    )
    refuses("`bucket` must name a column", pc.score, [{**row, "answer": "a"} for row in rows])
