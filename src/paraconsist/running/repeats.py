"""A share of the rows asked again, in other batches or with other seeds: what flips when nothing changes.

An answer should not depend on which inputs happen to share its batch, and in floating point it does, a little; an
answer that is drawn depends on the draw. The repeats show how much: they are computed from the start into stores of
their own. They are drawn from all rows: originals and paraphrases may lie differently near a tie.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import Store
from paraconsist.errors import input_error
from paraconsist.measures.rules import ORIGINAL
from paraconsist.models.batching import BatchPolicy
from paraconsist.running.options import RunOptions
from paraconsist.running.outputs import predictions_table, run_metadata

if TYPE_CHECKING:
    from accelerate import Accelerator

    from paraconsist.models.classifier import Classifier
    from paraconsist.models.labels import LabelMap


@dataclass(frozen=True)
class Repeat:
    """One time more."""

    number: int  # from 1, over all kinds
    kind: str  # numeric: other batches; decoding: other batches and another seed of the draws
    of_kind: int  # from 1, within its kind

    def store(self, folder: RunFolder, identity: Mapping[str, Any]) -> Store:
        """Where its answers are kept; `identity` is what decides a prediction besides the input and its batch."""
        return Store(folder.store, {**identity, "repeat" if self.kind == "numeric" else self.kind: self.of_kind})

    def seed_after(self, seed: int) -> int:
        """The seed of its draws, where `seed` is the run's."""
        return seed + (self.of_kind if self.kind == "decoding" else 0)


def repeats_of(options: RunOptions) -> list[Repeat]:
    """Return what is to be asked again: the numeric repeats, then those with other seeds."""
    kinds = ["numeric"] * options.noise_floor + ["decoding"] * options.repeats
    return [Repeat(i, kind, kinds[:i].count(kind)) for i, kind in enumerate(kinds, start=1)]


def check_repeats(options: RunOptions, *, drawn: bool, fields: Mapping[str, Any] | None = None) -> None:
    """Refuse repeats that would show nothing, or something else than they are called.

    `drawn` says whether the run draws its answers; `fields` are, for an endpoint, further fields of its requests, of
    which a temperature counts.
    """
    of_server = drawn or (fields is not None and fields.get("temperature", 0) != 0)
    if options.repeats and not of_server:
        remedy = "Give `scoring` generate and a `temperature`. What flips without draws is shown by `noise_floor`."
        raise input_error("run", "repeats", "be given only where answers are drawn", got=options.repeats, remedy=remedy)
    if options.noise_floor and fields is not None and of_server:
        must = "not be given with `endpoint` where answers are drawn"
        remedy = "Give `repeats`: they are in other batches of the server's, too."
        raise input_error("run", "noise_floor", must, got=options.noise_floor, remedy=remedy)
    if options.repeats and fields is not None and fields.get("seed") is not None:
        must = "not set the seed where `repeats` are given"
        raise input_error("run", "request_field", must, got=fields["seed"], remedy="Each repeat has a seed of its own.")


def ask_again(
    model: Classifier,
    sets: Sequence[BucketSet],
    folder: RunFolder,
    identity: Mapping[str, Any],
    label_maps: Mapping[str, LabelMap],
    accelerator: Accelerator,
    policy: BatchPolicy,
    options: RunOptions,
) -> None:
    """Compute a share of `sets` again, as the options say, and write ``noise/<set>.parquet`` in the run's folder.

    All is as in the run, and resumable as the run is, but every repeat has a shuffled order of its own.
    """
    from paraconsist.running.loop import compute

    chosen, again = rows_again(sets, options), []
    for repeat in repeats_of(options) if chosen else ():
        seeded = model.with_seed(repeat.seed_after(options.seed))
        again.append((repeat, repeat.store(folder, identity)))
        failing = options.on_error, options.retry_failed
        compute(seeded, chosen, again[-1][1], accelerator, policy.shuffled(repeat.number), *failing)
    if accelerator.is_main_process:
        batches = policy.shuffled(1).describe()
        write_repeats(folder, chosen, again, identity, label_maps, options, batch_policy=batches)


def write_repeats(
    folder: RunFolder,
    chosen: Sequence[BucketSet],
    again: Sequence[tuple[Repeat, Store]],
    identity: Mapping[str, Any],
    label_maps: Mapping[str, LabelMap],
    options: RunOptions,
    **metadata: Any,
) -> None:
    """Write ``noise/<set>.parquet`` from the stores of the repeats; nothing where there are none."""
    finished = [(repeat, store.finished()) for repeat, store in again]
    for bucket_set in chosen if again else ():
        label_map = label_maps[bucket_set.name]
        parts = []
        for repeat, results in finished:
            table = predictions_table(bucket_set, results, label_map)
            table = table.append_column("repeat", pa.array([repeat.number] * len(table)))
            parts.append(table.append_column("kind", pa.array([repeat.kind] * len(table))))
        more = {"n_repeats": len(again), "noise_share": options.noise_share, "seed": options.seed, **metadata}
        table = pa.concat_tables(parts, promote_options="default")  # a repeat may lack probabilities
        about = run_metadata(bucket_set, identity["model"], label_map, **more)
        folder.write(folder.noise_file(bucket_set.file_name), table, about)


def rows_again(sets: Sequence[BucketSet], options: RunOptions) -> list[BucketSet]:
    """Return the share of each set that is asked again, if any is; sets of originals alone are left out."""
    chosen = (one for one in sets if repeats_of(options) and set(one.table["role"].unique().to_pylist()) - {ORIGINAL})
    return [share_of(one, options.noise_share, options.seed) for one in chosen]


def share_of(bucket_set: BucketSet, share: float, seed: int) -> BucketSet:
    """Return a random share of each bucket's distinct inputs, at least one of those that are no originals.

    Whether an input is drawn depends on `seed`, its text and its bucket alone: a longer run draws it too.
    """
    table = bucket_set.table
    keys = list(zip(*(table[name].to_pylist() for name in ("bucket_id", "role", "input_id")), strict=True))
    parts: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    for bucket, role, input_id in keys:
        parts[bucket, role == ORIGINAL].add(input_id)
    drawn: set[tuple[str, str]] = set()
    for (bucket, is_original), inputs in parts.items():
        n = int(share * len(inputs) + _uniform(seed, bucket, str(is_original)))
        order = sorted(inputs, key=lambda one: (_uniform(seed, bucket, one), one))
        drawn.update((bucket, one) for one in order[: max(n, 0 if is_original else 1)])
    mask = pa.array([(bucket, input_id) in drawn for bucket, _, input_id in keys])
    return replace(bucket_set, table=table.filter(mask))


def _uniform(*parts: object) -> float:
    """A number in [0, 1) that stands for the parts."""
    digest = hashlib.sha256("\x00".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2.0**56
