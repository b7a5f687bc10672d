"""What the papers published: the numbers that they print, as one table, and predictions of their authors.

The 816 numbers are in ``published.csv``, each with its source. The predictions have names in place of paths, such as
``published:paranlu/roberta-large``, and are listed in ``published_predictions.csv``: a file is downloaded from its
commit, checked, and converted to a run folder in the cache folder, which scoring reads like any other.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from paraconsist.data.arrays import own_stream
from paraconsist.data.predictions import Metadata, write_predictions
from paraconsist.data.tasks import get_task
from paraconsist.errors import check_names, input_error
from paraconsist.files import Json, cache_folder, make_folder, staged

#: The papers, by the names in the column `paper`.
PAPERS = {
    "J22": "Jang, Kwon, Lukasiewicz (2022), BECEL: Benchmark for Consistency Evaluation of Language Models, COLING",
    "V23": (
        "Verma, Lal, Sinha, Van Durme, Poliak (2023), Evaluating Paraphrastic Robustness in Textual Entailment Models, "
        "ACL"
    ),
    "S24": (
        "Srikanth, Carpuat, Rudinger (2024), How Often Are Errors in Natural Language Reasoning Due to Paraphrastic "
        "Variability?, TACL"
    ),
    "A24": (
        "Arakelyan, Liu, Augenstein (2024), Semantic Sensitivities and Inconsistent Predictions: Measuring the "
        "Fragility of NLI Models, EACL"
    ),
}
#: Measures that are printed as plain numbers; all others are percentages.
_NUMBERS = {
    *("batch_size_per_gpu", "learning_rate", "max_length", "original_length", "variant_length", "rho"),
    *("fuzzy_token_match", "token_overlap", "lexical_distance", "semantic_similarity", "syntactic_distance"),
}
_TYPES = {name: pa.string() for name in ("paper", "table", "dataset", "model", "size", "measure", "note")}
_TYPES |= {"value": pa.float64(), "sd": pa.float64()}


def published(
    *,
    paper: str | Sequence[str] | None = None,
    dataset: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    measure: str | Sequence[str] | None = None,
) -> pa.Table:
    """Return the numbers that the papers print for their models.

    Parameters
    ----------
    paper : str or sequence of str, optional
        ``J22`` (BECEL), ``V23`` (PaRTE), ``S24`` (ParaNLU) or ``A24`` (semantic sensitivity).
    dataset, model : str or sequence of str, optional
        Names as in the papers; sets as in this package: ``delta_snli``, ``DeBERTa-V3``.
    measure : str or sequence of str, optional
        Keys of this package's results, if it has the measure: ``paraphrastic_consistency`` is the plug-in estimator of
        S24, ``semantic_inconsistency`` the tau of J22.

    Returns
    -------
    table : pa.Table
        A row for each number that matches all filters: ``paper``, ``table`` (its number there), ``dataset``, ``model``,
        ``size``, ``measure``, ``value`` and ``sd`` as printed, ``unit`` of both (``%`` or empty), ``note``, ``source``.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> table = published(paper="S24", dataset="delta_snli", measure="paraphrastic_consistency")
    >>> table.num_rows, max(table["value"].to_pylist())
    (8, 89.3)
    """
    stream = own_stream(files(__package__).joinpath("published.csv").read_bytes())
    options = pyarrow.csv.ConvertOptions(column_types=_TYPES, strings_can_be_null=True)
    table = pyarrow.csv.read_csv(stream, convert_options=options)
    for name, wanted in {"paper": paper, "dataset": dataset, "model": model, "measure": measure}.items():
        if wanted is None:
            continue
        names = check_names("published", name, wanted)
        known = table[name].unique().to_pylist()
        for unknown in (value for value in names if value not in known):
            must = f"be one of {', '.join(known)}" if known else "be in the rows that fit the other filters"
            raise input_error("published", name, must, got=unknown)
        table = table.filter(pc.is_in(table[name], pa.array(names)))
    is_number = pc.is_in(table["measure"], pa.array(sorted(_NUMBERS)))
    table = table.append_column("unit", pc.if_else(is_number, "", "%"))
    return table.append_column("source", pa.array(map(PAPERS.__getitem__, table["paper"].to_pylist()), pa.string()))


PREFIX = "published:"
#: Names a mirror: a folder or an address that holds <owner>/<repository>/<commit>/<path>.
MIRROR = "PARACONSIST_MIRROR"
_HOST = "https://raw.githubusercontent.com"
_FORM = 1  # of the cached folders, to be raised with every change
_SECONDS, _MOST_BYTES = 60, 1 << 26


@dataclass(frozen=True)
class PublishedFile:
    """A file of one model's predictions on one set; unknown fields are empty."""

    collection: str  # paranlu or parte
    model: str
    set: str  # as in ``paranlu:delta_snli``
    task: str
    repository: str
    commit: str
    path: str
    sha256: str  # of its bytes
    bytes: str
    n_rows: str  # after conversion
    answers: str  # sha256 of the rows' ids, gold labels and predictions, if that of the file is not known
    measure: str  # if the rows' roles do not decide it
    note: str  # a fault that readers of results must know


