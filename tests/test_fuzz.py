"""Whatever comes in, a result or one clear sentence comes out: kept cases, and new ones with a fixed seed."""

import json
import subprocess
import sys
from typing import Any

import pytest
from helpers.scripts import ROOT

KEPT = ROOT / "tests" / "fixtures" / "fuzz"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """What the suite printed in a process of its own, which an input may end: a line for each kept case, new ones."""
    line = ["--replay", str(KEPT), "--cases", "200", "--seed", "7"]
    command = [sys.executable, "-W", "ignore", str(ROOT / "benchmarks" / "fuzz.py"), *line]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


NAMES = sorted(file.name for file in KEPT.glob("*.json"))


@pytest.fixture(scope="module")
def faults(lines: list[str]) -> dict[str, Any]:
    """File that was kept -> what is wrong with it."""
    return {line["file"]: line["fault"] for line in map(json.loads, lines[: len(NAMES)])}


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_of_the_past_stays_mended(name: str, faults: dict[str, Any]) -> None:
    assert faults[name] is None


@pytest.mark.slow
def test_new_cases_have_no_fault(lines: list[str]) -> None:
    assert lines[-1].startswith("200 cases in ")
    assert lines[-1].endswith(": 0 faults"), "\n".join(lines[len(NAMES) :])
