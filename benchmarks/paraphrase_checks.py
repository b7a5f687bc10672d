"""How often checks of paraphrases err, on variations and pairs of sentences that people judged:

    python benchmarks/paraphrase_checks.py similar plui:MODEL nli:MODEL judge:judge.yaml

``PARACONSIST_TEST_DATA`` is the folder with ``validity/``: 1,061 variations of 243 search queries by five methods that
a person found valid or not (Penha et al. 2022), and 1,565 pairs of sentences of three sets, of which two hold
paraphrases alone and one holds none (PARAPHRASUS). For each check, of the valid ones the share that it keeps, of the
invalid ones the share that it keeps, with 95 % intervals over queries, and the area under the curve of its score (0.5:
it does no better than a coin).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from paraconsist.comparing.comparer import Comparer
from paraconsist.comparing.meaning import comparer_of_texts
from paraconsist.measures.checked import label_share

sys.path.insert(0, str(Path(__file__).resolve().parent))
from comparers import FOLDER, area

METHODS = {
    "ramsrigouthamg/t5_paraphraser": "T5 paraphraser",
    "summarization_with_t5-base_from_description_to_title": "description to title",
    "WordSwapEmbedding": "words by embedding",
    "back_translation_pivot_language_de": "back-translation",
    "WordSwapWordNet": "words by WordNet",
}


def variations(each: int | None = None) -> list[dict[str, Any]]:
    """Return the variations that a person judged (a rule set the others), or so many of each method at random."""
    rows = pq.read_table(FOLDER / "validity" / "query_variations.parquet").to_pylist()
    rows = [row for row in rows if row["annotator"] is not None]
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    return [row for method in METHODS for row in [row for row in shuffled if row["method"] == method][:each]]


def kept(is_kept: np.ndarray, groups: np.ndarray) -> str:
    """Return a share with its interval over groups, in per cent."""
    if not len(is_kept):
        return "-"
    share, (low, high) = label_share(is_kept.astype(float), groups)
    return f"{100 * share:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def scores_of(comparer: Comparer, rows: list[dict[str, Any]], names: tuple[str, str]) -> np.ndarray:
    """Return the score of two texts of each row, shape (n,)."""
    return comparer.pairs(*(comparer.values([row[name] for row in rows]) for name in names))


def on_variations(rows: list[dict[str, Any]], scores: np.ndarray, threshold: float) -> Iterator[list[str]]:
    """Yield the cells of a line for all methods together, then for each."""
    valid = np.array([row["valid"] for row in rows], dtype=bool)
    groups = np.array([f"{row['dataset']}.{row['query_id']}" for row in rows])
    methods = np.array([row["method"] for row in rows])
    for method in ("", *METHODS):
        members = (methods == method) | (not method)
        shares = [kept(scores[of] >= threshold, groups[of]) for of in (members & valid, members & ~valid)]
        counts = f"{int((members & valid).sum())} of {int(members.sum())}"
        yield [METHODS.get(method, "all"), counts, *shares, f"{area(scores[members], valid[members]):.2f}"]


def on_pairs(comparer: Comparer) -> Iterator[str]:
    """Yield the share of pairs of each set that a check keeps."""
    rows = pq.read_table(FOLDER / "validity" / "paraphrase_pairs.parquet").to_pylist()
    scores = scores_of(comparer, rows, ("sentence1", "sentence2"))
    sets, groups = (np.array([str(row[name]) for row in rows]) for name in ("set", "source_id"))
    for name, what in (("AMR", "paraphrases"), ("OneStop", "paraphrases, simplified"), ("ANLI", "no paraphrases")):
        of = sets == name
        yield f"{name} ({of.sum()} {what}): keeps {kept(scores[of] >= comparer.threshold, groups[of])} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="+")
    parser.add_argument("--no-pairs", action="store_true", help="only the variations of queries")
    parser.add_argument("--each", type=int, help="only so many variations of each method, drawn at random")
    arguments = parser.parse_args()
    rows = variations(arguments.each)
    for check in arguments.checks:
        comparer, started = comparer_of_texts(check), time.time()
        scores = scores_of(comparer, rows, ("query", "variation"))
        print(f"\n{check}\n\n| method | valid | valid ones kept | invalid ones kept | AUC |\n|---|---|---|---|---|")
        for cells in on_variations(rows, scores, comparer.threshold):
            print(f"| {' | '.join(cells)} |", flush=True)
        if not arguments.no_pairs:
            print("", *on_pairs(comparer), sep="\n")
        print(f"{time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
