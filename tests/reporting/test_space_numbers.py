"""The numbers of the browser pages: those of the command line and of the functions; columns that are guessed; flips."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.space import as_query, by_command, by_function, columns_of, measured, to_csv
from measures.cases import CASES

from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.ie_test import ie_test
from paraconsist.reporting.space.catalogue import module
from paraconsist.reporting.space.forms import guess_columns, guess_layout, read_upload
from paraconsist.reporting.space.page import report_of, results_page


def long_columns(name: str) -> dict[str, list[str]]:
    """Write a module's example, which has all texts of a bucket in one row, out in the long format by hand."""
    c = columns_of(module(name).example())
    sides = {
        "symmetric_inconsistency": {
            "original": ("original_prediction", "label"),
            "swap": ("prediction_swapped", "label"),
        },
        "additive_inconsistency": {
            "part_1": ("part_1_prediction", "label"),
            "part_2": ("part_2_prediction", "label"),
            "merged": ("merged_prediction", "label"),
        },
        "semantic_inconsistency": {"original": ("original_prediction", "label"), "paraphrase": ("prediction", "label")},
        "negational_inconsistency": {
            "original": ("original_prediction", "original_prediction"),
            "negation": ("prediction_negated", "original_prediction"),
        },
    }[name]
    n = len(next(iter(c.values())))
    rows = [(i, role, c[p][i], c[label][i]) for i in range(n) for role, (p, label) in sides.items()]
    bucket, role, prediction, label = (list(column) for column in zip(*rows, strict=True))
    return {"my_bucket": bucket, "kind": role, "said": prediction, "truth": label}


# ---------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("name", ["paraphrastic_consistency", "semantic_inconsistency", "prediction_change"])
def test_an_example_has_the_command_lines_numbers(name, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(module(name).example(), encoding="utf-8")
    result = measured(name, seed=3, n_resamples=500, confidence_level=0.9)
    assert to_strict_json(result.keys) == by_command(list(result.command), file)


@pytest.mark.parametrize(
    "name",
    ["symmetric_inconsistency", "negational_inconsistency", "additive_inconsistency", "semantic_inconsistency"],
)
def test_a_long_file_has_the_command_lines_numbers(name, tmp_path):
    text = to_csv(long_columns(name))
    file = tmp_path / "it's mine.csv"
    file.write_text(text, encoding="utf-8")
    columns = {"bucket": "my_bucket", "role": "kind", "prediction": "said", "label": "truth"}
    result = measured(name, text, "texts", columns=columns)
    assert to_strict_json(result.keys) == by_command(list(result.command), file)


def test_a_long_transitive_file_has_the_command_lines_numbers(tmp_path):
    rng = np.random.default_rng(5)
    n, roles = 30, ["antecedent_1", "antecedent_2", "consequent"]
    table = pa.table(
        {
            "bucket_id": np.repeat(np.arange(n), 3),
            "role": roles * n,
            "label": [0, 1, -1] * n,
            "allowed_labels": [[0], [1], [1, 2]] * n,
            "prediction": np.where(rng.random(3 * n) < 0.7, [0, 1, 2] * n, rng.integers(0, 3, 3 * n)),
        }
    )
    file = tmp_path / "chains.parquet"
    pq.write_table(table, file)
    copy = tmp_path / "copy.parquet"
    pq.write_table(table, copy)
    predictions = read_upload(copy)
    page = module("transitive_inconsistency")
    layout = guess_layout(page.layouts, table.column_names)
    assert layout.key == "texts"
    from paraconsist.reporting.space.forms import Query

    result = page.measure(Query(predictions, layout, guess_columns(layout.fields, table.column_names)))
    assert to_strict_json(result.keys) == by_command(list(result.command), file)
    assert 0 < result.keys["n_satisfied"] < n


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.on_page])
def test_an_example_has_the_functions_numbers(name):
    mine, theirs = measured(name).keys, by_function(name)
    for key in theirs.keys() - {"signature", "by_rule"}:
        np.testing.assert_equal(mine[key], theirs[key], err_msg=key)
    if "by_rule" in theirs:  # shown by the labels' names
        assert [*mine["by_rule"]] == [*theirs["by_rule"]]


def test_the_two_layouts_of_a_file_agree():
    c = columns_of(module("ie_test").example())
    n = len(c["label"])
    long = {
        "bucket": [*range(n), *range(n)],
        "is_original": ["true"] * n + ["false"] * n,
        "answer": c["prediction"] + c["transformed_prediction"],
        "gold": c["label"] * 2,
        "group_id": c["group_id"] * 2,
    }
    assert measured("ie_test", to_csv(long)).keys == measured("ie_test").keys


