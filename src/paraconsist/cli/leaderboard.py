"""``paraconsist leaderboard``: many models ranked, on a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from paraconsist.cli.options import echo
from paraconsist.data.options import option
from paraconsist.scoring.options import IntervalOptions, MeasureOptions, SourceOptions


def leaderboard(
    inputs: Annotated[list[str], typer.Argument(help="Run folders, predictions files and logs of two models or more.")],
    *,
    output: Path = option(Path("leaderboard"), "The site's folder: index.html, and a page for each model."),
    space: bool = option(False, "The site is for a static Space: add a README.md that says so.", option="--space"),
    name: list[str] | None = option(None, "Name of a model, once for each in order."),
    title: str | None = option(None, "Heading of the index."),
    texts: list[str] | None = option(None, "File with texts and a column example_id, or prepared sets, for the pages."),
    rescore: bool = option(False, "Score run folders anew, whatever their results.json says."),
    read: SourceOptions,
    measuring: MeasureOptions,
    intervals: IntervalOptions,
) -> None:
    """Rank models on every set: consistency with intervals, ranks that hold for all pairs, groups that do not differ.

    Models of a set are compared on the buckets that all of them answered; who cannot be is shown and not ranked. The
    folder can be served as it is, as by GitHub Pages, and its pages load nothing from anywhere.
    """
    from paraconsist.reporting.page.site import leaderboard as write

    scored: dict[str, Any] = {"measures": measuring.measure, "unparsed": measuring.unparsed, **intervals.intervals}
    pages: dict[str, Any] = {"title": title, "space": space, "texts": texts or (), "rescore": rescore}
    written = write(*inputs, output=output, names=name or (), **pages, **scored, **vars(read))
    echo(f"{written.index}: {written.n_models} models, {written.n_bytes / 1e6:.1f} MB in all.")
