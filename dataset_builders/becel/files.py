"""The published files that are read, pinned, and how their rows are read."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

from paraconsist.dataset_builders.upstream import UpstreamFile
from paraconsist.errors import input_error

_REPOSITORY = "MJ-Jang/BECEL"
_COMMIT = "f5bdd1196e46323e6ec3f4e651bcad78b1883b04"
_SHA256 = {
    "ag_news/semantic": "c52b7b76215a410362df666a4771b1d50aa357301d0a246e36fd252674535d08",
    "ag_news/test": "edb95bd960cb46b7edecafd7da40921f9fc2ae4be547bb3d772d73040ac3b8d2",
    "ag_news/validation": "778fdec6b38353b25d9e19b970118a8ffa8f9e64c38aec3c9550f02cfe84a8d3",
    "boolq/negational": "498d48a51b6c2446f245a77bed8ade412a98060cd454947a9d6387ff05fa1956",
    "boolq/semantic": "48e647f7d994576ffb4b4c3aee81c7c11fbb7a0cb553c4adf7364cbaa4a5ba4f",
    "boolq/validation": "a1f81e3c98ada0ab3004e63b6ace3c3484184b4e92b4d30df9461f5cb782c50f",
    "mrpc/negational": "e64cb7ed2a7f79ac9ad6efe8e9cbd05993a7cbbb9019b316ee899d5d4bc34f5f",
    "mrpc/semantic": "5902f5a667dc8779ff1dd0de9c0921ebe61263ff26402d13b9f6c90098e38096",
    "mrpc/symmetric": "72df1bed4d43110cbe292adc691158d94997ff68e10ccd956ecf1dd267622ece",
    "mrpc/test": "d57e5145a5c53d7239a3579b18c065cdab13bc7d8bd4e94347a67280029ceaf5",
    "mrpc/train": "bdf3ae12baaec8aa1331a6790290978d81b911da4ca5b17ff6955ee7a7357a18",
    "mrpc/validation": "634cf6af250cc429c6328f5cd43260059b8587ae0d366dae18acc032bdabb0b5",
    "rte/negational": "3842f9ff2dc43335c6d949adf2ac4a5444eca440819c324c706b7e8f52861d4e",
    "rte/semantic": "97a5009600f472a07345f73398114df77886ca8f098863b236aed7703c7af11f",
    "rte/symmetric": "281208c84e81ff3daa8c19be4256b19b88535fdad1fa6148bab25e1f74c49447",
    "rte/train": "ce0f22b6604746fa2c8993aebe0977325f393ec2f91dbc676d3b865ba68c01ba",
    "rte/validation": "4e5bbf1caef007b5ba2854e688dc8ec428e2cf23db3b1aa68e19cc2314bc8311",
    "snli/negational": "433f96be0d3fa8857a18da56b68b680106ae5b59fa5d68297bee2ffb62d92c9c",
    "snli/semantic": "aec1174b972e381c5dbae71a60a6b1b785caf61eb50c1fac135ef15901781256",
    "snli/symmetric": "c71fa6e9822da74f0aa668610f8d475ad3a8e11898e05cd25ff4cf30ce478032",
    "snli/test": "c56822451475e7dccf12cd2e68676fa1ccb0ac8c8d9b751c01915003712bb202",
    "snli/transitive": "4121ea3a98ea0a1b78a05f0e446a5d5d172bee0675dfe3e3355647e187c0338c",
    "snli/validation": "dc3cdacf1cef526dccd5ca58fb195b66f249c9b15dff0d46ff0d4d138e1e1e4d",
    "sst2/semantic": "d2a64b35609f85841315fc1f582c5883f0ff6e58b9077956a33dccb60f80f311",
    "sst2/validation": "1cfddd74b56aecafb3868ee6d6a8190845600003ce97ea4979ef640f56b56235",
    "wic/negational": "3872792ea63e8af542cbea58397e54a3c445c26d1ce7c066a8007b7b574f459d",
    "wic/semantic": "65b5b62d15e35038f0c4403ab14269133758c1e8c051cb1337d8842cb78f21db",
    "wic/symmetric": "5b0dc15c0cc9a54f888209988b4f55a25a6016c7a9dfda4c33057aa31b3527bd",
    "wic/train": "bf1bbd5c0fb060382c89466d06d13f241310ac3a568cf9e73cb3cd94781ad2a5",
    "wic/transitive": "c862acfa5dcf2e32158cfa0c76ce91f042fd6aabe68899cd45b1077bc2eee7c7",
    "wic/validation": "1366e7fffc20e83d7c56987982ac870924f84e2c658c3d3656efbcda5f88f2c4",
}
#: ``<task>/<file>`` -> the file.
FILES: Mapping[str, UpstreamFile] = {
    name: UpstreamFile(_REPOSITORY, _COMMIT, f"data/{name}.tsv", sha256) for name, sha256 in _SHA256.items()
}


@dataclass(frozen=True)
class BecelTask:
    """One of BECEL's seven tasks.

    Parameters
    ----------
    task
        The name of its kind of problem.
    columns
        Input column -> its name in the files.
    perturbed
        The input column that paraphrases and negations replace.
    base
        The file (without the task) that the originals of paraphrases and negations come from.
    label_names
        In the order of the files' integers, where they are not the task's own.
    """

    task: str
    columns: Mapping[str, str]
    perturbed: str
    base: str
    label_names: tuple[str, ...] = ()


_SENTENCES = {"sentence_1": "sentence1", "sentence_2": "sentence2"}
TASKS: Mapping[str, BecelTask] = {
    "boolq": BecelTask("yes_no_qa", {"question": "question", "passage": "passage"}, "question", "validation"),
    "mrpc": BecelTask("paraphrase_identification", _SENTENCES, "sentence_2", "test"),
    "rte": BecelTask(
        "nli",
        {"premise": "sentence1", "hypothesis": "sentence2"},
        "hypothesis",
        "validation",
        ("entailment", "not_entailment"),
    ),
    "snli": BecelTask("nli", {"premise": "premise", "hypothesis": "hypothesis"}, "hypothesis", "test"),
    "wic": BecelTask("word_in_context", {**_SENTENCES, "word": "word"}, "sentence_2", "validation"),
    "sst2": BecelTask("sentiment", {"text": "sentence"}, "text", "validation"),
    "ag_news": BecelTask("topic", {"text": "text"}, "text", "test"),
}


def read_rows(content: bytes, n_rows: int, name: str) -> list[dict[str, str]]:
    """Return the rows of a published file: tab-separated, with fields quoted and quotes doubled as in csv.

    Raises
    ------
    InputError
        If there are not `n_rows` rows, or one has more or fewer fields than the header.
    """
    lines = csv.reader(io.StringIO(content.decode("utf-8"), newline=""), delimiter="\t", strict=True)
    header = next(lines)
    rows = []
    for number, fields in enumerate(lines):
        if len(fields) != len(header):
            raise input_error(f"build becel:{name}", "row", f"have {len(header)} fields", got=len(fields), row=number)
        rows.append(dict(zip(header, fields, strict=True)))
    if len(rows) != n_rows:
        raise input_error(f"build becel:{name}", "rows", f"be {n_rows}", got=len(rows))
    return rows
