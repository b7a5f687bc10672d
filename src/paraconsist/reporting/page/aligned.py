"""One set as several models answered it: aligned rows, the inconsistency of each bucket, the texts.

Texts come from the run folder, from a file that the user names, or from the predictions file itself.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paraconsist.data.bucket_sets import expand_specs
from paraconsist.data.logs.reading import LogTexts
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import KEY_COLUMNS, PREDICTION_COLUMNS, Predictions
from paraconsist.data.rows import Rows
from paraconsist.data.tables import read_table
from paraconsist.data.tasks import TASKS
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.measures.rules import ORIGINAL
from paraconsist.scoring.outcomes import changes_of_buckets, outcome_of_buckets
from paraconsist.scoring.roles import Violations, apply_policy, violations
from paraconsist.scoring.score import SetScores

_JOINS = ("example_id", "input_id")
_TASK_COLUMNS = frozenset(column for task in TASKS.values() for column in task.columns)

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class AlignedSet:
    """The rows of one set, n in all and m buckets, as the models of a report answered them.

    The keys of mappings are the models that answered the set. Shares are in [0, 1], nan where a model lacks it.
    """

    name: str
    models: tuple[str, ...]
    measure: str  # by which a bucket is inconsistent
    predictions: dict[str, Predictions]
    policies: dict[str, str]  # how unparsed answers are treated
    rows: dict[str, Rows]  # the predictions as the measures read them
    positions: dict[str, Positions]  # shape (n,): the row's place in the model's file, or -1
    base: tuple[Positions, Positions]  # shapes (n,): number of a model that has the row, and the row's place there
    bucket: Positions  # shape (n,): each row's bucket, numbered in the order of appearance
    bucket_ids: list[Any]  # length m
    inconsistency: dict[str, Floats]  # shape (m,): share of the bucket that breaks the measure's rule
    shrunken: dict[str, Floats]  # shape (m,): the same shrunk towards the others, as buckets are ranked
    accuracy: dict[str, Floats]  # shape (m,): share of right answers (of paraphrases, where there are any)
    #: Shape (m, 4): answers (to paraphrases, where there are any), right ones; rows of `rule`, those that break it.
    counts: dict[str, Floats]
    #: Shape (m,): what becomes of the bucket's problem over all its wordings, empty where it has one
    #: (`paraconsist.scoring.outcomes.Problems.outcomes`).
    outcomes: dict[str, NDArray[np.str_]]
    texts: SetTexts | None = None  # None where no source has any, and before `set_texts`

    @property
    def rule(self) -> MeasureSpec:
        """The measure whose rule rows break; where it is about whole buckets, prediction change."""
        spec = CATALOGUE[self.measure].on(self.rows[self.models[0]].roles)
        return CHANGE if spec.mean_over == "buckets" else spec

    @property
    def read(self) -> list[str]:
        """The models of which an answer could be read."""
        return [model for model in self.models if not self.rows[model].unparsed.all()]

    @property
    def are_agents(self) -> bool:
        """Whether the rows are runs of agents, each of one model's alone."""
        return any(rows.calls is not None for rows in self.rows.values())

    def worst_first(self) -> Positions:
        """Return the buckets, most inconsistent first (mean over models).

        Buckets are ranked by the shrunken value, as two of two rows are weaker evidence than nine of ten; ties by the
        bucket's own value, more rows, then in order.
        """
        sizes = np.bincount(self.bucket, minlength=len(self.bucket_ids))
        return np.lexsort((-sizes, -self._mean(self.inconsistency), -self._mean(self.shrunken)))

    def _mean(self, by_model: Mapping[str, Floats]) -> Floats:
        values = np.array([by_model[model] for model in self.models])
        known = ~np.isnan(values)
        mean: Floats = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.round(mean, 9)


