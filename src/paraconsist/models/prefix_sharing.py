"""What prompts have in common is computed once: a cached prefix for all, and packs of those that begin alike.

Prompts of a bucket share their context, and the label words share the whole prompt. A pack is the tree of all
token sequences, flattened: a token sees its ancestors and itself, and its position is its depth. Attention over
such a row, behind a cached prefix, gives each prompt what it would get on its own. The prefix' keys and values are
held once, whatever number of rows is computed behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

Integers = NDArray[np.int64]

#: Tokens of a prefix that are computed at a time.
_CHUNK = 1024


@dataclass(frozen=True)
class Pack:
    """A tree of token sequences, flattened; arrays of shape (q,), and of shape (r,) for what is read.

    The log-probability of `read_tokens[i]` right after place `read_places[i]` is a term of label `read_labels[i]`,
    which counts labels row by row.
    """

    tokens: Integers
    depths: Integers  # tokens before it on its branch
    parents: Integers  # place of the token before it, -1 at the root; parents stand before their children
    read_places: Integers
    read_tokens: Integers
    read_labels: Integers

    @classmethod
    def of(cls, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[Sequence[int]]]) -> Pack:
        """Pack prompts, none of them empty, and the label words that may follow each."""
        tokens: list[int] = []
        depths: list[int] = []
        parents: list[int] = []
        children: dict[tuple[int, int], int] = {}
        reads: list[tuple[int, int, int]] = []

        def follow(place: int, token: int) -> int:
            child = children.setdefault((place, token), len(tokens))
            if child == len(tokens):
                tokens.append(token)
                depths.append(0 if place < 0 else depths[place] + 1)
                parents.append(place)
            return child

        n_label = 0
        for prompt, words in zip(prompts, labels, strict=True):
            end = -1
            for token in prompt:
                end = follow(end, token)
            for word in words:
                place = end
                for number, token in enumerate(word):
                    place = place if number == 0 else follow(place, word[number - 1])
                    reads.append((place, token, n_label))
                n_label += 1
        read = np.array(reads, dtype=np.int64).reshape(-1, 3)
        flat = np.array([tokens, depths, parents], dtype=np.int64)
        return cls(flat[0], flat[1], flat[2], read[:, 0], read[:, 1], read[:, 2])

    def visible(self, n_prefix: int, window: int | None = None) -> NDArray[np.bool_]:
        """Which keys each token sees, of `n_prefix` cached ones and then of the pack; shape (q, n_prefix + q).

        `window` is how far back a token sees, itself included, where attention slides.
        """
        n = len(self.tokens)
        seen = np.zeros((n, n_prefix + n), dtype=bool)
        seen[:, :n_prefix] = True
        tree = seen[:, n_prefix:]
        for place, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                tree[place] = tree[parent]
            tree[place, place] = True
        if window is not None:
            keys = np.concatenate([np.arange(n_prefix), n_prefix + self.depths])
            seen &= (n_prefix + self.depths)[:, None] - keys[None, :] < window
        return seen


def plan_packs(
    texts: Sequence[str], n_tokens: Sequence[int], *, max_tokens: int, max_rows: int = 1 << 30
) -> list[list[int]]:
    """Cut prompts into packs of about `max_tokens` tokens, those with a common beginning together.

    Tokens are estimated from characters; `max_rows` is most prompts in a pack. Prompts are taken in the order of their
    texts; one that begins like its neighbour counts for the rest only, and a single longer one is a pack. `n_tokens`
    are those of each prompt without what all have in common. Returns positions in `texts`, each exactly once, the pack
    with the longest prompt first; the plan depends on nothing but the arguments.
    """
    order = sorted(range(len(texts)), key=lambda i: (texts[i], i))
    if not order:
        return []
    common = _n_common(texts[order[0]], texts[order[-1]])
    packs: list[list[int]] = []
    size, before = 0.0, ""
    for i in order:
        rest = max(1, len(texts[i]) - common)
        new = n_tokens[i] * (1 - min(1.0, (_n_common(before, texts[i]) - common) / rest)) if before else n_tokens[i]
        if not packs or size + new > max_tokens or len(packs[-1]) >= max_rows:
            packs.append([])
            size, new = 0.0, n_tokens[i]
        packs[-1].append(i)
        size += new
        before = texts[i]
    return sorted(packs, key=lambda pack: (-max(n_tokens[i] for i in pack), pack[0]))


def _n_common(first: str, second: str) -> int:
    """Characters that two texts begin with alike, by bisection: 50 times as quick as ``os.path.commonprefix``."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


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
    """The cached prefix of one model: `layers` of keys and values, each of shape (1, heads, n, dimension)."""

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

    Raises TypeError if it keeps anything but keys and values of every token (recurrent states, for one).
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
