"""What a run over an endpoint may spend: it ends at its budget, keeps what is paid, and goes on from there."""

import json
import re
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from helpers.commands import Command, in_process, write
from helpers.endpoint import CONCURRENCY, answered_tags, arguments, command, done, predictions
from helpers.faulty_server import FaultyServer
from helpers.language_models import byte_tokenizer
from helpers.processes import write_set

from paraconsist import run
from paraconsist.models.endpoint.client import BudgetReached, Estimate, Meter
from paraconsist.models.endpoint.settings import EndpointSettings


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("budget") / "set.jsonl", 60)


def costs_of(server: FaultyServer) -> list[float]:
    """What the server charges for each request that it answered."""
    bodies = [request.body for request in server.received if request.outcome == "answered"]
    return [(len(body["prompt"].split()) * 1000 + body["max_tokens"] * 2000) / 1e6 for body in bodies]


def test_a_run_ends_at_its_number_of_requests_and_goes_on_from_there(data, tmp_path):
    given = {"scoring": "generate", "concurrency": CONCURRENCY, "max_requests": 20}
    with FaultyServer(delay=0.005) as server:
        code, _, said = command(arguments(server.url, data, tmp_path / "run", **given))
        last = said.strip().splitlines()[-1]
        assert (code, len(server.received)) == (75, 20)
        assert "the budget of 20 requests (`--max-requests`) is used: 20 requests sent." in last
        assert last.endswith("What was answered is kept: the same command goes on from there.")
        assert len(answered_tags(tmp_path / "run")) == len(server.sent()) == 19  # and one to find out how it answers
        assert command(arguments(server.url, data, tmp_path / "run", **given))[0] == 75
        assert len(server.received) == 40
        done(arguments(server.url, data, tmp_path / "run", **given | {"max_requests": 1000}))
    assert set(Counter(server.sent()).values()) == {1}
    assert len(server.sent()) == len(set(predictions(tmp_path / "run").table["input_id"].to_pylist())) == 54


@pytest.mark.parametrize("usage", [True, False])
def test_a_run_costs_no_more_than_its_budget(data, tmp_path, usage):
    given = {"scoring": "generate", "concurrency": CONCURRENCY, "price": "1000,2000", "max_tokens": 3}
    with FaultyServer(delay=0.005, usage=usage) as server:
        code, _, said = command(arguments(server.url, data, tmp_path / "run", **given, max_cost=0.5))
        costs = costs_of(server)
        assert code == 75
        entry = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]
        assert (entry["n_requests"], entry["n_uncounted"] == 0) == (len(answered_tags(tmp_path / "run")), usage)
        assert (0 < entry["cost"] <= sum(costs)) == usage
        assert "the budget of 0.5 (`--max-cost`) is used, as the next request may cost 0." in said
        if usage:
            assert f"{sum(costs):,.4f} paid" in said
        assert sum(costs) <= 0.5 + CONCURRENCY * max(costs)
        assert sum(costs) > (0.4 if usage else 0.1)  # tokens that are not counted are estimated, here too high
        done(arguments(server.url, data, tmp_path / "run", **given))
    assert set(Counter(server.sent()).values()) == {1}


def test_a_server_that_changes_its_model_in_between_is_told_at_once_and_in_the_scores(data, tmp_path):
    """It was told once, at the end of a run that was paid, and neither `score` nor a page knew."""
    given = arguments("URL", data, tmp_path / "run", scoring="generate")
    with FaultyServer(write=lambda text, body: "W", change=lambda body, _: {**body, "model": name}) as server:
        given[given.index("URL")] = server.url
        name = "toy-1"
        assert command(given, "--max-requests", 21)[0] == 75
        name = "toy-2"
        shown = Command(partial(in_process, warn="always")).done(given)
    assert shown.count("warning: toy-2 answers now, no longer toy-1: if their") == 1
    assert "; by toy-2 (34), toy-1 (20); 54 requests answered in all" in shown
    sentence = "its answers are of several models, or builds of one: toy-2 (34), toy-1 (20)"
    assert sentence in shown
    assert sentence in done("score", tmp_path / "run")


