"""A system message that all prompts get, and the way attention is computed: part of what a model is."""

import json
import shutil
from importlib.util import find_spec

import pytest
from helpers.commands import command, done, in_process, refused
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model
from helpers.models import tiny_encoder
from helpers.processes import write_set

import paraconsist as pc
from paraconsist.data.predictions import read_predictions
from paraconsist.errors import InputError
from paraconsist.models.prompted import CausalScorer

QUESTION = {"role": "user", "content": "What place?"}
ROWS = [
    {"bucket_id": "a", "question": "Where?", "system": "You sell shoes."},
    {"bucket_id": "a", "question": "At what place?"},
    {
        "bucket_id": "a",
        "messages": [{"role": "system", "content": "You sell hats."}, {"role": "user", "content": "W?"}],
    },
]
#: What stands in the system message of each with `system` "Be brief.", by the definition: it comes first.
WANTED = ["Be brief.\n\nYou sell shoes.", "Be brief.", "Be brief.\n\nYou sell hats."]


@pytest.fixture
def questions(tmp_path):
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path / "q.jsonl"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("system")
    save_language_model(folder / "chat", "llama", chat=True)
    save_language_model(folder / "plain", "llama")
    tiny_encoder(folder / "classifier")
    write_set(folder / "set.jsonl", 12)
    return folder


def systems(server):
    """The system messages that were asked about inputs: the last ones, behind those that find out what it offers."""
    bodies = [received.body for received in server.received if "messages" in received.body]
    return [[turn["content"] for turn in body["messages"] if turn["role"] == "system"] for body in bodies]


def test_of_questions_it_stands_before_their_own(questions, tmp_path):
    with FaultyServer(write=lambda text, body: "Here.") as server:
        given = ["--model", server.model, "--endpoint", server.url, "--dataset", questions]
        done("run", *given, "--system", "Be brief.", "--output", tmp_path / "run")
        assert sorted(systems(server)[-3:]) == sorted([text] for text in WANTED)
        pc.run(server.url, str(questions), output=tmp_path / "python", system="Be brief.")
        assert sorted(systems(server)[-3:]) == sorted([text] for text in WANTED)
        said = refused("run", *given, "--system", "Be long.", "--output", tmp_path / "run")
        assert "system: 'Be brief.' there, 'Be long.' now" in said
        assert "system: 'Be brief.' there, None now" in refused("run", *given, "--output", tmp_path / "run")
        n = len(server.received)
        done("run", *given, "--system", "Be brief.", "--output", tmp_path / "run")
        assert len(server.received) == n
    assert read_predictions(tmp_path / "run/predictions/q.parquet").metadata["model"]["system"] == "Be brief."


def test_of_label_tasks_it_stands_before_the_instruction(place, tmp_path):
    template = tmp_path / "t.yaml"
    template.write_text(
        "instruction: Say W or S.\nquestion: '{premise} {update}'\nlabels: {weakener: W, strengthener: S}"
    )
    with FaultyServer(write=lambda text, body: "W") as server:
        given = ["--model", server.model, "--endpoint", server.url, "--dataset", place / "set.jsonl", "--api", "chat"]
        given += ["--template", template, "--system", "Be brief.", "--n-resamples", 20]
        done("run", *given, "--output", tmp_path / "run")
        assert {text for texts in systems(server) for text in texts} == {"Be brief.\n\nSay W or S."}


def test_a_chat_template_shows_it(place, tmp_path, monkeypatch):
    seen = []
    encode = CausalScorer.encode
    monkeypatch.setattr(CausalScorer, "encode", lambda *row: [seen.append(encode(*row)[0].text), encode(*row)][1])
    given = ["--model", place / "chat", "--dataset", place / "set.jsonl", "--device", "cpu", "--n-resamples", 20]
    code, _, err = in_process([str(part) for part in ("run", *given, "--output", tmp_path, "--chat", "--system", "X.")])
    assert code == 0, err
    assert len(seen) > 5
    assert all(text.startswith("<s>system: X.") for text in seen)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "plain", "--system", "X."], "a chat"),
        (["--model", "m", "--system", "X.", "--endpoint", "http://localhost:1/v1"], "a chat"),
        (["--model", "classifier", "--system", "X."], "causal and sequence-to-sequence"),
        (["--model", "m", "--attn-implementation", "eager", "--endpoint", "http://localhost:1/v1"], "endpoint"),
        (["--model", "plain", "--attn-implementation", "fast"], "eager"),
        (["--model", "plain", "--attn-implementation", "flash_attention_2"], "flash"),
    ],
)
def test_where_nothing_would_show_it_it_is_refused(options, said, place, tmp_path):
    options = [str(place / part) if (place / part).exists() else part for part in options]
    err = refused("run", *options, "--dataset", place / "set.jsonl", "--output", tmp_path / "run", n_lines=1)
    assert options[2] in err
    assert said in err


