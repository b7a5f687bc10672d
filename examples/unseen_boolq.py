"""BoolQ rows that BECEL's test cases do not use, as training and development files.

BECEL takes its BoolQ cases from the validation set, and BoolQ's training set is not published with it. A model trained
on the whole validation set would have seen the originals; this leaves them out.

    paraconsist build becel [--data-dir MIRROR]
    python examples/unseen_boolq.py OUT
    paraconsist train --model bow --train-file OUT/train.csv --eval-file OUT/dev.csv --output models/boolq
"""

from __future__ import annotations

import sys
from pathlib import Path

from datasets import load_dataset


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for config in ("boolq_semantic", "boolq_negational"):
        seen |= set(load_dataset("becel", config, split="test")["group_id"])
    rows = load_dataset("becel", "boolq_validation", split="validation")
    unseen = rows.filter(lambda row: row["group_id"] not in seen).select_columns(["question", "passage", "label"])
    halves = unseen.train_test_split(test_size=400, seed=0)
    for name, part in (("train", halves["train"]), ("dev", halves["test"])):
        part.to_csv(str(folder / f"{name}.csv"))
        print(f"{folder / name}.csv: {len(part):,} rows")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
