"""Pushes to repositories on the Hub: the files that are new or changed, in one commit."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from paraconsist.errors import InputError, first_line, input_error

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo, RepoCard, RepoFile

RepoType = Literal["dataset", "space", "model"]
State = Literal["new", "changed", "same", "gone"]
#: The metadata of a README.md.
Card: TypeAlias = Mapping[str, Any]

_TYPES = {"dataset": "a dataset", "space": "a Space", "model": "a model"}
_LOG_IN = "Make a token with write access at {endpoint}/settings/tokens and run `hf auth login`, or set HF_TOKEN."
_WHOLE = "What arrives, arrives whole or not at all; run the same command again"
_NO_WRITING = ("namespace", "be one that you may write to", "The token needs write access to it.")
_MEANWHILE = "Somebody else wrote to it meanwhile; run the command again to see what it has now."
_CHANGED_MEANWHILE = ("repo", "stay as it is during a push", _MEANWHILE)
#: Status of the Hub's refusal -> what is wrong, what it must be, and what to do.
_REFUSALS = {
    401: ("token", "be one that the Hub accepts for writing", _LOG_IN),
    402: ("namespace", "be allowed to have this repository", "Choose another namespace, or see {endpoint}/pricing."),
    403: _NO_WRITING,
    404: _NO_WRITING,
    409: _CHANGED_MEANWHILE,
    412: _CHANGED_MEANWHILE,
    429: ("repo", "be pushed to less often", f"{_WHOLE} after a while."),
}
_REFUSED = ("repo", "be something that the Hub takes", "")
_BROKEN = ("network", "reach a Hub that works", f"{_WHOLE}.")


@dataclass(frozen=True)
class HubFile:
    """A file to send: its path in the repository, and its bytes or where they are on this machine."""

    path: str
    content: bytes | Path

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def matches(self, remote: RepoFile) -> bool:
        """Whether the repository has the same bytes: by sha256 for large files, by git's blob hash for others."""
        from huggingface_hub.utils.sha import git_hash, sha_fileobj

        if self.size != remote.size:
            return False
        with io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb") as stream:
            if remote.lfs is not None:
                return bool(sha_fileobj(stream).hex() == remote.lfs.sha256)
            return bool(git_hash(stream.read()) == remote.blob_id)


@dataclass(frozen=True)
class Push:
    """The content of one repository after a push: a metric is a Space, everything else is a dataset repository."""

    repo_id: str  # ``namespace/name``
    repo_type: RepoType
    files: tuple[HubFile, ...]  # every file that this command writes there
    message: str  # of the commit, as the description
    description: str = ""
    may_delete: Callable[[str], bool] = lambda path: False  # an earlier push wrote it: goes if not in `files`
    notes: tuple[str, ...] = ()  # sentences for the person
    how_to_use: str = ""  # the line of Python that loads what was pushed


@dataclass(frozen=True)
class Remote:
    """A repository as it is on the Hub."""

    exists: bool = False  # False if it is yet to be made
    is_known: bool = True  # False in a dry run without a network: nobody could look
    sha: str | None = None  # the last commit
    private: bool = True
    files: Mapping[str, RepoFile] = field(default_factory=dict)  # path -> file
    card: Card = field(default_factory=dict)  # the metadata of its README.md

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing but what the Hub puts into every new repository."""
        return set(self.files) <= {".gitattributes"}


#: A repository that is yet to be made.
NEW = Remote()


@dataclass(frozen=True)
class Change:
    """The effect of a push on one file."""

    path: str
    state: State
    size: int


def changes(push: Push, remote: Mapping[str, RepoFile]) -> list[Change]:
    """Return the effects of a push on a repository's files (path -> file), in order of path."""
    files = {file.path: file for file in push.files}
    listed = [Change(path, "new", file.size) for path, file in files.items() if path not in remote]
    for path, there in remote.items():
        if path in files:
            listed.append(Change(path, "same" if files[path].matches(there) else "changed", files[path].size))
        elif push.may_delete(path):
            listed.append(Change(path, "gone", there.size))
    return sorted(listed, key=lambda change: change.path)


def look(repo_id: str, repo_type: RepoType, *, parameter: str = "repo", dry_run: bool = False) -> Remote:
    """Return the Hub's repository of a name, which errors call `parameter`; refuse a repository of another type.

    A `dry_run` goes on without a token and without a network.
    """
    from huggingface_hub import HfApi, RepoFile, constants, get_token
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, RepositoryNotFoundError

    check_repo_id(parameter, repo_id)
    if dry_run and constants.is_offline_mode():
        return Remote(is_known=False)
    if not dry_run and get_token() is None:
        remedy = f"{_LOG_IN.format(endpoint=constants.ENDPOINT)} In a dry run none is needed."
        raise input_error("push", "token", "be there to write to the Hub", remedy=remedy)
    api = HfApi()
    with hub_errors(repo_id):
        try:
            info: Any = api.repo_info(repo_id, repo_type=repo_type)
        except RepositoryNotFoundError:
            # the Hub allows one name for repositories of several types, but it is rarely what was meant
            for other, name in _TYPES.items():
                if other != repo_type and api.repo_exists(repo_id, repo_type=other):
                    must = f"be new, or name {_TYPES[repo_type]}"
                    remedy = f"There is {name} of this name. Choose another name."
                    raise input_error("push", parameter, must, got=repo_id, remedy=remedy) from None
            return NEW
        except (HTTPError, OSError) as error:
            if dry_run and not isinstance(_root(error), HfHubHTTPError):
                return Remote(is_known=False)
            raise
        tree: list[Any] = list(api.list_repo_tree(repo_id, repo_type=repo_type, revision=info.sha, recursive=True))
    files = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
    card = info.card_data.to_dict() if info.card_data is not None else {}
    return Remote(True, True, info.sha, bool(info.private), files, card)


