"""Names and scripts of the metrics, and their registration for `evaluate.load`."""

from __future__ import annotations

import ast
import hashlib
from importlib.resources import files
from pathlib import Path

from paraconsist.errors import check_choice
from paraconsist.files import make_folder, make_youngest, replacing, write_text, writing

_KINDS = ("metric", "comparison", "measurement")


def _folder() -> Path:
    return Path(str(files("paraconsist.metrics")))


def metric_names() -> tuple[str, ...]:
    """Return the names that `evaluate.load` knows after `register`."""
    return tuple(sorted(script.stem for script in _folder().glob("*/*.py") if script.stem == script.parent.name))


def metric_script(name: str) -> Path:
    """Return the script of a metric; `evaluate.load` accepts its folder too. InputError if there is no such metric."""
    check_choice("metric_script", "name", name, metric_names())
    return _folder() / name / f"{name}.py"


def metric_kind(name: str) -> str:
    """Return evaluate's type of the module: ``"metric"``, ``"comparison"`` or ``"measurement"``."""
    script = ast.parse(metric_script(name).read_text(encoding="utf-8"))  # importing it would take seconds
    bases = [base for node in script.body if isinstance(node, ast.ClassDef) for base in node.bases]
    names = [ast.unparse(base).rpartition(".")[2].lower() for base in bases]
    return next(kind for kind in names if kind in _KINDS)


def register(cache_dir: str | Path | None = None) -> list[Path]:
    """Copy the metric scripts to where ``evaluate.load("<name>")`` finds them, from any working directory.

    Once per machine is enough. evaluate looks for a bare name in the working directory, on the Hub, and then in its
    cache of modules, to which the scripts are copied, so that it works offline too. After an upgrade another call makes
    the new scripts take precedence.

    Without a network, set ``HF_HUB_OFFLINE=1`` (or ``HF_EVALUATE_OFFLINE=1``); else evaluate tries the Hub first.

    Parameters
    ----------
    cache_dir : path, optional
        The modules cache; by default the one evaluate uses (``HF_MODULES_CACHE``).

    Returns
    -------
    list of Path
        The copies.
    """
    from evaluate.loading import init_dynamic_modules  # takes seconds to import

    cache_dir = None if cache_dir is None else str(cache_dir)
    with writing("register", "cache_dir", cache_dir, remedy="Name another in `cache_dir` or HF_MODULES_CACHE."):
        modules = Path(init_dynamic_modules(hf_modules_cache=cache_dir))
        return [
            _copy(metric_script(name), modules / "metrics" / f"evaluate-{metric_kind(name)}--{name}")
            for name in metric_names()
        ]


def _copy(script: Path, folder: Path) -> Path:
    """Copy a script to the folder of its content's hash, as evaluate does, and make it the newest."""
    content = script.read_bytes()
    target = folder / hashlib.sha256(content).hexdigest() / script.name
    make_folder(target.parent)
    for package in (folder.parent, folder, target.parent):
        if not (package / "__init__.py").exists():
            write_text(package / "__init__.py", "")
    if not target.exists() or target.read_bytes() != content:
        with replacing(target) as partial:
            partial.write_bytes(content)
    make_youngest(target, folder.glob(f"*/{script.name}"))
    return target
