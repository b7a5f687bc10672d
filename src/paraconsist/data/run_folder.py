"""The run folder: what is in it, and whose run it is."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.data.predictions import write_predictions
from paraconsist.data.store import JOURNAL
from paraconsist.errors import InputError, input_error
from paraconsist.files import digest, locked, make_folder, read_record, rename_folder, write_json, writing

if TYPE_CHECKING:
    import pyarrow as pa


def content_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a model's identity decides its predictions: not the path of a folder whose weights are hashed."""
    return {key: value for key, value in identity.items() if key != "model" or "weights_hash" not in identity}


@dataclass(frozen=True)
class RunFolder:
    """Paths of one run: ``run.json``, ``results.json``, ``store/``, and a file a set in each of three folders."""

    path: Path

    @property
    def store(self) -> Path:
        return self.path / "store"

    @property
    def run_file(self) -> Path:
        return self.path / "run.json"

    @property
    def results_file(self) -> Path:
        return self.path / "results.json"

    def predictions_file(self, set_file_name: str) -> Path:
        return self._set_file("predictions", set_file_name)

    def texts_file(self, set_file_name: str) -> Path:
        return self._set_file("texts", set_file_name)

    def noise_file(self, set_file_name: str) -> Path:
        return self._set_file("noise", set_file_name)

    def _set_file(self, folder: str, set_file_name: str) -> Path:
        return self.path / folder / f"{set_file_name}.parquet"

    def predictions_files(self) -> list[Path]:
        """Return the run's files: those that ``run.json`` names, where it names any; others are said and left alone."""
        files = sorted((self.path / "predictions").glob("*.parquet"))
        named: Any = None
        with suppress(InputError):  # what opens the folder says that it cannot be read
            named = self.read().get("sets")
        if not isinstance(named, Mapping) or not named:
            return files
        own = [file for file in files if f"predictions/{file.name}" in named.values()]
        if strange := [file.name for file in files if file not in own]:
            text = f"{self.path.name}: run.json does not name {', '.join(strange)} in predictions/: left out."
            warnings.warn(text, UserWarning, stacklevel=3)
        return own

    def open(self, models: Mapping[str, Mapping[str, Any]], *, overwrite: bool = False) -> None:
        """Make the folder ready for a run of `models` (task name -> identity), or for going on with the run in it.

        With `overwrite` what an earlier run left is deleted, but for a store with an endpoint's answers, which is put
        beside; other files stay. InputError if the folder cannot be
        written, holds something else, or holds the run of another model.
        """
        with writing("run", "output", self.path):
            if overwrite and self.run_file.is_file():
                self._keep_answers()
                for part in (self.store, self.path / "predictions", self.path / "texts", self.path / "noise"):
                    if part.exists():
                        shutil.rmtree(part)
                self.results_file.unlink(missing_ok=True)
                self.run_file.unlink()  # last: it says that the folder is a run's
            make_folder(self.path / "predictions")
            make_folder(self.store)
        earlier = self.read().get("models", {})
        for task, identity in models.items():
            before, now = earlier.get(task), dict(identity)
            if before is None or content_identity(before) == content_identity(now):
                continue
            keys = [k for k in sorted({*before, *now}) if before.get(k) != now.get(k)]
            differences = ", ".join(f"{k}: {before.get(k)!r} there, {now.get(k)!r} now" for k in keys)
            must, why = (
                "be a new folder or hold a run of the same model",
                f"It holds another model's run of task {task}",
            )
            remedy = f"{why} ({differences}). Choose another folder, or give `overwrite` to start anew."
            raise input_error("run", "output", must, got=str(self.path), remedy=remedy)
        self.update_run({"models": {task: dict(identity) for task, identity in models.items()}})

    def _keep_answers(self) -> None:
        """Put a store that holds an endpoint's answers beside: they were paid for."""
        n = sum(file.read_bytes().count(b"\n") for file in self.store.glob(f"*/{JOURNAL}"))
        if n:
            names = (f"{self.store.name}.{i}" for i in count(1))
            aside = rename_folder(self.store, next(name for name in names if not (self.path / name).exists()))
            text = f"the endpoint's {n:,} answers of the earlier run are kept: delete {aside} if they are of no use"
            warnings.warn(text, UserWarning, stacklevel=3)

    def read(self) -> dict[str, Any]:
        """Return ``run.json``; empty before a run."""
        remedy = "Give `overwrite` to start anew, or choose another folder."
        return read_record("run", "output", self.run_file, remedy=remedy) if self.run_file.exists() else {}

    def update_run(self, entries: Mapping[str, Any]) -> None:
        """Add to ``run.json``; what it says of other tasks and sets is kept."""
        with locked(self.path, "run", "output"):
            run = self.read()
            for key, value in entries.items():
                earlier = run.get(key)
                run[key] = {**earlier, **value} if isinstance(earlier, dict) else value
            write_json(self.run_file, run)

    def write(self, file: Path, table: pa.Table | Iterator[pa.Table], metadata: Mapping[str, Any]) -> None:
        """Write a table of a set, or its row groups, and into ``run.json`` what the file has to be."""
        make_folder(file.parent)
        self._record(file, rows=write_predictions(file, table, metadata))

    def write_results(self, results: Mapping[str, Any]) -> None:
        write_json(self.results_file, results)
        self._record(self.results_file)

    def _record(self, file: Path, **more: int) -> None:
        name = file.relative_to(self.path).as_posix()
        self.update_run({"files": {name: {**digest(file), **more}}})
