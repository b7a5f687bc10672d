"""This package's own models: a bag of hashed word n-grams, a bag of word vectors, and a bidirectional LSTM.

They are ordinary `transformers` models (``save_pretrained``, ``from_pretrained``, safetensors), so that each is
trained, saved, loaded and run like any other.

The lexical baseline of the papers averages hashed word n-grams before one linear layer. The feature number of an n-gram
is the same on every machine, process and Python version. Words are hashed once each (blake2b); n-grams are combined
from the word hashes with 64-bit arithmetic over the whole set at once, so that 30,000 rows take a second or two.

The word-level models turn each text into one vector, combine the vectors u and v of a pair four ways,
(u, v, |u - v|, u * v), and answer with a few fully connected layers; their vocabulary is saved with the weights.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from paraconsist.data.tasks import ModelInput
from paraconsist.errors import first_line, input_error
from paraconsist.files import write_text
from paraconsist.models import classifier
from paraconsist.models.pretrained import VOCABULARY_FILE, Baseline, not_a_model


class BowConfig(PreTrainedConfig):  # type: ignore[misc]
    """Configuration of the bag-of-n-grams models."""

    model_type = "paraconsist_bow"
    n_buckets: int = 2**18  # size of the feature table; n-grams that fall into the same bucket share a vector
    embedding_dim: int = 8  # length of a feature's vector
    max_ngram: int = 4  # longest n-gram in words (the paper: 4)
    hashing: int = 1  # version of the hashing, so that an old model is never read with a new one


class BaselineModel(PreTrainedModel):  # type: ignore[misc]
    """The base of this package's own models: `build` makes the layers, `score` returns one row of scores an input."""

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
        """Return scores, shape (n, labels), or (n, choices) if the second dimension of `input_ids` counts choices."""
        n = len(input_ids)
        logits = self.score(input_ids.flatten(0, 1)).view(n, -1) if self.multiple_choice else self.score(input_ids)
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
        """Return scores of bags: `input_ids` (n, width) padded with 0, or flat, end to end, with `offsets`."""
        scores: torch.Tensor = self.head(self.bag(input_ids, offsets))
        return scores


class BowForMultipleChoice(BowForSequenceClassification):
    """One bag and one score per choice; `input_ids` (n, choices, width)."""

    multiple_choice = True


class _BaselineClassifier(classifier.ModuleClassifier):
    """One of this package's own models as a classifier. Nothing is truncated."""

    text_shape: tuple[int, ...] = ()  # of the sequences of an input

    def __init__(self, module: Any, label_names: tuple[str, ...], identity: Mapping[str, str]) -> None:
        super().__init__(module, label_names, multiple_choice=module.multiple_choice, identity=identity)

    def collate(self, batch: Sequence[classifier.Prepared], width: int = 0) -> dict[str, torch.Tensor]:
        """Return ``input_ids`` padded with 0: (n, width), or (n, choices, width) for multiple choice.

        Inputs of word models have their texts apart: (n, texts, width), or (n, choices, texts, width).
        """
        classifier.require_rows(type(self).__name__, batch)
        padded, _ = classifier.pad_sequences([s for row in batch for s in row.sequences], 0, width=width)
        choices = (-1,) if self.multiple_choice else ()
        shape = (len(batch), *choices, *self.text_shape, padded.shape[1])
        return {"input_ids": torch.from_numpy(padded.reshape(shape))}


class BowClassifier(_BaselineClassifier):
    """A bag-of-n-grams model as a classifier. Nothing is padded."""

    pads = False

    def prepare(self, inputs: classifier.Inputs) -> list[classifier.Prepared]:
        """Hash all n-grams of all rows into bags, text and text pair in separate name spaces."""
        config = self.module.config
        return classifier.by_row(inputs, _bags([*chain(*inputs)], max_n=config.max_ngram, n_buckets=config.n_buckets))

    def scores(self, batch: Sequence[classifier.Prepared], width: int = 0) -> torch.Tensor:
        """Return scores, shape (n, n_labels), float32, from bags end to end, without padding."""
        n_sequences = classifier.require_rows("BowClassifier", batch)
        bags = [bag for row in batch for bag in row.sequences]
        offsets = np.cumsum([0, *map(len, bags[:-1])])
        flat, starts = (torch.from_numpy(a).to(self.module.device) for a in (np.concatenate(bags), offsets))
        scores: torch.Tensor = self.module.score(flat, starts)
        return (scores.view(-1, n_sequences) if self.multiple_choice else scores).float()


