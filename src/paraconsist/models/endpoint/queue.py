"""The queue of unanswered requests, a few of which are under way at a time, and the journal of answers.

The journal has one JSON line for each answered request, appended in one write before the answer is used: an input may
need several requests (one for each label), and no answer is paid for twice, nor is the count of its tokens lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import JOURNAL, NO_ANSWER, Failed, Failures, ShardWriter, lines_of, opened, sealed
from paraconsist.errors import InputError, input_error, plural
from paraconsist.files import Json
from paraconsist.models.endpoint import protocol
from paraconsist.models.endpoint.client import EndpointClient, Key, Meter, Stopped, find_key
from paraconsist.models.endpoint.label_scoring import FIRST, Method, is_bounded, part_request, result_of, wanted_parts
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings

if TYPE_CHECKING:
    from paraconsist.models.prompted import GenerationSettings


kept = set[Path]()  # the files with answers that this process has read or written


class Journal(ShardWriter):
    """The answers so far and the file to which they are appended; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JOURNAL)
        #: The first answer of each, or the last if those before it failed.
        self.answers: dict[tuple[str, str], protocol.Answered] = {}
        self.paid = list[protocol.Answered]()
        try:
            for line in chain.from_iterable(lines_of(self.path)):
                self.paid.append(protocol.Answered.from_dict(opened(line)))
                self._take(self.paid[-1])
        except BaseException as problem:
            self.close()
            if not isinstance(problem, (ValueError, TypeError, KeyError)):
                raise
            remedy = "Delete that line (its request is sent again) or start a new run folder."
            what = f"{self.path} is damaged at line {len(self.paid) + 1}."
            raise InputError(what, function="run", remedy=remedy) from None

    def get(self, input_id: str, part: str) -> protocol.Answered | None:
        return self.answers.get((input_id, part))

    def add(self, answered: protocol.Answered) -> None:
        """Write an answer, in one call to the operating system, before returning."""
        self._write(sealed(answered.to_dict()))
        self.paid.append(answered)
        self._take(answered)

    def forget_failed(self, input_ids: Iterable[str]) -> None:
        """Forget the failed answers to inputs that are asked again; they stay paid."""
        again = set(input_ids)
        for key in [key for key, known in self.answers.items() if known.ending.failure and known.input_id in again]:
            del self.answers[key]

    def _take(self, answered: protocol.Answered) -> None:
        kept.add(self.path)
        key = answered.input_id, answered.part
        if key not in self.answers or self.answers[key].ending.failure:
            self.answers[key] = answered


@dataclass(frozen=True)
class Usage:
    """Totals of the answers in a store, over all the commands that put them there."""

    n_requests: int
    prompt_tokens: int  # as the endpoint counted them
    completion_tokens: int  # as the endpoint counted them
    n_uncounted: int  # answered requests whose tokens the endpoint did not count
    cost: float | None  # None without prices; excludes small first requests, retries and answers cut off by a kill
    #: models that answered, as the endpoint calls them -> requests
    served: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> Json:
        return {**vars(self), "served": dict(self.served)}


def add_up(answers: Iterable[protocol.Answered], settings: EndpointSettings) -> Usage:
    """Add up answered requests."""
    listed = list(answers)
    read = sum(answered.used.prompt or 0 for answered in listed)
    written = sum(answered.used.completion or 0 for answered in listed)
    uncounted = sum(None in answered.used for answered in listed)
    served = Counter(answered.served or "unnamed" for answered in listed)
    cost = None
    if settings.prices is not None:
        cost = round(Meter(settings).cost_of(protocol.TokenUse(read, written)), 8)
    return Usage(len(listed), read, written, uncounted, cost, dict(served.most_common()))


T = TypeVar("T")

#: Workers until a first answer could be read: with 16 empty ones at most, a run that cannot succeed costs little.
_FEW = 8
#: Seconds that requests under way get if another one, Ctrl-C or SIGTERM ends the run.
GRACE = 30.0
patience = 0.0  # those that the process gives them now
_POLL = 0.05
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_WAITING = f"waiting up to {GRACE:g} seconds for requests under way; another Ctrl-C ends at once"


@dataclass(frozen=True)
class QueueStatistics:
    """What one pass over an endpoint did."""

    n_inputs: int  # distinct inputs over the sets
    n_computed: int  # those that had no result before
    n_requests: int  # requests answered now
    retries: Mapping[str, int]  # why requests were sent again -> how often
    n_bounded: int  # inputs with some labels' log-probabilities, and a bound for the others'
    n_unread: int  # inputs without any label's log-probability, which are unparsed
    seconds: float


