"""AFLite: which rows can linear classifiers over embeddings predict that have not seen them or their context?

Many logistic regressions are fitted together. They differ only in which rows they see, so one matrix product serves all
of them: each step of SciPy's L-BFGS over the sum of their objectives costs two products of the whole matrix with a
block of vectors. The objective is that of scikit-learn's `LogisticRegression`, and is convex: the two agree as far as
their tolerances go, and scikit-learn, one fit after the other, takes 6 times as long (`benchmarks/aflite_speed.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from paraconsist.errors import extras, input_error
from paraconsist.studies import StudyRecord
from paraconsist.studies.options import PRESETS, AfliteOptions

Matrix = NDArray[np.float64]

_FUNCTION = "select"


@dataclass(frozen=True)
class Iteration(StudyRecord):
    """One iteration of the filter."""

    n_rows: int  # that took part
    accuracy: float  # held out, mean over classifiers
    majority: float  # share of the commonest label
    n_removed: int


@dataclass(frozen=True)
class AfliteResult:
    """The result of filtering; arrays have shape (n,)."""

    #: Mean over the iterations that a row took part in of the share of classifiers that predicted it right without
    #: having seen it, in [0, 1]; nan where it was never held out.
    score: Matrix
    easy: NDArray[np.bool_]  # whether `score` reaches the threshold
    removed_in: NDArray[np.int64]  # the iteration, from 0, that removed the row; -1 where it stayed
    curve: list[Iteration]

    @property
    def easy_share(self) -> float:
        """Share of the rows that are easy, in [0, 1]."""
        return float(self.easy.mean())


def aflite(
    embeddings: NDArray[Any],
    labels: NDArray[Any],
    *,
    groups: NDArray[Any] | None = None,
    options: AfliteOptions = PRESETS["s24"],
    say: Callable[[str], None] = lambda line: None,
) -> AfliteResult:
    """Filter adversarially (Le Bras et al. 2020), as Srikanth et al. 2024 do.

    In each iteration `n_classifiers` logistic regressions are trained on random parts of the remaining rows and predict
    the others. Of the rows that a share of at least `threshold` predicts right, the best `cutoff` are removed. The
    filter ends when fewer are removed, or at most `train_size` rows remain. Two labels are fitted together; for more,
    scikit-learn fits one classifier after the other.

    `embeddings`, shape (n, d), are from an encoder that was not trained on these rows, whose `labels` are int, shape
    (n,); a classifier never predicts a row of one of the `groups` (such as a context; shape (n,)) that it was trained
    on. `say` takes a line for each iteration.

    Le Bras et al. 2020, Adversarial filters of dataset biases; Srikanth et al. 2024, section 4.1 (whose text has the
    last inequality reversed; the code and the data are as here).
    """
    rows, numbers, codes = _checked(embeddings, labels, groups, options)
    n = len(rows)
    rng = np.random.default_rng(options.seed)
    left = np.arange(n)
    total, times = np.zeros(n), np.zeros(n)
    removed_in = np.full(n, -1, dtype=np.int64)
    curve: list[Iteration] = []
    start: Matrix | None = None
    while len(left) > options.train_size:
        chosen = _partitions(codes[left], options, rng)
        right, start = _right(rows[left], numbers[left], chosen, options, start)
        held_out = ~chosen
        counts = held_out.sum(axis=1)
        share = np.divide((right & held_out).sum(axis=1), counts, out=np.zeros(len(left)), where=counts > 0)
        total[left] += share
        times[left] += counts > 0
        candidates = np.flatnonzero((share >= options.threshold) & (counts > 0))
        going = candidates[np.argsort(-share[candidates], kind="stable")][: options.cutoff]
        iteration = Iteration(
            n_rows=len(left),
            accuracy=float((right & held_out).sum() / held_out.sum()),
            majority=float(np.bincount(numbers[left]).max() / len(left)),
            n_removed=len(going),
        )
        curve.append(iteration)
        say(
            f"{len(left):,} rows: held-out accuracy {100 * iteration.accuracy:.1f} "
            f"(majority {100 * iteration.majority:.1f}), {len(going):,} removed"
        )
        removed_in[left[going]] = len(curve) - 1
        left = np.delete(left, going)
        if len(going) < options.cutoff or len(np.unique(numbers[left])) < 2:
            break
    score = np.divide(total, times, out=np.full(n, np.nan), where=times > 0)
    if (times == 0).any():
        warnings.warn(
            f"{int((times == 0).sum()):,} of {n:,} rows were never held out and have no score: use more classifiers.",
            UserWarning,
            stacklevel=2,
        )
    return AfliteResult(score, np.nan_to_num(score, nan=-1.0) >= options.threshold, removed_in, curve)


def _checked(
    embeddings: NDArray[Any], labels: NDArray[Any], groups: NDArray[Any] | None, options: AfliteOptions
) -> tuple[Matrix, NDArray[np.int64], NDArray[np.int64]]:
    rows = np.asarray(embeddings, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(labels) or (groups is not None and len(groups) != len(rows)):
        must = f"have one row for each of the {len(labels)} labels and groups"
        raise input_error(_FUNCTION, "embeddings", must, got=f"shape {rows.shape}")
    if not np.isfinite(rows).all():
        bad = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise input_error(_FUNCTION, "embeddings", "be finite numbers", got=rows[bad][:4].tolist(), row=bad)
    numbers = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)
    if numbers.max(initial=0) < 1:
        raise input_error(_FUNCTION, "labels", "take at least two values", got=np.unique(labels).tolist())
    codes = np.arange(len(rows)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    sizes = np.bincount(codes)
    if options.train_size >= len(rows):
        must = f"be smaller than the number of rows ({len(rows):,}): classifiers predict the other rows"
        raise input_error(_FUNCTION, "train_size", must, got=options.train_size)
    if len(rows) - options.train_size < sizes.max():
        must = f"leave at least one whole group for prediction after {options.train_size:,} training rows"
        remedy = (
            "A partition through a group would leak what the group has in common. Name other columns, or a smaller "
            "`train_size`."
        )
        got = f"a group of {int(sizes.max()):,} of {len(rows):,} rows"
        raise input_error(_FUNCTION, "group_columns", must, got=got, remedy=remedy)
    return rows, numbers, codes.astype(np.int64)


def _partitions(codes: NDArray[np.int64], options: AfliteOptions, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw whole groups for each classifier until it has its rows: bool, shape (n, n_classifiers)."""
    _, codes = np.unique(codes, return_inverse=True)
    sizes = np.bincount(codes)
    chosen = np.empty((len(codes), options.n_classifiers), dtype=np.bool_)
    for k in range(options.n_classifiers):
        order = rng.permutation(len(sizes))
        n_groups = int(np.searchsorted(np.cumsum(sizes[order]), options.train_size)) + 1
        chosen[:, k] = np.isin(codes, order[:n_groups])
    return chosen


