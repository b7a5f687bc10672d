"""Rankings of systems under each wording: against scipy, plain loops, and the published accuracies of many prompts."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import kendalltau, t

import paraconsist as pc
from paraconsist.errors import InputError

FIELDS = ("systems", "wordings", "problems")


def long(cells):
    """Return columns of an array of (wordings, systems, problems)."""
    places = np.indices(cells.shape).reshape(3, -1)
    return cells.ravel(), places[1], places[0], places[2]


def loop(cells):
    """Return tau and the shares of best by plain loops over the means (wordings, systems)."""
    taus = [kendalltau(cells[i], cells[j]).statistic for i, j in combinations(range(len(cells)), 2)]
    best = np.zeros(cells.shape[1])
    for row in cells:
        winners = np.flatnonzero(row == row.max())
        best[winners] += 1 / len(winners) / len(cells)
    return np.nanmean(taus), best


@pytest.mark.parametrize("seed", range(20))
def test_rankings_are_those_of_scipy_and_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 5, (rng.integers(2, 14), rng.integers(2, 6), 3)) / 4.0  # with ties
    outcomes, systems, wordings, problems = long(cells)
    order = rng.permutation(len(outcomes))
    found = pc.rankings(*(column[order] for column in (outcomes, systems, wordings, problems)))
    tau, best = loop(cells.mean(axis=2).round(12))
    assert found.tau == pytest.approx(tau)
    assert [found.best[str(i)] for i in range(len(best))] == pytest.approx(best)
    means = cells.mean(axis=(0, 2))
    assert found.mean == pytest.approx({str(i): mean for i, mean in enumerate(means)})
    assert list(found.mean.values()) == sorted(found.mean.values(), reverse=True)


@pytest.mark.faults
def test_one_wording_is_counted_and_numbers_as_text_are_drawn_alike():
    """A page said that the best is best under 42.5 % of templates, and with one template in 40.3 %; a file had other
    draws than a data frame, where names are numbers."""
    outcomes, *columns = long(np.random.default_rng(5).integers(0, 5, (12, 4, 3)) / 4.0)
    found = pc.rankings(outcomes, *columns)
    assert found.by_number[0].same_best == pytest.approx(found.best[next(iter(found.mean))])
    assert pc.rankings(outcomes, *(column.astype(str) for column in columns)).by_number == found.by_number


def test_halves_tell_wordings_from_problems():
    rng = np.random.default_rng(1)
    systems, of_wording = rng.normal(size=(1, 8, 1)), rng.normal(size=(12, 8, 1))
    noise = rng.normal(size=(12, 8, 400))
    only_problems = pc.rankings(*long(systems + 0.0 * of_wording + 4.0 * noise))
    assert only_problems.tau_same == pytest.approx(only_problems.tau_other, abs=0.03)
    assert only_problems.tau_other < 0.9
    with_wordings = pc.rankings(*long(systems + of_wording + 0.1 * noise))
    assert with_wordings.tau_same > 0.95
    assert with_wordings.tau_other < 0.6
    assert pc.rankings(*long(systems + of_wording)).tau_same != pc.rankings(*long(systems + of_wording)).tau_same  # nan


def test_the_halves_are_those_of_a_loop():
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(4, 5, 6)) + rng.normal(size=(4, 5, 1))
    expected = []
    for part in combinations(range(6), 3):
        rest = [i for i in range(6) if i not in part]
        one, two = cells[..., list(part)].mean(axis=2), cells[..., rest].mean(axis=2)
        taus = np.array([[kendalltau(a, b).statistic for b in two] for a in one])
        expected.append((np.diag(taus).mean(), taus[~np.eye(4, dtype=bool)].mean()))
    same, other = np.mean(expected, axis=0)
    found = pc.rankings(*long(cells))
    assert found.tau_same == pytest.approx(same, abs=0.06)  # of 100 of 20 halvings
    assert found.tau_other == pytest.approx(other, abs=0.06)


def test_what_fewer_wordings_say_is_that_of_all_draws():
    rng = np.random.default_rng(3)
    means = rng.normal(size=(9, 4)) + 0.7 * rng.normal(size=4)
    found = {row.n: row for row in pc.rankings(*long(means[..., None])).by_number}
    assert list(found) == [1, 2, 3, 5, 8]
    whole = means.mean(axis=0)
    for n, row in found.items():
        draws = [means[list(chosen)].mean(axis=0) for chosen in combinations(range(9), n)]
        assert row.same_best == pytest.approx(np.mean([d.argmax() == whole.argmax() for d in draws]), abs=0.05)
        assert row.tau == pytest.approx(np.mean([kendalltau(d, whole).statistic for d in draws]), abs=0.05)


def test_enough_are_those_beyond_which_the_best_stays():
    means = np.tile([0.5, 0.4], (12, 1))
    assert pc.rankings(*long(means[..., None])).n_enough == 1
    means[:5] = [0.1, 0.6]  # the first is worse by far under five of twelve
    found = pc.rankings(*long(means[..., None]))
    assert found.n_enough is None or found.n_enough > 3
    assert found.best == pytest.approx({"1": 5 / 12, "0": 7 / 12})


def test_systems_that_are_equally_good_have_no_best_of_all():
    means = np.tile([0.5, 0.5, 0.1], (12, 1))
    means[:6] = [0.6, 0.4, 0.1]
    means[6:] = [0.4, 0.6, 0.1]
    found = pc.rankings(*long(means[..., None]))
    assert np.isnan([row.same_best for row in found.by_number]).all()
    assert found.n_enough is None
    assert "several systems are the best over all wordings: none is named as the best of all" in found.warnings
    assert found.best == pytest.approx({"0": 0.5, "1": 0.5, "2": 0.0})
    alike = pc.rankings(*long(np.full((12, 2, 3), 0.5)))
    assert np.isnan([alike.tau, alike.tau_same, alike.tau_other, alike.by_number[0].tau]).all()


def test_the_interval_of_tau_covers():
    rng, truth, held = np.random.default_rng(4), [], []
    systems = np.linspace(0.0, 1.5, 6)
    many = pc.rankings(*long((systems + rng.normal(size=(600, 6)))[..., None])).tau
    for _ in range(300):
        found = pc.rankings(*long((systems + rng.normal(size=(20, 6)))[..., None]))
        low, high = found.confidence_interval["tau"]
        held.append(low <= many <= high)
        truth.append(found.tau)
    assert np.mean(truth) == pytest.approx(many, abs=0.03)
    assert 0.91 <= np.mean(held) <= 0.985
    assert np.isnan(pc.rankings(*long(rng.normal(size=(9, 3, 1)))).confidence_interval["tau"]).all()


@pytest.mark.parametrize(("n_systems", "gap", "n_wordings"), [(2, 0.3, 15), (2, 2.0, 12), (4, 4.0, 15), (6, 3.0, 30)])
def test_the_interval_of_tau_covers_where_rankings_nearly_agree_or_have_no_order(n_systems, gap, n_wordings):
    rng, held = np.random.default_rng(6), []
    systems = gap * np.arange(n_systems)
    signs = [np.sign(np.subtract.outer(row, row)) for row in systems + rng.normal(size=(20_000, n_systems))]
    truth = (np.mean(signs, axis=0) ** 2).sum() / (n_systems * (n_systems - 1))
    for _ in range(80):
        found = pc.rankings(*long((systems + rng.normal(size=(n_wordings, n_systems)))[..., None]))
        low, high = found.confidence_interval["tau"]
        assert low <= found.tau <= high
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.92  # the jackknife's alone: 0.69, 0.6, 0.1, 0.93


def test_two_systems_in_no_order_beside_a_third_leave_room_for_the_length_of_the_mean():
    """Half of ten wordings rank a before b: tau is 17 / 27 in the sample and 2 / 3 of all; the interval was a point."""
    found = pc.rankings(*long(np.array([[0.6, 0.5, 0.1], [0.5, 0.6, 0.1]] * 5)[..., None]))
    assert found.tau == pytest.approx(17 / 27)
    assert found.confidence_interval["tau"][1] == pytest.approx(2 / 3)


def test_the_lower_end_allows_for_the_skewness_of_the_jackknife():
    """Three systems a standard deviation apart, ten wordings: 90.3 % held. By scipy, leaving out one at a time."""
    means = np.arange(3) + np.random.default_rng(11).normal(size=(10, 3))
    taus = np.array([[kendalltau(one, two).statistic for two in means] for one in means])
    without = [np.delete(np.delete(taus, i, 0), i, 1)[np.triu_indices(9, 1)].mean() for i in range(10)]
    tau, error = taus[np.triu_indices(10, 1)].mean(), 3 * np.std(without)
    low, _ = pc.rankings(*long(means[..., None])).confidence_interval["tau"]
    assert low <= expit(logit(tau) - t.ppf(0.975, 9) * error / (tau * (1 - tau))) + 1e-12


def test_wordings_that_all_rank_alike_do_not_prove_that_others_do():
    found = pc.rankings(*long(np.tile([0.5, 0.4], (12, 1))[..., None]))
    share = 0.025 ** (1 / 12)  # Clopper and Pearson's of 12 in 12
    assert found.tau == pytest.approx(1.0)
    assert found.confidence_interval["tau"] == pytest.approx([(2 * share - 1) ** 2, 1.0])


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(7)
    outcomes, *ids = long(rng.integers(0, 2, (12, 3, 5)) / 1.0)
    names = [np.array([f"{kind}{i}" for i in column]) for kind, column in zip("swp", ids, strict=True)]
    order = rng.permutation(len(outcomes))
    one, other = pc.rankings(outcomes, *names), pc.rankings(outcomes[order], *(column[order] for column in names))
    assert one.to_dict() == other.to_dict()


@pytest.mark.faults
@pytest.mark.parametrize("unit", [1e-15, 1e4, 1e300])
def test_the_unit_of_outcomes_changes_nothing(unit):
    """Above 8,192 no system was the best under any wording; outcomes below 1e-12 were all the same."""
    columns = long(np.random.default_rng(8).integers(0, 4, (5, 3, 4)) / 3.0)
    one, other = pc.rankings(*columns), pc.rankings(columns[0] * unit, *columns[1:])
    assert (other.best, other.by_number, other.n_enough) == (one.best, one.by_number, one.n_enough)
    assert [other.tau, other.tau_same, other.tau_other] == pytest.approx([one.tau, one.tau_same, one.tau_other])
    assert other.mean == pytest.approx({name: mean * unit for name, mean in one.mean.items()}, rel=1e-12, abs=0.0)


@pytest.mark.faults
def test_wordings_under_which_all_systems_are_equal_are_told_and_not_counted():
    """Of ten wordings with one such there was no interval, without a word, over ten clusters."""
    means = np.random.default_rng(6).random((11, 3))
    means[0] = 0.5
    found, ten = pc.rankings(*long(means[..., None])), pc.rankings(*long(means[:10, :, None]))
    assert found.confidence_interval == pc.rankings(*long(means[1:, :, None])).confidence_interval
    assert (found.n_clusters, ten.n_clusters) == ({"tau": 10}, {"tau": 9})
    assert found.warnings == ("all systems are equally good under 1 of 11 wordings: tau leaves these out",)
    assert ten.warnings[1:] == ("no interval over fewer than 10 wordings",)


def test_problems_that_some_were_not_asked_are_left_out():
    cells = np.random.default_rng(5).normal(size=(3, 3, 6))
    columns = long(cells)
    kept = ~((columns[1] == 1) & (columns[2] == 2) & (columns[3] < 2))
    found = pc.rankings(*(column[kept] for column in columns))
    assert found.n_problems == 4
    assert found.mean == pytest.approx(pc.rankings(*long(cells[..., 2:])).mean)
    assert "2 problems not there for all systems, wordings: left out" in found.warnings
    repeated = pc.rankings(*(np.concatenate([column, column[:5]]) for column in columns))
    assert repeated.mean == pytest.approx(pc.rankings(*columns).mean)  # a cell is the mean of its repeats


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 0, 1], ["a", "b", "a"], ["x", "x", "y"]), "every wording; got 'b without y'"),
        (([1, 0], ["a", "a"], ["x", "y"]), "`systems` must be at least two"),
        (([1, 0], ["a", "b"], ["x", "x"]), "`wordings` must be at least two"),
        (([1, 0], ["a", "b"], ["x"]), "one value per row of `outcomes`"),
        (([1, float("nan")], ["a", "b"], ["x", "x"]), "finite numbers"),
        ((["good", "bad"], ["a", "b"], ["x", "x"]), "`outcomes` must be numbers"),
        (([1, 0, 1, 0], list("aabb"), list("xyxy"), list("pqqp")), "that every system was asked"),
    ],
)
def test_what_is_refused(columns, message):
    with pytest.raises(InputError, match=message):
        pc.rankings(*columns)


@pytest.mark.real_data
def test_rankings_of_published_accuracies_depend_on_the_template(data_folder):
    """Of sixteen models under 136 to 265 templates (Mizrahi et al. 2024)."""
    table = pd.read_csv(data_folder / "recorded" / "multiprompt.csv")
    table = table[(table.benchmark == "LMentry") & (table.task == "rhyming_word")]
    table = table[table.template.isin(sorted(table.template.unique())[::4])]
    found = pc.rankings(table.accuracy, table.model, table.template)
    cells = table.pivot(index="template", columns="model", values="accuracy")
    tau, best = loop(cells.to_numpy())
    assert found.tau == pytest.approx(tau)
    assert [found.best[name] for name in cells.columns] == pytest.approx(best)
    assert (found.n_systems, found.n_wordings) == cells.shape[::-1]
