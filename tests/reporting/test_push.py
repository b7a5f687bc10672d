"""Pushing metrics: what is sent, what is not sent again, what a dry run says, and when files are the same."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.local_hub import Blob, card_data
from helpers.push import METRIC, OLD_UPLOADS, push, states
from huggingface_hub import RepoFile, constants

from paraconsist.errors import InputError
from paraconsist.registry import metric_names, metric_script
from paraconsist.reporting.hub.client import HubFile
from paraconsist.reporting.hub.spaces import SDK_VERSION, complete_metadata, metric_space

ROOT = Path(__file__).resolve().parents[2]
pytestmark = OLD_UPLOADS


# ---------------------------------------------------------------------------- metrics


@pytest.mark.slow
def test_a_metric_becomes_a_private_space_in_one_commit(hub):
    printed = push(*METRIC)
    space = hub.repos["space", "org/ie_test"]
    assert (space.private, space.sdk, len(space.commits)) == (True, "gradio", 2)
    sent = set(space.files) - {".gitattributes"}
    assert sent == {"README.md", "ie_test.py", "app.py", "requirements.txt"}
    assert space.files["ie_test.py"].data == metric_script("ie_test").read_bytes()
    card = space.files["README.md"].data.decode()
    assert {"title", "sdk", "sdk_version"} <= card_data(card).keys()
    assert {"evaluate", "comparison"} <= set(card_data(card)["tags"])
    assert 'evaluate.load("org/ie_test")' in card
    assert 'evaluate.load("ie_test")' not in card
    links = re.findall(r"\]\(([^)#]+)", card)
    assert any(link.startswith("https://github.com/paraconsist/paraconsist/blob/HEAD/docs/") for link in links)
    assert all(link.startswith("https://") for link in links)
    assert set(states(printed)) == sent
    assert set(states(printed).values()) == {"new"}
    assert f"{hub.url}/spaces/org/ie_test" in printed


@pytest.mark.parametrize("name", metric_names())
def test_every_card_says_how_to_load_the_metric_from_where_it_is(name):
    """That of consistency_difference loaded a metric of this machine, with `module_type`."""
    files = {file.path: file.content for file in metric_space(name, "org").files}
    assert set(re.findall(r'evaluate\.load\("([^"]*)"', files["README.md"].decode())) == {f"org/{name}"}


@pytest.mark.slow
def test_a_second_push_sends_nothing(hub):
    push(*METRIC)
    before = hub.sent("POST", "")
    assert "Nothing to send: all" in push(*METRIC)
    assert hub.sent("POST", "") == before
    assert len(hub.repos["space", "org/ie_test"].commits) == 2


@pytest.mark.slow
def test_only_what_changed_is_sent_and_strange_files_stay(hub):
    push(*METRIC)
    space = hub.repos["space", "org/ie_test"]
    files = {**space.files, "ie_test.py": Blob(b"pass\n"), "notes.txt": Blob(b"mine\n")}
    space.add(files, "by hand")
    printed = push(*METRIC)
    assert states(printed).pop("ie_test.py") == "changed"
    assert "  Sent 1 of " in printed
    assert space.files["notes.txt"].data == b"mine\n"
    assert space.files["ie_test.py"].data == metric_script("ie_test").read_bytes()


@pytest.mark.slow
def test_all_metrics_and_going_on_after_a_failure(hub):
    third = metric_names()[2]
    hub.fail = lambda method, path: 503 if path == f"/api/spaces/org/{third}/commit/main" else False
    push("metric", "--all", "--namespace", "org", fails=r"reach a Hub that works; got 'status 503'")
    hub.fail = lambda method, path: False
    assert push("metric", "--all", "--namespace", "org").count("Nothing to send") == 2
    assert {repo for _, repo in hub.repos} == {f"org/{name}" for name in metric_names()}
    assert all(len(repo.commits) == 2 for repo in hub.repos.values())


@pytest.mark.slow
def test_public_only_where_asked_and_only_at_first(hub):
    assert "a new Space, public" in push(*METRIC, "--public")
    assert not hub.repos["space", "org/ie_test"].private
    push("metric", "fooling_rate", "--namespace", "org")
    assert "It stays private" in push("metric", "fooling_rate", "--namespace", "org", "--public")
    assert hub.repos["space", "org/fooling_rate"].private


@pytest.mark.slow
def test_another_source_of_the_package(hub):
    source = "git+https://example.org/paraconsist"
    push(*METRIC, "--package", source)
    files = hub.repos["space", "org/ie_test"].files
    assert f"# From: {source}\n" in files["ie_test.py"].data.decode()
    assert "# From: paraconsist\n" not in files["ie_test.py"].data.decode()
    assert re.search(rf"^paraconsist(\[\S+\])? @ {re.escape(source)}$", files["requirements.txt"].data.decode(), re.M)
    push(*METRIC, "--package", "two words", fails="`package` must be one word that pip installs; got 'two words'")


@pytest.mark.faults
@pytest.mark.parametrize("name", metric_names())
def test_a_pushed_card_has_no_relative_link(name):
    """Links into the project's documents led nowhere on the Hub: they lead to its repository, or are plain words."""
    for package, base in ((None, ""), ("git+https://me:token@host.org/us/it.git@v1", "https://host.org/us/it/blob/v1")):
        (card,) = (file for file in metric_space(name, "org", package=package).files if file.path == "README.md")
        links = re.findall(r"\]\(([^)\s]*)\)", card.content.decode())
        assert not [link for link in links if not link.startswith(("https://", "#"))]
        ours = [link for link in links if base and link.startswith(base)]
        assert all((ROOT / link.removeprefix(f"{base}/").partition("#")[0]).is_file() for link in ours)
        assert bool(ours) == bool(base)
        assert "sampling unit" in card.content.decode().replace("\n", " ")


