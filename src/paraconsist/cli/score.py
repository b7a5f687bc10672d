"""``paraconsist score``: predictions made anywhere, through the measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.errors import input_error

__all__ = ["score", "show_results"]


def score(
    path: Annotated[Path, typer.Argument(help="A predictions file (Parquet, JSONL, CSV, TSV) or a run folder.")],
    test_predictions: Annotated[
        Path | None,
        typer.Option(help="The model's predictions on the full test set: test accuracy and corrected values."),
    ] = None,
    bucket: Annotated[str, typer.Option(help="Column of the bucket ids.")] = "bucket_id",
    prediction: Annotated[str, typer.Option(help="Column of the predictions.")] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[
        str | None, typer.Option(help="True/false column that marks originals, in place of --role.")
    ] = None,
    original_prediction: Annotated[
        str | None,
        typer.Option(help="For files with a pair in each row: column of the originals' predictions."),
    ] = None,
    label_names: Annotated[
        str | None,
        typer.Option(help="Names of the labels 0,1,... where gold is given by name and predictions by number."),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Measure, repeated for several; by default what the rows' roles call for.")
    ] = None,
    group: Annotated[
        str, typer.Option(help="Column of what intervals resample, such as a shared context.")
    ] = "group_id",
    confidence: Annotated[str | None, typer.Option(help="Column of the probability of the gold label.")] = None,
    probabilities: Annotated[
        str, typer.Option(help="Column of lists of probabilities, or one column a label: P0,P1,...")
    ] = "probabilities",
    stratum: Annotated[
        list[str] | None, typer.Option(help="Column to break results down by; repeat for several.")
    ] = None,
    renormalize: Annotated[bool, typer.Option(help="Divide corrected values by the covered mass.")] = False,
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the intervals.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    figures: Annotated[
        bool, typer.Option(help="Also show which answers turn into which, and the confidence of inconsistent pairs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")] = None,
) -> None:
    """Score predictions made anywhere: accuracy, consistency, intervals, breakdowns."""
    from paraconsist.predictions import read_predictions
    from paraconsist.results import to_strict_json
    from paraconsist.scoring.columns import ColumnNames
    from paraconsist.scoring.files import score_folder
    from paraconsist.scoring.score import ScoreOptions
    from paraconsist.scoring.score import score as score_predictions
    from paraconsist.scoring.wide import long_format, named_labels

    options = ScoreOptions(
        measures=measure,
        columns=ColumnNames(
            bucket=bucket,
            prediction=prediction,
            label=label,
            role=role,
            original=original,
            group=group,
            confidence=confidence,
            probabilities=tuple(probabilities.split(",")),
            strata=stratum,
        ),
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        renormalize=renormalize,
    )
    if path.is_dir():
        files = sorted((path / "predictions").glob("*.parquet"))
        if not files:
            raise input_error("score", "path", "be a predictions file or a run folder with predictions", got=str(path))
        results = score_folder(files, options)
    else:
        predictions = read_predictions(path)
        named = {"--role": (role, "role"), "--group": (group, "group_id")}
        named["--probabilities"] = (probabilities, "probabilities")
        _check_named(named, predictions.table.column_names)
        if label_names is not None:
            predictions = named_labels(predictions, label, label_names.split(","))
        if original_prediction is not None:
            predictions = long_format(predictions, options.columns, original_prediction)
        test = None if test_predictions is None else read_predictions(test_predictions)
        name = predictions.metadata.get("set", path.stem)
        results = {name: score_predictions(predictions, options, test=test)}
    results = to_strict_json(results)
    if output is not None:
        _write(output, results)
    if as_json:
        typer.echo(json.dumps(results, indent=2, allow_nan=False))
    else:
        show_results(results, figures=figures)


def _check_named(named: Mapping[str, tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse columns that the file lacks; only those that are called by default may be absent."""
    for option, (given, default) in named.items():
        absent = [name for name in given.split(",") if name not in columns]
        if absent and given != default:
            raise input_error(
                "score",
                option.lstrip("-"),
                "name a column of the file",
                got=absent[0],
                remedy=f"Its columns are {', '.join(columns)}.",
            )


def _write(output: Path, results: Mapping[str, Any]) -> None:
    try:
        output.write_text(json.dumps(results, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise input_error(
            "score", "output", "be a file that can be written", got=str(output), remedy=f"{problem.strerror}."
        ) from None


def show_results(results: Mapping[str, Any], *, figures: bool = False) -> None:
    """Print the tables of every set; with `figures` also what lies behind the rates on pairs."""
    from rich.console import Console, RenderableType
    from rich.text import Text

    from paraconsist.reporting.figures import figure_tables
    from paraconsist.reporting.inconsistency import change_tables, inconsistency_tables
    from paraconsist.reporting.tables import result_tables

    console = Console()
    parts: list[RenderableType] = []
    for name, result in results.items():
        if "paraphrastic_consistency" in result["measures"]:
            parts += result_tables(name, result)
        if "prediction_change" in result["measures"]:
            parts += change_tables(name, result)
    parts += inconsistency_tables(results)
    if figures:
        for name, result in results.items():
            parts += figure_tables(name, result)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
