"""Language models as classifiers: the label word that the model finds most probable after the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from paraconsist.data.tasks import ModelInput
from paraconsist.errors import input_error
from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.causal_engine import CausalEngine, PromptTokens, plan_packs
from paraconsist.models.classifier import Prepared, TokenArray
from paraconsist.models.prompted import PreparedPrompt, PromptedModel, check_labels

_CHUNK = 256
_N_BOUNDARIES = 8


class CausalScorer(PromptedModel):
    """A causal language model behind the `Classifier` protocol.

    `logits` are the log-probabilities of the label words after the prompt, all of their tokens counted; a softmax
    over them is the confidence that S24 uses. What all prompts begin with is computed once and kept; what some
    have in common is computed once in their batch (see `Pack`).
    """

    pads = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.engine = CausalEngine(self.module, share=self.settings.share)
        self._opening = [] if self.settings.chat else opening_tokens(self.tokenizer)
        self._labels: tuple[TokenArray, ...] | None = None

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all prompts. The first call decides which tokens are kept as the shared prefix.

        Prompts longer than the window, and label words that cannot be told apart, are an `InputError`.
        """
        texts = [choices[0].text for choices in inputs]
        prepared: list[Prepared] = []
        lengths: list[int] = []
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            prompts = self._tokens(chunk)
            labels = self._label_tokens(chunk, prompts)
            if not self.engine.prefix_tokens:
                common = _n_shared(prompts[0], prompts[-1])
                common = min([common, *(_n_shared(prompts[0], prompt) for prompt in prompts)])
                self.engine.prefix_tokens = tuple(prompts[0][: min(common, len(prompts[0]) - 1)].tolist())
            prefix = np.array(self.engine.prefix_tokens, dtype=np.int64)
            for prompt, words in zip(prompts, labels, strict=True):
                shared = min(_n_shared(prefix, prompt), len(prompt) - 1)
                rest = prompt[shared:].copy()
                lengths.append(len(prompt) + max(len(word) for word in words))
                prepared.append(PreparedPrompt((rest,), None, len(rest), len(rest), shared, words))
        self.check_window(lengths)
        return prepared

    def _tokens(self, texts: Sequence[str]) -> list[TokenArray]:
        encoded = self.tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False)
        return [np.array([*self._opening, *ids], dtype=np.int64) for ids in encoded["input_ids"]]

    def _label_tokens(self, texts: Sequence[str], prompts: list[TokenArray]) -> list[tuple[TokenArray, ...]]:
        """Label words in tokens, for each prompt.

        Nearly always a token ends where the prompt does, and the words' tokens are the same after each: that is
        looked up on some prompts. Where it is not so, prompt and answer are tokenised as one for every row, and
        what the answers have in common with the prompt stays the prompt's (which is cut here, in place).
        """
        if self._labels is None:
            some = sorted({round(i * (len(texts) - 1) / (_N_BOUNDARIES - 1)) for i in range(_N_BOUNDARIES)})
            whole = [self._tokens([texts[i] + answer for answer in self.answers]) for i in some]
            labels = tuple(ids[len(prompts[some[0]]) :] for ids in whole[0])
            if all(
                np.array_equal(ids, np.concatenate([prompts[i], word]))
                for i, row in zip(some, whole, strict=True)
                for ids, word in zip(row, labels, strict=True)
            ):
                self._check(labels)
                self._labels = labels
        if self._labels is not None:
            return [self._labels] * len(texts)
        every = []
        for i, text in enumerate(texts):
            row = self._tokens([text + answer for answer in self.answers])
            end = max(1, min(_n_shared(prompts[i], ids) for ids in row))
            every.append(tuple(ids[end:] for ids in row))
            prompts[i] = prompts[i][:end]
            self._check(every[-1])
        return every

    def _check(self, labels: Sequence[TokenArray]) -> None:
        words = [ids.tolist() for ids in labels]
        check_labels(self.answers, words, self.tokenizer.unk_token_id, self.settings.normalize)

    def plan(
        self, inputs: Sequence[tuple[ModelInput, ...]], shapes: Sequence[Shape], policy: BatchPolicy
    ) -> list[list[int]]:
        """Batches of prompts that begin alike, the one with the longest prompt first, unless the policy shuffles."""
        if policy.order_seed is not None:
            return plan_batches(shapes, replace(policy, max_tokens=policy.max_packed))
        return plan_packs(
            [choices[0].text for choices in inputs],
            [shape.n_tokens for shape in shapes],
            max_tokens=policy.max_packed,
            max_rows=policy.max_rows,
        )

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Label log-probabilities, normalised as the settings say; shape (n, n_labels), float32."""
        rows = [
            PromptTokens(row.n_shared, row.sequences[0].tolist(), tuple(word.tolist() for word in row.labels))
            for row in batch
            if isinstance(row, PreparedPrompt)
        ]
        return self.normalised(self.engine.log_probabilities(rows), batch)


def opening_tokens(tokenizer: Any) -> list[int]:
    """The special tokens that a tokenizer puts before a text (a beginning-of-text token, mostly), none behind it."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for start in range(len(full) - len(plain) + 1):
        if full[start : start + len(plain)] == plain:
            return [int(token) for token in full[:start]]
    return []


