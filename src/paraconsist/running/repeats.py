"""The originals asked again in another batch composition: what flips when nothing changes.

An answer should not depend on which inputs happen to share its batch, and in floating point it does, a little. The
repeats show how much: inputs are shuffled, so that batches mix lengths and pad, and are computed from the start into a
store of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.predictions import write_predictions
from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import Store
from paraconsist.models.batching import BatchPolicy
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
    *,
    n_repeats: int,
) -> None:
    """Compute the originals of `sets` again, `n_repeats` times, and write ``noise/<set>.parquet`` in the run's folder.

    All is as in the run, and resumable as the run is, but every repeat has a shuffled order of its own. `identity` is
    what decides a prediction besides the input and its batch.
    """
    from paraconsist.running.loop import compute

    chosen = [originals_of(bucket_set) for bucket_set in sets]
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
        )
        write_predictions(path, pa.concat_tables(parts[bucket_set.name]), metadata)


def originals_of(bucket_set: BucketSet) -> BucketSet:
    """Return the set's originals, or the whole set where it has none."""
    is_original = pc.equal(bucket_set.table["role"], "original")
    if not pc.any(is_original).as_py():
        return bucket_set
    return replace(bucket_set, table=bucket_set.table.filter(is_original))
