"""The checks that the modules of logical consistency and sensitivity make before evaluate sees the rows.

The check that every evaluate module makes of its input before evaluate sees it.

The check that modules on texts make before evaluate sees the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.measures._validation import as_column, check_comparable, check_same_length
from paraconsist.measures.allowed_labels import as_allowed_labels
from paraconsist.measures.distribution_shift import as_probability_rows


def label_batch(
    metric: str,
    batch: Mapping[str, Any],
    names: Sequence[str],
    earlier: Mapping[str, Any] | None = None,
    *,
    ids: Sequence[str] = (),
) -> dict[str, list[Any]]:
    """Return the declared columns as plain lists; all but the `ids` hold labels, so are of one kind.

    Raises
    ------
    InputError
        As `paraconsist.evaluate_module.checked_batch`, and for labels given as numbers here and as names there.

    Examples
    --------
    >>> label_batch("m", {"predictions": (1, 0), "buckets": "ab"}, ["predictions", "buckets"])
    Traceback (most recent call last):
        ...
    paraconsist.errors.InputError: m: `buckets` must be a list or a one-dimensional array; got 'ab'.
    """
    checked = checked_batch(metric, batch, names, earlier)
    labels = [name for name in names if name not in ids]
    check_comparable(metric, {name: as_column(checked[name], function=metric, parameter=name) for name in labels})
    return checked


def allowed_batch(
    metric: str,
    batch: Mapping[str, Any],
    names: Sequence[str],
    allowed: str,
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, list[Any]]:
    """Return the declared columns as plain lists, the column `allowed` as lists of allowed labels.

    A row of that column that is one label becomes a list of one, which means the same.

    >>> allowed_batch("m", {"p": [0, 1], "a": [[1, 2], [0]]}, ["p", "a"], "a")
    {'p': [0, 1], 'a': [[1, 2], [0]]}
    """
    others = [name for name in names if name != allowed]
    checked = label_batch(metric, {name: values for name, values in batch.items() if name != allowed}, others, earlier)
    if batch.get(allowed) is None:
        raise input_error(metric, allowed, "be given", got=None)
    found = as_allowed_labels(batch[allowed], function=metric, parameter=allowed)
    first = checked[others[0]]
    if len(found) != len(first):
        raise input_error(
            metric,
            allowed,
            f"have one value per row of `{others[0]}` ({len(first)})",
            got=f"{len(found)} values",
        )
    check_comparable(
        metric,
        {others[0]: as_column(first, function=metric, parameter=others[0]), allowed: found.labels()},
    )
    sets = [list(labels) for labels in found.sets]
    lists = [sets[code] for code in found.of_row.tolist()]
    return {name: checked[name] if name != allowed else lists for name in names}


def probability_batch(metric: str, batch: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the declared columns as lists of lists of floats, every row checked to be probabilities.

    >>> probability_batch("m", {"p": [[0.25, 0.75]]}, ["p"])
    {'p': [[0.25, 0.75]]}
    """
    for name in batch:
        if name not in names:
            raise input_error(
                metric, name, f"be one of the columns {', '.join(names)}", remedy="Give options in `compute`."
            )
    checked: dict[str, list[Any]] = {}
    for name in names:
        if batch.get(name) is None:
            raise input_error(metric, name, "be given", got=None)
        checked[name] = as_probability_rows(batch[name], function=metric, parameter=name).tolist()
    first = names[0]
    for name in names[1:]:
        if len(checked[name]) != len(checked[first]):
            raise input_error(
                metric,
                name,
                f"have one value per row of `{first}` ({len(checked[first])})",
                got=f"{len(checked[name])} values",
            )
    return checked


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


def text_batch(metric: str, batch: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the declared columns as plain lists of texts.

    Raises
    ------
    InputError
        As `paraconsist.evaluate_module.checked_batch`, and for values that are no texts.

    Examples
    --------
    >>> text_batch("m", {"paraphrases": ("a",), "originals": ["b"]}, ["paraphrases", "originals"])
    {'paraphrases': ['a'], 'originals': ['b']}
    """
    checked = checked_batch(metric, batch, names)
    for name in names:
        if not isinstance(checked[name][0], str):
            raise input_error(metric, name, "hold texts", got=checked[name][0], row=0)
    return checked