def test_what_there_is_one_of_is_told_in_the_singular(tmp_path):
    (tmp_path / "set.jsonl").write_text('{"bucket_id": "a", "question": "Why?", "expected": "yes"}\n')
    given = ["--model", "toy", "--dataset", str(tmp_path / "set.jsonl"), "--output", tmp_path / "run"]
    with FaultyServer(write=lambda text, body: "Yes") as server:
        given += ["--endpoint", server.url]
        said = "".join(command("run", *given)[1:])
        budget = command("run", *given, "--overwrite", "--max-requests", 1)[2]
        again = done("run", *given)
        exported = done("export-requests", *given[:4], "--output", tmp_path / "batch")
    for line in ("estimate: 1 request, ", "questions: 1 distinct input asked in", "s by 1 request, "):
        assert line in said
    assert "the budget of 1 request (`--max-requests`) is used: 1 request sent." in budget
    assert "questions: 1 distinct input asked" in again
    assert "questions: the one distinct input was there already." in done("run", *given)
    assert "1 request in 1 file:" in exported
    assert not re.search(r"(?<![.,\d])1 (requests|inputs|tokens|files|answers)\b", said + budget + again + exported)


def test_a_budget_below_one_request_is_no_budget_that_is_used(data, tmp_path):
    """ "The same command goes on from there", it was told, and ended there each time with nothing sent."""
    given = {"scoring": "generate", "max_tokens": 500, "price": "1,100", "max_cost": 0.03}
    with FaultyServer() as server:
        code, _, said = command(arguments(server.url, data, tmp_path / "run", **given))
        assert (code, server.received) == (75, [])
    assert "`--max-cost` must be as much as one request may cost, 0.05" in said
    assert said.endswith("got 0.03. Give more, or a lower `--max-new-tokens`.\n")


def test_after_a_first_answer_as_many_requests_are_under_way_as_may_be(data, tmp_path):
    with FaultyServer(delay=0.03) as server:
        done(arguments(server.url, data, tmp_path / "run", scoring="generate", concurrency=12))
    assert 8 < server.most_at_once <= 12


def test_the_repeats_of_a_run_are_among_its_requests(data, tmp_path):
    """It expected 76 requests and told of 54."""
    with FaultyServer(write=lambda text, body: "W") as server:
        shown = done(arguments(server.url, data, tmp_path / "run", scoring="generate", noise_floor=1))
        n = int(re.search(r"estimate: (\d+) requests", shown)[1])
        assert n > 54
        assert f"defeasible_nli: written answers; {n} requests answered in all, " in shown
        assert len(server.sent()) == n


def test_a_budget_that_ends_among_the_repeats_leaves_no_old_total(data, tmp_path):
    """The last command asked no input of the run itself, so the record stayed as the budget had left it."""
    with FaultyServer(write=lambda text, body: "W") as server:
        options = {"output": tmp_path, "scoring": "generate", "noise_floor": 1, "price": "1,2"}
        with pytest.raises(BudgetReached):
            run(server.url, str(data), **options, max_requests=60)
        run(server.url, str(data), **options)
        record = json.loads((tmp_path / "run.json").read_text())
        entry = record["endpoint"]["defeasible_nli"]
        assert entry["n_requests"] == len(server.sent()) > 60
        assert entry["sets"]["set"]["n_requests"] == entry["n_requests"]
        assert entry["last"]["n_computed"] == 0
        times = {"started": "2026-01-02T03:04:05Z", "ended": "2026-01-02T03:04:05Z"}
        (tmp_path / "run.json").write_text(json.dumps({**record, **times}))
        run(server.url, str(data), **options)  # there is nothing left to ask
        again = json.loads((tmp_path / "run.json").read_text())
        assert again.items() >= {**times, "endpoint": record["endpoint"]}.items()


