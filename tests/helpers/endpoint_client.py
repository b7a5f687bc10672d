"""Requests to a server of the tests by the endpoint client."""

from __future__ import annotations

import asyncio

from helpers.faulty_server import FaultyServer

from paraconsist.models.endpoint.client import EndpointClient, Key
from paraconsist.models.endpoint.protocol import text_of
from paraconsist.models.endpoint.settings import EndpointSettings


def settings_of(server: FaultyServer, **options) -> EndpointSettings:
    return EndpointSettings(server.url, **{"timeout": 5.0, **options})


def post(settings: EndpointSettings, key: Key | None = None, n: int = 1, body=None, **options):
    """Send `n` requests at once; return the client and the texts."""
    body = {"model": "toy", "prompt": "Premise: x. Answer:", "max_tokens": 1} if body is None else body

    async def work():
        async with EndpointClient(settings, key, seed=0) as client:
            asked = (
                client.post(settings.path, body, text_of, about=f"input {i}", tag=f"{i}:text", **options)
                for i in range(n)
            )
            return client, await asyncio.gather(*asked)

    return asyncio.run(work())
