"""Noun substitution: a synonym of WordNet's for each noun of a corpus, by the published rule.

Salvatore et al. (2023), as their code has it: candidates are the words of the first synset over all parts of speech;
the one commonest in the corpus is taken (the last in the alphabet of equals), else the nearest by edit distance (the
first of equals); words in -ing and pairs with one Porter stem are left out. Which words are nouns says spaCy's tagger,
or WordNet's counts and the words around.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from paraconsist.errors import check_choice, input_error
from paraconsist.transforms.dictionary import SURFACES, FittedDictionary, bare_word_spans, bare_words, read_words
from paraconsist.transforms.interface import checked_texts, plain_text
from paraconsist.transforms.lexicon import PARTS, Lexicon, english, load_lexicon

#: A word counts as a noun if it is tagged so anywhere (as the published code has it), or mostly.
TAG_RULES = ("any", "majority")

#: The spaCy model that S23 used.
SPACY_MODEL = "en_core_web_sm"

#: How many times commoner a word's uses as a verb may be before the word counts as no noun: for an inflected verb
#: that is also a noun ("chased"), and for others ("put"). Chosen on SICK, where they agree best with S23's tagger.
_MOST_INFLECTED, _MOST_VERB = 11, 50

#: After these a noun may come: determiners and prepositions.
BEFORE_NOUNS = frozenset(english()["before_nouns"])
#: With English words of the other closed classes, which WordNet lists as nouns now and then ("in" is also an inch).
CLOSED_CLASS = BEFORE_NOUNS | frozenset(english()["closed_class"])


@dataclass
class WordNetTagger:
    """WordNet's own counts of each part of speech, closed-class words removed; deterministic, needs no model.

    Under ``any`` a word is a noun if it has a noun sense, is seen more often as a noun than as an adjective or
    adverb, and is not overwhelmingly a verb. Where WordNet has no counts to tell noun from adjective, the word
    must stand in a noun's place somewhere in the corpus: after a determiner, preposition or adjective, and not
    before a noun. Under ``majority`` no other part of speech is commoner.
    """

    lexicon: Lexicon
    name: str = "wordnet"

    def __post_init__(self) -> None:
        #: How often a word is seen as noun, verb, adjective, adverb; -1 where it is none.
        self._counts = cache(lambda word: tuple(self.lexicon.frequency(word, part) for part in "nvar"))

    def count(self, texts: Sequence[str], rule: str) -> dict[str, int]:
        lists = [bare_words(text) for text in texts]
        counts = Counter(word for words in lists for word in words)
        if rule == "majority":
            return {word: n for word, n in counts.items() if self.mostly(word)}
        may_be = {word: self._may_be(word) for word in counts}
        unsure = {word for word, answer in may_be.items() if answer is None}
        nouns = {word for word, answer in may_be.items() if answer}
        for words in lists:
            neighbours = zip(("", *words), words, (*words[1:], ""), strict=False)
            nouns.update(word for before, word, after in neighbours if word in unsure and self._is_place(before, after))
        return {word: n for word, n in counts.items() if word in nouns}

    def flags(self, text: str) -> list[bool]:
        return [self.mostly(word) for word in bare_words(text)]

    def mostly(self, word: str) -> bool:
        """Return whether a word is a noun at least as often as anything else."""
        n, *others = self._counts(word)
        return word not in CLOSED_CLASS and n >= 0 and n >= max(others)

    def _may_be(self, word: str) -> bool | None:
        """Return whether a word may be a noun; None where only the corpus can say."""
        n, verb, adjective, adverb = self._counts(word)
        modifier = max(adjective, adverb)
        if word in CLOSED_CLASS or n < 0 or verb >= _MOST_VERB * (n + 1):
            return False
        if verb >= _MOST_INFLECTED * (n + 1) and word not in self.lexicon.base_forms(word, "v"):
            return self.lexicon.base_forms(word, "n")[0] != word
        if modifier == n == 0:
            return None
        return modifier < n or modifier < 0

    def _is_place(self, before: str, after: str) -> bool:
        """Return whether a noun may stand between two words."""
        _, verb, adjective, _ = self._counts(before)
        if before not in BEFORE_NOUNS and (before in CLOSED_CLASS or adjective < 0 or adjective < verb):
            return False
        n, verb, adjective, _ = self._counts(after)
        return after in CLOSED_CLASS or not (self.mostly(after) or adjective > max(n, verb))


class SpacyTagger:
    """A spaCy model's part-of-speech tags: a noun is what it tags NOUN."""

    def __init__(self, model: str = SPACY_MODEL) -> None:
        self._pipeline = _spacy_pipeline(model)
        meta = self._pipeline.meta
        self.name = f"spacy:{meta['lang']}_{meta['name']}-{meta['version']}"
        self._known: dict[str, list[bool]] = {}

    def count(self, texts: Sequence[str], rule: str) -> dict[str, int]:
        distinct = Counter(texts)
        seen: Counter[str] = Counter()
        nouns: Counter[str] = Counter()
        self._tag(list(distinct))
        for text, times in distinct.items():
            for word, is_noun in zip(bare_words(text), self.flags(text), strict=True):
                seen[word] += times
                nouns[word] += times * is_noun
        return {word: n for word, n in nouns.items() if n and (rule == "any" or 2 * n > seen[word])}

    def flags(self, text: str) -> list[bool]:
        self._tag([text])
        return self._known[text]

    def _tag(self, texts: Sequence[str]) -> None:
        new = [text for text in texts if text not in self._known]
        for text, parsed in zip(new, self._pipeline.pipe(new, batch_size=256), strict=True):
            tags = {token.idx: token.pos_ == "NOUN" for token in parsed}
            ends = {token.idx + len(token): token.pos_ == "NOUN" for token in parsed}  # the last part of "t-shirt"
            self._known[text] = [tags.get(i, False) or ends.get(j, False) for i, j in bare_word_spans(text)]


