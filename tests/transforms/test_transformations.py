"""Transformations: words replaced by hand-worked rules, dictionaries, functions, what was changed; bad input."""

from __future__ import annotations

import json
import warnings
from collections import Counter

import pytest
from helpers.perturb import wordnet_or_skip, write_csv

from paraconsist.errors import InputError
from paraconsist.transforms.dictionary import (
    FittedDictionary,
    article_for,
    bare_word_spans,
    bare_words,
    check_dictionary,
    read_dictionary,
    read_words,
    write_dictionary,
)
from paraconsist.transforms.interface import (
    Substitution,
    apply_to_columns,
    change_statistics,
    differences,
    lengths_by_label,
    plain_text,
)
from paraconsist.transforms.registry import TRANSFORMATIONS, transformation
from paraconsist.transforms.wordnet_nouns import ListTagger

# Replacing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A boat, and a Boat; BOAT!", "A ship, and a Ship; SHIP!"),
        ("The boat's sail", "The ship's sail"),
        ("The boat’s sail", "The ship’s sail"),
        ("a boat-house, boats and boating", "a boat-house, boats and boating"),
        ("don't  touch\tthe boat\n", "don't  touch\tthe ship\n"),
        ("", ""),
    ],
)
def test_words_are_replaced_where_they_stand_whole(text, expected):
    assert FittedDictionary({"boat": "ship", "don": "lord"}).apply([text]) == [expected]


def test_plain_texts_have_neither_case_nor_punctuation():
    assert plain_text(" The T-shirt, isn't\tIT? ") == "the tshirt isnt it"
    assert FittedDictionary({"boat": "ship"}, surface="plain").apply(["The Boat's; boat."]) == ["the boats ship"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A boat and a dog", "An ark and a dog"),
        ("an, boat", "an, ark"),
        ("An urchin, a woman", "A child, an hourly wage"),
    ],
)
def test_articles_are_repaired_before_replaced_words_only(text, expected):
    dictionary = {"boat": "ark", "urchin": "child", "woman": "hourly wage"}
    assert FittedDictionary(dictionary, repair_articles=True).apply([text]) == [expected]
    assert "A ark" in FittedDictionary(dictionary).apply(["A boat"])[0]


@pytest.mark.parametrize(
    ("word", "article"),
    [
        *[(word, "an") for word in ("eatery", "hour", "honour", "uninvited guest", "umbrella", "onerous")],
        *[
            (word, "a")
            for word in ("union", "European", "dog", "one", "utensil", "utopia", "using", "unimodal", "Uranus")
        ],
    ],
)
def test_article_for(word, article):
    assert article_for(word) == article


def test_words_and_their_places_agree():
    text = "The man’s T-shirt isn't Ann's."
    assert [text[i:j].lower() for i, j in bare_word_spans(text)] == bare_words(text)
    assert bare_words(text) == ["the", "man", "t-shirt", "isn't", "ann"]


def test_substitutions_name_the_word_they_are():
    made = FittedDictionary({"boat": "ship"}).substitutions("A Boat, the boat's")
    assert made == [Substitution("boat", "ship")] * 2
    assert [one.word for one in made] == [1, 3]


# Suffixes


def test_tautology_suffixes():
    fitted = transformation("suffix").fit([])
    assert fitted.apply(["Dogs bark.", "Why?! ", "", "no end"]) == [
        "Dogs bark and true is true.",
        "Why and true is true?! ",
        "",
        "no end and true is true",
    ]
    assert transformation("suffix", suffix="length").parameters == {"suffix": "and true is true", "times": 5}
    assert transformation("suffix", suffix="or so", times=2).fit([]).apply(["Yes"]) == ["Yes or so or so"]
    with pytest.raises(InputError, match="`times` must be a whole number of at least 1; got 0"):
        transformation("suffix", times=0)


# Dictionaries


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("a", "b"), ("A ", "c")], "`key` must be there once .before: a -> b.; got 'a -> c' at row 1"),
        ([("a", "b"), ("a", "b")], "`key` must be there once"),
        ([("a", "b"), ("c", " ")], "`value` must be words, not empty; got ' ' at row 1"),
        ([("", "b")], "`key` must be words, not empty"),
        ([("a", None)], "`value` must be words, not empty; got None"),
        ([("a", "A")], "`value` must be another word than its key"),
        ([("ice cream", "gelato")], "`key` must be one word"),
        ([], "must have at least one entry"),
    ],
)
def test_bad_dictionaries(entries, message):
    with pytest.raises(InputError, match=message):
        check_dictionary(entries)


