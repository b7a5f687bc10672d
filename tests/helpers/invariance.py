"""Drawn counts and rows, and the null distribution of the IE test written naively, for the tests of invariance."""

import math
from fractions import Fraction

from helpers.examples import examples
from hypothesis import strategies as st

MANY = examples(2000)
REPLAYS = ("replay", "mcnemar_replay")


@st.composite
def counts(draw, most=11):
    n = draw(st.integers(1, most))
    d = draw(st.integers(0, n))
    n10 = draw(st.integers(0, d))
    return n, n10, d - n10


@st.composite
def answers(draw):
    """Lopsided rows of a few runs: predictions, transformed predictions, references, runs."""
    n = draw(st.integers(1, 40))
    label = st.sampled_from(draw(st.sampled_from([["a", "b"], ["x", "y", "z"], ["no", "yes", "yes ", "?"]])))
    column = st.lists(label, min_size=n, max_size=n)
    run = st.lists(st.sampled_from(["r1", "r2", "r0"]), min_size=n, max_size=n)
    return draw(column), draw(column), draw(column), draw(run)


def size_of_t(n, k, d):
    """t as something that sorts exactly: sign, then t^2 as a fraction (infinite if all changed one way)."""
    sign = (k > 0) - (k < 0)
    if sign == 0:
        return Fraction(0)
    variance = d - Fraction(k * k, n)
    return sign * (Fraction(k * k) / variance if variance else math.inf)


def naive_tails(n, n10, n01):
    """P(t* < t), P(t* = t) with every resample of n rows and swaps: rows are +1, -1 or 0, independently."""
    d = n10 + n01
    t = size_of_t(n, n10 - n01, d)
    each = {1: Fraction(d, 2 * n), -1: Fraction(d, 2 * n), 0: 1 - Fraction(d, n)}
    below = equal = Fraction(0)
    for plus in range(n + 1):
        for minus in range(n + 1 - plus):
            ways = math.comb(n, plus) * math.comb(n - plus, minus)
            chance = ways * each[1] ** plus * each[-1] ** minus * each[0] ** (n - plus - minus)
            t_star = size_of_t(n, plus - minus, plus + minus)
            below += chance * (t_star < t)
            equal += chance * (t_star == t)
    assert below + equal <= 1
    return below, equal
