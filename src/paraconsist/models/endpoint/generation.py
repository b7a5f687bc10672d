"""Texts of any kind from a model behind an endpoint, as `models.generation.generate` writes them with local ones."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paraconsist.errors import InputError, input_error
from paraconsist.models.endpoint.client import EndpointClient, Stopped, find_key
from paraconsist.models.endpoint.errors import Refused, refusal
from paraconsist.models.endpoint.protocol import Answered, served_model, text_of, tokens_used
from paraconsist.models.endpoint.queue import Journal, run_to_end
from paraconsist.models.endpoint.settings import EndpointSettings

if TYPE_CHECKING:
    from paraconsist.models.generation import GenerationSettings


def write_texts(
    settings: EndpointSettings,
    model: str,
    texts: Sequence[str],
    generation: GenerationSettings,
    *,
    journal: Journal | None = None,
) -> list[list[str]]:
    """Let a model behind an endpoint go on with texts (completions) or answer them (chat).

    Returns for each text, in order, `generation.n` texts. Each of them is a request of its own, with a seed of its own:
    many servers write only one however many are asked for. Of `generation`, `top_k` is sent where it is given (vLLM and
    llama.cpp know it), and beams are not to be had. What stands in the journal, from this call or an earlier one, is
    not asked for again. Several texts without a temperature, and what the endpoint refuses, are an `InputError`.
    """
    if generation.num_beams > 1:
        raise input_error("generate", "num_beams", "be 1 for an endpoint", got=generation.num_beams)
    if generation.n > 1 and generation.temperature is None:
        raise input_error("generate", "temperature", "be given where several texts are wanted", got=None)
    key = find_key(settings)

    async def work() -> list[list[str]]:
        async with EndpointClient(settings, key) as client:

            async def one(place: int, number: int) -> str:
                body = _body(settings, model, texts[place], generation, generation.seed + number)
                about, name = f"text {place}", _name(settings, body)
                known = journal.get(*name) if journal is not None else None
                if known is not None:
                    return str(known.value)

                def read(body: dict[str, Any]) -> Answered:
                    return Answered(*name, text_of(body), tokens_used(body), served_model(body))

                try:
                    answered = await client.post(settings.path, body, read, about=about, tag=f"{place}:{number}")
                except Refused as refused:
                    client.stopped.set()
                    raise refusal(settings, refused, model, about) from None
                except InputError:
                    client.stopped.set()
                    raise
                if journal is not None:
                    journal.add(answered)
                return str(answered.value)

            wanted = [(place, number) for place in range(len(texts)) for number in range(generation.n)]
            results = await asyncio.gather(*(one(*pair) for pair in wanted), return_exceptions=True)
        problems = [problem for problem in results if isinstance(problem, BaseException)]
        for problem in sorted(problems, key=lambda p: isinstance(p, Stopped)):  # why it stopped before what was stopped
            raise problem
        written = [str(text) for text in results]
        return [written[start : start + generation.n] for start in range(0, len(written), generation.n)]

    return run_to_end(work)


def _body(
    settings: EndpointSettings, model: str, text: str, generation: GenerationSettings, seed: int
) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "max_tokens": generation.max_new_tokens}
    if settings.api == "chat":
        body["messages"] = [{"role": "user", "content": text}]
    else:
        body["prompt"] = text
    body["temperature"] = generation.temperature or 0
    if generation.temperature:
        body |= {"top_p": generation.top_p, "top_k": generation.top_k, "seed": seed}
    return {name: value for name, value in {**body, **settings.request_fields}.items() if value is not None}


def _name(settings: EndpointSettings, body: dict[str, Any]) -> tuple[str, str]:
    """What the journal calls a request: a hash of whom it asks and for what, and which writing of it."""
    key = {"url": settings.url, **{name: value for name, value in body.items() if name != "seed"}}
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest(), f"seed {body.get('seed')}"
