"""What a user says about an endpoint, and how a model behind it is asked; checked once, here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from paraconsist.data.prompts import Prompt
from paraconsist.errors import check_choice, input_error

#: The two ways of asking: a text to go on with, or the turns of a chat.
APIS = ("completions", "chat")
_SCORING = ("label", "generate")
_NORMALIZE = ("none", "tokens", "characters")
_OURS = ("model", "prompt", "messages", "logprobs", "top_logprobs", "echo", "stream", "n")


@dataclass(frozen=True)
class EndpointSettings:
    """Where the endpoint is and how it is treated; nothing here decides a prediction but `api` and `request_fields`.

    Attributes
    ----------
    url : str
        As ``http://host:port/v1``; what comes before ``/completions`` and ``/chat/completions``.
    api : {"completions", "chat"}
    concurrency : int
        Most requests under way at a time.
    timeout : float
        Seconds that a request may take.
    tries : int
        How often a request is sent before the run gives up. Refusals for the rate (429) do not count.
    patience : float
        Seconds of nothing but 429, over all requests, before the run gives up.
    key_variable : str, optional
        Environment variable that holds the key. None: ``OPENAI_API_KEY`` for api.openai.com, no key for others.
    request_fields : mapping
        Further fields of every request; None takes a field out.
    price_input, price_output : float, optional
        Of a million tokens read and written.
    """

    url: str
    api: str = "completions"
    concurrency: int = 16
    timeout: float = 120.0
    tries: int = 8
    patience: float = 600.0
    key_variable: str | None = None
    request_fields: Mapping[str, Any] = field(default_factory=dict)
    price_input: float | None = None
    price_output: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", _checked_url(self.url))
        check_choice("run", "api", self.api, APIS)
        for name in ("concurrency", "tries"):
            if getattr(self, name) < 1:
                raise input_error("run", name, "be 1 or more", got=getattr(self, name))
        if not self.timeout > 0 or not math.isfinite(self.timeout):
            raise input_error("run", "timeout", "be a number of seconds above 0", got=self.timeout)
        prices = (self.price_input, self.price_output)
        for name, price in zip(("price_input", "price_output"), prices, strict=True):
            if price is not None and not (math.isfinite(price) and price >= 0):
                raise input_error("run", name, "be 0 or more, for a million tokens", got=price)
        if (self.price_input is None) != (self.price_output is None):
            raise input_error("run", "price_output", "be given with price_input, and the other way round", got=prices)

    @property
    def path(self) -> str:
        """The path of the API behind `url`."""
        return "/completions" if self.api == "completions" else "/chat/completions"

    @property
    def host(self) -> str:
        """The host's name, in lower case."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


@dataclass(frozen=True)
class EndpointPrompt:
    """How a model behind an endpoint is asked.

    Attributes
    ----------
    model : str
        As the endpoint calls it.
    prompt : Prompt
        Template and examples.
    scoring : {"label", "generate"}, optional
        Compare the label words' probabilities, or read written answers. None: the first where the endpoint
        returns log-probabilities, else the second.
    normalize : {"none", "tokens", "characters"}
        What label log-probabilities are divided by.
    max_tokens : int
        Of a written answer.
    """

    model: str
    prompt: Prompt
    scoring: str | None = None
    normalize: str = "none"
    max_tokens: int = 8

    def __post_init__(self) -> None:
        if self.scoring is not None and self.scoring not in _SCORING:
            raise input_error("run", "scoring", f"be one of {', '.join(_SCORING)}", got=self.scoring)
        check_choice("run", "normalize", self.normalize, _NORMALIZE)
        if self.max_tokens < 1:
            raise input_error("run", "max_new_tokens", "be 1 or more", got=self.max_tokens)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The template's label names, in order."""
        return self.prompt.template.label_names

    def answers(self, api: str) -> tuple[str, ...]:
        """The label words, as they follow a text or stand in a chat's answer."""
        return self.prompt.template.words if api == "chat" else self.prompt.template.answers


def read_request_fields(given: Sequence[str] | None) -> dict[str, Any]:
    """Read ``NAME=JSON`` items; what is no JSON is text.

    >>> read_request_fields(["temperature=null", "reasoning_effort=low", "top_k=1"])
    {'temperature': None, 'reasoning_effort': 'low', 'top_k': 1}

    Raises
    ------
    InputError
        For items of another form, names given twice, and fields that paraconsist sets itself.
    """
    fields: dict[str, Any] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name or name in fields:
            raise input_error("run", "request_field", "be items of the form NAME=JSON, each name once", got=item)
        if name in _OURS:
            raise input_error("run", "request_field", f"be none of {', '.join(_OURS)}, which are set already", got=name)
        try:
            fields[name] = json.loads(value)
        except ValueError:
            fields[name] = value
    return fields


def _checked_url(given: str) -> str:
    url = given.strip().rstrip("/")
    remedy = "It is the part before /completions and /chat/completions, as http://localhost:8000/v1."
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise input_error("run", "endpoint", "be an address that can be read", remedy=remedy) from None
    if parts.username or parts.password or parts.query or parts.fragment:  # may hold a key: not shown
        raise input_error(
            "run",
            "endpoint",
            "be an address without user name, password and query",
            remedy="Keys are read from the environment only: name the variable with --api-key-variable.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise input_error("run", "endpoint", "be an address with http:// or https://", got=given, remedy=remedy)
    if parts.path.endswith("/completions"):
        must = "be the address of the API, not of one of its paths"
        raise input_error("run", "endpoint", must, got=url, remedy=remedy)
    return url
