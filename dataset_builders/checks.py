"""The checks of every row of a bucket set during its build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from paraconsist.data.rows import ROLES
from paraconsist.data.tasks import Row, Task
from paraconsist.errors import InputError, input_error

_ONCE = set(ROLES) - {"paraphrase", "swap", "negation"}  # at most one such row in a bucket
_ONE_LABEL = frozenset({"original", "paraphrase", "swap", "part_1", "part_2", "merged"})  # with the bucket's label
_IDS = ("example_id", "input_id", "bucket_id", "group_id", "role")
_PYTHON_TYPES: Mapping[str, type] = {"string": str, "bool": bool, "int32": int, "float64": float}


class SplitChecker:
    """Checks of single rows (`add`) and of a whole split (`finish`).

    datasets accepts duplicate ids, fills missing columns with None and drops extra ones; here each is an error.

    Parameters
    ----------
    where
        The beginning of error messages.
    task
        The task whose input columns the rows have.
    n_labels
        The number of classes.
    strata
        Column -> Arrow type.
    counts
        Role -> number of rows.
    """

    def __init__(
        self, *, where: str, task: Task, n_labels: int, strata: Mapping[str, str], counts: Mapping[str, int]
    ) -> None:
        self._where = where
        self._n_labels = n_labels
        self._counts = dict(counts)
        self._texts = (*_IDS, *task.columns)
        self._strata = strata
        self._columns = {*self._texts, "label", "allowed_labels", *strata}
        self._seen_ids: set[str] = set()
        self._seen_counts: Counter[str] = Counter()
        self._once: dict[str, Counter[str]] = {role: Counter() for role in sorted(_ONCE & counts.keys())}
        self._bucket_labels: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """Check one row.

        Raises
        ------
        InputError
            If a column is missing, unknown or of the wrong type, a label is out of range, the role is
            unknown, the example id was seen before, the gold label differs within a bucket, or a negation
            has the label of its original.
        """
        if row.keys() != self._columns:
            missing, extra = sorted(self._columns - row.keys()), sorted(row.keys() - self._columns)
            must = f"have exactly the declared columns (missing: {missing}, not declared: {extra})"
            raise self._error(row, "row", must)
        for name in self._texts:
            if not isinstance(row[name], str):
                raise self._error(row, name, "be text", row[name])
        for name in _IDS:
            if not row[name]:
                raise self._error(row, name, "not be empty", row[name])
        for name, kind in self._strata.items():
            if type(row[name]) is not _PYTHON_TYPES[kind]:
                raise self._error(row, name, f"be of type {kind}", row[name])
        if row["role"] not in ROLES:
            raise self._error(row, "role", f"be one of {', '.join(ROLES)}", row["role"])
        if row["example_id"] in self._seen_ids:
            raise self._error(row, "example_id", "be unique in the split", row["example_id"])
        self._seen_ids.add(row["example_id"])
        self._check_labels(row)
        self._seen_counts[row["role"]] += 1
        for role, seen in self._once.items():
            seen[row["bucket_id"]] += row["role"] == role

    def _check_labels(self, row: Row) -> None:
        label, allowed = row["label"], row["allowed_labels"]
        classes = range(self._n_labels)
        if type(label) is not int or (label not in classes and label != -1):
            raise self._error(row, "label", f"be a class from 0 to {self._n_labels - 1}, or -1", label)
        if not isinstance(allowed, list) or not allowed or any(type(a) is not int for a in allowed):
            raise self._error(row, "allowed_labels", "be a list of at least one class", allowed)
        if any(a not in classes for a in allowed) or (label != -1 and label not in allowed):
            raise self._error(row, "allowed_labels", "be classes, the label among them", allowed)
        bucket = row["bucket_id"]
        if row["role"] in _ONE_LABEL:
            bucket_label = self._bucket_labels.setdefault(bucket, label)
            if bucket_label != label:
                raise self._error(row, "label", f"be {bucket_label} throughout bucket {bucket}", label)
        elif row["role"] == "negation" and self._bucket_labels.get(bucket) == label:
            raise self._error(row, "label", f"differ from that of the original of bucket {bucket}", label)

    def finish(self) -> None:
        """Check the split as a whole.

        Raises
        ------
        InputError
            If the counts per role differ from the declared ones, or a bucket lacks or repeats a role of the split that
            occurs once in a bucket (`original`, the antecedents, the parts ...).
        """
        if dict(self._seen_counts) != self._counts:
            raise input_error(self._where, "counts", f"be {self._counts} rows per role", got=dict(self._seen_counts))
        for role, seen in self._once.items():
            for bucket, n in seen.items():
                if n != 1:
                    raise input_error(
                        self._where, "role", f"be `{role}` exactly once in bucket {bucket}", got=f"{n} times"
                    )

    def _error(self, row: Row, parameter: str, must: str, got: Any = None) -> InputError:
        example_id = row.get("example_id")
        if parameter == "row":
            return input_error(self._where, parameter, must, row=example_id)
        return input_error(self._where, parameter, must, got=got, row=example_id)
