"""The model that a training starts from: a new one of ours, a bare encoder, or a classifier to go on with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import transformers
from safetensors import SafetensorError, safe_open

from paraconsist.data.tasks import Task
from paraconsist.errors import InputError, input_error
from paraconsist.models.bow import BowClassifier, BowConfig
from paraconsist.models.classifier import Classifier, HeadClassifier, Inputs, longest_input
from paraconsist.models.labels import resolve_label_map
from paraconsist.models.loading import load_model
from paraconsist.models.pretrained import BASELINES, checked_max_length, find_baseline, load_head, open_configuration
from paraconsist.models.training.data import Say
from paraconsist.models.training.options import TrainingOptions
from paraconsist.models.word_models import BilstmConfig, Vocabulary, WordClassifier, read_vectors, split_text


def starting_model(
    options: TrainingOptions, task: Task, label_names: Sequence[str], inputs: Inputs, *, multiple_choice: bool, say: Say
) -> Classifier:
    """Load or make the model to train. The global seed must be set: a new head is drawn from it.

    A new word-level model takes its vocabulary from `inputs`, the training rows. A head whose labels are the task's by
    name is kept, in its own order; any other is replaced or renamed, and that is said.
    """
    if options.model in BASELINES:
        BASELINES[options.model].refuse_max_length("train", options.max_length)
        if options.model == "bow":
            return _new_bow(options, label_names, multiple_choice=multiple_choice)
        return _new_word_model(options, label_names, inputs, multiple_choice=multiple_choice, say=say)
    which: dict[str, Any] = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    config = open_configuration(options.model, **which)
    baseline = find_baseline(config.model_type)
    if baseline is not None:
        baseline.refuse_max_length("train", options.max_length)
        return _continued(options, baseline.name, task, label_names, multiple_choice=multiple_choice)
    head: dict[str, Any] = {}
    auto = transformers.AutoModelForMultipleChoice
    names = tuple(label_names)
    if not multiple_choice:
        auto = transformers.AutoModelForSequenceClassification
        names, kept = _names_to_keep(config, label_names)
        head = {**_numbered(names), "ignore_mismatched_sizes": True}
        if not kept and any(str(a).endswith("ForSequenceClassification") for a in config.architectures or ()):
            say(f"The head of {options.model} has other labels; it is now read as {', '.join(names)}.")
    loaded = load_head(options.model, auto, **which, **head)
    if loaded.missing:
        say(f"New weights, not from {options.model}: {', '.join(loaded.missing)}.")
    _ensure_pad_token(loaded.module, loaded.tokenizer, options.model)
    limit = checked_max_length("train", options.max_length, longest_input(loaded.module, loaded.tokenizer))
    kind: dict[str, Any] = {"multiple_choice": multiple_choice, "max_length": limit}
    return HeadClassifier(loaded.module, loaded.tokenizer, names, **kind, identity={"model": options.model})


def _numbered(label_names: Sequence[str]) -> dict[str, Any]:
    return {"id2label": dict(enumerate(label_names)), "label2id": {name: i for i, name in enumerate(label_names)}}


def _new_bow(options: TrainingOptions, label_names: Sequence[str], *, multiple_choice: bool) -> Classifier:
    sizes = {name: getattr(options, name) for name in ("n_buckets", "embedding_dim", "max_ngram")}
    head = BASELINES["bow"].head(multiple_choice=multiple_choice)
    return BowClassifier(head(BowConfig(**sizes, **_numbered(label_names))), tuple(label_names), {"model": "bow"})


def _continued(
    options: TrainingOptions, name: str, task: Task, label_names: Sequence[str], *, multiple_choice: bool
) -> Classifier:
    classifier = load_model(options.model, task=task)
    if classifier.multiple_choice != multiple_choice or set(classifier.label_names) != set(label_names):
        must = "have the labels and the kind of head that the data need, to go on with it"
        got = (options.model, classifier.label_names)
        raise input_error("train", "model", must, got=got, remedy=f"Start anew with `model` {name}.")
    return classifier


def _names_to_keep(config: Any, label_names: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The model's own label order where its labels are the task's; else the task's order."""
    own = dict(config.id2label or {})
    if sorted(own) == list(range(len(own))):
        with suppress(InputError):
            mapped = resolve_label_map([own[i] for i in range(len(own))], label_names)
            if mapped.is_one_to_one:
                return tuple(label_names[target] for target in mapped.targets), True
    return tuple(label_names), False


