"""Requests as files for engines that answer in bulk, and their answers back: a run over an endpoint without one.

The lines are those of the OpenAI batch interface. A ``custom_id`` is the input's id with, behind a dash, the name of
the store that its answer belongs to, which is a hash of all that decides an answer: what was asked otherwise is known.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from paraconsist.data.foreign import Malformed, cleaned
from paraconsist.data.store import NO_ANSWER, Failed, RunFolder, to_ask
from paraconsist.data.tables import json_rows
from paraconsist.errors import InputError, check_whole, first_line, input_error, plural
from paraconsist.files import Json, locked, read_record, replacing, staged, write_json
from paraconsist.models.endpoint import protocol
from paraconsist.models.endpoint.client import Meter
from paraconsist.models.endpoint.label_scoring import Method, is_bounded, part_request, result_of
from paraconsist.models.endpoint.queue import Journal, QueueStatistics
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.running import endpoint
from paraconsist.running.by_name import NamedRun, over_endpoint
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions
from paraconsist.running.run import distinct_rows

#: What a batch file may hold.
MOST_BYTES = 200_000_000
#: Where in a run folder the requests are, and the file beside them that says what they are.
FOLDER, RECORD = "requests", "export.json"
_FORMAT = "paraconsist-requests-1"


#: Options that belong to an export alone, not to its answers.
_NOW = ("output", "overwrite", "retry_failed")
#: The address in the settings of a run without a server.
_NOWHERE = "http://batch.invalid/v1"


def export_named(named: Json, *, top: int, per_file: int) -> tuple[dict[Path, int], str]:
    """Write the requests of a run over an endpoint that its folder holds no answer to, as batch files.

    `named` has the run's `models` and `sets`, as `run_by_name` takes them, and the fields of the other options (``ask``
    with ``prompts``, ``running``, ``endpoint``); it is saved with the requests, and with the stores that the answers
    belong to, so that importing these needs no options. Labels are taken from the `top` most probable first tokens, or
    from written answers. A file has at most `per_file` requests of one model, and 200 MB. The folder of the requests is
    replaced atomically. Returns the files, each with its number of requests, and what they are expected to take.
    """
    record = {**named, "running": {k: v for k, v in named["running"].items() if k not in _NOW}}
    endpoint_run = _options(named, Path(named["running"]["output"]))
    check_whole("export_requests", "per_file", per_file)
    check_whole("export_requests", "top_logprobs", top)
    folder = RunFolder(endpoint_run.options.output)
    with locked(folder.path, "export_requests", "output"):
        passes = _open(endpoint_run, top)
        estimate = endpoint.dry_run(endpoint_run).describe(Meter(endpoint_run.settings))
        with staged(folder.path / FOLDER) as new:
            files: dict[str, int] = {}
            for name in dict.fromkeys(asked.name for asked in passes):
                lines = chain.from_iterable(_lines(asked, endpoint_run) for asked in passes if asked.name == name)
                files |= _write(new, name, lines, per_file)
            about = {"format": _FORMAT, "files": files, "passes": {p.key: p.name for p in passes}, "top": top}
            write_json(new / RECORD, {**about, **record})
    return {folder.path / FOLDER / name: n for name, n in files.items()}, estimate


def import_named(output: Path, answers: Sequence[Path]) -> endpoint.EndpointReport:
    """Read answers into the folder of an export, and finish the run if all are there.

    Answers may come in several files and calls, and in any order; one that is there already is passed over. An input
    that was refused, or whose answer cannot be read, is kept as failed, as in a run; one that was not processed (an
    expired batch, a wrong key) is left without an answer. Returns the run's report.

    Raises
    ------
    InputError
        If a file is cut short, a line answers no request of this export, a request has two different answers, or inputs
        are left without an answer; what was read before is kept.
    """
    file, remedy = output / FOLDER / RECORD, "Give the `output` of `export-requests`."
    record = read_record("import_answers", "output", file, remedy=remedy) if file.is_file() else {}
    if record.get("format") != _FORMAT:
        raise input_error("import_answers", "output", "be the folder of an export", got=str(output), remedy=remedy)
    endpoint_run = _options(record, output)
    folder, statistics = RunFolder(output), dict[str, QueueStatistics]()
    left: list[str] = []
    failed: dict[str, str] = {}
    n_inputs = 0
    with locked(folder.path, "import_answers", "output"):
        passes = _open(endpoint_run, record["top"])
        keys = {asked.key for asked in passes}
        for asked in passes:
            ids = asked.ids()
            read = _read_pass(asked, endpoint_run, ids, answers, keys, failed)
            statistics.setdefault(asked.name, read)
            left += to_ask(ids, asked.store.finished(), retry_failed=endpoint_run.options.on_error == "stop")
            n_inputs += len(ids)
        if left:
            raise _unanswered(left, failed, n_inputs)
        report = endpoint.run_endpoint(
            replace(endpoint_run, options=replace(endpoint_run.options, on_error="unparsed"))
        )
        recorded = folder.read()["endpoint"]
        folder.update_run({"endpoint": {n: {**recorded[n], "last": vars(read)} for n, read in statistics.items()}})
        for name, read in statistics.items():
            endpoint.warn_of_bounds(read, name)
    return replace(report, statistics=statistics)


def _options(named: Json, output: Path) -> endpoint.EndpointRun:
    prompts = PromptOptions(**named["ask"]["prompts"], **{k: v for k, v in named["ask"].items() if k != "prompts"})
    options = RunOptions(**{**named["running"], "output": output})
    settings, sets = EndpointSettings(_NOWHERE, **named["endpoint"]), SetOptions(**named["sets"])
    run = NamedRun(named["models"], sets, prompts, LoadOptions(), options)
    return over_endpoint(run, settings)


def _open(endpoint_run: endpoint.EndpointRun, top: int) -> list[endpoint.Pass]:
    """Open the run folder, and return all passes of the run, including repeats."""
    job, prompts = endpoint_run.job()
    at = {name: prompt.over(endpoint_run.settings) for name, prompt in prompts.items()}
    methods = {
        name: Method("generate") if prompt.scoring == "generate" else Method("label", top=top)
        for name, prompt in prompts.items()
    }
    job.identities = {name: endpoint.identity_of(at[name], prompts[name], methods[name]) for name in job.groups}
    endpoint.open_folder(job)
    passes: list[endpoint.Pass] = []
    for name, (_, sets) in job.groups.items():
        if not (file := endpoint.method_file(job.folder, at[name], prompts[name])).is_file():
            write_json(file, methods[name].to_dict())
        asked = endpoint.Pass(name, sets, prompts[name], methods[name], job.store(name))
        passes += [asked, *asked.repeated(*job.repeats(name), job.options.seed)]
    return passes


def _lines(asked: endpoint.Pass, endpoint_run: endpoint.EndpointRun) -> Iterator[str]:
    """Yield the requests of a pass that are not answered yet, or have failed and are to be asked again."""
    settings = asked.prompt.over(endpoint_run.settings)
    asked.store.create()
    pending = set(to_ask(asked.ids(), asked.store.finished(), retry_failed=endpoint_run.options.asks_failed))
    for input_id, task, row in distinct_rows(asked.sets):
        if input_id in pending:
            question = protocol.question_of(asked.prompt, settings.api, task, row)
            body, _ = part_request(settings, asked.prompt, asked.method, question, asked.part)
            request = {"custom_id": f"{input_id}-{asked.key}", "method": "POST", "url": f"/v1{settings.path}"}
            yield json.dumps({**request, "body": body}) + "\n"


def _write(folder: Path, name: str, lines: Iterator[str], per_file: int) -> dict[str, int]:
    """Write the lines of a pass to as many files as they need; return each one's name and number of lines."""
    stem = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
    files: dict[str, int] = {}
    line = next(lines, None)
    while line is not None:
        file, n_bytes, n_lines = f"{stem}-{len(files) + 1:05d}.jsonl", 0, 0
        with replacing(folder / file) as partial, partial.open("w", encoding="ascii", newline="") as stream:
            while line is not None and n_lines < per_file and (not n_lines or n_bytes + len(line) <= MOST_BYTES):
                stream.write(line)
                n_bytes, n_lines, line = n_bytes + len(line), n_lines + 1, next(lines, None)
        files[file] = n_lines
    return files


