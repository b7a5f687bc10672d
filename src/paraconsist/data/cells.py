"""Cells of sheets and CSV: what a spreadsheet would take for a formula and run. Standard library only."""

from __future__ import annotations

import re
from typing import Any

#: How a text begins that spreadsheets take for a formula, an apostrophe in front or not; a number is none.
_FORMULA = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20].", re.DOTALL)
_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*%?", re.IGNORECASE)


def is_formula(cell: Any) -> bool:
    """Say whether a spreadsheet would take a cell for a formula and run it."""
    return isinstance(cell, str) and bool(_FORMULA.match(cell)) and not _NUMBER.fullmatch(cell)


def quoted(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe makes it text, as OWASP advises.

    >>> quoted("=HYPERLINK(A1)"), unquoted("'=HYPERLINK(A1)"), quoted("-0.5"), unquoted(quoted("'- so"))
    ("'=HYPERLINK(A1)", '=HYPERLINK(A1)', '-0.5', "'- so")
    """
    return f"'{cell}" if is_formula(cell) else cell


def unquoted(cell: str) -> str:
    """Return what `quoted` made a cell of."""
    return cell[1:] if cell[:1] == "'" and is_formula(cell[1:]) else cell
