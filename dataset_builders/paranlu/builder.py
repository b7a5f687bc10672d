"""ParaNLU (Srikanth, Carpuat, Rudinger 2024): reads the published files; ships none of their text."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig
from paraconsist.dataset_builders.paranlu.skipped_lines import SOCIAL_TEST_SKIPPED
from paraconsist.dataset_builders.upstream import UpstreamFile
from paraconsist.errors import input_error

_VERSION = "1.0.0"
_SOURCES = ("anli", "snli", "atomic", "social")  # the authors' names, which open all ids
_CONFIG_NAMES = {"anli": "alpha_nli", "snli": "delta_snli", "atomic": "delta_atomic", "social": "delta_social"}
_N_HUMAN = {"anli": 2098, "snli": 1980, "atomic": 1869, "social": 1835}
_N_AUTOMATIC = {"anli": (250, 2342), "snli": (250, 1625), "atomic": (250, 1640), "social": (249, 1688)}
_N_TEST = {"anli": 3059, "snli": 1837, "atomic": 4138, "social": 9439}

_PUBLIC = ("nehasrikn/paraphrase-nlu", "275be353ed126968d105833618b839727c34e0d9")
_INTERNAL = ("nehasrikn/paraphrase-nlu-internal", "4837f093f03ada59bb1afbb92ce978b150002b37")
_AUTOMATIC_PATH = "experiments/auto_vs_human/results/bucket_preds/automatic_paraphrases"

_HUMAN_FILES = {
    "anli": UpstreamFile(
        *_PUBLIC,
        "annotated_data/abductive/anli_paraphrases_human.json",
        "691eb7e8336e8b49e29bf787fd9dd76927796ef176550a61289c887ede72ff6b",
    ),
    "snli": UpstreamFile(
        *_PUBLIC,
        "annotated_data/defeasible/snli/snli_paraphrases_human.json",
        "64f3306391b865a6de629142de74cf12bbb1d4441dfa0b7d08fa9881ab6a70f6",
    ),
    "atomic": UpstreamFile(
        *_PUBLIC,
        "annotated_data/defeasible/atomic/atomic_paraphrases_human.json",
        "ab36cca44fb99901118c256e8f53cdea4c87180cc0da284ad615f67fd420d15c",
    ),
    "social": UpstreamFile(
        *_PUBLIC,
        "annotated_data/defeasible/social/social_paraphrases_human.json",
        "480786edb69dd4ce99bf730304caa85ea8ca51d0f3697d5b370565af1b715e3e",
    ),
}
_AUTOMATIC_FILES = {
    "anli": UpstreamFile(
        *_INTERNAL,
        f"{_AUTOMATIC_PATH}/abductive/anli_automatic_roberta-large.json",
        "a82ba2e570e7644fb2c6606be337605439ba0c95b763c1103b38f9db2211722f",
    ),
    "snli": UpstreamFile(
        *_INTERNAL,
        f"{_AUTOMATIC_PATH}/defeasible/snli_automatic_d-snli-roberta-large.json",
        "c6c34850e7e478c3279fb5aa6668b84ffea502e8039534aea4c248de4a7e9f1e",
    ),
    "atomic": UpstreamFile(
        *_INTERNAL,
        f"{_AUTOMATIC_PATH}/defeasible/atomic_automatic_d-atomic-roberta-large.json",
        "371a11e784b26d58633ce2cd7a3140d73c7246a9bf0eeef70ac0b7b2c2e4a0b3",
    ),
    "social": UpstreamFile(
        *_INTERNAL,
        f"{_AUTOMATIC_PATH}/defeasible/social_automatic_d-social-roberta-large.json",
        "591bf4b7c081b9ddb6f8cc4c7d6479b0378d7c2b17d8ef4fe3eed572e266a286",
    ),
}
_TEST_FILES = {
    "anli": {
        "examples": UpstreamFile(
            *_INTERNAL, "raw-data/anli/test.jsonl", "93bd86eb8961583b2181ac0834cd9bd26da3fd822f043a4d5bc7bda61a08834f"
        ),
        "labels": UpstreamFile(
            *_INTERNAL,
            "raw-data/anli/test-labels.lst",
            "f4ffa9df8f82f0e617d9c225dfe0f861889d1a4a9099ea3742633b1ca83899d6",
        ),
    },
    "snli": {
        "examples": UpstreamFile(
            *_INTERNAL,
            "raw-data/defeasible-nli/defeasible-snli/test.jsonl",
            "081d0b7a7a563b15a590fffdc4c0741c956e93c93def0cc77def326603f6904a",
        )
    },
    "atomic": {
        "examples": UpstreamFile(
            *_INTERNAL,
            "raw-data/defeasible-nli/defeasible-atomic/test.jsonl",
            "8315f9e4864c3e191635e96d00d07786dcd0a15aded9a8cdea742bdb53daeca8",
        )
    },
    "social": {
        "examples": UpstreamFile(
            *_INTERNAL,
            "modeling/roberta/defeasible/data/defeasible_test.csv",
            "e10f604ad7c2e1d5f11861e3f7af088e32db3521052a5ffe32a28da444c804e8",
        )
    },
}
_N_ROWS_BEFORE_SOCIAL = 5975  # of defeasible_test.csv: the SNLI and ATOMIC test sets come first
_LABELS = {"weakener": 0, "strengthener": 1}


def _configs() -> list[BucketSetConfig]:
    configs = []
    for source, name in _CONFIG_NAMES.items():
        task = "abductive_nli" if source == "anli" else "defeasible_nli"
        extra = {"anli": ("source_split",), "atomic": ("relation",)}.get(source, ())
        strata = ("source", "annotator", "context_id", *extra, "copies_original")
        n_buckets, n_automatic = _N_AUTOMATIC[source]
        common: dict[str, Any] = {"version": _VERSION, "task": task}
        measures = ("paraphrastic_consistency",)
        configs += [
            BucketSetConfig(
                name=name,
                description=f"ParaNLU {name}: originals with paraphrases written by crowd workers.",
                measures=measures,
                strata=strata,
                counts={"test": {"original": 250, "paraphrase": _N_HUMAN[source]}},
                **common,
            ),
            BucketSetConfig(
                name=f"{name}_automatic",
                description=f"ParaNLU {name}: the same originals with machine-made paraphrases.",
                measures=measures,
                strata=strata,
                counts={"test": {"original": n_buckets, "paraphrase": n_automatic}},
                **common,
            ),
            BucketSetConfig(
                name=f"{name}_test",
                description=f"The full test set behind {name}, for the corrected values; no bucket set.",
                strata=("context_id", *(e for e in extra if e == "relation")),
                counts={"test": {"original": _N_TEST[source]}},
                **common,
            ),
        ]
    return configs


class ParanluBuilder(BucketSetBuilder):
    """ParaNLU's twelve configs: four sources, each with human and automatic paraphrases and its test set."""

    NAME = "paranlu"
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = _configs()
    DEFAULT_CONFIG_NAME = "delta_snli"
    STRATA: ClassVar[Mapping[str, str]] = {
        "source": "string",
        "annotator": "int32",
        "context_id": "string",
        "source_split": "string",
        "relation": "string",
        "copies_original": "bool",
    }
    HOMEPAGE = "https://github.com/nehasrikn/paraphrase-nlu"
    CITATION = (
        "Neha Srikanth, Marine Carpuat, Rachel Rudinger. How often are errors in natural language reasoning "
        "due to paraphrastic variability? Transactions of the ACL, 2024."
    )

    @property
    def source(self) -> str:
        """The authors' name for the source set of this config: anli, snli, atomic or social."""
        names = {name: source for source, name in _CONFIG_NAMES.items()}
        source: str = names[self.config.name.removesuffix("_automatic").removesuffix("_test")]
        return source

    def upstream_files(self) -> Mapping[str, UpstreamFile]:
        if self.config.name.endswith("_test"):
            return _TEST_FILES[self.source]
        files = _AUTOMATIC_FILES if self.config.name.endswith("_automatic") else _HUMAN_FILES
        return {"buckets": files[self.source]}

    def rows(self, split: str, files: Mapping[str, bytes]) -> Iterator[Mapping[str, Any]]:
        if self.config.name.endswith("_test"):
            yield from _test_rows(self.source, files)
            return
        annotators: dict[str, int] = {}
        for bucket_id, entry in json.loads(files["buckets"]).items():
            if self.config.name.endswith("_automatic"):
                # A result file: the texts are taken, the predictions beside them are not.
                paraphrases = [item["paraphrased_example"] for item in entry["bucket_confidences"]]
            else:
                paraphrases = entry
            yield from _bucket_rows(self.source, bucket_id, paraphrases, annotators)


