"""``paraconsist reword``: a benchmark's questions reworded, and a task that runs in the benchmark's own harness."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import REQUIRED, Fields, Given, argument, echo, quiet_libraries
from paraconsist.cli.paraphrase import GENERATOR_ENDPOINT, generator_endpoint, say_generator, say_refined
from paraconsist.data.bucket_sets import is_file_of_rows
from paraconsist.data.options import option
from paraconsist.errors import input_error
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.transforms.perturbation import RowOptions
from paraconsist.transforms.reworded_tasks import RewordOptions, Writer

#: The tool of a source -> the package that must be there.
_PACKAGES = {"lm-eval": "lm_eval", "inspect": "inspect_ai", "hf": "inspect_ai"}


def reword(
    *,
    source: str = argument(
        "lm-eval:TASK (or a group or tag), inspect:FILE.py@TASK (or MODULE@TASK, or a registered name), hf:ORG/SET, a "
        "set on the Hub that has an eval.yaml, or a table of questions: a file, a folder, or a data set on the Hub."
    ),
    output: Path = option(REQUIRED, "The folder to write."),
    making: RewordOptions,
    reading: Annotated[RowOptions, Fields(without=("task", "label_names", "data_dir"))],
    endpoint: Annotated[Given, GENERATOR_ENDPOINT],
    include_path: Path | None = option(None, "For lm-eval: folder with tasks of your own, as --include_path there."),
    overwrite: bool = option(False, "Replace the folder."),
) -> None:
    """Reword a benchmark: every question in several wordings, which its own harness asks and scores.

    paraconsist reword lm-eval:arc_easy --output arc
    paraconsist reword exam.csv --columns question=stem,choices=A+B+C+D,answer=key --output exam
    """
    from paraconsist.transforms.reworded_questions import reword_inspect, reword_table
    from paraconsist.transforms.reworded_tasks import ORIGINAL, SUFFIX, reword_lm_eval

    tool, _, name = source.partition(":")
    package = _PACKAGES.get(tool) if name else None
    if package is None and not (is_file_of_rows(source) or "/" in source or Path(source).is_dir()):
        must = "be lm-eval:TASK, inspect:FILE.py@TASK, hf:ORG/SET, or a table"
        raise input_error("reword", "source", must, got=source, remedy="Such as lm-eval:arc_easy.")
    is_own = output.is_dir() and all(re.search("_reworded[.]|__pycache__", file.name) for file in output.iterdir())
    is_own = is_own and not output.samefile(".")  # which is moved away when it is replaced
    if output.exists() and not (overwrite and is_own):
        remedy = (
            "Give `overwrite` to replace it." if is_own else "It is where you are, or has other files: name another."
        )
        raise input_error("reword", "output", "not be there already", got=str(output), remedy=remedy)
    if package is not None and find_spec(package) is None:
        raise ModuleNotFoundError(name=package)
    making.chosen()  # an unknown kind is refused before anything is read
    quiet_libraries()
    comparers: dict[str, str] = {}
    writer = _writer(making, generator_endpoint(endpoint and {**endpoint, "api": endpoint.get("api", "chat")}), output)
    write = list if writer is None else writer
    if tool == "lm-eval":
        say_status("Reading lm-eval's tasks ...")
        tasks = reword_lm_eval(name, output, making, include_path, write)
        is_one = (output / f"{name}{SUFFIX}.yaml").exists()  # a tag has no file of its own
        names = ",".join(f"{task}{SUFFIX}" for task in ([name] if is_one else tasks))
        where = f"--tasks {names} --include_path {shlex.quote(str(output))} --log_samples --output_path logs"
        following = f"lm_eval --model hf --model_args pretrained=MODEL {where}"
    elif package is None:
        tasks, comparers = reword_table(source, output, making, reading, write)
        (file,) = output.iterdir()
        following = f"paraconsist run --model MODEL --dataset {shlex.quote(str(file))} --stratum kind --output logs"
    else:
        tasks = reword_inspect(f"hf/{name}" if tool == "hf" else name, output, making, write)
        (file,) = output.glob("*.py")
        following = f"inspect eval {shlex.quote(f'{file}@{file.stem}')} --model MODEL --log-dir logs"
    if writer is not None:
        say_generator(writer.generator)
    for task, counts in tasks.items():
        n = counts.pop(ORIGINAL)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in counts.items())
        echo(f"{task}: {n:,} questions with {counts.total():,} wordings ({kinds})")
    say_status(f"Next: {following}")
    say_status("      paraconsist score logs" + "".join(f" --{name} {value}" for name, value in comparers.items()))


def _writer(making: RewordOptions, endpoint: EndpointSettings | None, output: Path) -> Writer | None:
    """Return what writes the kind generated; its answers from an endpoint are kept beside the output."""
    from paraconsist.transforms.paraphrase import refining
    from paraconsist.transforms.paraphrase.generators import GeneratorOptions, load_generator, settings_of

    if making.generator is None:
        for name, value in {"check": making.check, "endpoint": endpoint and " ".join(endpoint.urls)}.items():
            if value is not None:
                raise input_error("reword", name, "be given with `generator`", got=value)
        return None
    settings = replace(settings_of("questions", {"n": 5, "keep": 3}, endpoint=endpoint, say=say_status), whole=True)
    if making.check is not None:
        say_status(f"check: {refining.error_of_check(making.check)}")
    options, answers = GeneratorOptions(making.generator, endpoint=endpoint), output.with_name(f"{output.name}.answers")
    generator = load_generator(options, settings, seed=making.seed, answers=answers, say=say_status)
    check = None if making.check is None else refining.MeaningCheck(making.check)
    return Writer(generator, settings, check, lambda refined: say_refined(refined, settings, Counter()))
