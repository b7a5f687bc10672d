"""Claims of the README on growing training sets, and its figure: recomputed from every cell of the stored sweeps.

python tests/documented_sweep.py     # draw docs/figures/pc_by_training_rows.png anew
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from documented_numbers import ROOT, Claim
from documented_sources import Sources, usual_data_folder

from paraconsist.reporting.plots.canvas import Plot, write_plot
from paraconsist.scoring.score import ScoreOptions, score
from paraconsist.studies.plots import curve_plot
from paraconsist.studies.sweep_summary import trend

README = "README.md"
BOTH = "data results"
SET = "paranlu:delta_atomic"
SEEDS = (0, 1, 2)
#: Sweep -> how the README calls its model, and its shares of the training rows.
SWEEPS = {"bow": ("`bow`", (0.01, 0.05, 0.1, 0.5, 1.0)), "minilm": ("MiniLM", (0.01, 0.05, 0.1))}
FIGURES = {
    "A_T": "test_accuracy",
    "A": "accuracy",
    "P_C": "paraphrastic_consistency",
    "unbiased": "paraphrastic_consistency_unbiased",
    "corrected": "corrected_paraphrastic_consistency",
}


@cache
def cell(sources: Sources, sweep: str, share: float, seed: int) -> dict[str, float]:
    """Return a training's rows and figures; tau is the share of paraphrases answered otherwise than their original."""
    run = f"sweep-{sweep}-{share:g}-{seed}"
    found = sources.scored(run, SET)["measures"]["paraphrastic_consistency"]
    measure = "semantic_inconsistency"
    turned = score(sources.joined(run, SET), ScoreOptions(measures=[measure], n_resamples=10))["measures"][measure]
    rows = sources.stored(run, SET).metadata["training_rows"]
    return {"rows": rows, "tau": turned["inconsistency"], **{name: found[key] for name, key in FIGURES.items()}}


def cells(sources: Sources, sweep: str) -> list[dict[str, float]]:
    return [cell(sources, sweep, share, seed) for share in SWEEPS[sweep][1] for seed in SEEDS]


def row(sweep: str, share: float) -> Callable[[Sources], dict[str, float]]:
    def values(sources: Sources) -> dict[str, float]:
        found = [cell(sources, sweep, share, seed) for seed in SEEDS]
        said = {"rows": float(np.mean([one["rows"] for one in found]))}
        for name in (*FIGURES, "tau"):
            given = [100 * one[name] for one in found]
            said |= {name: float(np.mean(given)), f"{name}_sd": float(np.std(given, ddof=1))}
        return said

    return values


def trend_of(sweep: str, name: str) -> Callable[[Sources], dict[str, Any]]:
    """Return Kendall's tau of a figure with the number of training rows, over the trainings."""

    def values(sources: Sources) -> dict[str, Any]:
        found = cells(sources, sweep)
        said = trend([(one["rows"], one[name]) for one in found])
        return {"value": said["kendall"], "p": said["p_value"], "n": len(found)}

    return values


def least_trained(sources: Sources) -> dict[str, Any]:
    share = SWEEPS["minilm"][1][0]
    found = row("minilm", share)(sources)
    assert round(found["A"], -1) == 50
    return {"share": 100 * share, "tenth": round(100 / found["tau"])}


def figure(sources: Sources) -> Plot:
    series = {}
    for sweep, (said, shares) in SWEEPS.items():
        for name, label in (("A_T", "A_T"), ("unbiased", "P_C unbiased")):
            points = [
                (row(sweep, share)(sources)["rows"], cell(sources, sweep, share, seed)[name])
                for share in shares
                for seed in SEEDS
            ]
            series[f"{label}, {said.strip('`')}"] = points
    return curve_plot(
        "pc_by_training_rows",
        "Accuracy and consistency against training rows, delta-ATOMIC",
        series,
        xlabel="training rows",
        ylabel="per cent",
        log=True,
        caption="Small marks are single trainings, lines go through their means.",
    )


TEMPLATE = " | ".join(f"{{{name}:.1f}} ± {{{name}_sd:.1f}}" for name in (*FIGURES, "tau"))
CLAIMS = [
    *(
        Claim(README, f"| {said} | {100 * share:g} % | {{rows:,.0f}} | {TEMPLATE} |", row(sweep, share), BOTH)
        for sweep, (said, shares) in SWEEPS.items()
        for share in shares
    ),
    Claim(
        README,
        "unbiased P_C falls with the rows (Kendall's tau {value:.2f}, p = {p:.3f} over {n} trainings of `bow`",
        trend_of("bow", "unbiased"),
        BOTH,
    ),
    Claim(README, "of `bow`; {value:.2f}, p = {p:.3f} over {n} of MiniLM)", trend_of("minilm", "unbiased"), BOTH),
    Claim(
        README,
        "MiniLM on {share:g} % of the rows is right half of the time and answers one paraphrase in {tenth:word} "
        "otherwise",
        least_trained,
        BOTH,
    ),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache_folder:
        plot = figure(Sources(usual_data_folder(), Path(cache_folder)))
        for file in write_plot(plot, Path(cache_folder)):
            if file.suffix == ".png":
                (ROOT / "docs" / "figures" / file.name).write_bytes(file.read_bytes())
                print(ROOT / "docs" / "figures" / file.name)


if __name__ == "__main__":
    sys.exit(main())
