"""What the tables of the documents are made of: their list, and the papers' data as the builders read them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from paraconsist.dataset_builders import builder_class

ROOT = Path(__file__).resolve().parent.parent

Rows = Sequence[Mapping[str, Any]]
Cells = list[str | None]


class Table(NamedTuple):
    """A table, or a piece of text: the documents it stands in, whether it needs the papers' data, what computes it."""

    documents: tuple[str, ...]
    needs_data: bool
    compute: Callable[[], str | list[Cells]]


TABLES: dict[str, Table] = {}


def table(name: str, *documents: str, needs_data: bool = True) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register what computes a table of a document."""

    def register(compute: Callable[[], Any]) -> Callable[[], Any]:
        TABLES[name] = Table(documents, needs_data, compute)
        return compute

    return register


def card(name: str) -> str:
    """The card of a metric or a data set, from the root."""
    return f"{'dataset_builders' if name in ('becel', 'paranlu', 'parte', 'sample') else 'metrics'}/{name}/README.md"


def data_folder() -> Path | None:
    """The papers' data, None where they are not."""
    folder = Path(os.environ.get("PARACONSIST_TEST_DATA") or ROOT.parent / "shared" / "data")
    return folder if (folder / "upstream").is_dir() else None


def data() -> Path:
    """The papers' data, which must be there."""
    folder = data_folder()
    assert folder is not None, "a table that reads the papers' data must say so"
    return folder


@cache
def _cache() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def rows(name: str, config: str, split: str = "test", first: int | None = None) -> Rows:
    """The rows of a set as its builder makes them, or the first of them."""
    folder = None if name == "sample" else data_folder()
    builder = builder_class(name)(cache_dir=_cache().name, config_name=config, data_dir=folder)
    return list(islice(builder.as_streaming_dataset(split=split), first))


def configs(name: str) -> dict[str, Any]:
    """The configurations of a set."""
    return {config.name: config for config in builder_class(name).BUILDER_CONFIGS}


def with_role(rows: Rows, role: str) -> Rows:
    """The rows with a role."""
    return [row for row in rows if row["role"] == role]
