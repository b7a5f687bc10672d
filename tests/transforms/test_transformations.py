"""Transformations: words replaced by hand-worked rules, dictionaries, functions, what was changed; bad input."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from helpers.errors import refuses
from helpers.perturb import wordnet_or_skip, write_csv

from paraconsist.errors import InputError
from paraconsist.transforms import wordnet_nouns as nouns
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
from paraconsist.transforms.lexicon import PARTS, Lexicon, find_wordnet, load_lexicon
from paraconsist.transforms.registry import TRANSFORMATIONS, transformation
from paraconsist.transforms.wordnet_nouns import (
    ListTagger,
    SpacyTagger,
    WordNetTagger,
    pluralised,
    synonyms,
    tagger_name,
)


@pytest.mark.parametrize(("text", "expected"), [
    ("A boat, and a Boat; BOAT!", "A ship, and a Ship; SHIP!"), ("The boat's sail", "The ship's sail"),
    ("The boat’s sail", "The ship’s sail"), ("a boat-house, boats and boating", "a boat-house, boats and boating"),
    ("don't  touch\tthe boat\n", "don't  touch\tthe ship\n"), ("", ""), ("BOAT's, Boat's", "SHIP's, Ship's")
])  # fmt: skip
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


@pytest.mark.parametrize(("word", "article"), [
    *[(word, "an") for word in ("eatery", "hour", "honour", "uninvited guest", "umbrella", "onerous")],
    *[(word, "a") for word in ("union", "European", "dog", "one", "utensil", "utopia", "using", "unimodal", "Uranus")]
])  # fmt: skip
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
    refuses("`times` must be a whole number of at least 1; got 0", transformation, "suffix", times=0)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("a", "b"), ("A ", "c")], "`key` must be unique .before: a -> b.; got 'a -> c' at row 1"),
        ([("a", "b"), ("a", "b")], "`key` must be unique"),
        ([("a", "b"), ("c", " ")], "`value` must be words, not empty; got ' ' at row 1"),
        ([("", "b")], "`key` must be words, not empty"),
        ([("a", None)], "`value` must be words, not empty; got None"),
        ([("a", "A")], "`value` must differ from its key"),
        ([("ice cream", "gelato")], "`key` must be one word"),
        ([], "must have at least one entry"),
    ],
)
def test_bad_dictionaries(entries, message):
    refuses(message, check_dictionary, entries)


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
        ("d.csv", "key,value\na,b,,\nc,d, e\n", "cells in a row than in its header; got .' e'. at row 2 of d.csv"),
        ("d.json", "[1]", "be one JSON object"),
        ("d.json", '{"a": 1}', "`value` must be words, not empty; got 1"),
        ("d.json", '{"a": "b", "a": "c"}', "`key` must be unique"),
        ("d.json", "{", "name a file that can be read"),
    ],
)
def test_bad_dictionary_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    refuses(message, transformation, "dictionary", dictionary=tmp_path / name)


def test_block_lists(tmp_path):
    (tmp_path / "b.txt").write_text("# ours\nBoat # not this\n\n")
    assert read_words(tmp_path / "b.txt") == {"boat"}
    made = transformation("dictionary", dictionary={"boat": "ship", "dog": "hound"}, block_list=tmp_path / "b.txt")
    assert made.fit([]).apply(["A boat, a dog"]) == ["A boat, a hound"]
    assert made.parameters["block_list"] == ["boat"]
    refuses("`block_list` must name a text file with one word on each line", read_words, tmp_path / "absent.txt")
    refuses("`nouns` must hold words; got 3", read_words, [3], parameter="nouns")


def test_a_function_of_the_users_own():
    assert transformation("string:capwords").fit([]).apply(["two dogs", "two dogs"]) == ["Two Dogs", "Two Dogs"]
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
    refuses(message, transformation, path)


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
        refuses("change at least one text", apply_to_columns, fitted, columns, "dictionary")
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
    refuses(message, transformation, name, **options)


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
    refuses("have 2 entries, as `texts`; got 1", change_statistics, texts, changed[:1])


def test_nouns_are_those_of_the_text_in_which_words_are_replaced():
    """Plain texts have fewer words: 3.5 is one of them, and two of the text."""
    made = FittedDictionary({"dog": "hound"}, surface="plain", nouns=ListTagger(frozenset({"dog"})).flags)
    texts = ["At 3.5 o'clock a dog barks."]
    assert made.report(texts, made.apply(texts))["non_noun_share"] == 0


def test_differences_of_words():
    assert differences(["a", "b", "c"], ["a", "x", "c", "d"]) == [Substitution("b", "x"), Substitution("", "d")]
    assert differences(["a"], ["a"]) == []


# ---------- Noun substitution: taggers, the published rule by hand, WordNet


def lexicon(**words):
    """A lexicon of a few words, on what it reads of nltk: word={"n": (times seen, words of the first synset)}."""
    endings = {"n": [("s", ""), ("ies", "y")], "v": [("ed", "e"), ("s", "")]}
    irregular = {"feet": ["foot"], "geese": ["goose"]}

    def forms(word, part):
        by_rule = [word[: -len(old)] + new for old, new in endings.get(part, ()) if word.endswith(old)]
        known = [word, *(irregular.get(word, by_rule) if part == "n" else by_rule)]
        return [form for form in dict.fromkeys(known) if part in words.get(form, ())]

    reader = SimpleNamespace(
        _morphy=forms,
        _exception_map={"n": irregular},
        _lemma_pos_offset_map={word: {part: [word] for part in parts} for word, parts in words.items()},
        synset_from_pos_and_offset=lambda part, word: SimpleNamespace(lemma_names=lambda: words[word][part][1]),
    )
    return Lexicon(reader, {(word, part): times for word, parts in words.items() for part, (times, _) in parts.items()})


WORDS = lexicon(
    dog={"n": (40, ["dog", "hound"]), "v": (2, ["chase"])},
    chase={"n": (1, ["pursuit"]), "v": (9, ["chase", "pursue"])},
    chased={"n": (0, ["pursued"])},
    young={"n": (7, ["offspring"]), "a": (100, ["young", "immature"])},
    beige={"n": (0, ["ecru"]), "a": (0, ["beige"])},
    homeless={"n": (0, ["homeless person"]), "a": (0, ["homeless"])},
    put={"n": (0, ["put option"]), "v": (275, ["put", "set"])},
    foot={"n": (9, ["foot", "pes"])},
    one={"n": (70, ["ace"])},
    quickly={"r": (5, ["rapidly"])},
)


def test_nouns_by_wordnets_counts():
    texts = ["One young dog chased two dogs.", "A homeless dog put on a coat in beige.", "Feet chase quickly"]
    tagger = WordNetTagger(WORDS)
    assert tagger.count(texts, "any") == {"dog": 2, "dogs": 1, "chased": 1, "beige": 1, "feet": 1, "chase": 1}
    assert tagger.count(texts, "majority") == {"dog": 2, "dogs": 1, "beige": 1, "feet": 1, "homeless": 1}
    assert tagger.flags("Young dogs put") == [False, True, False]


class FakePipeline:
    """Stands in for a spaCy model: a word is a noun after "the", hyphens are tokens of their own."""

    meta: ClassVar = {"lang": "en", "name": "toy", "version": "1.0"}

    class Token(str):
        idx: int
        pos_: str

    def pipe(self, texts, batch_size):
        for text in texts:
            tokens, before, at = [], "", 0
            for word in text.replace("-", " - ").replace("'s", " 's").split():
                token = self.Token(word)
                token.idx = at = text.index(word, at)
                token.pos_ = "NOUN" if before in ("the", "-") else "X"
                at += len(word)
                before = word.lower()
                tokens.append(token)
            yield tokens


@pytest.fixture
def toy_spacy(monkeypatch):
    monkeypatch.setattr(nouns, "_spacy_pipeline", lambda model: FakePipeline())
    monkeypatch.setattr(nouns, "_has_spacy", lambda model: True)


def test_nouns_by_a_tagger(toy_spacy):
    tagger = SpacyTagger("toy")
    assert tagger.name == "spacy:en_toy-1.0"
    assert tagger.flags("The t-shirt, the dog's run") == [False, True, False, True, False]
    texts = ["the run", "run run", "the dog", "the dog"]
    assert tagger.count(texts, "any") == {"run": 1, "dog": 2}
    assert tagger.count(texts, "majority") == {"dog": 2}
    assert tagger_name("auto") == "spacy"


def test_token_level_replaces_where_the_tagger_says(toy_spacy):
    wordnet_or_skip()
    texts = ["We kiss the kiss", "They kiss"]
    for level, expected in (("type", ["We buss the buss", "They buss"]), ("token", ["We kiss the buss", "They kiss"])):
        assert transformation("wordnet_nouns", tagger="spacy", level=level).fit(texts).apply(texts) == expected
    assert transformation("wordnet_nouns", tagger="spacy").parameters["tagger"] == "spacy:en_toy-1.0"


def test_the_published_rule_by_hand():
    words = lexicon(
        couch={"n": (1, ["sofa", "couch", "lounge"])},
        sofa={"n": (1, ["sofa", "couch", "lounge"])},
        lounge={"n": (1, ["sofa", "couch", "lounge"])},
        colour={"n": (1, ["colour", "color"])},
        kid={"n": (1, ["child", "kid"]), "v": (1, ["kid", "chaff"])},
        building={"n": (9, ["edifice"])},
        run={"n": (1, ["run"]), "v": (9, ["run", "scat"])},
        jog={"v": (9, ["Jog", "trot"])},
        trek={"v": (9, ["trek", "tramp"])},
        foot={"n": (9, ["foot", "pes"])},
    )
    counts = {"couch": 1, "sofa": 2, "lounge": 2} | dict.fromkeys(
        ("kid", "building", "run", "jog", "trek", "colour", "feet"), 1
    )
    published = {
        "colour": "color",
        "couch": "sofa",  # sofa and lounge are as frequent: the last in the alphabet
        "feet": "foot",  # not in the corpus: the nearest
        "kid": "child",
        "lounge": "sofa",
        "sofa": "lounge",
        "trek": "tramp",  # the first synset may be a verb's
    }  # not: building (-ing), run (alone in its first synset), jog (the nearest is itself, with a capital)
    assert synonyms(counts, words) == published
    without = {key: value for key, value in published.items() if key != "trek"}
    assert synonyms(counts, words, synset="first_noun") == without
    assert synonyms(counts, words, blocked=frozenset({"trek"})) == without
    assert synonyms(counts, words, drop_ing=False) == published | {"building": "edifice"}
    assert synonyms({"colours": 1}, lexicon(colour={"n": (1, ["colours", "coloured"])})) == {}  # one Porter stem
    assert synonyms({"feet": 1}, words, reinflect=True) == {"feet": "pes"}


@pytest.mark.parametrize(("singular", "plural"), [
    ("foot", "feet"), ("lady of the house", "ladies of the house"), ("male child", "male childs"), ("box", "boxes"),
    ("fireman", "firemen"), ("human", "humans"), ("day", "days"), ("field glasses", "field glasses"),
    ("boss", "bosses")
])  # fmt: skip
def test_plurals(singular, plural):
    assert pluralised(singular, WORDS) == plural


def test_a_corpus_without_a_noun_is_refused():
    wordnet_or_skip()
    with pytest.raises(InputError, match="hold at least one noun with a synonym; got '1 texts, 0 nouns'"):
        transformation("wordnet_nouns", tagger="wordnet").fit(["of the and"])
    with pytest.raises(InputError, match="`texts` must hold texts only; got None at row 1"):
        transformation("wordnet_nouns", tagger="wordnet").fit(["a dog", None])
    fitted = transformation("wordnet_nouns", nouns=["couch"]).fit(["the couch and the sofa"])
    assert fitted.dictionary == {"couch": "sofa"} or fitted.dictionary == {"couch": "lounge"}


def test_wordnet_absent(monkeypatch, tmp_path):
    monkeypatch.setattr("paraconsist.transforms.lexicon.find_wordnet", lambda folder: None)
    refuses(r"`wordnet` must be found, and nltk installed.*wordnet-base", load_lexicon, str(tmp_path / "never"))


def test_the_lexicon_is_wordnets():
    wordnet = wordnet_or_skip()
    words = load_lexicon()
    sample = sorted(word for word in wordnet.all_lemma_names() if "_" not in word)[::400]
    sample += [word + ending for word in sample for ending in ("s", "ies", "ed", "er", "ing")]
    for word in [*sample, "men", "children", "geese", "leaves", "better", "saw"]:
        for part in PARTS:
            assert words.base_forms(word, part) == list(wordnet._morphy(word, part))
        synsets = wordnet.synsets(word)
        names = tuple(name.replace("_", " ") for name in synsets[0].lemma_names()) if synsets else ()
        assert words.first_synset(word) == names
    assert words.frequency("dog", "n") == 42
    assert words.frequency("dog", "r") == -1
    assert [words.plural(word) for word in ("child", "policeman", "tooth", "wife")] == [
        "children", "policemen", "teeth", "wives"
    ]  # fmt: skip


def test_a_wordnet_folder_that_is_not_whole(tmp_path):
    wordnet_or_skip()
    folder = Path(find_wordnet())
    if not folder.is_dir():
        pytest.skip("WordNet is in nltk's own data")
    shutil.copytree(folder, tmp_path / "dict", ignore=shutil.ignore_patterns("cntlist.rev"))
    must = r"`wordnet` must hold cntlist\.rev; got .* Install WordNet 3.0 whole"
    refuses(must, load_lexicon, str(tmp_path / "dict"))
