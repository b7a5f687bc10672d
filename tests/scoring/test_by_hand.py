"""Classes of answers made by hand come before the comparer's verdicts, in every number."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

import paraconsist as pc
from paraconsist.comparing.comparer import get_comparer
from paraconsist.errors import InputError
from paraconsist.plugins.pytest import Consistency
from paraconsist.scoring.by_hand import right_by_hand

ANSWERS = {
    "merged": ["30 days", "30 days", "thirty days"],  # all the same by hand: 0 of 3 pairs differ
    "untouched": ["yes", "no", "no"],  # 2 of 3
    "split": ["x", "X."],  # 1 of 1
    "partly": ["a", "b", "c", "d"],  # a and b are the same, c is another, d is the comparer's: 5 of 6
    "apart": ["Rome", "in Rome"],  # 1 of 1
    "joined": ["m", "m", "n", "n"],  # 0 of 6
}
CLASSES = [
    *[("merged", "30 days", "1"), ("merged", "thirty days", "1"), ("split", "x", "1"), ("split", "X.", "2")],
    *[("partly", "a", "1"), ("partly", "b", "1"), ("partly", "c", "2"), ("joined", "m", "1"), ("joined", "n", "1")],
]
CHANGE = (0 + 2 / 3 + 1 + 5 / 6 + 1 + 0) / 6


def write_answers(path, answers=ANSWERS, gold=None):
    rows = [(bucket, text) for bucket, texts in answers.items() for text in texts]
    columns = {"bucket_id": [bucket for bucket, _ in rows], "prediction": [text for _, text in rows]}
    if gold is not None:
        columns["label"] = [gold[bucket] for bucket, _ in rows]
    pq.write_table(pa.table(columns), path)
    return path


def write_classes(path, lines=CLASSES, names=("bucket_id", "answer", "class")):
    path.write_text("".join(json.dumps(dict(zip(names, line, strict=True))) + "\n" for line in lines))
    return path


def test_the_rate_is_the_one_computed_by_hand_everywhere(command, tmp_path):
    answers, classes = write_answers(tmp_path / "answers.parquet"), write_classes(tmp_path / "classes.jsonl")
    before = pc.score(answers, same="text").sets["answers"]
    assert before.wording.wording_change == pytest.approx((2 / 3 + 2 / 3 + 0 + 1 + 1 + 2 / 3) / 6, abs=1e-12)
    assert "by_hand" not in before.to_dict()
    scored = pc.score(answers, same="text", classes=classes).sets["answers"]
    assert scored.wording.same_answer == pytest.approx(1 - CHANGE, abs=1e-12)
    _, printed, _ = command("score", answers, "--same", "text", "--classes", classes, "--json")
    of_command = json.loads(printed)["answers"]
    assert of_command["wording"]["same_answer"] == scored.wording.same_answer
    assert of_command["by_hand"] == {"n_verdicts": 6, "n_changed": 4}
    assert "|by_hand:6|" in next(iter(of_command["measures"].values()))["signature"]
    assert any("6 verdicts on pairs of different answers were made by hand, 4 of them" in x for x in scored.warnings)
    by_fixture = Consistency(tmp_path, lambda key, value: None, {}).score(answers, same="text", classes=classes)
    assert by_fixture.to_dict()["answers"] == of_command
    code, *_ = command("gate", "wording_change <= 0.59", answers, "--same", "text", "--classes", classes)
    assert code == 0
    assert command("gate", "wording_change <= 0.59", answers, "--same", "text")[0] == 1
    gold = {bucket: texts[0] for bucket, texts in ANSWERS.items()}
    with_gold = write_answers(tmp_path / "gold.parquet", gold=gold)
    other = write_answers(tmp_path / "other.parquet", ANSWERS | {"untouched": ["yes", "yes", "no"]}, gold)
    (compared,) = pc.compare(with_gold, other, same="text", classes=classes, names=["a", "b"]).sets
    assert "|by_hand:6|" in compared.pairs[0].result["signature"]


@examples(100)
@given(st.data(), st.sampled_from(["text", "tokens", "contains"]), st.booleans())
def test_pairs_follow_the_file_then_the_comparer(tmp_path_factory, data, same, has_gold):
    texts = ["Paris", "the Paris", "paris.", "Paris Rome", "Rome", "Rome Oslo", "Oslo"]
    buckets = data.draw(st.lists(st.lists(st.sampled_from(texts), min_size=2, max_size=6), min_size=1, max_size=3))
    answers = {f"b{i}": of_bucket for i, of_bucket in enumerate(buckets)}
    classes = {
        (bucket, text): named
        for bucket, of_bucket in answers.items()
        for text in sorted(set(of_bucket))
        if (named := data.draw(st.sampled_from([None, "1", "2"])))
    }
    if not classes:
        return
    folder = tmp_path_factory.mktemp("hand")
    gold = dict.fromkeys(answers, "Paris") if has_gold else None
    path = write_answers(folder / "answers.parquet", answers, gold)
    lines = write_classes(folder / "classes.jsonl", [(*key, named) for key, named in classes.items()])
    scored = pc.score(path, same=same, classes=lines).sets["answers"]
    right = (scored.rows.predictions == scored.rows.labels).tolist() if has_gold else [False] * len(scored.rows)
    comparer, start, changes = get_comparer(same), 0, []
    for bucket, of_bucket in answers.items():
        differ = []
        for i, j in combinations(range(len(of_bucket)), 2):
            by_hand = [classes.get((bucket, of_bucket[place])) for place in (i, j)]
            one, two = right[start + i], right[start + j]
            if None not in by_hand:
                differ.append(by_hand[0] != by_hand[1])
                assert by_hand[0] != by_hand[1] or one == two
                assert by_hand[0] == by_hand[1] or not (one and two)
                continue
            read = [comparer.values([of_bucket[place]]) for place in (i, j)]
            differ.append(not ((one and two) or (one == two and comparer.are_same(*read)[0])))
        start += len(of_bucket)
        changes.append(np.mean(differ))
    assert scored.wording.wording_change == pytest.approx(np.mean(changes), abs=1e-12)


def test_a_class_is_right_as_a_whole_and_one_class_of_a_problem_is(tmp_path):
    answers = {"q": ["30 days", "a month", "not within 30 days", "not within 30 days"], "r": ["Bonn", "Bonn"]}
    path = write_answers(tmp_path / "answers.parquet", answers, {"q": "30 days", "r": "Bonn"})
    lines = [("q", "30 days", "1"), ("q", "a month", "1"), ("q", "not within 30 days", "2")]
    classes = write_classes(tmp_path / "classes.jsonl", lines)
    before = pc.score(path, same="contains").sets["answers"].rows
    assert (before.predictions == before.labels).tolist() == [True, False, True, True, True, True]
    after = pc.score(path, same="contains", classes=classes).sets["answers"].rows
    assert (after.predictions == after.labels).tolist() == [True, True, False, False, True, True]
    one_class = write_classes(tmp_path / "one.jsonl", lines[:2])
    after = pc.score(path, same="contains", classes=one_class).sets["answers"].rows
    assert (after.predictions == after.labels).all()


def test_an_answer_that_the_comparer_cannot_read_is_read_by_hand(tmp_path):
    path = write_answers(tmp_path / "answers.parquet", {"q": ["30", "a month"], "r": ["1", "none"]})
    classes = write_classes(tmp_path / "classes.jsonl", [("q", "30", "1"), ("q", "a month", "1")])
    scored = pc.score(path, same="number", classes=classes).sets["answers"]
    assert scored.rows.unparsed.tolist() == [False, False, False, True]
    assert scored.wording.wording_change == pytest.approx(0.5, abs=1e-12)


def test_a_long_answer_is_named_by_its_beginning_and_a_digest(tmp_path):
    from paraconsist.scoring.by_hand import answer_key

    long, other = "word " * 20_000 + "a", "word " * 20_000 + "b"
    path = write_answers(tmp_path / "answers.parquet", {"q": [long, other, "\0<b>"]})
    assert len(answer_key(long)) < 4_100
    assert answer_key(long) != answer_key(other)
    lines = [("q", answer_key(long), "1"), ("q", other, "1"), ("q", "\0<b>", "1")]
    scored = pc.score(path, same="exact", classes=write_classes(tmp_path / "classes.jsonl", lines)).sets["answers"]
    assert scored.wording.wording_change == 0.0


@pytest.mark.parametrize(
    ("lines", "word", "row"),
    [
        ([("no such", "x", "1")], "buckets", 0),
        ([("split", "x", "1"), ("split", "y", "1")], "bucket 'split'", 1),
        ([("split", "x", "1"), ("split", "x", "2")], "one class", 1),
        ([("split", "x", "")], "a class in every line", 0),
    ],
)
def test_what_the_run_does_not_have_is_refused(tmp_path, lines, word, row):
    answers, classes = write_answers(tmp_path / "answers.parquet"), write_classes(tmp_path / "c.jsonl", lines)
    with pytest.raises(InputError, match=word) as problem:
        pc.score(answers, same="text", classes=classes)
    assert (problem.value.parameter, problem.value.row) == ("classes", row)


def test_classes_need_columns_and_a_comparer(tmp_path):
    answers = write_answers(tmp_path / "answers.parquet")
    with pytest.raises(InputError, match="There is no class"):
        pc.score(
            answers, same="text", classes=write_classes(tmp_path / "c.jsonl", [("split", "x")], ["bucket_id", "answer"])
        )
    with pytest.raises(InputError, match="with `same` only"):
        pc.score(answers, classes=write_classes(tmp_path / "classes.jsonl"))


def test_an_answer_of_another_model_may_be_absent(tmp_path):
    names = ("bucket_id", "answer", "class", "model")
    lines = [("split", "x", "1", "m"), ("split", "X.", "2", "m"), ("split", "elsewhere", "1", "other")]
    classes = write_classes(tmp_path / "classes.jsonl", lines, names)
    scored = pc.score(write_answers(tmp_path / "answers.parquet"), same="text", classes=classes).sets["answers"]
    assert scored.to_dict()["by_hand"] == {"n_verdicts": 1, "n_changed": 1}


def test_an_answer_of_this_model_must_be_there(tmp_path):
    answers = pq.read_table(write_answers(tmp_path / "answers.parquet"))
    answers = answers.append_column("model", pa.array(["m"] * len(answers)))
    names = ("bucket_id", "answer", "class", "model")
    classes = write_classes(tmp_path / "classes.jsonl", [("split", "elsewhere", "1", "m")], names)
    refuses("answers that were given", pc.score, answers, same="text", classes=classes, model="m")


def test_a_class_by_hand_without_a_right_answer_stays_wrong():
    by_hand, buckets = np.array([0, 0, 1, 2, -1, -1]), np.array([0, 0, 0, 1, 1, 1])
    right = np.array([False, True, False, False, True, False])
    found = right_by_hand(right, np.zeros(6, dtype=bool), by_hand, buckets)
    assert found.tolist() == [True, True, False, False, True, False]


def test_two_problems_have_a_chance():
    frame = pa.table({"bucket_id": ["a", "a", "b", "b"], "prediction": ["red", "blue", "red", "green"]})
    chance = next(iter(pc.score(frame, same="tokens").sets.values())).wording.chance
    assert chance == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / 2_000) ** 0.5)  # both red
