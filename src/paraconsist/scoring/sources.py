"""What lies behind what a user names: a predictions file, another tool's log, a run folder, a table in memory.

`open_source` is the one place that says so; every command and every function that takes predictions calls it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.foreign import read_yaml
from paraconsist.data.logs.format import SeveralModels
from paraconsist.data.logs.reading import LogTexts, of_one_model, read_logs
from paraconsist.data.long_format import (
    bucket_ids,
    in_long_format,
    named_labels,
    own_ids,
    statement_column,
    unlabelled_buckets,
    without_buckets,
)
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import TRIED, Metadata, Predictions, read_predictions
from paraconsist.data.published import PREFIX, published_folder
from paraconsist.data.rows import Rows
from paraconsist.data.sharing import local_names
from paraconsist.data.store import RunFolder
from paraconsist.data.tables import are_rows, column_error, column_of, floats, in_arrow, read_table, values_of
from paraconsist.errors import input_error
from paraconsist.files import json_in
from paraconsist.measures.buckets import partition
from paraconsist.measures.catalogue import CATALOGUE, COHERENCE, PLACES, counted_roles
from paraconsist.measures.results import Values
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.scoring.by_hand import ClassLine, answer_key, read_classes
from paraconsist.scoring.free_text import compared
from paraconsist.scoring.noise import Repeats, split_trials

_TEST = "_test"
_BUCKET, _SET = "bucket_id", "set"  # columns of lists of buckets to exclude
_MOST_NAMED = 3


@dataclass(frozen=True)
class Source:
    """One set as one model answered it, and what lies beside it."""

    name: str  # the set's, or the file's if it does not name its set
    predictions: Predictions
    columns: SourceOptions = field(default_factory=SourceOptions)  # names of the columns of `predictions`
    path: Path | None = None  # None for a table in memory
    test: Predictions | None = None  # the model's answers on the full test set
    #: The same inputs asked again: a file of the run folder, or further rows of a table.
    noise: Path | Repeats | None = None
    texts: Path | LogTexts | None = None  # what the model read: a file of the run folder, or the log itself
    has_name: bool = True  # whether the file says which set it is
    excluded: frozenset[str] = frozenset()  # buckets that were left out of `predictions`, by their ids as text
    target: str | None = None  # the role of the rows that it is about, where others of its file are another set

    @property
    def model(self) -> str | None:
        """The model's name, where the file says it."""
        return model_of(self.predictions)

    @property
    def is_plain(self) -> bool:
        """Whether it has originals only: there is nothing that they could be consistent with."""
        table = self.predictions.table
        return "role" in table.column_names and table["role"].unique().cast(pa.string()).to_pylist() == [ORIGINAL]

    @property
    def is_log(self) -> bool:
        """Whether another tool wrote it."""
        return "source" in self.predictions.metadata

    @cached_property
    def scored_rows(self) -> dict[bool, Rows]:
        """The rows as `score` read them, by whether with probabilities: a comparison does not read them again."""
        return {}


@dataclass(frozen=True)
class Opened:
    """What a user named, opened."""

    sets: dict[str, Source]  # the bucket sets by name
    plain: dict[str, Source] = field(default_factory=dict)  # sets of originals alone: full test sets, development rows
    path: Path | None = None
    run: Values = field(default_factory=dict)  # a run folder's ``run.json``, as it is; empty elsewhere
    saved: Values = field(default_factory=dict)  # its ``results.json``

    @property
    def saved_is_newer(self) -> bool:
        """Whether the saved results were written after the predictions."""
        files = [source.path for source in (*self.sets.values(), *self.plain.values()) if source.path is not None]
        if not self.saved or self.path is None or not files:
            return False
        return RunFolder(self.path).results_file.stat().st_mtime >= max(file.stat().st_mtime for file in files)

    def one(self, function: str, parameter: str, wanted: str | None) -> Source:
        """Return the set of this name, or the only one; InputError if there are none or several."""
        sets = [source for name, source in self.sets.items() if wanted in (None, name)]
        if len(sets) != 1:
            must = "be one set" if wanted is None else f"have the set {wanted!r}"
            remedy = "Say which with `set`, or give its file."
            raise input_error(function, parameter, must, got=sorted(self.sets), remedy=remedy)
        return sets[0]


