"""The tasks for lm-evaluation-harness: prompts of the runner's, commands of the document, refusals."""

import hashlib
import json
import math
import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.harness import lm_eval
from helpers.language_models import save_language_model
from helpers.scripts import ROOT
from scipy.special import softmax

import paraconsist as pc
from paraconsist.data.prompts import QuestionPrompt
from paraconsist.errors import InputError
from paraconsist.running.by_name import load_pools, prompt_for
from paraconsist.running.options import PromptOptions

DOCUMENT = ROOT / "docs" / "howto" / "lm_eval.md"
MISSING = "lm_eval is not installed: pip install 'paraconsist[integrations]'"
NEEDED = pytest.mark.skipif(find_spec("lm_eval") is None, reason=MISSING)
TASKS = Path(pc.__file__).parent / "plugins" / "lm_eval_tasks"
SHOTS = {"examples": ["sample:defeasible_nli_train"]}


@pytest.fixture
def load() -> Any:
    """A function: a task's name and its metadata -> the harness's task."""
    tasks = pytest.importorskip("lm_eval.tasks", reason=MISSING)

    def task(name: str, **metadata: Any) -> Any:
        manager = tasks.TaskManager(include_path=TASKS, include_defaults=False, metadata=metadata)
        return manager.load(name)["tasks"][name]

    return task


def rendered(messages: Sequence[Mapping[str, str]], **_: Any) -> str:
    """Return a chat in full."""
    return json.dumps(list(messages))


def check_prompts(task: Any, options: PromptOptions, dataset: str, n: int = 30, *, chat: bool = False) -> None:
    """Compare the first requests of a task with the prompts and label words of the runner."""
    rows = pc.load_bucket_set(dataset, data_dir=options.data_dir)
    prompt = prompt_for([rows], options, load_pools(options))
    template = prompt.template
    words = dict(zip(template.label_names, template.words if chat else template.answers, strict=True))
    task.set_config("num_fewshot", options.shots or 0)
    more = {"fewshot_as_multiturn": True, "chat_template": rendered, "tokenizer_name": "none"}
    task.build_all_requests(limit=n, apply_chat_template=chat, **(more if chat else {}))
    write = (lambda task, row: rendered(prompt.messages(task, row))) if chat else prompt.text
    mine = [write(rows.task, row) for row in rows.table.slice(0, n).to_pylist()]
    assert [one.args[0] for one in task.instances] == [text for text in mine for _ in words]
    assert sorted(one.args[1] for one in task.instances[: len(words)]) == sorted(words.values())
    for one, label in zip(task.instances[:: len(words)], rows.table["label"].to_pylist(), strict=False):
        gold = task.doc_to_choice(one.doc)[task.doc_to_target(one.doc)]
        assert words.get(rows.label_names[label], gold).strip() == gold


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
@pytest.mark.parametrize("options", [{}, {"shots": 5, **SHOTS}], ids=["zero-shot", "5 shots"])
def test_the_prompts_are_the_runners(load, options, chat):
    options = PromptOptions(**options)
    check_prompts(load("paraconsist_sample"), options, "sample:defeasible_nli", chat=chat)


def test_prompts_that_change_raise_the_version_of_every_task(load):
    """The chats of version 1 ended their system message with an empty line, and the version stayed."""
    listed = [re.search(r"^metadata: \{version: (\d+)", file.read_text(), re.M)[1] for file in TASKS.glob("*.yaml")]
    task, more = load("paraconsist_sample"), {"chat_template": rendered, "tokenizer_name": "none"}
    asked = []
    for chat in (False, True):
        task.build_all_requests(limit=4, apply_chat_template=chat, **(more if chat else {}))
        asked += [one.args for one in task.instances]
    digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    assert ({*listed}, digest[:16]) == ({"2"}, "04e1eaa638b353ec")


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
def test_the_prompts_of_questions_are_the_runners(load, tmp_path, chat):
    """With a system message and without one."""
    file = tmp_path / "shop.yaml"
    listed = [{"wordings": ["Open?", "Closed?"], "system": "Be brief."}, {"question": "Why?\n", "context": "A shop."}]
    file.write_text(json.dumps({"questions": listed}))
    task, rows, prompt = load("paraconsist_questions", dataset=str(file)), pc.load_bucket_set(file), QuestionPrompt()
    task.build_all_requests(apply_chat_template=chat, chat_template=rendered, tokenizer_name="none")
    write = (lambda task, row: rendered(prompt.messages(task, row))) if chat else prompt.text
    expected = [write(rows.task, row) for row in rows.table.to_pylist()]
    assert [one.args[0] for one in task.instances] == expected


