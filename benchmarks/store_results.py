"""Keep the predictions of runs for docs/tables.py, without any text or gold label.

    python benchmarks/store_results.py runs/bow-snli-0 runs/parte sweeps/bow --output tests/results

Each run folder gives ``OUTPUT/<its name>/<set>.parquet``, and a sweep's folder gives one for each of its cells,
``OUTPUT/sweep-<sweep's name>-<share>-<seed>/<set>.parquet``. tests/helpers/stored_results.py says what is in it and
joins it with the set again, so that docs/tables.py computes README's tables from it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paraconsist.data.predictions import read_predictions

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.stored_results import FORMAT, METADATA_KEY, digest_of_ids

#: What a run says of itself that scoring reads or a reader may want; nothing about the machine.
SAID = (
    *("set", "task", "measures", "label_names", "label_map", "model", "template_hash", "set_fingerprint", "versions"),
    "seed",
)
#: The measures that read probabilities: of the originals, and of all rows of the full test set.
WITH_PROBABILITIES = "paraphrastic_consistency"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_FOLDER")
    parser.add_argument("--output", type=Path, required=True, help="a folder for each run is made in it")
    options = parser.parse_args(argv)
    for folder in options.runs:
        for name, run, more in cells(folder) if (folder / "cells").is_dir() else [(folder.resolve().name, folder, {})]:
            files = sorted((run / "predictions").glob("*.parquet"))
            if not files:
                parser.error(f"{run} holds no predictions/*.parquet: give the folder of a finished run")
            measures = [measure for path in files for measure in read_predictions(path).metadata.get("measures") or ()]
            for path in files:
                target = options.output / name / path.name
                again = repeats(path, run / "noise" / path.name)
                size = store(path, target, with_probabilities=WITH_PROBABILITIES in measures, **more, **again)
                print(f"{target}: {size / 1024:,.1f} KiB")


def cells(sweep: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield name, run folder and further facts of a sweep's finished cells."""
    for path in sorted(sweep.glob("cells/*/cell.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        name = f"sweep-{sweep.resolve().name}-{cell['share']:g}-{cell['seed']}"
        yield name, path.parent / "run", {"training_rows": cell["n_rows"]}


def repeats(source: Path, file: Path) -> dict[str, Any]:
    """Answers to rows that were asked again, where some were: the row's number, which repeat, and the answer."""
    if not file.is_file():
        return {}
    numbers = {name: i for i, name in enumerate(read_predictions(source).table["example_id"].to_pylist())}
    table = read_predictions(file).table
    columns = (table[name].to_pylist() for name in ("example_id", "repeat", "prediction"))
    return {"noise": [[numbers[name], number, answer] for name, number, answer in zip(*columns, strict=True)]}


def store(source: Path, target: Path, *, with_probabilities: bool, **more: Any) -> int:
    """Write one predictions file as a stored run, `more` in its metadata; return its size in bytes."""
    predictions = read_predictions(source)
    table = predictions.table
    columns: dict[str, Any] = {"prediction": table["prediction"].cast(pa.int8())}
    if with_probabilities and "probabilities" in table.column_names:
        probabilities = np.array(table["probabilities"].to_pylist())
        columns |= {f"p{i}": column.astype(np.float32) for i, column in enumerate(probabilities.T[:-1])}
        confident = probabilities.argmax(axis=1)
        if (confident != table["prediction"].to_numpy()).any():
            raise SystemExit(f"{source}: a prediction is not its most probable label; store it without probabilities")
    said = {name: predictions.metadata[name] for name in SAID if name in predictions.metadata}
    if "model" in said:  # where it was trained is nobody's business
        said["model"] = {**said["model"], "model": Path(str(said["model"].get("model", ""))).name}
    metadata = {
        "format": FORMAT,
        "n_rows": table.num_rows,
        "example_ids_sha256": digest_of_ids(table["example_id"].to_pylist()),
        "split": predictions.metadata.get("split"),
        "run": said,
        **more,
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(metadata, sort_keys=True).encode()})
    partial = target.with_name(target.name + ".partial")
    pq.write_table(kept, partial, compression="zstd", compression_level=19)
    partial.replace(target)
    return target.stat().st_size


if __name__ == "__main__":
    main()
