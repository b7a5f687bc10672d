"""``paraconsist score``: predictions made anywhere, through the measures."""

from __future__ import annotations

from pathlib import Path

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import AS_JSON, MARKDOWN, OUTPUT, argument, echo, show_results, typed, write_results
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error
from paraconsist.scoring.options import ScoreOptions


def score(
    *,
    path: Path = argument(
        "A table (Parquet, JSONL, CSV, TSV), a log (lm-eval, inspect_ai, deepeval, MLflow, promptfoo, OpenAI evals, "
        "Every Eval Ever, runs of agents by tau-bench, tau2, BFCL), a folder of logs, or a run folder."
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
    from paraconsist.data.tables import read_table
    from paraconsist.reporting.result import Scores
    from paraconsist.reporting.tables import score_tables
    from paraconsist.scoring.score import score_sources
    from paraconsist.scoring.sources import open_source

    if as_json and markdown:
        raise input_error("score", "markdown", "not be given with `json`", got=True, remedy="Choose one of them.")
    if log_to:
        from paraconsist.reporting.trackers import check_tracker, log_results

        for tracker in log_to:
            check_tracker(tracker)
    opened = open_source([path, *(more or ())], read, test=test_predictions)
    training = None if training_file is None else read_table(training_file, function="score", parameter="training_file")
    scores = Scores(opened, score_sources(opened, options, training=training))
    results = scores.to_dict()
    write_results("score", output, {name: {**one, "command": typed()["command"]} for name, one in results.items()})
    tables = score_tables(scores.sets, figures=figures, published=published)
    show_results(results, tables, as_json=as_json, markdown=markdown)
    for name, scored in scores.sets.items() if worst and not as_json else ():
        echo(f"{name}: the buckets whose answers depend most on the wording:")
        echo(*(f"  {line}" for line in scored.worst(worst)))
    for tracker in log_to or ():
        say_status(log_results(results, tracker))
