"""Each measure on the rows of a bucket set: which roles it reads, and which public function it calls.

Rows of a bucket set to the paired columns that the measures take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.errors import input_error
from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.prediction_change import prediction_change
from paraconsist.scoring.unparsed import never_the_same

#: confidence_level, n_resamples, seed: the same for every measure.
Intervals = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """How one measure reads a bucket set.

    Attributes
    ----------
    target : str
        The role of the rows that it counts.
    partners : tuple of str
        The roles that stand beside them in the bucket.
    score : callable
        Rows and interval options -> the measure's keys.
    headline : str
        The key that the measure is known by.
    """

    target: str
    partners: tuple[str, ...]
    score: Callable[[Rows, Intervals], dict[str, Any]]
    headline: str = "inconsistency"


def _paraphrastic(rows: Rows, intervals: Intervals) -> dict[str, Any]:
    return score_paraphrastic(rows, intervals)


def score_paraphrastic(rows: Rows, intervals: Intervals, **more: Any) -> dict[str, Any]:
    """Return paraphrastic consistency; `more` are the test set's columns for the corrected values."""
    foreign = ~np.isin(rows.roles, ["original", "paraphrase"])
    if foreign.any():
        row = int(np.argmax(foreign))
        raise input_error(
            "score paraphrastic_consistency",
            "role",
            "be 'original' or 'paraphrase'",
            got=rows.roles[row].item(),
            row=row,
        )
    has_originals = bool((rows.roles == "original").any())
    return paraphrastic_consistency(
        rows.predictions,
        rows.labels,
        rows.buckets,
        roles=rows.roles.tolist() if has_originals else None,
        groups=rows.groups,
        **intervals,
        **more,
    ).to_dict()


def _pairs(function: Callable[..., Any], name: str, target: str) -> Measure:
    def score(rows: Rows, intervals: Intervals) -> dict[str, Any]:
        targets, others = partners(rows, name, target, ["original"])
        originals = others["original"]
        before, after = rows.predictions[originals], rows.predictions[targets]
        unparsed = rows.unparsed[originals] | rows.unparsed[targets]
        if target == "negation" and rows.never_agree:
            before, after = never_the_same(before, after, rows.labels[targets], unparsed)
        result: dict[str, Any] = function(
            before,
            after,
            references=rows.labels[originals],
            perturbed_references=rows.labels[targets],
            groups=None if rows.groups is None else rows.groups[targets],
            **intervals,
        ).to_dict()
        return result

    return Measure(target, ("original",), score)


def _prediction_change(rows: Rows, intervals: Intervals) -> dict[str, Any]:
    targets, others = partners(rows, "prediction_change", "paraphrase", ["original"])
    strata = {name: values[targets] for name, values in rows.strata.items()}
    few = {name: values for name, values in strata.items() if 2 <= len(np.unique(values)) <= MAX_STRATUM_VALUES}
    result = prediction_change(
        rows.predictions[targets],
        rows.predictions[others["original"]],
        rows.labels[targets],
        strata=few if "gold_label" in few else {"label": rows.labels[targets], **few},
        groups=None if rows.groups is None else rows.groups[targets],
        **intervals,
    )
    return result.to_dict()


def _transitive(rows: Rows, intervals: Intervals) -> dict[str, Any]:
    name, roles = "transitive_inconsistency", ("antecedent_1", "antecedent_2")
    targets, others = partners(rows, name, "consequent", roles)
    references = rows.labels[targets] if rows.allowed is None else [rows.allowed[i] for i in targets]
    return transitive_inconsistency(
        rows.predictions[targets],
        references,
        *(column[others[role]] for role in roles for column in (rows.predictions, rows.labels)),
        groups=None if rows.groups is None else rows.groups[targets],
        **intervals,
    ).to_dict()


