"""Sheets in which people judged paraphrases: the share that is none, and bounds of rates among valid ones."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.measures.checked import label_share, rate_among_valid, validity_bounds
from paraconsist.scoring.checked import read_validity
from paraconsist.transforms.sheets import read_marks

P_C = "paraphrastic_consistency_unbiased"


@pytest.fixture
def run(tmp_path):
    rows = [{"bucket_id": b, "prediction": int(b % 5 == 0 and k == 0), "label": 0} for b in range(50) for k in range(3)]
    pd.DataFrame(rows).to_csv(tmp_path / "run.csv", index=False)
    return tmp_path / "run.csv"


def sheet(path, n_valid=57, n_invalid=3, **columns):
    words = ["yes"] * n_valid + ["no"] * n_invalid
    table = {"bucket_id": range(len(words)), "valid": words, **columns}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def test_bounds_are_those_by_hand():
    bounds = validity_bounds(0.8, [0.75, 0.85], 0.1, [0.05, 0.15])
    assert bounds.invalid_pairs == pytest.approx(0.19)
    assert (bounds.low, bounds.high) == pytest.approx(((0.8 - 0.19) / 0.81, 0.8 / 0.81))
    e = 1 - 0.85**2
    assert bounds.confidence_interval == pytest.approx([(0.75 - e) / (1 - e), 1.0])  # .85 / .7225, cut
    assert validity_bounds(0.8, [0.75, 0.85], 0.0, [0.0, 0.0]).confidence_interval == [0.75, 0.85]


def test_wide_bounds_are_withheld():
    bounds = validity_bounds(0.5, [0.45, 0.55], 0.2, [0.1, 0.3])
    assert bounds.low != bounds.low
    assert "36 % of the pairs have an invalid paraphrase, and bounds would be 0.56 wide" in bounds.withheld


def test_score_shows_share_and_bounds(command, run, tmp_path):
    judged = sheet(tmp_path / "s.csv", source=["t5"] * 30 + ["bt"] * 30)
    out = command.out("score", run, "--validity", judged, "--json")
    (result,) = json.loads(out).values()
    found = result["validity"]
    assert (found["n_labels"], found["n_buckets"], found["invalid"]) == (60, 60, pytest.approx(0.05))
    low, high = found["confidence_interval"]
    assert 0.01 < low < 0.05 < high < 0.15
    assert found["by"]["source"]["t5"]["invalid"] == pytest.approx(0.0)
    assert found["by"]["source"]["bt"]["invalid"] == pytest.approx(0.1)
    rate, bounds = result["measures"]["paraphrastic_consistency"][P_C], found["bounds"][P_C]
    assert rate == pytest.approx(1 - 2 / 15)  # two of three pairs differ in a fifth of the problems
    assert bounds["low"] == pytest.approx((rate - 0.0975) / 0.9025)
    assert {"wording_change", "same_answer", P_C} == set(found["bounds"])
    text = command("score", run, "--validity", judged)[1]
    assert "wordings that people judged" in text
    assert "bounds among valid paraphrases" in text
    scores = pc.score(run, validity=judged)
    assert next(iter(scores.sets.values())).validity.invalid == pytest.approx(0.05)
    pytest.importorskip("jinja2")
    assert command("report", run, "--validity", judged, "--output", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "wordings that people judged" in page
    assert "bounds among valid paraphrases" in page


def test_shares_are_by_the_kind_of_edit_and_by_what_the_run_knows_of_its_wordings(tmp_path):
    """The sheets that `paraphrase` writes have the texts of both, and the ids of wordings; the set has their rule."""
    first, last = ("It is the rain.", "It is not the rain."), ("The 2 dogs ran.", "The three dogs ran.")
    texts = [first, ("It is the rain.", "It is the rain!"), last] * 20
    ids, judged = [f"r{i}" for i in range(60)], {"valid": ["no", "yes", "no"] * 20}
    of_run = {"bucket_id": range(60), "example_id": ids, "label": 0, "prediction": 0, "rule": ["a", "b"] * 30}
    both = {f"paraphrase_{k}": pd.DataFrame(of_run | {"example_id": [f"{i}.{k}" for i in ids]}) for k in (1, 2)}
    marked = {
        "example_id": [f"{i}.1" for i in ids],
        "original": [a for a, _ in texts],
        "paraphrase": [b for _, b in texts],
    }
    pd.DataFrame(marked | judged).to_csv(tmp_path / "s.csv", index=False)
    (scored,) = pc.score(pd.concat(both.values()), stratum=["rule"], validity=tmp_path / "s.csv").sets.values()
    by = scored.validity.by
    found = {kind: (v["n_labels"], v["invalid"]) for kinds in by.values() for kind, v in kinds.items()}
    assert (found["negation"], found["number"], found["a"]) == ((20, 1.0), (20, 1.0), (30, pytest.approx(2 / 3)))
    assert set(by) == {"edit", "rule"}


def judged_run(tmp_path, share, seed=3):
    """Return a run of four wordings, invalid in a tenth, answered otherwise then, a sheet of a share, and all rows."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "bucket_id": b,
            "example_id": f"{b}.{k}",
            "role": "paraphrase" if k else "original",
            "valid": not k or rng.random() >= 0.1,
        }
        for b in range(120)
        for k in range(4)
    ]
    for row in rows:
        row |= {"prediction": int(rng.random() < (0.1 if row["valid"] else 0.7)), "label": 0}
    pd.DataFrame(rows).drop(columns="valid").to_csv(tmp_path / "run.csv", index=False)
    marked = [row for row in rows if row["role"] == "paraphrase" and rng.random() < share]
    sheet = [{"example_id": row["example_id"], "original": row["bucket_id"], "valid": row["valid"]} for row in marked]
    pd.DataFrame(sheet).replace({True: "yes", False: "no"}).to_csv(tmp_path / "sheet.csv", index=False)
    return tmp_path / "run.csv", tmp_path / "sheet.csv", pd.DataFrame(rows)


