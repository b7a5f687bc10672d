"""What becomes of each problem over all its wordings, and how often two of these get different answers.

Sentence, bar, links, tables, gate and notebook read this and nothing else. A wording is a row of role original,
paraphrase or none; swaps, negations, premises and parts of texts are no wordings, and have measures of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows
from paraconsist.measures.buckets import BucketCounts, LabelPool, count_buckets, partition
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, MeasureSpec, Quantity
from paraconsist.measures.chance import agreement_chance
from paraconsist.measures.difference_tests import rejects
from paraconsist.measures.prompt_sensitivity import Sums
from paraconsist.measures.results import METHODS, Estimates, Record, Result, Values, interval_options
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.measures.standings import Standing, UnitValues, standings
from paraconsist.scoring.options import CompareOptions, ScoreOptions

#: Roles of the rows that are wordings of their problem.
WORDINGS = (ORIGINAL, PARAPHRASE)
_FAR_APART = 0.1
_SHOWN, _LETTERS = 3, 40  # answers of a bucket that is named, and their letters

#: What of an `Outcomes` tables and plots show, and `gate` judges.
WORDING_CHANGE = Quantity(
    "wording_change",
    "different answers to two wordings",
    "wording change",
    "how often two wordings of a problem, the original among them, get different answers",
)
SAME_ANSWER = Quantity("same_answer", "the same answer to two wordings", "same answer", "1 less the wording change")
STEADINESS = Quantity(
    "above_chance",
    "same answer, above chance",
    "above chance",
    "0: as often as if the answers were shuffled over the texts; 100: no wording changes an answer",
)

#: Shown only where people checked it.
CHANCE = Quantity("chance", "the same answer to different problems", "by chance")

OF_WORDINGS = (WORDING_CHANGE, SAME_ANSWER, STEADINESS)

Outcome = Literal["right", "depends", "wrong", "same", "changes"]
#: What becomes of a problem, in words: the first three with gold labels, the others without.
OUTCOME_WORDS: dict[Outcome, str] = {
    "right": "right in every wording",
    "depends": "right in some wordings, wrong in others",
    "wrong": "wrong in every wording",
    "same": "the same answer in every wording",
    "changes": "other answers in other wordings",
}


class Coin(NamedTuple):
    """Answers that are right by chance: how often, and the shares of problems right and wrong in every wording."""

    accuracy: float
    right: float
    wrong: float


@dataclass(frozen=True)
class Problems:
    """The m problems that have two wordings or more; all arrays have shape (m,)."""

    ids: NDArray[Any]
    n_wordings: NDArray[np.intp]
    n_right: NDArray[np.intp] | None  # wordings that are answered right; None without gold labels
    is_same: NDArray[np.bool_]  # whether all wordings get one answer

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def outcomes(self) -> NDArray[np.str_]:
        """``right`` or ``wrong`` in every wording, else ``depends``; without gold labels ``same`` or ``changes``."""
        if self.n_right is None:
            return np.where(self.is_same, "same", "changes")
        return np.where(self.n_right == self.n_wordings, "right", np.where(self.n_right == 0, "wrong", "depends"))

    @property
    def coin(self) -> Coin | None:
        """What becomes of these problems if all wordings are answered right with one chance; None without gold."""
        if self.n_right is None or not len(self):
            return None
        accuracy = float(self.n_right.sum() / self.n_wordings.sum())
        right, wrong = (float(np.mean(chance**self.n_wordings)) for chance in (accuracy, 1.0 - accuracy))
        return Coin(accuracy, right, wrong)

    @property
    def by_right(self) -> dict[str, int] | None:
        """How many problems have k of their n wordings right, by k/n; None without gold labels."""
        if self.n_right is None:
            return None
        shares, counts = np.unique([self.n_right, self.n_wordings], axis=1, return_counts=True)
        return {f"{k}/{n}": m for k, n, m in zip(*shares.tolist(), counts.tolist(), strict=True)}

    def count(self, outcome: Outcome) -> int:
        """Return how many problems have this outcome."""
        return int(np.count_nonzero(self.outcomes == outcome))


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcomes(Result):
    """How often two wordings of a problem get different answers; every problem counts once.

    Attributes
    ----------
    wording_change : float
        Share of pairs of different wordings of a problem with another answer, in [0, 1], unbiased; down is good.
    same_answer : float
        1 less it. Paraphrastic consistency's `agreement_unbiased` is that of paraphrases alone.
    above_chance : float
        `same_answer` on a scale where 0 is what the model's own answers give when they are shuffled over the texts and
        1 is never another answer; nan for a constant answer.
    n_problems, n_wordings : int
        Problems with two wordings or more, and their wordings.
    n_same, n_changed : int
        Problems all of whose wordings get one answer, and the others.
    n_right, n_depends, n_wrong : int or None
        Problems that are right in every wording, in some, and in none; None without gold labels.
    n_by_right : dict of str to int, or None
        Problems by how many of their wordings are right: ``{"4/5": 7, "5/5": 33}``.
    """

    wording_change: float
    same_answer: float
    above_chance: float
    n_problems: int
    n_wordings: int
    n_same: int
    n_changed: int
    n_right: int | None = None
    n_depends: int | None = None
    n_wrong: int | None = None
    n_by_right: dict[str, int] | None = None


@dataclass(frozen=True)
class Ranking(Record):
    """Models of one set by steadiness (`above_chance`), the steadiest first; a constant answer has no place in it."""

    n_problems: int  # that all ranked models answered, in two wordings at least
    steadiness: dict[str, float]  # model -> `above_chance` on these, at most 1
    standings: list[Standing]  # ranks and groups hold for all pairs of models together
    unranked: dict[str, str]  # model -> why


def wordings_of(rows: Rows) -> Rows:
    """Return the rows that are wordings of a problem with two or more of them."""
    wordings = rows.where(np.isin(rows.roles, WORDINGS))
    _, codes, sizes = np.unique(np.asarray(wordings.buckets), return_inverse=True, return_counts=True)
    return wordings.where(sizes[codes] > 1)


def answer_codes(rows: Rows) -> NDArray[np.intp]:
    """Return the number of each row's answer, from 0: of what a comparer read in it, else of its label."""
    if rows.values is None:
        return np.unique(rows.predictions, return_inverse=True)[1]
    unread = -1 - (np.arange(len(rows)) if rows.never_agree else np.zeros(len(rows), dtype=np.intp))
    return np.unique(np.where(rows.values < 0, unread, rows.values), return_inverse=True)[1]


