"""Paired differences of how often two wordings get different answers, against every swap of two models' problems."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.reporting.page.models import Report, model_from

TIGHT = 1e-12


def answers(seed, steady, *, n_problems=12, n_wordings=4, group=1):
    """Answers among many; `steady` is the chance of a problem's commonest answer."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "bucket_id": f"q{problem}",
            "example_id": f"q{problem}-{wording}",
            "prediction": f"right {problem}" if rng.random() < steady else f"wrong {rng.integers(3)}",
            "label": f"right {problem}",
            "role": "paraphrase" if wording else "original",
            "context": problem // group,
        }
        for problem in range(n_problems)
        for wording in range(n_wordings)
    ]
    return pd.DataFrame(rows)


def changes(frame, by="bucket_id"):
    """The definition, by pairs of rows: (share of pairs with another answer of each problem, its context)."""
    found, units = [], []
    for _, rows in frame.groupby("bucket_id", sort=False):
        pairs = itertools.combinations(rows.prediction, 2)
        found.append(np.mean([a != b for a, b in pairs]))
        units.append(rows[by].iloc[0])
    return np.array(found), np.array(units)


def flipped(each, units):
    """The two-sided p of a mean, over every assignment of signs to the units."""
    sums = np.array([each[units == unit].sum() for unit in dict.fromkeys(units)])
    signs = np.array(list(itertools.product((1, -1), repeat=len(sums))))
    return float(np.mean(np.abs(signs @ sums) >= abs(sums.sum()) - TIGHT))


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("by", ["bucket_id", "context"])
def test_values_difference_and_p_are_those_of_the_definition(labels, by):
    frames = [answers(1, 0.55, n_problems=16, group=2), answers(2, 0.9, n_problems=16, group=2)]
    (one, units), (two, _) = (changes(frame, by) for frame in frames)
    expected = one.mean() - two.mean(), flipped(one - two, units)
    given = [frame if labels else frame.drop(columns="label") for frame in frames]
    scores = [pc.score(frame, group=by) for frame in given]
    (compared,) = pc.compare(*scores, names=["one", "two"], label="label" if labels else None, group=by).sets
    pair = compared.pairs[0]
    assert pair.measure == ("paraphrastic_consistency" if labels else "wording_change")
    assert pair.simultaneous_p_value is None  # of one pair it is p
    result, key = pair.result, "wording_change"
    values = [next(iter(each.sets.values())).wording.wording_change for each in scores]
    assert [result.values1[key], result.values2[key]] == pytest.approx(values, abs=TIGHT)
    assert values == pytest.approx([one.mean(), two.mean()], abs=TIGHT)
    assert (result.differences[key], result.p_values[key]) == pytest.approx(expected, abs=1e-9)
    assert result.n_clusters[key] == len(set(units))
    low, high = result.confidence_interval[key]
    assert low < expected[0] < high
    assert (low > 0 or high < 0) == (expected[1] <= 0.05)
    (named,) = pc.compare(*given, names=["one", "two"], measures=["wording_change"], group=by,
                          label="label" if labels else None).sets[0].pairs  # fmt: skip
    assert (named.result.difference, named.result.p_value) == pytest.approx(expected, abs=1e-9)
    assert named.result.n_examples == len(frames[0])


def test_two_models_whose_right_answers_do_not_differ_may_differ_in_their_wrong_ones():
    """P_C takes another wrong answer for the same: here both models are never right, and one never repeats itself."""
    rows = [(f"q{b}", f"{b}-{w}", "right") for b in range(20) for w in range(3)]
    steady = pd.DataFrame(rows, columns=["bucket_id", "example_id", "label"]).assign(prediction="wrong")
    shaky = steady.assign(prediction=[f"wrong {row}" for row in range(len(rows))])
    (pair,) = pc.compare(shaky, steady, names=["shaky", "steady"]).sets[0].pairs
    assert (pair.result.difference, pair.result.p_value) == (0.0, 1.0)
    assert pair.result.differences["wording_change"] == 1.0
    assert pair.result.p_values["wording_change"] < 0.01
    text = str(pc.compare(shaky, steady, names=["shaky", "steady"]))
    assert "wording change (lower is better)" in " ".join(text.split())


