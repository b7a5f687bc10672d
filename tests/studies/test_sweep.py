"""Sweeps: shares by group, a grid that grows and goes on, processes, summaries and figures."""

import json
import os
import re
import shutil
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command, command, done, in_process, refused, write
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model
from helpers.processes import Forked, launch
from helpers.rows import easy_rows, write_csv
from helpers.study_rows import bucket_rows

from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.files import locked
from paraconsist.measures.catalogue import scored_measures
from paraconsist.models.training.data import Examples, context_keys, sample_share
from paraconsist.running.checking import check_folder
from paraconsist.running.processes import alone
from paraconsist.studies.options import SweepOptions
from paraconsist.studies.sweep import (
    Cell,
    CellResult,
    SweepWork,
    cells_of,
    difference_over_seeds,
    hashes_of,
    summarise,
    sweep,
    trend,
)


def examples(sizes: list[int], labels: list[int] | None = None) -> Examples:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    said = labels or [i % 2 for i in range(len(groups))]
    return Examples(tuple((("t", str(i)),) for i in range(len(groups))), tuple(said), 0, tuple(groups.tolist()))  # type: ignore[arg-type]


def test_a_share_is_of_whole_groups_and_smaller_ones_lie_in_larger_ones() -> None:
    rows = examples([1, 2, 3, 4] * 25)
    drawn = {s: sample_share(rows, s, 3, ["no", "yes"]) for s in (0.05, 0.1, 0.5, 1.0)}
    assert [len(set(part.contexts)) for part in drawn.values()] == [5, 10, 50, 100]  # type: ignore[arg-type]
    assert drawn[1.0] is rows
    previous: set = set()
    for part in drawn.values():
        assert previous <= set(part.inputs)
        previous = set(part.inputs)
        for group in set(part.contexts or ()):
            assert (part.contexts or ()).count(group) == (rows.contexts or ()).count(group)
    assert sample_share(rows, 0.1, 4, ["no", "yes"]).inputs != drawn[0.1].inputs
    assert list(drawn[0.5].inputs) == [given for given in rows.inputs if given in set(drawn[0.5].inputs)]


def test_a_share_in_which_a_label_is_missing_is_refused() -> None:
    refuses("none labelled yes", sample_share, examples([1] * 100, labels=[0] * 99 + [1]), 0.02, 0, ["no", "yes"])


def test_contexts_are_the_tasks_own_or_those_asked_for() -> None:
    columns = {"premise": ["a", "a", "b"], "hypothesis": ["x", "x", "x"], "update": ["1", "2", "3"]}
    task, said = get_task("defeasible_nli"), {"function": "train", "name": "rows"}
    assert context_keys(columns, task, None, range(3), **said) == [0, 0, 1]
    assert context_keys(columns, task, ["hypothesis"], range(3), **said) == [0, 0, 0]
    ready = {"sentence1": ["a x", "a  x", "b x"], "sentence2": ["1", "2", "3"]}
    assert context_keys(ready, task, None, range(3), **said) == [0, 0, 1]
    assert context_keys({"text": ["a", "a", "b"]}, get_task("topic"), None, range(3), **said) == [0, 0, 1]
    refuses("be columns of rows", context_keys, columns, task, ["nothing"], range(3), **said)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_csv(tmp_path / "train.csv", easy_rows(160))
    write_csv(tmp_path / "toy.csv", bucket_rows(15))
    return tmp_path


def options(folder: Path, **more) -> SweepOptions:
    given = {
        "output": folder / "sweep",
        "models": ["bow"],
        "sets": [str(folder / "toy.csv")],
        "shares": (0.2, 1.0),
        "seeds": (0, 1),
        "training": {"train_file": folder / "train.csv", "epochs": 1.0},
        "device": "cpu",
        "n_resamples": 20,
    }
    return SweepOptions(**{**given, **more})


def test_a_grid_has_every_combination_and_begins_with_the_largest() -> None:
    grid = {"models": ["bow", "org/m"], "shares": (0.1, 1.0), "seeds": (0, 1)}
    cells = cells_of(SweepOptions(output=Path("x"), sets=["s"], vary={"epochs": [1.0, 2.0], "mlp_size": [4]}, **grid))
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 2
    assert [cell.share for cell in cells] == [1.0] * 8 + [0.1] * 8
    assert cells[0] == Cell("bow", 1.0, 0, (("epochs", 1.0), ("mlp_size", 4)))
    assert cells[0].name == "bow_share-1_epochs-1.0_mlp_size-4_seed-0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shares": (0.0,)}, "shares"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"vary": {"nothing": [1]}}, "be options of training"),
        ({"vary": {"seed": [1]}}, "be options of training"),
        ({"jobs": 0}, "jobs"),
    ],
)
def test_a_wrong_grid_is_refused(change: dict, message: str, tmp_path: Path) -> None:
    refuses(message, options, tmp_path, **change)


