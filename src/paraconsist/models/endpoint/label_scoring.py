"""How labels are taken from an endpoint: the method, which a few small requests find, and the result of an input."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypedDict

from paraconsist.data.foreign import Malformed
from paraconsist.data.logs.fields import walk
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.tasks import IN_JSON, get_task
from paraconsist.errors import input_error
from paraconsist.files import Json
from paraconsist.models.endpoint import protocol
from paraconsist.models.endpoint.client import EndpointClient
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings

#: Most probable tokens to ask for: what hosted chats and vLLM allow, then what older completions allow.
_TOPS = (20, 5)
_PROBE_TEXT = "It rains."
_PROBE: Json = {"about": "a first request", "tag": "probe"}
_CONNECTS = 3
_ECHO_TRIES = 5
#: Log-probabilities of one token by two requests: servers compute in 16 bits.
_SAME = 0.25
_N_COMPARED = 3


@dataclass(frozen=True)
class Method:
    """How labels are taken from an endpoint."""

    scoring: str  # "label" or "generate"
    top: int = 0  # how many of the most probable first tokens are read; 0 if the labels are not read from them
    echo: bool = False  # whether it returns the log-probabilities of a prompt: of labels of any number of tokens
    wishes: protocol.Wishes = field(default_factory=protocol.Wishes)  # where the endpoint differs from the standard
    served: str = ""  # the endpoint's description of the model besides its name: "root Llama-3.2-1B, owned_by vllm"
    label_tokens: tuple[int, ...] = ()  # numbers of the labels' tokens, if these are requested (SGLang's ``/score``)

    def to_dict(self) -> Json:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Json) -> Method:
        numbers = tuple(fields.get("label_tokens", ()))
        return cls(**{**fields, "wishes": protocol.Wishes(**fields["wishes"]), "label_tokens": numbers})

    def path(self, settings: EndpointSettings, part: str) -> str:
        """Return the path at which a part of an input is requested."""
        return "/score" if self.label_tokens and part == FIRST else settings.path

    def describe(self) -> str:
        """Return one phrase for the run's identity."""
        if self.scoring == "generate":
            return "none"
        parts = ["scored tokens" if self.label_tokens else f"first token, top {self.top}"] if self.top else []
        return "; ".join([*parts, *(["prompt echo"] if self.echo else [])])


def method_key(settings: EndpointSettings, prompt: EndpointPrompt) -> str:
    """Return 16 hex digits for all that the method depends on."""
    template = prompt.template
    parts: list[Any] = [settings.url, settings.api, dict(settings.request_fields), prompt.model, prompt.scoring]
    parts += [template.question, list(template.answers), bool(prompt.prompt.opening(template.instruction))]
    parts += [prompt.temperature] if prompt.temperature else []
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


async def find_method(client: EndpointClient, prompt: EndpointPrompt) -> Method:
    """Find what the endpoint offers, how it describes the model, and whether it answers at all.

    Without a `scoring` the prompt takes log-probabilities if there are any. InputError if the endpoint cannot be used
    as asked: no connection, wrong key, unknown model, no log-probabilities for label scoring.
    """
    method = await _method(client, prompt)
    entries = [entry for entry in await listed_models(client) if entry["id"] == prompt.model]
    if not entries:
        return method
    if entries[0].get("owned_by") == "sglang" and method.top and client.settings.api == "completions":
        method = replace(method, label_tokens=await _scored_tokens(client, prompt, method))
    return replace(method, served=_served(entries[0]))


async def _scored_tokens(client: EndpointClient, prompt: EndpointPrompt, method: Method) -> tuple[int, ...]:
    """Return the labels' tokens if each is one and the endpoint scores them like the most probable ones; else ()."""
    settings, question = client.settings, _probe_question(prompt, client.settings.api)
    texts = [question.text, *(question.text + answer for answer in prompt.answers(settings.api))]

    async def ask(method: Method) -> list[float | None]:
        body, read = part_request(settings, prompt, method, question, FIRST)
        answer = await client.post(method.path(settings, FIRST), body, read, tries=_ECHO_TRIES, **_PROBE)
        scores: list[float | None] = answer["scores"]
        return scores

    try:
        body, options = {"model": prompt.model, "prompt": texts}, {"tries": _ECHO_TRIES, **_PROBE}
        before, *whole = await client.post("/tokenize", body, _read_tokens, **options)
        if any(ids[:-1] != before for ids in whole):
            return ()
        numbers = tuple(ids[-1] for ids in whole)
        pairs = zip(await ask(method), await ask(replace(method, label_tokens=numbers)), strict=True)
    except (protocol.Refused, protocol.GaveUp):
        return ()
    return numbers if all(a is None or b is None or abs(a - b) <= _SAME for a, b in pairs) else ()


