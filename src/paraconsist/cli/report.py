"""``paraconsist report``: results as one page to send to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.errors import input_error


def report(
    paths: Annotated[
        list[Path], typer.Argument(help="Run folders and predictions files; several models share the page.")
    ],
    output: Annotated[
        Path | None, typer.Option(help="The page; by default report.html in the (first) run folder, or here.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Also write every plot to this folder, as PNG and as SVG.")] = None,
    name: Annotated[list[str] | None, typer.Option(help="Name of a model on the page, once for each in order.")] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option(help="File with texts and a column example_id, or a prepared set (builder:config); repeatable."),
    ] = None,
    text_column: Annotated[
        list[str] | None, typer.Option(help="Column of texts to show, repeated; by default those of the task.")
    ] = None,
    browser_buckets: Annotated[int, typer.Option(min=1, help="Most buckets in the flip browser.")] = 5_000,
    rescore: Annotated[bool, typer.Option(help="Score run folders anew, whatever their results.json says.")] = False,
    bucket: Annotated[str, typer.Option(help="Column of the bucket ids.")] = "bucket_id",
    prediction: Annotated[str, typer.Option(help="Column of the predictions.")] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[
        str | None, typer.Option(help="True/false column that marks originals, in place of --role.")
    ] = None,
    original_prediction: Annotated[
        str | None, typer.Option(help="For files with a pair in each row: column of the originals' predictions.")
    ] = None,
    label_names: Annotated[
        str | None, typer.Option(help="Names of the labels 0,1,... where gold is by name and predictions by number.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Measure, repeated for several; by default what the rows' roles call for.")
    ] = None,
    group: Annotated[str, typer.Option(help="Column of what intervals resample.")] = "group_id",
    confidence: Annotated[str | None, typer.Option(help="Column of the probability of the gold label.")] = None,
    probabilities: Annotated[
        str, typer.Option(help="Column of lists of probabilities, or one column a label: P0,P1,...")
    ] = "probabilities",
    stratum: Annotated[list[str] | None, typer.Option(help="Column to break results down by; repeatable.")] = None,
    unparsed: Annotated[
        str, typer.Option(help="What unparsed answers count as: wrong, own_class or drop_bucket.")
    ] = "wrong",
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of intervals that are made here.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates of intervals made here.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
) -> None:
    """Write one self-contained page: numbers, plots, and a browser of the answers that flip.

    Run folders bring their results along; files are scored as `paraconsist score` does it. The page loads nothing from
    anywhere, so it can be mailed. It holds the texts that it shows: mind their licence before passing it on.
    """
    from paraconsist.data.logs.format import log_query
    from paraconsist.data.rows import ColumnNames
    from paraconsist.reporting.page.entries import FileOptions, load_entries
    from paraconsist.reporting.page.write import ReportOptions, write_report
    from paraconsist.scoring.score import ScoreOptions

    columns = ColumnNames(
        bucket=bucket,
        prediction=prediction,
        label=label,
        role=role,
        original=original,
        group=group,
        confidence=confidence,
        probabilities=probabilities.split(","),
        strata=stratum,
    )
    scoring = ScoreOptions(
        measures=measure,
        columns=columns,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        unparsed=unparsed,
    )
    files = FileOptions(
        score=scoring,
        query=log_query(columns),
        label_names=None if label_names is None else label_names.split(","),
        original_prediction=original_prediction,
        rescore=rescore or unparsed != "wrong",  # what a run says of itself is under this policy
    )
    entries = load_entries(paths, files, name or ())
    options = ReportOptions(
        title=title,
        score=scoring,
        texts=texts or (),
        text_columns=text_column or (),
        most_buckets=browser_buckets,
    )
    _say(write_report(entries, output or _default_output(paths), options, plots_folder=plots), plots)


def _default_output(paths: list[Path]) -> Path:
    if not paths:
        raise input_error("report", "paths", "name at least one run folder or predictions file")
    return paths[0] / "report.html" if len(paths) == 1 and paths[0].is_dir() else Path("report.html")


def _say(written: Any, plots: Path | None) -> None:
    shown = f"{written.n_shown:,} of {written.n_buckets:,}" if written.n_shown < written.n_buckets else "all"
    typer.echo(f"{written.page}: {written.n_bytes / 1e6:.1f} MB, {shown} buckets in the flip browser.")
    if plots is not None:
        typer.echo(f"{len(written.plots)} files in {plots}.")
    if written.sets_without_texts:
        sets = ", ".join(written.sets_without_texts)
        typer.echo(f"No texts at hand for {sets}: give --texts FILE with a column example_id to see them on the page.")
