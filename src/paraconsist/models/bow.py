"""The lexical baseline of the papers: a bag of hashed word n-grams, averaged, and one linear layer.

It is an ordinary `transformers` model (``save_pretrained``, ``from_pretrained``, safetensors), so that it is trained,
saved, loaded and run like any other.

An n-gram's feature number is the same on every machine, process and Python version. Words are hashed once each
(blake2b); n-grams are combined from the word hashes with 64-bit arithmetic over the whole set at once, so that 30,000
rows take a second or two.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from paraconsist.data.tasks import ModelInput
from paraconsist.models.classifier import ModuleClassifier, Prepared, TokenArray, by_row, pad_sequences, require_rows


class BowConfig(PreTrainedConfig):  # type: ignore[misc]
    """Configuration of the bag-of-n-grams models."""

    model_type = "paraconsist_bow"
    n_buckets: int = 2**18  # size of the feature table; n-grams that fall into the same bucket share a vector
    embedding_dim: int = 8  # length of a feature's vector
    max_ngram: int = 4  # longest n-gram in words (the paper: 4)
    hashing: int = 1  # version of the hashing, so that an old model is never read with a new one


class BaselineModel(PreTrainedModel):  # type: ignore[misc]
    """The base of this package's own models: `build` makes the layers, `score` gives one row of scores an input."""

    main_input_name = "input_ids"
    #: the loss below is a plain mean over the batch: Trainer may scale it for accumulation
    accepts_loss_kwargs = False
    multiple_choice = False

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.build(config, 1 if self.multiple_choice else config.num_labels)
        self.post_init()

    def build(self, config: Any, n_outputs: int) -> None:
        raise NotImplementedError

    def score(self, input_ids: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> SequenceClassifierOutput:
        """Scores, shape (n, labels), or (n, choices) of `input_ids` whose second dimension counts the choices."""
        if self.multiple_choice:
            logits = self.score(input_ids.flatten(0, 1)).view(input_ids.shape[0], -1)
        else:
            logits = self.score(input_ids)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class BowForSequenceClassification(BaselineModel):
    """One bag per row, one score per label; `input_ids` (n, width)."""

    config_class = BowConfig
    base_model_prefix = "bow"

    def build(self, config: BowConfig, n_outputs: int) -> None:
        self.bag = nn.EmbeddingBag(config.n_buckets + 1, config.embedding_dim, mode="mean", padding_idx=0)
        self.head = nn.Linear(config.embedding_dim, n_outputs)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        # Averages of hundreds of small vectors are tiny: a head of this scale moves them from the first step.
        if isinstance(module, nn.EmbeddingBag):
            nn.init.normal_(module.weight, std=0.01)
            module.weight[0] = 0
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=3.0)
            nn.init.zeros_(module.bias)

    def score(self, input_ids: torch.Tensor, offsets: torch.Tensor | None = None) -> torch.Tensor:
        """Scores of bags: `input_ids` (n, width) padded with 0, or flat, end to end, with `offsets`."""
        scores: torch.Tensor = self.head(self.bag(input_ids, offsets))
        return scores


class BowForMultipleChoice(BowForSequenceClassification):
    """One bag and one score per choice; `input_ids` (n, choices, width)."""

    multiple_choice = True


