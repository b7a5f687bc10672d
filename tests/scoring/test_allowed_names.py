"""Rules that allow several labels, where labels are names: the numbers are those of the same file with numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import write
from helpers.metric_loading import load_metric
from helpers.space import as_query, module, to_csv

import paraconsist
from paraconsist.data.bucket_sets import bucket_set_from_table
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
from paraconsist.errors import InputError
from paraconsist.files import to_strict_json

NAMES = ("entailment", "neutral", "contradiction")
ROLES = ("antecedent_1", "antecedent_2", "consequent")
RULES: tuple[tuple[int, int, list[int]], ...] = ((0, 2, [2]), (1, 2, [1, 2]), (0, 1, [0, 1]))


def chains(n: int = 60, seed: int = 5) -> list[dict[str, Any]]:
    """Rows of n chains of three: two premises that are mostly answered right, and a conclusion answered at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        one, two, allowed = RULES[i % 3]
        for role, label in zip(ROLES, (one, two, -1 if len(allowed) > 1 else allowed[0]), strict=True):
            right = role != "consequent" and rng.random() < 0.8
            answer = label if right else int(rng.integers(0, 3))
            fits = allowed if role == "consequent" else [label]
            row = {"bucket_id": f"b{i}", "role": role, "label": label, "allowed_labels": fits}
            rows.append(row | {"prediction": answer})
    return rows


def named(rows: list[dict[str, Any]], gold: Any = None, join: str | None = None) -> list[dict[str, Any]]:
    """Write labels as names; `gold` is what stands where a row has no gold label of its own."""
    written = []
    for row in rows:
        allowed: Any = [NAMES[label] for label in row["allowed_labels"]]
        allowed = allowed if join is None else join.join(allowed)
        label = NAMES[row["label"]] if row["label"] >= 0 else gold
        written.append({**row, "label": label, "allowed_labels": allowed, "prediction": NAMES[row["prediction"]]})
    return written


