"""Coherence of probabilities: published values, proofs of optimality, and what must not change a violation."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.errors import InputError
from paraconsist.measures.probability_coherence import (
    RELATIONS,
    Relation,
    arbitrage,
    frequentist,
    probability_coherence,
    worlds,
)

TEN = list(RELATIONS)[:10]
RNG = np.random.default_rng(21)

#: Relation -> mean and violations that Paleka et al. publish over all cells, and what is exact (data/recorded, 2).
TOTALS = {
    "And": (0.046353, 1122, 0.047203, 1142),
    "Or": (0.142164, 2099, 0.143273, 2128),
    "Cond": (0.072925, 3771, 0.076132, 3951),
    "CondCond": (0.085806, 3165, 0.099493, 3684),
    "ExpectedEvidence": (0.100813, 2075, 0.114217, 2649),
    "But": (0.174581, 3749, 0.202037, 4477),
    "AndOr": (0.149274, 2952, 0.200683, 3619),
}
#: Relation -> mean frequentist violation of a forecaster that always says .4, as published.
ALWAYS_04 = {"Neg": 0.288375, "Paraphrase": 0.0, "Consequence": 0.0, "And": 0.0, "Or": 0.0, "AndOr": 0.0}


def random_tuples(relation: Relation, n: int = 40) -> np.ndarray:
    p = RNG.uniform(0.001, 0.999, (n, len(relation.statements)))
    p[:3] = np.round(p[:3])  # certain answers
    return p


def coherent(relation: Relation, n: int = 40) -> np.ndarray:
    """Probabilities of statements under random distributions on the worlds."""
    outcomes = worlds(relation)
    weights = RNG.dirichlet(np.full(len(outcomes), 0.7), n)
    asked = weights @ (outcomes >= 0)
    return np.divide(weights @ (outcomes == 1), asked, out=np.full_like(asked, 0.5), where=asked > 1e-12)


def gains(outcomes: np.ndarray, bets: np.ndarray, p: np.ndarray) -> np.ndarray:
    """What bets of shape (n, m) win in each world, by the definition."""
    p = np.where(p == 0.0, 0.001, np.where(p == 1.0, 0.999, p))
    with np.errstate(divide="ignore"):
        won = np.stack([np.log((1 - bets) / (1 - p)), np.log(bets / p)])
    each = [sum(won[o, :, i] for i, o in enumerate(world) if o >= 0) for world in outcomes.tolist()]
    return np.stack(each, axis=1)


@pytest.fixture(scope="module")
def forecasts(data_folder: Path) -> dict[str, tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Check -> probabilities of each tuple by role, the tuples' published values, and the published cells."""
    folder, key = data_folder / "recorded", ["forecaster", "set", "tuple"]
    rows, tuples = (pd.read_parquet(folder / f"forecasters{part}.parquet") for part in ("", "_tuples"))
    cells = pd.read_csv(folder / "forecasters_published.csv").query("tuples_available == 1")
    assert len(cells) == 3 * 246
    parts = {check: part.set_index(key).sort_index() for check, part in tuples.groupby("check")}
    wide = {check: part.pivot(index=key, columns="role", values="probability") for check, part in rows.groupby("check")}
    return {check: (wide[check].loc[part.index], part, cells[cells["check"] == check]) for check, part in parts.items()}


