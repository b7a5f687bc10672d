"""Texts that language models write: of any kind by `generate`, and answers to a task, which are read as labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from numpy.typing import NDArray
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import Cache

from paraconsist.data.failures import NOT_FINITE_REMEDY
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.errors import input_error
from paraconsist.files import Json
from paraconsist.models import causal_engine
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.classifier import Inputs, Prepared, TokenArray, pad_sequences
from paraconsist.models.endpoint.settings import PromptSettings
from paraconsist.models.pretrained import LanguageModel
from paraconsist.models.prompted import CausalScorer, PreparedPrompt, Seq2SeqModel, opening_tokens

#: Generation settings without which a token's probability is the model's own, and a cache may be given.
_PLAIN: Json = {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "min_length": 0, "cache_implementation": None}
_ROOM = 64  # tokens for which keys and values of an answer find room at a time


@dataclass(frozen=True)
class GenerationSettings:
    """How texts are written: greedily, by beams, or sampled at a `temperature`.

    Batches are sampled in order, so that the result also depends on `batch_rows`.
    """

    n: int = 1  # texts for each prompt
    max_new_tokens: int = 40  # of one text
    num_beams: int = 1  # 1 for greedy search or sampling
    temperature: float | None = None  # None for greedy or beam search
    top_k: int | None = None  # sample among this many most probable tokens
    top_p: float | None = None  # sample among the most probable tokens with this total probability
    seed: int = 0  # of the sampling
    batch_rows: int = 16  # prompts a batch; halved if memory does not suffice
    more: Json | None = None  # further arguments of transformers' ``generate``

    def arguments(self) -> Json:
        """Return the arguments of transformers' ``generate``."""
        sampled = self.temperature is not None
        arguments: dict[str, object] = {"max_new_tokens": self.max_new_tokens, "num_return_sequences": self.n}
        arguments |= {"num_beams": self.num_beams, "do_sample": sampled}
        if sampled:
            arguments |= {"temperature": self.temperature, "top_k": self.top_k or 0, "top_p": self.top_p or 1.0}
        return {**arguments, **(self.more or {})}


def generate(language: LanguageModel, texts: Sequence[str], settings: GenerationSettings) -> list[list[str]]:
    """Let a language model continue texts (causal) or answer them (sequence-to-sequence); `texts` are whole prompts.

    Returns for each, in order, `settings.n` texts without special tokens; a causal model's do not repeat the prompt.
    InputError for a prompt that alone exceeds the memory, numbers that are not finite, and greedy search for several
    texts.
    """
    if settings.n > 1 and settings.temperature is None and settings.num_beams < settings.n:
        must = f"be {settings.n} or more, or a `temperature` be given"
        raise input_error("generate", "num_beams", must, got=settings.num_beams)
    tokenizer, causal = language.tokenizer, language.kind == "causal"
    opening = opening_tokens(tokenizer) if causal else []
    encoded = tokenizer(list(texts), add_special_tokens=not causal, return_attention_mask=False, verbose=False)
    tokens = [np.array([*opening, *ids], dtype=np.int64) for ids in encoded["input_ids"]]
    order = sorted(range(len(texts)), key=lambda i: (-len(tokens[i]), i))
    written: dict[int, list[str]] = {}
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(settings.seed)
        for start in range(0, len(order), settings.batch_rows):
            batch = order[start : start + settings.batch_rows]
            out = _generate_batch(language, [tokens[i] for i in batch], settings.arguments())
            for place, i in enumerate(batch):
                of_one = out[place * settings.n : (place + 1) * settings.n]
                written[i] = [str(text) for text in tokenizer.batch_decode(of_one, skip_special_tokens=True)]
    return [written[i] for i in range(len(texts))]