def test_at_most_holds_where_a_server_returns_no_log_probabilities(data, tmp_path):
    """54 tokens were expected, of first tokens alone, and 432 written."""
    with FaultyServer(log_probabilities=False) as server:
        shown = done(arguments(server.url, data, tmp_path / "run"))
    expected, written = (int(re.search(form, shown)[1]) for form in (r"at most (\d+) written", r", (\d+) written\."))
    assert 54 < written <= expected


def test_a_call_from_python_ends_at_its_budget(data, tmp_path):
    with FaultyServer(write=lambda text, body: "W") as server:
        options = {"output": tmp_path / "run", "scoring": "generate", "name": "toy"}
        with pytest.raises(BudgetReached, match=r"the budget of 10 requests \(`max_requests`\) is used"):
            run(server.url, data, **options, max_requests=10)
        run(server.url, data, **options, price=(1, 2))
    entry = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]
    assert (entry["n_requests"], len(server.received)) == (54, 55)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prices.yaml", "other: [1, 1]\ntoy: [2, 10]\n"),
        ("prices.yml", "toy: {input: 2, output: 10}\n"),
        ("prices.json", '{"toy": {"input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05, "mode": "chat"}}'),
    ],
)
def test_prices_are_read_from_a_file(data, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    given = {"scoring": "generate", "max_tokens": 3}
    with FaultyServer() as server:
        said = [
            command([*arguments(server.url, data, tmp_path / "dry", **given, price=price), "--dry-run"])[2]
            for price in (tmp_path / name, "2,10")
        ]
    assert said[0] == said[1]
    assert ", cost up to 0.0" in said[0]


def test_each_model_of_a_run_has_its_own_price(tmp_path):
    """The dearest one's counted for all."""
    for name in ("a", "b"):
        rows = [{"bucket_id": "x", "question": f"{name} {i}?"} for i in range(4)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prices.yaml").write_text("cheap: [1000, 0]\ndear: [9000, 0]\n")
    given = ["run", "--price", tmp_path / "prices.yaml", "--output", tmp_path / "run", "--concurrency", 1]
    for name, model in (("a", "dear"), ("b", "cheap")):
        given += ["--dataset", tmp_path / f"{name}.jsonl", "--model", f"{tmp_path / name}.jsonl={model}"]
    with FaultyServer(write=lambda text, body: "yes") as server:
        answer = server.answer
        server.answer = lambda path, body: answer(path, {**body, "model": "toy"})
        said = command(given, "--endpoint", server.url)[2]
    passes = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]
    for name, price in (("dear", 9e-3), ("cheap", 1e-3)):
        spent = passes[f"{name}:questions"]
        assert spent["cost"] == pytest.approx(spent["prompt_tokens"] * price)
    expected = re.search(r"8 requests, (\d+) tokens read .* cost up to ([\d.]+),", said)
    assert float(expected[2]) == pytest.approx(int(expected[1]) / 2 * (9e-3 + 1e-3))


@pytest.mark.parametrize("text", ["other: [1, 1]", "toy: [1]", "toy: cheap", "- toy", "toy: [1, 2"])
def test_a_file_without_the_models_price_is_refused_before_anything_is_sent(data, tmp_path, text):
    (tmp_path / "prices.yaml").write_text(text)
    with FaultyServer() as server:
        given = arguments(server.url, data, tmp_path / "run", price=tmp_path / "prices.yaml")
        code, _, said = command(given)
    assert (code, server.received) == (2, [])
    assert "`--price` must" in said


def test_the_page_says_what_each_set_cost(data, tmp_path):
    pytest.importorskip("jinja2")
    with FaultyServer() as server:
        done(arguments(server.url, data, tmp_path / "run", scoring="generate", price="1000,2000", max_tokens=3))
    command.done("report", tmp_path / "run", "--output", tmp_path / "page.html")
    cost = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]["cost"]
    page = (tmp_path / "page.html").read_text()
    assert cost > 0
    assert f">{cost}<" in page.replace(" ", "").replace("\n", "")


