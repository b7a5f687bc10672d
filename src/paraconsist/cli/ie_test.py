"""``paraconsist ie-test``: the invariance-under-equivalence test (Salvatore et al. 2023), whole or from its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import Fields, Given, quiet_libraries, read_values, show_results
from paraconsist.data.options import option
from paraconsist.errors import input_error
from paraconsist.studies.ie.options import DecisionOptions, ExperimentOptions, parse_rhos

_NAME = "ie-test"
#: Fields of the experiment that have options of another form.
_APART = ("output", "rhos", "transformation_options", "parameters")


def ie_test(
    output: Path | None = option(None, "The experiment's folder. The same command goes on with an interrupted one."),
    from_: list[Path] | None = option(
        None,
        "Do not train; decide from these results: an experiment's folder or a file. Repeat for several.",
        option="--from",
    ),
    plan: bool = option(False, "Only say how many trainings there are, and how long they take."),
    *,
    experiment: Annotated[Given, Fields(ExperimentOptions, without=_APART)],
    transformation_option: list[str] | None = option(None, "NAME=VALUE of the transformation; repeat."),
    parameter: list[str] | None = option(None, "NAME=VALUE of the model, such as learning_rate=3e-5; repeat."),
    rhos: list[str] | None = option(
        None, "Shares of transformed rows: 0,0.5,1, or 0:1:21 for 21 from 0 to 1; with --from, only these."
    ),
    deciding: Annotated[DecisionOptions, Fields(without=("seed",))],
    plots: bool = option(True, "Draw figures (needs matplotlib)."),
    as_json: bool = option(False, "Print the results in full precision.", option="--json"),
) -> None:
    """Test whether a model is invariant under a change that keeps meaning: transform, train, test, decide.

    paraconsist ie-test --model bow --train rows.csv --test test.csv --output ie
    paraconsist ie-test --from ie --rhos 0,0.5,1
    """
    quiet_libraries()
    decision = replace(deciding, seed=experiment["seed"])
    wanted = None if rhos is None else parse_rhos(rhos)
    if from_:
        if plan or not experiment.keys().isdisjoint(("dataset", "train", "test")):
            must = "be given without data and without `plan`: nothing is trained"
            raise input_error(_NAME, "from", must, got=from_)
        _decide(from_, decision, wanted, output, plots=plots, as_json=as_json)
        return
    if decision.group is not None:
        remedy = "The rows of an experiment have no groups yet: give its vectors with a column of them."
        raise input_error(_NAME, "group", "be given with `from` only", got=decision.group, remedy=remedy)
    if output is None:
        raise input_error(_NAME, "output", "be given", got=None, remedy="Name a folder for the experiment.")
    experiment["transformation_options"] = read_values(_NAME, "transformation_option", transformation_option)
    experiment["parameters"] = read_values(_NAME, "parameter", parameter)
    if wanted is not None:
        experiment["rhos"] = wanted
    options = ExperimentOptions(output, **experiment)
    matched = _train(options, only_plan=plan)
    if matched is not None:
        _decide([matched], decision, options.rhos, output, plots=plots, as_json=as_json)


def _train(options: ExperimentOptions, *, only_plan: bool) -> Path | None:
    from paraconsist.files import is_main
    from paraconsist.models.progress import ProgressBar
    from paraconsist.running.processes import end_with_launcher
    from paraconsist.studies.ie.experiment import plan, prepare, run_experiment

    end_with_launcher()
    prepared = prepare(options, say=say_status)
    rows = prepared.rows
    changes = rows.transformation["changes"]["test"]
    say_status(
        f"{rows.n('train'):,} training, {rows.n('validation'):,} validation and {rows.n('test'):,} test rows; "
        f"{rows.transformation['name']} changes {changes['n_changed'] / changes['n_rows']:.1%} of the test rows."
    )
    search = f"{options.n_trials} trials of a search at rho {options.search_rho:g}, then " if options.n_trials else ""
    each = f" x {options.trainings_a_unit} trainings" if options.trainings_a_unit > 1 else ""
    units = f"{len(options.rhos)} rhos x {options.runs} runs{each}"
    say_status(f"{options.n_trainings:,} trainings: {search}{units}.")
    if only_plan:
        expected = plan(prepared)
        done = f" {expected.n_done:,} are done already." if expected.n_done else ""
        say_status(
            f"About {_duration(expected.seconds)}{done} (one training on {expected.timed_rows:,} rows was timed: "
            f"{_duration(expected.seconds_a_training)} for a whole sample; {options.jobs} at a time)."
        )
        return None
    with ProgressBar(len(options.units), "(rho, run)", visible=is_main(), unit="runs") as bar:
        return run_experiment(prepared, say=say_status, progress=bar.advance)


def _decide(
    paths: Sequence[Path],
    options: DecisionOptions,
    rhos: Sequence[float] | None,
    output: Path | None,
    *,
    plots: bool,
    as_json: bool,
) -> None:
    from paraconsist.files import write_json, writing
    from paraconsist.reporting.plots.ie import write_plots
    from paraconsist.studies.ie.decision import decide, decision_tables
    from paraconsist.studies.ie.runs import distinct, read_families

    families = distinct([(path, family) for path in paths for family in read_families(path, options.group)])
    if rhos is not None:
        families = [family.at(rhos) for family in families]
    decided = decide(families, options)
    show_results(decided, decision_tables(decided, alpha=options.alpha), as_json=as_json)
    if output is None:
        return
    with writing(_NAME, "output", output):
        output.mkdir(parents=True, exist_ok=True)
        write_json(output / "results.json", decided, indent=1)
        written = f"Results in {output / 'results.json'}"
        if plots and find_spec("matplotlib") is None:
            how = "pip install matplotlib, then ie-test --from this folder"
            written += f" (no figures: matplotlib is not installed; {how})"
        elif plots:
            write_plots(output / "plots", decided.families, alpha=options.alpha)
            written += f", figures in {output / 'plots'}"
    if (output / "matched.parquet").is_file():
        written += f", matched vectors in {output / 'matched.parquet'}"
    say_status(f"{written}.")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
