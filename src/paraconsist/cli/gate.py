"""``paraconsist gate``: a condition on results, an exit code and one line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraconsist.errors import InputError, input_error

if TYPE_CHECKING:
    from paraconsist.scoring.gate import Check


#: Exit code of a condition that does not hold; 2 is bad input, as everywhere.
FAILED = 1


def gate(
    condition: Annotated[str, typer.Argument(help="For instance 'pc.low >= 0.75' or 'change.high < 10%'.")],
    path: Annotated[Path, typer.Argument(help="A run folder, a predictions file, or results from score --output.")],
    set_name: Annotated[
        list[str] | None, typer.Option("--set", help="Only this set; repeat for several. By default every set.")
    ] = None,
) -> None:
    """Pass or fail on a number: exit code 0 where the condition holds in every set, 1 where it does not."""
    from paraconsist.scoring.gate import check, parse_conditions

    conditions = parse_conditions(condition)
    results = _results(path)
    if set_name:
        absent = [name for name in set_name if name not in results]
        if absent:
            known = f"There are {', '.join(results)}."
            raise input_error("gate", "set", "be among the results", got=absent[0], remedy=known)
        results = {name: results[name] for name in set_name}
    checks = check(conditions, results)
    typer.echo(_line(checks))
    if not all(one.passed for one in checks):
        raise typer.Exit(FAILED)


def _line(checks: Sequence[Check]) -> str:
    """Return the verdict, with the value that decided it: the one furthest outside, else the nearest inside."""
    failed = [one for one in checks if not one.passed]
    tightest = min(failed or checks, key=lambda one: one.condition.margin(one.value))
    value = "undefined" if math.isnan(tightest.value) else f"{tightest.value:.4f}"
    conditions = " and ".join(dict.fromkeys(str(one.condition) for one in checks))
    n_sets = len({one.set_name for one in checks})
    others = "" if n_sets == 1 else f"; {n_sets} sets"
    verdict = "fail" if failed else "pass"
    return f"{verdict}: {conditions} (found {value}: {tightest.set_name}, {tightest.condition.what}{others})"


def _results(path: Path) -> dict[str, Any]:
    """Return results by set: as written where they are newer than the predictions, else scored anew."""
    from paraconsist.data.predictions import read_predictions
    from paraconsist.scoring.folders import score_folder
    from paraconsist.scoring.score import ScoreOptions, score

    if path.suffix == ".json":
        said = _written(path)
        if said is not None:
            return said
    if path.is_dir():
        files = sorted((path / "predictions").glob("*.parquet"))
        if not files:
            raise input_error("gate", "path", "be a run folder with predictions", got=str(path))
        written = path / "results.json"
        if written.is_file() and written.stat().st_mtime >= max(file.stat().st_mtime for file in files):
            said = _written(written)
            if said is not None:
                return said
        return score_folder(files, ScoreOptions())
    predictions = read_predictions(path)
    return {str(predictions.metadata.get("set", path.stem)): score(predictions, ScoreOptions())}


def _written(path: Path) -> dict[str, Any] | None:
    """Return what the file says, or None if it is not results."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        got = f"{path} ({problem.strerror})"
        raise input_error("gate", "path", "be a file that can be read", got=got) from None
    except (ValueError, InputError):
        return None
    whole = isinstance(said, dict) and said and all(isinstance(v, dict) and "measures" in v for v in said.values())
    return said if whole else None
