"""One run: models and bucket sets in, a run folder with predictions files out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import all_failed, count_inputs
from paraconsist.data.predictions import input_notes
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import Store
from paraconsist.errors import InputError, input_error
from paraconsist.files import locked
from paraconsist.measures.catalogue import PARAPHRASTIC, default_measures
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.models.batching import BatchPolicy
from paraconsist.running.options import RunOptions
from paraconsist.running.outputs import predictions_parts, run_metadata, store_identity, texts_table
from paraconsist.running.processes import end_with_launcher

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier
    from paraconsist.models.labels import LabelMap
    from paraconsist.running.loop import LoopStatistics

#: Name of a pass -> its model and its sets, which are of one task.
Groups = dict[str, tuple[str, list[BucketSet]]]


@dataclass(frozen=True)
class RunReport:
    """What a run left: the folder, a predictions file for each set, and what each task's loop did."""

    folder: RunFolder
    files: Mapping[str, Path]
    statistics: Mapping[str, LoopStatistics]
    is_main_process: bool


def run(
    load_model: Callable[[str, Sequence[BucketSet]], Classifier],
    load_sets: Callable[[], Mapping[str, Sequence[BucketSet]]],
    options: RunOptions,
) -> RunReport:
    """Run models over bucket sets, in as many processes as accelerate's launcher started.

    `load_model` takes a model (a Hub id or a folder) and the sets of one task, and returns the classifier that answers
    them. `load_sets` returns model -> its sets; it is called on the main process first, so that data are prepared once.
    The predictions files are there when `run` returns on the main process; errors are raised on every process alike.
    """
    from paraconsist.models.classifier import deterministic_kernels
    from paraconsist.running.loop import compute, main_first, start_accelerator
    from paraconsist.running.repeats import ask_again, check_repeats

    end_with_launcher()
    accelerator = start_accelerator(device=options.device)
    started = time.time()
    policy = BatchPolicy.for_device(accelerator.device.type, options.batch_tokens)
    if options.deterministic or options.compile:  # a batch here is several of a fixed shape, each filled up once
        policy = replace(policy, max_tokens=2 * policy.max_tokens, batch_cost=math.inf)
    groups = group_sets(main_first(accelerator, load_sets))
    models = {name: load_model(model, sets) for name, (model, sets) in groups.items()}
    for model in models.values():
        check_repeats(options, drawn=model.draws)
        if options.deterministic:
            model.fix(accelerator.device.type)
        if options.compile:
            model.compile(accelerator.device.type)
    label_maps = label_maps_of(groups, {name: model.label_names for name, model in models.items()}, options)
    folder = RunFolder(options.output)
    identities = {name: dict(model.identity) for name, model in models.items()}
    facts = {
        "n_processes": accelerator.num_processes,
        "batch_policy": policy.describe() + ", compiled" * options.compile,
        "device": accelerator.device.type,
    }
    statistics: dict[str, LoopStatistics] = {}
    files: dict[str, Path] = {}
    with ExitStack() as lock:

        def open_folder() -> None:
            if accelerator.is_main_process:
                lock.enter_context(locked(folder.path, "run", "output"))
                folder.open(identities, overwrite=options.overwrite)

        main_first(accelerator, open_folder)
        if options.deterministic:
            lock.enter_context(deterministic_kernels())
        for name, (_, sets) in groups.items():
            identity = store_identity(identities[name], sets[0].task)
            store = Store(folder.store, identity)
            failing = options.on_error, options.retry_failed
            statistics[name] = compute(models[name], sets, store, accelerator, policy, *failing)
            ask_again(models[name], sets, folder, identity, label_maps, accelerator, policy, options)
            if accelerator.is_main_process:
                files |= write_sets(folder, sets, store, label_maps, identities[name], options, **facts)
        if accelerator.is_main_process:
            record_run(folder, identities, files, started, loop={name: vars(s) for name, s in statistics.items()})
        accelerator.wait_for_everyone()
    accelerator.end_training()
    return RunReport(folder, files, statistics, accelerator.is_main_process)


def group_sets(sets: Mapping[str, Sequence[BucketSet]]) -> Groups:
    """Return what each pass computes: the sets of one task that one model answers.

    The name of a pass is the task's, with the model's before it where several models answer one task.
    """
    names = [s.name for group in sets.values() for s in group]
    if not names or len(set(names)) < len(names):
        raise input_error("run", "dataset", "name at least one set, each once", got=names)
    _check_columns([s for group in sets.values() for s in group])
    for bucket_set in (s for group in sets.values() for s in group):
        _check_gold(bucket_set)
    parts: dict[tuple[str, str], list[BucketSet]] = {}
    for model, group in sets.items():
        for bucket_set in group:
            parts.setdefault((model, bucket_set.task.name), []).append(bucket_set)
    tasks = [task for _, task in parts]
    return {
        task if tasks.count(task) == 1 else f"{Path(model).name}:{task}": (model, group)
        for (model, task), group in parts.items()
    }


