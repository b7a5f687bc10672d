"""Predictions that the papers' authors published, under a name in place of a path: ``published:paranlu/roberta-large``.

What there is stands in ``published_predictions.csv``. A file is downloaded from its commit, checked, and written into
the cache folder as the run folder that it would be, which scoring reads like any other.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pyarrow as pa

from paraconsist.data.predictions import write_predictions
from paraconsist.data.tasks import get_task
from paraconsist.errors import input_error
from paraconsist.files import cache_folder, make_folder, staged

PREFIX = "published:"
#: Names what takes the place of the network: a folder or an address that holds <owner>/<repository>/<commit>/<path>.
MIRROR = "PARACONSIST_MIRROR"
_HOST = "https://raw.githubusercontent.com"
_FORM = 1  # of what is cached: rises with every change of it
_SECONDS, _MOST_BYTES = 60, 1 << 26

_Row = dict[str, Any]


@dataclass(frozen=True)
class PublishedFile:
    """A file of one model's predictions on one set; texts are empty where nothing is known."""

    collection: str  # paranlu or parte
    model: str
    set: str  # as in ``paranlu:delta_snli``
    task: str
    repository: str
    commit: str
    path: str
    sha256: str  # of its bytes
    bytes: str
    n_rows: str  # that it becomes
    answers: str  # sha256 of these rows' ids, gold labels and predictions, where that of the file is not known
    measure: str  # where the rows' roles do not say it
    note: str  # a fault that whoever reads results must know


@cache
def published_files() -> tuple[PublishedFile, ...]:
    """Return what there is, as the index has it."""
    text = files(__package__).joinpath("published_predictions.csv").read_text(encoding="utf-8")
    return tuple(PublishedFile(**row) for row in csv.DictReader(io.StringIO(text)))


def published_names() -> list[str]:
    """Return the models whose predictions are published, each by the name that stands for a path."""
    return list(dict.fromkeys(f"{PREFIX}{one.collection}/{one.model}" for one in published_files()))


def published_folder(name: str, function: str) -> Path:
    """Return the folder of published predictions, fetched where the cache has none: a file a set, as runs have them.

    `name` is ``published:COLLECTION/MODEL``, all sets of the model, or ``published:COLLECTION/MODEL:SET``: one, with
    its full test set. InputError if there is no such model or set, a file cannot be fetched, or it is another than the
    one that was published.
    """
    model, _, wanted = name.removeprefix(PREFIX).partition(":")
    of_model = [one for one in published_files() if f"{one.collection}/{one.model}" == model]
    if not of_model:
        names = [one.removeprefix(PREFIX) for one in published_names()]
        near = get_close_matches(model, names)
        remedy = f"Do you mean {' or '.join(near)}?" if near else f"There are {', '.join(names)}."
        raise input_error(function, "path", "name published predictions", got=name, remedy=remedy)
    test = f"{wanted.removesuffix('_automatic')}_test"
    chosen = [one for one in of_model if one.set in (wanted, test)] if wanted else of_model
    if not any(one.set == wanted for one in chosen) and wanted:
        must = f"name a set of {PREFIX}{model} ({', '.join(one.set for one in of_model)})"
        raise input_error(function, "path", must, got=wanted)
    digest = hashlib.sha256(repr((_FORM, chosen)).encode()).hexdigest()[:12]
    folder = cache_folder() / "published" / digest / of_model[0].model
    if not folder.is_dir():
        made = {one: _rows_of(one, function) for one in chosen}
        make_folder(folder.parent)
        with staged(folder) as new:
            (new / "predictions").mkdir()
            for one, rows in made.items():
                file = new / "predictions" / f"{one.collection}-{one.set}.parquet"
                write_predictions(file, pa.Table.from_pylist(rows), _identity(one))
    return folder


def _identity(one: PublishedFile) -> dict[str, Any]:
    names = get_task(one.task).label_names if one.collection == "paranlu" else _PARTE_LABELS
    return {
        "set": f"{one.collection}:{one.set}",
        "set_fingerprint": one.commit[:7],
        "task": one.task,
        "split": "test",
        "label_names": list(names),
        "model": {"model": one.model},
        "published": {key: getattr(one, key) for key in ("repository", "commit", "path", "sha256")},
        "notes": [one.note] if one.note else [],
        **({"measures": [one.measure]} if one.measure else {}),
    }


