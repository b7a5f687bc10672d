"""Language models through the whole command: one process and two, killed and resumed, written answers, refusals."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.commands import Command, in_process, words
from helpers.endpoint import predictions, refused
from helpers.language_models import save_language_model
from helpers.models import WORDS, tiny_encoder
from helpers.processes import FAULTY, launch, shards, write_set

from paraconsist.data.predictions import read_predictions
from paraconsist.data.prompts import parse_answer
from paraconsist.models.prompted import CausalScorer


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causal")
    save_language_model(folder / "causal", "llama", chat=True)
    save_language_model(folder / "seq2seq", "t5")
    write_set(folder / "set.jsonl", 60)
    write_set(folder / "solved.jsonl", 40, seed=1)
    return folder


def arguments(place: Path, output: Path, **options: object) -> list[str]:
    given = {"model": place / "causal", "dataset": place / "set.jsonl", "output": output, "n_resamples": 20}
    return words("run", **given | options)


def few_shot(place: Path, output: Path, **options: object) -> list[str]:
    return arguments(place, output, shots=4, examples=place / "solved.jsonl", batch_tokens=150, **options)


#: In this process, which is quicker; the command shows its warnings.
within = Command(lambda given: in_process([*given, "--device", "cpu"], warn="default"))


@pytest.fixture(scope="module")
def undisturbed(place):
    launch(few_shot(place, place / "one"))
    return predictions(place / "one")


def assert_same(found, expected) -> None:
    assert found.table["example_id"].equals(expected.table["example_id"])
    assert found.table["prediction"].equals(expected.table["prediction"])
    ours = np.array(found.table["probabilities"].to_pylist())
    np.testing.assert_allclose(ours, np.array(expected.table["probabilities"].to_pylist()), rtol=0, atol=1e-5)
    assert found.metadata["model"]["prompt_hash"] == expected.metadata["model"]["prompt_hash"]


@pytest.mark.slow
def test_probabilities_are_those_of_the_label_words_after_each_prompt(place, undisturbed):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.running.by_name import load_pools, make_prompt
    from paraconsist.running.options import PromptOptions

    rows = load_bucket_set(str(place / "set.jsonl"))
    options = PromptOptions(shots=4, examples=[str(place / "solved.jsonl")])
    asked = set(rows.table["input_id"].to_pylist())
    prompt = make_prompt(options, load_pools(options), rows.task, rows.label_names, asked)
    module = AutoModelForCausalLM.from_pretrained(place / "causal").eval()
    tokenizer = AutoTokenizer.from_pretrained(place / "causal")
    for row, found, prediction in zip(
        rows.table.to_pylist()[:12],
        undisturbed.table["probabilities"].to_pylist(),
        undisturbed.table["prediction"].to_pylist(),
        strict=False,
    ):
        totals = []
        ids = tokenizer(prompt.text(rows.task, row))["input_ids"]
        for answer in prompt.template.answers:
            word = tokenizer(answer, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logits = module(torch.tensor([[*ids, *word]])).logits[0].log_softmax(-1)
            totals.append(sum(float(logits[len(ids) - 1 + i, token]) for i, token in enumerate(word)))
        expected = torch.softmax(torch.tensor(totals), -1).tolist()
        assert found == pytest.approx(expected, abs=1e-5)
        assert prediction == int(np.argmax(expected))


@pytest.mark.slow
def test_the_file_says_how_the_model_was_asked(undisturbed):
    said = undisturbed.metadata["model"]
    assert said["kind"] == "causal"
    assert said["template"] == "s24-delta"
    assert (said["shots"], said["scoring"], said["normalize"]) == ("4", "label", "none")
    assert re.fullmatch("[0-9a-f]{16}", said["prompt_hash"])
    assert undisturbed.table["raw_output"].null_count == 60


@pytest.mark.slow
def test_killed_in_two_processes_and_resumed_in_one(place, undisturbed, tmp_path):
    done = launch(["mid_line", "2", "1", *few_shot(place, tmp_path)], script=FAULTY, processes=2, check=False)
    assert done.returncode != 0
    assert sum(shards(tmp_path).values()) > 0
    within.done(few_shot(place, tmp_path))
    assert_same(predictions(tmp_path), undisturbed)
    # a line that the kill cut stays in the shard of a process that is no more
    whole = [p.read_text().rpartition("\n")[0].splitlines() for p in tmp_path.glob("store/*/rank-*.jsonl")]
    lines = [json.loads(line) for lines in whole for line in lines]
    assert len({line["input_id"] for line in lines}) == len(lines)


@pytest.mark.slow
def test_another_prompt_is_another_run(place, undisturbed):
    said = within.refused(few_shot(place, place / "one", example_seed=1))
    assert "holds a run with other settings of task defeasible_nli (prompt_hash: " in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "options"), [("chat_template.jinja", ["--chat"]), ("generation_config.json", ["--scoring", "generate"])]
)
def test_a_changed_file_beside_the_weights_is_another_model(place, tmp_path, file, options):
    model = shutil.copytree(place / "causal", tmp_path / "model")
    command = [*arguments(place, tmp_path / "run", model=model, limit=10), *options]
    within.done(command)
    assert "were there already" in within.done(command)
    (model / file).write_text((model / file).read_text() + "\n")
    assert f"(prompt_files: '{file} " in within.refused(command)
    assert "were there already" not in within.done(command, "--overwrite")


@pytest.mark.faults
def test_a_chat_template_with_todays_date_has_the_same_prompts_on_every_day(place, tmp_path, monkeypatch):
    model = shutil.copytree(place / "causal", tmp_path / "model")
    dated = "{{ strftime_now('%d %b %Y') }}{% if not thinking %}<s>{% endif %}" + (
        model / "chat_template.jinja"
    ).read_text(encoding="utf-8")
    (model / "chat_template.jinja").write_text(dated, encoding="utf-8")
    seen: set[str] = set()
    encode = CausalScorer.encode
    monkeypatch.setattr(CausalScorer, "encode", lambda *row: [seen.add(encode(*row)[0].text), encode(*row)][1])
    command = [*arguments(place, tmp_path / "run", model=model, limit=10), "--chat", "--template-argument"]
    within.done(command, "thinking=false")
    assert all(text.startswith("26 Jul 2024<s>") for text in seen)
    identity = predictions(tmp_path / "run").metadata["model"]
    assert identity["template_date"] == "2024-07-26"
    assert identity["template_arguments"] == '{"thinking": false}'
    assert "a run with other settings" in within.refused(command, "thinking=true")
    seen.clear()
    within.done(command, "thinking=true", "--overwrite")
    assert not any(text.startswith("26 Jul 2024<s>user") for text in seen)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--template-argument", "a=1"], "--chat"),
        (["--chat", "--template-argument", "tokenize=true"], "none of"),
        (["--chat", "--template-argument", "a=1", "--endpoint", "http://localhost:1/v1"], "chat_template_kwargs"),
    ],
)
def test_template_arguments_without_a_template_are_refused(place, tmp_path, options, word):
    said = refused([*arguments(place, tmp_path / "run"), *options])
    assert "--chat-template-argument" in said
    assert word in said


@pytest.mark.slow
def test_written_answers_are_kept_and_unread_ones_are_null(place, tmp_path):
    template = tmp_path / "t.yaml"
    # the random model writes anything: single letters are found in some answers, and in others not
    template.write_text('question: "{premise} {hypothesis} {update}"\nlabels: {weakener: "e", strengthener: "s"}\n')
    asked = arguments(place, tmp_path / "run", scoring="generate", template=template, max_new_tokens=6)
    said = within.done(asked)
    table = predictions(tmp_path / "run").table
    outputs, found = table["raw_output"].to_pylist(), table["prediction"].to_pylist()
    assert found == [parse_answer(text, ("e", "s")) for text in outputs]
    assert None in found
    assert "probabilities" not in table.column_names
    nothing = all(answer is None for answer in found)
    assert ("no answer could be read" if nothing else "are unparsed and count as wrong") in said
    assert "were there already" in within.done(asked)
    assert predictions(tmp_path / "run").table.equals(table)


@pytest.mark.slow
def test_a_sequence_to_sequence_model_and_a_template_of_ones_own(place, tmp_path):
    template = tmp_path / "t.yaml"
    template.write_text('question: "{premise} {hypothesis} {update}?"\nlabels: {weakener: no, strengthener: yes}\n')
    within.done(arguments(place, tmp_path / "run", model=place / "seq2seq", template=template, normalize="tokens"))
    found = predictions(tmp_path / "run")
    assert found.metadata["model"]["kind"] == "seq2seq"
    assert found.metadata["model"]["template"] == "t"
    np.testing.assert_allclose(np.array(found.table["probabilities"].to_pylist()).sum(1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "gpt"}, "run: `--kind` must be one of classifier, causal, seq2seq; got 'gpt'"),
        ({"kind": "classifier"}, "run: `--model` must be a sequence-classification or multiple-choice model"),
        ({"scoring": "guess"}, "run: `--scoring` must be one of label, generate; got 'guess'"),
        ({"normalize": "bytes"}, "run: `--normalize` must be one of none, tokens, characters"),
        ({"max-new-tokens": 3}, "run: `--max-new-tokens` must be given only with `--scoring` generate"),
        ({"shots": 3}, "run: `--examples` must name the source of 3 examples"),
        ({"template": "none-such"}, "run: `--template` must be a template for task defeasible_nli (s24-delta)"),
        ({"max-length": 100}, "run: `--shots` must make prompts of at most 100 tokens"),
    ],
)
def test_refusals_are_one_line(place, tmp_path, options, message):
    assert f"error: {message}" in within.refused(arguments(place, tmp_path, **options))


def test_a_classifier_takes_no_prompt(place, tmp_path):
    said = within.refused(few_shot(place, tmp_path / "run", model=tiny_encoder(tmp_path / "model")))
    assert "run: `--shots` must be given only with causal and sequence-to-sequence models; got 4" in said


TASKS = {
    "defeasible_nli": (("premise", "hypothesis", "update"), ("weakener", "strengthener")),
    "nli": (("premise", "hypothesis"), ("entailment", "neutral", "contradiction")),
    "paraphrase_identification": (("sentence_1", "sentence_2"), ("not_paraphrase", "paraphrase")),
    "yes_no_qa": (("passage", "question"), ("no", "yes")),
}


def test_a_model_that_is_asked_sets_of_four_tasks_is_loaded_and_hashed_once(place, tmp_path, monkeypatch):
    from paraconsist.models import loading, pretrained
    from paraconsist.running import loop

    rng, counts, models = np.random.default_rng(0), {"load_language_model": 0, "_identity": 0}, []

    def counted(name, original):
        def call(*args, **options):
            counts[name] += 1
            return original(*args, **options)

        return call

    for name, module in zip(counts, (pretrained, loading), strict=True):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    compute = loop.compute
    monkeypatch.setattr(loop, "compute", lambda model, *args: models.append(model) or compute(model, *args))
    asked = arguments(place, tmp_path / "run", scoring="label")[:-2]
    place_of_set = asked.index("--dataset")
    del asked[place_of_set : place_of_set + 2]
    for task, (columns, labels) in TASKS.items():
        rows = [{c: " ".join(rng.choice(WORDS, 4)) for c in columns} for _ in range(4)]
        rows = [
            {**row, "bucket_id": i // 2, "label": labels[i // 2], "role": "paraphrase"} for i, row in enumerate(rows)
        ]
        (tmp_path / f"{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        asked += ["--dataset", str(tmp_path / f"{task}.jsonl")]
    within.done(asked, "--n-resamples", 20)
    assert len({model.identity["prompt_hash"] for model in models}) == 4  # each task has a prompt of its own
    assert len({id(model.module) for model in models}) == 1
    assert counts == {"load_language_model": 1, "_identity": 1}


@pytest.mark.slow
def test_a_pack_that_does_not_fit_in_memory_is_halved(place, undisturbed, tmp_path, monkeypatch):
    from paraconsist.models.causal_engine import CausalEngine

    packed, sizes = CausalEngine._packed, []

    def small_memory(self, rows, windows):
        sizes.append(len(rows))
        if len(rows) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return packed(self, rows, windows)

    monkeypatch.setattr(CausalEngine, "_packed", small_memory)
    within.done(few_shot(place, tmp_path))
    assert max(sizes) > 2
    assert_same(predictions(tmp_path), undisturbed)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "stem"), [("paranlu:delta_snli", "paranlu-delta_snli"), ("parte:rte", "parte-rte")])
def test_results_for_the_papers_sets(place, tmp_path, data_folder, name, stem):
    within.done(arguments(place, tmp_path, dataset=name, data_dir=data_folder, limit=40))
    table = read_predictions(tmp_path / "predictions" / f"{stem}.parquet").table
    assert 20 < table.num_rows <= 40
    assert table["prediction"].null_count == 0
    assert json.loads((tmp_path / "results.json").read_text())
