"""The page's tables: headline numbers, inconsistencies, breakdowns, every number of a result.

Several models on the sets that they all answered: paired differences with intervals and corrected p-values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.reporting.formatting import Cell, Column, Table, bounds, count, interval, known, number, percent
from paraconsist.reporting.page.entries import Entry
from paraconsist.scoring.compare import CompareOptions, SetComparison, compare
from paraconsist.scoring.score import ScoreOptions

_MEASURES = (
    ("accuracy", "A", "accuracy on paraphrases"),
    ("original_accuracy", "A_O", "accuracy on originals"),
    ("paraphrastic_consistency", "P_C", "chance that two paraphrases are both right or both wrong, as published"),
    ("paraphrastic_consistency_unbiased", "P_C unbiased", "the same over two different paraphrases"),
    ("min_paraphrastic_consistency", "least P_C", "least P_C that this bucket accuracy allows"),
    ("pvap", "PVAP", "share of the variance of correctness that is due to wording"),
    ("test_accuracy", "A_T", "accuracy on the full test set"),
    ("corrected_accuracy", "A corrected", "accuracy weighted back to the full test set"),
    ("corrected_paraphrastic_consistency", "P_C corrected", "P_C weighted back to the full test set"),
)
_CONDITIONAL = ("transitive_inconsistency", "additive_inconsistency")
_STRATUM = ("accuracy", "paraphrastic_consistency", "paraphrastic_consistency_unbiased", "pvap")
#: What is no share: shown with four decimals.
_NO_SHARE = ("vap", "variance", "statistic", "p_value", "snr", "distance", "divergence", "deviation", "difference")


def results_of(
    entries: Sequence[Entry], measure: str
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield (set, model, the set's results, the measure's), set by set, for those that have the measure."""
    for name in dict.fromkeys(name for entry in entries for name in entry.sets):
        for entry in entries:
            result = entry.sets[name].results if name in entry.sets else {}
            found = result.get("measures", {}).get(measure)
            if found is not None:
                yield name, entry.name, result, found


def headline_table(entries: Sequence[Entry]) -> Table | None:
    """Return paraphrastic consistency: a line for each set and model."""
    lines = list(results_of(entries, "paraphrastic_consistency"))
    if not lines:
        return None
    used = [m for m in _MEASURES if any(known(found.get(m[0])) for *_, found in lines)]
    rows: list[list[Cell]] = []
    for name, model, result, found in lines:
        intervals = found.get("confidence_interval", {})
        rows.append(
            [
                Cell(name, head=True),
                *([Cell(model)] if len(entries) > 1 else []),
                Cell(count(found.get("n_buckets"))),
                *(Cell(percent(found.get(key)), interval(bounds(intervals, key))) for key, *_ in used),
                Cell(percent(result.get("majority_rate"))),
            ]
        )
    columns = [
        Column("set", numeric=False),
        *([Column("model", numeric=False)] if len(entries) > 1 else []),
        Column("buckets", "problems, each with its paraphrases"),
        *(Column(label, title) for _, label, title in used),
        Column("majority", "accuracy of always giving the commonest label; its P_C would be 100"),
    ]
    return Table(
        "Paraphrastic consistency, in per cent, with intervals",
        columns,
        rows,
        note="Read P_C beside A: a model that always gives the same answer has P_C 100.",
    )


def inconsistency_table(entries: Sequence[Entry]) -> Table | None:
    """Return the shares of broken rules: a line for each set, measure and model (BECEL's Table 2)."""
    rows: list[list[Cell]] = []
    measures = dict.fromkeys(m for e in entries for s in e.sets.values() for m in s.results.get("measures", {}))
    for measure in measures:
        for name, model, result, found in results_of(entries, measure):
            if "inconsistency" not in found:
                continue
            conditional = measure in _CONDITIONAL
            population = f"{count(found.get('n_satisfied'))} / {count(found.get('n_rows'))}"
            rows.append(
                [
                    Cell(name, measure.removesuffix("_inconsistency"), head=True),
                    *([Cell(model)] if len(entries) > 1 else []),
                    Cell(
                        percent(found["inconsistency"]),
                        interval(bounds(found.get("confidence_interval"), "inconsistency")),
                    ),
                    Cell(population if conditional else count(found.get("n_pairs"))),
                    Cell(percent(found.get("accuracy"))),
                    Cell(percent(found.get("perturbed_accuracy"))),
                    Cell(percent(result.get("majority_rate"))),
                ]
            )
    if not rows:
        return None
    columns = [
        Column("set", numeric=False),
        *([Column("model", numeric=False)] if len(entries) > 1 else []),
        Column("tau", "share of broken rules; lower is better"),
        Column("rows", "what the share is of; for transitive and additive sets: rows whose parts are right, of all"),
        Column("A", "accuracy on the originals"),
        Column("A perturbed", "accuracy on the perturbed side"),
        Column("majority", "accuracy of always giving the originals' commonest label"),
    ]
    return Table("Inconsistency, in per cent, lower is better", columns, rows)


