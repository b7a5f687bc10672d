"""Label log-probabilities of a causal model: packed after a cached prefix where that is exact, else plainly.

Architectures differ in the attention mask that a packed row needs, and some accept none. The engine tries the ways
from the quickest to the plain one and compares each on the first rows with the plain forward pass: a way that fails, or
disagrees, is not used.
"""

from __future__ import annotations

import inspect
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from numpy.typing import ArrayLike, NDArray
from torch.nn.utils.parametrize import register_parametrization, remove_parametrizations
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

from paraconsist.errors import first_line, input_error
from paraconsist.files import Json

Integers = NDArray[np.int64]

#: Number of tokens of a prefix that are computed at a time.
_CHUNK = 1024


@dataclass(frozen=True)
class Pack:
    """A tree of token sequences, flattened; arrays of shape (q,), and of shape (r,) for the terms to read.

    The log-probability of `read_tokens[i]` right after place `read_places[i]` is a term of label `read_labels[i]`,
    where labels are numbered row by row.
    """

    tokens: Integers
    depths: Integers  # tokens before it on its branch
    parents: Integers  # place of the token before it, -1 at the root; parents come before their children
    entered: Integers  # its number when a walk takes each branch to its end before the next
    left: Integers  # that of the first token after its branches
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
        walked = np.array([tokens, depths, parents, *_walk(parents)], dtype=np.int64)
        return cls(*walked, *np.array(reads, dtype=np.int64).reshape(-1, 3).T)

    def visible(self, n_prefix: int, window: int | None = None, device: torch.device | str = "cpu") -> torch.Tensor:
        """Return which keys each token sees, of `n_prefix` cached ones and the pack; bool, shape (q, n_prefix + q).

        It is computed on the device, to which only three numbers a token are copied. With sliding attention a token
        sees the last `window` keys, including itself.
        """
        entered, left, places = torch.from_numpy(np.stack([self.entered, self.left, self.depths + n_prefix])).to(device)
        tree = (entered[None, :] <= entered[:, None]) & (entered[:, None] < left[None, :])
        seen = torch.cat([tree.new_ones(len(tree), n_prefix), tree], dim=1)
        if window is not None:
            keys = torch.cat([torch.arange(n_prefix, device=device), places])
            seen &= places[:, None] - keys[None, :] < window
        return seen


