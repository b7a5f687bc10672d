"""Pages of agents, judges, forecasts, rules and swaps: each says of its own kind of data what is true of it."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from helpers.browser import QUICK, in_chromium, quiet

from paraconsist.data.options import SourceOptions
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.page.screen import blocks
from paraconsist.reporting.tables import every_number


def written(folder: Path, frames: dict[str, pd.DataFrame], **read):
    """Write files, the page of all of them, and return its text, its data and the models."""
    for name, frame in frames.items():
        frame.to_json(folder / f"{name}.jsonl", orient="records", lines=True)
    paths = [folder / f"{name}.jsonl" for name in frames]
    entries = load_models(paths, QUICK, read=SourceOptions(**read) if read else None)
    write_report(entries, folder / "page.html", ReportOptions(score=QUICK))
    text, _, data = (folder / "page.html").read_text().partition('id="data">')
    return text, json.loads(data.partition("</script>")[0]), entries


def runs(ends: str, first: str, n: int = 12) -> pd.DataFrame:
    """Return two runs of each task that end by the letters of its place in turn: y succeeded."""
    made = []
    for task in range(n):
        for run in range(2):
            calls = [first, "pay"] if run else [first]
            won = ends[(2 * task + run) % len(ends)] == "y"
            made.append({"task": f"t{task}", "run": run, "success": won, "calls": calls})
    return pd.DataFrame(made)


def statements(pairs: dict[str, tuple[float, float]]) -> pd.DataFrame:
    roles = ("P", "not_P")
    return pd.DataFrame([
        {"bucket_id": bucket, "role": role, "probability": p}
        for bucket, of in pairs.items() for role, p in zip(roles, of, strict=True)
    ])  # fmt: skip


def rules(follows: str) -> pd.DataFrame:
    """Return premises that are answered right, and conclusions: y follows, n does not, of labels 0, 1 and 2."""
    made = []
    for number, letter in enumerate(follows):
        for role, label, allowed, answer in (
            ("antecedent_1", 0, [0], 0),
            ("antecedent_2", 2, [2], 2),
            ("consequent", -1, [1, 2], 1 if letter == "y" else 0),
        ):
            row = {"bucket_id": f"b{number}", "role": role, "label": label, "allowed_labels": allowed}
            made.append(row | {"prediction": answer})
    return pd.DataFrame(made)


def test_each_agent_is_shown_with_its_own_calls(tmp_path):
    """A page of two agents ended in a KeyError; the first one's calls stood beside what became of the second's."""
    text, data, _ = written(tmp_path, {"alpha": runs("yyny", "find"), "beta": runs("ynnn", "look")})
    assert "12 tasks in 48 runs" in text
    (fields,) = ({*bucket["f"]} for bucket in data["buckets"][:1])
    assert fields == {0}
    for bucket in data["buckets"]:
        assert [row[0] for row in bucket["r"]] == ["run"] * 4
        for _, _, _, (shown, *_), answers in bucket["r"]:
            (place,) = (place for place, answer in enumerate(answers) if answer is not None)
            assert re.findall(r"find|look", shown) == [("find", "look")[place]]


def test_a_page_of_agents_calls_tasks_tasks(tmp_path):
    text, _, _ = written(tmp_path, {"alpha": runs("yyny", "find", n=4), "beta": runs("ynnn", "look", n=4)})
    words = re.sub(r"<(style|script|code)\b.*?</\1>|<[^>]*>", " ", text, flags=re.S)
    assert "only 4 tasks: no interval below 10" in words
    assert "Both models on the same tasks" in words
    assert re.findall(r".{30}\bbuckets?:.{20}", words) == []


@in_chromium[1]
@in_chromium[0]
def test_agents_are_compared_and_filtered_by_how_runs_end(chromium, tmp_path):
    """Links of differences in outcomes led to the tasks whose calls differ; three filters never found a task."""
    alpha = pd.concat([runs("yn", "find", 3), runs("yy", "find", 9).iloc[6:]])
    written(tmp_path, {"alpha": alpha, "beta": runs("yy", "look", 9)})
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        shown = page.get_by_label("show", exact=True).locator("option").evaluate_all("(all) => all.map((a) => a.value)")
        assert shown == ["", "broken", "right", "depends", "wrong", "same"]
        for href, n in (("#?flips=alpha&holds=beta", 3), ("#?flips=beta&holds=alpha", 0), ("#?show=depends", 3)):
            page.evaluate("(hash) => { location.hash = hash; }", href)
            page.wait_for_function("(hash) => location.hash === hash", arg=href)
            found = re.findall(r" of (\d+)", page.locator("#found").text_content())
            assert int((found or ["0"])[0]) == n, href
        page.evaluate("() => { location.hash = '#?bucket=t0'; }")
        tallies = page.locator(".bucket", has_text="t0").locator(".tallies > *")
        assert tallies.first.text_content() == "alpha: 1 of 2 right"
        assert tallies.first.locator(".mark").count() == 2


def test_a_forecast_is_neither_right_nor_wrong(tmp_path):
    """Every answer was marked wrong, and coherent ones stood first, as flips of which the model is sure."""
    sure = dict.fromkeys((f"b{i}" for i in range(11)), (0.99, 0.01))
    _, data, _ = written(tmp_path, {"one": statements(sure | {"bad": (0.9, 0.4)})})
    (of_set,) = data["head"]["sets"]
    assert (of_set["noGold"], of_set["conditional"]) == (True, True)
    assert data["buckets"][0]["id"] == "bad"


@in_chromium[1]
@in_chromium[0]
def test_the_browser_of_forecasts_has_only_what_they_have(chromium, tmp_path):
    written(tmp_path, {"one": statements({"a": (0.9, 0.1), "b": (0.9, 0.4)})})
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        values = "(all) => all.map((option) => option.value)"
        options = {name: page.get_by_label(name, exact=True).locator("option") for name in ("show", "sort by")}
        assert options["show"].evaluate_all(values) == ["", "broken", "same"]
        assert options["sort by"].evaluate_all(values) == ["flips", "size", "id"]
        words = page.locator("#list").text_content() + page.locator("#legend").text_content()
        assert not re.findall(r"right|wrong|not as row|gold", words)


@in_chromium[1]
@in_chromium[0]
def test_a_conclusion_that_follows_is_marked_right(chromium, tmp_path):
    """No answer is a label -1, so that every conclusion was marked wrong, and problems 2 of 3 right."""
    _, data, _ = written(tmp_path, {"one": rules("yynyyyyyynyy")})
    labels = data["head"]["sets"][0]["labels"]
    assert {tuple(labels[label] for label in bucket["r"][2][2]) for bucket in data["buckets"]} == {("1", "2")}
    assert sorted(bucket["n"][0][1] for bucket in data["buckets"]) == [2] * 2 + [3] * 10
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        tallies = page.locator(".bucket .tallies").all_text_contents()
        assert sorted(tallies) == ["2 of 3 right"] * 2 + ["3 of 3 right"] * 10
        assert page.locator(".bucket").first.locator("tr").last.locator("td.answer").first.text_content() == "1 or 2"


def test_more_problems_are_more_of_all_problems(tmp_path):
    """Of 20 problems 4 were tested: 16 were said to halve the interval, which takes four times the 20."""
    rows = rules("yyny" * 5)
    in_rest = rows["bucket_id"].str[1:].astype(int) >= 4
    rows.loc[in_rest & (rows["role"] == "antecedent_1"), "prediction"] = 1
    _, _, entries = written(tmp_path, {"one": rows})
    (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
    assert block.brief[0] == "4 of 20 problems"
    assert "4 of 20 problems, one" in block.cited
    assert [step.words for step in block.steps if "more" in step.words] == [
        "Ask about more problems: about 80 would halve the interval"
    ]
    assert next(words for words, _ in block.sureness if words.startswith("About")).startswith("About 80 problems,")


def swaps(answers: str) -> pd.DataFrame:
    """Return pairs of verdicts, two letters a pair; A is better."""
    places = [(n, role) for n in range(len(answers) // 2) for role in ("original", "swap")]
    rows = [{"bucket_id": f"b{n}", "role": role, "label": "AB"[n % 2]} for n, role in places]
    return pd.DataFrame([row | {"prediction": letter} for row, letter in zip(rows, answers, strict=True)])


def test_a_judge_s_page_shows_its_position_bias(tmp_path):
    """It stood in the last table of all alone, under the names of its keys."""
    page, _, _ = written(tmp_path, {"one": swaps("ABAABBABAAAB" * 2)}, places=("A", "B", "tie"))
    assert "verdicts for what is shown first" in page
    assert "of the verdicts that turn, for the first" in page
    page, _, _ = written(tmp_path, {"one": swaps("ABAABBABAAAB" * 2)})
    assert "verdicts for what is shown first" not in page


def test_a_column_s_help_is_of_its_own_number(tmp_path):
    """A of original texts was explained as that of rewordings, and the commonest label's rate as an accuracy."""
    page, _, _ = written(tmp_path, {"one": swaps("ABAABBABAAAB" * 2)})
    meanings = dict(re.findall(r'class="meaning"><b>([^<]*)</b> ([^<]*)<', page))
    assert meanings["A"] == "accuracy on the originals"
    assert meanings["majority"] == "accuracy of always giving the originals' commonest label".replace("'", "&#x27;")