def _served(entry: Json) -> str:
    """Describe a listed model by what is the same at every start: the last part of paths, no dates."""
    sizes = {name: walk(entry, "meta", name) for name in ("n_params", "size")}  # of llama.cpp: of quantisations
    root = entry.get("root")
    root = root.rstrip("/").rpartition("/")[2] if isinstance(root, str) else None
    facts = {"root": root, **{name: entry.get(name) for name in ("parent", "owned_by")}, **sizes}
    return ", ".join(f"{name} {value}" for name, value in facts.items() if isinstance(value, (str, int)) and value)


async def _method(client: EndpointClient, prompt: EndpointPrompt) -> Method:
    settings, template = client.settings, prompt.template
    question = _probe_question(prompt, settings.api)
    wanted = prompt.scoring != "generate"
    first, top, wishes = await _first(client, prompt, question, _TOPS if wanted else ())
    if not wanted:
        return Method("generate", wishes=wishes)
    echoed: list[protocol.LabelScore] | None = None
    if settings.api == "completions":
        scores = await _echo(client, prompt, wishes, question, template.answers)
        whole = [score for score in scores if score is not None]
        echoed = whole if len(whole) == len(scores) else None
        words = _words(first) if echoed is not None and first is not None else []
        if first and words and not _agree(first, words, await _echo(client, prompt, wishes, question, words)):
            problem = "the endpoint's log-probabilities of a prompt (echo) are not those that it gives for the next"
            warnings.warn(f"{problem} token: only the latter are used", UserWarning, stacklevel=2)
            echoed = None
    if first is None and echoed is None:
        if prompt.scoring == "label":
            other = "" if settings.api == "chat" else " (or `api` chat, where it returns them there)"
            must = "be 'generate' for an endpoint that returns no log-probabilities"
            why = f"{settings.url} was asked for those of {prompt.model} and passed it over:"
            remedy = f"{why} give `scoring` generate{other}."
            raise input_error("run", "scoring", must, got="label", remedy=remedy)
        return Method("generate", wishes=wishes)
    one_token = echoed is None or all(score.n_tokens == 1 for score in echoed)
    return Method("label", top=top if first is not None and one_token else 0, echo=echoed is not None, wishes=wishes)


def _probe_question(prompt: EndpointPrompt, api: str) -> protocol.Question:
    """Return a small question in the template's form, without examples, that belongs to no input."""
    template = prompt.template
    row = {name: "" if name in IN_JSON else _PROBE_TEXT for name in get_task(template.task).columns}
    if api == "completions":
        return protocol.Question(template.ask(row))
    bare = replace(prompt, prompt=replace(prompt.prompt, examples=()))
    return protocol.question_of(bare, api, get_task(template.task), row)


async def _first(
    client: EndpointClient, prompt: EndpointPrompt, question: protocol.Question, tops: tuple[int, ...]
) -> tuple[dict[str, float] | None, int, protocol.Wishes]:
    """Ask with fewer and fewer wishes until the question is answered; return what is known of the first token."""
    settings, wishes = client.settings, protocol.Wishes()
    left = [*tops, 0]
    while True:
        top = left[0]
        writes = 1 if top else prompt.longest_answer
        body = protocol.request_body(settings, prompt, wishes, question, max_tokens=writes, top=top)
        try:
            first = await client.post(settings.path, body, _first_or_text, connects=_CONNECTS, **_PROBE)
        except protocol.Refused as refused:
            adapted = _adapted(wishes, refused, question)
            if adapted is not None:
                wishes = adapted
            elif refused.status in (400, 403, 422, 501) and len(left) > 1 and not refused.too_long:
                left.pop(0)
            else:
                names = [str(entry["id"]) for entry in await listed_models(client)]
                about = "a first, small request"
                raise protocol.refusal(settings, refused, prompt.model, about, names) from None
        except protocol.GaveUp:  # some servers fail on options that they do not know
            if len(left) == 1:
                raise
            left = [0]
        else:
            return (first, top, wishes) if top and first else (None, 0, wishes)