@dataclass
class ListTagger:
    """The user's own list of nouns."""

    words: frozenset[str]
    name: str = "list"

    def count(self, texts: Sequence[str], rule: str) -> dict[str, int]:
        return dict(Counter(word for text in texts for word in bare_words(text) if word in self.words))

    def flags(self, text: str) -> list[bool]:
        return [word in self.words for word in bare_words(text)]


#: Finds nouns; `name`, with version, says what a result depends on. `count` returns the corpus's nouns under a rule of
#: `TAG_RULES` -> how often each was seen as one; `flags`, for each word of a text (`bare_words`), whether it is a noun.
NounTagger: TypeAlias = WordNetTagger | SpacyTagger | ListTagger


def tagger_name(tagger: str) -> str:
    """Return which tagger ``auto`` is here: ``spacy`` if it and its model are installed, else ``wordnet``.

    InputError if there is no such tagger, or spaCy or its model is not installed.
    """
    if tagger == "auto":
        return "spacy" if _has_spacy(SPACY_MODEL) else "wordnet"
    kind, _, model = tagger.partition(":")
    if kind not in ("spacy", "wordnet") or (kind == "wordnet" and model):
        raise input_error("wordnet_nouns", "tagger", "be auto, wordnet, spacy or spacy:MODEL", got=tagger)
    if kind == "spacy" and not _has_spacy(model or SPACY_MODEL):
        remedy = f"`pip install spacy` and `python -m spacy download {model or SPACY_MODEL}`; or take wordnet."
        raise input_error("wordnet_nouns", "tagger", "name a spaCy model that is installed", got=tagger, remedy=remedy)
    return tagger


def _has_spacy(model: str) -> bool:
    if importlib.util.find_spec("spacy") is None:
        return False
    return importlib.util.find_spec(model) is not None if model.isidentifier() else Path(model).is_dir()


