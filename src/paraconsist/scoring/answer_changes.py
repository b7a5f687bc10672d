"""What lies behind the rate of a measure on pairs: which answers turn into which, and how sure the model was.

Jang, Kwon, Lukasiewicz (2022), "BECEL: Benchmark for Consistency Evaluation of Language Models", COLING: the table
of Figure 2 and Figure 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.measures.catalogue import MeasureSpec
from paraconsist.measures.rules import ORIGINAL
from paraconsist.scoring.roles import violations


def pair_figures(spec: MeasureSpec, rows: Rows, label_names: Sequence[str]) -> dict[str, Any]:
    """Count a measure's pairs by their answers, and average the confidence of those that break its rule.

    ``transitions``: a dict for each (``label``, ``prediction``, ``perturbed_prediction``) that occurs, with its
    ``n_pairs``: the gold label of the original and the two answers, an unparsed one being None; in the order of the
    labels (`label_names`; one without a name is shown as it is). An original counts once a pair.

    ``confidence``, where the file has probabilities: for ``inconsistent`` and ``consistent`` pairs (as the measure
    counts them) apart, ``n_pairs``, the mean probability of the predicted label over all their answers
    (``confidence``), over those to originals (``original_confidence``) and to perturbed texts
    (``perturbed_confidence``), each in [0, 1], nan where there is none, and the number of answers averaged
    (``n_predictions``: unparsed answers have no probability). InputError if a pair lacks its original.
    """
    pairs = violations(spec, rows)
    sides = pairs.partners[ORIGINAL], pairs.positions
    before, after = (_shown(rows.predictions[side], rows.unparsed[side], label_names) for side in sides)
    golds = _shown(rows.labels[sides[0]], np.zeros(len(sides[0]), dtype=bool), label_names)
    figures: dict[str, Any] = {"transitions": _transitions(golds, before, after, label_names)}
    if rows.predicted_confidences is not None:
        confidences = [rows.predicted_confidences[side] for side in sides]
        inconsistent = pairs.broken
        figures["confidence"] = {
            "inconsistent": _confidence(*(values[inconsistent] for values in confidences)),
            "consistent": _confidence(*(values[~inconsistent] for values in confidences)),
        }
    return figures


def _shown(values: NDArray[Any], unparsed: NDArray[np.bool_], label_names: Sequence[str]) -> list[str | int | None]:
    numbers = range(len(label_names))
    return [
        None if missing else label_names[value] if value in numbers else value
        for value, missing in zip(values.tolist(), unparsed.tolist(), strict=True)
    ]


def _transitions(golds: list[Any], before: list[Any], after: list[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    places = {name: place for place, name in enumerate(names)}
    distinct = {value for column in (golds, before, after) for value in column if value is not None}
    order = {value: i for i, value in enumerate(sorted(distinct, key=lambda value: (places.get(value, -1), value)))}
    order[None] = len(order)
    counts = Counter(zip(golds, before, after, strict=True))
    return [
        {"label": gold, "prediction": first, "perturbed_prediction": second, "n_pairs": counts[gold, first, second]}
        for gold, first, second in sorted(counts, key=lambda key: tuple(order[value] for value in key))
    ]


def _confidence(original: NDArray[np.float64], perturbed: NDArray[np.float64]) -> dict[str, Any]:
    both = np.concatenate([original, perturbed])
    return {
        "n_pairs": len(original),
        "n_predictions": int(np.count_nonzero(~np.isnan(both))),
        "confidence": _mean(both),
        "original_confidence": _mean(original),
        "perturbed_confidence": _mean(perturbed),
    }


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
