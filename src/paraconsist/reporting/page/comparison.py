"""Models against each other: every pair's difference, groups that do not differ, buckets that they disagree about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, MeasureSpec
from paraconsist.reporting.formatting import bounds, count, interval, known, p_value, percent, rank_words
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.browser import link
from paraconsist.reporting.page.entries import Entry, ScoredSet
from paraconsist.reporting.page.tables import MODEL, SET, Cell, Column, Table, in_print
from paraconsist.reporting.tables import compared, correction_words, margin_words
from paraconsist.scoring.compare import ModelPair, SetComparison, compare, compare_options
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.sources import Source

#: Pairs of models of one set and measure, above which only those with the best model are listed.
MOST_PAIRS = 15
#: Buckets of a set, and cells of all sets, in the tables of buckets that the models disagree about.
_MOST_BUCKETS, _MOST_CELLS = 200, 4000
#: Corrected p-values at which a difference is shaded, ever darker.
_SHADED = (0.05, 0.01, 0.001)


def compare_entries(
    entries: Sequence[Entry], options: ScoreOptions, margin: float | None = None
) -> list[SetComparison]:
    """Compare the models on every set that all of them have; nothing where they have none in common.

    Models of which no answer could be read in one of the sets are left out.
    """
    entries = [entry for entry in entries if not any(map(_nothing_parsed, entry.sets.values()))]
    common = [name for name in entries[0].sets if all(name in entry.sets for entry in entries)] if entries else []
    models = {name: {one: sets[one] for one in common} for name, sets in sources_of(entries).items()}
    return compare(models, compare_options(options, margin)) if common and len(entries) > 1 else []


def sources_of(entries: Sequence[Entry]) -> dict[str, dict[str, Source]]:
    """Return each model's sets as they are compared: model -> set -> its predictions."""
    return {e.name: {n: Source(n, one.predictions, one.columns) for n, one in e.sets.items()} for e in entries}


def _nothing_parsed(scored: ScoredSet) -> bool:
    n_unparsed = scored.results.get("n_unparsed")
    return bool(n_unparsed) and n_unparsed == scored.results.get("n_rows")


def matrices(comparisons: Sequence[SetComparison], *, linked: bool = True) -> Iterator[tuple[str, Table]]:
    """Yield (set and measure, table) of every difference of three models or more: the row's value minus the column's.

    Models stand in the order of their ranks, those with a letter in common do not differ. With `linked` a cell leads to
    the buckets in which the column's model flips and the row's does not.
    """
    for one in comparisons:
        for spec in (CATALOGUE[measure] for measure in dict.fromkeys(pair.measure for pair in one.pairs)):
            pairs = {(pair.first, pair.second): pair for pair in one.pairs if pair.measure == spec.name}
            ranks = {row["model"]: row for row in one.standings if row["measure"] == spec.name}
            models = list(ranks) or list(dict.fromkeys(model for who in pairs for model in who))
            if len(models) < 3 or not any(known(pair.result["difference"]) for pair in pairs.values()):
                continue
            rows = [
                [
                    Cell(row, head=True),
                    Cell(rank_words(ranks.get(row))),
                    Cell(str(ranks[row]["letters"]) if row in ranks else ""),
                    *(_difference(pairs, spec, row, column, one.set if linked else None) for column in models),
                ]
                for row in models
            ]
            columns = [MODEL, Column("rank"), Column("group", numeric=False)]
            columns += [Column(model, upright=True) for model in models]
            name = f"{spec.symbol or spec.title.lower()}"
            leads = " A cell leads to the buckets where the column's model flips and the row's does not."
            note = (
                f"Row minus column with its interval; blue where the row's model is better, orange where the column's "
                f"is, the darker the smaller p, {correction_words(vars(one))}: at most .05, .01, .001. Models with a "
                f"letter in common are not shown to differ; ranks and letters hold for all pairs together."
            )
            caption = f"Differences in {name}, in points, {one.set}"
            yield f"{one.set}: {name}", Table(caption, columns, rows, note + leads * linked, kind="matrix")


