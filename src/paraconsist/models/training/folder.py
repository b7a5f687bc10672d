"""The folder of a training: which training it belongs to, and whether that was finished."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from paraconsist.errors import input_error
from paraconsist.models.training.options import TrainingOptions

_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "numpy")


class TrainingFolder:
    """Reads and writes ``training.json``; a second training never silently overwrites a first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record = path / "training.json"
        self.checkpoints = path / "checkpoints"

    def check(self, options: TrainingOptions, data: Mapping[str, Any]) -> Literal["new", "interrupted", "finished"]:
        """Say what the folder holds; refuse it if it is not this training's.

        Raises
        ------
        InputError
            If it holds another training, other files, or this training without `resume`.
        """
        if self.path.exists() and not self.path.is_dir():
            raise input_error("train", "output", "name a folder", got=str(self.path))
        if not self.path.exists() or not any(self.path.iterdir()):
            return "new"
        if not self.record.is_file():
            raise input_error(
                "train", "output", "be a new or empty folder", got=str(self.path), remedy="Name another one."
            )
        said = self.read()
        different = options.differences(said.get("options", {}))
        if said.get("data") != json.loads(json.dumps(data)):
            different.append("the rows")
        if different:
            raise input_error(
                "train",
                "output",
                "not hold another training",
                got=str(self.path),
                remedy=f"These differ: {', '.join(different)}. Name another folder, or delete this one.",
            )
        finished = said.get("status") == "finished"
        if not options.resume:
            raise input_error(
                "train",
                "output",
                "be a new or empty folder",
                got=str(self.path),
                remedy=f"It holds this same training, {'finished' if finished else 'interrupted'}: "
                "add --resume, or name another folder.",
            )
        return "finished" if finished else "interrupted"

    def begin(self, options: TrainingOptions, data: Mapping[str, Any]) -> None:
        """Write the record of a training that starts or goes on."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write(
                {
                    "status": "running",
                    "options": options.to_dict(),
                    "data": dict(data),
                    "versions": {"python": platform.python_version()} | {p: version(p) for p in _PACKAGES},
                }
            )
        except OSError as problem:
            raise input_error(
                "train", "output", "be a folder that can be written", got=str(self.path), remedy=f"{problem}."
            ) from None

    def finish(self, metrics: Mapping[str, Any], *, seconds: float, n_processes: int) -> None:
        """Mark the training as finished and add its figures."""
        self._write(
            self.read()
            | {
                "status": "finished",
                "metrics": dict(metrics),
                "seconds": round(seconds, 1),
                "n_processes": n_processes,
            }
        )

    def read(self) -> dict[str, Any]:
        """The record."""
        try:
            said = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = None
        if not isinstance(said, dict):
            raise input_error(
                "train",
                "output",
                "hold a readable training.json",
                got=str(self.record),
                remedy="Delete the folder or name another one.",
            )
        return said

    def _write(self, record: Mapping[str, Any]) -> None:
        part = self.record.with_suffix(".json.part")
        part.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        part.replace(self.record)
