"""What must not change a measure, and what must: one table per invariance, and every measure in every table.

A table maps each measure to what is expected of it, or to the reason (a string) why the invariance does not
hold. A measure that is missing from a table fails `test_every_measure_is_in_every_table`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.measure_examples import MEASURES, N_LABELS, SEEDS, Rows, assert_same, examples, flat, per_row, points

from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.registry import metric_names

# ---------------------------------------------------------------------------------------- the tables

HOLDS = True

ORDER_OF_ROWS: dict[str, Any] = {
    **dict.fromkeys(MEASURES, HOLDS),
    # with the option `variants` the order within a bucket says which variants are used: tested below
}

RENAMED_BUCKETS: dict[str, Any] = {
    **dict.fromkeys(MEASURES, HOLDS),
    "ie_test": "has neither buckets nor groups",
}

RENAMED_LABELS: dict[str, Any] = dict.fromkeys(MEASURES, HOLDS)

DUPLICATION: dict[str, Any] = {
    **dict.fromkeys(MEASURES, HOLDS),
    "consistency_difference": "a test: twice the buckets are more evidence; the differences stay (test_comparison.py)",
    "ie_test": "a test: twice the items are more evidence; only the accuracies stay, see below",
}

#: Measure -> (columns that change places, what the values are called after the swap); "" for a value that
#: swapping changes freely.
SWAP: dict[str, Any] = {
    "additive_inconsistency": ([("part_1_predictions", "part_2_predictions")], {}),
    "consistency_difference": (
        [("predictions1", "predictions2")],
        {"difference": "-difference", "values1": "values2", "differences": ""},
    ),
    "distribution_shift": ([("probabilities", "original_probabilities")], {"standard_deviation": ""}),
    "fooling_rate": "the original must be right, a variant need not: no symmetry",
    "ie_test": (
        [("predictions", "transformed_predictions")],
        {"accuracy": "transformed_accuracy", "n10": "n01", "statistic": "-statistic"},
    ),
    "negational_inconsistency": (
        [("predictions", "perturbed_predictions"), ("references", "perturbed_references")],
        {"accuracy": "perturbed_accuracy", "conditional_inconsistency": "", "n_conditional": ""},
    ),
    "paraphrase_diversity": ([("paraphrases", "originals"), ("embeddings", "original_embeddings")], {}),
    "paraphrastic_consistency": "has no two sides: originals are apart, and order within a bucket is free",
    "prediction_change": (
        [("predictions", "original_predictions")],
        {
            "correct_to_incorrect": "incorrect_to_correct",
            "change_rate_given_correct": "",
            "change_rate_given_incorrect": "",
        },
    ),
    "semantic_inconsistency": (
        [("predictions", "perturbed_predictions"), ("references", "perturbed_references")],
        {"accuracy": "perturbed_accuracy", "conditional_inconsistency": "", "n_conditional": ""},
    ),
    "symmetric_inconsistency": (
        [("predictions", "perturbed_predictions"), ("references", "perturbed_references")],
        {"accuracy": "perturbed_accuracy", "conditional_inconsistency": "", "n_conditional": ""},
    ),
    "transitive_inconsistency": (
        [
            ("antecedent_1_predictions", "antecedent_2_predictions"),
            ("antecedent_1_references", "antecedent_2_references"),
        ],
        {},
    ),
}

RANGE: dict[str, Any] = {
    "additive_inconsistency": {"inconsistency": (0, 1)},
    "consistency_difference": {"difference": (-1, 1), "p_value": (0, 1), "differences/accuracy": (-1, 1)},
    "distribution_shift": {
        **{
            f"{name}/{side}": (0, 1)
            for name in ("jensen_shannon_distance", "jensen_shannon_divergence", "max_difference")
            for side in ("changed", "unchanged")
        },
        "standard_deviation/changed": (0, 0.5),
        "standard_deviation/unchanged": (0, 0.5),
    },
    "fooling_rate": {"relaxed": (0, 1), "strict": (0, 1)},
    "ie_test": {"p_value": (0, 1), "accuracy": (0, 1), "transformed_accuracy": (0, 1)},
    "negational_inconsistency": {"inconsistency": (0, 1), "conditional_inconsistency": (0, 1)},
    "paraphrase_diversity": {
        "lexical_distance": (0, 1),
        "jaccard": (0, 1),
        "semantic_similarity": (-1, 1),
        "mutual_entailment": (0, 1),
    },
    "paraphrastic_consistency": {
        "paraphrastic_consistency": (0.5, 1),
        "paraphrastic_consistency_unbiased": (0, 1),
        "agreement": (0, 1),
        "vap": (0, 0.25),
        "pvap": (0, 1),
    },
    "prediction_change": {"change_rate": (0, 1), "change_rate_given_correct": (0, 1)},
    "semantic_inconsistency": {"inconsistency": (0, 1), "conditional_inconsistency": (0, 1)},
    "symmetric_inconsistency": {"inconsistency": (0, 1), "conditional_inconsistency": (0, 1)},
    "transitive_inconsistency": {"inconsistency": (0, 1)},
}


def breaks(name: str, to: Callable[[Rows, int], int]) -> Callable[[Rows, int], Rows]:
    """Return what makes one row of a column wrong."""

    def broken(rows: Rows, i: int) -> Rows:
        column = list(rows[name])
        column[i] = to(rows, i)
        return {**rows, name: column}

    return broken


def other_than(name: str) -> Callable[[Rows, int], int]:
    return lambda rows, i: (rows[name][i] + 1) % N_LABELS


#: Measure -> (value, what makes a row worse): the value must not fall.
MONOTONE: dict[str, Any] = {
    "additive_inconsistency": ("inconsistency", breaks("predictions", other_than("references"))),
    "consistency_difference": "neither is consistency: see paraphrastic_consistency",
    "distribution_shift": "moving one pair changes which of the two means it is in",
    "fooling_rate": (
        "strict",
        breaks("predictions", lambda rows, i: (2, 0, 0)[rows["original_predictions"][i]]),
    ),
    "ie_test": ("accuracy_difference", breaks("transformed_predictions", other_than("references"))),
    "negational_inconsistency": (
        "inconsistency",
        breaks("perturbed_predictions", lambda rows, i: rows["predictions"][i]),
    ),
    "paraphrase_diversity": "has no answers: neither end is good by itself",
    "paraphrastic_consistency": "a wrong answer in a bucket of wrong ones raises consistency: no order",
    "prediction_change": ("change_rate", breaks("predictions", other_than("original_predictions"))),
    "semantic_inconsistency": ("inconsistency", breaks("perturbed_predictions", other_than("predictions"))),
    "symmetric_inconsistency": ("inconsistency", breaks("perturbed_predictions", other_than("predictions"))),
    "transitive_inconsistency": (
        "inconsistency",
        breaks("predictions", lambda rows, i: min(set(range(3)) - set(rows["references"][i]))),
    ),
}

TABLES = {
    "measures": MEASURES,
    "order of rows": ORDER_OF_ROWS,
    "renamed buckets": RENAMED_BUCKETS,
    "renamed labels": RENAMED_LABELS,
    "duplication": DUPLICATION,
    "swap": SWAP,
    "range": RANGE,
    "monotone": MONOTONE,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_measure_is_in_every_table(table: str) -> None:
    assert sorted(TABLES[table]) == sorted(metric_names())


def holding(table: dict[str, Any]) -> list[str]:
    return [name for name in sorted(table) if not isinstance(table[name], str)]


# ------------------------------------------------------------------------------------------ the tests


@pytest.mark.parametrize("name", holding(ORDER_OF_ROWS))
def test_order_of_rows(name: str) -> None:
    for rng, rows in examples(name):
        columns = per_row(rows)
        order = rng.permutation(len(rows[columns[0]]))
        shuffled = {**rows, **{column: [rows[column][i] for i in order] for column in columns}}
        assert_same(MEASURES[name](rows), MEASURES[name](shuffled))


def test_only_with_variants_does_the_order_within_a_bucket_matter() -> None:
    rows = {
        "predictions": [0, 1],
        "original_predictions": [0, 0],
        "references": [0, 0],
        "buckets": [7, 7],
        "opposites": {0: 1, 1: 0},
    }
    backwards = {**rows, "predictions": [1, 0]}
    assert fooling_rate(**rows).relaxed == fooling_rate(**backwards).relaxed == 1.0
    assert fooling_rate(**rows, variants=1).relaxed == 0.0
    assert fooling_rate(**backwards, variants=1).relaxed == 1.0


@pytest.mark.parametrize("name", holding(RENAMED_BUCKETS))
@pytest.mark.parametrize("to_integers", [False, True])
def test_renamed_buckets_and_groups(name: str, to_integers: bool) -> None:
    for rng, rows in examples(name):
        renamed = dict(rows)
        bucket_names: dict[str, Any] = {}
        for column in ("buckets", "groups"):
            if isinstance(rows.get(column), list):
                old = list(dict.fromkeys(rows[column]))
                new = (rng.permutation(len(old)) * 10**7).tolist()
                names = dict(zip(old, new if to_integers else [f"x{i}" for i in new], strict=True))
                renamed[column] = [names[value] for value in rows[column]]
                if column == "buckets":
                    bucket_names = names
        if isinstance(rows.get("groups"), dict):
            renamed["groups"] = {bucket_names[b]: group[::-1] for b, group in rows["groups"].items()}
        assert renamed != rows
        assert_same(MEASURES[name](rows), MEASURES[name](renamed))


def rename_labels(rows: Rows, names: list[Any]) -> Rows:
    """Return the rows with label i called names[i]; probabilities get their classes in another order."""
    renamed = dict(rows)
    for column, values in rows.items():
        if column.endswith("probabilities"):
            renamed[column] = np.array(values)[:, names].tolist()
        elif column == "opposites":
            renamed[column] = {names[a]: names[b] for a, b in values.items()}
        elif column == "condition":
            renamed[column] = names[values]
        elif column.endswith(("predictions", "predictions1", "predictions2", "references")):
            renamed[column] = [names[v] if isinstance(v, int) else [names[inner] for inner in v] for v in values]
    return renamed


def without_names(found: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose parts that are called by labels are a sorted list instead."""
    parts = {key: found[key] for key in ("by_rule", "by_label") if key in found}
    listed = {
        key: sorted((sorted((k, v) for k, v in flat(part).items() if points(k)) for part in by_name.values()), key=str)
        for key, by_name in parts.items()
    }
    return {key: value for key, value in found.items() if key not in parts} | listed


