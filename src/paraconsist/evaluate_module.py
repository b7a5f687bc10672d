"""The base class of the modules of `evaluate.load`, metrics/<name>/<name>.py, and its checks of their columns.

A module is a class with a docstring, which evaluate shows, a function, and columns. Only those modules import this
file: evaluate takes seconds to import.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from itertools import chain, product
from textwrap import indent
from typing import Any, ClassVar

import datasets
import evaluate

from paraconsist.errors import InputError, check_choice, input_error, unknown_option
from paraconsist.measures.antecedents import as_allowed_labels
from paraconsist.measures.buckets import as_column, as_probabilities, check_comparable, check_same_length
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.measures.distribution_shift import as_probability_rows
from paraconsist.measures.results import Result, parse_signature

# Strings first: evaluate takes the first alternative that can hold the data, and "3" would pass as 3.
_TYPES = ("string", "int64")
# evaluate drops `references` unless they are a column: as an option they get another name.
_REFERENCES = "references_as_option"
#: How unparsed answers are treated, as by `paraconsist score`, and what warnings say of it.
POLICIES = {
    "wrong": "count as wrong answers, each different from all others",
    "own_class": "count as one more answer, wrong and the same each time",
}
_UNPARSED = """\
unparsed : {"wrong", "own_class"}
    How answers that are "", or -1 where no gold label is -1, are treated: each different from all others, or as one
    more label. Leave out rows that are not to count.