def align(name: str, scored: Mapping[str, SetScores]) -> AlignedSet:
    """Bring the models' rows of one set together, by `example_id` where all files have it.

    Files without it are joined by bucket, role and the order of the rows in them. Runs of agents are not joined.
    """
    models = tuple(scored)
    predictions = {model: scored[model].predictions for model in models}
    rows = {model: scored[model].rows for model in models}
    keys = _keys(predictions, rows)
    first: dict[Any, tuple[int, int]] = {}
    for number, model in enumerate(models):
        for place, key in enumerate(keys[model]):
            first.setdefault(key, (number, place))
    order = {key: row for row, key in enumerate(first)}
    owners, places = ([at[i] for at in first.values()] for i in range(2))
    positions = {}
    for model in models:
        places_of_model = np.full(len(order), -1, dtype=np.intp)
        places_of_model[[order[key] for key in keys[model]]] = np.arange(len(keys[model]))
        positions[model] = places_of_model
    base = np.array(owners, dtype=np.intp), np.array(places, dtype=np.intp)
    numbers: dict[Any, int] = {}
    bucket_lists = [rows[model].buckets.tolist() for model in models]  # type: ignore[union-attr]
    values_of_rows = [bucket_lists[owner][place] for owner, place in zip(owners, places, strict=True)]
    bucket = np.array([numbers.setdefault(value, len(numbers)) for value in values_of_rows], dtype=np.intp)
    spec = next((CATALOGUE[m] for m in scored[models[0]].measures if m in scored_measures()), PARAPHRASTIC)
    policies = {model: scored[model].options.policy for model in models}
    values = {model: _bucket_values(rows[model], spec, policies[model], numbers) for model in models}
    of_buckets: list[Any] = [{model: values[model][i] for model in models} for i in range(5)]
    of_rows = predictions, policies, rows, positions, base, bucket
    return AlignedSet(name, models, spec.name, *of_rows, list(numbers), *of_buckets)


def _keys(predictions: Mapping[str, Predictions], rows: Mapping[str, Rows]) -> dict[str, list[Any]]:
    if any(of_model.calls is not None for of_model in rows.values()):
        return {model: [(model, *key) for key in _ordinal_keys(rows[model])] for model in predictions}
    files = {model: file.table for model, file in predictions.items()}
    if all("example_id" in table.column_names for table in files.values()):
        ids = {model: table["example_id"].to_pylist() for model, table in files.items()}
        # The two rows of a pair that was one row of the file have the same example id.
        if all(len({*of_model, None}) == 1 + len(of_model) for of_model in ids.values()):
            return ids
    return {model: _ordinal_keys(rows[model]) for model in predictions}


def _ordinal_keys(rows: Rows) -> list[Any]:
    assert rows.buckets is not None
    counters: defaultdict[tuple[Any, str], Iterator[int]] = defaultdict(itertools.count)
    return [(*key, next(counters[key])) for key in zip(rows.buckets.tolist(), rows.roles.tolist(), strict=True)]


def _bucket_values(
    rows: Rows, spec: MeasureSpec, policy: str, numbers: Mapping[Any, int]
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.str_]]:
    """Return each bucket's inconsistency, the same shrunken, its accuracy, counts and outcome, under the policy."""
    kept, _ = apply_policy(rows, policy)
    assert kept.buckets is not None
    of_bucket = {} if kept.unparsed.all() else outcome_of_buckets(kept)
    outcomes = np.array([of_bucket.get(bucket, "") for bucket in numbers])
    codes = np.array([numbers[value] for value in kept.buckets.tolist()], dtype=np.intp)
    is_target = kept.roles != ORIGINAL if (kept.roles != ORIGINAL).any() else np.ones(len(kept), dtype=bool)
    right = (kept.predictions == kept.labels) & ~kept.unparsed
    if kept.allowed is not None and spec.is_conditional:  # whose rules allow several labels
        right = np.array([p in rule for p, rule in zip(kept.predictions.tolist(), kept.allowed, strict=True)])
    sizes, n_right = (np.bincount(codes[is_target], of, len(numbers)) for of in (None, right[is_target]))
    with np.errstate(invalid="ignore"):
        accuracy = n_right / sizes
    broken, unknown = _violations(spec, kept), np.full(len(numbers), np.nan)
    pairs = _violations(CHANGE, kept) if spec.mean_over == "buckets" else broken
    counts = np.zeros((len(numbers), 4))
    counts[:, 0], counts[:, 1] = sizes, n_right
    if pairs is not None:
        of_counted = codes[pairs.positions[pairs.counts]]
        for column, weights in ((2, None), (3, pairs.amount[pairs.counts])):
            counts[:, column] = np.bincount(of_counted, weights, len(numbers))
    has_calls = kept.calls is None or any(kept.calls)
    if (kept.is_without_gold and spec.mean_over == "buckets") or not has_calls:  # which nothing tells here
        changes = changes_of_buckets(kept)
        changed = np.array([changes.get(bucket, np.nan) for bucket in numbers])
        return changed, changed, accuracy, counts, outcomes
    if broken is None:
        return unknown, unknown, accuracy, counts, outcomes
    shrunken = broken.shrunken_by_bucket(codes, len(numbers), right if spec.mean_over == "buckets" else None)
    return broken.by_bucket(codes, len(numbers)), shrunken, accuracy, counts, outcomes