def test_the_layouts_of_the_fooling_rate_agree_where_every_original_has_variants():
    c = columns_of(module("fooling_rate").example())
    before = {b: p for b, r, p in zip(c["bucket_id"], c["role"], c["prediction"], strict=True) if r == "original"}
    at = [i for i, role in enumerate(c["role"]) if role == "paraphrase"]
    wide = {name: [c[name][i] for i in at] for name in ("bucket_id", "label", "prediction")}
    wide["original_prediction"] = [before[bucket] for bucket in wide["bucket_id"]]
    mine, theirs = measured("fooling_rate", to_csv(wide), "variants").keys, measured("fooling_rate").keys
    for key in ("relaxed", "strict", "n_items", "by_label", "confidence_interval"):
        assert mine[key] == theirs[key]


def _reworded(golds: list[str], **said: str) -> str:
    """Return 12 items with two paraphrases each, answered right except where `said` says otherwise of an item's."""
    labels = [golds[at // 3 % len(golds)] for at in range(36)]
    answers = [said.get(f"b{at // 3}", gold) if at % 3 == 1 else gold for at, gold in enumerate(labels)]
    roles = ["paraphrase" if at % 3 else "original" for at in range(36)]
    buckets = [f"b{at // 3}" for at in range(36)]
    return to_csv({"bucket_id": buckets, "role": roles, "prediction": answers, "label": labels})


def test_two_gold_labels_are_opposites_where_an_answer_is_unread_and_of_three_names_the_page_says_what_to_do():
    """It asked for `opposites`, for which the page has no control."""
    found = measured("fooling_rate", _reworded(["yes", "no"], b0="no", b1="")).keys
    assert (found["relaxed"], found["strict"]) == (2 / 12, 1 / 12)  # what could not be read is no opposite
    found = measured("fooling_rate", _reworded(["0", "1", "2"], b0="2", b2="")).keys
    assert (found["relaxed"], found["strict"]) == (2 / 12, 1 / 12)
    page = module("fooling_rate")
    with pytest.raises(InputError, match="`Gold label` must be two labels") as told:
        page.measured(as_query("fooling_rate", _reworded(["a", "b", "c"])))
    assert "rename those two in the file" in str(told.value)
    assert "opposites`" not in str(told.value)
    (warning,) = measured("fooling_rate", _reworded(["0", "1"])).keys["warnings"]
    assert warning.endswith("for a task of two labels write these as names in the file")


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("original,paraphrase,entailed\na,b,maybe\n", "Entail each other"),
        ("original,paraphrase,similarity\na,b,x\n", "Similarity"),
        ("original,paraphrase\n1,2\n", "Paraphrase"),
        ("original,paraphrase,group_id\na,b,\n", "Group"),
    ],
)
def test_errors_name_the_controls_of_the_page(text: str, control: str):
    with pytest.raises(InputError) as told:
        module("paraphrase_diversity").measured(as_query("paraphrase_diversity", text))
    assert f"`{control}` must" in str(told.value)


def test_probabilities_as_lists_or_as_columns():
    c = columns_of(module("distribution_shift").example())
    lists = {
        name: [f"[{', '.join(values)}]" for values in zip(*(c[f"{prefix}{k}"] for k in range(3)), strict=True)]
        for name, prefix in (("original_probabilities", "original_p"), ("probabilities", "p"))
    }
    assert measured("distribution_shift", to_csv(lists)).keys == measured("distribution_shift").keys
    with pytest.raises(InputError, match="`probabilities` must be one column of lists, or one column for each class"):
        measured("distribution_shift", to_csv(c), columns={"probabilities": ["p0"]})
    with pytest.raises(InputError, match=r"`probabilities` must hold lists such as \[0.2, 0.8\]; got 'a' at row 1"):
        measured("distribution_shift", to_csv({**lists, "probabilities": ["[1, 0, 0]", *"a" * 35]}))


def test_gold_labels_by_name_beside_numbers():
    text = to_csv({"original_prediction": [0, 1, 1], "prediction": [0, 1, 0], "gold": ["no", "yes", "yes"]})
    result = measured("prediction_change", text, label_names=["no", "yes"])
    assert result.keys["correct_to_incorrect"] == 1
    with pytest.raises(InputError, match="`gold` must be one of yes; got 'no' at row 0"):
        measured("prediction_change", text, label_names=["yes"])


def test_unparsed_answers_count_as_wrong_and_are_reported():
    text = to_csv({"prediction": ["a", "", "a", "b"], "transformed_prediction": ["a", "a", "", ""], "label": [*"aaab"]})
    result = measured("ie_test", text)
    assert (result.keys["n10"], result.keys["n01"], result.keys["n"]) == (2, 1, 4)
    assert result.warnings == ["3 of 8 predictions are unparsed and count as wrong answers."]


