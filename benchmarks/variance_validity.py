"""Are variance components unbiased, do their intervals hold, is the gain of doubling a level as predicted, how fast?

    python benchmarks/variance_validity.py simulate --repeats 2000    # 21 designs, crossed and nested
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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import multivariate_normal

from paraconsist.measures.variance_components import variance_components

ROOT = Path(__file__).resolve().parent.parent
Rows = tuple[np.ndarray, dict[str, np.ndarray]]
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
        codes = dict(zip(self.sizes, (grid.ravel() for grid in grids), strict=True))
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
            return dict(sets.values())
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
    "nested 40 x 5, nearly all right": two(40, 5, (1.0, 1.0), cuts=(0.08,)),
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
        shown = dict.fromkeys(covered, 0)  # draws with an interval: rare answers may give none
        reliable, n_reliable, phi = 0, 0, design.dependability(truth)
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
                    shown[kind, key] += low == low
            low, high = result.confidence_interval["dependability"]
            reliable, n_reliable = reliable + (low <= phi <= high), n_reliable + (low == low)
        if not design.missing:
            rate = reliable / n_reliable
            outside, coverages = outside + (not 0.93 <= rate <= 0.985), coverages + 1
            mark = "" if 0.93 <= rate <= 0.985 else "*"
            print(f"{name:<34} {'dependability':<28} {phi:7.4f} {'':>16} {rate:6.3f} {mark}")
        for key, values in found.items():
            z = (np.mean(values) - truth[key]) / (np.std(values, ddof=1) / repeats**0.5)
            rates = [covered[kind, key] / shown[kind, key] for kind in ("variance", "share")]
            outside += sum(not 0.93 <= rate <= 0.985 for rate in rates)
            coverages, components, biased = coverages + 2, components + 1, biased + (abs(z) > 2)
            marks = "".join("*" if not 0.93 <= rate <= 0.985 else " " for rate in rates)
            numbers = f"{truth[key]:7.4f} {np.mean(values):8.4f} {z:7.2f} {rates[0]:6.3f} {rates[1]:6.3f} {marks}"
            print(f"{name:<34} {key:<28} {numbers}")
    print(f"{outside} of {coverages} coverages outside 93 to 98.5 %; {biased} of {components} biases above 2 errors")


@dataclass(frozen=True)
class Recorded:
    """Recorded answers: an array of two axes for each value of the first level."""

    answers: list[np.ndarray]
    levels: tuple[str, str, str]
    base: tuple[int, ...]  # the design whose levels are doubled
    is_crossed: bool  # whether the last axis is the same for all, else it is nested in the second level

    def draw(self, rng: np.random.Generator, clusters: np.ndarray, last: np.ndarray, sizes: tuple[int, ...]) -> Rows:
        """Return answers and levels of a random part: of the clusters, and of the last axis where it is crossed."""
        chosen, common = rng.choice(clusters, sizes[0], replace=False), rng.choice(last, sizes[2], replace=False)
        parts, codes = [], []
        for cluster in chosen:
            whole = self.answers[cluster]
            for row in rng.choice(len(whole), sizes[1], replace=False):
                columns = common if self.is_crossed else rng.choice(last, sizes[2], replace=False)
                parts.append(whole[row, columns])
                ids = columns if self.is_crossed else (cluster * 1000 + row) * 1000 + columns
                codes.append([np.full(sizes[2], cluster), np.full(sizes[2], cluster * 1000 + row), ids])
        return np.concatenate(parts), dict(zip(self.levels, np.concatenate(codes, axis=1), strict=True))

    def predicted(self, rng: np.random.Generator, clusters: np.ndarray, repeats: int) -> dict[str, float]:
        """Return the predicted ratio of standard errors for each level, from parts of the base design."""
        last = np.arange(self.answers[0].shape[1])
        now: dict[str, list[float]] = {}
        after: dict[str, list[float]] = {}
        for _ in range(repeats):
            outcomes, levels = self.draw(rng, clusters, last, self.base)
            used = {name: codes for name, codes in levels.items() if self.base[self.levels.index(name)] > 1}
            for row in variance_components(outcomes, used).doubled:
                if np.isfinite(row.ratio) and row.ratio:
                    after.setdefault(row.level, []).append(row.standard_error**2)
                    now.setdefault(row.level, []).append((row.standard_error / row.ratio) ** 2)
        return {name: float(np.mean(after[name]) / np.mean(now[name])) ** 0.5 for name in after}

    def observed(self, rng: np.random.Generator, clusters: np.ndarray, repeats: int) -> dict[str, float]:
        """Return the ratio from pairs of parts that share nothing: half their squared difference is the variance."""

        def variance(sizes: tuple[int, ...]) -> float:
            squares = []
            for _ in range(repeats):
                order = rng.permutation(clusters)
                last = rng.permutation(self.answers[0].shape[1])
                halves = np.array_split(last, 2) if self.is_crossed else [last, last]
                pair = [
                    self.draw(rng, part, half, sizes)[0].mean()
                    for part, half in zip(np.array_split(order, 2), halves, strict=True)
                ]
                squares.append((pair[0] - pair[1]) ** 2 / 2)
            return float(np.mean(squares))

        now = variance(self.base)
        ratios = {}
        for place, name in enumerate(self.levels):
            if self.base[place] > 1:
                doubled = tuple(size * (1 + (i == place)) for i, size in enumerate(self.base))
                ratios[name] = (variance(doubled) / now) ** 0.5
        return ratios


def recorded() -> Iterator[tuple[str, Recorded]]:
    """Yield the recorded answers that are there."""
    import pandas as pd

    folder = DATA / "recorded"
    gpqa = pd.read_csv(folder / "gpqa_epochs.csv")
    for model, part in gpqa.groupby("model"):
        matrix = part.pivot(index="item", columns="epoch", values="correct").to_numpy(float)
        yield (
            f"GPQA {model}",
            Recorded([row[:, np.newaxis] for row in matrix], ("problem", "repeat", "-"), (20, 2, 1), False),
        )
    survey = pd.read_parquet(folder / "survey_wordings.parquet")
    survey = survey[survey["bias"].eq("acquiescence")].assign(yes=lambda rows: rows["option"].eq("a").astype(float))
    survey["text"] = survey["wording"] + " " + survey["perturbation"]
    for model, part in survey.groupby("model"):
        cells = part.groupby(["question", "text"])["yes"].apply(np.array)
        questions = [np.stack(of.tolist()) for _, of in cells.groupby(level=0)]
        most = max(len(matrix) for matrix in questions)
        questions = [matrix for matrix in questions if len(matrix) == most]
        if most >= 4 and len(questions) >= 120:
            yield f"survey {model}", Recorded(questions, ("problem", "wording", "repeat"), (15, 2, 2), False)
    aiw = pd.read_parquet(folder / "aiw.parquet").query("source == 'param'")  # one problem: nothing between problems
    by_model = [
        [of.to_numpy(float)[:18] for _, of in part.groupby("prompt")["correct"]] for _, part in aiw.groupby("model")
    ]
    yield "AIW", Recorded([*map(np.stack, by_model)], ("model", "wording", "repeat"), (2, 3, 2), False)
    judges = pd.read_parquet(folder / "relevance_judges.parquet")
    for (model, mode), part in judges.groupby(["model", "mode"]):
        table = part.pivot_table(index=["query", "passage"], columns="wording", values="verdict")
        queries = [of.to_numpy(float) for _, of in table.groupby(level=0) if len(of) >= 12]
        yield f"judges {model} {mode}", Recorded(queries, ("query", "passage", "wording"), (6, 6, 6), True)


def gain(halves: int) -> None:
    """Print the predicted and the observed ratio of standard errors, each on its half of the clusters."""
    print(
        f"{'answers':<28} {'doubled':<9} {'predicted':>9} {'observed':>9} {'error':>7}   (means over {halves} halves)"
    )
    worst = 0.0
    for name, data in recorded():
        rng, found = np.random.default_rng(0), []
        for _ in range(halves):
            order = rng.permutation(len(data.answers))
            one, two = np.array_split(order, 2)
            found.append((data.predicted(rng, one, 60), data.observed(rng, two, 1500)))
        for level in found[0][1]:
            means = [float(np.mean([pair[i][level] for pair in found])) for i in (0, 1)]
            error = means[0] / means[1] - 1.0
            worst = max(worst, abs(error))
            print(f"{name:<28} {level:<9} {means[0]:9.3f} {means[1]:9.3f} {100 * error:6.1f} %", flush=True)
    print(f"largest error: {100 * worst:.1f} %")


def speed() -> None:
    """Print seconds of processor time and peak memory on recorded and on made answers."""
    import pyarrow.parquet as pq

    def timed(what: str, outcomes: np.ndarray, levels: dict[str, np.ndarray], **options: object) -> None:
        start = time.process_time()
        variance_components(outcomes, levels, **options)
        seconds, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{what:<52} {len(outcomes):>10,} rows {seconds:6.1f} s, peak of the process so far {peak:.2f} GiB")

    table = pq.read_table(DATA / "recorded" / "relevance_judges.parquet")
    codes = {
        name: table[name].combine_chunks().dictionary_encode().indices.to_numpy()
        for name in ("query", "passage", "wording")
    }
    mode = table["mode"].to_numpy(zero_copy_only=False) == "binary"
    verdicts = table["verdict"].to_numpy().astype(float) / np.where(mode, 1.0, 3.0)
    timed("judges: query, passage, wording, repeats unnamed", verdicts, codes)
    sizes = {"problem": 3000, "wording": 100, "repeat": 10}
    levels = Design(sizes, {}, {}).rows()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(levels["problem"]))
    levels = {name: codes[order] for name, codes in levels.items()}
    outcomes = (rng.random(len(order)) < rng.random(3000)[levels["problem"]]).astype(float)
    del order
    timed("made: problem x wording, repeats nested", outcomes, levels, nested=["repeat"])
    timed("made: problem x wording x repeat, all crossed", outcomes, levels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("simulate", "gain", "speed"))
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--halves", type=int, default=4, help="random divisions of the recorded answers")
    parser.add_argument("--only", default="", help="designs whose name contains this")
    options = parser.parse_args()
    if options.what == "simulate":
        simulate(options.repeats, options.only)
    elif options.what == "gain":
        gain(options.halves)
    else:
        speed()


if __name__ == "__main__":
    main()
