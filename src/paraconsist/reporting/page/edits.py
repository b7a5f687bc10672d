"""What flips it: how often answers flip where a rewording is of some kind of edit, as sentences and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.measures.edit_effects import LEAST_BUCKETS, LEAST_WORDINGS, EditEffect, EditEffects, edit_effects
from paraconsist.measures.edit_kinds import EDIT_KINDS, ENGLISH_KINDS, edit_kinds
from paraconsist.measures.rules import ORIGINAL, Answers, unchanged
from paraconsist.reporting.formatting import bounds, count, interval, p_value, percent
from paraconsist.reporting.page.aligned import AlignedSet, Positions, SetTexts
from paraconsist.reporting.page.browser import link
from paraconsist.reporting.page.excerpts import excerpts
from paraconsist.reporting.page.tables import Cell, Column, Table, in_print
from paraconsist.scoring.unparsed import apply_policy

_SURE = 0.05  # corrected p below which a kind has a sentence
_MOST_EXAMPLES = 3
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class SetEdits:
    """The r rewordings of a set of n rows: their kinds, and how often the answers of its m models break its rule."""

    aligned: AlignedSet
    texts: SetTexts
    rows: Positions  # shape (r,): where the rewordings stand among the rows
    originals: Positions  # shape (r,): and what each is compared with, the first wording where there is no original
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


def edits_of(aligned: AlignedSet, texts: SetTexts | None, intervals: Mapping[str, Any]) -> SetEdits | None:
    """Find the kinds of edit and what they do; None for a set without texts, or that is not of rewordings."""
    rule = aligned.rule.breaks
    if texts is None or rule is None or aligned.rule.partners != (ORIGINAL,):
        return None
    rows, originals = _rewordings(aligned, texts)
    if not len(rows):
        return None
    old, new = ([texts.rows[row] or () for row in side.tolist()] for side in (originals, rows))
    kinds = edit_kinds(old, new, aligned.bucket[rows].tolist())
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

    found = {model: effects([number]) for number, model in enumerate(aligned.models)}
    if len(aligned.models) > 1:
        found[""] = effects([*range(len(aligned.models))])
    return SetEdits(aligned, texts, rows, originals, kinds, broken, answered, found)


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
class Line:
    """A kind of edit in the table, and where its interval is drawn (-100 to 100, 0 in the middle)."""

    kind: str
    does: str
    href: str
    cells: tuple[Cell, ...]  # with, without, difference
    points: tuple[float, ...]  # low, difference, high; or the difference alone
    p: str
    is_sure: bool


@dataclass(frozen=True)
class Sentence:
    """What a kind of edit does, and the rewordings that show it best: original, rewording, link."""

    text: str
    href: str
    examples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class View:
    """What the page says of one set."""

    set: str
    rule: str  # what the answers do whose share stands in the table
    sentences: tuple[Sentence, ...]
    lines: tuple[Line, ...]
    widest: str  # the end of the drawn range, in points
    notes: tuple[str, ...]
    models: Table | None  # every model's differences, where there are several


def views(sets: Iterable[SetEdits]) -> Iterator[View]:
    """Yield what the page says of every set in which a kind is common enough."""
    for one in sets:
        models = one.aligned.models
        whose = "" if len(models) > 1 else models[0]
        effects = one.effects[whose].effects
        if not effects:
            continue
        ends = [end for effect in effects for end in (effect.difference, *(bounds(effect.confidence_interval) or ()))]
        widest = max(0.01, *map(abs, ends))
        sure = [effect for effect in effects if effect.corrected_p_value < _SURE]
        yield View(
            set=one.aligned.name,
            rule="Answers that stay the original's" if one.must_differ else "Answers that change",
            sentences=tuple(Sentence(_sentence(one, e), _href(one, e.kind), tuple(_examples(one, e))) for e in sure),
            lines=tuple(_line(one, effect, widest) for effect in effects),
            widest=percent(widest, digits=0),
            notes=tuple(_notes(one, effects, one.effects[whose].untested)),
            models=_by_model(one) if len(models) > 1 else None,
        )


def _href(one: SetEdits, kind: str, **more: str) -> str:
    filters: dict[str, Any] = {"set": one.aligned.name, "kind": kind, **more}
    if len(one.aligned.models) == 1:
        filters["model"] = one.aligned.models[0]
    return link(**filters)


def _sentence(one: SetEdits, effect: EditEffect) -> str:
    does = "keep the original's answer" if one.must_differ else "of the answers change"
    where = "of other wordings of the same problems" if effect.within_buckets else "elsewhere"
    ends = bounds(effect.confidence_interval)
    span = f", {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    return in_print(
        f"Where a rewording {EDIT_KINDS[effect.kind]}, {percent(effect.rate_with)} % {does}; {where} "
        f"{percent(effect.rate_without)} % do ({_points(effect.difference)} points{span})."
    )


def _line(one: SetEdits, effect: EditEffect, widest: float) -> Line:
    ends = bounds(effect.confidence_interval)
    cells = (
        Cell(percent(effect.rate_with), count(effect.n_with)),
        Cell(percent(effect.rate_without), count(effect.n_without)),
        _difference(effect),
    )
    places = [effect.difference] if ends is None else [ends[0], effect.difference, ends[1]]
    points = tuple(round(100.0 * place / widest, 1) for place in places)
    is_sure = effect.corrected_p_value < _SURE
    p, href = p_value(effect.corrected_p_value), _href(one, effect.kind)
    return Line(effect.kind, EDIT_KINDS[effect.kind], href, cells, points, p, is_sure)


def _examples(one: SetEdits, effect: EditEffect) -> Iterator[tuple[str, str, str]]:
    """Yield the rewordings that show an effect best, one of a bucket.

    First those that break the rule in most models, in buckets whose other wordings do not, with the fewest other kinds.
    """
    if effect.difference <= 0.0:
        return
    flag, broken = one.kinds[effect.kind], (one.broken & one.answered).mean(axis=1)
    buckets = one.aligned.bucket[one.rows]
    sizes, others = (np.bincount(buckets, of, len(one.aligned.bucket_ids)) for of in (~flag, broken * ~flag))
    elsewhere = (others / np.maximum(sizes, 1))[buckets]
    n_kinds = np.sum(list(one.kinds.values()), axis=0)
    order = np.lexsort((n_kinds, elsewhere, -broken))
    seen: set[int] = set()
    for place in order[(flag & (broken > 0))[order]].tolist():
        old, new = (one.texts.rows[int(side[place])] or [] for side in (one.originals, one.rows))
        if buckets[place] not in seen and len(seen) < _MOST_EXAMPLES:
            seen.add(buckets[place])
            differ = [column for column, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
            bucket = str(one.aligned.bucket_ids[buckets[place]])
            before, after = (excerpts([text]) for text in (old[differ[0]], new[differ[0]]))
            yield before[0], after[0], _href(one, effect.kind, bucket=bucket)


def _notes(one: SetEdits, effects: Sequence[EditEffect], untested: Mapping[str, int]) -> Iterator[str]:
    within = sum(effect.within_buckets for effect in effects)
    yield (
        "Each wording is compared with the other wordings of its problem, over the problems that have both; a problem "
        "that is hard in every wording so counts for no kind. "
        if within
        else "Wordings are compared over all problems: hardly any problem has wordings with and without."
    )
    if 0 < within < len(effects):
        over_all = ", ".join(effect.kind for effect in effects if not effect.within_buckets)
        yield f"Over all problems, as hardly any has both: {over_all}."
    if untested:
        rare = ", ".join(f"{kind} {count(n)}" for kind, n in untested.items())
        yield f"Not compared (in less than {LEAST_WORDINGS} wordings or {LEAST_BUCKETS} problems, or in all): {rare}."
    if absent := [kind for kind in ENGLISH_KINDS if kind not in one.kinds]:
        yield f"Not looked for, as the texts are not in English: {', '.join(absent)}."


def _by_model(one: SetEdits) -> Table:
    kinds = [effect.kind for effect in one.effects[""].effects]
    columns = [Column("model", numeric=False), *(Column(kind, f"a rewording {EDIT_KINDS[kind]}") for kind in kinds)]
    rows = []
    for model in one.aligned.models:
        effects = {effect.kind: effect for effect in one.effects[model].effects}
        cells = (_difference(effects[kind]) if kind in effects else Cell("–") for kind in kinds)
        stars = ("*" if kind in effects and effects[kind].corrected_p_value < _SURE else "" for kind in kinds)
        marked = [replace(cell, text=cell.text + star) for cell, star in zip(cells, stars, strict=True)]
        rows.append([Cell(model, head=True), *marked])
    note = f"* corrected p below {_SURE}, over the kinds of each model."
    return Table(f"{one.aligned.name}: difference of each model, in points, with intervals", columns, rows, note)


def _difference(effect: EditEffect) -> Cell:
    return Cell(_points(effect.difference), in_print(interval(effect.confidence_interval)))


def _points(difference: float) -> str:
    return in_print(percent(round(difference, 3) + 0.0, signed=True))
