"""What an encoder makes of texts: one vector a row, from a bare encoder or from a fine-tuned classifier.

Sentence vectors from an encoder: the mean of its last hidden states over a text's tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from paraconsist.errors import check_choice, input_error, renamed

if TYPE_CHECKING:
    from paraconsist.data.tasks import ModelInput, Task
    from paraconsist.models.classifier import Classifier


POOLINGS = ("auto", "first", "mean", "head")
_FUNCTION = "select"
#: Weights of a bare encoder that are no part of its token vectors: files may lack them.
_NOT_NEEDED = ("pooler",)


@dataclass(frozen=True)
class Encoder:
    """A model whose vectors are taken.

    Attributes
    ----------
    classifier : Classifier
        Tokenises; its module is run.
    pooling : {"first", "mean", "head"}
        The first token's last hidden state (``[CLS]``), the mean of the tokens', or what the last linear layer of a
        classification head reads.
    identity : dict
        Weights hash and pooling: two encoders with the same give the same vectors.
    """

    classifier: Classifier
    pooling: str
    identity: dict[str, Any]


def load_encoder(
    model: str | Path, task: Task, *, pooling: str = "auto", max_length: int | None = None, revision: str | None = None
) -> Encoder:
    """Load an encoder to embed with.

    Parameters
    ----------
    model : str or Path
        A folder or Hub id: a bare encoder, a fine-tuned classifier, or a word-level model of this package.
    task : Task
        Of the rows.
    pooling : {"auto", "first", "mean", "head"}
        ``auto``: first token of a fine-tuned classifier (as in Srikanth et al. 2024), mean of a bare encoder, head of a
        word-level model.
    max_length : int, optional
        Cut inputs at this many tokens.

    Raises
    ------
    InputError
        If there is no such model, its weights are not those that its configuration calls for, or the pooling does
        not fit it.
    """
    import transformers

    from paraconsist.models.baselines import find_baseline
    from paraconsist.models.heads import HeadClassifier, longest_input
    from paraconsist.models.loading import load_model
    from paraconsist.models.pretrained import checked_max_length, load_head, open_configuration, weights_hash

    check_choice(_FUNCTION, "pooling", pooling, POOLINGS)
    name = str(model)
    config = open_configuration(name, revision=revision)
    own = find_baseline(config.model_type) is not None
    has_head = own or any(str(a).endswith(("Classification", "MultipleChoice")) for a in config.architectures or ())
    if pooling == "auto":
        pooling = "head" if own else "first" if has_head else "mean"
    if (own and pooling != "head") or (pooling == "head" and not has_head):
        fits = "'head' for a word-level model" if own else "'first' or 'mean' for an encoder without a trained head"
        raise input_error(_FUNCTION, "pooling", f"be {fits}", got=pooling)
    classifier: Classifier
    if has_head:
        classifier = load_model(name, task=task, max_length=max_length, revision=revision)
    else:
        loaded = load_head(name, transformers.AutoModel, revision=revision, ignore_mismatched_sizes=True)
        absent = [key for key in loaded.missing if not key.startswith(_NOT_NEEDED)]
        if absent:
            raise input_error(
                _FUNCTION,
                "encoder",
                "have the weights that its configuration calls for",
                got=name,
                remedy=f"Its files lack {len(absent)} of them, or hold them in another shape, such as "
                f"{', '.join(absent[:3])}: configuration and checkpoint do not belong together.",
            )
        limit = checked_max_length(_FUNCTION, max_length, longest_input(loaded.module, loaded.tokenizer))
        classifier = HeadClassifier(
            loaded.module.eval(), loaded.tokenizer, (), multiple_choice=False, max_length=limit, identity={}
        )
    folder = Path(name).expanduser()
    weights = weights_hash(folder) if folder.is_dir() else f"{name}@{getattr(config, '_commit_hash', None)}"
    return Encoder(classifier, pooling, {"weights": weights, "pooling": pooling, "max_length": max_length})


def embed(
    encoder: Encoder,
    inputs: Sequence[tuple[ModelInput, ...]],
    *,
    device: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """Return one vector for each row; those of several choices one after the other.

    Parameters
    ----------
    encoder : Encoder
    inputs : sequence of tuples of ModelInput
        For each row one text or pair, or one per choice.
    device : str, optional
        ``"cpu"``, or by default the accelerator there is.
    progress : callable
        Told how many more rows are done.

    Returns
    -------
    float32 array, shape (n, d)

    Raises
    ------
    InputError
        If a vector is not finite: the weights are damaged.
    """
    import torch

    from paraconsist.models.batching import BatchPolicy, Shape, plan_batches

    where = "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
    classifier = encoder.classifier
    classifier.module.to(where).eval()
    prepared = classifier.prepare(inputs)
    shapes = [Shape(row.n_tokens, row.width, row.n_sequences) for row in prepared]
    out: NDArray[np.float32] | None = None
    for places in plan_batches(shapes, BatchPolicy.for_device(where)):
        batch = [prepared[i] for i in places]
        with torch.inference_mode():
            vectors = _head_input(classifier, batch) if encoder.pooling == "head" else _pooled(encoder, batch)
        found = vectors.reshape(len(batch), -1).float().cpu().numpy()
        if out is None:
            out = np.empty((len(prepared), found.shape[1]), dtype=np.float32)
        out[places] = found
        if progress is not None:
            progress(len(places))
    if out is None or not np.isfinite(out).all():
        raise input_error(_FUNCTION, "encoder", "give finite numbers for at least one row", got=encoder.identity)
    return out


def content_key(encoder: Encoder, inputs: Sequence[Any]) -> str:
    """16 hex digits of the encoder and of all texts in order: stored vectors are used again only for the same."""
    digest = hashlib.blake2b(repr(sorted(encoder.identity.items())).encode(), digest_size=8)
    for row in inputs:
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _pooled(encoder: Encoder, batch: Sequence[Any]) -> Any:
    module: Any = encoder.classifier.module
    given = {name: tensor.to(module.device) for name, tensor in encoder.classifier.collate(batch).items()}
    flat = {name: tensor.reshape(-1, tensor.shape[-1]) for name, tensor in given.items()}
    base = module.base_model
    hidden = base(**flat).last_hidden_state
    if encoder.pooling == "first":
        return hidden[:, 0]
    real = flat["attention_mask"].unsqueeze(-1).to(hidden.dtype)
    return (hidden * real).sum(dim=1) / real.sum(dim=1)


def _head_input(classifier: Any, batch: Sequence[Any]) -> Any:
    """Run the classifier and keep what its last linear layer reads."""
    from torch import nn

    last = [part for part in classifier.module.modules() if isinstance(part, nn.Linear)][-1]
    kept: list[Any] = []
    handle = last.register_forward_pre_hook(lambda _, given: kept.append(given[0]))
    try:
        classifier.logits(batch)
    finally:
        handle.remove()
    return kept[0]


Floats = npt.NDArray[np.float64]


class SentenceEncoder:
    """An encoder with its tokenizer.

    Parameters
    ----------
    module, tokenizer
        Of transformers; the module returns ``last_hidden_state``.
    max_length : int, optional
        Longest text in tokens; by default what the module and tokenizer allow.
    """

    def __init__(self, module: Any, tokenizer: Any, max_length: int | None = None) -> None:
        self.module = module
        self.tokenizer = tokenizer
        self.max_length = max_length
        self._known: dict[str, Floats] = {}

    def __call__(self, texts: Sequence[str], *, batch_rows: int = 64) -> Floats:
        """Return vectors, shape (n, d); each distinct text is computed once, the longest first."""
        import torch

        absent = sorted({text for text in texts if text not in self._known}, key=lambda text: (-len(text), text))
        for start in range(0, len(absent), batch_rows):
            batch = absent[start : start + batch_rows]
            given = self.tokenizer(
                batch,
                padding=True,
                truncation=self.max_length is not None,
                max_length=self.max_length,
                return_tensors="pt",
            ).to(self.module.device)
            with torch.inference_mode():
                states = self.module(**given).last_hidden_state.double()
            mask = given["attention_mask"].unsqueeze(-1)
            means = ((states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).cpu().numpy()
            self._known.update(zip(batch, means, strict=True))
        return np.stack([self._known[text] for text in texts])


def load_sentence_encoder(model: str) -> SentenceEncoder:
    """Load an encoder from a folder or the Hub, without any head that it has.

    Raises
    ------
    InputError
        If there is no such model, or it is no encoder.
    """
    import transformers

    from paraconsist.models.heads import longest_input
    from paraconsist.models.pretrained import load_head, open_configuration

    with renamed(model="embedding_model"):
        config = open_configuration(model)
        loaded = load_head(model, transformers.AutoModel)
    if getattr(config, "is_encoder_decoder", False):
        raise input_error("paraphrase", "embedding_model", "be an encoder", got=model)
    return SentenceEncoder(loaded.module.eval(), loaded.tokenizer, longest_input(loaded.module, loaded.tokenizer))


def encoder_of(classifier: Any) -> SentenceEncoder | None:
    """Return the encoder inside a classifier of transformers; None for others, such as a bag of words."""
    module, tokenizer = getattr(classifier, "module", None), getattr(classifier, "tokenizer", None)
    inner = getattr(module, "base_model", None)
    if tokenizer is None or inner is None or inner is module:
        return None
    from paraconsist.models.heads import longest_input

    return SentenceEncoder(inner, tokenizer, longest_input(module, tokenizer))


def cosines(one: Floats, other: Floats) -> Floats:
    """Return the cosine of each pair of rows, shape (n,)."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    found: Floats = np.clip((one * other).sum(axis=1) / np.maximum(lengths, 1e-12), -1.0, 1.0)
    return found
