"""The pages that nobody writes: one a measure, one a command, the alarms, and the Markdown of every page for programs.

A measure's page is its card, told for readers of the site, between what the catalogue says of it and what is computed
here: what a coin and a constant answer get, and how its results look. Written into folders that git ignores.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import paraconsist as pc
from paraconsist.cli.app import COMMANDS, app
from paraconsist.measures.catalogue import CATALOGUE, MeasureSpec
from paraconsist.reporting.page.figures import report_plots
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.plots.canvas import drawn
from paraconsist.reporting.table import as_text
from paraconsist.reporting.tables import score_tables

ROOT = Path(__file__).resolve().parent.parent

N_BUCKETS, N_WORDINGS = 200, 4
PARAPHRASTIC = "paraphrastic_consistency"
#: Model -> its answer to a row with this gold label.
MODELS: dict[str, Callable[[np.random.Generator, int], int]] = {
    "a fair coin": lambda rng, _: int(rng.integers(2)),
    "always the same answer": lambda rng, _: 1,
    "right four times in five, by chance": lambda rng, gold: gold if rng.random() < 0.8 else 1 - gold,
}
_HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def write_pages(folder: Path) -> None:
    """Write every generated page below the folder of the documents."""
    measures, commands = folder / "measures", folder / "reference" / "commands"
    for made in (measures, commands):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
    for spec in CATALOGUE.values():
        (measures / f"{spec.name}.md").write_text(measure_page(spec, measures), encoding="utf-8")
    rows = [f"| [{spec.title}]({spec.name}.md) | {spec.question} | {spec.direction} |" for spec in CATALOGUE.values()]
    lines = ["# Measures", "", "| measure | the question it answers | reading it |", "|---|---|---|", *rows, ""]
    (measures / "index.md").write_text("\n".join([*lines, *toctree(CATALOGUE)]), encoding="utf-8")
    for name in COMMANDS:
        (commands / f"{name}.md").write_text(command_page(name), encoding="utf-8")
    streams = (
        "Results go to standard output, warnings and progress to standard error; JSON and Markdown hold their warnings."
    )
    index = ["# Commands", "", f"Every command takes `--config FILE.yaml` with its options by name. {streams}", ""]
    for panel in dict.fromkeys(command.panel for command in COMMANDS.values()):
        there = {name: command for name, command in COMMANDS.items() if command.panel == panel}
        index += [f"## {panel}", "", "| command | what it does |", "|---|---|"]
        index += [f"| [`{name}`]({name}.md) | {command.help} |" for name, command in there.items()] + [""]
    (commands / "index.md").write_text("\n".join([*index, *toctree(COMMANDS)]), encoding="utf-8")


def toctree(names: Any) -> list[str]:
    """The pages below an index, for the navigation at the side only."""
    return ["```{toctree}", ":hidden:", "", *names, "```", ""]


# ------------------------------------------------------------------------------------------------- measures


def measure_page(spec: MeasureSpec, folder: Path) -> str:
    """The page of a measure, as Markdown."""
    card = (ROOT / "metrics" / spec.name / "README.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    body = re.sub(r"<!-- .*? -->\n?", "", card).split("\n", 3)[3]
    body = body.replace("](../../docs/", "](../")
    body = re.sub(r"^## How to use$", "## From Python, through `evaluate`", body, flags=re.MULTILINE)
    opening, rest = body.split("\n## ", 1)
    facts = [f"*{spec.question}* {spec.direction}", ""]
    if spec.chance:
        facts += [f"**By chance**: {spec.chance}", ""]
    called = f"`paraconsist.{spec.name}(...)` is the same function without `evaluate`, on numpy and scipy alone"
    facts += [f"{called}: [its parameters](../reference/api.md).", ""]
    parts = [f"# {spec.title}", "", *facts, opening.strip(), ""]
    parts += [*(examples(spec, folder) if spec.target else own_columns(spec, folder)), ""]
    return "\n".join([*parts, *published_values(spec), f"## {rest}"])


def rows_of(spec: MeasureSpec, answer: Callable[[np.random.Generator, int], int]) -> pd.DataFrame:
    """Made rows that a measure can be scored on, answered by a model; the same problems for every model."""
    golds, rng = np.random.default_rng(0).integers(2, size=N_BUCKETS), np.random.default_rng(1)
    roles = [
        *spec.partners,
        *spec.optional_partners,
        *[spec.target] * (N_WORDINGS if spec.mean_over == "buckets" else 1),
    ]
    labels = [
        (f"q{i}", role, 1 - gold if role == "negation" else gold) for i, gold in enumerate(golds) for role in roles
    ]
    rows = [(bucket, role, int(label), answer(rng, int(label))) for bucket, role, label in labels]
    frame = pd.DataFrame(rows, columns=["bucket_id", "role", "label", "prediction"])
    if any(path.startswith("tuple.") for path in spec.arguments.values()):
        sure = rng.uniform(0.5, 1.0, size=len(frame))
        frame["p0"] = np.where(frame["prediction"] == 0, sure, 1 - sure)
        frame["p1"] = 1 - frame["p0"]
    if "rows.calls" in spec.arguments.values():
        of_run = zip(frame["prediction"], rng.integers(1, 4, size=len(frame)), strict=True)
        frame["calls"] = [["find"] * int(n) + ["book" if answer else "ask"] for answer, n in of_run]
    if any(path.endswith(".allowed") for path in spec.arguments.values()):
        frame["allowed_labels"] = [[label] for label in frame["label"]]
    return frame


def examples(spec: MeasureSpec, folder: Path) -> Iterator[str]:
    """What three simple models get, how `score` prints the last of them, and its picture."""
    yield from ("## What simple models get", "", f"On {N_BUCKETS} made problems with two labels:", "")
    for number, (model, answer) in enumerate(MODELS.items()):
        rows = rows_of(spec, answer)
        scores = pc.score(rows, measures=[spec.name], probabilities="p0,p1" if "p0" in rows else None)
        result = scores.sets["predictions"].measures[spec.name]
        low, high = result["confidence_interval"][spec.headline]
        cells = {"model": model, f"{spec.symbol} (%)": f"{100 * result[spec.headline]:.1f}"}
        cells["95 % interval"] = f"{100 * low:.1f} to {100 * high:.1f}"
        if "chance_corrected" in result:
            corrected = result["chance_corrected"]
            cells["above chance (%)"] = "undefined" if np.isnan(corrected) else f"{100 * corrected:.1f}"
        if not number:
            yield from (f"| {' | '.join(cells)} |", f"|{'---|' * len(cells)}")
        yield f"| {' | '.join(cells.values())} |"
    yield from ("", "## From the command line", "", "```sh", f"paraconsist score answers.csv --measure {spec.name}")
    yield from (
        "```",
        "",
        "The last of the models above:",
        "",
        "```text",
        as_text(score_tables(scores.sets)),
        "```",
        "",
    )
    scores.plot().savefig(folder / f"{spec.name}.png", dpi=120)
    yield f"![{spec.title} of the last model]({spec.name}.png)"


def own_columns(spec: MeasureSpec, folder: Path) -> Iterator[str]:
    """The same of a measure that takes columns of its own: what simple models get, and the picture of its Space."""
    sys.path.append(str(ROOT / "tests"))
    from helpers.space import measured

    if spec.name in _OF_ONE_MODEL:
        yield from ("## What simple models get", "", f"On {N_BUCKETS} made problems with two labels:", "")
        yield from (f"| model | {spec.symbol} |", "|---|---|")
        for model, answer in MODELS.items():
            yield f"| {model} | {_OF_ONE_MODEL[spec.name](rows_of(CATALOGUE[PARAPHRASTIC], answer)):.3f} |"
    page = measured(spec.name)
    yield from ("", "## A picture", "")
    if page.models:
        drawn(report_plots(Report(page.models))[0].plot).savefig(folder / f"{spec.name}.png", dpi=120)
        yield f"![{spec.title} of the example of its Space]({spec.name}.png)"
    else:
        yield from ("```{raw} html", f'<div class="space-figure">{page.figure}</div>', "```", "", page.caption)


def _wordings(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the originals and, in the same order, those of one paraphrase of each."""
    first = rows.drop_duplicates(["bucket_id", "role"])
    return first[first["role"] == "original"], first[first["role"] == "paraphrase"]


