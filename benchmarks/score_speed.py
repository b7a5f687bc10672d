"""How long does ``paraconsist score`` take on a large file? Every format, measured side by side in this run.

    python benchmarks/score_speed.py [--rows 100000] [--repeat 3]

The whole command in a fresh process, with its default bootstrap and two strata, less what the imports alone take, in
seconds of the clock and of the processor (which a busy machine disturbs less). Beside it the plainest thing that gives
the same P_C from a JSON Lines file: ``json.loads`` of every line and a pass with a dictionary, without intervals,
strata or checks; and, where orjson is installed, its bare pass over the same file. The peak of memory is that of the
whole process. Each row is in a bucket of eight; one answer in a hundred is unparsed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

IMPORTS = (
    "import paraconsist.cli.app, paraconsist.data.logs.reading, paraconsist.scoring.score, scipy.optimize, pandas, "
    "paraconsist.reporting.tables, paraconsist.reporting.tables, rich.console"
)


def rows(n: int) -> list[dict[str, Any]]:
    """Return rows in an order that says nothing of their buckets."""
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    bucket, variant = order // 8, order % 8
    gold = bucket % 2
    right = rng.random(n) < rng.beta(2, 1, n // 8 + 1)[bucket]
    names = ("entailment", "not_entailment")
    answers = [None if lost else names[p] for p, lost in zip(np.where(right, gold, 1 - gold), rng.random(n) < 0.01)]  # noqa: B905
    return [
        {
            "example_id": f"row-{b}-{v}",
            "bucket_id": f"bucket-{b}",
            "role": "original" if v == 0 else "paraphrase",
            "theme": f"theme {b % 7}",
            "premise": f"Somebody with a red hat walks along the road to the old mill number {b} while it rains.",
            "label": names[g],
            "prediction": answer,
        }
        for b, v, g, answer in zip(bucket.tolist(), variant.tolist(), gold.tolist(), answers, strict=True)
    ]


def write(folder: Path, n: int) -> dict[str, list[str]]:
    """Write rows in every format; return what the command is given for each."""
    made = rows(n)
    table = pa.Table.from_pylist(made)
    pq.write_table(table, folder / "rows.parquet")
    pa.csv.write_csv(table, folder / "rows.csv")
    with (folder / "rows.jsonl").open("w") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in made)
    chosen, generated = "samples_chosen_2026-01-01T00-00-00.jsonl", "samples_generated_2026-01-01T00-00-00.jsonl"
    rng = np.random.default_rng(0)
    with (folder / chosen).open("w") as first, (folder / generated).open("w") as second:
        for number, (row, scores) in enumerate(zip(made, rng.normal(size=(len(made), 2)).tolist(), strict=True)):
            gold = ("entailment", "not_entailment").index(row["label"])
            prompt = f"{row['premise']}\nDoes that mean that somebody is outside?\nAnswer:"
            pairs = [[str(score), "False"] for score in scores]
            hashes = {f"{name}_hash": f"{number:064x}" for name in ("doc", "prompt", "target")}
            said = {"doc_id": number, "doc": row, "filter": "none", **hashes}
            asked = {f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" answer {i}"} for i in range(2)}
            told = {"target": str(gold), "arguments": asked, "resps": [[pair] for pair in pairs]}
            told |= {"filtered_resps": pairs, "metrics": ["acc"], "acc": float(scores[gold] > scores[1 - gold])}
            first.write(json.dumps(said | told) + "\n")
            answer = row["prediction"] or "[invalid]"
            told = {"target": row["label"], "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["."]}}}}
            told |= {"resps": [[f"It is {answer}."]], "filtered_resps": [answer], "metrics": ["exact_match"]}
            second.write(json.dumps(said | told | {"exact_match": float(answer == row["label"])}) + "\n")
    plain = ["--stratum", "theme"]
    return {
        "rows.parquet": plain,
        "rows.csv": plain,
        "rows.jsonl": plain,
        chosen: ["--bucket", "doc.bucket_id", "--role", "doc.role", "--stratum", "doc.theme"],
        generated: ["--bucket", "doc.bucket_id", "--role", "doc.role", "--stratum", "doc.theme"],
    }


def best_of(repeat: int, command: list[str]) -> tuple[float, float, float, str]:
    """Return the shortest of `repeat` times by the clock and by the processor, the peak in MB, and what was printed."""
    times, spent, peaks, printed = [], [], [], ""
    for _ in range(repeat):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        times.append(time.perf_counter() - start)
        spent.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1e3)
    return min(times), min(spent), max(peaks), printed


def bare_pass(file: Path) -> float:
    """Return the seconds of the processor in which orjson reads a file of JSON Lines; nan where it is not installed."""
    try:
        import orjson
    except ImportError:
        return math.nan
    start = time.process_time()
    with file.open("rb") as stream:
        for line in stream:
            orjson.loads(line)
    return time.process_time() - start


def dictionary_loop(file: Path) -> tuple[float, float]:
    """Return the seconds and the P_C of a plain loop over a JSON Lines file."""
    start = time.process_time()
    counts: dict[str, list[int]] = {}
    with file.open() as stream:
        for line in stream:
            row = json.loads(line)
            if row["role"] == "paraphrase":
                count = counts.setdefault(row["bucket_id"], [0, 0])
                count[0] += 1
                count[1] += row["prediction"] == row["label"]
    total = sum((c / k) ** 2 + (1 - c / k) ** 2 for k, c in counts.values())
    return time.process_time() - start, total / len(counts)


def main() -> None:
    """Measure every format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ProcessPoolExecutor(1) as pool:  # else the rows' memory would count as that of what is started from here
            files = pool.submit(write, folder, options.rows).result()
        imports, imports_spent, least, _ = best_of(options.repeat, [sys.executable, "-c", IMPORTS])
        loop, wanted = min(dictionary_loop(folder / "rows.jsonl") for _ in range(options.repeat))
        print(f"{options.rows:,} rows; seconds, best of {options.repeat}")
        heads = f"{'MB':>5}{'whole':>9}{'beyond imports':>17}{'processor':>12}{'/ json loop':>13}{'/ orjson':>10}"
        print(f"{'':<46}{heads}{'peak MB':>9}")
        print(f"{'the imports alone':<46}{'':>5}{imports:9.2f}{'':>17}{imports_spent:12.2f}{'':>23}{least:9,.0f}")
        for file, given in files.items():
            command = [sys.executable, "-m", "paraconsist", "score", str(folder / file), *given, "--json"]
            seconds, spent, peak, printed = best_of(options.repeat, command)
            value = next(iter(json.loads(printed).values()))["measures"]["paraphrastic_consistency"]
            found = value["paraphrastic_consistency"]
            if "chosen" not in file and abs(found - wanted) > 1e-9:
                raise SystemExit(f"{file} gives {found}, the loop {wanted}")
            size = (folder / file).stat().st_size / 1e6
            beyond, spent = seconds - imports, spent - imports_spent
            bare = min(bare_pass(folder / file) for _ in range(options.repeat)) if file.endswith("jsonl") else math.nan
            ratios = f"{spent / loop:13.2f}{spent / bare:10.2f}"
            print(f"{file:<46}{size:5.0f}{seconds:9.2f}{beyond:17.2f}{spent:12.2f}{ratios}{peak:9,.0f}")
        print(f"{'json.loads and a dictionary (rows.jsonl)':<46}{'':>5}{'':>9}{loop:17.2f}{loop:12.2f}{1:13.2f}")


if __name__ == "__main__":
    main()