@dataclass
class RequestQueue:
    """Ask an endpoint about inputs.

    Each answer goes to the journal at once, and an input's result to the shard when all of its parts are answered or
    one is refused (see `Failures`); then `advance` is called with 1.
    """

    _client: EndpointClient
    _prompt: EndpointPrompt
    _method: Method
    _journal: Journal
    _shard: ShardWriter
    _advance: Callable[[int], None]
    _failures: Failures

    def __post_init__(self) -> None:
        self._unanswered: dict[str, Failed] = {}
        self._n_requests = self._n_bounded = self._n_unread = 0
        self._is_mixed = False  # whether it was told that another model answers

    async def ask(self, pending: Mapping[str, protocol.Question], n_inputs: int) -> QueueStatistics:
        """Ask about all pending inputs: the shortest, which fits if any does, the longest, then the others by text.

        Thus a server that caches the beginning of a prompt can use it for the next ones. Raises the first problem that
        waiting does not solve, after requests under way were answered and kept.
        """
        started = time.perf_counter()
        items = sorted(pending.items(), key=lambda item: item[1].whole)
        lengths = [len(question.whole) for _, question in items]
        ends = sorted({lengths.index(min(lengths)), lengths.index(max(lengths))}, key=lengths.__getitem__)
        left = [items[i] for i in ends] + [item for i, item in enumerate(items) if i not in ends]
        left.reverse()
        n_workers = min(self._client.settings.concurrency, len(pending))
        work = [asyncio.ensure_future(self._work(left, waits=i >= _FEW)) for i in range(n_workers)]
        await _answered(work, self._client.stopped)
        if self._unanswered:  # only at the end of the pass: if the server disappears, no input has failed
            self._shard.append(list(self._unanswered), self._unanswered.values())
        retries, seconds = dict(+self._client.retries), time.perf_counter() - started
        counts = {"n_requests": self._n_requests, "n_bounded": self._n_bounded, "n_unread": self._n_unread}
        return QueueStatistics(n_inputs, len(pending), retries=retries, seconds=seconds, **counts)

    async def _work(self, left: list[tuple[str, protocol.Question]], *, waits: bool) -> None:
        """Ask about inputs from the end of a common list until none is left; one that `waits`, after a first answer."""
        while left and not self._client.stopped.is_set():
            if waits and not self._failures.any_answered:
                await asyncio.sleep(_POLL)
                continue
            input_id, question = left.pop()
            try:
                await self._finish(input_id, question)
            except Stopped:
                return
            except protocol.Refused as refused:
                settings, model = self._client.settings, self._prompt.model
                why = protocol.refusal(settings, refused, model, f"input {input_id}")
                self._fail(input_id, protocol.failure_of(refused, model), why)
            except protocol.GaveUp as problem:
                self._fail(input_id, NO_ANSWER, problem)

    def _fail(self, input_id: str, kind: str | None, problem: InputError) -> None:
        """Record that an input failed, or end the run for it."""
        if kind is None:
            raise problem
        self._unanswered[input_id] = self._failures.failed(kind, problem)
        self._advance(1)

    async def _finish(self, input_id: str, question: protocol.Question) -> None:
        """Ask for what is not answered yet of an input, then keep its result."""
        answered, cut = dict[str, object](), False
        while parts := wanted_parts(self._method, len(self._prompt.label_names), answered):
            answer = await self._part(input_id, question, parts[0])
            if answer.ending.failure:
                self._fail(input_id, answer.ending.failure, answer.ending.problem(f"input {input_id}"))
                return
            answered[parts[0]], cut = answer.value, answer.ending.cut
        result = result_of(self._method, self._prompt, self._client.settings.api, answered, cut=cut)
        self._shard.append([input_id], [result])
        self._n_bounded += is_bounded(self._method, answered)
        self._count_read(result, answered)
        self._advance(1)

    async def _part(self, input_id: str, question: protocol.Question, part: str) -> protocol.Answered:
        """One part's answer: from the journal, or from the endpoint and then into the journal."""
        if (known := self._journal.get(input_id, part)) is not None:
            return known
        settings = self._client.settings
        request, value_of = part_request(settings, self._prompt, self._method, question, part)

        def read(body: Json) -> protocol.Answered:
            return protocol.Answered.of(input_id, part, body, value_of)

        about, tag = f"input {input_id}", f"{input_id}:{part}"
        answered = await self._client.post(self._method.path(settings, part), request, read, about=about, tag=tag)
        self._journal.add(answered)
        self._n_requests += 1
        if answered.served != (before := self._journal.paid[0].served) and not self._is_mixed:
            self._is_mixed = True
            stop = "if their answers should not be in one run, stop it (Ctrl-C)"
            warnings.warn(f"{answered.served} answers now, no longer {before}: {stop}", UserWarning, stacklevel=1)
        return answered

    def _count_read(self, result: list[float] | WrittenAnswer, answered: Json) -> None:
        """Stop early if no answer can be read: further requests would be paid in vain."""
        writes, free = self._method.scoring != "label", not self._prompt.label_names
        if not isinstance(result, WrittenAnswer) or (writes and not result.is_empty(free=free)):
            self._failures.answered()
        elif writes:
            n = self._prompt.longest_answer
            what = "an answer" if free else "a label"
            how = f"was cut at {n} tokens before it named {what}" if result.cut else "is empty"
            remedy = "Give a higher `max_new_tokens`." if result.cut else "Give another `template` or `api`."
            self._failures.empty(InputError(f"the answer {how}.", function="run", remedy=remedy))
        else:
            self._n_unread += 1
            words = ", ".join(self._prompt.answers(self._client.settings.api))
            must = f"have label words that the model answers with, as one token each ({words.strip()})"
            got = f"none of them among the {self._method.top} most probable first tokens of {self._n_unread} inputs"
            remedy = f"The most probable one was {answered[FIRST]['token']!r}. Give `scoring` generate, another "
            remedy += "`template`, or `api` completions with a server that returns a prompt's log-probabilities."
            self._failures.empty(input_error("run", "template", must, got=got, remedy=remedy))


