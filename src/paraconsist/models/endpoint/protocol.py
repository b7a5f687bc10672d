"""Requests to an endpoint, and what is read of its answers: texts, log-probabilities, tokens, refusals.

Servers differ. Log-probabilities come in the form of the older completions (``tokens``, ``token_logprobs``,
``top_logprobs``) or of chats (``content``, a list of tokens), independent of the request; both are read everywhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from paraconsist.data.foreign import Malformed, cleaned, read_object
from paraconsist.data.logs.fields import walk
from paraconsist.data.store import DECLINED, FILTERED, REASONING_ONLY, REFUSED, TOO_LONG, TOOL_CALLS
from paraconsist.data.tasks import Task
from paraconsist.errors import MOST_COUNTED, InputError, input_error
from paraconsist.files import Json
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings

_MOST_SHOWN = 240
_TOO_LONG = re.compile(
    r"(?i)context[ _-]?(length|window|size)|maximum (model )?length|max_model_len|n_ctx|too (long|many (input )?tokens)"
    r"|longer than|exceeds? .{0,60}(tokens|length|limit)"
)
KEPT = "What was answered is kept: the same command goes on from there."


class Interrupted(Malformed):
    """An answer that an error of the server ended; it is requested again."""


class GaveUp(InputError):
    """The last try of a request failed; another request may succeed."""


class Unreachable(InputError):
    """A server to which there is no connection."""


class Refused(Exception):
    """A request that the endpoint refuses, however often it is sent."""

    def __init__(self, status: int, message: str, *, html: bool = False) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.html = status, message, html

    @property
    def too_long(self) -> bool:
        """Whether the prompt exceeds the model's window."""
        return self.status in (400, 413, 422) and (self.status == 413 or bool(_TOO_LONG.search(self.message)))


def message_of(body: bytes) -> str:
    """Return one line of a server's refusal: an error's message, or the beginning of the text."""
    text = body.decode("utf-8", errors="replace")
    try:
        message = _message(cleaned(json.loads(text)))
    except (ValueError, RecursionError):
        message = re.sub(r"<[^>]*>", " ", text)
    line = " ".join("".join(c if c.isprintable() else " " for c in message).replace("`", "'").split())  # no parameters
    if line and line[-1] not in ".!?":
        line += "."
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 3] + "..."


def _message(value: Any) -> str:
    for key in ("error", "detail", "message"):
        if isinstance(value, dict) and value.get(key):
            return _message(value[key])
    if isinstance(value, list) and len(value) == 1 and walk(value, "0", "error"):  # Gemini's
        return _message(value[0])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unreachable(url: str, why: str) -> Unreachable:
    """Return the error for a server to which there is no connection."""
    why = why.replace(" ssl:default", "").rstrip(".")  # aiohttp says it of http, too
    port = "port, and http:// what it takes" if "WRONG_VERSION_NUMBER" in why else "port"
    remedy = f"{why}. Is the server running, and is this its host and {port}? {KEPT}"
    must = "be an address that can be reached"
    return Unreachable(must, function="run", parameter="endpoint", got=url, remedy=remedy)


def untrusted(url: str, problem: Exception) -> InputError:
    """Return the error for a server whose certificate does not pass."""
    why = str(getattr(problem, "verify_message", problem))
    remedy = "If you trust it, name the file of its authority's certificate (PEM) as SSL_CERT_FILE in the environment. "
    remedy = f"{why.rstrip('.')}. {remedy * ('self' in why or 'issuer' in why)}{KEPT}"
    return input_error("run", "endpoint", "have a certificate that is trusted", got=url, remedy=remedy)


def refused_by_proxy(status: int) -> InputError:
    """Return the error for a connection that the environment's proxy refuses; its address may hold a password."""
    remedy = "It wants a name and a password: HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT. " * (status == 407)
    remedy += "If the endpoint's host needs no proxy, name it as NO_PROXY."
    return InputError(f"the environment's proxy refused the connection ({status}).", function="run", remedy=remedy)


