"""One cache for the tests of this room."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache; the lexicon is made once for all of them."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("PARACONSIST_CACHE", str(folder))
    return folder
