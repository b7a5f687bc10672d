"""The papers' printed numbers: whole, found by name, and what follows from them."""

from __future__ import annotations

import csv
import json

import pytest

import paraconsist as pc
from paraconsist.measures.catalogue import CATALOGUE


def test_every_printed_number_is_there(data_folder):
    with (data_folder / "published" / "published_results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pc.published()
    assert table.num_rows == len(rows) == 816
    for ours, theirs in zip(table.to_pylist(), rows, strict=True):
        numbers = {name: float(theirs[name]) if theirs[name] else None for name in ("value", "sd")}
        assert {name: ours[name] for name in theirs} == {**{k: v or None for k, v in theirs.items()}, **numbers}
        assert ours["source"]


def test_filters_join_and_names_that_no_row_has_are_refused():
    table = pc.published(paper="J22", dataset=["snli", "mrpc"], measure="semantic_inconsistency")
    assert set(table["dataset"].to_pylist()) == {"snli", "mrpc"}
    assert set(table["unit"].to_pylist()) == {"%"}
    assert table.column_names[-2:] == ["unit", "source"]
    with pytest.raises(pc.InputError, match=r"`paper` must be one of .*S24.*; got 'X'"):
        pc.published(paper="X")
    with pytest.raises(pc.InputError, match="`measure` must be one of"):
        pc.published(paper="A24", measure="rho")


def test_measures_are_called_as_in_the_results():
    names = set(pc.published()["measure"].to_pylist())
    taus = {name for name in names if name.endswith("_inconsistency")}
    assert taus <= CATALOGUE.keys()
    assert {"paraphrastic_consistency", "prediction_change"} <= names & CATALOGUE.keys()


def test_list_shows_them(command):
    code, out, _ = command("list", "--published", "DeBERTa-V3 large, delta_snli", "--json")
    assert code == 0
    rows = json.loads(out)["Published"]
    assert {"what": "DeBERTa-V3 large, delta_snli, original_accuracy"}.items() <= rows[0].items()
    code, _, err = command("list", "--published", "nothing")
    assert (code, "must be in the name of what papers published; got 'nothing'" in err) == (2, True)
