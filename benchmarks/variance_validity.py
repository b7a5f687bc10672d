"""Are variance components unbiased, do their intervals hold, is the gain of doubling a level as predicted, how fast?

    python benchmarks/variance_validity.py simulate --repeats 2000    # 20 designs, crossed and nested
    python benchmarks/variance_validity.py gain                       # halves of recorded answers, held back
    python benchmarks/variance_validity.py speed                      # seconds of processor time and peak memory

`simulate` draws normal outcomes, and cuts them into two, four ordered or three named answers, whose components follow
from bivariate normal probabilities; some designs lose a fifth of their rows at random. `gain` reads the recorded
answers in the folder of test data (see CONTRIBUTING.md).
"""

import argparse
import os
import resource
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import multivariate_normal

from paraconsist.measures.variance_components import variance_components

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("PARACONSIST_TEST_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Design:
    """A design: sizes of its levels, the level that each is nested in, and latent variances of sets of levels."""

    sizes: dict[str, int]  # of a nested level: within each value of the outer one
    inside: dict[str, str]  # nested level -> outer level
    latent: dict[tuple[str, ...], float]  # by the levels whose values make the effect
    cuts: tuple[float, ...] = ()  # quantiles of the latent outcome between answers; none: the outcome itself
    named: bool = False  # whether answers are labels
    missing: float = 0.0  # share of rows that are left out

    def rows(self) -> dict[str, np.ndarray]:
        """Return the codes of each level, one row per combination."""
        grids = np.meshgrid(*(np.arange(size) for size in self.sizes.values()), indexing="ij")
        codes = {name: grid.ravel() for name, grid in zip(self.sizes, grids, strict=True)}
        for inner, outer in self.inside.items():
            codes[inner] = codes[outer] * self.sizes[inner] + codes[inner]
        return codes

    def outer(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return names with all that they are nested in."""
        found = set(names)
        for name in names:
            while name in self.inside:
                name = self.inside[name]
                found.add(name)
        return frozenset(found)

    def truth(self) -> dict[str, float]:
        """Return the components of the outcome by their names."""
        sets = {self.outer(names): (" x ".join(names), value) for names, value in self.latent.items()}
        total = sum(self.latent.values())
        if not self.cuts:
            return {name: value for name, value in sets.values()}
        products = {frozenset(): self.product(0.0)}
        components: dict[frozenset[str], float] = {}
        for terms in sorted(sets, key=len):
            correlation = sum(value for other, (_, value) in sets.items() if other <= terms) / total
            products[terms] = self.product(correlation)
            inside = sum(value for other, value in components.items() if other < terms)
            components[terms] = products[terms] - products[frozenset()] - inside
        return {sets[terms][0]: value for terms, value in components.items()}

    def dependability(self, truth: dict[str, float]) -> float:
        """Return the share of the variance of the first level's means that is between its values, without gaps."""
        first = self.outer((next(iter(self.sizes)),))
        between = error = 0.0
        for name, value in truth.items():
            inside = self.outer(tuple(name.split(" x "))) - first
            between += value * (not inside)
            error += value / np.prod([self.sizes[level] for level in inside]) * bool(inside)
        return between / (between + error)

    def product(self, correlation: float) -> float:
        """Return the expected product of two answers whose latent outcomes correlate; of labels, their agreement."""
        ends = np.array([-8.0, *ndtri(self.cuts), 8.0])
        if correlation > 1.0 - 1e-9:
            chances = np.diag(np.diff(ndtr(ends)))
        else:
            normal = multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]])
            below = np.array([[both(normal, a, b, correlation) for b in ends] for a in ends])
            chances = np.diff(np.diff(below, axis=0), axis=1)
        if self.named:
            return float(np.trace(chances))
        values = np.arange(len(chances))
        return float(values @ chances @ values)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return outcomes and levels."""
        codes = self.rows()
        n = len(next(iter(codes.values())))
        latent = np.zeros(n)
        for names, variance in self.latent.items():
            joint = np.unique(np.stack([codes[name] for name in names]), axis=1, return_inverse=True)[1].ravel()
            latent += rng.normal(size=int(joint.max()) + 1)[joint] * variance**0.5
        if self.cuts:
            answers = np.searchsorted(ndtri(self.cuts) * sum(self.latent.values()) ** 0.5, latent)
            latent = np.array(["a", "b", "c"])[answers] if self.named else answers.astype(float)
        if self.missing:
            kept = rng.random(n) >= self.missing
            latent, codes = latent[kept], {name: code[kept] for name, code in codes.items()}
        return latent, codes


def both(normal: object, a: float, b: float, correlation: float) -> float:
    """Return the probability that two correlated normal variables are below a and b."""
    if max(abs(a), abs(b)) >= 8.0:
        return float(ndtr(min(a, b)) if max(a, b) >= 8.0 else 0.0)
    if a == b:
        return float(ndtr(a) - 2.0 * owens_t(a, ((1.0 - correlation) / (1.0 + correlation)) ** 0.5))
    return float(normal.cdf([a, b]))


def nested(problems: int, wordings: int, repeats: int, parts: tuple[float, ...], **options: object) -> Design:
    sizes = {"problem": problems, "wording": wordings, "repeat": repeats}
    names = [("problem",), ("wording",), ("repeat",)]
    return Design(sizes, {"wording": "problem", "repeat": "wording"}, dict(zip(names, parts, strict=True)), **options)


def two(problems: int, wordings: int, parts: tuple[float, ...], **options: object) -> Design:
    """Return wordings nested in problems, asked once."""
    latent = dict(zip([("problem",), ("wording",)], parts, strict=True))
    return Design({"problem": problems, "wording": wordings}, {"wording": "problem"}, latent, **options)


def contexts(n: int, problems: int, wordings: int, parts: tuple[float, ...], **options: object) -> Design:
    sizes = {"context": n, "problem": problems, "wording": wordings}
    latent = dict(zip([("context",), ("problem",), ("wording",)], parts, strict=True))
    return Design(sizes, {"problem": "context", "wording": "problem"}, latent, **options)


def crossed(*sizes: int, parts: tuple[float, ...], **options: object) -> Design:
    """Return levels that are all crossed, with every interaction."""
    names = ["problem", "wording", "judge"][: len(sizes)]
    sets = [chosen for size in range(1, len(names) + 1) for chosen in combinations(names, size)]
    return Design(dict(zip(names, sizes, strict=True)), {}, dict(zip(sets, parts, strict=True)), **options)


def cells(problems: int, wordings: int, repeats: int, parts: tuple[float, ...], **options: object) -> Design:
    """Return problems and wordings crossed, each pair asked several times (no column says which time)."""
    names = [("problem",), ("wording",), ("problem", "wording"), ("problem", "wording", "residual")]
    latent = dict(zip(names, parts, strict=True))
    sizes = {"problem": problems, "wording": wordings, "residual": repeats}
    return Design(sizes, {}, latent, **options)


HALF, FEW, FOUR, THREE = (0.5,), (0.2,), (0.3, 0.6, 0.8), (0.4, 0.7)
DESIGNS = {
    "nested 8 x 4, normal": two(8, 4, (1.0, 1.0)),
    "nested 12 x 5, binary": two(12, 5, (1.0, 1.0), cuts=HALF),
    "nested 20 x 4 x 3, normal, gaps": nested(20, 4, 3, (1.0, 0.5, 1.0), missing=0.2),
    "nested 30 x 4 x 2, binary": nested(30, 4, 2, (1.0, 0.5, 1.0), cuts=FEW),
    "nested 60 x 5 x 3, binary, gaps": nested(60, 5, 3, (2.0, 0.5, 1.0), cuts=FEW, missing=0.2),
    "nested 60 x 10, four, no problem": two(60, 10, (0.0, 1.0), cuts=FOUR),
    "nested 20 x 6, labels": two(20, 6, (1.0, 0.5), cuts=THREE, named=True),
    "nested 40 x 3 x 4, labels, gaps": nested(40, 3, 4, (1.0, 0.5, 0.5), cuts=THREE, named=True, missing=0.2),
    "nested 30 x 3 x 5, four": nested(30, 3, 5, (1.0, 0.1, 0.5), cuts=FOUR),
    "contexts 16 x 4 x 3, normal": contexts(16, 4, 3, (0.5, 0.5, 1.0)),
    "contexts 40 x 3 x 4, binary": contexts(40, 3, 4, (0.5, 0.5, 1.0), cuts=HALF),
    "crossed 8 x 8, normal": crossed(8, 8, parts=(1.0, 0.5, 1.0)),
    "crossed 12 x 10, binary": crossed(12, 10, parts=(1.0, 0.5, 1.0), cuts=HALF),
    "crossed 20 x 12, binary, gaps": crossed(20, 12, parts=(1.0, 0.3, 0.5), cuts=FEW, missing=0.2),
    "crossed 54 x 25, binary": crossed(54, 25, parts=(1.0, 0.3, 1.0), cuts=HALF),
    "crossed 30 x 10, four": crossed(30, 10, parts=(1.0, 0.2, 1.0), cuts=FOUR),
    "crossed 30 x 12, labels": crossed(30, 12, parts=(1.0, 0.2, 1.0), cuts=THREE, named=True),
    "cells 20 x 10 x 3, normal, gaps": cells(20, 10, 3, (1.0, 0.3, 0.5, 1.0), missing=0.2),
    "cells 30 x 8 x 2, binary": cells(30, 8, 2, (1.0, 0.3, 0.5, 0.5), cuts=HALF),
    "crossed 20 x 10 x 8, binary": crossed(20, 10, 8, parts=(1.0, 0.2, 0.2, 0.3, 0.3, 0.1, 0.5), cuts=HALF),
}


def simulate(repeats: int, only: str) -> None:
    """Print bias in Monte Carlo errors and coverage of every component and share in each design."""
    print(f"{'design':<34} {'component':<28} {'truth':>7} {'mean':>8} {'bias/se':>7} {'cover':>6} {'share':>6}")
    outside = coverages = components = biased = 0
    for name, design in DESIGNS.items():
        if only and only not in name:
            continue
        rng, truth = np.random.default_rng(list(DESIGNS).index(name)), design.truth()
        total = sum(truth.values())
        true_shares = {key: value / total for key, value in truth.items()}
        found: dict[str, list[float]] = {key: [] for key in truth}
        covered = {(kind, key): 0 for kind in ("variance", "share") for key in truth}
        reliable, phi = 0, design.dependability(truth)
        for _ in range(repeats):
            outcomes, levels = design.draw(rng)
            levels.pop("residual", None)
            result = variance_components(outcomes, levels)
            names = dict(zip(truth, result.variance, strict=True))  # the finest is called residual in designs with gaps
            for key, written in names.items():
                found[key].append(result.variance[written])
                for kind, true in (("variance", truth), ("share", true_shares)):
                    low, high = result.confidence_interval[f"{kind}/{written}"]
                    covered[kind, key] += low <= true[key] <= high
            low, high = result.confidence_interval["dependability"]
            reliable += low <= phi <= high
        if not design.missing:
            rate = reliable / repeats
            outside, coverages = outside + (not 0.93 <= rate <= 0.985), coverages + 1
            mark = "" if 0.93 <= rate <= 0.985 else "*"
            print(f"{name:<34} {'dependability':<28} {phi:7.4f} {'':>16} {rate:6.3f} {mark}")
        for key, values in found.items():
            z = (np.mean(values) - truth[key]) / (np.std(values, ddof=1) / repeats**0.5)
            rates = [covered[kind, key] / repeats for kind in ("variance", "share")]
            outside += sum(not 0.93 <= rate <= 0.985 for rate in rates)
            coverages, components, biased = coverages + 2, components + 1, biased + (abs(z) > 2)
            marks = "".join("*" if not 0.93 <= rate <= 0.985 else " " for rate in rates)
            print(f"{name:<34} {key:<28} {truth[key]:7.4f} {np.mean(values):8.4f} {z:7.2f} {rates[0]:6.3f} {rates[1]:6.3f} {marks}")  # fmt: skip
    print(f"{outside} of {coverages} coverages outside 93 to 98.5 %; {biased} of {components} biases above 2 errors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("simulate", "gain", "speed"))
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    options = parser.parse_args()
    if options.what == "simulate":
        simulate(options.repeats, options.only)


if __name__ == "__main__":
    main()
