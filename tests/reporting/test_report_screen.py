"""What the first screen says: the finding, bars, numbers that are those of the results, for every kind of set."""

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.browser import QUICK
from helpers.report import rows, write_run

import paraconsist as pc
from paraconsist.data.predictions import write_predictions
from paraconsist.files import to_strict_json
from paraconsist.measures.ie_test import ie_test
from paraconsist.reporting.formatting import bounds, percent
from paraconsist.reporting.page import ReportOptions, load_models, write_report
from paraconsist.reporting.page.figures import report_plots
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.page.provenance import notices
from paraconsist.reporting.page.screen import blocks, levels

#: Forty problems of five wordings: mixed ones, right ones, wrong ones.
MANY = {f"b{i}": "".join(str(int((i * 7 + j * 3) % (i % 5 + 2) != 0)) for j in range(5)) for i in range(40)}


def screen(*paths: Path):
    entries = load_models(list(paths), QUICK)
    return blocks(Report(entries, ReportOptions(score=QUICK))), entries


def with_role(path: Path, role: str, answers: dict[str, str], **metadata) -> Path:
    table = pa.Table.from_pylist(rows(answers))
    roles = pa.array([role if one == "paraphrase" else one for one in table["role"].to_pylist()])
    write_predictions(path, table.set_column(table.column_names.index("role"), "role", roles), metadata)
    return path


def test_a_set_of_paraphrases_says_how_often_rewording_changes_an_answer(tmp_path):
    (block,), entries = screen(write_run(tmp_path / "run", answers=MANY))
    pairs = [[a != b for a, b in combinations(answers, 2)] for answers in MANY.values()]
    share, changed = np.mean([np.mean(differ) for differ in pairs]), sum(map(any, pairs))
    assert block.title == f"Two wordings of a problem get different answers from toy {percent(share)} % of the time"
    assert re.fullmatch(rf"95 % interval \S+ to \S+; {changed} of {len(MANY)} problems change\.", block.sentence)
    rights = [answers.count("1") for answers in MANY.values()]
    sizes = {words: size for _, words, size, *_ in block.bars[0].parts}
    assert list(sizes.values()) == [rights.count(5), sum(0 < n < 5 for n in rights), rights.count(0)]
    scored = entries[0].sets["toy:set"]
    (fact,) = block.facts
    low, high = bounds(scored.wording.confidence_interval, "above_chance")
    assert (fact.words, fact.value) == ("steadiness", percent(scored.wording.above_chance))
    assert f"95 %: {percent(low)} to {percent(high)}" == fact.below.replace("−", "-")
    assert fact.scale == tuple(100.0 * value for value in (low, high, scored.wording.above_chance))
    assert "40 problems" in block.sureness[0][0]
    assert "About 160 problems" in block.sureness[1][0]
    low, high = bounds(scored.wording.confidence_interval, "wording_change")
    assert block.brief == ["40 problems", f"± {percent((high - low) / 2)} points", "every answer read"]
    assert levels(entries) == ["95 %"]
    assert block.title in block.cited
    assert f"{percent(low)} to {percent(high)}; 40 problems" in block.cited


def test_a_coin_that_is_right_as_often_stands_below_the_bar(tmp_path):
    (block,), _ = screen(write_run(tmp_path / "run", answers=MANY))
    right = sum(answers.count("1") for answers in MANY.values()) / 200
    shares = {"right in every wording": right**5, "wrong in every wording": (1 - right) ** 5}
    sizes = {words: size for _, words, size, *_ in block.coin.parts}
    assert {words: sizes.get(words, 0) for words in shares} == {
        words: round(40 * share) for words, share in shares.items()
    }
    assert sum(sizes.values()) == 40
    assert f"({percent(right)} %)" in block.coin.model


def test_there_are_three_things_to_do_the_most_urgent_first(tmp_path):
    (block,), _ = screen(write_run(tmp_path / "run", answers=MANY))
    lost = sum(answers[0] == "1" and later == "0" for answers in MANY.values() for later in answers[1:])
    assert [step.words.partition(":")[0] for step in block.steps] == [
        f"Read the {lost} answers lost to rewording",
        "Ask about more problems",
        "Ask again unchanged",
    ]
    assert all(bool(step.href) != bool(step.command) for step in block.steps)
    assert len(block.examples) == len({example.href for example in block.examples}) <= block.n_flips


