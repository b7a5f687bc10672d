"""Exact arbitrage: the gain that a bettor with a log score can guarantee against incoherent probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.measures._validation import Integers
from paraconsist.measures.relations import LEAST_RESIDUAL, Relation, frequentist, worlds
from paraconsist.measures.resampling import Floats

LEAST_PROBABILITY = 0.001
"""Probabilities of 0 and 1 become this and 1 less this: no log score is finite at them."""

_GAP = 1e-12  # between the value and what the bet guarantees
_MOST_STEPS = 100
_SHRINK, _LEAST_BARRIER, _STAY = 0.1, 1e-15, 0.99  # of the barrier in a step, and how far to the boundary one may go
_MOST_WORLDS = 64  # that are taken at once; of more, those that some bet is worst in
_ROWS_AT_ONCE = 4_096  # bounds memory


@dataclass(frozen=True)
class Arbitrage:
    """The arbitrage of n tuples of m statements.

    Attributes
    ----------
    gain : ndarray, shape (n,)
        In nats, at least 0; 0 for coherent probabilities. Down is good.
    bets : ndarray, shape (n, m) or (n, m, n_labels)
        The probabilities that win it: in every world the log score of these is higher than that of the tuple's own by
        `guaranteed` at least, over the statements that are asked there.
    guaranteed : ndarray, shape (n,)
        At most 1e-12 below `gain`, which is the proof of both; above it only where a residual under 1e-5 makes that 0.
    """

    gain: Floats
    bets: Floats
    guaranteed: Floats


def arbitrage(relation: Relation, probabilities: Floats) -> Arbitrage:
    r"""Return how much a bettor can win against probabilities whatever happens.

    .. math:: \max_q \min_w \sum_{i\,\text{asked in}\,w} \log\frac{q_i(w)}{p_i(w)}
              = \min_\pi \sum_i \pi(C_i)\, KL\bigl(\pi(\cdot \mid C_i)\,\|\,p_i\bigr)

    with w the worlds of the relation, :math:`\pi` distributions on them, :math:`C_i` what statement i is asked under,
    and :math:`q_i(w)`, :math:`p_i(w)` the probability of what happens in w. Solved for all tuples together by a
    primal-dual interior point method; the bet is :math:`q_i = \pi(\cdot \mid C_i)`.

    Parameters
    ----------
    relation : Relation
        One of `paraconsist.measures.relations.RELATIONS`, or of a table of one's own (`read_relations`).
    probabilities : ndarray, shape (n, n_statements) or (n, n_statements, n_labels)
        Of the statements being true, in the order of the relation's roles, or of each label.

    References
    ----------
    Paleka et al. (2025), "Consistency Checks for Language Model Forecasters", ICLR. Their values are those at which an
    optimiser stopped, so too low for seven of the ten relations.

    Examples
    --------
    .6 for a statement and .6 for its negation: betting .5 on both wins log(.5 / .4) - log(.6 / .5) in either world.

    >>> from paraconsist.measures.relations import RELATIONS
    >>> best = arbitrage(RELATIONS["Neg"], np.array([[0.6, 0.6]]))
    >>> best.gain.round(6).tolist(), best.bets.round(6).tolist()
    ([0.040822], [[0.5, 0.5]])
    """
    n = len(probabilities)
    is_binary = probabilities.ndim == 2
    labels = np.stack([1.0 - probabilities, probabilities], axis=2) if is_binary else probabilities
    n_labels = labels.shape[2]
    zero = labels == 0.0
    p = np.where(zero, LEAST_PROBABILITY, labels * (1.0 - LEAST_PROBABILITY * zero.sum(axis=2, keepdims=True)))
    outcomes = worlds(relation, n_labels=n_labels)
    size = _ROWS_AT_ONCE if len(outcomes) <= _MOST_WORLDS else 4
    parts = [_solve(outcomes, np.log(p[at : at + size])) for at in range(0, n, size)]
    gain, guaranteed, bets = (np.concatenate(part) for part in zip(*parts, strict=True))
    residual = frequentist(relation, probabilities) if is_binary else None
    nothing = guaranteed <= _GAP
    if residual is not None:
        nothing |= residual[1] < LEAST_RESIDUAL
    return Arbitrage(np.where(nothing, 0.0, gain), bets[..., 1] if is_binary else bets, guaranteed)


def _solve(outcomes: Integers, log_p: Floats) -> tuple[Floats, Floats, Floats]:
    """Return gain, what the bets guarantee, and bets of tuples with these log probabilities, (n, m, n_labels).

    Of very many worlds only those are taken that the bets of some tuple are worst in.
    """
    n, m, n_labels = log_p.shape
    role, label = np.divmod(np.arange(m * n_labels), n_labels)
    happens = (outcomes[:, role] == label).T
    reachable = happens.any(axis=1)
    happens, role, log_p = happens[reachable].astype(np.float64), role[reachable], log_p.reshape(n, -1)[:, reachable]
    is_asked = (outcomes[:, role] >= 0).T.astype(np.float64)
    chosen = np.arange(happens.shape[1]) if len(outcomes) <= _MOST_WORLDS else np.unique(happens.argmax(axis=1))
    while True:
        gain, log_q = _interior_point(happens[:, chosen], is_asked[:, chosen], role[:, np.newaxis] == role, log_p)
        gains = (log_q - log_p) @ happens
        guaranteed, worst = gains.min(axis=1), gains.argmin(axis=1)
        missing = np.setdiff1d(worst[gain - guaranteed > _GAP], chosen)
        if not len(missing):
            break
        chosen = np.union1d(chosen, missing)
    bets = np.zeros((n, m * n_labels))
    bets[:, reachable] = np.exp(log_q)
    return gain, guaranteed, bets.reshape(n, m, n_labels)


def _interior_point(happens: Floats, is_asked: Floats, same_role: Any, log_p: Floats) -> tuple[Floats, Floats]:
    """Return the gain of n tuples and the log probabilities of the bets that win it.

    A cell is an outcome of a statement; `happens` and `is_asked`, shape (n_cells, n_worlds), say where it happens and
    where its statement is asked. The derivative of the divergence by the weight of a world is the gain of the bet
    there, so that the largest and the least gain bound the value: that is the gap. All tuples take their steps
    together, and leave when their gap is closed.
    """
    n, n_worlds = len(log_p), happens.shape[1]
    weight, slack = np.full((n, n_worlds), 1.0 / n_worlds), np.ones((n, n_worlds))
    gain, bets, open_ = np.empty(n), np.empty_like(log_p), np.arange(n)
    diagonal = np.arange(n_worlds)
    for step in range(_MOST_STEPS):
        cells = weight @ happens.T
        log_q = np.log(cells) - np.log(cells @ same_role)
        gains = (log_q - log_p) @ happens
        value = ((log_q - log_p) * cells).sum(axis=1)
        done = (value - gains.min(axis=1) <= _GAP) | (step == _MOST_STEPS - 1)
        if done.any():
            gain[open_[done]], bets[open_[done]] = value[done], log_q[done]
            state = (open_, weight, slack, log_p, cells, log_q, gains)
            open_, weight, slack, log_p, cells, log_q, gains = (part[~done] for part in state)
            if not len(open_):
                break
        barrier = np.maximum(_SHRINK * (weight * slack).mean(axis=1, keepdims=True), _LEAST_BARRIER)
        # the second derivative, and ones, which change nothing where weights sum to 1 and make it regular
        root = (happens - is_asked * np.exp(log_q)[:, :, np.newaxis]) / np.sqrt(cells)[:, :, np.newaxis]
        hessian = root.transpose(0, 2, 1) @ root + 1.0
        hessian[:, diagonal, diagonal] += slack / weight
        sides = np.stack([np.ones_like(weight), barrier / weight - gains], axis=2)
        along, towards = np.moveaxis(np.linalg.solve(hessian, sides), 2, 0)
        level = (1.0 - weight.sum(axis=1) - towards.sum(axis=1)) / along.sum(axis=1)
        move = level[:, np.newaxis] * along + towards
        change = (barrier - slack * move) / weight - slack
        weight = weight + _length(weight, move) * move
        slack = slack + _length(slack, change) * change
        weight /= weight.sum(axis=1, keepdims=True)
    return gain, bets


def _length(values: Floats, move: Floats) -> Floats:
    """Return how far along a move values may go and stay above 0, shape (n, 1)."""
    steepest = np.max(-move / values, axis=1, keepdims=True)
    length: Floats = np.minimum(1.0, _STAY / np.maximum(steepest, _STAY))
    return length
