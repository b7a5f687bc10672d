"""The connection: requests in, at a pace and within a budget, answers out; faults are retried, refusals are errors.

The endpoint's key is read from the environment and never shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import random
import re
import ssl
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from paraconsist.data.foreign import Body, Malformed, read_object
from paraconsist.data.store import HOPELESS
from paraconsist.errors import InputError, input_error, plural
from paraconsist.files import Json
from paraconsist.models.endpoint import protocol
from paraconsist.models.endpoint.protocol import KEPT, TokenUse
from paraconsist.models.endpoint.settings import EndpointSettings

if TYPE_CHECKING:
    import aiohttp


#: Seconds of a limit's period; tests shorten it.
MINUTE = 60.0
#: Share of a limit that is used, because clocks and networks differ, and the share of a minute that can be made up for.
_SHARE, _SLACK = 0.98, 0.01
#: Bytes of a request's body for each token that is read, until answers tell more.
BYTES_PER_TOKEN = 4
#: The headers of the limits, of what is left of them, and of the time until they are whole again.
_OF_REQUESTS, _OF_TOKENS = (
    [f"x-ratelimit-{what}-{name}" for what in ("limit", "remaining", "reset")] for name in ("requests", "tokens")
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class BudgetReached(InputError):
    """A budget that allows no further request; what was answered is kept."""

    exit_code = 75


@dataclass(frozen=True)
class Estimate:
    """What a command is expected to send, before anything is sent."""

    n_requests: int
    n_read: int  # tokens of the prompts
    n_written: int  # tokens of the answers, at most
    cost: float | None  # None without a price
    bodies: Sequence[Json] = ()  # of the first three requests
    ends_early: bool = False  # whether the run stops once a condition is known
    is_counted: bool = False  # by the models' tokenizers; else at `BYTES_PER_TOKEN`
    n_tried: int = 0  # servers whose way to answer is not known yet: a small request to each at least, labels take more

    @classmethod
    def total(cls, parts: Sequence[Estimate]) -> Estimate:
        """Return what several runs of a command are expected to send together."""
        counts = zip(*((part.n_requests, part.n_read, part.n_written, part.n_tried) for part in parts), strict=True)
        n_requests, n_read, n_written, n_tried = map(sum, counts)
        costs = [part.cost for part in parts if part.cost is not None]
        how = any(part.ends_early for part in parts), all(part.is_counted for part in parts)
        return cls(n_requests, n_read, n_written, sum(costs) if costs else None, (), *how, n_tried)

    def describe(self, meter: Meter, of: str = "") -> str:
        """Return one line for the user, which says where what a budget leaves is less; `of` names the runs."""
        if not self.n_requests:
            return f"estimate{of}: nothing is left to send."
        how = "as the model's tokenizer counts, without a chat template"
        how = how if self.is_counted else f"{BYTES_PER_TOKEN} bytes of a prompt counted as one"
        sent = f"{plural(self.n_requests, 'request')}, {plural(self.n_read, 'token')} read ({how})"
        cost = "" if self.cost is None else f", cost up to {self.cost:,.4f}"
        whole = f"estimate{of}: {sent}, at most {self.n_written:,} written{cost}"
        most, dearest = meter.settings.max_requests, meter.settings.max_cost
        is_long = most is not None and meter.n_requests + self.n_tried + self.n_requests > most
        budgets = [plural(most or 0, "request")] * is_long
        budgets += [f"{dearest:g}"] if dearest is not None and meter.cost + (self.cost or 0.0) > dearest else []
        how = "is not" if is_long and not self.ends_early else "may not be"
        less = f" The budget of {' and '.join(budgets)} {how} enough: what is answered by then is kept, and the same "
        less += "command goes on from there."
        early, tried = ", if all buckets must be asked" * self.ends_early, plural(self.n_tried, "small request")
        first = f", after {tried} or more that tell how the server answers" * (self.n_tried > 0)
        return f"{whole}{early}{first}.{less * bool(budgets)}"


@dataclass
class Limit:
    """A number of requests or tokens a minute, which are spread evenly over it.

    Even spacing holds for servers that count fixed or sliding minutes, and for those that refill a bucket.
    """

    given: float | None
    learnt: float | None = None  # from the server's headers
    at: float = 0.0  # the time from which the next request may be sent

    def take(self, n: float, now: float) -> None:
        """Count `n` requests or tokens that are sent now."""
        self.at = max(self.at, now - _SLACK * MINUTE)
        self.add(n)

    def add(self, n: float) -> None:
        """Count `n` more than were taken, or less."""
        if self.given or self.learnt:
            per_minute = min(self.given or math.inf, self.learnt or math.inf)
            self.at += n * MINUTE / (_SHARE * per_minute)


@dataclass
class Pace:
    """The limits of one server."""

    requests: Limit
    tokens: Limit

    @property
    def at(self) -> float:
        """The time from which the next request may be sent."""
        return max(self.requests.at, self.tokens.at)

    def learn(self, headers: Mapping[str, str], n_tokens: float, now: float) -> None:
        """Take limits from an answer's headers; where none is left for a request like it, wait until they say so."""
        for limit, needed, names in ((self.requests, 1.0, _OF_REQUESTS), (self.tokens, n_tokens, _OF_TOKENS)):
            most, rest, reset = names
            if most in headers:
                limit.learnt = _seconds(headers[most]) or limit.learnt
            if rest in headers and (left := _seconds(headers[rest])) is not None and left < needed:
                limit.at = max(limit.at, now + min(_seconds(headers.get(reset, "")) or 0.0, MINUTE))