def _violations(spec: MeasureSpec, rows: Rows) -> Violations | None:
    """Return None where the rows do not have the roles of the measure, such as a saved one of other rows."""
    try:
        return violations(spec, rows)
    except InputError:
        return None


@dataclass(frozen=True)
class SetTexts:
    """Texts of a set: the columns' names, and for each row of the aligned set a list of texts, or None."""

    columns: tuple[str, ...]
    rows: list[list[str] | None]

    @property
    def n_missing(self) -> int:
        """How many rows have no text."""
        return sum(row is None for row in self.rows)


@dataclass(frozen=True)
class TextsTable:
    """Texts that the user names: a table with ids, or a prepared set, read when it is needed."""

    name: str | None
    load: Callable[[], pa.Table]


def read_texts_files(specs: Sequence[str]) -> list[TextsTable]:
    """Read files with an `example_id` (or `input_id`) column, or prepared sets by their names."""
    tables = []
    for spec in specs:
        if Path(spec).exists() or ":" not in spec:
            table = read_table(spec, function="report", parameter="texts")
            tables.append(TextsTable(None, partial(_with_ids, table, spec)))
            tables[-1].load()
        else:
            names = expand_specs([spec], "report", "texts")
            tables += [TextsTable(name, cache(partial(_prepared, name))) for name in names]
    return tables


def _prepared(spec: str) -> pa.Table:
    from paraconsist.data.bucket_sets import load_bucket_set

    return _with_ids(load_bucket_set(spec).table, spec)


def _with_ids(table: pa.Table, spec: str) -> pa.Table:
    if not any(join in table.column_names for join in _JOINS):
        must = "have a column example_id (or input_id) to join its texts by"
        raise input_error("report", "texts", must, got=table.column_names, remedy=f"Add one to {spec}.")
    return table


def set_texts(
    aligned: AlignedSet,
    kept: Sequence[Path | LogTexts | None],
    files: Sequence[TextsTable],
    names: SourceOptions,
    columns: Sequence[str],
) -> AlignedSet:
    """Return the set with the texts of its rows from all sources together.

    The user's `files` (a prepared set of the same name first) come before the texts that each model's run `kept`, and
    these before the predictions' own. What agents called is theirs, whatever the others' runs are called. A row has the
    texts of the first source with that row, and where `columns` are named also those columns of further sources. The
    columns of `names` are no texts; by default the task's columns are shown, else those that look like texts.
    """
    has_set = any(file.name == aligned.name for file in files)
    wanted = (file for file in files if not has_set or file.name in (None, aligned.name))
    by_name = sorted(wanted, key=lambda file: file.name is None)
    loads: list[tuple[int | None, Callable[[], pa.Table]]] = [(None, file.load) for file in by_name]
    read = partial(read_table, function="report", parameter="texts")
    for number, run in enumerate(kept):
        load = partial(run.table, columns) if isinstance(run, LogTexts) else partial(read, run)
        loads += [] if run is None else [(number if aligned.are_agents else None, load)]
    parts: list[SetTexts] = []
    for whose, table in loads:
        if (part := _joined(aligned, table(), names, columns)) is not None:
            of_rows = zip(part.rows, aligned.base[0].tolist(), strict=True)
            parts.append(replace(part, rows=[row if whose in (None, owner) else None for row, owner in of_rows]))
        if _is_whole(parts, columns):
            break
    if not _is_whole(parts, columns) and (in_file := _own(aligned, names, columns)) is not None:
        parts.append(in_file)
    return replace(aligned, texts=_merged(parts, all_columns=bool(columns)) if parts else None)


