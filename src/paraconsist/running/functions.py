"""One run of a Python function: bucket sets in, a run folder with predictions files out; the same folder as `run`'s."""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from numbers import Integral
from pathlib import Path
from typing import Any

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import NO_ANSWER, Failures, all_failed, to_ask
from paraconsist.data.prompts import Prompt, WrittenAnswer, parse_answer
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import Result, Store
from paraconsist.errors import InputError, check_whole, first_line, input_error
from paraconsist.files import launched, locked
from paraconsist.models.progress import ProgressBar
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions
from paraconsist.running.outputs import distinct_rows, store_identity
from paraconsist.running.prompting import prompt_for
from paraconsist.running.run import group_sets, label_maps_of, record_run, write_sets

_OF_LOADED = (
    *("revision", "dtype", "max_length"),
    *("device", "batch_tokens", "deterministic", "compile", "noise_floor", "repeats"),
)
_ROUNDING = 1e-3  # of probabilities in half precision


@dataclass(frozen=True)
class Function:
    """A Python function as a model: from a list of inputs to an answer for each.

    Inputs are prompts (`template`, by default the task's), or with `columns` mappings of the task's columns. An answer
    is a text that holds a label, a label's number, probabilities of all labels, or None for none.

    A run goes on only with the same model: one of the same `name`, by default the function's own, and `version`, by
    default a hash of its source. What it calls, weights say, is not seen: give a `version` that changes with it. What
    has no source that says all of it (objects, partials, closures) needs one.
    """

    call: Callable[[Any], Any]
    name: str | None = None
    version: str | None = None
    template: str | None = None
    columns: bool = False
    batch_size: int = 64  # inputs a call, at most

    def identity(self, prompt: Prompt | None) -> dict[str, str]:
        """What the predictions file records of the model."""
        own = getattr(self.call, "__qualname__", type(self.call).__qualname__)
        name = self.name or f"{getattr(self.call, '__module__', '')}.{own}"
        version = self._source() if self.version is None else self.version
        identity = {"model": name, "kind": "function", "version": version, "inputs": "columns"}
        return identity if prompt is None else identity | {"inputs": prompt.template.name, "prompt_hash": prompt.hash}

    def _source(self) -> str:
        source = ""
        with suppress(OSError):
            source = inspect.getsource(self.call) if getattr(self.call, "__closure__", self) is None else ""
        if not source:
            must, remedy = "be given: the function has no source that says all of it", "Change it with the answers."
            raise input_error("run", "version", must, remedy=remedy)
        return f"source-{hashlib.sha256(source.encode()).hexdigest()[:16]}"


def as_function(model: Any, options: dict[str, Any], loading: Mapping[str, Any]) -> Function | None:
    """Return `model`, if it is a function, with its own of the `options`, which are taken out.

    InputError where options are of the other kind of model: `loading` are those of models that are loaded.
    """
    own = {one.name: options.pop(one.name) for one in fields(Function)[1:] if one.name in options}
    usual = {**vars(LoadOptions()), **vars(RunOptions(Path()))}
    other = {name: value for name, value in {**loading, **options}.items() if name in _OF_LOADED}
    for name, value in other.items() if callable(model) else own.items():
        if value != usual.get(name):
            kind = "models that are loaded" if callable(model) else "a function"
            raise input_error("run", name, f"be given only with {kind}", got=value)
    return Function(model, **own) if callable(model) else None


