"""Coherence: whether a model's probabilities of statements that are logically related could all be right.

A relation maps each of its roles to a statement: a formula over atoms (``"P and not Q"``), or one that is asked only
where another holds (``"Q given P"``). Its worlds are the patterns of true, false and not asked that the atoms can give;
probabilities are coherent if they are mixtures of these. Arbitrage is exact: the gain that a bettor with a log score
can guarantee against incoherent probabilities.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import stdtrit

from paraconsist.errors import input_error, plural
from paraconsist.measures.array_types import Floats, Integers, Mask
from paraconsist.measures.buckets import (
    Column,
    Partition,
    as_column,
    as_probabilities,
    check_length,
    code_jointly,
    partition,
    partition_integers,
    rectangular,
)
from paraconsist.measures.distribution_shift import as_probability_rows
from paraconsist.measures.intervals import NO_SPREAD, Dyads, Units, design_effects, mean_of_sums, on_logit_scale
from paraconsist.measures.results import Estimates, Result, Stratum, documented, effect_of, interval_options
from paraconsist.measures.rules import Answers

LEAST = {"frequentist": 0.129, "arbitrage": 0.01}
"""The least violation of each kind that Paleka et al. count as one."""

LEAST_PROBABILITY = 0.001
"""Probabilities of 0 and 1 become this and 1 less this: no log score is finite at them."""
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
    by_relation : dict of str to dict
        The same of each relation.
    """

    arbitrage_violation: float
    arbitrage_rate: float
    n_buckets: int
    n_examples: int
    by_relation: dict[str, Stratum]
    frequentist_violation: float | None = None
    frequentist_rate: float | None = None


