"""The IE test: does a model answer a test set as well after a change that keeps its meaning?

"IE" is invariance under equivalence. The statistics on counts are in
`paraconsist.measures.paired_tests`, the corrections for many runs in `paraconsist.measures.standings`.

Source: Salvatore et al. 2023, "A resampling-based method to evaluate NLI models".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_fraction, check_whole, input_error
from paraconsist.measures import paired_tests
from paraconsist.measures.array_types import Floats, Integers, Mask, Whole
from paraconsist.measures.buckets import (
    MOST_DRAWN,
    as_column,
    as_generator,
    check_length,
    check_rows,
    code_columns,
    group_codes,
    partition_integers,
)
from paraconsist.measures.intervals import FEW_UNITS
from paraconsist.measures.paired_tests import Ties, paired_counts
from paraconsist.measures.results import Result, documented, signature
from paraconsist.measures.standings import Correction, correct_p_values, signal_to_noise, too_few_resamples

_MOST_NAMES = 5


@dataclass(frozen=True, repr=False)
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
        The decision at `alpha`: True means that the model is *not* invariant under the change.
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
        Names of the runs that give every original item one label, regardless of its gold label. They are reported,
        never dropped. None where runs have no names or predictions were not seen.
    n_collapsed : int or None
        How many runs are collapsed; None where predictions were not seen.
    confidence_interval : dict
        ``accuracy_difference``: low and high. One run: Tango's score interval over items, with groups at the effective
        number of items. Several: the mean of the runs' ends, which is wide enough for any correlation between runs on
        the same items.
    n_clusters, standard_error, design_effect : dict
        Of ``accuracy_difference``, with groups; over several runs the sum of groups, and means of the others.
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


@documented()
def ie_test(
    predictions: Any,
    transformed_predictions: Any,
    references: Any,
    *,
    runs: Any = None,
    groups: Any = None,
    method: Method = "exact",
    ties: Ties | None = None,
    n_resamples: int = 1000,
    seed: int | np.random.Generator = 0,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    confidence_level: float = 0.95,
) -> IETestResult:
    """Test whether a model is as accurate on transformed items as on the originals (the IE test).

    The reader learns whether a change that keeps the meaning, and so the gold label, costs accuracy beyond
    what chance would do to paired answers. With K = n10 - n01 and D = n10 + n01 (see `IETestResult`),

    .. math:: t = K / \\sqrt{D - K^2 / n},

    and p is the share of resamples, with the two versions of items swapped at random, with a t as extreme.

    Parameters
    ----------
    predictions, transformed_predictions, references : sequence of int or str, shape (n_rows,)
        Predicted label of the original and of the transformed item, and their common gold label. An unparsed
        answer must have a separate label: it then counts as wrong.
    runs : sequence of int or str, shape (n_rows,), optional
        Which run (a training, a rate of transformed training rows) each row comes from: every run is tested,
        and the correction runs over all of them.
    groups : sequence of int or str, shape (n_rows,), optional
        Rows that are not independent (items that share a premise, for example): whole groups are drawn and swapped, and
        t is the paired t over groups (`paraconsist.measures.paired_tests`). By default items are independent. Replays
        do not support groups.
    method : str
        ``"exact"``: the limit of the paper's resampling, without a seed (many large groups take 500,000 draws, which
        the signature records). ``"paper"``: equation 14 with `n_resamples` draws. ``"replay"``: the authors' program,
        row by row, for published numbers; the only methods for which the order of rows matters are this and
        ``"mcnemar_replay"``. ``"mcnemar"`` (exact binomial; with groups the exact distribution of signs),
        ``"mcnemar_mid_p"``, ``"mcnemar_resampled"``, ``"mcnemar_replay"``: the paper's
        alternative 1.
    ties : {"mid", "lower"}, optional
        For ``"exact"`` only: where P(t* = t) counts. "mid" (the default) halves it, and swapping the two
        versions leaves p as it is; "lower" is equation 14, without that symmetry.
    n_resamples : int
    seed : int or numpy.random.Generator
        For the methods that resample; the replays take an int.
    alpha : float
        Level of the decision about the whole family of runs.
    correction : {"bonferroni", "holm"}
        The same decision for the family; Holm may reject more single runs.
    confidence_level : float
        Of the interval for the accuracy difference.

    Returns
    -------
    IETestResult
        Where no item changed (D = 0), t is nan and p is 1, with a warning; the replays return the authors' 0.

    References
    ----------
    Salvatore et al. 2023, equations 12 to 15.

    Examples
    --------
    Three of fifty items are lost by the change, none gained:

    >>> result = ie_test([1] * 50, [0] * 3 + [1] * 47, [1] * 50)
    >>> print(f"{result.statistic:.3f} {result.p_value:.4f} {result.reject}")
    1.786 0.0615 False
    """
    labels = {"predictions": predictions, "transformed_predictions": transformed_predictions, "references": references}
    columns = code_columns("ie_test", labels)
    options = Options("ie_test", method, ties, n_resamples, seed, alpha, correction, confidence_level)
    original, transformed, gold = columns.codes.values()
    before, after = original == gold, transformed == gold

    names: list[Any] | None = None
    run = np.zeros(len(gold), dtype=np.intp)
    if runs is not None:
        named = as_column(runs, function="ie_test", parameter="runs")
        check_length("ie_test", "runs", named, len(gold))
        values, run = np.unique(np.asarray(named.values), return_inverse=True)
        names = values.tolist()

    def per_run(rows: Any = slice(None)) -> Whole:
        return np.bincount(run[rows], minlength=int(run.max()) + 1).astype(np.int64)

    order = np.argsort(run, kind="stable")  # rows of one run together, in the given order
    counts = per_run(), per_run(before & ~after), per_run(after & ~before)
    starts = np.concatenate([[0], np.cumsum(counts[0])[:-1]])

    def rows_of(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        return np.split(values[order], starts[1:])

    codes = group_codes("ie_test", groups, len(gold), "predictions")
    if codes is not None:
        if options.method in REPLAYS:
            raise input_error("ie_test", "groups", "be left out for a replay", remedy="The authors' program has none.")
        change = before.astype(np.int64) - after
        evidence = by_groups(list(zip(rows_of(change), rows_of(codes), strict=True)), options)
    elif options.method in REPLAYS:
        rows = zip(rows_of(before), rows_of(after), strict=True)
        settings: Any = {"seed": seed, "n_resamples": n_resamples, "mcnemar": options.is_mcnemar}
        p_values = np.array([paired_tests.replayed_p_value(*pair, **settings) for pair in rows])
        evidence = by_items(*counts, options, p_values)
    else:
        evidence = by_items(*counts, options)
    collapsed = _is_constant(original[order], starts) & ~_is_constant(gold[order], starts)
    return _assemble(*counts, per_run(before), evidence, options, names, collapsed.tolist())


def _is_constant(codes: npt.NDArray[Any], starts: npt.NDArray[Any]) -> Mask:
    """Return whether each run's codes are all equal; the rows of a run are adjacent."""
    return np.asarray(np.minimum.reduceat(codes, starts) == np.maximum.reduceat(codes, starts))


