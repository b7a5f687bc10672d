"""Fine-tuning on `transformers.Trainer`: the model that a training starts from, and the training itself.

A training starts from a new model of this package, from a bare encoder, or from a classifier to train further.
"""

from __future__ import annotations

import json
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch
import transformers
from safetensors import SafetensorError, safe_open
from torch.utils.data import Dataset
from transformers.trainer_callback import PrinterCallback

from paraconsist.data.tasks import Task
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, is_main, locked, sync
from paraconsist.models import pretrained, word_models
from paraconsist.models.batching import check_device
from paraconsist.models.classifier import Classifier, HeadClassifier, Inputs, Prepared, longest_input, warn_of_cut
from paraconsist.models.labels import resolve_label_map
from paraconsist.models.loading import load_model
from paraconsist.models.progress import ProgressBar
from paraconsist.models.training.data import Examples, Say, Source, draw, encode_examples, find_task, open_sources
from paraconsist.models.training.options import TrainingFolder, TrainingOptions


def _warn_only(line: str) -> None:
    if line.startswith("warning: "):
        warnings.warn(line.removeprefix("warning: "), UserWarning, stacklevel=3)


def train(options: TrainingOptions, *, say: Say = _warn_only) -> Path:
    """Train a classifier and save it as a folder that `load_model` loads; return the folder, `options.output`.

    It holds ``config.json``, ``model.safetensors``, the tokenizer or vocabulary, and ``training.json`` with options,
    versions, hashes of the data and the accuracies; while a training runs (or was interrupted) also ``checkpoints/``.
    `say` takes lines for the user (columns used, inputs cut, accuracy after each epoch); by default only those that
    begin with ``warning:`` are shown, as Python warnings. InputError for rows, models, options and output folders that
    cannot be used.
    """
    started = time.time()
    here = is_main()
    say = say if here else (lambda line: None)
    source, eval_source = open_sources(options)
    if options.best_model and eval_source is None:
        name = "best_model" if options.patience is None else "patience"
        must, remedy = "come with evaluation rows", "Give `eval_file`."
        raise input_error("train", name, must, got=getattr(options, name), remedy=remedy)
    task = find_task(source, options.task)
    label_names = options.label_names or source.label_names or task.label_names
    multiple_choice = _multiple_choice(options, source, task)

    def encoded(source: Source) -> Examples:
        return encode_examples(source, task, options, label_names, multiple_choice=multiple_choice, say=say)

    rows = draw(encoded(source), options, label_names)
    eval_rows = None if eval_source is None else encoded(eval_source)
    _check_labels(rows, label_names, source.name, say)
    splits = {"train": (source, rows)}
    if eval_source is not None and eval_rows is not None:
        splits["eval"] = eval_source, eval_rows
    data = _describe_data(splits, label_names, say)
    folder = TrainingFolder(options.output)
    more = {} if options.save_steps is None else {"save_steps": options.save_steps}
    more |= {"ddp_find_unused_parameters": False} if options.model in pretrained.BASELINES else {}
    arguments = training_arguments(
        options,
        folder.checkpoints,
        per_device_eval_batch_size=max(64, options.batch_size),
        eval_strategy="no" if eval_rows is None else "epoch",
        load_best_model_at_end=options.best_model,
        metric_for_best_model=options.best_by if options.best_model else None,
        save_total_limit=2,
        logging_strategy="epoch",
        dataloader_pin_memory=torch.cuda.is_available() and options.device != "cpu",
        save_strategy="epoch" if options.save_steps is None else "steps",
        **more,
    )
    with locked(folder.path, "train", "output") if here else nullcontext():
        state = folder.check(options, data)
        if state == "finished":
            say(f"{options.output} already holds this training, finished.")
            if here:
                shutil.rmtree(folder.checkpoints, ignore_errors=True)
            return options.output
        with arguments.main_process_first():  # no process writes before all have checked the folder
            pass
        transformers.set_seed(options.seed)
        classifier = starting_model(options, task, label_names, rows.inputs, multiple_choice=multiple_choice, say=say)
        order = [classifier.label_names.index(name) for name in label_names]
        train_rows = _prepared(classifier, rows, order, say)
        eval_dataset = None if eval_rows is None else _prepared(classifier, eval_rows, order, say)
        how = {"compute_metrics": _accuracy, "callbacks": [_Watch(options, say)], "eval_dataset": eval_dataset}
        trainer = make_trainer(classifier, arguments, train_rows, **how)
        if here:  # what is refused above leaves no folder
            folder.begin(options, data)
        resumed = None
        if state == "interrupted":
            steps = {saved.name.rpartition("-")[2]: saved for saved in folder.checkpoints.glob("checkpoint-*")}
            newest_first = sorted(filter(str.isdigit, steps), key=int, reverse=True)
            resumed = next((steps[step] for step in newest_first if _is_whole(steps[step], int(step))), None)
        if resumed is not None:
            say(f"Resuming from {resumed.name}.")
        with pretrained.quiet():
            trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
            trainer.save_model(str(folder.saved))
        if here:
            if isinstance(classifier, word_models.WordClassifier):
                classifier.vocabulary.save(folder.saved)
            folder.take_saved()
            metrics = _metrics(trainer, eval_rows)
            folder.finish(metrics, seconds=time.time() - started, n_processes=arguments.world_size)
            shutil.rmtree(folder.checkpoints, ignore_errors=True)
    return options.output


