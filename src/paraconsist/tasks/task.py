"""A task: its input columns, its labels, and how a row becomes what a classifier reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paraconsist.errors import input_error
from paraconsist.tasks.template import ModelInput, Template


@dataclass(frozen=True)
class Task:
    """One kind of classification problem.

    Parameters
    ----------
    name, description
        The name that data sets declare, and one sentence for people.
    columns
        The input columns, in the order in which they enter an `input_id`.
    label_names
        The default labels, in class order. A data set's own `ClassLabel` names win (two-way NLI, for one).
    single
        The template for sequence classifiers.
    choices
        One template per label where the task can be put as multiple choice, else empty.
    """

    name: str
    description: str
    columns: tuple[str, ...]
    label_names: tuple[str, ...]
    single: Template
    choices: tuple[Template, ...] = ()

    def __post_init__(self) -> None:
        unknown = set().union(*(t.columns for t in (self.single, *self.choices))) - set(self.columns)
        if unknown:
            raise ValueError(f"templates of task {self.name!r} name columns it does not have: {sorted(unknown)}")
        if self.choices and len(self.choices) != len(self.label_names):
            raise ValueError(f"task {self.name!r} needs one choice template per label")

    def values(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Return the task's input columns of `row`, checked to be text.

        Raises
        ------
        InputError
            If a column is missing or holds anything but a string; the message names column and example.
        """
        values: dict[str, str] = {}
        for column in self.columns:
            if column not in row:
                raise input_error(
                    f"task {self.name}",
                    column,
                    "be a column of the data",
                    got=sorted(str(name) for name in row),
                    row=_row_name(row),
                    remedy=f"The task reads {', '.join(self.columns)}: rename columns, or name another task.",
                )
            value = row[column]
            if not isinstance(value, str):
                raise input_error(
                    f"task {self.name}",
                    column,
                    "be text",
                    got=value,
                    row=_row_name(row),
                    remedy="Fill the text in or drop the row before running (an empty string is allowed).",
                )
            values[column] = value
        return values

    def encode(self, row: Mapping[str, Any]) -> ModelInput:
        """Return the text and text pair that a sequence classifier reads for `row`.

        Raises
        ------
        InputError
            If an input column is missing or is not text.
        """
        return self.single.render(self.values(row))

    def encode_choices(self, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """Return one text pair per label for a multiple-choice model, in the order of `label_names`.

        Raises
        ------
        InputError
            If the task cannot be put as multiple choice, or an input column is missing or is not text.
        """
        if not self.choices:
            raise input_error(
                "encode_choices",
                "task",
                "be one that can be put as multiple choice",
                got=self.name,
                remedy="Use a model with a sequence-classification head for this task.",
            )
        values = self.values(row)
        return tuple(template.render(values) for template in self.choices)

    @property
    def template_hash(self) -> str:
        """16 hex digits that change with any pattern, so that stored predictions are not reused after it."""
        digest = hashlib.blake2b(digest_size=8)
        for template in (self.single, *self.choices):
            digest.update(repr((template.text, template.text_pair)).encode("utf-8"))
        return digest.hexdigest()


def _row_name(row: Mapping[str, Any]) -> str | None:
    example_id = row.get("example_id")
    return None if example_id is None else str(example_id)
