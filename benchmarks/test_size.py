"""How often tests of a difference reject where there is none: python benchmarks/test_size.py [--replications 2000]

Every test of a difference that the package offers, in five designs in which the two models are equal:

    exchangeable   60 problems of 2 to 6 paraphrases, both models with the same chances of a right answer
    unlike         the same accuracy and P_C from chances that are spread evenly, and from two values only
    clusters       30 contexts of four problems that share their chances
    unequal        12 contexts of 1 to 16 such problems
    ceiling        60 problems at accuracy .97

A level of .05 is kept where 3 to 6 % are rejected, or fewer with a reason, which is printed: an exact test of few
problems that differ cannot reach .05. For families of six pairs it is the share with any false claim. Equivalence and
non-inferiority are tested where the true difference is the margin. The last column is the share of data sets in which p
and interval contradict each other.

The Monte Carlo error of a share of .05 is .005 with 2,000 replications (a quarter of an hour of processor time).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from paraconsist.measures.consistency_difference import consistency_difference, share_difference, unit_values
from paraconsist.measures.inconsistency_difference import inconsistency_difference
from paraconsist.measures.paired_tests import exact_p_value, mcnemar_p_value
from paraconsist.measures.standings import joint_test

Floats = np.ndarray
ALPHA = 0.05
UNEQUAL = (1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 16)


@dataclass(frozen=True)
class Design:
    """Buckets in contexts: `per_context` problems each, `sizes` the least and greatest number of paraphrases.

    `accuracy` is both models' expected one.
    """

    chances: Callable[[np.random.Generator, int, int], Floats]
    per_context: tuple[int, ...]
    sizes: tuple[int, int]
    accuracy: float = 2.0 / 3.0


def alike(rng: np.random.Generator, n: int, n_models: int) -> Floats:
    """All models have a context's chance in common."""
    return np.tile(rng.beta(2.0, 1.0, n), (n_models, 1))


def unlike(rng: np.random.Generator, n: int, n_models: int) -> Floats:
    """Beta chances and two-point ones by turns, of one mean and one variance, each model's own."""
    mean, spread = 2.0 / 3.0, np.sqrt(1.0 / 18.0)  # of the beta distribution above
    spread_evenly = rng.beta(2.0, 1.0, (n_models, n))
    two_points = mean + spread * rng.choice([-1.0, 1.0], (n_models, n))
    return np.where(np.arange(n_models)[:, np.newaxis] % 2, two_points, spread_evenly)


def high(rng: np.random.Generator, n: int, n_models: int) -> Floats:
    return rng.beta(0.97 * 3.0, 0.03 * 3.0, (n_models, n))


DESIGNS = {
    "exchangeable": Design(alike, (1,) * 60, (2, 6)),
    "unlike": Design(unlike, (1,) * 60, (2, 6)),
    "clusters": Design(unlike, (4,) * 30, (4, 4)),
    "unequal": Design(unlike, UNEQUAL, (4, 4)),
    "ceiling": Design(high, (1,) * 60, (5, 5), 0.97),
}

#: Where fewer than 3 % are rejected, and why: part of "test, design" -> reason, the first that fits.
CONSERVATIVE = {
    "equivalence": "both one-sided tests have to reject",
    "Holm": "holds for any dependence, and pairs of four models depend",
    "mid-p": "discrete: few rows differ",
    "McNemar": "exact and discrete",
    "IE test": "discrete: few rows differ",
    "shares": "the larger p of an exact and a score test",
    "ceiling": "few problems differ, and the test is exact or the more careful of two",
}


def draw(rng: np.random.Generator, design: Design, n_models: int = 2) -> dict[str, Any]:
    """Return models' right (1) and wrong (0) answers, shape (n_models, n_rows), with the rows' buckets and contexts."""
    context = np.repeat(np.arange(len(design.per_context)), design.per_context)
    size = rng.integers(design.sizes[0], design.sizes[1] + 1, len(context))
    bucket = np.repeat(np.arange(len(context)), size)
    theta = design.chances(rng, len(design.per_context), n_models)[:, context[bucket]]
    answers = (rng.random(theta.shape) < theta).astype(int)
    groups = None if len(context) == len(design.per_context) else context[bucket]
    return {"answers": answers, "buckets": bucket, "groups": groups, "accuracy": design.accuracy}


def _consistency(drawn: dict[str, Any], **options: Any) -> Any:
    one, two = drawn["answers"]
    columns = {"references": np.ones_like(one), "buckets": drawn["buckets"], "groups": drawn["groups"]}
    return consistency_difference(one, two, **columns, **options)


def by_flips(drawn: dict[str, Any], n_draws: int) -> Iterator[tuple[str, float, bool]]:
    """Yield (test, p, whether p and interval contradict each other) of consistency differences and their margins."""
    result = _consistency(drawn, n_permutations=n_draws, n_resamples=n_draws)
    for name, key in (
        ("P_C", "paraphrastic_consistency_unbiased"),
        ("P_C, plug-in", "paraphrastic_consistency"),
        ("accuracy", "accuracy"),
        ("PVAP", "pvap_unbiased"),
    ):
        yield f"sign flips: {name}", result.p_values[key], _contradicts(result, key, result.p_values[key])
    rng = np.random.default_rng(int(drawn["answers"].sum()))
    given = np.where(drawn["answers"] == 1, 0, rng.integers(1, 4, drawn["answers"].shape))  # three wrong answers
    codes, sizes = np.unique(drawn["buckets"], return_inverse=True, return_counts=True)[1:]
    counts = [np.stack([np.bincount(codes, column == a, len(sizes)) for a in range(4)]) for column in given]
    one, two = (1.0 - ((each**2).sum(axis=0) - sizes) / (sizes * (sizes - 1)) for each in counts)
    groups = None if drawn["groups"] is None else drawn["groups"][np.unique(codes, return_index=True)[1]]
    settings = {"n_examples": len(codes), "n_permutations": n_draws, "n_resamples": n_draws}
    result = share_difference("wording_change", one, two, groups, **settings)
    yield "sign flips: wording change", result.p_value, _contradicts(result, "difference", result.p_value)


