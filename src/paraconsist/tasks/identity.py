"""The identity of an input: the same text under the same task has the same id, wherever it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from paraconsist.tasks.catalogue import get_task
from paraconsist.tasks.task import Task


def input_id(task: Task | str, row: Mapping[str, Any]) -> str:
    """Return 32 hex digits that name the task and the input texts of `row`, and nothing else.

    Two rows have the same id exactly when task, column names and texts are the same (up to chance collisions
    of a 128-bit hash), so that a model's answer is computed once for all rows, buckets and configs that share
    it. Each part enters with its length, so that moving text from one column to the next changes the id.

    Parameters
    ----------
    task
        A task or its name.
    row
        Column -> value; columns that are no input of the task are ignored.

    Raises
    ------
    InputError
        If the task is unknown, or an input column is missing or is not text.

    Examples
    --------
    >>> a = input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 0})
    >>> a == input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet.", "label": 1})
    True
    >>> len(a)
    32
    """
    task = get_task(task) if isinstance(task, str) else task
    digest = hashlib.blake2b(digest_size=16)
    _update(digest, task.name)
    for column, value in task.values(row).items():
        _update(digest, column)
        _update(digest, value)
    return digest.hexdigest()


def _update(digest: hashlib.blake2b, part: str) -> None:
    data = part.encode("utf-8", errors="surrogatepass")
    digest.update(len(data).to_bytes(8, "big"))
    digest.update(data)
