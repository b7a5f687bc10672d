"""Sentence vectors from an encoder: the mean of its last hidden states over a text's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error, speaking_for

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


def load_encoder(model: str) -> SentenceEncoder:
    """Load an encoder from a folder or the Hub, without any head that it has.

    Raises
    ------
    InputError
        If there is no such model, or it is no encoder.
    """
    import transformers

    from paraconsist.models.heads import longest_input
    from paraconsist.models.pretrained import load_head, open_configuration

    with speaking_for("paraphrase", model="embedding_model"):
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