def _bags(inputs: Sequence[ModelInput], *, max_n: int, n_buckets: int) -> list[NDArray[np.int64]]:
    """Return one array of features per input: those of the text, then those of the pair."""
    if not inputs:
        return []
    texts, pairs = [row.text for row in inputs], [row.text_pair or "" for row in inputs]
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


def hash_ngrams(
    texts: Sequence[str], *, max_n: int, n_buckets: int, salt: str = ""
) -> tuple[classifier.TokenArray, classifier.TokenArray]:
    """Return the feature numbers of all word n-grams (1 to `max_n`) of the texts, and the count per text, shape (n,).

    Features are numbers in ``1 .. n_buckets`` (0 is reserved for padding), text after text; within a text 1-grams
    first, with repeats. The same n-gram under two salts gets two features.
    """
    vocabulary: dict[str, int] = {}
    numbers = [[vocabulary.setdefault(word, len(vocabulary)) for word in split_words(text)] for text in texts]
    key = salt.encode("utf-8")[:64]
    digests = (blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for word in vocabulary)
    table = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    words_hashed = table[np.fromiter(chain.from_iterable(numbers), np.int64)]
    owner = np.repeat(np.arange(len(texts)), np.array([*map(len, numbers)], dtype=np.int64))
    parts, owners, rolling = [words_hashed], [owner], words_hashed
    for n in range(2, max_n + 1):
        # the n-gram at i is the (n-1)-gram at i and the word at i + n - 1, when both are in one text
        rolling = _mix(rolling[:-1] * _MULTIPLY) ^ words_hashed[n - 1 :]
        inside = owner[: rolling.size] == owner[n - 1 :]
        parts.append(rolling[inside])
        owners.append(owner[: rolling.size][inside])
    all_owners = np.concatenate(owners)
    ngrams = np.concatenate(parts)[np.argsort(all_owners, kind="stable")]
    features = (_mix(ngrams) % np.uint64(n_buckets)).astype(np.int64) + 1
    return features, np.bincount(all_owners, minlength=len(texts)).astype(np.int64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64: every input bit changes about half of the output bits."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


_TYPOGRAPHY = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})
_CLITIC = r"n't|'(?:s|re|ve|ll|d|m)"
_WHOLE = re.compile(rf"{_CLITIC}|'+")
_PARTS = re.compile(rf"('*)(.*?)({_CLITIC})?('*)")


def split_text(text: str) -> list[str]:
    """Split a text into lower-cased words, punctuation marks and clitics, as files of word vectors do.

    >>> split_text("The dog's tail doesn't wag, 'Rex'!")
    ['the', 'dog', "'s", 'tail', 'does', "n't", 'wag', ',', "'", 'rex', "'", '!']
    """
    words = split_words(text.translate(_TYPOGRAPHY))
    return [part for word in words for part in (_parts(word) if "'" in word else (word,))]


def _parts(word: str) -> list[str]:
    """Split clitics and quotation marks off both ends, until none is left."""
    match = None if _WHOLE.fullmatch(word) else _PARTS.fullmatch(word)
    if match is None or match[2] == word:
        return [word]
    return [smaller for part in match.groups() if part for smaller in _parts(part)]


