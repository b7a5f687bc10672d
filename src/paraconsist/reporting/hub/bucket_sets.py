"""A bucket set as a dataset repository: Parquet for each config and split, and the card that finds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.errors import input_error
from paraconsist.reporting.hub.client import NEW, Card, HubFile, Push, Remote, card_text, read_card

if TYPE_CHECKING:
    from huggingface_hub import RepoCard

_TAG = "paraconsist"
_BENCHMARK = "eval.yaml"  # where the Hub finds a benchmark's tasks, which the entries of `.eval_results` name
#: What cards and the Hub write where no licence was stated.
_NO_LICENCE = frozenset({"", "none", "other", "unknown"})


def check_rights(name: str, reason: str | None) -> None:
    """Refuse to publish a set whose card states no licence (``license`` in its metadata), unless a reason is given.

    The card's heading *Licence* has what is known about the licence.
    """
    if reason is not None and not reason.strip():
        raise input_error("push", "i_have_the_rights", "say why you may publish the set", got=reason)
    card = _card_of(name)
    if reason is None and _licence(card.data.to_dict()) in _NO_LICENCE:
        quoted = section(card.text, "Licence") or "Its card states none."
        must = "be a set with a stated licence, or come with `i_have_the_rights`"
        remedy = f'The card says: "{quoted}" If you may publish the text, give the reason as `i_have_the_rights`: it '
        raise input_error("push", "name", must, got=name, remedy=remedy + "goes into the commit message.")


def bucket_set_dataset(
    name: str,
    repo_id: str,
    folder: Path,
    *,
    configs: Iterable[str] | None = None,
    data_dir: Path | None = None,
    cache_dir: Path | None = None,
    reason: str | None = None,
    remote: Remote = NEW,
) -> Push:
    """Build a set and return its push.

    The Parquet files go to `folder`, which is empty, to be kept until they are sent. All `configs` by default; others
    that the repository has already stay in it and in its card. `data_dir` and `cache_dir` are as for
    `paraconsist.data.building.prepare`. The `reason` to publish a set without a licence is recorded in the commit.
    """
    from huggingface_hub.utils import yaml_dump

    from paraconsist.data.building import config_named, write_folder
    from paraconsist.dataset_builders import builder_class

    check_rights(name, reason)
    builder = builder_class(name)
    known = [config.name for config in builder.BUILDER_CONFIGS]
    wanted = known if configs is None else [config_named(name, config).name for config in dict.fromkeys(configs)]
    target = folder / "set"
    if not remote.is_empty:
        _lay_out(target, remote.card, repo_id, known, set(wanted))
    write_folder(name, target, configs=wanted, data_dir=data_dir, cache_dir=cache_dir)
    licence = _licence(_card_of(name).data.to_dict())
    card = read_card(target / "README.md")
    metadata = card.data.to_dict()
    text = card_text(metadata, card.text.replace(f'load_dataset("{builder.NAME}"', f'load_dataset("{repo_id}"'))
    of_card = [config for name in _configs(metadata) for config in builder.BUILDER_CONFIGS if config.name == name]
    tasks = [{"id": f"{one.name}-{m}", "config": one.name, "split": "test"} for one in of_card for m in one.measures]
    about = {"name": metadata.get("pretty_name", name), "description": "Consistency by paraconsist, shares in [0, 1]."}
    registered = [HubFile(_BENCHMARK, yaml_dump({**about, "tasks": tasks}, sort_keys=False).encode())] if tasks else []
    paths = (path.relative_to(target).as_posix() for path in sorted(target.glob("data/*/*.parquet")))
    note = f"Licence as its card states it: {licence}." if licence not in _NO_LICENCE else "Its card states no licence."
    if reason is not None:
        note += f"\n\nThe person who pushed it says that they may publish it: {reason.strip()}"
    message = f"Push the bucket set {name} with paraconsist"
    config = next((c for c in _configs(metadata) if c in wanted), wanted[0])
    return Push(
        repo_id=repo_id,
        repo_type="dataset",
        files=(HubFile("README.md", text.encode()), *registered, *(HubFile(path, target / path) for path in paths)),
        message=message if reason is None else f"{message}; rights: {' '.join(reason.split())}",
        description=f"Configs: {', '.join(wanted)}.\n\n{note}",
        may_delete=lambda path: _is_ours(path, known, set(wanted)),
        notes=(f"{_BENCHMARK} has a task for each set and measure; the Hub lists benchmarks that it was asked to.",),
        how_to_use=f'load_dataset("{repo_id}", "{config}")',
    )


def section(text: str, title: str) -> str:
    """Return the text under a heading of any level, up to the next one; empty if there is no such heading."""
    # what is before, then heading, text, heading, ...
    _, *parts = re.split(r"^#+ *(.*?) *#*$", text, flags=re.MULTILINE)
    inner = dict(zip(parts[::2], parts[1::2], strict=True)).get(title, "")
    return " ".join(inner.split())


def _card_of(name: str) -> RepoCard:
    from paraconsist.dataset_builders import builder_class

    return read_card(builder_class(name).source_folder() / "README.md")


def _licence(metadata: Card) -> str:
    licence = metadata.get("license") or ""
    return ", ".join(map(str, licence)) if isinstance(licence, list) else str(licence).strip().lower()


def _configs(metadata: Card) -> list[str]:
    """Return the configs of a card, the default one first."""
    entries = [entry for entry in metadata.get("configs") or [] if isinstance(entry, Mapping)]
    entries.sort(key=lambda entry: not entry.get("default"))
    return [str(entry.get("config_name")) for entry in entries]


def _lay_out(target: Path, remote_card: Card, repo_id: str, known: list[str], wanted: set[str]) -> None:
    """Make `target` look like what the repository has, so that configs that are not pushed now stay in the card."""
    there = set(_configs(remote_card))
    if _TAG not in (remote_card.get("tags") or []) or not there & set(known):
        remedy = "Its card belongs to another set. Choose another name; nothing was sent."
        raise input_error("push", "repo", "be new, or hold an earlier push of the same set", got=repo_id, remedy=remedy)
    for config in there & set(known) - wanted:
        (target / "data" / config).mkdir(parents=True)
    target.mkdir(exist_ok=True)
    (target / "README.md").write_text(card_text(remote_card, ""), encoding="utf-8")


def _is_ours(path: str, known: list[str], wanted: set[str]) -> bool:
    """Whether an earlier push wrote the file and this one replaces its config, or the set no longer has it."""
    match = re.fullmatch(r"data/([^/]+)/[^/]+\.parquet", path)
    return match is not None and (match[1] in wanted or match[1] not in known)
