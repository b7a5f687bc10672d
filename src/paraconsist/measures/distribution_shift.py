"""Distribution shift: how far a model's class probabilities move under paraphrasing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from paraconsist.errors import input_error
from paraconsist.measures._estimates import IntervalOptions, interval_options, interval_parts
from paraconsist.measures._validation import Integers, as_column
from paraconsist.measures.buckets import partition
from paraconsist.measures.intervals import intervals
from paraconsist.measures.resampling import Units, design_effects
from paraconsist.measures.results import Result
from paraconsist.measures.signatures import signature

Floats = npt.NDArray[np.float64]

SHIFTS = ("jensen_shannon_distance", "jensen_shannon_divergence", "max_difference", "standard_deviation")
"""The order of the columns of `shifts`."""

_SUM_TOLERANCE = 0.02  # half-precision softmax sums to 1 within about this much
_METHODS = ("auto", "bootstrap", "closed_form")
_FEW_UNITS = 10
_UNCERTAINTY = ("confidence_interval", "standard_error", "n_clusters", "design_effect")
_MOST_DRAWS = 50_000_000  # `interval_method="auto"` takes the closed form beyond this: seconds


@dataclass(frozen=True)
class DistributionShiftResult(Result):
    """How far class probabilities move, for changed and unchanged predictions apart.

    Each of the first four is a mapping with the keys ``"changed"`` and ``"unchanged"``: the mean over the
    pairs whose two most probable labels differ, and over the others; nan where there are none.

    Attributes
    ----------
    jensen_shannon_distance : dict of str to float
        In [0, 1]; what the authors' program calls JSD.
    jensen_shannon_divergence : dict of str to float
        Its square, in bits, in [0, 1] (the mean of squares, not the square of the mean).
    max_difference : dict of str to float
        Largest difference of a class probability, in [0, 1]; what the authors' program calls KS.
    standard_deviation : dict of str to float
        Population standard deviation over the classes of the variant's probabilities, in [0, 0.5]: 0 for a
        uniform answer, sqrt(L - 1)/L for a certain one among L labels.
    n_changed, n_unchanged : int
    confidence_interval : dict of str to dict of str to list of two floats
    standard_error, n_clusters, design_effect : dict of str to dict of str to float or int
        Cluster-robust standard errors, the independent units behind each value (groups, or pairs where there
        are none), and its variance over that of as many independent pairs.
    signature : str
    warnings : tuple of str
    """

    jensen_shannon_distance: dict[str, float]
    jensen_shannon_divergence: dict[str, float]
    max_difference: dict[str, float]
    standard_deviation: dict[str, float]
    n_changed: int
    n_unchanged: int
    confidence_interval: dict[str, dict[str, list[float]]]
    standard_error: dict[str, dict[str, float]]
    n_clusters: dict[str, dict[str, int]]
    design_effect: dict[str, dict[str, float]]
    signature: str
    warnings: tuple[str, ...]


def shifts(probabilities: Floats, original_probabilities: Floats) -> Floats:
    """Return the four quantities of `SHIFTS` for every pair, shape (n, 4).

    Parameters
    ----------
    probabilities, original_probabilities : ndarray, shape (n, n_labels)
        Rows sum to 1.
    """
    middle = (probabilities + original_probabilities) / 2.0
    divergence = rel_entr(probabilities, middle).sum(axis=1) + rel_entr(original_probabilities, middle).sum(axis=1)
    divergence = np.clip(divergence / (2.0 * np.log(2.0)), 0.0, 1.0)  # rounding alone leads out of [0, 1]
    return np.stack(
        [
            np.sqrt(divergence),
            divergence,
            np.abs(probabilities - original_probabilities).max(axis=1),
            probabilities.std(axis=1),
        ],
        axis=1,
    )


def distribution_shift(
    probabilities: Any,
    original_probabilities: Any,
    *,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> DistributionShiftResult:
    r"""Mean distance between a model's class probabilities on an original and on its variant.

    The reader learns whether a changed answer was a near tie tipped over (small shift) or a change of mind,
    and how much moves behind answers that stay the same.

    With p, q the class probabilities on variant and original and m = (p + q)/2, per pair

    .. math::
        D_{JS} = \tfrac12 \sum_l p_l \log_2 \frac{p_l}{m_l} + \tfrac12 \sum_l q_l \log_2 \frac{q_l}{m_l},
        \qquad d_{JS} = \sqrt{D_{JS}}, \qquad \max_l |p_l - q_l|, \qquad \sigma = \mathrm{sd}(p_1 \dots p_L)

    and means of these over the pairs whose most probable label changes, and over the others. The first three
    lie in [0, 1], are 0 for equal probabilities, symmetric in p and q, and down is good. The Jensen-Shannon
    distance equals ``scipy.spatial.distance.jensenshannon(p, q, base=2)``.

    Parameters
    ----------
    probabilities, original_probabilities : sequence of sequences of float, shape (n, n_labels)
        Class probabilities of every variant and of its original, classes in one order. Rows are divided by
        their sum, which must be 1 within 0.02. Ties for the most probable label go to the first.
    groups : sequence of int or str, shape (n,), optional
        The original of every pair, or a shared context: what intervals resample.
    interval_method : {"auto", "bootstrap", "closed_form"}
        Percentiles of a bootstrap over pairs (groups), or t intervals from cluster-robust standard errors.
        ``"auto"`` is the bootstrap up to 5,000 pairs (at 10,000 resamples), the closed form beyond.
    confidence_level, n_resamples, seed
        As for `paraconsist.measures.pairs.semantic_inconsistency`.

    Returns
    -------
    DistributionShiftResult
        Undefined values are nan and named in `warnings`; nothing is printed.

    Raises
    ------
    InputError
        For empty, missing or unequally long input, rows with another number of classes, rows that are no
        probabilities, and options outside their range.

    References
    ----------
    Arakelyan, Liu, Augenstein (2024), "Semantic Sensitivities and Inconsistent Predictions: Measuring the
    Fragility of NLI Models", EACL.

    Examples
    --------
    >>> result = distribution_shift([[0.9, 0.1], [0.4, 0.6]], [[0.9, 0.1], [0.6, 0.4]])
    >>> result.n_changed, {key: round(value, 4) for key, value in result.max_difference.items()}
    (1, {'changed': 0.2, 'unchanged': 0.0})
    >>> round(result.jensen_shannon_distance["changed"], 4)
    0.1704
    """
    function = "distribution_shift"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed, _METHODS)
    variant = as_probability_rows(probabilities, function=function, parameter="probabilities")
    original = as_probability_rows(original_probabilities, function=function, parameter="original_probabilities")
    if len(variant) != len(original):
        raise input_error(
            function,
            "original_probabilities",
            f"have one value per row of `probabilities` ({len(variant)})",
            got=f"{len(original)} values",
        )
    if variant.shape[1] != original.shape[1]:
        raise input_error(
            function,
            "original_probabilities",
            f"have {variant.shape[1]} classes, as `probabilities` has",
            got=original[0].tolist(),
            row=0,
        )
    group_codes: Integers | None = None
    if groups is not None:
        column = as_column(groups, function=function, parameter="groups")
        if len(column) != len(variant):
            raise input_error(
                function,
                "groups",
                f"have one value per row of `probabilities` ({len(variant)})",
                got=f"{len(column)} values",
            )
        group_codes = partition(column).codes

    changed = variant.argmax(axis=1) != original.argmax(axis=1)
    values = shifts(variant, original)
    found: dict[str, dict[str, float]] = {name: {} for name in SHIFTS}
    uncertainty: dict[str, dict[str, dict[str, Any]]] = {key: {name: {} for name in SHIFTS} for key in _UNCERTAINTY}
    method, warnings = options.method, list[str]()
    if method == "auto":
        n_units = len(variant) if group_codes is None else int(group_codes.max()) + 1
        method = "bootstrap" if n_units * options.n_resamples <= _MOST_DRAWS else "closed_form"
    for side, rows in (("changed", changed), ("unchanged", ~changed)):
        means, known, notes = _means(values, rows, group_codes, replace(options, method=method), side)
        warnings += notes
        for i, name in enumerate(SHIFTS):
            found[name][side] = float(means[i])
            for key in _UNCERTAINTY:
                uncertainty[key][name][side] = known[key][i]
    return DistributionShiftResult(
        **found,
        n_changed=int(np.count_nonzero(changed)),
        n_unchanged=int(np.count_nonzero(~changed)),
        confidence_interval=uncertainty["confidence_interval"],
        standard_error=uncertainty["standard_error"],
        n_clusters=uncertainty["n_clusters"],
        design_effect=uncertainty["design_effect"],
        signature=signature(
            function,
            avg="pair",
            logarithm="2",
            **interval_parts(options, method, "pair" if group_codes is None else "group"),
        ),
        warnings=tuple(warnings),
    )


def _means(
    values: Floats, rows: npt.NDArray[np.bool_], groups: Integers | None, options: IntervalOptions, side: str
) -> tuple[Floats, dict[str, list[Any]], list[str]]:
    """Return the means over some rows, what is known of their uncertainty (`_UNCERTAINTY`), and warnings."""
    nothing = np.full(len(SHIFTS), np.nan)
    if not rows.any():
        nowhere = [[float("nan")] * 2 for _ in SHIFTS]
        unknown = (nowhere, nothing.tolist(), [0] * len(SHIFTS), nothing.tolist())
        return (
            nothing,
            dict(zip(_UNCERTAINTY, unknown, strict=True)),
            [f"no prediction is {side}: undefined, so nan, for those"],
        )
    chosen = values[rows]
    sums = np.concatenate([np.ones((len(chosen), 1)), chosen], axis=1)
    pairs = Units.unstratified(sums, np.ones(len(sums), dtype=np.int64))
    if groups is not None:
        codes = partition(groups[rows]).codes
        sums = np.stack([np.bincount(codes, weights=column) for column in sums.T], axis=1)
    distinct, multiplicity = np.unique(sums, axis=0, return_counts=True)
    units = Units.unstratified(distinct, multiplicity)
    found = intervals(
        units,
        _ratios,
        [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 0.5)],
        [True] * len(SHIFTS),
        method=options.method,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        rng=np.random.default_rng(options.entropy),
    )
    unit = "pairs" if groups is None else "groups"
    notes = []
    if units.n == 1:
        notes.append(f"one of the {unit} is {side}: no interval for those")
    elif units.n < _FEW_UNITS:
        notes.append(f"only {units.n} {unit} are {side}: the intervals for those are rough")
    flat = [name for name, at_boundary in zip(SHIFTS, found.at_boundary, strict=True) if at_boundary]
    if flat:
        notes.append(
            f"no spread between {side} {unit}, so the interval is a Clopper-Pearson type bound: {', '.join(flat)}"
        )
    ends = np.stack([found.low, found.high], axis=1).tolist()
    effects = design_effects(units, pairs, _ratios).tolist()
    known = (ends, found.standard_error.tolist(), [units.n] * len(SHIFTS), effects)
    return chosen.mean(axis=0), dict(zip(_UNCERTAINTY, known, strict=True)), notes


def _ratios(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
    means: npt.NDArray[Any] = total[..., 1:] / total[..., :1]
    return means


def as_probability_rows(values: Any, *, function: str, parameter: str) -> Floats:
    """Return class probabilities as an array of shape (n, n_labels) whose rows sum to 1, or raise."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise input_error(function, parameter, "be a list of lists of probabilities", got=values)
    rows: Any = values if hasattr(values, "__array__") else list(values)
    if len(rows) == 0:
        raise input_error(function, parameter, "not be empty", got=[])
    try:
        array: Floats = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong_row(rows, function, parameter) from None
    if array.ndim != 2 or array.shape[1] < 2:
        must = "hold the probabilities of at least two classes"
        raise input_error(function, parameter, must, got=rows[0], row=0)
    total = array.sum(axis=1)
    with np.errstate(invalid="ignore"):
        good = (array >= 0.0).all(axis=1) & (np.abs(total - 1.0) <= _SUM_TOLERANCE)
    if not good.all():
        row = int((~good).argmax())
        raise input_error(
            function,
            parameter,
            "hold probabilities that sum to 1",
            got=array[row].tolist(),
            row=row,
            remedy="Give softmax outputs, not logits.",
        )
    normalized: Floats = array / total[:, np.newaxis]
    return normalized


def _wrong_row(rows: Any, function: str, parameter: str) -> Exception:
    """Return the error about the first row that is no list of as many numbers as the first has."""
    width = len(rows[0]) if isinstance(rows[0], (list, tuple, np.ndarray)) else -1
    for row, value in enumerate(rows):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.zeros(())
        if array.ndim != 1 or len(array) != width:
            must = "hold a list of numbers" if array.ndim != 1 else f"have {width} classes, as row 0 has"
            return input_error(function, parameter, must, got=value, row=row)
    return input_error(function, parameter, "be a list of lists of probabilities", got=rows[0], row=0)
