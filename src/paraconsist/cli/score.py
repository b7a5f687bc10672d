"""``paraconsist score``: predictions made anywhere, through the measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    import pyarrow as pa

    from paraconsist.data.predictions import Predictions
    from paraconsist.scoring.score import ScoreOptions


def score(
    path: Annotated[
        Path,
        typer.Argument(
            help="A table (Parquet, JSONL, CSV, TSV), a log of lm-eval (samples_*.jsonl) or inspect_ai (.eval), a "
            "folder of logs, or a run folder."
        ),
    ],
    more: Annotated[list[Path] | None, typer.Argument(help="Further files of the same run.")] = None,
    test_predictions: Annotated[
        Path | None,
        typer.Option(help="The model's predictions on the full test set: test accuracy and corrected values."),
    ] = None,
    bucket: Annotated[
        str,
        typer.Option(
            help="Column of the bucket ids. This and the columns below may also be a path (doc.question_id), a pattern "
            r"(doc.id ~ '^(\d+)-'), a comparison (doc.kind == 'original') or a template ({doc.set}-{doc.number})."
        ),
    ] = "bucket_id",
    prediction: Annotated[
        str, typer.Option(help="Column of the predictions; in logs, in place of the tool's own answer and verdict.")
    ] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[
        str | None, typer.Option(help="True/false column or comparison that marks originals, in place of --role.")
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
    metric: Annotated[
        str | None, typer.Option(help="For logs: the metric (lm-eval) or scorer (inspect) that says what is right.")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", help="For lm-eval logs with several: which filter's answers.")
    ] = None,
    epoch: Annotated[
        int | None, typer.Option(min=1, help="For inspect logs with several epochs: only this one.")
    ] = None,
    unparsed: Annotated[
        str, typer.Option(help="What unparsed answers count as: wrong, own_class or drop_bucket.")
    ] = "wrong",
    training_file: Annotated[
        Path | None, typer.Option(help="What the model was trained on: rows of the set that stand in it are reported.")
    ] = None,
    renormalize: Annotated[bool, typer.Option(help="Divide corrected values by the covered mass.")] = False,
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the intervals.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    figures: Annotated[
        bool, typer.Option(help="Also show which answers turn into which, and the confidence of inconsistent pairs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")] = False,
    markdown: Annotated[bool, typer.Option(help="Print the tables as Markdown.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")] = None,
    export: Annotated[
        str | None, typer.Option(help="Also write results and rows as another tool does: lm-eval. Needs --output-dir.")
    ] = None,
    output_dir: Annotated[Path | None, typer.Option(help="Folder for --export.")] = None,
) -> None:
    """Score predictions made anywhere: accuracy, consistency, intervals, breakdowns."""
    from paraconsist.data.logs.format import DEFAULT_QUERY, log_query
    from paraconsist.data.predictions import read_predictions
    from paraconsist.data.rows import ColumnNames
    from paraconsist.data.tables import read_table
    from paraconsist.files import to_strict_json
    from paraconsist.scoring.folders import score_folder
    from paraconsist.scoring.score import ScoreOptions

    _check_export(export, output_dir, shown=as_json + markdown)
    columns = ColumnNames(
        bucket=bucket,
        prediction=prediction,
        label=label,
        role=role,
        original=original,
        group=group,
        confidence=confidence,
        probabilities=_split(probabilities),
        strata=stratum,
    )
    query = log_query(columns, metric=metric, filter=filter_, epoch=epoch)
    options = ScoreOptions(
        measures=measure,
        columns=columns,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        renormalize=renormalize,
        unparsed=unparsed,
    )
    training = None if training_file is None else read_table(training_file, function="score", parameter="training_file")
    files = sorted((path / "predictions").glob("*.parquet")) if path.is_dir() and not more else []
    if files:
        results = score_folder(files, options, training=training)
        found = {} if export is None else {str(p.metadata.get("set")): p for p in map(read_predictions, files)}
    else:
        named = {"--role": (role, DEFAULT_QUERY.role), "--group": (group, DEFAULT_QUERY.group)}
        named["--probabilities"] = (probabilities, "probabilities")
        pairs = (label_names, original_prediction)
        paths = [path, *(more or ())]
        found, results = _score_files(paths, query, options, named, pairs, test_predictions, training)
    results = to_strict_json(results)
    if output is not None:
        _write(output, results)
    if export is not None and output_dir is not None:
        from paraconsist.data.logs.export import export_lm_eval

        for name in results:
            for file in export_lm_eval(output_dir, name, results[name], found[name], options.columns):
                typer.echo(f"wrote {file}", err=True)
    if as_json:
        typer.echo(json.dumps(results, indent=2, allow_nan=False))
    else:
        show_results(results, figures=figures, markdown=markdown)


def _score_files(
    paths: Sequence[Path],
    query: Any,
    options: ScoreOptions,
    named: Mapping[str, tuple[str, str]],
    pairs: tuple[str | None, str | None],
    test_predictions: Path | None,
    training: pa.Table | None,
) -> tuple[dict[str, Predictions], dict[str, Any]]:
    """Read tables or logs and score each; return both, by set."""
    from dataclasses import replace

    from paraconsist.data.logs.reading import read_logs
    from paraconsist.data.reshaping import long_format, named_labels
    from paraconsist.scoring.score import score as score_predictions

    label_names, original_prediction = pairs
    found = read_logs(paths, query)
    test = None
    if test_predictions is not None:
        (test,) = read_logs([test_predictions], replace(query, bucket="", original=None, strata=())).values()
    results = {}
    for name, predictions in found.items():
        used = options
        if "source" in predictions.metadata:  # a log: its reader made the columns
            if label_names is not None or original_prediction is not None:
                option = "label-names" if original_prediction is None else "original-prediction"
                raise input_error("score", option, "be given for tables only", got=name, remedy="This is a log.")
            used = replace(options, columns=_columns_of_log(predictions, options.columns.strata))
        else:
            _check_named(named, predictions.table.column_names)
        columns = used.columns
        if label_names is not None:
            predictions = named_labels(predictions, columns.label, _split(label_names))
        if original_prediction is not None:
            predictions = long_format(predictions, columns, original_prediction)
        found[name] = predictions
        results[name] = score_predictions(predictions, used, test=test, training=training)
        results[name]["warnings"] += predictions.metadata.get("notes", [])
        if "source" in predictions.metadata:
            results[name]["source"] = predictions.metadata["source"]
    return found, results


def _columns_of_log(predictions: Predictions, strata: Sequence[str] | None) -> Any:
    from paraconsist.data.logs.format import GOLD_CONFIDENCE
    from paraconsist.data.rows import ColumnNames

    has = GOLD_CONFIDENCE in predictions.table.column_names
    return ColumnNames(confidence=GOLD_CONFIDENCE if has else None, strata=strata or ())


def _split(text: str) -> list[str]:
    return text.split(",")


def _check_export(export: str | None, output_dir: Path | None, *, shown: int) -> None:
    if export not in (None, "lm-eval"):
        raise input_error("score", "export", "be lm-eval", got=export)
    if (export is None) != (output_dir is None):
        missing = "export" if export is None else "output-dir"
        raise input_error("score", missing, "be given too", got=None, remedy="--export lm-eval --output-dir FOLDER.")
    if shown > 1:
        raise input_error("score", "markdown", "not be given with --json", got=True, remedy="Choose one of them.")


def _check_named(named: Mapping[str, tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse columns that the file lacks; only those that are called by default may be absent."""
    for option, (given, default) in named.items():
        absent = [name for name in ([given] if given in columns else given.split(",")) if name not in columns]
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


def show_results(results: Mapping[str, Any], *, figures: bool = False, markdown: bool = False) -> None:
    """Print the tables of every set; with `figures` also what lies behind the rates on pairs."""
    from rich.console import Console, RenderableType
    from rich.text import Text

    from paraconsist.reporting.tables import (
        change_tables,
        figure_tables,
        inconsistency_tables,
        noise_tables,
        policy_tables,
        result_tables,
    )

    parts: list[RenderableType] = []
    for name, result in results.items():
        if "paraphrastic_consistency" in result["measures"]:
            parts += result_tables(name, result)
        if "prediction_change" in result["measures"]:
            parts += change_tables(name, result)
    parts += inconsistency_tables(results)
    parts += policy_tables(results)
    parts += noise_tables(results)
    if figures:
        for name, result in results.items():
            parts += figure_tables(name, result)
    if markdown:
        from paraconsist.reporting.formatting import as_markdown

        typer.echo(as_markdown(parts))
        return
    console = Console()
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
