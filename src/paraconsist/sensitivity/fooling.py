"""Fooling rates: how many right answers some variant of the text turns over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist._validation import check_choice, check_whole
from paraconsist.errors import input_error
from paraconsist.rates import Mask, Rates, interval_options
from paraconsist.results import Result
from paraconsist.sensitivity.items import Items, Variants, count_items, opposites_of

__all__ = ["PRESETS", "FoolingRateResult", "fooling_rate"]

PRESETS: dict[str, tuple[int | None, int]] = {"paper": (None, 0), "code": (5, 5)}
"""Preset to (`variants`, `minimum`)."""


@dataclass(frozen=True)
class FoolingRateResult(Result):
    """Share of right items that at least one meaning-preserving variant turns over.

    Attributes
    ----------
    relaxed : float
        r_r, any other prediction counts; in [0, 1], down is good; nan if there is no item.
    strict : float
        r_s, only the opposite prediction counts; never above `relaxed`.
    n_items : int
        n', the originals that are answered right and have enough variants.
    by_label : dict of str to dict
        For every gold label `relaxed`, `strict`, `n_items` and `confidence_interval`.
    confidence_interval : dict of str to list of two floats
    standard_error : dict of str to float
        Cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each value: groups, or rows where there are none.
    design_effect : dict of str to float
        Variance of each value over that of as many independent rows: 1 without `groups`.
    signature : str
    warnings : tuple of str
    """

    relaxed: float
    strict: float
    n_items: int
    by_label: dict[str, dict[str, Any]]
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    design_effect: dict[str, float]
    signature: str
    warnings: tuple[str, ...]


def fooling_rate(
    predictions: Any,
    original_predictions: Any,
    references: Any,
    buckets: Any,
    *,
    originals: Mapping[Any, Any] | None = None,
    opposites: Mapping[Any, Any] | None = None,
    variants: int | None = None,
    minimum: int | None = None,
    preset: str = "paper",
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> FoolingRateResult:
    r"""Share of items, answered right, whose prediction at least one of their variants changes.

    The reader learns how easily the model is talked out of a right answer by a rewording that it finds
    equivalent itself. It grows with the number of variants, so compare only at one number.

    .. math::
        r_r = \frac{1}{n'} \sum_{i} \max_{j \le k_i} [M(v_{ij}) \ne M(o_i)], \qquad
        r_s = \frac{1}{n'} \sum_{i} \max_{j \le k_i} [M(v_{ij}) = \overline{M(o_i)}]

    over the n' originals o with M(o) = gold and at least `minimum` variants v; :math:`\overline{l}` is the
    opposite of a label; for a label without one (neutral) any change counts. Range [0, 1], down is good,
    r_s <= r_r; a constant answer scores 0. Undefined (nan) without an item.

    Parameters
    ----------
    predictions : sequence of int or str, shape (n,)
        Predicted label of every variant, all as numbers or all as names.
    original_predictions, references : sequence of int or str, shape (n,)
        Predicted and gold label of every variant's original; the same within a bucket.
    buckets : sequence of int or str, shape (n,)
        The item of every variant. Rows may come in any order; `variants` takes the first ones of each bucket.
    originals : mapping of bucket to pair of labels, optional
        (prediction, gold label) of *every* original, also of those without a variant; the buckets above must
        be among them. Without it, originals that have no variant are unknown and left out.
    opposites : mapping of label to label, optional
        By default entailment and contradiction are each other's opposite: the labels of these names, or 0 and
        2 among the numbers 0, 1, 2. Labels that are not in the mapping have no opposite.
    variants : int, optional
        How many variants of each item are used, k: the first ones. None for all.
    minimum : int, optional
        Items with fewer variants are left out. 0 keeps originals without variants, which nothing can fool.
    preset : {"paper", "code"}
        Where `variants` and `minimum` are not given: the paper's definition (all variants, every original),
        or what the authors' program does (the first 5, items with fewer are dropped; it draws 10 candidates).
    groups : sequence of int or str, shape (n,), or mapping of bucket to int or str, optional
        What intervals resample where items are not independent (a shared premise); one group per bucket. A
        mapping is needed where `originals` names buckets without variants.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.logical.semantic_inconsistency`, over items.

    Returns
    -------
    FoolingRateResult
        Undefined values are nan and named in `warnings`; nothing is printed.

    Raises
    ------
    InputError
        For empty, missing, mixed or unequally long input, originals that differ within a bucket or from
        `originals`, variants without their original, and options outside their range.

    References
    ----------
    Arakelyan, Liu, Augenstein (2024), "Semantic Sensitivities and Inconsistent Predictions: Measuring the
    Fragility of NLI Models", EACL. Section 3.

    Examples
    --------
    Three right items (entailment is 0, neutral 1, contradiction 2): one moves to neutral, one to its
    opposite, one stays.

    >>> result = fooling_rate(
    ...     predictions=[0, 1, 2, 0, 1, 1],
    ...     original_predictions=[0, 0, 2, 2, 1, 1],
    ...     references=[0, 0, 2, 2, 1, 1],
    ...     buckets=["a", "a", "b", "b", "c", "c"],
    ... )
    >>> round(result.relaxed, 4), round(result.strict, 4), result.n_items
    (0.6667, 0.3333, 3)

    The paper's averages over models (r_s / r_r, percent): MNLI 6.58 / 12.92, SNLI 10.24 / 16.54.
    """
    function = "fooling_rate"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    check_choice(function, "preset", preset, PRESETS)
    k, least = PRESETS[preset]
    k = k if variants is None else check_whole(function, "variants", variants)
    least = least if minimum is None else check_whole(function, "minimum", minimum, at_least=0)
    if k is not None and least > k:
        raise input_error(
            function,
            "minimum",
            f"not be above the number of variants that are used ({k})",
            got=least,
            remedy="Give `variants` and `minimum` both.",
        )
    given = Variants(predictions, original_predictions, references, buckets)
    items = count_items(function, given, originals=originals, opposites=opposites, k=k, groups=groups)
    enough = items.n_variants >= least
    counted = items.right & enough

    rates = Rates(options, "item", items.groups)
    _warn(rates, items, counted, least)
    relaxed = rates.add("relaxed", items.changed, counted)
    strict = rates.add("strict", items.reversed, counted)
    by_label = {}
    for code in sorted(set(items.gold.tolist()), key=lambda code: items.labels[code]):
        rows = counted & (items.gold == code)
        names = ("relaxed", "strict")
        shares, interval = rates.stratum(names, (items.changed, items.reversed), rows)
        by_label[str(items.labels[code])] = {
            **dict(zip(names, shares, strict=True)),
            "n_items": int(np.count_nonzero(rows)),
            "confidence_interval": interval,
        }
    empty = [label for label, found in by_label.items() if found["n_items"] == 0]
    if empty and counted.any():
        rates.warnings.append(f"undefined, so nan, for gold labels without an item: {', '.join(empty)}")
    return FoolingRateResult(
        relaxed=relaxed,
        strict=strict,
        n_items=int(np.count_nonzero(counted)),
        by_label=by_label,
        **rates.uncertainty,
        signature=rates.signature(
            preset=preset,
            variants="all" if k is None else f"first {k}",
            minimum=str(least),
            originals="those with variants" if originals is None else "all given",
            opposites=opposites_of(items),
        ),
        warnings=rates.all_warnings(),
    )


def _warn(rates: Rates, items: Items, counted: Mask, least: int) -> None:
    dropped = int(np.count_nonzero(items.right & ~counted))
    if dropped:
        rates.warnings.append(
            f"{dropped} of {int(np.count_nonzero(items.right))} originals that are answered right have fewer "
            f"than {least} variants: left out"
        )
    if not counted.any():
        rates.warnings.append("no original is answered right and has enough variants")
    if items.constant:
        rates.warnings.append(
            f"every prediction is {items.constant[0]!r}: a constant answer scores 0 whatever the texts say"
        )
    rates.warnings.extend(items.warnings)
