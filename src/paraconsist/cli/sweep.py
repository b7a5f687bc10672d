"""``paraconsist sweep``: accuracy and consistency over checkpoints, shares of the training rows, seeds and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.cli.options import StudyChoices, option, quiet_libraries, read_numbers, read_pairs, read_value


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
    from paraconsist.running.processes import is_main
    from paraconsist.studies.sweep import sweep as do_sweep
    from paraconsist.studies.sweep_grid import SweepOptions

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
    results = do_sweep(options, say=typer.echo)
    if is_main():
        _show(results, options.output)


def _show(results: Mapping[str, Any], output: Path) -> None:
    from paraconsist.studies.plots import markdown_table, write_sweep_plots

    table = markdown_table(results)
    (output / "table.md").write_text(table, encoding="utf-8")
    typer.echo(f"\n{table}")
    for entry in (trend for trend in results["trends"] if trend["kendall"] == trend["kendall"]):
        axis = {"n_rows": "training rows", "n_parameters": "parameters"}[entry["axis"]]
        typer.echo(
            f"{entry['set']}, {entry['figure']} with {axis}: Kendall's tau {entry['kendall']:+.2f}, "
            f"p {entry['p_value']:.2g} over {entry['n']} trainings."
        )
    significant = [t for t in results["tests"] if t["corrected_p_value"] < 0.05]
    if results["tests"]:
        typer.echo(
            f"{len(significant)} of {len(results['tests'])} differences between configurations have p < 0.05 "
            "(Welch's t over seeds, Holm within a set and figure)."
        )
    if find_spec("matplotlib") is None:
        typer.echo("No figures: pip install 'paraconsist[report]'.")
    else:
        write_sweep_plots(results, output)
    typer.echo(f"Table, tests and figures in {output}.")
