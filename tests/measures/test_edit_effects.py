"""What flips it: the definition as a double loop, an exact p, a planted effect, and none in a random model."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import false_discovery_control, hypergeom

from paraconsist.errors import InputError
from paraconsist.measures.edit_effects import edit_effects

_PATH = Path(__file__).parents[2] / "benchmarks" / "edit_effects.py"
_SPEC = importlib.util.spec_from_file_location("edit_effects_benchmark", _PATH)
benchmark = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(benchmark)


def rows(seed=0, n_buckets=40, n_models=1):
    rng = np.random.default_rng(seed)
    buckets = np.repeat(np.arange(n_buckets), rng.integers(1, 7, n_buckets))
    chance = rng.beta(1, 3, n_buckets)[buckets]
    flag = rng.random(len(buckets)) < 0.4
    return rng.random((len(buckets), n_models)) < (chance + 0.2 * flag)[:, None], flag, buckets


@pytest.mark.parametrize("n_models", [1, 3])
def test_rates_are_means_over_the_buckets_that_have_both(n_models):
    broken, flag, buckets = rows(n_models=n_models)
    (one,) = edit_effects(broken, {"k": flag}, buckets).effects
    top = np.zeros(3)
    for bucket in np.unique(buckets):
        inside, other = (buckets == bucket) & flag, (buckets == bucket) & ~flag
        if inside.any() and other.any():
            weight = inside.sum() * other.sum() / (inside | other).sum()
            top += weight * np.array([1, broken[inside].mean(), broken[other].mean()])
    assert (one.rate_with, one.rate_without) == pytest.approx(tuple(top[1:] / top[0]))
    assert one.difference == pytest.approx(one.rate_with - one.rate_without)
    assert one.n_with == n_models * flag.sum()
    assert one.n_broken_with == broken[flag].sum()
    assert one.n_without + one.n_with == broken.size
    assert one.n_broken_with + one.n_broken_without == broken.sum()
    assert one.within_buckets
    assert one.confidence_interval[0] < one.difference < one.confidence_interval[1]


def test_p_is_that_of_all_ways_to_deal_the_kind_within_buckets_where_t_is_no_larger():
    """Ten buckets of four or five wordings, two of each of the kind, in one group: there is no t."""
    sizes = [4, 5] * 5
    buckets = np.repeat(np.arange(10), sizes)
    flag = np.concatenate([np.arange(size) < 2 for size in sizes])
    broken = (np.arange(45) * 7) % 3 == 0
    sums = np.ones(1)
    for bucket in range(10):
        rows_of = np.flatnonzero(buckets == bucket)
        ways = [broken[list(chosen)].sum() for chosen in itertools.combinations(rows_of, 2)]
        sums = np.convolve(sums, np.bincount(ways) / len(ways))
    expected = sums @ np.arange(len(sums))
    far = np.abs(np.arange(len(sums)) - expected) >= abs(broken[flag].sum() - expected) - 1e-9
    (one,) = edit_effects(broken, {"k": flag}, buckets, groups=np.zeros(45, dtype=int)).effects
    assert one.p_value == pytest.approx(sums[far].sum())
    assert 0.05 < one.p_value < 0.95
    assert edit_effects(broken, {"k": flag}, buckets).effects[0].p_value >= one.p_value


def test_one_wording_a_bucket_is_compared_over_all_buckets_by_the_hypergeometric_distribution():
    flag, broken = np.arange(80) < 25, np.arange(80) % 25 < 12
    (one,) = edit_effects(broken, {"k": flag}, np.arange(80), groups=np.zeros(80, dtype=int)).effects
    chances = hypergeom(80, broken.sum(), 25).pmf(np.arange(26))
    expected = broken.mean() * 25
    far = np.abs(np.arange(26) - expected) >= abs(broken[flag].sum() - expected)
    assert (one.within_buckets, one.rate_with, one.rate_without) == (False, broken[flag].mean(), broken[~flag].mean())
    assert one.p_value == pytest.approx(chances[far].sum())
    assert one.p_value < 0.95


def test_rare_kinds_are_counted_and_common_ones_corrected_by_benjamini_and_hochberg():
    broken, flag, buckets = rows(3, 200)
    rng = np.random.default_rng(1)
    kinds = {f"k{i}": rng.random(len(flag)) < 0.3 for i in range(5)} | {"real": flag}
    rare = {"rare": np.arange(len(flag)) < 19, "one bucket": buckets == 0, "all": flag | True}
    found = edit_effects(broken, kinds | rare, buckets)
    assert found.untested == {"rare": 19, "one bucket": int((buckets == 0).sum()), "all": len(flag)}
    p = [one.p_value for one in found.effects]
    assert [one.corrected_p_value for one in found.effects] == pytest.approx(false_discovery_control(p).tolist())
    assert found.effects[0].kind == "real"
    assert found.effects[0].corrected_p_value < 0.01
    shuffled = np.random.default_rng(2).permutation(len(flag))
    again = edit_effects(
        broken[shuffled], {k: v[shuffled] for k, v in kinds.items()}, [f"b{b}" for b in buckets[shuffled]]
    )
    assert [(one.kind, one.n_broken_with) for one in again.effects] == [
        (one.kind, one.n_broken_with) for one in found.effects
    ]
    assert [one.p_value for one in again.effects] == pytest.approx(p)


def test_a_planted_effect_is_found_and_a_random_model_has_none():
    """Hard problems have more of some kinds; a plain difference takes these kinds for what flips the model."""
    claims = plain = planted = 0
    for run in range(8):
        rng = np.random.default_rng(run)
        buckets, contexts, kinds, chance = benchmark.made_rows(rng, n_buckets=150)
        broken = rng.random(len(buckets)) < chance
        effects = edit_effects(broken, kinds, buckets, groups=contexts).effects
        claims += any(one.corrected_p_value < 0.05 for one in effects)
        plain += benchmark.plain_claims(broken, kinds)
        broken = rng.random(len(buckets)) < chance * 0.6 + 0.4 * kinds["negation"]
        first = edit_effects(broken, kinds, buckets, groups=contexts).effects[0]
        planted += first.kind == "negation" and first.corrected_p_value < 0.05
    assert (claims <= 1, plain >= 7, planted) == (True, True, 8)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"broken": [0, 1]}, "broken"),
        ({"broken": [0, 2, 1]}, "broken"),
        ({"kinds": {"k": [1, 0]}}, "kinds['k']"),
        ({"buckets": []}, "buckets"),
        ({"groups": [1, 2]}, "groups"),
        ({"buckets": [1, 1, 2], "groups": [1, 2, 2]}, "groups"),
    ],
)
def test_bad_columns_are_refused(change, parameter):
    columns = {"broken": [0, 1, 1], "kinds": {"k": [1, 0, 0]}, "buckets": [1, 2, 3], **change}
    with pytest.raises(InputError) as problem:
        edit_effects(**columns)
    assert problem.value.parameter == parameter
