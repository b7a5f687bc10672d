"""One run: models and bucket sets in, a run folder with predictions files out.

`Job` is what runs of loaded models, of endpoints and of functions have in common: every row gets the prediction of its
input from the store. A share of the rows may be asked again, in other batches or with other seeds. An answer should not
depend on which inputs happen to share its batch, but in floating point it does, a little; a drawn answer depends on the
draw. Such repeats show how much: they are computed from scratch into stores of their own, over all rows, because
originals and paraphrases may differ near a tie.

A run may stop asking once a condition is known: buckets in a random order, some more at a time. The order and the
wordings of a bucket are drawn by hashes of the seed, the bucket and the text before anything is asked, and written
down. How many buckets are asked next depends on how many were asked alone, so that a killed run goes on with the same
rounds, and stops where it would have stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.arrays import Places
from paraconsist.data.bucket_sets import BucketSet, DistinctInputs
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import CHOICES, KEY_COLUMNS, UNANSWERED, Predictions, input_notes
from paraconsist.data.prompts import WrittenAnswer, offered
from paraconsist.data.rows import read_rows
from paraconsist.data.store import (
    SHARED,
    Failed,
    Result,
    Results,
    RunFolder,
    Store,
    all_failed,
    content_identity,
    count_inputs,
)
from paraconsist.data.tables import joined
from paraconsist.data.tasks import QUESTIONS, Task
from paraconsist.errors import InputError, check_whole, input_error, plural
from paraconsist.files import Json, locked, make_folder, write_json
from paraconsist.measures.catalogue import PARAPHRASTIC, counted_roles, default_measures
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.models.batching import BatchPolicy
from paraconsist.models.labels import LabelMap, resolve_label_map
from paraconsist.running.options import RunOptions
from paraconsist.running.processes import end_with_launcher
from paraconsist.scoring.free_text import compared
from paraconsist.scoring.roles import apply_policy
from paraconsist.scoring.sources import open_source
from paraconsist.scoring.until import QUANTITIES, Known, Until, known, values_of_run

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier
    from paraconsist.running.loop import LoopStatistics

#: Name of a pass -> its model and its sets, which are of one task.
Groups = dict[str, tuple[str, list[BucketSet]]]

_BLOCK = 1 << 16  # rows that are put together at a time
_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "datasets", "numpy")
_LEAST, _SHARE = 8, 16  # a round has a 16th of the clusters that were asked before, and 8 at least
_WITH_MODEL = ("nli:", "similar:")  # comparers that load a model, for which the run's own may leave no memory
_COUNTED_ONCE = ("n_inputs", "n_ranks", "max_tokens")  # of the statistics of a pass, in all rounds
_S = TypeVar("_S")


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
    say: Callable[[str], None] | None = None,
    *,
    is_last: bool = True,
) -> RunReport:
    """Run models over bucket sets, in as many processes as accelerate's launcher started.

    `load_model` takes a model (a Hub id or a folder) and the sets of one task, and returns the classifier that answers
    them. `load_sets` returns model -> its sets; it is called on the main process first, so that data are prepared once.
    The predictions files exist when `run` returns on the main process; every process raises the same errors. The group
    of processes ends with the run that `is_last`.
    """
    from paraconsist.models.classifier import deterministic_kernels
    from paraconsist.running.loop import compute, from_main, main_first, start_accelerator

    end_with_launcher()
    check_until(options)
    accelerator = start_accelerator(device=options.device)
    job = Job({}, options)
    policy = BatchPolicy.for_device(accelerator.device.type, options.batch_tokens)
    if options.deterministic or options.compile:  # a batch here is several of a fixed shape, each filled up once
        policy = replace(policy, max_tokens=2 * policy.max_tokens, batch_cost=math.inf, fits=True)
    job.groups = group_sets(main_first(accelerator, load_sets))
    models = {name: load_model(model, sets) for name, (model, sets) in job.groups.items()}
    for model in models.values():
        check_repeats(options, drawn=model.draws)
        if options.deterministic:
            model.fix(accelerator.device.type)
        if options.compile:
            model.compile(accelerator.device.type)
        if say is not None and (dtype := model.identity.get("dtype", "float32")) != "float32":
            say(f"computed in {dtype} on {accelerator.device.type}.")
    job.match_labels({name: model.label_names for name, model in models.items()})
    job.identities = {name: dict(model.identity) for name, model in models.items()}
    facts = {"n_processes": accelerator.num_processes, "device": accelerator.device.type}
    statistics: dict[str, LoopStatistics] = {}
    with ExitStack() as lock:

        def open_folder() -> None:
            if accelerator.is_main_process:
                lock.enter_context(locked(job.folder.path, "run", "output"))
                job.folder.open(job.identities, overwrite=options.overwrite)

        main_first(accelerator, open_folder)
        if options.deterministic:
            lock.enter_context(deterministic_kernels())
        for name in job.groups:
            store, (chosen, repeats) = job.store(name), job.repeats(name)
            how = accelerator, policy, options.on_error, options.retry_failed
            asked = rounds(job, name, store, on_main=partial(from_main, accelerator), say=say)
            done = [compute(models[name], job.groups[name][1], store, *how) for _ in asked]
            statistics[name] = summed(done)
            fitted = replace(policy, max_tokens=statistics[name].max_tokens, fits=True)
            for repeat, repeat_store in repeats:
                seeded = models[name].with_seed(repeat.seed_after(options.seed))
                compute(seeded, chosen, repeat_store, accelerator, fitted.shuffled(repeat.number), *how[2:])
            if accelerator.is_main_process:
                job.write_repeats(name, chosen, repeats, batch_policy=fitted.shuffled(1).describe())
                batch_policy = fitted.describe() + ", compiled" * options.compile
                job.write(name, store, batch_policy=batch_policy, **facts)
        if accelerator.is_main_process:
            job.record(loop={name: loop.to_dict() for name, loop in statistics.items()})
        accelerator.wait_for_everyone()
    if is_last:
        accelerator.end_training()
    return RunReport(job.folder, job.files, statistics, accelerator.is_main_process)


@dataclass
class Job:
    """What every kind of run has in common: its sets, the identities of its models, and the folder that it writes."""

    groups: Groups
    options: RunOptions
    identities: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of the model of each pass
    label_maps: dict[str, LabelMap] = field(default_factory=dict)  # set -> from its model's labels to its own
    files: dict[str, Path] = field(default_factory=dict)  # set -> its predictions file, once that is written
    until: dict[str, Json] = field(default_factory=dict)  # set -> the condition on which it stops, and its draw
    known: dict[str, Known] = field(default_factory=dict)  # set -> what is known of that condition
    started: float = field(default_factory=time.time)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.options.output)

    def match_labels(self, label_names: Mapping[str, Sequence[str]]) -> None:
        """Find each set's label map from the labels of the model of each pass."""
        rules = self.options.label_map, self.options.label_rule
        for name, (_, sets) in self.groups.items():
            for of_set in sets:
                has_labels = of_set.task is not QUESTIONS
                mapped = resolve_label_map(label_names[name], of_set.label_names, *rules) if has_labels else None
                self.label_maps[of_set.name] = mapped or LabelMap((), (), ())

    def store(self, name: str, **more: object) -> Store:
        """Return the store of a pass; `more` are further parts of its identity."""
        identity = store_identity(self.identities[name], self.groups[name][1][0].task)
        return Store(self.folder.store, {**identity, **more})

    def repeats(self, name: str) -> tuple[list[BucketSet], list[tuple[Repeat, Store]]]:
        """Return the rows of a pass that are asked again, and each repeat with its store; neither if there are none."""
        repeats = repeats_of(self.options)
        chosen = [
            share_of(bucket_set, self.options.noise_share, self.options.seed)
            for bucket_set in (self.groups[name][1] if repeats else ())
            if set(bucket_set.table["role"].unique().to_pylist()) - {ORIGINAL}
        ]
        stores = [self.store(name, **{repeat.key: repeat.of_kind}) for repeat in (repeats if chosen else ())]
        return chosen, [*zip(repeats, stores, strict=False)]

    def write(self, name: str, store: Store, **metadata: object) -> None:
        """Write the predictions file of each set of a pass from its store, and the set's texts.

        InputError if no input has an answer; a warning for each set with inputs that have none or were cut.
        """
        finished, identity = store.finished(), self.identities[name]
        if finished and all_failed(finished):
            first, failed = next(iter(finished.items()))
            must = f"none of {len(finished):,} inputs has an answer. Of {first}: {failed[1]}"
            raise InputError(must, function="run", remedy="The same command asks them again.")
        for bucket_set in self.groups[name][1]:
            path = self.files[bucket_set.name] = self.folder.file_of("predictions", bucket_set.file_name)
            label_map, ids = self.label_maps[bucket_set.name], bucket_set.table["input_id"]
            places = finished.places(ids)
            parts = predictions_parts(bucket_set, finished, label_map, places)
            counts = count_inputs(ids, places, finished)
            metadata |= {"inputs": counts, "seed": self.options.seed, "measures": list(bucket_set.measures)}
            until = {"until": self.until[bucket_set.name]} if bucket_set.name in self.until else {}
            self.folder.write(path, parts, run_metadata(bucket_set, identity, label_map, **metadata, **until))
            self.folder.update_run({"inputs": {bucket_set.name: counts}})
            for note in input_notes({"inputs": counts, "model": identity, "task": bucket_set.task.name}):
                warnings.warn(f"{bucket_set.name}: {note}.", UserWarning, stacklevel=2)
            if self.options.texts:
                about = {"format": "paraconsist-texts-1", "set": bucket_set.name}
                self.folder.write(self.folder.file_of("texts", bucket_set.file_name), texts_table(bucket_set), about)

    def write_repeats(
        self, name: str, chosen: Sequence[BucketSet], repeats: Sequence[tuple[Repeat, Store]], **metadata: object
    ) -> None:
        """Write ``noise/<set>.parquet`` from the stores of the repeats; nothing if there are none."""
        finished = [(repeat, store.finished()) for repeat, store in repeats]
        for bucket_set in chosen:
            label_map, parts = self.label_maps[bucket_set.name], []
            for repeat, results in finished:
                table = joined(predictions_parts(bucket_set, results, label_map))
                table = table.append_column("repeat", pa.array([repeat.number] * len(table)))
                parts.append(table.append_column("kind", pa.array([repeat.kind] * len(table))))
            table = pa.concat_tables(parts, promote_options="default")  # a repeat may lack probabilities
            metadata |= {"n_repeats": len(repeats), "noise_share": self.options.noise_share, "seed": self.options.seed}
            about = run_metadata(bucket_set, content_identity(self.identities[name]), label_map, **metadata)
            self.folder.write(self.folder.file_of("noise", bucket_set.file_name), table, about)

    def record(self, **passes: Mapping[str, Json]) -> None:
        """Add the run to ``run.json``: models, paths of the sets, what each pass did, and when.

        A pass that found all of its results keeps the entry and the times of the pass that computed them.
        """
        sets = {name: f"predictions/{path.name}" for name, path in self.files.items()}
        earlier = self.folder.read()
        told = {
            kind: {name: _told(entry, earlier.get(kind, {}).get(name)) for name, entry in by_name.items()}
            for kind, by_name in passes.items()
        }
        is_old = all(_is_old(entry) for by_name in passes.values() for entry in by_name.values())
        is_new = bool(passes) and not (is_old and "ended" in earlier)
        times = {"started": utc(self.started), "ended": utc(time.time())} if is_new else {}
        known = {"until": {name: found.to_dict() for name, found in self.known.items()}} if self.known else {}
        self.folder.update_run({"models": dict(self.identities), "sets": sets, **known, **told, **times})