@pytest.mark.faults
def test_problems_that_are_always_wrong_are_not_said_to_agree(tmp_path):
    """Below "7 of 10 problems change" stood "the 2 problems whose answers do not agree": those right in some."""
    answers = {f"b{i}": "aab" if i < 2 else "bcb" if i < 7 else "aaa" for i in range(10)}
    made = [(bucket, "a", letter) for bucket, letters in answers.items() for letter in letters]
    pd.DataFrame(made, columns=["bucket_id", "label", "prediction"]).to_csv(tmp_path / "mine.csv", index=False)
    (block,), _ = screen(tmp_path / "mine.csv")
    assert block.sentence.endswith("7 of 10 problems change.")
    assert block.steps[0].words == "Read the 2 problems right in some wordings, wrong in others"


def test_without_gold_labels_problems_keep_their_answer_or_change_it(tmp_path):
    made = [{key: value for key, value in row.items() if key not in ("label", "allowed_labels")} for row in rows(MANY)]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    (block,), _ = screen(tmp_path / "mine.parquet")
    changed = sum(len(set(answers)) > 1 for answers in MANY.values())
    assert [part[1:3] for part in block.bars[0].parts] == [
        ("the same answer in every wording", 40 - changed),
        ("other answers in other wordings", changed),
    ]
    assert block.title.startswith("Two wordings of a problem get different answers ")
    assert block.coin is None


def test_wordings_without_an_original_flip_too_one_pair_a_problem_the_surest_first(tmp_path):
    made = [{**row, "role": "paraphrase"} for row in rows(MANY)]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    (block,), _ = screen(tmp_path / "mine.parquet")
    mixed = {bucket: answers for bucket, answers in MANY.items() if len(set(answers)) > 1}
    assert (block.n_flips, len(block.examples)) == (len(mixed), min(20, len(mixed)))
    sure = []
    for example in block.examples:
        (first, answer, is_right, _), (second, other, is_other_right, _) = example.rows
        assert (answer, is_right, other, is_other_right) == ("1", True, "0", False)
        assert first != second
        answers = mixed[example.href.rpartition("bucket=")[2]]
        best = max(min(i, j) for i, j in combinations(range(5), 2) if answers[i] != answers[j])  # surer one by one
        sure.append(min(float(shown.rstrip("\xa0%")) for *_, shown in example.rows))
        assert sure[-1] == 60 + 5 * best
    assert sure == sorted(sure, reverse=True)


def test_a_flip_in_long_texts_comes_after_one_that_is_less_sure(tmp_path):
    made = rows({"long": "10", "short": "10"})
    for row in made[:2]:
        row["update"] += " And so on." * 30
        row["probabilities"] = [0.05, 0.95] if row["prediction"] else [0.95, 0.05]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    (block,), _ = screen(tmp_path / "mine.parquet")
    assert [example.href for example in block.examples] == ["#?bucket=short", "#?bucket=long"]


def test_a_flip_is_shown_from_shortly_before_its_texts_differ(tmp_path):
    made = [row | {"update": "word " * 100 + end} for row, end in zip(rows({"b": "10"}), ("dog", "cat"), strict=True)]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    (block,), _ = screen(tmp_path / "mine.parquet")
    assert [text for text, *_ in block.examples[0].rows] == [f"… {'word ' * 15}{end}" for end in ("dog", "cat")]


@pytest.mark.parametrize("has_originals", [True, False])
def test_without_gold_labels_no_answer_of_a_flip_is_right_or_wrong(tmp_path, has_originals):
    gone = {"label", "allowed_labels", *(() if has_originals else ("role",))}
    made = [{key: value for key, value in row.items() if key not in gone} for row in rows(MANY)]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    (block,), entries = screen(tmp_path / "mine.parquet")
    assert {(one.gold, is_right) for one in block.examples for _, _, is_right, _ in one.rows} == {("", None)}
    write_report(entries, tmp_path / "page.html", ReportOptions(score=QUICK))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "wrong" not in page.partition('class="card flips"')[2].partition('class="card next"')[0]


