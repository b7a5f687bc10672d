"""One run of a Python function: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from threading import Thread
from typing import Any

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.foreign import Malformed, bounded_text
from paraconsist.data.prompts import Prompt, QuestionPrompt, WrittenAnswer, parse_answer
from paraconsist.data.store import NO_ANSWER, Failures, Result, RunFolder, Store, all_failed, to_ask
from paraconsist.data.tasks import Row, Task
from paraconsist.entry_points import load_function, names_function
from paraconsist.errors import InputError, check_whole, first_line, input_error, plural
from paraconsist.files import Json, launched, locked
from paraconsist.models.progress import ProgressBar
from paraconsist.running.by_name import NamedRun, NamedSets, prompt_for
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions
from paraconsist.running.run import Job, check_until, distinct_rows, group_sets, rounds, summed

_OF_LOADED = ("device", "batch_tokens", "deterministic", "compile", "noise_floor")
_CALLED_WITH = "It is called with a list of inputs, and returns a list with an answer for each."
_OF_ONE = "Of a function `ask` of one input make `lambda inputs: [ask(text) for text in inputs]`."
_ROUNDING = 1e-3  # of probabilities in half precision


@dataclass(frozen=True)
class Function:
    """A Python function as a model: from a list of inputs to an answer for each.

    Inputs are prompts (`template`, by default the task's), or with `columns` mappings of the task's columns. An answer
    is a text that holds a label, a label's number, probabilities of all labels, or None for none.

    A run goes on only with the same model: one of the same `name`, by default the function's own, and `version`, by
    default a hash of its source. What the function calls, or weights that it reads, are not part of its source: give a
    `version` that changes with them. Objects, their methods, partials and closures, whose source is incomplete, need
    one.
    """

    call: Callable[[Any], Any]  # may be ``async``
    name: str | None = None
    version: str | None = None
    template: str | None = None
    columns: bool = False
    batch_size: int = 64  # inputs a call, at most

    def identity(self, prompt: Prompt | None, asked: BucketSet) -> dict[str, str]:
        """What the predictions file records of the model; `asked` is one of the sets."""
        own = getattr(self.call, "__qualname__", type(self.call).__qualname__)
        name = self.name or f"{getattr(self.call, '__module__', '')}.{own}"
        version = self._source() if self.version is None else self.version
        identity = {"model": name, "kind": "function", "version": version, "inputs": "columns"}
        if prompt is None and asked.label_names != asked.task.label_names:  # which are stored as numbers
            identity["labels"] = ", ".join(asked.label_names)
        return identity if prompt is None else identity | {"inputs": prompt.template.name, "prompt_hash": prompt.hash}

    def _source(self) -> str:
        source = ""
        with suppress(OSError):
            is_whole = getattr(self.call, "__closure__", self) is None and not hasattr(self.call, "__self__")
            source = inspect.getsource(self.call) if is_whole else ""
        if not source:
            must, remedy = "be given: the function's source cannot be inspected", "Change it with the answers."
            raise input_error("run", "version", must, remedy=remedy)
        return f"source-{hashlib.sha256(source.encode()).hexdigest()[:16]}"


def run_named(named: NamedRun, say: Callable[[str], None]) -> bool:
    """Run the function that is named as a model, ``module:function``; False where what is named is none.

    Of its options the template alone is that of a prompt. `say` is told what was asked.
    """
    if named.endpoint is not None or not any(map(names_function, named.models)):
        return False
    if len(named.models) > 1:
        raise input_error("run", "model", "be given once where it is a function", got=list(named.models))
    usual = {**vars(PromptOptions()), **vars(LoadOptions()), "part": None, "input_columns": None}
    given = {**vars(named.prompts), **vars(named.loading), "part": named.sets.part}
    given |= {"input_columns": named.sets.input_columns, "template": None, "data_dir": None}
    for option, value in given.items():
        if value != usual[option]:
            raise input_error("run", option, "not be given with a function", got=value)
    (name,) = named.models
    try:
        call = load_function(name, "run", "model", "prompts to a list of answers")
    except InputError as problem:
        if problem.__cause__ is not None:  # there is no such module
            problem.remedy = f"{problem.remedy} A model behind a server needs `endpoint`, its address."
        raise
    function = Function(call, template=named.prompts.template)
    run_function(function, NamedSets(named).load()[name], named.options, say)
    return True


def run_function(
    function: Function, sets: Sequence[BucketSet], options: RunOptions, say: Callable[[str], None] | None = None
) -> RunFolder:
    """Ask a function about bucket sets, in one process.

    Every batch is written down as it comes: a run that was ended goes on with the same call, and a finished one calls
    nothing. Inputs of a call that raises are asked again one by one; one that raises alone has failed, as `on_error`
    says. InputError if the function returns anything but an answer for each input.
    """
    if launched()[1] > 1:
        raise input_error("run", "model", "be a function in one process only", remedy="Start it without a launcher.")
    check_whole("run", "batch_size", function.batch_size)
    for name in _OF_LOADED:
        if (value := getattr(options, name)) != getattr(RunOptions, name):
            remedy = "Give `repeats`: it is called again." if name == "noise_floor" else ""
            raise input_error("run", name, "not be given with a function", got=value, remedy=remedy)
    check_until(options)
    job, prompt_options = Job({}, options), PromptOptions(template=function.template)
    job.groups = group_sets({"": sets})
    prompts = {
        name: None if function.columns else prompt_for(group, prompt_options, [])
        for name, (_, group) in job.groups.items()
    }
    job.match_labels({name: _names(group, prompts[name]) for name, (_, group) in job.groups.items()})
    job.identities = {name: function.identity(prompts[name], group[0]) for name, (_, group) in job.groups.items()}
    passes: dict[str, Json] = {}
    with locked(job.folder.path, "run", "output"):
        job.folder.open(job.identities, overwrite=options.overwrite)
        for name in job.groups:
            store, tried = job.store(name), set[str]()
            how = store, options, tried
            asked, (chosen, repeats) = rounds(job, name, store), job.repeats(name)
            passes[name] = summed([_pass(function, prompts[name], job.groups[name][1], *how) for _ in asked])
            again = sum(_pass(function, prompts[name], chosen, one, options, set())["n_computed"] for _, one in repeats)
            job.write_repeats(name, chosen, repeats)
            if say is not None:
                n, n_there = passes[name]["n_computed"], passes[name]["n_inputs"] - passes[name]["n_computed"]
                before = f"; {n_there:,} were there already, by the same source" if n_there else ""
                repeated = f", {again:,} for {plural(len(repeats), 'repeat')}" if again else ""
                say(f"{name}: {plural(n, 'distinct input')} asked{repeated}{before}.")
            job.write(name, store)
        job.record(function=passes)
    return job.folder


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread of its own: a notebook's is running already, and clients outlive a call."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="paraconsist-async", daemon=True).start()
    return loop


def _awaited(coroutine: Any) -> Any:
    """Return what an ``async`` function returns in the end; its work is cancelled where the run is."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def _pass(
    function: Function,
    prompt: Prompt | None,
    group: Sequence[BucketSet],
    store: Store,
    options: RunOptions,
    tried: set[str],
) -> Json:
    """Ask about every distinct input of the sets that is not `tried` yet and that the store holds no result for."""
    inputs = {i: _shown(prompt, task, row) for i, task, row in distinct_rows(group)}
    names = _names(group, prompt)
    words, started = names if prompt is None else prompt.template.words, time.perf_counter()

    def ask(ids: Sequence[str]) -> Iterator[tuple[Sequence[str], list[Result]]]:
        """Yield inputs with their results: those of one call, or of a call each where it raises for all together."""
        try:
            answers = function.call([inputs[input_id] for input_id in ids])
            if inspect.iscoroutine(answers):
                answers = _awaited(answers)
            answers = answers if isinstance(answers, (str, Mapping, Set)) else list(answers)
        except Exception as problem:  # whatever the user's function raises
            what = f"the function raised {type(problem).__name__}: {first_line(problem)} (input {ids[0]})."
            if len(ids) == 1:
                problem = InputError(what, function="run")
                problem.remedy = "" if failures.any_answered else _CALLED_WITH
                yield ids, [failures.failed(NO_ANSWER, problem)]
            for input_id in ids if len(ids) > 1 else ():
                yield from ask([input_id])
            return
        if not isinstance(answers, list) or len(answers) != len(ids):
            must = f"return a list with an answer for each of the {len(ids)} inputs of a call"
            got = len(answers) if isinstance(answers, list) else answers
            raise input_error("run", "model", must, got=got, remedy=_OF_ONE if isinstance(answers, str) else "")
        yield ids, [read(input_id, answer) for input_id, answer in zip(ids, answers, strict=True)]

    def read(input_id: str, answer: Any) -> Result:
        try:
            result = _result(answer, words, names)
        except Malformed as problem:
            what = f"the answer to input {input_id} cannot be read: {problem}."
            return failures.failed(NO_ANSWER, InputError(what, function="run"))
        failures.answered()
        return result

    store.create()
    with store.writer(0) as shard:
        finished = store.finished()
        untried = [input_id for input_id in inputs if input_id not in tried]
        pending = to_ask(untried, finished, retry_failed=options.asks_failed)
        tried.update(pending)
        failures = Failures(options.on_error, any_answered=not all_failed(finished))
        with ProgressBar(len(pending), group[0].task.name, visible=True) as bar:
            for start in range(0, len(pending), function.batch_size):
                for ids, results in ask(pending[start : start + function.batch_size]):
                    shard.append(ids, results)
                    bar.advance(len(ids))
    return {"n_inputs": len(inputs), "n_computed": len(pending), "seconds": time.perf_counter() - started}


