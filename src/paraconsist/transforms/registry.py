"""Transformations by name: what the command line and the IE test ask for.

A function of the user's own as a transformation, named by its import path.

Tautology suffixes: a text goes on with something that adds nothing ("and true is true").

Naik et al. (2018, "Stress Test Evaluation for Natural Language Inference", COLING), cited by Salvatore et al. (2023).
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.change_statistics import change_statistics
from paraconsist.transforms.dictionary import DictionaryTransformation
from paraconsist.transforms.interface import Items, Transformation, each_text
from paraconsist.transforms.wordnet_nouns import WordNetNouns


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


#: Short names: word overlap, negation and length mismatch of the stress tests.
SUFFIXES: Mapping[str, tuple[str, int]] = {
    "tautology": ("and true is true", 1),
    "negation": ("and false is not true", 1),
    "length": ("and true is true", 5),
}

_END = re.compile(r"[\s.!?…]*\Z")


class SuffixTransformation:
    """Adds a suffix to every text, before its final punctuation.

    Parameters
    ----------
    suffix : str
        ``tautology``, ``negation``, ``length`` (see `SUFFIXES`), or the words themselves.
    times : int, optional
        How often it is said; by default once, five times for ``length``.
    """

    name = "suffix"

    def __init__(self, suffix: str = "tautology", times: int | None = None) -> None:
        if not isinstance(suffix, str) or not suffix.strip():
            raise input_error("suffix", "suffix", f"be one of {', '.join(SUFFIXES)}, or words", got=suffix)
        words, usual = SUFFIXES.get(suffix, (suffix, 1))
        times = usual if times is None else times
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise input_error("suffix", "times", "be a whole number of at least 1", got=times)
        self._added = " ".join([words.strip()] * times)
        self.parameters: Mapping[str, object] = {"suffix": words.strip(), "times": times}

    def fit(self, texts: Sequence[str]) -> SuffixTransformation:
        """Return itself: there is nothing to learn."""
        return self

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return each text with the suffix; an empty text stays empty."""
        return each_text(self._one, texts, "suffix")

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return `change_statistics`."""
        return change_statistics(texts, changed)

    def _one(self, text: str) -> str:
        body = _END.sub("", text)
        return f"{body} {self._added}{text[len(body) :]}" if body else text


#: Name -> what makes it from its options.
TRANSFORMATIONS: dict[str, Callable[..., Transformation]] = {
    "wordnet_nouns": WordNetNouns,
    "dictionary": DictionaryTransformation,
    "suffix": SuffixTransformation,
    "function": FunctionTransformation,
}


def transformation(name: str, **options: Any) -> Transformation:
    """Return a transformation by name.

    Parameters
    ----------
    name : str
        One of `TRANSFORMATIONS`, or ``module:function``, a function of yours from text to text.
    **options
        Those of the transformation; `paraconsist.transforms` has a module for each.

    Raises
    ------
    InputError
        If there is no such transformation, or an option is unknown or wrong.
    """
    if ":" in name and name not in TRANSFORMATIONS:
        name, options = "function", {"function": name, **options}
    make = TRANSFORMATIONS.get(name)
    if make is None:
        raise input_error(
            "transformation", "name", f"be one of {', '.join(TRANSFORMATIONS)}, or module:function", got=name
        )
    known = inspect.signature(make).parameters
    for option in options:
        if option not in known:
            raise input_error("transformation", "options", f"be options of {name}: {', '.join(known)}", got=option)
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise input_error("transformation", "options", f"give {option} for {name}", got=options)
    return make(**options)
