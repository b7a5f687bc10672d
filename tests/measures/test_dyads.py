"""Rows that share members: the double loop, clusters, no bias, and the coverage of intervals."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, stdtrit

from paraconsist.errors import InputError
from paraconsist.measures.antecedents import additive_inconsistency
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.intervals import Dyads, korn_graubard_interval
from paraconsist.measures.pairs import semantic_inconsistency

NAME = "inconsistency"


def all_pairs(n: int) -> tuple[Any, Any]:
    first, second = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return first[first != second], second[first != second]


def additive(violated: Any, **options: Any) -> Any:
    """Return the result of rows whose parts are all right."""
    right = np.zeros(len(violated), dtype=int)
    return additive_inconsistency(np.asarray(violated, dtype=int), right, right, right, **options)


@pytest.mark.parametrize("seed", range(20))
def test_the_variance_is_that_of_the_double_loop_over_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 60))
    members = rng.integers(0, rng.integers(4, 40), (n, 2))
    values = rng.random(n)
    shares = [[bool({*one.tolist()} & {*two.tolist()}) for two in members] for one in members]
    residuals = values - values.mean()
    products = np.outer(residuals, residuals)[np.array(shares)].sum() / (1 - np.sum(shares) / n**2)
    expected = math.sqrt(max(products, n / (n - 1) * residuals @ residuals)) / n
    assert Dyads(*members.T).standard_error(values)[0] == pytest.approx(expected, rel=1e-9)


def test_a_member_alone_on_both_sides_is_a_group() -> None:
    """Equal groups: the cluster-robust error with its factor G / (G - 1)."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    changed = rng.random(120) < np.repeat(rng.beta(0.5, 1.0, 30), 4)
    clustered = semantic_inconsistency(np.zeros(120, int), changed.astype(int), groups=groups)
    dyadic = semantic_inconsistency(np.zeros(120, int), changed.astype(int), groups=(groups, groups))
    assert dyadic.standard_error[NAME] == pytest.approx(clustered.standard_error[NAME], rel=1e-12)
    assert dyadic.design_effect[NAME] == pytest.approx(clustered.design_effect[NAME], rel=1e-12)
    assert dyadic.n_clusters[NAME] == clustered.n_clusters[NAME] == 30


def test_rows_that_share_nothing_have_the_error_of_independent_rows() -> None:
    violated = np.arange(50) % 5 == 0
    apart = additive(violated, groups=(np.arange(50), np.arange(50) + 50))
    assert apart.standard_error[NAME] == pytest.approx(additive(violated).standard_error[NAME], rel=1e-12)
    assert apart.design_effect[NAME] == pytest.approx(1.0)


def test_the_variance_is_unbiased_for_all_pairs_of_a_set() -> None:
    """What a member adds, and what each pair adds: true variances 4 s^2 / n and t^2 / (number of pairs)."""
    rng = np.random.default_rng(1)
    n, replications = 12, 1500
    first, second = np.triu_indices(n, 1)
    dyads = Dyads(first, second)
    for of_member, of_pair in ((1.0, 0.0), (1.0, 2.0)):
        variances = np.empty(replications)
        for i in range(replications):
            added = rng.normal(0, of_member, n)
            values = added[first] + added[second] + rng.normal(0, of_pair, len(first))
            variances[i] = dyads.standard_error(values)[0] ** 2
        true = 4 * of_member**2 / n + of_pair**2 / len(first)
        error = variances.std() / math.sqrt(replications)
        assert variances.mean() == pytest.approx(true, abs=4 * error)
        assert 4 * error < 0.1 * true


def test_the_interval_is_korn_and_graubards_with_the_dyadic_error() -> None:
    rng = np.random.default_rng(2)
    members = all_pairs(15)
    violated = rng.random(len(members[0])) < expit(rng.normal(-1, 1, 15))[members[0]]
    result = additive(violated, groups=members)
    error, freedom = Dyads(*members).standard_error(violated)
    expected = korn_graubard_interval(violated.mean(), error, len(violated), freedom + 1.0)
    assert result.confidence_interval[NAME] == pytest.approx(expected)
    assert 1.0 <= freedom <= 14.0
    assert result.standard_error[NAME] == error
    assert result.n_clusters[NAME] == 15
    assert result.design_effect[NAME] > 1.5
    assert "ci:dyad-korn-graubard|level:0.95|" in result.signature
    renamed = [[f"text {member}" for member in side.tolist()] for side in members]
    assert str(additive(violated, groups=renamed).to_dict()) == str(result.to_dict())
    swapped = additive(violated, groups=members[::-1])
    assert swapped.confidence_interval[NAME] == pytest.approx(expected, rel=1e-12)
    assert "closed-form" in additive(violated, groups=members, interval_method="closed_form").signature


