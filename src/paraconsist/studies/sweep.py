"""Training dynamics: every cell of a grid trained, run and scored, wherever and however often it was interrupted.

The grid is checkpoints, shares of the training rows, seeds, and any other option of training.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paraconsist.data.store import store_key
from paraconsist.errors import check_whole, input_error
from paraconsist.files import LOCK, is_main, locked, sync_one, write_json, writing
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC, scored_measures
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.reporting.formatting import percent
from paraconsist.running.pool import alone, do_all, visible_devices

_FUNCTION = "sweep"
#: Of Srikanth et al. 2024, Figure 6.
SHARES = (0.01, 0.05, 0.1, 0.5, 1.0)
#: Options of training that the grid sets itself.
_OWN = frozenset({"model", "output", "seed", "share", "limit_seed", "resume", "progress", "device", "data_dir"})


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What every study says that trains models and runs them."""

    output: Path
    sets: Sequence[str]  # as `load_bucket_set` names them
    with_test: bool = False  # run the full test sets too
    seeds: Sequence[int] = (0,)
    #: Options of training: ``train_file`` or ``dataset``, ``task``, ``epochs``, ...
    training: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    limit: int | None = None  # so many training rows at most, and whole buckets up to so many rows of each set: a trial
    device: str | None = None
    data_dir: str | None = None
    n_resamples: int = 1000  # of the intervals

    def train(self, output: Path, **own: Any) -> TrainingOptions:
        """How a model is trained into a folder, where a killed training goes on; `own` is what the study decides."""
        own |= {"device": self.device, "data_dir": self.data_dir, "resume": True, "progress": False}
        for name in self.training:
            if name in own:
                raise input_error("train", name, "be left to the study", got=self.training[name])
        return options_from_preset(self.preset, output=output, **own, **self.training)


@dataclass(frozen=True, kw_only=True)
class SweepOptions(StudyOptions):
    """What to train on, and what to run; what is not listed here is as for every study.

    Each of the `seeds` draws its own share, and its own initial weights and order.
    """

    models: Sequence[str]  # checkpoints: Hub ids, folders, or ``bow``, ``glove_bow``, ``bilstm``
    shares: Sequence[float] = SHARES  # of the training rows, drawn by group
    #: Any other option of training -> its values; every combination is a cell.
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    jobs: int = 1  # processes at a time
    keep_models: bool = False  # keep each cell's weights; by default they go once it is scored

    def __post_init__(self) -> None:
        for name in ("models", "sets", "shares", "seeds"):
            values = list(getattr(self, name))
            if not values or len(set(values)) < len(values):
                raise input_error(_FUNCTION, name, "be given, each once", got=values)
        if any(not 0 < share <= 1 for share in self.shares):
            raise input_error(_FUNCTION, "shares", "be above 0, and 1 at most", got=list(self.shares))
        if any(seed < 0 for seed in self.seeds):
            raise input_error(_FUNCTION, "seeds", "not be negative", got=list(self.seeds))
        check_whole(_FUNCTION, "jobs", self.jobs)
        known = {f.name for f in fields(TrainingOptions)} - _OWN
        for name, choices in self.vary.items():
            if name not in known or not choices:
                must = f"be options of training with values: {', '.join(sorted(known))}"
                raise input_error(_FUNCTION, "vary", must, got=name)


@dataclass(frozen=True)
class Cell:
    """One training, run and score; `varied` holds the other options of training, (name, value) each."""

    model: str
    share: float
    seed: int
    varied: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """For folders and messages."""
        model = Path(self.model).name or self.model
        parts = [model, f"share-{self.share:g}", *(f"{k}-{v}" for k, v in self.varied), f"seed-{self.seed}"]
        return "".join(c if c.isalnum() or c in "._-" else "-" for c in "_".join(parts))


def cells_of(options: SweepOptions) -> list[Cell]:
    """Return every cell, the largest shares first: they take longest, and the others fill the gaps."""
    names = list(options.vary)
    combinations = list(itertools.product(*(options.vary[name] for name in names)))
    return [
        Cell(model, share, seed, tuple(zip(names, values, strict=True)))
        for share in sorted(options.shares, reverse=True)
        for model in options.models
        for values in combinations
        for seed in options.seeds
    ]


