"""The error that is meant for users, its sentence, and the most frequent checks that raise it."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

_MAX_SHOWN = 120
_MAX_SENTENCE = 2000
_REAL: Any = numbers.Real  # their orders are unknown to mypy
_WHOLE: Any = numbers.Integral
MOST_COUNTED = 10**9
"""The largest number of items that are made, drawn or read one by one."""
#: Package -> the extra of this package that installs it.
EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "safetensors"), "run"),
    **dict.fromkeys(("matplotlib", "jinja2"), "report"),
    "sklearn": "baselines",
    **dict.fromkeys(("nltk", "rapidfuzz", "apted", "lemminflect"), "nlp"),
    **dict.fromkeys(("math_verify", "wordllama", "tokenizers"), "compare"),
    "gradio": "space",
    **dict.fromkeys(("mlflow", "sqlalchemy", "alembic", "trackio"), "trackers"),
    "ray": "scale",
    "peft": "adapters",
    "openpyxl": "excel",
    **dict.fromkeys(("lm_eval", "inspect_ai"), "integrations"),
}
#: Parameter -> the option of the command that runs, by which warnings on standard error call it.
options_of_command: dict[str, str] = {}
#: Characters that control a terminal or the direction of text, and lone surrogates, which no terminal prints.
_STEERING = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


class InputError(ValueError):
    """An error in the user's input, whose message tells what to do.

    The message is made from the attributes when it is read, so that callers can rename parameters: a function to its
    own (`renamed`), the command line to its options.

    Attributes
    ----------
    function : str
        The function that was called.
    parameter : str or None
        The wrong parameter; None if `must` is a whole sentence.
    must : str
        The condition on the parameter, or the sentence. Other parameters are named in backticks.
    got : object
        The wrong value; ``...`` if it is not shown.
    row : int, str or None
        The place in the input. Functions count rows from 0, as Python does; the command line and pages count them from
        1, without a file's heading (`first_row`). A row in a text is counted from 1.
    first_row : int
        The number of the first row in the message: 0, or 1 for the command line and for pages.
    remedy : str
        Advice on what to do.

    >>> raise input_error("score", "buckets", "not be empty", got=[], remedy="Give at least one row.")
    Traceback (most recent call last):
    paraconsist.errors.InputError: score: `buckets` must not be empty; got []. Give at least one row.
    """

    exit_code = 2  # of a command that it ends

    def __init__(
        self,
        must: str,
        *,
        function: str = "",
        parameter: str | None = None,
        got: Any = ...,
        row: int | str | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(must)
        self.function, self.parameter, self.must = function, parameter, must
        self.got, self.row, self.remedy, self.first_row = got, row, remedy, 0

    def __str__(self) -> str:
        sentence = f"{self.function}: " if self.function else ""
        if self.parameter is None:
            return _shortened(f"{sentence}{self.must} {self.remedy}")
        sentence += f"`{self.parameter}` must {self.must}"
        if self.got is not ...:
            value = repr(self.got)
            sentence += f"; got {value if len(value) <= _MAX_SHOWN else value[: _MAX_SHOWN - 3] + '...'}"
        if self.row is not None:
            sentence += f" at row {self.row + self.first_row if isinstance(self.row, int) else self.row}"
        return _shortened(f"{sentence}. {self.remedy}")

    def name_as(self, parameters: Mapping[str, str]) -> None:
        """Rename parameters (old -> new name), including those in backticks in the sentences."""
        self.parameter = parameters.get(self.parameter or "", self.parameter)
        self.must, self.remedy = (with_names(text, parameters) for text in (self.must, self.remedy))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.must,), self.__dict__


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which what stands in backticks has other names (old -> new)."""
    return re.sub(r"`(\w+)`", lambda name: f"`{names.get(name[1], name[1])}`", text)


def input_error(
    function: str, parameter: str, must: str, *, got: Any = ..., row: int | str | None = None, remedy: str = ""
) -> InputError:
    """Return (not raise) the error ``{function}: `{parameter}` must {must}; got {got!r} at row {row}. {remedy}``."""
    return InputError(must, function=function, parameter=parameter, got=got, row=row, remedy=remedy)


