"""``paraconsist init``: questions, a test and a workflow to begin with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from paraconsist.cli.options import argument, echo
from paraconsist.data.options import option
from paraconsist.errors import input_error
from paraconsist.files import replacing

#: File -> what it begins as, among the data files beside this module.
_FILES = {
    "questions.yaml": "questions.yaml",
    "consistency_test.py": "test.txt",
    ".github/workflows/consistency.yml": "workflow.yaml",
}


def init(
    *,
    folder: Path = argument("Where to write.", Path()),
    overwrite: bool = option(False, "Write over files that are there."),
) -> None:
    """Write questions, a test and a workflow to begin with.

    paraconsist init
    paraconsist init my-app
    """
    there = [str(folder / name) for name in _FILES if (folder / name).exists()]
    if there and not overwrite:
        raise input_error("init", "folder", "have none of the files", got=there, remedy="Give `overwrite`.")
    for name, beginning in _FILES.items():
        text = files("paraconsist.cli").joinpath("beginning", beginning).read_text(encoding="utf-8")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        echo(f"wrote {folder / name}")
    echo("Next: call your app in consistency_test.py, then: pytest --paraconsist-report report.html")
