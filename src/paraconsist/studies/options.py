"""Options of the studies that train models, and of the selection of items; standard library only.

Python and the command line take the same fields; options that a command reads in another form are added there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paraconsist.data.options import DATA_DIR, DEVICE, LABEL_RULE, TASK, option
from paraconsist.errors import check_whole, input_error
from paraconsist.files import Json
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.transforms.paraphrase.generators import GeneratorOptions

#: Shares of the training rows in Figure 6 of Srikanth et al. 2024.
SHARES = (0.01, 0.05, 0.1, 0.5, 1.0)
#: Options of training that a sweep sets itself.
_SET_BY_SWEEP = frozenset(
    {"model", "output", "seed", "share", "limit_seed", "resume", "progress", "device", "data_dir"}
)


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options of every study that trains models and runs them."""

    output: Path = field(metadata={"help": "Folder. The same command goes on with an interrupted study."})
    sets: Sequence[str] = field(metadata={"help": "Set to run, as in `run`; repeat for several."})
    with_test: bool = option(False, "Also run the full test sets.")
    seeds: Sequence[int] = (0,)
    #: Options of training: ``train_file`` or ``dataset``, ``task``, ``epochs``, ...
    training: Json = field(default_factory=dict)
    label_map: Mapping[str, str] | None = None  # from a model's labels to those of the sets
    preset: str | None = option(None, "Named settings of training; see `paraconsist list`.")
    limit: int | None = option(None, "For a trial: at most this many training rows, and rows of each set.", min=1)
    device: str | None = option(None, DEVICE)
    data_dir: str | None = option(None, DATA_DIR)
    n_resamples: int = option(1000, "Bootstrap replicates of each run.", min=1)

    def __post_init__(self) -> None:
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise input_error("train", "seeds", "be numbers from 0 on, each once", got=list(self.seeds))

    def train(self, output: Path, **set_here: Any) -> TrainingOptions:
        """Return the options of one training, which resumes in its folder; the study itself sets `set_here`."""
        set_here |= {"device": self.device, "data_dir": self.data_dir, "resume": True, "progress": False}
        for name in self.training:
            if name in set_here:
                raise input_error("train", name, "be left to the study", got=self.training[name])
        return options_from_preset(self.preset, output=output, **set_here, **self.training)


@dataclass(frozen=True, kw_only=True)
class SweepOptions(StudyOptions):
    """The grid of a sweep: each of the `seeds` draws its own share, initial weights and order.

    Without a file or set to train on, models are asked as they are: `training` and `vary` hold options of models then,
    as in a file of several (`paraconsist.running.by_name.OF_MODELS`), and each of the `seeds` draws answers.
    """

    models: Sequence[str] = field(metadata={"help": "Checkpoint: Hub id, folder, bow, module:function ...; repeat."})
    shares: Sequence[float] = SHARES  # of the training rows, drawn by group
    #: Any other option of training -> its values; every combination is a cell.
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    jobs: int = option(1, "Processes at a time; each has a device of its own.", min=1)
    keep_models: bool = option(False, "Keep the weights of every cell.")
    column: Sequence[str] | None = option(
        None, "Where nothing is trained: FIELD=COLUMN of the sets, as in `run`; repeat for several."
    )
    same: str | None = option(None, "Of questions, which are asked: when two answers are the same, as in `run`.")
    right: str | None = option(None, "Of questions: when an answer is right; by default `same`.")
    endpoint: EndpointSettings | None = None  # behind which the models are asked

    @property
    def trains(self) -> bool:
        """Whether models are trained, not asked as they are."""
        return any(self.training.get(name) is not None for name in ("train_file", "dataset"))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("models", "sets", "shares"):
            values = list(getattr(self, name))
            if not values or len(set(values)) < len(values):
                raise input_error("sweep", name, "hold at least one value, each once", got=values)
        if any(not 0 < share <= 1 for share in self.shares):
            raise input_error("sweep", "shares", "be above 0, and 1 at most", got=list(self.shares))
        for name, choices in self.vary.items():  # else a combination is asked and paid for twice
            if twice := [value for place, value in enumerate(choices) if value in choices[:place]]:
                raise input_error("sweep", "vary", f"hold each value of {name} once", got=twice[0])
        check_whole("sweep", "jobs", self.jobs)
        known = {field.name for field in fields(TrainingOptions)} - _SET_BY_SWEEP
        for name, choices in self.vary.items() if self.trains else ():
            if name not in known or not choices:
                must = f"be options of training with values: {', '.join(sorted(known))}"
                raise input_error("sweep", "vary", must, got=name)


