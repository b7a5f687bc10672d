"""Numbers as text, and tables whose text is never read as markup."""

import math
import re

import pytest

from paraconsist.reporting.formatting import (
    count,
    decimal,
    interval,
    number,
    often,
    p_value,
    percent,
    plural,
    quantity,
)
from paraconsist.reporting.table import as_markdown, as_text, show, table


@pytest.mark.parametrize("show", [percent, decimal, count, number, p_value])
@pytest.mark.parametrize("value", [None, math.nan, -math.inf])
def test_what_is_undefined_is_a_dash(show, value):
    assert show(value) == "–"


@pytest.mark.parametrize("share", [0.001, 0.004, 0.03, 0.094, 0.2, 0.34, 0.5, 0.9, 0.906, 0.97, 0.996, 0.9999])
def test_a_share_in_words_is_near_the_share(share):
    told = re.fullmatch(r"([\d,]+) (answers?) in ([\d,]+)", often(share, "answer"))
    k, n = (int(told[place].replace(",", "")) for place in (1, 3))
    assert abs(k / n - share) < 0.05 * min(share, 1 - share)
    assert told[2] == ("answer" if k == 1 else "answers")
    assert [often(none_or_all, "answer") for none_or_all in (0.0, 1.0)] == ["no answer", "every answer"]


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


@pytest.mark.parametrize("width", [100, 80, 60, 40, 20])
def test_numbers_stay_whole_beside_long_words(width, monkeypatch, capsys):
    """S4: "1,500" was "1,5…" beside a long stratum, and the stratum's name was gone."""
    names = ["a stratum with a name that goes on and on", "donaudampfschifffahrtsgesellschaftskapitaen"]
    rows = [["kind"], *([f"  {name}", "1,500", "100.0", "100.0", "98.8", "[92.1, 95.5]"] for name in names)]
    monkeypatch.setenv("COLUMNS", str(width))
    show([table("By stratum", ["stratum", "buckets", "A", "P_C", "PVAP", "P_C interval"], rows)])
    out = capsys.readouterr().out
    cells = out.split()
    assert "…" not in out
    assert [cells.count(number) for number in ("1,500", "100.0", "98.8", "[92.1,", "95.5]")] == [2, 4, 2, 2, 2]
    assert all(name in "".join(re.findall(r"[a-z]+", out)) for name in ("donau", "stratum", "kind"))


def test_one_is_no_plural():
    assert [plural(n, "bucket") for n in (0, 1, 2, 1500)] == ["0 buckets", "1 bucket", "2 buckets", "1,500 buckets"]


@pytest.mark.parametrize("text", ["own:b: smile :smile:", "[red]set[/red]", "[/]", "a\\[b]", "*x*|y"])
def test_text_in_a_table_stays_text(text):
    made = table(text, [text, "n"], [[text], [text, "1"], ()], caption=text)
    assert as_text([made]).count(text) == 5
    assert "red" not in as_markdown([made]) or "[red]" in as_markdown([made])
