"""How often the default 95 % interval of every measure holds the truth: python benchmarks/coverage.py

Models are simulated whose true values are known (in closed form, or to four digits from a large draw). Each
replication draws new problems, contexts and answers and asks the public functions for their default interval. A cell
holds where the truth lies in 93 to 98.5 % of the intervals that are shown; where hardly any is, it says so. The designs
are those in which intervals ran short: few or unequal groups, sizes tied to difficulty, the ceiling, shared texts.

With the data folder (``PARACONSIST_TEST_DATA``, else ../shared/data) corrected values are simulated from the shares of
right answers and the confidences that RoBERTa-large has on delta-SNLI and delta-ATOMIC; without it from made ones.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, ndtri

from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.buckets import BucketCounts, count_buckets
from paraconsist.measures.chance import agreement_chance
from paraconsist.measures.checked import CheckedUnits, rate_among_valid, rate_of_units
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency
from paraconsist.measures.paraphrastic import measures_of_counts, paraphrastic_consistency
from paraconsist.measures.prediction_change import prediction_change
from paraconsist.measures.probability_coherence import probability_coherence
from paraconsist.measures.prompt_sensitivity import prompt_sensitivity, variant_indices
from paraconsist.measures.rankings import rankings

LOWEST, HIGHEST = 93.0, 98.5
LEAST_SHOWN = 0.05
Array = np.ndarray
Intervals = Mapping[str, tuple[float, float]]
PC = "paraphrastic_consistency"
OF_BUCKETS = ("accuracy", "bucket_accuracy", PC, f"{PC}_unbiased", "vap_unbiased", "agreement_unbiased")
OF_BUCKETS += ("between_variance_unbiased", "pvap_unbiased", "consistently_right", "consistently_wrong")


@dataclass(frozen=True)
class Design:
    """What is drawn, the truth, and what is asked: `draw` returns the intervals of one replication."""

    name: str
    truth: Mapping[str, float]
    draw: Callable[[np.random.Generator], Intervals]
    ceiling: float = HIGHEST  # above which intervals are too wide


# ------------------------------------------------------------------------------------------ problems and contexts


@lru_cache
def quantiles(shape: tuple[float, float]) -> tuple[Array, Array]:
    """Return normal scores and the quantiles of a beta distribution there."""
    scores = np.linspace(-6.0, 6.0, 6001)
    return scores, stats.beta.ppf(ndtr(scores), *shape)


def alike(rng: np.random.Generator, shape: tuple[float, float], context: Array, likeness: float) -> Array:
    """Return one beta variate per problem, correlated within contexts through normal scores."""
    if likeness == 0.0:
        return rng.beta(*shape, len(context))
    shared = rng.standard_normal(int(context.max()) + 1)[context]
    score = np.sqrt(likeness) * shared + np.sqrt(1.0 - likeness) * rng.standard_normal(len(context))
    return np.interp(score, *quantiles(shape))


@dataclass(frozen=True)
class Problems:
    """Buckets of `k` paraphrases (from, to), the beta distribution of a problem's chance of a right answer, contexts.

    `contexts` are the numbers of problems in each context, or how many contexts problems fall into by chance; `tied`
    gives hard problems more paraphrases, `odd` is the share of problems that are not always right.
    """

    n: int = 0
    k: tuple[int, int] = (5, 5)
    skill: tuple[float, float] = (2.0, 1.0)
    contexts: tuple[int, ...] | int | None = None
    tied: bool = False
    odd: float | None = None
    sizes: tuple[int, ...] | None = None

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array, Array | None]:
        """Return the size of each bucket, its right answers, and its context."""
        if isinstance(self.contexts, tuple):
            context = np.repeat(np.arange(len(self.contexts)), self.contexts)
        elif self.contexts is not None:
            context = rng.integers(0, self.contexts, self.n)
        else:
            context = np.arange(self.n)
        theta = alike(rng, self.skill, context, 0.0 if self.contexts is None else 0.5)
        size = rng.integers(self.k[0], self.k[1] + 1, len(theta)) if self.sizes is None else np.array(self.sizes)
        if self.tied:
            size = np.clip(1 + np.round(8 * (1 - theta) + rng.standard_normal(len(theta))), 1, 9).astype(int)
        theta = theta if self.odd is None else np.where(rng.random(len(theta)) < self.odd, theta, 1.0)
        return size, rng.binomial(size, theta), None if self.contexts is None else context

    def truth(self) -> dict[str, float]:
        """Return the measures of 400,000 buckets."""
        rng, sizes, right, n = np.random.default_rng(1), [], [], 0
        while n < 400_000:
            size, correct, _ = self.draw(rng)
            sizes.append(size)
            right.append(correct)
            n += len(size)
        values = measures_of_counts(BucketCounts.from_counts(np.concatenate(sizes), np.concatenate(right)))
        between, share = values["between_variance_unbiased"], values["pvap_unbiased"]  # not beyond the ends by chance
        return values | {"between_variance_unbiased": max(between, 0.0), "pvap_unbiased": min(share, 1.0)}


UNEQUAL = (1, 1, 1, 2, 2, 3, 4, 5, 7, 9, 12, 16)
PROBLEMS = {
    "250 x 8": Problems(250, (8, 8)),
    "250 x 8, steady": Problems(250, (8, 8), (0.6, 0.15)),
    "30 x 5": Problems(30),
    "30 x 5, steady": Problems(30, skill=(0.6, 0.3)),
    "10 x 5": Problems(10),
    "10 x 5, steady": Problems(10, skill=(0.6, 0.3)),
    "60 contexts": Problems(250, (1, 9), contexts=60),
    "12 unequal contexts": Problems(contexts=UNEQUAL),
    "one dominant context": Problems(contexts=(30, *[1] * 30)),
    "Zipf's contexts": Problems(contexts=tuple(max(1, 60 // rank) for rank in range(1, 41))),
    "size tied to difficulty": Problems(250, (1, 9), tied=True),
    "accuracy .97, 60 x 5": Problems(60, skill=(9.7, 0.3)),
    "1 % odd, 250 x 8": Problems(250, (8, 8), (2.0, 2.0), odd=0.01),
    "two coins, 500 x 2": Problems(500, (2, 2), (1e6, 1e6)),
    "4 x 5, a stratum": Problems(4),
    "2 % unsteady, 300 x 5": Problems(300, skill=(1.0, 1.0), odd=0.02),
    "5 % unsteady, 100 x 5": Problems(100, skill=(1.0, 1.0), odd=0.05),
    "5 % coins, 100 x 5": Problems(100, skill=(1e6, 1e6), odd=0.05),
    "15 x 3": Problems(15, (3, 3)),
    "25 x 4": Problems(25, (4, 4)),
    "20 contexts": Problems(100, contexts=20),
    "30 contexts of 1 to 40": Problems(contexts=tuple(range(1, 41, 4)) * 3),
    "one of 100, 39 of 2": Problems(40, sizes=(100, *[2] * 39)),
    "5 of 40, 35 of 2": Problems(40, sizes=(*[40] * 5, *[2] * 35)),
}


def bucket_designs() -> Iterator[Design]:
    """Yield paraphrastic consistency in every design of problems."""
    for name, problems in PROBLEMS.items():

        def draw(rng: np.random.Generator, problems: Problems = problems) -> Intervals:
            size, correct, context = problems.draw(rng)
            bucket = np.repeat(np.arange(len(size)), size)
            right = (np.arange(len(bucket)) - np.repeat(np.cumsum(size) - size, size)) < correct[bucket]
            groups = None if context is None else context[bucket]
            result = paraphrastic_consistency(right.astype(int), np.ones(len(bucket), int), bucket, groups=groups)
            return {key: result.confidence_interval[key] for key in OF_BUCKETS}

        truth = {key: value for key, value in problems.truth().items() if key in OF_BUCKETS}
        most = 98.5 if problems.sizes is None else 100.0  # where few problems have most rows, intervals may be wide
        yield Design(name, truth, draw, ceiling=most)


# ------------------------------------------------------------------------------- corrected for stratified sampling


@dataclass(frozen=True)
class Sampled:
    """A model's shares of right answers and bucket sizes by decile, and its test set's confidences."""

    theta: list[Array]
    size: list[Array]
    test: Array


def sampled(name: str) -> Sampled:
    """Return RoBERTa-large on a set, or a made model where there is no data folder."""
    folder = Path(os.environ.get("PARACONSIST_TEST_DATA", "../shared/data")) / "paranlu" / "predictions"
    if not folder.is_dir():
        rng = np.random.default_rng(3)
        middle = (np.arange(10) + 0.5) / 10
        theta = [np.round(rng.beta(8 * p, 8 * (1 - p), 25) * 8) / 8 for p in middle]
        return Sampled(theta, [np.full(25, 8)] * 10, rng.beta(0.9, 0.25, 2_000))
    from pyarrow import parquet

    rows, test = ({}, {})
    for columns, kind, names in ((rows, "human", ("bucket_id", "is_original")), (test, "test", ())):
        table = parquet.read_table(folder / f"{name}__roberta-large__{kind}.parquet")
        for column in ("gold", "pred", "conf_gold", *names):
            columns[column] = np.asarray(table[column].to_pylist())
    original = rows["is_original"]
    ids, bucket = np.unique(rows["bucket_id"], return_inverse=True)
    of_original = np.zeros(len(ids))
    of_original[bucket[original]] = rows["conf_gold"][original]
    kept = ~original
    size = np.bincount(bucket[kept])
    theta = np.bincount(bucket[kept], weights=(rows["pred"] == rows["gold"])[kept]) / size
    decile = np.minimum((10 * of_original).astype(int), 9)
    return Sampled([theta[decile == d] for d in range(10)], [size[decile == d] for d in range(10)], test["conf_gold"])


def corrected_designs() -> Iterator[Design]:
    """Yield corrected values with few buckets a decile, and buckets drawn without regard to deciles."""
    for name in ("snli", "atomic"):
        model = sampled(name)
        weights = np.bincount(np.minimum((10 * model.test).astype(int), 9), minlength=10) / len(model.test)
        even = np.repeat(np.arange(10), [len(one) for one in model.theta])
        heavy = np.where(np.arange(10) == weights.argmax(), 6, 25)
        numbers: dict[str, Callable[[np.random.Generator], Array]] = {
            "25 a decile": lambda rng: np.full(10, 25),
            "5 a decile": lambda rng: np.full(10, 5),
            "6 in the heaviest": lambda rng, heavy=heavy: heavy,
            "60 at random": lambda rng, even=even: np.bincount(rng.choice(even, 60), minlength=10),
        }
        square = [np.mean(theta * (1 - theta)) for theta in model.theta]
        truth = {
            "corrected_accuracy": float(weights @ [theta.mean() for theta in model.theta]),
            f"corrected_{PC}_unbiased": float(1 - 2 * (weights @ square)),
        }
        for what, number in numbers.items():

            def draw(
                rng: np.random.Generator, model: Sampled = model, number: Any = number, keys: Any = tuple(truth)
            ) -> Intervals:
                decile = np.repeat(np.arange(10), number(rng))
                at = [rng.integers(0, len(model.theta[d])) for d in decile]
                size = np.maximum([model.size[d][i] for d, i in zip(decile, at, strict=True)], 2)
                theta = np.array([model.theta[d][i] for d, i in zip(decile, at, strict=True)])
                bucket = np.repeat(np.arange(len(size)), size)
                right = (rng.random(len(bucket)) < theta[bucket]).astype(int)
                result = paraphrastic_consistency(
                    right,
                    np.ones(len(bucket), int),
                    bucket,
                    original_confidences=dict(enumerate((decile + 0.5) / 10)),
                    test_confidences=model.test,
                    renormalize=True,
                )
                return {key: result.confidence_interval[key] for key in keys}

            yield Design(f"{name}, {what}", truth, draw)


# ------------------------------------------------------------------------------------------------ shares of rows


@dataclass(frozen=True)
class Pairs:
    """Rows in contexts; the beta distribution of a context's chance that a row breaks the rule."""

    sizes: tuple[int, ...]
    flip: tuple[float, float] = (0.5, 2.0)
    grouped: bool = True
    truth: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", self.flip[0] / sum(self.flip))

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array, Array | None]:
        """Return which rows break the rule, the answer each should have, and each row's context."""
        context = np.repeat(np.arange(len(self.sizes)), self.sizes)
        chance = rng.beta(*self.flip, len(self.sizes))[context]
        broken = rng.random(len(context)) < chance
        return broken, rng.integers(0, 2, len(context)), context if self.grouped else None


