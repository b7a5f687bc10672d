"""Wordings of questions that change their surface: slips of the keyboard, and the kinds that reword benchmarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from random import Random

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.questions import asked, by_bucket
from paraconsist.errors import input_error
from paraconsist.transforms.paraphrase.kept import language_of, parts
from paraconsist.transforms.paraphrase.refining import Examined, Refined
from paraconsist.transforms.paraphrase.sets import GeneratedQuestions
from paraconsist.transforms.perturbation import PROPERTIES, sampled
from paraconsist.transforms.rewording import KINDS, Prompt, common_descriptors, reworded

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


#: Kinds for questions alone: a benchmark's rewording keeps its signs.
SURFACE: Mapping[str, Callable[[str, Random], str]] = {
    "typos": _typos,
    "lower_case": lambda text, _: text.lower(),
    "punctuation": lambda text, _: text.rstrip(" ?!."),
}
#: Kinds of a benchmark's rewording that a question alone can have, and those of them that are English.
_OF_TEXT = tuple(name for name, kind in KINDS.items() if kind.variants and not kind.moves_key)
_ENGLISH = ("instruction", *(name for name in _OF_TEXT if KINDS[name].english))


def perturbed_questions(
    data: BucketSet, names: Sequence[str] | None, *, limit: int | None, seed: int
) -> tuple[GeneratedQuestions, Counter[str]]:
    """Return questions, all or `limit` drawn at random, with a wording of each kind, and the number of each kind.

    Code, numbers, quotations and the like stay as they are: a question that a kind would change there has none of it.
    InputError for a kind that questions cannot have, or that changes none of these; by default all kinds but wordnet.
    """
    buckets = dict(sampled([*by_bucket(data.table.to_pylist()).items()], limit, seed))
    texts = {asked(row): row for row, *_ in buckets.values()}
    barred = () if language_of(" ".join([*texts][:50])) in ("en", None) else _ENGLISH
    if names is None:
        chosen = [*SURFACE, *(name for name in _OF_TEXT if KINDS[name].default and name not in barred)]
    else:
        chosen = [_checked(name, barred) for name in names]
    descriptors = common_descriptors(texts)
    made, kinds = Refined({text: [] for text in texts}), dict[tuple[str, str], str]()
    for text, row in texts.items():
        seen = {text, *(asked(one) for one in buckets[row["bucket_id"]])}
        prompt = Prompt(text, (), list(row["label"] or ()), (text,), descriptors)
        for name in chosen:
            if name in SURFACE:
                new = SURFACE[name](text, Random(f"{seed}/{name}/{text}"))
            else:
                new = (reworded(prompt, name, 0, text) or prompt).text
            if new.strip() and new not in seen and parts(new) == parts(text):
                seen.add(new)
                kinds[text, new] = name
                made.add(Examined(text, new, None, f"; {name}"))
    counts = Counter(kinds.values())
    for name in names or ():
        if not counts[name]:
            must = "be kinds that change one of these questions: it made none"
            raise input_error("perturb", "property", must, got=name)
    return GeneratedQuestions(data, buckets, made, "perturb", 1, kinds), counts


def _checked(name: str, barred: Sequence[str]) -> str:
    """Return the name of a kind; InputError for one that questions cannot have, or not in their language."""
    known = [*SURFACE, *_OF_TEXT]
    if name in barred:
        raise input_error("perturb", "property", "be given for questions in English", got=name)
    if name not in known:
        remedy = "".join(f"Did you mean {near}?" for near in get_close_matches(name, known, 1))
        if name in PROPERTIES:
            remedy = "It needs rows with labels, of a task of the papers."
        elif name in KINDS:
            remedy = "It needs options that are scored: `paraconsist reword` makes it of a benchmark."
        must = f"be kinds for questions ({', '.join(known)})"
        raise input_error("perturb", "property", must, got=name, remedy=remedy)
    return name
