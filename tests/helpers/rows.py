"""Rows that a bag of words can learn, and a way to write them."""

import csv
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