@contextmanager
def _first_interrupt(stop: asyncio.Event) -> Iterator[list[int]]:
    """Set `stop` at the first Ctrl-C, or signal to end, and raise that at the end; a second one is raised at once.

    Yields the signals so far. Threads, such as a notebook's, hear none.
    """
    global patience
    loop, seen, is_main = asyncio.get_running_loop(), list[int](), threading.current_thread() is threading.main_thread()
    before = {number: heard for number in _SIGNALS if is_main and callable(heard := signal.getsignal(number))}

    def restore() -> None:
        for number, heard in before.items():
            signal.signal(number, heard)

    def hear(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        restore()
        loop.call_soon_threadsafe(stop.set)

    for number in before:
        signal.signal(number, hear)
    patience = GRACE * bool(before)
    try:
        yield seen
    finally:
        patience = 0.0
        restore()
    if seen:
        before[seen[0]](seen[0], None)
        raise KeyboardInterrupt


def with_client(
    settings: EndpointSettings,
    key: Key | None,
    ask: Callable[[EndpointClient], Coroutine[Any, Any, T]],
    meter: Meter | None = None,
) -> T:
    """Do asynchronous work with a client, from anywhere, also in a notebook, whose own loop is running."""
    stops: list[Callable[[], object]] = []

    async def work() -> T:
        async with EndpointClient(settings, key, meter=meter) as client:
            stops.append(partial(asyncio.get_running_loop().call_soon_threadsafe, client.stopped.set))
            return await ask(client)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: asyncio.run(work()))
        try:
            return future.result()
        finally:
            for stop in stops if not future.done() else ():
                stop()  # an interrupt: nothing more is sent, and what is under way is waited for


