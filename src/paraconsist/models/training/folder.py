"""The folder of a training: which training it belongs to, and whether that was finished."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from paraconsist.errors import InputError, input_error
from paraconsist.files import read_record, write_json, writing
from paraconsist.models.training.options import TrainingOptions

_PACKAGES = ("paraconsist", "torch", "transformers", "accelerate", "numpy")


class TrainingFolder:
    """Reads and writes ``training.json``; a second training never silently overwrites a first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record = path / "training.json"
        self.checkpoints = path / "checkpoints"

    def check(self, options: TrainingOptions, data: Mapping[str, Any]) -> Literal["new", "interrupted", "finished"]:
        """Say what the folder holds.

        Another training, other files, or this training without `resume` are an `InputError`.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self._refused("name a folder")
        if not self.path.exists() or not any(self.path.iterdir()):
            return "new"
        if not self.record.is_file():
            raise self._refused("be a new or empty folder", "Name another one.")
        record = self.read()
        different = options.differences(record.get("options", {}))
        if record.get("data") != json.loads(json.dumps(data)):
            different.append("the rows")
        if different:
            remedy = f"These differ: {', '.join(different)}. Name another folder, or delete this one."
            raise self._refused("not hold another training", remedy)
        status: Literal["interrupted", "finished"] = "finished" if record.get("status") == "finished" else "interrupted"
        if not options.resume:
            remedy = f"It holds this same training, {status}: give `resume`, or name another folder."
            raise self._refused("be a new or empty folder", remedy)
        return status

    def begin(self, options: TrainingOptions, data: Mapping[str, Any]) -> None:
        """Write the record of a training that starts or goes on."""
        versions = {"python": platform.python_version()} | {package: version(package) for package in _PACKAGES}
        record = {"status": "running", "options": options.to_dict(), "data": dict(data), "versions": versions}
        with writing("train", "output", self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.record, record)

    def finish(self, metrics: Mapping[str, Any], *, seconds: float, n_processes: int) -> None:
        """Mark the training as finished and add its figures."""
        figures = {"metrics": dict(metrics), "seconds": round(seconds, 1), "n_processes": n_processes}
        write_json(self.record, {**self.read(), "status": "finished", **figures})

    def read(self) -> dict[str, Any]:
        """The record."""
        return read_record("train", "output", self.record, remedy="Delete the folder or name another one.")

    def _refused(self, must: str, remedy: str = "") -> InputError:
        return input_error("train", "output", must, got=str(self.path), remedy=remedy)
