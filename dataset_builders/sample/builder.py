"""The sample set that is installed with the package: reads its own files, needs no network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from paraconsist.data.tasks import get_task
from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig

_VERSION = "1.0.0"
_TASK = "defeasible_nli"


class SampleBuilder(BucketSetBuilder):
    """Defeasible NLI written for this project: a bucket set, its test set, and training rows."""

    NAME = "paraconsist_sample"  # datasets has one cache for everybody: `sample` is anyone's
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = [
        BucketSetConfig(
            name="defeasible_nli",
            version=_VERSION,
            description="Sample bucket set: originals with five or six paraphrases each.",
            task=_TASK,
            measures=("paraphrastic_consistency",),
            strata=("theme", "rewording", "context_id"),
            counts={"test": {"original": 60, "paraphrase": 321}},
        ),
        BucketSetConfig(
            name="defeasible_nli_test",
            version=_VERSION,
            description="The sample's full test set, for the corrected values; no bucket set.",
            task=_TASK,
            strata=("theme", "context_id"),
            counts={"test": {"original": 160}},
        ),
        BucketSetConfig(
            name="defeasible_nli_train",
            version=_VERSION,
            description="The sample's training and validation rows; no bucket set.",
            task=_TASK,
            strata=("theme", "context_id"),
            counts={"train": {"original": 480}, "validation": {"original": 80}},
        ),
    ]
    DEFAULT_CONFIG_NAME = "defeasible_nli"
    STRATA: ClassVar[Mapping[str, str]] = {"theme": "string", "rewording": "string", "context_id": "string"}

    def rows(self, split: str, files: Mapping[str, bytes]) -> Iterator[Mapping[str, Any]]:
        buckets = self.config.name == "defeasible_nli"
        path = self.source_folder() / ("buckets.jsonl" if buckets else f"{split}.jsonl")
        classes = {name: index for index, name in enumerate(get_task(_TASK).label_names)}
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                entry = json.loads(line)
                row = {column: entry[column] for column in (*get_task(_TASK).columns, "theme", "context_id")}
                row |= {"group_id": entry["context_id"], "label": classes[entry["label"]]}
                if buckets:
                    yield from _bucket_rows(row, entry["bucket_id"], entry["paraphrases"])
                else:
                    name = f"sample.{split}.{number:03d}"
                    yield row | {"example_id": name, "bucket_id": name, "role": "original"}


def _bucket_rows(row: dict[str, Any], bucket_id: str, paraphrases: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    row = row | {"bucket_id": bucket_id}
    yield row | {"example_id": bucket_id, "role": "original", "rewording": "original"}
    for index, paraphrase in enumerate(paraphrases):
        yield row | {
            "example_id": f"{bucket_id}.{index}",
            "role": "paraphrase",
            "update": paraphrase["text"],
            "rewording": paraphrase["rewording"],
        }
