"""What a training needs to know, as one frozen record (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error

#: Models that read words: what to type after ``--model`` for a new one.
WORD_MODELS = ("glove_bow", "bilstm")
_POOLINGS = ("max", "mean", "last")
#: Options that may change between a training and its resumption: they say how, not what.
_NOT_PART_OF_THE_RESULT = frozenset({"output", "resume", "device", "progress", "data_dir", "preset"})
_AT_LEAST_ONE = (
    "batch_size",
    "gradient_accumulation",
    "n_buckets",
    "embedding_dim",
    "max_ngram",
    "min_count",
    "lstm_size",
    "lstm_layers",
    "mlp_size",
    "mlp_layers",
    "limit",
    "save_steps",
    "patience",
)


@dataclass(frozen=True)
class TrainingOptions:
    """How to train a classifier; `paraconsist.models.training.presets` holds named settings.

    Attributes
    ----------
    model : str
        ``"bow"``, ``"glove_bow"``, ``"bilstm"``, a Hub id, or a folder: an encoder without a head, or a
        classifier to go on with.
    output : Path
        The folder to write. It must be new or empty, or hold this same training when `resume` is set.
    train_file, dataset : Path or str
        One of them: a CSV, TSV, JSON Lines or Parquet file, or ``builder:config`` (for instance
        ``sample:defeasible_nli_train``).
    eval_file, eval_dataset : Path or str, optional
        Rows for the accuracy after each epoch; never trained on. By default the validation split of
        `dataset`, where it has one.
    task : str, optional
        By default what the dataset declares or the columns fit.
    text_column, text_pair_column : str, optional
        Where the rows hold text and text pair ready made. By default the task's own columns are looked for,
        then ``sentence1`` and ``sentence2``.
    label_column : str
        Labels by name or by number.
    label_names : tuple of str, optional
        In place of the task's own (two-way entailment: ``("entailment", "not_entailment")``).
    input_columns : tuple of str, optional
        Columns of the task that the model is shown, in place of all: a partial-input model.
    drop_unlabelled : bool
        Leave out rows without a gold label (empty, ``-``, -1), saying how many. Otherwise they are an error.
    limit : int, optional
        Train on a random sample of this many rows. The sample depends on `limit_seed`, not on `seed`.
    share : float
        Train on this share of the rows, drawn by group (see `group_columns`) with `limit_seed`; of `limit`'s sample
        where that is given too. A smaller share of one seed is part of a larger one.
    group_columns : tuple of str, optional
        Columns whose rows stay together in `share`; by default the task's context (premise and hypothesis of
        defeasible NLI, the premise of NLI, ...), else each row stands alone.
    head : {"auto", "classification", "multiple_choice"}
        ``auto``: multiple choice where the task can be put so and its columns are there.
    batch_size : int
        Rows in a step on each device; times `gradient_accumulation` and the number of processes.
    learning_rate, epochs, weight_decay, warmup, scheduler, max_grad_norm
        As in `transformers.TrainingArguments`; `warmup` is a share of all steps.
    max_length : int, optional
        Longest input in tokens; by default what the model allows. Not for bow, glove_bow and bilstm.
    group_by_length : bool
        Draw batches of similar length (less padding, slightly other batches).
    best_model : bool
        Keep the epoch that is best on the evaluation rows, in place of the last.
    best_by : {"accuracy", "loss"}
        What is compared; the first of equal epochs is kept.
    patience : int, optional
        Early stopping: end after this many epochs without a better one. Goes with `best_model`, which it sets.
    bf16 : bool
        Train in bfloat16 mixed precision.
    n_buckets, embedding_dim, max_ngram : int
        Of bow; `embedding_dim` also of glove_bow and bilstm, where a file of vectors does not say it.
    vectors : Path, optional
        Word vectors in GloVe's text format to start glove_bow and bilstm from; random ones otherwise.
    extra_words : int
        Also take this many words of that file that the training rows do not have, the file's first ones.
    freeze_vectors : bool
        Leave the word vectors as they are.
    min_count : int
        Rarer words of the training rows become the unknown word, unless the file has a vector for them.
    lstm_size, lstm_layers, pooling : int, int, {"max", "mean", "last"}
        Of bilstm: units in each direction, layers, and how states become one vector.
    mlp_size, mlp_layers, dropout : int, int, float
        Of the fully connected layers of glove_bow and bilstm.
    save_steps : int, optional
        Checkpoint after this many steps, in place of after each epoch.
    seed : int
        Of initial weights, order and dropout.
    resume : bool
        Go on with a training that was interrupted; a finished one is left as it is.
    device : str, optional
        ``"cpu"``, or by default the accelerator there is.
    """

    model: str
    output: Path
    train_file: Path | None = None
    dataset: str | None = None
    eval_file: Path | None = None
    eval_dataset: str | None = None
    task: str | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str = "label"
    label_names: tuple[str, ...] | None = None
    input_columns: tuple[str, ...] | None = None
    drop_unlabelled: bool = False
    limit: int | None = None
    limit_seed: int = 0
    share: float = 1.0
    group_columns: tuple[str, ...] | None = None
    head: str = "auto"
    batch_size: int = 32
    learning_rate: float = 5e-5
    epochs: float = 3.0
    weight_decay: float = 0.0
    warmup: float = 0.0
    scheduler: str = "linear"
    gradient_accumulation: int = 1
    max_grad_norm: float = 1.0
    max_length: int | None = None
    group_by_length: bool = False
    best_model: bool = False
    best_by: str = "accuracy"
    patience: int | None = None
    bf16: bool = False
    n_buckets: int = 2**18
    embedding_dim: int = 8
    max_ngram: int = 4
    vectors: Path | None = None
    extra_words: int = 0
    freeze_vectors: bool = False
    min_count: int = 2
    lstm_size: int = 64
    lstm_layers: int = 2
    pooling: str = "max"
    mlp_size: int = 128
    mlp_layers: int = 3
    dropout: float = 0.2
    save_steps: int | None = None
    seed: int = 0
    resume: bool = False
    device: str | None = None
    progress: bool = True
    data_dir: str | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    preset: str | None = None

    def __post_init__(self) -> None:
        if (self.train_file is None) == (self.dataset is None):
            raise input_error(
                "train",
                "train_file",
                "be given, or `dataset`, and not both",
                got=(self.train_file, self.dataset),
                remedy="Name a file of rows with --train-file, or a data set with --dataset.",
            )
        if self.eval_file is not None and self.eval_dataset is not None:
            raise input_error("train", "eval_file", "not be given together with `eval_dataset`", got=self.eval_file)
        if self.head not in ("auto", "classification", "multiple_choice"):
            raise input_error("train", "head", "be auto, classification or multiple_choice", got=self.head)
        for name in _AT_LEAST_ONE:
            _require(name, getattr(self, name), at_least=1)
        for name in ("seed", "extra_words"):
            _require(name, getattr(self, name), at_least=0)
        if self.patience is not None:
            object.__setattr__(self, "best_model", True)
        for name, allowed in (("best_by", ("accuracy", "loss")), ("pooling", _POOLINGS)):
            if getattr(self, name) not in allowed:
                raise input_error("train", name, f"be one of {', '.join(allowed)}", got=getattr(self, name))
        if not 0 < self.share <= 1:
            raise input_error("train", "share", "be a share above 0, and 1 at most", got=self.share)
        if self.input_columns is not None and self.text_column is not None:
            raise input_error("train", "input_columns", "not be given together with `text_column`")
        if not 0 <= self.dropout < 1:
            raise input_error("train", "dropout", "be a share from 0 to below 1", got=self.dropout)
        if self.vectors is not None and self.model not in WORD_MODELS:
            raise input_error(
                "train", "vectors", f"be given only for a new {' or '.join(WORD_MODELS)}", got=str(self.vectors)
            )
        if self.vectors is None and (self.extra_words or self.freeze_vectors):
            name = "extra_words" if self.extra_words else "freeze_vectors"
            raise input_error("train", name, "be given with `vectors`", got=getattr(self, name))
        for name in ("learning_rate", "epochs", "max_grad_norm"):
            if not 0 < getattr(self, name) < float("inf"):
                raise input_error("train", name, "be a positive number", got=getattr(self, name))
        for name in ("weight_decay", "warmup"):
            if not 0 <= getattr(self, name) < (1 if name == "warmup" else float("inf")):
                raise input_error("train", name, "not be negative (warmup: a share below 1)", got=getattr(self, name))
        if self.best_model and self.save_steps is not None:
            raise input_error("train", "best_model", "not be given together with `save_steps`", got=True)
        if self.text_pair_column is not None and self.text_column is None:
            raise input_error("train", "text_column", "be given with `text_pair_column`", got=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = asdict(self)
        return {
            name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """Names of the options that differ from `other` (a `to_dict`) and would change the trained model."""
        mine = self.to_dict()
        return [
            field.name
            for field in fields(self)
            if field.name not in _NOT_PART_OF_THE_RESULT
            and mine[field.name] != other.get(field.name, None if field.default is MISSING else field.default)
        ]


def _require(name: str, value: int | None, *, at_least: int) -> None:
    if value is not None and value < at_least:
        raise input_error("train", name, f"be at least {at_least}", got=value)