def _walk(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return when a walk branch by branch enters each node of a tree, and leaves it: it saw those it has not left."""
    sizes = [1] * len(parents)
    for place in range(len(parents) - 1, -1, -1):
        if parents[place] >= 0:
            sizes[parents[place]] += sizes[place]
    entered: list[int] = []
    free = [0] * (len(parents) + 1)  # the number of the next child of each; of the next root at the end
    for place, parent in enumerate(parents):
        entered.append(free[parent])
        free[parent] += sizes[place]
        free[place] = entered[place] + 1
    return entered, [number + size for number, size in zip(entered, sizes, strict=True)]


def plan_packs(
    texts: Sequence[str], n_tokens: Sequence[int], *, max_tokens: int, max_rows: int = 1 << 30
) -> list[list[int]]:
    """Cut prompts into packs of about `max_tokens` tokens, those that begin alike together.

    A pack has at most `max_rows` prompts. Tokens are estimated from characters. Prompts are taken in the order of their
    texts; of one that begins like its neighbour only the rest counts, and a single longer one is a pack. `n_tokens` are
    those of each prompt without the beginning that all have in common. Returns positions in `texts`, each exactly once,
    the pack with the longest prompt first; the plan depends only on the arguments.
    """
    order = sorted(range(len(texts)), key=lambda i: (texts[i], i))
    if not order:
        return []
    common = n_common(texts[order[0]], texts[order[-1]])
    packs: list[list[int]] = []
    size, before = 0.0, ""
    for i in order:
        rest = max(1, len(texts[i]) - common)
        new = n_tokens[i] * (1 - min(1.0, (n_common(before, texts[i]) - common) / rest)) if before else n_tokens[i]
        if not packs or size + new > max_tokens or len(packs[-1]) >= max_rows:
            packs.append([])
            size, new = 0.0, n_tokens[i]
        packs[-1].append(i)
        size += new
        before = texts[i]
    return sorted(packs, key=lambda pack: (-max(n_tokens[i] for i in pack), pack[0]))


def n_common(first: str, second: str) -> int:
    """Return the length of two texts' common beginning, by bisection: 50 times faster than ``os.path.commonprefix``."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class FrozenLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer of a prefix: new keys follow it for one forward pass, and none are kept.

    `room` are tensors that begin with the keys and the values: for a single row the new ones are written into them,
    which avoids a copy.
    """

    is_sliding = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, room: Sequence[torch.Tensor] = ()) -> None:
        super().__init__()
        self.keys, self.values, self._room = keys, values, room
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Do nothing: the prefix is initialized."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        n_rows, n, width = key_states.shape[0], self.keys.shape[-2], key_states.shape[-2]
        if n_rows == 1 and self._room and n + width <= self._room[0].shape[-2]:
            for room, states in zip(self._room, (key_states, value_states), strict=True):
                room[:, :, n : n + width] = states
            return self._room[0][:, :, : n + width], self._room[1][:, :, : n + width]
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
        self.layers = list(layers)
        self._room: list[tuple[torch.Tensor, torch.Tensor]] = []

    def first(self, n: int, n_more: int = 0, kind: type[FrozenLayer] = FrozenLayer) -> Cache:
        """Return a cache of the first `n` tokens, which shares memory with the prefix and never changes it.

        It has room for `n_more` tokens after the whole prefix, which is allocated once and reused by each forward pass.
        """
        if n < self.layers[0][0].shape[-2] or not n_more:
            return Cache(layers=[kind(keys[:, :, :n], values[:, :, :n]) for keys, values in self.layers])
        if not self._room or self._room[0][0].shape[-2] < n + n_more:
            more = (0, 0, 0, 2 * n_more)  # so that the next packs, which are about as large, fit
            self._room = []
            for number, layer in enumerate(self.layers):
                keys, values = (torch.nn.functional.pad(states, more) for states in layer)
                self._room.append((keys, values))
                self.layers[number] = (keys[:, :, :n], values[:, :, :n])
        return Cache(layers=[FrozenLayer(*layer, room) for layer, room in zip(self.layers, self._room, strict=True)])


def cache_name(module: Any) -> str:
    """Return what a model calls the keys and values that it has computed: ``cache`` since transformers 5.24."""
    return "cache" if "cache" in inspect.signature(module.forward).parameters else "past_key_values"


def compute_prefix(module: Any, tokens: Sequence[int]) -> Prefix:
    """Run the model over a prefix and return the keys and values of its attention.

    Raises TypeError if it caches anything else, such as recurrent states.
    """
    cache = DynamicCache()  # without a configuration sliding layers also keep all of their keys
    for start in range(0, len(tokens), _CHUNK):
        ids = torch.tensor([tokens[start : start + _CHUNK]], device=module.device)
        places = torch.arange(start, start + ids.shape[1], device=module.device)[None]
        module(input_ids=ids, position_ids=places, use_cache=True, logits_to_keep=1, **{cache_name(module): cache})
    layers = [(layer.keys, layer.values) for layer in cache.layers]
    if not layers or any(k is None or k.ndim != 4 or k.shape[-2] != len(tokens) for k, _ in layers):
        raise TypeError("the model keeps no keys and values of every token")
    return Prefix(layers)


#: Largest difference of log-probabilities that passes as rounding in float32, and in coarser numbers. What a wrong mask
#: changes, .08 to .32, would be among these, so that every model is compared in float32 too.
_TOLERANCE = 1e-3
_COARSE_TOLERANCE = 0.25
_COARSE = (torch.bfloat16, torch.float16)
_N_CHECKED = 3
_PLAIN_TOKENS = 8192
_MOST_ROWS = 16
#: What a model raises whose code cannot be asked in one of the ways below.
CANNOT = (TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError)

Way = Callable[[Sequence["PromptTokens"]], torch.Tensor]


@dataclass(frozen=True)
class PromptTokens:
    """One prompt in tokens: the number shared with the prefix, the rest, and the label words."""

    n_shared: int
    rest: Sequence[int]
    labels: tuple[Sequence[int], ...]

    @property
    def n_tokens(self) -> int:
        return self.n_shared + len(self.rest)


class CausalEngine:
    """Computes label log-probabilities with a causal language model in evaluation mode.

    `way` is known after the first rows: ``packed``, ``expanded`` or ``plain``; at once if nothing is shared.
    """

    def __init__(self, module: Any, *, share: bool = True) -> None:
        self.module = module
        self.prefix_tokens: tuple[int, ...] = ()
        self.way: str | None = None
        self.prefix: Prefix | None = None
        self._share = share
        self._compute: Way | None = None
        self._lock = threading.RLock()
        accepted = inspect.signature(module.forward).parameters
        self._keeps_some = "logits_to_keep" in accepted
        self._takes_positions = "position_ids" in accepted
        self.cache_name = cache_name(module)
        self.stretched_from = stretched_from(module.config)

    def log_probabilities(self, rows: Sequence[PromptTokens]) -> torch.Tensor:
        """Return log-probabilities of all label words after all prompts, summed over a word's tokens.

        Float32, shape (n, n_labels), on the model's device.
        """
        if self.is_stretched(max(row.n_tokens + max(map(len, row.labels)) for row in rows)):
            if len(rows) == 1:
                return self._plain(rows)
            return torch.cat([self.log_probabilities([row]) for row in rows])
        with self._lock:
            if self._compute is None:
                self._choose(rows)
        return (self._compute or self._plain)(rows)

    def is_stretched(self, n_tokens: int) -> bool:
        """Say if positions depend on a sequence's length: it then shares nothing with others and is computed alone.

        If so, the model first reads a short text: until then transformers keeps the positions of a longer sequence.
        """
        stretched = self.stretched_from is not None and n_tokens >= self.stretched_from
        if stretched:
            self.module(input_ids=torch.zeros((1, 1), dtype=torch.long, device=self.module.device), use_cache=False)
        return stretched

    def _choose(self, rows: Sequence[PromptTokens]) -> None:
        """Choose the first way that agrees with the plain one on rows with finite numbers; none without such rows."""
        self._check_plain(rows[:1])
        if not self._share:
            self.way, self._compute = "plain", self._plain
            return
        some = sorted(rows, key=lambda row: row.n_tokens)[-_N_CHECKED:]
        failed: list[str] = []
        for name, way in self._ways():
            try:
                agrees, difference = self._compare(way, some)
            except CANNOT as problem:
                failed.append(f"{name}: {type(problem).__name__}")
                continue
            if agrees:
                self.way, self._compute = name.partition(" ")[0], way
                return
            odd = [] if math.isfinite(difference) else [row for row in some if not self._plain([row]).isfinite().all()]
            if odd:  # one such row spoils the others of a pack
                if rest := [row for row in rows if not any(row is odd_row for odd_row in odd)]:
                    self._choose(rest)
                return
            failed.append(f"{name}: differs by {difference:.2g}")
        self.way, self._compute, self.prefix = "plain", self._plain, None
        warn_of_no_sharing(self.module, "; ".join(failed))

    def _compare(self, way: Way, rows: Sequence[PromptTokens]) -> tuple[bool, float]:
        """Return if a way agrees with the plain one on all rows, and their largest difference; keep its prefix."""

        def difference(prefix: Prefix | None) -> float:
            self.prefix = prefix
            return float((way(rows) - self._plain(rows)).abs().max())

        try:
            return check_sharing(self.module, self.prefix_tokens, difference)
        except (RuntimeError, MemoryError) as problem:
            if len(rows) == 1 or not should_reduce_batch_size(problem):
                raise
        clear_device_cache()  # outside of `except`, whose traceback holds the tensors that did not fit
        return self._compare(way, rows[-1:])

    def _check_plain(self, rows: Sequence[PromptTokens]) -> None:
        """Compute rows as they are, of all places where the model cannot take some; InputError if that fails too."""
        try:
            self._plain(rows)
        except CANNOT as problem:
            if should_reduce_batch_size(problem):
                raise
            if not self._keeps_some:
                must, got = "compute a prompt without an error", type(self.module).__name__
                raise input_error("run", "model", must, got=got, remedy=f"It says: {first_line(problem)}") from problem
            self._keeps_some = False
            self._check_plain(rows)

    def _ways(self) -> list[tuple[str, Way]]:
        config = self.module.config.get_text_config()
        slides = getattr(config, "use_sliding_window", True) is not False
        window = getattr(config, "sliding_window", None) if slides else None
        kinds = set(getattr(config, "layer_types", None) or ())
        ways: list[tuple[str, Way]] = []
        if kinds <= {"full_attention", "sliding_attention"} and self._takes_positions:
            single = None if kinds == {"full_attention"} else window
            by_kind = {"full_attention": None, "sliding_attention": window}
            if kinds:
                ways.append(("packed by kind", lambda rows: self._packed(rows, by_kind)))
            ways.append(("packed", lambda rows: self._packed(rows, single)))
        return [*ways, ("expanded", lambda rows: self._in_parts(rows, _MOST_ROWS, min(row.n_shared for row in rows)))]

    def _packed(self, rows: Sequence[PromptTokens], windows: Mapping[str, int | None] | int | None) -> torch.Tensor:
        n_prefix = min(row.n_shared for row in rows)
        prompts = [[*self.prefix_tokens[n_prefix : row.n_shared], *row.rest] for row in rows]
        pack = Pack.of(prompts, [row.labels for row in rows])
        mask: Any
        if isinstance(windows, Mapping):
            masks = {window: self._mask(pack, n_prefix, window) for window in set(windows.values())}
            mask = {kind: masks[window] for kind, window in windows.items()}
        else:
            mask = self._mask(pack, n_prefix, windows)
        ids, positions = (self._tensor(array[None]) for array in (pack.tokens, n_prefix + pack.depths))
        inputs = {"input_ids": ids, "position_ids": positions, "attention_mask": mask, "use_cache": True}
        places, which = np.unique(pack.read_places, return_inverse=True)
        with self._lock:  # the next pack is written over the room of this one, in the order of the device's queue
            logits = self._logits(places, **inputs, **{self.cache_name: self._cache(n_prefix, len(pack.tokens))})[0]
        return _totals(logits, which, pack.read_tokens, pack.read_labels, rows)

    def _plain(self, rows: Sequence[PromptTokens]) -> torch.Tensor:
        width = max(row.n_tokens for row in rows)
        return self._in_parts(rows, max(1, min(_MOST_ROWS, _PLAIN_TOKENS // width // len(rows[0].labels))), 0)

    def _in_parts(self, rows: Sequence[PromptTokens], size: int, n_prefix: int) -> torch.Tensor:
        return torch.cat([self._in_rows(rows[i : i + size], n_prefix) for i in range(0, len(rows), size)])

    def _in_rows(self, rows: Sequence[PromptTokens], n_prefix: int) -> torch.Tensor:
        """Compute one row for each distinct prompt with all but the last token of a label word, padded on the right."""
        sequences: dict[tuple[int, tuple[int, ...]], int] = {}
        lines: list[list[int]] = []
        reads: list[tuple[int, int, int, int]] = []
        for number, row in enumerate(rows):
            prompt = [*self.prefix_tokens[n_prefix : row.n_shared], *row.rest]
            for label, word in enumerate(row.labels):
                key = (number, tuple(word[:-1]))
                if key not in sequences:
                    sequences[key] = len(lines)
                    lines.append([*prompt, *word[:-1]])
                for step, token in enumerate(word):
                    reads.append((sequences[key], len(prompt) - 1 + step, token, number * len(row.labels) + label))
        width = max(map(len, lines))
        ids = self._tensor([[*line, *[0] * (width - len(line))] for line in lines])
        inputs: dict[str, object] = {"input_ids": ids, "use_cache": n_prefix > 0}
        if self._takes_positions:
            inputs["position_ids"] = self._tensor([range(n_prefix, n_prefix + width)]).expand(len(lines), -1)
        if n_prefix:
            inputs["attention_mask"] = torch.ones(len(lines), n_prefix + width, dtype=torch.long, device=ids.device)
            inputs[self.cache_name] = self._cache(n_prefix)
        line_of, place_of, token_of, label_of = np.array(reads).T
        places, which = np.unique(place_of, return_inverse=True)
        logits = self._logits(places, **inputs).flatten(0, 1)
        return _totals(logits, line_of * len(places) + which, token_of, label_of, rows)

    def _tensor(self, numbers: ArrayLike) -> torch.Tensor:
        return torch.from_numpy(np.asarray(numbers, dtype=np.int64)).to(self.module.device)

    def _logits(self, places: Integers, **inputs: Any) -> torch.Tensor:
        """Return logits at some places of every row, shape (rows, places, vocabulary).

        Places are a list, which no hook moves to the first of several devices: the last one has the states.
        """
        if self._keeps_some:
            inputs["logits_to_keep"] = places.tolist()
        logits: torch.Tensor = self.module(**inputs).logits
        return logits if self._keeps_some else logits[:, places]

    def _mask(self, pack: Pack, n_prefix: int, window: int | None) -> torch.Tensor:
        """Return 0 where a token sees a key, else the least number; shape (1, 1, q, k).

        Rows begin at multiples of 16 numbers: kernels of attention would else copy the mask in every layer.
        """
        hidden = ~pack.visible(n_prefix, window, self.module.device)
        dtype = self.module.get_input_embeddings().weight.dtype  # of the weights as they are read: see `in_float32`
        n, n_keys = hidden.shape
        mask = torch.zeros(n, -(-n_keys // 16) * 16, dtype=dtype, device=hidden.device)[:, :n_keys]
        return mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)[None, None]

    def _cache(self, n_prefix: int, n_more: int = 0) -> Any:
        return self.prefix.first(n_prefix, n_more) if self.prefix is not None and n_prefix else None


def _ropes(config: Any) -> dict[str, Json]:
    """Return the parameters of a model's rotary positions by type; layers may differ."""
    by_kind = getattr(config.get_text_config(), "rope_parameters", None) or {}
    ropes = [rope for rope in (by_kind, *by_kind.values()) if isinstance(rope, dict)]
    return {rope["rope_type"]: rope for rope in ropes if "rope_type" in rope}


def has_dynamic_rope(config: Any) -> bool:
    """Say if a model stretches its positions over any length."""
    return "dynamic" in _ropes(config)


def stretched_from(config: Any) -> int | None:
    """Return the length from which on positions depend on it (dynamic and long rope); None if they never do."""
    if has_dynamic_rope(config):
        return int(config.get_text_config().max_position_embeddings)
    limit = _ropes(config).get("longrope", {}).get("original_max_position_embeddings")
    return None if limit is None else int(limit)


class _Upcast(torch.nn.Module):
    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        return weights.float()


@contextmanager
def in_float32(module: Any) -> Iterator[None]:
    """Compute a module of any dtype in float32: weights are converted whenever they are read, one at a time."""
    by_part = [
        (part, name)
        for part in module.modules()
        for name, p in part.named_parameters(recurse=False)
        if p.dtype in _COARSE
    ]
    matmul = torch.backends.cuda.matmul
    tf32, matmul.allow_tf32 = matmul.allow_tf32, False
    try:
        for part, name in by_part:
            register_parametrization(part, name, _Upcast(), unsafe=True)
        yield
    finally:
        matmul.allow_tf32 = tf32
        for part, name in by_part:
            remove_parametrizations(part, name, leave_parametrized=False)


def check_sharing(
    module: Any, tokens: Sequence[int], difference: Callable[[Prefix | None], float]
) -> tuple[bool, float]:
    """Return if results behind a cached prefix are those without one, and by how much they differ.

    `difference` compares them, given the prefix; the last one it is given is in the module's dtype.
    """
    is_coarse = module.dtype in _COARSE or (module.device.type == "cuda" and torch.backends.cuda.matmul.allow_tf32)
    changed = 0.0
    for context, tolerance in ((in_float32(module), _TOLERANCE), (nullcontext(), _COARSE_TOLERANCE))[: 1 + is_coarse]:
        with context:
            changed = difference(compute_prefix(module, tokens) if tokens else None)
        if not changed <= tolerance:
            return False, changed
    return True, changed


def warn_of_no_sharing(module: Any, why: str) -> None:
    """Warn that a model's prompts do not share their common beginning, and why."""
    name, cost = type(module).__name__, "every prompt is computed whole, which is correct but slow"
    warnings.warn(f"{name} cannot share prefixes exactly ({why}): {cost}.", UserWarning, stacklevel=3)


def _totals(
    logits: torch.Tensor, places: Integers, tokens: Integers, labels: Integers, rows: Sequence[PromptTokens]
) -> torch.Tensor:
    """Add up the log-probabilities of each label's tokens; float32, shape (rows, labels).

    `logits` has shape (places, vocabulary); `labels` are numbered row by row.
    """
    logits = logits.float()
    at, token_of, label_of = (torch.from_numpy(numbers).to(logits.device) for numbers in (places, tokens, labels))
    terms = logits[at, token_of] - logits.logsumexp(dim=-1)[at]
    totals = torch.zeros(len(rows) * len(rows[0].labels), dtype=torch.float32, device=logits.device)
    return totals.index_add_(0, label_of, terms).view(len(rows), -1)
