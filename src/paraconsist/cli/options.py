"""Options: signatures and dataclasses of options as parameters of click.

Also the texts that options are written as (NAME=VALUE, a,b), and what commands print and write alike.
"""

from __future__ import annotations

import collections.abc
import inspect
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import click

from paraconsist.cli.ends import say, state
from paraconsist.comparing.rehearsal import end_rehearsal
from paraconsist.data.options import option
from paraconsist.errors import input_error, visible

if TYPE_CHECKING:
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.reporting.table import Part

#: The default of an option that must be given.
REQUIRED: Any = MISSING
#: The fields of a dataclass that were given: something else decides the others.
Given: TypeAlias = dict[str, Any]


def argument(help: str, default: Any = REQUIRED, **more: Any) -> Any:
    """Return the default of a parameter that is an argument on the command line, not an option."""
    return option(default, help, argument=True, **more)


#: Options of several commands.
AS_JSON: Any = option(False, "Print JSON, full precision, and nothing else.", option="--json")
MARKDOWN: Any = option(False, "Print the tables as Markdown.")
DRY_RUN: Any = option(False, "With --endpoint: show three requests and the estimate, and send nothing.")
OUTPUT: Any = option(None, "Also write the results to this JSON file.")


@dataclass(frozen=True)
class Fields:
    """Annotation of a parameter that takes fields of a dataclass: as the dataclass, or as a dictionary of what is set.

    A field's name, type, default and metadata make the option (see `paraconsist.data.options.option`).
    """

    group: Any = None  # a dataclass; by default the annotated type
    only: Collection[str] | None = None  # the fields that are options here, as `without`: all by default
    without: Collection[str] = ()
    unset: Collection[str] = ()  # fields without a default here: something else decides where nothing is given
    names: Mapping[str, str] = field(default_factory=dict)  # field -> its option here, where another has its name
    panel: str | None = None  # heading of the options in the help; by default the group's own `panel`

    def __iter__(self) -> Iterator[Field[Any]]:
        for one in fields(self.group):
            if one.name not in self.without and (self.only is None or one.name in self.only):
                yield one

    def parameters(self) -> Iterator[click.Parameter]:
        """Yield a parameter for each field."""
        hints = get_type_hints(self.group)
        for one in self:
            family = [kind for kind in self.group.__mro__ if one.name in getattr(kind, "__dataclass_fields__", ())]
            panel = self.panel or getattr(family[-1], "panel", None)  # the last declares the field
            metadata = {"panel": panel, **one.metadata}
            if one.name in self.names:
                metadata.pop("option", None)
            is_unset = one.name in self.unset or one.default_factory is not MISSING or one.default == ()
            default = None if is_unset else one.default
            default = ",".join(default) if isinstance(default, tuple) else default
            yield _parameter(self.names.get(one.name, one.name), hints[one.name], default, metadata)

    def take(self, values: Given) -> Given:
        """Take the fields' values out of the options' values."""
        hints = get_type_hints(self.group)
        taken = {one.name: values.pop(self.names.get(one.name, one.name)) for one in self}
        several = {name for name in taken if get_origin(_kind(hints[name])) is tuple}
        given = {name: value for name, value in taken.items() if value is not None}
        return {name: read_names(value) if name in several else value for name, value in given.items()}


def as_command(name: str, function: Callable[..., None]) -> Command:
    """Return the command of a function: its parameters, and the fields of its option groups, are the options.

    A group is a dataclass, or a dictionary that is annotated with `Fields` of one.
    """
    parameters: list[click.Parameter] = []
    groups: dict[str, tuple[Fields, Any]] = {}
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        hint, default = hints[parameter.name], parameter.default
        marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Fields)]
        if marks or is_dataclass(hint):
            kind = hint.__origin__ if marks else hint
            group = marks[0] if marks and marks[0].group else replace(*marks or [Fields()], group=kind)
            groups[parameter.name] = (group, kind)
            parameters += group.parameters()
        elif isinstance(default, Field):
            parameters.append(_parameter(parameter.name, hint, default.default, default.metadata))
        else:  # of another distribution: a plain default makes an option
            is_argument = default is inspect.Parameter.empty
            default = MISSING if is_argument else default
            parameters.append(_parameter(parameter.name, hint, default, {"argument": is_argument}))

    def run(**values: Any) -> None:
        values = {name: [*value] or None if isinstance(value, tuple) else value for name, value in values.items()}
        _options.clear()
        _options.update(values)
        _check_output(name, values)
        function(**{name: kind(**group.take(values)) for name, (group, kind) in groups.items()}, **values)

    options = [one for one in parameters if isinstance(one, click.Option)]
    typed = {one.name: one.opts[0] for one in options}
    for one in options:  # a help text names Python parameters, also those of another group of options
        one.help = re.sub(r"`(\w+)`", lambda match: typed.get(match[1], match[0]), one.help or "")
    return Command(name, params=parameters, callback=run, help=inspect.getdoc(function))


