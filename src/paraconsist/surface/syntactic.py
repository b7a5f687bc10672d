"""Distance of structure: edit distance between constituency trees, cut below their upper levels.

Parses come from outside, as bracketed text ("(S (NP ...) (VP ...))"): this room has no parser.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from paraconsist.errors import input_error

__all__ = ["DEPTH", "Tree", "parse_tree", "syntactic_distance"]

#: Srikanth et al. cut trees at the third level, the sentence's own node being the first.
DEPTH = 3

_PIECE = re.compile(r"[()]|[^\s()]+")
_WRAPPERS = ("ROOT", "TOP", "")  # what parsers put around a sentence's own node


class Tree(NamedTuple):
    """A constituent: its label, and what it is made of. `apted` reads these two names."""

    name: str
    children: tuple[Tree, ...]

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, this one included."""
        return 1 + sum(child.n_nodes for child in self.children)


def parse_tree(bracketed: str, *, depth: int = DEPTH) -> Tree:
    """Read a bracketed parse; words, grammatical functions (NP-SBJ) and all below `depth` levels are left out.

    Parameters
    ----------
    bracketed : str
        As the Penn Treebank writes trees; a node called ROOT, TOP or nothing around the sentence does not count.
    depth : int
        Levels to keep.

    Raises
    ------
    InputError
        If brackets do not match, or there is no labelled node.

    Examples
    --------
    >>> parse_tree("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ sleeps))))", depth=2)
    Tree(name='S', children=(Tree(name='NP', children=()), Tree(name='VP', children=())))
    """
    pieces = _PIECE.findall(bracketed) if isinstance(bracketed, str) else []
    trees, end = _read(pieces, 0)
    while len(trees) == 1 and trees[0].name in _WRAPPERS:
        trees = trees[0].children
    if end != len(pieces) or len(trees) != 1 or not trees[0].name:
        raise input_error(
            "parse_tree",
            "bracketed",
            "be one bracketed tree, such as (S (NP (NN Rain)) (VP (VBZ falls)))",
            got=bracketed,
        )
    return _cut(trees[0], depth)


def syntactic_distance(parse: str | Tree, original_parse: str | Tree, *, depth: int = DEPTH) -> float:
    r"""Return the tree edit distance of two parses, cut at the third level, over their number of nodes.

    .. math:: TED(T_1, T_2) / (|T_1| + |T_2|)

    Inserting, deleting and renaming a node cost 1 each.

    Parameters
    ----------
    parse, original_parse : str or Tree
        Bracketed text, or what `parse_tree` made of it.
    depth : int
        Levels that are compared.

    Returns
    -------
    float
        In [0, 1), 0 for the same upper structure.

    Raises
    ------
    InputError
        If a parse cannot be read, or `apted` is not installed.

    Notes
    -----
    Srikanth et al. (2024), section 6, say "normalised" and not by what; with the sum of nodes 1 is never passed.

    Examples
    --------
    >>> one, other = "(S (NP (DT A) (NN dog)) (VP (VBZ sleeps)))", "(S (NP (NN Rain)) (VP (VBZ falls)))"
    >>> round(syntactic_distance(one, other), 4)
    0.0909
    """
    try:
        apted: Any = importlib.import_module("apted")
    except ImportError:
        raise input_error(
            "syntactic_distance", "parse", "be compared with the package apted", remedy="pip install apted."
        ) from None
    one, other = (t if isinstance(t, Tree) else parse_tree(t, depth=depth) for t in (parse, original_parse))
    return float(apted.APTED(one, other).compute_edit_distance()) / (one.n_nodes + other.n_nodes)


def _read(pieces: list[str], start: int) -> tuple[tuple[Tree, ...], int]:
    """Read the trees from `start` up to a bracket that closes more than they open; words are passed over."""
    found: list[Tree] = []
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
        found.append(Tree(name, children))
        place += 1
    return tuple(found), place


def _cut(tree: Tree, depth: int) -> Tree:
    return Tree(tree.name, tuple(_cut(child, depth - 1) for child in tree.children) if depth > 1 else ())
