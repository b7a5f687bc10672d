"""Several models on one page: the matrix of their differences is `compare`'s, the table of buckets the rows'."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from helpers.report import rows, write_run

import paraconsist as pc
from paraconsist.cli.app import main
from paraconsist.data.options import SourceOptions
from paraconsist.reporting.formatting import in_own_words
from paraconsist.reporting.page import ReportOptions, load_models, site, write
from paraconsist.reporting.page.aligned import align
from paraconsist.reporting.page.figures import report_plots
from paraconsist.reporting.page.models import Report, set_apart
from paraconsist.reporting.page.screen import blocks, title
from paraconsist.reporting.plots import inline_svg

FAST = ("--n-resamples", "300")


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert end.value.code == 0


def answers_of(seed: int, right: float) -> dict[str, str]:
    """Return answers to twelve buckets, of which all models get the last two right."""
    rng = np.random.default_rng(seed)
    answers = (rng.random((12, 4)) < right).astype(int)
    answers[10:] = 1
    return {f"b{b:02d}": "".join(map(str, one)) for b, one in enumerate(answers.tolist())}


def runs(folder: Path, *shares: float) -> list[str]:
    return [
        str(write_run(folder / f"m{i}", answers=answers_of(i, right), model=f"models/m{i}"))
        for i, right in enumerate(shares)
    ]


def written(folder: Path, paths: list[str], *options: str) -> str:
    """Write a report by its command and return the page, without its plots, which take longest."""
    page = folder / "page.html"
    with patch.object(write, "report_plots", lambda *_: []):
        command("report", *paths, "--output", str(page), *FAST, *options)
    return page.read_text(encoding="utf-8")


class Tables(HTMLParser):
    """The tables of a page by their captions: rows of cells, each with its text, classes and link."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[dict[str, str]]]] = {}
        self.rows: list[list[dict[str, str]]] = []
        self.text, self.place = "", ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "table":
            self.rows = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append({"text": "", "below": "", "class": values.get("class", ""), "href": ""})
            self.place = "text"
        elif tag == "small" and self.place:
            self.place = "below"
        elif tag == "a" and self.place:
            self.rows[-1][-1]["href"] = values["href"]
        elif tag == "caption":
            self.text, self.place = "", "caption"

    def handle_data(self, data: str) -> None:
        if self.place == "caption":
            self.text += data
        elif self.place:
            self.rows[-1][-1][self.place] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "caption":
            self.tables[" ".join(self.text.split())] = self.rows
        if tag in ("caption", "td", "th"):
            self.place = ""


def tables(page: str) -> dict[str, list[list[dict[str, str]]]]:
    return Tables(page).tables


def points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def test_the_matrix_is_what_compare_says(tmp_path, capsys):
    """Issue 17, item 6: value, interval, shade by corrected p, groups."""
    paths = runs(tmp_path, 0.98, 0.95, 0.6, 0.55)
    page = tables(written(tmp_path, paths))
    capsys.readouterr()
    command("compare", *paths, "--json", *FAST)
    one = json.loads(capsys.readouterr().out)[0]
    matrix = page["Differences in PC, in points, toy:set"]
    models = [standing["model"] for standing in one["ranking"]["standings"]]  # one ranking, by steadiness
    assert [cell["text"].strip() for cell in matrix[0]] == ["model", *models]
    pairs = {(pair["first"], pair["second"]): pair for pair in one["pairs"]}
    seen = set()
    for (row, *cells), name in zip(matrix[1:], models, strict=True):
        assert row["text"].strip() == name
        for column, cell in zip(models, cells, strict=True):
            who = name, column
            if who[0] == who[1]:
                assert cell["text"] == ""
                continue
            sign, pair = (1, pairs[who]) if who in pairs else (-1, pairs[who[::-1]])
            value, ends = pair["result"]["difference"], pair["result"]["confidence_interval"]["difference"]
            assert cell["text"] == points(sign * value)
            shown = [f"{100 * end:.1f}".replace("-0.0", "0.0") for end in sorted(sign * end for end in ends)]
            assert cell["below"] == f"[{', '.join(shown)}]".replace("-", "−")
            level = sum(pair["corrected_p_value"] <= limit for limit in (0.05, 0.01, 0.001))
            better = "better" if sign * value > 0 else "worse"
            assert cell["class"].split()[1:] == ([f"{better}-{level}"] if level else [])
            seen.add(level > 0)
            assert parse_qs(cell["href"][2:]) == {"set": ["toy:set"], "flips": [column], "holds": [who[0]]}
    assert seen == {True, False}


