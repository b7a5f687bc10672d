"""Pushing bucket sets and runs: their files, their cards, their evaluation results, and whose repositories they are."""

import getpass
import io
import json
import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.local_hub import Blob, card_data
from helpers.push import OLD_UPLOADS, SAMPLE, push, states
from helpers.run import write_run
from huggingface_hub import parse_eval_result_entries

import paraconsist as pc
from paraconsist.data.bucket_sets import declared_label_names
from paraconsist.data.predictions import read_predictions, write_predictions
from paraconsist.measures.catalogue import scored_measures
from paraconsist.reporting.hub.bucket_sets import own_dataset
from paraconsist.reporting.hub.runs import eval_result_entries, run_dataset

pytestmark = OLD_UPLOADS


# ---------------------------------------------------------------------------- bucket sets


@pytest.mark.slow
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
    assert 'load_dataset("paraconsist_sample"' not in repo.files["README.md"].data.decode()
    assert repo.commits[-1].message == "Push the bucket set sample with paraconsist"
    assert "Licence as its card states it: apache-2.0." in repo.commits[-1].description
    # Built again elsewhere it has the same bytes.
    assert "Nothing to send: all 6 files" in push(*SAMPLE, "--cache-dir", tmp_path / "another")
    # A task for each config that has a measure, under the id that the entries of a run name.
    benchmark = yaml.safe_load(repo.files["eval.yaml"].data)
    assert set(benchmark) == {"name", "description", "tasks"}
    ids = {task["id"] for task in benchmark["tasks"]}
    assert len(ids) == len(benchmark["tasks"])
    assert {(task["config"], task["split"]) for task in benchmark["tasks"]} <= {
        (name["config_name"], "test") for name in card["configs"]
    }
    results = {"org/sample:defeasible_nli": {"measures": {"paraphrastic_consistency": {
        "paraphrastic_consistency_unbiased": 0.5, "signature": "s"}}}}  # fmt: skip
    [[entry]] = eval_result_entries(results, {}).values()
    assert entry.task_id in ids
    assert len(repo.commits) == 2


@pytest.mark.slow
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
    printed = states(push(*SAMPLE, "--config-name", "defeasible_nli", *cache))
    assert {path for path, state in printed.items() if state == "gone"} == set(old)
    assert "data/defeasible_nli_test/more.parquet" in repo.files
    assert not set(old) & set(repo.files)


@pytest.mark.slow
def test_a_set_without_a_stated_licence_is_refused_without_a_reason(hub, tmp_path):
    for name in ("paranlu", "becel", "parte"):
        message = (
            rf'`name` must be a set with a stated licence.*got \'{name}\'.*The card says: ".+".*`i_have_the_rights`'
        )
        push("dataset", name, "--repo", "org/x", fails=message)
    push(*SAMPLE, "--i-have-the-rights", " ", fails="`i_have_the_rights` must say why")
    assert not hub.requests


