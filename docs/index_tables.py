"""The glossary of indices of sensitivity to wording: which is which under another name, from ``docs/indices.csv``.

A line has an index of `paraconsist.prompt_sensitivity`, what papers call it, which papers (numbers of the function's
references), and what it equals where, as an expression in results; ``tests/measures/test_indices.py`` proves each.
"""

from __future__ import annotations

import csv
import re

from table_sources import ROOT, Cells, table

import paraconsist as pc


def index_rows() -> list[dict[str, str]]:
    """The lines of the glossary."""
    with (ROOT / "docs" / "indices.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def papers() -> dict[str, str]:
    """Number -> authors and year (or the name) of the references of `paraconsist.prompt_sensitivity`."""
    references = re.findall(r"^ *\.\. \[(\d+)\] (.*?\(\d{4}\)|\w+)", pc.prompt_sensitivity.__doc__ or "", re.MULTILINE)
    return dict(references)


@table("indices", "docs/concepts/indices.md", needs_data=False)
def indices() -> list[Cells]:
    """Every index with its names, its papers and what it equals."""
    names, made = papers(), list[Cells]()
    for row in index_rows():
        is_first = not any(cells[0] == f"`{row['index']}`" for cells in made)
        sources = ", ".join(names[number] for number in row["papers"].split())
        called = [row["also called"], sources]
        equals = [f"`{row['equals']}`" if row["equals"] else "", row["where"]]
        made.append([f"`{row['index']}`" if is_first else "", *called, *equals])
    return made
