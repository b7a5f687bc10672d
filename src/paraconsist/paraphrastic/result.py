"""The result of `paraconsist.paraphrastic.paraphrastic_consistency`."""

from __future__ import annotations

from dataclasses import dataclass

from paraconsist.results import Result

__all__ = ["ParaphrasticConsistencyResult"]


@dataclass(frozen=True)
class ParaphrasticConsistencyResult(Result):
    """Measures of how a model's correctness varies over paraphrases; see `paraphrastic_consistency`.

    Attributes
    ----------
    paraphrastic_consistency : float
        P_C as published (plug-in), in [0.5, 1]; up is good.
    paraphrastic_consistency_unbiased : float
        P_C over pairs of two *different* paraphrases, in [0, 1]; nan if no bucket has two.
    accuracy, bucket_accuracy : float
        Share of right rows; mean over buckets of the share of right rows.
    vap, vap_unbiased : float
        Variance attributable to paraphrasing; down is good.
    between_variance : float
        Population variance over buckets of the share of right rows.
    pvap, pvap_pooled : float
        Share of the variance of correctness that paraphrasing accounts for: of VAP + between variance
        (eq. 8), or of the variance over all rows (the authors' helper; above 1 at times where sizes differ);
        nan if nothing varies.
    min_paraphrastic_consistency : float
        The least P_C (plug-in) that a model of this bucket accuracy can have.
    agreement, agreement_unbiased : float
        Chance that two paraphrases get the same *label*; for two labels it is P_C.
    n_buckets, n_examples : int
        Buckets with at least one paraphrase, and paraphrases.
    original_accuracy, test_accuracy : float or None
        A_O and A_T.
    corrected_accuracy, corrected_paraphrastic_consistency, corrected_vap, corrected_pvap : float or None
        The same on the test set that the buckets were sampled from; `covered_mass` is the share of it that
        lies in deciles with buckets.
    confidence_interval : dict of str to list of two floats
    standard_error : dict of str to float
        Closed form, cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each value: groups, or buckets (rows for `test_accuracy`) without `groups`.
    design_effect : dict of str to float
        Variance of each value over what it would be if smaller units were independent: rows for accuracies,
        buckets for everything that is a mean over buckets (there 1 without `groups`).
    bias : dict of str to float
        Estimated bias of the plug-in values: what they lie above the unbiased ones, for the measures that have both.
    signature : str
    warnings : tuple of str
    """

    paraphrastic_consistency: float
    paraphrastic_consistency_unbiased: float
    accuracy: float
    bucket_accuracy: float
    vap: float
    vap_unbiased: float
    between_variance: float
    pvap: float
    pvap_pooled: float
    min_paraphrastic_consistency: float
    agreement: float
    agreement_unbiased: float
    n_buckets: int
    n_examples: int
    confidence_interval: dict[str, list[float]]
    standard_error: dict[str, float]
    n_clusters: dict[str, int]
    design_effect: dict[str, float]
    bias: dict[str, float]
    signature: str
    warnings: tuple[str, ...]
    original_accuracy: float | None = None
    test_accuracy: float | None = None
    corrected_accuracy: float | None = None
    corrected_paraphrastic_consistency: float | None = None
    corrected_vap: float | None = None
    corrected_pvap: float | None = None
    covered_mass: float | None = None
