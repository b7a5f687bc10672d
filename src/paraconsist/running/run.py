"""One run: models and bucket sets in, a run folder with predictions files out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.predictions import write_predictions
from paraconsist.data.run_folder import RunFolder, content_identity
from paraconsist.data.store import Store
from paraconsist.errors import input_error
from paraconsist.models.batching import BatchPolicy
from paraconsist.running.outputs import predictions_table, run_metadata, texts_table
from paraconsist.running.processes import end_with_launcher

if TYPE_CHECKING:
    from paraconsist.data.store import Result
    from paraconsist.models.classifier import Classifier
    from paraconsist.models.labels import LabelMap
    from paraconsist.running.loop import LoopStatistics


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    Attributes
    ----------
    output : Path
        The run folder; going on with an interrupted run needs no option.
    label_map : mapping, optional
        Model label -> task label, possibly many-to-one; by default labels meet by name.
    label_rule : {"argmax", "sum"}
        For many-to-one maps: map the most probable label, or take the largest summed probability.
    device : str, optional
        ``"cpu"``, or the accelerator there is.
    batch_tokens : int, optional
        Computed tokens a batch, padding included; by default what suits the device.
    seed : int
        Recorded in the metadata; a classifier's forward pass uses none.
    overwrite : bool
        Delete an earlier run in `output`.
    texts : bool
        Keep the texts of each set in the run folder, for reports; predictions files never hold them.
    noise_floor : int
        How often to ask the originals again in another batch composition.
    """

    output: Path
    label_map: Mapping[str, str] | None = None
    label_rule: str = "argmax"
    device: str | None = None
    batch_tokens: int | None = None
    seed: int = 0
    overwrite: bool = False
    texts: bool = True
    noise_floor: int = 0


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

    Parameters
    ----------
    load_model : callable
        Model (a Hub id or a folder) and the sets of one task -> the classifier that answers them.
    load_sets : callable
        Returns model -> its sets; called on the main process first, so that data are prepared once.
    options : RunOptions
        How to run.

    Returns
    -------
    RunReport
        The predictions files are there when `run` returns on the main process.

    Raises
    ------
    InputError
        For unusable models, sets, label names or folders; on every process alike.
    """
    from paraconsist.running.loop import compute, main_first, start_accelerator

    end_with_launcher()
    accelerator = start_accelerator(device=options.device)
    started = time.time()
    policy = BatchPolicy.for_device(accelerator.device.type, options.batch_tokens)
    groups = group_sets(main_first(accelerator, load_sets))
    models = {name: load_model(model, group) for name, (model, group) in groups.items()}
    label_maps = {
        s.name: label_map_of(models[name].label_names, s, options) for name, (_, group) in groups.items() for s in group
    }
    folder = RunFolder(options.output)
    identities = {name: dict(model.identity) for name, model in models.items()}
    main_first(
        accelerator,
        lambda: folder.open(identities, overwrite=options.overwrite) if accelerator.is_main_process else None,
    )
    statistics: dict[str, LoopStatistics] = {}
    files: dict[str, Path] = {}
    for name, (_, group) in groups.items():
        task = group[0].task
        identity = {"model": content_identity(identities[name]), "task": task.name, "template_hash": task.template_hash}
        store = Store(folder.store, identity)
        statistics[name] = compute(models[name], group, store, accelerator, policy)
        if options.noise_floor:
            from paraconsist.running.repeats import ask_again

            ask_again(
                models[name],
                group,
                folder,
                identity,
                label_maps,
                accelerator,
                policy,
                n_repeats=options.noise_floor,
            )
        if not accelerator.is_main_process:
            continue
        finished = store.finished()
        for bucket_set in group:
            files[bucket_set.name] = write_set(
                folder,
                bucket_set,
                finished,
                label_maps[bucket_set.name],
                identities[name],
                options,
                n_processes=accelerator.num_processes,
                batch_policy=policy.describe(),
                device=accelerator.device.type,
            )
    if accelerator.is_main_process:
        folder.update_run(_said(identities, statistics, files, started))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return RunReport(folder, files, statistics, accelerator.is_main_process)


def write_set(
    folder: RunFolder,
    bucket_set: BucketSet,
    finished: Mapping[str, Result],
    label_map: LabelMap,
    identity: Mapping[str, Any],
    options: RunOptions,
    **said: Any,
) -> Path:
    """Write a set's predictions file from what the store holds, and its texts beside it; `said` joins the metadata."""
    path = folder.predictions_file(bucket_set.file_name)
    said |= {"seed": options.seed, "measures": list(bucket_set.measures)}
    metadata = run_metadata(bucket_set, identity, label_map, **said)
    write_predictions(path, predictions_table(bucket_set, finished, label_map), metadata)
    if options.texts:
        texts = folder.texts_file(bucket_set.file_name)
        texts.parent.mkdir(exist_ok=True)
        write_predictions(texts, texts_table(bucket_set), {"format": "paraconsist-texts-1", "set": bucket_set.name})
    return path


def group_sets(sets: Mapping[str, Sequence[BucketSet]]) -> dict[str, tuple[str, list[BucketSet]]]:
    """Return name -> (model, sets of one task): what one pass of the loop computes.

    The name is the task's, and the model's before it where several models answer one task.
    """
    names = [s.name for group in sets.values() for s in group]
    if not names or len(set(names)) < len(names):
        raise input_error("run", "dataset", "name at least one set, each once", got=names)
    parts: dict[tuple[str, str], list[BucketSet]] = {}
    for model, group in sets.items():
        for bucket_set in group:
            parts.setdefault((model, bucket_set.task.name), []).append(bucket_set)
    tasks = [task for _, task in parts]
    return {
        task if tasks.count(task) == 1 else f"{Path(model).name}:{task}": (model, group)
        for (model, task), group in parts.items()
    }


def label_map_of(label_names: Sequence[str], bucket_set: BucketSet, options: RunOptions) -> LabelMap:
    """From a model's labels to a set's."""
    from paraconsist.models.labels import resolve_label_map

    return resolve_label_map(label_names, bucket_set.label_names, options.label_map, rule=options.label_rule)


def _said(
    identities: Mapping[str, Any],
    statistics: Mapping[str, LoopStatistics],
    files: Mapping[str, Path],
    started: float,
) -> dict[str, Any]:
    return {
        "models": dict(identities),
        "sets": {name: f"predictions/{path.name}" for name, path in files.items()},
        "loop": {name: vars(s) for name, s in statistics.items()},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
