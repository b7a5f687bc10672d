"""Noun substitution by WordNet's synonyms, fitted to a corpus (Salvatore et al. 2023)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paraconsist.errors import input_error
from paraconsist.transforms.block_list import STANDARD_BLOCK_LIST
from paraconsist.transforms.dictionary import FittedDictionary
from paraconsist.transforms.interface import checked_texts
from paraconsist.transforms.lexicon import Lexicon, load_lexicon
from paraconsist.transforms.nouns import TAG_RULES, ListTagger, NounTagger, find_tagger, tagger_name
from paraconsist.transforms.replacing import check_surface, plain_text
from paraconsist.transforms.synonyms import SYNSETS, synonyms
from paraconsist.transforms.word_files import read_words

#: A noun's word is replaced wherever it stands (published), or only where it is tagged as a noun.
LEVELS = ("type", "token")


class WordNetNouns:
    """Replaces each noun of a corpus by a synonym.

    Parameters
    ----------
    tagger : str
        ``wordnet`` (WordNet's own counts; no model), ``spacy`` or ``spacy:MODEL``, or ``auto``: spaCy if it and
        en_core_web_sm are installed, else WordNet. `parameters` says which it was.
    nouns : path or iterable of str, optional
        The nouns themselves, in place of a tagger.
    tag_rule : str
        ``any``: a word tagged as a noun once is one; ``majority``: mostly tagged so.
    level : str
        ``type``: a noun's word is replaced everywhere; ``token``: where it is tagged as a noun (spaCy only).
    synset : str
        ``first`` over all parts of speech, or ``first_noun``.
    block_list : path or iterable of str, optional
        Words that are never replaced: a file, words, None for no list, or ``standard`` (`STANDARD_BLOCK_LIST`).
    drop_ing, drop_same_stem : bool
        Leave out words in -ing and pairs with one Porter stem.
    reinflect : bool
        Put the substitute of a plural into the plural.
    repair_articles : bool
        Set a/an before a replaced word right.
    surface : str
        ``kept``, or ``plain``: lower case without punctuation, as the published code has it.
    wordnet : path, optional
        WordNet's folder, where it is in none of the usual places.

    Raises
    ------
    InputError
        If an option is wrong, or WordNet or the tagger is not there.

    Notes
    -----
    The defaults are the published rule, but for case and punctuation, which are kept, and the block list, which is
    our own.
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
        for name, value, choices in (
            ("tag_rule", tag_rule, TAG_RULES), ("level", level, LEVELS), ("synset", synset, SYNSETS)
        ):  # fmt: skip
            if value not in choices:
                raise input_error("wordnet_nouns", name, f"be {' or '.join(choices)}", got=value)
        check_surface(surface)
        self._nouns = None if nouns is None else read_words(nouns, parameter="nouns")
        self._tagger = "list" if self._nouns is not None else tagger_name(tagger)
        if level == "token" and not self._tagger.startswith("spacy"):
            raise input_error(
                "wordnet_nouns",
                "level",
                "be type where no tagger looks at the context",
                got=level,
                remedy="Give tagger=spacy, with spaCy and a model installed.",
            )
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
        self._found: NounTagger | None = None

    @property
    def parameters(self) -> Mapping[str, object]:
        """Every option; the tagger by name and version."""
        return {
            "tagger": self._noun_tagger().name,
            "nouns": None if self._nouns is None else sorted(self._nouns),
            **self._options,
            "block_list": sorted(self._blocked),
            "wordnet": self._wordnet,
        }

    def fit(self, texts: Sequence[str]) -> FittedDictionary:
        """Find the corpus's nouns and a synonym for each.

        Raises
        ------
        InputError
            If the corpus holds something else than texts, or no noun with a synonym.
        """
        options = self._options
        checked_texts(texts, "wordnet_nouns")
        corpus = [plain_text(text) for text in texts] if options["surface"] == "plain" else texts
        tagger = self._noun_tagger()
        counts = tagger.count(corpus, options["tag_rule"])
        dictionary = synonyms(
            counts,
            self._lexicon,
            blocked=self._blocked,
            synset=options["synset"],
            drop_ing=options["drop_ing"],
            drop_same_stem=options["drop_same_stem"],
            reinflected=options["reinflect"],
        )
        if not dictionary:
            raise input_error(
                "wordnet_nouns",
                "texts",
                "hold at least one noun with a synonym",
                got=f"{len(texts):,} texts, {len(counts):,} nouns",
                remedy="Look at the block list, the tagger and the language of the texts: WordNet is English.",
            )
        return FittedDictionary(
            dictionary,
            surface=options["surface"],
            repair_articles=options["repair_articles"],
            chosen=tagger.flags if options["level"] == "token" else None,
            nouns=tagger.flags,
            details={"n_nouns": len(counts), "tagger": tagger.name},
        )

    def _noun_tagger(self) -> NounTagger:
        if self._found is None:
            if self._nouns is not None:
                self._found = ListTagger(self._nouns)
            else:
                self._found = find_tagger(self._tagger, lambda: self._lexicon)
        return self._found
