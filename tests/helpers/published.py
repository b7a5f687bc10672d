"""Mirrors of predictions that papers published: files as their authors wrote them, made up or from the data at hand."""

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq

from paraconsist.data.published import MIRROR, PublishedFile, published_files

SOURCES = {"alpha_nli": "anli", "delta_snli": "snli", "delta_atomic": "atomic", "delta_social": "social"}


def bucket(original: Sequence[Any], paraphrases: Mapping[str, Sequence[Any]], *, label: int = 1, **example: Any) -> Any:
    """A bucket of ParaNLU's results; answers are (prediction, probabilities)."""
    return {
        "original_confidence": original[1],
        "original_prediction": original[0],
        "gold_label": label,
        "bucket_confidences": [
            {
                "confidence": confidence,
                "prediction": prediction,
                "paraphrased_example": {"paraphrase_id": name, "original_example": example},
            }
            for name, (prediction, confidence) in paraphrases.items()
        ],
    }


def put(mirror: Path, content: bytes, **about: Any) -> PublishedFile:
    """Write a file into a mirror; return its entry of the index."""
    known = {"repository": "owner/name", "commit": "c0ffee", "task": "defeasible_nli", "collection": "paranlu"}
    known |= {"path": f"{about['model']}/{about['set']}.json", "sha256": hashlib.sha256(content).hexdigest()}
    texts = dict.fromkeys(("answers", "measure", "note"), "")
    entry = PublishedFile(**{**known, **texts, "bytes": str(len(content)), **about})
    file = mirror / entry.repository / entry.commit / entry.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return entry


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the folder's files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def only_mirror(mirror: Path) -> Iterator[None]:
    """Published predictions are fetched from this mirror, and kept beside it, while this lasts."""
    before = {name: os.environ.get(name) for name in (MIRROR, "PARACONSIST_CACHE")}
    os.environ.update({MIRROR: str(mirror), "PARACONSIST_CACHE": str(mirror / "cache")})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def real_mirror(mirror: Path, data: Path, names: Iterable[str]) -> Path:
    """Write the published files of models (``paranlu/bow:delta_snli``, or all sets) from the compact data at hand.

    They are the authors' bytes: the sha256 of the index holds for them.
    """
    wanted = [name.partition(":") for name in names]
    for one in published_files():
        base = one.set.removesuffix("_test")
        if any(model == f"{one.collection}/{one.model}" and name in ("", one.set, base) for model, _, name in wanted):
            content = _parte(data) if one.collection == "parte" else _paranlu(data, one)
            if content is not None:
                file = mirror / one.repository / one.commit / one.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    return mirror


def _paranlu(data: Path, one: PublishedFile) -> bytes | None:
    if one.set.endswith("_automatic"):
        return (data / "upstream" / "github.com" / one.repository / one.commit / one.path).read_bytes()
    source, kind = SOURCES[one.set.removesuffix("_test")], "test" if one.set.endswith("_test") else "human"
    file = data / "paranlu" / "predictions" / f"{source}__{one.model}__{kind}.parquet"
    if not file.is_file():
        return None
    rows = pq.read_table(file).to_pylist()
    names = {"prediction": "pred", "label": "gold", "example_id": "example_id"}
    if kind == "test":
        if source == "anli" and one.model.startswith("gpt3"):  # which counts the two hypotheses from 1
            rows = [x | {column: x[column] + 1 for column in ("pred", "gold")} for x in rows]
        return json.dumps(
            [{"confidence": [x["p0"], x["p1"]]} | {k: x[column] for k, column in names.items()} for x in rows]
        ).encode()
    texts, made = _texts(data / "upstream" / "github.com" / one.repository / one.commit, source), {}
    for x in rows:
        confidence, prediction, name = [x["p0"], x["p1"]], x["pred"], x["bucket_id"]
        if x["is_original"]:
            made[name] = bucket((prediction, confidence), {}, label=x["gold"])
        else:
            example = texts[f"{name}.{x['paraphrase_id']}"]
            item = {"confidence": confidence, "prediction": prediction, "paraphrased_example": example}
            made[name]["bucket_confidences"].append(item)
    return json.dumps(made).encode()


@cache
def _texts(upstream: Path, source: str) -> dict[str, Any]:
    (file,) = (upstream / "annotated_data").rglob(f"{source}_paraphrases_human.json")
    return {one["paraphrase_id"]: one for rows in json.loads(file.read_text()).values() for one in rows}


@cache
def _parte(data: Path) -> bytes:
    """The columns that are read of the authors' table; its other columns are not at hand."""
    with (data / "parte" / "predictions_all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ends = {f"_{side}": f"_{short}_pred" for side, short in {"original": "orig", "paraphrase": "para"}.items()}
    lines = [",".join(_renamed(column, ends) for column in rows[0])]
    return "\n".join([*lines, *(",".join(row.values()) for row in rows), ""]).encode()


def _renamed(column: str, ends: Mapping[str, str]) -> str:
    return next((column.removesuffix(end) + new for end, new in ends.items() if column.endswith(end)), column)