@dataclass(frozen=True, kw_only=True)
class AdversarialOptions(StudyOptions):
    """The model and rows of adversarial training, and the transformation that makes the variants."""

    model: str = field(metadata={"help": "bow, a Hub id, or a folder: what is trained."})
    train_file: Path = field(metadata={"help": "Training rows: CSV, TSV, JSON Lines or Parquet."})
    columns: tuple[str, ...] = field(metadata={"help": "Columns of the training rows to change, with commas."})
    transformation: str = option(
        "wordnet_nouns", "wordnet_nouns, dictionary, suffix, module:function, paraphrase:rules, or textattack:RECIPE."
    )
    transformation_options: Json = field(default_factory=dict)
    control: bool = option(
        False, "Also train a control on as many rows without new texts: those that have a variant, twice."
    )
    n_permutations: int = option(10_000, "Permutations that the paired test draws.", min=1)


@dataclass(frozen=True)
class AfliteOptions:
    """Options of adversarial filtering; the defaults are those of Srikanth et al. 2024, section 4.1."""

    n_classifiers: int = option(64, "Random partitions in each iteration (s24: 64).")
    train_size: int = option(5000, "Rows that a classifier is trained on, rounded up to whole groups (s24: 5000).")
    cutoff: int = option(500, "Rows removed in each iteration at most; the filter ends when fewer are (s24: 500).")
    threshold: float = option(0.75, "Least share of right held-out predictions of a row that is removed (s24: 0.75).")
    inverse_penalty: float = option(1.0, "Inverse strength C of the logistic regressions' penalty (1).")
    seed: int = 0  # of the partitions

    def __post_init__(self) -> None:
        for name in ("n_classifiers", "train_size", "cutoff"):
            check_whole("select", name, getattr(self, name))
        if not 0 < self.threshold <= 1:
            raise input_error("select", "threshold", "be a share above 0, and 1 at most", got=self.threshold)
        if not self.inverse_penalty > 0:
            raise input_error("select", "inverse_penalty", "be above 0", got=self.inverse_penalty)


PRESETS: Mapping[str, AfliteOptions] = MappingProxyType({"s24": AfliteOptions()})


@dataclass(frozen=True)
class SelectOptions:
    """Options of a selection of items."""

    encoder: str = field(
        metadata={"help": "Model whose vectors are filtered: an encoder or a trained model, by folder or id."}
    )
    filtering: AfliteOptions = field(default_factory=AfliteOptions)
    #: Without it nothing is drawn.
    confidence_model: str | None = option(
        None, "Draw items over the deciles of this model's confidence in the gold label."
    )
    group_columns: tuple[str, ...] | None = option(
        None, "Columns that make a context, with commas; by default the task's."
    )
    pooling: str = option("auto", "Vector that represents a text: auto, first, mean or head.")
    max_length: int | None = option(None, "Cut the encoder's inputs at this many tokens.")
    pool: float = option(1.0, "Share of the contexts to draw items from; the rest goes to train.csv.")
    n_easy: int = option(125, "Easy items to draw.", min=0)
    n_difficult: int = option(125, "Difficult items to draw.", min=0)
    rewrite: tuple[str, ...] | None = option(
        None, "Columns to paraphrase, with commas; by default those outside the context."
    )
    places: int = option(10, "Empty places for paraphrases of each item.", min=1)
    device: str | None = option(None, DEVICE)
    seed: int = option(0, "Random seed of the partitions, the pool and the draw.", min=0)
    task: str | None = option(None, TASK)
    label_column: str = option("label", "Column of labels, by name or number.")
    label_names: tuple[str, ...] | None = option(None, "Labels in order, with commas.")
    drop_unlabelled: bool = option(False, "Leave out rows without a gold label.")
    limit: int | None = option(None, "A random sample of this many rows.", min=2)

    def __post_init__(self) -> None:
        if not 0 < self.pool <= 1:
            raise input_error("select", "pool", "be a share above 0, and 1 at most", got=self.pool)
        check_whole("select", "places", self.places)
        if min(self.n_easy, self.n_difficult) < 0 or self.n_easy + self.n_difficult < 1:
            must = "ask, with `n_difficult`, for at least one item"
            raise input_error("select", "n_easy", must, got=(self.n_easy, self.n_difficult))


@dataclass(frozen=True)
class SensitivityOptions(GeneratorOptions):
    """Options of the study of semantic sensitivity, by a preset of `paraconsist.measures.fooling_rate.fooling_rate`."""

    preset: str = option("paper", "paper (all variants, every right original) or code (the first 5, originals with 5).")
    limit: int | None = option(None, "Draw this many of the right originals.", min=1)
    label_rule: str = option("argmax", LABEL_RULE)
    embedding_model: str | None = option(
        None, "Encoder for embedding distances; by default the model's own, where it has one."
    )
    device: str | None = option(None, DEVICE)
    n_resamples: int = option(10_000, "Bootstrap replicates.", min=1)
    seed: int = option(0, "Random seed of draws, sampling and bootstrap.", min=0)
    overwrite: bool = option(False, "Delete an earlier run in the folder.")
