"""One run over an endpoint: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import Failures, any_read, to_ask
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.sharing import request_fields_text
from paraconsist.data.store import Store, store_key
from paraconsist.errors import input_error
from paraconsist.files import Json, launched, locked, read_record, rename_folder, write_json
from paraconsist.models.endpoint.client import EndpointClient, Key, find_key
from paraconsist.models.endpoint.label_scoring import Method, find_method, listed_models, method_key
from paraconsist.models.endpoint.protocol import Answered, Unreachable, question_of
from paraconsist.models.endpoint.queue import Journal, QueueStatistics, RequestQueue, Usage, add_up, run_to_end
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, answer_identity, prompt_identity
from paraconsist.models.progress import ProgressBar
from paraconsist.running.options import RunOptions
from paraconsist.running.run import Job, check_repeats, distinct_rows, group_sets


@dataclass(frozen=True)
class EndpointReport:
    """What a run over an endpoint left: the folder, a file for each set, what each task's pass did and came to."""

    folder: RunFolder
    files: Mapping[str, Path]
    methods: Mapping[str, Method]
    statistics: Mapping[str, QueueStatistics]
    usage: Mapping[str, Usage]


@dataclass(frozen=True)
class EndpointRun:
    """A run over an endpoint: its sets, how a model is asked the sets of one task, where, and how it runs.

    Of the `options`, `device` and `batch_tokens` are not used.
    """

    load_sets: Callable[[], Mapping[str, Sequence[BucketSet]]]  # model -> its sets
    ask: Callable[[str, Sequence[BucketSet]], EndpointPrompt]
    settings: EndpointSettings
    options: RunOptions

    def job(self) -> tuple[Job, dict[str, EndpointPrompt]]:
        """Load the sets; return the job with the prompt of each pass, of which the repeats are checked."""
        job = Job({}, self.options)
        job.groups = group_sets(self.load_sets())
        prompts = {name: self.ask(model, sets) for name, (model, sets) in job.groups.items()}
        for prompt in prompts.values():
            check_repeats(self.options, drawn=prompt.temperature > 0, fields=self.settings.request_fields)
        return job, prompts


def run_endpoint(endpoint_run: EndpointRun) -> EndpointReport:
    """Ask the models behind an endpoint about bucket sets, in one process.

    Every answer is written down as it comes: a killed run goes on with the same command, and repeats no request that
    was answered. Requests that were under way at the kill are sent again. A finished run needs no server.
    """
    options = endpoint_run.options
    n_processes = launched()[1]
    if n_processes > 1:
        remedy = "Start it without a launcher, with a higher `concurrency`."
        must = "be asked by one process"
        raise input_error("run", "endpoint", must, got=f"{n_processes} processes", remedy=remedy)
    key = find_key(endpoint_run.settings)
    job, prompts = endpoint_run.job()
    at = {name: prompt.over(endpoint_run.settings) for name, prompt in prompts.items()}
    job.match_labels({name: prompt.label_names for name, prompt in prompts.items()})
    offers = {name: _offer(job.folder, at[name], key, prompt, options) for name, prompt in prompts.items()}
    methods = {name: next(iter(of_each.values())) for name, of_each in offers.items()}
    job.identities = {name: identity_of(at[name], prompts[name], methods[name]) for name in job.groups}
    statistics: dict[str, QueueStatistics] = {}
    usage: dict[str, Usage] = {}
    with locked(job.folder.path, "run", "output"):
        open_folder(job)
        for name, of_each in offers.items():
            for server in at[name].each():
                if server.url in of_each:
                    write_json(method_file(job.folder, server, prompts[name]), of_each[server.url].to_dict())
        for name, (_, sets) in job.groups.items():
            reached, store = replace(at[name], urls=tuple(offers[name])), job.store(name)
            asked = Asked(reached, key, prompts[name], methods[name])
            statistics[name], answered = _pass(asked, sets, store, options)
            chosen, repeats = job.repeats(name)
            for repeat, repeat_store in repeats:
                prompt = replace(prompts[name], seed=repeat.seed_after(options.seed))
                answered += _pass(replace(asked, prompt=prompt), chosen, repeat_store, options)[1]
            job.write_repeats(name, chosen, repeats)
            usage[name] = add_up(answered, at[name])
            job.write(name, store, endpoint=usage[name].to_dict())
            warn_of_bounds(statistics[name], name)
        last = {name: {"urls": list(offers[name]), **vars(queue)} for name, queue in statistics.items()}
        job.record(endpoint={name: {**usage[name].to_dict(), "last": last[name]} for name in job.groups})
    return EndpointReport(job.folder, job.files, methods, statistics, usage)


@dataclass(frozen=True)
class Asked:
    """A model behind an endpoint, and how it is asked."""

    settings: EndpointSettings
    key: Key | None
    prompt: EndpointPrompt
    method: Method


def _pass(
    asked: Asked, group: Sequence[BucketSet], store: Store, options: RunOptions
) -> tuple[QueueStatistics, list[Answered]]:
    """Ask about every distinct input of the sets (of one task) that the store holds no result for.

    Returns also all answers behind the store's results, those of earlier commands too.
    """
    questions = {
        input_id: question_of(asked.prompt, asked.settings.api, task, row)
        for input_id, task, row in distinct_rows(group)
    }
    store.create()
    with store.writer(0) as shard, Journal(store.folder) as journal:
        finished = store.finished()
        pending_ids = to_ask(list(questions), finished, retry_failed=options.asks_failed)
        pending = {input_id: questions[input_id] for input_id in pending_ids}
        journal.forget_failed(input_id for input_id in pending_ids if input_id in finished)
        written = asked.method.scoring == "generate"
        failures = Failures(options.on_error, any_answered=any_read(finished, written=written))
        with ProgressBar(len(pending), group[0].task.name, visible=True) as bar:

            async def work() -> QueueStatistics:
                async with EndpointClient(asked.settings, asked.key) as client:
                    queue = RequestQueue(client, asked.prompt, asked.method, journal, shard, bar.advance, failures)
                    return await queue.ask(pending, len(questions))

            statistics = run_to_end(work) if pending else QueueStatistics(len(questions), 0, 0, {}, 0, 0, 0.0)
        return statistics, journal.paid


