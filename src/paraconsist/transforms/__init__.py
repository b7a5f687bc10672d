"""Changes of labelled rows that must, or must not, change a model's answer.

Each property of Jang, Kwon and Lukasiewicz (2022, "BECEL: Benchmark for Consistency Evaluation of Language Models",
COLING, section 3.2) is a function from a `LabelledSet` to `Perturbation` items, on the standard library (and nltk where
it is used): `perturbation` (symmetric, transitive, additive, and where each property holds), `negation` (antonyms too).
`labelled_sets` reads the rows, `sheets` is the table on which people mark which items are good.

Changes that must keep a text's meaning (Salvatore et al. 2023, the IE test) are `Transformation`s, by name in
`registry`: WordNet's synonyms for the nouns of a corpus (`wordnet_nouns`), a dictionary, suffixes, any function.
`interface` reports what they did.

`paraphrase` generates, filters, judges and measures paraphrases.
"""

from __future__ import annotations