def ie_test_from_counts(
    n: npt.ArrayLike,
    n10: npt.ArrayLike,
    n01: npt.ArrayLike,
    *,
    n_correct: npt.ArrayLike,
    runs: Sequence[Any] | None = None,
    **options: Any,
) -> IETestResult:
    """Run `ie_test` from counts alone, so that big test sets and many runs need no rows.

    `n`, `n10`, `n01` and `n_correct`, numbers or arrays of shape (n_runs,), are the items, those right on the original
    only, on the transformed one only, and on the original in total; `runs` are the names of the runs, in their order.
    The `options` are those of `ie_test`; the replays need rows. `collapsed_runs` of the result is None, because
    predictions are not known.

    >>> result = ie_test_from_counts([50, 50], [3, 0], [0, 3], n_correct=[40, 40])
    >>> [round(p, 4) for p in result.p_values], result.reject
    ([0.0615, 0.0615], False)
    """
    name = "ie_test_from_counts"
    checked = Options(name, **options)
    if checked.method in REPLAYS:
        raise input_error(name, "method", "not be a replay", got=checked.method, remedy="Give the rows to `ie_test`.")
    shaped = paired_counts(name, n=n, n10=n10, n01=n01, n_correct=n_correct)
    items, right_before, right_after, correct = (np.atleast_1d(array) for array in shaped)
    if items.ndim != 1 or items.size == 0:
        raise input_error(name, "n", "be a number or a list of at least one", got=n)
    check_rows(name, "n_correct", "be at least n10", correct, correct < right_before)
    check_rows(name, "n_correct", "be at most n - n01", correct, items - correct < right_after)
    names = list(runs) if runs is not None else list(range(items.size)) if items.size > 1 else None
    if names is not None and len(names) != items.size:
        raise input_error(name, "runs", f"have one name per run ({items.size})", got=f"{len(names)} names")
    evidence = by_items(items, right_before, right_after, checked)
    return _assemble(items, right_before, right_after, correct, evidence, checked, names, None)


