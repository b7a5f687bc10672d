"""Noun substitution: taggers, the published rule by hand, WordNet's table and its cache."""

from __future__ import annotations

import threading
from typing import ClassVar

import pytest
from helpers.perturb import wordnet_or_skip

from paraconsist.errors import InputError
from paraconsist.transforms import lexicon as lexicon_cache
from paraconsist.transforms import wordnet_nouns as nouns
from paraconsist.transforms.lexicon import PARTS, Lexicon, load_lexicon, scan
from paraconsist.transforms.registry import transformation
from paraconsist.transforms.wordnet_nouns import SpacyTagger, WordNetTagger, pluralised, synonyms, tagger_name


def lexicon(**words):
    """A lexicon of a few words: word={"n": (times seen, words of the first synset)}."""
    empty = {part: {} for part in PARTS}
    endings = {**{part: [] for part in PARTS}, "n": [("s", ""), ("ies", "y")], "v": [("ed", "e"), ("s", "")]}
    return Lexicon(words, {**empty, "n": {"feet": ["foot"], "geese": ["goose"]}}, endings, "test")


# Nouns


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
        fitted = transformation("wordnet_nouns", tagger="spacy", level=level).fit(texts)
        assert fitted.apply(texts) == expected
    assert transformation("wordnet_nouns", tagger="spacy").parameters["tagger"] == "spacy:en_toy-1.0"


# Synonyms


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


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("foot", "feet"),
        ("lady of the house", "ladies of the house"),
        ("male child", "male childs"),
        ("box", "boxes"),
        ("fireman", "firemen"),
        ("human", "humans"),
        ("day", "days"),
        ("field glasses", "field glasses"),
        ("boss", "bosses"),
    ],
)
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
    pytest.importorskip("nltk")
    monkeypatch.setattr(lexicon_cache, "find_wordnet", lambda folder: None)
    monkeypatch.setattr("paraconsist.transforms.lexicon.find_wordnet", lambda folder: None)
    with pytest.raises(InputError, match=r"`wordnet` must be found, and nltk installed.*wordnet-base"):
        lexicon_cache.read_or_make(str(tmp_path / "never"))


# The lexicon and its cache


def test_the_lexicon_is_wordnets():
    wordnet = wordnet_or_skip()
    words = load_lexicon()
    sample = sorted(words.entries)[::400]
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


@pytest.fixture
def small_wordnet(tmp_path, monkeypatch):
    """A folder with the names of WordNet's files, and a scan that counts how often it was made."""
    pytest.importorskip("nltk")
    folder = tmp_path / "dict"
    folder.mkdir()
    for name in lexicon_cache._FILES:
        (folder / name).write_text(name)
    made = []

    def count(reader, source):
        made.append(source)
        return WORDS

    monkeypatch.setattr(lexicon_cache, "load_wordnet", lambda folder: None)
    monkeypatch.setattr(lexicon_cache, "scan", count)
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "kept"))
    return folder, made, tmp_path / "kept"


def test_the_cache_is_read_until_the_files_change(small_wordnet):
    folder, made, kept = small_wordnet
    first, again = (lexicon_cache.read_or_make(str(folder)) for _ in range(2))
    assert len(made) == 1
    assert again.base_forms("feet", "n") == first.base_forms("feet", "n") == ["foot"]
    assert again.first_synset("dog") == ("dog", "hound")
    (folder / "noun.exc").write_text("noun.exE")  # as long as before
    lexicon_cache.read_or_make(str(folder))
    assert len(made) == 2
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"0" * 64 + b"\n{}"])
def test_a_damaged_cache_is_made_anew(small_wordnet, damage):
    folder, made, kept = small_wordnet
    lexicon_cache.read_or_make(str(folder))
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    for content in (damage, whole[:-1], whole.replace(b"hound", b"horse")):
        file.write_bytes(content)
        assert lexicon_cache.read_or_make(str(folder)).first_synset("dog") == ("dog", "hound")
        assert file.read_bytes() == whole
    assert len(made) == 4


def test_many_writers_leave_one_whole_file(tmp_path):
    file = tmp_path / "wordnet-x.json"
    tables = [{"who": who, "filler": [who] * 20_000} for who in range(4)]
    seen = []

    def work(table):
        for _ in range(5):
            lexicon_cache._write(file, table)
            seen.append(lexicon_cache._read(file))

    threads = [threading.Thread(target=work, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 20
    assert all(table in tables for table in seen)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_cache_that_cannot_be_written_is_said(small_wordnet, monkeypatch, tmp_path):
    folder, made, _ = small_wordnet
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="could not be kept .* PARACONSIST_CACHE names another folder"):
        lexicon_cache.read_or_make(str(folder))
    assert len(made) == 1


def test_a_wordnet_folder_that_is_not_whole(small_wordnet):
    folder, _, _ = small_wordnet
    (folder / "cntlist.rev").unlink()
    with pytest.raises(InputError, match=r"`wordnet` must hold cntlist\.rev"):
        lexicon_cache.read_or_make(str(folder))
    with pytest.raises(InputError, match=r"hold cntlist\.rev; got"):
        scan(None, str(folder))
