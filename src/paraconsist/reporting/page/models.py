"""The models of a page, opened and scored, and what its parts share: aligned sets, texts, changes, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from paraconsist.data.options import SourceOptions
from paraconsist.data.store import RunFolder
from paraconsist.errors import InputError, extras, input_error
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, IE_TEST, PARAPHRASTIC
from paraconsist.measures.rules import ORIGINAL
from paraconsist.reporting.formatting import Values, known
from paraconsist.reporting.page.aligned import AlignedSet, align, read_texts_files, set_texts
from paraconsist.reporting.plots.sureness import Sureness, sureness_of
from paraconsist.reporting.tables import set_names
from paraconsist.scoring.compare import SetComparison, compare, compare_options, misfits
from paraconsist.scoring.naming import arranged, check_numbers, is_generic, is_run, model_name
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.roles import measure_rows
from paraconsist.scoring.score import SetScores, score_sources, with_label_names
from paraconsist.scoring.sources import Opened, open_models, read_json

#: What `results.json` holds of the options that a run was scored with.
_SAVED_OPTIONS = (
    *("interval_method", "confidence_level", "n_resamples", "seed"),
    *("measures", "renormalize", "unparsed"),
)

#: Takes what is being done, how many of it are done, and of how many.
Progress: TypeAlias = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Model:
    """One model, or one run of several, on a page."""

    name: str  # different for every model of a page
    path: Path  # run folder or file
    sets: Mapping[str, SetScores]
    run: Mapping[str, Any] = field(default_factory=dict)  # ``run.json``; empty for files
    notes: tuple[str, ...] = ()  # what the reader must know about where the numbers come from
    experiment: Mapping[str, Values] = field(default_factory=dict)  # results of no single set, such as an IE test
    apart: Mapping[str, str] = field(default_factory=dict)  # set -> why it is not compared with other models' there


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows."""

    title: str | None = None
    score: ScoreOptions = field(default_factory=ScoreOptions)  # files' columns; intervals of what is scored here
    texts: Sequence[str] = ()  # files with texts, or names of prepared sets
    text_columns: Sequence[str] = ()  # to show; by default the task's, else those that look like texts
    most_buckets: int | None = None  # in the flip browser; by default at most 5,000 and at most `most_bytes`
    most_bytes: int = 3_500_000
    margin: float | None = None  # of non-inferiority and equivalence, a share
    index: str | None = None  # the site's index, to which the page links


