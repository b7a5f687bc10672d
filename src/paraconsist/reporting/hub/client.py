"""Look at a repository on the Hub, and send it what it lacks in one commit.

What a push would send: the files of one repository, held against what the repository has.

What can go wrong between here and the Hub, as sentences that say what to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from paraconsist.errors import InputError, input_error

_KINDS = {"dataset": "a dataset", "space": "a Space", "model": "a model"}


@dataclass(frozen=True)
class Remote:
    """A repository as it is on the Hub.

    Attributes
    ----------
    exists : bool
        False if it is yet to be made.
    asked : bool
        False if the Hub was not asked, because this is a dry run without a network.
    sha : str or None
        The last commit.
    private : bool
        Whether only its owners see it.
    files : mapping
        Path -> file.
    card : mapping
        The metadata of its README.md.
    """

    exists: bool = False
    asked: bool = True
    sha: str | None = None
    private: bool = True
    files: Mapping[str, RemoteFile] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing but what the Hub puts into every new repository."""
        return set(self.files) <= {".gitattributes"}


@dataclass(frozen=True)
class Sent:
    """What a push became: its commit, and where to see it."""

    commit: str
    url: str


def look(command: str, repo_id: str, repo_type: RepoType, *, parameter: str = "repo", dry_run: bool = False) -> Remote:
    """Return what the Hub has under a name.

    Parameters
    ----------
    command, parameter : str
        What errors are about.
    repo_id, repo_type : str
        The repository.
    dry_run : bool
        Go on without a token, and without a network where HF_HUB_OFFLINE says that there is none.

    Raises
    ------
    InputError
        If the name is none, nobody is logged in, the Hub cannot be reached, or the name is that of a
        repository of another type.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.constants import is_offline_mode
    from huggingface_hub.errors import RepositoryNotFoundError

    check_repo_id(command, parameter, repo_id)
    if dry_run and is_offline_mode():
        return Remote(asked=False)
    if not dry_run and get_token() is None:
        raise no_token(command)
    api = HfApi()
    with hub_errors(command, repo_id):
        try:
            info: Any = api.repo_info(repo_id, repo_type=repo_type)
        except RepositoryNotFoundError:
            _refuse_other_type(api, command, parameter, repo_id, repo_type)
            return Remote()
        tree: list[Any] = list(api.list_repo_tree(repo_id, repo_type=repo_type, revision=info.sha, recursive=True))
    files = {
        entry.path: RemoteFile(entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)
        for entry in tree
        if hasattr(entry, "blob_id")  # a folder has none
    }
    card = info.card_data.to_dict() if info.card_data is not None else {}
    return Remote(True, True, info.sha, bool(info.private), files, card)


def _refuse_other_type(api: Any, command: str, parameter: str, repo_id: str, repo_type: RepoType) -> None:
    """A repository of another type may have the same name on the Hub, but it is rarely what was meant."""
    for other in _KINDS:
        if other != repo_type and api.repo_exists(repo_id, repo_type=other):
            raise input_error(
                command,
                parameter,
                f"be new, or name {_KINDS[repo_type]}",
                got=repo_id,
                remedy=f"There is {_KINDS[other]} of this name. Choose another name.",
            )


def send(push: Push, remote: Remote, changes: Sequence[Change], *, public: bool = False) -> Sent:
    """Make the repository hold the push: one commit with what is new, changed and gone.

    A connection that is cut leaves the old version whole, because a commit is one request; large files that
    were uploaded before it are not sent again.

    Parameters
    ----------
    push : Push
        What it is to hold.
    remote : Remote
        What `look` found; a commit on top of anything else is refused by the Hub.
    changes : sequence of Change
        What `paraconsist.reporting.hub.client.changes` says of the two.
    public : bool
        Who may see a repository that is made now. One that exists stays as it is.

    Raises
    ------
    InputError
        If the Hub cannot be reached or refuses.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
    from huggingface_hub.utils import disable_progress_bars

    todo = {change.path: change.state for change in changes if change.state != "same"}
    disable_progress_bars()
    api = HfApi()
    with hub_errors(push.command, push.repo_id):
        sha = remote.sha
        if not remote.exists:
            sdk = "gradio" if push.repo_type == "space" else None
            api.create_repo(push.repo_id, repo_type=push.repo_type, private=not public, space_sdk=sdk, exist_ok=True)
            sha = api.repo_info(push.repo_id, repo_type=push.repo_type).sha
        operations: list[Any] = [
            CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=file.content)
            for file in push.files
            if file.path in todo
        ]
        operations += [CommitOperationDelete(path_in_repo=path) for path, state in todo.items() if state == "gone"]
        commit = api.create_commit(
            push.repo_id,
            operations=operations,
            commit_message=push.message,
            commit_description=push.description,
            repo_type=push.repo_type,
            parent_commit=sha,
        )
    return Sent(commit.oid, f"{constants.ENDPOINT}/{push.repo_type}s/{push.repo_id}")


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


