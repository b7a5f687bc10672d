"""The noise floor: against naive loops over pairs, against a simulated four-way model, and its bad input."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paraconsist.errors import InputError
from paraconsist.measures.noise_floor import noise_floor, trial_noise
from paraconsist.measures.paraphrastic import paraphrastic_consistency

QUICK: dict[str, Any] = {"n_resamples": 50}


def simulated(
    rng: np.random.Generator, n_problems: int, n_paraphrases: int, flips: dict[str, float], repeats: int = 2
) -> dict[str, list[Any]]:
    """Answers 1 (right) or 0: a chance per problem, one draw per paraphrase, flipped anew by each kind of noise."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("predictions", "references", "buckets", "examples", "repeats", "kinds")
    }
    runs = [("main", "0")] + [(kind, f"{kind}{i}") for kind in flips for i in range(repeats)]
    for b in range(n_problems):
        theta = rng.beta(2, 1)
        for j in range(n_paraphrases):
            answer = int(rng.random() < theta)
            sampled: dict[str, int] = {}
            for kind, name in runs:
                seed = name if kind == "decoding" else "0"
                if seed not in sampled:
                    sampled[seed] = answer ^ int(rng.random() < flips.get("decoding", 0.0))
                value = sampled[seed] ^ int(rng.random() < flips.get("numeric", 0.0))
                for column, cell in zip(rows, (value, 1, f"b{b}", f"b{b}.{j}", name, kind), strict=True):
                    rows[column].append(cell)
    return rows


def naive_flip_rate(rows: dict[str, list[Any]], kind: str) -> float:
    """Mean over buckets of the share of pairs of answers to one input that differ, as defined."""
    shares: dict[str, list[bool]] = {}
    kind_of = dict(zip(rows["repeats"], rows["kinds"], strict=True))
    of_input: dict[str, list[tuple[str, int, str]]] = {}
    for prediction, bucket, example, run in zip(
        rows["predictions"], rows["buckets"], rows["examples"], rows["repeats"], strict=True
    ):
        of_input.setdefault(example, []).append((run, prediction, bucket))
    for answers in of_input.values():
        for (run_1, one, bucket), (run_2, two, _) in combinations(answers, 2):
            decoding = "decoding" in (kind_of[run_1], kind_of[run_2])
            if decoding == (kind == "decoding"):
                shares.setdefault(bucket, []).append(one != two)
    return float(np.mean([np.mean(pairs) for pairs in shares.values()]))


def test_flip_rates_are_those_of_a_loop_over_pairs() -> None:
    rows = simulated(np.random.default_rng(0), 12, 3, {"numeric": 0.1, "decoding": 0.2})
    order = np.random.default_rng(1).permutation(len(rows["kinds"]))
    shuffled = {name: [values[i] for i in order] for name, values in rows.items()}
    found = noise_floor(**shuffled, **QUICK)
    for kind in ("numeric", "decoding"):
        assert found.flip_rate[kind] == pytest.approx(naive_flip_rate(rows, kind), abs=1e-12)
        assert found.correctness_flip_rate[kind] == pytest.approx(found.flip_rate[kind])
    assert found.n_repeats == 4
    assert (found.n_buckets, found.n_examples, found.n_clusters) == (12, 36, 12)
    assert found.n_pairs == {"numeric": 36 * 3, "decoding": 36 * 7}


@pytest.mark.parametrize("has_gold", [True, False])
def test_changes_of_wording_are_those_of_a_loop_over_pairs_of_wordings(has_gold: bool) -> None:
    """Five labels, 1 to 4 wordings, the first being the original, and runs that asked a share (of bucket 7 all do)."""
    rng = np.random.default_rng(6)
    rows: dict[str, list[Any]] = {name: [] for name in ("predictions", "buckets", "examples", "repeats", "roles")}
    for bucket in range(15):
        for wording in range(bucket % 4 + 1):
            for run in range(3):
                asks = run == 0 or (bucket + run) % 3 or not wording  # some repeats ask the originals alone
                if wording != run if bucket == 7 else asks:
                    cells = int(rng.integers(5)), bucket, f"{bucket}.{wording}", run
                    for column, cell in zip(rows, (*cells, "paraphrase" if wording else "original"), strict=True):
                        rows[column].append(cell)
    references = [bucket % 5 for bucket in rows["buckets"]] if has_gold else None
    found = noise_floor(references=references, **rows, **QUICK)
    table = pd.DataFrame(rows)
    changes = []
    for _, bucket_rows in table.groupby("buckets"):
        n = bucket_rows.examples.nunique()
        whole = [run for run, answers in bucket_rows.groupby("repeats") if len(answers) == n] or range(3)
        answers = {
            example: of.predictions.tolist()
            for example, of in bucket_rows[bucket_rows.repeats.isin(whole)].groupby("examples")
        }
        pairs = [np.mean([a != b for a in one for b in two]) for one, two in combinations(answers.values(), 2)]
        changes += [np.mean(pairs)] if pairs else []
    assert found.wording_change == pytest.approx(np.mean(changes), abs=1e-12)
    assert found.excess_wording_change == pytest.approx(np.mean(changes) - found.flip_rate["decoding"], abs=1e-12)
    low, high = found.confidence_interval["excess_wording_change"]
    assert -1.0 <= low < found.excess_wording_change < high <= 1.0
    if not has_gold:
        assert (found.correctness_flip_rate, found.variance, found.share) == ({}, {}, {})
        assert np.isnan([found.inconsistency, found.excess_inconsistency, found.consistency_in_excess]).all()
        assert not any("correctness" in key or "inconsistency" in key for key in found.confidence_interval)
        assert not any("variance" in note for note in found.warnings)


