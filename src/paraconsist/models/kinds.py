"""What kind of model a configuration is of: a classifier, or a language model that has to be asked."""

from __future__ import annotations

from typing import Any, Literal

from paraconsist.errors import input_error

Kind = Literal["classifier", "causal", "seq2seq"]
KINDS = ("classifier", "causal", "seq2seq")
_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


def kind_of(config: Any, asked: str | None = None) -> Kind:
    """Say what kind of model a configuration is of: what `asked` says, else what its architecture is.

    Raises
    ------
    InputError
        If `asked` is no kind.
    """
    if asked is not None:
        if asked not in KINDS:
            raise input_error("run", "kind", f"be one of {', '.join(KINDS)}", got=asked)
        return "causal" if asked == "causal" else "seq2seq" if asked == "seq2seq" else "classifier"
    if not any(architecture.endswith(_ENDINGS) for architecture in config.architectures or ()):
        return "classifier"
    return "seq2seq" if getattr(config, "is_encoder_decoder", False) else "causal"
