"""The models of this package's own, by the name that a user gives for a new one, and the classes behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paraconsist.models import word_models as words
from paraconsist.models.bow import BowConfig, BowForMultipleChoice, BowForSequenceClassification


@dataclass(frozen=True)
class Baseline:
    """A model's name, its configuration's class, and its own classes with either head."""

    name: str
    config: Any
    sequence_classification: Any
    multiple_choice: Any
    version_field: str = "splitting"  # field of the configuration with the version of the text processing
    what_changed: str = "word splitting"  # what that version is of, for the message

    @property
    def model_type(self) -> str:
        """As in ``config.json``."""
        return str(self.config.model_type)

    @property
    def has_vocabulary(self) -> bool:
        """Whether a vocabulary stands beside the weights."""
        return self.version_field == "splitting"

    def head(self, *, multiple_choice: bool) -> Any:
        """The model's class with one head or the other."""
        return self.multiple_choice if multiple_choice else self.sequence_classification


_ALL = (
    Baseline("bow", BowConfig, BowForSequenceClassification, BowForMultipleChoice, "hashing", "n-gram hashing"),
    Baseline(
        "glove_bow", words.GloveBowConfig, words.GloveBowForSequenceClassification, words.GloveBowForMultipleChoice
    ),
    Baseline("bilstm", words.BilstmConfig, words.BilstmForSequenceClassification, words.BilstmForMultipleChoice),
)
BASELINES: Mapping[str, Baseline] = MappingProxyType({baseline.name: baseline for baseline in _ALL})


def find_baseline(model_type: str | None) -> Baseline | None:
    """The model with this ``model_type`` in its configuration; None for any other."""
    return next((baseline for baseline in _ALL if baseline.model_type == model_type), None)
