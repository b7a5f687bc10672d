"""What a push would send: the files of one repository, held against what the repository has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

RepoType = Literal["dataset", "space"]
State = Literal["new", "changed", "same", "gone"]
_BLOCK = 1 << 20


@dataclass(frozen=True)
class HubFile:
    """A file to send: its path in the repository, and its bytes or where they are on this machine."""

    path: str
    content: bytes | Path

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def matches(self, remote: RemoteFile) -> bool:
        """Whether the repository has the same bytes: by sha256 for large files, by git's blob hash for others."""
        if self.size != remote.size:
            return False
        if remote.sha256 is not None:
            return self._digest(hashlib.sha256()) == remote.sha256
        return self._digest(hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)) == remote.blob_id

    def _digest(self, digest: hashlib._Hash) -> str:
        if isinstance(self.content, bytes):
            digest.update(self.content)
            return digest.hexdigest()
        with self.content.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()


@dataclass(frozen=True)
class RemoteFile:
    """A file that the repository has. `sha256` is known of files in large-file storage."""

    size: int
    blob_id: str
    sha256: str | None = None


@dataclass(frozen=True)
class Push:
    """What one repository is to hold afterwards.

    Attributes
    ----------
    command : str
        The command that errors are about, such as ``push metric``.
    repo_id : str
        ``namespace/name``.
    repo_type : {"dataset", "space"}
        A metric is a Space, all else is a dataset repository.
    files : tuple of HubFile
        Every file that this command writes there.
    message, description : str
        Of the commit.
    may_delete : callable
        Path -> whether an earlier push wrote it, so that it goes when `files` no longer has it.
    notes : tuple of str
        Sentences for the person.
    how_to_use : str
        The line of Python that loads what was pushed.
    """

    command: str
    repo_id: str
    repo_type: RepoType
    files: tuple[HubFile, ...]
    message: str
    description: str = ""
    may_delete: Callable[[str], bool] = lambda path: False
    notes: tuple[str, ...] = ()
    how_to_use: str = ""


@dataclass(frozen=True)
class Change:
    """What a push does to one file."""

    path: str
    state: State
    size: int


def changes(push: Push, remote: Mapping[str, RemoteFile]) -> list[Change]:
    """Return what the push does, file by file, in order of path.

    Parameters
    ----------
    push : Push
        What the repository is to hold.
    remote : mapping
        Path -> file that it holds now; empty for a repository that does not exist.
    """
    found = [Change(file.path, _state(file, remote.get(file.path)), file.size) for file in push.files]
    sent = {file.path for file in push.files}
    found += [
        Change(path, "gone", file.size) for path, file in remote.items() if path not in sent and push.may_delete(path)
    ]
    return sorted(found, key=lambda change: change.path)


def _state(file: HubFile, remote: RemoteFile | None) -> State:
    if remote is None:
        return "new"
    return "same" if file.matches(remote) else "changed"


def hub_files(folder: Path, names: Iterable[str]) -> tuple[HubFile, ...]:
    """Return files below `folder` under their relative paths."""
    return tuple(HubFile(name, folder / name) for name in names)
