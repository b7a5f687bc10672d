"""Tasks: what a model reads for a row, and when two rows are the same input."""

import pytest
from helpers.errors import refuses
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data.tasks import TASKS, ModelInput, Task, Template, get_task, infer_task, input_id
from paraconsist.errors import InputError

DELTA = {"premise": "A dog barks.", "hypothesis": "Someone is at the door.", "update": "The bell rang."}
ALPHA = {
    "observation_1": "Ann left early.",
    "observation_2": "She was late.",
    "hypothesis_1": "The bus broke down.",
    "hypothesis_2": "The bus was on time.",
}


def test_defeasible_nli_joins_premise_and_hypothesis():
    assert get_task("defeasible_nli").encode(DELTA) == ModelInput(
        "A dog barks. Someone is at the door.", "The bell rang."
    )


def test_an_empty_premise_gives_no_leading_space():
    assert get_task("defeasible_nli").encode({**DELTA, "premise": ""}).text == "Someone is at the door."


def test_spaces_inside_a_text_are_kept():
    encoded = get_task("defeasible_nli").encode({**DELTA, "hypothesis": "  Someone.", "update": " It rang "})
    assert encoded == ModelInput("A dog barks.   Someone.", " It rang ")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("a", "b", "c"), "a b c"),
        (("", "b", "c"), "b c"),
        (("a", "", "c"), "a c"),
        (("a", "b", ""), "a b"),
        (("", "", "c"), "c"),
        (("a", "", ""), "a"),
        (("", "", ""), ""),
    ],
)
def test_empty_texts_take_their_joining_space_with_them(texts, expected):
    values = dict(zip(("x", "y", "z"), texts, strict=True))
    assert Template("{x} {y} {z}", None).render(values) == ModelInput(expected, None)


def test_braces_in_a_text_are_text():
    assert get_task("nli").encode({"premise": "{hypothesis}", "hypothesis": "{0} }{"}) == ("{hypothesis}", "{0} }{")


def test_abductive_nli_single_and_choices():
    task = get_task("abductive_nli")
    assert task.encode(ALPHA) == ("Ann left early. She was late.", "The bus broke down. The bus was on time.")
    assert task.encode_choices(ALPHA) == (
        ("Ann left early. The bus broke down.", "She was late."),
        ("Ann left early. The bus was on time.", "She was late."),
    )


def test_labels():
    assert get_task("defeasible_nli").label_names == ("weakener", "strengthener")
    assert get_task("abductive_nli").label_names == ("hypothesis_1", "hypothesis_2")
    assert get_task("nli").label_names == ("entailment", "neutral", "contradiction")
    assert get_task("paraphrase_identification").label_names == ("not_paraphrase", "paraphrase")
    assert get_task("yes_no_qa").label_names == ("no", "yes")
    assert get_task("word_in_context").label_names == ("different_sense", "same_sense")
    assert get_task("sentiment").label_names == ("negative", "positive")
    assert get_task("topic").label_names == ("world", "sports", "business", "sci_tech")


@pytest.mark.parametrize(
    ("task", "row", "expected"),
    [
        ("paraphrase_identification", {"sentence_1": "It rains.", "sentence_2": "Rain."}, ("It rains.", "Rain.")),
        ("yes_no_qa", {"question": "is it wet", "passage": "It rained."}, ("is it wet", "It rained.")),
        (
            "word_in_context",
            {"sentence_1": "A warm coat.", "sentence_2": "A coat of paint.", "word": "coat"},
            ("coat: A warm coat.", "A coat of paint."),
        ),
        ("sentiment", {"text": "What a bore."}, ("What a bore.", None)),
        ("topic", {"text": "Rovers win again."}, ("Rovers win again.", None)),
    ],
)
def test_what_a_classifier_reads(task, row, expected):
    assert get_task(task).encode(row) == expected


def test_choices_of_a_task_without_any():
    with pytest.raises(InputError, match=r"`task` must be one that can be put as multiple choice; got 'nli'"):
        get_task("nli").encode_choices({"premise": "a", "hypothesis": "b"})


def test_a_missing_column_is_named_with_its_example():
    row = {"example_id": "x.7", "premise": "a", "hypothesis": "b"}
    with pytest.raises(InputError, match=r"task defeasible_nli: `update` must be a column of the data; .* at row x\.7"):
        get_task("defeasible_nli").encode(row)


