"""All claims and quotations of the documents."""

from __future__ import annotations

import documented_becel
import documented_comparisons
import documented_ie
import documented_metrics
import documented_readme
import documented_sets
import documented_sweep

_PARTS = (documented_metrics, documented_sets, documented_becel)
CLAIMS = [
    *(claim for part in _PARTS for claim in part.CLAIMS),
    *documented_readme.CLAIMS,
    *documented_comparisons.CLAIMS,
    *documented_ie.CLAIMS,
    *documented_sweep.CLAIMS,
]
QUOTES = [quote for part in _PARTS for quote in part.QUOTES]
