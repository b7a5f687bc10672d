"""The report: run folders and predictions files in, one self-contained page out."""

from __future__ import annotations

from paraconsist.reporting.page.entries import Entry, ScoredSet, load_entries
from paraconsist.reporting.page.write import ReportOptions, ReportWritten, write_report

__all__ = ["Entry", "ReportOptions", "ReportWritten", "ScoredSet", "load_entries", "write_report"]
