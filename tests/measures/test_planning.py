"""The planner: its variances against their definition, its half-widths against simulated intervals, its command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command

from paraconsist.errors import InputError
from paraconsist.measures._paraphrastic_counts import MEASURES, bucket_sums, measures_of_sums
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.planning import buckets_for_difference, half_width, pilot_of, plan
from paraconsist.measures.resampling import Units, distinct, standard_errors

P_C = "paraphrastic_consistency_unbiased"


def drawn(rng: np.random.Generator, n: int, k: int, shape: tuple[float, float] = (2.0, 1.0)) -> BucketCounts:
    return BucketCounts.from_counts(np.full(n, k), rng.binomial(k, rng.beta(*shape, n)))


def simulated_half_width(rng: np.random.Generator, measure: str, n: int, k: int, repeats: int = 60) -> float:
    """Return the mean half-width of closed-form intervals of fresh sets."""
    found = []
    for _ in range(repeats):
        counts = drawn(rng, n, k)
        first, _, multiplicity = distinct(counts.size, counts.correct)
        units = Units.unstratified(bucket_sums(counts.take(first)), multiplicity)
        found.append(standard_errors(units, measures_of_sums)[MEASURES.index(measure)])
    return 1.97 * float(np.mean(found))


@pytest.mark.parametrize("measure", [P_C, "vap_unbiased", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(200, 2), (300, 5), (150, 12)])
def test_predicted_half_widths_are_those_of_fresh_data(measure: str, n: int, k: int) -> None:
    """A large pilot of 4 to 8 paraphrases predicts what other numbers give, within 4 per cent."""
    rng = np.random.default_rng(0)
    size = rng.integers(4, 9, 20_000)
    pilot = pilot_of(BucketCounts.from_counts(size, rng.binomial(size, rng.beta(2, 1, 20_000))), measure)
    assert half_width(pilot, n, k) == pytest.approx(simulated_half_width(rng, measure, n, k), rel=0.04)


def test_the_variance_of_pairs_is_that_of_its_definition() -> None:
    """theta 0 or 1 half the time and 1/2 otherwise: mu is 0 or 1/2, and V(2) that of a coin of 1/4."""
    size = np.full(16, 4)
    correct = [0] * 4 + [4] * 4 + [0] * 0 + [1] * 2 + [2] * 3 + [3] * 2 + [4] * 1
    pilot = pilot_of(BucketCounts.from_counts(size, correct))
    assert pilot.variance(2) == pytest.approx((1 - pilot.value) * pilot.value)
    k = 10**6
    assert pilot.variance(k) == pytest.approx(pilot.between_variance, abs=1e-5)
    assert pilot.variance(3) > pilot.variance(5) > pilot.variance(k)


def test_shared_contexts_widen_the_plan_by_the_pilots_design_effect() -> None:
    rng = np.random.default_rng(1)
    counts = drawn(rng, 400, 6)
    twice = counts.take(np.repeat(np.arange(400), 2))  # every bucket once more in its context
    alone, grouped = pilot_of(twice), pilot_of(twice, groups=np.repeat(np.arange(400), 2))
    assert grouped.variance(6) / alone.variance(6) == pytest.approx(2.0, rel=0.1)
    assert half_width(grouped, 800, 6) == pytest.approx(half_width(alone, 400, 6), rel=0.05)


def test_without_four_paraphrases_the_plan_is_cautious() -> None:
    rng = np.random.default_rng(2)
    three, six = pilot_of(drawn(rng, 5000, 3)), pilot_of(drawn(rng, 5000, 6))
    assert three.variance(3) == pytest.approx(six.variance(3), rel=0.05)
    assert three.variance(10) > six.variance(10)
    assert three.warnings == ("no bucket has four paraphrases: what more of them would gain is put at its least",)


def test_power_of_the_planned_number() -> None:
    """With the planned buckets, a true difference is found about as often as asked (80 % +- 6)."""
    rng = np.random.default_rng(3)
    shapes = (2.0, 1.0), (1.2, 0.5)
    truth = [1 - 2 * a * b / ((a + b) * (a + b + 1)) for a, b in shapes]
    pilots = [pilot_of(drawn(rng, 20_000, 6, shape)) for shape in shapes]
    n = buckets_for_difference(pilots[0], truth[1] - truth[0], 4, other=pilots[1])
    hits = 0
    for _ in range(400):
        values = []
        for shape in shapes:
            counts = drawn(rng, n, 4, shape)
            values.append(2.0 * counts.correct * (4 - counts.correct) / 12.0)
        d = values[0] - values[1]
        hits += abs(d.mean()) > 1.97 * d.std(ddof=1) / np.sqrt(n)
    assert 296 <= hits <= 344


def test_plans_are_monotone_and_least() -> None:
    pilot = pilot_of(drawn(np.random.default_rng(4), 300, 5))
    rows = plan(pilot, half_width=0.03, difference=0.05)
    n = [row.buckets_for_half_width for row in rows]
    assert n == sorted(n, reverse=True)  # type: ignore[type-var]
    first = rows[0]
    assert first.buckets_for_half_width is not None
    assert half_width(pilot, first.buckets_for_half_width, first.paraphrases) <= 0.03
    assert half_width(pilot, first.buckets_for_half_width - 1, first.paraphrases) > 0.03
    half_the_width = plan(pilot, half_width=0.015)[0].buckets_for_half_width
    assert half_the_width == pytest.approx(4 * first.buckets_for_half_width, rel=0.01)


def test_bad_plans() -> None:
    counts = drawn(np.random.default_rng(5), 50, 4)
    with pytest.raises(InputError, match="`pilot` must have at least two buckets with two paraphrases"):
        pilot_of(BucketCounts.from_counts([1, 1, 2], [1, 0, 1]))
    for options, message in [
        ({}, "`half_width` must be given, or `difference`"),
        ({"half_width": 2.0}, "`half_width` must lie between 0 and 1"),
        ({"half_width": 1e-6}, "be reachable with 100 million buckets"),
        ({"difference": 0.1, "power": 1.0}, "`power` must lie between 0 and 1"),
        ({"difference": 0.1, "correlation": 1.0}, "`correlation` must lie between -1 and 1"),
        ({"difference": 0.1, "paraphrases": [1]}, "`paraphrases` must be a whole number of at least 2"),
    ]:
        with pytest.raises(InputError, match=message):
            plan(pilot_of(counts), **options)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------- the command


def write(path: Path, seed: int, n: int = 80) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["bucket_id,role,label,prediction"]
    for b in range(n):
        lines.append(f"b{b},original,1,{int(rng.random() < 0.8)}")
        theta = rng.beta(2, 1)
        lines += [f"b{b},paraphrase,1,{int(rng.random() < theta)}" for _ in range(int(rng.integers(2, 7)))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_command(command: Command, tmp_path: Path) -> None:
    pilot, other = write(tmp_path / "a.csv", 0), write(tmp_path / "b.csv", 1)
    code, out, err = command("plan", pilot, "--half-width", 0.02, "--difference", 0.03)
    assert code == 0, err
    assert "pilot of 80 buckets" in out
    assert "+-0.02 at 95 %" in out
    code, out, err = command("plan", pilot, "--half-width", 0.02, "--difference", 0.03, "--against", other, "--json")
    assert code == 0, err
    said = json.loads(out)
    assert [row["paraphrases"] for row in said["plan"]] == [2, 3, 4, 5, 6, 8, 10, 15, 20]
    assert -1 < said["correlation"] < 1
    for measure in ("accuracy", "inconsistency", "vap_unbiased"):
        code, out, err = command("plan", pilot, "--measure", measure, "--half-width", 0.05, "--json")
        assert code == 0, err
        assert json.loads(out)["pilot"]["measure"] == measure


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "`--half-width` must be given, or `--difference`"),
        (["--half-width", 0.02, "--measure", "f1"], "`--measure` must be one of paraphrastic_consistency_unbiased"),
        (["--half-width", 0.02, "--paraphrases", "two"], "must be whole numbers with commas between; got 'two'"),
        (["--half-width", 0.02, "--set", "snli"], "`pilot` must be one set"),
    ],
)
def test_bad_commands(command: Command, tmp_path: Path, args: list[Any], message: str) -> None:
    code, _, err = command("plan", write(tmp_path / "a.csv", 0), *args)
    assert code == 2
    assert message in err
