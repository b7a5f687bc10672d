"""The papers' printed numbers: whole, found by name, and what follows from them."""

from __future__ import annotations

import csv
import json

import pytest

import paraconsist as pc
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.cue_ratio import cue_design_ratio


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
    assert (code, "must be in the name of a published number; got 'nothing'" in err) == (2, True)


def test_rho_follows_from_the_inconsistencies_but_for_bart_large():
    """Table 4 of J22 (negations) from its Table 2: T5, trained on all tasks at once, is left out."""
    taus = {
        (row["dataset"], row["model"], row["size"]): row["value"]
        for row in pc.published(paper="J22", measure="negational_inconsistency").to_pylist()
        if row["table"] == "2"
    }
    differ = {}
    rows = pc.published(paper="J22", measure="rho").to_pylist()
    for row in rows:
        data, model, size = (row[name] for name in ("dataset", "model", "size"))
        best = min(tau for (d, m, s), tau in taus.items() if (d, s) == (data, size) and m != "T5")
        found = round(cue_design_ratio(taus[data, model, size], taus["snli", model, size], best), 2)
        if found != row["value"]:
            differ[data, model, size] = (found, row["value"])
    assert len(rows) == 18
    assert differ == {
        ("boolq", "BART", "large"): (2.97, 1.99),
        ("mrpc", "BART", "large"): (3.88, 3.09),
        ("rte", "BART", "large"): (1.86, 1.31),
    }
