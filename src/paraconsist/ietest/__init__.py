"""The IE test as an experiment: transform a data set, train on mixtures of both versions, test on both, decide.

IE is invariance under equivalence (Salvatore et al. 2023). `experiment` trains and keeps every run, `vectors` reads and
writes matched answers, `deciding` turns them into a table, `plots` into figures. The statistics are in `invariance`.
"""

from __future__ import annotations
