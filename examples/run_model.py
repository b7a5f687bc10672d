"""Run a model over a bucket set from Python, and score what it predicted.

    paraconsist demo                                                    # leaves a small model in runs/demo/model
    python examples/run_model.py runs/demo/model sample:defeasible_nli runs/example

Any Hugging Face classifier will do, and any set that `paraconsist run --dataset` takes. Started again, it goes on with
the run in the folder: every input is computed once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import paraconsist as pc


def main(model: str, dataset: str, output: Path) -> None:
    scores = pc.run(model, dataset, output=output).score()
    for name, scored in scores.sets.items():
        for measure, values in scored.measures.items():
            value, accuracy = values[measure], values["accuracy"]
            print(f"{name}: {measure} {value:.3f}, accuracy {accuracy:.3f}, rows {len(scored.rows)}")
        print(f"predictions in {scores.opened.sets[name].path}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
