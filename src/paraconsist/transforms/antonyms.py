"""Antonym replacement: one word of a text becomes its opposite."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from paraconsist.errors import input_error
from paraconsist.transforms.lexicon import load_lexicon
from paraconsist.transforms.negation import is_negated, word_set
from paraconsist.transforms.perturbation import LabelledSet, NegationTarget, Perturbation
from paraconsist.transforms.replacing import replace_span
from paraconsist.transforms.sheets import read_sheet
from paraconsist.transforms.wordnet import load_wordnet

#: Words that WordNet lists as adjectives or adverbs with an antonym, and that do another job in most sentences.
_NOT_REPLACED = word_set(
    """
    a about above across after ahead all alone along an any around as at away back backward before behind below best
    better by down each even ever few first forth forward here in just last least less little many more most much
    near never next no none not now off on one only other out over own past same so some still such that the then
    there this through to together too two under up very well yes yet
    """
)
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")

Antonyms = Callable[[str], tuple[str, ...]]


def antonyms_from_list(path: str | os.PathLike[str]) -> Antonyms:
    """Return the look-up of a CSV file with the columns ``word`` and ``antonym``, one pair a row, as they stand.

    A word may have several rows. A pair counts in the direction in which it is written. InputError if the file cannot
    be read, or lacks a column or a word.
    """
    pairs: dict[str, dict[str, None]] = {}
    for place, row in read_sheet(path, ("word", "antonym"), function="perturb", parameter="antonyms"):
        word, antonym = row["word"].strip().lower(), row["antonym"].strip()
        if not word or not antonym:
            raise input_error("perturb", "antonyms", "have a word and an antonym in each row", got=row, row=place)
        pairs.setdefault(word, {})[antonym] = None
    return lambda word: tuple(pairs.get(word, ()))


def antonyms_from_wordnet(folder: str | Path | None = None) -> Antonyms:
    """Return the look-up of direct antonyms of adjectives and adverbs, over all senses, sorted.

    There is no tagger: a word counts as one where WordNet's tagged texts have it as adjective or adverb at least as
    often as as a noun or verb. InputError as for `load_wordnet`.
    """
    reader, lexicon = load_wordnet(folder), load_lexicon(folder)

    def look_up(word: str) -> tuple[str, ...]:
        if word in _NOT_REPLACED or len(word) < 3:
            return ()
        senses = (lemma for part in "ar" for synset in reader.synsets(word, part) for lemma in synset.lemmas())
        lemmas = (other for lemma in senses if lemma.name().lower() == word for other in lemma.antonyms())
        opposites = {lemma.name().replace("_", " ") for lemma in lemmas}
        noun, verb, adjective, adverb = (lexicon.frequency(word, part) for part in "nvar")
        if max(0, adjective) + max(0, adverb) < max(noun, verb):
            return ()
        return tuple(sorted(opposite for opposite in opposites if opposite.lower() != word))

    return look_up


def antonym(data: LabelledSet, antonyms: Antonyms, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each positive row with one word of one text replaced by an antonym, once for each antonym.

    As `negation`; roles ``original`` and ``negation``, stratum `method`: ``antonym``. Intervals resample the original.
    """
    target = NegationTarget.of(data, "antonym")
    for row, text in target.rows(skipped, "the opposite does not turn it"):
        if is_negated(text):
            skipped["already negated"] += 1
            continue
        n_items = 0
        for match in _WORD.finditer(text):
            for opposite in antonyms(match[0].lower()):
                n_items += 1
                changed = replace_span(text, match.start(), match.end(), opposite)
                yield target.item(row, changed, "antonym", f"{row.example_id}.{match.start()}.{opposite}")
        if n_items == 0:
            skipped["no word with an antonym"] += 1
