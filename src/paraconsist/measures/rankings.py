"""Rankings under each wording: is the same system best however a question, or the prompt of its judge, is worded?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from paraconsist.errors import check_fraction, input_error, plural
from paraconsist.measures.array_types import Floats
from paraconsist.measures.buckets import (
    Partition,
    as_column,
    as_floats,
    as_generator,
    check_length,
    check_rows,
    partition,
)
from paraconsist.measures.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    boundary_interval,
    korn_graubard_interval,
    on_logit_scale,
)
from paraconsist.measures.results import Record, Result, documented, signature

_FUNCTION = "rankings"
_N_DRAWS, _N_SPLITS = 1_000, 100
_ENOUGH = 0.95
_MOST_ROWS = 10**9
_NUMBERS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)


@dataclass(frozen=True)
class OfWordings(Record):
    """What the mean over n wordings says of the mean over all, on average over random draws of n."""

    n: int
    same_best: float  # how often the best of all is the best, in [0, 1]; nan where several are the best of all
    tau: float  # Kendall's tau-b of both rankings, in [-1, 1]


@dataclass(frozen=True, repr=False)
class RankingsResult(Result):
    """How much the ranking of systems depends on the wording.

    Attributes
    ----------
    mean : dict of str to float
        Of each system over all wordings, best first.
    best : dict of str to float
        Share of the wordings under which a system is the best one, in [0, 1]; ties share it.
    tau : float
        Kendall's tau-b of the rankings under two wordings, the mean over all pairs of wordings; in [-1, 1], up is good.
    tau_same, tau_other : float
        The same of two random halves of the problems, under one wording and under two. If the first is no higher, it is
        the problems that rankings depend on, and not the wordings. nan with fewer than two problems.
    by_number : tuple of OfWordings
    n_enough : int or None
        Wordings with which, and with more, the best of all is the best in 95 % of the draws; None if only all will do.
    n_systems, n_wordings, n_problems : int
    confidence_interval : dict of str
        Of ``tau``, over wordings; nan with fewer than ten.
    """

    mean: dict[str, float]
    best: dict[str, float]
    tau: float
    tau_same: float
    tau_other: float
    by_number: tuple[OfWordings, ...]
    n_enough: int | None
    n_systems: int
    n_wordings: int
    n_problems: int


@documented("a system without an answer under a wording, no problem that all systems answered under all wordings")
def rankings(
    outcomes: Any,
    systems: Any,
    wordings: Any,
    problems: Any = None,
    *,
    confidence_level: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> RankingsResult:
    r"""Rank systems under each wording: how alike the rankings are, which is best, and how many wordings are enough.

    The reader learns whether "A is better than B" is about A and B or about one way to ask. A system is what is ranked:
    a model that answers, or, with a judge's verdicts as outcomes and its prompts as wordings, one that is judged.

    Parameters
    ----------
    outcomes : sequence of number, shape (n,)
        Up is good: 1 and 0 for right and wrong, scores, a judge's grades, or means of many.
    systems, wordings : sequence of int or str, shape (n,)
        All systems have outcomes under all wordings.
    problems : sequence of int or str, shape (n,), optional
        What was asked or judged; each counts once. Those that are not there for all systems and wordings are left out.
    confidence_level : float, default 0.95
    seed : int or numpy.random.Generator, default 0
        Of the draws of wordings and the halves of problems.

    References
    ----------
    Mizrahi et al. (2024), "State of What Art? A Call for Multi-Prompt LLM Evaluation", TACL 12, 933-949.

    Examples
    --------
    >>> result = rankings([0.9, 0.5, 0.8, 0.7, 0.6, 0.7], ["a", "b"] * 3, ["x", "x", "y", "y", "z", "z"])
    >>> result.best["a"], result.tau  # best under two of three; one pair of wordings agrees
    (0.6666666666666666, -0.3333333333333333)
    """
    level, rng = check_fraction(_FUNCTION, "confidence_level", confidence_level), as_generator(_FUNCTION, "seed", seed)
    values = as_floats(outcomes, _FUNCTION, "outcomes", "be numbers")
    if values.ndim != 1 or not len(values):
        raise input_error(_FUNCTION, "outcomes", "be a list of numbers", got=values.tolist())
    check_rows(_FUNCTION, "outcomes", "be finite numbers", values, ~np.isfinite(values))
    names = {"systems": systems, "wordings": wordings} | ({} if problems is None else {"problems": problems})
    for name, column in names.items():
        check_length(_FUNCTION, name, column, len(values), "outcomes")
    columns = {n: np.array(as_column(c, function=_FUNCTION, parameter=n).tolist(), str) for n, c in names.items()}
    rows = np.lexsort([values, *columns.values()])  # draws depend neither on the order of the rows nor on 1 or "1"
    parts = {name: partition(column[rows]) for name, column in columns.items()}
    exponent = np.frexp(np.abs(values).max())[1]  # ties are by what is next to nothing beside the largest outcome
    cells = _cells(np.ldexp(values[rows], -exponent), parts)
    n_left_out = (len(parts["problems"]) if "problems" in parts else 1) - cells.shape[2]
    means = cells.mean(axis=2)  # (wordings, systems)
    total, order = means.mean(axis=0), np.argsort(-means.mean(axis=0), kind="stable")
    ids = [str(parts["systems"].ids[i]) for i in order]
    n = len(means)
    apart = ~np.eye(n, dtype=np.bool_)
    tau, ends, error, n_ranked = _over_wordings(_signs(means), level)
    by_number = tuple(_of_wordings(k, means, total, rng) for k in _NUMBERS if k < n)
    enough = next((k.n for i, k in enumerate(by_number) if all(x.same_best >= _ENOUGH for x in by_number[i:])), None)
    halves = np.array([_halves(cells, apart, rng) for _ in range(_N_SPLITS)]) if cells.shape[2] > 1 else None
    warnings = [f"{plural(n_left_out, 'problem')} not there for all systems, wordings: left out"] if n_left_out else []
    if np.isnan([row.same_best for row in by_number]).any():
        warnings.append("several systems are the best over all wordings: none is named as the best of all")
    if n_ranked < n:
        warnings.append(f"all systems are equally good under {n - n_ranked} of {n} wordings: tau leaves these out")
    if n_ranked < FEW_UNITS:
        warnings.append(f"no interval over fewer than {FEW_UNITS} wordings")
    return RankingsResult(
        mean=dict(zip(ids, np.ldexp(total[order], exponent).tolist(), strict=True)),
        best=dict(zip(ids, _shares_best(means).mean(axis=0)[order].tolist(), strict=True)),
        tau=tau,
        tau_same=float("nan") if halves is None else _mean(halves[:, 0]),
        tau_other=float("nan") if halves is None else _mean(halves[:, 1]),
        by_number=by_number,
        n_enough=enough,
        n_systems=len(ids),
        n_wordings=n,
        n_problems=cells.shape[2],
        confidence_interval={"tau": ends},
        standard_error={"tau": error},
        n_clusters={"tau": n_ranked},
        signature=signature(_FUNCTION, est="tau-b", avg="wording", ci="jackknife+korn-graubard", level=f"{level:.4g}"),
        warnings=tuple(warnings),
    )


def _cells(values: Floats, parts: Mapping[str, Partition]) -> Floats:
    """Return mean outcomes, shape (wordings, systems, problems), of the problems that all have."""
    sizes = {name: len(part) for name, part in parts.items()}
    for name in ("systems", "wordings"):
        if sizes[name] < 2:
            raise input_error(_FUNCTION, name, "be at least two", got=parts[name].ids)
    shape = (sizes["wordings"], sizes["systems"], sizes.get("problems", 1))
    problem = parts["problems"].codes if "problems" in parts else np.zeros(len(values), dtype=np.intp)
    cell = np.ravel_multi_index((parts["wordings"].codes, parts["systems"].codes, problem), shape)
    counts, sums = (np.bincount(cell, weights, int(np.prod(shape))).reshape(shape) for weights in (None, values))
    if (empty := np.argwhere(counts.sum(axis=2) == 0)).size:
        got = f"{parts['systems'].ids[empty[0][1]]} without {parts['wordings'].ids[empty[0][0]]}"
        raise input_error(_FUNCTION, "systems", "have outcomes under every wording", got=got)
    whole = (counts > 0).all(axis=(0, 1))
    if not whole.any():
        must = "hold a problem that every system was asked under every wording"
        raise input_error(_FUNCTION, "problems", must, got=f"{shape[2]:,} that are not")
    return np.asarray(sums[..., whole] / counts[..., whole])


def _signs(means: Floats) -> Floats:
    """Return which of each pair of systems is better, shape (n, pairs), so that products are Kendall's tau-b.

    nan where all systems are equal.
    """
    first, second = np.triu_indices(means.shape[-1], 1)
    signs = np.sign(np.round(means[:, first] - means[:, second], 12))
    with np.errstate(invalid="ignore"):
        return np.asarray(signs / np.linalg.norm(signs, axis=1, keepdims=True))


def _shares_best(means: Floats) -> Floats:
    """Return which system is the best, shape (n, systems); those that are equally good share it."""
    is_best = means > means.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(is_best / is_best.sum(axis=1, keepdims=True))


def _over_wordings(signs: Floats, level: float) -> tuple[float, list[float], float, int]:
    """Return tau's mean over the pairs of wordings, its interval and standard error, and the number of wordings.

    The mean over all wordings there could be is the squared length of their mean row of `signs`. The jackknife's
    interval is too short where nearly all rankings are the same, or few systems are in no order: it is joined with Korn
    and Graubard's interval of that length, from where each wording lies in the direction of the mean, with the
    jackknife's on the logit scale, and with the length itself. What remains: of three systems half a standard deviation
    apart, 92 % of intervals over 14 wordings hold. Wordings under which all systems are equal are left out.
    """
    signs = signs[~np.isnan(signs).any(axis=1)]
    n, nan = len(signs), float("nan")
    if n < 2:
        return nan, [nan] * 2, nan, n
    taus = signs @ signs.T
    sums = taus.sum(axis=1) - np.diag(taus)
    tau = min(float(sums.sum() / (n * (n - 1))), 1.0)
    if n < FEW_UNITS:
        return tau, [nan] * 2, nan, n
    without = (sums.sum() - 2.0 * sums) / ((n - 1) * (n - 2))
    error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    half, mean = float(stdtrit(n - 1, 0.5 + level / 2.0)) * error, signs.mean(axis=0)
    if tau > 1.0 - NO_SPREAD:
        ends = boundary_interval(1.0, 0.0, 1.0, n, level)
    else:
        along = signs @ mean / max(np.linalg.norm(mean), NO_SPREAD)
        across = (1.0 - (along**2).mean()) / (n - 1)  # what the other directions add to the squared length
        share = 0.5 + 0.5 * np.sqrt(max(float(mean @ mean) - across, 0.0))
        spread = max(float(along.std(ddof=1)) / 2.0 / np.sqrt(n), NO_SPREAD)
        ends = korn_graubard_interval(share, spread, _MOST_ROWS, n, level)
    low, high = (2.0 * end - 1.0 for end in ends)
    # below 1 the jackknife's error is skewed; of two systems in no order the mean's own length is an upper bound
    skewed = on_logit_scale(np.array([tau]), np.array([half]), np.array([[0.0, 1.0]]))[0][0] if tau > 0.0 else tau
    high = max(tau + half, float(mean @ mean), max(high, -low) ** 2)
    low = min(tau - half, float(skewed), max(low, 0.0) ** 2)
    return tau, [max(low, min(tau, 0.0)), min(high, 1.0)], error, n  # tau of all wordings is not below 0


def _of_wordings(n: int, means: Floats, total: Floats, rng: np.random.Generator) -> OfWordings:
    """Return what random draws of n wordings say of all."""
    drawn = rng.random((_N_DRAWS, len(means))).argsort(axis=1)[:, :n] if n > 1 else np.arange(len(means))[:, np.newaxis]
    of_draws = means[drawn].mean(axis=1)
    best = np.flatnonzero(_shares_best(total[np.newaxis])[0])
    same = float(_shares_best(of_draws)[:, best[0]].mean()) if len(best) == 1 else float("nan")
    return OfWordings(n, same, _mean(_signs(of_draws) @ _signs(total[np.newaxis])[0]))


def _halves(cells: Floats, apart: Any, rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean tau of two random halves of the problems, under the same wording and under two."""
    order = rng.permutation(cells.shape[2])
    half = len(order) // 2
    one, two = (_signs(cells[..., part].mean(axis=2)) for part in (order[:half], order[half:]))
    taus = one @ two.T
    return _mean(np.diag(taus)), _mean(taus[apart])


def _mean(values: Floats) -> float:
    """Return the mean of the values that are defined, nan without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