@pytest.mark.parametrize(
    ("entries", "on_round"),
    [
        ([("a", "b"), ("b", "a"), ("c", "d")], 2),
        ([("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")], 3),
        ([("a", "b"), ("b", "c"), ("c", "d")], 0),
    ],
)
def test_rounds_are_warned_of(entries, on_round):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert check_dictionary(entries) == dict(entries)
    assert [str(w.message).split(":")[1].split()[0] for w in caught] == ([str(on_round)] if on_round else [])


def test_dictionary_files(tmp_path):
    rows = [("Boat", "ship"), ("dog", " domestic  dog ")]
    expected = {"boat": "ship", "dog": "domestic dog"}
    assert read_dictionary(write_csv(tmp_path / "d.csv", ("key", "value"), rows)) == expected
    (tmp_path / "d.tsv").write_text("value\tkey\n" + "".join(f"{b}\t{a}\n" for a, b in rows))
    assert read_dictionary(tmp_path / "d.tsv") == expected
    (tmp_path / "d.json").write_text(json.dumps(dict(rows)))
    assert read_dictionary(tmp_path / "d.json") == expected
    write_dictionary(expected, tmp_path / "again.csv")
    assert read_dictionary(tmp_path / "again.csv") == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.txt", "", "must be a .csv, .tsv or .json file"),
        ("d.csv", "word,other\na,b\n", "have the columns key, value; got .'word', 'other'."),
        ("d.csv", "key,value\na\n", "`value` must be words, not empty; got '' at row 1 of d.csv"),
        ("d.json", "[1]", "be one JSON object"),
        ("d.json", '{"a": 1}', "`value` must be words, not empty; got 1"),
        ("d.json", '{"a": "b", "a": "c"}', "`key` must be there once"),
        ("d.json", "{", "name a file that can be read"),
    ],
)
def test_bad_dictionary_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        transformation("dictionary", dictionary=tmp_path / name)


def test_block_lists(tmp_path):
    (tmp_path / "b.txt").write_text("# ours\nBoat # not this\n\n")
    assert read_words(tmp_path / "b.txt") == {"boat"}
    made = transformation("dictionary", dictionary={"boat": "ship", "dog": "hound"}, block_list=tmp_path / "b.txt")
    assert made.fit([]).apply(["A boat, a dog"]) == ["A boat, a hound"]
    assert made.parameters["block_list"] == ["boat"]
    with pytest.raises(InputError, match="`block_list` must name a text file with a word a line"):
        read_words(tmp_path / "absent.txt")
    with pytest.raises(InputError, match="`nouns` must hold words; got 3"):
        read_words([3], parameter="nouns")


# Functions, and the registry


def test_a_function_of_the_users_own():
    fitted = transformation("string:capwords").fit([])
    assert fitted.apply(["two dogs", "two dogs"]) == ["Two Dogs", "Two Dogs"]
    calls = Counter()

    def shout(text):
        calls[text] += 1
        return text + "!"

    made = transformation("function", function=shout)
    assert made.fit([]).apply(["a", "b", "a"]) == ["a!", "b!", "a!"]
    assert calls == {"a": 1, "b": 1}
    assert made.parameters["function"].endswith("shout")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:f", "in a module that can be imported; got 'no_such_module:f'. ModuleNotFoundError"),
        ("string:no_such", "`function` must be in module string; got 'string:no_such'"),
        ("string:digits", "`function` must be callable"),
        ("string:", "be written module:function"),
    ],
)
def test_functions_that_cannot_be_had(path, message):
    with pytest.raises(InputError, match=message):
        transformation(path)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (len, "return a text for every text; got 3 at row 1. The text was 'abc'"),
        (lambda text: " ", "not return an empty text; got ' ' at row 1"),
        (lambda text: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda text: None, "return a text for every text; got None at row 1"),
    ],
)
def test_functions_that_fail(function, message):
    def late(text):
        return text if text == "fine" else function(text)

    with pytest.raises(InputError, match=message):
        transformation("function", function=late).fit([]).apply(["fine", "abc"])