def _shown(prompt: Prompt | None, task: Task, row: Row) -> Any:
    if prompt is None:
        return row
    return prompt.shown(task, row) if isinstance(prompt, QuestionPrompt) else prompt.text(task, row)


def _names(group: Sequence[BucketSet], prompt: Prompt | None) -> tuple[str, ...]:
    """Return the labels that the function answers with."""
    return group[0].label_names if prompt is None else prompt.template.label_names


def _result(answer: Any, words: Sequence[str], names: Sequence[str]) -> Result:
    """Return what the store keeps of an answer; `Malformed` if it is too long, InputError if of no accepted kind."""
    if answer is None:
        return WrittenAnswer(None, "")
    if isinstance(answer, str):
        text = bounded_text(answer)
        return WrittenAnswer(parse_answer(text, words, names) if names else None, text)
    if not names:
        remedy = "Take the text out of it, or str() of a number."
        raise input_error("run", "model", "return texts, or None for no answer", got=answer, remedy=remedy)
    with suppress(TypeError, ValueError):
        if isinstance(answer, Integral) and 0 <= int(answer) < len(names):
            return WrittenAnswer(int(answer), names[int(answer)])
        numbers = [float(share) for share in answer]
        if len(numbers) == len(names) and min(numbers) >= 0.0 and abs(sum(numbers) - 1.0) <= _ROUNDING:
            return numbers
    remedy = f"An answer is a text, a label's number, probabilities of {', '.join(names)}, or None for no answer."
    raise input_error("run", "model", "return answers", got=answer, remedy=remedy)