def refusal(
    settings: EndpointSettings, refused: Refused, model: str, about: str, served: Sequence[str] | None = None
) -> InputError:
    """Return the error for a request whose content was refused.

    `about` names the request; `served`, given for the first one, are the models that the endpoint lists, if any.
    """
    kept = "" if served is not None else f" {KEPT}"
    answer = f'The endpoint said ({refused.status}): "{refused.message}"' if refused.message else f"({refused.status})"
    if refused.too_long:
        must, got = "make prompts that fit in the model's window", f"{about}, which is too long"
        remedy = "Prompts are never cut: give fewer `shots`, another `template`, or a model with a wider window."
        return input_error("run", "shots", must, got=got, remedy=f"{answer} {remedy}{kept}")
    names_model = refused.status in (400, 404) and _names_model(refused.message, model)
    # Servers answer to names that they do not list (Azure's deployments), and refuse other things of them
    if (names_model or refused.status == 404) and model not in served if served else names_model:
        remedy = f"It serves {', '.join(served[:8])}. {answer}" if served else answer
        return input_error("run", "model", "be a model that the endpoint serves", got=model, remedy=remedy)
    if refused.status in (404, 405):
        other = "chat" if settings.api == "completions" else "completions"
        if refused.html:
            answer = f"It answered {refused.status} with a web page."
        must = f"be the address of an OpenAI-compatible API with {settings.path}"
        remedy = f"{answer} The address often ends in /v1; or give `api` {other}."
        return input_error("run", "endpoint", must, got=settings.url, remedy=remedy)
    for name, effect in {"temperature": ": answers are then drawn", "seed": "", "stop": ""}.items():
        if re.search(rf"['\"]{name}['\"]|\b{name}=", refused.message):  # of models that reason, and of strict servers
            answer += f" Give `request_field` {name}=null{effect}."
    if re.search("higher max_|below minimum", refused.message):
        answer += " Give a higher `max_new_tokens`."
    return InputError(f"the endpoint refused {about}.", function="run", remedy=f"{answer}{kept}")


def failure_of(refused: Refused, model: str) -> str | None:
    """Return the kind of failure that a refusal means for its input; None if every input would be refused."""
    if refused.too_long:
        return TOO_LONG
    return REFUSED if refused.status in (400, 403, 422, 451) and not _names_model(refused.message, model) else None


def _names_model(message: str, model: str) -> bool:
    if any(f"{quote}{model}{quote}" in message for quote in "'\"`"):
        return True
    absent = re.search(r"not (found|exist)|unknown|no such|not a valid|invalid model", message, re.IGNORECASE)
    return "model" in message.lower() and absent is not None


#: Values at and below which servers mean "impossible" (JSON has no infinity).
_IMPOSSIBLE = -9000.0


class TokenUse(NamedTuple):
    """Numbers of tokens read and written, as the endpoint counted them; None without a count."""

    prompt: int | None
    completion: int | None


#: Why a model stopped, as servers say it, in lower case: at the limit of tokens, by a filter, by an error of theirs.
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTER = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "sensitive"})
_ERROR = frozenset({"error", "abort", "aborted", "network_error", "insufficient_system_resource"})


class Ending(NamedTuple):
    """How an answer ended, as the endpoint tells it; texts are empty for what it does not tell."""

    reason: str = ""  # its finish_reason
    refusal: str = ""
    reasoning: str = ""  # apart from the answer
    tool_calls: int = 0
    failure: str = ""  # the kind of failure that this means for the input

    @property
    def cut(self) -> bool:
        """Whether the limit of tokens ended it."""
        return self.reason.lower() in _CUT

    @classmethod
    def of(cls, body: Json, *, is_text: bool) -> Ending:
        """Read how an answer ended, which may have a text, or log-probabilities only; `Interrupted` after an error."""
        if "choices" not in body and "error" not in body:  # tokens and their scores
            return cls()
        choice = _choice(body)
        reason, message = _text(choice.get("finish_reason")), choice.get("message")
        refusal, reasoning, other = (_text(walk(message, n)) for n in ("refusal", "reasoning_content", "reasoning"))
        reasoning, calls = reasoning or other, walk(message, "tool_calls")
        n_calls = len(calls) if isinstance(calls, list) else int(walk(message, "function_call") is not None)
        is_empty, failure = is_text and not text_of(body).strip(), ""
        if reason.lower() in _ERROR:
            raise Interrupted(f"it ended by an error of the server ({reason})")
        if reason.lower() in _FILTER:
            failure = FILTERED
        elif (refusal or reason == "refusal") and (is_empty or not is_text):
            failure = DECLINED
        elif is_empty and n_calls:
            failure = TOOL_CALLS
        elif is_empty and reasoning and reason.lower() not in _CUT:
            failure = REASONING_ONLY
        return cls(reason, refusal, reasoning, n_calls, failure)

    def problem(self, about: str) -> InputError:
        said = self.refusal or self.reason
        what = {
            FILTERED: f"the endpoint filtered the answer to {about}",
            DECLINED: f"the model declined to answer {about}",
            TOOL_CALLS: f"the model called a tool in place of an answer to {about}",
            REASONING_ONLY: f"the answer to {about} has reasoning, and no text",
        }[self.failure]
        remedy = "Turn reasoning off by a `request_field`, or let the server leave it in the text."
        said = f' ("{said[:_MOST_SHOWN]}")' if said else ""
        return InputError(f"{what}{said}.", function="run", remedy=remedy if self.failure == REASONING_ONLY else "")


