"""The command line: which commands there are, `--config`, and how errors end.

Command modules import nothing heavy at import time, so that ``paraconsist --help`` is quick.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from paraconsist._version import __version__
from paraconsist.cli import ends
from paraconsist.cli.ends import KEPT, NOTHING_KEPT
from paraconsist.data.foreign import read_yaml
from paraconsist.entry_points import added, load
from paraconsist.errors import InputError, extras, input_error, options_of_command, visible
from paraconsist.files import is_main

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from paraconsist.cli.options import Given


class Command(NamedTuple):
    """What is known of a command before its module is imported."""

    panel: str
    help: str
    when_stopped: str = NOTHING_KEPT
    module: str = ""  # of `paraconsist.cli`; by default it is called as the command is
    spares_pandas: bool = False


_RESUME = "the same command with --resume goes on from the last checkpoint."
#: The commands, in the order of ``--help``.
COMMANDS = {
    "demo": Command("Measure", "Train, run and score a small model: a complete example.", KEPT, "train"),
    "run": Command("Measure", "Run a model on bucket sets and print its consistency.", KEPT),
    "merge": Command("Measure", "Join the parts of a run: run --part 1/8 to 8/8.", KEPT, "run"),
    "compact": Command("Measure", "Rewrite a finished run's stored answers as one small file.", KEPT, "run"),
    "export-requests": Command("Measure", "Write a run's requests as batch files, for other engines.", module="run"),
    "import-answers": Command("Measure", "Read the answers to exported requests.", KEPT, "run"),
    "score": Command("Measure", "Score predictions from a file, a log or a run.", spares_pandas=True),
    "sheet": Command(
        "Measure", "Draw answers for people to check, for score --checked.", module="score", spares_pandas=True
    ),
    "compare": Command("Measure", "Is one model more consistent than another?", module="score", spares_pandas=True),
    "gate": Command("Measure", "Pass or fail on a condition, for continuous integration.", spares_pandas=True),
    "report": Command("Measure", "Write the results as an HTML page.", spares_pandas=True),
    "leaderboard": Command("Measure", "Rank many models, on a static site.", module="report", spares_pandas=True),
    "lm-eval": Command("Measure", "Print where the tasks for lm-evaluation-harness are.", module="build"),
    "plan": Command("Measure", "How many buckets and paraphrases does a study need?", spares_pandas=True),
    "variance": Command(
        "Measure", "Is it problems, wordings, repeats or judges that vary?", module="plan", spares_pandas=True
    ),
    "init": Command("Measure", "Write questions, a test and a workflow to begin with."),
    "list": Command("Test sets", "Show measures, bucket sets, tasks and presets.", module="build"),
    "build": Command("Test sets", "Download, verify and prepare bucket sets.", KEPT),
    "perturb": Command("Test sets", "Make symmetric, transitive or negated rows."),
    "paraphrase": Command("Test sets", "Generate and filter paraphrases, for people to judge."),
    "reword": Command("Test sets", "Reword a benchmark, to run in its own harness."),
    "transform": Command("Test sets", "Change a file's texts by synonyms or your function."),
    "select": Command("Test sets", "Draw easy and difficult items to be paraphrased."),
    "check": Command("Test sets", "Check the files in a folder that a command wrote.", module="build"),
    "train": Command("Studies", "Train a classifier or a baseline.", _RESUME),
    "ie-test": Command("Studies", "Is a model invariant under a change that keeps meaning?", KEPT),
    "sensitivity": Command("Studies", "Test a model on variants that it finds equivalent.", KEPT),
    "artifacts": Command("Studies", "Consistency where part of the input reveals the label.", spares_pandas=True),
    "sweep": Command("Studies", "Train, run and score every cell of a grid.", KEPT, "studies"),
    "adversarial": Command("Studies", "Train with variants of the rows, and compare.", KEPT, "studies"),
    "push": Command("Publish", "Upload a metric, a bucket set or a run to the Hub.", KEPT),
    "space": Command("Publish", "Open a metric's demo page locally.", "its page is closed.", "report"),
}


def _others() -> dict[str, EntryPoint]:
    """Return the commands of other distributions by name; each is a function whose parameters are the options."""
    return added("commands", tuple(COMMANDS))


class _Group(click.Group):
    """The group of all commands, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *_others()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and (command := _load(cmd_name)):
            self.commands[cmd_name] = command
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in COMMANDS.items():
            panels.setdefault(command.panel, []).append((name, command.help))
        for name, entry in _others().items():
            if function := load(entry, FunctionType):
                text = (function.__doc__ or "").strip().partition("\n")[0]
                panels.setdefault("Other distributions", []).append((name, text))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def _load(name: str) -> click.Command | None:
    from paraconsist.cli.options import as_command

    if name in COMMANDS:
        identifier = name.replace("-", "_")
        module = import_module(f"paraconsist.cli.{COMMANDS[name].module or identifier}")
        function = getattr(module, identifier, None) or getattr(module, f"{identifier}_")
    elif (entry := _others().get(name)) is None or not (function := load(entry, FunctionType)):
        return None
    return as_command(name, function)


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"paraconsist {__version__}")
        ctx.exit()


