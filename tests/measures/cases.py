"""One case for each measure: its example, random rows, which invariances hold, ranges, and its answer on its page."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from helpers.examples import share_of

from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift
from paraconsist.measures.diversity import paraphrase_diversity
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.pairs import negational_inconsistency, symmetric_inconsistency
from paraconsist.measures.probability_coherence import RELATIONS, probability_coherence
from paraconsist.measures.trajectories import trajectory_consistency

Rows = dict[str, Any]
Columns = dict[str, list[str]]
SEEDS = range(share_of(12, least=4))
N_LABELS = 3
INVARIANCES = ("renamed buckets", "duplication", "swap", "monotone")


@dataclass(frozen=True)
class Case:
    """What the tests have to know of a measure.

    Attributes
    ----------
    columns, options : dict
        A small example: the columns that its module declares, and options.
    draw : callable
        Random generator and a number -> random lopsided rows, as arguments.
    ranges : dict
        Path in the result -> least and largest value.
    swap : tuple, optional
        Pairs of columns that change places, and what values are called after that; "" for one that changes freely.
    worse : tuple, optional
        A value, and what makes a row worse: the value must not fall.
    fails : dict
        Invariance -> why it does not hold; every invariance that is not here is tested.
    on_page : callable, optional
        Columns of the example on its page, as texts -> the result, read by hand.
    quick : dict
        Options that make it quick on the random rows.
    """

    columns: Rows
    options: Rows
    draw: Callable[[np.random.Generator, int], Rows]
    ranges: Mapping[str, tuple[float, float]]
    swap: tuple[list[tuple[str, str]], dict[str, str]] | None = None
    worse: tuple[str, Callable[[Rows, int], Rows]] | None = None
    fails: Mapping[str, str] = field(default_factory=dict)
    on_page: Callable[[Columns], Any] | None = None
    quick: Mapping[str, Any] = field(default_factory=lambda: {"n_resamples": 40})


def measured(name: str, rows: Rows) -> dict[str, Any]:
    """Return a measure's result on random rows."""
    result: dict[str, Any] = CATALOGUE[name].function(**rows, **CASES[name].quick).to_dict()
    return result


def examples(name: str) -> Iterator[tuple[np.random.Generator, Rows]]:
    """Yield random rows of a measure, each with its generator."""
    for seed in SEEDS:
        rng = np.random.default_rng([seed, sum(map(ord, name))])
        yield rng, CASES[name].draw(rng, int(rng.integers(12, 80)))


def holding(invariance: str) -> list[str]:
    """Return the measures that an invariance holds for."""
    return [name for name in sorted(CASES) if invariance not in CASES[name].fails]


def per_row(rows: Rows) -> list[str]:
    """Return the arguments that hold one value for each row."""
    return [name for name, values in rows.items() if isinstance(values, list)]


# ------------------------------------------------------------------------------------------- random lopsided rows


def labels(rng: np.random.Generator, n: int, like: Any = None, share: float = 0.6) -> list[int]:
    """Return n random labels, a share of them copied from `like`."""
    drawn = rng.integers(0, N_LABELS, n)
    return (drawn if like is None else np.where(rng.random(n) < share, like, drawn)).tolist()


def lopsided(rng: np.random.Generator, n: int) -> list[str]:
    """Return ids of n rows: a few large buckets and many of one row, not adjacent."""
    return [f"b{i}" for i in rng.permutation(np.floor(n * rng.random(n) ** 2).astype(int))]


def per_bucket(rng: np.random.Generator, buckets: list[str]) -> list[int]:
    of = dict(zip(dict.fromkeys(buckets), labels(rng, len(set(buckets))), strict=True))
    return [of[bucket] for bucket in buckets]


def pair_rows(rng: np.random.Generator, n: int) -> Rows:
    original = labels(rng, n)
    return {
        "predictions": original,
        "perturbed_predictions": labels(rng, n, original),
        "references": labels(rng, n, original),
        "perturbed_references": labels(rng, n),
        "groups": lopsided(rng, n),
        "condition": original[0],
    }


