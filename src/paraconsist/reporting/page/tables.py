"""The page's tables: headline numbers, inconsistencies, breakdowns, differences between models, every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, PARAPHRASTIC, MeasureSpec
from paraconsist.reporting.formatting import bounds, count, decimal, interval, known, number, percent, quantity
from paraconsist.reporting.page.browser import link
from paraconsist.reporting.page.entries import Entry, set_names
from paraconsist.reporting.tables import (
    AGREEMENT,
    STRATUM_QUANTITIES,
    direction,
    has_two_labels,
    population,
    rates_of,
)

#: Shares of paraphrastic consistency that the headline table has no column for.
_LEFT_OUT = (
    *("consistently_right", "consistently_wrong", "corrected_pvap", "covered_mass"),
    *("pvap", "corrected_paraphrastic_consistency"),  # as published: the unbiased ones have columns
)
_RATE = "share of broken rules; lower is better"
#: What is no share: shown with four decimals.
_NO_SHARE = ("vap", "variance", "statistic", "p_value", "snr", "distance", "divergence", "deviation", "difference")


@dataclass(frozen=True)
class Cell:
    """What stands in a table: a text, a smaller one under it (an interval), whether it heads its line, stands under a
    heading, or is a name of ours, whose signs are set as in print; where it leads to, how it is shaded ("better" or
    "worse" with -1 to -3), the number that it is sorted by, and the part of a bar that it fills, two shares.
    """

    text: str
    below: str = ""
    head: bool = False
    indent: bool = False
    ours: bool = False
    href: str = ""
    shade: str = ""
    sort: float | None = None
    bar: tuple[float, float] | None = None


@dataclass(frozen=True)
class Column:
    """A column's label, what it means (shown on hovering), whether it holds numbers, whether the label is turned."""

    label: str
    title: str = ""
    numeric: bool = True
    upright: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the page; a row with one cell is a heading over the rows below it. Its `kind` is for the style."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    kind: str = ""


SET, MODEL = Column("set", numeric=False), Column("model", numeric=False)


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], entries: Sequence[Entry], note: str = ""
) -> Table:
    """Return a table without its column of models where the page has one model.

    Where it has several, the models stand first and the sets, if these did, over them.
    """
    if len(entries) == 1:
        place = columns.index(MODEL)
        kept = [[cell for i, cell in enumerate(row) if i != place] for row in rows]
        return Table(caption, [column for column in columns if column is not MODEL], kept, note)
    if columns[0] is not SET:
        return Table(caption, columns, list(rows), note)
    lines: list[Sequence[Cell]] = []
    for over, same in groupby(rows, key=lambda row: row[0]):
        lines.append([replace(over, text=f"{over.text}, {over.below}" if over.below else over.text, below="")])
        lines += [[replace(model, head=True), *cells] for _, model, *cells in same]
    return Table(caption, columns[1:], lines, note)


def share(values: Mapping[str, Any], key: str) -> Cell:
    """Return a share in per cent with its interval below."""
    return Cell(percent(values.get(key)), in_print(interval(bounds(values.get("confidence_interval"), key))))


def in_print(number: str) -> str:
    """Return a number with a minus sign for its hyphen."""
    return number.replace("-", "−")


