"""``paraconsist compare``: is one model more consistent than another, on what both answered?"""

from __future__ import annotations

from pathlib import Path

from paraconsist.cli.ends import say
from paraconsist.cli.options import AS_JSON, MARKDOWN, OUTPUT, argument, show_results, write_results
from paraconsist.data.options import SourceOptions, option
from paraconsist.scoring.options import CompareOptions


def compare(
    *,
    paths: list[Path] = argument("Two or more models: a predictions file, a log or a run folder of each."),
    name: list[str] | None = option(None, "Name of a model; repeat for each model, in order."),
    read: SourceOptions,
    options: CompareOptions,
    as_json: bool = AS_JSON,
    markdown: bool = MARKDOWN,
    output: Path | None = OUTPUT,
) -> None:
    """Compare models on the same buckets: paired differences with intervals and permutation p-values.

    The p-value and the interval come from one test: sign flips (--interval-method auto) or t (closed_form).

    paraconsist compare runs/a runs/b
    paraconsist compare small.csv large.csv --name small --name large --margin 0.02
    """
    from paraconsist.reporting.comparisons import comparison_tables
    from paraconsist.reporting.result import Comparison
    from paraconsist.scoring.compare import compare_opened
    from paraconsist.scoring.sources import open_source

    opened = [open_source(path, read, function="compare") for path in paths]
    compared, left_out = compare_opened(opened, options, name)
    results = Comparison(tuple(compared), left_out).to_dict()
    for model, sets in left_out.items():
        say(f"warning: left out, as not every model has them: {', '.join(sets)} of {model}")
    write_results("compare", output, results)
    show_results(results, comparison_tables(compared), as_json=as_json, markdown=markdown)
