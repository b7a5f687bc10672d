"""A sweep's cells put together: means over seeds, tests between configurations, and the trend with size and data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from paraconsist.measures.catalogue import PARAPHRASTIC, scored_measures

#: What is summarised of paraphrases, whose measure has many numbers.
_OF_PARAPHRASES = (
    *("accuracy", "bucket_accuracy", PARAPHRASTIC.headline, PARAPHRASTIC.published, "pvap_unbiased"),
    *("test_accuracy", "corrected_paraphrastic_consistency_unbiased"),
)


class Figure(NamedTuple):
    """A number that is summarised of each set: its measure and key, its column, and whether it is tested."""

    measure: str
    key: str
    symbol: str
    is_tested: bool = True


def figures() -> list[Figure]:
    """Return what is summarised: several numbers of paraphrases, and the headline of every other measure."""
    symbols = {"bucket_accuracy": "bucket A", **{q.key: q.symbol for q in PARAPHRASTIC.quantities}}
    of_paraphrases = [Figure(PARAPHRASTIC.name, k, symbols[k], k.endswith("unbiased")) for k in _OF_PARAPHRASES]
    others = [spec for spec in scored_measures().values() if spec.name != PARAPHRASTIC.name]
    return of_paraphrases + [Figure(spec.name, spec.headline, spec.symbol) for spec in others]


def configuration_name(cell: Mapping[str, Any]) -> str:
    """What cells that differ in their seed only have in common, for people."""
    varied = ", ".join(f"{k} {v}" for k, v in cell["varied"].items())
    model = str(cell["model"]).rstrip("/").rpartition("/")[2]
    return f"{model}{', ' + varied if varied else ''}, {100 * cell['share']:g} %"


def summarise(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put cells together.

    ``summary``: for each set and configuration, ``n_seeds``, ``n_rows`` (mean), ``n_parameters`` and for each figure
    ``mean`` and ``sd`` (n - 1; nan for one seed). ``tests``: for each set and tested figure every pair of
    configurations of one model with other data, or other models with the same data: ``difference``, ``p_value``
    (Welch's t over seeds) and ``corrected_p_value`` (Holm, over a set's pairs of the figure). ``trends``: Kendall's
    tau-b of the figure with the number of training rows and with the number of parameters, over all cells.
    """
    summary, tests, trends = [], [], []
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(configuration_name(cell), []).append(cell)
    for name in dict.fromkeys(name for cell in cells for name in cell["sets"]):
        summary += [_summary(name, configuration, members) for configuration, members in groups.items()]
        for measure, key, label, is_tested in figures():
            values = {c: _values(name, measure, key, members) for c, members in groups.items()}
            if not is_tested or not any(values.values()):
                continue
            tests += _tests(name, label, values, groups)
            for axis in ("n_rows", "n_parameters"):
                points = [(cell[axis], v) for cell in cells for v in _values(name, measure, key, [cell])]
                trends.append({"set": name, "figure": label, "axis": axis, **trend(points)})
    return {"summary": summary, "tests": tests, "trends": trends}


def _values(name: str, measure: str, key: str, cells: Sequence[Mapping[str, Any]]) -> list[float]:
    values = (cell["sets"].get(name, {}).get(measure, {}).get(key) for cell in cells)
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _summary(name: str, configuration: str, members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = {}
    for measure, key, label, _ in figures():
        values = _values(name, measure, key, members)
        if values:
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
            known[label] = {"mean": float(np.mean(values)), "sd": sd, "n": len(values)}
    return {
        "set": name,
        "configuration": configuration,
        "model": members[0]["model"],
        "share": members[0]["share"],
        "varied": members[0]["varied"],
        "n_seeds": len(members),
        "n_rows": float(np.mean([cell["n_rows"] for cell in members])),
        "n_parameters": members[0]["n_parameters"],
        "figures": known,
    }


def _tests(
    name: str, label: str, values: Mapping[str, Sequence[float]], groups: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    from paraconsist.measures.pareto import corrected_p_values

    out: list[dict[str, Any]] = []
    for one, two in combinations(values, 2):
        first, second = groups[one][0], groups[two][0]
        same_model = first["model"] == second["model"] and first["varied"] == second["varied"]
        if same_model == (first["share"] == second["share"]):
            continue  # both differ: nothing could be told from it
        difference, p = difference_over_seeds(values[one], values[two])
        about = {"set": name, "figure": label, "configuration1": one, "configuration2": two}
        counts = {"n1": len(values[one]), "n2": len(values[two])}
        out.append({**about, "difference": difference, "p_value": p, **counts, "corrected_p_value": float("nan")})
    known = [entry for entry in out if math.isfinite(entry["p_value"])]
    if known:
        corrected = corrected_p_values([entry["p_value"] for entry in known], "holm")
        for entry, p in zip(known, corrected, strict=True):
            entry["corrected_p_value"] = p
    return out


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the difference of two means over seeds, and Welch's p, two-sided.

    p is nan with fewer than two seeds on a side; where neither side varies it is 1 for equal means and nan else.
    """
    if not len(first) or not len(second):
        return float("nan"), float("nan")
    difference = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2:
        return difference, float("nan")
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return difference, 1.0 if difference == 0 else float("nan")
    from scipy.stats import ttest_ind

    return difference, float(ttest_ind(first, second, equal_var=False).pvalue)


def trend(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return Kendall's tau-b of y with x, its two-sided p, and the number of points; nan where x or y is constant."""
    if len({x for x, _ in points}) < 2 or len({y for _, y in points}) < 2:
        return {"kendall": float("nan"), "p_value": float("nan"), "n": len(points)}
    from scipy.stats import kendalltau

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tau = kendalltau(*zip(*points, strict=True))
    return {"kendall": float(tau.statistic), "p_value": float(tau.pvalue), "n": len(points)}
