"""An IE experiment from rows to matched vectors: every (rho, run) trained, answered and kept.

A piece of its work is a unit, a (rho, run), or a trial of the search for hyperparameters: the same wherever it is done.
"""

from __future__ import annotations

import json
import shutil
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paraconsist import files
from paraconsist.data.store import store_key
from paraconsist.errors import input_error
from paraconsist.running.processes import alone, do_all, pinned, visible_devices
from paraconsist.studies import StudyRecord
from paraconsist.studies.ie import learners
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions, Parameters, Unit
from paraconsist.studies.ie.rows import SPLITS, Rows, load_rows, sample_rows, unit_seed
from paraconsist.studies.ie.runs import Matched, write_matched

_PLAN_ROWS, _PLAN_SECONDS = 200, 2.0


@dataclass(frozen=True)
class UnitResult:
    """The answers of one unit: predicted class numbers, shape (n_test,), after the vote."""

    original: NDArray[np.int16]
    transformed: NDArray[np.int16]
    record: files.Json  # hyperparameters, validation accuracy, transformed rows in the sample; ready for JSON


@dataclass(frozen=True)
class Trial(StudyRecord):
    """One trial of the search for hyperparameters."""

    parameters: Parameters
    validation_accuracy: float


class ExperimentFolder:
    """The folder of one experiment: its identity, and the finished units, each whole or not at all.

    Units are keyed by a hash of everything that decides an answer besides rho and run: more rhos or runs can be added
    to an experiment, and a changed text, model or seed never meets an old answer.
    """

    def __init__(self, path: Path, identity: Mapping[str, object]) -> None:
        self.path = path
        self.identity: dict[str, object] = json.loads(files.to_json(dict(identity)))
        self.units = path / "units" / store_key(self.identity)
        self.record = path / "experiment.json"

    def open(self, *, overwrite: bool = False) -> None:
        """Make the folder ready to start or resume; refuse one with other files or another experiment."""
        with files.writing(FUNCTION, "output", self.path):
            if overwrite and self.record.is_file():
                shutil.rmtree(self.path / "units", ignore_errors=True)
                for name in ("matched.parquet", "results.json", self.record.name):
                    (self.path / name).unlink(missing_ok=True)
            elif self.record.is_file():
                self._check_same()
            elif self.path.is_dir() and any(
                p.name != "units" and not p.name.startswith(files.LOCK) for p in self.path.iterdir()
            ):
                must = "be a new folder, an empty one, or hold an IE experiment"
                raise input_error(FUNCTION, "output", must, got=str(self.path), remedy="Name another one.")
            self.units.mkdir(parents=True, exist_ok=True)
            if not self.record.is_file():
                files.write_json(self.record, {"status": "running", "identity": self.identity}, indent=1)

    def _check_same(self) -> None:
        there, now = self.read().get("identity", {}), self.identity
        names = sorted(name for name in {*there, *now} if there.get(name) != now.get(name))
        if names:
            differences = ", ".join(f"{name} ({there.get(name)!r} there, {now.get(name)!r} now)" for name in names)
            remedy = f"These differ: {differences}. Name another folder, or delete this one's with `overwrite`."
            raise input_error(FUNCTION, "output", "not hold another experiment", got=str(self.path), remedy=remedy)

    def read(self) -> files.Json:
        return files.read_record(FUNCTION, "output", self.record)

    def is_open(self) -> bool:
        """Whether `open` is done, here or in the first of several processes."""
        return self.record.is_file() and self.units.is_dir() and self.read().get("identity") == self.identity

    def unit_file(self, unit: Unit) -> Path:
        return self.units / f"rho-{unit.rho:.9f}-run-{unit.run:03d}.npz"

    def trial_file(self, number: int) -> Path:
        return self.units / f"trial-{number:03d}.json"

    def write_unit(self, unit: Unit, result: UnitResult) -> None:
        record = np.frombuffer(files.to_json(dict(result.record), indent=None).encode(), dtype=np.uint8)
        with files.replacing(self.unit_file(unit)) as partial, partial.open("wb") as stream:
            np.savez_compressed(stream, original=result.original, transformed=result.transformed, said=record)

    def read_unit(self, unit: Unit) -> UnitResult | None:
        """Return the unit's answers; None if it is not finished, or its file is damaged (it is then done again)."""
        try:
            with self.unit_file(unit).open("rb") as stream, np.load(stream) as held:
                record = json.loads(held["said"].tobytes().decode())
                return UnitResult(held["original"], held["transformed"], record)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None


