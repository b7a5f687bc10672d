"""Reword twenty tasks of lm-evaluation-harness, run them by one command, kill it, resume it, and score all logs.

    python benchmarks/rewordings_run.py --rows 100

The tasks are of lm-eval's own tree, on stand-in rows of each task's schema (``tests/helpers/benchmark_rows.py``). The
command is ``lm_eval --model dummy --use_cache ...``, killed with SIGKILL once `--kill-after` answers are stored, and
given again. The dummy model draws log-likelihoods at random, so that one that was asked for again would be another:
none that was stored at the kill may have changed. Every task must have a P_C, but where no answer can be read: the
dummy model writes "lol".
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT / "src")}
#: Of the tests' tasks those with verdicts of right and wrong and a metric that is no download.
TASKS = (
    *("arc_easy", "arc_challenge", "hellaswag", "piqa", "openbookqa", "commonsense_qa", "boolq", "copa", "rte"),
    *("winogrande", "truthfulqa_mc1", "sciq", "mmlu_astronomy", "lambada_openai", "gsm8k", "nq_open", "triviaqa"),
    *("drop", "mmlu_pro_biology", "bbh_zeroshot_snarks"),
)


def write_tasks(folder: Path, n: int) -> tuple[int, int]:
    """Write the reworded tasks, each in a folder of its own; return the number of questions and of wordings."""
    import pytest
    from datasets import disable_progress_bars
    from helpers.benchmark_rows import stand_in

    from paraconsist.transforms.rewording import RewordOptions, reword_lm_eval

    disable_progress_bars()
    logging.disable(logging.WARNING)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, n)
        counts = [reword_lm_eval(task, folder / task, RewordOptions())[task] for task in TASKS]
    return sum(each["original"] for each in counts), sum(each.total() - each["original"] for each in counts)


def harness(n: int, arguments: list[str]) -> None:
    """Be ``lm_eval``, with stand-in rows."""
    import pytest
    from helpers.benchmark_rows import stand_in
    from helpers.harness import lm_eval

    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, n)
        lm_eval(*arguments)


def stored(file: Path, mode: str = "rw") -> dict[str, bytes]:
    """Return the answers that the harness has stored, by the hash of the request; none while it writes."""
    if file.exists():
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{file}?mode={mode}", uri=True)) as store,
        ):
            return dict(store.execute("select key, value from unnamed"))
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100, help="questions of each task")
    parser.add_argument("--kill-after", type=int, default=10_000, help="stored answers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place, start = Path(scratch), time.perf_counter()
        n_questions, n_wordings = write_tasks(place / "tasks", options.rows)
        seconds = {f"reword {len(TASKS)} tasks": time.perf_counter() - start}
        print(f"{n_questions:,} questions with {n_wordings:,} wordings")
        names = ",".join(f"{task}_reworded" for task in TASKS)
        command = [
            *(sys.executable, __file__, "--harness", str(options.rows), "--model", "dummy", "--tasks", names),
            *("--include_path", str(place / "tasks"), "--log_samples", "--output_path", str(place / "logs")),
            *("--use_cache", str(place / "cache")),
        ]
        file, quiet = place / "cache_rank0.db", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start = time.perf_counter()
        process = subprocess.Popen(command, env=ENVIRONMENT, **quiet)
        while process.poll() is None and len(stored(file, "ro")) < options.kill_after:
            time.sleep(0.5)
        process.kill()
        assert process.wait() != 0, "it ended before the kill: give a smaller --kill-after"
        before = stored(file)
        seconds[f"lm_eval, killed at {len(before):,} answers"] = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run(command, env=ENVIRONMENT, check=True, **quiet)
        seconds["the same command again"] = time.perf_counter() - start
        after = stored(file)
        assert len(after) > len(before)
        assert all(after[key] == value for key, value in before.items()), "an answer was asked for again"
        start = time.perf_counter()
        scoring = [sys.executable, "-m", "paraconsist", "score", str(place / "logs"), "--json"]
        scored = subprocess.run(scoring, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout
        seconds["paraconsist score logs"] = time.perf_counter() - start
        results = [*json.loads(scored).values()]
        n_unread = sum(result["unparsed_rate"] == 1 for result in results)
        known = [result["measures"]["paraphrastic_consistency"]["paraphrastic_consistency"] for result in results]
        n_scored = sum(value is not None for value in known)
        for what, wall in {**seconds, "all": sum(seconds.values())}.items():
            print(f"{wall:7.1f} s  {what}")
        print(f"{len(after):,} answers; {n_scored} tasks with P_C, {n_unread} without a readable answer")
        assert n_scored + n_unread == len(TASKS)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--harness"]:
        harness(int(sys.argv[2]), sys.argv[3:])
    else:
        main()
