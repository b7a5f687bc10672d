"""``paraconsist list``: what there is, and what is prepared on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


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
    from paraconsist.registry import metric_names

    table = _table("Metrics", "evaluate.load(...)")
    for name in metric_names():
        table.add_row(name)
    return table


def _bucket_sets() -> Table:
    from paraconsist.cli.build import describe_counts
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
    from paraconsist.models.training.presets import PRESETS

    table = _table("Training presets", "train --preset", "model", "settings", "what for")
    for name, preset in PRESETS.items():
        settings = ", ".join(f"{key}={value}" for key, value in preset.settings.items())
        table.add_row(name, preset.model or "any", settings, preset.description)
    return table
