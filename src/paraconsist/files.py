"""Files: written whole or not at all, and JSON that every reader takes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to; it becomes `path` at the end, and is removed after an error.

    A reader, or the next start after a kill, sees the old file or the new one, never half of either. Several processes
    may write the same path: the last one wins.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "results.json"
    >>> with replacing(file) as partial:
    ...     _ = partial.write_text("whole")
    >>> file.read_text(), [path.name for path in file.parent.iterdir()]
    ('whole', ['results.json'])
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def writing(
    function: str, parameter: str, path: str | Path | None, *, kind: str = "folder", remedy: str = ""
) -> Iterator[None]:
    """Raise an `InputError` about `parameter` where what is inside cannot write to `path`, for the system's reason."""
    try:
        yield
    except OSError as problem:
        must, reason = f"be a {kind} that can be written", f"The system says: {problem.strerror or problem}."
        raise input_error(
            function, parameter, must, got=path and str(path), remedy=f"{reason} {remedy}".rstrip()
        ) from problem


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write a text file whole or not at all, with line ends as they are."""
    with replacing(path) as partial, partial.open("w", encoding=encoding, newline="") as stream:
        stream.write(text)


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """Return strict JSON: what is undefined is ``null``, and what JSON does not know is text."""
    return json.dumps(to_strict_json(value), indent=indent, ensure_ascii=False, allow_nan=False, default=str)


def write_json(path: str | Path, value: Any, *, indent: int | None = 2) -> None:
    """Write a value as strict JSON (see `to_json`), whole or not at all."""
    write_text(path, to_json(value, indent=indent) + "\n")


def read_record(function: str, parameter: str, file: Path, *, remedy: str = "") -> dict[str, Any]:
    """Return the JSON object that a file of the folder `parameter` holds; an `InputError` where it holds none."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict):
        raise input_error(function, parameter, f"hold a readable {file.name}", got=str(file.parent), remedy=remedy)
    return record


def to_strict_json(value: Any) -> Any:
    """Return `value` with nan and infinities replaced by None, which strict JSON writes as ``null``.

    >>> to_strict_json({"vap": float("nan"), "confidence_interval": {"vap": [0.1, float("nan")]}})
    {'vap': None, 'confidence_interval': {'vap': [0.1, None]}}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: to_strict_json(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_strict_json(inner) for inner in value]
    return value
