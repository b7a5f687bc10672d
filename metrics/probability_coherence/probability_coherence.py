"""Coherence of probabilities as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.probability_coherence import probability_coherence  # From: paraconsist


class ProbabilityCoherence(evaluate_module.Metric):
    """Probability coherence is how far a model's probabilities of logically related statements are from any that could
    all be right: of a statement and its negation, of a conjunction and its parts, of conditional statements, or of any
    relation of your own. It takes no gold labels. Two violations are given: the sure gain of a bettor against the
    probabilities (exact arbitrage), and the relation's residual in units of its standard deviation (frequentist).

    Examples:
        >>> metric = evaluate.load("metrics/probability_coherence")
        >>> results = metric.compute(
        ...     probabilities=[0.6, 0.6, 0.7, 0.3],
        ...     roles=["P", "not_P", "P", "not_P"],
        ...     buckets=["x", "x", "y", "y"],
        ... )
        >>> results["arbitrage_rate"], round(results["arbitrage_violation"], 6)
        (0.5, 0.020411)
    """

    function = staticmethod(probability_coherence)
    numbers = ("probabilities",)
    texts = ("roles",)
    identifiers = ("buckets",)
