"""BECEL's rho: do superficial cues of the data, or the design of the model, account for an inconsistency?"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from paraconsist.errors import input_error
from paraconsist.measures.array_types import Floats
from paraconsist.measures.buckets import as_floats, check_rows

_FUNCTION = "cue_design_ratio"


@overload
def cue_design_ratio(inconsistency: float, snli_inconsistency: float, best_inconsistency: float) -> float: ...
@overload
def cue_design_ratio(inconsistency: Any, snli_inconsistency: Any, best_inconsistency: Any) -> Any: ...
def cue_design_ratio(inconsistency: Any, snli_inconsistency: Any, best_inconsistency: Any) -> Any:
    r"""Superficial cues against model design (rho).

    The reader learns which changes a model's inconsistency more: training and testing the same model on other
    data (SNLI), or taking the best model for the same data.

    .. math:: \rho = \frac{\tau_T - \tau_{\mathrm{SNLI}}}{\tau_T - \tau_T^*}

    with tau_T the model's inconsistency on task T, tau_SNLI the same model's on SNLI, and tau_T* the lowest on T
    among the single-task models of similar size; all for one type of consistency. Range: all real numbers.
    Neither end is good: 0 means that SNLI changes nothing, 1 that it changes as much as the best model does,
    more than 1 that the data weigh more than the design; below 0 the model is less consistent on SNLI than on T.

    Undefined (nan) at the best, where tau_T = tau_T*, and where an inconsistency is itself undefined. Near the
    best the denominator is small and rho is uninformative.

    Parameters
    ----------
    inconsistency : float or array
        tau_T, all three as shares or all three in per cent.
    snli_inconsistency : float or array
        tau_SNLI.
    best_inconsistency : float or array
        tau_T*; at most tau_T. Arrays follow numpy's rules of broadcasting.

    Returns
    -------
    float, or float array of the common shape

    Raises
    ------
    InputError
        For what is not a number between 0 and 1 (or 100 in per cent), arrays that do not fit together, and a
        best that is above an inconsistency.

    Notes
    -----
    Of the 18 published values 15 follow from the published inconsistencies. The three of BART-large do not: the
    formula gives 2.97, 3.88 and 1.86 where 1.99, 3.09 and 1.31 are printed.

    References
    ----------
    Jang, Kwon, Lukasiewicz (2022), "BECEL: Benchmark for Consistency Evaluation of Language Models", COLING.
    Section 4.3, Tables 2 and 4.

    Examples
    --------
    A model with 50 % on the task and 25 % on SNLI, where the best model has 37.5 % on the task; and two in per cent,
    the second of which is the best:

    >>> cue_design_ratio(0.5, 0.25, 0.375)
    2.0
    >>> cue_design_ratio([30, 20], [10, 15], 20)
    array([ 2., nan])
    """
    inconsistencies = {
        "inconsistency": inconsistency,
        "snli_inconsistency": snli_inconsistency,
        "best_inconsistency": best_inconsistency,
    }
    try:
        tau, snli, best = np.broadcast_arrays(*(_numbers(name, value) for name, value in inconsistencies.items()))
    except ValueError as problem:
        if "broadcast" not in str(problem):
            raise
        shapes = [np.shape(value) for value in inconsistencies.values()]
        must = "have one shape with the other two, or be one number"
        raise input_error(_FUNCTION, "inconsistency", must, got=shapes) from None
    must, remedy = "be at most every inconsistency", "It is the lowest of the models compared, this one included."
    check_rows(_FUNCTION, "best_inconsistency", must, best, best > tau, remedy=remedy)
    design = tau - best
    rho = (tau - snli) / np.where(design == 0, np.nan, design)
    return rho if rho.ndim else float(rho)


def _numbers(name: str, value: Any) -> Floats:
    numbers = as_floats(value, _FUNCTION, name, "be a number or an array of numbers")
    outside = (numbers < 0) | (numbers > 100)
    check_rows(_FUNCTION, name, "lie between 0 and 1 (or 100, in per cent)", numbers, outside)
    return numbers