class BowClassifier(ModuleClassifier):
    """A bag-of-n-grams model behind the `Classifier` protocol. Nothing is truncated and nothing is padded."""

    pads = False
    reentrant = False

    def __init__(self, module: Any, label_names: tuple[str, ...], identity: Mapping[str, str]) -> None:
        super().__init__(module, label_names, multiple_choice=module.multiple_choice, identity=identity)

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Hash all n-grams of all rows: text and text pair in separate name spaces, one bag."""
        config = self.module.config
        flat = list(chain.from_iterable(inputs))
        return by_row(inputs, _bags(flat, max_n=config.max_ngram, n_buckets=config.n_buckets))

    def collate(self, batch: Sequence[Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        """``input_ids`` padded with 0: (n, width), or (n, choices, width) for multiple choice."""
        n_sequences = require_rows("BowClassifier", batch)
        padded, _ = pad_sequences([s for row in batch for s in row.sequences], 0, width=width)
        if self.multiple_choice:
            padded = padded.reshape(len(batch), n_sequences, -1)
        return {"input_ids": torch.from_numpy(padded)}

    def scores(self, batch: Sequence[Prepared], width: int = 0) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32; bags stand one after the other, without padding."""
        n_sequences = require_rows("BowClassifier", batch)
        bags = [bag for row in batch for bag in row.sequences]
        offsets = np.zeros(len(bags), dtype=np.int64)
        np.cumsum([len(bag) for bag in bags[:-1]], out=offsets[1:])
        device = self.module.device
        flat, starts = (torch.from_numpy(array).to(device) for array in (np.concatenate(bags), offsets))
        scores: torch.Tensor = self.module.score(flat, starts)
        return (scores.view(-1, n_sequences) if self.multiple_choice else scores).float()


def _bags(inputs: Sequence[ModelInput], *, max_n: int, n_buckets: int) -> list[NDArray[np.int64]]:
    """One array of features per input: those of the text, then those of the pair."""
    if not inputs:
        return []
    texts, pairs = [one.text for one in inputs], [one.text_pair or "" for one in inputs]
    text, text_lengths = hash_ngrams(texts, max_n=max_n, n_buckets=n_buckets, salt="text")
    pair, pair_lengths = hash_ngrams(pairs, max_n=max_n, n_buckets=n_buckets, salt="pair")
    owner = np.repeat(np.tile(np.arange(len(inputs)), 2), np.concatenate([text_lengths, pair_lengths]))
    features = np.concatenate([text, pair])[np.argsort(owner, kind="stable")]
    return np.split(features, np.cumsum(text_lengths + pair_lengths)[:-1])


_PUNCTUATION = str.maketrans({mark: f" {mark} " for mark in string.punctuation if mark not in "'_"})
_MULTIPLY = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def split_words(text: str) -> list[str]:
    """Split a text into lower-cased words and punctuation marks (apostrophes stay inside words).

    >>> split_words("The dog's tail, wagging!")
    ['the', "dog's", 'tail', ',', 'wagging', '!']
    """
    return text.lower().translate(_PUNCTUATION).split()


def hash_ngrams(texts: Sequence[str], *, max_n: int, n_buckets: int, salt: str = "") -> tuple[TokenArray, TokenArray]:
    """Feature numbers of all word n-grams (1 to `max_n`) of every text, and how many each text has, shape (n,).

    Features are numbers in ``1 .. n_buckets`` (0 is kept free for padding), text after text; within a text 1-grams
    first, repeats kept. The same n-gram under two salts gets two features.
    """
    vocabulary: dict[str, int] = {}
    numbers: list[int] = []
    words_per_text = np.empty(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        words = split_words(text)
        words_per_text[i] = len(words)
        numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
    key = salt.encode("utf-8")[:64]
    digests = (blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for word in vocabulary)
    table = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    words_hashed = table[np.array(numbers, dtype=np.int64)]
    owner = np.repeat(np.arange(len(texts), dtype=np.int64), words_per_text)
    parts, owners = [_finish(words_hashed, n_buckets)], [owner]
    rolling = words_hashed
    for n in range(2, max_n + 1):
        if rolling.size <= 1:
            break
        # the n-gram at i is the (n-1)-gram at i and the word at i + n - 1, when both are in one text
        rolling = _mix(rolling[:-1] * _MULTIPLY) ^ words_hashed[n - 1 :]
        inside = owner[: rolling.size] == owner[n - 1 :]
        parts.append(_finish(rolling[inside], n_buckets))
        owners.append(owner[: rolling.size][inside])
    all_owners = np.concatenate(owners)
    order = np.argsort(all_owners, kind="stable")
    lengths = np.bincount(all_owners, minlength=len(texts)).astype(np.int64)
    return np.concatenate(parts)[order], lengths


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit changes about half of the output bits."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def _finish(values: NDArray[np.uint64], n_buckets: int) -> NDArray[np.int64]:
    return (_mix(values) % np.uint64(n_buckets)).astype(np.int64) + 1
