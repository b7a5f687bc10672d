"""Sensitivity to wording: the field's indices of it, under their own names, from one pass over the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import entr, stdtrit

from paraconsist.errors import check_whole, input_error
from paraconsist.measures.array_types import Floats, Integers, Mask
from paraconsist.measures.buckets import (
    BucketCounts,
    LabelPool,
    as_choices,
    as_generator,
    as_probabilities,
    bucket_groups,
    code_columns,
    count_buckets,
    one_per_bucket,
    partition,
    partition_integers,
)
from paraconsist.measures.intervals import (
    FEW_UNITS,
    NO_SPREAD,
    Units,
    boundary_interval,
    design_effects,
    distinct,
    group_units,
    on_logit_scale,
    sums_by_group,
    too_few,
)
from paraconsist.measures.results import (
    Estimates,
    IntervalSettings,
    Result,
    constant_message,
    documented,
    interval_options,
)
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE

_MOST_DRAWS = 1_000
_CELLS, _LEAST_DRAWS = 1 << 24, 999  # of the draws of equal variants, and of their pairs
_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True, repr=False)
class PromptSensitivityResult(Result):
    """Indices of sensitivity to wording; all but `entropy`, `distinct_answers` and numbers of rows are in [0, 1].

    Without gold labels the indices of right answers are None, and `prompt_sensitivity_score` is nan.

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
    aptitude, unreliability : float
        90th percentile of a problem's right and wrong answers (1 and 0), and how far the 10th lies below it: what the
        model can do, up is good; what it loses by bad luck, down is good.
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
    entropy, size_normalized_entropy, mode_share, distinct_answers : float
        Means over buckets: entropy of the answers in nats, and over log k (0 where k is 1); share of the commonest
        answer; number of different answers. They depend on k, and entropy is too low from few answers. All but the
        mode's share: down is good. Of free text they are of classes of answers.
    unanimous_share : float
        Share of buckets with one answer in every wording; up is good.
    contrast_consistency : float or None
        Share of the problems with contrasts and two wordings that have one answer in every wording and another in every
        contrast; up is good, a constant answer gets 0.
    mean_accuracy, max_accuracy, min_accuracy, spread, performance_drop_rate, combined_performance_score : float
        With `variants`, of their accuracies a: mean, greatest, least, greatest less least, 1 - least/greatest, max (1 -
        (max - mean)). None without variants.
    variant_deviation : float or None
        Standard deviation of these accuracies.
    spread_by_chance, spread_p_value : float or None
        The expected spread if all variants were equal, and the chance of one at least as large as this. The answers to
        a problem (group) change places at random between its variants.
    variant_accuracies : dict of str to float, or None
        Their intervals are each by itself, not simultaneous.
    n_buckets, n_examples : int
        Buckets and answers, contrasts left out.
    chance, chance_corrected : float
        What `agreement` would be if the answers were shuffled over the texts, and the agreement above that.
    """

    prompt_sensitivity_score: float
    agreement: float
    agreement_plugin: float
    consistency_rate_pooled: float
    accuracy: float | None = None
    majority_accuracy: float | None = None
    worst_case_accuracy: float | None = None
    best_case_accuracy: float | None = None
    aptitude: float | None = None
    unreliability: float | None = None
    pass_hat_n: dict[str, float] | None = None
    pass_at_n: dict[str, float] | None = None
    minimum_accuracy_curve: dict[str, float] | None = None
    aucar: float | None = None
    core: float | None = None
    krippendorff_alpha: float
    normalized_entropy: float
    entropy: float
    size_normalized_entropy: float
    mode_share: float
    distinct_answers: float
    unanimous_share: float
    n_buckets: int
    n_examples: int
    fleiss_kappa: float | None = None
    contrast_consistency: float | None = None
    mean_accuracy: float | None = None
    max_accuracy: float | None = None
    min_accuracy: float | None = None
    spread: float | None = None
    performance_drop_rate: float | None = None
    combined_performance_score: float | None = None
    variant_deviation: float | None = None
    spread_by_chance: float | None = None
    spread_p_value: float | None = None
    variant_accuracies: dict[str, float] | None = None


@documented("gold labels (or groups) that differ within a bucket, unknown roles")
def prompt_sensitivity(
    predictions: Any,
    references: Any | None,
    buckets: Any,
    *,
    variants: Any = None,
    roles: Sequence[str] | None = None,
    groups: Any = None,
    draws: Sequence[int] = (1, 2, 3, 4, 5, 8),
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> PromptSensitivityResult:
    r"""Every published index of how answers depend on the wording, from the same rows.

    The reader finds the number that another paper reports, and what other papers call the same number. Bucket b has k
    answers, c of them right, n_l with label l, :math:`\theta = c/k`; means are over buckets, each counting once.

    ==========================  ====================================================================================
    prompt_sensitivity_score    mean of c(k-c)/C(k,2): PromptSensiScore of ProSA [1]_ on right and wrong, which is 1 -
                                P_C (unbiased) [2]_
    agreement                   mean of sum n_l(n_l-1)/[k(k-1)]
    agreement_plugin            mean of sum (n_l/k)^2, which counts self-pairs
    consistency_rate_pooled     equal pairs over all pairs, of all buckets: consistency rate of SCORE [3]_
    majority_accuracy           share of buckets whose commonest answer is right: self-consistency [16]_
    worst_case_accuracy         share of buckets with c = k: HELM [4]_, DynaMath [5]_; MCA(1), pass^k
    aptitude                    mean of the 90th percentile of a bucket's 0 and 1; unreliability, less the 10th [18]_
    pass_hat_n                  mean of C(c,n)/C(k,n): pass^k of tau-bench [6]_
    pass_at_n                   mean of 1 - C(k-c,n)/C(k,n): pass@k [7]_
    minimum_accuracy_curve      MCA(t), the share of buckets with :math:`\theta \ge t`; aucar, core: CAT [8]_
    krippendorff_alpha          Prompt Stability Score [9]_; fleiss_kappa [10]_
    normalized_entropy          mean entropy of n_l/k over log(number of labels) [11]_
    entropy                     mean entropy of n_l/k: semantic entropy of classes of answers [17]_
    spread                      of the accuracies of the variants: FormatSpread [12]_
    performance_drop_rate       1 - least/greatest accuracy: PromptBench [13]_
    combined_performance_score  MaxP (1 - (MaxP - AvgP)) [14]_, with MaxP `max_accuracy` and AvgP `mean_accuracy`
    contrast_consistency        of contrast sets [15]_, over one answer in all wordings
    ==========================  ====================================================================================

    Parameters
    ----------
    predictions, references : sequence of int or str, shape (n,)
        Predicted and gold label of every row. All wordings of a bucket have one gold label. References may be None:
        then the indices of agreement, alpha, kappa, entropy and contrasts remain.
    buckets : sequence of int or str, shape (n,)
    variants : sequence of int or str, shape (n,), optional
        Which wording each row is, the same over buckets (a prompt template).
    roles : sequence of {"original", "paraphrase", "contrast"}, shape (n,), optional
        Originals leave the buckets, as for paraphrastic consistency. Contrasts are texts of another meaning, which
        must get another answer. Without `roles` every row is a wording.
    groups : sequence of int or str, shape (n,), optional
        What intervals resample in place of buckets, one group a bucket.
    draws : sequence of int, default (1, 2, 3, 4, 5, 8)
        The n of `pass_hat_n` and `pass_at_n`; those that no bucket has are left out.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

    Returns
    -------
    PromptSensitivityResult
        Undefined values are nan and named in `warnings`. Entries of mappings have their intervals under
        ``"pass_hat_n/2"``. Intervals of what depends on the best or worst variant are for the true greatest, least, ...
        of these variants: the data that an interval is made from also chose the variants, and it allows for that
        (`Variants.bounds`).

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
    .. [17] Farquhar et al. (2024), Detecting hallucinations in large language models using semantic entropy, Nature.
    .. [18] Laban et al. (2025), LLMs Get Lost In Multi-Turn Conversation.

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
    labels = {"predictions": predictions} | ({} if references is None else {"references": references})
    columns = code_columns(function, labels, {"buckets": buckets}, roles=roles, groups=groups, variants=variants)
    checked, codes_of = columns.columns, columns.codes
    divided = partition(checked["buckets"])
    kinds: npt.NDArray[Any] = np.full(len(divided.codes), PARAPHRASE)
    if roles is not None:
        kinds = as_choices(function, "roles", checked["roles"], (ORIGINAL, PARAPHRASE, "contrast"))
    is_wording, is_contrast = kinds == PARAPHRASE, kinds == "contrast"
    if not is_wording.any():
        raise input_error(function, "roles", "leave at least one paraphrase", got=sorted(set(kinds.tolist())))
    bucket_gold = np.full(len(divided), len(columns.labels))  # a label that no answer is
    if references is not None:
        gold = codes_of["references"]
        bucket_gold[divided.codes[~is_contrast]] = gold[~is_contrast]
        gold = np.where(is_contrast, bucket_gold[divided.codes], gold)  # a contrast may have another one
        bucket_gold = one_per_bucket(function, divided, gold, "references", "gold label", checked["references"])
    grouping = bucket_groups(function, divided, checked.get("groups"))
    kept, predicted = partition_integers(divided.codes[is_wording]), codes_of["predictions"]
    buckets_of, keep = kept.codes, np.asarray(kept.ids)
    if grouping is not None:
        grouping = partition_integers(grouping[keep]).codes
    sizes = len(columns.labels) + (references is None), len(np.unique(np.concatenate([*codes_of.values()])))
    answers = Answers.of(buckets_of, predicted[is_wording], bucket_gold[keep], *sizes)
    counts = answers.counts

    estimates = Estimates(options, "bucket" if grouping is None else "group", rng=as_generator(function, "seed", seed))
    drawn = [check_whole(function, "draws", n, at_most=_MOST_DRAWS) for n in draws]
    drawn = [n for n in dict.fromkeys(drawn) if references is not None and n <= counts.size.max()]
    sums = Sums(counts)
    add_means(sums, answers, has_gold=references is not None)
    if references is not None:
        add_curve(sums, counts)
    add_draws(sums, counts, drawn)
    if is_contrast.any():
        contrasts = np.flatnonzero(is_contrast & np.isin(divided.codes, keep))
        add_contrasts(sums, answers, np.searchsorted(keep, divided.codes[contrasts]), predicted[contrasts])
    accuracies: dict[str, float] | None = None
    of_variants: Variants | None = None
    if variants is not None and references is not None:
        named = partition(checked["variants"])
        shared = partition_integers(named.codes[is_wording])
        if len(keep) > 1 and shared.sizes.max() == 1:
            raise input_error(function, "variants", "name wordings that buckets share", got="another in every row")
        right = predicted[is_wording] == codes_of["references"][is_wording]
        of_variants = Variants.of(buckets_of, shared.codes, right)
        of_variants.add_to(sums)
        each = of_variants.accuracies
        accuracies = dict(zip(map(str, named.ids_of(np.asarray(shared.ids))), each.tolist(), strict=True))
        if (least := int(shared.sizes.min())) < len(keep):
            which = f"a variant has {least} of {len(keep)} buckets"
            estimates.warn(f"{which}: the accuracies of variants differ by their problems too")
    values, method = sums.estimate(estimates, answers.pattern, grouping)
    if of_variants is not None:
        of_variants = of_variants if grouping is None else of_variants.grouped(grouping)
        if sums.n_units > 1 and not (method == "logit_t" and too_few(of_variants.units)):
            estimates.confidence_interval |= of_variants.bounds(options)
            of_each = of_variants.of_each(options).tolist()
            each_key = (f"variant_accuracies/{variant}" for variant in accuracies or ())
            estimates.confidence_interval |= dict(zip(each_key, of_each, strict=True))
        values |= of_variants.by_chance(options)
    values |= {"chance": answers.pool.same} | estimates.add_label_agreement(counts, answers.pool, grouping)
    if len(answers.labels_predicted) == 1 and counts.size.sum() > 1:
        estimates.warn(constant_message(columns.labels[answers.labels_predicted[0]]))
    if few := [f"{n}: {count}" for n in drawn if (count := int((counts.size < n).sum()))]:
        what = f"buckets with fewer answers are left out of pass_hat_n and pass_at_n (n: buckets; {', '.join(few)})"
        estimates.warn(what)
    score, nan = "prompt_sensitivity_score", float("nan")
    if references is None:
        estimates.warn(f"without gold labels there is no accuracy, {score} or other index of right answers")
    estimates.warn_if_few(sums.n_units)
    estimates.note_undefined(values)
    tables: dict[str, dict[str, float]] = {} if references is None else {"pass_hat_n": {}, "pass_at_n": {}}
    if references is None:
        values[score] = nan
        estimates.put(score, (nan, nan), nan, sums.n_units, None)
    return PromptSensitivityResult(
        n_buckets=len(counts),
        n_examples=int(counts.size.sum()),
        variant_accuracies=accuracies,
        **estimates.fields({**tables, **values}, method, avg="bucket", unparsed="refused"),
    )