def _difference(
    pairs: Mapping[tuple[str, str], ModelPair], spec: MeasureSpec, row: str, column: str, linked_set: str | None
) -> Cell:
    sign, pair = (1.0, pairs[row, column]) if (row, column) in pairs else (-1.0, pairs.get((column, row)))
    if pair is None:
        return Cell("")
    value = pair.result["difference"]
    ends = bounds(pair.result["confidence_interval"], "difference")
    if known(value):
        value = sign * value + 0.0  # no minus before a zero
    turned = interval(sorted(sign * end + 0.0 for end in ends) if ends else None)
    level = sum(known(p := pair.corrected_p_value) and p <= limit for limit in _SHADED)
    is_better = level and (value > 0.0) == bool(spec.higher_is_better)
    shade = f"{'better' if is_better else 'worse'}-{level}" if level else ""
    href = link(set=linked_set, flips=column, holds=row) if linked_set is not None else ""
    return Cell(in_print(percent(value, signed=True)), in_print(turned), href=href, shade=shade)


def heat_maps(sets: Sequence[AlignedSet]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table): a line for each bucket that the models disagree about, the most first, a column for each.

    Disagreement is the standard deviation over the models of what a cell shows: the share of right wordings, or of
    broken rules. The other buckets stand in the last line, as their mean.
    """
    several = [one for one in sets if len(one.models) > 1]
    most = min(_MOST_BUCKETS, _MOST_CELLS // max(1, sum(len(one.models) for one in several)))
    for one in several:
        is_right = one.measure == PARAPHRASTIC.name
        by_model = one.accuracy if is_right else one.inconsistency
        values = np.ma.masked_invalid(np.array([by_model[model] for model in one.models]))
        spread = np.round(values.std(axis=0).filled(0.0), 9)
        worst = one.worst_first()
        order = worst[np.argsort(-spread[worst], kind="stable")]
        first, rest = np.split(order, [min(most, int((spread > 0.0).sum()))])
        rows = []
        for place in first.tolist():
            bucket = str(one.bucket_ids[place])
            cells = []
            for model, value in zip(one.models, values[:, place].filled(np.nan).tolist(), strict=True):
                distance = 2.0 * value - 1.0 if is_right else -value  # from what is neither good nor bad
                level = int(np.ceil(3.0 * abs(distance))) if known(value) else 0
                shade = f"{'better' if distance > 0.0 else 'worse'}-{level}" if level else ""
                href = link(set=one.name, model=model, bucket=bucket)
                cells.append(Cell(percent(value, digits=0), href=href, shade=shade))
            rows.append([Cell(bucket, head=True, href=link(set=one.name, bucket=bucket)), *cells])
        if len(rest):
            means = values[:, rest].mean(axis=1).filled(np.nan).tolist()
            words = f"mean of {'the other ' if rows else ''}{count(len(rest))}"
            rows.append([Cell(words, head=True), *(Cell(percent(mean, digits=0)) for mean in means)])
        what = "Wordings answered right" if is_right else f"{CATALOGUE[one.measure].title}: broken rules"
        columns = [Column("bucket", numeric=False), *(Column(model, upright=True) for model in one.models)]
        note = "" if len(first) == len(order) else f"{count(len(first))} of {count(len(order))} buckets are shown."
        yield one.name, Table(f"{what}, in per cent, {one.name}", columns, rows, note, kind="heat")


def comparison_tables(comparisons: Sequence[SetComparison]) -> Iterator[Table]:
    """Yield a table of the differences, of many models from the best one only, and of models that another one beats."""
    rows: list[list[Cell]] = []
    has_more = any(pair.simultaneous_interval for one in comparisons for pair in one.pairs)
    has_margin = any("margin_test" in pair.result for one in comparisons for pair in one.pairs)
    is_long = any(len(one.pairs) > MOST_PAIRS for one in comparisons)
    for one in comparisons:
        best: dict[str, str] = {}
        for standing in one.standings if is_long else ():
            best.setdefault(standing["measure"], standing["model"])
        for pair in (pair for pair in one.pairs if best.get(pair.measure, pair.first) in (pair.first, pair.second)):
            for place, (label, value, ends, p) in enumerate(_lines(pair.result, pair.measure)):
                first = Cell(one.set, below=f"{count(one.n_common_buckets)} common buckets", head=True)
                models, difference = f"{pair.first} minus {pair.second}", in_print(percent(value, signed=True))
                row = [first, Cell(models), Cell(label, ours=True), Cell(difference, in_print(interval(ends)))]
                more = [Cell(p_value(pair.corrected_p_value))]
                if has_more:
                    ends_of_all = in_print(interval(pair.simultaneous_interval))
                    more.append(Cell(p_value(pair.simultaneous_p_value), ends_of_all))
                if has_margin:
                    more.append(Cell(margin_words(pair.to_dict())))
                rows.append([*row, Cell(p_value(p)), *(more if place == 0 else [Cell("")] * len(more))])
    if not rows:
        return
    columns = [
        *(Column(label, numeric=False) for label in ("set", "models", "measure")),
        Column("difference", "in points"),
        Column("p", "sign-flip permutation test, two-sided"),
        Column("p corrected", f"over {comparisons[0].n_comparisons} comparisons, {comparisons[0].correction}"),
        *([Column("p, all pairs together", "max-T, with its interval")] if has_more else []),
        *([Column("margin", numeric=False)] if has_margin else []),
    ]
    note = (
        "Positive: the first model has the higher value. Both models on the same buckets; the interval is of the "
        "difference, which two overlapping intervals do not say, and holds 0 just where p is above .05 (at 95 %)."
    )
    what = "from the best model" if is_long else "between the models"
    yield Table(f"Differences {what}, in points", columns, rows, note)
    beaten = []
    for one in comparisons:
        for line in (line for line in one.pareto if line["dominated_by"]):
            others = ", ".join(map(str, line["dominated_by"]))
            texts = (str(line["model"]), percent(line["accuracy"]), percent(line["consistency"]), others)
            beaten.append([Cell(one.set, head=True), *map(Cell, texts)])
    if beaten:
        better = Column("better in one, not worse in the other", "beyond chance, corrected", numeric=False)
        columns = [SET, MODEL, Column("A"), Column("P_C"), better]
        yield Table("Models that another one beats in accuracy or consistency", columns, beaten)


def comparison_signatures(comparisons: Sequence[SetComparison]) -> list[tuple[str, str]]:
    """Return (set and models, signature line) of the differences, pairs with one signature together."""
    pairs: dict[tuple[str, str], list[ModelPair]] = {}
    for one in comparisons:
        for pair in one.pairs:
            pairs.setdefault((one.set, str(pair.result["signature"])), []).append(pair)
    names = (f"{p[0].first} minus {p[0].second}" if len(p) == 1 else f"{count(len(p))} pairs" for p in pairs.values())
    return [(f"{set_name}, {who}", line) for (set_name, line), who in zip(pairs, names, strict=True)]


def _lines(result: dict[str, Any], measure: str) -> Iterator[tuple[str, Any, tuple[float, float] | None, Any]]:
    """Yield (label, difference, interval, p), the headline first: its p is the one that is corrected."""
    intervals = result["confidence_interval"]
    if "differences" not in result:
        label = CATALOGUE[measure].title.lower()
        yield label, result["difference"], bounds(intervals, "difference"), result["p_value"]
        return
    for q in compared(result)[:3]:
        yield q.symbol, result["differences"][q.key], bounds(intervals, q.key), result["p_values"].get(q.key)
