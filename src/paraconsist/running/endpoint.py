"""One run over an endpoint: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.sharing import request_fields_text
from paraconsist.data.store import Failures, Results, RunFolder, Store, any_read, to_ask
from paraconsist.errors import input_error
from paraconsist.files import Json, json_in, launched, locked, write_json
from paraconsist.models.endpoint.client import (
    BYTES_PER_TOKEN,
    BudgetReached,
    Estimate,
    Key,
    Meter,
    find_key,
    most_written,
)
from paraconsist.models.endpoint.label_scoring import (
    Method,
    find_method,
    listed_models,
    method_key,
    part_request,
    wanted_parts,
)
from paraconsist.models.endpoint.protocol import Answered, TokenUse, Unreachable, question_of
from paraconsist.models.endpoint.queue import Journal, QueueStatistics, RequestQueue, Usage, add_up, with_client
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, answer_identity, prompt_identity
from paraconsist.models.progress import ProgressBar
from paraconsist.running.options import RunOptions
from paraconsist.running.run import (
    Job,
    Repeat,
    check_repeats,
    check_until,
    distinct_rows,
    draw,
    group_sets,
    rounds,
    summed,
)

_N_SHOWN = 3  # requests of a dry run
_N_COUNTED = 256  # prompts whose tokens a tokenizer counts, for an estimate of all


@dataclass(frozen=True)
class EndpointReport:
    """What a run over an endpoint left: the folder, a file for each set, what each task's pass did and came to.

    `unscored` are the passes with written answers because the endpoint returns no log-probabilities.
    """

    folder: RunFolder
    files: Mapping[str, Path]
    methods: Mapping[str, Method]
    statistics: Mapping[str, QueueStatistics]
    usage: Mapping[str, Usage]
    unscored: Collection[str] = ()


@dataclass(frozen=True)
class EndpointRun:
    """A run over an endpoint: its sets, how a model is asked the sets of one task, where, and how it runs.

    Of the `options`, `device` and `batch_tokens` are not used.
    """

    load_sets: Callable[[], Mapping[str, Sequence[BucketSet]]]  # model -> its sets
    ask: Callable[[str, Sequence[BucketSet]], EndpointPrompt]
    settings: EndpointSettings
    options: RunOptions
    meter: Meter | None = None  # of what several runs of a command send

    def job(self) -> tuple[Job, dict[str, EndpointPrompt]]:
        """Load the sets; return the job and each pass's prompt, whose repeats are checked."""
        job = Job({}, self.options)
        job.groups = group_sets(self.load_sets())
        prompts = {name: self.ask(model, sets) for name, (model, sets) in job.groups.items()}
        for prompt in prompts.values():
            check_repeats(self.options, drawn=prompt.temperature > 0, fields=self.settings.request_fields)
        return job, prompts


def dry_run(endpoint_run: EndpointRun) -> Estimate:
    """Return what a run would send. Nothing is sent, and no file is written."""
    return _estimate(*endpoint_run.job(), endpoint_run.settings)