def results_of(
    entries: Sequence[Entry], *measures: str
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield (set, model, the set's results, the measure's), measure by measure and set by set, where there are any."""
    for measure in measures:
        for name in set_names(entries):
            for entry in entries:
                result = entry.sets[name].results if name in entry.sets else {}
                values = result.get("measures", {}).get(measure)
                if values is not None:
                    yield name, entry.name, result, values


def measures_of(entries: Sequence[Entry]) -> list[str]:
    """Return every measure that the sets were scored for."""
    return list(dict.fromkeys(m for e in entries for s in e.sets.values() for m in s.results.get("measures", {})))


def headline_table(entries: Sequence[Entry]) -> Table | None:
    """Return paraphrastic consistency: a line for each set and model."""
    lines = list(results_of(entries, PARAPHRASTIC.name))
    if not lines:
        return None
    left_out = [*_LEFT_OUT, *([AGREEMENT] if all(has_two_labels(values) for *_, values in lines) else [])]
    shares = (q for q in PARAPHRASTIC.quantities if q.is_share and q.key not in left_out)
    used = [q for q in shares if any(known(values.get(q.key)) for *_, values in lines)]
    used.sort(key=lambda q: q.key != PARAPHRASTIC.headline)
    columns = [
        SET,
        MODEL,
        *(Column(q.symbol, q.meaning) for q in used),
        Column("buckets", "problems, each with its paraphrases"),
        Column("majority", "accuracy of always giving the paraphrases' commonest label; its P_C would be 100"),
    ]
    rows = []
    for name, model, result, values in lines:
        last = [Cell(count(values.get("n_buckets"))), Cell(percent(result.get("majority_rate")))]
        rows.append([Cell(name, head=True), Cell(model), *(share(values, q.key) for q in used), *last])
    note = "Read P_C beside A: a model that always gives the same answer has P_C 100."
    return table("Paraphrastic consistency, in per cent, with intervals", columns, rows, entries, note)


def inconsistency_table(entries: Sequence[Entry]) -> Table | None:
    """Return the shares of broken rules: a line for each set, measure and model (BECEL's Table 2)."""
    specs = rates_of(measures_of(entries))
    rows = []
    for spec in specs:
        for name, model, result, values in results_of(entries, spec.name):
            shares = [share(values, key) for key in (spec.headline, ABOVE_CHANCE.key)]
            accuracies = (values.get("accuracy"), values.get("perturbed_accuracy"), result.get("majority_rate"))
            cells = [*shares, *map(Cell, (population(values, " / "), *map(percent, accuracies)))]
            rows.append([Cell(name, spec.short, head=True), Cell(model), *cells])
    columns = [
        SET,
        MODEL,
        Column(common_symbol(specs), _RATE),
        Column(ABOVE_CHANCE.symbol, ABOVE_CHANCE.meaning),
        Column("rows", "what the share is of; for transitive and additive sets: rows whose parts are right, of all"),
        Column("A", "accuracy on the originals"),
        Column("A perturbed", "accuracy on the perturbed side"),
        Column("majority", "accuracy of always giving the originals' commonest label"),
    ]
    return table(f"Inconsistency, in per cent, {direction(specs)}", columns, rows, entries) if rows else None


def common_symbol(specs: Sequence[MeasureSpec]) -> str:
    """Return what a column of the measures' rates is called: tau, but where there is only another."""
    symbols = {spec.symbol.partition(" ")[0] for spec in specs}
    return symbols.pop() if len(symbols) == 1 else "tau"


def breakdowns(entries: Sequence[Entry]) -> Iterator[tuple[str, str, Table]]:
    """Yield (set, title, table) for every set and measure that are broken down by strata."""
    for name in set_names(entries):
        strata = {e.name: e.sets[name].results.get("strata") or {} for e in entries if name in e.sets}
        parts = (part for by in strata.values() for values in by.values() for part in values.values())
        for measure in dict.fromkeys(measure for part in parts for measure in part):
            lines = (
                (column, value, model, _stratum_cells(measure, part[measure]))
                for column, value, model, part in by_stratum(strata)
                if part.get(measure) is not None
            )
            rows = stratified(lines, entries, name, gold_labels=measure == PARAPHRASTIC.name)
            columns = [Column("stratum", numeric=False), MODEL]
            if measure == PARAPHRASTIC.name:
                title, caption = name, "Accuracy and consistency by stratum, in per cent"
                shares = [Column(q.symbol, q.meaning) for q in STRATUM_QUANTITIES]
                columns += [Column("buckets"), Column("rows"), *shares]
            else:
                caption = f"{CATALOGUE[measure].title} by stratum, in per cent"
                columns += [Column("rows"), Column(common_symbol([CATALOGUE[measure]]), _RATE)]
                title = f"{name}: {CATALOGUE[measure].title.lower()}"
            yield name, title, table(caption, columns, rows, entries)


def by_stratum(strata: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str, Any]]:
    """Yield (column, value, model, what it holds) of every stratum that a model has: strata side by side."""
    for column in dict.fromkeys(column for by_column in strata.values() for column in by_column):
        for value in dict.fromkeys(value for by_column in strata.values() for value in by_column.get(column, {})):
            for model, by_column in strata.items():
                part = by_column.get(column, {}).get(value)
                if part is not None:
                    yield column, str(value), model, part


def stratified(
    lines: Iterable[tuple[str, str, str, Sequence[Cell]]],
    entries: Sequence[Entry],
    set_name: str,
    *,
    gold_labels: bool = True,
) -> Iterator[list[Cell]]:
    """Yield the rows of (column, value, model, cells), a heading over each column's; values lead to their buckets.

    Without `gold_labels` those of the gold label do not: it is not the bucket's, but of some of its rows.
    """
    heading = None
    for column, value, model, cells in lines:
        if column != heading:
            yield [Cell(column, head=True)]
            heading = column
        one_of = model if len(entries) > 1 else ""
        href = link(set=set_name, model=one_of, stratum={column: value})
        if column == "label":
            href = link(set=set_name, model=one_of, label=value) if gold_labels else ""
        yield [Cell(value, head=True, indent=True, href=href), Cell(model), *cells]


def _stratum_cells(measure: str, values: Mapping[str, Any]) -> list[Cell]:
    if measure == PARAPHRASTIC.name:
        counts = [Cell(count(values[key])) for key in ("n_buckets", "n_examples")]
        return [*counts, *(share(values, q.key) for q in STRATUM_QUANTITIES)]
    n = next((values[key] for key in ("n_satisfied", "n_pairs", "n_buckets") if key in values), None)
    return [Cell(count(n)), share(values, CATALOGUE[measure].headline)]


def every_number(entries: Sequence[Entry]) -> list[tuple[str, Table]]:
    """Return (set and model, table) with every number of every result, also of measures unknown here."""
    tables = []
    for entry in entries:
        of_sets = ((name, scored.results.get("measures", {})) for name, scored in entry.sets.items())
        parts = [(name, measure, values) for name, by in of_sets for measure, values in by.items()]
        parts += [(name, name, values) for name, values in entry.more.items()]
        for name, measure, values in parts:
            if rows := list(_number_rows(values)):
                columns = [Column("key", numeric=False), *map(Column, ("value", "interval", "units", "design effect"))]
                tables.append((f"{name}, {entry.name}", Table(measure.replace("_", " "), columns, rows)))
    return tables


def _number_rows(values: Mapping[str, Any]) -> Iterator[list[Cell]]:
    intervals = values.get("confidence_interval", {})
    for key, value in values.items():
        if isinstance(value, (int, float)) or (value is None and key not in ("runs", "collapsed_runs")):
            ends = bounds(intervals, key) if isinstance(intervals, Mapping) else None
            is_share = isinstance(value, float) and not any(word in key for word in _NO_SHARE)
            text = quantity(value, True, undefined="–") if is_share else number(value)
            below = in_print(interval(ends, percent if is_share else decimal))
            more = (values.get(name) for name in ("n_clusters", "design_effect"))
            units, effect = (part.get(key) if isinstance(part, Mapping) else None for part in more)
            own = (Cell(count(units) if known(units) else ""), Cell(decimal(effect, digits=1, undefined="")))
            yield [Cell(key.replace("_", " "), head=True), Cell(text), Cell(below), *own]
