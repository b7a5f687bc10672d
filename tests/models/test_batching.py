"""Batches: every input exactly once, under the budget, with little padding, the same on every process."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.models.batching import BatchPolicy, Shape, plan_batches

SHAPES = st.lists(
    st.tuples(st.integers(1, 200), st.sampled_from([1, 2])).map(
        lambda drawn: Shape(drawn[0] * drawn[1], drawn[0], drawn[1])
    ),
    max_size=80,
)


@given(SHAPES, st.integers(1, 2000), st.integers(1, 20))
def test_each_input_is_in_one_batch_and_budgets_hold(shapes, max_tokens, max_rows):
    batches = plan_batches(shapes, BatchPolicy(max_tokens=max_tokens, max_rows=max_rows))
    assert sorted(i for batch in batches for i in batch) == list(range(len(shapes)))
    for batch in batches:
        width = max(shapes[i].width for i in batch)
        assert len(batch) == 1 or width * sum(shapes[i].n_sequences for i in batch) <= max_tokens
        assert len(batch) <= max_rows
    widths = [max(shapes[i].width for i in batch) for batch in batches]
    assert widths == sorted(widths, reverse=True)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.sampled_from([0.0, 0.5, 3.0, 16.0, 100.0]))
def test_padding_and_the_cost_of_batches_are_least_together(widths, batch_cost):
    shapes = [Shape(width, width, 1) for width in widths]
    batches = plan_batches(shapes, BatchPolicy(batch_cost=batch_cost))

    def costs(ordered):
        """What every way to cut some widths comes to."""
        if not ordered:
            yield 0.0
        for end in range(1, len(ordered) + 1):
            yield from (batch_cost + ordered[0] * end + rest for rest in costs(ordered[end:]))

    ours = sum(batch_cost + max(widths[i] for i in batch) * len(batch) for batch in batches)
    assert abs(ours - min(costs(sorted(widths, reverse=True)))) < 1e-9


def test_padding_never_ends_a_batch_that_costs_all():
    shapes = [Shape(width, width, 1) for width in (1, 500, 3, 90)]
    assert plan_batches(shapes, BatchPolicy(batch_cost=math.inf)) == [[1, 3, 2, 0]]


def test_sentences_of_ordinary_lengths_leave_little_padding():
    rng = np.random.default_rng(0)
    shapes = [Shape(int(n), int(n), 1) for n in rng.poisson(30, size=2000) + 5]
    assert padding_share(shapes, plan_batches(shapes, BatchPolicy())) < 0.03
    in_order = [list(range(start, min(start + 32, 2000))) for start in range(0, 2000, 32)]
    assert padding_share(shapes, in_order) > 0.2


def test_a_cpu_pads_next_to_nothing_and_an_accelerator_a_little():
    rng = np.random.default_rng(0)
    shapes = [Shape(int(n), int(n), 1) for n in rng.poisson(30, size=2000) + 5]
    cpu, gpu = (plan_batches(shapes, BatchPolicy.for_device(kind)) for kind in ("cpu", "cuda"))
    assert padding_share(shapes, cpu) < 0.01
    assert len(gpu) < len(cpu)
    in_order = [list(range(start, min(start + 512, 2000))) for start in range(0, 2000, 512)]
    assert padding_share(shapes, gpu) < 0.5 * padding_share(shapes, in_order)
    assert BatchPolicy.for_device("cuda", 99).max_tokens == 99


def padding_share(shapes, batches):
    computed = sum(max(shapes[i].width for i in batch) * sum(shapes[i].n_sequences for i in batch) for batch in batches)
    return 1 - sum(shape.n_tokens for shape in shapes) / computed
