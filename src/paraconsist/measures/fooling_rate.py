"""Fooling rates: how many right answers some variant of the text turns over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import check_choice, check_whole, input_error
from paraconsist.measures.array_types import Integers
from paraconsist.measures.buckets import (
    CodedColumns,
    Column,
    Partition,
    as_column,
    bucket_groups,
    check_comparable,
    code_columns,
    code_jointly,
    one_per_bucket,
    partition,
)
from paraconsist.measures.chance import fooling_chance
from paraconsist.measures.results import Estimates, Result, Stratum, documented, share_options

_NAMED = ("entailment", "contradiction")
_NUMBERED = {0: 2, 2: 0}

PRESETS: dict[str, tuple[int | None, int]] = {"paper": (None, 0), "code": (5, 5)}
"""Preset to (`variants`, `minimum`)."""


@dataclass(frozen=True, repr=False)
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
    """

    relaxed: float
    strict: float
    n_items: int
    by_label: dict[str, Stratum]


@documented("originals that differ within a bucket or from `originals`, variants without their original")
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

    The reader learns how easily a rewording that the model itself finds equivalent changes a right answer. It grows
    with the number of variants, so compare only at one number.

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
        2 among the numbers 0, 1, 2, with a warning where one of them never occurs (`strict` is then 0 for the
        other); and so are two labels of any other names. Labels that are not in the mapping have no opposite.
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
    options = share_options(function, interval_method, confidence_level, n_resamples, seed, groups)
    check_choice(function, "preset", preset, PRESETS)
    k, least = PRESETS[preset]
    k = k if variants is None else check_whole(function, "variants", variants)
    least = least if minimum is None else check_whole(function, "minimum", minimum, at_least=0)
    if k is not None and least > k:
        must, remedy = f"not be above the number of variants that are used ({k})", "Give `variants` and `minimum` both."
        raise input_error(function, "minimum", must, got=least, remedy=remedy)
    labels = {"predictions": predictions, "original_predictions": original_predictions, "references": references}
    per_row = None if isinstance(groups, Mapping) else groups
    columns = code_columns(function, labels, {"buckets": buckets}, groups=per_row)
    checked, divided = columns.columns, partition(columns.columns["buckets"])
    ids, names, predicted, original, gold = _items(function, columns, divided, originals)
    golds = {names[code] for code in gold}  # -1 and "" are unread answers unless they are among them
    known = [name for name in names if name not in (-1, "") or name in golds]
    opposite_of, warnings = _opposites(function, opposites, known, checked["references"].kind)
    used = _first_rows(divided, k)
    item, answers, n = divided.codes[used], predicted[used], len(original)
    changes = answers != original[item]
    reverses, code_of = changes.copy(), {label: code for code, label in enumerate(names)}
    for label, other in opposite_of.items():  # a label whose opposite never occurs is never reversed
        rows = original[item] == code_of.get(label, -1)
        reverses[rows] = answers[rows] == code_of.get(other, -1)
    right = original == gold
    counted = right & (np.bincount(divided.codes, minlength=n) >= least)

    estimates = Estimates(options, "item", _item_groups(function, groups, checked, divided, ids))
    n_right, n_counted = int(np.count_nonzero(right)), int(np.count_nonzero(counted))
    if n_right > n_counted:
        n_left_out = f"{n_right - n_counted} of {n_right} originals that are answered right"
        estimates.warn(f"{n_left_out} have fewer than {least} variants: left out")
    if not n_counted:
        estimates.warn("no original is answered right and has enough variants")
    if (predicted == original[0]).all() and (original == original[0]).all():
        estimates.warn_of_constant([names[original[0]]])
    estimates.warnings.extend(warnings)
    turns = {"relaxed": changes, "strict": reverses}
    masks = {name: np.bincount(item[rows], minlength=n) > 0 for name, rows in turns.items()}
    rates = {name: estimates.add_share(name, mask, counted) for name, mask in masks.items()}
    judged, place = counted[item], np.cumsum(counted) - 1
    level = fooling_chance(original[counted], place[item[judged]], answers[judged], len(names))
    rates |= estimates.add_chance(level, counted)
    by_label = {}
    for code in sorted(set(gold.tolist()), key=lambda code: names[code]):
        rows = counted & (gold == code)
        by_label[str(names[code])] = estimates.stratum(masks, rows, n_items=rows)
    empty = [label for label, values in by_label.items() if values["n_items"] == 0]
    if empty and n_counted:
        estimates.warn(f"undefined, so nan, for gold labels without an item: {', '.join(empty)}")
    return FoolingRateResult(
        n_items=n_counted,
        by_label=by_label,
        **estimates.fields(
            rates,
            avg="item",
            preset=preset,
            variants="all" if k is None else f"first {k}",
            minimum=str(least),
            originals="those with variants" if originals is None else "all given",
            opposites=", ".join(f"{label}->{other}" for label, other in opposite_of.items()) or "none",
            unparsed="refused",
        ),
    )


