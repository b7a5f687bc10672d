"""Logs of other tools, whole and edited."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "logs"


LM_EVAL = LOGS / "lm_eval" / "tiny-random-llama"


def samples(task: str) -> Path:
    return next(LM_EVAL.glob(f"samples_{task}_2*.jsonl"))


def inspect_log(task: str) -> Path:
    return next((LOGS / "inspect_ai").glob(f"*_{task}_*.eval"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def entries(path: Path) -> dict[str, Any]:
    """Return what is in an .eval log, found in the file by hand: the signature of an entry, its name, its content."""
    raw, found = path.read_bytes(), {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            start = raw.index(info.filename.encode(), info.header_offset) + len(info.filename)
            start += int.from_bytes(raw[info.header_offset + 28 : info.header_offset + 30], "little")
            with pa.CompressedInputStream(pa.py_buffer(raw[start : start + info.compress_size]), "zstd") as stream:
                found[info.filename] = json.loads(stream.read())
    return found
