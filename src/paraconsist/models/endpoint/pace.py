"""How fast and how much an endpoint is asked: the limits of a minute, and the budget of a command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paraconsist.errors import InputError
from paraconsist.files import Json
from paraconsist.models.endpoint.protocol import KEPT, TokenUse
from paraconsist.models.endpoint.settings import EndpointSettings

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

    def describe(self) -> str:
        """Return one line for the user."""
        how = "as the model's tokenizer counts, without a chat template"
        how = how if self.is_counted else f"{BYTES_PER_TOKEN} bytes of a prompt counted as one"
        tokens = f"{self.n_read:,} tokens read ({how})"
        cost = "" if self.cost is None else f", cost {self.cost:,.4f}"
        whole = f"estimate: {self.n_requests:,} requests, {tokens}, at most {self.n_written:,} written{cost}"
        return f"{whole}{', if all buckets must be asked' if self.ends_early else ''}."


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
        if self.given or self.learnt:
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


def _whole(used: TokenUse) -> int:
    return (used.prompt or 0) + (used.completion or 0)


@dataclass
class Meter:
    """What one command has sent and what it cost, over all of its clients."""

    settings: EndpointSettings
    n_requests: int = 0
    cost: float = 0.0  # of the answered requests; 0 without a price
    _paces: dict[str, Pace] = field(default_factory=dict)
    _expected: float = 0.0  # cost of the requests under way
    _n_under_way: int = 0
    _counted: tuple[int, int] = (0, 0)  # bytes of the counted requests, and their tokens

    def pace(self, url: str) -> Pace:
        """Return the pace of a server."""
        given = self.settings.requests_per_minute, self.settings.tokens_per_minute
        return self._paces.setdefault(url, Pace(*map(Limit, given)))

    def expect(self, body: Json, n_bytes: int) -> TokenUse:
        """Return the tokens that a request is expected to read, and the most that it may write."""
        n_counted, n_tokens = self._counted
        share = n_tokens / n_counted if n_counted else 1 / BYTES_PER_TOKEN
        written = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        return TokenUse(math.ceil(n_bytes * share), written if isinstance(written, int) else 0)

    def estimate(self, bodies: Iterable[Json]) -> Estimate:
        """Return what requests are expected to take."""
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
            raise self._reached("max_requests", f"{most:,} requests")
        if cost is None or self.cost + self._expected + self.cost_of(expected) <= cost:
            return True
        if self._n_under_way:
            return False
        raise self._reached("max_cost", f"{cost:g}")

    def send(self, pace: Pace, expected: TokenUse, n_bytes: int, now: float) -> Sent:
        """Count a request that is sent now."""
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
        self.cost += self.cost_of(used)
        sent.pace.tokens.add(_whole(used) - sent.n_tokens)

    def cost_of(self, used: TokenUse) -> float:
        """Return the cost of tokens; 0 without a price."""
        read, written = self.settings.prices or (0.0, 0.0)
        return ((used.prompt or 0) * read + (used.completion or 0) * written) / 1_000_000

    def _reached(self, option: str, budget: str) -> BudgetReached:
        cost = f" and {self.cost:,.4f} paid" if self.settings.prices else ""
        must = f"the budget of {budget} (`{option}`) is used: {self.n_requests:,} requests sent{cost}."
        return BudgetReached(must, function="run", remedy=KEPT)
