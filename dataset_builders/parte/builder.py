"""PaRTE (Verma et al. 2023): reads the published file; ships none of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import datasets
import fsspec

from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig
from paraconsist.dataset_builders.parte.released import DOI, PARTS, URL, check_pairs, find_file, read_pairs
from paraconsist.errors import InputError, input_error

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
        try:
            place: str = dl_manager.download(URL)
        except (OSError, datasets.exceptions.DatasetsError) as error:
            raise _no_network(error) from error
        return {"pairs": place}

    def read(self, places: Mapping[str, str]) -> dict[str, bytes]:
        place = places["pairs"]
        is_url = "://" in place
        try:
            if is_url and datasets.config.HF_HUB_OFFLINE:
                raise OSError("offline mode is on (HF_HUB_OFFLINE)")
            with fsspec.open(place, "rb") as stream:
                data: bytes = stream.read()
        except (OSError, ImportError) as error:
            if is_url:
                raise _no_network(error) from error
            remedy = f"The system says: {error}."
            raise input_error("build parte", "data_dir", "be a readable file", got=place, remedy=remedy) from error
        try:
            check_pairs(read_pairs(data, place), place)
        except InputError:
            if self.mirror is None and not is_url:  # so that the next attempt downloads anew
                for leftover in (Path(place), Path(f"{place}.json")):
                    leftover.unlink(missing_ok=True)
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


def _no_network(error: Exception) -> InputError:
    root: BaseException = error
    while (earlier := root.__cause__ or root.__context__) is not None:
        root = earlier
    return input_error(
        "build parte",
        "network",
        f"give {URL}",
        got=(str(root).strip() or type(root).__name__).splitlines()[0],
        remedy="Connect and run again (HF_HUB_OFFLINE must not be set), or download prte_test.csv by hand and give "
        "its folder as --data-dir.",
    )
