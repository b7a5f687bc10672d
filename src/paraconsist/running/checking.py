"""Checks of a folder that a command wrote: every file exists, is readable, and is unchanged since it was written."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from paraconsist.data.foreign import archive_entries
from paraconsist.data.store import JOURNAL, lines_of, opened
from paraconsist.errors import first_line, input_error
from paraconsist.files import LOCK, PARTIAL, Json, changed, is_locked, json_in, leftovers


@dataclass(frozen=True)
class CheckedFile:
    """A file of a folder, its content, and its problem (empty if there is none)."""

    name: str
    content: str = ""
    problem: str = ""


def check_folder(folder: Path) -> list[CheckedFile]:
    """Check every file of a folder of `run`, `train`, `build` or a study, of a model or of a bucket set.

    Lines of stores and journals must match their checksums, Parquet files those of their pages, and files listed by a
    record such as ``run.json`` or a card their size, SHA-256 and number of rows. InputError if `folder` is no folder.
    """
    if not folder.is_dir():
        raise input_error("check", "folder", "be a folder", got=str(folder))
    recorded = {file: entry for path in folder.rglob("*.json") for file, entry in _recorded(path, folder).items()}
    wrong = {folder / name: problem for name, problem in changed(folder, recorded).items()}
    absent = [path for path in wrong if not path.exists()]
    left = leftovers(folder, all_hosts=True)
    checked = []
    for path in sorted({*(path for path in folder.rglob("*") if path.is_file()), *absent}):
        name, parents = path.relative_to(folder).as_posix(), [path, *path.parents]
        if any(part.name.endswith(PARTIAL) for part in parents):
            is_left = any(part in left for part in parents)
            problem = "left by a killed process: the next command that writes here removes it" if is_left else ""
            checked.append(CheckedFile(name, "being written", problem))
        elif path.name.startswith(LOCK):
            problem = "a command is writing into this folder: check it again afterwards" if is_locked(path) else ""
            checked.append(CheckedFile(name, "lock", problem))
        elif path in wrong:
            checked.append(CheckedFile(name, problem=wrong[path]))
        else:
            checked.append(_checked(path, name, recorded.get(name, {})))
    return checked


_NO_NUMBER = "its record holds no number of rows"


def _checked(path: Path, name: str, recorded: Json) -> CheckedFile:
    read = next((read for ending, read in _READERS.items() if path.name.endswith(ending)), None)
    if path.name == JOURNAL or path.match("store/*/rank-*.jsonl"):
        read = _lines
    try:
        content = read(path) if read is not None else "unchanged since it was written" if recorded else "not checked"
    except Exception as problem:  # damaged files cause errors of any kind in their libraries
        return CheckedFile(name, problem=f"cannot be read: {first_line(problem)}")
    if (rows := recorded.get("rows")) is not None and (not isinstance(rows, int) or content != _rows(rows)):
        return CheckedFile(name, problem=f"{content} in place of {rows:,}" if isinstance(rows, int) else _NO_NUMBER)
    record = _record(path)
    is_running = record.get("status") == "running" or (path.name == "run.json" and "ended" not in record)
    return CheckedFile(name, content, "not finished: the same command goes on from there" if is_running else "")


def _record(path: Path) -> Json:
    try:
        record = json_in(path) if path.suffix == ".json" else {}
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _recorded(path: Path, folder: Path) -> dict[str, Json]:
    """Return the entries of a record about files, by their paths in `folder`."""
    files = _record(path).get("files")
    inside = path.parent.relative_to(folder)
    return {
        (inside / name).as_posix(): entry
        for name, entry in (files.items() if isinstance(files, dict) else ())
        if isinstance(entry, dict) and {"bytes", "sha256"} <= entry.keys() and not {"..", "/"} & {*Path(name).parts}
    }


def _rows(n: int, what: str = "rows") -> str:
    return f"{n:,} {what}"


def _json(path: Path) -> str:
    json_in(path)
    return "JSON"


def _json_lines(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        return _rows(len([json.loads(line) for line in stream]), "lines")


def _lines(path: Path) -> str:
    n, rest = 0, ""
    try:
        for line in chain.from_iterable(lines_of(path)):
            if line.endswith(b"\n"):
                opened(line)
                n += 1
            else:
                rest = " and one that a kill cut short, which the next run removes"
    except ValueError as problem:
        raise ValueError(f"line {n + 1} is damaged ({first_line(problem)}); delete it") from None
    return _rows(n, "lines") + rest


def _parquet(path: Path) -> str:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return _rows(sum(len(batch) for batch in file.iter_batches()))


def _arrow(path: Path) -> str:
    import pyarrow as pa

    with pa.memory_map(str(path)) as stream:
        return _rows(sum(len(batch) for batch in pa.ipc.open_stream(stream)))


def _card(path: Path) -> str:
    """Check that the files of a card's configs exist."""
    from huggingface_hub import DatasetCard

    text = path.read_text(encoding="utf-8")
    configs = DatasetCard(text).data.get("configs") or [] if text.startswith("---\n") else []
    names = [file["path"] for config in configs for file in config.get("data_files", [])]
    absent = [name for name in names if not any(path.parent.glob(name))]
    if absent:
        raise ValueError(f"it names {absent[0]}, which does not exist")
    return f"a card of {_rows(len(names), 'files')}"


def _zip(path: Path) -> str:
    with zipfile.ZipFile(path) as file:
        entries = archive_entries(file)
        damaged = file.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} in it is damaged")
        return _rows(len(entries), "parts")


def _tensors(path: Path) -> str:
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size)) if size < path.stat().st_size else {}
    header.pop("__metadata__", None)
    end = max((tensor["data_offsets"][1] for tensor in header.values()), default=-1)
    if path.stat().st_size != 8 + size + end:
        raise ValueError("it is cut short")
    return _rows(len(header), "tensors")


_READERS: Mapping[str, Callable[[Path], str]] = {
    "README.md": _card,
    ".json": _json,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".npz": _zip,
    ".safetensors": _tensors,
}
