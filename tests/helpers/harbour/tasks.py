"""Tasks of three kinds."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import choice, includes, match
from inspect_ai.solver import generate, multiple_choice

from .solvers import asked_twice

SHIPS = ["barge", "ferry", "cutter", "dinghy", "galley", "trawler"]


def _question(i):
    return f"A man is waiting for a big {SHIPS[i]} near {i + 2} piers. How many piers aren't taken?"


@task
def letters():
    """Choices that the solver lists."""
    samples = [Sample(_question(i), choices=[f"{k} piers" for k in range(4)], target="ABCD"[i % 4]) for i in range(6)]
    return Task(dataset=MemoryDataset(samples, name="harbour"), solver=multiple_choice(), scorer=choice())


@task(name="words")
def written(unit="piers"):
    """Free text, under another name than the function's."""
    samples = [Sample(_question(i), target=[f"{i} {unit}", str(i)], id=f"w{i}") for i in range(6)]
    return Task(dataset=samples, solver=generate(), scorer=[match(numeric=True), includes()])


@task
def guided():
    """A solver of the package's own, and solved examples in turns."""
    shots = [
        turn
        for i in (4, 5)
        for turn in (ChatMessageUser(content=_question(i)), ChatMessageAssistant(content=f"It is {i}."))
    ]
    samples = [
        Sample([ChatMessageSystem(content="Count."), *shots, ChatMessageUser(content=_question(i))], target=str(i))
        for i in range(4)
    ]
    return Task(dataset=samples, solver=[asked_twice()], scorer=match())


words = written
