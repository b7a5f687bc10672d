"""Where other tools call paraconsist: one file a tool, found through the tool's entry points."""

from __future__ import annotations