def test_what_changes_nothing_is_refused():
    columns = {"premise": ["A dog."], "hypothesis": ["It barks."]}
    with pytest.raises(InputError, match="change at least one text of premise, hypothesis; got 'function'"):
        apply_to_columns(transformation("builtins:str").fit([]), columns, "function")
    for surface in ("kept", "plain"):  # lower case alone is no change of words
        fitted = transformation("dictionary", dictionary={"boat": "ship"}, surface=surface).fit([])
        with pytest.raises(InputError, match="change at least one text"):
            apply_to_columns(fitted, columns, "dictionary")
        assert apply_to_columns(fitted, {**columns, "x": ["boat"]}, "dictionary")["x"] == ["ship"]


@pytest.mark.parametrize("texts", ["one text", ["a", None], [3]])
def test_texts_must_be_texts(texts):
    with pytest.raises(InputError, match="`texts` must"):
        transformation("suffix").fit([]).apply(texts)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("synonyms", {}, "`name` must be one of wordnet_nouns, dictionary"),
        ("suffix", {"sufix": "x"}, "be options of suffix: suffix, times; got 'sufix'"),
        ("dictionary", {}, "give dictionary for dictionary"),
        ("dictionary", {"dictionary": {"a": "b"}, "surface": "rough"}, "`surface` must be one of kept, plain"),
        ("wordnet_nouns", {"level": "token", "tagger": "wordnet"}, "be type where no tagger looks at the context"),
        ("wordnet_nouns", {"tag_rule": "some"}, "`tag_rule` must be one of any, majority"),
        ("wordnet_nouns", {"tagger": "mine"}, "`tagger` must be auto, wordnet, spacy or spacy:MODEL"),
        ("wordnet_nouns", {"tagger": "spacy:no_such_model"}, "name a spaCy model that is installed"),
    ],
)
def test_the_registry_refuses(name, options, message):
    with pytest.raises(InputError, match=message):
        transformation(name, **options)


def test_every_transformation_says_what_it_did(tmp_path):
    wordnet_or_skip()
    options = {"dictionary": {"dictionary": {"dog": "hound"}}, "function": {"function": "string:capwords"}}
    texts = ["The dog sleeps on the couch.", "Two kids play."]
    for name in TRANSFORMATIONS:
        made = transformation(name, **{"wordnet_nouns": {"tagger": "wordnet"}, **options}.get(name, {}))
        fitted = made.fit(texts)
        changed = fitted.apply(texts)
        assert changed == fitted.apply(texts) != texts
        report = fitted.report(texts, changed)
        json.dumps([dict(made.parameters), report])
        assert report["n_items"] == 2
        assert made.name == name


# What was changed


def test_change_statistics_by_hand():
    texts = [("A man rides a bike.", "A man!"), ("Dogs bark", "Dogs bark")]
    changed = [("An adult male rides a bike.", "an adult male"), ("dogs bark.", "Dogs bark")]
    found = change_statistics(texts, changed)
    assert (found["n_items"], found["n_changed"], found["share_changed"]) == (2, 1, 0.5)
    assert (found["mean_words"], found["mean_words_changed"]) == ((7 + 4) / 2, (9 + 4) / 2)
    assert found["most_frequent"] == [{"before": "a man", "after": "an adult male", "n": 2}]
    assert found["words_changed_per_item"] == 1.0
    assert found["non_noun_share"] is None
    replacer = FittedDictionary({"man": "adult male", "rides": "tours"})
    known = change_statistics(
        texts, changed, substitutions=replacer.substitutions, nouns=ListTagger(frozenset({"man"})).flags
    )
    assert known["n_substitutions"] == 3
    assert known["non_noun_share"] == 1 / 3
    assert lengths_by_label(texts, changed, ["yes", "no"])["yes"] == {
        "n_items": 1, "mean_words": 7.0, "mean_words_changed": 9.0
    }  # fmt: skip
    with pytest.raises(InputError, match="have 2 entries, as texts has; got 1"):
        change_statistics(texts, changed[:1])


def test_differences_of_words():
    assert differences(["a", "b", "c"], ["a", "x", "c", "d"]) == [Substitution("b", "x"), Substitution("", "d")]
    assert differences(["a"], ["a"]) == []
