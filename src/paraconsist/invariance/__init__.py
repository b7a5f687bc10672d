"""The invariance-under-equivalence (IE) test: does a model's accuracy survive a transformation that keeps meaning?"""

from __future__ import annotations

from paraconsist.invariance.decision import IETestResult, Method, check_labels, ie_test, ie_test_from_counts

__all__ = ["IETestResult", "Method", "check_labels", "ie_test", "ie_test_from_counts"]
