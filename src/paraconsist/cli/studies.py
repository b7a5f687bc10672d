"""Studies that train: ``paraconsist sweep`` over checkpoints, shares, seeds, sizes; ``adversarial`` with variants."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import (
    DRY_RUN,
    Fields,
    Given,
    echo,
    endpoint_fields,
    endpoint_settings,
    quiet_libraries,
    read_label_map,
    read_numbers,
    read_pairs,
    read_value,
    read_values,
)
from paraconsist.cli.run import show_requests
from paraconsist.data.options import LABEL_MAP, TASK, option
from paraconsist.errors import input_error
from paraconsist.studies.options import AdversarialOptions, SweepOptions

if TYPE_CHECKING:
    from paraconsist.studies.adversarial import AdversarialResult, Comparison
    from paraconsist.studies.sweep import SweepResult

#: With fewer, the least p that Kendall's tau can have, 2/n!, is above .05.
_FEWEST_FOR_P = 5
#: Fields of the studies' options that have options of another form.
_APART = ("seeds", "training", "label_map")
_APART_HERE = (*_APART, "with_test", "transformation_options")


@dataclass(frozen=True)
class TrainingTexts:
    """Options of training that are written as text."""

    seeds: str = option(
        "0", "Seeds, with commas: each is a training, and draws its share of the rows where one is drawn."
    )
    task: str | None = option(None, TASK)
    set: list[str] | None = option(None, "OPTION=VALUE: an option of `train`, or of asking, for all cells; repeat.")
    label_map: list[str] | None = option(None, LABEL_MAP)

    def settings(self, command: str, study: Given, **training: Path | str | None) -> Given:
        """Return the fields of `StudyOptions`; `training` are options of training with an option of their own."""
        from paraconsist.data.bucket_sets import expand_specs

        of_training = {name: value for name, value in {"task": self.task, **training}.items() if value is not None}
        sets, seeds = expand_specs(study["sets"]), read_numbers(command, "seeds", self.seeds)
        label_map = read_label_map(command, self.label_map)
        of_training = read_values(command, "set", self.set) | of_training
        return {**study, "sets": sets, "seeds": seeds, "training": of_training, "label_map": label_map}


def sweep(
    study: Annotated[
        Given,
        Fields(
            SweepOptions, without=(*_APART, "shares", "vary", "endpoint"), names={"models": "model", "sets": "dataset"}
        ),
    ],
    texts: TrainingTexts,
    endpoint: Annotated[Given, endpoint_fields()],
    shares: str = option("0.01,0.05,0.1,0.5,1", "Shares of the training rows, with commas."),
    vary: list[str] | None = option(
        None,
        "OPTION=A,B,C or OPTION=[A, B]: any other option of `train`, such as embedding_dim=4,8, or of how models are "
        "asked: system, temperature ...; repeat for several.",
    ),
    train_file: Path | None = option(None, "Training rows; without them models are asked as they are."),
    train_dataset: str | None = option(None, "Training rows from a builder."),
    eval_file: Path | None = option(None, "Rows to measure accuracy on after each epoch."),
    dry_run: bool = DRY_RUN,
) -> None:
    """Train (where there are rows to train on), run and score every cell of a grid; write table, tests and figures.

    paraconsist sweep --model bow --dataset sample:defeasible_nli --train-file rows.csv --output sweep
    paraconsist sweep --model A --model B --endpoint URL --dataset questions.yaml --vary temperature=0,1 --output sweep
    """
    quiet_libraries()
    from paraconsist.studies.sweep import asked_cells
    from paraconsist.studies.sweep import sweep as run_sweep

    options = SweepOptions(
        shares=tuple(read_numbers("sweep", "shares", shares, float)),
        vary={
            name.strip().replace("-", "_"): _choices(text)
            for name, text in read_pairs("sweep", "vary", vary, "OPTION=A,B,C").items()
        },
        endpoint=endpoint_settings(endpoint),
        **texts.settings("sweep", study, train_file=train_file, dataset=train_dataset, eval_file=eval_file),
    )
    if dry_run:
        if options.trains:
            raise input_error("sweep", "dry_run", "be given only where nothing is trained", got=True)
        show_requests({folder: run for folder, (_, run) in asked_cells(options).items()}, "cell")
        return
    result = run_sweep(options, say=say_status)
    if result is not None:
        _show_grid(result, options.output)
        if not options.trains:
            folders = shlex.join(str(options.output / "cells" / cell.name) for cell in result.cells)
            say_status(f"A page of all: paraconsist report {folders}")
            if len(result.cells) > 1:
                say_status("Whether they differ: paraconsist compare, with the same folders.")


def _choices(text: str) -> list[Any]:
    """Read ``A,B,C``, or a list as YAML writes it, whose texts may hold commas."""
    listed = read_value(text) if text.startswith("[") else None
    return listed if isinstance(listed, list) else [read_value(part.strip()) for part in text.split(",")]


def _show_grid(result: SweepResult, output: Path) -> None:
    from paraconsist.files import write_text
    from paraconsist.reporting.plots.canvas import write_plot
    from paraconsist.studies.plots import markdown_table, sweep_plots

    table = markdown_table(result.summary)
    write_text(output / "table.md", table)
    echo("", *table.splitlines())
    for trend in (trend for trend in result.trends if trend.kendall == trend.kendall):
        axis = {"n_rows": "training rows", "n_parameters": "parameters"}[trend.axis]
        p = "too few for a p" if trend.n < _FEWEST_FOR_P else f"p {trend.p_value:.2g}"
        tau = f"Kendall's tau {trend.kendall:+.2f} over {trend.n} trainings"
        echo(f"{trend.set}, {trend.figure} with {axis}: {tau}, {p}.")
    if tests := [test for test in result.tests if test.p_value == test.p_value]:
        n_significant = sum(test.corrected_p_value < 0.05 for test in tests)
        echo(
            f"{n_significant} of {len(tests)} differences between configurations have p < 0.05 "
            "(Welch's t over seeds, Holm within a set and figure)."
        )
    if find_spec("matplotlib") is None:
        say_status("No figures: pip install 'paraconsist[report]'.")
    else:
        for plot in sweep_plots(result.cells):
            write_plot(plot, output)
    say_status(f"Table, tests and figures in {output}.")


def adversarial(
    study: Annotated[Given, Fields(AdversarialOptions, without=_APART_HERE, names={"sets": "dataset"})],
    texts: TrainingTexts,
    option: list[str] | None = option(None, "NAME=VALUE, of the transformation; repeat."),
    dictionary: Path | None = option(None, "dictionary: the file of substitutions."),
) -> None:
    """Train with and without variants of the training rows, run both, and compare them on the same rows.

    paraconsist adversarial --model bow --dataset set.jsonl --train-file a.csv --columns premise --output adv
    paraconsist adversarial --model bow --dataset set.jsonl --train-file a.csv --columns premise --output adv --control
    """
    quiet_libraries()
    from paraconsist.studies.adversarial import adversarial as run_study

    of_dictionary = {} if dictionary is None else {"dictionary": str(dictionary)}
    options = AdversarialOptions(
        transformation_options=read_values("adversarial", "option", option) | of_dictionary,
        **texts.settings("adversarial", study),
    )
    _show_comparisons(run_study(options, say=say_status), options.output)


def _show_comparisons(result: AdversarialResult, output: Path) -> None:
    from paraconsist.measures.catalogue import CATALOGUE
    from paraconsist.reporting.table import show, table

    words = ["measure", "against", "seed"]
    columns = [*words, "other", "after", "difference", "interval", "p"]
    for name in dict.fromkeys(comparison.set for comparison in result.comparisons):
        lines = [_line(comparison) for comparison in result.comparisons if comparison.set == name]
        show([table(f"{name}, per cent", columns, lines, words=words)])
        for mean in result.over_seeds:
            if mean.set == name and mean.n_seeds > 1:
                over = f"{100 * mean.difference:+.1f} over {mean.n_seeds} seeds, paired t p {mean.p_value:.2g}"
                echo(f"{CATALOGUE[mean.measure].symbol} against {mean.against}: {over}")
    echo("p of each seed is of a paired permutation test on the same buckets. tau: lower is better.")
    if not any(comparison.against == "repeated" for comparison in result.comparisons):
        echo("More rows are also more steps: --control trains as long without a new text.")
    say_status(f"Everything in {output / 'adversarial.json'}.")


def _line(comparison: Comparison) -> list[str]:
    from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC

    result = comparison.result
    key = PARAPHRASTIC.headline
    after, before = (result[f"value{side}"] if "value1" in result else result[f"values{side}"][key] for side in (1, 2))
    low, high = result["confidence_interval"]["difference"]
    numbers = [f"{100 * before:.1f}", f"{100 * after:.1f}", f"{100 * comparison.difference:+.1f}"]
    numbers += [f"{100 * low:+.1f} to {100 * high:+.1f}", f"{result['p_value']:.2g}"]
    return [CATALOGUE[comparison.measure].symbol, comparison.against, str(comparison.seed), *numbers]
