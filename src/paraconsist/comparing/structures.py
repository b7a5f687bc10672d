"""Comparers of structured answers: `json`, for objects and tool calls, and `math`."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from paraconsist.comparing.comparer import Comparer, ComparerSpec, Floats
from paraconsist.errors import extras, input_error

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_MOST_NESTED = 50
_MOST_MATHS, _MOST_BRACKETS = 300, 24  # of the end of an answer: Math-Verify may take minutes for more


def read_json(answer: str, defaults: Mapping[str, Mapping[str, Any]] | None = None) -> Hashable | None:
    """Return the JSON value of an answer in a form where equal means the same; None where it holds none.

    The whole answer is read, else what its last code fence holds, else what stands from its first bracket to its last.
    The order of an object's keys does not count, that of a list's items does. A number is the same as another of its
    value (1 and 1.0), and never as a text or true. Tool calls are read in the forms of the OpenAI API and of plain
    ``{"name": ..., "arguments": ...}``, with arguments that are JSON in a text; several calls of one turn have no
    order. With `defaults` (function -> argument -> value) an argument that is left out has its default; without,
    one that is null is left out.

    >>> read_json('{"a": 1, "b": [1.0]}') == read_json('```json\\n{"b": [1], "a": 1}```')
    True
    """
    fenced = _FENCE.findall(answer)
    starts = [place for place in (answer.find("{"), answer.find("[")) if place >= 0]
    inside = answer[min(starts, default=0) : max(answer.rfind("}"), answer.rfind("]")) + 1]
    for text in (answer, *fenced[-1:], inside):
        try:
            value = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        calls = _calls(value)
        try:
            return _frozen(value) if calls is None else _frozen_calls(calls, defaults or {})
        except ValueError:  # too deep
            return None
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _calls(value: Any) -> list[tuple[str, dict[str, Any]]] | None:
    """Return (function, arguments) of each tool call; None where the value is not a call or a list of them."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = []
    for item in value if isinstance(value, list) else [value]:
        call = item.get("function") if isinstance(item, dict) and isinstance(item.get("function"), dict) else item
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return None
        given = call.get("arguments", call.get("parameters", call.get("args")))
        if isinstance(given, str):
            try:
                given = json.loads(given or "{}", parse_constant=_no_constant)
            except (ValueError, RecursionError):
                return None
        if not isinstance(given, dict):
            return None
        calls.append((call["name"], given))
    return calls or None


def _frozen_calls(calls: Sequence[tuple[str, dict[str, Any]]], defaults: Mapping[str, Mapping[str, Any]]) -> Hashable:
    frozen = []
    for name, given in calls:
        arguments = {**defaults.get(name, {}), **{key: value for key, value in given.items() if value is not None}}
        frozen.append((name, _frozen(arguments)))
    return "calls", tuple(sorted(frozen, key=repr))


def _frozen(value: Any, depth: int = 0) -> Hashable:
    """Return a hashable form of a JSON value, equal for values that are the same; ValueError where it is too deep."""
    if depth > _MOST_NESTED:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return "object", tuple(sorted((key, _frozen(item, depth + 1)) for key, item in value.items()))
    if isinstance(value, list):
        return "list", tuple(_frozen(item, depth + 1) for item in value)
    kind = "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    return kind, repr(value) if kind != "number" else _number(value)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _json_comparer(argument: str) -> Comparer:
    defaults = None
    if argument:
        try:
            defaults = json.loads(Path(argument).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            defaults = None
        if not isinstance(defaults, dict) or not all(isinstance(each, dict) for each in defaults.values()):
            must = "have a JSON file of defaults after json: function -> argument -> value"
            raise input_error("compare_answers", "same", must, got=argument)
    return Comparer(lambda answer, _: read_json(answer, defaults))


def _math_comparer(_: str) -> Comparer:
    """Return a comparer by Math-Verify: the same is what it holds equal whichever of the two is the gold one."""
    with extras("compare_answers"):
        import_module("math_verify")

    def read(answer: str, _: Sequence[str] | None) -> str | None:
        end = answer.strip()[-_MOST_MATHS:]
        return end if end and sum(map(end.count, "([{")) <= _MOST_BRACKETS else None

    return Comparer(read, _equal_both_ways)


@cache
def _parsed(answer: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(answer, parsing_timeout=None)
    return found or parse(f"${answer}$", parsing_timeout=None)


def _equal_both_ways(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Return 1 where Math-Verify holds m expressions equal to m others in both directions, 0 elsewhere."""
    from math_verify import verify

    def equal(a: Any, b: Any) -> bool:
        return bool(verify(a, b, timeout_seconds=None))

    pairs = [(_parsed(a), _parsed(b)) for a, b in zip(first, second, strict=True)]
    return np.array([bool(a and b) and equal(a, b) and equal(b, a) for a, b in pairs], dtype=np.float64)


JSON = ComparerSpec(
    name="json",
    title="the JSON objects or tool calls that they hold are equal, whatever the order of keys",
    make=_json_comparer,
    argument="a JSON file of defaults: function -> argument -> value",
    unread="answers without JSON, or nested deeper than 50",
)
MATH = ComparerSpec(
    name="math",
    title="Math-Verify holds the expressions equal, in both directions",
    make=_math_comparer,
    needs="math-verify",
    unread="empty answers, and more than 24 brackets; those without an expression are the same as no other",
    is_transitive=False,
)
