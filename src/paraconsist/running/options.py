"""The options of a run, each declared once for Python and the command line.

The command line makes its options from these fields and their help (`paraconsist.cli.options.spread`). Nothing heavy is
imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, ClassVar

from paraconsist.data.options import DATA_DIR, DEVICE, LABEL_RULE, option
from paraconsist.errors import check_choice, check_whole, input_error
from paraconsist.models.endpoint.settings import AskOptions

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier

#: What a run does if an input fails: continue without its answer, or end.
ON_ERROR = ("unparsed", "stop")
#: Of options that a newcomer needs: they come first in the help, not under their group's heading.
_FIRST = {"panel": "Options"}


@dataclass(frozen=True)
class SetOptions:
    """Which rows are answered."""

    panel: ClassVar[str] = "Bucket sets"
    dataset: list[str] = field(
        metadata={**_FIRST, "help": "builder:config, builder:all, a file, a folder, or a Hub name; repeat for several."}
    )
    with_test: bool = option(
        False, "Also run the full test set of each set: test accuracy and corrected values.", **_FIRST
    )
    task: str | None = option(None, "Task of the sets; by default inferred from their columns.")
    column: list[str] | None = option(
        None, "FIELD=COLUMN, where a column of the set has another name, as question=prompt; repeat for several."
    )
    same: str | None = option(
        None, "Of questions: when two answers are the same: text, number ... (`paraconsist list --comparers`)."
    )
    right: str | None = option(None, "Of questions: when an answer is right; by default `same`.", rare=True)
    split: str = option("test", "Split of the sets.")
    input_columns: str | None = option(
        None, "The task's columns that a classifier is shown, with commas; by default as it was trained."
    )
    stratum: list[str] | None = option(
        None,
        "Further column of the rows that predictions keep and results are broken down by; repeat for several. The "
        "others stay out of both.",
    )
    limit: list[str] | None = option(
        None,
        "For a trial: whole buckets up to N rows of every set, or PATTERN=N for some sets. Only a "
        "pattern cuts a full test set.",
        **_FIRST,
    )
    data_dir: str | None = option(None, DATA_DIR)
    part: str | None = option(
        None,
        "I/N: only part I of N of the inputs, in a folder of its own, for arrays of jobs; `merge` joins the parts.",
    )


@dataclass(frozen=True)
class LoadOptions:
    """How a model on this machine is loaded, as in `paraconsist.models.loading.load_model`."""

    panel: ClassVar[str] = "Models on this machine"
    revision: str | None = option(None, "Revision of a Hub model.")
    dtype: str | None = option(
        None,
        "float32, tf32, bfloat16, float16, or auto: bfloat16 where the device has it fast, else float32; by default "
        "auto on an accelerator, float32 on the processor.",
    )
    max_length: int | None = option(None, "Cut inputs after this many tokens.", min=1)
    trust_remote_code: bool = option(False, "Run code that comes with a Hub model.")
    kind: str | None = option(None, "classifier, causal or seq2seq; by default what the model's architecture says.")
    attn_implementation: str | None = option(
        None, "How attention is computed, as transformers names it: eager, sdpa, flash_attention_2 ...", rare=True
    )


@dataclass(frozen=True)
class PromptOptions(AskOptions):
    """What the prompts of language models contain, and how the models are asked."""

    template: str | None = option(
        None, "Language models: a prompt template's name, or a YAML file; by default the task's."
    )
    shots: int | None = option(None, "Language models: solved examples in the prompt.", min=0)
    examples: Sequence[str] = option((), "Set or file to draw them from; repeat to draw evenly from several.")
    example_split: str = option(
        "train", "Split of the sets that examples are drawn from, where they have it.", rare=True
    )
    example_seed: int = option(0, "Random seed of the draw of examples.", min=0, rare=True)
    data_dir: str | None = option(None, DATA_DIR)
    system: str = option("", "Chats: a system message for all prompts, before their own.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.system, (str, NoneType)):  # YAML reads `no` and `5` otherwise
            raise input_error("run", "system", "be text", got=self.system, remedy="Put it into quotes.")
        if isinstance(self.examples, str):
            object.__setattr__(self, "examples", (self.examples,))
        for name in ("shots", "example_seed"):  # 0 shots: of a sweep over their number
            if (value := getattr(self, name)) is not None:
                check_whole("run", name, value, at_least=0)
        if self.examples and self.shots is None:
            raise input_error("run", "shots", "be given where `examples` are", got=None)
        if self.shots and not self.examples:
            must = f"name the source of {self.shots} examples"
            raise input_error("run", "examples", must, remedy="Name a set or a file, or several to draw evenly from.")

    def check_used(self, model: Classifier) -> None:
        """Refuse the first option for prompts that the loaded model, a classifier, would ignore."""
        usual = PromptOptions()
        for name in ("template", "shots", "system", *usual.asking()) if not model.takes_prompt else ():
            value = getattr(self, name)
            if value != getattr(usual, name) and value != 0:
                must = "be given only with causal and sequence-to-sequence models"
                remedy = "This model is a classifier with a trained head: it takes no prompt."
                raise input_error("run", name, must, got=value, remedy=remedy)


@dataclass(frozen=True)
class RunOptions:
    """How to run; resuming an interrupted run needs no option."""

    panel: ClassVar[str] = "Running"
    output: Path = field(metadata={**_FIRST, "help": "The run folder. The same command resumes an interrupted run."})
    label_map: Mapping[str, str] | None = option(
        None, "MODEL_LABEL=TASK_LABEL, repeated; may be many-to-one. By default labels are matched by name."
    )
    label_rule: str = option("argmax", LABEL_RULE)
    device: str | None = option(None, DEVICE, **_FIRST)
    batch_tokens: int | None = option(
        None,
        "Number of tokens in a batch, padding included; by default what an accelerator's free memory allows.",
        min=1,
    )
    seed: int = option(0, "Random seed for sampled answers and for the choice of repeated rows.", min=0)
    deterministic: bool = option(
        False, "Classifiers: bit-identical answers for any batches, batch order and number of processes."
    )
    compile: bool = option(False, "Classifiers: use torch.compile; worthwhile for many rows.")
    on_error: str = option(
        "unparsed", "If an input fails: 'unparsed' (count it, list it and continue) or 'stop' (end the run)."
    )
    retry_failed: bool = option(False, "Retry inputs that failed in an earlier call.")
    overwrite: bool = option(False, "Delete an earlier run in the folder; endpoint answers are moved to a backup.")
    texts: bool = option(True, "Keep the texts in the run folder, for reports; predictions files never hold them.")
    until: str | None = option(None, "Stop once known: 'pc >= 0.75', 'wording_change +- 0.03', 'pc > RUN'.")
    until_set: bool = option(
        False, "With `until`: the mean over this very set, without replacement; not that of the population.", rare=True
    )
    wordings: int | None = option(
        None, "With `until`: ask this many wordings of each bucket, drawn at random; by default all.", min=1, rare=True
    )
    noise_floor: int = option(0, "Repeat a share of the rows N times in other batches, to measure noise.", min=0)
    repeats: int = option(
        0, "Of a function, or with a `temperature`: repeat a share of the rows N times, with different seeds.", min=0
    )
    noise_share: float = option(
        0.2, "Share of each bucket's rows that `noise_floor` and `repeats` ask again.", min=0, max=1
    )

    def __post_init__(self) -> None:
        check_choice("run", "on_error", self.on_error, ON_ERROR)
        for name in ("noise_floor", "repeats", "seed"):
            check_whole("run", name, getattr(self, name), at_least=0)
        if self.compile and self.deterministic:
            raise input_error("run", "compile", "not be given with `deterministic`", got=True)
        if not 0.0 < self.noise_share <= 1.0:
            raise input_error("run", "noise_share", "lie between 0 and 1", got=self.noise_share)

    @property
    def asks_failed(self) -> bool:
        """Whether inputs that failed in an earlier call are asked again."""
        return self.retry_failed or self.on_error == "stop"