@cache
def published_files() -> tuple[PublishedFile, ...]:
    """Return the index of all published files."""
    text = files(__package__).joinpath("published_predictions.csv").read_text(encoding="utf-8")
    return tuple(PublishedFile(**row) for row in csv.DictReader(io.StringIO(text)))


def published_names() -> list[str]:
    """Return the names, in place of paths, of the models whose predictions are published."""
    return list(dict.fromkeys(f"{PREFIX}{file.collection}/{file.model}" for file in published_files()))


def published_folder(name: str, function: str) -> Path:
    """Return the run folder of published predictions, after fetching those that the cache lacks.

    `name` is ``published:COLLECTION/MODEL`` for all sets of the model, or ``published:COLLECTION/MODEL:SET`` for one
    with its full test set. InputError if there is no such model or set, or a file cannot be fetched or is not the
    published one.
    """
    model, _, wanted = name.removeprefix(PREFIX).partition(":")
    of_model = [file for file in published_files() if f"{file.collection}/{file.model}" == model]
    if not of_model:
        names = [known.removeprefix(PREFIX) for known in published_names()]
        near = get_close_matches(model, names)
        remedy = f"Do you mean {' or '.join(near)}?" if near else f"There are {', '.join(names)}."
        raise input_error(function, "path", "name published predictions", got=name, remedy=remedy)
    test = f"{wanted.removesuffix('_automatic')}_test"
    chosen = [file for file in of_model if file.set in (wanted, test)] if wanted else of_model
    if not any(file.set == wanted for file in chosen) and wanted:
        must = f"name a set of {PREFIX}{model} ({', '.join(file.set for file in of_model)})"
        raise input_error(function, "path", must, got=wanted)
    digest = hashlib.sha256(repr((_FORM, chosen)).encode()).hexdigest()[:12]
    folder = cache_folder() / "published" / digest / of_model[0].model
    if not folder.is_dir():
        tables = {file: pa.Table.from_pylist(_rows_of(file, function)) for file in chosen}
        make_folder(folder.parent)
        with staged(folder) as new:
            (new / "predictions").mkdir()
            for file, table in tables.items():
                path = new / "predictions" / f"{file.collection}-{file.set}.parquet"
                write_predictions(path, table, _metadata(file))
    return folder


def _metadata(file: PublishedFile) -> Metadata:
    names = get_task(file.task).label_names if file.collection == "paranlu" else _PARTE_LABELS
    metadata: Metadata = {
        "set": f"{file.collection}:{file.set}",
        "set_fingerprint": file.commit[:7],
        "task": file.task,
        "split": "test",
        "label_names": list(names),
        "model": {"model": file.model},
        "published": {key: getattr(file, key) for key in ("repository", "commit", "path", "sha256")},
        "notes": [file.note] if file.note else [],
    }
    return {**metadata, "measures": [file.measure]} if file.measure else metadata


def _rows_of(file: PublishedFile, function: str) -> list[Json]:
    """Fetch and read a file, and check its bytes and its rows by the known hashes."""
    data, place = _fetched(file, function)
    sha256 = hashlib.sha256(data).hexdigest()
    if file.sha256 and sha256 != file.sha256:
        got = f"{sha256[:12]}..., {len(data):,} bytes"
        must = f"be the published file at {place}, sha256 {file.sha256[:12]}..., {int(file.bytes):,} bytes"
        raise input_error(function, "path", must, got=got, remedy="The download is damaged, or a mirror outdated.")
    try:
        rows = list(_READERS[file.collection](data, file))
        if max(row["label"] for row in rows) > 1:  # GPT-3's file of alpha-NLI counts its two hypotheses from 1
            rows = [{**row, **{name: row[name] - 1 for name in ("label", "prediction")}} for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError):
        rows = []
    lines = "".join(f"{row['example_id']} {row['label']} {row['prediction']}\n" for row in rows)
    if len(rows) != int(file.n_rows) or file.answers not in ("", hashlib.sha256(lines.encode()).hexdigest()):
        must = f"hold the {int(file.n_rows):,} published predictions of {file.model}"
        raise input_error(function, "path", must, got=f"{len(rows):,} rows at {place}", remedy="Fetch it again.")
    return rows


