"""How fast an endpoint is asked: the limits of a minute hold, nearly all of them is used, and headers teach them."""

import asyncio
import random
import threading
from collections import deque

import pytest
from helpers.faulty_server import FaultyServer, Received

from paraconsist.models.endpoint import client
from paraconsist.models.endpoint.client import EndpointClient, Limit, Meter, Pace
from paraconsist.models.endpoint.protocol import text_of
from paraconsist.models.endpoint.settings import EndpointSettings

MINUTE = 2.0  # seconds, of the servers here
_LATE = 0.3  # seconds that a request may take to arrive on such a machine; of a minute it is nothing
_USED = 0.6  # of a limit, at least, on a machine that does other things too; by the clock of the limit itself it is .95


class Limited(FaultyServer):
    """A server that refuses what is beyond its limits in any two seconds, and says nothing of when to come again.

    A request counts for `_LATE` seconds less: it may have been sent so much before it came. That no minute of the
    client's clock has more than its limit, `test_no_minute_has_more_than_its_limit` says exactly.
    """

    def __init__(self, requests: int, tokens: int = 10**9, *, tells: bool, **options) -> None:
        super().__init__(script=self._refuse, headers=self._tell if tells else None, **options)
        self._requests, self._tokens, self._guard = requests, tokens, threading.Lock()
        self._taken: deque[tuple[float, int]] = deque()

    def _refuse(self, number: int, tag: str) -> str | None:
        request = self.received[number]
        with self._guard:
            while self._taken and self._taken[0][0] <= request.at - MINUTE + _LATE:
                self._taken.popleft()
            n_tokens = len(request.body["prompt"].split()) + request.body["max_tokens"]
            if len(self._taken) >= self._requests or sum(n for _, n in self._taken) + n_tokens > self._tokens:
                return "429"
            self._taken.append((request.at, n_tokens))
            return None

    def _tell(self, _: Received) -> dict[str, str]:
        limits = {"x-ratelimit-limit-requests": f"{self._requests}", "x-ratelimit-limit-tokens": f"{self._tokens}"}
        return {**limits, "x-ratelimit-remaining-requests": f"{self._requests - len(self._taken)}"}


def ask(server: FaultyServer, n: int, **options) -> Meter:
    settings = EndpointSettings(server.url, concurrency=8, **options)

    async def work() -> Meter:
        async with EndpointClient(settings, None, seed=0) as client:
            words = [f"Premise: {'word ' * (1 + i % 7)}. Answer:" for i in range(n)]
            bodies = [{"model": "toy", "prompt": text, "max_tokens": 1} for text in words]
            posts = (client.post("/completions", b, text_of, about="x", tag=f"{i}") for i, b in enumerate(bodies))
            await asyncio.gather(*posts)
            return client.meter

    return asyncio.run(work())


@pytest.mark.parametrize("tells", [True, False])
def test_requests_keep_a_limit_and_use_it(monkeypatch, tells):
    monkeypatch.setattr(client, "MINUTE", MINUTE)
    with Limited(60, tells=tells) as server:
        ask(server, 150, **({} if tells else {"requests_per_minute": 60}))
    first, last = server.received[0].at, server.received[-1].at
    later = [request for request in server.received if request.at > first + MINUTE]
    assert {request.outcome for request in later} == {"answered"}
    assert len(later) >= _USED * 60 * (last - first - MINUTE) / MINUTE


def test_tokens_keep_a_limit_and_use_it(monkeypatch):
    monkeypatch.setattr(client, "MINUTE", MINUTE)
    with Limited(10**6, 450, tells=True) as server:
        ask(server, 150)
    first, last = server.received[0].at, server.received[-1].at
    later = [request for request in server.received if request.at > first + MINUTE]
    used = sum(len(request.body["prompt"].split()) + 1 for request in later)
    assert {request.outcome for request in later} == {"answered"}
    assert used >= _USED * 450 * (last - first - MINUTE) / MINUTE


@pytest.mark.parametrize("per_minute", [1, 3, 7, 60, 1000, 20_000])
def test_no_minute_has_more_than_its_limit(per_minute):
    rng, limit, now = random.Random(per_minute), Limit(None, learnt=per_minute), 1000.0
    sent = []
    while len(sent) < 4 * per_minute + 10:
        now = max(now, limit.at) + rng.choice([0, 0, 0, 1e-4, 2e-3, 0.3, 1.5])  # what wakes late catches up
        limit.take(1, now)
        sent.append(now)
    gaps = [last - first for first, last in zip(sent, sent[per_minute:], strict=False)]
    assert min(gaps) > 60  # from any request to the one that is `per_minute` further on


@pytest.mark.parametrize("per_minute", [20, 60, 1000, 20_000])
@pytest.mark.parametrize("size", [1, 7])
def test_nearly_all_of_a_limit_is_used(per_minute, size):
    limit, now, n = Limit(None, learnt=per_minute), 1000.0, 0
    while now < 1600.0:
        limit.take(size, now)
        n, now = n + size, max(now, limit.at)
    assert n >= 0.95 * per_minute * 10


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", 60), ("20ms", 0.02), ("6m0s", 360), ("1h2m59.5s", 3779.5), ("", None), ("-1", None)]
)
def test_headers_are_read(text, seconds):
    assert client._seconds(text) == (seconds if seconds is None else pytest.approx(seconds))


def test_nothing_is_sent_before_a_limit_is_filled_again():
    known = Pace(Limit(100.0), Limit(None))
    told = {"x-ratelimit-limit-requests": "30", "x-ratelimit-remaining-requests": "0"}
    known.learn({**told, "x-ratelimit-reset-requests": "12s"}, 50, now=1000.0)
    assert known.at == 1012.0
    known.requests.take(1, 1012.0)
    assert known.at == pytest.approx(1012.0 + 60 / 29.4)
    known.learn({"x-ratelimit-remaining-tokens": "40", "x-ratelimit-reset-tokens": "1h"}, 50, now=1000.0)
    assert known.at == 1060.0  # at most a minute: a longer wait is asked for by Retry-After
