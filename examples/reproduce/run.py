"""Run what a file of this folder repeats, with every value that its head names.

    python run.py s24_table4.yaml                 # all of its commands, one after the other
    python run.py s24_table4.yaml --print         # only show them, to be copied
    python run.py s24_table5.yaml --small         # a trial of minutes

Further options go to each command that reads the file: ``python run.py s24_table4.yaml --n-resamples 100``. ``DATA``, a
link in this folder, leads to the papers' public files.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def head(file: Path, key: str) -> list[str]:
    """Return what stands behind ``# KEY:`` in a file's head."""
    return re.findall(rf"^# {key}: (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)


def commands(file: Path) -> list[list[str]]:
    """Return every command of a file, of `paraconsist` or of `python`, with every combination of its values."""
    choices = dict(part.split("=") for line in head(file, "With") for part in line.split())
    filled = []
    for line in head(file, "Run"):
        names = [name for name in choices if f"{{{name}}}" in line]
        every = product(*(choices[name].split(",") for name in names))
        filled += [line.format(**dict(zip(names, values, strict=True))) for values in every]
    return [shlex.split(line) for line in filled]


def main() -> None:
    """Run or print the commands of the file that is named."""
    if len(sys.argv) < 2 or not (FOLDER / sys.argv[1]).is_file():
        files = ", ".join(sorted(path.name for path in FOLDER.glob("*.yaml")))
        sys.exit(f"usage: python run.py FILE.yaml [--print] [--small] [options]\nThe files are {files}.")
    file, options = FOLDER / sys.argv[1], sys.argv[2:]
    small = shlex.split(" ".join(head(file, "Small"))) if "--small" in options else []
    added = [*small, *(one for one in options if one not in ("--small", "--print"))]
    if "--print" not in options and not (FOLDER / "DATA").is_dir():
        sys.exit("There is no DATA here: ln -s /where/the/files/are DATA")
    os.chdir(FOLDER)
    for program, *arguments in commands(file):
        arguments += added if file.name in arguments else []
        print(program, shlex.join(arguments), flush=True)
        if "--print" not in options:
            package = ["-m", "paraconsist"] if program == "paraconsist" else []
            code = subprocess.run([sys.executable, *package, *arguments]).returncode
            if code:
                sys.exit(code)


if __name__ == "__main__":
    main()