def test_a_file_whose_labels_stand_in_another_order(load, tmp_path):
    """Its first label is the template's second: the words are in the set's order."""
    texts = {"premise": ["A dog"] * 4, "hypothesis": ["wet", "It is wet.", "dry", "Dry?"], "bucket_id": list("aabb")}
    table = pa.table({**texts, "role": ["original", "paraphrase"] * 2, "label": [1, 1, 0, 0]})
    labels = b'{"info": {"features": {"label": {"names": ["not_entailed", "entailed"], "_type": "ClassLabel"}}}}'
    file = tmp_path / "mine.parquet"
    pq.write_table(table.replace_schema_metadata({b"huggingface": labels}), file)
    task = load("paraconsist", dataset=str(file), pretrained="a model's argument")
    assert [(task.doc_to_choice(doc), task.doc_to_target(doc)) for doc in task.task_docs][1:3] == [
        (["no", "yes"], 1),
        (["no", "yes"], 0),
    ]
    check_prompts(task, PromptOptions(), str(file), n=4)


@pytest.mark.real_data
@pytest.mark.parametrize(("task", "dataset"), [("delta_snli", "delta_snli"), ("alpha_nli", "alpha_nli")])
def test_the_papers_prompts(load, data_folder, task, dataset):
    """With 36 examples, S24's: 12 from each of three test sets, or 36 of one."""
    folder = str(data_folder)
    pools = [f"paranlu:delta_{name}_test" for name in ("snli", "atomic", "social")]
    options = PromptOptions(None, 36, pools if task == "delta_snli" else ["paranlu:alpha_nli_test"], data_dir=folder)
    check_prompts(load(f"paraconsist_{task}", data_dir=folder), options, f"paranlu:{dataset}")


@pytest.mark.parametrize(
    ("metadata", "word"),
    [
        ({}, "`dataset` must name a bucket set"),
        ({"dataset": "sample:nothing"}, "nothing"),
        ({"dataset": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"dataset": "sample:defeasible_nli", "template": "topic"}, "`template`"),
        ({"dataset": "{folder}/rules.jsonl", "task": "sentiment"}, "one right label a row at row 1"),
        ({"dataset": "sample:defeasible_nli", "template": "{folder}/mine.yaml"}, "answer_prefix"),
    ],
)
def test_refusals(load, tmp_path, metadata, word):
    line = '{"bucket_id": "%s", "text": "%s", "label": %d, "allowed_labels": [0, 1], "role": "paraphrase"}\n'
    (tmp_path / "rules.jsonl").write_text(line % ("a", "one", 0) + line % ("a", "two", -1))
    question = (
        'question: "{premise} {hypothesis} {update}"\nlabels: {weakener: W, strengthener: S}\nanswer_prefix: "\\n"'
    )
    (tmp_path / "mine.yaml").write_text(question)
    with pytest.raises(InputError, match=word):
        load("paraconsist", **{name: value.replace("{folder}", str(tmp_path)) for name, value in metadata.items()})


def test_the_path(command, monkeypatch):
    assert command("lm-eval", "nonsense")[0] == 2
    monkeypatch.setattr("paraconsist.cli.build.find_spec", lambda name: None)
    assert "pip install 'paraconsist[integrations]'" in command.refused("lm-eval", "path")
    monkeypatch.setattr("paraconsist.cli.build.find_spec", lambda name: name)
    assert (Path(command("lm-eval", "path")[1].strip()) / "paraconsist_sample.yaml").is_file()


@NEEDED
def test_no_consistency_stops_nothing():
    """An original alone, as --limit leaves it, and rows that are no paraphrases."""
    from paraconsist.plugins.lm_eval import low, value

    with pytest.warns(UserWarning, match="paraphrase"):
        assert math.isnan(value([["a", "original", "a", "1.0"]]))
    assert math.isnan(low([["a", "original", "a", "1.0"], ["a", "swap", "a", "0.0"]] * 2))


