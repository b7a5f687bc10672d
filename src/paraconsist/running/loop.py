"""The accelerate loop: every distinct input is computed once, by one process, and stored at once."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import broadcast_object_list, gather_object
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from numpy.typing import NDArray

from paraconsist.data.arrays import Places, mapped, sorted_pieces
from paraconsist.data.bucket_sets import PER_TOKEN, BucketSet, DistinctInputs
from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import (
    NOT_FINITE,
    NOT_FINITE_REMEDY,
    TOO_LONG,
    Failures,
    Store,
    all_failed,
    are_open,
    shard_of,
)
from paraconsist.errors import InputError
from paraconsist.files import Json, read_record, write_json
from paraconsist.models.batching import BatchPolicy, Shape, check_device, plan_batches
from paraconsist.models.progress import ProgressBar
from paraconsist.running.processes import naming_silent

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier, Inputs, Prepared


S = TypeVar("S")
T = TypeVar("T")
#: Input ids, and how they were prepared.
Batch = tuple[Sequence[str], Sequence["Prepared"]]
#: Probabilities, shape (n, n_labels), or what the model wrote for each input; neither for numbers that are not finite.
Answers = NDArray[np.float64] | list[WrittenAnswer | None]
Finished = tuple[Sequence[str], Sequence["Prepared"], Answers]

_MOST_WORKERS = 4
_N_FIRST = 64
_N_OBJECTS = 200_000
#: Batches that a pass must have for the size of a batch to be fitted to an accelerator's memory.
_WORTH_FITTING = 4
_PART = 16  # batches in a part at most
#: Of an accelerator's free memory, the share that batches may take; the largest batch, in default ones.
_OF_FREE, _MOST_DEFAULTS = 0.8, 4


@dataclass(frozen=True)
class LoopStatistics:
    """Counts of one pass of the loop."""

    n_inputs: int  # distinct inputs over the sets
    n_computed: int  # computed now; the store had the rest
    n_tokens: int  # real tokens computed, over all processes
    padding: float  # share of computed tokens that were padding, in [0, 1]
    seconds: float  # from the plan to the last batch, tokenising included, on the slowest process
    n_ranks: int  # processes
    max_tokens: int  # tokens of a batch at most, which an accelerator's free memory may have decided

    def to_dict(self) -> Json:
        """Return the counts for ``run.json``; `max_tokens` is part of each file's batch policy."""
        return {name: value for name, value in vars(self).items() if name != "max_tokens"}


def start_accelerator(*, device: str | None = None) -> Accelerator:
    """Return the accelerator of this process: the processor if `device` is ``"cpu"``, the best device if None."""
    # Processes wait for each other only at the start and at the end, where their work may differ by hours.
    patience = InitProcessGroupKwargs(timeout=timedelta(days=7))
    kind = check_device("run", device)
    before = PartialState._shared_state.get("device")
    if before is not None and before.type != kind and PartialState().num_processes == 1:
        AcceleratorState._reset_state(reset_partial_state=True)  # it keeps the device of this Python's first run
    return Accelerator(cpu=kind == "cpu", kwargs_handlers=[patience])


def main_first(accelerator: Accelerator, action: Callable[[], T]) -> T:
    """Do `action` on the main process, then on the others; all raise an `InputError` of the main one."""
    results: list[T] = []
    from_main(accelerator, lambda: results.append(action()))
    return results[0] if results else action()


