"""The inspect_ai extension: prompts of the runner's, answers read as it reads them, metrics that `score` gives too."""

import asyncio
import json
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.commands import write
from helpers.inspect_evaluations import inspect_eval, plugin
from helpers.logs import entries
from helpers.scripts import ROOT

import paraconsist as pc
from paraconsist.data.logs.reading import read_logs
from paraconsist.data.prompts import PromptTemplate, parse_answer
from paraconsist.models.endpoint.settings import AskOptions
from paraconsist.running.by_name import load_pools, prompt_for
from paraconsist.running.options import PromptOptions

SET, POOL = "sample:defeasible_nli", "sample:defeasible_nli_train"
SAID = ("W", " W.", "S", "strengthener", "weakener", "hm", "W or S", "", "The answer is S", "s")
METRICS = ("pc", "pc_low", "pc_high", "accuracy")


def said(prompt: str) -> str:
    """A model that knows nothing and is not always understood."""
    return SAID[sum(map(ord, prompt[-80:])) % len(SAID)]


def values_of(log: Any) -> dict[str, float]:
    assert log.status == "success", log.error and log.error.message
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def headline(scores: Any) -> list[float]:
    (result,) = scores.to_dict().values()
    keys = result["measures"]["paraphrastic_consistency"]
    name = "paraphrastic_consistency_unbiased"
    return [keys[name], *keys["confidence_interval"][name]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """The log of the sample set's task, found by its name, and its folder."""
    folder = tmp_path_factory.mktemp("logs")
    return inspect_eval("paraconsist/sample", said, folder), folder


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("shots", [0, 4])
def test_the_prompts_are_the_runners(shots, chat):
    rows, options = pc.load_bucket_set(SET), PromptOptions(None, shots or None, (POOL,) if shots else ())
    prompt = prompt_for([rows], options, load_pools(options))
    for row, asked in zip(rows.table.to_pylist()[:30], plugin().sample(shots=shots, chat=chat).dataset, strict=False):
        if chat:
            found = [{"role": one.role, "content": one.text} for one in asked.input]
            assert found == list(prompt.messages(rows.task, row))
        else:
            assert asked.input == prompt.text(rows.task, row)
        assert asked.id == row["example_id"]
        assert asked.target == [rows.label_names[row["label"]]]


def test_the_model_is_asked_as_the_runner_asks():
    asked = plugin().sample().config
    assert (asked.max_tokens, asked.temperature) == (AskOptions().longest_answer, AskOptions.temperature)
    assert asked.stop_seqs is None


def test_answers_are_read_as_the_runner_reads_them(sample):
    log, folder = sample
    rows, template = pc.load_bucket_set(SET), prompt_for([pc.load_bucket_set(SET)], PromptOptions(), []).template
    read = [parse_answer(said(one.input), template.answers, template.label_names) for one in log.samples]
    names = [None if place is None else template.label_names[place] for place in read]
    assert [one.scores["label_word"].answer for one in log.samples] == names
    assert None in names
    (found,) = read_logs([folder]).values()
    numbers = found.table["prediction"].to_pylist()
    assert [None if number in (None, -1) else found.label_names[number] for number in numbers] == names
    for name in ("example_id", "bucket_id", "group_id", "role", "input_id", "label", "theme"):
        assert found.table[name].to_pylist() == rows.table[name].to_pylist(), name
    assert found.metadata["set_fingerprint"] == rows.fingerprint


@pytest.mark.faults
@pytest.mark.parametrize("text", ["I think W", "W", "W\nI think S", "Weak", "W.\n###", "I think W\n###", ""])
@pytest.mark.parametrize("cut", [True, False])
def test_an_answer_that_the_limit_of_tokens_cut_is_read_as_the_runner_reads_it(text, cut):
    """A label in the middle of it counted, although "I think W is wrong" may have been on its way."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target

    words = {"weakener": "W", "strengthener": "S", "weak": "Weak", "weaker": "Weaker"}
    template = PromptTemplate("mine", "defeasible_nli", "{update}", words, stop="\n###")
    labels = [(word, name, name) for name, word in words.items()]
    output = ModelOutput.from_content("toy", text, stop_reason="max_tokens" if cut else "stop")
    score = plugin().label_word(labels, template.stop)(SimpleNamespace(output=output, epoch=1), Target(["weakener"]))
    label = template.read(text, cut=cut).label
    assert asyncio.run(score).answer == (None if label is None else template.label_names[label])


def test_its_metrics_are_those_of_score_without_an_option(sample):
    log, folder = sample
    values, scores = values_of(log), pc.score(folder)
    assert tuple(values) == METRICS
    assert [values[name] for name in METRICS[:3]] == pytest.approx(headline(scores), abs=1e-12)
    rows = pc.load_bucket_set(SET).table
    right = [one.scores["label_word"].value == "C" for one in log.samples]
    direct = pc.paraphrastic_consistency(
        right, [True] * len(right), rows["bucket_id"], roles=rows["role"], groups=rows["group_id"]
    ).to_dict()
    assert values["pc"] == pytest.approx(direct["paraphrastic_consistency_unbiased"], abs=1e-12)
    assert values["accuracy"] == pytest.approx(sum(right) / len(right), abs=1e-12)
    (result,) = scores.to_dict().values()
    assert result["n_unparsed"] == sum(one.scores["label_word"].answer is None for one in log.samples) > 0


def test_epochs_are_resampled_together(tmp_path):
    turns = iter(range(10_000))
    log = inspect_eval(plugin().sample(), lambda prompt: "WS"[next(turns) % 3 == 0], tmp_path, epochs=2, limit=180)
    values = values_of(log)
    assert [values[name] for name in METRICS[:3]] == pytest.approx(headline(pc.score(tmp_path)), abs=1e-12)
    assert values["pc_low"] < values["pc"] < values["pc_high"]
    (found,) = read_logs([tmp_path]).values()
    rows = pc.load_bucket_set(SET).table[:180]
    for name in ("group_id", "role", "theme"):
        assert sorted(found.table[name].to_pylist()) == sorted(rows[name].to_pylist() * 2), name
    assert len(set(found.table["bucket_id"].to_pylist())) == 2 * len(set(rows["bucket_id"].to_pylist()))
    assert "set_fingerprint" not in found.metadata  # a part of the set is not the set


@pytest.mark.parametrize("role", ["paraphrase", "swap"])
def test_several_right_labels_and_sets_without_paraphrases(tmp_path, role):
    both, first = {"label": -1, "allowed_labels": [0, 1]}, {"label": 0, "allowed_labels": [0]}
    rows = [{"text": f"Film {i}.", "bucket_id": f"b{i // 3}", "role": role} for i in range(36)]
    rows = [row | (first if i // 3 % 2 else both) for i, row in enumerate(rows)]
    task = plugin().bucket_set(str(write(tmp_path / "rules.jsonl", rows)), task="sentiment")
    names = task.metadata["paraconsist"]["label_names"]
    assert [one.target for one in task.dataset][2:4] == [names, names[:1]]

    def second_below_ten(prompt):
        return names[int(re.findall(r"Film (\d+)", prompt)[-1]) < 10]

    values = values_of(inspect_eval(task, second_below_ten, tmp_path / "logs"))
    # films 3 to 5 and 9 have the second label and may not; of the problem of 9, 10 and 11 two of three are right
    assert values["accuracy"] == pytest.approx(32 / 36, abs=1e-12)
    if role == "swap":
        assert math.isnan(values["pc"])
    else:  # `score` calls no answer to several right labels right: those problems are consistent, as all others but one
        assert values["pc"] == pytest.approx((11 + 1 / 3) / 12, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dataset": "sample:nothing"}, "nothing"),
        ({"dataset": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"dataset": SET, "template": "topic"}, "`template`"),
    ],
)
def test_refusals_are_one_sentence(options, sentence):
    from inspect_ai._util.error import PrerequisiteError  # inspect_ai shows its message alone, and has no public one

    with pytest.raises(PrerequisiteError) as refused:
        plugin().bucket_set(**options)
    assert sentence in str(refused.value.message)
    assert "\n" not in str(refused.value.message)


@pytest.mark.parametrize("about", [None, "a word", {"set": 3}, {"set": "mine", "label_names": 7, "strata": [["x"]]}])
def test_a_log_that_says_odd_things_of_its_set_is_read_as_any(sample, tmp_path, about):
    (file,) = sample[1].glob("*.eval")
    found = entries(file)
    header = found["header.json"]
    header["eval"]["metadata"] = {"paraconsist": about}
    told = [content for name, content in found.items() if name.startswith("samples/")]
    (tmp_path / "log.json").write_text(json.dumps(header | {"samples": told}))
    (result,) = pc.score(tmp_path / "log.json").to_dict().values()
    assert result["measures"]["paraphrastic_consistency"]["n_examples"] > 300


def test_the_commands_of_the_document(command, tmp_path, monkeypatch):
    """With inspect's command in this process, on a few samples of a mock model."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "inspect.md").read_text("utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)).replace("\\\n", " ").splitlines()
    asked = [shlex.split(line) for line in lines if line.startswith("inspect eval")]
    assert len(asked) >= 2
    for words in asked:
        task, given = words[2], dict(pair.split("=", 1) for pair in re.findall(r"-T (\S+)", " ".join(words)))
        if "paranlu" in task:
            continue  # downloads; the parameters are those of the others
        log_dir = words[words.index("--log-dir") + 1] if "--log-dir" in words else "logs"
        arguments = {name: value == "true" if value in ("true", "false") else value for name, value in given.items()}
        inspect_eval(task, said, tmp_path / log_dir, limit=40, task_args=arguments)
    for words in (shlex.split(line) for line in lines if line.startswith("paraconsist")):
        assert SET in command.out(*words[1:])
