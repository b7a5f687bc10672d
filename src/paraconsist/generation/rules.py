"""The rule-based generator: no model, no randomness, English; honest about what it is.

It rewords short descriptions by exchanging words and turning sentences round, and then both at once. Its paraphrases
are closer to their originals than people's: read `paraphrase_diversity` beside anything measured on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from paraconsist.errors import input_error
from paraconsist.generation.rules_structure import structures
from paraconsist.generation.rules_words import contractions, exchanges, wordnet_nouns

_MOST = 60  # of one text: what two rules at once can give grows with the square


class RuleGenerator:
    """A generator by rules; every further call for a text gives the next ones, then none.

    Parameters
    ----------
    n : int
        Candidates a call for each text.

    Attributes
    ----------
    rules : dict of (str, str) to str
        (original, candidate) -> the rules that made it.
    """

    def __init__(self, n: int = 10) -> None:
        if n < 1:
            raise input_error("paraphrase", "n", "be a whole number of at least 1", got=n)
        self.n = n
        self.rules: dict[tuple[str, str], str] = {}
        self._upcoming: dict[str, Iterator[tuple[str, str]]] = {}

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Return up to `n` further candidates for each text."""
        found = []
        for text in texts:
            upcoming = self._upcoming.setdefault(text, rewordings(text))
            drawn = list(islice(upcoming, self.n))
            self.rules.update({(text, candidate): rule for rule, candidate in drawn})
            found.append([candidate for _, candidate in drawn])
        return found


def rewordings(text: str) -> Iterator[tuple[str, str]]:
    """Yield (rules, rewritten text), each text once: by one rule, structure and words in turn, then by two.

    >>> [text for _, text in rewordings("The kids are outside.")][0]
    'The children are outside.'
    """
    seen = {text}
    turned = list(structures(text))
    worded = [*(("synonym", t) for t in exchanges(text)), *(("contraction", t) for t in contractions(text))]
    senses = [("WordNet", t) for t in wordnet_nouns(text)]
    single = [*_in_turn(turned, worded), *senses]
    double = (
        (f"{first} + {second}", again)
        for first, changed in turned
        for second, again in (
            *(("synonym", t) for t in exchanges(changed)),
            *(("WordNet", t) for t in wordnet_nouns(changed)),
        )
    )
    twice = ((f"{first} + synonym", again) for first, changed in (*worded, *senses) for again in exchanges(changed))
    for rule, candidate in (*single, *islice(double, _MOST), *islice(twice, _MOST)):
        if candidate not in seen:
            seen.add(candidate)
            yield rule, candidate


def _in_turn(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return two lists as one, an item of each in turn."""
    both: list[tuple[str, str]] = []
    for i in range(max(len(one), len(other))):
        both += [*one[i : i + 1], *other[i : i + 1]]
    return both