#: Where a shell reads its completions.
_COMPLETIONS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/paraconsist.fish"}


def _completion(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print or install the completion of the user's shell."""
    if not value or ctx.resilient_parsing:
        return
    from click.shell_completion import get_completion_class

    from paraconsist.files import write_text

    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"Completion is available for bash, zsh and fish; SHELL is {shell!r}.")
    if parameter.name == "show_completion":
        click.echo(kind(ctx.command, {}, "paraconsist", "_PARACONSIST_COMPLETE").source())
    else:
        source = f"_PARACONSIST_COMPLETE={shell}_source paraconsist"
        line = f"{source} | source" if shell == "fish" else f'eval "$({source})"'
        file = Path.home() / _COMPLETIONS[shell]
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if line not in text:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, f"{text}\n{line}\n")
        click.echo(f"{file} completes paraconsist in new shells.")
    ctx.exit()


def _flag(name: str, help: str, **more: Any) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, help=help, **more)


def _prepare() -> None:
    from paraconsist.cli.options import quiet_libraries

    if not sys.stderr.isatty():  # progress bars would flood a file
        quiet_libraries()


app = _Group(
    "paraconsist",
    help=(
        "Does a language model give the same answer however a question is phrased?\n\n"
        "Every command can read its options from --config FILE.yaml; options on the command line take precedence."
    ),
    callback=_prepare,
    params=[
        _flag("--version", "Print the version.", is_eager=True, callback=_version),
        _flag("--quiet", "Show only results and warnings. Works with any command."),
        _flag("--verbose", "Show where an error arose. Works with any command."),
        _flag("--install-completion", "Let your shell complete commands and options.", callback=_completion),
        _flag("--show-completion", "Print the script that completes them.", callback=_completion),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit, as `paraconsist.cli.ends` says."""
    warnings.showwarning = _show_warning
    ends.state.command, ends.state.when_stopped, ends.state.is_over = "paraconsist", ends.NOTHING_KEPT, False
    with ends.one_exit():
        sys.exit(_run(sys.argv[1:] if arguments is None else list(arguments)))
    raise AssertionError


def _run(arguments: list[str]) -> int:
    """Run the command that the arguments name and return its exit code."""
    ends.state.arguments, ends.state.quiet = tuple(arguments), "--quiet" in arguments
    os.environ.pop("PARACONSIST_QUIET", None)
    if ends.state.quiet:
        os.environ["PARACONSIST_QUIET"] = "1"  # progress bars read it, those of started processes too
    ends.state.verbose = "--verbose" in arguments or bool(os.environ.get("PARACONSIST_DEBUG"))
    arguments = [argument for argument in arguments if argument not in ("--quiet", "--verbose")]
    if ends.state.verbose:
        logging.basicConfig(level=logging.INFO)
    name = next((argument for argument in arguments if argument in COMMANDS), None)
    first = next(iter(arguments), "-")
    if first not in COMMANDS and not first.startswith("-") and first in _others():
        name = ends.state.command = first
    elif name is not None:
        ends.state.command, ends.state.when_stopped = name, COMMANDS[name].when_stopped
        if ends.state.is_process and COMMANDS[name].spares_pandas:
            _spare_pandas()
    try:
        command = None if name is None else app.get_command(None, name)  # one that cannot be loaded is told below
        options_of_command.update({} if command is None else _as_typed(command))
        line, defaults = _take_config(_with_dashes(arguments))
        if name is not None and defaults:
            _check_config(name, command, defaults)
        with extras("paraconsist"):
            if "_PARACONSIST_COMPLETE" in os.environ:  # a shell asks for completions
                app.main(line, "paraconsist")
            # `app.main` would print an empty line at Ctrl-C.
            with app.make_context("paraconsist", line, default_map={str(name): defaults}) as context:
                app.invoke(context)
    except InputError as problem:
        if ends.state.verbose:
            traceback.print_exception(problem)
        if name is not None:
            problem.function, problem.parameter = name, problem.parameter and problem.parameter.replace("-", "_")
            problem.first_row = 1
            problem.name_as(options_of_command)
        ends.say_failure(f"error: {problem}")
        return problem.exit_code
    except click.ClickException as usage:
        if is_main():
            if isinstance(usage, click.NoSuchOption) and (others := _commands_with(usage.option_name)):
                usage = click.UsageError(
                    f"{usage.message.rstrip('.')}. It is an option of {', '.join(others)}.", usage.ctx
                )
            if not isinstance(usage, click.exceptions.NoArgsIsHelpError):
                usage.message = visible(usage.message)  # type: ignore[misc]
            usage.show()
        return usage.exit_code
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    finally:
        options_of_command.clear()
    return 0


def _commands_with(option: str) -> list[str]:
    """Return the commands that have an option."""
    return [name for name in COMMANDS if any(option in one.opts for one in app.get_command(None, name).params)]


class _NoPandas:
    """Lets Arrow find no pandas: it would import it, a third of a start, to convert its first value; it looks once."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _spare_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas)
    import pyarrow

    pyarrow.array([0])
    sys.meta_path.remove(_NoPandas)


def _as_typed(command: Any) -> dict[str, str]:
    """Return parameter -> option of a command, as errors and warnings call them."""
    return {"config": "--config"} | {
        called.lstrip("-").replace("-", "_"): max(parameter.opts, key=len)
        for parameter in command.params
        for called in (parameter.name, *parameter.opts)
        if any(option.startswith("-") for option in parameter.opts)
    }


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning meant for the user as one line; those meant for programmers stay silent."""
    if issubclass(category, UserWarning):
        ends.say(f"warning: {message}")


def _with_dashes(arguments: list[str]) -> list[str]:
    """Accept ``--batch_tokens`` for ``--batch-tokens``."""
    return [re.sub(r"^--[^=]*", lambda name: name[0].replace("_", "-"), argument) for argument in arguments]


def _take_config(arguments: list[str]) -> tuple[list[str], Given]:
    """Take ``--config FILE`` out of the arguments; return the rest and what the file says."""
    rest: list[str] = []
    defaults: Given = {}
    pending = iter(arguments)
    for argument in pending:
        if argument != "--config" and not argument.startswith("--config="):
            rest.append(argument)
            continue
        config = read_yaml("paraconsist", "config", argument.partition("=")[2] or next(pending, ""))
        if not isinstance(config, dict) or not all(isinstance(key, str) for key in config):
            raise input_error("paraconsist", "config", "be a YAML mapping of option names to values", got=config)
        defaults |= {key.replace("-", "_"): value for key, value in config.items()}
    return rest, defaults


def _check_config(name: str, command: Any, defaults: Given) -> None:
    """Refuse names in the file that are no option of the command; bring the others into its own form."""
    parameters = {p.name: p for p in command.params}
    for parameter in parameters.values():  # an option may be called otherwise on the command line: --json
        for called in (option.lstrip("-").replace("-", "_") for option in parameter.opts):
            if called in defaults and called not in parameters:
                defaults[parameter.name] = defaults.pop(called)
    if unknown := sorted(set(defaults) - set(parameters)):
        options = sorted(max(parameter.opts, key=len).lstrip("-") for parameter in parameters.values())
        remedy = f"Its options are {', '.join(options)}."
        raise input_error(f"paraconsist {name}", "config", "name options of the command", got=unknown, remedy=remedy)
    for key, value in defaults.items():
        parameter = parameters[key]
        is_list = parameter.multiple or parameter.nargs == -1
        items = [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
        if isinstance(items, list) and not is_list:
            option = max(parameter.opts, key=len)
            raise input_error(f"paraconsist {name}", "config", f"have a single value for `{option}`", got=value)
        if value is None or isinstance(value, bool):
            continue
        defaults[key] = [str(item) for item in items] if isinstance(items, list) else str(items)
        if is_list and not isinstance(items, list):
            defaults[key] = [defaults[key]]
