"""``paraconsist space``: a metric's page, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def space(
    name: Annotated[str, typer.Argument(help="The metric, as evaluate.load knows it.")],
    port: Annotated[
        int | None,
        typer.Option(help="Where it listens; by default GRADIO_SERVER_PORT, or the first free one of 7860 up."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open it in the browser.")] = False,
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
