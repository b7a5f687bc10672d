"""Pages of agents, judges, forecasts, rules and swaps: each says of its own kind of data what is true of it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.browser import QUICK, in_chromium, quiet

import paraconsist as pc
from paraconsist.data.options import SourceOptions
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.reporting.page.browser import _probabilities
from paraconsist.reporting.page.figures import report_plots
from paraconsist.reporting.page.models import Model, Report
from paraconsist.reporting.page.screen import blocks
from paraconsist.reporting.page.write import edits_in
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
    written(tmp_path, {"beta": runs("yy", "look", 9), "alpha": alpha})
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
        assert tallies.last.text_content() == "alpha: 1 of 2 right"
        assert tallies.last.locator(".mark").count() == 2
        assert page.locator(".bucket", has_text="t0").locator(".flip").count() == 1  # by alpha's own first run


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
    whole = {f"b{i}": ("yyyy", "ynyy", "nnnn", "yyny")[i % 4] for i in range(8)}
    part = {bucket: letters for number, (bucket, letters) in enumerate(whole.items()) if number % 3}
    for frames, of_each in (({"part": part, "whole": whole}, True), ({"again": whole, "whole": whole}, False)):
        _, _, entries = written(tmp_path, {name: paraphrases(of) for name, of in frames.items()})
        (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
        assert ("that each answered" in block.headline) == of_each


def test_a_finding_says_what_it_is_without_the_comparer_s_errors(tmp_path):
    """Corrected rates stood in a closed part of the page alone, whose name spoke of noise."""
    pairs = [(f"b{i}", place, "Paris" if place or i % 3 else "in Paris") for i in range(40) for place in range(2)]
    rows = pd.DataFrame(pairs, columns=["bucket_id", "place", "prediction"])
    rows.to_json(tmp_path / "answers.jsonl", orient="records", lines=True)
    answers = rows.pivot(index="bucket_id", columns="place", values="prediction")
    one, two = list(answers[0]), list(answers[1])
    ids = {"set": "answers", "model": "answers", "bucket_id": answers.index, "bucket_id_2": answers.index}
    sheet = {"pair": range(40), **ids, "wording_1": 0, "wording_2": 1, "answer_1": one, "answer_2": two, "weight": 1.0}
    sheet = pd.DataFrame({**sheet, "question_1": "", "question_2": "", "accepted": "[]"})
    sheet["same"] = ["no" if i[1:] in map(str, range(3, 40, 6)) else "yes" for i in answers.index]
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    read = SourceOptions(same="text")
    options = replace(QUICK, checked=[tmp_path / "sheet.csv"])
    entries = load_models([tmp_path / "answers.jsonl"], options, read=read)
    write_report(entries, tmp_path / "page.html", ReportOptions(score=options))
    (block,) = blocks(Report(entries, ReportOptions(score=options)))
    (scored,) = entries[0].sets.values()
    rate = scored.checked.rates["wording_change"]
    low, high = rate.confidence_interval["corrected"]
    said = f"corrected by answers that people checked {100 * rate.corrected:.1f} %, {100 * low:.1f} to {100 * high:.1f}"
    assert said in block.sentence
    assert said in block.cited
    page = (tmp_path / "page.html").read_text()
    assert "<details open>\n<summary>What people checked, noise, unparsed answers" in page


def test_the_heading_of_a_breakdown_is_no_single_value_of_several(tmp_path):
    """It was "PSS: 18.9 %" above two parts, of which one alone had an interval."""
    rows = paraphrases({f"b{i}": "yyny" if i % 2 else "yyyy" for i in range(20)}).assign(role="paraphrase")
    number = rows["bucket_id"].str[1:].astype(int)
    rows["kind"] = ["few" if n < 4 else "many" for n in number]
    _, _, entries = written(tmp_path, {"one": rows}, stratum=("kind",))
    (placed,) = (one for one in report_plots(Report(entries, ReportOptions(score=QUICK))) if one.section == "strata")
    assert placed.finding == "P_C: 75.0 %"
    rows.loc[(number < 2), "prediction"] = "y"
    _, _, entries = written(tmp_path, {"one": rows}, stratum=("kind",))
    (placed,) = (one for one in report_plots(Report(entries, ReportOptions(score=QUICK))) if one.section == "strata")
    assert placed.finding == "P_C: 75.0 % (kind many) to 87.5 % (kind few)"
    assert placed.plot.caption.endswith("A hollow mark has no interval.")


def test_no_interval_of_a_run_that_was_asked_until_something_was_known(tmp_path):
    """The page said that those for a fixed number of problems are left out, and showed them of changed answers."""
    names = "negative", "positive"
    rows = [
        {"bucket_id": f"b{i}", "role": "paraphrase" if j else "original", "text": f"row {i} {j}", "label": names[i % 2]}
        for i in range(200)
        for j in range(3)
    ]

    def answers(texts):
        pairs = (map(int, re.search(r"row (\d+) (\d+)", text).groups()) for text in texts)
        return [i % 2 if i % 4 else j % 2 for i, j in pairs]

    asked = {"until": "wording_change ± 0.1", "batch_size": 20, "task": "sentiment"}
    done = pc.run(answers, rows, output=tmp_path / "run", version="1", **asked)
    entries = load_models([done.folder], QUICK)
    report = Report(entries, ReportOptions(score=QUICK))
    ((change,),) = ([*of.values()] for of in report.changed.values())
    assert change["change_rate"] > 0
    ends = [end for interval in change["confidence_interval"].values() for end in interval or ()]
    assert not any(end == end for end in ends if end is not None)
    assert list(edits_in(report)) == []


def test_the_p_of_several_runs_is_not_that_of_their_mean(tmp_path):
    """Two effects in opposite directions made "more than chance: +0.1 points"."""
    values = {
        "accuracy": 0.537, "transformed_accuracy": 0.538, "reject": True, "p_value": 1e-6, "n_runs": 3,
        "rejected": [True, True, False], "p_values": [1e-7, 1e-7, 0.3], "n": 900, "n10": 40, "n01": 41,
    }  # fmt: skip
    (block,) = blocks(Report([Model("m", tmp_path, {}, experiment={"snli": values})]))
    assert block.sentence == "More than chance in 2 of 3 runs, p < 0.0001; +0.1 points on average."


@in_chromium[1]
@in_chromium[0]
@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        ("forecasts", ["slice", "problems", "incoherent: a sure gain of .01 nats"]),
        ("rules", ["slice", "problems", "right", "transitive inconsistency"]),
        ("paraphrases", ["slice", "problems", "consistency (P_C)", "right"]),
    ],
)
def test_a_slice_has_the_numbers_of_its_kind(chromium, tmp_path, kind, heads):
    """Forecasts had P_C 100.0 % and right 0.0 %, and the parts of a rule a P_C."""
    frames = {
        "forecasts": lambda: statements({"a": (0.9, 0.1), "b": (0.9, 0.4)}),
        "rules": lambda: rules("yn"),
        "paraphrases": lambda: paraphrases({"a": "yyn", "b": "yyy"}),
    }
    written(tmp_path, {"one": frames[kind]()})
    with quiet(chromium, (tmp_path / "page.html").as_uri()) as page:
        page.get_by_label("show", exact=True).select_option("broken")
        page.get_by_role("button", name="Save as a slice").click()
        assert page.locator("#slices thead th").all_text_contents() == heads
        first, *rest = page.locator("#slices tbody td").all_text_contents()
        assert first == "1"
        assert (
            rest == {"forecasts": ["100.0 %"], "rules": ["66.7 %", "100.0 %"], "paraphrases": ["0.0 %", "50.0 %"]}[kind]
        )


@pytest.mark.parametrize("role", ["swap", "paraphrase"])
def test_nobody_is_the_best_of_models_that_are_alike(tmp_path, role):
    """The first of them was."""
    letters = {f"b{i}": "yy" if i % 3 else "yn" for i in range(12)} | {f"c{i}": "nn" for i in range(4)}
    rows = paraphrases(letters).replace({"role": {"paraphrase": role}})
    rows.loc[rows["bucket_id"].str[0] == "c", "label"] = "n"
    _, _, entries = written(tmp_path, {"one": rows, "two": rows})
    (block,) = blocks(Report(entries, ReportOptions(score=QUICK)))
    assert re.match("one and two are the (most consistent|steadiest) of 2 models", block.title)


def test_runs_without_calls_are_inconsistent_where_they_end_differently(tmp_path):
    """All were consistent, and a table said that no rule of trajectories is broken, of which nothing is known."""
    frames = {"alpha": runs("yyny", "", 4), "beta": runs("ynnn", "", 4)}
    page, data, _ = written(tmp_path, {name: frame.drop(columns="calls") for name, frame in frames.items()})
    assert sorted(bucket["v"] for bucket in data["buckets"]) == [[0, 1]] * 2 + [[1, 0]] * 2
    assert "Runs that end differently, in per cent" in page
    assert "Trajectory consistency: broken rules" not in page


def test_models_are_compared_over_the_rows_that_count_for_both(tmp_path):
    """The figure and the table said 12 problems, where one model had both premises right in 4."""
    few = rules("yyny" * 3)
    few.loc[(few["bucket_id"].str[1:].astype(int) >= 4) & (few["role"] == "antecedent_1"), "prediction"] = 1
    page, _, entries = written(tmp_path, {"few": few, "all": rules("ynny" * 3)})
    (placed,) = (
        one for one in report_plots(Report(entries, ReportOptions(score=QUICK))) if one.section == "differences"
    )
    assert "paired over the rows that count for both (4), with" in placed.plot.caption
    assert "4 of 12 rows count for both" in page
    assert "12 common problems" not in page


@pytest.mark.parametrize("n_classes", [2, 5, 6])
def test_probabilities_of_up_to_five_classes_are_shown(n_classes):
    table = pa.table({"probabilities": [[1.0 / n_classes] * n_classes, None, [0.0] * (n_classes - 1) + [1.0]]})
    found = _probabilities(table)
    if n_classes > 5:
        assert found is None
    else:
        np.testing.assert_array_equal(
            found, [[1.0 / n_classes] * n_classes, [np.nan] * n_classes, np.eye(n_classes)[-1]]
        )