def breakdowns(entries: Sequence[Entry]) -> Iterator[tuple[str, str, Table]]:
    """Yield (set, measure, table) for every set that is broken down by strata."""
    for name in dict.fromkeys(name for entry in entries for name in entry.sets):
        having = [entry for entry in entries if name in entry.sets and entry.sets[name].results.get("strata")]
        measures = dict.fromkeys(
            measure
            for entry in having
            for values in entry.sets[name].results["strata"].values()
            for part in values.values()
            for measure in part
        )
        for measure in measures:
            rows = list(_stratum_rows(having, name, measure, len(entries) > 1))
            if rows:
                yield name, measure, Table(_caption(measure), _stratum_columns(measure, len(entries) > 1), rows)


def _caption(measure: str) -> str:
    if measure == "paraphrastic_consistency":
        return "Accuracy and consistency by stratum, in per cent"
    return f"{measure.replace('_', ' ').capitalize()} by stratum, in per cent"


def _stratum_columns(measure: str, several: bool) -> list[Column]:
    first = [Column("stratum", numeric=False), *([Column("model", numeric=False)] if several else [])]
    if measure == "paraphrastic_consistency":
        labels = {key: (label, title) for key, label, title in _MEASURES}
        return [*first, Column("buckets"), Column("rows"), *(Column(*labels[key]) for key in _STRATUM)]
    return [*first, Column("rows"), Column("tau", "share of broken rules; lower is better")]


def _stratum_rows(entries: Sequence[Entry], name: str, measure: str, several: bool) -> Iterator[list[Cell]]:
    strata = {entry.name: entry.sets[name].results["strata"] for entry in entries}
    columns = dict.fromkeys(column for found in strata.values() for column in found)
    for column in columns:
        yield [Cell(column, head=True)]
        for value in dict.fromkeys(value for found in strata.values() for value in found.get(column, {})):
            for model, by_column in strata.items():
                found = by_column.get(column, {}).get(value, {}).get(measure)
                if found is None:
                    continue
                intervals = found.get("confidence_interval", {})
                cells = [Cell(value, head=True, indent=True), *([Cell(model)] if several else [])]
                if measure == "paraphrastic_consistency":
                    cells += [Cell(count(found["n_buckets"])), Cell(count(found["n_examples"]))]
                    cells += [Cell(percent(found.get(key)), interval(bounds(intervals, key))) for key in _STRATUM]
                else:
                    n = found.get("n_satisfied", found.get("n_pairs"))
                    tau = found.get("inconsistency")
                    cells += [Cell(count(n)), Cell(percent(tau), interval(bounds(intervals, "inconsistency")))]
                yield cells


def every_number(entries: Sequence[Entry]) -> list[tuple[str, str, Table]]:
    """Return (set and model, measure, table) with every number of every result, also of measures unknown here."""
    found = []
    for entry in entries:
        parts = [
            (f"{name}, {entry.name}", measure, values)
            for name, scored in entry.sets.items()
            for measure, values in scored.results.get("measures", {}).items()
        ]
        parts += [(f"{name}, {entry.name}", name, values) for name, values in entry.more.items()]
        for title, measure, values in parts:
            rows = list(_number_rows(values))
            if rows:
                columns = [Column("key", numeric=False), Column("value"), Column("interval")]
                found.append((title, measure, Table(measure.replace("_", " "), columns, rows)))
    return found


def _number_rows(values: Mapping[str, Any]) -> Iterator[list[Cell]]:
    intervals = values.get("confidence_interval", {})
    for key, value in values.items():
        if isinstance(value, (int, float)) or (value is None and key not in ("runs", "collapsed_runs")):
            ends = bounds(intervals, key) if isinstance(intervals, Mapping) else None
            share = isinstance(value, float) and not any(word in key for word in _NO_SHARE)
            shown = f"{percent(value)} %" if share and known(value) else number(value)
            yield [Cell(key.replace("_", " "), head=True), Cell(shown), Cell(interval(ends, percent=share))]


_COMPARED_MEASURES = (
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
    order = sorted(_COMPARED_MEASURES, key=lambda item: ("unbiased" in item[0]) != headline or item[0] == "accuracy")
    for key, label in order:
        if key in result["differences"]:
            yield label, result["differences"][key], bounds(intervals, key), result["p_values"].get(key)


def _points(value: Any) -> str:
    return f"{100 * value:+.1f}".replace("-", "−") if known(value) else "–"


def _p(value: Any) -> str:
    if not known(value):
        return "–"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
