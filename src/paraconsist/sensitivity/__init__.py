"""Semantic sensitivity: fooling rates, and the shift of a model's probabilities under paraphrasing."""

from __future__ import annotations

from paraconsist.sensitivity.fooling import PRESETS, FoolingRateResult, fooling_rate
from paraconsist.sensitivity.shift import DistributionShiftResult, distribution_shift

__all__ = ["PRESETS", "DistributionShiftResult", "FoolingRateResult", "distribution_shift", "fooling_rate"]
