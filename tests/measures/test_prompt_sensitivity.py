"""The indices of sensitivity to wording: their definitions, what is the same under two names, and published values."""

import json
import math
from collections import Counter
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pandas as pd
import pytest
from helpers.scripts import ROOT
from scipy import special, stats

from paraconsist.errors import InputError
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.prompt_sensitivity import PromptSensitivityResult, prompt_sensitivity, variant_indices


def made(seed: int, n_buckets: int = 40, n_labels: int = 3, sizes: tuple[int, int] = (1, 7)) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    columns: dict[str, list] = {"predictions": [], "references": [], "buckets": [], "variants": []}
    for bucket in range(n_buckets):
        gold, k = int(rng.integers(n_labels)), int(rng.integers(*sizes))
        easy = rng.uniform()
        for variant in rng.permutation(7)[:k].tolist():
            columns["predictions"].append(gold if rng.uniform() < easy else int(rng.integers(n_labels)))
            columns["references"].append(gold)
            columns["buckets"].append(f"b{bucket}")
            columns["variants"].append(f"v{variant}")
    return columns


def naive(columns: dict[str, list]) -> dict[str, float]:
    """Every index from its definition, pair by pair and draw by draw."""
    rows = pd.DataFrame(columns)
    rows["right"] = rows["predictions"] == rows["references"]
    buckets = [part for _, part in rows.groupby("buckets", sort=False)]
    several = [part for part in buckets if len(part) > 1]
    n_labels = len({*columns["predictions"], *columns["references"]})

    def share_of_pairs(part: pd.DataFrame, column: str) -> list[bool]:
        return [one == other for one, other in combinations(part[column], 2)]

    def majority(part: pd.DataFrame) -> float:
        counts = Counter(part["predictions"])
        top = [label for label, n in counts.items() if n == max(counts.values())]
        return (part["references"].iloc[0] in top) / len(top)

    def entropy(part: pd.DataFrame) -> float:
        return -sum(n / len(part) * math.log(n / len(part)) for n in Counter(part["predictions"]).values())

    found = {
        "prompt_sensitivity_score": 1 - np.mean([np.mean(share_of_pairs(part, "right")) for part in several]),
        "agreement": np.mean([np.mean(share_of_pairs(part, "predictions")) for part in several]),
        "agreement_plugin": np.mean(
            [np.mean([a == b for a in part["predictions"] for b in part["predictions"]]) for part in buckets]
        ),
        "consistency_rate_pooled": np.mean([one for part in buckets for one in share_of_pairs(part, "predictions")]),
        "accuracy": rows["right"].mean(),
        "majority_accuracy": np.mean([majority(part) for part in buckets]),
        "worst_case_accuracy": np.mean([part["right"].all() for part in buckets]),
        "best_case_accuracy": np.mean([part["right"].any() for part in buckets]),
        "aptitude": np.mean([np.percentile(1.0 * part["right"], 90) for part in buckets]),
        "unreliability": np.mean([np.subtract(*np.percentile(1.0 * part["right"], [90, 10])) for part in buckets]),
        "normalized_entropy": np.mean([entropy(part) / math.log(n_labels) for part in buckets]),
        "unanimous_share": np.mean([part["predictions"].nunique() == 1 for part in buckets]),
        "entropy": np.mean([entropy(part) for part in buckets]),
        "size_normalized_entropy": np.mean([entropy(part) / math.log(max(len(part), 2)) for part in buckets]),
        "mode_share": np.mean([max(Counter(part["predictions"]).values()) / len(part) for part in buckets]),
        "distinct_answers": np.mean([part["predictions"].nunique() for part in buckets]),
    }
    for n in (1, 2, 4):
        draws = [list(combinations(part["right"], n)) for part in buckets if len(part) >= n]
        found[f"pass_hat_n/{n}"] = np.mean([np.mean([all(draw) for draw in part]) for part in draws])
        found[f"pass_at_n/{n}"] = np.mean([np.mean([any(draw) for draw in part]) for part in draws])
    curve = [np.mean([10 * part["right"].sum() >= t * len(part) for part in buckets]) for t in range(11)]
    found |= {f"minimum_accuracy_curve/{t / 10:.1f}": value for t, value in enumerate(curve)}
    found["aucar"] = sum((one + other) / 20 for one, other in pairwise(curve))
    found["core"] = found["aucar"] * (1 - warped(curve, [1.0] * 11) / warped([1.0] * 11, [1.0] + [0.0] * 10))
    by_variant = rows.groupby("variants")["right"].mean()
    most, least, mean = by_variant.max(), by_variant.min(), by_variant.mean()
    found |= {
        "mean_accuracy": mean,
        "max_accuracy": most,
        "spread": most - least,
        "variant_deviation": by_variant.std(ddof=0),
    }
    return found | {"performance_drop_rate": 1 - least / most, "combined_performance_score": most * (1 - (most - mean))}


