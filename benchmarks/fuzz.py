"""Fuzz paraconsist: mutated files, random tables beside the naive definitions, random options, random arguments.

    python benchmarks/fuzz.py --cases 20000 --seed 1 [--kinds files,tables,options,functions] [--keep FOLDER]
    python benchmarks/fuzz.py --replay tests/fixtures/fuzz

A case is a few lines of JSON. Each runs in a process forked from one that has imported everything, so that it costs
milliseconds. These are faults: an exception that is no `InputError`; an exit code that is none of 0, 1, 2, 129, 130,
141 and 143; the end of the interpreter; 60 s; 2 GB; a number that is not the naive definition's; an error of more
than one line, or that speaks of Python; a terminal escape that gets through. A fault is made small and kept.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import decimal
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz_calls import callables, function_case, options_case
from fuzz_cases import ARROW_TYPES, Case, as_bytes, file_case, inputs
from fuzz_tables import extra_column, naive_scores, table_case

MAKERS: dict[str, Callable[[random.Random, Any], Case]] = {
    "files": file_case,
    "tables": lambda rng, _: table_case(rng),
    "options": options_case,
    "functions": function_case,
}
LONGEST, MOST_MEMORY = 60.0, 2 << 30
EXIT_CODES = (0, 1, 2, 129, 130, 141, 143)
_INTERNAL = re.compile(
    r"Traceback|pyarrow\.|numpy\.|<class '|object at 0x|Arrow(Invalid|TypeError|NotImpl)|\b[A-Z][a-z]+(Error|Exception)"
)
_LONGEST_SENTENCE = 2000

#: What is wrong, where, and the words: faults of one kind at one place count as one.
Fault = tuple[str, str, str]
#: What function cases call; filled before the fork.
CALLS: dict[str, Any] = {}


# -------------------------------------------------------------------------------------------- in the forked process


def run_case(case: Case) -> Fault | None:
    """Run a case in an empty working folder; return what is wrong: its kind, the place, the words."""
    try:
        return {"command": _run_command, "table": _run_table, "function": _run_function}[case["kind"]](case)
    except MemoryError:
        return "memory", "", "MemoryError"


def _problem(error: BaseException) -> Fault | None:
    """Return the fault that an exception is; None for an error as it is to be."""
    from paraconsist.errors import InputError

    if isinstance(error, InputError):
        return _bad_sentence(str(error))
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/paraconsist/" in one.filename]
    place = f"{frames[-1].filename.rpartition('/paraconsist/')[2]}:{frames[-1].name}" if frames else "?"
    return "exception", f"{type(error).__name__} in {place}", str(error)[:300]


def _bad_sentence(sentence: str) -> Fault | None:
    sentence = sentence.strip()
    bare = re.sub(r"got .*", "", sentence)  # what was given may hold anything
    faults = {"several lines": "\n" in sentence, "no end": len(sentence) > _LONGEST_SENTENCE}
    faults |= {"speaks of Python": _INTERNAL.search(bare) is not None, "escape": "\x1b" in sentence}
    return next((("message", what, sentence[:600]) for what, is_wrong in faults.items() if is_wrong), None)


def _run_command(case: Case) -> Fault | None:
    for name, content in case["files"].items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(content))
    code, printed, said = _called(case["arguments"])
    fault = _judged(code, printed, said, case["arguments"])
    if fault is None or code == 0:
        return fault
    _, _, traced = _called(["--verbose", *case["arguments"]])  # where it arose
    places = re.findall(r'File ".*/paraconsist/([^"]*)", line \d+, in (\w+)', traced)
    return fault[0], f"{fault[1]} in {':'.join(places[-1])}" if places else fault[1], fault[2]


def _called(arguments: list[str]) -> tuple[Any, str, str]:
    """Return the exit code of a command, and what it printed."""
    from paraconsist.cli.app import main

    saved, code = (os.dup(1), os.dup(2)), None
    with Path("../stdout").open("w+b") as out, Path("../stderr").open("w+b") as err:
        sys.stdout.flush()
        os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
        try:
            main(arguments)
        except SystemExit as done:
            code = done.code
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            for own, number in zip(saved, (1, 2), strict=True):
                os.dup2(own, number)
                os.close(own)
        contents = []
        for stream in (out, err):
            stream.seek(0)
            contents.append(stream.read(1 << 22).decode("utf-8", "replace"))
    return code, contents[0], contents[1]


def _judged(code: Any, printed: str, said: str, arguments: list[str]) -> Fault | None:
    if code not in EXIT_CODES:
        kind = re.search(r"[A-Z]\w*(Error|Exception|Invalid|Exit|Group)\b", said)
        return f"exit {code}", kind[0] if kind else "", said[-400:]
    if "\x1b" in printed + said:
        return "message", f"escape: {arguments[0]}", (printed + said)[:300]
    if "Traceback" in said:
        return "message", "traceback", said[-400:]
    if code == 2 and "Usage:" not in said:
        errors = said.partition("error: ")[2]
        return _bad_sentence(errors) if errors else ("message", f"no words: {arguments[0]}", said[:300])
    if code == 0 and "--json" in arguments:
        try:
            json.loads(printed, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return "message", f"no strict JSON: {arguments[0]}", printed[:300]
    return None


def _run_table(case: Case) -> Fault | None:
    import paraconsist as pc

    columns = dict(case["columns"])
    try:
        source = _stored(case)
    except (ValueError, OverflowError, UnicodeError, csv.Error):
        return None  # not to be stored so
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"measures": case["measures"], "unparsed": case["unparsed"]}
            (scores,) = pc.score(source, **options).to_dict().values()
    except Exception as error:
        return _problem(error)
    if case.get("extra", [None])[0] == "allowed_labels":
        columns["allowed_labels"] = extra_column(case["extra"][1], len(columns["label"])).to_pylist()
    expected = naive_scores(columns, case["unparsed"])
    for measure, values in scores["measures"].items():
        for key, naive in expected.get(measure, {}).items():
            value = values.get(key)
            value = math.nan if value is None else value
            if not (
                math.isclose(value, naive, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(value) and math.isnan(naive))
            ):
                return "wrong number", f"{measure}.{key}", f"{value}, must be {naive}, from {case['stored']}"
    return None


def _stored(case: Case) -> Any:
    """Write a table as the case says; return its path, or the table in memory."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, stored = case["columns"], case["stored"]
    typed = {name: _typed(cells, case["types"][name]) for name, cells in columns.items()}
    rows = list(zip(*columns.values(), strict=True))
    if stored.startswith(("csv", "tsv")):
        delimiter = ";" if ";" in stored else "\t" if stored == "tsv" else ","
        text = io.StringIO()
        writer = csv.writer(
            text, delimiter=delimiter, quoting=csv.QUOTE_ALL if "quoted" in stored else csv.QUOTE_MINIMAL
        )
        writer.writerows([list(columns), *(["" if cell is None else cell for cell in row] for row in rows)])
        path = Path(f"t.{stored[:3]}")
        path.write_bytes(text.getvalue().encode("utf-16" if "utf-16" in stored else "utf-8"))
        return path
    if stored == "jsonl":
        lines = zip(*typed.values(), strict=True)
        path = Path("t.jsonl")
        path.write_text("\n".join(json.dumps(dict(zip(columns, line, strict=True))) for line in lines))
        return path
    if stored == "mapping":
        return typed
    arrays = {name: pa.array(cells, ARROW_TYPES[case["types"][name]]) for name, cells in typed.items()}
    if "extra" in case:
        arrays[case["extra"][0]] = extra_column(case["extra"][1], len(rows))
    table = pa.table(arrays)
    if stored == "pandas":
        return pd.DataFrame({name: pd.Series(cells, dtype="object") for name, cells in typed.items()})
    if stored == "parquet":
        pq.write_table(table, "t.parquet")
        return Path("t.parquet")
    return table