@pytest.mark.parametrize(
    ("role", "sentence", "outcome"),
    [
        ("negation", "A negation does not change ", "negated, the same answer"),
        ("swap", "Swapping the two texts changes ", "another answer"),
    ],
)
def test_other_sets_speak_in_their_own_words(tmp_path, role, sentence, outcome):
    answers = {f"b{i}": "11" if i % 3 else "10" for i in range(60)}
    (block,), _ = screen(with_role(tmp_path / "mine.parquet", role, answers))
    assert block.title.startswith(sentence)
    assert "eword" not in block.title + block.sentence + "".join(fact.words for fact in block.facts)
    assert [(words, size) for _, words, size, *_ in block.bars[0].parts][1] == (
        outcome,
        40 if role == "negation" else 20,
    )


@pytest.mark.faults
@pytest.mark.parametrize(("role", "n_broken"), [("swap", 20), ("negation", 40)])
def test_a_set_without_paraphrases_counts_its_problems_and_plans_none(tmp_path, role, n_broken):
    """It was of "0 problems", of which "about 0 would halve the interval" by a command that refuses such a set."""
    answers = {f"b{i}": "11" if i % 3 else "10" for i in range(60)}
    (block,), _ = screen(with_role(tmp_path / "mine.parquet", role, answers))
    assert block.brief[0] == "60 problems"
    assert block.sureness[0][0].startswith("60 problems, assumed independent")
    assert "; 60 problems, mine; paraconsist " in block.cited
    assert [(step.words.partition(": how often")[0], step.command) for step in block.steps] == [
        (f"Read the {n_broken} problems whose answers break the rule", ""),
        ("Ask about more problems: about 240 would halve the interval", ""),
        ("Ask again unchanged", "paraconsist run ... --noise-floor 2"),
    ]


def test_several_models_are_compared_in_a_sentence_and_stand_best_first(tmp_path):
    steady = {bucket: answers[0] * 5 for bucket, answers in MANY.items()}
    runs = [
        write_run(tmp_path / name, answers=of, model=name)
        for name, of in (("shaky", MANY), ("twin", MANY), ("steady", steady))
    ]
    (block,), _ = screen(*runs)
    assert [bar.model for bar in block.bars] == ["steady", "shaky", "twin"]
    assert block.title == "steady is the steadiest of 3 models"
    assert block.sentence.startswith("Steadiness 100 of 100, 95 % interval ")
    assert "beyond chance. Most accurate: " in block.sentence
    assert [bar.groups for bar in block.bars] == [[False], [True], [True]]
    assert [bar.value for bar in block.bars[:2]] == ["100", percent(block.bars[1].scale[0] / 100, digits=0)]
    (block,), _ = screen(*runs[:2])
    assert "is not shown to differ from it" in block.sentence
    assert all("model=" in href for bar in block.bars for *_, href in bar.parts)


def test_the_steadiest_model_has_no_interval_of_other_problems_than_its_value(tmp_path):
    """Its steadiness on the 30 common problems, 100, stood beside an interval of all 70 that it answered."""
    common = {f"c{i:02}": "01"[i % 2] * 4 for i in range(30)}
    own = {**common, **{f"b{i:02}": ("0011", "0110")[i % 2] for i in range(40)}}
    shaky = dict.fromkeys(common, "0011")
    runs = [write_run(tmp_path / name, answers=of, model=name) for name, of in (("own", own), ("shaky", shaky))]
    (block,), _ = screen(*runs)
    assert block.sentence.startswith("Steadiness 100 of 100 on the 30 problems that all answered, beyond chance.")
    (block,), _ = screen(write_run(tmp_path / "twin", answers=own, model="twin"), runs[0])
    assert re.match(r"Steadiness \d+ of 100, 95 % interval \d+ to \d+; ", block.sentence)


def test_models_on_swaps_are_compared_with_the_best_alone(tmp_path):
    """Not the others among themselves, of which no two differ."""
    rates = {"best": 60, "two": 2, "three": 2}
    answers = {name: {f"b{i}": "11" if i % every else "10" for i in range(60)} for name, every in rates.items()}
    answers["three"] = {f"b{i}": "10" if i % 2 else "11" for i in range(60)}
    files = [with_role(tmp_path / f"{name}.parquet", "swap", of) for name, of in answers.items()]
    (block,), _ = screen(*files)
    assert block.title == "best is the most consistent of 3 models"
    assert "beyond chance." in block.sentence
    assert "not shown to differ" not in block.sentence


