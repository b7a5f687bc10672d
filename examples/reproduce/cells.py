"""Printed cells of the papers, computed from what their authors published or from other cells that they print.

    python cells.py               # a line for each table: printed, computed, equal, what differs and why
    python cells.py s24_table4    # every cell of one table beside its print

``DATA``, in the folder where this is run, leads to the papers' public files. What comes out is rounded as in print.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as parquet

import paraconsist as pc

#: Names of S24's sets and models -> those of the files of predictions; V23's models -> those of the file's columns.
SETS = {"alpha_nli": "anli", "delta_snli": "snli", "delta_atomic": "atomic", "delta_social": "social"}
S24_MODELS = {
    "BoW": "bow",
    "BiLSTM": "bilstm",
    "RoBERTa": "roberta-large",
    "DeBERTa-V3": "deberta-v3-large",
    "Unified RoBERTa": "roberta-large-unified",
    "GPT-3 Curie": "gpt3-text-curie-001",
}
V23_MODELS = {"BoW": "cbow", "BiLSTM": "bilstm", "BERT": "bert", "RoBERTa": "roberta", "GPT-3": "gpt"}
_Row = Mapping[str, Any]  # of `paraconsist.published`


class Cell(NamedTuple):
    """A printed number, what comes out in its place (None where nothing can), and why it is not the same."""

    row: _Row
    computed: float | None
    reason: str = ""

    @property
    def name(self) -> str:
        names = ("dataset", "model", "size", "measure", "note")
        return ", ".join(self.row[name] for name in names if self.row[name])

    @property
    def is_equal(self) -> bool:
        return self.computed is not None and math.isclose(self.computed, self.row["value"], abs_tol=1e-9)


def printed(paper: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of one of the papers' tables."""
    return [row for row in pc.published(paper=paper).to_pylist() if row["table"] == table]


def _cells(rows: Iterable[_Row], compute: Callable[[_Row], float | None], why: str, no: str = "") -> Iterator[Cell]:
    """Yield a cell a row: `why` it differs where it does, and why there is `no` value where there is none."""
    for row in rows:
        cell = Cell(row, compute(row))
        yield cell if cell.is_equal else cell._replace(reason=no if cell.computed is None else why)


# ---------------------------------------------------------------------------------------- Srikanth et al. 2024


@cache
def predictions(data: Path, name: str, model: str, kind: str) -> dict[str, np.ndarray]:
    """Return the columns of a file of published predictions."""
    table = parquet.read_table(data / "paranlu" / "predictions" / f"{name}__{model}__{kind}.parquet")
    return {column: np.asarray(table[column].to_pylist()) for column in table.column_names}


@cache
def measured(
    data: Path, name: str, model: str, kind: str = "human", buckets: frozenset[str] | None = None
) -> Mapping[str, Any]:
    """Return what `paraphrastic_consistency` gives of published predictions, or of some of their buckets."""
    rows, test = predictions(data, name, model, kind), predictions(data, name, model, "test")
    if buckets is not None:
        keep = np.isin(rows["bucket_id"], list(buckets))
        rows = {column: values[keep] for column, values in rows.items()}
    original = rows["is_original"]
    return pc.paraphrastic_consistency(
        rows["pred"],
        rows["gold"],
        rows["bucket_id"],
        roles=np.where(original, "original", "paraphrase"),
        original_confidences=dict(zip(rows["bucket_id"][original], rows["conf_gold"][original], strict=True)),
        test_confidences=test["conf_gold"],
        test_predictions=test["pred"],
        test_references=test["gold"],
        n_resamples=10,  # no intervals are printed
    ).to_dict()


def s24_table4(data: Path) -> Iterator[Cell]:
    """Accuracy and consistency of six models on four sets."""

    def compute(row: _Row) -> float | None:
        name, model = SETS[row["dataset"]], S24_MODELS[row["model"]]
        if row["model"] != "GPT-3 Curie":
            return round(100 * measured(data, name, model)[row["measure"]], 1)
        test = predictions(data, name, model, "test")
        return round(100 * np.mean(test["pred"] == test["gold"]), 1) if row["measure"] == "test_accuracy" else None

    no = "its answers to people's paraphrases are not published"
    return _cells(printed("S24", "4"), compute, "misprint: 134 of 250 are right", no)


