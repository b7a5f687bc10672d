"""examples/at_scale/encode.py: 100,000 rows over Ray Data, killed and started again, are those of a plain run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.models import tiny_encoder
from helpers.processes import launch, write_set

from paraconsist.data.predictions import read_predictions

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "at_scale" / "encode.py"
N_ROWS, ROWS_PER_BLOCK = 100_000, 5_000


@pytest.mark.slow
def test_killed_and_started_again_it_is_a_plain_run(tmp_path):
    pytest.importorskip("ray", reason="ray is not installed")
    model, rows, output = tiny_encoder(tmp_path / "model"), write_set(tmp_path / "rows.jsonl", N_ROWS), tmp_path / "big"
    line = [sys.executable, str(SCRIPT), "--model", str(model), "--dataset", str(rows), "--output", str(output)]
    line += ["--rows-per-block", str(ROWS_PER_BLOCK), "--workers", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "RAY_USAGE_STATS_ENABLED": "0"}
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(line, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 240
        while len(list(output.glob("parts/*/run.json"))) < 5:
            log.seek(0)
            assert process.poll() is None, log.read()
            assert time.monotonic() < deadline, "no block was begun"
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    n_left = int(done.stdout.split(" blocks, ")[1].split()[0])
    assert 0 < n_left < N_ROWS // ROWS_PER_BLOCK, done.stdout
    assert done.stdout.count("is done") == n_left
    launch(
        ["run", "--model", str(model), "--dataset", str(rows), "--output", str(tmp_path / "plain"), "--device", "cpu"]
    )
    ours, plain = (read_predictions(folder / "predictions" / "rows.parquet") for folder in (output, tmp_path / "plain"))
    rest = [name for name in plain.table.column_names if name != "probabilities"]
    assert ours.table.select(rest).equals(plain.table.select(rest))
    values = [np.array(one.table["probabilities"].to_pylist()) for one in (ours, plain)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-5)
    assert ours.metadata["model"] == plain.metadata["model"]
    assert ours.metadata["inputs"] == plain.metadata["inputs"]
