"""A bucket set as a dataset repository: Parquet for each config and split, and the card that finds them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.errors import InputError, input_error, renamed
from paraconsist.reporting.formatting import plural
from paraconsist.reporting.hub.client import NEW, Card, HubFile, Push, Remote, card_text, check_earlier, read_card
from paraconsist.reporting.table import Line, as_markdown

if TYPE_CHECKING:
    import pyarrow as pa
    from huggingface_hub import RepoCard

    from paraconsist.data.bucket_sets import BucketSet

_TAG = "paraconsist"
_OWN = "own-bucket-set"  # of cards of the user's own files
_OWN_FILE = "data/test.parquet"
_BENCHMARK = "eval.yaml"  # where the Hub finds a benchmark's tasks, which the entries of `.eval_results` name
#: What cards and the Hub write where no licence was stated.
_NO_LICENCE = frozenset({"", "none", "other", "unknown"})


def check_rights(name: str | None, reason: str | None) -> None:
    """Refuse to publish a set whose card states no licence (``license`` in its metadata), unless a reason is given.

    The card's heading *Licence* has what is known about the licence. `name` is None for the user's own rows.
    """
    if reason is not None and not reason.strip():
        raise input_error("push", "i_have_the_rights", "say why you may publish the set", got=reason)
    if name is None:
        return
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


def own_dataset(
    path: Path, repo_id: str, folder: Path, *, task: str | None = None, reason: str | None = None, remote: Remote = NEW
) -> Push:
    """Return the push of a file of the user's own rows, such as questions in free text.

    Its Parquet file goes to `folder`, to be kept until it is sent. Columns that `paraconsist.run` would not keep stay
    here. `task` is as for `load_bucket_set`; a `reason` to publish the rows is recorded in the commit. What the
    repository's card says of licence and languages is kept.
    """
    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.data.writing import write_table

    check_earlier(remote, repo_id, _OWN, "a file of rows")
    try:
        with renamed(dataset="name", path="name"):
            rows = load_bucket_set(str(path), task=task)
    except InputError as problem:
        problem.function = "push"
        raise
    table = _shown(rows)
    write_table(table, folder / "test.parquet")
    data = {
        "pretty_name": rows.file_name,
        **{key: remote.card[key] for key in ("license", "language") if key in remote.card},
        "tags": [_TAG, _OWN, "bucket-set"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": _OWN_FILE}]}],
    }
    stays = [name for name in (*rows.left_out, *rows.strata) if name not in table.column_names]
    message = f"Push the bucket set {rows.file_name} with paraconsist"
    return Push(
        repo_id=repo_id,
        repo_type="dataset",
        files=(
            HubFile("README.md", card_text(data, _own_card(rows, table, repo_id, task)).encode()),
            HubFile(_OWN_FILE, folder / "test.parquet"),
        ),
        message=message if reason is None else f"{message}; rights: {' '.join(reason.split())}",
        notes=(
            *([f"Columns that stay here, empty or read by no measure: {', '.join(stays)}."] if stays else []),
            *([] if "license" in data else ["The card states no licence; one that is added on the Hub is kept."]),
        ),
        how_to_use=f'load_dataset("{repo_id}", split="test")',
    )


def _shown(rows: BucketSet) -> pa.Table:
    """Return the rows of a file as they are published: `expected` for questions, and no empty or nested columns."""
    import pyarrow as pa

    from paraconsist.data.predictions import KEY_COLUMNS
    from paraconsist.data.tasks import QUESTIONS
    from paraconsist.data.writing import bucket_set_schema

    table = rows.table.drop_columns(["input_id", *rows.left_out])
    if rows.task is not QUESTIONS:
        nested = {field.name for field in table.schema if pa.types.is_nested(field.type)}
        simple = [name for name in table.column_names if name in KEY_COLUMNS or name not in nested]
        return table.select(simple).cast(bucket_set_schema(simple, rows.label_names))
    table = table.rename_columns(["expected" if name == "label" else name for name in table.column_names])
    return table.select([name for name in table.column_names if any(table[name].to_pylist())])


def _own_card(rows: BucketSet, table: pa.Table, repo_id: str, task: str | None) -> str:
    """Return the text of the card: task, counts, when two answers are the same, and how to load and run the set."""
    from paraconsist.data.sharing import public_comparer
    from paraconsist.data.tasks import QUESTIONS

    sizes = sorted(table["bucket_id"].value_counts().field("counts").to_pylist())
    each = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    facts = {"task": f"`{rows.task.name}`: {rows.task.description}", "problems": f"{len(sizes):,}"}
    facts["wordings"] = f"{table.num_rows:,} ({each} a problem)"
    if rows.task is QUESTIONS:
        accepted = table["expected"].to_pylist() if "expected" in table.column_names else []
        same = {"same": _suggested(table, accepted), **rows.comparers}
        compared = " ".join(f"--{key} {shlex.quote(public_comparer(value))}" for key, value in same.items())
        facts["with accepted answers"] = plural(sum(map(bool, accepted)), "wording")
        facts["answers compared by"] = f"`{compared}`".replace("|", "\\|")
        model, score = "--endpoint http://localhost:8000/v1 --model NAME", f"runs/a {compared}"
    else:
        facts["labels"] = as_markdown([Line(", ".join(rows.label_names))])
        model, score = "--model MODEL", "runs/a"
    of_task = "" if task is None else f" --task {task}"
    lines = [f"| {fact} | {value} |" for fact, value in facts.items()]
    name = as_markdown([Line(rows.file_name)])
    named = {"name": name, "facts": "\n".join(lines), "repo_id": repo_id, "of_task": of_task}
    card = files("paraconsist.reporting.hub").joinpath("set_card.md").read_text(encoding="utf-8")
    return card.format(**named, model=model, score=score)


def _suggested(table: pa.Table, accepted: Sequence[Sequence[str] | None]) -> str:
    """Return a comparer that fits the choices or the accepted answers of questions."""
    if "choices" in table.column_names and all(table["choices"].to_pylist()):
        return "choice"
    with suppress(ValueError):
        if [float(answer.replace(",", "")) for answers in accepted for answer in answers or ()]:
            return "number"
    return "tokens"


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
