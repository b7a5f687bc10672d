"""Running partial-input models: which of the task's columns a model is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.tasks import partial_task
from paraconsist.errors import input_error


def trained_columns(model: str) -> list[str] | None:
    """Return the columns that the model in a folder was trained on, None where all or where nothing says."""
    try:
        said = json.loads((Path(model).expanduser() / "training.json").read_text(encoding="utf-8"))
        return list(said["options"]["input_columns"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def shown_to(model: str, bucket_set: BucketSet, asked: str | None) -> BucketSet:
    """Return the set as the model reads it.

    Parameters
    ----------
    model : str
        A folder of `paraconsist train` says itself what it was trained on.
    bucket_set : BucketSet
    asked : str, optional
        Columns with commas between.

    Raises
    ------
    InputError
        For columns that the task does not have, or others than the model was trained on.
    """
    trained = trained_columns(model)
    columns = trained if asked is None else [name.strip() for name in asked.split(",")]
    if trained is not None and columns is not None and set(columns) != set(trained):
        raise input_error(
            "run",
            "input_columns",
            f"be those that the model was trained on ({', '.join(trained)})",
            got=columns,
            remedy=f"Leave the option out: {model} says so itself.",
        )
    if columns is None:
        return bucket_set
    return replace(bucket_set, task=partial_task(bucket_set.task, columns, function="run"))


def check_partial(model: Any, asked: str | None) -> None:
    """Refuse `input_columns` for language models, whose prompts they do not change.

    Raises
    ------
    InputError
    """
    from paraconsist.models.prompted import PromptedModel

    if asked is not None and isinstance(model, PromptedModel):
        raise input_error(
            "run", "input_columns", "be given for classifiers only", got=asked, remedy="Give a --template instead."
        )