def _ensure_pad_token(module: Any, tokenizer: Any, name: str) -> None:
    """Models of the decoder kind often have no pad token: the end-of-text token serves, as is customary."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        if tokenizer.pad_token_id is None:
            must = "have a tokenizer with a pad, end-of-text or unknown token"
            raise input_error("train", "model", must, got=name, remedy="Add one to its tokenizer.")
    module.config.get_text_config().pad_token_id = tokenizer.pad_token_id


def checkpoint_to_resume(checkpoints: Path) -> Path | None:
    """The newest checkpoint that can be read whole; None where there is none."""
    steps = {folder.name.rpartition("-")[2]: folder for folder in checkpoints.glob("checkpoint-*")}
    newest_first = sorted(filter(str.isdigit, steps), key=int, reverse=True)
    return next((steps[step] for step in newest_first if _is_whole(steps[step], int(step))), None)


def _is_whole(checkpoint: Path, step: int) -> bool:
    """Whether all that a training goes on from is there and can be read: a kill or a power cut leaves halves."""
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
    options: TrainingOptions, label_names: Sequence[str], inputs: Inputs, *, multiple_choice: bool, say: Say
) -> WordClassifier:
    """Make a glove_bow or bilstm for these training rows. The global seed must be set.

    The vocabulary holds the words of the rows that are frequent enough or have a vector, in the order of first
    occurrence, then `extra_words` of the file. How many there are is said.
    """
    texts = [text for row in inputs for choice in row for text in (choice.text, choice.text_pair) if text]
    counts = Counter(word for text in texts for word in split_text(text))
    vectors = None if options.vectors is None else read_vectors(options.vectors, counts, extra=options.extra_words)
    known = frozenset() if vectors is None else frozenset(vectors.words)
    words = [word for word, count in counts.items() if count >= options.min_count or word in known]
    extra = [] if vectors is None else [word for word in vectors.words if word not in counts]
    vocabulary = Vocabulary([*words, *extra])
    baseline = BASELINES[options.model]
    names = ["mlp_size", "mlp_layers", "dropout", "freeze_vectors"]
    if baseline.config is BilstmConfig:
        names += ["lstm_size", "lstm_layers", "pooling"]
    config = baseline.config(
        vocab_size=len(vocabulary),
        embedding_dim=options.embedding_dim if vectors is None else vectors.matrix.shape[1],
        paired=any(choice.text_pair is not None for row in inputs for choice in row),
        **{name: getattr(options, name) for name in names},
        **_numbered(label_names),
    )
    module = baseline.head(multiple_choice=multiple_choice)(config)
    n_rare, n_words, n_found = len(counts) - len(words), len(counts), len(known) - len(extra)
    rare = f"; the other {n_rare:,} are too rare and become the unknown word" if n_rare else ""
    say(f"Vocabulary: {len(words):,} of the {n_words:,} words of the training rows{rare}.")
    source = "Word vectors start random: no file was given (`vectors` takes GloVe's text format)."
    if vectors is not None:
        module.set_vectors([vocabulary.number(word) for word in vectors.words], vectors.matrix)
        more = f", and {len(extra):,} words more" if extra else ""
        source = f"Word vectors of {vectors.matrix.shape[1]} dimensions from {options.vectors}: {n_found:,} of the "
        source += f"{n_words:,} words ({n_found / max(n_words, 1):.1%}){more}; the rest start random."
    say(source)
    return WordClassifier(module, vocabulary, tuple(label_names), {"model": baseline.name})
