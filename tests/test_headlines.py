"""The headline is the mean of the buckets shown and of the rows listed: terminal, page, Space, under every policy."""

import itertools
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command

import paraconsist as pc
from paraconsist.data.rows import read_rows
from paraconsist.measures.catalogue import CATALOGUE, TRAJECTORIES, MeasureSpec, scored_measures
from paraconsist.reporting.page.aligned import align
from paraconsist.reporting.page.models import model_from
from paraconsist.reporting.space.catalogue import module
from paraconsist.reporting.space.forms import Query
from paraconsist.scoring.roles import POLICIES, apply_policy, violations

N_LABELS = 3


def rows_for(spec: MeasureSpec, seed: int = 0) -> dict[str, list[Any]]:
    """Return lopsided buckets of the measure's roles, one answer in seven unparsed."""
    rng = random.Random(seed)
    columns: dict[str, list[Any]] = {name: [] for name in ("bucket_id", "role", "label", "prediction")}
    for bucket in range(40):
        sizes = rng.randint(1, 4) if not spec.is_conditional else 1
        roles = [*(spec.partners or spec.optional_partners), *[spec.target] * sizes]
        gold = rng.randrange(N_LABELS)
        for role in roles:
            answer = gold if rng.random() < 0.7 else rng.randrange(N_LABELS)
            values = (f"b{bucket}", role, gold, None if rng.random() < 1 / 7 else answer)
            for name, value in zip(columns, values, strict=False):
                columns[name].append(value)
            if spec.is_about_probabilities:
                columns.setdefault("probabilities", []).append(probabilities(rng))
            if spec is TRAJECTORIES:
                columns.setdefault("calls", []).append([rng.choice("ab")])
    return columns


def probabilities(rng: random.Random) -> list[float]:
    one, other, third = (rng.choice((1, 1, 2)) + rng.random() / 9 for _ in range(N_LABELS))
    return [value / (one + other + third) for value in (one, other, third)]


def naive(spec: MeasureSpec, rows: dict[str, list[Any]], policy: str) -> tuple[float, int]:
    """Return the headline by a loop over buckets, and how many rows (mixed buckets) break the rule."""
    buckets: dict[str, list[tuple[str, int, Any]]] = {}
    for bucket, role, gold, answer in zip(*list(rows.values())[:4], strict=True):
        buckets.setdefault(bucket, []).append((role, gold, answer))
    total, broken, shares = 0, 0, []
    if spec.is_about_probabilities:  # twice the Bhattacharyya distance from the original's
        kept = {b for b, members in buckets.items() if policy != "drop_bucket" or None not in [a for *_, a in members]}
        of = list(zip(rows["bucket_id"], rows["role"], rows["probabilities"], strict=True))
        before = {bucket: p for bucket, role, p in of if role == "original"}
        pairs = [(before[bucket], p) for bucket, role, p in of if role == spec.target and bucket in kept]
        gains = [-2 * np.log(np.sqrt(np.multiply(one, other)).sum()) for one, other in pairs]
        return float(np.mean(np.array(gains) >= 0.01)), int(np.sum(np.array(gains) >= 0.01))
    for name, members in buckets.items():
        if policy == "drop_bucket" and any(answer is None for *_, answer in members):
            continue
        beside = {role: (gold, answer) for role, gold, answer in members if role != spec.target}
        targets = [(gold, answer) for role, gold, answer in members if role == spec.target]
        if spec.mean_over == "buckets":
            right = [gold == answer for gold, answer in targets]
            if spec is TRAJECTORIES:  # one call each: runs are the same, or have nothing in common
                right = [
                    calls == ["a"] for calls, of in zip(rows["calls"], rows["bucket_id"], strict=True) if of == name
                ]
            pairs = list(itertools.combinations(right, 2))
            if pairs:
                same = sum(one == other for one, other in pairs) / len(pairs)
                shares.append(same if spec.higher_is_better else 1 - same)
                broken += 0 < sum(right) < len(right)
            continue
        for gold, answer in targets:
            if spec.is_conditional:
                if not all(first == second for first, second in beside.values()):
                    continue
                breaks = answer != gold
            else:
                before = beside["original"][1]
                silent = policy == "wrong" and (before is None or answer is None)
                differ = before != answer
                breaks = (not differ or silent) if spec.name.startswith("negational") else (differ or silent)
            total, broken = total + 1, broken + breaks
    return (float(np.mean(shares)) if spec.mean_over == "buckets" else broken / total), broken


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", scored_measures())
def test_headline_buckets_and_rows_agree(name: str, policy: str, tmp_path: Path) -> None:
    spec, rows = CATALOGUE[name], rows_for(CATALOGUE[name])
    value, n_broken = naive(spec, rows, policy)
    scores = pc.score(rows, measures=[name], unparsed=policy, n_resamples=50)
    assert scores.sets["predictions"].measures[name][spec.headline] == pytest.approx(value, abs=1e-12)

    # the rows and buckets that page and Space list
    source, need = scores.opened.sets["predictions"], spec.is_about_probabilities
    read = read_rows(source.predictions, source.columns, need_probabilities=need)
    found = violations(spec, apply_policy(read, policy)[0])
    if spec.mean_over == "rows":
        assert found.amount[found.counts].mean() == pytest.approx(value, abs=1e-12)
        assert found.broken.sum() == n_broken

    # the buckets of the page
    entry = model_from(scores.opened, scores.sets)
    aligned = align("predictions", {entry.name: entry.sets["predictions"]})
    shares = aligned.inconsistency[entry.name]
    if spec.mean_over == "buckets":
        assert np.nanmean(shares) == pytest.approx(1 - value if spec.higher_is_better else value, abs=1e-12)
        assert np.nansum(shares > 0) == n_broken
    else:
        kept = apply_policy(read, policy)[0]
        assert kept.buckets is not None
        ids = [aligned.bucket_ids.index(bucket) for bucket in kept.buckets[found.positions[found.counts]].tolist()]
        weights = np.bincount(ids, minlength=len(shares))
        assert np.nansum(shares * weights) / weights.sum() == pytest.approx(value, abs=1e-12)

    # the terminal
    assert f"{100 * value:.1f}" in re.sub(r"\s+", " ", repr(scores))


