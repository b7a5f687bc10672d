"""Running `paraconsist` in this process, and tables to give it."""

import json
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest


@dataclass(frozen=True)
class Command:
    """Arguments of `paraconsist`, or lists of them -> its exit code, standard output and standard error."""

    run: Callable[[list[str]], tuple[int, str, str]]

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        parts = (part for given in arguments for part in (given if isinstance(given, list) else [given]))
        return self.run([str(part) for part in parts])

    def out(self, *arguments: object) -> str:
        """Return the standard output of a command that succeeds."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out

    def json(self, *arguments: object) -> Any:
        """Return the JSON that a command prints that succeeds."""
        return json.loads(self.out(*arguments, "--json"))

    def done(self, *arguments: object) -> str:
        """Return all that a command prints that succeeds."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out + err

    def refused(self, *arguments: object, n_lines: int | None = None) -> str:
        """Return the standard error of a command that refuses its input; of so many lines, where they are given."""
        code, _, err = self(*arguments)
        assert code == 2, err
        assert "Traceback" not in err
        assert n_lines is None or err.count("\n") == n_lines, err
        return err


def in_process(given: list[str], *, warn: str | None = None) -> tuple[int, str, str]:
    """Run a command; `warn` is a filter for its warnings, which are errors otherwise."""
    from paraconsist.cli.app import main

    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        if warn is not None:
            warnings.simplefilter(warn)
        main(given)
    assert "Traceback" not in err.getvalue()
    return int(str(ended.value.code)), out.getvalue(), err.getvalue()


command = Command(in_process)
done, refused = command.done, command.refused


def words(name: str, **options: object) -> list[str]:
    """Return a command's line: `batch_tokens=9` for ``--batch-tokens 9``."""
    return [name, *(str(part) for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value))]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        pa.csv.write_csv(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
