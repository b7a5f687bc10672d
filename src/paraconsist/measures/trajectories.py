"""Repeated runs of agents: do they succeed together and make the same calls, and can a published pass^k be right?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from scipy.special import comb, entr

from paraconsist.errors import check_flag, check_number, check_whole, input_error
from paraconsist.files import canonical_arguments
from paraconsist.measures.array_types import Floats, Integers
from paraconsist.measures.buckets import (
    BucketCounts,
    as_column,
    as_mask,
    bucket_groups,
    check_length,
    check_same_length,
    partition,
)
from paraconsist.measures.prompt_sensitivity import Sums, add_draws
from paraconsist.measures.results import Estimates, Result, documented, interval_options
from paraconsist.measures.rules import Answers

Calls: TypeAlias = tuple[Hashable, ...]
_KINDS = ("failed", "mixed", "succeeded")  # pairs of runs by how many of the two succeeded
_WITH_ARGUMENTS = "_with_arguments"
_ORDER, _DISTRIBUTION, _OUTCOME = "trajectory_consistency", "distribution_consistency", "outcome_consistency"
_DIVERGENCE = "first_divergence"
_MOST_RUNS = 100  # drawn by pass^k


@dataclass(frozen=True, kw_only=True, repr=False)
class TrajectoryConsistencyResult(Result):
    """How alike repeated runs of a task are; means over tasks (buckets), each counting once.

    Attributes
    ----------
    trajectory_consistency : float
        Mean over pairs of different runs of 1 less the edit distance of their calls over the calls of the longer run,
        in [0, 1]; up is good.
    distribution_consistency : float
        1 less the Jensen-Shannon divergence (base 2) of how often the two runs call each tool, in [0, 1]; up is good.
    first_divergence : float
        Number of calls before they part, at least 0; up is good.
    identical_share : float
        Pairs with the same calls in the same order, in [0, 1]; up is good.
    trajectory_consistency_succeeded, trajectory_consistency_failed, trajectory_consistency_mixed : float
        Over the pairs of which both runs succeeded, neither did, one did; over the tasks that have such pairs.
    distribution_consistency_succeeded, distribution_consistency_failed, distribution_consistency_mixed : float
    first_divergence_succeeded, first_divergence_failed, first_divergence_mixed : float
    trajectory_consistency_with_arguments, distribution_consistency_with_arguments : float or None
    first_divergence_with_arguments, identical_share_with_arguments : float or None
        The same where calls count as the same only if their arguments are. None without `arguments`.
    outcome_consistency : float
        2 P_C - 1 over different runs, in [-1, 1]: 1 if all runs of a task end alike, 0 for a coin; up is good.
    outcome_consistency_published : float
        Mean of (2p - 1)^2 with p the share of a task's K runs that succeed, in [0, 1]; a coin gets 1/K.
    pass_hat_n, pass_at_n : dict of str to float
        By the number of runs drawn: chance that all succeed, that one does; over the tasks with as many runs.
    n_buckets, n_examples : int
        Tasks and runs.
    """

    trajectory_consistency: float
    distribution_consistency: float
    first_divergence: float
    identical_share: float
    trajectory_consistency_succeeded: float
    trajectory_consistency_failed: float
    trajectory_consistency_mixed: float
    distribution_consistency_succeeded: float
    distribution_consistency_failed: float
    distribution_consistency_mixed: float
    first_divergence_succeeded: float
    first_divergence_failed: float
    first_divergence_mixed: float
    trajectory_consistency_with_arguments: float | None = None
    distribution_consistency_with_arguments: float | None = None
    first_divergence_with_arguments: float | None = None
    identical_share_with_arguments: float | None = None
    outcome_consistency: float
    outcome_consistency_published: float
    pass_hat_n: dict[str, float]
    pass_at_n: dict[str, float]
    n_buckets: int
    n_examples: int


@documented("calls that are no names, successes other than 0 and 1, groups that differ within a bucket")
def trajectory_consistency(
    calls: Any,
    successes: Any,
    buckets: Any,
    *,
    arguments: Any = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> TrajectoryConsistencyResult:
    r"""How alike repeated runs of an agent on one task are: in their outcome, their calls, and the order of these.

    The reader learns whether an agent that solves a task solves it again, and in the same way. With K runs of a task
    and s a similarity of two of them,

    .. math:: C = \frac{1}{T} \sum_t \binom{K_t}{2}^{-1} \sum_{i<j} s(r_{ti}, r_{tj})

    over the T tasks with two runs: a U-statistic, which compares no run with itself. The HAL harness [1]_ averages (2p
    - 1)^2, which compares runs with themselves too and gives a coin 1/K in place of 0, and takes trajectories of
    successful runs with calls alone: `trajectory_consistency_succeeded` where each of them has calls. Choosing
    successes selects tasks, so the other pairs are shown as well. Two runs without calls are the same; one without
    calls shares nothing with one that has some.

    Parameters
    ----------
    calls : sequence of sequences of str, or of str, shape (n,)
        The tools that each run called, in order; as text, a call a line.
    successes : sequence of bool or int, shape (n,)
        Whether each run succeeded (1) or not (0).
    buckets : sequence of int or str, shape (n,)
        The task of each run.
    arguments : sequence of sequences, or of str, shape (n,), optional
        The arguments of each call of each run, mappings or JSON as text; as text, of a call a line. The order of keys,
        spaces, 1.0 for 1 and arguments that are null do not count. What is not JSON is compared as text.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample in place of tasks, one group a task.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

    Returns
    -------
    TrajectoryConsistencyResult
        Undefined values are nan and named in `warnings`. Entries of mappings have their intervals under
        ``"pass_hat_n/2"``.

    References
    ----------
    .. [1] Rabanser et al. (2026), Towards a Science of AI Agent Reliability, arXiv 2602.16666.
    .. [2] Yao et al. (2025), tau-bench, ICLR: pass^k.
    .. [3] Hyyrö (2003), A bit-vector algorithm for computing Levenshtein and Damerau edit distances.

    Examples
    --------
    Two runs of a task search and book; one of another task books without a search, and fails:

    >>> result = trajectory_consistency(
    ...     [["search", "book"], ["search", "book"], ["search", "book"], ["book"]], [1, 1, 1, 0], ["a", "a", "b", "b"]
    ... )
    >>> result.trajectory_consistency, result.trajectory_consistency_mixed, result.identical_share
    (0.75, 0.5, 0.5)
    >>> result.outcome_consistency, result.pass_hat_n["2"]
    (0.0, 0.5)
    """
    function = "trajectory_consistency"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    values = {"successes": successes, "buckets": buckets} | ({} if groups is None else {"groups": groups})
    columns = {name: as_column(column, function=function, parameter=name) for name, column in values.items()}
    check_same_length(function, columns)
    trajectories = as_trajectories(calls, function)
    check_length(function, "calls", trajectories, len(columns["buckets"]), "buckets")
    right, divided = as_mask(function, "successes", columns["successes"]), partition(columns["buckets"])
    grouping = bucket_groups(function, divided, columns.get("groups"))
    size, correct = (np.bincount(divided.codes[of], minlength=len(divided)) for of in (slice(None), right))
    counts = BucketCounts.from_counts(size, correct)
    estimates = Estimates(options, "bucket" if grouping is None else "group")
    sums = Sums(counts)
    _add_pairs(sums, trajectories, right.astype(np.int64), divided.codes, len(divided))
    if arguments is not None:
        whole, n_unread = _with_arguments(function, trajectories, arguments)
        _add_pairs(sums, whole, right.astype(np.int64), divided.codes, len(divided), _WITH_ARGUMENTS)
        if n_unread:
            of = f"{n_unread:,} of {sum(map(len, trajectories)):,} calls"
            estimates.warn(f"the arguments of {of} are not JSON: they are compared as text")
    unequal = 2.0 * correct * (size - correct) / np.maximum(size * (size - 1), 1)
    sums.mean(_OUTCOME, (1.0 - unequal) * (size > 1), size > 1)  # P_C
    sums.mean(f"{_OUTCOME}_published", (2.0 * correct / size - 1.0) ** 2 * (size > 1), size > 1)
    add_draws(sums, counts, range(1, min(int(size.max()), _MOST_RUNS) + 1))
    found, method = sums.estimate(estimates, (np.arange(len(divided)),), grouping)
    found[_OUTCOME] = 2.0 * found[_OUTCOME] - 1.0
    estimates.confidence_interval[_OUTCOME] = [2.0 * end - 1.0 for end in estimates.confidence_interval[_OUTCOME]]
    estimates.standard_error[_OUTCOME] *= 2.0
    if not any(trajectories):
        estimates.warn("no run has a call, so nothing is known of trajectories")
        nan = float("nan")
        for name in [name for name in found if "/" not in name and not name.startswith(_OUTCOME)]:
            found[name] = nan
            estimates.put(name, (nan, nan), nan, sums.n_units, None)
    if fewer := int((size < size.max()).sum()):
        least = f"the least has {size.min()} of {size.max()}"
        estimates.warn(f"{fewer} of {len(size)} buckets have fewer runs than others ({least}): pass^k leaves them out")
    if size.max() == 1:
        estimates.warn("no bucket has two runs to compare: run each task again")
    estimates.warn_if_few(sums.n_units)
    estimates.note_undefined(found)
    sizes = {"n_buckets": len(counts), "n_examples": len(right)}
    fields = estimates.fields({**found, **sizes}, method, avg="bucket", unparsed="refused")
    return TrajectoryConsistencyResult(**fields)


def _with_arguments(function: str, trajectories: Sequence[Calls], arguments: Any) -> tuple[list[Calls], int]:
    """Return a number for each call, equal for equal names with equal arguments; and how many of these are no JSON."""
    check_length(function, "arguments", arguments, len(trajectories), "calls")
    numbers: dict[Hashable, int] = {}
    whole, n_unread = list[Calls](), 0
    for row, (names, given) in enumerate(zip(trajectories, arguments, strict=True)):
        values = given.splitlines() if isinstance(given, str) else given
        if not isinstance(values, Sequence) or len(values) != len(names):
            must = "be a list with one value for each call in each row"
            raise input_error(function, "arguments", must, got=given, row=row)
        read = [canonical_arguments(value) for value in values]
        n_unread += read.count(None)
        texts = (str(value) if text is None else text for value, text in zip(values, read, strict=True))
        calls = zip(names, texts, strict=True)
        whole.append(tuple(numbers.setdefault(call, len(numbers)) for call in calls))
    return whole, n_unread


def as_trajectories(calls: Any, function: str) -> list[Calls]:
    """Return the calls of each run, or raise an `InputError` that names the first which is neither text nor names."""
    if isinstance(calls, (str, bytes, Mapping)) or not isinstance(calls, Iterable):
        raise input_error(function, "calls", "be a list with the calls of each run", got=calls)
    trajectories = []
    for row, value in enumerate(calls):
        names = value.splitlines() if isinstance(value, str) else value
        if not isinstance(names, Iterable) or isinstance(names, Mapping):
            raise input_error(function, "calls", "hold a list of tools' names in each row", got=value, row=row)
        trajectories.append(tuple(names))
        if wrong := [name for name in trajectories[-1] if not isinstance(name, str)]:
            raise input_error(function, "calls", "hold names of tools as text", got=wrong[0], row=row)
    return trajectories


@lru_cache(maxsize=1 << 15)
def alike(one: Calls, other: Calls) -> tuple[float, float, int]:
    """Return 1 less the normalised edit distance of two runs, 1 less their divergence, and the calls before they part.

    Of two runs without calls all is the same.
    """
    if one == other:
        return 1.0, 1.0, len(one)
    if not one or not other:
        return 0.0, 0.0, 0
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    counts = [Counter(calls) for calls in (one, other)]
    p, q = (np.array([of[name] for name in counts[0] | counts[1]]) / of.total() for of in counts)
    divergence = float((entr((p + q) / 2.0) - (entr(p) + entr(q)) / 2.0).sum()) / np.log(2.0)
    return 1.0 - edit_distance(one, other) / max(len(one), len(other)), min(1.0, max(0.0, 1.0 - divergence)), start


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the least number of insertions, deletions and replacements that make one sequence the other [3]_.

    A column of the table of distances is two integers of as many bits as `one` is long: where the distance grows by 1
    from a row to the next, and where it falls.
    """
    at: dict[Hashable, int] = {}
    for place, name in enumerate(one):
        at[name] = at.get(name, 0) | 1 << place
    every, last = (1 << len(one)) - 1, 1 << len(one) >> 1
    grows, falls, distance = every, 0, len(one) or len(other)
    for name in other if one else ():
        equal = at.get(name, 0)
        across = (((equal & grows) + grows) ^ grows) | equal
        up, down = (falls | ~(across | grows)) & every, grows & across
        distance += bool(up & last) - bool(down & last)
        up, down, below = up << 1 | 1, down << 1, equal | falls
        grows, falls = (down | ~(below | up)) & every, up & below & every
    return distance


