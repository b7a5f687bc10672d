"""Antonym replacement: one word of a text becomes its opposite."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from paraconsist.errors import input_error
from paraconsist.transforms.negation import is_negated
from paraconsist.transforms.perturbation import LabelledSet, Perturbation, Place, negation_target
from paraconsist.transforms.verb_forms import word_set
from paraconsist.transforms.wordnet import WordNet

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
_SILENT_H = re.compile(r"hour|hono|hones|heir", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(r"eu|ewe|on(?:e|ce)\b|uni(?![dmn])|us[aeu]|uti|uto|ubi|ura", re.IGNORECASE)

Antonyms = Callable[[str], tuple[str, ...]]


def antonyms_from_list(path: str | os.PathLike[str]) -> Antonyms:
    """Return the look-up of a CSV file with the columns ``word`` and ``antonym``, one pair a row, as they stand.

    A word may have several rows. A pair counts in the direction in which it is written.

    Raises
    ------
    InputError
        If the file cannot be read, or lacks a column or a word.
    """
    pairs: dict[str, dict[str, None]] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            if not {"word", "antonym"} <= set(reader.fieldnames or ()):
                raise input_error(
                    "perturb", "antonyms", "have the columns word and antonym", got=list(reader.fieldnames or ())
                )
            for number, row in enumerate(reader):
                word, antonym = (row["word"] or "").strip().lower(), (row["antonym"] or "").strip()
                if not word or not antonym:
                    raise input_error(
                        "perturb", "antonyms", "have a word and an antonym in each row", got=row, row=number
                    )
                pairs.setdefault(word, {})[antonym] = None
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            "perturb", "antonyms", "name a CSV file that can be read", got=str(path), remedy=f"{problem}."
        ) from None
    return lambda word: tuple(pairs.get(word, ()))


def antonyms_from_wordnet(wordnet: WordNet) -> Antonyms:
    """Return the look-up of direct antonyms of adjectives and adverbs.

    There is no tagger: a word counts as one where WordNet's tagged texts have it as adjective or adverb at
    least as often as as a noun or verb.
    """

    def look_up(word: str) -> tuple[str, ...]:
        if word in _NOT_REPLACED or len(word) < 3:
            return ()
        found = tuple(a for a in wordnet.antonyms(word) if a.lower() != word)
        if not found:
            return ()
        describing = max(0, wordnet.frequency(word, "a")) + max(0, wordnet.frequency(word, "r"))
        return found if describing >= max(wordnet.frequency(word, "n"), wordnet.frequency(word, "v")) else ()

    return look_up


def replace_word(text: str, start: int, end: int, word: str) -> str:
    """Return `text` with ``text[start:end]`` replaced, in its case, and with the article before it mended.

    Examples
    --------
    >>> replace_word("An old man sleeps.", 3, 6, "young")
    'A young man sleeps.'
    """
    old = text[start:end]
    if old.isupper() and len(old) > 1:
        word = word.upper()
    elif old[:1].isupper():
        word = word[:1].upper() + word[1:]
    before = text[:start]
    article = re.search(r"\b(an?)(\s+)$", before, re.IGNORECASE)
    if article is not None:
        wanted = "an" if _starts_with_vowel(word) else "a"
        if article[1].lower() != wanted:
            if article[1].isupper() and len(article[1]) > 1:
                wanted = wanted.upper()
            elif article[1][0].isupper():
                wanted = wanted.capitalize()
            before = before[: article.start(1)] + wanted + article[2]
    return before + word + text[end:]


def _starts_with_vowel(word: str) -> bool:
    if _SILENT_H.match(word):
        return True
    return word[:1].lower() in {*"aeiou"} and _CONSONANT_SOUND.match(word) is None


def antonym(data: LabelledSet, antonyms: Antonyms, skipped: Counter[str]) -> Iterator[Perturbation]:
    """Yield each positive row with one word of one text replaced by an antonym, once for each antonym.

    Parameters
    ----------
    data : LabelledSet
        Inference (entailment, on the hypothesis), paraphrase identification (paraphrase, on the second
        sentence), or yes-no questions (yes, on the question).
    antonyms : callable
        Lower-case word -> antonyms, from `antonyms_from_wordnet` or `antonyms_from_list`.
    skipped : Counter
        Reasons for leaving rows out are counted into it.

    Yields
    ------
    Perturbation
        Roles ``original`` and ``negation``; stratum `method`: ``antonym``. Intervals resample the original.

    Raises
    ------
    InputError
        If the property does not hold for the task, or the labels have other names.
    """
    target = negation_target(data, "antonym")
    for row in data.rows:
        text = row.texts[target.place]
        if row.label != target.label:
            skipped[f"label {data.label_names[row.label]}: the opposite does not turn it"] += 1
            continue
        if is_negated(text):
            skipped["already negated"] += 1
            continue
        n_found = 0
        for match in _WORD.finditer(text):
            for opposite in antonyms(match[0].lower()):
                n_found += 1
                texts = list(row.texts)
                texts[target.place] = replace_word(text, match.start(), match.end(), opposite)
                place = Place("negation", tuple(texts), target.becomes, (target.becomes,))
                bucket = f"antonym.{row.example_id}.{match.start()}.{opposite}"
                yield Perturbation(
                    "antonym", bucket, row.group_id, (Place.of("original", row), place), {"method": "antonym"}
                )
        if n_found == 0:
            skipped["no word with an antonym"] += 1