def _assemble(
    n: Whole,
    n10: Whole,
    n01: Whole,
    n_correct: Whole,
    evidence: Evidence,
    options: Options,
    names: list[Any] | None,
    collapsed: list[bool] | None,
) -> IETestResult:
    p_values, statistics = evidence.p_values, evidence.statistics
    family = correct_p_values(p_values, alpha=options.alpha, correction=options.correction)
    size = np.where(np.isnan(statistics), -1.0, np.abs(statistics))
    decisive = int(np.lexsort((-size, p_values))[0])
    accuracies, after = n_correct / n, (n_correct - n10 + n01) / n
    constant = None
    if collapsed is not None:
        constant = [name for name, is_one in zip(names or [None], collapsed, strict=True) if is_one]
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
        intervals=np.stack([evidence.low, evidence.high], axis=1).tolist(),
        runs=names,
        snr=snr,
        collapsed_runs=constant if names is not None else None,
        n_collapsed=None if constant is None else len(constant),
        **evidence.uncertainty("accuracy_difference"),
        signature=_signature(options, evidence),
        warnings=_warnings(evidence, snr, options, names, constant),
    )


def _signature(options: Options, evidence: Evidence) -> str:
    n_runs = len(evidence.p_values)
    parts: dict[str, str | None] = {"method": options.method, "sided": "two", "ties": options.ties}
    if options.method in TAILS or evidence.n_draws:
        seed = "given" if isinstance(options.seed, np.random.Generator) else str(options.seed)
        parts |= {"resamples": str(evidence.n_draws or options.n_resamples), "seed": seed}
    parts |= {"alpha": f"{options.alpha:g}", "correction": "none" if n_runs == 1 else f"{options.correction}-{n_runs}"}
    interval = f"{evidence.unit}-tango" + ("" if n_runs == 1 else ", mean of the runs' ends")
    return signature("ie_test", **parts, ci=interval, level=f"{options.confidence_level:g}")


def _warnings(
    evidence: Evidence, snr: float | None, options: Options, names: list[Any] | None, constant: list[Any] | None
) -> tuple[str, ...]:
    warnings = []
    unchanged = [name for name, still in zip(names or [None], evidence.is_still.tolist(), strict=True) if still]
    if unchanged:
        p = "0, as the authors' program has it" if options.method in REPLAYS else "1"
        what = "item changed between right and wrong" if evidence.unit == "item" else "group lost or gained"
        warnings.append(f"no {what}{_in_runs(unchanged)}: t is undefined and p is {p}")
    few = [] if evidence.n_groups is None else evidence.n_groups[evidence.n_groups < FEW_UNITS].tolist()
    if few:
        warnings.append(f"only {min(few)} groups: the p-value and the interval are rough")
    if constant:
        warnings.append(f"every original item gets one label{_in_runs(constant)}: collapsed, and kept in all numbers")
    if snr is not None and np.isnan(snr):
        warnings.append("the runs have equal accuracies: their signal-to-noise ratio is undefined")
    return (*warnings, *few_draws(options, len(evidence.p_values)))


def few_draws(options: Options, n_runs: int) -> list[str]:
    """Return a warning where no p above 0 of so many runs could be rejected, as resamples are too few."""
    tails, total = TAILS.get(options.method), options.n_resamples
    if tails is None or not too_few_resamples(total, n_runs, options.alpha, tails=tails):
        return []
    few = f"{total} resamples are too few to reject at {options.alpha:g} over {n_runs} run(s) by any p but 0: take at "
    return [f"{few}least {int(tails * n_runs / options.alpha)}, or method 'exact'"]


def _in_runs(names: list[Any]) -> str:
    if names == [None]:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" in {len(names)} run(s) ({', '.join(map(repr, names[:_MOST_NAMES]))}{more})"


Method: TypeAlias = Literal[
    "exact", "paper", "replay", "mcnemar", "mcnemar_mid_p", "mcnemar_resampled", "mcnemar_replay"
]
METHODS: tuple[str, ...] = get_args(Method)
TAILS = {"paper": 2, "replay": 2, "mcnemar_resampled": 1, "mcnemar_replay": 1}
"""The methods that resample, and the number of tails that their p sums."""

REPLAYS = ("replay", "mcnemar_replay")


@dataclass(frozen=True)
class Options:
    """Options of the IE test, checked; an `InputError` of `function` names the one that is wrong."""

    function: str
    method: Method = "exact"
    ties: Ties | None = None  # "mid" for the exact test, where it is not given
    n_resamples: int = 1000
    seed: Any = 0
    alpha: float = 0.05
    correction: Correction = "bonferroni"
    confidence_level: float = 0.95

    def __post_init__(self) -> None:
        check_choice(self.function, "method", self.method, METHODS)
        check_choice(self.function, "correction", self.correction, get_args(Correction))
        if self.method == "exact":
            object.__setattr__(self, "ties", "mid" if self.ties is None else self.ties)
            check_choice(self.function, "ties", self.ties, get_args(Ties))
        elif self.ties is not None:
            raise input_error(self.function, "ties", "be left out unless `method` is 'exact'", got=self.ties)
        if self.method in REPLAYS:
            check_whole(self.function, "seed", self.seed, at_least=0, at_most=None)
        as_generator(self.function, "seed", self.seed)
        check_whole(self.function, "n_resamples", self.n_resamples, at_most=MOST_DRAWN)
        check_fraction(self.function, "confidence_level", self.confidence_level)
        check_fraction(self.function, "alpha", self.alpha)

    @cached_property
    def generator(self) -> np.random.Generator:
        return as_generator(self.function, "seed", self.seed)

    @property
    def is_mcnemar(self) -> bool:
        return self.method.startswith("mcnemar")

    @property
    def resampling(self) -> dict[str, Any]:
        """The parameters of `resampled_p_value`, of items or groups."""
        return {"n_resamples": self.n_resamples, "rng": self.generator, "mcnemar": self.is_mcnemar}


