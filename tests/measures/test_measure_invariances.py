"""What must not change a measure, and what must: over every measure, with the expectations of its case."""

from typing import Any

import numpy as np
import pytest
from helpers.results import assert_same, flat, is_point
from measures.cases import CASES, INVARIANCES, SEEDS, Rows, examples, holding, measured, per_row

from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.registry import metric_names


def test_every_measure_has_a_case() -> None:
    assert set(CASES) == set(CATALOGUE) == set(metric_names())


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_an_expectation_or_a_reason_for_every_invariance(name: str) -> None:
    case = CASES[name]
    assert case.ranges
    assert all(invariance in INVARIANCES and reason for invariance, reason in case.fails.items())
    for invariance, expectation in (("swap", case.swap), ("monotone", case.worse)):
        assert (expectation is None) == (invariance in case.fails), invariance


@pytest.mark.parametrize("name", CASES)
def test_order_of_rows(name: str) -> None:
    for rng, rows in examples(name):
        columns = per_row(rows)
        order = rng.permutation(len(rows[columns[0]]))
        shuffled = {**rows, **{column: [rows[column][i] for i in order] for column in columns}}
        assert_same(measured(name, rows), measured(name, shuffled))


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


@pytest.mark.parametrize("name", holding("renamed buckets"))
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
        assert_same(measured(name, rows), measured(name, renamed))


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


def without_names(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose parts that are called by labels are a sorted list instead."""
    parts = {key: result[key] for key in ("by_rule", "by_label") if key in result}
    listed = {
        key: sorted(
            (sorted((k, v) for k, v in flat(part).items() if is_point(k)) for part in by_name.values()), key=str
        )
        for key, by_name in parts.items()
    }
    return {key: value for key, value in result.items() if key not in parts} | listed


@pytest.mark.parametrize("name", CASES)
def test_renamed_labels(name: str) -> None:
    new_names: list[list[Any]] = [[2, 0, 1], [-40, 10**12, 7], ["one", "ALSO", ""]]
    if name == "probability_coherence":
        new_names = []  # roles are names that mean something
    if name == "distribution_shift":
        new_names = [[2, 0, 1], [1, 2, 0]]  # classes have an order, no names
    for _, rows in examples(name):
        expected = without_names(measured(name, rows))
        for names in new_names:
            assert_same(expected, without_names(measured(name, rename_labels(rows, names))))


def twice(rows: Rows) -> Rows:
    """Return every row twice: as new buckets where there are buckets."""
    doubled = {name: values * 2 if isinstance(values, list) else values for name, values in rows.items()}
    if "buckets" in rows:
        doubled["buckets"] = rows["buckets"] + [f"{bucket} again" for bucket in rows["buckets"]]
        if isinstance(rows.get("groups"), dict):
            doubled["groups"] = rows["groups"] | {f"{b} again": g for b, g in rows["groups"].items()}
    return doubled


#: A shuffle draws without replacement, and an unbiased variance is divided by n - 1: they see how many rows there are.
SEE_THE_NUMBER = [
    *("/chance", "/chance_corrected", "/agreement_chance", "/krippendorff_alpha"),
    *("/between_variance_unbiased", "/pvap_unbiased", "/bias/between_variance", "/bias/pvap"),
]


@pytest.mark.parametrize("name", holding("duplication"))
def test_duplication_of_the_whole_set(name: str) -> None:
    def scores(path: str) -> bool:
        return (
            is_point(path)
            and path not in SEE_THE_NUMBER
            and path not in ("/correct_to_incorrect", "/incorrect_to_correct")
            and ("by_stratum" not in path or path.endswith("change_rate"))
        )

    for _, rows in examples(name):
        once, doubled = measured(name, rows), measured(name, twice(rows))
        assert_same(once, doubled, only=scores)
        for key, value in once.items():
            if key.startswith("n_") and key != "n_clusters":
                assert doubled[key] == 2 * value, key


def test_duplication_is_more_evidence_for_the_ie_test_but_the_same_accuracy() -> None:
    for _, rows in examples("ie_test"):
        once, doubled = measured("ie_test", rows), measured("ie_test", twice(rows))
        for key in ("accuracy", "transformed_accuracy", "accuracy_difference"):
            assert doubled[key] == pytest.approx(once[key])
        assert doubled["n10"] == 2 * once["n10"]
        assert np.isnan(once["statistic"]) or abs(doubled["statistic"]) >= abs(once["statistic"])


@pytest.mark.parametrize("name", holding("swap"))
def test_swapping_the_two_sides(name: str) -> None:
    swaps, renamed = CASES[name].swap
    both_ways = renamed | {new: old for old, new in renamed.items() if new and not new.startswith("-")}
    compared = 0
    for _, rows in examples(name):
        swapped = dict(rows)
        for one, other in swaps:
            swapped[one], swapped[other] = rows[other], rows[one]
        before, after = measured(name, rows), measured(name, swapped)
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


@pytest.mark.parametrize("name", CASES)
def test_ranges_and_intervals_around_the_point(name: str) -> None:
    for _, rows in examples(name):
        values = flat(measured(name, rows))
        for key, (low, high) in CASES[name].ranges.items():
            value = values[f"/{key}"]
            assert np.isnan(value) or low <= value <= high, key
            ends = [values.get(f"/confidence_interval/{key}/{i}", np.nan) for i in (0, 1)]
            assert np.isnan(ends[0]) or low <= ends[0] <= value <= ends[1] <= high, key


@pytest.mark.parametrize("name", holding("monotone"))
def test_a_worse_answer_never_lowers_the_value(name: str) -> None:
    key, make_worse = CASES[name].worse
    rose = 0
    for rng, rows in examples(name):
        worse, before = rows, measured(name, rows)[key]
        for i in rng.permutation(len(rows["predictions"]))[:8].tolist():
            worse = make_worse(worse, i)
            after = measured(name, worse)[key]
            assert np.isnan(before) or after >= before - 1e-12
            rose += after > before + 1e-12
            before = after
    assert rose > 0
