"""From a folder or a Hub id to a language model that is asked a prompt: causal, or sequence-to-sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import transformers

from paraconsist.errors import input_error
from paraconsist.models.causal_scoring import CausalScorer
from paraconsist.models.generation import CausalWriter, Seq2SeqWriter
from paraconsist.models.prompted import PromptedModel, PromptSettings, window_of
from paraconsist.models.seq2seq_scoring import Seq2SeqScorer


@dataclass(frozen=True)
class LanguageModel:
    """A causal or sequence-to-sequence model with its tokenizer, as `generate` takes it.

    Attributes
    ----------
    module, tokenizer
        Of transformers; the module in evaluation mode.
    kind : {"causal", "seq2seq"}
    """

    module: Any
    tokenizer: Any
    kind: Literal["causal", "seq2seq"]


def load_language_model(
    model: str,
    kind: Literal["causal", "seq2seq"],
    *,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    trust_remote_code: bool = False,
    device_map: str | None = None,
) -> LanguageModel:
    """Load a language model, in evaluation mode; on the CPU, or spread over devices by `device_map`.

    Raises
    ------
    InputError
        If there is no such model, its weights are not safetensors, or some are missing.
    """
    from paraconsist.models.loading import load_head

    auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    spread = {} if device_map is None else {"device_map": device_map}
    loaded = load_head(model, auto, revision=revision, dtype=dtype, trust_remote_code=trust_remote_code, **spread)
    if loaded.missing:
        raise input_error(
            "load_model",
            "model",
            f"have all of its weights in its files, to be run as a {kind} language model",
            got=model,
            remedy=f"Its files lack {', '.join(loaded.missing[:4])}: answers would be random.",
        )
    return LanguageModel(loaded.module.eval(), loaded.tokenizer, kind)


def prompted(
    language: LanguageModel,
    settings: PromptSettings,
    *,
    max_length: int | None = None,
    identity: Mapping[str, str] | None = None,
) -> PromptedModel:
    """Put a language model behind the `Classifier` protocol: scoring label words, or writing answers.

    Parameters
    ----------
    language : LanguageModel
    settings : PromptSettings
        Template, examples, and how answers are taken.
    max_length : int, optional
        Longest prompt with answer, in tokens; by default, and at most, the model's window.
    identity : mapping, optional
        What the predictions file records of the model.
    """
    from paraconsist.models.loading import checked_max_length

    window = checked_max_length("load_model", max_length, window_of(language.module))
    identity = {"model": type(language.module).__name__, **(identity or {}), "kind": language.kind}
    makers = {
        ("causal", "label"): CausalScorer,
        ("seq2seq", "label"): Seq2SeqScorer,
        ("causal", "generate"): CausalWriter,
        ("seq2seq", "generate"): Seq2SeqWriter,
    }
    maker: Any = makers[language.kind, settings.scoring]
    made: PromptedModel = maker(language.module, language.tokenizer, settings, window=window, identity=identity)
    return made
