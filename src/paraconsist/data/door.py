"""The door through which answers of others come in: of bounded size, valid Unicode, and without the endpoint's key.

Endpoints, batch files, Python functions and logs can all hold text that no file takes, such as half an emoji, which a
limit of tokens has cut. What passes this door can be stored.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sized
from typing import Any

from paraconsist.errors import first_line
from paraconsist.files import Json

#: The longest body of an answer, in bytes, after it is decompressed.
MOST_BYTES = 1 << 25
#: How deep its JSON may be nested, whatever limit of recursion a library has set.
MOST_DEPTH = 400
_HALF = re.compile("[\ud800-\udfff]")


class Malformed(Exception):
    """An answer without the form of the API's answers; it is requested again."""


class Body:
    """The body of an answer, collected piece by piece; `Malformed` once it is longer than `MOST_BYTES`.

    The pieces are decompressed here, because a library inflates a few megabytes of gzip to gigabytes in one step.
    """

    def __init__(self, encoding: str = "") -> None:
        self.data, self._inflating = bytearray(), None
        if encoding.lower() in ("gzip", "x-gzip", "deflate"):
            self._inflating = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding.lower() not in ("", "identity"):
            raise Malformed(f"it is compressed by {encoding}, which was not asked for")

    def add(self, piece: bytes) -> None:
        try:
            if self._inflating is not None:
                piece = self._inflating.decompress(piece, MOST_BYTES + 1 - len(self.data))
        except zlib.error as problem:
            raise Malformed(str(problem)) from None
        self.data += piece
        _check_length(self.data)


def _check_length(data: Sized) -> None:
    if len(data) > MOST_BYTES:
        raise Malformed(f"it is longer than {MOST_BYTES:,} bytes")


def bounded_text(text: str) -> str:
    """Return the `valid_text` of an answer that was not sent as bytes; `Malformed` if it is too long."""
    _check_length(text)
    return valid_text(text)


def valid_text(text: str) -> str:
    """Return a text with each half of a surrogate pair, which UTF-8 cannot hold, replaced by U+FFFD.

    >>> valid_text("S \\ud83d")
    'S \ufffd'
    """
    # a pair that was written as two escapes is joined
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(text) else text


def cleaned(value: Any, hide: Callable[[str], str] = str, depth: int = MOST_DEPTH) -> Any:
    """Return a JSON value whose texts, keys of objects too, are valid and went through `hide`, which masks secrets."""
    if depth < 0:
        raise RecursionError
    if isinstance(value, str):
        return hide(valid_text(value))
    if isinstance(value, list):
        return [cleaned(item, hide, depth - 1) for item in value]
    if isinstance(value, dict):
        return {cleaned(name, hide): cleaned(item, hide, depth - 1) for name, item in value.items()}
    return value


def read_object(data: bytes | bytearray, hide: Callable[[str], str] = str) -> Json:
    """Return the JSON object in an answer's body, `cleaned`; `Malformed` for anything else, however deep it is."""
    try:
        answer = cleaned(json.loads(data), hide)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as problem:
        raise Malformed(first_line(problem)) from None
    if not isinstance(answer, dict):
        raise Malformed("it is not a JSON object")
    return answer