PAIRS = {
    "200 independent pairs": Pairs((1,) * 200, grouped=False),
    "50 originals x 8": Pairs((8,) * 50),
    "100 groups of 10, 2 % broken": Pairs((10,) * 100, (0.0467, 2.287)),
    "12 groups of 1 to 80": Pairs((1, 2, 3, 4, 6, 9, 13, 19, 28, 40, 60, 80)),
    "12 groups of 1 to 16": Pairs(UNEQUAL),
    "one dominant group": Pairs((60, *[2] * 40)),
    "20 groups of 2": Pairs((2,) * 20),
    "6 groups of 5": Pairs((5,) * 6),
    "300 pairs, 1 % broken": Pairs((1,) * 300, (0.01, 0.99), grouped=False),
    "300 pairs, 3 % broken": Pairs((1,) * 300, (0.03, 0.97), grouped=False),
    "100 originals x 3, 2 % broken": Pairs((3,) * 100, (0.04, 1.96)),
    "100 originals x 3, 3 % broken": Pairs((3,) * 100, (0.06, 1.94)),
    "30 contexts of 1 to 40": Pairs(tuple(range(1, 41, 4)) * 3),
    "30 contexts of 1 to 40, 3 % broken": Pairs(tuple(range(1, 41, 4)) * 3, (0.3, 9.7)),
}


