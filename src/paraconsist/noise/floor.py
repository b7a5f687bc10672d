"""The noise floor of repeated answers, and the four-way split of the variance of correctness."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist._validation import (
    as_column,
    check_comparable,
    check_same_length,
    code_jointly,
)
from paraconsist.buckets import one_per_bucket, partition
from paraconsist.errors import input_error
from paraconsist.noise.counting import (
    KINDS,
    accuracy_sums,
    check_once,
    kinds_of_runs,
    pair_means,
    same_input_pairs,
    units_of,
    within_runs,
)
from paraconsist.noise.result import NoiseFloorResult
from paraconsist.rates import interval_options, interval_parts
from paraconsist.signatures import signature
from paraconsist.uncertainty import Intervals, intervals

__all__ = ["noise_floor"]

_FUNCTION = "noise_floor"
_METHODS = ("auto", "bootstrap", "closed_form")
_COMPONENTS = ("problem", "paraphrase", "decoding", "numeric")


def noise_floor(
    predictions: Any,
    references: Any,
    buckets: Any,
    examples: Any,
    repeats: Any,
    kinds: Sequence[str],
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> NoiseFloorResult:
    r"""Flip rates at no change, inconsistency in excess of them, and the four-way split of variance.

    The reader learns how much of what looks like sensitivity to wording is a model that does not answer the same
    question the same way twice.

    With R the correctness, and pairs of answers that share the problem b, the paraphrase j and the decoding d or
    not, the chance delta that one is right and one is wrong gives the nested parts of Var R without bias:

    ==========  =============================================================================
    numeric     delta(same b, j, d) / 2
    decoding    [delta(same b, j; other d) - delta(same b, j, d)] / 2
    paraphrase  [delta(same b; other j) - delta(same b, j; other d)] / 2
    problem     A (1 - A) - delta(same b; other j) / 2
    ==========  =============================================================================

    Parameters
    ----------
    predictions, references, buckets : sequence of int or str, shape (n,)
        One row for each answer: rows that were asked several times occur several times.
    examples : sequence of int or str, shape (n,)
        The input of each row: the same in all its repeats.
    repeats : sequence of int or str, shape (n,)
        The run of each row; an input occurs at most once in a run.
    kinds : sequence of {"main", "numeric", "decoding"}, shape (n,)
        What the row's run differs in from the main run; one kind a run, ``main`` for exactly one.
    roles : sequence of {"original", "paraphrase"}, shape (n,), optional
        Originals are no paraphrases; their repeats count for the noise.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample where buckets are not independent.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.paraphrastic.paraphrastic_consistency`.

    Raises
    ------
    InputError
        For bad columns, no repeat, an input twice in a run, no or two main runs, a run of two kinds, or inputs
        in two buckets.

    Examples
    --------
    Two problems of two paraphrases; one answer in four flips when it is asked again:

    >>> result = noise_floor(
    ...     predictions=[1, 1, 1, 0, 1, 1, 0, 0],
    ...     references=[1] * 8,
    ...     buckets=["a", "a", "b", "b"] * 2,
    ...     examples=["a1", "a2", "b1", "b2"] * 2,
    ...     repeats=[0] * 4 + [1] * 4,
    ...     kinds=["main"] * 4 + ["numeric"] * 4,
    ... )
    >>> result.flip_rate, result.inconsistency, result.excess_inconsistency
    ({'numeric': 0.25}, 0.25, 0.0)
    """
    options = interval_options(_FUNCTION, interval_method, confidence_level, n_resamples, seed, _METHODS)
    given = {"predictions": predictions, "references": references, "buckets": buckets, "examples": examples}
    given |= {"repeats": repeats, "kinds": kinds}
    given |= {name: values for name, values in (("roles", roles), ("groups", groups)) if values is not None}
    columns = {name: as_column(values, function=_FUNCTION, parameter=name) for name, values in given.items()}
    check_same_length(_FUNCTION, columns)
    check_comparable(_FUNCTION, {name: columns[name] for name in ("predictions", "references")})
    (predicted, gold), _ = code_jointly(columns["predictions"], columns["references"])
    divided = partition(columns["buckets"])
    bucket = divided.codes
    one_per_bucket(_FUNCTION, divided, gold, "references", "gold label", columns["references"].tolist)
    inputs = partition(columns["examples"])
    one_per_bucket(_FUNCTION, inputs, bucket, "buckets", "bucket", columns["buckets"].tolist)
    runs = partition(columns["repeats"])
    kind = kinds_of_runs(columns["kinds"].tolist(), runs.codes)
    check_once(inputs.codes, runs.codes, columns["examples"].tolist())
    counted = np.ones(len(gold), dtype=np.bool_)
    if "roles" in columns:
        counted = np.array([role != "original" for role in columns["roles"].tolist()])
        if not counted.any():
            raise input_error(_FUNCTION, "roles", "leave at least one paraphrase", got="originals only")
    right = predicted == gold

    present = [name for name in KINDS[1:] if name in set(kind[runs.codes].tolist())]
    if not present:
        raise input_error(
            _FUNCTION, "kinds", "have a numeric or decoding repeat", got="main only", remedy="Run the inputs again."
        )
    n = len(divided)
    blocks = [np.ones(n), *accuracy_sums(bucket, right & counted, counted, n)]
    blocks += within_runs(bucket[counted], runs.codes[counted], right[counted], n)
    n_pairs = {}
    for name in present:
        pairs = same_input_pairs(inputs.codes, runs.codes, kind, name)
        n_pairs[name] = len(pairs[0])
        blocks += pair_means(bucket, pairs, predicted, n) + pair_means(bucket, pairs, right, n)[1:]
    sums = np.stack(blocks, axis=1)
    grouping = None
    if "groups" in columns:
        codes = partition(columns["groups"]).codes
        grouping = one_per_bucket(_FUNCTION, divided, codes, "groups", "group", columns["groups"].tolist)
    units = units_of(sums, grouping)
    names, estimate, ranges, means = _measures(present)
    found = intervals(
        units,
        estimate,
        ranges,
        means,
        method=options.method,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        rng=np.random.default_rng(options.entropy),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        values = dict(zip(names, estimate(units.total).tolist(), strict=True))
    unit = "bucket" if grouping is None else "group"
    line = signature(
        _FUNCTION,
        avg="bucket",
        kinds="+".join(present),
        unparsed="refused",
        **interval_parts(options, found.method, unit),
    )
    return _result(values, found, names, present, units.n, line, n, len(inputs), len(runs) - 1, n_pairs)


def _measures(present: Sequence[str]) -> tuple[list[str], Any, list[tuple[float, float]], list[bool]]:
    """Return the names of the measures, the function of sums that gives them, their ranges, and which are means."""
    parts = ["problem", "paraphrase", *(name for name in ("decoding", "numeric") if name in present)]
    names = [
        *(f"flip_rate/{name}" for name in present),
        *(f"correctness_flip_rate/{name}" for name in present),
        "inconsistency",
        "excess_inconsistency",
        *(f"variance/{name}" for name in parts),
    ]

    def estimate(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        _, has, theta, theta_squared, with_pair, differ, *rest = np.moveaxis(sums, -1, 0)
        flips = [rest[3 * i + 1] / rest[3 * i] for i in range(len(present))]
        right_flips = dict(zip(present, (rest[3 * i + 2] / rest[3 * i] for i in range(len(present))), strict=True))
        between = differ / with_pair
        accuracy = theta / has
        square = (theta**2 - theta_squared) / (has**2 - has)  # without bias for the squared mean
        finest = [right_flips[name] for name in ("decoding", "numeric") if name in right_flips]
        deltas = [between, *finest]
        split = [accuracy - square - between / 2.0]
        split += [(a - b) / 2.0 for a, b in pairwise(deltas)] + [deltas[-1] / 2.0]
        values = [*flips, *right_flips.values(), between, between - finest[0], *split]
        stacked: npt.NDArray[Any] = np.stack(np.broadcast_arrays(*values), axis=-1)
        return stacked

    ranges = [(0.0, 1.0)] * (2 * len(present) + 1) + [(-1.0, 1.0)] + [(-0.5, 0.5)] * len(parts)
    means = [True] * (2 * len(present) + 2) + [False] + [True] * (len(parts) - 1)
    return names, estimate, ranges, means


def _result(
    values: dict[str, float],
    found: Intervals,
    names: list[str],
    present: list[str],
    n_units: int,
    line: str,
    n_buckets: int,
    n_examples: int,
    n_repeats: int,
    n_pairs: dict[str, int],
) -> NoiseFloorResult:
    def table(prefix: str) -> dict[str, float]:
        return {name.partition("/")[2]: value for name, value in values.items() if name.startswith(f"{prefix}/")}

    variance = table("variance")
    total = sum(variance.values())
    warnings = []
    for kind in KINDS[1:]:
        if kind not in present:
            coarser = "paraphrase" if kind == "decoding" else present[-1]
            warnings.append(f"no {kind} repeats: that part of the variance is in {coarser}")
    flat = [name for name, at_boundary in zip(names, found.at_boundary, strict=True) if at_boundary]
    if flat:
        warnings.append(f"no spread between units, so the interval is a Clopper-Pearson type bound: {', '.join(flat)}")
    undefined = [name for name, value in values.items() if np.isnan(value)]
    if undefined:
        warnings.append(f"undefined, so nan: {', '.join(undefined)}")
    ends = zip(found.low.tolist(), found.high.tolist(), strict=True)
    interval = {name: list(pair) for name, pair in zip(names, ends, strict=True)}
    low, high = interval["excess_inconsistency"]
    interval["consistency_in_excess"] = [1.0 - high, 1.0 - low]
    errors = dict(zip(names, found.standard_error.tolist(), strict=True))
    errors["consistency_in_excess"] = errors["excess_inconsistency"]
    return NoiseFloorResult(
        flip_rate=table("flip_rate"),
        correctness_flip_rate=table("correctness_flip_rate"),
        inconsistency=values["inconsistency"],
        excess_inconsistency=values["excess_inconsistency"],
        consistency_in_excess=1.0 - values["excess_inconsistency"],
        variance=variance,
        share={name: value / total if total > 0.0 else float("nan") for name, value in variance.items()},
        n_buckets=n_buckets,
        n_examples=n_examples,
        n_repeats=n_repeats,
        n_pairs=n_pairs,
        confidence_interval=interval,
        standard_error=errors,
        n_clusters=n_units,
        signature=line,
        warnings=tuple(warnings),
    )