def test_the_four_parts_are_those_that_were_simulated() -> None:
    """theta ~ Beta(2, 1), flip chances e and d: every noise shrinks the covariance of answers by (1 - 2 chance)^2."""
    numeric, decoding = 0.05, 0.1
    rows = simulated(np.random.default_rng(3), 3000, 3, {"numeric": numeric, "decoding": decoding})
    found = noise_floor(**rows, interval_method="closed_form")
    mean, between = 2 / 3, 1 / 18  # of Beta(2, 1)
    theta = 0.5 + (1 - 2 * numeric) * (1 - 2 * decoding) * (mean - 0.5)
    clean = mean * (1 - mean)  # variance of the answer before any noise
    keep_numeric, keep_decoding = (1 - 2 * numeric) ** 2, (1 - 2 * decoding) ** 2
    total = theta * (1 - theta)
    sampled = 0.25 - keep_decoding * (0.25 - clean)  # after decoding noise
    expected = {
        "problem": keep_numeric * keep_decoding * between,
        "paraphrase": keep_numeric * keep_decoding * (clean - between),
        "decoding": keep_numeric * (sampled - keep_decoding * clean),
        "numeric": total - keep_numeric * sampled,
    }
    assert sum(expected.values()) == pytest.approx(total)
    for name, value in expected.items():
        low, high = found.confidence_interval[f"variance/{name}"]
        assert low - 0.002 <= value <= high + 0.002, name
        assert found.variance[name] == pytest.approx(value, abs=0.006), name
    assert sum(found.share.values()) == pytest.approx(1.0)


def test_excess_is_what_paraphrasing_adds() -> None:
    rows = simulated(np.random.default_rng(4), 400, 4, {"decoding": 0.2})
    found = noise_floor(**rows, interval_method="closed_form")
    assert found.excess_inconsistency == pytest.approx(found.inconsistency - found.correctness_flip_rate["decoding"])
    assert found.consistency_in_excess == 1 - found.excess_inconsistency
    low, high = found.confidence_interval["excess_inconsistency"]
    assert found.confidence_interval["consistency_in_excess"] == [1 - high, 1 - low]
    assert list(found.variance) == ["problem", "paraphrase", "decoding"]
    assert "no numeric repeats: their part of the variance is counted under decoding" in found.warnings


def test_the_largest_flip_rate_is_taken_off_whatever_its_kind() -> None:
    """Ten buckets of two paraphrases that differ in five; four inputs flip in other batches, one by its seed."""
    main = [1, 0] * 5 + [1, 1] * 5
    numeric, decoding = main.copy(), main.copy()
    for row in (0, 4, 10, 14):
        numeric[row] = 1 - numeric[row]
    decoding[18] = 1 - decoding[18]
    found = noise_floor(
        predictions=main + numeric + decoding,
        references=[1] * 60,
        buckets=[f"b{i // 2}" for i in range(20)] * 3,
        examples=[f"x{i}" for i in range(20)] * 3,
        repeats=["m"] * 20 + ["n"] * 20 + ["d"] * 20,
        kinds=["main"] * 20 + ["numeric"] * 20 + ["decoding"] * 20,
        interval_method="closed_form",
    )
    # numeric: (main, n); decoding: (main, d) and (n, d), of which the second flips where either did
    assert found.correctness_flip_rate == pytest.approx({"numeric": 4 / 20, "decoding": (1 / 20 + 5 / 20) / 2})
    assert found.inconsistency == pytest.approx((5 + 5 + 6) / 30)
    assert found.excess_inconsistency == pytest.approx((5 + 5 + 6) / 30 - 4 / 20)
    low, high = found.confidence_interval["excess_inconsistency"]
    assert low < found.excess_inconsistency < high
    # its error is that of the difference of two means over buckets
    by_bucket = []
    for b in range(10):
        differ = [run[2 * b] != run[2 * b + 1] for run in (main, numeric, decoding)]
        flips = [main[i] != numeric[i] for i in (2 * b, 2 * b + 1)]
        by_bucket.append(np.mean(differ) - np.mean(flips))
    assert found.standard_error["excess_inconsistency"] == pytest.approx(np.std(by_bucket, ddof=1) / np.sqrt(10))