@pytest.mark.slow
def test_the_reason_stands_in_the_commit_message(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("paraconsist.reporting.hub.bucket_sets._NO_LICENCE", frozenset({"apache-2.0"}))
    arguments = (*SAMPLE, "--config-name", "defeasible_nli", "--cache-dir", tmp_path)
    push(*arguments, fails="must be a set with a stated licence")
    push(*arguments, "--i-have-the-rights", "I wrote\nit")
    commit = hub.repos["dataset", "org/sample"].commits[-1]
    assert commit.message == "Push the bucket set sample with paraconsist; rights: I wrote it"
    assert "Its card states no licence." in commit.description


@pytest.mark.slow
def test_a_repository_of_somebody_else_is_not_overwritten(hub, tmp_path):
    repo = hub.create("dataset", "org/sample")
    repo.add({"README.md": Blob(b"---\ntags:\n- poems\n---\n# Poems\n"), "poems.csv": Blob(b"a\n")}, "poems")
    push(*SAMPLE, "--cache-dir", tmp_path, fails="`repo` must be new, or hold an earlier push of the same set")
    push(
        "run", write_run(tmp_path / "run"), "--repo", "org/sample", fails="`repo` must be new, or hold an earlier push"
    )
    assert len(repo.commits) == 2


# ---------------------------------------------------------------------------- the user's own rows


QUESTIONS = """\
bucket_id,question,expected,author
days,How many days do I have?,30,Ada
days,Within how many days?,"[""30"", ""thirty""]",Ada
fee,What is the fee in euro?,5,Ada
"""


@pytest.mark.faults
def test_questions_of_the_users_own_become_a_set_with_a_card(hub, tmp_path):
    """Q7: only this package's own sets could be pushed."""
    (tmp_path / "my questions.csv").write_text(QUESTIONS)
    mine = ("dataset", tmp_path / "my questions.csv", "--repo", "org/mine")
    dry = push(*mine, "--dry-run")
    assert (set(states(dry)), "read by no measure: author." in dry) == ({"README.md", "data/test.parquet"}, True)
    push(*mine, "--i-have-the-rights", "I wrote\nthem")
    repo = hub.repos["dataset", "org/mine"]
    assert (repo.private, repo.commits[-1].message.partition("; ")[2]) == (True, "rights: I wrote them")
    columns = pq.read_table(io.BytesIO(repo.files["data/test.parquet"].data)).to_pydict()
    assert columns["expected"] == [["30"], ["30", "thirty"], ["5"]]
    assert set(columns) == {"example_id", "bucket_id", "group_id", "role", "expected", "question"}
    card = repo.files["README.md"].data.decode()
    facts = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", card, re.MULTILINE))
    assert facts.pop("task").startswith("`questions`")
    assert facts == {
        "problems": "2",
        "wordings": "3 (1 to 2 a problem)",
        "with accepted answers": "3 wordings",
        "answers compared by": "`--same tokens`",
    }
    assert str(tmp_path) not in card
    assert "Nothing to send: all 2 files" in push(*mine)
    licensed = card.replace("pretty_name", "license: mit\npretty_name")
    repo.add({**repo.files, "README.md": Blob(licensed.encode())}, "edited on the Hub")
    assert "no licence" not in push(*mine)
    assert repo.card["license"] == "mit"
    push(*SAMPLE[:2], "--repo", "org/mine", "--cache-dir", tmp_path, fails="`repo` must be new")


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("a.yaml", "same: judge:/home/ada/judge.yaml\nquestions: [{wordings: [a, b]}]", "judge:judge.yaml"),
        ("a.yaml", "same: 'regex:[a-z]/[0-9]/(a|b)'\nquestions: [{wordings: [a, b]}]", r"'regex:[a-z]/[0-9]/(a\|b)'"),
        ("a.csv", 'bucket_id,question,choices\nx,a?,"[""r"", ""s""]"\n', "choice"),
        ("a.jsonl", '{"bucket_id": "x", "question": "a?", "expected": ["1,200"]}\n', "number"),
        ("a.jsonl", '{"bucket_id": "x", "prompt": "a?"}\n', "tokens"),
    ],
)
def test_the_card_suggests_a_comparer(hub, tmp_path, file, text, same):
    (tmp_path / file).write_text(text)
    push("dataset", tmp_path / file, "--repo", "org/mine")
    card = hub.repos["dataset", "org/mine"].files["README.md"].data.decode()
    assert f"| answers compared by | `--same {same}` |" in card
    assert f"paraconsist score runs/a --same {same}\n".replace("\\", "") in card


