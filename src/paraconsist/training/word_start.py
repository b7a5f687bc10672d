"""A new word-level model: its vocabulary from the training rows, its word vectors from a file or random."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paraconsist.data.tasks import ModelInput
from paraconsist.models.own import OWN_MODELS
from paraconsist.models.word_models import BilstmConfig, WordClassifier
from paraconsist.models.words import Vocabulary, WordVectors, count_words, read_vectors
from paraconsist.training.options import TrainingOptions


def new_word_model(
    options: TrainingOptions,
    label_names: Sequence[str],
    inputs: Sequence[tuple[ModelInput, ...]],
    *,
    multiple_choice: bool,
    say: Callable[[str], None],
) -> WordClassifier:
    """Make a glove_bow or bilstm for these training rows. The global seed must be set.

    The vocabulary holds the words of the rows that are frequent enough or have a vector, in the order of
    first occurrence, then `extra_words` of the file. What was found is said.
    """
    given = [choice for row in inputs for choice in row]
    counts = count_words(text for choice in given for text in (choice.text, choice.text_pair) if text)
    vectors = None if options.vectors is None else read_vectors(options.vectors, counts, extra=options.extra_words)
    known = frozenset() if vectors is None else frozenset(vectors.words)
    words = [word for word, count in counts.items() if count >= options.min_count or word in known]
    extra = [] if vectors is None else [word for word in vectors.words if word not in counts]
    vocabulary = Vocabulary([*words, *extra])
    own = OWN_MODELS[options.model]
    settings = {
        "vocab_size": len(vocabulary),
        "embedding_dim": options.embedding_dim if vectors is None else vectors.matrix.shape[1],
        "paired": any(choice.text_pair is not None for choice in given),
        "mlp_size": options.mlp_size,
        "mlp_layers": options.mlp_layers,
        "dropout": options.dropout,
        "freeze_vectors": options.freeze_vectors,
    }
    if own.config is BilstmConfig:
        settings |= {
            "lstm_size": options.lstm_size,
            "lstm_layers": options.lstm_layers,
            "pooling": options.pooling,
        }
    config = own.config(
        **settings, id2label=dict(enumerate(label_names)), label2id={name: i for i, name in enumerate(label_names)}
    )
    module = own.head(multiple_choice=multiple_choice)(config)
    if vectors is not None:
        module.set_vectors([vocabulary.number(word) for word in vectors.words], vectors.matrix)
    _tell(len(counts), len(words), len(extra), vectors, options, say)
    return WordClassifier(module, vocabulary, tuple(label_names), {"model": own.name})


def _tell(
    n_words: int,
    n_kept: int,
    n_extra: int,
    vectors: WordVectors | None,
    options: TrainingOptions,
    say: Callable[[str], None],
) -> None:
    """Say how large the vocabulary is and where its vectors come from."""
    rare = f"; the other {n_words - n_kept:,} are too rare and become the unknown word" if n_kept < n_words else ""
    say(f"Vocabulary: {n_kept:,} of the {n_words:,} words of the training rows{rare}.")
    if vectors is None:
        say("Word vectors start random: no file was given (--vectors takes GloVe's text format).")
        return
    n_found = len(vectors.words) - n_extra
    more = f", and {n_extra:,} words more" if n_extra else ""
    say(
        f"Word vectors of {vectors.matrix.shape[1]} dimensions from {options.vectors}: {n_found:,} of the {n_words:,} "
        f"words ({n_found / max(n_words, 1):.1%}){more}; the rest start random."
    )
