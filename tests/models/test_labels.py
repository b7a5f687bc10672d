"""Labels meet by name; anything else is refused or said."""

import numpy as np
import pytest

from paraconsist.errors import InputError
from paraconsist.models.labels import ALIASES, normalise_label, resolve_label_map

NLI = ("entailment", "neutral", "contradiction")
TWO_WAY = ("entailment", "not_entailment")


def test_permuted_names_are_put_in_the_tasks_order():
    found = resolve_label_map(("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), NLI)
    assert found.targets == (2, 1, 0)
    predictions, probabilities = found.apply([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    assert predictions.tolist() == [2, 0]
    np.testing.assert_array_equal(probabilities, [[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]])
    assert found.is_one_to_one
    assert not found.is_identity


@pytest.mark.parametrize(
    ("model", "task"),
    [
        (("Entailed", "not-entailed"), TWO_WAY),
        (("entailment", "NOT_ENTAILMENT"), TWO_WAY),
        (("weakens", "Strengthener"), ("weakener", "strengthener")),
        (("hypothesis1", "HYPOTHESIS_2"), ("hypothesis_1", "hypothesis_2")),
        (("not_equivalent", "equivalent"), ("not_paraphrase", "paraphrase")),
        (("False", "True"), ("no", "yes")),
    ],
)
def test_names_meet_in_spite_of_case_hyphens_and_aliases(model, task):
    assert resolve_label_map(model, task).is_identity


def test_no_name_stands_in_two_alias_groups():
    names = [name for group in ALIASES for name in group]
    assert len(names) == len(set(names))
    assert all(normalise_label(name) == group[0] for group in ALIASES for name in group)


@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1"), ("0", "1"), ("label-0", "Class 1")])
def test_names_that_say_nothing_are_refused_with_the_option_to_type(names):
    with pytest.raises(InputError, match=r"configuration has none.*weakener, strengthener.*`label_map`") as caught:
        resolve_label_map(names, ("weakener", "strengthener"))
    assert f"`label_map` {names[0]}=TASK_LABEL `label_map` {names[1]}=TASK_LABEL" in str(caught.value)
    assert all(name in str(caught.value) for name in names)


def test_a_map_names_what_says_nothing():
    mapping = {"LABEL_1": "weakener", "0": "strengthener"}
    found = resolve_label_map(("LABEL_0", "LABEL_1"), ("weakener", "strengthener"), mapping)
    assert found.targets == (1, 0)
    assert found.describe() == "LABEL_0=strengthener,LABEL_1=weakener"


def test_many_to_one_argmax_and_sum_differ_where_they_should():
    mapping = {"contradiction": "not_entailment", "neutral": "not_entailment"}
    given = [[0.4, 0.3, 0.3], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]
    first = resolve_label_map(NLI, TWO_WAY, mapping)
    second = resolve_label_map(NLI, TWO_WAY, mapping, rule="sum")
    assert first.apply(given)[0].tolist() == [0, 0, 1]
    assert second.apply(given)[0].tolist() == [1, 0, 1]
    for found in (first, second):
        np.testing.assert_allclose(found.apply(given)[1], [[0.4, 0.6], [0.6, 0.4], [0.1, 0.9]])
    assert first.describe() == "entailment=entailment,neutral=not_entailment,contradiction=not_entailment;rule=argmax"
    assert second.describe().endswith("rule=sum")


@pytest.mark.parametrize("rule", ["argmax", "sum"])
def test_a_partial_map_leaves_answers_unparsed(rule):
    labels = ("yes", "no", "irrelevant")
    found = resolve_label_map(labels, ("no", "yes"), {"yes": "yes", "no": "no"}, rule=rule)
    predictions, probabilities = found.apply([[0.2, 0.1, 0.7], [0.5, 0.3, 0.2]])
    assert predictions.tolist() == [-1, 1]
    np.testing.assert_allclose(probabilities, [[0.1, 0.2], [0.3, 0.5]])
    assert "irrelevant=(none)" in found.describe()


@pytest.mark.parametrize(
    ("model", "task", "mapping", "match"),
    [
        (NLI, TWO_WAY, None, "no task label is called neutral, contradiction"),
        (("entailment", "neutral"), NLI, None, "never answer contradiction"),
        (NLI, TWO_WAY, {"maybe": "entailment"}, "map labels that the model has; got 'maybe'"),
        (NLI, TWO_WAY, {"neutral": "perhaps"}, "map to labels that the task has; got 'perhaps'"),
        (NLI, TWO_WAY, {"7": "entailment"}, "map labels that the model has"),
        (("a", "b"), TWO_WAY, {"a": "entailment"}, "never answer not_entailment"),
        (("a", "A"), TWO_WAY, None, "names that differ"),
        (("a", "b"), ("yes", "true"), None, "names that differ"),
        ((), TWO_WAY, None, "not be empty"),
        (("a", "b"), TWO_WAY, {"a": "entailment", "0": "not_entailment"}, "map each model label once"),
    ],
)
def test_maps_that_cannot_be_right_are_errors(model, task, mapping, match):
    with pytest.raises(InputError, match=match):
        resolve_label_map(model, task, mapping)


def test_unknown_rule_and_wrong_shape():
    with pytest.raises(InputError, match="`rule` must be one of argmax, sum; got 'max'"):
        resolve_label_map(NLI, NLI, rule="max")
    with pytest.raises(InputError, match=r"shape \(n, 3\)"):
        resolve_label_map(NLI, NLI).apply([[0.5, 0.5]])


def test_identity_and_empty_input():
    found = resolve_label_map(NLI, NLI)
    assert found.describe() == "identity"
    predictions, probabilities = found.apply(np.empty((0, 3)))
    assert predictions.shape == (0,)
    assert probabilities.shape == (0, 3)