@documented(
    "values that are not probabilities, a role that is missing or twice in its bucket, no relation, "
    "relations without a possible world"
)
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
    in: exact to 1e-12. The *frequentist violation* is :math:`|r|/\sqrt{s^2 + .001}`
    with r the residual of the relation's equation, and :math:`s^2` the variance of r if each p were the mean of one
    draw. As published, both are 0 where r is under 1e-5, and arbitrage takes 0 and 1 for .001 and .999.

    Parameters
    ----------
    probabilities : sequence of float, shape (n,), or of lists of float, shape (n, n_labels)
        That the statement is true; or of each label of the roles of bucket sets.
    roles : sequence of str, shape (n,)
        The statement's place in its bucket, such as ``P`` and ``not_P``, each once in a bucket. A bucket's relation is
        the one with exactly its roles: see `paraconsist.measures.probability_coherence.RELATIONS`. ``original`` with
        ``paraphrase`` or ``swap`` must have the same label, with ``negation`` another one.
    buckets : sequence of int or str, shape (n,)
    relations : str or dict, optional
        The name of every bucket's relation, or bucket -> name; or your own relations, name -> role -> formula,
        with a formula that holds in every world under ``"where"``: ``{"Rain": {"rain": "R", "wet": "W", "where": "not R
        or W"}}``. A formula is made of at most twelve names, ``and``, ``or``, ``not``, brackets, and one ``given``.
    groups : sequence of int or str, shape (n,), optional
        What each row shares with others, such as its question: buckets with a common one are not
        independent. If a bucket has two of them its members are crossed (`paraconsist.measures.intervals.Dyads`),
        where more, buckets that are joined by any chain of them are one unit.
    interval_method, confidence_level, n_resamples, seed
        As for `paraconsist.measures.paraphrastic.paraphrastic_consistency`.

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
    if grouped is None:
        estimates.warn_if_few(len(divided))
    means = _means(estimates, values, np.arange(len(divided)), grouped)
    if (n_other := int(np.isnan(values["frequentist"]).sum())) and "frequentist_rate" in means:
        estimates.warn(f"{plural(n_other, 'bucket')} with a relation that has no frequentist violation")
    if len(p) > 1 and (p == p[0]).all():
        estimates.warn(f"every probability is {p[0].tolist()}: constant probabilities are uninformative")
    parts: dict[str, Stratum] = {}
    for name, at in members.items():
        part = Estimates(options, "bucket")
        shares = _means(part, values, at, grouped)
        parts[name] = {**shares, "n_buckets": len(at), "confidence_interval": part.confidence_interval}
    return ProbabilityCoherenceResult(
        n_buckets=len(divided),
        n_examples=len(p),
        by_relation=parts,
        **estimates.fields(means, avg="bucket", unparsed="refused"),
    )


def incoherent(answers: Answers) -> tuple[Floats, Mask]:
    """Return where a bettor with a log score surely gains at least .01 nats from the tuple of the row."""
    assert answers.statements is not None
    p, roles, buckets, _, relations = answers.statements
    function = probability_coherence.__name__
    names = as_column(roles, function=function, parameter="roles", what="names")
    values, _ = _violations(function, p, names, partition(buckets), relations)
    gains = values["arbitrage"] >= LEAST["arbitrage"]
    return gains.astype(np.float64), np.ones(len(gains), dtype=np.bool_)


def _violations(
    function: str, p: Floats, roles: Column, divided: Partition, relations: Any
) -> tuple[dict[str, Floats], dict[str, Integers]]:
    """Return each bucket's violation of each kind, nan where there is none, and the buckets of each relation."""
    values = {kind: np.full(len(divided), np.nan) for kind in LEAST}
    members: dict[str, Integers] = {}
    for name, relation, chosen, rows in _tuples(function, relations, divided, roles):
        if p.ndim == 2 and tuple(relation.statements.values()) not in (("P", "P"), ("P", "not P")):
            must, row = "be one number a row for relations between statements", int(rows[0, 0])
            raise input_error(function, "probabilities", must, got=p[row].tolist(), row=row)
        values["arbitrage"][chosen] = arbitrage(relation, p[rows]).gain
        if p.ndim == 1 and (residuals := frequentist(relation, p[rows])) is not None:
            values["frequentist"][chosen] = residuals[0]
        members[name] = chosen
    return values, members


def _tuples(
    function: str, relations: Any, divided: Partition, roles: Column
) -> Iterator[tuple[str, Relation, Integers, Integers]]:
    """Yield the tuples of each relation, once: its name, it, their buckets, and the rows of statements, (n, m)."""
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
            here = [str(known[code]) for code in pattern]
            name: Any = by_roles.get(tuple(sorted(here)))
            for bucket, row in zip(divided.ids_of(chosen[at]), rows[at, 0].tolist(), strict=True):
                if is_named and relations.get(bucket) not in table:
                    got = {bucket: relations.get(bucket)}
                    raise input_error(function, "relations", "name a known relation for every bucket", got=got, row=row)
                if name is None or (is_named and relations.get(bucket) != name):
                    listed = "; ".join(f"{key}: {', '.join(entry.statements)}" for key, entry in table.items())
                    remedy = f"Bucket {bucket!r} has them, and relations are {listed}."
                    must = "be those of the bucket's relation, each once"
                    raise input_error(function, "roles", must, got=here, row=row, remedy=remedy)
            yield name, table[name], chosen[at], rows[at][:, [here.index(role) for role in table[name].statements]]


def _joined(divided: Partition, shared: Partition) -> Integers | Dyads:
    """Return the groups of buckets: one group each, or two members, or the chains that join them."""
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
    """Return one group for all buckets that a chain of shared groups of rows joins, shape (n_buckets,)."""
    from scipy.sparse import csr_array  # slow to import, and seldom needed
    from scipy.sparse.csgraph import connected_components

    n, ends = len(divided), (divided.codes.astype(np.int32), (len(divided) + shared.codes).astype(np.int32))
    graph = csr_array((np.ones(len(divided.codes)), ends), shape=(n + len(shared),) * 2)
    return partition_integers(connected_components(graph, directed=False)[1][:n]).codes


def _means(
    estimates: Estimates, values: Mapping[str, Floats], buckets: Integers, grouped: Integers | Dyads | None
) -> dict[str, float]:
    """Return the mean violation and the rate of some buckets by kind, and set their uncertainty."""
    means: dict[str, float] = {}
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
    """Set dyad-robust t intervals of means on the logit scale, since gains have long tails."""
    for name, column, scale in zip(names, columns.T, ranges, strict=True):
        error, freedom = dyads.standard_error(column)
        half = float(stdtrit(max(freedom, 1.0), (1.0 + estimates.options.confidence_level) / 2.0)) * error
        point, ends = np.array([column.mean()]), [float("nan")] * 2
        if error > NO_SPREAD:
            ends = [float(end[0]) for end in on_logit_scale(point, np.array([half]), np.array([scale]), 0.0)]
        else:
            estimates.warn(f"no spread, or every two buckets share a member: no interval for {name}")
        naive = float(np.sqrt(column.var() / max(len(column) - 1, 1)))
        estimates.put(name, ends, error, dyads.n_members, effect_of(error, naive))


MOST_ATOMS = 12
WHERE = "where"
"""The key of a relation for a formula that holds in every world."""
LEAST_RESIDUAL = 1e-5
"""Smaller residuals, in probability, are rounding: the tuple has no violation of either kind."""

_VARIANCE = 0.001  # that is added under the root, beta squared of Paleka et al.

#: The statements' probabilities -> (how far off, its variance) of each part of the relation, each of shape (n,).
Residuals = Callable[..., Sequence[tuple[Any, Any]]]


@dataclass(frozen=True)
class Relation:
    """A relation; `residuals` are what its frequentist violation is made of, None where none is defined."""

    statements: dict[str, str]  # role -> formula, or "formula given formula"
    where: str = ""  # a formula that holds in every world
    residuals: Residuals | None = None

    def __hash__(self) -> int:
        return hash((tuple(self.statements.items()), self.where))


def _v(*p: Any) -> Any:
    """Return the sum of p (1 - p), the variances of single draws."""
    return sum(share * (1.0 - share) for share in p)


def _of(roles: str, residuals: Residuals, where: str = "", **formulas: str) -> Relation:
    """Return a relation of roles that are called by their formulas, ``P_and_Q``, but for those with `formulas`."""
    return Relation({role: formulas.get(role, role.replace("_", " ")) for role in roles.split()}, where, residuals)


def _same(p: Any, q: Any) -> list[tuple[Any, Any]]:
    return [(abs(p - q), _v(p, q))]


def _opposite(p: Any, q: Any) -> list[tuple[Any, Any]]:
    return [(abs(p + q - 1.0), _v(p, q))]


def _evidence(a: Any, d: Any, b: Any, c: Any) -> list[tuple[Any, Any]]:
    spread = _v(a) + d**2 * _v(b) + (1.0 - d) ** 2 * _v(c) + (b - c) ** 2 * _v(d)
    return [(abs(a - b * d - c * (1.0 - d)), spread)]


def _cond_cond(p: Any, q: Any, r: Any, every: Any) -> list[tuple[Any, Any]]:
    x = p * q * r  # as published: by the delta method p r stands in place of the second p q r
    return [(abs(x - every), x * (p * q + q * r + x) - 3.0 * x**2 + _v(every))]


#: The ten of Paleka et al. under their names, then those of bucket sets under the role of the row that is counted.
RELATIONS: Mapping[str, Relation] = {
    "Neg": _of("P not_P", _opposite),
    "Paraphrase": _of("P para_P", _same, para_P="P"),
    "Consequence": _of("P cons_P", lambda p, c: [(p - c, _v(p, c))], "not P or C", cons_P="C"),
    "And": _of(
        "P Q P_and_Q", lambda p, q, r: [(p + q - 1.0 - r, _v(p, q, r)), (r - np.minimum(p, q), _v(r, np.minimum(p, q)))]
    ),
    "Or": _of(
        "P Q P_or_Q", lambda p, q, r: [(r - p - q, _v(p, q, r)), (np.maximum(p, q) - r, _v(r, np.maximum(p, q)))]
    ),
    "AndOr": _of("P Q P_or_Q P_and_Q", lambda p, q, o, a: [(abs(p + q - o - a), _v(p, q, o, a))]),
    "But": _of("P Q_and_not_P P_or_Q", lambda p, q, o: [(abs(o - p - q), _v(p, q, o))]),
    "Cond": _of(
        "P Q_given_P P_and_Q", lambda p, q, r: [(abs(p * q - r), p * q * (q * (1.0 - p) + p * (1.0 - q)) + _v(r))]
    ),
    "CondCond": _of("P Q_given_P R_given_P_and_Q P_and_Q_and_R", _cond_cond),
    "ExpectedEvidence": _of("P Q P_given_Q P_given_not_Q", _evidence),
    "paraphrase": Relation({"original": "P", "paraphrase": "P"}, "", _same),
    "swap": Relation({"original": "P", "swap": "P"}, "", _same),
    "negation": Relation({"original": "P", "negation": "not P"}, "", _opposite),
    "consequent": Relation(
        {"antecedent_1": "P", "antecedent_2": "Q", "consequent": "C"},
        "not (P and Q) or C",
        lambda p, q, c: [(p + q - 1.0 - c, _v(p, q, c))],
    ),
}


def read_relations(function: str, table: Any) -> dict[str, Relation]:
    """Return the relations of a table: name -> role -> formula, with what always holds under "where".

    InputError for what is no such table, is no formula, or has no possible world.
    """
    relations: dict[str, Relation] = {}
    for name, entry in table.items() if isinstance(table, Mapping) else [("", table)]:
        parts = entry.statements | {WHERE: entry.where} if isinstance(entry, Relation) else entry
        texts = isinstance(parts, Mapping) and all(isinstance(part, str) for part in (*parts, *parts.values()))
        if not texts or not set(parts) - {WHERE}:
            must = 'name a relation of `RELATIONS`, or give formulas: {"Rain": {"rain": "R", "dry": "not R"}}'
            raise input_error(function, "relations", must, got=entry)
        statements = {role: text for role, text in parts.items() if role != WHERE}
        relations[name] = entry if isinstance(entry, Relation) else Relation(statements, parts.get(WHERE, ""))
        worlds(relations[name], function)
        twin = [other for other in relations if other != name and {*relations[other].statements} == {*statements}]
        if twin:
            must = "have different roles in each relation"
            raise input_error(function, "relations", must, got=f"{list(statements)} in {twin[0]} and in {name}")
    return relations


@lru_cache(maxsize=256)
def worlds(relation: Relation, function: str = "worlds", n_labels: int = 2) -> Integers:
    """Return the distinct worlds of a relation: the outcome of each statement, shape (n_worlds, n_statements).

    1 where the statement is true, 0 where it is false, -1 where it is not asked. Of more than two labels, outcomes are
    labels: relations of two statements that are the same (``"P"``, ``"P"``) or another's negation have these worlds.

    >>> worlds(RELATIONS["Cond"]).tolist()
    [[0, -1, 0], [1, 0, 0], [1, 1, 1]]
    """
    if n_labels > 2:
        pairs: Integers = np.indices((n_labels, n_labels)).reshape(2, -1).T
        first, second = relation.statements.values()
        same = pairs[:, 0] == pairs[:, 1]
        return np.asarray(pairs[same if first == second else ~same])
    parts = [text.split(" given ") for text in relation.statements.values()]
    texts = [text for statement in parts for text in statement] + ([relation.where] if relation.where else [])
    if any(len(statement) > 2 for statement in parts):
        raise input_error(function, "relations", "have one condition a statement", got=dict(relation.statements))
    trees = {text: _parsed(function, text) for text in texts}
    atoms = sorted({node.id for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Name)})
    if len(atoms) > MOST_ATOMS:
        raise input_error(function, "relations", f"be over at most {MOST_ATOMS} atoms", got=atoms)
    values = dict(zip(atoms, np.indices((2,) * len(atoms)).reshape(len(atoms), -1).astype(bool), strict=True))
    columns = []
    for event, *condition in parts:
        holds = _holds(trees[event], values).astype(np.int64)
        columns.append(np.where(_holds(trees[condition[0]], values), holds, -1) if condition else holds)
    possible = np.stack(columns, axis=1)
    if relation.where:
        possible = possible[_holds(trees[relation.where], values)]
    possible = np.unique(possible, axis=0)
    never = [role for role, column in zip(relation.statements, possible.T, strict=True) if (column < 0).all()]
    if never:
        must = "have a possible world" if not len(possible) else f"ask {never[0]!r} in some world"
        raise input_error(function, "relations", must, got={**relation.statements, WHERE: relation.where})
    return possible


def _parsed(function: str, text: str) -> ast.expr:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.Constant(None)
    allowed = (ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Name, ast.Load)
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
        must = "hold formulas of names, and, or, not, brackets, and one `given` a statement"
        raise input_error(function, "relations", must, got=text)
    return tree


def _holds(tree: ast.expr, values: Mapping[str, Mask]) -> Mask:
    """Return where a formula is true."""
    if isinstance(tree, ast.Name):
        return values[tree.id]
    if isinstance(tree, ast.UnaryOp):
        return ~_holds(tree.operand, values)
    assert isinstance(tree, ast.BoolOp)
    join: Any = np.logical_and if isinstance(tree.op, ast.And) else np.logical_or
    return np.asarray(join.reduce([_holds(part, values) for part in tree.values]))


def frequentist(relation: Relation, probabilities: Floats) -> tuple[Floats, Floats] | None:
    """Return each tuple's frequentist violation and its largest residual, shape (n,); None where neither is defined.

    `probabilities`, shape (n, n_statements). The violation is the residual in units of its standard deviation: how
    surely a forecaster whose probabilities are noisy estimates breaks the relation.
    """
    if relation.residuals is None:
        return None
    off, spread = np.moveaxis(np.array(relation.residuals(*probabilities.T)), 1, 0)
    return np.max(np.where(off < LEAST_RESIDUAL, 0.0, off) / np.sqrt(spread + _VARIANCE), axis=0), off.max(axis=0)


_GAP = 1e-12  # between the value and what the bet guarantees
_MOST_STEPS = 100
_SHRINK, _LEAST_BARRIER = 0.1, 1e-15  # of the barrier in a step
_STAY = 0.99  # the share of the way to the boundary that a step may go
_MOST_WORLDS = 64  # used at once; of more worlds, those that are the worst for some bet
_ROWS_AT_ONCE = 4_096  # bounds memory


@dataclass(frozen=True)
class RelatedTuples:
    """The n tuples of m statements that stand in one relation, the most incoherent first."""

    relation: str
    statements: tuple[str, ...]
    buckets: list[Any]
    probabilities: Floats  # what the model says, shape (n, m)
    bets: Floats  # probabilities that are sure to win against these, shape (n, m)
    gain: Floats  # what they are sure to win, in nats, shape (n,)


def tuples_by_relation(probabilities: Floats, roles: Any, buckets: Any, relations: Any = None) -> list[RelatedTuples]:
    """Return the tuples of each relation with the bets that win against them; as for `probability_coherence`.

    `probabilities` are of statements, shape (n,).
    """
    function = probability_coherence.__name__
    divided, found = partition(buckets), []
    names = as_column(roles, function=function, parameter="roles", what="names")
    for name, relation, chosen, rows in _tuples(function, relations, divided, names):
        p, best = probabilities[rows], arbitrage(relation, probabilities[rows])
        order = np.argsort(-best.gain, kind="stable")
        columns = divided.ids_of(chosen[order]), p[order], best.bets[order], best.gain[order]
        found.append(RelatedTuples(name, tuple(relation.statements), *columns))
    return found


@dataclass(frozen=True)
class Arbitrage:
    """The arbitrage of n tuples of m statements."""

    gain: Floats  # in nats, at least 0, shape (n,); 0 for coherent probabilities
    #: The probabilities that win it, shape (n, m) or (n, m, n_labels): in every world their log score exceeds that of
    #: the tuple by at least `guaranteed`, over the statements that are asked there.
    bets: Floats
    #: At most 1e-12 below `gain`, which proves both, shape (n,); above it only if a residual under 1e-5 makes that 0.
    guaranteed: Floats


def arbitrage(relation: Relation, probabilities: Floats) -> Arbitrage:
    r"""Return the gain that a bettor can guarantee against probabilities in every world.

    .. math:: \max_q \min_w \sum_{i\,\text{asked in}\,w} \log\frac{q_i(w)}{p_i(w)}
              = \min_\pi \sum_i \pi(C_i)\, KL\bigl(\pi(\cdot \mid C_i)\,\|\,p_i\bigr)

    with w the worlds of the relation, :math:`\pi` distributions on them, :math:`C_i` the condition of statement i, and
    :math:`q_i(w)`, :math:`p_i(w)` the probability of what happens in w. It is solved for all tuples together by a
    primal-dual interior point method; the bet is :math:`q_i = \pi(\cdot \mid C_i)`. `probabilities` are of the
    statements being true, in the order of the relation's roles, shape (n, n_statements), or of each label, shape (n,
    n_statements, n_labels). The values of Paleka et al. (2025) are those at which an optimiser stopped, so too low for
    seven of the ten relations.

    .6 for a statement and .6 for its negation: betting .5 on both wins log(.5 / .4) - log(.6 / .5) in either world.

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

    Of many worlds only those that are the worst for the bets of some tuple are used.
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

    A cell is an outcome of a statement; `happens` and `is_asked`, shape (n_cells, n_worlds), are where it happens and
    where its statement is asked. The derivative of the divergence by the weight of a world is the gain of the bet
    there, so that the largest and the least gain bound the value: that is the gap. All tuples take their steps
    together, and stop when their gap is closed.
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
    """Return the largest step along a move that keeps the values above 0, shape (n, 1)."""
    steepest = np.max(-move / values, axis=1, keepdims=True)
    return np.asarray(np.minimum(1.0, _STAY / np.maximum(steepest, _STAY)))
