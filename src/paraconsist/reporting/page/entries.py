"""What a report is of: models, each with its sets, their predictions and their results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.logs.reading import LogTexts
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.run_folder import RunFolder
from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import score_sources
from paraconsist.scoring.sources import Opened, model_of, open_source, read_json

if TYPE_CHECKING:
    from paraconsist.reporting.result import Scores


@dataclass(frozen=True)
class ScoredSet:
    """One model's predictions on one set, with what `paraconsist.scoring.score.score` says of them."""

    predictions: Predictions
    results: Mapping[str, Any]  # as in ``results.json``
    columns: SourceOptions = field(default_factory=SourceOptions)  # what the rows' columns are called
    texts: Path | LogTexts | None = None  # the file with the set's texts, where the run kept one, or the log itself


@dataclass(frozen=True)
class Entry:
    """One model (or one run of several): its name on the page, its sets, and what its run folder says."""

    name: str  # different for every entry of a report
    source: Path  # run folder or file
    sets: dict[str, ScoredSet]
    run: Mapping[str, Any] = field(default_factory=dict)  # ``run.json``; empty for files
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # results of no single set, such as an IE test
    notes: tuple[str, ...] = ()  # what the reader must know about where the numbers come from


def set_names(entries: Sequence[Entry]) -> list[str]:
    """Return the sets that any of the models answered."""
    return list(dict.fromkeys(name for entry in entries for name in entry.sets))


def load_entries(
    paths: Sequence[Path],
    options: ScoreOptions | None = None,
    names: Sequence[str] = (),
    *,
    read: SourceOptions | None = None,
    rescore: bool = False,
    join: bool = False,
) -> list[Entry]:
    """Load and score run folders, predictions files and logs; `names` are of the models, in the order of `paths`.

    Files that say which model and set they are of join the model's other files; files that do not are models on one set
    if they have the same buckets, else sets of their own. `rescore` scores run folders anew, whatever their
    ``results.json`` says; `join` puts runs and files of one model together that are of different sets.
    """
    if not paths:
        raise input_error("report", "paths", "name at least one run folder or predictions file")
    options = options or ScoreOptions()
    entries: list[Entry] = []
    loose: list[tuple[Path, str, ScoredSet]] = []
    for path in paths:
        if (experiment := _of_experiment(path)) is not None:
            entries.append(experiment)
            continue
        opened = open_source(path, read, function="report")
        if opened.run or opened.saved or any(source.path != path for source in opened.sets.values()):
            entries.append(_of_run(path, opened, options, rescore=rescore))
        else:
            scored = _scored(opened, options)
            loose += [(path, name if opened.sets[name].has_name else "", one) for name, one in scored.items()]
    entries += _files(loose)
    entries = _joined(entries) if join else entries
    if names and len(names) != len(entries):
        must = f"be given once for each of the {len(entries)} models ({', '.join(e.name for e in entries)})"
        raise input_error("report", "name", must, got=list(names))
    return _named(entries, names)


def entry_of(scores: Scores) -> Entry:
    """Return scores as an entry of a page."""
    sets = _sets(scores.opened, scores.to_dict())
    path = scores.opened.path
    name = _common_name([source.predictions for source in scores.opened.sets.values()])
    return Entry(name or (path.stem if path is not None else "model"), path or Path(), sets, run=scores.opened.run)


def _scored(opened: Opened, options: ScoreOptions) -> dict[str, ScoredSet]:
    return _sets(opened, to_strict_json({name: one.to_dict() for name, one in score_sources(opened, options).items()}))


def _sets(opened: Opened, results: Mapping[str, Any]) -> dict[str, ScoredSet]:
    return {
        name: ScoredSet(source.predictions, results[name], source.columns, source.texts)
        for name, source in opened.sets.items()
    }


def _of_run(path: Path, opened: Opened, options: ScoreOptions, *, rescore: bool) -> Entry:
    """Return a run folder with its saved results, where they fit the predictions beside them, else scored anew."""
    kept = {name: part for name, part in opened.saved.items() if isinstance(part, Mapping) and "measures" in part}
    unknown = sorted({measure for part in kept.values() for measure in part["measures"]} - CATALOGUE.keys())
    note = f"{path.name}: results.json has measures that are not known here: {', '.join(unknown)}."
    notes = [note] if unknown else []
    rescore = rescore or bool(unknown)
    if not rescore and _fits(kept, opened):
        sets = {
            name: ScoredSet(opened.sets[name].predictions, result, texts=opened.sets[name].texts)
            for name, result in kept.items()
        }
    else:
        sets = _scored(opened, options)
        if kept and not rescore:
            notes.append(f"{path.name}: results.json does not fit the predictions beside it, so they were scored anew.")
        for name, scored in sets.items():
            measures: Any = scored.results["measures"]
            for measure, values in kept.get(name, {}).get("measures", {}).items():
                if measure in CATALOGUE:
                    measures.setdefault(measure, values)
    return Entry(
        name=_common_name([scored.predictions for scored in sets.values()]) or path.resolve().name,
        source=path,
        sets=sets,
        run=opened.run,
        more={k: v for k, v in opened.saved.items() if isinstance(v, Mapping) and k not in kept and "signature" in v},
        notes=tuple(notes),
    )


