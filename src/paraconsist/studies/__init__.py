"""The papers' studies: selection of items, artefacts, sweeps over training, adversarial training.

Each study puts together what the other rooms do (train, run, score) and keeps its own folder, so that it can be killed
and go on. Commands of the same names are in `paraconsist.cli`.
"""

from __future__ import annotations
