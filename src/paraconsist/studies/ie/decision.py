"""The decision of an IE experiment, and its tables: paired tests, corrected for each rho and for all; the hard cases.

Salvatore et al. 2023 train M times at each rho and reject invariance there if any of the M p-values is below alpha / M.
The decision for all rhos together runs over every run of the experiment. Both are given, and no run is left out.

Hard cases are test rows that models get right as they are and wrong after the change. Salvatore et al. 2023 count rows
that every model loses at *some* rho (their program, and their 249 of SNLI and 531 of MNLI); their text can also be read
as *every* rho, which leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.measures.catalogue import IE_TEST
from paraconsist.measures.ie_test import REPLAYS, TAILS, Evidence, by_groups, by_items, checked_options
from paraconsist.measures.paired_tests import Ties, mcnemar_replayed_p_value, replayed_p_value
from paraconsist.measures.results import signature
from paraconsist.measures.standings import correct_p_values, signal_to_noise, too_few_resamples
from paraconsist.reporting.formatting import decimal, number, percent
from paraconsist.reporting.table import Line, Part, Table, remarks, table
from paraconsist.studies.ie.options import FUNCTION, DecisionOptions
from paraconsist.studies.ie.runs import Family, Run

#: Methods that stand beside the one that decides.
_WITHOUT_ROWS = ("exact", "exact_lower", "paper", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled")
_SCOPES = ("first_run", "all_runs")


def decide(families: Sequence[Family], options: DecisionOptions | None = None) -> dict[str, Any]:
    """Decide every family, and find the hard cases over all; plain values, nan where undefined.

    ``families``: for each its name, the decision at every rho (``by_rho``) and over all (``overall``), every run with
    the p-values of all methods (``runs``), the signal-to-noise ratio, signature and warnings. ``hard_cases``: rows lost
    by the change, under both readings; None where only counts are known.
    """
    options = DecisionOptions() if options is None else options
    if not families:
        raise input_error(FUNCTION, "from", "hold at least one run", got="none")
    return {"families": [_decide(family, options) for family in families], "hard_cases": hard_cases(families)}


def _decide(family: Family, options: DecisionOptions) -> dict[str, Any]:
    evidence = _evidence(options.method, family, options)
    p_values, statistics = evidence.p_values, evidence.statistics
    mid = replace(options, method="exact", ties=None)
    others = {name: _evidence(name, family, mid).p_values for name in _WITHOUT_ROWS}
    whole = correct_p_values(p_values, alpha=options.alpha, correction=options.correction)
    snr = signal_to_noise(family.accuracy) if family.n_runs > 1 else None
    by_rho, rejected = [], np.zeros(family.n_runs, dtype=bool)
    for rho in np.unique(family.rho):
        entry, rejected[family.rho == rho] = _at_rho(family, float(rho), p_values, statistics, options)
        by_rho.append(entry)
    runs = [
        {
            "rho": run.rho,
            "run": run.run,
            "n": run.n,
            "n10": run.n10,
            "n01": run.n01,
            "accuracy": float(family.accuracy[i]),
            "transformed_accuracy": float(family.transformed_accuracy[i]),
            "accuracy_difference": (run.n10 - run.n01) / run.n,
            "difference_interval": [float(evidence.low[i]), float(evidence.high[i])],
            "statistic": float(statistics[i]),
            "p_value": float(p_values[i]),
            "rejected_at_rho": bool(rejected[i]),
            "rejected_overall": bool(whole.rejected[i]),
            "collapsed": run.collapsed,
            "validation_accuracy": run.validation_accuracy,
            "p_values": {name: float(values[i]) for name, values in others.items()},
        }
        for i, run in enumerate(family.runs)
    ]
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
        "n_collapsed": _n_collapsed(family.runs),
        "runs": runs,
        "signature": _signature(family, options, evidence),
        "warnings": _warnings(family, options, evidence, snr),
    }


def _at_rho(
    family: Family, rho: float, p_values: NDArray[Any], statistics: NDArray[Any], options: DecisionOptions
) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """The decision at one rho, and which of its runs reject."""
    here = np.flatnonzero(family.rho == rho)
    decision = correct_p_values(p_values[here], alpha=options.alpha, correction=options.correction)
    size = np.abs(np.nan_to_num(statistics[here], nan=-1.0))
    decisive = here[np.lexsort((-size, p_values[here]))[0]]
    before, after = family.accuracy[here], family.transformed_accuracy[here]
    entry = {
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
        "n_collapsed": _n_collapsed([family.runs[i] for i in here]),
    }
    return entry, decision.rejected


def _n_collapsed(runs: Sequence[Run]) -> int | None:
    return None if any(run.collapsed is None for run in runs) else sum(bool(run.collapsed) for run in runs)


def _evidence(method: str, family: Family, options: DecisionOptions) -> Evidence:
    """What a method says of every run."""
    is_exact = method.startswith("exact")
    ties: Ties = "lower" if method == "exact_lower" else options.ties or "mid"
    checked = checked_options(
        FUNCTION,
        "exact" if is_exact else method,  # type: ignore[arg-type]
        ties if is_exact else None,
        options.n_resamples,
        options.seed,
        options.alpha,
        options.correction,
        options.confidence_level,
    )
    if options.group is None:
        replayed = np.array(_replayed(family, options), dtype=np.float64) if method in REPLAYS else None
        return by_items(family.n, family.n10, family.n01, checked, replayed)
    changes = [
        (one.original_correct.astype(np.int8) - one.transformed_correct, groups)
        for one in (family.vectors() if family.vectors is not None else ())
        if (groups := one.groups) is not None
    ]
    if len(changes) < family.n_runs:
        must, remedy = "be a column of a file with one row for each test row", "Counts and .npz files have no groups."
        raise input_error(FUNCTION, "group", must, got=options.group, remedy=remedy)
    return by_groups(changes, checked)


def _replayed(family: Family, options: DecisionOptions) -> list[float]:
    if family.vectors is None:
        must = "not be a replay where only counts are known"
        raise input_error(FUNCTION, "method", must, got=options.method, remedy="Give rows.")
    replay = replayed_p_value if options.method == "replay" else mcnemar_replayed_p_value
    p_values = []
    for one in family.vectors():
        seed = options.seed if one.seed is None else one.seed
        correct = one.original_correct, one.transformed_correct
        p_values.append(float(replay(*correct, seed=seed, n_resamples=options.n_resamples)))
    return p_values


def _signature(family: Family, options: DecisionOptions, evidence: Evidence) -> str:
    sizes = np.unique(family.rho, return_counts=True)[1]
    at_rho, n_rhos = "-".join(map(str, dict.fromkeys((sizes.min(), sizes.max())))), len(sizes)
    parts = {"est": options.method, "family": family.name, "sided": "two"}
    if options.method == "exact":
        parts["ties"] = options.ties or "mid"
    if options.method in TAILS or evidence.n_draws:
        parts["resamples"] = str(evidence.n_draws or options.n_resamples)
    parts |= {
        "alpha": f"{options.alpha:g}",
        "corr": f"{options.correction} over {at_rho} run(s) at each of {n_rhos} rho(s), overall over {family.n_runs}",
    }
    identity = family.metadata.get("identity")
    if identity:
        parts |= {"trained": f"seed {identity.get('seed')}", "data": f"ietest@{identity.get('data')}"}
    parts |= {"ci": f"tango-{evidence.unit}s", "level": f"{options.confidence_level:g}"}
    if options.method in TAILS or evidence.n_draws:
        published = options.method in REPLAYS and any(run.seed is not None for run in family.runs)
        parts["seed"] = "published" if published else str(options.seed)
    return signature(IE_TEST.name, **parts)


def _warnings(family: Family, options: DecisionOptions, evidence: Evidence, snr: float | None) -> list[str]:
    warnings = []
    unchanged = [run for run, still in zip(family.runs, evidence.is_still.tolist(), strict=True) if still]
    if unchanged:
        p = "0, as the authors' program has it" if options.method in REPLAYS else "1"
        what = "row changed between right and wrong" if evidence.unit == "item" else "group lost or gained"
        warnings.append(f"no {what} at (rho, run) {_some(unchanged)}: p is {p}")
    collapsed = [run for run in family.runs if run.collapsed]
    if collapsed:
        what = "one label for every original at (rho, run)"
        warnings.append(f"{what} {_some(collapsed)}: collapsed, and kept in all numbers")
    if snr is not None and np.isnan(snr):
        warnings.append("all runs have the same accuracy: their signal-to-noise ratio is undefined")
    sizes = np.unique(family.rho, return_counts=True)[1]
    largest, tails = int(sizes.max()), TAILS.get(options.method)
    if tails and too_few_resamples(options.n_resamples, largest, options.alpha, tails=tails):
        warnings.append(
            f"{options.n_resamples} resamples are too few to reject at {options.alpha:g} over {largest} run(s) by any "
            f"p but 0: take at least {int(tails * largest / options.alpha)}, or method 'exact'"
        )
    if len(set(sizes)) > 1:
        warnings.append("the rhos have different numbers of runs: each is corrected over its own")
    return warnings


def _some(runs: Sequence[Run], most: int = 6) -> str:
    names = ", ".join(f"({run.rho:g}, {run.run})" for run in runs[:most])
    return names + (f" and {len(runs) - most} more" if len(runs) > most else "")


def hard_cases(families: Sequence[Family]) -> dict[str, Any] | None:
    """Find the rows that every family (a model over the same test rows) loses, at some rho and at every rho.

    ``n_rows``, ``n_families``; ``first_run`` (as published: the first run of each rho) and ``all_runs``, each with
    ``some_rho`` and ``every_rho``: row numbers. Over all runs, "at some rho" means in some run, "at every rho" in every
    run. None where a family has no rows, or the families have different test rows.
    """
    sizes = {int(n) for family in families for n in family.n}
    if len(sizes) != 1:
        return None
    n = sizes.pop()
    lost_by_all = {scope: {"some_rho": np.ones(n, bool), "every_rho": np.ones(n, bool)} for scope in _SCOPES}
    label: NDArray[Any] | None = None
    for family in families:
        if family.vectors is None:
            return None
        seen: set[float] = set()
        masks = {scope: {"some_rho": np.zeros(n, bool), "every_rho": np.ones(n, bool)} for scope in _SCOPES}
        for one in family.vectors():
            if label is not None and one.label is not None and not np.array_equal(label, one.label):
                return None
            label = one.label if label is None else label
            lost = one.original_correct & ~one.transformed_correct
            for scope in _SCOPES if one.rho not in seen else ("all_runs",):
                masks[scope]["some_rho"] |= lost
                masks[scope]["every_rho"] &= lost
            seen.add(one.rho)
        for scope, readings in masks.items():
            for reading, mask in readings.items():
                lost_by_all[scope][reading] &= mask
    rows = {s: {r: np.flatnonzero(m).tolist() for r, m in readings.items()} for s, readings in lost_by_all.items()}
    return {"n_rows": n, "n_families": len(families), **rows}


def decision_tables(decided: Mapping[str, Any], *, alpha: float) -> Iterator[Part]:
    """Yield what `paraconsist ie-test` prints of what `decide` returned: a table for each family, then hard cases."""
    for family in decided["families"]:
        yield _family_table(family, alpha)
        yield from remarks(family["warnings"], [family["signature"]])
    if decided["hard_cases"] is not None:
        yield Line(_hard(decided["hard_cases"]))


def _family_table(family: Mapping[str, Any], alpha: float) -> Table:
    overall, n = family["overall"], sorted({run["n"] for run in family["runs"]})
    rows = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
    return table(
        f"{family['name']}: {_runs(family['n_runs'])}, {rows} test rows",
        ["rho", "runs", "original", "transformed", "lost", "t", "smallest p", "corrected", "invariance", "collapsed"],
        [_line(entry) for entry in family["by_rho"]],
        words=["invariance"],
        caption=_caption(overall, alpha),
        wide=True,
    )


def _line(entry: Mapping[str, Any]) -> list[str]:
    rejected = f"rejected ({entry['n_rejected']} of {entry['n_runs']})"
    return [
        f"{entry['rho']:g}",
        str(entry["n_runs"]),
        percent(entry["accuracy"]),
        percent(entry["transformed_accuracy"]),
        percent(entry["accuracy_difference"], digits=2, signed=True),
        decimal(entry["statistic"], digits=2, undefined="-"),
        _p(entry["smallest_p"]),
        _p(entry["p_value"]),
        rejected if entry["reject"] else "not rejected",
        "?" if entry["n_collapsed"] is None else str(entry["n_collapsed"]),
    ]


def _caption(overall: Mapping[str, Any], alpha: float) -> str:
    decision = "rejected" if overall["reject"] else "not rejected"
    caption = (
        "Accuracies and what is lost in points, means of runs; t and p of the run with the smallest p; corrected over "
        f"the runs at each rho.\nOver {_runs(overall['n_tests'])} in all: corrected p {_p(overall['p_value'])}, "
        f"invariance {decision} at {alpha:g}."
    )
    if overall["snr"] is not None:
        snr = decimal(overall["snr"], digits=1, undefined="undefined")
        caption += f" Signal-to-noise ratio of accuracies: {snr}."
    return caption


def _hard(hard: Mapping[str, Any]) -> str:
    models = "" if hard["n_families"] == 1 else f" by all {hard['n_families']} models"
    parts = [
        f"{len(hard[scope]['some_rho']):,} at some rho and {len(hard[scope]['every_rho']):,} at every rho in {name}"
        for scope, name in (("first_run", "the first run"), ("all_runs", "all runs"))
    ]
    return (
        f"Hard cases, of {hard['n_rows']:,} rows right before and wrong after the change{models}: {'; '.join(parts)}."
    )


def _runs(n: int) -> str:
    return f"{n} run" if n == 1 else f"{n} runs"


def _p(value: float) -> str:
    return "0" if value == 0 else number(value)
