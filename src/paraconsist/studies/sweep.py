"""One cell of a sweep: train, run, score; each step goes on where a killed one stopped.

Training dynamics: every cell of a grid trained, run and scored, wherever and however often it was interrupted.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.store import store_key
from paraconsist.errors import input_error, renamed
from paraconsist.files import to_strict_json
from paraconsist.running.pool import alone, do_all
from paraconsist.running.processes import is_main
from paraconsist.studies.sweep_grid import Cell, SweepOptions, cells_of, hashes_of, identity_of, training_options
from paraconsist.studies.sweep_summary import summarise

#: What is kept of each measure, besides its headline.
_KEPT = (
    *("accuracy", "original_accuracy", "bucket_accuracy", "test_accuracy", "perturbed_accuracy"),
    *("paraphrastic_consistency", "paraphrastic_consistency_unbiased", "vap", "pvap", "covered_mass"),
    *("corrected_accuracy", "corrected_paraphrastic_consistency", "inconsistency", "change_rate"),
    *("n_pairs", "n_buckets", "n_examples", "n_satisfied"),
)
_TAU = "semantic_inconsistency"


@dataclass(frozen=True)
class SweepWork:
    """The cells and where they are kept; it travels to other processes whole."""

    options: SweepOptions
    cells: tuple[Cell, ...]
    hashes: Mapping[str, str]

    def identity(self, piece: int) -> dict[str, Any]:
        """What decides the cell's results."""
        return identity_of(self.options, self.cells[piece], self.hashes)

    def folder(self, piece: int) -> Path:
        """Where the cell is kept: its name for people, and a hash of all that decides its results."""
        return self.options.output / "cells" / f"{self.cells[piece].name}_{store_key(self.identity(piece))[:8]}"

    def result(self, piece: int) -> dict[str, Any] | None:
        """What the cell found; None where it is not finished."""
        try:
            said = json.loads((self.folder(piece) / "cell.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return said if isinstance(said, dict) and said.get("identity") == self.identity(piece) else None

    def is_done(self, piece: int) -> bool:
        return self.result(piece) is not None

    def do(self, piece: int) -> None:
        """Train, run and score a cell, each from where it stopped, and write ``cell.json`` last."""
        from paraconsist.models.training.trainer import train

        started = time.time()
        options, folder = self.options, self.folder(piece)
        model = folder / "model"
        if model.is_dir() and not (model / "training.json").is_file():
            shutil.rmtree(model)  # killed before the training wrote what it is
        folder.mkdir(parents=True, exist_ok=True)
        train(training_options(options, self.cells[piece], model), say=lambda line: None)
        record = json.loads((model / "training.json").read_text(encoding="utf-8"))
        results = run_and_score(
            model,
            folder / "run",
            options.sets,
            with_test=options.with_test,
            limit=options.limit,
            device=options.device,
            data_dir=options.data_dir,
            n_resamples=options.n_resamples,
        )
        cell = self.cells[piece]
        write_json(
            folder / "cell.json",
            {
                "identity": self.identity(piece),
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
            },
        )
        if not options.keep_models:
            for file in model.glob("*.safetensors"):
                file.unlink()


def run_and_score(
    model: Path,
    folder: Path,
    sets: Sequence[str],
    *,
    with_test: bool,
    limit: int | None,
    device: str | None,
    data_dir: str | None,
    n_resamples: int,
) -> dict[str, dict[str, Any]]:
    """Run a trained model over bucket sets and return set -> what is kept of its measures.

    Sets of paraphrases also get tau, the share of paraphrases answered otherwise than the original.
    """
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.data.selection import with_test_sets
    from paraconsist.models.loading import load_model
    from paraconsist.running.partial_input import shown_to
    from paraconsist.running.run import RunOptions, run
    from paraconsist.scoring.folders import score_folder
    from paraconsist.scoring.score import ScoreOptions

    with renamed():
        specs = with_test_sets(sets) if with_test else list(sets)
    report = run(
        lambda name, group: load_model(name, task=group[0].task),
        lambda: {
            str(model): [
                shown_to(str(model), load_bucket_set(spec, data_dir=data_dir).limited(limit), None) for spec in specs
            ]
        },
        RunOptions(output=folder, device=device, texts=False),
    )
    files = report.folder.predictions_files()
    options = ScoreOptions(n_resamples=n_resamples)
    scored = score_folder(files, options)
    taus = _taus(files, scored, n_resamples)
    out: dict[str, dict[str, Any]] = {}
    for name, result in scored.items():
        measures = {**result["measures"], **taus.get(name, {})}
        out[name] = {measure: {k: v[k] for k in _KEPT if v.get(k) is not None} for measure, v in measures.items()}
    return out


def _taus(files: Sequence[Path], scored: Mapping[str, Any], n_resamples: int) -> dict[str, dict[str, Any]]:
    from paraconsist.data.predictions import read_predictions
    from paraconsist.scoring.score import ScoreOptions, score

    out = {}
    for file in files:
        predictions = read_predictions(file)
        name = str(predictions.metadata.get("set", file.stem))
        if name in scored and {"original", "paraphrase"} == set(predictions.table["role"].unique().to_pylist()):
            out[name] = score(predictions, ScoreOptions(measures=[_TAU], n_resamples=n_resamples))["measures"]
    return out


def _n_parameters(folder: Path) -> int:
    from safetensors import safe_open

    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="numpy") as held:
            for key in held.keys():  # noqa: SIM118
                size = 1
                for length in held.get_slice(key).get_shape():
                    size *= length
                total += size
    return total


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON, whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    text = json.dumps(to_strict_json(value), indent=1, ensure_ascii=False, allow_nan=False, default=str)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)


