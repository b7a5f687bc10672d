"""Reworded tasks of inspect_ai: the original to the bit, its key in other orders, the log, refusals."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from runpy import run_path

import pytest
from helpers import inspect_evaluations
from helpers.faulty_server import FaultyServer
from helpers.inspect_evaluations import inspect_eval, mock_model

import paraconsist as pc
from paraconsist.data.logs.reading import read_logs
from paraconsist.errors import InputError
from paraconsist.transforms.reworded_tasks import RewordOptions

TASKS = Path(inspect_evaluations.__file__).with_name("inspect_tasks.py")
RULES = {"contraction", "phrase", "structure"}
#: Task -> what its wordings may be, beside an instruction.
KINDS = {
    "boats": RULES | {"option_order"},
    "cargo": RULES | {"case", "separator"},
    "chat": RULES,  # whose scorer may know the right place from elsewhere
    "listed": RULES | {"option_order"},
    "labelled": RULES | {"option_order", "option_labels"},
}


def guess(prompt):
    """An answer that follows from the prompt alone, some of them right."""
    number = hashlib.sha256(prompt.encode()).digest()[0]
    return ["ANSWER: A", "ANSWER: B", "ANSWER: C", "ANSWER: D", "It is 4.", "3"][number % 6]


def write(folder, name, **options):
    from paraconsist.transforms.reworded_questions import reword_inspect

    (counts,) = reword_inspect(f"{TASKS}@{name}", folder, RewordOptions(**options)).values()
    return set(counts), named(folder, name)


def named(folder, name):
    """A reworded task as ``inspect eval`` takes it."""
    return f"{folder / name}_reworded.py@{name}_reworded"


def rows_of(folder):
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def of_sample(sample):
    """What the model was asked and answered, and how that was scored."""
    scores = {name: (score.value, score.answer) for name, score in sample.scores.items()}
    messages = [(message.role, message.content) for message in sample.messages]
    return sample.id, sample.choices, sample.target, messages, sample.output.completion, scores


def metrics(log):
    return {(score.name, name): metric.value for score in log.results.scores for name, metric in score.metrics.items()}


@pytest.mark.parametrize("name", KINDS)
def test_wording_0_is_the_original_to_the_bit(tmp_path, name):
    kinds, file = write(tmp_path / "new", name)
    assert kinds == KINDS[name] | {"instruction", "original"}
    log = inspect_eval(f"{TASKS}@{name}", guess, tmp_path / "own")
    new = inspect_eval(file, guess, tmp_path / "logs")
    assert new.eval.task == f"{name}_reworded"
    originals = [sample for sample in new.samples if sample.metadata["wording"] == 0]
    assert [*map(of_sample, originals)] == [*map(of_sample, log.samples)]
    assert len(new.samples) > 3 * len(log.samples)
    numbers = metrics(log)
    first = "paraconsist/" if name == "chat" else ""  # inspect_ai names metrics of keyed values so
    of_originals = {(scorer, f"{first}original_{key}"): number for (scorer, key), number in numbers.items()}
    assert {key: number for key, number in metrics(new).items() if "original" in key[1]} == of_originals
    assert metrics(new).keys() == numbers.keys() | of_originals.keys()


@pytest.fixture(scope="module")
def harbour(tmp_path_factory):
    """A package with tasks, installed: where packages lie, with an entry point for inspect_ai."""
    from inspect_ai._util.entrypoints import clear_entry_points_state

    place = tmp_path_factory.mktemp("python") / "site-packages"
    shutil.copytree(TASKS.with_name("harbour"), place / "harbour")
    about = place / "harbour-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: harbour\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[inspect_ai]\nharbour = harbour.registry\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        clear_entry_points_state()
        yield place


@pytest.mark.parametrize("spec", ["harbour/{}", "harbour.tasks@{}"])
@pytest.mark.parametrize("name", ["letters", "words", "guided"])
def test_tasks_of_an_installed_package(tmp_path, harbour, command, name, spec):
    """By the name that inspect_ai gives them, and by their module, whose imports are the package's."""
    out = command.out("reword", f"inspect:{spec.format(name)}", "--output", tmp_path / "new")
    assert f"{name}: {4 if name == 'guided' else 6} questions with " in out
    log = inspect_eval(f"harbour/{name}", guess, tmp_path / "own")
    new = inspect_eval(named(tmp_path / "new", name), guess, tmp_path / "logs")
    originals = [sample for sample in new.samples if sample.metadata["wording"] == 0]
    assert [*map(of_sample, originals)] == [*map(of_sample, log.samples)]
    numbers = metrics(log)
    assert numbers
    assert {(scorer, key): metrics(new)[scorer, f"original_{key}"] for scorer, key in numbers} == numbers
    assert pc.score(tmp_path / "logs", n_resamples=10) is not None


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("harbour/ships", "harbour/guided, harbour/letters, harbour/words"),
        ("nowhere/letters", "installed package"),
        ("harbour.tasks@ships", "ships"),
        ("harbour.nothing@letters", "harbour.nothing"),
    ],
)
def test_packages_and_tasks_that_are_not_there(tmp_path, harbour, command, spec, match):
    assert re.search(match, command.refused("reword", f"inspect:{spec}", "--output", tmp_path / "new"))


