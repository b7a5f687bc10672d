"""Score all that was opened: each set beside its full test set, its noise floor and what the file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.predictions import read_predictions
from paraconsist.data.rows import read_rows
from paraconsist.data.run_folder import RunFolder
from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.scoring.exclusion import without_buckets
from paraconsist.scoring.noise import RUN_AGAIN, Repeats, same_run, score_noise
from paraconsist.scoring.score import ScoreOptions, SetScores, majority_rate, score_set
from paraconsist.scoring.sources import Opened, Source, open_source, test_set_of
from paraconsist.scoring.unparsed import apply_policy


def score_sources(opened: Opened, options: ScoreOptions, *, training: pa.Table | None = None) -> dict[str, SetScores]:
    """Score every bucket set, each with its own columns.

    Sets of originals alone are left out (`plain_accuracies` has them). `training` is what the model was trained on.
    InputError if there is no bucket set.
    """
    if not opened.sets:
        remedy = "Sets of originals alone have no paraphrases to be consistent with."
        must = "hold the predictions of at least one bucket set"
        got = [str(source.path) for source in opened.plain.values()]
        raise input_error("score", "path", must, got=got, remedy=remedy)
    return {name: _score(source, options, training) for name, source in opened.sets.items()}


def plain_accuracies(opened: Opened) -> dict[str, dict[str, Any]]:
    """Return the accuracy of every set that is no bucket set: full test sets, development rows.

    By set: ``accuracy`` and ``majority_rate`` (both in [0, 1]; unparsed answers are wrong), ``n_rows``, ``n_unparsed``,
    ``split`` (None where the run did not say it), ``corrects`` (the set whose result has this accuracy as its own, None
    where there is none).
    """
    corrected = {test_set_of(name): name for name, source in opened.sets.items() if source.test is not None}
    accuracies = {}
    for name, source in opened.plain.items():
        rows = read_rows(source.predictions, source.columns, need_buckets=False)
        kept, _ = apply_policy(rows, "wrong")
        accuracies[name] = {
            "accuracy": float(np.mean(kept.predictions == kept.labels)),
            "majority_rate": majority_rate(rows.labels[rows.has_gold]),
            "n_rows": len(rows),
            "n_unparsed": int(rows.unparsed.sum()),
            "split": source.predictions.metadata.get("split"),
            "corrects": corrected.get(name),
        }
    return accuracies


def score_run_folder(
    folder: Path, options: ScoreOptions, typed: Mapping[str, Any] = MappingProxyType({})
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Score every predictions file of a run folder, and write ``results.json`` and the accuracies into it.

    Returns the results of `score_sources`, as JSON has them, and those of `plain_accuracies`, which ``run.json`` keeps,
    as it keeps `typed` of the run's call: ``command`` and ``options``; results hold the command too.
    """
    run_folder, opened = RunFolder(folder), open_source(folder, function="run")
    accuracies = plain_accuracies(opened)
    scored = score_sources(opened, options) if opened.sets else {}
    results = to_strict_json({name: scores.to_dict() for name, scores in scored.items()})
    run_folder.update_run({**({"accuracies": accuracies} if accuracies else {}), **typed})
    command = {name: value for name, value in typed.items() if name == "command"}
    run_folder.write_results({name: {**result, **command} for name, result in results.items()})
    return results, accuracies


def _score(source: Source, options: ScoreOptions, training: pa.Table | None) -> SetScores:
    columns = replace(options, columns=source.columns)
    scored = score_set(source.predictions, columns, test=source.test, training=training)
    notes = tuple(source.predictions.metadata.get("notes", ()))
    if source.noise is None or PARAPHRASTIC not in scored.specs:
        return replace(scored, warnings=(*scored.warnings, *notes))
    again = Repeats(read_predictions(source.noise)) if isinstance(source.noise, Path) else source.noise
    if isinstance(source.noise, Path) and not same_run(source.predictions, again.predictions):
        of_others = f"{source.noise.name} in {source.noise.parent.name}/ is of other rows: {RUN_AGAIN}"
        return replace(scored, warnings=(*scored.warnings, *notes, of_others))  # a run that went on with more rows
    if source.excluded:
        kept = without_buckets(again.predictions, source.columns.bucket, source.excluded)
        again = replace(again, predictions=kept)
    floor = score_noise(source.predictions, again, source.columns, **options.intervals)
    return replace(scored, warnings=(*scored.warnings, *notes), noise_floor=floor)