def _first_or_text(body: Json) -> dict[str, float] | None:
    protocol.text_of(body)  # an answer without a text is malformed
    return protocol.first_token(body)


def _adapted(wishes: protocol.Wishes, refused: protocol.Refused, question: protocol.Question) -> protocol.Wishes | None:
    """Return adapted wishes if the endpoint's refusal names a reason, else None."""
    message = refused.message.lower()
    if "max_completion_tokens" in message and wishes.length_field == "max_tokens":
        return replace(wishes, length_field="max_completion_tokens")
    has_system = bool(question.messages) and question.messages[0]["role"] == "system"
    if has_system and not wishes.merge_system and ("system" in message or "roles must alternate" in message):
        return replace(wishes, merge_system=True)
    return None


async def _echo(
    client: EndpointClient,
    prompt: EndpointPrompt,
    wishes: protocol.Wishes,
    question: protocol.Question,
    answers: Sequence[str],
) -> list[protocol.LabelScore | None]:
    """Return the log-probabilities of answers behind the probe; None where the endpoint does not return them."""
    settings = client.settings

    async def ask(answer: str) -> protocol.LabelScore | None:
        body = protocol.request_body(settings, prompt, wishes, question, max_tokens=1, answer=answer)
        read = partial(protocol.echoed_label, prompt=question.text, answer=answer)
        return await client.post(settings.path, body, read, tries=_ECHO_TRIES, **_PROBE)

    try:
        return list(await asyncio.gather(*(ask(answer) for answer in answers)))
    except (protocol.Refused, protocol.GaveUp):
        return [None] * len(answers)


def _words(first: Mapping[str, float]) -> list[str]:
    """Return the most probable first tokens that are words behind a space: a tokenizer joins them with nothing."""
    words = [token for token in first if token[:1] == " " and token[1:].isalpha()]
    return sorted(words, key=lambda token: -first[token])[:_N_COMPARED]


def _agree(first: Mapping[str, float], words: Sequence[str], echoed: Sequence[protocol.LabelScore | None]) -> bool:
    """Say if words of one token have the same log-probability both ways; on some servers it is a token late."""
    pairs = [(first[word], score) for word, score in zip(words, echoed, strict=True) if score is not None]
    gaps = [abs(value - score.total) for value, score in pairs if score.n_tokens == 1]
    return all(gap <= _SAME for gap in gaps)


async def listed_models(client: EndpointClient) -> list[Json]:
    entries = walk(await client.get("/models"), "data")
    return [m for m in entries if isinstance(m, dict) and "id" in m] if isinstance(entries, list) else []


#: The parts of an input that are requested: the written answer, the first token, each label behind the prompt.
TEXT, FIRST = "text", "first"


class FirstToken(TypedDict):
    """What is read of the first token."""

    scores: list[float | None]  # log-probability of each label; None where it is not among the most probable tokens
    floor: float | None  # the least log-probability that was returned
    token: str  # the most probable token


def wanted_parts(method: Method, n_labels: int, answered: Json) -> list[str]:
    """Return the parts of an input that are still to be requested, in order; `answered` maps parts to their values."""
    if method.scoring == "generate":
        wanted = [TEXT]
    elif method.top:
        wanted = [FIRST]
        if method.echo and FIRST in answered:  # labels that are not among the most probable tokens
            wanted += [f"label-{i}" for i, score in enumerate(answered[FIRST]["scores"]) if score is None]
    else:
        wanted = [f"label-{i}" for i in range(n_labels)]
    return [part for part in wanted if part not in answered]