def _fooled(rows: pd.DataFrame) -> float:
    original = rows[rows["role"] == "original"].set_index("bucket_id")["prediction"]
    variants = rows[rows["role"] == "paraphrase"]
    answers = (variants["prediction"], variants["bucket_id"].map(original), variants["label"], variants["bucket_id"])
    return pc.fooling_rate(*(column.tolist() for column in answers), opposites={0: 1, 1: 0}).relaxed


def _ie(rows: pd.DataFrame) -> float:
    before, after = _wordings(rows)
    return pc.ie_test(before["prediction"].tolist(), after["prediction"].tolist(), before["label"].tolist()).p_value


def _difference(rows: pd.DataFrame) -> float:
    """Against a model that is always right."""
    columns = (rows[name].tolist() for name in ("prediction", "label", "label", "bucket_id"))
    return pc.consistency_difference(*columns, roles=rows["role"].tolist()).difference


_OF_ONE_MODEL = {"fooling_rate": _fooled, "ie_test": _ie, "consistency_difference": _difference}


def published_values(spec: MeasureSpec) -> Iterator[str]:
    """The papers' own numbers of a measure: how many there are, their range, and how to have them."""
    keys = [key for key in dict.fromkeys((spec.name, spec.published, spec.headline)) if key]
    for key in keys:
        rows = pc.published(measure=key).to_pylist() if key in set(pc.published()["measure"].to_pylist()) else []
        if rows:
            values = [row["value"] for row in rows]
            papers = ", ".join(sorted({row["paper"] for row in rows}))
            yield from (
                "## Published values",
                "",
                f"{len(rows)} numbers of {papers}, from {min(values):g} to {max(values):g} (%):",
            )
            yield from ("", "```python", "import paraconsist as pc", "", f'pc.published(measure="{key}")', "```", "")
            return


