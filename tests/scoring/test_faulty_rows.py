"""Rows that are not what they seem: copies, swapped columns, free text that looks like renamed labels."""

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.scoring.sources import open_source

pytestmark = pytest.mark.faults


@pytest.fixture
def answers():
    """60 problems in four wordings, of which some are answered wrong."""
    rng = np.random.default_rng(0)
    rows = [(b, f"{b}-{k}", ["no", "yes"][int(rng.random() < 0.7)], "yes") for b in range(60) for k in range(4)]
    return pd.DataFrame(rows, columns=["bucket_id", "wording", "prediction", "label"])


def warnings_of(frame, **options):
    (scored,) = pc.score(frame, **options).sets.values()
    return " ".join(scored.warnings)


def test_rows_with_one_id_are_refused(answers, command, tmp_path):
    twice = pd.concat([answers, answers])
    with pytest.raises(pc.InputError) as refused:
        pc.score(twice, example="wording")
    assert (refused.value.parameter, "trial" in refused.value.remedy) == ("example", True)
    with pytest.raises(pc.InputError) as refused:
        pc.score(twice.rename(columns={"wording": "example_id"}))
    assert refused.value.parameter == "example"
    twice.to_csv(tmp_path / "twice.csv", index=False)
    assert "--trial" in command.refused("score", tmp_path / "twice.csv", "--example", "wording")
    trials = twice.assign(trial=np.repeat([0, 1], len(answers)))
    assert len(next(iter(pc.score(trials, example="wording", trial="trial").sets.values())).rows) == len(answers)


@pytest.mark.parametrize("has_texts", [True, False])
def test_equal_rows_without_an_id_are_counted(answers, has_texts):
    frame = answers if has_texts else answers.drop(columns="wording")
    assert "240 of 480 rows equal another" in warnings_of(pd.concat([frame, frame]))
    assert "equal another" not in warnings_of(frame)


@pytest.mark.faults
def test_equal_answers_in_a_table_with_columns_of_its_problems_are_no_copies():
    """A topic, or an accepted answer that no option names, tells no wording from another; both were called copies."""
    frame = pd.DataFrame([(f"q{i}", w if i % 3 else "yes", f"t{i}") for i in range(20) for w in ("yes", "no", "no")])
    frame.columns = ["bucket_id", "prediction", "topic"]
    assert "equal another" not in warnings_of(frame)
    assert "60 of 120 rows equal another" in warnings_of(pd.concat([frame, frame]))


