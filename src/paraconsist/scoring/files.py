"""Score the predictions files of a run folder, each set beside its full test set where that was run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.errors import input_error
from paraconsist.predictions import Predictions, read_predictions
from paraconsist.scoring.noise import RUN_AGAIN, noise_file_of, same_run, score_noise
from paraconsist.scoring.score import ScoreOptions, score

__all__ = ["score_folder"]

_TEST = "_test"


def score_folder(files: Sequence[Path], options: ScoreOptions, *, training: pa.Table | None = None) -> dict[str, Any]:
    """Score every bucket set among `files`.

    Returns
    -------
    dict
        Set name -> what `score` returns. A full test set is no bucket set: it gives the corrected values
        of its sets, and is left out itself.

    Raises
    ------
    InputError
        If there is no bucket set among the files.
    """
    found = {path: read_predictions(path) for path in files}
    tests = {_name(path, p): p for path, p in found.items() if _is_test(_name(path, p), p)}
    results = {}
    for path, predictions in found.items():
        name = _name(path, predictions)
        if name in tests:
            continue
        test = tests.get(f"{name.removesuffix('_automatic')}{_TEST}")
        if test is not None and test.metadata.get("model") != predictions.metadata.get("model"):
            raise input_error(
                "score",
                "path",
                f"hold one model's predictions of {name} and of its full test set",
                got=[p.metadata.get("model", {}).get("model") for p in (predictions, test)],
            )
        results[name] = score(predictions, options, test=test, training=training)
        again = noise_file_of(path)
        if again is not None and "paraphrastic_consistency" in results[name]["measures"]:
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
            remedy="A full test set alone has no buckets; its predictions are written all the same.",
        )
    return results


def _is_test(name: str, predictions: Predictions) -> bool:
    """Say whether a file is a full test set: by its name, and because it has originals only."""
    roles = predictions.table["role"].unique().to_pylist() if "role" in predictions.table.column_names else []
    return name.endswith(_TEST) and roles == ["original"]


def _name(path: Path, predictions: Predictions) -> str:
    return str(predictions.metadata.get("set", path.stem))
