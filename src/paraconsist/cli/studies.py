"""Studies that train: ``paraconsist sweep`` over checkpoints, shares, seeds, sizes; ``adversarial`` with variants."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import (
    StudyChoices,
    echo,
    quiet_libraries,
    read_names,
    read_numbers,
    read_pairs,
    read_value,
    read_values,
)
from paraconsist.data.options import option

#: With fewer, the least p that Kendall's tau can have, 2/n!, is above .05.
_FEWEST_FOR_P = 5


def sweep(
    model: Annotated[list[str], typer.Option(help="Checkpoint: Hub id, folder, bow, ...; repeat for several.")],
    study: StudyChoices,
    shares: str = option("0.01,0.05,0.1,0.5,1", "Shares of the training rows, with commas."),
    vary: list[str] | None = option(
        None, "OPTION=A,B,C: any other option of `train`, such as embedding_dim=4,8; repeat for several."
    ),
    train_file: Path | None = option(None, "Training rows."),
    train_dataset: str | None = option(None, "Training rows from a builder."),
    eval_file: Path | None = option(None, "Rows to measure accuracy on after each epoch."),
    with_test: bool = option(False, "Also run the full test sets."),
    jobs: int = option(1, "Processes at a time; each has a device of its own.", min=1),
    keep_models: bool = option(False, "Keep the weights of every cell."),
) -> None:
    """Train, run and score every cell of a grid; write the table, the tests and the figures."""
    quiet_libraries()
    from paraconsist.files import is_main
    from paraconsist.studies.sweep import SweepOptions
    from paraconsist.studies.sweep import sweep as do_sweep

    options = SweepOptions(
        models=model,
        shares=read_numbers("sweep", "shares", shares, float),
        vary={
            name.strip().replace("-", "_"): [read_value(part) for part in text.split(",")]
            for name, text in read_pairs("sweep", "vary", vary, "OPTION=A,B,C").items()
        },
        with_test=with_test,
        jobs=jobs,
        keep_models=keep_models,
        **study.settings("sweep", train_file=train_file, dataset=train_dataset, eval_file=eval_file),
    )
    results = do_sweep(options, say=say_status)
    if is_main():
        _show_grid(results, options.output)


def _show_grid(results: Mapping[str, Any], output: Path) -> None:
    from paraconsist.files import write_text
    from paraconsist.studies.plots import markdown_table, write_sweep_plots

    table = markdown_table(results)
    write_text(output / "table.md", table)
    echo("", *table.splitlines())
    for entry in (trend for trend in results["trends"] if trend["kendall"] == trend["kendall"]):
        axis = {"n_rows": "training rows", "n_parameters": "parameters"}[entry["axis"]]
        few = "too few for a p" if entry["n"] < _FEWEST_FOR_P else f"p {entry['p_value']:.2g}"
        echo(
            f"{entry['set']}, {entry['figure']} with {axis}: Kendall's tau {entry['kendall']:+.2f} over "
            f"{entry['n']} trainings, {few}."
        )
    significant = [t for t in results["tests"] if t["corrected_p_value"] < 0.05]
    if results["tests"]:
        echo(
            f"{len(significant)} of {len(results['tests'])} differences between configurations have p < 0.05 "
            "(Welch's t over seeds, Holm within a set and figure)."
        )
    if find_spec("matplotlib") is None:
        say_status("No figures: pip install 'paraconsist[report]'.")
    else:
        write_sweep_plots(results, output)
    say_status(f"Table, tests and figures in {output}.")


def adversarial(
    model: Annotated[str, typer.Option(help="bow, a Hub id, or a folder: what is trained.")],
    train_file: Annotated[Path, typer.Option(help="Training rows: CSV, TSV, JSON Lines or Parquet.")],
    columns: Annotated[str, typer.Option(help="Columns of the training rows to change, with commas.")],
    study: StudyChoices,
    transformation: str = option(
        "wordnet_nouns", "wordnet_nouns, dictionary, suffix, module:function, paraphrase:rules, or textattack:RECIPE."
    ),
    option: list[str] | None = option(None, "NAME=VALUE, of the transformation; repeat."),
    dictionary: Path | None = option(None, "dictionary: the file of substitutions."),
    control: bool = option(
        False, "Also train a control on as many rows without new texts: those that have a variant, twice."
    ),
    n_permutations: int = option(10_000, "Permutations that the paired test draws.", min=1),
) -> None:
    """Train with and without variants of the training rows, run both, and compare them on the same rows."""
    quiet_libraries()
    from paraconsist.studies.adversarial import AdversarialOptions
    from paraconsist.studies.adversarial import adversarial as run_study

    own = {} if dictionary is None else {"dictionary": str(dictionary)}
    options = AdversarialOptions(
        model=model,
        train_file=train_file,
        columns=read_names(columns) or (),
        transformation=transformation,
        transformation_options=read_values("adversarial", "option", option) | own,
        control=control,
        n_permutations=n_permutations,
        **study.settings("adversarial"),
    )
    _show_comparisons(run_study(options, say=say_status), options.output)


def _show_comparisons(results: Mapping[str, Any], output: Path) -> None:
    from paraconsist.reporting.table import show, table

    words = ["measure", "against", "seed"]
    columns = [*words, "other", "after", "difference", "interval", "p"]
    for name in dict.fromkeys(entry["set"] for entry in results["comparisons"]):
        lines = [_line(entry) for entry in results["comparisons"] if entry["set"] == name]
        show([table(f"{name}, per cent", columns, lines, words=words)])
        for entry in results["over_seeds"]:
            if entry["set"] == name and entry["n_seeds"] > 1:
                echo(
                    f"{_symbol(entry['measure'])} against {entry['against']}: {100 * entry['difference']:+.1f} over "
                    f"{entry['n_seeds']} seeds, paired t p {entry['p_value']:.2g}"
                )
    echo("p of each seed is of a paired permutation test on the same buckets. tau: lower is better.")
    if not any(entry["against"] == "repeated" for entry in results["comparisons"]):
        echo("More rows are also more steps: --control trains as long without a new text.")
    say_status(f"Everything in {output / 'adversarial.json'}.")


def _line(entry: Mapping[str, Any]) -> list[str]:
    after, before = _sides(entry)
    low, high = entry["confidence_interval"]["difference"]
    numbers = [f"{100 * before:.1f}", f"{100 * after:.1f}", f"{100 * entry['difference']:+.1f}"]
    numbers += [f"{100 * low:+.1f} to {100 * high:+.1f}", f"{entry['p_value']:.2g}"]
    return [_symbol(entry["measure"]), entry["against"], str(entry["seed"]), *numbers]


def _symbol(measure: str) -> str:
    from paraconsist.measures.catalogue import CATALOGUE

    return CATALOGUE[measure].symbol


def _sides(entry: Mapping[str, Any]) -> tuple[float, float]:
    """The two values, wherever the measure's comparison keeps them."""
    if "value1" in entry:
        return float(entry["value1"]), float(entry["value2"])
    from paraconsist.measures.catalogue import PARAPHRASTIC

    key = PARAPHRASTIC.headline
    return float(entry["values1"][key]), float(entry["values2"][key])