def train_seeds(options: TrainingOptions, seeds: Sequence[int], *, say: Say = _warn_only) -> list[Path]:
    """Train once for each seed, into ``output/seed-<seed>``; return these folders, in the order of the seeds.

    Seeds change initial weights, order and dropout, never the rows; the seed in the options is ignored. With `resume`,
    finished seeds stay unchanged and an interrupted one is resumed. InputError for negative or repeated seeds, for a
    folder that holds a single training, and as for `train`.
    """
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise input_error("train", "seeds", "be numbers from 0 on, each once", got=list(seeds))
    if (options.output / "training.json").exists():
        must = "not hold a single training when there are several seeds"
        raise input_error("train", "output", must, got=str(options.output), remedy="Name another folder.")
    folders = []
    for seed in seeds:
        if is_main():
            say(f"Seed {seed}:")
        folders.append(train(replace(options, seed=seed, output=options.output / f"seed-{seed}"), say=say))
    return folders


class TrainingRows(Dataset[Json]):
    """Prepared rows with labels in the model's own order; `input_ids` serves to group by length."""

    def __init__(self, prepared: Sequence[Prepared], labels: Sequence[int]) -> None:
        self._prepared, self._labels = prepared, labels

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, i: int) -> Json:
        row = self._prepared[i]
        return {"input_ids": range(row.width), "prepared": row, "labels": self._labels[i]}


class _Watch(transformers.TrainerCallback):  # type: ignore[misc]
    """Shows a bar, and a line after each evaluation; syncs checkpoints; ends a training that does not improve.

    A checkpoint holds the losses of all steps before it. The history in it decides when to stop: transformers' own
    early stopping counts from zero in a resumed training, and would end it later than an uninterrupted one.
    """

    def __init__(self, options: TrainingOptions, say: Say) -> None:
        self._options, self._say = options, say

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._step, self._rows = 0, int(args.train_batch_size * args.gradient_accumulation_steps * args.world_size)
        visible = self._options.progress and state.is_world_process_zero
        self._bar = ProgressBar(state.max_steps * self._rows, "training", visible=visible).__enter__()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_log |= control.should_save
        self._bar.advance((state.global_step - self._step) * self._rows)
        self._step = state.global_step

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            sync(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Mapping[str, float] | None = None, **kwargs: Any
    ) -> None:
        if metrics:
            figures = f"{100 * metrics['eval_accuracy']:.1f} on the evaluation rows, loss {metrics['eval_loss']:.4f}"
            self._say(f"epoch {state.epoch:.0f}: accuracy {figures}")
        history, by = _history(state), self._options.best_by
        if self._options.patience is None or (waited := len(history) - 1 - _best(history, by)) < self._options.patience:
            return
        control.should_training_stop = True
        if state.global_step < state.max_steps:
            self._say(f"Stopped early: no better {by} in {waited} epoch{'s' if waited > 1 else ''}.")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._bar.__exit__()


def _history(state: Any) -> list[dict[str, float]]:
    return [entry for entry in state.log_history if "eval_accuracy" in entry]


