"""The accelerate loop: every distinct input is computed once, by some process, and kept at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.utils import broadcast_object_list, gather_object
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.failures import NOT_FINITE, TOO_LONG, Failures, all_failed, to_ask
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.results import Result
from paraconsist.data.store import ShardWriter, Store
from paraconsist.data.tasks import ModelInput
from paraconsist.errors import InputError
from paraconsist.models.batching import BatchPolicy, Shape, check_device, deal, padding_share, plan_batches
from paraconsist.models.progress import ProgressBar
from paraconsist.running.outputs import distinct_rows

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier, Prepared


T = TypeVar("T")
Choices = tuple[ModelInput, ...]
Plan = list[list[int]]
#: Input ids, how they were prepared, and their probabilities, shape (n, n_labels), or what the model wrote for each.
Finished = tuple[Sequence[str], Sequence["Prepared"], torch.Tensor | list[WrittenAnswer]]

_MOST_WORKERS = 4


@dataclass(frozen=True)
class LoopStatistics:
    """What one pass of the loop did."""

    n_inputs: int  # distinct inputs over the sets
    n_computed: int  # computed now; the rest was found in the store
    n_tokens: int  # real tokens computed, over all processes
    padding: float  # share of computed tokens that were padding, in [0, 1]
    seconds: float  # from the plan to the last batch, on the slowest process
    n_ranks: int  # processes


def start_accelerator(*, device: str | None = None) -> Accelerator:
    """Return the accelerator of this process: the processor if `device` is ``"cpu"``, the best there is if None."""
    check_device("run", device)
    on_cpu = device == "cpu" or not torch.accelerator.is_available()
    # Processes wait for one another only at the start and at the end, for as long as their work differs.
    patience = InitProcessGroupKwargs(timeout=timedelta(days=7))
    return Accelerator(cpu=on_cpu, kwargs_handlers=[patience])


def main_first(accelerator: Accelerator, action: Callable[[], T]) -> T:
    """Do `action` on the main process, then on the others; an `InputError` of the main one is raised by all."""
    results: list[T] = []
    problems: list[InputError | None] = [None]
    if accelerator.is_main_process:
        try:
            results.append(action())
        except InputError as problem:
            problems[0] = problem
    if accelerator.num_processes > 1:
        broadcast_object_list(problems)
    if problems[0] is not None:
        raise problems[0]
    return results[0] if results else action()


def compute(
    model: Classifier,
    sets: Sequence[BucketSet],
    store: Store,
    accelerator: Accelerator,
    policy: BatchPolicy,
    on_error: str = "stop",
    retry_failed: bool = False,
) -> LoopStatistics:
    """Compute every distinct input of `sets` (all of one task) that `store` does not hold yet.

    Identical inputs are computed once. Inputs are sorted by length over the whole set and cut into batches
    under a budget of tokens; the batches are dealt to the processes. A process alone on a CPU computes several
    batches at a time, in threads. Each process writes what it has to its own shard after every batch. Nothing
    is ever matched by position: results carry their `input_id`. Numbers that are not finite and prompts that are too
    long are failures, kept as `on_error` says (see `Failures`); where they end the pass, as one input alone that does
    not fit in memory does, InputError is raised on every process, after the others have kept their share.
    """
    inputs: dict[str, Choices] = {i: model.encode(task, row) for i, task, row in distinct_rows(sets)}
    if accelerator.is_main_process:
        store.create()
    accelerator.wait_for_everyone()
    finished = store.finished()
    accelerator.wait_for_everyone()  # nobody writes before everybody has read
    pending = to_ask(list(inputs), finished, retry_failed=retry_failed or on_error == "stop")
    failures = Failures(on_error, any_answered=not all_failed(finished))
    n_ranks = accelerator.num_processes
    share = range(accelerator.process_index, len(pending), n_ranks)
    with _together(accelerator):  # each process tokenises its share, to learn how long the inputs are
        local = dict(zip(share, model.prepare([inputs[pending[i]] for i in share]), strict=True))
        if on_error == "stop" and (long := [row for row in local.values() if row.n_over]):
            raise _window_error(model, long)
    shapes = _all_shapes(local, len(pending), accelerator)
    policy = replace(policy, max_rows=max(1, min(policy.max_rows, math.ceil(len(pending) / n_ranks))))
    if not model.pads:
        policy = replace(policy, max_padding=1.0)
    batches = _plan(model, [inputs[i] for i in pending], shapes, policy)
    mine = deal(batches, accelerator.process_index, n_ranks)
    if not getattr(model.module, "hf_device_map", None):  # else the weights are spread over the devices already
        model.module.to(accelerator.device)
    model.module.eval()
    started = time.perf_counter()
    over: dict[str, Prepared] = {}
    with (
        _together(accelerator),
        ProgressBar(len(pending), sets[0].task.name, visible=accelerator.is_main_process) as bar,
        store.writer(accelerator.process_index) as shard,
    ):

        def finish(batch: list[int]) -> list[Finished]:
            absent = [i for i in batch if i not in local]
            local.update(zip(absent, model.prepare([inputs[pending[i]] for i in absent]), strict=True))
            rows = {i: local.pop(i) for i in batch}
            over.update((pending[i], row) for i, row in rows.items() if row.n_over)
            fits = [i for i in batch if not rows[i].n_over]
            return list(_results(model, [pending[i] for i in fits], [rows[i] for i in fits]))

        for parts in _in_turn(finish, mine, _n_workers(model, accelerator)):
            for ids, rows, results in parts:
                _keep(ids, rows, results, shard, failures)
                bar.advance(len(ids) * n_ranks)
        for input_id, row in over.items():  # after the answers, which say that it is no matter of all inputs
            shard.append([input_id], [failures.failed(TOO_LONG, _window_error(model, [row]))])
    return LoopStatistics(
        n_inputs=len(inputs),
        n_computed=len(pending),
        n_tokens=sum(shape.n_tokens for shape in shapes),
        padding=padding_share(shapes, batches) if model.pads else 0.0,
        seconds=time.perf_counter() - started,
        n_ranks=n_ranks,
    )


def _plan(model: Classifier, inputs: Sequence[Choices], shapes: Sequence[Shape], policy: BatchPolicy) -> Plan:
    from paraconsist.models.classifier import PlansBatches

    return model.plan(inputs, shapes, policy) if isinstance(model, PlansBatches) else plan_batches(shapes, policy)


@contextmanager
def _together(accelerator: Accelerator) -> Iterator[None]:
    """Wait for everyone at the end; raise, on every process, the first problem that any of them had.

    Only the main process talks to the user: a problem that another one kept to itself would never be read.
    """
    own: InputError | None = None
    try:
        yield
    except InputError as problem:
        own = problem
    for first in [own] if accelerator.num_processes == 1 else gather_object([own]):
        if first is not None:
            raise first


def _all_shapes(local: dict[int, Prepared], n_inputs: int, accelerator: Accelerator) -> list[Shape]:
    """Exchange the lengths, and nothing else, between the processes."""
    measured = [(i, Shape(p.n_tokens, p.width, p.n_sequences)) for i, p in local.items()]
    if accelerator.num_processes > 1:
        measured = gather_object(measured)
    shapes = dict(measured)
    return [shapes[i] for i in range(n_inputs)]


def _n_workers(model: Classifier, accelerator: Accelerator) -> int:
    """How many batches a process computes at a time: several small ones use a CPU's cores better than one."""
    alone_on_cpu = accelerator.device.type == "cpu" and accelerator.num_processes == 1
    return min(_MOST_WORKERS, torch.get_num_threads()) if alone_on_cpu and model.reentrant else 1


