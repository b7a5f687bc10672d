"""The report: run folders and predictions files in, one self-contained page out."""

from __future__ import annotations

from paraconsist.reporting.page.models import Model, ReportOptions, load_models
from paraconsist.reporting.page.write import ReportWritten, write_report

__all__ = ["Model", "ReportOptions", "ReportWritten", "load_models", "write_report"]