def _seconds(text: str) -> float | None:
    """Read a header's number, or its duration in seconds (``6m0s``, ``20ms``); None if it is neither.

    >>> _seconds("12"), _seconds("1m0.5s"), _seconds("soon")
    (12.0, 60.5, None)
    """
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h))+|\d+(\.\d+)?", text):
        return None
    parts = re.findall(r"([\d.]+)(ms|s|m|h)?", text)
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


@dataclass(slots=True)
class Sent:
    """A request that is under way: what it is expected to take, and what it took."""

    pace: Pace
    expected: TokenUse
    n_bytes: int
    n_tokens: int  # expected, read and written
    cost: float  # expected
    used: TokenUse | None = None  # as the endpoint counted; None before an answer
    free: bool = False  # refused, or never received: it costs nothing


def most_written(body: Json) -> int:
    """Return the most tokens that the answer to a request may have; 0 if it does not say so."""
    return max((n for name in ("max_tokens", "max_completion_tokens") if type(n := body.get(name)) is int), default=0)


def _whole(used: TokenUse) -> int:
    return (used.prompt or 0) + (used.completion or 0)


@dataclass
class Meter:
    """What one command has sent and what it cost, over all of its clients."""

    settings: EndpointSettings
    about: str = ""  # ends what is told of them, where another endpoint may be asked too
    n_requests: int = 0
    cost: float = 0.0  # of the answered requests; 0 without a price
    _paces: dict[str, Pace] = field(default_factory=dict)
    _expected: float = 0.0  # cost of the requests under way
    _n_under_way: int = 0
    _counted: tuple[int, int] = (0, 0)  # bytes of the counted requests, and their tokens

    def pace(self, url: str) -> Pace:
        given = self.settings.requests_per_minute, self.settings.tokens_per_minute
        return self._paces.setdefault(url, Pace(*map(Limit, given)))

    def expect(self, body: Json, n_bytes: int) -> TokenUse:
        """Return the tokens that a request is expected to read, and the most that it may write."""
        n_counted, n_tokens = self._counted
        share = n_tokens / n_counted if n_counted else 1 / BYTES_PER_TOKEN
        return TokenUse(math.ceil(n_bytes * share), most_written(body))

    def estimate(self, bodies: Iterable[Json]) -> Estimate:
        expected = [self.expect(body, len(json.dumps(body))) for body in bodies]
        read, written = (sum(used[part] or 0 for used in expected) for part in (0, 1))
        cost = None if self.settings.prices is None else self.cost_of(TokenUse(read, written))
        return Estimate(len(expected), read, written, cost)

    def may_send(self, expected: TokenUse) -> bool:
        """Return whether the budget has room for a request; it may have once those under way are answered.

        Raises `BudgetReached` if it has none in any case.
        """
        most, cost = self.settings.max_requests, self.settings.max_cost
        if most is not None and self.n_requests >= most:
            if self._n_under_way:  # they are paid for: their answers are kept however long they take
                return False
            raise self._reached("max_requests", plural(most, "request"))
        if cost is None or self.cost + self._expected + self.cost_of(expected) <= cost:
            return True
        if self._n_under_way:
            return False
        if (alone := self.cost_of(expected)) > cost:
            must, remedy = f"be as much as one request may cost, {alone:.4g}", "Give more, or a lower `max_new_tokens`."
            raise BudgetReached(must, function="run", parameter="max_cost", got=cost, remedy=remedy)
        raise self._reached("max_cost", f"{cost:g}", f", as the next request may cost {self.cost_of(expected):.4g}")

    def send(self, pace: Pace, expected: TokenUse, n_bytes: int, now: float) -> Sent:
        sent = Sent(pace, expected, n_bytes, _whole(expected), self.cost_of(expected))
        pace.requests.take(1, now)
        pace.tokens.take(sent.n_tokens, now)
        self.n_requests += 1
        self._n_under_way += 1
        self._expected += sent.cost
        return sent

    def settle(self, sent: Sent) -> None:
        """Count what a request took; one that was lost counts as expected, since it may be paid for."""
        self._n_under_way -= 1
        self._expected -= sent.cost
        if sent.free:
            return
        used = sent.used
        if used is None or used.prompt is None:
            self.cost += sent.cost
            return
        self._counted = self._counted[0] + sent.n_bytes, self._counted[1] + used.prompt
        if used.completion is None:
            used = used._replace(completion=sent.expected.completion)
        self.cost += self.cost_of(used)
        sent.pace.tokens.add(_whole(used) - sent.n_tokens)

    def cost_of(self, used: TokenUse) -> float:
        """Return the cost of tokens; 0 without a price."""
        read, written = self.settings.prices or (0.0, 0.0)
        return ((used.prompt or 0) * read + (used.completion or 0) * written) / 1_000_000

    @property
    def spent(self) -> str:
        """What was sent and paid, as text."""
        cost = f" and {self.cost:,.4f} paid" if self.settings.prices else ""
        return f"{plural(self.n_requests, 'request')} sent{cost}"

    def _reached(self, option: str, budget: str, why: str = "") -> BudgetReached:
        must = f"the budget of {budget} (`{option}`) is used{why}: {self.spent}."
        return BudgetReached(must, function="run", remedy=KEPT)