def part_request(
    settings: EndpointSettings, prompt: EndpointPrompt, method: Method, question: protocol.Question, part: str
) -> tuple[Json, Callable[[Json], Any]]:
    """Return the body of the request for a part of an input, and the function that reads its answer."""
    words = prompt.answers(settings.api)

    def body(**fields: Any) -> Json:
        return protocol.request_body(settings, prompt, method.wishes, question, **fields)

    if part == TEXT:
        stop = [prompt.template.stop] if prompt.template.stop and "stop" not in settings.request_fields else None
        return {**({"stop": stop} if stop else {}), **body(max_tokens=prompt.longest_answer)}, protocol.text_of
    if part == FIRST and method.label_tokens:
        scored = {"model": prompt.model, "query": question.text, "items": [""], "label_token_ids": method.label_tokens}
        return {**scored, **settings.request_fields}, lambda read: _read_scores(read, len(words))
    if part == FIRST:
        return body(max_tokens=1, top=method.top), lambda read: _read_first(read, words, settings.api == "chat")
    answer = words[int(part.removeprefix("label-"))]
    return body(max_tokens=1, answer=answer), lambda read: _read_label(read, question.text, answer)


def _read_first(body: Json, words: Sequence[str], chat: bool) -> FirstToken:
    first = protocol.first_token(body)
    if first is None:
        raise Malformed("its log-probabilities are gone")
    best = max(first, key=lambda token: first[token])
    return {"scores": protocol.as_label(first, words, chat=chat), "floor": min(first.values()), "token": best}


def _read_tokens(body: Json) -> list[list[int]]:
    tokens = body.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(ids, list) for ids in tokens):
        raise Malformed("it has no tokens")
    return tokens


def _read_scores(body: Json, n_labels: int) -> FirstToken:
    """Read the probabilities of all label words, as `_read_first` reads the most probable tokens."""
    shares = walk(body, "scores", "0")
    if not isinstance(shares, list) or len(shares) != n_labels or not all(isinstance(p, (int, float)) for p in shares):
        raise Malformed("it has no scores of the label words")
    if not max(shares) > 0 or not all(0 <= p <= 1.001 for p in shares):
        raise Malformed("its scores are no probabilities")
    return {"scores": [math.log(max(p, 1e-300)) for p in shares], "floor": None, "token": ""}


def _read_label(body: Json, prompt: str, answer: str) -> dict[str, float]:
    score = protocol.echoed_label(body, prompt, answer)
    if score is None:
        raise Malformed(f"the log-probabilities of {answer.strip()!r} are not in it")
    return score._asdict()


def is_bounded(method: Method, answered: Json) -> bool:
    """Say if some labels, but not all, have a bound in place of their log-probability."""
    if method.scoring != "label" or method.echo or FIRST not in answered:
        return False
    scores = answered[FIRST]["scores"]
    return None in scores and any(score is not None for score in scores)


def result_of(
    method: Method, prompt: EndpointPrompt, api: str, answered: Json, *, cut: bool = False
) -> list[float] | WrittenAnswer:
    """Return the result of an input whose parts are all answered: a written answer, or the labels' probabilities.

    These are a softmax over the labels' (normalised) log-probabilities. A label that is not among the first tokens that
    an endpoint returns, and cannot be requested, counts with the least probable of these, the largest value it can
    have. If no label is among them, the answer is unparsed, and the most probable token is its text. `cut` is whether
    the limit of tokens ended a written answer.
    """
    words = prompt.answers(api)
    if method.scoring == "generate":
        return prompt.template.read(str(answered[TEXT]), cut=cut)
    scores: list[protocol.LabelScore | None] = [None] * len(words)
    first = answered.get(FIRST)
    if first is not None:
        scores = [None if score is None else protocol.LabelScore(score, 1, score) for score in first["scores"]]
    for label in range(len(words)):
        if (part := f"label-{label}") in answered:
            scores[label] = protocol.LabelScore(**answered[part])
    if all(score is None for score in scores):
        return WrittenAnswer(None, str(first["token"]) if first else "")
    floor = protocol.LabelScore(first["floor"], 1, first["floor"]) if first else None
    totals = []
    for word, score in zip(words, scores, strict=True):
        known = score if score is not None else floor
        if known is None:
            raise ValueError("a label without a log-probability")
        divisor = {"none": 1, "tokens": known.n_tokens, "characters": len(word.strip())}[prompt.normalize]
        totals.append(known.total / divisor)
    highest = max(totals)
    weights = [math.exp(total - highest) for total in totals]
    return [weight / sum(weights) for weight in weights]