def by_t(drawn: dict[str, Any], n_draws: int) -> Iterator[tuple[str, float, bool]]:
    result = _consistency(drawn, interval_method="closed_form")
    for name, key in (("P_C", "paraphrastic_consistency_unbiased"), ("accuracy", "accuracy")):
        yield f"t: {name}", result.p_values[key], _contradicts(result, key, result.p_values[key])


def of_shares(drawn: dict[str, Any], n_draws: int) -> Iterator[tuple[str, float, bool]]:
    """Rows that break a rule, in groups (buckets, or contexts); one row of each bucket alone."""
    wrong = drawn["answers"] == 0
    groups = drawn["buckets"] if drawn["groups"] is None else drawn["groups"]
    result = inconsistency_difference(*wrong, groups=groups, n_permutations=n_draws)
    yield "shares, in groups", result.p_value, _contradicts(result, "difference", result.p_value)
    if drawn["groups"] is None:
        first = np.unique(drawn["buckets"], return_index=True)[1]
        result = inconsistency_difference(*wrong[:, first], n_permutations=n_draws)
        yield "shares, rows", result.p_value, _contradicts(result, "difference", result.p_value)
        counts = [np.count_nonzero(wrong[i, first] & ~wrong[1 - i, first]) for i in (0, 1)]
        yield "McNemar", float(mcnemar_p_value(*counts)), False
        yield "McNemar, mid-p", float(mcnemar_p_value(*counts, mid_p=True)), False
        yield "IE test", float(exact_p_value(len(first), *counts)), False


def of_margins(drawn: dict[str, Any], n_draws: int) -> Iterator[tuple[str, float, bool]]:
    """The first model loses a tenth of its right answers: at a margin of just that, no rejection is right."""
    one, two = drawn["answers"]
    one = one & (np.random.default_rng(int(one.sum()) * 1009 + int(two.sum())).random(len(one)) >= 0.1)
    groups = drawn["buckets"] if drawn["groups"] is None else drawn["groups"]
    margin = 0.1 * drawn["accuracy"]
    result = inconsistency_difference(one == 0, two == 0, groups=groups, n_permutations=n_draws, margin=margin)
    yield "not worse, at the margin", result.margin_test["p_not_worse1"], False
    yield "equivalence, at the margin", result.margin_test["p_equivalent"], False


def of_families(drawn: dict[str, Any], n_draws: int) -> Iterator[tuple[str, float, bool]]:
    """The smallest joint p of six pairs of four models."""
    answers = {f"m{i}": column for i, column in enumerate(drawn["answers"])}
    pairs = list(combinations(answers, 2))
    gold = np.ones_like(drawn["buckets"])
    each = unit_values(answers, gold, drawn["buckets"], groups=drawn["groups"]).differences(*np.triu_indices(4, 1))
    p_values = [
        consistency_difference(
            *(answers[m] for m in pair),
            gold,
            drawn["buckets"],
            groups=drawn["groups"],
            n_permutations=n_draws,
            n_resamples=1,
        ).p_value
        for pair in pairs
    ]
    yield "max-T: six pairs of P_C", joint_test(each, n_draws=n_draws).adjusted(min(p_values)), False
    yield "Holm: six pairs of P_C", min(1.0, 6 * min(p_values)), False


def _contradicts(result: Any, name: str, p: float) -> bool:
    low, high = result.confidence_interval[name]
    return bool(not np.isnan(low) and (low <= 0.0 <= high) != (p > ALPHA))


TESTS = {"flips": by_flips, "t": by_t, "shares": of_shares, "margins": of_margins, "families": of_families}


def sizes(
    design: Design, tests: str, n_replications: int, seed: int = 0, n_draws: int = 999
) -> dict[str, tuple[float, float]]:
    """Return, for each test, the shares of replications that reject at .05 and that contradict themselves."""
    rng = np.random.default_rng(seed)
    rejected: dict[str, list[bool]] = {}
    contradicted: dict[str, list[bool]] = {}
    for _ in range(n_replications):
        drawn = draw(rng, design, 4 if tests == "families" else 2)
        for name, p, contradicts in TESTS[tests](drawn, n_draws):
            rejected.setdefault(name, []).append(p <= ALPHA)
            contradicted.setdefault(name, []).append(contradicts)
    return {name: (float(np.mean(values)), float(np.mean(contradicted[name]))) for name, values in rejected.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--tests", choices=TESTS, action="append")
    parser.add_argument("--design", choices=DESIGNS, action="append")
    options = parser.parse_args()
    for tests in options.tests or TESTS:
        for name in options.design or DESIGNS:
            n = options.replications if tests != "families" else max(1, options.replications // 4)
            for test, (size, contradicted) in sizes(DESIGNS[name], tests, n).items():
                why = next((text for key, text in CONSERVATIVE.items() if key in f"{test}, {name}"), "")
                verdict = "" if 0.03 <= size <= 0.06 else f"conservative: {why}" if size < 0.03 else "TOO LARGE"
                print(f"{name:14} {test:28} {size:6.3f} {contradicted:6.3f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
