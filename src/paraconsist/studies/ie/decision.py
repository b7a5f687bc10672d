"""The decision of an IE experiment, and its tables: paired tests, corrected for each rho and for all; the hard cases.

Salvatore et al. 2023 train M times at each rho and reject invariance there if any of the M p-values is below alpha / M.
The decision for all rhos together runs over every run of the experiment. Both are given, and no run is left out.

Hard cases are test rows that models get right as they are and wrong after the change. Salvatore et al. 2023 count rows
that every model loses at *some* rho (their program, and their 249 of SNLI and 531 of MNLI); their text can also be read
as *every* rho, which leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import input_error
from paraconsist.measures.catalogue import IE_TEST
from paraconsist.measures.ie_test import REPLAYS, TAILS, Evidence, by_groups, by_items, few_draws
from paraconsist.measures.paired_tests import replayed_p_value
from paraconsist.measures.results import signature
from paraconsist.measures.standings import correct_p_values, signal_to_noise
from paraconsist.reporting.formatting import decimal, number, percent, plural
from paraconsist.reporting.table import Line, Part, Table, remarks, table
from paraconsist.studies import StudyRecord
from paraconsist.studies.ie.options import FUNCTION, DecisionOptions
from paraconsist.studies.ie.runs import Family, Run

#: Methods whose p-values are given in addition to those of the deciding method: name -> method, ties.
_WITHOUT_ROWS: Mapping[str, tuple[str, Literal["lower"] | None]] = {
    "exact": ("exact", None),
    "exact_lower": ("exact", "lower"),
    **{name: (name, None) for name in ("paper", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled")},
}
#: What a decision has of its run.
_OF_RUN = ("rho", "run", "n", "n10", "n01", "collapsed", "validation_accuracy")
_MOST_NAMED = 6  # runs in a warning
_SCOPES, _READINGS = ("first_run", "all_runs"), ("some_rho", "every_rho")


@dataclass(frozen=True)
class RunDecision(StudyRecord):
    """One run: its counts, its test, and whether it is rejected over its rho and over all runs."""

    rho: float
    run: Any
    n: int
    n10: int
    n01: int
    accuracy: float
    transformed_accuracy: float
    accuracy_difference: float
    difference_interval: tuple[float, float]
    statistic: float
    p_value: float
    rejected_at_rho: bool
    rejected_overall: bool
    collapsed: bool | None
    validation_accuracy: float
    p_values: Mapping[str, float]  # of all methods that need no rows


@dataclass(frozen=True)
class RhoDecision(StudyRecord):
    """The decision over the runs at one rho; statistic and smallest p are of one run, accuracies are means."""

    rho: float
    n_runs: int
    smallest_p: float
    p_value: float
    statistic: float
    reject: bool
    n_rejected: int
    accuracy: float
    accuracy_range: tuple[float, float]
    transformed_accuracy: float
    accuracy_difference: float
    n_collapsed: int | None


@dataclass(frozen=True)
class OverallDecision(StudyRecord):
    """The decision over all runs of a family."""

    reject: bool
    p_value: float
    smallest_p: float
    n_tests: int
    accuracy: float
    transformed_accuracy: float
    snr: float | None  # the signal-to-noise ratio of accuracies; None for one run


@dataclass(frozen=True)
class FamilyDecision(StudyRecord):
    """All decisions about one family of runs."""

    name: str
    n_runs: int
    by_rho: Sequence[RhoDecision]
    overall: OverallDecision
    n_collapsed: int | None
    runs: Sequence[RunDecision]
    signature: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class LostRows(StudyRecord):
    """Numbers of the rows that are lost at some rho, and at every rho."""

    some_rho: Sequence[int]
    every_rho: Sequence[int]


@dataclass(frozen=True)
class HardCases(StudyRecord):
    """The rows that every family loses, over the first run of each rho (as published) and over all runs.

    Over all runs, "at some rho" means in some run, "at every rho" in every run.
    """

    n_rows: int
    n_families: int
    first_run: LostRows
    all_runs: LostRows


@dataclass(frozen=True)
class Decision(StudyRecord):
    """The decisions about all families, and their hard cases; None where only counts are known."""

    families: Sequence[FamilyDecision]
    hard_cases: HardCases | None


def decide(families: Sequence[Family], options: DecisionOptions | None = None) -> Decision:
    """Decide every family, and find the hard cases over all; nan where undefined."""
    options = DecisionOptions() if options is None else options
    if not families:
        raise input_error(FUNCTION, "from", "hold at least one run", got="none")
    return Decision([_decide(family, options) for family in families], hard_cases(families))


def _decide(family: Family, options: DecisionOptions) -> FamilyDecision:
    evidence = _evidence(options.method, options.ties, family, options)
    p_values, statistics = evidence.p_values, evidence.statistics
    others = {name: _evidence(*method, family, options).p_values for name, method in _WITHOUT_ROWS.items()}
    whole = correct_p_values(p_values, alpha=options.alpha, correction=options.correction)
    snr = signal_to_noise(family.accuracy) if family.n_runs > 1 else None
    by_rho, rejected = [], np.zeros(family.n_runs, dtype=bool)
    for rho in np.unique(family.rho):
        here = np.flatnonzero(family.rho == rho)
        decision = correct_p_values(p_values[here], alpha=options.alpha, correction=options.correction)
        rejected[here] = decision.rejected
        size = np.nan_to_num(np.abs(statistics[here]), nan=-1.0)
        decisive = here[np.lexsort((-size, p_values[here]))[0]]
        before, after = family.accuracy[here], family.transformed_accuracy[here]
        at_rho = RhoDecision(
            rho=float(rho),
            n_runs=len(here),
            smallest_p=float(p_values[here].min()),
            p_value=decision.p_value,
            statistic=float(statistics[decisive]),
            reject=decision.reject,
            n_rejected=int(decision.rejected.sum()),
            accuracy=float(before.mean()),
            accuracy_range=(float(before.min()), float(before.max())),
            transformed_accuracy=float(after.mean()),
            accuracy_difference=float((before - after).mean()),
            n_collapsed=_n_collapsed([family.runs[i] for i in here]),
        )
        by_rho.append(at_rho)
    runs = [
        RunDecision(
            **{name: getattr(run, name) for name in _OF_RUN},
            accuracy=float(family.accuracy[i]),
            transformed_accuracy=float(family.transformed_accuracy[i]),
            accuracy_difference=(run.n10 - run.n01) / run.n,
            difference_interval=(float(evidence.low[i]), float(evidence.high[i])),
            statistic=float(statistics[i]),
            p_value=float(p_values[i]),
            rejected_at_rho=bool(rejected[i]),
            rejected_overall=bool(whole.rejected[i]),
            p_values={name: float(values[i]) for name, values in others.items()},
        )
        for i, run in enumerate(family.runs)
    ]
    overall = OverallDecision(
        reject=whole.reject,
        p_value=whole.p_value,
        smallest_p=float(p_values.min()),
        n_tests=family.n_runs,
        accuracy=float(family.accuracy.mean()),
        transformed_accuracy=float(family.transformed_accuracy.mean()),
        snr=snr,
    )
    remarks = _signature(family, options, evidence), _warnings(family, options, evidence, snr)
    return FamilyDecision(family.name, family.n_runs, by_rho, overall, _n_collapsed(family.runs), runs, *remarks)


def _n_collapsed(runs: Sequence[Run]) -> int | None:
    return None if any(run.collapsed is None for run in runs) else sum(bool(run.collapsed) for run in runs)


def _evidence(method: str, ties: Literal["mid", "lower"] | None, family: Family, options: DecisionOptions) -> Evidence:
    """Test every run of a family by a method."""
    checked = options.checked(method, ties)
    if options.group is None:
        replayed = np.array(_replayed(family, options)) if method in REPLAYS else None
        return by_items(family.n, family.n10, family.n01, checked, replayed)
    runs = family.vectors() if family.vectors is not None else ()
    pairs = ((run.original_correct.astype(np.int8) - run.transformed_correct, run.groups) for run in runs)
    changes = [(change, groups) for change, groups in pairs if groups is not None]
    if len(changes) < family.n_runs:
        must, remedy = "be a column of a file with one row for each test row", "Counts and .npz files have no groups."
        raise input_error(FUNCTION, "group", must, got=options.group, remedy=remedy)
    return by_groups(changes, checked)


def _replayed(family: Family, options: DecisionOptions) -> list[float]:
    if family.vectors is None:
        must = "not be a replay where only counts are known"
        raise input_error(FUNCTION, "method", must, got=options.method, remedy="Give rows.")
    settings: Any = {"n_resamples": options.n_resamples, "mcnemar": options.method == "mcnemar_replay"}
    p_values = []
    for run in family.vectors():
        seed = options.seed if run.seed is None else run.seed
        correct = run.original_correct, run.transformed_correct
        p_values.append(replayed_p_value(*correct, seed=seed, **settings))
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
    if isinstance(identity, Mapping) and identity:
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
        p = "0, as in the authors' program" if options.method in REPLAYS else "1"
        what = "row changed between right and wrong" if evidence.unit == "item" else "group lost or gained"
        warnings.append(f"no {what} at (rho, run) {_some(unchanged)}: p is {p}")
    collapsed = [run for run in family.runs if run.collapsed]
    if collapsed:
        what = "one label for every original at (rho, run)"
        warnings.append(f"{what} {_some(collapsed)}: collapsed, and kept in all numbers")
    if snr is not None and np.isnan(snr):
        warnings.append("all runs have the same accuracy: their signal-to-noise ratio is undefined")
    sizes = np.unique(family.rho, return_counts=True)[1]
    warnings += few_draws(options.checked(options.method, options.ties), int(sizes.max()))
    if len(set(sizes)) > 1:
        warnings.append("the rhos have different numbers of runs: each is corrected over its own")
    return warnings


def _some(runs: Sequence[Run]) -> str:
    names = ", ".join(f"({run.rho:g}, {run.run})" for run in runs[:_MOST_NAMED])
    return names + (f" and {len(runs) - _MOST_NAMED} more" if len(runs) > _MOST_NAMED else "")


def hard_cases(families: Sequence[Family]) -> HardCases | None:
    """Find the rows that every family loses; None where one has no rows, or other test rows than another."""
    sizes = {int(n) for family in families for n in family.n}
    if len(sizes) != 1:
        return None
    n = sizes.pop()
    lost_by_all = {(scope, reading): np.ones(n, bool) for scope in _SCOPES for reading in _READINGS}
    known: dict[str, NDArray[Any]] = {}
    for family in families:
        if family.vectors is None:
            return None
        seen: set[float] = set()
        masks = {key: np.full(n, key[1] == "every_rho") for key in lost_by_all}
        for run in family.vectors():
            for name in ("label", "row"):
                values = getattr(run, name)
                if values is not None and not np.array_equal(known.setdefault(name, values), values):
                    return None
            lost = run.original_correct & ~run.transformed_correct
            for scope in _SCOPES if run.rho not in seen else ("all_runs",):
                masks[scope, "some_rho"] |= lost
                masks[scope, "every_rho"] &= lost
            seen.add(run.rho)
        for key, mask in masks.items():
            lost_by_all[key] &= mask
    rows = {key: np.flatnonzero(mask).tolist() for key, mask in lost_by_all.items()}
    return HardCases(n, len(families), *(LostRows(*(rows[scope, r] for r in _READINGS)) for scope in _SCOPES))


def decision_tables(decision: Decision, *, alpha: float) -> Iterator[Part]:
    """Yield what `paraconsist ie-test` prints: a table for each family, then hard cases."""
    for family in decision.families:
        yield _family_table(family, alpha)
        yield from remarks(family.warnings, [family.signature])
    if decision.hard_cases is not None:
        hard = decision.hard_cases
        models = "" if hard.n_families == 1 else f" by all {hard.n_families} models"
        parts = [
            f"{len(lost.some_rho):,} at some rho and {len(lost.every_rho):,} at every rho in {name}"
            for lost, name in ((hard.first_run, "the first run"), (hard.all_runs, "all runs"))
        ]
        rows = f"{hard.n_rows:,} rows right before and wrong after the change{models}"
        yield Line(f"Hard cases, of {rows}: {'; '.join(parts)}.")


def _family_table(family: FamilyDecision, alpha: float) -> Table:
    n = sorted({run.n for run in family.runs})
    rows = " to ".join(f"{size:,}" for size in dict.fromkeys((n[0], n[-1])))
    return table(
        f"{family.name}: {plural(family.n_runs, 'run')}, {rows} test rows",
        ["rho", "runs", "original", "transformed", "lost", "t", "smallest p", "corrected", "invariance", "collapsed"],
        [_line(at_rho) for at_rho in family.by_rho],
        words=["invariance"],
        caption=_caption(family.overall, alpha),
        wide=True,
    )


def _line(at_rho: RhoDecision) -> list[str]:
    rejected = f"rejected ({at_rho.n_rejected} of {at_rho.n_runs})"
    return [
        f"{at_rho.rho:g}",
        str(at_rho.n_runs),
        percent(at_rho.accuracy),
        percent(at_rho.transformed_accuracy),
        percent(at_rho.accuracy_difference, digits=2, signed=True),
        decimal(at_rho.statistic, digits=2, undefined="-"),
        _p(at_rho.smallest_p),
        _p(at_rho.p_value),
        rejected if at_rho.reject else "not rejected",
        "?" if at_rho.n_collapsed is None else str(at_rho.n_collapsed),
    ]


def _caption(overall: OverallDecision, alpha: float) -> str:
    decision = "rejected" if overall.reject else "not rejected"
    caption = (
        "Accuracies and what is lost in points, means of runs; t and p of the run with the smallest p; corrected over "
        f"the runs at each rho.\nOver {plural(overall.n_tests, 'run')} in all: corrected p {_p(overall.p_value)}, "
        f"invariance {decision} at {alpha:g}."
    )
    if overall.snr is not None:
        snr = decimal(overall.snr, digits=1, undefined="undefined")
        caption += f" Signal-to-noise ratio of accuracies: {snr}."
    return caption


def _p(value: float) -> str:
    return "0" if value == 0 else number(value)
