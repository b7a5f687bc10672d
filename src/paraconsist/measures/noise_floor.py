"""The noise floor of repeated answers, and the four-way split of the variance of correctness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures.array_types import Floats, Integers
from paraconsist.measures.buckets import (
    Column,
    as_choices,
    as_mask,
    bucket_groups,
    check_rows,
    code_columns,
    one_per_bucket,
    partition,
    partition_integers,
)
from paraconsist.measures.intervals import Estimate, group_units
from paraconsist.measures.results import Estimates, Result, documented, interval_options

_FUNCTION = "noise_floor"

KINDS = ("main", "numeric", "decoding")
"""The difference of a run from the main one: none, the batch composition alone, the sampling seed."""


@dataclass(frozen=True, repr=False)
class NoiseFloorResult(Result):
    """How much answers change between repeats of one input, and how much more under paraphrase.

    Attributes
    ----------
    flip_rate : dict of str to float
        For ``numeric`` and ``decoding`` repeats: share of pairs of answers to the very same paraphrase that are
        different labels, each bucket counting once; in [0, 1], down is good.
    wording_change : float
        Chance that two different wordings, originals among them, get different labels, of the runs that asked all of a
        bucket's wordings.
    excess_wording_change : float
        `wording_change` less the largest of `flip_rate`: the change that is the wording's own.
    correctness_flip_rate : dict of str to float
        As `flip_rate`, counting only pairs of which one is right and one is wrong. Without references it is empty, as
        `variance` and `share` are, and the three that follow are nan.
    inconsistency : float
        Chance that two different paraphrases are one right and one wrong: 1 - P_C (unbiased), of the runs that
        asked all of a bucket's paraphrases.
    excess_inconsistency : float
        `inconsistency` less the largest of `correctness_flip_rate`: what paraphrasing adds to the noise. Two
        paraphrases in one run differ by all of its noise, so that the largest rate measured is the least to be
        taken off.
    consistency_in_excess : float
        1 - `excess_inconsistency`: P_C with the noise taken off.
    variance : dict of str to float
        Parts of the variance of correctness: ``problem``, ``paraphrase``, ``decoding``, ``numeric``. Kinds that
        were not repeated have no part of their own; it is in the next coarser one, and that of paraphrases in
        ``problem`` where every bucket has one. Unbiased, so a part that is next to nothing may come out a little
        below 0; where all was asked equally often, the estimates of a nested analysis of variance.
    share : dict of str to float
        The parts over their sum, which is A (1 - A).
    n_buckets, n_examples, n_repeats : int
        Buckets, distinct inputs, and runs in addition to the main one.
    n_pairs : dict of str to int
        Pairs of answers to the same input, by kind.
    confidence_interval, standard_error : dict of str
        By name, as ``flip_rate/numeric``, ``variance/problem``, ``excess_inconsistency``; over buckets or groups.
    n_clusters : int
    """

    flip_rate: dict[str, float]
    wording_change: float
    excess_wording_change: float
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


@documented("no repeat, an input twice in a run, no or two main runs, a run of two kinds, inputs in two buckets")
def noise_floor(
    predictions: Any,
    references: Any,
    buckets: Any,
    examples: Any,
    repeats: Any,
    kinds: Sequence[str] | None = None,
    *,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> NoiseFloorResult:
    r"""Flip rates of repeated inputs, inconsistency in excess of them, and the four-way split of variance.

    The reader learns how much of the apparent sensitivity to wording comes from a model that does not answer the
    same question the same way twice.

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
        One row for each answer: inputs with several answers occur several times. Without references (None) it is said
        how often answers change, and not how often they turn wrong.
    examples : sequence of int or str, shape (n,)
        The input of each row: the same in all its repeats.
    repeats : sequence of int or str, shape (n,)
        The run of each row; an input occurs at most once in a run.
    kinds : sequence of {"main", "numeric", "decoding"}, shape (n,), optional
        What the row's run differs in from the main run; one kind a run, ``main`` for exactly one. By default the
        first run is the main one, and the others are decoding repeats.
    roles : sequence of {"original", "paraphrase"}, shape (n,), optional
        Originals are not paraphrases; their repeats replace those of paraphrases only if none of these was repeated.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample where buckets are not independent.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

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
    options = interval_options(_FUNCTION, interval_method, confidence_level, n_resamples, seed)
    labels = {"predictions": predictions, **({} if references is None else {"references": references})}
    others = {"buckets": buckets, "examples": examples, "repeats": repeats}
    coded = code_columns(_FUNCTION, labels, others, kinds=kinds, roles=roles, groups=groups)
    columns, predicted = coded.columns, coded.codes["predictions"]
    divided = partition(columns["buckets"])
    n, bucket = len(divided), divided.codes
    if (gold := coded.codes.get("references")) is not None:
        one_per_bucket(_FUNCTION, divided, gold, "references", "gold label", columns["references"])
    inputs, runs = partition(columns["examples"]), partition(columns["repeats"])
    one_per_bucket(_FUNCTION, inputs, bucket, "buckets", "bucket", columns["buckets"])
    if kinds is None:
        kind = np.where(np.arange(len(runs)) == runs.codes[0], "main", "decoding").astype(object)
    else:
        kind = _kinds_of_runs(columns["kinds"], runs.codes)
    _check_once(_FUNCTION, "examples", "occur once in a run", inputs.codes, runs.codes, columns["examples"])
    counted = np.ones(len(predicted), dtype=np.bool_)
    if "roles" in columns:
        counted = np.array([role != "original" for role in columns["roles"].tolist()])
        if not counted.any():
            raise input_error(_FUNCTION, "roles", "leave at least one paraphrase", got="originals only")
    right = counted if gold is None else predicted == gold

    present = [name for name in KINDS[1:] if name in set(kind[runs.codes].tolist())]
    if not present:
        must, remedy = "have a numeric or decoding repeat", "Run the inputs again."
        raise input_error(_FUNCTION, "kinds", must, got="main only", remedy=remedy)
    estimates = Estimates(options, "bucket" if columns.get("groups") is None else "group")
    rows = np.stack([bucket, inputs.codes, runs.codes])
    k, share, differ = _of_wordings(rows[:, counted], right[counted].astype(np.intp), n)
    blocks = [np.ones(n), (k > 0.0).astype(np.float64), share, share**2, *differ, *_of_wordings(rows, predicted, n)[2]]
    several = bool(blocks[4].any())
    n_pairs = {}
    for name in present:
        pairs = _same_input_pairs(inputs.codes, runs.codes, kind, name)
        of_paraphrases = counted[pairs[0]] & counted[pairs[1]]
        if of_paraphrases.any():
            pairs = pairs[0][of_paraphrases], pairs[1][of_paraphrases]
        else:
            estimates.warn(f"no paraphrase has {name} repeats: the flips of the originals are used in their place")
        n_pairs[name] = len(pairs[0])
        blocks += _pair_means(bucket, pairs, predicted, n) + _pair_means(bucket, pairs, right, n)[1:]
    grouping = bucket_groups(_FUNCTION, divided, columns.get("groups"))
    kinds_of_buckets, pattern = np.unique(np.stack(blocks, axis=1), axis=0, return_inverse=True)
    units = group_units(kinds_of_buckets, pattern.ravel(), grouping)

    parts = ["problem", *["paraphrase"] * several, *(name for name in ("decoding", "numeric") if name in present)]
    if not several and gold is not None:
        estimates.warn("no bucket has two paraphrases: their part of the variance is counted under problem")
    for name in KINDS[1:] if gold is not None else ():
        if name not in present:
            coarser = parts[-1] if name == "numeric" else parts[-2]
            estimates.warn(f"no {name} repeats: their part of the variance is counted under {coarser}")
    names, estimate, ranges, are_means = _measures(present, parts, None if gold is not None else len(present) + 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = dict(zip(names, estimate(units.total).tolist(), strict=True))
    of_flips = [8 + 3 * i for i in range(len(present))]
    over = [*of_flips, 6, 6, *of_flips, 4, 4, *[0] * len(parts)][: len(names)]
    scales = _scales(values, ranges, units.total)
    # differences of rates may rest on few problems: without the degrees of freedom of these, intervals held 87 %
    bounds = estimates.intervals(units, estimate, ranges, are_means, scales=scales, over=over, skewed=True)
    estimates.add(names, bounds, units.n)
    excess = values.get("excess_inconsistency", float("nan"))
    if gold is not None:
        low, high = estimates.confidence_interval["excess_inconsistency"]
        error = estimates.standard_error["excess_inconsistency"]
        estimates.put("consistency_in_excess", (1.0 - high, 1.0 - low), error, units.n, None)
    estimates.note_undefined(values)
    absent = {"correctness_flip_rate": {}, "variance": {}, "inconsistency": excess, "excess_inconsistency": excess}
    kinds_of_runs = "+".join(present)
    fields = estimates.fields(absent | values, bounds.method, avg="bucket", kinds=kinds_of_runs, unparsed="refused")
    total = sum(fields["variance"].values())
    return NoiseFloorResult(
        consistency_in_excess=1.0 - excess,
        share={name: value / total if total > 0.0 else float("nan") for name, value in fields["variance"].items()},
        n_buckets=n,
        n_examples=len(inputs),
        n_repeats=len(runs) - 1,
        n_pairs=n_pairs,
        **fields | {"n_clusters": units.n},
    )


@documented("values that are not 0 or 1, no wording with two trials, a trial twice")
def trial_noise(
    correct: Any, buckets: Any, wordings: Any, trials: Any, *, groups: Any = None, **intervals: Any
) -> NoiseFloorResult:
    """Wording against trials: flip rates and variance split of answers that were sampled several times.

    The reader learns whether a model that is sometimes right depends on the wording or on the draw.

    Parameters
    ----------
    correct : sequence of 0 and 1, shape (n,)
        Whether the answer is right; a row for each trial of each wording.
    buckets : sequence of int or str, shape (n,)
        The problem.
    wordings : sequence of int or str, shape (n,)
        Which wording of the problem was asked. Buckets may use the same names.
    trials : sequence of int or str, shape (n,)
        Which trial it is; a wording has each at most once.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample where buckets are not independent.
    **intervals
        interval_method, confidence_level, n_resamples, seed.

    Returns
    -------
    NoiseFloorResult
        Of `noise_floor`, with trials as decoding repeats: ``variance`` has ``problem``, ``paraphrase`` (only where a
        bucket has two wordings) and ``decoding``.

    Examples
    --------
    A problem that one wording solves, one that is solved half of the time:

    >>> result = trial_noise([1, 1, 0, 0, 1, 0, 0, 1], ["a"] * 4 + ["b"] * 4, [1, 1, 2, 2] * 2, [1, 2] * 4)
    >>> result.flip_rate, result.inconsistency
    ({'decoding': 0.5}, 0.75)
    """
    function = "trial_noise"
    names = {"buckets": buckets, "wordings": wordings, "trials": trials}
    columns = code_columns(function, {"correct": correct}, names).columns
    right = as_mask(function, "correct", columns["correct"])
    bucket, wording, trial = (partition(columns[name]) for name in names)
    inputs = bucket.codes.astype(np.int64) * len(wording) + wording.codes
    _check_once(function, "trials", "occur once with a wording", inputs, trial.codes, columns["trials"])
    if np.bincount(partition_integers(inputs).codes).max() < 2:
        raise input_error(function, "trials", "be several of at least one wording", got="one of each")
    return noise_floor(right, np.ones_like(right), buckets, inputs, trials, groups=groups, **intervals)


def _measures(
    present: Sequence[str], parts: Sequence[str], n_wanted: int | None
) -> tuple[list[str], Estimate, list[tuple[float, float]], list[bool]]:
    """Return the first measures' names, the function of sums that gives them, their ranges, and which are means."""
    names = [
        *(f"flip_rate/{name}" for name in present),
        "wording_change",
        "excess_wording_change",
        *(f"correctness_flip_rate/{name}" for name in present),
        "inconsistency",
        "excess_inconsistency",
        *(f"variance/{name}" for name in parts),
    ]

    def estimate(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        _, has, theta, theta_squared, with_pair, differ, with_wordings, change, *rest = np.moveaxis(sums, -1, 0)
        flips = [rest[3 * i + 1] / rest[3 * i] for i in range(len(present))]
        right_flips = dict(zip(present, (rest[3 * i + 2] / rest[3 * i] for i in range(len(present))), strict=True))
        changed, between = change / with_wordings, differ / with_pair
        accuracy = theta / has
        square = (theta**2 - theta_squared) / (has**2 - has)  # without bias for the squared mean
        finest = [right_flips[name] for name in parts if name in right_flips]
        deltas = [*[between] * ("paraphrase" in parts), *finest]
        split = [accuracy - square - deltas[0] / 2.0]
        split += [(a - b) / 2.0 for a, b in pairwise(deltas)] + [deltas[-1] / 2.0]
        values = [*flips, changed, changed - _largest(flips)]
        values += [*right_flips.values(), between, between - _largest(finest), *split]
        return np.asarray(np.stack(np.broadcast_arrays(*values[:n_wanted]), axis=-1))

    n = len(present)
    # the finest part is half a flip rate, so that its interval is half of that one's
    ranges = [*[(0.0, 1.0)] * (n + 1), (-1.0, 1.0)] * 2 + [(-0.5, 0.5)] * (len(parts) - 1) + [(0.0, 0.5)]
    means = [True] * (2 * n + 4) + [False] + [True] * (len(parts) - 1)
    return names[:n_wanted], estimate, ranges[:n_wanted], means[:n_wanted]


def _largest(rates: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the largest rate, by the real parts and with its derivative, unlike `numpy.maximum`."""
    return reduce(lambda one, other: np.where(other.real > one.real, other, one), rates)


def _scales(
    values: Mapping[str, float], ranges: Sequence[tuple[float, float]], total: Floats
) -> list[tuple[float, float]]:
    """Return the ends of the logit scales: the problem's part is what is left of the variance between buckets.

    That variance cannot be below 0, but the part can, by all that was taken off.
    """
    _, has, theta, squares = total[:4]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (squares - theta**2 / has) / (has - 1.0)
    taken_off = between - values.get("variance/problem", float("inf"))
    scales = dict(zip(values, ranges, strict=True))
    if taken_off > 0.0:
        scales["variance/problem"] = (-taken_off, 0.25)
    return list(scales.values())


def _kinds_of_runs(kinds: Column, runs: Integers) -> npt.NDArray[np.object_]:
    column = as_choices(_FUNCTION, "kinds", kinds, KINDS)
    kind = np.empty(int(runs.max()) + 1, dtype=object)
    kind[runs] = column
    check_rows(_FUNCTION, "kinds", "be the same in all rows of a run", column, kind[runs] != column)
    n_main = int(np.count_nonzero(kind == "main"))
    if n_main != 1:
        raise input_error(_FUNCTION, "kinds", "be 'main' for exactly one run", got=f"{n_main} runs")
    return kind


def _check_once(function: str, parameter: str, must: str, inputs: Integers, runs: Integers, column: Column) -> None:
    """Raise if an input occurs twice in a run."""
    code = inputs.astype(np.int64) * (int(runs.max()) + 1) + runs
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[int((counts > 1).argmax())])
        raise input_error(function, parameter, must, got=column.tolist()[row], row=row)


def _of_wordings(rows: Integers, answers: Integers, n: int) -> tuple[Floats, Floats, list[Floats]]:
    """Return of each bucket, in the runs that asked all of its wordings (all runs if none did):

    the number of wordings; their mean `answers`, with numbers for these; and whether there are two, and the chance that
    two get different answers. `rows` are those of buckets, inputs and runs.
    """
    bucket, inputs, runs = rows.astype(np.int64)
    n_runs, n_answers = int(runs.max()) + 1, int(answers.max()) + 1
    owner = np.zeros(int(inputs.max()) + 1, dtype=np.int64)
    owner[inputs] = bucket
    k = np.bincount(owner[np.unique(inputs)], minlength=n).astype(np.float64)
    cells, cell, sizes = np.unique(bucket * n_runs + runs, return_inverse=True, return_counts=True)
    is_whole = sizes == k[cells // n_runs]
    has_whole = np.bincount(cells[is_whole] // n_runs, minlength=n) > 0
    used = is_whole[cell] | ~has_whole[bucket]
    given, counts = np.unique(inputs[used] * n_answers + answers[used], return_counts=True)
    wording, answer = np.divmod(given, n_answers)
    share, of = counts / np.bincount(inputs[used])[wording], owner[wording]
    pooled, place = np.unique(of * n_answers + answer, return_inverse=True)
    pairs = np.bincount(pooled // n_answers, weights=np.bincount(place, weights=share) ** 2, minlength=n)
    same = (pairs - np.bincount(of, weights=share**2, minlength=n)) / np.maximum(k * (k - 1.0), 1.0)
    mean = np.bincount(of, weights=share * answer, minlength=n) / np.maximum(k, 1.0)
    return k, mean, [(k > 1.0).astype(np.float64), np.where(k > 1.0, np.clip(1.0 - same, 0.0, 1.0), 0.0)]


def _same_input_pairs(inputs: Integers, runs: Integers, kind: Any, name: str) -> tuple[Integers, Integers]:
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


def _pair_means(bucket: Integers, pairs: tuple[Integers, Integers], values: Any, n: int) -> list[Floats]:
    """Return whether a bucket has a pair, and the share of its pairs that differ."""
    one, two = pairs
    count = np.bincount(bucket[one], minlength=n)
    differ = np.bincount(bucket[one], weights=values[one] != values[two], minlength=n)
    return [(count > 0).astype(np.float64), differ / np.maximum(count, 1)]