def test_intervals_of_additive_sets_cover_the_share_over_texts() -> None:
    """All pairs of 40 texts, some of which break the rule more often: first parts alone cover 75 %."""
    rng = np.random.default_rng(3)
    n, replications, spread = 40, 400, 1.0
    first, second = all_pairs(n)
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    truth = float(weights @ expit(-2.0 + math.sqrt(2.0) * spread * points) / weights.sum())
    covered = np.zeros(2)
    for _ in range(replications):
        text = rng.normal(0, spread, n)
        right = rng.random(n) < 0.9
        violated = rng.random(len(first)) < expit(-2.0 + text[first] + text[second])
        labels = violated.astype(int), np.zeros(len(first), int), 1 - right[first], 1 - right[second]
        for i, groups in enumerate(((first, second), first)):
            low, high = additive_inconsistency(*labels, groups=groups).confidence_interval[NAME]
            covered[i] += low <= truth <= high
    assert 0.93 <= covered[0] / replications <= 0.985
    assert covered[1] / replications < 0.85


def test_two_models_of_one_truth_differ_in_a_twentieth_of_sets() -> None:
    """With first parts as groups the test of a true null rejects in 30 %."""
    rng = np.random.default_rng(5)
    n, replications, rejected, covered = 40, 120, 0, 0
    first, second = all_pairs(n)
    for _ in range(replications):
        shared, violated, right = rng.normal(0, 0.6, n), [], []
        for _ in range(2):
            text = shared + rng.normal(0, 0.8, n)
            answered = rng.random(n) < 0.9
            violated.append(rng.random(len(first)) < expit(-2.0 + text[first] + text[second]))
            right.append(answered[first] & answered[second])
        result = inconsistency_difference(
            *violated, satisfied1=right[0], satisfied2=right[1], groups=(first, second), margin=0.1
        )
        low, high = result.confidence_interval["difference"]
        rejected += result.p_value <= 0.05
        covered += low <= 0.0 <= high
        assert (result.p_value <= 0.05) == (not low <= 0.0 <= high)
        assert result.margin_test is not None
    assert rejected <= 0.08 * replications
    assert covered == replications - rejected
    assert "p:score-dyadic" in result.signature
    assert "ci:dyad-tango" in result.signature
    assert result.n_clusters["difference"] <= n


def test_a_difference_where_nothing_varies_or_every_two_rows_share_a_member() -> None:
    members = np.triu_indices(9, 1)
    same = inconsistency_difference(np.zeros(36, int), np.zeros(36, int), groups=members)
    low, high = same.confidence_interval["difference"]
    assert low == -high == pytest.approx(-0.4899, abs=1e-3)  # Tango's for 0 of 4 rows that share nothing
    assert same.p_value == 1.0
    star = inconsistency_difference([1, 0, 0], [0, 0, 0], groups=([0, 0, 0], [1, 2, 3]))
    assert star.p_value == 1.0
    assert all(map(math.isnan, star.confidence_interval["difference"]))
    assert "every two rows share a member: no interval, and a p-value of 1" in star.warnings
    one = inconsistency_difference([1], [0], groups=([0], [1]))
    assert (one.difference, one.p_value) == (1.0, 1.0)
    assert all(map(math.isnan, [*one.confidence_interval["difference"], one.design_effect["difference"]]))


def test_without_spread_the_bound_counts_rows_that_share_nothing() -> None:
    members = np.triu_indices(9, 1)
    assert Dyads(*members).n_apart == 4
    result = additive(np.zeros(36), groups=members)
    assert result.confidence_interval[NAME] == pytest.approx((0.0, 1 - 0.025 ** (1 / 4)))
    assert any("Clopper-Pearson type bound" in warning for warning in result.warnings)
    star = np.zeros(9, int), np.arange(1, 10)
    assert Dyads(*star).n_apart == 1


