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
from paraconsist.data.apart import Apart
from paraconsist.errors import extras, input_error
from paraconsist.files import canonical_arguments, canonical_json, json_in

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_MOST_MATHS, _MOST_BRACKETS = 300, 24  # of the end of an answer: Math-Verify may take minutes for more
_MOST_SECONDS = 5.0  # of Math-Verify, which evaluates 9**9**9**9 and 100000000!
_SERVE = "from paraconsist.comparing.structures import _are_equal; from paraconsist.data.apart import serve"
_EXPRESSIONS = Apart(f"{_SERVE}; serve(_are_equal, memory=2**31)")


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
        try:
            return _calls(value, defaults or {}) or canonical_json(value)
        except ValueError:  # too deep
            return None
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _calls(value: Any, defaults: Mapping[str, Mapping[str, Any]]) -> Hashable | None:
    """Return a form of tool calls, which have no order; None where the value is not a call or a list of them."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = []
    for item in value if isinstance(value, list) else [value]:
        call = item.get("function") if isinstance(item, dict) and isinstance(item.get("function"), dict) else item
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return None
        given = call.get("arguments", call.get("parameters", call.get("args")))
        arguments = None if given is None else canonical_arguments(given, defaults.get(call["name"], {}))
        if arguments is None or not arguments.startswith("{"):
            return None
        calls.append((call["name"], arguments))
    return ("calls", tuple(sorted(calls))) if calls else None


def _json_comparer(argument: str) -> Comparer:
    defaults = None
    if argument:
        try:
            defaults = json_in(Path(argument))
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
    if not _ask("1", "1"):
        raise RuntimeError("the process that compares expressions does not start: python -c 'import math_verify'")

    def read(answer: str, _: Sequence[str] | None) -> str | None:
        end = answer.strip()[-_MOST_MATHS:]
        return end if end and sum(map(end.count, "([{")) <= _MOST_BRACKETS and _ask(end) else None

    def equal(first: Sequence[str], second: Sequence[str]) -> Floats:
        return np.array([_ask(a, b) for a, b in zip(first, second, strict=True)], dtype=np.float64)

    return Comparer(read, equal)


def _ask(*answers: str) -> bool:
    """Return whether an answer has an expression, or two are equal; False after 5 seconds of processor time."""
    return bool(_EXPRESSIONS.ask(answers, 60.0, _MOST_SECONDS))


def _are_equal(answers: Sequence[str]) -> bool:
    """Return whether Math-Verify reads expressions in the answers and, of two, holds each equal to the other."""
    from math_verify import verify

    first, last = _parsed(answers[0]), _parsed(answers[-1])
    both_ways = ((first, last), (last, first)) if len(answers) == 2 else ()
    return bool(first and last) and all(verify(gold, answer, timeout_seconds=None) for gold, answer in both_ways)


@cache
def _parsed(answer: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(answer, parsing_timeout=None)
    return found or parse(f"${answer}$", parsing_timeout=None)


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
    unread="answers without an expression, with more than 24 brackets, or that Math-Verify reads for over 5 seconds",
    is_transitive=False,
)