def stamps(folder: Path) -> dict[str, int]:
    return {file.parent.name: file.stat().st_mtime_ns for file in folder.glob("sweep/cells/*/cell.json")}


@pytest.mark.slow
def test_a_sweep_goes_on_grows_and_never_meets_old_results(files: Path) -> None:
    said = sweep(options(files, shares=(1.0,)))
    assert [cell["n_rows"] for cell in said["cells"]] == [160, 160]
    first = stamps(files)
    whole = sweep(options(files))
    assert [cell["share"] for cell in whole["cells"]] == [1.0, 1.0, 0.2, 0.2]
    assert first.items() <= stamps(files).items()  # what was done stays as it is
    assert [cell for cell in whole["cells"] if cell["share"] == 1.0] == said["cells"]
    assert set(whole["cells"][0]["sets"]["toy"]) == {"paraphrastic_consistency", "semantic_inconsistency"}
    assert not list(files.glob("sweep/cells/*/model/*.safetensors"))
    write_csv(files / "toy.csv", bucket_rows(14))
    sweep(options(files, shares=(1.0,)))
    assert len(stamps(files)) == 6  # a changed set has cells of its own


def test_a_cell_is_kept_exactly_while_what_it_reads_stays_as_it_is(files: Path) -> None:
    """Another model's folder made all cells anew; a changed folder of rows, or varied file, met old results."""
    (files / "set").mkdir()
    for name in ("model", "other"):
        (files / name).mkdir()
        (files / name / "config.json").write_text("{}")
        (files / name / "model.safetensors").write_text(name)
    for name in ("set/rows.csv", "a.csv", "b.csv", "words.txt"):
        write_csv(files / name, bucket_rows(3))
    names = {name: str(files / name) for name in ("set", "model", "other", "a.csv", "b.csv")}
    training = {"train_file": files / "train.csv"}

    def folders(models: list[str], vary: list[str], **more: Path) -> dict[tuple[str, str], Path]:
        given = {"models": models, "sets": [names["set"]], "vary": {"train_file": vary}, "shares": (1.0,)}
        grid = options(files, **given, training={**training, **more}, seeds=(0,))
        work = SweepWork(grid, hashes_of(grid))
        return {(cell.model, dict(cell.varied)["train_file"]): work.folder(cell) for cell in cells_of(grid)}

    first = folders([names["model"]], [names["a.csv"]])
    (kept,) = first
    whole = folders([names["model"], names["other"]], [names["a.csv"], names["b.csv"]])
    assert len({*whole.values()}) == 4
    assert whole[kept] == first[kept]
    for model, name, more in (
        (names["model"], "set/rows.csv", {}),
        (names["model"], "a.csv", {}),
        (names["model"], "model/model.safetensors", {}),
        ("glove_bow", "words.txt", {"vectors": files / "words.txt"}),
    ):
        before = folders([model], [names["a.csv"]], **more)
        (files / name).write_text("premise\nchanged\n")
        assert folders([model], [names["a.csv"]], **more) != before, name


@pytest.mark.slow
def test_sets_of_a_text_are_of_the_training_s_task(tmp_path: Path) -> None:
    """`sweep` asked for `--task`, which was given: one text may be of sentiment or topic."""
    rows = [{"text": f"a {word} film {i}", "label": word} for i in range(8) for word in ("positive", "negative")]
    write_csv(tmp_path / "rows.csv", rows)
    write_csv(tmp_path / "set.csv", [{**row, "bucket_id": row["label"]} for row in rows[:6]])
    training = {"train_file": tmp_path / "rows.csv", "epochs": 1.0, "task": "sentiment"}
    found = sweep(options(tmp_path, sets=[str(tmp_path / "set.csv")], training=training, shares=(1.0,), seeds=(0,)))
    assert found["cells"][0]["sets"]["set"]["paraphrastic_consistency"]["n_buckets"] == 2