#: Whose differences are those of P_C, of outcomes and not of calls.
_BY_OUTCOME = {TRAJECTORIES.name}


@pytest.mark.parametrize("name", [name for name in scored_measures() if name not in _BY_OUTCOME])
def test_two_models_differ_by_the_difference_of_their_headlines(name: str, tmp_path: Path, command: Command) -> None:
    spec, rows = CATALOGUE[name], rows_for(CATALOGUE[name])
    rows["prediction"] = [0 if answer is None else answer for answer in rows["prediction"]]
    if spec.is_about_probabilities:
        swapped = [list(reversed(p)) if i % 4 == 0 else p for i, p in enumerate(rows["probabilities"])]
    other = {**rows, **({"probabilities": swapped} if spec.is_about_probabilities else {})}
    other = {**other, "prediction": [(i % 3) if i % 4 == 0 else one for i, one in enumerate(rows["prediction"])]}
    if spec.is_conditional:  # which rows count differs: compared are those that count for both
        other["prediction"] = [
            one if role == spec.target else before
            for one, before, role in zip(other["prediction"], rows["prediction"], rows["role"], strict=True)
        ]
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    headlines = []
    for path, columns in zip(paths, (rows, other), strict=True):
        pq.write_table(pa.table(columns), path)
        scores = pc.score(columns, measures=[name], n_resamples=50)
        headlines.append(scores.sets["predictions"].measures[name][spec.headline])
    (pair,) = command.json("compare", *paths, "--measure", name)[0]["pairs"]
    sign = -1 if spec.higher_is_better != CATALOGUE[pair["measure"]].higher_is_better else 1
    assert headlines[0] != headlines[1]
    assert sign * pair["result"]["difference"] == pytest.approx(headlines[0] - headlines[1], abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [name for name, spec in scored_measures().items() if spec.mean_over == "rows" and not spec.is_about_probabilities],
)
def test_the_space_lists_as_many_rows_as_its_headline_counts(name: str) -> None:
    spec, rows = CATALOGUE[name], rows_for(CATALOGUE[name])
    value, n_broken = naive(spec, rows, "wrong")
    opened = pc.score(rows, measures=[name], n_resamples=50).opened
    page = module(name)
    layout = page.layout("texts") if any(one.key == "texts" for one in page.layouts) else page.layouts[0]
    predictions = opened.sets["predictions"].predictions
    columns = {"bucket": "bucket_id", "prediction": "prediction", "label": "label", "role": "role"}
    result = page.measure(Query(predictions, layout, columns, n_resamples=50))
    assert result.keys[spec.headline] == pytest.approx(value, abs=1e-12)
    if result.flips is not None:
        assert result.flips.n == n_broken
        return
    (entry,) = result.models  # the report that the Space shows lists them
    ((set_name, scored),) = entry.sets.items()
    aligned = align(set_name, {entry.name: scored})
    sizes = np.bincount(
        aligned.bucket[aligned.rows[entry.name].roles == spec.target], minlength=len(aligned.bucket_ids)
    )
    assert round(float(np.nansum(aligned.inconsistency[entry.name] * sizes))) == n_broken