def test_rows_of_another_task_keep_their_labels(hub, tmp_path):
    labels = {"good": "positive", "nice": "positive", "bad": "negative"}
    rows = [{"bucket_id": label, "text": text, "label": label, "source": [text]} for text, label in labels.items()]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    mine = ("dataset", tmp_path / "own.jsonl", "--repo", "org/mine")
    push(*mine, fails="`task`")
    assert "read by no measure: source." in push(*mine, "--task", "sentiment")
    files = hub.repos["dataset", "org/mine"].files
    table = pq.read_table(io.BytesIO(files["data/test.parquet"].data))
    assert (table["label"].to_pylist(), declared_label_names(table)) == ([1, 1, 0], ("negative", "positive"))
    assert "--dataset org/mine --task sentiment" in files["README.md"].data.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("own.csv", "--config-name", "x"), "`config_name` must not be given with a file"),
        (("sample", "--task", "nli"), "`task` must not be given with a set"),
        (("none.csv",), "push: `name` must"),
        (("empty.csv",), "push: `name` must have at least one row"),
        (("own.csv", "--i-have-the-rights", " "), "`i_have_the_rights` must say why"),
    ],
)
def test_wrong_files_send_nothing(hub, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text(QUESTIONS)
    (tmp_path / "empty.csv").write_text("bucket_id,question\n")
    push("dataset", *arguments, "--repo", "org/mine", fails=message)
    assert not hub.sent("POST", "")


def test_a_file_does_not_overwrite_another_set(hub, tmp_path):
    repo = hub.create("dataset", "org/mine")
    repo.add({"README.md": Blob(b"---\ntags:\n- paraconsist\n---\n# Another\n")}, "another")
    (tmp_path / "own.csv").write_text(QUESTIONS)
    push("dataset", tmp_path / "own.csv", "--repo", "org/mine", fails="`repo` must be new, or hold")
    assert len(repo.commits) == 2


# ---------------------------------------------------------------------------- runs


@pytest.mark.slow
def test_a_run_becomes_results_predictions_card_and_entries(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    printed = push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    repo = hub.repos["dataset", "org/run"]
    predictions = {f"predictions/{name}.parquet" for name in ("toy-all", "org-other-swaps")}
    entries = {f".eval_results/{name}.yaml" for name in ("toy-all", "org-other-swaps")}
    records = {f"every_eval_ever/{name}.json" for name in ("toy-all", "org-other-swaps")}
    assert set(repo.files) == {
        ".gitattributes",
        "README.md",
        "results.json",
        "run.json",
        *predictions,
        *entries,
        *records,
    }
    for name in predictions:
        assert repo.files[name].data == (folder / name).read_bytes()
    for name in ("results.json", "run.json"):
        assert json.loads(repo.files[name].data) == json.loads((folder / name).read_text())
    assert {f["path"] for c in repo.card["configs"] for f in c["data_files"]} == predictions
    assert "store" not in printed
    assert "Nothing to send" in push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    printed = push("run", folder, "--repo", "org/run")
    assert states(printed)[".eval_results/toy-all.yaml"] == "gone"
    assert "No .eval_results for toy:all: .* Give --benchmark toy=NAMESPACE/NAME." in re.sub(
        r": an .*?\. G", ": .* G", printed
    )


@pytest.mark.slow
def test_nothing_of_this_machine_and_nobody_is_pushed(hub, tmp_path):
    """The folder of a run with a local model behind an address, private columns, and files of others in it."""
    folder, private = write_run(tmp_path / "run"), {"email": "ada@example.org", "worker": "W-77"}
    model = {"model": f"{tmp_path}/models/bow", "weights_hash": "0", "endpoint": "http://gpu7.lab:8000/v1"}
    file = folder / "predictions" / "toy-all.parquet"
    predictions = read_predictions(file)
    table, metadata = predictions.table, predictions.metadata | {"model": model, "strata": ["shift", "theme"]}
    for name, value in {**private, "shift": "late", "theme": "rain"}.items():
        table = table.append_column(name, pa.array([value] * table.num_rows))
    write_predictions(file, table, metadata)
    results = json.loads((folder / "results.json").read_text())
    breakdown = results["toy:all"]["measures"]
    results["toy:all"] |= {"model": model["model"], "strata": {"email": {"ada@example.org": breakdown}, "theme": {}}}
    results["toy:all"]["warnings"] = [f"{tmp_path}/rows.csv is short"]
    (folder / "results.json").write_text(json.dumps(results))
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "models": {"nli": model}, "command": f"run {tmp_path}/a/b"}))
    (folder / "predictions" / "theirs.parquet").write_bytes(file.read_bytes())
    (folder / "predictions" / "notes.txt").write_text("mine")
    with pytest.warns(UserWarning, match="does not name theirs.parquet"):
        printed = push("run", folder, "--repo", "org/run", "--dry-run")
    assert "Undeclared columns of toy-all.parquet, which are not sent: email, worker." in printed
    assert "Columns of the predictions: example_id, " in printed
    assert not hub.repos
    with pytest.warns(UserWarning, match="does not name theirs.parquet"):
        assert set(states(push("run", folder, "--repo", "org/run"))) == set(states(printed))
    sent = hub.repos["dataset", "org/run"].files
    assert {name for name in sent if name.startswith("predictions/")} == {
        "predictions/toy-all.parquet",
        "predictions/org-other-swaps.parquet",
    }
    for word in (str(tmp_path), "gpu7", "8000", *private, *private.values(), getpass.getuser() + "/"):
        assert not [name for name, blob in sent.items() if word.encode() in blob.data], word
    arrived = pq.read_table(io.BytesIO(sent["predictions/toy-all.parquet"].data))
    assert {*predictions.table.column_names, "shift", "theme"} == {*arrived.column_names}
    assert json.loads(arrived.schema.metadata[b"paraconsist"])["model"]["model"] == "bow"
    pushed = json.loads(sent["results.json"].data)["toy:all"]
    assert (pushed["model"], list(pushed["strata"]), pushed["warnings"]) == ("bow", ["theme"], ["rows.csv is short"])
    assert card_data(sent["README.md"].data.decode())["pretty_name"] == "Consistency of ada/a-model, bow"