def _best(history: Sequence[Mapping[str, float]], by: str) -> int:
    values = [entry[f"eval_{by}"] for entry in history]
    return values.index(max(values) if by == "accuracy" else min(values))


def _prepared(classifier: Classifier, examples: Examples, order: Sequence[int], say: Say) -> TrainingRows:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        prepared = classifier.prepare(examples.inputs)
        warn_of_cut(prepared, getattr(classifier, "max_length", None))
    for warning in caught:
        say(f"warning: {warning.message}")
    return TrainingRows(prepared, [order[label] for label in examples.labels])


def make_trainer(classifier: Classifier, arguments: Any, rows: TrainingRows, **more: Any) -> Any:
    """Return a Trainer of a classifier; `more` are further arguments of the Trainer."""

    def collate(items: Sequence[Json]) -> dict[str, torch.Tensor]:
        batch = classifier.collate([item["prepared"] for item in items])
        return {**batch, "labels": torch.tensor([item["labels"] for item in items])}

    trainer = transformers.Trainer(
        model=classifier.module,
        args=arguments,
        data_collator=collate,
        train_dataset=rows,
        processing_class=getattr(classifier, "tokenizer", None),
        **more,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _accuracy(evaluated: Any) -> dict[str, float]:
    scores = evaluated.predictions[0] if isinstance(evaluated.predictions, tuple) else evaluated.predictions
    return {"accuracy": float((scores.argmax(axis=-1) == evaluated.label_ids).mean())}


def training_arguments(options: TrainingOptions, folder: Path, **more: Any) -> Any:
    """Return the Trainer's arguments that every training has, and `more`.

    The rows of a step are divided among processes and devices: a training is the same on any of them.
    """
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        use_cpu=check_device("train", options.device) == "cpu",
        gradient_accumulation_steps=options.gradient_accumulation,
        num_train_epochs=options.epochs,
        warmup_steps=options.warmup,
        lr_scheduler_type=options.scheduler,
        data_seed=options.seed,
        train_sampling_strategy="group_by_length" if options.group_by_length else "random",
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=True,
        label_names=["labels"],
        **{name: getattr(options, name) for name in ("learning_rate", "weight_decay", "max_grad_norm", "bf16", "seed")},
        **more,
    )
    n = arguments.world_size * max(1, arguments.n_gpu)
    if options.batch_size % n:
        must, remedy = f"be a multiple of {n}, the number of processes or devices", "They share the rows of a step."
        raise input_error("train", "batch_size", must, got=options.batch_size, remedy=remedy)
    arguments.per_device_train_batch_size = options.batch_size // n
    return arguments


def _multiple_choice(options: TrainingOptions, source: Source, task: Any) -> bool:
    possible = bool(task.choices) and set(task.columns) <= set(source.columns)
    if options.head == "multiple_choice" and not task.choices:
        raise input_error("train", "head", f"be 'classification' for task {task.name}", got=options.head)
    return options.head == "multiple_choice" or (options.head == "auto" and possible and options.text_column is None)


def _check_labels(rows: Examples, label_names: Sequence[str], name: str, say: Say) -> None:
    seen = Counter(rows.labels)
    if len(seen) < 2:
        remedy = f"All {len(rows):,} rows of {name} have this one label: nothing can be learnt from them."
        must = "take at least two values in the training rows"
        raise input_error("train", "label", must, got=label_names[next(iter(seen))], remedy=remedy)
    absent = [label for i, label in enumerate(label_names) if i not in seen]
    if absent:
        say(f"warning: no training row is labelled {', '.join(absent)}.")


def _describe_data(rows: Mapping[str, tuple[Source, Examples]], label_names: Sequence[str], say: Say) -> Json:
    """Return what the training's record says of the rows to train on and, if there are any, to evaluate on."""
    data: dict[str, dict[str, object]] = {}
    for split, (source, examples) in rows.items():
        counts = Counter(examples.labels)
        labels = {label: counts[i] for i, label in enumerate(label_names)}
        sizes = {"n_rows": len(examples), "n_dropped": examples.n_dropped}
        data[split] = {"source": source.name, **sizes, "labels": labels, "content_hash": examples.content_hash}
    if "eval" in rows:
        known, evaluated = set(rows["train"][1].inputs), rows["eval"][1].inputs
        data["eval"]["n_in_train"] = n_known = sum(row in known for row in evaluated)
        if n_known:
            say(f"warning: {n_known:,} of {len(evaluated):,} evaluation inputs are also training inputs.")
    return data


