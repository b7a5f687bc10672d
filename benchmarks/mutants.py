"""Would the tests notice a small mistake? python benchmarks/mutants.py [--mutants 60] [--seed 0] [--files NAME ...]

Each mutant changes one operator, number, condition, branch, extreme or order of arguments on one line that the tests
reach, drawn at random; the tests that reach the line are run on it, those that reach the fewest lines first, and one
of them must fail. The rooms' tests are run once to record which test reaches which line (pytest-cov; kept in
`--folder`), then the mutants, `--jobs` at a time. Survivors are printed with their line: some compute the same as the
original, which only a reader can tell. Half an hour of processor time for 60.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "paraconsist"
#: Tests of a line that are run before all others: one of each test function, in the order of their files.
FIRST = 40
COMPARISONS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
ARITHMETIC = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
EXTREMES = {"min": "max", "minimum": "maximum", "any": "all", "argmin": "argmax", "floor": "ceil", "left": "right"}
EXTREMES |= {other: name for name, other in EXTREMES.items()}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    line: int
    change: str
    source: str
    tests: tuple[str, ...]  # those that reach the line


def places(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes that can be changed: no annotations, texts, imports for types, errors' arguments."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            continue
        is_number = isinstance(node, ast.Constant) and (
            isinstance(node.value, (bool, int, float)) or node.value in ("left", "right")
        )
        is_operator = (
            (isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS)
            or (isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_union(node))
            or isinstance(node, ast.BoolOp)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)))
            or isinstance(node, (ast.If, ast.IfExp))
            or (isinstance(node, ast.comprehension) and node.ifs)
            or (isinstance(node, ast.Call) and _can_change(node))
        )
        if is_number or is_operator:
            nodes.append(node)
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            is_strict = isinstance(node, ast.keyword) and node.arg == "strict"
            if name not in ("annotation", "returns", "decorator_list") and not is_strict:
                waiting += [child for child in children if isinstance(child, ast.AST)]
    return nodes


def _is_union(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.BitOr) and "None" in ast.unparse(node)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _can_change(call: ast.Call) -> bool:
    can_swap = len(call.args) > 1 and not any(isinstance(each, ast.Starred) for each in call.args[:2])
    return _name(call) in EXTREMES or (can_swap and _name(call) not in ("isinstance", "getattr", "range"))


def _line(node: Any) -> int:
    place = node.target if isinstance(node, ast.comprehension) else node
    return int(place.lineno)


def _swap_extreme(call: ast.Call) -> None:
    if isinstance(call.func, ast.Attribute):
        call.func.attr = EXTREMES[call.func.attr]
    else:
        call.func = ast.Name(EXTREMES[_name(call)], ast.Load())


def changed(node: ast.AST, rng: random.Random) -> str:
    """Change a node where it is; return what was done."""
    before = ast.unparse(node.test if isinstance(node, ast.If) else node)
    if isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            node.value = EXTREMES[node.value]
        elif isinstance(node.value, bool):
            node.value = not node.value
        elif isinstance(node.value, (int, float)):
            step = 1 if isinstance(node.value, int) else 0.5
            node.value += rng.choice((-step, step))
    elif isinstance(node, (ast.If, ast.IfExp)):
        node.test = ast.Constant(rng.random() < 0.5)
    elif isinstance(node, ast.comprehension):
        node.ifs = []
    elif isinstance(node, ast.Call):
        if _name(node) in EXTREMES:
            _swap_extreme(node)
        else:
            node.args[0], node.args[1] = node.args[1], node.args[0]
    return f"{before}  ->  {ast.unparse(node.test if isinstance(node, ast.If) else node)}"


def reached(rooms: Sequence[str], folder: Path) -> dict[str, dict[int, list[str]]]:
    """Run the rooms' tests once; return file -> line -> the tests that reach it when they run."""
    record = folder / "coverage"
    if not record.exists():
        _record(rooms, record)
    sys.path.remove(str(Path(__file__).resolve().parent))  # coverage.py there is another
    from coverage import CoverageData

    data = CoverageData(basename=str(record))
    data.read()
    return {
        name: {
            line: sorted({test.partition("|")[0] for test in contexts if "|" in test})  # fixtures' lines too
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for name in sorted(data.measured_files())
        if Path(name).relative_to(SOURCE).parts[0] in rooms
    }


def _record(rooms: Sequence[str], record: Path) -> None:
    environment = {**os.environ, "COVERAGE_FILE": str(record)}
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--cov-fail-under=0"]
    tests += ["--hypothesis-profile", "quick", *(f"tests/{room}" for room in rooms)]
    tests += ["--cov-context=test", "--cov-report=", *(f"--cov=paraconsist.{room}" for room in rooms)]
    if subprocess.run(tests, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit("the tests fail before anything is changed: run pytest to see which")


def mutants(
    lines: Mapping[str, Mapping[int, list[str]]], n: int, rng: random.Random, files: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Yield mutants of lines that a test reaches, each place with the same chance."""
    sites = []
    breadth = Counter(test for of_file in lines.values() for tests in of_file.values() for test in tests)
    for name in sorted(lines):
        if files and not any(part in name for part in files):
            continue
        path = Path(name)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for index, node in enumerate(places(tree)):
            if tests := lines[name].get(_line(node)):
                sites.append((path, tree, index, tests))
    for path, tree, index, tests in rng.sample(sites, n):
        tree = copy.deepcopy(tree)
        node = places(tree)[index]
        change = changed(node, rng)
        narrow_first = tuple(sorted(tests, key=lambda test: (breadth[test], test)))
        yield Mutant(path, _line(node), change, ast.unparse(ast.fix_missing_locations(tree)), narrow_first)


def is_killed(mutant: Mutant, work: Path, limit: float) -> bool:
    """Run the mutant's tests on a copy of the package; say whether one fails, or they run for `limit` seconds."""
    first = list({test.partition("[")[0]: test for test in reversed(mutant.tests)}.values())[::-1]
    with tempfile.TemporaryDirectory(dir=work) as folder:
        shutil.copytree(SOURCE, Path(folder) / "paraconsist", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "paraconsist" / mutant.path.relative_to(SOURCE)).write_text(mutant.source, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        command += ["--hypothesis-profile", "quick"]
        for tests in (first[:FIRST], first[FIRST:], sorted(set(mutant.tests) - set(first))):
            if not tests:
                continue
            try:
                run = subprocess.run([*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return True
            if run.returncode:
                return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=["measures", "scoring", "comparing"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--files", nargs="+", default=[], help="only files whose path holds one of these")
    parser.add_argument("--limit", type=float, default=600, help="seconds, after which a mutant counts as noticed")
    parser.add_argument("--folder", type=Path, help="where the record of which test reaches which line is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(name)
        lines = reached(options.rooms, options.folder or folder)
        drawn = list(mutants(lines, options.mutants, random.Random(options.seed), options.files))
        verdicts = pool.map(lambda mutant: is_killed(mutant, folder, options.limit), drawn)
        survivors = 0
        for mutant, killed in zip(drawn, verdicts, strict=True):
            survivors += not killed
            where = f"{mutant.path.relative_to(SOURCE)}:{mutant.line}"
            print(f"{'killed  ' if killed else 'SURVIVES'} {where}  {mutant.change}", flush=True)
    print(f"{len(drawn) - survivors} of {len(drawn)} mutants are killed")


if __name__ == "__main__":
    main()