def warped(a: list[float], b: list[float]) -> float:
    """Dynamic time warping with absolute differences."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            cost[i, j] = abs(x - y) + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return float(cost[-1, -1])


def flat(result: PromptSensitivityResult) -> dict[str, float]:
    values = result.to_dict()
    nested = {
        f"{name}/{key}": value
        for name in ("pass_hat_n", "pass_at_n", "minimum_accuracy_curve")
        for key, value in values[name].items()
    }
    return values | nested


@pytest.mark.parametrize("seed", range(8))
def test_every_index_is_its_definition(seed):
    columns = made(seed, n_labels=2 + seed % 3)
    result = prompt_sensitivity(**columns, draws=(1, 2, 4))
    values = flat(result)
    for name, expected in naive(columns).items():
        assert values[name] == pytest.approx(expected, abs=1e-12), name
        low, high = result.confidence_interval[name]
        assert low <= values[name] <= high, name
    best = pd.DataFrame(columns).assign(right=np.array(columns["predictions"]) == columns["references"])
    indices = variant_indices(list(result.variant_accuracies.values()))
    assert indices == pytest.approx({name: values[name] for name in indices}, abs=1e-15)
    assert result.variant_accuracies == pytest.approx(best.groupby("variants")["right"].mean().to_dict())


def test_a_variants_interval_is_a_t_interval_on_the_logit_scale():
    rng = np.random.default_rng(0)
    right = rng.random((60, 3)) < [0.9, 0.6, 0.5]
    right[:, 2] = True
    table = (
        pd.DataFrame(right, columns=["a", "b", "c"]).reset_index(names="buckets").melt("buckets", var_name="variants")
    )
    labels = {"predictions": table["value"].astype(int).tolist(), "references": [1] * len(table)}
    result = prompt_sensitivity(**labels, buckets=table["buckets"], variants=table["variants"], n_resamples=100)
    of_each = {name: result.confidence_interval[f"variant_accuracies/{name}"] for name in "abc"}
    t = stats.t.ppf(0.975, 59)
    for name in ("a", "b"):
        share = table["value"][table["variants"] == name].mean()
        error = np.sqrt(share * (1 - share) / 59)
        ends = special.expit(special.logit(share) + np.array([-t, t]) * error / (share * (1 - share)))
        assert of_each[name] == pytest.approx(ends, abs=1e-12)
    assert of_each["c"] == pytest.approx(stats.binomtest(60, 60).proportion_ci(method="exact"), abs=1e-12)


def test_what_is_the_same_under_another_name():
    columns = made(3, sizes=(4, 5))
    variants = columns.pop("variants")
    result = prompt_sensitivity(**columns, draws=(1, 4))
    pc = paraphrastic_consistency(**columns)
    assert result.prompt_sensitivity_score == pytest.approx(1 - pc.paraphrastic_consistency_unbiased, abs=1e-15)
    assert result.agreement == pytest.approx(pc.agreement_unbiased)
    assert result.agreement == pytest.approx(result.consistency_rate_pooled)  # buckets of one size
    assert result.agreement_plugin == pytest.approx(pc.agreement)
    assert result.worst_case_accuracy == result.minimum_accuracy_curve["1.0"] == result.pass_hat_n["4"]
    assert result.best_case_accuracy == result.pass_at_n["4"]
    assert result.accuracy == result.pass_hat_n["1"] == result.pass_at_n["1"]
    assert (result.krippendorff_alpha, result.fleiss_kappa) == (pc.krippendorff_alpha, pc.fleiss_kappa)
    assert result.chance_corrected == pc.chance_corrected
    assert result.spread is None
    assert len(variants) == result.n_examples


def test_gradients_in_pieces_are_those_in_one(monkeypatch):
    columns = made(4)
    whole = prompt_sensitivity(**columns)
    monkeypatch.setattr("paraconsist.measures.intervals._SUMS_AT_ONCE", 7)
    assert prompt_sensitivity(**columns).standard_error == pytest.approx(whole.standard_error, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(("accuracies", "message"), [([], "be a list"), ([0.5, 1.5], "got 1.5 at row 1")])
def test_accuracies_that_are_none(accuracies, message):
    with pytest.raises(InputError, match=message):
        variant_indices(accuracies)


def test_score_names_the_column_of_the_wordings(tmp_path, command):
    """The column is named for files and logs alike, and calls for the measure; without it nothing changes."""
    columns = made(3, sizes=(4, 7))
    path = tmp_path / "answers.csv"
    names = {"predictions": "prediction", "references": "label", "buckets": "bucket_id", "variants": "template"}
    pd.DataFrame(columns).rename(columns=names).to_csv(path, index=False)
    out = command.out("score", path, "--variant", "template", "--json")
    values = json.loads(out)["answers"]["measures"]["prompt_sensitivity"]
    expected = prompt_sensitivity(**columns).to_dict()
    for name in ("max_accuracy", "mean_accuracy", "combined_performance_score", "variant_accuracies"):
        assert values[name] == pytest.approx(expected[name])
    code, out, _ = command("score", path, "--variant", "template")
    assert (code, "CPS, combined performance score" in out, "AvgP" in out) == (0, True, True)
    code, out, _ = command("score", path, "--json")
    assert "prompt_sensitivity" not in json.loads(out)["answers"]["measures"]
    code, _, err = command("score", path, "--variant", "wording")
    assert (code, "`--variant` must name a column of the predictions; got 'wording'" in err) == (2, True)
    code, _, err = command("score", path, "--variant", "{bucket_id}-{template}")
    assert (code, "`--variant` must name wordings that buckets share" in err) == (2, True)


def test_the_wordings_of_a_log_are_a_field_of_it(command):
    log = next((ROOT / "tests" / "fixtures" / "logs" / "lm_eval").glob("*/samples_which_place_*.jsonl"))
    arguments = ["score", log, "--bucket", "doc.meta.fact", "--json", "--variant"]
    out = command.out(*arguments, r"doc.id ~ '-(\d+)$'")
    accuracies = json.loads(out)["which_place"]["measures"]["prompt_sensitivity"]["variant_accuracies"]
    right = pd.DataFrame(
        [(r["doc"]["id"][-1], r["acc"]) for r in map(json.loads, log.read_text().splitlines())], columns=["last", "acc"]
    )
    assert accuracies == right.groupby("last")["acc"].mean().to_dict()
    assert "`--variant` must" in command.refused(*arguments, "doc.wording")


def test_intervals_are_those_of_buckets_or_groups():
    columns = made(5, n_buckets=200)
    columns.pop("variants")
    alone = prompt_sensitivity(**columns)
    pc = paraphrastic_consistency(**columns)
    low, high = pc.confidence_interval["paraphrastic_consistency_unbiased"]
    assert alone.confidence_interval["prompt_sensitivity_score"] == pytest.approx([1 - high, 1 - low], abs=1e-9)
    twice = {name: [*values, *values] for name, values in columns.items()}
    twice["buckets"] = [*columns["buckets"], *(f"copy of {one}" for one in columns["buckets"])]
    grouped = prompt_sensitivity(**twice, groups=columns["buckets"] * 2)
    assert grouped.prompt_sensitivity_score == pytest.approx(alone.prompt_sensitivity_score)
    assert grouped.confidence_interval["core"] == pytest.approx(alone.confidence_interval["core"], abs=1e-9)
    drawn = prompt_sensitivity(**columns, interval_method="bootstrap", n_resamples=500)
    assert drawn.confidence_interval["core"] == pytest.approx(alone.confidence_interval["core"], abs=0.03)
    assert drawn.signature.startswith("sensitivity|avg:bucket|unparsed:refused|ci:bucket-bootstrap500")


def test_contrasts_want_another_answer():
    predictions = [1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1]
    buckets = ["a", "a", "a", "b", "b", "b", "c", "c", "c", "d", "d"]
    roles = ["paraphrase", "paraphrase", "contrast"] * 3 + ["paraphrase", "paraphrase"]
    references = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    result = prompt_sensitivity(predictions, references, buckets, roles=roles)
    assert result.contrast_consistency == pytest.approx(1 / 3)  # b repeats its answer, c has two, d has no contrast
    assert (result.n_buckets, result.n_examples) == (4, 8)
    constant = prompt_sensitivity([1] * 11, references, buckets, roles=roles)
    assert constant.contrast_consistency == 0.0
    assert any("constant" in warning or "every prediction" in warning for warning in constant.warnings)


@pytest.fixture(scope="module")
def recorded(data_folder):
    return data_folder / "recorded"


def test_judges_of_the_card(recorded):
    """LLMBar's judges that its paper names: one winner in both orders, and the right one."""
    rows = pd.read_parquet(recorded / "judges_llmbar.parquet")
    main = rows[rows["subset"].str.startswith("LLMBar/")]
    for judge, of_card in {
        ("GPT-4", "Swap_CoT"): (98.1, 83.8),
        ("GPT-4", "Vanilla"): (92.8, 84.5),
        ("Falcon", "Vanilla"): (41.5, 56.4),
    }.items():
        part = main[(main["model"] == judge[0]) & (main["prompting"] == judge[1])]
        answers = pd.concat([part["winner_given"], part["winner_swapped"]]).fillna(0).astype(int)
        items = pd.concat([part["subset"] + part["item"].astype(str)] * 2)
        result = prompt_sensitivity(answers, pd.concat([part["gold"]] * 2), items)
        assert result.n_buckets == 419
        assert (round(100 * result.agreement, 1), round(100 * result.accuracy, 1)) == of_card