def _items(
    function: str, columns: CodedColumns, divided: Partition, originals: Any
) -> tuple[list[Any], list[Any], Integers, Integers, Integers]:
    """Return ids of items (originals with their variants), labels, and codes of these: of each variant, of each item.

    Those of the items are the predictions of the originals, and their gold labels.
    """
    checked, labels = columns.columns, columns.labels
    predicted, of_original, gold = columns.codes.values()
    ids = divided.ids_of()
    every, sides = (ids, []) if originals is None else _listed_originals(function, originals, checked, ids)
    if sides:
        (predicted, of_original, gold, *more), labels = code_jointly(*(checked[name] for name in columns.codes), *sides)
    what, name = "prediction of its original", "original_predictions"
    original = one_per_bucket(function, divided, of_original, name, what, checked[name])
    gold = one_per_bucket(function, divided, gold, "references", "gold label", checked["references"])
    if sides:
        for side, (what, of_rows) in enumerate((("prediction", original), ("gold label", gold))):
            differs = of_rows != more[side][: len(divided)]
            if differs.any():
                code = int(differs.argmax())
                must = f"give the {what} that the rows of bucket {divided.id_of(code)!r} give"
                raise input_error(function, "originals", must, got=sides[side].tolist()[code])
        original, gold = more
    return every, labels, predicted, original, gold


def _listed_originals(
    function: str, originals: Any, columns: Mapping[str, Column], ids: list[Any]
) -> tuple[list[Any], list[Column]]:
    """Return the ids of all originals, those with variants first, and columns of their predictions and gold labels."""
    if not isinstance(originals, Mapping):
        must = "map every bucket to its original's (prediction, gold label)"
        raise input_error(function, "originals", must, got=originals)
    for bucket in ids:
        if bucket not in originals:
            must, others = f"have the original of bucket {bucket!r}", f"{len(originals)} others"
            remedy = "A variant without its original cannot be judged: add it, or leave the variant out."
            raise input_error(function, "originals", must, got=others, remedy=remedy)
    with_variants = set(ids)
    every = ids + [bucket for bucket in originals if bucket not in with_variants]
    kind = columns["buckets"].kind
    for bucket, pair in originals.items():
        if isinstance(bucket, str) != (kind == "string"):
            raise input_error(function, "originals", f"have {kind}s as buckets, as `buckets`", got=bucket)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            must = "give (prediction, gold label) of a bucket"
            raise input_error(function, "originals", must, got=pair, row=repr(bucket))
    sides = [
        as_column([originals[bucket][side] for bucket in every], function=function, parameter="originals")
        for side in (0, 1)
    ]
    for column in sides:
        check_comparable(function, {"references": columns["references"], "originals": column})
    return every, sides


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
    """Return label to opposite, checked or by default, and warnings."""
    if opposites is None:
        return _default_opposites(function, labels, kind)
    if not isinstance(opposites, Mapping):
        raise input_error(function, "opposites", "map labels to labels", got=opposites)
    for label, other in opposites.items():
        column = as_column([label, other], function=function, parameter="opposites")
        if column.kind != kind:
            raise input_error(function, "opposites", f"hold {kind}s, as `references` does", got=label)
        if label == other:
            remedy = "Leave out labels that have no opposite."
            raise input_error(function, "opposites", "map a label to another", got={label: other}, remedy=remedy)
    unused = [label for pair in opposites.items() for label in pair if label not in labels]
    warnings = [f"`opposites` names labels that never occur: {sorted(set(unused))}"] if unused else []
    return dict(opposites), warnings


def _default_opposites(function: str, labels: list[Any], kind: str) -> tuple[dict[Any, Any], list[str]]:
    remedy = "Map each label to its opposite, e.g. {'entailment': 'contradiction', 'contradiction': 'entailment'}."
    opposites: dict[Any, Any] = _NUMBERED
    if kind == "string":
        named = {str(label).lower(): label for label in labels}
        if not any(name in named for name in _NAMED):
            if len(labels) == 2:
                return dict(zip(labels, reversed(labels), strict=True)), []
            must = "be given where no label is called entailment or contradiction, and they are not two"
            raise input_error(function, "opposites", must, got=None, remedy=remedy)
        one, two = (named.get(name, name) for name in _NAMED)
        opposites = {one: two, two: one}
    elif min(labels) < 0 or max(labels) > 2:
        raise input_error(function, "opposites", "be given where labels are not 0, 1, 2", got=None, remedy=remedy)
    both = " and ".join(map(repr, opposites))
    absent = " or ".join(repr(label) for label in opposites if label not in labels)
    warning = f"no label {absent} occurs, and {both} are taken for opposites: for a task of two labels give `opposites`"
    return dict(opposites), [warning] if absent else []


def _item_groups(
    function: str, groups: Any, columns: Mapping[str, Column], divided: Partition, ids: list[Any]
) -> Integers | None:
    if not isinstance(groups, Mapping):
        if groups is not None and len(ids) > len(divided):
            without = f"one per row, and {len(ids) - len(divided)} originals without a row"
            raise input_error(function, "groups", "map every bucket to its group", got=without)
        return bucket_groups(function, divided, columns.get("groups"))
    for bucket in ids:
        if bucket not in groups:
            raise input_error(function, "groups", f"have the group of bucket {bucket!r}", got=f"{len(groups)} others")
    return partition([groups[bucket] for bucket in ids], function=function, parameter="groups").codes
