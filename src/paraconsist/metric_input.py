"""The check that every evaluate module makes of its input before evaluate sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paraconsist._validation import as_column, check_same_length
from paraconsist.errors import input_error

__all__ = ["check_call", "checked_batch"]


def checked_batch(
    metric: str, batch: Mapping[str, Any], names: Sequence[str], earlier: Mapping[str, Any] | None = None
) -> dict[str, list[Any]]:
    """Return the declared columns of a batch as plain lists of one kind each.

    evaluate casts silently (1.7 becomes 1, "3" becomes 3); after this check there is nothing left to cast.

    Parameters
    ----------
    metric : str
        The name that errors begin with.
    batch : mapping of str to sequence
    names : sequence of str
        The declared columns, all required.
    earlier : mapping of str to datasets feature, optional
        What earlier batches were stored as: a later batch must be of the same kind.

    Raises
    ------
    InputError
        For missing or undeclared columns, unequal lengths, and values that are missing, mixed or of the wrong
        kind.
    """
    for name in batch:
        if name not in names:
            raise input_error(
                metric, name, f"be one of the columns {', '.join(names)}", remedy="Give options in `compute`."
            )
    for name in names:
        if batch.get(name) is None:
            raise input_error(metric, name, "be given", got=None)
    columns = {name: as_column(batch[name], function=metric, parameter=name) for name in names}
    check_same_length(metric, columns)
    for name, column in columns.items():
        is_string = column.kind == "string"
        if earlier is not None and (earlier[name].dtype == "string") != is_string:
            before = "integers" if is_string else "strings"
            raise input_error(metric, name, f"hold {before}, as in earlier batches", got=column.tolist()[0], row=0)
    return {name: column.tolist() for name, column in columns.items()}


def check_call(
    metric: str,
    columns: Mapping[str, Any],
    options: Mapping[str, Any],
    known: Sequence[str],
    *,
    has_rows: bool = False,
) -> None:
    """Raise unless `compute` is given all columns (or none, after `add_batch`) and known options.

    >>> check_call("m", {"predictions": [1]}, {"sede": 1}, ["seed"])
    Traceback (most recent call last):
        ...
    paraconsist.errors.InputError: m: `sede` must be an option that exists. The options are seed.
    """
    for name in options:
        if name not in known:
            raise input_error(metric, name, "be an option that exists", remedy=f"The options are {', '.join(known)}.")
    missing = [name for name, values in columns.items() if values is None]
    if missing and not (has_rows and len(missing) == len(columns)):
        raise input_error(metric, missing[0], "be given", got=None)
