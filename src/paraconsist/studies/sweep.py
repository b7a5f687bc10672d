"""Training dynamics: every cell of a grid trained, run and scored, wherever and however often it was interrupted."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.store import store_key
from paraconsist.errors import input_error
from paraconsist.files import write_json, writing
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC
from paraconsist.models.training.options import TrainingOptions
from paraconsist.reporting.formatting import percent
from paraconsist.running.pool import alone, do_all, visible_devices
from paraconsist.running.processes import is_main
from paraconsist.studies.sweep_grid import (
    Cell,
    StudyOptions,
    SweepOptions,
    cells_of,
    hashes_of,
    identity_of,
    training_options,
)
from paraconsist.studies.sweep_summary import summarise

_FUNCTION = "sweep"
#: What is kept of each measure, besides its headline.
_KEPT = (
    *("accuracy", "original_accuracy", "bucket_accuracy", "test_accuracy", "perturbed_accuracy"),
    *(PARAPHRASTIC.published, "corrected_accuracy", "corrected_paraphrastic_consistency"),
    *(
        "corrected_paraphrastic_consistency_unbiased",
        "vap",
        "pvap",
        "pvap_unbiased",
        "covered_mass",
        "n_pairs",
        "n_buckets",
        "n_examples",
        "n_satisfied",
    ),
)


def sweep(options: SweepOptions, *, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Do every cell of the grid that is not done yet, and put all of them together.

    A grid may grow: more shares, seeds or models given to the same folder leave finished cells as they are.

    Parameters
    ----------
    options : SweepOptions
    say : callable
        Takes a line for each finished cell.

    Returns
    -------
    dict
        ``cells`` (a dict each), ``summary`` and ``tests`` (see `paraconsist.studies.sweep_summary.summarise`);
        also written to ``sweep.json``. Empty on all but the first of several launched processes.

    Raises
    ------
    InputError
        For a share in which a label is missing, before anything is trained, and for all that training, running and
        scoring refuse.
    """
    cells = cells_of(options)
    with alone():
        _check_smallest_share(options, cells)
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
        if model.is_dir() and not (model / "training.json").is_file():
            shutil.rmtree(model)  # killed before the training wrote what it is
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
        if not self.options.keep_models:
            for file in model.glob("*.safetensors"):
                file.unlink()


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
    from paraconsist.scoring.folders import score_sources
    from paraconsist.scoring.score import ScoreOptions, score_set
    from paraconsist.scoring.sources import open_source

    specs = with_test_sets(options.sets) if options.with_test else options.sets
    sets = [load_bucket_set(spec, data_dir=options.data_dir).limited(options.limit) for spec in specs]
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
    for cell in cells:
        if cell.share != smallest:
            continue
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
            file.name not in known and file.suffix not in (".png", ".svg", ".partial") for file in folder.iterdir()
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