def _of_experiment(path: Path) -> Entry | None:
    """Return an IE experiment's folder as it was decided, without sets; None for anything else."""
    folder = RunFolder(path)
    decided = read_json(folder.results_file) if path.is_dir() and not folder.run_file.is_file() else {}
    families = decided.get("families")
    if not isinstance(families, list):
        return None
    more: dict[str, Mapping[str, Any]] = {}
    for family in families:
        runs, overall = family["runs"], family["overall"]
        more[family["name"]] = {
            **{key: overall[key] for key in ("reject", "p_value", "accuracy", "transformed_accuracy")},
            "accuracy_difference": overall["accuracy"] - overall["transformed_accuracy"],
            **{key: sum(run[key] for run in runs) for key in ("n10", "n01", "n")},
            "n_runs": family["n_runs"],
            "runs": [f"rho {run['rho']:g}, run {run['run']}" for run in runs],
            "p_values": [run["p_value"] for run in runs],
            "rejected": [run["rejected_overall"] for run in runs],
            "experiment": family,
            **{key: family[key] for key in ("signature", "warnings")},
        }
    return Entry(path.resolve().name, path, {}, more=more)


def _fits(kept: Mapping[str, Any], opened: Opened) -> bool:
    """Say whether saved results are of these predictions: the same bucket sets and row numbers."""
    rows = {name: source.predictions.table.num_rows for name, source in opened.sets.items()}
    return bool(kept) and rows.keys() <= kept.keys() and all(kept[n].get("n_rows") == rows.get(n) for n in kept)


def _files(loose: Sequence[tuple[Path, str, ScoredSet]]) -> list[Entry]:
    """Put files of one model together, and files of several models on one set side by side."""
    by_model: dict[str, Entry] = {}
    nameless = []
    for path, name, scored in loose:
        model = model_of(scored.predictions)
        if model is None or not name:
            nameless.append((path, name, scored))
            continue
        key = model if model not in by_model or name not in by_model[model].sets else f"{model} ({path.stem})"
        by_model.setdefault(key, Entry(key, path, {})).sets[name] = scored
    entries = list(by_model.values())
    buckets = [_buckets(scored) for *_, scored in nameless]
    if len(nameless) > 1 and all(ids & buckets[0] for ids in buckets):  # several models on one set
        common = next((name for _, name, _ in nameless if name), "") or _common_words([p.stem for p, *_ in nameless])
        entries += [Entry(path.stem, path, {common: scored}) for path, _, scored in nameless]
    elif nameless:
        sets = {name or path.stem: scored for path, name, scored in nameless}
        name = nameless[0][0].stem if len(nameless) == 1 else "predictions"
        entries.append(Entry(name, nameless[0][0], sets))
    return entries


def _joined(entries: Sequence[Entry]) -> list[Entry]:
    """Put entries of one name together that have no set in common."""
    joined: list[Entry] = []
    for entry in entries:
        same = [one for one in joined if one.name == entry.name and not one.sets.keys() & entry.sets.keys()]
        joined = [one for one in joined if one not in same[:1]]
        joined.append(replace(same[0], sets={**same[0].sets, **entry.sets}) if same else entry)
    return joined


def _common_words(stems: Sequence[str]) -> str:
    """Return the words that files' names have in common: what is left says which model each is of."""
    words = [re.split(r"[\W_]+", stem) for stem in stems]
    return " ".join(word for word in words[0] if all(word in other for other in words)) or "predictions"


def _buckets(scored: ScoredSet) -> set[Any]:
    name, table = scored.columns.bucket, scored.predictions.table
    return set(table[name].to_pylist()) if name in table.column_names else set()


def _common_name(files: Sequence[Predictions]) -> str | None:
    """Return the model's name, None where several models answered; published ones are named with their collection."""
    names = {model_of(one) for one in files}
    collections = {str(one.metadata["set"]).partition(":")[0] for one in files if "published" in one.metadata}
    return "/".join([*collections, names.pop() or ""]) if len(names) == 1 and None not in names else None


def _named(entries: Sequence[Entry], names: Sequence[str]) -> list[Entry]:
    own = [entry.name for entry in entries]
    ways = [[_short(name) for name in own], own]
    # two runs of one model: by the folder that each is in
    ways += [[entry.source.name for entry in entries], ["/".join(entry.source.parts[-2:]) for entry in entries]]
    ways = [list(names)] if names else ways
    wanted = next((way for way in ways if len(set(way)) == len(way)), ways[-1])
    if len(set(wanted)) < len(wanted):
        remedy = "Give `name` for each of them."
        raise input_error("report", "name", "be different for every model", got=wanted, remedy=remedy)
    return [replace(entry, name=name) for name, entry in zip(wanted, entries, strict=True)]


def is_generic(name: str) -> bool:
    """Say whether a name says nothing: every tool's output is called so."""
    return re.fullmatch(r"(checkpoint[-_]?\d*|model|models|output|predictions|results|run)", name, re.I) is not None


def _short(name: str) -> str:
    """Return a model's name without its folders, but for one that says nothing by itself."""
    parts = Path(name).parts[-2:]
    return "/".join(parts[-1:] if not parts or not is_generic(parts[-1]) else parts) or name
