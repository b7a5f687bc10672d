"""Add a measure of your own: a function of a predictions file, with an interval that resamples buckets.

    paraconsist run --model runs/demo/model --dataset sample:defeasible_nli --output runs/example
    python examples/own_measure.py runs/example/predictions/sample-defeasible_nli.parquet

The measure is the worst case: the share of buckets that are answered right however they are worded. It is written as
sums over buckets, so that no row is read twice: what a bucket adds, and what the measure makes of the sums.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from paraconsist.data.predictions import read_predictions
from paraconsist.measures.buckets import partition
from paraconsist.measures.intervals import Units, intervals


def worst_case_accuracy(predictions: np.ndarray, labels: np.ndarray, buckets: list[str]) -> tuple[float, float, float]:
    """Return the share of buckets without a wrong answer, in [0, 1], up is good, and its 95 % interval."""
    divided = partition(buckets)
    wrong = np.bincount(divided.codes, weights=predictions != labels)
    sums = np.stack([np.ones(len(divided)), wrong == 0], axis=1)  # of each bucket: one, and whether it is all right
    units = Units.of(sums, np.ones(len(divided)))
    found = intervals(
        units,
        lambda total: (total[..., 1] / total[..., 0])[..., None],  # sums over buckets -> one measure
        ranges=[(0.0, 1.0)],
        are_means=[True],
    )
    return float(np.mean(wrong == 0)), float(found.low[0]), float(found.high[0])


def main(path: Path) -> None:
    table = read_predictions(path).table.to_pandas()
    rows = table[table["role"] == "paraphrase"]
    value, low, high = worst_case_accuracy(
        rows["prediction"].to_numpy(), rows["label"].to_numpy(), rows["bucket_id"].tolist()
    )
    accuracy = (rows["prediction"] == rows["label"]).mean()
    print(f"worst case {value:.3f} [{low:.3f}, {high:.3f}] over {rows['bucket_id'].nunique()} buckets; ", end="")
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
