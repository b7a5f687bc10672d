"""The Python interface: every name, the same numbers whatever is given, types, and a notebook of twelve lines."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses
from helpers.logs import inspect_log, samples
from helpers.report import write_run

import paraconsist as pc
from paraconsist.cli.app import app
from paraconsist.data.options import SourceOptions
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.models.endpoint.settings import AskOptions, EndpointSettings
from paraconsist.running.options import LoadOptions, RunOptions
from paraconsist.scoring.options import CompareOptions, ScoreOptions

ROWS = {
    "question_id": [f"q{i // 4}" for i in range(80)],
    "answer": [["yes", "no"][(i * i // 3) % 2] for i in range(80)],
    "gold": [["yes", "no"][i // 4 % 2] for i in range(80)],
}
COLUMNS = {"bucket": "question_id", "prediction": "answer", "label": "gold"}


@pytest.mark.slow
def test_importing_is_light_and_every_name_is_there() -> None:
    heavy = "torch datasets evaluate matplotlib numpy pandas pyarrow transformers"
    code = f"""
import sys
import paraconsist as pc
assert not set(sys.modules) & set({heavy.split()!r}), set(sys.modules) & set({heavy.split()!r})
for name in dir(pc):
    assert getattr(pc, name) is not None
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_measure_has_its_name() -> None:
    for name, spec in CATALOGUE.items():
        assert getattr(pc, name) is spec.function
        assert name in dir(pc)
    assert [spec.name for spec in pc.list_measures()] == list(CATALOGUE)
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        pc.scores  # noqa: B018


def tables(folder: Path) -> dict[str, Any]:
    frame = pd.DataFrame(ROWS)
    frame.to_parquet(folder / "predictions.parquet")
    frame.to_csv(folder / "predictions.csv", index=False)
    return {
        "pandas": frame,
        "pandas, filtered": pd.concat([frame, frame]).iloc[:80],
        "pyarrow": pa.table(ROWS),
        "large text": pa.table({name: pa.array(values, pa.large_string()) for name, values in ROWS.items()}),
        "dictionary": pa.table({name: pa.array(values).dictionary_encode() for name, values in ROWS.items()}),
        "datasets": datasets.Dataset.from_dict(ROWS),
        "datasets, shuffled": datasets.Dataset.from_dict(ROWS).shuffle(seed=1),
        "mapping": ROWS,
        "parquet": folder / "predictions.parquet",
        "csv": str(folder / "predictions.csv"),
    }


def test_the_same_rows_give_the_same_scores(tmp_path: Path, command: Any) -> None:
    code, out, err = (
        command(
            *("score", tmp_path / "predictions.csv", "--bucket", "question_id", "--prediction", "answer"),
            *("--label", "gold", "--json"),
        )
        if tables(tmp_path)
        else (1, "", "")
    )
    assert code == 0, err
    (expected,) = json.loads(out).values()
    for kind, table in tables(tmp_path).items():
        (found,) = pc.score(table, **COLUMNS).to_dict().values()
        assert found["measures"] == expected["measures"], kind
        assert found["strata"] == expected["strata"], kind


def test_polars(tmp_path: Path) -> None:
    found = pc.score(polars.DataFrame(ROWS), **COLUMNS, n_resamples=50).to_dict()
    assert found == pc.score(pa.table(ROWS), **COLUMNS, n_resamples=50).to_dict()


@pytest.mark.faults
def test_tables_in_memory_of_every_make_are_one() -> None:
    """Polars' categories, rows in a list and ids in an index were refused, a DatasetDict was a KeyError."""
    expected = pc.score(pa.table(ROWS), **COLUMNS, n_resamples=50).to_dict()
    texts = [name for name, values in ROWS.items() if isinstance(values[0], str)]
    bucket = COLUMNS["bucket"]
    frame = pd.DataFrame(ROWS)
    for table in (
        polars.DataFrame(ROWS).with_columns(polars.col(texts).cast(polars.Categorical)),
        frame.to_dict("records"),
        frame.set_index(bucket),
        frame.set_index([bucket, frame.index]),
        datasets.DatasetDict(test=datasets.Dataset.from_dict(ROWS)),
    ):
        assert pc.score(table, **COLUMNS, n_resamples=50).to_dict() == expected
    two = dict.fromkeys(("train", "test"), datasets.Dataset.from_dict(ROWS))
    with pytest.raises(pc.InputError, match=r"must be one split; got .*Give one of them, such as data"):
        pc.score(datasets.DatasetDict(two), **COLUMNS)