def most_apart(rows: list[set[int]]) -> int:
    """Return how many rows there are at most with no member in common."""
    if not rows:
        return 0
    one, *others = rows
    return max(most_apart(others), 1 + most_apart([other for other in others if not one & other]))


@pytest.mark.parametrize("seed", range(20))
def test_rows_apart_are_never_too_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = rng.integers(0, rng.integers(2, 20), (int(rng.integers(1, 15)), 2))
    assert 1 <= Dyads(*members.T).n_apart <= most_apart([set(row) for row in members.tolist()])


def test_where_every_two_rows_share_a_member_there_is_no_interval() -> None:
    for members in ((np.zeros(9, int), np.arange(1, 10)), ([1, 1, 2], [2, 3, 3])):
        violated = np.arange(len(members[0])) == 0
        result = additive(violated, groups=members)
        assert all(map(math.isnan, result.confidence_interval[NAME]))
        assert "every two rows share a member: no interval for inconsistency" in result.warnings


def test_only_rows_of_the_population_count() -> None:
    first, second = all_pairs(12)
    rng = np.random.default_rng(4)
    violated, right = rng.random(len(first)) < 0.3, rng.random(12) < 0.7
    whole = additive_inconsistency(
        violated.astype(int), np.zeros(len(first), int), 1 - right[first], 1 - right[second], groups=(first, second)
    )
    kept = right[first] & right[second]
    part = additive(violated[kept], groups=(first[kept], second[kept]))
    assert whole.confidence_interval == part.confidence_interval
    assert whole.n_clusters[NAME] == right.sum()


def test_where_nothing_satisfies_the_rule_nothing_is_defined() -> None:
    result = additive_inconsistency([1, 1], [0, 0], [1, 1], [1, 1], groups=(["a", "b"], ["b", "c"]))
    assert result.n_satisfied == result.n_clusters[NAME] == 0
    assert math.isnan(result.inconsistency)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"groups": ([0, 1, 2], [1, 2])}, "groups[1]"),
        ({"groups": ([0, 1, 2], ["1", "2", "3"])}, "groups[1]"),
        ({"groups": ([0, None, 2], [1, 2, 3])}, "groups[0]"),
        ({"groups": ([0, 1, 2], [1, 2, 3]), "interval_method": "bootstrap"}, "interval_method"),
        ({"groups": ([0, 1, 2], [1, 2, 3]), "interval_method": "exact"}, "interval_method"),
    ],
)
def test_bad_members(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InputError) as raised:
        additive([0, 1, 0], **options)
    assert raised.value.parameter == parameter


def test_the_closed_form_interval_is_the_t_interval_of_the_share() -> None:
    rng = np.random.default_rng(3)
    members = (rng.integers(0, 30, 200), 30 + rng.integers(0, 30, 200))
    violated = rng.random(200) < 0.3
    found = additive(violated, groups=members, interval_method="closed_form")
    error, freedom = Dyads(*members).standard_error(violated)
    half = float(stdtrit(freedom, 0.975)) * error
    assert found.confidence_interval[NAME] == pytest.approx([found[NAME] - half, found[NAME] + half])


def test_the_degrees_of_freedom_are_the_effective_number_of_members() -> None:
    """Kish's of the rows of members less 1, or that of the squared sums of residuals, whichever is smaller."""
    rng = np.random.default_rng(4)
    members = rng.integers(0, 25, (80, 2))
    members[:, 1] += 25
    for values in ((rng.random(80) < 0.5) * 1.0, (members[:, 0] == 3) * 1.0):
        of_member = [np.flatnonzero((members == member).any(axis=1)) for member in np.unique(members)]
        n_rows = np.array([len(rows) for rows in of_member], dtype=float)
        squares = np.array([(values - values.mean())[rows].sum() ** 2 for rows in of_member])
        kish, effective = n_rows.sum() ** 2 / (n_rows**2).sum() - 1, squares.sum() ** 2 / (squares**2).sum()
        assert Dyads(*members.T).standard_error(values)[1] == pytest.approx(min(kish, effective))
    assert Dyads(np.arange(10), np.arange(10) + 10).standard_error(np.arange(10) % 2)[1] == 19.0
