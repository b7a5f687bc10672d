"""What is suspicious in the rows of a predictions file, as sentences beside its numbers, and what forbids a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paraconsist.data.arrays import rows_counted
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import CALLS, KEY_COLUMNS, PREDICTION_COLUMNS, RUN, VALUE, Predictions
from paraconsist.data.prompts import ASKED
from paraconsist.data.rows import Rows
from paraconsist.data.tables import is_among, is_text
from paraconsist.data.tasks import get_task, input_id
from paraconsist.errors import InputError, input_error, plural
from paraconsist.measures.alarms import (
    constant_predictions,
    nearly_constant,
    permuted_labels,
    repeated_runs,
    reversed_wordings,
)
from paraconsist.measures.catalogue import BUILT_IN, MeasureSpec
from paraconsist.measures.results import Result
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.scoring.roles import is_counted

_UNPARSED = {"wrong": "count as wrong answers", "own_class": "count as one more answer, wrong and the same each time"}
_MOSTLY, _ALIKE = 0.9, 0.4
_MOST_LISTED, _LONGEST = 3, 60
_LEAST_IN_TAIL = 10
_FEW_ROWS = 10
_ALIKE_EVERYWHERE = 0.9  # share of pairs of answers to different problems
#: Counted role -> what its texts are called, and the roles that have its gold label, with their name.
_ONE_LABEL = {
    PARAPHRASE: ("rewordings", [ORIGINAL], "originals"),
    "merged": ("merged texts", ["part_1", "part_2"], "parts"),
}
#: Roles whose rule may allow several labels.
_CONCLUSIONS = [spec.target for spec in BUILT_IN if "target.allowed" in spec.arguments.values()]


def row_alarms(
    rows: Rows,
    *,
    label_names: Sequence[str],
    unparsed: str,
    n_dropped: int,
    confidence_level: float,
    n_resamples: int | None,
    has_right_answers: bool = True,
) -> list[str]:
    """Return the alarms; none where nothing is suspicious.

    `rows` are as read, before the policy `unparsed`, which left out `n_dropped` buckets. `label_names` are all labels,
    where the file says so; `n_resamples` is None where no interval is a bootstrap's. Without `has_right_answers` gold
    labels are not looked at.
    """
    notes = [_unparsed(rows, unparsed, n_dropped)]
    notes += [_no_gold(rows), _several_right(rows), _other_gold(rows)] if has_right_answers else []
    notes.append(None if n_resamples is None else _few_resamples(confidence_level, n_resamples))
    parsed = rows.where(rows.has_gold & ~rows.unparsed)
    if len(parsed) and rows.calls is None:  # an agent that never succeeds has no labels to rename
        named = parsed.where(_is_gold_name(parsed)) if is_text(parsed.labels) else parsed
        notes.append(permuted_labels(named.predictions, named.labels) if len(named) else None)
        notes.append(None if label_names else _strays(parsed))
    if rows.variants is not None and rows.values is None and not rows.unparsed.all():
        read = rows.where(~rows.unparsed)
        notes.append(reversed_wordings(read.predictions, read.buckets, read.variants, read.groups))
    return [note for note in notes if note is not None]


def degenerate(rows: Rows, unparsed: str, label_names: Sequence[str] = ()) -> list[str]:
    """Return why a consistency says nothing of the model whatever its value; none where it does.

    A constant or nearly constant answer, labels that never meet, and answers nearly none of which could be read are all
    consistent without reading a text. `rows` are as read, `unparsed` is the policy, `label_names` as in `row_alarms`.
    """
    n, n_unparsed = len(rows), int(rows.unparsed.sum())
    parsed = rows.where((rows.has_gold | rows.is_without_gold) & ~rows.unparsed)
    if not len(parsed):
        return [_nothing_parsed(rows)] if n_unparsed == n else []
    if rows.calls is not None:  # whether runs of agents succeeded: all may, or none
        return []
    clusters = parsed.buckets if parsed.groups is None else parsed.groups
    if label_names:
        answers, golds = (_named(column, label_names) for column in (parsed.predictions, parsed.labels))
        parsed = replace(parsed, predictions=answers, labels=golds)
    constant = constant_predictions(parsed.predictions)
    if constant is not None and n_unparsed and unparsed != "drop_bucket":
        only = parsed.predictions.item(0)
        constant = f"every answer that could be read is {only!r}: wordings differ only in whether theirs could be read"
    notes = [constant]
    if constant is None and rows.same is not None and rows.chance >= _ALIKE_EVERYWHERE:
        share = f"{100 * rows.chance:.0f} % of pairs of answers to different problems are the same by this comparer"
        notes.append(f"{share}: a constant answer has consistency 1 regardless of the text")
    if not rows.is_without_gold:
        notes += [nearly_constant(parsed.predictions, parsed.labels, clusters), _never_right(parsed)]
    if n_unparsed >= _MOSTLY * n and unparsed != "drop_bucket":
        notes.append(
            f"{n_unparsed:,} of {n:,} predictions are unparsed, so the results reflect parsing failures, not the "
            "model; fix the parser"
        )
    return [note for note in notes if note is not None]


def _named(labels: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    if is_text(labels):
        return labels
    distinct, places = np.unique(labels, return_inverse=True)
    return np.array([names[i] if i in range(len(names)) else str(i) for i in distinct.tolist()])[places]


def check_not_swapped(rows: Rows) -> None:
    """Raise if gold labels differ between wordings of a problem and predictions never do: the columns are swapped."""
    paraphrases = rows.where(rows.roles == PARAPHRASE)
    if rows.is_without_gold or len(paraphrases) < _FEW_ROWS:
        return
    codes = np.unique(np.asarray(paraphrases.buckets), return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1][codes]
    differ = paraphrases.labels != paraphrases.labels[first]
    if differ.any() and (paraphrases.predictions == paraphrases.predictions[first]).all():
        row = int(np.argmax(differ))
        got = [paraphrases.labels[first].item(row), paraphrases.labels.item(row)]
        look = f"Look at bucket {np.asarray(paraphrases.buckets).item(row)!r}"
        remedy = f"{look}. Predictions never differ: are the columns of `prediction` and this swapped?"
        raise input_error("score", "label", "give every row of a bucket the same gold label", got=got, remedy=remedy)


def repeated_rows(table: pa.Table, columns: SourceOptions) -> list[str]:
    """Return a warning if rows of a table without ids are equal in every column, which then are copies.

    Tables that hold nothing but buckets, answers, labels and what is said of a whole bucket have equal rows; there
    every row must occur equally often, twice or more, while answers to some problems differ.
    """
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    if columns.example in flat or not flat:
        return []
    counted = rows_counted(table, flat)
    if counted is None:
        return []
    counts = counted["count_all"].to_numpy()
    n = int((counts - 1).sum())
    read = {getattr(columns, name) for name in ("bucket", "prediction", "label", "role", "group", "original")}
    read |= {"raw_output", VALUE, columns.confidence, *columns.probabilities, *(columns.stratum or ())}
    of_buckets = [columns.bucket, *({*flat} - read)]
    if columns.bucket in flat and len(counted.group_by(of_buckets).aggregate([])) == len(
        counted[of_buckets[0]].unique()
    ):
        n_different = Counter(counted[columns.bucket].to_pylist()).values()
        if sum(n > 1 for n in n_different) < _FEW_ROWS:
            return []
        n = len(table) - len(table) // int(np.gcd.reduce(counts))
    equal = f"{n:,} of {len(table):,} rows equal another row in every column: if they are copies, leave them out"
    return [f"{equal}; if they are not, name the column that tells the rows of a problem apart as `example`"][: n > 0]


def repeated_texts(table: pa.Table, columns: SourceOptions) -> list[str]:
    """Return a warning if rows of a bucket in one role have the same text, as in a set given twice."""
    text = ["input_id"] if "input_id" in table.column_names else [*ASKED, "context", "choices", "system"]
    text = [name for name in text if name != columns.bucket and name in table.column_names]
    if columns.trial is not None or columns.bucket not in table.column_names or {"input_id", *ASKED}.isdisjoint(text):
        return []
    texts = rows_counted(table, [columns.bucket, *text])
    if texts is None or len(texts) == len(texts[columns.bucket].unique()):  # it is the problem's, not a wording's
        return []
    names = dict.fromkeys([columns.bucket, *text, columns.role, columns.variant])
    counted = rows_counted(table, [name for name in names if name and name in table.column_names])
    n = 0 if counted is None else len(table) - len(counted)
    equal = f"{n:,} of {len(table):,} rows ask what another row of their bucket asks: copies agree trivially, so leave"
    several = "if answers were sampled several times, name the columns of the wording, `variant`, and of the `trial`"
    return [f"{equal} them out; {several}"][: n > 0]


def copied_runs(table: pa.Table, columns: SourceOptions) -> list[str]:
    """Return a warning about runs of agents that are copies of one another."""
    names = ("raw_output", columns.bucket, RUN, columns.prediction)
    if not {CALLS, *names} <= {*table.column_names}:
        return []
    answers, buckets, runs, won = (table[name].to_pylist() for name in names)
    return repeated_runs([answer or "" for answer in answers], buckets, runs, won)


def judged(spec: MeasureSpec, rows: Rows, result: Result) -> Result:
    """Return a measure's result; undefined (nan), with the reason as first warning, if its rows cannot be judged.

    If no answer could be read, no value is defined. If a measure of buckets finds none with two rows, only accuracies
    are. The values of one bucket are of this problem alone, which the first warning says.
    """
    right = "(is the column of problems, `bucket`, the right one?)"
    if rows.unparsed.all():
        return _undefined(result, [_nothing_parsed(rows)])
    counted = np.asarray(rows.buckets)[is_counted(spec, rows)]
    if len(counted) and (counted == counted[0]).all():
        alone = f"there is one problem: {spec.symbol} is of it alone and says nothing of others {right}"
        return replace(result, warnings=(alone, *result.warnings))
    if rows.calls is None and spec.mean_over == "buckets" and result["n_examples"] == result["n_buckets"]:
        reason = f"no problem has two rows to compare, so {spec.symbol} is undefined: give several wordings of each"
        reason += ", or a file of each wording with `variant` file"
        return _undefined(result, [f"{reason} {right}", *result.warnings], but="accuracy")
    return result


def _undefined(result: Result, warnings: Sequence[str], *, but: str | None = None) -> Result:
    """Return a result with nan for every number that is no count; keys that end in `but` keep their values."""

    def undefined(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: inner if but and k.endswith(but) else undefined(inner) for k, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [undefined(inner) for inner in value]
        return float("nan") if isinstance(value, float) else value

    return replace(result, **{**undefined(result), "signature": result.signature, "warnings": tuple(warnings)})


def _nothing_parsed(rows: Rows) -> str:
    return (
        f"no answer could be read (all {len(rows):,} predictions are unparsed), so nothing is defined: look at the raw "
        "answers and mend what reads them, or name the column that holds them"
    )


def _unparsed(rows: Rows, policy: str, n_dropped: int) -> str | None:
    if rows.is_without_gold and not is_text(rows.predictions) and (rows.predictions == -1).any():
        return "-1 is taken for a label: if it means unparsed, give gold labels, or empty cells"
    if not rows.unparsed.any():
        return None
    if rows.unparsed.all():
        return _nothing_parsed(rows)
    became = _UNPARSED.get(policy, f"take {plural(n_dropped, 'problem')} out of the numbers")
    if rows.is_without_gold and policy == "wrong":
        became = "count as answers that are the same as no other"
    elif policy == "wrong" and PARAPHRASE in rows.roles:
        became += ": two of them are both wrong, so consistent, in P_C; else each differs from all"
    return f"{int(rows.unparsed.sum())} of {len(rows)} predictions are unparsed{' (-1)' * rows.is_marked} and {became}."


def _never_right(rows: Rows) -> str | None:
    """Labels that do not meet where that proves no other vocabulary; `data.rows.check_meeting` refuses those."""
    if len(rows) < _FEW_ROWS or rows.values is not None or is_among(rows.predictions, rows.labels).any():
        return None
    pair = f"{rows.predictions.item(0)!r} for {rows.labels.item(0)!r}"
    return f"no prediction is any row's gold label ({pair}): do both columns name labels alike?"


def sentences(rows: Rows) -> str | None:
    """Answers in free text that no comparer read; labels of several words are few, whatever the number of problems."""
    is_read = rows.values is not None or not is_text(rows.predictions)
    texts = set() if is_read else set(rows.predictions[~rows.unparsed].tolist())
    n_long = sum(len(text.split()) > 2 for text in texts)  # labels have a word or two
    if len(texts) < max(_FEW_ROWS, rows.n_problems / 2) or 2 * n_long <= len(texts):
        return None
    return "most answers are sentences, and only equal texts are the same: name a comparer as `same` (tokens, ...)"


def _is_gold_name(rows: Rows) -> NDArray[np.bool_]:
    """Return which answers are a gold label but for case and outer spaces: other text is no renamed label."""
    known = {str(label).strip().casefold() for label in rows.labels.tolist()}
    return np.array([str(answer).strip().casefold() in known for answer in rows.predictions.tolist()], dtype=np.bool_)


def _strays(rows: Rows) -> str | None:
    """Answers that are no label: a "Yes." among Yes and No is wrong in every row, and a class of its own."""
    known = set(rows.labels.tolist())
    n_problems = len(np.unique(np.asarray(rows.buckets)))
    if rows.values is not None or not is_text(rows.labels) or 2 * len(known) > n_problems:  # each has its own answer
        return None
    known |= {label for rule in rows.allowed or () for label in rule}
    counts = Counter(rows.predictions.tolist())
    strays = [(answer, n) for answer, n in counts.most_common() if answer not in known]
    if not strays or len(strays) == len(counts):
        return None
    folded, parts = {label.casefold(): label for label in known}, []
    for answer, n in strays[:_MOST_LISTED]:
        near = get_close_matches(answer.casefold()[:_LONGEST], folded, 1, _ALIKE)
        of = f" (nearest: {folded[near[0]]!r})" if near else ""
        parts.append(f"{answer[:_LONGEST]!r} in {plural(n, 'row')}{of}")
    more = f" and {len(strays) - _MOST_LISTED} more" if len(strays) > _MOST_LISTED else ""
    return f"answers that are no row's gold label count as wrong: {', '.join(parts)}{more}"


def _no_gold(rows: Rows) -> str | None:
    """Data sets of the Hugging Face platform write -1 where there is no gold label; here it is a label."""
    if is_text(rows.labels) or (rows.predictions == -1).any():
        return None
    without = np.flatnonzero(rows.labels == -1).tolist()
    n = sum(rows.allowed is None or rows.allowed[row] == [-1] for row in without)
    if not n:
        return None
    return (
        f"{n} of {len(rows)} rows have the gold label -1, which no prediction is: they count as wrong. "
        "If -1 says that there is no gold label, leave these rows out."
    )


def _several_right(rows: Rows) -> str | None:
    """Only of a rule's conclusion may several labels be right."""
    n = int(np.count_nonzero(~rows.has_gold & ~np.isin(rows.roles, _CONCLUSIONS)))
    if not n or rows.is_without_gold:
        return None
    return (
        f"{n} of {len(rows)} rows allow several labels and are not the conclusion of a rule: accuracy and the measures "
        "that ask for right answers count them as wrong. Give each one right label, or leave them out."
    )


