"""The scripts for a machine with a GPU start and end on the processor, with tiny models."""

import pytest
from helpers.scripts import ROOT, load_script


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("memory", "all 20 answered; largest change"),
        pytest.param("answers", "--deterministic float32   same bits in other batches: True", marks=pytest.mark.slow),
        pytest.param("speed", "1.5b    bfloat16, 4 shots:", marks=pytest.mark.slow),
    ],
)
def test_a_script_for_gpus_starts(name, line, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "gpu"))
    load_script(f"benchmarks/gpu/{name}.py").main(["--device", "cpu", "--tiny", "--rows", "20"])
    assert line in capsys.readouterr().out


def test_one_command_runs_all():
    names = {path.stem for path in (ROOT / "benchmarks" / "gpu").glob("*.py")}
    assert set(load_script("benchmarks/gpu/all.py").NAMES) == names - {"all", "models"}
