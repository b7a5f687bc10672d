"""Paraphrase diversity as an evaluate measurement."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.diversity import paraphrase_diversity  # From: paraconsist


class ParaphraseDiversity(evaluate_module.Measurement):
    """Paraphrase diversity is how far paraphrases are from their originals in words, structure and meaning (Srikanth,
    Carpuat and Rudinger, 2024, section 6; Jaccard as in Verma et al., 2023).

    Examples:
        >>> measurement = evaluate.load("metrics/paraphrase_diversity")
        >>> results = measurement.compute(
        ...     paraphrases=["Dogs make him sneeze.", "He reacts to dogs."],
        ...     originals=["He is allergic to dogs.", "He is allergic to dogs."],
        ... )
        >>> round(results["lexical_distance"], 3), round(results["jaccard"], 3)
        (0.415, 0.312)
    """

    function = staticmethod(paraphrase_diversity)
    texts = ("paraphrases", "originals")