@contextmanager
def renamed(function: str = "", /, **parameters: str) -> Iterator[None]:
    """Rename the parameters of errors from inside to those of the caller (callee's -> caller's name); also a decorator.

    A `function` is named in place of the callee.

    >>> with renamed(model="generator"):
    ...     raise input_error("load_model", "model", "be there")
    Traceback (most recent call last):
    paraconsist.errors.InputError: load_model: `generator` must be there.
    """
    try:
        yield
    except InputError as problem:
        problem.function = function or problem.function
        problem.name_as(parameters)
        raise


@contextmanager
def extras(function: str) -> Iterator[None]:
    """Name the extra to install if the import of one of its packages fails inside; also a decorator."""
    try:
        yield
    except ModuleNotFoundError as problem:
        name = (problem.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        remedy = f"pip install 'paraconsist[{EXTRAS[name]}]'"
        raise InputError(f"needs {name}, which is not installed.", function=function, remedy=remedy) from None


def unknown_option(function: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for an option that a function does not have, with the nearest name that it has."""
    names = sorted(known)
    near = get_close_matches(name, names, 1)
    remedy = f"Did you mean `{near[0]}`?" if near else ""
    return input_error(function, name, f"be a parameter; there are {', '.join(names)}", remedy=remedy)


def check_choice(function: str, parameter: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    listed = list(choices)
    if not isinstance(value, str) or value not in listed:
        raise input_error(function, parameter, f"be one of {', '.join(listed)}", got=value)


def check_names(function: str, parameter: str, value: Any) -> tuple[Any, ...]:
    """Return one name or several as a tuple, or raise."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise input_error(function, parameter, "be a name or a sequence of names", got=value)
    return tuple(value)


def check_flag(function: str, parameter: str, value: Any) -> bool:
    """Return `value` if it is True or False, or raise."""
    if not isinstance(value, bool):
        raise input_error(function, parameter, "be True or False", got=value)
    return value


def check_fraction(function: str, parameter: str, value: Any) -> float:
    """Return `value` as a float strictly between 0 and 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, _REAL) or not 0.0 < value < 1.0:
        raise input_error(function, parameter, "lie between 0 and 1", got=value)
    return float(value)


def check_whole(
    function: str, parameter: str, value: Any, *, at_least: int = 1, at_most: int | None = MOST_COUNTED
) -> int:
    """Return `value` as an int in [at_least, at_most], or raise."""
    if isinstance(value, bool) or not isinstance(value, _WHOLE) or value < at_least:
        raise input_error(function, parameter, f"be a whole number of at least {at_least}", got=value)
    if at_most is not None and value > at_most:
        raise input_error(function, parameter, f"be a whole number of at most {at_most}", got=value)
    return int(value)


def check_number(function: str, parameter: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float from `low` to `high`, or nan where it is nan; else raise."""
    if not isinstance(value, _REAL) or value < low or value > high:
        raise input_error(function, parameter, f"be a number from {low:g} to {high:g}", got=value)
    try:
        return float(value)
    except OverflowError:
        raise input_error(function, parameter, "be a number that a float can hold", got="a larger one") from None


def first_line(problem: BaseException) -> str:
    """Return the first non-empty line of another library's error, shortened if it is long, or the error's name."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    line = lines[0] if lines else type(problem).__name__
    return line if len(line) <= 2 * _MAX_SHOWN else f"{line[: 2 * _MAX_SHOWN]}..."


def _shortened(sentence: str) -> str:
    """Return a sentence that a terminal can print, without its middle if foreign names make it too long."""
    text = visible(sentence.rstrip())
    return text if len(text) <= _MAX_SENTENCE else f"{text[: _MAX_SENTENCE - 300]} ... {text[-200:]}"


def visible(text: str, *, keep: str = "") -> str:
    """Return a text that a terminal can print: control characters, except those in `keep`, are escaped as in JSON.

    >>> print(visible("red\\x1b[31m\\nnot"), visible("two\\nlines", keep="\\n"))
    red\\u001b[31m\\u000anot two
    lines
    """
    return _STEERING.sub(lambda sign: sign[0] if sign[0] in keep else f"\\u{ord(sign[0]):04x}", text)


def plural(n: int, what: str) -> str:
    """Return a number with what it counts.

    >>> plural(1, "bucket"), plural(2230, "row"), plural(2, "process")
    ('1 bucket', '2,230 rows', '2 processes')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"
