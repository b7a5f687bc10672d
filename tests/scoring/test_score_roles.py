"""Scoring by role: each measure finds its rows, and a bucket that lacks one is named.

PaRTE's golden numbers are those of the authors' own prediction file (Verma et al. 2023; the paper's Table 2 differs
by up to half a point).
"""

import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import write
from helpers.errors import refuses
from helpers.score_roles import GOOD, rows, scored

import paraconsist as pc
from paraconsist.data.predictions import write_predictions
from paraconsist.errors import InputError
from paraconsist.measures.antecedents import additive_inconsistency
from paraconsist.measures.inconsistency_difference import inconsistency_difference


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("model", "changed", "lost", "gained"), [("bert", 110, 55, 55), ("gpt3", 108, 62, 46)], ids=["BERT", "GPT-3"]
)
def test_parte_through_the_command(command, data_folder, model, changed, lost, gained):
    columns = ("--prediction", f"{model}_paraphrase", "--original-prediction", f"{model}_original")
    labels = ("--label", "gold_label", "--label-names", "not_entailed,entailed", "--measure", "prediction_change")
    result = scored(command, data_folder / "parte" / "predictions_bert_gpt3.csv", *columns, *labels)
    found = result["measures"]["prediction_change"]
    assert found["n_pairs"] == 1126
    assert (found["n_changed"], found["correct_to_incorrect"], found["incorrect_to_correct"]) == (changed, lost, gained)
    if model == "bert":
        assert round(100 * found["change_rate_given_correct"], 2) == 6.77
        assert round(100 * found["change_rate_given_incorrect"], 2) == 17.52


def pairs(**more):
    given = {"bucket_id": ["p", "p", "q", "q"], "first": [1, 1, 0, 0], "second": [1, 0, 0, 1], "label": [1, 1, 0, 0]}
    return pd.DataFrame({**given, **more})


@pytest.mark.faults
@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({}, {}),
        ({"example_id": ["a", "b", "c", "d"]}, {}),  # was refused: each id stood in two rows of its pair
        ({"example_id": ["a", "b", "a", "b"]}, {}),
        ({"second": ["1", "0", "0", "n/a"]}, {}),
        ({"first": ["no"] * 2 + ["yes"] * 2, "second": ["no", "yes"] * 2}, {"label_names": ["yes", "no"]}),
    ],
)
def test_a_pair_in_each_row(more, options):
    columns = {"prediction": "second", "original_prediction": "first"}
    found = pc.score(pairs(**more), measures="prediction_change", **columns, **options).sets["predictions"]
    result = found.measures["prediction_change"]
    assert (result["n_pairs"], result["change_rate"]) == (4, 0.5)


@pytest.mark.parametrize("name", ["example_id", "bucket_id"])
def test_pairs_with_ids_may_come_in_any_order(name):
    """They were compared by their places."""
    table = pairs(**{name: [3, 4, 5, 6]})
    columns = {"prediction": "second", "original_prediction": "first"}
    others = table, table[::-1].astype({name: float})
    compared = [pc.compare(table, other, **columns).to_frame() for other in others]
    pd.testing.assert_frame_equal(*compared)


def test_swaps_and_negations(command, tmp_path):
    swaps = rows(("a", "original", 1, 1), ("a", "swap", 1, 0), ("b", "swap", 0, 0), ("b", "original", 0, 0))
    found = scored(command, write(tmp_path / "s.csv", swaps))["measures"]["symmetric_inconsistency"]
    assert (found["inconsistency"], found["n_pairs"]) == (0.5, 2)
    assert (found["accuracy"], found["perturbed_accuracy"]) == (1.0, 0.5)
    negations = [row | {"role": row["role"].replace("swap", "negation")} for row in swaps]
    found = scored(command, write(tmp_path / "n.csv", negations))["measures"]["negational_inconsistency"]
    assert found["inconsistency"] == 0.5


def transitive(consequents: list[int]) -> list[dict[str, Any]]:
    made = []
    for i, prediction in enumerate(consequents):
        allowed = [[2], [1, 2]][i % 2]
        label = -1 if len(allowed) > 1 else 2
        three = (("antecedent_1", 1, 1), ("antecedent_2", 2, 2), ("consequent", label, prediction))
        of_bucket = rows(*((f"b{i}", *row) for row in three))
        made += [row | {"allowed_labels": fits} for row, fits in zip(of_bucket, ([1], [2], allowed), strict=True)]
    return made


