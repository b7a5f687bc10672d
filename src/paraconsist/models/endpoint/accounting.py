"""What a run over an endpoint came to: requests, tokens, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paraconsist.models.endpoint.journal import Answered
from paraconsist.models.endpoint.settings import EndpointSettings

_MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """What the answers in a store came to, over all the commands that put them there.

    Attributes
    ----------
    n_requests : int
        Answered requests.
    prompt_tokens, completion_tokens : int
        As the endpoint counted them.
    n_uncounted : int
        Answered requests whose tokens the endpoint did not count.
    cost : float, optional
        None without prices. Small first requests, retries and answers that a kill cut off are not in it.
    served : mapping
        Models that answered, as the endpoint calls them -> requests.
    """

    n_requests: int
    prompt_tokens: int
    completion_tokens: int
    n_uncounted: int
    cost: float | None
    served: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**vars(self), "served": dict(self.served)}


def add_up(answers: Iterable[Answered], settings: EndpointSettings) -> Usage:
    """Count what answered requests came to."""
    n = read = written = uncounted = 0
    served: Counter[str] = Counter()
    for answered in answers:
        n += 1
        uncounted += answered.used.prompt is None
        read += answered.used.prompt or 0
        written += answered.used.completion or 0
        served[answered.served or "unnamed"] += 1
    cost = None
    if settings.price_input is not None and settings.price_output is not None:
        cost = round((read * settings.price_input + written * settings.price_output) / _MILLION, 8)
    return Usage(n, read, written, uncounted, cost, dict(served.most_common()))
