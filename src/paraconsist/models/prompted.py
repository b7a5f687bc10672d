"""What causal and sequence-to-sequence models have in common: prompts in, tokens out, label words, the window."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import torch

from paraconsist.data.prompts import Prompt
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, check_choice, check_whole, first_line, input_error
from paraconsist.models.classifier import Prepared, TokenArray, pad_sequences
from paraconsist.models.endpoint.protocol import without_system
from paraconsist.models.endpoint.settings import NORMALIZE, SCORING, check_temperature, draw_identity


@dataclass(frozen=True)
class PromptSettings:
    """How a language model is asked."""

    prompt: Prompt  # template and examples
    scoring: str = "label"  # compare the label words' probabilities, or let the model write (generate)
    normalize: str = "none"  # what label log-probabilities are divided by
    chat: bool = False  # put the prompt through the tokenizer's chat template
    max_new_tokens: int = 8  # of a written answer
    temperature: float = 0.0  # of a written answer; 0 for the most probable one
    seed: int = 0  # of the draws
    device_map: str | None = None  # spread the weights over devices ("auto"), as accelerate does
    share: bool = True  # compute what prompts have in common once; False is for comparisons only

    def __post_init__(self) -> None:
        check_choice("run", "scoring", self.scoring, SCORING)
        check_choice("run", "normalize", self.normalize, NORMALIZE)
        check_whole("run", "max_new_tokens", self.max_new_tokens)
        check_temperature(self.temperature, self.scoring)

    @property
    def identity(self) -> dict[str, str]:
        """What of the settings decides predictions, for the run's identity."""
        identity = {
            "template": self.prompt.template.name,
            "prompt_hash": self.prompt.hash,
            "shots": str(len(self.prompt.examples)),
            "scoring": self.scoring,
            "chat": str(self.chat),
        }
        if self.scoring == "label":
            return {**identity, "normalize": self.normalize}
        return {**identity, "max_new_tokens": str(self.max_new_tokens), **draw_identity(self.temperature, self.seed)}


@dataclass(frozen=True, slots=True)
class PreparedPrompt(Prepared):
    """A prompt in tokens, without the first `n_shared`, and the label words that may follow it."""

    n_shared: int = 0
    labels: tuple[TokenArray, ...] = ()


class PromptedModel:
    """A language model that is asked a prompt for each row; the base of the scoring and writing models.

    `window` is the longest prompt with answer in tokens, `identity` what the predictions file records of the model.
    """

    multiple_choice = False
    pads = True
    reentrant = False

    def __init__(
        self, module: Any, tokenizer: Any, settings: PromptSettings, *, window: int | None, identity: Mapping[str, str]
    ) -> None:
        if settings.chat and not getattr(tokenizer, "chat_template", None):
            name, remedy = identity.get("model", type(module).__name__), "Leave it out: the prompt is then plain text."
            must = "be given only for models whose tokenizer has a chat template"
            raise input_error("run", "chat", must, got=name, remedy=remedy)
        self.module = module
        self.tokenizer = tokenizer
        self.settings = settings
        self.window = window
        self.label_names = settings.prompt.template.label_names
        self.identity: Mapping[str, str] = {
            **identity,
            **settings.identity,
            "max_length": "unlimited" if window is None else str(window),
        }

    @property
    def draws(self) -> bool:
        """Whether its answers are drawn, and differ from seed to seed."""
        return self.settings.temperature > 0

    def with_seed(self, seed: int) -> PromptedModel:
        """The same model, whose answers are drawn anew."""
        other = copy.copy(self)
        other.settings = replace(self.settings, seed=seed)
        return other

    def encode(self, task: Task, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """The row's prompt."""
        if not self.settings.chat:
            return (ModelInput(self.settings.prompt.text(task, row), None),)
        messages = self.settings.prompt.messages(task, row)
        try:
            text = self._render_chat(messages)
        except Exception as problem:  # templates raise what they like where they know no system's turn
            if messages[0]["role"] != "system":
                must = f"the model's chat template refused the prompt: {first_line(problem)}"
                raise InputError(must, function="run") from None
            text = self._render_chat(without_system(messages))
        return (ModelInput(text, None),)

    def _render_chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        text: str = self.tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        return text

    @property
    def answers(self) -> tuple[str, ...]:
        """The label words as they follow the prompt."""
        template = self.settings.prompt.template
        return template.words if self.settings.chat else template.answers

    def check_window(self, lengths: Sequence[int]) -> None:
        """Refuse prompts (with their answers) that do not fit, by one `InputError`: they are never cut."""
        too_long = sum(self.window is not None and n > self.window for n in lengths)
        if too_long:
            must = f"make prompts of at most {self.window} tokens, the model's window, answer included"
            got = f"{too_long:,} longer ones, the longest of {max(lengths):,} tokens"
            remedy = "Prompts are never cut: give fewer `shots`, another `template`, or a model with a wider window."
            raise input_error("run", "shots", must, got=got, remedy=remedy)

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all prompts; raises `InputError` for prompts longer than the window."""
        raise NotImplementedError

    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores of the labels, shape (n, n_labels); models that write their answers give none."""
        raise NotImplementedError(f"{type(self).__name__} gives no scores")

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """``input_ids`` and ``attention_mask``, padded on the right; int64 tensors of shape (n, width)."""
        padded, real = pad_sequences([row.sequences[0] for row in batch], self.tokenizer.pad_token_id or 0)
        return {"input_ids": torch.from_numpy(padded), "attention_mask": torch.from_numpy(real.astype(np.int64))}

    def normalised(self, totals: torch.Tensor, batch: Sequence[Prepared]) -> torch.Tensor:
        """Divide summed log-probabilities, shape (n, n_labels), as the settings say."""
        if self.settings.normalize == "none":
            return totals
        if self.settings.normalize == "characters":
            lengths = [[len(answer.strip()) for answer in self.answers]] * len(batch)
        else:
            lengths = [[len(word) for word in row.labels] for row in batch if isinstance(row, PreparedPrompt)]
        return totals / torch.tensor(lengths, dtype=totals.dtype, device=totals.device)


def check_labels(words: Sequence[str], tokens: Sequence[Sequence[int]], unknown: int | None, normalize: str) -> None:
    """Refuse label words that cannot be told apart in tokens.

    Two words must not have the same tokens, none or unknown ones, nor, without normalisation, one word's tokens begin
    another's (the shorter one would win always). Words that merely begin alike are no problem: all tokens are scored.
    """
    seen: dict[tuple[int, ...], str] = {}
    for word, ids in zip(words, tokens, strict=True):
        if not len(ids) or (unknown is not None and unknown in ids):
            raise input_error("run", "template", "have label words that the model's tokenizer knows", got=word.strip())
        twin = seen.setdefault(tuple(int(i) for i in ids), word)
        if twin != word:
            must, remedy = "have label words with different tokens", "Use other label words."
            got = f"{twin.strip()} and {word.strip()}, the same {len(ids)} to the model's tokenizer"
            raise input_error("run", "template", must, got=got, remedy=remedy)
    for short, long in permutations(seen, 2) if normalize == "none" else ():
        if len(short) < len(long) and long[: len(short)] == short:
            must = "have no label word that begins another, unless scores are normalised"
            remedy = "The shorter one would always win: `normalize` by tokens, or use other label words."
            got = f"{seen[short].strip()} and {seen[long].strip()}"
            raise input_error("run", "template", must, got=got, remedy=remedy)


def window_of(module: Any) -> int | None:
    """Positions that a model has; None where any length goes (relative positions, as T5's)."""
    positions = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    return positions if isinstance(positions, int) and positions > 0 else None