def accuracy(samples, scorer):
    return sum(sample.scores[scorer].value == "C" for sample in samples) / len(samples)


@pytest.mark.parametrize(
    ("name", "scorer"), [("boats", "choice"), ("spoken", "match"), ("cargo", "match"), ("listed", "answer")]
)
def test_the_log_is_scored_without_an_option(tmp_path, command, name, scorer):
    log = inspect_eval(write(tmp_path / "new", name)[1], guess, tmp_path / "logs")
    frame = pc.score(tmp_path / "logs", n_resamples=10).to_frame()
    own = frame[frame.measure.str.startswith("paraphrastic_consistency.") & (frame.stratum.fillna("") == "")]
    value = dict(zip(own.measure.str.partition(".")[2], own.value, strict=True))
    reworded = [sample for sample in log.samples if sample.metadata["wording"]]
    right = [sample.scores[scorer].value == "C" for sample in reworded]
    expected = pc.paraphrastic_consistency(
        right, [True] * len(right), [sample.metadata["bucket_id"] for sample in reworded]
    )
    for key in ("accuracy", "paraphrastic_consistency", "vap"):
        assert value[key] == pytest.approx(getattr(expected, key))
    originals = [sample for sample in log.samples if not sample.metadata["wording"]]
    assert value["original_accuracy"] == pytest.approx(accuracy(originals, scorer))
    assert "instruction" in command.out("score", tmp_path / "logs", "--stratum", "kind", "--n-resamples", 10)
    assert command.json("variance", tmp_path / "logs")["n_values"]["wording"] > 2
    command.out("report", tmp_path / "logs", "--output", tmp_path / "page.html", "--n-resamples", 10)
    assert "Accuracy by variant" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["boats", "listed"])
def test_the_target_moves_with_the_options(tmp_path, name):
    """A model that knows the right texts is right in every order; one that says a letter is not."""
    _, file = write(tmp_path / "new", name, kinds="option_order", per_kind=3)
    moved = {row["question"] for row in rows_of(tmp_path / "new") if row["kind"] == "option_order"}
    assert moved == set(range(7 if name == "boats" else 8))  # "none of the above" stays the last
    things = run_path(str(TASKS))

    def knows(prompt):
        number = next(i for i in range(8) if things["question"](i) in prompt)
        by_text = {text: letter for letter, text in re.findall(r"^([A-D])\) (.+)$", prompt, re.MULTILINE)}
        return f"ANSWER: {by_text.get(things['four'](number)[number % 4], 'D')}"

    log = inspect_eval(file, knows, tmp_path / "logs")
    assert {key: value for key, value in metrics(log).items() if key[1].endswith("accuracy")} == dict.fromkeys(
        [(log.results.scores[0].name, "accuracy"), (log.results.scores[0].name, "original_accuracy")], 1.0
    )
    assert (
        metrics(inspect_eval(file, lambda _: "ANSWER: A", tmp_path / "a"))[log.results.scores[0].name, "accuracy"] < 0.5
    )
    # who always knows the right text never changes the answer, though its letter is another one
    (table,) = (read.table for read in read_logs([tmp_path / "logs"]).values())
    answers = {*zip(table["bucket_id"].to_pylist(), table["prediction"].to_pylist(), strict=True)}
    assert len(answers) == 8


def test_labels_that_the_samples_list(tmp_path):
    """Who writes the right option's label is right under each, and never changes the answer."""
    _, file = write(tmp_path / "new", "labelled", kinds="option_labels", per_kind=2)
    things = run_path(str(TASKS))
    asked = set()

    def knows(prompt):
        number = next(i for i in range(8) if things["question"](i) in prompt)
        by_text = {text: label for label, text in re.findall(r"^(\w)\) (.+)$", prompt, re.MULTILINE)}
        asked.update(by_text.values())
        return by_text[things["four"](number)[number % 4]]

    log = inspect_eval(file, knows, tmp_path / "logs")
    assert asked == {*"ABCD1234abcd"}
    assert metrics(log)["match", "accuracy"] == metrics(log)["match", "original_accuracy"] == 1.0
    (table,) = (read.table for read in read_logs([tmp_path / "logs"]).values())
    answers = {*zip(table["bucket_id"].to_pylist(), table["prediction"].to_pylist(), strict=True)}
    assert len(answers) == 8