def open_source(
    named: Any, options: SourceOptions | None = None, *, test: Any = None, function: str = "score"
) -> Opened:
    """Open predictions, whatever they are.

    `named` is a predictions file (Parquet, JSON Lines, CSV, TSV), a log of another tool, a folder of logs, a run
    folder, a table in memory (pandas, polars, pyarrow, `datasets.Dataset`, a list of rows), several files of one run,
    or published predictions (``published:paranlu/roberta-large``: see `paraconsist.data.published`); `test` the model's
    predictions on the full test set. InputError if there is no such file, it is of no known format, or it lacks a
    column that was named.
    """
    options = options or SourceOptions()
    several = list(named) if isinstance(named, (list, tuple)) and not are_rows(named) else [named]
    if not several:
        raise input_error(function, "path", "name at least one file", got=[])
    beside = None
    if test is not None:
        (beside,) = _read([test], replace(options, bucket="", original=None, stratum=None), function).values()
        if limit := beside.metadata.get("limit"):
            must = "be predictions on the full test set"
            raise input_error(function, "test_predictions", must, got=f"those on its first {limit} rows")
        if options.label_names is not None and "source" not in beside.metadata:
            beside = named_labels(beside, options.label, options.prediction, list(options.label_names))
    paths = [Path(one) for one in several] if _are_paths(several) else []
    paths = [published_folder(p.as_posix(), function) if str(p).startswith(PREFIX) else p for p in paths]
    if files := _files_of_run(paths, function):
        runs = {file: read_predictions(file) for file in files}
        sources = [Source(str(p.metadata.get("set", file.stem)), p, path=file) for file, p in runs.items()]
    else:
        read, logs = _read(paths or several, options, function), LogTexts(tuple(paths), options)
        sources = [_of_file(name, predictions, paths, logs) for name, predictions in read.items()]
    sources = [part for source in sources for part in by_roles(source, options, is_only=len(sources) == 1)]
    lines = [] if options.classes is None else read_classes(options.classes, function)
    sources = [_shaped(source, options, lines) for source in sources]
    if lines:
        _check_classes(lines, sources, function)
    if files:
        opened = _as_run(RunFolder(paths[0]), sources)
    else:
        opened = Opened({source.name: source for source in sources}, path=paths[0] if len(paths) == 1 else None)
    if lines or options.labelled:  # saved results are by the comparer alone, and of all buckets
        opened = replace(opened, saved={})
    if options.exclude is not None:
        opened = replace(opened, sets=without_listed(opened.sets, options.exclude, function), saved={})
    if beside is not None:
        sets = {name: replace(source, test=_compared_alike(beside, source)) for name, source in opened.sets.items()}
        opened = replace(opened, sets=sets)
    return opened


def _compared_alike(test: Predictions, source: Source) -> Predictions:
    """Return predictions on a full test set, each row a problem of its own, in classes by the comparer of a set."""
    same, row = source.predictions.metadata.get("same"), "\0row"
    if same is None:
        return test
    rows = replace(test, table=test.table.append_column(row, pa.array(np.arange(len(test.table)))))
    return compared(rows, replace(source.columns, bucket=row), same, source.predictions.metadata["right"])


def open_models(named: Any, options: SourceOptions | None = None, *, function: str) -> list[Opened]:
    """Open each model of what a user named, as `open_source` does: of a file with answers of several, each of these."""
    options = options or SourceOptions()
    try:
        return [open_source(named, options, function=function)]
    except SeveralModels as several:
        keys = ["model", "prediction"] if several.choice == "prediction" and not options.model else [several.choice]
        choices: list[dict[str, Any]] = [dict.fromkeys(keys, model) for model in several.models]
        if several.choice == "prediction" and options.original_prediction is not None:
            originals = [name.strip() for name in options.original_prediction.split(",")]
            if len(originals) != len(choices):
                must = f"name a column for each of {', '.join(several.models)}, in this order"
                got, remedy = options.original_prediction, "Join them by commas, as the predictions are."
                raise input_error(function, "original_prediction", must, got=got, remedy=remedy) from None
            choices = [{**choice, "original_prediction": name} for choice, name in zip(choices, originals, strict=True)]
        opened = [open_source(named, replace(options, **choice), function=function) for choice in choices]
        if several.choice == "prediction" and options.model:  # columns of one model's rows are known by their names
            opened = [_renamed(each, column) for each, column in zip(opened, several.models, strict=True)]
        return opened


