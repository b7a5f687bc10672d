"""Score predictions in a CSV: nothing is run, no model is needed.

The file has one row for each paraphrase: which problem it asks (the bucket), what the model answered, and the right
answer. The same from the command line:

    paraconsist score mine.csv --bucket question_id --prediction answer --label gold
    python examples/score_csv.py mine.csv question_id answer gold
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import evaluate

import paraconsist


def main(path: Path, bucket: str, prediction: str, label: str) -> None:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    paraconsist.register()  # once per machine: evaluate.load knows the names from then on
    metric = evaluate.load("paraphrastic_consistency")
    found = metric.compute(
        predictions=[row[prediction] for row in rows],
        references=[row[label] for row in rows],
        buckets=[row[bucket] for row in rows],
    )
    for name in ("accuracy", "paraphrastic_consistency", "paraphrastic_consistency_unbiased"):
        low, high = found["confidence_interval"][name]
        print(f"{name:35} {found[name]:.3f}   [{low:.3f}, {high:.3f}]")
    for warning in found["warnings"]:
        print(f"note: {warning}")
    print(found["signature"])


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:5])
