"""Do intervals of rates that are corrected by answers which people checked cover? On people's verdicts, and simulated.

``PARACONSIST_TEST_DATA`` is the folder with ``free_text/evouna_nq.parquet``: answers of five systems to Natural
Questions (EVOUNA), which people judged. Sheets of 200 labels are drawn anew, as `paraconsist sheet` draws; "covers"
is how often the 95 % interval of people's value on these answers contains it. Of a difference, "sign" is how often it
is right, "shown" how often its interval excludes 0, and "labels" how often that of the labels alone does.

Simulated comparers have other errors in each of 30 designs: of pairs of independent problems, or of four answers to
each of 500 problems, where errors are of pairs (intransitive) or of answers; 12 more have rates near 0 or 1. The best
possible width is the delta method's with the true shares of labels yes in the same sample. Consistency above chance is
corrected by 150 labels of pairs of a problem and 50 of different problems, whose answers are common or rare, of a
comparer that errs on both.

    python benchmarks/checked_validity.py            # 1,000 draws
    python benchmarks/checked_validity.py --draws 100
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from paraconsist.comparing.comparer import get_comparer
from paraconsist.errors import InputError
from paraconsist.measures.checked import (
    CheckedUnits,
    corrected_above_chance,
    corrected_difference,
    corrected_variance,
    differs,
    rate_of_units,
)
from paraconsist.scoring.checked import sample_units, turned

sys.path.insert(0, str(Path(__file__).resolve().parent))
from comparers import judged, similarities

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
N_LABELS = 200


def labelled(
    verdicts: np.ndarray,
    truth: np.ndarray,
    strata: np.ndarray,
    order: np.ndarray,
    n_labels: int = N_LABELS,
    **columns: Any,
) -> CheckedUnits:
    """Return units with people's labels on a sample from strata of their verdicts."""
    labels, sampling = np.full(len(verdicts), np.nan), np.ones(len(verdicts))
    for unit, weight in sample_units(2 * verdicts + strata if strata.max() < 2 else strata, order, n_labels):
        labels[unit], sampling[unit] = truth[unit], weight
    return CheckedUnits.of(verdicts, labels, sampling=sampling, strata=strata, **columns)


def covers(ends: list[float], value: float) -> bool:
    return ends[0] <= value <= ends[1]