def inconsistency(command, path: Path, rows: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    """Return what `score` says of rows that are written to a file."""
    write(path, rows)
    out = command.out("score", path, *options, "--json")
    # labels in another order add up in another order
    result = next(iter(json.loads(out, parse_float=lambda digits: round(float(digits), 12)).values()))
    assert result["warnings"] == []
    values = result["measures"]["transitive_inconsistency"]
    rules = values.pop("by_rule").values()
    return {**values, "rules": sorted((part["n_rows"], part["inconsistency"]) for part in rules)}


def test_an_allowed_conclusion_is_no_violation(command, tmp_path):
    """FAULTS N4: tau was 1.0 where the rule allows every conclusion."""
    rows = [row | {"prediction": row["label"] if row["label"] >= 0 else row["allowed_labels"][0]} for row in chains(6)]
    found = inconsistency(command, tmp_path / "mine.parquet", named(rows, gold=NAMES[2]))
    assert (found["inconsistency"], found["n_satisfied"]) == (0.0, 6)


@pytest.mark.parametrize("gold", [None, "", NAMES[1]])
def test_names_score_as_numbers_do(command, tmp_path, gold):
    rows = chains()
    expected = inconsistency(command, tmp_path / "numbers.parquet", rows)
    assert 0 < expected["inconsistency"] < 1
    assert inconsistency(command, tmp_path / "names.parquet", named(rows, gold)) == expected
    scores = paraconsist.score(pa.Table.from_pylist(named(rows, gold)).to_pandas())
    assert scores.sets["predictions"].measures["transitive_inconsistency"]["inconsistency"] == expected["inconsistency"]


@pytest.mark.parametrize("written", ["bars", "json", "python"])
@pytest.mark.parametrize("by_name", [False, True])
def test_lists_in_the_cells_of_a_table_of_text(command, tmp_path, written, by_name):
    rows = chains()
    expected = inconsistency(command, tmp_path / "numbers.parquet", rows)
    rows = named(rows, "") if by_name else [row | {"label": None if row["label"] < 0 else row["label"]} for row in rows]
    cell = {"bars": lambda labels: " | ".join(map(str, labels)), "json": json.dumps, "python": str}[written]
    rows = [row | {"allowed_labels": cell(row["allowed_labels"])} for row in rows]
    assert inconsistency(command, tmp_path / "mine.csv", rows) == expected


def test_names_that_are_allowed_where_labels_are_numbers(command, tmp_path):
    rows = chains()
    mixed = [row | {"allowed_labels": other["allowed_labels"]} for row, other in zip(rows, named(rows), strict=True)]
    gold = [row | {"label": "neutral" if row["label"] < 0 else NAMES[row["label"]]} for row in mixed]
    found = inconsistency(command, tmp_path / "mine.parquet", gold, "--label-names", ",".join(NAMES))
    assert found == inconsistency(command, tmp_path / "numbers.parquet", rows)
    with pytest.raises(InputError, match="allowed_labels") as e:
        read_rows(Predictions(pa.Table.from_pylist(mixed)), SourceOptions())
    assert (e.value.row, e.value.got) == (0, ["entailment"])


def test_a_set_with_names_becomes_one_with_numbers():
    rows = [{**row, "premise": "a", "hypothesis": f"b {i}"} for i, row in enumerate(chains(6))]
    tables = [bucket_set_from_table(pa.Table.from_pylist(r), name="set", task="nli").table
              for r in (rows, named(rows, gold=NAMES[1]), named(rows, gold=NAMES[1], join="|"))]  # fmt: skip
    for table in tables[1:]:
        assert table["allowed_labels"].to_pylist() == tables[0]["allowed_labels"].to_pylist()


def test_the_module_and_the_function():
    rows = chains()
    columns = {role: named([row for row in rows if row["role"] == role], "") for role in ROLES}
    arguments = {
        "predictions": [row["prediction"] for row in columns["consequent"]],
        "references": [row["allowed_labels"] for row in columns["consequent"]],
    }
    for role in ROLES[:2]:
        arguments[f"{role}_predictions"] = [row["prediction"] for row in columns[role]]
        arguments[f"{role}_references"] = [row["label"] for row in columns[role]]
    expected = paraconsist.transitive_inconsistency(**arguments).to_dict()
    scores = paraconsist.score(pa.Table.from_pylist(named(rows, ""))).sets["predictions"]
    by_file = scores.measures["transitive_inconsistency"]
    assert by_file["by_rule"] == expected["by_rule"]
    assert load_metric("transitive_inconsistency").compute(**arguments) == expected


def test_an_unparsed_answer_is_never_allowed():
    """The number that stands for it is none that a rule allows, either."""
    rows = [row | {"prediction": None if row["role"] == "consequent" else row["label"]} for row in chains(9)]
    shifted = [row | {"label": max(row["label"], -1), "allowed_labels": [-2, *row["allowed_labels"]]} for row in rows]
    for policy in ("wrong", "own_class"):
        scores = paraconsist.score(pa.Table.from_pylist(shifted), unparsed=policy).sets["predictions"]
        assert scores.measures["transitive_inconsistency"]["inconsistency"] == 1.0


@pytest.mark.parametrize("cell", ["[0, 1", "[[0], 1]", "0||1"])
def test_what_is_no_list_of_labels_is_refused(cell):
    rows = [row | {"allowed_labels": str(row["allowed_labels"])} for row in chains(3)]
    rows[4]["allowed_labels"] = cell
    with pytest.raises(InputError, match="allowed_labels") as e:
        read_rows(Predictions(pa.Table.from_pylist(rows)), SourceOptions())
    assert (e.value.row, e.value.got) == (4, cell)


def test_the_page_shows_names():
    rows = named(chains(), "", join="|")
    text = to_csv({name: [row[name] for row in rows] for name in rows[0]})
    result = module("transitive_inconsistency").measure(as_query("transitive_inconsistency", text, "texts"))
    expected = paraconsist.score(pa.Table.from_pylist(named(chains(), ""))).sets["predictions"]
    keys = to_strict_json(result.keys)
    assert keys["by_rule"] == to_strict_json(expected.measures["transitive_inconsistency"]["by_rule"])
