"""Load the metrics of this project through evaluate, in a cache of the test session's own."""

import atexit
import shutil
import sys
import tempfile
from functools import lru_cache
from typing import Any

import pytest

from paraconsist.registry import metric_script


@lru_cache(maxsize=1)
def _session_folder() -> str:
    folder = tempfile.mkdtemp(prefix="evaluate-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache
def load_metric(name: str) -> Any:
    """Return `evaluate.load` of the metric's folder; nothing is written to the user's own caches."""
    evaluate = pytest.importorskip("evaluate")
    if "evaluate_modules" not in sys.modules:  # once imported, the package of modules cannot move
        evaluate.config.HF_MODULES_CACHE = f"{_session_folder()}/modules"
    return evaluate.load(str(metric_script(name).parent), cache_dir=f"{_session_folder()}/rows")