def _pairs(buckets: Integers) -> Integers:
    """Return every two different rows of a bucket, shape (n_pairs, 2)."""
    rows: dict[int, list[int]] = {}
    for row, bucket in enumerate(buckets.tolist()):
        rows.setdefault(bucket, []).append(row)
    return np.array([pair for of in rows.values() for pair in combinations(of, 2)], dtype=np.int64).reshape(-1, 2)


def _add_pairs(
    sums: Sums, trajectories: Sequence[Calls], right: Integers, buckets: Integers, n_buckets: int, ending: str = ""
) -> None:
    """Add the means over the pairs of different runs of each bucket; without an `ending`, by success as well."""
    pairs = _pairs(buckets)
    of, kinds = buckets[pairs[:, 0]], right[pairs].sum(axis=1)
    values = [alike(trajectories[i], trajectories[j]) for i, j in pairs.tolist()]
    order, distribution, start = np.array(values, dtype=np.float64).reshape(-1, 3).T

    def mean(name: str, amounts: Floats, most: float, kind: int | None = None) -> None:
        chosen = np.flatnonzero((kinds == kind) | (kind is None))
        n = np.bincount(of[chosen], minlength=n_buckets)
        total = np.bincount(of[chosen], weights=amounts[chosen], minlength=n_buckets)
        sums.mean(f"{name}{ending}", total / np.maximum(n, 1), n > 0, most)

    longest = float(max([1, *map(len, trajectories)]))
    found = (_ORDER, order, 1.0), (_DISTRIBUTION, distribution, 1.0), (_DIVERGENCE, start, longest)
    for name, amounts, most in found:
        mean(name, amounts, most)
        for kind, success in enumerate(() if ending else _KINDS):
            mean(f"{name}_{success}", amounts, most, kind)
    mean("identical_share", (order == 1.0).astype(np.float64), 1.0)


