"""Training dynamics: every cell of a grid is trained, run and scored, however often the sweep is interrupted.

The grid is checkpoints, shares of the training rows, seeds, and any other option of training; or, where nothing is
trained, models, seeds, and any option of how they are asked.
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
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.options import converted
from paraconsist.data.store import store_key
from paraconsist.data.tasks import QUESTIONS, get_task, named_in_rows
from paraconsist.errors import input_error, renamed
from paraconsist.files import LOCK, digests, is_main, locked, sync_one, with_whole_numbers, write_json, writing
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC, scored_measures
from paraconsist.measures.results import Values
from paraconsist.measures.standings import corrected_p_values
from paraconsist.models.training.options import TrainingOptions
from paraconsist.reporting.formatting import percent, plural
from paraconsist.running.processes import alone, do_all, visible_devices
from paraconsist.studies import StudyRecord
from paraconsist.studies.options import StudyOptions, SweepOptions

if TYPE_CHECKING:
    from paraconsist.running.by_name import NamedRun

_FUNCTION = "sweep"

#: Set -> measure -> key -> value.
Measured: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Cell:
    """One training, run and score; `varied` holds the other options of training, (name, value) each."""

    model: str
    share: float
    seed: int
    varied: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        model = Path(self.model).name or self.model
        parts = [model, f"share-{self.share:g}", *(f"{k}-{v}" for k, v in self.varied), f"seed-{self.seed}"]
        return "".join(c if c.isalnum() or c in "._-" else "-" for c in "_".join(parts))


@dataclass(frozen=True)
class CellResult(StudyRecord):
    """A finished cell: its place in the grid, its training, and the numbers of its sets."""

    name: str
    model: str
    share: float
    seed: int
    varied: Mapping[str, object]
    n_rows: int
    labels: object
    eval_accuracy: float | None
    n_parameters: int
    sets: Measured
    seconds: float

    @property
    def configuration(self) -> str:
        """The name of everything but the seed; of a model that was asked as it is, without a share."""
        varied = [f"no {k}" if v is None else f"{k} {' '.join(str(v).split())}" for k, v in self.varied.items()]
        share = [] if self.labels is None else [f"{100 * self.share:g} %"]
        return ", ".join([self.model.rstrip("/").rpartition("/")[2], *varied, *share])

    def value(self, set_name: str, measure: str, key: str) -> float | None:
        return self.sets.get(set_name, {}).get(measure, {}).get(key)


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
    training = {**options.training, **dict(cell.varied)}
    if options.limit is not None:
        training["limit"] = options.limit
    grid = {"model": cell.model, "share": cell.share, "seed": cell.seed, "limit_seed": cell.seed}
    return replace(options, training=training).train(output, **grid)


def _read_by(options: SweepOptions, cell: Cell) -> set[str]:
    """Return the names of what a cell reads: its sets, its model and the files of its training."""
    training = {**options.training, **dict(cell.varied)}
    files = (training.get(name) for name in ("train_file", "eval_file", "vectors"))
    return {str(name) for name in (*files, *options.sets, cell.model) if name is not None}


def hashes_of(options: SweepOptions) -> dict[str, str]:
    """Return the hash of every file and folder of rows that the sweep reads, and of the weights of models' folders."""
    from paraconsist.models.pretrained import weights_hash

    hashes = {}
    for name in {name for cell in cells_of(options) for name in _read_by(options, cell)}:
        path = Path(name).expanduser()
        if path.is_file():
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif (path / "config.json").is_file():
            hashes[name] = weights_hash(path)
        elif name in options.sets and (folder := path if path.is_dir() else Path(name.partition(":")[0])).is_dir():
            hashes[name] = store_key(digests(folder))
    return hashes


#: How often two wordings get different answers, which is counted of every set, beside the measures.
_WORDING = "wording_change"
#: The numbers that a cell keeps of each measure, besides its headline.
_KEPT = (
    *("accuracy", "original_accuracy", "bucket_accuracy", "test_accuracy", "perturbed_accuracy"),
    *(PARAPHRASTIC.published, "corrected_accuracy", "corrected_paraphrastic_consistency"),
    *("corrected_paraphrastic_consistency_unbiased", "vap", "pvap", "pvap_unbiased", "covered_mass"),
    *("n_pairs", "n_buckets", "n_examples", "n_satisfied"),
)


