"""Named training settings (standard library only). Every number says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paraconsist.errors import check_choice, input_error
from paraconsist.models.training.options import WORD_MODELS, TrainingOptions


@dataclass(frozen=True)
class Preset:
    """Settings under a name."""

    description: str  # what it is for, and the source of its numbers
    model: str | None  # the model it belongs to; None for any
    settings: Mapping[str, Any]  # fields of `TrainingOptions`


#: Ours: chosen on development rows of SNLI, with 10,000 training rows and random vectors.
_BOW_TRAINING: Mapping[str, Any] = MappingProxyType(
    {"batch_size": 64, "learning_rate": 1e-3, "epochs": 5.0, "mlp_size": 128, "dropout": 0.2}
)
_LSTM_TRAINING: Mapping[str, Any] = MappingProxyType(
    {"batch_size": 64, "learning_rate": 3e-3, "epochs": 5.0, "mlp_size": 128, "dropout": 0.1}
)
#: The preset of a model that is named without one.
_OWN_PRESETS = MappingProxyType({"bow": "bow", "glove_bow": "v23-glove-bow", "bilstm": "v23-bilstm"})

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "bow": Preset(
            "Bag of hashed n-grams up to 4, the lexical baseline of Srikanth et al. 2024. The paper gives "
            "the n-gram length; the rest was chosen on the delta-NLI development files.",
            "bow",
            {"max_ngram": 4, "n_buckets": 2**18, "embedding_dim": 8, "weight_decay": 0.3}
            | {"batch_size": 64, "learning_rate": 3e-3, "epochs": 5.0},
        ),
        "s24-roberta": Preset(
            "RoBERTa-large as fine-tuned by Srikanth et al. 2024: batch 64, learning rate 5e-6, 2 epochs. "
            "What the paper leaves open is transformers' default (AdamW, linear decay, no warm-up).",
            "FacebookAI/roberta-large",
            {"batch_size": 64, "learning_rate": 5e-6, "epochs": 2.0},
        ),
        "minilm-quick": Preset(
            "Small encoders on a CPU: short inputs, batches of similar length. Not from a paper.",
            None,
            {"batch_size": 32, "learning_rate": 5e-5, "epochs": 3.0, "warmup": 0.06, "weight_decay": 0.01}
            | {"max_length": 64, "group_by_length": True},
        ),
        "v23-glove-bow": Preset(
            "Bag of GloVe vectors of Verma et al. 2023, appendix A: the mean vectors u and v of the two texts "
            "combined as (u, v, |u - v|, u * v), and three fully connected layers. Give them as `vectors`. "
            "The paper's layer sizes, learning rate and epochs are not known here: those are ours.",
            "glove_bow",
            {"embedding_dim": 300, "mlp_layers": 3, **_BOW_TRAINING},
        ),
        "v23-bilstm": Preset(
            "Bidirectional LSTM of Verma et al. 2023, appendix A: two layers of 64 units. Give GloVe vectors as "
            "`vectors`. The pooling (max), the layers behind it (three, as in its bag of vectors), the learning rate "
            "and the epochs are ours.",
            "bilstm",
            {
                "embedding_dim": 300,
                "lstm_size": 64,
                "lstm_layers": 2,
                "pooling": "max",
                "mlp_layers": 3,
                **_LSTM_TRAINING,
            },
        ),
        "v23-encoder": Preset(
            "BERT and RoBERTa as fine-tuned by Verma et al. 2023, appendix A: learning rate 3e-6, 5 epochs, batch 32 "
            "by accumulation (as 4 times 8, which is ours). Name the `model`. What the paper leaves open "
            "is transformers' default (AdamW, linear decay, no warm-up).",
            None,
            {"batch_size": 8, "gradient_accumulation": 4, "learning_rate": 3e-6, "epochs": 5.0},
        ),
        "s24-bilstm": Preset(
            "Bidirectional LSTM of Srikanth et al. 2024: max pooling and three fully connected layers. Give GloVe "
            "vectors as `vectors`. Units, layers of the LSTM, learning rate and epochs are ours.",
            "bilstm",
            {"embedding_dim": 300, "pooling": "max", "mlp_layers": 3, **_LSTM_TRAINING},
        ),
        "j22-becel": Preset(
            "Fine-tuning of Jang et al. 2022 (BECEL): 10 epochs, early stopping; the paper averages five seeds "
            "(`seeds` 0,1,2,3,4). Their Table 8 gives batch, length and learning rate for each task; its numbers are "
            "not in this preset (batch 32 and 5e-5 are our defaults): give `batch_size`, `max_length` and "
            "`learning_rate` from there. The patience of 3 epochs is ours.",
            None,
            {"epochs": 10.0, "patience": 3, "best_model": True},
        ),
    }
)


def options_from_preset(
    preset: str | None, *, output: Path, model: str | None = None, **overrides: Any
) -> TrainingOptions:
    """Return the options of a preset; overrides that are not None win.

    Without a preset ``bow``, ``glove_bow`` and ``bilstm`` get their own (``bow``, ``v23-glove-bow``, ``v23-bilstm``),
    and every other model the defaults of `TrainingOptions`.

    >>> options = options_from_preset("s24-roberta", output=Path("out"), train_file=Path("train.csv"), seed=1)
    >>> options.model, options.batch_size, options.learning_rate, options.epochs
    ('FacebookAI/roberta-large', 64, 5e-06, 2.0)
    """
    name = preset if preset is not None else _OWN_PRESETS.get(model or "")
    if name is not None:
        check_choice("train", "preset", name, PRESETS)
    base = PRESETS[name] if name is not None else Preset("", None, {})
    chosen = model if model is not None else base.model
    if chosen is None:
        raise input_error("train", "model", "be given", got=None, remedy="Name bow, a Hub id or a folder.")
    if base.model in ("bow", *WORD_MODELS) and chosen != base.model:
        must = f"fit the model: {name}'s settings are for {base.model}"
        raise input_error("train", "preset", must, got=(name, chosen))
    settings = {**base.settings, **{key: value for key, value in overrides.items() if value is not None}}
    return TrainingOptions(model=chosen, output=output, preset=name, **settings)