def _rows_of(one: PublishedFile, function: str) -> list[_Row]:
    """Fetch and read a file; its bytes are checked by their sha256, where that is known, its rows by what is known."""
    data, place = _fetched(one, function)
    sha256 = hashlib.sha256(data).hexdigest()
    if one.sha256 and sha256 != one.sha256:
        got = f"{sha256[:12]}..., {len(data):,} bytes"
        must = f"be the published file at {place}, sha256 {one.sha256[:12]}..., {int(one.bytes):,} bytes"
        raise input_error(function, "path", must, got=got, remedy="It is changed on its way, or a mirror is old.")
    try:
        rows = list(_READERS[one.collection](data, one))
        if max(row["label"] for row in rows) > 1:  # GPT-3's file of alpha-NLI counts its two hypotheses from 1
            rows = [{**row, **{name: row[name] - 1 for name in ("label", "prediction")}} for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError):
        rows = []
    lines = "".join(f"{row['example_id']} {row['label']} {row['prediction']}\n" for row in rows)
    if len(rows) != int(one.n_rows) or one.answers not in ("", hashlib.sha256(lines.encode()).hexdigest()):
        must = f"hold the {int(one.n_rows):,} published predictions of {one.model}"
        raise input_error(function, "path", must, got=f"{len(rows):,} rows at {place}", remedy="Fetch it again.")
    return rows


def _fetched(one: PublishedFile, function: str) -> tuple[bytes, str]:
    """Return a file's bytes, and where they are from: the network, or the mirror that the environment names."""
    host = os.environ.get(MIRROR) or _HOST
    if "://" not in host:
        root = Path(host).expanduser().resolve()
        host = next((p for p in (root / "upstream" / "github.com", root / "github.com") if p.is_dir()), root).as_uri()
    place = f"{host.rstrip('/')}/{one.repository}/{one.commit}/{one.path}"
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


def _of_paranlu(data: bytes, one: PublishedFile) -> Iterator[_Row]:
    """Read results of the authors: buckets with their original and its paraphrases, or the rows of a test set."""
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
        context = _context(items[0]["paraphrased_example"]["original_example"])
        known = {"bucket_id": bucket, "group_id": context, "label": entry["gold_label"]}
        for name, role, prediction, probabilities in answers:
            yield {"example_id": name, **known, "role": role, "prediction": prediction, "probabilities": probabilities}


def _context(example: _Row) -> str:
    """Name what an original shares with others, as the bucket set does."""
    if "premise_hypothesis_id" in example:
        return str(example["premise_hypothesis_id"])
    texts = json.dumps([example["obs1"], example["obs2"]])
    return f"anli.context.{hashlib.blake2b(texts.encode(), digest_size=6).hexdigest()}"


_PARTE_LABELS = ("entailment", "not_entailment")
_PARTS = {"p": "premise", "h": "hypothesis", "ph": "both"}


def _of_parte(data: bytes, one: PublishedFile) -> Iterator[_Row]:
    """Read one model's columns of the authors' table, in which 1 is entailed."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        name, pair, label = row["id"], row["paraphrased_pair_id"], int(row["gold_label"] != "entailed")
        challenge, *_, source_task, part = pair.split("_")  # RTE1_test.column_25_IR_ph
        known = {"bucket_id": name, "group_id": pair.removesuffix(f"_{part}"), "label": label}
        known |= {"paraphrased": _PARTS[part], "source_task": source_task, "challenge": challenge}
        known |= {"gold_label": _PARTE_LABELS[label]}
        for role, column in (("original", "orig"), ("paraphrase", "para")):
            entailed = int(float(row[f"{one.model}_{column}_pred"]))
            yield {"example_id": f"{name}.{role}", **known, "role": role, "prediction": 1 - entailed}


_READERS: dict[str, Callable[[bytes, PublishedFile], Iterator[_Row]]] = {"paranlu": _of_paranlu, "parte": _of_parte}
