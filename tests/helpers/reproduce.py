"""The scripts of examples/reproduce, as modules that import each other."""

from __future__ import annotations

import sys

from helpers.scripts import ROOT

sys.path.append(str(ROOT / "examples" / "reproduce"))
import cells
import figures
import j22

__all__ = ["cells", "figures", "j22"]
