"""From what an endpoint answered about one input to its result: probabilities of the labels, or a label read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraconsist.data.answers import Written, parse_answer
from paraconsist.models.endpoint.method import Method
from paraconsist.models.endpoint.problems import Malformed
from paraconsist.models.endpoint.reading import LabelScore, as_label, echoed_label, first_token, text_of
from paraconsist.models.endpoint.requests import Question, request_body
from paraconsist.models.endpoint.settings import Asking, EndpointSettings

#: The parts of an input that are asked for: the written answer, the first token, each label behind the prompt.
TEXT, FIRST = "text", "first"


@dataclass(frozen=True)
class Part:
    """A request about an input: its body, and how its answer is read."""

    body: dict[str, Any]
    read: Callable[[dict[str, Any]], Any]


def _label_part(label: int) -> str:
    return f"label-{label}"


def wanted_parts(method: Method, n_labels: int, answered: Mapping[str, Any]) -> list[str]:
    """The parts of an input that are still to be asked for, in order.

    Parameters
    ----------
    method : Method
    n_labels : int
    answered : mapping
        Part -> what was read, for the parts that are answered.
    """
    if method.scoring == "generate":
        wanted = [TEXT]
    elif method.top:
        wanted = [FIRST]
        if method.echo and FIRST in answered:  # labels that are not among the most probable tokens
            wanted += [_label_part(i) for i, score in enumerate(answered[FIRST]["scores"]) if score is None]
    else:
        wanted = [_label_part(i) for i in range(n_labels)]
    return [part for part in wanted if part not in answered]


def part_request(settings: EndpointSettings, asking: Asking, method: Method, question: Question, part: str) -> Part:
    """The request for a part of an input."""
    words = asking.answers(settings.api)

    def body(**fields: Any) -> dict[str, Any]:
        return request_body(settings, asking, method.wishes, question, **fields)

    if part == TEXT:
        return Part(body(max_tokens=asking.max_tokens), text_of)
    if part == FIRST:
        return Part(body(max_tokens=1, top=method.top), lambda said: _read_first(said, words, settings.api == "chat"))
    answer = words[int(part.removeprefix("label-"))]
    return Part(body(max_tokens=1, answer=answer), lambda said: _read_label(said, question.text, answer))


def _read_first(said: dict[str, Any], words: Sequence[str], chat: bool) -> dict[str, Any]:
    found = first_token(said)
    if found is None:
        raise Malformed("its log-probabilities are gone")
    best = max(found, key=lambda token: found[token])
    return {"scores": as_label(found, words, chat=chat), "floor": min(found.values()), "token": best}


def _read_label(said: dict[str, Any], prompt: str, answer: str) -> dict[str, Any]:
    score = echoed_label(said, prompt, answer)
    if score is None:
        raise Malformed(f"the log-probabilities of {answer.strip()!r} are not in it")
    return score._asdict()


def is_bounded(method: Method, answered: Mapping[str, Any]) -> bool:
    """Whether some labels, not all, have a bound in place of their log-probability."""
    if method.scoring != "label" or method.echo or FIRST not in answered:
        return False
    scores = answered[FIRST]["scores"]
    return None in scores and any(score is not None for score in scores)


def result_of(method: Method, asking: Asking, api: str, answered: Mapping[str, Any]) -> list[float] | Written:
    """The result of an input whose parts are all answered.

    Returns
    -------
    list of float or Written
        Probabilities of the labels: a softmax over their (normalised) log-probabilities. A label that is not among
        the first tokens that an endpoint shows, and cannot be asked for, counts with the least probable of these,
        the largest value it can have. Where no label is among them there are no probabilities: the answer is
        unparsed, and the most probable token stands for it.
    """
    words = asking.answers(api)
    if method.scoring == "generate":
        text = str(answered[TEXT])
        return Written(parse_answer(text, asking.prompt.template.words), text)
    scores: list[LabelScore | None] = [None] * len(words)
    first = answered.get(FIRST)
    if first is not None:
        scores = [None if score is None else LabelScore(score, 1, score) for score in first["scores"]]
    for label in range(len(words)):
        if _label_part(label) in answered:
            scores[label] = LabelScore(**answered[_label_part(label)])
    if all(score is None for score in scores):
        return Written(None, str(first["token"]) if first else "")
    floor = LabelScore(first["floor"], 1, first["floor"]) if first else None
    totals = []
    for word, score in zip(words, scores, strict=True):
        known = score if score is not None else floor
        if known is None:
            raise ValueError("a label without a log-probability")
        divisor = {"none": 1, "tokens": known.n_tokens, "characters": len(word.strip())}[asking.normalize]
        totals.append(known.total / divisor)
    highest = max(totals)
    weights = [math.exp(total - highest) for total in totals]
    return [weight / sum(weights) for weight in weights]
