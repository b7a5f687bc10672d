"""One table in every rendering: terminal, Markdown, HTML, notebook and LaTeX."""

import io
import math
import sys
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

import paraconsist as pc
from paraconsist.reporting.page.figures import _of_lines
from paraconsist.reporting.plots.answers import Line as PlotLine
from paraconsist.reporting.table import (
    POINTS,
    SHARE,
    Cell,
    Column,
    Line,
    Table,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    show,
    table,
    to_html,
)
from paraconsist.reporting.tables import changes, link, policies, rates_of, stratified

HOSTILE = "<b>&'\"\\x{y}_$%#|~^`*[z](u)"
TABLE = Table(
    "P_C of <models>",
    [
        Column("model", words=True),
        Column("P_C", "right alike", interval="interval"),
        Column("A perturbed", "accuracy", short="pert."),
        Column("change"),
    ],
    [
        [Cell("a heading")],
        [
            Cell("one", head=True, indent=True, link="#?model=one"),
            Cell(0.5, (0.25, 0.75)),
            Cell(1200),
            Cell(-0.1, unit=POINTS),
        ],
        [],
        [Cell(HOSTILE, head=True), Cell(math.nan), Cell(None), Cell(0.1, (-0.1, 0.3), POINTS, below="a note")],
    ],
    "A caption.",
)