# ------------------------------------------------------------------------------------------------- commands


def command_page(name: str) -> str:
    """The page of a command: usage, examples, arguments and all options panel by panel."""
    command: Any = app.get_command(None, name)
    context = click.Context(command, info_name=name, parent=click.Context(app, info_name="paraconsist"))
    lines = [f"# {name}", "", command.help.partition("\n\nparaconsist ")[0], ""]
    lines += ["```text", command.get_usage(context), "", *command.examples, "```", ""]
    for panel, records in command.panels(context, rare=True).items():
        lines += [f"## {panel}", ""]
        for option, text in records:
            lines += [f"`{option}`", f": {escaped(text)}", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """A help text as Markdown that shows each of its characters."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^])", r"\\\1", " ".join(text.split()))


# -------------------------------------------------------------------------------------- the site for programs


def write_markdown(app: Any, error: Exception | None) -> None:
    """Put every page's Markdown beside it, and `llms.txt`, which lists them (llmstxt.org)."""
    if error or app.builder.name != "html":
        return
    lines = ["# paraconsist", "", f"> {' '.join(pc.__doc__.splitlines()[0].split(': ', 1)[1].split())}", ""]
    for page in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(page))
        if source.suffix == ".md":
            target = Path(app.outdir) / f"{page}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            title = _HEADING.search(source.read_text(encoding="utf-8"))
            lines.append(f"- [{title[2] if title else page}]({page}.md)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
