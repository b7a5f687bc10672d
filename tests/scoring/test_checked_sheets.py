"""Sheets of answers that people check, through the command line: drawn, marked, and what they correct."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.comparing.comparer import get_comparer
from paraconsist.data.options import SourceOptions
from paraconsist.errors import InputError
from paraconsist.scoring.checked import _order, apart_of, places_of, read_checked, rows_of, sample_units
from paraconsist.scoring.sources import open_source

ANSWERS = ("red", "a deep red", "crimson", "blue", "not red", "red")
#: What people know and `tokens` does not: it takes "not red" for "red", and "crimson" for another answer.
MEANING = {"red": "red", "a deep red": "red", "crimson": "red", "blue": "blue", "not red": "not red"}


def rows(n=60, shift=0):
    """Return four wordings of each problem, whose answers follow no comparer."""
    return [
        {
            "bucket_id": f"b{bucket}",
            "question": f"Question {bucket}, wording {k}?",
            "prediction": ANSWERS[(bucket * (1 + shift) * (k + 1) // 3 + k * (bucket % 5)) % 6],
            "label": "red",
        }
        for bucket in range(n)
        for k in range(4)
    ]


@pytest.fixture
def run(tmp_path):
    """Return a file of answers in free text."""
    pd.DataFrame(rows()).to_csv(tmp_path / "small.csv", index=False)
    return tmp_path / "small.csv"


def lines_of(path: Path):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def mark(path: Path, **marks):
    """Fill in columns of a sheet: column -> what a line gets."""
    lines = [{**line, **{name: of(line) for name, of in marks.items()}} for line in lines_of(path)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return path


def same(line):
    return "yes" if MEANING[line["answer_1"]] == MEANING[line["answer_2"]] else "no"


def right(line):
    return "yes" if MEANING[line["answer"]] == "red" else "no"


def drawn(command, *options, output):
    command.done("sheet", *options, "--same", "tokens", "--output", output)
    return output


def scored(command, *options):
    (result,) = command.json("score", *options, "--same", "tokens").values()
    return result


def people(of):
    """Return what people say: the same answer to two wordings, accuracy, and both right or both wrong, by sums."""
    same_pairs = right_rows = alike = 0
    frame = pd.DataFrame(of)
    for _, bucket in frame.groupby("bucket_id"):
        meanings = [MEANING[answer] for answer in bucket["prediction"]]
        pairs = [(a, b) for i, a in enumerate(meanings) for b in meanings[:i]]
        same_pairs += sum(a == b for a, b in pairs) / len(pairs)
        alike += sum((a == "red") == (b == "red") for a, b in pairs) / len(pairs)
        right_rows += sum(a == "red" for a in meanings) / len(meanings)
    n = frame["bucket_id"].nunique()
    return same_pairs / n, right_rows / n, alike / n


def test_a_sheet_shows_answers_and_no_verdict(command, run, tmp_path):
    first = drawn(command, run, "--n", "50", "--people", "2", output=tmp_path / "a.csv")
    lines = lines_of(first)
    assert len(lines) == 50
    assert list(lines[0])[:6] == ["question_1", "answer_1", "question_2", "answer_2", "same_1", "same_2"]
    assert all(line["question_1"].startswith("Question") and line["same_1"] == "" for line in lines)
    known = {(row["bucket_id"], row["question"]): row["prediction"] for row in rows()}
    assert all(known[line["bucket_id"], line["question_2"]] == line["answer_2"] for line in lines)
    assert sum(float(line["weight"]) for line in lines) == pytest.approx(60 * 6)
    assert len({line["bucket_id"] for line in lines}) > 30  # spread over the problems
    again = drawn(command, run, "--n", "50", "--people", "2", output=tmp_path / "b.csv")
    assert again.read_bytes() == first.read_bytes()
    other = drawn(command, run, "--n", "50", "--people", "2", "--seed", "1", output=tmp_path / "c.csv")
    assert other.read_bytes() != first.read_bytes()


def test_questions_are_those_that_the_run_kept(command, tmp_path):
    questions = [
        {"bucket_id": bucket, "question": f"Question {bucket}{k}?", "expected": "red"}
        for bucket in "abc"
        for k in range(2)
    ]
    pc.run(lambda texts: ["not red"] * len(texts), questions, output=tmp_path / "run", version="1")
    lines = lines_of(drawn(command, tmp_path / "run", "--mark", "right", output=tmp_path / "sheet.csv"))
    assert sorted(line["question"] for line in lines) == sorted(row["question"] for row in questions)
    pd.DataFrame(rows(6)).drop(columns="question").to_csv(tmp_path / "bare.csv", index=False)
    assert {
        line["question_1"] for line in lines_of(drawn(command, tmp_path / "bare.csv", output=tmp_path / "b.csv"))
    } == {""}


def test_a_sheet_of_a_log_has_its_questions(command, tmp_path):
    (log,) = (Path(__file__).parents[1] / "fixtures" / "logs" / "inspect_ai").glob("*_yes-no_*.eval")
    given = ("--bucket", "metadata.question_id", "--prediction", "completion", "--mark", "right")
    lines = lines_of(drawn(command, log, *given, output=tmp_path / "sheet.csv"))
    assert {line["model"] for line in lines} == {"arbitrary/checksum"}
    assert all(line["question"].endswith("?") and line["accepted"] in ('["yes"]', '["no"]') for line in lines)


def test_problems_of_one_wording_are_drawn_as_single_answers(command, tmp_path):
    some = [row for i, row in enumerate(rows(12)) if i % 4 == 0 or i > 23]  # one wording of six problems
    pd.DataFrame(some).to_csv(tmp_path / "some.csv", index=False)
    sheet = drawn(command, tmp_path / "some.csv", "--mark", "right", "--n", "1000", output=tmp_path / "sheet.csv")
    found = scored(command, tmp_path / "some.csv", "--checked", mark(sheet, right=right))["checked"]["rates"]
    assert len(lines_of(sheet)) == 6 + 6 * 12  # an answer with each of its partners
    assert found["accuracy"]["n_labels"] == len(some)


def test_a_pooled_sheet_of_models_that_err_otherwise_is_warned_of(command, run, tmp_path):
    verbose = [{**row, "prediction": {"red": "crimson"}.get(row["prediction"], row["prediction"])} for row in rows()]
    pd.DataFrame(verbose).to_csv(tmp_path / "large.csv", index=False)
    pd.DataFrame(rows(shift=1)).to_csv(tmp_path / "third.csv", index=False)
    files = run, tmp_path / "large.csv"
    sheet = mark(drawn(command, *files, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    found = scored(command, tmp_path / "third.csv", "--checked", sheet)
    assert any("errors differ between the sheet's models" in warning for warning in found["warnings"])


def test_a_whole_sheet_gives_what_people_say(command, run, tmp_path):
    pairs = mark(drawn(command, run, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    answers = drawn(command, run, "--mark", "right", "--n", "1000", output=tmp_path / "answers.csv")
    found = scored(command, run, "--checked", pairs, "--checked", mark(answers, right=right))
    rates = found["checked"]["rates"]
    of_same, of_right, of_alike = people(rows())
    assert rates["same_answer"]["corrected"] == pytest.approx(of_same)
    assert rates["wording_change"]["corrected"] == pytest.approx(1.0 - of_same)
    assert rates["same_answer"]["observed"] == pytest.approx(found["wording"]["same_answer"])
    assert rates["accuracy"]["corrected"] == pytest.approx(of_right)
    measured = found["measures"]["paraphrastic_consistency"]
    assert rates["accuracy"]["observed"] == pytest.approx(measured["accuracy"])
    consistency = rates["paraphrastic_consistency_unbiased"]
    assert consistency["observed"] == pytest.approx(measured["paraphrastic_consistency_unbiased"])
    assert consistency["corrected"] == pytest.approx(of_alike)
    for key in ("vap_unbiased", "pvap_unbiased"):
        assert rates[key]["observed"] == pytest.approx(measured[key])
    assert rates["pvap_unbiased"]["corrected"] == pytest.approx((1 - of_alike) / 2 / (of_right * (1 - of_right)))


@pytest.mark.faults
def test_lines_about_buckets_that_are_left_out_are_passed_over(command, run, tmp_path):
    """They were said to show other answers than the run's."""
    pairs = mark(drawn(command, run, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    (tmp_path / "marked.csv").write_text("bucket_id\nb0\nb7\nb8\n")
    rates = scored(command, run, "--checked", pairs, "--exclude", tmp_path / "marked.csv")["checked"]["rates"]
    kept = [row for row in rows() if row["bucket_id"] not in ("b0", "b7", "b8")]
    assert rates["same_answer"]["corrected"] == pytest.approx(people(kept)[0])
    assert rates["same_answer"]["n_labels"] == 57 * 6


@pytest.mark.faults
def test_corrected_rates_are_compared_on_the_problems_of_both_where_they_share_groups(command, tmp_path):
    """A problem that one model did not answer counted for the other where both answered one of its group."""
    of = {"small": pd.DataFrame(rows()), "large": pd.DataFrame(rows(shift=1)).iloc[40:]}
    for name, frame in of.items():
        frame["group_id"] = frame["bucket_id"].str[1:].astype(int) % 12
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / "small.csv", tmp_path / "large.csv"]
    sheet = mark(drawn(command, *paths, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    given = ("compare", *paths, "--same", "tokens", "--checked", sheet, "--n-permutations", "20")
    (difference,) = command.json(*given)[0]["checked"]
    expected = people(rows()[40:])[0] - people(rows(shift=1)[40:])[0]
    assert difference["difference"] == pytest.approx(expected)
    assert "`--unparsed` must be wrong with" in command.refused(*given, "--unparsed", "own_class")  # as score says it


def test_a_part_of_it_covers_what_people_say(command, run, tmp_path):
    pairs = mark(drawn(command, run, "--n", "120", output=tmp_path / "pairs.csv"), same=same)
    rates = scored(command, run, "--checked", pairs)["checked"]["rates"]
    low, high = rates["same_answer"]["confidence_interval"]["corrected"]
    assert low < people(rows())[0] < high
    assert rates["same_answer"]["n_labels"] == 120
    out = command.out("score", run, "--same", "tokens", "--checked", pairs)
    assert "corrected by answers that people checked" in out
    scores = pc.score(run, same="tokens", checked=[pairs])
    assert scores.sets["small"].checked.rates["same_answer"].corrected == rates["same_answer"]["corrected"]
    assert "corrected by answers that people checked" in scores.report(tmp_path / "page").read_text(encoding="utf-8")


def test_pairs_of_different_problems_are_drawn_beside_the_others(command, run, tmp_path):
    plain = lines_of(drawn(command, run, "--n", "40", output=tmp_path / "plain.csv"))
    lines = lines_of(drawn(command, run, "--n", "40", "--apart", "20", output=tmp_path / "both.csv"))
    apart = [line for line in lines if line["bucket_id"] != line["bucket_id_2"]]
    assert [line["answer_1"] for line in lines if line not in apart] == [line["answer_1"] for line in plain]
    assert len(apart) == 20
    known = {(row["bucket_id"], row["question"]): row["prediction"] for row in rows()}
    assert all(known[line["bucket_id_2"], line["question_2"]] == line["answer_2"] for line in apart)
    n_pairs = sum(float(line["weight"]) for line in apart)
    assert 4_700 < n_pairs <= 5_000  # pairs of one wording with 21 others, but for those of its own problem
    alone = lines_of(drawn(command, run, "--n", "0", "--apart", "20", output=tmp_path / "alone.csv"))
    assert sorted(line["answer_1"] for line in alone) == sorted(line["answer_1"] for line in apart)


def chance(of):
    """Return how often two answers to different problems mean the same, by a loop over all."""
    meanings = [(row["bucket_id"], MEANING[row["prediction"]]) for row in of]
    pairs = [a[1] == b[1] for i, a in enumerate(meanings) for b in meanings[:i] if a[0] != b[0]]
    return sum(pairs) / len(pairs)


def test_consistency_above_chance_is_corrected_by_pairs_of_different_problems(command, run, tmp_path):
    pairs = mark(drawn(command, run, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    without = scored(command, run, "--checked", pairs)["checked"]["rates"]
    assert set(without) == {"same_answer", "wording_change"}
    assert (
        "takes marked pairs of different problems" in command("score", run, "--same", "tokens", "--checked", pairs)[1]
    )
    apart = drawn(command, run, "--n", "0", "--apart", "5000", output=tmp_path / "apart.csv")
    given = ("--checked", pairs, "--checked", mark(apart, same=same))
    found = scored(command, run, *given)
    rates = found["checked"]["rates"]
    assert rates["same_answer"] == without["same_answer"]
    by_chance = chance(rows())
    assert rates["chance"]["corrected"] == pytest.approx(by_chance, abs=0.02)  # of 4,900 pairs of 28,320
    expected = (people(rows())[0] - rates["chance"]["corrected"]) / (1 - rates["chance"]["corrected"])
    assert rates["above_chance"]["corrected"] == pytest.approx(expected)
    low, high = rates["above_chance"]["confidence_interval"]["corrected"]
    assert low < (people(rows())[0] - by_chance) / (1 - by_chance) < high
    assert rates["above_chance"]["observed"] == pytest.approx(found["wording"]["above_chance"])
    for value, code in ((low - 1e-6, 0), (low + 1e-6, 1)):
        assert command("gate", f"corrected.above_chance.low >= {value}", run, "--same", "tokens", *given)[0] == code
    shown = command("score", run, "--same", "tokens", *given)[1]
    assert "the same answer to different problems" in shown
    assert "takes marked pairs" not in shown


def test_a_transitive_comparer_has_its_own_chance(command, run, tmp_path):
    sheet, given = tmp_path / "pairs.csv", (run, "--same", "text")
    assert command("sheet", *given, "--apart", "60", "--n", "100", "--output", sheet)[0] == 0
    (found,) = command.json("score", *given, "--checked", mark(sheet, same=same)).values()
    rates = found["checked"]["rates"]
    assert rates["chance"]["observed"] == pytest.approx(found["wording"]["chance"], abs=0.01)
    assert rates["chance"]["n_labels"] == 60
    assert not rates["above_chance"]["refused"]


def test_what_pairs_of_different_problems_cannot_carry_is_refused(command, run, tmp_path):
    sheet = drawn(command, run, "--n", "120", "--apart", "12", output=tmp_path / "pairs.csv")
    found = scored(command, run, "--checked", mark(sheet, same=same))
    rates = found["checked"]["rates"]
    assert rates["above_chance"]["corrected"] is None
    assert rates["same_answer"]["corrected"] is not None
    assert any("above_chance is not corrected" in warning and "are needed" in warning for warning in found["warnings"])
    lines = lines_of(sheet)
    other = next(i for i, line in enumerate(lines) if line["bucket_id"] != line["bucket_id_2"])
    renamed = {**lines[other], "bucket_id_2": "b999"}
    mark(sheet, bucket_id_2=lambda line: renamed["bucket_id_2"] if line == lines[other] else line["bucket_id_2"])
    assert "show the answers of this run" in command.refused("score", run, "--same", "tokens", "--checked", sheet)
    for options, message in (
        (("--mark", "right", "--apart", "5"), "pairs of answers only"),
        (("--n", "0"), "`--n` must be above 0 without `--apart`"),
    ):
        assert message in command.refused("sheet", run, "--same", "tokens", *options, "--output", tmp_path / "none.csv")


def test_a_comparer_that_asks_a_model_for_every_pair_has_no_pairs_of_different_problems(run, monkeypatch):
    source = open_source(run, SourceOptions(same="tokens"), function="sheet").sets["small"]
    costly = replace(get_comparer("tokens"), is_cheap=False)
    monkeypatch.setattr("paraconsist.scoring.checked.get_comparer", lambda _: costly)
    with pytest.raises(InputError, match="asks a model for every pair"):
        apart_of(source, rows_of(source))


def test_other_commands_read_the_pairs_of_problems_alone(command, run, tmp_path):
    pd.DataFrame(rows(shift=1)).to_csv(tmp_path / "large.csv", index=False)
    files, found = (run, tmp_path / "large.csv"), []
    for name, more in (("a.csv", ()), ("b.csv", ("--apart", "40"))):
        sheet = mark(drawn(command, *files, "--n", "200", *more, output=tmp_path / name), same=same)
        given = ("--same", "tokens", "--checked", sheet, "--json")
        few = ("--n-permutations", "200", "--n-resamples", "200")
        compared = json.loads(command("compare", *files, *given, *few)[1])
        found.append((compared[0]["checked"], json.loads(command("plan", run, *given)[1])))
    assert found[0] == found[1]
    # by the errors on another model's answers to one problem alone
    sheet = mark(drawn(command, run, "--n", "200", "--apart", "40", output=tmp_path / "c.csv"), same=same)
    rates = scored(command, tmp_path / "large.csv", "--checked", sheet)["checked"]["rates"]
    assert set(rates) == {"same_answer", "wording_change"}
    assert rates["same_answer"]["method"] == "rogan_gladen"


def test_contexts_that_problems_share_are_kept_apart(command, tmp_path):
    frame = pd.DataFrame(rows(20))
    frame["group_id"] = frame["bucket_id"].str[1:].astype(int) // 2
    frame.to_csv(tmp_path / "run.csv", index=False)
    lines = lines_of(drawn(command, tmp_path / "run.csv", "--n", "0", "--apart", "500", output=tmp_path / "s.csv"))
    assert all(int(line["bucket_id"][1:]) // 2 != int(line["bucket_id_2"][1:]) // 2 for line in lines)


def test_agreement_of_two_people_is_shown(command, run, tmp_path):
    sheet = drawn(command, run, "--n", "60", "--people", "2", output=tmp_path / "pairs.csv")
    mark(sheet, same_1=same, same_2=lambda line: "no" if line["pair"] in ("1", "2", "3") else same(line))
    agreement = scored(command, run, "--checked", sheet)["checked"]["agreement"]["same"]
    assert agreement["n_labels"] == 60
    changed = sum(same(line) == "yes" for line in lines_of(sheet)[:3])
    assert agreement["share"] == pytest.approx(1 - changed / 60)
    assert 0.8 < agreement["kappa"] <= 1.0


def test_a_sheet_of_another_model_corrects_by_its_errors(command, run, tmp_path):
    pd.DataFrame(rows(shift=1)).to_csv(tmp_path / "large.csv", index=False)
    sheet = mark(drawn(command, run, "--n", "1000", output=tmp_path / "pairs.csv"), same=same)
    found = scored(command, tmp_path / "large.csv", "--checked", sheet)
    rate, errors = (
        found["checked"]["rates"]["same_answer"],
        scored(command, run, "--checked", sheet)["checked"]["rates"],
    )
    assert rate["method"] == "rogan_gladen"
    sensitivity, false = (errors["same_answer"][name] for name in ("sensitivity", "false_match_rate"))
    assert (rate["sensitivity"], rate["false_match_rate"]) == pytest.approx((sensitivity, false))
    assert rate["corrected"] == pytest.approx((rate["observed"] - false) / (sensitivity - false))
    assert any("no answers of this model" in warning for warning in found["warnings"])


@pytest.mark.faults
def test_a_model_with_a_column_of_its_own_is_found_in_the_sheet(command, tmp_path):
    """It was corrected by its own and the other model's errors, as one that the sheet has not."""
    frame = pd.DataFrame(rows()).rename(columns={"prediction": "small"})
    frame["large"] = pd.DataFrame(rows(shift=1))["prediction"]
    frame.to_csv(tmp_path / "wide.csv", index=False)
    sheet = drawn(command, tmp_path / "wide.csv", "--prediction", "small,large", output=tmp_path / "pairs.csv")
    found = scored(command, tmp_path / "wide.csv", "--prediction", "large", "--checked", mark(sheet, same=same))
    assert found["checked"]["rates"]["same_answer"]["method"] == "prediction_powered"


def test_models_are_compared_by_corrected_rates(command, run, tmp_path):
    pd.DataFrame(rows(shift=1)).to_csv(tmp_path / "large.csv", index=False)
    sheet = drawn(command, run, tmp_path / "large.csv", "--n", "1000", output=tmp_path / "pairs.csv")
    assert {line["model"] for line in lines_of(sheet)} == {"small", "large"}
    given = ("compare", run, tmp_path / "large.csv", "--same", "tokens", "--checked", mark(sheet, same=same))
    given += ("--n-permutations", "200", "--n-resamples", "200")
    out = command.out(*given, "--json")
    (difference,) = json.loads(out)[0]["checked"]
    assert (difference["first"], difference["second"], difference["rate"]) == ("small", "large", "same_answer")
    assert difference["difference"] == pytest.approx(people(rows())[0] - people(rows(shift=1))[0])
    assert "differences of corrected rates" in command(*given)[1]
    apart = drawn(command, run, tmp_path / "large.csv", "--n", "0", "--apart", "400", output=tmp_path / "apart.csv")
    given += ("--checked", mark(apart, same=same))
    differences = {each["rate"]: each for each in command.json(*given)[0]["checked"]}
    sheets = [*given[5:7], *given[-2:]]
    small, large = (scored(command, path, *sheets)["checked"]["rates"] for path in (run, tmp_path / "large.csv"))
    expected = small["above_chance"]["corrected"] - large["above_chance"]["corrected"]
    assert differences["above_chance"]["difference"] == pytest.approx(expected)
    assert differences["same_answer"] == difference
    assert "above chance" in command(*given)[1]


def test_models_are_compared_by_the_corrected_variance_that_wordings_cause(command, run, tmp_path):
    of = {"small": rows(), "large": rows(80, shift=8)}  # of which 60 problems are common
    pd.DataFrame(of["large"]).to_csv(tmp_path / "large.csv", index=False)
    files = (run, tmp_path / "large.csv")
    sheet = drawn(command, *files, "--mark", "right", "--n", "4000", output=tmp_path / "answers.csv")
    given = ("compare", *files, "--same", "tokens", "--checked", mark(sheet, right=right))
    given += ("--n-permutations", "200", "--n-resamples", "200")
    differences = {each["rate"]: each for each in command.json(*given)[0]["checked"]}
    common = [people([row for row in each if int(row["bucket_id"][1:]) < 60])[1:] for each in of.values()]
    vap, pvap = ([size(*each) for each in common] for size in (lambda _, p: (1 - p) / 2, pvap_of))
    assert differences["vap_unbiased"]["difference"] == pytest.approx(vap[0] - vap[1])
    assert differences["pvap_unbiased"]["difference"] == pytest.approx(pvap[0] - pvap[1])
    alike = differences["paraphrastic_consistency_unbiased"]["confidence_interval"]
    assert differences["vap_unbiased"]["confidence_interval"] == pytest.approx([-end / 2 for end in alike[::-1]])
    low, high = differences["pvap_unbiased"]["confidence_interval"]
    assert low < pvap[0] - pvap[1] < high
    assert "PVAP" in command(*given)[1]


def pvap_of(accuracy, alike):
    return (1 - alike) / 2 / (accuracy * (1 - accuracy))


def test_corrected_rates_can_be_gated(command, run, tmp_path):
    marks = {"same": same, "right": right}
    sheets = [
        mark(drawn(command, run, "--mark", name, "--n", "1000", output=tmp_path / f"{name}.csv"), **{name: of})
        for name, of in marks.items()
    ]
    given = [word for sheet in sheets for word in ("--checked", sheet)]
    rates = scored(command, run, *given)["checked"]["rates"]
    keys = {"same_answer": "same_answer", "accuracy": "accuracy", "pc": "paraphrastic_consistency_unbiased"}
    for name, key in {**keys, "vap": "vap_unbiased"}.items():
        corrected, low = rates[key]["corrected"], rates[key]["confidence_interval"]["corrected"][0]
        for quantity, value in ((f"corrected.{name}", corrected), (f"corrected.{name}.low", low)):
            for bar, code in ((value - 1e-6, 0), (value + 1e-6, 1)):
                found = command("gate", f"{quantity} >= {bar}", run, "--same", "tokens", *given)
                assert found[0] == code, (quantity, found)
    command.refused("gate", "corrected.pc_published >= 0.1", run, "--same", "tokens", *given)  # a plug-in estimate
    assert "must name a quantity of the results" in command.refused(
        "gate", "corrected.same_answer >= 0.1", run, "--same", "tokens"
    )


def test_labels_are_planned_against_problems(command, run, tmp_path):
    pairs = mark(drawn(command, run, "--n", "120", output=tmp_path / "pairs.csv"), same=same)
    given = ("plan", run, "--same", "tokens", "--checked", pairs)
    out = command.out(*given, "--half-width", "0.05", "--label-cost", "5", "--json")
    plan = json.loads(out)["same_answer"]
    rate = scored(command, run, "--checked", pairs)["checked"]["rates"]["same_answer"]
    assert plan["value"] == pytest.approx(rate["corrected"])
    assert plan["half_width"] == pytest.approx(plan["quantile"] * rate["standard_error"]["corrected"])
    assert (plan["n_labels"], plan["n_problems"], plan["units_per_problem"]) == (120, 60, 6)
    cheapest = plan["cheapest"]
    labels, problems = cheapest["n_labels"], cheapest["n_problems"]
    variance = plan["label_variance"] / labels + plan["problem_variance"] / problems
    assert plan["quantile"] * variance**0.5 <= 0.05
    assert cheapest["cost"] == 5 * labels + (1 + 4) * problems  # a problem, and an answer to each of its four wordings
    out = command.out(*given, "--half-width", "0.05", "--label-cost", "5")
    assert f"{labels:,} labels and {problems:,} buckets" in out
    assert re.search("60 buckets +120 buckets +240 buckets", out)
    frame = pd.read_csv(run)
    frame.assign(group_id=frame["bucket_id"]).to_csv(run, index=False)  # as in runs: each problem is its own context
    assert re.search("60 buckets +120 buckets +240 buckets", command.out(*given))
    for options, sentence in (
        (("--half-width", "0"), "`--half-width` must lie"),
        (("--half-width", "0.05", "--bucket-cost", "0", "--paraphrase-cost", "0"), "`--bucket-cost` must be above 0"),
    ):
        assert sentence in command.refused(*given, *options)
    for option, value in (
        ("--budget", "0.5"),
        ("--difference", "0.5"),
        ("--measure", "accuracy"),
        ("--max-contexts", "5"),
    ):
        assert f"`{option}` must not be given with `--checked`" in command.refused(*given, option, value)


def test_contexts_are_planned_where_problems_share_them(command, tmp_path):
    frame = pd.DataFrame(rows())
    frame["group_id"] = frame["bucket_id"].str[1:].astype(int) // 2
    frame.to_csv(tmp_path / "run.csv", index=False)
    pairs = mark(drawn(command, tmp_path / "run.csv", "--n", "120", output=tmp_path / "pairs.csv"), same=same)
    given = ("plan", tmp_path / "run.csv", "--same", "tokens", "--checked", pairs, "--half-width", "0.05")
    plan = json.loads(command(*given, "--json")[1])["same_answer"]
    assert (plan["n_problems"], plan["units_per_problem"]) == (30, 12)
    labels, contexts = plan["cheapest"]["n_labels"], plan["cheapest"]["n_problems"]
    assert plan["cheapest"]["cost"] == labels + contexts * (2 + 8)  # two problems, of four answers each
    assert f"{contexts:,} contexts" in command(*given)[1]


def test_no_plan_without_labels_of_the_pilot(command, run, tmp_path):
    pd.DataFrame(rows(shift=1)).to_csv(tmp_path / "large.csv", index=False)
    pairs = mark(drawn(command, run, "--n", "120", output=tmp_path / "pairs.csv"), same=same)
    assert "same_answer: the sheet has no label of these answers" in command.refused(
        "plan", tmp_path / "large.csv", "--same", "tokens", "--checked", pairs
    )


def test_what_labels_cannot_carry_is_refused_in_a_warning(command, run, tmp_path):
    sheet = drawn(command, run, "--n", "60", output=tmp_path / "pairs.csv")
    mark(sheet, same=lambda line: same(line) if int(line["pair"]) < 9 else "")
    found = scored(command, run, "--checked", sheet)
    assert found["checked"]["rates"]["same_answer"]["corrected"] is None
    assert any("same_answer is not corrected" in warning and "are needed" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer_1": lambda _: "another"}, "show the answers of this run"),
        ({"same": lambda _: "perhaps"}, "have yes, no or nothing"),
        ({"weight": lambda _: "heavy"}, "all else as it was written"),
    ],
)
def test_a_changed_sheet_is_refused(command, run, tmp_path, change, message):
    sheet = mark(drawn(command, run, "--n", "40", output=tmp_path / "pairs.csv"), **{"same": same, **change})
    assert message in command.refused("score", run, "--same", "tokens", "--checked", sheet)


def test_a_sheet_of_other_problems_with_the_same_answers_is_refused(command, tmp_path):
    run, frame = tmp_path / "alike.csv", pd.DataFrame(rows(20)).assign(prediction="red")
    frame.to_csv(run, index=False)
    sheet = mark(drawn(command, run, "--n", "40", output=tmp_path / "pairs.csv"), same=same)
    frame.assign(bucket_id="c" + frame["bucket_id"]).to_csv(run, index=False)
    assert "show the answers of this run" in command.refused("score", run, "--same", "tokens", "--checked", sheet)


def test_no_sheet_of_labels_and_no_table_as_a_sheet(command, run, tmp_path):
    assert "labels need no checking" in command.refused("sheet", run, "--output", tmp_path / "s.csv")
    with pytest.raises(InputError, match="have the columns"):
        read_checked([run])


def test_a_sheet_is_not_replaced_nor_read_where_it_says_nothing(command, run, tmp_path):
    sheet, given = tmp_path / "pairs.csv", (run, "--same", "tokens")
    unmarked = drawn(command, run, "--n", "40", output=sheet)
    nobody = "`--checked` must have yes or no in at least one row; got 0. Nobody has filled in the column same or right"
    assert nobody in command.refused("score", *given, "--checked", unmarked)
    mark(sheet, same=same)
    assert "not be there already" in command.refused("sheet", *given, "--output", sheet)
    assert "--unparsed" in command.refused("score", *given, "--checked", sheet, "--unparsed", "own_class")
    pd.DataFrame(rows()).drop(columns="label").to_csv(run, index=False)
    unknown = command.refused("sheet", *given, "--mark", "right", "--output", tmp_path / "s.csv")
    assert "accepted answers" in unknown


@pytest.mark.real_data
def test_people_on_natural_questions(command, tmp_path, data_folder):
    """EVOUNA, GPT-4: people find 78.8 % of the answers right, `tokens` 63.2 %."""
    frame = pd.read_parquet(data_folder / "free_text" / "evouna_nq.parquet")
    frame = frame[(frame["system"] == "gpt4") & ~frame["improper"]]
    truth = dict(zip(frame["item"].astype(str), frame["correct"], strict=True))
    accepted = [json.dumps([text for text in golden.split("/") if text.strip()]) for golden in frame["golden"]]
    table = {
        "bucket_id": frame["item"],
        "question": frame["question"],
        "prediction": frame["answer"],
        "label": accepted,
    }
    pd.DataFrame(table).to_csv(tmp_path / "gpt4.csv", index=False)
    sheet = drawn(command, tmp_path / "gpt4.csv", "--mark", "right", output=tmp_path / "sheet.csv")
    mark(sheet, right=lambda line: "yes" if truth[line["bucket_id"]] else "no")
    rate = scored(command, tmp_path / "gpt4.csv", "--checked", sheet)["checked"]["rates"]["accuracy"]
    low, high = rate["confidence_interval"]["corrected"]
    assert (rate["n_units"], rate["n_labels"]) == (3020, 200)
    assert low < 2381 / 3020 < high
    assert high - low < 0.09  # labels alone: .113
    assert rate["confidence_interval"]["observed"][1] < 0.66


def test_a_run_that_stopped_on_a_condition_is_not_corrected(command, tmp_path):
    questions = [{key: row[key] for key in ("bucket_id", "question")} for row in rows()]

    def model(texts):
        return [ANSWERS[len(text) * 7 % 6] for text in texts]

    done = pc.run(model, questions, output=tmp_path / "run", version="1", until="wording_change ± 0.2")
    sheet = mark(drawn(command, done.folder, "--n", "20", output=tmp_path / "sheet.csv"), same=lambda line: "yes")
    with pytest.raises(InputError, match="`checked` must not be given for a run that was asked until"):
        pc.score(done.folder, same="tokens", checked=[sheet])


@pytest.mark.parametrize(
    ("sizes", "n", "expected"), [((90, 10), 21, (15, 6)), ((97, 3), 20, (17, 3)), ((5, 5), 99, (5, 5))]
)
def test_half_of_the_units_of_a_sheet_are_drawn_in_proportion_and_half_equally(sizes, n, expected):
    """Shares .5 x .9 + .5 / 2 and .5 x .1 + .5 / 2; what a stratum lacks is drawn from the other."""
    strata, order = np.repeat([0, 1], sizes), np.random.default_rng(0).random(sum(sizes))
    members = [sorted(np.flatnonzero(strata == i), key=order.__getitem__)[:k] for i, k in enumerate(expected)]
    weighted = [(unit, sizes[i] / expected[i]) for i in (0, 1) for unit in members[i]]
    assert sample_units(strata, order, n) == weighted


def test_places_count_within_each_bucket():
    assert places_of(np.array(["b", "a", "b", "b", "a"])).tolist() == [0, 0, 1, 2, 1]


def test_units_of_a_bucket_lie_evenly_apart():
    order = _order(np.repeat([f"b{i}" for i in range(500)], 4), seed=0).reshape(500, 4)
    assert ((order >= 0.0) & (order < 1.0)).all()
    assert np.diff(np.sort(order, axis=1), axis=1) == pytest.approx(0.25)
    assert order[:, 0].mean() == pytest.approx(0.5, abs=0.05)