def _check_output(command: str, values: Mapping[str, Any]) -> None:
    """Raise if the file to be written is one that is read: it would be lost, and answers may have cost money."""
    output = values.get("output")
    if not isinstance(output, Path) or not output.is_file():
        return
    lists = [value if isinstance(value, list) else [value] for key, value in values.items() if key != "output"]
    paths = [Path(each) for each in itertools.chain(*lists) if each and isinstance(each, (str, Path))]
    runs = (path for path in paths if (path / "run.json").is_file())
    records = (run / name for run in runs for name in ("results.json", "run.json"))
    if output.resolve() in (path.resolve() for path in (*paths, *records)):
        raise input_error(command, "output", "be another file than those that are read", got=str(output))


def _parameter(name: str, hint: Any, default: Any, metadata: Mapping[str, Any]) -> click.Parameter:
    """Return the argument or option of a parameter or field."""
    kind = _kind(hint)
    is_list = get_origin(kind) in (list, collections.abc.Sequence, collections.abc.Mapping)
    item = get_args(kind)[0] if is_list else kind
    attributes: dict[str, Any] = {"type": _type(item, metadata), "required": default is MISSING}
    if default is not MISSING:
        attributes["default"] = default
    made: Any
    if metadata.get("argument"):
        made = click.Argument([name], nargs=-1 if is_list else 1, **attributes)
    else:
        dashed = name.replace("_", "-")
        names = metadata.get("option", f"--{dashed}/--no-{dashed}" if item is bool else f"--{dashed}")
        names = [names] if isinstance(names, str) else [*names]
        names += ["-o"] if names == ["--output"] else []
        attributes |= {"multiple": is_list, "is_flag": item is bool or None, "show_default": default is not False}
        attributes |= {"help": metadata.get("help"), "metavar": metadata.get("metavar")}
        made = click.Option([name, *names], **attributes)
    made.about, made.panel, made.rare = metadata.get("help"), metadata.get("panel"), bool(metadata.get("rare"))
    return cast(click.Parameter, made)


def _kind(hint: Any) -> Any:
    """A type without None."""
    is_union = get_origin(hint) in (Union, UnionType)
    return next(one for one in get_args(hint) if one is not NoneType) if is_union else hint


def _type(kind: Any, metadata: Mapping[str, Any]) -> Any:
    """What click reads a value with: names with commas between are one text."""
    least, most = metadata.get("min"), metadata.get("max")
    if kind is Path:
        return _PathOfAFile(path_type=Path)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if least is not None or most is not None:
        bounded: click.ParamType[Any] = click.IntRange(least, most) if kind is int else click.FloatRange(least, most)
        bounded.name = "integer" if kind is int else "float"
        return bounded
    return kind if kind in (bool, int, float) else str


class _PathOfAFile(click.Path):
    """A path; one with a zero byte, which no file has, is refused before the system is asked."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "\0" in str(value):
            self.fail("a path has no zero byte", param, ctx)
        return super().convert(value, param, ctx)


class Command(click.Command):
    """A command whose help begins with its examples and leaves rare options out."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        help_all = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_show_all
        )
        return [*super().get_params(ctx), help_all]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the line; of an option of one value that is given twice the last counts, which a warning says."""
        given: Any = self.make_parser(ctx).parse_args(args=[*args])[2]
        for one in dict.fromkeys(given):
            if given.count(one) > 1 and isinstance(one, click.Option) and not (one.multiple or one.is_flag):
                say(f"warning: {one.opts[0]} is given {given.count(one)} times: the last counts")
        return super().parse_args(ctx, args)

    @property
    def examples(self) -> list[str]:
        """The lines of the help's paragraph that calls the command."""
        return [line for text in self._paragraphs(True) for line in text.splitlines()]

    def _paragraphs(self, are_examples: bool) -> list[str]:
        texts = (self.help or "").split("\n\n")
        return [text for text in texts if text.startswith("paraconsist ") == are_examples]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        examples = ["\b\n" + "\n".join(self.examples)] if self.examples else []  # other distributions' have none
        for text in (*examples, *self._paragraphs(False)):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for panel, records in self.panels(ctx, rare=_ALL in ctx.meta).items():
            with formatter.section(panel):
                formatter.write_dl(records)
        if n := sum(getattr(parameter, "rare", False) for parameter in self.params) * (_ALL not in ctx.meta):
            formatter.write_paragraph()
            formatter.write_text(f"{n} more options: {ctx.command_path} --help-all")

    def panels(self, ctx: click.Context, *, rare: bool) -> dict[str, list[tuple[str, str]]]:
        """Return the arguments and options by their headings in the help, each with its help."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        parameter: Any
        for parameter in self.params:
            if isinstance(parameter, click.Argument):
                panels["Arguments"].append((parameter.make_metavar(ctx), getattr(parameter, "about", "") or ""))
            elif rare or not parameter.rare:
                panels.setdefault(parameter.panel or "Options", []).append(parameter.get_help_record(ctx))
        return {panel: records for panel, records in panels.items() if records}


_ALL = "paraconsist.help_all"


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


#: Of the command that is running, by name.
_options: Given = {}


def typed() -> dict[str, object]:
    """Return the command line and the options of the command that is running, to be kept beside its results.

    The values of ``--request-field`` are left out: they may be keys.
    """
    line, hide = ["paraconsist"], False
    for word in state.arguments:
        name, equals, value = word.partition("=")
        is_field = name.replace("_", "-") == "--request-field"
        line.append(f"{name}=..." if hide else f"{name}={value.partition('=')[0]}=..." if is_field and equals else word)
        hide = is_field and not equals
    options = {name: _plain(value) for name, value in _options.items()}
    if options.get("request_fields"):
        options["request_fields"] = [f"{field.partition('=')[0]}=..." for field in options["request_fields"]]
    return {"command": line, "options": options}


def _plain(value: Any) -> Any:
    return [str(one) for one in value] if isinstance(value, list) else str(value) if isinstance(value, Path) else value


def read_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``a,b``."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def read_numbers(command: str, option: str, text: str, kind: type = int) -> list[Any]:
    """Read ``0,1,2``."""
    try:
        return [kind(part) for part in str(text).split(",")]
    except ValueError:
        whole = "whole " if kind is int else ""
        raise input_error(command, option, f"be {whole}numbers with commas between", got=text) from None


def read_pairs(command: str, option: str, items: Sequence[str] | None, form: str = "NAME=VALUE") -> dict[str, str]:
    """Read items of the form ``NAME=VALUE``, each name once; the value begins after the last ``=`` of a label's map."""
    read: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.rpartition("=") if form.startswith("MODEL_LABEL") else item.partition("=")
        if not equals or not name or not value or name in read:
            raise input_error(command, option, f"be items of the form {form}, each once", got=item)
        read[name] = value
    return read


