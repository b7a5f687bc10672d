"""The rows of a bucket set as a measure of the catalogue reads them: what it counts, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.rows import Rows, mark_unparsed
from paraconsist.data.tables import is_among
from paraconsist.errors import check_choice, input_error, renamed
from paraconsist.measures.bucket_model import fit_bucket_model
from paraconsist.measures.buckets import BucketCounts
from paraconsist.measures.catalogue import CATALOGUE, COHERENCE, MeasureSpec, check_result, scored_measures
from paraconsist.measures.results import Result
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, Answers, Statements

if TYPE_CHECKING:
    from paraconsist.measures.probability_coherence import RelatedTuples

#: A column with more values than this is no stratum (an id, say).
MAX_STRATUM_VALUES = 20
#: More gold labels than this are free text: changes of answers are not broken down by them.
MAX_LABELS = 50
Positions = NDArray[np.intp]
AnyResult = TypeVar("AnyResult", bound=Result)

WORDING_CHANGE_IS_SHOWN = (
    "The wording change (wording_change in `compare`, `plan` and `gate`) needs no gold labels and is shown beside "
    "every measure, as the accuracy is."
)
#: How unparsed answers are treated. ``wrong``: an unparsed answer is a wrong answer that agrees with no other answer,
#: not even with another unparsed one, and after a negation it counts as a failure: it never looks consistent, except in
#: P_C, where two wrong answers are both wrong. ``own_class``: not answering is an answer like any other, wrong but the
#: same each time. ``drop_bucket``: a bucket with an unparsed answer is excluded, and counted; this flatters models that
#: refuse what is hard.
POLICIES = ("wrong", "own_class", "drop_bucket")


@dataclass(frozen=True)
class Violations:
    """The m rows that a measure counts, and which of them break its rule; arrays have shape (m,)."""

    positions: Positions  # where the counted rows stand
    partners: Mapping[str, Positions]  # role -> where their partners stand
    amount: NDArray[np.float64]  # how much of each row breaks the rule, in [0, 1]
    counts: NDArray[np.bool_]  # which rows the rule is about

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Rows that the rule is about, and that break it."""
        return self.counts & (self.amount > 0)

    def by_bucket(self, buckets: Positions, n_buckets: int) -> NDArray[np.float64]:
        """Return the share of each bucket that breaks the rule, of shape (n_buckets,); nan where nothing counts.

        `buckets` numbers the bucket of every row of the file.
        """
        of_counted = buckets[self.positions[self.counts]]
        sizes = np.bincount(of_counted, minlength=n_buckets)
        with np.errstate(invalid="ignore"):
            return np.bincount(of_counted, weights=self.amount[self.counts], minlength=n_buckets) / sizes

    def shrunken_by_bucket(
        self, buckets: Positions, n_buckets: int, right: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return `by_bucket` shrunk towards what the set's buckets are like, so that small buckets do not lead a list.

        0 where no row breaks the rule, and as it is where the model of the buckets cannot be fitted. `right`, shape
        (n_rows,): which rows of the file are right, where the rule is about rows of a bucket that are right and wrong.
        """
        counted, share = self.positions[self.counts], self.by_bucket(buckets, n_buckets)
        hits = self.amount[self.counts] > 0 if right is None else right[counted]
        sizes, n_hits = (np.bincount(of, minlength=n_buckets) for of in (buckets[counted], buckets[counted[hits]]))
        has_rows = sizes > 0
        if has_rows.any():
            sizes, n_hits = sizes[has_rows], n_hits[has_rows]
            model = fit_bucket_model(BucketCounts.from_counts(sizes, n_hits))
            if not np.isnan(model.correlation):
                shrunken = model.shrink(sizes, n_hits)
                values = shrunken.share if right is None else shrunken.differing
                share[has_rows] = np.where(share[has_rows] > 0.0, values, 0.0)
        return share


def apply_policy(rows: Rows, policy: str) -> tuple[Rows, int]:
    """Return the rows to score, and how many buckets `policy` left out (see `POLICIES`).

    In `rows` unparsed predictions all hold one value that equals no label; under ``wrong`` each holds a value of its
    own then, and `Rows.never_agree` is set. Where no answer could be read nothing is left out: no measure is defined
    then, and each says why. InputError if the policy is unknown, or leaves no bucket.
    """
    check_choice("score", "unparsed", policy, POLICIES)
    if policy == "own_class" or not rows.unparsed.any():
        return rows, 0
    if policy == "wrong" or rows.buckets is None or rows.unparsed.all():
        apart = mark_unparsed(rows.predictions, rows.unparsed, rows.labels, each=True)
        return replace(rows, predictions=apart, never_agree=True), 0
    lost = np.unique(rows.buckets[rows.unparsed])
    kept = rows.where(~is_among(rows.buckets, lost))
    if not len(kept):
        remedy = "Choose the policy wrong or own_class, or mend the parser."
        must = "leave at least one bucket"
        got = f"drop_bucket, and all {len(lost)} buckets have an unparsed answer"
        raise input_error("score", "unparsed", must, got=got, remedy=remedy)
    return kept, len(lost)


def check_parsed(function: str, parameter: str, rows: Rows, name: str) -> None:
    """Raise unless an answer of `name` could be read: else nothing can be compared with it, or planned from it."""
    if not len(rows):
        raise input_error(function, parameter, "have at least one row", got=name)
    if rows.unparsed.all():
        remedy = "None of its answers could be read: mend what reads them, or leave it out."
        raise input_error(function, parameter, "have an answer that could be read", got=name, remedy=remedy)


def spec_of(function: str, name: str) -> MeasureSpec:
    """Return the measure of this name, one that bucket sets are scored by."""
    if name not in CATALOGUE or not CATALOGUE[name].target:
        must = f"be one of {', '.join(scored_measures())}"
        raise input_error(function, "measure", must, got=name, remedy=WORDING_CHANGE_IS_SHOWN)
    return CATALOGUE[name]


def violations(spec: MeasureSpec, rows: Rows) -> Violations:
    """Return the rows that a measure counts, and which of them break its rule.

    `rows` are those that a policy for unparsed answers has left (see `apply_policy`).
    """
    spec = spec.on(rows.roles)
    positions, partners = find_partners(spec, rows)
    amount, counts = spec.violations(_answers(spec, rows, positions, partners))
    return Violations(positions, partners, amount, counts)


def measure_rows(spec: MeasureSpec, rows: Rows, **options: Any) -> Result:
    """Call a measure's function with the columns that the catalogue names; `options` are passed on."""
    positions, partners = find_partners(spec, rows)
    answers = _answers(spec, rows, positions, partners)
    columns = {parameter: _column(source, rows, positions, answers) for parameter, source in spec.arguments.items()}
    groups: Any
    if answers.statements is not None:
        groups = answers.statements.group
    elif all(source.startswith("rows.") for source in spec.arguments.values()):
        groups = rows.groups
    else:
        groups = members_of(rows, positions, partners) or groups_of(rows, positions)
    called = {parameter: source.partition(".")[2] for parameter, source in spec.arguments.items()}
    with renamed(**called, groups="group"):
        result: Result = spec.function(**columns, groups=groups, **options)
    check_result(spec, result)
    return result


def per_problem(result: AnyResult, rows: Rows) -> AnyResult:
    """Return a result whose `n_buckets`, if it has one, counts a problem that was asked in several epochs once."""
    if rows.problems is None or "n_buckets" not in result:
        return result
    counted: dict[str, Any] = {"n_buckets": rows.where(rows.roles == PARAPHRASE).n_problems}
    return replace(result, **counted)


def groups_of(rows: Rows, positions: Positions) -> NDArray[Any] | None:
    """Return what intervals and tests over some rows resample, of shape (m,); None where these are independent.

    That is the rows' groups; without any the buckets, where one has several of the rows.
    """
    if rows.groups is not None:
        return rows.groups[positions]
    buckets = np.asarray(rows.buckets)[positions]
    return buckets if len(np.unique(buckets)) < len(buckets) else None


def members_of(
    rows: Rows, positions: Positions, partners: Mapping[str, Positions]
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the two texts that each row joins, of shape (m,), where rows share them otherwise than within groups.

    They are known by their groups where the two have different ones, else by their inputs. None where rows do not have
    two partners, or none of these stands in two rows, or only in rows of one group.
    """
    if len(partners) != 2:
        return None
    groups, (first, second) = rows.groups, partners.values()
    if groups is not None and (groups[first] != groups[second]).any():
        return groups[first], groups[second]
    if rows.inputs is None:
        return None
    pair = rows.inputs[first], rows.inputs[second]
    joint = np.concatenate(pair)
    n_inputs = len(np.unique(joint))
    if n_inputs == len(joint):
        return None
    if groups is not None:
        codes = np.unique(groups[positions], return_inverse=True)[1]
        within = joint.astype(np.int64) * (int(codes.max()) + 1) + np.tile(codes, 2)
        if len(np.unique(within)) == n_inputs:
            return None
    return pair


def _answers(spec: MeasureSpec, rows: Rows, positions: Positions, partners: Mapping[str, Positions]) -> Answers:
    places = {**partners, spec.target: positions}
    return Answers(
        predictions={role: rows.predictions[at] for role, at in places.items()},
        references={role: rows.labels[at] for role, at in places.items()},
        unparsed={role: rows.unparsed[at] for role, at in places.items()},
        buckets=np.unique(np.asarray(rows.buckets)[positions], return_inverse=True)[1],
        target=spec.target,
        allowed=None if rows.allowed is None else [rows.allowed[i] for i in positions],
        never_agree=rows.never_agree,
        calls=None if rows.calls is None else [rows.calls[i] for i in positions],
        statements=_statements(spec, rows, positions, partners) if spec.is_about_probabilities else None,
    )


def _statements(spec: MeasureSpec, rows: Rows, positions: Positions, partners: Mapping[str, Positions]) -> Statements:
    """Return the tuples that rows stand for: with their partners, or the whole buckets of files of statements."""
    if rows.probabilities is None:
        remedy = "Give `probabilities` the column of lists, or one column for each label."
        raise input_error(f"score {spec.name}", "probabilities", "be there", remedy=remedy)
    assert rows.buckets is not None
    index = np.flatnonzero(is_among(rows.buckets, rows.buckets[positions]))
    buckets = np.unique(rows.buckets[index], return_inverse=True)[1]
    roles, group, p = rows.roles[index], None if rows.groups is None else rows.groups[index], rows.probabilities
    if partners:
        n = len(positions)
        places = {**partners, spec.target: positions}
        index, buckets = np.concatenate(list(places.values())), np.tile(np.arange(n), len(places))
        roles = np.repeat(list(places), n)
        if (pair := members_of(rows, positions, partners)) is not None:
            group = np.concatenate([*pair, pair[0]])
        elif (own := groups_of(rows, positions)) is not None:
            group = np.tile(own, len(places))
        if spec.is_conditional and rows.allowed_probabilities is not None:
            p = rows.allowed_probabilities[:, np.newaxis] * [-1.0, 1.0] + [1.0, 0.0]
    p = np.clip(p[index], 0.0, 1.0)
    return Statements(p[:, 1] if p.shape[1] == 2 else p, roles, buckets, group, rows.relations)


def tuples_of(rows: Rows) -> list[RelatedTuples]:
    """Return the tuples of a file of statements by relation; none where rows are wordings with label probabilities."""
    from paraconsist.measures.probability_coherence import tuples_by_relation

    spec = COHERENCE.on(rows.roles)
    positions, partners = find_partners(spec, rows)
    if partners:
        return []
    p, roles, buckets, _, relations = _statements(spec, rows, positions, partners)
    names = np.unique(np.asarray(rows.buckets)[positions])[buckets]
    is_whole = ~is_among(names, names[np.isnan(p).reshape(len(p), -1).any(axis=1)])
    return [] if p.ndim > 1 else tuples_by_relation(p[is_whole], roles[is_whole], names[is_whole], relations)


def _column(source: str, rows: Rows, positions: Positions, answers: Answers) -> Any:
    role, _, column = source.partition(".")
    if role == "rows":
        return {
            "prediction": rows.predictions,
            "label": None if rows.is_without_gold else rows.labels,
            "bucket": rows.buckets,
            "variant": rows.variants,
            "places": rows.places,
            "calls": rows.calls,
            "arguments": rows.arguments,
            "right": (rows.predictions == rows.labels) & ~rows.unparsed,
            "role": rows.roles.tolist() if (rows.roles == ORIGINAL).any() else None,
        }[column]
    if role == "tuple":
        return getattr(answers.statements, column)
    role = answers.target if role == "target" else role
    if column == "allowed":
        return answers.references[role] if answers.allowed is None else answers.allowed
    if column == "unanswered":
        return answers.unanswered if answers.unanswered.any() else None
    if column == "strata":
        columns = {name: values[positions] for name, values in rows.strata.items()}
        few = {name: values for name, values in columns.items() if 2 <= len(np.unique(values)) <= MAX_STRATUM_VALUES}
        labels = None if rows.is_without_gold or "gold_label" in few else answers.references[role]
        has_labels = labels is not None and len(np.unique(labels)) <= MAX_LABELS
        return ({"label": labels, **few} if has_labels else few) or None
    if column == "label" and rows.is_without_gold:
        return None
    return (answers.predictions if column == "prediction" else answers.references)[role]


def find_partners(spec: MeasureSpec, rows: Rows) -> tuple[Positions, dict[str, Positions]]:
    """Return the m rows that a measure counts and, by role, each one's partner in its bucket: positions, shape (m,).

    InputError if no row is counted, a role plays no part in the measure, or a partner is missing or there twice; the
    message names the bucket. A measure of probabilities leaves tuples out that hold a row without any.
    """
    if not spec.is_about_probabilities:
        return partners_of(rows, spec.name, spec.target, spec.partners, optional=spec.optional_partners)
    unknown = without_probabilities(rows)
    if spec.partners:
        positions, partners = partners_of(rows, spec.name, spec.target, spec.partners)
        known = ~np.any([unknown[places] for places in (positions, *partners.values())], axis=0)
        partners = {role: places[known] for role, places in partners.items()}
    else:
        _, positions, codes = np.unique(np.asarray(rows.buckets), return_index=True, return_inverse=True)
        known, partners = np.bincount(codes, unknown) == 0, {}
    if not known.any():
        must, remedy = "leave a bucket with probabilities in all of its rows", "Look at rows with empty ones."
        raise input_error(f"score {spec.name}", "probabilities", must, remedy=remedy)
    return positions[known], partners


def without_probabilities(rows: Rows) -> NDArray[np.bool_]:
    """Return which rows have no probabilities, shape (n,), where others have."""
    if rows.probabilities is None:
        return np.zeros(len(rows), dtype=np.bool_)
    return np.asarray(np.isnan(rows.probabilities).any(axis=1), dtype=np.bool_)


def is_counted(spec: MeasureSpec, rows: Rows) -> NDArray[np.bool_]:
    """Return which rows a measure counts, of shape (n,): those of its target; of files of statements one a bucket."""
    if spec.partners or not spec.is_about_probabilities:
        return np.asarray(rows.roles == spec.target)
    return np.isin(np.arange(len(rows)), find_partners(spec, rows)[0])


def partners_of(
    rows: Rows, name: str, target: str, wanted: Sequence[str], *, optional: Sequence[str] = ()
) -> tuple[Positions, dict[str, Positions]]:
    """Do what `find_partners` does for a measure that is not scored on bucket sets; `name` is for messages."""
    known, all_buckets = [*optional, *wanted, target], np.asarray(rows.buckets)
    foreign = ~np.isin(rows.roles, known)
    if foreign.any():
        row = int(np.argmax(foreign))
        remedy = f"The row is in bucket {all_buckets.item(row)!r}: mend its role, or name another `measure`."
        must = f"be one of {', '.join(known)}"
        raise input_error(f"score {name}", "role", must, got=rows.roles.item(row), row=row, remedy=remedy)
    positions = np.flatnonzero(rows.roles == target)
    if not len(positions) and not optional:
        roles = np.unique(rows.roles).tolist()
        raise input_error(f"score {name}", "role", f"be {target!r} in at least one row", got=roles)
    partners: dict[str, Positions] = {}
    if not wanted:
        return positions, partners
    ids, codes = np.unique(all_buckets, return_inverse=True)
    for role in wanted:
        places = np.flatnonzero(rows.roles == role)
        counts = np.bincount(codes[places], minlength=len(ids))
        wrong = counts[codes[positions]] != 1
        if wrong.any():
            code = codes[positions[int(np.argmax(wrong))]]
            must, remedy = f"be {role!r} in exactly one row of every bucket", f"Look at bucket {ids.item(code)!r}."
            raise input_error(f"score {name}", "role", must, got=int(counts[code]), remedy=remedy)
        where = np.zeros(len(ids), dtype=np.intp)
        where[codes[places]] = places
        partners[role] = where[codes[positions]]
    return positions, partners
