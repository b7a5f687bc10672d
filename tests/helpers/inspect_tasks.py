"""Tasks of inspect_ai, written for the tests of rewording: ``inspect_tasks.py@boats``."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, accuracy, answer, choice, includes, match, mean, scorer, stderr
from inspect_ai.solver import generate, multiple_choice, prompt_template, system_message

THINGS = ["lantern", "kettle", "ladder", "anchor", "basket", "compass", "barrel", "sail"]


def question(i):
    return f"A man is carrying a big {THINGS[i]} near {i + 2} boats. What isn't on boat {i}?"


def four(i):
    return [f"the {THINGS[(i + k) % len(THINGS)]} and {k + 3} ropes" for k in range(4)]


@task
def boats():
    """Choices that the solver lists; the last question's choices may not be put in another order."""
    choices = [four(i) for i in range(7)] + [[*four(7)[:3], "none of the above"]]
    samples = [Sample(question(i), choices=choices[i], target="ABCD"[i % 4]) for i in range(8)]
    return Task(dataset=MemoryDataset(samples, name="boats"), solver=multiple_choice(), scorer=choice())


@task
def spoken():
    """Choices of which some questions have two right ones, and a scorer that keeps the whole answer."""
    samples = [Sample(question(i), choices=four(i), target=["ABCD"[i % 4], "C"][: 1 + i % 2]) for i in range(8)]
    return Task(dataset=samples, solver=multiple_choice(), scorer=match(location="end"))


@task
def cargo(start="Think first."):
    """A template of the samples' own, another of the solver's, and two scorers."""
    samples = [
        Sample(
            f"Answer with a number of boats.\nQuestion: {question(i)}\nAnswer:", target=[str(i), str(i + 1)], id=f"c{i}"
        )
        for i in range(8)
    ]
    asking = prompt_template(f"{start}\n\n{{prompt}}")
    return Task(dataset=samples, solver=[asking, generate()], scorer=[match(numeric=True), includes()])


@scorer(metrics={"length": [mean()], "right": [accuracy(), stderr()]})
def by_hand():
    """Two values of an answer, by a rule and data of the task's own."""

    async def score(state, target):
        right = target.text in state.output.completion or state.metadata["easy"]
        return Score(value={"length": len(state.output.completion), "right": "C" if right else "I"}, answer="?")

    return score


@task
def chat():
    """Solved examples in turns, a system message, choices, and a scorer of the task's own."""
    samples = [
        Sample(
            [
                ChatMessageSystem(content="You are a sailor."),
                ChatMessageUser(content="What isn't on a boat?"),
                ChatMessageAssistant(content="A house."),
                ChatMessageUser(content=question(i)),
            ],
            choices=four(i),
            target="ABCD"[i % 4],
            metadata={"easy": i % 3 == 0},
        )
        for i in range(8)
    ]
    return Task(dataset=samples, solver=[system_message("Be short."), multiple_choice()], scorer=by_hand())


@task
def listed():
    """Options that the samples list themselves, and a letter for an answer."""
    texts = ["\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", four(i), strict=True)) for i in range(8)]
    samples = [Sample(f"{question(i)}\n{texts[i]}", target="ABCD"[i % 4]) for i in range(8)]
    return Task(dataset=samples, scorer=answer("letter"))


@task
def labelled():
    """Options that the samples list themselves, and a scorer that reads whatever label there is."""
    return Task(dataset=listed().dataset, scorer=match(location="exact"))


@task
def drawn():
    """Samples that are others each time."""
    from random import SystemRandom

    return Task(dataset=[Sample(f"Is {SystemRandom().random()} a number?", target="yes")], scorer=includes())


@task
def tagged():
    samples = [Sample("Is it red?", target="yes", metadata={"kind": "boat"}), Sample("Is it old?", target="no")]
    return Task(dataset=samples, scorer=includes())


@task
def empty():
    return Task(dataset=[Sample("", target="yes")], scorer=includes())
