"""Where documented numbers are recomputed from: built sets, the papers' published predictions, stored runs.

Everything is read when it is first asked for, and once.
"""

from __future__ import annotations

import csv
import json
import os
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from helpers.stored_results import StoredRun, predictions_of, read_stored

from paraconsist.data.predictions import Predictions
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.scoring.score import ScoreOptions, score

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "tests" / "results"
BECEL = "upstream/github.com/MJ-Jang/BECEL/f5bdd1196e46323e6ec3f4e651bcad78b1883b04/data"
Rows = list[dict[str, Any]]


def usual_data_folder() -> Path | None:
    """Return the folder that the fixture `data_folder` gives, None where it is not."""
    named = os.environ.get("PARACONSIST_TEST_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if (folder / "upstream").is_dir() else None


class Sources:
    """What claims are computed from.

    Parameters
    ----------
    data : Path, optional
        The papers' data folder; claims that need it fail without.
    cache : Path
        An empty folder of the session's own.
    """

    def __init__(self, data: Path | None, cache: Path) -> None:
        self._data, self._cache = data, cache
        for name in ("rows", "published", "paraphrastic", "stored", "scored", "delimited", "ie_runs"):
            setattr(self, name, lru_cache(maxsize=None)(getattr(self, name)))

    def has(self, needs: str) -> bool:
        """Say whether there is what a claim needs: the data folder, stored results, both or nothing."""
        there = {"data": self._data is not None, "results": RESULTS.is_dir()}
        return all(there[word] for word in needs.split())

    @property
    def data(self) -> Path:
        assert self._data is not None, "a claim that needs the data folder must say so"
        return self._data

    # ----------------------------------------------------------------------------------------- the sets

    def rows(self, name: str, config: str, split: str = "test", first: int | None = None) -> Rows:
        """Return the rows of a set as its builder makes them, or the first of them, without writing it anywhere."""
        from paraconsist.dataset_builders import builder_class

        builder = builder_class(name)(
            cache_dir=str(self._cache), config_name=config, data_dir=None if name == "sample" else self._data
        )
        return list(islice(builder.as_streaming_dataset(split=split), first))

    def delimited(self, path: str, delimiter: str = ",") -> list[dict[str, str]]:
        """Return the rows of a CSV or TSV file of the data folder."""
        with (self.data / path).open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines, delimiter=delimiter))

    # ------------------------------------------------------------------- the papers' published predictions

    def published(self, name: str, model: str, kind: str) -> dict[str, np.ndarray]:
        """Return columns of a file of ParaNLU's published predictions."""
        table = pq.read_table(self.data / "paranlu" / "predictions" / f"{name}__{model}__{kind}.parquet")
        return {column: np.asarray(table[column].to_pylist()) for column in table.column_names}

    def paraphrastic(self, name: str, model: str, kind: str = "human") -> dict[str, Any]:
        """Return the measures of published predictions, in per cent where they are shares."""
        rows, test = self.published(name, model, kind), self.published(name, model, "test")
        original = rows["is_original"]
        confidences = zip(rows["bucket_id"][original].tolist(), rows["conf_gold"][original].tolist(), strict=True)
        return paraphrastic_consistency(
            rows["pred"].tolist(),
            rows["gold"].tolist(),
            rows["bucket_id"].tolist(),
            roles=np.where(original, "original", "paraphrase").tolist(),
            original_confidences=dict(confidences),
            test_confidences=test["conf_gold"].tolist(),
            test_predictions=test["pred"].tolist(),
            test_references=test["gold"].tolist(),
            n_resamples=10,
        ).to_dict()

    def ie_runs(self) -> dict[str, np.ndarray]:
        """Return columns of the runs that Salvatore et al. published."""
        rows = self.delimited("ietest/matched_runs.csv")
        return {
            name: np.array([row[name] for row in rows], dtype=kind)
            for name, kind in (
                [(n, np.int64) for n in ("n", "n11", "n10", "n01", "n00")]
                + [("rho", np.float64), ("model", np.str_), ("dataset", np.str_)]
            )
        }

    # --------------------------------------------------------------------------------------- stored runs

    def stored(self, run: str, spec: str) -> StoredRun:
        """Return a stored file of predictions; `spec` names the set, as in ``paranlu:delta_snli``."""
        return read_stored(RESULTS / run / f"{spec.replace(':', '-')}.parquet")

    def joined(self, run: str, spec: str) -> Predictions:
        """Return stored predictions with the rows of the set that they were made for."""
        stored = self.stored(run, spec)
        name, _, config = spec.partition(":")
        rows = self.rows(name, config, stored.split, first=stored.n_rows if config.endswith("_additive") else None)
        return predictions_of(stored, pa.Table.from_pylist(rows))

    def scored(self, run: str, spec: str) -> dict[str, Any]:
        """Return what `paraconsist score` says of a stored run, its full test set beside it where it is stored."""
        test = f"{spec}_test"
        is_there = (RESULTS / run / f"{test.replace(':', '-')}.parquet").is_file()
        return score(self.joined(run, spec), ScoreOptions(), test=self.joined(run, test) if is_there else None)

    def accuracy(self, run: str, spec: str) -> float:
        """Return the accuracy of a stored run over all rows of a set that is no bucket set."""
        table = self.joined(run, spec).table
        return float(np.mean(table["prediction"].to_numpy() == table["label"].to_numpy()))


def sample_lines(name: str) -> Rows:
    """Return the lines of one of the sample set's files."""
    path = ROOT / "dataset_builders" / "sample" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