def write_texts(
    settings: EndpointSettings,
    model: str,
    texts: Sequence[str],
    generation: GenerationSettings,
    *,
    journal: Journal | None = None,
    meter: Meter | None = None,
    say: Callable[[str], object] | None = None,
    reads: Callable[[str], object] = str.strip,
    cut: Callable[[str], str] = str,
) -> list[list[str]]:
    """Let a model behind an endpoint continue texts (completions) or answer them (chat).

    Returns for each text, in order, `generation.n` texts, each by a separate request with its own seed, because many
    servers write only one; equal requests are sent once. Of `generation`, `top_k` is sent if it is given (vLLM and
    llama.cpp know it). Answers in the journal, from this call or an earlier one, are not requested again. Calls with
    one `meter` share a budget; `say` is told what those that are left will take, before any is sent. A text that is
    refused for what it says has the answer "", with a warning; one that the limit of tokens or a filter has cut is what
    `cut` makes of it. InputError for beams, for several texts without a temperature, for what the endpoint refuses
    otherwise, and where the caller `reads` none of the first answers.
    """
    if generation.num_beams > 1:
        raise input_error("generate", "num_beams", "be 1 for an endpoint", got=generation.num_beams)
    if generation.n > 1 and generation.temperature is None:
        raise input_error("generate", "temperature", "be given where several texts are wanted", got=None)
    names, requests = list[tuple[str, str]](), dict[tuple[str, str], tuple[int, int, Json]]()
    for place, number in product(range(len(texts)), range(generation.n)):
        body = _body(settings, model, texts[place], generation, seed := generation.seed + number)
        names.append(_name(body, seed if generation.temperature else body.get("seed")))
        requests.setdefault(names[-1], (place, number, body))
    known = {} if journal is None else {name: journal.answers[name] for name in requests if name in journal.answers}
    meter = meter or Meter(settings)
    if say is not None and len(known) < len(requests):
        say(meter.estimate(body for name, (*_, body) in requests.items() if name not in known).describe(meter))

    def text_in(answered: protocol.Answered) -> str:
        is_cut = answered.ending.cut or answered.ending.failure
        return cut(answered.value) if is_cut else str(answered.value)

    unread = [text for one in known.values() if not reads(text := text_in(one))]
    failures = Failures("unparsed", any_answered=len(unread) < len(known))

    def hear(text: str) -> str:
        if reads(text):
            failures.answered()
        else:
            remedy = "Change its prompt, or give it more room (max_tokens), as to a model that reasons."
            what = f"{model} gives answers that cannot be used, such as {text[:80]!r}."
            failures.empty(InputError(what, function="run", remedy=remedy))
        return text

    for text in unread:
        hear(text)
    refusals = list[protocol.Refused]()

    async def work(client: EndpointClient) -> list[str]:
        async def one(name: tuple[str, str], place: int, number: int, body: Json) -> str:
            def read(body: Json) -> protocol.Answered:
                return protocol.Answered.of(*name, body, protocol.text_of)._replace(value=protocol.text_of(body))

            if name in known:
                return text_in(known[name])
            about = f"text {place}"
            try:
                answered = await client.post(settings.path, body, read, about=about, tag=f"{place}:{number}")
            except protocol.Refused as refused:
                why, kind = protocol.refusal(settings, refused, model, about), protocol.failure_of(refused, model)
                refusals.append(refused)
                if kind is None or len(refusals) == len(requests):
                    raise why from None
                failures.failed(kind, why)
                return ""
            if journal is not None:
                journal.add(answered)
            return hear(text_in(answered))

        return await _answered([asyncio.ensure_future(one(name, *of)) for name, of in requests.items()], client.stopped)

    written = dict(zip(requests, with_client(settings, find_key(settings), work, meter), strict=True))
    if refusals:
        text = f"the endpoint refused {len(refusals):,} of {plural(len(requests), 'text')}, which have no answer"
        warnings.warn(f"{text}. It said: {refusals[0].message}{meter.about}", UserWarning, stacklevel=2)
    return [[written[name] for name in names[i : i + generation.n]] for i in range(0, len(names), generation.n)]


async def _answered(work: Sequence[asyncio.Future[T]], stop: asyncio.Event) -> list[T]:
    """Return the results of all, or raise the first problem, after which, or Ctrl-C, requests under way have a while.

    What these answer is kept. `stop` is set at the end.
    """
    problems, every = list[BaseException](), asyncio.gather(*work, return_exceptions=True)

    def end(future: asyncio.Future[T]) -> None:
        if not future.cancelled() and (problem := future.exception()) is not None:
            problems.append(problem)
            stop.set()

    for future in work:
        future.add_done_callback(end)
    with _first_interrupt(stop) as interrupted:
        try:
            while not every.done() and not stop.is_set():
                await asyncio.wait([every], timeout=_POLL)
            if interrupted and not every.done():
                warnings.warn(_WAITING, UserWarning, stacklevel=1)
            await asyncio.wait([every], timeout=GRACE)
        finally:
            stop.set()
            for future in work:
                future.cancel()
            results = await every
    for problem in sorted(problems, key=lambda problem: isinstance(problem, Stopped)):  # the cause first
        raise problem
    return [result for result in results if not isinstance(result, BaseException)]


def _body(settings: EndpointSettings, model: str, text: str, generation: GenerationSettings, seed: int) -> Json:
    message = {"messages": [{"role": "user", "content": text}]} if settings.api == "chat" else {"prompt": text}
    body: dict[str, object] = {"model": model, "max_tokens": generation.max_new_tokens, **message}
    body["temperature"] = generation.temperature or 0
    if generation.temperature:
        body |= {"top_p": generation.top_p, "top_k": generation.top_k, "seed": seed}
    return {name: value for name, value in {**body, **settings.request_fields}.items() if value is not None}


def _name(body: Json, seed: object) -> tuple[str, str]:
    """Return a request's key in the journal: a hash of the model and the text, and the seed, which may not be sent."""
    key = {name: value for name, value in body.items() if name != "seed"}
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest(), f"seed {seed}"
