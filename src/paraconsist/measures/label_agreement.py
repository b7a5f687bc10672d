"""Agreement of the labels within buckets: Krippendorff's alpha and Fleiss' kappa, from counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import BucketCounts, LabelPool
from paraconsist.measures.chance import agreement_chance

if TYPE_CHECKING:
    from paraconsist.measures._estimates import Estimates


def label_agreement(
    estimates: Estimates, counts: BucketCounts, pool: LabelPool, groups: Integers | None
) -> dict[str, float]:
    """Return the agreement above chance, Krippendorff's alpha and, for buckets of one size, Fleiss' kappa.

    `estimates` keeps their intervals; kappa's follows from alpha's.
    """
    alpha, kappa, corrected = "krippendorff_alpha", "fleiss_kappa", "chance_corrected"
    values = {
        corrected: estimates.add_corrected(corrected, agreement_chance(counts, pool), groups),
        alpha: estimates.add_corrected(alpha, agreement_chance(counts, pool, pooled=True), groups),
    }
    if counts.size.min() == counts.size.max() > 1:
        values[kappa] = fleiss_kappa(counts, pool)
        by = pool.size / (pool.size - 1.0)
        low, high = (1.0 - (1.0 - end) * by for end in estimates.confidence_interval[alpha])
        error = by * estimates.standard_error[alpha]
        estimates.put(kappa, (low, high), error, estimates.n_clusters[alpha], estimates.design_effect[alpha])
    return values


def krippendorff_alpha(counts: BucketCounts, pool: LabelPool) -> float:
    r"""Return Krippendorff's alpha for nominal labels, buckets being the units and paraphrases the coders.

    .. math:: \alpha = 1 - \frac{\frac{1}{N} \sum_b \frac{k_b^2 - s_b}{k_b - 1}}
                               {1 - \frac{1}{N(N-1)} \sum_l N_l (N_l - 1)}

    with :math:`k_b` answers in bucket b, :math:`s_b` ordered pairs of them with the same label, :math:`N_l` of
    all N answers with label l, over the buckets with two answers. 1 where no bucket holds two labels, about 0
    where answers are drawn independently, below 0 where they differ more than that. Undefined (nan) where one
    label is given throughout, since then nothing tells agreement from a constant answer.

    References
    ----------
    Krippendorff (2019), "Content Analysis", 4th edition, chapter 12. Prompt Stability Score (Barrie, Palaiologou,
    Törnberg 2024) is this alpha of a model's answers under several prompts.

    Examples
    --------
    Two problems of two paraphrases, answered a a and a b:

    >>> counts = BucketCounts.from_counts(size=[2, 2], correct=[2, 1])
    >>> pool = LabelPool(np.array([3, 1]), np.array([3 / 4 + 3 / 4, 3 / 4 + 1 / 4]))
    >>> krippendorff_alpha(counts, pool)
    0.0
    """
    paired = counts.size > 1
    size, same = counts.size[paired], counts.same_label[paired]
    by_chance = 1.0 - pool.same
    if not by_chance > 0.0:
        return float("nan")
    by_size = np.bincount(size, weights=size**2 - same)[2:]  # whole numbers, whatever the order of the buckets
    return float(1.0 - (by_size / np.arange(1.0, len(by_size) + 1.0)).sum() / pool.size / by_chance)


def fleiss_kappa(counts: BucketCounts, pool: LabelPool) -> float:
    r"""Return Fleiss' kappa of the labels; nan where buckets differ in size, or one label is given throughout.

    .. math:: \kappa = \frac{\bar P - \sum_l p_l^2}{1 - \sum_l p_l^2}

    with :math:`\bar P` the mean over buckets of the share of pairs of different answers that are equal, and
    :math:`p_l` the share of answers with label l. :math:`1 - \kappa = (1 - \alpha) N / (N - 1)` for
    Krippendorff's alpha of N answers.

    References
    ----------
    Fleiss (1971), "Measuring nominal scale agreement among many raters", Psychological Bulletin 76, 378-382.
    """
    if len(counts) == 0 or counts.size.min() != counts.size.max() or pool.size < 2:
        return float("nan")
    n = pool.size
    return 1.0 - (1.0 - krippendorff_alpha(counts, pool)) * n / (n - 1.0)
