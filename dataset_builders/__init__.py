"""Bucket sets, one folder each: a Hub dataset in its public form (card and builder)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from paraconsist.errors import check_choice

if TYPE_CHECKING:
    from paraconsist.dataset_builders.bucket_set import BucketSetBuilder

__all__ = ["BUILDERS", "builder_class"]

#: The builders' names, each with its module: every folder here with a ``builder.py`` is one.
BUILDERS: Mapping[str, str] = MappingProxyType(
    {
        file.parent.name: f"{__name__}.{file.parent.name}.builder"
        for file in sorted(Path(__file__).parent.glob("*/builder.py"))
    }
)


def builder_class(name: str) -> type[BucketSetBuilder]:
    """Import and return the builder called `name`, the one subclass of `BucketSetBuilder` in its module.

    It imports `datasets`.

    Raises
    ------
    InputError
        If there is no such builder.
    """
    check_choice("builder_class", "name", name, BUILDERS)
    module = import_module(BUILDERS[name])
    from paraconsist.dataset_builders.bucket_set import BucketSetBuilder

    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    (builder,) = (value for value in own if isinstance(value, type) and issubclass(value, BucketSetBuilder))
    return builder
