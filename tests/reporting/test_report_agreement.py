"""Two places of one page say the same: figures, tables, headings, links and what they lead to, one problem and many."""

import re
from pathlib import Path

import pandas as pd
import pytest
from helpers.browser import QUICK, in_chromium, quiet

from paraconsist.data.options import SourceOptions
from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.reporting.page.figures import report_plots
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.page.screen import blocks
from paraconsist.reporting.page.site import write_site
from paraconsist.reporting.page.write import heat_maps
from paraconsist.reporting.plots.answers import Line, forest_plot
from paraconsist.reporting.tables import rates, transitions
from paraconsist.scoring.options import ScoreOptions

ROLES = ("original", "paraphrase", "paraphrase", "paraphrase")
SILENT = "????"


def frame(answers: dict[str, str], *, roles=ROLES, sure: bool = False, gold: bool = True) -> pd.DataFrame:
    """Return rows: a letter an answer, ``?`` one that could not be read; the gold label is always y."""
    made = []
    for bucket, letters in answers.items():
        for place, letter in enumerate(letters):
            row = {"bucket_id": bucket, "role": roles[place], "example_id": f"{bucket}.{place}"}
            row |= {"kind": "odd" if bucket[-1] in "13579" else "even", "question": f"{bucket}, wording {place}?"}
            p = {"y": 0.9, "n": 0.2, "?": 0.5}[letter]
            row |= {"p_n": 1 - p, "p_y": p} if sure else {}
            made.append(row | {"prediction": None if letter == "?" else letter} | ({"label": "y"} if gold else {}))
    return pd.DataFrame(made)


def loaded(folder: Path, frames: dict[str, pd.DataFrame], policy: str = "wrong", **read):
    paths = [folder / f"{number}.jsonl" for number in range(len(frames))]
    for path, table in zip(paths, frames.values(), strict=True):
        table.to_json(path, orient="records", lines=True)
    score = ScoreOptions(n_resamples=200, unparsed=policy)
    sets = ["set"] * len(frames)
    return load_models(paths, score, list(frames), read=SourceOptions(**read), sets=sets), score


def plots_of(entries) -> dict[str, list]:
    report = Report(entries, ReportOptions(score=QUICK))
    by_section = {}
    for placed in report_plots(report):
        by_section.setdefault(placed.section, []).append(placed)
    return by_section


def test_no_figure_draws_a_model_of_which_nothing_could_be_read(tmp_path):
    """The histogram said that all its problems were wrong, and the flips that all its answers changed."""
    many = {f"b{i}": "yyny" if i % 3 else "yyyy" for i in range(12)}
    some = {bucket: letters[::-1] for bucket, letters in many.items()}
    frames = {name: frame(answers, sure=True) for name, answers in (("one", many), ("two", some))}
    frames["silent"] = frame(dict.fromkeys(many, SILENT), sure=True)
    entries, _ = loaded(tmp_path, frames, probabilities="p_n,p_y", label_names=("n", "y"))
    placed = plots_of(entries)
    assert {"buckets", "flips", "sureness", "outcomes", "accuracy"} <= placed.keys()
    for one in (one for of_section in placed.values() for one in of_section):
        assert "silent" not in one.plot.description + one.finding, one.section
    ((_, table),) = heat_maps(Report(entries, ReportOptions(score=QUICK)).aligned)
    assert [column.label for column in table.columns[1:]] == ["one", "two"]


def test_a_breakdown_by_gold_label_leads_nowhere_where_wordings_have_different_ones(tmp_path):
    """The figure led to the problems whose original has the label, the table beside it to none."""
    rows = frame({f"b{i}": "ny" if i % 3 else "yy" for i in range(12)}, roles=("original", "negation"))
    number = rows["bucket_id"].str[1:].astype(int)
    rows["label"] = ["yn"[(n % 2) ^ (role == "negation")] for n, role in zip(number, rows["role"], strict=True)]
    entries, _ = loaded(tmp_path, {"one": rows}, stratum=("kind",))
    (placed,) = plots_of(entries)["strata"]
    from paraconsist.reporting.plots import inline_svg

    links = dict(re.findall(r'<a [^>]*href="([^"]*)"[^>]*aria-label="(\w+ \w+): ', inline_svg(placed.plot)))
    assert set(links.values()) == {"kind even", "kind odd"}