class Answered(NamedTuple):
    """The answer to one request: its input, the part of the input, and the value read of the answer."""

    input_id: str
    part: str
    value: Any  # None if the answer failed
    used: TokenUse
    served: str  # the endpoint's name for the model that answered, with its fingerprint if there is one
    ending: Ending = Ending()

    @classmethod
    def of(cls, input_id: str, part: str, body: Json, read: Callable[[Json], Any]) -> Answered:
        """Read an answer; `Malformed` if `read` cannot, or it is to be requested again."""
        ending = Ending.of(body, is_text=read is text_of)
        value = None if ending.failure else read(body)
        names = (body.get("model"), body.get("system_fingerprint"))
        served = " ".join(name for name in names if isinstance(name, str) and name)
        return cls(input_id, part, value, tokens_used(body), served, ending)

    def to_dict(self) -> Json:
        """Return the fields of a journal's line; of the ending what the endpoint tells."""
        ending = {name: value for name, value in self.ending._asdict().items() if value}
        fields = {**self._asdict(), "ending": ending}
        return fields if ending else {name: value for name, value in fields.items() if name != "ending"}

    @classmethod
    def from_dict(cls, fields: Json) -> Answered:
        ending = Ending(**fields.get("ending", {}))
        return cls(**{**fields, "used": TokenUse(*fields["used"]), "ending": ending})


class LabelScore(NamedTuple):
    """A label's log-probability after a prompt: over all of its tokens, their number, and that of the first alone."""

    total: float
    n_tokens: int
    first: float


def _choice(body: Json) -> Json:
    """Return the choice with the least index: servers list several in any order; `Interrupted` if an error ended it."""
    choices, chosen = body.get("choices"), None
    if isinstance(choices, list) and choices and all(isinstance(choice, dict) for choice in choices):
        places = [choice.get("index") for choice in choices]
        known = all(isinstance(place, int) for place in places)
        chosen = choices[places.index(min(places)) if known else 0]
    for part in (body, chosen or {}):  # an answer that breaks off has both
        if part.get("error"):
            raise Interrupted(f"it is an error: {message_of(json.dumps(part).encode())}")
    if chosen is None:
        raise Malformed("it is of /responses, not of /completions" if "output" in body else "it has no choices")
    return dict(chosen)


def _text(value: Any) -> str:
    if isinstance(value, list):  # of parts
        return "".join(_text(walk(part, "text")) for part in value)
    return value if isinstance(value, str) else ""


def read_answer(data: bytes, hide: Callable[[str], str]) -> Json:
    """Return an answer's body; one that a server streams unasked, in events, is joined. Raises as `read_object`."""
    if not data.lstrip().startswith((b"data:", b"event:", b":")):
        return read_object(data, hide)
    texts = [text.strip() for name, _, text in (line.partition(b":") for line in data.splitlines()) if name == b"data"]
    pieces = [read_object(text) for text in texts if text not in (b"", b"[DONE]")]
    body = {name: value for piece in pieces for name, value in piece.items() if value is not None}
    parts = [part for piece in pieces if (part := walk(piece, "choices", "0")) is not None]
    if not parts:
        return dict(cleaned(body, hide))

    def text_in(*steps: str) -> str:
        return "".join(_text(walk(part, *steps)) for part in parts)

    def items_in(*steps: str) -> list[Any]:
        lists = (walk(part, *steps) for part in parts)
        return [item for one in lists if isinstance(one, list) for item in one]

    names = ("content", "tokens", "token_logprobs", "top_logprobs")
    reasons = [reason for part in parts if (reason := _text(walk(part, "finish_reason")))]
    if not reasons and b"[DONE]" not in texts:
        body.setdefault("error", "the stream breaks off")
    logprobs = {name: items_in("logprobs", name) for name in names}
    choice: Json = {"finish_reason": reasons[-1] if reasons else None, "logprobs": logprobs}
    if any(walk(part, "delta") is not None for part in parts):
        texts_of = ("content", "refusal", "reasoning_content", "reasoning")
        message = {name: text_in("delta", name) for name in texts_of}
        choice = {**choice, "message": {**message, "tool_calls": items_in("delta", "tool_calls")}}
    else:
        choice = {**choice, "text": text_in("text")}
    return dict(cleaned({**body, "choices": [choice]}, hide))  # what is hidden may lie in two pieces