def test_who_has_a_narrow_interval_need_not_ask_about_more_problems(tmp_path):
    answers = {f"b{i}": "11110" if i == 0 else "11111" for i in range(60)}
    (block,), _ = screen(write_run(tmp_path / "run", answers=answers))
    assert not any(step.words.startswith("Ask about more problems") for step in block.steps)


def test_a_model_of_which_nothing_could_be_read_is_not_ranked_for_that(tmp_path):
    """It was said to have no two wordings, and the sentence did not name it."""
    turned = {bucket: answers[::-1] for bucket, answers in MANY.items()}
    for name, of in (("one", MANY), ("two", turned), ("silent", MANY)):
        table = pa.Table.from_pylist(rows(of))
        if name == "silent":
            table = table.drop_columns("prediction").append_column("prediction", pa.nulls(len(table), pa.int64()))
        pq.write_table(table, tmp_path / f"{name}.parquet")
    (block,), _ = screen(*(tmp_path / f"{name}.parquet" for name in ("silent", "one", "two")))
    assert block.sentence.endswith("Not ranked: silent.")
    assert block.bars[-1].unranked.startswith("no answer could be read")


def test_one_model_that_could_be_read_is_not_the_best_of_two(tmp_path):
    """And the figure of outcomes does not call the other's problems wrong in every wording."""
    for name in ("one", "silent"):
        table = pa.Table.from_pylist(rows(MANY))
        if name == "silent":
            table = table.drop_columns("prediction").append_column("prediction", pa.nulls(len(table), pa.int64()))
        pq.write_table(table, tmp_path / f"{name}.parquet")
    (block,), entries = screen(tmp_path / "silent.parquet", tmp_path / "one.parquet")
    assert block.title == "Of 2 models only one can be ranked"
    assert block.sentence.endswith("Not ranked: silent.")
    plots = report_plots(Report(entries, ReportOptions(score=QUICK)))
    (plot,) = [placed.plot for placed in plots if placed.section == "outcomes"]
    assert "silent" not in plot.description


@pytest.mark.faults
def test_a_constant_answer_is_last_and_not_ranked_and_says_why(tmp_path, command):
    """FAULTS P19, P20: its P_C is 100 %, and it was ranked first."""
    balanced = {bucket: "".join("01"[(i + place) % 7 < 3] for place in range(5)) for i, bucket in enumerate(MANY)}
    for name, answers in (("constant", dict.fromkeys(MANY, "11111")), ("shaky", MANY), ("balanced", balanced)):
        made = [row | {"label": int(row["bucket_id"][1:]) % 2} for row in rows(answers)]
        pq.write_table(pa.Table.from_pylist(made), tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in ("constant", "shaky", "balanced")]
    (block,), _ = screen(*files)
    last = block.bars[-1]
    assert (last.model, last.value, last.scale) == ("constant", "not ranked", ())
    assert "every prediction is 1" in last.unranked
    assert block.sentence.endswith("Not ranked: constant.")
    assert command("report", *files, "--output", tmp_path / "page.html", "--n-resamples", 200)[0] == 0
    assert re.search(
        r'class="who unranked">constant <small>not ranked: every prediction is 1', (tmp_path / "page.html").read_text()
    )
    assert command("report", *files, "--site", tmp_path / "site", "--n-resamples", 200)[0] == 0
    index = (tmp_path / "site" / "index.html").read_text()
    assert f'<p class="verdict">{block.title}. {block.sentence}</p>'.replace(" %", "\N{NO-BREAK SPACE}%") in index
    assert "not ranked</td>" in index
    assert re.search(r"<dt>constant, predictions</dt><dd>every prediction is 1", index)