def test_a_model_that_repeats_itself_has_a_floor_of_0_with_a_bound() -> None:
    rows = simulated(np.random.default_rng(5), 40, 3, {"numeric": 0.0})
    found = noise_floor(**rows, **QUICK)
    assert found.flip_rate == {"numeric": 0.0}
    low, high = found.confidence_interval["flip_rate/numeric"]
    assert (low, high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 40)))
    assert found.excess_inconsistency == found.inconsistency
    assert any("Clopper-Pearson type bound: flip_rate/numeric" in warning for warning in found.warnings)


def test_originals_give_noise_but_are_no_paraphrases_and_groups_stay_together() -> None:
    """Two problems: originals repeated (one flips), paraphrases asked once."""
    rows: dict[str, Any] = {
        "predictions": [1, 1, 0, 1, 1, 1, 0, 1],
        "references": [1] * 8,
        "buckets": ["a", "a", "a", "b", "b", "b", "a", "b"],
        "examples": ["a0", "a1", "a2", "b0", "b1", "b2", "a0", "b0"],
        "repeats": [0] * 6 + [1, 1],
        "kinds": ["main"] * 6 + ["numeric"] * 2,
    }
    roles = ["original", "paraphrase", "paraphrase"] * 2 + ["original"] * 2
    found = noise_floor(**rows, roles=roles, **QUICK)
    assert found.flip_rate == {"numeric": 0.5}
    assert found.inconsistency == 0.5  # a: its two paraphrases differ; b: they do not
    grouped = noise_floor(**rows, roles=roles, groups=["g"] * 8, **QUICK)
    assert grouped.n_clusters == 1
    assert np.isnan(grouped.confidence_interval["flip_rate/numeric"]).all()


