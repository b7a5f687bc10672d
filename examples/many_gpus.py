"""Run one model on many GPUs, or in several processes: the same script, started by a launcher.

    accelerate launch --num_processes 4 examples/many_gpus.py ORG/MODEL becel:snli_semantic runs/example
    torchrun --standalone --nproc_per_node 2 examples/many_gpus.py ORG/MODEL becel:snli_semantic runs/example cpu

Each process takes a share of the distinct inputs and writes its own part of the store. The first process prepares the
data and puts the parts together, matched by a hash of each text. A run that is cut off goes on with the same command,
in any number of processes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.models.loading import load_model
from paraconsist.running.options import RunOptions
from paraconsist.running.run import run


def main(model: str, dataset: str, output: Path, device: str | None = None) -> None:
    report = run(
        lambda name, sets: load_model(name, task=sets[0].task),
        lambda: {model: [load_bucket_set(dataset)]},  # called in the first process first
        RunOptions(output=output, device=device),
    )
    if not report.is_main_process:
        return  # only the first process has the files
    for task, said in report.statistics.items():
        print(f"{task}: {said.n_computed} of {said.n_inputs} distinct inputs computed in {said.n_ranks} processes")
    print(f"now: paraconsist score {output}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:5])