@pytest.mark.parametrize("spec", [spec for spec in CATALOGUE.values() if spec.target], ids=lambda spec: spec.name)
def test_what_is_no_share_has_no_per_cent(spec):
    """Nats stood in per cent in the table of every number, and as they are elsewhere."""
    values = {q.key: 0.25 for q in spec.quantities if not q.is_share}
    for table in every_number("", values):
        assert {row[1].text for row in table.rows} == {"0.2500"}, spec.name


def test_all_that_are_the_most_accurate_are_named(tmp_path):
    pairs = {"one": "AABBAABBABBB", "two": "AABBAABBAABA", "three": "BABBAABBAABB"}
    _, _, entries = written(tmp_path, {name: swaps(letters) for name, letters in pairs.items()})
    (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
    assert "Most accurate: one and two (100.0 %)." in block.sentence


def paraphrases(answers: dict[str, str]) -> pd.DataFrame:
    rows = [
        {"bucket_id": bucket, "role": "paraphrase" if place else "original", "label": "y", "prediction": letter}
        for bucket, letters in answers.items()
        for place, letter in enumerate(letters)
    ]
    return pd.DataFrame(rows).assign(question=[f"Is it so, number {n}?" for n in range(len(rows))])


def test_where_no_problem_changes_there_is_none_to_mark_and_no_plan(tmp_path):
    """The link led to no problem, and the command that was offered ends in an error."""
    _, _, entries = written(tmp_path, {"one": paraphrases({f"b{i}": "yyy" if i % 3 else "nnn" for i in range(12)})})
    (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
    assert not [step for step in block.steps if step.words.startswith("Mark") or "plan" in step.command]


def test_bars_say_that_their_steadiness_is_of_other_problems_than_the_sentence_s(tmp_path):
    """The sentence said 61 of 100 and the bar 47."""
    whole = {f"b{i}": ("yyyy", "ynyy", "nnnn", "yyny")[i % 4] for i in range(15)}
    part = {bucket: letters for number, (bucket, letters) in enumerate(whole.items()) if number % 3}
    for frames, of_each in (({"part": part, "whole": whole}, True), ({"again": whole, "whole": whole}, False)):
        _, _, entries = written(tmp_path, {name: paraphrases(of) for name, of in frames.items()})
        (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
        assert ("that each answered" in block.headline) == of_each