def _other_gold(rows: Rows) -> str | None:
    """Paraphrases keep the gold label of their original, merged texts that of their parts; else one label is wrong."""
    sentences = []
    for target, (texts, partners, names) in _ONE_LABEL.items():
        counted, others = (
            list(zip(np.asarray(rows.buckets)[of].tolist(), rows.labels[of].tolist(), strict=True))
            for of in (rows.roles == target, np.isin(rows.roles, partners))
        )
        first = dict(reversed(counted))
        other = [bucket for bucket, label in others if first.get(bucket, label) != label]
        if other:
            such = f"(such as {other[0]!r})"
            sentences.append(f"{len(other)} of {len(others)} {names} have another gold label than their {texts} {such}")
    return "; ".join(sentences) or None


def _few_resamples(confidence_level: float, n_resamples: int) -> str | None:
    needed = int(np.ceil(_LEAST_IN_TAIL * 2.0 / (1.0 - confidence_level) - 1e-9))
    if n_resamples >= needed:
        return None
    return (
        f"{n_resamples:,} resamples leave fewer than {_LEAST_IN_TAIL} in each tail of a {confidence_level:.4g} "
        f"interval: bootstrap intervals are unsteady, take at least {needed:,}"
    )


# ---- rows that a model was trained on


@dataclass(frozen=True)
class Overlap:
    """What of a predictions file stands in a training file."""

    n_shared: int  # rows whose input stands in the training file
    n_rows: int  # rows of the predictions file
    by_role: dict[str, int]  # `n_shared` by the rows' role
    columns: tuple[str, ...]  # what was compared

    def warnings(self) -> list[str]:
        """Return a sentence where a row is shared."""
        roles = ", ".join(f"{n:,} with role {role}" for role, n in sorted(self.by_role.items()))
        shared = (
            f"{self.n_shared:,} of {self.n_rows:,} rows stand in the training file, word for word ({roles}; compared: "
            f"{', '.join(self.columns)}): the model may remember them"
        )
        return [shared] if self.n_shared else []


