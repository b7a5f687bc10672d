"""Every answer that was paid for, on disk before anything else is done with it, and what all of them came to.

One JSON line an answered request, appended in one write: an input may need several requests (one for each label), and
no answer is paid for twice, nor are the tokens forgotten that it cost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from paraconsist.data.store import ShardWriter
from paraconsist.errors import InputError
from paraconsist.models.endpoint.protocol import TokenUse
from paraconsist.models.endpoint.settings import EndpointSettings

JOURNAL = "answers.jsonl"


class Answered(NamedTuple):
    """What one request was answered: for which input, which part of it, and what was read of the answer."""

    input_id: str
    part: str
    value: Any
    used: TokenUse
    served: str


class Journal(ShardWriter):
    """The answers so far, and the file that they are appended to; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JOURNAL)
        try:
            self.answers = _read(self.path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def get(self, input_id: str, part: str) -> Answered | None:
        """What a part of an input was answered, if it was."""
        return self.answers.get((input_id, part))

    def add(self, answered: Answered) -> None:
        """Write an answer, in one call to the operating system, before returning."""
        self._write((json.dumps(answered._asdict(), ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))
        self.answers[answered.input_id, answered.part] = answered


def _read(path: Path) -> dict[tuple[str, str], Answered]:
    answers: dict[tuple[str, str], Answered] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            fields = json.loads(line)
            answered = Answered(**{**fields, "used": TokenUse(*fields["used"])})
        except (ValueError, TypeError, KeyError):
            remedy = "Delete that line (its request is sent again) or start a new run folder."
            raise InputError(f"{path} is damaged at line {number}.", function="run", remedy=remedy) from None
        answers.setdefault((answered.input_id, answered.part), answered)
    return answers


@dataclass(frozen=True)
class Usage:
    """What the answers in a store came to, over all the commands that put them there."""

    n_requests: int
    prompt_tokens: int  # as the endpoint counted them; so are the next
    completion_tokens: int
    n_uncounted: int  # answered requests whose tokens the endpoint did not count
    cost: float | None  # None without prices; small first requests, retries and answers cut off by a kill are not in it
    #: models that answered, as the endpoint calls them -> requests
    served: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**vars(self), "served": dict(self.served)}


def add_up(answers: Iterable[Answered], settings: EndpointSettings) -> Usage:
    """Count what answered requests came to."""
    listed = list(answers)
    read = sum(answered.used.prompt or 0 for answered in listed)
    written = sum(answered.used.completion or 0 for answered in listed)
    uncounted = sum(answered.used.prompt is None for answered in listed)
    served = Counter(answered.served or "unnamed" for answered in listed)
    cost = None
    if settings.price_input is not None and settings.price_output is not None:
        cost = round((read * settings.price_input + written * settings.price_output) / 1_000_000, 8)
    return Usage(len(listed), read, written, uncounted, cost, dict(served.most_common()))
