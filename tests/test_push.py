"""Pushing: what is sent, what is not sent again, what a cut leaves, and what a person is told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
import yaml
from huggingface_hub import close_session, constants, parse_eval_result_entries
from local_hub import TOKEN, Blob, card_data, local_hub
from run_for_tests import write_run
from typer.testing import CliRunner

from paraconsist.errors import InputError
from paraconsist.hub.eval_results import eval_result_entries
from paraconsist.hub.plan import HubFile, RemoteFile
from paraconsist.hub.spaces import SDK_VERSION, complete_metadata
from paraconsist.registry import metric_names, metric_script
from paraconsist.scoring.measures import MEASURES

ROOT = Path(__file__).resolve().parent.parent
#: huggingface_hub itself uploads large files in a way that its HTTP client calls old.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
METRIC = ("metric", "ie_test", "--namespace", "org")
SAMPLE = ("dataset", "sample", "--repo", "org/sample")


@pytest.fixture
def hub(monkeypatch):
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
    from paraconsist.cli.push import push as function

    app = typer.Typer()
    app.command()(function)
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    said = done.output + str(done.exception or "")
    assert TOKEN not in said
    if fails is None:
        assert done.exit_code == 0, said
    else:
        assert isinstance(done.exception, InputError), said
        assert re.search(fails, str(done.exception)), done.exception
        assert "Traceback" not in said
    return done.output


def states(output: str) -> dict[str, str]:
    """Path -> what is said of it."""
    found = re.findall(r"^  (new|changed|same|gone) +(\S+) +[\d.]+ k?M?B$", output, re.MULTILINE)
    return {path: state for state, path in found}


# ---------------------------------------------------------------------------- metrics


def test_a_metric_becomes_a_private_space_in_one_commit(hub):
    said = push(*METRIC)
    space = hub.repos["space", "org/ie_test"]
    assert (space.private, space.sdk, len(space.commits)) == (True, "gradio", 2)
    folder = metric_script("ie_test").parent
    sent = set(space.files) - {".gitattributes"}
    assert sent == {p.name for p in folder.iterdir() if p.is_file() and p.name != "__init__.py"}
    for name in sent - {"README.md"}:
        assert space.files[name].data == (folder / name).read_bytes()
    card = space.files["README.md"].data.decode()
    assert {"title", "sdk", "sdk_version"} <= card_data(card).keys()
    assert {"evaluate", "comparison"} <= set(card_data(card)["tags"])
    assert 'evaluate.load("org/ie_test")' in card
    assert 'evaluate.load("ie_test")' not in card
    assert set(states(said)) == sent
    assert set(states(said).values()) == {"new"}
    assert f"{hub.url}/spaces/org/ie_test" in said


def test_a_second_push_sends_nothing(hub):
    push(*METRIC)
    before = hub.sent("POST", "")
    assert "Nothing to send: all" in push(*METRIC)
    assert hub.sent("POST", "") == before
    assert len(hub.repos["space", "org/ie_test"].commits) == 2


def test_only_what_changed_is_sent_and_strange_files_stay(hub):
    push(*METRIC)
    space = hub.repos["space", "org/ie_test"]
    files = {**space.files, "ie_test.py": Blob(b"pass\n"), "notes.txt": Blob(b"mine\n")}
    space.add(files, "by hand")
    said = push(*METRIC)
    assert states(said).pop("ie_test.py") == "changed"
    assert "  Sent 1 of " in said
    assert space.files["notes.txt"].data == b"mine\n"
    assert space.files["ie_test.py"].data == metric_script("ie_test").read_bytes()


def test_all_metrics_and_going_on_after_a_failure(hub):
    third = metric_names()[2]
    hub.fail = lambda method, path: 503 if path == f"/api/spaces/org/{third}/commit/main" else False
    push("metric", "--all", "--namespace", "org", fails=r"reach a Hub that works; got 'status 503'")
    hub.fail = lambda method, path: False
    said = push("metric", "--all", "--namespace", "org")
    assert said.count("Nothing to send") == 2
    assert {repo for _, repo in hub.repos} == {f"org/{name}" for name in metric_names()}
    assert all(len(repo.commits) == 2 for repo in hub.repos.values())


def test_public_only_where_asked_and_only_at_first(hub):
    assert "a new Space, public" in push(*METRIC, "--public")
    assert not hub.repos["space", "org/ie_test"].private
    push("metric", "fooling_rate", "--namespace", "org")
    said = push("metric", "fooling_rate", "--namespace", "org", "--public")
    assert "It stays private" in said
    assert hub.repos["space", "org/fooling_rate"].private


def test_another_source_of_the_package(hub):
    source = "git+https://example.org/paraconsist"
    push(*METRIC, "--package", source)
    files = hub.repos["space", "org/ie_test"].files
    assert f"# From: {source}\n" in files["ie_test.py"].data.decode()
    assert "# From: paraconsist\n" not in files["ie_test.py"].data.decode()
    assert re.search(rf"^paraconsist(\[\S+\])? @ {re.escape(source)}$", files["requirements.txt"].data.decode(), re.M)
    push(*METRIC, "--package", "two words", fails="`package` must be one word that pip installs; got 'two words'")


def test_a_card_is_completed():
    found = complete_metadata({"license": "mit"}, "ie_test", "comparison", ["ie_test.py", "app.py"])
    assert found == {
        "title": "Ie test",
        "license": "mit",
        "sdk": "gradio",
        "sdk_version": SDK_VERSION,
        "app_file": "app.py",
        "tags": ["evaluate", "comparison"],
    }
    assert complete_metadata(found, "ie_test", "comparison", ["app.py"]) == found


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"sdk": "docker"}, "`sdk` must be gradio; got 'docker'.*metrics/ie_test/README.md"),
        ({"sdk_version": "3.50.2"}, "`sdk_version` must be a version of gradio, 6 or newer; got '3.50.2'"),
        ({"sdk_version": "newest"}, "`sdk_version` must be a version of gradio"),
        ({"app_file": "main.py"}, "`app_file` must name a file of the metric's folder; got 'main.py'"),
        ({"tags": ["metric"]}, "`tags` must name the kind of module, comparison; got 'metric'"),
        ({"tags": "evaluate"}, "`tags` must be a list of words; got 'evaluate'"),
    ],
)
def test_a_card_that_says_something_else_is_refused(said, message):
    with pytest.raises(InputError, match=message):
        complete_metadata(said, "ie_test", "comparison", ["app.py"])


def test_the_cards_of_all_metrics_are_whole(hub):
    for name in metric_names():
        push("metric", name, "--namespace", "org", "--dry-run")
    assert not hub.repos


def test_the_sdk_version_is_the_one_the_tests_run_with():
    pins = (ROOT / "constraints.txt").read_text()
    assert f"gradio=={SDK_VERSION}\n" in pins


# ---------------------------------------------------------------------------- dry runs


def test_a_dry_run_lists_every_file_and_sends_nothing(hub):
    said = push(*METRIC, "--dry-run")
    assert set(states(said).values()) == {"new"}
    size = metric_script("ie_test").stat().st_size
    assert re.search(rf"new +ie_test.py +{size / 1000:.1f} kB", said)
    assert "Dry run: nothing was sent" in said
    assert not hub.repos
    push(*METRIC)
    hub.repos["space", "org/ie_test"].add({"requirements.txt": Blob(b"old\n"), "ie_test.py": Blob(b"")}, "by hand")
    said = push(*METRIC, "--dry-run")
    assert states(said)["requirements.txt"] == "changed"
    assert states(said)["README.md"] == "new"
    assert len(hub.repos["space", "org/ie_test"].commits) == 3
    assert not [one for one in hub.requests if one == ("POST", "/api/spaces/org/ie_test/commit/main")][1:]


def test_a_dry_run_needs_no_token_and_no_network(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    assert set(states(push(*METRIC, "--dry-run")).values()) == {"new"}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    n_requests = len(hub.requests)
    assert "the Hub was not asked" in push(*METRIC, "--dry-run")
    assert len(hub.requests) == n_requests


def test_the_command_line_takes_a_config_file_and_answers_with_one_line(tmp_path):
    (tmp_path / "c.yaml").write_text("all: true\nnamespace: org\ndry-run: true\n")
    code = "import sys; from paraconsist.cli import main; main()"
    call = [sys.executable, "-c", code, "push", "metric", "--config", str(tmp_path / "c.yaml")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Dry run") == len(metric_names())
    done = subprocess.run([*call, "--repo", "org/x"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: push metric: `repo` must not be given; got 'org/x'.")
    assert len(done.stderr.splitlines()) == 1


# ---------------------------------------------------------------------------- bucket sets


def test_a_bucket_set_becomes_parquet_with_a_card_that_finds_it(hub, tmp_path):
    push(*SAMPLE, "--cache-dir", tmp_path / "one")
    repo = hub.repos["dataset", "org/sample"]
    assert (repo.private, len(repo.commits)) == (True, 2)
    card = repo.card
    assert [c["config_name"] for c in card["configs"] if c.get("default")] == ["defeasible_nli"]
    listed = [f["path"] for c in card["configs"] for f in c["data_files"]]
    assert set(listed) == {name for name in repo.files if name.endswith(".parquet")}
    assert all(repo.files[name].lfs for name in listed)
    labels = [f for f in card["dataset_info"][0]["features"] if f["name"] == "label"]
    assert labels[0]["dtype"]["class_label"]["names"] == {"0": "weakener", "1": "strengthener"}
    assert 'load_dataset("sample"' not in repo.files["README.md"].data.decode()
    assert repo.commits[-1].message == "Push the bucket set sample with paraconsist"
    assert "Licence as its card states it: apache-2.0." in repo.commits[-1].description
    # Built again elsewhere it has the same bytes.
    assert "Nothing to send: all 5 files" in push(*SAMPLE, "--cache-dir", tmp_path / "another")
    assert len(repo.commits) == 2


def test_some_configs_are_pushed_and_the_others_stay(hub, tmp_path):
    cache = ("--cache-dir", tmp_path)
    push(*SAMPLE, "--config-name", "defeasible_nli_test", *cache)
    repo = hub.repos["dataset", "org/sample"]
    assert [c["config_name"] for c in repo.card["configs"]] == ["defeasible_nli_test"]
    push(*SAMPLE, "--config-name", "defeasible_nli", *cache)
    assert [c["config_name"] for c in repo.card["configs"]] == ["defeasible_nli", "defeasible_nli_test"]
    assert {name.split("/")[1] for name in repo.files if "/" in name} == {"defeasible_nli", "defeasible_nli_test"}
    old = {"data/defeasible_nli/x-00001-of-00002.parquet": Blob(b"1", True), "data/gone/y.parquet": Blob(b"2", True)}
    repo.add({**repo.files, **old, "data/defeasible_nli_test/more.parquet": Blob(b"3", True)}, "an older version")
    said = states(push(*SAMPLE, "--config-name", "defeasible_nli", *cache))
    assert {path for path, state in said.items() if state == "gone"} == set(old)
    assert "data/defeasible_nli_test/more.parquet" in repo.files
    assert not set(old) & set(repo.files)


def test_a_set_without_a_stated_licence_is_refused_without_a_reason(hub, tmp_path):
    for name in ("paranlu", "becel", "parte"):
        message = rf'`name` must be a set with a stated licence.*got \'{name}\'.*The card says: ".+".*--i-have-the'
        push("dataset", name, "--repo", "org/x", fails=message)
    push(*SAMPLE, "--i-have-the-rights", " ", fails="`i_have_the_rights` must say why")
    assert not hub.requests


def test_the_reason_stands_in_the_commit_message(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("paraconsist.hub.bucket_sets._NO_LICENCE", frozenset({"apache-2.0"}))
    given = (*SAMPLE, "--config-name", "defeasible_nli", "--cache-dir", tmp_path)
    push(*given, fails="must be a set with a stated licence")
    push(*given, "--i-have-the-rights", "I wrote\nit")
    commit = hub.repos["dataset", "org/sample"].commits[-1]
    assert commit.message == "Push the bucket set sample with paraconsist; rights: I wrote it"
    assert "Its card states no licence." in commit.description


def test_a_repository_of_somebody_else_is_not_overwritten(hub, tmp_path):
    repo = hub.create("dataset", "org/sample")
    repo.add({"README.md": Blob(b"---\ntags:\n- poems\n---\n# Poems\n"), "poems.csv": Blob(b"a\n")}, "poems")
    push(*SAMPLE, "--cache-dir", tmp_path, fails="`repo` must be new, or hold an earlier push of the same set")
    push(
        "run", write_run(tmp_path / "run"), "--repo", "org/sample", fails="`repo` must be new, or hold an earlier push"
    )
    assert len(repo.commits) == 2


def test_a_space_of_somebody_else_is_not_overwritten(hub):
    space = hub.create("space", "org/ie_test", sdk="gradio")
    space.add({"README.md": Blob(b"# Mine\n"), "app.py": Blob(b"pass\n")}, "a game")
    push(*METRIC, fails="`namespace` must have no other Space of the metric's name; got 'org/ie_test'")
    assert space.files["app.py"].data == b"pass\n"


# ---------------------------------------------------------------------------- connections that are cut


@pytest.mark.parametrize("where", ["commit/main", "preupload", "objects/batch", "/objects/"])
def test_a_cut_connection_leaves_the_old_version_whole(hub, tmp_path, monkeypatch, where):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between the client's attempts
    given = (*SAMPLE, "--config-name", "defeasible_nli", "--cache-dir", tmp_path)
    repo = hub.create("dataset", "org/sample")
    push(*given)
    old = repo.commits[-1]
    damaged = {name: Blob(b"old", blob.lfs) for name, blob in old.files.items() if name.startswith("data")}
    repo.add({**old.files, **damaged}, "an older version")
    before = repo.commits[-1]
    hub.objects.clear()
    hub.fail = lambda method, path: where in path
    push(
        *given, fails=rf"`network` must reach {hub.url}; got .* arrives whole or not at all; run the same command again"
    )
    assert repo.commits[-1] is before
    hub.fail = lambda method, path: False
    assert "  Sent 1 of 2 files" in push(*given)
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


# ---------------------------------------------------------------------------- runs


def test_a_run_becomes_results_predictions_card_and_entries(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    said = push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    repo = hub.repos["dataset", "org/run"]
    predictions = {f"predictions/{name}.parquet" for name in ("toy-all", "org-other-swaps")}
    entries = {f".eval_results/{name}.yaml" for name in ("toy-all", "org-other-swaps")}
    assert set(repo.files) == {".gitattributes", "README.md", "results.json", "run.json", *predictions, *entries}
    for name in ("results.json", "run.json", *predictions):
        assert repo.files[name].data == (folder / name).read_bytes()
    assert {f["path"] for c in repo.card["configs"] for f in c["data_files"]} == predictions
    assert "store" not in said
    assert "Nothing to send" in push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    said = push("run", folder, "--repo", "org/run")
    assert states(said)[".eval_results/toy-all.yaml"] == "gone"
    assert "No .eval_results for toy:all: .* Give --benchmark toy=NAMESPACE/NAME." in re.sub(
        r": an .*?\. G", ": .* G", said
    )


def test_the_entries_are_what_the_hub_reads(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    push("run", folder, "--repo", "org/run", "--benchmark", "toy:all=org/toy")
    results = json.loads((folder / "results.json").read_text())
    files = hub.repos["dataset", "org/run"].files
    for name, path, task in (
        ("toy:all", "toy-all", "all-paraphrastic_consistency"),
        ("org/other:swaps", "org-other-swaps", "swaps-symmetric_inconsistency"),
    ):
        [entry] = parse_eval_result_entries(yaml.safe_load(files[f".eval_results/{path}.yaml"].data))
        measure = task.partition("-")[2]
        values = results[name]["measures"][measure]
        assert (entry.dataset_id, entry.task_id) == ({"toy:all": "org/toy"}.get(name, "org/other"), task)
        assert entry.value == values[MEASURES[measure].headline]
        assert entry.date == "2026-01-02T03:04:05Z"
        assert entry.source_url == f"{hub.url}/datasets/org/run"
        assert values["signature"] in entry.notes
        assert ("lower is better" in entry.notes) == (name != "toy:all")


def test_undefined_values_have_no_entry_and_every_measure_has_a_headline():
    values = {"signature": "s", "confidence_interval": {}, "inconsistency": None, "change_rate": float("nan")}
    results = {f"org/x:{name}": {"measures": {name: values}} for name in MEASURES}
    assert eval_result_entries(results, {}) == {}
    values |= {measure.headline: 0.25 for measure in MEASURES.values()}
    found = eval_result_entries(results, {})
    assert {name: [entry.value for entry in entries] for name, entries in found.items()} == {
        name: [0.25] for name in results
    }


def test_the_card_of_a_run_shows_its_numbers(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    push("run", folder, "--repo", "org/run")
    results = json.loads((folder / "results.json").read_text())
    card = hub.repos["dataset", "org/run"].files["README.md"].data.decode()
    values = results["toy:all"]["measures"]["paraphrastic_consistency"]
    low, high = values["confidence_interval"]["paraphrastic_consistency"]
    row = f"| {values['paraphrastic_consistency']:.4f} | [{low:.4f}, {high:.4f}] | {values['accuracy']:.4f} | 1.0000 |"
    assert row in card
    assert card_data(card)["pretty_name"] == "Consistency of ada/a-model"
    assert values["signature"] in card


def test_a_folder_that_is_no_scored_run(hub, tmp_path):
    where = ("--repo", "org/run")
    push("run", tmp_path, *where, fails="`folder` must be a run folder with a readable results.json")
    folder = write_run(tmp_path / "run")
    push("run", folder, *where, "--benchmark", "x=org/x", fails="`benchmark` must name sets of the run: .*; got 'x'")
    push("run", folder, *where, "--benchmark", "toy", fails="`benchmark` must be items of the form SET=NAMESPACE/NAME")
    push("run", folder, *where, "--benchmark", "toy=x", fails="`benchmark` must give a repository as NAMESPACE/NAME")
    for path in folder.glob("predictions/*"):
        path.unlink()
    push("run", folder, *where, fails=r"`folder` must hold predictions/\*.parquet")


def test_a_model_repository_is_no_place_for_a_run(hub, tmp_path):
    hub.create("model", "ada/a-model")
    message = "`repo` must be new, or name a dataset; got 'ada/a-model'. There is a model of this name."
    push("run", write_run(tmp_path / "run"), "--repo", "ada/a-model", fails=message)


# ---------------------------------------------------------------------------- what a person is told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("metric", "nothing", "--namespace", "org"), "push metric: `name` must be one of additive_.*; got 'nothing'"),
        (("metric", "--namespace", "org"), "`name` must be one metric, or --all; got None"),
        ((*METRIC, "--all"), "`name` must be one metric, or --all; got 'ie_test'"),
        (("metric", "ie_test"), "`namespace` must say where to push to; got None. Give --namespace ORG."),
        (("metric", "ie_test", "--namespace", "a/b"), "`namespace` must be a user or organization only; got 'a/b'"),
        (("metric", "ie_test", "--namespace", "a b"), "`namespace` must give a repository as NAMESPACE/NAME"),
        (("dataset", "nothing", "--repo", "org/x"), "push dataset: `name` must be one of becel, .*; got 'nothing'"),
        (("dataset", "--repo", "org/x"), "push dataset: `name` must name a bucket set"),
        (("dataset", "sample"), "push dataset: `repo` must say where to push to; got None. Give --repo ORG/NAME."),
        (("dataset", "sample", "--repo", "sample"), "`repo` must give a repository as NAMESPACE/NAME; got 'sample'"),
        ((*SAMPLE, "--config-name", "x"), "`config` must be a config of sample: .*; got 'x'"),
        ((*SAMPLE, "--namespace", "org"), "push dataset: `namespace` must not be given.*Its options are --cache-dir,"),
        (("run", "--repo", "org/x"), "push run: `name` must be a run folder"),
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
    said = push(*METRIC, fails="`token` must be one that the Hub accepts for writing.*`hf auth login`")
    assert "hf_another_secret" not in said


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
    import paraconsist.hub.spaces as spaces

    whole = spaces.complete_metadata
    monkeypatch.setattr(spaces, "complete_metadata", lambda *given: whole(*given) | {"colorFrom": "mauve"})
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


# ---------------------------------------------------------------------------- comparing files


def test_files_are_compared_by_what_the_hub_keeps_of_them(tmp_path):
    content = b"the same bytes\n"
    (tmp_path / "file").write_bytes(content)
    git = subprocess.run(["git", "hash-object", "--stdin"], input=content, capture_output=True).stdout.decode().strip()
    sha = Blob(content).sha256
    for file in (HubFile("file", content), HubFile("file", tmp_path / "file")):
        assert file.matches(RemoteFile(len(content), git))
        assert file.matches(RemoteFile(len(content), "pointer", sha))
        assert not file.matches(RemoteFile(len(content), "0" * 40))
        assert not file.matches(RemoteFile(len(content), git, "0" * 64))
        assert not file.matches(RemoteFile(len(content) + 1, git))