class _Cells(HTMLParser):
    """The texts of the rows' cells, and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def parsed(html: str) -> _Cells:
    cells = _Cells()
    cells.feed(html)
    return cells


def test_text_has_intervals_in_a_column_and_short_labels_below():
    lines = [line.split() for line in as_text([TABLE]).splitlines()]
    assert ["model", "P_C", "interval", "pert.", "change"] in lines
    assert ["one", "50.0", "[25.0,", "75.0]", "1,200", "-10.0"] in lines
    assert [HOSTILE, "-", "-", "+10.0", "(a", "note)"] in lines
    assert "A caption. pert.: accuracy." in " ".join(as_text([TABLE]).split())


def test_markdown_escapes_and_keeps_as_many_cells_in_each_line():
    lines = [line for line in as_markdown([TABLE]).splitlines() if line.startswith("|")]
    assert len(lines) == 5  # head, rule, heading, two rows
    assert {line.replace("\\|", "").count("|") for line in lines} == {6}
    assert "&lt;b&gt;&amp;" in lines[-1]


@pytest.mark.parametrize("name", ["__main__.app", "_a", "a__b_", "# 1", "- a", "12. b", "3) c", "+ d", "a $x$ b"])
def test_markdown_renders_to_the_names_that_it_was_given(name):
    """``__main__.app`` lost its underscores, and a finding on the set ``1. one`` was an item of a list."""
    made = MarkdownIt("commonmark").enable("table").render(as_markdown([Line(name), table("", ["a"], [[name]])]))
    assert made.startswith(f"<p>{name}</p>")
    assert f"<td>{name}</td>" in made


def test_html_of_the_page_escapes_links_and_explains():
    cells = parsed(to_html(TABLE, lambda label, meaning: f"<i>{label}: {meaning}</i>"))
    assert cells.rows[0] == ["model", "PC P_C: right alike", "A perturbed A perturbed: accuracy", "change"]
    assert cells.rows[1:] == [
        ["a heading"],
        ["one", "50.0[25.0, 75.0]", "1,200", "−10.0"],
        [HOSTILE, "–", "–", "+10.0a noteA caption."],
    ]
    assert [attributes["href"] for tag, attributes in cells.tags if tag == "a"] == ["#?model=one"]
    assert "b" not in {tag for tag, _ in cells.tags}


def test_a_notebook_has_captions_tooltips_and_no_links_into_the_page():
    html = as_html([TABLE, Line(HOSTILE, "warning"), Line("pc|v:0", "signature")])
    cells = parsed(html)
    tags = [tag for tag, _ in cells.tags]
    assert tags.count("table") == tags.count("caption") == 1
    assert not {"a", "pre", "script"} & set(tags)
    assert [attributes.get("title") for tag, attributes in cells.tags if tag == "th"][1] == "right alike"
    assert "#" not in html.partition("</style>")[0].partition("<style>")[2]  # no colour of one theme only


def test_latex_is_booktabs_without_an_active_sign():
    made = as_latex([TABLE, Line("a % note", "warning")])
    assert [made.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert r"\caption{$P_C$ of $<$models$>$}" in made
    assert r"\quad one & 50.0 & [25.0, 75.0] & 1,200 & $-$10.0 \\" in made
    assert r"\$\%\#" in made
    assert "\\end{tabular}\n\\par\\smallskip\\footnotesize " in made  # else the caption touches the rule
    assert made.endswith("% a % note")
    assert r"{[}b] & 1 \\" in as_latex([table("", ["a", "n"], [["[b]", "1"]])])
    assert r"{*}b & $-$1 \\" in as_latex([table("", ["a", "n"], [["*b", "-1"]])])  # else a star of the break before
    assert "gpt-4, v-2.5, 1.0e-05 & $-$1" in as_latex([table("", ["a", "n"], [["gpt-4, v-2.5, 1.0e-05", "-1"]])])


@pytest.mark.faults
@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_names_in_letters_that_the_output_lacks_do_not_end_the_command(monkeypatch, encoding, markdown):
    """A label of Arabic stopped `score` in the middle of its table, with LC_ALL=C or in a pipe on Windows."""
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    show([table("of", ["label", "n"], [["\u0645", "1"]])], markdown=markdown)
    output.flush()
    assert rb"\u0645" in output.buffer.getvalue()


@pytest.mark.parametrize("result", ["score", "compare"])
def test_scores_and_comparisons_render_themselves(result):
    rows = {"bucket_id": [f"b{i // 4}" for i in range(80)], "label": [1] * 80}
    tables = [{**rows, "prediction": [int(i % n > 0) for i in range(80)]} for n in (3, 5)]
    shown = pc.score(tables[0], n_resamples=50) if result == "score" else pc.compare(*tables, n_permutations=50)
    number = "66.2 %"  # accuracy of the first
    for text in (repr(shown), shown.to_markdown(), shown.to_latex().replace("\\", ""), shown._repr_html_()):
        assert number in text.replace("\N{NO-BREAK SPACE}", " ")
    assert SHARE.show(53 / 80) == number
    assert "pairs are shown" not in repr(shown)  # of one


def test_a_first_look_says_a_warning_and_a_signature_once():
    rows = {"bucket_id": [1, 1, 2, 2], "label": [1, 1, 1, 1], "prediction": [1, 0, 1, None]}
    scores = pc.score(rows, n_resamples=50)
    told = [line.removesuffix(" ...") for line in repr(scores).splitlines() if line.startswith("warning: ")]
    assert len(told) == 2
    for line, warning in zip(told, scores.warnings, strict=False):
        assert warning.startswith(line.removeprefix("warning: "))
    assert f"{len(scores.warnings) - 2} more warning in `.warnings`" in repr(scores)
    assert repr(scores).count("|ci:bucket-") == 1


def test_a_stratum_leads_to_the_buckets_of_its_model():
    """Also where there is one: a policy leaves out buckets that no table counts."""
    lines, stratum = [("label", "yes", "one", [Cell(3)])], {"label": "yes"}
    heading, row, gap = stratified(lines, "own")
    assert ([cell.text for cell in heading], gap) == (["label"], [])
    assert [cell.text for cell in row] == ["yes", "one", "3"]
    assert row[0].link == link(set="own", model="one", stratum=stratum)
    _, row, _ = stratified(lines, "own", gold_labels=False)
    assert row[0].link == ""


def test_rates_are_the_measures_of_broken_rules_whose_lower_end_is_good():
    names = ["paraphrastic_consistency", "negational_inconsistency", "prediction_change", "fooling_rate", "ie_test"]
    assert [spec.name for spec in rates_of([*names, "of another package"])] == ["negational_inconsistency"]


def test_without_gold_labels_policies_have_the_wording_change() -> None:
    rows = {"bucket_id": [i // 3 for i in range(36)], "prediction": ["a", "b", None] * 6 + ["a", "a", "b"] * 6}
    (made,) = policies(pc.score(rows).sets)
    assert [[cell.text for cell in row] for row in made.rows] == [
        ["predictions (wording change)", "16.7", "* wrong", "83.3"],
        ["", "", "  own class", "83.3"],
        ["", "", "  drop bucket", "66.7"],
    ]


def test_numbers_of_changes_lead_to_what_they_count_where_there_is_any() -> None:
    counts = {"n_pairs": 4, "n_changed": 1, "correct_to_incorrect": 1, "incorrect_to_correct": 0, "change_rate": 0.25}
    made = changes("s", {"m": counts})
    links = [cell.link for cell in made.rows[0][1:]]
    assert links == ["", "#?set=s&show=changed", "", "#?set=s&show=lost", ""]


def test_the_extent_is_of_estimates_with_an_interval_where_there_are_two() -> None:
    ends = [(0.1, 0.3), (0.4, 0.6), None, None]
    lines = [PlotLine("", f"v{i}", "m", 0.2 + 0.2 * i, of) for i, of in enumerate(ends)]
    assert _of_lines(lines) == "20.0 % (v0) to 40.0 % (v1)"
    assert _of_lines(lines[1:]) == "40.0 % (v1) to 80.0 % (v3)"
