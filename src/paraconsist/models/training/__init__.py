"""Training: fine-tune a classifier so that `load_model` loads it. torch is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraconsist.models.training.options import TrainingOptions
from paraconsist.models.training.presets import PRESETS, Preset, options_from_preset
from paraconsist.models.training.trainer import train_seeds

if TYPE_CHECKING:
    from paraconsist.models.training.trainer import train

__all__ = ["PRESETS", "Preset", "TrainingOptions", "options_from_preset", "train", "train_seeds"]


def __getattr__(name: str) -> Any:
    if name == "train":
        from paraconsist.models.training.trainer import train

        return train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
