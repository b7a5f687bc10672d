"""``paraconsist lm-eval``: where the tasks of lm-evaluation-harness are."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from paraconsist.cli.options import echo
from paraconsist.errors import check_choice


def lm_eval(
    what: Annotated[str, typer.Argument(help="'path': the folder for lm_eval's --include_path.")],
) -> None:
    """Print the folder of the bucket sets' tasks for lm-evaluation-harness."""
    check_choice("lm-eval", "what", what, ["path"])
    if find_spec("lm_eval") is None:
        raise ModuleNotFoundError(name="lm_eval")
    echo(str(Path(__file__).parents[1] / "plugins" / "lm_eval_tasks"))
