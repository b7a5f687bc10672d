"""Alarms: predictions that should be inspected before any measure of them is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, stdtrit

from paraconsist.measures.array_types import Mask
from paraconsist.measures.buckets import as_column, code_columns
from paraconsist.measures.intervals import FEW_UNITS
from paraconsist.measures.results import constant_message

_LEAST_GAIN = 0.10
_LARGEST_P = 0.001
_MOST_LABELS, _MOST_ANSWERS = 1000, 20
_NEARLY_ALL = 0.90
_CLEAR = 0.95


def constant_predictions(predictions: Any) -> str | None:
    """Return a warning if one label is predicted for every row, else None.

    Constant predictions are perfectly consistent for any texts: paraphrastic consistency is 1.

    >>> constant_predictions([1, 1, 1])
    'every prediction is 1: a constant answer has consistency 1 regardless of the text'
    >>> constant_predictions([1, 0, 1]) is None
    True
    """
    column = as_column(predictions, function="constant_predictions", parameter="predictions")
    if len(column) == 1:
        return None
    values = np.asarray(column.values, dtype=object if column.kind == "string" else None)
    return constant_message(values.item(0)) if (values == values[0]).all() else None


def nearly_constant(predictions: Any, references: Any, clusters: Any = None) -> str | None:
    """Return a warning if nearly all predictions are one label and that label's rate explains the accuracy, else None.

    A constant answer is perfectly consistent, and a nearly constant one nearly: where a label makes up a share s of the
    predictions, two that are drawn without regard to any text agree with probability s^2 + (1-s)^2 at least. The alarm
    rings if s is at least .9 (such draws agree at least 82 % of the time) and below 1, which `constant_predictions` is
    for, and if the accuracy does not clearly exceed that of always giving the commonest gold label: the lower 95 %
    bound of the difference, row by row and cluster-robust, is not above 0. A model that has learnt a lopsided task
    predicts one label nearly always too, and is more accurate than that.

    All have shape (n_rows,); rows of one of the `clusters` are not independent, by default all are. None with one gold
    label, since a perfect model is constant there, and with fewer than 10 clusters.

    >>> print(nearly_constant([1] * 96 + [0] * 4, [1] * 58 + [0] * 38 + [1, 1, 0, 0]))
    96 of 100 predictions are 1, and their accuracy (60.0 %) does not clearly exceed that of always giving the \
commonest label (60.0 %): a nearly constant answer is consistent regardless of the text
    """
    columns = code_columns("nearly_constant", {"predictions": predictions, "references": references})
    predicted, gold = columns.codes.values()
    n, n_labels = len(predicted), len(columns.labels)
    counts, of_gold = (np.bincount(codes, minlength=n_labels) for codes in (predicted, gold))
    share, rate = counts.max() / n, of_gold.max() / n
    if not _NEARLY_ALL <= share < 1.0 or rate == 1.0:
        return None
    commonest = int(np.lexsort([counts, of_gold])[-1])  # of equally common ones, what is predicted
    gained = (predicted == gold).astype(np.float64) - (gold == commonest)
    codes = np.arange(n) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(codes, weights=gained - gained.mean())
    if len(sums) < FEW_UNITS:
        return None
    error = math.sqrt(len(sums) / (len(sums) - 1) * float((sums**2).sum())) / n
    if gained.mean() > stdtrit(len(sums) - 1, _CLEAR) * error:
        return None
    return (
        f"{counts.max():,} of {n:,} predictions are {columns.labels[counts.argmax()]!r}, and their accuracy ("
        f"{(predicted == gold).mean():.1%}) does not clearly exceed that of always giving the commonest label "
        f"({rate:.1%}): a nearly constant answer is consistent regardless of the text"
    ).replace("%", " %")


def permuted_labels(predictions: Any, references: Any) -> str | None:
    """Return a warning if some renaming of the predicted labels is clearly more accurate, else None; shapes (n_rows,).

    A model whose label names are in another order than its outputs is the commonest silent fault of evaluations. The
    best renaming is found exactly (a linear assignment on the confusion matrix); a predicted name that is a gold one
    but for case and outer spaces is renamed to that one only. It is *clearly* better if it gains at least 10 points of
    accuracy (a weak model on rows that were chosen to be hard can be a few points below chance, while a model that has
    learnt anything loses more than that to a wrong order), and the exact one-sided sign test on the rows whose
    correctness changes has p < 0.001 after Bonferroni over all L! - 1 renamings of L labels, so that the search itself
    cannot raise the alarm.

    The sign test treats rows as independent, which paraphrases are not; the floor on the gain compensates for it. Rows
    selected because the model gets them wrong raise the alarm too: it calls for an inspection and proves nothing.

    >>> print(permuted_labels([1] * 45 + [0] * 55, [0] * 50 + [1] * 50))
    accuracy is 5.0 %, but 95.0 % if predicted labels are renamed 0 -> 1, 1 -> 0: are the label names in the \
