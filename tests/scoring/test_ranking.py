"""Many models ranked at once: the test by its definition, what its ranks cover, and who cannot be compared."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.errors import refuses
from helpers.report import rows

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import read_rows
from paraconsist.measures.standings import UnitValues, standings
from paraconsist.scoring.compare import compare, compare_opened, rank_models
from paraconsist.scoring.options import CompareOptions
from paraconsist.scoring.outcomes import steadiness_of_units
from paraconsist.scoring.sources import Opened, Source

OPTIONS = CompareOptions(n_permutations=2_000, n_resamples=200)


@pytest.mark.parametrize("kind", ["plain", "groups", "counted", "both"])
def test_pairs_are_tested_together_by_every_flip_of_the_signs(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 3, (18, 4)) * (rng.random((18, 4)) < 0.8) + [0.0, 0.0, 0.4, 1.5]
    counted = rng.random((18, 4)) < 0.7 if kind in ("counted", "both") else None
    groups = np.arange(18) // 2 if kind in ("groups", "both") else None
    one, two, sums, p = UnitValues(values, counted, groups).pair_tests(n_draws=40_000)
    assert list(zip(one, two, strict=True)) == list(combinations(range(4), 2))
    each = []
    for i, j in combinations(range(4), 2):
        d = np.array([(a - b) if counted is None or (counted[u, i] and counted[u, j]) else 0.0
                      for u, (a, b) in enumerate(values[:, [i, j]])])  # fmt: skip
        each.append(d if groups is None else np.bincount(groups, weights=d))
    each = np.stack(each, axis=1)
    np.testing.assert_allclose(sums, each.sum(axis=0), atol=1e-9)
    norms = np.sqrt((each**2).sum(axis=0))
    n = len(each)
    signs = np.array(list(product([-1.0, 1.0], repeat=n))) if n < 12 else rng.choice([-1.0, 1.0], (100_000, n))
    greatest = (np.abs(signs @ each) / norms).max(axis=1)
    exact = [(greatest >= abs(d.sum()) / norm - 1e-9).mean() for d, norm in zip(each.T, norms, strict=True)]
    np.testing.assert_allclose(p, exact, atol=0.012)
    assert min(p) < 0.2 < 0.9 < max(p)


def test_models_that_answer_alike_do_not_differ() -> None:
    values = np.repeat(np.random.default_rng(0).random((30, 1)), 3, axis=1)
    *_, p = UnitValues(values).pair_tests(n_draws=99)
    assert p.tolist() == [1.0, 1.0, 1.0]


def test_no_p_is_below_one_over_the_draws_and_the_observed_signs() -> None:
    values = np.stack([np.arange(60.0) + 30, np.zeros(60)], axis=1)
    *_, p = UnitValues(values).pair_tests(n_draws=99)
    assert p.tolist() == [1 / 100]


def test_a_difference_that_is_the_same_in_all_units_is_bounded_by_their_number() -> None:
    """Flips alone found .0005; in 12 units a share of 1 / 10 that differs by 1 is missing with probability .9^12."""
    values = np.repeat([[0.9, 1.0, 0.2]], 12, axis=0)
    *_, p = UnitValues(values).pair_tests(n_draws=1_999)
    assert p[0] == pytest.approx(2 * 0.9**12)
    assert max(p[1:]) < 0.005


@pytest.mark.parametrize("equal", [True, False])
def test_all_true_ranks_lie_in_their_intervals_together(equal: bool) -> None:
    """Ten models whose true shares are known, two and two alike or all alike, on questions that are hard for all."""
    rng = np.random.default_rng(5)
    true = np.full(10, 0.3) if equal else np.repeat([0.1, 0.2, 0.3, 0.35, 0.6], 2)
    best, worst = 1 + (true[:, None] > true).sum(axis=1), 10 - (true[:, None] < true).sum(axis=1)
    n, covered, lengths = 150, 0, 0
    for seed in range(n):
        hard = rng.normal(size=(150, 1)) / 10  # the same questions for all
        values = (rng.random((150, 10)) < np.clip(true + hard, 0, 1)).astype(float)
        one, two, sums, p = UnitValues(values).pair_tests(n_draws=399, seed=seed)
        pairs = list(zip(map(str, one), map(str, two), strict=True))
        ranked = standings(
            "", [str(i) for i in range(10)], *(dict(zip(pairs, x, strict=True)) for x in (sums < 0, p <= 0.05))
        )
        of_model = {int(row.model): (row.rank_low, row.rank_high) for row in ranked}
        covered += all(of_model[i][0] <= best[i] and worst[i] <= of_model[i][1] for i in range(10))
        lengths += sum(high - low + 1 for low, high in of_model.values())
    assert covered / n >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / n)
    assert lengths / n > 99 if equal else lengths / n < 65  # of 100 ranks


def source(answers: dict[str, str], name: str = "toy") -> Source:
    return Source(name, Predictions(pa.Table.from_pylist(rows(answers))), SourceOptions())


def answers_of(seed: int, right: float, n: int = 40) -> dict[str, str]:
    drawn = np.random.default_rng(seed).random((n, 4)) < right
    return {f"b{b:02d}": "".join(map(str, one)) for b, one in enumerate(drawn.astype(int).tolist())}


def test_ranks_are_those_of_compare() -> None:
    models = {f"m{i}": {"toy": source(answers_of(i, right))} for i, right in enumerate((0.55, 0.9, 0.97, 1.0))}
    (compared,), (ranked,) = compare(models, OPTIONS), rank_models(models, OPTIONS)
    assert ranked.standings == compared.standings
    assert {row["rank_high"] - row["rank_low"] for row in ranked.standings} > {0}
    assert (ranked.n_common_buckets, ranked.left_out) == (40, {})


def test_models_that_break_a_rule_equally_often_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    frames = {}
    for model, share in (("a", 0.3), ("b", 0.3), ("c", 0.1), ("d", 0.32)):
        turned = np.arange(50) < 50 * share
        answers = np.stack([np.zeros(50, dtype=int), rng.permutation(turned)], axis=1).ravel()
        frames[model] = pd.DataFrame({"bucket_id": np.arange(100) // 2, "role": ["original", "swap"] * 50, "label": 0})
        frames[model]["prediction"] = answers
    models = {model: {"toy": source_of(frame)} for model, frame in frames.items()}
    (compared,), (ranked,) = compare(models, OPTIONS), rank_models(models, OPTIONS)
    for rows_of in (ranked.standings, compared.standings):
        assert [row.model for row in rows_of] == ["c", "a", "b", "d"]


def test_who_answered_other_rows_is_said_and_not_ranked() -> None:
    whole = answers_of(0, 0.9)
    wrong_gold = Predictions(pa.Table.from_pylist([{**row, "label": 0} for row in rows(whole)]))
    silent = source(whole).predictions.table.drop_columns("prediction")
    silent = silent.append_column("prediction", pa.nulls(160, pa.int64()))
    models = {
        "few": {"toy": source({b: a for b, a in whole.items() if b < "b05"})},
        "most": {"toy": source({b: a for b, a in answers_of(1, 0.6).items() if b < "b30"})},
        "all": {"toy": source(whole), "alone": source(whole, "alone")},
        "gold": {"toy": Source("toy", wrong_gold, SourceOptions())},
        "silent": {"toy": Source("toy", Predictions(silent), SourceOptions())},
    }
    (ranked,) = rank_models(models, OPTIONS)
    assert {row["model"] for row in ranked.standings} == {"most", "all"}
    assert ranked.n_common_buckets == 30
    assert ranked.left_out["few"] == "answered 5 of the 40 problems that all answered"
    assert "gold label" in ranked.left_out["gold"]
    assert "answer" in ranked.left_out["silent"]
    assert list(ranked.left_out) == ["silent", "few", "gold"]
    (nobody,) = rank_models({m: models[m] for m in ("all", "gold")}, OPTIONS)
    assert (nobody.standings, list(nobody.left_out)) == ([], ["gold"])


@pytest.mark.parametrize("case", ["more problems than all others", "other gold labels", "nothing in common with some"])
def test_one_model_on_other_rows_leaves_the_others_ranked(case: str) -> None:
    whole = answers_of(9, 0.8)
    models = {f"m{i}": {"toy": source(answers_of(i, 0.8))} for i in range(4)}
    odd = source(answers_of(8, 0.8, 99))
    if case == "other gold labels":
        table = pa.Table.from_pylist([{**row, "label": 0} for row in rows(answers_of(8, 0.8, 41))])
        odd = Source("toy", Predictions(table), SourceOptions())
    elif case.startswith("nothing"):
        odd = source({b: a for b, a in whole.items() if b >= "b20"})
        models["m3"] = {"toy": source({b: a for b, a in answers_of(3, 0.8).items() if b < "b20"})}
    (ranked,) = rank_models({"odd": {"toy": odd}} | models, OPTIONS)
    n_ranked, n_problems = {"m": (5, 40), "o": (4, 40), "n": (4, 20)}[case[0]]
    assert (len({row["model"] for row in ranked.standings}), ranked.n_common_buckets) == (n_ranked, n_problems)
    assert len(ranked.left_out) == 5 - n_ranked


def judged(rng: np.random.Generator, n: int, k: int, shares: tuple[float, ...], steady: float, groups: bool):
    """A frame of n problems in k wordings: each keeps one answer with a chance of `steady`, else draws each anew."""
    labels, kept = len(shares), rng.random(n) < steady
    first = rng.choice(labels, n, p=shares)
    answers = np.where(kept[:, None], first[:, None], rng.choice(labels, (n, k), p=shares))
    columns = {"bucket_id": np.repeat(np.arange(n), k), "prediction": answers.ravel(), "label": 0}
    columns |= {"group_id": np.repeat(np.arange(n) // 3, k)} if groups else {}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("same", [None, "tokens"])
@pytest.mark.parametrize("groups", [False, True])
def test_what_buckets_add_to_steadiness_has_its_value_and_its_standard_error(groups: bool, same: str | None) -> None:
    rng = np.random.default_rng(7)
    frames = {"even": judged(rng, 60, 4, (0.5, 0.5), 0.6, groups), "odd": judged(rng, 60, 4, (0.8, 0.2), 0.3, groups)}
    if same:  # one text holds two others that differ: no classes, and the chance is that of a sample of pairs
        for model, frame in frames.items():
            texts = np.where(
                frame["prediction"] == 0, "Oslo or Rome", np.array(["Oslo", "Rome"])[np.arange(240) % 3 // 2]
            )
            frames[model] = frame.assign(prediction=texts).drop(columns="label")
    scored = {model: next(iter(pc.score(frame, same=same).sets.values())) for model, frame in frames.items()}
    units = steadiness_of_units({model: one.kept for model, one in scored.items()})
    for place, one in enumerate(scored.values()):
        values = units.values[:, place]
        assert values.mean() == pytest.approx(one.wording.above_chance, abs=1e-12)
        sums = values - values.mean()
        sums = np.bincount(np.arange(60) // 3, weights=sums) if groups else sums
        error = np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / 60
        assert error == pytest.approx(one.wording.standard_error["above_chance"], rel=1e-9)


def test_models_of_one_steadiness_are_ranked_apart_in_five_per_cent_though_their_labels_differ() -> None:
    """P_C and the wording change would set them apart: their chance differs. (Of 120 problems it is 6 per cent.)"""
    rng, n, apart = np.random.default_rng(11), 250, 0
    shares = ((0.5, 0.5), (0.85, 0.15), (0.4, 0.3, 0.3))
    for seed in range(n):
        frames = {str(place): judged(rng, 500, 4, share, 0.5, groups=False) for place, share in enumerate(shares)}
        tables = {model: Predictions(pa.Table.from_pandas(frame)) for model, frame in frames.items()}
        units = steadiness_of_units({model: read_rows(table, SourceOptions()) for model, table in tables.items()})
        *_, p = units.pair_tests(n_draws=399, seed=seed)
        apart += (p <= 0.05).any()
    assert apart / n <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n)


def test_models_are_ranked_by_steadiness_and_constant_answers_last_with_the_reason() -> None:
    """P_C would put the constant answer first, and the one that is steady about a common label before the steadier."""
    rng = np.random.default_rng(2)
    frames = {
        "steady": judged(rng, 150, 4, (0.5, 0.5), 0.9, groups=False),
        "common": judged(rng, 150, 4, (0.8, 0.2), 0.4, groups=False),
        "constant": judged(rng, 150, 4, (1.0, 0.0), 0.0, groups=False),
    }
    for label in frames.values():
        label["label"] = np.repeat(rng.integers(0, 2, 150), 4)
    first, others = frames["steady"], [frames["common"], frames["constant"]]
    for other in others:
        other["label"] = first["label"]
    sources = {model: {"toy": source_of(frame)} for model, frame in frames.items()}
    (comparison,) = compare(sources, OPTIONS)
    ranking = comparison.ranking
    assert [(row.model, row.rank_low, row.rank_high) for row in ranking.standings] == [
        ("steady", 1, 1),
        ("common", 2, 2),
    ]
    assert ranking.n_problems == 150
    scores = {model: next(iter(pc.score(frame).sets.values())) for model, frame in frames.items()}
    of_model = {model: scores[model].wording.above_chance for model in ("steady", "common")}
    assert ranking.steadiness == pytest.approx(of_model)
    assert list(ranking.unranked) == ["constant"]
    assert "every prediction is 0" in ranking.unranked["constant"]


def test_a_set_that_not_every_model_has_is_left_out_by_its_name() -> None:
    two = Opened({name: source(answers_of(0, 0.9), name) for name in ("toy", "alone")})
    one = Opened({"toy": source(answers_of(1, 0.6))})
    compared, left_out = compare_opened([two, one], OPTIONS, names=["a", "b"])
    assert ([part.set for part in compared], left_out) == (["toy"], {"a": ["alone"]})


def test_models_that_are_equally_steady_keep_their_order() -> None:
    frame = judged(np.random.default_rng(2), 60, 4, (0.5, 0.5), 0.6, groups=False)
    frame["label"] = 0
    models = {model: {"toy": source_of(frame)} for model in ("z", "a", "m")}
    for found in (*compare(models, OPTIONS), *rank_models(models, OPTIONS)):
        for ranked in (found.ranking.standings, found.standings):
            assert [(row.model, row.rank_low, row.rank_high) for row in ranked] == [(model, 1, 3) for model in "zam"]


def source_of(frame: pd.DataFrame) -> Source:
    return Source("toy", Predictions(pa.Table.from_pandas(frame)), SourceOptions())


def test_a_p_of_just_the_level_sets_models_apart() -> None:
    """With nine draws the least p is 1 / 10, which 1 - .9 is below by rounding; the intervals exclude 0."""
    frames = {}
    for model, n_steady in (("steady", 30), ("other", 0), ("worse", 0)):
        answers = np.where(np.arange(60)[:, None] < 2 * n_steady, np.arange(60)[:, None] % 2, [[0, 1]]).ravel()
        frames[model] = pd.DataFrame({"bucket_id": np.arange(120) // 2, "role": "paraphrase", "label": 0})
        frames[model]["prediction"] = answers
    models = {model: {"toy": source_of(frame)} for model, frame in frames.items()}
    options = CompareOptions(confidence_level=0.9, n_permutations=9)
    (compared,), (ranked,) = compare(models, options), rank_models(models, options)
    pair = next(pair for pair in compared.pairs if pair.second == "other")
    assert pair.simultaneous_p_value == 0.1
    assert pair.simultaneous_interval[0] > 0.0
    for standing in (compared.standings, ranked.standings, compared.ranking.standings, ranked.ranking.standings):
        assert {row.model: row.rank_high for row in standing}["steady"] == 1


def test_rank_takes_what_compare_takes_and_has_its_ranking() -> None:
    rng = np.random.default_rng(0)
    steady = np.repeat(rng.integers(0, 2, 60), 4)
    answers = {
        "steady": np.where(rng.random(240) < 0.05, 1 - steady, steady),
        "unsteady": rng.integers(0, 2, 240),
        "nearly constant": np.arange(240) // 239,
        "constant": np.zeros(240, dtype=int),
    }
    frames = {m: pd.DataFrame({"bucket_id": np.repeat(np.arange(60), 4), "prediction": a}) for m, a in answers.items()}
    frames = {model: frame.assign(label=np.repeat(np.arange(60) % 2, 4)) for model, frame in frames.items()}
    ranked = pc.rank({model: pc.score(frame) for model, frame in frames.items()})
    pd.testing.assert_frame_equal(ranked, pc.rank(*frames.values(), names=[*frames]))
    [of_set] = pc.compare(frames).sets
    assert dict(zip(ranked["model"][:2], ranked["steadiness"][:2], strict=True)) == of_set.ranking.steadiness
    assert ranked["model"].tolist() == ["steady", "unsteady", "nearly constant", "constant"]
    assert ranked[["rank_low", "rank_high"]].iloc[:2].to_numpy().tolist() == [[1, 1], [2, 2]]
    assert ranked["letters"].tolist() == ["a", "b", "", ""]
    assert dict(zip(ranked["model"][2:], ranked["unranked"][2:], strict=True)) == of_set.ranking.unranked
    refuses("rank: `models` must name two models", pc.rank, frames["steady"])
    refuses("rank: `name`", pc.rank, *frames.values(), name=["a"])


def test_a_constant_answer_takes_no_problems_from_models_that_are_ranked() -> None:
    """It had 25 of 40 problems: the others were ranked on these, or one that lacked more left out for its sake."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"bucket_id": np.repeat(np.arange(40), 3), "label": np.repeat(np.arange(40) % 2, 3)})
    a, b = (frame.assign(prediction=rng.integers(0, 2, 120)) for _ in "ab")
    models = {"a": a, "b": b[b.bucket_id >= 15], "constant": frame[frame.bucket_id < 25].assign(prediction=1)}
    ranked = pc.rank(models)
    assert ranked.model.tolist()[2:] == ["constant"]
    assert ranked.n_problems.tolist() == [25, 25, 25]
    assert ranked.unranked[2].startswith("every prediction is 1")
    pd.testing.assert_frame_equal(ranked[:2], pc.rank({name: models[name] for name in "ab"}))
    assert pc.rank({name: models[name] for name in ("a", "constant")}).rank_low.tolist() == [1, pd.NA]


