"""``paraconsist select``: choose items for a bucket set of one's own, and read the written paraphrases back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.options import Device, Fields, echo, quiet_libraries, read_names
from paraconsist.data.options import TASK, option
from paraconsist.errors import check_choice, input_error

if TYPE_CHECKING:
    from paraconsist.studies.selection import Selection


@dataclass(frozen=True)
class FilterChanges:
    """What the preset of the filter says otherwise, as in `paraconsist.studies.aflite.AfliteOptions`."""

    n_classifiers: int | None = option(None, "Random partitions in each iteration (s24: 64).")
    train_size: int | None = option(None, "Rows that a classifier is trained on (s24: 5000).")
    cutoff: int | None = option(None, "Rows that leave in each iteration at most (s24: 500).")
    threshold: float | None = option(None, "A row may leave from this share of right predictions on (s24: 0.75).")
    inverse_penalty: float | None = option(None, "Inverse strength C of the logistic regressions' penalty (1).")


def select(
    rows: Annotated[
        Path | None, typer.Argument(help="Labelled rows: CSV, TSV, JSON Lines or Parquet.", show_default=False)
    ] = None,
    *,
    output: Path | None = option(None, "Folder to write; with --written the bucket set, a .parquet file."),
    encoder: str | None = option(
        None, "Whose vectors are filtered: a bare encoder or a trained model, by folder or id."
    ),
    confidence_model: str | None = option(
        None, "Draw items over the deciles of this model's confidence in the gold label."
    ),
    task: str | None = option(None, TASK),
    label_column: str = option("label", "Column of labels, by name or number."),
    label_names: str | None = option(None, "Labels in order, with commas."),
    drop_unlabelled: bool = option(False, "Leave out rows without a gold label."),
    group_columns: str | None = option(None, "Columns that make a context, with commas; by default the task's."),
    limit: int | None = option(None, "A random sample of this many rows.", min=2),
    preset: str = option("s24", "Named settings of the filter: s24."),
    changes: Annotated[dict[str, Any], Fields(FilterChanges)],
    pooling: str = option("auto", "Which vector stands for a text: auto, first, mean or head."),
    max_length: int | None = option(None, "Cut the encoder's inputs at this many tokens."),
    pool: float = option(1.0, "Share of the contexts to draw items from; the rest goes to train.csv."),
    n_easy: int = option(125, "Easy items to draw.", min=0),
    n_difficult: int = option(125, "Difficult items to draw.", min=0),
    rewrite: str | None = option(None, "Columns to paraphrase, with commas; by default what is not the context."),
    places: int = option(10, "Empty places for paraphrases of each item.", min=1),
    device: Device = None,
    seed: int = option(0, "Random seed of the partitions, the pool and the draw.", min=0),
    written: Path | None = option(None, "Read this filled-in sheet into a bucket set."),
    originals: Path | None = option(None, "The originals it was made for; by default those beside it."),
) -> None:
    """Filter rows adversarially, draw easy and difficult items, write a sheet for paraphrases; or read one back."""
    if output is None:
        raise input_error("select", "output", "be given")
    if written is not None:
        if rows is not None or encoder is not None:
            raise input_error("select", "written", "be given without rows and `encoder`", got=str(written))
        _read_back(written, originals or written.parent / "originals.parquet", output)
        return
    if rows is None or encoder is None:
        raise input_error("select", "rows", "be given with `encoder`", remedy="Or give `written` to read a sheet back.")
    quiet_libraries()
    from paraconsist.studies.aflite import PRESETS, AfliteOptions
    from paraconsist.studies.selection import SelectOptions, read_items
    from paraconsist.studies.selection import select as select_items

    check_choice("select", "preset", preset, PRESETS)
    filtering = AfliteOptions(**{**PRESETS[preset].to_dict(), **changes, "seed": seed})
    options = SelectOptions(
        encoder=encoder,
        filtering=filtering,
        pooling=pooling,
        pool=pool,
        confidence_model=confidence_model,
        n_easy=n_easy,
        n_difficult=n_difficult,
        rewrite=read_names(rewrite),
        places=places,
        max_length=max_length,
        device=device,
        seed=seed,
        group_columns=read_names(group_columns),
    )
    items = read_items(
        rows,
        task=task,
        label_column=label_column,
        label_names=read_names(label_names),
        group_columns=read_names(group_columns),
        drop_unlabelled=drop_unlabelled,
        limit=limit,
        seed=seed,
        say=say_status,
    )
    say_status(f"{len(items):,} rows in {len(set(items.contexts)):,} contexts.")
    _say(select_items(items, output, options, say=say_status))


def _say(made: Selection) -> None:
    from importlib.util import find_spec

    result = made.result
    echo(
        f"Easy: {100 * result.easy_share:.1f} % of the rows ({int(result.easy.sum()):,}); "
        f"{int((result.removed_in >= 0).sum()):,} left in {len(result.curve)} iterations."
    )
    if find_spec("matplotlib") is not None:
        from paraconsist.reporting.plots.canvas import write_plot
        from paraconsist.studies.plots import aflite_plot

        write_plot(aflite_plot(result.curve), made.folder)
    say_status(f"Scores of all rows: {made.folder / 'rows.parquet'}")
    if not made.in_pool.all():
        say_status(f"Rows outside the pool, to train the model under study on: {made.folder / 'train.csv'}")
    if not len(made.drawn):
        echo("No item was drawn: give --confidence-model, a model trained on other rows.")
        return
    n_easy = int(result.easy[made.drawn].sum())
    echo(f"Drawn: {n_easy} easy and {len(made.drawn) - n_easy} difficult items, {made.n_places:,} places.")
    say_status(f"Next: write paraphrases into {made.folder / 'sheet.csv'}, then")
    say_status(f"  paraconsist select --written {made.folder / 'sheet.csv'} --output SET.parquet")


def _read_back(sheet: Path, originals: Path, output: Path) -> None:
    import pyarrow as pa

    from paraconsist.data.writing import write_table
    from paraconsist.transforms.paraphrase.judgements import read_written

    if output.suffix != ".parquet" or output.exists():
        raise input_error("select", "output", "be a new .parquet file, with `written`", got=str(output))
    answers = read_written(sheet, originals)
    write_table(pa.Table.from_pylist(answers.rows), output)
    buckets = len({row["bucket_id"] for row in answers.rows})
    echo(f"{answers.n_paraphrases:,} paraphrases of {buckets:,} items; {answers.n_empty:,} places are empty.")
    if answers.unwritten:
        say(
            f"warning: {len(answers.unwritten):,} items have no paraphrase and are left out, "
            f"such as {answers.unwritten[0]}.",
        )
    say_status(f"Next: paraconsist run --model MODEL --dataset {output} --output FOLDER")
