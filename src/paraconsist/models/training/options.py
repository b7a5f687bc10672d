"""Options of a training, named settings (``presets.yaml``), and the record of its folder."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from paraconsist.data.foreign import parse_yaml
from paraconsist.data.options import DATA_DIR, DEVICE, option
from paraconsist.errors import InputError, check_choice, check_whole, input_error, unknown_option
from paraconsist.files import LOCK, Json, digest, read_record, replacing, write_json, writing

#: Models that read words: the names of new ones.
WORD_MODELS = ("glove_bow", "bilstm")
#: Options that may change between a training and its resumption, because they do not change the result.
_NOT_PART_OF_THE_RESULT = frozenset({"output", "resume", "device", "progress", "data_dir", "preset"})


@dataclass(frozen=True)
class TrainingOptions:
    """How to train a classifier; `PRESETS` are named settings."""

    model: str = option(
        MISSING, "bow, glove_bow, bilstm, or the Hub id or folder of an encoder or of a classifier to train further."
    )
    output: Path = option(
        MISSING, "Folder to write: new or empty, or one that holds this same training, with `resume`."
    )
    train_file: Path | None = option(None, "Training rows: CSV, TSV, JSON Lines or Parquet.")
    dataset: str | None = option(None, "Training rows from a builder, such as sample:defeasible_nli_train.")
    eval_file: Path | None = option(
        None, "Rows for the accuracy after each epoch, never trained on; by default the validation split of `dataset`."
    )
    eval_dataset: str | None = option(None, "The same, from a builder.")
    task: str | None = option(None, "Task of the rows; by default what the data set declares or the columns fit.")
    text_column: str | None = option(
        None, "Column with ready-made text; by default the task's columns, then sentence1 and sentence2."
    )
    text_pair_column: str | None = option(None, "Column with the second text.")
    label_column: str = option("label", "Column of labels, by name or number.")
    label_names: tuple[str, ...] | None = option(
        None, "Labels in order, in place of the task's own (two-way entailment: entailment, not_entailment)."
    )
    input_columns: tuple[str, ...] | None = option(
        None, "The task's columns that the model is shown, in place of all: a partial-input model."
    )
    drop_unlabelled: bool = option(
        False, "Leave out rows without a gold label (empty, '-', -1), saying how many; else they are an error."
    )
    limit: int | None = option(None, "Train on a random sample of this many rows.", at_least=1)
    limit_seed: int = option(0, "Random seed for the rows that `limit` and `share` draw. `seed` does not change them.")
    share: float = option(
        1.0,
        "Train on this share of the rows (0.05), drawn by group, of the sample where `limit` is given too. A smaller "
        "share of one seed is part of a larger one.",
    )
    group_columns: tuple[str, ...] | None = option(
        None, "Columns whose rows stay together in `share`; by default the task's context, else each row stands alone."
    )
    head: str = option(
        "auto",
        "auto (multiple choice if the task and its columns allow it), classification or multiple_choice.",
        choices=("auto", "classification", "multiple_choice"),
    )
    batch_size: int = option(
        32, "Rows of a batch, over all processes and devices. A step has `gradient_accumulation` batches.", at_least=1
    )
    learning_rate: float = option(5e-5, "Highest learning rate of AdamW.")
    epochs: float = option(3.0, "Passes over the rows.")
    weight_decay: float = option(0.0, "Weight decay of AdamW.")
    warmup: float = option(0.0, "Share of steps in which the rate rises.")
    scheduler: str = option("linear", "How the rate falls, as transformers calls it.")
    gradient_accumulation: int = option(1, "Batches whose gradients make one step.", at_least=1)
    max_grad_norm: float = option(1.0, "Longer gradients are cut to this length.")
    max_length: int | None = option(
        None, "Cut inputs after this many tokens, by default what the model allows. Not for bow, glove_bow and bilstm."
    )
    group_by_length: bool = option(False, "Batches of similar length: less padding, slightly other batches.")
    best_model: bool = option(False, "Keep the epoch that is best on the evaluation rows, in place of the last.")
    best_by: str = option(
        "accuracy",
        "What makes an epoch the best: accuracy or loss; the first of equal epochs is kept.",
        choices=("accuracy", "loss"),
    )
    patience: int | None = option(
        None, "Early stopping: end after this many epochs without a better one. Sets `best_model`.", at_least=1
    )
    bf16: bool = option(False, "bfloat16 mixed precision.")
    n_buckets: int = option(2**18, "Size of bow's table of features.", at_least=1)
    embedding_dim: int = option(8, "Length of vectors that start random.", at_least=1)
    max_ngram: int = option(4, "Longest n-gram of bow, in words.", at_least=1)
    vectors: Path | None = option(
        None, "Word vectors (GloVe text format) for glove_bow and bilstm to start from; random ones otherwise."
    )
    extra_words: int = option(
        0, "Number of further words to take from that file, its first ones that no training row has.", at_least=0
    )
    freeze_vectors: bool = option(False, "Leave the word vectors as they are.")
    min_count: int = option(
        2, "Rarer words of the training rows become the unknown word, unless the file has a vector.", at_least=1
    )
    lstm_size: int = option(64, "Units of bilstm in each direction.", at_least=1)
    lstm_layers: int = option(2, "Layers of bilstm.", at_least=1)
    pooling: str = option(
        "max", "How bilstm's states become one vector: max, mean or last.", choices=("max", "mean", "last")
    )
    mlp_size: int = option(128, "Units of the fully connected layers of glove_bow and bilstm.", at_least=1)
    mlp_layers: int = option(3, "How many fully connected layers, the last one included.", at_least=1)
    dropout: float = option(0.2, "Dropout of glove_bow and bilstm.")
    save_steps: int | None = option(None, "Checkpoint after this many steps, in place of after each epoch.", at_least=1)
    seed: int = option(0, "Random seed of initial weights, order of rows and dropout.", at_least=0)
    resume: bool = option(False, "Go on with an interrupted training; a finished one is left as it is.")
    device: str | None = option(None, DEVICE)
    progress: bool = option(True, "Show a progress bar.")
    data_dir: str | None = option(None, DATA_DIR)
    revision: str | None = option(None, "Revision of a Hub model.")
    trust_remote_code: bool = option(False, "Run code that comes with a Hub model.")
    preset: str | None = option(None, "Named settings; options given win.")

    def __post_init__(self) -> None:
        for parameter in fields(self):
            value, limits = getattr(self, parameter.name), parameter.metadata
            if "at_least" in limits and value is not None:
                check_whole("train", parameter.name, value, at_least=limits["at_least"], at_most=2**32 - 1)
            if "choices" in limits:
                check_choice("train", parameter.name, value, limits["choices"])
            if isinstance(value, str) and str(parameter.type).startswith("tuple"):
                raise input_error("train", parameter.name, "be a list of names, as [a, b]", got=value)
        if self.patience is not None:
            object.__setattr__(self, "best_model", True)
        no_end, has_vectors = float("inf"), self.vectors is not None
        has_text = self.text_column is not None
        of_words = f"be given only for a new {' or '.join(WORD_MODELS)}"
        for name, holds, must in (
            ("learning_rate", 0 < self.learning_rate < no_end, "be a positive number"),
            ("epochs", 0 < self.epochs < no_end, "be a positive number"),
            ("max_grad_norm", 0 < self.max_grad_norm < no_end, "be a positive number"),
            ("weight_decay", 0 <= self.weight_decay < no_end, "not be negative"),
            ("warmup", 0 <= self.warmup < 1, "be a share from 0 to below 1"),
            ("share", 0 < self.share <= 1, "be a share above 0, and 1 at most"),
            ("dropout", 0 <= self.dropout < 1, "be a share from 0 to below 1"),
            ("train_file", (self.train_file, self.dataset).count(None) == 1, "be given, or `dataset`, and not both"),
            ("eval_file", None in (self.eval_file, self.eval_dataset), "not be given together with `eval_dataset`"),
            ("input_columns", not has_text or self.input_columns is None, "not be given together with `text_column`"),
            ("text_column", has_text or self.text_pair_column is None, "be given with `text_pair_column`"),
            ("vectors", not has_vectors or self.model in WORD_MODELS, of_words),
            ("extra_words", has_vectors or not self.extra_words, "be given with `vectors`"),
            ("freeze_vectors", has_vectors or not self.freeze_vectors, "be given with `vectors`"),
            ("best_model", not self.best_model or self.save_steps is None, "not be given together with `save_steps`"),
        ):
            if not holds:
                raise input_error("train", name, must, got=getattr(self, name))

    def to_dict(self) -> Json:
        values = asdict(self).items()
        return {name: str(v) if isinstance(v, Path) else list(v) if isinstance(v, tuple) else v for name, v in values}

    def differences(self, other: Json) -> list[str]:
        """Return the names of the options that differ from `other` (a `to_dict`) and would change the trained model."""
        values = self.to_dict()
        defaults = {one.name: None if one.default is MISSING else one.default for one in fields(self)}
        compared = [name for name in defaults if name not in _NOT_PART_OF_THE_RESULT]
        return [name for name in compared if values[name] != other.get(name, defaults[name])]


@dataclass(frozen=True)
class Preset:
    """Named settings."""

    description: str = ""  # what it is for, and the source of its numbers
    model: str | None = None  # the model it belongs to; None for any
    settings: Json = field(default_factory=dict)  # of `TrainingOptions`


#: The preset of a model that is named without one.
_OWN_PRESETS = MappingProxyType({"bow": "bow", "glove_bow": "v23-glove-bow", "bilstm": "v23-bilstm"})
_LISTED = parse_yaml(files("paraconsist.models.training").joinpath("presets.yaml").read_text(encoding="utf-8"))
PRESETS: Mapping[str, Preset] = {name: Preset(**preset) for name, preset in _LISTED.items()}


def options_from_preset(
    preset: str | None, *, output: Path, model: str | None = None, **overrides: Any
) -> TrainingOptions:
    """Return the options of a preset; overrides that are not None win.

    Without a preset ``bow``, ``glove_bow`` and ``bilstm`` get their own (``bow``, ``v23-glove-bow``, ``v23-bilstm``),
    and every other model the defaults of `TrainingOptions`.

    >>> options = options_from_preset("s24-roberta", output=Path("out"), train_file=Path("train.csv"), seed=1)
    >>> options.model, options.batch_size, options.learning_rate, options.epochs
    ('FacebookAI/roberta-large', 64, 5e-06, 2.0)
    """
    name = preset if preset is not None else _OWN_PRESETS.get(model or "")
    if name is not None:
        check_choice("train", "preset", name, PRESETS)
    base = PRESETS[name] if name is not None else Preset()
    chosen = model if model is not None else base.model
    if chosen is None:
        raise input_error("train", "model", "be given", got=None, remedy="Name bow, a Hub id or a folder.")
    if base.model in ("bow", *WORD_MODELS) and chosen != base.model:
        must = f"fit the model: {name}'s settings are for {base.model}"
        raise input_error("train", "preset", must, got=(name, chosen))
    known = [each.name for each in fields(TrainingOptions)]
    if unknown := next((key for key in overrides if key not in known), None):
        raise unknown_option("train", unknown, known)
    settings = {**base.settings, **{key: value for key, value in overrides.items() if value is not None}}
    return TrainingOptions(model=chosen, output=output, preset=name, **settings)


_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "numpy")


class TrainingFolder:
    """Reads and writes ``training.json``; a second training never silently overwrites a first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record = path / "training.json"
        self.checkpoints = path / "checkpoints"
        self.saved = self.checkpoints / "saved"
        if path.exists() and not path.is_dir():
            raise self._refused("name a folder")

    def check(self, options: TrainingOptions, data: Json) -> Literal["new", "interrupted", "finished"]:
        """Return what the folder holds; InputError for another training, other files, or no `resume`."""
        if not self.path.exists() or all(file.name.startswith(LOCK) for file in self.path.iterdir()):
            return "new"
        if not self.record.is_file():
            raise self._refused("be a new or empty folder", "Name another one.")
        record = self.read()
        different = options.differences(record.get("options", {}))
        if record.get("data") != json.loads(json.dumps(data)):
            different.append("the rows")
        if different:
            remedy = f"These differ: {', '.join(different)}. Name another folder, or delete this one."
            raise self._refused("not hold another training", remedy)
        status: Literal["interrupted", "finished"] = "finished" if record.get("status") == "finished" else "interrupted"
        if not options.resume:
            remedy = f"It holds this same training, {status}: give `resume`, or name another folder."
            raise self._refused("be a new or empty folder", remedy)
        return status

    def begin(self, options: TrainingOptions, data: Json) -> None:
        """Write the record of a training that starts or resumes."""
        versions = {"python": platform.python_version()} | {package: version(package) for package in _PACKAGES}
        record = {"status": "running", "options": options.to_dict(), "data": dict(data), "versions": versions}
        shutil.rmtree(self.saved, ignore_errors=True)
        with writing("train", "output", self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.record, record)

    def take_saved(self) -> None:
        """Move the saved model to its place, each file atomically and synced."""
        for file in sorted(self.saved.rglob("*")):
            if file.is_file() and file.name != "training_args.bin":  # `training.json` has them
                target = self.path / file.relative_to(self.saved)
                target.parent.mkdir(exist_ok=True)
                with replacing(target) as partial:
                    file.rename(partial)

    def finish(self, metrics: Json, *, seconds: float, n_processes: int) -> None:
        figures = {"metrics": dict(metrics), "seconds": round(seconds, 1), "n_processes": n_processes}
        files = (file for file in sorted(self.path.iterdir()) if file.is_file() and file != self.record)
        figures["files"] = {file.name: digest(file) for file in files if not file.name.startswith(".")}
        write_json(self.record, {**self.read(), "status": "finished", **figures})

    def read(self) -> Json:
        return read_record("train", "output", self.record, remedy="Delete the folder or name another one.")

    def _refused(self, must: str, remedy: str = "") -> InputError:
        return input_error("train", "output", must, got=str(self.path), remedy=remedy)