def _check_gold(bucket_set: BucketSet) -> None:
    """Refuse two gold labels in a bucket whose consistency is measured: scoring would, after all is computed."""
    table = bucket_set.table.select(["bucket_id", "role", "label"])
    roles = set(table["role"].unique().to_pylist())
    if roles == {ORIGINAL} or PARAPHRASTIC.name not in (bucket_set.measures or default_measures(sorted(roles))):
        return
    if roles - {ORIGINAL, PARAPHRASE}:
        table = table.filter(pc.is_in(table["role"], pa.array([ORIGINAL, PARAPHRASE])))
    gold = table.group_by("bucket_id").aggregate([("label", "min"), ("label", "max")])
    other = gold.filter(pc.not_equal(gold["label_min"], gold["label_max"])).to_pylist()
    if other:
        names, one = dict(enumerate(bucket_set.label_names)), other[0]
        pair = " and ".join(names.get(one[f"label_{end}"], "none") for end in ("min", "max"))
        remedy = f"{len(other):,} of {len(gold):,} in {bucket_set.name} have two, such as {one['bucket_id']!r}: {pair}."
        raise input_error("run", "label", "give every row of a bucket the same gold label", remedy=remedy)


def _check_columns(sets: Sequence[BucketSet]) -> None:
    """Refuse a named stratum that no set has, and say once which columns stay out of what is written."""
    left_out = ", ".join(dict.fromkeys(column for s in sets for column in s.left_out))
    for name in (name for s in sets for name in s.named):
        if not any(name in s.table.column_names for s in sets):
            remedy = f"Further columns: {left_out or 'none'}."
            raise input_error("run", "stratum", "be a column of the rows", got=name, remedy=remedy)
    if left_out:
        text = f"columns that stay out of predictions and results: {left_out}. Name as `stratum` what is to be kept."
        warnings.warn(text, UserWarning, stacklevel=2)


def label_maps_of(groups: Groups, label_names: Mapping[str, Sequence[str]], options: RunOptions) -> dict[str, LabelMap]:
    """Return set -> the map from its model's labels (`label_names` of each pass) to its own."""
    from paraconsist.models.labels import resolve_label_map

    return {
        s.name: resolve_label_map(label_names[name], s.label_names, options.label_map, rule=options.label_rule)
        for name, (_, group) in groups.items()
        for s in group
    }


def write_sets(
    folder: RunFolder,
    sets: Sequence[BucketSet],
    store: Store,
    label_maps: Mapping[str, LabelMap],
    identity: Mapping[str, Any],
    options: RunOptions,
    **metadata: Any,
) -> dict[str, Path]:
    """Write each set's predictions file from what the store holds, and its texts beside it; return set -> file.

    InputError if no input has an answer; a warning for each set of which some have none, or were cut.
    """
    finished = store.finished()
    if finished and all_failed(finished):
        first, failed = next(iter(finished.items()))
        must = f"none of {len(finished):,} inputs has an answer. Of {first}: {failed[1]}"
        raise InputError(must, function="run", remedy="The same command asks them again.")
    files = {}
    for s in sets:
        path = files[s.name] = folder.predictions_file(s.file_name)
        places = finished.places(s.table["input_id"])
        parts = predictions_parts(s, finished, label_maps[s.name], places)
        counts = count_inputs(s.table["input_id"], places, finished)
        more = {**metadata, "inputs": counts, "seed": options.seed, "measures": list(s.measures)}
        written = run_metadata(s, identity, label_maps[s.name], **more)
        folder.write(path, parts, written)
        folder.update_run({"inputs": {s.name: counts}})
        for note in input_notes({"inputs": counts, "model": identity}):
            warnings.warn(f"{s.name}: {note}.", UserWarning, stacklevel=2)
        if options.texts:
            about = {"format": "paraconsist-texts-1", "set": s.name}
            folder.write(folder.texts_file(s.file_name), texts_table(s), about)
    return files


def record_run(
    folder: RunFolder, identities: Mapping[str, Any], files: Mapping[str, Path], started: float, **passes: Any
) -> None:
    """Add the run to ``run.json``: whose it is, where its sets are, what each pass did, and when.

    A pass that found everything there leaves what stands there of the one that computed it, and the time of that.
    """
    sets = {name: f"predictions/{path.name}" for name, path in files.items()}
    earlier = folder.read()
    for kind, by_name in passes.items():
        passes[kind] = {
            name: one
            for name, one in by_name.items()
            if one.get("last", one)["n_computed"] or name not in earlier.get(kind, {})
        }
    times = {"started": _utc(started), "ended": _utc(time.time())} if any(passes.values()) else {}
    folder.update_run({"models": dict(identities), "sets": sets, **passes, **times})


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