def _n_shared(first: TokenArray, second: TokenArray) -> int:
    """How many tokens two sequences begin with alike."""
    n = min(len(first), len(second))
    differing = np.flatnonzero(first[:n] != second[:n])
    return int(differing[0]) if len(differing) else n


class Seq2SeqModel(PromptedModel):
    """What sequence-to-sequence models that score and that write have in common.

    The encoder reads in both directions: what prompts begin with cannot be shared between them, as it is with causal
    models, without changing the answers.
    """

    _labels: tuple[TokenArray, ...] = ()

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all prompts; raises `InputError` for prompts longer than the window."""
        if not inputs:
            return []
        encoded = self.tokenizer(
            [choices[0].text for choices in inputs],
            add_special_tokens=not self.settings.chat,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        self.check_window([len(ids) for ids in encoded])
        arrays = [np.array(ids, dtype=np.int64) for ids in encoded]
        return [PreparedPrompt((ids,), None, len(ids), len(ids), 0, self._labels) for ids in arrays]


class Seq2SeqScorer(Seq2SeqModel):
    """A sequence-to-sequence model behind the `Classifier` protocol; `logits` as in `CausalScorer`.

    Each prompt is encoded once, and every label word scored behind it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        tokenizer, words = self.tokenizer, self.settings.prompt.template.words
        encoded = tokenizer(list(words), add_special_tokens=False, return_attention_mask=False)["input_ids"]
        check_labels(words, encoded, tokenizer.unk_token_id, self.settings.normalize)
        self._labels = tuple(np.array(ids, dtype=np.int64) for ids in encoded)
        configs = (self.module.config, self.module.generation_config)
        starts = [getattr(config, "decoder_start_token_id", None) for config in configs]
        start = next((start for start in starts if start is not None), None)
        if start is None:
            must = "name a `decoder_start_token_id` in its configuration"
            raise input_error("load_model", "model", must, got=self.identity.get("model"))
        self._start = int(start)

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Label log-probabilities, normalised as the settings say; shape (n, n_labels), float32."""
        device = self.module.device
        prompts = {name: tensor.to(device) for name, tensor in self.collate(batch).items()}
        states = self.module.get_encoder()(**prompts, return_dict=True).last_hidden_state
        beginnings = list(dict.fromkeys((self._start, *word[:-1].tolist()) for word in self._labels))
        width = max(map(len, beginnings))
        decoder = torch.tensor([[*b, *[self._start] * (width - len(b))] for b in beginnings], device=device)
        n, k = len(batch), len(beginnings)
        logits = self.module(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.repeat_interleave(k, dim=0)),
            attention_mask=prompts["attention_mask"].repeat_interleave(k, dim=0),
            decoder_input_ids=decoder.repeat(n, 1),
            use_cache=False,
        ).logits.float()
        probable = logits.log_softmax(dim=-1).view(n, k, width, -1)
        columns = []
        for word in self._labels:
            place = beginnings.index((self._start, *word[:-1].tolist()))
            steps = torch.arange(len(word), device=device)
            columns.append(probable[:, place, steps, torch.from_numpy(word).to(device)].sum(dim=-1))
        return self.normalised(torch.stack(columns, dim=1), batch)
