"""The walls between the rooms: what a module may pull in, and what stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "paraconsist"

PLATFORM = {"torch", "transformers", "accelerate", "datasets", "evaluate", "pandas", "pyarrow"}
#: Rooms whose imports are checked in a fresh process: room -> packages that must not come with it.
FORBIDDEN = {
    "paraconsist": PLATFORM | {"numpy", "scipy", "typer", "rich"},
    "paraconsist.errors": PLATFORM | {"numpy", "scipy"},
    "paraconsist.data.tasks": PLATFORM | {"numpy", "scipy"},
    "paraconsist.registry": PLATFORM,
    "paraconsist.models": PLATFORM - {"pyarrow"},
    "paraconsist.models.labels": PLATFORM,
    "paraconsist.models.training.presets": PLATFORM | {"numpy", "scipy"},
    "paraconsist.scoring.folders": PLATFORM - {"pyarrow"},
    "paraconsist.data.logs.reading": PLATFORM - {"pyarrow"},
    "paraconsist.reporting.hub.spaces": PLATFORM | {"numpy", "scipy"},
    "paraconsist.reporting.hub.runs": PLATFORM - {"pyarrow"},
    "paraconsist.cli.app": PLATFORM | {"numpy", "scipy"},
    "paraconsist.reporting.tables": PLATFORM,
    "paraconsist.studies.ie.decision": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.studies.ie.experiment": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.reporting.space": PLATFORM | {"numpy", "scipy", "gradio", "matplotlib"},
    "paraconsist.reporting.space.catalogue": (PLATFORM - {"pyarrow"}) | {"gradio", "matplotlib"},
    "paraconsist.running.endpoint": (PLATFORM - {"pyarrow"}) | {"httpx"},
    "paraconsist.reporting.page": (PLATFORM - {"pyarrow"}) | {"matplotlib", "jinja2"},
    "paraconsist.studies.aflite": PLATFORM | {"sklearn", "matplotlib"},
    "paraconsist.studies.artifacts": (PLATFORM - {"pyarrow"}) | {"sklearn", "matplotlib"},
    "paraconsist.transforms": PLATFORM | {"numpy", "scipy"},
    "paraconsist.transforms": PLATFORM | {"numpy", "scipy"},
    "paraconsist.studies.sensitivity": PLATFORM - {"pyarrow"},
}
#: The measures: standard library, numpy and scipy, and one another.
PACKAGES = ("paraphrastic", "logical", "sensitivity", "invariance", "uncertainty", "comparison", "noise", "surface")
MEASURES = sorted(
    {path.stem for path in SOURCE.glob("*.py")}
    - {"__init__", "__main__", "errors", "predictions", "registry", "building"}
    | set(PACKAGES)
)
MEASURES_MAY_IMPORT = {"numpy", "scipy", "paraconsist"} | set(sys.stdlib_module_names)


def loaded_by(module: str) -> set[str]:
    code = f"import {module}, sys, json; print(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", FORBIDDEN)
def test_a_room_pulls_in_nothing_forbidden(module):
    assert not loaded_by(module) & FORBIDDEN[module]


def test_the_measures_pull_in_numpy_and_scipy_only():
    code = "; ".join(f"import paraconsist.{name}" for name in MEASURES)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & (PLATFORM | {"typer", "rich"})


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_imports_only_what_it_may(name):
    files = [SOURCE / f"{name}.py"] if name not in PACKAGES else sorted((SOURCE / name).glob("*.py"))
    for imported in set().union(*map(imports_of, files)):
        assert imported.partition(".")[0] in MEASURES_MAY_IMPORT
        if imported.startswith("paraconsist."):
            assert imported.split(".")[1] in {*MEASURES, "errors"}


@pytest.mark.parametrize("room", ["running", "models", "training"])
def test_what_runs_models_never_imports_a_measure(room):
    for path in (SOURCE / room).rglob("*.py"):
        rooms = {name.split(".")[1] for name in imports_of(path) if name.startswith("paraconsist.")}
        assert not rooms & {*MEASURES, "scoring", "reporting", "cli"}, path


@pytest.mark.parametrize("room", ["scoring", "logs", "hub"])
def test_scoring_never_imports_what_runs_models(room):
    for path in (SOURCE / room).rglob("*.py"):
        rooms = {name.split(".")[1] for name in imports_of(path) if name.startswith("paraconsist.")}
        assert not rooms & {"running", "models", "training", "cli"}, path


def test_only_commands_import_the_studies():
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] not in ("studies", "cli"):
            assert not any(name.startswith("paraconsist.studies") for name in imports_of(path)), path


def test_the_browser_pages_never_run_models():
    for path in (SOURCE / "space").rglob("*.py"):
        rooms = {name.split(".")[1] for name in imports_of(path) if name.startswith("paraconsist.")}
        assert not rooms & {"running", "models", "training", "cli"}, path


@pytest.mark.parametrize("script", sorted(ROOT.glob("metrics/*/*.py")), ids=lambda p: p.stem)
def test_a_metric_script_is_thin(script):
    if script.stem == "__init__":
        assert not script.read_text().strip()
        return
    if script.stem == "app":
        assert imports_of(script) == {"paraconsist.reporting.space"}
        return
    ours = {n for n in imports_of(script) if n.startswith("paraconsist") and not n.startswith("paraconsist.metric_")}
    assert len(ours) == 1
    assert ours.pop().split(".")[1] in MEASURES


def test_importing_the_package_is_quick_to_read():
    assert imports_of(SOURCE / "__init__.py") <= {"__future__", "importlib.metadata", "paraconsist.registry"}
