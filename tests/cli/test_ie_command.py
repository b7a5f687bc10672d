"""``paraconsist ie-test`` as people run it: whole experiments, kills, several processes, published files, bad input."""

import csv
import importlib.util
import json
import os
import random
import signal
import time

import numpy as np
import pytest
from helpers.ie_rows import LABELS, inference_rows, write_experiment
from helpers.processes import Forked, launch
from helpers.rows import write_csv

from paraconsist.measures.ie_test import ie_test
from paraconsist.studies.ie.runs import read_families


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    write_experiment(folder)
    return folder


def arguments(folder, output, *more):
    given = [f"--{split}={folder / f'{split}.csv'}" for split in ("train", "validation", "test")]
    given += ["--transformation=dictionary", f"--transformation-option=dictionary={folder / 'dictionary.csv'}"]
    return ["ie-test", *given, "--parameter=n_estimators=5", "--rhos=0,0.5,1", "--runs=2", f"--output={output}", *more]


@pytest.fixture(scope="module")
def undisturbed(folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("out") / "ie"
    done = launch(arguments(folder, output))
    return output, done.stderr + done.stdout


@pytest.mark.slow
def test_one_command_from_rows_to_a_decision(undisturbed):
    output, said = undisturbed
    assert "120 training, 30 validation and 60 test rows; dictionary changes" in said
    assert "6 trainings: 3 rhos x 2 runs." in said
    assert "gradient_boosting, dictionary: 6 runs, 60 test rows" in said
    table = json.loads((output / "results.json").read_text())["families"][0]
    assert [entry["rho"] for entry in table["by_rho"]] == [0.0, 0.5, 1.0]
    assert table["signature"] in said
    family = read_families(output)[0]
    assert (family.n_runs, set(family.n.tolist())) == (6, {60})
    record = json.loads((output / "experiment.json").read_text())
    assert (record["status"], record["n_trainings"]) == ("finished", 6)
    assert record["transformation"]["changes"]["test"]["n_changed"] > 30


@pytest.mark.slow
def test_plots_of_all_kinds_are_drawn(undisturbed):
    names = sorted(file.name for file in (undisturbed[0] / "plots").iterdir())
    assert names == sorted(
        f"{name}.{kind}"
        for name in ("accuracy", "difference", "p_values", "runs", "smallest_p")
        for kind in ("png", "svg", "pdf")
    )
    assert (undisturbed[0] / "plots" / "smallest_p.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.slow
def test_without_matplotlib_the_command_says_so(undisturbed, tmp_path, monkeypatch, command):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "matplotlib" else find(name, *a))
    said = command.done("ie-test", "--from", undisturbed[0], "--output", tmp_path)
    assert "no figures: matplotlib is not installed" in said
    assert not (tmp_path / "plots").exists()


def same_results(a, b):
    assert (a / "results.json").read_bytes() == (b / "results.json").read_bytes()
    assert (a / "matched.parquet").read_bytes() == (b / "matched.parquet").read_bytes()


@pytest.mark.slow
def test_two_processes_give_the_table_of_one(folder, undisturbed, tmp_path):
    launch(arguments(folder, tmp_path / "two", "--jobs=2"))
    same_results(tmp_path / "two", undisturbed[0])


@pytest.mark.slow
def test_processes_of_a_launcher_give_the_table_of_one(folder, undisturbed, tmp_path):
    """As torchrun starts them: RANK and WORLD_SIZE in the environment; the first one speaks."""
    line = arguments(folder, tmp_path / "ranks", "--no-plots")
    streams = [(tmp_path / f"{rank}.out", tmp_path / f"{rank}.err") for rank in "01"]
    started = [
        Forked(line, streams=files, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2")
        for rank, files in zip("01", streams, strict=True)
    ]
    codes = [process.wait() for process in started]
    said = [tuple(file.read_text() for file in files) for files in streams]
    assert codes == [0, 0], said
    assert "6 trainings" in said[0][1]
    assert said[1] == ("", "")
    same_results(tmp_path / "ranks", undisturbed[0])


@pytest.mark.slow
def test_killed_at_random_and_resumed_the_table_is_the_same(folder, undisturbed, tmp_path):
    """SIGKILL to the whole process group at random moments, one process or two, until it comes through."""
    rng = random.Random(0)
    killed = 0
    for attempt in range(6):
        process = Forked(arguments(folder, tmp_path / "ie", f"--jobs={1 + attempt % 2}", "--no-plots"))
        units = tmp_path / "ie" / "units"
        there = len(list(units.glob("*/rho-*.npz")))
        limit = time.monotonic() + 60
        while process.poll() is None and len(list(units.glob("*/rho-*.npz"))) <= there and time.monotonic() < limit:
            time.sleep(0.002)  # until one more unit is there
        time.sleep(rng.random() * 0.03)
        if process.poll() is None and killed < 2:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        code = process.wait()
        if code == 0:
            break
    assert code == 0
    assert killed > 0
    same_results(tmp_path / "ie", undisturbed[0])


def test_a_plan_trains_nothing(folder, tmp_path, command):
    said = command.done(arguments(folder, tmp_path / "ie", "--plan", "--budget=3", "--repeats=2"))
    assert "15 trainings: 3 trials of a search at rho 0, then 3 rhos x 2 runs x 2 trainings." in said
    assert "About" in said
    assert not (tmp_path / "ie").exists()


@pytest.mark.slow
def test_an_experiment_in_a_file(folder, undisturbed, tmp_path, command):
    config = tmp_path / "ie.yaml"
    config.write_text(
        "\n".join(f"{split}: {folder / f'{split}.csv'}" for split in ("train", "validation", "test"))
        + "\ntransformation: dictionary\ntransformation_option:\n"
        + f"  dictionary: {folder / 'dictionary.csv'}\n"
        + 'parameter:\n  n_estimators: 5\nrhos: "0:1:3"\nruns: 2\nplots: false\n'
    )
    command.done("ie-test", "--config", str(config), "--output", tmp_path / "ie")
    same_results(tmp_path / "ie", undisturbed[0])


@pytest.mark.slow
def test_deciding_again_without_training(undisturbed, tmp_path, command):
    found = command.json("ie-test", "--from", undisturbed[0])
    assert found == json.loads((undisturbed[0] / "results.json").read_text())
    said = command.done("ie-test", "--from", undisturbed[0] / "matched.parquet", "--rhos", "0.5", "--correction=holm")
    assert "holm over 2 run(s) at each of 1 rho(s), overall over 2" in said


@pytest.mark.slow
def test_several_experiments_side_by_side(undisturbed, tmp_path, command):
    copy = tmp_path / "other" / "matched.parquet"
    copy.parent.mkdir()
    copy.write_bytes((undisturbed[0] / "matched.parquet").read_bytes())
    both = command.json("ie-test", "--from", undisturbed[0], "--from", copy)
    assert [family["name"] for family in both["families"]] == [
        "gradient_boosting, dictionary (ie)",
        "gradient_boosting, dictionary (other)",
    ]
    assert both["hard_cases"]["n_families"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("names", [("original_correct", "transformed_correct"), ("A", "B")])
def test_matched_vectors_made_elsewhere(undisturbed, tmp_path, names, command):
    rows = [
        {
            "row": row,
            "rho": one.rho,
            "run": one.run,
            names[0]: int(a),
            names[1]: int(b),
            "label": LABELS[label],
            "model": "mine",
        }
        for one in read_families(undisturbed[0])[0].vectors()
        for row, (a, b, label) in enumerate(zip(one.original_correct, one.transformed_correct, one.label, strict=True))
    ]
    random.Random(0).shuffle(rows)
    table = command.json("ie-test", "--from", write_csv(tmp_path / "mine.csv", rows))
    ours = json.loads((undisturbed[0] / "results.json").read_text())
    assert table["families"][0]["name"] == "mine"
    for one, other in zip(table["families"][0]["runs"], ours["families"][0]["runs"], strict=True):
        assert one["p_values"] == other["p_values"]
    assert table["hard_cases"] == ours["hard_cases"]


@pytest.mark.real_data
def test_published_runs_through_the_command(data_folder, command):
    """Every golden of `matched_runs.csv` and the signal-to-noise ratios of Table 2."""
    with (data_folder / "ietest" / "matched_runs.csv").open(newline="") as file:
        published = {
            (f"{r['dataset']} {r['model']}", float(r["rho"]), int(r["batch"])): r for r in csv.DictReader(file)
        }
    file = data_folder / "ietest" / "matched_runs.csv"
    families = command.json("ie-test", "--from", file, "--ties=lower")["families"]
    runs = [(family["name"], run) for family in families for run in family["runs"]]
    assert len(runs) == len(published) == 1150
    assert command.json("ie-test", "--from", "published:ie", "--ties=lower")["families"] == families
    golden = [published[name, run["rho"], run["run"]] for name, run in runs]

    def column(name):
        return np.array([float(row[name]) for row in golden])

    np.testing.assert_allclose([run["statistic"] for _, run in runs], column("t_published"), rtol=1e-11, atol=0)
    np.testing.assert_allclose([run["p_value"] for _, run in runs], column("p_boot_exact_limit"), rtol=1e-9, atol=0)
    whole = command.json("ie-test", "--from", file, "--rhos=0,0.2,0.4,0.5,0.6,0.8,1")
    families = {family["name"]: family for family in whole["families"]}
    table = json.loads((data_folder / "ietest" / "snr_table2.json").read_text())["snr_table2"]
    for model, by_dataset in table.items():
        for dataset in ("snli", "mnli"):
            family = families[f"{dataset} {model}"]
            assert family["n_runs"] == 35
            assert family["overall"]["snr"] == pytest.approx(by_dataset[dataset]["snr_ddof0"], rel=1e-11)


@pytest.mark.real_data
@pytest.mark.parametrize(("method", "golden"), [("replay", "p_S1000"), ("mcnemar_replay", "mcnemar_boot_p")])
def test_published_vectors_through_the_command(data_folder, method, golden, command):
    vectors = data_folder / "ietest" / "vectors"
    said = command.json("ie-test", "--from", vectors, "--method", method)
    families = {family["name"]: family["runs"][0] for family in said["families"]}
    published = json.loads((vectors / "index.json").read_text())["vectors"]
    assert len(published) == len(families) == 4
    for vector in published:
        run = families[vector["file"].rpartition("_b")[0]]
        assert run["p_value"] == vector[golden]
        assert (run["n"], run["n10"], run["n01"]) == (vector["n"], vector["n10"], vector["n01"])
        assert run["collapsed"] is (vector["n10"] + vector["n01"] == 0)


def test_a_published_family_by_its_name(command):
    """The baseline of the paper on SNLI: 505 runs at 101 rhos."""
    (family,) = command.json("ie-test", "--from", "published:ie/snli/xgb")["families"]
    assert (family["name"], family["n_runs"]) == ("snli xgb", 505)
    assert "be published:ie or one of published:ie/" in command.refused("ie-test", "--from", "published:ie/snli/gpt")


def with_rows(folder, tmp_path, split, rows):
    """The arguments with other rows in one split."""
    path = write_csv(tmp_path / f"{split}.csv", rows)
    args = arguments(folder, tmp_path / "ie")
    return [f"--{split}={path}" if arg.startswith(f"--{split}=") else arg for arg in args]


def test_labels_that_are_missing(folder, tmp_path, command):
    rows = inference_rows(30)
    rows[7]["label"] = "-"
    said = command.refused(with_rows(folder, tmp_path, "train", rows))
    assert "`label` must hold a gold label in every row of" in said
    assert "got '-' at row 8" in said
    assert "--drop-unlabelled" in said
    nothing = [{k: v for k, v in row.items() if k != "label"} for row in inference_rows(30)]
    assert "`--label-column` must be a column of" in command.refused(with_rows(folder, tmp_path, "test", nothing))
    rows[7]["label"] = "maybe"
    said = command.refused(with_rows(folder, tmp_path, "train", rows))
    assert "must be one of entailment, neutral, contradiction, or a number from 0 to 2; got 'maybe' at row 8" in said


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--rhos=0,1.5", "`--rhos` must lie between 0 and 1; got 1.5"),
        ("--rhos=a", "`--rhos` must be numbers with commas between"),
        ("--rhos=0.5,0.5", "`--rhos` must be at least one number, each once"),
        ("--runs=0", "`--runs` must be a whole number of at least 1; got 0"),
        ("--validation-rows=2", "`--validation` must have at least as many rows as there are labels (3); got 2"),
        ("--model=xgbost", "`--model` must be one of gradient_boosting, gradient_boosting_tfidf, bow"),
        ("--parameter=n_estimators=0", "`parameters` must be values that it takes; got \"The 'n_estimators' parameter"),
        ("--parameter=depth=3", "`parameters` must be hyperparameters of gradient boosting: n_estimators"),
        ("--parameter=3", "`--parameter` must be items of the form NAME=VALUE"),
        ("--search=twice", "`--search` must be one of once, sample"),
        ("--method=guess", "`--method` must be one of exact, paper"),
        ("--transformation=synonims", "`name` must be one of"),
        ("--transform-columns=update", "`--transform-columns` must be among premise, hypothesis; got 'update'"),
        ("--text-columns=premise,claim", "`claim` must be a column of"),
        ("--from=x", "`--from` must be given without data"),
    ],
)
def test_options_that_cannot_be(folder, tmp_path, command, option, message):
    name = option.partition("=")[0]
    given = [one for one in arguments(folder, tmp_path / "ie") if not one.startswith(f"{name}=")]
    assert message in command.refused([*given, option])
    assert not (tmp_path / "ie" / "results.json").exists()


def test_rows_and_files_that_cannot_be(folder, tmp_path, command):
    header = tmp_path / "empty.csv"
    header.write_text("premise,hypothesis,label\n")
    args = [f"--test={header}" if a.startswith("--test=") else a for a in arguments(folder, tmp_path / "ie")]
    assert "`--test` must have at least one row" in command.refused(args)
    same = [{**row, "premise": "She sleeps", "hypothesis": "She sleeps now"} for row in inference_rows(30)]
    said = command.refused(with_rows(folder, tmp_path, "test", same))
    assert "`--transformation` must change at least one text" in said
    one = [{**row, "label": "neutral"} for row in inference_rows(30)]
    said = command.refused(with_rows(folder, tmp_path, "train", one))
    assert "`--train` must have rows of at least two labels; got 'neutral'" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rho,run,A,B\n0,1,1,2\n", "hold only 0 and 1, or true and false, in B; got 2 at row 0"),
        ("rho,run,A,B\n1.5,1,1,1\n", "hold rhos between 0 and 1"),
        ("rho,run,n,n11,n10,n01\n0,1,10,9,2,0\n", "have n11 + n10 + n01 at most n"),
        ("rho,run,n,n11,n10,n01\n0,1,10,5,2,0\n0,1,10,5,2,0\n", "hold each rho and run of v once"),
        ("rho,run,correct\n0,1,1\n", "have columns original_correct and transformed_correct"),
        ("run,A,B\n1,1,1\n", "have a column rho"),
    ],
)
def test_vectors_that_cannot_be(tmp_path, text, message):
    from paraconsist.errors import InputError
    from paraconsist.studies.ie.decision import decide

    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        decide(read_families(tmp_path / "v.csv"))
    assert message in str(caught.value)


