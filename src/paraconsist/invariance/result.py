"""What the IE test found, put together from the counts and p-values of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from paraconsist.invariance.multiple_testing import Correction, correct_p_values, signal_to_noise, too_few_resamples
from paraconsist.invariance.paired_tests import (
    FloatArray,
    IntArray,
    Ties,
    mcnemar_statistic,
    paired_difference_interval,
    paired_statistic,
)
from paraconsist.results import Result
from paraconsist.signatures import signature

__all__ = ["METHODS", "IETestOptions", "IETestResult", "Method", "assemble"]

Method: TypeAlias = Literal[
    "exact", "paper", "replay", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled", "mcnemar_replay"
]
METHODS: tuple[str, ...] = get_args(Method)
_TAILS = {"paper": 2, "replay": 2, "mcnemar_resampled": 1, "mcnemar_replay": 1}
_MOST_NAMES = 5


@dataclass(frozen=True)
class IETestResult(Result):
    """What the IE test found; with several runs the scalars describe the family of runs.

    Attributes
    ----------
    statistic : float
        The paired t (McNemar's K^2/D for those methods): positive where the original is answered better, 0
        at no difference, nan where no item changed. With several runs, that of the run with the smallest p.
    p_value : float
        Two-sided, in [0, 1], small where the accuracies differ. With several runs the family's:
        min(1, M min p).
    reject : bool
        The decision at `alpha`: True says that the model is *not* invariant under the change.
    accuracy, transformed_accuracy, accuracy_difference : float
        On the original items, on the transformed ones, and the first less the second, each in [0, 1] and
        [-1, 1]; means over runs.
    n10, n01, n : int
        Items right on the original only, right on the transformed one only, and all; summed over runs.
    n_runs : int
        M, over which the correction runs.
    p_values, statistics, rejected : list, length n_runs
        For every run, uncorrected p first; `rejected` is after the correction. Runs in ascending order.
    accuracies, transformed_accuracies : list of float, length n_runs
    intervals : list of pairs of float, length n_runs
        Every run's interval for its accuracy difference.
    runs : list, length n_runs, or None
        Names of the runs, ascending; None where `runs` was not given.
    snr : float or None
        Signal-to-noise ratio of the original accuracies over runs (equation 15), higher is steadier; nan
        where all are equal; None for one run.
    collapsed_runs : list or None
        Names of the runs that give every original item one label, whatever its gold label. They are reported,
        never dropped. None where runs have no names or predictions were not seen.
    n_collapsed : int or None
        How many runs are collapsed; None where predictions were not seen.
    confidence_interval : dict
        ``accuracy_difference``: low and high. One run: Tango's score interval over items. Several: the
        mean of the runs' ends, which is wide enough whatever the correlation between runs on the same items.
    signature, warnings
        How the numbers were made; what to know before reading them.
    """

    statistic: float
    p_value: float
    reject: bool
    accuracy: float
    transformed_accuracy: float
    accuracy_difference: float
    n10: int
    n01: int
    n: int
    n_runs: int
    p_values: list[float]
    statistics: list[float]
    rejected: list[bool]
    accuracies: list[float]
    transformed_accuracies: list[float]
    intervals: list[list[float]]
    runs: list[Any] | None
    snr: float | None
    collapsed_runs: list[Any] | None
    n_collapsed: int | None
    confidence_interval: dict[str, list[float]]
    signature: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class IETestOptions:
    """Checked options of the IE test."""

    method: Method
    ties: Ties | None
    n_resamples: int
    seed: Any
    generator: np.random.Generator
    alpha: float
    correction: Correction
    confidence_level: float


def assemble(
    n: IntArray,
    n10: IntArray,
    n01: IntArray,
    n_correct: IntArray,
    p_values: FloatArray,
    options: IETestOptions,
    names: list[Any] | None,
    collapsed: list[bool] | None,
) -> IETestResult:
    is_mcnemar = options.method.startswith("mcnemar")
    statistics: FloatArray = mcnemar_statistic(n10, n01) if is_mcnemar else paired_statistic(n, n10, n01)
    family = correct_p_values(p_values, alpha=options.alpha, correction=options.correction)
    size = np.where(np.isnan(statistics), -1.0, np.abs(statistics))
    decisive = int(np.lexsort((-size, p_values))[0])
    accuracies, after = n_correct / n, (n_correct - n10 + n01) / n
    low, high = paired_difference_interval(n, n10, n01, confidence_level=options.confidence_level)
    shown = names if names is not None else [None]
    constant = None if collapsed is None else [name for name, is_one in zip(shown, collapsed, strict=True) if is_one]
    snr = signal_to_noise(accuracies) if len(n) > 1 else None
    return IETestResult(
        statistic=float(statistics[decisive]),
        p_value=family.p_value,
        reject=family.reject,
        accuracy=float(accuracies.mean()),
        transformed_accuracy=float(after.mean()),
        accuracy_difference=float(((n10 - n01) / n).mean()),
        n10=int(n10.sum()),
        n01=int(n01.sum()),
        n=int(n.sum()),
        n_runs=len(n),
        p_values=p_values.tolist(),
        statistics=statistics.tolist(),
        rejected=family.rejected.tolist(),
        accuracies=accuracies.tolist(),
        transformed_accuracies=after.tolist(),
        intervals=np.stack([low, high], axis=1).tolist(),
        runs=names,
        snr=snr,
        collapsed_runs=constant if names is not None else None,
        n_collapsed=None if constant is None else len(constant),
        confidence_interval={"accuracy_difference": [float(low.mean()), float(high.mean())]},
        signature=_signature(options, len(n)),
        warnings=_warnings(n10 + n01, snr, options, names, constant),
    )


def _signature(options: IETestOptions, n_runs: int) -> str:
    parts = {"method": options.method, "sided": "two"}
    if options.ties is not None:
        parts["ties"] = options.ties
    if options.method in _TAILS:
        parts |= {"resamples": str(options.n_resamples), "seed": _seed(options)}
    parts |= {"alpha": f"{options.alpha:g}", "correction": f"{options.correction}-{n_runs}"}
    if n_runs == 1:
        parts["correction"] = "none"
    interval = "item-tango" if n_runs == 1 else "item-tango, mean of the runs' ends"
    return signature("ie_test", **parts, ci=interval, level=f"{options.confidence_level:g}")


def _seed(options: IETestOptions) -> str:
    return "given" if isinstance(options.seed, np.random.Generator) else str(options.seed)


def _warnings(
    d: IntArray,
    snr: float | None,
    options: IETestOptions,
    names: list[Any] | None,
    constant: list[Any] | None,
) -> tuple[str, ...]:
    found = []
    unchanged = [name for name, count in zip(names or [None], d.tolist(), strict=True) if count == 0]
    if unchanged:
        p = "0, as the authors' program has it" if options.method.endswith("replay") else "1"
        found.append(f"no item changed between right and wrong{_in_runs(unchanged)}: t is undefined and p is {p}")
    if constant:
        found.append(f"every original item gets one label{_in_runs(constant)}: collapsed, and kept in all numbers")
    if snr is not None and np.isnan(snr):
        found.append("the runs have equal accuracies: their signal-to-noise ratio is undefined")
    total, n_runs = options.n_resamples, len(d)
    if options.method in _TAILS and too_few_resamples(total, n_runs, options.alpha, tails=_TAILS[options.method]):
        needed = int(_TAILS[options.method] * n_runs / options.alpha)
        found.append(
            f"{total} resamples are too few to reject at {options.alpha:g} over {n_runs} run(s) by any p "
            f"but 0: take at least {needed}, or method 'exact'"
        )
    return tuple(found)


def _in_runs(names: list[Any]) -> str:
    if names == [None]:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" in {len(names)} run(s) ({', '.join(map(repr, names[:_MOST_NAMES]))}{more})"