def test_buckets_that_models_disagree_about_stand_first_and_the_others_are_summed_up(tmp_path):
    paths = runs(tmp_path, 0.98, 0.5, 0.3)
    heat = tables(written(tmp_path, paths))["Wordings answered right, in per cent, toy:set"]
    right = np.array(
        [[[int(a) for a in answer[1:]] for answer in answers_of(i, s).values()] for i, s in enumerate((0.98, 0.5, 0.3))]
    ).mean(axis=2)
    spread = right.std(axis=0)
    shown = [int(line[0]["text"].strip()[1:]) for line in heat[1:-1]]
    assert sorted(shown) == np.flatnonzero(spread > 1e-9).tolist()
    assert (np.diff(spread[shown]) < 1e-9).all()
    for line, bucket in zip(heat[1:-1], shown, strict=True):
        assert [cell["text"] for cell in line[1:]] == [f"{100 * value:.0f}" for value in right[:, bucket]]
        wanted = {"set": ["toy:set"], "model": ["m1"], "bucket": [f"b{bucket:02d}"]}
        assert parse_qs(line[2]["href"][2:]) == wanted
        assert parse_qs(line[0]["href"][2:]) == {"set": ["toy:set"], "bucket": [f"b{bucket:02d}"]}
    rest = np.setdiff1d(np.arange(12), shown)
    assert {10, 11} <= set(rest.tolist())
    assert heat[-1][0]["text"].strip() == f"mean of the other {len(rest)}"
    assert [cell["text"] for cell in heat[-1][1:]] == [f"{100 * value:.0f}" for value in right[:, rest].mean(axis=1)]