def s24_table6(data: Path) -> Iterator[Cell]:
    """How far paraphrases are from their originals."""

    def compute(row: _Row) -> float | None:
        if row["measure"] != "lexical_distance":
            return None
        kind = "human" if row["model"].startswith("human") else "auto"
        items = parquet.read_table(data / "paranlu" / "items" / f"{SETS[row['dataset']]}_{kind}.parquet").to_pylist()
        original = {item["bucket_id"]: item for item in items if item["is_original"]}
        columns = ("hyp1", "hyp2") if row["dataset"] == "alpha_nli" else ("update",)
        rewordings = [(item, column) for item in items for column in columns if not item["is_original"]]
        texts = [item[column] for item, column in rewordings]
        before = [original[item["bucket_id"]][column] for item, column in rewordings]
        return round(100 * pc.paraphrase_diversity(texts, before, n_resamples=10).lexical_distance, 1)

    no = "the authors' parser and BLEURT are not at hand"
    return _cells(printed("S24", "6"), compute, "the published texts give 39.9", no)


def s24_table7(data: Path) -> Iterator[Cell]:
    """Buckets whose original a model of the update alone gets right, and the others."""

    def compute(row: _Row) -> float:
        name = SETS[row["dataset"]]
        partial = predictions(data, name, "roberta-large-partial", "human")
        chosen = (partial["pred"] == partial["gold"]) == (row["note"] == "artefacts likely")
        buckets = frozenset(partial["bucket_id"][partial["is_original"] & chosen].tolist())
        key = row["measure"].removeprefix("partial_")
        model = "roberta-large" if key == row["measure"] else "roberta-large-partial"
        return round(100 * measured(data, name, model, buckets=buckets)[key], 1)

    return _cells(printed("S24", "7"), compute, "")


# ------------------------------------------------------------------------------------------- Verma et al. 2023


@cache
def parte(data: Path) -> dict[str, np.ndarray]:
    """Return the columns of V23's answers to PaRTE: 1 is entailed."""
    table = csv.read_csv(data / "parte" / "predictions_all.csv")
    return {column: np.array(table[column].to_pylist()) for column in table.column_names}


def v23_table2(data: Path) -> Iterator[Cell]:
    """Accuracy on PaRTE before and after paraphrasing, and changed predictions; the paper cuts off at two digits."""
    rows = parte(data)
    gold = rows["gold_label"] == "entailed"

    def compute(row: _Row) -> float | None:
        if row["measure"] == "mnli_accuracy":
            return None
        before, after = (rows[f"{V23_MODELS[row['model']]}_{side}"] for side in ("original", "paraphrase"))
        hits = {"original_accuracy": before == gold, "paraphrased_accuracy": after == gold}
        return math.floor(1e4 * np.mean(hits.get(row["measure"], before != after))) / 100

    why = "the authors' join of answers to paraphrases was ambiguous; computed from their file"
    return _cells(printed("V23", "2"), compute, why, "no answers on MultiNLI are published")


# -------------------------------------------------------------------------------------------- Jang et al. 2022


@cache
def taus() -> dict[tuple[str, ...], float]:
    """Return J22's Table 2: (data set, measure, size, model) -> inconsistency in per cent."""
    names = ("dataset", "measure", "size", "model")
    return {tuple(row[name] for name in names): row["value"] for row in printed("J22", "2")}


def j22_table3(_: Path) -> Iterator[Cell]:
    """The printed differences that adversarial training makes to the inconsistency of RoBERTa-base."""
    rows = [
        {**row, "tau": row["value"], "value": float(row["note"].split()[3].rstrip(",")), "note": None}
        for row in printed("J22", "3")
    ]

    def compute(row: _Row) -> float:
        return round(row["tau"] - taus()[row["dataset"], row["measure"], "base", "RoBERTa"], 1)

    why = "does not follow from Table 2's RoBERTa-base (on SST-2 it is the one to RoBERTa-large's 2.3, within .1)"
    return _cells(rows, compute, why)


def best_tau(dataset: str, measure: str, size: str) -> float:
    """Return the lowest printed inconsistency of a case in per cent; T5, trained on all tasks at once, is left out."""
    return min(tau for (*case, model), tau in taus().items() if case == [dataset, measure, size] and model != "T5")


