"""Relations between the probabilities of statements: what the worlds are in which a set of statements has its truth.

A relation says of each of its roles which statement stands there: a formula over atoms (``"P and not Q"``), or one that
is asked only where another holds (``"Q given P"``). Its worlds are the patterns of true, false and not asked that the
atoms can give; probabilities are coherent where they are mixtures of these.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.errors import input_error
from paraconsist.measures._validation import Integers
from paraconsist.measures.resampling import Floats

MOST_ATOMS = 12
WHERE = "where"
"""The key of a table's relation for what holds in every world."""
LEAST_RESIDUAL = 1e-5
"""Residuals under this, in probability, are rounding: the tuple then has no violation of either kind."""

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
    return sum(one * (1.0 - one) for one in p)


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
        "P Q P_and_Q",
        lambda p, q, r: [(p + q - 1.0 - r, _v(p, q, r)), (r - np.minimum(p, q), _v(r, np.minimum(p, q)))],
    ),
    "Or": _of(
        "P Q P_or_Q",
        lambda p, q, r: [(r - p - q, _v(p, q, r)), (np.maximum(p, q) - r, _v(r, np.maximum(p, q)))],
    ),
    "AndOr": _of("P Q P_or_Q P_and_Q", lambda p, q, o, a: [(abs(p + q - o - a), _v(p, q, o, a))]),
    "But": _of("P Q_and_not_P P_or_Q", lambda p, q, o: [(abs(o - p - q), _v(p, q, o))]),
    "Cond": _of(
        "P Q_given_P P_and_Q",
        lambda p, q, r: [(abs(p * q - r), p * q * (q * (1.0 - p) + p * (1.0 - q)) + _v(r))],
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
        twin = [one for one in relations if one != name and {*relations[one].statements} == {*statements}]
        if twin:
            must = "tell relations apart by their roles"
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
    if not all(
        isinstance(node, (ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Name, ast.Load)) for node in ast.walk(tree)
    ):
        must = "hold formulas of names, and, or, not, brackets, and one `given` a statement"
        raise input_error(function, "relations", must, got=text)
    return tree


def _holds(tree: ast.expr, values: Mapping[str, npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
    """Return where a formula is true."""
    if isinstance(tree, ast.Name):
        return values[tree.id]
    if isinstance(tree, ast.UnaryOp):
        return ~_holds(tree.operand, values)
    assert isinstance(tree, ast.BoolOp)
    join: Any = np.logical_and if isinstance(tree.op, ast.And) else np.logical_or
    holds: npt.NDArray[np.bool_] = join.reduce([_holds(part, values) for part in tree.values])
    return holds


def frequentist(relation: Relation, probabilities: Floats) -> tuple[Floats, Floats] | None:
    """Return each tuple's frequentist violation and its largest residual, shape (n,); None where neither is defined.

    `probabilities`, shape (n, n_statements). The violation is the residual in units of its standard deviation: how
    surely a forecaster whose probabilities are noisy estimates breaks the relation.
    """
    if relation.residuals is None:
        return None
    off, spread = np.moveaxis(np.array(relation.residuals(*probabilities.T)), 1, 0)
    return np.max(np.where(off < LEAST_RESIDUAL, 0.0, off) / np.sqrt(spread + _VARIANCE), axis=0), off.max(axis=0)