def test_logs_and_run_folders(tmp_path: Path, command: Any) -> None:
    folder = write_run(tmp_path / "run")
    for source, columns in ((folder, {}), (samples("yes_no"), {"bucket": "question_id"})):
        options = [part for key, value in columns.items() for part in (f"--{key}", value)]
        assert pc.score(source, **columns).to_dict() == command.json("score", source, *options)
    assert pc.score(inspect_log("yes-no"), bucket="question_id").gate("pc >= 0")


def test_warnings_are_one_line_each_at_first_and_whole_in_a_list_of_their_own() -> None:
    """Forty questions, with answers that are no label: two tables and four warnings of several lines were printed."""
    answers = [["yes", "no", "Well, it depends on what you mean"][i * i % 7 % 3] for i in range(120)]
    gold = [["yes", "no"][i // 3 % 2] for i in range(120)]
    scores = pc.score({"bucket_id": [i // 3 for i in range(120)], "prediction": answers, "label": gold})
    (of_set,) = scores.sets.values()
    (values,) = of_set.measures.values()
    assert scores.warnings == (*of_set.warnings, *values["warnings"])
    assert len(of_set.warnings) >= 1 <= len(values["warnings"])
    lines = repr(scores).splitlines()
    warned = [line for line in lines if line.startswith("warning: ")]
    assert len(warned) == len(of_set.warnings)
    assert all(len(line) <= 120 for line in warned)
    assert "1 more warning in `.warnings`" in lines[-2]
    assert all(warning in scores.to_markdown() for warning in scores.warnings)


def test_scores_are_short_to_see_and_long_to_read() -> None:
    scores = pc.score(pd.DataFrame(ROWS), **COLUMNS, n_resamples=100)
    assert len(repr(scores).splitlines()) < 18
    assert "P_C" in repr(scores)
    for number in ("least P_C", "consistently right"):
        assert number in scores.to_markdown()
        assert number not in repr(scores) + scores._repr_html_()
    assert "pc|est:" in repr(scores)
    assert "<table" in scores._repr_html_()
    frame = scores.to_frame()
    assert list(frame.columns) == ["set", "measure", "stratum", "value", "low", "high", "n_clusters"]
    whole = frame[(frame["measure"] == "paraphrastic_consistency") & (frame["stratum"] == "")]
    assert (
        whole["value"].item()
        == scores.sets["predictions"].measures["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]
    )
    wording = frame.set_index("measure").loc["wording_change", "value"]
    assert wording == scores.sets["predictions"].wording.wording_change
    assert set(frame["stratum"]) == {"", "label=yes", "label=no"}
    with pytest.raises(AttributeError):
        scores.sets = {}  # type: ignore[misc]


def test_comparison(command: Any, tmp_path: Path) -> None:
    other = {**ROWS, "answer": ["yes"] * 80}
    options = {**COLUMNS, "n_resamples": 50, "n_permutations": 200}
    for name, rows in (("a", ROWS), ("b", other)):
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    by_path = pc.compare(*files, **options)
    by_scores = pc.compare(*(pc.score(file, **COLUMNS) for file in files), n_resamples=50, n_permutations=200)
    in_memory = pc.compare(ROWS, other, names=["a", "b"], **options)
    assert (
        by_path.to_dict()
        == by_scores.to_dict()
        == in_memory.to_dict()
        == command.json(
            *("compare", *files, "--bucket", "question_id", "--prediction", "answer", "--label", "gold"),
            *("--n-resamples", 50, "--n-permutations", 200),
        )
    )
    line = by_path.to_frame().iloc[0]
    assert (line["first"], line["second"], line["measure"]) == ("a", "b", "paraphrastic_consistency")
    assert line["low"] <= line["difference"] <= line["high"]
    assert "a" in repr(by_path)


@pytest.mark.faults
def test_scores_are_compared_by_their_own_options() -> None:
    """Scores of buckets without unparsed answers were compared on all buckets, with 95 % intervals for their 90 %."""
    rows = {
        name: {**ROWS, "answer": ["" if i % 9 == j else ROWS["answer"][i] for i in range(80)]}
        for j, name in enumerate("ab")
    }
    options = {**COLUMNS, "unparsed": "drop_bucket", "confidence_level": 0.9, "n_resamples": 50}
    scores = {name: pc.score(answers, **options) for name, answers in rows.items()}
    expected = pc.compare(rows, **options)
    assert pc.compare(scores).to_dict() == expected.to_dict()
    assert expected.sets[0].pairs[0].result["n_buckets"] < 20
    assert pc.compare(scores, unparsed="wrong").sets[0].pairs[0].result["n_buckets"] == 20
    with pytest.raises(pc.InputError, match="`unparsed` must be given"):
        pc.compare(scores["a"], pc.score(rows["b"], **COLUMNS))


@pytest.mark.faults
def test_a_comparison_names_columns_takes_a_mapping_and_has_every_quantity() -> None:
    rows = {**ROWS, "gpt": ROWS["answer"], "claude": ["yes"] * 80}
    scores = {name: pc.score(rows, **{**COLUMNS, "prediction": name}) for name in ("gpt", "claude")}
    found = pc.compare(*scores.values())
    assert (found.sets[0].pairs[0].first, found.sets[0].pairs[0].second) == ("gpt", "claude")
    assert pc.compare(scores).to_dict() == found.to_dict()
    assert pc.compare({"x": scores["gpt"], "y": scores["claude"]}).sets[0].pairs[0].second == "y"
    frame = found.to_frame().set_index("measure")
    result = found.sets[0].pairs[0].result
    for key in ("accuracy", "agreement_unbiased", "vap_unbiased"):
        assert frame.loc[f"paraphrastic_consistency.{key}", "difference"] == result["differences"][key]
    assert frame.index.is_unique
    assert "\\toprule" in found.to_latex()
    assert f"version = {{{pc.__version__}}}" in scores["gpt"].to_bibtex()


def test_errors_name_parameters(tmp_path: Path) -> None:
    with pytest.raises(pc.InputError) as caught:
        pc.score(ROWS, **{**COLUMNS, "bucket": "question"})
    assert caught.value.parameter == "bucket"
    assert "question_id" in str(caught.value)
    refuses("`buckets` must be a parameter", pc.score, ROWS, buckets="question_id")
    for call in (pc.score, pc.compare):
        refuses("Did you mean `measures`", call, ROWS, measure=["prompt_sensitivity"])
    assert repr(pc.score(ROWS, **COLUMNS, probabilities=None, group=None)) == repr(pc.score(ROWS, **COLUMNS))
    refuses("be a path or a table", pc.score, 3)


@pytest.mark.faults
def test_an_error_of_run_names_run_and_its_parameter(tmp_path: Path) -> None:
    with pytest.raises(pc.InputError) as caught:
        pc.run(lambda prompts: prompts, {"bucket_id": [1], "text_of_mine": ["a"], "label": ["x"]}, output=tmp_path)
    assert (caught.value.function, caught.value.parameter) == ("run", "sets")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("call", "function", "parameter"),
    [
        (lambda: pc.load_bucket_set("nowhere"), "load_bucket_set", "dataset"),
        (lambda: pc.load_bucket_set("sample:defeasible_nli", task="mine"), "load_bucket_set", "task"),
        (lambda: pc.run(len, "nowhere", output="run", version="1"), "run", "sets"),
        (lambda: pc.run(len, "nowhere", output="run", version="1", task="mine"), "run", "sets"),
        (lambda: pc.run(len, "sample:defeasible_nli", output="run", version="1", same="text"), "run", "same"),
        (lambda: pc.run(len, {"bucket_id": [1], "question": ["?"]}, output="r", version="1", same=len), "run", "same"),
        (lambda: pc.score("nowhere.csv"), "score", "source"),
        (lambda: pc.compare(pc.score(ROWS, **COLUMNS)), "compare", "models"),
        (lambda: pc.compare(pc.score(ROWS, **COLUMNS), "nowhere.csv"), "compare", "models"),
        (lambda: pc.score(ROWS, **COLUMNS).gate("pc.not_worse", against="a.csv", margin=0.1), "gate", "against"),
    ],
)
def test_an_error_names_the_function_that_was_called(call, function, parameter, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pc.InputError) as caught:
        call()
    assert (caught.value.function, caught.value.parameter) == (function, parameter)


@pytest.mark.parametrize(
    ("command", "kinds", "differ"),
    [
        ("score", (SourceOptions, ScoreOptions), {"measures"}),  # repeated there, and so in the singular
        ("compare", (SourceOptions, CompareOptions), {"measures"}),
        (
            "run",
            (LoadOptions, RunOptions, AskOptions, EndpointSettings),
            {"request_fields", "template_arguments", "urls", "patience"},  # `run` has no --patience
        ),
    ],
)
def test_options_have_the_same_name_in_python(command: str, kinds: tuple[Any, ...], differ: set[str]) -> None:
    options = {name for parameter in app.get_command(None, command).params for name in parameter.opts}
    names = {option.name for kind in kinds for option in fields(kind)}
    assert {name for name in names if f"--{name.replace('_', '-')}" not in options} == differ


USER = """
from pathlib import Path
import paraconsist as pc

scores: pc.Scores = pc.score("predictions.csv", bucket="question_id")
page: Path = scores.report("page.html")
passed: bool = scores.gate("pc.low >= 0.75")
comparison: pc.Comparison = pc.compare(scores, "other.csv")
result = pc.semantic_inconsistency([1, 0], [1, 1])
value: float = result.inconsistency
reveal_type(pc.run("m", "paranlu:delta_snli", output="runs/a").score())
bad: str = pc.paraphrastic_consistency([1], [1], [1]).accuracy
"""


@pytest.mark.slow
def test_a_users_file_is_typed(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nignore_missing_imports = True\nfollow_imports = silent\n"
        "[mypy-torch.*,transformers.*,numpy.*,scipy.*,datasets.*,accelerate.*,sklearn.*,matplotlib.*,rich.*,click.*]\n"
        "follow_imports = skip\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(pc.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("user.py")]
    assert any("Revealed type" in line and "Scores" in line for line in lines), done.stdout + done.stderr
    assert [line.split(":")[1] for line in [line for line in lines if " error: " in line]] == ["12"], done.stdout


CELLS = [
    "import pandas as pd, paraconsist as pc",
    "df = pd.read_csv('predictions.csv')",
    "columns = dict(bucket='question_id', prediction='answer', label='gold')",
    "scores = pc.score(df, **columns)\nscores",
    "scores.plot('accuracy-consistency')",
    "other = pc.score(df.assign(answer='yes'), **columns)",
    "pc.compare(scores, other)",
    "scores.to_frame()",
    "scores.report('page.html')",
]


@pytest.mark.slow
def test_a_notebook_of_twelve_lines(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    assert sum(cell.count("\n") + 1 for cell in CELLS) <= 12
    pd.DataFrame(ROWS).to_csv(tmp_path / "predictions.csv", index=False)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "name": "python3", "language": "python"}
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert max(len(cell.outputs) for cell in notebook.cells) == 1  # a table is shown once
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.outputs]
    assert any("<table" in data.get("text/html", "") and "P<sub>C</sub>" in data["text/html"] for data in shown)
    assert any("image/png" in data for data in shown)
    assert (tmp_path / "page.html").stat().st_size > 10_000
