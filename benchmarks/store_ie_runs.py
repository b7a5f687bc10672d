"""Keep what docs/tables.py decides anew of finished IE experiments: counts and cost, no text.

    python benchmarks/store_ie_runs.py snli=runs/ie-snli snli_minilm=runs/ie-minilm --output tests/ie_runs

Each gives ``OUTPUT/NAME.csv``, one row a run (rho, run, n, n11, n10, n01, n00: test rows by whether the answers to the
original and to the transformed row are right), and a row of ``OUTPUT/experiments.csv``: what was trained, in how many
processes at a time, and how many seconds the command took in all.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.studies.ie.runs import read_families

COUNTS = ("rho", "run", "n", "n11", "n10", "n01", "n00")
COST = ("name", "n_train", "n_validation", "n_test", "n_trainings", "jobs", "seconds")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    costs = options.output / "experiments.csv"
    known = {row["name"]: row for row in read_rows(costs)} if costs.is_file() else {}
    for item in options.runs:
        name, equals, folder = item.partition("=")
        if not equals:
            parser.error(f"{item!r} must be NAME=FOLDER")
        rows = counts(Path(folder))
        write_rows(options.output / f"{name}.csv", COUNTS, rows)
        said = json.loads((Path(folder) / "experiment.json").read_text(encoding="utf-8"))
        known[name] = {**{key: said[key] for key in COST[1:]}, "name": name}
        print(f"{options.output / name}.csv: {len(rows)} runs")
    write_rows(costs, COST, [known[name] for name in sorted(known)])


def counts(folder: Path) -> list[dict[str, Any]]:
    """Return a row for each run of a finished experiment."""
    (family,) = read_families(folder)
    rows = []
    for i in range(family.n_runs):
        n, n10, n01 = (int(values[i]) for values in (family.n, family.n10, family.n01))
        n11 = int(family.n_correct[i]) - n10
        left = {"n11": n11, "n10": n10, "n01": n01, "n00": n - n11 - n10 - n01}
        rows.append({"rho": float(family.rho[i]), "run": family.runs[i].run, "n": n, **left})
    return rows


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
