"""Predictions with texts, as files and as run folders, for the tests of the report."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.predictions import write_predictions
from paraconsist.reporting.result import score

#: Every way out of an element, an attribute, a script or JSON that a text might try.
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">&lt;'\u2028{{7*7}}<!--"
#: Answers of five buckets, original first; gold is always 1.
ANSWERS = {"calm": "1111", "half": "11100", "lost": "10000", "gained": "0111", "wrong": "000"}
_TEXTS = (
    "A dog sleeps on the mat.",
    "On the mat a dog is asleep.",
    "The mat has a sleeping dog.",
    "A dog naps.",
    "Zzz.",
)


def rows(answers: dict[str, str] = ANSWERS, *, hostile: str = "") -> list[dict]:
    """Return rows in the long format; `hostile` goes into every text column and every name."""
    made = []
    for number, (bucket, digits) in enumerate(answers.items()):
        for place, answer in enumerate(digits):
            sure = 0.6 + 0.05 * place
            made.append({
                "example_id": f"{bucket}.{place}{hostile}", "input_id": f"i{number}.{place}",
                "bucket_id": bucket + hostile, "group_id": bucket + hostile,
                "role": "original" if place == 0 else "paraphrase", "label": 1, "allowed_labels": [1],
                "premise": f"It is late in house {number}. {hostile}", "hypothesis": f"Nobody is awake. {hostile}",
                "update": f"{_TEXTS[place]} {hostile}", "kind": ("odd" if number % 2 else "even") + hostile,
                "prediction": int(answer), "probabilities": [1 - sure, sure] if answer == "1" else [sure, 1 - sure]
            })  # fmt: skip
    return made


def write_file(path: Path, **options) -> Path:
    """Write a file whose own columns hold the texts."""
    pq.write_table(pa.Table.from_pylist(rows(**options)), path)
    return path


def write_run(
    folder: Path,
    *,
    name: str = "toy:set",
    model: str = "models/toy",
    answers: dict[str, str] = ANSWERS,
    hostile: str = "",
    more: dict | None = None,
    texts: bool = True,
) -> Path:
    """Write what `paraconsist run` leaves: predictions without texts, the texts beside them, results.json, run.json."""
    table = pa.Table.from_pylist(rows(answers, hostile=hostile))
    shown = ["premise", "hypothesis", "update"]
    for part in ("predictions", "texts"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    metadata = {
        "set": name + hostile,
        "task": "defeasible_nli",
        "label_names": ["weakener" + hostile, "strengthener" + hostile],
        "model": {"model": model + hostile, "weights_hash": "0123abcd"},
        "versions": {"paraconsist": "0.1.0"},
    }
    file = folder / "predictions" / "set.parquet"
    write_predictions(file, table.drop_columns(shown), metadata)
    if texts:
        write_predictions(folder / "texts" / "set.parquet", table.select(["input_id", *shown]), {})
    results = score(file.parent.parent, n_resamples=200).to_dict()
    results[name + hostile]["measures"] |= (more or {}).get("measures", {})
    results |= {key: value for key, value in (more or {}).items() if key != "measures"}
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "run.json").write_text(json.dumps({"ended": "2026-01-02T03:04:05Z"}))
    return folder
