"""Options: what several commands take is said once, as the fields of a dataclass, and spread out over them.

Also the texts that options are written as (NAME=VALUE, a,b), and what commands print and write alike.
"""

from __future__ import annotations

import collections.abc
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from paraconsist.cli.ends import state
from paraconsist.data.options import DEVICE, LABEL_MAP, TASK, option
from paraconsist.errors import input_error, visible
from paraconsist.models.endpoint.settings import EndpointSettings, read_request_fields

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")]
Output = Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")]
Device = Annotated[str | None, typer.Option(help=DEVICE)]
LabelMap = Annotated[list[str] | None, typer.Option(help=LABEL_MAP)]


@dataclass(frozen=True)
class RowOptions:
    """Where labelled rows come from, as in `paraconsist.transforms.labelled_sets.load_labelled`."""

    task: str | None = option(None, TASK)
    columns: Sequence[str] = option((), "TASK_COLUMN=FILE_COLUMN, where the names differ; repeat for several.")
    label_names: str | None = option(None, "Names of numbered labels in order, such as entailment,not_entailment.")
    split: str = option("test", "Split of a builder's, folder's or Hub set.")
    data_dir: str | None = option(
        None, "Folder with the upstream files, used instead of the network, for builder:config."
    )


@dataclass(frozen=True)
class Fields:
    """Marks a parameter that takes fields of a dataclass as a dictionary, in which is only what has a value.

    A field's name, type, default and ``metadata["help"]`` make the option. ``min``, ``max`` and ``rich_help_panel`` in
    the metadata are typer's; ``option`` is what the option is called, if not as the field is.
    """

    group: Any  # a dataclass
    only: Collection[str] | None = None  # the fields that are options here, as `without`: all by default
    without: Collection[str] = ()
    unset: Collection[str] = ()  # without a default of their own here: something else decides where nothing is given
    names: Mapping[str, str] = field(default_factory=dict)  # field -> its option here, where another has its name
    panel: str | None = None  # heading of the options in the help; by default the group's own `panel`

    def __iter__(self) -> Iterator[Field[Any]]:
        for one in fields(self.group):
            if one.name not in self.without and (self.only is None or one.name in self.only):
                yield one

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Yield a parameter for each field, as typer takes it."""
        hints = get_type_hints(self.group)
        options = {one.name: self._option(one) for one in self}
        for one in self:
            more: dict[str, Any] = {"help": re.sub(r"`(\w+)`", lambda m: options.get(m[1], m[0]), one.metadata["help"])}
            more |= {"option": ()} if one.name in self.names else {}
            hint, default = _typed_as(hints[one.name]), one.default
            if one.name in self.unset or one.default_factory is not MISSING or default == ():
                hint, default = hint | None, None
            elif isinstance(default, tuple):
                default = ",".join(default)
            panel = self.panel or getattr(_declaring(self.group, one.name), "panel", None)
            yield inspect.Parameter(
                self.names.get(one.name, one.name),
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=Annotated[hint, _declared({"rich_help_panel": panel, **one.metadata, **more})],
            )

    def _option(self, one: Field[Any]) -> str:
        """How the help of other fields calls a field."""
        usual = f"--{self.names.get(one.name, one.name).replace('_', '-')}"
        declared = usual if one.name in self.names else one.metadata.get("option", usual)
        return str(declared if isinstance(declared, str) else declared[0]).partition("/")[0]

    def take(self, values: dict[str, Any]) -> dict[str, Any]:
        """Take the fields' values out of the options' values."""
        hints = get_type_hints(self.group)
        taken = {one.name: _read(hints[one.name], values.pop(self.names.get(one.name, one.name))) for one in self}
        return {name: value for name, value in taken.items() if value is not None}


def _declaring(group: Any, name: str) -> Any:
    """Return the class of a family of options that declares a field."""
    return [kind for kind in group.__mro__ if name in getattr(kind, "__dataclass_fields__", ())][-1]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are option groups are replaced by the fields of the group, as options.

    A group is a dataclass, or a dictionary that is annotated with `Fields` of one.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Fields, Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        hint = parameter.annotation
        marks = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Fields)]
        if marks or is_dataclass(hint):
            group = groups[parameter.name] = (marks[0], dict) if marks else (Fields(hint), hint)
            parameters += group[0].parameters()
        elif isinstance(one := parameter.default, Field):
            hint = Annotated[hint, _declared(one.metadata)]
            parameters.append(parameter.replace(default=one.default, annotation=hint))
        else:
            parameters.append(parameter)

    def spread_out(**values: Any) -> None:
        _options.clear()
        _options.update(values)
        made = {name: kind(**group.take(values)) for name, (group, kind) in groups.items()}
        command(**values, **made)

    parameters.sort(key=lambda p: p.kind is inspect.Parameter.KEYWORD_ONLY)
    spread_out.__name__, spread_out.__doc__ = command.__name__, command.__doc__
    spread_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread_out


#: Of the command that is running, by name.
_options: dict[str, Any] = {}


def typed() -> dict[str, Any]:
    """Return the command line and the options of the command that is running, to be kept beside its results.

    The values of ``--request-field`` are left out: they may be keys.
    """
    line, hide = ["paraconsist"], False
    for word in state.arguments:
        name, equals, value = word.partition("=")
        is_field = name.replace("_", "-") == "--request-field"
        line.append(f"{name}=..." if hide else f"{name}={value.partition('=')[0]}=..." if is_field and equals else word)
        hide = is_field and not equals
    options = {**_options}
    if options.get("request_fields"):
        options["request_fields"] = [f"{field.partition('=')[0]}=..." for field in options["request_fields"]]
    return {"command": line, "options": {name: _plain(value) for name, value in options.items()}}


def _plain(value: Any) -> Any:
    return [str(one) for one in value] if isinstance(value, list) else str(value) if isinstance(value, Path) else value


def _declared(metadata: Mapping[str, Any]) -> Any:
    """What typer makes an option of: its help, its names if they are not the parameter's, bounds and panel."""
    names = metadata.get("option", ())
    known = {
        key: value for key, value in metadata.items() if key in ("help", "min", "max", "metavar", "rich_help_panel")
    }
    return typer.Option(*([names] if isinstance(names, str) else names), **known)


