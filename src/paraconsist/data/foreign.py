"""Foreign YAML and archives, which can expand from a few bytes to any size: checked before they are unpacked."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from paraconsist.data.door import valid_text
from paraconsist.errors import input_error

MAX_YAML = 1_000_000  # bytes
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
