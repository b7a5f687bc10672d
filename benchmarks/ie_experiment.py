"""What an IE experiment costs beside its bare scikit-learn fits: python benchmarks/ie_experiment.py [--rows 3000]

Three ratios, measured side by side in one run, on rows made here (sentences of random words, a noun dictionary):
CPU seconds of the whole experiment (21 rhos x 5 runs of gradient boosting, two processes) to those of the same fits
alone, two at a time as well (cores that share a memory are slower when both are busy); its wall time to its CPU
seconds; and the largest memory of 5 rhos x 5 runs to that of a single run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

#: A child that says what it and its own children cost.
_MEASURED = """
import json, resource, sys, time
from paraconsist.cli.app import main
started = time.perf_counter()
try:
    main(sys.argv[2:])
except SystemExit as ended:
    code = ended.code
own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
said = {"code": code, "cpu": cpu, "wall": time.perf_counter() - started, "mib": own.ru_maxrss / 1024}
open(sys.argv[1], "w").write(json.dumps(said))
"""


def write_rows(folder: Path, n_train: int, n_test: int, words: int) -> None:
    """Sentences with about as many words, and as many different ones, as SNLI's."""
    rng = random.Random(0)
    vocabulary = [f"word{i}" for i in range(words)]
    often = [1 / (i + 3) for i in range(words)]
    for split, n in (("train", n_train), ("validation", n_test), ("test", n_test)):
        with (folder / f"{split}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["premise", "hypothesis", "label"])
            for _ in range(n):
                premise = " ".join(rng.choices(vocabulary, often, k=rng.randint(9, 19)))
                hypothesis = rng.choices(vocabulary, often, k=rng.randint(5, 10))
                label = (hash_of(hypothesis) if rng.random() < 0.7 else rng.randrange(3)) % 3
                writer.writerow([premise, " ".join(hypothesis), label])
    with (folder / "dictionary.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("key", "value"), *((f"word{i}", f"other{i}") for i in range(0, words, 5))])


def hash_of(words: list[str]) -> int:
    """Something that trees can learn: it hangs on three words."""
    return sum(k for k, word in enumerate(("word1", "word2", "word4"), start=1) if word in words)


def experiment(folder: Path, output: str, *more: str) -> dict[str, float]:
    """Run the command in a fresh process; return CPU and wall seconds and its largest memory in MiB."""
    given = [f"--{split}={folder / f'{split}.csv'}" for split in ("train", "validation", "test")]
    given += ["--transformation=dictionary", f"--transformation-option=dictionary={folder / 'dictionary.csv'}"]
    given += ["--label-names=a,b,c", "--no-plots", f"--output={folder / output}", *more]
    said = folder / f"{output}.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", _MEASURED, str(said), "ie-test", *given]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found: dict[str, float] = json.loads(said.read_text())
    if found["code"] != 0:
        raise SystemExit(f"the experiment ended with code {found['code']}")
    return found


def bare_fits(folder: Path, rhos: list[float], runs: int) -> float:
    """CPU seconds of the fits alone, on the very matrices and seeds of the experiment, in two processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return sum(pool.map(half_of_the_fits, [folder] * 2, [rhos] * 2, [runs] * 2, [0, 1]))


def half_of_the_fits(folder: Path, rhos: list[float], runs: int, half: int) -> float:
    """CPU seconds of every other fit."""
    from sklearn.ensemble import GradientBoostingClassifier

    from paraconsist.studies.ie.experiment import prepare
    from paraconsist.studies.ie.options import ExperimentOptions

    options = ExperimentOptions(
        output=folder / "bare",
        train=folder / "train.csv",
        validation=folder / "validation.csv",
        test=folder / "test.csv",
        transformation="dictionary",
        transformation_options={"dictionary": str(folder / "dictionary.csv")},
        label_names=("a", "b", "c"),
        rhos=tuple(rhos),
        runs=runs,
    )
    prepared = prepare(options)
    seconds = 0.0
    for unit in options.units[half::2]:
        sample = prepared.sample(unit.rho, unit.run)
        matrix, *_ = prepared.learner.matrices(sample)
        started = time.process_time()
        GradientBoostingClassifier(random_state=0).fit(matrix, sample.train_labels)
        seconds += time.process_time() - started
    return seconds


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000, help="training rows; as many for testing")
    parser.add_argument("--words", type=int, default=8000)
    parser.add_argument("--rhos", type=int, default=21)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rhos = f"0:1:{options.rhos}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, options.rows, options.rows, options.words)
        one = experiment(folder, "one", "--rhos=0.5", "--runs=1")
        many = experiment(folder, "many", "--rhos=0:1:5", "--runs=5")
        whole = experiment(folder, "whole", f"--rhos={rhos}", f"--runs={options.runs}", "--jobs=2")
        n = options.rhos - 1
        bare = bare_fits(folder, [round(i / n, 10) for i in range(n + 1)], options.runs)
    n_trainings = options.rhos * options.runs
    print(f"{n_trainings} trainings on {options.rows:,} rows, two processes, {os.cpu_count()} cores")
    print(f"  CPU seconds, experiment / bare fits   {whole['cpu']:8.1f} / {bare:.1f} = {whole['cpu'] / bare:.2f}")
    print(f"  wall / CPU seconds of the experiment  {whole['wall']:8.1f} / {whole['cpu']:.1f} = "
          f"{whole['wall'] / whole['cpu']:.2f}")  # fmt: skip
    print(f"  memory, 5 rhos x 5 runs / one run     {many['mib']:8.0f} / {one['mib']:.0f} MiB = "
          f"{many['mib'] / one['mib']:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
