"""Coherence: whether a model's probabilities of statements that are logically related could all be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paraconsist.errors import input_error
from paraconsist.measures._estimates import Estimates, effect_of, interval_options
from paraconsist.measures._validation import (
    Column,
    Integers,
    as_column,
    as_probabilities,
    check_length,
    code_jointly,
    rectangular,
)
from paraconsist.measures.arbitrage import LEAST_PROBABILITY, arbitrage
from paraconsist.measures.buckets import Partition, partition, partition_integers
from paraconsist.measures.distribution_shift import as_probability_rows
from paraconsist.measures.dyads import Dyads
from paraconsist.measures.intervals import FEW_UNITS
from paraconsist.measures.relations import RELATIONS, Relation, frequentist, read_relations
from paraconsist.measures.resampling import NO_SPREAD, Floats, Units, design_effects, mean_of_sums
from paraconsist.measures.results import Result
from paraconsist.measures.rules import Answers

LEAST = {"frequentist": 0.129, "arbitrage": 0.01}
"""From where on Paleka et al. call a tuple violated, by the kind of violation."""

_MOST = {"frequentist": 64.0, "arbitrage": -16.0 * np.log(LEAST_PROBABILITY)}  # the ends of the intervals' scales


@dataclass(frozen=True, repr=False)
class ProbabilityCoherenceResult(Result):
    """How incoherent probabilities are, at least 0, down is good; see `probability_coherence`.

    Attributes
    ----------
    arbitrage_violation, arbitrage_rate : float
        Mean gain in nats that a bettor can guarantee in a bucket; the share of buckets where it is .01 or more.
    frequentist_violation, frequentist_rate : float or None
        Mean residual in units of its standard deviation, and the share of buckets where it is .129 or more, over the
        buckets whose relation has one; None where none has.
    n_buckets, n_examples : int
        Tuples, and probabilities.
    by_relation : dict of str to dict, or None
        The same of each relation, where there are several.
    """

    arbitrage_violation: float
    arbitrage_rate: float
    n_buckets: int
    n_examples: int
    frequentist_violation: float | None = None
    frequentist_rate: float | None = None
    by_relation: dict[str, dict[str, Any]] | None = None


def probability_coherence(
    probabilities: Any,
    roles: Any,
    buckets: Any,
    *,
    relations: Any = None,
    groups: Any = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> ProbabilityCoherenceResult:
    r"""How far the probabilities of logically related statements are from any that could all be right.

    The reader learns whether a model that says 60 % for a statement also says 40 % for its negation, and so for every
    relation between statements: in degrees, and without knowing what is true. Each bucket is a tuple of statements.

    The *arbitrage violation* is the largest gain :math:`\max_q \min_w \sum_i \log(q_i(w)/p_i(w))` that a bettor with a
    log score can guarantee in every possible world w, where conditional statements count in the worlds they are asked
    in: exact to 1e-12 (`paraconsist.measures.arbitrage`). The *frequentist violation* is :math:`|r|/\sqrt{s^2 + .001}`
    with r how far off the relation's equation is, and :math:`s^2` the variance of r if each p were the mean of one
    draw. As published, both are 0 where r is under 1e-5, and arbitrage takes 0 and 1 for .001 and .999.

    Parameters
    ----------
    probabilities : sequence of float, shape (n,), or of lists of float, shape (n, n_labels)
        That the statement is true; or of each label of the roles of bucket sets.
    roles : sequence of str, shape (n,)
        The statement's place in its bucket, such as ``P`` and ``not_P``, each once in a bucket. A bucket's relation is
        the one that has just its roles: see `paraconsist.measures.relations.RELATIONS`. ``original`` with
        ``paraphrase`` or ``swap`` must have the same label, with ``negation`` another one.
    buckets : sequence of int or str, shape (n,)
    relations : str or dict, optional
        The name of every bucket's relation, or bucket -> name; or relations of one's own, name -> role -> formula, with
        what holds in every world under ``"where"``: ``{"Rain": {"rain": "R", "wet": "W", "where": "not R or W"}}``. A
        formula is made of at most twelve names, ``and``, ``or``, ``not``, brackets, and one ``given``.
    groups : sequence of int or str, shape (n,), optional
        What each row shares with others, such as the question that it asks: buckets that have one in common are not
        independent. Where a bucket has two of them its members are crossed (`paraconsist.measures.dyads`), where more,
        buckets that are joined by any chain of them are one unit.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

    Returns
    -------
    ProbabilityCoherenceResult

    Raises
    ------
    InputError
        For empty, missing or unequally long input, what is no probability, a role that is missing or twice in its
        bucket, no relation, relations without a possible world, and options outside their range.

    References
    ----------
    Paleka et al. (2025), "Consistency Checks for Language Model Forecasters", ICLR.

    Examples
    --------
    >>> result = probability_coherence([0.6, 0.6, 0.7, 0.3], ["P", "not_P", "P", "not_P"], [1, 1, 2, 2])
    >>> round(result.arbitrage_violation, 6), result.arbitrage_rate
    (0.020411, 0.5)
    >>> round(result.frequentist_violation, 6)
    0.144187
    """
    function = "probability_coherence"
    options = interval_options(function, interval_method, confidence_level, n_resamples, seed)
    if rectangular(probabilities).ndim == 2:
        p = as_probability_rows(probabilities, function=function, parameter="probabilities")
        p = p[:, 1] if p.shape[1] == 2 else p
    else:
        p = as_probabilities(probabilities, function=function, parameter="probabilities")
    names = as_column(roles, function=function, parameter="roles", what="names")
    divided = partition(buckets, function=function, parameter="buckets")
    for parameter, column in (("roles", names), ("buckets", divided.codes)):
        check_length(function, parameter, column, len(p), "probabilities")
    values, members = _violations(function, p, names, divided, relations)
    grouped = None
    if groups is not None:
        shared = partition(groups, function=function, parameter="groups")
        check_length(function, "groups", shared.codes, len(p), "probabilities")
        grouped = _joined(divided, shared)
    estimates = Estimates(options, "bucket", grouped)
    if grouped is None and len(divided) < FEW_UNITS:
        estimates.warn_of_few(len(divided))
    means = _means(estimates, values, np.arange(len(divided)), grouped)
    if (n_other := int(np.isnan(values["frequentist"]).sum())) and "frequentist_rate" in means:
        estimates.warnings.append(f"{n_other} buckets have a relation without a frequentist violation")
    if len(p) > 1 and (p == p[0]).all():
        estimates.warnings.append(f"every probability is {p[0].tolist()}: what does not change says nothing")
    parts = {}
    for name, several in members.items() if len(members) > 1 else ():
        part, at = Estimates(options, "bucket"), np.concatenate(several)
        parts[name] = _means(part, values, at, grouped) | {"n_buckets": len(at)}
        parts[name]["confidence_interval"] = part.confidence_interval
    return ProbabilityCoherenceResult(
        **means,
        n_buckets=len(divided),
        n_examples=len(p),
        by_relation=parts or None,
        **estimates.fields(avg="bucket", unparsed="refused"),
    )


def incoherent(answers: Answers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """A bettor with a log score is sure to gain .01 nats or more from the tuple that the row stands for."""
    assert answers.statements is not None
    p, roles, buckets, _, relations = answers.statements
    function = probability_coherence.__name__
    names = as_column(roles, function=function, parameter="roles", what="names")
    values, _ = _violations(function, p, names, partition(buckets), relations)
    gains = values["arbitrage"] >= LEAST["arbitrage"]
    return gains.astype(np.float64), np.ones(len(gains), dtype=np.bool_)


def _violations(
    function: str, p: Floats, roles: Column, divided: Partition, relations: Any
) -> tuple[dict[str, Floats], dict[str, list[Integers]]]:
    """Return each bucket's violation of each kind, nan where there is none, and the buckets of each relation."""
    values = {kind: np.full(len(divided), np.nan) for kind in LEAST}
    members: dict[str, list[Integers]] = {}
    for name, relation, chosen, rows in _tuples(function, relations, divided, roles):
        if p.ndim == 2 and tuple(relation.statements.values()) not in (("P", "P"), ("P", "not P")):
            must, row = "be one number a row for relations between statements", int(rows[0, 0])
            raise input_error(function, "probabilities", must, got=p[row].tolist(), row=row)
        values["arbitrage"][chosen] = arbitrage(relation, p[rows]).gain
        if p.ndim == 1 and (residuals := frequentist(relation, p[rows])) is not None:
            values["frequentist"][chosen] = residuals[0]
        members.setdefault(name, []).append(chosen)
    return values, members


