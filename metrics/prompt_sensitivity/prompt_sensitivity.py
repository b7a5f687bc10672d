"""Prompt sensitivity as an evaluate metric."""

import paraconsist.evaluate_module as evaluate_module  # From: paraconsist
from paraconsist.measures.prompt_sensitivity import prompt_sensitivity  # From: paraconsist


class PromptSensitivity(evaluate_module.Metric):
    """Prompt sensitivity gives the indices by which papers report how a model's answers depend on the wording, under
    their own names and each with an interval over buckets: PromptSensiScore, agreement and consistency rate, worst
    and best case, pass^n and pass@n, the minimum accuracy curve, alpha and kappa, entropy, spread and drop over shared
    prompt templates, combined performance score, contrast consistency.

    Examples:
        >>> metric = evaluate.load("metrics/prompt_sensitivity")
        >>> results = metric.compute(
        ...     predictions=[1, 1, 1, 0, 1, 1],
        ...     references=[1, 1, 1, 1, 0, 0],
        ...     buckets=["x", "x", "y", "y", "z", "z"],
        ...     variants=["a", "b", "a", "b", "a", "b"],
        ... )
        >>> round(results["prompt_sensitivity_score"], 4)
        0.3333
        >>> round(results["spread"], 4)
        0.3333
    """

    function = staticmethod(prompt_sensitivity)
    labels = ("predictions", "references")
    identifiers = ("buckets",)
    answers = ("predictions",)