def _fetched(file: PublishedFile, function: str) -> tuple[bytes, str]:
    """Return a file's bytes and their address, on the network or in the mirror that the environment names."""
    host = os.environ.get(MIRROR) or _HOST
    if "://" not in host:
        root = Path(host).expanduser().resolve()
        host = next((p for p in (root / "upstream" / "github.com", root / "github.com") if p.is_dir()), root).as_uri()
    place = f"{host.rstrip('/')}/{file.repository}/{file.commit}/{file.path}"
    try:
        if host == _HOST and os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise OSError("offline mode is on (HF_HUB_OFFLINE)")
        with urlopen(place, timeout=_SECONDS) as answer:
            return answer.read(_MOST_BYTES), place
    except (OSError, HTTPException, ValueError) as problem:
        if isinstance(problem, HTTPError):
            problem.close()
        reason = problem.reason if type(problem) is URLError else problem
        remedy = f"Is there a network? {MIRROR} may name a folder or an address that mirrors {_HOST}."
        got = getattr(reason, "strerror", None) or str(reason)
        raise input_error(function, "path", f"be fetched from {place}", got=got, remedy=remedy) from None


def _of_paranlu(data: bytes, file: PublishedFile) -> Iterator[Json]:
    """Yield the rows of the authors' results: buckets of an original and its paraphrases, or a test set."""
    read = json.loads(data)
    if isinstance(read, list):
        for row in read:
            known = {"example_id": row["example_id"], "bucket_id": row["example_id"], "role": "original"}
            yield {**known, "label": row["label"], "prediction": row["prediction"], "probabilities": row["confidence"]}
        return
    for bucket, entry in read.items():
        items = entry["bucket_confidences"]
        answers = [(bucket, "original", entry["original_prediction"], entry["original_confidence"])]
        for item in items:
            name = item["paraphrased_example"]["paraphrase_id"]
            answers.append((name, "paraphrase", item["prediction"], item["confidence"]))
        original = items[0]["paraphrased_example"]["original_example"]
        context = original.get("premise_hypothesis_id")  # shared with others, as in the bucket set
        if context is None:
            texts = json.dumps([original["obs1"], original["obs2"]])
            context = f"anli.context.{hashlib.blake2b(texts.encode(), digest_size=6).hexdigest()}"
        known = {"bucket_id": bucket, "group_id": str(context), "label": entry["gold_label"]}
        for name, role, prediction, probabilities in answers:
            yield {"example_id": name, **known, "role": role, "prediction": prediction, "probabilities": probabilities}


_PARTE_LABELS = ("entailment", "not_entailment")
_PARTS = {"p": "premise", "h": "hypothesis", "ph": "both"}


def _of_parte(data: bytes, file: PublishedFile) -> Iterator[Json]:
    """Yield the rows of one model from the authors' table, in which 1 means entailed."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        name, pair, label = row["id"], row["paraphrased_pair_id"], int(row["gold_label"] != "entailed")
        challenge, *_, source_task, part = pair.split("_")  # RTE1_test.column_25_IR_ph
        known = {"bucket_id": name, "group_id": pair.removesuffix(f"_{part}"), "label": label}
        known |= {"paraphrased": _PARTS[part], "source_task": source_task, "challenge": challenge}
        known |= {"gold_label": _PARTE_LABELS[label]}
        for role, column in (("original", "orig"), ("paraphrase", "para")):
            entailed = int(float(row[f"{file.model}_{column}_pred"]))
            yield {"example_id": f"{name}.{role}", **known, "role": role, "prediction": 1 - entailed}


_READERS: dict[str, Callable[[bytes, PublishedFile], Iterator[Json]]] = {"paranlu": _of_paranlu, "parte": _of_parte}