def training_overlap(predictions: Predictions, training: pa.Table, *, role: str = "role") -> Overlap:
    """Find the rows of a predictions file whose input the model was trained on; labels are not compared.

    A run's file knows the hash of every input, and the training file needs the columns that the task reads. Files made
    elsewhere are compared in the text columns that both files have. `role` is the role column of `predictions`, if
    there is one. InputError if the files have no column to compare, or a text is missing.
    """
    table, task = predictions.table, predictions.metadata.get("task")
    columns: tuple[str, ...] = get_task(task).columns if task is not None else ()
    if task and columns and "input_id" in table.column_names and set(columns) <= set(training.column_names):
        try:
            seen = {input_id(task, row) for row in training.select(list(columns)).to_pylist()}
        except InputError as problem:
            raise InputError(f"score: `training_file` cannot be compared: {problem}") from None
        shared = [one in seen for one in table["input_id"].to_pylist()]
    else:
        needed = f"the columns that task {task} reads: {', '.join(columns)}" if task else "text columns"
        columns = tuple(name for name in table.column_names if all(_has_text(t, name) for t in (table, training)))
        if not columns:
            remedy = "Rename its columns to those of the predictions file."
            raise input_error("score", "training_file", f"have {needed}", got=training.column_names, remedy=remedy)
        known, texts = ([_stripped(t[name]) for name in columns] for t in (training, table))
        seen_texts = set(zip(*known, strict=True))
        shared = [row in seen_texts for row in zip(*texts, strict=True)]
    roles = table[role].to_pylist() if role in table.column_names else ["paraphrase"] * len(shared)
    by_role = Counter(str(place) for place, is_shared in zip(roles, shared, strict=True) if is_shared)
    return Overlap(sum(shared), len(shared), dict(by_role), columns)


def _has_text(table: pa.Table, name: str) -> bool:
    """Say whether a column is there and holds text, not ids, labels or answers."""
    if name in {*KEY_COLUMNS, *PREDICTION_COLUMNS, "gold", "split"} or name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    return bool(pc.any(pc.match_substring(table[name], " ")).as_py())  # names of labels and sources have one word


def _stripped(column: pa.ChunkedArray) -> list[str]:
    return [(text or "").strip() for text in column.to_pylist()]
