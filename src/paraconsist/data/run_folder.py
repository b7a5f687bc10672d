"""Layout and identity of a run folder."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from paraconsist.data.predictions import write_predictions
from paraconsist.data.store import JOURNAL, lines_of
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, digest, locked, make_folder, read_record, rename_folder, write_json, writing

if TYPE_CHECKING:
    import pyarrow as pa


def content_identity(identity: Json) -> Json:
    """Return the part of a model's identity that decides its predictions: no path if its weights are hashed."""
    paths = ("model", "base_model") if "revision" not in identity else ("model",)  # an adapter's model may be the Hub's
    return {key: value for key, value in identity.items() if key not in paths or "weights_hash" not in identity}


@dataclass(frozen=True)
class RunFolder:
    """Paths of one run: ``run.json``, ``results.json``, ``store/``, and three folders with a file per set."""

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

    def file_of(self, kind: Literal["predictions", "texts", "noise"], set_file_name: str) -> Path:
        return self.path / kind / f"{set_file_name}.parquet"

    def predictions_files(self) -> list[Path]:
        """Return the run's predictions files; if ``run.json`` lists its files, exclude others with a warning."""
        files = sorted((self.path / "predictions").glob("*.parquet"))
        named = None
        with suppress(InputError):  # the code that opens the folder reports an unreadable run.json
            named = self.read().get("sets")
        if not isinstance(named, Mapping) or not named:
            return files
        listed = [file for file in files if f"predictions/{file.name}" in named.values()]
        if others := [file.name for file in files if file not in listed]:
            text = f"{self.path.name}: run.json does not name {', '.join(others)} in predictions/: left out."
            warnings.warn(text, UserWarning, stacklevel=3)
        return listed

    def open(self, models: Mapping[str, Json], *, overwrite: bool = False) -> None:
        """Prepare the folder for a run of `models` (task name -> identity), or for the rest of the run in it.

        `overwrite` deletes an earlier run, except a store with an endpoint's answers, which is renamed, and other
        files. InputError if the folder cannot be written, holds something else, or a run of a different model.
        """
        with writing("run", "output", self.path):
            if overwrite and self.run_file.is_file():
                self._keep_answers()
                for part in (self.store, self.path / "predictions", self.path / "texts", self.path / "noise"):
                    if part.exists():
                        shutil.rmtree(part)
                self.results_file.unlink(missing_ok=True)
                self.run_file.unlink()  # last, as it marks the folder as a run's
            make_folder(self.path / "predictions")
            make_folder(self.store)
        earlier = self.read().get("models", {})
        for task, identity in models.items():
            before, now = earlier.get(task), dict(identity)
            if before is None or content_identity(before) == content_identity(now):
                continue
            keys = [k for k in sorted({*before, *now}) if before.get(k) != now.get(k)]
            differences = ", ".join(f"{k}: {before.get(k)!r} there, {now.get(k)!r} now" for k in keys)
            must = "be a new folder or hold a run of the same model"
            remedy = f"It holds another model's run of task {task} ({differences})."
            remedy += " Choose another folder, or give `overwrite` to replace the run."
            raise input_error("run", "output", must, got=str(self.path), remedy=remedy)
        self.update_run({"models": {task: dict(identity) for task, identity in models.items()}})

    def _keep_answers(self) -> None:
        """Rename a store with an endpoint's answers, which were paid for."""
        n = sum(map(len, chain.from_iterable(map(lines_of, self.store.glob(f"*/{JOURNAL}")))))
        if n:
            names = (f"{self.store.name}.{i}" for i in count(1))
            aside = rename_folder(self.store, next(name for name in names if not (self.path / name).exists()))
            text = f"the endpoint's {n:,} answers of the earlier run are kept: delete {aside} if you do not need them"
            warnings.warn(text, UserWarning, stacklevel=3)

    def read(self) -> Json:
        """Return ``run.json``; empty before a run."""
        remedy = "Give `overwrite` to replace the run, or choose another folder."
        return read_record("run", "output", self.run_file, remedy=remedy) if self.run_file.exists() else {}

    def update_run(self, entries: Json) -> None:
        """Add entries to ``run.json``, and keep those of other tasks and sets."""
        with locked(self.path, "run", "output"):
            run = self.read()
            merged = {k: {**run[k], **entry} if isinstance(run.get(k), dict) else entry for k, entry in entries.items()}
            write_json(self.run_file, {**run, **merged})

    def write(self, file: Path, table: pa.Table | Iterator[pa.Table], metadata: Mapping[str, object]) -> None:
        """Write a table of a set, or its row groups, and record the file's digest in ``run.json``."""
        make_folder(file.parent)
        self._record(file, rows=write_predictions(file, table, metadata))

    def write_results(self, results: Mapping[str, object]) -> None:
        write_json(self.results_file, results)
        self._record(self.results_file)

    def _record(self, file: Path, **more: int) -> None:
        name = file.relative_to(self.path).as_posix()
        self.update_run({"files": {name: {**digest(file), **more}}})
