"""Make a bucket set of your own: questions with their rewordings become rows that `paraconsist run` reads.

    python examples/own_dataset.py my_set
    paraconsist run --model ORG/MODEL --dataset my_set --stratum kind --output runs/mine

A bucket set is a table with one row for each text. Needed are the task's columns, `label` and `bucket_id`; `role` tells
originals from paraphrases, and intervals resample `group_id` where buckets share something (here the passage). Results
are broken down by other columns, such as `kind` here, where `--stratum` names them; what nobody names is left out. Such
a folder can be uploaded to the Hub.
"""

from __future__ import annotations

import sys
from pathlib import Path

from datasets import ClassLabel, Dataset

#: passage -> its questions, each with the right answer and rewordings of which kind
PASSAGES = {
    "The library opens at nine. On Sundays it stays closed, and books can be left in a box by the door.": [
        (
            ("Can books be returned on a Sunday?", "yes"),
            {
                "Is it possible to give books back on Sundays?": "synonyms",
                "On a Sunday, can one return books?": "order",
            },
        ),
        (
            ("Is the library open at eight?", "no"),
            {"Does the library open before nine?": "inference", "At eight, is the library open?": "order"},
        ),
    ],
    "The ferry runs every hour until midnight, but not in a storm.": [
        (
            ("Is there a ferry at eleven at night?", "yes"),
            {
                "Does a ferry run at eleven in the evening?": "synonyms",
                "At eleven at night, is there a ferry?": "order",
            },
        ),
    ],
}


def rows() -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    for group, (passage, questions) in enumerate(PASSAGES.items()):
        for number, ((question, answer), rewordings) in enumerate(questions):
            shared = {"passage": passage, "label": answer, "bucket_id": f"{group}.{number}", "group_id": f"{group}"}
            made.append({**shared, "question": question, "role": "original", "kind": "original"})
            made += [
                {**shared, "question": text, "role": "paraphrase", "kind": kind} for text, kind in rewordings.items()
            ]
    return made


def main(folder: Path) -> None:
    made = Dataset.from_list(rows())
    made = made.cast_column("label", ClassLabel(names=["no", "yes"]))  # the names by which a model's labels meet them
    folder.mkdir(parents=True, exist_ok=True)
    made.to_parquet(str(folder / "test.parquet"))
    print(f"{folder / 'test.parquet'}: {len(made)} rows, {len(set(made['bucket_id']))} buckets")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