@NEEDED
def test_the_consistency_of_wordings_beside_negations():
    from paraconsist.plugins.lm_eval import value

    wordings = [[bucket, "paraphrase", bucket, f"{right}.0"] for bucket, right in (*["a1"] * 2, "b1", "b0")]
    assert value([*wordings, ["a", "original", "a", "1.0"], ["a", "negation", "a", "0.0"]]) == value(wordings) == 0.5


@NEEDED
def test_the_most_probable_choice_is_the_answer():
    from paraconsist.plugins.lm_eval import judge

    scores, doc = [(-3.0, False), (-1.0, False), (-2.0, True)], {"bucket_id": "b", "role": "original", "group_id": "g"}
    for label, right in ((0, 0.0), (1, 1.0), (2, 0.0)):
        row = ["b", "original", "g", str(right)]
        assert judge({**doc, "label": label}, scores) == {"acc": right, "pc": row, "pc_low": row, "pc_high": row}


@NEEDED
@pytest.mark.parametrize(
    ("is_chat", "bos"),
    [(False, ""), (True, ""), (True, ",add_bos_token=False")],
    ids=["plain", "chat", "chat that does not begin with the token"],
)
@pytest.mark.parametrize("is_free", [False, True], ids=["labels", "free text"])
def test_a_model_gives_the_answers_that_it_gives_the_runner(tmp_path, command, is_chat, is_free, bos):
    """Probabilities to rounding: the harness computes them in batches of its own, and stores log-likelihoods."""
    model, file = save_language_model(tmp_path / "model", chat=is_chat), tmp_path / "shop.yaml"
    if bos:
        template = model / "chat_template.jinja"
        template.write_text(template.read_text().replace("<s>", ""))
    asked = [{"wordings": [f"{word} open?", f"Open {word}?"], "system": "Be brief."} for word in ("Now", "Today")]
    file.write_text(json.dumps({"questions": asked}))
    run = ["--model", model, "--dataset", file if is_free else "sample:defeasible_nli", "--limit", 7]
    run += ["--chat"] * (is_chat and not is_free) + ["--max-new-tokens", 5] * is_free
    task = "paraconsist_questions" if is_free else "paraconsist_sample"
    harness = ["--metadata", json.dumps({"dataset": str(file)}), "--gen_kwargs", "max_gen_toks=5"] * is_free
    harness += ["--apply_chat_template"] * is_chat
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # answers are cut
        command.out("run", *run, "--dtype", "float32", "--output", tmp_path / "run")
    lm_eval("--model", "hf", "--model_args", f"pretrained={model},dtype=float32{bos}", "--include_path", TASKS,
            "--tasks", task, "--limit", 7, "--device", "cpu", "--batch_size", 3, *harness, "--log_samples",
            "--output_path", tmp_path / "harness")  # fmt: skip
    (log,) = tmp_path.glob("harness/**/samples_*.jsonl")
    samples = {row["doc"]["example_id"]: row["resps"] for row in map(json.loads, log.read_text().splitlines())}
    (predictions,) = tmp_path.glob("run/predictions/*.parquet")
    rows = {row["example_id"]: row for row in pq.read_table(predictions).to_pylist()}
    both = rows.keys() & samples.keys()
    assert len(both) >= 4
    for key in both:
        if is_free:
            assert samples[key] == [[rows[key]["raw_output"]]]
        else:
            scores = np.array([float(choice[0][0]) for choice in samples[key]])
            assert softmax(scores) == pytest.approx(rows[key]["probabilities"], abs=1e-5)


@pytest.mark.slow
@NEEDED
def test_the_commands_of_the_document(command, tmp_path, monkeypatch, capsys):
    """On two buckets; among them the recipe for the noise floor."""
    save_language_model(tmp_path / "model", "gpt2", seed=4)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    path = command("lm-eval", "path")[1].strip()
    printed = []
    for line in "".join(block for kind, block in blocks if kind == "sh").replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line.replace("$(paraconsist lm-eval path)", path).replace("ORG/MODEL", "model"))
        if program == "lm_eval":
            lm_eval(*words, "--limit", 13, "--device", "cpu")
            printed.append(capsys.readouterr().out)
        else:
            printed.append(command.out(*words))
    harness, scored, *_, compared = printed
    assert re.search(r"\|pc +\|↑", harness)
    assert "sample:defeasible_nli" in scored
    assert "+0.0" in compared
    (snippet,) = (block for kind, block in blocks if kind == "py")
    exec(snippet, {})
    assert "decoding" in capsys.readouterr().out