class Vocabulary:
    """Distinct words and their numbers, from 2 on; 0 is padding, 1 is any unknown word."""

    UNKNOWN = 1
    _FIRST = 2

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._numbers = {word: i for i, word in enumerate(self.words, start=self._FIRST)}

    def __len__(self) -> int:
        return len(self.words) + self._FIRST

    def number(self, word: str) -> int:
        """Return the word's number; 1 if it is unknown."""
        return self._numbers.get(word, self.UNKNOWN)

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int64]]:
        """Return one array of word numbers for each text (of length 0 for an empty text)."""
        numbers, unknown = self._numbers, self.UNKNOWN
        return [np.array([numbers.get(w, unknown) for w in split_text(t)], dtype=np.int64) for t in texts]

    def save(self, folder: Path) -> None:
        """Write `VOCABULARY_FILE`: a JSON list in the order of the numbers."""
        write_text(folder / VOCABULARY_FILE, json.dumps(self.words, indent=0) + "\n", encoding="ascii")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read what `save` wrote; OSError or ValueError if it is absent or not a list of distinct words."""
        words = json.loads((folder / VOCABULARY_FILE).read_text(encoding="ascii"))
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words) or len(set(words)) < len(words):
            raise ValueError(f"{VOCABULARY_FILE} is not a list of distinct words")
        return cls(words)


def read_vectors(file: Path, wanted: Collection[str], *, extra: int = 0) -> dict[str, NDArray[np.float32]]:
    """Read the vectors of some words, as `split_text` gives them, from a UTF-8 file in GloVe's text format.

    Each line is a word and its numbers, separated by single spaces; a first line with the number of words and of
    dimensions (word2vec's and fastText's text format) is skipped. The first `extra` other words that `split_text` can
    return are added: such files are ordered by frequency. Words are in the order of the file. InputError for a file or
    line that cannot be read.
    """
    wanted = frozenset(wanted)
    taken: dict[str, NDArray[np.float32]] = {}
    dim = 0
    try:
        with Path(file).expanduser().open(encoding="utf-8", errors="replace", newline="\n") as stream:
            for row, line in enumerate(stream):
                fields = line.rstrip(" \r\n").split(" ")
                if row == 0 and len(fields) == 2 and all(field.isdigit() for field in fields):
                    dim = int(fields[1])
                    continue
                dim = dim or len(fields) - 1
                word = fields[0]
                if len(fields) > dim + 1 or word in taken:  # a "word" with spaces in it, or a repeated one
                    continue
                if word not in wanted:
                    if extra <= 0 or split_text(word) != [word]:
                        continue
                    extra -= 1
                taken[word] = _vector(fields, dim, file, row)
    except OSError as problem:
        raise input_error("read_vectors", "vectors", "be a file that can be read", got=f"{problem}") from None
    if not taken:
        remedy = "It is read as GloVe's text format: a word and its numbers on each line."
        raise input_error("read_vectors", "vectors", "hold words of the training rows", got=str(file), remedy=remedy)
    return taken


def _vector(fields: Sequence[str], dim: int, file: Path, row: int) -> NDArray[np.float32]:
    try:
        numbers = np.array(fields[1:], dtype=np.float32)
    except ValueError:
        numbers = np.empty(0, dtype=np.float32)
    if numbers.size != dim or dim == 0 or not np.isfinite(numbers).all():
        must = f"hold a word and {dim or 'its'} numbers on each line"
        remedy = f"Mend {file}, or name a file in GloVe's text format."
        raise input_error("read_vectors", "vectors", must, got=" ".join(fields[:5]), row=row, remedy=remedy)
    return numbers


POOLINGS = ("max", "mean", "last")


class WordConfig(PreTrainedConfig):  # type: ignore[misc]
    """Configuration that the word-level models share."""

    vocab_size: int = 2  # words, with padding (0) and unknown (1)
    embedding_dim: int = 300  # length of a word's vector
    paired: bool = True  # whether rows have two texts; the layers see the vector of a single text alone
    mlp_size: int = 128  # units of the fully connected layers between the combined vectors and the scores
    mlp_layers: int = 3  # fully connected layers, the one that gives the scores included
    dropout: float = 0.2  # share dropped in training, after the word vectors and before each fully connected layer
    freeze_vectors: bool = False  # keep the word vectors constant in training
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
    """Mean of a text's word vectors; 0 for an empty text."""

    def __init__(self, config: WordConfig) -> None:
        super().__init__()
        self.size: int = config.embedding_dim

    def forward(self, vectors: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        return (vectors * real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True).clamp(min=1)


class _Bilstm(nn.Module):
    """Pooled states of a bidirectional LSTM; 0 for an empty text. Padding has no effect."""

    def __init__(self, config: BilstmConfig) -> None:
        super().__init__()
        self.pooling = config.pooling
        self.size: int = 2 * config.lstm_size
        sizes, dropout = (config.embedding_dim, config.lstm_size), config.dropout if config.lstm_layers > 1 else 0.0
        self.lstm = nn.LSTM(*sizes, config.lstm_layers, batch_first=True, bidirectional=True, dropout=dropout)

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

    def build(self, config: WordConfig, n_outputs: int) -> None:
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_dim, padding_idx=0)
        self.embedding.weight.requires_grad_(not config.freeze_vectors)
        self.encoder: Any = _Bilstm(config) if isinstance(config, BilstmConfig) else _Mean(config)
        self.dropout = nn.Dropout(config.dropout)
        sizes = [self.encoder.size * (4 if config.paired else 1)] + [config.mlp_size] * (config.mlp_layers - 1)
        layers: list[nn.Module] = []
        for size in sizes[:-1]:
            layers += [nn.Dropout(config.dropout), nn.Linear(size, config.mlp_size), nn.ReLU()]
        self.head = nn.Sequential(*layers, nn.Dropout(config.dropout), nn.Linear(sizes[-1], n_outputs))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        # all layers keep torch's initial values, except word vectors, whose length of 1 on average would be too large
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
            module.weight[0] = 0

    def score(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Return scores, shape (m, n_outputs), of `input_ids`, shape (m, 1 or 2 texts, width), padded with 0."""
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


class GloveBowForMultipleChoice(GloveBowForSequenceClassification):
    """Means of word vectors, combined four ways; one score per choice."""

    multiple_choice = True


class BilstmForSequenceClassification(_WordModel):
    """Pooled LSTM states, combined four ways; one score per label."""

    config_class = BilstmConfig


class BilstmForMultipleChoice(BilstmForSequenceClassification):
    """Pooled LSTM states, combined four ways; one score per choice."""

    multiple_choice = True


class WordClassifier(_BaselineClassifier):
    """A word-level model as a classifier.

    A prepared row has one sequence for each text: text and pair, or text and pair of each choice. Padding is masked,
    so that a row's scores do not depend on its batch.
    """

    def __init__(
        self, module: Any, vocabulary: Vocabulary, label_names: tuple[str, ...], identity: Mapping[str, str]
    ) -> None:
        super().__init__(module, label_names, identity)
        self.vocabulary = vocabulary
        self.text_shape = (2 if module.config.paired else 1,)

    def prepare(self, inputs: classifier.Inputs) -> list[classifier.Prepared]:
        """Look up the words of all rows; InputError for a row of two texts if the model is one of single texts."""
        (n_texts,) = self.text_shape
        texts: list[str] = []
        for row, pair in enumerate(chain.from_iterable(inputs)):
            if n_texts == 1 and pair.text_pair is not None:
                must = "be absent, because the model was trained on single texts"
                raise input_error("WordClassifier", "text_pair", must, got=pair.text_pair, row=row)
            texts += (pair.text, pair.text_pair or "")[:n_texts]
        return classifier.by_row(inputs, self.vocabulary.encode(texts), n_texts=n_texts)


def _open_words(
    module: Any, folder: Path, labels: tuple[str, ...], identity: Mapping[str, str]
) -> classifier.Classifier:
    try:
        vocabulary = Vocabulary.load(folder)
    except (OSError, ValueError) as problem:
        raise not_a_model(str(folder), f"its vocabulary cannot be read ({first_line(problem)})") from None
    n_vectors = module.config.vocab_size
    if len(vocabulary) != n_vectors:
        raise not_a_model(str(folder), f"its vocabulary has {len(vocabulary):,} places, its weights {n_vectors:,}")
    return WordClassifier(module, vocabulary, labels, identity)


BOW = Baseline(
    "bow",
    BowConfig,
    (BowForSequenceClassification, BowForMultipleChoice),
    open=lambda module, folder, labels, identity: BowClassifier(module, labels, identity),
    version_field="hashing",
    versioned="n-gram hashing",
)
GLOVE_BOW = Baseline(
    "glove_bow", GloveBowConfig, (GloveBowForSequenceClassification, GloveBowForMultipleChoice), _open_words
)
BILSTM = Baseline("bilstm", BilstmConfig, (BilstmForSequenceClassification, BilstmForMultipleChoice), _open_words)