def _is_old(entry: Json) -> bool:
    """Say whether a pass found all of its results."""
    return not entry.get("last", entry)["n_computed"]


def _told(entry: Json, before: Json | None) -> Json:
    """Return the entry of a pass: where nothing was computed, what the command `before` did; totals are the newest."""
    if before is None or not _is_old(entry):
        return entry
    return {**entry, "last": before.get("last", entry["last"])} if "last" in entry else before


def group_sets(sets: Mapping[str, Sequence[BucketSet]]) -> Groups:
    """Return what each pass computes: the sets of one task that one model answers.

    The name of a pass is the task's, with the model's before it where several models answer one task: the last part of
    its path, or all of it where the models are not told apart by that.
    """
    every = [bucket_set for group in sets.values() for bucket_set in group]
    names = [bucket_set.name for bucket_set in every]
    if not names or len(set(names)) < len(names):
        raise input_error("run", "dataset", "name at least one set, each once", got=names)
    _check_columns(every)
    for bucket_set in every:
        _check_gold(bucket_set)
    parts: dict[tuple[str, str], list[BucketSet]] = {}
    for model, group in sets.items():
        for bucket_set in group:
            parts.setdefault((model, bucket_set.task.name), []).append(bucket_set)
    tasks, last = [task for _, task in parts], [Path(model).name for model in sets]
    called = {model: name if last.count(name) == 1 else model for model, name in zip(sets, last, strict=True)}
    return {
        task if tasks.count(task) == 1 else f"{called[model]}:{task}": (model, group)
        for (model, task), group in parts.items()
    }


