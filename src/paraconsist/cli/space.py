"""``paraconsist space``: a metric's page, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from paraconsist.cli.options import option


def space(
    name: Annotated[str, typer.Argument(help="The metric, as evaluate.load knows it.")],
    port: int | None = option(
        None, "Where it listens; by default GRADIO_SERVER_PORT, or the first free one of 7860 up."
    ),
    browser: bool = option(False, "Open it in the browser.", option="--browser"),
) -> None:
    """Open the page of a metric's Space locally: upload predictions, choose columns, see number, interval and plot.

    It serves this machine only until Ctrl-C, and nothing that is uploaded is stored.
    """
    from paraconsist.errors import input_error
    from paraconsist.reporting.space import launch

    try:
        launch(name, say=typer.echo, server_port=port, inbrowser=browser)
    except ModuleNotFoundError as problem:
        must = f"have {problem.name} for its page, which is not installed"
        raise input_error("space", "name", must, remedy="pip install 'paraconsist[space]'") from None
