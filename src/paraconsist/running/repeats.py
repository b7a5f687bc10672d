"""A share of the rows asked again in other batches: what flips when nothing changes.

An answer should not depend on which inputs happen to share its batch, and in floating point it does, a little. The
repeats show how much: inputs are shuffled, so that batches mix lengths and pad, and are computed from the start into a
store of their own. They are drawn from all rows: originals and paraphrases may lie differently near a tie.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.predictions import write_predictions
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import Store
from paraconsist.measures.rules import ORIGINAL
from paraconsist.models.batching import BatchPolicy
from paraconsist.running.options import RunOptions
from paraconsist.running.outputs import predictions_table, run_metadata

if TYPE_CHECKING:
    from accelerate import Accelerator

    from paraconsist.models.classifier import Classifier
    from paraconsist.models.labels import LabelMap


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

    All is as in the run, and resumable as the run is, but every repeat has a shuffled order of its own. `identity` is
    what decides a prediction besides the input and its batch.
    """
    from paraconsist.running.loop import compute

    n_repeats = options.noise_floor
    chosen = [share_of(one, options.noise_share, options.seed) for one in sets if _has_paraphrases(one)]
    if not chosen:
        return
    parts: dict[str, list[pa.Table]] = {bucket_set.name: [] for bucket_set in chosen}
    for repeat in range(1, n_repeats + 1):
        store = Store(folder.store, {**identity, "repeat": repeat})
        compute(model, chosen, store, accelerator, policy.shuffled(repeat))
        if not accelerator.is_main_process:
            continue
        finished = store.finished()
        for bucket_set in chosen:
            table = predictions_table(bucket_set, finished, label_maps[bucket_set.name])
            table = table.append_column("repeat", pa.array([repeat] * len(table)))
            parts[bucket_set.name].append(table.append_column("kind", pa.array(["numeric"] * len(table))))
    if not accelerator.is_main_process:
        return
    for bucket_set in chosen:
        path = folder.noise_file(bucket_set.file_name)
        path.parent.mkdir(exist_ok=True)
        metadata = run_metadata(
            bucket_set,
            identity["model"],
            label_maps[bucket_set.name],
            batch_policy=policy.shuffled(n_repeats).describe(),
            n_repeats=n_repeats,
            noise_share=options.noise_share,
            seed=options.seed,
        )
        write_predictions(path, pa.concat_tables(parts[bucket_set.name]), metadata)


def _has_paraphrases(bucket_set: BucketSet) -> bool:
    return any(role != ORIGINAL for role in bucket_set.table["role"].unique().to_pylist())


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
