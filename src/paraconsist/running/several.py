"""Several models in one call: the folder of each, what it is, and the options in which it differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from paraconsist.data.foreign import read_yaml
from paraconsist.errors import input_error, unknown_option
from paraconsist.files import Json


def read_models(given: Any, known: Collection[str]) -> dict[str, Json]:
    """Return models by the names of their folders, each with ``model`` and options of its own, among `known`.

    `given` is a list of models, or a mapping of names to them, or a file with either in YAML, or with a model a line. A
    model is a name, a folder, a function, or a mapping of ``model`` and options. InputError for anything else.
    """
    if isinstance(given, (str, Path)):
        given = _read_file(Path(given))
    listed = [*given.items()] if isinstance(given, Mapping) else [(None, one) for one in given]
    models: list[tuple[Any, Json]]
    models = [(name, one if isinstance(one, Mapping) else {"model": one}) for name, one in listed]
    last = Counter(Path(str(one.get("model"))).name for _, one in models)
    named: dict[str, Json] = {}
    for name, one in models:
        path, remedy = Path(str(one.get("model"))), "An entry is a model, or a mapping of model and options."
        if not one.get("model") or not (isinstance(one["model"], (str, Path)) or callable(one["model"])):
            raise input_error("run", "models", "have a model in each entry", got=dict(one), remedy=remedy)
        for option in one:
            if option != "model" and option not in known:
                raise unknown_option("run", option, known)
        folder = name or (path.name if last[path.name] == 1 else "-".join(part for part in path.parts if part != "/"))
        if folder in named or folder in (".", "..") or Path(str(folder)).name != folder:
            must, remedy = "have a name of its own for each model, of a folder", "Write `NAME: MODEL` in YAML."
            raise input_error("run", "models", must, got=folder, remedy=remedy)
        named[folder] = one
    if not named:
        raise input_error("run", "models", "be a list of at least one model, or a mapping of names to models")
    return named


def _read_file(path: Path) -> Any:
    """Return what a YAML file holds, or the lines of another one, without comments."""
    if path.suffix.lower() in (".yaml", ".yml"):
        read = read_yaml("run", "models", path)
        return read if isinstance(read, (list, Mapping)) else []
    try:
        lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        raise input_error("run", "models", "name a text file that can be read", got=str(path)) from None
    return [line for line in lines if line]