def test_indices_of_sensitivity_alone_have_their_own_name_and_are_compared(tmp_path, command):
    made = {f"b{i}": "".join("1" if (3 * i + j) % 5 else "0" for j in range(5)) for i in range(40)}
    for name, answers in (("one", MANY), ("two", made)):
        pq.write_table(pa.Table.from_pylist(rows(answers)), tmp_path / f"{name}.parquet")
    page, options = tmp_path / "page.html", ["--measure", "prompt_sensitivity", "--n-resamples", 200]
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    assert command("report", *files, *options, "--output", page)[0] == 0
    text = page.read_text()
    assert "not shown to differ from it" in text or "beyond chance." in text
    assert cells_of(text, "Inconsistency, in per cent")["model"][0].startswith("PSS")
    assert "PSS, %" in text
    assert "tau, %" not in text


def test_changed_answers_are_counted_under_the_policy_for_unparsed_ones(tmp_path):
    answers = [row | ({"prediction": None} if i in (0, 1, 7) else {}) for i, row in enumerate(rows(MANY))]
    pq.write_table(pa.Table.from_pylist(answers), tmp_path / "mine.parquet")
    raw = np.array([list(digits) for digits in MANY.values()], dtype=object)
    raw[0, :2] = raw[1, 2] = None
    for policy, kept in (("wrong", raw), ("own_class", raw), ("drop_bucket", raw[2:])):
        entries = load_models([tmp_path / "mine.parquet"], replace(QUICK, unparsed=policy))
        (name,) = entries[0].sets
        change = Report(entries, ReportOptions(score=QUICK)).changed
        other = kept[:, 1:] != kept[:, :1]
        if policy == "wrong":  # an unparsed answer is never the same as another
            other |= np.equal(kept[:, 1:], None)
        assert change[name][entries[0].name]["n_changed"] == other.sum(), policy
        assert change[name][entries[0].name]["n_pairs"] == other.size


def test_thirty_models_have_a_bar_each_and_one_sentence(tmp_path):
    (entry,) = load_models([write_run(tmp_path / "run", answers=MANY)], QUICK)
    entries = [replace(entry, name=f"a-model-with-a-long-name-{i}") for i in range(30)]
    with patch.object(Report, "compared", []):
        (block,) = blocks(Report(entries))
    assert len(block.bars) == 30
    assert len(block.sentence) < 300


def test_an_ie_test_is_two_sided(tmp_path):
    tested = ie_test([1] * 40, [1] * 30 + [0] * 10, [1] * 40)
    run = write_run(tmp_path / "run", more={"ie synonyms": to_strict_json(tested.to_dict())})
    block = screen(run)[0][1]
    assert block.title.endswith("takes accuracy from 100.0 % to 75.0 %")
    assert block.sentence.startswith("More than chance: −25.0 points, 95 % interval −")
    assert [size for _, _, size, *_ in block.bars[0].parts] == [30, 10]


def test_what_is_undefined_is_not_judged(tmp_path):
    (block,), _ = screen(write_run(tmp_path / "run"))
    assert block.sentence.startswith("Too few problems for an interval; ")
    constant = dict.fromkeys(MANY, "1" * 5)
    (block,), entries = screen(write_run(tmp_path / "constant", answers=constant))
    assert block.title.startswith("Nothing can be said of consistency: every prediction is 'strengthener': ")
    assert (block.facts, block.coin, block.cited) == ([], None, "")
    assert (block.brief, [step.words for step in block.steps]) == (
        ["40 problems", "every answer read"],
        ["Read its answers"],
    )
    assert not any("halve" in sentence for sentence, _ in block.sureness)
    told = [sentence for sentences in notices(Report(entries)).values() for sentence, _ in sentences]
    assert sum("constant answer" in sentence for sentence in told) == 1
    made = [row | {"prediction": None} for row in rows(MANY)]
    pq.write_table(
        pa.Table.from_pylist(made, schema=pa.Table.from_pylist(rows(MANY)).schema), tmp_path / "none.parquet"
    )
    (block,), _ = screen(tmp_path / "none.parquet")
    assert (block.title, block.cited) == ("P_C is undefined", "")
    assert "nan" not in str(block)