def _estimate(job: Job, prompts: Mapping[str, EndpointPrompt], settings: EndpointSettings) -> Estimate:
    """Estimate what is left to send; where the endpoint was not asked yet how labels are taken, by the first token."""
    n_requests = n_read = n_written = n_tried = 0
    cost = 0.0
    bodies: list[Json] = []
    is_counted, until = True, check_until(job.options)
    for name, prompt in prompts.items():
        n_bytes, texts, before = 0, list[bytes](), (n_read, n_written)
        at = prompt.over(settings)
        recorded = _recorded_method(job, at, prompt)
        method = recorded or (Method("generate") if prompt.scoring == "generate" else Method("label", top=20))
        job.identities = {**job.identities, name: identity_of(at, prompt, method)}
        sets = [draw(whole, until, job.options).whole if until else whole for whole in job.groups[name][1]]
        asked = Pass(name, sets, prompt, method, job.store(name))
        parts = wanted_parts(method, len(prompt.label_names), {})
        is_written = method.scoring == "generate" or (recorded is None and prompt.scoring is None)  # maybe
        longest = most_written({"max_tokens": prompt.longest_answer, **at.request_fields}) or prompt.longest_answer
        for one in [asked, *asked.repeated(*job.repeats(name), job.options.seed)]:
            finished, again = one.store.finished() if recorded else Results.of({}), job.options.asks_failed
            pending = set(to_ask(one.ids(), finished, retry_failed=again))
            for input_id, task, row in distinct_rows(one.sets):
                if input_id not in pending:
                    continue
                question = question_of(prompt, at.api, task, row)
                n_requests += len(parts)
                shown = question.whole.encode("utf-8", "replace")
                n_bytes += len(parts) * len(shown)
                texts += [shown] if len(texts) < _N_COUNTED else []
                n_written += longest if is_written else len(parts)
                if len(bodies) < _N_SHOWN:
                    bodies += [part_request(at, one.prompt, method, question, part)[0] for part in parts]
        if texts:
            n_tried += sum(1 for _ in at.each()) if recorded is None else 0
            per_byte = _per_byte(prompt.model, texts)
            is_counted &= per_byte is not None
            n_read += round(n_bytes * (per_byte or 1 / BYTES_PER_TOKEN))
            cost += Meter(at).cost_of(TokenUse(n_read - before[0], n_written - before[1]))
    how = bodies[:_N_SHOWN], until is not None, is_counted
    return Estimate(n_requests, n_read, n_written, None if settings.price is None else cost, *how, n_tried)


def _per_byte(model: str, texts: Sequence[bytes]) -> float | None:
    """Return how many tokens a byte of texts has; None if the tokenizer is neither in a folder nor the Hub's cache."""
    from huggingface_hub import try_to_load_from_cache

    with suppress(Exception):  # of names that are no Hub ids, and of files that cannot be read
        from tokenizers import Tokenizer

        file = Path(model, "tokenizer.json")
        tokenizer = Tokenizer.from_file(str(file if file.is_file() else try_to_load_from_cache(model, file.name)))
        encoded = tokenizer.encode_batch([text.decode() for text in texts], add_special_tokens=False)
        return sum(len(one.ids) for one in encoded) / max(1, sum(map(len, texts)))
    return None


