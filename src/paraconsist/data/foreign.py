"""What comes from outside, which can expand from a few bytes to any size, is checked before it is unpacked.

YAML and archives, and answers of endpoints, batch files, Python functions and logs. Answers can hold text that no file
takes, such as half an emoji, which a limit of tokens has cut, or the endpoint's key. What passes here can be stored.
"""

from __future__ import annotations

import json
import re
import zlib
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Sized
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from paraconsist.errors import first_line, input_error
from paraconsist.files import Json

MAX_YAML = 1_000_000  # bytes
#: What people write into a sheet for yes and for no, in small letters.
MARKS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1", "1.0", "x", "valid", "ok"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0", "0.0", "invalid"), False),
}
_WITHOUT_COMMA = re.compile(r"(?<=['\"])\s+(?=['\"])")  # between texts
_LONGEST_NUMBER = 400  # characters: every finite float has fewer


def parse_yaml(text: str, *, typed: bool = True) -> Any:
    """Return the value of a YAML text, its scalars as text (or None) unless `typed`; ValueError if it cannot be read.

    Aliases are refused, as a few lines of them expand to gigabytes, and so are deeply nested values, numbers of
    hundreds of digits, which take minutes in base 60, and a key that stands twice.
    """
    import yaml  # its first import is slow

    class Loader(yaml.SafeLoader if typed else yaml.BaseLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("It has an alias (*name): write the value out.")
            return super().compose_node(parent, index)

        def construct_scalar(self, node: Any) -> Any:
            if node.tag.endswith((":int", ":float")) and len(node.value) > _LONGEST_NUMBER:
                raise yaml.YAMLError(f"It has a number of {len(node.value):,} characters.")
            if not typed and node.style is None and node.value in ("~", "null", "Null", "NULL"):
                return None
            value = super().construct_scalar(node)
            return valid_text(value) if isinstance(value, str) else value

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            if twice := [key for key, n in keys.items() if n > 1]:
                raise yaml.YAMLError(f"It has the key {twice[0]!r} twice.")
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise ValueError(" ".join(str(problem).split())) from None


def read_yaml(function: str, parameter: str, path: str | Path, *, typed: bool = True) -> Any:
    """Return the value of a YAML file of at most a megabyte, as `parse_yaml`; InputError if it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_YAML + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        raise input_error(function, parameter, "name a text file that can be read", got=str(path)) from None
    try:
        if len(data) > MAX_YAML:
            raise ValueError("It is longer than a megabyte.")
        return parse_yaml(text, typed=typed)
    except ValueError as problem:
        raise input_error(function, parameter, "be valid YAML", got=str(path), remedy=str(problem)) from None


def archive_entries(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the entries of an archive by name, after checks that make it safe to unpack.

    BadZipFile if a name is repeated or leads outside, or if it unpacks to more than 4 GiB or 500 times its size.
    """
    entries = {info.filename: info for info in archive.infolist()}
    unpacked, packed = (
        sum(getattr(info, size) for info in entries.values()) for size in ("file_size", "compress_size")
    )
    if len(entries) < len(archive.infolist()):
        raise BadZipFile("it repeats a name")
    if any(name.startswith(("/", "\\")) or ":" in name or ".." in re.split(r"[/\\]", name) for name in entries):
        raise BadZipFile("it holds a name that leads outside")
    if unpacked > 1 << 32 or (unpacked > 1 << 26 and unpacked > 500 * packed):
        raise BadZipFile(f"it would be {unpacked:,} bytes, from {packed:,}")
    return entries


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


def as_text(value: Any) -> str:
    """Return a value as text; whole numbers without the .0 that missing values in their column give them."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def listed(value: Any, *, python: bool = False) -> list[Any]:
    """Return what a value lists, also as JSON in a text; else the value alone.

    With `python` also as Python writes lists, and numpy arrays of texts, in a CSV file of pandas for instance.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        for read in (json.loads, _of_python)[: 1 + python]:
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return list(read(value.strip()))
    return value if isinstance(value, list) else [value]


def _of_python(text: str) -> list[Any]:
    values: list[Any] = literal_eval(text)  # which joins the texts of a numpy array
    return values if len(values) > 1 else literal_eval(_WITHOUT_COMMA.sub(", ", text))


def lines_in(text: str) -> list[Any]:
    """Return the values of a list that a text is, as JSON or Python writes it; else its lines."""
    values = listed(text, python=True)
    return text.splitlines() if values == [text] else values


def valid_text(text: str) -> str:
    """Return a text with each half of a surrogate pair, which UTF-8 cannot hold, replaced by U+FFFD.

    >>> valid_text("S \\ud83d")
    'S \ufffd'
    """
    # a pair that was written as two escapes is joined
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(text) else text


def without_reasoning(text: str) -> str:
    """Return an answer without the reasoning that begins it, up to ``</think>``; chat templates may write ``<think>``.

    >>> without_reasoning("<think>2 or 3?</think> 2"), without_reasoning("<think>2 or"), without_reasoning("2")
    (' 2', '', '2')
    """
    head, end, answer = text.partition("</think>")
    is_begun = head.lstrip().startswith("<think>")
    return answer if end and (is_begun or "<think>" not in head) else "" if is_begun else text


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
