"""The published rule that picks a synonym for every noun of a corpus.

Salvatore et al. (2023), as their code has it: candidates are the words of the first synset over all parts of speech;
the one commonest in the corpus is taken (the last in the alphabet of equals), else the nearest by edit distance (the
first of equals); words in -ing and pairs with one Porter stem are left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paraconsist.transforms.lexicon import PARTS, Lexicon

#: Whose words are candidates: the first synset over all parts of speech (published), or the first noun's.
SYNSETS = ("first", "first_noun")


def synonyms(
    counts: Mapping[str, int],
    lexicon: Lexicon,
    *,
    blocked: frozenset[str] = frozenset(),
    synset: str = "first",
    drop_ing: bool = True,
    drop_same_stem: bool = True,
    reinflected: bool = False,
) -> dict[str, str]:
    """Return a substitute for each noun that has one, sorted.

    Parameters
    ----------
    counts : mapping of str to int
        Nouns of the corpus, lower case -> how often each was seen.
    lexicon : Lexicon
    blocked : frozenset of str
        Words that are left alone.
    synset : str
        One of `SYNSETS`.
    drop_ing, drop_same_stem : bool
        Leave out words in -ing, and pairs with one Porter stem.
    reinflected : bool
        Put the substitute of a plural into the plural.

    Returns
    -------
    dict of str to str
        Lower case.
    """
    stem, distance = _stemmer(), _distance()
    parts = PARTS if synset == "first" else ("n",)
    found = {}
    for word in sorted(counts):
        if word in blocked or (drop_ing and word.endswith("ing")):
            continue
        plural = reinflected and lexicon.is_plural(word)
        same = {word, *lexicon.base_forms(word, "n")} if plural else {word}
        candidates = [name for name in lexicon.first_synset(word, parts) if name not in same]
        if not candidates:
            continue
        chosen = _choose(word, candidates, counts, distance).lower()
        if plural:
            chosen = reinflect(chosen, lexicon)
        if chosen != word and not (drop_same_stem and stem(chosen) == stem(word)):
            found[word] = chosen
    return found


def reinflect(words: str, lexicon: Lexicon) -> str:
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


def _stemmer() -> Callable[[str], str]:
    stem: Callable[[str], str] = importlib.import_module("nltk.stem.porter").PorterStemmer().stem
    return stem


def _distance() -> Callable[[str, str], int]:
    """Return Levenshtein's distance; nltk's gives the same, more slowly."""
    try:
        module: Any = importlib.import_module("rapidfuzz.distance.Levenshtein")
        found: Callable[[str, str], int] = module.distance
    except ImportError:
        found = importlib.import_module("nltk.metrics.distance").edit_distance
    return found
