"""The folders of metrics/: load by path and by bare name, check their input, have cards and examples."""

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from helpers.metric_loading import load_metric

import paraconsist
from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.results import parse_signature
from paraconsist.registry import metric_kind, metric_names, metric_script, register

ROWS: dict[str, Any] = {
    "predictions": [1, 1, 0, 0, 0, 1],
    "references": [1, 1, 1, 0, 0, 0],
    "buckets": [4, 4, 4, 9, 9, 9],
}
LOAD = """
import evaluate
metric = evaluate.load("paraphrastic_consistency")
print(metric.compute(predictions=["a", "a"], references=["a", "b"], buckets=[1, 2])["accuracy"])
"""


@pytest.fixture
def metric() -> Any:
    return load_metric("paraphrastic_consistency")


@pytest.mark.parametrize(
    "convert",
    [
        lambda column: column,
        lambda column: [str(value) for value in column],
        lambda column: [f"0{value}" for value in column],
        np.array,
        lambda column: [float(value) for value in column],
    ],
)
@pytest.mark.parametrize("with_string_buckets", [False, True])
def test_compute_equals_the_function(metric: Any, convert: Any, with_string_buckets: bool) -> None:
    rows = {name: convert(column) for name, column in ROWS.items()}
    if with_string_buckets:
        rows["buckets"] = [f"bucket {value}" for value in ROWS["buckets"]]
    options = {"groups": [1, 1, 1, 2, 2, 2], "confidence_level": 0.9, "seed": 3, "n_resamples": 100}
    values = metric.compute(**rows, **options)
    assert to_strict_json(values) == to_strict_json(paraphrastic_consistency(**rows, **options).to_dict())


@pytest.mark.faults
@pytest.mark.parametrize("mark", ["", -1])
@pytest.mark.parametrize("policy", ["wrong", "own_class"])
@pytest.mark.parametrize("name", ["paraphrastic_consistency", "prompt_sensitivity", "negational_inconsistency"])
def test_unparsed_answers_are_treated_as_score_treats_them(name: str, policy: str, mark: Any) -> None:
    rng = np.random.default_rng(5)
    kind = str if mark == "" else int
    gold = np.repeat(rng.integers(0, 2, 40), 2)
    answers = [kind(label) for label in np.where(rng.random(80) < 0.7, gold, 1 - gold)]
    lost, references, buckets = rng.random(80) < 0.2, list(map(kind, gold)), np.repeat(range(40), 2).tolist()
    table = {"bucket_id": buckets, "label": references}
    table["prediction"] = [None if is_lost else answer for answer, is_lost in zip(answers, lost, strict=True)]
    written = [mark if is_lost else answer for answer, is_lost in zip(answers, lost, strict=True)]
    columns: dict[str, Any] = {"predictions": written, "references": references, "buckets": buckets}
    if name == "negational_inconsistency":
        table["role"] = ["original", "negation"] * 40
        columns = {"predictions": written[::2], "perturbed_predictions": written[1::2]}
        columns |= {"references": references[::2], "perturbed_references": references[1::2]}
    scores = paraconsist.score(pa.table(table), measures=[name], unparsed=policy)
    (expected,) = (scored.measures[name] for scored in scores.sets.values())
    if mark == -1:
        marked = paraconsist.score(pa.table(table | {"prediction": written}), measures=[name], unparsed=policy)
        ((of_file, warnings),) = ((scored.measures[name], scored.warnings) for scored in marked.sets.values())
        assert f"{lost.sum()} of 80 predictions are unparsed (-1)" in " ".join(warnings)
        assert to_strict_json(of_file) == to_strict_json(expected)
    values = load_metric(name).compute(**columns, unparsed=policy)
    assert f"unparsed:{policy}" in values["signature"]
    assert f"{lost.sum()} of 80 predictions are unparsed" in values.pop("warnings")[0]
    assert parse_signature(values.pop("signature")).parts["unparsed"] == policy
    assert to_strict_json(values) == to_strict_json({key: expected[key] for key in values})
    if mark == -1:  # a gold label like any other
        values = load_metric(name).compute(**columns | {"references": [-1] * len(columns["references"])})
        assert "unparsed:refused" in values["signature"]


@pytest.mark.faults
def test_a_number_that_may_be_a_label_is_one() -> None:
    metric = load_metric("semantic_inconsistency")
    values = metric.compute(predictions=[-1, -1, 0, 1], perturbed_predictions=[-1, -1, 1, 1])
    assert values["inconsistency"] == 0.25
    assert "-1 is taken for a label" in values["warnings"][0]
    with pytest.raises(InputError, match="`unparsed` must be one of wrong, own_class; got 'drop_bucket'"):
        metric.compute(predictions=[1], perturbed_predictions=[1], unparsed="drop_bucket")


