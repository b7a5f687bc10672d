"""The noise floor of repeated answers, and the four-way split of the variance of correctness.

Repeated answers to sums per bucket: accuracy, pairs of paraphrases, pairs of answers to one input.

The result of `paraconsist.measures.noise_floor.noise_floor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._estimates import interval_options, interval_parts
from paraconsist.measures._validation import Integers, as_column, check_comparable, check_same_length, code_jointly
from paraconsist.measures.buckets import one_per_bucket, partition
from paraconsist.measures.intervals import Intervals, intervals
from paraconsist.measures.resampling import Units, group_units
from paraconsist.measures.results import Result
from paraconsist.measures.signatures import signature

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
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

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


Floats = npt.NDArray[np.float64]

KINDS = ("main", "numeric", "decoding")
"""What a run differs in from the main one: nothing, the batch composition alone, the sampling seed."""


def kinds_of_runs(listed: list[Any], runs: Integers) -> npt.NDArray[np.str_]:
    """Return each run's kind."""
    for row, value in enumerate(listed):
        if value not in KINDS:
            raise input_error(_FUNCTION, "kinds", f"be one of {', '.join(KINDS)}", got=value, row=row)
    column = np.array(listed)
    kind = np.empty(int(runs.max()) + 1, dtype=column.dtype)
    kind[runs] = column
    mixed = kind[runs] != column
    if mixed.any():
        row = int(mixed.argmax())
        raise input_error(_FUNCTION, "kinds", "be the same in all rows of a run", got=listed[row], row=row)
    n_main = int(np.count_nonzero(kind == "main"))
    if n_main != 1:
        raise input_error(_FUNCTION, "kinds", "be 'main' for exactly one run", got=f"{n_main} runs")
    return kind


def check_once(inputs: Integers, runs: Integers, listed: list[Any]) -> None:
    """Raise if an input occurs twice in a run."""
    code = inputs.astype(np.int64) * (int(runs.max()) + 1) + runs
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[int((counts > 1).argmax())])
        raise input_error(_FUNCTION, "examples", "occur once in a run", got=listed[row], row=row)


def accuracy_sums(bucket: Integers, right: Any, counted: Any, n: int) -> list[Floats]:
    """Return whether a bucket has an answer to a paraphrase, the share of right ones, and its square."""
    size = np.bincount(bucket[counted], minlength=n)
    share = np.bincount(bucket[right], minlength=n) / np.maximum(size, 1)
    return [(size > 0).astype(np.float64), share, share**2]


def within_runs(bucket: Integers, runs: Integers, right: Any, n: int) -> list[Floats]:
    """Return whether a bucket has two paraphrases in a run, and the chance that they differ in correctness."""
    cell = bucket.astype(np.int64) * (int(runs.max()) + 1) + runs
    cells, code = np.unique(cell, return_inverse=True)
    k = np.bincount(code).astype(np.float64)
    c = np.bincount(code, weights=right)
    owner = cells // (int(runs.max()) + 1)
    pairs = np.bincount(owner, weights=k * (k - 1.0) / 2.0, minlength=n)
    differ = np.bincount(owner, weights=c * (k - c), minlength=n)
    return [(pairs > 0).astype(np.float64), differ / np.maximum(pairs, 1.0)]


def same_input_pairs(inputs: Integers, runs: Integers, kind: Any, name: str) -> tuple[Integers, Integers]:
    """Return pairs of rows with one input from two runs that differ in `name`.

    Numeric: the main run and its numeric repeats, among one another. Decoding: a decoding repeat and any other run.
    """
    order = np.lexsort([runs, inputs])
    first, second = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    sorted_inputs = inputs[order]
    for step in range(1, int(np.bincount(inputs).max())):
        same = sorted_inputs[step:] == sorted_inputs[:-step]
        one, two = order[:-step][same], order[step:][same]
        decoding = (kind[runs[one]] == "decoding") | (kind[runs[two]] == "decoding")
        wanted = decoding if name == "decoding" else ~decoding
        first.append(one[wanted])
        second.append(two[wanted])
    return np.concatenate(first), np.concatenate(second)


def pair_means(bucket: Integers, pairs: tuple[Integers, Integers], values: Any, n: int) -> list[Floats]:
    """Return whether a bucket has a pair, and the share of its pairs that differ."""
    one, two = pairs
    count = np.bincount(bucket[one], minlength=n)
    differ = np.bincount(bucket[one], weights=values[one] != values[two], minlength=n)
    return [(count > 0).astype(np.float64), differ / np.maximum(count, 1)]


def units_of(sums: Floats, groups: Integers | None) -> Units:
    """Return buckets, or their groups, as resampling units."""
    rows, code, counts = np.unique(sums, axis=0, return_inverse=True, return_counts=True)
    if groups is None:
        return Units.unstratified(rows, counts)
    return group_units(rows, code.ravel(), groups)


@dataclass(frozen=True)
class NoiseFloorResult(Result):
    """How much answers move at no change, and how much more they move under paraphrase.

    Attributes
    ----------
    flip_rate : dict of str to float
        For ``numeric`` and ``decoding`` repeats: share of pairs of answers to the very same input that are
        different labels, each bucket counting once; in [0, 1], down is good.
    correctness_flip_rate : dict of str to float
        The same, counting only pairs of which one is right and one is wrong.
    inconsistency : float
        Chance that two different paraphrases, in one run, are one right and one wrong: 1 - P_C (unbiased).
    excess_inconsistency : float
        `inconsistency` less the largest of `correctness_flip_rate`: what paraphrasing adds to the noise.
    consistency_in_excess : float
        1 - `excess_inconsistency`: P_C with the noise taken off.
    variance : dict of str to float
        Parts of the variance of correctness: ``problem``, ``paraphrase``, ``decoding``, ``numeric``. Kinds that
        were not repeated have no part of their own; it is in the next coarser one. Unbiased, so a part that is
        next to nothing may come out a little below 0.
    share : dict of str to float
        The parts over their sum, which is A (1 - A).
    n_buckets, n_examples, n_repeats : int
        Buckets, distinct inputs, and runs beside the main one.
    n_pairs : dict of str to int
        Pairs of answers to the same input, by kind.
    confidence_interval, standard_error : dict of str
        By name, as ``flip_rate/numeric``, ``variance/problem``, ``excess_inconsistency``; over buckets or groups.
    n_clusters : int
    signature : str
    warnings : tuple of str
    """

    flip_rate: dict[str, float]
    correctness_flip_rate: dict[str, float]
    inconsistency: float
    excess_inconsistency: float
    consistency_in_excess: float
    variance: dict[str, float]
    share: dict[str, float]
    n_buckets: int
    n_examples: int
    n_repeats: int
    n_pairs: dict[str, int]
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: int
    signature: str
    warnings: tuple[str, ...]
