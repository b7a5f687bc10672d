"""Hugging Face classifiers: sequence-classification heads and multiple-choice heads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput, Task
from paraconsist.models.classifier import Prepared, encode_row, pad_sequences, require_rows

#: Tokenizers call "no limit" a number above this.
_NO_LIMIT = 1_000_000
#: Models whose classification head reads the last place of the row; all others are padded on the right.
_LEFT_PADDED = frozenset({"xlnet"})


class HeadClassifier:
    """A sequence-classification or multiple-choice model behind the `Classifier` protocol.

    Parameters
    ----------
    module : transformers.PreTrainedModel
        In evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
    label_names : tuple of str
        In logit order; the task's labels for multiple choice.
    multiple_choice : bool
    max_length : int, optional
        Longest input in tokens. Longer ones lose tokens from the end of the longer text of the pair first
        (`longest_first`); `prepare` warns once, saying how many.
    identity : mapping
        What the predictions file records of the model.
    """

    pads = True

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
        self.module = module
        self.tokenizer = tokenizer
        self.label_names = label_names
        self.multiple_choice = multiple_choice
        self.max_length = max_length
        self.identity = identity
        self._uses_types = "token_type_ids" in tokenizer.model_input_names
        self._left = module.config.model_type in _LEFT_PADDED
        self._pad_id: int | None = tokenizer.pad_token_id
        text_config = module.config.get_text_config()
        if self._pad_id is not None and getattr(text_config, "pad_token_id", None) is None:
            text_config.pad_token_id = self._pad_id
        # without any pad token an id is chosen for each batch that does not occur in it (see collate)
        self._chosen_pad_config = text_config if self._pad_id is None else None

    def encode(self, task: Task, row: Mapping[str, Any]) -> tuple[ModelInput, ...]:
        """The row's texts: one input, or one per choice."""
        return encode_row(task, row, multiple_choice=self.multiple_choice)

    def prepare(self, inputs: Sequence[tuple[ModelInput, ...]]) -> list[Prepared]:
        """Tokenise all rows in one call, without padding.

        Warns
        -----
        UserWarning
            Once per call, if inputs are longer than `max_length`: how many, and to what length they were cut.
        """
        flat = list(chain.from_iterable(inputs))
        if not flat:
            return []
        encoded = self._tokenise(flat, truncate=False)
        sequences: list[list[int]] = encoded["input_ids"]
        types: list[list[int]] | None = encoded["token_type_ids"] if self._uses_types else None
        if self.max_length is not None:
            long = [i for i, sequence in enumerate(sequences) if len(sequence) > self.max_length]
            if long:
                longest = max(len(sequences[i]) for i in long)
                cut = self._tokenise([flat[i] for i in long], truncate=True)
                for place, i in enumerate(long):
                    sequences[i] = cut["input_ids"][place]
                    if types is not None:
                        types[i] = cut["token_type_ids"][place]
                warnings.warn(
                    f"{len(long):,} of {len(flat):,} inputs are longer than {self.max_length} tokens "
                    f"(the longest has {longest}) and were cut, the longer text of a pair first.",
                    UserWarning,
                    stacklevel=2,
                )
        arrays = [np.array(sequence, dtype=np.int64) for sequence in sequences]
        type_arrays = None if types is None else [np.array(given, dtype=np.int64) for given in types]
        prepared, start = [], 0
        for row in inputs:
            stop = start + len(row)
            prepared.append(Prepared.of(arrays[start:stop], None if type_arrays is None else type_arrays[start:stop]))
            start = stop
        return prepared

    def _tokenise(self, flat: Sequence[ModelInput], *, truncate: bool) -> Mapping[str, list[list[int]]]:
        options: dict[str, Any] = {"truncation": "longest_first", "max_length": self.max_length}
        paired = [given.text_pair is not None for given in flat]
        if any(paired) and not all(paired):
            # rows of one task are all single or all paired; mixed lists are tokenised one kind at a time
            return self._tokenise_mixed(flat, paired, truncate=truncate)
        encoded: Mapping[str, list[list[int]]] = self.tokenizer(
            [given.text for given in flat],
            [given.text_pair for given in flat] if paired[0] else None,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=self._uses_types,
            verbose=False,
            **(options if truncate else {"truncation": False}),
        )
        return encoded

    def _tokenise_mixed(
        self, flat: Sequence[ModelInput], paired: Sequence[bool], *, truncate: bool
    ) -> Mapping[str, list[list[int]]]:
        merged: dict[str, list[list[int]]] = {}
        for kind in (False, True):
            places = [i for i, is_pair in enumerate(paired) if is_pair is kind]
            part = self._tokenise([flat[i] for i in places], truncate=truncate)
            for key, values in part.items():
                column = merged.setdefault(key, [[] for _ in flat])
                for place, value in zip(places, values, strict=True):
                    column[place] = value
        return merged

    def collate(self, batch: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        """``input_ids``, ``attention_mask`` and, where used, ``token_type_ids``, padded to the longest.

        Returns
        -------
        dict of int64 tensors on the CPU, each of shape (n, width), or (n, choices, width) for multiple choice
        """
        n_sequences = require_rows("HeadClassifier", batch)
        sequences = [sequence for row in batch for sequence in row.sequences]
        pad_id = self._pad_id if self._pad_id is not None else self._absent_id(sequences)
        padded, real = pad_sequences(sequences, pad_id, left=self._left)
        arrays: dict[str, NDArray[Any]] = {"input_ids": padded, "attention_mask": real.astype(np.int64)}
        if self._uses_types:
            types = [given for row in batch for given in row.type_ids or ()]
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

    @torch.inference_mode()
    def logits(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Scores, shape (n, n_labels), float32, on the module's device."""
        device = self.module.device
        inputs = {name: t.to(device, non_blocking=True) for name, t in self.collate(batch).items()}
        scores: torch.Tensor = self.module(**inputs).logits
        return scores.float()


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
