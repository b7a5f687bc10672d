"""The predictions file: the one seam between the code that runs models and the code that measures them.

A row is a row of a bucket set. The runner writes Parquet; JSON Lines and CSV can be read too. The identity of the run
(model, data, label names, versions) travels in the Parquet file's own metadata, so that a file that was moved or mailed
still names its run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

import pyarrow as pa

from paraconsist.data.tables import NOTES, read_table
from paraconsist.data.tasks import QUESTIONS
from paraconsist.data.writing import write_row_groups, write_table
from paraconsist.errors import input_error
from paraconsist.files import Json

#: The columns of every row of a bucket set, in the order in which they are written.
KEY_COLUMNS = ("example_id", "input_id", "bucket_id", "group_id", "role", "label", "allowed_labels")
#: The column with the kind of failure of an input; it is absent where none failed.
UNANSWERED = "unanswered"
#: The column that the epochs of a problem share, in logs whose buckets are epochs.
PROBLEM = "bucket_of_epochs"
#: The column that the trials of an input share, in logs whose trials are read for the noise floor.
TRIED = "sample_of_trials"
#: The column that names the wording of each row, in logs of tasks that `paraconsist reword` wrote.
WORDING = "wording"
#: The column that names the file of each row, where several files are read as one set.
FILE = "file"
#: The choices and the accepted answers of a question, and the number of what a comparer read in an answer in free text:
#: equal numbers, equal values; null where it could read nothing.
CHOICES, ACCEPTED, VALUE = "choices", "accepted_answers", "answer_value"
#: The tools that an agent's run called, in order (a list of names, or a text with a line each), with what arguments (a
#: list, or text, of as many), and which run it is, under any of these names.
CALLS, ARGUMENTS, RUN = "calls", "arguments", "run"
TRIALS = ("trial", RUN, "run_id", "epoch", "attempt")
#: The columns that a run adds.
PREDICTION_COLUMNS = ("prediction", "probabilities", "raw_output", UNANSWERED)

#: The columns by which this package's own sets and studies break results down. Other columns of a set, which may name
#: the author of a text, are kept only on request.
STRATUM_COLUMNS = (
    *("aflite_score", "challenge", "confidence", "context_id", "copies_original", "decile", "difficulty", "generator"),
    *("gold_label", "negation_method", "paraphrased", "relation", "rewording", "rule", "source", "source_split"),
    *("source_task", "theme"),
)

#: The key of this package's metadata, which are JSON, in a Parquet file.
METADATA_KEY = b"paraconsist"
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("label_names", "measures", "notes"), (list, "a list of names")),
    **dict.fromkeys(("model", "source", "inputs", "until", "endpoint"), (dict, "a JSON object")),
    **dict.fromkeys(("set", "task", "label_map"), (str, "text")),
}


class InputCounts(TypedDict, total=False):
    """How many inputs of a run failed or were cut, as ``run.json`` and predictions hold it."""

    n_inputs: int
    n_cut: int
    most_tokens_cut: int
    n_unfinished: int  # written answers that the limit of tokens cut, before they named a label if they should
    n_failed: int
    failed: dict[str, int]  # kind -> number, the most frequent first
    first_failed: list[str]  # input ids


class Metadata(TypedDict, total=False):
    """The identity of a run; files of other programs may lack any of the keys and have further ones."""

    label_names: list[str]
    measures: list[str]
    notes: list[str]  # sentences for the reader
    strata: list[str]
    texts: list[str]  # columns of a log's texts
    model: Json
    source: Json  # of a log: format, tool, version, file, metric, and whether that judged the answers
    inputs: InputCounts
    endpoint: Json  # what its answers came to, and the models that gave them
    set: str
    set_fingerprint: str | None
    split: str | None
    task: str
    label_map: str
    limit: int | None
    until: Json  # the condition on which a run stopped asking, and how its buckets were drawn
    part: str | None
    n_rows: int
    published: Json
    excluded: Json  # numbers of buckets and rows
    relations: Json | None  # of probabilities that belong together
    same: str  # the comparer of answers in free text
    right: str  # that of answers and accepted ones
    same_pairs: frozenset[tuple[int, int]] | None  # values of a bucket that are the same, where equality is not all
    classes: Mapping[tuple[str, str], str]  # bucket and answer -> its class, of those that were made by hand
    by_hand: Json  # numbers of verdicts on pairs that these made, and of those against the comparer's
    chance: float  # share of pairs of answers to different problems that are the same


@dataclass(frozen=True)
class Predictions:
    """The rows of a predictions file and the identity of the run that made them."""

    table: pa.Table  # a row for each row of the bucket set: `KEY_COLUMNS`, strata, `PREDICTION_COLUMNS`
    metadata: Metadata = field(default_factory=Metadata)  # empty for files of other programs

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels in order; empty if the file does not name them."""
        return tuple(self.metadata.get("label_names", ()))

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns that results can be broken down by."""
        known = {*KEY_COLUMNS, *PREDICTION_COLUMNS, CHOICES, ACCEPTED, VALUE}
        return tuple(name for name in self.table.column_names if name not in known)


def write_predictions(path: Path, table: pa.Table | Iterator[pa.Table], metadata: Mapping[str, object]) -> int:
    """Write a predictions file atomically into a folder that exists; return its number of rows.

    `table` may be an iterator over the file's row groups, at least one, which are in memory one at a time.
    """
    if isinstance(table, pa.Table):
        write_table(with_identity(table, metadata), path)
        return len(table)
    return write_row_groups((with_identity(part, metadata) for part in table), path)


def with_identity(table: pa.Table, metadata: Mapping[str, object]) -> pa.Table:
    """Return the table with the run's identity as its only metadata."""
    return table.replace_schema_metadata({METADATA_KEY: json.dumps(dict(metadata), sort_keys=True).encode()})