def test_a_rule_that_allows_several_labels(command, tmp_path):
    result = scored(command, write(tmp_path / "t.parquet", transitive([2, 1, 0, 0])))
    found = result["measures"]["transitive_inconsistency"]
    assert (found["inconsistency"], found["n_satisfied"], found["n_rows"]) == (0.5, 4, 4)
    by_rule = {rule: part["inconsistency"] for rule, part in found["by_rule"].items()}
    assert by_rule == {"1 & 2 -> 2": 0.5, "1 & 2 -> 1|2": 0.5}


def test_additive(command, tmp_path):
    merged = rows(
        *(("a", "part_1", 1, 1), ("a", "part_2", 1, 1), ("a", "merged", 1, 0)),
        *(("b", "part_1", 0, 0), ("b", "part_2", 0, 1), ("b", "merged", 0, 1)),
    )
    found = scored(command, write(tmp_path / "a.csv", merged))["measures"]["additive_inconsistency"]
    assert (found["inconsistency"], found["n_satisfied"], found["n_rows"]) == (1.0, 1, 2)


def test_an_empty_population_is_undefined_and_said(command, tmp_path):
    wrong = [row | {"prediction": 0} for row in transitive([0, 0])]
    result = scored(command, write(tmp_path / "t.parquet", wrong))
    found = result["measures"]["transitive_inconsistency"]
    assert found["inconsistency"] is None
    assert found["warnings"]
    _, out, _ = command("score", tmp_path / "t.parquet")
    assert "0 / 2" in out


def test_the_runs_own_word_on_the_measure_wins(command, tmp_path):
    pairs = rows(("a", "original", 1, 1), ("a", "paraphrase", 1, 0), ("b", "original", 0, 0), ("b", "paraphrase", 0, 0))
    write_predictions(tmp_path / "p.parquet", pa.Table.from_pylist(pairs), {"measures": ["semantic_inconsistency"]})
    assert set(scored(command, tmp_path / "p.parquet")["measures"]) == {"semantic_inconsistency"}
    found = scored(command, tmp_path / "p.parquet", "--measure", "prediction_change")["measures"]
    assert found["prediction_change"]["n_changed"] == 1


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (GOOD[1:], "in exactly one row of every bucket; got 0. Look at bucket 'a'."),
        ([*GOOD, GOOD[0] | {"example_id": "more"}], "in exactly one row of every bucket; got 2. Look at bucket 'a'."),
        ([*GOOD, GOOD[0] | {"role": "part_1", "example_id": "more"}], "The row is in bucket 'a': mend its role"),
    ],
    ids=["no original", "two originals", "foreign role"],
)
def test_buckets_that_lack_a_place_are_named(command, tmp_path, broken, sentence):
    code, _, err = command("score", write(tmp_path / "p.csv", broken), "--measure", "symmetric_inconsistency")
    assert (code, sentence in err) == (2, True)


#: Role of the counted rows -> the roles of a bucket's rows, and the measure.
BUCKETS = {
    "paraphrase": (["original", "paraphrase", "paraphrase"], "paraphrastic_consistency"),
    "negation": (["original", "negation"], "negational_inconsistency"),
    "swap": (["original", "swap"], "symmetric_inconsistency"),
    "consequent": (["antecedent_1", "antecedent_2", "consequent"], "transitive_inconsistency"),
    "merged": (["part_1", "part_2", "merged"], "additive_inconsistency"),
}


def of_all_measures(seed: int) -> pd.DataFrame:
    """Return 40 problems with rows of one to three measures each; their originals are the same row."""
    random, made = np.random.default_rng(seed), []
    for bucket in range(40):
        chosen = random.choice([*BUCKETS], random.integers(1, 4), replace=False)
        places = dict.fromkeys(place for target in chosen for place in enumerate(BUCKETS[target][0]))
        roles = [role for _, role in places]
        made += [(f"b{bucket}", role, *map(int, random.integers(0, 2, 2))) for role in roles]
    frame = pd.DataFrame(made, columns=["bucket_id", "role", "label", "prediction"]).assign(allowed_labels="0|1")
    return frame.assign(label=frame.groupby("bucket_id").label.transform("first")).sample(frac=1, random_state=seed)


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(4))
def test_a_file_with_the_rows_of_several_measures_is_a_file_for_each(seed):
    """Such a file was refused, also after its questions had been asked."""
    frame = of_all_measures(seed)
    together = pc.score(frame, n_resamples=50).sets
    assert {*together} == {*BUCKETS}
    for target, (roles, measure) in BUCKETS.items():
        having = frame.bucket_id[frame.role == target]
        rows = frame[frame.bucket_id.isin(having) & frame.role.isin(roles)]
        (apart,) = pc.score(rows, measures=[measure], n_resamples=50).sets.values()
        found, expected = (json.dumps(one.to_dict()["measures"]) for one in (together[target], apart))
        assert found == expected
        assert together[target].to_dict().get("wording") == apart.to_dict().get("wording")


