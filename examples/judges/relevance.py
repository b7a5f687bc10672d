"""Three language models judge relevance in up to 26 wordings: what changes their verdicts, and what two wordings say.

    python examples/judges/relevance.py DATA                 # the tables of docs/judges.md
    python examples/judges/relevance.py DATA --write judges  # and a file for each judge
    paraconsist report judges/*.parquet --variant wording --group query --output judges.html

DATA has ``recorded/relevance_judges.parquet``: 1,224,891 recorded verdicts of GPT-4o, Llama 3.2 and Mistral on passages
of TREC Deep Learning 2020, yes or no (binary) or from 0 to 3 (graded), with the labels of NIST's assessors (data of
arXiv 2504.12408). Binary verdicts are right where they say whether the label is 2 or 3, graded ones where they are the
label.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import paraconsist as pc
from paraconsist.measures.alarms import reversed_wordings
from paraconsist.measures.intervals import Units, intervals

MODELS = {"gpt-4o": "GPT-4o", "llama3.2": "Llama 3.2", "mistral": "Mistral"}
REVERSED = (10, 14)  # as the alarm finds them, in binary mode for all three models
COMPONENTS = ("query", "passage", "wording", "query x wording", "passage x wording")
PC = "paraphrastic_consistency_unbiased"


@dataclass(frozen=True)
class Judge:
    """A model in one mode: all passages under all wordings."""

    model: str
    mode: str
    verdicts: pd.DataFrame  # index (query, passage), a column for each wording
    labels: np.ndarray

    @property
    def name(self) -> str:
        return f"{MODELS[self.model]}, {self.mode}"

    @property
    def right(self) -> np.ndarray:
        """Whether each verdict is right, shape (passages, wordings)."""
        return np.asarray(self.verdicts.to_numpy() == self.labels[:, np.newaxis])

    def without(self, wordings: tuple[int, ...]) -> Judge:
        left = self.verdicts.drop(columns=[each for each in wordings if each in self.verdicts])
        return Judge(self.model, self.mode, left, self.labels)

    def rows(self) -> pd.DataFrame:
        """Return a row for each verdict, with the columns of a predictions file."""
        long = self.verdicts.stack().rename("prediction").reset_index().rename(columns={"level_2": "wording"})
        long["label"] = np.repeat(self.labels, self.verdicts.shape[1])
        long["bucket_id"] = long["query"].astype(str) + "-" + long["passage"].astype(str)
        return long


def read(data: Path) -> list[Judge]:
    """Return the six judges."""
    table = pd.read_parquet(data / "recorded" / "relevance_judges.parquet")
    found = []
    for (model, mode), rows in table.groupby(["model", "mode"], observed=True):
        rows = rows.assign(label=(rows["label"] >= 2).astype(int)) if mode == "binary" else rows
        verdicts = rows.pivot(index=["query", "passage"], columns="wording", values="verdict")
        labels = rows.groupby(["query", "passage"])["label"].first().reindex(verdicts.index)
        found.append(Judge(str(model), str(mode), verdicts, labels.to_numpy()))
    return found


def consistency(judge: Judge) -> list[str]:
    """Return P_C with its interval over queries, the same verdict, and the accuracies of the wordings."""
    rows = judge.rows()
    columns = (rows["prediction"].to_numpy(), rows["label"].to_numpy(), rows["bucket_id"].to_numpy())
    found = pc.paraphrastic_consistency(*columns, groups=rows["query"].to_numpy())
    low, high = found.confidence_interval[PC]
    by_wording = judge.right.mean(axis=0)
    return [
        f"{found[PC]:.3f} [{low:.3f}, {high:.3f}]",
        f"{found.agreement_unbiased:.3f}",
        f"{by_wording.min():.2f} to {by_wording.max():.2f}",
    ]


def reversing(judge: Judge) -> str | None:
    """Return the alarm about wordings that go against the others."""
    rows = judge.rows()
    return reversed_wordings(*(rows[name].to_numpy() for name in ("prediction", "bucket_id", "wording", "query")))


def shares(judge: Judge) -> list[str]:
    """Return the shares of the variance of right and wrong, in per cent."""
    rows = judge.rows()
    columns = {"query": "query", "passage": "bucket_id", "wording": "wording"}  # a passage is judged for a query
    levels = {level: rows[column].to_numpy() for level, column in columns.items()}
    found = pc.variance_components(judge.right.ravel() * 1.0, levels)
    return [f"{100 * found.share[name]:.1f}" for name in COMPONENTS]


def kappa(table: np.ndarray) -> np.ndarray:
    """Return Cohen's (1960) kappa of tables of verdicts by labels, shape (..., n * n)."""
    n = round(table.shape[-1] ** 0.5)
    counts = table.reshape(*table.shape[:-1], n, n) / table.sum(axis=-1)[..., np.newaxis, np.newaxis]
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return np.asarray((np.trace(counts, axis1=-2, axis2=-1) - chance) / (1.0 - chance))


