"""A metric as a Space: what `evaluate.load("<namespace>/<name>")` reads, and what its visitors see."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from paraconsist.errors import input_error
from paraconsist.registry import metric_kind, metric_script
from paraconsist.reporting.hub.client import Card, HubFile, Push, card_text, read_card

#: The gradio that a Space gets where its card does not say: the one the tests are run with.
SDK_VERSION = "6.31.0"
_OLDEST_SDK = 6
_RELATIVE_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
_KINDS = ("metric", "comparison", "measurement")
_REQUIRED = "# paraconsist with what a page needs (gradio, matplotlib); evaluate and datasets come with it"


def metric_space(name: str, namespace: str, *, package: str | None = None) -> Push:
    """Return the push of a metric's Space ``namespace/name``: its script, its completed card, its page.

    `package` is what pip installs this package from where that is not PyPI: a URL or ``git+https://...``. It goes into
    ``requirements.txt``, and into what evaluate prints where the package is missing.
    """
    if package is not None and (not package or package != "".join(package.split())):
        raise input_error("push", "package", "be one word that pip installs", got=package)
    path = metric_script(name)
    script, card = path.read_text(encoding="utf-8"), read_card(path.parent / "README.md")
    if package is not None:
        script = script.replace("  # From: paraconsist\n", f"  # From: {package}\n")
    kind, here = metric_kind(name), f"{namespace}/{name}"
    text = absolute_links(card.text, f"metrics/{name}", _repository(package))
    text = text.replace(f'evaluate.load("{name}"', f'evaluate.load("{here}"')
    texts = {
        "README.md": card_text(complete_metadata(card.data.to_dict(), name, kind), text),
        path.name: script,
        "app.py": files("paraconsist.reporting.hub").joinpath("space_app.txt").read_text("utf-8").format(name=name),
        "requirements.txt": f"{_REQUIRED}\nparaconsist[space]{'' if package is None else f' @ {package}'}\n",
    }
    return Push(
        repo_id=here,
        repo_type="space",
        files=tuple(HubFile(name, text.encode()) for name, text in texts.items()),
        message=f"Push the {kind} {name} with paraconsist",
        how_to_use=f'evaluate.load("{here}")',
    )


def absolute_links(text: str, folder: str, repository: str | None) -> str:
    """Return a card of a `folder` of this project with links that work elsewhere; without a `repository` their words.

    >>> absolute_links("[a word](../../docs/a.md#b)", "metrics/x", "https://host/org/name/blob/HEAD")
    '[a word](https://host/org/name/blob/HEAD/docs/a.md#b)'
    """

    def link(found: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(folder, found[2]))
        return f"[{found[1]}]({repository}/{place})" if repository else found[1]

    return _RELATIVE_LINK.sub(link, text)


def _repository(package: str | None) -> str | None:
    """Return where the project's files can be read: the repository of `package`, else the one of the project."""
    if package is not None and package.startswith("git+https://"):
        parts = urlsplit(package.removeprefix("git+"))
        path, _, revision = parts.path.partition("@")
        host = parts.netloc.rpartition("@")[2]  # no token goes into a card
        return f"https://{host}{path.removesuffix('.git')}/blob/{revision or 'HEAD'}"
    try:
        urls = dict(url.split(", ", 1) for url in metadata("paraconsist").get_all("Project-URL") or [])
    except PackageNotFoundError:  # a checkout that is not installed
        return None
    return f"{urls['Repository'].rstrip('/')}/blob/HEAD" if "Repository" in urls else None


def check_space(push: Push, remote: Collection[str]) -> None:
    """Refuse to write into a Space of something else: it has files, but not the metric's script."""
    script = f"{push.repo_id.partition('/')[2]}.py"
    if script not in remote and set(remote) - {".gitattributes", "README.md"}:
        remedy = f"It holds no {script}. Rename that Space or choose another namespace; nothing was sent to it."
        must = "have no other Space of the metric's name"
        raise input_error("push", "namespace", must, got=push.repo_id, remedy=remedy)


def complete_metadata(data: Card, name: str, kind: str) -> Card:
    """Return a card's metadata with the title, sdk, its version, app file and tags that a Space of evaluate needs.

    Refuse metadata that contradict the metric, or that its app cannot run with.
    """
    metadata: dict[str, Any] = {"title": name.replace("_", " ").capitalize(), **data}
    for key, value in (("sdk", "gradio"), ("sdk_version", SDK_VERSION), ("app_file", "app.py"), ("tags", [])):
        metadata.setdefault(key, value)
    metadata["sdk_version"] = str(metadata["sdk_version"])
    major, tags = metadata["sdk_version"].partition(".")[0], metadata["tags"]
    wrong = None
    if metadata["sdk"] != "gradio":
        wrong = "sdk", "be gradio"
    elif not major.isdigit() or int(major) < _OLDEST_SDK:
        wrong = "sdk_version", f"be a version of gradio, {_OLDEST_SDK} or newer"
    elif metadata["app_file"] != "app.py":
        wrong = "app_file", "be app.py"
    elif not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        wrong = "tags", "be a list of words"
    elif any(tag in _KINDS and tag != kind for tag in tags):
        wrong = "tags", f"name the kind of module, {kind}"
    if wrong is not None:
        remedy = f"It is in the metadata of metrics/{name}/README.md."
        raise input_error("push", *wrong, got=metadata[wrong[0]], remedy=remedy)
    metadata["tags"] = [*tags, *(tag for tag in ("evaluate", kind) if tag not in tags)]
    return metadata
