"""What is sent: the fields of completions and chat requests, and what an endpoint wants of them otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraconsist.data.tasks import Task
from paraconsist.models.endpoint.settings import Asking, EndpointSettings


@dataclass(frozen=True, slots=True)
class Question:
    """What the model is asked for one input: a text (completions) or messages (chat)."""

    text: str
    messages: tuple[Mapping[str, str], ...] = ()

    @property
    def length(self) -> int:
        """Characters."""
        return len(self.text) or sum(len(message["content"]) for message in self.messages)


@dataclass(frozen=True)
class Wishes:
    """Where endpoints differ in what they take.

    Attributes
    ----------
    length_field : str
        ``max_tokens``, or ``max_completion_tokens``.
    merge_system : bool
        The instruction goes into the first user's turn: the model's chat template knows no system's.
    """

    length_field: str = "max_tokens"
    merge_system: bool = False


def question_of(asking: Asking, api: str, task: Task, row: Mapping[str, Any]) -> Question:
    """The question for one row."""
    if api == "chat":
        return Question("", tuple(asking.prompt.messages(task, row)))
    return Question(asking.prompt.text(task, row))


def request_body(
    settings: EndpointSettings,
    asking: Asking,
    wishes: Wishes,
    question: Question,
    *,
    max_tokens: int,
    top: int = 0,
    answer: str | None = None,
) -> dict[str, Any]:
    """The body of a request, at temperature 0.

    Parameters
    ----------
    settings, asking, wishes
        The endpoint, the model, and what the endpoint wants otherwise.
    question : Question
    max_tokens : int
        Longest text to write.
    top : int
        How many of the most probable tokens to return at each place; 0 for none.
    answer : str, optional
        Completions only: append this to the prompt and return (``echo``) the log-probabilities of all of it.
    """
    body: dict[str, Any] = {"model": asking.model, "temperature": 0, wishes.length_field: max_tokens}
    if settings.api == "chat":
        body["messages"] = _merged(question.messages) if wishes.merge_system else list(question.messages)
        if top:
            body |= {"logprobs": True, "top_logprobs": top}
    else:
        body["prompt"] = question.text + (answer or "")
        if top or answer is not None:
            body["logprobs"] = top or 1
        if answer is not None:
            body["echo"] = True
    for name, value in settings.request_fields.items():
        if value is None:
            body.pop(name, None)
        else:
            body[name] = value
    return body


def _merged(messages: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    if messages[0]["role"] != "system":
        return list(messages)
    first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]
