"""Score the predictions files of a run folder, each set beside its full test set where that was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.data.rows import ColumnNames, read_rows
from paraconsist.errors import input_error
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.scoring.noise import RUN_AGAIN, noise_file_of, same_run, score_noise
from paraconsist.scoring.score import ScoreOptions, majority_rate, score
from paraconsist.scoring.unparsed import apply_policy

_TEST = "_test"


def score_folder(
    files: Sequence[Path] | Mapping[Path, Predictions], options: ScoreOptions, *, training: pa.Table | None = None
) -> dict[str, Any]:
    """Score every bucket set among `files`, or of a mapping of files to what was read of them.

    Returns
    -------
    dict
        Set name -> what `score` returns. Sets of originals alone are no bucket sets and are left out
        (`plain_accuracies` has them); a full test set gives the corrected values of its sets.

    Raises
    ------
    InputError
        If there is no bucket set among the files.
    """
    buckets, plain = _parted(files)
    tests = {_name(path, p): p for path, p in plain.items()}
    results = {}
    for path, predictions in buckets.items():
        name = _name(path, predictions)
        test = tests.get(_test_of(name))
        if test is not None and test.metadata.get("model") != predictions.metadata.get("model"):
            raise input_error(
                "score",
                "path",
                f"hold one model's predictions of {name} and of its full test set",
                got=[p.metadata.get("model", {}).get("model") for p in (predictions, test)],
            )
        results[name] = score(predictions, options, test=test, training=training)
        again = noise_file_of(path)
        if again is not None and PARAPHRASTIC.name in results[name]["measures"]:
            repeats = read_predictions(again)
            if same_run(predictions, repeats):
                results[name]["noise_floor"] = score_noise(predictions, repeats, options.columns, **options.intervals)
            else:  # a run that went on with more rows keeps the repeats of fewer
                results[name]["warnings"].append(f"{again.name} in {again.parent.name}/ is of other rows: {RUN_AGAIN}")
    if not results:
        raise input_error(
            "score",
            "path",
            "hold the predictions of at least one bucket set",
            got=[str(path) for path in files],
            remedy="Sets of originals alone have no paraphrases to be consistent with.",
        )
    return results


def plain_accuracies(files: Sequence[Path] | Mapping[Path, Predictions]) -> dict[str, dict[str, Any]]:
    """Return the accuracy of every set among `files` that is no bucket set: full test sets, development rows.

    Returns
    -------
    dict
        Set name -> ``accuracy`` and ``majority_rate`` (both in [0, 1]; unparsed answers are wrong), ``n_rows``,
        ``n_unparsed``, ``split`` (None where the run did not say it), ``corrects`` (the set whose result has this
        accuracy as its own, None where there is none).
    """
    buckets, plain = _parted(files)
    corrected = {_test_of(_name(path, p)): _name(path, p) for path, p in buckets.items()}
    found = {}
    for path, predictions in plain.items():
        rows = read_rows(predictions, ColumnNames(), need_buckets=False)
        kept, _ = apply_policy(rows, "wrong")
        name = _name(path, predictions)
        found[name] = {
            "accuracy": float(np.mean(kept.predictions == kept.labels)),
            "majority_rate": majority_rate(rows.labels),
            "n_rows": len(rows),
            "n_unparsed": int(rows.unparsed.sum()),
            "split": predictions.metadata.get("split"),
            "corrects": corrected.get(name),
        }
    return found


def _parted(
    files: Sequence[Path] | Mapping[Path, Predictions],
) -> tuple[dict[Path, Predictions], dict[Path, Predictions]]:
    """Return the bucket sets, and the plain sets beside them; files are read where they were not."""
    found = files if isinstance(files, Mapping) else {path: read_predictions(path) for path in files}
    plain = {path: predictions for path, predictions in found.items() if is_plain(predictions)}
    return {path: predictions for path, predictions in found.items() if path not in plain}, plain


def is_plain(predictions: Predictions) -> bool:
    """Say whether a file has originals only: there is nothing that they could be consistent with."""
    roles = predictions.table["role"].unique().to_pylist() if "role" in predictions.table.column_names else []
    return roles == ["original"]


def _test_of(name: str) -> str:
    return f"{name.removesuffix('_automatic')}{_TEST}"


def _name(path: Path, predictions: Predictions) -> str:
    return str(predictions.metadata.get("set", path.stem))
