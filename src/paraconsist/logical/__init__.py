"""Logical consistency: semantic, symmetric, negational, transitive, additive; prediction change; rho.

All are shares of rows where a model's answers break a rule that holds whatever the texts say: lower is
better.
"""

from __future__ import annotations

from paraconsist.logical.antecedents import (
    AdditiveInconsistencyResult,
    TransitiveInconsistencyResult,
    additive_inconsistency,
    transitive_inconsistency,
)
from paraconsist.logical.change import PredictionChangeResult, prediction_change
from paraconsist.logical.cues import cue_design_ratio
from paraconsist.logical.pairs import (
    PairInconsistencyResult,
    negational_inconsistency,
    semantic_inconsistency,
    symmetric_inconsistency,
)

__all__ = [
    "AdditiveInconsistencyResult",
    "PairInconsistencyResult",
    "PredictionChangeResult",
    "TransitiveInconsistencyResult",
    "additive_inconsistency",
    "cue_design_ratio",
    "negational_inconsistency",
    "prediction_change",
    "semantic_inconsistency",
    "symmetric_inconsistency",
    "transitive_inconsistency",
]
