"""The pytest plug-in on a toy repository: what it checks, why it fails, what it costs, and how often noise fails."""

import json
import re
import shutil
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.scripts import ROOT

import paraconsist as pc
from paraconsist.plugins import pytest as plugin
from paraconsist.plugins.pytest import Consistency
from paraconsist.scoring.gate import check, parse_conditions, with_margin_tests
from paraconsist.scoring.options import CompareOptions
from paraconsist.scoring.sources import open_source

pytest_plugins = ["pytester"]
MODEL = """
import hashlib

def flips(prompt, share):
    return hashlib.blake2b(prompt.encode()).digest()[0] < 256 * share

def model(share):
    def answer(prompts):
        return ["WS"[flips(p, share) ^ ("ever" in p.split("Update: ")[-1])] for p in prompts]
    return answer
"""
TESTS = """
import pytest
from toy import model

SET = "sample:defeasible_nli"

def test_as_good(paraconsist):
    paraconsist.assert_consistent(model(0.02), SET, baseline=model(0.0), margin=0.1, condition="unparsed_rate <= 0")

def test_worse(paraconsist):
    paraconsist.assert_consistent(model(0.3), SET, pc_low=0.75, baseline=model(0.0), margin=0.1)

@pytest.mark.paraconsist(SET)
def test_of_the_mark(paraconsist, tmp_path):
    scores = paraconsist.assert_consistent(model(0.0), pc_low=0.5, output=tmp_path / "run", version="1")
    assert paraconsist.score(tmp_path / "run").to_dict() == scores.to_dict()
"""
DOCUMENT = ROOT / "docs" / "howto" / "pytest.md"
NAME = "paraconsist.plugins.pytest"
INSTALLED = any(one.name == "paraconsist" for one in entry_points(group="pytest11"))
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *(() if INSTALLED else ("-p", NAME)))


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the toy model answers; made here, as pytester forgets what is imported while it is at work."""
    namespace: dict[str, Any] = {}
    exec(MODEL, namespace)
    run = pc.run(namespace["model"](0.0), "sample:defeasible_nli", output=tmp_path_factory.mktemp("toy"), version="1")
    (file,) = (run.folder / "predictions").glob("*.parquet")
    return file


@pytest.fixture
def repository(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(toy=MODEL, test_toy=TESTS)
    return pytester


@pytest.mark.slow
def test_a_model_that_got_worse_fails_with_its_reason(baseline, repository):
    """With the test and the reason that the document shows."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    shown, reason = (dict(blocks)[kind] for kind in ("py", "text"))
    repository.makepyfile(mine="from toy import model\nanswer = model(0.0)", test_consistency=shown)
    shutil.copy(baseline, repository.path / "baseline.parquet")
    result = repository.runpytest_subprocess("--paraconsist-report", "report.html", *OPTIONS)
    printed = result.stdout.str()
    for line in reason.splitlines():
        assert line in printed
    lines = ["*test_consistency.py::test_consistent*sample:defeasible_nli*pass*", "*test_toy.py::test_worse*FAIL*"]
    result.stdout.fnmatch_lines(["*= paraconsist =*", lines[0], "*test_toy.py::test_as_good*pass*", lines[1]])
    assert result.parseoutcomes() == {"passed": 5, "failed": 3}  # two of the four buckets flip
    assert "<html" in (repository.path / "report.html").read_text(encoding="utf-8")