def sweep(options: SweepOptions, *, say: Callable[[str], None] = lambda line: None) -> SweepResult | None:
    """Do every cell of the grid that is not done yet, and summarise all of them.

    A grid may grow: more shares, seeds or models given to the same folder leave finished cells as they are. `say` takes
    a line for each finished cell. The result is also written to ``sweep.json``; only the first of several launched
    processes returns it. InputError for a share in which a label is missing, before anything is trained.
    """
    if not options.trains:
        return ask(options, say)
    cells = cells_of(options)
    for name in ("column", "same", "right", "endpoint"):
        if (value := getattr(options, name)) is not None:
            raise input_error("sweep", name, "be given only where nothing is trained", got=value)
    for name in (name for name in options.sets if Path(name).exists()):
        if _loaded(name, options).task is QUESTIONS:
            remedy = "Without rows to train on, models are asked as they are."
            raise input_error("sweep", "dataset", "have labels, as classifiers are trained", got=name, remedy=remedy)
    with alone():
        _check_smallest_share(options, cells)
    with locked(options.output, _FUNCTION, "output") if is_main() else nullcontext():
        work = SweepWork(options, hashes_of(options))
        _open(options.output)
        n_done = sum(work.is_done(cell) for cell in cells)
        if is_main():
            say(f"{plural(len(cells), 'cell')}, {n_done:,} of them done already.")

        def report(cell: Cell) -> None:
            nonlocal n_done
            n_done += 1
            if is_main() and (result := work.result(cell)) is not None:
                say(f"[{n_done}/{len(cells)}] {cell.name}: {_short(result)} ({result.seconds:.0f} s)")

        devices = visible_devices(options.device)
        do_all(work, cells, function=_FUNCTION, jobs=options.jobs, devices=devices, progress=report)
        if not is_main():
            return None
        for cell in cells:
            work.forget_weights(cell)
        whole = summarise([result for cell in cells if (result := work.result(cell)) is not None])
        write_json(options.output / "sweep.json", whole, indent=1)
        return whole


def asked_cells(options: SweepOptions) -> dict[str, tuple[Cell, NamedRun]]:
    """Return each cell of a grid of models that are asked as they are, by its folder's name, with its run.

    InputError for an option that only trainings have, or that models do not have.
    """
    from paraconsist.running.by_name import OF_MODELS, NamedRun, read_models
    from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions
    from paraconsist.running.run import draws_at_server

    for name in ("preset", "shares", "jobs", "keep_models"):
        if (value := getattr(options, name)) != getattr(SweepOptions, name):
            must = "be given only with rows to train on, `train_file` or `train_dataset`"
            raise input_error(_FUNCTION, name, must, got=value)
    if given := {"model", "seed"} & {*options.vary, *options.training}:
        raise input_error(_FUNCTION, given.pop(), "be left to the sweep, which has `models` and `seeds`")
    shared = {name: value for name, value in options.training.items() if name != "task"}
    cells, models = {}, {}
    for cell in cells_of(replace(options, shares=(1.0,), vary=with_whole_numbers(options.vary))):
        own = {"seed": cell.seed, **shared, **dict(cell.varied), "model": cell.model}
        fields = own.get("request_fields", options.endpoint and options.endpoint.request_fields)
        fields = fields if isinstance(fields, Mapping) else {}
        is_drawn = bool(own.get("temperature")) or draws_at_server(fields)
        if own.get("temperature") is not None and "temperature" in fields:
            must = "not be given with a `request_field` of that name"
            raise input_error(_FUNCTION, "temperature", must, got=own["temperature"])
        if is_drawn and len(options.seeds) > 1 and fields.get("seed") is not None:
            raise input_error(_FUNCTION, "request_field", "leave the seed to the sweep's `seeds`", got=fields["seed"])
        if cell.seed == options.seeds[0] or is_drawn:  # else nothing is drawn: the same answers again
            folder = f"{cell.name.replace('_share-1', '', 1)[:80]}_{store_key(own)[:8]}"
            cells[folder], models[folder] = cell, {name: value for name, value in own.items() if value is not None}
    limit = {} if options.limit is None else {"limit": [str(options.limit)]}
    sets = converted(options, SetOptions, dataset=[*options.sets], task=options.training.get("task"), **limit)
    running = RunOptions(options.output / "cells", options.label_map, device=options.device)
    with renamed(models="vary"):
        prompts = PromptOptions(data_dir=options.data_dir)
        asked = NamedRun((), sets, prompts, LoadOptions(), running, options.endpoint)
        runs = asked.each(read_models(models, {*itertools.chain(*OF_MODELS.values())}))
    return {folder: (cells[folder], run) for folder, run in runs.items()}


