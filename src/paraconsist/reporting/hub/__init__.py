"""Pushing to the Hub: metrics as Spaces, bucket sets and runs as dataset repositories."""

from __future__ import annotations
