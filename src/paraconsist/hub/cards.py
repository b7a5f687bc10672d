"""A card's metadata: read, checked, put before its text again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from paraconsist.errors import input_error

_FENCE = "---\n"


def read_card(command: str, path: Path) -> tuple[dict[str, Any], str]:
    """Return a card's metadata and the text after it.

    Raises
    ------
    InputError
        If there is no such file, or it does not begin with a YAML mapping between ``---`` lines.
    """
    try:
        content = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise input_error(command, "README.md", "be a text file that can be read", got=str(path)) from error
    head, fence, text = content.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    try:
        said = yaml.safe_load(head) if fence and content.startswith(_FENCE) else None
    except yaml.YAMLError as error:
        remedy = " ".join(str(error).split())
        raise input_error(command, "README.md", "begin with valid YAML", got=str(path), remedy=remedy) from error
    if not isinstance(said, dict):
        raise input_error(
            command,
            "README.md",
            "begin with metadata: a YAML mapping between two lines of ---",
            got=str(path),
        )
    return said, text


def with_metadata(data: Mapping[str, Any], text: str) -> str:
    """Return a card: the metadata as YAML in the given order, then the text."""
    head = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
    return f"{_FENCE}{head}{_FENCE}{text}"


def section(text: str, title: str) -> str:
    """Return what stands under a heading of any level, up to the next one; empty if there is no such heading."""
    lines = text.splitlines()
    start = next(
        (i for i, line in enumerate(lines) if line.lstrip("#").strip() == title and line.startswith("#")), None
    )
    if start is None:
        return ""
    end = next((i for i, line in enumerate(lines[start + 1 :], start + 1) if line.startswith("#")), len(lines))
    return " ".join(" ".join(lines[start + 1 : end]).split())
