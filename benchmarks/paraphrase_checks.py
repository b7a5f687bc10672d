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


def variations() -> list[dict[str, Any]]:
    """Return the variations that a person judged; the others were set by a rule."""
    rows = pq.read_table(FOLDER / "validity" / "query_variations.parquet").to_pylist()
    return [row for row in rows if row["annotator"] is not None]


def kept(is_kept: np.ndarray, groups: np.ndarray) -> str:
    """Return a share with its interval over groups, in per cent."""
    if not len(is_kept):
        return "-"
    share, (low, high) = label_share(is_kept.astype(float), groups)
    return f"{100 * share:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def on_variations(check: str) -> Iterator[list[str]]:
    """Yield the cells of a line for all methods together, then for each."""
    rows, comparer = variations(), comparer_of_texts(check)
    scores = comparer.pairs(*(comparer.values([row[name] for row in rows]) for name in ("query", "variation")))
    valid = np.array([row["valid"] for row in rows], dtype=bool)
    groups = np.array([f"{row['dataset']}.{row['query_id']}" for row in rows])
    methods = np.array([row["method"] for row in rows])
    for method in ("", *METHODS):
        members = (methods == method) | (not method)
        shares = [kept(scores[of] >= comparer.threshold, groups[of]) for of in (members & valid, members & ~valid)]
        counts = f"{int((members & valid).sum())} of {int(members.sum())}"
        yield [METHODS.get(method, "all"), counts, *shares, f"{area(scores[members], valid[members]):.2f}"]


def on_pairs(check: str) -> Iterator[str]:
    """Yield the share of pairs of each set that a check keeps."""
    rows, comparer = (
        pq.read_table(FOLDER / "validity" / "paraphrase_pairs.parquet").to_pylist(),
        comparer_of_texts(check),
    )
    scores = comparer.pairs(*(comparer.values([row[name] for row in rows]) for name in ("sentence1", "sentence2")))
    sets, groups = (np.array([str(row[name]) for row in rows]) for name in ("set", "source_id"))
    for name, what in (("AMR", "paraphrases"), ("OneStop", "paraphrases, simplified"), ("ANLI", "no paraphrases")):
        of = sets == name
        yield f"{name} ({of.sum()} {what}): keeps {kept(scores[of] >= comparer.threshold, groups[of])} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="+")
    for check in parser.parse_args().checks:
        started = time.time()
        print(f"\n{check}\n\n| method | valid | valid ones kept | invalid ones kept | AUC |\n|---|---|---|---|---|")
        for cells in on_variations(check):
            print(f"| {' | '.join(cells)} |", flush=True)
        print(*on_pairs(check), f"{time.time() - started:.0f} s", sep="\n", flush=True)


if __name__ == "__main__":
    main()
