"""Strata are compared by what the model does, not by how many paraphrases of a bucket fall into them."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import write

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
from paraconsist.measures.catalogue import PARAPHRASTIC


def test_a_random_attribute_of_rows_makes_no_stratum_more_consistent() -> None:
    """Published, a stratum of one or two paraphrases a bucket scores 80 to 97 whatever the model does."""
    rng = np.random.default_rng(0)
    bucket = np.repeat(np.arange(600), 6)
    gold = np.repeat(rng.integers(0, 2, 600), 6)
    right = rng.random(3600) < rng.beta(2, 1, 600)[bucket]
    rows = {
        "bucket_id": bucket.tolist(),
        "label": gold.tolist(),
        "prediction": np.where(right, gold, 1 - gold).tolist(),
        "die": rng.integers(1, 5, 3600).astype(str).tolist(),
    }
    scores = pc.score(rows, stratum=["die"]).sets["predictions"]
    whole = scores.measures[PARAPHRASTIC.name]
    parts = [part[PARAPHRASTIC.name] for part in scores.strata["die"].values()]
    assert len(parts) == 4
    for part in parts:
        low, high = part["confidence_interval"][PARAPHRASTIC.headline]
        assert low <= whole[PARAPHRASTIC.headline] <= high
        assert part[PARAPHRASTIC.published] > whole[PARAPHRASTIC.published] + 0.05
    mean = np.mean([part[PARAPHRASTIC.headline] for part in parts])
    assert mean == pytest.approx(whole[PARAPHRASTIC.headline], abs=0.03)


def test_strata_of_few_buckets_have_no_interval() -> None:
    rng = np.random.default_rng(1)
    rows = {
        "bucket_id": np.repeat(np.arange(40), 4).tolist(),
        "label": [1] * 160,
        "prediction": rng.integers(0, 2, 160).tolist(),
        "theme": np.repeat([f"theme {i // 4}" for i in range(40)], 4).tolist(),
    }
    strata = pc.score(rows, stratum=["theme"]).sets["predictions"].strata["theme"]
    assert len(strata) == 10
    for part in strata.values():
        assert np.isnan(part[PARAPHRASTIC.name]["confidence_interval"][PARAPHRASTIC.headline]).all()
        assert "only 4 buckets: no interval below 10" in part[PARAPHRASTIC.name]["warnings"]


# ------------------------------------------------------------------------------------- as they are shown


def lopsided(tmp_path):
    """Forty buckets of three paraphrases, two of one kind and one of the other; the names of the kinds are long."""
    kinds = ["a rather long name of a stratum that goes on", "a rather long name of a stratum that ends so"]
    columns = ("bucket_id", "role", "label", "prediction", "kind")
    rows = [
        dict(zip(columns, (b, role, ("no", "yes")[b % 2], (b + n // 3) % 2, kinds[n == 2]), strict=True))
        for b in range(40)
        for n, role in enumerate(["original", "paraphrase", "paraphrase", "paraphrase"])
    ]
    return write(tmp_path / "mine.csv", rows), kinds


@pytest.mark.faults
def test_a_named_column_breaks_rates_down_in_the_terminal_too(command, tmp_path):
    """Of what `perturb` made of questions `--stratum generator` showed nothing: only the page had it."""
    rows = [
        {"bucket_id": b, "role": role, "prediction": "no" if kind == "typos" and b % 4 == 0 else "yes", "kind": kind}
        for b in range(40)
        for role, kind in (("original", "original"), ("paraphrase", "typos"), ("paraphrase", "given"))
    ]
    path = write(tmp_path / "mine.csv", rows)
    shown = command.out("score", path, "--stratum", "kind", "--same", "text")
    table = shown.partition("Semantic inconsistency by stratum")[2]
    assert [line.split()[:3] for line in table.splitlines() if " 40 " in line] == [
        ["given", "40", "0.0"],
        ["typos", "40", "25.0"],
    ]
    assert "by stratum" not in command.out("score", path, "--same", "text")


def test_buckets_of_one_paraphrase_are_told_with_their_stratum_in_every_view(command, tmp_path):
    path, kinds = lopsided(tmp_path)
    options = (path, "--stratum", "kind", "--label-names", "no,yes")
    sentence = f"40 of 40 where kind is {kinds[1]}"
    assert sentence in command("score", *options)[2]
    assert sentence in command("score", *options, "--markdown")[1]
    assert sentence in command("gate", "pc >= 0", *options)[2]
    assert sentence in " ".join(pc.score(path, stratum=["kind"], label_names="no,yes").warnings)
    assert command("report", *options, "--output", tmp_path / "page.html", "--title", "t")[0] == 0
    assert sentence in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("measure", ["paraphrastic_consistency", "prediction_change", "semantic_inconsistency"])
def test_names_of_strata_stay_apart_in_a_narrow_terminal(command, tmp_path, monkeypatch, measure):
    path, kinds = lopsided(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    out = command("score", path, "--stratum", "kind", "--label-names", "no,yes", "--measure", measure)[1]
    assert "…" not in out
    shown = [line.rstrip() for line in out.splitlines() if "|v:" not in line and "warning" not in line]
    assert max(map(len, shown)) <= 60
    if measure != "semantic_inconsistency":
        names = " ".join(" ".join(line[:18] for line in out.splitlines()).split())
        assert all(kind in names for kind in kinds), out
        assert {"no", "yes"} <= set(names.split())


def test_gold_labels_of_each_problem_are_no_strata() -> None:
    rows = {"bucket_id": list("aabbccdd"), "label": list("ppqqrrss"), "prediction": list("pqqqrrst")}
    assert "label" not in pc.score(rows).sets["predictions"].strata
    assert "label" in pc.score(rows | {"label": list("ppqqrrqq")}).sets["predictions"].strata


def test_a_mark_is_no_stratum_unless_it_is_named(command, tmp_path):
    table = pa.table(
        {"bucket_id": [0, 0, 1, 1], "label": [0] * 4, "prediction": [0, 1] * 2, "copies_original": [True, False] * 2}
    )
    predictions = Predictions(table, {"set": "x", "label_names": ["a", "b"]})
    assert list(read_rows(predictions, SourceOptions()).strata) == []
    assert list(read_rows(predictions, SourceOptions(stratum=["copies_original"])).strata) == ["copies_original"]


def test_the_pooled_pvap_has_no_interval_outside_its_range(tmp_path):
    values = pc.score(lopsided(tmp_path)[0], label_names="no,yes").sets["mine"].measures["paraphrastic_consistency"]
    assert all(math.isnan(end) for end in values["confidence_interval"]["pvap_pooled"])


def test_one_name_in_python_needs_no_sequence():
    columns = {"bucket_id": [0, 0, 1, 1] * 6, "prediction": [1] * 24, "label": [1] * 24, "source": [*"xxyy"] * 6}
    one, several = (pc.score(columns, stratum=names).to_dict() for names in ("source", ("source",)))
    assert one == several


def test_without_gold_labels_a_breakdown_is_of_the_same_answer(tmp_path, command):
    """`--stratum` printed nothing, and the page a table of undefined values of prompt sensitivity."""
    rows = {"bucket_id": [i // 2 for i in range(80)], "topic": ["u", "u", "v", "v"] * 20}
    frame = pd.DataFrame({**rows, "prediction": ["x", "x", "x", "y", "y", "y", "z", "z"] * 10})
    frame.to_csv(tmp_path / "a.csv", index=False)
    shown = command.out("score", tmp_path / "a.csv", "--stratum", "topic").partition("Prompt sensitivity by stratum")[2]
    lines = [line.split() for line in shown.splitlines()]
    assert ["stratum", "buckets", "same", "answer", "interval"] in lines
    assert [line[:3] for line in lines if line[:1] in (["u"], ["v"])] == [["u", "20", "100.0"], ["v", "20", "50.0"]]
    command.done("report", tmp_path / "a.csv", "--stratum", "topic", "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.partition("Prompt sensitivity by stratum")[2].partition("</table>")[0].count("50.0") == 1


def test_breakdowns_of_several_sets_say_whose_they_are(tmp_path):
    """Two tables had one title, "Symmetric inconsistency by stratum"."""
    rows = {"bucket_id": [i // 2 for i in range(48)], "role": ["original", "swap"] * 24}
    rows["kind"] = ["u"] * 24 + ["v"] * 24
    for name, flips in (("one", 4), ("two", 6)):
        prediction = ["x" if i % flips else "y" for i in range(48)]
        pd.DataFrame({**rows, "label": "x", "prediction": prediction}).to_csv(tmp_path / f"{name}.csv", index=False)
    shown = pc.score([tmp_path / "one.csv", tmp_path / "two.csv"], stratum=["kind"]).to_markdown()
    assert "**one: Symmetric inconsistency by stratum, in per cent**" in shown
    assert "**two: Symmetric inconsistency by stratum, in per cent**" in shown
