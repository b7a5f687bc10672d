"""The stores of finished runs, rewritten as one compressed file each."""

from __future__ import annotations

from pathlib import Path

from paraconsist.data.run_folder import RunFolder
from paraconsist.data.store import JOURNAL, compact
from paraconsist.errors import input_error
from paraconsist.files import LOCK, locked
from paraconsist.running.checking import check_folder


def compact_run(folder: str | Path) -> tuple[int, int]:
    """Rewrite each store, and each journal of answers, of a finished run as one file; return their bytes before, after.

    Results, answers and what they cost stay the same, and the run can go on. A kill at any moment loses nothing.
    InputError if the folder is no run's, is in use, or has a file that is unfinished or damaged.
    """
    run = RunFolder(Path(folder))
    if not run.run_file.is_file():
        raise input_error("compact", "runs", "be the folder of a run", got=str(folder))
    with locked(run.path, "compact", "runs"):
        for file in check_folder(run.path):
            if file.problem and not Path(file.name).name.startswith(LOCK):
                remedy = f"{file.name}: {file.problem}."
                raise input_error("compact", "runs", "be finished and whole", got=str(folder), remedy=remedy)
        sizes = [_bytes_of(run.store)]
        for store in sorted({path.parent for path in run.store.rglob("*.jsonl")}):
            for pattern in ("rank-*.jsonl", JOURNAL):
                if files := sorted(store.glob(pattern)):
                    compact(files)
        return sizes[0], _bytes_of(run.store)


def _bytes_of(store: Path) -> int:
    return sum(path.stat().st_size for path in store.rglob("*.jsonl"))