def test_runs_are_tested_apart():
    c = columns_of(module("ie_test").example())
    result = measured("ie_test", to_csv({**c, "run": ["one", "two"] * 18}))
    assert result.keys["runs"] == ["one", "two"]
    assert 'id="plot-ie-0"' in report_of(module("ie_test"), result, {})


def test_items_of_one_group_are_swapped_together():
    c = columns_of(module("ie_test").example())
    groups = [f"g{i // 3}" for i in range(36)]
    keys = measured("ie_test", to_csv({**c, "group_id": groups})).keys
    direct = ie_test(c["prediction"], c["transformed_prediction"], c["label"], groups=groups).to_dict()
    assert keys["p_value"] == direct["p_value"]
    assert keys["confidence_interval"] == direct["confidence_interval"]
    assert keys["n_clusters"] == {"accuracy_difference": 12}


# ---------------------------------------------------------------------------- columns


def test_columns_are_guessed_once_each():
    fields = module("paraphrastic_consistency").layouts[0].fields
    assert guess_columns(fields, ["Question-ID", "Gold Label", "answer", "words"]) == {
        "bucket": "Question-ID",
        "prediction": "answer",
        "label": "Gold Label",
        "role": None,
        "group": None,
    }
    pairs = module("distribution_shift").layouts[0].fields
    result = guess_columns(pairs, ["p_1", "p_2", "original_p_1", "original_p_2", "price"])
    assert (result["probabilities"], result["original_probabilities"]) == (
        ["p_1", "p_2"],
        ["original_p_1", "original_p_2"],
    )


def test_what_is_not_chosen_or_chosen_twice_is_refused():
    with pytest.raises(InputError, match=r"`Gold label` must be chosen\. The file has the columns bucket_id, role"):
        measured("paraphrastic_consistency", columns={"label": None})
    with pytest.raises(InputError, match="`Gold label` must differ from the column of `Prediction`; got 'prediction'"):
        measured("paraphrastic_consistency", columns={"label": "prediction"})
    with pytest.raises(InputError, match="`Gold label` must be a column of the file; got 'gone'"):
        measured("paraphrastic_consistency", columns={"label": "gone"})


def test_columns_of_two_kinds_are_refused_with_their_names():
    text = to_csv({"original_prediction": [0, 1], "prediction": ["a", "b"]})
    with pytest.raises(InputError, match=r"must be of one kind in all their columns.*'original_prediction': 'int64'"):
        measured("semantic_inconsistency", text)


def test_no_command_is_shown_that_would_read_the_file_otherwise():
    assert not measured("semantic_inconsistency", columns={"group": None}).command  # it would take group_id by its name
    assert not measured("paraphrastic_consistency", columns={"role": None}).command
    assert not measured("semantic_inconsistency", columns={"label": None}).command
    swapped = {"bucket": [1, 1], "is_original": ["true", "false"], "prediction": [0, 1], "label": [0, 0]}
    assert measured("prediction_change", to_csv(swapped)).command
    assert not measured("symmetric_inconsistency", to_csv(swapped)).command  # there the others are paraphrases


# ---------------------------------------------------------------------------- flips


def test_pairs_without_gold_labels_are_capped():
    result = measured("semantic_inconsistency", to_csv({"original_prediction": [1] * 40, "prediction": [0] * 40}))
    assert (result.flips.n, len(result.flips.rows), result.flips.rows[0]) == (40, 30, [1, 1, 0])
    page = results_page(module("semantic_inconsistency"), result, 0.95)
    assert "40 lines, worst first; the first 30 are shown" in page


def test_words_come_from_the_visitors_own_rows():
    result = measured("negational_inconsistency")
    c = columns_of(module("negational_inconsistency").example())
    same = [i for i in range(12) if c["original_prediction"][i] == c["prediction_negated"][i]]
    assert [row[-1] for row in result.flips.rows] == [[c["statement"][i], c["negation"][i]] for i in same]


def test_what_cannot_be_judged_has_no_number_and_no_figure():
    text = to_csv({"bucket_id": [f"b{i // 2}" for i in range(24)], "label": ["1"] * 24, "prediction": [""] * 24})
    result = measured("paraphrastic_consistency", text)
    assert np.isnan(result.keys["paraphrastic_consistency"])
    assert result.figure == ""
    form = module("paraphrastic_consistency")
    assert "undefined" in results_page(form, result, 0.95, report_of(form, result, {}))
    assert results_page(form, result, 0.95).count(result.keys["warnings"][0].split(" (")[0]) == 1
