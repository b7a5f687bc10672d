"""Paraphrastic consistency: worked examples, options, edges and errors."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from helpers.paranlu_goldens import correct_for_sampling
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.paraphrastic import (
    decile_weights,
    deciles,
    measures_of_counts,
    minimum_consistency,
    paraphrastic_consistency,
)

KEYS = [
    "paraphrastic_consistency",
    "paraphrastic_consistency_unbiased",
    "accuracy",
    "bucket_accuracy",
    "vap",
    "vap_unbiased",
    "between_variance",
    "between_variance_unbiased",
    "pvap",
    "pvap_unbiased",
    "pvap_pooled",
    "min_paraphrastic_consistency",
    "agreement",
    "agreement_unbiased",
    "consistently_right",
    "consistently_wrong",
    "agreement_chance",
    "krippendorff_alpha",
    "n_buckets",
    "n_examples",
]


def toy(n: int = 20, k: int = 4, seed: int = 0, **options: Any) -> dict[str, Any]:
    """Return arguments: n buckets of k paraphrases, right with a probability of each bucket's own."""
    rng = np.random.default_rng(seed)
    gold = np.repeat(rng.integers(0, 2, n), k)
    right = rng.random(n * k) < np.repeat(rng.beta(1, 1, n), k)
    return {
        "predictions": np.where(right, gold, 1 - gold),
        "references": gold,
        "buckets": np.repeat(np.arange(n), k),
        **options,
    }


def test_by_hand() -> None:
    """Bucket a: 3 of 4 right (theta .75); b: 2 of 2 (theta 1); c: 0 of 1 (theta 0)."""
    result = paraphrastic_consistency(
        predictions=[1, 1, 1, 0, 0, 0, 1],
        references=[1, 1, 1, 1, 0, 0, 0],
        buckets=["a", "a", "a", "a", "b", "b", "c"],
    )
    assert result.accuracy == pytest.approx(5 / 7)
    assert result.bucket_accuracy == pytest.approx(1.75 / 3)
    assert result.paraphrastic_consistency == pytest.approx((0.625 + 1 + 1) / 3)
    assert result.paraphrastic_consistency_unbiased == pytest.approx((3 / 6 + 1) / 2)  # c has no pair
    assert result.vap == pytest.approx(0.1875 / 3)
    assert result.vap_unbiased == pytest.approx((0.1875 * 4 / 3) / 2)
    assert result.between_variance == pytest.approx((0.5625 + 1) / 3 - (1.75 / 3) ** 2)
    assert result.pvap == pytest.approx(result.vap / (result.vap + result.between_variance))
    assert result.pvap_pooled == pytest.approx(result.vap / (5 / 7 * 2 / 7))
    # of the two with a pair: mean 7/8, so the whole is 7/64, and VAP is 1/8
    assert result.between_variance_unbiased == pytest.approx(7 / 64 - 1 / 8)
    assert result.pvap_unbiased == pytest.approx(8 / 7)
    assert (result.n_buckets, result.n_examples) == (3, 7)
    assert "1 of 3 buckets have one paraphrase" in result.warnings[0]


def test_agreement_is_about_labels_and_consistency_about_correctness() -> None:
    """Four paraphrases labelled 0, 1, 2, 2 with gold 0: 1 of 4 right, pairs with equal labels 6 of 16."""
    result = paraphrastic_consistency([0, 1, 2, 2], [0, 0, 0, 0], [7, 7, 7, 7])
    assert result.paraphrastic_consistency == 0.0625 + 0.5625
    assert result.agreement == 6 / 16
    assert result.agreement_unbiased == pytest.approx(1 / 6)


