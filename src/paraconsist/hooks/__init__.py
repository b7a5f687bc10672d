"""Measures inside other people's loops."""

from __future__ import annotations

from paraconsist.hooks.trainer import BucketEvaluation

__all__ = ["BucketEvaluation"]
