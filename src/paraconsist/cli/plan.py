"""``paraconsist plan``: how many buckets and paraphrases a wanted interval or difference takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import check_choice, input_error

if TYPE_CHECKING:
    from paraconsist.data.rows import Rows
    from paraconsist.measures.planning import Pilot, PlanRow


def plan(
    pilot: Annotated[Path, typer.Argument(help="Predictions of a pilot: a file, a log, or a run folder of one set.")],
    half_width: Annotated[
        float | None, typer.Option(help="Wanted half-width of the interval, such as 0.02 for plus or minus 2 points.")
    ] = None,
    difference: Annotated[
        float | None, typer.Option(help="Difference between two models that is to be found, such as 0.03.")
    ] = None,
    power: Annotated[float, typer.Option(help="Chance of finding it, in (0, 1).")] = 0.8,
    against: Annotated[
        Path | None,
        typer.Option(help="Another model's predictions of the pilot: says how alike the two models' buckets are."),
    ] = None,
    correlation: Annotated[
        float, typer.Option(help="Of two models' values over buckets, without --against. 0 is cautious.")
    ] = 0.0,
    measure: Annotated[
        str,
        typer.Option(
            help="paraphrastic_consistency_unbiased, vap_unbiased, accuracy, or inconsistency with the original."
        ),
    ] = "paraphrastic_consistency_unbiased",
    paraphrases: Annotated[
        str, typer.Option(help="Numbers of paraphrases per bucket to show.")
    ] = "2,3,4,5,6,8,10,15,20",
    set_name: Annotated[str | None, typer.Option("--set", help="Which set of a run folder.")] = None,
    bucket: Annotated[str, typer.Option(help="Column of the bucket ids.")] = "bucket_id",
    prediction: Annotated[str, typer.Option(help="Column of the predictions.")] = "prediction",
    label: Annotated[str, typer.Option(help="Column of the gold labels.")] = "label",
    role: Annotated[str, typer.Option(help="Column that says 'original' or 'paraphrase'.")] = "role",
    original: Annotated[
        str | None, typer.Option(help="True/false column that marks originals, in place of --role.")
    ] = None,
    group: Annotated[str, typer.Option(help="Column of shared contexts.")] = "group_id",
    bucket_cost: Annotated[
        float, typer.Option(min=0, help="What a new bucket costs beside its paraphrases, in paraphrases.")
    ] = 1.0,
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the interval.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Say how many buckets, and how many paraphrases each, a wanted precision takes."""
    from paraconsist.data.logs.format import log_query
    from paraconsist.data.rows import ColumnNames
    from paraconsist.files import to_strict_json
    from paraconsist.measures.planning import MEASURES
    from paraconsist.measures.planning import plan as plan_rows

    check_choice("plan", "measure", measure, MEASURES)
    try:
        sizes = [int(text) for text in paraphrases.split(",")]
    except ValueError:
        raise input_error("plan", "paraphrases", "be whole numbers with commas between", got=paraphrases) from None
    columns = ColumnNames(
        bucket=bucket, prediction=prediction, label=label, role=role, original=original, group=group, probabilities=()
    )
    query = log_query(columns)
    rows = {path: _rows(path, query, columns, set_name) for path in (pilot, against) if path is not None}
    found, other = _pilot(rows[pilot], measure), None
    if against is not None:
        other, correlation = _pilot(rows[against], measure), _correlation(rows[pilot], rows[against], measure)
    table = plan_rows(
        found,
        half_width=half_width,
        difference=difference,
        power=power,
        confidence_level=confidence_level,
        correlation=correlation,
        other=other,
        paraphrases=sizes,
    )
    if as_json:
        said = {
            "pilot": found.to_dict(),
            "against": None if other is None else other.to_dict(),
            "correlation": correlation,
            "half_width": half_width,
            "difference": difference,
            "power": power,
            "confidence_level": confidence_level,
            "plan": [row.to_dict() for row in table],
        }
        typer.echo(json.dumps(to_strict_json(said), indent=2, allow_nan=False))
        return
    _show(found, table, half_width, difference, power, correlation, confidence_level, bucket_cost)


def _rows(path: Path, query: Any, columns: Any, set_name: str | None) -> Rows:
    """Return the pilot's rows."""
    from dataclasses import replace

    from paraconsist.data.logs.reading import read_logs
    from paraconsist.data.predictions import read_predictions
    from paraconsist.data.rows import read_rows
    from paraconsist.scoring.unparsed import apply_policy

    files = sorted((path / "predictions").glob("*.parquet")) if path.is_dir() else []
    read = {str(p.metadata.get("set", f.stem)): p for f, p in ((f, read_predictions(f)) for f in files)}
    found = {name: p for name, p in (read or read_logs([path], query)).items() if not name.endswith("_test")}
    if set_name is not None:
        found = {name: p for name, p in found.items() if name == set_name}
    if len(found) != 1:
        raise input_error(
            "plan", "pilot", "be one set", got=sorted(found), remedy="Say which with --set, or give its file."
        )
    (predictions,) = found.values()
    named = replace(type(columns)(), probabilities=()) if "source" in predictions.metadata else columns
    return apply_policy(read_rows(predictions, replace(named, strata=[])), "wrong")[0]