def same_pairs(rows: Rows, of_bucket: NDArray[np.integer[Any]], n_buckets: int) -> NDArray[np.intp]:
    """Return the number of ordered pairs of rows of each bucket, each with itself too, that have the same answer."""
    answers = answer_codes(rows)
    cells, counts = np.unique(of_bucket * np.int64(len(rows) + 1) + answers, return_counts=True)
    bucket = cells // (len(rows) + 1)
    total = np.zeros(n_buckets, dtype=np.intp)
    np.add.at(total, bucket, counts**2)
    if rows.same is None:
        return total
    assert rows.values is not None
    value_of = np.empty(len(rows), dtype=np.int64)
    value_of[answers] = rows.values
    values = value_of[cells % (len(rows) + 1)].tolist()
    starts = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(cells)], strict=True):
        for i, j in combinations(range(start, end), 2):
            if (min(values[i], values[j]), max(values[i], values[j])) in rows.same:
                total[bucket[start]] += 2 * counts[i] * counts[j]
    return total


def differing_pairs(rows: Rows) -> list[NDArray[np.bool_]]:
    """Return which pairs of wordings of each bucket get different answers: matrices, shape (k, k), by bucket id.

    `rows` are wordings; those of a bucket keep their order.
    """
    codes, answers = np.unique(np.asarray(rows.buckets), return_inverse=True)[1], answer_codes(rows)
    order = np.argsort(codes, kind="stable")
    matrices = []
    for places in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else ():
        own = answers[places]
        differ = own[:, np.newaxis] != own
        if rows.same is not None and rows.values is not None:
            values = rows.values[places].tolist()
            for i, j in np.argwhere(differ).tolist():
                differ[i, j] = (min(values[i], values[j]), max(values[i], values[j])) not in rows.same
        matrices.append(differ)
    return matrices