def test_a_set_that_ranks_nobody_says_why() -> None:
    """The frame was empty, without a word."""
    rng = np.random.default_rng(0)
    one, two = (pd.DataFrame({"bucket_id": range(30), "label": 1, "prediction": rng.integers(0, 2, 30)}) for _ in "ab")
    ranked = pc.rank(one, two, names=["a", "b"])
    assert ranked[["model", "unranked"]].to_numpy().tolist() == [[m, "no problem has two wordings"] for m in "ab"]
    ranked = pc.rank(one, two.assign(prediction=1), names=["a", "b"])  # only the second had a line
    assert ranked.unranked[ranked.model == "a"].tolist() == ["no problem has two wordings"]
    assert ranked.unranked[ranked.model == "b"].str.startswith("every prediction is 1").tolist() == [True]
    ranked = pc.rank(one.assign(bucket_id=0), two.assign(bucket_id=0), names=["a", "b"])  # steadiness is undefined
    assert [*ranked.unranked] == ["there is one problem, which says nothing of others"] * 2
    others = two.assign(bucket_id="x" + two.bucket_id.astype(str))
    ranked = pc.rank(one, others, names=["a", "b"])
    assert ranked.model.tolist() == ["a", "b"]
    assert ranked.unranked[0] == "no other model can be compared with it"
    assert "of one kind" in ranked.unranked[1]