@pytest.mark.parametrize(("dataset", "n_models", "n_moved"), [("truthful_qa", 19, 9), ("math_500", 20, 4)])
def test_published_indices_of_a_study_and_what_self_pairs_hide(data_folder, dataset, n_models, n_moved):
    """Every index that llm-consistency-study published follows from its counts, by model."""
    rows = pd.read_parquet(data_folder / "free_text" / "consistency_study.parquet")
    classes = ["correct", "incorrect", "not_attempted"]
    orders = []
    for _, items in rows[rows["dataset"] == dataset].groupby("model"):
        counts = items[classes].fillna(0).astype(int).to_numpy()
        counts = counts + (items["original_verdict"].to_numpy()[:, np.newaxis] == np.array(classes))
        answers = np.tile(np.arange(3), len(items)).repeat(counts.ravel())
        result = prompt_sensitivity(answers, None, np.arange(len(items)).repeat(counts.sum(axis=1)), n_resamples=9)
        published = {
            "entropy": result.entropy,
            "normalized_entropy": result.size_normalized_entropy,
            "mode_share": result.mode_share,
            "distinct_classes": result.distinct_answers,
            "iid_mismatch_prob": 1 - result.agreement_plugin,
        }
        for name, value in published.items():
            assert value == pytest.approx(items[f"{name}_both"].mean(), abs=1e-12), name
        orders.append((result.agreement_plugin, result.agreement))
    places = np.argsort(np.argsort(np.array(orders), axis=0), axis=0)
    assert (len(places), int((places[:, 0] != places[:, 1]).sum())) == (n_models, n_moved)


