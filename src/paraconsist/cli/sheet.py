"""``paraconsist sheet``: answers for people to check, from which `score --checked` corrects rates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import REQUIRED, argument
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error
from paraconsist.files import write_text

_PAGE = ".html"


def sheet(
    *,
    paths: list[Path] = argument("One model or several: a predictions file, a log or a run folder of each."),
    output: Path = option(REQUIRED, "The sheet: CSV, TSV, JSON Lines or Parquet; .html for a page to fill it in."),
    mark: Literal["same", "right"] = option(
        "same", "What people mark: whether two answers are the same, or whether an answer is right."
    ),
    n: int = option(200, "Rows of the sheet, of all models together.", option="--n", min=0),
    apart: int = option(0, "Rows more, of answers to different problems: for consistency above chance.", min=0),
    people: int = option(1, "How many people mark it: each has a column.", min=1),
    question: str | None = option(None, "Column of the questions' texts, if the run kept none."),
    seed: int = option(0, "Random seed of the sample.", min=0),
    overwrite: bool = option(False, "Replace the sheet."),
    read: SourceOptions,
) -> None:
    """Draw answers for people to check: how often the comparer errs, and what the rates are without its errors.

    paraconsist sheet runs/a --same tokens --output sheet.csv
    paraconsist sheet small.csv large.csv --same tokens --mark right --output sheet.csv

    The sample is random within the comparer's verdicts, and the sheet does not show these. Give it to score --checked,
    or to compare --checked, when it is filled in.
    """
    from paraconsist.data.writing import ENDINGS, check_new_files, write_table
    from paraconsist.scoring.checked import draw_sheet, model_name
    from paraconsist.scoring.sources import open_source

    check_new_files("sheet", [output], endings=(*ENDINGS, _PAGE), overwrite=overwrite)
    sources = {}
    for path in paths:
        sets = [*open_source(path, read, function="sheet").sets.values()]
        name = model_name(sets[0]) if sets else str(path)
        if name in sources:
            raise input_error("sheet", "paths", "be files of different models", got=name)
        sources[name] = sets
    drawn = draw_sheet(sources, mark=mark, n=n, apart=apart, people=people, seed=seed, question=question)
    columns = ", ".join(name for name in drawn.column_names if name == mark or name.startswith(f"{mark}_"))
    how = f"fill in {columns} with yes or no"
    if output.suffix == _PAGE:
        from paraconsist.reporting.page.sheet import sheet_page

        saved = f"{output.stem}.csv"
        write_text(output, sheet_page(drawn, mark, saved))
        how = f"open it in a browser, where it is filled in and saved as {saved}"
    else:
        write_table(drawn, output)
    say_status(f"{drawn.num_rows:,} rows in {output}: {how}, for score --checked.")
