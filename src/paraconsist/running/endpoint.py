"""One run over an endpoint: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.run_folder import RunFolder, content_identity
from paraconsist.data.store import Store
from paraconsist.errors import input_error
from paraconsist.models.endpoint.client import EndpointClient, Key, find_key
from paraconsist.models.endpoint.journal import Journal, Usage, add_up
from paraconsist.models.endpoint.label_scoring import Method, find_method, method_key
from paraconsist.models.endpoint.protocol import Question, question_of
from paraconsist.models.endpoint.queue import QueueStatistics, RequestQueue, run_to_end
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings
from paraconsist.models.progress import ProgressBar
from paraconsist.running.run import RunOptions, group_sets, label_map_of, write_set

if TYPE_CHECKING:
    from paraconsist.data.tasks import Task


@dataclass(frozen=True)
class EndpointReport:
    """What a run over an endpoint left: the folder, a file for each set, what each task's pass did and came to."""

    folder: RunFolder
    files: Mapping[str, Path]
    methods: Mapping[str, Method]
    asked: Mapping[str, QueueStatistics]
    usage: Mapping[str, Usage]


def run_endpoint(
    load_sets: Callable[[], Mapping[str, Sequence[BucketSet]]],
    ask: Callable[[str, Sequence[BucketSet]], EndpointPrompt],
    settings: EndpointSettings,
    options: RunOptions,
) -> EndpointReport:
    """Ask the models behind an endpoint about bucket sets, in one process.

    Every answer is written down as it comes: a run that was killed goes on with the same command, and sends nothing
    again that was answered. Requests that were under way at the kill are sent again. A finished run needs no server.

    Parameters
    ----------
    load_sets : callable
        Returns model -> its sets.
    ask : callable
        Model and the sets of one task -> how it is asked.
    settings : EndpointSettings
    options : RunOptions
        `device` and `batch_tokens` are not used.

    Raises
    ------
    InputError
        For unusable endpoints, keys, models, sets, label names or folders.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise input_error(
            "run",
            "endpoint",
            "be asked by one process",
            got=f"{os.environ['WORLD_SIZE']} processes",
            remedy="Start it without a launcher, with a higher --concurrency.",
        )
    started = time.time()
    key = find_key(settings)
    groups = group_sets(load_sets())
    askings = {name: ask(model, group) for name, (model, group) in groups.items()}
    label_maps = {
        s.name: label_map_of(askings[name].label_names, s, options)
        for name, (_, group) in groups.items()
        for s in group
    }
    folder = RunFolder(options.output)
    methods = {name: _method(folder, settings, key, asking, options) for name, asking in askings.items()}
    identities = {name: _identity(settings, askings[name], methods[name]) for name in groups}
    folder.open(identities, overwrite=options.overwrite)
    for name, asking in askings.items():
        _keep_method(folder, settings, asking, methods[name])
    asked: dict[str, QueueStatistics] = {}
    usage: dict[str, Usage] = {}
    files: dict[str, Path] = {}
    for name, (_, group) in groups.items():
        task = group[0].task
        identity = {"model": content_identity(identities[name]), "task": task.name, "template_hash": task.template_hash}
        store = Store(folder.store, identity)
        asked[name], usage[name] = _pass(settings, key, askings[name], methods[name], group, store)
        finished = store.finished()
        for bucket_set in group:
            files[bucket_set.name] = write_set(
                folder,
                bucket_set,
                finished,
                label_maps[bucket_set.name],
                identities[name],
                options,
                endpoint=usage[name].to_dict(),
            )
        _warn_of_bounds(asked[name], name)
    said: dict[str, Any] = {
        "models": identities,
        "sets": {name: f"predictions/{path.name}" for name, path in files.items()},
        "endpoint": {name: {**usage[name].to_dict(), "last": vars(asked[name])} for name in groups},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    folder.update_run(said)
    return EndpointReport(folder, files, methods, asked, usage)


def _pass(
    settings: EndpointSettings,
    key: Key | None,
    asking: EndpointPrompt,
    method: Method,
    group: Sequence[BucketSet],
    store: Store,
) -> tuple[QueueStatistics, Usage]:
    """Ask about every distinct input of the sets (of one task) that the store holds no result for."""
    questions = _questions(asking, settings.api, group)
    store.create()
    with store.writer(0) as shard, Journal(store.folder) as journal:
        finished = store.finished()
        pending = {input_id: question for input_id, question in questions.items() if input_id not in finished}
        with ProgressBar(len(pending), group[0].task.name, visible=True) as bar:

            async def work() -> QueueStatistics:
                async with EndpointClient(settings, key) as client:
                    asker = RequestQueue(client, asking, method, journal, shard, bar.advance)
                    return await asker.ask(pending, len(questions))

            asked = run_to_end(work) if pending else QueueStatistics(len(questions), 0, 0, {}, 0, 0, 0.0)
        return asked, add_up(journal.answers.values(), settings)


def _questions(asking: EndpointPrompt, api: str, group: Sequence[BucketSet]) -> dict[str, Question]:
    questions: dict[str, Question] = {}
    for bucket_set in group:
        task: Task = bucket_set.task
        columns = ["input_id", *task.columns]
        values = (bucket_set.table[c].to_pylist() for c in columns)
        for input_id, *texts in zip(*values, strict=True):
            if input_id not in questions:
                row = dict(zip(task.columns, texts, strict=True))
                questions[input_id] = question_of(asking, api, task, row)
    return questions


def _method(
    folder: RunFolder, settings: EndpointSettings, key: Key | None, asking: EndpointPrompt, options: RunOptions
) -> Method:
    """How labels are taken: as the run folder remembers, else as the endpoint shows."""
    path = _method_file(folder, settings, asking)
    if path.is_file() and not options.overwrite:
        try:
            return Method.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            pass  # found out again

    async def probe() -> Method:
        async with EndpointClient(settings, key) as client:
            return await find_method(client, asking)

    return run_to_end(probe)


def _keep_method(folder: RunFolder, settings: EndpointSettings, asking: EndpointPrompt, method: Method) -> None:
    path = _method_file(folder, settings, asking)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(method.to_dict(), indent=2) + "\n", encoding="utf-8")
    partial.replace(path)


def _method_file(folder: RunFolder, settings: EndpointSettings, asking: EndpointPrompt) -> Path:
    return folder.store / f"endpoint-{method_key(settings, asking)}.json"


def _identity(settings: EndpointSettings, asking: EndpointPrompt, method: Method) -> dict[str, str]:
    """What the predictions file records of the model; the key is no part of it."""
    said = {
        "model": asking.model,
        "kind": "endpoint",
        "endpoint": settings.url,
        "api": settings.api,
        "template": asking.prompt.template.name,
        "prompt_hash": asking.prompt.hash,
        "shots": str(len(asking.prompt.examples)),
        "scoring": method.scoring,
    }
    if method.scoring == "label":
        said |= {"normalize": asking.normalize, "log_probabilities": method.describe()}
    else:
        said |= {"max_new_tokens": str(asking.max_tokens)}
    if settings.request_fields:
        said["request_fields"] = json.dumps(dict(settings.request_fields), sort_keys=True, ensure_ascii=False)
    return said


def _warn_of_bounds(asked: QueueStatistics, name: str) -> None:
    if asked.n_unread:
        warnings.warn(
            f"{name}: for {asked.n_unread:,} of {asked.n_computed:,} inputs the endpoint showed no label word's "
            "log-probability: they are unparsed, and the predictions file has no probabilities.",
            UserWarning,
            stacklevel=2,
        )
    if asked.n_bounded:
        warnings.warn(
            f"{name}: for {asked.n_bounded:,} of {asked.n_computed:,} inputs the endpoint showed the log-probabilities "
            "of some label words only: the others count with the least that it showed, so that confidence is too low "
            "there. If a word is never shown, it is several tokens: give other label words.",
            UserWarning,
            stacklevel=2,
        )