def _typed(cells: list[Any], kind: str) -> list[Any]:
    read: Callable[[str], Any] = int if kind.startswith("int") else str
    return [None if cell is None else cell == "true" if kind == "bool" else read(cell) for cell in cells]


def _run_function(case: Case) -> Fault | None:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    known = {"np": np, "pd": pd, "pa": pa, "Decimal": decimal.Decimal}
    arguments = {name: eval(source, known) for name, source in case["arguments"].items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = CALLS[case["call"]][0](**arguments)
            repr(result)
            if hasattr(result, "to_dict"):
                json.dumps(result.to_dict())
    except Exception as error:
        if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
            return None  # Python's own: an argument that is required is not there
        return _problem(error)
    return None


def _serve(connection: Any, folder: str) -> None:
    """Run cases until there are no more."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY, 4 * MOST_MEMORY))
    work = Path(folder) / "work"
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        os.chdir(work)
        connection.send(run_case(case))


# ----------------------------------------------------------------------------------------------------------- beside it


class Worker:
    """A forked process that runs cases; it is watched, and replaced when it ends or has to be ended."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self.folder = tempfile.mkdtemp(prefix="fuzz-")
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.folder), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.process.start()
        other.close()

    def run(self, case: Case) -> Fault | None:
        """Run a case; return its fault."""
        if not self.process.is_alive():
            self._start()
        self.connection.send(case)
        started = time.monotonic()
        what = ""
        while not what:
            if self.connection.poll(0.2):
                try:
                    fault: Fault | None = self.connection.recv()
                    return fault
                except EOFError:
                    self.process.join()
                    return "crash", f"signal {-(self.process.exitcode or 0)}", ""
            if time.monotonic() - started > self.longest:
                what = "hang"
            elif self._memory() > MOST_MEMORY:
                what = "memory"
        self.process.kill()
        self.process.join()
        return what, "", f"after {time.monotonic() - started:.0f} s"

    def _memory(self) -> int:
        with contextlib.suppress(OSError, IndexError):
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
            return int(pages) * resource.getpagesize()
        return 0

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def smaller(case: Case) -> Iterator[Case]:
    """Yield the case with less in it, most first."""
    if case["kind"] == "command":
        for name, content in case["files"].items():
            if isinstance(content, str):
                for text in _without(content.splitlines(keepends=True)):
                    yield {**case, "files": {**case["files"], name: "".join(text)}}
            yield {**case, "files": {other: one for other, one in case["files"].items() if other != name}}
        for fewer in _without(case["arguments"][1:]):
            yield {**case, "arguments": [case["arguments"][0], *fewer]}
    if case["kind"] == "table":
        names = list(case["columns"])
        for rows in _without(list(zip(*case["columns"].values(), strict=True))):
            if rows:
                yield {**case, "columns": dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))}
        for name in names:
            yield {**case, "columns": {other: cells for other, cells in case["columns"].items() if other != name}}
        for key in ("extra", "measures"):
            if case.get(key):
                yield {**case, key: None} if key == "measures" else {k: v for k, v in case.items() if k != key}
    if case["kind"] == "function":
        for name in case["arguments"]:
            yield {**case, "arguments": {other: one for other, one in case["arguments"].items() if other != name}}


