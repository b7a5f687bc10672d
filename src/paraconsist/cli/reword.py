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

#: The tool of a source -> the package that must be there.
_PACKAGES = {"lm-eval": "lm_eval", "inspect": "inspect_ai", "hf": "inspect_ai"}


def reword(
    *,
    source: str = argument(
        "lm-eval:TASK (or a group or tag), inspect:FILE.py@TASK (or MODULE@TASK, or a registered name), or hf:ORG/SET, "
        "a set on the Hub that has an eval.yaml."
    ),
    output: Path = option(REQUIRED, "The folder to write."),
    making: RewordOptions,
    include_path: Path | None = option(None, "For lm-eval: folder with tasks of your own, as --include_path there."),
    overwrite: bool = option(False, "Replace the folder."),
) -> None:
    """Reword a benchmark: every question in several wordings, which its own harness asks and scores.

    paraconsist reword lm-eval:arc_easy --output arc
    paraconsist reword lm-eval:mmlu --kinds option_order,option_labels --limit 100 --output mmlu
    paraconsist reword inspect:evals.py@boats --output boats
    """
    from paraconsist.transforms.reworded_questions import reword_inspect
    from paraconsist.transforms.reworded_tasks import ORIGINAL, SUFFIX, reword_lm_eval

    tool, _, name = source.partition(":")
    if tool not in _PACKAGES or not name:
        must = "be lm-eval:TASK, inspect:FILE.py@TASK or hf:ORG/SET"
        raise input_error("reword", "source", must, got=source, remedy="Such as lm-eval:arc_easy.")
    is_own = output.is_dir() and all("_reworded." in file.name for file in output.iterdir())
    if output.exists() and not (overwrite and is_own):
        remedy = "Give `overwrite` to replace it." if is_own else "It has other files: name another folder."
        raise input_error("reword", "output", "not be there already", got=str(output), remedy=remedy)
    if find_spec(_PACKAGES[tool]) is None:
        raise ModuleNotFoundError(name=_PACKAGES[tool])
    making.chosen()  # an unknown kind is refused before anything is read
    quiet_libraries()
    if tool == "lm-eval":
        say_status("Reading lm-eval's tasks ...")
        tasks = reword_lm_eval(name, output, making, include_path)
    else:
        tasks = reword_inspect(f"hf/{name}" if tool == "hf" else name, output, making)
    for task, counts in tasks.items():
        n = counts.pop(ORIGINAL)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in counts.items())
        echo(f"{task}: {n:,} questions with {counts.total():,} wordings ({kinds})")
    if tool == "lm-eval":
        is_one = (output / f"{name}{SUFFIX}.yaml").exists()  # a tag has no file of its own
        names = ",".join(f"{task}{SUFFIX}" for task in ([name] if is_one else tasks))
        running = f"--tasks {names} --include_path {shlex.quote(str(output))} --log_samples --output_path logs"
        say_status(f"Next: lm_eval --model hf --model_args pretrained=MODEL {running}")
    else:
        (file,) = output.glob("*.py")
        say_status(f"Next: inspect eval {shlex.quote(f'{file}@{file.stem}')} --model MODEL --log-dir logs")
    say_status("      paraconsist score logs")
