"""Krippendorff's alpha and Fleiss' kappa: by definition, by other packages, on published answers."""

import csv
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from paraconsist.measures.buckets import BucketCounts, LabelPool, count_buckets, partition
from paraconsist.measures.chance import agreement_chance
from paraconsist.measures.paraphrastic import measures_of_counts
from paraconsist.measures.results import Estimates, interval_options


def counts_of(codes: np.ndarray, labels: np.ndarray) -> tuple[BucketCounts, LabelPool]:
    n_buckets, n_labels = int(codes.max()) + 1, int(labels.max()) + 1
    gold = np.zeros(n_buckets, dtype=np.intp)
    counts, pool, _ = count_buckets(codes, n_buckets, labels, gold, n_labels)
    return counts, pool


def krippendorff_alpha(counts: BucketCounts, pool: LabelPool) -> float:
    return agreement_chance(counts, pool, pooled=True).corrected


def fleiss_kappa(counts: BucketCounts, pool: LabelPool) -> float:
    estimates = Estimates(interval_options("paraphrastic_consistency", "auto", 0.95, 1, 0), "bucket")
    return estimates.add_label_agreement(counts, pool, None).get("fleiss_kappa", float("nan"))


def lopsided(seed: int, *, one_size: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return buckets and labels of rows, in no order."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(4, 25)), int(rng.integers(2, 5))
    sizes = np.full(n, int(rng.integers(2, 6))) if one_size else rng.integers(1, 7, n)
    codes = np.repeat(np.arange(n), sizes)
    own = rng.integers(0, n_labels, n)[codes]
    labels = np.where(rng.random(len(codes)) < rng.random(), own, rng.integers(0, n_labels, len(codes)))
    order = rng.permutation(len(codes))
    return codes[order], labels[order]


def naive_alpha(codes: np.ndarray, labels: np.ndarray) -> float:
    """Krippendorff's coincidence matrix, filled pair by pair."""
    n_labels = int(labels.max()) + 1
    coincidences = np.zeros((n_labels, n_labels))
    for bucket in np.unique(codes):
        values = labels[codes == bucket].tolist()
        for one, two in permutations(values, 2):
            coincidences[one, two] += 1 / (len(values) - 1)
    totals = coincidences.sum(axis=0)
    n = totals.sum()
    observed = coincidences.sum() - np.trace(coincidences)
    expected = sum(totals[a] * totals[b] for a, b in permutations(range(n_labels), 2)) / (n - 1)
    return float(1 - observed / expected) if expected > 0 else float("nan")


@pytest.mark.parametrize("seed", range(12))
def test_alpha_is_that_of_the_coincidence_matrix(seed: int) -> None:
    codes, labels = lopsided(seed)
    counts, pool = counts_of(codes, labels)
    alpha = krippendorff_alpha(counts, pool)
    assert alpha == pytest.approx(naive_alpha(codes, labels), abs=1e-12, nan_ok=True)


def test_alpha_of_a_worked_example_with_gaps() -> None:
    """The three coders of the article "Krippendorff's alpha" in Wikipedia: nominal alpha .691."""
    coders = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]
    rows = [(unit, int(value)) for coder in coders for unit, value in enumerate(coder) if value != "*"]
    codes, labels = (np.array(column) for column in zip(*rows, strict=True))
    assert krippendorff_alpha(*counts_of(partition(codes).codes, labels)) == pytest.approx(0.691, abs=5e-4)


@pytest.mark.parametrize("seed", range(8))
def test_alpha_of_the_package(seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    codes, labels = lopsided(seed)
    table = np.zeros((codes.max() + 1, labels.max() + 1), dtype=int)
    np.add.at(table, (codes, labels), 1)
    oracle = krippendorff.alpha(value_counts=table, level_of_measurement="nominal")
    assert krippendorff_alpha(*counts_of(codes, labels)) == pytest.approx(oracle, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_kappa_of_the_package(seed: int) -> None:
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    codes, labels = lopsided(seed, one_size=True)
    table = np.zeros((codes.max() + 1, labels.max() + 1), dtype=int)
    np.add.at(table, (codes, labels), 1)
    assert fleiss_kappa(*counts_of(codes, labels)) == pytest.approx(raters.fleiss_kappa(table), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_kappa_is_that_of_its_definition(seed: int) -> None:
    codes, labels = lopsided(seed, one_size=True)
    counts, pool = counts_of(codes, labels)
    by_chance = sum(np.mean(labels == label) ** 2 for label in np.unique(labels))
    agreement = measures_of_counts(counts)["agreement_unbiased"]
    assert fleiss_kappa(counts, pool) == pytest.approx((agreement - by_chance) / (1 - by_chance), abs=1e-12)
    # Buckets of one size: all three are one number, but for what a finite pool takes.
    alpha, n = krippendorff_alpha(counts, pool), len(labels)
    assert agreement_chance(counts, pool).corrected == pytest.approx(alpha, abs=1e-12)
    assert 1 - fleiss_kappa(counts, pool) == pytest.approx((1 - alpha) * n / (n - 1), abs=1e-12)


def test_kappa_of_fleiss_own_example() -> None:
    """Fleiss (1971), Table 1: 30 patients, 6 psychiatrists, 5 diagnoses; kappa .430, mean agreement .5556."""
    table = np.array(
        """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6
        |1 0 0 5 0|1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0|0 2 0 4 0|1 0 2 0 3
        |0 0 0 0 6|0 1 0 5 0|0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6""".replace(
            "|", " "
        ).split(),
        dtype=int,
    ).reshape(30, 5)
    codes, labels = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    counts, pool = counts_of(codes, labels)
    assert measures_of_counts(counts)["agreement_unbiased"] == pytest.approx(0.5556, abs=5e-5)
    assert fleiss_kappa(counts, pool) == pytest.approx(0.430, abs=5e-4)


def test_one_label_and_buckets_of_one_have_no_value() -> None:
    constant = counts_of(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]))
    singles = counts_of(np.array([0, 1, 2]), np.array([0, 1, 1]))
    sizes = counts_of(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1]))
    assert np.isnan([krippendorff_alpha(*constant), fleiss_kappa(*constant), fleiss_kappa(*sizes)]).all()
    assert np.isnan([krippendorff_alpha(*singles), fleiss_kappa(*singles)]).all()
    assert krippendorff_alpha(*sizes) == pytest.approx(
        naive_alpha(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1]))
    )


@pytest.mark.real_data
def test_prompt_stability(data_folder: Path) -> None:
    """palaiole13/promptstability: gpt-3.5-turbo under six prompts, at three settings, and one prompt 20 times."""
    with (data_folder / "recorded" / "promptstability.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def alpha(study: str, temperature: str | None = None) -> float:
        chosen = [row for row in rows if row["study"] == study and temperature in (None, row["temperature"])]
        codes = partition([row["unit"] for row in chosen]).codes
        return krippendorff_alpha(*counts_of(codes, np.array([int(row["value"]) for row in chosen])))

    values = [alpha("between_prompts", t) for t in ("0.1", "0.5", "1.0")]
    assert values == pytest.approx([0.15977519, 0.15977519, 0.17044471], abs=5e-9)
    assert alpha("between_prompts") == pytest.approx(0.16146622, abs=5e-9)
    assert alpha("within_prompt") == pytest.approx(1.0)
