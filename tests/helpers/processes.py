"""Runs in processes of their own."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from helpers.models import WORDS

HERE = Path(__file__).parent


N_ROWS = 103


def write_set(path: Path, n_rows: int = N_ROWS, *, seed: int = 0) -> Path:
    """Write a bucket set of uneven buckets and lengths, with inputs that occur several times."""
    rng = random.Random(seed)
    rows = []
    for i in range(n_rows):
        texts = {c: " ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for c in ("premise", "hypothesis", "update")}
        if i % 10 == 9:
            texts = {c: rows[i - 3][c] for c in texts}
        rows.append(
            {
                "example_id": f"e{i}",
                "bucket_id": f"b{i // 7}",
                "role": "original" if i % 7 == 0 else "paraphrase",
                **texts,
                "label": (i // 7) % 2,
                "theme": i % 3,
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def launch(
    args: list[str], *, processes: int = 1, threads=1, script: tuple[str, ...] = ("-m", "paraconsist"), check=True
):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable]
    if processes > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    done = subprocess.run([*command, *script, *args], capture_output=True, text=True, timeout=240, env=environment)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def shards(output: Path) -> dict[str, int]:
    return {p.name: len(p.read_text().splitlines()) for p in sorted(output.glob("store/*/rank-*.jsonl"))}