def text_of(body: Json) -> str:
    """Return the model's text; empty if it wrote nothing that is shown (a refusal, reasoning only)."""
    choice = _choice(body)
    if "text" not in choice and not isinstance(choice.get("message"), dict):
        raise Malformed("it has neither text nor message")
    text = choice["text"] if "text" in choice else choice["message"].get("content")
    if not isinstance(text, (str, list, type(None))):
        raise Malformed("its text is not a text")
    return _text(text)


def status_of(body: Json) -> int | None:
    """Return the status from 400 to 499 that an error in the body of an answer names; None if there is none."""
    error = body.get("error")
    if isinstance(error, str) and error.startswith("Unexpected endpoint"):  # LM Studio's, which answers 200
        return 404
    code = walk(error, "code")
    return code if type(code) is int and 400 <= code < 500 else None


def tokens_used(body: Json) -> TokenUse:
    """Return the counts of tokens; None for absent ones and for numbers that no answer can have.

    Some servers (xAI, Gemini) count the tokens of the reasoning, which are paid, in the total alone.
    """
    counts = (walk(body, "usage", f"{name}_tokens") for name in ("prompt", "completion", "total"))
    read, written, total = (n if type(n) is int and 0 <= n < MOST_COUNTED else None for n in counts)
    if read is not None and total is not None:
        written = max(written or 0, total - read)
    return TokenUse(read, written)


def first_token(body: Json) -> dict[str, float] | None:
    """Return token -> log-probability for the most probable first tokens; None if the answer has none."""
    logprobs = _choice(body).get("logprobs")
    of_chat = walk(logprobs, "content")
    candidates = walk(of_chat, "0", "top_logprobs") if of_chat else walk(logprobs, "top_logprobs", "0")
    pairs: Iterable[tuple[Any, Any]] = candidates.items() if isinstance(candidates, dict) else ()
    if isinstance(candidates, list):
        pairs = [(walk(candidate, "token"), walk(candidate, "logprob")) for candidate in candidates]
    values: dict[str, float] = {}
    for token, value in pairs:
        if isinstance(token, str) and (number := _number(value)) is not None:
            name = plain(token)
            values[name] = max(values.get(name, number), number)
    return values or None


def echoed_label(body: Json, prompt: str, answer: str) -> LabelScore | None:
    """Return the log-probability of `answer` after `prompt` from a body that echoes both; None if it is not clear.

    The label's tokens are found from the end: tokens written after the label are skipped, then tokens are taken until
    they contain the label. A token that begins before the label counts as part of it (a tokenizer that joins the two
    does so for every label).
    """
    choice = _choice(body)
    tokens, values = (walk(choice, "logprobs", name) for name in ("tokens", "token_logprobs"))
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values) or len(tokens) < 2:
        return None
    names = [plain(token) if isinstance(token, str) else "" for token in tokens]
    n_written = _n_written(names, choice.get("text"), prompt + answer, tokens_used(body).completion)
    if n_written is None:
        return None
    for extra in (0, 1):  # a token without text (the end of the text) may follow the written ones
        end = len(names) - n_written - extra
        start = _start_of(names, end, answer)
        if start is None:
            continue
        label = [value for value in map(_number, values[start:end]) if value is not None]
        whole = start > 0 and len(label) == end - start
        return LabelScore(sum(label), len(label), label[0]) if whole else None
    return None


