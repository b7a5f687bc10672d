"""What comparisons show: the same in the terminal and on the page."""

import re
from typing import Any

import numpy as np
import pytest
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.reporting.comparisons import beaten, corrected, differences, margin_words, matrices
from paraconsist.reporting.formatting import minus
from paraconsist.reporting.page.write import Glossary
from paraconsist.scoring.checked import CheckedDifference


def table_of(seed: int, flip: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    buckets = [f"b{b}" for b in range(40) for _ in range(4)]
    return {"bucket_id": buckets, "label": [1] * 160, "prediction": (rng.random(160) > flip).astype(int).tolist()}


def compared(*flips: float, **options: Any) -> pc.Comparison:
    tables = [table_of(seed, flip) for seed, flip in enumerate(flips)]
    names = list("abcdef"[: len(tables)])
    return pc.compare(*tables, names=names, n_resamples=500, n_permutations=500, **options)


def page_tables(comparison: pc.Comparison) -> dict[str, Any]:
    return {table.title: table for table in (*differences(comparison.sets), *beaten(comparison.sets))}


def test_a_model_is_beaten_on_the_page_beyond_chance_only() -> None:
    assert list(page_tables(compared(0.2, 0.2))) == ["Differences between the models, in points"]
    _, beaten = page_tables(compared(0.05, 0.4)).items()
    assert beaten[0].endswith("accuracy against consistency")
    assert [[row[0].text, row[-1].text] for row in beaten[1].rows] == [["a", "not beaten"], ["b", "beaten by a"]]


def test_ranks_and_intervals_of_all_pairs_are_on_the_page() -> None:
    comparison = compared(0.05, 0.06, 0.35)
    tables = page_tables(comparison)
    ranks = next(table for _, table in matrices(comparison.sets))
    ranked = comparison.sets[0].ranking.steadiness
    assert [row[0].text for row in ranks.rows] == [column.label for column in ranks.columns[1:]] == [*ranked]
    frame = comparison.to_frame().dropna(subset="corrected_p_value")
    outside = (frame["simultaneous_low"] > 0) | (frame["simultaneous_high"] < 0)
    assert (outside == (frame["simultaneous_p_value"] <= 0.05)).all()
    columns = [column.label for column in tables["Differences between the models, in points"].columns]
    assert "p, all pairs together" in columns
    assert "margin" not in columns
    assert "p, all pairs together" not in [
        column.label for column in page_tables(compared(0.05, 0.4))["Differences between the models, in points"].columns
    ]


def test_a_constant_answer_is_in_no_ranks_and_in_no_matrix() -> None:
    """Its P_C of 100 % headed both, beside a first screen that does not rank it, and beat models of its accuracy."""
    labels = [b % 2 for b in range(40) for _ in range(4)]
    tables = [table_of(seed, 0.1 + 0.1 * seed) for seed in range(4)]
    for place, table in enumerate(tables):
        right = table["prediction"]
        table |= {
            "label": labels,
            "prediction": [int(r == y) if place else 1 for r, y in zip(right, labels, strict=True)],
        }
    comparison = pc.compare(*tables, names=list("abcd"), n_resamples=200, n_permutations=200)
    (found,) = comparison.sets
    assert "a is not ranked: every prediction is 1" in " ".join(repr(comparison).split())
    assert list(found.ranking.unranked) == ["a"]
    assert sorted(row.model for row in found.standings) == ["b", "c", "d"]
    assert {row.model for row in found.pareto} == {"b", "c", "d"}
    assert {model for row in found.pareto for model in row.dominated_by} <= {"b", "c", "d"}
    for _, matrix in matrices([found]):
        assert [row[0].text for row in matrix.rows] == list(found.ranking.steadiness)
    assert "Differences from" not in next(differences([found])).title
    few = pc.compare(*tables[:3], names=list("abc"), n_resamples=200, n_permutations=200)
    assert list(few.sets[0].ranking.steadiness) == ["b", "c"]
    assert list(matrices(few.sets)) == []  # it was the best of three there


def test_the_p_of_differences_is_explained_by_its_own_column() -> None:
    """The page said that it is "of no difference in accuracy", which is that of the IE test."""
    (table,) = differences(compared(0.05, 0.4).sets)
    glossary = Glossary()
    for column in table.columns[3:5]:
        glossary(column.label, column.help)
    assert [*glossary.used] == [("difference", "in points"), ("p", "sign-flip permutation test, two-sided")]


def test_the_wording_change_has_a_matrix_of_its_own_beside_that_of_consistency() -> None:
    """Only pages without gold labels had one, though its differences are tested beside those of P_C."""
    flips = (0.05, 0.06, 0.35)
    (_, of_consistency), (name, beside) = matrices(compared(*flips).sets)
    ((_, alone),) = matrices(compared(*flips, measures=["wording_change"]).sets)
    assert name.endswith("wording change")
    cells = [[(cell.text, cell.interval, cell.shade) for cell in row] for row in beside.rows]
    assert cells == [[(cell.text, cell.interval, cell.shade) for cell in row] for row in alone.rows]
    assert {cell.shade.split("-")[0] for row in beside.rows for cell in row} == {"", "better", "worse"}
    assert "corrected for 3 comparisons (Holm)" in beside.caption
    assert of_consistency.rows[0][2].link
    assert not beside.rows[0][2].link  # the browser's flips are those of P_C


@pytest.mark.parametrize(
    ("flips", "margin", "words"),
    [
        ((0.05, 0.4), 0.02, "a is not worse than b by more than 2.0 points"),
        ((0.4, 0.05), 0.02, "b is not worse than a by more than 2.0 points"),
        ((0.05, 0.05), 0.2, "equivalent within 20.0 points"),
        ((0.2, 0.2), 0.01, "undecided: neither is shown to be not worse by more than 1.0 points"),
    ],
)
def test_verdicts_on_a_margin(flips: tuple[float, ...], margin: float, words: str) -> None:
    comparison = compared(*flips, margin=margin)
    assert margin_words(comparison.sets[0].pairs[0]) == words
    assert f"Margin: {words}"[:40] in " ".join(repr(comparison).split())
    rows = page_tables(comparison)["Differences between the models, in points"].rows
    assert rows[0][-1].text == words
    low, high = comparison.sets[0].pairs[0].result["margin_test"]["interval"]
    assert rows[0][-1].below == minus(f"[{100 * low:.1f}, {100 * high:.1f}]")  # not that at 95 %, which is wider
    assert margin_words(compared(*flips).sets[0].pairs[0]) == ""


@pytest.mark.parametrize("seed", range(4))
def test_joint_p_and_interval_agree_for_violations(seed: int) -> None:
    """Transitive rows count for other models in part, and share contexts."""
    rng = np.random.default_rng(seed)
    tables = []
    for wrong in (0.1, 0.2, 0.45):
        columns: dict[str, list[Any]] = {
            name: [] for name in ("bucket_id", "group_id", "role", "label", "prediction", "example_id")
        }
        for b in range(60):
            for role, right in (("antecedent_1", 0.9), ("antecedent_2", 0.9), ("consequent", 1.0 - wrong)):
                row = (f"b{b}", f"c{b // 3}", role, 1, int(rng.random() < right), f"{b}.{role}")
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
        tables.append(columns)
    found = pc.compare(*tables, names=["a", "b", "c"], n_permutations=999)
    frame = found.to_frame()
    assert set(frame["measure"]) == {"transitive_inconsistency"}
    outside = (frame["simultaneous_low"] > 0) | (frame["simultaneous_high"] < 0)
    assert (outside == (frame["simultaneous_p_value"] <= 0.05)).all()
    assert (frame["simultaneous_p_value"] >= frame["p_value"]).all()
    best = found.sets[0].standings[0]
    assert best["model"] != "c"  # fewer violations are better


def test_of_buckets_with_one_wording_there_is_no_matrix() -> None:
    tables = [{"bucket_id": list(range(9)), "label": [1] * 9, "prediction": [1] * n + [0] * (9 - n)} for n in (3, 5, 7)]
    assert list(matrices(pc.compare(*tables, names=list("abc"), n_permutations=99).sets)) == []


def test_the_first_line_of_a_pair_is_what_its_p_and_margin_are_of() -> None:
    """With the published estimator it was the unbiased P_C, beside the corrected p of the published one."""
    for estimator, first in (("plugin", "P_C publ."), ("unbiased", "P_C")):
        (pair,) = (found := compared(0.1, 0.3, estimator=estimator)).sets[0].pairs
        lines = [line.split() for line in str(found).splitlines() if line.startswith(" P_C")]
        assert re.match(rf"{first} [\d.]+ % [\d.]+ % \{100 * pair.result['difference']:+.1f} ", " ".join(lines[0]))


def chains(wrong: int, untested: int = 0, unanswered: int = 0) -> list[dict[str, Any]]:
    """Return answers to 20 transitive rows: of the first the consequent is wrong, of the last one of its antecedents.

    The first consequents of all may lack an answer.
    """
    rows = []
    for b in range(20):
        right = {"antecedent_1": b < 20 - untested, "antecedent_2": True, "consequent": b >= wrong}
        rows += [{"bucket_id": b, "role": role, "label": 1, "prediction": int(r)} for role, r in right.items()]
        rows[-1] |= {"prediction": None} if b < unanswered else {}
    return rows


def test_rates_over_own_rows_are_told_where_they_are_not_the_same_rows() -> None:
    options: dict[str, Any] = {"names": ["a", "b"], "n_permutations": 99}
    assert "own rows" not in repr(pc.compare(chains(2), chains(8), **options))
    told = " ".join(repr(pc.compare(chains(2), chains(8, 1, 2), **options)).split())
    assert "Over each model's own rows: 10.0 % of 20 and 42.1 % of 19, which are not the same rows." in told
    assert "2 unparsed answers of b" in told


def test_scores_that_differ_in_what_unparsed_answers_count_as_are_refused_unless_it_is_given() -> None:
    wrong, other = (pc.score(chains(2), unparsed=policy, n_resamples=50) for policy in ("wrong", "own_class"))
    for models, options in (((wrong, wrong), {}), ((wrong, other), {"unparsed": "wrong"})):
        assert pc.compare(*models, names=["a", "b"], n_permutations=99, **options).sets
    refuses("`unparsed` must be given, as the scores differ in it; got .'own_class', 'wrong'", pc.compare, wrong, other)


def test_a_corrected_difference_has_the_unit_of_its_rate() -> None:
    """A difference in VAP of .02 was 2.0 points, where every other table has +0.0200."""
    found = [CheckedDifference("a", "b", rate, 0.02, 0.01, [0.0, 0.04]) for rate in ("wording_change", "vap_unbiased")]
    rows = corrected("", found).rows
    assert [(row[2].text, row[2].ends) for row in rows] == [("+2.0", "[0.0, 4.0]"), ("+0.0200", "[+0.0000, +0.0400]")]