def test_a_dry_run_shows_requests_as_they_are_sent_and_sends_nothing(data, tmp_path):
    given = {"scoring": "generate", "max_tokens": 3, "price": "1,2"}
    with FaultyServer() as server:
        code, out, said = command([*arguments(server.url, data, tmp_path / "dry", **given), "--dry-run"])
        assert (code, server.received, (tmp_path / "dry").exists()) == (0, [], False)
        assert "estimate: 54 requests" in said
        assert re.search("at most 162 written, cost up to 0.00[0-9]*, after 1 small request or more that", said)
        assert "enough" not in said
        dry = [*arguments(server.url, data, tmp_path / "dry", **given), "--dry-run", "--max-requests"]
        short = ["is not enough" in command([*dry, n])[2] for n in (54, 55)]  # the small request counts, too
        assert short == [True, False]
        dear = [*arguments(server.url, data, tmp_path / "dry", **given), "--dry-run", "--max-cost", 0.0001]
        assert " The budget of 0.0001 may not be enough: what is answered by then is kept" in command(dear)[2]
        _, _, before = command(arguments(server.url, data, tmp_path / "run", **given | {"max_requests": 20}))
        assert "The budget of 20 requests is not enough" in before
        assert before.index("estimate: 54 requests") < before.index("the budget of 20 requests")
        _, _, said = command([*arguments(server.url, data, tmp_path / "run", **given), "--dry-run"])
        assert "estimate: 35 requests" in said
        done(arguments(server.url, data, tmp_path / "run", **given))
        _, _, said = command([*arguments(server.url, data, tmp_path / "run", **given), "--dry-run"])
        assert said == "estimate: nothing is left to send. Nothing was sent.\n"
    shown, rest = [], out.strip()
    while rest:
        body, end = json.JSONDecoder().raw_decode(rest)
        shown.append(body)
        rest = rest[end:].strip()
    sent = [request.body for request in server.received if request.tag != "probe"]
    assert len(shown) == 3
    assert all(body in sent for body in shown)


def test_at_most_is_what_the_requests_say_themselves(data, tmp_path):
    """Answers of a model that reasons had room for 4,000 tokens, and were expected to have 8."""
    fields = [f"--request-field={field}" for field in ("max_tokens=null", "max_completion_tokens=4000")]
    given = arguments("http://127.0.0.1:9/v1", data, tmp_path, scoring="generate", price="0,1000000")
    assert "at most 216,000 written, cost up to 216,000." in command([*given, *fields, "--dry-run"])[2]


