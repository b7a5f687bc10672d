"""``paraconsist build``: prepare bucket sets, so that ``load_dataset`` finds them by their bare name.

``paraconsist list``: what there is, and what is prepared on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paraconsist.cli.options import echo
from paraconsist.errors import input_error

if TYPE_CHECKING:
    from rich.table import Table


def build(
    names: Annotated[list[str], typer.Argument(help="Bucket sets, such as paranlu (see `paraconsist list`).")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the upstream files, used instead of the network; same checksums.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Also write Parquet and a card here (for several sets: one folder below for each)."),
    ] = None,
    config_name: Annotated[
        list[str] | None, typer.Option(help="Only this config; repeat for several. All by default.")
    ] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="A datasets cache other than the default one.")] = None,
) -> None:
    """Download bucket sets (or take them from a mirror), verify and prepare them."""
    from paraconsist.data.building import config_named, prepare, write_folder
    from paraconsist.dataset_builders import builder_class

    wanted = {
        name: [c.name for c in builder_class(name).BUILDER_CONFIGS]
        if not config_name
        else [config_named(name, config).name for config in config_name]
        for name in dict.fromkeys(names)
    }
    if not wanted:
        raise input_error("build", "names", "name at least one bucket set", remedy="See `paraconsist list`.")
    in_cache = "" if cache_dir is None else f', cache_dir="{cache_dir}"'
    for name, configs in wanted.items():
        for config in configs:
            builder = prepare(name, config, data_dir=data_dir, cache_dir=cache_dir)
            echo(f"{name}:{config}")
            for split, roles in builder.config.counts.items():
                echo(f"  {split}: {describe_counts(roles)}")
            echo(f'  load_dataset("{name}", "{config}"{in_cache})')
        if folder is not None:
            target = folder if len(wanted) == 1 else folder / name
            written = write_folder(name, target, configs=configs, data_dir=data_dir, cache_dir=cache_dir)
            echo(f"{name} as Parquet with a card: {written}")
            echo(f'  load_dataset("{written}", "{configs[0]}")')
        if Path(name).is_dir():
            echo(f"Note: the folder ./{name} hides the set from load_dataset({name!r}) in this directory.")
    echo("Without a network set HF_HUB_OFFLINE=1 before load_dataset, or it asks the Hub first.")


def describe_counts(roles: Mapping[str, int]) -> str:
    """``2,230 rows (250 original, 1,980 paraphrase)``, or only the rows where there is one role."""
    rows = f"{sum(roles.values()):,} rows"
    if len(roles) == 1:
        return rows
    return f"{rows} ({', '.join(f'{n:,} {role}' for role, n in roles.items())})"


def list_() -> None:
    """Show metrics, bucket sets, tasks and training presets."""
    from rich.console import Console

    console = Console()
    for table in (_metrics(), _bucket_sets(), _tasks(), _presets()):
        console.print(table)


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=i == 0)  # the first is what one types elsewhere
    return table


def _metrics() -> Table:
    from paraconsist.measures.catalogue import list_measures

    table = _table("Metrics", "evaluate.load(...)", "question", "by chance")
    for spec in list_measures():
        table.add_row(spec.name, spec.question, spec.chance or "-")
    return table


def _bucket_sets() -> Table:
    from paraconsist.data.building import is_prepared
    from paraconsist.dataset_builders import BUILDERS, builder_class

    table = _table("Bucket sets", "--dataset", "task", "measures", "rows", "prepared")
    for name in BUILDERS:
        for config in builder_class(name).BUILDER_CONFIGS:
            table.add_row(
                f"{name}:{config.name}",
                config.task,
                ", ".join(config.measures) or "-",
                "\n".join(f"{split}: {describe_counts(roles)}" for split, roles in config.counts.items()),
                "yes" if is_prepared(name, config.name) else "no",
            )
    return table


def _tasks() -> Table:
    from paraconsist.data.tasks import TASKS

    table = _table("Tasks", "name", "columns", "labels", "what is asked")
    for task in TASKS.values():
        table.add_row(task.name, ", ".join(task.columns), ", ".join(task.label_names), task.description)
    return table


def _presets() -> Table:
    from paraconsist.models.training.options import PRESETS

    table = _table("Training presets", "train --preset", "model", "settings", "what for")
    for name, preset in PRESETS.items():
        settings = ", ".join(f"{key}={value}" for key, value in preset.settings.items())
        description = re.sub(r"`(\w+)`", lambda field: f"--{field[1].replace('_', '-')}", preset.description)
        table.add_row(name, preset.model or "any", settings, description)
    return table
