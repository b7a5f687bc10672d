"""Agreement of the labels within buckets: Krippendorff's alpha and Fleiss' kappa, from counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paraconsist.measures._validation import Integers
from paraconsist.measures.buckets import BucketCounts

_Floats = npt.NDArray[np.float64]


class LabelPool(NamedTuple):
    """The answers of all buckets that have two, in one pool.

    Attributes
    ----------
    counts : ndarray of int, shape (n_labels,)
        How often each label is in the pool.
    commonness : ndarray, shape (n_buckets,)
        The sum over a bucket's answers of the share of the pool that has the same label.
    """

    counts: npt.NDArray[np.int64]
    commonness: _Floats

    @property
    def size(self) -> int:
        """The number of answers in the pool."""
        return int(self.counts.sum())

    @property
    def sum_of_squares(self) -> float:
        """The sum over labels of their squared shares: the chance that two draws with replacement are equal."""
        return float(((self.counts / self.size) ** 2).sum()) if self.size else float("nan")

    @property
    def same(self) -> float:
        """The chance that two *different* answers of the pool are equal; nan for less than two answers."""
        return same_answer_rate(self.counts)


def same_answer_rate(counts: npt.NDArray[np.int64]) -> float:
    """Return the chance that two different answers, of which `counts` have each label, are equal.

    >>> same_answer_rate(np.array([2, 2]))
    0.3333333333333333
    """
    n = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / (n * (n - 1.0))) if n > 1 else float("nan")


def pool_labels(codes: Integers, sizes: Integers, labels: Integers, n_labels: int) -> LabelPool:
    """Return the pool of the answers, by bucket and label of each row (codes from 0) and the buckets' sizes."""
    paired = sizes >= 2
    rows = slice(None) if paired.all() else paired[codes]
    counts = np.bincount(labels[rows], minlength=n_labels).astype(np.int64)
    shares = counts / max(int(counts.sum()), 1)
    return LabelPool(counts, np.bincount(codes, weights=shares[labels], minlength=len(sizes)).astype(np.float64))


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
    >>> codes = np.array([0, 0, 1, 1])
    >>> krippendorff_alpha(counts, pool_labels(codes, counts.size, np.array([0, 0, 0, 1]), 2))
    0.0
    """
    paired = counts.size >= 2
    size, same = counts.size[paired], counts.same_label[paired]
    by_chance = 1.0 - pool.same
    if not by_chance > 0.0:
        return float("nan")
    return float(1.0 - ((size**2 - same) / (size - 1.0)).sum() / pool.size / by_chance)


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