def test_an_estimate_is_of_the_wordings_that_may_be_asked(tmp_path):
    """It counted all wordings, and those of buckets with one, which are not asked."""
    rows = [{"bucket_id": str(i // 10), "question": f"Wording {i}?"} for i in range(41)]
    data = write(tmp_path / "q.jsonl", rows)
    given = arguments("http://127.0.0.1:9/v1", data, tmp_path / "run", until="wording_change +- 0.2", wordings=3)
    assert "estimate: 12 requests, " in command([*given, "--dry-run"])[2]


def test_a_budget_that_just_suffices_is_enough():
    settings = EndpointSettings("http://h/v1", price=(1, 1), max_requests=10, max_cost=0.5)
    spent = Meter(settings, n_requests=4, cost=0.25)
    assert "budget" not in Estimate(6, 0, 250_000, 0.25).describe(spent)
    assert "The budget of 10 requests and 0.5 is not enough" in Estimate(7, 0, 250_001, 0.250001).describe(spent)


def test_a_dry_run_is_of_an_endpoint(data, tmp_path):
    arguments_of_run = ["run", "--model", "m", "--dataset", str(data), "--output", str(tmp_path / "run"), "--dry-run"]
    assert "`--dry-run` must be given only with `--endpoint`" in command.refused(arguments_of_run)


def test_the_record_has_what_each_set_cost_and_the_bar_what_the_run_does(data, tmp_path, monkeypatch):
    rows = data.read_text().splitlines(keepends=True)
    other = tmp_path / "other.jsonl"
    other.write_text("".join(rows[:20]))
    notes: list[str] = []
    monkeypatch.setattr("paraconsist.models.progress.ProgressBar.advance", lambda bar, n, note="": notes.append(note))
    with FaultyServer(write=lambda text, body: "W") as server:
        given = arguments(server.url, data, tmp_path / "run", scoring="generate", price="1000,2000")
        done([*given, "--dataset", str(other)])
    entry = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]
    assert (entry["n_requests"], entry["sets"]["set"]["n_requests"]) == (54, 54)
    assert 0 < entry["sets"]["other"]["n_requests"] <= 20  # each of them an input of the other set as well
    assert entry["sets"]["other"]["cost"] < entry["sets"]["set"]["cost"] == entry["cost"]
    costs = [float(note.removeprefix("cost ")) for note in notes]
    assert costs == sorted(costs)
    assert costs[-1] == pytest.approx(sum(costs_of(server)), abs=1e-4)
    other.write_text("".join(rows[20:]))  # another set: what the one before cost was forgotten
    with FaultyServer(write=lambda text, body: "W", usage=False) as server:
        given = arguments(server.url, other.rename(tmp_path / "rest.jsonl"), tmp_path / "run", scoring="generate")
        assert "written answers; 54 requests answered in all" in done([*given, "--price", "1000,2000"])
        code, _, _ = command([*given, "--price", "1000,2000", "--noise-floor", 1, "--max-requests", 1])
        assert code == 75
        record = json.loads((tmp_path / "run" / "run.json").read_text())
        assert record["endpoint"]["defeasible_nli"]["sets"] == {n: entry["sets"][n] for n in ("set", "other")}
        said = done([*given, "--price", "1000,2000", "--noise-floor", 1])
    sets = json.loads((tmp_path / "run" / "run.json").read_text())["endpoint"]["defeasible_nli"]["sets"]
    assert sets.keys() == {"set", "other", "rest"}
    assert {name: sets[name] for name in ("set", "other")} == entry["sets"]
    assert re.search(r"\((\d+) answers did not say\), cost [\d.]+ and unknown of \1 answers\.", said)
    done(["report", str(tmp_path / "run"), "--output", str(page := tmp_path / "page.html")])
    assert "answers of unknown tokens and cost" in page.read_text()  # the page told the cost alone


def test_tokens_are_counted_by_the_models_tokenizer_where_it_is_on_this_machine(tmp_path):
    from huggingface_hub import constants

    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(tmp_path / "served")
    questions = [f"Does the dog number {i} sleep in the rain?" for i in range(300)]
    rows = [{"bucket_id": str(i // 3), "question": text} for i, text in enumerate(questions)]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cached = Path(constants.HF_HUB_CACHE, "models--org--cached")
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("abc")
    shutil.copytree(tmp_path / "served", cached / "snapshots" / "abc")
    wanted = sum(len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in questions)
    said = {}
    for model in (str(tmp_path / "served"), "org/cached", "org/absent", "toy"):
        given = ["--endpoint", "http://localhost:1/v1", "--model", model, "--dataset", tmp_path / "q.jsonl"]
        shown = done("run", *given, "--dry-run", "--output", tmp_path / "run")
        said[model] = re.search(r"300 requests, ([\d,]+) tokens read \((.*?)\)", shown).groups()
    for model in (str(tmp_path / "served"), "org/cached"):
        assert said[model][1] == "as the model's tokenizer counts, without a chat template"
        assert int(said[model][0].replace(",", "")) == pytest.approx(wanted, rel=0.01)
    n_bytes = sum(len(text) for text in questions)
    for model in ("org/absent", "toy"):
        assert said[model] == (f"{round(n_bytes / 4):,}", "4 bytes of a prompt counted as one")
    assert abs(n_bytes / 4 - wanted) > 0.05 * wanted  # else the two ways cannot be told apart