def test_a_card_is_completed():
    completed = complete_metadata({"license": "mit"}, "ie_test", "comparison")
    assert completed == {
        "title": "Ie test",
        "license": "mit",
        "sdk": "gradio",
        "sdk_version": SDK_VERSION,
        "app_file": "app.py",
        "tags": ["evaluate", "comparison"],
    }
    assert complete_metadata(completed, "ie_test", "comparison") == completed


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"sdk": "docker"}, "`sdk` must be gradio; got 'docker'.*metrics/ie_test/README.md"),
        ({"sdk_version": "3.50.2"}, "`sdk_version` must be a version of gradio, 6 or newer; got '3.50.2'"),
        ({"sdk_version": "newest"}, "`sdk_version` must be a version of gradio"),
        ({"app_file": "main.py"}, "`app_file` must be app.py; got 'main.py'"),
        ({"tags": ["metric"]}, r"`tags` must name the kind of module, comparison; got \['metric'\]"),
        ({"tags": "evaluate"}, "`tags` must be a list of words; got 'evaluate'"),
    ],
)
def test_a_card_that_says_something_else_is_refused(metadata, message):
    with pytest.raises(InputError, match=message):
        complete_metadata(metadata, "ie_test", "comparison")


@pytest.mark.slow
def test_the_cards_of_all_metrics_are_whole(hub):
    for name in metric_names():
        push("metric", name, "--namespace", "org", "--dry-run")
    assert not hub.repos


def test_the_sdk_version_is_the_one_the_tests_run_with():
    assert f"gradio=={SDK_VERSION}\n" in (ROOT / "constraints.txt").read_text()


@pytest.mark.slow
def test_a_space_of_somebody_else_is_not_overwritten(hub):
    space = hub.create("space", "org/ie_test", sdk="gradio")
    space.add({"README.md": Blob(b"# Mine\n"), "app.py": Blob(b"pass\n")}, "a game")
    push(*METRIC, fails="`namespace` must have no other Space of the metric's name; got 'org/ie_test'")
    assert space.files["app.py"].data == b"pass\n"


# ---------------------------------------------------------------------------- dry runs


@pytest.mark.slow
def test_a_dry_run_lists_every_file_and_sends_nothing(hub):
    printed = push(*METRIC, "--dry-run")
    assert set(states(printed).values()) == {"new"}
    size = metric_script("ie_test").stat().st_size
    assert re.search(rf"new +ie_test.py +{size / 1000:.1f} kB", printed)
    assert "Dry run: nothing was sent" in printed
    assert not hub.repos
    push(*METRIC)
    hub.repos["space", "org/ie_test"].add({"requirements.txt": Blob(b"old\n"), "ie_test.py": Blob(b"")}, "by hand")
    printed = push(*METRIC, "--dry-run")
    assert states(printed)["requirements.txt"] == "changed"
    assert states(printed)["README.md"] == "new"
    assert len(hub.repos["space", "org/ie_test"].commits) == 3
    assert not [one for one in hub.requests if one == ("POST", "/api/spaces/org/ie_test/commit/main")][1:]


@pytest.mark.slow
def test_a_dry_run_needs_no_token_and_no_network(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    assert set(states(push(*METRIC, "--dry-run")).values()) == {"new"}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    n_requests = len(hub.requests)
    assert "the Hub was not asked" in push(*METRIC, "--dry-run")
    assert len(hub.requests) == n_requests


@pytest.mark.slow
def test_the_command_line_takes_a_config_file_and_answers_with_one_line(tmp_path):
    (tmp_path / "c.yaml").write_text("all: true\nnamespace: org\ndry-run: true\n")
    code = "import sys; from paraconsist.cli import main; main()"
    call = [sys.executable, "-c", code, "push", "metric", "--config", str(tmp_path / "c.yaml")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Dry run") == len(metric_names())
    done = subprocess.run([*call, "--repo", "org/x"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: push: `--repo` must not be given; got 'org/x'. The options of push metric are `--namespace`"
    )
    assert len(done.stderr.splitlines()) == 1


# ---------------------------------------------------------------------------- comparing files


def test_files_are_compared_by_what_the_hub_keeps_of_them(tmp_path):
    content = b"the same bytes\n"
    (tmp_path / "file").write_bytes(content)
    git = subprocess.run(["git", "hash-object", "--stdin"], input=content, capture_output=True).stdout.decode().strip()
    large = {"size": len(content), "oid": Blob(content).sha256, "pointerSize": 1}

    def there(size: int, oid: str, **lfs: Any) -> RepoFile:
        return RepoFile(path="file", size=size, oid=oid, **lfs)

    for file in (HubFile("file", content), HubFile("file", tmp_path / "file")):
        assert file.matches(there(len(content), git))
        assert file.matches(there(len(content), "pointer", lfs=large))
        assert not file.matches(there(len(content), "0" * 40))
        assert not file.matches(there(len(content), git, lfs={**large, "oid": "0" * 64}))
        assert not file.matches(there(len(content) + 1, git))
