"""One number everywhere: the same set and model through every tool give the same P_C, interval and signature.

A way is a function of two folders (its own, and one with the language model in ``model``, its run in ``run``) that puts
a model through one tool and returns a `Number`; it stands in `WAYS` with the package that it needs. All ways of a model
are compared with the reference to 1e-12: `ANSWERS` is a function of texts, for tools that call one, its reference is
`paraphrastic_consistency` of its answers; `TINY` is a causal language model in a folder, for tools that load one, its
reference the runner's.
"""

import hashlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.language_models import save_language_model
from helpers.metric_loading import load_metric

import paraconsist as pc
from paraconsist.data.bucket_sets import BucketSet
from paraconsist.measures.results import parse_signature

SET = "sample:defeasible_nli"
ANSWERS, TINY = "a function", "a language model"
#: The parts of a signature that say how a number came about; the others say of what it is.
CORE = ("est", "avg", "orig", "ci", "level")
LM_EVAL_TASKS = Path(pc.__file__).parent / "plugins" / "lm_eval_tasks"
KEY = "paraphrastic_consistency_unbiased"


class Number(NamedTuple):
    """P_C as a tool gives it, with its interval and what its signature says of how it was made."""

    value: float
    low: float
    high: float
    core: str


def number_of(keys: Mapping[str, Any]) -> Number:
    """The number in a measure's results, as `Scores.to_dict` and ``score --json`` have them."""
    signature = parse_signature(keys["signature"])
    core = "|".join([signature.measure, *(f"{key}:{signature.parts[key]}" for key in CORE)])
    return Number(keys[KEY], *keys["confidence_interval"][KEY], core)


def of_set(results: Mapping[str, Any]) -> Number:
    """The number of the only set in results."""
    (result,) = results.values()
    return number_of(result["measures"]["paraphrastic_consistency"])


def answer(text: str) -> str:
    """The toy model: S or W by a hash of the update, which every wording of the question holds."""
    return "WS"[hashlib.blake2b(re.findall(r"Update: (.*)", text)[-1].strip().encode()).digest()[0] < 200]


@cache
def sample() -> BucketSet:
    return pc.load_bucket_set(SET)


@cache
def rows() -> dict[str, list[Any]]:
    """The set's rows with the toy model's answers: in `prediction` by number, in `answer` by name."""
    table = sample().table.to_pydict()
    table["prediction"] = ["WS".index(answer(f"Update: {update}")) for update in table["update"]]
    table["answer"] = [sample().label_names[number] for number in table["prediction"]]
    table["gold"] = [sample().label_names[number] for number in table["label"]]
    return table


@cache
def reference(model: str, folder: Path) -> Number:
    if model == TINY:
        return of_set(pc.score(tiny_run(folder)).to_dict())
    r = rows()
    result = pc.paraphrastic_consistency(
        r["prediction"], r["label"], r["bucket_id"], roles=r["role"], groups=r["group_id"]
    )
    return number_of(result.to_dict())


@cache
def tiny_run(folder: Path) -> Path:
    """The tiny language model's run by the runner, in a folder beside the model's."""
    from paraconsist.cli.app import main

    save_language_model(folder / "model", "gpt2", seed=4)
    options = ["--model", folder / "model", "--dataset", SET, "--output", folder / "run", "--device", "cpu"]
    with pytest.raises(SystemExit) as ended:
        main(["run", *map(str, options)])
    assert ended.value.code == 0
    return folder / "run"


def by_evaluate(folder: Path, shared: Path) -> Number:
    r = rows()
    columns = {"predictions": r["answer"], "references": r["gold"], "buckets": r["bucket_id"]}
    return number_of(load_metric("paraphrastic_consistency").compute(**columns, roles=r["role"], groups=r["group_id"]))