def _tuples(
    function: str, relations: Any, divided: Partition, roles: Column
) -> Iterator[tuple[str, Relation, Integers, Integers]]:
    """Yield the tuples of each relation: its name, itself, their buckets, and where their statements stand, (n, m)."""
    is_named = isinstance(relations, Mapping) and all(isinstance(value, str) for value in relations.values())
    table = RELATIONS
    if isinstance(relations, str) and relations in RELATIONS:
        table = {relations: RELATIONS[relations]}
    elif relations is not None and not is_named:
        table = {**RELATIONS, **read_relations(function, relations)}
    by_roles = {tuple(sorted(relation.statements)): name for name, relation in table.items()}
    (role,), known = code_jointly(roles)
    order = np.lexsort((role, divided.codes))
    starts = np.cumsum(divided.sizes) - divided.sizes
    for size in np.unique(divided.sizes).tolist():
        chosen = np.flatnonzero(divided.sizes == size)
        rows = order[starts[chosen][:, np.newaxis] + np.arange(size)]
        patterns, code = np.unique(role[rows], axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns.tolist()):
            at = np.flatnonzero(code.ravel() == i)
            here = [str(known[one]) for one in pattern]
            name: Any = by_roles.get(tuple(sorted(here)))
            for bucket, row in zip(divided.ids_of(chosen[at]), rows[at, 0].tolist(), strict=True):
                if is_named and relations.get(bucket) not in table:
                    got = {bucket: relations.get(bucket)}
                    raise input_error(function, "relations", "name a known relation for every bucket", got=got, row=row)
                if name is None or (is_named and relations.get(bucket) != name):
                    listed = "; ".join(f"{one}: {', '.join(of.statements)}" for one, of in table.items())
                    remedy = f"Bucket {bucket!r} has them, and relations are {listed}."
                    must = "be those of the bucket's relation, each once"
                    raise input_error(function, "roles", must, got=here, row=row, remedy=remedy)
            yield name, table[name], chosen[at], rows[at][:, [here.index(one) for one in table[name].statements]]


