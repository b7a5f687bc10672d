"""Would the tests notice a small mistake? python benchmarks/mutants.py [--mutants 60] [--seed 0]

Each mutant changes one operator, number or condition of one line that the tests reach, drawn at random; the tests that
reach the line are run on it, and one of them must fail. The rooms' tests are run once to record which test reaches
which line (pytest-cov), then the mutants, `--jobs` at a time. Survivors are printed with their line: some compute the
same as the original, which only a reader can tell. Half an hour of processor time for 60.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "paraconsist"
TIMEOUT = 600  # seconds; a mutant that never ends is noticed
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
        is_number = isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))
        is_operator = (
            (isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS)
            or (isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_union(node))
            or isinstance(node, ast.BoolOp)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)))
        )
        if is_number or is_operator:
            nodes.append(node)
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            if name not in ("annotation", "returns", "decorator_list"):
                waiting += [child for child in children if isinstance(child, ast.AST)]
    return nodes


def _is_union(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.BitOr) and "None" in ast.unparse(node)


def changed(node: ast.AST) -> str:
    """Change a node where it is; return what was done, or nothing where it cannot be changed."""
    before = ast.unparse(node)
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
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    return f"{before}  ->  {ast.unparse(node)}"


def reached(rooms: Sequence[str], folder: Path) -> dict[str, dict[int, list[str]]]:
    """Run the rooms' tests once; return file -> line -> the tests that reach it when they run."""
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "coverage")}
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--cov-fail-under=0"]
    tests += ["--hypothesis-profile", "quick", *(f"tests/{room}" for room in rooms)]
    tests += ["--cov-context=test", "--cov-report=", *(f"--cov=paraconsist.{room}" for room in rooms)]
    if subprocess.run(tests, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit("the tests fail before anything is changed: run pytest to see which")
    report = folder / "coverage.json"
    command = [sys.executable, "-m", "coverage", "json", "-q", "--fail-under=0", "--show-contexts", "-o", str(report)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return {
        name: {
            int(line): sorted({test.partition("|")[0] for test in contexts if "|" in test})  # fixtures' lines too
            for line, contexts in part["contexts"].items()
        }
        for name, part in files.items()
        if (ROOT / name).relative_to(SOURCE).parts[0] in rooms
    }


def mutants(lines: Mapping[str, Mapping[int, list[str]]], n: int, rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants of lines that a test reaches, each place with the same chance."""
    sites = []
    for name in sorted(lines):
        path = ROOT / name
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for index, node in enumerate(places(tree)):
            if tests := lines[name].get(node.lineno):
                sites.append((path, tree, index, tuple(tests)))
    for path, tree, index, tests in rng.sample(sites, n):
        tree = copy.deepcopy(tree)
        node = places(tree)[index]
        change = changed(node)
        yield Mutant(path, node.lineno, change, ast.unparse(ast.fix_missing_locations(tree)), tests)


def is_killed(mutant: Mutant, work: Path) -> bool:
    """Run the mutant's tests on a copy of the package; say whether one fails."""
    first = list({test.partition("[")[0]: test for test in mutant.tests}.values())
    with tempfile.TemporaryDirectory(dir=work) as folder:
        shutil.copytree(SOURCE, Path(folder) / "paraconsist", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "paraconsist" / mutant.path.relative_to(SOURCE)).write_text(mutant.source, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--hypothesis-profile",
            "quick",
        ]
        for tests in (first[:FIRST], first[FIRST:], sorted(set(mutant.tests) - set(first))):
            try:
                if (
                    tests
                    and subprocess.run(
                        [*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT
                    ).returncode
                ):
                    return True
            except subprocess.TimeoutExpired:
                return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=["measures", "scoring"])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(name)
        drawn = list(mutants(reached(options.rooms, folder), options.mutants, random.Random(options.seed)))
        survivors = 0
        for mutant, killed in zip(drawn, pool.map(lambda mutant: is_killed(mutant, folder), drawn), strict=True):
            survivors += not killed
            where = f"{mutant.path.relative_to(SOURCE)}:{mutant.line}"
            print(f"{'killed  ' if killed else 'SURVIVES'} {where}  {mutant.change}", flush=True)
    print(f"{len(drawn) - survivors} of {len(drawn)} mutants are killed")


if __name__ == "__main__":
    main()
