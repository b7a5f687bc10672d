"""Questions of the user's own, answered in free text: their columns, their files, and the prompts that put them.

A row has ``question`` (or ``prompt``, or ``messages``: a chat of roles and contents) and ``bucket_id``, and may have
``context``, ``choices``, ``system`` and ``expected`` (one accepted answer or several). A YAML file lists each question
once with its wordings; see docs/howto/questions.md.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.foreign import read_yaml
from paraconsist.data.prompts import Prompt, PromptTemplate, WrittenAnswer
from paraconsist.data.tasks import QUESTIONS, TASKS, Row, Task
from paraconsist.errors import InputError, input_error

#: Columns that a row may ask its question in, the first that is there.
ASKED = ("messages", "question", "prompt")
_ROLES = ("system", "user", "assistant", "developer")
_ENTRY = ("id", "wordings", *ASKED, "context", "choices", "system", "expected")
_EQUAL = ("equals", "icontains", "contains", "is-json")  # promptfoo's assertions whose value is an accepted answer


def are_questions(columns: Iterable[str]) -> bool:
    """Say whether columns hold questions, and the texts of no other task."""
    present = set(columns)
    return bool(present & set(ASKED)) and not any(set(task.columns) <= present for task in TASKS.values())


def read_questions(path: Path) -> tuple[pa.Table, dict[str, str]]:
    """Return the rows of a YAML file of questions, or of promptfoo's tests, and how answers are compared.

    InputError, with the number of the entry, if it is no such file.
    """
    given = read_yaml("run", "dataset", path, typed=False)
    entries: Any = given
    common: dict[str, Any] = {}
    if isinstance(given, Mapping):
        entries = given.get("questions")
        common = {key: value for key, value in given.items() if key in ("system", "context", "same", "right")}
        if entries is None and isinstance(given.get("tests"), list):
            entries = [_of_promptfoo(test, number) for number, test in enumerate(given["tests"])]
    if not isinstance(entries, list) or not entries:
        must = "be a list of questions, or have one under `questions`"
        raise input_error("run", "dataset", must, got=str(path), remedy="`paraconsist init` writes an example.")
    rows: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        known = {*_ENTRY, "bucket_id", "role"}
        if not isinstance(entry, Mapping) or not set(entry) <= known or not {"wordings", *ASKED} & set(entry):
            got = sorted(set(entry) - known) if isinstance(entry, Mapping) else entry
            must = f"have entries with wordings (or question), of {', '.join(_ENTRY)}"
            raise input_error("run", "dataset", must, got=got, row=number, remedy=f"Mend {path}.")
        shared = {
            key: value for key, value in {**common, **entry}.items() if key not in ("id", "wordings", "same", "right")
        }
        bucket = entry.get("id", entry.get("bucket_id", f"question-{number + 1}"))
        wordings = entry.get("wordings")
        shared["bucket_id"] = str(bucket)
        rows += [{**shared, "question": each} for each in wordings] if isinstance(wordings, list) else [shared]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name in set(names) & {"question", "prompt", "context", "system", "bucket_id", "role"}:
        for row, value in enumerate(columns[name]):
            if isinstance(value, (list, dict)):
                raise _wrong(str(path), name, "be text", value, row)
    table = {
        name: [json.dumps(value) if isinstance(value, (list, dict)) else value for value in values]
        for name, values in columns.items()
    }
    return pa.table(table), {key: str(common[key]) for key in ("same", "right") if key in common}


def _of_promptfoo(test: Any, number: int) -> dict[str, Any]:
    values = test.get("vars") if isinstance(test, Mapping) else None
    if not isinstance(values, Mapping):
        raise input_error("run", "dataset", "have vars in each of promptfoo's tests", got=test, row=number)
    more = {**(test.get("metadata") or {}), **values}
    expected = [each["value"] for each in test.get("assert") or () if each.get("type") in _EQUAL and "value" in each]
    known = {key: value for key, value in more.items() if key in (*_ENTRY, "bucket_id", "role")}
    if not set(ASKED) & set(known) and len(values) == 1:
        known["question"] = next(iter(values.values()))
    return known | ({"expected": expected} if expected and "expected" not in known else {})


def question_columns(table: pa.Table, name: str) -> dict[str, pa.Array]:
    """Return the columns of `QUESTIONS` and the accepted answers (``label``) of rows that ask questions.

    InputError, with the row, for what is no text, no chat, no list of choices, or no accepted answer.
    """
    held = {
        column: table[column].to_pylist()
        for column in (*ASKED, "context", "choices", "system", "expected", "label")
        if column in table.column_names
    }
    n = len(table)
    asked = "question" if "question" in held else "prompt"
    questions = held.get(asked, [""] * n)
    chats = [_chat(value, name, row) for row, value in enumerate(held.get("messages", [None] * n))]
    texts = {"question": [_text(v, asked, name, row, chats[row] != "") for row, v in enumerate(questions)]}
    for column in ("context", "system"):
        texts[column] = [_text(value, column, name, row, True) for row, value in enumerate(held.get(column, [""] * n))]
    choices = [_list(value, "choices", name, row) for row, value in enumerate(held.get("choices", [None] * n))]
    texts |= {"messages": chats, "choices": [json.dumps(each, ensure_ascii=False) if each else "" for each in choices]}
    gold = held.get("expected", held.get("label", [None] * n))
    accepted = [_list(value, "expected", name, row) or None for row, value in enumerate(gold)]
    columns = {column: pa.array(texts[column], pa.string()) for column in QUESTIONS.columns}
    return columns | {"label": pa.array(accepted, pa.list_(pa.string()))}


def offered(choices: Sequence[str]) -> list[list[str] | None]:
    """Return the choices of each row from the task's column; None where there are none."""
    return [json.loads(text) if text else None for text in choices]