def _without(items: list[Any]) -> Iterator[list[Any]]:
    size = len(items)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        if size == 1:
            return


def minimised(worker: Worker, case: Case, fault: Fault, seconds: float = 20.0) -> Case:
    """Return the smallest case found that has the same fault."""
    ends = time.monotonic() + seconds
    progress = fault[0] != "hang"
    while progress and time.monotonic() < ends:
        progress = False
        for candidate in smaller(case):
            if time.monotonic() > ends:
                break
            found = worker.run(candidate)
            if found is not None and found[:2] == fault[:2]:
                case, progress = copy.deepcopy(candidate), True
                break
    return case


def warm_up() -> None:
    """Import before the fork what the cases import."""
    import pandas
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet

    import paraconsist.cli.app
    import paraconsist.reporting.result
    import paraconsist.reporting.tables

    _ = (pandas, pyarrow.csv, pyarrow.json, pyarrow.parquet, paraconsist.reporting.tables)
    CALLS.update(callables())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help="400 by default, none where kept faults are run again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--kinds", default=",".join(MAKERS))
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--keep", type=Path, help="folder for the faults that were found")
    parser.add_argument("--replay", type=Path, help="folder or file of kept faults, to be run again")
    options = parser.parse_args()
    if options.cases is None:
        options.cases = 0 if options.replay else 400
    home = tempfile.mkdtemp(prefix="fuzz-home-")
    os.environ.update(HF_HOME=home, PARACONSIST_CACHE=home, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", COLUMNS="100")
    warm_up()
    worker = Worker()
    try:
        found = replay(worker, options.replay) if options.replay else 0
        found += search(worker, options) if options.cases else 0
    finally:
        worker.close()
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(1 if found else 0)


def replay(worker: Worker, path: Path) -> int:
    """Run what was kept; print a line of JSON for each, and return how many are faults still."""
    n = 0
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        fault = worker.run(json.loads(file.read_text(encoding="utf-8"))["case"])
        print(json.dumps({"file": file.name, "fault": fault}), flush=True)
        n += fault is not None
    return n


def search(worker: Worker, options: argparse.Namespace) -> int:
    """Run random cases; print the faults and how many there were, and return that."""
    found, kinds = inputs(), options.kinds.split(",")
    seen: Counter[tuple[str, str]] = Counter()
    started, n = time.monotonic(), 0
    for number in range(options.start, options.start + options.cases):
        if time.monotonic() - started > options.seconds:
            break
        kind = kinds[number % len(kinds)]
        rng = random.Random(f"{options.seed} {number}")
        case = MAKERS[kind](rng, CALLS if kind == "functions" else found)
        fault, n = worker.run(case), n + 1
        if fault is None:
            continue
        seen[fault[:2]] += 1
        if seen[fault[:2]] == 1:
            print(f"{number} {kind}: {' | '.join(fault)}", flush=True)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                slug = re.sub(r"[^a-z0-9]+", "-", f"{kind} {fault[0]} {fault[1]}".lower()).strip("-")[:90]
                kept = {"fault": fault, "case": minimised(worker, case, fault)}
                (options.keep / f"{slug}.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(f"{n} cases in {time.monotonic() - started:.0f} s, seed {options.seed}: {sum(seen.values())} faults")
    for (what, where), count in seen.most_common():
        print(f"  {count:5} {what} | {where}")
    return sum(seen.values())


if __name__ == "__main__":
    main()
