"""Negation by rule and by antonym, and WordNet's reader."""

from collections import Counter

import pytest
from helpers.errors import refuses
from helpers.examples import examples
from helpers.perturb import labelled, wordnet_or_skip, write_csv
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.transforms.dictionary import replace_span
from paraconsist.transforms.lexicon import find_wordnet, load_lexicon, load_wordnet
from paraconsist.transforms.negation import (
    antonym,
    antonyms_from_list,
    antonyms_from_wordnet,
    is_negated,
    negate,
    negation,
)


@pytest.fixture
def lexicon():
    wordnet_or_skip()
    return load_lexicon()


@pytest.mark.parametrize(
    ("text", "expected", "method"),
    [
        ("Two dogs are running.", "Two dogs are not running.", "not"),
        ("A man and a woman are outside", "A man and a woman are not outside", "not"),
        ("He can swim.", "He can not swim.", "not"),
        ("This road has been signed.", "This road has not been signed.", "not"),
        ("The boy was able to do it.", "The boy was not able to do it.", "not"),
        ("There is a girl on the sand.", "There is no girl on the sand.", "no"),
        ("There are some people outside.", "There are no people outside.", "no"),
        ("There are two men with food.", "There are not two men with food.", "not"),
        ("The man has a dog.", "The man does not have a dog.", "do not"),
        ("They had their lunch.", "They did not have their lunch.", "do not"),
        ("A child does a trick.", "A child does not do a trick.", "do not"),
    ],
)
def test_negation_without_a_lexicon(text, expected, method):
    assert negate(text) == (expected, method)
    assert is_negated(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man adjusts his tie looking at a laptop", "A man does not adjust his tie looking at a laptop"),
        ("A child plays with two brooms outside", "A child does not play with two brooms outside"),
        ("The dog ate a spoon.", "The dog did not eat a spoon."),
        ("An international convention banned the trade.", "An international convention did not ban the trade."),
        ("Two men sit on a bench.", "Two men do not sit on a bench."),
        ("They play outside.", "They do not play outside."),
        ("A boy rides a horse.", "A boy does not ride a horse."),  # not "rid", whose forms those might be too
        ("The terrorists crashed the plane.", "The terrorists did not crash the plane."),
    ],
)
def test_negation_of_lexical_verbs(lexicon, text, expected):
    assert negate(text, lexicon) == (expected, "do not")
    assert negate(text).note == "no auxiliary (lexical verbs need WordNet)"


@pytest.mark.parametrize(("text", "reason"), [
    ("Some people are outside.", "a word of quantity or frequency: some"),
    ("He is still here.", "a word of quantity or frequency: still"), ("Nobody is here.", "already negated"),
    ("It isn't here.", "already negated"), ("The shop doesn 't open .", "already negated"),
    ("The man who is here is old.", "another clause, or a list: who"),
    ("A man is singing and a dog barks.", "another clause, or a list: and"),
    ("It is said he is ill.", "another clause, or a list: he"), ("Dogs are small, cats are not", "already negated"),
    ("Dogs are small, cats are smaller", "punctuation inside the sentence"),
    ("It is late. We are tired.", "punctuation inside the sentence"), ("He's here.", "a contracted verb"),
    ("Is it late?", "a question"), ("The man is the one that was here.", "another clause, or a list: that"),
    ("What there is is good.", "more than one verb"), ("That is how it is", "another clause, or a list: how"),
    ("Their is a girl.", "where the subject ends is not clear"),
    ("The woman has closed eyes.", "auxiliary or main verb: has"), ("Yes, it is", "punctuation inside the sentence"),
    ("Run!", "fewer than two words"), ("There is the man.", "what there is is not clear")
])  # fmt: skip
def test_what_is_not_clear_is_left_alone(text, reason):
    assert negate(text) == (None, reason)


@pytest.mark.parametrize(
    "text", ["A man dressed in blue.", "A dog with brown spots.", "The girls left early.", "A man in a hat"]
)
def test_what_may_be_no_sentence_is_left_alone(lexicon, text):
    assert negate(text, lexicon).text is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("is it legal to cover a song", "is it not legal to cover a song"),
        ("Can you see stars from here?", "Can you not see stars from here?"),
        ("is there a word with q without u", None),
        ("is there a play off for third place", "is there no play off for third place"),
        ("is there going to be a season 3", None),
        ("is the liver part of the excretory system", None),
    ],
)
def test_negation_of_questions(text, expected):
    assert negate(text, question=True).text == expected


WORDS = ["a", "the", "dog", "is", "are", "not", "and", "has", "been", ",", "who", "two", "there", "it", "outside"]


