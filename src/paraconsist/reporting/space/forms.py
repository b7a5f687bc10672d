"""What a page asks of a visitor, what the visitor answers, and what the page then shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paraconsist.data.predictions import Predictions
from paraconsist.measures.catalogue import MeasureSpec


@dataclass(frozen=True)
class Field:
    """A question to the visitor: which column is this?

    Attributes
    ----------
    key : str
        What the code calls it.
    label, info : str
        What the visitor reads.
    guesses : sequence of str
        Names that such columns have, best first.
    required : bool
    many : bool
        Several columns may be chosen, such as one for each class.
    """

    key: str
    label: str
    guesses: Sequence[str]
    info: str = ""
    required: bool = True
    many: bool = False


@dataclass(frozen=True)
class Layout:
    """One way in which a file can be laid out.

    Attributes
    ----------
    key, label : str
    fields : sequence of Field
    sides : mapping of str to mapping of str to str
        For files with all texts of a bucket in one row: role -> what its column is called in the long format ->
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
    """A number in large type.

    Attributes
    ----------
    label : str
    path : tuple of str
        Where it stands among the keys; its interval stands at the same path under ``confidence_interval``.
    style : {"percent", "number", "p"}
    """

    label: str
    path: tuple[str, ...]
    style: str = "percent"


@dataclass(frozen=True)
class Query:
    """What the visitor gave.

    Attributes
    ----------
    predictions : Predictions
        The file.
    layout : Layout
    columns : mapping
        Field key -> column name (a list where the field takes several), None where nothing was chosen.
    label_names : sequence of str
        Names of the labels 0, 1, ... if they were given.
    confidence_level, n_resamples, seed
        Of the interval.
    options : mapping
        The module's own.
    """

    predictions: Predictions
    layout: Layout
    columns: Mapping[str, Any]
    label_names: Sequence[str] = ()
    confidence_level: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def intervals(self) -> dict[str, Any]:
        """What every measure takes."""
        return {"confidence_level": self.confidence_level, "n_resamples": self.n_resamples, "seed": self.seed}


@dataclass(frozen=True)
class Flips:
    """Where the predictions differ, worst first.

    Attributes
    ----------
    title : str
    header : sequence of str
    rows : list of lists
        Cells, not yet escaped; a cell that is a list has several lines. At most `MOST` rows.
    n : int
        How many there are in all.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    n: int


@dataclass(frozen=True)
class PageResult:
    """What a module shows of a visitor's file.

    Attributes
    ----------
    keys : dict
        What the measure's function returns.
    figure, caption : str
        An SVG, empty where there is nothing to draw, and what it shows.
    flips : Flips, optional
    warnings : sequence of str
        Beside those among the keys.
    command : sequence of str
        The same on the command line, FILE standing for the file; empty where it has no such command.
    """

    keys: Mapping[str, Any]
    figure: str = ""
    caption: str = ""
    flips: Flips | None = None
    warnings: Sequence[str] = ()
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Module:
    """A metric's page.

    Attributes
    ----------
    spec : MeasureSpec
        What the catalogue says of the measure.
    layouts : sequence of Layout
    headlines : sequence of Headline
    measure : callable
        What the visitor gave -> what the page shows.
    example : callable
        Returns a small CSV with a header, in a layout of the module.
    options : sequence of Option
    """

    spec: MeasureSpec
    layouts: Sequence[Layout]
    headlines: Sequence[Headline]
    measure: Callable[[Query], PageResult]
    example: Callable[[], str]
    options: Sequence[Option] = ()

    def layout(self, key: str) -> Layout:
        """Return the layout of this key."""
        return next(layout for layout in self.layouts if layout.key == key)
