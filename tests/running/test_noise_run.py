"""The noise floor of a run: a share of the rows asked again in other batches, and what `score` says of it."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import command, done, refused, words
from helpers.endpoint import WRITTEN
from helpers.errors import refuses
from helpers.language_models import save_language_model
from helpers.models import WORDS, tiny_encoder
from helpers.processes import launch, write_set
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions, read_predictions, write_predictions
from paraconsist.data.tasks import ModelInput, get_task
from paraconsist.errors import InputError
from paraconsist.measures.noise_floor import KINDS
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.prompted import CausalScorer, CausalWriter
from paraconsist.running import loop
from paraconsist.running.loop import compute
from paraconsist.running.run import share_of
from paraconsist.scoring.noise import Repeats, score_noise
from paraconsist.scoring.sources import open_source


@given(st.lists(st.integers(1, 60), min_size=1, max_size=90), st.integers(0, 5))
def test_a_shuffled_plan_keeps_the_budget_and_mixes_lengths(lengths, seed):
    shapes = [Shape(n, n, 1) for n in lengths]
    policy = BatchPolicy(max_tokens=400).shuffled(seed)
    batches = plan_batches(shapes, policy)
    assert sorted(i for batch in batches for i in batch) == list(range(len(shapes)))
    assert all(max(lengths[i] for i in batch) * len(batch) <= 400 for batch in batches)
    assert batches == plan_batches(shapes, policy)
    assert f"order=random {seed}" in policy.describe()


def test_two_seeds_give_two_plans():
    shapes = [Shape(n, n, 1) for n in range(1, 60)]
    one, two = (plan_batches(shapes, BatchPolicy().shuffled(seed)) for seed in (1, 2))
    assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in two}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noise")
    tiny_encoder(folder / "model")
    rng = np.random.default_rng(0)
    lines = []
    for bucket in range(12):
        for j in range(4):
            words = [" ".join(rng.choice(WORDS, rng.integers(2, 20))) for _ in range(3)]
            lines.append(
                {
                    **dict(zip(("premise", "hypothesis", "update"), words, strict=True)),
                    "example_id": f"{bucket}-{j}",
                    "bucket_id": f"b{bucket}",
                    "role": "original" if j == 0 else "paraphrase",
                    "label": ["weakener", "strengthener"][bucket % 2],
                }
            )
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.fixture(scope="module")
def finished(place):
    options = ["--model", place / "model", "--dataset", place / "set.jsonl", "--device", "cpu"]
    done("run", *options, "--noise-floor", 2, "--noise-share", 0.5, "--output", place / "run")
    return place / "run"


def test_a_share_of_all_rows_is_asked_again(finished):
    main_run = read_predictions(finished / "predictions" / "set.parquet")
    file = open_source(finished).sets["set"].noise
    assert file == finished / "noise" / "set.parquet"
    again = read_predictions(file)
    runs = again.table["repeat"].to_pylist()
    half = len(runs) // 2
    assert runs == [1] * half + [2] * half
    ids = again.table["example_id"].to_pylist()
    assert ids[:half] == ids[half:]
    roles = again.table["role"].to_pylist()
    assert set(again.table["bucket_id"].to_pylist()[:half]) == {f"b{i}" for i in range(12)}
    assert 12 <= roles[:half].count("paraphrase") <= 24  # of three, one or two: half of them, rounded by chance
    assert 1 <= roles[:half].count("original") <= 11
    assert set(again.table["kind"].to_pylist()) == {"numeric"}
    by_id = dict(
        zip(main_run.table["example_id"].to_pylist(), main_run.table["probabilities"].to_pylist(), strict=True)
    )
    for example, found in zip(ids, again.table["probabilities"].to_pylist(), strict=True):
        assert found == pytest.approx(by_id[example], abs=1e-4)  # other batches move the last bits at most
    result = json.loads((finished / "results.json").read_text())["set"]["noise_floor"]
    assert result["flip_rate"] == {"numeric": 0.0}
    assert result["n_repeats"] == 2
    assert "kinds:numeric|unparsed:wrong" in result["signature"]


def test_a_finished_noise_floor_computes_nothing_again(place, finished):
    before = {path: path.stat().st_size for path in (finished / "store").rglob("*.jsonl")}
    assert len(before) >= 3
    options = ["--model", place / "model", "--dataset", place / "set.jsonl", "--device", "cpu"]
    done("run", *options, "--noise-floor", 2, "--noise-share", 0.5, "--output", finished)
    assert {path: path.stat().st_size for path in (finished / "store").rglob("*.jsonl")} == before


def test_flips_are_counted_by_hand(finished):
    main_run = read_predictions(finished / "predictions" / "set.parquet")
    again = read_predictions(finished / "noise" / "set.parquet")
    answers = again.table["prediction"].to_pylist()
    row = again.table["role"].to_pylist().index("paraphrase")
    answers[row] = 1 - answers[row]  # in one of twelve buckets three pairs of runs (0-1, 0-2, 1-2) flip twice
    bucket = again.table["bucket_id"].to_pylist()[row]
    half = len(answers) // 2
    repeated = list(
        zip(again.table["bucket_id"].to_pylist()[:half], again.table["role"].to_pylist()[:half], strict=True)
    )
    n = repeated.count((bucket, "paraphrase"))
    place = again.table.column_names.index("prediction")
    flipped = Predictions(again.table.set_column(place, "prediction", pa.array(answers)), again.metadata)
    found = score_noise(main_run, Repeats(flipped), SourceOptions(), n_resamples=100)
    assert found["flip_rate"]["numeric"] == pytest.approx(2 / 3 / n / 12)
    assert found["n_pairs"] == {"numeric": 3 * sum(role == "paraphrase" for _, role in repeated)}
    low, high = found["confidence_interval"]["flip_rate/numeric"]
    assert low <= 2 / 3 / n / 12 <= high


def test_the_command_takes_off_the_largest_flip_rate(finished, tmp_path):
    """A run called decoding repeats the main one; in the numeric repeat all paraphrases of five buckets flip."""
    shutil.copytree(finished, tmp_path / "run")
    file = tmp_path / "run/noise/set.parquet"
    again = read_predictions(file)
    rows = [row for row in again.table.to_pylist() if row["repeat"] == 1]
    decoding = [{**row, "repeat": 2, "kind": "decoding"} for row in rows]
    buckets = sorted({row["bucket_id"] for row in rows})
    for row in rows:
        if row["bucket_id"] in buckets[:5]:
            row["prediction"] = 1 - row["prediction"]
    write_predictions(file, pa.Table.from_pylist(rows + decoding, schema=again.table.schema), again.metadata)
    floor = command.json("score", tmp_path / "run")["set"]["noise_floor"]
    # decoding: against the main run nothing, against the first repeat five buckets of twelve
    assert floor["correctness_flip_rate"] == pytest.approx({"numeric": 5 / 12, "decoding": 2.5 / 12})
    assert floor["excess_inconsistency"] == pytest.approx(floor["inconsistency"] - 5 / 12)


@pytest.mark.faults
def test_repeats_have_the_groups_of_a_file_too(finished, tmp_path):
    """Theirs were the buckets, which no group was called: the score was refused."""
    buckets = sorted({*read_predictions(finished / "predictions" / "set.parquet").table["bucket_id"].to_pylist()})
    lines = [f"{bucket},{place // 2}" for place, bucket in enumerate(buckets)]
    (tmp_path / "groups.csv").write_text("\n".join(["bucket_id,group_id", *lines]))
    floor = command.json("score", finished, "--groups-from", tmp_path / "groups.csv")["set"]["noise_floor"]
    alone = json.loads((finished / "results.json").read_text())["set"]["noise_floor"]
    assert floor["flip_rate"] == alone["flip_rate"]
    assert floor["n_clusters"] == len(buckets) // 2


def test_the_inconsistency_is_that_of_the_run(finished):
    result = json.loads((finished / "results.json").read_text())["set"]
    unbiased = result["measures"]["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]
    assert result["noise_floor"]["inconsistency"] == pytest.approx(1 - unbiased, abs=1e-12)


def test_paraphrases_of_one_text_count_once_in_each_run(finished):
    main_run = read_predictions(finished / "predictions" / "set.parquet")
    again = read_predictions(finished / "noise" / "set.parquet")
    twice = Predictions(pa.concat_tables([again.table, again.table.slice(0, 3)]), again.metadata)
    one, two = (score_noise(main_run, Repeats(repeats), SourceOptions(), n_resamples=50) for repeats in (again, twice))
    assert one == two


@given(st.floats(0.01, 1), st.integers(0, 3))
def test_what_is_drawn_of_a_bucket_depends_on_nothing_else(share, seed):
    rows = [(f"b{b}", "original" if j == 0 else "paraphrase", f"x{b}.{j}") for b in range(20) for j in range(b % 7 + 1)]
    names = ("bucket_id", "role", "input_id")

    def drawn(some):
        table = pa.table(dict(zip(names, map(list, zip(*some, strict=True)), strict=True)))
        whole = BucketSet("set", get_task("defeasible_nli"), ("a", "b"), table, "0")
        return list(zip(*(share_of(whole, share, seed).table[name].to_pylist() for name in names), strict=True))

    all_drawn = drawn(rows)
    assert drawn(rows[::-1]) == all_drawn[::-1]
    assert drawn([row for row in rows if row[0] == "b6"]) == [row for row in all_drawn if row[0] == "b6"]
    for b in range(20):
        k, n = b % 7, sum(bucket == f"b{b}" and role == "paraphrase" for bucket, role, _ in all_drawn)
        assert max(min(1, k), int(share * k)) <= n <= max(min(1, k), min(k, int(share * k) + 1))


def test_every_row_is_as_likely_to_be_drawn():
    rows = [(f"b{b}", "original" if j == 0 else "paraphrase", f"x{b}.{j}") for b in range(600) for j in range(6)]
    table = pa.table(dict(zip(("bucket_id", "role", "input_id"), map(list, zip(*rows, strict=True)), strict=True)))
    drawn = share_of(BucketSet("set", get_task("defeasible_nli"), ("a", "b"), table, "0"), 0.3, 0).table
    places = [int(one.rpartition(".")[2]) for one in drawn["input_id"].to_pylist()]
    counts = [places.count(j) for j in range(6)]
    error = (600 * 0.3 * 0.7) ** 0.5
    assert all(abs(count - 180) < 3.5 * error for count in counts), counts


@pytest.mark.parametrize("model", [CausalScorer, CausalWriter])
def test_language_models_take_repeats_in_other_batches_too(model):
    texts = [(ModelInput(f"question {i % 5} {'word ' * (i % 7)}", None),) for i in range(60)]
    shapes = [Shape(3 + i % 7, 3 + i % 7, 1) for i in range(60)]
    policy = BatchPolicy(max_packed=64, max_tokens=64)
    plans = [model.plan(None, texts, shapes, policy.shuffled(seed)) for seed in (1, 2)]
    plans.append(model.plan(None, texts, shapes, policy))
    assert all(sorted(i for batch in plan for i in batch) == list(range(60)) for plan in plans)
    assert len({frozenset(map(frozenset, plan)) for plan in plans}) == 3


def test_a_language_models_repeats_are_computed_in_another_order_and_other_batches(tmp_path, monkeypatch):
    save_language_model(tmp_path / "model", "llama")
    write_set(tmp_path / "set.jsonl", 42)
    logits, passes = CausalScorer.logits, []

    def watched(self, batch):
        passes[-1].append([tuple(row.sequences[0].tolist()) for row in batch])
        return logits(self, batch)

    monkeypatch.setattr(CausalScorer, "logits", watched)
    monkeypatch.setattr(loop, "compute", lambda *args: passes.append([]) or compute(*args))
    options = ["--dataset", tmp_path / "set.jsonl", "--device", "cpu", "--output", tmp_path / "run"]
    options += ["--noise-floor", 2, "--noise-share", 1, "--batch-tokens", 200]
    done("run", "--model", tmp_path / "model", *options)
    assert len(passes) == 3
    in_order = [[row for batch in one for row in batch] for one in passes]
    assert len({frozenset(rows) for rows in in_order}) == 1  # each distinct prompt of the run, once more
    assert len(set(map(tuple, in_order))) == 3
    assert len({frozenset(map(frozenset, one)) for one in passes}) == 3
    assert len({tuple(map(len, one)) for one in passes}) == 3


def test_repeats_of_another_model_are_refused(finished):
    main_run = read_predictions(finished / "predictions" / "set.parquet")
    again = read_predictions(finished / "noise" / "set.parquet")
    other = replace(again, metadata={**again.metadata, "model": {"weights_hash": "0"}})
    with pytest.raises(InputError, match="`noise` must be of the same model and set as the run"):
        score_noise(main_run, Repeats(other), SourceOptions())
    refuses("`repeat` must be a column of the repeats", score_noise, main_run, Repeats(main_run), SourceOptions())


def test_a_file_outside_a_run_has_no_repeats(finished, tmp_path):
    pq.write_table(pq.read_table(finished / "predictions" / "set.parquet"), tmp_path / "set.parquet")
    (source,) = open_source(tmp_path / "set.parquet").sets.values()
    assert source.noise is None


def test_a_run_that_goes_on_with_more_rows_is_scored_and_says_that_its_repeats_are_of_fewer(place, tmp_path):
    options = ["--model", place / "model", "--dataset", place / "set.jsonl", "--device", "cpu", "--output", tmp_path]
    done("run", *options, "--limit", 20, "--noise-floor", 1)
    done("run", *options)
    result = json.loads((tmp_path / "results.json").read_text())["set"]
    assert "noise_floor" not in result
    assert "set.parquet in noise/ is of other rows: Run with --noise-floor again." in result["warnings"]


def test_drawn_answers_are_split_into_wording_draws_and_batches(tmp_path, monkeypatch):
    # random weights write no label words: their answers are read by their length
    monkeypatch.setattr("paraconsist.data.prompts.parse_answer", lambda text, *labels, cut: len(text) % 2)
    save_language_model(tmp_path / "model", "llama")
    write_set(tmp_path / "set.jsonl", 28)
    (tmp_path / "written.yaml").write_text(WRITTEN)
    options = ["--model", tmp_path / "model", "--dataset", tmp_path / "set.jsonl", "--device", "cpu"]
    options += ["--template", tmp_path / "written.yaml", "--scoring", "generate", "--temperature", 2]
    options += ["--max-new-tokens", 3]
    done("run", *options, *["--noise-floor", 2, "--repeats", 3, "--noise-share", 0.5], "--output", tmp_path / "one")
    done("run", *options, "--batch-tokens", 60, "--output", tmp_path / "two")
    main_run = read_predictions(tmp_path / "one/predictions/set.parquet").table
    assert read_predictions(tmp_path / "two/predictions/set.parquet").table["raw_output"] == main_run["raw_output"]
    written = dict(zip(main_run["example_id"].to_pylist(), main_run["raw_output"].to_pylist(), strict=True))
    again = read_predictions(tmp_path / "one/noise/set.parquet").table.to_pylist()
    assert [(row["repeat"], row["kind"]) for row in again[:: len(again) // 5]] == [
        *[(1, "numeric"), (2, "numeric"), (3, "decoding"), (4, "decoding"), (5, "decoding")]
    ]
    same = {
        kind: [r["raw_output"] == written[r["example_id"]] for r in again if r["kind"] == kind] for kind in KINDS[1:]
    }
    assert all(same["numeric"])  # other batches, the same draws
    assert np.mean(same["decoding"]) < 0.3
    floor = json.loads((tmp_path / "one/results.json").read_text())["set"]["noise_floor"]
    assert list(floor["variance"]) == ["problem", "paraphrase", "decoding", "numeric"]
    assert floor["flip_rate"]["numeric"] == 0 < floor["flip_rate"]["decoding"]
    assert sum(floor["share"].values()) == pytest.approx(1)


@pytest.mark.slow
def test_two_processes_draw_what_one_draws(tmp_path):
    save_language_model(tmp_path / "model", "llama")
    write_set(tmp_path / "set.jsonl", 28)
    options = ["--model", tmp_path / "model", "--dataset", tmp_path / "set.jsonl", "--device", "cpu", "--scoring"]
    options += ["generate", "--temperature", 1, "--max-new-tokens", 3, "--noise-floor", 1, "--repeats", 1]
    tables = []
    for n in (1, 2):
        launch([*map(str, ["run", *options, "--output", tmp_path / f"{n}"])], processes=n)
        files = (tmp_path / f"{n}/{part}/set.parquet" for part in ("predictions", "noise"))
        tables.append([read_predictions(file).table.select(["example_id", "raw_output"]) for file in files])
    assert tables[0] == tables[1]


def test_repeats_are_refused_where_nothing_is_drawn(place, tmp_path):
    line = words("run", model=place / "model", dataset=place / "set.jsonl", device="cpu", output=tmp_path / "run")
    assert "`--repeats` must be given only where answers are drawn; got 2" in refused(line, "--repeats", 2)
    assert "`--temperature` must be given only with" in refused(line, "--temperature", 1)