def test_a_page_of_one_problem_counts_it_in_the_singular(tmp_path):
    entries, score = loaded(
        tmp_path, {"one": frame({"b": "yny"}, sure=True)}, probabilities="p_n,p_y", label_names=("n", "y")
    )
    write_report(entries, tmp_path / "page.html", ReportOptions(score=score))
    page = (tmp_path / "page.html").read_text().partition('id="data">')[0]
    assert not re.findall(r"(?<![\d.,])1 (?:problem|answer|context|row|difference)s\b.{40}", page)


@pytest.mark.parametrize("gold", [True, False])
def test_nobody_is_the_most_consistent_on_one_problem(tmp_path, gold):
    """With gold labels the first of them was; without, all were called degenerate."""
    frames = {name: frame({"b": letters}, gold=gold) for name, letters in (("one", "yyny"), ("two", "ynny"))}
    entries, score = loaded(tmp_path, frames)
    (block,) = blocks(Report(entries, ReportOptions(score=score)))
    assert block.title == "None of 2 models can be ranked"
    assert block.sentence == "There is one problem, which says nothing of others."
    assert [bar.value for bar in block.bars] == ["not ranked"] * 2


def test_what_was_asked_again_is_not_said_to_have_been_asked_once(tmp_path):
    """Without gold labels the noise floor is not known, and the page said to ask again unchanged."""
    once = frame({f"b{i}": "yyny" if i % 3 else "yyyy" for i in range(12)}, gold=False)
    again = pd.concat([once.assign(trial=1), once.assign(trial=2)])
    for rows, read, is_once in ((once, {}, True), (again, {"trial": "trial"}, False)):
        entries, score = loaded(tmp_path, {"one": rows}, **read)
        (block,) = blocks(Report(entries, ReportOptions(score=score)))
        assert any(sentence.startswith("Asked once") for sentence, _ in block.sureness) == is_once
        assert any(step.words.startswith("Ask again unchanged") for step in block.steps) == is_once


def test_the_accuracy_of_measures_of_whole_problems_is_not_that_of_originals(tmp_path):
    """Each original is right and one of three rewordings is; the column said that its 33.3 % are of originals."""
    one = frame({f"b{i}": "yynn" for i in range(12)}).assign(wording=list(range(4)) * 12)
    entries, _ = loaded(tmp_path, {"one": one}, variant="wording")
    (table,) = rates({"one": entries[0].sets})
    place = [column.label for column in table.columns].index("A")
    assert table.rows[0][place].text == "33.3"
    assert table.columns[place].help == "accuracy on the originals; of measures of whole problems on the rewordings"


def test_the_leaderboard_counts_one_problem(tmp_path):
    answers = {"one": "yn", "two": "yy", "three": "ny"}
    frames = {name: frame({"b": letters}, roles=("original", "swap")) for name, letters in answers.items()}
    entries, score = loaded(tmp_path, frames)
    write_site(entries, tmp_path / "site", ReportOptions(score=score), leaderboard=True)
    index = (tmp_path / "site" / "index.html").read_text()
    assert "models ranked on 1 problem." in index


@pytest.mark.parametrize("role", ["swap", "negation"])
def test_a_constant_answer_is_not_praised_for_swaps_either(tmp_path, role):
    """The heading was that swapping changes no answer, above an error that every answer is the same."""
    rows = frame({f"b{i}": "yy" for i in range(20)}, roles=("original", role))
    rows["label"] = ["yn"[int(bucket[1:]) % 2] for bucket in rows["bucket_id"]]
    entries, score = loaded(tmp_path, {"one": rows})
    (block,) = blocks(Report(entries, ReportOptions(score=score)))
    assert block.title.startswith("Nothing can be said of consistency: every prediction is 'y'")
    assert (block.sentence, block.cited) == ("", "")


def test_the_caption_of_differences_counts_one_problem(tmp_path):
    frames = {
        name: frame({"b": letters}, roles=("original", "swap")) for name, letters in (("one", "ny"), ("two", "yn"))
    }
    entries, _ = loaded(tmp_path, frames)
    (placed,) = plots_of(entries)["differences"]
    assert "paired over 1 problem, with" in placed.plot.caption


