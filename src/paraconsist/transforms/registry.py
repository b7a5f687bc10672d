"""Transformations by name: what the command line and the IE test ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.callables import FunctionTransformation
from paraconsist.transforms.dictionary import DictionaryTransformation
from paraconsist.transforms.interface import Transformation
from paraconsist.transforms.substitution import WordNetNouns
from paraconsist.transforms.suffix import SuffixTransformation

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
