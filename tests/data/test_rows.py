"""From a predictions table to the rows that measures read: which column an error names, what counts as unparsed."""

import numpy as np
import pyarrow as pa
import pytest
from helpers.errors import refuses
from helpers.toy_builder import toy_rows

from paraconsist.data.long_format import named_labels
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import UNPARSED, read_rows
from paraconsist.data.tasks import get_task
from paraconsist.dataset_builders.checks import SplitChecker
from paraconsist.errors import InputError

COLUMNS = {
    "q": ["a", "a", "b"],
    "gold": [0, 0, 1],
    "answer": [0, None, 1],
    "kind": ["Original", "paraphrase", "paraphrase"],
    "p": [0.9, 0.2, 0.7],
    "probabilities": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]],
}
NAMES = {"bucket": "q", "label": "gold", "prediction": "answer", "role": "kind"}


def rows_of(columns=COLUMNS, **names):
    return read_rows(Predictions(pa.table(columns)), SourceOptions(**{**NAMES, **names}))


def test_columns_become_arrays():
    rows = rows_of(confidence="p")
    assert rows.buckets.tolist() == ["a", "a", "b"]
    assert rows.groups is None
    assert rows.roles.tolist() == ["original", "paraphrase", "paraphrase"]
    assert rows.predictions.tolist() == [0, UNPARSED, 1]
    assert rows.unparsed.tolist() == [False, True, False]
    assert rows.confidences.tolist() == [0.9, 0.2, 0.7]
    assert rows.predicted_confidences is None  # `confidence` says nothing of the predicted label's


def test_nan_is_no_answer():
    rows = rows_of({**COLUMNS, "answer": [0.0, float("nan"), 1.0]})  # of polars; pandas has it for missing ones
    assert rows.predictions.tolist() == [0, UNPARSED, 1]


@pytest.mark.parametrize(
    ("gold", "unparsed"), [([0, 0, 1], [False, True, False]), ([0, 0, -1], [False] * 3), (None, [False] * 3)]
)
def test_minus_one_is_no_answer_where_no_gold_label_is_minus_one(gold, unparsed):
    columns = {"q": COLUMNS["q"], "answer": [0, -1, 1]} | ({} if gold is None else {"gold": gold})
    rows = rows_of(columns, label="gold" if gold else SourceOptions.label)
    assert (rows.unparsed.tolist(), rows.is_marked) == (unparsed, any(unparsed))


@pytest.mark.parametrize(
    ("gold", "answer", "is_right"),
    [
        ([1, 1, 0], ["1", "0", "n/a"], [True, False, False]),
        ([True, True, False], ["True", "False", "maybe"], [True, False, False]),
        ([True, True, False], ["true", "false", "maybe"], [True, False, False]),
        (["True", "True", "Neither"], [True, False, True], [True, False, False]),
        (["1", "1", "x"], [1, 0, 0], [True, False, False]),
    ],
)
def test_labels_or_answers_of_which_some_are_no_numbers(gold, answer, is_right):
    rows = rows_of({"q": COLUMNS["q"], "gold": gold, "answer": answer})
    assert (rows.labels == rows.predictions).tolist() == is_right


@pytest.mark.parametrize(("gold", "answer"), [(["1", "1", "0"], [1, 0, 0]), (["1", "1", "x"], [1, -1, 0])])
def test_numbers_beside_labels_in_text_are_refused(
    gold, answer
):  # where -1 may be no answer, or all labels are numbers
    refuses("of the labels' kind", rows_of, {"q": COLUMNS["q"], "gold": gold, "answer": answer})


def test_one_and_one_point_zero_are_not_two_labels():
    for one, other in (("gold", "answer"), ("answer", "gold")):
        refuses("of the labels' kind", rows_of, {"q": COLUMNS["q"], one: [1, 1, 0], other: ["1", "1.0", "n/a"]})


def test_predictions_that_are_numbers_of_names_may_be_text():
    table = pa.table({"gold": ["no", "yes", "yes"], "answer": ["0", "1", "n/a"]})
    named = named_labels(Predictions(table), "gold", "answer", ["no", "yes"]).table
    assert named.to_pydict() == {"gold": [0, 1, 1], "answer": [0, 1, None]}
    swapped = named_labels(Predictions(table), "gold", "answer", ["no", "yes", "0"]).table  # a name counts before it
    assert swapped["answer"].to_pylist() == [2, 1, None]