def _hits(rows: Rows, measure: str) -> tuple[Any, Any]:
    """Return the buckets of the paraphrases, and what is counted in them: right answers, or changed ones."""
    if measure == "inconsistency":
        from paraconsist.measures.catalogue import SEMANTIC
        from paraconsist.scoring.roles import violations

        found = violations(SEMANTIC, rows)
        return found.positions, found.broken
    import numpy as np

    targets = np.flatnonzero(rows.roles == "paraphrase")
    if not len(targets):
        raise input_error("plan", "role", "be 'paraphrase' in at least one row", got=np.unique(rows.roles).tolist())
    return targets, rows.predictions[targets] == rows.labels[targets]


def _counts(rows: Rows, measure: str) -> tuple[Any, Any, Any]:
    """Return the bucket ids with their sizes and counts, and the groups."""
    import numpy as np

    from paraconsist.measures.buckets import BucketCounts

    targets, hits = _hits(rows, measure)
    assert rows.buckets is not None
    ids, first, codes = np.unique(rows.buckets[targets], return_index=True, return_inverse=True)
    counts = BucketCounts.from_counts(np.bincount(codes), np.bincount(codes[hits], minlength=len(ids)))
    groups = None if rows.groups is None else np.unique(rows.groups[targets][first], return_inverse=True)[1]
    return ids, counts, groups


def _pilot(rows: Rows, measure: str) -> Pilot:
    from paraconsist.measures.planning import pilot_of

    _, counts, groups = _counts(rows, measure)
    return pilot_of(counts, measure, groups=groups)


def _correlation(one: Rows, two: Rows, measure: str) -> float:
    """Return the correlation of two models' bucket values over their common buckets."""
    import numpy as np

    ids_one, first, _ = _counts(one, measure)
    ids_two, second, _ = _counts(two, measure)
    common, at_one, at_two = np.intersect1d(ids_one, ids_two, return_indices=True)
    values = []
    for counts, at in ((first, at_one), (second, at_two)):
        k, c = counts.size[at].astype(float), counts.correct[at].astype(float)
        pairs = measure in ("paraphrastic_consistency_unbiased", "vap_unbiased")
        values.append(np.where(k > 1, c * (k - c) / np.maximum(k * (k - 1), 1), np.nan) if pairs else c / k)
    known = np.isfinite(values[0]) & np.isfinite(values[1]) if len(common) else np.zeros(0, dtype=bool)
    if np.count_nonzero(known) < 3:
        raise input_error("plan", "against", "share at least three buckets with the pilot", got=int(known.sum()))
    spread = [float(np.std(v[known])) for v in values]
    return float(np.corrcoef(values[0][known], values[1][known])[0, 1]) if min(spread) > 0 else 0.0


def _show(
    pilot: Pilot,
    table: Sequence[PlanRow],
    half_width: float | None,
    difference: float | None,
    power: float,
    correlation: float,
    level: float,
    bucket_cost: float,
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    shown = Table(
        box=SIMPLE_HEAD,
        title=f"{pilot.measure.replace('_', ' ')}: {pilot.value:.4f} in a pilot of {pilot.n_buckets:,} buckets",
        title_justify="left",
        title_style="bold",
        caption=f"* cheapest, if a bucket costs as much as {bucket_cost:g} paraphrases beside its own",
        caption_justify="left",
    )
    shown.add_column("paraphrases\nper bucket", justify="right")
    cheapest = {}
    for key, wanted in (("half_width", half_width), ("difference", difference)):
        if wanted is None:
            continue
        costs = [getattr(row, f"buckets_for_{key}") * (row.paraphrases + bucket_cost) for row in table]
        cheapest[key] = costs.index(min(costs))
        head = f"+-{wanted:g} at {100 * level:g} %" if key == "half_width" else f"find {wanted:g} in {100 * power:g} %"
        shown.add_column(f"{head}\nbuckets", justify="right")
        shown.add_column("\nrows", justify="right")
    for i, row in enumerate(table):
        cells = [str(row.paraphrases)]
        for key, best in cheapest.items():
            star = " *" if i == best else "  "
            cells += [f"{getattr(row, f'buckets_for_{key}'):,}", f"{getattr(row, f'rows_for_{key}'):,}{star}"]
        shown.add_row(*cells)
    console.print(shown)
    if difference is not None:
        console.print(f"Two models' values over the same buckets are taken to correlate by {correlation:.2f}.")
    if pilot.context_covariance > 0:
        console.print(f"Buckets share contexts, {pilot.buckets_per_cluster:.1f} in each, as in the pilot.")
    for warning in pilot.warnings:
        console.print(f"warning: {warning}", style="yellow")
