"""Drawing the solved examples of a few-shot prompt: once, by seed, the same on every process."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from paraconsist.errors import input_error
from paraconsist.tasks.identity import input_id
from paraconsist.tasks.prompts import Example
from paraconsist.tasks.task import Task


def draw_examples(
    task: Task,
    pools: Sequence[Sequence[Example]],
    shots: int,
    *,
    seed: int,
    exclude: Collection[str] = (),
) -> tuple[Example, ...]:
    """Draw `shots` examples, evenly from the pools and evenly over the labels of each, in random order.

    Where the numbers do not divide, the first pools, and labels drawn by lot, get one more. The result depends
    on nothing but the arguments: not on the process, and not on the rows' order in a pool.

    Parameters
    ----------
    task : Task
        The task, which says what two rows that ask the same have in common.
    pools : sequence of sequences of Example
        Where to draw from; S24 has three pools for its delta sets, 12 examples from each.
    shots : int
        How many, over all pools.
    seed : int
        Of the draw.
    exclude : collection of str
        Input ids that may not be drawn: those the model will be asked.

    Raises
    ------
    InputError
        If a pool has too few rows of a label.

    Examples
    --------
    >>> from paraconsist.tasks import get_task
    >>> pool = [Example({"text": f"text {i}"}, ("negative", "positive")[i % 2]) for i in range(9)]
    >>> sorted(e.label for e in draw_examples(get_task("sentiment"), [pool], 4, seed=0))
    ['negative', 'negative', 'positive', 'positive']
    """
    if shots < 0:
        raise input_error("run", "shots", "be 0 or more", got=shots)
    if shots and not pools:
        raise input_error("run", "examples", f"say where to draw {shots} examples from", remedy="Give --examples SET.")
    rng = random.Random(f"paraconsist-examples-{seed}")
    drawn: list[Example] = []
    for number, pool in enumerate(pools):
        n_wanted = shots // len(pools) + (number < shots % len(pools))
        drawn += _draw(task, pool, n_wanted, rng, exclude, f"pool {number + 1}")
    rng.shuffle(drawn)
    return tuple(drawn)


def _draw(
    task: Task, pool: Sequence[Example], n_wanted: int, rng: random.Random, exclude: Collection[str], name: str
) -> list[Example]:
    distinct = {(input_id(task, example.values), example.label): example for example in pool}
    by_label: dict[str, list[Example]] = {}
    for (key, label), example in sorted(distinct.items(), key=lambda item: item[0]):
        if key not in exclude:
            by_label.setdefault(label, []).append(example)
    labels = sorted(by_label)
    rng.shuffle(labels)
    drawn: list[Example] = []
    for place, label in enumerate(labels):
        n_of_label = n_wanted // len(labels) + (place < n_wanted % len(labels))
        if n_of_label > len(by_label[label]):
            raise input_error(
                "run",
                "examples",
                f"have {n_of_label} rows labelled {label} that are not asked themselves",
                got=f"{len(by_label[label])} in {name}",
                remedy="Give fewer --shots, or more examples.",
            )
        drawn += rng.sample(by_label[label], n_of_label)
    if len(drawn) < n_wanted:
        raise input_error("run", "examples", "have labelled rows that are not asked themselves", got=f"none in {name}")
    return drawn
