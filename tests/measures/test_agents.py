"""Repeated runs of agents: pass^k as printed, outcomes and trajectories with and without self-pairs, copies of runs."""

import re
import time
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb, log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.measures.alarms import repeated_runs
from paraconsist.measures.trajectories import alike, edit_distance


def runs(success: Any, task: Any) -> tuple[Any, Any, Any]:
    """Return P_C, pass^k for every k, and variance components of repeated runs."""
    right, most = np.ones_like(success), int(np.bincount(task).max())
    consistency = pc.paraphrastic_consistency(success, right, task)
    passed = pc.prompt_sensitivity(success, right, task, draws=range(1, most + 1))
    return consistency, passed, pc.variance_components(success, {"task": task})


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_a_coin_is_not_consistent_at_all_and_hal_gives_it_1_over_k(k: int) -> None:
    """E (2p - 1)^2 over the binomial distribution of k runs: 1 / k, and 0 without pairs of a run with itself."""
    counts = np.repeat(np.arange(k + 1), [comb(k, c) for c in range(k + 1)])
    success = (np.arange(k) < counts[:, np.newaxis]).astype(int).ravel()
    consistency, _, parts = runs(success, np.repeat(np.arange(len(counts)), k))
    assert 2 * consistency.paraphrastic_consistency - 1 == pytest.approx(1 / k, abs=1e-12)
    assert 2 * consistency.paraphrastic_consistency_unbiased - 1 == pytest.approx(0.0, abs=1e-12)
    assert 1 - 4 * parts.variance["residual"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.real_data
def test_tau_bench(data_folder: Path) -> None:
    table = pq.read_table(data_folder / "agents" / "tau_bench_airline.parquet").to_pandas()
    success, task = table["reward"].to_numpy().astype(int), table["task"].to_numpy()
    consistency, passed, parts = runs(success, task)
    printed = pyarrow.csv.read_csv(data_folder / "agents" / "tau_bench_published.csv").to_pandas()
    cells = printed[printed["domain"].eq("airline")].drop_duplicates(["strategy", "k", "pass_hat_k"])
    for k, expected in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        assert round(passed.pass_hat_n[str(k)], 3) == expected
        assert (cells["k"].eq(k) & cells["pass_hat_k"].sub(expected).abs().lt(1e-9)).any()
        low, high = passed.confidence_interval[f"pass_hat_n/{k}"]
        assert low < expected < high
    hal = ((2 * table.groupby("task")["reward"].mean().to_numpy() - 1) ** 2).mean()
    assert 2 * consistency.paraphrastic_consistency - 1 == pytest.approx(hal, abs=1e-12)
    assert round(hal, 4) == 0.5600
    unbiased = 2 * consistency.paraphrastic_consistency_unbiased - 1
    assert round(unbiased, 4) == 0.4133
    assert 1 - 4 * parts.variance["residual"] == pytest.approx(unbiased, abs=1e-12)
    of_task = table.groupby("task")["reward"]  # the law of total variance, each term unbiased
    noise = of_task.var().mean()
    assert list(parts.variance.values()) == pytest.approx([of_task.mean().var() - noise / 4, noise], abs=1e-12)
    assert [round(part, 3) for part in parts.variance.values()] == [0.100, 0.147]


# ------------------------------------------------------------------------------------ trajectories, by definition


def levenshtein(one: list[str], other: list[str]) -> int:
    """The table of distances, cell by cell."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            replaced = table[i - 1, j - 1] + (one[i - 1] != other[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, replaced)
    return table[len(one), len(other)]


def divergence(one: list[str], other: list[str]) -> float:
    """Jensen-Shannon, base 2, from its definition by Kullback and Leibler."""
    p, q = ({name: n / len(calls) for name, n in Counter(calls).items()} for calls in (one, other))
    middle = {name: (p.get(name, 0) + q.get(name, 0)) / 2 for name in p | q}
    return sum(share * log2(share / middle[name]) for of in (p, q) for name, share in of.items()) / 2


def drawn(rng: np.random.Generator, most: int = 12) -> list[str]:
    return rng.choice(["find", "book", "pay", "ask", "end"], int(rng.integers(0, most))).tolist()


def by_definition(calls: Any, successes: Any, tasks: Any, similarity: Any, kind: int | None = None) -> float:
    """The mean over tasks of the mean over pairs of different runs, of which `kind` succeeded."""
    means = []
    for task in dict.fromkeys(tasks):
        rows = [row for row, of in enumerate(tasks) if of == task]
        pairs = [(i, j) for i in rows for j in rows if i < j and kind in (None, successes[i] + successes[j])]
        if pairs:
            means.append(np.mean([similarity(calls[i], calls[j]) for i, j in pairs]))
    return float(np.mean(means))


def in_order(one: list[str], other: list[str]) -> float:
    return 1 - levenshtein(one, other) / max(len(one), len(other)) if one or other else 1.0


def in_frequency(one: list[str], other: list[str]) -> float:
    return 1 - divergence(one, other) if one and other else float(one == other)


def parted(one: list[str], other: list[str]) -> int:
    return next((i for i in range(min(len(one), len(other))) if one[i] != other[i]), min(len(one), len(other)))


@pytest.mark.parametrize("seed", range(3))
def test_trajectories_by_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = [f"t{i}" for i in np.floor(12 * rng.random(40) ** 2).astype(int)]
    calls, successes = [drawn(rng) for _ in tasks], rng.integers(0, 2, 40).tolist()
    result = pc.trajectory_consistency(calls, successes, tasks)
    rows = calls, successes, tasks
    of_pairs = {
        "trajectory_consistency": in_order,
        "distribution_consistency": in_frequency,
        "first_divergence": parted,
    }
    for name, similarity in of_pairs.items():
        assert result[name] == pytest.approx(by_definition(*rows, similarity), abs=1e-12)
        for kind, ending in enumerate(("failed", "mixed", "succeeded")):
            expected = by_definition(*rows, similarity, kind)
            assert result[f"{name}_{ending}"] == pytest.approx(expected, abs=1e-12)
    assert result.identical_share == pytest.approx(by_definition(*rows, lambda a, b: float(a == b)), abs=1e-12)
    per_task = [[won for won, of in zip(successes, tasks, strict=True) if of == task] for task in set(tasks)]
    shares = [np.mean(won) for won in per_task if len(won) > 1]
    assert result.outcome_consistency_published == pytest.approx(np.mean([(2 * p - 1) ** 2 for p in shares]), abs=1e-12)
    alike_ends = [np.mean([a == b for a, b in combinations(won, 2)]) for won in per_task if len(won) > 1]
    assert result.outcome_consistency == pytest.approx(2 * np.mean(alike_ends) - 1, abs=1e-12)
    as_lines = pc.trajectory_consistency(["\n".join(names) for names in calls], successes, tasks)
    assert repr(as_lines) == repr(result)


ARGUMENTS = [{"id": 1, "note": None}, {"id": 2}, {}, '{"id": 1.0}', ' {  "id" : 2 } ', ""]  # by twos the same


def test_trajectories_with_arguments_by_their_definition() -> None:
    """The same formulas over (name, arguments): key order, spaces, 1.0 and arguments that are null do not count."""
    rng = np.random.default_rng(4)
    tasks = [f"t{i}" for i in rng.integers(0, 9, 40)]
    calls, successes = [drawn(rng) for _ in tasks], rng.integers(0, 2, 40).tolist()
    numbers = [rng.integers(0, 6, len(names)).tolist() for names in calls]
    arguments = [[ARGUMENTS[number] for number in of] for of in numbers]
    whole = [
        [f"{name} {number % 3}" for name, number in zip(*of, strict=True)] for of in zip(calls, numbers, strict=True)
    ]
    result = pc.trajectory_consistency(calls, successes, tasks, arguments=arguments)
    rows = whole, successes, tasks
    for name, similarity in {"trajectory_consistency": in_order, "distribution_consistency": in_frequency}.items():
        assert result[f"{name}_with_arguments"] == pytest.approx(by_definition(*rows, similarity), abs=1e-12)
    assert result.first_divergence_with_arguments == pytest.approx(by_definition(*rows, parted), abs=1e-12)
    same = by_definition(*rows, lambda a, b: float(a == b))
    assert result.identical_share_with_arguments == pytest.approx(same, abs=1e-12)
    by_name = pc.trajectory_consistency(calls, successes, tasks)
    assert all(result[key] == value for key, value in by_name.items() if isinstance(value, (int, float)))
    assert not [key for key in by_name if "arguments" in key]


def test_arguments_that_cannot_be_read_are_compared_as_text_and_told() -> None:
    broken = [['{"id": 1'], ['{"id": 1'], ['{"id": 2'], ['{"id": 1}']]
    result = pc.trajectory_consistency([["find"]] * 4, [1] * 4, ["a", "a", "b", "b"], arguments=broken)
    assert (result.identical_share, result.identical_share_with_arguments) == (1.0, 0.5)
    told = [note for note in result.warnings if "arguments" in note]
    assert told == ["the arguments of 3 of 4 calls are not JSON: they are compared as text"]


def test_edit_distances_are_those_of_the_table() -> None:
    rng = np.random.default_rng(1)
    for most in (3, 20, 80):
        for _ in range(15):
            one, other = drawn(rng, most), drawn(rng, most)
            assert edit_distance(one, other) == edit_distance(other, one) == levenshtein(one, other)


def test_a_thousand_tools_and_ten_thousand_calls() -> None:
    """No quadratic table: two runs of 10,000 calls take well below a second."""
    rng = np.random.default_rng(2)
    one = tuple(f"tool {i}" for i in rng.integers(0, 1000, 10_000).tolist())
    other = (*one[:5_000], "another", *one[5_000:9_000])
    start = time.perf_counter()
    found = alike(one, other)
    assert time.perf_counter() - start < 5
    assert found[0] == pytest.approx(1 - 1_001 / 10_000, abs=1e-12)
    assert found[2] == 5_000


@pytest.mark.parametrize("k", [2, 5])
def test_outcomes_of_a_coin(k: int) -> None:
    """HAL's (2p - 1)^2 gives 1 / K on average over the binomial distribution, the unbiased one 0."""
    counts = np.repeat(np.arange(k + 1), [comb(k, c) for c in range(k + 1)])
    success = (np.arange(k) < counts[:, np.newaxis]).astype(int).ravel()
    tasks = np.repeat(np.arange(len(counts)), k)
    result = pc.trajectory_consistency([["call"]] * len(tasks), success, tasks)
    assert result.outcome_consistency_published == pytest.approx(1 / k, abs=1e-12)
    assert result.outcome_consistency == pytest.approx(0.0, abs=1e-12)
    assert not result.confidence_interval["outcome_consistency"][0] < -1.0
    of_pc = pc.paraphrastic_consistency(success, np.ones_like(success), tasks)
    error = 2.0 * of_pc.standard_error["paraphrastic_consistency_unbiased"]
    assert result.standard_error["outcome_consistency"] == pytest.approx(error, rel=1e-9)
    assert result.trajectory_consistency == 1.0
    rng = np.random.default_rng(k)
    success, tasks = rng.integers(0, 2, 20_000 * k), np.repeat(np.arange(20_000), k)
    tossed = pc.trajectory_consistency([[]] * len(tasks), success, tasks)
    assert abs(tossed.outcome_consistency) < 0.01
    assert "no run has a call, so nothing is known of trajectories" in tossed.warnings


def test_what_is_refused() -> None:
    wrong: list[tuple[Any, str]] = [(["a", 3], "list of tools"), ([["a"], [1]], "names")]
    for calls, word in [*wrong, ([["a"]], "one value per row"), ("ab", "be a list")]:
        refuses(f"`calls` .*{word}", pc.trajectory_consistency, calls, [1, 0], ["x", "x"])
    for arguments, word in (([["x"], []], "each call"), ([["x"]], "one value per row"), ([["x"], 3], "list")):
        refuses(
            f"`arguments` .*{word}", pc.trajectory_consistency, [["a"], ["b"]], [1, 0], [*"xx"], arguments=arguments
        )
    refuses("`successes`", pc.trajectory_consistency, [["a"], []], [1, 2], ["x", "x"])
    for values in ([float("nan")], [30.0], []):
        refuses("`pass_hat`", pc.pass_hat_counts, values)


@pytest.mark.real_data
def test_trajectories_of_tau_bench(data_folder: Path) -> None:
    """HAL's formulas over the successful runs with calls, and pass^1 to pass^4, from the same rows."""
    table = pq.read_table(data_folder / "agents" / "tau_bench_airline.parquet").to_pylist()
    columns = ([row[name] for row in table] for name in ("tools", "reward", "task"))
    calls, reward, task = columns
    result = pc.trajectory_consistency(calls, reward, task)
    assert [round(value, 3) for value in result.pass_hat_n.values()] == [0.420, 0.273, 0.220, 0.200]
    assert round(result.outcome_consistency, 4) == 0.4133
    assert round(result.outcome_consistency_published, 4) == 0.5600
    hal: list[list[float]] = [[], []]
    for of in range(50):
        runs = [names for names, won, t in zip(calls, reward, task, strict=True) if t == of and won and names]
        pairs = list(combinations(runs, 2))
        for values, similarity in zip(hal, (in_order, in_frequency), strict=True):
            values += [np.mean([similarity(*pair) for pair in pairs])] if pairs else []
    with_calls = [bool(names) for names in calls]
    rows = ([value for value, has in zip(column, with_calls, strict=True) if has] for column in (calls, reward, task))
    kept = pc.trajectory_consistency(*rows)
    assert kept.trajectory_consistency_succeeded == pytest.approx(np.mean(hal[0]), abs=1e-12)
    assert kept.distribution_consistency_succeeded == pytest.approx(np.mean(hal[1]), abs=1e-12)


# --------------------------------------------------------------------------------------------- published numbers


def test_counts_of_successes_follow_from_pass_hat() -> None:
    rng = np.random.default_rng(3)
    for n_tasks, k in ((50, 4), (114, 3), (20, 8)):
        counts = rng.multinomial(n_tasks, rng.dirichlet(np.ones(k + 1)))
        values = [
            sum(n * comb(c, i) for c, n in enumerate(counts.tolist())) / comb(k, i) / n_tasks for i in range(1, k + 1)
        ]
        assert pc.pass_hat_counts(values, n_tasks, decimals=9) == counts.tolist()
        assert pc.pass_hat_counts([round(value, 4) for value in values], n_tasks) is not None
    assert pc.pass_hat_counts([0.5, 0.6], decimals=2) is None
    assert pc.pass_hat_counts([0.5, 0.25], decimals=2) == pytest.approx([0.25, 0.5, 0.25], abs=0.03)
    assert pc.pass_hat_counts([0.333], n_tasks=2, decimals=3) is None
    assert np.signbit(pc.pass_hat_counts([0, 0], n_tasks=2)).sum() == 0


@pytest.mark.faults
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_of_fewer_bits_are_printed_with_fewer_decimals(kind: type) -> None:
    """A column of 32 bits was taken for 17 decimals, with which no counts give it."""
    for column in (np.array, pd.Series, list):
        printed = column(np.array([0.420, 0.273, 0.220, 0.200], dtype=kind))
        assert pc.pass_hat_counts(printed, n_tasks=50) == [14, 12, 10, 4, 10]
    assert pc.pass_hat_counts(np.array([26 / 45], dtype=kind), n_tasks=45) == [19, 26]
    assert pc.pass_hat_counts(np.array([100 * 26 / 45], dtype=kind), n_tasks=45, percent=True) == [19, 26]
    rng = np.random.default_rng(0)
    for _ in range(20 if kind is not np.float16 else 0):
        counts = rng.multinomial(30, rng.dirichlet(np.ones(4)))
        values = [sum(n * comb(c, i) for c, n in enumerate(counts.tolist())) / comb(3, i) / 30 for i in (1, 2, 3)]
        assert pc.pass_hat_counts(np.array(values, dtype=kind), n_tasks=30, decimals=9) == counts.tolist()


@pytest.mark.faults
def test_a_small_number_has_its_decimals() -> None:
    """1e-05 was taken for a number without decimals, so that any counts gave it."""
    assert pc.pass_hat_counts([1e-05], n_tasks=100_000) == [99_999, 1]
    assert pc.pass_hat_counts([Fraction(1, 2), Fraction(1, 4)], n_tasks=40, decimals=9) is not None


@pytest.mark.real_data
def test_one_of_the_published_rows_of_tau2_is_impossible(data_folder: Path) -> None:
    table = pd.read_csv(data_folder / "agents" / "tau2_bench_published.csv")
    whole = table.dropna(subset=["pass_1", "pass_2", "pass_3", "pass_4"])
    assert len(whole) == 74
    found = [
        (row.submission, row.domain)
        for row in whole.itertuples()
        if pc.pass_hat_counts([row.pass_1, row.pass_2, row.pass_3, row.pass_4], percent=True) is None
    ]
    assert len(found) == 1
    assert "glm-5-think" in found[0][0]
    assert found[0][1] == "banking_knowledge"


@pytest.mark.real_data
def test_tau_bench_had_so_many_successes(data_folder: Path) -> None:
    table = pq.read_table(data_folder / "agents" / "tau_bench_airline.parquet").to_pandas()
    counts = table.groupby("task")["reward"].sum().value_counts().sort_index().tolist()
    assert pc.pass_hat_counts([0.420, 0.273, 0.220, 0.200], n_tasks=50, decimals=3) == counts


# ------------------------------------------------------------------------------------------------- copies of runs


@pytest.mark.real_data
def test_bfcl_published_cells_and_the_dates_that_are_copies(data_folder: Path) -> None:
    """1,044 of 1,044 cells; 07-06 = 07-20 and 07-22 = 07-25, and 63 verdicts on the same answers that changed."""
    table = pd.read_parquet(data_folder / "agents" / "bfcl.parquet")
    keys = ["model", "format", "date", "category"]
    cells = table.groupby(keys)["correct"].agg(["sum", "size"]).reset_index()
    printed = pd.read_csv(data_folder / "agents" / "bfcl_published.csv").merge(cells, on=keys)
    assert len(printed) == 1044
    assert (printed["correct"].eq(printed["sum"]) & printed["total"].eq(printed["size"])).all()
    assert (printed["accuracy_printed"] - printed["sum"] / printed["size"]).abs().max() < 5e-5
    table["task"] = table["category"] + " " + table["item"].astype(str)
    changed = 0
    for _, rows in table[table["date"] < "2024-08"].groupby(["model", "format"]):
        notes = repeated_runs(*(rows[name].tolist() for name in ("answer", "task", "date", "correct")))
        pairs = [note.partition(" have")[0].removeprefix("runs ") for note in notes]
        assert pairs == ["2024-07-06, 2024-07-20", "2024-07-22, 2024-07-25"]
        changed += sum(int(note.partition("; of ")[2].split()[0]) for note in notes if "; of " in note)
    assert changed == 63


@pytest.mark.real_data
def test_the_dates_that_are_copies_are_told_by_score(data_folder: Path) -> None:
    table = pd.read_parquet(data_folder / "agents" / "bfcl.parquet")
    rows = table[table["model"].str.startswith("gorilla") & table["category"].eq("simple")]
    frame = rows.rename(columns={"date": "trial", "item": "task"})[["task", "trial", "correct", "answer"]]
    (scored,) = pc.score(frame).sets.values()
    copies = [note for note in scored.warnings if note.startswith("runs ")]
    assert [note.partition(" have")[0] for note in copies] == ["runs 2024-07-06, 2024-07-20, 2024-07-22, 2024-07-25"]
    assert scored.measures["trajectory_consistency"]["pass_hat_n"]["1"] == pytest.approx(rows["correct"].mean())


@pytest.mark.faults
def test_runs_of_several_trials_are_copies_only_if_all_of_these_are() -> None:
    """Only the last trial of each task was looked at."""
    tasks, runs = [*range(10)] * 4, ["a"] * 20 + ["b"] * 20
    x, y, z = ([f"{trial}{task}" for task in range(10)] for trial in "xyz")
    assert not repeated_runs([*x, *z, *y, *z], tasks, runs)
    (note,) = repeated_runs([*x, *z, *z, *x], tasks, runs, [1] * 39 + [0])
    assert "runs a, b have the same answers in all of 10 buckets" in note
    assert "of 1 the verdicts differ" in note


def test_runs_that_differ_are_no_copies() -> None:
    tasks = [*range(12)] * 2
    runs = ["a"] * 12 + ["b"] * 12
    assert not repeated_runs([f"call {i}" for i in range(24)], tasks, runs)
    assert not repeated_runs(["same"] * 24, tasks, runs)
    assert not repeated_runs([f"{i}" for i in range(9)] * 2, [*range(9)] * 2, ["a"] * 9 + ["b"] * 9)


@pytest.mark.real_data
def test_the_documents_table_is_what_score_finds(data_folder: Path) -> None:
    """docs/howto/agents.md: each number of its table is a value, or an end of an interval, that `score` shows."""
    (scored,) = pc.score(data_folder / "agents" / "tau_bench_airline.parquet").sets.values()
    result = scored.measures["trajectory_consistency"]
    shown = {f"{result['first_divergence']:.1f}", f"{100 * result['outcome_consistency_published']:.1f}"}
    shown |= {f"{100 * result['pass_hat_n'][str(n)]:.1f}" for n in range(1, 5)}
    shown |= {f"{end:.1f}" for end in result["confidence_interval"]["first_divergence"]}
    for key, value in result.items():
        if isinstance(value, float):
            shown |= {f"{100 * number:.1f}" for number in (value, *result["confidence_interval"].get(key, ()))}
    shown |= {f"{100 * end:.1f}" for end in result["confidence_interval"]["pass_hat_n/4"]}
    page = (Path(__file__).parents[2] / "docs" / "howto" / "agents.md").read_text(encoding="utf-8")
    table = page.partition("| number | value | interval |")[2].partition("\n\n")[0]
    numbers = re.findall(r"\d+\.\d", table)
    assert len(numbers) > 20
    assert set(numbers) <= shown
