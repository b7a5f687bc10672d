"""Claims of the metric cards: each number with what recomputes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from documented_numbers import Claim, Quote
from documented_sources import BECEL, Sources
from helpers.measure_examples import MEASURES

from paraconsist.measures.antecedents import transitive_inconsistency
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import PRESETS
from paraconsist.measures.ie_test import ie_test, ie_test_from_counts
from paraconsist.measures.prediction_change import prediction_change


def card(name: str) -> str:
    return f"metrics/{name}/README.md"


# ------------------------------------------------------------------------------- paraphrastic consistency

SETS = {"alpha-NLI": "anli", "delta-SNLI": "snli", "delta-ATOMIC": "atomic", "delta-SOCIAL": "social"}
MODELS = {"RoBERTa-large": "roberta-large", "bag of words": "bow"}
TABLE_4 = {
    "A_O": "original_accuracy",
    "A_T": "test_accuracy",
    "A": "accuracy",
    "P_C": "paraphrastic_consistency",
    "A_c": "corrected_accuracy",
    "P_Cc": "corrected_paraphrastic_consistency",
    "unbiased": "paraphrastic_consistency_unbiased",
}
#: Every pair of a model and a set but the one whose published predictions are a fault.
PUBLISHED = [(m, s) for m in MODELS for s in SETS if (m, s) != ("bag of words", "alpha-NLI")]


def in_percent(result: Mapping[str, Any]) -> dict[str, float]:
    return {short: 100 * result[key] for short, key in TABLE_4.items()}


def self_pair_points(sources: Sources) -> dict[str, float]:
    """What counting each paraphrase as a pair with itself adds, in points, over all published predictions."""
    files = sorted((sources.data / "paranlu" / "predictions").glob("*.parquet"))
    names = [tuple(path.stem.split("__")) for path in files]
    found = [sources.paraphrastic(*name) for name in names if name[2] != "test" and name[:2] != ("anli", "bow")]
    added = [100 * (one["paraphrastic_consistency"] - one["paraphrastic_consistency_unbiased"]) for one in found]
    return {"least": min(added), "most": max(added)}


PARAPHRASTIC = [
    Claim(
        card("paraphrastic_consistency"),
        f"| {model} | {name} | {{A_O:.1f}} | {{A_T:.1f}} | {{A:.1f}} | {{P_C:.1f}} | {{A_c:.1f}} | {{P_Cc:.1f}} |",
        lambda sources, m=MODELS[model], s=SETS[name]: in_percent(sources.paraphrastic(s, m)),
        needs="data",
    )
    for model, name in PUBLISHED
] + [
    Claim(
        card("paraphrastic_consistency"),
        "it is too high (by {least:.1f} to {most:.1f} points on the published predictions)",
        self_pair_points,
        needs="data",
    )
]

# ---------------------------------------------------------------------------------------- two models


def published_difference(sources: Sources, name: str, *, with_groups: bool) -> dict[str, float]:
    """RoBERTa-large minus bag of words on human paraphrases, in points."""
    one, two = (sources.published(name, model, "human") for model in ("roberta-large", "bow"))
    for column in ("bucket_id", "paraphrase_id"):
        assert (one[column] == two[column]).all()
    context = {row["bucket_id"]: row["group_id"] for row in sources.rows("paranlu", f"delta_{name}")}
    buckets = one["bucket_id"].tolist()
    found = consistency_difference(
        one["pred"].tolist(),
        two["pred"].tolist(),
        one["gold"].tolist(),
        buckets,
        roles=np.where(one["is_original"], "original", "paraphrase").tolist(),
        groups=[context[bucket] for bucket in buckets] if with_groups else None,
    ).to_dict()
    low, high = found["confidence_interval"]["difference"]
    effect = found["design_effect"]
    effect = effect["difference"] if isinstance(effect, dict) else effect
    return {"d": 100 * found["difference"], "low": 100 * low, "high": 100 * high, "p": found["p_value"], "deff": effect}


def published_differences(sources: Sources) -> dict[str, float]:
    with_groups = {n: published_difference(sources, n, with_groups=True) for n in ("atomic", "snli", "social")}
    without = {f"{n}_rows": published_difference(sources, n, with_groups=False) for n in ("snli", "social")}
    return {f"{key}_{name}": value for name, found in (with_groups | without).items() for key, value in found.items()}


COMPARISON = [
    Claim(
        card("consistency_difference"),
        "delta-ATOMIC {d_atomic:.1f} (interval {low_atomic:.1f} to {high_atomic:.1f}, p {p_atomic:.2}), delta-SNLI "
        "{d_snli:.1f} ({low_snli:.1f} to {high_snli:.1f}, p {p_snli:.3}), delta-SOCIAL {d_social:.1f} "
        "({low_social:.1f} to {high_social:.1f}, p {p_social:.2}). Without `groups` the last two get "
        "{low_snli_rows:.1f} to {high_snli_rows:.1f} and {low_social_rows:.1f} to {high_social_rows:.1f} "
        "(p {p_social_rows:.2}): the design effects are {deff_snli:.1f} and {deff_social:.1f}.",
        published_differences,
        needs="data",
    )
]

# ----------------------------------------------------------------------------------------------- BECEL


def snli_rules(sources: Sources) -> dict[str, Any]:
    """What a constant and a uniform consequent score on SNLI's rules where both antecedents are right."""
    gold = [int(row["label"]) for row in sources.delimited(f"{BECEL}/snli/test.tsv", "\t")]
    rules = sources.delimited(f"{BECEL}/snli/transitive.tsv", "\t")
    pairs = [tuple(map(int, row["originated_idx"].split("|"))) for row in rules]
    sides = [[gold[pair[side]] for pair in pairs] for side in (0, 1)]
    scores = [
        transitive_inconsistency(
            [label] * len(rules),
            [{"2": [2], "3": [1, 2]}[row["label"]] for row in rules],
            sides[0],
            sides[0],
            sides[1],
            sides[1],
            n_resamples=2,
        ).inconsistency
        for label in range(3)
    ]
    names = dict(zip(("entailment", "neutral", "contradiction"), scores, strict=True))
    return {"n": len(rules), **names, "uniform": sum(scores) / len(scores)}


