"""Tables in which every wording was answered several times: `score --trial`."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.logs import inspect_log, samples, scored

import paraconsist as pc


def answers(n_problems: int = 12, n_wordings: int = 3, n_trials: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    problem, wording, trial = (axis.ravel() for axis in np.indices((n_problems, n_wordings, n_trials)))
    theta = rng.beta(1, 1, (n_problems, n_wordings))[problem, wording]
    right = (rng.random(len(theta)) < theta).astype(int)
    columns = {"bucket_id": problem, "example_id": wording, "trial": trial, "prediction": right}
    return pd.DataFrame(columns).assign(label=1).sample(frac=1, random_state=0).sort_values("trial", kind="stable")


def test_the_first_trial_is_scored_and_all_give_the_noise_floor(tmp_path, command):
    rows = answers()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    result = scored(command, tmp_path / "rows.csv", "--trial", "trial")
    assert result["n_rows"] == 36
    alone = pc.score(rows[rows["trial"] == 0]).to_dict()["predictions"]["measures"]
    assert result["measures"]["paraphrastic_consistency"]["accuracy"] == alone["paraphrastic_consistency"]["accuracy"]
    direct = pc.trial_noise(rows["prediction"], rows["bucket_id"], rows["example_id"], rows["trial"])
    floor = result["noise_floor"]
    assert floor["flip_rate"] == pytest.approx(direct.flip_rate)
    assert floor["variance"] == pytest.approx(direct.variance)
    assert floor["n_repeats"] == 3
    bounds = floor["confidence_interval"]["variance/paraphrase"]
    assert bounds == pytest.approx(direct.confidence_interval["variance/paraphrase"])
    out = command.out("score", tmp_path / "rows.csv", "--trial", "trial")
    assert "noise floor, 3 repeats" in out


@pytest.mark.faults
def test_without_ids_the_variant_says_which_rows_are_one_wording(tmp_path, command):
    rows = answers().rename(columns={"example_id": "template"})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    given = ("score", tmp_path / "rows.csv", "--trial", "trial", "--variant", "template")
    (result,) = command.json(*given).values()
    assert (result["n_rows"], result["noise_floor"]["n_repeats"]) == (36, 3)
    assert "`--example` must name a column" in command.refused(*given, "--example", "absent")


@pytest.mark.faults
@pytest.mark.parametrize(("wording", "trial"), [("kind", "trial"), ("wording", "repeat"), ("repeat", "kind")])
def test_columns_may_be_called_as_those_of_a_run_s_repeats(wording, trial):
    """The table was refused, as having a column twice."""
    usual = pc.score(answers(), trial="trial").to_dict()["predictions"]["noise_floor"]
    renamed = answers().rename(columns={"example_id": wording, "trial": trial})
    found = pc.score(renamed, trial=trial, example=wording, stratum=wording).to_dict()["predictions"]
    assert found["noise_floor"] == usual


@pytest.mark.faults
@pytest.mark.parametrize("of_text", [False, True])
def test_answers_without_gold_have_a_noise_floor(of_text):
    """Nothing was said of the further trials."""
    rows = answers().drop(columns="label")
    if of_text:
        rows["prediction"] = rows["prediction"].map({0: "No, never.", 1: "Yes"})
    floor = pc.score(rows, trial="trial", **({"same": "text"} if of_text else {})).to_dict()["predictions"][
        "noise_floor"
    ]
    with_gold = pc.score(answers(), trial="trial").to_dict()["predictions"]["noise_floor"]
    for key in ("flip_rate", "wording_change", "excess_wording_change"):
        assert floor[key] == pytest.approx(with_gold[key], abs=1e-12)


@pytest.mark.faults
@pytest.mark.parametrize("policy", ["wrong", "own_class", "drop_bucket"])
def test_unread_answers_are_taken_in_the_noise_floor_as_in_the_finding_beside_it(policy):
    """Of a model that is half unread the finding said 'asked again unchanged, answers differ' of another quantity."""
    rows = answers(n_trials=2).rename(columns={"example_id": "wording"})
    rows["prediction"] = rows["prediction"].map({0: "no", 1: "yes"}).mask((rows["bucket_id"] % 4 + rows["wording"]) < 2)
    rows["label"] = "yes"
    scores = pc.score(rows, trial="trial", example="wording", unparsed=policy)
    (values,) = scores.to_dict().values()
    floor, first = values["noise_floor"], rows[rows["trial"] == 0]
    unread = set(first[first["prediction"].isna()]["bucket_id"])
    kept = rows[~rows["bucket_id"].isin(unread)] if policy == "drop_bucket" else rows

    def differ(one, two):
        return policy == "wrong" if one == two == "" else one != two

    of_bucket = {"flips": [], "changes": []}
    for _, bucket in kept.sort_values(["wording", "trial"]).groupby("bucket_id"):
        given = bucket["prediction"].fillna("").to_numpy().reshape(3, 2).tolist()
        of_bucket["flips"].append(np.mean([differ(*two) for two in given]))
        pairs = [(a, b) for i in range(3) for j in range(i) for a in given[i] for b in given[j]]
        of_bucket["changes"].append(np.mean([differ(*pair) for pair in pairs]))
    flips, changes = (np.mean(shares) for shares in of_bucket.values())
    assert floor["flip_rate"]["decoding"] == pytest.approx(flips, abs=1e-12)
    assert floor["wording_change"] == pytest.approx(changes, abs=1e-12)
    assert f"|unparsed:{policy}|" in floor["signature"]
    assert f"asked again unchanged, answers differ {100 * flips:.1f} % of the time" in str(scores)


def test_without_a_bucket_that_could_be_read_and_was_asked_again_there_is_no_noise_floor():
    rows = answers(n_trials=2).query("trial == 0 or bucket_id == 3").astype({"prediction": object})
    rows.loc[(rows["bucket_id"] == 3) & (rows["trial"] == 0), "prediction"] = None
    (values,) = pc.score(rows, trial="trial", unparsed="drop_bucket").to_dict().values()
    assert values.get("noise_floor") is None


@pytest.mark.parametrize("name", [int, str, lambda number: number + 8, lambda number: f"{number + 8}"])
def test_the_order_of_rows_decides_nothing_where_trials_are_numbered(tmp_path, name):
    rows = answers(n_trials=5)
    rows["trial"] = rows["trial"].map(name)
    first = pc.score(rows[rows["trial"] == name(0)]).to_dict()["predictions"]
    for seed in range(3):
        found = pc.score(rows.sample(frac=1, random_state=seed), trial="trial").to_dict()["predictions"]
        assert found["wording"]["same_answer"] == pytest.approx(first["wording"]["same_answer"])
        measure = "paraphrastic_consistency"
        assert found["measures"][measure]["accuracy"] == first["measures"][measure]["accuracy"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trial": 1}, "`--trial` must occur once with an example; got 1 at row"),
        ({"example_id": range(144)}, "`--trial` must be several of at least one example; got 'trial'"),
        (None, "`--trial` must name a column of the predictions; got 'trial'"),
    ],
)
def test_tables_without_trials_are_refused(tmp_path, command, change, message):
    rows = answers().drop(columns="trial") if change is None else answers().assign(**change)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert message in command.refused("score", tmp_path / "rows.csv", "--trial", "trial")


def test_repeats_of_one_wording_are_compared_without_trial(tmp_path, command):
    path, options = tmp_path / "rows.csv", ("--bucket", "item", "--prediction", "verdict")
    rows = {"item": [1, 1, 2, 2], "run": [1, 2, 1, 2], "verdict": ["pass", "pass", "pass", "fail"]}
    pd.DataFrame(rows).to_csv(path, index=False)
    assert "leave `--trial` out to compare repeats" in command.refused("score", path, *options, "--trial", "run")
    assert scored(command, path, *options)["wording"]["wording_change"] == 0.5


@pytest.mark.faults
def test_epochs_of_a_log_give_a_noise_floor(command):
    log = inspect_log("twice")
    result = scored(command, log, "--bucket", "question_id", "--trial", "epoch")
    first = scored(command, log, "--bucket", "question_id", "--epoch", 1)
    assert (result["n_rows"], result["noise_floor"]["n_repeats"]) == (first["n_rows"], 1)
    assert result["measures"] == first["measures"]
    assert "--trial" in command.refused("score", samples("yes_no"), "--bucket", "doc.question_id", "--trial", "epoch")


@pytest.mark.faults
def test_a_problem_counts_once_however_many_epochs(command, tmp_path):
    """30 questions x 4 wordings x 3 epochs: each epoch is a bucket, and 30 problems are compared and ranked."""
    paths = []
    for model in "ab":
        rows = answers(30, 4, 3).rename(columns={"bucket_id": "bucket_of_epochs"})
        rows["bucket_id"] = rows["bucket_of_epochs"].astype(str) + " epoch " + rows["trial"].astype(str)
        rows["example_id"] = rows["bucket_id"] + " " + rows["example_id"].astype(str)
        rows["group_id"] = rows["bucket_of_epochs"]
        rows.loc[rows["bucket_of_epochs"] < "ab".index(model) * 5, "prediction"] = 0
        paths.append(tmp_path / f"{model}.csv")
        rows.drop(columns="trial").to_csv(paths[-1], index=False)
    result = scored(command, paths[0])
    assert result["measures"]["paraphrastic_consistency"]["n_buckets"] == result["wording"]["n_problems"] == 30
    out = command.out("compare", *paths, "--json")
    (compared,) = json.loads(out)
    assert (compared["n_common_buckets"], compared["n_buckets"]) == (30, {"a": 30, "b": 30})
    assert compared["pairs"][0]["result"]["n_buckets"] == 30
    command.done("report", paths[0], "--output", tmp_path / "page.html")
    assert "30 problems in 360 wordings" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.real_data
def test_recorded_answers_of_one_model(data_folder, tmp_path, command):
    """AIW: of 20 trials of each of nine wordings, 13.4 % of pairs differ; wordings differ little beyond that."""
    rows = pd.read_parquet(data_folder / "recorded/aiw.parquet").query(
        "source == 'param' and model == 'claude-3-opus-20240229'"
    )
    rows = rows[["variation", "prompt_type", "trial", "correct"]].assign(gold=1)
    rows.to_csv(tmp_path / "aiw.csv", index=False)
    columns = ("--bucket", "variation", "--example", "prompt_type", "--prediction", "correct", "--label", "gold")
    floor = scored(command, tmp_path / "aiw.csv", *columns, "--trial", "trial")["noise_floor"]
    direct = pc.trial_noise(rows["correct"], rows["variation"], rows["prompt_type"], rows["trial"])
    assert floor["flip_rate"]["decoding"] == pytest.approx(0.1338173018753781, abs=1e-12)
    assert floor["variance"] == pytest.approx(direct.variance, abs=1e-12)


@pytest.mark.real_data
def test_recorded_epochs_of_one_wording(data_folder, tmp_path, command):
    """GPQA: of five epochs 17.3 % of pairs differ; with one wording there is no P_C, and that is said."""
    rows = pd.read_csv(data_folder / "recorded/gpqa_epochs.csv").query("model == 'openai/gpt-5-nano-2025-08-07'")
    rows.assign(gold=1, wording="as it stands").to_csv(tmp_path / "gpqa.csv", index=False)
    columns = ("--bucket", "item", "--example", "wording", "--prediction", "correct", "--label", "gold")
    floor = scored(command, tmp_path / "gpqa.csv", *columns, "--trial", "epoch")["noise_floor"]
    by_item = rows.groupby("item")["correct"]
    within = by_item.var(ddof=1).mean()  # a pair differs with twice the variance within an item
    assert floor["flip_rate"]["decoding"] == pytest.approx(2 * within, abs=1e-12)
    between = by_item.mean().var(ddof=1) - within / 5
    assert floor["variance"] == pytest.approx({"problem": between, "decoding": within}, abs=1e-12)
    assert floor["inconsistency"] is None
    assert any("no bucket has two paraphrases" in warning for warning in floor["warnings"])