def of_other(against: Path, named: Path, options: SourceOptions, function: str) -> tuple[Path, SourceOptions]:
    """Return where another model's answers are: in a file of their own, or in a table under its name or column.

    InputError if these are the answers that `options` take out of `named`.
    """
    choice = next((name for name in ("model", "prediction") if options.named(name) is not None), None)
    is_file = against.exists() or str(against).startswith(PREFIX)
    if choice is not None and (against == named or (not is_file and str(against) == getattr(options, choice))):
        remedy = "Of a table of several, give the other model's name."
        raise input_error(function, "against", "be of another model", got=str(against), remedy=remedy)
    other: dict[str, Any] = {str(choice): str(against)}
    return (against, options) if is_file or choice is None else (named, replace(options, **other))


def _renamed(opened: Opened, model: str) -> Opened:
    """Return what was opened as the answers of a model of this name."""
    sets = {}
    for name, source in opened.sets.items():
        metadata: Metadata = {**source.predictions.metadata, "model": {"model": model}}
        sets[name] = replace(source, predictions=replace(source.predictions, metadata=metadata))
    return replace(opened, sets=sets)


def model_of(predictions: Predictions) -> str | None:
    """Return the model's name, where the file says it."""
    model = predictions.metadata.get("model")
    name = model.get("model") if isinstance(model, Mapping) else None
    return None if name is None else str(name)


def public_model(predictions: Predictions) -> str | None:
    """Return the model's name without the folder that a local one is in."""
    name = model_of(predictions)
    return None if name is None else local_names(predictions.metadata).get(name, name)


def read_json(path: Path, function: str = "report") -> dict[str, Any]:
    """Return a run folder's JSON file, empty where there is none; InputError if it is no JSON."""
    if not path.is_file():
        return {}
    try:
        value = json_in(path)
    except (ValueError, OSError):
        remedy = "Mend or remove that file."
        raise input_error(function, "path", f"hold a readable {path.name}", got=str(path), remedy=remedy) from None
    return value if isinstance(value, dict) else {}


def _are_paths(several: Sequence[Any]) -> bool:
    return all(isinstance(one, (str, Path)) for one in several)


def _read(several: Sequence[Any], options: SourceOptions, function: str) -> dict[str, Predictions]:
    """Read files, logs or tables in memory."""
    if _are_paths(several):
        return read_logs([Path(one) for one in several], options)
    tables = [of_one_model(Predictions(in_arrow(one, function)), options) for one in several]
    return {f"predictions {i}" if len(tables) > 1 else "predictions": table for i, table in enumerate(tables, 1)}


def _files_of_run(paths: Sequence[Path], function: str) -> list[Path]:
    """Return the predictions files of a run folder; none where the paths are not one."""
    try:
        return RunFolder(paths[0]).predictions_files() if len(paths) == 1 and paths[0].is_dir() else []
    except OSError as problem:
        raise input_error(function, "path", f"name a file ({problem.strerror})", got=str(paths[0])) from None


def _of_file(name: str, predictions: Predictions, paths: Sequence[Path], logs: LogTexts) -> Source:
    path = next((path for path in paths if len(paths) == 1 or path.stem == name), None)
    source = Source(name, predictions, path=path)
    texts = None if path is None else _existing(path.parent.parent / "texts" / path.name)
    return replace(source, texts=replace(logs, set_name=name) if source.is_log else texts)


