"""Named training settings (standard library only). Every number says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paraconsist.errors import input_error
from paraconsist.training.options import TrainingOptions

__all__ = ["PRESETS", "Preset", "options_from_preset"]


@dataclass(frozen=True)
class Preset:
    """Settings under a name.

    Attributes
    ----------
    description : str
        What it is for, and the source of its numbers.
    model : str or None
        The model it belongs to; None for any.
    settings : mapping
        Fields of `TrainingOptions`.
    """

    description: str
    model: str | None
    settings: Mapping[str, Any]


def _preset(description: str, model: str | None = None, **settings: Any) -> Preset:
    return Preset(description, model, MappingProxyType(settings))


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "bow": _preset(
            "Bag of hashed n-grams up to 4, the lexical baseline of Srikanth et al. 2024. The paper gives "
            "the n-gram length; the rest was chosen on the delta-NLI development files.",
            "bow",
            max_ngram=4,
            n_buckets=2**18,
            embedding_dim=8,
            batch_size=64,
            learning_rate=3e-3,
            epochs=5.0,
            weight_decay=0.3,
        ),
        "s24-roberta": _preset(
            "RoBERTa-large as fine-tuned by Srikanth et al. 2024: batch 64, learning rate 5e-6, 2 epochs. "
            "What the paper leaves open is transformers' default (AdamW, linear decay, no warm-up).",
            "FacebookAI/roberta-large",
            batch_size=64,
            learning_rate=5e-6,
            epochs=2.0,
        ),
        "minilm-quick": _preset(
            "Small encoders on a CPU: short inputs, batches of similar length. Not from a paper.",
            None,
            batch_size=32,
            learning_rate=5e-5,
            epochs=3.0,
            max_length=64,
            warmup=0.06,
            weight_decay=0.01,
            group_by_length=True,
        ),
    }
)


def options_from_preset(
    preset: str | None, *, output: Path, model: str | None = None, **overrides: Any
) -> TrainingOptions:
    """Return the options of a preset; overrides that are not None win.

    Without a preset, ``bow`` gets its own, and every other model the defaults of `TrainingOptions`.

    Raises
    ------
    InputError
        If there is no such preset, or it names no model and none is given.

    Examples
    --------
    >>> options = options_from_preset("s24-roberta", output=Path("out"), train_file=Path("train.csv"), seed=1)
    >>> options.model, options.batch_size, options.learning_rate, options.epochs
    ('FacebookAI/roberta-large', 64, 5e-06, 2.0)
    """
    name = preset if preset is not None else ("bow" if model == "bow" else None)
    if name is not None and name not in PRESETS:
        raise input_error("train", "preset", f"be one of {', '.join(PRESETS)}", got=name)
    found = PRESETS[name] if name is not None else _preset("")
    chosen = model if model is not None else found.model
    if chosen is None:
        raise input_error("train", "model", "be given", got=None, remedy="Name bow, a Hub id or a folder with --model.")
    if (found.model == "bow") != (chosen == "bow") and name == "bow":
        raise input_error("train", "preset", "fit the model: bow's settings are for bow", got=(name, chosen))
    given = {key: value for key, value in overrides.items() if value is not None}
    return TrainingOptions(model=chosen, output=output, preset=name, **{**found.settings, **given})