def variant_indices(accuracies: Any) -> dict[str, float]:
    """Return the summaries of `prompt_sensitivity` of the accuracies of shared variants, if only these are known.

    Parameters
    ----------
    accuracies : sequence of float, shape (n,)
        Accuracy of each variant (prompt template) on the same problems, in [0, 1].

    Returns
    -------
    dict of str to float
        ``mean_accuracy`` (AvgP), ``max_accuracy`` (MaxP), ``min_accuracy``, ``spread``,
        ``performance_drop_rate`` (nan where all accuracies are 0), ``combined_performance_score`` (CPS) and
        ``variant_deviation``, without intervals: these need the answers.

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
        values = summaries(of_each, int(of_each.argmax()), int(of_each.argmin()))
    return dict(zip(OF_VARIANTS, values.tolist(), strict=True))


@dataclass(frozen=True)
class Answers:
    """The counts of each bucket, shape (n_buckets,), and what the indices need in addition."""

    counts: BucketCounts
    pool: LabelPool
    labels_predicted: Integers
    majority: Floats  # whether the commonest answer is right; of tied ones the share that are
    entropy: Floats  # in nats
    n_used: int  # labels that occur
    most: Integers  # answers of the commonest label
    distinct_answers: Integers
    answer: Integers  # the one that all wordings got, -1 where they differ
    pattern: tuple[Integers, ...]  # columns whose equal rows are equal buckets

    @classmethod
    def of(cls, buckets: Integers, predictions: Integers, gold: Integers, n_labels: int, n_used: int) -> Answers:
        """Count answers; codes are below `n_labels`, of which `n_used` occur (integer labels may leave gaps)."""
        counts, pool, used = count_buckets(buckets, len(gold), predictions, gold, n_labels)
        cells, n = np.unique(buckets.astype(np.int64) * n_labels + predictions, return_counts=True)
        bucket, label = cells // n_labels, cells % n_labels
        most = np.zeros(len(gold), dtype=np.int64)
        np.maximum.at(most, bucket, n)
        is_top = n == most[bucket]
        tied = np.bincount(bucket[is_top], minlength=len(gold))
        right = np.bincount(bucket[is_top & (label == gold[bucket])], minlength=len(gold))
        entropy = np.bincount(bucket, weights=entr(n / counts.size[bucket]), minlength=len(gold)).astype(np.float64)
        entropy = np.maximum(entropy, 0.0)
        distinct_answers = np.bincount(bucket, minlength=len(gold)).astype(np.int64)
        answer = np.full(len(gold), -1)
        whole = n == counts.size[bucket]
        answer[bucket[whole]] = label[whole]
        majority = right / tied
        in_bits = majority.view(np.int64), entropy.view(np.int64)
        pattern = counts.size, counts.correct, counts.same_label, most, distinct_answers, *in_bits
        return cls(counts, pool, used, majority, entropy, n_used, most, distinct_answers, answer, pattern)


class Sums:
    """The sums over buckets that the indices are functions of, and these functions."""

    def __init__(self, counts: BucketCounts) -> None:
        self._columns: list[npt.NDArray[Any]] = [np.ones(len(counts))]
        self._ratios: dict[str, tuple[int, int, float]] = {}  # name -> columns of values and weights, greatest value
        self._functions: list[Any] = []  # of sums, shape (..., m) to (..., q)
        self._more: dict[str, tuple[float, bool]] = {}  # what these are called: greatest value, whether a mean
        self._extra: list[Integers] = []
        self.n_units = 0

    def add(self, *columns: npt.NDArray[Any]) -> int:
        """Add columns, and return the place of the first."""
        self._columns += columns
        return len(self._columns) - len(columns)

    def mean(
        self, name: str, values: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None, most: float = 1.0
    ) -> None:
        """Add the mean of values, in [0, `most`], over all buckets, or the sum of values over that of weights.

        Buckets with a weight of 0 do not count.
        """
        self._ratios[name] = (self.add(values), 0 if weights is None else self.add(weights), most)

    def functions(self, function: Any, names: Mapping[str, tuple[float, bool]]) -> None:
        """Add a function of all sums, shape (..., m) to (..., q): each value's name, greatest value, whether a mean."""
        self._functions.append(function)
        self._more |= names

    def differ_by(self, column: Integers) -> None:
        """Treat buckets with different values here as different."""
        self._extra.append(column)

    def place(self, name: str) -> int:
        """Return the column of the values of a mean."""
        return self._ratios[name][0]

    def _values(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        tops, bottoms, _ = (list(places) for places in zip(*self._ratios.values(), strict=True))
        others = [function(sums) for function in self._functions]
        return np.concatenate([sums[..., tops] / sums[..., bottoms], *others], axis=-1)

    def estimate(
        self, estimates: Estimates, pattern: tuple[Integers, ...], groups: Integers | None
    ) -> tuple[dict[str, float], str]:
        """Return the values and the method of their intervals, which are set in `estimates`."""
        names = [*self._ratios, *self._more]
        first, code, _ = distinct(*pattern, *self._extra)
        sums = np.stack([column[first] for column in self._columns], axis=1).astype(np.float64)
        buckets, units = group_units(sums, code, None), group_units(sums, code, groups)
        self.n_units = units.n
        greatest = [most for *_, most in self._ratios.values()] + [most for most, _ in self._more.values()]
        ranges = [(0.0, most) for most in greatest]
        are_means = [True] * len(self._ratios) + [is_mean for _, is_mean in self._more.values()]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.clip(self._values(units.total), *np.array(ranges).T)
            over = [weights for _, weights, _ in self._ratios.values()] + [0] * len(self._more)
            bounds = estimates.intervals(units, self._values, ranges, are_means, reported=values, over=over)
            effects = design_effects(units, buckets, self._values)
        estimates.add(names, bounds, units.n, effects.tolist())
        counted = dict(zip(names, units.counted(over).tolist(), strict=True))
        estimates.n_clusters |= counted
        few = [name for name, n in counted.items() if 0 < n < FEW_UNITS <= units.n]
        if few and bounds.method == "logit_t":
            few_units = f"fewer than {FEW_UNITS} {estimates.unit}s count"
            estimates.warn(f"{few_units} for {', '.join(few)}: no interval below that")
        return dict(zip(names, values.tolist(), strict=True)), bounds.method


def add_means(sums: Sums, answers: Answers, *, has_gold: bool) -> None:
    """Add the means over buckets, or over their pairs of answers; with gold labels also those of right answers."""
    counts = answers.counts
    k, c, s = (column.astype(np.float64) for column in (counts.size, counts.correct, counts.same_label))
    pairs = k * (k - 1.0)
    has_pair = pairs > 0.0
    over = np.where(has_pair, pairs, 1.0)
    sums.mean("agreement", np.where(has_pair, (s - k) / over, 0.0), has_pair)
    sums.mean("agreement_plugin", s / k**2)
    sums.mean("consistency_rate_pooled", s - k, pairs)
    sums.mean("normalized_entropy", answers.entropy / np.log(max(answers.n_used, 2)))
    sums.mean("size_normalized_entropy", answers.entropy / np.log(np.maximum(k, 2.0)))
    sums.mean("mode_share", answers.most / k)
    largest = max(float(k.max()), 2.0)
    sums.mean("entropy", answers.entropy, most=np.log(largest))
    sums.mean("distinct_answers", answers.distinct_answers, most=largest)
    sums.mean("unanimous_share", answers.answer >= 0)
    if has_gold:
        sums.mean("prompt_sensitivity_score", 2.0 * c * (k - c) / over, has_pair)
        sums.mean("accuracy", c, k)
        sums.mean("majority_accuracy", answers.majority)
        sums.mean("worst_case_accuracy", c == k)
        sums.mean("best_case_accuracy", c > 0)
        tenth, first = 0.1 * (k - 1.0), k - c  # of the answers in order, the first that is right
        high, low = (np.clip(place - first + 1.0, 0.0, 1.0) for place in (k - 1.0 - tenth, tenth))
        sums.mean("aptitude", high)
        sums.mean("unreliability", high - low)


def add_curve(sums: Sums, counts: BucketCounts) -> None:
    """Add the share of buckets that are right to at least each tenth, and the summaries of the curve.

    Dynamic time warping to a curve that is 1 throughout pairs each of the eleven points with it once, so that the
    distance is what the points lack of 1, and that of the worst curve, [1, 0, ..., 0], is 10.
    """
    names = [f"minimum_accuracy_curve/{tenth / 10:.1f}" for tenth in range(11)]
    for tenth, name in enumerate(names):
        sums.mean(name, 10 * counts.correct >= tenth * counts.size)
    places = [sums.place(name) for name in names]
    trapezoid = np.array([0.5, *[1.0] * 9, 0.5]) / 10.0

    def areas(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
        curve = total[..., places] / total[..., :1]
        aucar = curve @ trapezoid
        return np.stack([aucar, aucar * curve[..., 1:].sum(axis=-1) / 10.0], axis=-1)

    sums.functions(areas, {"aucar": (1.0, True), "core": (1.0, False)})


def add_draws(sums: Sums, counts: BucketCounts, draws: Sequence[int]) -> None:
    """Add the chance that n wordings, drawn without replacement, are all right, and that one of them is."""
    for n in draws:
        has_n = counts.size >= n
        sums.mean(f"pass_hat_n/{n}", _all_of(counts.correct, counts.size, n), has_n)
        passed = 1.0 - _all_of(counts.size - counts.correct, counts.size, n)
        sums.mean(f"pass_at_n/{n}", np.where(has_n, passed, 0.0), has_n)


def _all_of(c: Integers, k: Integers, n: int) -> Floats:
    """Return C(c, n) / C(k, n): the chance that n different ones of k are all among c of them; 0 where c < n."""
    chance = np.ones(len(c))
    for i in range(n):
        chance *= np.maximum(c - i, 0) / np.maximum(k - i, 1)
    return chance


def add_contrasts(sums: Sums, answers: Answers, buckets: Integers, predictions: Integers) -> None:
    """Add the share of buckets with contrasts and two wordings that are consistent in both ways."""
    n = len(answers.answer)
    has = (np.bincount(buckets, minlength=n) > 0) & (answers.counts.size > 1)
    same = np.bincount(buckets[predictions == answers.answer[buckets]], minlength=n) > 0
    holds = has & (answers.answer >= 0) & ~same
    sums.mean("contrast_consistency", holds, has)
    sums.differ_by(has.astype(np.int64) + holds)


#: Summaries of the accuracies of variants: the greatest possible value, and whether it is a mean over buckets.
OF_VARIANTS = {
    **{"mean_accuracy": (1.0, True), "max_accuracy": (1.0, True), "min_accuracy": (1.0, True), "spread": (1.0, False)},
    **{"performance_drop_rate": (1.0, False), "combined_performance_score": (1.0, False)},
    "variant_deviation": (0.5, False),
}


def summaries(accuracies: npt.NDArray[Any], best: int, worst: int) -> npt.NDArray[Any]:
    """Return `OF_VARIANTS` of accuracies, shape (..., n_variants) to (..., 7)."""
    mean, most, least = accuracies.mean(axis=-1), accuracies[..., best], accuracies[..., worst]
    deviation = np.sqrt(((accuracies - mean[..., None]) ** 2).mean(axis=-1))
    values = [mean, most, least, most - least, 1.0 - least / most, most * (1.0 - (most - mean)), deviation]
    return np.stack(values, axis=-1)


@dataclass(frozen=True)
class Variants:
    """The answers of each unit (bucket, or group) by variant: how many, and how many right; (n_units, n_variants)."""

    size: Floats
    correct: Floats

    @classmethod
    def of(cls, buckets: Integers, variants: Integers, right: Mask) -> Variants:
        """Count the rows of every bucket and variant, both as codes."""
        shape = int(buckets.max()) + 1, int(variants.max()) + 1
        cells = buckets.astype(np.int64) * shape[1] + variants
        counts = (np.bincount(cells[rows], minlength=shape[0] * shape[1]) for rows in (slice(None), right))
        return cls(*(column.reshape(shape).astype(np.float64) for column in counts))

    def grouped(self, groups: Integers) -> Variants:
        """Return the counts of groups of buckets."""
        return Variants(sums_by_group(self.size, groups), sums_by_group(self.correct, groups))

    @cached_property
    def accuracies(self) -> Floats:
        """The accuracy of each variant, shape (n_variants,)."""
        return np.asarray(self.correct.sum(axis=0) / self.size.sum(axis=0))

    @cached_property
    def units(self) -> Units:
        """The units by their numbers of answers."""
        return Units.of(self.size.sum(axis=1, keepdims=True), np.ones(len(self.size)))

    @cached_property
    def influence(self) -> Floats:
        """What each unit adds to the error of each variant's accuracy, shape (n_units, n_variants)."""
        size = self.size.sum(axis=1)
        shrunk = np.sqrt(1.0 - 1.0 / len(size)) / (1.0 - size / size.sum())  # as in `linearised_errors`
        return np.asarray(shrunk[:, np.newaxis] * (self.correct - self.accuracies * self.size) / self.size.sum(axis=0))

    def of_each(self, options: IntervalSettings) -> Floats:
        """Return the interval of each variant's accuracy by itself, shape (n_variants, 2)."""
        a, n_units, level = self.accuracies, self.units.effective_n, options.confidence_level
        error = np.sqrt((self.influence**2).sum(axis=0))
        t = float(stdtrit(max(n_units - 1.0, 1.0), (1.0 + level) / 2.0))
        ends = np.stack(on_logit_scale(a, t * error, np.tile([0.0, 1.0], (len(a), 1))), axis=1)
        for place in np.flatnonzero(error <= NO_SPREAD):
            ends[place] = boundary_interval(float(a[place]), 0.0, 1.0, n_units, level)
        return np.stack([np.minimum(ends[:, 0], a), np.maximum(ends[:, 1], a)], axis=1)

    def add_to(self, sums: Sums) -> None:
        """Add `OF_VARIANTS` to sums over buckets, of the variants that are best and worst in these data."""
        n = len(self.accuracies)
        first, last = sums.add(*self.size.T), sums.add(*self.correct.T)
        best, worst = int(self.accuracies.argmax()), int(self.accuracies.argmin())
        sums.differ_by(np.arange(len(self.size)))

        def of_shares(total: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return summaries(total[..., last : last + n] / total[..., first : first + n], best, worst)

        sums.functions(of_shares, OF_VARIANTS)

    def bounds(self, options: IntervalSettings) -> dict[str, list[float]]:
        """Return intervals of the true greatest, least, ... of the variants, which allow for their choice.

        The greatest of true values is at least the greatest of lower ends that hold for all variants together (max-T),
        and at most the greatest of upper ends that hold one by one, since one of these belongs to the true greatest. So
        lower ends are simultaneous and upper ends are not, both at half of 1 - confidence_level. The spread is the
        greatest difference of two variants, and the performance drop rate that of two logarithms. The standard
        deviation is the greatest of all normed contrasts (Scheffe). For the combined score the best variant is any that
        no other surpasses in the simultaneous test of all pairs.
        """
        a, n = self.accuracies, len(self.accuracies)
        order = np.argsort(-a, kind="stable")
        one, two = (order[side] for side in np.triu_indices(n, 1))  # no difference is below 0
        tail = (1.0 - options.confidence_level) / 2.0
        freedom = max(self.units.effective_n - 1.0, 1.0)
        influence = self.influence
        values, vectors = np.linalg.eigh(influence.T @ influence)
        rng = np.random.default_rng(options.entropy)
        n_draws = max(_LEAST_DRAWS, min(options.n_resamples, _CELLS // max(len(one), n)))
        drawn = rng.standard_normal((n_draws, n)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        drawn /= np.sqrt(rng.chisquare(freedom, n_draws) / freedom)[:, np.newaxis]  # multivariate t
        t = float(stdtrit(freedom, 1.0 - tail))
        sure = -np.expm1(np.log(tail) / self.units.effective_n)  # that an end keeps where no unit varies

        def ends(value: Floats, of_units: Floats, draws: list[Floats], least: float) -> tuple[float, float, float]:
            """Return the ends of the greatest of values in [least, 1], and the simultaneous quantile of t."""
            error = np.sqrt((of_units**2).sum(axis=0))
            varies = error > NO_SPREAD
            scale = np.where(varies, error, np.inf)
            top = np.concatenate([(part / scale).max(axis=1) for part in draws])
            critical = max(float(np.quantile(top, 1.0 - tail)), t)
            scales = np.tile([least, 1.0], (len(value), 1))
            low = np.where(varies, on_logit_scale(value, critical * error, scales)[0], value - sure)
            high = np.where(varies, on_logit_scale(value, t * error, scales)[1], value + sure)
            return float(low.max()), float(high.max()), critical

        def of_pairs(value: Floats, of_units: Floats, draws: Floats, least: float) -> tuple[float, float, float]:
            at_once = max(1, _CELLS_AT_ONCE // max(len(one), 1))
            parts = [draws[start : start + at_once] for start in range(0, n_draws, at_once)]
            differences = [np.abs(part[:, one] - part[:, two]) for part in parts]
            return ends(value[one] - value[two], of_units[:, one] - of_units[:, two], differences, least)

        found: dict[str, tuple[float, float]] = {"max_accuracy": ends(a, influence, [drawn], 0.0)[:2]}
        low, high, _ = ends(1.0 - a, -influence, [-drawn], 0.0)
        found["min_accuracy"] = 1.0 - high, 1.0 - low
        low, high, critical = of_pairs(a, influence, drawn, -1.0) if n > 1 else (0.0, 0.0, t)
        found["spread"] = low, high
        if a[order[-1]] > 0.0 and n > 1:
            low, high, _ = of_pairs(np.log(a), influence / a, drawn / a, -np.inf)
            found["performance_drop_rate"] = float(-np.expm1(-low)), float(-np.expm1(-high))
        else:
            found["performance_drop_rate"] = 1.0 - found["min_accuracy"][1] / found["max_accuracy"][0], 1.0
        centred = drawn - drawn.mean(axis=1, keepdims=True)
        deviations = influence - influence.mean(axis=1, keepdims=True)
        widest = float(np.linalg.norm(deviations, 2)) / np.sqrt(n)
        noise = float(np.quantile(np.sqrt((centred**2).mean(axis=1)), 1.0 - tail))
        high = float(a.std()) + t * widest if widest > NO_SPREAD else found["spread"][1] / 2.0
        found["variant_deviation"] = float(a.std()) - noise, high
        behind = a[one] - a[two] > critical * np.sqrt(((influence[:, one] - influence[:, two]) ** 2).sum(axis=0))
        may_be_best = np.setdiff1d(np.arange(n), two[behind])
        rest = 1.0 - a + a.mean()
        error = influence * (rest - a) + influence.mean(axis=1, keepdims=True) * a
        half = np.maximum(t * np.sqrt((error**2).sum(axis=0)), np.where(a.min() < 1.0, 0.0, sure))[may_be_best]
        score = (a * rest)[may_be_best]
        found["combined_performance_score"] = float((score - half).min()), float((score + half).max())
        points = dict(zip(OF_VARIANTS, summaries(a, int(order[0]), int(order[-1])).tolist(), strict=True))
        return {
            name: [max(0.0, min(low, points[name])), min(OF_VARIANTS[name][0], max(high, points[name]))]
            for name, (low, high) in found.items()
        }

    def by_chance(self, options: IntervalSettings) -> dict[str, float]:
        """Return the expected spread of equal variants, and p of this one, from answers that change places.

        Each unit's cells (answers, right ones) are permuted among the variants that it has, all cells of a unit alike.
        """
        rng = np.random.default_rng([options.entropy, 1])
        observed, has = np.ptp(self.accuracies), self.size > 0.0
        cells = self.size + 1j * self.correct
        total, varying = np.zeros(has.shape[1], dtype=np.complex128), []
        share = self.correct / np.where(has, self.size, 1.0)
        same = (np.where(has, share, -np.inf).max(axis=1) == np.where(has, share, np.inf).min(axis=1)) & has.all(axis=1)
        same &= np.ptp(self.size, axis=1) == 0.0
        total += cells[same].sum(axis=0)
        n_each = np.where(same, 0, has.sum(axis=1))
        for m in np.unique(n_each[n_each > 0]).tolist():
            rows = n_each == m
            places = np.nonzero(has[rows])[1].reshape(-1, m)
            varying.append((cells[rows][has[rows]].reshape(-1, m), places))
        n_cells = max(1, sum(places.size for _, places in varying))
        n_draws = max(_LEAST_DRAWS, min(options.n_resamples, _CELLS // n_cells))
        at_once = max(1, _CELLS_AT_ONCE // n_cells)
        spreads = []
        for start in range(0, n_draws, at_once):
            drawn = np.tile(total, (min(at_once, n_draws - start), 1))
            for values, places in varying:
                moved = rng.permuted(np.broadcast_to(values, (len(drawn), *values.shape)), axis=2)
                if places.shape[1] == len(total):
                    drawn += moved.sum(axis=1)
                else:
                    np.add.at(drawn.T, places, moved.transpose(1, 2, 0))
            spreads.append(np.ptp(drawn.imag / drawn.real, axis=1))
        every = np.concatenate(spreads)
        p_value = (np.count_nonzero(every >= observed - NO_SPREAD) + 1.0) / (len(every) + 1.0)
        return {"spread_by_chance": float(every.mean()), "spread_p_value": float(p_value)}
