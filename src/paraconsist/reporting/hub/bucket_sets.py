"""A bucket set as a dataset repository: Parquet for each config and split, and the card that finds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.reporting.hub.client import HubFile, Push, hub_files
from paraconsist.reporting.hub.spaces import read_card, section, with_metadata

_COMMAND = "push dataset"
_TAG = "paraconsist"
#: What cards and the Hub write where no licence was stated.
_NO_LICENCE = frozenset({"", "none", "other", "unknown"})


def check_rights(name: str, reason: str | None) -> None:
    """Refuse to publish a set without a stated licence, unless somebody says why they may.

    The card of the set says which licence it has, in its metadata (``license``), and what is known about it
    under the heading *Licence*.

    Parameters
    ----------
    name : str
        A builder's name.
    reason : str, optional
        Why the person has the right to publish it.

    Raises
    ------
    InputError
        If there is no such set, its card states no licence and there is no reason, or the reason is empty.
    """
    data, text = _card_of(name)
    if reason is not None and not reason.strip():
        raise input_error(_COMMAND, "i_have_the_rights", "say why you may publish the set", got=reason)
    if reason is None and _licence(data) in _NO_LICENCE:
        said = section(text, "Licence") or "Its card states none."
        raise input_error(
            _COMMAND,
            "name",
            "be a set with a stated licence, or come with --i-have-the-rights",
            got=name,
            remedy=f'The card says: "{said}" If you may publish the text, give --i-have-the-rights "REASON": the '
            "reason goes into the commit message.",
        )


def bucket_set_dataset(
    name: str,
    repo_id: str,
    folder: Path,
    *,
    configs: Iterable[str] | None = None,
    data_dir: Path | None = None,
    cache_dir: Path | None = None,
    reason: str | None = None,
    remote_card: Mapping[str, Any] | None = None,
    remote_is_empty: bool = True,
) -> Push:
    """Build a set and return what its repository holds.

    Parameters
    ----------
    name : str
        A builder's name.
    repo_id : str
        ``namespace/name`` of the repository.
    folder : Path
        An empty folder for the Parquet files, to be kept until they are sent.
    configs : iterable of str, optional
        Which configs; all by default. Others that the repository has already stay in it and in its card.
    data_dir, cache_dir : Path, optional
        As for `paraconsist.data.building.prepare`.
    reason : str, optional
        Why the person may publish a set without a stated licence; recorded in the commit.
    remote_card : mapping, optional
        The metadata of the card that the repository has.
    remote_is_empty : bool
        Whether the repository has no files of anybody's.

    Raises
    ------
    InputError
        If the set cannot be built, there is no reason where one is needed, or the repository holds something else.
    """
    from paraconsist.data.building import config_named, write_folder
    from paraconsist.dataset_builders import builder_class

    check_rights(name, reason)
    known = [config.name for config in builder_class(name).BUILDER_CONFIGS]
    wanted = known if configs is None else [config_named(name, config).name for config in dict.fromkeys(configs)]
    target = folder / "set"
    if not remote_is_empty:
        _lay_out(target, remote_card or {}, repo_id, known, set(wanted))
    write_folder(name, target, configs=wanted, data_dir=data_dir, cache_dir=cache_dir)
    licence = _licence(_card_of(name)[0])
    data, text = read_card(_COMMAND, target / "README.md")
    card = with_metadata(data, text.replace(f'load_dataset("{name}"', f'load_dataset("{repo_id}"'))
    paths = (path.relative_to(target).as_posix() for path in sorted(target.glob("data/*/*.parquet")))
    note = f"Licence as its card states it: {licence}." if licence not in _NO_LICENCE else "Its card states no licence."
    if reason is not None:
        note += f"\n\nThe person who pushed it says that they may publish it: {reason.strip()}"
    config = next((c for c in _configs(data) if c in wanted), wanted[0])
    return Push(
        command=_COMMAND,
        repo_id=repo_id,
        repo_type="dataset",
        files=(HubFile("README.md", card.encode()), *hub_files(target, paths)),
        message=_message(name, reason),
        description=f"Configs: {', '.join(wanted)}.\n\n{note}",
        may_delete=lambda path: _is_ours(path, known, set(wanted)),
        how_to_use=f'load_dataset("{repo_id}", "{config}")',
    )


def _card_of(name: str) -> tuple[dict[str, Any], str]:
    from paraconsist.dataset_builders import builder_class

    return read_card(_COMMAND, builder_class(name).source_folder() / "README.md")


def _licence(data: Mapping[str, Any]) -> str:
    said = data.get("license") or ""
    return ", ".join(map(str, said)) if isinstance(said, list) else str(said).strip().lower()


def _configs(card: Mapping[str, Any]) -> list[str]:
    """Return the configs of a card, the default one first."""
    said = [entry for entry in card.get("configs") or [] if isinstance(entry, Mapping)]
    said.sort(key=lambda entry: not entry.get("default"))
    return [str(entry.get("config_name")) for entry in said]


def _lay_out(target: Path, remote_card: Mapping[str, Any], repo_id: str, known: list[str], wanted: set[str]) -> None:
    """Make `target` look like what the repository has, so that configs that are not pushed now stay in the card."""
    there = set(_configs(remote_card))
    if _TAG not in (remote_card.get("tags") or []) or not there & set(known):
        raise input_error(
            _COMMAND,
            "repo",
            "be new, or hold an earlier push of the same set",
            got=repo_id,
            remedy="Its card is another one's. Choose another name; nothing was sent.",
        )
    for config in there & set(known) - wanted:
        (target / "data" / config).mkdir(parents=True)
    target.mkdir(exist_ok=True)
    (target / "README.md").write_text(with_metadata(remote_card, ""), encoding="utf-8")


def _is_ours(path: str, known: list[str], wanted: set[str]) -> bool:
    """Whether an earlier push wrote the file and this one replaces its config, or the set no longer has it."""
    found = re.fullmatch(r"data/([^/]+)/[^/]+\.parquet", path)
    return found is not None and (found[1] in wanted or found[1] not in known)


def _message(name: str, reason: str | None) -> str:
    said = f"Push the bucket set {name} with paraconsist"
    return said if reason is None else f"{said}; rights: {' '.join(reason.split())}"