def test_unused_it_imports_nothing_and_says_nothing(repository):
    repository.path.joinpath("test_toy.py").write_text(
        "import sys\n"
        "def test_light():\n"
        "    heavy = {'numpy', 'scipy', 'torch', 'datasets', 'pyarrow', 'pandas', 'rich', 'click', 'evaluate'}\n"
        "    assert 'paraconsist.plugins.pytest' in sys.modules\n"
        "    assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    result = repository.runpytest_subprocess(*OPTIONS)
    assert result.ret == 0
    assert "= paraconsist =" not in result.stdout.str()


@pytest.mark.faults
def test_different_wrong_answers_flip(tmp_path):
    """It said "0 of 20 buckets flip", and of the value "pc 100.0", of a model that never gives an answer twice."""
    rows = ["bucket_id,prediction,label", *(f"{b},{b}.{k},-1" for b in range(20) for k in range(3))]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    fixture = Consistency(tmp_path, lambda key, value: None, {})
    with pytest.raises(pytest.fail.Exception, match=r"wording_change 100.0 .*\n20 of 20 buckets flip"):
        fixture.assert_consistent(path, condition="wording_change <= 10%", same="number")


@pytest.mark.faults
def test_questions_without_gold_in_a_table(tmp_path):
    """Frames ended in a ValueError, a misspelt file in a TypeError, and the table showed a measure without a value."""
    lines = []
    fixture = Consistency(tmp_path, lambda key, value: lines.append(value), {})
    wordings = ["How long?", "By when?", "What is shipping?", "And the fee?"]
    questions = pd.DataFrame({"bucket_id": ["days", "days", "fee", "fee"], "question": wordings})
    fixture.assert_consistent(lambda prompts: [*prompts[:3], prompts[2]], questions, condition="wording_change <= 60%")
    assert lines[0][:5] == ["table", "pass", "wording_change", "50.0", ""]
    with pytest.raises(pytest.fail.Exception, match=r"0 of 2 buckets flip$"):
        fixture.assert_consistent(lambda prompts: ["30"] * 4, questions, condition="wording_change <= 60%")
    with pytest.raises(pc.InputError, match=r"`sets` must be given.*got 'absent'"):
        fixture.assert_consistent("absent", condition="wording_change <= 60%")


@pytest.mark.faults
def test_a_baseline_that_is_not_there_is_no_model(tmp_path):
    """It was looked for on the Hub: "`model` must be a Hub id, or a folder ...; got 'baseline.parquet'"."""
    fixture = Consistency(tmp_path, lambda key, value: None, {})
    rows = {"bucket_id": ["days"] * 2, "question": ["How long?", "By when?"]}
    with pytest.raises(pc.InputError, match=r"must name a file that exists; got 'baseline.parquet'"):
        fixture.assert_consistent(lambda prompts: prompts, rows, baseline="baseline.parquet", margin=0.1)


def test_a_file_with_columns_of_its_own(tmp_path):
    """The fixture dropped the names of the columns, so that only files with the usual ones could be read."""
    rows = ["question,answer,gold", *(f"{b},{'yes' if k else 'no'},yes" for b in range(20) for k in range(5))]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    columns = {"bucket": "question", "prediction": "answer", "label": "gold"}
    fixture = Consistency(tmp_path, lambda key, value: None, {})
    scores = fixture.assert_consistent(path, condition="accuracy >= 0.8", baseline=path, margin=0.2, **columns)
    assert scores.to_dict() == pc.score(path, **columns).to_dict()


@pytest.mark.faults
def test_a_baseline_is_asked_about_the_rows_that_the_model_is_asked_about(tmp_path):
    """A function was asked about all of them, under other names of the columns."""
    asked: dict[str, list[str]] = {"model": [], "baseline": []}

    def model_of(name):
        return lambda prompts: [*(asked[name].append(prompt) or "30 days" for prompt in prompts)]

    rows = pd.DataFrame([{"bucket_id": f"q{i // 2}", "prompt": f"How long, {i}?"} for i in range(20)])
    fixture = Consistency(tmp_path, lambda key, value: None, {})
    options = {"column": {"question": "prompt"}, "limit": 6, "condition": "wording_change <= 100%"}
    with suppress(pytest.fail.Exception):  # so few show nothing
        fixture.assert_consistent(model_of("model"), rows, baseline=model_of("baseline"), margin=0.5, **options)
    assert len(asked["model"]) == 6
    assert asked["baseline"] == asked["model"]


def test_a_baseline_without_gold_labels_is_compared_by_the_wording_change(tmp_path):
    rows = {"bucket_id": [f"q{i // 4}" for i in range(80)], "prediction": [f"answer {i // 4}" for i in range(80)]}
    worse = rows | {"prediction": [f"{answer} {i % 3}" for i, answer in enumerate(rows["prediction"])]}
    for name, table in {"steady": rows, "worse": worse}.items():
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    fixture = Consistency(tmp_path, lambda key, value: None, {})
    steady, worse = tmp_path / "steady.csv", tmp_path / "worse.csv"
    fixture.assert_consistent(steady, condition="wording_change <= 0", baseline=worse, margin=0.1)
    with pytest.raises(pytest.fail.Exception, match=r"fail: wording_change\.not_worse") as failed:
        fixture.assert_consistent(worse, baseline=steady, margin=0.1)
    assert "20 of 20 buckets flip; the worst: q0 (3 answers to 4 wordings" in str(failed.value)  # none of them is right


def test_the_report_reads_answers_as_the_test_did(tmp_path):
    """Where a test named columns or a comparer, there was no report of any test, or one with other numbers."""
    kept: list[tuple[str, Any]] = []
    for folder, same in (("a", "number"), ("b", "text")):
        (tmp_path / folder).mkdir()
        rows = [f"{b},{b} euro{'!' * (k % 2)}" for b in range(12) for k in range(2)]
        (tmp_path / folder / "answers.csv").write_text("\n".join(["question,answer", *rows]))
        options = {"bucket": "question", "prediction": "answer", "label": None, "same": same, "n_resamples": 20}
        fixture = Consistency(tmp_path, lambda key, value: kept.append((key, value)), {})
        fixture.assert_consistent(tmp_path / folder / "answers.csv", condition="wording_change <= 1", **options)
    done = SimpleNamespace(when="call", nodeid="test_mine", user_properties=kept)
    plugins = SimpleNamespace(get_plugin=lambda name: SimpleNamespace(stats={"passed": [done]}))
    page = tmp_path / "report.html"
    plugin.pytest_sessionfinish(
        SimpleNamespace(config=SimpleNamespace(getoption=lambda name: str(page), pluginmanager=plugins))
    )
    text = page.read_text(encoding="utf-8")
    assert all(f"{folder}/answers.csv" in text for folder in "ab")  # two models
    assert json.loads(kept[0][1][-1])["same"] == "number"


@pytest.mark.faults
def test_buckets_of_several_sets_and_of_a_table():
    """A mark of two sets was "must be the name of a set", and one with an option of the run a TypeError."""
    rows = pd.DataFrame([{"bucket_id": f"q{i // 2}", "prompt": f"How long, {i}?"} for i in range(20)])
    made = {}
    mark = pytest.mark.paraconsist(["sample:defeasible_nli", rows], limit=6, same="number", output="run").mark
    node = SimpleNamespace(get_closest_marker=lambda name: mark)
    plugin.pytest_generate_tests(
        SimpleNamespace(
            definition=node,
            fixturenames=["bucket"],
            parametrize=lambda name, values, ids: made.update(zip(ids, values, strict=True)),
        )
    )
    assert [*made] == ["sample:defeasible_nli-sample.000", "table-1-q0", "table-1-q1", "table-1-q2"]
    assert [row["question"] for row in made["table-1-q2"]] == ["How long, 4?", "How long, 5?"]


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(
    ("folder", "code", "line"),
    [("tmp_path_factory.mktemp('a')", 0, None), ("tmp_path", 4, "*path` must name a file that exists*")],
)
def test_a_report_of_folders_that_pytest_removes(pytester, folder, code, line):
    """It ended in a traceback: pytest had removed what passed, after all tests or, of `tmp_path`, after each."""
    pytester.makeini("[pytest]\ntmp_path_retention_policy = failed")
    pytester.makepyfile(f"""
        def test_answers(paraconsist, tmp_path, tmp_path_factory):
            path = {folder} / "answers.csv"
            path.write_text("bucket_id,prediction,label\\n" + "".join(f"{{i // 2}},1,1\\n" for i in range(20)))
            paraconsist.assert_consistent(path, condition="accuracy >= 0.5")
    """)
    result = pytester.runpytest_subprocess("--paraconsist-report", "report.html", *OPTIONS)
    assert result.ret == code
    assert (pytester.path / "report.html").exists() == (code == 0)
    if line:
        result.stdout.fnmatch_lines(line)
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


@pytest.mark.slow
def test_noise_does_not_fail_the_gate():
    """A model whose answers flip by 1 % from call to call, against itself, 100 times."""
    table = pc.load_bucket_set("sample:defeasible_nli").table.select(
        ["example_id", "bucket_id", "group_id", "role", "label"]
    )
    rows, gold = table.to_pydict(), np.array(table["label"])
    settled = np.where(np.random.default_rng(0).random(len(gold)) < 0.85, gold, 1 - gold)
    conditions, failed = parse_conditions("pc.not_worse"), 0
    options = CompareOptions(margin=0.05, n_permutations=500, n_resamples=100)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        drawn = [np.where(rng.random(len(gold)) < 0.01, 1 - settled, settled).tolist() for _ in range(2)]
        model, baseline = (open_source({**rows, "prediction": one}) for one in drawn)
        results = {"predictions": {"measures": {"paraphrastic_consistency": {}}}}
        failed += not check(conditions, with_margin_tests(results, model, baseline, options, conditions))[0].passed
    assert failed <= 5
