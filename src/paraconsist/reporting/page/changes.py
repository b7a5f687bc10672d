"""Answers against the original's: PaRTE's flip tables, which answers turn into which, fooling rates, the IE test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.data.rows import Rows
from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.reporting.formatting import Cell, Column, Table, bounds, count, interval, number, percent
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import results_of
from paraconsist.scoring.roles import MEASURES

_MOST_LINES = 40


def change_of(rows: Rows, intervals: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return prediction change for rows that were not scored for it; None where buckets lack their original."""
    if not {"original", "paraphrase"} <= set(rows.roles.tolist()):
        return None
    try:
        return dict(to_strict_json(MEASURES["prediction_change"].score(rows, intervals)))
    except InputError:
        return None


def change_tables(changes: Mapping[tuple[str, str], Mapping[str, Any]], several: bool) -> Iterator[tuple[str, Table]]:
    """Yield (set, table) of changed predictions, whole and by stratum (PaRTE's Figures 1 to 5).

    Parameters
    ----------
    changes : mapping of (set, model) to what `paraconsist.measures.prediction_change.prediction_change` found
    several : bool
        Whether the page has several models.
    """
    columns = [
        Column("pairs", numeric=False),
        *([Column("model", numeric=False)] if several else []),
        Column("n", "pairs of an original and a paraphrase"),
        Column("changed", "pairs with two different answers"),
        Column("share", "in per cent; lower is better"),
        Column("lost", "right on the original, wrong on the paraphrase"),
        Column("gained", "wrong on the original, right on the paraphrase"),
    ]
    for name in dict.fromkeys(name for name, _ in changes):
        found = {model: values for (set_name, model), values in changes.items() if set_name == name}
        rows = list(_change_rows(found, several))
        yield name, Table("Answers that change between the original and its paraphrases", columns, rows)


def _change_rows(found: Mapping[str, Mapping[str, Any]], several: bool) -> Iterator[list[Cell]]:
    for model, values in found.items():
        ends = values.get("confidence_interval", {})
        yield [Cell("all", head=True), *_model(model, several), *_counts(values, bounds(ends, "change_rate"))]
        for key, label in (
            ("change_rate_given_correct", "original right"),
            ("change_rate_given_incorrect", "original wrong"),
        ):
            share = Cell(percent(values.get(key)), interval(bounds(ends, key)))
            first = [Cell(label, head=True, indent=True), *_model(model, several)]
            yield [*first, Cell(""), Cell(""), share, Cell(""), Cell("")]
    strata = {model: values.get("by_stratum") or {} for model, values in found.items()}
    for column in dict.fromkeys(c for by_column in strata.values() for c in by_column):
        yield [Cell(column, head=True)]
        for value in dict.fromkeys(v for by_column in strata.values() for v in by_column.get(column, {})):
            for model, by_column in strata.items():
                part = by_column.get(column, {}).get(value)
                if part is not None:
                    first = [Cell(str(value), head=True, indent=True), *_model(model, several)]
                    yield [*first, *_counts(part, bounds(part.get("confidence_interval"), None))]


def _model(model: str, several: bool) -> list[Cell]:
    return [Cell(model)] if several else []


def _counts(values: Mapping[str, Any], ends: tuple[float, float] | None) -> list[Cell]:
    return [
        Cell(count(values.get("n_pairs"))),
        Cell(count(values.get("n_changed"))),
        Cell(percent(values.get("change_rate")), interval(ends)),
        Cell(count(values.get("correct_to_incorrect"))),
        Cell(count(values.get("incorrect_to_correct"))),
    ]


def transition_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (set and model, table) of which answers turn into which (BECEL's Figure 2)."""
    for entry in entries:
        for name, scored in entry.sets.items():
            for measure, figures in (scored.results.get("figures") or {}).items():
                lines = sorted(figures["transitions"], key=lambda line: -int(line["n_pairs"]))
                n_pairs = sum(line["n_pairs"] for line in lines)
                rows = [
                    [
                        *(
                            Cell("unparsed" if line[key] is None else str(line[key]))
                            for key in ("label", "prediction", "perturbed_prediction")
                        ),
                        Cell(count(line["n_pairs"])),
                        Cell(percent(line["n_pairs"] / n_pairs)),
                    ]
                    for line in lines[:_MOST_LINES]
                ]
                columns = [
                    *(Column(label, numeric=False) for label in ("gold label", "on original", "on perturbed")),
                    Column("pairs"),
                    Column("per cent"),
                ]
                note = f"The {_MOST_LINES} commonest of {len(lines)}." if len(lines) > _MOST_LINES else ""
                title = f"{name}, {entry.name}: {measure.replace('_', ' ')}"
                yield title, Table("Which answers turn into which", columns, rows, note=note)


def fooling_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table) of fooling rates, by gold label."""
    several = len(entries) > 1
    by_set: dict[str, list[list[Cell]]] = {}
    for name, model, _, found in results_of(entries, "fooling_rate"):
        rows = by_set.setdefault(name, [])
        for label, part in (("all", found), *(found.get("by_label") or {}).items()):
            ends = part.get("confidence_interval", {})
            rows.append(
                [
                    Cell(str(label), head=True, indent=label != "all"),
                    *_model(model, several),
                    Cell(count(part.get("n_items"))),
                    Cell(percent(part.get("relaxed")), interval(bounds(ends, "relaxed"))),
                    Cell(percent(part.get("strict")), interval(bounds(ends, "strict"))),
                ]
            )
    columns = [
        Column("gold label", numeric=False),
        *([Column("model", numeric=False)] if several else []),
        Column("items", "originals that are answered right and have variants"),
        Column("relaxed", "share with a variant that gets any other answer; lower is better"),
        Column("strict", "share with a variant that gets the opposite answer; lower is better"),
    ]
    for name, rows in by_set.items():
        yield name, Table("Fooling rates, in per cent", columns, rows)


def ie_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Mapping[str, Any], Table]]:
    """Yield (set and model, result, table) of the IE tests."""
    for entry in entries:
        named = [(f"{n}, {entry.name}", s.results.get("measures", {}).get("ie_test")) for n, s in entry.sets.items()]
        named += [(f"{name}, {entry.name}", found) for name, found in entry.more.items() if "p_value" in found]
        for title, found in named:
            if found is None:
                continue
            decision = "invariance is rejected" if found.get("reject") else "invariance is not rejected"
            lines = [
                ("decision", decision, ""),
                ("p-value", number(found.get("p_value")), ""),
                ("accuracy on originals", f"{percent(found.get('accuracy'))} %", ""),
                ("accuracy on transformed items", f"{percent(found.get('transformed_accuracy'))} %", ""),
                (
                    "difference, points",
                    percent(found.get("accuracy_difference")),
                    interval(bounds(found.get("confidence_interval"), "accuracy_difference")),
                ),
                ("right on the original only", count(found.get("n10")), ""),
                ("right on the transformed only", count(found.get("n01")), ""),
                ("items", count(found.get("n")), ""),
                ("runs", count(found.get("n_runs")), ""),
            ]
            rows = [[Cell(label, head=True), Cell(value), Cell(ends)] for label, value, ends in lines if value != "–"]
            columns = [Column("", numeric=False), Column("value"), Column("interval")]
            yield title, found, Table("Invariance under equivalence", columns, rows)