@cache
def _spacy_pipeline(model: str) -> Any:
    spacy: Any = importlib.import_module("spacy")
    try:
        return spacy.load(model, exclude=["parser", "ner", "lemmatizer"])
    except (OSError, ValueError) as problem:
        must = "name a spaCy model that loads"
        raise input_error("wordnet_nouns", "tagger", must, got=model, remedy=f"{problem}") from None


_CHOICES = {
    "tag_rule": TAG_RULES,
    #: A noun's word is replaced wherever it stands (published), or only where it is tagged as a noun.
    "level": ("type", "token"),
    #: Whose words are candidates: the first synset over all parts of speech (published), or the first noun's.
    "synset": ("first", "first_noun"),
    "surface": SURFACES,
}
_FLAGS = ("drop_ing", "drop_same_stem", "reinflect", "repair_articles")

#: Words that are left alone unless told otherwise, because WordNet's first synset has no usual synonym: it has another
#: meaning (table -> tabular array), or nobody says it so (water -> h2o), or the word is mostly no noun (looks -> face);
#: with words of the closed classes, of which a tagger takes one or the other for a noun now and then ("are" -> "ar").
#: Salvatore et al. (2023) block words by hand too; this list is our own, from the commonest substitutions in everyday
#: sentences.
STANDARD_BLOCK_LIST = CLOSED_CLASS | frozenset(english()["no_usual_synonym"])


@dataclass(eq=False)
class WordNetNouns:
    """Replaces each noun of a corpus by a synonym.

    The `tagger` is ``wordnet`` (WordNet's own counts; no model), ``spacy`` or ``spacy:MODEL``, or ``auto``: spaCy if it
    and en_core_web_sm are installed, else WordNet; `parameters` says which it was. `nouns`, a file or words, stand in
    its place. `tag_rule`: with ``any`` a word tagged as a noun once is one, with ``majority`` mostly tagged so.
    `level`: with ``type`` a noun's word is replaced everywhere, with ``token`` where it is tagged as a noun (spaCy
    only). `synset` is the ``first`` over all parts of speech, or ``first_noun``.

    The words of `block_list` are never replaced: a file, words, None for no list, or ``standard``
    (`STANDARD_BLOCK_LIST`). `drop_ing` and `drop_same_stem` leave out words in -ing and pairs with one Porter stem;
    `reinflect` puts the substitute of a plural into the plural, `repair_articles` sets a/an before a replaced word
    right. `surface` is ``kept``, or ``plain``: lower case without punctuation, as the published code has it. `wordnet`
    is WordNet's folder, where it is in none of the usual places.

    The defaults are the published rule, but for case and punctuation, which are kept, and the block list, which is our
    own. InputError if an option is wrong, or WordNet or the tagger is not there.
    """

    tagger: str = "auto"
    nouns: str | os.PathLike[str] | Iterable[str] | None = None
    tag_rule: str = "any"
    level: str = "type"
    synset: str = "first"
    block_list: str | os.PathLike[str] | Iterable[str] | None = "standard"
    drop_ing: bool = True
    drop_same_stem: bool = True
    reinflect: bool = False
    repair_articles: bool = False
    surface: str = "kept"
    wordnet: str | os.PathLike[str] | None = None
    name: ClassVar[str] = "wordnet_nouns"

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            check_choice("wordnet_nouns", option, getattr(self, option), choices)
        self._nouns = None if self.nouns is None else read_words(self.nouns, parameter="nouns")
        self._tagger = "list" if self._nouns is not None else tagger_name(self.tagger)
        if self.level == "token" and not self._tagger.startswith("spacy"):
            must, remedy = "be type where no tagger looks at the context", "Give tagger=spacy, with spaCy and a model."
            raise input_error("wordnet_nouns", "level", must, got=self.level, remedy=remedy)
        self._lexicon: Lexicon = load_lexicon(self.wordnet)
        standard = self.block_list == "standard"
        self._blocked = STANDARD_BLOCK_LIST if standard else read_words(self.block_list or ())

    @property
    def parameters(self) -> Mapping[str, object]:
        """Every option; the tagger by name and version."""
        return {
            "tagger": self._noun_tagger.name,
            "nouns": None if self._nouns is None else sorted(self._nouns),
            **{name: getattr(self, name) for name in ("tag_rule", "level", "synset")},
            **{name: bool(getattr(self, name)) for name in _FLAGS},
            "surface": self.surface,
            "block_list": sorted(self._blocked),
            "wordnet": None if self.wordnet is None else str(self.wordnet),
        }

    def fit(self, texts: Sequence[str]) -> FittedDictionary:
        """Find the corpus's nouns and a synonym for each.

        InputError if the corpus holds something else than texts, or no noun with a synonym.
        """
        checked_texts(texts, "wordnet_nouns")
        corpus = [plain_text(text) for text in texts] if self.surface == "plain" else texts
        tagger = self._noun_tagger
        counts = tagger.count(corpus, self.tag_rule)
        rules = {name: getattr(self, name) for name in ("synset", "drop_ing", "drop_same_stem", "reinflect")}
        dictionary = synonyms(counts, self._lexicon, blocked=self._blocked, **rules)
        if not dictionary:
            must, got = "hold at least one noun with a synonym", f"{len(texts):,} texts, {len(counts):,} nouns"
            remedy = "Look at the block list, the tagger and the language of the texts: WordNet is English."
            raise input_error("wordnet_nouns", "texts", must, got=got, remedy=remedy)
        return FittedDictionary(
            dictionary,
            surface=self.surface,
            repair_articles=bool(self.repair_articles),
            chosen=tagger.flags if self.level == "token" else None,
            nouns=tagger.flags,
            details={"n_nouns": len(counts), "tagger": tagger.name},
        )

    @cached_property
    def _noun_tagger(self) -> NounTagger:
        if self._nouns is not None:
            return ListTagger(self._nouns)
        kind, _, model = self._tagger.partition(":")
        return SpacyTagger(model or SPACY_MODEL) if kind == "spacy" else WordNetTagger(self._lexicon)


