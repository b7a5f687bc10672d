"""What papers print of their models, beside a result on the same set by the same estimator; or why there is nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paraconsist.data.published import PAPERS, published
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC
from paraconsist.reporting.formatting import percent
from paraconsist.reporting.table import Line, Part, table

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
class Printed:
    """One quantity of one set: what the result has, and what the paper's models have."""

    set: str
    measure: str
    key: str  # of the measure's results
    label: str
    own: float | None  # a share
    models: Mapping[str, float]  # per cent, as printed; the best model by the set's headline stands first
    source: str


def beside(name: str, result: Mapping[str, Any]) -> tuple[list[Printed], str]:
    """Return what a paper prints of the set `name` by what `result` has, the headline first; and why there is nothing.

    Nothing is said of sets that no paper has. `result` is a set's part of ``paraconsist.score(...).to_dict()``.
    """
    builder, _, config = name.partition(":")
    if builder not in _PRINTED_IN:
        return [], ""
    reason = next((why for ending, why in _OTHER_ROWS.items() if config.endswith(ending)), "")
    if result.get("limit"):
        reason = f"this is of the first {result['limit']:,} rows of the set only"
    elif result.get("excluded") or result.get("n_dropped_buckets"):
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
    for measure in set(by_key) & set(result.get("measures", ())):
        values, spec, of_headline = result["measures"][measure], CATALOGUE[measure], by_key[measure]
        ranked = sorted(of_headline, key=of_headline.__getitem__, reverse=spec.higher_is_better is True)
        labels = {quantity.key: quantity.symbol for quantity in spec.quantities} | {spec.headline: spec.symbol}
        for key in sorted(by_key, key=lambda key: key != measure):
            of_result = spec.headline if key == measure and key not in values else key
            if of_result in values:
                models = {model: by_key[key][model] for model in ranked if model in by_key[key]}
                printed.append(Printed(name, measure, of_result, labels[of_result], values[of_result], models, source))
    return printed, "" if printed else "the paper prints nothing by its measures"


def published_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield a table of what papers print of their best, median and worst model on these sets; why of some nothing."""
    rows, sources = [], []
    reasons: dict[str, list[str]] = {}
    for name, result in results.items():
        printed, reason = beside(name, result)
        if reason:
            reasons.setdefault(reason, []).append(name)
        for i, one in enumerate(printed):
            ranked = list(printed[0].models)
            cells = [ranked[0], ranked[len(ranked) // 2], ranked[-1]]
            values = [
                percent(one.models[model] / 100, undefined="-") if model in one.models else "-" for model in cells
            ]
            cells = values if i else [f"{value} {model}" for value, model in zip(values, cells, strict=True)]
            rows.append(["" if i else name, one.label, percent(one.own, undefined="-"), *cells])
            sources.append(one.source)
    if rows:
        note = f"{', '.join(dict.fromkeys(sources))}. Models are ranked by the first line of their set."
        if any(PARAPHRASTIC.name in result["measures"] for result in results.values()):
            note += " The papers print no unbiased P_C: theirs is P_C publ."
        columns = ["set", "measure", "here", "best", "median", "worst"]
        words = [column for column in columns if column != "here"]
        yield table("Models of papers on the same rows (per cent)", columns, rows, words=words, caption=note)
    for reason, names in reasons.items():
        yield Line(f"No paper's numbers beside {', '.join(names)}: {reason}.")
