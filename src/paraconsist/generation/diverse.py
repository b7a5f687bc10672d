"""Diverse beam search with one beam a group (Vijayakumar et al. 2018), as arguments of transformers' ``generate``.

transformers 5 has no group beam search of its own. With one beam a group it is greedy search in groups side by
side, where a token that earlier groups chose at this place costs `penalty` for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList

if TYPE_CHECKING:
    from paraconsist.models.pretrained import LanguageModel


class DiverseGroups(LogitsProcessor):  # type: ignore[misc]
    """Makes greedy search choose, in each row of a group of `n_groups` rows, what diverse beam search would.

    Parameters
    ----------
    n_groups : int
        Rows one after another that continue the same prompt.
    penalty : float
        Taken off a token's log-probability for each earlier row that chose it at this step.
    temperature : float
        Divides the scores before the log-probabilities are taken.
    stop : sequence of int
        Tokens that end a text: rows that are over choose nothing.
    """

    def __init__(self, n_groups: int, penalty: float, temperature: float, stop: tuple[int, ...]) -> None:
        self.n_groups = n_groups
        self.penalty = penalty
        self.temperature = temperature
        self.stop = stop
        self._over: Any = None
        self._seen: Any = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities less what earlier groups' choices cost."""
        n_rows = scores.shape[0]
        before = input_ids[:, :-1]
        if self._seen is None or before.shape != self._seen.shape or not torch.equal(before, self._seen):
            self._over = torch.zeros(n_rows, dtype=torch.bool, device=scores.device)  # a new batch
        else:
            for token in self.stop:
                self._over |= input_ids[:, -1] == token
        self._seen = input_ids.clone()
        chosen = torch.log_softmax(scores.float() / self.temperature, dim=-1)
        groups = self.n_groups if n_rows % self.n_groups == 0 else n_rows  # halved where memory did not suffice
        for first in range(0, n_rows, groups):
            spent = torch.zeros_like(chosen[0])
            for row in range(first, first + groups):
                chosen[row] -= self.penalty * spent
                if not bool(self._over[row]):
                    spent[int(chosen[row].argmax())] += 1.0
        return chosen.to(scores.dtype)


def diverse_groups(language: LanguageModel, n_groups: int, penalty: float, temperature: float) -> dict[str, Any]:
    """Return the arguments of ``generate`` for prompts that stand `n_groups` times one after another."""
    stop = getattr(language.module.generation_config, "eos_token_id", None)
    stop = language.tokenizer.eos_token_id if stop is None else stop
    tokens = () if stop is None else tuple(stop) if isinstance(stop, (list, tuple)) else (int(stop),)
    made = DiverseGroups(n_groups, penalty, temperature, tokens)
    return {"logits_processor": LogitsProcessorList([made])}
