"""Options: fields with a default and a help text, from which Python functions and commands are made alike.

`SourceOptions` says how predictions and logs are read. `taken` turns the keywords of a function into such dataclasses,
`documented` shows them in its signature and docstring, and `paraconsist.cli.options.spread` makes command-line options
of them. Only the standard library is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from textwrap import wrap
from typing import Any, ClassVar, TypeVar

from paraconsist.errors import InputError, check_names, unknown_option

# Help texts of options that several commands have.
DATA_DIR = "Folder with the upstream files, used instead of the network."
DEVICE = "cpu, cuda or mps; by default the best one available."
LABEL_MAP = "MODEL_LABEL=TASK_LABEL, repeated; may be many-to-one."
LABEL_RULE = "Where labels map many to one: 'argmax' (the most probable label) or 'sum' (their probabilities)."
TASK = "Task of the rows, where their columns do not say."

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Options = TypeVar("_Options")


def option(default: Any, help: str, **more: Any) -> Any:
    """Return a dataclass field with its default and its help text.

    Of `more`, ``min`` and ``max`` are bounds, ``metavar`` is what the help shows for the value, ``panel`` the heading
    there. ``option`` is the name on the command line if it differs from the field's; ``rare`` leaves the option to
    ``--help-all``; ``none`` is what None means in Python, by default the default. The class itself may read others
    (``at_least``, ``choices``).
    """
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True)
class SourceOptions:
    """Names of the columns of predictions, and how logs of other tools are read.

    Names of columns are also fields of logs: paths or expressions (`paraconsist.data.logs.fields`). `bucket` (which the
    rows of a full test set lack), `prediction` and `label` are required; other columns may be absent under their
    default names. The labels that a rule allows a row are in the column ``allowed_labels``. In a log, the default names
    of `label`, `prediction` and `probabilities` leave these to the format.
    """

    panel: ClassVar[str] = "Columns and logs"
    bucket: str = option(
        "bucket_id",
        "Column of the bucket ids. This and the columns below may also be a path (doc.question_id), a pattern "
        r"(doc.id ~ '^(\d+)-'), a comparison (doc.kind == 'original') or a template ({doc.set}-{doc.number}).",
    )
    prediction: str = option(
        "prediction", "Column of the predictions (a,b,c: of several models); for logs, in place of the tool's."
    )
    label: str = option("label", "Column of the gold labels; without one, what needs none is computed.", none="")
    role: str = option("role", "Column that says 'original' or 'paraphrase'; without it all rows are paraphrases.")
    original: str | None = option(
        None, "True/false column or comparison that marks originals, in place of `role`.", rare=True
    )
    original_prediction: str | None = option(
        None,
        "For files with a pair in each row: column of the originals' predictions (a,b,c: of several models).",
        rare=True,
    )
    label_names: tuple[str, ...] | None = option(
        None, "Names of the labels 0,1,..., if gold labels are names and predictions are numbers.", rare=True
    )
    group: str = option(
        "group_id", "Column of the sampling units of intervals, such as a shared context; by default buckets."
    )
    groups_from: Path | None = option(
        None,
        "A table with the columns of `bucket` and `group`, if the predictions have no column of groups.",
        rare=True,
    )
    example: str = option("example_id", "Column that identifies the rows of a bucket; optional.", rare=True)
    trial: str | None = option(
        None,
        "For several answers to each `example`: column with the number of the answer, epoch in inspect logs. The first "
        "answer is scored; all are used for the noise floor.",
        rare=True,
    )
    variant: str | None = option(
        None,
        "Column that names the wording of each row, if buckets share wordings, such as prompt templates: "
        "prompt_sensitivity then reports how much accuracy depends on it. file: each file, or task, is a wording.",
        rare=True,
    )
    places: tuple[str, ...] | None = option(
        None,
        "For judges asked in both orders (roles given and swapped): names of the text shown first and second in the "
        "given order, and of ties, such as A,B,tie: symmetric_inconsistency then reports the position bias.",
        rare=True,
    )
    relations: Path | None = option(
        None,
        "For files of statements, with a role and a probability in each row: YAML file with your own relations "
        "between them, name: {role: formula}.",
        rare=True,
    )
    confidence: str | None = option(
        None, "Column of the probability of the gold label, in place of `probabilities`.", rare=True
    )
    probabilities: tuple[str, ...] = option(
        ("probabilities",),
        "Column of lists of probabilities, or one column a label: P0,P1,... in the labels' order, or named after them.",
        rare=True,
    )
    stratum: Sequence[str] | None = option(
        None, "Column to break results down by; repeat for several. By default those that the run names."
    )
    same: str | None = option(
        None,
        "When two answers in free text are the same: text, number, choice, tokens, similar, json, judge:FILE, ... "
        "(`paraconsist list --comparers`), or a function of yours, module:function.",
    )
    right: str | None = option(
        None, "With `same`: when an answer is the same as an accepted one (gold label); by default `same`.", rare=True
    )
    classes: Path | None = option(
        None,
        "With `same`: a table with the columns bucket_id, answer and class, as a report's browser saves it: classes of "
        "answers made by hand, which come before the comparer's verdicts.",
        rare=True,
    )
    metric: str | None = option(
        None, "For logs: the metric (in inspect logs the scorer) that decides which answers are right.", rare=True
    )
    filter: str | None = option(
        None,
        "For lm-eval logs with several filters, and promptfoo's results of several providers or prompts: which to use.",
        option="--filter",
        rare=True,
    )
    model: str | None = option(
        None,
        "For a table with rows of several models, which its column model, model_name or model_id names: only this one. "
        "`compare`, `report` and `leaderboard` take each of them for a model of its own.",
        rare=True,
    )
    epoch: int | None = option(None, "For inspect logs with several epochs: only this one.", min=1, rare=True)
    labelled: bool = option(
        False, "Leave out the problems that have a wording without a gold label (or accepted answer).", rare=True
    )
    exclude: Path | Sequence[str] | None = option(
        None, "A table with a column bucket_id: buckets to leave out, such as those marked in a report.", rare=True
    )
    encoding: str | None = option(
        None, "Encoding of CSV and JSON Lines that are not UTF-8, such as latin-1 or cp1252.", rare=True
    )

    def __post_init__(self) -> None:
        """Read texts with commas as several names."""
        columns: Any = self.prediction
        if isinstance(columns, (list, tuple)):
            object.__setattr__(self, "prediction", ",".join(check_names("", "prediction", columns)))
        for name in ("label_names", "places", "probabilities"):
            value = getattr(self, name)
            if value is not None:
                names = value.split(",") if isinstance(value, str) else check_names("", name, value)
                object.__setattr__(self, name, tuple(names))

    def named(self, name: str) -> Any:
        """Return an option that the user changed, or None if it has its default."""
        value = getattr(self, name)
        return None if value == getattr(SourceOptions, name) else value


def taken(function: Callable[..., Any], values: Mapping[str, Any], *classes: type[_Options]) -> list[Any]:
    """Return keywords of a function as instances of option classes; None stands for the default, or for ``none``.

    A text in place of several is one of them. InputError for a name that no class has, with the most similar name.
    """
    of_classes = [{each.name: each for each in fields(options)} for options in classes]  # type: ignore[arg-type]
    declared = {name: each for of_class in of_classes for name, each in of_class.items()}
    taken: dict[str, Any] = {}
    for name, given in values.items():
        if name not in declared:
            parameters = [p.name for p in signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
            raise unknown_option(function.__name__, name, {*declared, *parameters})
        value = declared[name].metadata.get("none") if given is None else given
        if value is not None:
            is_one = isinstance(value, str) and str(declared[name].type).startswith("Sequence[str]")
            taken[name] = (value,) if is_one else value
    try:
        return [
            options(**{name: taken[name] for name in taken.keys() & of_class.keys()})
            for options, of_class in zip(classes, of_classes, strict=True)
        ]
    except InputError as problem:
        problem.function = problem.function or function.__name__
        raise


def converted(options: Any, target: type[_Options], **changes: Any) -> _Options:
    """Return options as another class: the values of the fields that both classes have, with changes."""
    common = {each.name for each in fields(target)} & vars(options).keys()  # type: ignore[arg-type]
    return target(**{**{name: getattr(options, name) for name in common}, **changes})


def documented(*classes: type) -> Callable[[_Function], _Function]:
    """Return a decorator that lists the fields of option classes as parameters of a function with ``**options``."""

    def decorate(function: _Function) -> _Function:
        whole = signature(function)
        own = [each for each in whole.parameters.values() if each.kind is not each.VAR_KEYWORD]
        options = {each.name: each for options in classes for each in fields(options)}
        listed = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for name, each in options.items()
        ]
        function.__signature__ = whole.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]
        lines = cleandoc(function.__doc__ or "").split("\n")
        headings = [number for number, line in enumerate(lines[1:]) if line and not line.strip("-")]
        start = next((number for number in headings if lines[number] != "Parameters"), len(lines) + 1)
        entries, indent = list[str](), " " * 4
        for name, each in options.items():
            shown = ", ".join(each.default) if isinstance(each.default, tuple) else repr(each.default)
            usual = "" if each.default is None else f", default {shown}"
            text = wrap(each.metadata["help"], 110, initial_indent=indent, subsequent_indent=indent)
            entries += [f"{name} : {each.type}{usual}", *text]
        function.__doc__ = "\n".join([*lines[: start - 1], *entries, "", *lines[start:]])
        return function

    return decorate
