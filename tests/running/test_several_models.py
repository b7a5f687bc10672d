"""Several models in one call: each as if it ran alone, with its own options, over sets that are prepared once."""

import json
import re
from functools import partial

import pyarrow as pa
import pytest
from helpers.commands import command, done, refused, write
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer
from helpers.models import tiny_encoder
from helpers.processes import launch, write_set

import paraconsist as pc
from paraconsist.data import bucket_sets
from paraconsist.data.predictions import read_predictions
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import BudgetReached
from paraconsist.running.run import group_sets

QUESTIONS = [{"bucket_id": f"q{i // 3}", "question": f"Wording {i}?", "expected": "yes"} for i in range(12)]


def answer(text, body):
    """Depends on the system message, so that models differ."""
    return "yes" if len(text) % 2 else "no"


@pytest.fixture
def questions(tmp_path):
    return write(tmp_path / "q.jsonl", QUESTIONS)


@pytest.fixture
def prepared(monkeypatch):
    """The names of the sets that were checked and hashed."""
    seen = []
    made = bucket_sets.bucket_set_from_table
    monkeypatch.setattr(
        bucket_sets, "bucket_set_from_table", lambda *a, **more: [seen.append(more["name"]), made(*a, **more)][1]
    )
    return seen


def predictions(folder):
    return read_predictions(folder / "predictions" / "q.parquet")


def test_each_has_the_run_that_it_would_have_alone(questions, tmp_path, prepared):
    (tmp_path / "models.yaml").write_text(
        "plain: toy\nbrief: {model: toy, system: Be brief., max_new_tokens: 5}\n"
        "drawn: {model: toy, scoring: generate, temperature: 0.5, request_fields: {top_p: 0.9}}\n"
    )
    with FaultyServer(write=answer) as server:
        given = ["run", "--endpoint", server.url, "--dataset", questions, "--seed", 3]
        shown = done(*given, "--models", tmp_path / "models.yaml", "--output", tmp_path / "all")
        assert prepared == ["q"]
        alone = {
            "plain": [],
            "brief": ["--system", "Be brief.", "--max-new-tokens", 5],
            "drawn": ["--scoring", "generate", "--temperature", 0.5, "--request-field", "top_p=0.9"],
        }
        for name, options in alone.items():
            done(*given, "--model", "toy", *options, "--output", tmp_path / name)
            together, single = predictions(tmp_path / "all" / name), predictions(tmp_path / name)
            assert together.table.equals(single.table)
            assert together.metadata["model"] == single.metadata["model"]
        n = len(server.received)
        done(*given, "--models", tmp_path / "models.yaml", "--output", tmp_path / "all")
        assert len(server.received) == n
    assert [line for line in shown.splitlines() if line.removesuffix(":") in alone] == [f"{name}:" for name in alone]
    assert f"paraconsist report {tmp_path}/all/plain {tmp_path}/all/brief {tmp_path}/all/drawn" in shown


def test_a_budget_is_of_the_command(questions, tmp_path):
    (tmp_path / "models.yaml").write_text("a: toy\nb: {model: toy, system: Be brief.}\n")
    with FaultyServer(write=answer) as server:
        given = ["run", "--endpoint", server.url, "--dataset", questions, "--models", tmp_path / "models.yaml"]
        given += ["--output", tmp_path / "all"]
        code, shown, said = command(*given, "--max-requests", 20, "--price", "1,2")
        assert (code, len(server.received)) == (75, 20)
        first, *rest = (line for line in said.splitlines() if line.startswith("estimate"))
        total = re.fullmatch(
            r"estimate of all 2 models: 24 requests, .* cost up to (\d+\.\d+), after 2 .*\. The .*", first
        )
        assert total is not None
        assert " The budget of 20 requests is not enough: what is answered by then is kept, and the same" in first
        costs = [float(re.search(r"cost up to (\d+\.\d+)", line)[1]) for line in rest]
        assert len(costs) == 2
        assert float(total[1]) == pytest.approx(sum(costs), abs=2e-4)
        assert ["is not enough" in line for line in rest] == [False, True]
        assert shown.endswith("b:\n")
        n = len(server.received)
        shown = done(*given, "--max-requests", 20, "--price", "1,2")
        assert re.search(rf"\nIn all {len(server.received) - n} requests sent and 0\.\d+ paid\.\n", shown)
        assert len(server.received) < 40
    assert predictions(tmp_path / "all" / "b").table["prediction"].null_count == 0


