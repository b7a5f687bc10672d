"""``paraconsist report``: an HTML page; ``leaderboard``: models ranked on a site; ``space``: a metric's page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from paraconsist.cli.ends import say_status, state
from paraconsist.cli.options import argument, echo
from paraconsist.comparing.rehearsal import rehearsed
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error, plural
from paraconsist.scoring.options import ScoreOptions

NAME = option(None, "Name of the model of each file or run folder, once for each in order.")
SET = option(None, "Name of the set of each file, once for each in order.", option="--set")

_PAUSE = 5.0  # seconds between two lines where standard error is no terminal


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows how many models are done: a bar on a terminal, elsewhere a line from time to time."""
    bars, last = dict[str, Any](), time.monotonic()
    is_terminal = sys.stderr.isatty()  # behind a bar older releases of rich say no
    with ExitStack() as stack:

        def show(what: str, n_done: int, n: int) -> None:
            nonlocal last
            if n > 1 and is_terminal and not state.quiet:
                if what not in bars:
                    from paraconsist.models.progress import ProgressBar

                    stack.close()  # the bar before
                    bars[what] = stack.enter_context(ProgressBar(n, what, visible=True, unit="models"))
                bars[what].advance(1)
            elif n > 1 and time.monotonic() - last >= _PAUSE:
                last = time.monotonic()
                say_status(f"{what}: {n_done} of {n}")

        yield show


@rehearsed
def report(
    *,
    paths: list[Path] = argument("Run folders and predictions files; several models share the page."),
    output: Path | None = option(None, "The page; by default report.html in the (first) run folder, or here."),
    site: Path | None = option(
        None, "In place of one page, a static site in this folder: an index, and a page for each model."
    ),
    space: bool = option(False, "The site is for a static Space: add a README.md that says so.", option="--space"),
    summary: bool = option(
        False, "In place of the page, its finding on one screen of 16:9, summary.html: a slide.", option="--summary"
    ),
    plots: Path | None = option(None, "Also write every plot to this folder, as PNG, SVG and PDF."),
    name: list[str] | None = NAME,
    set_: list[str] | None = SET,
    title: str | None = option(None, "Heading of the page."),
    texts: list[str] | None = option(
        None,
        "File with texts and a column example_id, or prepared sets (builder:config, builder:all); repeat for several: "
        "each gives what it has.",
    ),
    text_column: list[str] | None = option(
        None, "Column of texts to show, of logs a field (doc.question), repeated; by default those of the task."
    ),
    browser_buckets: int | None = option(
        None, "Problems on the page; by default the 5,000 most inconsistent, and no more than 3.5 MB.", min=1
    ),
    margin: float | None = option(
        None, "Margin as a share, 0.02 for two points: say which models are not worse by more."
    ),
    rescore: bool = option(False, "Score run folders anew, also where their results.json says with which options."),
    read: SourceOptions,
    scoring: ScoreOptions,
) -> None:
    """Write one self-contained page: numbers, plots, and a browser of the answers that flip.

    Run folders bring their results along; files are scored as `paraconsist score` does it. The page loads nothing from
    anywhere, so it can be mailed. With --site every model gets its own, and an index compares them; the folder can be
    served as it is, as by GitHub Pages. Pages hold the texts that they show: mind their licence before passing it on.

    paraconsist report runs/a
    paraconsist report runs/a runs/b --output page.html
    """
    from paraconsist.reporting.page import ReportOptions, load_models, write_report
    from paraconsist.reporting.page.site import write_site
    from paraconsist.reporting.page.write import write_summary

    if summary and (site or plots):
        raise input_error("report", "summary", "be given without `site` and `plots`", got=True)
    if site is not None and (output or plots):
        remedy = "A site has pages of its own; write one page and its plots by another command."
        raise input_error("report", "site", "be given without `output` and `plots`", got=str(site), remedy=remedy)
    if space and site is None:
        raise input_error("report", "space", "be given with `site`, the folder of the Space")
    with _progress() as progress:
        named: dict[str, Any] = {"names": name or (), "sets": set_ or ()}
        models = load_models(paths, scoring, read=read, rescore=rescore, progress=progress, **named)
    options = ReportOptions(
        title=title,
        score=scoring,
        texts=texts or (),
        text_columns=text_column or (),
        most_buckets=browser_buckets,
        margin=margin,
    )
    page = (paths[0] if len(paths) == 1 and paths[0].is_dir() else Path()) / "report.html"
    if summary:
        page = output or page.with_name("summary.html")
        echo(f"{page}: {write_summary(models, page, options) / 1e6:.2f} MB, one screen of 16:9.")
        return
    if site is None:
        _say(write_report(models, output or page, options, plots_folder=plots), plots)
        return
    from paraconsist.running.processes import do_all

    with _progress() as progress:
        written = write_site(models, site, options, space=space, progress=progress, spread=do_all)
    echo(f"{written.index}: {plural(written.n_models, 'model')}, {written.n_bytes / 1e6:.1f} MB in all.")


