"""Option groups: what several commands take is said once, as the fields of a dataclass, and spread out over them.

Also the options of models behind an endpoint, and what commands print and write alike.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet
    from paraconsist.models.endpoint.journal import Usage
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.running.endpoint import EndpointReport
    from paraconsist.running.prompting import AskOptions, Pool
    from paraconsist.running.run import RunOptions


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")]
Output = Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are option groups are replaced by the fields of the group, as options.

    A group is a dataclass: a field's name, type, default and ``metadata["help"]`` make the option; what else stands in
    the metadata is typer's (``min``, ``max``, ``rich_help_panel``). A field with ``metadata["option"]`` is called so.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _options_of(parameter.annotation)
        else:
            parameters.append(parameter)
    if not groups:
        return command

    def spread_out(**values: Any) -> None:
        made = {name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        command(**values, **made)

    parameters.sort(key=lambda p: p.kind is inspect.Parameter.KEYWORD_ONLY)
    spread_out.__name__, spread_out.__doc__ = command.__name__, command.__doc__
    spread_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_out.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread_out


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints, names = get_type_hints(group), [f.name for f in fields(group)]
    options = []
    for one in fields(group):
        known = dict(one.metadata)
        help_text = re.sub(
            r"`(\w+)`", lambda m: f"--{m[1].replace('_', '-')}" if m[1] in names else m[0], known.pop("help")
        )
        called = known.pop("option", None)
        option = typer.Option(*([called] if called else []), help=help_text, **known)
        default = one.default if one.default is not MISSING else inspect.Parameter.empty
        hint: Any = Annotated[hints[one.name], option]
        options.append(inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    return options


def write_results(function: str, output: Path | None, results: Any) -> None:
    """Write results as JSON where a file was named.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from paraconsist.files import write_json

    if output is None:
        return
    try:
        write_json(output, results)
    except OSError as problem:
        remedy = f"{problem.strerror}."
        raise input_error(function, "output", "be a file that can be written", got=str(output), remedy=remedy) from None


def print_json(results: Any) -> None:
    """Print results as strict JSON."""
    from paraconsist.files import to_json

    typer.echo(to_json(results))


_PANEL = "Models behind an endpoint"


def _option(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_PANEL, **more)


Endpoint = Annotated[
    str | None,
    _option("Address of an OpenAI-compatible API, as http://localhost:8000/v1; --model is then its name there."),
]
GeneratorEndpoint = Annotated[
    str | None,
    _option("Address of an OpenAI-compatible API, as http://localhost:8000/v1; --generator is then its name there."),
]
Api = Annotated[str | None, _option("'completions' (a text to go on with; the default) or 'chat'.")]
Concurrency = Annotated[int | None, _option("Most requests at a time; 16 by default.", min=1)]
KeyVariable = Annotated[
    str | None,
    _option("Environment variable that holds the key; OPENAI_API_KEY for api.openai.com, no key for others."),
]
Timeout = Annotated[float | None, _option("Seconds a request may take; 120 by default.")]
Tries = Annotated[int | None, _option("How often a request is sent before the run gives up; 8 by default.", min=1)]
RequestField = Annotated[
    list[str] | None,
    _option("NAME=JSON: a further field of every request, repeated; NAME=null takes one out (temperature)."),
]
PriceInput = Annotated[float | None, _option("Price of a million tokens read, to print the cost.")]
PriceOutput = Annotated[float | None, _option("Price of a million tokens written.")]


def check_no_address(models: Sequence[str]) -> None:
    """Refuse an address in place of a model.

    Raises
    ------
    InputError
    """
    for model in models:
        if model.startswith(("http://", "https://")):
            remedy = "Give the address as --endpoint and the model's name there as --model."
            raise input_error("run", "model", "be a model, not an address", remedy=remedy)


def endpoint_settings(url: str | None, **given: Any) -> EndpointSettings | None:
    """Return what the options say of an endpoint; None where there is none.

    Parameters
    ----------
    url : str or None
        ``--endpoint``.
    **given
        The other options, None where not given.

    Raises
    ------
    InputError
        For options without an endpoint, and settings that cannot be.
    """
    if url is None:
        for name, value in given.items():
            if value not in (None, []):
                must = "be given only with --endpoint"
                raise input_error("run", name, must, remedy="This command's model is a local one.")
        return None
    from paraconsist.models.endpoint.settings import EndpointSettings, read_request_fields

    said = {**given, "key_variable": given["api_key_variable"]}
    said["request_fields"] = read_request_fields(given["request_field"])
    del said["api_key_variable"], said["request_field"]
    return EndpointSettings(url, **{name: value for name, value in said.items() if value is not None})


