"""What an endpoint's refusals mean to the user: one line each, without the key."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from paraconsist.errors import InputError, input_error
from paraconsist.models.endpoint.settings import EndpointSettings

_MOST_SHOWN = 240
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum (model )?length|max_model_len|n_ctx|too (long|many (input )?tokens)"
    r"|longer than|exceeds? .{0,60}(tokens|length|limit)",
    re.IGNORECASE,
)
KEPT = "What was answered is kept: the same command goes on from there."


class Malformed(Exception):
    """An answer is not what the API's answers are; it is asked for again."""


class GaveUp(InputError):
    """The last try failed; another request may do better."""


class Refused(Exception):
    """A request that the endpoint will not answer, however often it is sent."""

    def __init__(self, status: int, message: str, *, html: bool = False) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.html = status, message, html

    @property
    def too_long(self) -> bool:
        """Whether the prompt is longer than the model's window."""
        return self.status in (400, 413, 422) and (self.status == 413 or bool(_TOO_LONG.search(self.message)))


def message_of(body: bytes) -> str:
    """One line of a server's refusal: an error's message, or the beginning of the text."""
    text = body.decode("utf-8", errors="replace")
    try:
        message = _message(json.loads(text))
    except ValueError:
        message = re.sub(r"<[^>]*>", " ", text)
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if line and line[-1] not in ".!?":
        line += "."
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 3] + "..."


def _message(value: Any) -> str:
    for key in ("error", "detail", "message"):
        if isinstance(value, dict) and value.get(key):
            return _message(value[key])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_html(content_type: str, body: bytes) -> bool:
    """Whether an answer is a web page."""
    return "html" in content_type.lower() or body[:64].lstrip()[:1] == b"<"


def key_refused(settings: EndpointSettings, status: int, *, sent: bool) -> InputError:
    """The error for 401 and 403. What the server said is not shown: it may quote the key."""
    variable = settings.key_variable or "OPENAI_API_KEY"
    if not sent:
        remedy = "It wants a key: put it into an environment variable and name that."
    else:
        remedy = f"Look at what the environment variable {variable} holds, and whether the key may use this model."
    must = "name the environment variable of a key that the endpoint takes"
    return input_error("run", "api_key_variable", must, remedy=f"{settings.url} answered {status}. {remedy}")


def not_json(settings: EndpointSettings, content_type: str) -> InputError:
    """The error for a server that answers with a web page."""
    remedy = f"It answers with a web page ({content_type or 'no content type'}). The address often ends in /v1."
    must = "be the address of an OpenAI-compatible API"
    return input_error("run", "endpoint", must, got=settings.url, remedy=remedy)


def unreachable(settings: EndpointSettings, why: str) -> InputError:
    """The error for a server to which there is no connection."""
    remedy = f"{why.rstrip('.')}. Is the server running, and is this its host and port? {KEPT}"
    return input_error("run", "endpoint", "be an address that can be reached", got=settings.url, remedy=remedy)


def gave_up(about: str, tries: int, problem: str) -> GaveUp:
    """The error after the last try."""
    times = "once" if tries == 1 else f"{tries} times"
    must = f"the endpoint gave no answer to {about}, asked {times}; the last time: {problem}."
    return GaveUp(must, function="run", remedy=KEPT)


def refusal(
    settings: EndpointSettings,
    refused: Refused,
    model: str,
    about: str,
    served: Sequence[str] = (),
    *,
    first: bool = False,
) -> InputError:
    """The error for a request that was refused for what is in it.

    `about` says which request, `served` are the models that the endpoint lists, if any, and `first` is whether nothing
    was answered before.
    """
    kept = "" if first else f" {KEPT}"
    answer = f'The endpoint said ({refused.status}): "{refused.message}"' if refused.message else f"({refused.status})"
    if refused.too_long:
        must, got = "make prompts that fit in the model's window", f"{about}, which is too long"
        remedy = "Prompts are never cut: give fewer `shots`, another `template`, or a model with a wider window."
        return input_error("run", "shots", must, got=got, remedy=f"{answer} {remedy}{kept}")
    unknown_model = served and model not in served
    if unknown_model or (refused.status in (400, 404) and _names_model(refused.message, model)):
        remedy = f"It serves {', '.join(served[:8])}. " if served else answer
        return input_error("run", "model", "be a model that the endpoint serves", got=model, remedy=remedy)
    if refused.status in (404, 405):
        other = "chat" if settings.api == "completions" else "completions"
        if refused.html:
            answer = f"It answered {refused.status} with a web page."
        must = f"be the address of an OpenAI-compatible API with {settings.path}"
        remedy = f"{answer} The address often ends in /v1; or give `api` {other}."
        return input_error("run", "endpoint", must, got=settings.url, remedy=remedy)
    return InputError(f"the endpoint refused {about}.", function="run", remedy=f"{answer}{kept}")


def _names_model(message: str, model: str) -> bool:
    """Whether a refusal is one of the model."""
    if any(f"{quote}{model}{quote}" in message for quote in "'\"`"):
        return True
    absent = re.search(r"not (found|exist)|unknown|does not|no such|not a valid", message, re.IGNORECASE)
    return "model" in message.lower() and absent is not None