def valid_pairs(rows, roles):
    """Return the share of valid pairs with the same answer; each problem's pairs together weigh as one problem."""
    hits = size = 0.0
    for _, bucket in rows[rows["role"].isin(roles)].groupby("bucket_id"):
        pairs = list(combinations(zip(bucket["prediction"], bucket["valid"], strict=True), 2))
        of_valid = [one == other for (one, first), (other, second) in pairs if first and second]
        hits, size = hits + sum(of_valid) / len(pairs), size + len(of_valid) / len(pairs)
    return hits / size


def test_rates_among_valid_wordings_are_those_by_hand_where_all_are_judged(command, tmp_path):
    run, judged, rows = judged_run(tmp_path, 1.0)
    out = command.out("score", run, "--validity", judged, "--json")
    found = next(iter(json.loads(out).values()))["validity"]["among_valid"]
    for key, roles in ((P_C, ["paraphrase"]), ("same_answer", ["paraphrase", "original"])):
        assert found[key]["value"] == pytest.approx(valid_pairs(rows, roles), abs=1e-12)
        low, high = found[key]["confidence_interval"]
        assert low < found[key]["value"] < high
    assert found["wording_change"]["value"] == pytest.approx(1 - found["same_answer"]["value"])
    low, high = found["same_answer"]["confidence_interval"]
    assert found["wording_change"]["confidence_interval"] == pytest.approx([1 - high, 1 - low])
    assert "rates among valid paraphrases" in command("score", run, "--validity", judged)[1]
    for file in (run, judged):  # ids that are those of other buckets' rows too were not found, without a word
        frame = pd.read_csv(file, dtype={"example_id": str})
        frame.assign(example_id=frame["example_id"].str.split(".").str[1]).to_csv(file, index=False)
    again = next(iter(command.json("score", run, "--validity", judged).values()))["validity"]
    assert again["among_valid"] == found


def test_rates_among_valid_wordings_cover_where_some_are_judged(command, tmp_path):
    covered = []
    for seed in range(12):
        run, judged, _ = judged_run(tmp_path, 0.5, seed)
        found = next(iter(pc.score(run, validity=judged).sets.values())).validity.among_valid[P_C]
        low, high = found.confidence_interval
        covered.append(low <= 0.1**2 + 0.9**2 <= high)
    assert sum(covered) >= 10  # of twelve intervals of 95 %, fewer cover once in 500 times


def test_few_invalid_pairs_carry_no_correction(command, tmp_path):
    run, judged, _ = judged_run(tmp_path, 0.05)
    found = next(iter(pc.score(run, validity=judged).sets.values())).validity.among_valid[P_C]
    assert found.value != found.value
    assert "and 10 are needed" in found.refused


