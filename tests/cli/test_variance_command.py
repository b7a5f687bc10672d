"""`paraconsist variance`: tables, JSON that equals the library, logs, several files, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.logs import inspect_log
from helpers.report import write_run

import paraconsist as pc
from paraconsist.data.predictions import write_predictions

RNG = np.random.default_rng(0)
PROBLEM, WORDING = np.repeat(np.arange(12), 10), np.tile(np.repeat(["a", "b", "c", "d", "e"], 2), 12)
REPEAT = np.tile([1, 2], 60)
ANSWER = (RNG.random(120) < np.repeat(RNG.random(12), 10)).astype(int)
LEVELS = ["--level", "problem=bucket", "--level", "wording=variant"]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    columns = {
        "bucket_id": PROBLEM,
        "variant": WORDING,
        "epoch": REPEAT,
        "prediction": ANSWER,
        "label": np.ones(120, int),
    }
    pq.write_table(pa.table({**columns, "score": ANSWER * 0.5}), tmp_path / "answers.parquet")
    return tmp_path / "answers.parquet"


def test_the_json_is_the_librarys_and_the_table_shows_it(command: Command, answers: Path, tmp_path: Path) -> None:
    found = command.json("variance", answers, *LEVELS, "--plots", tmp_path / "plots")
    expected = pc.variance_components(ANSWER, {"problem": PROBLEM, "wording": WORDING}).to_dict()
    assert found.pop("outcome") == "correct"
    assert found["variance"] == expected["variance"]
    assert found["doubled"] == expected["doubled"]
    assert found["confidence_interval"]["variance/wording"] == [None, None]
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        f"variance-components.{kind}" for kind in ("pdf", "png", "svg")
    }
    out = command.done("variance", answers, *LEVELS, "--level", "repeat=epoch", "--nested", "repeat")
    for text in (
        "correct, mean",
        "problem x wording",
        "repeat is nested in",
        "Dependability of the problem means",
        "calls",
    ):
        assert text in out
    assert "no interval over fewer than 8 values of a level: wording" in out


@pytest.mark.faults
@pytest.mark.parametrize(
    "given",
    [
        ["--exclude", "marked.csv"],
        ["--labelled"],
        ["--original-prediction", "prediction"],
        ["--label-names", "no,yes"],
        ["--groups-from", "groups.csv"],
        ["--classes", "classes.csv", "--same", "text"],
    ],
)
def test_rows_that_are_not_left_out_are_not_said_to_be(given: list[str], command: Command, answers: Path) -> None:
    """They had no effect, without a word: of pairs half of the answers were not read."""
    assert f"`{given[0]}` must not be given: all rows" in command.refused("variance", answers, *LEVELS, *given)


@pytest.mark.faults
def test_answers_that_could_not_be_read_agree_with_no_other(command: Command, tmp_path: Path) -> None:
    """Two of them were one and the same answer here, and two in the wording change; also in two files."""
    answers = pd.DataFrame({"bucket_id": PROBLEM, "variant": WORDING, "prediction": ["no", "yes"] * 60})
    answers.loc[::3, "prediction"] = None
    apart = answers.assign(prediction=answers.prediction.fillna(pd.Series([f"own {row}" for row in range(120)])))
    for name, table in (("unread", answers), ("apart", apart)):
        for part, rows in (("1", table[:60]), ("2", table[60:])):
            rows.to_csv(tmp_path / f"{name}{part}.csv", index=False)
    found, expected = (
        command.json(
            "variance", tmp_path / f"{name}1.csv", tmp_path / f"{name}2.csv", *LEVELS, "--outcome", "prediction"
        )
        for name in ("unread", "apart")
    )
    assert found["variance"] == expected["variance"]


@pytest.mark.faults
def test_free_text_without_gold_has_components(command: Command, tmp_path: Path) -> None:
    """A run of questions without accepted answers, and a table with a comparer, were asked for a column of labels."""
    texts = [f"It is {['five', 'six'][value]}." for value in ANSWER]
    questions = {
        "bucket_id": PROBLEM.astype(str),
        "question": [f"{p}{w}{r}?" for p, w, r in zip(PROBLEM, WORDING, REPEAT, strict=True)],
    }
    pc.run(lambda _: texts, questions, output=tmp_path / "run", version="1", batch_size=120)
    table = pa.table({"bucket_id": PROBLEM, "prediction": texts, "example_id": np.arange(120)})
    pq.write_table(table, tmp_path / "answers.parquet")
    levels = ["--level", "problem=bucket", "--level", "wording=example"]
    expected = pc.variance_components(texts, {"problem": PROBLEM, "wording": np.arange(120)}).to_dict()["variance"]
    for path in (tmp_path / "run", tmp_path / "answers.parquet"):
        for same in ([], ["--same", "number"]):
            found = command.json("variance", path, *levels, "--outcome", "prediction", *same)["variance"]
            assert found == pytest.approx(expected, abs=1e-12)
        said = command.refused("variance", path, *levels)
        assert "Without gold labels, take the answers themselves: prediction." in said
    assert "`--label` must name a column" in command.refused("variance", path, *levels, "--label", "gold")


def test_outcomes_may_be_columns_and_labels(command: Command, answers: Path) -> None:
    right, score, labels = (
        command.json("variance", answers, *LEVELS, "--outcome", outcome)["variance"]
        for outcome in ("correct", "score", "prediction")
    )
    for name, value in right.items():
        assert score[name] == pytest.approx(value / 4)
        assert labels[name] == pytest.approx(2 * value)  # two labels: the sum of two equal variances


def test_answers_need_no_gold_labels(command: Command, answers: Path, tmp_path: Path) -> None:
    found = command.json("variance", answers, *LEVELS, "--outcome", "prediction")
    pq.write_table(pq.read_table(answers).drop_columns(["label"]), tmp_path / "unlabelled.parquet")
    assert command.json("variance", tmp_path / "unlabelled.parquet", *LEVELS, "--outcome", "prediction") == found


def test_several_files_are_levels(command: Command, answers: Path, tmp_path: Path) -> None:
    other = pq.read_table(answers).set_column(3, "prediction", pa.array(1 - ANSWER))
    pq.write_table(other, tmp_path / "other.parquet")
    levels = [*LEVELS, "--level", "judge=file"]
    found = command.json("variance", answers, tmp_path / "other.parquet", *levels)
    assert found["n_values"] == {"problem": 12, "wording": 5, "judge": 2}
    assert found["n_rows"] == 240


@pytest.mark.faults
@pytest.mark.filterwarnings("default::UserWarning")
def test_files_of_two_tasks_whose_ids_are_equal_are_warned_of(command: Command, answers: Path, tmp_path: Path) -> None:
    """Row 3 of one task and row 3 of another were one problem, without a word."""
    table = pq.read_table(answers)
    pq.write_table(table.set_column(4, "label", pa.array(PROBLEM % 3)), tmp_path / "other.parquet")
    pq.write_table(table.set_column(3, "prediction", pa.array(1 - ANSWER)), tmp_path / "again.parquet")
    warning = "8 of 12 problems have other gold labels in other than in the first file (such as 0)"
    assert f"warning: {warning}" in command.done("variance", answers, tmp_path / "other.parquet", *LEVELS)
    assert "gold labels" not in command.done("variance", answers, tmp_path / "again.parquet", *LEVELS)


def test_a_log_with_epochs(command: Command) -> None:
    levels = ["--level", "problem=bucket", "--level", "repeat=epoch", "--nested", "repeat"]
    found: Any = command.json("variance", inspect_log("yes-no"), "--bucket", "question_id", *levels)
    assert found["variance"].keys() <= {"problem", "repeat", "residual", "residual + repeat"}


def test_a_run_folder(command: Command, tmp_path: Path) -> None:
    found = command.json("variance", write_run(tmp_path / "run"), "--level", "problem=bucket")
    assert {*found["variance"]} == {"problem", "residual"}


def test_what_is_refused(command: Command, answers: Path, tmp_path: Path) -> None:
    for options, sentence in (
        (["--level", "problem"], "`--level` must be items of the form NAME=VALUE"),
        (["--level", "problem=question"], "`--level` must name a column of the predictions; got 'question'"),
        (["--level", "repeat=trial", "--trial", "w"], "`--trial` must name a column of the predictions; got 'w'"),
        ([*LEVELS, "--outcome", "quality"], "`--outcome` must name a column"),
        ([*LEVELS, "--nested", "judge"], "`--nested` must be among wording"),
    ):
        assert sentence in command.refused("variance", answers, *options)
    table = pq.read_table(answers)
    pq.write_table(table.set_column(1, "variant", pa.array([None] * 120, pa.string())), tmp_path / "empty.parquet")
    assert "without empty cells" in command.refused("variance", tmp_path / "empty.parquet", *LEVELS)
    pq.write_table(table.drop_columns(["label"]), tmp_path / "unlabelled.parquet")
    assert "prediction" in command.refused("variance", tmp_path / "unlabelled.parquet", *LEVELS)
    pq.write_table(table.append_column("model", pa.array(["a", "b"] * 60)), tmp_path / "models.parquet")
    refused = command.refused("variance", tmp_path / "models.parquet", "--level", "model=mdl")
    assert "`--level` must name a column of the predictions; got 'mdl'" in refused
    blank = table.append_column("blank", pa.array([None] + [1.0] * 119))
    pq.write_table(blank, tmp_path / "blank.parquet")
    for options, sentence in (
        (["--level", "problem=a.b"], "`--level`"),
        ([*LEVELS, "--outcome", "odd"], "hold numbers"),
    ):
        odd = table.append_column("odd", pa.array(["bad"] + ["1"] * 119))
        pq.write_table(odd, tmp_path / "odd.parquet")
        assert sentence in command.refused("variance", tmp_path / "odd.parquet", *options)
    assert "have no empty cell" in command.refused(
        "variance", tmp_path / "blank.parquet", *LEVELS, "--outcome", "blank"
    )


@pytest.mark.real_data
def test_the_documents_table_is_what_the_command_finds(command: Command, data_folder: Path) -> None:
    levels = ("--level", "model=model", "--level", "problem=item", "--level", "repeat=epoch", "--nested", "repeat")
    found = json.loads(command.done("variance", data_folder / "recorded" / "gpqa_epochs.csv", *levels, "--json"))
    page = (Path(__file__).parents[2] / "docs" / "howto" / "variance.md").read_text(encoding="utf-8")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    told = {line[0]: line[1:] for line in lines if line[0] in found["variance"]}
    assert told.keys() == found["variance"].keys()
    for name, (variance, interval, share, icc) in told.items():
        low, high = found["confidence_interval"][f"variance/{name}"]
        assert variance == f"{found['variance'][name]:.4f}"
        assert interval == ("" if low is None else f"[{low:.4f}, {high:.4f}]")
        assert share == f"{100 * found['share'][name]:.1f} %"
        assert icc == (f"{found['icc'][name]:.3f}" if name in found["icc"] else "")
    smaller = {row["level"]: round(100 * (1 - row["ratio"])) for row in found["doubled"]}
    assert (smaller["problem"], smaller["repeat"]) == (13, 1)


def test_systems_are_ranked_under_each_wording(command: Command, answers: Path, tmp_path: Path) -> None:
    table = pq.read_table(answers)
    models = {"small": 0.5, "large": 0.8, "middle": 0.6}
    for name, share in models.items():
        right = (np.random.default_rng(len(name)).random(120) < share).astype(int)
        pq.write_table(table.set_column(3, "prediction", pa.array(right)), tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in models]
    levels = ["--level", "model=file", *LEVELS, "--level", "repeat=epoch", "--nested", "repeat", "--rank", "wording"]
    found = command.json("variance", *files, *levels)["rankings"]
    outcomes = [pq.read_table(file)["prediction"].to_numpy() for file in files]
    columns = np.repeat([*models], 120), np.tile(WORDING, 3), np.tile(PROBLEM, 3)
    expected = pc.rankings(np.concatenate(outcomes), *columns)
    assert found["mean"] == pytest.approx(expected.mean)
    assert found["best"] == pytest.approx(expected.best)
    assert found["tau"] == pytest.approx(expected.tau)
    assert found["n_problems"] == 12  # the means of two repeats
    out = command.out("variance", *files, *levels)
    for text in (
        "Ranked under each wording",
        "tau of the rankings under two wordings",
        "of halves of the problems",
        "best, %",
    ):
        assert text in out
    for rank, sentence in (
        ("model", "`--rank` must be one of problem, wording, repeat"),
        ("judge", "`--rank` must be"),
    ):
        assert sentence in command.refused("variance", *files, *levels[:-1], rank)
    assert "must be numbers" in command.refused("variance", *files, *levels, "--outcome", "prediction")


@pytest.mark.real_data
def test_the_documents_rankings_are_what_the_command_finds(command: Command, data_folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "variance.md").read_text(encoding="utf-8")
    levels = (
        "--level",
        "model=model",
        "--level",
        "problem=question",
        "--level",
        "variant=variant",
        "--rank",
        "variant",
    )
    one = command.json("variance", data_folder / "recorded" / "dynamath.parquet", *levels)["rankings"]
    table = pd.read_csv(data_folder / "recorded" / "multiprompt.csv")
    table = table[(table["benchmark"] == "LMentry") & (table["task"] == "rhyming_word")]
    two = pc.rankings(table["accuracy"], table["model"], table["template"]).to_dict()
    assert (one["n_systems"], one["n_wordings"], one["n_problems"]) == (14, 10, 501)
    assert (two["n_systems"], two["n_wordings"]) == (16, 245)

    def short(value: float) -> str:
        return f"{value:.2f}".removeprefix("0")

    taus = [f"{short(x['tau'])} [{', '.join(map(short, x['confidence_interval']['tau']))}]" for x in (one, two)]
    assert f"| {' | '.join(taus)} |" in page
    assert f"| {short(one['tau_same'])}, {short(one['tau_other'])} | |" in page
    shares = [f"{100 * x['best'][next(iter(x['mean']))]:.1f} %" for x in (one, two)]
    assert f"| {' | '.join(shares)} |" in page
    five = [next(row["same_best"] for row in x["by_number"] if row["n"] == 5) for x in (one, two)]
    assert f"| {100 * five[0]:.1f} % | {100 * five[1]:.0f} % |" in page


@pytest.mark.faults
def test_files_of_one_name_in_two_folders_are_two(command: Command, answers: Path, tmp_path: Path) -> None:
    """They were one model, and so were the runs of two models of one set."""
    table = pq.read_table(answers)
    for folder, share in (("a", 0.3), ("b", 0.8)):
        right = (np.random.default_rng(1).random(120) < share).astype(int)
        (tmp_path / folder).mkdir()
        pq.write_table(table.set_column(3, "prediction", pa.array(right)), tmp_path / folder / "answers.parquet")
        write_run(tmp_path / f"run_{folder}")
    options = ("--level", "model=file", *LEVELS, "--rank", "wording")
    files = [tmp_path / folder / "answers.parquet" for folder in "ab"]
    assert {*command.json("variance", *files, *options)["rankings"]["mean"]} == {*map(str, files)}
    of_runs = ("--level", "model=file", "--level", "problem=bucket", "--nested", "problem")
    found = command.json("variance", *(tmp_path / f"run_{folder}" for folder in "ab"), *of_runs)
    assert found["n_values"]["model"] == 2


@pytest.mark.faults
@pytest.mark.parametrize("same", ["text", "tokens:0.9"])
def test_answers_in_free_text_are_compared_between_files(command: Command, tmp_path: Path, same: str) -> None:
    """A class is called by an answer of it, in each file by another: two judges that say the same differed in all."""
    cities, frames = ["Paris", "Rome", "Oslo", "Bern"], []
    for name, written in (("one", "{}"), ("two", "{}.")):
        answers = [written.format(cities[problem % 4]) for problem in PROBLEM]
        frames.append(pd.DataFrame({"bucket_id": PROBLEM, "variant": WORDING, "prediction": answers, "judge": name}))
        frames[-1].to_csv(tmp_path / f"{name}.csv", index=False)
    pd.concat(frames).to_csv(tmp_path / "both.csv", index=False)
    options = ["--level", "problem=bucket", "--level", "judge=judge", "--outcome", "prediction", "--same", same]
    found = command.json("variance", tmp_path / "one.csv", tmp_path / "two.csv", *options)
    assert found["variance"]["judge"] == found["variance"]["problem x judge"] == pytest.approx(0.0, abs=1e-12)
    assert found == command.json("variance", tmp_path / "both.csv", *options)
    write_predictions(tmp_path / "run.parquet", pa.Table.from_pandas(frames[1]), {"same": same})
    files = tmp_path / "run.parquet", tmp_path / "one.csv"
    assert command.json("variance", *files, *options)["variance"] == pytest.approx(found["variance"], abs=1e-12)
    assert "`--same` must be given, as it differs" in command.refused("variance", *files, *options[:-2])
