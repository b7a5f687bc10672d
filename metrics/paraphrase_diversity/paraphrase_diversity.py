"""Paraphrase diversity as an evaluate measurement."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.diversity import paraphrase_diversity  # From: paraconsist


class ParaphraseDiversity(evaluate_module.Measurement):
    """Paraphrase diversity is how far paraphrases are from their originals in words, structure and meaning (Srikanth,
    Carpuat and Rudinger, 2024, section 6; Jaccard as in Verma et al., 2023).

    Args:
        paraphrases: texts.
        originals: each paraphrase's original, repeated for each of its paraphrases.
        embeddings, original_embeddings (options): a sentence vector for each text, for semantic_similarity.
        similarities (option): a similarity for each pair in place of embeddings, such as BLEURT's.
        parses, original_parses (options): constituency trees in brackets, for syntactic_distance.
        entailed (option): whether the texts of each pair entail each other, for mutual_entailment.
        groups (option): the original of every pair: what intervals resample.
    Returns:
        lexical_distance, jaccard, semantic_similarity, syntactic_distance, mutual_entailment (nan, with a
        warning, for what was not given), n_pairs, confidence_interval, standard_error, n_clusters, signature,
        warnings.
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