def run_over_endpoint(
    load_sets: Callable[[], Mapping[str, Sequence[BucketSet]]],
    ask: AskOptions,
    pools: Sequence[Pool],
    options: RunOptions,
    *,
    local: Mapping[str, Any],
    url: str,
    **given: Any,
) -> EndpointReport:
    """Run over the endpoint that the options name.

    Parameters
    ----------
    load_sets, options
        As of `paraconsist.running.endpoint.run_endpoint`.
    ask : AskOptions
        What the command line says about prompts and answers.
    pools : sequence of Pool
        Filled when the sets are loaded.
    local : mapping
        Options that only models on this machine have; refused where given.
    url, **given
        The endpoint's options, as of `endpoint_settings`.

    Raises
    ------
    InputError
        For options that do not go together, and all that `run_endpoint` refuses.
    """
    from paraconsist.models.endpoint.settings import EndpointPrompt
    from paraconsist.running.endpoint import run_endpoint
    from paraconsist.running.prompting import prompt_for

    for name, value in {**local, "device_map": ask.device_map}.items():
        if value:
            must = "be given only without --endpoint"
            raise input_error("run", name, must, got=value, remedy="The endpoint's server decides it.")
    if ask.chat:
        if given["api"] == "completions":
            raise input_error("run", "api", "be 'chat' where --chat is given", got="completions")
        given["api"] = "chat"
    if ask.scoring == "generate" and ask.normalize is not None:
        raise input_error("run", "normalize", "be given only with --scoring label", got=ask.normalize)
    if ask.scoring == "label" and ask.max_new_tokens is not None:
        raise input_error("run", "max_new_tokens", "be given only with --scoring generate", got=ask.max_new_tokens)
    settings = endpoint_settings(url, **given)
    assert settings is not None

    def asking_for(name: str, group: Sequence[BucketSet]) -> EndpointPrompt:
        said: dict[str, Any] = {"normalize": ask.normalize, "max_tokens": ask.max_new_tokens}
        said = {key: value for key, value in said.items() if value is not None}
        return EndpointPrompt(name, prompt_for(group, ask.prompts, pools), ask.scoring, **said)

    report = run_endpoint(load_sets, asking_for, settings, options)
    _say(report, asked_for=ask.scoring)
    return report


def _say(report: EndpointReport, *, asked_for: str | None) -> None:
    for name, asked in report.statistics.items():
        method, usage = report.methods[name], report.usage[name]
        if method.scoring == "label":
            how = f"label log-probabilities ({method.describe()})"
        else:
            how = "written answers"
            if asked_for is None:
                how += " (the endpoint returns no log-probabilities)"
        if asked.n_computed:
            rate = asked.n_requests / max(asked.seconds, 1e-9)
            before = asked.n_inputs - asked.n_computed
            found = f" ({before:,} were there already)" if before else ""
            retries = ", ".join(f"{n:,} for {kind}" for kind, n in asked.retries.items())
            typer.echo(
                f"{name}: {asked.n_computed:,} distinct inputs asked{found} in {asked.seconds:.1f} s by "
                f"{asked.n_requests:,} requests, {rate:,.1f} requests/s"
                + (f"; sent again: {retries}." if retries else ".")
            )
        else:
            typer.echo(f"{name}: all {asked.n_inputs:,} distinct inputs were there already.")
        say_usage(usage, f"{name}: {how}")


def say_usage(usage: Usage, about: str, *, aside: bool = False) -> None:
    """Print what an endpoint's answers came to, behind what they were; `aside`, to standard error."""
    counted = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written"
    if usage.n_uncounted:
        counted += f" ({usage.n_uncounted:,} of {usage.n_requests:,} answers did not say)"
    cost = "" if usage.cost is None else f", cost {usage.cost:,.4f}"
    typer.echo(f"{about}; {counted}{cost}.", err=aside)
    if len(usage.served) > 1:
        served = ", ".join(f"{model} ({n:,})" for model, n in usage.served.items())
        typer.echo(f"warning: {about.partition(':')[0]}: several models answered: {served}.", err=True)


def quiet_libraries() -> None:
    """Leave standard error to this command: no progress bars and notices of the libraries below."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
