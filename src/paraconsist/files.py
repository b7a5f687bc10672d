"""Files that are written atomically and survive a power cut; locks of folders; strict JSON."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import platform
import secrets
import shutil
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict

from paraconsist.errors import InputError, input_error

#: A JSON object of a foreign file or of a record, whose keys and values are not known here.
Json = Mapping[str, Any]
#: The ending of the names of unfinished files. They begin with a dot, so that no reader takes one for its own file.
PARTIAL = ".partial"
#: The file in a folder that a command holds while it writes there.
LOCK = ".paraconsist.lock"
#: Error numbers of a file system without locks or syncing.
MISSING = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL)
_REMEMBERED_BYTES = 1 << 20  # smaller files are read as fast as their entries in the cache
_SETTLED = 2_000_000_000  # nanoseconds after which a further change shows in a file's times
_MOST_NESTED = 50  # objects and lists of a JSON value that is compared
_HELD: dict[str, int] = {}  # folder -> the thread that holds its lock
_CLEANED: set[Path] = set()  # folders that this process has cleared of leftovers


def launched() -> tuple[int, int]:
    """Return this process's number and how many a launcher such as torchrun started; (0, 1) without one."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Return whether this process is the one that reads results and prints."""
    return launched()[0] == 0


class Digest(TypedDict):
    """The size and SHA-256 of a file."""

    bytes: int
    sha256: str


class WriteError(InputError, OSError):
    """A file or folder cannot be written, for the system's reason: a full disk, no permission."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to `path` to write to; it becomes `path` at the end, and is removed after an error.

    At the end the file is synced to the disk, renamed, and its folder synced: after any crash a reader finds the old
    file or the new one, never half of either. If several processes write the same path, the last one wins. Symbolic
    links are kept; pipes and devices are written to directly. Leftovers of killed processes next to `path` are removed.
    WriteError if the system refuses to write.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "results.json"
    >>> with replacing(file) as partial:
    ...     _ = partial.write_text("whole")
    >>> file.read_text(), [path.name for path in file.parent.iterdir()]
    ('whole', ['results.json'])
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path = Path(os.path.realpath(path))
    partial = _beside(path)
    try:
        with _refusals(path, partial):
            yield partial
            sync_one(partial)
            partial.replace(path)
            sync_one(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def staged(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder next to `folder` to fill; at the end it replaces `folder` atomically.

    Its files are synced, the old folder is moved away, the new one renamed, and the old one removed. After a kill
    between the two renames the next call puts the old folder back. If several processes write the same folder, the last
    one wins. Errors and leftovers are treated as by `replacing`.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp()) / "set"
    >>> with staged(folder) as new:
    ...     _ = (new / "rows.csv").write_text("a,b")
    >>> [str(path.relative_to(folder.parent)) for path in sorted(folder.parent.rglob("*"))]
    ['set', 'set/rows.csv']
    """
    folder = Path(os.path.realpath(folder))
    new, old, doomed = _beside(folder), _beside(folder, kind="old"), _beside(folder)
    try:
        with _refusals(folder, folder.parent):
            make_folder(folder.parent)
            new.mkdir()
        with _refusals(folder, new):
            yield new
            sync(new)
            with _lock(
                folder.with_name(_hidden(folder.name, LOCK)), wait=60
            ):  # so that no other process comes between the renames
                if folder.exists():
                    folder.rename(old)
                new.rename(folder)
            sync_one(folder.parent)
            if old.exists():
                old.rename(doomed)  # a half removed folder must never be put back
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(doomed, ignore_errors=True)


@contextmanager
def locked(folder: str | Path, function: str, parameter: str) -> Iterator[None]:
    """Hold the lock of `folder`, which is made if necessary, so that one command at a time writes into it.

    Leftovers of killed commands are removed first (see `leftovers`). A thread may take its lock again. The lock ends
    with its process; on a file system without locks a file that names the host and the process replaces it, until that
    process is gone. InputError about `parameter` if another command holds the lock or the folder cannot be written.
    """
    name, thread = os.path.realpath(folder), threading.get_ident()
    if _HELD.get(name) == thread:
        yield
        return
    with ExitStack() as stack:
        with writing(function, parameter, folder):
            make_folder(Path(name))
            try:
                stack.enter_context(_lock(Path(name) / LOCK))
            except TimeoutError:
                remedy = "Wait for that one to end, or choose another folder."
                if (soft := Path(name) / f"{LOCK}.soft").exists():  # filelock before 4.2 does not look at its process
                    remedy += f" If its process is gone, remove {soft.name} there."
                must = "not be in use by another command"
                raise input_error(function, parameter, must, got=str(folder), remedy=remedy) from None
            _remove(leftovers(name, all_hosts=True))
        _HELD[name] = thread
        stack.callback(_HELD.pop, name)
        yield


def is_locked(file: Path) -> bool:
    """Say whether a process holds the lock file of a folder (see `LOCK`)."""
    if file.name != LOCK:
        return file.exists()  # a file that replaces a lock
    try:
        with _lock(file):
            return False
    except OSError as problem:
        return isinstance(problem, TimeoutError)