def _text(value: Any, column: str, name: str, row: int, may_lack: bool) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if value is None and may_lack:
        return ""
    if not isinstance(value, str) or not (value.strip() or may_lack):
        raise _wrong(name, column, "be text", value, row)
    return value


def _list(value: Any, column: str, name: str, row: int) -> list[str]:
    """Return the texts of a list, of a JSON list in a text, or of one text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        value = read if isinstance(read, list) else value
    if value is None or value == "":
        return []
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, (str, int, float)) for each in values):
        raise _wrong(name, column, "be text, or a list of texts", value, row)
    return [str(each) for each in values]


def _chat(value: Any, name: str, row: int) -> str:
    """Return a chat as JSON; empty where there is none."""
    if value is None or value == "":
        return ""
    try:
        turns = json.loads(value) if isinstance(value, str) else value
        chat = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
        if not chat or not all(t["role"] in _ROLES and isinstance(t["content"], str) for t in chat):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise _wrong(name, "messages", "be a list of role and content", value, row) from None
    return json.dumps(chat, ensure_ascii=False)


def _wrong(name: str, column: str, must: str, got: Any, row: int) -> InputError:
    return input_error("run", column, must, got=got, row=row, remedy=f"Mend {name}.")


_CUT = "the limit of tokens cut answers, whose beginnings are compared. Give a higher `max_new_tokens`."


@dataclass(frozen=True)
class QuestionTemplate(PromptTemplate):
    """How a question is put: its context, the question, its choices with letters. Any text is an answer."""

    def __post_init__(self) -> None:
        """Have no labels to check."""

    def ask(self, values: Mapping[str, str]) -> str:
        """Return the question for one row."""
        choices = json.loads(values["choices"]) if values["choices"] else []
        listed = "\n".join(f"{chr(65 + i)}. {choice}" for i, choice in enumerate(choices))
        return "\n\n".join(part for part in (values["context"], values["question"], listed) if part)

    def read(self, text: str, *, cut: bool = False) -> WrittenAnswer:
        """Return the text, as it is, as an answer; warn of the first that the limit of tokens cut."""
        if cut:
            warnings.warn(_CUT, UserWarning, stacklevel=2)
        return WrittenAnswer(None, text)


@dataclass(frozen=True)
class QuestionPrompt(Prompt):
    """The prompt of questions, which bring their own."""

    template: PromptTemplate = QuestionTemplate("questions", QUESTIONS.name, "{question}", {})

    def text(self, task: Task, row: Row) -> str:
        """Return the texts of the chat one after another."""
        return "\n\n".join(turn["content"] for turn in self.messages(task, row))

    def messages(self, task: Task, row: Row) -> list[dict[str, str]]:
        """Return the chat: the row's own, or its system message and its question."""
        values = task.values(row)
        if values["messages"]:
            chat: list[dict[str, str]] = json.loads(values["messages"])
            return chat
        system = [{"role": "system", "content": values["system"]}] if values["system"] else []
        return [*system, {"role": "user", "content": self.template.ask(values)}]

    def shown(self, task: Task, row: Row) -> str | list[dict[str, str]]:
        """Return what a function is asked: the question's text alone, or the chat where there is more than one turn."""
        chat = self.messages(task, row)
        return chat[0]["content"] if len(chat) == 1 else chat
