"""How many requests a second one process sends to an endpoint that answers after 20 ms, by how many are under way.

The server stands in a process of its own and answers a label's log-probabilities without computing anything. What is
measured is all that a run does for a request: the queue, the client, the journal and the shard on the disk. On a busy
machine look at the processor time of a request: its inverse is what one core can do where the server's delay, divided
by the concurrency, is no limit.

    python benchmarks/endpoint_speed.py --concurrency 16 64 256
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import tempfile
from pathlib import Path

from paraconsist.data.prompts import Prompt, templates
from paraconsist.data.store import Failures, ShardWriter
from paraconsist.models.endpoint.client import EndpointClient
from paraconsist.models.endpoint.label_scoring import Method
from paraconsist.models.endpoint.protocol import Question
from paraconsist.models.endpoint.queue import Journal, RequestQueue
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings

_TOP = [{"token": f" {word}", "logprob": -value, "bytes": None} for value, word in enumerate(("W", "S", *"abcdefghij"))]
_BODY = json.dumps(
    {
        "id": "cmpl-0",
        "object": "text_completion",
        "model": "toy",
        "choices": [{"index": 0, "text": " W", "logprobs": {"content": [{**_TOP[0], "top_logprobs": _TOP}]}}],
        "usage": {"prompt_tokens": 60, "completion_tokens": 1},
    }
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY


class _Server(asyncio.Protocol):
    def __init__(self, delay: float) -> None:
        self._delay, self._data, self._loop = delay, b"", asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        start = self._data.lower().index(b"content-length:") + 15
        if len(self._data) >= head + 4 + int(self._data[start : self._data.index(b"\r", start)]):
            self._data = b""
            self._loop.call_later(self._delay, self._transport.write, _ANSWER)


def serve(ports: multiprocessing.SimpleQueue, delay: float) -> None:
    async def work() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Server(delay), "127.0.0.1", 0, backlog=1024)
        ports.put(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(work())


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(url: str, concurrency: int, n: int) -> tuple[float, float]:
    """Requests a second, and processor seconds of this process a request."""
    settings = EndpointSettings(url, concurrency=concurrency)
    prompt = EndpointPrompt("toy", Prompt(templates()["s24-delta"]))
    pending = {f"{i:032x}": Question(f"Premise {i}. " + "Some words that a prompt has. " * 10) for i in range(n)}

    async def work(journal: Journal, shard: ShardWriter) -> float:
        async with EndpointClient(settings, None) as client:
            failures = Failures("stop", any_answered=False)
            queue = RequestQueue(client, prompt, Method("label", top=12), journal, shard, lambda n: None, failures)
            statistics = await queue.ask(pending, n)
            assert statistics.n_requests == n
            assert not statistics.retries
            return statistics.seconds

    with tempfile.TemporaryDirectory() as folder:
        shard = ShardWriter(Path(folder) / "rank-00000.jsonl")
        with shard, Journal(Path(folder)) as journal:
            before = processor_time()
            seconds = asyncio.run(work(journal, shard))
            return n / seconds, (processor_time() - before) / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--concurrency", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--delay", type=float, default=0.02, help="Seconds until the server answers.")
    options = parser.parse_args()
    ports: multiprocessing.SimpleQueue = multiprocessing.SimpleQueue()
    server = multiprocessing.Process(target=serve, args=(ports, options.delay), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ports.get()}/v1"
    measure(url, 4, 20)  # what is imported once
    for concurrency in options.concurrency:
        rate, seconds = measure(url, concurrency, options.requests)
        limit = concurrency / options.delay
        print(
            f"concurrency {concurrency:4d}: {rate:7,.0f} requests/s (the server's delay allows {limit:,.0f}), "
            f"{1e6 * seconds:5,.0f} us of the processor a request: {1 / seconds:,.0f} requests/s of one core.",
            flush=True,
        )
    server.terminate()


if __name__ == "__main__":
    main()