def _metrics(trainer: Any, eval_rows: Examples | None) -> Json:
    history = _history(trainer.state)
    epochs = [{"epoch": e["epoch"], "accuracy": e["eval_accuracy"], "loss": e["eval_loss"]} for e in history]
    # the mean loss of all steps, including those before an interruption, which transformers' own leaves out
    entries = [{"step": 0}, *(entry for entry in trainer.state.log_history if "loss" in entry)]
    total = sum(entry["loss"] * (entry["step"] - last["step"]) for last, entry in pairwise(entries))
    loss, steps = total / max(entries[-1]["step"], 1), int(trainer.state.global_step)
    metrics: dict[str, object] = {"train_loss": loss, "steps": steps, "epochs": epochs}
    if eval_rows is not None and history:
        final = history[-1]
        if trainer.args.load_best_model_at_end:
            final = history[_best(history, trainer.args.metric_for_best_model)]
            metrics["best_epoch"] = final["epoch"]
        metrics["eval_accuracy"] = final["eval_accuracy"]
        metrics["eval_majority"] = eval_rows.majority
    return metrics


def starting_model(
    options: TrainingOptions, task: Task, label_names: Sequence[str], inputs: Inputs, *, multiple_choice: bool, say: Say
) -> Classifier:
    """Load or make the model to train. The global seed must be set: a new head is drawn from it.

    A new word-level model takes its vocabulary from `inputs`, the training rows. A head whose labels are the task's by
    name is kept, in its own order; any other is replaced or renamed, with a line to `say`.
    """
    if options.model in pretrained.BASELINES:
        baseline = pretrained.get_baseline(options.model)
        baseline.refuse_max_length("train", options.max_length)
        if baseline is word_models.BOW:
            sizes = {name: getattr(options, name) for name in ("n_buckets", "embedding_dim", "max_ngram")}
            module = baseline.heads[multiple_choice](baseline.config(**sizes, **_numbered(label_names)))
            return word_models.BowClassifier(module, tuple(label_names), {"model": "bow"})
        return _new_word_model(baseline, options, label_names, inputs, multiple_choice=multiple_choice, say=say)
    trusted = options.trust_remote_code
    config = pretrained.open_configuration(options.model, revision=options.revision, trust_remote_code=trusted)
    own = pretrained.find_baseline(config.model_type)
    if own is not None:
        own.refuse_max_length("train", options.max_length)
        classifier = load_model(options.model, task=task)
        if classifier.multiple_choice != multiple_choice or set(classifier.label_names) != set(label_names):
            must = "have the labels and the kind of head that the data need, to go on with it"
            got = (options.model, classifier.label_names)
            raise input_error("train", "model", must, got=got, remedy=f"Start a new one with `model` {own.name}.")
        return classifier
    head: Json = {}
    auto = transformers.AutoModelForMultipleChoice
    names = tuple(label_names)
    if not multiple_choice:
        auto = transformers.AutoModelForSequenceClassification
        names, kept = _names_to_keep(config, label_names)
        head = {**_numbered(names), "ignore_mismatched_sizes": True}
        if not kept and any(str(a).endswith("ForSequenceClassification") for a in config.architectures or ()):
            say(f"The head of {options.model} has other labels; it is now read as {', '.join(names)}.")
    loaded = pretrained.load_head(options.model, auto, revision=options.revision, trust_remote_code=trusted, **head)
    if loaded.missing:
        say(f"New weights, not from {options.model}: {', '.join(loaded.missing)}.")
    _ensure_pad_token(loaded.module, loaded.tokenizer, options.model)
    limit = pretrained.checked_max_length("train", options.max_length, longest_input(loaded.module, loaded.tokenizer))
    identity = {"model": options.model}
    return HeadClassifier(
        loaded.module, loaded.tokenizer, names, multiple_choice=multiple_choice, max_length=limit, identity=identity
    )


