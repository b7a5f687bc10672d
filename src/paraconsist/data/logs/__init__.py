"""Logs of other evaluation tools, read into predictions in the long format; one small file a format.

A new format is a module with a `LogFormat`, and one line in `paraconsist.data.logs.reading.built_in`.
"""

from __future__ import annotations
