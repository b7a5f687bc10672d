"""Changes of labelled rows that must, or must not, change a model's answer (standard library; nltk where used).

Each property of Jang, Kwon and Lukasiewicz (2022, "BECEL: Benchmark for Consistency Evaluation of Language
Models", COLING, section 3.2) has a module that turns a `LabelledSet` into `Perturbation` items:
`symmetric`, `transitive`, `additive`, `negation`, `antonyms`. `conditions` says where each property holds,
`sheet` is the table on which people mark which items are good.
"""