def _say(written: Any, plots: Path | None) -> None:
    buckets = f"{written.n_shown:,} of {written.n_buckets:,}" if written.n_shown < written.n_buckets else "all"
    browser = f", {buckets} {written.noun}s on the page" if written.n_buckets else ""  # an IE experiment has none
    echo(f"{written.page}: {written.n_bytes / 1e6:.1f} MB{browser}.")
    if plots is not None:
        echo(f"{len(written.plots)} files in {plots}.")
    for name, (n_missing, n_rows) in written.rows_without_texts.items():
        say_status(f"{n_missing:,} of {n_rows:,} rows of {name} have no text: no file gives one for their ids.")
    if written.sets_without_texts:
        sets = ", ".join(written.sets_without_texts)
        say_status(f"No texts at hand for {sets}: give --texts FILE with a column example_id to see them on the page.")


def leaderboard(
    *,
    inputs: list[str] = argument("Run folders, predictions files and logs of two models or more."),
    output: Path = option(Path("leaderboard"), "The site's folder: index.html, and a page for each model."),
    space: bool = option(False, "The site is for a static Space: add a README.md that says so.", option="--space"),
    name: list[str] | None = NAME,
    set_: list[str] | None = SET,
    title: str | None = option(None, "Heading of the index."),
    texts: list[str] | None = option(None, "File with texts and a column example_id, or prepared sets, for the pages."),
    rescore: bool = option(False, "Score run folders anew, also where their results.json says with which options."),
    read: SourceOptions,
    scoring: ScoreOptions,
) -> None:
    """Rank models on every set: consistency with intervals, ranks that hold for all pairs, groups that do not differ.

    Models of a set are compared on the buckets that all of them answered; others are shown and not ranked. The
    folder can be served as it is, as by GitHub Pages, and its pages load nothing from anywhere.

    paraconsist leaderboard runs/a runs/b runs/c
    paraconsist leaderboard runs/a runs/b --output site --space
    """
    from paraconsist.reporting.page.site import leaderboard as write
    from paraconsist.running.processes import do_all

    pages: dict[str, Any] = {"spread": do_all, "title": title, "space": space, "texts": texts or (), "rescore": rescore}
    pages |= {"names": name or (), "sets": set_ or ()}
    with _progress() as progress:
        written = write(*inputs, output=output, progress=progress, **pages, **vars(scoring), **vars(read))
    echo(f"{written.index}: {plural(written.n_models, 'model')}, {written.n_bytes / 1e6:.1f} MB in all.")


def space(
    *,
    name: str = argument("The metric, as evaluate.load knows it."),
    port: int | None = option(
        None, "Port to listen on; by default GRADIO_SERVER_PORT, or the first free one from 7860.", min=0, max=65535
    ),
    browser: bool = option(False, "Open it in the browser.", option="--browser"),
) -> None:
    """Open the page of a metric's Space locally: upload predictions, choose columns, see number, interval and plot.

    It serves this machine only until Ctrl-C, and nothing that is uploaded is stored.

    paraconsist space ie_test
    paraconsist space ie_test --port 7860 --browser
    """
    from paraconsist.reporting.space import launch

    launch(name, say=echo, server_port=port, inbrowser=browser)