def j22_table4(_: Path) -> Iterator[Cell]:
    """Superficial cues against model design (rho) under negation, from Table 2."""
    negation = "negational_inconsistency"

    def compute(row: _Row) -> float:
        dataset, size, model = row["dataset"], row["size"], row["model"]
        tau, on_snli = (taus()[name, negation, size, model] for name in (dataset, "snli"))
        return round(pc.cue_design_ratio(tau, on_snli, best_tau(dataset, negation, size)), 2)

    return _cells(printed("J22", "4"), compute, "does not follow from Table 2")


def j22_table5(_: Path) -> Iterator[Cell]:
    """Accuracy and transitive inconsistency of Electra, where Tables 2 and 6 print them too."""
    names = ("dataset", "size", "model", "measure")
    scores = {tuple(row[name] for name in names): row["value"] for row in printed("J22", "6")}

    def compute(row: _Row) -> float | None:
        if row["measure"] == "transitive_inconsistency":
            return taus().get((row["dataset"], row["measure"], row["size"], row["model"]))
        measure = row["measure"].replace("accuracy", "f1")
        return scores.get((row["dataset"], row["size"], row["model"], measure))

    no = "SNLI cut to 6,000 rows stands in no other table"
    return _cells(printed("J22", "5"), compute, "Table 6 prints F1, this one accuracy", no)


# -------------------------------------------------------------------------------------------------- all of them

TABLES: Mapping[str, tuple[str, Callable[[Path], Iterator[Cell]]]] = {
    "s24_table4": ("Srikanth et al. 2024, Table 4", s24_table4),
    "s24_table6": ("Srikanth et al. 2024, Table 6", s24_table6),
    "s24_table7": ("Srikanth et al. 2024, Table 7", s24_table7),
    "v23_table2": ("Verma et al. 2023, Table 2", v23_table2),
    "j22_table3": ("Jang et al. 2022, Table 3, differences", j22_table3),
    "j22_table4": ("Jang et al. 2022, Table 4 (rho)", j22_table4),
    "j22_table5": ("Jang et al. 2022, Table 5", j22_table5),
}


@cache
def cells_of(key: str, data: Path) -> tuple[Cell, ...]:
    """Return every cell of a table."""
    return tuple(TABLES[key][1](data))


def markdown(data: Path) -> str:
    """Return the summary of every table as lines of Markdown."""
    lines = ["| table | command | printed | computed | equal | the others |", "|---|---|---|---|---|---|"]
    for key, (title, _) in TABLES.items():
        cells = cells_of(key, data)
        computed, equal = (
            sum(flags) for flags in zip(*((c.computed is not None, c.is_equal) for c in cells), strict=True)
        )
        counts = f"{len(cells)} | {computed} | {equal}"
        lines.append(f"| {title} | `python cells.py {key}` | {counts} | {'; '.join(_in_words(cells))} |")
    return "\n".join(lines)


def _in_words(cells: Iterable[Cell]) -> Iterator[str]:
    """Say of each reason which cells it is about: those that differ one by one, those without a value together."""
    others = [cell for cell in cells if not cell.is_equal]
    for reason in dict.fromkeys(cell.reason for cell in others):
        about = [cell for cell in others if cell.reason == reason]
        if about[0].computed is not None:
            values = (f"{cell.name}: {cell.computed:g}, printed {cell.row['value']:g}" for cell in about)
            yield f"{'; '.join(values)} ({reason})"
            continue
        names = [
            list(dict.fromkeys(cell.row[key] for cell in about)) for key in ("measure", "model", "dataset", "size")
        ]
        assert math.prod(map(len, names)) == len(about), "the cells without a value are not all of some models and sets"
        measures, models, datasets, _ = (", ".join(filter(None, part)) for part in names)
        yield f"no value for {len(about)}: {measures} of {models} on {datasets} ({reason})"


def main() -> None:
    """Print the summary, or the cells of the table that is named."""
    data, keys = Path("DATA"), sys.argv[1:]
    if not data.is_dir():
        sys.exit("There is no DATA here: ln -s /where/the/files/are DATA")
    if not set(keys) <= TABLES.keys():
        sys.exit(f"usage: python cells.py [TABLE ...]\nThe tables are {', '.join(TABLES)}.")
    for key in keys:
        for cell in cells_of(key, data):
            computed = "-" if cell.computed is None else f"{cell.computed:g}"
            print(f"{cell.name}: {computed}, printed {cell.row['value']:g}{f' ({cell.reason})' if cell.reason else ''}")
    if not keys:
        print(markdown(data))


if __name__ == "__main__":
    main()
