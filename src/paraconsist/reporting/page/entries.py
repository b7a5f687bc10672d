"""What a report is of: models, each with its sets, their predictions and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paraconsist.data.logs.format import DEFAULT_QUERY, GOLD_CONFIDENCE, LogQuery
from paraconsist.data.logs.reading import read_logs
from paraconsist.data.predictions import Predictions, read_predictions
from paraconsist.data.reshaping import long_format, named_labels
from paraconsist.data.rows import ColumnNames
from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.scoring.folders import is_plain, score_folder
from paraconsist.scoring.score import ScoreOptions, score


@dataclass(frozen=True)
class ScoredSet:
    """One model's predictions on one set, with what `paraconsist.scoring.score.score` says of them.

    Attributes
    ----------
    predictions : Predictions
        The rows.
    results : mapping
        As in ``results.json``.
    columns : ColumnNames
        What the rows' columns are called.
    texts : Path or None
        The file with the set's texts, where the run kept one.
    """

    predictions: Predictions
    results: Mapping[str, Any]
    columns: ColumnNames = field(default_factory=ColumnNames)
    texts: Path | None = None


@dataclass(frozen=True)
class Entry:
    """One model (or one run of several): its name on the page, its sets, and what its run folder says.

    Attributes
    ----------
    name : str
        Different for every entry of a report.
    source : Path
        Run folder or file.
    sets : dict of str to ScoredSet
    run : mapping
        ``run.json``; empty for files.
    more : mapping of str to mapping
        Results of the folder that belong to no single set, by name: an IE test, say.
    notes : tuple of str
        What the reader must know about where the numbers come from.
    """

    name: str
    source: Path
    sets: dict[str, ScoredSet]
    run: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def set_names(entries: Sequence[Entry]) -> list[str]:
    """Return the sets that any of the models answered."""
    return list(dict.fromkeys(name for entry in entries for name in entry.sets))


@dataclass(frozen=True)
class FileOptions:
    """How files made elsewhere are read and scored.

    Attributes
    ----------
    score : ScoreOptions
    query : LogQuery
        What the user said of the fields of logs and tables.
    label_names : sequence of str, optional
        Names of the labels 0, 1, ... where gold is given by name and predictions by number.
    original_prediction : str, optional
        For files with a pair in each row: the column of the originals' predictions.
    rescore : bool
        Score run folders anew, whatever their ``results.json`` says.
    """

    score: ScoreOptions = field(default_factory=ScoreOptions)
    query: LogQuery = DEFAULT_QUERY
    label_names: Sequence[str] | None = None
    original_prediction: str | None = None
    rescore: bool = False


def load_entries(paths: Sequence[Path], options: FileOptions, names: Sequence[str] = ()) -> list[Entry]:
    """Load and score what a report is of.

    Parameters
    ----------
    paths : sequence of Path
        Run folders, predictions files and logs. Files that say which model and set they are of join the model's other
        files; files that do not are models on one set if they have the same buckets, else sets of their own.
    options : FileOptions
    names : sequence of str
        Names of the models in the order of `paths`; by default the models' own.

    Raises
    ------
    InputError
        If there is nothing to report, a path is neither, or the number of names is another than the models'.
    """
    if not paths:
        raise input_error("report", "paths", "name at least one run folder or predictions file")
    entries: list[Entry] = []
    loose: list[tuple[Path, str, ScoredSet]] = []
    for path in paths:
        if path.is_dir() and any((path / "predictions").glob("*.parquet")):
            entries.append(_folder(path, options))
        else:
            loose += _file(path, options)
    entries += _files(loose)
    if names and len(names) != len(entries):
        raise input_error(
            "report",
            "name",
            f"be given once for each of the {len(entries)} models ({', '.join(e.name for e in entries)})",
            got=list(names),
        )
    return _named(entries, names)


def _folder(path: Path, options: FileOptions) -> Entry:
    files = sorted((path / "predictions").glob("*.parquet"))
    said = _json(path / "results.json")
    found = {str(p.metadata.get("set", file.stem)): (file, p) for file in files for p in [read_predictions(file)]}
    kept = {name: part for name, part in said.items() if isinstance(part, Mapping) and "measures" in part}
    notes = []
    results: Mapping[str, Any] = kept
    if options.rescore or not _fits(kept, found):
        results = to_strict_json(score_folder(files, options.score))
        if kept and not options.rescore:
            notes.append(f"{path.name}: results.json does not fit the predictions beside it, so they were scored anew.")
        for name in results:
            for measure, values in kept.get(name, {}).get("measures", {}).items():
                results[name]["measures"].setdefault(measure, values)
    run = _json(path / "run.json")
    return Entry(
        name=_common_name([found[name][1] for name in results]) or path.resolve().name,
        source=path,
        sets={
            name: ScoredSet(found[name][1], result, texts=_existing(path / "texts" / found[name][0].name))
            for name, result in results.items()
        },
        run=run,
        more={k: v for k, v in said.items() if isinstance(v, Mapping) and k not in kept and "signature" in v},
        notes=tuple(notes),
    )


def _fits(kept: Mapping[str, Any], found: Mapping[str, tuple[Path, Predictions]]) -> bool:
    """Say whether saved results are of these predictions: the same bucket sets and row numbers."""
    missing = [name for name, (_, predictions) in found.items() if name not in kept and not is_plain(predictions)]
    rows = [name in found and kept[name].get("n_rows") == found[name][1].table.num_rows for name in kept]
    return bool(kept) and not missing and all(rows)


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        raise input_error(
            "report", "path", f"hold a readable {path.name}", got=str(path), remedy="Mend or remove that file."
        ) from None
    return said if isinstance(said, dict) else {}


def _file(path: Path, options: FileOptions) -> list[tuple[Path, str, ScoredSet]]:
    """Read and score a file, or a folder of logs: (path, set or nothing, what was found)."""
    found = []
    for predictions in read_logs([path], options.query).values():
        used = options.score
        if "source" in predictions.metadata:  # a log, whose reader made the columns
            confidence = GOLD_CONFIDENCE if GOLD_CONFIDENCE in predictions.table.column_names else None
            used = replace(used, columns=ColumnNames(confidence=confidence, strata=used.columns.strata or ()))
        if options.label_names is not None:
            predictions = named_labels(predictions, used.columns.label, list(options.label_names))
        if options.original_prediction is not None:
            predictions = long_format(predictions, used.columns, options.original_prediction)
        results = to_strict_json(score(predictions, used))
        results["warnings"] = [*results["warnings"], *predictions.metadata.get("notes", [])]
        beside = _existing(path.parent.parent / "texts" / path.name)
        name = str(predictions.metadata.get("set", ""))
        found.append((path, name, ScoredSet(predictions, results, used.columns, beside)))
    return found


def _files(loose: Sequence[tuple[Path, str, ScoredSet]]) -> list[Entry]:
    """Put files of one model together, and files of several models on one set side by side."""
    said: dict[str, Entry] = {}
    unsaid = []
    for path, name, scored in loose:
        model = _model_name(scored.predictions)
        if model is None or not name:
            unsaid.append((path, name, scored))
            continue
        key = model if model not in said or name not in said[model].sets else f"{model} ({path.stem})"
        said.setdefault(key, Entry(key, path, {})).sets[name] = scored
    buckets = [_buckets(scored) for *_, scored in unsaid]
    if len(unsaid) > 1 and all(found & buckets[0] for found in buckets):  # several models on one set
        common = next((name for _, name, _ in unsaid if name), "predictions")
        return [*said.values(), *(Entry(path.stem, path, {common: scored}) for path, _, scored in unsaid)]
    if not unsaid:
        return list(said.values())
    sets = {name or path.stem: scored for path, name, scored in unsaid}
    name = unsaid[0][0].stem if len(unsaid) == 1 else "predictions"
    return [*said.values(), Entry(name, unsaid[0][0], sets)]


def _buckets(scored: ScoredSet) -> set[Any]:
    name, table = scored.columns.bucket, scored.predictions.table
    return set(table[name].to_pylist()) if name in table.column_names else set()


def _model_name(predictions: Predictions) -> str | None:
    model = predictions.metadata.get("model")
    name = model.get("model") if isinstance(model, Mapping) else None
    return None if name is None else str(name)


def _common_name(files: Sequence[Predictions]) -> str | None:
    """Return the model's name, None where several models answered."""
    names = {_model_name(predictions) for predictions in files}
    return names.pop() if len(names) == 1 else None


def _named(entries: Sequence[Entry], names: Sequence[str]) -> list[Entry]:
    wanted = list(names) if names else [entry.name for entry in entries]
    if not names:
        short = [Path(name).name or name for name in wanted]
        wanted = short if len(set(short)) == len(short) else wanted
        if len(set(wanted)) < len(wanted):  # two runs of one model: by the folder that each is in
            wanted = [entry.source.name for entry in entries]
        if len(set(wanted)) < len(wanted):
            wanted = [str(entry.source) for entry in entries]
    if len(set(wanted)) < len(wanted):
        raise input_error(
            "report", "name", "be different for every model", got=wanted, remedy="Give --name for each of them."
        )
    return [replace(entry, name=name) for name, entry in zip(wanted, entries, strict=True)]