def leftovers(folder: str | Path, *, all_hosts: bool = False) -> list[Path]:
    """Return the unfinished files and folders that killed processes left in `folder` and below.

    Those of other hosts are included only with `all_hosts`, which requires the folder's lock, as this host cannot see
    whether their processes are alive.
    """
    return sorted(path for path in Path(folder).rglob(f".*{PARTIAL}") if _is_left(path, all_hosts))


def make_youngest(path: Path, siblings: Iterable[Path]) -> None:
    """Give a file or folder a later date than its siblings, even if theirs is in the future after a clock change.

    Both `datasets` and `evaluate` take the youngest of several versions; the system's own time stamps are too coarse.
    """
    latest = max((sibling.stat().st_mtime_ns for sibling in siblings if sibling != path), default=0)
    stamp = max(time.time_ns(), latest + 1_000_000)
    os.utime(path, ns=(stamp, stamp))


def _beside(path: Path, kind: str = "new") -> Path:
    """Return an unused path next to `path` that names this process; remove leftovers of killed processes there."""
    if path.parent not in _CLEANED and path.parent.is_dir():
        _CLEANED.add(path.parent)
        with suppress(OSError):
            _remove([left for left in path.parent.glob(f".*{PARTIAL}") if _is_left(left)])
    return path.with_name(_hidden(path.name, f".{_host()}-{os.getpid()}-{secrets.token_hex(4)}.{kind}{PARTIAL}"))


def _hidden(name: str, ending: str) -> str:
    """Return a hidden name that contains `name`, or its hash if it is too long for the file system."""
    short = name if len(os.fsencode(name)) <= 180 else hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return f".{short}{ending}"


def _host() -> str:
    """Return eight digits for the machine, or the container, in which process numbers are unique."""
    try:
        space = Path("/proc/self/ns/pid").readlink()
    except OSError:
        space = Path()
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _is_left(path: Path, all_hosts: bool = False) -> bool:
    host, _, rest = path.name.removesuffix(PARTIAL).rpartition(".")[0].rpartition(".")[2].partition("-")
    pid = rest.partition("-")[0]
    if not pid.isdigit():
        return False  # another program's file
    if host != _host():
        return all_hosts
    if os.name == "nt":  # where os.kill would end the process
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _remove(left: list[Path]) -> None:
    """Remove leftovers; put a folder back that was moved away for a new one that never came."""
    for path in filter(Path.exists, left):
        folder = path.with_name(path.name[1:].rsplit(".", 3)[0])
        if path.name.endswith(f".old{PARTIAL}") and not folder.exists():
            path.rename(folder)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and its absent parents, and sync their names to the disk."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in absent:
        sync_one(path.parent)


def rename_folder(folder: Path, name: str) -> Path:
    """Rename a folder, also on the disk; return its new path."""
    place = folder.rename(folder.with_name(name))
    sync_one(place.parent)
    return place


def sync(folder: Path) -> None:
    """Sync a folder and everything below it to the disk."""
    for path in (*folder.rglob("*"), folder):
        sync_one(path)


def sync_one(path: Path) -> None:
    """Sync a file, or a folder's names, to the disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in MISSING:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _lock(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold a lock file, and remove it afterwards; TimeoutError if another process holds it longer than `wait`."""
    from filelock import FileLock, SoftFileLock

    lock: FileLock | SoftFileLock = FileLock(path, timeout=wait)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "flock not supported")
        try:
            lock.acquire()
        except (NotImplementedError, OSError) as problem:
            if isinstance(problem, OSError) and problem.errno not in MISSING:
                raise
            path.unlink(missing_ok=True)
            path = path.with_name(f"{path.name}.soft")
            lock = SoftFileLock(path, timeout=wait)
            lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):
            if path.name.endswith(LOCK):  # a soft lock removes its file itself
                path.unlink(missing_ok=True)
        lock.release()


@contextmanager
def _refusals(path: Path, partial: Path) -> Iterator[None]:
    """Turn the system's errors about writing to `partial` into a `WriteError` about `path`."""
    try:
        yield
    except InputError:
        raise
    except OSError as problem:
        ours = problem.filename is None or os.fsdecode(problem.filename).startswith((str(partial), str(path)))
        if not (ours and problem.errno) and not isinstance(
            problem, TimeoutError
        ):  # an error of reading, or of a network
            raise
        reason = f"The system says: {os.strerror(problem.errno) if problem.errno else problem}."
        error = WriteError(f"{str(path)!r} cannot be written.", remedy=reason)
        error.errno, error.strerror = problem.errno, problem.strerror
        raise error from problem


