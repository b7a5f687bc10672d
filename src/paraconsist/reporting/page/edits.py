"""What flips it: how often answers flip under each kind of edit, as sentences and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.measures.edit_effects import (
    EDIT_KINDS,
    ENGLISH_KINDS,
    LEAST_BUCKETS,
    LEAST_WORDINGS,
    RARE,
    EditEffect,
    EditEffects,
    edit_effects,
    edit_kinds,
)
from paraconsist.measures.rules import ORIGINAL, Answers, unchanged
from paraconsist.reporting.formatting import bounds, count, minus, percent, plural
from paraconsist.reporting.page.aligned import AlignedSet, Positions, SetTexts
from paraconsist.reporting.page.excerpts import excerpts
from paraconsist.reporting.page.figures import Placed
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.table import DIFFERENCE, P_VALUE, Cell, Column, Table
from paraconsist.reporting.tables import link
from paraconsist.scoring.roles import apply_policy

_SURE = 0.05  # corrected p below which a kind has a sentence
_USUAL = 0.6  # a kind of more rewordings than this share is no finding
_MOST_EXAMPLES = 3
Flags = NDArray[np.bool_]
_kinds = lru_cache(maxsize=4)(edit_kinds)  # found once for all the models of a site that were asked the same


@dataclass(frozen=True)
class SetEdits:
    """The r rewordings of a set of n rows: their kinds, and how often the answers of its m models break its rule."""

    aligned: AlignedSet
    texts: SetTexts
    rows: Positions  # shape (r,): the rewordings' places among the rows
    originals: Positions  # shape (r,): those of their originals, or of the first wording where there is no original
    kinds: dict[str, Flags]  # shape (r,)
    broken: Flags  # shape (r, m)
    answered: Flags  # shape (r, m): where a model answered both, and the answers count
    effects: dict[str, EditEffects]  # of each model; ``""``: of all together, where there are several

    @property
    def must_differ(self) -> bool:
        """Whether the rule asks for another answer than the original's."""
        return self.aligned.rule.breaks is unchanged

    def by_row(self) -> dict[str, Flags]:
        """Return for each kind that occurs which of the set's rows are of it, shape (n,)."""
        flags = {kind: np.zeros(len(self.aligned.bucket), dtype=np.bool_) for kind in self.kinds}
        for kind, flag in self.kinds.items():
            flags[kind][self.rows[flag]] = True
        return {kind: flag for kind, flag in flags.items() if flag.any()}


def edits_of(aligned: AlignedSet, intervals: Mapping[str, Any]) -> SetEdits | None:
    """Find the kinds of edit and their effects; None for a set without texts or rewordings, and for runs of agents."""
    rule, texts = aligned.rule.breaks, aligned.texts
    if aligned.are_agents or texts is None or rule is None or aligned.rule.partners != (ORIGINAL,):
        return None
    rows, originals = _rewordings(aligned, texts)
    if not len(rows):
        return None
    old, new = (tuple(tuple(texts.rows[row] or ()) for row in side.tolist()) for side in (originals, rows))
    kinds = _kinds(old, new, tuple(aligned.bucket[rows].tolist()))
    groups = _groups(aligned)[rows]
    broken, answered = np.zeros((2, len(rows), len(aligned.models)), dtype=np.bool_)
    for number, model in enumerate(aligned.models):
        policy, positions = aligned.policies[model], aligned.positions[model]
        read = aligned.rows[model]
        kept = read if policy == "drop_bucket" else apply_policy(read, policy)[0]
        target = aligned.rule.target
        places = {target: positions[rows], ORIGINAL: positions[originals]}
        predictions, references, unparsed = (
            {role: values[at] for role, at in places.items()}
            for values in (kept.predictions, kept.labels, kept.unparsed)
        )
        answers = Answers(predictions, references, unparsed, aligned.bucket[rows], target, never_agree=kept.never_agree)
        amount, counts = rule(answers)
        broken[:, number] = amount > 0
        answered[:, number] = counts & np.logical_and.reduce([at >= 0 for at in places.values()])
        if policy == "drop_bucket":
            silent = np.unique(aligned.bucket[(positions >= 0) & read.unparsed[positions]])
            answered[:, number] &= ~np.isin(aligned.bucket[rows], silent)

    def effects(models: list[int]) -> EditEffects:
        inside = answered[:, models].all(axis=1)
        if not inside.any():
            return EditEffects((), {kind: int(flag.sum()) for kind, flag in kinds.items()})
        parts = {kind: flag[inside] for kind, flag in kinds.items()}
        answers = broken[inside][:, models]
        return edit_effects(answers, parts, aligned.bucket[rows][inside], groups=groups[inside], **intervals)

    by_model = {model: effects([number]) for number, model in enumerate(aligned.models)}
    if len(aligned.models) > 1:
        by_model[""] = effects([*range(len(aligned.models))])
    return SetEdits(aligned, texts, rows, originals, kinds, broken, answered, by_model)


