"""``paraconsist sweep``: accuracy and consistency over checkpoints, shares of the training rows, seeds and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.errors import input_error


def sweep(
    model: Annotated[list[str], typer.Option(help="Checkpoint: Hub id, folder, bow, ...; repeat for several.")],
    dataset: Annotated[list[str], typer.Option(help="Set to run, as in `run`; repeat for several.")],
    output: Annotated[Path, typer.Option(help="Folder. The same command goes on with an interrupted sweep.")],
    shares: Annotated[str, typer.Option(help="Shares of the training rows, with commas.")] = "0.01,0.05,0.1,0.5,1",
    seeds: Annotated[str, typer.Option(help="Seeds, with commas: of the share drawn, weights and order.")] = "0",
    vary: Annotated[
        list[str] | None,
        typer.Option(help="OPTION=A,B,C: any other option of `train`, such as embedding_dim=4,8; repeat for several."),
    ] = None,
    train_file: Annotated[Path | None, typer.Option(help="Training rows.")] = None,
    train_dataset: Annotated[str | None, typer.Option(help="Training rows from a builder.")] = None,
    eval_file: Annotated[Path | None, typer.Option(help="Rows to measure accuracy on after each epoch.")] = None,
    task: Annotated[str | None, typer.Option(help="Task of the rows, where their columns do not say.")] = None,
    preset: Annotated[str | None, typer.Option(help="Named settings of training.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="OPTION=VALUE: an option of `train` for all cells; repeat.")
    ] = None,
    with_test: Annotated[bool, typer.Option(help="Also run the full test sets.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time; each has a device of its own.")] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="A trial: so many training rows, and rows of each set, at most.")
    ] = None,
    keep_models: Annotated[bool, typer.Option(help="Keep the weights of every cell.")] = False,
    device: Annotated[str | None, typer.Option(help="'cpu', or leave it out for the best there is.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Mirror in place of downloads.")] = None,
    n_resamples: Annotated[int, typer.Option(min=1, help="Bootstrap replicates of each cell.")] = 1000,
) -> None:
    """Train, run and score every cell of a grid; write the table, the tests and the figures."""
    from paraconsist.cli.options import quiet_libraries

    quiet_libraries()
    from paraconsist.data.selection import expand_specs
    from paraconsist.running.processes import is_main
    from paraconsist.studies.sweep import sweep as do_sweep
    from paraconsist.studies.sweep_grid import SweepOptions

    given = {name: _values(value, "set")[0] for name, value in _pairs(set_, "set").items()}
    named = {"train_file": train_file, "dataset": train_dataset, "eval_file": eval_file, "task": task}
    options = SweepOptions(
        output=output,
        models=model,
        sets=expand_specs(dataset),
        shares=_numbers(shares, "shares", float),
        seeds=_numbers(seeds, "seeds", int),
        vary={name: _values(value, "vary") for name, value in _pairs(vary, "vary").items()},
        training={**given, **{name: value for name, value in named.items() if value is not None}},
        preset=preset,
        with_test=with_test,
        limit=limit,
        jobs=jobs,
        device=device,
        data_dir=data_dir,
        keep_models=keep_models,
        n_resamples=n_resamples,
    )
    said = do_sweep(options, say=typer.echo)
    if is_main():
        _show(said, output)


def _show(said: Mapping[str, Any], output: Path) -> None:
    from paraconsist.studies.plots import markdown_table, write_sweep_plots

    table = markdown_table(said)
    (output / "table.md").write_text(table, encoding="utf-8")
    typer.echo(f"\n{table}")
    told = [t for t in said["trends"] if t["kendall"] == t["kendall"]]
    for entry in told:
        axis = {"n_rows": "training rows", "n_parameters": "parameters"}[entry["axis"]]
        typer.echo(
            f"{entry['set']}, {entry['figure']} with {axis}: Kendall's tau {entry['kendall']:+.2f}, "
            f"p {entry['p_value']:.2g} over {entry['n']} trainings."
        )
    significant = [t for t in said["tests"] if t["corrected_p_value"] < 0.05]
    if said["tests"]:
        typer.echo(
            f"{len(significant)} of {len(said['tests'])} differences between configurations have p < 0.05 "
            "(Welch's t over seeds, Holm within a set and figure)."
        )
    if find_spec("matplotlib") is None:
        typer.echo("No figures: pip install 'paraconsist[report]'.")
    else:
        write_sweep_plots(said, output)
    typer.echo(f"Table, tests and figures in {output}.")


def _numbers(given: str, option: str, kind: type) -> list[Any]:
    try:
        return [kind(part) for part in str(given).split(",")]
    except ValueError:
        raise input_error("sweep", option, "be numbers with commas between", got=given) from None


def _pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise input_error("sweep", option, "be items of the form OPTION=VALUE", got=item)
        pairs[name.strip().replace("-", "_")] = value
    return pairs


def _values(given: str, option: str) -> list[Any]:
    import yaml

    try:
        return [yaml.safe_load(part) for part in given.split(",")]  # 4, 3e-3, true, words
    except yaml.YAMLError:
        raise input_error("sweep", option, "have values with commas between", got=given) from None
