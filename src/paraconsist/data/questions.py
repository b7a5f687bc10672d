"""Questions of the user's own, answered in free text: their columns, their files, and the prompts that put them.

A row has ``question`` (or ``prompt``, or ``messages``: a chat of roles and contents) and ``bucket_id``, and may have
``context``, ``choices``, ``system`` and ``expected`` (one accepted answer or several). A YAML file lists each question
once with its wordings, of which ``question``, where an entry has both, is the original; see docs/howto/questions.md.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.foreign import MAX_YAML, read_yaml
from paraconsist.data.prompts import Prompt, PromptTemplate, WrittenAnswer
from paraconsist.data.tasks import QUESTIONS, TASKS, Row, Task
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json, replacing

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
    comparers: dict[str, str] = {key: str(common.pop(key)) for key in ("same", "right") if key in common}
    rows: list[dict[str, Any]] = []  # one for each wording
    for number, entry in enumerate(entries):
        known = {*_ENTRY, "bucket_id", "role"}
        if not isinstance(entry, Mapping) or not set(entry) <= known or not {"wordings", *ASKED} & set(entry):
            got = sorted(set(entry) - known) if isinstance(entry, Mapping) else entry
            must = f"have entries with wordings (or question), of {', '.join(_ENTRY)}"
            raise input_error("run", "dataset", must, got=got, row=number, remedy=f"Mend {path}.")
        shared = {key: value for key, value in {**common, **entry}.items() if key not in ("id", "wordings")}
        bucket = entry.get("id", entry.get("bucket_id", f"{path.stem}-{number + 1}"))
        wordings = entry.get("wordings")
        shared["bucket_id"] = str(bucket)
        shared.setdefault("role", "paraphrase")
        if "question" in entry and isinstance(wordings, list):
            rows.append({**shared, "role": "original"})
        rows += [{**shared, "question": each} for each in wordings] if isinstance(wordings, list) else [shared]
    for row, values in enumerate(rows):
        for column in ("question", "prompt", "context", "system", "bucket_id", "role"):
            if isinstance(values.get(column), (list, dict)):
                raise _wrong(str(path), column, "be text", values[column], row)
    return table_of_rows(rows), comparers


def asked(row: Json, column: str = "question") -> str:
    """Return the text that is reworded: the last turn of the user in the row's chat, or without a chat, a column."""
    turns = [turn for turn in json.loads(row.get("messages") or "[]") if turn["role"] == "user"]
    if row.get("messages") and not turns:
        raise input_error("paraphrase", "messages", "have a turn of the user", got=row["messages"])
    return str(turns[-1]["content"] if turns else row[column])


def reworded(row: Json, text: str) -> Json:
    """Return a row that asks `text` in place of `asked`."""
    if not row["messages"]:
        return {**row, "question": text}
    turns = json.loads(row["messages"])
    next(turn for turn in reversed(turns) if turn["role"] == "user")["content"] = text
    return {**row, "messages": json.dumps(turns, ensure_ascii=False)}


def by_bucket(rows: Iterable[Json]) -> dict[str, list[Json]]:
    """Return each question's rows, the first of them the original: by its role, or as the first wording.

    Rows are named by their roles, so that YAML, which has no names of rows, and Parquet give the same names.
    """
    buckets: dict[str, list[Json]] = {}
    for row in rows:
        buckets.setdefault(row["bucket_id"], []).append(row)
    for bucket, group in buckets.items():
        group.sort(key=lambda row: row["role"] != "original")  # stable
        numbers = Counter[str]()
        for place, row in enumerate(group):
            role = row["role"] if place else "original"
            numbers[role] += 1
            group[place] = {**row, "role": role, "example_id": f"{bucket}.{role}{f'_{numbers[role]}' if place else ''}"}
    return buckets


def write_questions(rows: Iterable[Json], comparers: Mapping[str, str], path: Path) -> None:
    """Write rows of the long format as a YAML file that `read_questions` reads.

    Wordings that differ in nothing else are listed in one entry, other rows are entries with a role.
    """
    import yaml  # its first import is slow

    entries: list[Json] = []
    for bucket, group in groupby(rows, key=lambda row: row["bucket_id"]):
        roles, fields = [], []
        for row in group:
            lists = {name: json.loads(row[name] or "[]") for name in ("messages", "choices")}
            accepted = list(row["label"] or ())
            lists["expected"] = accepted if len(accepted) != 1 or accepted[0].startswith("[") else accepted[0]
            named = {**{name: row[name] for name in ("question", "context", "system")}, **lists}
            fields.append({name: value for name, value in named.items() if value})
            roles.append(row["role"])
        texts = [entry.get("question") for entry in fields]
        is_plain = all({**entry, "question": texts[0]} == fields[0] for entry in fields) and "messages" not in fields[0]
        if is_plain and roles == ["original"] + ["paraphrase"] * (len(roles) - 1):
            entries.append({"id": bucket, "question": texts[0], "wordings": texts[1:], **fields[0]})
        else:
            entries += [{"id": bucket, "role": role, **entry} for role, entry in zip(roles, fields, strict=True)]
    text = yaml.safe_dump({**comparers, "questions": entries}, allow_unicode=True, sort_keys=False, width=120)
    if len(text.encode()) > MAX_YAML:
        must = "end in .parquet: as YAML these questions would be longer than a megabyte"
        raise input_error("paraphrase", "output", must, got=str(path))
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table: lists and mappings are JSON, columns of several kinds are text."""
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        values = [json.dumps(value) if isinstance(value, (list, tuple, dict)) else value for value in values]
        is_mixed = len({type(value) for value in values if value is not None}) > 1
        columns[name] = [str(value) if is_mixed and value is not None else value for value in values]
    return pa.table(columns)


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
    if not {*ASKED} & held.keys():
        raise input_error("run", "question", f"be a column of {name}", got=table.column_names)
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
            own = chat.pop(0)["content"] if self.system and chat[0]["role"] == "system" else ""
            return [*self.opening(own), *chat]
        return [*self.opening(values["system"]), {"role": "user", "content": self.template.ask(values)}]

    def shown(self, task: Task, row: Row) -> str | list[dict[str, str]]:
        """Return what a function is asked: the question's text alone, or the chat where there is more than one turn."""
        chat = self.messages(task, row)
        return chat[0]["content"] if len(chat) == 1 else chat