@pytest.mark.slow
def test_an_interrupted_cell_goes_on_and_ends_the_same(files: Path, monkeypatch) -> None:
    import paraconsist.studies.sweep as module

    expected = sweep(options(files, output=files / "whole"))["cells"]

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "run_and_score", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(options(files))
    assert not stamps(files)
    (trained,) = files.glob("sweep/cells/*/model/config.json")
    before = trained.stat().st_mtime_ns
    found = sweep(options(files))["cells"]
    assert trained.stat().st_mtime_ns == before  # not trained again
    for one, two in zip(expected, found, strict=True):
        assert {**one, "seconds": 0} == {**two, "seconds": 0}


@pytest.mark.slow
def test_two_processes_find_what_one_does_even_when_killed(files: Path) -> None:
    arguments = ["sweep", "--model", "bow", "--train-file", files / "train.csv", "--dataset", files / "toy.csv",
                 "--shares", "0.2,1", "--seeds", "0,1", "--set", "epochs=1", "--device", "cpu", "--n-resamples", 20,
                 "--output", files / "sweep", "--jobs", 2]  # fmt: skip
    process = Forked(arguments)
    deadline = time.time() + 120
    while not stamps(files) and process.poll() is None and time.time() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = stamps(files)
    assert done
    launch([*map(str, arguments)])
    assert done.items() <= stamps(files).items()
    found = json.loads((files / "sweep" / "sweep.json").read_text())["cells"]
    for one, two in zip(sweep(options(files, output=files / "alone"))["cells"], found, strict=True):
        assert one["sets"] == two["sets"]
    assert (files / "sweep" / "table.md").read_text().count("| bow, ") == 2


@pytest.mark.slow
def test_launched_processes_share_the_cells(files: Path, monkeypatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    cells = cells_of(options(files))
    mine = []

    def is_done(self: object, cell: Cell) -> bool:
        return cell in mine or (bool(mine) and cell in cells[::2])  # the other process has done its own by then

    monkeypatch.setattr("paraconsist.studies.sweep.SweepWork.do", lambda self, cell: mine.append(cell))
    monkeypatch.setattr("paraconsist.studies.sweep.SweepWork.is_done", is_done)
    assert sweep(options(files)) is None
    assert mine == cells[1::2]
    with alone(["4", "7"]):
        assert "RANK" not in os.environ
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"
    assert os.environ["RANK"] == "1"


def test_a_missing_label_is_said_before_anything_is_trained(tmp_path: Path) -> None:
    rows = easy_rows(100)
    for i, row in enumerate(rows):
        row.update(label=int(i == 0), premise=f"{row['premise']} {i}")
    write_csv(tmp_path / "train.csv", rows)
    write_csv(tmp_path / "toy.csv", bucket_rows(15))
    said = refused("sweep", "--model", "bow", "--train-file", tmp_path / "train.csv", "--dataset",
                   tmp_path / "toy.csv", "--shares", "0.02,1", "--output", tmp_path / "s")  # fmt: skip
    assert "be large enough that every label is among the rows drawn" in said
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_the_command_writes_table_and_figures(files: Path) -> None:
    line = ("sweep", "--model", "bow", "--train-file", files / "train.csv", "--dataset", files / "toy.csv",
            "--shares", "1", "--vary", "embedding_dim=2,4", "--set", "epochs=1", "--device", "cpu",
            "--n-resamples", 20, "--output", files / "sweep")  # fmt: skip
    assert "bow, embedding_dim 4, 100 %" in done(*line)
    names = {file.name for file in (files / "sweep").glob("*.png")}
    assert names == {"accuracy-consistency-toy.png", "pc-by-size-toy.png", "tau-by-size-toy.png"}
    assert "bow, embedding_dim 4, 100 %" in done(*line)  # its folder goes on with its figures in it


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["model/training.json", "run/run.json", "cell.json", "weights left"])
def test_a_killed_cell_is_done_again(files: Path, damage: str) -> None:
    small = options(files, shares=(1.0,), seeds=(0,))
    whole = sweep(small).to_dict()
    (cell,) = (files / "sweep" / "cells").iterdir()
    (cell / "cell.json").rename(files / "cell.json")
    if damage == "weights left":  # killed after the cell was finished, before its weights were removed
        (files / "cell.json").rename(cell / "cell.json")
        (cell / "model" / "model.safetensors").write_bytes(b"")
    else:
        shutil.rmtree(cell)
        (cell / damage).parent.mkdir(parents=True)
        (cell / damage).with_name(f".{Path(damage).name}.0-1-2.new.partial").write_text('{"status": "run')
    again = sweep(small).to_dict()
    for result in (whole, again):
        result["cells"][0].pop("seconds")
    assert json.dumps(again) == json.dumps(whole)
    assert not list(cell.rglob("*.safetensors"))