def test_the_order_of_solved_examples_in_turns(tmp_path, harbour):
    """The examples move in pairs; two of them have one other order, and what else is asked stays."""
    from paraconsist.transforms.reworded_questions import reword_inspect

    reword_inspect("harbour/guided", tmp_path / "new", RewordOptions("shot_order", per_kind=3))
    rows = [row for row in rows_of(tmp_path / "new") if row["wording"]]
    assert [(row["kind"], row["shots"]) for row in rows] == [("shot_order", [1, 0])] * 4
    log = inspect_eval(named(tmp_path / "new", "guided"), guess, tmp_path / "logs")
    samples = {(each.metadata["bucket_id"], each.metadata["wording"]): each for each in log.samples}
    assert len(samples) == 8
    for bucket in "0123":
        original, moved = samples[bucket, 0], samples[bucket, rows[0]["wording"]]
        system, *shots, question = ((turn.role, turn.text) for turn in original.input)
        assert [(turn.role, turn.text) for turn in moved.input] == [system, *shots[2:], *shots[:2], question]
        assert moved.target == original.target


def test_the_beginning_of_an_answer_stays_after_the_question():
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    from paraconsist.transforms.reworded_questions import input_of, question_of

    turns = [ChatMessageUser(content="Is it red?"), ChatMessageAssistant(content="It is")]
    sample = Sample(turns, target=["yes", "so"])
    assert question_of(sample) == ("Is it red?", [], ["yes", "so"])
    assert [turn.text for turn in input_of(sample, {"text": "Is it red, then?"})] == ["Is it red, then?", "It is"]


def test_solved_examples_and_what_all_samples_say_are_held(tmp_path):
    _, file = write(tmp_path / "new", "chat")
    log = inspect_eval(file, guess, tmp_path / "logs")
    assert {tuple(message.text for message in sample.input[:3]) for sample in log.samples} == {
        ("You are a sailor.", "What isn't on a boat?", "A house.")
    }
    write(tmp_path / "cargo", "cargo", per_kind=3)
    assert all("Answer with a number of boats." in row["text"] for row in rows_of(tmp_path / "cargo"))


def test_a_task_of_the_hub(tmp_path, monkeypatch, command):
    """A set's ``eval.yaml``, which inspect_ai reads and checks itself; the set is a stand-in."""
    from inspect_ai._eval.task import hf
    from inspect_ai.dataset import MemoryDataset

    (tmp_path / "eval.yaml").write_text(
        "name: Boats\ntasks:\n- id: boats\n  config: default\n  split: test\n"
        "  field_spec: {input: question, target: answer, choices: choices}\n"
        "  solvers: [{name: multiple_choice}]\n  scorers: [{name: choice}]\n"
    )
    things = run_path(str(TASKS))
    rows = [{"question": things["question"](i), "choices": things["four"](i), "answer": i % 4} for i in range(6)]
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda **_: str(tmp_path / "eval.yaml"))

    def stand_in(path, sample_fields, **_):
        return MemoryDataset([sample_fields(row) for row in rows], name=path)

    monkeypatch.setattr(hf, "hf_dataset", stand_in)
    code, out, said = command("reword", "hf:org/boats", "--output", tmp_path / "new")
    assert code == 0
    assert "boats: 6 questions with" in out
    assert "inspect eval" in said
    log, new = (
        inspect_eval(task, guess, tmp_path / f"logs{i}")
        for i, task in enumerate(["hf/org/boats", named(tmp_path / "new", "boats")])
    )
    originals = [sample for sample in new.samples if sample.metadata["wording"] == 0]
    assert [*map(of_sample, originals)] == [*map(of_sample, log.samples)]
    assert metrics(new)["choice", "original_accuracy"] == metrics(log)["choice", "accuracy"]


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("boat", {}, "boat"),
        ("empty", {}, "ask something"),
        ("tagged", {}, "samples without the metadata"),  # of which one alone has one
        ("boats", {"kinds": "option_labels"}, "samples must list their options, for generate"),
        ("listed", {"kinds": "option_labels"}, "others name A, B, ..."),
        ("chat", {"kinds": "option_order"}, "scorer, which is not inspect_ai's own, may know"),
        ("boats", {"kinds": "shot_order"}, "others are the solver's"),
        ("chat", {"kinds": "shot_order"}, "two or more solved examples"),
    ],
)
def test_refusals(tmp_path, name, options, match):
    with pytest.raises(InputError, match=match):
        write(tmp_path / "new", name, **options)
    assert not (tmp_path / "new").exists()


