"""Surface form: how far a paraphrase's wording and structure are from its original's."""

from __future__ import annotations

from paraconsist.surface.diversity import ParaphraseDiversityResult, paraphrase_diversity
from paraconsist.surface.lexical import jaccard, lexical_distance, set_ratio
from paraconsist.surface.syntactic import DEPTH, Tree, parse_tree, syntactic_distance

__all__ = [
    "DEPTH",
    "ParaphraseDiversityResult",
    "Tree",
    "jaccard",
    "lexical_distance",
    "paraphrase_diversity",
    "parse_tree",
    "set_ratio",
    "syntactic_distance",
]