@pytest.mark.slow
def test_weights_that_a_sweep_removed_are_no_damage_and_can_be_had_afterwards(files: Path) -> None:
    small = options(files, shares=(1.0,), seeds=(0,))
    whole = sweep(small)["cells"]
    assert not [file for file in check_folder(files / "sweep") if file.problem]
    kept = sweep(replace(small, keep_models=True))["cells"]
    assert len(list(files.glob("sweep/cells/*/model/*.safetensors"))) == 1
    assert [{**cell, "seconds": 0} for cell in kept] == [{**cell, "seconds": 0} for cell in whole]


def test_one_sweep_at_a_time_writes_into_a_folder(files: Path) -> None:
    busy = pytest.raises(InputError, match="not be in use by another command")
    with locked(files / "sweep", "sweep", "output"), ThreadPoolExecutor(1) as other, busy:
        other.submit(sweep, options(files)).result()


def cell(share: float, seed: int, value: float, size: int = 10, model: str = "m") -> CellResult:
    sets = {"s": {"paraphrastic_consistency": {"paraphrastic_consistency_unbiased": value}}}
    return CellResult(f"{model}-{seed}", model, share, seed, {}, round(1000 * share), [], None, size, sets, 1.0)


def test_means_and_tests_over_seeds_are_scipys() -> None:
    from scipy.stats import kendalltau, ttest_ind

    few, many = [0.6, 0.7, 0.65], [0.8, 0.82, 0.9]
    cells = [cell(0.1, i, v) for i, v in enumerate(few)] + [cell(1.0, i, v) for i, v in enumerate(many)]
    result = summarise(cells)
    row = result.summary[0].figures["P_C"]
    assert (row.mean, row.sd, row.n) == (pytest.approx(0.65), pytest.approx(0.05), 3)
    (test,) = result.tests
    assert test.difference == pytest.approx(np.mean(few) - np.mean(many))
    assert test.p_value == test.corrected_p_value == pytest.approx(ttest_ind(few, many, equal_var=False).pvalue)
    by_rows = next(t for t in result.trends if t.axis == "n_rows")
    assert by_rows.kendall == pytest.approx(kendalltau([100] * 3 + [1000] * 3, few + many).statistic)
    assert np.isnan(next(t for t in result.trends if t.axis == "n_parameters").kendall)


def test_every_measure_has_a_figure() -> None:
    measures = {spec.name: {spec.headline: i / 64} for i, spec in enumerate(scored_measures().values())}
    (row,) = summarise([replace(cell(1.0, 0, 0.5), sets={"s": measures})]).summary
    for spec in scored_measures().values():
        assert row.figures[spec.symbol].mean == measures[spec.name][spec.headline]


