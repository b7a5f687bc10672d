"""Finding and reading the released file, in any of the forms it may be had in, and checking its content."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from paraconsist.data.foreign import archive_entries
from paraconsist.errors import InputError, input_error

DOI = "doi:10.7910/DVN/HLMI23"
#: All files of the published data set in one archive, as they were deposited.
URL = f"https://dataverse.harvard.edu/api/access/dataset/:persistentId/?persistentId={DOI}&format=original"

COLUMNS = (
    "id",
    "original_pair_premise",
    "original_pair_hypothesis",
    "gold_label",
    "original_pair_id",
    "paraphrased_pair_premise",
    "paraphrased_pair_hypothesis",
    "paraphrased_pair_id",
)
#: What the end of a paraphrased pair's id says was paraphrased.
PARTS: Mapping[str, str] = {"_p": "premise", "_h": "hypothesis", "_ph": "both"}
_ENDINGS = ("csv", "json", "jsonl", "tsv", "tab")
_STEM = "prte_test"
_N_PAIRS = {"premise": 402, "hypothesis": 602, "both": 122}
_N_ENTAILED = 542
_N_ORIGINALS = 884
_LABELS = {"entailed": 0, "entailment": 0, "not_entailed": 1, "not_entailment": 1}

Pair = dict[str, str]


def find_file(data_dir: str | Path) -> Path:
    """Return the released file: `data_dir` itself, or ``prte_test.<ending>`` in it or one folder below.

    Raises
    ------
    InputError
        If it is not there.
    """
    place = Path(data_dir).expanduser().resolve()
    if place.is_file():
        return place
    names = [f"{_STEM}.{ending}" for ending in _ENDINGS]
    for pattern in [*names, *(f"*/{name}" for name in names)]:
        files = sorted(place.glob(pattern)) if place.is_dir() else []
        if files:
            return files[0]
    raise input_error(
        "build parte",
        "data_dir",
        f"be {_STEM}.csv or {_STEM}.json, or a folder that holds it (or parte/{_STEM}.csv)",
        got=str(data_dir),
        remedy=f"Download it from https://doi.org/{DOI.removeprefix('doi:')}, or leave `data_dir` out.",
    )


def read_pairs(data: bytes, name: str) -> list[Pair]:
    """Return the pairs of a released file: csv, tab-separated, json, json lines, or an archive with one.

    Parameters
    ----------
    data
        The file's bytes.
    name
        Where they come from, for error sentences.

    Raises
    ------
    InputError
        If they cannot be read as one of these, or a column is missing.
    """
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            data = _from_archive(data)
        text = data.decode("utf-8-sig")
        records = list(_from_json(text) if text.lstrip()[:1] in ("{", "[") else _from_table(text))
    except InputError:
        raise
    except (ValueError, csv.Error, zipfile.BadZipFile) as error:
        raise _unreadable(name, str(error)) from error
    for number, record in enumerate(records):
        missing = [column for column in COLUMNS if not isinstance(record.get(column), str)]
        if missing:
            raise _unreadable(name, f"record {number} has no text in {', '.join(missing)}")
    return [{column: record[column] for column in COLUMNS} for record in records]


def _from_archive(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {PurePosixPath(member).name: member for member in archive_entries(archive)}
        for ending in _ENDINGS:
            if f"{_STEM}.{ending}" in members:
                return archive.read(members[f"{_STEM}.{ending}"])
    raise ValueError(f"the archive holds no {_STEM} file, but {sorted(members)}")


def _from_table(text: str) -> Iterable[dict[str, Any]]:
    header = text.split("\n", 1)[0]
    delimiter = "\t" if "\t" in header else ","
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


def _from_json(text: str) -> Iterable[dict[str, Any]]:
    """Records as a list, one a line, under one key, or by column (as pandas writes them); nested or flat."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict) and set(COLUMNS) <= content.keys():  # by column
        columns = {c: content[c].values() if isinstance(content[c], dict) else content[c] for c in COLUMNS}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    if isinstance(content, dict) and len(content) == 1:
        content = next(iter(content.values()))
    if isinstance(content, dict):  # by id
        content = [{"id": key, **record} for key, record in content.items()]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise ValueError("the json is no list of records")
    return [dict(_flat(record)) for record in content]


def _flat(record: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}_")
        else:
            yield f"{prefix}{key}", value


def check_pairs(pairs: list[Pair], name: str) -> list[int]:
    """Check the content of the set as a whole and pair by pair; return the labels, 0 = entailment.

    The set was published without a checksum and in two forms, so it is known by what it holds.

    Raises
    ------
    InputError
        If numbers differ from the paper's, or a pair contradicts its id.
    """
    parts: Counter[str] = Counter()
    labels: list[int] = []
    originals: dict[str, tuple[str, str, int]] = {}
    for pair in pairs:
        label = _LABELS.get(pair["gold_label"].strip().lower().replace(" ", "_").replace("-", "_"))
        if label is None:
            raise _wrong(name, "gold_label", "be entailed or not_entailed", pair["gold_label"], pair["id"])
        labels.append(label)
        suffix = pair["paraphrased_pair_id"].removeprefix(pair["original_pair_id"])
        if suffix not in PARTS:
            must = f"be {pair['original_pair_id']} with one of {', '.join(PARTS)} after it"
            raise _wrong(name, "paraphrased_pair_id", must, pair["paraphrased_pair_id"], pair["id"])
        parts[PARTS[suffix]] += 1
        for part in ("premise", "hypothesis"):
            differs = pair[f"paraphrased_pair_{part}"] != pair[f"original_pair_{part}"]
            if differs != (PARTS[suffix] in (part, "both")):
                must = f"{'differ from' if not differs else 'be'} the original's, as the id says"
                raise _wrong(name, f"paraphrased_pair_{part}", must, pair[f"paraphrased_pair_{part}"], pair["id"])
        original = (pair["original_pair_premise"], pair["original_pair_hypothesis"], label)
        if originals.setdefault(pair["original_pair_id"], original) != original:
            raise _wrong(name, "original_pair_id", "name one pair", pair["original_pair_id"], pair["id"])
    counts = {**parts, "entailed": labels.count(0), "originals": len(originals)}
    wanted = {**_N_PAIRS, "entailed": _N_ENTAILED, "originals": _N_ORIGINALS}
    if counts != wanted:
        raise _wrong(name, "pairs", f"be as many as published: {wanted}", counts, None)
    return labels


def _unreadable(name: str, reason: str) -> InputError:
    columns = ", ".join(COLUMNS)
    return InputError(
        f"build parte: `{name}` must be the released csv or json with columns {columns}; got: {reason}. "
        f"Download it again from https://doi.org/{DOI.removeprefix('doi:')}."
    )


def _wrong(name: str, parameter: str, must: str, got: Any, row: str | None) -> InputError:
    remedy = f"Download {name} again from https://doi.org/{DOI.removeprefix('doi:')}."
    return input_error("build parte", parameter, must, got=got, row=row, remedy=remedy)