def _bucket_rows(
    source: str, bucket_id: str, paraphrases: Sequence[Mapping[str, Any]], annotators: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the original of a bucket, then its paraphrases; number annotators as they come."""
    original = paraphrases[0]["original_example"]
    if any(p["original_example"] != original or p["original_example_id"] != bucket_id for p in paraphrases):
        raise input_error("build paranlu", "original_example", "be the same throughout a bucket", row=bucket_id)
    texts = _texts(source, original)
    context = _context(source, texts) if source == "anli" else original["premise_hypothesis_id"]
    shared: dict[str, Any] = {
        "bucket_id": bucket_id,
        "group_id": context,
        "context_id": context,
        "label": original["modeling_label"] if source == "anli" else original["label"],
    }
    if source == "anli":
        shared["source_split"] = "train_easy" if bucket_id.startswith("anli.train.easy.") else "test"
    elif source == "atomic":
        shared["relation"] = original["source_example_metadata"]["AtomicRelationType"]
    yield (
        shared
        | texts
        | {"example_id": bucket_id, "role": "original", "source": "original", "annotator": -1, "copies_original": False}
    )
    for paraphrase in paraphrases:
        rewritten = texts | _paraphrased_texts(source, paraphrase)
        if paraphrase["automatic_system_metadata"] is None:
            origin, annotator = "human", annotators.setdefault(paraphrase["worker_id"], len(annotators))
        else:
            origin, annotator = paraphrase["worker_id"], -1  # the system's name: gpt3 or qcpg
        yield (
            shared
            | rewritten
            | {
                "example_id": paraphrase["paraphrase_id"],
                "role": "paraphrase",
                "source": origin,
                "annotator": annotator,
                "copies_original": all(
                    rewritten[column].strip().lower() == text.strip().lower() for column, text in texts.items()
                ),
            }
        )


def _texts(source: str, example: Mapping[str, Any]) -> dict[str, str]:
    if source == "anli":
        return {
            "observation_1": example["obs1"],
            "observation_2": example["obs2"],
            "hypothesis_1": example["hyp1"],
            "hypothesis_2": example["hyp2"],
        }
    return {column: example[column] for column in ("premise", "hypothesis", "update")}


def _paraphrased_texts(source: str, paraphrase: Mapping[str, Any]) -> dict[str, str]:
    if source == "anli":
        return {f"hypothesis_{i}": paraphrase[f"hyp{i}_paraphrase"] for i in (1, 2)}
    return {"update": paraphrase["update_paraphrase"]}


def _context(source: str, texts: Mapping[str, str]) -> str:
    """Name what an example shares with others: its two observations, or its premise and hypothesis."""
    columns = ("observation_1", "observation_2") if source == "anli" else ("premise", "hypothesis")
    joined = json.dumps([texts[column] for column in columns])
    return f"{source}.context.{hashlib.blake2b(joined.encode(), digest_size=6).hexdigest()}"


def _test_rows(source: str, files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """Yield the full test set; ids carry the line number in the published file, as the authors' do."""
    examples = files["examples"].decode("utf-8")
    if source == "anli":
        numbered = _anli_test(examples, files["labels"].decode("ascii"))
    elif source == "social":
        numbered = _social_test(examples)
    else:
        numbered = _delta_test(examples)
    for number, label, texts, strata in numbered:
        example_id = f"{source}.test.{number}"
        context = _context(source, texts)
        yield {
            "example_id": example_id,
            "bucket_id": example_id,
            "group_id": context,
            "role": "original",
            "label": label,
            "context_id": context,
            **texts,
            **strata,
        }


_Numbered = Iterator[tuple[int, int, dict[str, str], dict[str, str]]]


def _anli_test(examples: str, labels: str) -> _Numbered:
    for number, (line, label) in enumerate(zip(io.StringIO(examples), labels.split(), strict=True)):
        yield number, int(label) - 1, _texts("anli", json.loads(line)), {}


def _delta_test(examples: str) -> _Numbered:
    for number, line in enumerate(io.StringIO(examples)):
        example = json.loads(line)
        if example["Update"] == "":  # the annotator found no such update; the line keeps its number
            continue
        texts = {column: example[column.capitalize()] for column in ("premise", "hypothesis", "update")}
        strata = {"relation": example["AtomicRelationType"]} if "AtomicRelationType" in example else {}
        yield number, _LABELS[example["UpdateType"]], texts, strata


def _social_test(table: str) -> _Numbered:
    rows = list(csv.DictReader(io.StringIO(table, newline="")))[_N_ROWS_BEFORE_SOCIAL:]
    n_lines = len(rows) + len(SOCIAL_TEST_SKIPPED)
    numbers = (number for number in range(n_lines) if number not in SOCIAL_TEST_SKIPPED)
    for number, row in zip(numbers, rows, strict=True):
        # sentence1 is premise + space + hypothesis, and SOCIAL has no premise
        if not row["sentence1"].startswith(" "):
            raise input_error("build paranlu", "sentence1", "begin with a space", row=f"social.test.{number}")
        texts = {"premise": "", "hypothesis": row["sentence1"][1:], "update": row["sentence2"]}
        yield number, int(row["label"]), texts, {}