def transitive_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = [labels(rng, n), labels(rng, n)]
    rules = [[2], [1, 2], [0, 1]]
    return {
        "predictions": labels(rng, n),
        "references": [rules[i] for i in rng.integers(0, 3, n)],
        "antecedent_1_predictions": labels(rng, n, gold[0]),
        "antecedent_1_references": gold[0],
        "antecedent_2_predictions": labels(rng, n, gold[1]),
        "antecedent_2_references": gold[1],
        "groups": lopsided(rng, n),
    }


def additive_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    names = ("predictions", "part_1_predictions", "part_2_predictions")
    return {"references": gold, "groups": lopsided(rng, n)} | {name: labels(rng, n, gold) for name in names}


def change_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    original = labels(rng, n, gold)
    return {
        "predictions": labels(rng, n, original),
        "original_predictions": original,
        "references": gold,
        "strata": lopsided(rng, n),
        "groups": lopsided(rng, n),
    }


def bucket_rows(rng: np.random.Generator, n: int) -> Rows:
    buckets = lopsided(rng, n)
    gold = per_bucket(rng, buckets)
    return {"predictions": labels(rng, n, gold), "references": gold, "buckets": buckets}


def two_model_rows(rng: np.random.Generator, n: int) -> Rows:
    one = bucket_rows(rng, n)
    both = {"predictions1": one.pop("predictions"), "predictions2": labels(rng, n, one["references"], 0.4)}
    return {**both, **one}


def variant_rows(rng: np.random.Generator, n: int) -> Rows:
    buckets = lopsided(rng, n)
    original = per_bucket(rng, buckets)
    right = dict(zip(dict.fromkeys(buckets), rng.random(n) < 0.7, strict=False))
    return {
        "predictions": labels(rng, n, original, 0.8),
        "original_predictions": original,
        "references": [o if right[b] else (o + 1) % N_LABELS for o, b in zip(original, buckets, strict=True)],
        "buckets": buckets,
        "opposites": {0: 2, 2: 0},
        "groups": {bucket: f"g{i // 2}" for i, bucket in enumerate(sorted(right))},
    }


def probability_rows(rng: np.random.Generator, n: int) -> Rows:
    original = rng.dirichlet([1.0] * N_LABELS, n)
    shifted = np.where(rng.random((n, 1)) < 0.5, rng.dirichlet([1.0] * N_LABELS, n), original)
    return {
        "probabilities": (0.9 * shifted + 0.1 * rng.dirichlet([1.0] * N_LABELS, n)).tolist(),
        "original_probabilities": original.tolist(),
        "groups": lopsided(rng, n),
    }


def statement_rows(rng: np.random.Generator, n: int) -> Rows:
    relations = [RELATIONS[name] for name in rng.choice(["Neg", "And", "Cond"], n)]
    roles = [role for relation in relations for role in relation.statements]
    buckets = [f"b{i}" for i, relation in enumerate(relations) for _ in relation.statements]
    order = rng.permutation(len(roles))
    return {
        "probabilities": np.round(rng.random(len(roles)), 1).tolist(),
        "roles": [roles[i] for i in order],
        "buckets": [buckets[i] for i in order],
        "groups": [f"g{i % 9}{roles[i]}" for i in order],
    }


