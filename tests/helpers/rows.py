"""Rows that a bag of words can learn, and a way to write them."""

import csv
import json
import random
from pathlib import Path

from helpers.models import WORDS


def write_csv(path: Path, rows: list[dict], fields=None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=fields or list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def easy_rows(n: int, seed: int = 0) -> list[dict]:
    """Rows that a bag of words can learn: the update says "likes" or "hates"."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        words = [rng.choice(WORDS[:20]) for _ in range(4)]
        verb = "likes" if i % 2 else "hates"
        rows.append(
            {
                "premise": " ".join(words),
                "hypothesis": "she is happy",
                "update": f"the {rng.choice(WORDS[:20])} {verb} {rng.choice(WORDS[:20])}",
                "label": i % 2,
            }
        )
    return rows


def record(folder: Path) -> dict:
    """Return what a training wrote of itself."""
    return json.loads((folder / "training.json").read_text(encoding="utf-8"))


def accuracy(classifier, task, rows: list[dict]) -> float:
    """Return a classifier's share of right answers."""
    scores = classifier.logits(classifier.prepare([classifier.encode(task, row) for row in rows]))
    hits = [answer == row["label"] for answer, row in zip(scores.argmax(1).tolist(), rows, strict=True)]
    return sum(hits) / len(hits)
