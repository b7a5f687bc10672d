"""What a command that was killed, or lost its power, leaves in a folder: whether it is whole, the same, on the disk."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Tree = dict[str, bytes]  # name -> content
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d(\.\d+)?(Z|\+00:00)?")
#: Facts that no two runs share.
VOLATILE = frozenset(
    {"started", "ended", "seconds", "created", "time", "date", "loop", "last", "n_computed", "inputs_per_second"}
    | {"sha256", "bytes"}  # of files that hold such facts
)
#: Append-only journals, and what a training keeps while it runs: read with care, and so not bound to be whole.
LEFT_OVER = re.compile(r"partial|staging|\.tmp|incomplete|checkpoints/")
WORKING = re.compile(r"(^|/)(store|checkpoints|answers)/|\.lock$|(^|/)\.lock")


def tree(folder: Path) -> Tree:
    """Return every file; of those that differ in a moment in their name, the latest."""
    files = sorted(file for file in folder.rglob("*") if not file.is_dir())
    return {MOMENT.sub("MOMENT", str(file.relative_to(folder))): file.read_bytes() for file in files}


def results_of(files: Tree) -> Tree:
    return {name: content for name, content in files.items() if not WORKING.search(name)}


def parsed(name: str, content: bytes) -> Any:
    """Return what a file says, without what no two runs share; an error where it is not whole."""
    import numpy as np
    import pyarrow.parquet as pq

    kind = Path(name).suffix
    if kind == ".json":
        return without_volatile(json.loads(content))
    if kind == ".parquet":
        table = pq.read_table(io.BytesIO(content))
        metadata = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
        return [table.to_pydict(), {key: _of_text(text) for key, text in metadata.items()}]
    if kind == ".npz":
        with np.load(io.BytesIO(content)) as held:
            return {key: held[key].tolist() for key in held.files}
    if kind == ".safetensors":
        from safetensors.numpy import load

        return {key: array.tolist() for key, array in load(content).items()}
    if kind == ".arrow":
        import pyarrow as pa

        return pa.ipc.open_stream(io.BytesIO(content)).read_all().to_pydict()
    if kind == ".jsonl":
        lines = content.decode().splitlines(keepends=True)
        assert all(line.endswith("\n") for line in lines)
        return [without_volatile(json.loads(line)) for line in lines]
    if kind in (".png", ".bin"):
        return content
    text = content.decode("utf-8-sig")
    return re.sub(r"\b[\d.]+ s\b", "SECONDS", MOMENT.sub("MOMENT", text))


def _of_text(text: str) -> Any:
    try:
        return without_volatile(json.loads(text))
    except ValueError:
        return text


def without_volatile(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_volatile(inner) for key, inner in value.items() if key not in VOLATILE}
    return [without_volatile(inner) for inner in value] if isinstance(value, list) else value


def same(a: Any, b: Any) -> bool:
    """Equal, and numbers up to what another order of adding up does."""
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def is_same(name: str, a: bytes, b: bytes) -> bool:
    return a == b or same(parsed(name, a), parsed(name, b))


def half_written(files: Tree, reference: Tree) -> list[str]:
    """Names of the undisturbed folder whose file is neither the undisturbed one nor one that reads whole.

    Text has no form that could be read whole: it must be as the undisturbed one.
    """
    out = []
    for name in sorted(files.keys() & reference.keys()):
        try:
            whole = parsed(name, files[name])
            formed = Path(name).suffix in (".json", ".parquet", ".npz", ".safetensors", ".arrow")
            if not formed and not same(whole, parsed(name, reference[name])):
                out.append(name)
        except Exception:
            out.append(name)
    return out


def different(files: Tree, reference: Tree) -> list[str]:
    """Names that are in one of two folders only, or differ there."""
    common = files.keys() & reference.keys()
    odd = [f"-{name}" for name in sorted(reference.keys() - common)] + [
        f"+{name}" for name in sorted(files.keys() - common)
    ]
    for name in sorted(common):
        try:
            equal = is_same(name, files[name], reference[name])
        except Exception:
            equal = False
        odd += [] if equal else [f"!{name}"]
    return odd


@dataclass
class Node:
    """A file or a folder; of a folder, the entries that it has, and those that were synced."""

    is_folder: bool = False
    content: bytes = b""  # of a file, when it was synced last
    entries: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


def _copied(path: Path) -> Node:
    if path.is_file():
        return Node(content=path.read_bytes())
    entries = {child.name: _copied(child) for child in path.iterdir()}
    return Node(is_folder=True, entries=entries, synced=dict(entries))


class Disk:
    """Plays a log of events again, and says what of it is on the disk.

    A folder's entries are kept when the folder is synced. Making a folder is kept as soon as anything below it is
    synced, as journalling file systems do it. Libraries in Rust rename ``.tmp...`` by calls that the log does not have:
    the name that turns up later in the same folder is taken for that file's.
    """

    def __init__(self, root: Path, snapshots: Path) -> None:
        self.root, self.snapshots, self.top = root, snapshots, Node(is_folder=True)
        self.moved: list[tuple[Node, str, Node, Node | None]] = []

    def hold(self, name: str, folder: Path) -> None:
        """Let the disk have a copy of a folder from the start."""
        self.top.entries[name] = self.top.synced[name] = _copied(folder)

    def _parts(self, path: str) -> tuple[str, ...]:
        return Path(path).relative_to(self.root).parts

    def _folder(self, parts: Sequence[str]) -> Node | None:
        node: Node | None = self.top
        for part in parts:
            node = node.entries.get(part) if node is not None else None
        return node

    def play(self, number: str, call: str, path: str, other: str) -> None:
        source = self._parts(path) if path else ()
        if not source and call != "sync" and not other:
            return
        parent = self._folder(source[:-1])
        if parent is not None and call in ("sync", "remove", "rename") and source and source[-1] not in parent.entries:
            self._rename_unseen(parent, source[-1])
        if call in ("create", "truncate", "folder") and parent is not None:
            parent.entries.setdefault(source[-1], Node(is_folder=call == "folder"))
        elif call in ("rename", "link"):
            node = parent.entries.get(source[-1]) if parent is not None and source else None
            target = self._parts(other) if other else ()
            into = self._folder(target[:-1]) if target else None
            if node is not None and into is not None:
                into.entries[target[-1]] = node
            if node is not None and parent is not None and call == "rename":
                del parent.entries[source[-1]]
                self.moved += [(parent, source[-1], node, into)]
        elif call == "remove" and parent is not None:
            node = parent.entries.get(source[-1])
            if node is not None and not node.entries:
                del parent.entries[source[-1]]
        elif call == "sync" and (node := self._folder(source)) is not None:
            if node.is_folder:
                node.synced = dict(node.entries)
                for parent, name, moved, into in self.moved:  # a move is kept on both sides at once
                    if into is node and parent.synced.get(name) is moved:
                        del parent.synced[name]
            else:
                node.content = (self.snapshots / number).read_bytes()
            above = self.top
            for part in source[:-1] if not node.is_folder else source:
                above.synced[part] = above.entries[part]
                above = above.entries[part]

    def _rename_unseen(self, folder: Node, name: str) -> None:
        unseen = next((entry for entry in folder.entries if re.fullmatch(r"\.tmp\w{6}", entry)), None)
        if unseen is not None and not name.startswith("."):
            folder.entries[name] = folder.entries.pop(unseen)

    def write(self, folder: Path, *, names_kept: bool) -> None:
        """Write what is left into an empty folder."""
        self._write(self.top, folder, names_kept)

    def _write(self, node: Node, folder: Path, names_kept: bool) -> None:
        for name, entry in (node.entries if names_kept else node.synced).items():
            if entry.is_folder:
                (folder / name).mkdir()
                self._write(entry, folder / name, names_kept)
            else:
                (folder / name).write_bytes(entry.content)