def _in_turn(
    finish: Callable[[list[int]], list[Finished]], batches: Sequence[list[int]], n_workers: int
) -> Iterator[list[Finished]]:
    """Yield what `finish` returns for each batch, in order, computed by several threads where that helps."""
    if n_workers == 1:
        yield from map(finish, batches)
        return
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(n_workers, "paraconsist-cpu", torch.set_num_threads, (max(1, threads // n_workers),))
    try:
        yield from pool.map(finish, batches)
    finally:
        pool.shutdown(cancel_futures=True)


def _keep(
    ids: Sequence[str],
    rows: Sequence[Prepared],
    results: torch.Tensor | list[WrittenAnswer],
    shard: ShardWriter,
    failures: Failures,
) -> None:
    """Write down results that are finite, or why one input has none."""
    kept: list[Result] = results.tolist() if isinstance(results, torch.Tensor) else [*results]
    if isinstance(results, torch.Tensor) and not bool(torch.isfinite(results).all()):
        remedy = "Its weights may be damaged, or its numbers pass the range of its `dtype`: try float32."
        must = f"the model returned numbers that are not finite for input {ids[0]}."
        kept = [failures.failed(NOT_FINITE, InputError(must, function="run", remedy=remedy))]
    else:
        failures.answered()
    shard.append(ids, kept, [row.n_cut for row in rows])


def _window_error(model: Classifier, rows: Sequence[Prepared]) -> InputError:
    from paraconsist.models.prompted import PromptedModel

    assert isinstance(model, PromptedModel)  # all others cut
    return model.window_error([row.n_over for row in rows])


def _results(model: Classifier, ids: Sequence[str], prepared: Sequence[Prepared]) -> Iterator[Finished]:
    """Yield the results of a batch, in halves (and halves of halves) where memory does not suffice.

    Rows that come out not finite are computed again alone: in a pack one of them spoils the others.
    """
    from paraconsist.models.classifier import WritesAnswers

    results: torch.Tensor | list[WrittenAnswer]
    if not ids:
        return
    try:
        with torch.inference_mode():
            if isinstance(model, WritesAnswers):
                results = model.write(prepared)
            else:
                results = torch.softmax(model.logits(prepared).double(), dim=-1).cpu()
    except (RuntimeError, MemoryError) as problem:
        if not (isinstance(problem, MemoryError) or should_reduce_batch_size(problem)):
            raise
        if len(ids) == 1:
            remedy = "Give `max_length`, a smaller model, or `dtype` bfloat16."
            what = f"input {ids[0]} alone does not fit in memory."
            raise InputError(what, function="run", remedy=remedy) from None
        clear_device_cache()
    else:
        if isinstance(results, list) or len(ids) == 1 or bool(torch.isfinite(results).all()):
            yield ids, prepared, results
            return
        good = torch.isfinite(results).all(dim=-1).tolist()
        if any(good):
            places = [i for i, is_good in enumerate(good) if is_good]
            yield [ids[i] for i in places], [prepared[i] for i in places], results[places]
        for i, is_good in enumerate(good):
            if not is_good:
                yield from _results(model, ids[i : i + 1], prepared[i : i + 1])
        return
    half = len(ids) // 2
    yield from _results(model, ids[:half], prepared[:half])
    yield from _results(model, ids[half:], prepared[half:])
