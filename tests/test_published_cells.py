"""Every published number that follows from published answers, recomputed, in one table.

A source is a function, marked `source`, that compares its cells: one that differs from what was printed has a reason,
and how many are equal is pinned, so that none comes or goes unseen. ``pytest -s tests/test_published_cells.py`` prints
the table.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.reproduce import cells as reproduced
from scipy import stats

import paraconsist as pc
from paraconsist.measures.paired_tests import mcnemar_statistic, paired_statistic
from paraconsist.measures.probability_coherence import RELATIONS, frequentist


@dataclass(frozen=True)
class Cells:
    """What became of a source's cells."""

    name: str
    n: int
    n_equal: int
    reasons: Mapping[Hashable, str] = field(default_factory=dict)  # of the cells that differ; empty where none is known


SOURCES: list[Callable[[Path], Cells]] = []


def source(function: Callable[[Path], Cells]) -> Callable[[Path], Cells]:
    """Add a source to the table; the argument is the folder of the papers' data."""
    SOURCES.append(function)
    return function


def compared(
    name: str,
    cells: Iterable[tuple[Hashable, Any, Any]],
    equal: Callable[[Any, Any], bool] = lambda ours, published: ours == published,
    reasons: Callable[[Any], str] = lambda cell: "",
) -> Cells:
    """Compare (cell, our value, the published one); `reasons` says of a cell why its values differ."""
    rows = list(cells)
    assert len({cell for cell, *_ in rows}) == len(rows), "a cell stands twice"
    differ = {cell: reasons(cell) for cell, ours, published in rows if not equal(ours, published)}
    return Cells(name, len(rows), len(rows) - len(differ), differ)


def as_printed(ours: float, published: str) -> bool:
    """Whether a number rounds to what is printed, of which half a unit of the last digit is known."""
    return abs(ours - float(published)) <= 0.5 * 10.0 ** -len(published.partition(".")[2]) + 1e-9


def close(ours: float, published: float) -> bool:
    return bool(np.isclose(ours, published, rtol=1e-11, atol=1e-14))


def test_a_cell_that_differs_without_a_reason_is_kept_apart():
    cells = [("a", 0.12345, "0.1235"), ("b", 0.2, "0.3"), ("c", 0.2, "0.1")]
    one = compared("made", cells, as_printed, {"b": "misprint"}.get)
    assert (one.n, one.n_equal, dict(one.reasons)) == (3, 1, {"b": "misprint", "c": None})
    with pytest.raises(AssertionError, match="a cell stands twice"):
        compared("made", cells + cells[:1], as_printed)


@pytest.mark.real_data
def test_every_published_cell_is_recomputed(data_folder, capsys):
    tables = [function(data_folder) for function in SOURCES]
    lines = [f"{'source':<58}{'cells':>7}{'equal':>7}{'explained':>11}{'unexplained':>13}"]
    for one in [*tables, Cells("all", sum(one.n for one in tables), sum(one.n_equal for one in tables))]:
        unknown = [cell for cell, reason in one.reasons.items() if not reason]
        explained = one.n - one.n_equal - len(unknown)
        lines.append(f"{one.name:<58}{one.n:>7,}{one.n_equal:>7,}{explained:>11,}{len(unknown):>13,}")
        lines += [f"    {n}: {reason or unknown}" for reason, n in Counter(one.reasons.values()).items()]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert [cell for one in tables for cell, reason in one.reasons.items() if not reason] == []
    assert (sum(one.n for one in tables), sum(one.n_equal for one in tables)) == (6_477, 6_413)


@source
def ie_test_runs(folder: Path) -> Cells:
    """The statistics of the IE test's 1,150 runs, and McNemar's of the same counts."""
    runs = pd.read_csv(folder / "ietest" / "matched_runs.csv")
    ours = np.stack(
        [paired_statistic(runs["n"], runs["n10"], runs["n01"]), mcnemar_statistic(runs["n10"], runs["n01"])]
    )
    rows = zip(runs.index, ours.T, runs[["t_published", "mcnemar_stat_published"]].to_numpy(), strict=True)
    return compared("IE test, statistics of runs", rows, lambda one, other: bool(np.allclose(one, other, 1e-11, 0)))