def pair_designs() -> Iterator[Design]:
    """Yield the measures that are shares of rows."""
    keys = ("semantic", "negational", "transitive", "change")
    for name, pairs in PAIRS.items():

        def draw(rng: np.random.Generator, pairs: Pairs = pairs) -> Intervals:
            broken, gold, groups = pairs.draw(rng)
            answer = np.where(broken, 1 - gold, gold)
            settled = rng.random(len(gold)) < 0.8
            before = np.where(settled, gold, 1 - gold)
            results = (
                semantic_inconsistency(gold, answer, groups=groups),
                negational_inconsistency(gold, 1 - answer, groups=groups),
                transitive_inconsistency(answer, gold, before, gold, gold, gold, groups=groups),
                prediction_change(answer, gold, gold, groups=groups),
            )
            return {key: next(iter(r.confidence_interval.values())) for key, r in zip(keys, results, strict=True)}

        yield Design(name, dict.fromkeys(keys, pairs.truth), draw)
    yield from _additive()
    yield from _fooling()


def _additive() -> Iterator[Design]:
    """Yield texts joined two and two: rows share texts on either side."""
    for n_texts, n_rows in ((40, 400), (100, 400), (100, 4_000), (30, 60)):

        def draw(rng: np.random.Generator, n_texts: int = n_texts, n_rows: int = n_rows) -> Intervals:
            score = rng.standard_normal(n_texts)
            first, second = rng.integers(0, n_texts, n_rows), rng.integers(0, n_texts, n_rows)
            own = rng.standard_normal(n_rows)
            both = np.sqrt(0.3) * (score[first] + score[second]) + np.sqrt(0.4) * own
            both = np.where(first == second, own, both)
            gold = np.zeros(n_rows, int)
            result = additive_inconsistency((both > 0.8416).astype(int), gold, gold, gold, groups=[first, second])
            return {"additive": result.confidence_interval["inconsistency"]}

        yield Design(f"{n_texts} texts in {n_rows:,} pairs", {"additive": 0.2}, draw)


