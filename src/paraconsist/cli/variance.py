"""``paraconsist variance``: where the variance of answers comes from, and what one more call is best spent on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.cli.options import AS_JSON, REQUIRED, argument, read_pairs, show_results
from paraconsist.data.options import SourceOptions, option
from paraconsist.files import make_folder

if TYPE_CHECKING:
    from paraconsist.measures.variance_components import VarianceComponentsResult
    from paraconsist.reporting.table import Part


def variance(
    *,
    paths: list[Path] = argument("Answers: tables, logs of other tools, or run folders; several are joined."),
    level: list[str] = option(
        REQUIRED,
        "NAME=COLUMN, repeated: problem=bucket, wording=variant, repeat=epoch, judge=file. The first is the cluster: "
        "each counts once. A level is nested in another or crossed with it as the values say.",
    ),
    outcome: str = option(
        "correct", "correct (prediction and label agree), prediction (the answers as labels), or a column."
    ),
    nested: list[str] | None = option(
        None,
        "Level whose values mean something only within the levels before it, such as repeats that are numbered 1, 2, 3 "
        "for every wording; repeat for several.",
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
    from paraconsist.scoring.variance import read_outcomes

    columns = read_pairs("variance", "level", level)
    outcomes, levels = read_outcomes(paths, columns, outcome, read)
    result = variance_components(outcomes, levels, nested=nested or (), confidence_level=confidence_level)
    show_results({"outcome": outcome, **result.to_dict()}, _tables(result, outcome), as_json=as_json)
    if plots is not None:
        from paraconsist.reporting.plots.canvas import write_plot
        from paraconsist.reporting.plots.variance import components_plot

        make_folder(plots)
        write_plot(components_plot(result), plots)


def _tables(result: VarianceComponentsResult, outcome: str) -> Iterator[Part]:
    from paraconsist.reporting.formatting import count, decimal, interval, percent
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
