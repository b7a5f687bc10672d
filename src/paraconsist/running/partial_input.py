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
        record = json.loads((Path(model).expanduser() / "training.json").read_text(encoding="utf-8"))
        return list(record["options"]["input_columns"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def shown_to(model: str, bucket_set: BucketSet, input_columns: str | None) -> BucketSet:
    """Return the set as the model reads it: with `input_columns` (commas between), which must be those of its training.

    A folder of `paraconsist train` says itself what the model was trained on.
    """
    trained = trained_columns(model)
    columns = trained if input_columns is None else [name.strip() for name in input_columns.split(",")]
    if trained is not None and columns is not None and set(columns) != set(trained):
        must = f"be those that the model was trained on ({', '.join(trained)})"
        remedy = f"Leave them out: {model} says so itself."
        raise input_error("run", "input_columns", must, got=columns, remedy=remedy)
    if columns is None:
        return bucket_set
    return replace(bucket_set, task=partial_task(bucket_set.task, columns, function="run"))


def check_partial(model: Any, input_columns: str | None) -> None:
    """Refuse `input_columns` for language models, whose prompts they do not change."""
    from paraconsist.models.prompted import PromptedModel

    if input_columns is not None and isinstance(model, PromptedModel):
        must = "be given for classifiers only"
        raise input_error("run", "input_columns", must, got=input_columns, remedy="Give a `template` instead.")