TRANSITIVE = [
    Claim(
        card("transitive_inconsistency"),
        "On SNLI's {n:,} published rules, with correct antecedents, a consequent that is always entailment scores "
        "{entailment:.3f}, always neutral {neutral:.3}, always contradiction {contradiction:.3}, and a uniform one "
        "{uniform:.3}.",
        snli_rules,
        needs="data",
    )
]
_SCRIPT = "the example predictions with the published code; its files are not at hand"
BECEL_QUOTES = [
    Quote(card(f"{name}_inconsistency"), text, "The authors' script prints", _SCRIPT)
    for name, texts in {
        "semantic": (".05 for the example predictions",),
        "symmetric": (".04 for the example predictions", ".0104 over those"),
        "negational": (".86 for the example predictions", ".8427 over those"),
        "additive": (".0532 for the example predictions",),
        "transitive": (".02315 on 2,160 rows of SNLI", ".47772 on 1,930 rows of WiC"),
    }.items()
    for text in texts
]

# ------------------------------------------------------------------------------------- prediction change


def parte_changes(sources: Sources) -> dict[str, Any]:
    rows = sources.delimited("parte/predictions_bert_gpt3.csv")
    gold = [int(row["gold_label"] == "entailed") for row in rows]
    sides = ["both" if row["paraphrased_pair_id"].endswith("_ph") else "one" for row in rows]
    said: dict[str, Any] = {"n": len(rows)}
    for model in ("bert", "gpt3"):
        found = prediction_change(
            *([int(row[f"{model}_{side}"]) for row in rows] for side in ("paraphrase", "original")),
            gold,
            strata={"sides": sides},
        ).to_dict()
        said |= {
            f"{model}_n": found["n_changed"],
            f"{model}_broken": found["correct_to_incorrect"],
            f"{model}_mended": found["incorrect_to_correct"],
            f"{model}_right": 100 * found["change_rate_given_correct"],
            f"{model}_wrong": 100 * found["change_rate_given_incorrect"],
        }
        for side, stratum in found["by_stratum"]["sides"].items():
            said[f"{model}_{side}"] = 100 * stratum["change_rate"]
    return said


CHANGE = [
    Claim(
        card("prediction_change"),
        "PaRTE ({n:,} pairs) this metric gives: BERT {bert_n} changed ({bert_broken} from right to wrong, "
        "{bert_mended} from wrong to right; {bert_one:.2f} % with one side paraphrased, {bert_both:.2f} % with both; "
        "{bert_right:.2f} % where the original is right, {bert_wrong:.2f} % where it is wrong), GPT-3 {gpt3_n} "
        "({gpt3_broken}, {gpt3_mended}).",
        parte_changes,
        needs="data",
    )
]

# ------------------------------------------------------------------------------------------- fooling rate

FOOLING = [
    Claim(
        card("fooling_rate"),
        "uses the first {n} candidates that pass its filter and drops items with fewer",
        lambda sources: {"n": PRESETS["code"][0]},
    ),
    Claim(card("fooling_rate"), '`"code"`: the first {n} variants', lambda sources: {"n": PRESETS["code"][0]}),
]
FOOLING_QUOTES = [
    Quote(card("fooling_rate"), text, "The paper prints", "Arakelyan et al. 2024, averages of its tables of rates")
    for text in (
        "MNLI 6.58 / 12.92",
        "SNLI 10.24 / 16.54",
        "round 1 29.97 / 41.30",
        "round 2 31.32 / 48.53",
        "round 3 27.04 / 48.17",
    )
]

# ------------------------------------------------------------------------------------------------ IE test

RHOS_OF_TABLE_2 = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)