def ask(options: SweepOptions, say: Callable[[str], None]) -> SweepResult | None:
    """Ask the models of a grid as they are, each cell in a run folder of its own, and summarise all cells.

    InputError as of `asked_cells`, before anything is asked.
    """
    from paraconsist.running.by_name import run_by_name, say_total
    from paraconsist.running.functions import run_named
    from paraconsist.scoring.options import ScoreOptions
    from paraconsist.scoring.score import score_run_folder

    def about(cell: str) -> Callable[[str], None]:
        return lambda line: say(f"{cell} {line}")

    results, cells = [], asked_cells(options)
    with locked(options.output, _FUNCTION, "output") if is_main() else nullcontext():
        _open(options.output)
        if is_main():
            n = len(cells_of(replace(options, shares=(1.0,))))
            once = "" if len(cells) == n else " At a temperature of 0 one of the seeds is all."
            say(f"{plural(len(cells), 'cell')}; without rows to train on, each model is asked as it is.{once}")
            say_total([run for _, run in cells.values()], "cell", say)
        for number, (folder, (cell, run)) in enumerate(cells.items(), 1):
            at, started = f"[{number}/{len(cells)}]", time.time()
            if not run_named(run, about(at)):
                run_by_name(run, about(at))
            if is_main():
                scores, _ = score_run_folder(run.options.output, ScoreOptions(n_resamples=options.n_resamples))
                wording = {name: {_WORDING: one.wording.to_dict()} for name, one in scores.items() if one.wording}
                measured = _kept({name: {**wording.get(name, {}), **one.measures} for name, one in scores.items()})
                n_rows = sum(len(one.rows.labels) for one in scores.values())
                n_unparsed = sum(one.n_unparsed for one in scores.values())
                place = (folder, cell.model, 1.0, cell.seed, dict(cell.varied), n_rows, None, None, 0, measured)
                results.append(CellResult(*place, round(time.time() - started, 1)))
                what = f"{results[-1].configuration}, seed {cell.seed}: {_short(results[-1])}, {n_unparsed:,} unparsed"
                say(f"{at} {what}")
        if not is_main():
            return None
        if run.meter is not None and run.meter.n_requests:
            say(f"In all {run.meter.spent}.")
        whole = summarise(results)
        write_json(options.output / "sweep.json", whole, indent=1)
        return whole


