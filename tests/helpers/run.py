"""A scored run folder as `paraconsist run` leaves it, without a model."""

import json
from pathlib import Path

import pyarrow as pa

from paraconsist.data.predictions import write_predictions
from paraconsist.reporting.result import score

MODEL = {"model": "ada/a-model", "dtype": "float32"}


def write_run(folder: Path, *, sets: tuple[str, ...] = ("toy:all", "org/other:swaps")) -> Path:
    """Write predictions of a set of paraphrases and one of swaps, their scores and ``run.json``."""
    tables = (
        (_rows("paraphrase", [1, 1, 0, 1, 0, 0, 1, 0, 1]), "paraphrastic_consistency"),
        (_rows("swap", [1, 1, 0, 1, 1, 1, 1, 0, 1]), "symmetric_inconsistency"),
    )
    names = {name: f"predictions/{name.replace(':', '-').replace('/', '-')}.parquet" for name in sets}
    (folder / "predictions").mkdir(parents=True)
    for (name, path), (table, measure) in zip(names.items(), tables, strict=True):
        said = {"set": name, "task": "nli", "model": MODEL, "measures": [measure], "label_names": ["no", "yes"]}
        write_predictions(folder / path, table, said)
    (folder / "results.json").write_text(json.dumps(score(folder, n_resamples=50).to_dict()))
    run = {"models": {"nli": MODEL}, "sets": names, "ended": "2026-01-02T03:04:05Z"}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "store").mkdir()
    (folder / "store" / "rank-00000.jsonl").write_text("{}\n")
    return folder


def _rows(role: str, predictions: list[int]) -> pa.Table:
    n = len(predictions)
    roles = ["original", role, role] if role == "paraphrase" else ["original", role]
    buckets = [f"b{i // len(roles)}" for i in range(n)]
    whole = n - n % len(roles)
    return pa.table(
        {
            "example_id": [f"e{i}" for i in range(n)],
            "input_id": [f"i{i}" for i in range(n)],
            "bucket_id": buckets,
            "group_id": buckets,
            "role": [roles[i % len(roles)] for i in range(n)],
            "label": [1] * n,
            "allowed_labels": [[1]] * n,
            "prediction": predictions,
        }
    ).slice(0, whole)