def problems_of(rows: Rows) -> Problems:
    """Return what becomes of each problem; `rows` are as a policy for unparsed answers has left them.

    Where a problem was asked in several epochs all of these count: it is ``right`` if it is in all wordings of all.
    """
    rows = wordings_of(rows)
    ids, codes, sizes = np.unique(_problem_ids(rows), return_inverse=True, return_counts=True)
    is_same = same_pairs(rows, codes, len(ids)) == sizes**2
    right = np.bincount(codes, weights=is_right(rows), minlength=len(ids)).astype(np.intp)
    return Problems(ids, sizes, right if rows.has_gold.all() else None, is_same)


def outcome_of_buckets(rows: Rows) -> dict[Any, str]:
    """Return what becomes of the problem of each bucket that has two wordings: bucket id -> outcome."""
    problems, counted = problems_of(rows), wordings_of(rows)
    of_problem = dict(zip(problems.ids.tolist(), problems.outcomes.tolist(), strict=True))
    pairs = zip(np.asarray(counted.buckets).tolist(), _problem_ids(counted).tolist(), strict=True)
    return {bucket: of_problem[problem] for bucket, problem in pairs}


def _problem_ids(rows: Rows) -> NDArray[Any]:
    return np.asarray(rows.buckets if rows.problems is None else rows.problems)


def changes_of_buckets(rows: Rows) -> dict[Any, float]:
    """Return the share of pairs of wordings of each bucket with another answer: bucket id -> share."""
    counted = wordings_of(rows)
    ids, codes, sizes = np.unique(np.asarray(counted.buckets), return_inverse=True, return_counts=True)
    differ = 1.0 - (same_pairs(counted, codes, len(ids)) - sizes) / (sizes * (sizes - 1))
    return dict(zip(ids.tolist(), differ.tolist(), strict=True))


class Unsteady(NamedTuple):
    """A bucket whose wordings get different answers."""

    bucket: Any
    wording_change: float  # share of pairs of different wordings with another answer, in (0, 1]
    n_wordings: int
    n_answers: int
    n_right: int | None  # wordings that are answered right; None without gold labels
    answers: str  # the most frequent first

    def __str__(self) -> str:
        words = f"{self.n_answers} answers to {self.n_wordings} wordings"
        if self.n_right is not None:
            words = f"{self.n_right} of {self.n_wordings} right"
        return f"{self.bucket} ({words}: {self.answers})"


def worst_buckets(rows: Rows, n: int, label_names: Sequence[str] = ()) -> list[Unsteady]:
    """Return the `n` buckets whose wordings differ most.

    Buckets are ranked by the share of pairs of different wordings with another answer; of equal ones those with more
    wordings come first.
    """
    counted = wordings_of(rows)
    ids, codes, sizes = np.unique(np.asarray(counted.buckets), return_inverse=True, return_counts=True)
    cells = np.unique(codes.astype(np.int64) * (len(rows) + 1) + answer_codes(counted))
    of_bucket = cells // (len(rows) + 1)
    differ = 1.0 - (same_pairs(counted, codes, len(ids)) - sizes) / (sizes * (sizes - 1))
    n_right = np.bincount(codes, weights=is_right(counted), minlength=len(ids)).astype(int)
    n_answers = np.bincount(of_bucket, minlength=len(ids))
    order = np.lexsort((-sizes, -differ))[:n]
    listed = []
    for i in (place for place in order if differ[place] > 0):
        rows_of = zip(counted.predictions[codes == i].tolist(), counted.unparsed[codes == i].tolist(), strict=True)
        given = Counter(None if is_unparsed else answer for answer, is_unparsed in rows_of).most_common(_SHOWN)
        shown = ", ".join(f"{_shown(answer, label_names)} ×{times}" for answer, times in given)
        right = int(n_right[i]) if counted.has_gold.all() else None
        counts = int(sizes[i]), int(n_answers[i]), right
        listed.append(Unsteady(ids[i : i + 1].tolist()[0], float(differ[i]), *counts, shown))
    return listed


def _shown(answer: Any, label_names: Sequence[str]) -> str:
    """Return an answer as people read it."""
    if answer is None:
        return "unparsed"
    if isinstance(answer, int):
        return label_names[answer] if 0 <= answer < len(label_names) else str(answer)
    return repr(answer if len(answer) <= _LETTERS else f"{answer[: _LETTERS - 1]}…")