def send(push: Push, remote: Remote, changes: Sequence[Change], *, public: bool = False) -> CommitInfo:
    """Make the repository hold the push: one commit with what is new, changed and gone (`changes`), on top of `remote`.

    A connection that is cut leaves the old version whole, because a commit is one request; large files that
    were uploaded before it are not sent again. The Hub refuses a commit on top of anything but what `look` found.
    A repository that exists stays as `public` as it is.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.utils import disable_progress_bars

    todo = {change.path: change.state for change in changes if change.state != "same"}
    disable_progress_bars()
    api = HfApi()
    with hub_errors(push.repo_id):
        sha = remote.sha
        if not remote.exists:
            sdk = "gradio" if push.repo_type == "space" else None
            api.create_repo(push.repo_id, repo_type=push.repo_type, private=not public, space_sdk=sdk, exist_ok=True)
            sha = api.repo_info(push.repo_id, repo_type=push.repo_type).sha
        wanted = (file for file in push.files if file.path in todo)
        operations: list[Any] = [CommitOperationAdd(path_in_repo=f.path, path_or_fileobj=f.content) for f in wanted]
        operations += [CommitOperationDelete(path_in_repo=path) for path, state in todo.items() if state == "gone"]
        return api.create_commit(
            push.repo_id,
            operations=operations,
            commit_message=push.message,
            commit_description=push.description,
            repo_type=push.repo_type,
            parent_commit=sha,
        )


def read_card(path: Path) -> RepoCard:
    """Return a card: its metadata (`data`), a YAML mapping between ``---`` lines, and the text after it."""
    import yaml
    from huggingface_hub import RepoCard

    try:
        card = RepoCard(path.read_text(encoding="utf-8"))
        problem = "" if card.data.to_dict() else "There is none."
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
    if problem:
        must = "be a text file that begins with metadata: a YAML mapping between two lines of ---"
        raise input_error("push", "README.md", must, got=str(path), remedy=problem)
    return card


def card_text(metadata: Card, text: str) -> str:
    """Return a card: the metadata as YAML in the given order, then the text."""
    from huggingface_hub import CardData

    return f"---\n{CardData(**metadata).to_yaml()}\n---\n{text}"


def check_repo_id(parameter: str, repo_id: str) -> None:
    """Refuse names that are not ``namespace/name`` of a possible repository."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo_id)
        is_whole = repo_id.count("/") == 1
    except HFValidationError:
        is_whole = False
    if not is_whole:
        remedy = "The namespace is your user name or an organization's; letters, digits, '-', '_' and '.' only."
        raise input_error("push", parameter, "give a repository as NAMESPACE/NAME", got=repo_id, remedy=remedy)


def check_earlier(remote: Remote, repo_id: str, tag: str, what: str) -> None:
    """Refuse a repository that holds other things than an earlier push of `what`, whose card has the tag."""
    if not remote.is_empty and tag not in (remote.card.get("tags") or []):
        must, remedy = f"be new, or hold an earlier push of {what}", "Choose another name; nothing was sent."
        raise input_error("push", "repo", must, got=repo_id, remedy=remedy)


@contextmanager
def hub_errors(repo_id: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into an `InputError`; a commit is one request, so nothing is half done."""
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled

    try:
        yield
    except InputError:
        raise
    except OfflineModeIsEnabled:
        remedy = "It is set. Unset it and run again; a dry run shows what would be sent without it."
        raise input_error("push", "HF_HUB_OFFLINE", "not be set", remedy=remedy) from None
    except HfHubHTTPError as error:
        raise _refusal(repo_id, error) from error
    except (HTTPError, OSError, RuntimeError) as error:  # RuntimeError: a file that could not be uploaded
        reason = first_line(_root(error))
        remedy = f"{_WHOLE}. Behind a proxy set HTTPS_PROXY; a dry run needs no network."
        raise input_error("push", "network", f"reach {constants.ENDPOINT}", got=reason, remedy=remedy) from error
    except ValueError as error:  # the Hub checks a card's metadata before it takes anything
        remedy = " ".join(str(error).split())
        raise input_error("push", "README.md", "have metadata that the Hub takes", remedy=remedy) from error


def _root(error: BaseException) -> BaseException:
    """Return the first cause, or the Hub's answer where there is one among the causes."""
    from huggingface_hub.errors import HfHubHTTPError

    while not isinstance(error, HfHubHTTPError) and (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _refusal(repo_id: str, error: Any) -> InputError:
    """Return the error for the Hub's refusal, by its status."""
    from huggingface_hub import constants

    status = int(error.response.status_code)
    reason = error.server_message or error.response.headers.get("X-Error-Message") or f"status {status}"
    quoted = f"The Hub says: {' '.join(str(reason).split())}"
    quoted += "" if quoted.endswith((".", "!")) else "."
    parameter, must, remedy = _REFUSALS.get(status, _REFUSED if status < 500 else _BROKEN)
    got = {"token": ..., "network": f"status {status}"}.get(parameter, repo_id)
    names = _namespaces() if status in (403, 404) else ""
    remedy = f"{quoted} {names}{remedy.format(endpoint=constants.ENDPOINT)}".strip()
    return input_error("push", parameter, must, got=got, remedy=remedy)


def _namespaces() -> str:
    """Return ``Yours are: a, b.``, or nothing if the Hub does not answer."""
    from huggingface_hub import HfApi

    try:
        user = HfApi().whoami()
    except Exception:
        return ""  # an error is being explained already
    names = [user.get("name"), *(org.get("name") for org in user.get("orgs") or [])]
    return f"Yours are: {', '.join(str(name) for name in names if name)}. "
