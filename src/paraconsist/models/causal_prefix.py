"""The keys and values of a prefix, computed once and held once, whatever number of rows is computed behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

_CHUNK = 1024


class FrozenLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer of a prefix: new keys are set behind it for one forward pass, and none are kept."""

    is_sliding = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to do: the prefix is there."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        n_rows = key_states.shape[0]
        keys = torch.cat([self.keys.expand(n_rows, -1, -1, -1), key_states], dim=-2)
        return keys, torch.cat([self.values.expand(n_rows, -1, -1, -1), value_states], dim=-2)

    def get_seq_length(self) -> int:
        return int(self.keys.shape[-2])

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return -1


class Prefix:
    """The cached prefix of one model.

    Parameters
    ----------
    layers : sequence of (keys, values)
        Each of shape (1, heads, n, dimension).
    """

    def __init__(self, layers: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.layers = layers

    @property
    def n_bytes(self) -> int:
        """Memory that keys and values take."""
        return sum(t.element_size() * t.nelement() for layer in self.layers for t in layer)

    def first(self, n: int) -> Cache:
        """A cache that stands for the first `n` tokens; it shares memory with the prefix and never changes it."""
        return Cache(layers=[FrozenLayer(keys[:, :, :n], values[:, :, :n]) for keys, values in self.layers])


def compute_prefix(module: Any, tokens: Sequence[int]) -> Prefix:
    """Run the model over a prefix and keep what its attention computed.

    Raises
    ------
    TypeError
        If the model keeps anything but keys and values of every token (recurrent states, for one).
    """
    cache = DynamicCache()  # without a configuration sliding layers keep all of their keys, too
    for start in range(0, len(tokens), _CHUNK):
        ids = torch.tensor([tokens[start : start + _CHUNK]], device=module.device)
        places = torch.arange(start, start + ids.shape[1], device=module.device)[None]
        module(input_ids=ids, position_ids=places, past_key_values=cache, use_cache=True, logits_to_keep=1)
    layers = [(layer.keys, layer.values) for layer in cache.layers]
    if not layers or any(k is None or k.ndim != 4 or k.shape[-2] != len(tokens) for k, _ in layers):
        raise TypeError("the model keeps no keys and values of every token")
    return Prefix(layers)