@pytest.mark.parametrize(
    ("n", "k", "share", "q", "of_invalid"), [(100, 4, 0.5, 0.1, 0.4), (300, 3, 0.6, 0.05, 0.3), (60, 5, 0.5, 0.2, 0.5)]
)
def test_intervals_among_valid_pairs_cover(n, k, share, q, of_invalid):
    rng, covered, n_known = np.random.default_rng(8), 0, 0
    first, second = np.triu_indices(k, 1)
    for _ in range(400):
        rate, bad, judged = rng.beta(8, 2, n), rng.random((n, k)) < q, rng.random((n, k)) < share
        invalid = bad[:, first] | bad[:, second]
        hits = rng.random(invalid.shape) < np.where(invalid, of_invalid, rate[:, None])
        marks = np.where(judged[:, first] & judged[:, second], invalid, np.nan)
        of = rate_among_valid(hits.ravel(), marks.ravel(), np.ones(hits.size), np.repeat(np.arange(n), len(first)))
        if not of.refused:
            covered, n_known = covered + (of.confidence_interval[0] <= 0.8 <= of.confidence_interval[1]), n_known + 1
    assert n_known > 300
    assert covered / n_known + 0.01 >= 0.93  # a Monte Carlo error
    assert covered / n_known <= 0.985


def test_intervals_among_few_judged_problems_allow_for_a_share_of_invalid_pairs_that_is_off():
    """Twenty of 200 problems judged; invalid pairs are no hits. Intervals on the logit scale held 91 %, all too low."""
    rng, (first, second), held = np.random.default_rng(0), np.triu_indices(4, 1), []
    for _ in range(250):
        invalid = rng.random((200, 4)) < rng.beta(0.3, 0.7, 200)[:, None]
        bad = invalid[:, first] | invalid[:, second]
        hits = ~bad & (rng.random(bad.shape) < rng.beta(8, 2, 200)[:, None])
        marks = np.where(np.arange(200)[:, None] < 20, bad, np.nan)
        of = rate_among_valid(hits.ravel(), marks.ravel(), np.ones(hits.size), np.repeat(np.arange(200), 6))
        held.append(of.confidence_interval[0] <= 0.8 <= of.confidence_interval[1])
    assert np.mean(held) >= 0.93


def test_no_valid_judged_pair_has_no_rate_among_valid_ones():
    found = rate_among_valid([1, 0] * 20, [1.0] * 20 + [np.nan] * 20, [1.0] * 40, range(40))
    assert np.isnan([found.value, *found.confidence_interval]).all()
    assert found.refused == "every judged pair has an invalid wording"


def test_people_are_averaged_and_rejected_candidates_left_out(tmp_path):
    ids = ["a", "b", "b.rejected_1"]
    table = {"example_id": ids, "original": ids, "valid_1": ["yes", "yes", "no"], "valid_2": ["no", "", "no"]}
    pd.DataFrame(table).to_csv(tmp_path / "s.csv", index=False)
    found = read_validity(tmp_path / "s.csv", {}, 0.95)
    assert (found.n_labels, found.invalid) == (2, pytest.approx(0.25))


def test_other_columns_of_a_sheet_may_hold_anything(tmp_path):
    table = {"bucket_id": [1, 2], "valid": [True, False], "choices": [["x", "y"], None], "from": [{"by": "t5"}, None]}
    pd.DataFrame(table).to_json(tmp_path / "s.jsonl", orient="records", lines=True)
    assert read_validity(tmp_path / "s.jsonl", {}, 0.95).invalid == pytest.approx(0.5)


def test_marks_are_read_as_in_the_sheets_of_sets(tmp_path):
    words = ["ok", "OK ", "valid", "t", "1.0", "x", "invalid", "f", "0.0", "N"]
    pd.DataFrame({"bucket_id": range(10), "original": "", "perturbed": "", "valid": words}).to_csv(
        tmp_path / "s.csv", index=False
    )
    assert [*read_marks(tmp_path / "s.csv").valid.values()] == [True] * 6 + [False] * 4
    found = read_validity(tmp_path / "s.csv", {}, 0.95)
    assert (found.n_labels, found.invalid) == (10, pytest.approx(0.4))


