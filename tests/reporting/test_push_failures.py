"""Pushes that fail: what a cut connection leaves, and what a person is told."""

import time

import pytest
from helpers.local_hub import Blob
from helpers.push import METRIC, OLD_UPLOADS, SAMPLE, push, states
from huggingface_hub import constants

pytestmark = [OLD_UPLOADS, pytest.mark.slow]


# ---------------------------------------------------------------------------- connections that are cut


@pytest.mark.parametrize("where", ["commit/main", "preupload", "objects/batch", "/objects/"])
def test_a_cut_connection_leaves_the_old_version_whole(hub, tmp_path, monkeypatch, where):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between the client's attempts
    arguments = (*SAMPLE, "--config-name", "defeasible_nli", "--cache-dir", tmp_path)
    repo = hub.create("dataset", "org/sample")
    push(*arguments)
    old = repo.commits[-1]
    damaged = {name: Blob(b"old", blob.lfs) for name, blob in old.files.items() if name.startswith("data")}
    repo.add({**old.files, **damaged}, "an older version")
    before = repo.commits[-1]
    hub.objects.clear()
    hub.fail = lambda method, path: where in path
    push(
        *arguments,
        fails=rf"`network` must reach {hub.url}; got .* arrives whole or not at all; run the same command again",
    )
    assert repo.commits[-1] is before
    hub.fail = lambda method, path: False
    assert "  Sent 1 of 3 files" in push(*arguments)
    assert repo.files == old.files
    assert repo.commits[-2] is before


def test_a_push_cut_off_after_the_repository_was_made_is_completed(hub):
    hub.fail = lambda method, path: path.endswith("commit/main")
    push(*METRIC, fails="`network` must reach")
    assert set(hub.repos["space", "org/ie_test"].files) == {".gitattributes"}
    hub.fail = lambda method, path: False
    push(*METRIC)
    assert "ie_test.py" in hub.repos["space", "org/ie_test"].files


def test_what_somebody_else_sent_meanwhile_is_not_overwritten(hub, monkeypatch):
    push(*METRIC)
    space = hub.repos["space", "org/ie_test"]
    space.add({**space.files, "requirements.txt": Blob(b"old\n")}, "by hand")

    def meanwhile(method, path):
        if path.endswith("preupload/main"):
            space.add({**space.files, "notes.txt": Blob(b"new\n")}, "meanwhile")
        return False

    hub.fail = meanwhile
    push(*METRIC, fails="`repo` must stay as it is during a push.*run the command again")
    assert space.commits[-1].message == "meanwhile"


# ---------------------------------------------------------------------------- what a person is told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("metric", "nothing", "--namespace", "org"), "push: `name` must be one of additive_.*; got 'nothing'"),
        (("metric", "--namespace", "org"), "`name` must be one metric, or `all_metrics`; got None"),
        ((*METRIC, "--all"), "`name` must be one metric, or `all_metrics`; got 'ie_test'"),
        (("metric", "ie_test"), "`namespace` must say where to push to, as ORG; got None"),
        (("metric", "ie_test", "--namespace", "a/b"), "`namespace` must be a user or organization only; got 'a/b'"),
        (("metric", "ie_test", "--namespace", "a b"), "`namespace` must give a repository as NAMESPACE/NAME"),
        (("dataset", "nothing", "--repo", "org/x"), "push: `name` must be one of becel, .*; got 'nothing'"),
        (("dataset", "--repo", "org/x"), "push: `name` must name a bucket set"),
        (("dataset", "sample"), "push: `repo` must say where to push to, as ORG/NAME; got None"),
        (("dataset", "sample", "--repo", "sample"), "`repo` must give a repository as NAMESPACE/NAME; got 'sample'"),
        ((*SAMPLE, "--config-name", "x"), "`config_name` must be a config of sample: .*; got 'x'"),
        (
            ("dataset", "sample:capitals", "--repo", "org/x"),
            "`name` must .*Write sample alone, and `config_name` capitals.",
        ),
        ((*SAMPLE, "--namespace", "org"), "push: `namespace` must not be given.*of push dataset are `repo`,"),
        (("run", "--repo", "org/x"), "push: `name` must be a run folder"),
    ],
)
def test_wrong_arguments(hub, arguments, message):
    push(*arguments, fails=message)
    assert not hub.sent("POST", "")


def test_nobody_is_logged_in(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    push(*METRIC, fails=r"`token` must be there to write to the Hub. Make a token .*`hf auth login`, or set HF_TOKEN")
    assert not hub.requests


def test_a_token_that_the_hub_does_not_know(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_another_secret")
    printed = push(*METRIC, fails="`token` must be one that the Hub accepts for writing.*`hf auth login`")
    assert "hf_another_secret" not in printed


def test_a_namespace_of_somebody_else(hub):
    message = "`namespace` must be one that you may write to; got 'other/ie_test'.*Yours are: ada, org."
    push("metric", "ie_test", "--namespace", "other", fails=message)


def test_a_name_that_another_type_of_repository_has(hub, tmp_path):
    push(*METRIC)
    message = "`repo` must be new, or name a dataset; got 'org/ie_test'. There is a Space of this name."
    push("dataset", "sample", "--repo", "org/ie_test", "--cache-dir", tmp_path, fails=message)
    hub.create("model", "org/fooling_rate")
    push("metric", "fooling_rate", "--namespace", "org", fails="must be new, or name a Space.*There is a model")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (402, "`namespace` must be allowed to have this repository.*The Hub says: It is the test's wish."),
        (413, "`repo` must be something that the Hub takes"),
        (429, "`repo` must be pushed to less often.*run the same command again after a while"),
        (500, "`network` must reach a Hub that works; got 'status 500'"),
    ],
)
def test_what_the_hub_refuses(hub, status, message):
    hub.fail = lambda method, path: status if path.endswith("commit/main") else False
    push(*METRIC, fails=message)


def test_metadata_that_the_hub_does_not_take(hub, monkeypatch):
    import paraconsist.reporting.hub.spaces as spaces

    whole = spaces.complete_metadata
    monkeypatch.setattr(spaces, "complete_metadata", lambda *arguments: whole(*arguments) | {"colorFrom": "mauve"})
    push(*METRIC, fails='`README.md` must have metadata that the Hub takes.*"colorFrom" is no colour')
    assert hub.repos["space", "org/ie_test"].commits[1:] == []


def test_no_network(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    push(*METRIC, fails="`HF_HUB_OFFLINE` must not be set. It is set. Unset it and run again")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    push(
        *METRIC, fails="`network` must reach http://127.0.0.1:9; got '.*Connection refused.*What arrives, arrives whole"
    )
    printed = push(*METRIC, "--dry-run")
    assert "the Hub was not asked what it has: no network, or HF_HUB_OFFLINE=1" in printed
    assert set(states(printed).values()) == {"new"}
    assert "A Space installs paraconsist[space] from PyPI" in printed
    assert "from PyPI" not in push(*METRIC, "--dry-run", "--package", "git+https://example.org/p")
