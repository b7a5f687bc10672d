"""Random lopsided rows for every measure, and comparison of results: for the tests of invariances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.prediction_change import prediction_change

Rows = dict[str, Any]
SEEDS = range(12)
N_LABELS = 3


# ---------------------------------------------------------------------------- random lopsided rows


def labels(rng: np.random.Generator, n: int, like: Any = None, share: float = 0.6) -> list[int]:
    """Return n random labels, a share of them copied from `like`."""
    drawn = rng.integers(0, N_LABELS, n)
    return (drawn if like is None else np.where(rng.random(n) < share, like, drawn)).tolist()


def lopsided(rng: np.random.Generator, n: int) -> list[str]:
    """Return ids of n rows: a few large buckets and many of one row, not adjacent."""
    return [f"b{i}" for i in rng.permutation(np.floor(n * rng.random(n) ** 2).astype(int))]


def per_bucket(rng: np.random.Generator, buckets: list[str]) -> list[int]:
    of = dict(zip(dict.fromkeys(buckets), labels(rng, len(set(buckets))), strict=True))
    return [of[bucket] for bucket in buckets]


def pair_rows(rng: np.random.Generator, n: int) -> Rows:
    original = labels(rng, n)
    return {
        "predictions": original,
        "perturbed_predictions": labels(rng, n, original),
        "references": labels(rng, n, original),
        "perturbed_references": labels(rng, n),
        "groups": lopsided(rng, n),
        "condition": original[0],
    }


def transitive_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = [labels(rng, n), labels(rng, n)]
    rules = [[2], [1, 2], [0, 1]]
    return {
        "predictions": labels(rng, n),
        "references": [rules[i] for i in rng.integers(0, 3, n)],
        "antecedent_1_predictions": labels(rng, n, gold[0]),
        "antecedent_1_references": gold[0],
        "antecedent_2_predictions": labels(rng, n, gold[1]),
        "antecedent_2_references": gold[1],
        "groups": lopsided(rng, n),
    }


def additive_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    names = ("predictions", "part_1_predictions", "part_2_predictions")
    return {"references": gold, "groups": lopsided(rng, n)} | {name: labels(rng, n, gold) for name in names}


def change_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    original = labels(rng, n, gold)
    return {
        "predictions": labels(rng, n, original),
        "original_predictions": original,
        "references": gold,
        "strata": lopsided(rng, n),
        "groups": lopsided(rng, n),
    }


def bucket_rows(rng: np.random.Generator, n: int) -> Rows:
    buckets = lopsided(rng, n)
    gold = per_bucket(rng, buckets)
    return {"predictions": labels(rng, n, gold), "references": gold, "buckets": buckets}


def two_model_rows(rng: np.random.Generator, n: int) -> Rows:
    one = bucket_rows(rng, n)
    both = {"predictions1": one.pop("predictions"), "predictions2": labels(rng, n, one["references"], 0.4)}
    return {**both, **one}


def variant_rows(rng: np.random.Generator, n: int) -> Rows:
    buckets = lopsided(rng, n)
    original = per_bucket(rng, buckets)
    right = dict(zip(dict.fromkeys(buckets), rng.random(n) < 0.7, strict=False))
    return {
        "predictions": labels(rng, n, original, 0.8),
        "original_predictions": original,
        "references": [o if right[b] else (o + 1) % N_LABELS for o, b in zip(original, buckets, strict=True)],
        "buckets": buckets,
        "opposites": {0: 2, 2: 0},
        "groups": {bucket: f"g{i // 2}" for i, bucket in enumerate(sorted(right))},
    }


def probability_rows(rng: np.random.Generator, n: int) -> Rows:
    original = rng.dirichlet([1.0] * N_LABELS, n)
    shifted = np.where(rng.random((n, 1)) < 0.5, rng.dirichlet([1.0] * N_LABELS, n), original)
    return {
        "probabilities": (0.9 * shifted + 0.1 * rng.dirichlet([1.0] * N_LABELS, n)).tolist(),
        "original_probabilities": original.tolist(),
        "groups": lopsided(rng, n),
    }


def text_rows(rng: np.random.Generator, n: int) -> Rows:
    words = ["a", "dog", "dogs", "sleeps", "slept", "here", "there", "The"]
    texts = [[" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(n)] for _ in range(2)]
    vectors = [rng.normal(size=(n, 3)).tolist() for _ in range(2)]
    return {
        "paraphrases": texts[0],
        "originals": texts[1],
        "embeddings": vectors[0],
        "original_embeddings": vectors[1],
        "entailed": rng.integers(0, 2, n).tolist(),
        "groups": lopsided(rng, n),
    }


def test_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    return {
        "predictions": labels(rng, n, gold),
        "transformed_predictions": labels(rng, n, gold, 0.4),
        "references": gold,
    }


test_rows.__test__ = False  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Measure:
    """A measure, rows for it, and which of its arguments hold one value per row."""

    function: Callable[..., Any]
    rows: Callable[[np.random.Generator, int], Rows]
    options: Mapping[str, Any]

    def __call__(self, rows: Rows) -> dict[str, Any]:
        found: dict[str, Any] = self.function(**rows, **self.options).to_dict()
        return found


QUICK = {"n_resamples": 40}
MEASURES: dict[str, Measure] = {
    "additive_inconsistency": Measure(additive_inconsistency, additive_rows, QUICK),
    "consistency_difference": Measure(consistency_difference, two_model_rows, {**QUICK, "n_permutations": 40}),
    "distribution_shift": Measure(distribution_shift, probability_rows, QUICK),
    "fooling_rate": Measure(fooling_rate, variant_rows, QUICK),
    "ie_test": Measure(ie_test, test_rows, {}),
    "negational_inconsistency": Measure(negational_inconsistency, pair_rows, QUICK),
    "paraphrase_diversity": Measure(paraphrase_diversity, text_rows, QUICK),
    "paraphrastic_consistency": Measure(paraphrastic_consistency, bucket_rows, QUICK),
    "prediction_change": Measure(prediction_change, change_rows, QUICK),
    "semantic_inconsistency": Measure(semantic_inconsistency, pair_rows, QUICK),
    "symmetric_inconsistency": Measure(symmetric_inconsistency, pair_rows, QUICK),
    "transitive_inconsistency": Measure(transitive_inconsistency, transitive_rows, QUICK),
}


def per_row(rows: Rows) -> list[str]:
    return [name for name, values in rows.items() if isinstance(values, list)]


def examples(name: str) -> Iterator[tuple[np.random.Generator, Rows]]:
    for seed in SEEDS:
        rng = np.random.default_rng([seed, sum(map(ord, name))])
        yield rng, MEASURES[name].rows(rng, int(rng.integers(12, 80)))


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """Return all numbers of a result by path; texts (signature, warnings) are left out."""
    if isinstance(values, Mapping):
        pairs: Any = values.items()
    elif isinstance(values, (list, tuple)):
        pairs = enumerate(values)
    else:
        return {} if isinstance(values, str) else {prefix: values}
    return {key: value for name, inner in pairs for key, value in flat(inner, f"{prefix}/{name}").items()}


def assert_same(one: Any, other: Any, *, only: Callable[[str], bool] = lambda path: True) -> None:
    first, second = ({p: v for p, v in flat(values).items() if only(p)} for values in (one, other))
    assert first == pytest.approx(second, rel=1e-9, abs=1e-9, nan_ok=True)
    assert first


def points(path: str) -> bool:
    """Return whether a path is a point value, not an interval, an error or a number of rows."""
    parts = path.strip("/").split("/")
    return not any(
        part in ("confidence_interval", "standard_error", "design_effect", "intervals") or part.startswith("n_")
        for part in parts
    )