def _check_gold(bucket_set: BucketSet) -> None:
    """Refuse what scoring would refuse after the run: comparers, accepted answers that these cannot read, and two gold
    labels in a bucket whose consistency is measured."""
    table = bucket_set.table
    if bucket_set.task is QUESTIONS:
        has_gold = pc.greater(pc.fill_null(pc.list_value_length(table["label"]), 0), 0)
        rows = table.filter(has_gold) if pc.any(has_gold).as_py() else table
        answers = pa.nulls(len(rows), pa.string())
        asked = {"bucket_id": rows["bucket_id"], "expected": rows["label"], "prediction": answers}
        choices = pa.array(offered(rows[CHOICES].to_pylist()), pa.list_(pa.string()))
        unanswered = Predictions(pa.table({**asked, CHOICES: choices}), {})
        named = (bucket_set.comparers.get("same", "text"), bucket_set.comparers.get("right"))
        same, right = ("text" if name and name.startswith(_WITH_MODEL) else name for name in named)
        try:
            found = compared(unanswered, SourceOptions(label="expected"), same, right).table
        except InputError as problem:
            problem.function = "run"
            raise
        if len(rows) < len(table) or "expected" not in found.column_names:
            return
        table = pa.table({"bucket_id": rows["bucket_id"], "role": rows["role"], "label": found["expected"]})
    table = table.select(["bucket_id", "role", "label"])
    roles = set(table["role"].unique().to_pylist())
    if roles == {ORIGINAL} or PARAPHRASTIC.name not in (bucket_set.measures or default_measures(sorted(roles))):
        return
    table = table.filter(pc.is_in(table["role"], pa.array([ORIGINAL, PARAPHRASE])))
    gold = table.group_by("bucket_id").aggregate([("label", "distinct")])
    differing = gold.filter(pc.greater(pc.list_value_length(gold["label_distinct"]), 1)).to_pylist()
    if differing:
        names, first = dict(enumerate(bucket_set.label_names)), differing[0]
        labels = sorted(first["label_distinct"])
        pair = " and ".join(names.get(label, "none" if label == -1 else label) for label in (labels[0], labels[-1]))
        remedy = f"{len(differing):,} of {len(gold):,} in {bucket_set.name} have two, "
        remedy += f"such as {first['bucket_id']!r}: {pair}."
        if bucket_set.task is QUESTIONS and any(bucket_set.table[CHOICES].to_pylist()):
            remedy += " Of choices in different orders give the text, not the letter."
        raise input_error("run", "label", "give every row of a bucket the same gold label", remedy=remedy)


