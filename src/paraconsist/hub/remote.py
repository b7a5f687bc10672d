"""Look at a repository on the Hub, and send it what it lacks in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paraconsist.errors import input_error
from paraconsist.hub.plan import Change, Push, RemoteFile, RepoType
from paraconsist.hub.problems import check_repo_id, hub_errors, no_token

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
        What `paraconsist.hub.plan.changes` says of the two.
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