def _fooling() -> Iterator[Design]:
    """Yield originals of five variants, alone and in contexts."""
    for name, contexts in (("200 originals", None), ("200 originals in 60 contexts", 60)):
        problems = Problems(200, skill=(6.0, 0.5), contexts=contexts)
        spared = np.prod([(6.0 + i) / (6.5 + i) for i in range(5)])

        def draw(rng: np.random.Generator, problems: Problems = problems) -> Intervals:
            size, correct, context = problems.draw(rng)
            bucket = np.repeat(np.arange(len(size)), size)
            kept = (np.arange(len(bucket)) - np.repeat(np.cumsum(size) - size, size)) < correct[bucket]
            zero = np.zeros(len(bucket), int)
            groups = None if context is None else context[bucket]
            result = fooling_rate(2 * ~kept, zero, zero, bucket, opposites={0: 2, 2: 0}, groups=groups)
            return {key: result.confidence_interval[key] for key in ("relaxed", "strict")}

        yield Design(name, dict.fromkeys(("relaxed", "strict"), 1 - float(spared)), draw)


# ------------------------------------------------------------------------------------------------------- coherence


def coherence_designs() -> Iterator[Design]:
    """Yield a statement and its negation about two of several questions: buckets share questions on either side."""

    def draw_rows(rng: np.random.Generator, n_questions: int, n: int) -> tuple[Array, Array]:
        members = np.stack([rng.permutation(n_questions)[:2] for _ in range(n)])
        bias = 0.3 * rng.standard_normal(n_questions)
        truth = rng.normal(0.0, 1.5, n)
        noise = 0.3 * rng.standard_normal((2, n))
        both = expit(truth + bias[members[:, 0]] + noise[0]), expit(-truth + bias[members[:, 1]] + noise[1])
        return np.clip(np.stack(both, axis=1), 0.001, 0.999).ravel(), members.ravel()

    keys = ("arbitrage_violation", "arbitrage_rate")
    truth: dict[str, float] = {}
    rng = np.random.default_rng(4)
    parts = [draw_rows(rng, 20_000, 10_000)[0] for _ in range(5)]
    result = probability_coherence(np.concatenate(parts), ["P", "not_P"] * 50_000, np.repeat(np.arange(50_000), 2))
    truth = {key: getattr(result, key) for key in keys}
    for n_questions, n in ((40, 200), (30, 60), (100, 400)):

        def draw(rng: np.random.Generator, n_questions: int = n_questions, n: int = n) -> Intervals:
            p, members = draw_rows(rng, n_questions, n)
            result = probability_coherence(p, ["P", "not_P"] * n, np.repeat(np.arange(n), 2), groups=members)
            return {key: result.confidence_interval[key] for key in keys}

        yield Design(f"{n} pairs of {n_questions} questions", truth, draw)