_FUNCTION = "sweep"


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
        _check_first(options, cells)
    work = SweepWork(options, tuple(cells), hashes_of(options))
    _open(options.output)
    done = [piece for piece in range(len(cells)) if work.is_done(piece)]
    if is_main():
        say(f"{len(cells)} cells, {len(done)} of them done already.")
    n_done = len(done)

    def told(piece: int) -> None:
        nonlocal n_done
        n_done += 1
        if is_main():
            found = work.result(piece) or {}
            say(f"[{n_done}/{len(cells)}] {cells[piece].name}: {_short(found)} ({found.get('seconds', 0):.0f} s)")

    do_all(work, len(cells), jobs=options.jobs, devices=_devices(options), function=_FUNCTION, progress=told)
    if not is_main():
        return {}
    found = [{"name": cells[i].name, **(work.result(i) or {})} for i in range(len(cells))]
    for entry in found:
        entry.pop("identity", None)
    said = {"cells": found, **summarise(found)}
    write_json(options.output / "sweep.json", said)
    return said


def _check_first(options: SweepOptions, cells: Sequence[Cell]) -> None:
    """Draw every share once, so that one in which a label is missing is refused before hours of training."""
    from paraconsist.models.training.data import encode_examples, find_task, open_sources
    from paraconsist.models.training.sampling import sample, sample_share

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
            task = find_task(source, trained)
            names = trained.label_names or source.label_names or task.label_names
            whole = encode_examples(source, task, trained, names, multiple_choice=False, say=lambda line: None)
        sample_share(sample(whole, trained.limit, trained.limit_seed), trained.share, trained.limit_seed, names)


def _open(folder: Path) -> None:
    known = ("cells", "sweep.json", "table.md")
    try:
        if folder.is_dir() and any(
            file.name not in known and file.suffix not in (".png", ".svg", ".partial") for file in folder.iterdir()
        ):
            raise input_error(_FUNCTION, "output", "be new, empty, or a sweep's folder", got=str(folder))
        (folder / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise input_error(
            _FUNCTION, "output", "be a folder that can be written", got=str(folder), remedy=f"{problem}."
        ) from None


def _devices(options: SweepOptions) -> list[str]:
    """The accelerators to spread processes over: those that are visible."""
    import os

    if options.device == "cpu":
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def _short(found: dict[str, Any]) -> str:
    for measures in found.get("sets", {}).values():
        for values in measures.values():
            key = "paraphrastic_consistency" if "paraphrastic_consistency" in values else "inconsistency"
            if key in values:
                return f"{found['n_rows']:,} rows, {key} {100 * values[key]:.1f}"
    return json.dumps(found.get("n_rows"))
