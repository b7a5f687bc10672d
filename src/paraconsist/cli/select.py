"""``paraconsist select``: choose items for your own bucket set, and read the written paraphrases back."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paraconsist.cli.ends import say, say_status
from paraconsist.cli.options import Fields, Given, argument, echo, quiet_libraries
from paraconsist.data.options import option
from paraconsist.errors import check_choice, input_error
from paraconsist.studies.options import PRESETS, AfliteOptions, SelectOptions

if TYPE_CHECKING:
    from paraconsist.studies.selection import Selection

#: A preset sets these; they are given only to change them.
_FILTER = tuple(field.name for field in fields(AfliteOptions) if field.metadata)


def select(
    *,
    rows: Path | None = argument("Labelled rows: CSV, TSV, JSON Lines or Parquet.", None),
    output: Path | None = option(None, "Folder to write; with --written the bucket set, a .parquet file."),
    selecting: Annotated[Given, Fields(SelectOptions, without=("filtering",), unset=("encoder",))],
    preset: str = option("s24", "Named settings of the filter: s24."),
    changes: Annotated[Given, Fields(AfliteOptions, without=("seed",), unset=_FILTER)],
    written: Path | None = option(None, "Read this filled-in sheet into a bucket set."),
    originals: Path | None = option(
        None, "The originals that the sheet was made for; by default originals.parquet in its folder."
    ),
) -> None:
    """Filter rows adversarially, draw easy and difficult items, write a sheet for paraphrases; or read one back.

    paraconsist select rows.csv --encoder ORG/ENCODER --confidence-model models/a --output items
    paraconsist select --written items/sheet.csv --output set.parquet
    """
    if output is None:
        raise input_error("select", "output", "be given")
    if written is not None:
        if rows is not None or "encoder" in selecting:
            raise input_error("select", "written", "be given without rows and `encoder`", got=str(written))
        _read_back(written, originals or written.parent / "originals.parquet", output)
        return
    if rows is None or "encoder" not in selecting:
        raise input_error("select", "rows", "be given with `encoder`", remedy="Or give `written` to read a sheet back.")
    quiet_libraries()
    from paraconsist.studies.selection import read_items
    from paraconsist.studies.selection import select as select_items

    check_choice("select", "preset", preset, PRESETS)
    options = SelectOptions(**selecting)
    options = replace(options, filtering=replace(PRESETS[preset], **changes, seed=options.seed))
    items = read_items(rows, options, say=say_status)
    say_status(f"{len(items):,} rows in {len(set(items.contexts)):,} contexts.")
    _say(select_items(items, output, options, say=say_status))


def _say(selection: Selection) -> None:
    from importlib.util import find_spec

    result = selection.result
    echo(
        f"Easy: {100 * result.easy_share:.1f} % of the rows ({int(result.easy.sum()):,}); "
        f"{int((result.removed_in >= 0).sum()):,} left in {len(result.curve)} iterations."
    )
    if find_spec("matplotlib") is not None:
        from paraconsist.reporting.plots.canvas import write_plot
        from paraconsist.studies.plots import aflite_plot

        write_plot(aflite_plot(result.curve), selection.folder)
    say_status(f"Scores of all rows: {selection.folder / 'rows.parquet'}")
    if not selection.in_pool.all():
        say_status(f"Rows outside the pool, to train the model under study on: {selection.folder / 'train.csv'}")
    if not len(selection.drawn):
        echo("No item was drawn: give --confidence-model, a model trained on other rows.")
        return
    n_easy = int(result.easy[selection.drawn].sum())
    echo(f"Drawn: {n_easy} easy and {len(selection.drawn) - n_easy} difficult items, {selection.n_places:,} places.")
    say_status(f"Next: write paraphrases into {selection.folder / 'sheet.csv'}, then")
    say_status(f"  paraconsist select --written {selection.folder / 'sheet.csv'} --output SET.parquet")


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
            f"such as {answers.unwritten[0]}."
        )
    say_status(f"Next: paraconsist run --model MODEL --dataset {output} --output FOLDER")
