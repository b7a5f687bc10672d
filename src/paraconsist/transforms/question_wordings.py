"""Wordings of questions that differ in their surface, as careless typing does; `rewording` has those of other words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from random import Random

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.prompts import asked, by_bucket
from paraconsist.errors import input_error
from paraconsist.transforms.paraphrase.kept import parts
from paraconsist.transforms.paraphrase.refining import Examined, Refined
from paraconsist.transforms.paraphrase.sets import GeneratedQuestions
from paraconsist.transforms.perturbation import PROPERTIES, sampled
from paraconsist.transforms.rewording import KINDS

_WORD = re.compile(r"(?<![\w'’])[^\W\d_]{4,}(?![\w'’])")
_WORDS_A_SLIP = 8  # of a text, for each of its words with a slip


def _typos(text: str, rng: Random) -> str:
    """Swap two letters inside some words, at least one; the first and the last letter stay."""
    words = [match.span() for match in _WORD.finditer(text) if len(set(match[0][1:-1])) > 1]
    letters = list(text)
    for start, end in rng.sample(words, min(len(words), 1 + len(words) // _WORDS_A_SLIP)):
        place = rng.choice([i for i in range(start + 1, end - 2) if text[i] != text[i + 1]])
        letters[place : place + 2] = letters[place + 1], letters[place]
    return "".join(letters)


SURFACE: Mapping[str, Callable[[str, Random], str]] = {
    "typos": _typos,
    "lower_case": lambda text, _: text.lower(),
    "punctuation": lambda text, _: text.rstrip(" ?!."),
}


def perturbed_questions(
    data: BucketSet, names: Sequence[str] | None, *, limit: int | None, seed: int
) -> tuple[GeneratedQuestions, Counter[str]]:
    """Return questions, all or `limit` drawn at random, with a wording of each kind, and the number of each kind.

    Code, numbers, quotations and the like stay as they are: a question that a kind would change there has none of it.
    InputError for a kind that questions cannot have, or that changes none of these.
    """
    for name in names or ():
        if name not in SURFACE:
            remedy = "".join(f"Did you mean {near}?" for near in get_close_matches(name, SURFACE, 1))
            remedy = f"`paraconsist reword` has the kind {name}." if name in KINDS else remedy
            remedy = "It needs rows with labels, of a task of the papers." if name in PROPERTIES else remedy
            must = f"be kinds for questions ({', '.join(SURFACE)})"
            raise input_error("perturb", "property", must, got=name, remedy=remedy)
    buckets = dict(sampled([*by_bucket(data.table.to_pylist()).items()], limit, seed))
    made, kinds = Refined({asked(row): [] for row, *_ in buckets.values()}), dict[tuple[str, str], str]()
    for rows in buckets.values():
        text, seen = asked(rows[0]), set(map(asked, rows))
        for name in names or SURFACE:
            new = SURFACE[name](text, Random(f"{seed}/{name}/{text}"))
            if new.strip() and new not in seen and (text, new) not in kinds and parts(new) == parts(text):
                kinds[text, new] = name
                made.add(Examined(text, new, None, f"; {name}"))
    counts = Counter(kinds.values())
    for name in names or ():
        if not counts[name]:
            must = "be kinds that change one of these questions: it made none"
            raise input_error("perturb", "property", must, got=name)
    return GeneratedQuestions(data, buckets, made, "perturb", 1, kinds), counts