@dataclass(frozen=True)
class Report:
    """The models and options of a page, and what its parts share, each computed when it is first needed."""

    models: Sequence[Model]
    options: ReportOptions = field(default_factory=ReportOptions)

    @cached_property
    def by_model(self) -> dict[str, Mapping[str, SetScores]]:
        """Model -> set -> its scores."""
        return {model.name: model.sets for model in self.models}

    @cached_property
    def aligned(self) -> list[AlignedSet]:
        """The sets, with the rows of all their models side by side."""
        with extras("report"):
            for package in ("matplotlib", "jinja2"):
                __import__(package)
        of_set = {name: {m: sets[name] for m, sets in self.by_model.items() if name in sets} for name in self.sets}
        return [align(name, scored) for name, scored in of_set.items()]

    @property
    def sets(self) -> list[str]:
        """The names of the sets."""
        return set_names(self.by_model)

    @property
    def distinct(self) -> list[AlignedSet]:
        """The aligned sets without those that are another's problems again, of a model that is set apart."""
        apart = {_set_of(model, name) for model in self.models for name in model.apart}
        together = [item for item in self.aligned if item.name not in apart]
        return together or [item for item in self.aligned if item.name in self.models[0].sets]

    @cached_property
    def with_texts(self) -> list[AlignedSet]:
        """The aligned sets with their texts, from files, run folders, logs or the predictions themselves."""
        files, sets = read_texts_files(self.options.texts), []
        for item in self.aligned:
            sources = [model.sets[item.name].source for model in self.models if item.name in model.sets]
            kept = [source.texts for source in sources]
            sets.append(set_texts(item, kept, files, sources[0].columns, self.options.text_columns))
        return sets

    @cached_property
    def changed(self) -> dict[str, dict[str, Values]]:
        """Set -> model -> prediction change, for every set that has originals and paraphrases."""
        changed: dict[str, dict[str, Values]] = {}
        for name in self.sets:
            for scored, model in ((sets[name], model) for model, sets in self.by_model.items() if name in sets):
                change: Values | None = scored.measures.get(CHANGE.name)
                if change is None and PARAPHRASTIC.name in scored.measures:
                    change = _change_of(scored, self.options.score.intervals)
                if change is not None:
                    changed.setdefault(name, {})[model] = change
        return changed

    @property
    def nouns(self) -> tuple[str, str]:
        """What the page calls a bucket and a row that is no original."""
        scored = (one for sets in self.by_model.values() for one in sets.values())
        problem, wording = min((one.rows.nouns for one in scored), default=("problem", ""))
        return problem, "rewording" if problem == "problem" else wording

    @cached_property
    def sureness(self) -> dict[str, list[Sureness]]:
        """Set -> how sure each model is of its answers, for every set with originals and probabilities."""
        by_set: dict[str, list[Sureness]] = {}
        for item in (item for item in self.aligned if not CATALOGUE[item.measure].is_conditional):
            for model in item.models:
                flips = (self.by_model[model][item.name].noise_floor or {}).get("correctness_flip_rate") or {}
                noise = max(filter(known, flips.values()), default=None)
                if (sure := sureness_of(model, self.by_model[model][item.name].kept, noise)) is not None:
                    by_set.setdefault(item.name, []).append(sure)
        return by_set

    @cached_property
    def compared(self) -> list[SetComparison]:
        """The models compared on every set that all of them have; empty where they have none in common.

        A model is left out if none of its answers to one of the sets could be read, or its rows are not the others'.
        """
        able = [model for model in self.models if not model.apart]
        read = {m.name: m.sets for m in able if all(s.n_unparsed < len(s.rows) for s in m.sets.values())}
        common = [name for name in set_names(read) if all(name in sets for sets in read.values())]
        if len(read) < 2 or not common:
            return []
        sources = {model: {name: sets[name].source for name in common} for model, sets in read.items()}
        return compare(sources, compare_options(self.options.score, self.options.margin), need_pairs=False)


def load_models(
    paths: Sequence[Path],
    options: ScoreOptions | None = None,
    names: Sequence[str] = (),
    *,
    read: SourceOptions | None = None,
    rescore: bool = False,
    sets: Sequence[str] = (),
    join: bool = False,
    progress: Progress = lambda what, n_done, n: None,
) -> list[Model]:
    """Open and score run folders, predictions files and logs; `names` and `sets` are in the order of `paths`.

    What is of which model and set is as `paraconsist.scoring.naming.arranged` says. A run folder is scored with the
    options of its ``results.json`` where `options` are the default, with `rescore` with `options`; `join` puts run
    folders of one model together that are of different sets.
    """
    if not paths:
        raise input_error("report", "paths", "name at least one run folder or predictions file")
    options = options or ScoreOptions()
    experiments = {path: model for path in paths if (model := _experiment(path)) is not None}
    of_paths = [[Opened({}, path=p)] if p in experiments else open_models(p, read, function="report") for p in paths]
    opened, paths = [*chain(*of_paths)], [path for path, each in zip(paths, of_paths, strict=True) for _ in each]
    check_numbers(paths, names, sets)
    models, runs = list[Model](), set[int]()
    for index, (path, (name, each)) in enumerate(zip(paths, arranged(opened, names, sets), strict=True)):
        if path in experiments:
            model = experiments[path]
        elif is_run(each):
            model = _run(path, each, options, rescore=rescore)
        else:
            model = Model(name, path, score_sources(each, options))
        progress("scoring", index + 1, len(paths))
        runs |= {index} if (path in experiments or is_run(each)) and not (join or names) else set()
        models.append(replace(model, name=name))
    return _named(_joined(models, runs), are_given=bool(names))


