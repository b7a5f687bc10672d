"""Whatever comes in, a result or one clear sentence comes out: kept cases, and new ones with a fixed seed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.scripts import ROOT

KEPT = ROOT / "tests" / "fixtures" / "fuzz"


def fuzz(*arguments: str) -> Iterator[str]:
    """Run the suite in a process of its own, which an input may end."""
    command = [sys.executable, "-W", "ignore", str(ROOT / "benchmarks" / "fuzz.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1), done.stderr
    yield from done.stdout.splitlines()


@pytest.fixture(scope="module")
def faults() -> dict[str, Any]:
    """File that was kept -> what is wrong with it."""
    lines = map(json.loads, fuzz("--replay", str(KEPT)))
    return {line["file"]: line["fault"] for line in lines}


@pytest.mark.parametrize("name", sorted(file.name for file in KEPT.glob("*.json")))
def test_a_fault_of_the_past_stays_mended(name: str, faults: dict[str, Any]) -> None:
    assert faults[name] is None


@pytest.mark.slow
def test_new_cases_have_no_fault() -> None:
    lines = list(fuzz("--cases", "400", "--seed", "7"))
    assert lines[-1].endswith(": 0 faults"), "\n".join(lines)
