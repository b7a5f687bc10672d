"""Every example runs as its first lines say, and what it prints is right."""

import importlib.util
import re
import runpy
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
import yaml
from helpers.metric_loading import load_metric
from helpers.models import tiny_encoder
from helpers.processes import launch
from helpers.rows import write_csv

from paraconsist.data.predictions import read_predictions
from paraconsist.measures.paraphrastic import paraphrastic_consistency

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
CONFIGS = sorted(path.name for path in EXAMPLES.glob("*.yaml"))
SAMPLE = "sample:defeasible_nli"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def predictions(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The predictions file that run_model.py leaves."""
    output = tmp_path_factory.mktemp("run") / "out"
    example("run_model").main(str(model), SAMPLE, output)
    return output / "predictions" / "sample-defeasible_nli.parquet"


def test_each_script_is_tested_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f'example("{name.removesuffix(".py")}")' not in source] == ["many_gpus.py"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_is_asked_for_help_gives_it(name: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert f"examples/{name}" in f"{ended.value}{capsys.readouterr().out}"
    assert not list(tmp_path.iterdir())  # own_dataset.py made a folder called --help


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_and_says_how_it_is_called(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 75
    assert f"examples/{name}" in text.split('"""')[1]
    assert text.startswith('"""')


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_has_options_of_its_command_only(name: str) -> None:
    from paraconsist.cli.app import app

    text = (EXAMPLES / name).read_text(encoding="utf-8")
    (command,) = re.findall(rf"^# paraconsist ([\w-]+) --config examples/{name}\b", text, re.MULTILINE)
    assert set(yaml.safe_load(text)) - {option.name for option in app.get_command(None, command).params} == set()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_without_arguments_says_how_it_is_called(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name])
    with pytest.raises(SystemExit, match=f"python .*examples/{name}|launch .*examples/{name}"):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_score_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = pytest.importorskip("evaluate")
    metric = load_metric("paraphrastic_consistency")
    monkeypatch.setattr(evaluate, "load", lambda name: metric)
    monkeypatch.setattr("paraconsist.register", lambda: None)
    rows = [{"q": f"q{i // 3}", "answer": "yes" if i % 4 else "no", "gold": "yes"} for i in range(36)]
    example("score_csv").main(write_csv(tmp_path / "mine.csv", rows), "q", "answer", "gold")
    said = capsys.readouterr().out
    found = paraphrastic_consistency(*([row[name] for row in rows] for name in ("answer", "gold", "q"))).to_dict()
    low, high = found["confidence_interval"]["accuracy"]
    assert f"{found['accuracy']:.3f}   [{low:.3f}, {high:.3f}]" in said
    assert f"{found['paraphrastic_consistency']:.3f} " in said
    assert found["signature"] in said