def test_originals_without_other_rows_are_of_the_first_set_and_other_roles_are_refused():
    frame = pd.DataFrame(rows(("a", "Original", 1, 1), ("a", "negation", 0, 1), ("b", "original", 1, 0)))
    frame = pd.concat([frame, pd.DataFrame(rows(("c", "original", 1, 1), ("c", "swap", 1, 0)))])
    scores = pc.score(frame, n_resamples=20).sets
    assert {name: len(one.rows) for name, one in scores.items()} == {"swap": 3, "negation": 2}
    for missing in (None, ""):
        with pytest.raises(InputError, match="`role` must"):
            pc.score(pd.concat([frame, pd.DataFrame(rows(("a", "swap", 1, 1))).assign(role=missing)]))
    with pytest.raises(InputError, match=r"`role` must be one of .*; got 'antecedent_1'"):
        pc.score(pd.concat([frame, pd.DataFrame(rows(("a", "antecedent_1", 1, 1)))]))


def test_does_it_keep_its_answer_to_a_paraphrase_and_change_it_with_the_meaning(command, tmp_path):
    """One file through every command: each speaks of the rows of a measure as of a set."""
    texts = [
        row
        for i in range(12)
        for row in rows(
            (f"b{i}", "original", i % 2, i % 2),
            (f"b{i}", "paraphrase", i % 2, (i + (i < 3)) % 2),
            (f"b{i}", "negation", 1 - i % 2, (1 - i + (i < 4)) % 2),
        )
    ]
    both, other = write(tmp_path / "a.csv", texts), write(tmp_path / "b.csv", [r | {"prediction": 1} for r in texts])
    assert {*json.loads(command.out("score", both, "--json"))} == {"paraphrase", "negation"}
    assert {*json.loads(command.out("score", both, "--json", "--measure", "negational_inconsistency"))} == {"negation"}
    assert "got 'paraphrase' at row 2" in command.refused("score", both, "--measure", "symmetric_inconsistency")
    passed = command.out("gate", "wording_change <= .3 and negational <= .35", both)
    assert "(found 0.3333: negation, negational; 2 sets)" in passed
    margin = ["--against", other, "--margin", ".05"]
    assert "pass: negational.not_worse" in command.out("gate", "negational.not_worse", both, *margin)
    assert "fail: wording_change.not_worse" in command("gate", "wording_change.not_worse", both, *margin)[1]
    for measure in ([], ["--measure", "negational_inconsistency"]):
        _, out, err = command("compare", both, other, *measure)
        assert [f"{name}: a (1) and b (2)" in out for name in ("paraphrase", "negation")] == [not measure, True]
        assert "left out" not in err
    assert "in a pilot of 12 buckets" in command.out("plan", both, "--half-width", ".1", "--measure", "wording_change")
    page = tmp_path / "page.html"
    command.out("report", both, "--output", page)
    assert "Two wordings of a problem get different answers" in page.read_text(encoding="utf-8")
    assert "A negation does not change" in page.read_text(encoding="utf-8")
    assert "2 sets · 12 problems<" in page.read_text(encoding="utf-8")


def test_an_unknown_measure(command, tmp_path):
    err = command.refused("score", write(tmp_path / "p.csv", GOOD), "--measure", "bleu")
    assert "`--measure` must be one of paraphrastic_consistency" in err


def test_the_table_of_inconsistencies(command, tmp_path):
    out = command.out("score", write(tmp_path / "mine.csv", GOOD))
    assert "Inconsistency, in per cent, lower is better" in out
    assert "mine (symmetric)" in out
    assert "50.0" in out


