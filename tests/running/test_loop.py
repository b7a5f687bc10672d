"""The loop's own parts: how tokenised parts become batches."""

import json
from importlib.metadata import version
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.models.batching import BatchPolicy, Shape, plan_batches
from paraconsist.models.classifier import Classifier
from paraconsist.running.loop import _batches, _note_environment, deal


@given(st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=30), max_size=6), st.integers(60, 1000))
def test_batches_of_parts_whose_lengths_overlap_hold_every_input_once(parts, max_tokens):
    policy, model = BatchPolicy(max_tokens=max_tokens), Classifier()
    names = [[f"{number}-{place}" for place in range(len(part))] for number, part in enumerate(parts)]
    shapes = [[Shape(width, width, 1) for width in part] for part in parts]
    batches = [*_batches(model, policy, zip(names, parts, shapes, strict=True))]
    width_of = dict(zip(chain(*names), chain(*parts), strict=True))
    assert sorted(name for ids, _ in batches for name in ids) == sorted(width_of)
    assert all([row.width for row in rows] == [width_of[name] for name in ids] for ids, rows in batches)
    if sum(width_of.values()) <= max_tokens:
        assert [len(ids) for ids, _ in batches] == [len(batch) for batch in plan_batches([*chain(*shapes)], policy)]


def test_overlapping_parts_lose_less_together_than_apart():
    """Parts in the order of lengths that are estimated to a tenth or so."""
    rng, policy, model = np.random.default_rng(0), BatchPolicy(), Classifier()
    widths = rng.poisson(40, size=2000) + 5
    widths = widths[np.argsort(-widths * rng.normal(1, 0.1, 2000))]
    shapes = [[Shape(width, width, 1) for width in part] for part in np.split(widths, range(50, 2000, 50))]
    names = [[str(place) for place in range(len(part))] for part in shapes]

    def wasted(batches):
        return sum(policy.batch_cost + max(b.width for b in batch) * len(batch) for batch in batches) - widths.sum()

    every = [*chain(*shapes)]
    whole = wasted([[every[i] for i in batch] for batch in plan_batches(every, policy)])
    apart = wasted([[part[i] for i in batch] for part in shapes for batch in plan_batches(part, policy)])
    together = wasted(rows for _, rows in _batches(model, policy, zip(names, names, shapes, strict=True)))
    assert whole <= together < apart


@given(st.lists(st.integers(1, 500), max_size=200), st.integers(1, 3000), st.integers(1, 9))
def test_dealing_gives_every_input_to_exactly_one_process(sizes, max_tokens, n_ranks):
    hands = [deal(np.array(sizes, int), max_tokens, rank, n_ranks) for rank in range(n_ranks)]
    assert sorted(i for hand in hands for part in hand for i in range(*part)) == list(range(len(sizes)))
    assert sum(map(bool, hands)) == min(len(sizes), n_ranks) or len(sizes) > n_ranks


def test_parts_are_the_same_for_one_to_three_processes_which_end_together():
    sizes = np.sort(np.random.default_rng(0).poisson(30, size=9000))[::-1]
    whole = deal(sizes, 4096, 0, 1)
    for n_ranks in (2, 3):
        hands = [deal(sizes, 4096, rank, n_ranks) for rank in range(n_ranks)]
        assert sorted(part for hand in hands for part in hand) == whole
        loads = [sum(sizes[start:end].sum() for start, end in hand) for hand in hands]
        assert max(loads) < 1.02 * sizes.sum() / n_ranks


@pytest.mark.faults
def test_the_environment_of_a_store_is_that_of_its_first_answers(tmp_path):
    """It was that of a process that was killed before any answer, which later runs on this machine were warned of."""
    file, model = tmp_path / "environment.json", SimpleNamespace(module=None)
    file.write_text('{"torch": "2.0.1"}')
    for goes_on in (False, True):
        _note_environment(tmp_path, model, torch.device("cpu"), goes_on=goes_on)
    assert json.loads(file.read_text())["torch"] == version("torch")
    file.write_text('{"torch": "2.0.1"}')
    with pytest.warns(UserWarning, match=r"computed with torch 2\.0\.1, now"):
        _note_environment(tmp_path, model, torch.device("cpu"), goes_on=True)