def test_models_on_this_machine_each_with_its_labels(tmp_path, prepared):
    tiny_encoder(tmp_path / "one")
    tiny_encoder(tmp_path / "two", ("yes", "no"), seed=1)
    data = write_set(tmp_path / "q.jsonl", 12)
    (tmp_path / "models.yaml").write_text(
        f"- {tmp_path}/one\n- {{model: {tmp_path}/two, label_map: {{'yes': weakener, 'no': strengthener}}}}\n"
    )
    given = ["run", "--dataset", data, "--device", "cpu", "--n-resamples", 20]
    done(*given, "--models", tmp_path / "models.yaml", "--output", tmp_path / "all")
    assert prepared == ["q"]
    done(*given, "--model", tmp_path / "one", "--output", tmp_path / "alone")
    assert predictions(tmp_path / "all" / "one").table.equals(predictions(tmp_path / "alone").table)
    assert predictions(tmp_path / "all" / "two").table["prediction"].null_count == 0


@pytest.mark.slow
def test_in_two_processes(tmp_path):
    for seed, name in enumerate(("one", "two")):
        tiny_encoder(tmp_path / name, seed=seed)
    (tmp_path / "models.txt").write_text(f"{tmp_path}/one\n{tmp_path}/two\n")
    given = ["run", "--dataset", write_set(tmp_path / "q.jsonl", 30), "--device", "cpu", "--n-resamples", 20]
    shared = [*given, "--models", tmp_path / "models.txt", "--output", tmp_path / "all"]
    ended = launch([str(part) for part in shared], processes=2)
    assert ended.stdout.count("one:") == ended.stdout.count("two:") == 1
    for name in ("one", "two"):
        done(*given, "--model", tmp_path / name, "--output", tmp_path / "alone" / name)
        together, alone = (predictions(tmp_path / where / name).table for where in ("all", "alone"))
        assert together["prediction"].equals(alone["prediction"])


def test_a_file_of_lines_and_a_dry_run(questions, tmp_path):
    (tmp_path / "models.txt").write_text("# of one server\nORG/one\n\nother/one  # the same name\nthree\n")
    given = ["--models", tmp_path / "models.txt", "--endpoint", "http://localhost:1/v1", "--dataset", questions]
    shown = done("run", *given, "--dry-run", "--output", tmp_path / "all")
    assert shown.count("estimate: 12 requests") == 3
    assert re.search(r"\nestimate of all 3 models: 36 requests, .* Nothing was sent\.$", shown)
    assert [line for line in shown.splitlines() if line in ("ORG-one:", "other-one:", "three:")] == [
        "ORG-one:", "other-one:", "three:"
    ]  # fmt: skip
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {model: toy, temperatures: 1}", "Did you mean `--temperature`?"),
        ("a: {system: X.}", "have a model in each entry"),
        ("a: {model: toy, output: elsewhere}", "output"),
        ("- toy\n- toy", "a name of its own"),
        ("../a: toy", "name"),
        ("[]", "at least one"),
        ("5", "at least one"),
        ("a: {model: toy, temperature: hot}", "options of the right kind"),
        ("a: {model: toy, system: no}", "`--system` must be text; got False. Put it into quotes."),
        ("a: {model: toy, temperature: -1}", "`--temperature` must be 0 or more"),
        ("a: {model: toy, shots: many, examples: a}", "`--shots` must be a whole number"),
    ],
)
def test_what_the_file_may_not_say_is_refused_before_anything_runs(text, said, questions, tmp_path):
    (tmp_path / "models.yaml").write_text(f"{text}\n")
    given = ["--endpoint", "http://localhost:1/v1", "--dataset", questions, "--output", tmp_path / "all"]
    assert said in refused("run", "--models", tmp_path / "models.yaml", *given, n_lines=1)
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("given", [[], ["--model", "toy", "--models", "models.txt"]])
def test_a_run_is_of_one_model_or_of_a_file_of_them(given, questions, tmp_path):
    assert "--models" in refused("run", *given, "--dataset", questions, "--output", tmp_path / "all", n_lines=1)