@pytest.mark.faults
@pytest.mark.parametrize("names", [(0, 1), (-1, 1), (0, 9), (5, 2000), ("no", "yes")])
def test_entropy_does_not_depend_on_what_labels_are_called(names):
    a, c = names
    result = prompt_sensitivity([a, c, a, c], [a, a, c, c], [0, 0, 1, 1])
    assert result.normalized_entropy == pytest.approx(1.0, abs=1e-12)


def crossed(n_buckets: int, n_variants: int, effect: float = 0.0, seed: int = 0) -> dict[str, list]:
    """Every problem in the same wordings, whose chances of a right answer lie `effect` apart."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.2, 0.8, (n_buckets, 1)) + effect * np.linspace(-0.5, 0.5, n_variants)
    right = rng.random(chance.shape) < chance
    buckets, variants = (part.tolist() for part in np.indices(right.shape).reshape(2, -1))
    ones = [1] * right.size
    return {
        "predictions": right.ravel().astype(int).tolist(),
        "references": ones,
        "buckets": buckets,
        "variants": variants,
    }


@pytest.mark.faults
def test_the_choice_of_the_best_and_worst_wording_is_in_the_interval():
    """Of 20 equal wordings the interval of the spread, which was positive throughout, begins at 0; p says as much."""
    equal = [prompt_sensitivity(**crossed(60, 20, seed=seed), n_resamples=999) for seed in range(10)]
    assert sum(result.confidence_interval["spread"][0] == 0.0 for result in equal) >= 9
    assert sum(result.confidence_interval["variant_deviation"][0] == 0.0 for result in equal) >= 9
    assert sum(result.confidence_interval["max_accuracy"][0] <= 0.5 for result in equal) >= 9
    assert sum(result.spread_p_value > 0.05 for result in equal) >= 9
    assert np.mean([r.spread for r in equal]) == pytest.approx(np.mean([r.spread_by_chance for r in equal]), abs=0.02)
    apart = prompt_sensitivity(**crossed(200, 3, effect=0.4), n_resamples=999)
    low, high = apart.confidence_interval["spread"]
    assert (0.2 < low < 0.4 < high < 0.6, apart.spread_p_value) == (True, 0.001)
    two = prompt_sensitivity(**crossed(60, 2, effect=0.4))  # whose deviation is half of a difference
    half_width = stats.t.ppf(1.0 - 0.025 / 2.0, 59) * two.standard_error["variant_deviation"]
    assert two.confidence_interval["variant_deviation"][0] == pytest.approx(two.spread / 2.0 - half_width, rel=0.03)


@pytest.mark.faults
def test_spread_of_equal_wordings_by_every_permutation():
    """Four problems, three wordings: all 6^4 ways to give each problem's answers to the wordings."""
    right = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]])
    every = [np.ptp(np.sum(rows, axis=0)) / 4 for rows in product(*(list(permutations(row)) for row in right.tolist()))]
    buckets, variants = np.indices(right.shape).reshape(2, -1)
    result = prompt_sensitivity(right.ravel(), np.ones(12, int), buckets, variants=variants)
    assert result.spread_by_chance == pytest.approx(np.mean(every), abs=0.01)
    assert result.spread_p_value == pytest.approx(np.mean(np.array(every) >= result.spread - 1e-9), abs=0.015)


