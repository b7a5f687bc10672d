"""Two models, or more, on the same buckets: paired differences, permutation tests, Pareto tables."""

from __future__ import annotations

from paraconsist.comparison.consistency import consistency_difference
from paraconsist.comparison.models import CORRECTIONS, ParetoRow, corrected_p_values, pareto_table
from paraconsist.comparison.result import ConsistencyDifferenceResult, InconsistencyDifferenceResult
from paraconsist.comparison.shares import inconsistency_difference
from paraconsist.comparison.sign_flip import SignFlip, sign_flip_test

__all__ = [
    "CORRECTIONS",
    "ConsistencyDifferenceResult",
    "InconsistencyDifferenceResult",
    "ParetoRow",
    "SignFlip",
    "consistency_difference",
    "corrected_p_values",
    "inconsistency_difference",
    "pareto_table",
    "sign_flip_test",
]