@pytest.mark.faults
@pytest.mark.parametrize("wrong", [{"original_predictions": [1]}, {}])
def test_gold_labels_count_after_an_error_about_rows_without(wrong: dict[str, Any]) -> None:
    """They were left out without a word."""
    metric = load_metric("prediction_change")
    columns: dict[str, Any] = {"predictions": [1, 0, 1], "original_predictions": [1, 1, 0]}
    for fail in (metric.compute, metric.add_batch):
        with pytest.raises(InputError, match="`original_predictions` must"):
            fail(predictions=[1, 0, 1], **wrong)
        metric.add_batch(**columns, references=[1, 1, 1])
        assert metric.compute()["correct_to_incorrect"] == 1
        with pytest.raises(InputError, match="`original_predictions` must"):
            fail(predictions=[1, 0, 1], **wrong)
        assert metric.compute(**columns, references=[1, 1, 1])["correct_to_incorrect"] == 1


@pytest.mark.faults
def test_gold_labels_of_some_batches_alone_are_refused() -> None:
    """One batch without them dropped those of all."""
    columns: dict[str, Any] = {"predictions": [1, 0, 1], "original_predictions": [1, 1, 0]}
    for first, second in (({}, {"references": [1, 1, 1]}), ({"references": [1, 1, 1]}, {})):
        metric = load_metric("prediction_change")
        metric.add_batch(**columns, **first)
        with pytest.raises(InputError, match="`references` must be given in all batches or in none"):
            metric.add_batch(**columns, **second)
        assert ("correct_to_incorrect" in metric.compute()) == bool(first)


def test_strings_that_look_like_numbers_are_not_cast(metric: Any) -> None:
    values = metric.compute(predictions=["3", "03"], references=["3", "3"], buckets=["1", "1"])
    assert values["accuracy"] == 0.5
    assert metric.compute(predictions=[True, False], references=[True, True], buckets=[1, 1])["accuracy"] == 0.5


@pytest.mark.parametrize("name", metric_names())
def test_card(name: str) -> None:
    _, front, body = (metric_script(name).parent / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    for key in ("title", "emoji", "colorFrom", "colorTo", "sdk_version"):
        assert card[key], key
    assert card["sdk"] == "gradio"
    assert {"evaluate", metric_kind(name)} <= set(card["tags"])
    assert len(card.get("short_description", "")) <= 60
    for word in ("range", "limitations", "citation", "how to use"):
        assert word in body.lower(), word


def test_register_is_idempotent_and_puts_new_content_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import paraconsist.registry as registry

    first = register(tmp_path)
    assert register(tmp_path) == first
    assert len(first) == len(metric_names())
    script = tmp_path / "edited" / "paraphrastic_consistency.py"
    script.parent.mkdir()
    script.write_text(metric_script("paraphrastic_consistency").read_text() + "# edited\n")
    folder = first[metric_names().index("paraphrastic_consistency")].parent.parent
    edited = registry._copy(script, folder)
    os.utime(edited, (1, 1))  # as if it had been registered long ago
    ahead = time.time() + 86_400  # by a clock that was set right since
    os.utime(first[metric_names().index("paraphrastic_consistency")], (ahead, ahead))
    assert registry._copy(script, folder) == edited
    assert len(list(folder.glob("*/paraphrastic_consistency.py"))) == 2
    assert max(folder.glob("*/paraphrastic_consistency.py"), key=lambda p: p.stat().st_mtime) == edited
    assert {len(copy.parent.name) for copy in (*first, edited)} == {64}
    assert not list(tmp_path.rglob("*.partial"))


def test_many_may_register_at_once(tmp_path: Path) -> None:
    import paraconsist.registry as registry

    script, folder = metric_script("paraphrastic_consistency"), tmp_path / "with blanks and Ümläute"
    with ThreadPoolExecutor(8) as pool:
        copies = list(pool.map(lambda _: registry._copy(script, folder), range(64)))
    assert {copy.read_bytes() for copy in copies} == {script.read_bytes()}
    assert {path.name for path in folder.rglob("*")} == {"__init__.py", copies[0].parent.name, script.name}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_eight_processes_may_register_at_once(tmp_path: Path) -> None:
    with ProcessPoolExecutor(8, mp_context=get_context("fork")) as pool:
        calls = list(pool.map(register, [tmp_path / "cache"] * 8))
    assert calls == [calls[0]] * 8
    assert [path.read_bytes() for path in calls[0]] == [metric_script(name).read_bytes() for name in metric_names()]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(InputError, match=r"register: `cache_dir` must be a folder that can be written; .*HF_MODULES"):
        register(tmp_path / "home")


def test_unknown_metric() -> None:
    with pytest.raises(InputError, match=r"metric_script: `name` must be one of .*; got 'bleu'"):
        metric_script("bleu")


@pytest.mark.slow
def test_loads_by_bare_name_in_a_fresh_process_from_anywhere(tmp_path: Path) -> None:
    """Online the Hub is asked first; here it is a port where nobody listens. Every metric, offline: `test_wheel.py`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    register(tmp_path / "home" / "modules")
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "0.5\n"