@dataclass(frozen=True)
class Plan:
    """The size of an experiment, and how long the rest of it takes."""

    n_trainings: int  # of the whole experiment
    n_done: int  # of units that are there already
    seconds_a_training: float  # from one training on `timed_rows` rows, scaled to the size of a sample
    timed_rows: int
    seconds: float  # what is left, over the processes asked for


def prepare(options: ExperimentOptions, *, say: Callable[[str], None] = lambda line: None) -> Work:
    """Read and transform the rows, and make the model ready; nothing is trained or written yet."""
    rows = load_rows(options, say=say)
    return Work(options, rows, make_learner(options, rows))


def plan(work: Work) -> Plan:
    """Time one small training, answers included, and estimate how long the rest takes. Nothing is written.

    The training is on a few hundred rows, or on more if that is too fast to time; seconds grow with the rows.
    """
    options, n = work.options, work.rows.n("train")
    n_rows, seconds = _PLAN_ROWS // 4, 0.0
    _time_training(work, min(1, n_rows / n))  # untimed: a process's first training imports libraries, for seconds
    while not seconds or (seconds < _PLAN_SECONDS and n_rows < n):
        n_rows = min(n, 4 * n_rows)
        seconds = _time_training(work, n_rows / n)
    whole = seconds * n / n_rows
    done = sum(work.is_done(unit) for unit in options.units) * options.trainings_a_unit
    done += sum(work.is_done(number) for number in range(options.n_trials))
    at_once = max(options.jobs, files.launched()[1])
    return Plan(options.n_trainings, done, whole, n_rows, whole * (options.n_trainings - done) / at_once)


def _time_training(work: Work, share: float) -> float:
    """Seconds of a training on a share of the rows of every split, half of them transformed."""
    options, rows = work.options, work.rows
    rng = np.random.default_rng(options.seed)
    inputs, labels = {}, {}
    for split in SPLITS:
        n = rows.n(split)
        first = np.unique(rows.labels[split], return_index=True)[1]  # a row of each label at least
        kept = np.union1d(rng.permutation(n)[: round(share * n)], first)
        inputs[split] = [rows.inputs[split][i] for i in (*kept, *(kept + n))]
        labels[split] = rows.labels[split][kept]
    part = replace(rows, inputs=inputs, labels=labels)
    learner = make_learner(options, part)
    sample = Work(options, part, learner).sample(0.5, 0)
    with alone(visible_devices(learner.device)), pinned(options.threads):
        started = time.perf_counter()
        learner.train(sample, options.parameters, options.seed)
        return time.perf_counter() - started


