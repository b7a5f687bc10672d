"""What the tests of the browser pages share: examples as a visitor would score them, and their true numbers."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from measures.cases import CASES

from paraconsist.cli.app import app
from paraconsist.reporting.space.catalogue import module
from paraconsist.reporting.space.forms import PageResult, Query, guess_columns, guess_layout, read_text


def as_query(name: str, text: str | None = None, layout: str | None = None, **more: Any) -> Query:
    """Return what a visitor gives who takes every guess."""
    page = module(name)
    predictions = read_text(page.example() if text is None else text)
    names = predictions.table.column_names
    chosen = guess_layout(page.layouts, names) if layout is None else page.layout(layout)
    options = {one.key: one.choices[0][1] for one in page.options}
    columns = guess_columns(chosen.fields, names) | more.pop("columns", {})
    return Query(predictions, chosen, columns, options=options | more.pop("options", {}), **more)


def measured(name: str, *arguments: Any, **more: Any) -> PageResult:
    return module(name).measure(as_query(name, *arguments, **more))


def columns_of(text: str) -> dict[str, list[str]]:
    """Read CSV with the standard library, apart from the code under test."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def to_csv(columns: dict[str, list]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def by_command(command: list[str], file: Path, *, apart: bool = False) -> dict[str, Any]:
    """Run a command that a page shows on a file, in a process of its own if `apart`; return the measure's keys."""
    words = [str(file) if word == "FILE" else word for word in [*command[1:], "--json"]]
    if apart:
        run = [sys.executable, "-m", "paraconsist", *words]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    else:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        printed = done.stdout
    (result,) = json.loads(printed).values()
    return result["measures"][words[words.index("--measure") + 1]]


def by_function(name: str) -> dict[str, Any]:
    """Return the measure's own answer on a module's example, its columns read by hand."""
    on_page = CASES[name].on_page
    assert on_page is not None, name
    result: dict[str, Any] = on_page(columns_of(module(name).example())).to_dict()
    return result
