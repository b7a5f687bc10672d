"""Run a model over a bucket set from Python, and score what it predicted.

    paraconsist demo                                                    # leaves a small model in runs/demo/model
    python examples/run_model.py runs/demo/model sample:defeasible_nli runs/example

Any Hugging Face classifier will do, and any set that `paraconsist run --dataset` takes. Started again, it goes on with
the run in the folder: every input is computed once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.predictions import read_predictions
from paraconsist.models.loading import load_model
from paraconsist.running.options import RunOptions
from paraconsist.running.run import run
from paraconsist.scoring.score import ScoreOptions, score


def main(model: str, dataset: str, output: Path) -> None:
    report = run(
        lambda name, sets: load_model(name, task=sets[0].task),
        lambda: {model: [load_bucket_set(dataset)]},
        RunOptions(output=output),
    )
    for name, path in report.files.items():
        results = score(read_predictions(path), ScoreOptions())
        for measure, found in results["measures"].items():
            print(f"{name}: {measure} {found[measure]:.3f}, accuracy {found['accuracy']:.3f}, rows {results['n_rows']}")
        print(f"predictions in {path}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