def _read_pass(
    asked: endpoint.Pass,
    endpoint_run: endpoint.EndpointRun,
    ids: Sequence[str],
    answers: Sequence[Path],
    keys: set[str],
    failed: dict[str, str],
) -> QueueStatistics:
    """Put the answers to a pass into its journal and store; add the reasons of failures to `failed`, by input."""
    started, known, settings = time.perf_counter(), set(ids), asked.prompt.over(endpoint_run.settings)
    read = part_request(settings, asked.prompt, asked.method, protocol.Question(""), asked.part)[1]
    counts, n_computed = dict.fromkeys(("n_requests", "n_bounded", "n_unread"), 0), 0
    asked.store.create()
    with asked.store.writer(0) as shard, Journal(asked.store.folder) as journal:
        before = dict(asked.store.finished())
        finished = {input_id for input_id, result in before.items() if not isinstance(result, Failed)}
        failures = {answered for answered in journal.paid if answered.ending.failure}
        for file, row, line in _answer_lines(answers):
            input_id, key = _addressed(file, row, line, keys)
            if key != asked.key:
                continue
            if input_id not in known:
                raise _wrong(file, row, "is to an input that is not in these sets", line["custom_id"])
            why, failure = None, None
            try:
                answered = protocol.Answered.of(input_id, asked.part, _body(line), read)
                if answered.ending.failure:
                    if answered not in failures:  # else its file is read again
                        journal.add(answered)
                        counts["n_requests"] += 1
                    failures.add(answered)
                    why = str(answered.ending.problem(f"input {input_id}"))
                    failure = Failed(answered.ending.failure, why)
            except (protocol.Refused, Malformed) as problem:
                why = str(problem).removeprefix("0: ")
                failure = _failure(problem, settings, asked.prompt.model, input_id)
            if why is not None:
                failed[input_id] = why
                is_known = input_id in finished or input_id in before
                if failure is not None and not is_known and endpoint_run.options.on_error != "stop":
                    shard.append([input_id], [failure])
                    before[input_id] = failure
                    n_computed += 1
                continue
            earlier = journal.get(input_id, asked.part)
            if earlier is None or earlier.ending.failure:
                earlier = None
                journal.add(answered)
                counts["n_requests"] += 1
            elif earlier.value != answered.value and input_id in finished:
                raise _wrong(file, row, "differs from an earlier answer to the same request", line["custom_id"])
            if input_id not in finished:
                used = earlier or answered
                parts = {asked.part: used.value}
                result = result_of(asked.method, asked.prompt, settings.api, parts, cut=used.ending.cut)
                shard.append([input_id], [result])
                finished.add(input_id)
                n_computed += 1
                counts["n_bounded"] += is_bounded(asked.method, parts)
                counts["n_unread"] += asked.method.scoring == "label" and not isinstance(result, list)
    return QueueStatistics(len(ids), n_computed, retries={}, seconds=time.perf_counter() - started, **counts)