def with_people(judge: Judge) -> list[str]:
    """Return kappa with the assessors: of a wording, with its interval over queries, by wording, and of medians."""
    verdicts, n = judge.verdicts.to_numpy(), int(judge.labels.max()) + 1
    queries = np.unique(judge.verdicts.index.get_level_values("query"), return_inverse=True)[1]

    def tables(of: np.ndarray) -> np.ndarray:
        """Count the cells of each query, shape (queries, n * n); `of` has a verdict of each passage."""
        return np.bincount((queries * n + of) * n + judge.labels, minlength=(queries.max() + 1) * n * n).reshape(
            -1, n * n
        )

    each = np.array([tables(column) for column in verdicts.T]).astype(float)
    of_one = kappa(each.sum(axis=1))
    units = Units.of(each.sum(axis=0), np.ones(len(each[0])))
    found = intervals(units, lambda total: kappa(total)[..., np.newaxis], [(-1.0, 1.0)], [False])
    low, high = found.low[0], found.high[0]
    rng, medians = np.random.default_rng(0), []
    for size in (3, 5, verdicts.shape[1] - 1 + verdicts.shape[1] % 2):  # odd, so that no median lies between two
        draws = [rng.permutation(verdicts.shape[1])[:size] for _ in range(40)]
        votes = [np.median(verdicts[:, draw], axis=1).astype(int) for draw in draws]
        medians.append(f"{np.mean([kappa(tables(vote).sum(axis=0)) for vote in votes]):.2f}")
    whole = float(kappa(units.total))
    return [f"{whole:.2f} [{low:.2f}, {high:.2f}]", f"{of_one.min():.2f} to {of_one.max():.2f}", *medians]


def of_two(judge: Judge) -> list[str]:
    """Return what pairs of wordings say (the middle 90 %) of accuracy and P_C, and what all say, in per cent."""
    right = judge.right * 1.0
    pairs = np.array(list(combinations(range(right.shape[1]), 2)))
    accuracy = right.mean(axis=0)[pairs].mean(axis=1)
    alike = np.array([(right[:, i] == right[:, j]).mean() for i, j in pairs])
    made = []
    for values in (accuracy, alike):
        low, high = np.quantile(values, [0.05, 0.95])
        made += [f"{100 * low:.1f} to {100 * high:.1f}", f"{100 * values.mean():.1f}"]
    return made


def lines(judges: list[Judge]) -> Iterator[str]:
    """Yield all tables as text."""
    for judge in judges:
        yield f"{judge.name}, {judge.verdicts.shape[0]:,} passages x {judge.verdicts.shape[1]} wordings"
        yield f"  P_C, same verdict, accuracy by wording: {'; '.join(consistency(judge))}"
        alarm, left = reversing(judge), judge.without(REVERSED) if judge.mode == "binary" else judge
        if alarm is not None:
            yield f"  {alarm}"
            yield f"  without these: {'; '.join(consistency(left))}"
        yield f"  {', '.join(COMPONENTS)}: {', '.join(shares(left))} % of the variance"
        yield f"  kappa with people, by wording, medians of 3, 5 and all wordings: {'; '.join(with_people(left))}"
        two = of_two(left)
        yield f"  two wordings say {two[0]} % right, all {two[1]}; P_C {two[2]}, all {two[3]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", type=Path, help="a folder for a predictions file of each judge")
    options = parser.parse_args()
    judges = read(options.data)
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        for judge in judges:
            judge.rows().to_parquet(options.write / f"{judge.model}_{judge.mode}.parquet", index=False)
    for line in lines(judges):
        print(line)


if __name__ == "__main__":
    main()
