"""Score the predictions files of a run folder, each set beside its full test set where that was run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.predictions import Predictions, read_predictions
from paraconsist.scoring.score import ScoreOptions, score

__all__ = ["score_folder"]

_TEST = "_test"


def score_folder(files: Sequence[Path], options: ScoreOptions) -> dict[str, Any]:
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
    tests = {_name(path, p): p for path, p in found.items() if _name(path, p).endswith(_TEST)}
    results = {}
    for path, predictions in found.items():
        name = _name(path, predictions)
        if name in tests:
            continue
        test = tests.get(f"{name.removesuffix('_automatic')}{_TEST}")
        results[name] = score(predictions, options, test=test)
    if not results:
        raise input_error(
            "score",
            "path",
            "hold the predictions of at least one bucket set",
            got=[str(path) for path in files],
        )
    return results


def _name(path: Path, predictions: Predictions) -> str:
    return str(predictions.metadata.get("set", path.stem))
