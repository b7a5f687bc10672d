"""What measures of surface form need from outside: a constituency parser, and BLEURT; both optional, and said so."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from paraconsist.errors import InputError, input_error, speaking_for

#: Texts -> a bracketed constituency tree for each.
Parser: TypeAlias = Callable[[Sequence[str]], list[str]]


def load_parser(name: str) -> Parser:
    """Return a constituency parser: ``stanza``, or ``module:function`` of the user's own (texts -> bracketed trees).

    Raises
    ------
    InputError
        If it is not installed; the message says how to get it.
    """
    if ":" in name:
        from paraconsist.transforms.callables import load_function

        with speaking_for("paraphrase", function="parser"):
            made: Parser = load_function(name)
        return made
    if name != "stanza":
        raise input_error("paraphrase", "parser", "be stanza, or module:function of your own", got=name)
    try:
        stanza: Any = importlib.import_module("stanza")
    except ImportError:
        raise _missing("parser", "stanza", 'pip install stanza, then stanza.download("en")') from None
    try:
        pipeline = stanza.Pipeline("en", processors="tokenize,pos,constituency", tokenize_no_ssplit=True, verbose=False)
    except Exception as problem:
        said = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise _missing("parser", "stanza with its English model", f'stanza.download("en"). It said: {said}') from None

    def parse(texts: Sequence[str]) -> list[str]:
        return [str(pipeline(text).sentences[0].constituency) for text in texts]

    return parse


def load_bleurt(checkpoint: str) -> Callable[[Sequence[str], Sequence[str]], list[float]]:
    """Return BLEURT: (paraphrases, originals) -> scores, with Google's package ``bleurt`` and one of its checkpoints.

    Raises
    ------
    InputError
        If package or checkpoint are not there; the message says how to get them.
    """
    try:
        score: Any = importlib.import_module("bleurt.score")
    except ImportError:
        raise _missing(
            "similarity",
            "bleurt",
            "pip install git+https://github.com/google-research/bleurt, and unpack a checkpoint; "
            "or give --embedding-model for the cosine of embeddings",
        ) from None
    try:
        scorer = score.BleurtScorer(checkpoint)
    except Exception as problem:
        said = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise input_error("paraphrase", "similarity", "name a BLEURT checkpoint", got=checkpoint, remedy=said) from None

    def scores(paraphrases: Sequence[str], originals: Sequence[str]) -> list[float]:
        return [float(s) for s in scorer.score(references=list(originals), candidates=list(paraphrases))]

    return scores


def _missing(parameter: str, package: str, how: str) -> InputError:
    return input_error("paraphrase", parameter, f"be installed: {package}", remedy=f"{how}.")
