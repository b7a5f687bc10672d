"""How far two texts are from one another: in wording, and in structure.

Wording: words (lower case, without punctuation) matched one to one by edit similarity, and the overlap of their sets.
Structure: edit distance between constituency trees, cut below their upper levels; parses come from outside, as
bracketed text ("(S (NP ...) (VP ...))").
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from paraconsist.errors import extras, input_error

#: Srikanth et al. cut trees at the third level, the sentence's own node being the first.
DEPTH = 3

_PIECE = re.compile(r"[()]|[^\s()]+")
_WRAPPERS = ("ROOT", "TOP", "")  # what parsers put around a sentence's own node


@lru_cache(maxsize=65536)
def bare_words(text: str) -> tuple[str, ...]:
    """Return the words between white space, in lower case, with every punctuation mark and symbol taken out.

    >>> bare_words("The boy's boss isn't here!")
    ('the', 'boys', 'boss', 'isnt', 'here')
    """
    kept = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return tuple(kept.split())


def set_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    r"""Return how similar two lists of words are, whatever their order.

    .. math:: 1 - \frac{|n - m| + 2 \min_\pi \sum_i d(a_i, b_{\pi(i)})}{n + m}

    with :math:`\pi` a one-to-one matching of the shorter list's words into the longer one's and d the insertions and
    deletions between two words over their joint length. Equal to ``Levenshtein.setratio`` in the package of that name.
    In [0, 1], 1 for the same words in any order, and for two empty lists.

    >>> set_ratio(["a", "dog"], ["dog", "a"]), round(set_ratio(["dog"], ["dogs"]), 4)
    (1.0, 0.8571)
    """
    total = len(first) + len(second)
    if not first or not second:
        return 0.0 if total else 1.0
    from scipy.optimize import linear_sum_assignment  # takes longer to import than all measures together

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
    return 1.0 - set_ratio(bare_words(paraphrase), bare_words(original))


def jaccard(paraphrase: str, original: str) -> float:
    """Return shared words over all words of two texts, as sets: in [0, 1]; 1 if neither has a word.

    Verma et al. (2023), section 3.1 and appendix A: a paraphrase with 0.75 or more says the same in the same words.

    >>> jaccard("A dog sleeps.", "The dog sleeps.")
    0.5
    """
    one, other = set(bare_words(paraphrase)), set(bare_words(original))
    return len(one & other) / len(one | other) if one or other else 1.0


@cache
def _word_distance() -> Callable[[str, str], float]:
    """Return rapidfuzz's, or the same in plain Python where it is not installed."""
    try:
        distance: Callable[[str, str], float] = importlib.import_module("rapidfuzz.distance.Indel").normalized_distance
    except ImportError:
        return plain_word_distance
    return distance


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


class Tree(NamedTuple):
    """A constituent: its label, and what it is made of. `apted` reads these two names."""

    name: str
    children: tuple[Tree, ...]

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, this one included."""
        return 1 + sum(child.n_nodes for child in self.children)


def parse_tree(bracketed: str, *, depth: int = DEPTH) -> Tree:
    """Read a bracketed parse, as the Penn Treebank writes trees, down to `depth` levels.

    Words, grammatical functions (NP-SBJ) and a node called ROOT, TOP or nothing around the sentence are left out.
    InputError if brackets do not match, or there is no labelled node.

    >>> parse_tree("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ sleeps))))", depth=2)
    Tree(name='S', children=(Tree(name='NP', children=()), Tree(name='VP', children=())))
    """
    pieces = _PIECE.findall(bracketed) if isinstance(bracketed, str) else []
    trees, end = _read(pieces, 0)
    while len(trees) == 1 and trees[0].name in _WRAPPERS:
        trees = trees[0].children
    if end != len(pieces) or len(trees) != 1 or not trees[0].name:
        must = "be one bracketed tree, such as (S (NP (NN Rain)) (VP (VBZ falls)))"
        raise input_error("parse_tree", "bracketed", must, got=bracketed)
    return _cut(trees[0], depth)


def syntactic_distance(parse: str | Tree, original_parse: str | Tree, *, depth: int = DEPTH) -> float:
    r"""Return the tree edit distance of two parses, cut at the third level, over their number of nodes.

    .. math:: TED(T_1, T_2) / (|T_1| + |T_2|)

    Inserting, deleting and renaming a node cost 1 each. Parses are bracketed text, or what `parse_tree` made of it;
    `depth` levels are compared. In [0, 1), 0 for the same upper structure. Srikanth et al. (2024), section 6, say
    "normalised" and not by what; with the sum of nodes 1 is never passed. InputError if a parse cannot be read, or
    `apted` is not installed.

    >>> one, other = "(S (NP (DT A) (NN dog)) (VP (VBZ sleeps)))", "(S (NP (NN Rain)) (VP (VBZ falls)))"
    >>> round(syntactic_distance(one, other), 4)
    0.0909
    """
    with extras("syntactic_distance"):
        apted: Any = importlib.import_module("apted")
    one, other = (t if isinstance(t, Tree) else parse_tree(t, depth=depth) for t in (parse, original_parse))
    return float(apted.APTED(one, other).compute_edit_distance()) / (one.n_nodes + other.n_nodes)


def _read(pieces: list[str], start: int) -> tuple[tuple[Tree, ...], int]:
    """Read the trees from `start` up to a bracket that closes more than they open; words are passed over."""
    trees: list[Tree] = []
    place = start
    while place < len(pieces) and pieces[place] != ")":
        if pieces[place] != "(":
            place += 1
            continue
        has_name = place + 1 < len(pieces) and pieces[place + 1] not in "()"
        name = re.split(r"(?<=.)[-=|](?=.)", pieces[place + 1])[0] if has_name else ""
        children, place = _read(pieces, place + 2 if has_name else place + 1)
        if place >= len(pieces):
            return (), -1
        trees.append(Tree(name, children))
        place += 1
    return tuple(trees), place


def _cut(tree: Tree, depth: int) -> Tree:
    return Tree(tree.name, tuple(_cut(child, depth - 1) for child in tree.children) if depth > 1 else ())