def test_probabilities_of_gold_and_predicted_labels():
    rows = rows_of()
    assert rows.confidences.tolist() == [0.9, 0.2, 0.7]
    np.testing.assert_array_equal(rows.predicted_confidences, [0.9, np.nan, 0.7])


def test_probabilities_may_be_lists_in_text_as_in_csv():
    rows = rows_of({**COLUMNS, "probabilities": ["[0.9, 0.1]", "", "[0.3, 0.7]"]})
    np.testing.assert_array_equal(rows.confidences, [0.9, np.nan, 0.7])
    refuses(r"must hold lists of numbers; got 0.9 at row 0", rows_of, {**COLUMNS, "probabilities": ["0.9"] * 3})
    refuses(r"must hold lists of numbers; got '\[0.9' at row 0", rows_of, {**COLUMNS, "probabilities": ["[0.9"] * 3})


def test_calls_may_be_lines_or_a_list_in_text():
    found = rows_of({**COLUMNS, "calls": ["find\nbook", '["find", "book"]', "['find', 'book']"]}).calls
    assert found == [("find", "book")] * 3


@pytest.mark.faults
@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({**COLUMNS, "probabilities": [[0.9, 0.1], None, [0.3, 0.7]]}, {}),
        ({**COLUMNS, "P0": ["0.9", "", "0.3"], "P1": ["0.1", "", "0.7"]}, {"probabilities": "P0,P1"}),
        ({**COLUMNS, "p": [0.9, None, 0.7]}, {"confidence": "p"}),
    ],
)
def test_a_row_may_have_no_probabilities(columns, names):
    np.testing.assert_array_equal(rows_of(columns, **names).confidences, [0.9, np.nan, 0.7])
    none = {
        name: pa.nulls(3) if name in ("p", "P0", "P1", "probabilities") else column for name, column in columns.items()
    }
    assert rows_of(none, **names).confidences is None


def test_a_row_s_number_counts_rows_without_probabilities():
    with pytest.raises(InputError, match="sum to one") as refused:
        rows_of({**COLUMNS, "probabilities": [None, None, [0.7, 0.7]]})
    assert refused.value.row == 2


def test_where_takes_the_same_rows_of_everything():
    columns = {**COLUMNS, "allowed_labels": [[0], [0, 1], [1]], "theme": ["x", "y", "z"]}
    rows = rows_of(columns, stratum=["theme"]).where(np.array([False, True, True]))
    assert len(rows) == 2
    assert rows.buckets.tolist() == ["a", "b"]
    assert rows.allowed == [[0, 1], [1]]
    assert rows.strata["theme"].tolist() == ["y", "z"]
    assert rows.confidences.tolist() == [0.2, 0.7]


@pytest.mark.parametrize(
    ("parameter", "names"),
    [
        ("bucket", {"bucket": "none"}),
        ("label", {"label": "none"}),
        ("prediction", {"prediction": "none"}),
        ("original", {"original": "none"}),
        ("confidence", {"confidence": "none"}),
        ("probabilities", {"probabilities": ["p", "none"]}),
        ("stratum", {"stratum": ["none"]}),
    ],
)
def test_a_missing_column_is_an_error_of_the_field_that_names_it(parameter, names):
    with pytest.raises(InputError, match=r"must name a column of .* Its columns are q,") as e:
        rows_of(**names)
    assert (e.value.function, e.value.parameter, e.value.got) == ("score", parameter, "none")


@pytest.mark.parametrize(
    ("column", "values", "row", "parameter"),
    [
        ("gold", [0, None, 1], 1, "label"),
        ("gold", [0, 0, 0.5], 2, "label"),
        ("q", ["a", "", "b"], 1, "bucket"),
        ("kind", ["original", "twin", "swap"], 1, "role"),
        ("answer", ["no", "no", "yes"], 0, "prediction"),
        ("p", [0.9, 1.2, 0.7], 1, "confidence"),
        ("probabilities", [[0.9, 0.1], [0.2, 0.8], [1.0]], 2, "probabilities"),
        ("probabilities", [[0.9, 0.1], [0.2, 0.7], [0.3, 0.7]], 1, "probabilities"),
    ],
)
def test_a_bad_value_is_an_error_of_the_field_and_says_column_and_row(column, values, row, parameter):
    with pytest.raises(InputError) as e:
        rows_of({**COLUMNS, column: values}, confidence="p" if column == "p" else None)
    assert (e.value.parameter, e.value.row) == (parameter, row)
    assert column in str(e.value)


