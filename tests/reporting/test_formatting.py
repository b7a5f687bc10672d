"""Numbers as text, and tables whose text is never read as markup."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from paraconsist.reporting.formatting import as_markdown, count, decimal, interval, number, p_value, percent, quantity
from paraconsist.reporting.tables import table


@pytest.mark.parametrize("show", [percent, decimal, count, number, p_value])
@pytest.mark.parametrize("value", [None, math.nan, -math.inf])
def test_what_is_undefined_is_a_dash(show, value):
    assert show(value) == "–"


def test_numbers_read_as_they_are_meant():
    assert [percent(-0.12345, digits=2), percent(0.5, signed=True)] == ["-12.35", "+50.0"]
    assert [number(True), number(1234), number(0.5), number(3e-7), number("x")] == [
        "yes",
        "1,234",
        "0.5000",
        "3.0e-07",
        "x",
    ]
    assert [quantity(0.5, True), quantity(0.5, False), quantity(None, True)] == ["50.0 %", "0.5000", "undefined"]
    assert [interval((0.1, 0.2)), interval({"key": [0, 1]}), interval([0.1, None])] == [
        "[10.0, 20.0]",
        "[0.0, 100.0]",
        "",
    ]


@pytest.mark.parametrize("text", ["own:b: smile :smile:", "[red]set[/red]", "[/]", "a\\[b]", "*x*|y"])
def test_text_in_a_table_stays_text(text):
    made = table(text, [text, "n"], [[text], [text, "1"], None], caption=text)
    out = Console(file=io.StringIO(), width=200)
    out.print(made)
    assert out.file.getvalue().count(text) == 5
    assert "red" not in as_markdown([made]) or "[red]" in as_markdown([made])