@pytest.mark.real_data
@pytest.mark.parametrize("check", TEN)
def test_every_published_cell_and_tuple(check: str, forecasts: dict[str, Any]) -> None:
    p, tuples, cells = forecasts[check]
    relation = RELATIONS[check]
    p = p[list(relation.statements)]
    violation, _ = frequentist(relation, p.to_numpy())
    exact = arbitrage(relation, p.to_numpy())
    assert np.abs(violation - tuples["frequentist"]).max() <= 1e-12
    assert (exact.gain - tuples["default"]).min() >= -2e-15
    assert (exact.gain - exact.guaranteed)[exact.gain > 0].max() <= 1e-9
    won = gains(worlds(relation), exact.bets, p.to_numpy()).min(axis=1)
    assert np.abs(won - exact.guaranteed).max() <= 1e-9
    if check in TOTALS:
        published, n_published, mean, n_violated = TOTALS[check]
        assert (round(tuples["default"].mean(), 6), int((tuples["default"] >= 0.01).sum())) == (published, n_published)
        assert (round(exact.gain.mean(), 6), int((exact.gain >= 0.01).sum())) == (mean, n_violated)
    where = tuples.index.droplevel("tuple")
    by_cell = pd.DataFrame({"frequentist": violation, "default": exact.gain}).groupby([where.map("/".join)])
    means = by_cell.mean().round(6)
    counts = by_cell.agg({"frequentist": lambda x: (x >= 0.129).sum(), "default": lambda x: (x >= 0.01).sum()})
    for metric in ("frequentist",) if check in TOTALS else ("frequentist", "default"):
        cell = cells[cells["metric"] == metric].set_index(["forecaster", "set"])
        cell.index = cell.index.map("/".join)
        np.testing.assert_allclose(means[metric].loc[cell.index], cell["avg_violation"], rtol=0, atol=1e-9)
        assert (counts[metric].loc[cell.index] == cell["num_violations"]).all()


@pytest.mark.parametrize(("name", "value"), ALWAYS_04.items())
def test_the_published_forecaster_that_always_says_the_same(name: str, value: float) -> None:
    statements = list(RELATIONS[name].statements)
    result = probability_coherence([0.4] * len(statements), statements, [0] * len(statements))
    assert round(result.frequentist_violation, 6) == value
    assert any("every probability is 0.4" in warning for warning in result.warnings)


def test_the_certificate_of_the_documents() -> None:
    exact = arbitrage(RELATIONS["Cond"], np.array([[0.5, 0.5, 0.5]]))
    root = np.sqrt(3.0)
    assert exact.gain[0] == pytest.approx(np.log(8 - 4 * root), abs=1e-12)
    np.testing.assert_allclose(exact.bets[0], [1 / root, root / (1 + root), 1 / (1 + root)], atol=1e-6)


@pytest.mark.parametrize("name", RELATIONS)
def test_coherent_probabilities_have_no_violation_and_others_a_bet_that_wins_in_every_world(name: str) -> None:
    relation = RELATIONS[name]
    for p in coherent(relation), random_tuples(relation):
        exact = arbitrage(relation, p)
        won = gains(worlds(relation), exact.bets, p)
        assert np.abs(won.min(axis=1) - exact.guaranteed).max() < 1e-9
        assert (exact.gain - exact.guaranteed)[exact.gain > 0].max(initial=0.0) <= 1e-9
    assert (arbitrage(relation, coherent(relation)).gain == 0.0).all()
    assert frequentist(relation, coherent(relation))[0].max() == 0.0
    assert (exact.gain > 0.01).any()


@pytest.mark.parametrize(("name", "step"), [("Neg", 0.005), ("Consequence", 0.005), ("Cond", 0.02), ("And", 0.02)])
def test_no_bet_on_a_grid_does_better_and_the_best_of_them_nearly_as_well(name: str, step: float) -> None:
    relation, outcomes = RELATIONS[name], worlds(RELATIONS[name])
    axis = np.arange(step / 2, 1.0, step)
    bets = np.stack(np.meshgrid(*[axis] * len(relation.statements)), axis=-1).reshape(-1, len(relation.statements))
    for p in RNG.uniform(0.1, 0.9, (4, len(relation.statements))):
        best = gains(outcomes, bets, p[np.newaxis]).min(axis=1).max()
        exact = arbitrage(relation, p[np.newaxis])
        apart = step / 2 / (np.minimum(exact.bets, 1 - exact.bets) - step / 2)  # what the nearest of them can lose
        assert exact.gain[0] - apart.sum() <= best <= exact.gain[0] + 1e-12


@pytest.mark.parametrize("name", TEN)
def test_a_copy_never_lowers_a_violation_and_order_and_names_change_nothing(name: str) -> None:
    relation = RELATIONS[name]
    p = random_tuples(relation)
    gain = arbitrage(relation, p).gain
    for i, (_, formula) in enumerate(relation.statements.items()):
        longer = Relation({**relation.statements, "copy": formula}, relation.where)
        for copy in (p[:, [i]], RNG.uniform(size=(len(p), 1))):
            assert (arbitrage(longer, np.hstack([p, copy])).gain >= gain - 1e-12).all()
    back = dict(reversed(relation.statements.items()))
    renamed = {
        role: formula.replace("P", "rain").replace("Q", "hail").replace("C", "cold") for role, formula in back.items()
    }
    where = relation.where.replace("P", "rain").replace("C", "cold")
    other = arbitrage(Relation(renamed, where), p[:, ::-1])
    np.testing.assert_allclose(np.where(gain > 0, other.gain, 0.0), gain, atol=2e-12)