def test_free_answers_without_gold_are_tested_by_what_a_comparer_reads():
    texts = ["Paris", "paris.", "It is Paris", "PARIS"]
    rows = [(f"q{b}", f"{b}-{w}", f"{texts[w]} {b}") for b in range(10) for w in range(4)]
    steady = pd.DataFrame(rows, columns=["bucket_id", "example_id", "prediction"])
    shaky = steady.assign(prediction=[f"{p} {i % 4}" if i % 3 else p for i, p in enumerate(steady.prediction)])
    scores = [next(iter(pc.score(each, same="text").sets.values())) for each in (shaky, steady)]
    (pair,) = pc.compare(shaky, steady, names=["shaky", "steady"], same="text").sets[0].pairs
    values = pair.result.values1, pair.result.values2
    assert [each["wording_change"] for each in values] == [each.wording.wording_change for each in scores]


def test_a_margin_without_gold_labels_and_a_gate(command, tmp_path):
    worse, better = answers(1, 0.6, n_problems=60), answers(2, 0.9, n_problems=60)
    for name, frame in {"worse": worse, "better": better}.items():
        frame.drop(columns="label").to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_csv(tmp_path / f"{name}_gold.csv", index=False)
    old, new = tmp_path / "worse.csv", tmp_path / "better.csv"
    pair = command.json("compare", new, old, "--margin", 0.02, "--measure", "wording_change")[0]["pairs"][0]
    test = pair["result"]["margin_test"]
    assert test["verdict"] == "first_not_worse"
    gate = ["gate", "wording_change.not_worse", new, "--against", old, "--margin", 0.02]
    code, out, _ = command(gate)
    assert (code, f"{test['p_not_worse1']:.4f}" in out) == (0, True)
    low, high = test["interval"]
    assert f"the difference is {low:+.4f} to {high:+.4f}, the margin 0.02" in out
    assert command([*gate[:2], old, "--against", new, "--margin", 0.02])[0] == 1
    golden = [tmp_path / "better_gold.csv", "--against", tmp_path / "worse_gold.csv", "--margin", 0.02]
    both = command.out("gate", "wording_change.not_worse and pc.not_worse", *golden)
    assert f"{test['p_not_worse1']:.4f}" in both
    scores = [pc.score(frame) for frame in (better, worse)]
    assert scores[0].gate("wording_change.not_worse", against=scores[1], margin=0.02)
    assert not scores[1].gate("wording_change.not_worse", against=scores[0], margin=0.02)


def test_three_models_without_gold_labels_are_tested_together_and_a_constant_one_is_not_ranked():
    frames = [answers(seed, steady, n_problems=40).drop(columns="label") for seed, steady in enumerate((0.5, 0.98))]
    frames.append(frames[0].assign(prediction="yes"))
    comparison = pc.compare(*frames, names=["shaky", "steady", "constant"], measures=["wording_change"])
    (compared,) = comparison.sets
    assert all(pair.simultaneous_p_value < 0.05 for pair in compared.pairs[:2])
    assert compared.pairs[1].result.values2 == {"wording_change": 0.0}
    assert [row.model for row in compared.ranking.standings] == ["steady", "shaky"]
    assert not compared.standings
    text = " ".join(str(comparison).split())
    assert "constant is not ranked: every prediction is 'yes'" in text
    assert "same answer above chance, 40 problems" in text


def test_a_frame_of_wording_changes_has_a_line_for_each_pair():
    """It knew the measures of the catalogue only."""
    frames = [answers(seed, 0.6).drop(columns="label") for seed in range(3)]
    comparison = pc.compare(*frames, names=["a", "b", "c"], measures=["wording_change"])
    frame, pairs = comparison.to_frame(), comparison.sets[0].pairs
    assert frame.measure.tolist() == ["wording_change"] * 3
    assert frame.difference.tolist() == [pair.result.difference for pair in pairs]
    assert frame.simultaneous_p_value.tolist() == [pair.simultaneous_p_value for pair in pairs]


def test_one_wording_of_each_problem_has_nothing_to_compare():
    alone = answers(0, 0.5).drop(columns="label").groupby("bucket_id").head(1)
    given = [pc.compare, alone, alone.assign(prediction="x")]
    for margin in (None, 0.1):  # without a margin an empty table was printed
        refuses("Without gold labels models are compared on problems with two", *given, names=["a", "b"], margin=margin)
    refuses("problems with two wordings for wording_change", *given, names=["a", "b"], measures=["wording_change"])