# -------------------------------------------------------------------------------------------- shift and differences


def shift_designs() -> Iterator[Design]:
    """Yield the Jensen-Shannon distance where the answer changes, of few and of many pairs."""

    def probabilities(rng: np.random.Generator, n: int, changed: bool) -> tuple[Array, Array]:
        confidence = rng.beta(4.0, 1.2, n) / 2 + 0.5
        other = rng.beta(3.0, 1.5, n) / 2 + 0.5
        before = np.stack([confidence, 1 - confidence], axis=1)
        return before, np.stack([1 - other, other] if changed else [other, 1 - other], axis=1)

    key, big = "jensen_shannon_distance", np.random.default_rng(2)
    truth = getattr(distribution_shift(*probabilities(big, 400_000, True)), key)["changed"]
    for n in (4, 8, 13, 30, 200):

        def draw(rng: np.random.Generator, n: int = n) -> Intervals:
            parts = [probabilities(rng, size, changed) for size, changed in ((n, True), (300, False))]
            result = distribution_shift(*(np.concatenate(side) for side in zip(*parts, strict=True)))
            return {"shift": result.confidence_interval[key]["changed"]}

        yield Design(f"{n} changed pairs", {"shift": truth}, draw)


def difference_designs() -> Iterator[Design]:
    """Yield differences of two models that are alike on the same problems."""
    keys = (f"{PC}_unbiased", "accuracy", "inconsistency")
    for name in ("250 x 8", "30 x 5", "10 x 5", "60 contexts", "12 unequal contexts", "accuracy .97, 60 x 5"):
        problems = PROBLEMS[name]

        def draw(rng: np.random.Generator, problems: Problems = problems) -> Intervals:
            size, correct, context = problems.draw(rng)
            bucket = np.repeat(np.arange(len(size)), size)
            groups = None if context is None else context[bucket]
            one, two = ((rng.random(len(bucket)) < (correct / size)[bucket]).astype(int) for _ in range(2))
            ones = np.ones(len(bucket), int)
            options: dict[str, Any] = {"groups": groups, "seed": int(rng.integers(2**31)), "n_permutations": 1_999}
            consistency = consistency_difference(one, two, ones, bucket, **options).confidence_interval
            shared = bucket if context is None else groups
            tau = inconsistency_difference(one == 0, two == 0, **{**options, "groups": shared}).confidence_interval
            return {**{key: consistency[key] for key in keys[:2]}, "inconsistency": tau["difference"]}

        yield Design(name, dict.fromkeys(keys, 0.0), draw)


