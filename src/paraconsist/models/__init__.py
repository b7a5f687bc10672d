"""Models: any classifier behind one small protocol. torch is imported on first use, not with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraconsist.models.labels import LabelMap, resolve_label_map

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier, Prepared
    from paraconsist.models.loading import load_model

__all__ = ["Classifier", "LabelMap", "Prepared", "load_model", "resolve_label_map"]


def __getattr__(name: str) -> Any:
    if name == "load_model":
        from paraconsist.models.loading import load_model

        return load_model
    if name in ("Classifier", "Prepared"):
        from paraconsist.models import classifier

        return getattr(classifier, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
