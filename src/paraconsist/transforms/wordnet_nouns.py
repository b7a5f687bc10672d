"""Noun substitution: a synonym of WordNet's for each noun of a corpus, by the published rule.

Salvatore et al. (2023), as their code has it: candidates are the words of the first synset over all parts of speech;
the one commonest in the corpus is taken (the last in the alphabet of equals), else the nearest by edit distance (the
first of equals); words in -ing and pairs with one Porter stem are left out.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from paraconsist.errors import check_choice, input_error
from paraconsist.transforms.dictionary import FittedDictionary, read_words
from paraconsist.transforms.interface import checked_texts
from paraconsist.transforms.lexicon import PARTS, Lexicon, load_lexicon
from paraconsist.transforms.noun_taggers import (
    CLOSED_CLASS,
    TAG_RULES,
    ListTagger,
    NounTagger,
    find_tagger,
    tagger_name,
)
from paraconsist.transforms.replacing import SURFACES, plain_text

#: A noun's word is replaced wherever it stands (published), or only where it is tagged as a noun.
LEVELS = ("type", "token")

#: Whose words are candidates: the first synset over all parts of speech (published), or the first noun's.
SYNSETS = ("first", "first_noun")

# Words that are left alone unless told otherwise, because WordNet's first synset has no usual synonym. Salvatore et al.
# (2023) block words by hand too; this list is our own, made from the commonest substitutions in everyday sentences.
#: The first synset has another meaning, or another number: men -> hands, table -> tabular array.
_ANOTHER_MEANING = (
    "men women feet front table hat guy hand hands band lot class arms police way car family end time years view place "
    "cake shoes cream works fun tan square hammer van hose soda scooter runner stroller tank upside past number "
    "intersection s"
)
#: Nobody says it so: water -> h2o, head -> caput.
_LEARNED = "water girl horse head mouth foot knee chest palm eye bat neon silver gold father back nose belly zoo magic"
#: In running text the word is mostly no noun: looks -> face, blue -> blueness.
_NO_NOUN = "blue looks look play watch run catch match cover kick pose wait leans passes talks paint stop leaps"

#: With words of the closed classes, of which a tagger takes one or the other for a noun now and then ("are" -> "ar").
STANDARD_BLOCK_LIST = CLOSED_CLASS | frozenset(f"{_ANOTHER_MEANING} {_LEARNED} {_NO_NOUN}".split())


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

    name = "wordnet_nouns"

    def __init__(
        self,
        tagger: str = "auto",
        nouns: str | os.PathLike[str] | Iterable[str] | None = None,
        tag_rule: str = "any",
        level: str = "type",
        synset: str = "first",
        block_list: str | os.PathLike[str] | Iterable[str] | None = "standard",
        drop_ing: bool = True,
        drop_same_stem: bool = True,
        reinflect: bool = False,
        repair_articles: bool = False,
        surface: str = "kept",
        wordnet: str | os.PathLike[str] | None = None,
    ) -> None:
        check_choice("wordnet_nouns", "tag_rule", tag_rule, TAG_RULES)
        check_choice("wordnet_nouns", "level", level, LEVELS)
        check_choice("wordnet_nouns", "synset", synset, SYNSETS)
        check_choice("wordnet_nouns", "surface", surface, SURFACES)
        self._nouns = None if nouns is None else read_words(nouns, parameter="nouns")
        self._tagger = "list" if self._nouns is not None else tagger_name(tagger)
        if level == "token" and not self._tagger.startswith("spacy"):
            must, remedy = "be type where no tagger looks at the context", "Give tagger=spacy, with spaCy and a model."
            raise input_error("wordnet_nouns", "level", must, got=level, remedy=remedy)
        self._lexicon: Lexicon = load_lexicon(wordnet)
        self._blocked = STANDARD_BLOCK_LIST if block_list == "standard" else read_words(block_list or ())
        self._wordnet = None if wordnet is None else str(wordnet)
        self._options: dict[str, Any] = {
            "tag_rule": tag_rule,
            "level": level,
            "synset": synset,
            "drop_ing": bool(drop_ing),
            "drop_same_stem": bool(drop_same_stem),
            "reinflect": bool(reinflect),
            "repair_articles": bool(repair_articles),
            "surface": surface,
        }

    @property
    def parameters(self) -> Mapping[str, object]:
        """Every option; the tagger by name and version."""
        return {
            "tagger": self._noun_tagger.name,
            "nouns": None if self._nouns is None else sorted(self._nouns),
            **self._options,
            "block_list": sorted(self._blocked),
            "wordnet": self._wordnet,
        }

    def fit(self, texts: Sequence[str]) -> FittedDictionary:
        """Find the corpus's nouns and a synonym for each.

        InputError if the corpus holds something else than texts, or no noun with a synonym.
        """
        options = self._options
        checked_texts(texts, "wordnet_nouns")
        corpus = [plain_text(text) for text in texts] if options["surface"] == "plain" else texts
        tagger = self._noun_tagger
        counts = tagger.count(corpus, options["tag_rule"])
        choices = {name: options[name] for name in ("synset", "drop_ing", "drop_same_stem", "reinflect")}
        dictionary = synonyms(counts, self._lexicon, blocked=self._blocked, **choices)
        if not dictionary:
            must, got = "hold at least one noun with a synonym", f"{len(texts):,} texts, {len(counts):,} nouns"
            remedy = "Look at the block list, the tagger and the language of the texts: WordNet is English."
            raise input_error("wordnet_nouns", "texts", must, got=got, remedy=remedy)
        return FittedDictionary(
            dictionary,
            surface=options["surface"],
            repair_articles=options["repair_articles"],
            chosen=tagger.flags if options["level"] == "token" else None,
            nouns=tagger.flags,
            details={"n_nouns": len(counts), "tagger": tagger.name},
        )

    @cached_property
    def _noun_tagger(self) -> NounTagger:
        return find_tagger(self._tagger, self._lexicon) if self._nouns is None else ListTagger(self._nouns)


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
    distance = _distance()
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
        chosen = _choose(word, candidates, counts, distance).lower()
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


def _choose(
    word: str, candidates: Sequence[str], counts: Mapping[str, int], distance: Callable[[str, str], int]
) -> str:
    present = [name for name in candidates if name in counts]
    if present:
        return max(present, key=lambda name: (counts[name], name))
    return min(candidates, key=lambda name: (distance(word, name), name))


def _distance() -> Callable[[str, str], int]:
    """Return Levenshtein's distance; nltk's gives the same, more slowly."""
    try:
        distance: Callable[[str, str], int] = importlib.import_module("rapidfuzz.distance.Levenshtein").distance
    except ImportError:
        distance = importlib.import_module("nltk.metrics.distance").edit_distance
    return distance
