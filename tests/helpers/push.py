"""The command `push` in this process, against a small Hub on this machine, for the tests of pushing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from helpers.local_hub import TOKEN, LocalHub, local_hub
from huggingface_hub import close_session, constants

from paraconsist.errors import InputError

#: For `pytestmark`: huggingface_hub itself uploads large files in a way that its HTTP client calls old.
OLD_UPLOADS = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
METRIC = ("metric", "ie_test", "--namespace", "org")
SAMPLE = ("dataset", "sample", "--repo", "org/sample")


@contextmanager
def hub_for_push(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """Serve a Hub, and have huggingface_hub push to it with a token that it knows."""
    with local_hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        close_session()
        yield server
        close_session()


def push(*arguments: object, fails: str | None = None) -> str:
    """Run the command in this process and return what it printed; `fails` is a pattern of the error's message."""
    from paraconsist.cli.options import as_command
    from paraconsist.cli.push import push as function

    done = CliRunner().invoke(as_command("push", function), [str(argument) for argument in arguments])
    printed = done.output + str(done.exception or "")
    assert TOKEN not in printed
    if fails is None:
        assert done.exit_code == 0, printed
    else:
        assert isinstance(done.exception, InputError), printed
        assert re.search(fails, str(done.exception)), done.exception
        assert "Traceback" not in printed
    return done.output


def states(output: str) -> dict[str, str]:
    """Path -> what is printed of it."""
    found = re.findall(r"^  (new|changed|same|gone) +(\S+) +[\d.]+ k?M?B$", output, re.MULTILINE)
    return {path: state for state, path in found}