def _numbered(label_names: Sequence[str]) -> Json:
    return {"id2label": dict(enumerate(label_names)), "label2id": {name: i for i, name in enumerate(label_names)}}


def _names_to_keep(config: Any, label_names: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the label names, in the model's own order if its labels are the task's, and if that is so."""
    own = dict(config.id2label or {})
    if sorted(own) == list(range(len(own))):
        with suppress(InputError):
            mapped = resolve_label_map([own[i] for i in range(len(own))], label_names)
            if mapped.is_one_to_one:
                return tuple(label_names[target] for target in mapped.targets), True
    return tuple(label_names), False


def _ensure_pad_token(module: Any, tokenizer: Any, name: str) -> None:
    """Give a model without a pad token, as decoders often are, its end-of-text token for one, as is customary."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        must = "have a tokenizer with a pad, end-of-text or unknown token"
        raise input_error("train", "model", must, got=name, remedy="Add one to its tokenizer.")
    module.config.get_text_config().pad_token_id = tokenizer.pad_token_id


def _is_whole(checkpoint: Path, step: int) -> bool:
    """Say if all files to resume from exist and can be read: a kill or a power cut leaves incomplete ones."""
    try:
        if json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))["global_step"] != step:
            return False
        for weights in checkpoint.glob("*.safetensors"):
            with safe_open(weights, "pt"):
                pass
        for archive in (*checkpoint.glob("*.pt"), *checkpoint.glob("*.pth")):
            if ZipFile(archive).testzip() is not None:
                return False
    except (OSError, ValueError, KeyError, TypeError, SafetensorError, BadZipFile):
        return False
    return all(any(checkpoint.glob(name)) for name in ("*.safetensors", "optimizer*", "scheduler*", "rng_state*"))


def _new_word_model(
    baseline: pretrained.Baseline,
    options: TrainingOptions,
    label_names: Sequence[str],
    inputs: Inputs,
    *,
    multiple_choice: bool,
    say: Say,
) -> word_models.WordClassifier:
    """Make a glove_bow or bilstm for these training rows. The global seed must be set.

    The vocabulary holds the words of the rows that are frequent enough or have a vector, in the order of first
    occurrence, then `extra_words` of the file.
    """
    texts = [text for row in inputs for choice in row for text in (choice.text, choice.text_pair) if text]
    counts = Counter(word for text in texts for word in word_models.split_text(text))
    vectors = {}
    if options.vectors is not None:
        vectors = word_models.read_vectors(options.vectors, counts, extra=options.extra_words)
    words = [word for word, count in counts.items() if count >= options.min_count or word in vectors]
    extra = [word for word in vectors if word not in counts]
    vocabulary = word_models.Vocabulary([*words, *extra])
    n_dimensions = next(iter(vectors.values())).size if vectors else options.embedding_dim
    names = ["mlp_size", "mlp_layers", "dropout", "freeze_vectors"]
    if baseline.config is word_models.BilstmConfig:
        names += ["lstm_size", "lstm_layers", "pooling"]
    config = baseline.config(
        vocab_size=len(vocabulary),
        embedding_dim=n_dimensions,
        paired=any(choice.text_pair is not None for row in inputs for choice in row),
        **{name: getattr(options, name) for name in names},
        **_numbered(label_names),
    )
    module = baseline.heads[multiple_choice](config)
    n_rare, n_words, n_found = len(counts) - len(words), len(counts), len(vectors) - len(extra)
    rare = f"; the other {n_rare:,} are too rare and become the unknown word" if n_rare else ""
    say(f"Vocabulary: {len(words):,} of the {n_words:,} words of the training rows{rare}.")
    source = "Word vectors start random: no file was given (`vectors` takes GloVe's text format)."
    if vectors:
        with torch.no_grad():
            numbers = [vocabulary.number(word) for word in vectors]
            module.embedding.weight[numbers] = torch.from_numpy(np.stack([*vectors.values()]))
        more = f", and {len(extra):,} words more" if extra else ""
        source = f"Word vectors of {n_dimensions} dimensions from {options.vectors}: {n_found:,} of the "
        source += f"{n_words:,} words ({n_found / max(n_words, 1):.1%}){more}; the rest start random."
    say(source)
    return word_models.WordClassifier(module, vocabulary, tuple(label_names), {"model": baseline.name})
