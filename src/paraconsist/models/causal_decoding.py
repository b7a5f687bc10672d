"""Greedy decoding behind a cached prefix: rows of one length, none of them padded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache

from paraconsist.models.causal_prefix import FrozenLayer, Prefix


class _GrowingLayer(FrozenLayer):
    """One layer of a prefix, shared by all rows, and behind it the keys that each row has added."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__(keys, values)
        self._added: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self._added is not None:
            key_states = torch.cat([self._added[0], key_states], dim=-2)
            value_states = torch.cat([self._added[1], value_states], dim=-2)
        self._added = (key_states, value_states)
        return super().update(key_states, value_states)

    def get_seq_length(self) -> int:
        return super().get_seq_length() + (0 if self._added is None else int(self._added[0].shape[-2]))


def decode_greedily(
    module: Any,
    prefix: Prefix | None,
    n_prefix: int,
    rows: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    stop: Collection[int],
) -> tuple[list[list[int]], torch.Tensor]:
    """Continue rows of one length with the most probable token each time.

    Parameters
    ----------
    module : transformers.PreTrainedModel
    prefix : Prefix, optional
        What the first `n_prefix` tokens of every prompt left; None where they stand in `rows`.
    n_prefix : int
    rows : sequence of sequences of int, all of one length
        The prompts' tokens behind the prefix, at least one.
    max_new_tokens : int
    stop : collection of int
        Tokens that end an answer; they are left out.

    Returns
    -------
    answers : list of list of int
    first : float32 tensor, shape (n, vocabulary)
        The logits of the first new token, for checks.
    """
    layers = [] if prefix is None else [_GrowingLayer(k[:, :, :n_prefix], v[:, :, :n_prefix]) for k, v in prefix.layers]
    cache = Cache(layers=layers) if layers else None
    ids = torch.tensor([list(row) for row in rows], device=module.device)
    answers: list[list[int]] = [[] for _ in rows]
    going = [True] * len(rows)
    first: torch.Tensor | None = None
    n_seen = n_prefix
    for _ in range(max_new_tokens):
        places = torch.arange(n_seen, n_seen + ids.shape[1], device=ids.device)[None].expand(len(rows), -1)
        n_seen += ids.shape[1]
        out = module(
            input_ids=ids,
            attention_mask=torch.ones(len(rows), n_seen, dtype=torch.long, device=ids.device),
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = out.past_key_values
        logits = out.logits[:, -1].float()
        first = logits if first is None else first
        chosen = logits.argmax(dim=-1)
        for row, token in enumerate(chosen.tolist()):
            going[row] = going[row] and token not in stop
            if going[row]:
                answers[row].append(token)
        if not any(going):
            break
        ids = chosen[:, None]
    assert first is not None
    return answers, first
