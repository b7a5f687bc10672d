"""The ways to spread a run, side by side: processor seconds of one command, of two processes, of parts, of batch files.

    python benchmarks/scale.py [ROWS]

A tiny encoder with random weights over synthetic rows, so that what is compared is mostly not the model. Each number is
the processor time (user and system) of the commands and their processes, starting Python and torch included; beside it
that of the same commands over a tenth of the rows, which is mostly starts.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
PARTS = 2


def cost(commands: list[list[str]]) -> float:
    """Processor seconds of commands, one after another."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in commands:
        subprocess.run([sys.executable, *command], check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def answer(output: Path, file: Path) -> None:
    """Answers to exported requests as a batch interface writes them, all alike."""
    top = {" W": -0.2, " S": -1.7}
    body = {
        "choices": [{"text": " W", "logprobs": {"tokens": [" W"], "token_logprobs": [-0.2], "top_logprobs": [top]}}]
    }
    with file.open("w") as stream:
        for path in sorted((output / "requests").glob("*.jsonl")):
            for line in path.read_text().splitlines():
                response = {"status_code": 200, "body": body}
                stream.write(json.dumps({"custom_id": json.loads(line)["custom_id"], "response": response}) + "\n")


def measure(folder: Path, n_rows: int) -> dict[str, float]:
    from helpers.models import tiny_encoder
    from helpers.processes import write_set

    model, rows = tiny_encoder(folder / "model"), write_set(folder / "rows.jsonl", n_rows)
    paraconsist, common = ["-m", "paraconsist"], ["--dataset", str(rows), "--output"]
    run = ["run", "--model", str(model), "--device", "cpu", "--n-resamples", "10", *common]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(PARTS)]
    parts = [str(folder / f"part{i}") for i in range(1, PARTS + 1)]
    costs = {
        "run, one process": cost([[*paraconsist, *run, str(folder / "one")]]),
        f"torchrun, {PARTS} processes": cost([[*launch, *paraconsist, *run, str(folder / "two")]]),
        f"run --part, {PARTS} parts": cost(
            [[*paraconsist, *run, part, "--part", f"{i}/{PARTS}"] for i, part in enumerate(parts, 1)]
        ),
        "merge": cost([[*paraconsist, "merge", *parts, "--output", str(folder / "merged"), "--n-resamples", "10"]]),
        "export-requests": cost([[*paraconsist, "export-requests", "--model", "m", *common, str(folder / "batch")]]),
    }
    answers = folder / "answers.jsonl"
    answer(folder / "batch", answers)
    line = ["import-answers", str(answers), "--output", str(folder / "batch"), "--n-resamples", "10"]
    return {**costs, "import-answers": cost([[*paraconsist, *line]])}


def main(n_rows: int) -> None:
    few, many = n_rows // 10, n_rows
    both = []
    for n in (few, many):
        with tempfile.TemporaryDirectory() as folder:
            both.append(measure(Path(folder), n))
    print(f"{'':24} {few:>9,} rows {many:>9,} rows")
    for name in both[0]:
        print(f"{name:24} {both[0][name]:12.1f} s {both[1][name]:12.1f} s")


if __name__ == "__main__":
    if sys.argv[1:] and not sys.argv[1].isdigit():
        sys.exit(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