def by_command(folder: Path, shared: Path) -> Number:
    from paraconsist.cli.app import main

    kept = ("example_id", "bucket_id", "group_id", "role")
    lines = [dict(zip(kept, line, strict=True)) for line in zip(*(rows()[name] for name in kept), strict=True)]
    for line, prediction, label in zip(lines, rows()["answer"], rows()["gold"], strict=True):
        line |= {"prediction": prediction, "label": label}
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["score", str(folder / "answers.jsonl"), "--output", str(folder / "results.json")])
    assert ended.value.code == 0
    return of_set(json.loads((folder / "results.json").read_text(encoding="utf-8")))


def by_score(folder: Path, shared: Path) -> Number:
    import pandas as pd

    kept = ("bucket_id", "group_id", "role", "answer", "gold")
    frame = pd.DataFrame({name: rows()[name] for name in kept})
    return of_set(pc.score(frame, prediction="answer", label="gold").to_dict())


def by_trainer(folder: Path, shared: Path, **more: Any) -> Number:
    """Trainer with a module whose logits are the toy model's answers."""
    import torch
    from datasets import Dataset
    from transformers import Trainer, TrainingArguments

    class Table(torch.nn.Module):
        def forward(self, row: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            logits = torch.nn.functional.one_hot(torch.tensor(rows()["prediction"])[row], 2).float()
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    kept = {name: rows()[name] for name in ("bucket_id", "group_id", "role")}
    data = Dataset.from_dict({**kept, "labels": rows()["label"], "row": np.arange(len(rows()["label"])).tolist()})
    evaluation = pc.BucketEvaluation(data, label="labels")
    settings = {"per_device_eval_batch_size": 32, "report_to": "none", "use_cpu": True, "disable_tqdm": True, **more}
    loop = Trainer(
        Table(),
        TrainingArguments(str(folder), **settings),
        eval_dataset=data,
        compute_metrics=evaluation.compute_metrics,
        callbacks=[evaluation.callback],
    )
    logged = loop.evaluate()
    ends = (logged[f"eval_{KEY}{end}"] for end in ("", "_low", "_high"))
    return Number(*ends, reference(ANSWERS, shared).core)  # Trainer logs numbers, no signature


def by_trackio(folder: Path, shared: Path) -> Number:
    """Trainer's evaluation as trackio keeps it."""
    import trackio
    from trackio.sqlite_storage import SQLiteStorage

    logged = by_trainer(folder, shared, report_to="trackio", project=folder.name)
    trackio.finish()
    (run,) = trackio.Api().runs(folder.name)
    (metrics,) = SQLiteStorage.get_logs(folder.name, run.name)
    return Number(*(metrics[f"eval/{KEY}{end}"] for end in ("", "_low", "_high")), logged.core)


def by_mlflow(folder: Path, shared: Path) -> Number:
    """``score --log-to mlflow``, read back with MLflow's client; the store is a folder."""
    import mlflow

    from paraconsist.cli.app import main

    by_command(folder, shared)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setenv("MLFLOW_TRACKING_URI", str(folder / "mlruns"))
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        main(["score", str(folder / "answers.jsonl"), "--log-to", "mlflow"])
    (run,) = mlflow.MlflowClient(str(folder / "mlruns")).search_runs(["0"])
    start = "answers/paraphrastic_consistency"
    keys = {end: run.data.metrics[f"{start}/{KEY}{end}"] for end in ("", "_low", "_high")}
    interval = {KEY: [keys["_low"], keys["_high"]]}
    return number_of({KEY: keys[""], "confidence_interval": interval, "signature": run.data.tags[f"{start}/signature"]})


def by_function(folder: Path, shared: Path) -> Number:
    """The toy model as a function of prompts."""
    run = pc.run(lambda prompts: [answer(prompt) for prompt in prompts], SET, output=folder / "run")
    return of_set(run.score().to_dict())


def by_pytest(folder: Path, shared: Path) -> Number:
    """A test of a repository of its own, with the plug-in's fixture."""
    test = f"""
import hashlib, json, re
{inspect.getsource(answer)}
def test_it(paraconsist):
    scores = paraconsist.assert_consistent(lambda prompts: list(map(answer, prompts)), {SET!r}, condition="pc >= 0")
    with open("results.json", "w") as file:
        json.dump(scores.to_dict(), file)
"""
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    installed = any(one.name == "paraconsist" for one in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "paraconsist.plugins.pytest")
    call = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "--rootdir", "."]
    done = subprocess.run(call, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return of_set(json.loads((folder / "results.json").read_text(encoding="utf-8")))


def by_predictions(folder: Path, shared: Path) -> Number:
    """The run's predictions as a table in memory."""
    import pyarrow.parquet as pq

    (file,) = (shared / "run" / "predictions").glob("*.parquet")
    return of_set(pc.score(pq.read_table(file).replace_schema_metadata(None)).to_dict())


def by_lm_eval(folder: Path, shared: Path) -> Number:
    """The tiny language model in lm-evaluation-harness: its label scores are the runner's, its table has our P_C."""
    import pyarrow.parquet as pq
    from helpers.harness import lm_eval

    from paraconsist.data.logs.reading import read_logs
    from paraconsist.data.options import SourceOptions

    options = {"model": "hf", "model_args": f"pretrained={shared / 'model'},dtype=float32", "device": "cpu"}
    options |= {"include_path": LM_EVAL_TASKS, "tasks": "paraconsist_sample", "batch_size": 64, "output_path": folder}
    lm_eval(*(word for name, value in options.items() for word in (f"--{name}", value)), "--log_samples")
    (predictions,) = (shared / "run" / "predictions").glob("*.parquet")
    runners, harness = pq.read_table(predictions), read_logs([folder], SourceOptions())[SET].table
    assert harness["example_id"].to_pylist() == runners["example_id"].to_pylist()
    scores = [np.array(table["probabilities"].to_pylist()) for table in (harness, runners)]
    assert np.abs(scores[0] - scores[1]).max() <= 1e-5
    number = of_set(pc.score(folder).to_dict())
    (file,) = folder.rglob("results_*.json")
    table = json.loads(file.read_text(encoding="utf-8"))["results"]["paraconsist_sample"]
    assert number[:3] == pytest.approx([table[f"{name},none"] for name in ("pc", "pc_low", "pc_high")], abs=1e-12)
    assert {value for name, value in table.items() if "stderr" in name} == {"N/A"}
    return number


def by_inspect(folder: Path, shared: Path) -> Number:
    """The toy model in inspect_ai: its metrics are the number, and so is what `score` says of the log."""
    from helpers.inspect_evaluations import inspect_eval

    log = inspect_eval("paraconsist/sample", answer, folder)
    number = of_set(pc.score(folder).to_dict())
    (score,) = log.results.scores
    assert number[:3] == pytest.approx([score.metrics[name].value for name in ("pc", "pc_low", "pc_high")], abs=1e-12)
    return number


#: Way -> whose model it puts through the tool, the package it needs (None: the test's own), and how.
WAYS: dict[str, tuple[str, str | None, Callable[[Path, Path], Number]]] = {
    "evaluate": (ANSWERS, "evaluate", by_evaluate),
    "paraconsist score": (ANSWERS, None, by_command),
    "pc.score": (ANSWERS, None, by_score),
    "pc.run(function)": (ANSWERS, None, by_function),
    "pytest": (ANSWERS, "pytest", by_pytest),
    "paraconsist run": (TINY, None, by_predictions),
    "lm_eval": (TINY, "lm_eval", by_lm_eval),
    "inspect_ai": (ANSWERS, "inspect_ai", by_inspect),
    "Trainer": (ANSWERS, "transformers", by_trainer),
    "Trainer to trackio": (ANSWERS, "trackio", by_trackio),
    "score --log-to mlflow": (ANSWERS, "mlflow", by_mlflow),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tiny language model and its run are."""
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_one_number(way: str, shared: Path, tmp_path: Path) -> None:
    model, package, put_through = WAYS[way]
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'paraconsist[integrations]'")
    expected = reference(model, shared)  # first: it fills `shared`
    number = put_through(tmp_path, shared)
    assert number.core == expected.core
    assert number[:3] == pytest.approx(expected[:3], abs=1e-12, rel=0), f"{way}: {number}, not {expected}"