@pytest.mark.parametrize("name", holding(RENAMED_LABELS))
def test_renamed_labels(name: str) -> None:
    new_names: list[list[Any]] = [[2, 0, 1], [-40, 10**12, 7], ["one", "ALSO", ""]]
    if name == "distribution_shift":
        new_names = [[2, 0, 1], [1, 2, 0]]  # classes have an order, no names
    for _, rows in examples(name):
        expected = without_names(MEASURES[name](rows))
        for names in new_names:
            assert_same(expected, without_names(MEASURES[name](rename_labels(rows, names))))


def twice(rows: Rows) -> Rows:
    """Return every row twice: as new buckets where there are buckets."""
    doubled = {name: values * 2 if isinstance(values, list) else values for name, values in rows.items()}
    if "buckets" in rows:
        doubled["buckets"] = rows["buckets"] + [f"{bucket} again" for bucket in rows["buckets"]]
        if isinstance(rows.get("groups"), dict):
            doubled["groups"] = rows["groups"] | {f"{b} again": g for b, g in rows["groups"].items()}
    return doubled


@pytest.mark.parametrize("name", holding(DUPLICATION))
def test_duplication_of_the_whole_set(name: str) -> None:
    def scores(path: str) -> bool:
        return (
            points(path)
            and path not in ("/correct_to_incorrect", "/incorrect_to_correct")
            and ("by_stratum" not in path or path.endswith("change_rate"))
        )

    for _, rows in examples(name):
        once, doubled = MEASURES[name](rows), MEASURES[name](twice(rows))
        assert_same(once, doubled, only=scores)
        for key, value in once.items():
            if key.startswith("n_") and key != "n_clusters":
                assert doubled[key] == 2 * value, key


