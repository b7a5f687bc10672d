"""Rewordings to be read: python benchmarks/rewordings.py --kind phrase [--n 200]

The rule kinds of `paraconsist reword` on the questions of MathCheck (``maths/mathcheck_items.parquet`` in
PARACONSIST_TEST_DATA), in random order with a fixed seed: what changed, with five words around it. docs/rewordings.md
has the counts of those that keep the meaning.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import pyarrow.parquet as pq

from paraconsist.transforms.rewording import KINDS, Prompt, reworded

FOLDER = Path(os.environ.get("PARACONSIST_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
AROUND = 5  # words


def rewordings(kind: str) -> Iterator[tuple[str, str]]:
    """Yield questions with their rewordings, each distinct question once."""
    column = pq.read_table(FOLDER / "maths" / "mathcheck_items.parquet")["question"].to_pylist()
    questions = sorted({question for question in column if question})
    random.Random(0).shuffle(questions)
    for question in questions:
        new = reworded(Prompt(question, words=(question,)), kind, 0, "0")
        if new is not None and new.text != question:
            yield question, new.text


def shown(old: str, new: str) -> str:
    """Return what changed."""
    a, b = old.split(), new.split()
    changed = [each for each in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if each[0] != "equal"]
    _, i, _, j, _ = changed[0]
    _, _, i_end, _, j_end = changed[-1]
    before, after = (
        " ".join(words[max(start - AROUND, 0) : end + AROUND]) for words, start, end in ((a, i, i_end), (b, j, j_end))
    )
    return f"{before}  ->  {after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=[name for name, kind in KINDS.items() if kind.english], required=True)
    parser.add_argument("--n", type=int, default=200)
    options = parser.parse_args()
    for number, pair in zip(range(options.n), rewordings(options.kind), strict=False):
        print(number, shown(*pair))


if __name__ == "__main__":
    main()