@pytest.mark.faults
@pytest.mark.parametrize("text", ["question", "prompt", "input_id"])
def test_a_text_that_a_bucket_has_twice_is_warned_of_where_rows_have_ids(text: str) -> None:
    """A set given twice: a run answers each text once, so copies agree, and 30 problems that change became 20."""
    frame = pd.DataFrame(
        {
            "bucket_id": [str(i // 2) for i in range(60)] * 2,
            "example_id": range(120),
            text: [f"What is {i}?" for i in range(60)] * 2,
            "prediction": [["yes", "no"][i % 2] for i in range(60)] * 2,
            "label": "yes",
        }
    )
    warning = "60 of 120 rows ask what another row of their bucket asks"
    assert warning in warnings_of(frame)
    assert warning not in warnings_of(frame[:60])
    assert warning not in warnings_of(frame.assign(example_id=frame[text], trial=[0] * 60 + [1] * 60), trial="trial")
    original = frame[60::2].assign(role="original")
    assert warning not in warnings_of(pd.concat([original, frame[:60].assign(role="paraphrase")]))
    by_text = frame.drop(columns="bucket_id").assign(question=frame.bucket_id)
    assert warning not in warnings_of(by_text.drop(columns=[text] * (text != "question")), bucket="question")
    assert warning not in warnings_of(frame.assign(template=[0] * 60 + [1] * 60), variant="template")


def test_a_text_that_all_rows_of_a_bucket_share_is_the_problem_not_a_wording():
    """Beside an original, `question` was taken for the wording: 80 of 120 rows were called copies."""
    roles = ["original", "paraphrase", "paraphrase"] * 40
    frame = pd.DataFrame({"bucket_id": [i // 3 for i in range(120)], "role": roles, "prediction": 0, "label": 0})
    assert "ask what another" not in warnings_of(frame.assign(question="Why " + frame.bucket_id.astype(str)))


def test_swapped_columns_are_guessed(answers):
    with pytest.raises(pc.InputError, match="swapped") as refused:
        pc.score(answers, prediction="label", label="prediction")
    assert refused.value.parameter == "label"


@pytest.mark.parametrize(("n", "message"), [(10, "are the columns of `prediction` and this swapped"), (9, "")])
def test_from_ten_rows_on_columns_may_be_swapped(n, message):
    with pytest.raises(pc.InputError) as refused:
        pc.score({"bucket_id": [0, 0, 0, *range(1, n - 2)], "prediction": [1] * n, "label": [1, 0, 1] + [1] * (n - 3)})
    assert ("swapped" in str(refused.value)) == bool(message)
    assert message in str(refused.value)


def test_free_text_is_no_renamed_label():
    """Of each city that is answered in words another one is right: nobody renamed a label."""
    cities = ["Paris", "Rome", "Berlin", "Madrid", "Oslo"]
    renamed = dict(zip(cities, cities[1:] + cities[:1], strict=True))
    wrong = {city: f"the answer is {other.lower()}" for city, other in renamed.items()}
    rows = [
        (b, cities[b % 5] if (b + k) % 3 == 0 else wrong[cities[b % 5]], cities[b % 5])
        for b in range(60)
        for k in range(3)
    ]
    frame = pd.DataFrame(rows, columns=["bucket_id", "prediction", "label"])
    assert "renamed" not in warnings_of(frame)
    assert "renamed" in warnings_of(frame.assign(prediction=frame.label.map(renamed)))


def test_the_least_consistency_is_that_of_the_published_estimator(command, tmp_path):
    """Two coin flips a problem: the unbiased P_C lies below what the published one can be."""
    path, page = tmp_path / "answers.csv", tmp_path / "page.html"
    rows = [(b, (b + k) % 2 if b % 3 else 1, 1) for b in range(45) for k in range(2)]
    pd.DataFrame(rows, columns=["bucket_id", "prediction", "label"]).to_csv(path, index=False)
    measured = next(iter(pc.score(path).sets.values())).measures["paraphrastic_consistency"]
    assert measured.paraphrastic_consistency_unbiased < measured.min_paraphrastic_consistency
    assert measured.paraphrastic_consistency >= measured.min_paraphrastic_consistency
    assert "least P_C as published at this accuracy" in command("score", path)[1]
    assert command("report", path, "--output", page)[0] == 0
    assert "as published below 1" in page.read_text(encoding="utf-8")


def test_a_share_above_all_of_the_variance_is_explained():
    rows = [(b, k == b % 2, 1) for b in range(40) for k in range(2)]
    frame = pd.DataFrame(rows, columns=["bucket_id", "prediction", "label"])
    (scored,) = pc.score(frame).sets.values()
    assert scored.measures["paraphrastic_consistency"]["pvap_unbiased"] > 1
    assert "above 100 %" in " ".join(scored.warnings)


def test_a_row_is_no_mapping_of_columns():
    """The letters of its texts were taken for rows."""
    row = {"bucket_id": "abcd", "prediction": "0011", "label": "0000"}
    with pytest.raises(pc.InputError, match="Rows are given in a list"):
        pc.score(row)
    assert pc.score([row, row]).sets["predictions"].wording.n_wordings == 2


@pytest.mark.faults
def test_ids_that_are_numbered_anew_in_each_bucket_are_its_rows(command, tmp_path):
    """Such a file was "two models' logs, or two runs"; its texts, by such ids, would be those of other problems."""
    rng = np.random.default_rng(0)
    rows = [{"bucket_id": f"q{b}", "example_id": w, "label": "yes"} for b in range(12) for w in range(3)]
    files = []
    for name in ("a", "b"):
        table = pd.DataFrame(rows).assign(prediction=rng.choice(["yes", "no"], len(rows)))
        files.append(tmp_path / f"{name}.csv")
        table.sample(frac=1.0, random_state=len(files)).to_csv(files[-1], index=False)
        unique = table.assign(example_id=[f"{row['bucket_id']}/{row['example_id']}" for row in rows])
        unique.to_csv(tmp_path / f"unique-{name}.csv", index=False)
    values = [command.json("compare", *names)[0]["pairs"][0]["result"]["p_value"]
              for names in (files, [tmp_path / "unique-a.csv", tmp_path / "unique-b.csv"])]  # fmt: skip
    assert values[0] == values[1]
    (source,) = open_source(files[0]).sets.values()
    assert sorted(source.predictions.table["example_id"].to_pylist())[:2] == ["q0/0", "q0/1"]
    command.out("report", *files, "--output", tmp_path / "page.html")
    assert "q11/2" in (tmp_path / "page.html").read_text()


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("marks", ["kind == 'original'", "kind == original", "kind == 'orig'", "kind==orig"])
def test_a_comparison_that_marks_no_original_is_told(answers, marks, command, tmp_path):
    """All rows were paraphrases, without a word; and a shell takes the quotation marks away."""
    answers.assign(kind=["orig", "b", "c", "d"] * 60).to_csv(tmp_path / "a.csv", index=False)
    told = command("score", tmp_path / "a.csv", "--original", marks)
    assert told[0] == 0
    assert (f"warning: no row is an original by {marks}" in told[2]) is ("original" in marks)
    assert ("A_O" in told[1]) is ("original" not in marks)
