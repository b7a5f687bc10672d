"""Paraphrases from a model behind an endpoint: sampled, filtered, kept as they come, and never asked for twice."""

import json
import random
import re
import signal
import time
from pathlib import Path

import pytest
from helpers.endpoint import command, done, refused
from helpers.faulty_server import KEY, FaultyServer, Received, at_random
from helpers.models import tiny_encoder
from helpers.perturb import write_csv
from helpers.processes import NOWHERE, Forked

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import BudgetReached
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.transforms.paraphrase.generators import EndpointGenerator, GeneratorSettings, preset, settings_of
from paraconsist.transforms.paraphrase.refining import refine

ROWS = [
    ("A girl reads.", "A girl is awake.", "entailment"),
    ("A girl reads.", "The person likes books.", "neutral"),
    ("A dog barks.", "An animal makes noise.", "entailment"),
    ("A dog barks.", "The dog is asleep.", "contradiction"),
]
WORDS = "a girl reads is awake likes books asleep dog barks an animal makes noise there lady person one".split()  # noqa: SIM905


def reworded(prompt: str, body: dict) -> str:
    """Write the prompt's sentence with other words before it: others for every seed, the first line only counts."""
    sentence = prompt.rstrip().removesuffix("Paraphrase:").rstrip().splitlines()[-1].rpartition(": ")[2]
    opening = ("It is true that", "They say that", "Somebody knows that", "It seems that")[body["seed"] % 4]
    return f'\n"{opening} {sentence[0].lower()}{sentence[1:]}"\nand more that nobody asked for'


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("endpoint_paraphrases")
    write_csv(folder / "rows.csv", ("premise", "hypothesis", "label"), ROWS)
    return folder / "rows.csv"


def arguments(url: str, rows: Path, output: Path, *more: object) -> list[str]:
    given = ["--endpoint", url, "--generator", "toy", "--candidates", 3, "--keep", 2, "--no-entailment"]
    return [str(part) for part in ["paraphrase", rows, "--output", output, *given, *more]]


@pytest.mark.slow
def test_a_bucket_set_from_an_endpoint(tmp_path, rows, monkeypatch):
    monkeypatch.setenv("TOKEN_OF_THE_TEST", KEY)
    more = ("--api-key-variable", "TOKEN_OF_THE_TEST", "--price", "1,2", "--json")
    with FaultyServer(write=reworded, key=KEY) as server:
        code, out, said = command(arguments(server.url, rows, tmp_path / "set.parquet", *more))
        bodies = [r.body for r in server.received]
    assert code == 0, said
    assert "preset a24 has beams, an endpoint has none: candidates are sampled, temperature 0.6" in said
    facts = json.loads(out)
    assert facts["settings"]["diversity"] is None
    assert facts["endpoint"]["n_requests"] == len(bodies) == 12
    assert facts["endpoint"]["cost"] > 0
    assert sorted({body["seed"] for body in bodies}) == [0, 1, 2]
    assert {body["temperature"] for body in bodies} == {0.6}
    assert {body["max_tokens"] for body in bodies} == {40}
    table = load_bucket_set(str(tmp_path / "set.parquet")).table
    texts = [
        t
        for t, role in zip(table["hypothesis"].to_pylist(), table["role"].to_pylist(), strict=True)
        if role == "paraphrase"
    ]
    assert texts[:2] == ["It is true that a girl is awake.", "They say that a girl is awake."]
    assert len(texts) == 8
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
    assert KEY not in out + said


@pytest.mark.slow
def test_what_was_written_is_not_asked_for_again(tmp_path, rows):
    with FaultyServer(write=reworded) as server:
        done(arguments(server.url, rows, tmp_path / "a.parquet"))
        n_sent = len(server.received)
        done(arguments(server.url, rows, tmp_path / "a.parquet", "--overwrite"))
        assert len(server.received) == n_sent
        done(arguments(server.url, rows, tmp_path / "a.parquet", "--overwrite", "--seed", 9))
        assert len(server.received) == 2 * n_sent


@pytest.mark.slow
def test_asked_again_it_goes_on_to_further_seeds(tmp_path):
    settings = GeneratorSettings(prompt="Say: {sentence}", n=2, temperature=0.7)
    with FaultyServer(write=reworded) as server:
        made = EndpointGenerator(EndpointSettings(server.url), "toy", settings, tmp_path / "answers", seed=10)
        first, second = made(["It rains."]), made(["It rains."])
        seeds = [r.body["seed"] for r in server.received]  # requests under way together come in any order
        assert (sorted(seeds[:2]), sorted(seeds[2:])) == ([10, 11], [12, 13])
    assert len({*first[0], *second[0]}) == 4
    assert made.usage().n_requests == 4


