"""The models of a page: run folders, files, logs and scores, each opened and scored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Predictions
from paraconsist.data.run_folder import RunFolder
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, IE_TEST, PARAPHRASTIC
from paraconsist.measures.rules import ORIGINAL
from paraconsist.reporting.formatting import Values
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.roles import measure_rows
from paraconsist.scoring.score import SetScores, score_sources, with_label_names
from paraconsist.scoring.sources import Opened, Source, model_of, open_source, read_json

#: What `results.json` holds of the options that a run was scored with.
_SAVED_OPTIONS = (
    *("interval_method", "confidence_level", "n_resamples", "seed"),
    *("measures", "renormalize", "unparsed"),
)
_Loose = tuple[Path, str, SetScores]


@dataclass(frozen=True)
class Model:
    """One model, or one run of several, on a page."""

    name: str  # different for every model of a page
    path: Path  # run folder or file
    sets: Mapping[str, SetScores]
    run: Mapping[str, Any] = field(default_factory=dict)  # ``run.json``; empty for files
    notes: tuple[str, ...] = ()  # what the reader must know about where the numbers come from
    experiment: Mapping[str, Values] = field(default_factory=dict)  # results of no single set, such as an IE test


def load_models(
    paths: Sequence[Path],
    options: ScoreOptions | None = None,
    names: Sequence[str] = (),
    *,
    read: SourceOptions | None = None,
    rescore: bool = False,
    join: bool = False,
) -> list[Model]:
    """Open and score run folders, predictions files and logs; `names` are of the models, in the order of `paths`.

    Files that name their model and set join the model's other files; other files are models on one set if they have the
    same buckets, else separate sets. A run folder is scored with the options of its ``results.json``, with `rescore`
    with `options`; `join` puts runs and files of one model together that are of different sets.
    """
    if not paths:
        raise input_error("report", "paths", "name at least one run folder or predictions file")
    options = options or ScoreOptions()
    models: list[Model] = []
    loose: list[_Loose] = []
    for path in paths:
        if (experiment := _experiment(path)) is not None:
            models.append(experiment)
            continue
        opened = open_source(path, read, function="report")
        if opened.run or opened.saved or any(source.path != path for source in opened.sets.values()):
            models.append(_run(path, opened, options, rescore=rescore))
        else:
            for name, scored in score_sources(opened, options).items():
                loose.append((path, name if scored.source.has_name else "", scored))
    models += _files(loose)
    models = _joined(models) if join else models
    if names and len(names) != len(models):
        must = f"be given once for each of the {len(models)} models ({', '.join(model.name for model in models)})"
        raise input_error("report", "name", must, got=list(names))
    return _named(models, names)


def model_from(opened: Opened, sets: Mapping[str, SetScores]) -> Model:
    """Return scores as a model of a page."""
    path = opened.path or Path()
    name = _common_name([scored.predictions for scored in sets.values()])
    return Model(name or (path.stem if path.name else "model"), path, sets, run=opened.run)


def ie_results(models: Sequence[Model]) -> Iterator[tuple[str, Values]]:
    """Yield (set and model, result) of every test of invariance under equivalence."""
    for model in models:
        of_sets = ((name, scored.measures.get(IE_TEST.name)) for name, scored in model.sets.items())
        of_runs = ((name, values) for name, values in model.experiment.items() if "p_value" in values)
        for name, values in (*of_sets, *of_runs):
            if values is not None:
                yield f"{name}, {model.name}", values


def changes_of(models: Sequence[Model], intervals: Values) -> dict[tuple[str, str], Values]:
    """Return (set, model) -> prediction change, for every set that has originals and paraphrases."""
    changes: dict[tuple[str, str], Values] = {}
    for name in dict.fromkeys(name for model in models for name in model.sets):
        for model in (model for model in models if name in model.sets):
            scored = model.sets[name]
            change: Values | None = scored.measures.get(CHANGE.name)
            if change is None and PARAPHRASTIC.name in scored.measures:
                change = _change_of(scored, intervals)
            if change is not None:
                changes[name, model.name] = change
    return changes


def _change_of(scored: SetScores, intervals: Values) -> Values | None:
    """Return prediction change for rows that were not scored for it; None where buckets lack their original."""
    if not {ORIGINAL, PARAPHRASTIC.target} <= set(scored.rows.roles.tolist()):
        return None
    try:
        change = measure_rows(CHANGE, scored.kept, **intervals)
    except InputError:
        return None
    return with_label_names(change, scored.predictions.label_names)


def _run(path: Path, opened: Opened, options: ScoreOptions, *, rescore: bool) -> Model:
    """Return a run folder, with the measures that only its saved results have."""
    saved = {name: part for name, part in opened.saved.items() if isinstance(part, Mapping) and "measures" in part}
    unknown = sorted({measure for part in saved.values() for measure in part["measures"]} - CATALOGUE.keys())
    notes = []
    if unknown:
        notes.append(f"{path.name}: results.json has measures that are not known here: {', '.join(unknown)}.")
    elif saved and not rescore and not _fits(saved, opened):
        notes.append(f"{path.name}: results.json does not fit the predictions; they were scored again.")
    elif saved and not rescore:
        kept = next(iter(saved.values())).get("options", {})
        options = replace(options, **{name: kept[name] for name in _SAVED_OPTIONS if kept.get(name) is not None})
    sets = score_sources(opened, options)
    for name, scored in sets.items():
        kept = saved.get(name, {})
        more = {m: v for m, v in kept.get("measures", {}).items() if m in CATALOGUE and m not in scored.measures}
        floor = kept.get("noise_floor") if scored.noise_floor is None else scored.noise_floor
        sets[name] = replace(scored, measures={**scored.measures, **more}, noise_floor=floor)
    return Model(
        name=_common_name([scored.predictions for scored in sets.values()]) or path.resolve().name,
        path=path,
        sets=sets,
        run=opened.run,
        notes=tuple(notes),
        experiment={
            name: part
            for name, part in opened.saved.items()
            if isinstance(part, Mapping) and name not in saved and "signature" in part
        },
    )


def _experiment(path: Path) -> Model | None:
    """Return an IE experiment's folder as it was decided, without sets; None for anything else."""
    folder = RunFolder(path)
    decided = read_json(folder.results_file) if path.is_dir() and not folder.run_file.is_file() else {}
    families = decided.get("families")
    if not isinstance(families, list):
        return None
    experiment: dict[str, Values] = {}
    for family in families:
        runs, overall = family["runs"], family["overall"]
        experiment[family["name"]] = {
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
    return Model(path.resolve().name, path, {}, experiment=experiment)


def _fits(saved: Mapping[str, Values], opened: Opened) -> bool:
    """Return whether saved results are of these predictions: the same bucket sets and row numbers."""
    rows = {name: source.predictions.table.num_rows for name, source in opened.sets.items()}
    return rows.keys() <= saved.keys() and all(part.get("n_rows") == rows.get(name) for name, part in saved.items())


def _files(loose: Sequence[_Loose]) -> list[Model]:
    """Put files of one model together, and files of several models on one set side by side."""
    by_model: dict[str, tuple[Path, dict[str, SetScores]]] = {}
    nameless: list[_Loose] = []
    for path, name, scored in loose:
        model = scored.source.model
        if model is None or not name:
            nameless.append((path, name, scored))
            continue
        is_taken = model in by_model and name in by_model[model][1]
        key = f"{model} ({path.stem})" if is_taken else model
        by_model.setdefault(key, (path, {}))[1][name] = scored
    models = [Model(name, path, sets) for name, (path, sets) in by_model.items()]
    buckets = [_buckets(scored.source) for *_, scored in nameless]
    if len(nameless) > 1 and all(ids & buckets[0] for ids in buckets):  # several models on one set
        stems = [path.stem for path, *_ in nameless]
        common = next((name for _, name, _ in nameless if name), "") or _common_words(stems)
        models += [Model(path.stem, path, {common: scored}) for path, _, scored in nameless]
    elif nameless:
        first = nameless[0][0]
        sets = {name or path.stem: scored for path, name, scored in nameless}
        models.append(Model(first.stem if len(nameless) == 1 else "predictions", first, sets))
    return models


def _joined(models: Sequence[Model]) -> list[Model]:
    """Put models of one name together that have no set in common."""
    joined: list[Model] = []
    for model in models:
        same = next((m for m in joined if m.name == model.name and not m.sets.keys() & model.sets.keys()), None)
        if same is not None:
            joined.remove(same)
        joined.append(model if same is None else replace(same, sets={**same.sets, **model.sets}))
    return joined


def _common_words(stems: Sequence[str]) -> str:
    """Return the words that files' names have in common; the other words tell the models apart."""
    words = [re.split(r"[\W_]+", stem) for stem in stems]
    return " ".join(word for word in words[0] if all(word in other for other in words)) or "predictions"


def _buckets(source: Source) -> set[Any]:
    name, table = source.columns.bucket, source.predictions.table
    return set(table[name].to_pylist()) if name in table.column_names else set()


def _common_name(files: Sequence[Predictions]) -> str | None:
    """Return the model's name, None where several models answered; published ones are named with their collection."""
    names = {model_of(file) for file in files}
    collections = {str(file.metadata["set"]).partition(":")[0] for file in files if "published" in file.metadata}
    return "/".join([*collections, names.pop() or ""]) if len(names) == 1 and None not in names else None


def _named(models: Sequence[Model], names: Sequence[str]) -> list[Model]:
    own = [model.name for model in models]
    ways = [[_short(name) for name in own], own]
    # Two runs of one model are told apart by their folders.
    ways += [[model.path.name for model in models], ["/".join(model.path.parts[-2:]) for model in models]]
    ways = [list(names)] if names else ways
    wanted = next((way for way in ways if len(set(way)) == len(way)), ways[-1])
    if len(set(wanted)) < len(wanted):
        remedy = "Give `name` for each of them."
        raise input_error("report", "name", "be different for every model", got=wanted, remedy=remedy)
    return [replace(model, name=name) for name, model in zip(wanted, models, strict=True)]


def is_generic(name: str) -> bool:
    """Return whether a name is one that many tools give their output."""
    return re.fullmatch(r"(checkpoint[-_]?\d*|model|models|output|predictions|results|run)", name, re.I) is not None


def _short(name: str) -> str:
    """Return a model's name without its folders, except for a generic one."""
    parts = Path(name).parts[-2:]
    return "/".join(parts[-1:] if not parts or not is_generic(parts[-1]) else parts) or name
