"""Training rows inside the test set, by hand; and the alarms that `score` gives of its own accord."""

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from helpers.score_roles import result_of, scored

import paraconsist as pc
from paraconsist.data.predictions import Predictions
from paraconsist.data.tasks import input_id
from paraconsist.errors import InputError
from paraconsist.scoring.alarms import training_overlap

TEXTS = [("It rains.", "It is wet."), ("It rains.", "It is dry."), ("A dog barks.", "There is a noise.")]
ROLES = ["original", "paraphrase", "paraphrase"]


def run_file() -> Predictions:
    ids = [input_id("nli", {"premise": p, "hypothesis": h}) for p, h in TEXTS]
    table = pa.table({"input_id": ids, "role": ROLES, "bucket_id": ["a", "a", "b"], "label": [0, 0, 0]})
    return Predictions(table, {"task": "nli", "set": "x:y"})


def foreign_file() -> Predictions:
    return Predictions(
        pa.table({"q": [p for p, _ in TEXTS], "h": [h for _, h in TEXTS], "label": ["yes no", "b", "c"]})
    )


def test_a_run_is_compared_by_the_hash_of_its_inputs():
    training = pa.table({"premise": ["It rains.", "A dog barks."], "hypothesis": ["It is wet.", "It is wet."]})
    found = training_overlap(run_file(), training)
    assert (found.n_shared, found.n_rows, found.by_role) == (1, 3, {"original": 1})
    assert found.columns == ("premise", "hypothesis")
    assert found.warnings() == [
        "1 of 3 rows stand in the training file, word for word (1 with role original; compared: premise, hypothesis): "
        "the model may remember them"
    ]


def test_files_made_elsewhere_are_compared_in_the_texts_that_both_have():
    training = pa.table(
        {"h": ["It is dry. ", "It is wet."], "q": ["It rains.", "A dog barks."], "label": ["c", "yes no"]}
    )
    found = training_overlap(foreign_file(), training)
    assert (found.n_shared, found.by_role, found.columns) == (1, {"paraphrase": 1}, ("q", "h"))
    assert training_overlap(foreign_file(), training.select(["q", "label"])).n_shared == 3


def test_nothing_shared_and_nothing_said():
    assert training_overlap(foreign_file(), pa.table({"q": ["No such text."]})).warnings() == []


@pytest.mark.parametrize(
    ("predictions", "said"),
    [(run_file(), "columns that task nli reads: premise, hypothesis; got"), (foreign_file(), "have text columns; got")],
)
def test_nothing_to_compare(predictions, said):
    with pytest.raises(InputError, match=said):
        training_overlap(predictions, pa.table({"sentence": ["a text"], "label": ["c"]}))


def test_a_training_row_without_text():
    with pytest.raises(InputError, match=r"`training_file` cannot be compared: .*`hypothesis` must be text"):
        training_overlap(run_file(), pa.table({"premise": ["a"], "hypothesis": pa.array([None], pa.string())}))


ROWS = {"bucket_id": ["a"] * 3 + ["b"] * 3, "role": ["original", "paraphrase", "paraphrase"] * 2}


@pytest.mark.parametrize(("labels", "alarms"), [([1, 0, 0, 0, 0, 0], 1), ([0, 0, 0, 1, 1, 1], 0), ([0] * 6, 0)])
def test_an_original_with_another_label_than_its_paraphrases(labels, alarms):
    sentence = "1 of 2 originals have another gold label than their rewordings (such as 'a')"
    assert alarms_of(ROWS["role"], labels, "semantic_inconsistency").count(sentence) == alarms


def test_parts_with_another_label_than_their_merged_text():
    roles = ["part_1", "part_2", "merged"] * 2
    sentence = "1 of 4 parts have another gold label than their merged texts (such as 'b')"
    assert sentence in alarms_of(roles, [0, 0, 0, 0, 1, 0], "additive_inconsistency")
    assert not any(
        "another gold label" in note for note in alarms_of(roles, [0, 0, 0, 1, 1, 1], "additive_inconsistency")
    )


def alarms_of(roles, labels, measure):
    table = pa.table({**ROWS, "role": roles, "label": labels, "prediction": [0, 1, 0, 1, 0, 0]})
    return result_of(table, measures=[measure])["warnings"]


@pytest.mark.parametrize(("n", "level", "said"), [(200, 0.95, True), (1000, 0.95, False), (1000, 0.999, True)])
def test_too_few_resamples(n, level, said):
    table = pa.table({**ROWS, "label": [0] * 6, "prediction": [0, 1, 0, 1, 0, 0]})
    found = result_of(table, interval_method="bootstrap", n_resamples=n, confidence_level=level)["warnings"]
    assert any("resamples leave fewer than 10" in note for note in found) is said


def test_the_command(command, tmp_path):
    (tmp_path / "p.csv").write_text('bucket_id,question,label,prediction\na,"How, then?",1,1\na,And how?,1,0\n')
    (tmp_path / "t.csv").write_text('question,label\n"How, then?",0\n')
    found = scored(command, tmp_path / "p.csv", "--training-file", tmp_path / "t.csv")
    numbers = {"n_shared": 1, "n_rows": 2, "by_role": {"paraphrase": 1}}
    assert found["training_overlap"] == {**numbers, "columns": ["question"]}
    assert found["warnings"][-1].startswith("1 of 2 rows stand in the training file")


def test_training_data_may_be_a_path_or_any_table(tmp_path):
    rows = {"bucket_id": ["a", "a", "b", "b"], "label": [1] * 4, "prediction": [1, 0, 1, 1]}
    rows |= {"q": ["an x", "a y", "a z", "a w"]}
    training = {"q": ["a y", "an other"]}
    pa.csv.write_csv(pa.table(training), tmp_path / "training.csv")
    for given in (training, pa.table(training), pd.DataFrame(training), tmp_path / "training.csv"):
        overlap = pc.score(rows, training=given).to_dict()["predictions"]["training_overlap"]
        assert (overlap["n_shared"], overlap["columns"]) == (1, ["q"])
    with pytest.raises(InputError, match=r"`training` must .*absent\.csv"):
        pc.score(rows, training=str(tmp_path / "absent.csv"))