@pytest.mark.slow
def test_a_foreign_run_folder_sends_no_file_from_elsewhere(hub, tmp_path):
    folder, secret = write_run(tmp_path / "run"), tmp_path / "secret.parquet"
    secret.write_bytes((folder / "predictions" / "toy-all.parquet").read_bytes())
    run = json.loads((folder / "run.json").read_text())
    run["sets"]["toy:all"] = "predictions/../../secret.parquet"
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.warns(UserWarning, match="does not name toy-all.parquet"):
        push("run", folder, "--repo", "org/run")
    sent = hub.repos["dataset", "org/run"].files
    assert [name for name in sent if "parquet" in name] == ["predictions/org-other-swaps.parquet"]
    assert not [name for name in sent if ".." in name or "secret" in name]


@pytest.mark.slow
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
        assert entry.value == values[scored_measures()[measure].headline]
        assert entry.date == "2026-01-02T03:04:05Z"
        assert entry.source_url == f"{hub.url}/datasets/org/run"
        assert values["signature"] in entry.notes
        assert ("lower is better" in entry.notes) == (name != "toy:all")


@pytest.mark.slow
def test_a_models_own_repository_gets_the_entries_alone(hub, tmp_path):
    folder, run = write_run(tmp_path / "run"), ("--repo", "org/run")
    push("run", folder, *run, "--model", "ada/a-model", fails="`model` must name a model that is on the Hub")
    assert not hub.repos
    theirs = {"README.md": Blob(b"# mine\n"), ".eval_results/gpqa.yaml": Blob(b"- value: 1\n")}
    hub.create("model", "org/a-model").add(theirs, "weights")
    alone = write_run(tmp_path / "alone", sets=("toy:all", "toy:swaps"))
    push(
        "run", alone, *run, "--model", "org/a-model", fails="`benchmark` must say where a set of the run is on the Hub"
    )
    assert list(hub.repos) == [("model", "org/a-model")]  # before anything is sent
    printed = push("run", folder, *run, "--model", "org/a-model", "--benchmark", "toy=org/toy")
    assert "org/a-model: model repository" in printed
    sent, run_files = hub.repos["model", "org/a-model"].files, hub.repos["dataset", "org/run"].files
    names = {f".eval_results/{name}.yaml" for name in ("toy-all", "org-other-swaps")}
    assert set(sent) == {*theirs, *names}
    assert all(sent[name] == run_files[name] for name in names)


