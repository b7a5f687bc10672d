"""The folder of an IE experiment: which experiment it is, and the finished units, each written whole or not at all.

Units are keyed by a hash of all that decides an answer besides rho and run, so that more rhos or runs can be added to
an experiment, and a changed text, model or seed never meets an old answer.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.store import store_key
from paraconsist.errors import input_error
from paraconsist.files import read_record, replacing, to_json, write_json, writing
from paraconsist.studies.ie.options import FUNCTION, Unit


@dataclass(frozen=True)
class UnitResult:
    """The answers of one unit.

    Attributes
    ----------
    original, transformed : int16 array, shape (n_test,)
        Predicted class numbers, after the vote.
    record : mapping
        Hyperparameters, accuracy on the validation sample, transformed rows in the sample; ready for JSON.
    """

    original: NDArray[np.int16]
    transformed: NDArray[np.int16]
    record: Mapping[str, Any]


class ExperimentFolder:
    """Reads and writes one experiment's folder."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.identity: dict[str, Any] = json.loads(to_json(dict(identity)))
        self.units = path / "units" / store_key(self.identity)
        self.record = path / "experiment.json"

    def open(self, *, overwrite: bool = False) -> None:
        """Make the folder ready to start, or to go on with what is there.

        Raises
        ------
        InputError
            If it cannot be written, holds other files, or another experiment.
        """
        with writing(FUNCTION, "output", self.path):
            if overwrite and self.record.is_file():
                shutil.rmtree(self.path / "units", ignore_errors=True)
                self.record.unlink()
            elif self.record.is_file():
                self._check_same()
            elif self.path.is_dir() and any(p.name != "units" for p in self.path.iterdir()):
                must = "be a new folder, an empty one, or hold an IE experiment"
                raise input_error(FUNCTION, "output", must, got=str(self.path), remedy="Name another one.")
            self.units.mkdir(parents=True, exist_ok=True)
            for left in self.units.glob("*.partial"):  # of a process that was killed
                left.unlink(missing_ok=True)
            if not self.record.is_file():
                write_json(self.record, {"status": "running", "identity": self.identity}, indent=1)

    def _check_same(self) -> None:
        there, now = self.read().get("identity", {}), self.identity
        names = sorted(name for name in {*there, *now} if there.get(name) != now.get(name))
        if names:
            differences = ", ".join(f"{name} ({there.get(name)!r} there, {now.get(name)!r} now)" for name in names)
            remedy = f"These differ: {differences}. Name another folder, or delete this one's with `overwrite`."
            raise input_error(FUNCTION, "output", "not hold another experiment", got=str(self.path), remedy=remedy)

    def read(self) -> dict[str, Any]:
        """What ``experiment.json`` says."""
        return read_record(FUNCTION, "output", self.record)

    def update(self, facts: Mapping[str, Any]) -> None:
        """Add to ``experiment.json``."""
        write_json(self.record, {**self.read(), **facts}, indent=1)

    def unit_file(self, unit: Unit) -> Path:
        """Where a unit's answers are, or will be."""
        return self.units / f"rho-{unit.rho:.9f}-run-{unit.run:03d}.npz"

    def trial_file(self, number: int) -> Path:
        """Where a trial of the search is, or will be."""
        return self.units / f"trial-{number:03d}.json"

    def write_unit(self, unit: Unit, result: UnitResult) -> None:
        """Write a unit, whole or not at all."""
        record = np.frombuffer(to_json(dict(result.record), indent=None).encode(), dtype=np.uint8)
        with replacing(self.unit_file(unit)) as partial, partial.open("wb") as stream:
            np.savez_compressed(stream, original=result.original, transformed=result.transformed, said=record)

    def read_unit(self, unit: Unit) -> UnitResult | None:
        """The unit's answers; None where it is not finished, or its file is damaged (it is then done again)."""
        try:
            with self.unit_file(unit).open("rb") as stream, np.load(stream) as held:
                record = json.loads(held["said"].tobytes().decode())
                return UnitResult(held["original"], held["transformed"], record)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
