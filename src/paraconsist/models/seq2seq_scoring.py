"""Sequence-to-sequence models as classifiers: each prompt is encoded once, and every label word scored behind it.

The encoder reads in both directions: what prompts begin with cannot be shared between them, as it is with causal
models, without changing the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from paraconsist.data.tasks import ModelInput
from paraconsist.errors import input_error
from paraconsist.models.classifier import Prepared
from paraconsist.models.prompted import PreparedPrompt, PromptedModel, PromptSettings, check_labels


class Seq2SeqScorer(PromptedModel):
    """A sequence-to-sequence model behind the `Classifier` protocol; `logits` as in `CausalScorer`."""

    def __init__(
        self, module: Any, tokenizer: Any, settings: PromptSettings, *, window: int | None, identity: Mapping[str, str]
    ) -> None:
        super().__init__(module, tokenizer, settings, window=window, identity=identity)
        words = settings.prompt.template.words
        encoded = tokenizer(list(words), add_special_tokens=False, return_attention_mask=False)["input_ids"]
        check_labels(words, encoded, tokenizer.unk_token_id, settings.normalize)
        self._labels = tuple(np.array(ids, dtype=np.int64) for ids in encoded)
        start = getattr(module.config, "decoder_start_token_id", None)
        if start is None:
            start = getattr(module.generation_config, "decoder_start_token_id", None)
        if start is None:
            raise input_error(
                "load_model", "model", "name a `decoder_start_token_id` in its configuration", got=identity.get("model")
            )
        self._start = int(start)

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all prompts; see `CausalScorer.prepare`."""
        if not inputs:
            return []
        encoded = self.tokenizer(
            [given[0].text for given in inputs],
            add_special_tokens=not self.settings.chat,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        self.check_window([len(ids) for ids in encoded])
        arrays = [np.array(ids, dtype=np.int64) for ids in encoded]
        return [PreparedPrompt((ids,), None, len(ids), len(ids), 0, self._labels) for ids in arrays]

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Label log-probabilities, normalised as the settings say; shape (n, n_labels), float32."""
        device = self.module.device
        given = {name: tensor.to(device) for name, tensor in self.collate(batch).items()}
        states = self.module.get_encoder()(**given, return_dict=True).last_hidden_state
        beginnings = list(dict.fromkeys((self._start, *word[:-1].tolist()) for word in self._labels))
        width = max(map(len, beginnings))
        decoder = torch.tensor([[*b, *[self._start] * (width - len(b))] for b in beginnings], device=device)
        n, k = len(batch), len(beginnings)
        logits = self.module(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.repeat_interleave(k, dim=0)),
            attention_mask=given["attention_mask"].repeat_interleave(k, dim=0),
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