def _answer_lines(files: Sequence[Path]) -> Iterator[tuple[Path, int, Json]]:
    """Yield each line of the files with its place, counted from 1."""
    for file in files:
        try:
            for row, line in enumerate(json_rows(file), start=1):
                yield file, row, line
        except (OSError, ValueError) as problem:
            must, remedy = "be whole files of JSON lines, one an answer", f"{first_line(problem)}. Fetch it again."
            raise input_error("import_answers", "answers", must, got=str(file), remedy=remedy) from None


def _addressed(file: Path, row: int, line: Json, keys: set[str]) -> tuple[str, str]:
    """Return the input and the store that an answer belongs to."""
    custom_id = line.get("custom_id")
    input_id, dash, key = custom_id.partition("-") if isinstance(custom_id, str) else ("", "", "")
    if not dash or len(input_id) != 32 or len(key) != 16:
        raise _wrong(file, row, "has a custom_id that `export-requests` did not write", custom_id)
    if key not in keys:
        raise _wrong(file, row, "is to a request of another export: of another model, prompt or setting", custom_id)
    return input_id, key


def _wrong(file: Path, row: int, what: str, custom_id: Any) -> InputError:
    must = f"answer the requests of this export; line {row} of {file} {what}"
    return input_error("import_answers", "answers", must, got=custom_id)


def _body(line: Json) -> Json:
    """Return an answer's body; raise `Refused` if it has none."""
    response = line.get("response")
    response = response if isinstance(response, dict) else {}
    body, status, error = response.get("body"), response.get("status_code", 0), line.get("error")
    if isinstance(body, dict) and status == 200 and not error:
        return dict(cleaned(body))
    message = protocol.message_of(json.dumps(error or body or "no answer").encode())
    raise protocol.Refused(status if isinstance(status, int) else 0, message)


def _failure(
    problem: protocol.Refused | Malformed, settings: EndpointSettings, model: str, input_id: str
) -> Failed | None:
    """Return what the store keeps of a failed request; None if the input is not the cause."""
    about = f"input {input_id}"
    if isinstance(problem, protocol.Interrupted):
        return None
    if isinstance(problem, Malformed):
        return Failed(NO_ANSWER, f"The answer to {about} cannot be read: {problem}.")
    if kind := protocol.failure_of(problem, model):
        return Failed(kind, str(protocol.refusal(settings, problem, model, about)))
    return Failed(NO_ANSWER, f"{about}: {problem}") if problem.status >= 500 else None


def _unanswered(left: Sequence[str], failed: Mapping[str, str], n_inputs: int) -> InputError:
    what = f"{len(left):,} of {plural(n_inputs, 'input')} {'has' if len(left) == 1 else 'have'} no answer"
    if reasons := [f"{input_id} ({failed[input_id]})" for input_id in left if input_id in failed]:
        what += f"; {len(reasons):,} failed: {', '.join(reasons[:3])}{', ...' if len(reasons) > 3 else ''}"
    remedy = "What was answered is kept: import the rest, or let `export-requests` write what is left."
    if len(left) == n_inputs == len(reasons) and len({failed[input_id] for input_id in left}) == 1:
        remedy = "Every request failed for this reason: change what it names and export into a new folder."
        if "max_completion_tokens" in failed[left[0]]:
            remedy += " Give `request_field` max_tokens=null and max_completion_tokens=N."
    return InputError(f"{what}.", function="import_answers", remedy=remedy)