def test_to_dict_is_plain_python_with_stable_keys() -> None:
    values = paraphrastic_consistency(**toy()).to_dict()
    assert list(values)[: len(KEYS)] == KEYS
    uncertainty = ["confidence_interval", "standard_error", "n_clusters", "design_effect"]
    chance = ["chance", "chance_corrected"]
    assert list(values)[len(KEYS) :] == ["fleiss_kappa", *chance, *uncertainty, "bias", "signature", "warnings"]
    for name in uncertainty:
        assert set(values[name]) == {*KEYS[:-2], "fleiss_kappa", "chance_corrected"} - {"agreement_chance"}
    assert set(values["bias"]) == {"paraphrastic_consistency", "vap", "between_variance", "pvap", "agreement"}
    strict = to_strict_json(values)
    assert json.loads(json.dumps(strict, allow_nan=False)) == strict
    for value in values.values():
        assert type(value) in (float, int, str, list, dict)


def test_originals_leave_the_buckets() -> None:
    plain = toy()
    base = paraphrastic_consistency(**plain)
    values = paraphrastic_consistency(
        predictions=[
            *plain["predictions"],
            *plain["references"][::4][:15],
            *(1 - plain["references"][::4][15:]),
        ],
        references=[*plain["references"], *plain["references"][::4]],
        buckets=[*plain["buckets"], *range(20)],
        roles=["paraphrase"] * 80 + ["original"] * 20,
    )
    assert values.original_accuracy == 0.75
    for key in KEYS:
        assert getattr(values, key) == getattr(base, key)
    low, high = values.confidence_interval["original_accuracy"]
    assert low < 0.75 < high


def test_buckets_without_a_paraphrase_are_counted_and_named_once() -> None:
    result = paraphrastic_consistency(
        [1, 0, 1, 1],
        [1, 1, 1, 1],
        ["a", "a", "b", "c"],
        roles=["original", "paraphrase", "original", "paraphrase"],
        groups=["g", "g", "h", "i"],
    )
    assert (result.n_buckets, result.n_examples) == (2, 2)
    assert result.original_accuracy == 1.0
    assert "1 of 3 buckets have no paraphrase and are left out" in result.warnings


def test_no_original_at_all_is_undefined_not_zero() -> None:
    result = paraphrastic_consistency([1, 0], [1, 1], [0, 0], roles=["paraphrase"] * 2)
    assert math.isnan(result.original_accuracy or 0.0)
    assert any("undefined, so nan" in w and "original_accuracy" in w for w in result.warnings)


def test_corrected_by_hand() -> None:
    """Deciles: b0, b1 in 9, b2 in 5; test: 3/4 in 9, none in 5, 1/4 in 0, which has no bucket."""
    options = {
        "predictions": [1, 1, 1, 0, 0, 0],
        "references": [1, 1, 1, 1, 1, 1],
        "buckets": [0, 0, 1, 1, 2, 2],
        "original_confidences": {0: 1.0, 1: 0.9, 2: 0.55},
        "test_confidences": [0.95, 0.99, 1.0, 0.0],
    }
    result = paraphrastic_consistency(**options)
    assert result.covered_mass == 0.75
    assert result.corrected_accuracy == pytest.approx(0.75 * 0.75)
    assert result.corrected_paraphrastic_consistency == pytest.approx(0.75 * 0.75)
    assert result.corrected_vap == pytest.approx(0.75 * 0.125)
    renormalized = paraphrastic_consistency(**options, renormalize=True)
    assert renormalized.corrected_accuracy == pytest.approx(0.75)
    assert renormalized.corrected_paraphrastic_consistency == pytest.approx(0.75)
    assert any("cover only 75.0%" in warning for warning in result.warnings)
    assert "corrected:as published, test weights fixed" in result.signature
    assert "corrected:renormalized" in renormalized.signature


def test_no_test_mass_where_the_buckets_are_is_undefined() -> None:
    result = paraphrastic_consistency([1, 0], [1, 1], [0, 0], original_confidences={0: 0.5}, test_confidences=[0.9])
    assert math.isnan(result.corrected_accuracy or 0.0)
    assert result.covered_mass == 0.0
    assert to_strict_json(result.to_dict())["corrected_accuracy"] is None


