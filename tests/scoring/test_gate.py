"""The gate: conditions by hand on results, exit codes and the one line."""

import json
import os
from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.commands import write
from helpers.errors import refuses
from helpers.logs import inspect_log, samples

import paraconsist as pc
from paraconsist.data.predictions import read_predictions
from paraconsist.errors import InputError
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.scoring.gate import check, parse_conditions, warnings_of

PC = {
    "paraphrastic_consistency": 0.9,
    "paraphrastic_consistency_unbiased": 0.8,
    "pvap": None,
    "accuracy": 0.7,
    "n_buckets": 12,
    "confidence_interval": {
        "paraphrastic_consistency": [0.87, 0.93],
        "paraphrastic_consistency_unbiased": [0.76, 0.84],
        "accuracy": [0.6, None],
    },
    "signature": "pc|v:0",
}
SWAP = {"inconsistency": 0.1, "accuracy": 0.9, "confidence_interval": {"inconsistency": [0.05, 0.2]}}
ONE = {"a": {"measures": {"paraphrastic_consistency": PC}, "unparsed_rate": 0.0}}
TWO = ONE | {"b": {"measures": {"symmetric_inconsistency": SWAP, "semantic_inconsistency": SWAP}, "unparsed_rate": 0.5}}


@pytest.mark.parametrize(
    ("condition", "passed"),
    [
        ("pc >= 0.8", [True]),
        ("pc > 0.8", [False]),
        ("pc.low >= 75%", [True]),
        ("pc.low>=0.77", [False]),
        ("pc.high < 0.9 and pc.low > 0.7", [True, True]),
        ("paraphrastic_consistency.paraphrastic_consistency.high <= 0.84", [False]),
        ("paraphrastic_consistency.high <= 0.84", [True]),
        ("pc_published.low > 0.86", [True]),
        ("pc_published <= 0.8", [False]),
        ("accuracy >= 0.7", [True]),
        ("accuracy.high >= 0.0", [False]),  # undefined never passes
        ("pvap <= 1", [False]),
        ("n_buckets >= 12", [True]),
        ("unparsed_rate <= 1e-3", [True]),
    ],
)
def test_one_set(condition, passed):
    assert [one.passed for one in check(parse_conditions(condition), ONE)] == passed


@pytest.mark.parametrize(("condition", "passed"), [("pass_hat_3.low >= .8", False), ("pass_hat_3 >= .85", True)])
def test_numbered_values_have_names(condition, passed):
    keys = {"pass_hat_n": {"1": 0.97, "3": 0.9}, "pass_at_n": {"1": 0.97, "3": 1.0}, "accuracy": 0.97}
    results = {
        "a": {"measures": {"prompt_sensitivity": keys | {"confidence_interval": {"pass_hat_n/3": [0.75, 0.95]}}}}
    }
    (one,) = check(parse_conditions(condition), results)
    assert one.passed == passed
    refuses("pass_hat_1, pass_hat_3", check, parse_conditions("pass_hat_2 > 0"), results)


def test_the_chance_that_three_wordings_are_right_is_that_of_its_definition():
    right = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]])
    scores = pc.score(
        {"bucket_id": np.repeat(range(4), 4), "prediction": right.ravel(), "label": [1] * 16},
        measures=["prompt_sensitivity"],
    )
    assert [one.passed for one in scores.checks("pass_hat_3 >= .5625 and pass_hat_3 <= .5625")] == [True, True]


@pytest.mark.parametrize("n_changed", [9, 17, 29, 41])
def test_a_value_that_is_the_bound_is_neither_above_nor_below_it(n_changed):
    """Of 50 problems in two wordings, n change: 2n % exactly, whatever the rounding of the computation."""
    answers = np.array([[1, int(i >= n_changed)] for i in range(50)])
    scores = pc.score(
        {"bucket_id": np.repeat(range(50), 2), "prediction": answers.ravel(), "label": [1] * 100}, n_resamples=1
    )
    bounds = {"wording_change": 2 * n_changed, "pc": 100 - 2 * n_changed, "vap": n_changed, "accuracy": 100 - n_changed}
    for name, bound in bounds.items():
        for sign, holds in ((">=", True), ("<=", True), (">", False), ("<", False)):
            assert scores.gate(f"{name} {sign} {bound}%", allow_degenerate=True) == holds
            assert scores.gate(f"{name} {sign} {bound / 100:.2f}", allow_degenerate=True) == holds