def _check_columns(sets: Sequence[BucketSet]) -> None:
    """Refuse a named stratum that no set has, and warn once of the columns that are not written."""
    left_out = ", ".join(dict.fromkeys(column for bucket_set in sets for column in bucket_set.left_out))
    for name in (name for bucket_set in sets for name in bucket_set.named):
        if not any(name in bucket_set.table.column_names for bucket_set in sets):
            remedy = f"Further columns: {left_out or 'none'}."
            raise input_error("run", "stratum", "be a column of the rows", got=name, remedy=remedy)
    if left_out:
        text = f"columns not written to predictions or results: {left_out}. Name those to keep as `stratum`"
        warnings.warn(f"{text}, accepted answers to questions as `column` expected=NAME.", UserWarning, stacklevel=2)


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def store_identity(model_identity: Mapping[str, str], task: Task) -> dict[str, object]:
    """Return what decides a prediction besides its input: the store of one model and task is named by it."""
    return {"model": content_identity(model_identity), "task": task.name, "template_hash": task.template_hash}


def predictions_parts(
    bucket_set: BucketSet, finished: Mapping[str, Result], label_map: LabelMap, places: Places | None = None
) -> Iterator[pa.Table]:
    """Give every row of the set the prediction of its input, a block of rows at a time (at least one block).

    `finished` is from the store: input id -> probabilities over the model's labels, a written answer, or a failure;
    `places` are those of the rows' inputs in it, where they are known already. A block has `KEY_COLUMNS`, strata,
    `prediction` (null if no label could be read from a written answer, or there is no answer), `probabilities` (over
    the task's labels, null for answers without them; absent if all are written), `raw_output`
    (null for answers that are not written) and, if inputs failed, `unanswered` (the kind of failure).
    """
    table, results = bucket_set.table, Results.of(finished)
    places = results.places(table["input_id"]) if places is None else places
    if places.min(initial=0) < 0:
        ids = table["input_id"].unique()
        missing = ids.filter(pa.array(results.places(ids) < 0))
        what = f"{len(missing)} of {len(ids)} inputs of {bucket_set.name} were not computed"
        remedy = f"Run the same command again to go on. {SHARED}"
        raise InputError(f"{what} (the first is {missing[0]}).", function="run", remedy=remedy)
    used = results.used(places)
    kinds = {type(result) for place, result in results.others.items() if used[place]}
    if WrittenAnswer not in kinds or used.sum() > sum(bool(used[place]) for place in results.others):
        kinds.add(list)
    own = [CHOICES] if bucket_set.task is QUESTIONS else []
    table = table.select([*KEY_COLUMNS, *bucket_set.strata, *own])
    starts = range(0, len(table), _BLOCK) or [0]
    return (
        _predicted(table.slice(start, _BLOCK), places[start : start + _BLOCK], results, kinds, label_map)
        for start in starts
    )