def run_experiment(
    work: Work, *, say: Callable[[str], None] = lambda line: None, progress: Callable[[int], None] = lambda n: None
) -> Path | None:
    """Train what is not trained yet, and write the matched vectors.

    `say` takes lines for a person, `progress` how many more units are done. Returns ``matched.parquet`` in the
    experiment's folder; None in a launcher's other processes.
    """
    options, rows = work.options, work.rows
    with files.locked(options.output, FUNCTION, "output") if files.is_main() else nullcontext():
        if files.is_main():
            work.folder.open(overwrite=options.overwrite)
        while not work.folder.is_open():
            time.sleep(0.2)
        started = time.time()
        n_done = sum(work.is_done(unit) for unit in options.units)
        if n_done:
            say(f"{n_done:,} of {len(options.units):,} (rho, run) were there already.")
            progress(n_done)
        devices = visible_devices(work.learner.device)
        spread = partial(do_all, function=FUNCTION, jobs=options.jobs, threads=options.threads, devices=devices)
        spread(work, range(options.n_trials))
        spread(work, options.units, progress=lambda unit: progress(1))
        if not files.is_main():
            return None
        n_rows = {split: rows.n(split) for split in SPLITS}
        metadata = {
            "name": f"{options.model}, {rows.transformation['name']}",
            "identity": work.identity(),
            "label_names": list(rows.label_names),
            "n_rows": n_rows,
        }
        matched = options.output / "matched.parquet"
        write_matched(matched, map(work.matched, options.units), metadata)
        facts = {
            "status": "finished",
            **{f"n_{split}": n for split, n in n_rows.items()},
            "n_dropped": dict(rows.n_dropped),
            "transformation": dict(rows.transformation),
            "hyperparameters": dict(work.chosen()) if options.search == "once" else "a search on every sample",
            "rhos": sorted(options.rhos),
            "runs": options.runs,
            "n_trainings": options.n_trainings,
            "seconds": round(time.time() - started, 1),
            "jobs": max(options.jobs, files.launched()[1]),
        }
        files.write_json(work.folder.record, {**work.folder.read(), **facts}, indent=1)
        return matched


def make_learner(options: ExperimentOptions, rows: Rows) -> learners.Learner:
    """Return the learner called `options.model`, over these rows; hyperparameters that it lacks are refused."""
    weighting = learners.WEIGHTINGS.get(options.model)
    learner: learners.Learner = (
        learners.BoostingLearner(rows.inputs, weighting) if weighting else learners.NeuralLearner.over(rows, options)
    )
    learner.check(options.parameters)
    return learner


_SAMPLE, _SEARCH, _TRAIN, _TRIAL = 1, 2, 3, 4