def read_label_map(command: str, items: Sequence[str] | None) -> dict[str, str] | None:
    """Read a label map; None where none is given."""
    return read_pairs(command, "label_map", items, "MODEL_LABEL=TASK_LABEL") or None


def read_values(command: str, option: str, items: Sequence[str] | None) -> Given:
    """Read ``NAME=VALUE`` items with values as `read_value` reads them; the names are those of Python."""
    read = read_pairs(command, option, items)
    return {name.strip().replace("-", "_"): read_value(value) for name, value in read.items()}


def read_value(text: str) -> Any:
    """Read a value as YAML does (5, true, null, [a, b], words); 3e-5 is a number too, and None nothing."""
    from paraconsist.data.foreign import parse_yaml

    if text == "None":
        return None
    if re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", text):
        return float(text)
    try:
        return parse_yaml(text)
    except ValueError:
        return text


def write_results(function: str, output: Path | None, results: Any) -> None:
    """Write results as JSON where a file was named."""
    from paraconsist.files import write_json, writing

    end_rehearsal()
    if output is not None:
        with writing(function, "output", output, kind="file"):
            write_json(output, results)


def echo(*lines: str) -> None:
    """Print lines as plain text, the one way but for tables: what would steer the terminal is shown, not obeyed."""
    for line in lines:
        click.echo(visible(line))


def print_json(results: Any) -> None:
    """Print results as strict JSON."""
    from paraconsist.files import to_json

    echo(*to_json(results).split("\n"))


def show_results(results: Any, parts: Iterable[Part], *, as_json: bool, markdown: bool = False) -> None:
    """Print results as JSON, else as tables, in the terminal or in Markdown."""
    from paraconsist.reporting.table import show

    end_rehearsal()
    if as_json:
        print_json(results)
    else:
        show(parts, markdown=markdown)


def endpoint_fields(*, only: Collection[str] | None = None, without: Collection[str] = (), **names: str) -> Fields:
    """Return the options of models behind an endpoint; a command may have only some, and call some otherwise."""
    from paraconsist.models.endpoint.settings import EndpointSettings

    own, panel = [one.name for one in fields(EndpointSettings)], "Models behind an endpoint"
    return Fields(EndpointSettings, only=only, without=("patience", *without), unset=own, names=names, panel=panel)


def endpoint_settings(options: Given) -> EndpointSettings | None:
    """Return what the options of `endpoint_fields` say of an endpoint; None where there is none."""
    if not options:
        return None
    from paraconsist.models.endpoint.settings import EndpointSettings, read_fields

    if "urls" not in options:  # the option's value is not shown: it may be a key
        remedy = "This command's model is a local one."
        raise input_error("run", next(iter(options)), "be given only with `endpoint`", remedy=remedy)
    return EndpointSettings(**{**options, "request_fields": read_fields(options.get("request_fields"))})


def quiet_libraries() -> None:
    """Leave standard error to this command: no progress bars and notices of the libraries below."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
