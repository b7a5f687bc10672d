"""The values that papers print of their models on a set that was scored, by the same estimators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraconsist.data.published import PAPERS, published
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC
from paraconsist.reporting.formatting import Values
from paraconsist.reporting.table import Cell, Column, Line, Part, Table

if TYPE_CHECKING:
    from paraconsist.scoring.score import SetScores

#: The builder of a set -> its paper, and the table there with results of models on its sets.
_PRINTED_IN = {"paranlu": ("S24", "4"), "becel": ("J22", "2"), "parte": ("V23", "2")}
_OTHER_ROWS = {
    "_automatic": "the paper prints results on people's paraphrases only",
    "_normalized": "its texts are in one surface form, the paper's as they were published",
    "_additive": "the paper's set is not published, this one is rebuilt",
}
#: The authors scored its paraphrases on the original hypotheses: P_C of 100 is no result.
_FAULTY = {("alpha_nli", "BoW")}


@dataclass(frozen=True)
class PaperValues:
    """One quantity of one set: the value of the result, and those of the paper's models."""

    set: str
    measure: str
    key: str  # of the measure's results
    label: str
    own: float | None  # a share
    models: Mapping[str, float]  # per cent, as printed; the best model by the set's headline is first
    source: str


def paper_values(
    name: str, measures: Mapping[str, Values], *, limit: int | None = None, is_partial: bool = False
) -> tuple[list[PaperValues], str]:
    """Return a paper's values on the set `name` for the results in `measures`, or why there are none.

    The headline is first, and the reason is empty for a set that no paper has. `limit` is the number of rows that were
    scored, where it was limited; `is_partial` says that buckets were left out.
    """
    builder, _, config = name.partition(":")
    if builder not in _PRINTED_IN:
        return [], ""
    reason = next((why for ending, why in _OTHER_ROWS.items() if config.endswith(ending)), "")
    if limit:
        reason = f"this is of the first {limit:,} rows of the set only"
    elif is_partial:
        reason = "some of its buckets were left out"
    if reason:
        return [], reason
    paper, number = _PRINTED_IN[builder]
    task, _, kind = config.rpartition("_")
    dataset = {"becel": task, "parte": builder}.get(builder, config)
    by_key: dict[str, dict[str, float]] = {}
    for row in published(paper=paper).to_pylist():
        is_kind = builder != "becel" or kind in row["measure"]
        if (row["table"], row["dataset"]) == (number, dataset) and is_kind and (dataset, row["model"]) not in _FAULTY:
            by_key.setdefault(row["measure"], {})[f"{row['model']} {row['size'] or ''}".strip()] = row["value"]
    source = f"{PAPERS[paper].split(',')[0]} et al. {PAPERS[paper].partition('(')[2][:4]}, table {number}"
    printed = []
    for measure in by_key.keys() & measures.keys():
        values, spec, of_headline = measures[measure], CATALOGUE[measure], by_key[measure]
        is_best_high = spec.higher_is_better is True  # a model that is always consistent gives a constant answer
        worth = {model: value * (value < 100.0 or not is_best_high) for model, value in of_headline.items()}
        ranked = sorted(worth, key=worth.__getitem__, reverse=is_best_high)
        labels = {quantity.key: quantity.symbol for quantity in spec.quantities} | {spec.headline: spec.symbol}
        for key in sorted(by_key, key=lambda key: key != measure):
            of_result = spec.headline if key == measure and key not in values else key
            if of_result in values:
                models = {model: by_key[key][model] for model in ranked if model in by_key[key]}
                label, value = labels[of_result], values[of_result]
                printed.append(PaperValues(name, measure, of_result, label, value, models, source))
    return printed, "" if printed else "the paper prints nothing by its measures"


def values_of_set(name: str, scored: SetScores) -> tuple[list[PaperValues], str]:
    """Return `paper_values` of a set that was scored."""
    metadata = scored.predictions.metadata
    is_partial = bool(metadata.get("excluded") or scored.n_dropped)
    return paper_values(name, scored.measures, limit=metadata.get("limit"), is_partial=is_partial)


def published_tables(sets: Mapping[str, SetScores]) -> Iterator[Part]:
    """Yield a table of papers' best, median and worst models on these sets, and why other sets have no such values."""
    rows, sources = [], []
    reasons: dict[str, list[str]] = {}
    for name, scored in sets.items():
        printed, reason = values_of_set(name, scored)
        if reason:
            reasons.setdefault(reason, []).append(name)
        for place, values in enumerate(printed):
            ranked = list(printed[0].models)
            cells = []
            for model in (ranked[0], ranked[len(ranked) // 2], ranked[-1]):
                of_model = f"{values.models[model]:.1f}" if model in values.models else "–"
                cells.append(Cell(of_model if place else f"{of_model} {model}"))
            first = Cell("" if place else name, head=not place)
            rows.append([first, Cell(values.label, symbols=True), Cell(values.own), *cells])
            sources.append(values.source)
    if rows:
        caption = f"{', '.join(dict.fromkeys(sources))}. Models are ranked by the first line of their set."
        if any(PARAPHRASTIC.name in scored.measures for scored in sets.values()):
            caption += " The papers print no unbiased P_C: theirs is P_C publ."
        columns = [
            Column(label, words=label != "here") for label in ("set", "measure", "here", "best", "median", "worst")
        ]
        yield Table("Models of papers on the same rows (per cent)", columns, rows, caption)
    for reason, names in reasons.items():
        yield Line(f"No paper's numbers to compare with for {', '.join(names)}: {reason}.")
