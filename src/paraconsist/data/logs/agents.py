"""Runs of agents: tau-bench, tau2-bench, BFCL (function calling), the HAL harness, and any lines with runs and calls.

A row is one run of a task: its bucket is the task, its answer whether it succeeded (a reward of 1), and its calls are
the names of the tools that the agent called, in order.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from paraconsist.data.foreign import lines_in
from paraconsist.data.logs import format as logs
from paraconsist.data.logs.fields import Records, walk
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import ARGUMENTS, CALLS, RUN, TRIALS, Predictions
from paraconsist.data.tables import numeric
from paraconsist.files import Json, canonical_arguments

#: What the fields of a run are called, the first that is there counts.
_TASKS = ("task_id", "task", "task_index", "item")
_REWARDS = ("reward", "success", "succeeded", "correct", "passed")
_TRAJECTORIES = (CALLS, "tool_calls", "tools", "actions", "trajectory", "traj", "messages")
_NAMES, _ARGUMENTS = ("name", "function", "tool", "tool_name"), (ARGUMENTS, "kwargs", "args", "input", "parameters")
_ANSWER, _LARGE = "answer", ("traj", "messages", "info")
_UNKNOWN = "(unknown tool)"
_BAR, _OF_ARGUMENTS, _MOST_SHOWN = " ‖ ", " ┊ ", 80  # where runs part, where only in arguments; letters of these
_ARRAY = re.compile(rb'\s*\[\s*\{\s*"task_(id|index)"\s*:')
_TAU2 = re.compile(rb'\s*\{\s*("(timestamp|format_version)"\s*:[^{\[]*,\s*)*"info"\s*:\s*\{\s*"git_commit"\s*:')
_HAL = re.compile(rb'\s*\{\s*"config"\s*:\s*\{[^{}]*"(agent|benchmark)_name"\s*:')
_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
#: A step of a trace in ReAct's form: Action: tool[input], or {"name": ...}, or a tool with a line Action Input below.
_REACT = re.compile(
    r"^Action(?: \d+)?:\s*(?:(\{.*\})|(\w[\w.-]*(?: [\w.-]+)*)(?: *[\[(](.*)[\])])?)[ \t]*"
    r"(?:\n+Action Input(?: \d+)?:[ \t]*(.*))?$",
    re.MULTILINE,
)
_SCORE = {"accuracy", "correct_count", "total_count"}
_NOT_RUN = ("infrastructure_error", "context_window_exceeded")  # runs that tau2 leaves out of its numbers
LABELS, _NEARLY_ONE = ["failed", "succeeded"], 1.0 - 1e-6
Calls: TypeAlias = list[tuple[str, str]]  # the tools and their arguments as text, without any ""


def calls_of(value: Any) -> Calls:
    """Return the tools called by an agent, in order, each with its arguments as text.

    `value` is a list of messages, of which the assistant's are read, of calls (with the tool's name and arguments, in a
    ``function`` or not), or of names; or a text that is such a list, has a call a line, or is in ReAct's form, as
    messages may be.
    """
    calls: Calls = []
    if isinstance(value, str) and (steps := _REACT.findall(value)):
        return [call for step in steps for call in _react_calls(*step)]
    for item in lines_in(value) if isinstance(value, str) else value if isinstance(value, list) else ():
        if isinstance(item, str):
            calls.append((item, ""))
        elif isinstance(item, Mapping) and "role" in item:
            content = item.get("content")
            parts = [part for part in content if walk(part, "type") == "tool_use"] if isinstance(content, list) else []
            if item["role"] == "assistant":
                is_react = isinstance(content, str) and _REACT.search(content)
                calls += calls_of(item.get("tool_calls") or (content if is_react else parts))
        elif isinstance(item, Mapping):
            call = item["function"] if isinstance(item.get("function"), Mapping) else item
            name = next((call[key] for key in _NAMES if isinstance(call.get(key), str) and call[key]), _UNKNOWN)
            calls.append((name, _text(next((call[key] for key in _ARGUMENTS if call.get(key)), ""))))
    return calls


def _react_calls(whole: str, name: str, given: str, beside: str) -> Calls:
    try:
        return calls_of([json.loads(whole)]) if whole else [(name, given or beside)]
    except (ValueError, RecursionError):
        return [(_UNKNOWN, whole)]


def run_columns(
    tasks: Sequence[str], trials: Iterable[Any], succeeded: Sequence[bool | None], calls: Sequence[Calls]
) -> dict[str, pa.Array]:
    """Return the columns of runs, and their calls as text to show: a bar marks where the runs of a task part."""
    names, arguments = ([[call[part] for call in of_run] for of_run in calls] for part in (0, 1))
    of_task: dict[str, list[int]] = {}
    for row, task in enumerate(tasks):
        of_task.setdefault(task, []).append(row)
    shown = [""] * len(calls)
    for rows in of_task.values():
        for row, text in zip(rows, _parted([calls[row] for row in rows]), strict=True):
            shown[row] = text
    texts = ["\n".join(f"{name}({given})" if given else name for name, given in of_run) for of_run in calls]
    columns = {
        "text": pa.array(shown, pa.string()),
        "label": pa.array([1] * len(succeeded)),
        "prediction": pa.array([None if won is None else int(won) for won in succeeded], pa.int64()),
        RUN: pa.array(map(str, trials), pa.string()),
        CALLS: pa.array(names, pa.list_(pa.string())),
        "raw_output": pa.array(texts, pa.string()),
    }
    are_given = any(any(of_run) for of_run in arguments)
    return columns | ({ARGUMENTS: pa.array(arguments, pa.list_(pa.string()))} if are_given else {})


def _parted(runs: Sequence[Calls]) -> list[str]:
    """Return a task's runs as text, with a bar where they part and, if only the arguments part before, one there too.

    The call whose arguments part first is shown with those that differ.
    """
    names = [[name for name, _ in of_run] for of_run in runs]
    given = [[canonical_arguments(text) or text for _, text in of_run] for of_run in runs]
    start, inner = (len(commonprefix(of_runs)) for of_runs in (names, given))  # noqa: RUF071
    bar = _BAR if len({*map(tuple, names)}) > 1 else ""
    if inner < start:
        for of_run, text in zip(names, _differing([of_run[inner] for of_run in given]), strict=True):
            of_run[inner] += f"({text if len(text) <= _MOST_SHOWN else f'{text[: _MOST_SHOWN - 1]}…'})"
    inner, mark = min(inner, start), _OF_ARGUMENTS if inner < start else ""
    same, alike, rest = (
        [" → ".join(of[part]) for of in names] for part in (slice(inner), slice(inner, start), slice(start, None))
    )
    return [f"{first}{mark}{second}{bar}{third}" for first, second, third in zip(same, alike, rest, strict=True)]


def _differing(texts: Sequence[str]) -> list[str]:
    """Return the arguments of one call in several runs; of objects, the values that differ."""
    values: list[Any] = [json.loads(text) if canonical_arguments(text) == text else None for text in texts]
    if not all(isinstance(value, dict) for value in values):
        return [*texts]
    return [
        _text({key: of for key, of in value.items() if any(of != other.get(key) for other in values)})
        for value in values
    ]


def _keys(names: Iterable[str]) -> list[str | None]:
    """Return which of the names are those of the task, the number of the run, the reward and the calls."""
    present = {*names}
    return [next((key for key in k if key in present), None) for k in (_TASKS, TRIALS, _REWARDS, _TRAJECTORIES)]


def _are_runs(names: Iterable[str]) -> bool:
    task, trial, reward, calls = _keys(names)
    return None not in (task, reward) and (trial or calls) is not None


def _run_rows(
    path: Path,
    query: SourceOptions,
    texts: Sequence[str] | None,
    tool: str,
    runs: Sequence[Json],
    *,
    name: Any,
    model: Any = None,
    version: Any = None,
    notes: Sequence[str] = (),
) -> Predictions:
    """Return runs as rows; InputError if a run has no task or an unreadable reward, or is there twice."""
    task, trial, reward, calls = _keys(key for run in runs for key in run)
    seen: dict[str, int] = {}
    trials, succeeded = list[Any](), list[bool | None]()
    for row, run in enumerate(runs):
        of, won = run.get(str(task)), run.get(str(reward))
        if of is None or isinstance(of, (list, dict)):
            raise logs.bad_log("name the task of every run", of, row=row)
        won = None if won != won else won  # NaN
        if not isinstance(won, (int, float, type(None))) or not 0.0 <= (won or 0.0) <= 2.0 - _NEARLY_ONE:
            raise logs.bad_log("have a reward from 0 to 1, or true or false, in every run", won, row=row)
        seen[str(of)] = seen.get(str(of), -1) + 1
        trials.append(seen[str(of)] if run.get(str(trial)) is None else run[str(trial)])
        succeeded.append(None if won is None else bool(won >= _NEARLY_ONE))
    # runs that were made at once stand in the order in which they ended, and the first of each task are compared
    order = numeric(pa.array(map(str, trials), pa.string())).to_numpy(zero_copy_only=False).argsort(kind="stable")
    runs, trials, succeeded = ([of[row] for row in order] for of in (runs, trials, succeeded))
    called, notes = [_with_arguments(calls_of(run.get(str(calls))), run.get(ARGUMENTS)) for run in runs], [*notes]
    if n := succeeded.count(None):
        notes.append(f"{n} of {len(runs)} runs of {path.name} have no reward: they count as failed here")
    if n := sum(tool == _UNKNOWN for of_run in called for tool, _ in of_run):
        n_calls = sum(map(len, called))
        notes.append(f"{n} of {n_calls} calls of {path.name} name no tool: they count as of one tool, {_UNKNOWN}")
    tasks = [str(run[str(task)]) for run in runs]
    own = [{"bucket_id": of, RUN: str(number)} for of, number in zip(tasks, trials, strict=True)]
    small = [{key: value for key, value in run.items() if key not in (calls, ARGUMENTS, *_LARGE)} for run in runs]
    fields = Records([{**run, **of_run} for run, of_run in zip(small, own, strict=True)])
    ids = [f"{of['bucket_id']} run {of[RUN]}" for of in own]
    columns = logs.linked_columns(fields, query, roots=()) | run_columns(tasks, trials, succeeded, called)
    if any(run.get(_ANSWER) is not None for run in runs):
        columns["raw_output"] = pa.array([_text(run.get(_ANSWER)) for run in runs])
    log = path, tool, ids, columns, LABELS, fields, texts
    return logs.log_predictions(*log, noun="run", name=name, model=model, source={"version": version}, notes=notes)


def _with_arguments(calls: Calls, given: Any) -> Calls:
    """Return calls with arguments that stand in a list, or a text with a line each, of as many beside them."""
    values = lines_in(given) if isinstance(given, str) else given if isinstance(given, list) else ()
    return (
        [(name, _text(value)) for (name, _), value in zip(calls, values, strict=True)]
        if len(values) == len(calls)
        else calls
    )


def _recognises_runs(path: Path, head: logs.Head) -> bool:
    is_array = _ARRAY.match(head.start) is not None and b'"reward"' in head.start
    return is_array or (SourceOptions.prediction not in head.first_row and _are_runs(head.first_row))


def _read_runs(
    path: Path, query: SourceOptions, texts: Sequence[str] | None = None, runs: Sequence[Json] | None = None
) -> Predictions:
    """Read tau-bench's results, or any lines of runs; InputError for several models, and as `_run_rows`."""
    runs = logs.read_whole_lines(path, "runs of agents") if runs is None else runs
    names = [run.get("model") or None for run in runs]
    if query.model in names and query.model is not None and None in names:
        raise logs.bad_log("name the model of every run", None, row=names.index(None))
    if query.model is not None and not (runs := [run for run in runs if run.get("model") == query.model]):
        raise logs.bad_log("hold runs of this model", query.model)
    models = [str(run["model"]) for run in runs if run.get("model")]
    logs.check_one_model("runs", models)
    tool = "tau_bench" if any("traj" in run for run in runs[:1]) else RUNS.name
    return _run_rows(path, query, texts, tool, runs, name=None, model=models[0] if models else None)