def _additive(rows: Rows, intervals: Intervals) -> dict[str, Any]:
    targets, others = partners(rows, "additive_inconsistency", "merged", ["part_1", "part_2"])
    return additive_inconsistency(
        rows.predictions[targets],
        rows.labels[targets],
        rows.predictions[others["part_1"]],
        rows.predictions[others["part_2"]],
        groups=None if rows.groups is None else rows.groups[targets],
        **intervals,
    ).to_dict()


#: A column with more values than this is no stratum (an id, say).
MAX_STRATUM_VALUES = 20

MEASURES: Mapping[str, Measure] = {
    "paraphrastic_consistency": Measure("paraphrase", ("original",), _paraphrastic, "paraphrastic_consistency"),
    "semantic_inconsistency": _pairs(semantic_inconsistency, "semantic_inconsistency", "paraphrase"),
    "symmetric_inconsistency": _pairs(symmetric_inconsistency, "symmetric_inconsistency", "swap"),
    "negational_inconsistency": _pairs(negational_inconsistency, "negational_inconsistency", "negation"),
    "prediction_change": Measure("paraphrase", ("original",), _prediction_change, "change_rate"),
    "transitive_inconsistency": Measure("consequent", ("antecedent_1", "antecedent_2"), _transitive),
    "additive_inconsistency": Measure("merged", ("part_1", "part_2"), _additive),
}


def default_measures(rows: Rows) -> list[str]:
    """Return the measures that the rows' roles call for, where the file does not name them."""
    roles = set(np.unique(rows.roles).tolist())
    by_role = {
        "swap": "symmetric_inconsistency",
        "negation": "negational_inconsistency",
        "consequent": "transitive_inconsistency",
        "merged": "additive_inconsistency",
    }
    return [measure for role, measure in by_role.items() if role in roles] or ["paraphrastic_consistency"]


Positions = NDArray[np.intp]


def partners(rows: Rows, measure: str, target: str, wanted: Sequence[str]) -> tuple[Positions, dict[str, Positions]]:
    """Find, for every row with role `target`, the row of each wanted role in its bucket.

    Parameters
    ----------
    rows : Rows
        n rows.
    measure : str
        For messages.
    target : str
        The role of the rows that are measured, such as ``swap``.
    wanted : sequence of str
        Roles that each of their buckets must have exactly once, such as ``original``.

    Returns
    -------
    targets : int array, shape (m,)
        Positions of the target rows.
    others : dict of str to int array, shape (m,)
        For each wanted role, the positions of their partners.

    Raises
    ------
    InputError
        If no row is a target, a role plays no part in the measure, or a partner is missing or there twice;
        the message names the bucket.
    """
    assert rows.buckets is not None
    foreign = ~np.isin(rows.roles, [target, *wanted])
    if foreign.any():
        row = int(np.argmax(foreign))
        raise input_error(
            f"score {measure}",
            "role",
            f"be one of {', '.join([*wanted, target])}",
            got=rows.roles[row].item(),
            row=row,
            remedy=f"The row is in bucket {rows.buckets[row].item()!r}; this measure has no use for it.",
        )
    ids, codes = np.unique(rows.buckets, return_inverse=True)
    targets = np.flatnonzero(rows.roles == target)
    if not len(targets):
        raise input_error(
            f"score {measure}", "role", f"be {target!r} in at least one row", got=np.unique(rows.roles).tolist()
        )
    others = {}
    for role in wanted:
        positions = np.flatnonzero(rows.roles == role)
        counts = np.bincount(codes[positions], minlength=len(ids))
        wrong = counts[codes[targets]] != 1
        if wrong.any():
            code = codes[targets[int(np.argmax(wrong))]]
            raise input_error(
                f"score {measure}",
                "role",
                f"be {role!r} in exactly one row of every bucket",
                got=int(counts[code]),
                remedy=f"Look at bucket {ids[code].item()!r}.",
            )
        where = np.zeros(len(ids), dtype=np.intp)
        where[codes[positions]] = positions
        others[role] = where[codes[targets]]
    return targets, others
