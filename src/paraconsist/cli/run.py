"""``paraconsist run``: a model over bucket sets, then the measures; ``merge``: its parts; ``compact``: its store.

Also what every command prints of an endpoint's answers.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import (
    DRY_RUN,
    REQUIRED,
    Fields,
    Given,
    argument,
    echo,
    endpoint_fields,
    endpoint_settings,
    print_json,
    quiet_libraries,
    read_label_map,
    typed,
)
from paraconsist.data.options import LABEL_MAP, option
from paraconsist.errors import input_error, plural
from paraconsist.files import is_main
from paraconsist.models.endpoint.settings import AskOptions, read_fields
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions
from paraconsist.scoring.options import IntervalOptions, ScoreOptions

if TYPE_CHECKING:
    from paraconsist.models.endpoint.queue import Usage
    from paraconsist.running.by_name import NamedRun
    from paraconsist.running.endpoint import EndpointReport
    from paraconsist.running.run import RunReport


_PROMPTS = Fields(PromptOptions, only=("template", "shots", "examples", "example_split", "example_seed", "system"))
_ASK = ("normalize", "max_new_tokens", "temperature")  # which have no default in the help
#: What an engine's batch decides for itself, and what it is told.
_NOT_EXPORTED = ("device", "batch_tokens", "deterministic", "compile", "until", "until_set", "wordings")
_ENGINE = ("api", "request_fields", "price")


def run(
    *,
    model: list[str] | None = option(
        None,
        "Hub id or folder of a classifier or language model, or module:function; PATTERN=MODEL, repeated, for some "
        "sets.",
    ),
    models: Path | None = option(None, "A file of several models: a line each, or YAML with options of each."),
    sets: SetOptions,
    running: Annotated[RunOptions, Fields(without=("label_map", "seed"))],
    label_map: list[str] | None = option(None, LABEL_MAP),
    loading: LoadOptions,
    prompts: Annotated[Given, _PROMPTS],
    ask: Annotated[Given, Fields(AskOptions, unset=_ASK)],
    endpoint: Annotated[Given, endpoint_fields()],
    dry_run: bool = DRY_RUN,
    figures: bool = option(False, "Also show which answers turn into which, and the confidence of inconsistent pairs."),
    scoring: Annotated[ScoreOptions, Fields(without=("measures", "unparsed", "checked", "validity"))],
) -> None:
    """Run a model over bucket sets and print its consistency.

    paraconsist run --model ORG/MODEL --dataset paranlu:delta_snli --output runs/a
    paraconsist run --model NAME --endpoint http://localhost:8000/v1 --dataset questions.yaml --output runs/b
    """
    options = replace(running, label_map=read_label_map("run", label_map), seed=scoring.seed)
    ask = {**ask, "template_arguments": read_fields(ask.get("template_arguments"), "template_argument")}
    asking = PromptOptions(**prompts, **ask, data_dir=sets.data_dir)
    if asking.chat and endpoint.get("api") == "completions":
        raise input_error("run", "api", "be 'chat' where `chat` is given", got="completions")
    settings = endpoint_settings(endpoint)
    quiet_libraries()
    from paraconsist.running.by_name import OF_MODELS, NamedRun, read_models, say_total

    if (model is None) == (models is None):
        must = "be given once, or in its place `models`, a file of several"
        raise input_error("run", "model", must, got=model)
    named = NamedRun(model or (), sets, asking, loading, options, settings)
    runs = {"": named} if models is None else named.each(read_models(models, {*chain(*OF_MODELS.values())}))
    if dry_run:
        show_requests(runs, "model")
        return
    say_total(runs.values(), "model", say_status)
    for name, each in runs.items():
        if name and is_main():
            echo(f"{name}:")
        _run(each, scoring, figures=figures)
    if named.endpoint is not None and (meter := [*runs.values()][-1].meter) is not None and meter.n_requests:
        say_status(f"In all {meter.spent}.")
    if models is not None and sets.part is None and is_main():
        folders = shlex.join(str(each.options.output) for each in runs.values())
        say_status(f"Next, a page of all models: paraconsist report {folders}")


def show_requests(runs: Mapping[str, NamedRun], what: str) -> None:
    """Print three requests of each run over an endpoint, and what all would send."""
    from paraconsist.models.endpoint.client import Meter
    from paraconsist.running import endpoint as of_endpoint
    from paraconsist.running.by_name import over_endpoint, say_total

    for name, each in runs.items():
        if each.endpoint is None:
            raise input_error("run", "dry_run", "be given only with `endpoint`", got=True)
        estimate = of_endpoint.dry_run(over_endpoint(each, each.endpoint))
        echo(*[f"{name}:"] * bool(name))
        for body in estimate.bodies:
            print_json(body)
        say_status(f"{estimate.describe(Meter(each.endpoint))} Nothing was sent.")
    say_total(runs.values(), what, lambda line: say_status(f"{line} Nothing was sent."))


def _run(named: NamedRun, scoring: ScoreOptions, *, figures: bool) -> None:
    """Run what was named, and print its consistency."""
    from paraconsist.running.by_name import run_by_name
    from paraconsist.running.functions import run_named
    from paraconsist.running.run import RunReport

    if run_named(named, say_status):
        score_and_show(named.options.output, scoring, figures=figures)
        return
    report = run_by_name(named, say_status)
    if not isinstance(report, RunReport):
        say_endpoint_run(report)
    elif report.is_main_process:
        say_run(report)
    else:
        return
    if named.sets.part is not None:
        how = "`paraconsist merge` puts the parts together and scores them."
        say_status(f"part {named.sets.part} in {named.options.output}: {how}")
        return
    score_and_show(named.options.output, scoring, figures=figures)


def merge(
    *,
    parts: list[Path] = argument("The run folders of `run --part 1/N` to N/N, in any order."),
    output: Path = option(REQUIRED, "The run folder to write."),
    overwrite: bool = option(False, "Delete an earlier run in the folder."),
    intervals: IntervalOptions,
) -> None:
    """Put the parts of a run together and print its consistency.

    paraconsist merge runs/part-1 runs/part-2 --output runs/a
    paraconsist merge runs/part-1 runs/part-2 --output runs/a --overwrite
    """
    from paraconsist.running.parts import merge_parts

    merge_parts(parts, output, overwrite=overwrite)
    say_status(f"{plural(len(parts), 'part')} in {output}.")
    score_and_show(output, ScoreOptions(**intervals.intervals))


def compact(*, runs: list[Path] = argument("The folders of finished runs.")) -> None:
    """Rewrite the stored answers of finished runs as one compressed file each, from which they can go on.

    paraconsist compact runs/a
    paraconsist compact runs/part-*
    """
    from paraconsist.reporting.formatting import byte_size
    from paraconsist.running.parts import compact_run

    for run in runs:
        before, after = compact_run(run)
        say_status(f"{run}: its store had {byte_size(before)}, now {byte_size(after)}.")


def export_requests(
    *,
    model: list[str] = option(
        REQUIRED, "Model as the engine calls it; PATTERN=MODEL, repeated, for one for some sets."
    ),
    sets: SetOptions,
    running: Annotated[Given, Fields(RunOptions, without=(*_NOT_EXPORTED, "label_map", "seed"))],
    label_map: list[str] | None = option(None, LABEL_MAP),
    top_logprobs: int = option(
        20, "How many of the most probable first tokens to ask for, where labels are scored.", min=1
    ),
    per_file: int = option(50_000, "Requests of a file, at most; a file has 200 MB at most, too.", min=1),
    seed: int = option(0, "Random seed of drawn answers, and of which rows are asked again.", min=0),
    prompts: Annotated[Given, _PROMPTS],
    ask: Annotated[Given, Fields(AskOptions, without=("device_map", "template_arguments"), unset=_ASK)],
    endpoint: Annotated[Given, endpoint_fields(only=_ENGINE)],
) -> None:
    """Write the requests of a run as batch files, for engines that answer them in bulk.

    paraconsist export-requests --model NAME --dataset sample:defeasible_nli --output requests
    paraconsist export-requests --model NAME --dataset sample:defeasible_nli --output requests --per-file 1000
    """
    from paraconsist.running.requests import export_named

    options = {**running, "label_map": read_label_map("run", label_map), "seed": seed}
    asking = {**ask, "prompts": {**prompts, "data_dir": sets.data_dir}}
    fields = {**endpoint, "request_fields": read_fields(endpoint.get("request_fields"))}
    named = {"models": model, "sets": vars(sets), "ask": asking, "running": options, "endpoint": fields}
    files, estimate = export_named(named, top=top_logprobs, per_file=per_file)
    if not files:
        say_status("Nothing is left to export: every request has its answer.")
        return
    say_status(f"{plural(sum(files.values()), 'request')} in {plural(len(files), 'file')}:")
    echo(*map(str, files))
    say_status(estimate)


def import_answers(
    *,
    answers: list[Path] = argument("The answers, as the batch interface wrote them (JSON Lines)."),
    output: Path = option(REQUIRED, "The folder that `export-requests` wrote."),
    figures: bool = option(False, "Also show which answers turn into which, and the confidence of inconsistent pairs."),
    intervals: IntervalOptions,
) -> None:
    """Read the answers to exported requests, and print the model's consistency once all are there.

    paraconsist import-answers answers.jsonl --output requests
    paraconsist import-answers answers-1.jsonl answers-2.jsonl --output requests --figures
    """
    from paraconsist.running.requests import import_named

    say_endpoint_run(import_named(output, answers), asked=False)
    score_and_show(output, ScoreOptions(**intervals.intervals), figures=figures)


def score_and_show(folder: Path, options: ScoreOptions, *, figures: bool = False) -> None:
    """Score a run folder and print the tables; a line for each set without paraphrases."""
    from paraconsist.data.store import RunFolder
    from paraconsist.reporting.table import show
    from paraconsist.reporting.tables import score_tables
    from paraconsist.scoring.score import score_run_folder

    results, accuracies = score_run_folder(folder, options, typed())
    show(score_tables(results, figures=figures))
    for name, accuracy in accuracies.items():
        unparsed = f", {accuracy['n_unparsed']:,} unparsed and wrong" if accuracy["n_unparsed"] else ""
        split = f" ({accuracy['split']})" if accuracy["split"] else ""
        if accuracy["corrects"] is None:  # else it stands in that set's table
            echo(
                f"{name}{split}: accuracy {accuracy['accuracy']:.1%} on {plural(accuracy['n_rows'], 'row')}{unparsed}, "
                f"always the commonest label {accuracy['majority_rate']:.1%}; no paraphrases, so no consistency."
            )
    files = RunFolder(folder)
    where, file = ("Results", files.results_file) if results else ("Accuracies", files.run_file)
    say_status(f"{where} in {file}, predictions in {folder / 'predictions'}.")


def say_run(report: RunReport) -> None:
    """Print how many inputs were computed, and how fast."""
    for task, loop in report.statistics.items():
        speed = f"{loop.n_computed / max(loop.seconds, 1e-9):,.0f} inputs/s, {loop.padding:.1%} padding"
        _say_done(task, loop, f"computed{{}} in {loop.seconds:.1f} s, {speed}, {plural(loop.n_ranks, 'process')}.")


def say_endpoint_run(report: EndpointReport, *, asked: bool = True) -> None:
    """Print how many inputs were asked, or had answers that were read, how, and what the answers came to."""
    for name, queue in report.statistics.items():
        method = report.methods[name]
        if method.scoring == "label":
            how = f"label log-probabilities ({method.describe()})"
        else:
            how = "written answers" + " (the endpoint returns no log-probabilities)" * (name in report.unscored)
        again = ", ".join(f"{n:,} for {kind}" for kind, n in queue.retries.items())
        speed = f"{queue.n_requests / max(queue.seconds, 1e-9):,.1f} requests/s{again and f'; sent again: {again}'}"
        requests = plural(queue.n_requests, "request")
        asking = f"asked{{}} in {queue.seconds:.1f} s by {requests}, {speed}."
        _say_done(name, queue, asking if asked else "answered{}.")
        say_usage(report.usage[name], f"{name}: {how}")


def _say_done(name: str, statistics: Any, how: str) -> None:
    """Print how the inputs that were not there already were done."""
    n = statistics.n_inputs - statistics.n_computed
    if statistics.n_computed:
        before = f" ({n:,} {'was' if n == 1 else 'were'} there already)" if n else ""
        say_status(f"{name}: {plural(statistics.n_computed, 'distinct input')} {how.format(before)}")
    else:
        whole = "the one distinct input was" if n == 1 else f"all {n:,} distinct inputs were"
        say_status(f"{name}: {whole} there already.")


def say_usage(usage: Usage, about: str) -> None:
    """Print what an endpoint's answers came to, behind what they were."""
    from paraconsist.data.predictions import answered_by

    counted = f"{plural(usage.n_requests, 'request')} answered in all, {plural(usage.prompt_tokens, 'token')} read"
    counted += f", {usage.completion_tokens:,} written"
    unknown = usage.n_uncounted and plural(usage.n_uncounted, "answer")
    counted += f" ({unknown} did not say)" if unknown else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:,.4f}{f' and unknown of {unknown}' if unknown else ''}"
    served = f"; by {answered_by(usage.served)}" if len(usage.served) > 1 else ""
    say_status(f"{about}{served}; {counted}{cost}.")
