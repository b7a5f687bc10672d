"""``paraconsist plan``: how many buckets and paraphrases a wanted interval or difference takes, or a budget buys.

Also ``variance``: where the variance of answers comes from, and what one more call is best spent on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.cli.options import AS_JSON, argument, read_numbers, read_pairs, show_results
from paraconsist.comparing.rehearsal import end_rehearsal, rehearsed
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import check_fraction, input_error, renamed
from paraconsist.reporting.formatting import count, decimal, interval, percent

if TYPE_CHECKING:
    from paraconsist.measures.planning import BudgetRow, Pilot, PlanRow, SavingRow, Target
    from paraconsist.measures.rankings import RankingsResult
    from paraconsist.measures.variance_components import VarianceComponentsResult
    from paraconsist.reporting.table import Part
    from paraconsist.scoring.sources import Source


@rehearsed
def plan(
    *,
    pilot: Path = argument("Predictions of a pilot: a file, a log, or a run folder; each set is planned."),
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
        None,
        "Another model's predictions for the pilot, or its name beside --model, from which the variance of the "
        "difference is estimated.",
    ),
    correlation: float = option(
        0.0, "Assumed correlation of two models over buckets, without --against. 0 is cautious."
    ),
    measure: str | None = option(
        None,
        "paraphrastic_consistency_unbiased (the default), wording_change (the default without gold labels), "
        "vap_unbiased, accuracy, or inconsistency with the original.",
    ),
    paraphrases: str = option("2,3,4,5,6,8,10,15,20", "Numbers of paraphrases per bucket to show."),
    set_name: str | None = option(None, "Use only this set of the run folder.", option="--set"),
    read: SourceOptions,
    budget: float | None = option(
        None, "Show the most precise study for this budget, in the unit of the two costs.", min=0
    ),
    bucket_cost: float = option(1.0, "What a new bucket costs, without its paraphrases.", min=0),
    paraphrase_cost: float = option(1.0, "What a paraphrase costs.", min=0),
    context_cost: float = option(
        0.0, "What a new context costs; the budget is then divided between contexts and buckets.", min=0
    ),
    max_contexts: int | None = option(None, "Contexts that there are, at most.", min=2),
    buckets_per_context: int | None = option(
        None, "Buckets of each context in the study. With a budget for contexts: at most.", min=1
    ),
    checked: list[Path] | None = option(
        None,
        "Sheets in which people marked the pilot's answers: shows how many labels, against how many more buckets, make "
        "the corrected rates precise.",
    ),
    label_cost: float = option(1.0, "What a label by a person costs, with `checked`.", min=0.000001),
    plots: Path | None = option(None, "Also draw half-width against calls in this folder, as PNG, SVG and PDF."),
    confidence_level: float = option(0.95, "Confidence level of the interval.", min=0, max=1),
    as_json: bool = AS_JSON,
) -> None:
    """Plan a study: how many buckets and paraphrases a precision needs, or a budget allows.

    paraconsist plan pilot.csv --half-width 0.02
    paraconsist plan runs/a --against runs/b --difference 0.03
    """
    from paraconsist.scoring.sources import of_other, open_source

    if checked:
        given = {"against": against, "difference": difference, "budget": budget, "plots": plots, "measure": measure}
        _check_absent("with `checked`", **given, max_contexts=max_contexts, buckets_per_context=buckets_per_context)
        source = open_source(pilot, read, function="plan").one("plan", "pilot", set_name)
        prices = label_cost, bucket_cost, paraphrase_cost
        return show_results(*_label_plans(source, checked, half_width, prices, confidence_level), as_json=as_json)
    if budget is None:
        _check_absent("without `budget`", max_contexts=max_contexts)
    from paraconsist.measures.planning import Costs, Target, savings, spend
    from paraconsist.measures.planning import plan as plan_rows
    from paraconsist.reporting.table import Line
    from paraconsist.scoring.planning import pilot_of_rows, pilot_of_two, pilot_sets

    sizes = read_numbers("plan", "paraphrases", paraphrases)
    target = Target(confidence_level, assurance, power, correlation)
    costs = Costs(bucket_cost, paraphrase_cost, context_cost)
    wanted: dict[str, Any] = {"half_width": half_width, "difference": difference}
    sets, others = pilot_sets(pilot, read, set_name), None
    if against is not None:
        with renamed(pilot="against"):
            others = pilot_sets(*of_other(against, pilot, read, "plan"), set_name, is_other=True)
    results: dict[str, Any] = {}
    tables: list[Part] = []
    curves: dict[str, list[SavingRow]] = {}
    for name, rows in sets.items():
        single, paired = pilot_of_rows(rows, measure), None
        if others is not None:
            second = next(iter(others.values())) if len(sets) == len(others) == 1 else others.get(name)
            if second is None:
                raise input_error("plan", "against", f"have the set {name!r} of `pilot`", got=sorted(others))
            paired = pilot_of_two(rows, second, single.measure)
        if buckets_per_context is not None:
            single = single.in_contexts_of(buckets_per_context)
            paired = None if paired is None else paired.in_contexts_of(buckets_per_context)
        options: dict[str, Any] = {"target": target, "of_difference": paired, "paraphrases": sizes, "costs": costs}
        bought = [] if budget is None else spend(single, budget, max_contexts=max_contexts, **options)
        is_planned = budget is None or half_width is not None or difference is not None
        planned = plan_rows(single, **wanted, **options) if is_planned else []
        curves[name] = savings(single, paraphrases=sizes, confidence_level=confidence_level)
        pilots = {"pilot": single.to_dict(), "against": None if paired is None else paired.to_dict()}
        kinds: dict[str, Sequence[Any]] = {"plan": planned, "budget": bought, "savings": curves[name]}
        rows_of = {kind: [row.to_dict() for row in of] for kind, of in kinds.items()}
        results[name] = {**pilots, **wanted, **vars(target), **rows_of}
        tables += [Line(name, "title")] if len(sets) > 1 else []
        tables += _tables((single, paired), target, wanted, planned, (budget, bought), curves[name])
    whole = results[name] if len(results) == 1 else {"sets": results}
    show_results(whole, tables, as_json=as_json)
    if plots is not None:
        from paraconsist.reporting.plots.canvas import write_plot
        from paraconsist.reporting.plots.planning import savings_plot

        write_plot(savings_plot(curves), plots)


def _check_absent(where: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise input_error("plan", name, f"not be given {where}", got=value)


def _label_plans(
    source: Source, checked: Sequence[Path], half_width: float | None, costs: tuple[float, float, float], level: float
) -> tuple[dict[str, object], list[Part]]:
    """Return what more labels by people and more problems do to rates that sheets correct, with its tables."""
    from paraconsist.reporting.table import Line, remarks, table
    from paraconsist.scoring.checked import label_plans, read_checked

    label_cost, bucket_cost, paraphrase_cost = costs
    asked, columns_of = source.predictions.table, source.columns
    sampled = columns_of.group if columns_of.group in asked.column_names else columns_of.bucket
    n_buckets, n_units = (len(asked[each].unique()) for each in (columns_of.bucket, sampled))
    unit = "contexts" if n_units < n_buckets else "buckets"
    problem_cost = (bucket_cost * n_buckets + paraphrase_cost * asked.num_rows) / n_units
    if half_width is not None:
        check_fraction("plan", "half_width", half_width)
        if problem_cost == 0.0:
            must = "be above 0, or `paraphrase_cost`, with `checked`"
            raise input_error("plan", "bucket_cost", must, got=bucket_cost)
    results: dict[str, object] = {}
    tables: list[Part] = []
    sheets = read_checked(checked)
    end_rehearsal()
    plans, notes = label_plans(source, sheets, level)
    for key, plan in plans.items():
        of_labels = plan.label_variance / plan.n_labels
        share = of_labels / (of_labels + plan.problem_variance / plan.n_problems)
        now = plan.half_width(plan.n_labels, plan.n_problems)
        tables.append(Line(f"{key.replace('_', ' ')}, corrected: {plan.value:.4f} +- {decimal(now)}", "title"))
        sizes = [max(plan.n_labels // 2, 1), *(plan.n_labels * 2**i for i in range(4))]
        times = (1, 2, 4)
        heads = [f"{'+- with' if i == 1 else ''}\n{count(i * plan.n_problems)} {unit}" for i in times]
        cells = [[count(n), *(decimal(plan.half_width(n, i * plan.n_problems)) for i in times)] for n in sizes]
        columns = ["labels by\npeople", *heads]
        if half_width is not None:
            columns.append(f"{unit}\nfor +-{half_width}")
            for n, line in zip(sizes, cells, strict=True):
                line.append("none" if (k := plan.problems_for(half_width, n)) is None else count(k))
        caption = f"of the variance now, {100 * share:.0f} % is that of the {plan.n_labels:,} labels"
        tables.append(table(f"What more labels and more {unit} give", columns, cells, caption=caption))
        found = {**plan.to_dict(), "half_width": now}
        if half_width is not None:
            n, k = plan.cheapest(half_width, label_cost, problem_cost)
            cost = n * label_cost + k * problem_cost
            tables.append(Line(f"Cheapest for +-{half_width}: {n:,} labels and {k:,} {unit}, {cost:,.0f} in all."))
            found["cheapest"] = {"half_width": half_width, "n_labels": n, "n_problems": k, "cost": cost}
        results[key] = found
    return results, [*tables, *remarks(notes, [])]


def _tables(
    pilots: tuple[Pilot, Pilot | None],
    target: Target,
    wanted: Mapping[str, float | None],
    planned: Sequence[PlanRow],
    bought_for: tuple[float | None, Sequence[BudgetRow]],
    curve: Sequence[SavingRow],
) -> Iterator[Part]:
    from paraconsist.reporting.table import Line, remarks, table

    (single, paired), (budget, bought) = pilots, bought_for
    shares = (target.confidence_level, target.power, target.assurance)
    level, power, assured = (f"{100 * share:g} %" for share in shares)
    of_pilot = f"{single.measure.replace('_', ' ')}: {single.value:.4f} in a pilot of {single.n_buckets:,} buckets"
    wordings = _wordings(single)
    yield Line(of_pilot, "title")
    if planned:
        columns, cells = [f"{wordings}\nper bucket"], [[str(row.paraphrases) for row in planned]]
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
        yield table("What it takes", columns, zip(*cells, strict=True), caption=caption)
    if bought:
        columns = [f"{wordings}\nper bucket", "\nbuckets", "\nrows"]
        keys = ["paraphrases", "buckets", "rows"]
        if bought[0].contexts is not None:
            columns, keys = [*columns, "\ncontexts", "buckets\nof each"], [*keys, "contexts", "buckets_per_context"]
        cells = [[count(getattr(row, key)) for row in bought] for key in keys]
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
        yield table(title, columns, zip(*cells, strict=True), caption="* best")
        best = min(bought, key=lambda row: row.half_width)
        divided = f"{best.buckets:,} buckets"
        if best.contexts is not None:
            divided = f"{best.buckets_per_context:,} buckets x {best.contexts:,} contexts"
        precision = f"{best.rows:,} rows, +-{decimal(best.half_width)}"
        yield Line(f"Most precise: {best.paraphrases} {wordings} x {divided}: {precision}.")
    if len(curve) > 1:
        yield from _savings(single, curve)
    if paired is not None:
        yield Line(f"The models differ by {paired.value:+.4f} over {paired.n_buckets:,} buckets that both answered.")
    elif wanted["difference"] is not None or bought:
        yield Line(f"Two models' true values over the same buckets are taken to correlate by {target.correlation:.2f}.")
    if single.context_covariance > 0:
        size = single.per_context or single.n_buckets / single.n_clusters
        yield Line(f"Buckets share contexts, {size:.1f} in each{'' if single.per_context else ', as in the pilot'}.")
    yield from remarks([*single.warnings, *(paired.warnings if paired is not None else ())], [])


def _wordings(pilot: Pilot) -> str:
    """Return what the rows of a bucket are; of wording changes, the original is one of them."""
    from paraconsist.measures.planning import WORDING_CHANGE

    return "wordings" if pilot.measure == WORDING_CHANGE else "paraphrases"


def _savings(pilot: Pilot, rows: Sequence[SavingRow]) -> Iterator[Part]:
    """Return the table of fewer calls, and the sentence that says whether they save anything."""
    from paraconsist.reporting.table import Line, table

    wordings = _wordings(pilot)
    unit, first, whole = "contexts" if pilot.has_contexts else "buckets", rows[0], rows[-1]
    columns, ways = [f"{wordings}\nof each bucket", "\ncalls", f"wider by fewer\n{wordings}"], ["widening"]
    if pilot.has_contexts:
        columns, ways = [*columns, "buckets of\neach context"], [*ways, "widening_by_buckets"]
    columns, ways = [*columns, f"\n{unit}"], [*ways, "widening_by_contexts"]
    cells = []
    for row in rows:
        factors = [getattr(row, way) for way in ways]
        shown = ["-" if factor is None else f"{factor:.2f}" for factor in factors]
        cells.append([str(row.paraphrases), f"{100 * row.share:.0f} %", *shown])
    caption = f"times as wide an interval as all {whole.paraphrases} {wordings} of each bucket give"
    yield table("What fewer calls lose", columns, cells, caption=caption)
    if any(row.saves for row in rows[:-1]):
        calls = f"{first.paraphrases} of {whole.paraphrases} {wordings}, {100 * first.share:.0f} % of the calls"
        other = f"to save as many with fewer {unit} widens it {first.widening_by_contexts:.2f} times"
        yield Line(f"{calls}, widen the interval {first.widening:.2f} times here; {other}.")
    else:
        reason = "buckets share nothing" if pilot.lasting_variance <= 0 else f"fewer {unit} lose less"
        yield Line(f"No saving is possible by fewer {wordings}: {reason}.")


def _starred(cells: Sequence[str], values: Sequence[float]) -> list[str]:
    """Return the cells with a star at the least value."""
    best = min(values)
    return [f"{cell} {'*' if value == best else ' '}" for cell, value in zip(cells, values, strict=True)]


@rehearsed
def variance(
    *,
    paths: list[Path] = argument("Answers: tables, logs of other tools, or run folders; several are joined."),
    level: list[str] | None = option(
        None,
        "NAME=COLUMN, repeated: problem=bucket, wording=variant, repeat=epoch, judge=file. The first is the cluster: "
        "each counts once. A level is nested in another or crossed with it as the values say. By default "
        "problem=bucket and wording=variant, as in logs of reworded tasks.",
    ),
    outcome: str = option(
        "correct", "correct (prediction and label agree), prediction (the answers as labels), or a column."
    ),
    nested: list[str] | None = option(
        None,
        "Level whose values mean something only within the levels before it, such as repeats that are numbered 1, 2, 3 "
        "for every wording; repeat for several.",
    ),
    rank: str | None = option(
        None, "Also rank the values of the first level, such as models, under each value of this one, such as wording."
    ),
    read: SourceOptions,
    plots: Path | None = option(None, "Also draw the shares in this folder, as PNG, SVG and PDF."),
    confidence_level: float = option(0.95, "Confidence level of the intervals.", min=0, max=1),
    as_json: bool = AS_JSON,
) -> None:
    """Divide the variance of answers between problems, wordings, repeats and judges.

    paraconsist variance answers.csv --level problem=bucket --level wording=variant
    paraconsist variance log.eval --bucket metadata.id --level problem=bucket --level repeat=epoch --nested repeat
    """
    from paraconsist.measures.variance_components import variance_components
    from paraconsist.scoring.variance import ranked_under, read_outcomes

    named = read_pairs("variance", "level", level or ["problem=bucket", "wording=variant"])
    outcomes, levels, values = read_outcomes(paths, named, outcome, read)
    result = variance_components(outcomes, levels, nested=nested or (), confidence_level=confidence_level)
    written, shown = {"outcome": outcome, **result.to_dict()}, [*_of_components(result, outcome)]
    if rank is not None:
        ranked = ranked_under(rank, outcomes, levels, values, nested or (), confidence_level)
        written, shown = written | {"rankings": ranked.to_dict()}, [*shown, *_of_rankings(ranked, rank)]
    show_results(written, shown, as_json=as_json)
    if plots is not None:
        from paraconsist.reporting.plots.canvas import write_plot
        from paraconsist.reporting.plots.planning import components_plot

        write_plot(components_plot(result), plots)


def _of_components(result: VarianceComponentsResult, outcome: str) -> Iterator[Part]:
    from paraconsist.reporting.table import Line, remarks, table

    ends = result.confidence_interval
    mean = "" if result.mean != result.mean else f", mean {decimal(result.mean)}"
    sizes = ", ".join(f"{name} {count(n)}" for name, n in result.n_values.items())
    yield Line(f"{outcome}{mean}: {result.n_rows:,} rows; {sizes}", "title")
    rows = [
        [
            name,
            decimal(variance),
            interval(ends[f"variance/{name}"], decimal),
            percent(result.share[name]),
            interval(ends[f"share/{name}"]),
            decimal(result.icc.get(name), digits=3, undefined="-"),
        ]
        for name, variance in result.variance.items()
    ]
    nested = [f"{name} is nested in {' and '.join(outer)}" for name, outer in result.nested_in.items() if outer]
    caption = "ICC: correlation of two answers that share this level and no other"
    heads = ["component", "variance", "interval", "share", "interval of\nthe share", "ICC"]
    yield table("Where the variance comes from", heads, rows, caption=caption)
    if nested:
        yield Line(f"{'; '.join(nested)}; other levels are crossed.")
    first = next(iter(result.n_values))
    if result.dependability == result.dependability:
        within = interval(ends["dependability"], lambda end: decimal(end, digits=3))
        yield Line(f"Dependability of the {first} means: {decimal(result.dependability, digits=3)} {within}".rstrip())
    rows = [
        [row.level, decimal(row.standard_error, undefined="-"), percent(1.0 - row.ratio, undefined="-")]
        for row in result.doubled
    ]
    heads = ["twice as many", "standard error\nof the mean", "smaller\nby"]
    yield table("What the next calls are best spent on", heads, rows, caption="predicted; each doubles the calls")
    yield from remarks(result.warnings, [result.signature])


def _of_rankings(result: RankingsResult, rank: str) -> Iterator[Part]:
    from paraconsist.reporting.table import Line, remarks, table

    rows = [[name, decimal(mean), percent(result.best[name])] for name, mean in result.mean.items()]
    yield table(f"Ranked under each {rank}", ["", "mean", f"best under\n% of {rank}s"], rows)
    within = interval(result.confidence_interval["tau"], lambda end: decimal(end, digits=2))
    said = f"Kendall's tau of the rankings under two {rank}s: {decimal(result.tau, digits=2)} {within}".rstrip()
    if result.tau_same == result.tau_same:
        said += f"; of halves of the problems under one {rank} {decimal(result.tau_same, digits=2)}, "
        said += f"under two {decimal(result.tau_other, digits=2)}"
    yield Line(f"{said}.")
    rows = [[count(row.n), percent(row.same_best), decimal(row.tau, digits=2)] for row in result.by_number]
    caption = f"random draws of {rank}s, against all {result.n_wordings}"
    yield table(f"How many {rank}s are enough", [f"{rank}s", "same\nbest, %", "tau"], rows, caption=caption)
    yield from remarks(result.warnings, [result.signature])