def _as_run(folder: RunFolder, sources: Sequence[Source]) -> Opened:
    """Return a run folder's sets, each with its full test set and its other files."""
    sets, plain = ({one.name: one for one in sources if one.is_plain is it} for it in (False, True))
    for name, source in sets.items():
        beside = plain.get(test_set_of(name))
        if beside is not None and beside.predictions.metadata.get("model") != source.predictions.metadata.get("model"):
            must = f"hold one model's predictions of {name} and of its full test set"
            raise input_error("score", "path", must, got=[source.model, beside.model])
        stem = "" if source.path is None else source.path.stem
        sets[name] = replace(
            source,
            test=None if beside is None or beside.predictions.metadata.get("limit") else beside.predictions,
            noise=_existing(folder.file_of("noise", stem)),
            texts=_existing(folder.file_of("texts", stem)),
        )
    return Opened(sets, plain, folder.path, read_json(folder.run_file), read_json(folder.results_file))


def by_roles(source: Source, options: SourceOptions, *, is_only: bool = True) -> list[Source]:
    """Return a set of each measure's rows where a file has those of several, such as paraphrases and negations.

    A set has the originals of its buckets. The first one also has those without any other row, and rows of no measure,
    which are refused there. The only file's sets are named by their role alone, unless it has a name.
    """
    source = replace(source, has_name="set" in source.predictions.metadata)
    predictions, names = source.predictions, SourceOptions() if source.is_log else options
    table, measures = predictions.table, predictions.metadata.get("measures", [])
    role, bucket = (
        table[name].type if name in table.column_names else pa.null() for name in (names.role, names.bucket)
    )
    is_flagged = options.original is not None or options.original_prediction is not None
    is_other = is_flagged or statement_column(table, names) is not None or COHERENCE.name in measures
    if is_other or not pa.types.is_string(role) or pa.types.is_nested(bucket) or pa.types.is_null(bucket):
        return [source]
    if table[names.role].null_count:  # which `read_rows` refuses
        return [source]
    found = {str(role).lower() for role in table[names.role].unique().to_pylist()}
    targets = counted_roles(found)
    if len(targets) < 2:
        return [source]
    known = {role for target in targets for role in PLACES[target]}
    roles, buckets = pc.utf8_lower(table[names.role]), table[names.bucket]
    having = [pc.is_in(buckets, buckets.filter(pc.equal(roles, target)).unique()) for target in targets]
    having[0] = pc.or_(having[0], pc.invert(reduce(pc.or_, having)))
    parts: list[Source] = []
    for target, has_row in zip(targets, having, strict=True):
        its = pc.is_in(roles, pa.array([*PLACES[target], *(() if parts else found - known)]))
        kept = pc.and_(its, pc.or_(has_row, pc.not_equal(roles, ORIGINAL)))
        metadata: Metadata = {**predictions.metadata}
        if measures:
            metadata["measures"] = [name for name in measures if CATALOGUE[name].target == target]
        name = target if is_only and not source.has_name else f"{source.name}:{target}"
        part = Predictions(table.filter(kept), metadata)
        parts.append(replace(source, name=name, predictions=part, has_name=True, target=target))
    return parts


def with_measures(sets: Mapping[str, Source], measures: Sequence[str] | None) -> dict[str, Source]:
    """Return the sets; of those that were one file, those that the measures are about; one about none is refused."""
    targets, present = {name: _target_of(name) for name in measures or ()}, [of.target for of in sets.values()]
    about = {name: of for name, of in sets.items() if not targets or of.target in (None, *targets.values())}
    if about and None not in present and (others := [name for name, of in targets.items() if of not in present]):
        raise input_error("score", "measure", f"be about rows of {' or '.join(map(str, present))}", got=others[0])
    return about or dict(sets)


def _target_of(measure: str) -> str:
    return (measure in CATALOGUE and CATALOGUE[measure].target) or PARAPHRASE  # where others are refused


def about_its_rows(source: Source, measures: Sequence[str] | None) -> Sequence[str] | None:
    """Return those of named measures that are about the rows of a set that was one file with others."""
    if source.target is None or measures is None:
        return measures
    return [name for name in measures if _target_of(name) == source.target] or measures


def of_its_rows(source: Source, predictions: Predictions) -> Predictions:
    """Return those of further predictions on the rows of a set's file that are of the set's buckets and roles."""
    table = predictions.table
    for name in (source.columns.bucket, source.columns.role):
        table = table.filter(pc.is_in(table[name], source.predictions.table[name].unique()))
    return replace(predictions, table=table)