T = TypeVar("T")
#: Takes an answer, a JSON object, and returns the value to read from it; raises `Malformed` if that is absent.
Read = Callable[[Json], T]

#: Header that names a request's input; servers ignore it, and their logs may show it.
INPUT_HEADER = "X-Paraconsist-Input"
#: Statuses that may differ the next time, besides 429: time-outs, conflicts and faults of the server.
_RETRIED = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
#: Faults for which a server is set aside if there are others.
_AWAY = frozenset({"unreachable", "connection", "timeout", "502", "503", "504", "529"})
#: Faults of a first request that seldom pass: it is sent a few times only.
_SOON = frozenset({"unreachable", "malformed"})
_FIRST_WAIT, _LONGEST_WAIT, _LONGEST_REQUESTED_WAIT = 0.5, 60.0, 600.0
#: Seconds without an answer after which the user is told.
_SILENCE = 10.0
_SHORT = 0.05
_DEFAULT_VARIABLE, _DEFAULT_HOST = "OPENAI_API_KEY", "api.openai.com"
_MASK, _ACCEPT = "***", {"Accept": "application/json", "Accept-Encoding": "gzip"}
#: Texts between the marks that surround a key where it is quoted: ``api_key=sk-...``, ``Bearer,sk-...``, JSON.
_RUN = re.compile(r"""[^\s"'`,;:=&|<>()\[\]{}\\]{6,}""")
_LEAST_IN_ANSWERS = 12


class Stopped(Exception):
    """A request that is not sent (again), because the run ends."""


class _Again(Exception):
    """A request that may be answered later: why it was not answered now, and the wait that the server asks for."""

    def __init__(self, kind: str, problem: str, wait: float | None = None) -> None:
        super().__init__(problem)
        self.kind, self.wait = kind, wait


@dataclass
class _Server:
    """One of the servers among which requests are divided."""

    url: str
    proxy: str | None
    pace: Pace
    n_under_way: int = 0
    failures: int = 0  # consecutive, counted if there are other servers
    free_at: float = 0.0  # nothing is sent to it before