def test_parameters_of_the_original(tmp_path):
    write(tmp_path / "new", "cargo")
    file = tmp_path / "new" / "cargo_reworded.py"
    file.write_text(file.read_text().replace("@cargo')", "@cargo', start='Be quick.')"))
    log = inspect_eval(named(tmp_path / "new", "cargo"), guess, tmp_path / "logs")
    assert {sample.messages[0].text.splitlines()[0] for sample in log.samples} == {"Be quick."}


def test_a_run_that_was_cut_off_is_resumed(tmp_path, monkeypatch):
    """By inspect_ai's own `eval-retry`: what was answered is not asked again."""
    from inspect_ai import eval_retry

    _, file = write(tmp_path / "new", "cargo")
    asked = []

    def fails_later(prompt):
        asked.append(prompt)
        if len(asked) == 20:
            raise RuntimeError("gone")
        return guess(prompt)

    log = inspect_eval(file, fails_later, tmp_path / "logs", max_samples=1)
    assert log.status == "error"
    with inspect_evaluations.installed():
        monkeypatch.setattr("inspect_ai._eval.eval.get_model", lambda *_, **__: mock_model(fails_later))
        (again,) = eval_retry(log, log_dir=str(tmp_path / "again"), display="none", log_realtime=False)
    assert again.status == "success"
    assert len(again.samples) == len(rows_of(tmp_path / "new")) == len(asked) - 1  # the failed one is asked twice
    assert asked[19] in asked[20:]
    assert not {*asked[:19]} & {*asked[20:]}


def test_samples_that_changed_since(tmp_path):
    _, file = write(tmp_path / "new", "drawn")
    with pytest.raises(Exception, match="write the folder again"):
        inspect_eval(file, guess, tmp_path / "logs")


def test_the_command(tmp_path, command, monkeypatch):
    monkeypatch.chdir(TASKS.parent)
    code, out, said = command("reword", "inspect:inspect_tasks.py@boats", "--output", tmp_path / "new", "--limit", 5)
    assert code == 0
    assert "boats: 5 questions with" in out
    assert said.splitlines()[-2:] == [
        f"Next: inspect eval {named(tmp_path / 'new', 'boats')} --model MODEL --log-dir logs",
        "      paraconsist score logs",
    ]
    inspect_eval(named(tmp_path / "new", "boats"), guess, tmp_path / "logs")
    (tmp_path / "new" / "__pycache__").mkdir(exist_ok=True)  # which Python leaves there
    overwritten = command.out("reword", "inspect:inspect_tasks.py@boats", "--output", tmp_path / "new", "--overwrite")
    assert "boats: 8 questions with" in overwritten
    assert "No module named" in command.refused("reword", "inspect:nowhere@boats", "--output", tmp_path / "other")
    assert "boats: 8" in command.out("reword", "inspect:helpers.inspect_tasks@boats", "--output", tmp_path / "module")
    assert "name one task" in command.refused("reword", "inspect:inspect_tasks.py", "--output", tmp_path / "other")
    assert "be a task whose" in command.refused("reword", "inspect:nothing.py@boats", "--output", tmp_path / "other")


def test_a_model_behind_an_endpoint_is_asked_by_the_harness(tmp_path, monkeypatch):
    """A wording is a request of its own, and the log is scored without an option: A_O is what the harness says."""
    pytest.importorskip("openai")
    monkeypatch.setenv("LOCAL_API_KEY", "EMPTY")
    _, task = write(tmp_path / "new", "cargo")

    def whole(said, received):
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {**said, "id": "x", "created": 1, "object": "chat.completion", "usage": usage}

    with FaultyServer(write=lambda text, body: f"ANSWER: {len(text) % 7}", change=whole) as server:
        at = {"model_base_url": server.url, "max_tokens": 9}
        log = inspect_eval(task, "openai-api/local/toy", tmp_path / "logs", **at)
        asked = {json.dumps(request.body["messages"]) for request in server.received}
    assert log.status == "success"
    assert len(asked) == len(log.samples)
    (scored,) = pc.score(tmp_path / "logs", n_resamples=10).sets.values()
    originals = [sample for sample in log.samples if not sample.metadata["wording"]]
    found = scored.measures["paraphrastic_consistency"]["original_accuracy"]
    assert found == pytest.approx(accuracy(originals, "match"))
    assert len(scored.rows) == len(log.samples)