def _rewordings(aligned: AlignedSet, texts: SetTexts) -> tuple[Positions, Positions]:
    """Return the rows that are no originals, and the original of each; the first row of a bucket that has none."""
    owners, places = aligned.base
    is_original = np.zeros(len(owners), dtype=np.bool_)
    for number, model in enumerate(aligned.models):
        mine = owners == number
        is_original[mine] = aligned.rows[model].roles[places[mine]] == ORIGINAL
    order = np.lexsort((~is_original, aligned.bucket))
    first = np.zeros(len(aligned.bucket_ids), dtype=np.intp)
    first[aligned.bucket[order[::-1]]] = order[::-1]
    known = np.array([row is not None for row in texts.rows])
    rows = np.flatnonzero(known & known[first[aligned.bucket]] & (first[aligned.bucket] != np.arange(len(owners))))
    return rows, first[aligned.bucket[rows]]


def _groups(aligned: AlignedSet) -> NDArray[Any]:
    """Return what intervals resample: the group of every row, or its bucket where groups cut buckets apart."""
    columns = [aligned.rows[model].groups for model in aligned.models]
    if any(column is None for column in columns):
        return aligned.bucket
    values = [columns[owner][place] for owner, place in zip(*aligned.base, strict=True)]
    groups = np.unique(np.array(values), return_inverse=True)[1]
    first = np.zeros(len(aligned.bucket_ids), dtype=np.intp)
    first[aligned.bucket] = groups
    return groups if np.array_equal(first[aligned.bucket], groups) else aligned.bucket


@dataclass(frozen=True)
class View:
    """One set: sentences, each with a link and examples (original, rewording, link), and tables."""

    set: str
    sentences: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...]
    table: Table
    models: Table | None  # the same of every model, where there are several
    notes: tuple[str, ...]


def views(sets: Iterable[SetEdits]) -> Iterator[View]:
    """Yield the view of every set in which a kind is common enough."""
    for edits in sets:
        models = edits.aligned.models
        whose = edits.effects["" if len(models) > 1 else models[0]]
        if not whose.effects:
            continue
        sentences = tuple(
            (_sentence(edits, effect), _href(edits, effect.kind), tuple(_examples(edits, effect)))
            for effect in filter(_is_finding, whose.effects)
        )
        each = [row for model in models for row in [[Cell(model)], *_rows(edits, model)]]
        by_model = _table("Model by model", each) if len(models) > 1 else None
        what = "Answers that stay the original's" if edits.must_differ else "Answers that change"
        caption = f"{what}, in per cent, and of how many; differences in points; p corrected for all kinds"
        rows = list(_rows(edits, "" if len(models) > 1 else models[0]))
        yield View(edits.aligned.name, sentences, _table(caption, rows), by_model, tuple(_notes(edits, whose)))


def edit_plots(sets: Iterable[SetEdits]) -> Iterator[Placed]:
    """Yield the differences of every set and model around a line at 0."""
    for number, edits in enumerate(sets):
        each = [(model, e, _href(edits, e.kind)) for model, of in edits.effects.items() if model for e in of.effects]
        lines = [
            Line("", e.kind, model, e.difference, bounds(e.confidence_interval), href, _is_finding(e))
            for model, e, href in each
        ]
        if lines:
            what = "stay the original's" if edits.must_differ else "change"
            caption = f"How much more often answers {what} where a rewording is of a kind. Filled: a finding."
            title = f"What flips it, {edits.aligned.name}"
            plot = forest_plot(f"edits-{number}", title, caption, "difference, points", lines, zero=True)
            n_findings = sum(bool(line.is_filled) for line in lines)
            said = f"Findings: {n_findings} of {plural(len(lines), 'difference')}"
            yield Placed("edits", edits.aligned.name, plot, said)


def _is_finding(effect: EditEffect) -> bool:
    is_usual = effect.n_with > _USUAL * (effect.n_with + effect.n_without)
    return effect.corrected_p_value < _SURE and not is_usual


