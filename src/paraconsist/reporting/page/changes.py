"""Answers against the original's: PaRTE's flip tables, which answers turn into which, fooling rates, the IE test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, FOOLING, IE_TEST, PARAPHRASTIC
from paraconsist.reporting.formatting import bounds, count, interval, number, p_value, percent
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.browser import link
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import (
    MODEL,
    Cell,
    Column,
    Table,
    by_stratum,
    in_print,
    results_of,
    share,
    stratified,
    table,
)
from paraconsist.scoring.roles import apply_policy, measure_rows
from paraconsist.scoring.score import name_labels

_MOST_LINES = 40
#: The parts of the pairs that a changed answer is counted in, and how a reader calls them.
PARTS = {
    CHANGE.headline: "all",
    f"{CHANGE.headline}_given_correct": "original right",
    f"{CHANGE.headline}_given_incorrect": "original wrong",
}
#: (Set, model) -> what `paraconsist.measures.prediction_change.prediction_change` returned.
Changes = Mapping[tuple[str, str], Mapping[str, Any]]


def changes_of(entries: Sequence[Entry], sets: Sequence[AlignedSet], intervals: Mapping[str, Any]) -> Changes:
    """Return prediction change for every set that has it, or that has originals and paraphrases."""
    changes: dict[tuple[str, str], Mapping[str, Any]] = {}
    for aligned in sets:
        for entry in entries:
            measures = entry.sets[aligned.name].results["measures"] if aligned.name in entry.sets else {}
            change = measures.get(CHANGE.name)
            if change is None and PARAPHRASTIC.name in measures:
                change = _change_of(aligned, entry.name, intervals)
            if change is not None:
                changes[aligned.name, entry.name] = change
    return changes


def _change_of(aligned: AlignedSet, model: str, intervals: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return prediction change for rows that were not scored for it; None where buckets lack their original."""
    rows = aligned.rows[model]
    if not {"original", "paraphrase"} <= set(rows.roles.tolist()):
        return None
    try:
        change = measure_rows(CHANGE, apply_policy(rows, aligned.policies[model])[0], **intervals)
    except InputError:
        return None
    name_labels(change, aligned.predictions[model].label_names)
    return dict(to_strict_json(change))