def served_alone(settings: EndpointSettings) -> str:
    """Return the one model that an endpoint lists; InputError if it lists none, or several."""

    async def probe() -> list[Json]:
        async with EndpointClient(settings, find_key(settings)) as client:
            return await listed_models(client)

    names = [str(entry["id"]) for entry in run_to_end(probe)]
    if len(names) != 1:
        raise input_error("run", "name", "name the model, as the endpoint calls it", remedy=f"It lists {names}.")
    return names[0]


def open_folder(job: Job) -> None:
    """Open the run folder for a job, whose identities become those of the run in it (see `go_on`)."""
    if not job.options.overwrite:
        job.identities = go_on(job.folder, job.identities)
    job.folder.open(job.identities, overwrite=job.options.overwrite)


def _offer(
    folder: RunFolder, settings: EndpointSettings, key: Key | None, prompt: EndpointPrompt, options: RunOptions
) -> dict[str, Method]:
    """Return what each address offers, the same for all; one of several that cannot be reached is left out."""
    offers: dict[str, Method] = {}
    for server in settings.each():
        try:
            offers[server.url] = _method(folder, server, key, prompt, options)
        except Unreachable:
            if not offers and server.url == settings.urls[-1]:
                raise
            warnings.warn(f"{server.url} cannot be reached and is left out", UserWarning, stacklevel=3)
    served = {method.served for method in offers.values()} - {""}
    if len({replace(method, served="") for method in offers.values()}) > 1 or len(served) > 1:
        got = "; ".join(f"{url}: {offer.describe()}, {offer.served or prompt.model}" for url, offer in offers.items())
        raise input_error("run", "endpoint", "be servers of one model that offer the same", got=got)
    return offers


def _method(
    folder: RunFolder, settings: EndpointSettings, key: Key | None, prompt: EndpointPrompt, options: RunOptions
) -> Method:
    """Return how labels are taken: as the run folder records, else as the endpoint shows."""
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
    """Return the file in which a run folder records how labels are taken."""
    return folder.store / f"endpoint-{method_key(settings, prompt)}.json"


def identity_of(settings: EndpointSettings, prompt: EndpointPrompt, method: Method) -> dict[str, str]:
    """Return what the predictions file records of the model: neither the key nor the address."""
    identity = {"model": prompt.model, "kind": "endpoint", "api": settings.api}
    identity |= {**prompt_identity(prompt.prompt), "scoring": method.scoring}
    if method.scoring == "label":
        identity |= {"normalize": prompt.normalize, "log_probabilities": method.describe()}
    else:
        identity |= answer_identity(prompt.max_new_tokens, prompt.temperature, prompt.seed)
    if settings.request_fields:
        identity["request_fields"] = request_fields_text(settings.request_fields)
    if method.served:
        identity["served"] = method.served
    return identity


def go_on(folder: RunFolder, identities: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return identities that match those of an earlier run of the same model in the folder.

    Earlier versions recorded the address in an identity, and request fields unchanged: their runs and stores are
    renamed. If one of the two runs does not know what the endpoint tells of the model, the earlier one's entry counts.
    """
    earlier: dict[str, dict[str, str]] = folder.read().get("models", {})
    if renamed := {task: now for task, before in earlier.items() if (now := _renamed(before)) != before}:
        for file in sorted(folder.store.glob("*/identity.json")):
            stored = read_record("run", "output", file, remedy="Choose another folder.")
            stored["model"] = _renamed(stored["model"])
            if not (folder.store / store_key(stored)).exists():
                write_json(file, stored)
                rename_folder(file.parent, store_key(stored))
        folder.update_run({"models": renamed})  # last: a killed command does it again
    matching = {task: dict(identity) for task, identity in identities.items()}
    for task, before in {**earlier, **renamed}.items():
        if task in matching and not (before.get("served") and matching[task].get("served")):
            matching[task].pop("served", None)
            matching[task] |= {key: value for key, value in before.items() if key == "served"}
    return matching


def _renamed(identity: Mapping[str, str]) -> dict[str, str]:
    """Return an identity of an endpoint's model as this version writes it; others unchanged."""
    now = {key: value for key, value in identity.items() if key != "endpoint"}
    return now | {key: request_fields_text(value) for key, value in now.items() if key == "request_fields"}


def warn_of_bounds(statistics: QueueStatistics, name: str) -> None:
    """Warn if the endpoint did not return the log-probabilities of all label words."""
    unread = "no label word's log-probability: they are unparsed, and have no probabilities."
    bounded = (
        "the log-probabilities of some label words only: the others count with the least one shown, so that "
        "confidence is too low there. A word that is never shown has several tokens: give other label words."
    )
    for n, what in ((statistics.n_unread, unread), (statistics.n_bounded, bounded)):
        if n:
            text = f"{name}: for {n:,} of {statistics.n_computed:,} inputs the endpoint showed {what}"
            warnings.warn(text, UserWarning, stacklevel=2)