def test_a_function_takes_no_system_message(questions, tmp_path):
    with pytest.raises(InputError, match="`system` must not be given with a function"):
        pc.run(lambda prompts: prompts, str(questions), output=tmp_path / "run", version="1", system="X.")


@pytest.mark.parametrize("kind", ["plain", "classifier"])
def test_the_way_of_attention_is_part_of_the_run(kind, place, tmp_path):
    asked = str(place / kind), str(place / "set.jsonl")
    pc.run(*asked, output=tmp_path / "a", attn_implementation="eager", device="cpu")
    pc.run(*asked, output=tmp_path / "b", device="cpu")
    one, two = (read_predictions(tmp_path / name / "predictions/set.parquet") for name in "ab")
    assert one.metadata["model"]["attn_implementation"] == "eager"
    assert "attn_implementation" not in two.metadata["model"]
    (environment,) = (tmp_path / "a" / "store").glob("*/environment.json")
    assert json.loads(environment.read_text())["attention"] == "eager"
    with pytest.raises(InputError, match="attn_implementation: 'eager' there, None now"):
        pc.run(*asked, output=tmp_path / "a", device="cpu")
    for row, same in zip(one.table["probabilities"].to_pylist(), two.table["probabilities"].to_pylist(), strict=True):
        assert row == pytest.approx(same, abs=1e-5)


def test_other_numbers_than_float32_are_told_first(place, tmp_path):
    given = ["run", "--model", place / "classifier", "--dataset", place / "set.jsonl", "--device", "cpu"]
    _, _, err = command(*given, "--output", tmp_path / "a", "--dtype", "bfloat16")
    assert err.startswith("computed in bfloat16 on cpu.")
    assert "computed in float32" not in command(*given, "--output", tmp_path / "b")[2]


def test_a_package_that_quantised_weights_need_is_named(place, tmp_path):
    """The error was said to be one that nobody foresaw."""
    if find_spec("optimum") is not None:
        pytest.skip("optimum is installed")
    shutil.copytree(place / "plain", tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq", "bits": 4}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    given = ["--model", tmp_path / "model", "--dataset", place / "set.jsonl", "--output", tmp_path / "run"]
    assert "requires optimum" in refused("run", *given)


def test_arguments_of_a_chat_template_have_two_names(place, tmp_path):
    given = ["run", "--model", place / "chat", "--dataset", place / "set.jsonl", "--chat", "--output", tmp_path / "run"]
    _, _, err = command(*given, "--chat-template-argument", "tokenize=true")
    assert "none of" in err


def test_exported_requests_have_it_and_their_answers_are_read(questions, tmp_path):
    given = ["--model", "toy", "--dataset", questions, "--system", "Be brief.", "--output", tmp_path / "out"]
    done("export-requests", *given)
    (batch,) = (tmp_path / "out" / "requests").glob("*.jsonl")
    requests = [json.loads(line) for line in batch.read_text().splitlines()]
    assert sorted(each["body"]["messages"][0]["content"] for each in requests) == sorted(WANTED)
    body = {"choices": [{"index": 0, "message": {"content": "Here."}, "finish_reason": "stop"}]}
    response = {"status_code": 200, "body": body}
    answers = [{"custom_id": each["custom_id"], "response": response, "error": None} for each in requests]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    done("import-answers", tmp_path / "answers.jsonl", "--output", tmp_path / "out")
    assert read_predictions(tmp_path / "out/predictions/q.parquet").metadata["model"]["system"] == "Be brief."
