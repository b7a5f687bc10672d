"""How often "what flips it" claims an effect: python benchmarks/edit_effects.py [--runs 200]

Made runs over 250 problems of 4 to 9 wordings, in contexts of one or two problems; problems differ in how often their
answers flip (a beta distribution about .2) and in how often their wordings are of each of ten kinds, and both go
together: hard problems have more wordings of the first kinds. Three models, --runs runs each:

    random     flips whatever the wording: runs with any claim (corrected p below .05), all of them false
    plain      the same by the plain difference of rates (z test), which takes hard problems for kinds that flip
    "not"      flips 25 points more often on wordings with a negation: runs in which that is found, other claims among
               all of its claims, and how often the interval holds the true difference

and the same with kinds that come in pairs: the partner of a kind that flips is rightly claimed with it, being compared
alone. At the end the time that 100,000 rows take.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from paraconsist.measures.edit_effects import EDIT_KINDS, edit_effects

KINDS = list(EDIT_KINDS)
PLANTED, EFFECT = "negation", 0.25


def made_rows(rng: np.random.Generator, *, n_buckets: int = 250, sizes: tuple[int, int] = (4, 9), paired: bool = False):
    """Return buckets, contexts, kinds and each row's chance of a flip."""
    size = rng.integers(sizes[0], sizes[1] + 1, n_buckets)
    buckets = np.repeat(np.arange(n_buckets), size)
    contexts = rng.integers(0, int(0.6 * n_buckets), n_buckets)
    hardness = rng.beta(0.8, 3.2, int(0.6 * n_buckets))[contexts]
    shares = rng.uniform(0.03, 0.5, len(KINDS))
    shares[0] = 0.1
    slopes = np.linspace(1.5, -0.5, len(KINDS))  # hard problems have more wordings of the first kinds
    kinds = {}
    for place, (kind, share, slope) in enumerate(zip(KINDS, shares, slopes, strict=True)):
        chance = np.clip(share * (1 + slope * (hardness - 0.2) / 0.2), 0.005, 0.95)
        kinds[kind] = rng.random(len(buckets)) < chance[buckets]
        if paired and place % 2:
            kinds[kind] |= kinds[KINDS[place - 1]] & (rng.random(len(buckets)) < 0.8)
    return buckets, contexts[buckets], kinds, hardness[buckets]


def plain_claims(broken: np.ndarray, kinds: dict[str, np.ndarray]) -> bool:
    """Whether a z test of two plain rates, corrected alike, claims any kind."""
    from scipy.stats import false_discovery_control, norm

    p = []
    for flag in kinds.values():
        rates = broken[flag].mean() - broken[~flag].mean()
        error = np.sqrt(broken.var() * (1 / flag.sum() + 1 / (~flag).sum()))
        p.append(2 * norm.sf(abs(rates) / error))
    return bool((false_discovery_control(p) < 0.05).any())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    for name, options in {
        "250 problems": {},
        "kinds in pairs": {"paired": True},
        "40 problems": {"n_buckets": 40},
    }.items():
        claims = plain = found = covered = n_claims = n_false = n_ends = 0
        for run in range(runs):
            rng = np.random.default_rng(run)
            buckets, contexts, kinds, chance = made_rows(rng, **options)
            broken = rng.random(len(buckets)) < chance
            effects = edit_effects(broken, kinds, buckets, groups=contexts).effects
            claims += any(one.corrected_p_value < 0.05 for one in effects)
            plain += plain_claims(broken, kinds)
            broken = rng.random(len(buckets)) < chance * (1 - EFFECT) + EFFECT * kinds[PLANTED]
            effects = edit_effects(broken, kinds, buckets, groups=contexts).effects
            surest = {one.kind for one in effects if one.corrected_p_value < 0.05}
            found += PLANTED in surest
            n_claims += bool(surest)
            n_false += len(surest - {PLANTED}) / max(len(surest), 1)
            ends = [one.confidence_interval for one in effects if one.kind == PLANTED]
            n_ends += any(low == low for low, _ in ends)
            covered += any(low <= EFFECT <= high for low, high in ends)
        print(f"{name}, {runs} runs")
        print(f"  random model: runs with a claim         {claims / runs:.1%} (plain difference: {plain / runs:.1%})")
        print(f'  model that flips on "not": found in     {found / runs:.1%} of runs')
        print(f"  other claims among its claims           {n_false / runs:.1%}")
        print(f"  interval holds the true difference      {covered / max(n_ends, 1):.1%}")
    rng = np.random.default_rng(0)
    buckets, contexts, kinds, chance = made_rows(rng, n_buckets=15_400)
    broken = rng.random(len(buckets)) < chance
    start = time.process_time()
    edit_effects(broken, kinds, buckets, groups=contexts)
    print(f"{len(buckets):,} rows, ten kinds: {time.process_time() - start:.2f} s of processor time")


if __name__ == "__main__":
    main()
