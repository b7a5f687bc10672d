"""One cell of a sweep: train, run, score; each step goes on where a killed one stopped."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.store import store_key
from paraconsist.errors import speaking_for
from paraconsist.files import to_strict_json
from paraconsist.studies.grid import Cell, SweepOptions, identity_of, training_options

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
    from paraconsist.models import load_model
    from paraconsist.running.partial_input import shown_to
    from paraconsist.running.run import RunOptions, run
    from paraconsist.scoring.folders import score_folder
    from paraconsist.scoring.score import ScoreOptions

    with speaking_for("sweep"):
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
