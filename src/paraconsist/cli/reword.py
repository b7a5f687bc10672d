"""``paraconsist reword``: a benchmark's questions reworded, and a task that runs in the benchmark's own harness."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import REQUIRED, argument, echo, quiet_libraries
from paraconsist.data.options import option
from paraconsist.errors import input_error
from paraconsist.transforms.reworded_tasks import RewordOptions


def reword(
    *,
    source: str = argument("A task, group or tag of lm-evaluation-harness: lm-eval:TASK."),
    output: Path = option(REQUIRED, "The folder to write, for lm_eval's --include_path."),
    making: RewordOptions,
    include_path: Path | None = option(None, "Folder with tasks of your own, as for lm_eval's --include_path."),
    overwrite: bool = option(False, "Replace the folder."),
) -> None:
    """Reword a benchmark: every question in several wordings, which its own harness asks and scores.

    paraconsist reword lm-eval:arc_easy --output arc
    paraconsist reword lm-eval:mmlu --kinds option_order,option_labels --limit 100 --output mmlu
    """
    from paraconsist.transforms.reworded_tasks import ORIGINAL, reword_lm_eval

    tool, _, name = source.partition(":")
    if tool != "lm-eval" or not name:
        raise input_error("reword", "source", "be lm-eval:TASK", got=source, remedy="Such as lm-eval:arc_easy.")
    is_own = output.is_dir() and all("_reworded." in file.name for file in output.iterdir())
    if output.exists() and not (overwrite and is_own):
        remedy = "Give `overwrite` to replace it." if is_own else "It has other files: name another folder."
        raise input_error("reword", "output", "not be there already", got=str(output), remedy=remedy)
    if find_spec("lm_eval") is None:
        raise ModuleNotFoundError(name="lm_eval")
    making.chosen()  # an unknown kind is refused before anything is read
    quiet_libraries()
    say_status("Reading lm-eval's tasks ...")
    tasks = reword_lm_eval(name, output, making, include_path)
    for task, counts in tasks.items():
        n = counts.pop(ORIGINAL)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in counts.items())
        echo(f"{task}: {n:,} questions with {counts.total():,} wordings ({kinds})")
    is_one = (output / f"{name}_reworded.yaml").exists()  # a tag has no file of its own
    names = ",".join(f"{task}_reworded" for task in ([name] if is_one else tasks))
    running = f"--tasks {names} --include_path {shlex.quote(str(output))} --log_samples --output_path logs"
    say_status(f"Next: lm_eval --model hf --model_args pretrained=MODEL {running}")
    say_status("      paraconsist score logs")
