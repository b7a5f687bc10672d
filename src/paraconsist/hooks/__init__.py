"""Measures inside other people's loops."""

from paraconsist.hooks.trainer import BucketEvaluation

__all__ = ["BucketEvaluation"]