def text_rows(rng: np.random.Generator, n: int) -> Rows:
    words = ["a", "dog", "dogs", "sleeps", "slept", "here", "there", "The"]
    texts = [[" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(n)] for _ in range(2)]
    vectors = [rng.normal(size=(n, 3)).tolist() for _ in range(2)]
    return {
        "paraphrases": texts[0],
        "originals": texts[1],
        "embeddings": vectors[0],
        "original_embeddings": vectors[1],
        "entailed": rng.integers(0, 2, n).tolist(),
        "groups": lopsided(rng, n),
    }


def agent_rows(rng: np.random.Generator, n: int) -> Rows:
    calls = ["\n".join(rng.choice(["find", "book", "pay", "end"], rng.integers(0, 6))) for _ in range(n)]
    return {"calls": calls, "successes": rng.integers(0, 2, n).tolist(), "buckets": lopsided(rng, n)}


def run_rows(rng: np.random.Generator, n: int) -> Rows:
    gold = labels(rng, n)
    transformed = {"transformed_predictions": labels(rng, n, gold, 0.4), "references": gold}
    return {"predictions": labels(rng, n, gold), **transformed, "groups": lopsided(rng, n)}


# ------------------------------------------------------------------------------------------------- what is worse


def breaks(name: str, to: Callable[[Rows, int], int]) -> Callable[[Rows, int], Rows]:
    """Return what makes one row of a column wrong."""

    def broken(rows: Rows, i: int) -> Rows:
        return {**rows, name: [*rows[name][:i], to(rows, i), *rows[name][i + 1 :]]}

    return broken


def other_than(name: str) -> Callable[[Rows, int], int]:
    return lambda rows, i: (rows[name][i] + 1) % N_LABELS


# ------------------------------------------------------------------------------------------- answers on the pages


def fooling_on_page(c: Columns) -> Any:
    rows = list(zip(c["bucket_id"], c["role"], c["prediction"], c["label"], strict=True))
    originals = {bucket: (prediction, label) for bucket, role, prediction, label in rows if role == "original"}
    variants = [(prediction, *originals[b], b) for b, role, prediction, _ in rows if role == "paraphrase"]
    return fooling_rate(*(list(column) for column in zip(*variants, strict=True)), originals=originals)


def shift_on_page(c: Columns) -> Any:
    n = range(len(c["p0"]))
    return distribution_shift(*([[float(c[f"{p}{k}"][i]) for k in range(3)] for i in n] for p in ("p", "original_p")))


def symmetric_on_page(c: Columns) -> Any:
    gold = {"references": c["label"], "perturbed_references": c["label"]}
    return symmetric_inconsistency(c["original_prediction"], c["prediction_swapped"], **gold)


def transitive_on_page(c: Columns) -> Any:
    sides = [c[f"antecedent_{side}_{what}"] for side in (1, 2) for what in ("prediction", "label")]
    return transitive_inconsistency(c["prediction"], [labels.split("|") for labels in c["allowed_labels"]], *sides)


# ------------------------------------------------------------------------------------------------------ the cases

A, B, GOLD = [0, 1, 2, 0, 1, 2], [0, 2, 2, 1, 1, 0], [0, 1, 2, 1, 1, 0]
GROUPS = [5, 5, 6, 6, 7, 8]
QUICK = {"n_resamples": 50, "seed": 1, "confidence_level": 0.9}
BUCKETS = {"references": [0, 0, 0, 1, 1, 1], "buckets": ["x"] * 3 + ["y"] * 3}
ROLES = ["original", "paraphrase", "paraphrase"] * 2
SHARES = dict.fromkeys(("inconsistency", "conditional_inconsistency"), (0, 1))


def _pairs(to: Callable[[Rows, int], int], on_page: Callable[[Columns], Any] | None = None) -> Case:
    """Return the case of a measure on pairs; `to` is the worse answer."""
    sides = [("predictions", "perturbed_predictions"), ("references", "perturbed_references")]
    freely = {"conditional_inconsistency": "", "n_conditional": ""}
    return Case(
        {"predictions": A, "perturbed_predictions": B},
        {"references": GOLD, "perturbed_references": GOLD, "condition": 0, "groups": GROUPS, **QUICK},
        pair_rows,
        SHARES,
        swap=(sides, {"accuracy": "perturbed_accuracy", **freely}),
        worse=("inconsistency", breaks("perturbed_predictions", to)),
        on_page=on_page,
    )


CASES: dict[str, Case] = {
    "additive_inconsistency": Case(
        {"predictions": B, "references": A, "part_1_predictions": A, "part_2_predictions": A},
        {"groups": GROUPS, **QUICK},
        additive_rows,
        {"inconsistency": (0, 1)},
        swap=([("part_1_predictions", "part_2_predictions")], {}),
        worse=("inconsistency", breaks("predictions", other_than("references"))),
        on_page=lambda c: additive_inconsistency(
            c["merged_prediction"], c["label"], c["part_1_prediction"], c["part_2_prediction"]
        ),
    ),
    "consistency_difference": Case(
        {"predictions1": A, "predictions2": B, **BUCKETS},
        {"roles": ROLES, "n_permutations": 50, **QUICK},
        two_model_rows,
        {"difference": (-1, 1), "p_value": (0, 1), "differences/accuracy": (-1, 1)},
        swap=(
            [("predictions1", "predictions2")],
            {"difference": "-difference", "values1": "values2", "differences": ""},
        ),
        fails={
            "duplication": "twice the buckets are more evidence; the differences stay (test_comparison.py)",
            "monotone": "neither is consistency: see paraphrastic_consistency",
        },
        on_page=lambda c: consistency_difference(c["prediction_1"], c["prediction_2"], c["label"], c["bucket_id"]),
        quick={"n_resamples": 40, "n_permutations": 40},
    ),
    "distribution_shift": Case(
        {
            "probabilities": [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]],
            "original_probabilities": [[0.25, 0.5, 0.25], [0.1, 0.1, 0.8], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]],
        },
        {"groups": [1, 2, 3, 4], **QUICK},
        probability_rows,
        {
            f"{name}/{side}": (0, most)
            for side in ("changed", "unchanged")
            for name, most in {
                "jensen_shannon_distance": 1,
                "jensen_shannon_divergence": 1,
                "max_difference": 1,
                "standard_deviation": 0.5,
            }.items()
        }
        | {f"standard_deviation_difference/{side}": (-0.5, 0.5) for side in ("changed", "unchanged")},
        swap=(
            [("probabilities", "original_probabilities")],
            {"standard_deviation": "", "standard_deviation_difference": ""},
        ),
        fails={"monotone": "moving one pair changes which of the two means it is in"},
        on_page=shift_on_page,
    ),
    "fooling_rate": Case(
        {
            "predictions": A,
            "original_predictions": [0, 0, 2, 2, 1, 1],
            "references": [0, 0, 2, 2, 1, 1],
            "buckets": ["x", "x", "y", "y", "z", "z"],
        },
        {"originals": {"x": (0, 0), "y": (2, 2), "z": (1, 1), "w": (1, 1)}, "variants": 2, **QUICK},
        variant_rows,
        {"relaxed": (0, 1), "strict": (0, 1)},
        worse=("strict", breaks("predictions", lambda rows, i: (2, 0, 0)[rows["original_predictions"][i]])),
        fails={"swap": "the original must be right, a variant need not: no symmetry"},
        on_page=fooling_on_page,
    ),
    "ie_test": Case(
        {"predictions": A, "transformed_predictions": B, "references": GOLD},
        {"runs": ["r", "r", "r", "s", "s", "s"], "correction": "holm"},
        run_rows,
        {"p_value": (0, 1), "accuracy": (0, 1), "transformed_accuracy": (0, 1)},
        swap=(
            [("predictions", "transformed_predictions")],
            {"accuracy": "transformed_accuracy", "n10": "n01", "statistic": "-statistic"},
        ),
        worse=("accuracy_difference", breaks("transformed_predictions", other_than("references"))),
        fails={
            "duplication": "twice the items are more evidence; the accuracies stay, as a test of their own shows",
        },
        on_page=lambda c: ie_test(c["prediction"], c["transformed_prediction"], c["label"], groups=c["group_id"]),
        quick={},
    ),
    "negational_inconsistency": _pairs(
        lambda rows, i: rows["predictions"][i],
        lambda c: negational_inconsistency(c["original_prediction"], c["prediction_negated"]),
    ),
    "paraphrase_diversity": Case(
        {
            "paraphrases": ["Rain falls.", "It is raining.", "He left.", "Dogs bark"],
            "originals": ["It rains.", "It rains.", "He went away.", "Dogs bark."],
        },
        {
            "embeddings": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 1.0]],
            "original_embeddings": [[1.0, 1.0]] * 4,
            "parses": ["(S (NP (NN x)) (VP (V x)))"] * 4,
            "original_parses": ["(S (NP (PRP x)) (VP (V x) (PRT x)))"] * 4,
            "entailed": [1, 1, 0, 1],
            "groups": [5, 5, 6, 7],
            **QUICK,
        },
        text_rows,
        {"lexical_distance": (0, 1), "jaccard": (0, 1), "semantic_similarity": (-1, 1), "mutual_entailment": (0, 1)},
        swap=([("paraphrases", "originals"), ("embeddings", "original_embeddings")], {}),
        fails={"monotone": "has no answers: neither end is good by itself"},
        on_page=lambda c: paraphrase_diversity(c["hypothesis"], c["original_hypothesis"], groups=c["group_id"]),
    ),
    "paraphrastic_consistency": Case(
        {"predictions": A, **BUCKETS},
        {"roles": ROLES, **QUICK},
        bucket_rows,
        {
            "paraphrastic_consistency": (0.5, 1),
            "paraphrastic_consistency_unbiased": (0, 1),
            "agreement": (0, 1),
            "vap": (0, 0.25),
            "pvap": (0, 1),
        },
        fails={
            "swap": "has no two sides: originals are apart, and order within a bucket is free",
            "monotone": "a wrong answer in a bucket of wrong ones raises consistency: no order",
        },
    ),
    "prediction_change": Case(
        {"predictions": A, "original_predictions": B, "references": GOLD},
        {"strata": {"side": ["p", "h"] * 3, "k": GROUPS}, "groups": GROUPS, **QUICK},
        change_rows,
        {"change_rate": (0, 1), "change_rate_given_correct": (0, 1)},
        swap=(
            [("predictions", "original_predictions")],
            {
                "correct_to_incorrect": "incorrect_to_correct",
                "change_rate_given_correct": "",
                "change_rate_given_incorrect": "",
            },
        ),
        worse=("change_rate", breaks("predictions", other_than("original_predictions"))),
    ),
    "probability_coherence": Case(
        {"probabilities": [0.6, 0.6, 0.5, 0.9], "roles": ["P", "not_P"] * 2, "buckets": ["x", "x", "y", "y"]},
        {"groups": [1, 1, 2, 3], "relations": "Neg", **QUICK},
        statement_rows,
        {"arbitrage_rate": (0, 1), "arbitrage_violation": (0, 14), "frequentist_rate": (0, 1)},
        fails={
            "swap": "a conjunction is no part of itself: roles do not change places",
            "monotone": "a probability may be wrong in either direction",
        },
        on_page=lambda c: probability_coherence([float(p) for p in c["probability"]], c["role"], c["bucket_id"]),
    ),
    "prompt_sensitivity": Case(
        {"predictions": A, **BUCKETS},
        {"roles": ROLES, "variants": ["a", "b", "c"] * 2, **QUICK},
        bucket_rows,
        {
            **dict.fromkeys(("prompt_sensitivity_score", "agreement", "worst_case_accuracy", "aucar", "core"), (0, 1)),
            **dict.fromkeys(("normalized_entropy", "unanimous_share", "consistency_rate_pooled"), (0, 1)),
            **dict.fromkeys(("aptitude", "unreliability"), (0, 1)),
        },
        fails={
            "swap": "has no two sides: order within a bucket is free",
            "monotone": "a wrong answer in a bucket of wrong ones raises consistency: no order",
        },
    ),
    "semantic_inconsistency": _pairs(other_than("predictions")),
    "symmetric_inconsistency": _pairs(other_than("predictions"), symmetric_on_page),
    "trajectory_consistency": Case(
        {
            "calls": ["find\nbook", "find", "", "book", "book", "find\nbook"],
            "successes": [1, 1, 0, 1, 0, 1],
            "buckets": BUCKETS["buckets"],
        },
        {
            "groups": [5, 5, 5, 6, 6, 6],
            "arguments": ['{"id": 1}\n{}', '{"id": 1}', "", "{}", '{"id": 2}', '{"id": 2}\n{}'],
            **QUICK,
        },
        agent_rows,
        {
            "outcome_consistency": (-1, 1),
            "first_divergence": (0, 6),
            **dict.fromkeys(("trajectory_consistency", "distribution_consistency", "identical_share"), (0, 1)),
        },
        fails={
            "swap": "has no two sides: order within a bucket is free",
            "monotone": "a call more may be one that the other runs made: no order",
        },
        on_page=lambda c: trajectory_consistency(
            c["calls"], [int(won == "yes") for won in c["prediction"]], c["bucket_id"]
        ),
    ),
    "transitive_inconsistency": Case(
        {
            "predictions": A,
            "references": [[0], [0], [1, 2], [1, 2], [0, 1], [0, 1]],
            "antecedent_1_predictions": A,
            "antecedent_1_references": A,
            "antecedent_2_predictions": B,
            "antecedent_2_references": GOLD,
        },
        {"groups": GROUPS, **QUICK},
        transitive_rows,
        {"inconsistency": (0, 1)},
        swap=([(f"antecedent_1_{what}", f"antecedent_2_{what}") for what in ("predictions", "references")], {}),
        worse=("inconsistency", breaks("predictions", lambda rows, i: min({*range(3)} - {*rows["references"][i]}))),
        on_page=transitive_on_page,
    ),
}