def _predicted(table: pa.Table, places: Places, results: Results, kinds: set[type], label_map: LabelMap) -> pa.Table:
    """Return the rows of a block, whose results are at `places`, with the columns that `predictions_parts` adds."""
    n, n_labels = len(places), len(label_map.model_labels)
    if not n_labels:
        return _written(table, places, results)
    others = {row: results.others[place] for row, place in enumerate(places.tolist()) if place in results.others}
    by_row = results.probabilities[places] if results.probabilities.size else np.empty((n, n_labels))
    for row, result in others.items():
        if not isinstance(result, list):  # a label read from an answer is mapped as certainty of it
            result = [float(getattr(result, "label", None) == label) for label in range(n_labels)]
        by_row[row] = result
    predictions, probabilities = label_map.apply(by_row)
    failed = {row: result.kind for row, result in others.items() if isinstance(result, Failed)}
    outputs = {row: result.raw_output for row, result in others.items() if isinstance(result, WrittenAnswer)}
    predictions[[row for row, result in others.items() if getattr(result, "label", None) is None]] = -1
    columns = {name: table[name] for name in table.column_names}
    columns["prediction"] = pa.array(predictions, pa.int64(), mask=predictions < 0)
    if list in kinds:
        answered = np.array([isinstance(others.get(row, []), list) for row in range(n)], dtype=np.bool_)
        ends = pa.array(np.cumsum([0, *answered]) * probabilities.shape[1], pa.int32())
        values, mask = pa.array(probabilities[answered].ravel()), None if answered.all() else pa.array(~answered)
        columns["probabilities"] = pa.ListArray.from_arrays(ends, values, mask=mask)
    columns["raw_output"] = pa.array([outputs.get(row) for row in range(n)], pa.string())
    if Failed in kinds:
        columns[UNANSWERED] = pa.array([failed.get(row) for row in range(n)], pa.string())
    return pa.table(columns)


def _written(table: pa.Table, places: Places, results: Results) -> pa.Table:
    """Return rows of questions with their answers in free text, which the scoring compares."""
    found = [results.others[place] for place in places.tolist()]
    columns = {name: table[name] for name in table.column_names if name != "allowed_labels"}
    columns[CHOICES] = pa.array(offered(table[CHOICES].to_pylist()), pa.list_(pa.string()))
    texts = [result.raw_output if isinstance(result, WrittenAnswer) else None for result in found]
    columns |= dict.fromkeys(("prediction", "raw_output"), pa.array(texts, pa.string()))
    if any(isinstance(result, Failed) for result in found):
        kinds = [result.kind if isinstance(result, Failed) else None for result in found]
        columns[UNANSWERED] = pa.array(kinds, pa.string())
    return pa.table(columns)


def texts_table(bucket_set: BucketSet) -> pa.Table:
    """Return what the model read: `input_id` and the task's columns, a row for each distinct input.

    The run folder keeps it apart from the predictions, which hold no texts, so that a report can show them.
    """
    return joined(DistinctInputs([bucket_set]).in_order())


def distinct_rows(sets: Sequence[BucketSet]) -> Iterator[tuple[str, Task, dict[str, str]]]:
    """Yield every distinct input of the sets, in order of first appearance: its id, task, and the task's columns."""
    inputs = DistinctInputs(sets)
    for table in inputs.in_order():
        for row in table.to_pylist():
            yield row.pop("input_id"), inputs.task, row


def run_metadata(
    bucket_set: BucketSet, model_identity: Mapping[str, str], label_map: LabelMap, **more: object
) -> dict[str, object]:
    """Return the run's identity for the metadata of a predictions file."""
    return {
        "format": "paraconsist-predictions-1",
        "set": bucket_set.name,
        "set_fingerprint": bucket_set.fingerprint,
        "split": bucket_set.split,
        "limit": bucket_set.limit,
        "n_rows": bucket_set.table.num_rows,
        "task": bucket_set.task.name,
        "template_hash": bucket_set.task.template_hash,
        "label_names": list(bucket_set.label_names),
        **({"same": "text", **bucket_set.comparers} if bucket_set.task is QUESTIONS else {}),
        "strata": list(bucket_set.strata),
        **({"notes": [f"a check kept these wordings: {error}"]} if (error := bucket_set.error_of_check) else {}),
        **({} if bucket_set.part is None else {"part": bucket_set.part}),
        "label_map": label_map.describe(),
        "model": dict(model_identity),
        "versions": {"python": platform.python_version(), **{package: _version(package) for package in _PACKAGES}},
        **more,
    }