def _joined(divided: Partition, shared: Partition) -> Integers | Dyads:
    """Return what buckets have in common: a group each, or two members, or the chains that they are joined by."""
    pairs = np.unique(divided.codes.astype(np.int64) * len(shared) + shared.codes)
    bucket, member = np.divmod(pairs, len(shared))
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    most = int(np.bincount(bucket).max())
    if most == 1:
        return member
    if most == 2:
        return Dyads(member[first], member[np.append(first[1:], len(bucket)) - 1])
    return chains(divided, shared)


def chains(divided: Partition, shared: Partition) -> Integers:
    """Return one group for all buckets that are joined by any chain of what their rows share, shape (n_buckets,)."""
    from scipy.sparse import csr_array  # slow to import, and seldom needed
    from scipy.sparse.csgraph import connected_components

    n, ends = len(divided), (divided.codes.astype(np.int32), (len(divided) + shared.codes).astype(np.int32))
    graph = csr_array((np.ones(len(divided.codes)), ends), shape=(n + len(shared),) * 2)
    return partition_integers(connected_components(graph, directed=False)[1][:n]).codes


def _means(
    estimates: Estimates, values: Mapping[str, Floats], buckets: Integers, grouped: Integers | Dyads | None
) -> dict[str, Any]:
    """Return the mean violation and the rate of some buckets by kind, and keep what is known of their uncertainty."""
    means: dict[str, Any] = {}
    for kind, all_values in values.items():
        at = buckets[~np.isnan(all_values[buckets])]
        if not len(at):
            continue
        chosen = all_values[at]
        columns = np.stack([chosen, chosen >= LEAST[kind]], axis=1).astype(np.float64)
        names = [f"{kind}_violation", f"{kind}_rate"]
        means |= dict(zip(names, columns.mean(axis=0).tolist(), strict=True))
        ranges = [(0.0, _MOST[kind]), (0.0, 1.0)]
        rows = Units.of_rows(columns, None)
        if isinstance(grouped, Dyads):
            _add_crossed(estimates, names, columns, Dyads(grouped.first[at], grouped.second[at]), ranges)
            continue
        units = rows if grouped is None else Units.of_rows(columns, partition_integers(grouped[at]).codes)
        bounds = estimates.intervals(units, mean_of_sums, ranges, [True, True], skewed=True)
        effects = design_effects(units, rows, mean_of_sums).tolist()
        estimates.add(names, bounds, units.n, effects, between=f"{estimates.unit}s")
    return means


def _add_crossed(
    estimates: Estimates, names: list[str], columns: Floats, dyads: Dyads, ranges: list[tuple[float, float]]
) -> None:
    """Keep dyad-robust t intervals of means."""
    for name, column, (least, most) in zip(names, columns.T, ranges, strict=True):
        error, freedom = dyads.standard_error(column)
        half = float(stdtrit(max(freedom, 1.0), (1.0 + estimates.options.confidence_level) / 2.0)) * error
        ends = (max(least, column.mean() - half), min(most, column.mean() + half))
        if not error > NO_SPREAD:
            ends = (float("nan"), float("nan"))
            estimates.warnings.append(f"no spread, or every two buckets share a member: no interval for {name}")
        naive = float(np.sqrt(column.var() / max(len(column) - 1, 1)))
        estimates.put(name, ends, error, dyads.n_members, effect_of(error, naive))
