"""What `paraconsist score` of ten rows costs before it computes: python benchmarks/start.py [--rounds 7] [--other DIR]

Prints the processor time of the command above a floor: a process that imports numpy, pyarrow and scipy.special alone.
Both run in turn, and the least of all rounds counts. Also prints how many modules of the package were imported. With
`--other` the same is measured of another checkout's environment (the folder with `bin/paraconsist`), and the ratio of
the two is printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = "bucket_id,role,label,prediction\n" + "".join(f"{i // 2},paraphrase,1,{i % 3 > 0:d}\n" for i in range(10))
FLOOR = "import numpy, pyarrow, scipy.special"
COUNT = """
import contextlib, io, sys
from paraconsist.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(sum(name.partition(".")[0] == "paraconsist" for name in sys.modules))
"""


def processor_time(command: list[str]) -> float:
    """Return the user and system time of a process, in seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start compiles the package
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--other", type=Path, help="environment of another checkout, to be compared with")
    options = parser.parse_args()
    places = {"here": Path(sys.prefix), **({"other": options.other} if options.other else {})}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ten.csv"
        file.write_text(ROWS, encoding="utf-8")
        commands = {name: [str(place / "bin" / "paraconsist"), "score", str(file)] for name, place in places.items()}
        commands["floor"] = [sys.executable, "-c", FLOOR]
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                times[name].append(processor_time(command))
        floor = min(times["floor"])
        print(f"floor: {floor:.2f} s of a processor")
        above = {name: min(times[name]) - floor for name in places}
        for name, place in places.items():
            count = [str(place / "bin" / "python"), "-c", COUNT, "score", str(file)]
            modules = subprocess.run(count, capture_output=True, text=True, check=True).stdout.strip()
            print(f"{name}: {above[name]:.2f} s above it, {modules} modules of the package")
        if options.other:
            print(f"here / other: {above['here'] / above['other']:.2f}")


if __name__ == "__main__":
    main()