def _right(
    rows: Matrix, labels: NDArray[np.int64], chosen: NDArray[np.bool_], options: AfliteOptions, start: Matrix | None
) -> tuple[NDArray[np.bool_], Matrix | None]:
    """Return whether each classifier is right about each row, shape (n, n_classifiers), and the next start weights."""
    _, labels = np.unique(labels, return_inverse=True)
    if labels.max() > 1:
        with extras(_FUNCTION):  # two labels need no package
            from sklearn.linear_model import LogisticRegression
        model = LogisticRegression(C=options.inverse_penalty, max_iter=5000)
        fitted = (model.fit(rows[seen], labels[seen]) for seen in chosen.T)
        return np.stack([each.predict(rows) == labels for each in fitted], axis=1), None
    weights, converged = fit_logistic(rows, labels, chosen, inverse_penalty=options.inverse_penalty, start=start)
    if not converged:
        warnings.warn("some classifiers did not converge: scale the embeddings", UserWarning, stacklevel=3)
    predicts_one = rows @ weights[:-1] + weights[-1] > 0
    return predicts_one == (labels == 1)[:, None], weights.mean(axis=1, keepdims=True)


def fit_logistic(
    features: NDArray[Any],
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    *,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-6,
    max_steps: int = 300,
    start: Matrix | None = None,
) -> tuple[Matrix, bool]:
    """Fit one binary classifier for each column of `chosen`; return their weights, and whether all reached `tolerance`.

    Each minimises ``|w|^2 / 2 + C sum log(1 + exp(-y (x w + b)))`` over its rows, with C the `inverse_penalty`; b is
    not penalised. `features` have shape (n, d), `labels` of 0 and 1 (n,), `chosen` is bool, shape (n, k): the rows that
    each sees. The tolerance is that of the largest slope, per row that a classifier sees. The weights, and `start`
    where to begin, have shape (d + 1, k), the last row being b: ``features @ weights[:-1] + weights[-1] > 0`` predicts
    1.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    rows = np.hstack([np.asarray(features, dtype=np.float64), np.ones((len(features), 1))])
    target = np.where(np.asarray(labels) > 0, 1.0, 0.0)[:, None]
    mask = chosen.astype(np.float64)
    seen = mask.sum(axis=0)
    penalty = np.full((rows.shape[1], 1), 1.0 / inverse_penalty)
    penalty[-1] = 0.0
    weights = np.zeros((rows.shape[1], mask.shape[1])) + (0.0 if start is None else start)
    share = expit((rows @ weights).mean(axis=1, keepdims=True))
    # The average curvature of all rows, scaled to the rows of a classifier; in units of its root all are alike.
    curvature = (rows * np.maximum(share * (1 - share), 0.02)).T @ rows * (float(seen.mean()) / len(rows))
    curvature[np.diag_indices_from(curvature)] += penalty[:, 0] + 1e-9 * np.trace(curvature) / len(curvature)
    root, slope = np.linalg.cholesky(curvature), np.full_like(weights, np.inf)

    def loss(scaled: Matrix) -> tuple[float, Matrix]:
        nonlocal weights, slope
        weights = solve_triangular(root, scaled.reshape(weights.shape), trans="T", lower=True, check_finite=False)
        scores = rows @ weights
        value = np.sum(mask * (np.logaddexp(0.0, scores) - target * scores)) + np.sum(penalty * weights**2) / 2
        slope = rows.T @ (mask * (expit(scores) - target)) + penalty * weights
        return float(value), solve_triangular(root, slope, lower=True, check_finite=False).ravel()

    def has_converged() -> bool:
        return bool((np.abs(slope).max(axis=0) <= tolerance * seen).all())

    def stop(xk: Matrix) -> None:
        if has_converged():
            raise StopIteration

    options: Any = {"maxiter": max_steps, "maxfun": 10 * max_steps, "gtol": 0.0, "ftol": 0.0}
    minimize(loss, (root.T @ weights).ravel(), jac=True, method="L-BFGS-B", callback=stop, options=options)
    return weights, has_converged()
