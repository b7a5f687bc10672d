"""Files as their authors published them: pinned, checked by sha256, from the network or a mirror."""

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
        """``owner/name/commit/path``: what follows the host, in the URL and in a mirror alike."""
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
    given = Path(data_dir).expanduser().resolve()
    candidates = [given / "upstream" / "github.com", given / "github.com"]
    if given.name == "github.com":
        candidates.append(given)
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise input_error(
        "build",
        "data_dir",
        "be a folder that mirrors the upstream files",
        got=str(data_dir),
        remedy="It holds github.com/<owner>/<repository>/<commit>/<path> (or upstream/github.com/...). "
        "Leave data_dir out to download instead.",
    )


def locate(files: Mapping[str, UpstreamFile], dl_manager: Any, mirror: Path | None, builder: str) -> dict[str, str]:
    """Return where each file is to be read from: a path, or a URL when the set is streamed.

    Without a mirror, `dl_manager` downloads (or finds the download in its cache).

    Raises
    ------
    InputError
        If a mirror lacks a file, or the network gives none.
    """
    if mirror is not None:
        places = {}
        for key, file in files.items():
            place = mirror / file.relative_path
            if not place.is_file():
                raise input_error(
                    f"build {builder}",
                    "data_dir",
                    f"hold the file {file.relative_path}",
                    got=str(mirror),
                    remedy=f"Save {file.url} there, or leave data_dir out to download it.",
                )
            places[key] = str(place)
        return places
    urls = {key: file.url for key, file in files.items()}
    try:
        downloaded: dict[str, str] = dl_manager.download(urls)
    except (OSError, datasets.exceptions.DatasetsError) as error:
        raise _no_network(builder, files, error) from error
    return downloaded


def read_verified(place: str, file: UpstreamFile, builder: str) -> bytes:
    """Return the file's bytes from a path or URL, after checking that they are the pinned ones.

    A download that fails the check is removed from the cache, so that the next attempt fetches it anew.

    Raises
    ------
    InputError
        If the file cannot be read, or its sha256 is not the pinned one.
    """
    is_url = "://" in place
    try:
        if is_url:
            if datasets.config.HF_HUB_OFFLINE:
                raise OSError("offline mode is on (HF_HUB_OFFLINE)")
            with fsspec.open(place, "rb") as stream:
                data: bytes = stream.read()
        else:
            data = Path(place).read_bytes()
    except (OSError, ImportError) as error:
        if is_url:
            raise _no_network(builder, {"": file}, error) from error
        raise input_error(
            f"build {builder}", "data_dir", "hold readable files", got=place, remedy=f"The system says: {error}."
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found == file.sha256:
        return data
    if Path(place).name == Path(file.path).name:
        remedy = f"Replace the file with the one at {file.url}."
    else:
        if not is_url:
            for leftover in (Path(place), Path(f"{place}.json")):
                leftover.unlink(missing_ok=True)
        remedy = (
            f"Run the command again to fetch {file.url} anew; if it fails again, something between here and "
            "there changes the file: download it elsewhere and give its folder as data_dir."
        )
    raise InputError(
        f"build {builder}: `{file.path}` must have sha256 {file.sha256}; got {found} ({len(data)} bytes, "
        f"read from {place}). {remedy}"
    )


def _no_network(builder: str, files: Mapping[str, UpstreamFile], error: Exception) -> InputError:
    first = next(iter(files.values()))
    root: BaseException = error
    while (earlier := root.__cause__ or root.__context__) is not None:
        root = earlier
    reason = (str(root).replace(first.url, "it").strip() or type(root).__name__).splitlines()[0]
    return input_error(
        f"build {builder}",
        "network",
        f"give {first.url}",
        got=reason,
        remedy="Connect and run again (HF_HUB_OFFLINE must not be set), or give --data-dir a folder that "
        "holds the files as github.com/<owner>/<repository>/<commit>/<path>.",
    )