def _kind(hint: Any) -> Any:
    """A field's type without None."""
    is_union = get_origin(hint) in (Union, UnionType)
    return next(one for one in get_args(hint) if one is not NoneType) if is_union else hint


def _typed_as(hint: Any) -> Any:
    """What typer reads a field's value as: names with commas between are one text, items are texts."""
    kind, lists = _kind(hint), (collections.abc.Sequence, collections.abc.Mapping)
    typed: Any = list[str] if get_origin(kind) in lists else str if get_origin(kind) in (tuple, Literal) else kind
    return typed if kind is hint else typed | None


def _read(hint: Any, value: Any) -> Any:
    if value == []:
        return None
    return read_names(value) if get_origin(_kind(hint)) is tuple else value


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


def read_values(command: str, option: str, items: Sequence[str] | None) -> dict[str, Any]:
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

    if output is not None:
        with writing(function, "output", output, kind="file"):
            write_json(output, results)


def echo(*lines: str) -> None:
    """Print lines as plain text, the one way but for tables: what would steer the terminal is shown, not obeyed."""
    for line in lines:
        typer.echo(visible(line))


def print_json(results: Any) -> None:
    """Print results as strict JSON."""
    from paraconsist.files import to_json

    echo(*to_json(results).split("\n"))


def endpoint_fields(*, only: Collection[str] | None = None, **names: str) -> Fields:
    """Return the options of models behind an endpoint; a command may have `only` some, and call some otherwise."""
    own, panel = [one.name for one in fields(EndpointSettings)], "Models behind an endpoint"
    return Fields(EndpointSettings, only=only, without=("patience",), unset=own, names=names, panel=panel)


def endpoint_settings(options: Mapping[str, Any]) -> EndpointSettings | None:
    """Return what the options of `endpoint_fields` say of an endpoint; None where there is none."""
    if not options:
        return None
    if "urls" not in options:  # the option's value is not shown: it may be a key
        remedy = "This command's model is a local one."
        raise input_error("run", next(iter(options)), "be given only with `endpoint`", remedy=remedy)
    return EndpointSettings(**{**options, "request_fields": read_request_fields(options.get("request_fields"))})


def quiet_libraries() -> None:
    """Leave standard error to this command: no progress bars and notices of the libraries below."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