@dataclass(frozen=True)
class Wordings:
    """Problems of which every one is asked in the same wordings; logits of right answers add up.

    `skill` is the mean and the standard deviation of the problems' logits, `effect` the standard deviation of the
    wordings', which are fixed, `own` that of what a wording adds to a problem (a context, where there are some).
    """

    n: int
    n_variants: int
    effect: float = 0.0
    skill: tuple[float, float] = (0.5, 1.5)
    own: float = 0.0
    per_context: int = 1

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return each problem's right answers by wording, and its context."""
        context = np.arange(self.n) // self.per_context
        effects = self.effect * np.random.default_rng(5).standard_normal(self.n_variants)
        logits = rng.normal(*self.skill, context[-1] + 1)[context][:, np.newaxis] + effects
        logits = logits + self.own * rng.standard_normal((context[-1] + 1, self.n_variants))[context]
        return rng.random(logits.shape) < expit(logits), context

    def truth(self) -> dict[str, float]:
        """Return the indices of the true accuracies of the wordings, by the midpoint rule."""
        score = ndtri((np.arange(200_000) + 0.5) / 200_000)
        effects = self.effect * np.random.default_rng(5).standard_normal(self.n_variants)
        deviation = float(np.hypot(self.skill[1], self.own))
        return variant_indices([float(expit(self.skill[0] + e + deviation * score).mean()) for e in effects.tolist()])


WORDINGS = {
    "60 x 20, equal": Wordings(60, 20),
    "60 x 20, spread": Wordings(60, 20, effect=0.4),
    "200 x 6, equal": Wordings(200, 6, own=1.0),
    "200 x 6, one spread": Wordings(200, 6, effect=1.0),
    "30 x 3, equal": Wordings(30, 3),
    "100 x 2, spread": Wordings(100, 2, effect=0.5),
    "150 x 8, ceiling": Wordings(150, 8, skill=(5.0, 2.0), effect=0.3),
    "50 contexts of 4 x 5": Wordings(200, 5, effect=0.3, own=1.0, per_context=4),
}


def variant_designs() -> Iterator[Design]:
    """Yield the indices of the best and the worst of several wordings, and the p of their spread."""
    for name, wordings in WORDINGS.items():
        truth = wordings.truth()
        truth = {key: truth[key] for key in truth if key not in ("mean_accuracy", "combined_performance_score")}

        def draw(rng: np.random.Generator, wordings: Wordings = wordings, keys: Any = tuple(truth)) -> Intervals:
            right, context = wordings.draw(rng)
            buckets, variants = np.indices(right.shape).reshape(2, -1)
            groups = None if wordings.per_context == 1 else context[buckets]
            options: dict[str, Any] = {"variants": variants, "groups": groups, "n_resamples": 999}
            result = prompt_sensitivity(right.ravel().astype(int), np.ones(right.size, int), buckets, **options)
            p = {"equal wordings": (0.0, 1.0) if result.spread_p_value > 0.05 else (1.0, 1.0)}
            return {key: result.confidence_interval[key] for key in keys} | p

        yield Design(name, truth | ({"equal wordings": 0.5} if wordings.effect == 0.0 else {}), draw, ceiling=100.0)


# ------------------------------------------------------------------------------------- few judged problems, rankings