@examples(30)
@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_any_probabilities_are_solved_to_the_gap(p: list[float]) -> None:
    for name in ("Cond", "And", "consequent"):
        exact = arbitrage(RELATIONS[name], np.array([p]))
        assert -1e-15 <= exact.gain[0] - max(exact.guaranteed[0], 0.0) <= 1e-9 or exact.gain[0] == 0.0


def test_relations_of_one_s_own_up_to_twelve_statements() -> None:
    chain = {f"s{i}": f"A{i}" for i in range(12)}
    own = {"chain": {**chain, "where": " and ".join(f"(not A{i} or A{i + 1})" for i in range(11))}}
    assert len(worlds(Relation(chain))) == 4096
    up, down = np.linspace(0.1, 0.9, 12), np.linspace(0.9, 0.1, 12)
    for p, rate in ((up, 0.0), (down, 1.0)):
        assert probability_coherence(p, list(chain), [0] * 12, relations=own).arbitrage_rate == rate
    # independent statements, and one that follows from all of them
    total = Relation({**chain, "all": " and ".join(chain.values())})
    p = np.append(np.full(12, 0.9), 0.95)[np.newaxis]
    exact = arbitrage(total, p)
    assert 0 < exact.gain[0] - exact.guaranteed[0] + 1e-15 <= 1e-9
    assert exact.gain[0] > arbitrage(Relation({"s0": "A0", "all": "A0 and B"}), p[:, [0, 12]]).gain[0] - 1e-12


def test_of_several_labels_a_rewording_costs_the_bhattacharyya_distance_and_two_labels_are_one_statement() -> None:
    p = RNG.dirichlet([1.0, 1.0, 1.0], (50, 2))
    distance = -2.0 * np.log(np.sqrt(p[:, 0] * p[:, 1]).sum(axis=1))
    np.testing.assert_allclose(arbitrage(RELATIONS["paraphrase"], p).gain, distance, atol=1e-12)
    roles, buckets = ["original", "negation"] * 20, np.repeat(np.arange(20), 2)
    two = RNG.uniform(size=40)
    one = probability_coherence(two, roles, buckets)
    other = probability_coherence(np.stack([1 - two, two], axis=1), roles, buckets)
    assert one.arbitrage_violation == pytest.approx(other.arbitrage_violation, abs=1e-15)
    lists = probability_coherence(RNG.dirichlet([1.0, 1.0, 1.0], 40), roles, buckets)
    assert lists.frequentist_violation is None
    assert lists.arbitrage_violation < one.arbitrage_violation  # three labels leave room for another