@pytest.mark.slow
def test_files_that_are_no_vectors(undisturbed, tmp_path, command):
    (tmp_path / "cut.parquet").write_bytes((undisturbed[0] / "matched.parquet").read_bytes()[:-100])
    for name, must in (
        ("cut.parquet", "be a readable, whole file"),
        ("", "hold matched.parquet, or .npz files"),
        ("no", "name a file or folder that exists"),
    ):
        assert f"`--from` must {must}" in command.refused("ie-test", "--from", tmp_path / name)


def test_rows_of_one_group_are_swapped_together(tmp_path, command):
    rng = np.random.default_rng(0)
    table = tmp_path / "v.csv"
    lines = ["rho,run,row,premise,A,B"]
    for run in (1, 2):
        lost = rng.random(12) < 0.4
        lines += [f"0,{run},{i},p{i // 6},1,{int(not lost[i // 6])}" for i in range(72)]
    table.write_text("\n".join(lines))
    items, groups = (
        command.json("ie-test", "--from", table, *more)["families"][0] for more in ((), ("--group", "premise"))
    )
    for run, (one, grouped) in enumerate(zip(items["runs"], groups["runs"], strict=True)):
        direct = ie_test(
            [1] * 72,
            [int(line.rsplit(",", 1)[1]) for line in lines[1 + 72 * run : 73 + 72 * run]],
            [1] * 72,
            groups=[i // 6 for i in range(72)],
        )
        assert grouped["p_value"] == pytest.approx(direct.p_value)
        assert grouped["difference_interval"] == pytest.approx(direct.intervals[0])
        assert one["p_value"] < 0.001 < grouped["p_value"]
        assert (grouped["n"], grouped["n10"]) == (one["n"], one["n10"])
    assert "ci:tango-groups" in groups["signature"]
    (tmp_path / "c.csv").write_text("rho,run,n,n11,n10,n01\n0,1,10,5,2,0\n")
    for line, must in (
        (["--from", table, "--group", "no"], "name a column"),
        (["--from", table, "--group", "premise", "--method", "replay"], "be left out for a replay"),
        (["--from", tmp_path / "c.csv", "--group", "premise"], "be a column of a file with one row for each test row"),
        (["--train", table, "--output", tmp_path / "ie", "--group", "premise"], "be given with `--from` only"),
    ):
        assert f"`--group` must {must}" in command.refused("ie-test", line)