@dataclass(frozen=True)
class SweepWork:
    """The work on a cell and the place of its results; other processes receive it whole."""

    options: SweepOptions
    hashes: Mapping[str, str]  # file -> hash of its content: a changed one never meets old results

    def identity(self, cell: Cell) -> dict[str, object]:
        """Return everything that decides a cell's results, ready for JSON."""
        trained = dict(training_options(self.options, cell, Path("model")).to_dict())
        for name in ("output", "resume", "device", "progress", "data_dir"):
            trained.pop(name)
        identity = {
            "training": trained,
            "sets": sorted(self.options.sets),
            "with_test": self.options.with_test,
            "limit": self.options.limit,
            "files": {name: self.hashes[name] for name in sorted(_read_by(self.options, cell) & self.hashes.keys())},
        }
        return dict(json.loads(json.dumps(identity, default=str)))

    def folder(self, cell: Cell) -> Path:
        """Return the cell's folder: its name for people, and a hash of its identity."""
        return self.options.output / "cells" / f"{cell.name}_{store_key(self.identity(cell))[:8]}"

    def result(self, cell: Cell) -> CellResult | None:
        """Return the cell's results; None if it is not finished."""
        try:
            written = json.loads((self.folder(cell) / "cell.json").read_text(encoding="utf-8"))
            if written.pop("identity") == self.identity(cell):
                return CellResult(cell.name, **written)
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            pass  # cut short, or of another version: done again
        return None

    def is_done(self, cell: Cell) -> bool:
        return self.result(cell) is not None and (not self.options.keep_models or bool(self._weights(cell)))

    def _weights(self, cell: Cell) -> list[Path]:
        return list((self.folder(cell) / "model").glob("*.safetensors"))

    def do(self, cell: Cell) -> None:
        """Train, run and score a cell, each from where it stopped, and write ``cell.json`` last."""
        started = time.time()
        folder = self.folder(cell)
        model = folder / "model"
        folder.mkdir(parents=True, exist_ok=True)
        if not self._weights(cell):  # a run of weights that are gone: those of a new training may differ by rounding
            shutil.rmtree(folder / "run", ignore_errors=True)
        sets = train_and_run(training_options(self.options, cell, model), folder / "run", self.options)
        record = json.loads((model / "training.json").read_text(encoding="utf-8"))
        trained = record["data"]["train"]
        result = {
            **vars(cell),
            "varied": dict(cell.varied),
            "n_rows": trained["n_rows"],
            "labels": trained["labels"],
            "eval_accuracy": record["metrics"].get("eval_accuracy"),
            "n_parameters": _n_parameters(model),
            "sets": sets,
            "seconds": round(time.time() - started, 1),
        }
        write_json(folder / "cell.json", {"identity": self.identity(cell), **result}, indent=1)
        self.forget_weights(cell)

    def forget_weights(self, cell: Cell) -> None:
        """Remove the weights of a finished cell unless they are kept, first from the record of its training."""
        model, weights = self.folder(cell) / "model", self._weights(cell)
        if weights and not self.options.keep_models:
            record = json.loads((model / "training.json").read_text(encoding="utf-8"))
            for file in weights:
                record["files"].pop(file.name, None)
            write_json(model / "training.json", {**record, "status": "weights removed"})
            for file in weights:
                file.unlink()
            shutil.rmtree(model / "checkpoints", ignore_errors=True)
            sync_one(model)


def train_and_run(training: TrainingOptions, folder: Path, options: StudyOptions) -> Measured:
    """Train a model, and do `run_and_score` with it."""
    from paraconsist.models.training.trainer import train

    train(training, say=lambda line: None)
    return run_and_score(training.output, folder, options)


def run_and_score(model: Path, folder: Path, options: StudyOptions) -> Measured:
    """Run a trained model over the options' sets, and return the numbers of its measures.

    Sets of paraphrases also get tau, the share of paraphrases with a different answer from the original's.
    """
    from paraconsist.data.bucket_sets import with_test_sets
    from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
    from paraconsist.models.loading import load_model
    from paraconsist.running.by_name import shown_to
    from paraconsist.running.options import RunOptions
    from paraconsist.running.run import run
    from paraconsist.scoring.options import ScoreOptions
    from paraconsist.scoring.score import score_set, score_sources
    from paraconsist.scoring.sources import open_source

    specs = with_test_sets(options.sets) if options.with_test else options.sets
    limits = dict.fromkeys(options.sets, options.limit)  # full test sets stay full
    sets = [_loaded(spec, options).limited(limits.get(spec)) for spec in specs]
    report = run(
        lambda name, group: load_model(name, task=group[0].task),
        lambda: {str(model): [shown_to(str(model), bucket_set, None) for bucket_set in sets]},
        RunOptions(output=folder, label_map=options.label_map, device=options.device, texts=False),
    )
    opened = open_source(report.folder.path)
    scores = score_sources(opened, ScoreOptions(n_resamples=options.n_resamples))
    results = {name: dict(of_set.measures) for name, of_set in scores.items()}
    for name, source in opened.sets.items():
        if set(source.predictions.table["role"].unique().to_pylist()) == {ORIGINAL, PARAPHRASE}:
            tau = ScoreOptions(measures=[SEMANTIC.name], n_resamples=options.n_resamples)
            results[name] |= score_set(replace(source, test=None), tau).measures
    return _kept(results)


