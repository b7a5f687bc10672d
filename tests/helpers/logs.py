"""Logs of other tools, whole and edited."""

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

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


def places(value: Any, depth: int) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a value, of lists the first two."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in inner if depth else ():
        yield (key,)
        yield from ((key, *path) for path in places(part, depth - 1))


def double_loop(rows: Iterable[tuple[Any, bool]]) -> float:
    """P_C as the paper defines it: over buckets, the share of pairs of wordings both right or both wrong."""
    buckets: dict[Any, list[bool]] = {}
    for bucket, right in rows:
        buckets.setdefault(bucket, []).append(right)
    return sum(sum(a == b for a in one for b in one) / len(one) ** 2 for one in buckets.values()) / len(buckets)


def scored(command, *args: object) -> dict[str, Any]:
    (result,) = command.json("score", *args, "--n-resamples", 400).values()
    return result


def check(result: dict[str, Any], accuracy: float, consistency: float) -> dict[str, Any]:
    measure = result["measures"]["paraphrastic_consistency"]
    assert measure["accuracy"] == pytest.approx(accuracy, abs=1e-12)
    assert measure["paraphrastic_consistency"] == pytest.approx(consistency, abs=1e-12)
    return measure