class EndpointClient:
    """Sends requests to an endpoint, each as often as necessary; use as an async context manager.

    Of several servers the one with the fewest requests under way gets the next. A server that fails is set aside, for
    longer each time, and then tried again with one request; its requests go to the others. Clients of one command
    share a `meter`, which holds its pace and its budget.
    """

    def __init__(
        self, settings: EndpointSettings, key: Key | None, *, seed: int | None = None, meter: Meter | None = None
    ) -> None:
        self.settings, self.meter = settings, meter or Meter(settings)
        self.retries: Counter[str] = Counter()  # why requests were sent again: a status, timeout, connection, malformed
        self._key = key
        self._hide: Callable[..., str] = key.hide if key else lambda text, in_answers=False: text
        self._rng = random.Random(seed)
        self._servers = [_Server(server.url, _proxy(server), self.meter.pace(server.url)) for server in settings.each()]
        self._last_answer = 0.0
        self._is_silence_told = False
        self._n_unreadable: int | None = 0  # answers before the first that could be read; None after it
        self.stopped: asyncio.Event  # once set, nothing more is sent; requests under way may still be answered
        self._slots: asyncio.Semaphore
        self._turn: asyncio.Lock  # of the request that is sent next
        self._http: aiohttp.ClientSession

    async def __aenter__(self) -> EndpointClient:
        import aiohttp

        n, seconds = self.settings.concurrency, self.settings.timeout
        self._http = aiohttp.ClientSession(
            headers={**(self._key.headers if self._key else {}), **_ACCEPT},
            auto_decompress=False,  # `Body` does it, piece by piece
            timeout=aiohttp.ClientTimeout(total=seconds, connect=min(seconds, 10.0)),
            connector=aiohttp.TCPConnector(limit=n, ssl=_certificates()),
        )
        self._last_answer = asyncio.get_running_loop().time()
        self.stopped, self._slots, self._turn = asyncio.Event(), asyncio.Semaphore(n), asyncio.Lock()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._http.close()

    async def post(
        self,
        path: str,
        body: Json,
        read: Read[T],
        *,
        about: str,
        tag: str | None = None,
        tries: int | None = None,
        connects: int | None = None,
    ) -> T:
        """Send a request, a JSON `body` to a `path` behind the endpoint's address, until it is answered.

        Parameters
        ----------
        read : callable
            See `Read`; a `Malformed` answer is requested again.
        about : str
            The name of the request in messages: ``"input 0f3a..."``; `tag` is sent as a header.
        tries, connects : int, optional
            How often to try, by default as in the settings, and how often without a connection or a readable answer.

        Raises
        ------
        Refused
            If the endpoint refuses this request (400, 404, 422 and such).
        Stopped
            If the run ends meanwhile.
        BudgetReached
            If the budget has no room for another request.
        InputError
            If the key is refused, the server has another API, or the last try failed (`GaveUp`).
        """
        tries = self.settings.tries if tries is None else tries
        headers = {"Content-Type": "application/json", **({INPUT_HEADER: tag} if tag else {})}
        data = json.dumps(body).encode()
        failures = refused_for_rate = 0
        # Not tenacity: refusals for the rate do not count as tries and hold all requests back, a missing connection has
        # another limit, and every wait ends with the run; its callbacks for that are longer than this loop.
        while True:
            try:
                async with self._slots:
                    server, sent = await self._free_server(body, len(data))
                    server.n_under_way += 1
                    try:
                        answer = await self._once(server, sent, path, data, read, headers)
                    finally:
                        server.n_under_way -= 1
                        self.meter.settle(sent)
            except _Again as problem:
                self._check_readable(about, problem)
                if problem.kind == "429":
                    refused_for_rate += 1
                    self._check_patience(about, problem)
                elif not all(server.failures for server in self._servers):  # else all are down
                    failures += 1
                limit = min(tries, connects) if connects and problem.kind in _SOON else tries
                are_down = min(server.failures for server in self._servers) >= tries
                if are_down or failures >= limit:
                    if problem.kind == "unreachable":
                        raise protocol.unreachable(server.url, str(problem)) from None
                    times = "once" if failures == 1 else f"{failures} times"
                    must = f"the endpoint gave no answer to {about}, asked {times}; the last time: {problem}."
                    error = InputError if are_down else protocol.GaveUp
                    raise error(must, function="run", remedy=protocol.KEPT) from None
                self.retries[problem.kind] += 1
                self._tell_silence(problem)
                if self.stopped.is_set():
                    raise Stopped from None
                await self._back_off(problem, server, failures + refused_for_rate)
            else:
                server.failures, self._n_unreadable = 0, None
                self._last_answer = asyncio.get_running_loop().time()
                return answer

    async def get(self, path: str, *, seconds: float = 5.0) -> Any:
        """Return the JSON at a path, for hints in messages; None if it cannot be read."""
        import aiohttp

        server, limit = self._servers[0], aiohttp.ClientTimeout(total=seconds)
        options: Any = {"allow_redirects": False, "proxy": server.proxy, "timeout": limit}
        try:
            async with self._http.get(server.url + path, **options) as response:
                return read_object(await _body(response), self._hide) if response.status == 200 else None
        except Exception:  # the hint is optional
            return None

    async def _once(
        self, server: _Server, sent: Sent, path: str, data: bytes, read: Read[T], headers: Mapping[str, str]
    ) -> T:
        import aiohttp

        options: Any = {"headers": headers, "allow_redirects": False, "proxy": server.proxy}
        try:
            async with self._http.post(server.url + path, data=data, **options) as response:
                content = await _body(response)
        except Malformed as problem:
            raise _Again("malformed", f"an answer that cannot be read ({problem})") from None
        except aiohttp.ClientConnectorCertificateError as problem:
            raise protocol.untrusted(server.url, problem.certificate_error) from None
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as problem:
            sent.free = True
            timed_out = isinstance(problem, asyncio.TimeoutError)
            of_proxy = "The environment's proxy: " * isinstance(problem, aiohttp.ClientProxyConnectionError)
            why = of_proxy + ("no connection in time" if timed_out else self._hide(str(problem)))
            raise _Again("unreachable", why) from None
        except aiohttp.ClientHttpProxyError as problem:
            sent.free = True
            if problem.status not in _RETRIED:
                raise protocol.refused_by_proxy(problem.status) from None
            raise _Again(str(problem.status), f"{problem.status} of the environment's proxy") from None
        except asyncio.TimeoutError:
            raise _Again("timeout", f"no answer within {self.settings.timeout:g} seconds") from None
        except (aiohttp.ClientError, OSError) as problem:
            why = self._hide(str(problem)) or type(problem).__name__
            is_first = self._n_unreadable == 0 and isinstance(problem, aiohttp.ServerDisconnectedError)
            why += "; perhaps it takes https:// alone" * (is_first and server.url.startswith("http://"))
            raise _Again("connection", f"the connection was cut ({why})") from None
        sent.free = not 200 <= response.status < 300
        server.pace.learn(response.headers, sent.n_tokens, asyncio.get_running_loop().time())
        return self._judge(server.url, sent, response, content, read)

    def _judge(self, url: str, sent: Sent, response: aiohttp.ClientResponse, content: bytes, read: Read[T]) -> T:
        status, content_type = response.status, response.headers.get("content-type", "")
        html = "html" in content_type.lower() or content[:64].lstrip()[:1] == b"<"
        if 200 <= status < 300:
            if html:
                kind = self._hide(content_type.partition(";")[0]) or "no content type"
                remedy = f"It answers with a web page ({kind}). The address often ends in /v1."
                must = "be the address of an OpenAI-compatible API"
                raise input_error("run", "endpoint", must, got=url, remedy=remedy)
            try:
                body = protocol.read_answer(content, partial(self._hide, in_answers=True))
                sent.used = protocol.tokens_used(body)
                status = protocol.status_of(body) or status
                if status < 300:
                    return read(body)
            except Malformed as problem:  # cut short, not in the API's form, or ended by an error
                kind = "error" if isinstance(problem, protocol.Interrupted) else "malformed"
                raise _Again(kind, f"an answer that cannot be read ({self._hide(str(problem))})") from None
        if 300 <= status < 400:
            remedy = f"It redirects ({status}), which is not followed: the key could be sent elsewhere."
            raise input_error("run", "endpoint", "be the address itself", got=url, remedy=remedy)
        is_of_request = status == 403 and (b"logprob" in content or b"flagged" in content)  # OpenAI's, OpenRouter's
        if status in (401, 403) and not is_of_request:  # without the server's message, which may quote the key
            remedy = "It wants a key: put it into an environment variable and name that."
            if self._key is not None:
                variable = self.settings.api_key_variable or _DEFAULT_VARIABLE
                remedy = f"Look at what the environment variable {variable} holds, and whether it may use this model."
            must = "name the environment variable of a key that the endpoint takes"
            raise input_error("run", "api_key_variable", must, remedy=f"{url} answered {status}. {remedy}")
        message = self._hide(protocol.message_of(content))
        if status == 407:
            raise protocol.refused_by_proxy(status)
        if status == 429 and b"insufficient_quota" in content:
            raise InputError(f"the account's quota is used up: {message}", function="run")
        if status == 429 or status in _RETRIED:
            raise _Again(str(status), f"{status}: {message.removesuffix('.')}", retry_after(response.headers))
        raise protocol.Refused(status, message, html=html)

    def _check_readable(self, about: str, problem: _Again) -> None:
        """End the run if no answer could be read from the start: all of them, and late ones, may be paid for."""
        if self._n_unreadable is not None and problem.kind in ("malformed", "error", "timeout"):
            self._n_unreadable += 1
            if self._n_unreadable >= HOPELESS:
                must = f"none of the first {self._n_unreadable} requests has an answer that can be read; the last, "
                must += f"to {about}: {problem}."
                raise InputError(must, function="run", remedy=protocol.KEPT)

    async def _sleep(self, seconds: float) -> None:
        """Wait, at most until the run ends."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)

    async def _free_server(self, body: Json, n_bytes: int) -> tuple[_Server, Sent]:
        """Take a turn at the server with the fewest requests under way among those that take any; wait for one."""
        async with self._turn:
            while not self.stopped.is_set():
                if taken := self._taken(body, n_bytes):
                    return taken
                now = asyncio.get_running_loop().time()
                usable = [max(s.free_at, s.pace.at) for s in self._servers if not (s.failures and s.n_under_way)]
                left = min(usable, default=now) - now  # 0 or less if the budget waits, or a server is tried again
                await self._sleep(min(left, 1.0) if left > 0 else _SHORT)
            raise Stopped

    def _taken(self, body: Json, n_bytes: int) -> tuple[_Server, Sent] | None:
        """Take a turn if one is free now."""
        now = asyncio.get_running_loop().time()
        free = [
            s for s in self._servers if s.free_at <= now and s.pace.at <= now and not (s.failures and s.n_under_way)
        ]
        expected = self.meter.expect(body, n_bytes)
        if not free or not self.meter.may_send(expected):
            return None
        server = min(free, key=lambda server: server.n_under_way)
        return server, self.meter.send(server.pace, expected, n_bytes, now)

    async def _back_off(self, problem: _Again, server: _Server, failures: int) -> None:
        if problem.wait is not None and problem.wait > _LONGEST_REQUESTED_WAIT:
            must = f"the endpoint asks to wait {problem.wait:,.0f} seconds ({problem})."
            raise InputError(must, function="run", remedy=protocol.KEPT)
        now, alone = asyncio.get_running_loop().time(), len(self._servers) == 1
        wait = backoff(failures, self._rng)
        if problem.kind == "429" and not (alone and problem.wait is None):
            server.free_at = max(server.free_at, now + max(wait if problem.wait is None else problem.wait, 0.1))
        elif alone or problem.kind not in _AWAY:
            await self._sleep(max(problem.wait or 0.0, wait))
        elif server.free_at <= now:  # else another request has set it aside
            server.failures += 1
            server.free_at = now + max(problem.wait or 0.0, backoff(server.failures, self._rng))

    def _tell_silence(self, problem: _Again) -> None:
        """Warn once that nothing is answered, and why: a run may wait for many minutes."""
        silent = asyncio.get_running_loop().time() - self._last_answer
        if silent > _SILENCE and not self._is_silence_told:
            self._is_silence_told = True
            text = f"no request was answered for {silent:,.0f} seconds ({problem}); they are sent again, less often"
            warnings.warn(f"{text}.{self.meter.about}", UserWarning, stacklevel=2)

    def _check_patience(self, about: str, problem: _Again) -> None:
        silent = asyncio.get_running_loop().time() - self._last_answer
        if silent > self.settings.patience:
            must = f"the endpoint refused {about} because of the rate limit, and answered nothing for {silent:,.0f} "
            must += f"seconds ({problem})."
            raise InputError(must, function="run", remedy=f"Give a lower `concurrency`. {protocol.KEPT}")


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """Return a response's body; `Malformed` if it is too long."""
    body = Body(response.headers.get("content-encoding", ""))
    async for piece in response.content.iter_any():
        body.add(piece)
    return bytes(body.data)