@source
def judges(folder: Path) -> Cells:
    """LLMBar: right winners in either order and in both, and equal ones; as they count, null equals null."""
    rows = pd.read_parquet(folder / "recorded" / "judges_llmbar.parquet").fillna(
        {"winner_given": 0, "winner_swapped": 0}
    )
    published = pd.read_csv(folder / "recorded" / "judges_llmbar_published.csv").set_index(
        ["model", "prompting", "subset"]
    )
    cells = []
    for key, part in rows.groupby(["model", "prompting", "subset"]):
        given, swapped, gold, items = (part[name] for name in ("winner_given", "winner_swapped", "gold", "item"))
        pairs = pc.symmetric_inconsistency(given, swapped, references=gold, perturbed_references=gold)
        both = pc.prompt_sensitivity(pd.concat([given, swapped]), pd.concat([gold, gold]), pd.concat([items, items]))
        shares = {"correct_given": pairs.accuracy, "correct_swapped": pairs.perturbed_accuracy}
        shares |= {"correct_both": both.worst_case_accuracy, "equal": 1 - pairs.inconsistency}
        assert both.agreement == pytest.approx(shares["equal"])
        cells += [((*key, name), share * len(part), published.loc[key, name]) for name, share in shares.items()]
    return compared("LLMBar, counts of 65 judges", cells, close)


@source
def combined_performance(folder: Path) -> Cells:
    """MaxP, AvgP and CPS of each model and task over prompt templates, all and those judged right by hand."""
    rows = pd.read_csv(folder / "recorded" / "multiprompt.csv", dtype={"template": str})
    published = pd.read_csv(folder / "recorded" / "multiprompt_published.csv")
    published = published[published["accuracies_available"] == 1]
    values = {}
    for key, part in rows.groupby(["benchmark", "task", "model"]):
        for templates, chosen in {"all": part, "correct": part[part["correct"] == 1]}.items():
            values[(*key, templates)] = pc.variant_indices(chosen["accuracy"])
    names = {"MaxP": "max_accuracy", "AvgP": "mean_accuracy", "CPS": "combined_performance_score"}
    cells = []
    for benchmark, task, model, statistic, templates, value, _ in published.itertuples(index=False):
        cell = benchmark, task, model, templates
        cells.append(((*cell, statistic), values[cell][names[statistic]], value))
    return compared("Multi-prompt evaluation, MaxP, AvgP, CPS", cells, close)


@source
def dynamath(folder: Path) -> Cells:
    """Right answers of each variant, and the leaderboard's averages and worst cases by topic and level."""
    rows = pd.read_parquet(folder / "recorded" / "dynamath.parquet")
    published = pd.read_csv(folder / "recorded" / "dynamath_published.csv", dtype={"published": str})
    values: dict[Any, float] = {}
    for model, of_model in rows.groupby("model"):
        parts = [("all", of_model)]
        parts += [
            (str(name).replace("_", " "), part) for by in ("topic", "level") for name, part in of_model.groupby(by)
        ]
        for group, part in parts:
            right, variants = part["correct"].astype(int), part["variant"] if group == "all" else None
            result = pc.prompt_sensitivity(right, np.ones_like(right), part["question"], variants=variants, draws=(10,))
            assert result.worst_case_accuracy == result.pass_hat_n["10"]
            values[model, "worst_case_percent", group] = 100 * result.worst_case_accuracy
            values[model, "average_percent", group] = 100 * result.accuracy
            for variant, accuracy in (result.variant_accuracies or {}).items():
                values[model, "correct_per_variant", f"variant {variant}"] = accuracy * result.n_buckets
                values[model, "accuracy_percent_per_variant", f"variant {variant}"] = 100 * accuracy
    cells = published[["model", "statistic", "group", "published"]].itertuples(index=False, name=None)
    rows_of = ((cell, values[cell], value) for *cell, value in cells for cell in [tuple(cell)])
    return compared("DynaMath, counts and leaderboard", rows_of, as_printed, _of_leaderboard)


_OF_FILES = ("claude3.5", "Gemini1.5-Pro", "Qwen2-72B")


def _of_leaderboard(cell: tuple[str, str, str]) -> str:
    model, statistic, group = cell
    if statistic == "average_percent" and group == "undergraduate":
        return "the leaderboard's undergraduate averages are too low for every model"
    if statistic == "average_percent" and group == "all":
        return "the overall average follows neither from the file nor from the leaderboard's own topics"
    if model in _OF_FILES and group in ("puzzle test", "elementary school", "all"):
        return "a puzzle of elementary school is right in all variants of the file and was not on the leaderboard"
    known = {
        "claude3.5": ("statistics", "high school"),
        "InternVL2-40B": ("solid geometry",),
        "deepseek7B": ("graph theory", "scientific figure", "arithmetic"),
    }
    return "the file is of other answers than the leaderboard in this topic" if group in known.get(model, ()) else ""


