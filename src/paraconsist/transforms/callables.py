"""A function of the user's own as a transformation, named by its import path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.change_statistics import change_statistics
from paraconsist.transforms.interface import Items, each_text


def load_function(path: str) -> Any:
    """Return what ``module:name`` names, the working folder among the places to look.

    Raises
    ------
    InputError
        If it cannot be imported, or is nothing that can be called.
    """
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise input_error("transformation", "function", "be written module:function", got=path)
    here = "" not in sys.path
    if here:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as problem:
        raise input_error(
            "transformation",
            "function",
            "be in a module that can be imported",
            got=path,
            remedy=f"{type(problem).__name__}: {problem}.",
        ) from problem
    finally:
        if here:
            sys.path.remove("")
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise input_error("transformation", "function", f"be in module {module_name}", got=path)
    if not callable(found):
        raise input_error("transformation", "function", "be callable: text to text", got=path)
    return found


class FunctionTransformation:
    """Applies a function from text to text.

    Parameters
    ----------
    function : str or callable
        ``module:function``, or the function itself.

    Raises
    ------
    InputError
        If it cannot be imported or called.
    """

    name = "function"

    def __init__(self, function: Any) -> None:
        self._function = load_function(function) if isinstance(function, str) else function
        if not callable(self._function):
            raise input_error("transformation", "function", "be module:function, or callable", got=function)
        known = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
        self._path = function if isinstance(function, str) else known
        self.parameters: Mapping[str, object] = {"function": self._path}

    def fit(self, texts: Sequence[str]) -> FunctionTransformation:
        """Return itself: there is nothing to learn."""
        return self

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return what the function makes of each text; it is called once for each distinct text.

        Raises
        ------
        InputError
            If it fails, or returns an empty text or none; the message names the row.
        """
        return each_text(self._one, texts, self._path)

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return `change_statistics`, from a comparison of the texts."""
        return change_statistics(texts, changed)

    def _one(self, text: str) -> object:
        try:
            return self._function(text)
        except Exception as problem:
            raise input_error(
                "transformation",
                "function",
                "return a text for every text",
                got=text,
                remedy=f"{self._path} raised {type(problem).__name__}: {problem}.",
            ) from problem
