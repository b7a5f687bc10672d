"""The one pool of processes: any pieces, each done once, in processes with a device and threads of their own."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.errors import refuses

from paraconsist.errors import InputError
from paraconsist.running.processes import do_all


@dataclass(frozen=True)
class Notes:
    """Writes a note for each piece: which process did it, on which device, with how many threads."""

    folder: Path

    def is_done(self, piece: tuple[str, int]) -> bool:
        return self._file(piece).is_file()

    def do(self, piece: tuple[str, int]) -> None:
        if piece[0] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if piece[0] == "refuse":
            raise InputError("it cannot be done.", function="notes")
        self._file(piece).write_text(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')} {_threads()}")

    def note(self, piece: tuple[str, int]) -> list[str]:
        return self._file(piece).read_text().split()

    def _file(self, piece: tuple[str, int]) -> Path:
        return self.folder / "-".join(map(str, piece))


def _threads() -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


pytestmark = pytest.mark.slow
PIECES = [("note", number) for number in range(6)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_piece_is_done_once_and_told_of(tmp_path, jobs):
    work, reported, visible = Notes(tmp_path), [], os.environ.get("CUDA_VISIBLE_DEVICES")
    work.do(PIECES[3])
    before = work.note(PIECES[3])
    do_all(work, PIECES, function="notes", jobs=jobs, threads=3, devices=["4", "7"], progress=reported.append)
    assert sorted(reported) == [piece for piece in PIECES if piece != PIECES[3]]
    assert work.note(PIECES[3]) == before
    notes = [work.note(piece) for piece in reported]
    processes = {process: device for process, device, _ in notes}
    assert len(processes) <= jobs
    assert (str(os.getpid()) in processes) == (jobs == 1)
    if jobs == 1:
        assert set(processes.values()) == {"4"}
    else:
        assert {threads for _, _, threads in notes} == {"3"}
        assert len(set(processes.values())) == len(processes)
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == visible


@pytest.mark.parametrize(
    ("last", "message"),
    [("kill", "notes: the system ended a process.*fewer `jobs`"), ("refuse", "cannot be done")],
)
def test_what_is_finished_is_kept_when_a_process_ends(tmp_path, last, message):
    work = Notes(tmp_path)
    refuses(message, do_all, work, [*PIECES[:2], (last, 0), (last, 1)], function="notes", jobs=2)
    do_all(work, PIECES, function="notes", jobs=2)
    assert all(map(work.is_done, PIECES))
