"""``paraconsist plan``: how many buckets and paraphrases a wanted interval or difference takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paraconsist.cli.options import AsJson, print_json
from paraconsist.errors import check_choice, input_error
from paraconsist.scoring.options import SourceOptions

if TYPE_CHECKING:
    from paraconsist.measures.planning import Pilot, PlanRow


def plan(
    pilot: Annotated[Path, typer.Argument(help="Predictions of a pilot: a file, a log, or a run folder of one set.")],
    *,
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
    read: SourceOptions,
    bucket_cost: Annotated[
        float, typer.Option(min=0, help="What a new bucket costs beside its paraphrases, in paraphrases.")
    ] = 1.0,
    confidence_level: Annotated[float, typer.Option(min=0, max=1, help="Of the interval.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Say how many buckets, and how many paraphrases each, a wanted precision takes."""
    from paraconsist.measures.planning import MEASURES
    from paraconsist.measures.planning import plan as plan_rows
    from paraconsist.scoring.planning import correlation_of, pilot_of_rows, pilot_rows

    check_choice("plan", "measure", measure, MEASURES)
    try:
        sizes = [int(text) for text in paraphrases.split(",")]
    except ValueError:
        raise input_error("plan", "paraphrases", "be whole numbers with commas between", got=paraphrases) from None
    rows = pilot_rows(pilot, read, set_name)
    found, other = pilot_of_rows(rows, measure), None
    if against is not None:
        others = pilot_rows(against, read, set_name)
        other, correlation = pilot_of_rows(others, measure), correlation_of(rows, others, measure)
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
        print_json(
            {
                "pilot": found.to_dict(),
                "against": None if other is None else other.to_dict(),
                "correlation": correlation,
                "half_width": half_width,
                "difference": difference,
                "power": power,
                "confidence_level": confidence_level,
                "plan": [row.to_dict() for row in table],
            }
        )
        return
    _show(found, table, half_width, difference, power, correlation, confidence_level, bucket_cost)


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
    lines = Table(
        box=SIMPLE_HEAD,
        title=f"{pilot.measure.replace('_', ' ')}: {pilot.value:.4f} in a pilot of {pilot.n_buckets:,} buckets",
        title_justify="left",
        title_style="bold",
        caption=f"* cheapest, if a bucket costs as much as {bucket_cost:g} paraphrases beside its own",
        caption_justify="left",
    )
    lines.add_column("paraphrases\nper bucket", justify="right")
    cheapest = {}
    for key, wanted in (("half_width", half_width), ("difference", difference)):
        if wanted is None:
            continue
        costs = [getattr(row, f"buckets_for_{key}") * (row.paraphrases + bucket_cost) for row in table]
        cheapest[key] = costs.index(min(costs))
        head = f"+-{wanted:g} at {100 * level:g} %" if key == "half_width" else f"find {wanted:g} in {100 * power:g} %"
        lines.add_column(f"{head}\nbuckets", justify="right")
        lines.add_column("\nrows", justify="right")
    for i, row in enumerate(table):
        cells = [str(row.paraphrases)]
        for key, best in cheapest.items():
            star = " *" if i == best else "  "
            cells += [f"{getattr(row, f'buckets_for_{key}'):,}", f"{getattr(row, f'rows_for_{key}'):,}{star}"]
        lines.add_row(*cells)
    console.print(lines)
    if difference is not None:
        console.print(f"Two models' values over the same buckets are taken to correlate by {correlation:.2f}.")
    if pilot.context_covariance > 0:
        console.print(f"Buckets share contexts, {pilot.buckets_per_cluster:.1f} in each, as in the pilot.")
    for warning in pilot.warnings:
        console.print(f"warning: {warning}", style="yellow")
