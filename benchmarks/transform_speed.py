"""How fast noun substitution is: python benchmarks/transform_speed.py [--pairs 10000] [--file ROWS.csv]

WordNet loaded through nltk; then fitting to, transforming and reporting on pairs of sentences, beside the published way
of applying a dictionary (split at blanks, look up, join). Without a file the sentences are made from a few patterns and
WordNet's commonest nouns, all different. One core.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from pathlib import Path

from paraconsist.transforms.interface import apply_to_columns
from paraconsist.transforms.lexicon import load_lexicon
from paraconsist.transforms.registry import transformation

PATTERNS = (
    ("The {0} with the {1} stands beside a {2}, near the old {3}.", "A {0} is close to a {2}."),
    ("Two people carry a {0} through the {1} while a {2} looks on.", "Nobody sees the {0}'s {3}."),
    ("In the {0} there is a {1}; a {2} waits for the {3} outside.", "The {3} is late."),
)


def made_pairs(n: int, words: list[str]) -> list[tuple[str, str]]:
    """Return n pairs of sentences with words drawn at random."""
    rng = random.Random(0)
    pairs = []
    for i in range(n):
        chosen = rng.sample(words, 4)
        pairs.append(tuple(side.format(*chosen) for side in PATTERNS[i % len(PATTERNS)]))
    return pairs


def read_pairs(path: Path, n: int) -> list[tuple[str, str]]:
    """Return the first n pairs of premise and hypothesis of a file."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        return [(row["premise"], row["hypothesis"]) for _, row in zip(range(n), rows, strict=False)]


def timed(what: str, function):
    """Print how long a call takes; return what it returns, and the seconds."""
    began = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - began
    print(f"  {what:42} {seconds:8.3f} s")
    return result, seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--file", type=Path, help="CSV or TSV with premise and hypothesis")
    options = parser.parse_args()

    lexicon, _ = timed("WordNet loaded", load_lexicon)
    made, _ = timed("wordnet_nouns, ready", lambda: transformation("wordnet_nouns", tagger="wordnet"))
    nouns = [word for (word, part), _ in lexicon.counts.most_common() if part == "n" and word.isalpha()]
    pairs = made_pairs(options.pairs, nouns[:3000]) if options.file is None else read_pairs(options.file, options.pairs)
    columns = {"premise": [a for a, _ in pairs], "hypothesis": [b for _, b in pairs]}
    print(f"{len(pairs):,} pairs, {len({text for pair in pairs for text in pair}):,} distinct texts")
    fitted, fit = timed("fit", lambda: made.fit([text for texts in columns.values() for text in texts]))
    changed, apply = timed("transform", lambda: apply_to_columns(fitted, columns, made.name))
    report, _ = timed("report", lambda: fitted.report(pairs, list(zip(*changed.values(), strict=True))))
    dictionary = fitted.dictionary
    _, plain = timed(
        "published way of applying the dictionary",
        lambda: [
            " ".join(dictionary.get(word, word) for word in text.split())
            for texts in columns.values()
            for text in texts
        ],
    )
    print(f"fit and transform {fit + apply:.2f} s; transform takes {apply / plain:.1f} times the published way, which")
    print("must be given lower case without punctuation, and keeps neither possessives nor capitals")
    print(
        f"{100 * report['share_changed']:.1f} % of pairs changed, {report['words_changed_per_item']:.2f} words a pair"
    )


if __name__ == "__main__":
    main()