def from_main(accelerator: Accelerator, action: Callable[[], T]) -> T:
    """Do `action` on the main process and return its result on all; all raise its `InputError`."""
    box: list[Any] = [None, None]
    if accelerator.is_main_process:
        try:
            box[0] = action()
        except InputError as problem:
            box[1] = problem
    if accelerator.num_processes > 1:
        broadcast_object_list(box)
    if box[1] is not None:
        raise box[1]
    result: T = box[0]
    return result


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

    Inputs, sorted by length over the whole set, are cut into parts, which are dealt to the processes; a part is
    tokenised, cut into batches under a budget of tokens, computed, and written to the process's own shard. One thread
    tokenises the next part and another writes while batches are computed, several at a time on a CPU that one process
    has for itself. Only a part's texts and tokens are in memory. Identical inputs are computed once. Results are never
    matched by position: they carry their `input_id`. Numbers that are not finite and prompts that are too long are
    failures, handled as `on_error` says (see `Failures`). If they end the pass, or one input alone does not fit in
    memory, every process raises InputError, after the others have stored their share.
    """
    inputs = DistinctInputs(sets)

    def look() -> tuple[int, NDArray[np.uint8], bool]:
        store.create()
        finished, again = store.finished(), retry_failed or on_error == "stop"
        places = (finished.places(table["input_id"]) for table in inputs.in_order())
        is_open = np.concatenate([are_open(some, finished, retry_failed=again) for some in places])
        if is_open.any():
            _note_environment(store.folder, model, accelerator.device, goes_on=bool(finished))
        return len(is_open), np.packbits(is_open), not all_failed(finished)

    n_inputs, bits, any_answered = from_main(accelerator, look)  # the store may change before another process looks
    pending = np.flatnonzero(np.unpackbits(bits, count=n_inputs))
    failures, n_ranks = Failures(on_error, any_answered=any_answered), accelerator.num_processes
    if not getattr(model.module, "hf_device_map", None):  # else the weights are already spread over devices
        model.module.to(accelerator.device)
    model.module.eval()
    memory = Memory()
    started, over = time.perf_counter(), dict[str, "Prepared"]()
    n_tokens = n_padded = 0
    n_workers = _n_workers(model, accelerator)

    def counted(batches: Iterable[Batch]) -> Iterator[Batch]:
        nonlocal n_tokens, n_padded
        for ids, rows in batches:
            n_tokens += sum(row.n_tokens for row in rows)
            n_padded += max(row.width for row in rows) * sum(row.n_sequences for row in rows)
            yield ids, rows

    def finish(batch: Batch) -> list[Finished]:
        ids, rows = batch
        if long := {i: row for i, row in zip(ids, rows, strict=True) if row.n_over}:
            if on_error == "stop":
                raise model.window_error([*long.values()])
            over.update(long)
            ids, rows = [i for i in ids if i not in long], [row for row in rows if not row.n_over]
        return list(_results(model, ids, rows, memory))

    def keep(parts: list[Finished]) -> int:
        for ids, rows, results in parts:
            stored: Any = results
            if len(results):
                failures.answered()
            else:
                must = f"the model returned numbers that are not finite for input {ids[0]}."
                stored = [failures.failed(NOT_FINITE, InputError(must, function="run", remedy=NOT_FINITE_REMEDY))]
            shard.append(ids, stored, [row.n_cut for row in rows])
        return sum(len(ids) for ids, _, _ in parts)

    with (
        ExitStack() as stack,
        _together(accelerator, store.folder),
        ProgressBar(len(pending), sets[0].task.name, visible=accelerator.is_main_process) as bar,
        store.writer(accelerator.process_index) as shard,
        ThreadPoolExecutor(1, "paraconsist-write") as writing,
        _threads(int(model.reentrant or n_workers > 0)) as tokenising,
        _threads(n_workers) as computing,
    ):
        # cuDNN's attention makes a plan for each shape, and nearly every batch has its own: on an H100 it took 2 to 6
        # times as long (`benchmarks/gpu/speed.py`).
        kernels: Any = torch.backends.cuda
        stack.callback(kernels.enable_cudnn_sdp, kernels.cudnn_sdp_enabled())
        kernels.enable_cudnn_sdp(False)
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_N_OBJECTS)  # a part has many rows, none in a cycle: collecting them often is useless
        if len(inputs) != n_inputs:
            raise InputError("the sets changed while the processes read them.", function="run")
        order = _order(model, inputs, pending, policy)
        policy = _fitted(model, inputs, order, policy, accelerator)
        sizes = inputs.lengths()[order] // PER_TOKEN + 1
        dealt = deal(sizes, policy.max_tokens, accelerator.process_index, n_ranks)
        mine = [order[start:end] for start, end in dealt]
        batches = counted(_batches(model, policy, _in_turn(tokenising, partial(_prepare, model, inputs), mine)))
        for n_kept in _in_turn(writing, keep, _in_turn(computing, finish, batches)):
            bar.advance(n_kept * n_ranks)
        for input_id, row in over.items():  # after the answers, which show that not all inputs fail
            shard.append([input_id], [failures.failed(TOO_LONG, model.window_error([row]))])
    if n_ranks > 1:
        n_tokens, n_padded = np.sum(gather_object([(n_tokens, n_padded)]), axis=0).tolist()
    return LoopStatistics(
        n_inputs=n_inputs,
        n_computed=len(pending),
        n_tokens=n_tokens,
        padding=1 - n_tokens / n_padded if model.pads and n_padded else 0.0,
        seconds=time.perf_counter() - started,
        n_ranks=n_ranks,
        max_tokens=policy.max_tokens,
    )


def _order(model: Classifier, inputs: DistinctInputs, pending: Places, policy: BatchPolicy) -> Places:
    """Return the pending inputs in the order in which they are computed, the longest first.

    For a model with `by_text` they are in the order of their texts; a policy that shuffles has its own order. The order
    is the same on every process.
    """
    lengths = inputs.lengths()
    if policy.order_seed is not None:
        order = np.random.default_rng(policy.order_seed).permutation(pending)
    elif model.by_text:
        by_text = inputs.by_text()
        order = by_text[np.isin(by_text, pending)]
    else:
        shorter = lengths.max(initial=0) - lengths[pending]
        order = mapped((pending[rows] for rows, _ in sorted_pieces(shorter)), np.int64)
    if model.plans and len(order):  # the first prompts that it prepares decide the shared beginning
        some = np.linspace(0, len(order) - 1, _N_FIRST).astype(int)
        model.prepare(model.encode_all(inputs.task, inputs.take(order[np.unique(some)])))
    return order


def _fitted(
    model: Classifier, inputs: DistinctInputs, order: Places, policy: BatchPolicy, accelerator: Accelerator
) -> BatchPolicy:
    """Fit a default number of tokens to the memory of all devices, by batches of copies of the longest input.

    It is left where all inputs are few batches, which would not be worth it, and for packed prompts, whose batches are
    limited by the square of their tokens.
    """
    if policy.fits or not model.pads or inputs.lengths()[order].sum() < _WORTH_FITTING * policy.max_tokens * PER_TOKEN:
        return policy
    _, _, (row,) = _prepare(model, inputs, order[[np.argmax(inputs.lengths()[order])]])

    def answer(n_tokens: int) -> int:
        n_rows = min(policy.max_rows, -(-n_tokens // (row.width * row.n_sequences)))
        _answers(model, [row] * n_rows)
        return n_rows * row.width * row.n_sequences

    fits = fit_tokens(policy, accelerator.device.type, answer, max(1, _n_workers(model, accelerator)))
    return replace(fits, max_tokens=min(gather_object([fits.max_tokens])))


def _prepare(model: Classifier, inputs: DistinctInputs, part: Places) -> tuple[list[str], Inputs, list[Prepared]]:
    """Return a part's input ids, its texts as the model takes them, and the tokenised rows."""
    rows = inputs.take(part)
    texts = model.encode_all(inputs.task, rows)
    return rows["input_id"].to_pylist(), texts, model.prepare(texts)


