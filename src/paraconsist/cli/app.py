"""The command line: which commands there are, `--config`, and how errors end.

Command modules import nothing heavy at import time, so that ``paraconsist --help`` is quick.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from paraconsist._version import __version__
from paraconsist.cli.artifacts import artifacts
from paraconsist.cli.build import build, list_
from paraconsist.cli.check import check
from paraconsist.cli.compare import compare
from paraconsist.cli.gate import gate
from paraconsist.cli.ie_test import ie_test
from paraconsist.cli.options import echo, spread
from paraconsist.cli.paraphrase import paraphrase
from paraconsist.cli.perturb import perturb
from paraconsist.cli.plan import plan
from paraconsist.cli.push import push
from paraconsist.cli.report import report, space
from paraconsist.cli.run import demo, run
from paraconsist.cli.score import score
from paraconsist.cli.select import select
from paraconsist.cli.sensitivity import sensitivity
from paraconsist.cli.studies import adversarial, sweep
from paraconsist.cli.train import train
from paraconsist.cli.transform import transform
from paraconsist.errors import InputError, extras, input_error, visible

#: Exit codes: what was asked cannot be done as asked; and: stopped by the user.
BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help=(
        "Does a language model give the same answer however a question is phrased?\n\n"
        "Every command takes --config FILE.yaml with its options by name; options on the command line win."
    ),
)
_COMMANDS: tuple[Any, ...] = (
    demo,
    build,
    train,
    run,
    score,
    compare,
    plan,
    report,
    gate,
    perturb,
    paraphrase,
    sensitivity,
    transform,
)
_COMMANDS += (ie_test, select, artifacts, sweep, adversarial, push, space, check, list_)
for _command in _COMMANDS:
    app.command(_command.__name__.rstrip("_").replace("_", "-"))(spread(_command))


def _version(value: bool) -> None:
    if value:
        echo(f"paraconsist {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 2 bad input (one line on standard error), 130 interrupted."""
    command: Any = typer.main.get_command(app)
    warnings.showwarning = _show_warning
    line: list[str] = []
    code: Any = INTERRUPTED
    try:
        line, defaults = _take_config(_with_dashes(sys.argv[1:] if arguments is None else list(arguments)))
        _check_config(command, line, defaults)
        with extras("paraconsist"):
            code = command.main(
                args=line,
                prog_name="paraconsist",
                standalone_mode=False,
                default_map=dict.fromkeys(command.commands, defaults),
            )
    except InputError as problem:
        _say(f"error: {_as_typed(problem, command, line)}")
        sys.exit(BAD_INPUT)
    except _usage_errors() as usage:
        if _talks():
            usage.message = visible(usage.message)
            usage.show()
        sys.exit(usage.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:  # newer typers turn Ctrl-C into an exit code of their own
        _say("interrupted: what was finished is kept; the same command goes on from there.")
    sys.exit(code if isinstance(code, int) else 0)


def _as_typed(problem: InputError, command: Any, arguments: Sequence[str]) -> InputError:
    """Return the error with the command's name and its options, where it names functions and their parameters."""
    name = next((argument for argument in arguments if argument in command.commands), None)
    if name is None:
        return problem
    options = {
        called.lstrip("-").replace("-", "_"): max(parameter.opts, key=len)
        for parameter in command.commands[name].params
        for called in (parameter.name, *parameter.opts)
        if any(option.startswith("-") for option in parameter.opts)
    }
    problem.function = name
    problem.parameter = options.get((problem.parameter or "").replace("-", "_"), problem.parameter)
    problem.must, problem.remedy = (
        re.sub(r"`(\w+)`", lambda found: f"`{options.get(found[1], found[1])}`", text)
        for text in (problem.must, problem.remedy)
    )
    return problem


def _usage_errors() -> tuple[Any, ...]:
    """Return what a wrong command line raises; newer typers bring a click of their own, with its own errors."""
    modules = (sys.modules.get(name) for name in ("click.exceptions", "typer._click.exceptions"))
    return tuple(module.ClickException for module in modules if module is not None)


def _talks() -> bool:
    """Only one of several processes prints."""
    return os.environ.get("RANK", "0") == "0"


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning meant for the user as one line; those meant for programmers stay silent."""
    if issubclass(category, UserWarning):
        _say(f"warning: {message}")


def _say(line: str) -> None:
    if _talks():
        print(visible(line), file=sys.stderr)


def _with_dashes(arguments: list[str]) -> list[str]:
    """Accept ``--batch_tokens`` for ``--batch-tokens``."""
    out = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        out.append(name.replace("_", "-") + equals + value if name.startswith("--") else argument)
    return out


def _take_config(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Take ``--config FILE`` out of the arguments; return the rest and what the file says."""
    rest: list[str] = []
    defaults: dict[str, Any] = {}
    pending = iter(arguments)
    for argument in pending:
        if argument != "--config" and not argument.startswith("--config="):
            rest.append(argument)
            continue
        name = argument.partition("=")[2] or next(pending, "")
        defaults.update(_read_config(name))
    return rest, defaults


def _read_config(name: str) -> dict[str, Any]:
    import yaml

    path = Path(name)
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8")) if name else None
    except (OSError, UnicodeDecodeError):
        raise input_error("paraconsist", "config", "name a text file that can be read", got=name) from None
    except yaml.YAMLError as problem:
        where = str(problem).replace("\n", " ")
        raise input_error("paraconsist", "config", "be valid YAML", got=name, remedy=where) from None
    if not isinstance(config, dict) or not all(isinstance(key, str) for key in config):
        raise input_error("paraconsist", "config", "be a YAML mapping of option names to values", got=config)
    return {key.replace("-", "_"): value for key, value in config.items()}


def _check_config(command: Any, arguments: list[str], defaults: dict[str, Any]) -> None:
    """Refuse names in the file that are no option of the command; bring the others into its own form."""
    if not defaults:
        return
    name = next((a for a in arguments if not a.startswith("-")), None)
    if name not in command.commands:
        return
    parameters = {p.name: p for p in command.commands[name].params}
    for parameter in parameters.values():  # an option may be called otherwise on the command line: --json
        for called in (option.lstrip("-").replace("-", "_") for option in parameter.opts):
            if called in defaults and called not in parameters:
                defaults[parameter.name] = defaults.pop(called)
    unknown = sorted(set(defaults) - set(parameters))
    if unknown:
        options = sorted(max(parameter.opts, key=len).lstrip("-") for parameter in parameters.values())
        remedy = f"Its options are {', '.join(options)}."
        raise input_error(f"paraconsist {name}", "config", "name options of the command", got=unknown, remedy=remedy)
    for key, value in defaults.items():
        if isinstance(value, dict):  # a mapping is written as A=B items
            defaults[key] = [f"{k}={v}" for k, v in value.items()]
        elif parameters[key].multiple and not isinstance(value, list):
            defaults[key] = [value]
