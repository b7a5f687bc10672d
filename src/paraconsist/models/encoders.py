"""Vectors of texts, one a row, from a bare encoder, a fine-tuned classifier, or a word-level model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import check_choice, input_error
from paraconsist.models import pretrained
from paraconsist.models.batching import BatchPolicy, check_device, plan_batches
from paraconsist.models.classifier import Classifier, HeadClassifier, Inputs, longest_input, warn_of_cut
from paraconsist.models.loading import load_model

Floats = NDArray[np.float64]

POOLINGS = ("auto", "first", "mean", "head")
_FUNCTION = "load_encoder"


@dataclass(frozen=True)
class Encoder:
    """A model with the pooling of its vectors.

    A vector is the first token's last hidden state (``[CLS]``, "first"), the mean of the tokens' ("mean"), or the input
    of the last linear layer of a classification head ("head").
    """

    classifier: Classifier  # tokenises; its module is run
    pooling: str
    #: weights hash and pooling: two encoders with the same identity return the same vectors
    identity: Mapping[str, object] = field(default_factory=dict)
    _known: dict[str, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each text, shape (n, d), from the model's device; each text is computed once."""
        absent = [text for text in dict.fromkeys(texts) if text not in self._known]
        if absent:
            inputs = [(ModelInput(text, None),) for text in absent]
            vectors = self.vectors(inputs, device=str(self.classifier.module.device))
            self._known.update(zip(absent, vectors.astype(np.float64), strict=True))
        return np.stack([self._known[text] for text in texts])

    def vectors(
        self, inputs: Inputs, *, device: str | None = None, progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return one vector for each row, shape (n, d); a row of several choices has their vectors end to end.

        They are computed on the accelerator, if any, unless `device` is ``"cpu"``; `progress` takes how many more rows
        are done. InputError for a vector that is not finite: the weights are damaged.
        """
        where = check_device("encoder", device)
        self.classifier.module.to(where).eval()
        prepared = self.classifier.prepare(inputs)
        warn_of_cut(prepared)
        vectors: NDArray[np.float32] | None = None
        for places in plan_batches(prepared, BatchPolicy.for_device(where)):
            batch = [prepared[i] for i in places]
            with torch.inference_mode():
                pooled = _head_input(self.classifier, batch) if self.pooling == "head" else self._pooled(batch)
            rows = pooled.reshape(len(batch), -1).float().cpu().numpy()
            if vectors is None:
                vectors = np.empty((len(prepared), rows.shape[1]), dtype=np.float32)
            vectors[places] = rows
            if progress is not None:
                progress(len(places))
        if vectors is None or not np.isfinite(vectors).all():
            raise input_error(_FUNCTION, "model", "give finite numbers for at least one row", got=self.identity)
        return vectors

    def content_key(self, inputs: Sequence[Any]) -> str:
        """Return 16 hex digits of the encoder and of all texts in order, the key of stored vectors."""
        digest = hashlib.blake2b(repr(sorted(self.identity.items())).encode(), digest_size=8)
        for row in inputs:
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _pooled(self, batch: Sequence[Any]) -> Any:
        module: Any = self.classifier.module
        collated = {name: tensor.to(module.device) for name, tensor in self.classifier.collate(batch).items()}
        flat = {name: tensor.reshape(-1, tensor.shape[-1]) for name, tensor in collated.items()}
        hidden = module.base_model(**flat).last_hidden_state
        if self.pooling == "first":
            return hidden[:, 0]
        real = flat["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        return (hidden * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def load_encoder(
    model: str | Path, task: Task | None = None, *, pooling: str = "auto", max_length: int | None = None
) -> Encoder:
    """Load an encoder: a bare one, a fine-tuned classifier, or a word-level model.

    InputError for other models, and for files without weights that the configuration calls for.

    Parameters
    ----------
    task : Task, optional
        Of the rows. Without it the vectors are of single texts, and the model's head, if any, is dropped.
    pooling : {"auto", "first", "mean", "head"}
        ``auto``: first token of a fine-tuned classifier (as in Srikanth et al. 2024), mean of a bare encoder, head of a
        word-level model. InputError if it does not fit the model.
    max_length : int, optional
        Cut inputs after this many tokens.
    """
    check_choice(_FUNCTION, "pooling", pooling, POOLINGS)
    name = str(model)
    config = pretrained.open_configuration(name)
    is_ours = task is not None and pretrained.find_baseline(config.model_type) is not None
    endings = ("Classification", "MultipleChoice")
    has_head = is_ours or (task is not None and any(str(a).endswith(endings) for a in config.architectures or ()))
    if pooling == "auto":
        pooling = "head" if is_ours else "first" if has_head else "mean"
    if (is_ours and pooling != "head") or (pooling == "head" and not has_head):
        fits = "'head' for a word-level model" if is_ours else "'first' or 'mean' for an encoder without a trained head"
        raise input_error(_FUNCTION, "pooling", f"be {fits}", got=pooling)
    if has_head and task is not None:
        classifier = load_model(name, task=task, max_length=max_length)
    else:
        classifier = _load_bare(name, config, max_length)
    folder = Path(name).expanduser()
    identity: dict[str, object] = {"weights": f"{name}@{getattr(config, '_commit_hash', None)}"}
    if folder.is_dir():
        identity = dict(pretrained.folder_identity(folder))
    return Encoder(classifier, pooling, {**identity, "pooling": pooling, "max_length": max_length})


def _load_bare(name: str, config: Any, max_length: int | None) -> Classifier:
    if getattr(config, "is_encoder_decoder", False):
        raise input_error(_FUNCTION, "model", "be an encoder", got=name)
    loaded = pretrained.load_head(name, transformers.AutoModel, ignore_mismatched_sizes=True)
    absent = [key for key in loaded.missing if not key.startswith("pooler")]  # token vectors do not use it
    if absent:
        remedy = f"Its files lack {len(absent)} of them, or hold them in another shape, such as {', '.join(absent[:3])}"
        remedy += ": configuration and checkpoint do not belong together."
        must = "have the weights that its configuration calls for"
        raise input_error(_FUNCTION, "model", must, got=name, remedy=remedy)
    return _without_head(loaded.module.eval(), loaded.tokenizer, max_length)


def encoder_of(classifier: Any) -> Encoder | None:
    """Return the encoder inside a transformers classifier; None for other models, such as a bag of words."""
    module, tokenizer = getattr(classifier, "module", None), getattr(classifier, "tokenizer", None)
    if tokenizer is None or getattr(module, "base_model", module) is module:
        return None
    return Encoder(_without_head(module, tokenizer, None), "mean")


def _without_head(module: Any, tokenizer: Any, max_length: int | None) -> Classifier:
    limit = pretrained.checked_max_length(_FUNCTION, max_length, longest_input(module, tokenizer))
    return HeadClassifier(module, tokenizer, (), multiple_choice=False, max_length=limit, identity={})


def cosines(one: Floats, other: Floats) -> Floats:
    """Return the cosine of each pair of rows, shape (n,)."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    values: Floats = np.clip((one * other).sum(axis=1) / np.maximum(lengths, 1e-12), -1.0, 1.0)
    return values


def _head_input(classifier: Any, batch: Sequence[Any]) -> Any:
    """Run the classifier and return the input of its last linear layer."""
    last = [part for part in classifier.module.modules() if isinstance(part, torch.nn.Linear)][-1]
    inputs: list[Any] = []
    handle = last.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0]))
    try:
        classifier.logits(batch)
    finally:
        handle.remove()
    return inputs[0]
