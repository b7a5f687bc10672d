"""A made-up bucket set of six rows, for the tests of what all builders share."""

import hashlib
import json
from typing import ClassVar

from paraconsist.dataset_builders import upstream
from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig


def toy_rows() -> list[dict]:
    rows = []
    for bucket, label in (("b0", 0), ("b1", 2)):
        for i, role in enumerate(("original", "paraphrase", "paraphrase")):
            rows.append({
                "example_id": f"{bucket}.{i}", "bucket_id": bucket, "role": role, "premise": f"It rains {i}.",
                "hypothesis": f"It is wet in {bucket}.", "label": label, "worker": i - 1
            })  # fmt: skip
    return rows


CONTENT = json.dumps(toy_rows()).encode()
FILE = upstream.UpstreamFile("who/what", "c0ffee", "data/toy.json", hashlib.sha256(CONTENT).hexdigest())


class ToyBuilder(BucketSetBuilder):
    NAME = "toy"
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = [
        BucketSetConfig(
            name="all",
            version="1.2.0",
            task="nli",
            measures=("paraphrastic_consistency",),
            strata=("worker",),
            counts={"test": {"original": 2, "paraphrase": 4}},
        )
    ]
    DEFAULT_CONFIG_NAME = "all"
    STRATA: ClassVar[dict[str, str]] = {"worker": "int32"}
    generated = 0

    def upstream_files(self):
        return {"toy": FILE}

    def rows(self, split, files):
        type(self).generated += 1
        yield from json.loads(files["toy"])