def test_duplication_is_more_evidence_for_the_ie_test_but_the_same_accuracy() -> None:
    for _, rows in examples("ie_test"):
        once, doubled = MEASURES["ie_test"](rows), MEASURES["ie_test"](twice(rows))
        for key in ("accuracy", "transformed_accuracy", "accuracy_difference"):
            assert doubled[key] == pytest.approx(once[key])
        assert doubled["n10"] == 2 * once["n10"]
        assert np.isnan(once["statistic"]) or abs(doubled["statistic"]) >= abs(once["statistic"])


@pytest.mark.parametrize("name", holding(SWAP))
def test_swapping_the_two_sides(name: str) -> None:
    swaps, renamed = SWAP[name]
    both_ways = renamed | {new: old for old, new in renamed.items() if new and not new.startswith("-")}
    compared = 0
    for _, rows in examples(name):
        swapped = dict(rows)
        for one, other in swaps:
            swapped[one], swapped[other] = rows[other], rows[one]
        before, after = MEASURES[name](rows), MEASURES[name](swapped)
        for key, value in before.items():
            called = both_ways.get(key, key)
            if called == "" or not isinstance(value, (int, float, dict)) or key in ("by_rule", "by_stratum"):
                continue
            if key in ("confidence_interval", "standard_error", "n_clusters", "design_effect", "accuracy_difference"):
                continue
            if called.startswith("-"):
                assert value == pytest.approx(-after[called[1:]], nan_ok=True), key
            else:
                assert_same({"value": value}, {"value": after[called]})
            compared += 1
    assert compared >= len(SEEDS) * 2


@pytest.mark.parametrize("name", holding(RANGE))
def test_ranges_and_intervals_around_the_point(name: str) -> None:
    for _, rows in examples(name):
        found = MEASURES[name](rows)
        values = flat(found)
        for key, (low, high) in RANGE[name].items():
            value = values[f"/{key}"]
            assert np.isnan(value) or low <= value <= high, key
            ends = [values.get(f"/confidence_interval/{key}/{i}", np.nan) for i in (0, 1)]
            assert np.isnan(ends[0]) or low <= ends[0] <= value <= ends[1] <= high, key


@pytest.mark.parametrize("name", holding(MONOTONE))
def test_a_worse_answer_never_lowers_the_value(name: str) -> None:
    key, make_worse = MONOTONE[name]
    rose = 0
    for rng, rows in examples(name):
        worse = rows
        for i in rng.permutation(len(rows["predictions"]))[:8].tolist():
            before, worse = MEASURES[name](worse)[key], make_worse(worse, i)
            after = MEASURES[name](worse)[key]
            assert np.isnan(before) or after >= before - 1e-12
            rose += after > before + 1e-12
    assert rose > 0