def is_right(rows: Rows) -> NDArray[np.bool_]:
    """Return which answers are their gold label, of shape (n,)."""
    return np.asarray(rows.has_gold & (rows.predictions == rows.labels))


def outcomes(rows: Rows, options: ScoreOptions) -> Outcomes | None:
    """Return how often two wordings get different answers; None where no problem has two wordings.

    `rows` are as `options.policy` has left them: an answer that could not be read differs from every other, or is
    one more answer.
    """
    counted = wordings_of(rows)
    if not len(counted) or counted.unparsed.all():
        return None
    problems = problems_of(rows)
    counts, pool, groups = _counts(counted)
    method = options.interval_method if options.interval_method in METHODS else "auto"  # shares of rows have others
    settings = interval_options("wording_change", **{**options.intervals, "interval_method": method})
    estimates = Estimates(settings, "bucket" if groups is None else "group")
    size, key, sums = counts.size.astype(np.float64), WORDING_CHANGE.key, Sums(counts)
    sums.mean(key, (size**2 - counts.same_label) / (size * (size - 1.0)))
    found, interval_method = sums.estimate(estimates, (counts.size, counts.same_label), groups)
    changed, (low, high), error = found[key], estimates.confidence_interval[key], estimates.standard_error[key]
    n_units, effect = sums.n_units, estimates.design_effect[key]
    estimates.put("same_answer", (1.0 - high, 1.0 - low), error, n_units, effect)
    chance = pool.same if counted.same is None else counted.chance
    if counted.same is None:
        above = estimates.add_corrected("above_chance", agreement_chance(counts, pool), groups)
    else:  # of a sample of pairs of answers to different problems
        rest = 1.0 - chance if chance < 1.0 else float("nan")
        above = 1.0 - changed / rest
        estimates.put("above_chance", (1.0 - high / rest, 1.0 - low / rest), error / rest, n_units, effect)
    estimates.warn_if_few(n_units)
    n_same = int(problems.is_same.sum())
    values = {"wording_change": changed, "same_answer": 1.0 - changed, "above_chance": above, "chance": chance}
    values |= {"n_problems": len(problems), "n_wordings": len(counted)}
    values |= {"n_same": n_same, "n_changed": len(problems) - n_same}
    if problems.n_right is not None:
        values |= {f"n_{outcome}": problems.count(outcome) for outcome in ("right", "depends", "wrong")}
    estimates.note_undefined(values)
    fields = estimates.fields(values, interval_method, avg="bucket", unparsed=options.policy)
    return Outcomes(**fields, n_by_right=problems.by_right)


def _counts(counted: Rows) -> tuple[BucketCounts, LabelPool, NDArray[np.intp] | None]:
    """Return how each bucket's wordings are answered, and the buckets' groups, in the order of the buckets' ids."""
    ids, first, codes = np.unique(np.asarray(counted.buckets), return_index=True, return_inverse=True)
    answers, gold = answer_codes(counted), np.zeros(len(ids), dtype=np.intp)
    counts, pool, _ = count_buckets(codes, len(ids), answers, gold, int(answers.max()) + 1)
    if counted.same is not None:
        counts = replace(counts, same_label=same_pairs(counted, codes, len(ids)))
    groups = None if counted.groups is None else np.unique(counted.groups[first], return_inverse=True)[1]
    return counts, pool, groups


def steadiness_of_units(rows: Mapping[str, Rows]) -> UnitValues:
    """Return what each bucket adds to `above_chance` of each model, n times its linearised effect on it.

    The mean over buckets is each model's value, and its spread is that of `Outcomes.standard_error`, so that paired
    differences of it are tests of models' steadiness: chance is each model's own. `rows` (model -> rows) are aligned,
    and no model's answers are constant.
    """
    values, groups = [], None
    for counted in map(wordings_of, rows.values()):
        counts, pool, groups = _counts(counted)
        level = agreement_chance(counts, pool)
        _, broken, shuffled = level.sums[level.pattern].T
        if counted.same is not None:  # whose chance is that of a sample of pairs
            shuffled = np.full(len(broken), 1.0 - counted.chance)
        ratio, mean = broken.sum() / shuffled.sum(), shuffled.mean()
        values.append(1.0 - ratio - (broken - ratio * shuffled) / mean)
    return UnitValues(np.stack(values, axis=1), None, groups)