def of_people(n_draws: int, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines on answers that people judged."""
    rows, rng = judged(), np.random.default_rng(0)
    truth = np.array([row["correct"] for row in rows], dtype=np.float64)
    systems, items = np.array([row["system"] for row in rows]), np.array([row["item"] for row in rows])
    for name in names:
        similarity = similarities(name, rows)
        verdicts = similarity >= get_comparer(name).threshold
        of: dict[str, tuple[np.ndarray, ...]] = {}
        for system in SYSTEMS:
            mine = np.flatnonzero(systems == system)
            said, low = verdicts[mine], similarity[mine][~verdicts[mine]]
            strata = np.zeros(len(mine), dtype=np.intp)
            strata[~said] = low > np.median(low)
            of[system] = said, truth[mine], strata, items[mine]
            results = [
                rate_of_units(labelled(*of[system][:3], rng.random(len(mine))), of_set=True) for _ in range(n_draws)
            ]
            value, shown = float(truth[mine].mean()), [result for result in results if not result.refused]
            line = f"{name} {system}: people {100 * value:.1f} %, comparer {100 * said.mean():.1f} %"
            if not shown:
                yield f"{line}; refused: {results[0].refused}"
                continue
            widths = [np.diff(result.confidence_interval["corrected"])[0] for result in shown]
            alone = 2 * 1.96 * np.sqrt(value * (1 - value) / N_LABELS)
            rate = np.mean([covers(result.confidence_interval["corrected"], value) for result in shown])
            plain = rate_of_units(labelled(*of[system][:3], rng.random(len(mine)))).confidence_interval["observed"]
            yield (
                f"{line}; covers {100 * rate:.1f} % (uncorrected {100 * covers(plain, value):.0f} %), "
                f"width {np.mean(widths):.3f} (labels alone {alone:.3f}), refused {1 - len(shown) / n_draws:.2f}"
            )
        if name == names[-1]:
            continue
        for one, two in combinations(SYSTEMS, 2):
            both = np.intersect1d(of[one][3], of[two][3])
            (a, x, s, _), (b, y, t, _) = (tuple(c[np.isin(of[m][3], both)] for c in of[m]) for m in (one, two))
            alike, value, pattern = (x == y).astype(float), float((x == y).mean()), a.astype(np.intp) + b
            results = [
                rate_of_units(labelled(a == b, alike, pattern, rng.random(len(both))), of_set=True)
                for _ in range(n_draws)
            ]
            rate = np.mean([covers(result.confidence_interval["corrected"], value) for result in results])
            line = f"{name} {one} and {two}: alike {100 * value:.1f} %, comparer {100 * np.mean(a == b):.1f} %"
            line += f"; covers {100 * rate:.1f} %"
            if one == "fid" and two in ("gpt4", "newbing"):
                line += difference((a, x, s, both), (b, y, t, both), n_draws, rng)
            yield line


def difference(first: tuple[Any, ...], second: tuple[Any, ...], n_draws: int, rng: np.random.Generator) -> str:
    true, signs, shown, alone, covered = float(first[1].mean() - second[1].mean()), 0, 0, 0, 0
    for _ in range(n_draws):
        order = rng.random(len(first[0]))
        one, two = (labelled(*each[:3], order, groups=each[3]) for each in (first, second))
        value, _, ends = corrected_difference(one, two, of_set=True)
        signs, shown, covered = (
            signs + (value * true > 0),
            shown + (ends[0] * ends[1] > 0),
            covered + covers(ends, true),
        )
        gaps = (first[1] - second[1])[rng.choice(len(order), N_LABELS, replace=False)]
        alone += abs(gaps.mean()) > 1.96 * gaps.std(ddof=1) / np.sqrt(N_LABELS)
    shares = [100 * n / n_draws for n in (signs, shown, alone, covered)]
    return "; difference {:.1f}: sign {:.1f} %, shown {:.1f} % (labels {:.1f} %), covers {:.1f} %".format(
        100 * true, *shares
    )


def drawn(design: dict[str, Any], n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return verdicts, labels and problems of n problems."""
    s, f = design["sensitivity"], design["false"]
    if design["kind"] == "problems":
        same = rng.random(n) < design["rate"]
        return np.where(same, rng.random(n) < s, rng.random(n) < f), same.astype(float), np.arange(n)
    mode = rng.beta(4 * design["rate"], 4 * (1 - design["rate"]), n)[:, None]
    answers = np.where(rng.random((n, 4)) < mode, 0, rng.integers(1, 4, (n, 4)))
    i, j = np.triu_indices(4, 1)
    same = answers[:, i] == answers[:, j]
    if design["kind"] == "pairs":
        said = np.where(same, rng.random(same.shape) < s, rng.random(same.shape) < f)
    else:  # answers are misread, and some problems' answers merge
        merged = np.where((rng.random((n, 1)) < f) & (answers == 1), 0, answers)
        read = np.where(rng.random((n, 4)) < 1 - np.sqrt(s), 10 + np.arange(4), merged)
        said = read[:, i] == read[:, j]
    return said.ravel(), same.astype(float).ravel(), np.repeat(np.arange(n), 6)


def simulated(n_draws: int, n_designs: int = 30) -> Iterator[str]:
    """Yield a line for each simulated comparer."""
    rng = np.random.default_rng(1)
    designs = [
        {
            "kind": ("problems", "pairs", "answers")[number % 3],
            "sensitivity": rng.uniform(0.6, 0.99),
            "false": rng.uniform(0.01, 0.2),
            "rate": rng.uniform(0.4, 0.9),
        }
        for number in range(n_designs)
    ]
    for rate, (s, f) in product((0.002, 0.01, 0.05, 0.97, 0.995), ((0.9, 0.05), (0.7, 0.01))):
        designs.append({"kind": "problems", "sensitivity": s, "false": f, "rate": rate})
    for s, f in ((0.9, 0.05), (0.95, 0.15)):
        designs.append({"kind": "pairs", "sensitivity": s, "false": f, "rate": 0.99})
    for design in designs:
        n = 2_000 if design["kind"] == "problems" else 500
        said, same, groups = drawn(design, 100_000, rng)
        share, value = float(said.mean()), float(same.mean())
        yes, no = float(same[said].mean()), float(same[~said].mean())
        spread = np.bincount(groups, np.where(said, yes, no)) / np.bincount(groups)
        n_yes = 0.5 * N_LABELS * (share + 0.5)
        best = share**2 * yes * (1 - yes) / n_yes + (1 - share) ** 2 * no * (1 - no) / (N_LABELS - n_yes)
        best = 2 * 1.96 * np.sqrt(best + spread.var() / n)
        true = {"corrected": value, "sensitivity": said[same > 0].mean(), "false_match_rate": said[same == 0].mean()}
        n_covered, widths, n_refused = dict.fromkeys(true, 0), [], 0
        for _ in range(n_draws):
            said, same, groups = drawn(design, n, rng)
            order = (rng.random(n)[groups] + np.tile(np.arange(len(said) // n), n) / (len(said) // n)) % 1.0
            found = rate_of_units(labelled(said, same, np.zeros(len(said), dtype=np.intp), order, groups=groups))
            n_refused += bool(found.refused)
            for key, truth in true.items():
                n_covered[key] += covers(found.confidence_interval[key], float(truth))
            widths.append(np.diff(found.confidence_interval["corrected"])[0])
        n_shown = {**dict.fromkeys(true, n_draws), "corrected": max(n_draws - n_refused, 1)}
        rates = ", ".join(f"{key} {100 * n_covered[key] / n_shown[key]:.1f}" for key in true)
        yield (
            f"{design['kind']}: s {true['sensitivity']:.2f} f {true['false_match_rate']:.3f} rate {value:.3f}: covers "
            f"(%) {rates}; width {np.nanmean(widths) / best:.2f} of the best; refused {n_refused / n_draws:.2f}"
        )


def variance_units(
    right: np.ndarray, said: np.ndarray, order: np.ndarray, n_labels: int = N_LABELS
) -> tuple[CheckedUnits, CheckedUnits]:
    """Return four answers to each of n problems, and their pairs; both answers of a pair on the sheet are labelled."""
    n, (i, j) = len(right), np.triu_indices(4, 1)
    alike, strata = said[:, i] == said[:, j], (said[:, i] + 1 * said[:, j]).ravel()
    groups, same = np.repeat(np.arange(n), 6), 1.0 * (right[:, i] == right[:, j]).ravel()
    order = (order[groups] + np.tile(np.arange(6), n) / 6) % 1.0
    pairs = labelled(alike.ravel(), same, strata, order, n_labels, groups=groups)
    marked = np.flatnonzero(pairs.is_labelled)
    labels, weight = np.full((n, 4), np.nan), np.zeros((n, 4))
    for of in (i, j):
        rows, columns = groups[marked], of[marked % 6]
        labels[rows, columns] = right[rows, columns]
        np.add.at(weight, (rows, columns), pairs.sampling[marked])
    sampling, groups = np.where(weight > 0, weight / 3, 1.0).ravel(), np.repeat(np.arange(n), 4)
    return CheckedUnits.of(said.ravel(), labels.ravel(), sampling=sampling, groups=groups), pairs


def variance_differences(n_draws: int) -> Iterator[str]:
    """Yield how often intervals of differences of corrected VAP and PVAP cover: two models asked the same problems."""
    rng, designs = np.random.default_rng(5), (((0.9, 0.05, 2, 1), (0.8, 0.1, 1, 1)), ((0.9, 0.05, 2, 1),) * 2)
    designs += (((0.7, 0.02, 4, 2), (0.9, 0.1, 3, 0.6)), ((0.95, 0.1, 0.5, 0.5), (0.9, 0.05, 4, 0.4)))
    designs += (((0.95, 0.1, 6, 0.4), (0.95, 0.05, 8, 0.4)), ((0.9, 0.05, 8, 0.4), (0.7, 0.1, 8, 2)))
    for (n, n_pairs), models in product(((500, 100), (150, 100), (500, 50)), designs):
        truth = dict.fromkeys(("vap", "pvap"), 0.0)
        for sign, (*_, a, b) in zip((1, -1), models, strict=True):
            truth["pvap"] += sign * (a + b) / (a + b + 1)
            truth["vap"] += sign * a * b / (a + b) / (a + b + 1)
        n_covered, n_shown = dict.fromkeys(truth, 0), 0
        for _ in range(n_draws):
            difficulty, order, of = rng.random(n), rng.random(n), []
            for s, f, a, b in models:
                right = rng.random((n, 4)) < beta.ppf(difficulty, a, b)[:, None]
                said = np.where(right, rng.random(right.shape) < s, rng.random(right.shape) < f)
                of.append(variance_units(right, said, order, n_pairs))
            (answers, pairs), (other, other_pairs) = of
            try:
                ends = corrected_difference(pairs, other_pairs, accuracy=(answers, other))[2]
            except InputError:
                continue
            n_shown += 1
            n_covered["pvap"] += covers(ends, truth["pvap"])
            of_pairs = corrected_difference(pairs, other_pairs)[2]
            n_covered["vap"] += covers([-end / 2 for end in of_pairs[::-1]], truth["vap"])
        rates = ", ".join(f"{key} {100 * n_covered[key] / max(n_shown, 1):.1f}" for key in truth)
        yield f"{n} problems, {n_pairs} pairs, {models}: covers (%) {rates}; refused {1 - n_shown / n_draws:.2f}"


def variances(n_draws: int) -> Iterator[str]:
    """Yield how often the intervals of corrected VAP and PVAP cover: four answers to each problem."""
    rng, models = np.random.default_rng(3), ((0.9, 0.05, 2, 1), (0.7, 0.02, 4, 2), (0.8, 0.2, 1, 0.3))
    models += ((0.95, 0.1, 0.5, 0.5), (0.9, 0.05, 8, 0.4), (0.9, 0.1, 6, 3))
    sizes = ((500, 200), (500, 100), (150, 100), (150, 60), (1000, 200))
    for (n, n_pairs), (s, f, a, b) in product(sizes, models):
        mean = a / (a + b)
        truth = {"vap": mean * (1 - mean) * (a + b) / (a + b + 1), "pvap": (a + b) / (a + b + 1)}
        n_covered, n_naive, n_shown = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0), 0
        for _ in range(n_draws):
            right = rng.random((n, 4)) < rng.beta(a, b, n)[:, None]
            said = np.where(right, rng.random(right.shape) < s, rng.random(right.shape) < f)
            units = variance_units(right, said, rng.random(n), n_pairs)
            found = dict(zip(truth, corrected_variance(*units), strict=True))
            n_shown += not found["pvap"].refused
            for key, value in truth.items():
                n_covered[key] += not found[key].refused and covers(found[key].confidence_interval["corrected"], value)
                n_naive[key] += covers(found[key].confidence_interval["observed"], value)
        rates = ", ".join(
            f"{key} {100 * n_covered[key] / max(n_shown, 1):.1f} (by the comparer {100 * n_naive[key] / n_draws:.1f})"
            for key in truth
        )
        design = f"{n} problems, {n_pairs} pairs, s {s:.2f} f {f:.2f}, accuracy {mean:.2f}"
        yield f"{design}: covers (%) {rates}; refused {1 - n_shown / n_draws:.2f}"


def above_chance(n_draws: int) -> Iterator[str]:
    """Yield how often intervals of corrected consistency above chance cover: four answers to each problem."""
    rng, (i, j) = np.random.default_rng(4), np.triu_indices(4, 1)
    errors = ((0.9, 0.05, 0.9, 0.05), (0.7, 0.1, 0.6, 0.02), (0.95, 0.2, 0.8, 0.15))
    designs = ((400, 2, 2.0), (400, 4, 1.0), (150, 3, 0.3), (400, 30, 0.5), (1000, 12, 4.0), (100, 5, 1.0))
    for (n, k, spread), (s, f, s_apart, f_apart) in product(designs, errors):
        popular = 1.0 / np.arange(1, k + 1)
        popular /= popular.sum()
        by_chance = float(popular @ popular)
        same = by_chance + (1.0 - by_chance) / (spread + 1.0)  # of two answers of a Dirichlet-multinomial
        truth, shown, n_covered, n_naive, widths = (same - by_chance) / (1.0 - by_chance), 0, 0, 0, []
        for _ in range(n_draws):
            shares = rng.dirichlet(spread * popular, n)
            answers = (rng.random((n, 4, 1)) > shares.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
            alike, groups = (answers[:, i] == answers[:, j]).ravel(), np.repeat(np.arange(n), 6)
            said = np.where(alike, rng.random(alike.shape) < s, rng.random(alike.shape) < f)
            order = (rng.random(n)[groups] + np.tile(np.arange(6), n) / 6) % 1.0
            strata = np.zeros(len(said), dtype=np.intp)
            within = labelled(said, alike * 1.0, strata, order, 150, groups=groups)
            problems, given = np.repeat(np.arange(n), 4), answers.ravel()
            first, second = turned(rng.permutation(4 * n), problems)
            alike = given[first] == given[second]
            said = np.where(alike, rng.random(alike.shape) < s_apart, rng.random(alike.shape) < f_apart)
            both, strata = np.stack([problems[first], problems[second]], axis=1), np.zeros(len(said), dtype=np.intp)
            apart = labelled(said, alike * 1.0, strata, rng.random(len(said)), 50, groups=both)
            found = corrected_above_chance(within, apart)[1]
            shown += not found.refused
            n_covered += covers(found.confidence_interval["corrected"], truth)
            n_naive += covers(found.confidence_interval["observed"], truth)
            widths.append(np.diff(found.confidence_interval["corrected"])[0])
        yield (
            f"{n} problems, {k} answers, s {s:.2f} f {f:.2f}, apart s {s_apart:.2f} f {f_apart:.2f}, by chance "
            f"{100 * by_chance:.0f} %: above chance {100 * truth:.1f} %, covers {100 * n_covered / max(shown, 1):.1f} "
            f"% (by the comparer {100 * n_naive / n_draws:.0f} %), width {np.nanmean(widths):.3f}, "
            f"refused {1 - shown / n_draws:.2f}"
        )


def pooled(n_draws: int) -> Iterator[str]:
    """Yield how often a sheet of two models is warned of, whose comparer errs alike or not."""
    rng = np.random.default_rng(2)
    for s, f in ((0.9, 0.05), (0.75, 0.05), (0.6, 0.05), (0.9, 0.2)):
        n_warned = 0
        for _ in range(n_draws):
            errors = []
            for sensitivity, false in ((0.9, 0.05), (s, f)):
                design = {"kind": "problems", "sensitivity": sensitivity, "false": false, "rate": 0.6}
                said, same, groups = drawn(design, 2_000, rng)
                strata = np.zeros(len(said), dtype=np.intp)
                errors.append(rate_of_units(labelled(said, same, strata, rng.random(len(said)), groups=groups)))
            n_warned += differs(*errors)
        yield f"errors .90, .05 and {s:.2f}, {f:.2f}: {100 * n_warned / n_draws:.1f} % warned of"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1_000)
    n_draws = parser.parse_args().draws
    people, cautions = of_people(n_draws, ("tokens", "contains", "text")), pooled(max(n_draws // 5, 20))
    for part in (
        people,
        simulated(n_draws),
        variances(n_draws),
        variance_differences(n_draws),
        above_chance(n_draws),
        cautions,
    ):
        for line in part:
            print(line, flush=True)


if __name__ == "__main__":
    main()
