"""A progress bar with rate and time left, for the process that talks."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from paraconsist import errors


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.{0 if speed >= 10 else 1}f} {self._unit}/s")


class ProgressBar:
    """Show how many inputs are done; silent under ``--quiet``, where not `visible`, and where there is no terminal."""

    def __init__(self, total: int, label: str, *, visible: bool, unit: str = "inputs") -> None:
        name = TextColumn("{task.description}", markup=False)
        note = TextColumn("{task.fields[note]}", markup=False)
        columns = (name, BarColumn(), MofNCompleteColumn(), _Rate(unit), TimeRemainingColumn(), note)
        hidden = not (visible and total and sys.stderr.isatty()) or "PARACONSIST_QUIET" in os.environ
        self._progress = Progress(*columns, console=Console(stderr=True), disable=hidden)
        self._total = total
        self._task = self._progress.add_task(errors.visible(label), total=total, note="")

    def advance(self, n: int, note: str = "") -> None:
        """Count `n` more inputs as done, and show a note behind the time that is left."""
        task = self._progress.tasks[0]
        self._progress.update(self._task, completed=min(self._total, task.completed + n), note=note)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if not self._progress.disable:  # older releases of rich print an empty line
            self._progress.stop()