def run_endpoint(endpoint_run: EndpointRun, say: Callable[[str], None] | None = None) -> EndpointReport:
    """Ask the models behind an endpoint about bucket sets, in one process.

    Every answer is written down as it comes: a killed run goes on with the same command, and repeats no request that
    was answered. Requests that were under way at the kill are sent again. A finished run needs no server. `say` is told
    the estimate of what is left, before anything is sent.
    """
    options = endpoint_run.options
    check_until(options)
    n_processes = launched()[1]
    if n_processes > 1:
        remedy = "Start it without a launcher, with a higher `concurrency`."
        must = "be asked by one process"
        raise input_error("run", "endpoint", must, got=f"{n_processes} processes", remedy=remedy)
    key = find_key(endpoint_run.settings)
    settings, (job, prompts) = endpoint_run.settings, endpoint_run.job()
    meter = endpoint_run.meter or Meter(settings)
    if say is not None and (estimate := _estimate(job, prompts, settings)).n_requests:
        say(estimate.describe(meter))
    at = {name: prompt.over(settings) for name, prompt in prompts.items()}
    job.match_labels({name: prompt.label_names for name, prompt in prompts.items()})
    offers = {name: _offer(job, at[name], key, prompt, meter) for name, prompt in prompts.items()}
    methods = {name: next(iter(of_each.values())) for name, of_each in offers.items()}
    job.identities = {name: identity_of(at[name], prompts[name], methods[name]) for name in job.groups}
    statistics: dict[str, QueueStatistics] = {}
    usage: dict[str, Usage] = {}
    with locked(job.folder.path, "run", "output"):
        open_folder(job)
        before = job.folder.read().get("endpoint", {})
        by_set = {  # a request about an input of several sets counts in each; those of other commands stay
            name: {key: of for key, of in before.get(name, {}).get("sets", {}).items() if key not in job.label_maps}
            for name in job.groups
        }
        for name, of_each in offers.items():
            for server in at[name].each():
                if server.url in of_each:
                    write_json(method_file(job.folder, server, prompts[name]), of_each[server.url].to_dict())
        for name in job.groups:
            reached, (chosen, repeats) = replace(at[name], urls=tuple(offers[name])), job.repeats(name)
            asked = Pass(name, job.groups[name][1], prompts[name], methods[name], job.store(name))
            passes, done = asked.repeated(chosen, repeats, options.seed), []
            answered: list[Answered] = []
            under_way = asked
            try:
                for _ in rounds(job, name, asked.store, say=say, usage=partial(_usage_of, answered, at[name])):
                    this = replace(asked, sets=job.groups[name][1])
                    queue, answered[:] = _ask(this, reached, key, options, meter)
                    done.append(queue)
                for under_way in passes:
                    answered += _ask(under_way, reached, key, options, meter)[1]
            except BudgetReached:
                with Journal(under_way.store.folder) as journal:
                    answered = journal.paid if under_way is asked else [*answered, *journal.paid]
                usage[name] = add_up(answered, at[name])
                if job.known:  # of whole rounds with a condition, which can be scored
                    job.record()
                told = {each: {**spent.to_dict(), "sets": by_set[each]} for each, spent in usage.items()}
                job.folder.update_run({"endpoint": told})
                raise
            statistics[name] = summed(done)
            job.write_repeats(name, chosen, repeats)
            usage[name] = add_up(answered, at[name])
            for bucket_set in job.groups[name][1]:
                by_set[name][bucket_set.name] = _usage_of(answered, at[name], bucket_set).to_dict()
            job.write(name, asked.store, endpoint=usage[name].to_dict())
            warn_of_bounds(statistics[name], name)
        last = {name: {"urls": list(offers[name]), **vars(queue)} for name, queue in statistics.items()}
        spent = {name: {**usage[name].to_dict(), "sets": by_set[name], "last": last[name]} for name in job.groups}
        job.record(endpoint=spent)
    unscored = {n for n, p in prompts.items() if p.scoring is None and methods[n].scoring == "generate"}
    return EndpointReport(job.folder, job.files, methods, statistics, usage, unscored)


@dataclass(frozen=True)
class Pass:
    """The inputs that one model is asked about sets of one task, once; a repeat is another pass."""

    name: str
    sets: Sequence[BucketSet]
    prompt: EndpointPrompt
    method: Method
    store: Store
    tried: set[str] = field(default_factory=set)  # by this command: in a later round a failed one is not asked again

    @property
    def key(self) -> str:
        return self.store.folder.name

    def ids(self) -> list[str]:
        """Return the distinct inputs."""
        return [input_id for input_id, _, _ in distinct_rows(self.sets)]

    @property
    def part(self) -> str:
        """The one part of each input that is requested in a batch file."""
        return wanted_parts(self.method, len(self.prompt.label_names), {})[0]

    def repeated(self, chosen: Sequence[BucketSet], repeats: Sequence[tuple[Repeat, Store]], seed: int) -> list[Pass]:
        """Return the passes that repeat it, from `Job.repeats`; `seed` is the run's."""
        seeded = ((replace(self.prompt, seed=repeat.seed_after(seed)), store) for repeat, store in repeats)
        return [replace(self, sets=chosen, prompt=prompt, store=store, tried=set()) for prompt, store in seeded]


def _ask(
    asked: Pass, settings: EndpointSettings, key: Key | None, options: RunOptions, meter: Meter
) -> tuple[QueueStatistics, list[Answered]]:
    """Ask about every input of a pass that its store holds no result for.

    Returns also all answers behind the store's results, those of earlier commands too.
    """
    rows, store = distinct_rows(asked.sets), asked.store
    meter.settings = settings  # each pass has its model's price
    questions = {input_id: question_of(asked.prompt, settings.api, task, row) for input_id, task, row in rows}
    store.create()
    with store.writer(0) as shard, Journal(store.folder) as journal:
        finished = store.finished()
        untried = [input_id for input_id in questions if input_id not in asked.tried]
        pending_ids = to_ask(untried, finished, retry_failed=options.asks_failed)
        asked.tried.update(pending_ids)
        pending = {input_id: questions[input_id] for input_id in pending_ids}
        journal.forget_failed(input_id for input_id in pending_ids if input_id in finished)
        written, free = asked.method.scoring == "generate", not asked.prompt.label_names
        failures = Failures(options.on_error, any_answered=any_read(finished, written=written, free=free))
        with ProgressBar(len(pending), asked.sets[0].task.name, visible=True) as bar:

            def advance(n: int) -> None:
                bar.advance(n, f"cost {meter.cost:,.4f}" if settings.prices else "")

            how = asked.prompt, asked.method, journal, shard, advance, failures
            statistics = QueueStatistics(len(questions), 0, 0, {}, 0, 0, 0.0)
            if pending:
                n = len(questions)
                statistics = with_client(settings, key, lambda c: RequestQueue(c, *how).ask(pending, n), meter)
        return statistics, journal.paid