def test_deciles_are_equal_bins_with_the_last_one_closed() -> None:
    assert deciles([0.0, 0.0999, 0.1, 0.89, 0.9, 1.0]).tolist() == [0, 0, 1, 8, 9, 9]
    assert decile_weights([0.05, 0.95, 0.95, 1.0 + 1e-7])[[0, 9]].tolist() == [0.25, 0.75]


def test_two_buckets_weighted_back_to_a_test_set_of_mostly_sure_rows() -> None:
    """Always right where the model is sure, half right where it is not; three test rows in four are sure ones."""
    counts = BucketCounts.from_counts(size=[4, 4], correct=[4, 2])
    corrected = correct_for_sampling(counts, [0.95, 0.55], [0.99, 0.98, 0.97, 0.51])
    assert (corrected.corrected_accuracy, corrected.corrected_paraphrastic_consistency) == (0.875, 0.875)


def test_weights_proportional_to_the_sample_change_nothing() -> None:
    rng = np.random.default_rng(3)
    confidences = rng.random(200)
    counts = BucketCounts.from_counts(np.full(200, 5), rng.binomial(5, confidences))
    corrected, plain = correct_for_sampling(counts, confidences, confidences), measures_of_counts(counts)
    assert corrected.corrected_paraphrastic_consistency == pytest.approx(plain["paraphrastic_consistency"])
    assert corrected.corrected_between_variance == pytest.approx(plain["between_variance"])
    assert corrected.corrected_pvap == pytest.approx(plain["pvap"])


