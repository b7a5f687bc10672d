"""What follows from the numbers that Jang et al. 2022 (BECEL) print: best and worst models, and tests of size.

python j22.py        # the two tables that stand in README.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cells import printed, taus
from scipy.stats import ttest_ind_from_stats

from paraconsist.measures.standings import adjusted_p_values

SIZES = ("base", "large")
N_SEEDS = 5


def cases() -> list[tuple[str, str]]:
    """Return the data set and measure of the nineteen cases of Table 2."""
    return list(dict.fromkeys((dataset, measure) for dataset, measure, *_ in taus()))


def best_and_worst(dataset: str, measure: str, size: str) -> Iterator[tuple[str, float]]:
    """Yield the models with the lowest tau of a case, then those with the highest, and that tau."""
    models = {model: tau for (*case, model), tau in taus().items() if case == [dataset, measure, size]}
    for tau in (min(models.values()), max(models.values())):
        yield ", ".join(model for model in models if models[model] == tau), tau


def size_tests() -> list[tuple[str, str, float, float, float]]:
    """Return score, model, large less base, Welch's p, and p by Holm's correction over all of them.

    They are Figure 4's tests for Table 6's scores, which have deviations over five seeds, taken as those of a sample;
    Table 2's inconsistencies are printed without deviations, so theirs do not follow. Deviations are printed to one
    digit, and p is as good as that.
    """
    scores = {
        (f"{row['dataset']}, {row['measure']}", row["model"], row["size"]): (row["value"], row["sd"])
        for row in printed("J22", "6")
    }
    pairs = list(dict.fromkeys((score, model) for score, model, _ in scores))
    moments = [[scores[score, model, size] for size in reversed(SIZES)] for score, model in pairs]
    p = [float(ttest_ind_from_stats(*m[0], N_SEEDS, *m[1], N_SEEDS, equal_var=False).pvalue) for m in moments]
    differences = [round(large - base, 1) for (large, _), (base, _) in moments]
    return [
        (*pair, *numbers)
        for pair, *numbers in zip(pairs, differences, p, adjusted_p_values(np.array(p), "holm").tolist(), strict=True)
    ]


def best_worst_table() -> str:
    """Return best and worst models of each case as lines of Markdown."""
    lines = ["| case | best, base | worst, base | best, large | worst, large |", "|---|---|---|---|---|"]
    for dataset, measure in cases():
        ends = [f"{models} {tau}" for size in SIZES for models, tau in best_and_worst(dataset, measure, size)]
        lines.append(f"| {dataset}, {measure.removesuffix('_inconsistency')} | {' | '.join(ends)} |")
    return "\n".join(lines)


def size_table() -> str:
    """Return the tests of size as lines of Markdown, a line a score, a column a model."""
    tests = size_tests()
    models = list(dict.fromkeys(model for _, model, *_ in tests))
    lines = [f"| large less base | {' | '.join(models)} |", "|---" * (len(models) + 1) + "|"]
    for score in dict.fromkeys(score for score, *_ in tests):
        found = {model: (d, p, holm) for one, model, d, p, holm in tests if one == score}
        values = [f"{d:+.1f}{'**' if holm < 0.05 else '*' if p < 0.05 else ''}" for d, p, holm in found.values()]
        lines.append(f"| {score} | {' | '.join(values)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(best_worst_table(), size_table(), sep="\n\n")