def training_options(options: SweepOptions, cell: Cell, output: Path) -> TrainingOptions:
    """Return how a cell is trained."""
    training = {**options.training, **dict(cell.varied)}
    if options.limit is not None:
        training["limit"] = options.limit
    own = {"model": cell.model, "share": cell.share, "seed": cell.seed, "limit_seed": cell.seed}
    return replace(options, training=training).train(output, **own)


def identity_of(options: SweepOptions, cell: Cell, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return all that decides a cell's results, ready for JSON.

    `hashes` (file -> hash of its content) see to it that a changed file never meets old results.
    """
    trained = training_options(options, cell, Path("model")).to_dict()
    for name in ("output", "resume", "device", "progress", "data_dir"):
        trained.pop(name)
    identity = {
        "training": trained,
        "sets": sorted(options.sets),
        "with_test": options.with_test,
        "limit": options.limit,
        "files": dict(sorted(hashes.items())),
    }
    return dict(json.loads(json.dumps(identity, default=str)))


def hashes_of(options: SweepOptions) -> dict[str, str]:
    """Return the hash of every file that the sweep reads, and of the weights of folders."""
    from paraconsist.models.pretrained import weights_hash

    names = [options.training.get("train_file"), options.training.get("eval_file"), *options.sets, *options.models]
    out = {}
    for name in (str(name) for name in names if name is not None):
        path = Path(name).expanduser()
        if path.is_file():
            out[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir() and (path / "config.json").is_file():
            out[name] = weights_hash(path)
    return out


#: What is kept of each measure, besides its headline.
_KEPT = (
    *("accuracy", "original_accuracy", "bucket_accuracy", "test_accuracy", "perturbed_accuracy"),
    *(PARAPHRASTIC.published, "corrected_accuracy", "corrected_paraphrastic_consistency"),
    *("corrected_paraphrastic_consistency_unbiased", "vap", "pvap", "pvap_unbiased", "covered_mass"),
    *("n_pairs", "n_buckets", "n_examples", "n_satisfied"),
)


def sweep(options: SweepOptions, *, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Do every cell of the grid that is not done yet, and put all of them together.

    A grid may grow: more shares, seeds or models given to the same folder leave finished cells as they are. `say` takes
    a line for each finished cell. Returned and written to ``sweep.json``: ``cells`` (a dict each), ``summary`` and
    ``tests`` (see `paraconsist.studies.sweep.summarise`); empty on all but the first of several launched
    processes. InputError for a share in which a label is missing, before anything is trained, and for all that
    training, running and scoring refuse.
    """
    cells = cells_of(options)
    with alone():
        _check_smallest_share(options, cells)
    if not is_main():
        return _sweep(options, cells, say)
    with locked(options.output, _FUNCTION, "output"):
        return _sweep(options, cells, say)


def _sweep(options: SweepOptions, cells: Sequence[Cell], say: Callable[[str], None]) -> dict[str, Any]:
    work = SweepWork(options, hashes_of(options))
    _open(options.output)
    n_done = sum(work.is_done(cell) for cell in cells)
    talks = is_main()
    if talks:
        say(f"{len(cells)} cells, {n_done} of them done already.")

    def report(cell: Cell) -> None:
        nonlocal n_done
        n_done += 1
        if talks:
            result = work.result(cell) or {}
            say(f"[{n_done}/{len(cells)}] {cell.name}: {_short(result)} ({result.get('seconds', 0):.0f} s)")

    devices = visible_devices(options.device)
    do_all(work, cells, function=_FUNCTION, jobs=options.jobs, devices=devices, progress=report)
    if not talks:
        return {}
    for cell in cells:
        work.forget_weights(cell)
    results = [{"name": cell.name, **(work.result(cell) or {})} for cell in cells]
    for result in results:
        result.pop("identity", None)
    whole = {"cells": results, **summarise(results)}
    write_json(options.output / "sweep.json", whole, indent=1)
    return whole


@dataclass(frozen=True)
class SweepWork:
    """How a cell is done and where it is kept; it travels to other processes whole."""

    options: SweepOptions
    hashes: Mapping[str, str]

    def folder(self, cell: Cell) -> Path:
        """Where the cell is kept: its name for people, and a hash of all that decides its results."""
        identity = identity_of(self.options, cell, self.hashes)
        return self.options.output / "cells" / f"{cell.name}_{store_key(identity)[:8]}"

    def result(self, cell: Cell) -> dict[str, Any] | None:
        """The cell's results; None where it is not finished."""
        try:
            result = json.loads((self.folder(cell) / "cell.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = isinstance(result, dict) and result.get("identity") == identity_of(self.options, cell, self.hashes)
        return result if same else None

    def is_done(self, cell: Cell) -> bool:
        return self.result(cell) is not None

    def do(self, cell: Cell) -> None:
        """Train, run and score a cell, each from where it stopped, and write ``cell.json`` last."""
        started = time.time()
        folder = self.folder(cell)
        model = folder / "model"
        folder.mkdir(parents=True, exist_ok=True)
        results = train_and_run(training_options(self.options, cell, model), folder / "run", self.options)
        record = json.loads((model / "training.json").read_text(encoding="utf-8"))
        result = {
            "identity": identity_of(self.options, cell, self.hashes),
            "model": cell.model,
            "share": cell.share,
            "seed": cell.seed,
            "varied": dict(cell.varied),
            "n_rows": record["data"]["train"]["n_rows"],
            "labels": record["data"]["train"]["labels"],
            "eval_accuracy": record["metrics"].get("eval_accuracy"),
            "n_parameters": _n_parameters(model),
            "sets": results,
            "seconds": round(time.time() - started, 1),
        }
        write_json(folder / "cell.json", result, indent=1)
        self.forget_weights(cell)

    def forget_weights(self, cell: Cell) -> None:
        """Remove the weights of a finished cell where they are not to be kept, for good."""
        model = self.folder(cell) / "model"
        if not self.options.keep_models and model.is_dir():
            for file in model.glob("*.safetensors"):
                file.unlink()
            shutil.rmtree(model / "checkpoints", ignore_errors=True)
            sync_one(model)


def train_and_run(training: TrainingOptions, folder: Path, options: StudyOptions) -> dict[str, dict[str, Any]]:
    """Train a model, run it over the options' sets, and return set -> what is kept of its measures."""
    from paraconsist.models.training.trainer import train

    train(training, say=lambda line: None)
    return run_and_score(training.output, folder, options)


def run_and_score(model: Path, folder: Path, options: StudyOptions) -> dict[str, dict[str, Any]]:
    """Run a trained model over the options' sets, and return set -> what is kept of its measures.

    Sets of paraphrases also get tau, the share of paraphrases with a different answer from the original's.
    """
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.data.selection import with_test_sets
    from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
    from paraconsist.models.loading import load_model
    from paraconsist.running.by_name import shown_to
    from paraconsist.running.options import RunOptions
    from paraconsist.running.run import run
    from paraconsist.scoring.score import ScoreOptions, score_set, score_sources
    from paraconsist.scoring.sources import open_source

    specs = with_test_sets(options.sets) if options.with_test else options.sets
    limits = dict.fromkeys(options.sets, options.limit)  # full test sets stay full
    sets = [load_bucket_set(spec, data_dir=options.data_dir).limited(limits.get(spec)) for spec in specs]
    report = run(
        lambda name, group: load_model(name, task=group[0].task),
        lambda: {str(model): [shown_to(str(model), bucket_set, None) for bucket_set in sets]},
        RunOptions(output=folder, device=options.device, texts=False),
    )
    opened = open_source(report.folder.path)
    scored = score_sources(opened, ScoreOptions(n_resamples=options.n_resamples))
    measured = {name: dict(one.measures) for name, one in scored.items()}
    for name, source in opened.sets.items():
        if set(source.predictions.table["role"].unique().to_pylist()) == {ORIGINAL, PARAPHRASE}:
            tau = ScoreOptions(measures=[SEMANTIC.name], n_resamples=options.n_resamples)
            measured[name] |= score_set(source.predictions, tau).measures
    kept = {measure: (spec.headline, *_KEPT) for measure, spec in CATALOGUE.items()}
    return {
        name: {measure: {k: v[k] for k in kept[measure] if v.get(k) is not None} for measure, v in measures.items()}
        for name, measures in measured.items()
    }


def _n_parameters(folder: Path) -> int:
    from safetensors import safe_open

    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="numpy") as held:
            total += sum(math.prod(held.get_slice(key).get_shape()) for key in held.keys())  # noqa: SIM118
    return total


def _check_smallest_share(options: SweepOptions, cells: Sequence[Cell]) -> None:
    """Draw every share once, so that one in which a label is missing is refused before hours of training."""
    from paraconsist.models.training.data import encode_examples, find_task, open_sources, sample, sample_share

    smallest = min(options.shares)
    whole = None
    for cell in (cell for cell in cells if cell.share == smallest):
        trained = training_options(options, cell, Path("model"))
        if trained.share >= 1:
            return
        if whole is None:
            source, _ = open_sources(trained)
            task = find_task(source, trained.task)
            names = trained.label_names or source.label_names or task.label_names
            whole = encode_examples(source, task, trained, names, multiple_choice=False, say=lambda line: None)
        sample_share(sample(whole, trained.limit, trained.limit_seed), trained.share, trained.limit_seed, names)


def _open(folder: Path) -> None:
    known = ("cells", "sweep.json", "table.md")
    with writing(_FUNCTION, "output", folder):
        if folder.is_dir() and any(
            file.name not in known and file.suffix not in (".png", ".svg") and not file.name.startswith(LOCK)
            for file in folder.iterdir()
        ):
            raise input_error(_FUNCTION, "output", "be new, empty, or a sweep's folder", got=str(folder))
        (folder / "cells").mkdir(parents=True, exist_ok=True)


def _short(result: Mapping[str, Any]) -> str:
    for measures in result.get("sets", {}).values():
        for measure, values in measures.items():
            key = CATALOGUE[measure].headline
            if key in values:
                return f"{result['n_rows']:,} rows, {key} {percent(values[key])}"
    return json.dumps(result.get("n_rows"))


#: What is summarised of paraphrases, whose measure has many numbers.
_OF_PARAPHRASES = (
    *("accuracy", "bucket_accuracy", PARAPHRASTIC.headline, PARAPHRASTIC.published, "pvap_unbiased"),
    *("test_accuracy", "corrected_paraphrastic_consistency_unbiased"),
)


class Figure(NamedTuple):
    """A number that is summarised of each set: its measure and key, its column, and whether it is tested."""

    measure: str
    key: str
    symbol: str
    is_tested: bool = True


def figures() -> list[Figure]:
    """Return what is summarised: several numbers of paraphrases, and the headline of every other measure."""
    symbols = {"bucket_accuracy": "bucket A", **{q.key: q.symbol for q in PARAPHRASTIC.quantities}}
    of_paraphrases = [Figure(PARAPHRASTIC.name, k, symbols[k], k.endswith("unbiased")) for k in _OF_PARAPHRASES]
    others = [spec for spec in scored_measures().values() if spec.name != PARAPHRASTIC.name]
    return of_paraphrases + [Figure(spec.name, spec.headline, spec.symbol) for spec in others]


def configuration_name(cell: Mapping[str, Any]) -> str:
    """What cells that differ in their seed only have in common, for people."""
    varied = ", ".join(f"{k} {v}" for k, v in cell["varied"].items())
    model = str(cell["model"]).rstrip("/").rpartition("/")[2]
    return f"{model}{', ' + varied if varied else ''}, {100 * cell['share']:g} %"


def summarise(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put cells together.

    ``summary``: for each set and configuration, ``n_seeds``, ``n_rows`` (mean), ``n_parameters`` and for each figure
    ``mean`` and ``sd`` (n - 1; nan for one seed). ``tests``: for each set and tested figure every pair of
    configurations of one model with other data, or other models with the same data: ``difference``, ``p_value``
    (Welch's t over seeds) and ``corrected_p_value`` (Holm, over a set's pairs of the figure). ``trends``: Kendall's
    tau-b of the figure with the number of training rows and with the number of parameters, over all cells.
    """
    summary, tests, trends = [], [], []
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(configuration_name(cell), []).append(cell)
    for name in dict.fromkeys(name for cell in cells for name in cell["sets"]):
        summary += [_summary(name, configuration, members) for configuration, members in groups.items()]
        for measure, key, label, is_tested in figures():
            values = {c: _values(name, measure, key, members) for c, members in groups.items()}
            if not is_tested or not any(values.values()):
                continue
            tests += _tests(name, label, values, groups)
            for axis in ("n_rows", "n_parameters"):
                points = [(cell[axis], v) for cell in cells for v in _values(name, measure, key, [cell])]
                trends.append({"set": name, "figure": label, "axis": axis, **trend(points)})
    return {"summary": summary, "tests": tests, "trends": trends}


def _values(name: str, measure: str, key: str, cells: Sequence[Mapping[str, Any]]) -> list[float]:
    values = (cell["sets"].get(name, {}).get(measure, {}).get(key) for cell in cells)
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _summary(name: str, configuration: str, members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = {}
    for measure, key, label, _ in figures():
        values = _values(name, measure, key, members)
        if values:
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
            known[label] = {"mean": float(np.mean(values)), "sd": sd, "n": len(values)}
    return {
        "set": name,
        "configuration": configuration,
        "model": members[0]["model"],
        "share": members[0]["share"],
        "varied": members[0]["varied"],
        "n_seeds": len(members),
        "n_rows": float(np.mean([cell["n_rows"] for cell in members])),
        "n_parameters": members[0]["n_parameters"],
        "figures": known,
    }


def _tests(
    name: str, label: str, values: Mapping[str, Sequence[float]], groups: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    from paraconsist.measures.standings import corrected_p_values

    out: list[dict[str, Any]] = []
    for one, two in combinations(values, 2):
        first, second = groups[one][0], groups[two][0]
        same_model = first["model"] == second["model"] and first["varied"] == second["varied"]
        if same_model == (first["share"] == second["share"]):
            continue  # both differ: nothing could be told from it
        difference, p = difference_over_seeds(values[one], values[two])
        about = {"set": name, "figure": label, "configuration1": one, "configuration2": two}
        counts = {"n1": len(values[one]), "n2": len(values[two])}
        out.append({**about, "difference": difference, "p_value": p, **counts, "corrected_p_value": float("nan")})
    known = [entry for entry in out if math.isfinite(entry["p_value"])]
    if known:
        corrected = corrected_p_values([entry["p_value"] for entry in known], "holm")
        for entry, p in zip(known, corrected, strict=True):
            entry["corrected_p_value"] = p
    return out


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the difference of two means over seeds, and Welch's p, two-sided.

    p is nan with fewer than two seeds on a side; where neither side varies it is 1 for equal means and nan else.
    """
    if not len(first) or not len(second):
        return float("nan"), float("nan")
    difference = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2:
        return difference, float("nan")
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return difference, 1.0 if difference == 0 else float("nan")
    from scipy.stats import ttest_ind

    return difference, float(ttest_ind(first, second, equal_var=False).pvalue)


def trend(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return Kendall's tau-b of y with x, its two-sided p, and the number of points; nan where x or y is constant."""
    if len({x for x, _ in points}) < 2 or len({y for _, y in points}) < 2:
        return {"kendall": float("nan"), "p_value": float("nan"), "n": len(points)}
    from scipy.stats import kendalltau

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tau = kendalltau(*zip(*points, strict=True))
    return {"kendall": float(tau.statistic), "p_value": float(tau.pvalue), "n": len(points)}