@contextmanager
def writing(
    function: str, parameter: str, path: str | Path | None, *, kind: str = "folder", remedy: str = ""
) -> Iterator[None]:
    """Turn the system's errors about writing to `path` into an `InputError` about `parameter`."""
    try:
        yield
    except OSError as problem:
        must, reason = f"be a {kind} that can be written", f"The system says: {problem.strerror or problem}."
        raise input_error(
            function, parameter, must, got=... if path is None else str(path), remedy=f"{reason} {remedy}".rstrip()
        ) from problem


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write a text file atomically, without changing its line ends."""
    with replacing(path) as partial, partial.open("w", encoding=encoding, newline="") as stream:
        stream.write(text)


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """Return strict JSON, with ``null`` for undefined numbers and text for values that JSON does not have."""
    return json.dumps(to_strict_json(value), indent=indent, ensure_ascii=False, allow_nan=False, default=str)


def canonical_json(value: Any) -> str:
    """Return one text for equal JSON values: the order of keys does not count, nor does 1.0 for 1.

    ValueError or TypeError for what is no JSON, or nested more than 50 deep.

    >>> canonical_json({"b": [1.0, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """

    plain = with_whole_numbers(value)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def with_whole_numbers(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with 1 in place of 1.0; ValueError if it is nested more than 50 deep."""
    if depth > _MOST_NESTED:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        return {str(key): with_whole_numbers(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [with_whole_numbers(inner, depth + 1) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical_arguments(value: Any, defaults: Mapping[str, Any] = MappingProxyType({})) -> str | None:
    """Return the arguments of a call, JSON as text or not, as canonical JSON; None where they cannot be read.

    Those that are null or absent have their default, or are left out where there is none.
    """
    try:
        read = json.loads(value or "{}") if isinstance(value, str) else {} if value is None else value
        if isinstance(read, Mapping):
            read = {**defaults, **{key: of for key, of in read.items() if of is not None}}
        return canonical_json(read)
    except (ValueError, TypeError, RecursionError):
        return None


def write_json(path: str | Path, value: Any, *, indent: int | None = 2) -> None:
    """Write a value as strict JSON (see `to_json`), atomically."""
    write_text(path, to_json(value, indent=indent) + "\n")


def json_in(file: Path) -> Any:
    """Return the JSON value in a file; ValueError where it is none or is nested too deeply, OSError as the system's."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_record(function: str, parameter: str, file: Path, *, remedy: str = "") -> dict[str, Any]:
    """Return the JSON object in a file of the folder that `parameter` names; InputError if there is none."""
    try:
        record = json_in(file)
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict):
        raise input_error(function, parameter, f"hold a readable {file.name}", got=str(file.parent), remedy=remedy)
    return record


def digests(folder: Path) -> dict[str, Digest]:
    """Return the size and SHA-256 of every file in `folder` and below, by its path relative to it."""
    return {path.relative_to(folder).as_posix(): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def digest(path: Path) -> Digest:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as stream:
        value = hashlib.sha256()
        while block := stream.read(1 << 20):
            value.update(block)
        return {"bytes": stream.tell(), "sha256": value.hexdigest()}


def cache_folder() -> Path:
    """Return this package's cache folder, or the one in PARACONSIST_CACHE; it need not exist."""
    import platformdirs

    return Path(os.environ.get("PARACONSIST_CACHE") or platformdirs.user_cache_path("paraconsist", appauthor=False))


def remembered_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; that of a large file is computed once and kept in the cache folder.

    An entry is valid for the same path, size and times of change. Files younger than two seconds get none: a change
    within the resolution of the times would go unnoticed. One process on a machine reads the file while others wait for
    its entry; if the cache cannot be written, each reads it.
    """
    path, now = Path(os.path.realpath(path)), time.time_ns()
    before = path.stat()
    if before.st_size < _REMEMBERED_BYTES:
        return digest(path)["sha256"]
    file = cache_folder() / "sha256" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    entry = {"path": str(path), "bytes": before.st_size, "mtime_ns": before.st_mtime_ns, "ctime_ns": before.st_ctime_ns}
    is_settled = max(before.st_mtime_ns, before.st_ctime_ns) < now - _SETTLED
    with ExitStack() as stack:
        if is_settled:
            with suppress(OSError):
                make_folder(file.parent)
                stack.enter_context(_lock(file.with_name(f"{file.name}{LOCK}"), wait=600))
            with suppress(OSError, ValueError):
                known = json_in(file)
                if isinstance(known, dict) and known.items() >= entry.items() and len(known.get("sha256", "")) == 64:
                    return str(known["sha256"])
        sha256 = digest(path)["sha256"]
        after = path.stat()
        if is_settled and (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns):
            with suppress(OSError):
                write_json(file, {**entry, "sha256": sha256})
    return sha256


def changed(folder: Path, record: Mapping[str, Json]) -> dict[str, str]:
    """Return how files of `folder` differ from their record (see `digests`), by path."""
    differences: dict[str, str] = {}
    for name, recorded in record.items():
        path = folder / name
        if not path.is_file():
            differences[name] = "not there"
        elif path.stat().st_size != recorded["bytes"]:
            differences[name] = f"{path.stat().st_size} bytes in place of {recorded['bytes']}"
        elif digest(path)["sha256"] != recorded["sha256"]:
            differences[name] = "not as it was written"
    return differences


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