def test_without_gold_labels_transitions_lead_to_their_answers(tmp_path):
    """They asked for the gold label ``(none)``, which no problem has."""
    entries, _ = loaded(tmp_path, {"one": frame({"a": "yn", "b": "yy"}, gold=False)})
    scored = entries[0].sets["set"]
    table = transitions("set", "semantic", scored.figures["semantic_inconsistency"])
    assert [row[3].link for row in table.rows] == [f"#?set=set&before=y&after={after}" for after in "ny"]


def test_names_that_begin_alike_are_told_apart_in_what_is_said_of_a_figure():
    names = [f"organisation/a-model-with-a-long-name-{ending}" for ending in "ab"]
    plot = forest_plot("f", "", "", "share, %", [Line("", "all", name, 0.5) for name in names])
    assert all(name in plot.description for name in names)


def test_sureness_leaves_out_the_problems_that_the_policy_does(tmp_path):
    answers = {"a": "yyny", "b": "yn?n", "c": "nyyy"}
    read = {"probabilities": "p_n,p_y", "label_names": ("n", "y")}
    entries, score = loaded(tmp_path, {"one": frame(answers, sure=True)}, "drop_bucket", **read)
    report = Report(entries, ReportOptions(score=score))
    ((one,),) = report.sureness.values()
    change = report.changed["set"]["one"]
    assert (len(one.original), one.lost.sum(), one.gained.sum()) == (6, 1, 3)
    assert (change["n_pairs"], change["correct_to_incorrect"], change["incorrect_to_correct"]) == (6, 1, 3)


@pytest.mark.parametrize("policy", ["wrong", "drop_bucket"])
@pytest.mark.parametrize("gold", [True, False])
@in_chromium[1]
@in_chromium[0]
def test_every_count_is_that_of_the_problems_it_leads_to(chromium, tmp_path, policy, gold):
    """The first model lacks problems, the second has an answer that could not be read, a third has one wording."""
    whole = {f"b{i}": ("yyyy", "ynyy", "nnnn", "yyny", "y")[i % 5] for i in range(15)}
    part = {bucket: letters for number, (bucket, letters) in enumerate(whole.items()) if number % 3}
    other = {bucket: letters.replace("yny", "y?y") for bucket, letters in whole.items()}
    frames = {name: frame(of, gold=gold) for name, of in (("part", part), ("other", other))}
    entries, score = loaded(tmp_path, frames, policy, stratum=("kind",))
    write_report(entries, tmp_path / "page.html", ReportOptions(score=score))
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:

        def led_to(href: str) -> int:
            page.evaluate("(href) => { const a = document.createElement('a'); a.href = href;"
                          " document.body.append(a); a.click(); a.remove(); }", href)  # fmt: skip
            return int((re.findall(r" of ([\d,]*\d)", page.locator("#found").text_content()) or ["0"])[0])

        bars = page.locator(".bars a").evaluate_all("(all) => all.map((a) => [a.getAttribute('href'), a.ariaLabel])")
        assert len(bars) >= 3
        for href, words in bars:
            assert led_to(href) == int(words.split(" of ")[0]), (href, words)
        rows = page.locator("#strata tbody tr:has(td)").evaluate_all(
            "(all) => all.map((row) => [row.querySelector('a').getAttribute('href'), row.cells[2].textContent])"
        )
        assert rows
        if not gold:  # whose tables count rows
            rows = []
        for href, n in rows:
            assert led_to(href) == int(n), (href, n)
        led_to("#?bucket=b0")
        assert "part: not asked" in page.locator(".bucket", has_text="b0").first.text_content()


@in_chromium[1]
@in_chromium[0]
def test_marks_have_no_numbers_of_a_model_that_could_not_be_read(chromium, tmp_path):
    answers = {"a": "yyny", "b": "yyyy", "c": "nnyy"}
    frames = {"one": frame(answers), "silent": frame(dict.fromkeys(answers, SILENT))}
    entries, score = loaded(tmp_path, frames)
    write_report(entries, tmp_path / "page.html", ReportOptions(score=score))
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        page.locator("#list .noise").first.check()
        assert page.locator("#marked tbody th").all_text_contents() == ["one"]