# ---------- The checks that rows pass while a set is built


def checked(rows: list[dict], counts: dict[str, int] | None = None) -> None:
    checker = SplitChecker(
        where="build toy",
        task=get_task("nli"),
        n_labels=3,
        strata={"worker": "int32"},
        counts={"original": 2, "paraphrase": 4} if counts is None else counts,
    )
    for row in rows:
        checker.add({"input_id": "i", "group_id": "g", "allowed_labels": [row.get("label")], **row})
    checker.finish()


def test_good_rows_pass():
    checked(toy_rows())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"example_id": "b0.0"}, r"`example_id` must be unique in the split; got 'b0\.0' at row b0\.0"),
        ({"example_id": ""}, "`example_id` must not be empty"),
        ({"premise": None}, r"`premise` must be text; got None at row b1\.2"),
        ({"worker": None}, "`worker` must be of type int32; got None"),
        ({"worker": True}, "`worker` must be of type int32; got True"),
        ({"worker": "1"}, "`worker` must be of type int32; got '1'"),
        ({"extra": 1}, r"declared columns \(missing: \[\], not declared: \['extra'\]\)"),
        ({"role": "copy"}, "`role` must be one of original"),
        ({"role": "original"}, "`counts` must be"),
        ({"label": 3, "allowed_labels": [3]}, "`label` must be a class from 0 to 2, or -1; got 3"),
        ({"label": "contradiction"}, "`label` must be a class"),
        ({"label": True}, "`label` must be a class"),
        ({"label": 1, "allowed_labels": [1]}, "`label` must be 2 throughout bucket b1; got 1"),
        ({"allowed_labels": []}, "`allowed_labels` must be a list of at least one class"),
        ({"allowed_labels": [0]}, "`allowed_labels` must be classes, the label among them"),
        ({"bucket_id": "b2"}, "`role` must be `original` exactly once in bucket b2; got '0 times'"),
    ],
)
def test_bad_rows(change, message):
    rows = toy_rows()
    rows[-1] |= change
    refuses(message, checked, rows)


def test_a_missing_column():
    rows = toy_rows()
    del rows[2]["hypothesis"]
    refuses(r"missing: \['hypothesis'\].* at row b0\.2", checked, rows)


def test_declared_counts():
    refuses(r"`counts` must be .*'paraphrase': 4.* rows per role; got .*'paraphrase': 3", checked, toy_rows()[:-1])


def places(roles: list[str], labels: list[int]) -> list[dict]:
    """One bucket with a row for each role."""
    return [
        {**toy_rows()[0], "example_id": f"x.{i}", "role": role, "label": label}
        for i, (role, label) in enumerate(zip(roles, labels, strict=True))
    ]


@pytest.mark.parametrize(
    ("roles", "labels"),
    [
        (["original", "negation"], [0, 2]),
        (["original", "swap"], [2, 2]),
        (["antecedent_1", "antecedent_2", "consequent"], [2, 0, 2]),
        (["part_1", "part_2", "merged"], [1, 1, 1]),
    ],
)
def test_buckets_of_every_kind(roles, labels):
    checked(places(roles, labels), counts=dict.fromkeys(roles, 1))


@pytest.mark.parametrize(
    ("roles", "labels", "message"),
    [
        (["original", "negation"], [0, 0], "`label` must differ from that of the original of bucket b0; got 0"),
        (["original", "swap"], [2, 1], "`label` must be 2 throughout bucket b0; got 1"),
        (["part_1", "part_2", "merged"], [1, 1, 0], "`label` must be 1 throughout bucket b0; got 0"),
    ],
)
def test_gold_labels_follow_the_roles(roles, labels, message):
    refuses(message, checked, places(roles, labels), counts=dict.fromkeys(roles, 1))


def test_a_bucket_without_its_consequent():
    rows = places(["antecedent_1", "antecedent_2", "consequent"] * 2, [2, 0, 2] * 2)
    for row in rows[3:]:
        row["bucket_id"] = "b1"
    rows[5]["bucket_id"] = "b0"
    with pytest.raises(InputError, match="`role` must be `consequent` exactly once in bucket b0; got '2 times'"):
        checked(rows, counts={"antecedent_1": 2, "antecedent_2": 2, "consequent": 2})
