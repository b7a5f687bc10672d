"""One piece of work of an IE experiment: a trial of the search, or a unit; the same wherever it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.ietest.learners import Answers, Learner, Sample, draw_parameters
from paraconsist.ietest.options import ExperimentOptions, Unit
from paraconsist.ietest.sampling import sample_rows, unit_seed
from paraconsist.ietest.store import ExperimentFolder, UnitResult, write_json

_SAMPLE, _SEARCH, _TRAIN, _TRIAL = 1, 2, 3, 4
_LARGEST_SEED = 2**31


@dataclass(frozen=True)
class Work:
    """What a process needs to do any piece of work.

    Attributes
    ----------
    options, learner, folder
        The experiment.
    labels : mapping
        Split -> class numbers.
    """

    options: ExperimentOptions
    learner: Learner
    folder: ExperimentFolder
    labels: Mapping[str, NDArray[np.int64]]

    def do(self, piece: Unit | int) -> None:
        """Do a unit, or a trial of the search by its number, and keep the result."""
        if isinstance(piece, Unit):
            self.folder.write_unit(piece, self.unit(piece))
        else:
            write_json(self.folder.trial_file(piece), self.trial(piece))

    def is_done(self, piece: Unit | int) -> bool:
        """Whether a piece's result is there, whole."""
        if isinstance(piece, Unit):
            return self.folder.read_unit(piece) is not None
        return self._read_trial(piece) is not None

    def sample(self, rho: float, run: int) -> Sample:
        """The sample of a unit: training and validation rows, drawn independently."""
        rng = np.random.default_rng(unit_seed(self.options.seed, _SAMPLE, rho, run))
        drawn = [
            sample_rows(len(self.labels[split]), rho, rng, exact_count=self.options.exact_count)
            for split in ("train", "validation")
        ]
        return Sample(drawn[0], self.labels["train"], drawn[1], self.labels["validation"])

    def trial(self, number: int) -> dict[str, Any]:
        """One trial of the search that is made once, before the units (alternative 3 searches in `unit`)."""
        options = self.options
        rng = np.random.default_rng(unit_seed(options.seed, _SEARCH, number))
        parameters = draw_parameters(self.learner.space, options.parameters, rng)
        sample = self.sample(options.search_rho, 0)
        answers = self.learner.train(sample, parameters, _seed(options.seed, _TRIAL, number))
        return {"parameters": parameters, "validation_accuracy": _accuracy(answers, sample)}

    def chosen(self) -> Mapping[str, Any]:
        """The hyperparameters of the best trial, the first of equal ones; those that are set, without a search."""
        trials = [self._read_trial(number) for number in range(self.options.n_trials)]
        found = [trial for trial in trials if trial is not None]
        if not found:
            return dict(self.options.parameters)
        best: Mapping[str, Any] = max(found, key=lambda trial: trial["validation_accuracy"])["parameters"]
        return best

    def unit(self, unit: Unit) -> UnitResult:
        """Sample, search if asked for, train K times, vote."""
        options = self.options
        sample = self.sample(unit.rho, unit.run)
        parts = (options.seed, _TRAIN, unit.rho, unit.run)
        done: list[Answers] = []
        if options.budget and options.search == "sample":
            parameters, best = self._search(unit, sample, _seed(*parts, 1))
            done.append(best)
        else:
            parameters = self.chosen()
        rest = range(len(done) + 1, options.repeats + 1)
        done += [self.learner.train(sample, parameters, _seed(*parts, repeat)) for repeat in rest]
        voted = Answers(
            *(
                majority_vote([getattr(answers, name) for answers in done])
                for name in ("validation", "original", "transformed")
            )
        )
        said = {
            "parameters": dict(parameters),
            "validation_accuracy": _accuracy(voted, sample),
            "n_transformed": int((sample.train >= len(sample.train)).sum()),
        }
        return UnitResult(voted.original.astype(np.int16), voted.transformed.astype(np.int16), said)

    def _search(self, unit: Unit, sample: Sample, seed: int) -> tuple[Mapping[str, Any], Answers]:
        """The best of B trials on the unit's own sample, with its answers."""
        rng = np.random.default_rng(unit_seed(self.options.seed, _SEARCH, unit.rho, unit.run))
        best: tuple[float, Mapping[str, Any], Answers] | None = None
        for _ in range(self.options.budget):
            parameters = draw_parameters(self.learner.space, self.options.parameters, rng)
            answers = self.learner.train(sample, parameters, seed)
            accuracy = _accuracy(answers, sample)
            if best is None or accuracy > best[0]:
                best = accuracy, parameters, answers
        assert best is not None  # the budget is at least 1 here
        return best[1], best[2]

    def _read_trial(self, number: int) -> dict[str, Any] | None:
        try:
            said: dict[str, Any] = json.loads(self.folder.trial_file(number).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return said


def majority_vote(answers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The commonest answer to each row; of equally common ones that of the earliest training.

    Parameters
    ----------
    answers : sequence of int64 array, shape (n,)
        One array a training.

    Returns
    -------
    int64 array, shape (n,)

    Examples
    --------
    >>> majority_vote([np.array([0, 1, 2]), np.array([1, 1, 1]), np.array([2, 0, 1])]).tolist()
    [0, 1, 1]
    """
    stacked = np.stack(answers)
    votes = (stacked[:, None, :] == stacked[None, :, :]).sum(axis=0)  # how many agree with each training's answer
    winner: NDArray[np.int64] = stacked[votes.argmax(axis=0), np.arange(stacked.shape[1])]
    return winner


def _accuracy(answers: Answers, sample: Sample) -> float:
    return float((answers.validation == sample.validation_labels).mean())


def _seed(*parts: float | int) -> int:
    """A seed that every library takes."""
    seed, *rest = parts
    return int(unit_seed(int(seed), *rest).generate_state(1)[0]) % _LARGEST_SEED
