"""Pairs of an original and a perturbed text: semantic, symmetric and negational inconsistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import input_error
from paraconsist.measures.buckets import CodedColumns, as_column, as_mask, code_columns
from paraconsist.measures.chance import pair_chance
from paraconsist.measures.intervals import group_columns, grouping
from paraconsist.measures.paired_tests import grouped_difference
from paraconsist.measures.results import Estimates, IntervalSettings, Result, documented, share_options
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, Answers, Rule, changed, unchanged


@dataclass(frozen=True, repr=False)
class PairInconsistencyResult(Result):
    """Share of pairs of an original and a perturbed text whose predictions break the rule.

    Attributes
    ----------
    inconsistency : float
        Over all pairs, in [0, 1]; down is good.
    n_pairs : int
    conditional_inconsistency, n_conditional : float and int, or None
        Over the pairs whose original got the label `condition`, and their number; nan if there are none.
    accuracy, perturbed_accuracy : float or None
        Share of right predictions on the originals (once per pair) and on the perturbed texts.
    first_place_share, primacy, tie_rate : float or None
        With `places`: among pairs in which both answers name a text, the share of answers that name the one shown
        first; among those whose verdict turns, the share that name the one shown first both times; the share of pairs
        with a tie. The first two are 0.5 without position bias, and nan without such pairs; the first has Tango's
        interval.
    """

    inconsistency: float
    n_pairs: int
    conditional_inconsistency: float | None = None
    n_conditional: int | None = None
    accuracy: float | None = None
    perturbed_accuracy: float | None = None
    first_place_share: float | None = None
    primacy: float | None = None
    tie_rate: float | None = None


_documented = documented(
    "a `condition` of another kind than the labels",
    pairs="""
        predictions, perturbed_predictions : sequence of int or str, shape (n,)
            Predicted labels on the original and on the perturbed text of every pair, all as numbers or all as names. An
            original with several perturbed texts is repeated.
        condition : int or str, optional
            Gives `conditional_inconsistency`, over the pairs whose original was predicted to have this label: the one
            for which the rule holds. 0 is a label (the authors' script takes it for "no condition").
        references, perturbed_references : sequence of int or str, shape (n,), optional
            Gold labels of the original and of the perturbed texts: give `accuracy` and `perturbed_accuracy`.
        """,
    groups="""
        groups : sequence of int or str, shape (n,), or two of them, optional
            The original each pair was made from (or a shared context): what intervals resample. Without it pairs are
            taken to be independent. Two columns are the two members of each pair, such as its two texts, if pairs share
            these crosswise; see `paraconsist.measures.antecedents.additive_inconsistency`.
        """,
)


@_documented
def semantic_inconsistency(
    predictions: Any,
    perturbed_predictions: Any,
    *,
    condition: Any = None,
    references: Any = None,
    perturbed_references: Any = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PairInconsistencyResult:
    r"""Share of texts and their paraphrases that the model gives different labels.

    The reader learns how often the answer depends on the wording. Gold labels are not used: a model may be
    wrong on both and consistent, and a constant answer scores 0.

    .. math:: \tau = \frac{1}{n} \sum_{i=1}^n [M(e_i) \ne M(e_i')]

    with M(e) the label predicted for a text and e' its paraphrase. Range [0, 1], down is good. Two
    independent uniform answers among L labels score 1 - 1/L.

    Parameters
    ----------
    {pairs}
    {groups}
    {share_intervals}

    References
    ----------
    {becel}

    Examples
    --------
    >>> result = semantic_inconsistency([1, 1, 0, 0], [1, 0, 0, 0], condition=1)
    >>> result.inconsistency, result.conditional_inconsistency, result.n_conditional
    (0.25, 0.5, 2)

    On the example predictions that the authors publish for MRPC it gives their .05.
    """
    options = share_options("semantic_inconsistency", interval_method, confidence_level, n_resamples, seed, groups)
    labels = (predictions, perturbed_predictions, references, perturbed_references)
    return _pair_measure(options, labels, condition, groups, changed)


@_documented
def symmetric_inconsistency(
    predictions: Any,
    perturbed_predictions: Any,
    *,
    condition: Any = None,
    references: Any = None,
    perturbed_references: Any = None,
    places: Sequence[Any] | None = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PairInconsistencyResult:
    r"""Share of pairs of texts that the model labels differently when the two texts are swapped.

    The reader learns whether the model knows that the relation is symmetric. The rows must be ones for
    which it is: being paraphrases and having the same word sense are; entailment is not, so only contradictions
    (SNLI) or rows without entailment (RTE) are swapped there.

    .. math:: \tau = \frac{1}{n} \sum_{i=1}^n [M(e_i) \ne M(\mathrm{swap}(e_i))]

    Range [0, 1], down is good. Two independent uniform answers among L labels score 1 - 1/L.

    Parameters
    ----------
    {pairs}
    places : sequence of two or three labels, optional
        For a judge that names the better of two texts: the label of the text that the originals show first, that of
        the other, and a third for ties. They give `first_place_share`, `primacy` and `tie_rate`.
    {groups}
    {share_intervals}

    References
    ----------
    {becel}

    Examples
    --------
    >>> result = symmetric_inconsistency([2, 2, 0, 2], [2, 1, 1, 2], condition=0)
    >>> result.inconsistency, result.conditional_inconsistency
    (0.5, 1.0)

    On the example predictions that the authors publish for SNLI it gives their .04, and .0104 on condition 2.

    A judge names the better answer, A or B, first with A above B and then with B above A:

    >>> result = symmetric_inconsistency(list("AAAB"), list("ABBB"), places="AB")
    >>> result.inconsistency, result.first_place_share, result.primacy
    (0.5, 0.75, 1.0)
    """
    options = share_options("symmetric_inconsistency", interval_method, confidence_level, n_resamples, seed, groups)
    labels = (predictions, perturbed_predictions, references, perturbed_references)
    return _pair_measure(options, labels, condition, groups, changed, places=places)


@_documented
def negational_inconsistency(
    predictions: Any,
    perturbed_predictions: Any,
    *,
    condition: Any = None,
    references: Any = None,
    perturbed_references: Any = None,
    groups: Any = None,
    unanswered: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PairInconsistencyResult:
    r"""Share of texts and their negations that the model gives the *same* label.

    The reader learns whether the model notices that the meaning was reversed. The texts must be ones where
    negation changes the label. Read it together with the semantic inconsistency: a model that changes its
    answer after every edit scores 0 here, and a constant answer scores 1.

    .. math:: \tau = \frac{1}{n} \sum_{i=1}^n [M(e_i) = M(\mathrm{neg}(e_i))]

    Range [0, 1], down is good. Two independent uniform answers among L labels score 1/L.

    Parameters
    ----------
    {pairs}
    {groups}
    unanswered : sequence of bool, shape (n,), optional
        Pairs with an answer that could not be read: they break the rule regardless of their labels.
    {share_intervals}

    References
    ----------
    {becel}

    Examples
    --------
    Entailment is label 0; of the two rows answered so, one keeps its answer:

    >>> result = negational_inconsistency([0, 0, 1, 2], [0, 2, 1, 2], condition=0)
    >>> result.inconsistency, result.conditional_inconsistency
    (0.75, 0.5)

    On the example predictions that the authors publish for MRPC it gives their .86, and .8427 on condition 1.
    """
    options = share_options("negational_inconsistency", interval_method, confidence_level, n_resamples, seed, groups)
    labels = (predictions, perturbed_predictions, references, perturbed_references)
    return _pair_measure(options, labels, condition, groups, unchanged, unanswered)


def _pair_measure(
    options: IntervalSettings,
    labels: tuple[Any, Any, Any, Any],
    condition: Any,
    groups: Any,
    rule: Rule,
    unanswered: Any = None,
    places: Sequence[Any] | None = None,
) -> PairInconsistencyResult:
    """Count the pairs that break the rule."""
    names = ("predictions", "perturbed_predictions", "references", "perturbed_references")
    columns_of = {
        name: values for name, values in zip(names, labels, strict=True) if values is not None or name in names[:2]
    }
    columns = code_columns(options.function, columns_of, group_columns(groups), unanswered=unanswered)
    original, perturbed = columns["predictions"], columns["perturbed_predictions"]
    silent = None if unanswered is None else as_mask(options.function, "unanswered", columns.columns["unanswered"])
    unparsed = {PARAPHRASE: np.zeros(len(original), dtype=np.bool_) if silent is None else silent}
    answers = {ORIGINAL: original, PARAPHRASE: perturbed}
    pairs = Answers(answers, {}, unparsed, np.arange(len(original)), PARAPHRASE, never_agree=True)
    violated = rule(pairs)[0] > 0
    estimates = Estimates(options, "pair", grouping(options.function, columns.columns))
    values = {"inconsistency": estimates.add_share("inconsistency", violated)}
    values |= estimates.add_chance(pair_chance(original, perturbed, must_differ=rule is unchanged, unanswered=silent))
    parts = {"condition": "none"}
    if condition is not None:
        label = _label(columns, condition, function=options.function, parameter="condition")
        population = original == columns.code_of(label)
        values["conditional_inconsistency"] = estimates.add_share("conditional_inconsistency", violated, population)
        values["n_conditional"] = int(np.count_nonzero(population))
        parts["condition"] = f"original predicted {label!r}"
        if values["n_conditional"] == 0:
            estimates.warn(f"no original is predicted to be {label!r}")
    for name, side in (("accuracy", ""), ("perturbed_accuracy", "perturbed_")):
        if f"{side}references" in columns.codes:
            right = columns[f"{side}predictions"] == columns[f"{side}references"]
            values[name] = estimates.add_share(name, right)
    if places is not None:
        values |= _position_bias(estimates, columns, places)
    if rule is changed:
        estimates.warn_of_alike(columns, "predictions", "perturbed_predictions")
    else:
        estimates.warn_of_constant(columns.constant("predictions", "perturbed_predictions"), 1)
    fields = estimates.fields(values, avg="pair", **parts, unparsed="refused")
    return PairInconsistencyResult(n_pairs=len(original), **fields)


def _position_bias(estimates: Estimates, columns: CodedColumns, places: Sequence[Any]) -> dict[str, float]:
    """Return which place a judge of two texts prefers, and how often it reports a tie."""
    function = estimates.options.function
    labels = [_label(columns, place, function=function, parameter="places") for place in places]
    if len({*labels}) != len(labels) or len(labels) not in (2, 3):
        raise input_error(function, "places", "be two labels, or three with that of ties", got=labels)
    first, second, *ties = map(columns.code_of, labels)
    before, after = columns["predictions"], columns["perturbed_predictions"]
    to_first, to_second = (before == first) & (after == second), (before == second) & (after == first)
    values = {"primacy": estimates.add_share("primacy", to_first, to_first | to_second)}
    named = np.isin(before, (first, second)) & np.isin(after, (first, second))
    values["first_place_share"] = float("nan")
    listed = (first, second, *ties)
    if n_others := int((~np.isin(before, listed) | ~np.isin(after, listed)).sum()):
        others = f"{n_others:,} pair{' has' if n_others == 1 else 's have'} an answer that is not among `places`"
        estimates.warn(f"{others}, which is not counted in the position bias")
    if not named.any():
        estimates.undefined.append("first_place_share")
    else:
        groups = np.arange(len(before)) if estimates.codes is None else estimates.codes
        codes = np.unique(groups[named], return_inverse=True)[1]
        up, down = (np.bincount(codes, turned[named]).astype(np.int64) for turned in (to_first, to_second))
        ends, error, effect = grouped_difference(up, down, np.bincount(codes), estimates.options.confidence_level)
        values["first_place_share"] = 0.5 + 0.5 * float(up.sum() - down.sum()) / len(codes)
        low, high = (0.5 + 0.5 * end for end in ends)
        estimates.put("first_place_share", (low, high), 0.5 * error, len(up), effect)
    if ties:
        values["tie_rate"] = estimates.add_share("tie_rate", (before == ties[0]) | (after == ties[0]))
    return values


def _label(columns: CodedColumns, label: Any, *, function: str, parameter: str) -> Any:
    """Return a label that a parameter names, checked to be of the same kind as the predictions."""
    value = as_column([label], function=function, parameter=parameter, what="one label").tolist()[0]
    if isinstance(value, str) != isinstance(columns.labels[0], str):
        kind = "a name" if isinstance(columns.labels[0], str) else "a number"
        raise input_error(function, parameter, f"be {kind}, as the predictions are", got=label)
    return value
