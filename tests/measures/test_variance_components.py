"""Variance components: an oracle over all pairs of rows, the analysis of variance, REML, and what is refused."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import scipy.stats
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.measures.noise_floor import trial_noise
from paraconsist.measures.variance_components import variance_components

Levels = dict[str, Any]


def shared(levels: Levels, i: int, j: int) -> frozenset[str]:
    return frozenset(name for name, values in levels.items() if values[i] == values[j])


def by_pairs(outcomes: Any, levels: Levels) -> dict[frozenset[str], float]:
    """Return components by set of levels, from a loop over all pairs of rows."""
    first, n = next(iter(levels)), len(outcomes)
    sizes = {value: list(levels[first]).count(value) for value in levels[first]}
    found: dict[frozenset[str], dict[Any, list[tuple[float, float]]]] = {}
    for i in range(n):
        for j in range(n):
            if i != j:
                of = shared(levels, i, j)
                half = (outcomes[i] - outcomes[j]) ** 2 / 2
                weight = 1.0 if first in of else 1.0 / sizes[levels[first][i]] / sizes[levels[first][j]]
                cluster = levels[first][i] if first in of else None
                found.setdefault(of, {}).setdefault(cluster, []).append((half, weight))
    halves = {
        of: np.mean(
            [np.average([half for half, _ in part], weights=[w for _, w in part]) for part in clusters.values()]
        )
        for of, clusters in found.items()
    }
    names = list(levels)

    def closure(of: tuple[str, ...]) -> frozenset[str]:
        rows = [dict(zip(names, row, strict=True)) for row in zip(*levels.values(), strict=True)]
        is_one = {
            (a, b): all(len({row[b] for row in rows if row[a] == value}) == 1 for value in set(levels[a]))
            for a in names
            for b in names
        }
        return frozenset(b for b in names if any(is_one[a, b] for a in of))

    terms = {closure(of) for size in range(1, len(names) + 1) for of in combinations(names, size)}
    if frozenset(names) in found:  # rows that share all levels
        terms.add(frozenset([*names, "residual"]))
    ordered = sorted(terms, key=lambda of: (len(of), sorted(of)))
    matrix = [[float(not term <= of) for term in ordered] for of in found]
    solved, *_ = np.linalg.lstsq(np.array(matrix), np.array(list(halves.values())), rcond=None)
    return dict(zip(ordered, solved.tolist(), strict=True))


def rows(sizes: dict[str, int], seed: int, missing: float = 0.0) -> Levels:
    grids = np.meshgrid(*(np.arange(size) for size in sizes.values()), indexing="ij")
    kept = np.random.default_rng(seed).random(grids[0].size) >= missing
    return {name: grid.ravel()[kept] for name, grid in zip(sizes, grids, strict=True)}


def nest(levels: Levels, inner: str, outer: str) -> Levels:
    return {**levels, inner: levels[outer] * 100 + levels[inner]}


CROSSED = rows({"problem": 5, "wording": 4}, 0, 0.2)
CELLS = rows({"problem": 4, "wording": 3, "repeat": 3}, 1, 0.3)
DESIGNS: dict[str, tuple[Levels, dict[str, set[str]]]] = {
    "nested": (
        nest(rows({"problem": 5, "wording": 4}, 2, 0.3), "wording", "problem"),
        {"problem": {"problem"}, "wording": {"problem", "wording"}},
    ),
    "repeats without a column": (
        {name: CELLS[name] for name in ("problem", "wording")},
        {"problem": {"problem"}, "wording": {"wording"}, "problem x wording": {"problem", "wording"},
         "residual": {"problem", "wording", "residual"}},
    ),
    "crossed": (
        CROSSED,
        {"problem": {"problem"}, "wording": {"wording"}, "problem x wording": {"problem", "wording"}},
    ),
    "crossed with nested repeats": (
        {**CELLS, "repeat": CELLS["problem"] * 100 + CELLS["wording"] * 10 + CELLS["repeat"]},
        {"wording": {"wording"}, "problem x wording": {"problem", "wording"},
         "repeat": {"problem", "wording", "repeat"}},
    ),
    "crossed threefold": (
        CELLS,
        {"wording": {"wording"}, "problem x repeat": {"problem", "repeat"},
         "problem x wording x repeat": {"problem", "wording", "repeat"}},
    ),
    "problems in contexts, problems first": (
        {"problem": CELLS["problem"] * 10 + CELLS["wording"], "context": CELLS["problem"]},
        {"context": {"context"}, "problem": {"problem", "context"}, "residual": {"problem", "context", "residual"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DESIGNS)
def test_components_are_those_of_all_pairs_of_rows(name: str) -> None:
    levels, expected = DESIGNS[name]
    outcomes = np.random.default_rng(7).normal(3.0, 1.0, len(levels["problem"])) + levels["problem"] % 7
    found, oracle = variance_components(outcomes, levels), by_pairs(outcomes, levels)
    assert len(found.variance) == len(oracle)
    for label, of in expected.items():
        assert found.variance[label] == pytest.approx(oracle[frozenset(of)], abs=1e-9), label


def test_the_order_of_rows_names_and_units_do_not_matter() -> None:
    outcomes = np.random.default_rng(1).normal(size=len(CROSSED["problem"]))
    whole = variance_components(outcomes, CROSSED)
    order = np.random.default_rng(2).permutation(len(outcomes))
    other = variance_components(
        5.0 - 2.0 * outcomes[order],
        {name: [f"v{value}" for value in values[order]] for name, values in CROSSED.items()},
    )
    for name, value in whole.variance.items():
        assert other.variance[name] == pytest.approx(4.0 * value, abs=1e-9)
    assert other.dependability == pytest.approx(whole.dependability, abs=1e-9)


def test_units_do_not_matter_to_the_intervals_of_shares() -> None:
    """A few large outcomes: some replicates are at their least in the logarithm."""
    outcomes, levels = np.random.default_rng(2).normal(size=36) ** 3, {"problem": np.repeat(np.arange(12), 3)}
    one, other = (variance_components(scale * outcomes, levels).confidence_interval for scale in (1.0, 10.0))
    for name in ("share/problem", "share/residual", "dependability"):
        assert other[name] == pytest.approx(one[name])


def test_balanced_data_give_the_analysis_of_variance() -> None:
    levels = rows({"problem": 9, "wording": 8}, 0)
    y = np.random.default_rng(3).normal(size=(9, 8)) + np.arange(9)[:, np.newaxis] / 3
    found = variance_components(y.ravel(), levels)
    means = y.mean(), y.mean(axis=1), y.mean(axis=0)
    squares = {
        "problem": 8 * ((means[1] - means[0]) ** 2).sum() / 8,
        "wording": 9 * ((means[2] - means[0]) ** 2).sum() / 7,
        "both": ((y - means[1][:, np.newaxis] - means[2] + means[0]) ** 2).sum() / 56,
    }
    parts = {
        "problem": (squares["problem"] - squares["both"]) / 8,
        "wording": (squares["wording"] - squares["both"]) / 9,
        "problem x wording": squares["both"],
    }
    assert found.variance == pytest.approx(parts, abs=1e-12)
    assert found.mean == pytest.approx(y.mean())
    assert found.share["problem"] == pytest.approx(parts["problem"] / sum(parts.values()))
    assert found.icc == pytest.approx({"problem": found.share["problem"], "wording": found.share["wording"]})
    error = (parts["wording"] + parts["problem x wording"]) / 8  # of a problem's mean over eight wordings
    assert found.dependability == pytest.approx(parts["problem"] / (parts["problem"] + error))


def test_what_doubling_a_level_does_is_the_variance_of_the_mean() -> None:
    levels = rows({"problem": 10, "wording": 8, "repeat": 2}, 0)
    rng = np.random.default_rng(0)
    y = rng.normal(size=10)[levels["problem"]] + rng.normal(size=8)[levels["wording"]] + rng.normal(size=160)
    found = variance_components(y, levels, nested=["repeat"])
    a, b, both, error = (max(value, 0.0) for value in found.variance.values())

    def standard_error(p: int, w: int, r: int) -> float:
        return float((a / p + b / w + both / p / w + error / p / w / r) ** 0.5)

    expected = {"problem": (20, 8, 2), "wording": (10, 16, 2), "repeat": (10, 8, 4)}
    assert {row.level: row.standard_error for row in found.doubled} == pytest.approx(
        {name: standard_error(*sizes) for name, sizes in expected.items()}
    )
    ratios = [row.ratio for row in found.doubled]
    assert ratios == sorted(ratios)
    assert found.doubled[0].ratio == pytest.approx(found.doubled[0].standard_error / standard_error(10, 8, 2))


def test_reml_agrees_on_balanced_data_with_positive_components() -> None:
    models = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    pandas = pytest.importorskip("pandas")
    levels = nest(rows({"problem": 8, "wording": 3, "repeat": 2}, 0), "wording", "problem")
    rng = np.random.default_rng(5)
    y = 2 * rng.normal(size=8)[levels["problem"]] + rng.normal(size=800)[levels["wording"]] + rng.normal(size=48)
    found = variance_components(y, {name: levels[name] for name in ("problem", "wording")})
    assert min(found.variance.values()) > 0
    frame = pandas.DataFrame({**levels, "y": y})
    parts = {"wording": "0 + C(wording)"}
    model = models.MixedLM.from_formula("y ~ 1", frame, groups="problem", re_formula="1", vc_formula=parts)
    fit = model.fit(reml=True, gtol=1e-10)
    reml = {"problem": fit.cov_re.iloc[0, 0], "wording": fit.vcomp[0], "residual": fit.scale}
    assert found.variance == pytest.approx(reml, rel=1e-4)


@pytest.mark.parametrize("sizes", [[4] * 30, [2, 3, 4, 5, 6] * 6])
def test_the_split_of_trials_is_a_case_of_it(sizes: list[int]) -> None:
    rng = np.random.default_rng(4)
    bucket = np.repeat(np.arange(30), np.array(sizes) * 3)
    wording = np.concatenate([np.repeat(np.arange(size), 3) for size in sizes])
    trial = np.tile(np.arange(3), sum(sizes))
    chance = np.clip(rng.random(30)[bucket] + rng.normal(0, 0.3, 2000)[bucket * 10 + wording], 0, 1)
    right = (rng.random(len(bucket)) < chance).astype(int)
    expected = trial_noise(right, bucket, wording, trial)
    found = variance_components(
        right, {"problem": bucket, "paraphrase": wording, "decoding": trial}, nested=["paraphrase", "decoding"]
    )
    assert found.variance == pytest.approx(expected.variance, abs=1e-12)
    assert found.share == pytest.approx(expected.share, abs=1e-12)


def test_labels_have_the_sum_of_the_components_of_their_indicators() -> None:
    labels = np.random.default_rng(0).choice(["a", "b", "c"], len(CROSSED["problem"]))
    found = variance_components(labels.tolist(), CROSSED)
    parts = [variance_components((labels == label).astype(int), CROSSED).variance for label in "abc"]
    assert found.variance == pytest.approx({name: sum(part[name] for part in parts) for name in found.variance})
    assert np.isnan(found.mean)


def test_no_variance_of_labels_exceeds_1() -> None:
    labels = ["a", "a", "b", "a", "b", "b", "c", "c", "a", "d", "d", "d", "e", "e", "e", "f", "f", "a", "g", "g", "g"]
    found = variance_components(labels + ["h"] * 3, {"problem": np.repeat(range(8), 3), "wording": range(24)})
    assert found.confidence_interval["variance/problem"][1] == 1.0


def test_intervals_are_over_levels_with_eight_values() -> None:
    levels = rows({"problem": 12, "wording": 5}, 0)
    outcomes = np.random.default_rng(0).normal(size=60) + levels["problem"]
    found = variance_components(outcomes, levels)
    low, high = found.confidence_interval["variance/problem"]
    assert low < found.variance["problem"] < high
    assert np.isnan(found.confidence_interval["variance/wording"]).all()
    assert "no interval over fewer than 8 values of a level: wording" in found.warnings
    wider = variance_components(outcomes, levels, confidence_level=0.99).confidence_interval["variance/problem"]
    assert wider[0] < low < high < wider[1]


@pytest.mark.parametrize("wordings", ["nested", "crossed", "labels"])
def test_standard_errors_are_the_jackknifes(wordings: str) -> None:
    levels = rows({"problem": 9, "wording": 4, "repeat": 2}, 6, 0.2)
    levels = levels if wordings == "crossed" else nest(levels, "wording", "problem")
    levels.pop("repeat")
    outcomes = np.random.default_rng(8).normal(size=len(levels["problem"])) + levels["problem"] / 3
    outcomes = outcomes if wordings != "labels" else np.array(["a", "b", "c"])[np.digitize(outcomes, [0.5, 2])]
    found = variance_components(outcomes, levels)
    without = []
    for problem in range(9):
        kept = levels["problem"] != problem
        without.append(variance_components(outcomes[kept], {name: of[kept] for name, of in levels.items()}))
    for name, value in found.variance.items():
        squares = [(result.variance[name] - value) ** 2 for result in without]
        if np.isfinite(found.standard_error[f"variance/{name}"]):
            expected = (8 / 9 * sum(squares)) ** 0.5
            assert found.standard_error[f"variance/{name}"] == pytest.approx(expected, rel=1e-9), name
    assert np.isfinite(found.standard_error["variance/problem"])


@pytest.mark.parametrize(("seed", "size"), [(4, 0.3), (10, 0.3), (14, 1.0)])
def test_intervals_of_crossed_levels_leave_out_problems_wordings_and_cells(seed: int, size: float) -> None:
    levels = rows({"problem": 10, "wording": 9}, 6)
    drawn = np.random.default_rng(seed)
    problems, wordings = size * drawn.normal(size=10), size * drawn.normal(size=9)
    outcomes = problems[levels["problem"]] + wordings[levels["wording"]] + drawn.normal(size=90)
    units = {**levels, "problem x wording": np.arange(90)}
    found = variance_components(outcomes, levels)
    of_cells = max(found.variance["problem x wording"], 0.0)
    noise = {"problem": of_cells / 9, "wording": of_cells / 10, "problem x wording": 0.0}  # of the means of a level

    def scaled(result: Any) -> dict[str, float]:
        least = {name: 0.3 * (max(found.variance[name], 0.0) + noise[name]) for name in units}
        parts = {name: np.log(max(result.variance[name] + noise[name], least[name])) for name in units}
        return {**parts, "dependability": -np.log(1.0 - result.dependability)}

    z, squares = scaled(found), {}
    for unit, of in units.items():
        left = [of != value for value in sorted(set(of.tolist()))]
        without = [variance_components(outcomes[of], {name: part[of] for name, part in levels.items()}) for of in left]
        squares[unit] = {name: np.array([(scaled(one)[name] - z[name]) ** 2 for one in without]) for name in z}
    half, freedoms = {}, {}
    for name in z:
        parts = {unit: of[name] for unit, of in squares.items()}
        sums = {unit: part.sum() * (len(part) - 1) / len(part) for unit, part in parts.items()}
        free = {
            unit: min(len(part) - 1, 2 * part.sum() ** 2 / ((part**2).sum() - part.sum() ** 2 / len(part)))
            for unit, part in parts.items()
        }
        single = ("problem", "wording")
        total = max(sums["problem"] + sums["wording"] - sums["problem x wording"], *(sums[unit] for unit in single))
        of_sums = sum(sums[unit] ** 2 / free[unit] for unit in single)  # Satterthwaite
        freedoms[name] = max(total**2 / of_sums, free[max(single, key=sums.__getitem__)])
        if name == "problem x wording":
            freedoms[name] = (sums["problem"] + sums["wording"]) ** 2 / of_sums
        if name == "dependability":
            freedoms[name] = min(freedoms[name], freedoms["problem"], freedoms["problem x wording"])
        half[name] = scipy.stats.t.ppf(0.975, freedoms[name]) * total**0.5
    for name in units:
        ends = np.exp([z[name] - half[name], z[name] + half[name]]) - noise[name]
        ends = np.minimum(ends, np.ptp(outcomes) ** 2 / 4)  # no larger variance in this range
        assert found.confidence_interval[f"variance/{name}"] == pytest.approx(ends, rel=1e-9), name
    ends = 1.0 - np.exp([half["dependability"] - z["dependability"], -half["dependability"] - z["dependability"]])
    assert found.confidence_interval["dependability"] == pytest.approx(ends, rel=1e-9)


def test_a_component_next_to_nothing_may_be_below_0_and_is_told() -> None:
    outcomes = [0, 1] * 6 + [0, 0, 1, 1] * 2
    found = variance_components(outcomes, {"problem": np.repeat(np.arange(10), 2)})
    assert found.variance["problem"] < 0
    assert found.warnings == ("below 0, which is next to nothing (estimates are unbiased): problem",)
    assert found.doubled[0].level == "problem"
    low, high = found.confidence_interval["variance/problem"]
    assert low < found.variance["problem"] < high
    same = variance_components([0, 1] * 10, {"problem": np.repeat(np.arange(10), 2)})
    assert np.isnan(same.confidence_interval["variance/problem"]).all()
    assert any("do not differ" in warning for warning in same.warnings)


def test_a_component_below_0_beyond_chance_is_not_next_to_nothing() -> None:
    """Of two prompts one is right nearly every time; of which row has which nothing is said."""
    rng = np.random.default_rng(0)
    outcomes = np.tile([0.0, 1.0], 80) + rng.normal(0, 0.1, 160)
    levels = {"problem": np.repeat(np.arange(20), 8), "trial": np.repeat(np.arange(80), 2)}
    found = variance_components(outcomes, levels)
    low, high = found.confidence_interval["variance/residual"]
    assert low < found.variance["residual"] <= high
    found = variance_components(outcomes + rng.normal(0, 0.5, 160), levels)
    assert found.confidence_interval["variance/trial"][1] < 0.0
    assert any("below 0 beyond chance: trial: rows" in warning for warning in found.warnings)
    assert not any("next to nothing" in warning and "trial" in warning for warning in found.warnings)


def test_dependability_is_at_most_1() -> None:
    """Where components are below 0 it was above, such as 1.14 of recorded answers."""
    above = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        levels = {"model": np.repeat(np.arange(3), 4), "wording": rng.integers(0, 3, 12)}
        if len({*levels["wording"].tolist()}) > 1:
            dependability = variance_components(rng.integers(0, 2, 12), levels).dependability
            assert not dependability > 1.0
            above += dependability == 1.0
    assert above


@pytest.mark.faults
@pytest.mark.parametrize(
    ("outcomes", "problems"),
    [([0, 1, 0, 1], [1, 0, 0, 1]), ([0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 2, 1, 1, 1, 2, 1])],
)
def test_problems_that_do_not_differ_are_not_perfectly_dependable(outcomes: list[int], problems: list[int]) -> None:
    """Dependability was 1: one number below 0 over another."""
    found = variance_components(outcomes, {"problem": problems})
    assert found.variance["problem"] < -0.1
    assert np.isnan(found.dependability)
    assert any("dependability is undefined" in warning for warning in found.warnings)


@pytest.mark.faults
def test_rows_that_are_opposites_are_less_alike_beyond_chance() -> None:
    """Both of a problem add up to 0, so that no replicate has a variance of means: there was no interval."""
    above = np.random.default_rng(0).normal(size=10)
    found = variance_components(np.stack([above, -above], axis=1).ravel(), {"problem": np.repeat(np.arange(10), 2)})
    squares = above**2  # the component is less their mean
    error = squares.std(ddof=1) / np.sqrt(10)
    half = scipy.stats.t.ppf(0.975, 9) * error
    assert found.standard_error["variance/problem"] == pytest.approx(error)
    assert found.confidence_interval["variance/problem"] == pytest.approx(
        [-squares.mean() - half, half - squares.mean()]
    )
    assert any("below 0 beyond chance: problem" in warning for warning in found.warnings)


def test_repeats_that_never_differ_have_a_component_of_0_and_no_interval() -> None:
    found = variance_components(np.repeat([0, 1, 1, 0, 1, 0, 0, 1, 1], 2), {"problem": np.repeat(np.arange(9), 2)})
    assert found.variance["residual"] == 0.0
    assert np.isnan(found.confidence_interval["variance/residual"]).all()
    assert np.isfinite(found.confidence_interval["variance/problem"]).all()


@pytest.mark.faults
def test_a_replicate_without_variance_is_no_message_of_numpy() -> None:
    outcomes = [0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    problems = [7, 2, 1, 5, 5, 5, 1, 3, 1, 7, 8, 1, 4, 4, 7, 2, 7, 5, 6]
    wordings = [7, 0, 6, 4, 1, 6, 6, 5, 4, 6, 2, 4, 1, 7, 0, 7, 4, 2, 3]
    found = variance_components(outcomes, {"problem": problems, "wording": wordings})
    assert found.variance["residual"] == 0.0


@pytest.mark.faults
def test_a_component_that_differs_in_no_replicate_but_for_rounding_has_no_interval() -> None:
    """Its interval was its own value twice."""
    outcomes = [1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    problems = [4, 5, 5, 2, 5, 2, 3, 3, 6, 1, 7, 0, 5]
    wordings = [2, 1, 1, 4, 2, 1, 0, 0, 3, 0, 2, 3, 2]
    judges = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    found = variance_components(outcomes, {"problem": problems, "wording": wordings, "judge": judges})
    assert found.variance["residual"] == pytest.approx(0.25)
    assert found.standard_error["variance/residual"] == 0.0
    assert np.isnan(found.confidence_interval["variance/residual"]).all()


@pytest.mark.faults
def test_the_error_of_a_mean_is_not_rounding() -> None:
    """The components add up to 0, and the error of the mean was 1e-9; in other units another ratio."""
    levels = {"problem": [2, 1, 0, 1], "wording": [2, 0, 2, 1]}
    one, other = (variance_components(unit * np.array([0, 1, 1, 0]), levels).doubled for unit in (1.0, 10.0))
    assert one[0].standard_error > 0.1
    assert [row.ratio for row in other] == pytest.approx([row.ratio for row in one], nan_ok=True)


@pytest.mark.faults
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_errors_are_in_the_unit_of_the_outcomes(unit: float) -> None:
    """Of outcomes of 1e-6 all standard errors were 0, and a warning said that they have no intervals."""
    outcomes = np.random.default_rng(1).normal(size=36)
    levels = {"problem": np.repeat(np.arange(12), 3)}
    one, other = variance_components(outcomes, levels), variance_components(unit * outcomes, levels)
    assert other.warnings == one.warnings
    for name in ("variance/problem", "variance/residual"):
        assert other.standard_error[name] / unit**2 == pytest.approx(one.standard_error[name])
        assert np.array(other.confidence_interval[name]) / unit**2 == pytest.approx(one.confidence_interval[name])


def test_a_level_that_is_all_but_nested_is_told() -> None:
    query, passage = np.repeat(np.arange(12), 10), np.arange(120)
    passage[60] = 0  # a passage of two queries
    rng = np.random.default_rng(0)
    levels = {"query": np.repeat(query, 2), "passage": np.repeat(passage, 2)}
    outcomes = rng.normal(size=12)[levels["query"]] + rng.normal(size=240)
    found = variance_components(outcomes, levels)
    (warning,) = [warning for warning in found.warnings if "nearly all values of passage" in warning]
    assert "`nested`" in warning
    low, high = found.confidence_interval["variance/query x passage"]
    assert low < found.variance["query x passage"] < high
    assert list(variance_components(outcomes, levels, nested=["passage"]).variance) == ["query", "passage", "residual"]


def test_outcomes_that_are_all_the_same_have_no_share() -> None:
    found = variance_components([1] * 20, {"problem": np.repeat(np.arange(10), 2)})
    assert found.variance == {"problem": 0.0, "residual": 0.0}
    assert np.isnan(found.share["problem"])
    assert np.isnan(found.dependability)
    assert np.isnan(found.confidence_interval["variance/problem"]).all()
    assert "every outcome is the same" in found.warnings


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow"])
def test_a_table_and_names_of_its_columns(kind: str) -> None:
    columns = {"correct": [1, 0, 1, 1, 0, 0], "item": list("aabbcc"), "wording": [0, 1] * 3}
    made = {"dict": dict, "pandas": pd.DataFrame, "polars": polars.DataFrame, "arrow": pa.table}[kind]
    frame: Any = made(columns)
    found = pc.variance_components(frame, value="correct", levels=["item", "wording"])
    levels = {name: columns[name] for name in ("item", "wording")}
    assert repr(found.to_dict()) == repr(variance_components(columns["correct"], levels).to_dict())
    refuses("`levels` must be one of", variance_components, frame, value="correct", levels=["items"])
    refuses("`value` must be one of", variance_components, frame, value="right", levels=["item"])
    refuses("`outcomes` .* data frame", variance_components, columns["correct"], ["wording"], value="correct")
    refuses("`levels` .* with `value`", variance_components, columns["correct"], ["wording"])


def test_levels_that_cannot_be_told_apart_are_one_component() -> None:
    problem, wording = np.repeat(np.arange(9), 4), np.arange(36)
    outcomes = np.random.default_rng(0).normal(size=36)
    levels = {"problem": problem, "wording": wording, "repeat": np.zeros(36, int)}
    for of_repeat, options in (("repeat", {}), ("repeat", {"nested": ["repeat"]})):
        found = variance_components(outcomes, levels, **options)
        assert list(found.variance) == ["problem", "wording + repeat"]
        (told,) = [warning for warning in found.warnings if "cannot tell" in warning]
        assert "wording" in told
        assert of_repeat in told
        refuses("cannot tell wording and repeat apart", found.component, "wording")
        assert found.component("problem") == found.variance["problem"]
    nested = variance_components(outcomes, {"problem": problem, "wording": wording, "repeat": wording})
    assert nested.variance == pytest.approx(found.variance)
    crossed = {"problem": np.repeat(np.arange(3), 3), "wording": np.tile(np.arange(3), 3)}
    square = {**crossed, "judge": (crossed["problem"] + crossed["wording"]) % 3}
    assert list(variance_components(np.arange(9) % 4, square).variance)[-1].count(" + ") == 3


@pytest.mark.parametrize(
    ("outcomes", "levels", "options", "sentence"),
    [
        ([0, 1, 0], {"problem": [1, 1, 1], "wording": [1, 2, 3]}, {}, "Nothing between values of problem"),
        ([0, 1], {}, {}, "`levels` must be a mapping"),
        ([0, 1], {"problem": [1]}, {}, "`problem` must have one value per row"),
        ([0, np.nan], {"problem": [1, 2]}, {}, "finite numbers"),
        ([0], {"problem": [1]}, {}, "at least two"),
        ([0, 1], {"problem": [1, 2]}, {"nested": ["problem"]}, "`nested` must"),
        ([0, 1], {"problem": [1, None]}, {}, "missing values"),
        ([0, 1], {"a + b": [1, 2]}, {}, "names without"),
        ([0, 1], {"residual": [1, 2]}, {}, "names without"),
        (["a", None], {"problem": [1, 2]}, {}, "missing values"),
        ([[0, 1], [1, 0]], {"problem": [1, 2]}, {}, "list of at least two"),
        ([0, 1], {"problem": [1, 2]}, {"confidence_level": 1.0}, "between 0 and 1"),
        ([0, 1, 0, 1], {"a": [1, 1, 1, 2], "b": [1, 1, 2, 2], "c": [1, 2, 3, 3]}, {}, "`levels` must .* apart"),
    ],
)
def test_what_is_refused(outcomes: list[float], levels: Levels, options: dict[str, Any], sentence: str) -> None:
    refuses(sentence, variance_components, outcomes, levels, **options)


def test_an_unknown_component_is_refused() -> None:
    found = pc.variance_components([0, 1, 1, 0], {"problem": [1, 1, 2, 2]})
    refuses("must be one of problem, residual", found.component, "judge")


@pytest.mark.parametrize("name", ["nested 20 x 6, labels", "crossed 12 x 10, binary", "nested 30 x 3 x 5, four"])
def test_components_are_unbiased_and_intervals_hold(name: str) -> None:
    """A short run of benchmarks/variance_validity.py, which has 20 designs and 2,000 repeats."""
    from helpers.scripts import load_script

    script: Any = load_script("benchmarks/variance_validity.py")
    design = script.DESIGNS[name]
    truth, rng = design.truth(), np.random.default_rng(0)
    results = [variance_components(*design.draw(rng)) for _ in range(150)]
    for key, true in truth.items():
        values = [result.variance[key] for result in results]
        assert abs(np.mean(values) - true) < 3.5 * np.std(values) / 150**0.5
        ends = [result.confidence_interval[f"variance/{key}"] for result in results]
        assert np.mean([low <= true <= high for low, high in ends]) > 0.88


@pytest.mark.parametrize("outcomes", [1, None, "text"])
def test_what_is_no_list_is_refused(outcomes):
    refuses("`outcomes` must be a list of numbers or texts", variance_components, outcomes, {"problem": [1, 2]})


@pytest.mark.faults
def test_too_few_problems_that_fail_twice_have_no_interval():
    """Of 40 problems that are nearly all right, where none failed twice the interval lay below the truth in every draw.

    The wordings keep theirs: one wrong answer says as much of these as two.
    """
    problem, wording = np.repeat(np.arange(40), 5), np.arange(200)
    for n_twice in (0, 2, 3):
        right = np.ones((40, 5))
        right[:8, 0] = right[:n_twice, 1] = 0.0
        for outcomes in (right.ravel(), 1.0 - right.ravel(), np.where(right.ravel(), "yes", "no")):
            found = variance_components(outcomes, {"problem": problem, "wording": wording})
            ends = found.confidence_interval
            names = ("variance/problem", "share/problem", "share/wording", "dependability")
            assert [bool(np.isfinite(ends[name]).all()) for name in names] == [n_twice == 3] * 4
            assert np.isfinite(ends["variance/wording"]).all()
            told = "no interval of problem and shares: fewer than 3 values hold two rare outcomes"
            assert any(told in warning for warning in found.warnings) == (n_twice < 3)