def additive(n: int, **columns: Any) -> list[dict[str, Any]]:
    """All pairs of n texts whose parts are right; every third text breaks the rule with those after it.

    `columns` are functions of a row's role and its two texts.
    """
    made = []
    for i, j in combinations(range(n), 2):
        bucket = f"{i}-{j}"
        three = rows((bucket, "part_1", 1, 1), (bucket, "part_2", 1, 1), (bucket, "merged", 1, i % 3))
        made += [row | {name: value(row["role"], i, j) for name, value in columns.items()} for row in three]
    return made


def text(role: str, i: int, j: int) -> str:
    return {"part_1": f"t{i}", "part_2": f"t{j}"}.get(role, f"{i}-{j}")


def first(role: str, i: int, j: int) -> str:
    return f"t{i}"


def once(role: str, i: int, j: int) -> str:
    return f"{role} {i} {j}"


@pytest.mark.parametrize(
    ("columns", "are_shared"),
    [
        pytest.param({"group_id": first, "input_id": text}, True, id="first part and inputs"),
        pytest.param({"input_id": text}, True, id="inputs"),
        pytest.param({"group_id": text}, True, id="a group for each part"),
        pytest.param({"group_id": text, "input_id": once}, True, id="a group for each part, every input once"),
        pytest.param({"group_id": first}, False, id="no inputs"),
        pytest.param({"group_id": first, "input_id": once}, False, id="every input once"),
        pytest.param(
            {"group_id": first, "input_id": lambda role, i, j: once(role, i, j * (role != "part_1"))},
            False,
            id="inputs within groups",
        ),
    ],
)
def test_rows_of_an_additive_set_share_both_parts_unless_within_groups(command, tmp_path, columns, are_shared):
    found = scored(command, write(tmp_path / "a.csv", additive(12, **columns)))["measures"]["additive_inconsistency"]
    assert found["n_clusters"] == dict.fromkeys(("inconsistency", "chance_corrected"), 12 if are_shared else 11)
    assert f"ci:{'dyad' if are_shared else 'group'}-korn-graubard" in found["signature"]
    if are_shared:
        pair = tuple(zip(*combinations(range(12), 2), strict=True))
        direct = additive_inconsistency([i % 3 for i in pair[0]], *[[1] * 66] * 3, groups=pair)
        assert found["confidence_interval"] == direct.to_dict()["confidence_interval"]


def test_models_are_compared_over_texts_that_additive_rows_share(command, tmp_path):
    rows_of = additive(12, input_id=text)
    right = [row | ({"prediction": 1} if row["role"] == "merged" else {}) for row in rows_of]
    other = write(tmp_path / "other.csv", right)
    out = command.out("compare", write(tmp_path / "one.csv", rows_of), other, "--json")
    (pair,) = json.loads(out)[0]["pairs"]
    pairs = tuple(zip(*combinations(range(12), 2), strict=True))
    direct = inconsistency_difference([i % 3 != 1 for i in pairs[0]], [0] * 66, groups=pairs)
    assert pair["result"]["p_value"] == pytest.approx(direct.p_value)
    assert pair["result"]["confidence_interval"] == direct.confidence_interval
    assert pair["result"]["n_clusters"] == {"difference": 12}


@pytest.mark.faults
def test_measures_of_a_file_of_several_are_each_of_its_rows_and_columns_of_models_may_be_a_list():
    """Two were refused, one was not; a list ended in an AttributeError."""
    rng = np.random.default_rng(0)
    roles = ["original", "paraphrase", "paraphrase", "negation"] * 12
    columns = {"bucket_id": np.arange(48) // 4, "role": roles, "label": rng.integers(0, 2, 12).repeat(4)}
    table = pd.DataFrame({**columns, "a": rng.integers(0, 2, 48), "b": rng.integers(0, 2, 48)})
    measures = ["semantic_inconsistency", "negational_inconsistency"]
    found = pc.score(table, prediction="a", measures=measures).to_dict()
    assert {name: list(values["measures"]) for name, values in found.items()} == {
        "paraphrase": measures[:1],
        "negation": measures[1:],
    }
    compared = pc.compare(table, prediction=["a", "b"], measures=measures).to_dict()
    assert [(one["set"], [pair["measure"] for pair in one["pairs"]]) for one in compared] == [
        ("paraphrase", measures[:1]),
        ("negation", measures[1:]),
    ]
    for other in ("symmetric_inconsistency", "fooling_rate"):  # of which nothing was said
        refuses(f"got '{other}'", pc.score, table, prediction="a", measures=[*measures, other])
        refuses(f"got '{other}'", pc.compare, table, prediction=["a", "b"], measures=[*measures, other])
