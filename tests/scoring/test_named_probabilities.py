"""Probabilities in columns called as the labels are read by name, whatever the order of the columns."""

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.errors import InputError

NAMES = ("weakener", "strengthener")


def rows(labels=NAMES, columns=NAMES):
    """Twelve buckets of an original and three paraphrases; a model whose probabilities have two decimals."""
    rng = np.random.default_rng(0)
    n = 48
    gold, p = np.repeat(rng.integers(0, 2, n // 4), 4), rng.uniform(size=n).round(2)
    table = pd.DataFrame({"bucket_id": np.repeat(np.arange(n // 4), 4), "role": ["original", *["paraphrase"] * 3] * 12})
    table["label"] = [labels[place] for place in gold]
    table["prediction"] = [labels[place] for place in (p >= 0.5).astype(int)]
    return table.assign(**{columns[0]: 1 - p, columns[1]: p}), np.where(gold == 1, p, 1 - p)


def confidences(table, **options):
    return pc.score(table, **options).sets["predictions"].rows.confidences


@pytest.mark.parametrize("label_names", [None, NAMES, NAMES[::-1]])
@pytest.mark.parametrize("columns", [NAMES, NAMES[::-1]])
def test_named_labels(columns, label_names):
    table, of_gold = rows()
    np.testing.assert_array_equal(confidences(table, probabilities=columns, label_names=label_names), of_gold)


@pytest.mark.parametrize("labels", [(0, 1), (1, 2)])
def test_numbers(labels):
    table, of_gold = rows(labels, tuple(map(str, labels)))
    for columns in (list(map(str, labels)), list(map(str, labels[::-1]))):
        np.testing.assert_array_equal(confidences(table, probabilities=columns), of_gold)


def test_columns_with_other_names_are_in_the_order_of_label_names():
    table, of_gold = rows(columns=("P0", "P1"))
    np.testing.assert_array_equal(confidences(table, probabilities="P0,P1", label_names=NAMES), of_gold)


@pytest.mark.parametrize("label_names", [None, NAMES])
@pytest.mark.parametrize(
    ("columns", "got"),
    [(("weakener", "neutral"), "['weakener', 'neutral']"), (("weakener", "strengthener", "neutral"), "['neutral']")],
)
def test_a_label_without_a_column_and_a_column_without_a_label(columns, got, label_names):
    table = rows()[0].assign(neutral=0.0)
    with pytest.raises(InputError) as refused:
        pc.score(table, probabilities=columns, label_names=label_names)
    assert refused.value.parameter == "probabilities"
    assert got in str(refused.value)
    assert "weakener" in str(refused.value)
    assert "strengthener" in str(refused.value)


def test_unnamed_columns_of_named_labels_are_an_error():
    with pytest.raises(InputError, match=r"called as the label.*label_names"):
        pc.score(rows(columns=("P0", "P1"))[0], probabilities="P0,P1")


def test_the_full_test_set_has_named_labels_too():
    table, _ = rows()
    numbers = table.assign(label=[NAMES.index(label) for label in table["label"]])
    wholes = [
        pc.score(one, test=test, label_names=NAMES, probabilities=NAMES[::-1]).sets["predictions"].measures
        for one in (table, numbers)
        for test in (table, numbers)
    ]
    found = {str(measures["paraphrastic_consistency"].to_dict()) for measures in wholes}
    assert len(found) == 1
    assert np.isfinite(wholes[0]["paraphrastic_consistency"]["corrected_paraphrastic_consistency"])