def change_tables(changes: Changes, entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table) of changed predictions, whole and by stratum (PaRTE's Figures 1 to 5)."""
    columns = [
        Column("pairs", numeric=False),
        MODEL,
        Column("n", "pairs of an original and a paraphrase"),
        Column("changed", "pairs with two different answers"),
        Column("share", "in per cent; lower is better"),
        Column("lost", "right on the original, wrong on the paraphrase"),
        Column("gained", "wrong on the original, right on the paraphrase"),
    ]
    for name in dict.fromkeys(name for name, _ in changes):
        of_set = {model: values for (one, model), values in changes.items() if one == name}
        rows = list(_change_rows(of_set, entries, name))
        yield name, table("Answers that change between the original and its paraphrases", columns, rows, entries)


def _change_rows(
    by_model: Mapping[str, Mapping[str, Any]], entries: Sequence[Entry], name: str
) -> Iterator[list[Cell]]:
    nothing = [Cell(""), Cell("")]
    for model, values in by_model.items():
        of_model = name, model if len(entries) > 1 else ""
        for key, label in PARTS.items():
            whole = key == CHANGE.headline
            cells = _counts(values, of_model) if whole else [*nothing, share(values, key), *nothing]
            yield [Cell(label, head=True, indent=not whole), Cell(model), *cells]
    strata = {model: values.get("by_stratum") or {} for model, values in by_model.items()}
    yield from stratified(((c, v, model, _counts(part)) for c, v, model, part in by_stratum(strata)), entries, name)


def _counts(values: Mapping[str, Any], of_model: tuple[str, str] | None = None) -> list[Cell]:
    """Return the cells of pairs; with the names of set and model they lead to the buckets."""
    keys = {"n_pairs": "", "n_changed": "changed", "correct_to_incorrect": "lost", "incorrect_to_correct": "gained"}
    hrefs = {
        key: link(set=of_model[0], model=of_model[1], show=show) if of_model and show and values.get(key) else ""
        for key, show in keys.items()
    }
    n, changed, lost, gained = (Cell(count(values.get(key)), href=href) for key, href in hrefs.items())
    return [n, changed, share(values, CHANGE.headline), lost, gained]


def transition_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (set and model, table) of which answers turn into which (BECEL's Figure 2)."""
    words = (Column(label, numeric=False) for label in ("gold label", "on original", "on perturbed"))
    columns = [*words, Column("pairs"), Column("per cent")]
    keys = ("label", "prediction", "perturbed_prediction")
    for entry in entries:
        for name, scored in entry.sets.items():
            for measure, figures in (scored.results.get("figures") or {}).items():
                lines = sorted(figures["transitions"], key=lambda line: -int(line["n_pairs"]))
                n_pairs = sum(line["n_pairs"] for line in lines)
                rows = []
                for line in lines[:_MOST_LINES]:
                    gold, *answers = ["unparsed" if line[key] is None else str(line[key]) for key in keys]
                    model = entry.name if len(entries) > 1 else ""
                    href = link(set=name, model=model, label=gold, before=answers[0], after=answers[1])
                    n = Cell(count(line["n_pairs"]), href=href)
                    rows.append([*map(Cell, (gold, *answers)), n, Cell(percent(line["n_pairs"] / n_pairs))])
                note = f"The {_MOST_LINES} commonest of {len(lines)}." if len(lines) > _MOST_LINES else ""
                title = f"{name}, {entry.name}: {CATALOGUE[measure].title.lower()}"
                yield title, Table("Which answers turn into which", columns, rows, note)


def fooling_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table) of fooling rates, by gold label."""
    columns = [
        Column("gold label", numeric=False),
        MODEL,
        Column("items", "originals that are answered right and have variants"),
        Column("relaxed", "share with a variant that gets any other answer; lower is better"),
        Column("strict", "share with a variant that gets the opposite answer; lower is better"),
    ]
    by_set: dict[str, list[list[Cell]]] = {}
    for name, model, _, values in results_of(entries, FOOLING.name):
        for label, part in (("all", values), *(values.get("by_label") or {}).items()):
            first = [Cell(str(label), head=True, indent=label != "all"), Cell(model), Cell(count(part.get("n_items")))]
            by_set.setdefault(name, []).append([*first, share(part, "relaxed"), share(part, "strict")])
    for name, rows in by_set.items():
        yield name, table("Fooling rates, in per cent", columns, rows, entries)


def ie_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Mapping[str, Any], Table]]:
    """Yield (set and model, result, table) of the IE tests."""
    columns = [Column("quantity", numeric=False), Column("value"), Column("interval")]
    for entry in entries:
        named = [(n, s.results.get("measures", {}).get(IE_TEST.name)) for n, s in entry.sets.items()]
        named += [(name, values) for name, values in entry.more.items() if "p_value" in values]
        for name, values in named:
            if values is None:
                continue
            ends = in_print(interval(bounds(values.get("confidence_interval"), "accuracy_difference")))
            lines = [
                ("decision", f"invariance is {'' if values.get('reject') else 'not '}rejected", ""),
                ("p-value", number(values.get("p_value")), ""),
                ("accuracy on originals", f"{percent(values.get('accuracy'))} %", ""),
                ("accuracy on transformed items", f"{percent(values.get('transformed_accuracy'))} %", ""),
                ("difference, points", percent(values.get("accuracy_difference")), ends),
                ("right on the original only", count(values.get("n10")), ""),
                ("right on the transformed only", count(values.get("n01")), ""),
                ("items", count(values.get("n")), ""),
                ("runs", count(values.get("n_runs")), ""),
            ]
            rows = [[Cell(label, head=True), Cell(value), Cell(ends)] for label, value, ends in lines if value != "–"]
            yield f"{name}, {entry.name}", values, Table("Invariance under equivalence", columns, rows)
            if by_rho := values.get("experiment", {}).get("by_rho"):
                yield f"{name}, {entry.name}, by rho", {}, _by_rho(by_rho)


def _by_rho(decisions: Sequence[Mapping[str, Any]]) -> Table:
    names = ("rho", "runs", "original", "transformed", "lost, points", "smallest p", "corrected p", "invariance")
    rows = [
        [
            Cell(f"{one['rho']:g}", head=True),
            Cell(count(one["n_runs"])),
            *(Cell(percent(one[key])) for key in ("accuracy", "transformed_accuracy", "accuracy_difference")),
            *(Cell(p_value(one[key])) for key in ("smallest_p", "p_value")),
            Cell(f"rejected ({one['n_rejected']} of {one['n_runs']})" if one["reject"] else "not rejected"),
        ]
        for one in decisions
    ]
    note = "rho: share of transformed rows in training. Accuracies in per cent are means of runs, and p is corrected."
    return Table("Decision at each rho", [Column(name) for name in names], rows, note)