def test_corrected_intervals_with_and_without_groups() -> None:
    rng = np.random.default_rng(4)
    options = toy(
        200,
        original_confidences=dict(enumerate(rng.random(200))),
        test_confidences=rng.random(500),
        n_resamples=2000,
    )
    plain = paraphrastic_consistency(**options)
    closed = paraphrastic_consistency(**options, interval_method="closed_form")
    grouped = paraphrastic_consistency(**options, groups=options["buckets"] // 2)
    for name in ("corrected_accuracy", "corrected_paraphrastic_consistency", "corrected_vap"):
        low, high = plain.confidence_interval[name]
        assert low < getattr(plain, name) < high
        assert closed.confidence_interval[name] == [low, high]
        assert grouped.confidence_interval[name] == pytest.approx([low, high], abs=0.05)
        assert getattr(grouped, name) == getattr(plain, name)


def test_groups_widen_intervals_when_buckets_of_a_group_are_alike() -> None:
    plain = toy(30)
    four = {
        "predictions": np.tile(plain["predictions"], 4),
        "references": np.tile(plain["references"], 4),
        "buckets": np.concatenate([plain["buckets"] + 30 * i for i in range(4)]),
    }
    alone = paraphrastic_consistency(**four)
    grouped = paraphrastic_consistency(**four, groups=np.tile(plain["buckets"], 4))
    name = "paraphrastic_consistency"
    assert grouped.standard_error[name] == pytest.approx(2 * alone.standard_error[name], rel=0.02)
    once = paraphrastic_consistency(**plain)
    assert grouped.confidence_interval[name] == pytest.approx(once.confidence_interval[name], abs=0.01)
    assert "ci:group-" in grouped.signature


def test_constant_predictions_warn() -> None:
    options = toy()
    options["predictions"] = np.zeros(80, dtype=int)
    result = paraphrastic_consistency(**options)
    assert result.paraphrastic_consistency == 1.0
    assert any("every prediction is 0" in warning for warning in result.warnings)


def test_one_bucket_and_buckets_of_one() -> None:
    one = paraphrastic_consistency([1, 0, 1], [1, 1, 1], [5, 5, 5])
    assert np.isnan(one.confidence_interval["accuracy"]).all()
    assert "one bucket: no interval below 10" in one.warnings
    singles = paraphrastic_consistency([1, 0, 1], [1, 1, 1], [0, 1, 2])
    assert singles.paraphrastic_consistency == 1.0
    assert math.isnan(singles.paraphrastic_consistency_unbiased)
    assert any("paraphrastic_consistency_unbiased" in w for w in singles.warnings if "undefined" in w)


def test_everything_right_leaves_the_shares_of_variance_undefined() -> None:
    result = paraphrastic_consistency([1, 0] * 20, [1, 0] * 20, list(range(20)) * 2)
    assert (result.accuracy, result.vap, result.between_variance) == (1.0, 0.0, 0.0)
    assert math.isnan(result.pvap)
    assert math.isnan(result.pvap_pooled)
    assert any("Clopper-Pearson" in warning for warning in result.warnings)


def test_the_minimum_is_reached_and_its_interval_contains_it() -> None:
    result = paraphrastic_consistency([1, 0] * 30, [1] * 60, np.arange(60) // 2)
    assert result.paraphrastic_consistency == result.min_paraphrastic_consistency == minimum_consistency(0.5)
    assert result.confidence_interval["min_paraphrastic_consistency"][0] == 0.5


def test_estimator_names_the_headline_and_moves_no_key() -> None:
    plugin, unbiased = (paraphrastic_consistency(**toy(), estimator=e) for e in ("plugin", "unbiased"))
    assert plugin.signature.startswith("pc|est:plugin|")
    assert unbiased.signature.startswith("pc|est:unbiased|")
    assert plugin.paraphrastic_consistency == unbiased.paraphrastic_consistency


def test_seeds() -> None:
    options = toy(interval_method="bootstrap")
    same = [paraphrastic_consistency(**options, seed=0).to_dict() for _ in range(2)]
    assert same[0] == same[1]
    other = paraphrastic_consistency(**options, seed=1)
    assert other.confidence_interval != same[0]["confidence_interval"]
    given = paraphrastic_consistency(**options, seed=np.random.default_rng(1))
    assert given.confidence_interval == other.confidence_interval
    assert "seed:given" in given.signature


def test_test_accuracy() -> None:
    result = paraphrastic_consistency(**toy(), test_predictions=["a", "b", "b"], test_references=["a", "b", "c"])
    assert result.test_accuracy == pytest.approx(2 / 3)


def test_the_error_about_gold_labels_names_the_bucket_and_both_rows() -> None:
    with pytest.raises(InputError, match=r"got 0 at row 0\. Bucket 'x' has 1 too"):
        paraphrastic_consistency([1, 1, 1], [0, 1, 1], ["x", "y", "x"])


@pytest.mark.slow
def test_the_measure_imports_numpy_and_scipy_only() -> None:
    script = (
        "import sys, paraconsist.measures, paraconsist.measures.alarms\n"
        "heavy = {'datasets', 'evaluate', 'torch', 'transformers', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=240)


# ---------- Paraphrastic consistency against chance: a coin, a perfect and a constant model, and its two parts


def made(kind: str, n: int, k: int, n_labels: int) -> dict[str, Any]:
    """Return rows of a model that flips coins, is always right, or always gives one answer."""
    rng = np.random.default_rng(14)
    gold = np.repeat(rng.integers(0, n_labels, n), k)
    drawn = rng.integers(0, n_labels, n * k)
    predictions = {"coin": drawn, "perfect": gold, "constant": np.ones(n * k, dtype=int)}[kind]
    columns = {"predictions": predictions, "references": gold, "buckets": np.repeat(np.arange(n), k)}
    return {name: column.tolist() for name, column in columns.items()}


def test_a_coin_a_perfect_and_a_constant_model_stand_where_they_belong() -> None:
    coin = paraphrastic_consistency(**made("coin", 500, 2, 2))
    assert coin.paraphrastic_consistency_unbiased == pytest.approx(0.5, abs=0.05)
    low, high = coin.confidence_interval["paraphrastic_consistency_unbiased"]
    assert low < 0.5 < high
    assert coin.chance == pytest.approx(0.5, abs=0.01)
    low, high = coin.confidence_interval["chance_corrected"]
    assert low < 0.0 < high
    perfect = paraphrastic_consistency(**made("perfect", 500, 2, 2))
    assert (perfect.chance_corrected, perfect.krippendorff_alpha) == (1.0, 1.0)
    assert perfect.confidence_interval["chance_corrected"][0] > 0.97
    constant = paraphrastic_consistency(**made("constant", 500, 2, 2))
    assert math.isnan(constant.chance_corrected)
    assert any("every prediction is 1" in warning for warning in constant.warnings)
    assert any(warning.startswith("undefined") and "chance_corrected" in warning for warning in constant.warnings)


def test_consistently_wrong_is_not_the_same_answer() -> None:
    """22 phrasings, five options: seldom right, mostly wrong, and wrong in another way each time."""
    result = paraphrastic_consistency(**made("coin", 300, 22, 5))
    assert result.paraphrastic_consistency_unbiased == pytest.approx(0.68, abs=0.01)
    assert result.agreement_unbiased == pytest.approx(0.2, abs=0.01)
    assert result.consistently_right == pytest.approx(0.04, abs=0.01)
    assert result.consistently_wrong == pytest.approx(0.64, abs=0.01)
    assert result.chance == pytest.approx(0.68, abs=0.005)
    assert result.agreement_chance == pytest.approx(0.2, abs=0.005)
    assert result.chance_corrected == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_of_consistency_equal_the_naive_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    buckets = rng.integers(0, 9, 60)
    gold, predictions = rng.integers(0, 3, 9)[buckets], rng.integers(0, 3, 60)
    result = paraphrastic_consistency(predictions.tolist(), gold.tolist(), buckets.tolist())
    parts = []
    for bucket in range(9):
        pairs = list(permutations((predictions == gold)[buckets == bucket].tolist(), 2))
        if pairs:
            parts.append([np.mean([a and b for a, b in pairs]), np.mean([not (a or b) for a, b in pairs])])
    both = np.mean(parts, axis=0)
    assert (result.consistently_right, result.consistently_wrong) == pytest.approx(tuple(both), abs=1e-12)
    total = result.consistently_right + result.consistently_wrong
    assert total == pytest.approx(result.paraphrastic_consistency_unbiased, abs=1e-12)
    above = 1 - (1 - result.agreement_unbiased) / (1 - result.agreement_chance)
    assert result.chance_corrected == pytest.approx(above, abs=1e-12)


def test_alpha_and_kappa_are_those_of_the_counts() -> None:
    result = paraphrastic_consistency(**made("coin", 40, 3, 3)).to_dict()
    assert result["krippendorff_alpha"] == pytest.approx(result["chance_corrected"], abs=1e-12)
    assert 1 - result["fleiss_kappa"] == pytest.approx((1 - result["krippendorff_alpha"]) * 120 / 119, abs=1e-12)
    low, high = result["confidence_interval"]["fleiss_kappa"]
    assert low < result["fleiss_kappa"] < high
    rows = {name: values[1:] for name, values in made("coin", 40, 3, 3).items()}
    assert "fleiss_kappa" not in paraphrastic_consistency(**rows).to_dict()


# ---------- Random input: only InputError, or what the definitions give when written as naive loops over pairs

MANY = examples(1000)


def naive(predictions: list[Any], references: list[Any], buckets: list[Any]) -> dict[str, float]:
    """Write the definitions of MEASURES down as double loops over the paraphrases of each bucket."""
    by_bucket: dict[Any, list[tuple[Any, bool]]] = {}
    for prediction, reference, bucket in zip(predictions, references, buckets, strict=True):
        by_bucket.setdefault(bucket, []).append((prediction, prediction == reference))
    plugin, unbiased, agree, agree_unbiased, thetas, vap = [], [], [], [], [], []
    for rows in by_bucket.values():
        pairs = list(product(rows, rows))
        plugin.append(sum(a[1] == b[1] for a, b in pairs) / len(pairs))
        agree.append(sum(a[0] == b[0] for a, b in pairs) / len(pairs))
        different = list(combinations(rows, 2))
        if different:
            unbiased.append(sum(a[1] == b[1] for a, b in different) / len(different))
            agree_unbiased.append(sum(a[0] == b[0] for a, b in different) / len(different))
        thetas.append(sum(right for _, right in rows) / len(rows))
        vap.append(thetas[-1] * (1 - thetas[-1]))
    mean = lambda values: sum(values) / len(values) if values else math.nan  # noqa: E731
    right = [p == r for p, r in zip(predictions, references, strict=True)]
    between = mean([(t - mean(thetas)) ** 2 for t in thetas])
    pooled = mean(right) * (1 - mean(right))
    nothing_varies = mean(right) in (0.0, 1.0)
    return {
        "accuracy": mean(right),
        "bucket_accuracy": mean(thetas),
        "paraphrastic_consistency": mean(plugin),
        "paraphrastic_consistency_unbiased": mean(unbiased),
        "vap": mean(vap),
        "vap_unbiased": (1 - mean(unbiased)) / 2,
        "between_variance": between,
        "pvap": math.nan if nothing_varies else mean(vap) / (mean(vap) + between),
        "pvap_pooled": math.nan if nothing_varies else mean(vap) / pooled,
        "min_paraphrastic_consistency": 1 - 2 * mean(thetas) * (1 - mean(thetas)),
        "agreement": mean(agree),
        "agreement_unbiased": mean(agree_unbiased),
        "n_buckets": len(by_bucket),
        "n_examples": len(predictions),
    }


def check(predictions: list[Any], references: list[Any], buckets: list[Any], **options: Any) -> dict[str, Any]:
    result = paraphrastic_consistency(predictions, references, buckets, n_resamples=20, **options).to_dict()
    for name, value in naive(predictions, references, buckets).items():
        assert result[name] == pytest.approx(value, abs=1e-12, nan_ok=True), name
    for name, (low, high) in result["confidence_interval"].items():
        assert math.isnan(low) == math.isnan(high)
        assert math.isnan(low) or low <= result[name] <= high, name
    return result


LABELS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "numpy": np.int8,
    "far apart": lambda i: (-1) ** i * i * 10**15,
    "string": "label {}".format,
    "digits": "0{}".format,
    "nul": lambda i: "a" + "\0" * i,
}


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Draw predictions, references and buckets as small integers; bucket sizes are lopsided."""
    sizes = draw(st.lists(st.sampled_from([1, 1, 1, 2, 3, 5, 9, 23]), min_size=1, max_size=8))
    n_labels = draw(st.integers(1, 4))
    buckets = [bucket for bucket, size in enumerate(sizes) for _ in range(size)]
    gold = draw(st.lists(st.integers(0, n_labels - 1), min_size=len(sizes), max_size=len(sizes)))
    predictions = draw(st.lists(st.integers(0, n_labels - 1), min_size=len(buckets), max_size=len(buckets)))
    order = draw(st.permutations(range(len(buckets))))
    return (
        [predictions[i] for i in order],
        [gold[buckets[i]] for i in order],
        [buckets[i] for i in order],
    )


@MANY
@given(rows(), st.sampled_from(list(LABELS)), st.sampled_from(list(LABELS)), st.booleans())
def test_equals_the_naive_definition(
    drawn: tuple[list[int], list[int], list[int]], labels: str, ids: str, as_array: bool
) -> None:
    predictions, references = ([LABELS[labels](i) for i in column] for column in drawn[:2])
    buckets = [LABELS[ids](i) for i in drawn[2]]
    given_options: dict[str, Any] = {}
    if as_array:
        given_options["groups"] = np.array(drawn[2]) // 2
    check(predictions, references, buckets, **given_options)


@examples(300)
@given(rows(), st.data(), st.booleans(), st.booleans())
def test_corrected_values_equal_the_naive_definition(
    drawn: tuple[list[int], list[int], list[int]], data: st.DataObject, renormalize: bool, in_groups: bool
) -> None:
    buckets = drawn[2]
    confidences = st.floats(0.0, 1.0, allow_subnormal=False)
    of_bucket = {bucket: data.draw(confidences) for bucket in dict.fromkeys(buckets)}
    test = data.draw(st.lists(confidences, min_size=1, max_size=12))
    result = paraphrastic_consistency(
        *drawn,
        original_confidences=of_bucket,
        test_confidences=test,
        renormalize=renormalize,
        groups=np.array(buckets) // 2 if in_groups else None,
        n_resamples=20,
    )
    decile = lambda p: min(math.floor(10 * p), 9)  # noqa: E731
    corrected = {"theta": 0.0, "square": 0.0, "other": 0.0, "mass": 0.0}
    for d in range(10):
        thetas = []
        for bucket in dict.fromkeys(buckets):
            if decile(of_bucket[bucket]) == d:
                right = [p == r for p, r, b in zip(*drawn, strict=True) if b == bucket]
                thetas.append(sum(right) / len(right))
        weight = sum(decile(p) == d for p in test) / len(test)
        if thetas:
            corrected["mass"] += weight
            corrected["theta"] += weight * sum(thetas) / len(thetas)
            corrected["square"] += weight * sum(t**2 for t in thetas) / len(thetas)
            corrected["other"] += weight * sum((1 - t) ** 2 for t in thetas) / len(thetas)
    mass = corrected["mass"]
    assert result.covered_mass == pytest.approx(mass, abs=1e-12)
    if mass == 0.0:
        assert math.isnan(result.corrected_accuracy or 0.0)
        return
    by = mass if renormalize else 1.0
    consistency = (corrected["square"] + corrected["other"]) / by
    assert result.corrected_accuracy == pytest.approx(corrected["theta"] / by, abs=1e-12)
    assert result.corrected_paraphrastic_consistency == pytest.approx(consistency, abs=1e-12)
    assert result.corrected_vap == pytest.approx((corrected["theta"] - corrected["square"]) / by, abs=1e-12)
    for name in ("corrected_accuracy", "corrected_paraphrastic_consistency", "corrected_vap"):
        low, high = result.confidence_interval[name]
        assert math.isnan(low) or low <= getattr(result, name) <= high


CELLS = st.one_of(
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from(["", "a", "b", "1"]),
    st.sampled_from([None, math.nan, math.inf, 1.0, 1.5, 2**70, b"a", (1,), [], {}]),
)
COLUMNS = st.one_of(
    st.lists(CELLS, max_size=6),
    st.lists(st.integers(0, 1), max_size=6),
    st.lists(st.sampled_from(["a", "b"]), max_size=6),
    st.sampled_from([None, 1, "aaa", {}, np.zeros((2, 2), dtype=int), np.array([1.0, np.nan]), np.array(3)]),
)


@MANY
@given(COLUMNS, COLUMNS, COLUMNS, st.sampled_from([None, "roles", "groups"]), COLUMNS)
def test_anything_at_all_is_an_input_error_or_the_right_number(
    predictions: Any, references: Any, buckets: Any, option: str | None, values: Any
) -> None:
    options = {} if option is None else {option: values}
    try:
        result = paraphrastic_consistency(predictions, references, buckets, n_resamples=20, **options)
    except InputError:
        return
    if option != "roles" or values is None:
        plain = [np.asarray(c).tolist() if isinstance(c, np.ndarray) else c for c in (predictions, references)]
        assert result.n_examples == len(plain[0])
        check(plain[0], plain[1], list(buckets))


@examples(300)
@given(rows(), st.randoms(use_true_random=False))
def test_invariances(drawn: tuple[list[int], list[int], list[int]], random: Any) -> None:
    predictions, references, buckets = drawn
    base = paraphrastic_consistency(*drawn, n_resamples=50)
    order = list(range(len(buckets)))
    random.shuffle(order)
    shuffled = paraphrastic_consistency(*([c[i] for i in order] for c in drawn), n_resamples=50)  # type: ignore[misc]
    assert_equal(shuffled, base)
    names = random.sample(range(10**9), 100)
    renamed = paraphrastic_consistency(predictions, references, [names[b] for b in buckets], n_resamples=50)
    assert_equal(renamed, base)
    as_names = [[f"label {9 - label}" for label in c] for c in (predictions, references)]
    assert_equal(paraphrastic_consistency(*as_names, buckets, n_resamples=50), base, but=("warnings",))
    # the whole set twice, the copy in buckets of its own: the same point estimates
    twice = paraphrastic_consistency(
        predictions * 2, references * 2, buckets + [b + 1000 for b in buckets], n_resamples=50
    )
    uncertainty = ("confidence_interval", "standard_error", "n_clusters", "design_effect")
    # unbiased variances count how many buckets there are
    skip = (*uncertainty, "warnings", "n_buckets", "n_examples", "bias", "between_variance_unbiased", "pvap_unbiased")
    # and a shuffle draws without replacement
    of_a_shuffle = ("chance", "chance_corrected", "agreement_chance", "krippendorff_alpha")
    of_a_shuffle += ("fleiss_kappa",) * (len(set(buckets)) == 1)  # undefined
    assert_equal(twice, base, but=(*skip, *of_a_shuffle))


def assert_equal(a: Any, b: Any, but: tuple[str, ...] = ()) -> None:
    left, right = a.to_dict(), b.to_dict()
    assert left.keys() == right.keys()
    for name, value in left.items():
        if name in but:
            continue
        if isinstance(value, dict):
            for key in value:
                assert value[key] == pytest.approx(right[name][key], abs=1e-10, nan_ok=True), (name, key)
        elif isinstance(value, float):
            assert value == pytest.approx(right[name], abs=1e-12, nan_ok=True), name
        else:
            assert value == right[name], name


@MANY
@given(rows())
def test_identities_and_ranges(drawn: tuple[list[int], list[int], list[int]]) -> None:
    result = paraphrastic_consistency(*drawn, n_resamples=1, interval_method="closed_form")
    assert result.paraphrastic_consistency == pytest.approx(1 - 2 * result.vap, abs=1e-15)
    assert result.min_paraphrastic_consistency <= result.paraphrastic_consistency + 1e-12
    assert 0.5 <= result.paraphrastic_consistency <= 1.0
    if not math.isnan(result.paraphrastic_consistency_unbiased):
        assert 0.0 <= result.paraphrastic_consistency_unbiased <= 1.0
    assert result.agreement <= result.paraphrastic_consistency + 1e-12
    low, high = result.confidence_interval["paraphrastic_consistency"]
    assert math.isnan(low) or 0.5 <= low <= high <= 1.0


@pytest.mark.parametrize("name", ["between_variance_unbiased", "pvap_unbiased"])
def test_the_interval_of_an_unbiased_variance_lies_around_it_and_in_its_range(name) -> None:
    right = np.random.default_rng(3).random((60, 5)) < np.linspace(0.02, 0.98, 60)[:, None]
    result = paraphrastic_consistency(right.ravel().astype(int), np.ones(300, int), np.repeat(np.arange(60), 5))
    low, high = result.confidence_interval[name]
    assert 0.0 <= low < result[name] < high <= 1.0