def _table(caption: str, rows: Sequence[Sequence[Cell]]) -> Table:
    titles = {"with it": "", "without": "", "difference": "", "p": "Benjamini and Hochberg"}
    numbers = (Column(label, title) for label, title in titles.items())
    return Table(caption, [Column("a rewording …", words=True), *numbers], rows)


def _rows(edits: SetEdits, model: str) -> Iterator[list[Cell]]:
    for effect in edits.effects[model].effects:
        filters = {"model": model} if model else {}
        yield [
            Cell(EDIT_KINDS[effect.kind], below=effect.kind, head=True, link=_href(edits, effect.kind, **filters)),
            Cell(effect.rate_with, below=count(effect.n_with)),
            Cell(effect.rate_without, below=count(effect.n_without)),
            Cell(round(effect.difference, 3) + 0.0, effect.confidence_interval, DIFFERENCE),
            Cell(effect.corrected_p_value, unit=P_VALUE),
        ]


def _href(edits: SetEdits, kind: str, **filters: Any) -> str:
    if len(edits.aligned.models) == 1:
        filters["model"] = edits.aligned.models[0]
    return link(set=edits.aligned.name, kind=kind, **filters)


def _sentence(edits: SetEdits, effect: EditEffect) -> str:
    does = "keep the original's answer" if edits.must_differ else "of the answers change"
    where = "of other wordings of the same problems" if effect.within_buckets else "elsewhere"
    ends = bounds(effect.confidence_interval)
    span = "" if ends is None else f", {' to '.join(minus(percent(end)) for end in ends)}"
    points = minus(percent(round(effect.difference, 3) + 0.0, signed=True))
    return (
        f"Where a rewording {EDIT_KINDS[effect.kind]}, {percent(effect.rate_with)} % {does}; {where} "
        f"{percent(effect.rate_without)} % do ({points} points{span})."
    )


def _examples(edits: SetEdits, effect: EditEffect) -> Iterator[tuple[str, str, str]]:
    """Yield the rewordings that show an effect best, one of a bucket.

    First those that break the rule in most models, in buckets whose other wordings do not, with the fewest other kinds.
    """
    flag, broken = edits.kinds[effect.kind], (edits.broken & edits.answered).mean(axis=1)
    buckets = edits.aligned.bucket[edits.rows]
    sizes, others = (np.bincount(buckets, of, len(edits.aligned.bucket_ids)) for of in (~flag, broken * ~flag))
    elsewhere, n_kinds = (others / np.maximum(sizes, 1))[buckets], np.sum(list(edits.kinds.values()), axis=0)
    order = np.lexsort((n_kinds, elsewhere, -broken))
    order = order[(flag & (broken > 0.0) & (effect.difference > 0.0))[order]]
    for place in order[np.sort(np.unique(buckets[order], return_index=True)[1])][:_MOST_EXAMPLES]:
        pair = [edits.texts.rows[int(side[place])] or [] for side in (edits.originals, edits.rows)]
        old, new = next(texts for texts in zip(*pair, strict=True) if texts[0] != texts[1])
        href = _href(edits, effect.kind, bucket=str(edits.aligned.bucket_ids[buckets[place]]))
        yield excerpts([old])[0], excerpts([new])[0], href


def _notes(edits: SetEdits, whose: EditEffects) -> Iterator[str]:
    over_all = [effect.kind for effect in whose.effects if not effect.within_buckets]
    if len(over_all) < len(whose.effects):
        yield (
            "Wordings are compared with the other wordings of the same problem, over the problems that have both, so "
            "that a problem that is hard in every wording counts for no kind."
        )
    if over_all:
        yield f"Compared over all problems, as hardly any has both: {', '.join(over_all)}."
    yield "Kinds that often come together have some of each other's difference."
    usual = percent(_USUAL, digits=0)
    yield f"A finding has a corrected p below {_SURE}, and at most {usual} % of rewordings are of its kind."
    if "rare word" in edits.kinds:
        yield f"Rare is a word in at most {percent(RARE, digits=0)} % of this set's problems."
    if whose.untested:
        rare = ", ".join(f"{kind} {count(n)}" for kind, n in whose.untested.items())
        least = f"{LEAST_WORDINGS} wordings or {LEAST_BUCKETS} problems with it or without"
        yield f"Not compared (fewer than {least}): {rare}."
    if absent := [kind for kind in ENGLISH_KINDS if kind not in edits.kinds]:
        yield f"Not looked for, as the texts are not in English: {', '.join(absent)}."
