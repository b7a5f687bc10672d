"""How texts are written: what local models and endpoints are told (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GenerationSettings:
    """How texts are written.

    Attributes
    ----------
    n : int
        Texts for each prompt.
    max_new_tokens : int
        Of one text.
    num_beams : int
        1 for greedy search or sampling.
    temperature : float, optional
        Sample at this temperature; None for greedy or beam search.
    top_k, top_p : optional
        Sample among so many tokens, or among those that hold so much probability.
    seed : int
        Of the sampling; batches are drawn in order, so that the result depends on `batch_rows`, too.
    batch_rows : int
        Prompts a batch; halved where memory does not suffice.
    more : mapping, optional
        Further arguments of transformers' ``generate``.
    """

    n: int = 1
    max_new_tokens: int = 40
    num_beams: int = 1
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    batch_rows: int = 16
    more: Mapping[str, Any] | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of transformers' ``generate``."""
        given: dict[str, Any] = {
            "max_new_tokens": self.max_new_tokens,
            "num_return_sequences": self.n,
            "num_beams": self.num_beams,
            "do_sample": self.temperature is not None,
        }
        if self.temperature is not None:
            given |= {"temperature": self.temperature, "top_k": self.top_k or 0, "top_p": self.top_p or 1.0}
        return {**given, **(self.more or {})}
