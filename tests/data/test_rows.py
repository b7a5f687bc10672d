"""From a predictions table to the rows that measures read: which column an error names, what counts as unparsed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from paraconsist.data.answers import UNPARSED
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
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


def test_probabilities_of_gold_and_predicted_labels():
    rows = rows_of()
    assert rows.confidences.tolist() == [0.9, 0.2, 0.7]
    np.testing.assert_array_equal(rows.predicted_confidences, [0.9, np.nan, 0.7])


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
        ("answer", ["0", "0", "1"], 0, "prediction"),
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
