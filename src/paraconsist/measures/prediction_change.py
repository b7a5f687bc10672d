"""Prediction change: how often a paraphrase gets another answer than its original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.measures.array_types import Mask
from paraconsist.measures.buckets import as_column, check_length, code_columns, partition
from paraconsist.measures.chance import pair_chance
from paraconsist.measures.results import Estimates, Result, Stratum, documented, share_options


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictionChangeResult(Result):
    """How often predictions change under paraphrasing, and in which direction.

    Attributes
    ----------
    change_rate : float
        Share of pairs with two different predictions, in [0, 1]; down is good.
    n_changed, n_pairs : int
    correct_to_incorrect, incorrect_to_correct : int or None
        Changed pairs whose original, and whose paraphrase, is the right one. With more than two labels a
        change can also lead from one wrong answer to another: those are in neither.
    change_rate_given_correct, change_rate_given_incorrect : float or None
        `change_rate` over the pairs whose original is answered right, and wrong; nan if there are none.
    by_stratum : dict of str to dict, or None
        For every value of `strata` its `change_rate`, `n_changed`, `correct_to_incorrect`,
        `incorrect_to_correct`, `n_pairs` and `confidence_interval`; for a mapping of several columns one such
        table for each name.
    """

    change_rate: float
    n_changed: int
    correct_to_incorrect: int | None = None
    incorrect_to_correct: int | None = None
    n_pairs: int
    change_rate_given_correct: float | None = None
    change_rate_given_incorrect: float | None = None
    by_stratum: Mapping[str, Stratum | Mapping[str, Stratum]] | None = None


@documented()
def prediction_change(
    predictions: Any,
    original_predictions: Any,
    references: Any = None,
    *,
    strata: Any = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PredictionChangeResult:
    r"""Share of pairs of an original and a paraphrase for which the model changes its prediction.

    The reader learns how robust the answers are to paraphrasing, and whether accuracy hides it: changes from
    right to wrong and from wrong to right cancel in the accuracy of the paraphrased set.

    .. math:: \frac{1}{n} \sum_{i=1}^n [M(\mathrm{original}_i) \ne M(\mathrm{paraphrase}_i)]

    Range [0, 1], down is good. A constant answer scores 0, two independent uniform ones among L labels
    1 - 1/L.

    Parameters
    ----------
    predictions, original_predictions : sequence of int or str, shape (n,)
        Predicted labels on the paraphrase and on the original of every pair; originals are repeated per
        paraphrase.
    references : sequence of int or str, shape (n,), optional
        Gold labels, which paraphrasing keeps; without them only `change_rate` and its breakdown are given.
    strata : sequence of int or str, shape (n,), or mapping of str to such sequences, optional
        What results are broken down by (what is paraphrased, gold label, source task): gives `by_stratum`.
    groups : sequence of int or str, shape (n,), optional
        The original of every pair, or a shared context: what intervals resample.
    {share_intervals}

    References
    ----------
    Verma, Lal, Sinha, Van Durme, Poliak (2023), "Evaluating Paraphrastic Robustness in Textual Entailment
    Models", ACL. Sections 4 and 5.

    Examples
    --------
    >>> result = prediction_change([1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], strata=["p", "h", "h", "p"])
    >>> result.change_rate, result.correct_to_incorrect, result.incorrect_to_correct
    (0.5, 1, 1)
    >>> result.by_stratum["h"]["change_rate"]
    1.0

    On the authors' predictions for PaRTE (n = 1126) BERT changes 110 (.0977; 55 each way) and GPT-3 108 (62
    from right to wrong, 46 from wrong to right).
    """
    function = "prediction_change"
    options = share_options(function, interval_method, confidence_level, n_resamples, seed, groups)
    labels = {"predictions": predictions, "original_predictions": original_predictions}
    labels |= {} if references is None else {"references": references}
    columns = code_columns(function, labels, groups=groups)
    changed = columns["predictions"] != columns["original_predictions"]
    masks = {"n_changed": changed, "n_pairs": np.ones(len(changed), dtype=np.bool_)}
    estimates = Estimates(options, "pair", columns.columns.get("groups"))
    rates = {"change_rate": estimates.add_share("change_rate", changed)}
    if references is not None:
        original_right = columns["original_predictions"] == columns["references"]
        masks["correct_to_incorrect"] = changed & original_right
        masks["incorrect_to_correct"] = changed & (columns["predictions"] == columns["references"])
        for side, rows in (("correct", original_right), ("incorrect", ~original_right)):
            rates[f"change_rate_given_{side}"] = estimates.add_share(f"change_rate_given_{side}", changed, rows)
    rates |= estimates.add_chance(pair_chance(columns["original_predictions"], columns["predictions"]))
    estimates.warn_of_alike(columns, "original_predictions", "predictions")
    by_stratum: Mapping[str, Stratum | Mapping[str, Stratum]] | None = None
    if isinstance(strata, Mapping):
        by_stratum = {
            str(name): _breakdown(estimates, values, f"strata[{name!r}]", masks) for name, values in strata.items()
        }
    elif strata is not None:
        by_stratum = _breakdown(estimates, strata, "strata", masks)
    counts = {name: int(np.count_nonzero(mask)) for name, mask in masks.items()}
    fields = estimates.fields({**rates, **counts}, avg="pair", unparsed="refused")
    return PredictionChangeResult(by_stratum=by_stratum, **fields)


def _breakdown(estimates: Estimates, strata: Any, parameter: str, masks: Mapping[str, Mask]) -> dict[str, Stratum]:
    """Return the change rate and the number of rows in every mask for each stratum."""
    function = estimates.options.function
    column = as_column(strata, function=function, parameter=parameter)
    check_length(function, parameter, column, len(masks["n_pairs"]))
    divided = partition(column)
    by_stratum = {}
    for code in sorted(range(len(divided)), key=divided.id_of):
        rows = divided.codes == code
        counted = {name: mask & rows for name, mask in masks.items()}
        by_stratum[str(divided.id_of(code))] = estimates.stratum({"change_rate": masks["n_changed"]}, rows, **counted)
    return by_stratum