@pytest.mark.parametrize("value", [None, float("nan"), 3, b"bytes", ["a"]])
def test_anything_but_text_is_refused(value):
    row = {**DELTA, "update": value, "example_id": "x.7"}
    for function in (get_task("defeasible_nli").encode, lambda r: input_id("defeasible_nli", r)):
        refuses(r"`update` must be text; got .* at row x\.7", function, row)


def test_unknown_task():
    refuses(r"be one of defeasible_nli, abductive_nli, .*, topic, questions; got 'nil'", get_task, "nil")


def test_infer_task_takes_the_one_with_most_columns():
    assert infer_task([*DELTA, "label"]).name == "defeasible_nli"
    assert infer_task(iter(["hypothesis", "premise"])).name == "nli"
    assert infer_task([*ALPHA, "premise", "hypothesis"]).name == "abductive_nli"
    refuses("hold all input columns of one task", infer_task, ["sentence", "label"])


def test_infer_task_of_every_tasks_own_columns():
    for name, task in TASKS.items():
        if task.columns == ("text",):
            refuses("They fit sentiment and topic: name it as `task`", infer_task, [*task.columns, "label"])
        else:
            assert infer_task([*task.columns, "label"]).name == name
    assert infer_task(["text", "premise", "hypothesis"]).name == "nli"


def test_template_hashes_differ_and_stay():
    # A changed hash makes every stored prediction stale: change these only with the templates.
    assert {name: task.template_hash for name, task in TASKS.items()} == {
        "defeasible_nli": "9b7f324fcf6483d3",
        "abductive_nli": "d99d969dba5e7405",
        "nli": "82bdd7910212c3be",
        "paraphrase_identification": "3146fd53005e64b4",
        "yes_no_qa": "60e54f5e7f9dc40f",
        "word_in_context": "80dc0309a45e870d",
        "sentiment": "fe7b1e1d3e7e849f",  # the same as topic's: input ids hold the task's name
        "topic": "fe7b1e1d3e7e849f",
    }


def test_input_ids_stay():
    assert input_id("nli", {"premise": "It rains.", "hypothesis": "It is wet."}) == "ced49ea4e94069c9ee28758b8ef5ca77"


def test_input_id_depends_on_task_and_texts_only():
    base = input_id("defeasible_nli", DELTA)
    assert base == input_id(get_task("defeasible_nli"), {"label": 1, **dict(reversed(DELTA.items()))})
    assert base != input_id("nli", DELTA)
    assert all(base != input_id("defeasible_nli", {**DELTA, column: "other"}) for column in DELTA)


def test_moving_text_between_columns_changes_the_id():
    ids = {
        input_id("nli", {"premise": p, "hypothesis": h})
        for p, h in [("ab", ""), ("a", "b"), ("", "ab"), ("a\0b", ""), ("a", "\0b"), ("a b", "")]
    }
    assert len(ids) == 6


_texts = st.text(alphabet=st.characters(exclude_categories=[]), max_size=8)


@given(_texts, _texts, _texts, _texts)
def test_equal_ids_only_for_equal_texts(p, h, q, k):
    same = (p, h) == (q, k)
    first = input_id("nli", {"premise": p, "hypothesis": h})
    assert (first == input_id("nli", {"premise": q, "hypothesis": k})) == same
    assert len(first) == 32
    assert int(first, 16) >= 0


def test_a_task_checks_its_templates():
    with pytest.raises(ValueError, match="columns it does not have"):
        Task("x", "", ("a",), ("no", "yes"), Template("{b}", None))
    with pytest.raises(ValueError, match="one choice template per label"):
        Task("x", "", ("a",), ("no", "yes"), Template("{a}", None), (Template("{a}", None),))
    with pytest.raises(ValueError, match="plain"):
        Task("x", "", ("a",), ("no", "yes"), Template("{a!r}", None))


@pytest.mark.parametrize("texts", [["a b", "{premise}", "é %s", " c "], ["a", "", " b", ""]])
def test_rows_at_once_are_rendered_as_one_by_one(texts):
    for task in TASKS.values():
        columns = {name: texts[i:] + texts[:i] for i, name in enumerate(task.columns)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for template in (task.single, *task.choices):
            assert template.render_all(columns) == [template.render(row) for row in rows]