@pytest.mark.slow
def test_run_model(predictions: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("run_model").main(str(model), SAMPLE, predictions.parent.parent)  # goes on: nothing is left to do
    said = capsys.readouterr().out
    table = read_predictions(predictions).table.to_pandas()
    rows = table[table["role"] == "paraphrase"]
    found = paraphrastic_consistency(*(rows[name].tolist() for name in ("prediction", "label", "bucket_id")))
    assert f"paraphrastic_consistency {found.paraphrastic_consistency:.3f}, accuracy {found.accuracy:.3f}" in said
    assert 0 < found.accuracy < 1


@pytest.mark.slow
def test_own_measure(predictions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("own_measure").main(predictions)
    said = capsys.readouterr().out
    table = read_predictions(predictions).table.to_pandas()
    rows = table[table["role"] == "paraphrase"]
    right = (rows["prediction"] == rows["label"]).groupby(rows["bucket_id"]).all()
    assert f"worst case {right.mean():.3f} [" in said
    assert f"over {len(right)} buckets" in said
    low, high = map(float, re.findall(r"\[([\d.]+), ([\d.]+)\]", said)[0])
    normal = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / len(right))
    assert low == pytest.approx(right.mean() - normal, abs=0.03)
    assert high == pytest.approx(right.mean() + normal, abs=0.03)


@pytest.mark.slow
def test_own_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from paraconsist.data.bucket_sets import load_bucket_set

    example("own_dataset").main(tmp_path / "my_set")
    assert "9 rows, 3 buckets" in capsys.readouterr().out
    found = load_bucket_set(str(tmp_path / "my_set"))
    assert (found.task.name, found.label_names, found.strata) == (
        "yes_no_qa",
        ("no", "yes"),
        (),
    )  # a column is a stratum where it is named
    assert found.table["label"].to_pylist() == [1] * 3 + [0] * 3 + [1] * 3
    assert len(set(found.table["input_id"].to_pylist())) == 9
    assert len(set(found.table["group_id"].to_pylist())) == 2
    model = tiny_encoder(tmp_path / "qa", labels=("no", "yes"))
    with pytest.warns(UserWarning, match="columns not written to predictions or results: kind"):
        example("run_model").main(str(model), str(tmp_path / "my_set"), tmp_path / "run")
    assert "rows 9" in capsys.readouterr().out


@pytest.mark.slow
def test_many_gpus_in_two_processes(predictions: Path, model: Path, tmp_path: Path) -> None:
    """Two processes without a GPU give what one process gave."""
    output = tmp_path / "run"
    script = (str(EXAMPLES / "many_gpus.py"), str(model), SAMPLE, str(output), "cpu")
    assert "381 of 381 distinct inputs computed in 2 processes" in launch([], script=script, processes=2).stdout
    one, two = (read_predictions(path).table for path in (predictions, output / "predictions" / predictions.name))
    for column in ("example_id", "prediction"):
        assert one[column].to_pylist() == two[column].to_pylist()
    np.testing.assert_allclose(*[np.array(table["probabilities"].to_pylist()) for table in (one, two)], atol=1e-5)


@pytest.mark.slow
@pytest.mark.real_data
def test_unseen_boolq(data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    from paraconsist.data.building import prepare

    sets = {
        name: prepare("becel", f"boolq_{name}", data_dir=data_folder).as_dataset()
        for name in ("semantic", "negational", "validation")
    }
    example("unseen_boolq").main(tmp_path)
    parts = {name: pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False) for name in ("train", "dev")}
    assert f"dev.csv: {len(parts['dev'])} rows" in capsys.readouterr().out
    seen = {row["group_id"] for name in ("semantic", "negational") for row in sets[name]["test"]}
    whole = sets["validation"]["validation"]
    assert len(parts["train"]) + len(parts["dev"]) == sum(row["group_id"] not in seen for row in whole)
    in_cases = {(r["question"], r["passage"]) for r in sets["validation"]["validation"] if r["group_id"] in seen}
    for part in parts.values():
        assert not in_cases & set(zip(part["question"], part["passage"], strict=True))
    assert len(parts["dev"]) == 400


def test_the_first_leaderboard_reads_four_studies(tmp_path: Path) -> None:
    import pandas as pd

    from paraconsist.data.options import SourceOptions
    from paraconsist.data.predictions import Predictions
    from paraconsist.data.rows import Rows, read_rows

    first = example("leaderboard/build")
    judge = {"model": "GPT", "prompting": "CoT", "subset": "LLMBar/Natural", "item": [0, 1], "gold": [1, 2]}
    pd.DataFrame({**judge, "winner_given": [1, 2], "winner_swapped": [2, None]}).to_parquet(tmp_path / "j.parquet")
    maths = {"model": "m", "question": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "correct": [True, False, True, True]}
    pd.DataFrame(maths).to_parquet(tmp_path / "d.parquet")
    pairs = {"id": ["a", "b"], "gold_label": ["entailed", "not_entailed"], "paraphrased_pair_id": ["x_1_p", "x_1_h"]}
    pd.DataFrame({**pairs, "gpt_original": [1, 1], "gpt_paraphrase": [1, 0]}).to_csv(tmp_path / "p.csv", index=False)
    rows = {"bucket_id": ["b"] * 2, "paraphrase_id": ["", "x"], "is_original": [True, False], "gold": 1, "pred": [1, 0]}
    pd.DataFrame(rows).to_parquet(tmp_path / "snli__bow__human.parquet")
    pd.DataFrame({"bucket_id": ["b"], "context_id": ["c"]}).to_parquet(tmp_path / "i.parquet")
    nlu = {"paranlu/items/snli_human.parquet": tmp_path / "i.parquet"}
    nlu["paranlu/predictions/snli__bow__human.parquet"] = tmp_path / "snli__bow__human.parquet"
    files = {"llmbar": {"j": tmp_path / "j.parquet"}, "dynamath": {"d": tmp_path / "d.parquet"}}
    read: dict[tuple[str, str], Rows] = {}
    for study, of_study in {**files, "parte": {"p": tmp_path / "p.csv"}, "paranlu": nlu}.items():
        for model, name, answers, _ in getattr(first, study)(of_study):
            read[model, name] = read_rows(Predictions(pa.Table.from_pandas(answers)), SourceOptions())
    judged = read["GPT CoT", "llmbar:LLMBar"]
    assert (judged.roles.tolist(), judged.unparsed.tolist()) == (["original"] * 2 + ["swap"] * 2, [False] * 3 + [True])
    right = {key: (rows.predictions == rows.labels).tolist() for key, rows in read.items()}
    assert right["m", "dynamath"] == [True, False, True, True]
    assert right["parte/gpt", "parte:rte"] == [True, False, True, True]  # originals, then paraphrases
    assert read["paranlu/bow", "paranlu:delta_snli"].groups.tolist() == ["c", "c"]
    for pinned, words in (({"none": "0"}, "lacks 1 of 1 files, the first of them none"), ({"p.csv": "0"}, "sha256")):
        with pytest.raises(SystemExit, match=words):
            first.checked(tmp_path, pinned)


@pytest.mark.real_data
def test_the_first_leaderboards_files_are_the_pinned_ones(data_folder: Path) -> None:
    first = example("leaderboard/build")
    pinned = yaml.safe_load((EXAMPLES / "leaderboard" / "first.yaml").read_text(encoding="utf-8"))
    models: set[str] = set()
    for study in ("llmbar", "dynamath", "parte", "paranlu"):
        models |= {model for model, *_ in getattr(first, study)(first.checked(data_folder, pinned[study]))}
    assert len(models) == 100
