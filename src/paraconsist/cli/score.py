"""``paraconsist score``: predictions made anywhere, through the measures; ``compare``: is one model more consistent?

Also ``sheet``: answers for people to check, from which `score --checked` corrects rates.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Literal

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.options import (
    AS_JSON,
    MARKDOWN,
    OUTPUT,
    REQUIRED,
    argument,
    echo,
    show_results,
    typed,
    write_results,
)
from paraconsist.comparing.rehearsal import end_rehearsal, rehearsed
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error, renamed
from paraconsist.files import write_text
from paraconsist.scoring.options import CompareOptions, ScoreOptions

_PAGE = ".html"  # of a sheet


def score(
    *,
    path: Path = argument(
        "A table (Parquet, JSONL, CSV, TSV), a log (lighteval, lm-eval, inspect_ai, deepeval, MLflow, promptfoo, OpenAI"
        " evals, Every Eval Ever, runs of agents by tau-bench, tau2, BFCL, HAL), a folder of logs or a run folder."
    ),
    more: list[Path] | None = argument("Further files of the same run.", None),
    test_predictions: Path | None = option(
        None, "The model's predictions on the full test set, for test accuracy and corrected values.", rare=True
    ),
    read: SourceOptions,
    training_file: Path | None = option(
        None, "The model's training data: rows of the set that occur in it are reported.", rare=True
    ),
    options: ScoreOptions,
    figures: bool = option(
        False, "Also show which answers turn into which, and the confidence of inconsistent pairs.", rare=True
    ),
    worst: int = option(0, "Also name the N buckets whose answers depend most on the wording.", min=0),
    published: bool = option(True, "Show the numbers that papers report for their models on the same sets.", rare=True),
    as_json: bool = AS_JSON,
    markdown: bool = MARKDOWN,
    output: Path | None = OUTPUT,
    log_to: list[str] | None = option(
        None, "Also log every number to this experiment tracker, mlflow or trackio; repeat for both.", rare=True
    ),
) -> None:
    """Score predictions from a file, a log or a run: accuracy, consistency, intervals, breakdowns.

    paraconsist score answers.csv --bucket question_id --prediction answer --label gold
    paraconsist score runs/a --stratum kind --json
    """
    from paraconsist.reporting import result
    from paraconsist.reporting.tables import score_tables

    if as_json and markdown:
        raise input_error("score", "markdown", "not be given with `json`", got=True, remedy="Choose one of them.")
    if log_to:
        from paraconsist.reporting.trackers import check_tracker, log_results

        for tracker in log_to:
            check_tracker(tracker)
    beside = {"test": test_predictions, "training": training_file}
    with renamed(source="path", training="training_file"):
        scores = result.score([path, *(more or ())], **beside, **vars(read), **vars(options))
    results = scores.to_dict()
    write_results("score", output, {name: {**one, "command": typed()["command"]} for name, one in results.items()})
    tables = score_tables(scores.sets, figures=figures, published=published)
    show_results(results, tables, as_json=as_json, markdown=markdown)
    for name, scored in scores.sets.items() if worst and not as_json else ():
        echo(f"{name}: the buckets whose answers depend most on the wording:")
        echo(*(f"  {line}" for line in scored.worst(worst)))
    for tracker in log_to or ():
        say_status(log_results(results, tracker))


def compare(
    *,
    paths: list[Path] = argument(
        "Two or more models: a predictions file, a log or a run folder of each, or a table of several."
    ),
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
    from paraconsist.reporting.result import compare as compare_models

    if read.stratum:
        say("warning: --stratum breaks nothing down here: give it to `paraconsist score`")
    compared = compare_models(*paths, names=name, **vars(read), **vars(options))
    results = compared.to_dict()
    for model, sets in compared.left_out.items():
        say(f"warning: left out, as not every model has them: {', '.join(sets)} of {model}")
    write_results("compare", output, results)
    show_results(results, comparison_tables(compared.sets), as_json=as_json, markdown=markdown)


@rehearsed
def sheet(
    *,
    paths: list[Path] = argument("One model or several: a predictions file, a log or a run folder of each."),
    output: Path = option(REQUIRED, "The sheet: CSV, TSV, JSON Lines or Parquet; .html for a page to fill it in."),
    mark: Literal["same", "right"] = option(
        "same", "What people mark: whether two answers are the same, or whether an answer is right."
    ),
    n: int = option(200, "Rows of the sheet, of all models together.", option="--n", min=0),
    apart: int = option(0, "Further rows, of answers to different problems, for consistency above chance.", min=0),
    people: int = option(1, "How many people mark it: each has a column.", min=1),
    question: str | None = option(None, "Column of the questions' texts, if the run kept none."),
    seed: int = option(0, "Random seed of the sample.", min=0),
    overwrite: bool = option(False, "Replace the sheet."),
    read: SourceOptions,
) -> None:
    """Draw answers for people to check: how often the comparer errs, and what the rates are without its errors.

    paraconsist sheet runs/a --same tokens --output sheet.csv
    paraconsist sheet small.csv large.csv --same tokens --mark right --output sheet.csv

    The sample is random within the comparer's verdicts, and the sheet does not show these. Give it to score --checked,
    or to compare --checked, when it is filled in.
    """
    from paraconsist.data.writing import ENDINGS, check_new_files, write_table
    from paraconsist.scoring.checked import draw_sheet, model_name
    from paraconsist.scoring.sources import open_models

    check_new_files("sheet", [output], endings=(*ENDINGS, _PAGE), overwrite=overwrite)
    sources = {}
    for opened in chain.from_iterable(open_models(path, read, function="sheet") for path in paths):
        sets = [*opened.sets.values()]
        name = model_name(sets[0]) if sets else str(opened.path)
        if name in sources:
            raise input_error("sheet", "paths", "be files of different models", got=name)
        sources[name] = sets
    drawn = draw_sheet(sources, mark=mark, n=n, apart=apart, people=people, seed=seed, question=question)
    end_rehearsal()
    columns = ", ".join(name for name in drawn.column_names if name == mark or name.startswith(f"{mark}_"))
    how = f"fill in {columns} with yes or no"
    if output.suffix == _PAGE:
        from paraconsist.reporting.page.write import sheet_page

        saved = f"{output.stem}.csv"
        write_text(output, sheet_page(drawn, mark, saved))
        how = f"open it in a browser, where it is filled in and saved as {saved}"
    else:
        write_table(drawn, output)
    say_status(f"{drawn.num_rows:,} rows in {output}: {how}, for score --checked.")
