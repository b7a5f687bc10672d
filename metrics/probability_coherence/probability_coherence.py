"""Coherence of probabilities as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.probability_coherence import probability_coherence  # From: paraconsist


class ProbabilityCoherence(evaluate_module.Metric):
    """Probability coherence is how far a model's probabilities of logically related statements are from any that could
    all be right: of a statement and its negation, of a conjunction and its parts, of conditional statements, or of any
    relation of your own. It takes no gold labels. Two violations are given: the sure gain of a bettor against the
    probabilities (exact arbitrage), and the relation's residual in units of its standard deviation (frequentist).

    Args:
        probabilities: that each statement is true, in [0, 1].
        roles: the statement's place in its bucket, such as P and not_P, each once in a bucket.
        buckets: the bucket of every row, all integers or all strings: a tuple of related statements.
        relations (option): the name of every bucket's relation, or bucket -> name, or relations of your own, name ->
            role -> formula; by default each bucket has the relation that its roles belong to.
        groups (option): what each row shares with others, such as the question that it asks.
    Returns:
        arbitrage_violation, arbitrage_rate, frequentist_violation and frequentist_rate (where the relation has them),
        n_buckets, n_examples, by_relation (of several relations), confidence_interval, standard_error, n_clusters,
        design_effect, signature, warnings.
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