def test_repeats_of_some_paraphrases_leave_the_inconsistency_as_the_run_has_it() -> None:
    """One paraphrase a bucket is asked again: 1 - P_C stays that of the run; originals' flips are not counted."""
    rng = np.random.default_rng(6)
    roles, buckets, examples, answers = [], [], [], []
    for b in range(30):
        for j in range(5):
            roles.append("original" if j == 0 else "paraphrase")
            buckets.append(f"b{b}")
            examples.append(f"b{b}.{j}")
            answers.append(int(rng.random() < 0.6))
    again = [i for i in range(150) if i % 5 in (0, 1 + i // 5 % 4)]
    second = [1 - answers[i] if i % 5 == 0 or i % 15 == 2 else answers[i] for i in again]  # every original flips
    n_flips = sum(one != answers[i] for i, one in zip(again, second, strict=True) if i % 5)
    found = noise_floor(
        predictions=answers + second,
        references=[1] * (150 + len(again)),
        buckets=buckets + [buckets[i] for i in again],
        examples=examples + [examples[i] for i in again],
        repeats=[0] * 150 + [1] * len(again),
        kinds=["main"] * 150 + ["numeric"] * len(again),
        roles=roles + [roles[i] for i in again],
        **QUICK,
    )
    rows = [i for i in range(150) if i % 5]
    alone = paraphrastic_consistency([answers[i] for i in rows], [1] * 120, [buckets[i] for i in rows], n_resamples=50)
    assert n_flips > 0
    assert found.inconsistency == pytest.approx(1 - alone.paraphrastic_consistency_unbiased, abs=1e-12)
    assert found.flip_rate["numeric"] == pytest.approx(n_flips / 30)
    assert found.n_pairs == {"numeric": 30}
    assert not any("originals" in warning for warning in found.warnings)


def nested_anova(y: np.ndarray) -> dict[str, float]:
    """Variance components of answers of shape (problems, wordings, trials), from the textbook's mean squares."""
    b, w, n = y.shape
    of_cell, of_problem = y.mean(axis=2), y.mean(axis=(1, 2))
    trials = ((y - of_cell[:, :, None]) ** 2).sum() / (b * w * (n - 1))
    if w == 1:
        problems = n * ((of_problem - y.mean()) ** 2).sum() / (b - 1)
        return {"problem": (problems - trials) / n, "decoding": trials}
    wordings = n * ((of_cell - of_problem[:, None]) ** 2).sum() / (b * (w - 1))
    problems = n * w * ((of_problem - y.mean()) ** 2).sum() / (b - 1)
    return {"problem": (problems - wordings) / (n * w), "paraphrase": (wordings - trials) / n, "decoding": trials}


def long_rows(y: np.ndarray) -> tuple[list[int], list[int], list[int], list[int]]:
    b, w, t = (axis.ravel().tolist() for axis in np.indices(y.shape))
    return y.ravel().tolist(), b, w, t


@pytest.mark.parametrize("shape", [(40, 3, 6), (40, 1, 5)])
def test_trials_give_the_components_of_a_nested_analysis_of_variance(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(7)
    theta = rng.beta(1, 1, shape[:2])[:, :, None] * rng.beta(3, 1, shape[0])[:, None, None]
    y = (rng.random(shape) < theta).astype(int)
    found = trial_noise(*long_rows(y), **QUICK)
    assert found.variance == pytest.approx(nested_anova(y), abs=1e-12)
    if shape[1] == 1:
        assert np.isnan(found.inconsistency)
        assert any("two paraphrases" in warning for warning in found.warnings)


def test_intervals_hold_what_they_promise() -> None:
    """400 times 40 problems of 4 wordings, asked 3 times: p = m + u, m uniform on [.2, .8], u = .15 or -.15."""
    rng = np.random.default_rng(8)
    problem, wording, trial = (axis.ravel() for axis in np.indices((40, 4, 3)))
    truth = {"problem": 0.03, "paraphrase": 0.0225, "decoding": 0.25 - 0.03 - 0.0225}
    values = {f"variance/{part}": value for part, value in truth.items()}
    values |= {"flip_rate/decoding": 2 * truth["decoding"], "excess_inconsistency": 2 * truth["paraphrase"]}
    hits = dict.fromkeys(values, 0)
    for _ in range(400):
        p = rng.uniform(0.2, 0.8, (40, 1)) + rng.choice([-0.15, 0.15], (40, 4))
        right = rng.random(len(trial)) < p[problem, wording]
        found = trial_noise(right, problem, wording, trial)
        for name, value in values.items():
            low, high = found.confidence_interval[name]
            hits[name] += low <= value <= high
    # three standard errors of 400 draws below 95, and up to what no interval reaches that is not far too wide
    assert all(0.917 <= n / 400 <= 0.993 for n in hits.values()), hits


def test_the_excess_of_few_problems_that_depend_on_the_wording_is_held() -> None:
    """60 problems, two wordings, two trials, right nine times in ten: intervals held 87 %, the others too low."""
    rng, problem = np.random.default_rng(8), np.repeat(np.arange(60), 4)
    wording, trial = np.tile([0, 0, 1, 1], 60), np.tile([0, 1], 120)
    truth, held = (
        2 * 9 / 110 * (1 - 10 / 11),
        [],
    )  # pairs of wordings differ at 2 * 9 / 110, pairs of trials 10 / 11 of it
    for _ in range(300):
        p = np.clip(rng.beta(9, 1, 60), 1e-6, 1 - 1e-6)[:, None]
        right = rng.random(240) < np.repeat(rng.beta(10 * p, 10 - 10 * p, (60, 2)).ravel(), 2)
        low, high = trial_noise(right, problem, wording, trial).confidence_interval["excess_inconsistency"]
        held.append(low <= truth <= high)
    assert np.mean(held) >= 0.93


def test_bad_trials() -> None:
    good: dict[str, Any] = {"correct": [1, 0], "buckets": [1, 1], "wordings": [1, 1], "trials": [1, 2]}
    with pytest.raises(InputError, match="trial_noise: `correct` must be true or false; got 2 at row 1"):
        trial_noise(**{**good, "correct": [1, 2]})
    with pytest.raises(InputError, match="trial_noise: `trials` must occur once with a wording; got 1 at row 0"):
        trial_noise(**{**good, "trials": [1, 1]})
    with pytest.raises(InputError, match="trial_noise: `trials` must be several of at least one wording"):
        trial_noise(**{**good, "wordings": [1, 2]})


@pytest.mark.real_data
def test_wording_against_trials_of_twenty_three_models(data_folder: Path) -> None:
    """AIW, parameterised: three variations (problems), three wordings, twenty trials of each."""
    rows = pd.read_parquet(data_folder / "recorded/aiw.parquet").query("source == 'param'")
    by_model = []
    for _, of_model in rows.groupby("model"):
        names = [of_model[name].tolist() for name in ("correct", "variation", "prompt_type", "trial")]
        found = trial_noise(*names, **QUICK)
        naive = naive_flip_rate_of_trials(*names)
        assert found.flip_rate["decoding"] == pytest.approx(naive, abs=1e-12)
        by_model.append(found.variance["paraphrase"])
        even = of_model.query("trial < 18").sort_values(["variation", "prompt_type", "trial"])  # every cell has these
        y = even["correct"].to_numpy().reshape(3, 3, 18)
        names = [even[name].tolist() for name in ("correct", "variation", "prompt_type", "trial")]
        assert trial_noise(*names, **QUICK).variance == pytest.approx(nested_anova(y), abs=1e-12)
    problems = (rows["model"] + rows["variation"]).tolist()
    whole = trial_noise(
        rows["correct"], problems, rows["prompt_type"], rows["trial"], groups=rows["model"], n_resamples=1000
    )
    assert (whole.n_buckets, whole.n_examples, whole.n_clusters) == (69, 207, 23)
    assert whole.flip_rate["decoding"] == pytest.approx(
        naive_flip_rate_of_trials(
            rows["correct"].tolist(), problems, rows["prompt_type"].tolist(), rows["trial"].tolist()
        )
    )
    # models are the clusters, of three problems each: the error is that of a mean of 23 values
    error = np.std(by_model, ddof=1) / np.sqrt(23)
    assert whole.variance["paraphrase"] == pytest.approx(np.mean(by_model), abs=1e-12)
    assert whole.standard_error["variance/paraphrase"] == pytest.approx(error, abs=1e-12)
    low, high = whole.confidence_interval["variance/paraphrase"]
    assert low < whole.variance["paraphrase"] < high


def naive_flip_rate_of_trials(correct: list[int], problems: list[Any], wordings: list[Any], trials: list[Any]) -> float:
    """Mean over problems of the share of pairs of trials of one wording that differ."""
    cells: dict[tuple[Any, Any], list[int]] = {}
    for right, problem, wording, _ in zip(correct, problems, wordings, trials, strict=True):
        cells.setdefault((problem, wording), []).append(right)
    differ: dict[Any, list[bool]] = {}
    for (problem, _), answers in cells.items():
        differ.setdefault(problem, []).extend(one != two for one, two in combinations(answers, 2))
    return float(np.mean([np.mean(pairs) for pairs in differ.values()]))


@pytest.mark.real_data
def test_five_epochs_of_two_models_on_gpqa(data_folder: Path) -> None:
    rows = pd.read_csv(data_folder / "recorded/gpqa_epochs.csv")
    published = {"openai/gpt-5-nano-2025-08-07": (0.675758, 0.027596)}  # accuracy and its clustered standard error
    for model, of_model in rows.groupby("model"):
        y = of_model.pivot_table("correct", "item", "epoch").to_numpy()[:, None, :]
        found = trial_noise(
            of_model["correct"],
            of_model["item"],
            ["as it stands"] * len(of_model),
            of_model["epoch"],
            interval_method="closed_form",
        )
        assert found.variance == pytest.approx(nested_anova(y), abs=1e-12)
        by_item = [np.mean([one != two for one, two in combinations(item[0], 2)]) for item in y]
        assert found.flip_rate["decoding"] == pytest.approx(np.mean(by_item), abs=1e-12)
        error = np.std(by_item, ddof=1) / np.sqrt(198)
        assert found.standard_error["flip_rate/decoding"] == pytest.approx(error, abs=1e-12)
        for accuracy, clustered in [published[model]] if model in published else []:
            # the squared error of the mean over items is the variance between items and a fifth of that of trials
            squared = (found.variance["problem"] + found.variance["decoding"] / 5) / 198
            assert y.mean() == pytest.approx(accuracy, abs=5e-7)
            assert np.sqrt(squared) == pytest.approx(clustered, abs=5e-7)


GOOD: dict[str, Any] = {
    "predictions": [1, 0, 1, 1],
    "references": [1, 1, 1, 1],
    "buckets": ["a", "a", "a", "a"],
    "examples": ["x", "y", "x", "y"],
    "repeats": [0, 0, 1, 1],
    "kinds": ["main", "main", "numeric", "numeric"],
}
