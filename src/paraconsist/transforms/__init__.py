"""Changes of labelled rows that must, or must not, change a model's answer (standard library; nltk where used).

Each property of Jang, Kwon and Lukasiewicz (2022, "BECEL: Benchmark for Consistency Evaluation of Language
Models", COLING, section 3.2) has a module that turns a `LabelledSet` into `Perturbation` items:
`symmetric`, `transitive`, `additive`, `negation`, `antonyms`. `conditions` says where each property holds,
`sheet` is the table on which people mark which items are good.

Changes that must keep a text's meaning (Salvatore et al. 2023, the IE test) are `Transformation`s, by name in
`registry`: WordNet's synonyms for the nouns of a corpus (`substitution`), a dictionary, suffixes, any function.
`change_statistics` says what they did, `soundness` samples them for a person to judge.
"""

from __future__ import annotations
