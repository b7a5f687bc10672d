"""Claims of the README on the IE test's baseline: decided again from the counts of every run, kept in ``ie_runs/``."""

from __future__ import annotations

import csv
from functools import cache
from typing import Any

import numpy as np
from documented_numbers import ROOT, Claim
from documented_sources import BECEL, Sources

from paraconsist.measures.paired_tests import exact_p_value

README = "README.md"
SETS = ("snli", "mnli")
RHOS = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHA = 0.05


@cache
def runs(name: str) -> dict[str, np.ndarray]:
    with (ROOT / "tests" / "ie_runs" / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}


def at(name: str, rho: float) -> dict[str, Any]:
    """Accuracies, smallest p and rejections of the runs at one rho, Bonferroni over them."""
    found = runs(name)
    chosen = np.isclose(found["rho"], rho)
    n, n11, n10, n01 = (found[key][chosen].astype(int) for key in ("n", "n11", "n10", "n01"))
    p = exact_p_value(n, n10, n01)
    return {
        "before": 100 * np.mean((n11 + n10) / n),
        "after": 100 * np.mean((n11 + n01) / n),
        "p": p.min(),
        "rejected": int(np.count_nonzero(p <= ALPHA / len(p))),
        "runs": len(p),
    }


def baseline(sources: Any) -> dict[str, Any]:
    rhos = {name: set(runs(name)["rho"].tolist()) for name in SETS}
    assert rhos["snli"] == rhos["mnli"]
    n_rhos = len(rhos["snli"])
    return {"rhos": n_rhos, "runs": len(runs("snli")["rho"]) // n_rhos}


def both(rho: float) -> dict[str, Any]:
    return {f"{key}_{name}": value for name in SETS for key, value in at(name, rho).items()}


@cache
def cost(name: str) -> dict[str, float]:
    """What an experiment trained on and took, in minutes."""
    with (ROOT / "tests" / "ie_runs" / "experiments.csv").open(encoding="utf-8", newline="") as lines:
        (row,) = [row for row in csv.DictReader(lines) if row["name"] == name]
    said = {key: float(value) for key, value in row.items() if key != "name"}
    assert said["n_trainings"] == len(runs(name)["rho"])
    assert said["n_test"] == runs(name)["n"][0]
    return {**said, "minutes": said["seconds"] / 60}


def encoder(sources: Any) -> dict[str, Any]:
    found = runs("snli_minilm")
    return {**cost("snli_minilm"), "runs": int(np.count_nonzero(found["rho"] == 0))}


def rows_of_splits(sources: Sources) -> dict[str, int]:
    """Count the rows with a gold label, as `--drop-unlabelled` keeps them."""
    train = sources.delimited("nli/snli_train_10k.csv")
    dev = sources.delimited(f"{BECEL}/snli/validation.tsv", "\t")
    return {"train": labelled(train), "dev": labelled(dev)}


def labelled(rows: list[dict[str, str]]) -> int:
    (column,) = {name for name in rows[0] if name in ("label", "gold_label")}
    return sum(row[column] not in ("-", "-1", "") for row in rows)


CELLS = " | ".join(
    f"{{before_{name}:.1f}} | {{after_{name}:.1f}} | {{p_{name}:.1e}} | {{rejected_{name}}} of {{runs_{name}}}"
    for name in SETS
)
CLAIMS = [
    Claim(README, "{rhos} rhos (`0:1:21`), {runs:word} runs each", baseline),
    Claim(README, "SNLI: {train:,} training, {dev:,} validation", rows_of_splits, "data"),
    Claim(README, "and {n:,} test rows; MNLI", lambda sources: {"n": int(runs("snli")["n"][0])}),
    Claim(README, "MNLI: {n:,} test rows", lambda sources: {"n": int(runs("mnli")["n"][0])}),
    *(Claim(README, f"| `rho {rho:g}` | {CELLS} |", lambda sources, rho=rho: both(rho)) for rho in RHOS),
    Claim(
        README,
        "{runs:word} runs at each rho, two epochs on {n_train:,.0f} SNLI rows, {n_test:,.0f} test rows",
        encoder,
    ),
    *(
        Claim(
            README,
            f"| MiniLM, `rho {rho:g}` | {{before:.1f}} | {{after:.1f}} | {{p:.1e}} | {{rejected}} of {{runs}} |",
            lambda sources, rho=rho: at("snli_minilm", rho),
        )
        for rho in (0.0, 0.5, 1.0)
    ),
    Claim(
        README,
        "SNLI's {n_trainings:.0f} trainings took {minutes:.1f} minutes",
        lambda sources: cost("snli"),
    ),
]