def runs_of_table(predictions: Predictions, query: SourceOptions, name: str) -> Predictions | None:
    """Return a table of tasks and rewards, with runs or calls or without other columns, as runs; None for others."""
    table, names = predictions.table, predictions.table.column_names
    task, _, reward, _ = _keys(names)
    if not len(table) or query.named("prediction") or task is None or reward is None:
        return None
    if not _are_runs(names) and not {*names} <= {task, reward, "model"}:
        return None
    table = table.set_column(names.index(reward), reward, numeric(table[reward]))  # decimals of CSV are text
    return _read_runs(Path(name), query, runs=table.to_pylist())


def _read_tau2(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read tau2's results in one domain, also those with a file for each run beside them; InputError as `_run_rows`."""
    whole: Any = logs.read_whole(path, "tau2-bench")
    files = sorted((path.parent / "simulations").glob("*.json"))
    found = whole.get("simulations") or [logs.read_whole(file, "tau2-bench") for file in files]
    found = logs.objects_in(found, "hold simulations, or have them in the folder simulations beside it", path)
    info, tasks, notes = whole["info"], whole.get("tasks"), list[str]()
    n_asked = walk(info, "num_trials")
    n_runs = n_asked * len(tasks) if isinstance(n_asked, int) and isinstance(tasks, list) else 0
    if n_runs > len(found):
        notes.append(f"{n_runs - len(found)} of {n_runs} runs are missing in {path.name}")
    is_out = [run.get("termination_reason") in _NOT_RUN for run in found]
    if any(is_out):
        notes.append(f"{sum(is_out)} of {len(found)} runs ended by no fault of the agent, which tau2 leaves out")
    rewards = [None if out else walk(run, "reward_info", "reward") for run, out in zip(found, is_out, strict=True)]
    runs = [{**run, "reward": reward} for run, reward in zip(found, rewards, strict=True)]
    name = walk(info, "environment_info", "domain_name")
    model, version = walk(info, "agent_info", "llm"), walk(info, "git_commit")
    return _run_rows(path, query, texts, TAU2.name, runs, name=name, model=model, version=version, notes=notes)


def _read_hal(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one run of the HAL harness over all tasks of a benchmark; calls are there of those that record actions."""
    whole: Any = logs.read_whole(path, "the HAL harness")
    won, lost = (walk(whole, "results", f"{how}_tasks") for how in ("successful", "failed"))
    if not isinstance(won, list) or not isinstance(lost, list) or not [*won, *lost]:
        raise logs.bad_log("have successful_tasks and failed_tasks in its results", path)
    actions = {task: walk(whole, "raw_eval_results", task, "taken_actions") for task in map(str, [*won, *lost])}
    runs: list[Json] = [{"task": task, "correct": task in map(str, won), CALLS: of} for task, of in actions.items()]
    config, agent = whole["config"], walk(whole, "config", "agent_name")
    model = walk(config, "agent_args", "model_name") or agent
    return _run_rows(path, query, texts, HAL.name, runs, name=walk(config, "benchmark_name"), model=model)


def _read_bfcl(path: Path, query: SourceOptions, texts: Sequence[str] | None = None) -> Predictions:
    """Read one category of BFCL: its score file, which lists failures, and the result file, which has every answer.

    InputError if the latter is not in the folder ``result`` beside ``score``, or the two do not agree.
    """
    parts = list(path.parts)
    for place in [place for place, part in enumerate(parts[:-1]) if part.startswith("score")][-1:]:
        parts[place] = parts[place].replace("score", "result", 1)
    answers_file = Path(*parts).with_name(f"{path.name.removesuffix('_score.json')}_result.json")
    if not answers_file.is_file():
        remedy = f"A score file lists failures only; the answers are expected in {answers_file}."
        raise logs.bad_log("have the model's answers in a folder `result` beside `score`", path, remedy=remedy)
    (head, *failures), answers = (logs.read_whole_lines(file, "BFCL") for file in (path, answers_file))
    ids = [str(answer.get("id", answer.get("idx", number))) for number, answer in enumerate(answers)]
    failed = {str(line.get("id")) for line in failures}
    if all(map(str.isdecimal, failed)):  # before September 2024 score files counted from 1
        failed = {str(int(one) - 1) for one in failed}
    if not failed <= {*ids} or [len(ids), len(ids) - len(failed)] != [head["total_count"], head["correct_count"]]:
        got = f"{len(ids) - len(failed & {*ids})} of {len(ids)}"
        must = f"have as many right answers as its first line says ({head['correct_count']} of {head['total_count']})"
        raise logs.bad_log(must, got, remedy=f"Is {answers_file} of another run?")
    results = [answer.get("result") for answer in answers]
    runs: list[Json] = [
        {"task": one, "correct": one not in failed, CALLS: _bfcl_calls(result), _ANSWER: _text(result)}
        for one, result in zip(ids, results, strict=True)
    ]
    model = next((line["model_name"] for line in failures if "model_name" in line), path.parent.name)
    name = re.sub(r"^BFCL_v\d+_|_score$", "", path.stem)
    return _run_rows(path, query, texts, BFCL.name, runs, name=name, model=model)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _bfcl_calls(result: Any) -> list[Json]:
    """Return the calls in an answer: keys of objects with their arguments, or code; in turns and steps, or not."""
    if isinstance(result, list):
        return [call for part in result for call in _bfcl_calls(part)]
    pairs = _code_calls(result) if isinstance(result, str) else result.items() if isinstance(result, Mapping) else ()
    return [{"name": name, ARGUMENTS: arguments} for name, arguments in pairs]


def _code_calls(code: str) -> list[tuple[str, Any]]:
    """Return the calls in Python code with their arguments by name, or by place; else with the text behind."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = [node for node in ast.walk(ast.parse(code.strip())) if isinstance(node, ast.Call)]
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))
        return [
            (
                ast.unparse(node.func),
                {f"{place}": _value(value) for place, value in enumerate(node.args)}
                | {str(keyword.arg): _value(keyword.value) for keyword in node.keywords},
            )
            for node in nodes
        ]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        parts = _CALL.split(code)
        return [*zip(parts[1::2], parts[2::2], strict=True)]


def _value(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
        json.dumps(value, sort_keys=True)  # what JSON does not know stays code
        return value
    except (ValueError, TypeError, MemoryError):
        return ast.unparse(node)


_WHAT = "runs of agents, as tau-bench writes them or JSON Lines with task, trial, reward and calls"
RUNS = logs.LogFormat("runs", _WHAT, _recognises_runs, _read_runs, options=("model",))
TAU2 = logs.LogFormat(
    "tau2_bench", "results of tau2-bench as JSON", lambda _, head: _TAU2.match(head.start) is not None, _read_tau2,
    repeats=True,
)  # fmt: skip
BFCL = logs.LogFormat(
    "bfcl", "*_score.json of BFCL", lambda _, head: head.first_row.keys() >= _SCORE, _read_bfcl, "*_score.json",
    repeats=True,
)  # fmt: skip
HAL = logs.LogFormat(
    "hal", "*_UPLOAD.json of the HAL harness", lambda _, head: _HAL.match(head.start) is not None, _read_hal,
    "*_UPLOAD.json", repeats=True,
)  # fmt: skip