class Key:
    """A secret that neither ``repr`` nor pickling reveals."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return f"Key({_MASK})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._secret}"}

    def hide(self, text: str, *, in_answers: bool = False) -> str:
        """Return `text` without the key and without long parts of it (servers quote keys, sometimes shortened).

        In a model's answers shorter parts stay, as do keys of less than 8 characters, which are placeholders (EMPTY).
        """
        least = _LEAST_IN_ANSWERS if in_answers else 6
        if len(self._secret) >= 8 or not in_answers:
            for form in (self._secret, quote(self._secret, safe="")):
                text = text.replace(form, _MASK)

        def masked(run: re.Match[str]) -> str:
            bare = run[0].strip(".!?")
            part = bare.strip("*.…")
            # the secret with its middle replaced by stars or dots
            first, *last = re.split(r"(?:\*|\.\.\.|…)[*.…]*", part, maxsplit=1)
            are_ends = last and self._secret.startswith(first) and self._secret.endswith(last[0])
            is_cut = are_ends and len(first) + len(last[0]) >= 4
            ours = len(part) >= least and (part in self._secret or is_cut)
            return run[0].replace(bare, _MASK) if ours else run[0]

        return _RUN.sub(masked, text)


def find_key(settings: EndpointSettings) -> Key | None:
    """Return the key for an endpoint, or None if it needs none.

    The default variable's key goes to its own host only: another endpoint gets a key only if the user names the
    variable. The error for an unset variable does not repeat the name, which might be the key, given by mistake.
    """
    named = settings.api_key_variable
    hosts = {server.host for server in settings.each()}
    variable = named if named is not None else _DEFAULT_VARIABLE if hosts == {_DEFAULT_HOST} else None
    if variable is None:
        return None
    secret = os.environ.get(variable, "").strip()
    if secret:
        if not secret.isascii() or any(c.isspace() or not c.isprintable() for c in secret):
            must = "name a variable that holds a key: ASCII characters, no white space"
            raise input_error("run", "api_key_variable", must)
        for server in settings.each():
            if server.url.startswith("http://") and not server.is_local:
                warnings.warn(f"the key for {server.host} goes over http, unencrypted", UserWarning, stacklevel=2)
        return Key(secret)
    if named is None:
        return None
    remedy = "Give the variable's name, not the key itself, and export it: keys are read from the environment only."
    raise input_error("run", "api_key_variable", "name an environment variable that is set", remedy=remedy)


def _proxy(settings: EndpointSettings) -> str | None:
    """Return the proxy that the environment names. Not by aiohttp's `trust_env`, which sends passwords of netrc."""
    parts, proxies = urlsplit(settings.url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or settings.is_local or proxy_bypass(parts.netloc):
        return None
    with contextlib.suppress(ValueError):
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        if (at := urlsplit(proxy)).scheme in ("http", "https") and at.hostname and at.port != 0:
            return proxy
    remedy = "Name the host as NO_PROXY, or an HTTP proxy as HTTPS_PROXY."  # not shown: it may hold a password
    raise InputError("the environment's proxy is not an HTTP proxy.", function="run", remedy=remedy)


def _certificates() -> ssl.SSLContext:
    """Return the trusted authorities: those of SSL_CERT_FILE or SSL_CERT_DIR if set, else certifi's."""
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache  # 40 ms for each of many runs
def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    import certifi

    try:
        return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
    except OSError as problem:
        must = f"the environment's SSL_CERT_FILE names no certificates (PEM) that can be read: {file} ({problem})."
        raise InputError(must, function="run") from None


def backoff(failures: int, rng: random.Random) -> float:
    """Return the seconds to wait after a number of failures: doubled each time up to a minute, times 0.5 to 1.

    >>> 0.25 <= backoff(1, random.Random(0)) <= 0.5
    True
    """
    whole = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 20))
    return whole * rng.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the wait in seconds that ``retry-after-ms`` or ``retry-after`` (seconds or a date) asks for, at least 0.

    None without such a header (in lower case), or if it cannot be read. Dates count from `now`.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after": "soon"})
    (2.0, None)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(KeyError, ValueError):
            if math.isfinite(seconds := float(headers[name]) * unit):
                return max(0.0, seconds)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    until = until if until.tzinfo is not None else until.replace(tzinfo=timezone.utc)
    return max(0.0, (until - (now or datetime.now(timezone.utc))).total_seconds())