@pytest.mark.parametrize(("n", "sentence"), [(4, "over 4 trainings, too few for a p."), (5, "over 5 trainings, p 0.")])
def test_the_trend_of_four_trainings_has_no_p(tmp_path: Path, capsys, monkeypatch, n: int, sentence: str) -> None:
    from paraconsist.cli import studies

    monkeypatch.setattr(studies, "find_spec", lambda name: None)  # without figures
    cells = [cell((0.1, 1.0)[i % 2], i // 2, 0.6 + i % 2 / 10 + i / 100) for i in range(n)]
    studies._show_grid(summarise(cells), tmp_path)
    assert sentence in capsys.readouterr().out


def test_what_seeds_cannot_tell_is_nan() -> None:
    assert np.isnan(difference_over_seeds([0.5], [0.6, 0.7])[1])
    assert difference_over_seeds([0.5, 0.5], [0.5, 0.5]) == (0.0, 1.0)
    assert np.isnan(difference_over_seeds([0.5, 0.5], [0.25, 0.25])[1])
    assert np.isnan(trend([(1.0, 2.0), (1.0, 3.0)])[0])


def test_configurations_that_differ_twice_are_not_compared() -> None:
    cells = [cell(s, i, 0.5 + i / 10) for s in (0.1, 1.0) for i in range(2)]
    others = [cell(s, i, 0.5 + i / 10, model="n") for s in (0.1, 1.0) for i in range(2)]
    assert len(summarise([*cells, *others]).tests) == 4


def questions(folder: Path) -> Path:
    rows = [{"bucket_id": f"q{i // 3}", "text": f"Wording {i}?", "expected": "yes"} for i in range(12)]
    return write(folder / "q.jsonl", rows)


def answer(text: str, body: dict) -> str:
    """Depends on the system message and on the draw."""
    n = sum(map(ord, text)) + (body["temperature"] > 0) * body.get("seed", 0)
    return "Yes." if n % 3 else "no"


def test_questions_cannot_be_trained_on(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"bucket_id": "a", "question": "Why?"}\n')
    given = ["--model", "bow", "--dataset", tmp_path / "q.jsonl", "--train-dataset", "sample:defeasible_nli"]
    assert "models are asked as they are" in refused("sweep", *given, "--output", tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_questions_are_asked_in_every_cell_as_run_asks_them(tmp_path: Path, monkeypatch) -> None:
    """`sweep` refused questions: several system messages and temperatures had to be written out by hand."""
    monkeypatch.setattr("paraconsist.cli.studies.find_spec", lambda name: None)  # without figures
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # 240 times
    given = ["--model", "toy", "--dataset", questions(tmp_path), "--n-resamples", 20, "--right", "contains"]
    given += ["--column", "question=text"]
    more = ["--vary", 'system=["Be brief, please.\\n| Or not."]', "--vary", "temperature=0,1", "--seeds", "3,4",
            "--set", "max-new-tokens=9", "--output", tmp_path / "sweep"]  # fmt: skip
    with FaultyServer(write=answer) as server:
        given += ["--endpoint", server.url]
        code, shown, said = command("sweep", *given, *more, "--dry-run")
        assert (code, len(server.received), (tmp_path / "sweep").exists()) == (0, 0, False)
        assert shown.count('"Be brief, please.') == 9  # three requests of each cell
        assert re.search(r"\nestimate of all 3 cells: 36 requests, .* Nothing was sent\.$", said)
        code, _, said = command("sweep", *given, *more, "--max-requests", 17)
        assert (code, len(server.received)) == (75, 17)
        total, first = said.index("estimate of all 3 cells: 36 requests"), said.index("estimate: 12 requests")
        assert total < said.index("The budget of 17 requests is not enough") < first
        shown = done("sweep", *given, *more)
        assert f"\nIn all {len(server.received) - 17} requests sent.\n" in shown
        assert "[3/3] estimate: 12 requests" in shown
        n = len(server.received)  # what was under way at the end of the budget is asked again
        assert 12 * 3 <= n <= 12 * 3 + 16  # of temperature 0 one seed is all
        more[3] = "temperature=0.0,1.0"  # which were other cells than 0 and 1
        assert done("sweep", *given, *more).splitlines()[:6] == shown.splitlines()[:6]
        assert len(server.received) == n
        alone = ["--system", "Be brief, please.\n| Or not.", "--temperature", 1, "--seed", 4, "--max-new-tokens", 9]
        done("run", *given, *alone, "--output", tmp_path / "alone")
    result = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert [cell["seed"] for cell in result["cells"]] == [3, 3, 4]
    cell = result["cells"][-1]
    (expected,) = json.loads((tmp_path / "alone" / "results.json").read_text()).values()
    for measure, values in cell["sets"]["q"].items():
        assert values.items() <= expected["measures"].get(measure, expected["wording"]).items()
    assert (cell["n_rows"], result["tests"], result["trends"]) == (12, [], [])
    assert "| toy, system Be brief, please. \\| Or not., temperature 1 | 12 | 2 |" in shown
    assert "wording change |" in shown
    assert "[1/3] toy, system Be brief, please. | Or not., temperature 0, seed 3: 12 rows, wording_change " in shown
    assert "each model is asked as it is. At a temperature of 0 one of the seeds is all." in shown
    folders = [tmp_path / "sweep" / "cells" / cell["name"] for cell in result["cells"]]
    assert all((folder / "results.json").is_file() for folder in folders)
    assert f"paraconsist report {' '.join(map(str, folders))}" in shown


def test_a_function_is_asked_in_every_cell(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("paraconsist.cli.studies.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    Path("answering_cells.py").write_text("def says(prompts):\n    return ['yes'] * len(prompts)\n")
    given = ["--model", "answering_cells:says", "--dataset", questions(tmp_path), "--column", "question=text"]
    shown = done("sweep", *given, "--vary", "template=[null]", "--n-resamples", 20, "--output", "sweep")
    assert "[1/1] questions: 12 distinct inputs asked." in shown
    assert "temperature" in refused("sweep", *given, "--vary", "temperature=1", "--output", "other")


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (["--request-field", "temperature=0.7"], [3, 4]),
        (["--request-field", "temperature=null"], [3, 4]),  # the server's own
        (["--vary", "request_fields=[{temperature: 0.7}, {temperature: 0}]"], [3, 3, 4]),
        (["--request-field", "temperature=0"], [3]),
    ],
)
def test_a_servers_temperature_draws_for_each_seed(given: list, seeds: list, tmp_path: Path, monkeypatch) -> None:
    """Only the option `temperature` counted: the other seeds were left out without a word."""
    monkeypatch.setattr("paraconsist.cli.studies.find_spec", lambda name: None)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    common = ["--model", "toy", "--dataset", questions(tmp_path), "--column", "question=text", "--n-resamples", 20]
    common += ["--seeds", "3,4", "--limit", 3, "--output", tmp_path / "sweep"]
    with FaultyServer(write=lambda text, body: str(len(server.received))) as server:
        done("sweep", *common, "--endpoint", server.url, *given)
        assert len(server.received) >= 3 * len(seeds)
    cells = json.loads((tmp_path / "sweep" / "sweep.json").read_text())["cells"]
    assert sorted(cell["seed"] for cell in cells) == seeds


def test_after_ctrl_c_a_sweep_waits_for_paid_answers_as_a_run_does(tmp_path: Path, monkeypatch) -> None:
    """It ended two seconds later: up to 16 answers were paid and lost."""
    from paraconsist.models.endpoint import queue

    monkeypatch.setattr("paraconsist.cli.studies.find_spec", lambda name: None)
    seen: list[float] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
    try:
        with FaultyServer(write=lambda text, body: seen.append(queue.patience) or "yes") as server:
            given = ["--model", "toy", "--endpoint", server.url, "--dataset", questions(tmp_path), "--limit", 3]
            done("sweep", *given, "--column", "question=text", "--n-resamples", 20, "--output", tmp_path / "sweep")
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen[-3:] == [queue.GRACE] * 3  # after what finds out how the server answers
    assert queue.patience == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_sweep_that_is_killed_goes_on_and_asks_nothing_twice_but_what_was_under_way(tmp_path: Path, name: str):
    number, n_workers = getattr(signal, name), 2
    with FaultyServer(write=answer, delay=0.02) as server:
        given = ["sweep", "--model", "toy", "--endpoint", server.url, "--dataset", questions(tmp_path)]
        given += ["--column", "question=text", "--vary", "temperature=0,1", "--seeds", "1,2", "--n-resamples", 20]
        given += ["--concurrency", n_workers, "--output", tmp_path / "sweep"]
        for n_received in (4, 17):  # in the first cell, and in another
            process = Forked(given)
            while process.poll() is None and len(server.received) < n_received:
                time.sleep(0.001)
            process.send_signal(number)
            assert process.wait() == {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -signal.SIGKILL}[name]
        assert Forked(given).wait() == 0
        asked = Counter(json.dumps(one.body, sort_keys=True) for one in server.received if one.tag != "probe")
        assert len(asked) == 3 * 12
        assert asked.total() - len(asked) <= (2 * n_workers if name == "SIGKILL" else 0)
        n = len(server.received)
        assert Forked(given).wait() == 0
        assert len(server.received) == n
    assert len(json.loads((tmp_path / "sweep" / "sweep.json").read_text())["cells"]) == 3


def test_a_language_model_on_this_machine_is_swept_by_its_chat_template(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("paraconsist.cli.studies.find_spec", lambda name: None)
    save_language_model(tmp_path / "model", chat=True)
    warned = Command(partial(in_process, warn="ignore"))  # answers are cut
    shown = warned.done("sweep", "--model", tmp_path / "model", "--dataset", questions(tmp_path), "--vary",
                        "system=null,Be brief.", "--set", "max_new_tokens=3", "--device", "cpu", "--same", "exact",
                        "--column", "question=text", "--n-resamples", 20, "--output", tmp_path / "sweep")  # fmt: skip
    assert "| model, system Be brief. | 12 | 1 |" in shown
    assert "| model, no system | 12 | 1 |" in shown
    (file,) = tmp_path.glob("sweep/cells/model_system-Be-brief._seed-0_*/run.json")
    (run,) = json.loads(file.read_text())["models"].values()
    assert (run["chat"], run["system"], run["max_new_tokens"]) == ("True", "Be brief.", "3")


def test_lines_of_the_table_stand_as_the_grid_was_given() -> None:
    """Options were sorted as texts: 16 came before 8."""
    from paraconsist.studies.plots import markdown_table

    cells = [replace(cell(share, 0, 0.5), varied={"mlp_size": size}) for share in (1.0, 0.5) for size in (8, 16)]
    lines = [line for line in markdown_table(summarise(cells).summary).splitlines() if "mlp_size" in line]
    found = [line.split(" | ")[0] for line in lines]
    assert found == [f"| m, mlp_size {size}, {share} %" for size in (8, 16) for share in (50, 100)]


@pytest.mark.parametrize(("values", "is_warned"), [((1.0, 0.8), False), ((0.7, 1.31), True)])
def test_a_pvap_above_100_has_the_warning_that_score_gives(values: tuple, is_warned: bool) -> None:
    from paraconsist.scoring.score import ABOVE_ALL
    from paraconsist.studies.plots import markdown_table

    cells = []
    for model, value in zip("ab", values, strict=True):
        of_set = {"paraphrastic_consistency": {"pvap_unbiased": value}}
        cells.append(replace(cell(1.0, 0, 0.5, model=model), sets={"s": of_set}))
    lines = markdown_table(summarise(cells).summary).splitlines()
    assert lines[-2:] == ["", f"{ABOVE_ALL}."] if is_warned else ABOVE_ALL not in " ".join(lines)


def test_models_of_one_name_in_two_folders_are_two_configurations() -> None:
    cells = [cell(1.0, 0, 0.5, model="a/m"), cell(1.0, 0, 0.7, model="b/m")]
    rows = summarise(cells).summary
    assert [(row.configuration, row.n_seeds) for row in rows] == [("m, 100 %", 1), ("m, 100 % (b/m)", 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--vary", "temperatures=0,1"], "Did you mean `temperature`?"),
        (["--vary", "seed=1,2"], "must be left to the sweep"),
        (["--set", "seed=5", "--seeds", "1,2"], "must be left to the sweep"),  # the same answers, paid twice
        (["--vary", "model=a,b"], "must be left to the sweep"),  # two cells of one model
        (["--vary", "system=[]"], "`--vary` must be a list of at least one"),
        (["--set", "epochs=3"], "`epochs` must be a parameter"),
        (["--eval-file", "rows.csv"], "`--eval-file` must be a parameter"),
        (["--vary", "temperature=1,1.0"], "`--vary` must hold each value of temperature once; got 1.0"),
        (["--vary", "temperature=hot"], "`--vary` must have options of the right kind"),
        (["--shares", "0.5,1"], "`--shares` must be given only with rows to train on"),
        (["--jobs", "2"], "`--jobs` must be given only with rows to train on"),
        (["--vary", "request_fields=[{top_p: 1}]"], "`--request-field` must be given only with `--endpoint`"),
        (
            ["--endpoint", "http://x/v1", "--seeds", "1,2", "--set", "temperature=1", "--request-field", "seed=5"],
            "the seed to",
        ),
        (["--dry-run"], "`--dry-run` must be given only with `--endpoint`"),
        (["--train-file", "rows.csv", "--dry-run"], "`--dry-run` must be given only where nothing is trained"),
        (["--concurrency", "3"], "`--concurrency` must be given only with `--endpoint`"),
        (["--same", "nothing"], "`--same` must"),
        (["--train-file", "rows.csv"], "`--column` must be given only where nothing is trained"),
    ],
)
def test_what_only_trainings_or_models_have_is_refused(given: list, message: str, tmp_path: Path) -> None:
    common = ["--model", "toy", "--dataset", questions(tmp_path), "--column", "question=text"]
    common += ["--output", tmp_path / "sweep"]
    assert message in refused("sweep", *common, *given)
    assert not (tmp_path / "sweep" / "sweep.json").exists()
