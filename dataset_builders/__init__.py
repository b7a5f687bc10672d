"""Bucket sets, one folder each: a Hub dataset in its public form (card and builder)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.dataset_builders.bucket_set import BucketSetBuilder

__all__ = ["BUILDERS", "builder_class"]

#: Builder names, each with the module and class that `builder_class` imports when it is asked for.
BUILDERS: Mapping[str, str] = MappingProxyType(
    {
        "becel": "paraconsist.dataset_builders.becel.builder:BecelBuilder",
        "paranlu": "paraconsist.dataset_builders.paranlu.builder:ParanluBuilder",
        "parte": "paraconsist.dataset_builders.parte.builder:ParteBuilder",
        "sample": "paraconsist.dataset_builders.sample.builder:SampleBuilder",
    }
)


def builder_class(name: str) -> type[BucketSetBuilder]:
    """Import and return the builder called `name` (imports `datasets`).

    Raises
    ------
    InputError
        If there is no such builder.
    """
    target = BUILDERS.get(name)
    if target is None:
        raise input_error("builder_class", "name", f"be one of {', '.join(BUILDERS)}", got=name)
    module, _, attribute = target.partition(":")
    builder: type[BucketSetBuilder] = getattr(import_module(module), attribute)
    return builder