@pytest.mark.faults
def test_interval_of_the_greatest_is_made_of_those_of_the_wordings():
    """With two wordings these are paired t intervals: the lower end allows for either being the better one."""
    columns = crossed(100, 2, effect=0.2)
    result = prompt_sensitivity(**columns)
    right = np.array(columns["predictions"], float).reshape(100, 2)
    difference = right[:, 0] - right[:, 1]
    error = difference.std(ddof=1) / 10
    t = {-1: 2.2760, 1: 1.9842}  # quantiles at .9875 and .975 with 99 degrees of freedom
    ends = [math.tanh(math.atanh(result.spread) + t[s] * s * error / (1 - result.spread**2)) for s in (-1, 1)]
    assert result.confidence_interval["spread"] == pytest.approx([max(0, ends[0]), ends[1]], abs=0.003)
    gaps = made(1, n_buckets=60)
    for options in ({}, {"groups": [int(b[1:]) // 2 for b in gaps["buckets"]]}, {"interval_method": "closed_form"}):
        found = prompt_sensitivity(**gaps, **options, n_resamples=999)
        for name in ("max_accuracy", "min_accuracy", "spread", "performance_drop_rate", "variant_deviation"):
            low, high = found.confidence_interval[name]
            assert 0 <= low <= getattr(found, name) <= high <= 1, name
    whole = prompt_sensitivity([1] * 60, [1] * 60, list(range(20)) * 3, variants=[0] * 20 + [1] * 20 + [2] * 20)
    assert whole.confidence_interval["spread"] == pytest.approx([0.0, 0.168], abs=0.001)
    assert whole.confidence_interval["max_accuracy"] == pytest.approx([0.832, 1.0], abs=0.001)
