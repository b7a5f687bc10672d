"""From the rows of variants to what each item did, for `paraconsist.measures.fooling_rate.fooling_rate`.

Fooling rates: how many right answers some variant of the text turns over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_choice, check_whole, input_error
from paraconsist.measures._estimates import Mask, Rates, interval_options
from paraconsist.measures._validation import (
    Column,
    Integers,
    as_column,
    check_comparable,
    check_same_length,
    code_jointly,
)
from paraconsist.measures.buckets import Partition, one_per_bucket, partition
from paraconsist.measures.results import Result

_NAMED = ("entailment", "contradiction")
_NUMBERED = {0: 2, 2: 0}


class Variants(NamedTuple):
    """The columns of the variants, as given."""

    predictions: Any
    original_predictions: Any
    references: Any
    buckets: Any


@dataclass(frozen=True)
class Items:
    """What each item (original with its variants) did; arrays of shape (n_items,).

    Attributes
    ----------
    right : ndarray of bool
        The original is answered right.
    changed, reversed : ndarray of bool
        A variant in use got another prediction than the original; the opposite one (any other, for labels
        without an opposite).
    n_variants : ndarray of int
        How many variants there are, before any is left out.
    gold : ndarray of int
        Gold label, as a code that stands for ``labels[code]``.
    groups : ndarray of int or None
    opposites : dict of label to label
    constant : list
        [label] if all predictions are one label, else [].
    warnings : list of str
    """

    right: Mask
    changed: Mask
    reversed: Mask
    n_variants: npt.NDArray[np.intp]
    gold: Integers
    labels: list[Any]
    groups: Integers | None
    opposites: dict[Any, Any]
    constant: list[Any]
    warnings: list[str]


def count_items(
    function: str,
    given: Variants,
    *,
    originals: Mapping[Any, Any] | None,
    opposites: Mapping[Any, Any] | None,
    k: int | None,
    groups: Any,
) -> Items:
    """Check the columns and see what happened to each item."""
    columns = {name: as_column(values, function=function, parameter=name) for name, values in given._asdict().items()}
    if groups is not None and not isinstance(groups, Mapping):
        columns["groups"] = as_column(groups, function=function, parameter="groups")
    check_same_length(function, columns)
    named = ("predictions", "original_predictions", "references")
    check_comparable(function, {name: columns[name] for name in named})
    divided = partition(columns["buckets"])
    ids = divided.ids_of()

    listed = _listed_originals(function, originals, columns, ids)
    (predicted, row_original, row_gold, *more), labels = code_jointly(
        *(columns[name] for name in named), *(listed.columns if listed else ())
    )
    original = one_per_bucket(
        function,
        divided,
        row_original,
        "original_predictions",
        "prediction of its original",
        columns["original_predictions"].tolist,
    )
    gold = one_per_bucket(function, divided, row_gold, "references", "gold label", columns["references"].tolist)
    if listed:
        original, gold = _join(function, divided, original, gold, listed, *more)
        ids = ids + listed.ids[len(ids) :]

    found, warnings = _opposites(function, opposites, labels, columns["references"].kind)
    index = {label: code for code, label in enumerate(labels)}
    opposite = np.full(len(labels), -1, dtype=np.int64)  # -1: the label has an opposite that never occurs
    has_opposite = np.zeros(len(labels), dtype=np.bool_)
    for label, other in found.items():
        if label in index:
            has_opposite[index[label]], opposite[index[label]] = True, index.get(other, -1)

    used = _first_rows(divided, k)
    code, predicted_used = divided.codes[used], predicted[used]
    was = original[code]
    differs = predicted_used != was
    reverses = np.where(has_opposite[was], predicted_used == opposite[was], differs)
    n = len(original)
    everything = np.concatenate([predicted, original])
    return Items(
        right=original == gold,
        changed=np.bincount(code[differs], minlength=n) > 0,
        reversed=np.bincount(code[reverses], minlength=n) > 0,
        n_variants=np.bincount(divided.codes, minlength=n),
        gold=gold,
        labels=labels,
        groups=_item_groups(function, groups, columns, divided, ids),
        opposites=found,
        constant=[labels[everything[0]]] if (everything == everything[0]).all() else [],
        warnings=warnings,
    )


class _Listed(NamedTuple):
    """The mapping of originals: ids (first those with variants, in the partition's order), and labels."""

    ids: list[Any]
    columns: tuple[Column, Column]


def _listed_originals(
    function: str, originals: Mapping[Any, Any] | None, columns: Mapping[str, Column], ids: list[Any]
) -> _Listed | None:
    if originals is None:
        return None
    if not isinstance(originals, Mapping):
        raise input_error(
            function,
            "originals",
            "map every bucket to its original's (prediction, gold label)",
            got=originals,
        )
    for bucket in ids:
        if bucket not in originals:
            raise input_error(
                function,
                "originals",
                f"have the original of bucket {bucket!r}",
                got=f"{len(originals)} others",
                remedy="A variant without its original cannot be judged: add it, or leave the variant out.",
            )
    with_variants = set(ids)
    every = ids + [bucket for bucket in originals if bucket not in with_variants]
    kind = columns["buckets"].kind
    for bucket, pair in originals.items():
        if isinstance(bucket, str) != (kind == "string"):
            raise input_error(function, "originals", f"have {kind}s as buckets, as `buckets`", got=bucket)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise input_error(
                function, "originals", "give (prediction, gold label) of a bucket", got=pair, row=repr(bucket)
            )
    predicted, gold = (
        as_column([originals[bucket][side] for bucket in every], function=function, parameter="originals")
        for side in (0, 1)
    )
    check_comparable(function, {"references": columns["references"], "originals": predicted})
    check_comparable(function, {"references": columns["references"], "originals": gold})
    return _Listed(every, (predicted, gold))


def _join(
    function: str,
    divided: Partition,
    original: Integers,
    gold: Integers,
    listed: _Listed,
    listed_original: Integers,
    listed_gold: Integers,
) -> tuple[Integers, Integers]:
    """Return the originals of all items, once those given twice are seen to agree."""
    n = len(divided)
    sides = (("prediction", original, listed_original, 0), ("gold label", gold, listed_gold, 1))
    for what, of_rows, of_mapping, side in sides:
        differs = of_rows != of_mapping[:n]
        if differs.any():
            code = int(differs.argmax())
            raise input_error(
                function,
                "originals",
                f"give the {what} that the rows of bucket {divided.id_of(code)!r} give",
                got=listed.columns[side].tolist()[code],
            )
    return listed_original, listed_gold


def _first_rows(divided: Partition, k: int | None) -> Any:
    """Return the rows that are among the first k of their bucket."""
    if k is None or int(divided.sizes.max()) <= k:
        return slice(None)
    order = np.argsort(divided.codes, kind="stable")
    starts = np.repeat(np.cumsum(divided.sizes) - divided.sizes, divided.sizes)
    return order[np.arange(len(order)) - starts < k]


def _opposites(
    function: str, opposites: Mapping[Any, Any] | None, labels: list[Any], kind: str
) -> tuple[dict[Any, Any], list[str]]:
    """Return label to opposite, checked or by default, and what to warn of."""
    if opposites is None:
        return _default_opposites(function, labels, kind)
    if not isinstance(opposites, Mapping):
        raise input_error(function, "opposites", "map labels to labels", got=opposites)
    for label, other in opposites.items():
        column = as_column([label, other], function=function, parameter="opposites")
        if column.kind != kind:
            raise input_error(function, "opposites", f"hold {kind}s, as `references` does", got=label)
        if label == other:
            raise input_error(
                function,
                "opposites",
                "map a label to another",
                got={label: other},
                remedy="Leave out labels that have no opposite.",
            )
    unused = [label for pair in opposites.items() for label in pair if label not in labels]
    warnings = [f"`opposites` names labels that never occur: {sorted(set(unused))}"] if unused else []
    return dict(opposites), warnings


def _default_opposites(function: str, labels: list[Any], kind: str) -> tuple[dict[Any, Any], list[str]]:
    remedy = "Map each label to its opposite, e.g. {'entailment': 'contradiction', 'contradiction': 'entailment'}."
    if kind == "string":
        named = {str(label).lower(): label for label in labels}
        if not any(name in named for name in _NAMED):
            raise input_error(
                function,
                "opposites",
                "be given where no label is called entailment or contradiction",
                got=None,
                remedy=remedy,
            )
        one, two = (named.get(name, name) for name in _NAMED)
        return {one: two, two: one}, []
    if min(labels) < 0 or max(labels) > 2:
        raise input_error(function, "opposites", "be given where labels are not 0, 1, 2", got=None, remedy=remedy)
    if 2 in labels:
        return dict(_NUMBERED), []
    return dict(_NUMBERED), [
        "no label 2 occurs, and 0 and 2 are taken for opposites: for a task of two labels give `opposites`"
    ]


def opposites_of(items: Items) -> str:
    """Return the opposites for a signature."""
    return ", ".join(f"{label}->{other}" for label, other in items.opposites.items()) or "none"


def _item_groups(
    function: str, groups: Any, columns: Mapping[str, Column], divided: Partition, ids: list[Any]
) -> Integers | None:
    if groups is None:
        return None
    if not isinstance(groups, Mapping):
        if len(ids) > len(divided):
            raise input_error(
                function,
                "groups",
                "map every bucket to its group",
                got=f"one per row, and {len(ids) - len(divided)} originals without a row",
            )
        codes = partition(columns["groups"]).codes
        return one_per_bucket(function, divided, codes, "groups", "group", columns["groups"].tolist)
    for bucket in ids:
        if bucket not in groups:
            raise input_error(function, "groups", f"have the group of bucket {bucket!r}", got=f"{len(groups)} others")
    listed = [groups[bucket] for bucket in ids]
    return partition(as_column(listed, function=function, parameter="groups")).codes


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
        As for `paraconsist.measures.pairs.semantic_inconsistency`, over items.

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