@cache  # reading a distribution's metadata takes 10 ms, and a run with a condition writes many times
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


@dataclass(frozen=True)
class Repeat:
    """One repetition of a share of the rows."""

    number: int  # from 1, over all kinds
    kind: str  # numeric: other batches; decoding: other batches and another seed of the draws
    of_kind: int  # from 1, within its kind

    @property
    def key(self) -> str:
        """The key of its number in the identity of its store."""
        return "repeat" if self.kind == "numeric" else self.kind

    def seed_after(self, seed: int) -> int:
        """Return the seed of its draws, where `seed` is the run's."""
        return seed + (self.of_kind if self.kind == "decoding" else 0)


def repeats_of(options: RunOptions) -> list[Repeat]:
    """Return the numeric repeats, then those with other seeds."""
    kinds = ["numeric"] * options.noise_floor + ["decoding"] * options.repeats
    return [Repeat(i, kind, kinds[:i].count(kind)) for i, kind in enumerate(kinds, start=1)]


def draws_at_server(fields: Json | None) -> bool:
    """Return whether further fields of an endpoint's requests let the server draw answers; null is its own choice."""
    return bool((fields or {}).get("temperature", 0) != 0)


def check_repeats(options: RunOptions, *, drawn: bool, fields: Json | None = None) -> None:
    """Refuse repeats that would show nothing, or not what their name promises.

    `drawn` is whether the run draws its answers; `fields` are, for an endpoint, further fields of its requests, among
    which a temperature counts.
    """
    of_server = drawn or draws_at_server(fields)
    if options.repeats and not of_server:
        remedy = "Give `scoring` generate and a `temperature`; `noise_floor` shows which answers flip without draws."
        raise input_error("run", "repeats", "be given only where answers are drawn", got=options.repeats, remedy=remedy)
    if options.noise_floor and fields is not None and of_server:
        must = "not be given with `endpoint` where answers are drawn"
        remedy = "Give `repeats`: the server forms other batches for them, too."
        raise input_error("run", "noise_floor", must, got=options.noise_floor, remedy=remedy)
    if options.repeats and fields is not None and fields.get("seed") is not None:
        must = "not set the seed where `repeats` are given"
        raise input_error("run", "request_field", must, got=fields["seed"], remedy="Each repeat has its own seed.")


def share_of(bucket_set: BucketSet, share: float, seed: int) -> BucketSet:
    """Return a random share of each bucket's distinct inputs, at least one that is not an original.

    Whether an input is drawn depends on `seed`, its text and its bucket alone: a longer run draws it too.
    """
    table = bucket_set.table
    keys = list(zip(*(table[name].to_pylist() for name in ("bucket_id", "role", "input_id")), strict=True))
    parts: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    for bucket, role, input_id in keys:
        parts[bucket, role == ORIGINAL].add(input_id)
    drawn: set[tuple[str, str]] = set()
    for (bucket, is_original), inputs in parts.items():
        n = int(share * len(inputs) + uniform(seed, bucket, str(is_original)))
        order = sorted(inputs, key=lambda input_id: (uniform(seed, bucket, input_id), input_id))
        drawn.update((bucket, input_id) for input_id in order[: max(n, 0 if is_original else 1)])
    mask = pa.array([(bucket, input_id) in drawn for bucket, _, input_id in keys])
    return replace(bucket_set, table=table.filter(mask))


@dataclass(frozen=True)
class Drawn:
    """A set in the order in which it is asked."""

    whole: BucketSet  # its rows in that order
    ends: Sequence[int]  # of the rows of each cluster
    about: Json  # what predictions record of it
    order: Sequence[str]  # the buckets

    def first(self, n_clusters: int) -> BucketSet:
        """Return the rows of the first clusters."""
        return replace(self.whole, table=self.whole.table.slice(0, self.ends[n_clusters - 1]))


def check_until(options: RunOptions) -> Until | None:
    """Return the condition on which a run stops, if there is one; InputError for options that do not go with it."""
    if options.until is None:
        for name in ("until_set", "wordings"):
            if getattr(options, name):
                raise input_error("run", name, "be given only with `until`", got=getattr(options, name))
        return None
    until = Until.read(options.until)
    for name in ("noise_floor", "repeats"):
        if getattr(options, name):
            raise input_error("run", name, "not be given with `until`", got=getattr(options, name))
    if options.wordings is not None:
        if options.until_set:
            remedy = "The mean over this very set is known from all of its wordings."
            raise input_error("run", "wordings", "not be given with `until_set`", got=options.wordings, remedy=remedy)
        check_whole("run", "wordings", options.wordings, at_least=QUANTITIES[until.quantity][1])
    return until


