"""``paraconsist artifacts``: consistency where the label can be told from part of the input, and where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.data.predictions import Predictions
    from paraconsist.studies.artifacts import ArtifactRow


def artifacts(
    partial: Annotated[
        Path, typer.Option(help="Run folder or predictions of a model that was shown part of the input.")
    ],
    full: Annotated[
        list[Path], typer.Option(help="The same of a model that was shown everything; repeat for several.")
    ],
    set_: Annotated[str | None, typer.Option("--set", help="Which set, where a run folder holds several.")] = None,
    partial_test: Annotated[
        Path | None, typer.Option(help="Predictions on the full test set, where --partial is a file.")
    ] = None,
    full_test: Annotated[
        list[Path] | None, typer.Option(help="The same for each --full that is a file, in their order.")
    ] = None,
    bucket: Annotated[str, typer.Option(help="Column of the bucket ids.")] = "bucket_id",
    prediction: Annotated[str, typer.Option(help="Column of the predictions.")] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[str | None, typer.Option(help="True/false column that marks originals.")] = None,
    group: Annotated[str, typer.Option(help="Column of what intervals resample.")] = "group_id",
    confidence: Annotated[str | None, typer.Option(help="Column of the probability of the gold label.")] = None,
    probabilities: Annotated[str, typer.Option(help="Column of lists of probabilities.")] = "probabilities",
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the intervals.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")] = None,
) -> None:
    """Split buckets by whether a partial-input model gets the original right, and score each part."""
    from paraconsist.data.rows import ColumnNames
    from paraconsist.files import to_strict_json
    from paraconsist.scoring.score import ScoreOptions
    from paraconsist.studies.artifacts import artifact_table

    names = ColumnNames(
        bucket=bucket,
        prediction=prediction,
        label=label,
        role=role,
        original=original,
        group=group,
        confidence=confidence,
        probabilities=(probabilities,),
        strata=(),
    )
    options = ScoreOptions(columns=names, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed)
    tests = list(full_test or ())
    if tests and len(tests) != len(full):
        raise input_error("artifacts", "full_test", "be given once for each --full, or not at all", got=len(tests))
    seen, seen_test = _open(partial, partial_test, set_, "partial")
    models = []
    for i, path in enumerate(full):
        predictions, test = _open(path, tests[i] if tests else None, set_, "full")
        models.append((_name(path, len(full)), predictions, test))
    table = artifact_table(seen, models, options, partial_test=seen_test)
    results = to_strict_json({"rows": [row.to_dict() for row in table]})
    if output is not None:
        output.write_text(json.dumps(results, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(results, indent=2, allow_nan=False))
        return
    _print(table)


def _name(path: Path, n: int) -> str:
    return "full" if n == 1 else path.stem


def _open(path: Path, test: Path | None, wanted: str | None, option: str) -> tuple[Predictions, Predictions | None]:
    """Read a predictions file, or the one set (and its full test set) of a run folder."""
    from paraconsist.data.predictions import read_predictions

    if not path.is_dir():
        return read_predictions(path), None if test is None else read_predictions(test)
    found = {}
    for file in sorted((path / "predictions").glob("*.parquet")):
        predictions = read_predictions(file)
        found[str(predictions.metadata.get("set", file.stem))] = predictions
    sets = [name for name in found if not name.endswith("_test")]
    if wanted is not None:
        sets = [name for name in sets if name == wanted]
    if len(sets) != 1:
        raise input_error(
            "artifacts",
            option,
            "hold the predictions of one set",
            got=list(found),
            remedy="Name it with --set." if len(found) > 1 else f"Run the model into {path} first.",
        )
    own_test = found.get(f"{sets[0].removesuffix('_automatic')}_test")
    return found[sets[0]], own_test if test is None else read_predictions(test)


def _print(table: list[ArtifactRow]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(
        title="Buckets by whether the partial-input model gets the original right",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    columns: tuple[tuple[str, str], ...] = (
        ("original_accuracy", "A_O"),
        ("accuracy", "A"),
        ("paraphrastic_consistency", "P_C"),
        ("paraphrastic_consistency_unbiased", "unb."),
        ("corrected_accuracy", "A~"),
        ("renormalized_accuracy", "ren."),
        ("corrected_paraphrastic_consistency", "P_C~"),
        ("renormalized_paraphrastic_consistency", "ren."),
        ("covered_mass", "mass"),
    )
    for label in ("artefacts", "model", "n"):
        shown.add_column(label, justify="right" if label == "n" else "left", no_wrap=True)
    for _, label in columns:
        shown.add_column(label, justify="right", no_wrap=True)
    for row in table:
        values = [_percent(getattr(row, key)) for key, _ in columns]
        shown.add_row(row.artifact, row.model, f"{row.n_buckets:,}", *values)
    console = Console()
    console.print(shown)
    if any(row.covered_mass is not None and row.covered_mass < 0.99 for row in table):
        console.print(
            "[dim]A~ and P_C~ are as published: test mass in deciles of confidence without a bucket is lost. 'ren.' "
            "divides by the covered mass.[/dim]"
        )
    if any(row.covered_mass is None for row in table):
        console.print("[dim]No corrected values without predictions on the full test set (run --with-test).[/dim]")


def _percent(value: Any) -> str:
    return "-" if value is None or value != value else f"{100 * value:.1f}"