def _generate_batch(language: LanguageModel, rows: Sequence[TokenArray], arguments: Json) -> list[Any]:
    """Return new tokens for each row, `num_return_sequences` in turn; in halves if memory does not suffice."""
    module, tokenizer, causal = language.module, language.tokenizer, language.kind == "causal"
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else stop_tokens(module, tokenizer)[0]
    watch = _Watch(module, tokenizer)
    steps = LogitsProcessorList([watch, *arguments.get("logits_processor", ())])
    options = {**arguments, "pad_token_id": pad, "logits_processor": steps}
    try:
        padded, real = pad_sequences(rows, pad, left=causal)
        ids, mask = (torch.from_numpy(a).to(module.device) for a in (padded, real.astype(np.int64)))
        out = module.generate(input_ids=ids, attention_mask=mask, **options)
    except (RuntimeError, MemoryError) as problem:
        _refuse_spoilt(watch)  # drawing by numbers that are not finite fails
        if not (isinstance(problem, MemoryError) or should_reduce_batch_size(problem)):
            raise
        if len(rows) == 1:
            got = f"a prompt of {len(rows[0])} tokens"
            raise input_error("generate", "texts", "fit in memory one at a time", got=got) from None
        out = None
    if out is None:  # only here is the exception gone, and with it the memory that its frames held
        clear_device_cache()
        half = len(rows) // 2
        return _generate_batch(language, rows[:half], arguments) + _generate_batch(language, rows[half:], arguments)
    _refuse_spoilt(watch)
    return list(out[:, padded.shape[1] :] if causal else out)


def _refuse_spoilt(watch: _Watch) -> None:
    if watch.spoilt.any():
        raise input_error("generate", "language", "compute finite numbers", remedy=NOT_FINITE_REMEDY)