def draw(bucket_set: BucketSet, until: Until, options: RunOptions) -> Drawn:
    """Draw the order of a set's clusters, of the buckets of each, and the wordings of each bucket."""
    roles, least = QUANTITIES[until.quantity]
    names = ("bucket_id", "group_id", "role", "input_id")
    if bucket_set.part is not None:
        raise input_error("run", "part", "not be given with `until`", got=bucket_set.part)
    if len(several := counted_roles(bucket_set.table["role"].unique().to_pylist())) > 1:
        raise input_error("run", "dataset", "hold the rows of one measure where `until` is given", got=several)
    by_bucket: dict[str, list[int]] = {}
    counted: dict[str, list[tuple[float, int]]] = {}
    group_of: dict[str, str] = {}
    rows = zip(*(bucket_set.table[name].to_pylist() for name in names), strict=True)
    for place, (bucket, group, role, input_id) in enumerate(rows):
        by_bucket.setdefault(bucket, []).append(place)
        group_of[bucket] = bucket if options.until_set or group is None else group
        if role in roles:
            counted.setdefault(bucket, []).append((uniform(options.seed, bucket, input_id), place))
    clusters: dict[str, list[str]] = {}
    for bucket, wordings in counted.items():
        if len(wordings) >= least:
            clusters.setdefault(group_of[bucket], []).append(bucket)
            if options.wordings is not None:
                by_bucket[bucket] = sorted(place for _, place in sorted(wordings)[: options.wordings])
    if not clusters:
        must = f"have a bucket with {least} rows of role {' or '.join(roles)} where `until` is given"
        raise input_error("run", "dataset", must, got=bucket_set.name)
    drawn = sorted(clusters, key=lambda group: (uniform(options.seed, group), group))
    reference: dict[str, float] = {}
    if until.reference is not None:
        reference, seed = _of_reference(until, bucket_set, by_bucket)
        n_known = next((n for n, group in enumerate(drawn) if not reference.keys() >= {*clusters[group]}), len(drawn))
        if n_known < (len(drawn) if options.until_set or seed != options.seed else 1):
            must = "refer to a run that answered every bucket, or was stopped in the same order (with this `seed`)"
            raise input_error("run", "until", must, got=until.reference)
        drawn = drawn[:n_known]
    order = [bucket for group in drawn for bucket in clusters[group]]
    places = [place for bucket in order for place in by_bucket[bucket]]
    ends = accumulate(sum(len(by_bucket[bucket]) for bucket in clusters[group]) for group in drawn)
    about = {
        "condition": str(until),
        "of_set": options.until_set,
        "wordings": options.wordings,
        "n_clusters": len(drawn),
        "largest_cluster": max(map(len, clusters.values())),
        **({"reference": {bucket: reference[bucket] for bucket in order}} if reference else {}),
    }
    ordered = replace(bucket_set, table=bucket_set.table.take(pa.array(places, pa.int64())))
    return Drawn(ordered, list(ends), about, order)


def _of_reference(
    until: Until, bucket_set: BucketSet, by_bucket: dict[str, list[int]]
) -> tuple[dict[str, float], int | None]:
    """Return the value of each bucket in the run that the condition refers to, of the wordings that are asked, and the
    seed of that run."""
    roles, _ = QUANTITIES[until.quantity]
    ids, of = (bucket_set.table[name].to_pylist() for name in ("example_id", "role"))
    wanted = {bucket: [ids[i] for i in places if of[i] in roles] for bucket, places in by_bucket.items()}
    same = {"same": bucket_set.comparers.get("same", "text")} if bucket_set.task is QUESTIONS else {}
    return values_of_run(until, wanted, {"set": bucket_set.name, "set_fingerprint": bucket_set.fingerprint, **same})


