"""``paraconsist compare``: is one model more consistent than another, on what both answered?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.data.predictions import Predictions


def compare(
    paths: Annotated[
        list[Path], typer.Argument(help="Two or more models: a predictions file, a log or a run folder of each.")
    ],
    name: Annotated[
        list[str] | None, typer.Option(help="What to call the models, once for each, in their order.")
    ] = None,
    bucket: Annotated[str, typer.Option(help="Column of the bucket ids.")] = "bucket_id",
    prediction: Annotated[str, typer.Option(help="Column of the predictions.")] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[
        str | None, typer.Option(help="True/false column that marks originals, in place of --role.")
    ] = None,
    group: Annotated[
        str, typer.Option(help="Column of what stays together in resampling, such as a shared context.")
    ] = "group_id",
    groups_from: Annotated[
        Path | None,
        typer.Option(help="A table with the columns of --bucket and --group, where the predictions have no groups."),
    ] = None,
    example: Annotated[
        str, typer.Option(help="Column that tells the rows of a bucket apart; need not be there.")
    ] = "example_id",
    label_names: Annotated[
        str | None,
        typer.Option(help="Names of the labels 0,1,... where gold is given by name and predictions by number."),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Measure, repeated for several; by default what the rows' roles call for.")
    ] = None,
    estimator: Annotated[
        str, typer.Option(help="Which P_C is the headline: unbiased, or plugin (as published).")
    ] = "unbiased",
    correction: Annotated[
        str,
        typer.Option(help="Of p for all pairs and sets: holm, bonferroni, benjamini_hochberg or none."),
    ] = "holm",
    against_first: Annotated[
        bool, typer.Option(help="Compare every model with the first only, not every pair.")
    ] = False,
    unparsed: Annotated[
        str, typer.Option(help="What unparsed answers count as: wrong, own_class or drop_bucket.")
    ] = "wrong",
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the intervals.")] = 0.95,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates.")] = 10_000,
    n_permutations: Annotated[int, typer.Option(min=1, help="Of the permutation test.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of bootstrap and permutations.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, full precision, and nothing else.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the results to this JSON file.")] = None,
) -> None:
    """Compare models on the same buckets: paired differences with intervals and permutation p-values."""
    from paraconsist.data.logs.format import log_query
    from paraconsist.data.rows import ColumnNames
    from paraconsist.files import to_strict_json
    from paraconsist.measures.pareto import CORRECTIONS
    from paraconsist.scoring.compare import CompareOptions
    from paraconsist.scoring.compare import compare as compare_models

    for option, given, choices in (
        ("correction", correction, CORRECTIONS),
        ("estimator", estimator, ("unbiased", "plugin")),
    ):
        if given not in choices:
            raise input_error("compare", option, f"be one of {', '.join(choices)}", got=given)
    columns = ColumnNames(bucket=bucket, prediction=prediction, label=label, role=role, original=original, group=group)
    _check_different(paths)
    names = _names(paths, name)
    query = log_query(columns)
    models = {m: _read(path, query, columns, label_names) for m, path in zip(names, paths, strict=True)}
    if groups_from is not None:
        from paraconsist.data.reshaping import with_groups

        models = {
            m: {s: with_groups(p, groups_from, bucket=bucket, group=group) for s, p in sets.items()}
            for m, sets in models.items()
        }
    options = CompareOptions(
        columns=columns,
        example=example,
        measures=measure,
        estimator=estimator,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        n_permutations=n_permutations,
        seed=seed,
        correction=correction,
        against_first=against_first,
        unparsed=unparsed,
    )
    found = compare_models(_one_name_for_one_set(models), options)
    results = to_strict_json([one.to_dict() for one in found])
    _say_left_out(models, [one.set for one in found])
    if output is not None:
        _write(output, results)
    if as_json:
        typer.echo(json.dumps(results, indent=2, allow_nan=False))
    else:
        _show(results)


def _check_different(paths: Sequence[Path]) -> None:
    """Refuse one model given twice: it would differ from itself in nothing."""
    if len(paths) < 2:
        raise input_error(
            "compare", "paths", "name two models at least", got=[str(path) for path in paths], remedy="Give another."
        )
    seen: dict[Any, Path] = {}
    for path in paths:
        if not path.exists():
            raise input_error("compare", "paths", "exist", got=str(path))
        key = path.resolve() if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
        if key in seen:
            raise input_error(
                "compare",
                "paths",
                "be different models' predictions",
                got=[str(seen[key]), str(path)],
                remedy="The two hold the same, byte for byte: give the other model's.",
            )
        seen[key] = path


def _names(paths: Sequence[Path], given: Sequence[str] | None) -> list[str]:
    """Return what to call the models: as the options say, else the shortest of the paths' ends that differ."""
    if given:
        if len(given) != len(paths) or len(set(given)) != len(given):
            raise input_error(
                "compare", "name", f"be given once for each of the {len(paths)} models, all different", got=list(given)
            )
        return list(given)
    parts = [[*path.resolve().parts[:-1], path.stem if path.is_file() else path.name] for path in paths]
    for n in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-n:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _read(path: Path, query: Any, columns: Any, label_names: str | None) -> dict[str | None, Predictions]:
    """Return a model's predictions by set; None is a set that the file does not name."""
    from paraconsist.data.logs.reading import read_logs
    from paraconsist.data.predictions import read_predictions
    from paraconsist.data.reshaping import named_labels
    from paraconsist.scoring.folders import is_plain

    of_run = sorted((path / "predictions").glob("*.parquet")) if path.is_dir() else []
    read = [read_predictions(file) for file in of_run] if of_run else list(read_logs([path], query).values())
    found: dict[str | None, Predictions] = {}
    for predictions in read:
        said = predictions.metadata.get("set")
        if not of_run or not is_plain(predictions):
            found[None if said is None else str(said)] = predictions
    if label_names is not None:
        split = label_names.split(",")
        found = {name: named_labels(predictions, columns.label, split) for name, predictions in found.items()}
    return found


def _one_name_for_one_set(models: dict[str, dict[str | None, Predictions]]) -> dict[str, dict[str, Predictions]]:
    """Give sets without a name one: where every model has one set, they are taken for the same set."""
    known = {name for sets in models.values() for name in sets if name is not None}
    single = all(len(sets) == 1 for sets in models.values())
    if single and len(known) <= 1:
        name = next(iter(known), "")
        return {model: {name: next(iter(sets.values()))} for model, sets in models.items()}
    return {model: {name or model: p for name, p in sets.items()} for model, sets in models.items()}


def _say_left_out(models: dict[str, dict[str | None, Predictions]], compared: Sequence[str]) -> None:
    for model, sets in models.items():
        extra = [name for name in sets if name is not None and name not in compared]
        if extra:
            typer.echo(f"warning: left out, as not every model has them: {', '.join(extra)} of {model}", err=True)


def _write(output: Path, results: Any) -> None:
    try:
        output.write_text(json.dumps(results, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise input_error(
            "compare", "output", "be a file that can be written", got=str(output), remedy=f"{problem.strerror}."
        ) from None


def _show(results: Sequence[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    from paraconsist.reporting.comparison_tables import comparison_tables

    console = Console()
    for part in comparison_tables(results):
        console.print(part, soft_wrap=isinstance(part, Text))
