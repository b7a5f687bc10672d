"""PaRTE (Verma et al. 2023): reads the published file; ships none of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig
from paraconsist.dataset_builders.parte.released import DOI, PARTS, URL, check_pairs, find_file, read_pairs
from paraconsist.dataset_builders.upstream import download, forget_download, read_bytes
from paraconsist.errors import InputError

_BY_HAND = "download prte_test.csv by hand and give its folder as `data_dir`."
_LABEL_NAMES = ("entailment", "not_entailment")
_PAIRS = BucketSetConfig(
    name="rte",
    version="1.0.0",
    description="PaRTE: pairs of the RTE 1 to 3 test sets, each with a paraphrase of premise, hypothesis or both.",
    task="nli",
    measures=("prediction_change",),
    strata=("paraphrased", "source_task", "challenge", "gold_label"),
    counts={"test": {"original": 1126, "paraphrase": 1126}},
    label_names=_LABEL_NAMES,
)


class ParteBuilder(BucketSetBuilder):
    """PaRTE's 1,126 pairs, as published and in one surface form.

    Parameters
    ----------
    data_dir
        The released file (csv or json), or a folder that holds it. Without it the published DOI is asked.
    """

    NAME = "parte"
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = [_PAIRS, _PAIRS.normalized()]
    DEFAULT_CONFIG_NAME = "rte"
    STRATA: ClassVar[Mapping[str, str]] = {
        "paraphrased": "string",
        "source_task": "string",
        "challenge": "string",
        "gold_label": "string",
    }
    HOMEPAGE = f"https://doi.org/{DOI.removeprefix('doi:')}"
    CITATION = (
        "Dhruv Verma, Yash Kumar Lal, Shreyashee Sinha, Benjamin Van Durme, Adam Poliak. Evaluating paraphrastic "
        "robustness in textual entailment models. ACL, 2023."
    )

    def find_mirror(self, data_dir: str | Path) -> Path:
        return find_file(data_dir)

    def locate(self, dl_manager: Any) -> dict[str, str]:
        if self.mirror is not None:
            return {"pairs": str(self.mirror)}
        return download({"pairs": URL}, dl_manager, self.NAME, _BY_HAND)

    def read(self, places: Mapping[str, str]) -> dict[str, bytes]:
        place = places["pairs"]
        data = read_bytes(place, self.NAME, URL, _BY_HAND)
        try:
            check_pairs(read_pairs(data, place), place)
        except InputError:
            if self.mirror is None:
                forget_download(place)
            raise
        return {"pairs": data}

    def rows(self, split: str, files: Mapping[str, bytes]) -> Iterator[Mapping[str, Any]]:
        pairs = read_pairs(files["pairs"], "pairs")
        for pair, label in zip(pairs, check_pairs(pairs, "pairs"), strict=True):
            challenge, *_, source_task = pair["original_pair_id"].split("_")  # RTE1_test.column_25_IR
            suffix = pair["paraphrased_pair_id"].removeprefix(pair["original_pair_id"])
            shared = {
                "bucket_id": pair["id"],
                "group_id": pair["original_pair_id"],
                "label": label,
                "paraphrased": PARTS[suffix],
                "source_task": source_task,
                "challenge": challenge,
                "gold_label": _LABEL_NAMES[label],
            }
            for role, side in (("original", "original"), ("paraphrase", "paraphrased")):
                texts = {part: pair[f"{side}_pair_{part}"] for part in ("premise", "hypothesis")}
                yield shared | texts | {"example_id": f"{pair['id']}.{role}", "role": role}