@given(st.lists(st.sampled_from(WORDS)))
@examples(300)
def test_negation_only_adds_words(words):
    text = " ".join(words)
    for question in (False, True):
        found = negate(text, question=question).text
        if found is not None:
            assert is_negated(found)
            assert not is_negated(text)
            kept = [w for w in found.split() if w.strip(".,") not in {"not", "no", "do", "does", "have"}]
            assert kept == [w for w in kept if w in words]


def test_negation_turns_positive_rows_only():
    rows = [
        ("p", "The dog is here.", "entailment"),
        ("p", "A cat is here.", "neutral"),
        ("p", "All is well.", "entailment"),
    ]
    skipped = Counter()
    (item,) = negation(labelled("nli", rows), None, skipped)
    assert item.places[1] == ("negation", ("p", "The dog is not here."), 2, (2,))
    assert item.strata == {"method": "not"}
    assert skipped == {
        "label neutral: negation does not turn it": 1,
        "a word of quantity or frequency": 1,
    }
    two_way = labelled("nli", [("p", "It is wet.", "entailment")], ("entailment", "not_entailment"))
    (item,) = negation(two_way, None, skipped)
    assert item.places[1] == ("negation", ("p", "It is not wet."), 1, (1,))
    (item,) = negation(labelled("yes_no_qa", [("is it wet", "It rained.", "yes")]), None, skipped)
    assert item.places[1] == ("negation", ("is it not wet", "It rained."), 0, (0,))


@pytest.mark.parametrize(("text", "word", "by", "expected"), [
    ("An old man", "old", "young", "A young man"), ("a young man", "young", "old", "an old man"),
    ("Open doors", "Open", "shut", "Shut doors"), ("AN OLD MAN", "OLD", "young", "A YOUNG MAN"),
    ("a dishonest act", "dishonest", "honest", "an honest act"), ("an odd use", "odd", "usual", "a usual use"),
    ("a usual use", "usual", "unusual", "an unusual use"),
    ("a known man", "known", "unidentified", "an unidentified man"), ("Is an old one", "old", "new", "Is a new one")
])  # fmt: skip
def test_replacing_a_word_keeps_case_and_mends_the_article(text, word, by, expected):
    start = text.index(word)
    assert replace_span(text, start, start + len(word), by) == expected


def test_antonyms_from_a_list(tmp_path):
    path = write_csv(tmp_path / "antonyms.csv", ["word", "antonym"], [("Hot", "cold"), ("hot", "icy"), ("up", "down")])
    look_up = antonyms_from_list(path)
    data = labelled("paraphrase_identification", [("s", "A hot day, not hot.", "paraphrase")])
    skipped = Counter()
    assert list(antonym(data, look_up, skipped)) == []
    assert skipped == {"already negated": 1}
    data = labelled("paraphrase_identification", [("s", "A hot day up here.", "paraphrase")])
    items = list(antonym(data, look_up, skipped))
    assert [i.places[1].texts[1] for i in items] == [
        "A cold day up here.",
        "An icy day up here.",
        "A hot day down here.",
    ]
    assert {i.places[1].label for i in items} == {0}
    assert {i.group_id for i in items} == {"e0"}
    with pytest.raises(InputError, match="have the columns word, antonym"):
        antonyms_from_list(write_csv(tmp_path / "bad.csv", ["a", "b"], [("x", "y")]))
    refuses("name a CSV sheet that can be read", antonyms_from_list, tmp_path / "none.csv")


def test_wordnet_antonyms(lexicon):
    look_up = antonyms_from_wordnet()
    assert look_up("young") == ("old",)
    assert look_up("small") == ("big", "large")
    assert look_up("inside") == ("outside",)
    assert look_up("man") == ()  # a noun
    assert look_up("more") == ()
    assert look_up("qwerty") == ()


def test_wordnet_forms(lexicon):
    assert lexicon.base_forms("ran", "v") == ["run"]
    assert lexicon.base_forms("qwerty", "v") == []
    assert lexicon.frequency("plays", "v") > lexicon.frequency("plays", "n") > 0
    assert lexicon.frequency("qwerty", "v") == -1


def test_no_wordnet_says_how_to_get_it(monkeypatch, tmp_path):
    refuses(r"hold WordNet's dict files .*python -m nltk.downloader wordnet", find_wordnet, tmp_path)
    monkeypatch.setattr("paraconsist.transforms.lexicon.find_wordnet", lambda folder=None: None)
    refuses(r"be found, and nltk installed\. .*apt-get install wordnet-base", load_wordnet)
