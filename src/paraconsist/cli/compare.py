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
    name: list[str] | None = option(None, "Name of a model; repeat for each model, in order."),
    read: SourceOptions,
    measuring: MeasureOptions,
    estimator: str = option("unbiased", "Which P_C is the headline: unbiased, or plugin (as published)."),
    correction: str = option(
        "holm", "Correction of p over all pairs and sets: holm, bonferroni, benjamini_hochberg or none."
    ),
    against_first: bool = option(False, "Compare each model only with the first, not every pair."),
    margin: float | None = option(
        None, "Margin as a proportion, 0.02 for two points: also test non-inferiority and equivalence within it."
    ),
    intervals: IntervalOptions,
    n_permutations: int = option(10_000, "Number of permutations for the test.", min=1),
    as_json: AsJson = False,
    markdown: bool = option(False, "Print the tables as Markdown."),
    output: Output = None,
) -> None:
    """Compare models on the same buckets: paired differences with intervals and permutation p-values.

    The p-value and the interval come from one test: sign flips (--interval-method auto) or t (closed_form).
    """
    from paraconsist.reporting.result import Comparison
    from paraconsist.reporting.table import show
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
        show(comparison_tables(results), markdown=markdown)
