"""A small inference task for the IE test: the verb decides the label, and a dictionary renames some nouns."""

import random
from pathlib import Path

from helpers.rows import write_csv

LABELS = ("entailment", "neutral", "contradiction")
NOUNS = ("dog", "cat", "rain", "school", "friend", "food", "music", "sun")
RENAMED = {"dog": "hound", "cat": "feline", "rain": "drizzle", "food": "meal", "music": "melody"}
VERBS = {"entailment": ("likes", "sees"), "neutral": ("finds", "hears"), "contradiction": ("hates", "loses")}


def inference_rows(n: int, seed: int = 0) -> list[dict]:
    """Rows whose verb says the label four times in five; otherwise the noun has its say, which the change hides."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        label, noun = LABELS[i % 3], rng.choice(NOUNS)
        verb = rng.choice(VERBS[label]) if rng.random() < 0.8 else rng.choice(VERBS[rng.choice(LABELS)])
        first = {"entailment": "dog", "neutral": "cat", "contradiction": "food"}[label]
        rows.append(
            {
                "premise": f"The {first if rng.random() < 0.7 else noun} and the {rng.choice(NOUNS)} are here",
                "hypothesis": f"She {verb} the {noun}",
                "label": label,
            }
        )
    return rows


def words_of_rows() -> list[str]:
    """Every word of the rows and of the dictionary, for a tokenizer."""
    verbs = [verb for some in VERBS.values() for verb in some]
    return ["the", "and", "are", "here", "she", *NOUNS, *RENAMED.values(), *verbs]


def write_experiment(folder: Path, *, n_train: int = 120, n_validation: int = 30, n_test: int = 60) -> dict[str, Path]:
    """Write training, validation and test rows and the dictionary."""
    sizes = {"train": n_train, "validation": n_validation, "test": n_test}
    files = {
        split: write_csv(folder / f"{split}.csv", inference_rows(n, seed))
        for seed, (split, n) in enumerate(sizes.items())
    }
    files["dictionary"] = write_csv(
        folder / "dictionary.csv", [{"key": key, "value": value} for key, value in RENAMED.items()]
    )
    return files