def test_what_is_withheld_is_said(command, run, tmp_path):
    code, out, _ = command("score", run, "--validity", sheet(tmp_path / "s.csv", 30, 30), "--json")
    (result,) = json.loads(out).values()
    assert code == 0
    assert result["validity"]["bounds"][P_C]["low"] is None
    assert any("has no bounds: 75 % of the pairs" in warning for warning in result["warnings"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"bucket_id": [1], "ok": ["yes"]}, "have a column valid"),
        ({"bucket_id": [1], "valid": ["maybe"]}, "yes, no or nothing"),
        ({"bucket_id": [1], "valid": [""]}, "at least one judgement"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path, columns, message):
    pd.DataFrame(columns).to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(InputError, match=message):
        read_validity(tmp_path / "s.csv", {}, 0.95)


@pytest.mark.real_data
def test_labels_by_people_by_method(tmp_path, data_folder):
    """Of the variations that a person judged, by method; those of T5: 131 of 155 valid."""
    table = pd.read_parquet(data_folder / "validity" / "query_variations.parquet")
    judged = table[table["annotator"].notna()]
    judged[["query_id", "method", "valid"]].to_csv(tmp_path / "s.csv", index=False)
    found = read_validity(tmp_path / "s.csv", {}, 0.95)
    assert found.n_labels == 1061
    counts = {m: (round((1 - v["invalid"]) * v["n_labels"]), v["n_labels"]) for m, v in found.by["method"].items()}
    assert sorted(counts.values()) == [(87, 230), (116, 205), (131, 155), (151, 234), (171, 237)]


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["anli", "snli", "atomic", "social"])
def test_bounds_from_automatic_paraphrases_hold_that_of_human_ones(data_folder, name):
    """ParaNLU, RoBERTa-large; the share of valid paraphrases is that of T5's on queries, where people judged them."""
    share, ends = label_share([0.0] * 131 + [1.0] * 24, range(155))
    columns = {"prediction": "pred", "label": "gold", "original": "is_original", "example": "paraphrase_id"}
    results = {}
    for kind in ("human", "auto"):
        file = data_folder / "paranlu" / "predictions" / f"{name}__roberta-large__{kind}.parquet"
        scores = pc.score(file, **columns, measures=["paraphrastic_consistency"], interval_method="closed_form")
        (results[kind],) = (one.measures["paraphrastic_consistency"] for one in scores.sets.values())
    automatic = results["auto"]
    bounds = validity_bounds(automatic[P_C], automatic["confidence_interval"][P_C], share, ends)
    assert bounds.withheld == ""
    assert bounds.low <= results["human"][P_C] <= bounds.high


#: Detectors of paraphrases (PARAPHRASUS): per cent wrong on AMR, OneStop and, in both orders, ANLI, as published.
DETECTORS = {
    "XLM-RoBERTa-EN-ORIG": (31.4, 5.3, 7.2),
    "LLama3 zero-shot (Paraph)": (9.0, 14.7, 13.0),
    "LLama3 zero-shot (Sem Equiv)": (34.7, 47.3, 1.2),
    "LLama3 zero-shot (Ex. Same Content)": (35.3, 37.5, 1.7),
    "LLama3 ICL_4 (Paraph)": (29.9, 33.3, 2.0),
    "LLama3 ICL_4 (Sem Equiv)": (40.1, 42.3, 0.8),
    "LLama3 ICL_4 (Ex. Same Content)": (50.9, 45.5, 0.8),
    "llama_3_8b_ins_q4_k_m": (13.8, 15.2, 13.2),
    "llama_3_3_70b_ins_q8": (6.6, 18.5, 3.1),
}


@pytest.mark.real_data
def test_published_error_rates_of_detectors(data_folder):
    verdicts = pd.read_parquet(data_folder / "validity" / "paraphrase_detectors.parquet")
    verdicts["wrong"] = (verdicts["verdict"] != verdicts["gold"]).astype(float)
    for detector, published in DETECTORS.items():
        runs = verdicts[verdicts["detector"].str.startswith(detector)]
        assert runs["detector"].nunique() == (8 if detector.endswith("ORIG") else 1)
        for name, per_cent in zip(("AMR", "OneStop", "ANLI"), published, strict=True):
            of_set = runs[runs["set"] == name]
            share, (low, high) = label_share(of_set["wrong"].to_numpy(), of_set["pair"].to_numpy())
            assert round(100 * share, 1) == per_cent
            assert low < share < high


