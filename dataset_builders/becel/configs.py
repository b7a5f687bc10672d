"""The configs of BECEL: test cases, their normalised twins, and the base sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paraconsist.dataset_builders.becel.files import TASKS
from paraconsist.dataset_builders.bucket_set import BucketSetConfig

_VERSION = "1.0.0"

#: ``<task>/<kind>`` -> rows of the published file; for the rebuilt additive sets, pairs.
N_ROWS: Mapping[str, int] = {
    "boolq/semantic": 1076,
    "boolq/negational": 401,
    "mrpc/semantic": 202,
    "mrpc/negational": 290,
    "mrpc/symmetric": 3668,
    "rte/semantic": 248,
    "rte/negational": 153,
    "rte/symmetric": 1241,
    "snli/semantic": 4406,
    "snli/negational": 2204,
    "snli/symmetric": 3237,
    "snli/transitive": 2375,
    "wic/semantic": 140,
    "wic/negational": 536,
    "wic/symmetric": 5428,
    "wic/transitive": 3162,
    "sst2/semantic": 187,
    "sst2/additive": 53_214,
    "ag_news/semantic": 540,
    "ag_news/additive": 55_598,
    "boolq/validation": 3270,
    "mrpc/train": 3668,
    "mrpc/validation": 408,
    "mrpc/test": 1725,
    "rte/train": 2490,
    "rte/validation": 277,
    "snli/validation": 9842,
    "snli/test": 9824,
    "wic/train": 5428,
    "wic/validation": 638,
    "sst2/validation": 872,
    "ag_news/validation": 3800,
    "ag_news/test": 3800,
}
_SPLITS = ("train", "validation", "test")
#: The test cases of the paper's Table 1, by config name, in its order of tasks.
TEST_CASES: tuple[str, ...] = tuple(
    name.replace("/", "_") for name in N_ROWS if name.split("/")[1] not in _SPLITS and name != "wic/negational"
)
#: Distinct groups (originals; shared premises or words) of each bucket set: a join that changes them is wrong.
N_GROUPS: Mapping[str, int] = {
    "boolq/semantic": 1076,
    "boolq/negational": 344,
    "mrpc/semantic": 202,
    "mrpc/negational": 231,
    "mrpc/symmetric": 3668,
    "rte/semantic": 248,
    "rte/negational": 128,
    "rte/symmetric": 1241,
    "snli/semantic": 4406,
    "snli/negational": 1852,
    "snli/symmetric": 3237,
    "snli/transitive": 1977,
    "wic/semantic": 140,
    "wic/negational": 394,
    "wic/symmetric": 5428,
    "wic/transitive": 416,
    "sst2/semantic": 187,
    "sst2/additive": 597,
    "ag_news/semantic": 540,
    "ag_news/additive": 1378,
}
#: Rebuilt additive sets: the most whitespace tokens that two joined texts may have.
TOKEN_LIMITS: Mapping[str, int] = {"sst2": 25, "ag_news": 36}

_ROLES = {
    "semantic": ("original", "paraphrase"),
    "negational": ("original", "negation"),
    "symmetric": ("original", "swap"),
    "transitive": ("antecedent_1", "antecedent_2", "consequent"),
    "additive": ("part_1", "part_2", "merged"),
}
_STRATA = {"negational": ("negation_method",), "transitive": ("rule",)}
_DESCRIPTIONS = {
    "semantic": "originals, each with a paraphrase of one part",
    "negational": "originals, each with a negation that turns the gold label",
    "symmetric": "originals, each with its two texts swapped",
    "transitive": "two antecedents that share a text, and the consequent that they decide",
    "additive": "two texts of one label, and both joined",
}


def _bucket_set(task: str, kind: str) -> BucketSetConfig:
    name = f"{task}/{kind}"
    roles, measure, description = _ROLES[kind], f"{kind}_inconsistency", _DESCRIPTIONS[kind]
    if name == "wic/negational":  # the word keeps its sense, so the label is kept
        roles, measure = ("original", "paraphrase"), "prediction_change"
        description = "originals, each with a negation that KEEPS the gold label; not in the paper"
    elif kind == "additive":
        description += f" (rebuilt, at most {TOKEN_LIMITS[task]} tokens; a stand-in for the unpublished set)"
    return BucketSetConfig(
        name=f"{task}_{kind}",
        description=f"BECEL {task} {kind}: {description}.",
        measures=(measure,),
        strata=_STRATA.get(kind, ()),
        counts={"test": dict.fromkeys(roles, N_ROWS[name])},
        **_common(task),
    )


def _base_set(task: str, split: str) -> BucketSetConfig:
    splits = ("train", "validation") if split == "train" else (split,)
    with_validation = " and validation rows" if split == "train" else " rows"
    return BucketSetConfig(
        name=f"{task}_{split}",
        description=f"BECEL {task}: {split}{with_validation}; no bucket set.",
        counts={part: {"original": N_ROWS[f"{task}/{part}"]} for part in splits},
        **_common(task),
    )


def _common(task: str) -> dict[str, Any]:
    return {"version": _VERSION, "task": TASKS[task].task, "label_names": TASKS[task].label_names}


def _configs() -> list[BucketSetConfig]:
    bucket_sets, normalized, base_sets = [], [], []
    for name in N_ROWS:
        task, kind = name.split("/")
        if kind in _SPLITS:
            base_sets.append(_base_set(task, kind))
            continue
        bucket_sets.append(_bucket_set(task, kind))
        if kind in ("semantic", "negational"):  # elsewhere all texts of a bucket have one surface form
            normalized.append(bucket_sets[-1].normalized())
    return bucket_sets + normalized + base_sets


CONFIGS: list[BucketSetConfig] = _configs()
