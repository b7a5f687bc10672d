"""The old name of `paraconsist.plugins.pytest`, for environments that were installed with it; to be removed."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("paraconsist.plugins.pytest")
