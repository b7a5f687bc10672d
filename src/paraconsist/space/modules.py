"""What the interface knows of a module: the columns it asks for, its options, and how its page is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paraconsist.data.predictions import Predictions


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

    def guessed_by(self, found: Mapping[str, Any]) -> bool:
        """Say whether every field that must be chosen has a column."""
        return all(found.get(one.key) for one in self.fields if one.required)


@dataclass(frozen=True)
class Option:
    """A choice among few, such as a method.

    Attributes
    ----------
    key : str
        The parameter of the measure's function.
    label, info : str
    choices : sequence of (shown, value)
        The first is what the function does by default.
    """

    key: str
    label: str
    choices: Sequence[tuple[str, Any]]
    info: str = ""


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
class Chosen:
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
class Found:
    """What a module found.

    Attributes
    ----------
    keys : dict
        What the measure's function returns.
    warnings : sequence of str
        Beside those among the keys.
    figure : str
        An SVG, empty where there is nothing to draw.
    caption : str
        What the figure shows.
    flips : Flips, optional
    command : sequence of str
        The same on the command line, FILE standing for the file; empty where it has no such command.
    """

    keys: Mapping[str, Any]
    warnings: Sequence[str] = ()
    figure: str = ""
    caption: str = ""
    flips: Flips | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Module:
    """A metric's page.

    Attributes
    ----------
    name : str
        As `evaluate.load` knows it.
    title, question : str
    direction : str
        Which end is good.
    layouts : sequence of Layout
    headlines : sequence of Headline
    measure : callable
        What the visitor gave -> what was found.
    example : callable
        Returns a small CSV with a header, in a layout of the module.
    options : sequence of Option
    has_interval_options : bool
        False where the interval is exact, so that resamples and seed play no part.
    """

    name: str
    title: str
    question: str
    direction: str
    layouts: Sequence[Layout]
    headlines: Sequence[Headline]
    measure: Callable[[Chosen], Found]
    example: Callable[[], str]
    options: Sequence[Option] = ()
    has_interval_options: bool = True

    def layout(self, key: str) -> Layout:
        """Return the layout of this key."""
        return next(one for one in self.layouts if one.key == key)