def same_answers(rng: np.random.Generator, n: int, k: int, steady: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Return which pairs of k answers to each of n problems are the same, and the places of the pairs' answers."""
    first, second = np.triu_indices(k, 1)
    usual = rng.random((n, k)) < rng.beta(*steady, n)[:, np.newaxis]
    answers = np.where(usual, 0, rng.integers(1, 4, (n, k)))
    return answers[:, first] == answers[:, second], first, second


def checked_designs() -> Iterator[Design]:
    """Yield a comparer's errors from sheets of few problems, where it errs by problem: concentration, s, f."""
    keys = ("corrected", "sensitivity", "false_match_rate")
    for n, n_judged, (own, s, f) in (
        (40, 40, (1.0, 0.9, 0.05)),
        (60, 60, (0.3, 0.9, 0.05)),
        (300, 40, (0.5, 0.8, 0.2)),
    ):

        def judged(
            rng: np.random.Generator, n: int, own: float = own, s: float = s, f: float = f
        ) -> tuple[Array, Array]:
            same, *_ = same_answers(rng, n, 4, (1.4, 0.6))
            yes, no = (rng.beta(own * p, own * (1 - p), n)[:, np.newaxis] for p in (s, f))
            return same, rng.random(same.shape) < np.where(same, yes, no)

        def draw(rng: np.random.Generator, n: int = n, n_judged: int = n_judged, judged: Any = judged) -> Intervals:
            same, said = judged(rng, n)
            labels = np.where(np.arange(n)[:, np.newaxis] < n_judged, same, np.nan)
            units = CheckedUnits.of(said.ravel(), labels.ravel(), groups=np.repeat(np.arange(n), 6))
            return {key: rate_of_units(units).confidence_interval[key] for key in keys}

        same, said = judged(np.random.default_rng(6), 400_000)
        truth = {"corrected": same.mean(), "sensitivity": said[same].mean(), "false_match_rate": said[~same].mean()}
        # rates near 0 of few problems have intervals as wide as those of few rows
        yield Design(f"{n_judged} of {n}, errors by problem {own}", truth, draw, ceiling=99.8)


def valid_designs() -> Iterator[Design]:
    """Yield rates among valid pairs of few judged problems: how invalid wordings cluster, how rarely they hit."""
    for n, n_judged, bad, missed in (
        (200, 20, (0.3, 0.7), 1.0),
        (100, 25, (0.25, 0.75), 0.8),
        (25, 25, (0.3, 1.7), 0.5),
    ):

        def draw_pairs(rng: np.random.Generator, n: int, bad: Any = bad, missed: float = missed) -> tuple[Array, Array]:
            same, first, second = same_answers(rng, n, 4, (8.0, 1.0))
            invalid = rng.random((n, 4)) < rng.beta(*bad, n)[:, np.newaxis]
            either = invalid[:, first] | invalid[:, second]
            return same & ~(either & (rng.random(same.shape) < missed)), either

        def draw(rng: np.random.Generator, n: int = n, n_judged: int = n_judged, pairs: Any = draw_pairs) -> Intervals:
            hits, either = pairs(rng, n)
            marks = np.where(np.arange(n)[:, np.newaxis] < n_judged, either, np.nan)
            groups = np.repeat(np.arange(n), 6)
            found = rate_among_valid(hits.ravel(), marks.ravel(), np.ones(hits.size), groups)
            return {"among_valid": (found.confidence_interval[0], found.confidence_interval[1])}

        hits, either = draw_pairs(np.random.default_rng(7), 400_000)
        truth = {"among_valid": hits[~either].mean()}
        yield Design(f"{n_judged} of {n}, beta{bad}", truth, draw, ceiling=99.5)


def chance_designs() -> Iterator[Design]:
    """Yield consistency above chance of two wordings and nearly constant answers: buckets, share, correlation."""
    for n, share, likeness in ((60, 0.9, 0.2), (60, 0.9, 0.4), (120, 0.95, 0.2), (250, 0.97, 0.2), (60, 0.5, 0.4)):
        size = 1.0 / likeness - 1.0

        def draw(rng: np.random.Generator, n: int = n, shape: Any = (size * share, size * (1.0 - share))) -> Intervals:
            answers, of = rng.random((n, 2)) < rng.beta(*shape, n)[:, np.newaxis], np.repeat(np.arange(n), 2)
            counts, pool, _ = count_buckets(of, n, answers.ravel().astype(int), np.zeros(n, int), 2)
            return {"above_chance": agreement_chance(counts, pool).interval()[0]}

        yield Design(f"{n} x 2, {share:.0%} alike, {likeness}", {"above_chance": likeness}, draw, ceiling=99.0)


def ranking_designs() -> Iterator[Design]:
    """Yield tau of systems whose means are apart by so many standard deviations between wordings; two may be equal."""
    for n, means in (
        (10, (0.0, 1.0, 2.0)),
        (10, (0.0, 1.2, 2.5, 3.8, 5.0)),
        (10, (0.0, 0.0, 4.0)),
    ):

        def draw(rng: np.random.Generator, n: int = n, means: Any = means) -> Intervals:
            scores = means + rng.standard_normal((n, len(means)))
            wordings, systems = np.indices(scores.shape).reshape(2, -1)
            return {"tau": rankings(scores.ravel(), systems, wordings).confidence_interval["tau"]}

        pairs = [float(2.0 * ndtr((b - a) / 2**0.5) - 1.0) for i, a in enumerate(means) for b in means[i + 1 :]]
        yield Design(f"{n} wordings, {means}", {"tau": np.mean(np.square(pairs))}, draw, ceiling=100.0)


FAMILIES: Mapping[str, Callable[[], Iterator[Design]]] = {
    "buckets": bucket_designs,
    "corrected": corrected_designs,
    "pairs": pair_designs,
    "coherence": coherence_designs,
    "shift": shift_designs,
    "differences": difference_designs,
    "variants": variant_designs,
    "checked": checked_designs,
    "valid": valid_designs,
    "chance": chance_designs,
    "rankings": ranking_designs,
}


@dataclass(frozen=True)
class Cell:
    """The share of replications that showed an interval; of those, how many lay below and above the truth."""

    shown: float
    below: float
    above: float
    width: float
    n: int
    ceiling: float = HIGHEST

    @property
    def covered(self) -> float:
        """In per cent of the intervals shown."""
        return 100.0 * (1.0 - self.below - self.above)

    @property
    def holds(self) -> bool:
        """Whether the intervals shown hold, up to the Monte Carlo error; true where there are none to speak of."""
        low, high = (np.sqrt(end * (100.0 - end) / self.n) for end in (LOWEST, self.ceiling))
        return self.shown < LEAST_SHOWN or LOWEST - low <= self.covered <= self.ceiling + high


def cells(design: Design, replications: int, seed: int) -> dict[str, Cell]:
    """Return every measure of a design."""
    rng = np.random.default_rng([seed, *design.name.encode()])
    ends = [design.draw(rng) for _ in range(replications)]
    measured = {}
    for key, truth in design.truth.items():
        low, high = np.array([one[key] for one in ends], dtype=float).T
        shown = ~np.isnan(low)
        low, high = low[shown], high[shown]
        n = max(len(low), 1)
        measured[key] = Cell(
            float(shown.mean()),
            np.count_nonzero(high < truth - 1e-9) / n,
            np.count_nonzero(low > truth + 1e-9) / n,
            float((high - low).mean()) / 2 if len(low) else float("nan"),
            n,
            design.ceiling,
        )
    return measured


def summary(results: Iterable[tuple[str, str, Cell]]) -> list[str]:
    """Return a Markdown table, a row a measure, of (family, measure, cell): how often its intervals held."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for family, key, cell in results:
        grouped.setdefault((family, key), []).append(cell)
    lines = ["| family | measure | designs | held, least to most | with no interval |", "|---|---|---|---|---|"]
    for (family, key), every in grouped.items():
        covered = [cell.covered for cell in every if cell.shown >= LEAST_SHOWN]
        held = f"{min(covered):.1f} to {max(covered):.1f} %" if covered else ""
        lines.append(f"| {family} | {key} | {len(every)} | {held} | {len(every) - len(covered) or ''} |")
    return lines


def main() -> None:
    """Print every design, and exit with 1 if a cell does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2_000)
    parser.add_argument("--family", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--design", help="only designs with this in their name")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", type=Path, help="also write a table of the measures to this file")
    options = parser.parse_args()
    print(f"{options.replications:,} replications; error at 95 %: {21.8 / options.replications**0.5:.2f} points")
    heads = ("truth", "shown", "covered", "below", "above", "half")
    print(f"{'design':<28} {'measure':<44}" + "".join(f"{head:>8}" for head in heads))
    failed, results = 0, []
    for family in options.family:
        for design in FAMILIES[family]():
            if options.design and options.design not in design.name:
                continue
            for key, cell in cells(design, options.replications, options.seed).items():
                line = f"{design.name:<28} {key:<44}{design.truth[key]:8.4f}{100 * cell.shown:7.0f}%"
                if cell.shown < LEAST_SHOWN:
                    line += "  no interval"
                else:
                    line += f"{cell.covered:7.1f}%{100 * cell.below:7.1f}%{100 * cell.above:7.1f}%{cell.width:8.3f}"
                failed += not cell.holds
                results.append((family, key, cell))
                print(line + ("" if cell.holds else "  DOES NOT HOLD"), flush=True)
    if options.markdown:
        options.markdown.write_text("\n".join([*summary(results), ""]), encoding="utf-8")
    sys.exit(f"{failed} cells do not hold" if failed else 0)


if __name__ == "__main__":
    main()
