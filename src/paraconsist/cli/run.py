"""``paraconsist run``: a model over bucket sets, then the measures."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from paraconsist.cli.options import (
    Fields,
    LabelMap,
    endpoint_fields,
    endpoint_settings,
    option,
    quiet_libraries,
    read_label_map,
)
from paraconsist.cli.run_report import say_endpoint_run, say_run, score_and_show
from paraconsist.errors import input_error
from paraconsist.running.options import AskOptions, LoadOptions, PromptOptions, RunOptions, SetOptions
from paraconsist.scoring.options import IntervalOptions


def run(
    model: Annotated[
        list[str],
        typer.Option(
            help="Hub id or folder of a classifier or language model; PATTERN=MODEL, repeated, for one for some sets."
        ),
    ],
    sets: SetOptions,
    running: Annotated[dict[str, Any], Fields(RunOptions, without=("label_map", "seed"))],
    label_map: LabelMap = None,
    *,
    loading: LoadOptions,
    prompts: Annotated[
        dict[str, Any],
        Fields(PromptOptions, without=("data_dir",), names={"split": "example_split", "seed": "example_seed"}),
    ],
    ask: Annotated[dict[str, Any], Fields(AskOptions, without=("prompts",))],
    endpoint: Annotated[dict[str, Any], endpoint_fields()],
    figures: bool = option(False, "Also show which answers turn into which, and the confidence of inconsistent pairs."),
    renormalize: bool = option(False, "Divide corrected values by the covered mass."),
    intervals: IntervalOptions,
) -> None:
    """Run a model over bucket sets and print its consistency."""
    options = RunOptions(**running, label_map=read_label_map("run", label_map), seed=intervals.seed)
    asking = AskOptions(PromptOptions(**prompts, data_dir=sets.data_dir), **ask)
    if asking.chat and endpoint.get("api") == "completions":
        raise input_error("run", "api", "be 'chat' where `chat` is given", got="completions")
    settings = endpoint_settings(endpoint)
    quiet_libraries()
    from paraconsist.running.by_name import run_by_name
    from paraconsist.running.run import RunReport
    from paraconsist.scoring.score import ScoreOptions

    report = run_by_name(model, sets, asking, loading, options, settings)
    if not isinstance(report, RunReport):
        say_endpoint_run(report, asking.scoring)
    elif report.is_main_process:
        say_run(report)
    else:
        return
    score_and_show(options.output, ScoreOptions(renormalize=renormalize, **intervals.intervals), figures=figures)