def calls_differ(answers: Answers) -> tuple[Floats, Any]:
    """Return the mean edit distance of each run to the others of its task, and which runs have others."""
    pairs, amounts = _pairs(answers.buckets), np.zeros(len(answers.buckets))
    others, runs = np.bincount(answers.buckets)[answers.buckets] - 1, [tuple(calls) for calls in answers.calls or ()]
    for i, j in pairs.tolist():
        amounts[[i, j]] += 1.0 - alike(runs[i], runs[j])[0]
    return amounts / np.maximum(others, 1), others > 0


def pass_hat_counts(
    pass_hat: Sequence[float], n_tasks: int | None = None, *, decimals: int | None = None, percent: bool = False
) -> list[float] | None:
    """Return how many tasks have 0, 1, ... k successes in k runs by published pass^1 to pass^k; None if impossible.

    The k numbers fix the shares of tasks with each number of successes, so that a row of a leaderboard can be checked
    without its runs: one that cannot come from one set of k runs of each task has an error, or joins several sets.

    Parameters
    ----------
    pass_hat : sequence of float, shape (k,)
        pass^1 to pass^k as printed, in [0, 1], or in [0, 100] with `percent`. InputError for values outside.
    n_tasks : int, optional
        The number of tasks, which makes the counts whole numbers; without it they are shares of the tasks.
    decimals : int, optional
        Of the printed numbers, by default the most that one of them has: each may be off by half a unit of the last.
    percent : bool, default False

    References
    ----------
    .. [1] Yao et al. (2025), tau-bench, ICLR: pass^k is the mean of C(c, k) / C(n, k) over tasks.

    Examples
    --------
    gpt-4o on the 50 airline tasks of tau-bench, and a row whose third and fourth value are too far below the second:

    >>> pass_hat_counts([0.420, 0.273, 0.220, 0.200], n_tasks=50, decimals=3)
    [14.0, 12.0, 10.0, 4.0, 10.0]
    >>> pass_hat_counts([9.79, 7.22, 5.67, 3.09], percent=True) is None
    True
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    function = "pass_hat_counts"
    most = 100.0 if check_flag(function, "percent", percent) else 1.0
    if not isinstance(pass_hat, Iterable):
        raise input_error(function, "pass_hat", "be a sequence of numbers", got=pass_hat)
    listed = [*(np.atleast_1d(pass_hat) if hasattr(pass_hat, "__array__") else pass_hat)]
    values = [check_number(function, "pass_hat", value, 0.0, most) for value in listed]
    if not values or np.isnan(values).any():
        raise input_error(function, "pass_hat", "hold a number for each number of runs", got=values)
    n = 1 if n_tasks is None else check_whole(function, "n_tasks", n_tasks)
    exact = np.asarray(listed) if np.asarray(listed).dtype.kind == "f" else np.array(values)
    printed = max(len(np.format_float_positional(value, trim="-").partition(".")[2]) for value in exact)
    printed = printed if decimals is None else check_whole(function, "decimals", decimals, at_least=0, at_most=15)
    rounded = 0.5 * 10.0**-printed + float(np.spacing(exact.max())) / 2.0  # of 32 bits the latter is not nothing
    k, off = len(values), n * (rounded / most + 1e-9)
    table = comb(np.arange(k + 1), np.arange(1, k + 1)[:, np.newaxis]) / comb(k, np.arange(1, k + 1))[:, np.newaxis]
    target = n * np.array(values) / most
    rules = [LinearConstraint(table, target - off, target + off), LinearConstraint(np.ones((1, k + 1)), n, n)]
    whole = np.full(k + 1, int(n_tasks is not None))
    solved = milp(np.zeros(k + 1), integrality=whole, bounds=Bounds(0.0, n), constraints=rules)
    if solved.x is None:
        return None
    counts: list[float] = ((np.round(solved.x) if n_tasks is not None else solved.x) + 0.0).tolist()
    return counts
