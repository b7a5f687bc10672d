"""A metric as a Space: what `evaluate.load("<namespace>/<name>")` reads, and what its visitors see.

A card's metadata: read, checked, put before its text again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from paraconsist.errors import input_error
from paraconsist.registry import metric_kind, metric_script
from paraconsist.reporting.hub.client import HubFile, Push, hub_files

#: The gradio that a Space gets where its card does not say: the one the tests are run with.
SDK_VERSION = "6.31.0"
_OLDEST_SDK = 6
_KINDS = ("metric", "comparison", "measurement")
_COMMAND = "push metric"


def metric_space(name: str, namespace: str, *, package: str | None = None) -> Push:
    """Return what the Space of a metric holds: everything in its folder, with the card's metadata completed.

    Parameters
    ----------
    name : str
        A metric's name.
    namespace : str
        The user or organization; the Space is ``namespace/name``, for evaluate reads ``name.py`` from it.
    package : str, optional
        What pip installs this package from where that is not PyPI: a URL or ``git+https://...``. It goes into
        ``requirements.txt``, and into what evaluate prints where the package is missing.

    Raises
    ------
    InputError
        If there is no such metric, or its card says something that a Space cannot have.
    """
    script = metric_script(name)
    folder = script.parent
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and _belongs(path.relative_to(folder))
    )
    data, text = read_card(_COMMAND, folder / "README.md")
    kind = metric_kind(name)
    card = with_metadata(complete_metadata(data, name, kind, names), _addressed(text, name, namespace))
    others = hub_files(folder, (other for other in names if other != "README.md"))
    if package is not None:
        others = tuple(_installed_from(file, package) for file in others)
    notes = () if "app.py" in names else (f"{name} has no app.py: it loads, but its page shows nothing.",)
    return Push(
        command=_COMMAND,
        repo_id=f"{namespace}/{name}",
        repo_type="space",
        files=(HubFile("README.md", card.encode()), *others),
        message=f"Push the {kind} {name} with paraconsist",
        notes=notes,
        how_to_use=f'evaluate.load("{namespace}/{name}")',
    )


def check_space(push: Push, there: Collection[str]) -> None:
    """Refuse to write into a Space that is another one's: it has files, but not the metric's script.

    Raises
    ------
    InputError
        If it is.
    """
    script = f"{push.repo_id.partition('/')[2]}.py"
    if script not in there and set(there) - {".gitattributes", "README.md"}:
        raise input_error(
            push.command,
            "namespace",
            "have no other Space of the metric's name",
            got=push.repo_id,
            remedy=f"It holds no {script}. Rename that Space or choose another namespace; nothing was sent to it.",
        )


def _belongs(path: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return not hidden and path.suffix != ".pyc"


def _installed_from(file: HubFile, package: str) -> HubFile:
    """Name another source of this package where a file says what to install."""
    if not package or package != "".join(package.split()):
        raise input_error(_COMMAND, "package", "be one word that pip installs", got=package)
    if not isinstance(file.content, Path) or not file.path.endswith((".py", "requirements.txt")):
        return file
    text = file.content.read_text(encoding="utf-8")
    if file.path.endswith(".py"):
        text = text.replace("  # From: paraconsist\n", f"  # From: {package}\n")
    else:
        text = re.sub(r"^paraconsist(\[[a-z,]*\])?$", lambda found: f"{found[0]} @ {package}", text, flags=re.MULTILINE)
    return HubFile(file.path, text.encode())


def _addressed(text: str, name: str, namespace: str) -> str:
    """Let the card's examples load the metric from where it is now."""
    return text.replace(f'evaluate.load("{name}")', f'evaluate.load("{namespace}/{name}")')


def complete_metadata(data: Mapping[str, Any], name: str, kind: str, files: list[str]) -> dict[str, Any]:
    """Return a card's metadata with what a Space of evaluate needs: title, sdk, its version, app file, tags.

    Raises
    ------
    InputError
        If it says something else than the metric is, or than its app can run with.
    """
    said: dict[str, Any] = {"title": name.replace("_", " ").capitalize(), **data}
    said.setdefault("sdk", "gradio")
    said.setdefault("sdk_version", SDK_VERSION)
    if "app.py" in files:
        said.setdefault("app_file", "app.py")
    tags = said.get("tags") or []
    if said["sdk"] != "gradio":
        raise _wrong(name, "sdk", "be gradio", said["sdk"])
    version = str(said["sdk_version"])
    if not version.partition(".")[0].isdigit() or int(version.partition(".")[0]) < _OLDEST_SDK:
        raise _wrong(name, "sdk_version", f"be a version of gradio, {_OLDEST_SDK} or newer", said["sdk_version"])
    app = said.get("app_file")
    if app not in (None, "app.py", *files):
        raise _wrong(name, "app_file", "name a file of the metric's folder", app)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise _wrong(name, "tags", "be a list of words", tags)
    foreign = [tag for tag in tags if tag in _KINDS and tag != kind]
    if foreign:
        raise _wrong(name, "tags", f"name the kind of module, {kind}", foreign[0])
    said["sdk_version"] = version
    said["tags"] = [*tags, *(tag for tag in ("evaluate", kind) if tag not in tags)]
    return said


def _wrong(name: str, key: str, must: str, got: Any) -> Exception:
    return input_error(_COMMAND, key, must, got=got, remedy=f"It stands in the metadata of metrics/{name}/README.md.")


_FENCE = "---\n"


def read_card(command: str, path: Path) -> tuple[dict[str, Any], str]:
    """Return a card's metadata and the text after it.

    Raises
    ------
    InputError
        If there is no such file, or it does not begin with a YAML mapping between ``---`` lines.
    """
    try:
        content = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise input_error(command, "README.md", "be a text file that can be read", got=str(path)) from error
    head, fence, text = content.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    try:
        said = yaml.safe_load(head) if fence and content.startswith(_FENCE) else None
    except yaml.YAMLError as error:
        remedy = " ".join(str(error).split())
        raise input_error(command, "README.md", "begin with valid YAML", got=str(path), remedy=remedy) from error
    if not isinstance(said, dict):
        raise input_error(
            command,
            "README.md",
            "begin with metadata: a YAML mapping between two lines of ---",
            got=str(path),
        )
    return said, text


def with_metadata(data: Mapping[str, Any], text: str) -> str:
    """Return a card: the metadata as YAML in the given order, then the text."""
    head = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
    return f"{_FENCE}{head}{_FENCE}{text}"


def section(text: str, title: str) -> str:
    """Return what stands under a heading of any level, up to the next one; empty if there is no such heading."""
    lines = text.splitlines()
    start = next(
        (i for i, line in enumerate(lines) if line.lstrip("#").strip() == title and line.startswith("#")), None
    )
    if start is None:
        return ""
    end = next((i for i, line in enumerate(lines[start + 1 :], start + 1) if line.startswith("#")), len(lines))
    return " ".join(" ".join(lines[start + 1 : end]).split())
