"""``python -m paraconsist`` and ``accelerate launch -m paraconsist``."""

from __future__ import annotations

from paraconsist.cli import main

main()
