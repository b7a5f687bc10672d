"""How well annotators agree: Cohen's kappa of two, Fleiss' kappa of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from paraconsist.errors import InputError, input_error


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    r"""Return Cohen's kappa of two annotators, :math:`(p_o - p_e) / (1 - p_e)`, by scikit-learn.

    Parameters
    ----------
    first, second : sequence, shape (n,)
        The answer of each to every item.

    Returns
    -------
    float
        At most 1; 0 for agreement by chance; nan where both gave one and the same answer throughout, or none.

    Raises
    ------
    InputError
        If the lengths differ, or scikit-learn is not installed.

    References
    ----------
    Cohen (1960), "A coefficient of agreement for nominal scales".
    """
    if len(first) != len(second):
        raise input_error("cohen_kappa", "second", f"have {len(first)} answers, as the first has", got=len(second))
    if len({*first, *second}) < 2:
        return float("nan")
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        remedy = "pip install 'paraconsist[baselines]'"
        raise InputError("needs scikit-learn.", function="cohen_kappa", remedy=remedy) from None
    return float(cohen_kappa_score(first, second))


def fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> float:
    r"""Return Fleiss' kappa of items that equally many annotators judged.

    .. math::
        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        P_i = \frac{\sum_j n_{ij}^2 - m}{m (m - 1)}, \quad \bar P_e = \sum_j p_j^2

    with n_ij how many of the m annotators of item i answered j, and p_j the share of all answers that are j.

    Parameters
    ----------
    items : sequence of sequences, shape (n, m)
        The answers to each item, in any order of annotators; m at least 2.

    Returns
    -------
    float
        At most 1; 0 for agreement by chance; nan where all answers are the same, or there is no item.

    Raises
    ------
    InputError
        If items have different numbers of answers, or one only.

    References
    ----------
    Fleiss (1971), "Measuring nominal scale agreement among many raters".
    """
    if not items:
        return float("nan")
    m = len(items[0])
    for row, answers in enumerate(items):
        if len(answers) != m or m < 2:
            must = "have equally many answers, two or more"
            raise input_error("fleiss_kappa", "items", must, got=f"{len(answers)} answers", row=row)
    counts = [Counter(answers) for answers in items]
    observed = sum((sum(n * n for n in c.values()) - m) / (m * (m - 1)) for c in counts) / len(items)
    total: Counter[Hashable] = sum(counts, Counter())
    expected = sum((n / (m * len(items))) ** 2 for n in total.values())
    return (observed - expected) / (1.0 - expected) if expected < 1.0 else float("nan")