@pytest.mark.slow
def test_after_ctrl_c_it_waits_for_paid_answers_as_run_does(tmp_path, rows):
    """Those under way were paid and lost, and asked again by the same command."""
    given = [*arguments("", rows, tmp_path / "set.parquet", "--concurrency", 4)]
    with FaultyServer(write=reworded, delay=0.5) as server:
        given[given.index("--endpoint") + 1] = server.url
        errors = tmp_path / "errors.txt"
        process = Forked(given, streams=(NOWHERE, errors))
        while process.poll() is None and len(server.received) < 6:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        n_before = len(server.received)
        done(given)
        assert "waiting up to 30 seconds for requests under way" in errors.read_text()
        assert 6 <= n_before < 12
        assert len(server.received) == 12  # none of them twice


@pytest.mark.slow
def test_a_budget_ends_it_and_the_same_command_goes_on(tmp_path, rows):
    """12 requests, 5 of them in a command; what is left, and what it costs, is told before anything is sent."""
    prices = tmp_path / "prices.yaml"
    prices.write_text("toy: [100, 200]\n")
    more = ("--max-requests", 5, "--concurrency", 2, "--price", prices)
    with FaultyServer(write=reworded) as server:
        done(arguments(server.url, rows, tmp_path / "whole.parquet"))
        for number, n_left in enumerate((12, 7), 1):
            code, _, said = command(arguments(server.url, rows, tmp_path / "set.parquet", *more))
            assert (code, len(server.received)) == (75, 12 + 5 * number), said
            (estimate,) = [line for line in said.splitlines() if line.startswith("estimate: ")]
            n_written = 40 * n_left
            cost = float(re.findall(r"cost up to (\d+\.\d+)\. The budget of 5 requests is not enough", estimate)[0])
            n_read = int(estimate.split()[3])
            assert estimate.startswith(f"estimate: {n_left} requests, ")
            assert f"at most {n_written} written" in estimate
            assert cost == pytest.approx((100 * n_read + 200 * n_written) / 1e6, abs=1e-4)
            assert "paraphrase: the budget of 5 requests (`--max-requests`) is used: 5 requests sent and 0." in said
            assert said.strip().endswith("What was answered is kept: the same command goes on from there.")
        code, _, said = command(arguments(server.url, rows, tmp_path / "set.parquet", *more[2:]))
        assert (code, len(server.received)) == (0, 24), said
    assert re.search(r"toy; 12 requests answered in all, .* written, cost 0\.\d{4}\.", said)
    whole, found = (
        load_bucket_set(str(tmp_path / name)).table.drop_columns(["input_id", "example_id"])
        for name in ("whole.parquet", "set.parquet")
    )
    assert found.equals(whole)


@pytest.mark.slow
def test_all_tries_are_of_one_budget(tmp_path):
    settings = GeneratorSettings(prompt="Say: {sentence}", n=2, temperature=0.7)
    with FaultyServer(write=reworded) as server:
        endpoint = EndpointSettings(server.url, price=(100.0, 0.0), max_cost=0.005)
        made = EndpointGenerator(endpoint, "toy", settings, tmp_path / "answers")
        with pytest.raises(BudgetReached, match=r"the budget of 0.005 \(`max_cost`\) is used"):
            for _ in range(100):
                made(["It rains."])
        assert 4 < len(server.received) < 40
        assert made.usage().cost <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random_and_resumed(tmp_path, rows, seed):
    with FaultyServer(write=reworded, script=at_random(seed, 0.2)) as server:
        done(arguments(server.url, rows, tmp_path / "whole.parquet"))
        expected = load_bucket_set(str(tmp_path / "whole.parquet")).table.drop_columns(["input_id"])
    with FaultyServer(write=reworded, script=at_random(seed, 0.2), delay=0.05) as server:
        given = arguments(server.url, rows, tmp_path / "set.parquet", "--concurrency", 2)
        process = Forked(given)
        wanted = random.Random(seed).randint(1, 10)
        while process.poll() is None and len(server.answered()) < wanted:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "set.parquet").exists()
        done(given)
    found = load_bucket_set(str(tmp_path / "set.parquet")).table.drop_columns(["input_id"])
    assert found.drop_columns(["example_id"]).equals(expected.drop_columns(["example_id"]))
    lines = (tmp_path / "set.answers" / "answers.jsonl").read_text().splitlines()
    names = [(json.loads(line)["input_id"], json.loads(line)["part"]) for line in lines]
    assert len(names) == len(set(names)) == 12  # an answer that was there and came again would stand twice