def _start_of(names: Sequence[str], end: int, answer: str) -> int | None:
    """Return where the tokens of an answer begin that stop before `end`; None if they are absent."""
    word, held, start = answer.strip(), "", end
    if not names[end - 1]:
        return None
    while len(held) < len(word) and start > 0:
        start -= 1
        held = names[start] + held
    if not held.endswith(word):
        return None
    # white space between prompt and word belongs to the answer: prompts do not end with any
    while answer[:1].isspace() and held == word and start > 0 and names[start - 1].isspace():
        start -= 1
    return start


def _n_written(names: Sequence[str], text: Any, whole: str, counted: int | None) -> int | None:
    """Return how many of the echoed tokens were written after the prompt; None if nothing was echoed."""
    if isinstance(text, str) and text.startswith(whole):
        left, n = len(text) - len(whole), 0
        while left > 0 and n < len(names):
            n += 1
            left -= len(names[-n])
        return n
    return None if sum(map(len, names)) < len(whole) // 2 else counted


def as_label(first: Mapping[str, float], answers: Sequence[str], *, chat: bool) -> list[float | None]:
    """Return the log-probability of each label among the most probable first tokens; None for absent ones.

    A chat's answer has no fixed form: tokens that equal the label word except for white space and case are added up. A
    text is continued by the token that is the answer, or by one that differs in white space only.
    """
    scores: list[float | None] = []
    for answer in answers:
        word = answer.strip()
        if chat:
            fitting = [value for token, value in first.items() if token.strip().casefold() == word.casefold()]
            scores.append(math.log(sum(map(math.exp, fitting))) if fitting else None)
        elif answer in first:
            scores.append(first[answer])
        else:
            scores.append(max((value for token, value in first.items() if token.strip() == word), default=None))
    return scores


def plain(token: str) -> str:
    """Return a token's text, also if a server spells it like its tokenizer's file.

    >>> plain("\\u2581yes"), plain("\\u0120yes"), plain(" yes")
    (' yes', ' yes', ' yes')
    """
    return token.replace("\u2581", " ").replace("\u0120", " ").replace("\u010a", "\n")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value) if _IMPOSSIBLE < value <= 1e-3 else None


@dataclass(frozen=True, slots=True)
class Question:
    """The request of one input: a text (completions) or messages (chat)."""

    text: str
    messages: tuple[Mapping[str, str], ...] = ()

    @property
    def whole(self) -> str:
        return self.text or "\n".join(message["content"] for message in self.messages)


@dataclass(frozen=True)
class Wishes:
    """Differences between endpoints in what they accept."""

    length_field: str = "max_tokens"  # or ``max_completion_tokens``
    merge_system: bool = False  # put the instruction into the first user turn: the chat template has no system turn


def question_of(prompt: EndpointPrompt, api: str, task: Task, row: Json) -> Question:
    if api == "chat":
        return Question("", tuple(prompt.prompt.messages(task, row)))
    return Question(prompt.prompt.text(task, row))


def request_body(
    settings: EndpointSettings,
    prompt: EndpointPrompt,
    wishes: Wishes,
    question: Question,
    *,
    max_tokens: int,
    top: int = 0,
    answer: str | None = None,
) -> Json:
    """Return the body of a request, at the prompt's temperature, for at most `max_tokens` written tokens.

    `top` is how many of the most probable tokens to return at each place. An `answer` (completions only) is appended to
    the prompt, and the log-probabilities of both are returned (``echo``).
    """
    body: dict[str, object] = {"model": prompt.model, "temperature": 0, wishes.length_field: max_tokens}
    if prompt.temperature > 0:
        body |= {"temperature": prompt.temperature, "seed": prompt.seed}
    if settings.api == "chat":
        body["messages"] = without_system(question.messages) if wishes.merge_system else list(question.messages)
        if top:
            body |= {"logprobs": True, "top_logprobs": top}
    else:
        body["prompt"] = question.text + (answer or "")
        if top or answer is not None:
            body["logprobs"] = top or 1
        if answer is not None:
            body["echo"] = True
    return {name: value for name, value in {**body, **settings.request_fields}.items() if value is not None}


def without_system(messages: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return a chat with the instructions in the first user turn, for models whose template has no system turn."""
    turns, texts = list(messages), list[str]()
    while turns and turns[0]["role"] == "system":
        texts.append(turns.pop(0)["content"])
    if texts and turns and turns[0]["role"] == "user":
        texts.append(turns.pop(0)["content"])
    return [*([{"role": "user", "content": "\n\n".join(texts)}] if texts else []), *turns]
