"""The noise floor of a run: the same inputs asked again, beside the run itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import mark_unparsed, read_rows
from paraconsist.data.store import content_identity
from paraconsist.data.tables import column_of, is_among, numeric, values_of
from paraconsist.errors import input_error
from paraconsist.measures.noise_floor import noise_floor
from paraconsist.measures.results import Result, parse_signature

RUN_AGAIN = "Run with --noise-floor again."


@dataclass(frozen=True)
class Repeats:
    """Rows of a run that were asked again."""

    predictions: Predictions  # the run's columns, with two more
    example: str = "input_id"  # the column that says which rows of a bucket are the same input
    run: str = "repeat"  # that of which run, from 1
    kind: str = "kind"  # that of ``numeric`` (another batch composition) or ``decoding`` (another sampling seed)


def split_trials(predictions: Predictions, bucket: str, example: str, trial: str) -> tuple[Predictions, Repeats]:
    """Return the first answer to each input and the further ones as decoding repeats.

    Trials that are numbers are in their order, others in that of the rows.

    InputError if a column is missing, no input has two answers, or one has a trial twice.
    """
    table = predictions.table
    if example not in table.column_names:
        remedy = "Or that of wordings as `variant`. Of problems in one wording leave `trial` out to compare repeats."
        raise input_error("score", "example", "name a column of the predictions", got=example, remedy=remedy)
    names = {"bucket": bucket, "example": example, "trial": trial}
    keys = [values_of(table, name, parameter=parameter) for parameter, name in names.items()]
    numbers = numeric(column_of(table, trial, parameter="trial"))
    is_number = pa.types.is_integer(numbers.type) or pa.types.is_floating(numbers.type)
    number: Counter[tuple[Any, Any]] = Counter()
    seen: set[tuple[Any, ...]] = set()
    ranks = [0] * len(numbers)
    for row in numbers.to_numpy().argsort(kind="stable").tolist() if is_number else range(len(numbers)):
        key = tuple(column[row] for column in keys)
        if key in seen:
            remedy = f"{example} {key[1]!r} of {bucket} {key[0]!r} has it twice: one model's answers are wanted."
            raise input_error("score", "trial", "occur once with an example", got=key[2], row=row, remedy=remedy)
        seen.add(key)
        ranks[row] = number[key[:2]]
        number[key[:2]] += 1
    if max(ranks, default=0) == 0:
        remedy = f"Column {example} differs in all rows of a bucket: name another as `example`."
        raise input_error("score", "trial", "be several of at least one example", got=trial, remedy=remedy)
    is_first = np.array(ranks) == 0
    repeats, run, kind = table.filter(pa.array(~is_first)), "\0run", "\0kind"  # names that no column of a file has
    repeats = repeats.append_column(run, pa.array(np.array(ranks)[~is_first]))
    repeats = repeats.append_column(kind, pa.array(["decoding"] * len(repeats)))
    again = Repeats(replace(predictions, table=repeats), example, run, kind)
    return replace(predictions, table=table.filter(pa.array(is_first))), again


def score_noise(
    main: Predictions, again: Repeats, columns: SourceOptions, policy: str = "own_class", **intervals: Any
) -> Result | None:
    """Return the noise floor of a set: flip rates at no change, what wording adds to them, the variance split.

    That is what `paraconsist.measures.noise_floor.noise_floor` returns (`intervals` are its options). Answers that
    could not be read are taken as `policy` says, as for what is said of the run itself: under ``drop_bucket`` the
    buckets count in which it could read all. None if that leaves nothing that was asked again. InputError if a column
    is missing, or the rows are not of this run.
    """
    table, example = again.predictions.table, again.example
    for name in (again.run, again.kind, example):
        if name not in table.column_names:
            raise input_error("score", name, "be a column of the repeats", got=table.column_names)
    if not same_run(main, again.predictions):
        must = "be of the same model and set as the run"
        raise input_error("score", "noise", must, got=[_identity(main), _identity(again.predictions)], remedy=RUN_AGAIN)
    one, two = (read_rows(p, replace(columns, stratum=())) for p in (main, again.predictions))
    runs, kinds, texts = (table[name].to_pylist() for name in (again.run, again.kind, example))
    runs, kinds, texts = [0] * len(one) + runs, ["main"] * len(one) + kinds, main.table[example].to_pylist() + texts
    buckets, labels, answers, unparsed, roles = (
        np.concatenate([getattr(one, name), getattr(two, name)])
        for name in ("buckets", "labels", "predictions", "unparsed", "roles")
    )
    if (groups := one.groups) is not None:  # the repeats' file may lack them
        of_bucket = dict(zip(np.asarray(one.buckets).tolist(), groups.tolist(), strict=True))
        groups = np.array([of_bucket[bucket] for bucket in buckets.tolist()])
    # the same text may stand in two buckets; twice in one bucket of a run it was computed once
    inputs = [f"{bucket}\x00{text}" for bucket, text in zip(buckets.tolist(), texts, strict=True)]
    first = {key: row for row, key in reversed(list(enumerate(zip(runs, inputs, strict=True))))}
    kept = np.array(sorted(first.values()), dtype=np.intp)
    if policy == "drop_bucket":
        kept = kept[~is_among(buckets, np.unique(np.asarray(one.buckets)[one.unparsed]))[kept]]
    if not any(runs[row] != 0 for row in kept):
        return None
    result = noise_floor(
        mark_unparsed(answers, unparsed, labels, each=policy != "own_class")[kept],
        labels[kept] if one.has_gold.all() and two.has_gold.all() else None,
        buckets[kept],
        *([values[row] for row in kept] for values in (inputs, runs, kinds)),
        roles=roles[kept].tolist(),
        groups=None if groups is None else groups[kept],
        **intervals,
    )
    return replace(result, signature=str(parse_signature(result.signature).replace(unparsed=policy)))


def same_run(main: Predictions, again: Predictions) -> bool:
    """Say whether repeats are of the same model and the same rows as the run."""
    return _identity(main) == _identity(again)


def _identity(predictions: Predictions) -> tuple[Any, ...]:
    metadata = predictions.metadata
    return metadata.get("set"), metadata.get("set_fingerprint"), content_identity(metadata.get("model", {}))
