"""``paraconsist compare``: is one model more consistent than another, on what both answered?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from paraconsist.cli.options import AsJson, Output, print_json, write_results
from paraconsist.scoring.options import IntervalOptions, MeasureOptions, SourceOptions


def compare(
    paths: Annotated[
        list[Path], typer.Argument(help="Two or more models: a predictions file, a log or a run folder of each.")
    ],
    *,
    name: Annotated[
        list[str] | None, typer.Option(help="What to call the models, once for each, in their order.")
    ] = None,
    read: SourceOptions,
    measuring: MeasureOptions,
    estimator: Annotated[
        str, typer.Option(help="Which P_C is the headline: unbiased, or plugin (as published).")
    ] = "unbiased",
    correction: Annotated[
        str, typer.Option(help="Of p for all pairs and sets: holm, bonferroni, benjamini_hochberg or none.")
    ] = "holm",
    against_first: Annotated[
        bool, typer.Option(help="Compare every model with the first only, not every pair.")
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="A share, 0.02 for two points: is one model not worse by more, are both equal within it?"),
    ] = None,
    intervals: IntervalOptions,
    n_permutations: Annotated[int, typer.Option(min=1, help="Of the permutation test.")] = 10_000,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compare models on the same buckets: paired differences with intervals and permutation p-values.

    p and interval come from one test: sign flips (--interval-method auto), or t (closed_form); no bootstrap here.
    """
    from paraconsist.reporting.comparison_tables import comparison_tables
    from paraconsist.reporting.result import Comparison, show
    from paraconsist.scoring.compare import CompareOptions, compare_opened
    from paraconsist.scoring.sources import open_source

    options = CompareOptions(
        example=read.example,
        measures=measuring.measure,
        unparsed=measuring.unparsed,
        estimator=estimator,
        correction=correction,
        against_first=against_first,
        margin=margin,
        n_permutations=n_permutations,
        **intervals.intervals,
    )
    opened = [open_source(path, read, function="compare") for path in paths]
    compared, left_out = compare_opened(opened, options, name)
    results = Comparison(tuple(compared), left_out).to_dict()
    for model, sets in left_out.items():
        typer.echo(f"warning: left out, as not every model has them: {', '.join(sets)} of {model}", err=True)
    write_results("compare", output, results)
    if as_json:
        print_json(results)
    else:
        show(comparison_tables(results))
