"""Transformations by name, and the two that learn nothing from a corpus: the user's function, and a suffix."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraconsist.entry_points import load_function
from paraconsist.errors import check_whole, input_error
from paraconsist.transforms.dictionary import DictionaryTransformation
from paraconsist.transforms.interface import Items, Report, Transformation, change_statistics, each_text
from paraconsist.transforms.wordnet_nouns import WordNetNouns

#: Short names of suffixes -> words and how often they are repeated: word overlap, negation and length mismatch of the
#: stress tests of Naik et al. (2018, "Stress Test Evaluation for Natural Language Inference", COLING), which Salvatore
#: et al. (2023) cite. Each suffix adds no information.
SUFFIXES: Mapping[str, tuple[str, int]] = {
    "tautology": ("and true is true", 1),
    "negation": ("and false is not true", 1),
    "length": ("and true is true", 5),
}

_END = re.compile(r"[\s.!?…]*\Z")


@dataclass(frozen=True)
class FixedTransformation:
    """A transformation that learns nothing: a function from text to text, called once for each distinct text."""

    name: str
    parameters: Mapping[str, object]
    function: Callable[[str], object]
    source: str

    def fit(self, texts: Sequence[str]) -> FixedTransformation:
        return self

    def apply(self, texts: Sequence[str]) -> list[str]:
        return each_text(self.function, texts, self.source)

    def report(self, texts: Items, changed: Items) -> Report:
        return change_statistics(texts, changed)


def function_transformation(function: str | Callable[[str], object]) -> FixedTransformation:
    """Return the user's function (``module:function`` or the function itself) as a transformation."""
    call_user: Any = function
    if isinstance(function, str):
        call_user = load_function(function, "transformation", "function", "text to text")
    if not callable(call_user):
        raise input_error("transformation", "function", "be module:function, or callable", got=function)
    named = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    source = function if isinstance(function, str) else named

    def call(text: str) -> object:
        try:
            return call_user(text)
        except Exception as problem:
            remedy, must = f"{source} raised {type(problem).__name__}: {problem}.", "return a text for every text"
            raise input_error("transformation", "function", must, got=text, remedy=remedy) from problem

    return FixedTransformation("function", {"function": source}, call, source)


def suffix_transformation(suffix: str = "tautology", times: int | None = None) -> FixedTransformation:
    """Return the transformation that adds a suffix to every text, before its final punctuation; empty texts stay.

    The suffix is ``tautology``, ``negation``, ``length`` (see `SUFFIXES`), or your own words, repeated `times` times;
    by default once, five times for ``length``.
    """
    if not isinstance(suffix, str) or not suffix.strip():
        raise input_error("suffix", "suffix", f"be one of {', '.join(SUFFIXES)}, or words", got=suffix)
    words, usual = SUFFIXES.get(suffix, (suffix, 1))
    times = check_whole("suffix", "times", usual if times is None else times)
    added = " ".join([words.strip()] * times)

    def add(text: str) -> str:
        body = _END.sub("", text)
        return f"{body} {added}{text[len(body) :]}" if body else text

    return FixedTransformation("suffix", {"suffix": words.strip(), "times": times}, add, "suffix")


#: Name -> its class or function, which takes its options.
TRANSFORMATIONS: dict[str, Callable[..., Transformation]] = {
    "wordnet_nouns": WordNetNouns,
    "dictionary": DictionaryTransformation,
    "suffix": suffix_transformation,
    "function": function_transformation,
}


def transformation(name: str, **options: Any) -> Transformation:
    """Return a transformation by name, with its options: one of `TRANSFORMATIONS`, or your own ``module:function``."""
    if ":" in name and name not in TRANSFORMATIONS:
        name, options = "function", {"function": name, **options}
    make = TRANSFORMATIONS.get(name)
    if make is None:
        must = f"be one of {', '.join(TRANSFORMATIONS)}, or module:function"
        raise input_error("transformation", "name", must, got=name)
    parameters = inspect.signature(make).parameters
    if unknown := [option for option in options if option not in parameters]:
        raise input_error("transformation", "options", f"be options of {name}: {', '.join(parameters)}", got=unknown[0])
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in options:
            raise input_error("transformation", "options", f"give {option} for {name}", got=options)
    return make(**options)
