"""One run over an endpoint: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import Failures, all_failed, to_ask
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.sharing import request_fields_text
from paraconsist.data.store import Store, store_key
from paraconsist.errors import input_error
from paraconsist.files import launched, locked, read_record, rename_folder, write_json
from paraconsist.models.endpoint.client import EndpointClient, Key, find_key
from paraconsist.models.endpoint.label_scoring import Method, find_method, method_key
from paraconsist.models.endpoint.protocol import Answered, Unreachable, question_of
from paraconsist.models.endpoint.queue import Journal, QueueStatistics, RequestQueue, Usage, add_up, run_to_end
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, draw_identity
from paraconsist.models.progress import ProgressBar
from paraconsist.running.options import RunOptions
from paraconsist.running.outputs import distinct_rows, store_identity
from paraconsist.running.repeats import check_repeats, repeats_of, rows_again, write_repeats
from paraconsist.running.run import group_sets, label_maps_of, record_run, write_sets


@dataclass(frozen=True)
class EndpointReport:
    """What a run over an endpoint left: the folder, a file for each set, what each task's pass did and came to."""

    folder: RunFolder
    files: Mapping[str, Path]
    methods: Mapping[str, Method]
    statistics: Mapping[str, QueueStatistics]
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

    `load_sets` returns model -> its sets; `ask` says how a model is asked the sets of one task. Of the `options`,
    `device` and `batch_tokens` are not used.
    """
    n_processes = launched()[1]
    if n_processes > 1:
        remedy = "Start it without a launcher, with a higher `concurrency`."
        must = "be asked by one process"
        raise input_error("run", "endpoint", must, got=f"{n_processes} processes", remedy=remedy)
    started = time.time()
    key = find_key(settings)
    groups = group_sets(load_sets())
    prompts = {name: ask(model, sets) for name, (model, sets) in groups.items()}
    for prompt in prompts.values():
        check_repeats(options, drawn=prompt.temperature > 0, fields=settings.request_fields)
    label_maps = label_maps_of(groups, {name: prompt.label_names for name, prompt in prompts.items()}, options)
    folder = RunFolder(options.output)
    offers = {name: _offer(folder, settings, key, prompt, options) for name, prompt in prompts.items()}
    methods = {name: next(iter(of_each.values())) for name, of_each in offers.items()}
    identities = {name: identity_of(settings, prompts[name], methods[name]) for name in groups}
    with locked(folder.path, "run", "output"):
        if not options.overwrite:
            identities = go_on(folder, identities)
        folder.open(identities, overwrite=options.overwrite)
        for name, of_each in offers.items():
            for one in settings.each():
                if one.url in of_each:
                    write_json(method_file(folder, one, prompts[name]), of_each[one.url].to_dict())
        statistics: dict[str, QueueStatistics] = {}
        usage: dict[str, Usage] = {}
        files: dict[str, Path] = {}
        for name, (_, sets) in groups.items():
            identity = store_identity(identities[name], sets[0].task)
            store = Store(folder.store, identity)
            reached = replace(settings, urls=tuple(offers[name]))
            statistics[name], answered = _pass(reached, key, prompts[name], methods[name], sets, store, options)
            chosen, again = rows_again(sets, options), []
            for repeat in repeats_of(options) if chosen else ():
                prompt = replace(prompts[name], seed=repeat.seed_after(options.seed))
                again.append((repeat, repeat.store(folder, identity)))
                answered += _pass(reached, key, prompt, methods[name], chosen, again[-1][1], options)[1]
            write_repeats(folder, chosen, again, identity, label_maps, options)
            usage[name] = add_up(answered, settings)
            answers = usage[name].to_dict()
            files |= write_sets(folder, sets, store, label_maps, identities[name], options, endpoint=answers)
            warn_of_bounds(statistics[name], name)
        passes = {n: {**usage[n].to_dict(), "last": {"urls": list(offers[n]), **vars(statistics[n])}} for n in groups}
        record_run(folder, identities, files, started, endpoint=passes)
    return EndpointReport(folder, files, methods, statistics, usage)


def _pass(
    settings: EndpointSettings,
    key: Key | None,
    prompt: EndpointPrompt,
    method: Method,
    group: Sequence[BucketSet],
    store: Store,
    options: RunOptions,
) -> tuple[QueueStatistics, list[Answered]]:
    """Ask about every distinct input of the sets (of one task) that the store holds no result for.

    Returns with it all answers behind the store's results, those of earlier commands too.
    """
    questions = {i: question_of(prompt, settings.api, task, row) for i, task, row in distinct_rows(group)}
    store.create()
    with store.writer(0) as shard, Journal(store.folder) as journal:
        finished = store.finished()
        again = options.retry_failed or options.on_error == "stop"
        pending = {i: questions[i] for i in to_ask(list(questions), finished, retry_failed=again)}
        failures = Failures(options.on_error, any_answered=not all_failed(finished))
        with ProgressBar(len(pending), group[0].task.name, visible=True) as bar:

            async def work() -> QueueStatistics:
                async with EndpointClient(settings, key) as client:
                    queue = RequestQueue(client, prompt, method, journal, shard, bar.advance, failures)
                    return await queue.ask(pending, len(questions))

            statistics = run_to_end(work) if pending else QueueStatistics(len(questions), 0, 0, {}, 0, 0, 0.0)
        return statistics, list(journal.answers.values())


def _offer(
    folder: RunFolder, settings: EndpointSettings, key: Key | None, prompt: EndpointPrompt, options: RunOptions
) -> dict[str, Method]:
    """What each address offers, the same for all of them; those of several that cannot be reached are left out."""
    offers: dict[str, Method] = {}
    for one in settings.each():
        try:
            offers[one.url] = _method(folder, one, key, prompt, options)
        except Unreachable:
            if not offers and one.url == settings.urls[-1]:
                raise
            warnings.warn(f"{one.url} cannot be reached and is left out", UserWarning, stacklevel=3)
    served = {method.served for method in offers.values()} - {""}
    if len({replace(method, served="") for method in offers.values()}) > 1 or len(served) > 1:
        got = "; ".join(f"{url}: {one.describe()}, {one.served or prompt.model}" for url, one in offers.items())
        raise input_error("run", "endpoint", "be servers of one model that offer the same", got=got)
    return offers


def _method(
    folder: RunFolder, settings: EndpointSettings, key: Key | None, prompt: EndpointPrompt, options: RunOptions
) -> Method:
    """How labels are taken: as the run folder remembers, else as the endpoint shows."""
    path = method_file(folder, settings, prompt)
    if path.is_file() and not options.overwrite:
        try:
            return Method.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            pass  # damaged: the endpoint shows it again

    async def probe() -> Method:
        async with EndpointClient(settings, key) as client:
            return await find_method(client, prompt)

    return run_to_end(probe)


def method_file(folder: RunFolder, settings: EndpointSettings, prompt: EndpointPrompt) -> Path:
    """Where a run folder remembers how labels are taken."""
    return folder.store / f"endpoint-{method_key(settings, prompt)}.json"


def identity_of(settings: EndpointSettings, prompt: EndpointPrompt, method: Method) -> dict[str, str]:
    """What the predictions file records of the model; the key is no part of it, nor is the address."""
    identity = {
        "model": prompt.model,
        "kind": "endpoint",
        "api": settings.api,
        "template": prompt.prompt.template.name,
        "prompt_hash": prompt.prompt.hash,
        "shots": str(len(prompt.prompt.examples)),
        "scoring": method.scoring,
    }
    if method.scoring == "label":
        identity |= {"normalize": prompt.normalize, "log_probabilities": method.describe()}
    else:
        identity |= {"max_new_tokens": str(prompt.max_tokens), **draw_identity(prompt.temperature, prompt.seed)}
    if settings.request_fields:
        identity["request_fields"] = request_fields_text(settings.request_fields)
    if method.served:
        identity["served"] = method.served
    return identity


def go_on(folder: RunFolder, identities: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return identities that an earlier run in the folder meets, if it was of the same model.

    Earlier versions had the address in an identity, and request fields as they were: runs and stores of theirs get the
    names that they have now. Where one of the two runs does not know what the endpoint says of the model, it stands
    as in the earlier one.
    """
    earlier: dict[str, dict[str, str]] = folder.read().get("models", {})
    if renamed := {task: now for task, one in earlier.items() if (now := _renamed(one)) != one}:
        for file in sorted(folder.store.glob("*/identity.json")):
            stored = read_record("run", "output", file, remedy="Choose another folder.")
            stored["model"] = _renamed(stored["model"])
            if not (folder.store / store_key(stored)).exists():
                write_json(file, stored)
                rename_folder(file.parent, store_key(stored))
        folder.update_run({"models": renamed})  # last: a killed command does it again
    own = dict(identities)
    for task, before in {**earlier, **renamed}.items():
        if task in own and not (before.get("served") and own[task].get("served")):
            own[task] = {k: v for k, v in own[task].items() if k != "served"}
            own[task] |= {k: v for k, v in before.items() if k == "served"}
    return own


def _renamed(identity: Mapping[str, str]) -> dict[str, str]:
    """An identity of an endpoint's model as this version writes it; others as they are."""
    own = {key: value for key, value in identity.items() if key != "endpoint"}
    return own | {key: request_fields_text(value) for key, value in own.items() if key == "request_fields"}


def warn_of_bounds(statistics: QueueStatistics, name: str) -> None:
    """Warn where the endpoint did not show all label words' log-probabilities."""
    unread = "no label word's log-probability: they are unparsed, and the predictions file has no probabilities."
    bounded = (
        "the log-probabilities of some label words only: the others count with the least that it showed, so that "
        "confidence is too low there. If a word is never shown, it is several tokens: give other label words."
    )
    for n, what in ((statistics.n_unread, unread), (statistics.n_bounded, bounded)):
        if n:
            text = f"{name}: for {n:,} of {statistics.n_computed:,} inputs the endpoint showed {what}"
            warnings.warn(text, UserWarning, stacklevel=2)