@source
def repeated_answers(folder: Path) -> Cells:
    """GPQA Diamond, two models with five answers to each of 198 items, by our paired difference and clustered errors.

    Welch's test takes the same items for different ones, which no measure of ours does: it is scipy's.
    """
    rows = pd.read_csv(folder / "recorded" / "gpqa_epochs.csv").sort_values(["model", "item", "epoch"])
    nano, mini = (part for _, part in rows.groupby("model"))
    right, items, n = nano["correct"], nano["item"], nano["item"].nunique()
    answers = np.arange(len(nano))
    ones = np.ones_like(right)
    clustered = [pc.prompt_sensitivity(part["correct"], ones, answers, groups=part["item"]) for part in (nano, mini)]
    naive = pc.prompt_sensitivity(right, ones, answers).standard_error["accuracy"]
    paired = pc.consistency_difference(right, mini["correct"], ones, items, interval_method="closed_form")
    errors = np.array([one.standard_error["accuracy"] for one in clustered])
    paired_error = paired.standard_error["accuracy"]
    ratio = (errors**2).sum() / paired_error**2
    welch = stats.ttest_ind(*(part.groupby("item")["correct"].mean() for part in (nano, mini)), equal_var=False)
    values = {
        "mean accuracy gpt-5-nano": clustered[0].accuracy,
        "mean accuracy gpt-5.4-mini": clustered[1].accuracy,
        "paired difference, points": 100 * paired.differences["accuracy"],
        "paired 95% CI low, points (t)": 100 * paired.confidence_interval["accuracy"][0],
        "paired 95% CI high, points (t)": 100 * paired.confidence_interval["accuracy"][1],
        "paired p (t)": paired.p_values["accuracy"],
        "variance ratio unpaired / paired": ratio,
        "items of equal precision when unpaired": ratio * n,
        "unpaired 95% CI low, points (Welch)": 100 * welch.confidence_interval().low,
        "unpaired 95% CI high, points (Welch)": 100 * welch.confidence_interval().high,
        "unpaired p (Welch)": welch.pvalue,
        "naive standard error gpt-5-nano": naive,
        "clustered standard error gpt-5-nano": errors[0],
        "inflation": errors[0] / naive,
        "design effect": clustered[0].design_effect["accuracy"],
        "per-item variance of the paired difference": n * paired_error**2,
        "per-item variance unpaired, gpt-5-nano doubled": 2 * n * errors[0] ** 2,
    }
    published = pd.read_csv(folder / "recorded" / "gpqa_epochs_published.csv", dtype=str)
    cells = zip(published["quantity"], published["published"], strict=True)
    return compared(
        "GPQA, two models over five epochs", ((cell, values[cell], value) for cell, value in cells), as_printed
    )


@source
def prompt_stability(folder: Path) -> Cells:
    """Krippendorff's alpha of gpt-3.5-turbo between prompts; computed by two other programs, since none is printed."""
    rows = pd.read_csv(folder / "recorded" / "promptstability.csv", dtype=str)
    between, within = (part for _, part in rows.groupby("study"))
    published = {"0.1": "0.15977519", "0.5": "0.15977519", "1.0": "0.17044471", "all": "0.16146622", "within": "1.0"}
    parts = {**dict(list(between.groupby("temperature"))), "all": between, "within": within}
    cells = []
    for name, part in parts.items():
        answers = part["value"].tolist()
        result = pc.prompt_sensitivity(answers, answers[:1] * len(answers), part["unit"])
        cells.append((name, result.krippendorff_alpha, published[name]))
    return compared("Prompt stability, alpha", cells, as_printed)


@source
def forecasters(folder: Path) -> Cells:
    """Mean violation (frequentist) and how many tuples violate, of fourteen forecasters by ten relations."""
    rows = pd.read_parquet(folder / "recorded" / "forecasters.parquet")
    published = pd.read_csv(folder / "recorded" / "forecasters_published.csv")
    published = published[(published["metric"] == "frequentist") & (published["tuples_available"] == 1)]
    values = {}
    for name, part in rows.groupby("check"):
        wide = part.pivot(index=["forecaster", "set", "tuple"], columns="role", values="probability")
        violation, _ = frequentist(RELATIONS[name], wide[list(RELATIONS[name].statements)].to_numpy())
        for key, of_cell in pd.Series(violation, wide.index).groupby(level=["forecaster", "set"]):
            values[(*key, name, "avg_violation")] = of_cell.mean().round(6)
            values[(*key, name, "num_violations")] = (of_cell >= 0.129).sum()
    cells = published.melt(["forecaster", "set", "check"], ["avg_violation", "num_violations"])
    rows_of = (((*cell,), values[(*cell,)], value) for *cell, value in cells.itertuples(index=False, name=None))
    return compared("Consistency of forecasters, frequentist", rows_of, close)


def _of_the_papers(key: str) -> Callable[[Path], Cells]:
    """A table of the papers, as `examples/reproduce` computes it from what their authors published."""

    def compute(folder: Path) -> Cells:
        cells = {cell.name: cell for cell in reproduced.cells_of(key, folder) if cell.computed is not None}
        rows = ((name, cell.computed, cell.row["value"]) for name, cell in cells.items())
        return compared(reproduced.TABLES[key][0], rows, close, lambda name: cells[name].reason)

    return source(compute)


OF_THE_PAPERS = [_of_the_papers(key) for key in reproduced.TABLES]
