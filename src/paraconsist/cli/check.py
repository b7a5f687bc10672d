"""``paraconsist check``: whether a folder that a command wrote is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from paraconsist.cli.options import AsJson, echo, print_json


def check(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder that run, train, build --folder or a study wrote, a model, or a bucket set."),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Check a folder: every file readable, there, and as it was written; exit 0 if so, 1 if not."""
    from paraconsist.running.checking import check_folder

    checked = check_folder(folder)
    wrong = [file for file in checked if file.problem]
    if as_json:
        print_json([vars(file) for file in checked])
    else:
        echo(
            *(f"{'WRONG' if file.problem else 'ok':5}  {file.name}: {file.problem or file.content}" for file in checked)
        )
        echo(
            f"{len(wrong)} of {len(checked)} files are not as they should be."
            if wrong
            else f"{len(checked)} files, all well."
        )
    raise typer.Exit(1 if wrong else 0)
