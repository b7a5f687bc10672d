"""Paraphrase generation: generators, filters, the bucket set that comes out, and the fooling-rate pipeline on it."""

from __future__ import annotations