@dataclass(frozen=True)
class Evidence:
    """The test results of M runs; arrays have shape (M,)."""

    p_values: Floats
    statistics: Floats
    low: Floats  # The ends of the intervals of the accuracy lost.
    high: Floats
    is_still: Any  # where no item changed, so that the statistic is undefined
    unit: str = "item"  # or "group": what is swapped
    n_draws: int = 0  # of a p that is exact for smaller groups; 0 if all are exact
    n_groups: Whole | None = None  # of the groups, as the next two; None without
    standard_errors: Floats | None = None
    design_effects: Floats | None = None

    def uncertainty(self, name: str) -> dict[str, Any]:
        """Return the uncertainty of the value of this name, as the fields of a `Result`."""
        interval = {"confidence_interval": {name: [float(self.low.mean()), float(self.high.mean())]}}
        if self.n_groups is None or self.standard_errors is None or self.design_effects is None:
            return interval
        return {
            **interval,
            "n_clusters": {name: int(self.n_groups.sum())},
            "standard_error": {name: float(self.standard_errors.mean())},
            "design_effect": {name: float(self.design_effects.mean())},
        }


def by_items(n: Whole, n10: Whole, n01: Whole, options: Options, p_values: Floats | None = None) -> Evidence:
    """Test every run by its counts, each of shape (M,); replays, which need rows, come with their `p_values`."""
    if p_values is not None:
        p = p_values
    elif options.method == "exact":
        p = paired_tests.exact_p_value(n, n10, n01, ties=options.ties or "mid")
    elif options.method in ("mcnemar", "mcnemar_mid_p"):
        p = paired_tests.mcnemar_p_value(n10, n01, mid_p=options.method == "mcnemar_mid_p")
    else:
        p = paired_tests.resampled_p_value(n, n10, n01, **options.resampling)
    statistics = paired_tests.paired_statistic(n, n10, n01)
    if options.is_mcnemar:
        statistics = paired_tests.mcnemar_statistic(n10, n01)
    low, high = paired_tests.paired_difference_interval(n, n10, n01, confidence_level=options.confidence_level)
    return Evidence(p, statistics, low, high, n10 + n01 == 0)


def by_groups(changes: Sequence[tuple[Integers, Integers]], options: Options) -> Evidence:
    """Test every run by the change of its items: 1 if only the original is right, -1 if only the other, else 0.

    `changes` holds for each run these and the items' groups as integers, both of shape (n,).
    """
    runs = [(change, partition_integers(groups).codes) for change, groups in changes]
    differences = [paired_tests.group_differences(*run) for run in runs]
    parts = [
        paired_tests.grouped_difference(
            np.bincount(codes[change == 1], minlength=len(k)),
            np.bincount(codes[change == -1], minlength=len(k)),
            np.bincount(codes),
            options.confidence_level,
        )
        for (change, codes), k in zip(runs, differences, strict=True)
    ]
    low, high = np.array([interval for interval, *_ in parts]).T
    drawn = options.method == "exact" and not all(map(paired_tests.is_exact, differences))
    return Evidence(
        np.array([_grouped_p_value(k, options) for k in differences]),
        np.array([paired_tests.grouped_statistic(k, mcnemar=options.is_mcnemar) for k in differences]),
        low,
        high,
        np.array([not k.any() for k in differences]),
        "group",
        paired_tests.DRAWS if drawn else 0,
        np.array([len(k) for k in differences]),
        np.array([error for _, error, _ in parts]),
        np.array([effect for *_, effect in parts]),
    )


def _grouped_p_value(differences: Whole, options: Options) -> float:
    if options.method == "exact":
        return paired_tests.grouped_exact_p_value(differences, ties=options.ties or "mid", rng=options.generator)
    if options.method in ("mcnemar", "mcnemar_mid_p"):
        return paired_tests.grouped_mcnemar_p_value(differences, mid_p=options.method == "mcnemar_mid_p")
    return paired_tests.grouped_resampled_p_value(differences, **options.resampling)