def stop_tokens(module: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a text, from a model's generation settings or else its tokenizer."""
    stop = getattr(module.generation_config, "eos_token_id", None)
    stop = tokenizer.eos_token_id if stop is None else stop
    return [] if stop is None else [int(t) for t in stop] if isinstance(stop, list) else [int(stop)]


class CausalWriter(CausalScorer):
    """A causal language model that writes its answer after the shared prefix.

    At every place it takes the most probable token, or draws one if there is a temperature (see `Draws`).
    """

    pads = True
    by_text = False
    writes = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stop = stop_tokens(self.module, self.tokenizer)
        self._prefix: causal_engine.Prefix | None = None
        self._checked = not self.settings.share

    def _label_tokens(self, texts: Sequence[str], prompts: list[TokenArray]) -> list[tuple[TokenArray, ...]]:
        """Return as many places as an answer may take: they count for the window only."""
        return [(np.zeros(self.settings.max_new_tokens, dtype=np.int64),)] * len(texts)

    def plan(self, inputs: Inputs, shapes: Sequence[Shape], policy: BatchPolicy) -> list[list[int]]:
        """Form batches of one length: sliding windows would see padding between a prompt and its answer.

        If the policy shuffles, lengths are mixed, and `write` splits a batch by length.
        """
        if policy.order_seed is not None:
            return plan_batches(shapes, policy)
        return plan_batches(shapes, replace(policy, batch_cost=0.0))

    @torch.inference_mode()
    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        rows, template = [row for row in batch if isinstance(row, PreparedPrompt)], self.settings.prompt.template
        by_length: dict[tuple[int, int], list[int]] = {}
        for place, row in enumerate(rows):
            by_length.setdefault((row.n_shared, len(row.sequences[0])), []).append(place)
        written: dict[int, WrittenAnswer | None] = {}
        for (n_shared, _), places in by_length.items():
            shared = self.engine.prefix_tokens[:n_shared]
            whole = [[*shared, *rows[place].sequences[0].tolist()] for place in places]
            for place, ids in zip(places, self._decode(n_shared, whole), strict=True):
                cut = ids is not None and len(ids) == self.settings.max_new_tokens
                text = None if ids is None else self.tokenizer.decode(ids, skip_special_tokens=True)
                written[place] = None if text is None else template.read(text, cut=cut)
        return [written[place] for place in range(len(rows))]

    def _decode(self, n_shared: int, whole: Sequence[Sequence[int]]) -> list[list[int] | None]:
        """Continue prompts of one length, of whose first `n_shared` tokens keys and values may be known."""
        ids = torch.tensor(whole, device=self.module.device)
        stretched = self.engine.is_stretched(len(whole[0]))
        if not self._checked and not stretched:
            self._checked = self._check_sharing(n_shared, ids[:1])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self._prefix is not None and n_shared and not stretched:
            inputs["past_key_values"] = growing_cache(self._prefix, n_shared)
        pad = self._stop[0] if self._stop else 0
        out, spoilt = _write(self, Draws.of(self.settings, whole), **inputs, pad_token_id=pad)
        new = out[:, ids.shape[1] :].tolist()
        return [None if bad else _until(ids, self._stop) for ids, bad in zip(new, spoilt, strict=True)]

    def _check_sharing(self, n_shared: int, whole: torch.Tensor) -> bool:
        """Keep the prefix if logits behind it are those of the whole prompt; return if that could be checked."""
        if not self.engine.prefix_tokens:
            return True

        def expected() -> torch.Tensor:
            logits: torch.Tensor = self.module(input_ids=whole, use_cache=False).logits[:, -1].float()
            return logits

        def difference(prefix: causal_engine.Prefix | None) -> float:
            assert prefix is not None  # there are tokens of it
            self._prefix, cache = prefix, growing_cache(prefix, n_shared)
            places = torch.arange(n_shared, whole.shape[1], device=whole.device)[None]
            inputs = {"input_ids": whole[:, n_shared:], "attention_mask": torch.ones_like(whole)}
            logits = self.module(**inputs, position_ids=places, past_key_values=cache, use_cache=True).logits
            return float((logits[:, -1].float() - expected()).abs().max())

        if bool(_not_finite(expected())):
            return False
        try:
            agrees, changed = causal_engine.check_sharing(self.module, self.engine.prefix_tokens, difference)
            why = f"differs by {changed:.2g}"
        except causal_engine.CANNOT as problem:
            if should_reduce_batch_size(problem):
                raise
            agrees, why = False, type(problem).__name__
        if not agrees:
            self._prefix = None
            causal_engine.warn_of_no_sharing(self.module, why)
        return True


def _not_finite(logits: torch.Tensor) -> torch.Tensor:
    """Return which rows of logits are nan or infinite; impossible tokens (minus infinity) are allowed."""
    return ~(logits < torch.inf).all(dim=-1)


def _write(model: CausalScorer | Seq2SeqModel, draws: Draws | None, **inputs: Any) -> tuple[Any, list[bool]]:
    """Let transformers write, by draws or the most probable tokens; return also which rows had numbers not finite.

    What the model's own generation settings say of penalties and caches does not count.
    """
    options: Json = {"max_new_tokens": model.settings.max_new_tokens, "do_sample": False, "num_beams": 1, **_PLAIN}
    if stop := model.settings.prompt.template.stop:
        options = {**options, "stop_strings": [stop], "tokenizer": model.tokenizer}
    watch = _Watch(model.module, model.tokenizer)
    steps = LogitsProcessorList([watch] if draws is None else [watch, draws])
    return model.module.generate(**inputs, **options, logits_processor=steps), watch.spoilt.tolist()


class _Watch(LogitsProcessor):  # type: ignore[misc]
    """Records which rows of a batch had numbers not finite (`spoilt`) before a token that ends an answer."""

    def __init__(self, module: Any, tokenizer: Any) -> None:
        pad = [] if tokenizer.pad_token_id is None else [tokenizer.pad_token_id]
        self._ends = torch.tensor([*stop_tokens(module, tokenizer), *pad], device=module.device)
        self.spoilt = self._ended = torch.tensor(False, device=module.device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores as they are."""
        if self.spoilt.ndim:  # else the last token is the prompt's
            self._ended = self._ended | torch.isin(input_ids[:, -1], self._ends)
        self.spoilt = self.spoilt | (_not_finite(scores) & ~self._ended)
        return scores


class Seq2SeqWriter(Seq2SeqModel):
    """A sequence-to-sequence model that writes its answer, as `CausalWriter` does."""

    writes = True

    @torch.inference_mode()
    def write(self, batch: Sequence[Prepared]) -> list[WrittenAnswer | None]:
        prompts = {name: tensor.to(self.module.device) for name, tensor in self.collate(batch).items()}
        draws = Draws.of(self.settings, [row.sequences[0].tolist() for row in batch])
        out, spoilt = _write(self, draws, **prompts)
        texts, stop = (
            self.tokenizer.batch_decode(out, skip_special_tokens=True),
            stop_tokens(self.module, self.tokenizer),
        )
        cut = [len(_until(ids, stop)) == self.settings.max_new_tokens for ids in out[:, 1:].tolist()]
        read = self.settings.prompt.template.read
        return [None if bad else read(text, cut=is_cut) for text, bad, is_cut in zip(texts, spoilt, cut, strict=True)]


class Draws(LogitsProcessor):  # type: ignore[misc]
    """Draws the next tokens of a batch, each row by its own random numbers, which its prompt and the seed decide.

    An answer does not depend on the rest of its batch, nor on the process that writes it; in another batch it differs
    by rounding alone. A token is drawn if the row's number of that place falls into its share of the distribution
    function: `numbers` are in [0, 1), of shape (n_rows, n_places). Used once a batch, because places are counted.
    """

    def __init__(self, temperature: float, numbers: NDArray[np.float64]) -> None:
        self._temperature, self._numbers, self._place = temperature, torch.from_numpy(numbers), 0

    @classmethod
    def of(cls, settings: PromptSettings, prompts: Sequence[Sequence[int]]) -> Draws | None:
        """Return the draws of prompts in tokens; None if the most probable tokens are taken."""
        if not settings.temperature > 0:
            return None
        digests = [hashlib.sha256(np.array(ids, dtype="<i8").tobytes()).digest() for ids in prompts]
        seeds = [[settings.seed, int.from_bytes(digest[:16], "big")] for digest in digests]
        numbers = [np.random.default_rng(seed).random(settings.max_new_tokens) for seed in seeds]
        return cls(settings.temperature, np.array(numbers))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores that are finite for the drawn token only."""
        shares = torch.softmax(scores.cpu().double() / self._temperature, dim=-1).cumsum(dim=-1)  # MPS has no float64
        wanted = self._numbers[:, self._place, None] * shares[:, -1:]
        self._place += 1
        drawn = torch.searchsorted(shares, wanted, right=True).clamp(max=scores.shape[-1] - 1)
        return torch.full_like(scores, -torch.inf).scatter(1, drawn.to(scores.device), 0.0)


def _until(ids: Sequence[int], stop: Sequence[int]) -> list[int]:
    """Return the tokens before the first that ends an answer."""
    return list(ids[: next((i for i, token in enumerate(ids) if token in stop), len(ids))])


class _GrowingLayer(causal_engine.FrozenLayer):
    """One layer of a prefix, copied once for every row, and behind it the keys and values that each row adds.

    New ones are written into the room behind them, so that a token moves its own bytes only.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__(keys, values)
        self._grown: tuple[torch.Tensor, torch.Tensor] | None = None
        self._n = super().get_seq_length()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        old, n = self._grown or (self.keys, self.values), self._n
        self._n += int(key_states.shape[-2])
        if self._grown is None or self._n > self._grown[0].shape[-2]:
            self._grown = _with_room(old[0], key_states, n), _with_room(old[1], value_states, n)
        for all_states, states in zip(self._grown, (key_states, value_states), strict=True):
            all_states[:, :, n : self._n] = states
        return self._grown[0][:, :, : self._n], self._grown[1][:, :, : self._n]

    def get_seq_length(self) -> int:
        return self._n


def growing_cache(prefix: causal_engine.Prefix, n: int) -> Cache:
    """Return a cache of the first `n` tokens of a prefix, behind which any number of rows may grow."""
    return Cache(layers=[_GrowingLayer(keys[:, :, :n], values[:, :, :n]) for keys, values in prefix.layers])


def _with_room(old: torch.Tensor, new: torch.Tensor, n: int) -> torch.Tensor:
    """Return the first `n` keys or values for all rows of the new ones, with room for these and some more."""
    size = n + int(new.shape[-2]) + _ROOM
    grown = new.new_empty((new.shape[0], new.shape[1], size, new.shape[-1]))
    grown[:, :, :n] = old[:, :, :n]
    return grown