#: What the schema 0.2.2 of Every Eval Ever asks of a record, and of each of its numbers.
_RECORD = {"schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library"}
_NUMBER = {"evaluation_name", "source_data", "metric_config", "score_details"}


@pytest.mark.slow
def test_records_of_every_eval_ever_are_written_as_their_schema_asks_and_read_again(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    results = json.loads((folder / "results.json").read_text())
    values = results["toy:all"]["measures"]["paraphrastic_consistency"]
    values["confidence_interval"]["paraphrastic_consistency_unbiased"] = [0.25, 0.75]
    (folder / "results.json").write_text(json.dumps(results))
    push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    files = hub.repos["dataset", "org/run"].files
    for name in ("toy-all", "org-other-swaps"):
        (tmp_path / f"{name}.json").write_bytes(files[f"every_eval_ever/{name}.json"].data)
        record = json.loads(files[f"every_eval_ever/{name}.json"].data)
        assert _RECORD | {"evaluation_results", "evaluation_timestamp"} == set(record)
        assert record["retrieved_timestamp"] == "1767323045"
        assert {"source_type", "source_organization_name", "evaluator_relationship"} < set(record["source_metadata"])
        assert record["source_metadata"]["evaluator_relationship"] == "third_party"
        for one in record["evaluation_results"]:
            assert set(one) == _NUMBER
            metric, score = one["metric_config"], one["score_details"]["score"]
            assert metric["score_type"] == "continuous"
            assert metric["min_score"] <= score <= metric["max_score"]
            assert one["source_data"]["source_type"] == "hf_dataset"
            assert all(isinstance(text, str) for text in one["score_details"]["details"].values())
    read = pc.read_evaluations(tmp_path / "toy-all.json", tmp_path / "org-other-swaps.json")
    first = read.iloc[0]
    assert (first["model"], first["set"]) == ("ada/a-model", "toy:all")
    assert first["measure"] == "paraconsist.paraphrastic_consistency.paraphrastic_consistency_unbiased"
    assert first["value"] == values["paraphrastic_consistency_unbiased"]
    assert (first["low"], first["high"], first["confidence_level"]) == (0.25, 0.75, 0.95)
    assert first["signature"] == values["signature"]
    assert list(read["measure"])[1:] == ["accuracy", "paraconsist.symmetric_inconsistency.inconsistency", "accuracy"]
    number = {"metric_config": {"metric_name": "Accuracy"}, "score_details": {"score": 62.5}}
    foreign = {"model_info": {"id": "a/b"}, "evaluation_results": [{"evaluation_name": "GPQA", **number}]}
    (tmp_path / "foreign.json").write_text(json.dumps(foreign))
    row = pc.read_evaluations(tmp_path / "foreign.json").iloc[0]
    assert (row["model"], row["set"], row["measure"], row["value"]) == ("a/b", "GPQA", "Accuracy", 62.5)
    for wrong in ({}, {**foreign, "evaluation_results": [{"score_details": {}}]}):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(pc.InputError, match="records of Every Eval Ever"):
            pc.read_evaluations(tmp_path / "wrong.json")


@pytest.mark.slow
def test_the_command_line_stays_here(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    for name in ("run", "results"):
        record = json.loads((folder / f"{name}.json").read_text())
        for one in (record,) if name == "run" else record.values():
            one |= {"command": ["paraconsist", "run", "--output", str(tmp_path)]}
        (folder / f"{name}.json").write_text(
            json.dumps(record | ({"options": {"output": str(tmp_path)}} if name == "run" else {}))
        )
    push("run", folder, "--repo", "org/run")
    for name in ("run.json", "results.json"):
        assert str(tmp_path) not in hub.repos["dataset", "org/run"].files[name].data.decode()


@pytest.mark.slow
def test_a_measure_that_is_not_known_here_is_named_and_left_off_the_card(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    results = json.loads((folder / "results.json").read_text())
    results["toy:all"]["measures"]["odd"] = {"odd": 0.5}
    (folder / "results.json").write_text(json.dumps(results))
    printed = push("run", folder, "--repo", "org/run", "--benchmark", "toy=org/toy")
    assert "unknown measures, which the card leaves out: odd." in printed
    files = hub.repos["dataset", "org/run"].files
    assert "odd" not in files["README.md"].data.decode()
    assert "odd" not in files[".eval_results/toy-all.yaml"].data.decode()
    assert json.loads(files["results.json"].data) == results


def test_undefined_values_have_no_entry_and_every_measure_has_a_headline():
    values = {"signature": "s", "confidence_interval": {}, "inconsistency": None, "change_rate": float("nan")}
    results = {f"org/x:{name}": {"measures": {name: values}} for name in scored_measures()}
    assert eval_result_entries(results, {}) == {}
    values |= {measure.headline: 0.25 for measure in scored_measures().values()}
    found = eval_result_entries(results, {})
    assert {name: [entry.value for entry in entries] for name, entries in found.items()} == {
        name: [0.25] for name in results
    }


@pytest.mark.slow
def test_the_card_of_a_run_shows_its_numbers(hub, tmp_path):
    folder = write_run(tmp_path / "run")
    push("run", folder, "--repo", "org/run")
    results = json.loads((folder / "results.json").read_text())
    card = hub.repos["dataset", "org/run"].files["README.md"].data.decode()
    values = results["toy:all"]["measures"]["paraphrastic_consistency"]
    assert values["confidence_interval"]["paraphrastic_consistency_unbiased"] == [None, None]  # of few buckets
    row = f"| {values['paraphrastic_consistency_unbiased']:.4f} |  | {values['accuracy']:.4f} | 1.0000 |"
    assert row in card
    assert card_data(card)["pretty_name"] == "Consistency of ada/a-model"
    assert values["signature"] in card


@pytest.mark.slow
def test_a_folder_that_is_no_scored_run(hub, tmp_path):
    where = ("--repo", "org/run")
    push("run", tmp_path, *where, fails="`folder` must hold a readable run.json")
    folder = write_run(tmp_path / "run")
    (folder / "results.json").write_text("no JSON")
    push("run", folder, *where, fails="`folder` must hold a readable results.json")
    (folder / "results.json").unlink()
    push("run", folder, *where, "--benchmark", "x=org/x", fails="`benchmark` must name sets of the run: .*; got 'x'")
    push("run", folder, *where, "--benchmark", "toy", fails="`benchmark` must be items of the form SET=NAMESPACE/NAME")
    push("run", folder, *where, "--benchmark", "toy=x", fails="`benchmark` must give a repository as NAMESPACE/NAME")
    for path in folder.glob("predictions/*"):
        path.unlink()
    push("run", folder, *where, fails=r"`folder` must hold predictions/\*.parquet")


@pytest.mark.slow
@pytest.mark.faults
def test_a_run_from_python_is_scored_when_it_is_pushed(hub, tmp_path):
    """`paraconsist.run` leaves no results.json, and its folder was refused."""
    questions = [{"bucket_id": f"b{i // 3}", "text": f"text {i}", "label": i // 3 % 2} for i in range(36)]
    run = pc.run(
        lambda prompts: ["positive"] * len(prompts), pd.DataFrame(questions), output=tmp_path / "run", task="sentiment"
    )
    push("run", run.folder, "--repo", "org/run")
    files = hub.repos["dataset", "org/run"].files
    assert json.loads(files["results.json"].data) == run.score().to_dict()
    assert "results.json" in states(push("run", run.folder, "--repo", "org/another", "--dry-run"))
    assert not (run.folder / "results.json").exists()
    assert "Nothing to send" in push("run", run.folder, "--repo", "org/run")


@pytest.mark.slow
def test_a_model_repository_is_no_place_for_a_run(hub, tmp_path):
    hub.create("model", "ada/a-model")
    message = "`repo` must be new, or name a dataset; got 'ada/a-model'. There is a model of this name."
    push("run", write_run(tmp_path / "run"), "--repo", "ada/a-model", fails=message)


def _pushed(folder, answers, **columns):
    """Return the push of a run of a function on 12 problems, in 3 wordings each, and its files."""
    rows = {"bucket_id": [f"b{i // 3}" for i in range(36)], "question": [f"text {i}" for i in range(36)], **columns}
    run = pc.run(lambda prompts: answers, pd.DataFrame(rows), output=folder, name="__f__", version="1")
    pushed = run_dataset(run.folder, "org/run", benchmarks={"table": "org/set"})
    return pushed, {file.path: file.content for file in pushed.files}


def test_a_constant_answer_gets_no_entry_on_a_models_page(tmp_path):
    """Its consistency of 1 was sent as the best there is, where page, gate and leaderboard refuse to judge it."""
    pushed, files = _pushed(tmp_path / "run", ["yes"] * 36, expected=["yes"] * 18 + ["no"] * 18)
    assert not [path for path in files if path.startswith(".eval_results")]
    for told in (pushed, run_dataset(tmp_path / "run", "org/run")):  # `--benchmark` would not help
        assert "No .eval_results for table: the value is undefined, or says nothing of the model." in told.notes
        assert "--benchmark" not in " ".join(told.notes)
    [number] = json.loads(files["every_eval_ever/table.json"])["evaluation_results"]
    assert (number["metric_config"]["metric_id"], number["score_details"]["score"]) == ("accuracy", 0.5)
    assert "every prediction is 'yes'" in files["README.md"].decode()


def test_the_card_of_a_run_without_gold_labels_shows_the_wording_change(tmp_path):
    """It said `undefined`, and nothing else."""
    _, files = _pushed(tmp_path / "run", ["yes" if i % 3 or i < 18 else "no" for i in range(36)])
    card = files["README.md"].decode()
    assert "| table | wording_change | 0.3333 |" in card
    assert "undefined |" not in card
    assert "- table: `wording_change|" in card
    [entry] = parse_eval_result_entries(yaml.safe_load(files[".eval_results/table.yaml"]))
    assert (entry.task_id, round(entry.value, 4), "lower is better" in entry.notes) == (
        "default-wording_change",
        0.3333,
        True,
    )
    [number] = json.loads(files["every_eval_ever/table.json"])["evaluation_results"]
    assert number["metric_config"]["metric_id"] == "paraconsist.wording_change.wording_change"


def test_labels_and_names_are_text_on_the_card_of_a_file(tmp_path):
    """A label `<pos>` was a tag of HTML, which shows nothing, and `__set__` a bold word."""
    rows = [{"bucket_id": label, "text": label, "label": label} for label in ("<pos>", "ne|g")]
    (tmp_path / "__set__.jsonl").write_text("\n".join(map(json.dumps, rows)))
    push = own_dataset(tmp_path / "__set__.jsonl", "org/mine", tmp_path, task="sentiment")
    card = push.files[0].content.decode()
    assert "| labels | &lt;pos&gt;, ne\\|g |" in card
    assert "# \\_\\_set\\_\\_" in card