model's order? (rows selected against the model look the same)
    >>> permuted_labels([0, 1] * 20, [0, 1] * 20) is None
    True
    """
    columns = code_columns("permuted_labels", {"predictions": predictions, "references": references})
    names, codes = columns.labels, columns.codes.values()
    occurs = sum(np.bincount(code, minlength=len(names)) for code in codes) > 0
    used, place = np.flatnonzero(occurs), np.cumsum(occurs) - 1
    predicted, gold = (place[code] for code in codes)
    n, n_labels = len(predicted), len(used)
    if not 2 <= n_labels <= _MOST_LABELS:
        return None
    confusion = np.bincount(predicted * n_labels + gold, minlength=n_labels**2).reshape(n_labels, n_labels)
    if int(confusion.max(axis=1).sum() - np.trace(confusion)) < _LEAST_GAIN * n:  # more than any renaming gains
        return None
    from scipy.optimize import linear_sum_assignment  # slow to import, and seldom needed

    merged = _in_gold_case([names[code] for code in used], np.bincount(gold, minlength=n_labels) > 0)
    together = np.zeros_like(confusion)
    np.add.at(together, merged, confusion)
    # the tiny bonus keeps a label's own name wherever renaming gains nothing; the large one, names in another case
    bonus = np.where(np.bincount(merged, minlength=n_labels) > 1, 2.0 * n, 1e-6)
    renamed = linear_sum_assignment(together + np.diag(bonus), maximize=True)[1][merged]
    changed = np.flatnonzero(renamed != np.arange(n_labels))
    gained = int(confusion[changed, renamed[changed]].sum())
    lost = int(confusion[changed, changed].sum())
    if gained - lost < _LEAST_GAIN * n:
        return None
    p = float(bdtr(lost, gained + lost, 0.5))
    if math.log(max(p, 1e-300)) + math.lgamma(n_labels + 1) >= math.log(_LARGEST_P):
        return None
    accuracy = int(np.trace(confusion)) / n
    pairs = [f"{names[used[i]]!r} -> {names[used[renamed[i]]]!r}" for i in changed[:6] if confusion[i].any()]
    more = ", ..." if len(changed) > 6 else ""
    best = accuracy + (gained - lost) / n
    return (
        f"accuracy is {accuracy:.1%}, but {best:.1%} if predicted labels are renamed {', '.join(pairs)}{more}: "
        "are the label names in the model's order? (rows selected against the model look the same)"
    ).replace("%", " %")


def reversed_wordings(predictions: Any, buckets: Any, variants: Any, clusters: Any = None) -> str | None:
    """Return a warning that names the wordings whose answers go against those of the others, else None.

    A wording that asks the opposite ("is it irrelevant?") turns every answer round, and an average over it says nothing
    of the model. Cohen's kappa of a wording with the other answers to each bucket is below -.1 and, by a one-sided
    cluster-robust t test, below 0 with p < .001 after Bonferroni over the wordings. All have shape (n_rows,); buckets
    of one of the `clusters` are not independent, by default all are. None for a wording in fewer than 10 clusters, for
    more than 20 answers, and where half of the wordings are against the other half.

    >>> problems, wordings = [i for i in range(20) for _ in range(4)], [0, 1, 2, 3] * 20
    >>> print(reversed_wordings([(i + (w == 3)) % 2 for i, w in zip(problems, wordings)], problems, wordings))
    wording 3 goes against the others (kappa -1.00 with their answers): does it ask the opposite? Score them without it
    """
    others = {"buckets": buckets, "variants": variants, "clusters": buckets if clusters is None else clusters}
    columns = code_columns("reversed_wordings", {"predictions": predictions}, others)
    (answers,), n_labels = columns.codes.values(), len(columns.labels)
    bucket, variant, cluster = (np.unique(columns.columns[name].values, return_inverse=True) for name in others)
    if n_labels > _MOST_ANSWERS:
        return None
    counts = np.zeros((len(bucket[0]), n_labels))
    np.add.at(counts, (bucket[1], answers), 1.0)
    by_wording = np.split(np.argsort(variant[1], kind="stable"), np.cumsum(np.bincount(variant[1]))[:-1])
    n_against, found = 0, list[tuple[Any, float]]()
    for name, every in zip(variant[0].tolist(), by_wording, strict=True):
        rows = every[counts[bucket[1][every]].sum(axis=1) > 1.0]
        of_cluster = np.unique(cluster[1][rows], return_inverse=True)[1]
        n_clusters = int(of_cluster.max(initial=-1)) + 1
        if n_clusters < FEW_UNITS:
            continue
        shares, own = counts[bucket[1][rows]], np.arange(len(rows))
        shares[own, answers[rows]] -= 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        usual, gives = shares.mean(axis=0), np.bincount(answers[rows], minlength=n_labels) / len(rows)
        chance = float(usual @ gives)
        above = shares[own, answers[rows]] - usual[answers[rows]] - shares @ gives + chance  # by chance 0 in the mean
        mean = float(shares[own, answers[rows]].mean()) - chance
        sums = np.bincount(of_cluster, weights=above - above.mean())
        error = math.sqrt(n_clusters / (n_clusters - 1) * float(sums @ sums)) / len(rows)
        limit = stdtrit(n_clusters - 1, _LARGEST_P / len(variant[0]))
        n_against += mean < -2.0 * error
        if mean < -_LEAST_GAIN * (1.0 - chance) and mean < limit * error:
            found.append((name, mean / (1.0 - chance)))
    if not found or 2 * n_against >= len(variant[0]):
        return None
    names, kappas = ", ".join(str(name) for name, _ in found), ", ".join(f"{kappa:.2f}" for _, kappa in found)
    one = len(found) == 1
    return (
        f"wording{'' if one else 's'} {names} go{'es' if one else ''} against the others (kappa {kappas} with their "
        f"answers): do{'es it' if one else ' they'} ask the opposite? Score them without {'it' if one else 'these'}"
    )


def repeated_runs(answers: Any, buckets: Any, runs: Any, successes: Any = None) -> list[str]:
    """Return a warning for each set of runs that have the same answers to the same ten or more buckets.

    A run that was copied, or served from a cache, is no repeat: it makes every consistency and pass^k too high. Where
    `successes` are given and differ between such runs, the grading changed. All have shape (n_rows,); an answer is all
    that a run wrote, such as its calls with their arguments. None where all rows have one answer.

    >>> tasks, first = [*range(10)] * 2, [f"call({task})" for task in range(10)]
    >>> print(*(note.partition(":")[0] for note in repeated_runs(first * 2, tasks, ["a"] * 10 + ["b"] * 10)))
    runs a, b have the same answers in all of 10 buckets
    """
    values = {"answers": answers, "buckets": buckets, "runs": runs}
    columns = {name: as_column(of, function="repeated_runs", parameter=name).tolist() for name, of in values.items()}
    by_run: dict[Any, dict[Any, list[Any]]] = {}  # run -> bucket -> its rows: with several trials there are several
    for row, (bucket, run) in enumerate(zip(columns["buckets"], columns["runs"], strict=True)):
        by_run.setdefault(run, {}).setdefault(bucket, []).append(row)

    def told(run: Any, bucket: Any, column: Any) -> tuple[Any, ...]:
        return tuple(sorted((column[row] for row in by_run[run][bucket]), key=str))

    alike: dict[frozenset[Any], list[Any]] = {}
    for run, of_run in by_run.items():
        if len(of_run) >= FEW_UNITS and len(set(columns["answers"])) > 1:
            alike.setdefault(frozenset((b, told(run, b, columns["answers"])) for b in of_run), []).append(run)
    verdicts = [None] * len(columns["runs"]) if successes is None else successes
    notes = []
    for same in (same for same in alike.values() if len(same) > 1):
        n = len(by_run[same[0]])
        what = f"runs {', '.join(map(str, same))} have the same answers in all of {n:,} buckets"
        changed = sum(len({told(run, bucket, verdicts) for run in same}) > 1 for bucket in by_run[same[0]])
        graded = f"; of {changed:,} the verdicts differ, so the grading changed" if changed else ""
        notes.append(f"{what}: copies are no repeats, so leave all but one out unless the agent was run anew{graded}")
    return notes


def _in_gold_case(names: list[Any], is_gold: Mask) -> npt.NDArray[np.intp]:
    """Return each label's place, or that of the one gold label that it is but for case and outer spaces."""
    plain = [str(name).strip().casefold() for name in names]
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(is_gold).tolist():
        places.setdefault(plain[place], []).append(place)
    return np.array(
        [
            place if is_gold[place] or len(places.get(text, ())) != 1 else places[text][0]
            for place, text in enumerate(plain)
        ]
    )
