"""Whether studies of the planned size keep what was promised: python benchmarks/planning.py

Ten designs, and two small ones. In each, pilots of two models are drawn; from every pilot a study is planned for the
true difference and for a half-width (`paraconsist.measures.planning`); studies of just that size are drawn. Printed are
the share of those whose interval of the difference excludes 0, which must lie within 3 points of the power, and of
those whose interval is as narrow as wanted, which must not lie below the assurance by more than 3 points. In the small
ones, studies of skewed differences in about 100 buckets, the power may lie further above what was promised.

The whole takes a minute or two of processor time, `--quick` a quarter of that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.intervals import on_logit_scale
from paraconsist.measures.planning import MEASURES, Pilot, Target, pilot_of, pilot_of_difference, plan

Floats = np.ndarray
Chances = Callable[[Floats, Floats], tuple[Floats, Floats]]

P_C, VAP, ACCURACY, INCONSISTENCY = MEASURES
_OF_PAIRS = {P_C: -1.0, VAP: 0.5}
_BUCKETS_AT_ONCE = 1 << 20
TOLERANCE = 0.03


@dataclass(frozen=True)
class Design:
    """Two models on the same buckets.

    `chances` turns two uniform numbers into a problem's chances of a right answer, `alike` is the share of texts that
    both models take in the same way, a bucket has `pilot_size` paraphrases in the pilot and `size` in the study, and
    `per_context` buckets have the same chances.
    """

    measure: str
    chances: Chances
    alike: float
    pilot_buckets: int
    pilot_size: tuple[int, int]
    size: int
    half_width: float
    power: float = 0.8
    assurance: float = 0.8
    per_context: int = 1
    against: bool = True
    correlation: float = 0.0
    small: bool = False


def skewed(u: Floats, a: float, b: float) -> Floats:
    """Return Kumaraswamy variates, near the beta distribution's, from uniform ones."""
    return np.asarray((1.0 - (1.0 - u) ** (1.0 / b)) ** (1.0 / a))


def alike(a: float, b: float, gain: float) -> Chances:
    """Return chances of which the second model's are the first's but for a gain and a fifth of its own."""
    return lambda u, v: (skewed(u, a, b), skewed(np.clip(0.8 * u + 0.2 * v + gain, 0.0, 1.0), a, b))


def apart(first: tuple[float, float], second: tuple[float, float]) -> Chances:
    """Return independent chances."""
    return lambda u, v: (skewed(u, *first), skewed(v, *second))


def mixed(gain: float) -> Chances:
    """Return chances that are equal in half of the problems, but for a gain: they correlate by one half."""
    return lambda u, v: (0.2 + 0.7 * u, 0.2 + gain + 0.7 * np.where(v < 0.5, u, 2.0 * v - 1.0))


def coins(first: float, second: float) -> Chances:
    """Return chances that are even in a share of the problems, and 1 in all others."""
    return lambda u, v: (np.where(u < first, 0.5, 1.0), np.where(v < second, 0.5, 1.0))


DESIGNS = {
    "P_C, 20 to 2": Design(P_C, alike(2.0, 1.0, 0.17), 0.0, 300, (20, 20), 2, 0.03),
    "P_C, 20 to 4": Design(P_C, alike(2.0, 1.0, 0.17), 0.0, 300, (20, 20), 4, 0.03),
    "P_C, 20 to 20": Design(P_C, alike(2.0, 1.0, 0.17), 0.0, 300, (20, 20), 20, 0.02),
    "P_C, 5 to 3, same texts": Design(P_C, alike(1.2, 0.6, 0.18), 0.5, 250, (5, 5), 3, 0.03, power=0.9, assurance=0.9),
    "P_C, 4-8 to 12, same texts": Design(P_C, alike(2.0, 1.0, 0.14), 0.6, 300, (4, 8), 12, 0.03),
    "accuracy, 4 to 8, same texts": Design(ACCURACY, alike(2.0, 1.0, 0.03), 0.7, 250, (4, 4), 8, 0.04),
    "accuracy, 40 buckets of 3": Design(ACCURACY, apart((2.0, 1.0), (3.0, 0.8)), 0.0, 40, (3, 3), 3, 0.04),
    "inconsistency, 4 to 10": Design(INCONSISTENCY, alike(0.6, 1.5, 0.08), 0.5, 150, (4, 4), 10, 0.03),
    "VAP, 5 to 8, contexts": Design(VAP, alike(1.5, 0.8, 0.2), 0.5, 300, (5, 5), 8, 0.015, per_context=3),
    "accuracy, 5 to 2, one pilot": Design(
        ACCURACY, mixed(0.05), 0.0, 200, (5, 5), 2, 0.04, against=False, correlation=0.5
    ),
    "P_C, near the ceiling": Design(P_C, coins(0.08, 0.2), 0.0, 100, (6, 6), 6, 0.03, small=True),
    "P_C, near the ceiling, short": Design(P_C, coins(0.08, 0.2), 0.0, 100, (6, 6), 6, 0.05, small=True),
    "P_C, 4-8 to 12, small": Design(P_C, alike(2.0, 1.0, 0.16), 0.6, 200, (4, 8), 12, 0.03, small=True),
    "accuracy, 4 to 8, small": Design(ACCURACY, alike(2.0, 1.0, 0.06), 0.7, 100, (4, 4), 8, 0.04, small=True),
}


def true_difference(design: Design) -> float:
    """Return the second model's measure less the first's, by the midpoint rule."""
    at = (np.arange(2_000) + 0.5) / 2_000
    theta = design.chances(at[:, np.newaxis], at[np.newaxis, :])
    if design.measure in _OF_PAIRS:
        one, two = (_OF_PAIRS[design.measure] * 2.0 * chance * (1.0 - chance) for chance in theta)
        theta = one, two
    return float(theta[1].mean() - theta[0].mean())