def signal_to_noise(sources: Sources) -> dict[str, Any]:
    runs = sources.ie_runs()
    of_table = np.isin(runs["rho"], RHOS_OF_TABLE_2)
    said: dict[str, Any] = {"shares": len(RHOS_OF_TABLE_2)}
    for model in ("xgb", "albert_base", "roberta_base"):
        for dataset in ("snli", "mnli"):
            chosen = of_table & (runs["model"] == model) & (runs["dataset"] == dataset)
            n, n11, n10, n01 = (runs[name][chosen] for name in ("n", "n11", "n10", "n01"))
            said[f"{model}_{dataset}"] = ie_test_from_counts(n, n10, n01, n_correct=n11 + n10).snr
            said["runs"] = int(chosen.sum())
    return said


def of_fifty(sources: Any) -> dict[str, float]:
    def p(lost: int, gained: int, ties: str) -> float:
        return float(ie_test_from_counts(50, lost, gained, n_correct=50 - gained, ties=ties).p_value)

    both = {p(3, 0, "mid"), p(0, 3, "mid")}
    assert len(both) == 1
    return {"lost": p(3, 0, "lower"), "gained": p(0, 3, "lower"), "mid": both.pop()}


def ie_defaults(sources: Any) -> dict[str, Any]:
    return {name: found.default for name, found in inspect.signature(ie_test).parameters.items()}


IE = [
    Claim(
        card("ie_test"),
        "over the {runs} runs at {shares:word} shares of transformed training rows (Table 2), from the published runs "
        "by `snr`: XGBoost {xgb_snli:.1f} on SNLI and {xgb_mnli:.1f} on MNLI, ALBERT-base {albert_base_snli:.1f} and "
        "{albert_base_mnli:.1f}, RoBERTa-base {roberta_base_snli:.1f} and {roberta_base_mnli:.1f}.",
        signal_to_noise,
        needs="data",
    ),
    Claim(
        card("ie_test"),
        "losing three gives {lost:.4} and gaining three {gained:.4}. The default mid-p gives {mid:.4} for both.",
        of_fifty,
    ),
    Claim(card("ie_test"), "| `n_resamples`, `seed` | {n_resamples}, {seed} |", ie_defaults),
    Claim(card("ie_test"), "| `alpha`, `correction` | {alpha}, `bonferroni` |", ie_defaults),
    Claim(card("ie_test"), "| `confidence_level` | {confidence_level} |", ie_defaults),
    Claim(card("ie_test"), "of {n} items, losing three", lambda sources: {"n": 50}),
]

# -------------------------------------------------------------------------------------- paraphrase diversity

_DELTA = ("snli", "atomic", "social")


def diversity(sources: Sources, ending: str) -> dict[str, float]:
    """Mean lexical distance and Jaccard index of ParaNLU's updates, in per cent."""
    said = {}
    for name in _DELTA:
        rows = sources.rows("paranlu", f"delta_{name}{ending}")
        original = {row["bucket_id"]: row["update"] for row in rows if row["role"] == "original"}
        pairs = [(row["update"], original[row["bucket_id"]]) for row in rows if row["role"] == "paraphrase"]
        found = paraphrase_diversity(*zip(*pairs, strict=True), n_resamples=10)
        said |= {name: 100 * found.lexical_distance, f"{name}_jaccard": 100 * found.jaccard}
    return said


def all_diversity(sources: Sources) -> dict[str, float]:
    both = {"human": diversity(sources, ""), "auto": diversity(sources, "_automatic")}
    return {f"{kind}_{key}": value for kind, found in both.items() for key, value in found.items()}


_ROW = " | ".join(f"{{{name}:.1f}}" for name in _DELTA)
_JACCARD = [", ".join(f"{{{kind}_{name}_jaccard:.1f}}" for name in _DELTA) for kind in ("human", "auto")]
DIVERSITY = [
    Claim(card("paraphrase_diversity"), f"| human | {_ROW} |", lambda sources: diversity(sources, ""), "data"),
    Claim(
        card("paraphrase_diversity"),
        f"| automatic | {_ROW} |",
        lambda sources: diversity(sources, "_automatic"),
        "data",
    ),
    Claim(card("paraphrase_diversity"), f"human {_JACCARD[0]}; automatic {_JACCARD[1]}", all_diversity, "data"),
]
DIVERSITY_QUOTES = [
    Quote(card("paraphrase_diversity"), "40.0 for SOCIAL human", "Table 6 prints", "Srikanth et al. 2024, Table 6"),
    Quote(card("paraphrase_diversity"), "pairs of 75 or more", "the PaRTE paper", "Verma et al. 2023, 3.1"),
]

# ------------------------------------------------------------------------------------------------ options

OPTIONS = [
    Claim(
        card(name),
        "`confidence_level` (`{confidence_level}` unless given)",
        lambda sources, function=measure.function: {
            "confidence_level": inspect.signature(function).parameters["confidence_level"].default
        },
    )
    for name, measure in MEASURES.items()
    if name not in ("ie_test", "consistency_difference", "paraphrase_diversity")
]

CLAIMS = [*OPTIONS, *PARAPHRASTIC, *COMPARISON, *TRANSITIVE, *CHANGE, *FOOLING, *IE, *DIVERSITY]
QUOTES = [*BECEL_QUOTES, *FOOLING_QUOTES, *DIVERSITY_QUOTES]