def _loaded(spec: str, options: StudyOptions) -> BucketSet:
    """Load a set; a file whose columns fit several tasks is of the training's."""
    task = options.training.get("task")
    is_unsure = task is not None and Path(spec).exists() and bool(named_in_rows(get_task(task)))
    return load_bucket_set(spec, task=task if is_unsure else None, data_dir=options.data_dir)


def _kept(results: Mapping[str, Values]) -> Measured:
    kept = {measure: (spec.headline, *_KEPT) for measure, spec in CATALOGUE.items()} | {_WORDING: (_WORDING,)}
    return {
        name: {
            measure: {key: result[key] for key in kept[measure] if result.get(key) is not None}
            for measure, result in of_set.items()
        }
        for name, of_set in results.items()
    }


def _n_parameters(folder: Path) -> int:
    from safetensors import safe_open

    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="numpy") as weights:
            total += sum(math.prod(weights.get_slice(key).get_shape()) for key in weights.keys())  # noqa: SIM118
    return total


def _check_smallest_share(options: SweepOptions, cells: Sequence[Cell]) -> None:
    """Draw every share once, so that one in which a label is missing is refused before hours of training."""
    from paraconsist.models.training.data import draw, encode_examples, find_task, open_sources

    smallest = min(options.shares)
    whole = None
    for cell in (cell for cell in cells if cell.share == smallest < 1):
        trained = training_options(options, cell, Path("model"))
        if whole is None:
            source, _ = open_sources(trained)
            task = find_task(source, trained.task)
            names = trained.label_names or source.label_names or task.label_names
            whole = encode_examples(source, task, trained, names, multiple_choice=False, say=lambda line: None)
        draw(whole, trained, names)


def _open(folder: Path) -> None:
    known = ("cells", "sweep.json", "table.md")
    with writing(_FUNCTION, "output", folder):
        if folder.is_dir() and any(
            file.name not in known and file.suffix not in (".png", ".svg", ".pdf") and not file.name.startswith(LOCK)
            for file in folder.iterdir()
        ):
            raise input_error(_FUNCTION, "output", "be new, empty, or a sweep's folder", got=str(folder))
        (folder / "cells").mkdir(parents=True, exist_ok=True)


def _short(result: CellResult) -> str:
    headlines = {_WORDING: _WORDING, **{name: spec.headline for name, spec in CATALOGUE.items()}}
    numbers = ((headlines[name], found) for of_set in result.sets.values() for name, found in of_set.items())
    headline = next((f" rows, {key} {percent(found[key])}" for key, found in numbers if key in found), "")
    return f"{result.n_rows:,}{headline}" if headline else str(result.n_rows)


# Means over seeds, tests between configurations, and the trend with size and data.

#: The numbers that are summarised of paraphrases, whose measure has many.
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
    """Return the summarised numbers: several of paraphrases, and the headline of every other measure."""
    symbols = {"bucket_accuracy": "bucket A", **{q.key: q.symbol for q in PARAPHRASTIC.quantities}}
    of_paraphrases = [Figure(PARAPHRASTIC.name, k, symbols[k], k.endswith("unbiased")) for k in _OF_PARAPHRASES]
    others = [spec for spec in scored_measures().values() if spec.name != PARAPHRASTIC.name]
    of_paraphrases.append(Figure(_WORDING, _WORDING, "wording change"))
    return of_paraphrases + [Figure(spec.name, spec.headline, spec.symbol) for spec in others]


@dataclass(frozen=True)
class SeedMean(StudyRecord):
    """The mean of a figure over `n` seeds, and its standard deviation (n - 1; nan for one seed)."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class ConfigurationSummary(StudyRecord):
    """One configuration on one set; `n_rows` is the mean over its seeds."""

    set: str
    configuration: str
    model: str
    share: float
    varied: Mapping[str, object]
    n_seeds: int
    n_rows: float
    n_parameters: int
    figures: Mapping[str, SeedMean]


@dataclass(frozen=True)
class ConfigurationTest(StudyRecord):
    """The difference of a figure between two configurations, by Welch's t over seeds; corrected by Holm over pairs."""

    set: str
    figure: str
    configuration1: str
    configuration2: str
    difference: float
    p_value: float
    n1: int
    n2: int
    corrected_p_value: float = math.nan