def answers(
    design: Design, rng: np.random.Generator, shape: tuple[int, ...], k: Floats | int
) -> tuple[Floats, Floats, Floats]:
    """Return how many of k rows are right in every bucket: for the first model, the second, and both."""
    *first, n = shape
    contexts = rng.random((2, *first, -(-n // design.per_context))).repeat(design.per_context, axis=-1)[..., :n]
    one, two = design.chances(*contexts)
    both = design.alike * np.minimum(one, two) + (1.0 - design.alike) * one * two
    right = rng.binomial(k, one)
    of_right = rng.binomial(right, np.clip(both / np.maximum(one, 1e-12), 0.0, 1.0))
    of_wrong = rng.binomial(k - right, np.clip((two - both) / np.maximum(1.0 - one, 1e-12), 0.0, 1.0))
    return right, of_right + of_wrong, of_right


def pilots(design: Design, rng: np.random.Generator, n: int | None = None) -> tuple[Pilot, Pilot | None]:
    """Return a fresh pilot of the first model, and of the difference."""
    n = n or design.pilot_buckets
    k = rng.integers(design.pilot_size[0], design.pilot_size[1] + 1, n)
    first, second, both = answers(design, rng, (n,), k)
    one, two = BucketCounts.from_counts(k, first), BucketCounts.from_counts(k, second)
    groups = None if design.per_context == 1 else np.arange(n) // design.per_context
    difference = None
    if design.against:
        shared = both if design.alike else None
        difference = pilot_of_difference(one, two, design.measure, both=shared, groups=groups)
    return pilot_of(one, design.measure, groups=groups), difference


def statistic(design: Design, right: Floats) -> Floats:
    """Return what each bucket of a study adds to the mean of its measure."""
    k = design.size
    if design.measure not in _OF_PAIRS:
        return right / k
    return _OF_PAIRS[design.measure] * 2.0 * right * (k - right) / (k * (k - 1.0))


def half_widths(values: Floats, per_context: int) -> Floats:
    """Return the half-widths of t intervals of shape (studies,) from buckets' values of shape (studies, buckets)."""
    centred = values - values.mean(axis=1, keepdims=True)
    n = centred.shape[1]
    if per_context > 1:
        centred = np.add.reduceat(centred, np.arange(0, n, per_context), axis=1)
    units = centred.shape[1]
    return np.asarray(stdtrit(units - 1, 0.975) * np.sqrt((centred**2).sum(axis=1) * units / (units - 1)) / n)


def studies(design: Design, rng: np.random.Generator, n_buckets: int, n_studies: int) -> tuple[float, float]:
    """Return the share of studies that find the difference, and the share with the half-width or less."""
    found = narrow = 0
    at_once = max(1, _BUCKETS_AT_ONCE // n_buckets)
    for start in range(0, n_studies, at_once):
        first, second, _ = answers(design, rng, (min(at_once, n_studies - start), n_buckets), design.size)
        one, two = statistic(design, first), statistic(design, second)
        wide = np.abs((two - one).mean(axis=1)) > half_widths(two - one, design.per_context)
        found += int(np.count_nonzero(wide))
        half = half_widths(one, design.per_context)
        value = one.mean(axis=1) + (design.measure == P_C)
        scale = np.array([[0.0, 0.5 if design.measure == VAP else 1.0]])
        low, high = on_logit_scale(value, half, scale)
        narrow += int(np.count_nonzero(np.maximum(high, value) - np.minimum(low, value) <= 2.0 * design.half_width))
    return found / n_studies, narrow / n_studies


def kept(design: Design, n_pilots: int, n_studies: int, seed: int) -> tuple[float, float, float, float]:
    """Return the power and the share of half-widths that were kept, and the mean buckets planned for each."""
    rng = np.random.default_rng(seed)
    difference = abs(true_difference(design))
    target = Target(power=design.power, assurance=design.assurance, correlation=design.correlation)
    total = np.zeros(4)
    for _ in range(n_pilots):
        pilot, of_difference = pilots(design, rng)
        wanted = {"half_width": design.half_width, "difference": difference}
        (row,) = plan(pilot, **wanted, target=target, of_difference=of_difference, paraphrases=[design.size])
        assert row.buckets_for_difference is not None
        assert row.buckets_for_half_width is not None
        total += (
            studies(design, rng, row.buckets_for_difference, n_studies)[0],
            studies(design, rng, row.buckets_for_half_width, n_studies)[1],
            row.buckets_for_difference,
            row.buckets_for_half_width,
        )
    power, narrow, for_power, for_width = (total / n_pilots).tolist()
    return power, narrow, for_power, for_width


def main() -> None:
    """Print the table, and exit with 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 pilots a design in place of 400")
    parser.add_argument("--design", nargs="*", choices=list(DESIGNS), help="only these")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    good = True
    print("difference, buckets, power; half-width, buckets, assurance")
    for name in options.design or DESIGNS:
        design = DESIGNS[name]
        power, narrow, for_power, for_width = kept(design, 100 if options.quick else 400, 20, options.seed)
        enough = min(power - design.power, narrow - design.assurance) >= -TOLERANCE
        holds = enough and (design.small or power <= design.power + TOLERANCE)
        good &= holds
        found = f"{true_difference(design):>8.4f} {for_power:>5.0f} {100 * power:>6.1f} of {100 * design.power:.0f} %"
        width = f"{design.half_width:>6} {for_width:>5.0f} {100 * narrow:>6.1f} of {100 * design.assurance:.0f} %"
        print(f"{name:<30} {found}   {width}{'' if holds else '   NOT kept'}", flush=True)
    if not good:
        raise SystemExit("at least one promise is not kept")


if __name__ == "__main__":
    main()
