"""Several models on the sets that they all answered: paired differences with intervals and corrected p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.numbers import Cell, Column, Table, bounds, count, interval, known, percent
from paraconsist.scoring.compare import CompareOptions, SetComparison, compare
from paraconsist.scoring.score import ScoreOptions

_MEASURES = (
    ("paraphrastic_consistency", "P_C"),
    ("paraphrastic_consistency_unbiased", "P_C unbiased"),
    ("accuracy", "A"),
)


def compare_entries(entries: Sequence[Entry], options: ScoreOptions) -> list[SetComparison]:
    """Compare the models on every set that all of them have; nothing where they have none in common."""
    common = [name for name in entries[0].sets if all(name in entry.sets for entry in entries)]
    found: list[SetComparison] = []
    by_columns: dict[Any, list[str]] = {}
    for name in common:
        columns = entries[0].sets[name].columns
        by_columns.setdefault(repr(columns), []).append(name)
    for names in by_columns.values():
        columns = entries[0].sets[names[0]].columns
        settings = CompareOptions(
            columns=columns,
            measures=options.measures,
            confidence_level=options.confidence_level,
            n_resamples=options.n_resamples,
            seed=options.seed,
            unparsed=options.unparsed,
        )
        found += compare({e.name: {n: e.sets[n].predictions for n in names} for e in entries}, settings)
    return found


def comparison_tables(found: Sequence[SetComparison]) -> Iterator[Table]:
    """Yield a table of the differences, and one of the models that another one beats in both ways."""
    rows: list[list[Cell]] = []
    for one in found:
        for pair in one.pairs:
            who = f"{pair.first} minus {pair.second}"
            lines = list(_lines(pair.result, pair.measure))
            for label, value, ends, p in lines:
                rows.append(
                    [
                        Cell(one.set, below=f"{count(one.n_common_buckets)} common buckets", head=True),
                        Cell(who),
                        Cell(label, ours=True),
                        Cell(_points(value), interval(ends)),
                        Cell(_p(p)),
                        Cell(_p(pair.corrected_p_value) if label == lines[0][0] else ""),
                    ]
                )
    if not rows:
        return
    columns = [
        Column("set", numeric=False),
        Column("models", numeric=False),
        Column("measure", numeric=False),
        Column("difference", "in points"),
        Column("p", "sign-flip permutation test, two-sided"),
        Column("p corrected", f"over {found[0].n_comparisons} comparisons, {found[0].correction}"),
    ]
    note = (
        "Positive: the first model has the higher value. Both models on the same buckets; the interval is of the "
        "difference, which two overlapping intervals do not say."
    )
    yield Table("Differences between the models, in points", columns, rows, note=note)
    beaten = [(one.set, row) for one in found for row in one.pareto if row["dominated_by"]]
    if beaten:
        beaten_rows = [
            [
                Cell(name, head=True),
                Cell(str(row["model"])),
                Cell(percent(row["accuracy"])),
                Cell(percent(row["consistency"])),
                Cell(", ".join(map(str, row["dominated_by"]))),
            ]
            for name, row in beaten
        ]
        columns = [
            Column("set", numeric=False),
            Column("model", numeric=False),
            Column("A"),
            Column("P_C unbiased"),
            Column("at least as good both ways", numeric=False),
        ]
        yield Table("Models that another one beats in accuracy and consistency", columns, beaten_rows)


def comparison_signatures(found: Sequence[SetComparison]) -> list[tuple[str, str]]:
    """Return (set and models, signature line) of every difference."""
    return [
        (f"{one.set}, {pair.first} minus {pair.second}", str(pair.result["signature"]))
        for one in found
        for pair in one.pairs
    ]


def _lines(result: dict[str, Any], measure: str) -> Iterator[tuple[str, Any, tuple[float, float] | None, Any]]:
    """Yield (label, difference, interval, p), the headline first: its p is the one that is corrected."""
    intervals = result["confidence_interval"]
    if measure != "paraphrastic_consistency":
        label = measure.replace("_", " ")
        yield label, result["difference"], bounds(intervals, "difference"), result["p_value"]
        return
    headline = "unbiased" in str(result["signature"])
    order = sorted(_MEASURES, key=lambda item: ("unbiased" in item[0]) != headline or item[0] == "accuracy")
    for key, label in order:
        if key in result["differences"]:
            yield label, result["differences"][key], bounds(intervals, key), result["p_values"].get(key)


def _points(value: Any) -> str:
    return f"{100 * value:+.1f}".replace("-", "−") if known(value) else "–"


def _p(value: Any) -> str:
    if not known(value):
        return "–"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