def test_of_many_models_the_pairs_of_the_best_one_are_shown(command, tmp_path):
    """Ninety tables were printed for fourteen models."""
    files = []
    for seed in range(7):
        files.append(tmp_path / f"m{seed}.csv")
        answers(seed, 0.99 if seed == 3 else 0.5, n_problems=30).drop(columns="label").to_csv(files[-1], index=False)
    given = ["compare", *files, "--measure", "wording_change", "--n-permutations", 200, "--n-resamples", 200]
    code, out, err = command(given)
    assert (code, out.count(", 30 buckets, 120 wordings"), out.count("m3 (")) == (0, 6, 6)
    assert "6 of 21 pairs are shown, those of the model that is ranked first" in " ".join((out + err).split())
    assert len(command.json(given)[0]["pairs"]) == 21
    page = tmp_path / "page.html"
    command.done("report", *files, "--output", page)
    assert "each model less the one that is ranked first" in page.read_text(encoding="utf-8")


def test_what_is_refused_is_named_as_the_caller_names_it():
    alone = answers(0, 0.5).groupby("bucket_id").head(1)
    refuses("compare: `role` must leave at least one paraphrase", pc.compare, alone, alone.assign(prediction="x"))
    for name, choices in (("correction", "holm, bonf"), ("estimator", "unbiased, plugin")):
        refuses(f"compare: `{name}` must be one of {choices}", pc.compare, alone, alone, **{name: "best"})


def test_one_answer_that_could_not_be_read_is_told_as_one():
    frame = answers(0, 0.5)
    lacking = frame.assign(prediction=[None, *frame.prediction[1:]])
    assert "1 unparsed answer of b" in str(pc.compare(frame, lacking, names=["a", "b"]))


@pytest.mark.parametrize("label", ["label", ""])
def test_a_model_none_of_whose_common_answers_could_be_read_is_not_compared(label, command, tmp_path):
    """It had a wording change of 100 %, a consistency of 100 % and the first rank."""
    files = [tmp_path / f"{name}.csv" for name in ("a", "unread", "c")]
    for seed, file in enumerate(files):
        frame = answers(seed, 0.6, n_problems=20)
        frame.to_csv(file, index=False)
    others = answers(5, 0.6, n_problems=20)
    unread = pd.concat([answers(4, 0.6, n_problems=10).assign(prediction=None), others[others.context > 9].assign(
        bucket_id=lambda rows: "x" + rows.bucket_id, example_id=lambda rows: "x" + rows.example_id)])  # fmt: skip
    unread.to_csv(files[1], index=False)
    given = ["--label", label, "--n-permutations", 100, "--n-resamples", 100]
    (three,) = command.json("compare", *files, *given)
    assert {(pair["first"], pair["second"]) for pair in three["pairs"]} == {("a", "c")}
    assert {*three["ranking"]["steadiness"]} == {"a", "c"}
    assert "could be read" in three["ranking"]["unranked"]["unread"]
    assert "an answer that could be read to a problem" in command.refused("compare", *files[:2], *given)
    gate = ["gate", "wording_change.not_worse", files[1], "--against", files[0], "--margin", 0.1, "--label", label]
    assert "an answer that could be read to a problem" in command.refused(gate)
    ranked = pc.rank(*files, label=label)
    assert "could be read" in ranked.unranked[ranked.model == "unread"].item()


def test_a_page_says_whose_common_answers_could_not_be_read():
    frames = [answers(seed, 0.6, n_problems=12).drop(columns="label") for seed in (0, 4)]
    is_common = frames[1].context < 6
    frames[1] = frames[1].assign(
        prediction=frames[1].prediction.where(~is_common),
        bucket_id=frames[1].bucket_id.where(is_common, "x" + frames[1].bucket_id),
    )
    models = [
        replace(model_from(s.opened, s.sets), name=name) for s, name in zip(map(pc.score, frames), "ab", strict=True)
    ]
    (compared,) = Report(models).compared
    assert (compared.pairs, [*compared.ranking.unranked]) == ([], ["b"])
