"""Distance of wording: words matched one to one by edit similarity, and the overlap of their sets."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from paraconsist.surface.words import words_of

__all__ = ["jaccard", "lexical_distance", "set_ratio"]


def set_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    r"""Return how similar two lists of words are, whatever their order.

    .. math:: 1 - \frac{|n - m| + 2 \min_\pi \sum_i d(a_i, b_{\pi(i)})}{n + m}

    with :math:`\pi` a one-to-one matching of the shorter list's words into the longer one's and d the insertions and
    deletions between two words over their joint length. Equal to ``Levenshtein.setratio`` in the package of that name.

    Parameters
    ----------
    first, second : sequence of str
        Words.

    Returns
    -------
    float
        In [0, 1], 1 for the same words in any order, and for two empty lists.

    Examples
    --------
    >>> set_ratio(["a", "dog"], ["dog", "a"]), round(set_ratio(["dog"], ["dogs"]), 4)
    (1.0, 0.8571)
    """
    total = len(first) + len(second)
    if not first or not second:
        return 0.0 if total else 1.0
    distance = _word_distance()
    costs = np.array([[distance(a, b) for b in second] for a in first])
    matched = float(costs[linear_sum_assignment(costs)].sum())
    return (total - abs(len(first) - len(second)) - 2.0 * matched) / total


def lexical_distance(paraphrase: str, original: str) -> float:
    """Return 1 - `set_ratio` of two texts' words (lower case, no punctuation): in [0, 1], 0 for the same words.

    Srikanth et al. (2024), section 6 and Table 6.

    >>> lexical_distance("The dog sleeps.", "the dog sleeps")
    0.0
    """
    return 1.0 - set_ratio(words_of(paraphrase), words_of(original))


def jaccard(paraphrase: str, original: str) -> float:
    """Return shared words over all words of two texts, as sets: in [0, 1]; 1 if neither has a word.

    Verma et al. (2023), section 3.1 and appendix A: a paraphrase with 0.75 or more says the same in the same words.

    >>> jaccard("A dog sleeps.", "The dog sleeps.")
    0.5
    """
    one, other = set(words_of(paraphrase)), set(words_of(original))
    return len(one & other) / len(one | other) if one or other else 1.0


@cache
def _word_distance() -> Callable[[str, str], float]:
    """Return rapidfuzz's, or the same in plain Python where it is not installed."""
    try:
        found: Callable[[str, str], float] = importlib.import_module("rapidfuzz.distance.Indel").normalized_distance
    except ImportError:
        return plain_word_distance
    return found


def plain_word_distance(first: str, second: str) -> float:
    """Return insertions and deletions from one word to another over their joint length."""
    longest = [0] * (len(second) + 1)  # common subsequences of what was read of `first` and each head of `second`
    for a in first:
        before = longest
        longest = [0]
        for j, b in enumerate(second):
            longest.append(before[j] + 1 if a == b else max(before[j + 1], longest[j]))
    total = len(first) + len(second)
    return (total - 2 * longest[-1]) / total if total else 0.0
