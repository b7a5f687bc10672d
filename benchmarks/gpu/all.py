"""All that is to be shown on a machine with a GPU, by one command.

python benchmarks/gpu/all.py
python benchmarks/gpu/all.py --device cpu --tiny    # that it works
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("answers", "processes", "memory", "batches", "speed")


def main() -> None:
    scripts = {name: str(Path(__file__).parent / f"{name}.py") for name in NAMES}
    with tempfile.TemporaryDirectory() as models:
        given = [*sys.argv[1:], "--models", models]
        ends = {name: subprocess.run([sys.executable, script, *given]) for name, script in scripts.items()}
    failed = [name for name, end in ends.items() if end.returncode]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