def test_the_table_of_changes_names_labels_and_leads_to_the_rows(tmp_path):
    """FAULTS P13: it said 0 and 1 where labels have names."""
    answers = {f"b{b}": "1101" if b % 2 else "0011" for b in range(8)}
    run = write_run(tmp_path / "run", answers=answers)
    file = run / "predictions" / "set.parquet"
    from paraconsist.data.predictions import read_predictions, write_predictions

    predictions = read_predictions(file)
    labels = [int(b["bucket_id"][1:]) // 4 for b in rows(answers)]
    table = predictions.table
    table = table.set_column(table.column_names.index("label"), "label", [labels])
    write_predictions(file, table, predictions.metadata)
    page = tables(written(tmp_path, [str(run)], "--rescore"))
    changes = page["Answers that change between the original and its rewordings"]
    heads = {line[0]["text"].strip(): line for line in changes}
    assert {"weakener", "strengthener"} <= heads.keys()
    assert not {"0", "1"} & heads.keys()
    assert parse_qs(heads["weakener"][0]["href"][2:]) == {"set": ["toy:set"], "model": ["toy"], "label": ["weakener"]}
    assert parse_qs(heads["all"][2]["href"][2:]) == {"set": ["toy:set"], "show": ["changed"]}
    strata = page["Accuracy and consistency by stratum, in per cent"]
    links = {line[0]["text"].strip(): parse_qs(line[0]["href"][2:]) for line in strata if line[0]["href"]}
    assert links["odd"] == {"set": ["toy:set"], "model": ["toy"], "stratum.kind": ["odd"]}


def test_of_many_models_only_differences_from_the_best_are_listed(tmp_path):
    """FAULTS P14: twelve models made 198 lines; signatures of pairs are said once."""
    text = written(tmp_path, runs(tmp_path, *np.linspace(0.4, 0.97, 8)))
    page = tables(text)
    assert len(page["Differences from the model that is ranked first, in points"]) == 1 + 7 * 3
    assert len(page["Differences in PC, in points, toy:set"]) == 1 + 8
    assert "Differences between the models, in points" not in page
    assert len(re.findall(r"<dt>toy:set, 28 pairs</dt>", unescape(text))) == 1
    headline = page["Paraphrastic consistency, in per cent, with intervals"]
    assert [cell["text"].split()[0] for cell in headline[0]][:3] == ["model", "wording", "PC"]
    ranked = re.findall(r'<span class="who">(m\d)', text)  # as the bars of the first screen
    assert [line[0]["text"].strip() for line in headline[1:]] == ranked
    assert sorted(ranked) == [f"m{i}" for i in range(8)] != ranked


def test_sets_of_one_config_have_lines_of_their_own(tmp_path):
    """`org/a:default` and `org/b:default` were two points on one line, both called `default`."""
    rows = {"bucket_id": [i // 2 for i in range(24)], "role": ["original", "swap"] * 12, "label": ["x"] * 24}
    for name, prediction in (("a", ["x", "x", "x", "y"] * 6), ("b", ["x", "y", "y", "x", "x", "x"] * 4)):
        pd.DataFrame({**rows, "prediction": prediction}).to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    report = Report(load_models(paths, names=["m", "m"], sets=["org/a:default", "org/b:default"]))
    (plot,) = (placed.plot for placed in report_plots(report) if placed.section == "inconsistency")
    assert "symmetric org/a:default: 50.0 %" in plot.description
    assert "symmetric org/b:default: 66.7 %" in plot.description


def test_the_title_is_of_all_sets_of_one_model_whoever_has_them(tmp_path):
    rows = {"bucket_id": [i // 2 for i in range(24)], "label": ["x"] * 24}
    for name, prediction in (("half", "xxxy"), ("fourth", "xxxxxxxy"), ("again", "xxyx")):
        answers = list(prediction * (24 // len(prediction)))
        pd.DataFrame({**rows, "prediction": answers}).to_csv(tmp_path / f"{name}.csv", index=False)

    def of(*names, models):
        report = Report(load_models([tmp_path / f"{name}.csv" for name in names], names=models, sets=names))
        return title(report, blocks(report)), [item.name for item in report.distinct]

    assert of("half", "fourth", models=["m", "m"])[0].endswith(" from m 25.0 to 50.0 % of the time, by set")
    assert of("half", "again", models=["m", "m"])[0].endswith(" from m 50.0 % of the time, on every set")
    said = "2 models on 2 sets: how consistent are they?"
    assert of("half", "fourth", models=["m", "n"]) == (said, ["half", "fourth"])


@pytest.mark.faults
def test_the_csv_of_broken_rules_has_whole_names_of_sets(tmp_path):
    """Where their ends tell sets apart, only these stood there, as below the figure."""
    rows = {"bucket_id": [i // 2 for i in range(24)], "role": ["original", "swap"] * 12, "label": ["x"] * 24}
    pd.DataFrame({**rows, "prediction": ["x", "x", "x", "y"] * 6}).to_csv(tmp_path / "a.csv", index=False)
    report = Report(load_models([tmp_path / "a.csv"] * 2, names=["m", "m"], sets=["org/a:one", "org/b:two"]))
    (plot,) = (placed.plot for placed in report_plots(report) if placed.section == "inconsistency")
    lines = [json.loads(unescape(line)) for line in re.findall('data-row="(.*?)"', inline_svg(plot))]
    assert [(line["measure"], line["set"], line["model"]) for line in lines] == [
        ("symmetric_inconsistency", "org/a:one", "m"),
        ("symmetric_inconsistency", "org/b:two", "m"),
    ]


def test_the_extent_of_a_plot_is_of_models_whose_consistency_means_something(tmp_path):
    """A constant answer was the end of every range of strata, and of broken rules."""
    rows = {"bucket_id": [i // 2 for i in range(48)], "role": ["original", "swap"] * 24}
    rows |= {"label": ["x", "x", "y", "y"] * 12, "kind": ["u"] * 24 + ["v"] * 24}
    frame = pd.DataFrame({**rows, "a": ["x", "y", "y", "y"] * 12, "constant": "x"})
    frame.to_csv(tmp_path / "two.csv", index=False)
    read = SourceOptions(prediction="a,constant", stratum=("kind",))
    placed = report_plots(Report(load_models([tmp_path / "two.csv"], read=read)))
    said = {one.section: one.finding for one in placed if one.section in ("strata", "inconsistency")}
    assert said["strata"] == "Tau sym.: 0.0 % (label y) to 100.0 % (label x)"
    assert said["inconsistency"] == "Broken rules (tau): 50.0 %"


def test_no_finding_is_of_a_constant_answer(tmp_path):
    """It set the least share of changed answers on one set, and of several the first end of the title's range."""
    rows = {"bucket_id": [i // 3 for i in range(72)], "role": ["original", "paraphrase", "paraphrase"] * 24}
    frame = pd.DataFrame({**rows, "label": ["x", "x", "x", "y", "y", "y"] * 12, "constant": "x"})
    frame["a"] = frame["label"].where(frame.index % 4 > 0, "y")
    frame["b"] = frame["label"].where(frame.index % 3 > 0, "y")
    frame.to_csv(tmp_path / "all.csv", index=False)
    report = Report(load_models([tmp_path / "all.csv"], read=SourceOptions(prediction="a,b,constant")))
    said = {one.section: one.finding for one in report_plots(report)}
    assert said["flips"] == "Rewordings with another answer than their original: 37.5 % (a) to 50.0 % (b)"
    files = []
    for column in ("a", "constant"):
        files.append(tmp_path / f"{column}.csv")
        frame.rename(columns={column: "prediction"}).drop(columns=["b"]).to_csv(files[-1], index=False)
    report = Report(load_models(files, names=["m", "m"], sets=["s", "t"]))
    assert title(report, blocks(report)) == "How consistent is m?"
    (tmp_path / "again.csv").write_text(files[0].read_text())
    report = Report(load_models([files[0], tmp_path / "again.csv"], names=["m", "m"], sets=["s", "t"]))
    assert title(report, blocks(report)).endswith("from m 33.3 % of the time, on every set")


def test_the_pages_words_leave_names_and_methods_as_they_are():
    """The model `paraphrase-MiniLM` was called `rewording-MiniLM` where it is not ranked."""
    sentence = "paraphrase-MiniLM: 3 paraphrases of a bucket, ci:bucket-logit-t, org/paraphrase"
    expected = "paraphrase-MiniLM: 3 rewordings of a problem, ci:bucket-logit-t, org/paraphrase"
    assert in_own_words(sentence, "problem") == expected


def test_without_gold_labels_the_table_of_problems_is_of_the_wording_change(tmp_path):
    """It was called "Prompt sensitivity: broken rules", which is of right answers."""
    frame = pd.DataFrame({"bucket_id": [i // 3 for i in range(36)], "a": ["x", "x", "y"] * 12, "b": ["x", "y"] * 18})
    frame.to_csv(tmp_path / "all.csv", index=False)
    report = Report(load_models([tmp_path / "all.csv"], read=SourceOptions(prediction="a,b")))
    ((_, table),) = write.heat_maps([*report.aligned, align("one", {"a": report.by_model["a"]["all"]})])
    assert table.title == "Wording change, in per cent, all"


def test_a_constant_answer_is_no_end_of_flips_by_sureness(tmp_path):
    rows = {"bucket_id": [i // 3 for i in range(72)], "role": ["original", "paraphrase", "paraphrase"] * 24}
    frame = pd.DataFrame({**rows, "label": ["x", "x", "x", "y", "y", "y"] * 12, "confidence": 0.5})
    answers = {"a": frame["label"].where(frame.index % 4 > 0, "y"), "b": frame["label"].where(frame.index % 3 < 2, "y")}
    for name, prediction in {**answers, "constant": "x"}.items():
        frame.assign(prediction=prediction).to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / f"{name}.csv" for name in (*answers, "constant")]
    read = SourceOptions(confidence="confidence")
    report = Report(load_models(paths, names=["a", "b", "constant"], sets=["s"] * 3, read=read))
    said = {one.section: one.finding for one in report_plots(report)}
    assert said["sureness"] == "Lost or gained: 25.0 % (b) to 37.5 % (a) of answers to rewordings"


def test_a_model_with_other_gold_labels_has_its_own_numbers_and_is_not_compared(tmp_path):
    """The whole page was refused, and the site's index, where the leaderboard showed it unranked."""
    for seed, name in enumerate(("odd", "one", "two")):
        table = pd.DataFrame(rows(answers_of(seed, 0.6))).drop(columns=["probabilities", "input_id", "allowed_labels"])
        table.loc[table["bucket_id"] == "b00", "label"] = int(name != "odd")
        table.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    paths = [str(tmp_path / f"{name}.jsonl") for name in ("odd", "one", "two")]
    entries = load_models([*map(Path, paths)])
    report = Report(set_apart(entries))
    sets = {model.name: [*model.sets] for model in report.models}
    expected = {"one": ["predictions"], "two": ["predictions"], "odd": ["predictions, odd"]}
    assert [*sets.items()] == [*expected.items()]  # the odd one comes last
    assert {(pair.first, pair.second) for of_set in report.compared for pair in of_set.pairs} == {("one", "two")}
    page = written(tmp_path, paths)
    assert "not compared with the others on predictions: `label` must be the same gold label in every file" in page
    assert "<h1>3 models: how consistent are they?</h1>" in page
    assert f"12 problems in {len(table)} wordings" in page  # not those of the odd one again
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert len(data["buckets"]) == 24
    for bucket in data["buckets"]:  # right and wrong are by the model's own labels
        answers = [(row[4], row[2]) for row in bucket["r"] if row[0] == "paraphrase"]
        for place, (_, n_right, *_) in enumerate(bucket["n"]):
            assert sum(given[place][0] == gold for given, gold in answers) == n_right
    with patch.object(site, "write_report"):
        index = site.write_site(entries, tmp_path / "site", ReportOptions()).index.read_text()
    assert "3 models, 1 set." in index
    assert "1 not ranked" in index


def test_a_problem_that_one_model_answered_is_ranked_by_that_models_answers():
    def scored(**answers):
        rows = [(bucket, answer) for bucket, each in answers.items() for answer in each]
        ids, predictions = zip(*rows, strict=True)
        return pc.score({"bucket_id": ids, "prediction": predictions, "label": ["a"] * len(rows)}).sets["predictions"]

    aligned = align(
        "set", {"one": scored(same="aaaa", both="aaab", alone="aabb"), "two": scored(same="aaaa", both="aaab")}
    )
    assert [aligned.bucket_ids[i] for i in aligned.worst_first()] == ["alone", "both", "same"]
