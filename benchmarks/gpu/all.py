"""All that is to be shown on a machine with a GPU, by one command; its figures are not yet run.

python benchmarks/gpu/all.py
python benchmarks/gpu/all.py --device cpu --tiny    # that it works
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = ("answers", "processes", "memory", "speed")


def main() -> None:
    scripts = {name: str(Path(__file__).parent / f"{name}.py") for name in NAMES}
    ends = {name: subprocess.run([sys.executable, script, *sys.argv[1:]]) for name, script in scripts.items()}
    failed = [name for name, end in ends.items() if end.returncode]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