def wording_change(rows: Mapping[str, Rows]) -> UnitValues:
    """Return the share of pairs of wordings with another answer of each bucket that has them, by model.

    `rows` (model -> rows) are aligned.
    """
    counted = [wordings_of(read) for read in rows.values()]
    values = np.stack([list(changes_of_buckets(read).values()) for read in rows.values()], axis=1)
    _, first = np.unique(np.asarray(counted[0].buckets), return_index=True)
    groups = counted[0].groups
    return UnitValues(values, None, None if groups is None else partition(groups[first]).codes)


#: What models are compared by with or without gold labels; a measure that has no module of its own.
BY_WORDINGS = MeasureSpec(
    wording_change,
    title="Wording change",
    question="How often do two wordings of a problem get different answers?",
    direction="Down is good: 0 % means that no wording changes an answer.",
    headline=WORDING_CHANGE.key,
    symbol=WORDING_CHANGE.symbol,
    quantities=(WORDING_CHANGE,),
    needs_gold=False,
    mean_over="buckets",
)


def compared_by(measure: str) -> MeasureSpec:
    """Return what models are compared by, by its name."""
    return BY_WORDINGS if measure == BY_WORDINGS.name else CATALOGUE[measure]


def unread(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return the models (and why) that cannot be compared: no answer to a common problem could be read.

    `rows` (model -> rows) are aligned.
    """
    counted = {model: wordings_of(read) for model, read in rows.items()}
    none = [model for model, read in rows.items() if (counted[model] if len(counted[model]) else read).unparsed.all()]
    return dict.fromkeys(none, "none of its answers to the problems that all models answered could be read")


def rank(rows: Mapping[str, Rows], unranked: dict[str, str], options: CompareOptions) -> Ranking:
    """Rank models by steadiness, all pairs tested at once; those that are `unranked` (model -> why) last.

    `rows` (model -> rows) are aligned and as the policy for unparsed answers has left them. Where problems have no two
    wordings nobody is ranked.
    """
    unranked = {**unread(rows), **unranked}
    able = {model: read for model, read in rows.items() if model not in unranked and len(wordings_of(read))}
    constant = [model for model, read in able.items() if not answer_codes(wordings_of(read)).any()]
    unranked = {**unranked, **dict.fromkeys(constant, "a constant answer to the problems that all models answered")}
    able = {model: read for model, read in able.items() if model not in unranked}
    if able and len(np.unique(np.asarray(wordings_of(next(iter(able.values()))).buckets))) == 1:
        unranked |= dict.fromkeys(able, "there is one problem, which says nothing of others")
        able = {}
    if not able:
        return Ranking(0, {}, [], unranked)
    units = steadiness_of_units(able)
    one, two, sums, p = units.pair_tests(n_draws=options.n_permutations, seed=options.seed)
    models, n = list(able), len(units.values)
    pairs = [(models[i], models[j]) for i, j in zip(one.tolist(), two.tolist(), strict=True)]
    better = dict(zip(pairs, (sums >= 0.0).tolist(), strict=True))  # of two alike the first
    differ = dict(zip(pairs, rejects(p, options.confidence_level).tolist(), strict=True))
    values = dict(zip(models, units.values.mean(axis=0).tolist(), strict=True))
    ranked = standings(STEADINESS.key, models, better, differ)
    return Ranking(n, {row.model: values[row.model] for row in ranked}, ranked, unranked)


def are_far_apart(paraphrastic: Values, wording: Values) -> bool:
    """Say whether P_C and `same_answer` are more than 10 points apart, so that one must not be told as the other."""
    consistency = paraphrastic[PARAPHRASTIC.headline]
    return consistency is not None and abs(consistency - wording["same_answer"]) > _FAR_APART + 1e-9


def parts_from(paraphrastic: Values, wording: Outcomes) -> list[str]:
    """Return a warning where P_C and `same_answer` are far apart."""
    if not are_far_apart(paraphrastic, wording):
        return []
    originals = ", and originals are left out" * (paraphrastic.get("original_accuracy") is not None)
    return [
        f"P_C is {100 * paraphrastic[PARAPHRASTIC.headline]:.1f} % and two wordings get the same answer "
        f"{100 * wording.same_answer:.1f} % of the time: P_C compares whether answers are right, so two different "
        f"wrong answers count as consistent{originals}"
    ]
