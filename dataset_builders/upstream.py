"""Published files, pinned and checked by sha256, from the network or a mirror."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import fsspec

from paraconsist.errors import InputError, input_error

_BASE_URL = "https://raw.githubusercontent.com"
_BY_HAND = "give `data_dir`, a folder that holds the files as github.com/<owner>/<repository>/<commit>/<path>."


@dataclass(frozen=True)
class UpstreamFile:
    """One file of a public repository.

    Parameters
    ----------
    repository
        ``owner/name``.
    commit
        The full commit id.
    path
        The file's path in that commit.
    sha256
        Of the file's bytes, 64 hex digits.
    """

    repository: str
    commit: str
    path: str
    sha256: str

    @property
    def relative_path(self) -> str:
        """The path after the host, ``owner/name/commit/path``, in the URL and in a mirror."""
        return f"{self.repository}/{self.commit}/{self.path}"

    @property
    def url(self) -> str:
        return f"{_BASE_URL}/{self.relative_path}"


def mirror_root(data_dir: str | Path) -> Path:
    """Return the folder of a mirror that holds ``<owner>/<repository>/<commit>/<path>``.

    `data_dir` may be that folder (called ``github.com``), the one around it, or one that holds
    ``upstream/github.com``.

    Raises
    ------
    InputError
        If none of these is a folder.
    """
    root = Path(data_dir).expanduser().resolve()
    candidates = [root / "upstream" / "github.com", root / "github.com", *([root] if root.name == "github.com" else [])]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    remedy = (
        "It holds github.com/<owner>/<repository>/<commit>/<path> (or upstream/github.com/...). Leave `data_dir` out "
        "to download instead."
    )
    raise input_error(
        "build", "data_dir", "be a folder that mirrors the upstream files", got=str(data_dir), remedy=remedy
    )


def locate(files: Mapping[str, UpstreamFile], dl_manager: Any, mirror: Path | None, builder: str) -> dict[str, str]:
    """Return the path of each file, or its URL if the set is streamed.

    Raises
    ------
    InputError
        If a mirror lacks a file, or it cannot be downloaded.
    """
    if mirror is None:
        return download({key: file.url for key, file in files.items()}, dl_manager, builder)
    for file in files.values():
        if not (mirror / file.relative_path).is_file():
            must, remedy = f"hold the file {file.relative_path}", f"Save {file.url} there, or leave `data_dir` out."
            raise input_error(f"build {builder}", "data_dir", must, got=str(mirror), remedy=remedy)
    return {key: str(mirror / file.relative_path) for key, file in files.items()}


def download(urls: Mapping[str, str], dl_manager: Any, builder: str, by_hand: str = _BY_HAND) -> dict[str, str]:
    """Download files into the cache of `dl_manager` and return their paths; streamed sets return the URLs.

    Raises
    ------
    InputError
        If a download fails; `by_hand` is the remedy.
    """
    try:
        places: dict[str, str] = dl_manager.download(dict(urls))
    except (OSError, datasets.exceptions.DatasetsError) as error:
        raise _no_network(builder, next(iter(urls.values())), error, by_hand) from error
    return places


def read_bytes(place: str, builder: str, url: str, by_hand: str = _BY_HAND) -> bytes:
    """Return the bytes at a path or a URL.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    is_url = "://" in place
    try:
        if is_url and datasets.config.HF_HUB_OFFLINE:
            raise OSError("offline mode is on (HF_HUB_OFFLINE)")
        with fsspec.open(place, "rb") if is_url else Path(place).open("rb") as stream:
            data: bytes = stream.read()
    except (OSError, ImportError) as error:
        if is_url:
            raise _no_network(builder, url, error, by_hand) from error
        remedy = f"The system says: {error}."
        raise input_error(f"build {builder}", "data_dir", "hold readable files", got=place, remedy=remedy) from error
    return data


def forget_download(place: str) -> None:
    """Remove a download from the cache, so that the next attempt fetches it again."""
    if "://" not in place:
        for leftover in (Path(place), Path(f"{place}.json")):
            leftover.unlink(missing_ok=True)


def read_verified(place: str, file: UpstreamFile, builder: str) -> bytes:
    """Return the file's bytes from a path or URL, after checking their sha256.

    A download that fails the check is removed from the cache.

    Raises
    ------
    InputError
        If the file cannot be read, or its sha256 is not the pinned one.
    """
    data = read_bytes(place, builder, file.url)
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 == file.sha256:
        return data
    if Path(place).name == Path(file.path).name:  # in a mirror
        remedy = f"Replace the file with the one at {file.url}."
    else:
        forget_download(place)
        remedy = (
            f"Run the command again to fetch {file.url}; if it fails again, a proxy may change the file: download it "
            "elsewhere and give its folder as data_dir."
        )
    got = f"{sha256} ({len(data)} bytes, read from {place})"
    raise InputError(
        f"`{file.path}` must have sha256 {file.sha256}; got {got}.", function=f"build {builder}", remedy=remedy
    )


def _no_network(builder: str, url: str, error: Exception, by_hand: str) -> InputError:
    root: BaseException = error
    while (earlier := root.__cause__ or root.__context__) is not None:
        root = earlier
    reason = (str(root).replace(url, "it").strip() or type(root).__name__).splitlines()[0]
    remedy = f"Connect and run again (HF_HUB_OFFLINE must not be set), or {by_hand}"
    return input_error(f"build {builder}", "network", f"give {url}", got=reason, remedy=remedy)
