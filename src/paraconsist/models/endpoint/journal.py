"""Every answer that was paid for, on disk before anything else is done with it.

One JSON line an answered request, appended in one write: an input may need several requests (one for each label), and
what one of them was answered is never asked again, nor are the tokens forgotten that it cost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from paraconsist.errors import InputError
from paraconsist.models.endpoint.reading import TokenUse
from paraconsist.running.store import ShardWriter

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
        said = {**answered._asdict(), "used": list(answered.used)}
        self._write((json.dumps(said, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))
        self.answers[answered.input_id, answered.part] = answered


def _read(path: Path) -> dict[tuple[str, str], Answered]:
    found: dict[tuple[str, str], Answered] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            said = json.loads(line)
            answered = Answered(**{**said, "used": TokenUse(*said["used"])})
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"run: {path} is damaged at line {number}. Delete that line (its request is sent again) or start a "
                "new run folder."
            ) from None
        found.setdefault((answered.input_id, answered.part), answered)
    return found