"""


class MeasureModule(evaluate.EvaluationModule):  # type: ignore[misc]
    """A measure as a module of evaluate.

    The docstring of a subclass describes the measure and has an example. Columns, options and values are described as
    in the measure's own docstring and that of its result; the paper to cite is in the measure's card.

    Attributes
    ----------
    function : callable
        The measure. Its required parameters are evaluate's input columns; the others are options of `compute`.
    labels, allowed_labels, identifiers, probabilities, numbers, texts : tuple of str
        The columns by their content. All labels are either integers or strings, independently of the identifiers;
        `allowed_labels` has a list of labels in each row, `probabilities` a list of floats, `numbers` one in [0, 1].
    answers : tuple of str
        The columns of answers that the measure compares with one another; these modules have the option `unparsed`.
    """

    function: ClassVar[Callable[..., Any]]
    info_class: ClassVar[type[Any]]
    labels: ClassVar[tuple[str, ...]] = ()
    allowed_labels: ClassVar[tuple[str, ...]] = ()
    identifiers: ClassVar[tuple[str, ...]] = ()
    probabilities: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()
    texts: ClassVar[tuple[str, ...]] = ()
    answers: ClassVar[tuple[str, ...]] = ()
    _has_gold = True  # whether gold labels were given, where the measure can do without

    @property
    def columns(self) -> list[str]:
        """The names of the input columns; of labels the measure may do without `references`."""
        parameters = inspect.signature(self.function).parameters.values()
        return [p.name for p in parameters if p.default is p.empty or p.name in self.labels]

    @property
    def _needs_gold(self) -> bool:
        return CATALOGUE[self.function.__name__].needs_gold or "references" not in self.columns

    @property
    def options(self) -> list[str]:
        """The options of `compute`."""
        of_function = [name for name in inspect.signature(self.function).parameters if name not in self.columns]
        return of_function + ["unparsed"] * bool(self.answers)

    def _info(self) -> Any:
        description, _, examples = inspect.cleandoc(self.__doc__ or "").partition("\nExamples:\n")
        result = getattr(sys.modules[self.function.__module__], self.function.__annotations__["return"])
        arguments = _section(self.function, "Parameters") + _UNPARSED * bool(self.answers)
        values = "".join(_section(kind, "Attributes") for kind in result.__mro__ if issubclass(kind, Result))
        parts = {"Args": indent(arguments, "    "), "Returns": indent(values, "    "), "Examples": examples}
        card = files("paraconsist.metrics").joinpath(self.function.__name__, "README.md").read_text(encoding="utf-8")
        features = self._features()
        return self.info_class(
            description=description,
            citation=card.partition("```bibtex")[2].partition("```")[0],
            inputs_description="".join(f"\n{title}:\n{text.rstrip()}" for title, text in parts.items()) + "\n",
            features=features if len(features) > 1 else features[0],
        )

    def _features(self) -> list[Any]:
        """Return the possible features of the columns, best first."""
        alternatives = []
        for label, identifier in product(_TYPES, _TYPES):
            types = (
                dict.fromkeys(self.labels, datasets.Value(label))
                | dict.fromkeys(self.allowed_labels, datasets.List(datasets.Value(label)))
                | dict.fromkeys(self.identifiers, datasets.Value(identifier))
                | dict.fromkeys(self.probabilities, datasets.List(datasets.Value("float64")))
                | dict.fromkeys(self.numbers, datasets.Value("float64"))
                | dict.fromkeys(self.texts, datasets.Value("string"))
            )
            features = datasets.Features({name: types[name] for name in self.columns})
            if features not in alternatives:
                alternatives.append(features)
        return alternatives

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Add rows; they are checked here, before Arrow casts 1.7 to 1 and "3" to 3."""
        try:
            super().add_batch(**self._checked(self._filled(_named(predictions, references, columns))))
        except InputError:
            self._has_gold = self._has_gold or self.writer is None  # later rows may have gold labels
            raise

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:
        """Add one row."""
        self.add_batch(**{name: [value] for name, value in _named(prediction, reference, columns).items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **arguments: Any) -> dict[str, Any] | None:
        """Return the values of the measure for these rows, or for those added before."""
        named = _named(predictions, references, arguments)
        for name in named:
            if name not in self.columns and name not in self.options:
                raise unknown_option(self.name, name, [*self.columns, *self.options])
        optional = () if self._needs_gold or self.writer is not None else ("references",)
        missing = [name for name in self.columns if named.get(name) is None and name not in optional]
        if missing and (self.writer is None or len(missing) < len(self.columns)):
            raise input_error(self.name, missing[0], "be given", got=None)
        if self.writer is None:
            named = self._filled(named)
        if "references" in named and "references" not in self.columns:
            named[_REFERENCES] = named.pop("references")
        try:
            values: dict[str, Any] | None = super().compute(**named)
        except InputError:  # evaluate would keep its locks, and wait for them the next time
            for lock in self.filelocks or ():
                lock.release()
            raise
        return values

    def _compute(self, *, unparsed: str = "wrong", **arguments: Any) -> dict[str, Any]:
        if _REFERENCES in arguments:
            arguments["references"] = arguments.pop(_REFERENCES)
        if not self._has_gold:
            arguments["references"], self._has_gold = None, True
        check_choice(self.name, "unparsed", unparsed, POLICIES)
        notes = self._treat_unparsed(arguments, unparsed) if self.answers else []
        values: dict[str, Any] = self.function(**arguments).to_dict()
        if notes:
            values["warnings"] = [*notes, *values["warnings"]]
            values["signature"] = str(parse_signature(values["signature"]).replace(unparsed=unparsed))
        return values

    def _treat_unparsed(self, arguments: dict[str, Any], policy: str) -> list[str]:
        """Give each unparsed answer a value of its own if the policy is "wrong"; return a warning if there are any."""
        golds = [name for name, values in arguments.items() if name.endswith("references") and values is not None]
        columns = {n: as_column(arguments[n], function=self.name, parameter=n) for n in (*self.answers, *golds)}
        answers = {name: columns[name].tolist() for name in self.answers}
        mark = "" if columns[self.answers[0]].kind == "string" else -1
        is_label = any(mark in columns[name].tolist() for name in golds)
        n = sum(values.count(mark) for values in answers.values())
        if not n or is_label:
            return []
        if mark == -1 and not golds:
            return ["-1 is taken for a label: if it means unparsed, give gold labels, or names as labels and ''"]
        if policy == "wrong":
            lowest = 0 if mark == "" else min(chain.from_iterable(column.tolist() for column in columns.values()))
            others = (f"\0unparsed{i}" if mark == "" else lowest - 1 - i for i in range(n))
            if "unanswered" in self.options and arguments.get("unanswered") is None:
                arguments["unanswered"] = [mark in row for row in zip(*answers.values(), strict=True)]
            for name, values in answers.items():
                arguments[name] = [next(others) if value == mark else value for value in values]
        total = sum(map(len, answers.values()))
        return [f"{n} of {total} predictions are unparsed ({mark!r}) and {POLICIES[policy]}"]

    def _filled(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return columns with a place holder for gold labels that a measure does without: evaluate wants them all."""
        has_gold = (given := columns.get("references")) is not None
        if self.writer is not None and has_gold != self._has_gold and not self._needs_gold:
            raise input_error(self.name, "references", "be given in all batches or in none", got=given)
        if self._needs_gold or has_gold:
            return columns
        self._has_gold = False
        return {**columns, "references": columns.get("predictions")}

    def _checked(self, batch: Mapping[str, object]) -> dict[str, list[Any]]:
        """Return the columns of a batch as plain lists of one type, so that Arrow has nothing to cast."""
        for name in batch:
            if name not in self.columns:
                must = f"be one of the columns {', '.join(self.columns)}"
                raise input_error(self.name, name, must, remedy="Give options in `compute`.")
        columns: dict[str, Any] = {}
        for name in self.columns:
            if batch.get(name) is None:
                raise input_error(self.name, name, "be given", got=None)
            read: Any = as_allowed_labels if name in self.allowed_labels else as_column
            read = as_probability_rows if name in self.probabilities else read
            read = as_probabilities if name in self.numbers else read
            columns[name] = read(batch[name], function=self.name, parameter=name)
        check_same_length(self.name, columns)
        for name in self.texts:
            if columns[name].kind != "string":
                raise input_error(self.name, name, "hold texts", got=columns[name].tolist()[0], row=0)
        for name in (*self.labels, *self.identifiers) if self.writer is not None else ():
            stored = "string" if self.selected_feature_format[name].dtype == "string" else "integer"
            if columns[name].kind != stored:
                must = f"hold {stored}s, as in earlier batches"
                raise input_error(self.name, name, must, got=columns[name].tolist()[0], row=0)
        for name, column in columns.items():
            row = next((row for row, value in enumerate(column.tolist()) if _is_broken(value)), None)
            if row is not None:
                got, must = column.tolist()[row], "hold no half of a surrogate pair"
                raise input_error(self.name, name, must, got=got, row=row)
        labels = {name: columns[name] for name in self.labels}
        if labels:
            check_comparable(self.name, labels | {name: columns[name].labels() for name in self.allowed_labels})
        return {name: column.tolist() for name, column in columns.items()}


def _section(documented: object, title: str) -> str:
    """Return a section of a numpydoc docstring."""
    text = re.split(rf"^{title}\n-+\n", inspect.cleandoc(documented.__doc__ or "") + "\n", flags=re.MULTILINE)
    return re.split(r"^\w.*\n-+\n", text[1], flags=re.MULTILINE)[0].rstrip() + "\n" if len(text) > 1 else ""


def _is_broken(value: Any) -> bool:
    """Say whether a text cannot be stored, as it contains a lone surrogate."""
    return isinstance(value, str) and not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)


def _named(predictions: Any, references: Any, others: Mapping[str, object]) -> dict[str, Any]:
    """Return all arguments by name; evaluate passes predictions and references separately."""
    known = {"predictions": predictions, "references": references}
    return {name: values for name, values in known.items() if values is not None} | dict(others)


class Metric(MeasureModule, evaluate.Metric):  # type: ignore[misc]
    """A measure of one model's predictions."""

    info_class = evaluate.MetricInfo


class Comparison(MeasureModule, evaluate.Comparison):  # type: ignore[misc]
    """A test of two columns of predictions against each other."""

    info_class = evaluate.ComparisonInfo


class Measurement(MeasureModule, evaluate.Measurement):  # type: ignore[misc]
    """A measure of texts, with no model in it."""

    info_class = evaluate.MeasurementInfo