def _is_whole(parts: Sequence[SetTexts], columns: Sequence[str]) -> bool:
    """Return whether every row has its texts in all columns that were named."""
    have = {column for part in parts for column in part.columns}
    return (
        bool(parts)
        and have >= set(columns)
        and all(any(row) for row in zip(*(part.rows for part in parts), strict=True))
    )


def _merged(parts: Sequence[SetTexts], *, all_columns: bool) -> SetTexts:
    fields = tuple(dict.fromkeys(field for part in parts for field in part.columns))
    rows: list[list[str] | None] = []
    for of_row in zip(*(part.rows for part in parts), strict=True):
        known = [dict(zip(part.columns, row, strict=True)) for part, row in zip(parts, of_row, strict=True) if row]
        texts = {
            key: text for of_part in reversed(known if all_columns else known[:1]) for key, text in of_part.items()
        }
        rows.append([texts.get(field, "") for field in fields] if texts else None)
    return SetTexts(fields, rows)


def _joined(aligned: AlignedSet, table: pa.Table, names: SourceOptions, columns: Sequence[str]) -> SetTexts | None:
    """Return the texts of another table, by the first id that it and all predictions have."""
    fields = _text_columns(table, names, columns)
    predictions = [aligned.predictions[model].table for model in aligned.models]
    for join in _JOINS:
        if not fields or not all(join in each.column_names for each in (table, *predictions)):
            continue
        keys = [_strings(of_model[join]) for of_model in predictions]
        index = {key: row for row, key in enumerate(_strings(table[join]))}
        rows = [index.get(keys[owner][place]) for owner, place in _base(aligned)]
        if any(row is not None for row in rows):
            texts = [_strings(table[column]) for column in fields]
            return SetTexts(fields, [None if row is None else [text[row] for text in texts] for row in rows])
    return None


def _own(aligned: AlignedSet, names: SourceOptions, columns: Sequence[str]) -> SetTexts | None:
    tables = [aligned.predictions[model].table for model in aligned.models]
    fields = _text_columns(tables[0], names, columns, aligned.predictions[aligned.models[0]])
    if not fields:
        return None
    whole = (table if set(fields) <= set(table.column_names) else None for table in tables)
    texts = [[] if table is None else [_strings(table[column]) for column in fields] for table in whole]
    return SetTexts(fields, [[text[place] for text in texts[owner]] or None for owner, place in _base(aligned)])


def _base(aligned: AlignedSet) -> Iterator[tuple[int, int]]:
    """Yield for each row a model that has it and its place in that model's file."""
    return zip(*(part.tolist() for part in aligned.base), strict=True)


def _text_columns(
    table: pa.Table, names: SourceOptions, wanted: Sequence[str], predictions: Predictions | None = None
) -> tuple[str, ...]:
    if wanted:
        return tuple(c for c in wanted if c in table.column_names)
    named = tuple(c for c in table.column_names if c in _TASK_COLUMNS)
    if named:
        return named
    taken = {*KEY_COLUMNS, *PREDICTION_COLUMNS, names.bucket, names.prediction, names.label, names.role, names.group}
    taken |= set(names.stratum or ())
    if predictions is not None and "set" in predictions.metadata:
        taken |= set(predictions.strata)
    return tuple(c for c in table.column_names if c not in taken and _looks_like_text(table[c]))


def _looks_like_text(column: Any) -> bool:
    """Return whether most of the first hundred values are sentences."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    values = [value for value in column.slice(0, 100).to_pylist() if value]
    return bool(values) and sum(map(_is_sentence, values)) > len(values) / 2


def _is_sentence(value: str) -> bool:
    return " " in value.strip() or (len(value) > 7 and any(unicodedata.category(letter) == "Lo" for letter in value))


def _strings(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]