_LOG_IN = "Make a token with write access at {endpoint}/settings/tokens and run `hf auth login`, or set HF_TOKEN."
_WHOLE = "What arrives, arrives whole or not at all; run the same command again."


def check_repo_id(command: str, parameter: str, repo_id: str) -> None:
    """Refuse what cannot be the name of a repository with its namespace.

    Raises
    ------
    InputError
        If `repo_id` is not of the form ``namespace/name``.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo_id)
        whole = repo_id.count("/") == 1
    except HFValidationError:
        whole = False
    if not whole:
        raise input_error(
            command,
            parameter,
            "give a repository as NAMESPACE/NAME",
            got=repo_id,
            remedy="The namespace is your user name or an organization's; letters, digits, '-', '_' and '.' only.",
        )


def no_token(command: str) -> InputError:
    """The error for a person who is not logged in."""
    from huggingface_hub import constants

    return input_error(
        command,
        "token",
        "be there to write to the Hub",
        remedy=f"{_LOG_IN.format(endpoint=constants.ENDPOINT)} With --dry-run none is needed.",
    )


@contextmanager
def hub_errors(command: str, repo_id: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into an `InputError`; a commit is one request, so nothing is half done."""
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled

    try:
        yield
    except InputError:
        raise
    except OfflineModeIsEnabled:
        remedy = "It is set. Unset it and run again; --dry-run shows what would be sent without it."
        raise input_error(command, "HF_HUB_OFFLINE", "not be set", remedy=remedy) from None
    except HfHubHTTPError as error:
        raise _answered(command, repo_id, error) from error
    except (HTTPError, OSError, RuntimeError) as error:  # RuntimeError: a file that could not be uploaded
        raise _unreachable(command, error) from error
    except ValueError as error:  # the Hub checks a card's metadata before it takes anything
        said = " ".join(str(error).split())
        raise input_error(command, "README.md", "have metadata that the Hub takes", remedy=said) from error


def _unreachable(command: str, error: BaseException) -> InputError:
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    root = error
    while (earlier := root.__cause__ or root.__context__) is not None:
        if isinstance(root, HfHubHTTPError):
            break
        root = earlier
    reason = (str(root).strip() or type(root).__name__).splitlines()[0]
    remedy = f"{_WHOLE} Behind a proxy set HTTPS_PROXY; without a network nothing can be pushed."
    return input_error(command, "network", f"reach {constants.ENDPOINT}", got=reason, remedy=remedy)


def _answered(command: str, repo_id: str, error: Any) -> InputError:
    """What the Hub's refusal means, by its status."""
    from huggingface_hub import constants

    status: int = error.response.status_code
    said = error.server_message or error.response.headers.get("X-Error-Message") or f"status {status}"
    quoted = f"The Hub says: {' '.join(str(said).split())}"
    quoted += "" if quoted.endswith((".", "!")) else "."
    if status == 401:
        remedy = f"{quoted} {_LOG_IN.format(endpoint=constants.ENDPOINT)}"
        return input_error(command, "token", "be one that the Hub accepts for writing", remedy=remedy)
    if status == 402:
        remedy = f"{quoted} Choose another namespace, or see {constants.ENDPOINT}/pricing."
        return input_error(command, "namespace", "be allowed to have this repository", got=repo_id, remedy=remedy)
    if status in (403, 404):
        remedy = f"{quoted} {_namespaces()}The token needs write access to it."
        return input_error(command, "namespace", "be one that you may write to", got=repo_id, remedy=remedy)
    if status in (409, 412):
        remedy = f"{quoted} Somebody else wrote to it meanwhile; run the command again to see what it has now."
        return input_error(command, "repo", "stay as it is during a push", got=repo_id, remedy=remedy)
    if status == 429:
        remedy = f"{quoted} {_WHOLE.removesuffix('.')} after a while."
        return input_error(command, "repo", "be pushed to less often", got=repo_id, remedy=remedy)
    if status < 500:
        return input_error(command, "repo", "be something that the Hub takes", got=repo_id, remedy=quoted)
    return input_error(
        command, "network", "reach a Hub that works", got=f"status {status}", remedy=f"{quoted} {_WHOLE}"
    )


def _namespaces() -> str:
    """``Yours are: a, b.``, or nothing where the Hub does not tell."""
    from huggingface_hub import HfApi

    try:
        user = HfApi().whoami()
    except Exception:
        return ""  # an error is being explained already
    names = [user.get("name"), *(org.get("name") for org in user.get("orgs") or [])]
    return f"Yours are: {', '.join(str(name) for name in names if name)}. "
