"""Logs of other evaluation tools, read into predictions in the long format.

A new format is a `LogFormat`, in a module of its own or with its like, that `reading.built_in` lists.
"""

from __future__ import annotations
