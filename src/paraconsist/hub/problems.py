"""What can go wrong between here and the Hub, as sentences that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paraconsist.errors import InputError, input_error

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
