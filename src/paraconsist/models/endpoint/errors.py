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
_KEPT = "What was answered is kept: the same command goes on from there."


class Malformed(Exception):
    """An answer is not what the API's answers are; it is asked for again."""


class GaveUp(InputError):
    """The last try failed; another request may do better."""


class Refused(Exception):
    """A request that the endpoint will not answer, however often it is sent."""

    def __init__(self, status: int, said: str, *, html: bool = False) -> None:
        super().__init__(f"{status}: {said}")
        self.status = status
        self.said = said
        self.html = html

    @property
    def too_long(self) -> bool:
        """Whether the prompt is longer than the model's window."""
        return self.status in (400, 413, 422) and (self.status == 413 or bool(_TOO_LONG.search(self.said)))


def said_by(body: bytes) -> str:
    """One line of what a server said: an error's message, or the beginning of the text."""
    text = body.decode("utf-8", errors="replace")
    try:
        message = _message(json.loads(text))
    except ValueError:
        message = re.sub(r"<[^>]*>", " ", text)
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if line and line[-1] not in ".!?":
        line += "."
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 3] + "..."


def _message(said: Any) -> str:
    for key in ("error", "detail", "message"):
        if isinstance(said, dict) and said.get(key):
            return _message(said[key])
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def is_html(content_type: str, body: bytes) -> bool:
    """Whether an answer is a web page."""
    return "html" in content_type.lower() or body[:64].lstrip()[:1] == b"<"


def key_refused(settings: EndpointSettings, status: int, *, sent: bool) -> InputError:
    """The error for 401 and 403. What the server said is not shown: it may quote the key."""
    variable = settings.key_variable or "OPENAI_API_KEY"
    if not sent:
        remedy = "It wants a key: put it into an environment variable and name that with --api-key-variable."
    else:
        remedy = f"Look at what the environment variable {variable} holds, and whether the key may use this model."
    return input_error(
        "run",
        "api_key_variable",
        "name the environment variable of a key that the endpoint takes",
        remedy=f"{settings.url} answered {status}. {remedy}",
    )


def not_json(settings: EndpointSettings, content_type: str) -> InputError:
    """The error for a server that answers with a web page."""
    return input_error(
        "run",
        "endpoint",
        "be the address of an OpenAI-compatible API",
        got=settings.url,
        remedy=f"It answers with a web page ({content_type or 'no content type'}). The address often ends in /v1.",
    )


def unreachable(settings: EndpointSettings, why: str) -> InputError:
    """The error for a server to which there is no connection."""
    return input_error(
        "run",
        "endpoint",
        "be an address that can be reached",
        got=settings.url,
        remedy=f"{why.rstrip('.')}. Is the server running, and is this its host and port? {_KEPT}",
    )


def gave_up(about: str, tries: int, problem: str) -> GaveUp:
    """The error after the last try."""
    times = "once" if tries == 1 else f"{tries} times"
    return GaveUp(f"run: the endpoint gave no answer to {about}, asked {times}; the last time: {problem}. {_KEPT}")


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

    Parameters
    ----------
    settings, model
        The endpoint, and what it was asked for.
    refused : Refused
    about : str
        Which request.
    served : sequence of str
        The models that the endpoint lists, if any.
    first : bool
        Whether nothing was answered before.
    """
    kept = "" if first else f" {_KEPT}"
    said = f'The endpoint said ({refused.status}): "{refused.said}"' if refused.said else f"({refused.status})"
    if refused.too_long:
        return input_error(
            "run",
            "shots",
            "make prompts that fit in the model's window",
            got=f"{about}, which is too long",
            remedy=f"{said} Prompts are never cut: give fewer --shots, another --template, or a model with a wider "
            f"window.{kept}",
        )
    unknown_model = served and model not in served
    if unknown_model or (refused.status in (400, 404) and _names_model(refused.said, model)):
        shown = f"It serves {', '.join(served[:8])}. " if served else ""
        return input_error(
            "run", "model", "be a model that the endpoint serves", got=model, remedy=shown + ("" if served else said)
        )
    if refused.status in (404, 405):
        other = "chat" if settings.api == "completions" else "completions"
        if refused.html:
            said = f"It answered {refused.status} with a web page."
        return input_error(
            "run",
            "endpoint",
            f"be the address of an OpenAI-compatible API with {settings.path}",
            got=settings.url,
            remedy=f"{said} The address often ends in /v1; or give --api {other}.",
        )
    return InputError(f"run: the endpoint refused {about}. {said}{kept}")


def _names_model(said: str, model: str) -> bool:
    if any(f"{quote}{model}{quote}" in said for quote in "'\"`"):
        return True
    absent = re.search(r"not (found|exist)|unknown|does not|no such|not a valid", said, re.IGNORECASE)
    return "model" in said.lower() and absent is not None
