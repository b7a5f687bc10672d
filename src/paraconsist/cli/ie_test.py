"""``paraconsist ie-test``: the invariance-under-equivalence test (Salvatore et al. 2023), whole or from its vectors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import input_error

if TYPE_CHECKING:
    from paraconsist.studies.ie.decision import DecisionOptions
    from paraconsist.studies.ie.options import ExperimentOptions


_NAME = "ie-test"


def ie_test(
    output: Annotated[
        Path | None, typer.Option(help="The experiment's folder. The same command goes on with an interrupted one.")
    ] = None,
    from_: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Decide again, without training: an experiment's folder, or a file; repeat."),
    ] = None,
    plan: Annotated[bool, typer.Option(help="Only say how many trainings there are, and how long they take.")] = False,
    dataset: Annotated[
        str | None, typer.Option(help="builder:config or a Hub name, with splits train, validation and test.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="Training rows: CSV, TSV, JSON Lines or Parquet.")] = None,
    validation: Annotated[Path | None, typer.Option(help="Validation rows; else a share of the training rows.")] = None,
    test: Annotated[Path | None, typer.Option(help="Test rows.")] = None,
    task: Annotated[str | None, typer.Option(help="Task of the rows, where their columns do not say.")] = None,
    text_columns: Annotated[
        str | None, typer.Option(help="One or two columns of text, with a comma, in place of the task's own.")
    ] = None,
    label_column: Annotated[str, typer.Option(help="Column of gold labels, by name or number.")] = "label",
    label_names: Annotated[str | None, typer.Option(help="Labels in order, with commas.")] = None,
    drop_unlabelled: Annotated[bool, typer.Option(help="Leave out rows without a gold label.")] = False,
    train_rows: Annotated[int | None, typer.Option(help="A random sample of so many training rows.")] = None,
    validation_rows: Annotated[int | None, typer.Option(help="The same, of validation rows.")] = None,
    test_rows: Annotated[int | None, typer.Option(help="The same, of test rows.")] = None,
    validation_share: Annotated[float, typer.Option(help="Of the training rows, without --validation.")] = 0.1,
    transformation: Annotated[
        str, typer.Option(help="wordnet_nouns, dictionary, suffix, or module:function.")
    ] = "wordnet_nouns",
    transformation_option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the transformation; repeat.")
    ] = None,
    transform_columns: Annotated[
        str | None, typer.Option(help="Columns to transform, with commas; by default all text columns.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="gradient_boosting, gradient_boosting_tfidf, bow, glove_bow, bilstm, a Hub id or a folder."),
    ] = "gradient_boosting",
    parameter: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the model, such as learning_rate=3e-5; repeat.")
    ] = None,
    rhos: Annotated[
        list[str] | None,
        typer.Option(
            help="Shares of transformed rows: 0,0.5,1, or 0:1:21 for 21 from 0 to 1; with --from, only these."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="M: samples and trainings at each rho.")] = 5,
    repeats: Annotated[int, typer.Option(help="K: trainings on each sample, with a majority vote.")] = 1,
    budget: Annotated[int, typer.Option(help="B: trials of the random search; 0 takes the defaults.")] = 0,
    search: Annotated[str, typer.Option(help="Search 'once', or on every 'sample'.")] = "once",
    search_rho: Annotated[float, typer.Option(help="Where to search once.")] = 0.0,
    exact_count: Annotated[bool, typer.Option(help="Transform exactly round(rho n) rows of each sample.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of samples, searches, trainings and resampling.")] = 0,
    jobs: Annotated[int, typer.Option(help="Trainings at a time; the results do not depend on it.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each training.")] = 1,
    device: Annotated[str | None, typer.Option(help="'cpu', or leave it out for the best there is.")] = None,
    method: Annotated[
        str, typer.Option(help="exact, paper, replay, mcnemar, mcnemar_mid_p, mcnemar_resampled or mcnemar_replay.")
    ] = "exact",
    ties: Annotated[str | None, typer.Option(help="Of exact: mid, or lower (as in the paper).")] = None,
    n_resamples: Annotated[int, typer.Option(min=1, help="Of the methods that resample.")] = 1000,
    alpha: Annotated[float, typer.Option(help="Level of each decision.")] = 0.05,
    correction: Annotated[str, typer.Option(help="bonferroni or holm.")] = "bonferroni",
    confidence_level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    plots: Annotated[bool, typer.Option(help="Draw figures (needs matplotlib).")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results in full precision.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Delete another experiment in the folder.")] = False,
) -> None:
    """Test whether a model is invariant under a change that keeps meaning: transform, train, test, decide."""
    from paraconsist.cli.options import quiet_libraries

    quiet_libraries()
    from paraconsist.studies.ie.decision import DecisionOptions
    from paraconsist.studies.ie.options import ExperimentOptions, parse_rhos

    decision = DecisionOptions(
        method=method,  # type: ignore[arg-type]
        ties=ties,  # type: ignore[arg-type]
        n_resamples=n_resamples,
        seed=seed,
        alpha=alpha,
        correction=correction,  # type: ignore[arg-type]
        confidence_level=confidence_level,
    )
    wanted = None if rhos is None else parse_rhos(rhos)
    if from_:
        if dataset or train or test or plan:
            raise input_error(_NAME, "from", "be given without data and without --plan: nothing is trained", got=from_)
        _decide(from_, decision, wanted, output, plots=plots, as_json=as_json)
        return
    if output is None:
        raise input_error(_NAME, "output", "be given", got=None, remedy="Name a folder for the experiment.")
    given = {} if wanted is None else {"rhos": wanted}
    options = ExperimentOptions(
        output=output,
        model=model,
        transformation=transformation,
        transformation_options=_values("transformation_option", transformation_option),
        dataset=dataset,
        train=train,
        validation=validation,
        test=test,
        task=task,
        text_columns=_names(text_columns),
        label_column=label_column,
        label_names=_names(label_names),
        transform_columns=_names(transform_columns),
        drop_unlabelled=drop_unlabelled,
        train_rows=train_rows,
        validation_rows=validation_rows,
        test_rows=test_rows,
        validation_share=validation_share,
        runs=runs,
        repeats=repeats,
        budget=budget,
        search=search,
        search_rho=search_rho,
        exact_count=exact_count,
        parameters=_values("parameter", parameter),
        seed=seed,
        jobs=jobs,
        threads=threads,
        device=device,
        overwrite=overwrite,
        **given,
    )
    matched = _train(options, only_plan=plan, quiet=as_json)
    if matched is not None:
        _decide([matched], decision, options.rhos, output, plots=plots, as_json=as_json)


def _train(options: ExperimentOptions, *, only_plan: bool, quiet: bool) -> Path | None:
    """Run the experiment, or only say what it takes."""
    from paraconsist.running.processes import end_with_launcher, is_main
    from paraconsist.studies.ie.experiment import plan, prepare, run_experiment

    end_with_launcher()
    talks = is_main()

    def say(line: str) -> None:
        if talks:
            typer.echo(line, err=quiet)

    prepared = prepare(options, say=say)
    rows = prepared.rows
    changes = rows.transformation["changes"]["test"]
    say(
        f"{rows.n('train'):,} training, {rows.n('validation'):,} validation and {rows.n('test'):,} test rows; "
        f"{rows.transformation['name']} changes {changes['n_changed'] / changes['n_rows']:.1%} of the test rows."
    )
    say(_count(options))
    if only_plan:
        found = plan(prepared)
        done = f" {found.n_done:,} are done already." if found.n_done else ""
        say(
            f"About {_duration(found.seconds)}{done} (one training on {found.timed_rows:,} rows was timed: "
            f"{_duration(found.seconds_a_training)} for a whole sample; {options.jobs} at a time)."
        )
        return None
    with _progress(len(options.units), visible=talks) as advance:
        return run_experiment(prepared, say=say, progress=advance)


@contextmanager
def _progress(total: int, *, visible: bool) -> Iterator[Callable[[int], None]]:
    """A bar of finished (rho, run), where somebody looks at it."""
    from rich.console import Console
    from rich.progress import Progress

    hidden = not (visible and sys.stderr.isatty())
    with Progress(console=Console(stderr=True), disable=hidden) as bar:
        task = bar.add_task("(rho, run)", total=total)
        yield lambda n: bar.advance(task, n)


def _count(options: ExperimentOptions) -> str:
    search = ""
    if options.n_trials:
        search = f"{options.n_trials} trials of a search at rho {options.search_rho:g}, then "
    n_rhos, each = len(options.rhos), options.trainings_a_unit
    more = f" x {each} trainings" if each > 1 else ""
    return f"{options.n_trainings:,} trainings: {search}{n_rhos} rhos x {options.runs} runs{more}."


def _decide(
    paths: Sequence[Path],
    options: DecisionOptions,
    rhos: Sequence[float] | None,
    output: Path | None,
    *,
    plots: bool,
    as_json: bool,
) -> None:
    """Decide, print, and write results and plots where there is a folder for them."""
    from rich.console import Console
    from rich.text import Text

    from paraconsist.files import to_strict_json, write_json
    from paraconsist.studies.ie.decision import decide
    from paraconsist.studies.ie.reading import read_families
    from paraconsist.studies.ie.runs import distinct
    from paraconsist.studies.ie.tables import decision_tables

    families = distinct([(path, family) for path in paths for family in read_families(path)])
    if rhos is not None:
        families = [family.at(rhos) for family in families]
    decided = decide(families, options)
    if as_json:
        typer.echo(json.dumps(to_strict_json(decided), indent=1, allow_nan=False))
    else:
        console = Console(width=None if sys.stdout.isatty() else 120)
        for table in decision_tables(decided, alpha=options.alpha):
            console.print(table, soft_wrap=isinstance(table, Text))
    if output is None:
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        write_json(output / "results.json", decided, indent=1)
        written = f"Results in {output / 'results.json'}"
        written += _plots(output / "plots", decided, options.alpha) if plots else ""
    except OSError as problem:
        raise input_error(
            _NAME, "output", "be a folder that can be written", got=str(output), remedy=f"{problem}."
        ) from None
    if (output / "matched.parquet").is_file():
        written += f", matched vectors in {output / 'matched.parquet'}"
    typer.echo(f"{written}.", err=as_json)


def _plots(folder: Path, decided: Mapping[str, Any], alpha: float) -> str:
    from paraconsist.reporting.plots.ie import has_matplotlib, write_plots

    if not has_matplotlib():
        return " (no figures: matplotlib is not installed; pip install matplotlib, then ie-test --from this folder)"
    write_plots(folder, decided, alpha=alpha)
    return f", figures in {folder}"


def _names(given: str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(name.strip() for name in given.split(","))


def _values(option: str, items: Sequence[str] | None) -> dict[str, Any]:
    """Read ``NAME=VALUE`` items; values are read as YAML, so that 3 is a number and null is nothing."""
    import yaml

    found: dict[str, Any] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not equals or not name or name in found:
            raise input_error(_NAME, option, "be items of the form NAME=VALUE, each once", got=item)
        try:
            read = yaml.safe_load(value)
        except yaml.YAMLError:
            read = value
        found[name.replace("-", "_")] = _number(read)
    return found


def _number(value: Any) -> Any:
    """YAML takes 3e-5 for text; it is a number here. None in Python's spelling is None."""
    if not isinstance(value, str):
        return value
    if value == "None":
        return None
    try:
        return float(value)
    except ValueError:
        return value


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
