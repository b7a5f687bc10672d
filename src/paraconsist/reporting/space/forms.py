"""What a page asks of a visitor, what the visitor answers, and what the page then shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from paraconsist.data.predictions import Predictions
from paraconsist.measures.catalogue import MeasureSpec
from paraconsist.reporting.page.entries import Entry


@dataclass(frozen=True)
class Field:
    """A question to the visitor: which column is this?"""

    key: str  # what the code calls it
    label: str  # what the visitor reads, as the info
    guesses: Sequence[str]  # names that such columns have, best first
    info: str = ""
    required: bool = True
    many: bool = False  # several columns may be chosen, such as one for each class


@dataclass(frozen=True)
class Layout:
    """One way in which a file can be laid out.

    `sides` is for files with all texts of a bucket in one row: role -> what its column is called in the long format ->
    the field that names it. Empty where every row is one text.
    """

    key: str
    label: str
    fields: Sequence[Field]
    sides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """A choice among few: `key` is the function's parameter, the first of `choices` (label, value) its default."""

    key: str
    label: str
    choices: Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class Headline:
    """A number in large type."""

    label: str
    path: tuple[str, ...]  # among the keys; its interval stands at the same path under ``confidence_interval``
    style: str = "percent"  # percent, points (of a difference), number or p


@dataclass(frozen=True)
class Query:
    """What the visitor gave."""

    predictions: Predictions
    layout: Layout
    columns: Mapping[str, Any]  # field key -> column name (a list where the field takes several), None if not chosen
    label_names: Sequence[str] = ()  # of the labels 0, 1, ... if they were given
    confidence_level: float = 0.95  # of the interval, as the two that follow
    n_resamples: int = 10_000
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # the module's own

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


@dataclass(frozen=True)
class Flips:
    """Where the predictions differ, worst first."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]  # cells, not yet escaped; a list has several lines; at most `MOST` rows
    n: int  # how many there are in all


@dataclass(frozen=True)
class PageResult:
    """What a module shows of a visitor's file."""

    keys: Mapping[str, Any]  # what the measure's function returns
    figure: str = ""  # an SVG of what is in no report, empty where there is nothing to draw
    caption: str = ""  # what the figure shows
    flips: Flips | None = None  # where there is no report
    entries: Sequence[Entry] = ()  # of the report
    warnings: Sequence[str] = ()  # beside those among the keys
    command: Sequence[str] = ()  # the same on the command line, FILE standing for the file; empty where it has none


@dataclass(frozen=True)
class Module:
    """A metric's page."""

    spec: MeasureSpec  # what the catalogue says of the measure
    layouts: Sequence[Layout]
    headlines: Sequence[Headline]
    measure: Callable[[Query], PageResult]  # what the visitor gave -> what the page shows
    example_file: str  # in examples/: a small CSV in a layout of the module, our own sentences and invented answers
    options: Sequence[Option] = ()

    def example(self) -> str:
        """Return the content of the example file."""
        return files("paraconsist.reporting.space").joinpath("examples", self.example_file).read_text(encoding="utf-8")

    def layout(self, key: str) -> Layout:
        """Return the layout of this key."""
        return next(layout for layout in self.layouts if layout.key == key)
