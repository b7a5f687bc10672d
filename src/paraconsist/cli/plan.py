"""``paraconsist plan``: how many buckets and paraphrases a wanted interval or difference takes, or a budget buys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.cli.options import AS_JSON, argument, read_numbers, show_results
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import check_choice, renamed
from paraconsist.reporting.formatting import count, decimal

if TYPE_CHECKING:
    from paraconsist.measures.planning import BudgetRow, Pilot, PlanRow, Target
    from paraconsist.reporting.table import Part


def plan(
    *,
    pilot: Path = argument("Predictions of a pilot: a file, a log, or a run folder of one set."),
    half_width: float | None = option(
        None, "Half-width that the interval should have, such as 0.02 for plus or minus 2 points."
    ),
    assurance: float = option(
        0.8, "Probability, in (0, 1), that a study of the planned size is at least that precise."
    ),
    difference: float | None = option(
        None, "Smallest difference between two models that the study should find, such as 0.03."
    ),
    power: float = option(0.8, "Probability, in (0, 1), of finding it."),
    against: Path | None = option(
        None, "Another model's predictions for the pilot, from which the variance of the difference is estimated."
    ),
    correlation: float = option(
        0.0, "Assumed correlation of two models over buckets, without --against. 0 is cautious."
    ),
    measure: str = option(
        "paraphrastic_consistency_unbiased",
        "paraphrastic_consistency_unbiased, vap_unbiased, accuracy, or inconsistency with the original.",
    ),
    paraphrases: str = option("2,3,4,5,6,8,10,15,20", "Numbers of paraphrases per bucket to show."),
    set_name: str | None = option(None, "The set to use, if the run folder has several.", option="--set"),
    read: SourceOptions,
    budget: float | None = option(
        None, "Show the most precise study for this budget, in the unit of the two costs.", min=0
    ),
    bucket_cost: float = option(1.0, "What a new bucket costs, without its paraphrases.", min=0),
    paraphrase_cost: float = option(1.0, "What a paraphrase costs.", min=0),
    confidence_level: float = option(0.95, "Confidence level of the interval.", min=0, max=1),
    as_json: bool = AS_JSON,
) -> None:
    """Plan a study: how many buckets and paraphrases a precision needs, or a budget allows.

    paraconsist plan pilot.csv --half-width 0.02
    paraconsist plan runs/a --against runs/b --difference 0.03
    """
    from paraconsist.measures.planning import MEASURES, Costs, Target, spend
    from paraconsist.measures.planning import plan as plan_rows
    from paraconsist.scoring.planning import pilot_of_rows, pilot_of_two, pilot_rows

    check_choice("plan", "measure", measure, MEASURES)
    sizes = read_numbers("plan", "paraphrases", paraphrases)
    target = Target(confidence_level, assurance, power, correlation)
    rows = pilot_rows(pilot, read, set_name)
    single = pilot_of_rows(rows, measure)
    paired = None
    if against is not None:
        with renamed(pilot="against"):
            others = pilot_rows(against, read, set_name)
        paired = pilot_of_two(rows, others, measure)
    options: dict[str, Any] = {"target": target, "of_difference": paired, "paraphrases": sizes}
    options["costs"] = Costs(bucket_cost, paraphrase_cost)
    wanted: dict[str, Any] = {"half_width": half_width, "difference": difference}
    bought = [] if budget is None else spend(single, budget, **options)
    is_planned = budget is None or half_width is not None or difference is not None
    planned = plan_rows(single, **wanted, **options) if is_planned else []
    pilots = {"pilot": single.to_dict(), "against": None if paired is None else paired.to_dict()}
    rows_of = {"plan": [row.to_dict() for row in planned], "budget": [row.to_dict() for row in bought]}
    tables = _tables((single, paired), target, wanted, planned, (budget, bought))
    show_results({**pilots, **wanted, **vars(target), **rows_of}, tables, as_json=as_json)


def _tables(
    pilots: tuple[Pilot, Pilot | None],
    target: Target,
    wanted: Mapping[str, float | None],
    planned: Sequence[PlanRow],
    bought_for: tuple[float | None, Sequence[BudgetRow]],
) -> Iterator[Part]:
    from paraconsist.reporting.table import Line, remarks, table

    (single, paired), (budget, bought) = pilots, bought_for
    shares = (target.confidence_level, target.power, target.assurance)
    level, power, assured = (f"{100 * share:g} %" for share in shares)
    of_pilot = f"{single.measure.replace('_', ' ')}: {single.value:.4f} in a pilot of {single.n_buckets:,} buckets"
    yield Line(of_pilot, "title")
    if planned:
        columns, cells = ["paraphrases\nper bucket"], [[str(row.paraphrases) for row in planned]]
        heads = {"half_width": f"+-{wanted['half_width']} at {level}"}
        heads["difference"] = f"find {wanted['difference']} in {power}"
        for key, head in heads.items():
            if getattr(planned[0], f"cost_for_{key}") is not None:
                columns += [f"{head}\nbuckets", "\nrows"]
                cells.append([count(getattr(row, f"buckets_for_{key}")) for row in planned])
                rows = [getattr(row, f"rows_for_{key}") for row in planned]
                cells.append(_starred([count(n) for n in rows], [getattr(row, f"cost_for_{key}") for row in planned]))
        caption = "* cheapest"
        if wanted["half_width"] is not None:
            caption += f"; {assured} of studies of this size have the half-width or less"
        yield table("What it takes", columns, zip(*cells, strict=True), words=[columns[0]], caption=caption)
    if bought:
        columns = ["paraphrases\nper bucket", "\nbuckets", "\nrows"]
        cells = [[count(getattr(row, key)) for row in bought] for key in ("paraphrases", "buckets", "rows")]
        heads = {
            "half_width": f"+- at {level}\nexpected",
            "assured_half_width": f"at most\nin {assured}",
            "difference": f"finds\nin {power}",
        }
        for key, head in heads.items():
            values = [getattr(row, key) for row in bought]
            columns.append(head)
            cells.append(_starred([decimal(value) for value in values], values))
        title = f"What {budget:g} buys"
        yield table(title, columns, zip(*cells, strict=True), words=[columns[0]], caption="* best")
    if paired is not None:
        yield Line(f"The models differ by {paired.value:+.4f} over {paired.n_buckets:,} buckets that both answered.")
    elif wanted["difference"] is not None or bought:
        yield Line(f"Two models' true values over the same buckets are taken to correlate by {target.correlation:.2f}.")
    if single.context_covariance > 0:
        size = single.n_buckets / single.n_clusters
        yield Line(f"Buckets share contexts, {size:.1f} in each, as in the pilot.")
    yield from remarks([*single.warnings, *(paired.warnings if paired is not None else ())], [])


def _starred(cells: Sequence[str], values: Sequence[float]) -> list[str]:
    """Return the cells with a star at the least value."""
    best = min(values)
    return [f"{cell} {'*' if value == best else ' '}" for cell, value in zip(cells, values, strict=True)]