def test_buckets_that_share_a_question_are_not_independent() -> None:
    n = 60
    roles, buckets = ["P", "Q", "P_and_Q"] * n, np.repeat(np.arange(n), 3)
    p = RNG.uniform(size=3 * n)
    apart = probability_coherence(p, roles, buckets)
    assert apart.n_clusters["arbitrage_violation"] == n
    by_group = probability_coherence(p, roles, buckets, groups=np.repeat(np.arange(n) // 2, 3))
    assert by_group.n_clusters["arbitrage_violation"] == n // 2
    questions = np.arange(3 * n)
    questions[0::6] = questions[3::6]  # every two buckets share their first
    assert probability_coherence(p, roles, buckets, groups=questions).n_clusters == by_group.n_clusters
    members = np.where(np.arange(3 * n) % 3 == 1, 100 + buckets % 7, buckets // 4)  # two a bucket, crossed
    crossed = probability_coherence(p, roles, buckets, groups=members)
    assert "ci:dyad" in crossed.signature
    assert crossed.arbitrage_violation == apart.arbitrage_violation
    low, high = crossed.confidence_interval["arbitrage_violation"]
    assert low < crossed.arbitrage_violation < high


def test_several_relations_are_told_apart_by_their_roles() -> None:
    roles = ["P", "not_P", "P", "Q_given_P", "P_and_Q"]
    result = probability_coherence([0.6, 0.6, 0.5, 0.5, 0.25], roles, [1, 1, 2, 2, 2])
    assert result.by_relation["Cond"]["arbitrage_violation"] == 0.0
    assert result.by_relation["Neg"]["arbitrage_violation"] == pytest.approx(2 * result.arbitrage_violation)
    named = probability_coherence([0.6, 0.6, 0.5, 0.5, 0.25], roles, [1, 1, 2, 2, 2], relations={1: "Neg", 2: "Cond"})
    assert repr(named.to_dict()) == repr(result.to_dict())
    alone = probability_coherence([0.6, 0.6], roles[:2], [1, 1]).to_dict()
    assert alone["by_relation"]["Neg"]["arbitrage_violation"] == alone["arbitrage_violation"]


@pytest.mark.parametrize(
    ("changes", "parameter", "word"),
    [
        ({"probabilities": [0.5, 1.2]}, "probabilities", "between 0 and 1"),
        ({"probabilities": [0.5, float("nan")]}, "probabilities", "between 0 and 1"),
        ({"probabilities": [[0.5, 0.6], [0.5, 0.5]]}, "probabilities", "sum to 1"),
        (
            {"probabilities": [[0.2, 0.3, 0.5]] * 2, "relations": "Consequence", "roles": ["P", "cons_P"]},
            "p",
            "one num",
        ),
        (
            {"probabilities": [[0.2, 0.3, 0.5]] * 2, "relations": {"A": {"P": "a", "x": "b"}}, "roles": ["P", "x"]},
            "probabilities",
            "one number a row",
        ),
        ({"roles": ["P", "P"]}, "roles", "each once"),
        ({"roles": ["P", "Q"]}, "roles", "each once"),
        ({"buckets": [1, 2]}, "roles", "each once"),
        ({"relations": "Cond"}, "roles", "each once"),
        ({"relations": "cond"}, "relations", "name a relation"),
        ({"relations": {5: "Neg"}}, "relations", "every bucket"),
        ({"relations": {1: "Cond"}}, "roles", "relation"),
        ({"relations": {"A": {"P": "a", "x": "b"}, "B": {"x": "b", "P": "a or b"}}}, "relations", "different roles"),
        ({"relations": {"A": {"P": "a", "x": "b", "where": "a and not a"}}}, "relations", "possible world"),
        ({"relations": {"A": {"P": "a", "x": "b given c and not c"}}}, "relations", "in some world"),
        ({"relations": {"A": {"P": "a", "x": "__import__('os')"}}}, "relations", "formulas"),
        ({"relations": {"A": {"P": "a" * 9 + " or " + " or ".join("abcdefghijklm")}}}, "relations", "at most 12"),
        ({"relations": {"A": {"where": "a"}}}, "relations", "formulas"),
        ({"buckets": [1]}, "buckets", "one value per row"),
        ({"groups": [1]}, "groups", "one value per row"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], parameter: str, word: str) -> None:
    rows: dict[str, Any] = {"probabilities": [0.5, 0.5], "roles": ["P", "not_P"], "buckets": [1, 1]}
    with pytest.raises(InputError, match=word) as error:
        probability_coherence(**rows | changes)
    assert str(error.value.parameter).startswith(parameter)


@pytest.mark.faults
def test_the_mean_gain_of_crossed_buckets_has_an_interval_on_the_logit_scale():
    """Gains have long tails: plain t intervals of their mean cover 92.5 % of the time, and miss on one side."""
    rng = np.random.default_rng(0)
    n, members = 60, np.stack([rng.permutation(30)[:2] for _ in range(60)]).ravel()
    p = np.clip(0.5 + 0.2 * rng.standard_normal(2 * n), 0.01, 0.99)
    result = probability_coherence(p, ["P", "not_P"] * n, np.repeat(np.arange(n), 2), groups=members)
    (low, high), value = result.confidence_interval["arbitrage_violation"], result.arbitrage_violation
    assert "ci:dyad" in result.signature
    assert low * high == pytest.approx(value**2, rel=0.01)
    assert high - value > value - low > 0.0