def read_predictions(
    path: str | os.PathLike[str], encoding: str | None = None, names: Collection[str] = ()
) -> Predictions:
    """Read a predictions file in any of its formats (Parquet, JSON Lines, CSV, TSV); see `read_table`.

    InputError if the file is absent, cut short, empty or of an unknown format, or its metadata are malformed.
    """
    table = read_table(path, function="read_predictions", encoding=encoding, names=names)
    of_file = table.schema.metadata or {}
    try:
        metadata = json.loads(of_file.get(METADATA_KEY, b"{}"))
        wrong = "metadata" if not isinstance(metadata, dict) else _wrong_field(metadata)
    except (ValueError, RecursionError):
        wrong = "metadata"
    if wrong is not None:
        must = f"hold a run's metadata, with {_KINDS.get(wrong, (dict, 'a JSON object'))[1]} as {wrong}"
        raise input_error("read_predictions", "path", must, got=str(path), remedy="Write the file again.")
    if NOTES in of_file:
        metadata = {**metadata, "notes": [*metadata.get("notes", []), *json.loads(of_file[NOTES])]}
    return Predictions(table, cast(Metadata, metadata))


def _wrong_field(metadata: Json) -> str | None:
    """Return the first field of a run's metadata that has the wrong type."""
    for name, (kind, _) in _KINDS.items():
        value = metadata.get(name, kind())
        if type(value) is not kind or any(type(item) is not str for item in (value if isinstance(value, list) else ())):
            return name
    return None


def answered_by(served: Mapping[str, int]) -> str:
    """Return the models that answered, with their numbers of requests, the commonest first."""
    counts = Counter({name: n for name, n in served.items() if isinstance(n, int)})  # of a file of anybody's
    names = [f"{name} ({n:,})" for name, n in counts.most_common()]
    return ", ".join([*names[:3], *[f"{len(names) - 3} more"] * (len(names) > 3)])


def input_notes(metadata: Metadata) -> list[str]:
    """Return a sentence each on the inputs of a run that failed, were cut, or have answers that were cut.

    Also on a run over an endpoint that several models answered.
    """
    counts, model = metadata.get("inputs"), metadata.get("model", {})
    served = metadata.get("endpoint", {}).get("served")
    notes = []
    if isinstance(served, dict) and len(served) > 1:
        notes.append(f"its answers are of several models, or builds of one: {answered_by(served)}")
    if counts is None:
        return notes
    n = f"{counts.get('n_inputs')} inputs"
    if counts.get("n_failed"):
        kinds = ", ".join(f"{number} {kind}" for kind, number in dict(counts.get("failed", {})).items())
        first = ", ".join(map(str, counts.get("first_failed", [])))
        notes.append(f"{counts['n_failed']} of {n} have no answer and count as unparsed ({kinds}; the first: {first})")
    if counts.get("n_unfinished"):
        limit = f" at {model['max_new_tokens']} tokens" if "max_new_tokens" in model else ""
        what = " before they named a label, and count as unparsed"
        what = ": their beginnings are compared" if metadata.get("task") == QUESTIONS.name else what
        cut = f"{counts['n_unfinished']} of {n} have answers that were cut{limit}{what}"
        notes.append(f"{cut}; give a higher `max_new_tokens`")
    if counts.get("n_cut"):
        limit = f" of {length} tokens" if (length := model.get("max_length")) is not None else ""
        notes.append(
            f"{counts['n_cut']} of {n} are longer than the model's window{limit} and were cut, the longer text of a "
            f"pair first, by up to {counts.get('most_tokens_cut')} tokens"
        )
    return notes
