"""Trajectory consistency as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.trajectories import trajectory_consistency  # From: paraconsist


class TrajectoryConsistency(evaluate_module.Metric):
    """Trajectory consistency says whether an agent that is run again on a task succeeds again, and by the same calls of
    tools: pass^k and pass@k, outcome consistency without pairs of a run with itself, and how alike two runs are in
    the order of their calls, in how often they call each tool, and until where they go together.

    Examples:
        >>> metric = evaluate.load("metrics/trajectory_consistency")
        >>> results = metric.compute(
        ...     calls=["search\\nbook", "search\\nbook", "search\\nbook", "book"],
        ...     successes=[1, 1, 1, 0],
        ...     buckets=["a", "a", "b", "b"],
        ... )
        >>> results["trajectory_consistency"], results["outcome_consistency"]
        (0.75, 0.0)
    """

    function = staticmethod(trajectory_consistency)
    texts = ("calls",)
    numbers = ("successes",)
    identifiers = ("buckets",)
