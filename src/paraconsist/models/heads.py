"""Hugging Face classifiers: sequence-classification heads and multiple-choice heads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput
from paraconsist.models.classifier import ModuleClassifier, Prepared, by_row, pad_sequences, require_rows

#: Tokenizers call "no limit" a number above this.
_NO_LIMIT = 1_000_000
#: Models whose classification head reads the last place of the row; all others are padded on the right.
_LEFT_PADDED = frozenset({"xlnet"})


class HeadClassifier(ModuleClassifier):
    """A sequence-classification or multiple-choice model behind the `Classifier` protocol.

    Label names stand in logit order. Inputs longer than `max_length` tokens lose tokens from the end of the longer text
    of the pair first (`longest_first`).
    """

    @property
    def reentrant(self) -> bool:
        """Whether threads may call `logits` at a time; without a pad token each batch sets one in the config."""
        return self._pad_id is not None

    def __init__(
        self,
        module: Any,
        tokenizer: Any,
        label_names: tuple[str, ...],
        *,
        multiple_choice: bool,
        max_length: int | None,
        identity: Mapping[str, str],
    ) -> None:
        super().__init__(module, label_names, multiple_choice=multiple_choice, identity=identity)
        self.tokenizer = tokenizer
        self.max_length = max_length
        self._uses_types = "token_type_ids" in tokenizer.model_input_names
        self._left = module.config.model_type in _LEFT_PADDED
        self._pad_id: int | None = tokenizer.pad_token_id
        text_config = module.config.get_text_config()
        if self._pad_id is not None and getattr(text_config, "pad_token_id", None) is None:
            text_config.pad_token_id = self._pad_id
        # without any pad token an id is chosen for each batch that does not occur in it (see collate)
        self._chosen_pad_config = text_config if self._pad_id is None else None

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all rows in one call, without padding; one warning says how many inputs were cut, to what length."""
        flat = list(chain.from_iterable(inputs))
        if not flat:
            return []
        columns = self._tokenise(flat, truncate=False)
        sequences = columns["input_ids"]
        limit = self.max_length
        long = [] if limit is None else [i for i, sequence in enumerate(sequences) if len(sequence) > limit]
        if long:
            problem = f"{len(long):,} of {len(flat):,} inputs are longer than {limit} tokens (the longest has "
            problem += f"{max(len(sequences[i]) for i in long)}) and were cut, the longer text of a pair first."
            warnings.warn(problem, UserWarning, stacklevel=2)
            for name, cut in self._tokenise([flat[i] for i in long], truncate=True).items():
                for place, i in enumerate(long):
                    columns[name][i] = cut[place]
        types = columns.get("token_type_ids")
        arrays = [np.array(sequence, dtype=np.int64) for sequence in sequences]
        type_arrays = None if types is None else [np.array(numbers, dtype=np.int64) for numbers in types]
        return by_row(inputs, arrays, type_arrays)

    def _tokenise(self, flat: Sequence[ModelInput], *, truncate: bool) -> dict[str, list[list[int]]]:
        """Token and, where used, segment numbers; inputs with a second text and without it in a call each."""
        options: dict[str, Any] = {"return_token_type_ids": self._uses_types, "return_attention_mask": False}
        options |= {"padding": False, "verbose": False, "truncation": "longest_first" if truncate else False}
        options |= {"max_length": self.max_length} if truncate else {}
        names = ["input_ids", "token_type_ids"] if self._uses_types else ["input_ids"]
        columns: dict[str, list[list[int]]] = {name: [[] for _ in flat] for name in names}
        for paired in (False, True):
            places = [i for i, one in enumerate(flat) if (one.text_pair is not None) is paired]
            if not places:
                continue
            second = [flat[i].text_pair for i in places] if paired else None
            encoded = self.tokenizer([flat[i].text for i in places], second, **options)
            for name, column in columns.items():
                for place, numbers in zip(places, encoded[name], strict=True):
                    column[place] = numbers
        return columns

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """``input_ids``, ``attention_mask`` and, where used, ``token_type_ids``, padded to the longest.

        Int64, on the CPU, of shape (n, width), or (n, choices, width) for multiple choice.
        """
        n_sequences = require_rows("HeadClassifier", batch)
        sequences = [sequence for row in batch for sequence in row.sequences]
        pad_id = self._pad_id if self._pad_id is not None else self._absent_id(sequences)
        padded, real = pad_sequences(sequences, pad_id, left=self._left)
        arrays: dict[str, NDArray[Any]] = {"input_ids": padded, "attention_mask": real.astype(np.int64)}
        if self._uses_types:
            types = [numbers for row in batch for numbers in row.type_ids or ()]
            fill = int(getattr(self.tokenizer, "pad_token_type_id", 0) or 0)
            arrays["token_type_ids"], _ = pad_sequences(types, fill, left=self._left)
        if self.multiple_choice:
            arrays = {name: a.reshape(len(batch), n_sequences, -1) for name, a in arrays.items()}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _absent_id(self, sequences: Sequence[NDArray[np.int64]]) -> int:
        """A token id that no sequence has: such models find the end of a row by looking for the pad id."""
        present = np.unique(np.concatenate(sequences))
        gaps = np.flatnonzero(present != np.arange(len(present)))
        absent = int(gaps[0]) if len(gaps) else len(present)
        assert self._chosen_pad_config is not None
        if absent >= self._chosen_pad_config.vocab_size:
            absent = int(present[-1])
        self._chosen_pad_config.pad_token_id = absent
        return absent


def longest_input(module: Any, tokenizer: Any) -> int | None:
    """The longest input in tokens that both model and tokenizer allow; None where neither names a limit.

    Models that number positions from behind the pad token (RoBERTa and its kin) lose those places:
    514 positions, 512 tokens.
    """
    limits = []
    positions = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        for name, part in module.named_modules():
            if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
                positions = min(positions, part.num_embeddings - part.padding_idx - 1)
        limits.append(positions)
    if 0 < (tokenizer.model_max_length or 0) < _NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    return min(limits) if limits else None
