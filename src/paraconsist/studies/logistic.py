"""Many logistic regressions on subsets of the same rows, fitted together.

The fits differ only in which rows they see, so one matrix product serves all of them: each step of a preconditioned
conjugate-gradient method costs two products of the whole matrix with a block of vectors. The objective is that of
scikit-learn's `LogisticRegression`, and is convex: the two agree as far as their tolerances go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_LINE_STEPS = 4


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
    """Fit one binary classifier for each column of `chosen`.

    Each minimises ``|w|^2 / 2 + C sum log(1 + exp(-y (x w + b)))`` over its rows; b is not penalised.

    Parameters
    ----------
    features : array, shape (n, d)
    labels : array of 0 and 1, shape (n,)
    chosen : bool array, shape (n, k)
        The rows that each of the k classifiers sees.
    inverse_penalty : float
        C.
    tolerance : float
        Of the largest slope, per row that a classifier sees.
    max_steps : int
    start : array, shape (d + 1, k) or (d + 1, 1), optional
        Where to begin.

    Returns
    -------
    weights : array, shape (d + 1, k)
        The last row is b: ``features @ weights[:-1] + weights[-1] > 0`` predicts 1.
    converged : bool
        Whether every classifier reached the tolerance.
    """
    rows = np.hstack([np.asarray(features, dtype=np.float64), np.ones((len(features), 1))])
    target = np.where(np.asarray(labels) > 0, 1.0, 0.0)[:, None]
    mask = chosen.astype(np.float64)
    seen = mask.sum(axis=0)
    penalty = np.full((rows.shape[1], 1), 1.0 / inverse_penalty)
    penalty[-1] = 0.0
    weights = np.zeros((rows.shape[1], mask.shape[1]))
    if start is not None:
        weights += start
    scores = rows @ weights
    solve = _preconditioner(rows, scores, mask, seen, penalty)
    direction: Matrix | None = None
    last: Matrix | None = None
    slope: Matrix | None = None
    for _ in range(max_steps):
        residual = mask * (_sigmoid(scores) - target)
        slope_before = slope
        slope = rows.T @ residual + penalty * weights
        running = np.abs(slope).max(axis=0) > tolerance * seen
        if not running.any():
            return weights, True
        better = solve(slope)
        if direction is None or slope_before is None or last is None:
            direction = -better
        else:
            gained = np.einsum("ij,ij->j", slope, better - last)
            before = np.einsum("ij,ij->j", slope_before, last)
            turn = np.maximum(gained / np.maximum(before, 1e-300), 0.0)  # Polak-Ribiere, begun anew where negative
            direction = turn * direction - better
            uphill = np.einsum("ij,ij->j", slope, direction) >= 0
            direction[:, uphill] = -better[:, uphill]
        last = better
        direction = direction * running
        along = rows @ direction
        step = _line_search(scores, along, target, mask, weights, direction, penalty, running)
        weights = weights + step * direction
        scores += step * along
    return weights, False


def _preconditioner(rows: Matrix, scores: Matrix, mask: Matrix, seen: Matrix, penalty: Matrix) -> Any:
    """Return what solves with the curvature that all rows have on the average, scaled to what a classifier sees."""
    from scipy.linalg import cho_factor, cho_solve

    share = _sigmoid(scores.mean(axis=1, keepdims=True))
    curvature = np.maximum(share * (1 - share), 0.02)
    hessian = (rows * curvature).T @ rows * (float(seen.mean()) / len(rows))
    hessian[np.diag_indices_from(hessian)] += penalty[:, 0] + 1e-9 * np.trace(hessian) / len(hessian)
    factor = cho_factor(hessian, lower=True, check_finite=False)
    return lambda slope: cho_solve(factor, slope, check_finite=False)


def _line_search(
    scores: Matrix,
    along: Matrix,
    target: Matrix,
    mask: Matrix,
    weights: Matrix,
    direction: Matrix,
    penalty: Matrix,
    running: NDArray[np.bool_],
) -> Matrix:
    """Newton's steps to the least of each convex line, kept where they do not lead uphill."""
    first = np.einsum("ij,ij->j", weights * penalty, direction)
    second = np.einsum("ij,ij->j", direction * penalty, direction)
    masked = mask * along
    step = np.zeros(scores.shape[1])
    low, high = np.zeros_like(step), np.full_like(step, np.inf)
    for _ in range(_LINE_STEPS):
        share = _sigmoid(scores + step * along)
        slope = np.einsum("ij,ij->j", masked, share - target) + first + step * second
        bend = np.einsum("ij,ij->j", masked * along, share * (1 - share)) + second
        low, high = np.where(slope <= 0, step, low), np.where(slope > 0, step, high)
        wanted = step - slope / np.maximum(bend, 1e-300)
        inside = (wanted > low) & (wanted < high)
        halfway = np.where(np.isfinite(high), (low + high) / 2, 2 * low + 1)
        step = np.where(inside, wanted, halfway)
    return np.where(running, np.where(step > 0, step, low), 0.0)


def _sigmoid(values: Matrix) -> Matrix:
    from scipy.special import expit

    shares: Matrix = expit(values)
    return shares
