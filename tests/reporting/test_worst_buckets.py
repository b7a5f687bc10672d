"""The list of the worst buckets: by values shrunk towards the other buckets, so that small ones do not lead it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import paraconsist as pc
from paraconsist.measures.bucket_model import fit_bucket_model
from paraconsist.measures.buckets import BucketCounts
from paraconsist.scoring.roles import Violations

SIZES = np.array([2] * 6 + [8] * 30)
RIGHT = np.array([1, 2, 2, 2, 2, 2, 4, 7, 0, 0, *[8] * 26])  # of the first two kinds of size one is half right


def rows() -> dict[str, list[object]]:
    """Return buckets named by their size and number right: 2.1 and 8.4 are the ones that are half right."""
    answers = [
        (f"{k}.{c}.{i}", int(j < c)) for i, (k, c) in enumerate(zip(SIZES, RIGHT, strict=True)) for j in range(k)
    ]
    labels = [int(name.split(".")[-1]) % 2 for name, _ in answers]
    predictions = [label if right else 1 - label for label, (_, right) in zip(labels, answers, strict=True)]
    names = [name for name, _ in answers]
    return {"bucket_id": names, "label": labels, "prediction": predictions, "role": ["paraphrase"] * len(names)}


def test_the_page_lists_what_eight_rows_show_before_what_two_do(tmp_path: Path) -> None:
    path = pc.score(rows(), n_resamples=20).report(tmp_path / "page.html")
    data = json.loads(re.search(r'id="data">(.*?)</script>', Path(path).read_text(encoding="utf-8"), re.S)[1])
    first = [bucket["id"].rpartition(".")[0] for bucket in data["buckets"][:4]]
    assert first[:3] == ["8.4", "2.1", "8.7"]
    # its own value, of two different paraphrases, is larger
    values = {bucket["id"].rpartition(".")[0]: bucket["v"][0] for bucket in data["buckets"]}
    assert values["2.1"] == 1.0 > values["8.4"]
    assert values[first[3]] == 0.0


def test_shrunken_values_are_those_of_the_model() -> None:
    buckets = np.repeat(np.arange(len(SIZES)), SIZES)
    right = np.concatenate([np.arange(k) < c for k, c in zip(SIZES, RIGHT, strict=True)])
    everything = np.ones(len(buckets), dtype=bool)
    shrunken = fit_bucket_model(BucketCounts.from_counts(SIZES, RIGHT)).shrink(SIZES, RIGHT)
    mixed = (RIGHT > 0) & (RIGHT < SIZES)
    counted = Violations(np.arange(len(buckets)), {}, mixed[buckets].astype(float), everything)
    values = counted.shrunken_by_bucket(buckets, len(SIZES), right)
    assert values == pytest.approx(np.where(mixed, shrunken.differing, 0.0))
    broken = Violations(np.arange(len(buckets)), {}, (~right).astype(float), everything)
    model = fit_bucket_model(BucketCounts.from_counts(SIZES, SIZES - RIGHT))
    shares = model.shrink(SIZES, SIZES - RIGHT).share
    assert broken.shrunken_by_bucket(buckets, len(SIZES)) == pytest.approx(np.where(RIGHT < SIZES, shares, 0.0))


def test_without_a_model_they_are_the_buckets_own() -> None:
    """Buckets of one row say nothing of how rows of a bucket resemble one another."""
    amount = np.array([1.0, 0.0, 1.0])
    found = Violations(np.arange(3), {}, amount, np.array([True, True, False]))
    values = found.shrunken_by_bucket(np.arange(3), 4)
    assert values[:2].tolist() == [1.0, 0.0]
    assert np.isnan(values[2:]).all()
