"""What an IE experiment needs of a model: train on a sample, answer both versions of the test set. By name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.studies.ie.options import FUNCTION

#: Hyperparameter -> what a random search draws from: a list of values, or the ends of a log-uniform range.
SearchSpace = Mapping[str, "list[Any] | tuple[float, float]"]


@dataclass(frozen=True)
class Sample:
    """Row numbers into both versions of the training and validation rows (see `rows.sample_rows`), and their labels."""

    train: NDArray[np.int64]
    train_labels: NDArray[np.int64]
    validation: NDArray[np.int64]
    validation_labels: NDArray[np.int64]


@dataclass(frozen=True)
class Answers:
    """Predicted class numbers, int64: of the sample's validation rows, and of both versions of the test rows."""

    validation: NDArray[np.int64]
    original: NDArray[np.int64]
    transformed: NDArray[np.int64]


class Learner(Protocol):
    """A model that can be trained again and again. Can be pickled, to travel to other processes."""

    @property
    def device(self) -> str | None:
        """``"cpu"``, or None for the best there is."""

    @property
    def space(self) -> SearchSpace:
        """What the random search draws from."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides its answers besides data, parameters and seed: versions and settings."""

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse unknown hyperparameters."""

    def train(self, sample: Sample, parameters: Mapping[str, Any], seed: int) -> Answers:
        """Train on a sample and answer."""


def draw_parameters(space: SearchSpace, fixed: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One trial of the random search; hyperparameters that are set stay as they are."""
    drawn: dict[str, Any] = {}
    for name, choice in space.items():
        if isinstance(choice, tuple):
            low, high = np.log(choice)
            drawn[name] = float(np.exp(rng.uniform(low, high)))
        else:
            drawn[name] = choice[int(rng.integers(len(choice)))]
    return {**drawn, **fixed}


def refuse_unknown(parameters: Mapping[str, Any], known: tuple[str, ...], model: str) -> None:
    """Refuse hyperparameters that the model does not have."""
    for name in parameters:
        if name not in known:
            raise input_error(FUNCTION, "parameters", f"be hyperparameters of {model}: {', '.join(known)}", got=name)
