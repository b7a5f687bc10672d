"""How a language model is asked, on this machine or behind an endpoint, and where an endpoint is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from paraconsist.data.foreign import read_yaml
from paraconsist.data.options import option
from paraconsist.data.prompts import Prompt, PromptTemplate
from paraconsist.errors import check_choice, check_whole, input_error
from paraconsist.files import Json, json_in, with_whole_numbers

#: The two ways of asking: a text to continue, or the turns of a chat.
APIS = ("completions", "chat")
#: How a label is taken from a model: compare the label words' probabilities, or read a written answer.
SCORING = ("label", "generate")
#: What a label's log-probability is divided by: nothing, its tokens, or its characters.
NORMALIZE = ("none", "tokens", "characters")
#: Fields that look like a key: request fields are written to ``run.json`` and predictions, and shown in process lists.
_SECRET_NAME = re.compile(r"(api|access|auth|private)[-_]?(key|token)|secret|passw|authori[sz]ation|credential", re.I)
_SECRET_VALUE = re.compile(r"\s*(Bearer\s|sk-|hf_|ghp_|eyJ)")
#: The names that are set already, of the fields of requests and of the arguments of chat templates.
_OURS = {
    "request_field": ("model", "prompt", "messages", "logprobs", "top_logprobs", "echo", "stream", "n"),
    "template_argument": ("conversation", "messages", "chat_template", "tokenize", "add_generation_prompt"),
}


@dataclass(frozen=True)
class EndpointSettings:
    """Where the endpoint is and how it is treated; only `api` and `request_fields` decide predictions.

    A single address may be given as a text.
    """

    urls: Sequence[str] = option(
        MISSING,
        "Address of an OpenAI-compatible API, as http://localhost:8000/v1; the model is named as it is there. "
        "Repeated, for several servers of one model: each request goes to the one with the fewest in progress.",
        option="--endpoint",
    )
    api: str = option("completions", "completions (a text to go on with) or chat.")
    concurrency: int = option(16, "How many requests may be under way at a time; by default 16.", min=1)
    timeout: float = option(120.0, "Seconds that a request may take; by default 120.")
    tries: int = option(
        8,
        "How often a request is sent before the run gives up, by default 8; refusals by the rate limit do not count.",
        min=1,
    )
    patience: float = option(600.0, "Seconds of nothing but rate-limit refusals before the run gives up.")
    api_key_variable: str | None = option(
        None, "Environment variable with the key; OPENAI_API_KEY for api.openai.com, no key for others."
    )
    request_fields: Json = field(
        default_factory=dict,
        metadata={
            "help": "NAME=JSON: a further field of every request; NAME=null takes one out (temperature).",
            "option": "--request-field",
        },
    )
    requests_per_minute: float | None = option(
        None, "Most requests a minute to each server; by default what its headers allow.", rare=True
    )
    tokens_per_minute: float | None = option(
        None, "Most tokens a minute, read and written, of each server; by default what its headers allow.", rare=True
    )
    price: str | tuple[float, float] | None = option(
        None, "INPUT,OUTPUT: price of a million tokens read, and of a million written; or a file of models' prices."
    )
    max_requests: int | None = option(
        None, "Most requests of this command, which then ends; the same one goes on.", min=1
    )
    max_cost: float | None = option(None, "Most cost of this command, by the `price`.")

    def __post_init__(self) -> None:
        urls = [self.urls] if isinstance(self.urls, str) else self.urls
        object.__setattr__(self, "urls", tuple(map(_checked_url, urls)))
        if not self.urls or len(set(self.urls)) < len(self.urls):
            raise input_error("run", "endpoint", "be one address or several, each once", got=list(self.urls))
        check_choice("run", "api", self.api, APIS)
        check_whole("run", "concurrency", self.concurrency)
        check_whole("run", "tries", self.tries)
        if self.max_requests is not None:
            check_whole("run", "max_requests", self.max_requests)
        if not isinstance(self.request_fields, Mapping):
            raise input_error("run", "request_field", "map names to values", got=self.request_fields)
        object.__setattr__(self, "request_fields", with_whole_numbers(self.request_fields))
        for name, value in self.request_fields.items():
            _check_free("request_field", name)
            if _SECRET_NAME.search(name) or _SECRET_VALUE.match(str(value)):  # not shown
                must, remedy = "hold no key", "Keys are read from the environment: name one as `api_key_variable`."
                raise input_error("run", "request_field", f"{must} ({name})", remedy=remedy)
        for name in ("timeout", "requests_per_minute", "tokens_per_minute", "max_cost", "patience"):
            value = getattr(self, name)
            is_given = value is not None or name in ("timeout", "patience")
            if is_given and not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise input_error("run", name, "be a number above 0", got=value)
        object.__setattr__(self, "price", _read_price(self.price))
        if self.max_cost is not None and self.price is None:
            raise input_error("run", "price", "be given where `max_cost` is", got=None)

    @property
    def prices(self) -> tuple[float, float] | None:
        """The prices of a million tokens read and of a million written."""
        return self.price if isinstance(self.price, tuple) else None

    def priced(self, models: Iterable[str]) -> EndpointSettings:
        """Return these settings with the price of a model, which is looked up where `price` names a file.

        The file (YAML, or JSON as litellm's) maps a model to a price; the highest price counts if there are several
        models. InputError if the file cannot be read or lacks a model.
        """
        if not isinstance(self.price, str):
            return self
        is_json = self.price.endswith(".json")
        table = _read_json(self.price) if is_json else read_yaml("run", "price", self.price)
        found = [_price_of(model, table, self.price) for model in models]
        return replace(self, price=(max(read for read, _ in found), max(written for _, written in found)))

    @property
    def url(self) -> str:
        return self.urls[0]

    def each(self) -> list[EndpointSettings]:
        """Return these settings for each address alone."""
        return [replace(self, urls=(url,)) for url in self.urls]

    @property
    def path(self) -> str:
        """The path of the API behind an address."""
        return "/completions" if self.api == "completions" else "/chat/completions"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def is_local(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a language model is asked, on this machine or behind an endpoint."""

    panel: ClassVar[str] = "Language models"
    scoring: str | None = option(
        None, "Language models: 'label' (probabilities of the label words) or 'generate' (generated text)."
    )
    normalize: str = option("none", "Divide label log-probabilities by: 'none', 'tokens' or 'characters'.")
    chat: bool = option(False, "Put the prompt through the tokenizer's chat template.")
    template_arguments: Json = field(
        default_factory=dict,
        metadata={
            "help": "NAME=JSON: with `chat`, an argument of the chat template, such as enable_thinking=false.",
            "option": ("--template-argument", "--chat-template-argument"),
            "rare": True,
        },
    )
    max_new_tokens: int | None = option(
        None,
        "Longest answer with `scoring` generate, in tokens: by default 8, of questions 256.",
        min=1,
        option=("--max-new-tokens", "--max-tokens"),
    )
    temperature: float = option(
        0.0, "With `scoring` generate: sampling temperature; by default greedy decoding.", min=0
    )
    device_map: str | None = option(None, "Language models: 'auto' spreads the weights over the devices there are.")

    def __post_init__(self) -> None:
        if self.scoring is not None:
            check_choice("run", "scoring", self.scoring, SCORING)
        check_choice("run", "normalize", self.normalize, NORMALIZE)
        check_whole("run", "max_new_tokens", self.longest_answer)
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise input_error("run", "temperature", "be 0 or more", got=self.temperature)
        object.__setattr__(self, "temperature", float(self.temperature))  # 1 is no other run's than 1.0
        if self.scoring == "label":
            self.check_draws()
        for name in self.template_arguments:
            _check_free("template_argument", name)
        if self.template_arguments and not self.chat:
            must = "be given only with `chat`"
            raise input_error("run", "template_argument", must, got=dict(self.template_arguments))
        if self.scoring == "generate" and self.normalize != AskOptions.normalize:
            raise input_error("run", "normalize", "be given only with `scoring` label", got=self.normalize)
        if self.scoring == "label" and self.max_new_tokens is not None:
            must = "be given only with `scoring` generate"
            raise input_error("run", "max_new_tokens", must, got=self.max_new_tokens)

    @property
    def longest_answer(self) -> int:
        """The limit of tokens of an answer, by default one for a label."""
        return 8 if self.max_new_tokens is None else self.max_new_tokens

    def check_draws(self) -> None:
        """Refuse a temperature where labels' probabilities decide."""
        if self.temperature > 0 and self.scoring != "generate":
            must, remedy = "be given only with `scoring` generate", "Label words' probabilities need no draws."
            raise input_error("run", "temperature", must, got=self.temperature, remedy=remedy)

    def asking(self) -> dict[str, Any]:
        """Return the fields of `AskOptions`, without those of a class that inherits from it."""
        return {option.name: getattr(self, option.name) for option in fields(AskOptions)}


@dataclass(frozen=True)
class PromptSettings(AskOptions):
    """How a language model on this machine is asked; without a `scoring` by the label words' probabilities."""

    prompt: Prompt  # template and examples
    _: KW_ONLY
    seed: int = 0  # of the draws
    share: bool = True  # compute what prompts have in common once; False is for comparisons only

    def __post_init__(self) -> None:
        object.__setattr__(self, "scoring", self.scoring or "label")
        super().__post_init__()

    @property
    def identity(self) -> dict[str, str]:
        """The settings that decide predictions, for the run's identity."""
        identity = {**prompt_identity(self.prompt), "scoring": str(self.scoring), "chat": str(self.chat)}
        if self.template_arguments:
            identity["template_arguments"] = json.dumps(self.template_arguments, sort_keys=True, ensure_ascii=False)
        if self.scoring == "label":
            return {**identity, "normalize": self.normalize}
        return identity | answer_identity(self.longest_answer, self.temperature, self.seed)


@dataclass(frozen=True)
class EndpointPrompt(AskOptions):
    """How a model behind an endpoint is asked.

    Without a `scoring` label words' probabilities are compared where the endpoint returns log-probabilities, else
    written answers are read.
    """

    model: str  # as the endpoint calls it
    prompt: Prompt  # template and examples
    _: KW_ONLY
    seed: int = 0  # of the draws, sent where the temperature is above 0

    @property
    def template(self) -> PromptTemplate:
        return self.prompt.template

    @property
    def label_names(self) -> tuple[str, ...]:
        return self.template.label_names

    def over(self, settings: EndpointSettings) -> EndpointSettings:
        """Return the settings with the model's price and the API that takes the prompt: of a chat the one for chats."""
        priced = settings.priced([self.model])
        return replace(priced, api="chat") if self.chat else priced

    def answers(self, api: str) -> tuple[str, ...]:
        """Return the label words, as they follow a text or are a chat's answer."""
        return self.template.words if api == "chat" else self.template.answers


def prompt_identity(prompt: Prompt) -> dict[str, str]:
    """Return what of a prompt decides predictions, for the run's identity."""
    identity = {"template": prompt.template.name, "prompt_hash": prompt.hash, "shots": str(len(prompt.examples))}
    return identity | ({"system": prompt.system} if prompt.system else {})


def answer_identity(max_new_tokens: int, temperature: float, seed: int) -> dict[str, str]:
    """Return what decides a written answer, for the run's identity; a seed only where answers are drawn."""
    draws = {"temperature": str(temperature), "seed": str(seed)} if temperature > 0 else {}
    return {"max_new_tokens": str(max_new_tokens), **draws}


def _check_free(parameter: str, name: str) -> None:
    """Refuse a further field of requests, or argument of chat templates, that is set already."""
    if name in _OURS[parameter]:
        must = f"be none of {', '.join(_OURS[parameter])}, which are set already"
        raise input_error("run", parameter, must, got=name)


def read_fields(items: Sequence[str] | None, parameter: str = "request_field") -> Json:
    """Read ``NAME=JSON`` items, each name once; a value that is not JSON is text.

    >>> read_fields(["temperature=null", "reasoning_effort=low", "top_k=1"])
    {'temperature': None, 'reasoning_effort': 'low', 'top_k': 1}
    """
    fields: dict[str, object] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not equals or not name or name in fields:
            raise input_error("run", parameter, "be items of the form NAME=JSON, each name once", got=name)
        try:
            fields[name] = json.loads(value)
        except ValueError:
            fields[name] = value
    return fields


def _read_price(price: str | Sequence[float] | None) -> str | tuple[float, float] | None:
    """Read ``INPUT,OUTPUT``; the name of a file stays as it is."""
    if price is None or (isinstance(price, str) and price.endswith((".yaml", ".yml", ".json"))):
        return price
    try:
        read, written = map(float, price.split(",") if isinstance(price, str) else price)
    except (ValueError, TypeError):
        read = written = math.nan
    if not (0 <= read < math.inf and 0 <= written < math.inf):
        must = "be two numbers, 0 or more, with a comma between: of a million tokens read, and written"
        raise input_error("run", "price", must, got=price, remedy="Or name a file of prices, .yaml or .json.")
    return read, written


def _read_json(path: str) -> Any:
    try:
        return json_in(Path(path))
    except (OSError, ValueError):
        raise input_error("run", "price", "name a file with JSON that can be read", got=path) from None


def _price_of(model: str, table: Any, path: str) -> tuple[float, float]:
    """Return the price of a model: ``[INPUT, OUTPUT]``, a mapping of these, or litellm's prices of single tokens."""
    entry = table.get(model) if isinstance(table, dict) else None
    if isinstance(entry, dict):
        per_token = [entry.get(f"{side}_cost_per_token") for side in ("input", "output")]
        entry = [1e6 * x for x in per_token if x is not None] or [entry.get("input"), entry.get("output")]
    price = _read_price(entry) if isinstance(entry, (list, tuple)) else None
    if not isinstance(price, tuple):
        remedy = f"Write for instance `{model}: [0.5, 1.5]`, of a million tokens read, and of a million written."
        raise input_error("run", "price", f"have a price of {model}", got=path, remedy=remedy)
    return price


def _checked_url(address: str) -> str:
    url = address.strip().rstrip("/")
    remedy = "It is the part before /chat/completions, /completions or /responses, as http://localhost:8000/v1."
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise input_error("run", "endpoint", "be an address that can be read", remedy=remedy) from None
    if parts.username or parts.password or parts.query or parts.fragment:  # may hold a key: not shown
        must = "be an address without user name, password and query"
        remedy = "Keys are read from the environment only: name the variable as `api_key_variable`."
        if "api-version" in parts.query:
            remedy += " Azure's address that ends in /openai/v1 takes no api-version."
        raise input_error("run", "endpoint", must, remedy=remedy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise input_error("run", "endpoint", "be an address with http:// or https://", got=address, remedy=remedy)
    if parts.path.endswith(("/completions", "/responses")):
        must = "be the address of the API, not of one of its paths"
        raise input_error("run", "endpoint", must, got=url, remedy=remedy)
    return url
