"""The decision of an IE experiment: paired tests of every run, corrected for each rho and for all, in one table.

Salvatore et al. 2023 train M times at each rho and reject invariance there if any of the M p-values is below alpha / M.
The decision for all rhos together runs over every run of the experiment. Both are given, and no run is left out.

Hard cases: test rows that models get right as they are and wrong after the change, under both readings.

Salvatore et al. 2023 count rows that every model loses at *some* rho (their program, and their 249 of SNLI and 531 of
MNLI); their text can also be read as *every* rho, which leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures.ie_test import METHODS, Method
from paraconsist.measures.multiple_testing import Correction, correct_p_values, signal_to_noise, too_few_resamples
from paraconsist.measures.paired_resampling import (
    mcnemar_replayed_p_value,
    mcnemar_resampled_p_value,
    replayed_p_value,
    resampled_p_value,
)
from paraconsist.measures.paired_tests import (
    Ties,
    exact_p_value,
    mcnemar_p_value,
    mcnemar_statistic,
    paired_difference_interval,
    paired_statistic,
)
from paraconsist.measures.signatures import signature
from paraconsist.studies.ie.options import FUNCTION
from paraconsist.studies.ie.runs import Family, Matched

_RESAMPLED = {"paper": 2, "replay": 2, "mcnemar_resampled": 1, "mcnemar_replay": 1}
_REPLAYS = ("replay", "mcnemar_replay")


@dataclass(frozen=True)
class DecisionOptions:
    """How to decide; as in `paraconsist.measures.ie_test.ie_test`, whose exact test with mid ties is the default.

    Attributes
    ----------
    method, ties, n_resamples, seed, alpha, correction, confidence_level
        The replays need rows, and take the seed that a published file gives for a run before `seed`.
    """

    method: Method = "exact"
    ties: Ties | None = None
    n_resamples: int = 1000
    seed: int = 0
    alpha: float = 0.05
    correction: Correction = "bonferroni"
    confidence_level: float = 0.95

    def __post_init__(self) -> None:
        check_choice(FUNCTION, "method", self.method, METHODS)
        check_choice(FUNCTION, "correction", self.correction, ("bonferroni", "holm"))
        if self.ties is not None:
            check_choice(FUNCTION, "ties", self.ties, ("mid", "lower"))
            if self.method != "exact":
                raise input_error(FUNCTION, "ties", "be left out unless the method is 'exact'", got=self.ties)
        check_whole(FUNCTION, "n_resamples", self.n_resamples)
        check_fraction(FUNCTION, "alpha", self.alpha)
        check_fraction(FUNCTION, "confidence_level", self.confidence_level)


def decide(families: Sequence[Family], options: DecisionOptions | None = None) -> dict[str, Any]:
    """Decide every family, and find the hard cases over all.

    Parameters
    ----------
    families : sequence of Family
    options : DecisionOptions, optional

    Returns
    -------
    dict
        ``families``: for each its name, the decision at every rho (``by_rho``) and over all (``overall``), every run
        with the p-values of all methods (``runs``), the signal-to-noise ratio, signature and warnings.
        ``hard_cases``: rows lost by the change, under both readings; None where only counts are known. Plain values;
        undefined ones are nan.
    """
    options = DecisionOptions() if options is None else options
    if not families:
        raise input_error(FUNCTION, "from", "hold at least one run", got="none")
    return {"families": [_decide(family, options) for family in families], "hard_cases": hard_cases(families)}


def _decide(family: Family, options: DecisionOptions) -> dict[str, Any]:
    p_values = _p_values(family, options)
    counts = family.n, family.n10, family.n01
    is_mcnemar = options.method.startswith("mcnemar")
    statistics: NDArray[Any] = mcnemar_statistic(*counts[1:]) if is_mcnemar else paired_statistic(*counts)
    low, high = paired_difference_interval(*counts, confidence_level=options.confidence_level)
    others = _every_method(family, options)
    whole = correct_p_values(p_values, alpha=options.alpha, correction=options.correction)
    snr = signal_to_noise(family.accuracy) if family.n_runs > 1 else None
    by_rho = [_at_rho(family, float(rho), p_values, statistics, options) for rho in np.unique(family.rho)]
    decided_there = {entry["rho"]: entry.pop("_rejected") for entry in by_rho}
    place: dict[float, int] = {}
    runs = []
    for i in range(family.n_runs):
        rho = float(family.rho[i])
        position = place[rho] = place.get(rho, -1) + 1
        runs.append(
            {
                "rho": rho,
                "run": family.run[i],
                "n": int(family.n[i]),
                "n10": int(family.n10[i]),
                "n01": int(family.n01[i]),
                "accuracy": float(family.accuracy[i]),
                "transformed_accuracy": float(family.transformed_accuracy[i]),
                "accuracy_difference": float((family.n10[i] - family.n01[i]) / family.n[i]),
                "difference_interval": [float(low[i]), float(high[i])],
                "statistic": float(statistics[i]),
                "p_value": float(p_values[i]),
                "rejected_at_rho": decided_there[rho][position],
                "rejected_overall": bool(whole.rejected[i]),
                "collapsed": family.collapsed[i],
                "validation_accuracy": float(family.validation_accuracy[i]),
                "p_values": {name: float(values[i]) for name, values in others.items()},
            }
        )
    collapsed = [(run["rho"], run["run"]) for run in runs if run["collapsed"]]
    return {
        "name": family.name,
        "n_runs": family.n_runs,
        "by_rho": by_rho,
        "overall": {
            "reject": whole.reject,
            "p_value": whole.p_value,
            "smallest_p": float(p_values.min()),
            "n_tests": family.n_runs,
            "accuracy": float(family.accuracy.mean()),
            "transformed_accuracy": float(family.transformed_accuracy.mean()),
            "snr": snr,
        },
        "n_collapsed": None if None in family.collapsed else len(collapsed),
        "runs": runs,
        "signature": _signature(family, options),
        "warnings": _warnings(family, options, collapsed, snr),
    }


def _at_rho(
    family: Family, rho: float, p_values: NDArray[Any], statistics: NDArray[Any], options: DecisionOptions
) -> dict[str, Any]:
    here = np.flatnonzero(family.rho == rho)
    decision = correct_p_values(p_values[here], alpha=options.alpha, correction=options.correction)
    size = np.abs(np.nan_to_num(statistics[here], nan=-1.0))
    decisive = here[np.lexsort((-size, p_values[here]))[0]]
    before, after = family.accuracy[here], family.transformed_accuracy[here]
    collapsed = [family.collapsed[i] for i in here]
    return {
        "rho": rho,
        "n_runs": len(here),
        "smallest_p": float(p_values[here].min()),
        "p_value": decision.p_value,
        "statistic": float(statistics[decisive]),
        "reject": decision.reject,
        "n_rejected": int(decision.rejected.sum()),
        "accuracy": float(before.mean()),
        "accuracy_range": [float(before.min()), float(before.max())],
        "transformed_accuracy": float(after.mean()),
        "accuracy_difference": float((before - after).mean()),
        "n_collapsed": None if None in collapsed else sum(map(bool, collapsed)),
        "_rejected": decision.rejected.tolist(),
    }


def _p_values(family: Family, options: DecisionOptions) -> NDArray[np.float64]:
    counts = family.n, family.n10, family.n01
    if options.method == "exact":
        found = exact_p_value(*counts, ties=options.ties or "mid")
    elif options.method in ("mcnemar", "mcnemar_mid_p"):
        found = mcnemar_p_value(*counts[1:], mid_p=options.method == "mcnemar_mid_p")
    elif options.method in _REPLAYS:
        found = _replayed(family, options)
    else:
        resampled = resampled_p_value if options.method == "paper" else mcnemar_resampled_p_value
        found = resampled(*counts, n_resamples=options.n_resamples, rng=np.random.default_rng(options.seed))
    return np.asarray(found, dtype=np.float64)


def _replayed(family: Family, options: DecisionOptions) -> list[float]:
    if family.vectors is None:
        raise input_error(
            FUNCTION, "method", "not be a replay where only counts are known", got=options.method, remedy="Give rows."
        )
    replay = replayed_p_value if options.method == "replay" else mcnemar_replayed_p_value
    return [
        float(
            replay(
                one.original_correct,
                one.transformed_correct,
                seed=options.seed if one.seed is None else one.seed,
                n_resamples=options.n_resamples,
            )
        )
        for one in family.vectors()
    ]


def _every_method(family: Family, options: DecisionOptions) -> dict[str, NDArray[Any]]:
    """The p-values of all methods that need no rows, whichever decides."""
    counts = family.n, family.n10, family.n01
    draws = {"n_resamples": options.n_resamples}
    return {
        "exact": np.asarray(exact_p_value(*counts)),
        "exact_lower": np.asarray(exact_p_value(*counts, ties="lower")),
        "paper": np.asarray(resampled_p_value(*counts, **draws, rng=np.random.default_rng(options.seed))),
        "mcnemar": np.asarray(mcnemar_p_value(*counts[1:])),
        "mcnemar_mid_p": np.asarray(mcnemar_p_value(*counts[1:], mid_p=True)),
        "mcnemar_resampled": np.asarray(
            mcnemar_resampled_p_value(*counts, **draws, rng=np.random.default_rng(options.seed))
        ),
    }


def _signature(family: Family, options: DecisionOptions) -> str:
    sizes = sorted({int((family.rho == rho).sum()) for rho in family.rho})
    at_rho = "-".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))
    n_rhos = len(set(family.rho.tolist()))
    parts = {"est": options.method, "family": family.name, "sided": "two"}
    if options.method == "exact":
        parts["ties"] = options.ties or "mid"
    if options.method in _RESAMPLED:
        parts["resamples"] = str(options.n_resamples)
    parts |= {
        "alpha": f"{options.alpha:g}",
        "corr": f"{options.correction} over {at_rho} run(s) at each of {n_rhos} rho(s), overall over {family.n_runs}",
    }
    said = family.metadata.get("identity")
    if said:
        parts |= {"trained": f"seed {said.get('seed')}", "data": f"ietest@{said.get('data')}"}
    parts |= {"ci": "tango-items", "level": f"{options.confidence_level:g}"}
    if options.method in _RESAMPLED:
        published = options.method in _REPLAYS and any(seed is not None for seed in family.seeds)
        parts["seed"] = "published" if published else str(options.seed)
    return signature("ie_test", **parts)


def _warnings(
    family: Family, options: DecisionOptions, collapsed: Sequence[tuple[float, Any]], snr: float | None
) -> list[str]:
    found = []
    unchanged = [
        f"({rho:g}, {run})"
        for rho, run, d in zip(family.rho, family.run, family.n10 + family.n01, strict=True)
        if d == 0
    ]
    if unchanged:
        p = "0, as the authors' program has it" if options.method in _REPLAYS else "1"
        found.append(f"no row changed between right and wrong at (rho, run) {_some(unchanged)}: p is {p}")
    if collapsed:
        shown = _some([f"({rho:g}, {run})" for rho, run in collapsed])
        found.append(f"one label for every original at (rho, run) {shown}: collapsed, and kept in all numbers")
    if snr is not None and np.isnan(snr):
        found.append("all runs have the same accuracy: their signal-to-noise ratio is undefined")
    largest = max(int((family.rho == rho).sum()) for rho in family.rho)
    tails = _RESAMPLED.get(options.method)
    if tails and too_few_resamples(options.n_resamples, largest, options.alpha, tails=tails):
        found.append(
            f"{options.n_resamples} resamples are too few to reject at {options.alpha:g} over {largest} run(s) by any "
            f"p but 0: take at least {int(tails * largest / options.alpha)}, or --method exact"
        )
    if len({int((family.rho == rho).sum()) for rho in family.rho}) > 1:
        found.append("the rhos have different numbers of runs: each is corrected over its own")
    return found


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def hard_cases(families: Sequence[Family]) -> dict[str, Any] | None:
    """Find the rows that every family loses, at some rho and at every rho.

    Parameters
    ----------
    families : sequence of Family
        Models over the same test rows.

    Returns
    -------
    dict or None
        ``n_rows``, ``n_families``; ``first_run`` (as published: the first run of each rho) and ``all_runs``, each
        with ``some_rho`` and ``every_rho``: row numbers. Over all runs, "at some rho" means in some run, "at every
        rho" in every run. None where a family has no rows, or the families have different test rows.
    """
    if any(family.vectors is None for family in families):
        return None
    sizes = {int(n) for family in families for n in family.n}
    if len(sizes) != 1:
        return None
    n = sizes.pop()
    found: dict[str, dict[str, NDArray[np.bool_]]] = {}
    label: NDArray[Any] | None = None
    for family in families:
        seen: set[float] = set()
        masks = {scope: {"some_rho": np.zeros(n, bool), "every_rho": np.ones(n, bool)} for scope in _SCOPES}
        for one in _vectors(family):
            if label is not None and one.label is not None and not np.array_equal(label, one.label):
                return None
            label = one.label if label is None else label
            lost = one.original_correct & ~one.transformed_correct
            scopes = _SCOPES if one.rho not in seen else ("all_runs",)
            seen.add(one.rho)
            for scope in scopes:
                masks[scope]["some_rho"] |= lost
                masks[scope]["every_rho"] &= lost
        for scope, readings in masks.items():
            for reading, mask in readings.items():
                known = found.setdefault(scope, {}).setdefault(reading, np.ones(n, bool))
                known &= mask
    rows = {s: {r: np.flatnonzero(mask).tolist() for r, mask in readings.items()} for s, readings in found.items()}
    return {"n_rows": n, "n_families": len(families), **rows}


_SCOPES = ("first_run", "all_runs")


def _vectors(family: Family) -> Iterator[Matched]:
    assert family.vectors is not None  # `hard_cases` has asked
    return family.vectors()