def test_every_set_that_has_the_quantity():
    found = check(parse_conditions("unparsed_rate < 0.1"), TWO)
    assert [(one.set_name, one.passed) for one in found] == [("a", True), ("b", False)]
    assert [one.set_name for one in check(parse_conditions("symmetric.high < 0.3 and pc > 0"), TWO)] == ["b", "a"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("pc", "QUANTITY >=, <=, > or < NUMBER; got 'pc'"),
        ("", "QUANTITY"),
        ("pc == 1", "QUANTITY"),
        ("pc >= nan", "QUANTITY"),
        ("pc >= 0.5 and", "QUANTITY"),
        ("cp.low >= 0.5", "name a quantity of the results; got 'cp'. Known here: accuracy, "),
        ("acuracy >= 0.5", r"Perhaps accuracy\? Known here: accuracy, "),
        ("P_C >= .75", r"Perhaps pc\? Known here"),
        ("excess_wording_change < 0.1", "It takes inputs that were asked again: a run with `--repeats`, or"),
        ("semantic > 0", "name a quantity .*Give `measure` semantic_inconsistency"),
        ("change.high < .1", "Give `measure` prediction_change"),  # of the command's own help
        ("pass_hat_3.low >= .8", "Give `measure` prompt_sensitivity"),
        ("n_buckets.low > 0", "with an interval"),
        ("signature > 0", "name a number"),
        ("pc >= 75", "write 'pc >= 0.75'"),
        ("pvap < 50", "write 'pvap < 0.5'"),
        ("unparsed_rate <= 1.5", "A share is not above 1"),
    ],
)
def test_bad_conditions(condition, said):
    refuses(said, lambda: check(parse_conditions(condition), ONE))


@pytest.mark.parametrize("measures", [None, ("prompt_sensitivity",)])
def test_more_draws_than_there_are_runs(measures):
    """It said "Give `measure` prompt_sensitivity", also where that was given."""
    runs = {"task": [1, 1, 2, 2], "run": [1, 2] * 2, "success": [True, False, True, True], "calls": [["a"]] * 4}
    scores = pc.score(runs, measures=measures)
    refuses(r"got 'pass_hat_9'. Perhaps pass_hat_2\? Known", lambda: scores.gate("pass_hat_9 > 0"))


def test_whose_key():
    with pytest.raises(InputError, match=r"say whose inconsistency.*symmetric_inconsistency.inconsistency"):
        check(parse_conditions("inconsistency < 1"), TWO)


@pytest.fixture
def predictions(tmp_path):
    path = tmp_path / "mine.csv"
    lines = [f"{i // 4},{i % 2},{int(i % 5 == 0)}" for i in range(40)]
    path.write_text("bucket_id,label,prediction\n" + "\n".join(lines).replace(",0,", ",1,") + "\n")
    assert read_predictions(path).table.num_rows == 40
    return path


def test_flips_in_excess_of_noise_are_judged(command, tmp_path):
    """Answers to every other item turn with the wording, so that half of the pairs differ, or with the repeat."""
    options = ("--bucket", "item", "--variant", "wording", "--trial", "run", "--label", "gold")
    columns = ("item", "wording", "run")
    rows = [dict(zip(columns, of, strict=True)) for of in product(range(30), (0, 1), (0, 1))]
    for name, value in (("wording", 0.5), ("run", -0.25)):
        answered = [row | {"prediction": row["item"] % 2 * (1 - row[name]), "gold": 0} for row in rows]
        path = write(tmp_path / f"{name}.csv", answered)
        code, out, _ = command("gate", "excess_inconsistency <= .1", path, *options)
        assert (code, f"found {value:.4f}" in out) == (int(value > 0), True)