def set_apart(models: Sequence[Model]) -> list[Model]:
    """Return the models; those that cannot be compared with the others on a set are last, each with its own set."""
    names, made = set_names({model.name: model.sets for model in models}), []
    why = {name: misfits({m.name: m.sets[name].source for m in models if name in m.sets}) for name in names}
    for model in models:
        apart = {name: why[name][model.name] for name in model.sets if model.name in why[name]}
        sets = {_set_of(model, name) if name in apart else name: scored for name, scored in model.sets.items()}
        made.append(replace(model, sets=sets, apart=apart))
    return sorted(made, key=lambda model: bool(model.apart))


def _set_of(model: Model, name: str) -> str:
    """Return what the set of a model that is set apart is called."""
    return f"{name}, {model.name}"


def model_from(opened: Opened, sets: Mapping[str, SetScores]) -> Model:
    """Return scores as a model of a page."""
    path = opened.path or Path()
    name = model_name([scored.source for scored in sets.values()])
    return Model(name or (path.stem if path.name else "model"), path, sets, run=opened.run)


def ie_results(models: Sequence[Model]) -> Iterator[tuple[str, Values]]:
    """Yield (set and model, result) of every test of invariance under equivalence."""
    for model in models:
        of_sets = ((name, scored.measures.get(IE_TEST.name)) for name, scored in model.sets.items())
        of_runs = ((name, values) for name, values in model.experiment.items() if "p_value" in values)
        for name, values in (*of_sets, *of_runs):
            if values is not None:
                yield f"{name}, {model.name}", values


def _change_of(scored: SetScores, intervals: Values) -> Values | None:
    """Return prediction change for rows that were not scored for it; None where originals are lacking or no answer."""
    if scored.rows.unparsed.all() or not {ORIGINAL, PARAPHRASTIC.target} <= set(scored.rows.roles.tolist()):
        return None
    try:
        change = scored.valid(measure_rows(CHANGE, scored.kept, **intervals))
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
    if saved and not rescore and not _fits(saved, opened):
        notes.append(f"{path.name}: results.json does not fit the predictions; they were scored again.")
    elif saved and not rescore:
        kept, left = next(iter(saved.values())).get("options", {}), {"measures"} if unknown else set[str]()
        ours = [n for n in _SAVED_OPTIONS if n not in left and getattr(options, n) == getattr(ScoreOptions, n)]
        options = replace(options, **{name: kept[name] for name in ours if kept.get(name) is not None})
    sets = score_sources(opened, options)
    for name, scored in sets.items():
        kept = saved.get(name, {})
        more = {m: v for m, v in kept.get("measures", {}).items() if m in CATALOGUE and m not in scored.measures}
        floor = kept.get("noise_floor") if scored.noise_floor is None else scored.noise_floor
        sets[name] = replace(scored, measures={**scored.measures, **more}, noise_floor=floor)
    return Model(
        name=path.resolve().name,
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


def _joined(models: Sequence[Model], alone: Collection[int]) -> list[Model]:
    """Put models of one name together that have no set in common, except those of the indices `alone`."""
    joined: list[Model] = []
    for index, model in enumerate(models):
        same = [m for m in joined if m.name == model.name and not m.sets.keys() & model.sets.keys()]
        if index in alone or not same:
            joined.append(model)
        else:
            sets, notes = {**same[0].sets, **model.sets}, same[0].notes + model.notes
            joined[joined.index(same[0])] = replace(same[0], sets=sets, notes=notes)
    return joined


def _named(models: Sequence[Model], *, are_given: bool) -> list[Model]:
    own = [model.name for model in models]
    ways = [[_short(name) for name in own], own]
    # Two runs of one model are told apart by their folders.
    ways += [[model.path.name for model in models], ["/".join(model.path.parts[-2:]) for model in models]]
    ways = [own] if are_given else ways
    wanted = next((way for way in ways if len(set(way)) == len(way)), ways[-1])
    if len(set(wanted)) < len(wanted):
        remedy = "Give `name` for each of them."
        raise input_error("report", "name", "be different for every model", got=wanted, remedy=remedy)
    return [replace(model, name=name) for name, model in zip(wanted, models, strict=True)]


def _short(name: str) -> str:
    """Return a model's name without its folders, except for a generic one."""
    parts = Path(name).parts[-2:]
    return "/".join(parts[-1:] if not parts or not is_generic(parts[-1]) else parts) or name