def test_names_that_say_nothing_do_not_head_the_page(tmp_path):
    """FAULTS P11: "How consistent is model?", and a set called "predictions"."""
    page = tmp_path / "page.html"
    write_report(
        load_models([write_run(tmp_path / "run", model="runs/demo/model")], QUICK), page, ReportOptions(score=QUICK)
    )
    assert "<h1>Two wordings of a problem get different answers from demo/model " in page.read_text()
    for name in ("snli__large__human", "snli__bow__human"):
        pq.write_table(pa.Table.from_pylist(rows(MANY)), tmp_path / f"{name}.parquet")
    entries = load_models([tmp_path / "snli__large__human.parquet", tmp_path / "snli__bow__human.parquet"], QUICK)
    assert list(entries[0].sets) == ["predictions"]


def cells_of(page: str, caption: str) -> dict[str, list[str]]:
    """Return a table's lines by their first cell, as a reader sees them."""
    table = next(one for one in re.findall(r"<table>.*?</table>", page, re.S) if caption in re.sub(r"<[^>]+>", "", one))
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)]
    plain = [[re.sub(r"<[^>]+>", "|", cell).strip("|\n ") for cell in line] for line in lines]
    return {line[0]: line[1:] for line in plain}


def test_every_number_of_the_page_is_that_of_score_json(tmp_path, command):
    made = [row | ({"prediction": None} if i in (3, 44) else {}) for i, row in enumerate(rows(MANY))]
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "mine.parquet")
    out = command.out("score", tmp_path / "mine.parquet", "--json", "--n-resamples", 300)
    result = json.loads(out)["mine"]
    values = result["measures"]["paraphrastic_consistency"]
    assert (
        command("report", tmp_path / "mine.parquet", "--output", tmp_path / "page.html", "--n-resamples", 300)[0] == 0
    )
    page = (tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ").replace("−", "-")

    listed = cells_of(page, "paraphrastic consistency")
    shown = {key.replace("_", " "): key for key, value in values.items() if isinstance(value, (int, float))}
    assert listed.keys() - {"key"} == shown.keys()
    for words, key in shown.items():
        number, interval, units, effect = listed[words]
        value, ends = values[key], bounds(values["confidence_interval"], key)
        numbers = {f"{percent(value)} %", f"{value:.4f}", f"{value:,}"}
        assert number in numbers
        assert (interval != "") == (ends is not None)
        if key in values["n_clusters"]:
            assert (units, effect) == (f"{values['n_clusters'][key]:,}", f"{values['design_effect'][key]:.1f}")

    facts = re.findall(r'class="value" data-measure="(\w+)" data-key="(\w+)">(.*?)</p>', page)
    assert facts == [("wording", "above_chance", percent(result["wording"]["above_chance"]))]
    assert f"different answers from mine {percent(result['wording']['wording_change'])} % of the time." in page

    headline = cells_of(page, "Paraphrastic consistency, in per cent, with intervals")
    line = [cell.split("|")[0] for cell in headline["mine"]]
    shown = {percent(values[key]) for key in ("accuracy", "pvap_unbiased", "chance_corrected")}
    assert shown | {percent(result["wording"]["wording_change"])} <= set(line)

    policies = cells_of(page, "What unparsed answers count as")
    assert percent(result["unparsed_rate"]) == policies["mine (pc)"][0]
    wrong = result["by_policy"]["wrong"]["paraphrastic_consistency"]
    assert percent(wrong["paraphrastic_consistency_unbiased"]) in policies["mine (pc)"]
    assert "2 answers (" in page


@pytest.mark.faults
def test_problems_of_which_nothing_could_be_read_are_not_wrong(tmp_path):
    """Beside "nothing is defined" stood "40 wrong in every wording"."""
    made = [row | {"prediction": None} for row in rows(MANY)]
    schema = pa.Table.from_pylist(rows(MANY)).schema
    pq.write_table(pa.Table.from_pylist(made, schema), tmp_path / "mine.parquet")
    (block,), _ = screen(tmp_path / "mine.parquet")
    assert [part[1:3] for part in block.bars[0].parts] == [("no answer could be read", 40)]


@pytest.mark.faults
def test_numbers_that_are_no_shares_are_shown_as_in_the_terminal(tmp_path, command):
    """1.7 different answers to a problem were 170.0 %, and Krippendorff's alpha had a unit."""
    made = [(f"q{i}", answer) for i in range(20) for answer in ("yes", "no" if i % 2 else "yes", "yes")]
    pd.DataFrame(made, columns=["bucket_id", "prediction"]).to_csv(tmp_path / "mine.csv", index=False)
    command.out("report", tmp_path / "mine.csv", "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("−", "-")
    listed = cells_of(page, "prompt sensitivity")
    out = command.out("score", tmp_path / "mine.csv")
    assert listed["distinct answers"][0] == "1.5000"
    for label, key in (
        ("Krippendorff's alpha", "krippendorff alpha"),
        ("entropy of the answers", "normalized entropy"),
    ):
        assert f" {listed[key][0]} " in next(line for line in out.splitlines() if label in line)


def test_the_noise_floor_of_the_terminal_stands_on_the_page(tmp_path):
    run = write_run(tmp_path / "run", answers=MANY)
    saved = json.loads((run / "results.json").read_text())
    saved["toy:set"]["noise_floor"] = {
        **{"n_repeats": 3, "flip_rate": {"numeric": 0.0123}, "inconsistency": 0.3, "excess_inconsistency": 0.28},
        **{"consistency_in_excess": 0.72, "share": {"problem": 0.5}, "confidence_interval": {}, "warnings": []},
        "signature": "noise|v:0.1.0",
    }
    (run / "results.json").write_text(json.dumps(saved))
    page = tmp_path / "page.html"
    write_report(load_models([run], QUICK), page, ReportOptions(score=QUICK))
    text = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Asked again unchanged (the noise floor), answers flip in 1.23 % (numeric)." in text
    assert cells_of(text, "noise floor, 3 repeats")["answers that flip at no change (numeric)"][0] == "1.23"


@pytest.mark.faults
def test_the_command_beside_half_the_interval_plans_it(tmp_path):
    """It planned 0.02, whatever the interval."""
    (block,), entries = screen(write_run(tmp_path / "run", answers=MANY))
    low, high = bounds(entries[0].sets["toy:set"].wording.confidence_interval, "wording_change")
    (step,) = [step for step in block.steps if "would halve the interval" in step.words]
    half = f"{(high - low) / 4.0:.2g}"
    assert step.command == f"paraconsist plan PREDICTIONS --measure wording_change --half-width {half}"


@pytest.mark.faults
def test_what_concerns_few_problems_is_a_note(tmp_path):
    """FAULTS P33: an amber warning about 1 problem of 250."""
    run = write_run(tmp_path / "run", answers=MANY)
    (model,) = load_models([run], QUICK)
    (name,) = model.sets
    warnings = ("problems with one rewording: 1 of 120 where label is x", "2 of 40 rows are y", "1 of 100 and 9 of 100")
    sets = {name: replace(model.sets[name], warnings=warnings)}
    found = notices(Report([replace(model, sets=sets)], ReportOptions(score=QUICK)))
    assert [sentence for sentence, _ in found["warnings"]] == list(warnings[1:])
    assert warnings[0] in [sentence for sentence, _ in found["notes"]]


def test_a_change_between_wordings_below_the_noise_is_not_above_it(tmp_path):
    """It was "-66.7 points of the change between wordings are above that"."""
    calls = []

    def turns(prompts):
        calls.append(prompts)
        return ["yes" if (int(prompt.split()[1]) + len(calls)) % 2 else "no" for prompt in prompts]

    asked = {"bucket_id": [i // 3 for i in range(36)], "question": [f"Ask {i // 3} in words {i}?" for i in range(36)]}
    run = pc.run(turns, asked, output=tmp_path / "run", version="1", repeats=2)
    run.score(same="text").report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "(decoding); the change between wordings is not above that." in page


def test_groups_of_models_are_drawn_only_where_they_are_few(tmp_path):
    runs = [write_run(tmp_path / f"m{i}", answers={b: a[i:] + a[:i] for b, a in MANY.items()}) for i in range(3)]
    (block,), _ = screen(*runs)
    assert {len(bar.groups) for bar in block.bars} == {1}
    with patch("paraconsist.reporting.page.screen._MOST_GROUPS", 0):
        (block,), _ = screen(*runs)
    assert {len(bar.groups) for bar in block.bars} == {0}