def run_function(function: Function, sets: Sequence[BucketSet], options: RunOptions) -> RunFolder:
    """Ask a function about bucket sets, in one process.

    Every batch is written down as it comes: a run that was ended goes on with the same call, and a finished one calls
    nothing. Inputs of a call that raises are asked again one by one; one that raises alone has failed, as `on_error`
    says. InputError where the function returns something else than an answer for each input.
    """
    if launched()[1] > 1:
        raise input_error("run", "model", "be a function in one process only", remedy="Start it without a launcher.")
    check_whole("run", "batch_size", function.batch_size)
    started, groups, how = time.time(), group_sets({"": sets}), PromptOptions(template=function.template)
    prompts = {name: None if function.columns else prompt_for(group, how, []) for name, (_, group) in groups.items()}
    names = {name: _names(group, prompts[name]) for name, (_, group) in groups.items()}
    label_maps = label_maps_of(groups, names, options)
    identities = {name: function.identity(prompt) for name, prompt in prompts.items()}
    folder, files, passes = RunFolder(options.output), dict[str, Path](), dict[str, dict[str, Any]]()
    with locked(folder.path, "run", "output"):
        folder.open(identities, overwrite=options.overwrite)
        for name, (_, group) in groups.items():
            store = Store(folder.store, store_identity(identities[name], group[0].task))
            passes[name] = _pass(function, prompts[name], group, store, options)
            files |= write_sets(folder, group, store, label_maps, identities[name], options)
        record_run(folder, identities, files, started, function=passes)
    return folder


def _pass(
    function: Function, prompt: Prompt | None, group: Sequence[BucketSet], store: Store, options: RunOptions
) -> dict[str, Any]:
    """Ask about every distinct input of the sets (of one task) that the store holds no result for."""
    inputs = {i: row if prompt is None else prompt.text(task, row) for i, task, row in distinct_rows(group)}
    names = _names(group, prompt)
    words, started = names if prompt is None else prompt.template.words, time.perf_counter()

    def ask(ids: Sequence[str]) -> Iterator[tuple[Sequence[str], list[Result]]]:
        """Yield inputs with their results: those of one call, or of a call each where it raises for all together."""
        try:
            answers = list(function.call([inputs[one] for one in ids]))
        except Exception as problem:  # whatever the user's function raises
            what = f"the function raised {type(problem).__name__}: {first_line(problem)} (input {ids[0]})."
            if len(ids) == 1:
                yield ids, [failures.failed(NO_ANSWER, InputError(what, function="run"))]
            for one in ids if len(ids) > 1 else ():
                yield from ask([one])
            return
        if len(answers) != len(ids):
            must = f"return an answer for each of the {len(ids)} inputs of a call"
            raise input_error("run", "model", must, got=len(answers))
        yield ids, [_result(one, words, names) for one in answers]
        failures.answered()

    store.create()
    with store.writer(0) as shard:
        finished = store.finished()
        again = options.retry_failed or options.on_error == "stop"
        pending = to_ask(list(inputs), finished, retry_failed=again)
        failures = Failures(options.on_error, any_answered=not all_failed(finished))
        with ProgressBar(len(pending), group[0].task.name, visible=True) as bar:
            for start in range(0, len(pending), function.batch_size):
                for ids, results in ask(pending[start : start + function.batch_size]):
                    shard.append(ids, results)
                    bar.advance(len(ids))
    return {"n_inputs": len(inputs), "n_computed": len(pending), "seconds": time.perf_counter() - started}


def _names(group: Sequence[BucketSet], prompt: Prompt | None) -> tuple[str, ...]:
    """The labels that the function answers with."""
    return group[0].label_names if prompt is None else prompt.template.label_names


def _result(answer: Any, words: Sequence[str], names: Sequence[str]) -> Result:
    """What the store keeps of an answer; InputError where it is none."""
    if answer is None:
        return WrittenAnswer(None, "")
    if isinstance(answer, str):
        return WrittenAnswer(parse_answer(answer, words, names), answer)
    with suppress(TypeError, ValueError):
        if isinstance(answer, Integral) and 0 <= int(answer) < len(names):
            return WrittenAnswer(int(answer), names[int(answer)])
        numbers = [float(one) for one in answer]
        if len(numbers) == len(names) and min(numbers) >= 0.0 and abs(sum(numbers) - 1.0) <= _ROUNDING:
            return numbers
    remedy = f"An answer is a text, a label's number, probabilities of {', '.join(names)}, or None for no answer."
    raise input_error("run", "model", "return answers", got=answer, remedy=remedy)