def _shaped(source: Source, options: SourceOptions, lines: Sequence[ClassLine] = ()) -> Source:
    """Return a set as `options` and its file name its columns, with a row for each answer: what `read_rows` reads."""
    if part := source.predictions.metadata.get("part"):
        must, remedy = f"be a whole run, not part {part} of one", "`paraconsist merge` puts the parts together."
        raise input_error("score", "path", must, got=str(source.path), remedy=remedy)
    predictions, columns = in_long_format(source.predictions, options, source.name)
    statement, is_log = statement_column(predictions.table, columns), "source" in predictions.metadata
    excluded, noise = source.excluded, source.noise
    if options.labelled and statement is None and (excluded := unlabelled_buckets(predictions, columns)):
        predictions = without_buckets(predictions, columns.bucket, excluded, "without a gold label")
    if not is_log:
        predictions = replace(predictions, table=own_ids(predictions.table, columns))
    if statement is not None:
        predictions = _of_statements(predictions, statement, columns)
    elif options.relations is not None:
        must = "be given for statements, with a role and a probability in each row"
        raise input_error("score", "relations", must, got=str(options.relations))
    if lines:
        columns = replace(columns, classes=options.classes)
        classes = {(line.bucket, line.answer): line.named for line in lines if _is_about(line.set, source)}
        predictions = replace(predictions, metadata={**predictions.metadata, "classes": classes})
    has_labels = columns.label in predictions.table.column_names
    predictions = compared(predictions, columns, options.same, options.right)
    if has_labels and columns.label not in predictions.table.column_names:  # no problem, or not each, has one
        columns = replace(columns, label="")
    if options.trial is not None:
        example = TRIED if is_log else options.example
        if example not in predictions.table.column_names and options.named("example") is None:
            example = options.variant or example  # it says which wording was asked several times
        predictions, noise = split_trials(predictions, columns.bucket, example, options.trial)
    return replace(source, predictions=predictions, columns=columns, noise=noise, excluded=excluded)


def _is_about(set_name: str | None, source: Source) -> bool:
    """Return whether a line of a list is about a set; one that names no set, or a file that names none, may be."""
    return set_name in (None, source.name) or not source.has_name


def _check_classes(lines: Sequence[ClassLine], sources: Sequence[Source], function: str) -> None:
    """Refuse classes of buckets, and of answers, that none of the sources has; those of other models may be absent."""
    known: dict[str, dict[str, set[str]]] = {}
    for source in sources:
        if "raw_output" in (table := source.predictions.table).column_names:
            answers = known.setdefault(source.name, {})
            ids = bucket_ids(source.predictions, source.columns.bucket)
            for bucket, answer in zip(ids, table["raw_output"].to_pylist(), strict=True):
                answers.setdefault(bucket, set()).update([] if answer is None else [answer_key(answer)])
    models = {name(source.predictions) for source in sources for name in (model_of, public_model)}
    for row, line in enumerate(lines):
        found = [known[source.name].get(line.bucket) for source in sources if _is_about(line.set, source)]
        holding = [answers for answers in found if answers is not None]
        if not holding:
            must = f"hold ids of buckets of {', '.join(known) if line.set is None else f'set {line.set}'}"
            raise input_error(function, "classes", must, got=line.bucket, row=row, remedy="Take out that line.")
        if not any(line.answer in answers for answers in holding) and (line.model is None or line.model in models):
            must, remedy = f"name answers that were given to bucket {line.bucket!r}", "Copy the answer from the run."
            raise input_error(function, "classes", must, got=line.answer[:100], row=row, remedy=remedy)


