"""Foreign YAML and archives, which a few bytes can make any size: checked before they are built or unpacked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from paraconsist.errors import input_error

_MAX_YAML = 1_000_000  # bytes


def parse_yaml(text: str, *, typed: bool = True) -> Any:
    """Return what a YAML text says, or raise ValueError with the reason; not `typed`, every scalar is the text it is.

    Aliases are refused, as a few lines of them stand for gigabytes; so is what is nested too deeply.
    """
    import yaml  # its first import is slow

    class Loader(yaml.SafeLoader if typed else yaml.BaseLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("It has an alias (*name): write the value out.")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, Loader)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise ValueError(" ".join(str(problem).split())) from None


def read_yaml(function: str, parameter: str, path: str | Path, *, typed: bool = True) -> Any:
    """Return what a YAML file of at most a megabyte says, as `parse_yaml`; an `InputError` where it says nothing."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(_MAX_YAML + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        raise input_error(function, parameter, "name a text file that can be read", got=str(path)) from None
    try:
        if len(data) > _MAX_YAML:
            raise ValueError("It is longer than a megabyte.")
        return parse_yaml(text, typed=typed)
    except ValueError as problem:
        raise input_error(function, parameter, "be valid YAML", got=str(path), remedy=str(problem)) from None


def archive_entries(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the entries of an archive by name, checked before any is unpacked; `BadZipFile` where one is not to be.

    That is a name that stands twice or leads elsewhere, more than 4 GiB in all, or what is packed too well to be data.
    """
    entries = {info.filename: info for info in archive.infolist()}
    unpacked, packed = (
        sum(getattr(info, size) for info in entries.values()) for size in ("file_size", "compress_size")
    )
    if len(entries) < len(archive.infolist()):
        raise BadZipFile("it holds a name twice")
    if any(name.startswith(("/", "\\")) or ":" in name or ".." in re.split(r"[/\\]", name) for name in entries):
        raise BadZipFile("it holds a name that leads elsewhere")
    if unpacked > 1 << 32 or (unpacked > 1 << 26 and unpacked > 500 * packed):
        raise BadZipFile(f"it would be {unpacked:,} bytes, from {packed:,}")
    return entries
