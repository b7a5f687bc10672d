"""What flips it: the kinds of edit that part rewordings from their originals, and how often answers flip there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.measures.catalogue import CATALOGUE, CHANGE, PARAPHRASTIC
from paraconsist.measures.edit_effects import EditEffect, EditEffects, edit_effects
from paraconsist.measures.edit_kinds import EDIT_KINDS, ENGLISH_KINDS, edit_kinds
from paraconsist.measures.rules import ORIGINAL, Answers, unchanged
from paraconsist.reporting.formatting import count, interval, p_value, percent
from paraconsist.reporting.page.aligned import AlignedSet, Positions, SetTexts
from paraconsist.reporting.page.browser import link
from paraconsist.scoring.unparsed import apply_policy

_SURE = 0.05  # of corrected p: below, a kind has a sentence
_MOST_EXAMPLES, _MOST_LETTERS = 3, 90

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class SetEdits:
    """The kinds of edit of a set of n rows, and what they do to the answers of its models."""

    name: str
    must_differ: bool  # whether answers must differ, so that the original's is what breaks the rule
    has_originals: bool
    kinds: dict[str, Flags]  # shape (n,): the rewordings of each kind
    effects: dict[str | None, EditEffects]  # of each model; None: of all together, where there are several
    examples: dict[str | None, dict[str, list[tuple[str, str]]]] = field(default_factory=dict)


def edits_of(aligned: AlignedSet, texts: SetTexts | None, intervals: Mapping[str, Any]) -> SetEdits | None:
    """Compare rewordings with their originals (else with the first wording); None for a set without texts or rewordings.

    What breaks a rule is what the set's measure says; of paraphrastic consistency, a changed answer.
    """
    spec = CATALOGUE[aligned.measure]
    if texts is None or not (spec is PARAPHRASTIC or spec.partners == (ORIGINAL,)):
        return None
    rule = CHANGE.breaks if spec is PARAPHRASTIC else spec.breaks
    rows, first, has_originals = _pairs(aligned, texts)
    if rule is None or not len(rows):
        return None
    buckets = aligned.bucket[rows]
    columns = [[texts.rows[row] or [] for row in side.tolist()] for side in (first, rows)]
    kinds = edit_kinds(*columns, buckets.tolist())
    broken, answered = {}, {}
    for model in aligned.models:
        broken[model], answered[model] = _broken(aligned, model, rows, first, rule)
    groups = _groups(aligned, rows)

    def effects(flags: Any, inside: Flags) -> EditEffects:
        if not inside.any():
            return EditEffects((), {kind: 0 for kind in kinds})
        parts = {kind: flag[inside] for kind, flag in kinds.items()}
        own = None if groups is None else groups[inside]
        return edit_effects(flags[inside], parts, buckets[inside], groups=own, **intervals)

    found: dict[str | None, EditEffects] = {m: effects(broken[m], answered[m]) for m in aligned.models}
    if len(aligned.models) > 1:
        everyone = np.logical_and.reduce(list(answered.values()))
        found[None] = effects(np.stack(list(broken.values()), axis=1), everyone)
    of_rows = {kind: np.zeros(len(aligned.bucket), dtype=np.bool_) for kind in kinds}
    for kind, flag in kinds.items():
        of_rows[kind][rows] = flag
    made = SetEdits(aligned.name, rule is unchanged, has_originals, of_rows, found)
    shown = None if len(aligned.models) > 1 else aligned.models[0]
    sure = [one.kind for one in found[shown].effects if one.corrected_p_value < _SURE and one.difference > 0]
    examples = {kind: _examples(aligned, texts, kind, kinds, rows, broken) for kind in sure}
    return replace(made, examples={shown: examples})
