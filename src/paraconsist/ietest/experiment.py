"""An IE experiment from rows to matched vectors: every (rho, run) trained, answered and kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paraconsist.errors import input_error
from paraconsist.ietest.learners import Learner, make_learner
from paraconsist.ietest.options import FUNCTION, ExperimentOptions, Unit
from paraconsist.ietest.rows import SPLITS, Rows, load_rows
from paraconsist.ietest.store import ExperimentFolder, UnitResult
from paraconsist.ietest.training import Work
from paraconsist.ietest.vectors import Matched, write_matched
from paraconsist.ietest.workers import do_all, pin_threads
from paraconsist.running.processes import is_main, launched

_PLAN_ROWS, _PLAN_SECONDS = 200, 2.0


@dataclass(frozen=True)
class Prepared:
    """An experiment ready to start: nothing is trained or written yet."""

    options: ExperimentOptions
    rows: Rows
    learner: Learner

    @property
    def work(self) -> Work:
        """What any process needs to do any unit."""
        folder = ExperimentFolder(self.options.output, self.identity())
        return Work(self.options, self.learner, folder, self.rows.labels)

    def identity(self) -> dict[str, Any]:
        """All that decides an answer besides rho and run."""
        said = self.rows.transformation
        return {
            **self.options.decisive(),
            "data": self.rows.content_hash,
            "label_names": list(self.rows.label_names),
            "transformation": {key: said[key] for key in ("name", "parameters", "columns")},
            "libraries": dict(self.learner.identity),
        }


@dataclass(frozen=True)
class Plan:
    """How much there is to do.

    Attributes
    ----------
    n_trainings, n_done : int
        Of the whole experiment; of units that are there already.
    seconds_a_training : float
        From one training on `timed_rows` rows, scaled to the size of a sample.
    timed_rows : int
    seconds : float
        What is left, over the processes asked for.
    """

    n_trainings: int
    n_done: int
    seconds_a_training: float
    timed_rows: int
    seconds: float


def prepare(options: ExperimentOptions, *, say: Callable[[str], None] = lambda line: None) -> Prepared:
    """Read and transform the rows, and make the model ready.

    Raises
    ------
    InputError
        For unusable rows, transformations, models and hyperparameters.
    """
    rows = load_rows(options, say=say)
    return Prepared(options, rows, make_learner(options, rows))


def plan(prepared: Prepared) -> Plan:
    """Time one small training, answers included, and say how long the rest will take. Nothing is written.

    A few hundred rows, and more where that takes no time; seconds are taken to grow with the rows.
    """
    options, work, n = prepared.options, prepared.work, prepared.rows.n("train")
    n_rows, seconds = _PLAN_ROWS // 4, 0.0
    while not seconds or (seconds < _PLAN_SECONDS and n_rows < n):
        n_rows = min(n, 4 * n_rows)
        seconds = _time_training(prepared, n_rows / n)
    whole = seconds * n / n_rows
    done = sum(work.is_done(unit) for unit in options.units) * options.trainings_a_unit
    done += sum(work.is_done(number) for number in range(options.n_trials))
    at_once = max(options.jobs, launched()[1])
    return Plan(options.n_trainings, done, whole, n_rows, whole * (options.n_trainings - done) / at_once)


def _time_training(prepared: Prepared, share: float) -> float:
    """Seconds of a training on a share of the rows of every split, half of them transformed."""
    rng = np.random.default_rng(prepared.options.seed)
    rows = prepared.rows
    inputs, labels = {}, {}
    for split in SPLITS:
        n = rows.n(split)
        first = np.unique(rows.labels[split], return_index=True)[1]  # a row of each label at least
        kept = np.union1d(rng.permutation(n)[: round(share * n)], first)
        inputs[split] = [rows.inputs[split][i] for i in (*kept, *(kept + n))]
        labels[split] = rows.labels[split][kept]
    learner = make_learner(prepared.options, replace(rows, inputs=inputs, labels=labels))
    work = replace(prepared.work, learner=learner, labels=labels)
    sample = work.sample(0.5, 0)
    with pin_threads(prepared.options.threads):
        started = time.perf_counter()
        learner.train(sample, prepared.options.parameters, prepared.options.seed)
        return time.perf_counter() - started


def run_experiment(
    prepared: Prepared,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[int], None] = lambda n: None,
) -> Path | None:
    """Train what is not trained yet, and write the matched vectors.

    Parameters
    ----------
    prepared : Prepared
    say : callable
        Takes lines for a person.
    progress : callable
        Told how many more units are done.

    Returns
    -------
    Path or None
        ``matched.parquet`` in the experiment's folder; None in a launcher's other processes.
    """
    started = time.time()
    options, work = prepared.options, prepared.work
    if is_main():
        work.folder.open(overwrite=options.overwrite)
    else:
        _wait_for(work.folder)
    trials: list[Unit | int] = list(range(options.n_trials))
    units: list[Unit | int] = list(options.units)
    n_there = sum(work.is_done(unit) for unit in units)
    if n_there:
        say(f"{n_there:,} of {len(units):,} (rho, run) were there already.")
        progress(n_there)
    do_all(work, trials, progress=lambda n: None)
    do_all(work, units, progress=progress)
    if not is_main():
        return None
    matched = options.output / "matched.parquet"
    write_matched(matched, (_matched(work, unit) for unit in options.units), _metadata(prepared))
    work.folder.update(
        {
            "status": "finished",
            "n_train": prepared.rows.n("train"),
            "n_validation": prepared.rows.n("validation"),
            "n_test": prepared.rows.n("test"),
            "n_dropped": dict(prepared.rows.n_dropped),
            "transformation": dict(prepared.rows.transformation),
            "hyperparameters": dict(work.chosen()) if options.search == "once" else "a search on every sample",
            "rhos": sorted(options.rhos),
            "runs": options.runs,
            "n_trainings": options.n_trainings,
            "seconds": round(time.time() - started, 1),
            "jobs": max(options.jobs, launched()[1]),
        }
    )
    return matched


def _matched(work: Work, unit: Unit) -> Matched:
    result = work.folder.read_unit(unit)
    if result is None:
        raise input_error(
            FUNCTION, "output", "stay as it is while the experiment runs", got=str(work.folder.unit_file(unit))
        )
    return _to_matched(unit, result, work.labels["test"])


def _to_matched(unit: Unit, result: UnitResult, gold: Any) -> Matched:
    return Matched(
        rho=unit.rho,
        run=unit.run,
        original_correct=result.original == gold,
        transformed_correct=result.transformed == gold,
        label=gold.astype(np.int16),
        prediction=result.original,
        transformed_prediction=result.transformed,
        validation_accuracy=float(result.said["validation_accuracy"]),
    )


def _metadata(prepared: Prepared) -> dict[str, Any]:
    rows = prepared.rows
    said = rows.transformation
    return {
        "name": f"{prepared.options.model}, {said['name']}",
        "identity": prepared.identity(),
        "label_names": list(rows.label_names),
        "n_rows": {split: rows.n(split) for split in SPLITS},
    }


def _wait_for(folder: ExperimentFolder) -> None:
    while not (folder.record.is_file() and folder.units.is_dir() and folder.read().get("identity") == folder.identity):
        time.sleep(0.2)
