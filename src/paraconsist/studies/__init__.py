"""The papers' studies: selection of items, artefacts, sweeps over training, adversarial training, IE experiments.

Each study combines what the other rooms do (train, run, score) and keeps its own folder, so that it can be killed and
resumed. Commands of the same names are in `paraconsist.cli`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from paraconsist.measures.results import Record


class StudyRecord(Record):
    """Base of a study's results: every field is a key of the mapping that is written, ``null`` where it is None."""

    def _written(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
