"""The scripts of examples/reproduce, as modules that import each other."""

import sys

from helpers.scripts import ROOT

sys.path.append(str(ROOT / "examples" / "reproduce"))
import cells
import figures
import j22

__all__ = ["cells", "figures", "j22"]
