r"""Word-level models of the papers: a bag of word vectors, and a bidirectional LSTM.

Both turn each text into one vector, combine the vectors u and v of a pair four ways, (u, v, \|u - v\|, u * v),
and answer with a few fully connected layers. They are ordinary `transformers` models (``save_pretrained``,
``from_pretrained``, safetensors); the vocabulary stands beside the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedConfig

from paraconsist.data.tasks import ModelInput
from paraconsist.errors import input_error
from paraconsist.models.bow import BaselineModel
from paraconsist.models.classifier import ModuleClassifier, Prepared, by_row, pad_sequences, require_rows
from paraconsist.models.vocabulary import Vocabulary

POOLINGS = ("max", "mean", "last")


class WordConfig(PreTrainedConfig):  # type: ignore[misc]
    """What the word-level models have in common."""

    vocab_size: int = 2  # words, with padding (0) and unknown (1)
    embedding_dim: int = 300  # length of a word's vector
    paired: bool = True  # whether rows have two texts; with one, its vector alone is what the layers see
    mlp_size: int = 128  # units of the fully connected layers between the combined vectors and the scores
    mlp_layers: int = 3  # fully connected layers, the one that gives the scores included
    dropout: float = 0.2  # share left out in training, after the word vectors and before each fully connected layer
    freeze_vectors: bool = False  # leave the word vectors as they are in training
    splitting: int = 1  # version of `split_text`, so that an old model is never read with a new one


class GloveBowConfig(WordConfig):
    """Configuration of the bag of word vectors."""

    model_type = "paraconsist_glove_bow"


class BilstmConfig(WordConfig):
    """Configuration of the bidirectional LSTM.

    By `pooling` ("max", "mean" or "last") the states of the top layer become one vector: the largest value of each unit
    over the words, the mean over the words, or the last state of each direction.
    """

    model_type = "paraconsist_bilstm"
    lstm_size: int = 64  # units in each direction
    lstm_layers: int = 2
    pooling: str = "max"


class _Mean(nn.Module):
    """The mean of a text's word vectors; 0 for an empty text."""

    def __init__(self, config: WordConfig) -> None:
        super().__init__()
        self.size: int = config.embedding_dim

    def forward(self, vectors: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        total = (vectors * real[..., None]).sum(dim=1)
        mean: torch.Tensor = total / real.sum(dim=1, keepdim=True).clamp(min=1)
        return mean


class _Bilstm(nn.Module):
    """The pooled states of a bidirectional LSTM; 0 for an empty text. Padding is never seen."""

    def __init__(self, config: BilstmConfig) -> None:
        super().__init__()
        self.pooling = config.pooling
        self.size: int = 2 * config.lstm_size
        self.lstm = nn.LSTM(
            config.embedding_dim,
            config.lstm_size,
            num_layers=config.lstm_layers,
            batch_first=True,
            bidirectional=True,
            dropout=config.dropout if config.lstm_layers > 1 else 0.0,
        )

    def forward(self, vectors: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        lengths = real.sum(dim=1)
        self.lstm.flatten_parameters()
        packed = pack_padded_sequence(vectors, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        output, (last, _) = self.lstm(packed)
        if self.pooling == "last":
            pooled = torch.cat([last[-2], last[-1]], dim=1)
        else:
            states, _ = pad_packed_sequence(output, batch_first=True)
            seen = real[:, : states.shape[1], None]
            if self.pooling == "mean":
                pooled = (states * seen).sum(dim=1) / lengths[:, None].clamp(min=1)
            else:
                pooled = states.masked_fill(~seen, -torch.inf).amax(dim=1)
        return torch.where(lengths[:, None] > 0, pooled, torch.zeros_like(pooled))


class _WordModel(BaselineModel):
    base_model_prefix = "words"
    encoder_class: type[_Mean] | type[_Bilstm]

    def build(self, config: WordConfig, n_outputs: int) -> None:
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_dim, padding_idx=0)
        self.embedding.weight.requires_grad_(not config.freeze_vectors)
        self.encoder: Any = self.encoder_class(config)
        self.dropout = nn.Dropout(config.dropout)
        sizes = [self.encoder.size * (4 if config.paired else 1)] + [config.mlp_size] * (config.mlp_layers - 1)
        layers: list[nn.Module] = []
        for size in sizes[:-1]:
            layers += [nn.Dropout(config.dropout), nn.Linear(size, config.mlp_size), nn.ReLU()]
        self.head = nn.Sequential(*layers, nn.Dropout(config.dropout), nn.Linear(sizes[-1], n_outputs))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        # torch's own initial values stand in all layers; only word vectors of length 1 on average would be too long
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
            module.weight[0] = 0

    @torch.no_grad()
    def set_vectors(self, numbers: Sequence[int], matrix: NDArray[np.float32]) -> None:
        """Put pretrained vectors, shape (n, embedding_dim), in the places of n words."""
        self.embedding.weight[torch.tensor(list(numbers))] = torch.from_numpy(matrix)

    def score(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Scores, shape (m, n_outputs), of `input_ids`, shape (m, 1 or 2 texts, width), padded with 0."""
        m, n_texts, width = input_ids.shape
        flat = input_ids.reshape(m * n_texts, width)
        texts = self.encoder(self.dropout(self.embedding(flat)), flat != 0).view(m, n_texts, -1)
        u = texts[:, 0]
        if n_texts == 2:
            v = texts[:, 1]
            u = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
        scores: torch.Tensor = self.head(u)
        return scores


class GloveBowForSequenceClassification(_WordModel):
    """Means of word vectors, combined four ways; one score per label."""

    config_class = GloveBowConfig
    encoder_class = _Mean


class GloveBowForMultipleChoice(GloveBowForSequenceClassification):
    """Means of word vectors, combined four ways; one score per choice."""

    multiple_choice = True


class BilstmForSequenceClassification(_WordModel):
    """Pooled LSTM states, combined four ways; one score per label."""

    config_class = BilstmConfig
    encoder_class = _Bilstm


class BilstmForMultipleChoice(BilstmForSequenceClassification):
    """Pooled LSTM states, combined four ways; one score per choice."""

    multiple_choice = True


class WordClassifier(ModuleClassifier):
    """A word-level model behind the `Classifier` protocol. Nothing is truncated.

    A prepared row has one sequence for each text: text and pair, or text and pair of each choice. Padding is
    masked, so that a row's scores do not depend on its batch.
    """

    reentrant = False

    def __init__(
        self, module: Any, vocabulary: Vocabulary, label_names: tuple[str, ...], identity: Mapping[str, str]
    ) -> None:
        super().__init__(module, label_names, multiple_choice=module.multiple_choice, identity=identity)
        self.vocabulary = vocabulary
        self._n_texts = 2 if module.config.paired else 1

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Look up the words of all rows; a row of two texts is an `InputError` for a model of single texts."""
        texts: list[str] = []
        for row, one in enumerate(chain.from_iterable(inputs)):
            if self._n_texts == 1 and one.text_pair is not None:
                must = "be absent, because the model was trained on single texts"
                raise input_error("WordClassifier", "text_pair", must, got=one.text_pair, row=row)
            texts += (one.text, one.text_pair or "")[: self._n_texts]
        return by_row(inputs, self.vocabulary.encode(texts), n_texts=self._n_texts)

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """``input_ids`` padded with 0: (n, texts, width), or (n, choices, texts, width) for multiple choice."""
        require_rows("WordClassifier", batch)
        padded, _ = pad_sequences([s for row in batch for s in row.sequences], 0)
        shape = (-1, self._n_texts) if not self.multiple_choice else (len(batch), -1, self._n_texts)
        return {"input_ids": torch.from_numpy(padded.reshape(*shape, padded.shape[1]))}
