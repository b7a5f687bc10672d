"""Random input: only InputError, or what the definitions give when written as naive loops over pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.measures.paraphrastic import paraphrastic_consistency

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
