"""The kinds of edit: a list by hand, other languages, several texts in a row."""

import csv
from pathlib import Path

import pytest

from paraconsist.errors import InputError
from paraconsist.measures.edit_effects import EDIT_KINDS, ENGLISH_KINDS, edit_kinds

LIST = Path(__file__).parent.parent / "data" / "edit_pairs.csv"


def kinds_of(*pairs: tuple[str, str], **options: bool) -> list[set[str]]:
    found = edit_kinds(*zip(*pairs, strict=True), buckets=range(len(pairs)), **options)
    return [{kind for kind, flag in found.items() if flag[row]} for row in range(len(pairs))]


def test_the_kinds_of_200_pairs_labelled_by_hand_are_found():
    """Written before the code (length and rare words counted); at least twenty of each kind, the rest near misses."""
    with LIST.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    labels = [set(line["kinds"].split(";")) - {""} for line in lines]
    found = kinds_of(*((line["original"], line["rewording"]) for line in lines))
    assert len(lines) == 200
    for kind in EDIT_KINDS:
        wanted, got = ([kind in row for row in rows] for rows in (labels, found))
        both = sum(a and b for a, b in zip(wanted, got, strict=True))
        assert sum(wanted) >= 20
        assert sum(a == b for a, b in zip(wanted, got, strict=True)) >= 0.95 * 200, kind
        assert min(both / sum(got), both / sum(wanted)) >= 0.95, kind


@pytest.mark.parametrize(
    ("original", "rewording", "kinds"),
    [
        ("le chat dort ici", "ici dort le chat", {"order"}),
        ("मैं घर जाता हूँ", "मैं घर जाता हूँ।", {"punctuation"}),
        ("שלום לכולם", "שלום  לכולם", {"white space"}),
        ("他们今天回家", "今天他们回家", {"order"}),
        ("ฉันชอบชา", "ฉันชอบชา ", {"white space"}),
        ("Das Haus hat 12 Türen", "Das Haus hat 13 Türen", {"number"}),
        ("café noir", "cafe\u0301 noir", set()),  # the same letters: no kind of edit
        ("no hay nada", "hay nada", {"word in or out", "length"}),  # no English, and so no negation
    ],
)
def test_other_languages_have_the_kinds_that_need_no_english_words(original, rewording, kinds):
    assert kinds_of((original, rewording))[0] - {"rare word"} == kinds
    assert not set(ENGLISH_KINDS) & set(edit_kinds([original], [rewording], [0]))


@pytest.mark.faults
@pytest.mark.parametrize(
    ("original", "rewording", "kinds"),
    [
        ("3 dogs", "three dogs", set()),
        ("We saw 23 dogs there.", "We saw twenty-three dogs there.", {"punctuation"}),
        ("We saw three dogs.", "We saw 3 very big dogs.", {"length"}),
        ("He is right, surely.", "He is right, without a doubt.", {"length"}),
        ("He left without a word.", "He left with a word.", {"negation"}),
        ("The house he built is old.", "The house built by him is old.", {"passive"}),
        ("He was seen by her.", "She saw him.", {"passive", "length"}),
        ("The man is by the river.", "The man walked by the river.", set()),
        ("Dogs bark.", "Dogs barked.", {"length"}),  # 10 letters for 8, a quarter more
        ("Dogs bark.", "Dogs barks.", set()),
        ("It grew slowly and improved.", "It improved by growing slowly.", {"order"}),
    ],
)
def test_numbers_have_no_length_certainty_is_no_negation_and_an_agent_makes_a_passive(original, rewording, kinds):
    found = kinds_of((original, rewording), english=True)[0]
    assert found - {"rare word", "word in or out"} == kinds


def test_several_texts_of_a_row_have_the_kinds_of_any_and_a_swap_has_none():
    rows = [("The cat sleeps.", "It is late."), ("The cat does not sleep.", "It is late.")]
    assert edit_kinds(rows[:1], rows[1:], [0])["negation"].tolist() == [True]
    assert not any(flag.any() for flag in edit_kinds(rows[:1], [rows[0][::-1]], [0]).values())


def test_a_word_is_rare_by_the_buckets_it_stands_in_not_by_its_wordings():
    pairs = [("We eat.", "We dine.")] * 3 + [("They eat.", "They dine."), ("You sit.", "You dine.")]
    buckets = [0, 0, 0, 1, 2]
    assert not edit_kinds(*zip(*pairs, strict=True), buckets)["rare word"].any()
    assert edit_kinds(*zip(*pairs[:3], strict=True), buckets[:3])["rare word"].all()


@pytest.mark.parametrize(
    ("columns", "parameter"),
    [((["a"], [], [0]), "rewordings"), ((["a"], ["b"], []), "buckets"), (([("a", "b")], ["c"], [0]), "rewordings")],
)
def test_columns_that_do_not_fit_are_refused(columns, parameter):
    with pytest.raises(InputError) as problem:
        edit_kinds(*columns)
    assert problem.value.parameter == parameter