def synonyms(
    counts: Mapping[str, int],
    lexicon: Lexicon,
    *,
    blocked: frozenset[str] = frozenset(),
    synset: str = "first",
    drop_ing: bool = True,
    drop_same_stem: bool = True,
    reinflect: bool = False,
) -> dict[str, str]:
    """Return a substitute for each noun that has one, sorted, in lower case; options as for `WordNetNouns`.

    `counts` are the nouns of the corpus in lower case -> how often each was seen; `blocked` words are left alone.
    """
    stem: Callable[[str], str] = importlib.import_module("nltk.stem.porter").PorterStemmer().stem
    distance: Callable[[str, str], int] = importlib.import_module("nltk.metrics.distance").edit_distance
    parts = PARTS if synset == "first" else ("n",)
    substitutes = {}
    for word in sorted(counts):
        if word in blocked or (drop_ing and word.endswith("ing")):
            continue
        plural = reinflect and lexicon.is_plural(word)
        same = {word, *lexicon.base_forms(word, "n")} if plural else {word}
        candidates = [name for name in lexicon.first_synset(word, parts) if name not in same]
        if not candidates:
            continue
        if present := [name for name in candidates if name in counts]:
            chosen = max(present, key=lambda name: (counts[name], name)).lower()
        else:
            chosen = min((distance(word, name), name) for name in candidates)[1].lower()
        if plural:
            chosen = pluralised(chosen, lexicon)
        if chosen != word and not (drop_same_stem and stem(chosen) == stem(word)):
            substitutes[word] = chosen
    return substitutes


def pluralised(words: str, lexicon: Lexicon) -> str:
    """Return a noun of one or more words in the plural: its last word, or the one before "of", is changed."""
    parts = words.split(" ")
    head = max(parts.index("of") - 1, 0) if "of" in parts else len(parts) - 1
    parts[head] = lexicon.plural(parts[head])
    return " ".join(parts)
