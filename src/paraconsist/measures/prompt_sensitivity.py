"""Sensitivity to wording: the field's indices of it, under their own names, from one pass over the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import check_whole, input_error
from paraconsist.measures._estimates import Estimates, interval_options
from paraconsist.measures._sensitivity_sums import (
    OF_VARIANTS,
    Answers,
    Sums,
    add_contrasts,
    add_curve,
    add_draws,
    add_indices,
    add_variants,
    of_variants,
)
from paraconsist.measures._validation import Column, Integers, as_generator, as_probabilities, code_columns
from paraconsist.measures.alarms import constant_message
from paraconsist.measures.buckets import bucket_groups, one_per_bucket, partition, partition_integers
from paraconsist.measures.intervals import FEW_UNITS
from paraconsist.measures.label_agreement import label_agreement
from paraconsist.measures.results import Result

_ROLES = ("original", "paraphrase", "contrast")
_MOST_DRAWS = 1_000


@dataclass(frozen=True, repr=False)
class PromptSensitivityResult(Result):
    """Indices of sensitivity to wording, all but the numbers of rows in [0, 1]; see `prompt_sensitivity`.

    Attributes
    ----------
    prompt_sensitivity_score : float
        Chance that of two different answers to a problem one is right and one wrong; down is good.
    agreement, agreement_plugin, consistency_rate_pooled : float
        Chance that two answers to a problem are the same: different ones, with self-pairs, and different ones of all
        pairs of all buckets in one pool; up is good.
    accuracy, majority_accuracy, worst_case_accuracy, best_case_accuracy : float
        Share of right answers; of buckets whose commonest answer is right (among tied ones the share of right ones),
        whose answers are all right, of which one is right; up is good.
    pass_hat_n, pass_at_n : dict of str to float
        By the number of wordings drawn: chance that all are right, that one is; over the buckets that have as many.
    minimum_accuracy_curve : dict of str to float
        Share of buckets of which at least this share is right: "0.0", "0.1" to "1.0".
    aucar, core : float
        Area under that curve; and that times its closeness to 1 by dynamic time warping; up is good.
    krippendorff_alpha, fleiss_kappa : float
        Of the labels, buckets being units; kappa None where buckets differ in size. Up is good, 0 is by chance.
    normalized_entropy : float
        Mean entropy of a bucket's answers over that of equally many of every label; down is good.
    unanimous_share : float
        Share of buckets with one answer in every wording; up is good.
    contrast_consistency : float or None
        With contrasts: share of problems that have one answer in every wording and another in every contrast; up is
        good, a constant answer gets 0.
    mean_accuracy, max_accuracy, spread, performance_drop_rate, combined_performance_score, variant_deviation : float
        With `variants`, of their accuracies a: mean, greatest, greatest less least, 1 - least/greatest, max (1 - (max -
        mean)), and standard deviation. Intervals are those of the variants that are best and worst in these data: that
        they were picked for it is not in them. None without variants.
    variant_accuracies : dict of str to float, or None
    n_buckets, n_examples : int
        Buckets and answers, contrasts left out.
    chance, chance_corrected : float
        What `agreement` would be if the answers were shuffled over the texts, and the agreement above that.
    """

    prompt_sensitivity_score: float
    agreement: float
    agreement_plugin: float
    consistency_rate_pooled: float
    accuracy: float
    majority_accuracy: float
    worst_case_accuracy: float
    best_case_accuracy: float
    pass_hat_n: dict[str, float]
    pass_at_n: dict[str, float]
    minimum_accuracy_curve: dict[str, float]
    aucar: float
    core: float
    krippendorff_alpha: float
    normalized_entropy: float
    unanimous_share: float
    n_buckets: int
    n_examples: int
    fleiss_kappa: float | None = None
    contrast_consistency: float | None = None
    mean_accuracy: float | None = None
    max_accuracy: float | None = None
    spread: float | None = None
    performance_drop_rate: float | None = None
    combined_performance_score: float | None = None
    variant_deviation: float | None = None
    variant_accuracies: dict[str, float] | None = None


def prompt_sensitivity(
    predictions: Any,
    references: Any,
    buckets: Any,
    *,
    variants: Any = None,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    draws: Sequence[int] = (1, 2, 4, 8),
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PromptSensitivityResult:
    r"""Every published index of how answers depend on the wording, from the same rows.

    The reader finds the number that another paper reports, beside what is the same under another name. Bucket b has k
    answers, c of them right, n_l with label l, :math:`\theta = c/k`; means are over buckets, each counting once.

    ==========================  ====================================================================================
    prompt_sensitivity_score    mean of c(k-c)/C(k,2): PromptSensiScore of ProSA [1]_ on right and wrong, which is 1 -
                                P_C (unbiased) [2]_
    agreement                   mean of sum n_l(n_l-1)/[k(k-1)]
    agreement_plugin            mean of sum (n_l/k)^2, which counts self-pairs
    consistency_rate_pooled     equal pairs over all pairs, of all buckets: consistency rate of SCORE [3]_
    majority_accuracy           share of buckets whose commonest answer is right: self-consistency [16]_
    worst_case_accuracy         share of buckets with c = k: HELM [4]_, DynaMath [5]_; MCA(1), pass^k
    pass_hat_n                  mean of C(c,n)/C(k,n): pass^k of tau-bench [6]_
    pass_at_n                   mean of 1 - C(k-c,n)/C(k,n): pass@k [7]_
    minimum_accuracy_curve      MCA(t), the share of buckets with :math:`\theta \ge t`; aucar, core: CAT [8]_
    krippendorff_alpha          Prompt Stability Score [9]_; fleiss_kappa [10]_
    normalized_entropy          mean entropy of n_l/k over log(number of labels) [11]_
    spread                      of the accuracies of the variants: FormatSpread [12]_
    performance_drop_rate       1 - least/greatest accuracy: PromptBench [13]_
    combined_performance_score  MaxP (1 - (MaxP - AvgP)) [14]_, with MaxP `max_accuracy` and AvgP `mean_accuracy`
    contrast_consistency        of contrast sets [15]_, over one answer in all wordings
    ==========================  ====================================================================================

    Parameters
    ----------
    predictions, references : sequence of int or str, shape (n,)
        Predicted and gold label of every row. All wordings of a bucket have one gold label.
    buckets : sequence of int or str, shape (n,)
    variants : sequence of int or str, shape (n,), optional
        Which wording each row is, the same over buckets (a prompt template).
    roles : sequence of {"original", "paraphrase", "contrast"}, shape (n,), optional
        Originals leave the buckets, as for paraphrastic consistency. Contrasts are texts of another meaning, which
        must get another answer. Without `roles` every row is a wording.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample in place of buckets, one group a bucket.
    draws : sequence of int, default (1, 2, 4, 8)
        The n of `pass_hat_n` and `pass_at_n`; those that no bucket has are left out.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

    Returns
    -------
    PromptSensitivityResult
        Undefined values are nan and named in `warnings`. Entries of mappings have their intervals under
        ``"pass_hat_n/2"``.

    Raises
    ------
    InputError
        For empty, missing, mixed or unequally long input, gold labels (or groups) that differ within a bucket, unknown
        roles, and options outside their range.

    References
    ----------
    .. [1] Zhuo et al. (2024), ProSA, Findings of EMNLP.
    .. [2] Srikanth, Carpuat, Rudinger (2024), TACL.
    .. [3] Nalbandyan et al. (2025), SCORE: Systematic COnsistency and Robustness Evaluation, NAACL.
    .. [4] Liang et al. (2023), Holistic Evaluation of Language Models, TMLR.
    .. [5] Zou et al. (2025), DynaMath, ICLR.
    .. [6] Yao et al. (2025), tau-bench, ICLR.
    .. [7] Chen et al. (2021), Evaluating Large Language Models Trained on Code.
    .. [8] CAT: consistency-accuracy relation curves and their area.
    .. [9] Barrie, Palaiologou, Törnberg (2024), Prompt Stability Scoring.
    .. [10] Fleiss (1971), Psychological Bulletin 76.
    .. [11] Errica et al. (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity and Consistency, NAACL.
    .. [12] Sclar et al. (2024), Quantifying Language Models' Sensitivity to Spurious Features in Prompt Design, ICLR.
    .. [13] Zhu et al. (2023), PromptBench.
    .. [14] Mizrahi et al. (2024), State of What Art? A Call for Multi-Prompt LLM Evaluation, TACL.
    .. [15] Gardner et al. (2020), Evaluating Models' Local Decision Boundaries via Contrast Sets, Findings of EMNLP.
    .. [16] Wang et al. (2023), Self-Consistency Improves Chain of Thought Reasoning in Language Models, ICLR.

    Examples
    --------
    Three problems in two templates: right in both, right in one, wrong in both.

    >>> result = prompt_sensitivity(
    ...     predictions=[1, 1, 1, 0, 1, 1],
    ...     references=[1, 1, 1, 1, 0, 0],
    ...     buckets=[0, 0, 1, 1, 2, 2],
    ...     variants=["a", "b", "a", "b", "a", "b"],
    ... )
    >>> round(result.prompt_sensitivity_score, 4), result.worst_case_accuracy == result.pass_hat_n["2"]
    (0.3333, True)
    >>> round(result.spread, 4), round(result.combined_performance_score, 4)
    (0.3333, 0.5556)
    """
    function = "prompt_sensitivity"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    labels = {"predictions": predictions, "references": references}
    columns = code_columns(function, labels, {"buckets": buckets}, roles=roles, groups=groups, variants=variants)
    checked, codes_of = columns.columns, columns.codes
    divided = partition(checked["buckets"])
    kinds = np.full(len(divided.codes), "paraphrase") if roles is None else _kinds(function, checked["roles"])
    is_wording, is_contrast = kinds == "paraphrase", kinds == "contrast"
    if not is_wording.any():
        raise input_error(function, "roles", "leave at least one paraphrase", got=sorted(set(kinds.tolist())))
    gold = _gold_of_wordings(divided.codes, codes_of["references"], is_contrast)
    bucket_gold = one_per_bucket(function, divided, gold, "references", "gold label", checked["references"])
    grouping = bucket_groups(function, divided, checked.get("groups"))
    keep = np.flatnonzero(np.bincount(divided.codes[is_wording], minlength=len(divided)))
    place = np.full(len(divided), -1)
    place[keep] = np.arange(len(keep))
    if grouping is not None:
        grouping = partition_integers(grouping[keep]).codes
    buckets_of, predicted = place[divided.codes], codes_of["predictions"]
    n_labels = len(columns.labels)
    answers = Answers.of(buckets_of[is_wording], predicted[is_wording], bucket_gold[keep], n_labels)
    counts = answers.counts

    estimates = Estimates(options, "bucket" if grouping is None else "group", rng=as_generator(function, "seed", seed))
    drawn = [check_whole(function, "draws", n, at_most=_MOST_DRAWS) for n in draws]
    drawn = [n for n in dict.fromkeys(drawn) if n <= counts.size.max()]
    sums = Sums(counts)
    add_indices(sums, answers)
    add_curve(sums, counts)
    add_draws(sums, counts, drawn)
    if is_contrast.any():
        of_contrast = buckets_of[is_contrast]
        add_contrasts(sums, answers, of_contrast[of_contrast >= 0], predicted[is_contrast][of_contrast >= 0])
    accuracies: dict[str, float] | None = None
    if variants is not None:
        named = partition(checked["variants"])
        shared = partition_integers(named.codes[is_wording])
        if len(keep) > 1 and shared.sizes.max() == 1:
            raise input_error(function, "variants", "name wordings that buckets share", got="another in every row")
        right = predicted[is_wording] == codes_of["references"][is_wording]
        each = add_variants(sums, buckets_of[is_wording], shared.codes, right)
        accuracies = dict(zip(map(str, named.ids_of(np.asarray(shared.ids))), each.tolist(), strict=True))
        if (least := int(shared.sizes.min())) < len(keep):
            which = f"a variant has {least} of {len(keep)} buckets"
            estimates.warnings.append(f"{which}: the accuracies of variants differ by their problems too")
    values, method = sums.estimate(estimates, answers.pattern, grouping)
    values |= {"chance": answers.pool.same} | label_agreement(estimates, counts, answers.pool, grouping)
    if len(answers.labels_predicted) == 1 and counts.size.sum() > 1:
        estimates.warnings.append(constant_message(columns.labels[answers.labels_predicted[0]]))
    if few := [f"{n}: {count}" for n in drawn if (count := int((counts.size < n).sum()))]:
        what = f"buckets with fewer answers are left out of pass_hat_n and pass_at_n (n: buckets; {', '.join(few)})"
        estimates.warnings.append(what)
    if (n_units := sums.n_units) < FEW_UNITS:
        estimates.warn_of_few(n_units)
    estimates.note_undefined(values)
    plain = {name: value for name, value in values.items() if "/" not in name}
    for name, _, key in (name.partition("/") for name in values if "/" in name):
        plain.setdefault(name, {})[key] = values[f"{name}/{key}"]
    return PromptSensitivityResult(
        **{"pass_hat_n": {}, "pass_at_n": {}} | plain,
        n_buckets=len(counts),
        n_examples=int(counts.size.sum()),
        variant_accuracies=accuracies,
        **estimates.fields(method, avg="bucket", unparsed="refused"),
    )


def variant_indices(accuracies: Any) -> dict[str, float]:
    """Return what `prompt_sensitivity` sums the accuracies of shared variants up by, where these alone are known.

    Parameters
    ----------
    accuracies : sequence of float, shape (n,)
        Accuracy of each variant (prompt template) on the same problems, in [0, 1].

    Returns
    -------
    dict of str to float
        ``mean_accuracy`` (AvgP), ``max_accuracy`` (MaxP), ``spread``, ``performance_drop_rate`` (nan where all
        accuracies are 0), ``combined_performance_score`` (CPS) and ``variant_deviation``, without intervals: these need
        the answers.

    Raises
    ------
    InputError
        For no accuracies, and those outside [0, 1].

    Examples
    --------
    >>> indices = variant_indices([0.75, 0.5, 0.25])
    >>> indices["max_accuracy"], indices["mean_accuracy"], indices["combined_performance_score"]
    (0.75, 0.5, 0.5625)
    """
    of_each = as_probabilities(accuracies, function="variant_indices", parameter="accuracies")
    with np.errstate(invalid="ignore"):
        values = of_variants(of_each, int(of_each.argmax()), int(of_each.argmin()))
    return dict(zip(OF_VARIANTS, values.tolist(), strict=True))


def _kinds(function: str, roles: Column) -> npt.NDArray[np.str_]:
    kinds = [str(role) for role in roles.tolist()]
    for row, role in enumerate(kinds):
        if role not in _ROLES:
            raise input_error(function, "roles", f"be one of {', '.join(_ROLES)}", got=role, row=row)
    return np.array(kinds)


def _gold_of_wordings(buckets: Integers, gold: Integers, is_contrast: npt.NDArray[np.bool_]) -> Integers:
    """Return the gold label of each row, that of its bucket's wordings for a contrast, which may have another."""
    of_bucket = np.zeros(int(buckets.max()) + 1, dtype=gold.dtype)
    of_bucket[buckets[~is_contrast]] = gold[~is_contrast]
    return np.where(is_contrast, of_bucket[buckets], gold)