@pytest.mark.slow
def test_sensitivity_over_an_endpoint(tmp_path, rows):
    import torch
    from transformers import AutoModelForSequenceClassification

    model = tiny_encoder(tmp_path / "nli", ("contradiction", "entailment", "neutral"), words=WORDS)
    always = AutoModelForSequenceClassification.from_pretrained(model)
    with torch.no_grad():
        always.classifier.weight.zero_()
        always.classifier.bias.copy_(torch.tensor([0.0, 1.0, 0.0]))
    always.save_pretrained(model)
    given = ["sensitivity", rows, "--model", model, "--output", tmp_path / "run", "--generator", "toy"]
    given += ["--candidates", 3, "--keep", 2, "--n-resamples", 20]
    with FaultyServer(write=reworded) as server:
        code, _, said = command([str(part) for part in (*given, "--endpoint", server.url, "--max-requests", 2)])
        assert (code, len(server.received)) == (75, 2)
        assert "estimate: 6 requests, " in said
        assert "sensitivity: the budget of 2 requests (`--max-requests`) is used" in said
        out = done([str(part) for part in (*given, "--endpoint", server.url)])
    assert "2 of 4 originals answered right" in out
    assert "toy; 6 requests answered in all, " in out
    assert "2: 2" in out  # right originals with at least two variants
    said = json.loads((tmp_path / "run" / "sensitivity.json").read_text())
    assert said["endpoint"]["n_requests"] == 6
    assert said["fooling_rate"]["relaxed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("more", "message"), [
    (("--diversity", 1), "error: paraphrase: `--diversity` must be None for an endpoint"),
    (("--beams", 4), "error: paraphrase: `--beams` must be 1 for an endpoint"),
    (("--kind", "causal"), "error: paraphrase: `--kind` must be given only without `--endpoint`"),
    (("--api", "other"), "error: paraphrase: `--api` must be one of completions, chat"),
    (("--generator", "rules"), "error: paraphrase: `--generator` must be given with `--endpoint`"),
    (("--generator", "gpt"), "error: paraphrase: `--generator` must be a model that the endpoint serves; got 'gpt'"),
    (("--api-key-variable", "NOT_SET_ANYWHERE"), "error: paraphrase: `--api-key-variable` must name an environment"),
    (("--endpoint", "ftp://x"), "error: paraphrase: `--endpoint` must be an address with http:// or https://")
])  # fmt: skip
def test_refusals_name_the_command_and_its_options(tmp_path, rows, more, message):
    with FaultyServer(write=reworded) as server:
        code, _, said = command(arguments(server.url, rows, tmp_path / "set.parquet", *more))
    assert code == 2
    assert message in said


def test_options_of_an_endpoint_need_one(tmp_path, rows):
    given = ["paraphrase", rows, "--output", tmp_path / "a.parquet", "--no-entailment", "--request-tries", 3]
    assert "error: paraphrase: `--request-tries` must be given only with `--endpoint`" in refused(
        [str(part) for part in given]
    )
    given = ["sensitivity", rows, "--model", tmp_path, "--output", tmp_path / "run", "--generation", "x"]
    assert "error: sensitivity: `--generation` must be one of a24, v23, s24, questions; got 'x'" in refused(
        [str(part) for part in given]
    )


def test_presets_without_beams():
    endpoint = EndpointSettings("http://localhost:1/v1")
    settings = settings_of("a24", {}, endpoint=endpoint, say=lambda line: None)
    assert (settings.diversity, settings.temperature) == (None, 0.6)
    with pytest.raises(InputError, match="`examples` must be at least 10 for this prompt; got 2"):
        EndpointGenerator(endpoint, "toy", preset("s24"), Path("x"), examples=[("a", "b")] * 2)


@pytest.mark.faults
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_wording_that_breaks_off_is_none(tmp_path, reason):
    """Half of a question became a wording: "Could you say how many legs does a spider"."""
    (tmp_path / "exam.csv").write_text("question,answer\nHow many legs does a spider have in total?,8\n")

    def write(text: str, body: dict) -> str:
        whole = f"Could you say how many legs does a spider have{'?' * body['seed']}"
        return whole if body["seed"] else whole.removesuffix(" have")

    def change(said: dict, received: Received) -> dict:
        said["choices"][0]["finish_reason"] = "stop" if received.body["seed"] else reason
        return said

    with FaultyServer(write=write, change=change) as server:
        given = ["reword", tmp_path / "exam.csv", "--kinds", "generated", "--endpoint", server.url]
        for _ in range(2):  # the second time of what is kept
            code, _, said = command(*given, "--generator", "toy", "--output", tmp_path / "exam", "--overwrite")
            assert code == 0, said
            assert "left out 1: breaks off" in said
        assert len(server.received) == 5
    (file,) = (tmp_path / "exam").iterdir()
    wordings = [json.loads(line)["question"] for line in file.read_text().splitlines()]
    assert wordings == ["How many legs does a spider have in total?", "Could you say how many legs does a spider have?"]


def test_the_first_line_of_a_text_that_breaks_off_later_is_whole(tmp_path):
    settings = GeneratorSettings(prompt="Say: {sentence}", n=2, temperature=0.7, max_new_tokens=3)
    written = {0: "\nIt is raining.\nAnd then it", 1: "It rains and"}
    with FaultyServer(write=lambda text, body: written[body["seed"]]) as server:
        made = EndpointGenerator(EndpointSettings(server.url), "toy", settings, tmp_path / "answers")
        assert refine(["It rains."], made, settings).accepted == {"It rains.": ["It is raining."]}


@pytest.mark.faults
def test_a_sheet_without_a_folder_is_refused_before_a_generator_is_paid(tmp_path, rows):
    with FaultyServer(write=reworded) as server:
        said = refused(arguments(server.url, rows, tmp_path / "set.parquet", "--sheet", tmp_path / "none" / "a.csv"))
        assert "`--sheet` must be in a folder that exists" in said
        assert not server.received
