"""What `run` and `demo` print of a run, and every command of what an endpoint's answers came to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from paraconsist.models.endpoint.queue import Usage
    from paraconsist.running.endpoint import EndpointReport
    from paraconsist.running.run import RunReport
    from paraconsist.scoring.score import ScoreOptions


def score_and_show(folder: Path, options: ScoreOptions, *, figures: bool = False) -> None:
    """Score a run folder and print the tables; a line for each set without paraphrases."""
    from paraconsist.data.run_folder import RunFolder
    from paraconsist.reporting.result import score_tables, show
    from paraconsist.scoring.folders import score_run_folder

    results, accuracies = score_run_folder(folder, options)
    show(score_tables(results, figures=figures))
    for name, accuracy in accuracies.items():
        if accuracy["corrects"] is None:  # else it stands in that set's table
            typer.echo(_accuracy_line(name, accuracy))
    files = RunFolder(folder)
    where, file = ("Results", files.results_file) if results else ("Accuracies", files.run_file)
    typer.echo(f"{where} in {file}, predictions in {folder / 'predictions'}.")


def _accuracy_line(name: str, accuracy: Mapping[str, Any]) -> str:
    unparsed = f", {accuracy['n_unparsed']:,} unparsed and wrong" if accuracy["n_unparsed"] else ""
    split = f" ({accuracy['split']})" if accuracy["split"] else ""
    return (
        f"{name}{split}: accuracy {accuracy['accuracy']:.1%} on {accuracy['n_rows']:,} rows{unparsed}, always the "
        f"commonest label {accuracy['majority_rate']:.1%}; no paraphrases, so no consistency."
    )


def say_run(report: RunReport) -> None:
    """Print how many inputs were computed, and how fast."""
    for task, loop in report.statistics.items():
        if not loop.n_computed:
            typer.echo(f"{task}: all {loop.n_inputs:,} distinct inputs were there already.")
            continue
        processes = f"{loop.n_ranks} process{'es' if loop.n_ranks > 1 else ''}"
        typer.echo(
            f"{task}: {loop.n_computed:,} distinct inputs computed{_before(loop)} in {loop.seconds:.1f} s, "
            f"{loop.n_computed / max(loop.seconds, 1e-9):,.0f} inputs/s, {loop.padding:.1%} padding, {processes}."
        )


def say_endpoint_run(report: EndpointReport, scoring: str | None) -> None:
    """Print how many inputs were asked, how, and what the answers came to."""
    for name, queue in report.statistics.items():
        method = report.methods[name]
        if method.scoring == "label":
            how = f"label log-probabilities ({method.describe()})"
        else:
            how = "written answers" + (" (the endpoint returns no log-probabilities)" if scoring is None else "")
        if queue.n_computed:
            retries = ", ".join(f"{n:,} for {kind}" for kind, n in queue.retries.items())
            typer.echo(
                f"{name}: {queue.n_computed:,} distinct inputs asked{_before(queue)} in {queue.seconds:.1f} s by "
                f"{queue.n_requests:,} requests, {queue.n_requests / max(queue.seconds, 1e-9):,.1f} requests/s"
                + (f"; sent again: {retries}." if retries else ".")
            )
        else:
            typer.echo(f"{name}: all {queue.n_inputs:,} distinct inputs were there already.")
        say_usage(report.usage[name], f"{name}: {how}")


def _before(statistics: Any) -> str:
    n = statistics.n_inputs - statistics.n_computed
    return f" ({n:,} were there already)" if n else ""


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