def test_a_run_that_stopped_on_a_condition_has_bounds_alone(tmp_path):
    """Its intervals hold whenever it stopped; that of a fixed number of problems would not."""
    questions = [
        {"bucket_id": f"b{b}", "example_id": f"{b}.{k}", "question": f"{b}, {k}?"} for b in range(60) for k in range(3)
    ]

    def model(texts):
        return ["yes" if len(text) % 5 else "no" for text in texts]

    done = pc.run(model, questions, output=tmp_path / "run", version="1", until="wording_change ± 0.2")
    rows = next(iter(pc.score(done.folder).sets.values())).source.predictions.table.to_pylist()
    marks = {row["example_id"]: "no" if i % 3 == 0 else "yes" for i, row in enumerate(rows)}
    table = pd.DataFrame(
        {"example_id": [*marks], "original": [row["bucket_id"] for row in rows], "valid": [*marks.values()]}
    )
    table.to_csv(tmp_path / "sheet.csv", index=False)
    found = next(iter(pc.score(done.folder, validity=tmp_path / "sheet.csv").sets.values())).validity
    assert found.n_labels == len(rows)
    assert found.among_valid == {}


def checked_sheet(path, rng, n=200, share=1.0):
    """Write a sheet of four candidates a question that a check kept or not, of which people judged a share."""
    valid = rng.random((n, 4)) < rng.beta(4, 2, n)[:, np.newaxis]
    is_kept = rng.random(valid.shape) < np.where(valid, 0.9, 0.3)
    lines = [
        {
            "example_id": f"{q}.paraphrase_{k}" if is_kept[q, k] else f"{q}.rejected_{k}",
            "original": f"Question {q}?",
            "paraphrase": f"Wording {k}.",
            "checks": "passed; nli 0.93" if is_kept[q, k] else "left out: another meaning (nli); nli 0.12",
            "valid": ("yes" if valid[q, k] else "no") if rng.random() < share else "",
        }
        for q in range(n)
        for k in range(4)
    ]
    others = ("left out: too long", "left out: its question has fewer than 3; nli 0.70")  # not checked, kept
    lines += [{**lines[0], "example_id": f"x.rejected_{i}", "checks": said} for i, said in enumerate(others)]
    pd.DataFrame(lines).to_csv(path, index=False)
    return path, valid, is_kept


def test_the_error_of_a_check_is_measured_by_what_it_kept_and_left_out(command, run, tmp_path):
    path, valid, is_kept = checked_sheet(tmp_path / "s.csv", np.random.default_rng(1))
    lines = pd.read_csv(path)
    lines.loc[len(lines) - 2 :, "valid"] = "yes"
    lines.to_csv(path, index=False)
    found = read_validity(path, {}, 0.95)
    assert (found.n_labels, found.invalid) == (is_kept.sum(), pytest.approx((is_kept & ~valid).sum() / is_kept.sum()))
    n_valid, kept = valid.sum() + 1, (is_kept & valid).sum() + 1  # a question that had too few had one that was kept
    assert found.check.sensitivity == pytest.approx(kept / n_valid)
    assert found.check.false_match_rate == pytest.approx((is_kept & ~valid).sum() / (~valid).sum())
    assert found.check.n_labels == 801
    assert read_validity(sheet(tmp_path / "plain.csv"), {}, 0.95).check is None
    out = command.out("score", run, "--validity", path)
    assert "what the check kept (per cent)" in out
    assert f"{100 * kept / n_valid:.1f}" in out


def test_intervals_of_the_error_of_a_check_cover(tmp_path):
    """The truth by the sheet's design, of a beta distribution's mean 2/3: the check errs alike on all."""
    held = []
    for seed in range(25):
        path, *_ = checked_sheet(tmp_path / "s.csv", np.random.default_rng(seed), 80, 0.5)
        found = read_validity(path, {}, 0.95).check
        for key, truth in (("sensitivity", 0.9), ("false_match_rate", 0.3)):
            low, high = found.confidence_interval[key]
            held.append(low <= truth <= high)
    assert sum(held) >= 44  # of 50; at 95 %, in 99 of 100 seeds
