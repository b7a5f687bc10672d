"""``paraconsist compare``: is one model more consistent than another, on what both answered?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from paraconsist.cli.ends import say
from paraconsist.cli.options import AsJson, Output, print_json, write_results
from paraconsist.data.options import option
from paraconsist.scoring.options import IntervalOptions, MeasureOptions, SourceOptions


def compare(
    paths: Annotated[
        list[Path], typer.Argument(help="Two or more models: a predictions file, a log or a run folder of each.")
    ],
    *,
    name: list[str] | None = option(None, "What to call the models, once for each, in their order."),
    read: SourceOptions,
    measuring: MeasureOptions,
    estimator: str = option("unbiased", "Which P_C is the headline: unbiased, or plugin (as published)."),
    correction: str = option(
        "holm", "Correction of p over all pairs and sets: holm, bonferroni, benjamini_hochberg or none."
    ),
    against_first: bool = option(False, "Compare every model with the first only, not every pair."),
    margin: float | None = option(
        None, "Margin as a share, 0.02 for two points: also test who is not worse by more, and who is equal within it."
    ),
    intervals: IntervalOptions,
    n_permutations: int = option(10_000, "Permutations that the test draws.", min=1),
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compare models on the same buckets: paired differences with intervals and permutation p-values.

    p and interval come from one test: sign flips (--interval-method auto), or t (closed_form); no bootstrap here.
    """
    from paraconsist.reporting.result import Comparison, show
    from paraconsist.reporting.tables import comparison_tables
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
        say(f"warning: left out, as not every model has them: {', '.join(sets)} of {model}")
    write_results("compare", output, results)
    if as_json:
        print_json(results)
    else:
        show(comparison_tables(results))