def _of_statements(predictions: Predictions, statement: str, names: SourceOptions) -> Predictions:
    """Return statements, with a role and a probability in each row, as predictions of true or false without gold."""
    table = predictions.table
    column_of(table, names.bucket, parameter="bucket")
    p = floats(table[statement], statement, "probabilities")
    wrong, unknown = (p < 0.0) | (p > 1.0), np.isnan(p)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise column_error("probabilities", statement, "lie between 0 and 1", float(p[row]), row)
    own = None if names.relations is None else read_yaml("score", "relations", names.relations, typed=False)
    table = table.append_column(names.prediction, pa.array((p >= 0.5).astype(np.int64), mask=unknown))
    if names.label not in table.column_names:
        table = table.append_column(names.label, pa.array(np.full(len(p), -1)))
        table = table.append_column("allowed_labels", pa.array([[0, 1]] * len(p)))
    if names.group in table.column_names and names.bucket in table.column_names:
        from paraconsist.measures.probability_coherence import chains

        columns = [values_of(table, getattr(names, name), parameter=name) for name in ("bucket", "group")]
        buckets, shared = map(partition, columns)
        place = table.column_names.index(names.group)  # one group a bucket, however its rows are joined to others
        table = table.set_column(place, names.group, pa.array(chains(buckets, shared)[buckets.codes]))
    lists = names.probabilities[0]
    table = table.drop_columns([lists] if lists in table.column_names else [])
    table = table.append_column(lists, pa.array(np.column_stack([1.0 - p, p]).tolist(), mask=unknown))
    labels, measures = ["false", "true"], [COHERENCE.name]
    metadata: Metadata = {**predictions.metadata, "label_names": labels, "measures": measures, "relations": own}
    return Predictions(table, metadata)


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def test_set_of(name: str) -> str:
    """Return what the full test set that a bucket set was drawn from is called."""
    return f"{name.removesuffix('_automatic')}{_TEST}"


def without_listed(sources: Mapping[str, Source], listed: Any, function: str) -> dict[str, Source]:
    """Return the sets without the buckets of a list, counted in the metadata and said in a note.

    `listed` is a table with a column ``bucket_id`` (and ``set``, where the file says which set it is), or its ids.
    A warning for ids that are in none of the sets that their line is about: other models may have answered them.
    InputError if all are, or nothing is left of a set.
    """
    ids = {name: set(bucket_ids(of.predictions, of.columns.bucket)) for name, of in sources.items()}
    excluded: dict[str, set[str]] = {name: set() for name in sources}
    lines, absent = _lines(listed, function), list[str]()
    for set_name, bucket in lines:
        of_line = [name for name, source in sources.items() if _is_about(set_name, source)]
        holding = [name for name in of_line if bucket in ids[name] or bucket in sources[name].excluded]
        absent += [] if holding else [bucket]
        if len(absent) == len(lines):
            must = f"hold ids of buckets of {'the predictions' if set_name is None else f'set {set_name}'}"
            raise input_error(function, "exclude", must, got=bucket, remedy=f"These are of {', '.join(sources)}.")
        for name in holding:
            excluded[name] |= {bucket} & ids[name]
    if absent:
        which = ", ".join(map(repr, absent[:_MOST_NAMED])) + ", ..." * (len(absent) > _MOST_NAMED)
        warnings.warn(f"buckets to exclude that are not there ({len(absent)} of {len(lines)}): {which}", stacklevel=2)
    for name in sources:
        if excluded[name] == ids[name]:
            raise input_error(function, "exclude", f"leave a bucket of {name}", got=f"all {len(ids[name])} of them")
    return {name: _without(source, excluded[name]) if excluded[name] else source for name, source in sources.items()}


def _without(source: Source, excluded: Collection[str]) -> Source:
    kept = without_buckets(source.predictions, source.columns.bucket, excluded, "of a list")
    return replace(source, predictions=kept, excluded=source.excluded | {*excluded})


def _lines(listed: Any, function: str) -> Sequence[tuple[str | None, str]]:
    """Return (set or None, bucket) of every line."""
    if not isinstance(listed, (str, Path)):
        return [(None, str(one)) for one in listed]
    table = read_table(listed, function=function, parameter="exclude")
    if _BUCKET not in table.column_names:
        raise input_error(function, "exclude", f"have a column {_BUCKET}", got=table.column_names)
    columns = [name for name in (_SET, _BUCKET) if name in table.column_names]
    *sets, ids = (values_of(table, name, parameter="exclude", function=function) for name in columns)
    return list(zip(sets[0] if sets else [None] * len(ids), map(str, ids), strict=True))
