"""From a predictions file to results: reads predictions, calls the measures, runs no model."""

from __future__ import annotations