def test_a_model_is_not_compared_with_itself_out_of_one_table(command, tmp_path):
    """It passed, whatever the other model's answers."""
    path = tmp_path / "two.csv"
    rows = product(range(20), ("old", "new"), (0, 1))
    write(path, [{"bucket_id": i, "model": name, "label": 0, "prediction": k * (name == "new")} for i, name, k in rows])
    for itself in (path, "new"):
        given = ["--model", "new", "--against", itself]
        assert "another model" in command.refused("gate", "pc.not_worse", path, *given, "--margin", 0.1)
        assert "another model" in command.refused("plan", path, *given, "--difference", 0.1)
    wide = write(tmp_path / "wide.csv", [{"bucket_id": i // 2, "label": 0, "new": i % 2, "old": 0} for i in range(40)])
    for itself in (wide, "new"):
        given = ["--prediction", "new", "--against", itself, "--margin", 0.1]
        assert "another model" in command.refused("gate", "pc.not_worse", wide, *given)
    given = ["--prediction", "new", "--against", "published:nothing", "--margin", 0.1]
    assert "`--against` must name published predictions" in command.refused("gate", "pc.not_worse", wide, *given)


def test_exit_code_and_one_line(command, predictions, tmp_path):
    code, out, _ = command("gate", "pc >= 0.5", predictions)
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("pass: pc >= 0.5 (found 0.")
    results = tmp_path / "results.json"
    command("score", predictions, "--output", results)
    measured = json.loads(results.read_text())["mine"]["measures"]["paraphrastic_consistency"]
    low = measured["confidence_interval"]["paraphrastic_consistency_unbiased"][0]
    code, out, _ = command("gate", f"pc.low > {low!r}", results)
    assert (code, out.count("\n")) == (1, 1)
    assert out == f"fail: pc.low > {low:g} (found {low:.4f}: mine, pc.low, unbiased)\n"
    assert "name a quantity of the results" in command.refused("gate", "pc.lo >= 0.5", results)
    assert "There are mine." in command.refused("gate", "pc >= 0.5", results, "--set", "yours")


def test_a_run_folder_with_results_older_than_its_predictions_is_scored_anew(command, predictions, tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "predictions").mkdir()
    file = tmp_path / "predictions" / "mine.parquet"
    pq.write_table(read_predictions(predictions).table, file)
    results = tmp_path / "results.json"
    results.write_text(json.dumps(ONE))
    os.utime(file, (1, 1))
    assert "found 0.8000: a, pc" in command("gate", "pc > 0", tmp_path)[1]
    for options in ({"confidence_level": 0.5}, {"unparsed": "own_class"}):  # intervals of another level were judged
        results.write_text(json.dumps({"a": {**ONE["a"], "options": options}}))
        assert ": mine, pc" in command("gate", "pc > 0", tmp_path)[1]
    results.write_text(json.dumps({"a": {**ONE["a"], "options": {"confidence_level": 0.95, "measures": None}}}))
    assert "found 0.8000: a, pc" in command("gate", "pc > 0", tmp_path)[1]
    os.utime(results, (0, 0))
    assert ": mine, pc" in command("gate", "pc > 0", tmp_path)[1]


def test_results_of_a_measure_that_is_not_known_here() -> None:
    results = {"s": {"measures": {"odd": {"odd": 0.5, "n": 3}}}}
    assert [one.passed for one in check(parse_conditions("odd >= 0.4"), results)] == [True]
    refuses("odd", check, parse_conditions("zzz >= 0.1"), results)


# -------------------------------------------------------------------------------- against another model


def steady_and_shaky(tmp_path, flips=(0.05, 0.05, 0.4)):
    """Predictions of 60 buckets of four, the third model's shaky."""
    paths = []
    for i, flip in enumerate(flips):
        rng = np.random.default_rng(i)
        rows = [f"b{b},1,{int(rng.random() > flip)}" for b in range(60) for _ in range(4)]
        paths.append(tmp_path / f"{'abc'[i]}.csv")
        paths[-1].write_text("bucket_id,label,prediction\n" + "\n".join(rows) + "\n")
    return paths


def test_not_worse_than_another_model(command, tmp_path):
    a, b, c = steady_and_shaky(tmp_path)
    out = command.out("gate", "pc.not_worse", a, "--against", c, "--margin", 0.02)
    assert out.startswith("pass: pc.not_worse (found 0.000")
    code, out, _ = command("gate", "pc.not_worse", c, "--against", a, "--margin", 0.02)
    assert code == 1
    assert out.startswith("fail: pc.not_worse (found 1.0000: c, pc.not_worse, p, 0.05 at most, the difference is -0.")
    assert "too few" not in out
    low, high = pc.compare(a, c, margin=0.02).sets[0].pairs[0].result["margin_test"]["interval"]
    out = command.out(
        "gate", "pc.not_worse", a, "--against", c, "--margin", (low + high) / 2
    )  # not worse, perhaps better
    assert "too few" not in out
    # two models alike: not shown within two points by 60 buckets, within 15 points it is
    code, out, _ = command("gate", "pc.equivalent", a, "--against", b, "--margin", 0.02)
    test = pc.compare(a, b, margin=0.02).sets[0].pairs[0].result["margin_test"]
    ends = " to ".join(f"{end:+.4f}" for end in test["interval"])
    assert f"the difference is {ends}, the margin 0.02: too few problems to tell" in out
    assert code == 1
    assert command("gate", "pc.equivalent and pc >= 0.5", a, "--against", b, "--margin", 0.15)[0] == 0
    assert command("gate", "pc.equivalent", a, "--against", c, "--margin", 0.15)[0] == 1
    assert command("gate", "pc.not_worse", a, "--against", a, "--margin", 0.1)[0] == 0


def test_the_other_model_may_be_of_the_same_table(command, tmp_path):
    """By its name, as `--model` or the column of `--prediction` names the first."""
    a, _, c = steady_and_shaky(tmp_path)
    steady, shaky = pd.read_csv(a), pd.read_csv(c)
    pd.concat([steady.assign(model="steady"), shaky.assign(model="shaky")]).to_csv(tmp_path / "long.csv", index=False)
    steady.assign(shaky=shaky.prediction).rename(columns={"prediction": "steady"}).to_csv(tmp_path / "wide.csv")
    for file, choice in (("long", "--model"), ("wide", "--prediction")):
        table = tmp_path / f"{file}.csv"
        for one, other, file_of_one, file_of_other in (("steady", "shaky", a, c), ("shaky", "steady", c, a)):
            code, out, _ = command("gate", "pc.not_worse", table, choice, one, "--against", other, "--margin", 0.02)
            apart = command("gate", "pc.not_worse", file_of_one, "--against", file_of_other, "--margin", 0.02)
            assert (code, out.replace(f"{file}, ", "")) == (apart[0], apart[1].replace(f"{file_of_one.stem}, ", ""))
        planned = command.json("plan", table, choice, "steady", "--against", "shaky", "--difference", 0.1)
        expected = command.json("plan", a, "--against", c, "--difference", 0.1)
        assert planned["against"] == expected["against"] is not None


def test_gate_and_compare_say_the_same(tmp_path):
    a, b, c = map(pc.score, steady_and_shaky(tmp_path))
    for one, other in ((a, b), (b, a), (a, c), (c, a)):
        test = pc.compare(one, other, names=["x", "y"], margin=0.05).sets[0].pairs[0].result["margin_test"]
        (found,) = one.checks("pc.not_worse", against=other, margin=0.05)
        assert found.value == test["p_not_worse1"]
        assert found.passed == (test["verdict"] in ("first_not_worse", "equivalent"))
        assert one.gate("pc.equivalent", against=other, margin=0.05) == (test["verdict"] == "equivalent")


def test_what_a_test_against_another_model_needs(command, tmp_path):
    a, b, _ = steady_and_shaky(tmp_path)
    both = ("--against", b, "--margin", 0.1)
    for condition, options, message in (
        ("pc >= 0.5", ("--margin", 0.1), "`--against` must be given with `--margin`"),
        ("pc >= 0.5", both, "compare with the other model where `--against` is given"),
        ("pc.not_worse", (), "name a measure that both models have, with `--against` and `--margin`"),
        ("pc.not_worse", both[:2], "`--margin` must be given with `--against`"),
        ("pc.not_worse", (*both[:3], 2), "`--margin` must be a share above 0 and below 1"),
        ("semantic.not_worse", both, "name a measure that both models have"),
        ("pc_published.not_worse", both, "name a measure that both models have"),
    ):
        assert message in command.refused("gate", condition, a, *options)


def test_a_set_in_which_there_is_nothing_to_compare_fails(command, tmp_path):
    """P_C of an original and one paraphrase is undefined: such a set was left out, and another one decided alone.

    Where one of the policies leaves only such problems the command ended with a KeyError.
    """
    for model in "ab":
        (tmp_path / model / "predictions").mkdir(parents=True)
        for name, n_short in (("one", 40), ("two", 10)):
            place = pd.DataFrame(
                [(b, k) for b in range(40) for k in range(2 if b < n_short else 3)], columns=["b", "k"]
            )
            frame = pd.DataFrame({"bucket_id": place.b, "role": np.where(place.k > 0, "paraphrase", "original")})
            frame["label"] = place.b % 2
            frame["prediction"] = frame.label.where(place.b % 8 > 0, 1 - frame.label)
            if model == "b" and name == "two":
                frame["prediction"] = frame.prediction.astype("Int64").where((place.b < 10) | (place.k < 2))
            frame.to_parquet(tmp_path / model / "predictions" / f"{name}.parquet")
    both = (tmp_path / "a", "--against", tmp_path / "b", "--margin", 0.3)
    code, out, _ = command("gate", "pc.not_worse", *both)
    assert (code, "found undefined: one, pc.not_worse" in out, "nothing to compare" in out) == (1, True, True)
    assert command("gate", "pc.not_worse", *both, "--set", "two")[0] == 0
    assert command("gate", "wording_change.not_worse", *both)[0] == 0


def test_a_model_that_is_compared_is_read_once(command, tmp_path, monkeypatch):
    import paraconsist.scoring.sources as sources

    a, b, _ = steady_and_shaky(tmp_path)
    names, read = [], sources.read_logs
    monkeypatch.setattr(sources, "read_logs", lambda paths, query: names.extend(paths) or read(paths, query))
    assert command("gate", "pc.not_worse", a, "--against", b, "--margin", 0.2)[0] == 0
    assert names == [a, b]


def test_written_results_follow_no_options(command, predictions, tmp_path):
    command("score", predictions, "--output", tmp_path / "results.json")
    err = command.refused("gate", "pc >= 0", tmp_path / "results.json", "--unparsed", "own_class")
    assert "`--unparsed` must be given with predictions only" in err
    err = command.refused("gate", "pc.not_worse", tmp_path / "results.json", "--against", predictions, "--margin", 0.1)
    assert "must be predictions where `--against` is given" in err


# ------------------------------------------------------------------------- what says nothing of the model


def table_of(answer, n_buckets=40, gold=lambda bucket: "yes" if bucket % 3 else "no"):
    rows = [f"{b},{gold(b)},{answer(b, k)}" for b in range(n_buckets) for k in range(4)]
    return "bucket_id,label,prediction\n" + "\n".join(rows) + "\n"


DEGENERATE = {
    "constant": (lambda b, k: "yes", "every prediction is 'yes'"),
    "nearly constant": (lambda b, k: "no" if b == k == 0 else "yes", "159 of 160 predictions are 'yes'"),
    "labels that never meet": (lambda b, k: "A", "no prediction is any row's gold label"),
    "nearly nothing parsed": (lambda b, k: "no" if b == 0 else "", "156 of 160 predictions are unparsed"),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_consistency_that_says_nothing_fails_with_its_reason(command, tmp_path, case):
    answer, reason = DEGENERATE[case]
    path, results = tmp_path / "mine.csv", tmp_path / "results.json"
    path.write_text(table_of(answer))
    command("score", path, "--output", results)
    for source in (path, results):
        code, out, err = command("gate", "pc.low >= 0.5", source)
        assert (code, out.count("\n")) == (1, 1)
        assert reason in out
        assert f"warning: mine: {reason}" in err
        assert command("gate", "pc.low >= 0.5", source, "--allow-degenerate")[0] == 0
        assert command("gate", "accuracy >= 0 and n_buckets >= 40 and unparsed_rate <= 1", source)[0] == 0
    assert not pc.score(path).gate("pc >= 0.5")
    assert pc.score(path).gate("pc >= 0.5", allow_degenerate=True)


def test_a_constant_model_is_not_shown_to_be_as_good_as_another(command, tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    paths[0].write_text(table_of(lambda b, k: "yes"))
    paths[1].write_text(table_of(lambda b, k: "yes" if (b + k) % 2 else "no"))
    code, out, _ = command("gate", "pc.not_worse", paths[0], "--against", paths[1], "--margin", 0.1)
    assert code == 1
    assert "every prediction is 'yes'" in out


def test_a_model_that_answers_a_lopsided_task_passes(command, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(
        table_of(lambda b, k: "no" if b % 12 == 0 else "yes", 120, lambda b: "no" if b % 12 == 0 else "yes")
    )
    assert command("gate", "pc >= 0.9", path)[0] == 0


@pytest.mark.parametrize(
    ("log", "bucket"), [(inspect_log("yes-no"), "question_id"), (samples("yes_no"), "doc.question_id")], ids=["i", "lm"]
)
def test_a_log_that_score_reads(command, log, bucket):
    """S5."""
    (result,) = json.loads(command("score", log, "--bucket", bucket, "--json")[1]).values()
    found = result["measures"][PARAPHRASTIC.name][PARAPHRASTIC.headline]
    for bound, code in ((found - 0.01, 0), (found + 0.01, 1)):
        ended, out, _ = command("gate", f"pc >= {bound:.4f}", log, "--bucket", bucket, "--allow-degenerate")
        assert (ended, f"(found {found:.4f}: " in out) == (code, True)


def test_problems_below_a_share_of_right_wordings_are_counted(command, tmp_path):
    """Ten problems of five wordings with 0 to 5 right, and one of two with one right: 1/2 is below 4/5 too."""
    n_right = [5, 5, 5, 5, 4, 4, 3, 2, 5, 0]
    rows = [(f"q{b}", int(w < n), 1) for b, n in enumerate(n_right) for w in range(5)]
    rows += [("short", 1, 1), ("short", 0, 1)]
    path = tmp_path / "answers.csv"
    pd.DataFrame(rows, columns=["bucket_id", "prediction", "label"]).to_csv(path, index=False)
    results = pc.score(path).to_dict()
    assert results["answers"]["wording"]["n_by_right"] == {
        **{"0/5": 1, "1/2": 1, "2/5": 1, "3/5": 1, "4/5": 2, "5/5": 5},
    }
    for condition, passed in (
        ("below_4_of_5 <= 4", True),
        ("below_4_of_5 <= 3", False),
        ("below_5_of_5 <= 6 and below_1_of_2 <= 2 and below_6_of_10 <= 3", True),
    ):
        assert command("gate", condition, path)[0] == (0 if passed else 1)
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert command("gate", "below_4_of_5 <= 4", tmp_path / "results.json")[0] == 0
    assert "(found 4: " in command("gate", "below_4_of_5 <= 3", path)[1]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("wording_change <= .1", ["a: of the set"]),
        ("pc.low >= .7", ["a: of the set", "a: of P_C"]),
        ("corrected.pc >= .7", ["a: of the set", "a: of P_C"]),
        ("accuracy >= .7", ["a: of the set", "a: of P_C", "a: of swaps"]),
        ("symmetric_inconsistency.high <= .2 and unparsed_rate <= .1", ["a: of the set", "a: of swaps"]),
    ],
)
def test_warnings_are_of_the_set_and_of_what_is_judged(condition, told):
    measures = {
        "paraphrastic_consistency": {**PC, "warnings": ["of P_C"]},
        "symmetric_inconsistency": {**SWAP, "warnings": ["of swaps"]},
    }
    results = {"a": {"measures": measures, "warnings": ["of the set"]}}
    assert warnings_of(results, parse_conditions(condition)) == told