@dataclass(frozen=True)
class Work:
    """Everything a process needs to do any piece of an experiment's work."""

    options: ExperimentOptions
    rows: Rows
    learner: learners.Learner

    @cached_property
    def folder(self) -> ExperimentFolder:
        return ExperimentFolder(self.options.output, self.identity())

    def identity(self) -> dict[str, object]:
        """Return everything that decides an answer besides rho and run."""
        return {
            **self.options.decisive(),
            "data": self.rows.content_hash,
            "label_names": list(self.rows.label_names),
            "transformation": {key: self.rows.transformation[key] for key in ("name", "parameters", "columns")},
            "libraries": dict(self.learner.identity),
        }

    def do(self, piece: Unit | int) -> None:
        """Do a unit, or a trial of the search by its number, and keep the result."""
        if isinstance(piece, Unit):
            self.folder.write_unit(piece, self.unit(piece))
        else:
            files.write_json(self.folder.trial_file(piece), self.trial(piece), indent=1)

    def is_done(self, piece: Unit | int) -> bool:
        """Whether a piece's result is there, whole."""
        there = self.folder.read_unit(piece) if isinstance(piece, Unit) else self._read_trial(piece)
        return there is not None

    def sample(self, rho: float, run: int) -> learners.Sample:
        """Return the sample of a unit: training and validation rows, drawn independently."""
        rng = np.random.default_rng(unit_seed(self.options.seed, _SAMPLE, rho, run))
        train, validation = self.rows.labels["train"], self.rows.labels["validation"]
        drawn = [sample_rows(len(x), rho, rng, exact_count=self.options.exact_count) for x in (train, validation)]
        return learners.Sample(drawn[0], train, drawn[1], validation)

    def trial(self, number: int) -> Trial:
        """Return one trial of the search before the units (alternative 3 searches in `unit`)."""
        options = self.options
        rng = np.random.default_rng(unit_seed(options.seed, _SEARCH, number))
        parameters = learners.draw_parameters(self.learner.space, options.parameters, rng)
        sample = self.sample(options.search_rho, 0)
        answers = self.learner.train(sample, parameters, _seed(options.seed, _TRIAL, number))
        return Trial(parameters, _accuracy(answers, sample))

    def chosen(self) -> Parameters:
        """Return the hyperparameters of the best trial, the first of equal ones; without a search the fixed ones."""
        read = (self._read_trial(number) for number in range(self.options.n_trials))
        trials = [trial for trial in read if trial is not None]
        if not trials:
            return dict(self.options.parameters)
        return max(trials, key=lambda trial: trial.validation_accuracy).parameters

    def unit(self, unit: Unit) -> UnitResult:
        """Sample, search if the options want it, train K times, vote."""
        options = self.options
        sample = self.sample(unit.rho, unit.run)
        parts = (options.seed, _TRAIN, unit.rho, unit.run)
        parameters, done = self.chosen(), []
        if options.budget and options.search == "sample":
            parameters, best = self._search(unit, sample, _seed(*parts, 1))
            done.append(best)
        rest = range(len(done) + 1, options.repeats + 1)
        done += [self.learner.train(sample, parameters, _seed(*parts, repeat)) for repeat in rest]
        validation, original, transformed = (
            majority_vote([getattr(answers, name) for answers in done])
            for name in ("validation", "original", "transformed")
        )
        record = {
            "parameters": dict(parameters),
            "validation_accuracy": float((validation == sample.validation_labels).mean()),
            "n_transformed": int((sample.train >= len(sample.train)).sum()),
        }
        return UnitResult(original.astype(np.int16), transformed.astype(np.int16), record)

    def matched(self, unit: Unit) -> Matched:
        """Return a unit's answers with the gold labels."""
        result, gold = self.folder.read_unit(unit), self.rows.labels["test"]
        if result is None:
            must = "stay as it is while the experiment runs"
            raise input_error(FUNCTION, "output", must, got=str(self.folder.unit_file(unit)))
        right = result.original == gold, result.transformed == gold
        rows = gold.astype(np.int16), result.original, result.transformed
        accuracy = float(result.record["validation_accuracy"])
        return Matched(unit.rho, unit.run, *right, *rows, validation_accuracy=accuracy)

    def _search(self, unit: Unit, sample: learners.Sample, seed: int) -> tuple[Parameters, learners.Answers]:
        """Return the best of B trials (at least one) on the unit's sample, with its answers."""
        rng = np.random.default_rng(unit_seed(self.options.seed, _SEARCH, unit.rho, unit.run))
        space, fixed = self.learner.space, self.options.parameters
        drawn = (learners.draw_parameters(space, fixed, rng) for _ in range(self.options.budget))
        trials = ((parameters, self.learner.train(sample, parameters, seed)) for parameters in drawn)
        return max(trials, key=lambda trial: _accuracy(trial[1], sample))  # the first of equal ones

    def _read_trial(self, number: int) -> Trial | None:
        try:
            return Trial(**json.loads(self.folder.trial_file(number).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def majority_vote(answers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the commonest answer to each row, shape (n,), over trainings; of equally common ones the earliest.

    >>> majority_vote([np.array([0, 1, 2]), np.array([1, 1, 1]), np.array([2, 0, 1])]).tolist()
    [0, 1, 1]
    """
    stacked = np.stack(answers)
    votes = (stacked[:, None, :] == stacked[None, :, :]).sum(axis=0)  # how many agree with each training's answer
    return np.asarray(stacked[votes.argmax(axis=0), np.arange(stacked.shape[1])])


def _accuracy(answers: learners.Answers, sample: learners.Sample) -> float:
    return float((answers.validation == sample.validation_labels).mean())


def _seed(seed: int, *parts: float) -> int:
    """Return a seed that every library accepts."""
    return int(unit_seed(seed, *parts).generate_state(1)[0]) % 2**31