def _usage_of(answered: Iterable[Answered], settings: EndpointSettings, bucket_set: BucketSet) -> Usage:
    """Return what the answers about a set's inputs came to."""
    ids = set(bucket_set.table["input_id"].to_pylist())
    return add_up((one for one in answered if one.input_id in ids), settings)


def served_alone(settings: EndpointSettings) -> str:
    """Return the one model that an endpoint lists; InputError if it lists none, or several."""
    names = [str(entry["id"]) for entry in with_client(settings, find_key(settings), listed_models)]
    if len(names) != 1:
        remedy = f"It lists {names}." if names else f"{settings.url}/models lists none: is the server running?"
        raise input_error("run", "name", "name the model, as the endpoint calls it", remedy=remedy)
    return names[0]


def open_folder(job: Job) -> None:
    """Open the run folder for a job, whose identities become those of the run in it (see `go_on`)."""
    if not job.options.overwrite:
        job.identities = go_on(job.folder, job.identities)
    job.folder.open(job.identities, overwrite=job.options.overwrite)


def _offer(
    job: Job, settings: EndpointSettings, key: Key | None, prompt: EndpointPrompt, meter: Meter
) -> dict[str, Method]:
    """Return what each address offers, the same for all; one of several that cannot be reached is left out.

    It is what the run folder records, else what the endpoint shows.
    """
    offers: dict[str, Method] = {}
    meter.settings = settings
    for server in settings.each():
        try:
            offers[server.url] = _recorded_method(job, server, prompt) or with_client(
                server, key, lambda client: find_method(client, prompt), meter
            )
        except Unreachable:
            if not offers and server.url == settings.urls[-1]:
                raise
            warnings.warn(f"{server.url} cannot be reached and is left out", UserWarning, stacklevel=3)
    served = {method.served for method in offers.values()} - {""}
    if len({replace(method, served="") for method in offers.values()}) > 1 or len(served) > 1:
        got = "; ".join(f"{url}: {offer.describe()}, {offer.served or prompt.model}" for url, offer in offers.items())
        raise input_error("run", "endpoint", "be servers of one model that offer the same", got=got)
    return offers


def _recorded_method(job: Job, settings: EndpointSettings, prompt: EndpointPrompt) -> Method | None:
    """Return how labels are taken as the run folder records; None if it does not, or the record is damaged."""
    path = method_file(job.folder, settings, prompt)
    with suppress(OSError, ValueError, TypeError, KeyError):
        return None if job.options.overwrite else Method.from_dict(json_in(path))
    return None


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
        identity |= answer_identity(prompt.longest_answer, prompt.temperature, prompt.seed)
    if settings.request_fields:
        identity["request_fields"] = request_fields_text(settings.request_fields)
    if method.served:
        identity["served"] = method.served
    return identity


def go_on(folder: RunFolder, identities: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return identities that match those of an earlier run of the same model in the folder.

    If one of the two runs does not know what the endpoint tells of the model, the earlier one's entry counts.
    """
    earlier: dict[str, dict[str, str]] = folder.read().get("models", {})
    matching = {task: dict(identity) for task, identity in identities.items()}
    for task, before in earlier.items():
        if task in matching and not (before.get("served") and matching[task].get("served")):
            matching[task].pop("served", None)
            matching[task] |= {key: value for key, value in before.items() if key == "served"}
    return matching


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