def fit_tokens(policy: BatchPolicy, device: str, compute: Callable[[int], int], n_workers: int = 1) -> BatchPolicy:
    """Return the policy with the tokens of a batch that fit in a device's free memory, at most four times the default.

    `compute` computes a batch of about the number of tokens that it takes and returns the exact number. The peaks of
    two sizes give the memory of a token and of a batch. `n_workers` batches are computed at a time. Unchanged for a
    device that does not report its memory, such as the CPU and MPS.
    """
    memory: Any = torch.get_device_module(device)
    if not hasattr(memory, "mem_get_info"):
        return policy
    small, large = max(1, policy.max_tokens // 32), max(1, policy.max_tokens // 8)
    peaks: list[tuple[int, int]] = []
    for size in (small, small, large):  # first without measuring: libraries allocate, and models check themselves
        memory.reset_peak_memory_stats()
        before = memory.memory_allocated()
        try:
            n_tokens = compute(size)
        except RuntimeError as problem:
            if not should_reduce_batch_size(problem):
                raise
            return replace(policy, max_tokens=max(1, size // 2), fits=True)
        peaks.append((n_tokens, memory.max_memory_allocated() - before))
    (_, (n_small, small_peak), (n_large, large_peak)) = peaks
    each = (large_peak - small_peak) / (n_large - n_small) if n_large > n_small else large_peak / n_large
    constant = max(0.0, small_peak - each * n_small)
    free = memory.mem_get_info()[0] + memory.memory_reserved() - memory.memory_allocated()
    n_fit = int((_OF_FREE * free / n_workers - constant) / each) if each > 0 else policy.max_tokens
    return replace(policy, max_tokens=min(max(1, n_fit), _MOST_DEFAULTS * policy.max_tokens), fits=True)


def _batches(
    model: Classifier, policy: BatchPolicy, parts: Iterable[tuple[list[str], Inputs, list[Prepared]]]
) -> Iterator[Batch]:
    """Cut parts into batches.

    Parts were cut by estimated lengths, so that the shortest inputs of one may be shorter than the longest of the next:
    its last batches, which together have the tokens of a full one, are cut again with those of the next.
    """
    if not model.pads:
        policy = replace(policy, batch_cost=math.inf)
    left: Batch = [], []
    for ids, texts, prepared in parts:
        if model.plans:
            yield from _taken((ids, prepared), model.plan(texts, prepared, policy))
            continue
        both = [*left[0], *ids], [*left[1], *prepared]
        plan = plan_batches(both[1], policy)
        ends = np.cumsum([sum(both[1][i].n_tokens for i in batch) for batch in plan])
        n_now = int(np.searchsorted(ends, ends[-1] - policy.max_tokens, "right"))
        yield from _taken(both, plan[:n_now])
        (left,) = _taken(both, [[*chain.from_iterable(plan[n_now:])]])
    yield from _taken(left, plan_batches(left[1], policy))


def deal(sizes: NDArray[np.integer[Any]], max_tokens: int, rank: int, n_ranks: int) -> list[tuple[int, int]]:
    """Cut inputs, in their order, into parts; return start and end of those of one process.

    `sizes` are the inputs' tokens, estimated. A part has at most sixteen full batches, fewer towards the end; it goes
    to the process with the least work, so that all end together. If no part is a whole share, the cuts are the same for
    one process as for two and three.
    """
    ends = np.cumsum(sizes)
    most, share = -(-len(sizes) // n_ranks), max(4, 4 * n_ranks // 3)
    loads, mine, start = [0] * n_ranks, [], 0
    while start < len(sizes):
        done = int(ends[start - 1]) if start else 0
        goal = min(_PART * max_tokens, max((int(ends[-1]) - done) // share, max_tokens // 4))
        end = int(np.clip(np.searchsorted(ends, done + goal, "right"), start + 1, start + most))
        least = loads.index(min(loads))
        loads[least] += int(ends[end - 1]) - done
        if least == rank:
            mine.append((start, end))
        start = end
    return mine


def _taken(inputs: Batch, places: Iterable[Sequence[int]]) -> list[Batch]:
    """Return batches of inputs by their places."""
    ids, rows = inputs
    return [([ids[i] for i in batch], [rows[i] for i in batch]) for batch in places]


def _note_environment(folder: Path, model: Classifier, device: torch.device, *, goes_on: bool) -> None:
    """Record in a store what computes its results; warn if other results in it were computed in another way."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    attention = getattr(getattr(model.module, "config", None), "_attn_implementation", None)
    now = {package: version(package) for package in ("torch", "transformers")}
    now |= {"device": name, "attention": attention or "none"}
    file = folder / "environment.json"
    if not goes_on or not file.is_file():
        write_json(file, now)
        return
    before = read_record("run", "output", file, remedy="Delete that file.")
    changes = [f"{key} {before.get(key)}, now {value}" for key, value in now.items() if before.get(key) != value]
    if changes:
        text = f"earlier answers of this run were computed with {'; '.join(changes)}: they may differ a little"
        warnings.warn(text, UserWarning, stacklevel=2)


@contextmanager
def _together(accelerator: Accelerator, folder: Path) -> Iterator[None]:
    """Wait for all processes at the end; raise on each the first problem that any of them had.

    Only the main process prints errors: the user would never see a problem of another one.
    """
    here: InputError | None = None
    try:
        yield
    except InputError as problem:
        here = problem
    problems = [here]
    if accelerator.num_processes > 1:
        shards = [shard_of(folder, rank) for rank in range(accelerator.num_processes)]
        with naming_silent(shards, accelerator.process_index):
            problems = gather_object(problems)
    for first in problems:
        if first is not None:
            raise first


def _n_workers(model: Classifier, accelerator: Accelerator) -> int:
    """Return how many threads compute one batch each; 0 if only this thread computes.

    Several small batches use a CPU's cores better than one; an accelerator gets its next batch while it computes.
    """
    if accelerator.device.type != "cpu":
        return 2 * (model.reentrant or model.queues)
    if not model.reentrant:
        return 0
    n_threads = min(_MOST_WORKERS, torch.get_num_threads())
    return n_threads if accelerator.num_processes == 1 and n_threads > 1 else 0


@contextmanager
def _threads(n: int) -> Iterator[ThreadPoolExecutor | None]:
    """Yield a pool of `n` threads that share this one's cores, None for 0; at the end unstarted work is dropped."""
    if n == 0:
        yield None
        return
    pool = ThreadPoolExecutor(n, "paraconsist", torch.set_num_threads, (max(1, torch.get_num_threads() // n),))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _in_turn(pool: ThreadPoolExecutor | None, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Yield the results of `function` in the order of the items; the pool's threads compute a few ahead."""
    if pool is None:
        yield from map(function, items)
        return
    waiting: deque[Future[T]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > _MOST_WORKERS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class Memory:
    """The tokens of a batch that fit in memory, learnt from the batches that did not: each halves what is tried."""

    def __init__(self) -> None:
        self.max_tokens = math.inf

    def refused(self, rows: Sequence[Shape]) -> None:
        """Note that these rows did not fit together."""
        self.max_tokens = min(self.max_tokens, _n_computed(rows) // 2)

    def parts(self, rows: Sequence[Shape]) -> list[slice]:
        """Cut rows, in their order, into parts that may fit; a row that alone has more tokens is a part."""
        starts = [0]
        for place in range(1, len(rows)) if _n_computed(rows) > self.max_tokens else ():
            if _n_computed(rows[starts[-1] : place + 1]) > self.max_tokens:
                starts.append(place)
        return [slice(start, end) for start, end in pairwise([*starts, len(rows)])]


def _n_computed(rows: Sequence[Shape]) -> int:
    return max(row.width for row in rows) * sum(row.n_sequences for row in rows)


@torch.inference_mode()
def _answers(model: Classifier, prepared: Sequence[Prepared]) -> tuple[Answers, list[bool]]:
    """Return the answers to a batch, and whether each comes from finite numbers."""
    if model.writes:
        written = model.write(prepared)
        return written, [answer is not None for answer in written]
    shares = torch.softmax(model.logits(prepared).cpu().double(), dim=-1).numpy()  # MPS has no float64
    return shares, np.isfinite(shares).all(axis=-1).tolist()


def _results(model: Classifier, ids: Sequence[str], prepared: Sequence[Prepared], memory: Memory) -> Iterator[Finished]:
    """Yield the results of a batch, in parts that fit in memory, and learn what fits from those that do not.

    Rows whose results are not finite are computed again alone, because in a pack one of them spoils the others. A
    single row whose result is not finite has none.
    """
    if not ids:
        return
    if len(parts := memory.parts(prepared)) > 1:
        for part in parts:
            yield from _results(model, ids[part], prepared[part], memory)
        return
    answered = None
    try:
        answered = _answers(model, prepared)
    except (RuntimeError, MemoryError) as problem:
        if not (isinstance(problem, MemoryError) or should_reduce_batch_size(problem)):
            raise
        if len(ids) == 1:
            remedy = "Give `max_length`, a smaller model, or `dtype` bfloat16."
            what = f"input {ids[0]} alone does not fit in memory."
            raise InputError(what, function="run", remedy=remedy) from None
    if answered is None:  # outside of `except`, whose traceback holds the tensors of the batch that did not fit
        clear_device_cache()
        memory.refused(prepared)
        yield from _results(model, ids, prepared, memory)
    else:
        results, good = answered
        if all(good) or len(ids) == 1:
            yield ids, prepared, results if good[0] else []
            return
        if any(good):
            places = [i for i, is_good in enumerate(good) if is_good]
            finite = results[places] if isinstance(results, np.ndarray) else [results[i] for i in places]
            yield [ids[i] for i in places], [prepared[i] for i in places], finite
        for i, is_good in enumerate(good):
            if not is_good:
                yield from _results(model, ids[i : i + 1], prepared[i : i + 1], memory)