def test_python_takes_several_too(questions, tmp_path, prepared):
    with FaultyServer(write=answer) as server:
        models = {"plain": server.url, "brief": {"model": server.url, "system": "Be brief."}}
        runs = pc.run(models, str(questions), output=tmp_path / "all")
        alone = pc.run(server.url, str(questions), output=tmp_path / "alone", system="Be brief.")
        with pytest.raises(InputError, match="`max_requests` must be given in each model's own options"):
            pc.run(models, str(questions), output=tmp_path / "all", max_requests=3)
        with pytest.raises(BudgetReached):
            models = {"more": {"model": server.url, "max_requests": 3}}
            pc.run(models, str(questions), output=tmp_path / "all")
    assert prepared == ["q", "q"] + ["q"] * 1
    assert list(runs) == ["plain", "brief"]
    assert predictions(tmp_path / "all" / "brief").table.equals(predictions(tmp_path / "alone").table)
    assert runs["brief"].score().to_dict().keys() == alone.score().to_dict().keys()


def test_command_python_and_entry_have_the_same_options_of_prompts(tmp_path):
    """`pc.run` took no template, shots and examples; an entry's `examples: FILE` was read letter by letter."""
    solved, data = write_set(tmp_path / "solved.jsonl", 40, seed=5), write_set(tmp_path / "q.jsonl", 6)
    template = tmp_path / "mine.yaml"
    template.write_text('question: "{premise} {update}?"\nlabels: {weakener: W, strengthener: S}\n')
    options = {"template": str(template), "shots": 4, "examples": str(solved), "example_seed": 3, "system": "Be brief."}
    options |= {"chat": True, "scoring": "generate"}
    (tmp_path / "models.yaml").write_text(json.dumps({"entry": {"model": "toy", **options}}))
    words = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    with FaultyServer(write=lambda text, body: "W") as server:
        given = ["run", "--endpoint", server.url, "--dataset", data]
        done(*given, "--model", "toy", *(part for part in words if part is not True), "--output", tmp_path / "command")
        done(*given, "--models", tmp_path / "models.yaml", "--output", tmp_path)
        pc.run(server.url, str(data), output=tmp_path / "python", name="toy", **options)
    asked = [predictions(tmp_path / name).metadata["model"] for name in ("command", "entry", "python")]
    assert asked[0] == asked[1] == asked[2]
    assert (asked[0]["shots"], asked[0]["system"], asked[0]["template"]) == ("4", "Be brief.", "mine")
    assert server.received[-1].body["messages"][-1]["content"].endswith("?")
    assert len(server.received[-1].body["messages"]) == 2 + 2 * 4


def test_functions_have_names(questions, tmp_path):
    models = {"yes": lambda prompts: ["yes" for _ in prompts], "no": lambda prompts: ["no" for _ in prompts]}
    runs = pc.run(models, str(questions), output=tmp_path / "all", version="1")
    rates = {name: next(iter(run.score().to_dict().values()))["wording"]["n_right"] for name, run in runs.items()}
    assert rates == {"yes": 4, "no": 0}


def test_functions_of_a_list_have_folders_of_their_own_names(questions, tmp_path):
    """A folder was called by the function's address: the same call asked all again."""

    def echo(prompts):
        return prompts

    runs = pc.run([echo, lambda prompts: prompts], str(questions), output=tmp_path / "all")
    assert [run.folder.name for run in runs.values()] == ["echo", "lambda"]
    for unnamed in ([partial(echo)], [lambda prompts: prompts, lambda prompts: prompts]):
        refuses("a name of its own for each model", pc.run, unnamed, str(questions), output=tmp_path / "other")


@pytest.mark.faults
def test_models_of_one_name_in_two_folders_have_their_own_sets():
    """`run --model one=a/bow --model two=b/bow` lost the sets of the first, without a word."""
    rows = pa.table({"bucket_id": ["b"] * 2, "premise": ["x", "y"], "hypothesis": ["p", "q"], "label": [0, 0]})
    named = {"a/bow": "one", "b/bow": "two", "c/other": "three"}
    made = {model: [bucket_sets.bucket_set_from_table(rows, name=n, task="nli")] for model, n in named.items()}
    groups = {name: (model, [one.name for one in sets]) for name, (model, sets) in group_sets(made).items()}
    expected = {"a/bow:nli": "a/bow", "b/bow:nli": "b/bow", "other:nli": "c/other"}
    assert groups == {name: (model, [named[model]]) for name, model in expected.items()}