def rounds(
    job: Job,
    name: str,
    store: Store,
    *,
    on_main: Callable[[Callable[[], Any]], Any] = lambda action: action(),
    say: Callable[[str], None] | None = None,
    usage: Callable[[BucketSet], Any] | None = None,
) -> Iterator[None]:
    """Yield once a round of a pass, whose sets in the job are then what has been asked so far and is asked next.

    Without a condition there is one round. `on_main` does something on the main process and returns its result on all;
    `usage` returns what the answers about a set came to.
    """
    until = check_until(job.options)
    if until is None:
        yield
        return
    model, whole = job.groups[name]
    drawn = {bucket_set.name: draw(bucket_set, until, job.options) for bucket_set in whole}
    on_main(lambda: _write_down(job, drawn))
    n_asked, pending = dict.fromkeys(drawn, 0), set(drawn)
    while pending:
        for of_set in pending:
            n = n_asked[of_set]
            n_asked[of_set] = _next(n, len(drawn[of_set].ends))
        job.groups[name] = model, [one.first(n_asked[of_set]) for of_set, one in drawn.items()]
        job.until.update({of_set: one.about for of_set, one in drawn.items()})
        yield

        def look() -> dict[str, Known]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                job.write(name, store)
            return {of_set: _known(job, of_set) for of_set in drawn}

        found = on_main(look)
        for of_set in sorted(pending):
            if say is not None:
                asked = drawn[of_set].first(n_asked[of_set])
                say(_said(of_set, found[of_set], drawn[of_set].ends, usage(asked).cost or 0.0 if usage else 0.0))
        job.known.update(found)
        pending = {s for s in pending if found[s].verdict is None and n_asked[s] < len(drawn[s].ends)}


def _write_down(job: Job, drawn: dict[str, Drawn]) -> None:
    """Record each order before anything is asked in it; InputError if the folder holds another one."""
    for one in drawn.values():
        file = job.folder.store / f"until-{one.whole.file_name}.json"
        now = {**one.about, "seed": job.options.seed, "set": one.whole.fingerprint, "order": list(one.order)}
        if file.exists():
            before = json.loads(file.read_text(encoding="utf-8"))
            if changed := [key for key in now if before.get(key) != now[key]]:
                must = "be that of the run in the folder, which was drawn before anything was asked"
                remedy = f"Other than there: {', '.join(changed)}. Choose another folder, or give `overwrite`."
                raise input_error("run", "until", must, got=job.options.until, remedy=remedy)
        else:
            make_folder(file.parent)
            write_json(file, now)


def _known(job: Job, of_set: str) -> Known:
    (source,) = open_source(job.files[of_set], function="run").sets.values()
    rows = apply_policy(read_rows(source.predictions, source.columns), "wrong")[0]
    return known(rows, job.until[of_set])


def _next(n: int, n_in_all: int) -> int:
    """Return how many clusters are asked after the next round."""
    return min(n + max(_LEAST, n // _SHARE), n_in_all)


def _said(of_set: str, found: Known, ends: Sequence[int], cost: float) -> str:
    """Return what is known, what it cost, and about what the rest costs; `ends` as `Drawn` has them."""
    n = found.n_asked
    rest = max(found.n_expected, _next(n, found.n_in_all)) - n
    inputs = ends[n - 1]
    spent = f"{plural(inputs, 'row')}{f', cost {cost:,.4f}' if cost else ''}"
    what = found.quantity if found.reference is None else f"{found.quantity} less that of {found.reference}"
    line = f"{of_set}: {what} {found.low:.3f} to {found.high:.3f} after {n:,} of {found.n_in_all:,} ({spent})"
    if found.verdict is not None:
        verdict = "is known" if found.verdict else "does not hold"
        price = f" Looking took {found.price:.1f} times the buckets of a fixed number." if found.price else ""
        return f"{line}: {found.condition} {verdict}.{price}"
    if n == found.n_in_all:
        return f"{line}: all is asked, and {found.condition} is not known."
    more = f"{plural(ends[n + rest - 1] - inputs, 'row')}{f', cost {cost * rest / n:,.4f}' if cost else ''}"
    return f"{line}; {found.condition} takes about {rest:,} more ({more})."


def summed(rounds_of_pass: Sequence[_S]) -> _S:
    """Return the statistics of a pass from those of its rounds."""
    *earlier, last = rounds_of_pass
    if not earlier:
        return last
    parts: list[Any] = [vars(one) if is_dataclass(one) else one for one in rounds_of_pass]
    values = dict(parts[-1])
    for key, value in values.items():
        if isinstance(value, (int, float)) and key not in _COUNTED_ONCE:
            values[key] = sum(part[key] for part in parts)
        elif isinstance(value, dict):
            values[key] = {k: sum(part[key].get(k, 0) for part in parts) for part in parts for k in part[key]}
    if "padding" in values:
        values["padding"] = padding_of(parts)
    whole: Any = last
    return replace(whole, **{f.name: values[f.name] for f in fields(whole)}) if is_dataclass(last) else values  # type: ignore[return-value]


def padding_of(passes: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of padding among all tokens that several passes computed."""
    n_computed = sum(one["n_tokens"] / (1.0 - one["padding"]) for one in passes)
    return 1.0 - sum(one["n_tokens"] for one in passes) / n_computed if n_computed else 0.0


def uniform(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of the parts."""
    digest = hashlib.sha256("\x00".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2.0**56