@dataclass(frozen=True)
class Trend(StudyRecord):
    """Kendall's tau-b of a figure with ``n_rows`` (training rows) or ``n_parameters``, over all `n` cells."""

    set: str
    figure: str
    axis: str
    kendall: float
    p_value: float
    n: int


@dataclass(frozen=True)
class SweepResult(StudyRecord):
    """All cells of a sweep and their summary; tests compare a model with other data, or models with the same data."""

    cells: Sequence[CellResult]
    summary: Sequence[ConfigurationSummary]
    tests: Sequence[ConfigurationTest]
    trends: Sequence[Trend]


def sets_of(cells: Sequence[CellResult]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell.sets))


def summarise(cells: Sequence[CellResult]) -> SweepResult:
    """Summarise cells over their seeds, test configurations against each other, and find trends."""
    summary, tests, trends = [], [], []
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        same_name = groups.get(cell.configuration, [cell])[0].model == cell.model
        name = cell.configuration if same_name else f"{cell.configuration} ({cell.model})"
        groups.setdefault(name, []).append(cell)
    for name in sets_of(cells):
        summary += [_summary(name, configuration, members) for configuration, members in groups.items()]
        for figure in figures():
            values = {configuration: _values(name, figure, members) for configuration, members in groups.items()}
            if not figure.is_tested or not any(values.values()) or cells[0].labels is None:
                continue  # what was not trained is compared by its answers to the same questions, not over seeds
            tests += _tests(name, figure.symbol, values, groups)
            for axis in ("n_rows", "n_parameters"):
                points = [(float(cell[axis]), value) for cell in cells for value in _values(name, figure, [cell])]
                trends.append(Trend(name, figure.symbol, axis, *trend(points), len(points)))
    return SweepResult(cells, summary, tests, trends)


def _values(name: str, figure: Figure, cells: Sequence[CellResult]) -> list[float]:
    values = (cell.value(name, figure.measure, figure.key) for cell in cells)
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _summary(name: str, configuration: str, members: Sequence[CellResult]) -> ConfigurationSummary:
    means = {}
    for figure in figures():
        values = _values(name, figure, members)
        if values:
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
            means[figure.symbol] = SeedMean(float(np.mean(values)), sd, len(values))
    first, n_rows = members[0], float(np.mean([cell.n_rows for cell in members]))
    grid = (first.model, first.share, first.varied, len(members), n_rows, first.n_parameters)
    return ConfigurationSummary(name, configuration, *grid, means)


def _tests(
    name: str, symbol: str, values: Mapping[str, Sequence[float]], groups: Mapping[str, Sequence[CellResult]]
) -> list[ConfigurationTest]:
    tests = []
    for one, two in itertools.combinations(values, 2):
        first, second = groups[one][0], groups[two][0]
        same_model = first.model == second.model and first.varied == second.varied
        if same_model == (first.share == second.share):
            continue  # both differ: the cause of a difference would be unknown
        difference, p = difference_over_seeds(values[one], values[two])
        counts = len(values[one]), len(values[two])
        tests.append(ConfigurationTest(name, symbol, one, two, difference, p, *counts))
    known = [test.p_value for test in tests if math.isfinite(test.p_value)]
    corrected = iter(corrected_p_values(known, "holm") if known else ())
    return [replace(test, corrected_p_value=next(corrected)) if math.isfinite(test.p_value) else test for test in tests]


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the difference of two means over seeds, and Welch's p, two-sided.

    p is nan with fewer than two seeds on a side; where neither side varies it is 1 for equal means and nan otherwise.
    """
    if not len(first) or not len(second):
        return math.nan, math.nan
    difference = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2:
        return difference, math.nan
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return difference, 1.0 if difference == 0 else math.nan
    from scipy.stats import ttest_ind

    return difference, float(ttest_ind(first, second, equal_var=False).pvalue)


def trend(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return Kendall's tau-b of y with x and its two-sided p; nan where x or y is constant."""
    if len({x for x, _ in points}) < 2 or len({y for _, y in points}) < 2:
        return math.nan, math.nan
    from scipy.stats import kendalltau

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tau = kendalltau(*zip(*points, strict=True))
    return float(tau.statistic), float(tau.pvalue)
