"""What flips it: the numbers are those of `edit_effects`, the words fit the rule, links lead to the rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.browser import QUICK, in_chromium, quiet, write_page
from helpers.report import HOSTILE

from paraconsist import edit_effects, score
from paraconsist.reporting.page import ReportOptions, load_models
from paraconsist.reporting.page.edits import SetEdits, View, edit_plots, views
from paraconsist.reporting.page.models import Report
from paraconsist.reporting.page.write import edits_in

N_BUCKETS = 30
TEXTS = ("The {} is on the table.", "The {} is not on the table.", "On the table is the {}.", "The {} lies on a table.")


def write_set(path, *, seed=0, role="paraphrase", original=True, texts=TEXTS, hostile="", drop=0):
    """Write 30 buckets; the second text flips in all buckets but every sixth, the last text in each fifth."""
    rows = [
        {
            "example_id": f"b{number}.{place}{hostile}",
            "bucket_id": f"b{number}{hostile}",
            "role": "original" if place == 0 and original else role,
            "label": 1,
            "prediction": 1 - int((place == 1 and number % 6 != seed) or (place == 3 and number % 5 == seed)),
            "text": text.format(f"cup {'abcdefghijklmnopqrstuvwxyzäöüß'[number]}") + hostile,
        }
        for number in range(N_BUCKETS)
        for place, text in enumerate(texts)
    ]
    pq.write_table(pa.Table.from_pylist(rows[drop:]), path)
    return path


def edits(*paths) -> tuple[SetEdits, View]:
    (found,) = edits_in(Report(load_models(list(paths), QUICK), ReportOptions(score=QUICK)))
    (view,) = views([found])
    return found, view


def numbers(effect) -> list[float]:
    values = effect.to_dict()
    values.pop("corrected_p_value")  # of all kinds that the page finds
    return [values.pop("kind") == "negation", *values.pop("confidence_interval"), *values.values()]


def test_the_page_shows_what_edit_effects_finds_and_python_has_the_same(tmp_path):
    path = write_set(tmp_path / "a.parquet")
    found, view = edits(path)
    broken = [
        (place == 1 and b % 6 != 0) or (place == 3 and b % 5 == 0) for b in range(N_BUCKETS) for place in (1, 2, 3)
    ]
    kinds = {"negation": [place == 1 for _ in range(N_BUCKETS) for place in (1, 2, 3)]}
    (wanted,) = edit_effects(broken, kinds, [b for b in range(N_BUCKETS) for _ in (1, 2, 3)]).effects
    negation = next(one for one in found.effects["a"].effects if one.kind == "negation")
    assert numbers(negation) == pytest.approx(numbers(wanted))
    sentence, _, examples = next(one for one in view.sentences if "negation" in one[0])
    assert sentence.startswith(
        "Where a rewording adds or drops a negation, 83.3 % of the answers change; of other wordings of the same "
        "problems 10.0 % do (+73.3 points, "
    )
    row = next(row for row in view.table.rows if row[0].below == "negation")
    assert [cell.text for cell in row[1:4]] == ["83.3", "10.0", "+73.3"]
    assert [cell.below for cell in row[1:3]] == ["30", "60"]
    assert row[0].link == "#?set=a&kind=negation&model=a"
    assert all(rewording.endswith("is not on the table.") for _, rewording, _ in examples)
    assert len({href for *_, href in examples}) == 3
    frame = score(path).edits(score=QUICK)
    assert frame.columns[:2].tolist() == ["set", "kind"]
    assert frame.set_index("kind").loc["negation", "difference"] == negation.difference


@pytest.mark.faults
def test_a_kind_of_most_rewordings_is_no_finding_and_rare_is_defined(tmp_path):
    """FAULTS P26: "brings in a rare word" was true of 81 % of rewordings, and rare was defined nowhere."""
    usual = (TEXTS[0], TEXTS[1], "The {} lies on a table.", "The {} is never on a table.")
    found, view = edits(write_set(tmp_path / "a.parquet", texts=usual))
    negation = next(one for one in found.effects["a"].effects if one.kind == "negation")
    assert (negation.n_with, negation.n_without) == (60, 30)
    assert negation.corrected_p_value < 0.05
    assert not [sentence for sentence, *_ in view.sentences if "negation" in sentence]
    assert any("at most 60 % of rewordings" in note for note in view.notes)
    assert any("Rare is a word in at most 1 % of this set's problems" in note for note in view.notes)


def test_a_kind_of_just_three_fifths_of_rewordings_may_be_a_finding(tmp_path):
    texts = (*TEXTS[:2], "The {} isn't on the table.", "The {} is never on the table.", *TEXTS[2:])
    found, view = edits(write_set(tmp_path / "a.parquet", texts=texts))
    (negation,) = (one for one in found.effects["a"].effects if one.kind == "negation")
    assert (negation.n_with, negation.n_without) == (90, 60)
    assert [sentence for sentence, *_ in view.sentences if "negation" in sentence]


def test_a_kind_that_keeps_answers_has_no_examples_of_flips(tmp_path):
    table = pq.read_table(write_set(tmp_path / "a.parquet"))
    answers = [one if i % 4 == 0 else 1 - one for i, one in enumerate(table["prediction"].to_pylist())]
    pq.write_table(table.set_column(4, "prediction", pa.array(answers)), tmp_path / "a.parquet")
    _, view = edits(tmp_path / "a.parquet")
    (examples,) = (examples for sentence, _, examples in view.sentences if "negation" in sentence)
    assert examples == ()


def test_notes_name_the_comparison_that_was_made(tmp_path):
    texts = (*TEXTS[:2], "The {} isn't on the table.", *TEXTS[2:])
    table = pq.read_table(write_set(tmp_path / "a.parquet", texts=texts))
    kept = [i for i in range(len(table)) if i % 5 in ((0, 1, 2) if i // 5 % 2 else (0, 3, 4))]
    pq.write_table(table.take(kept), tmp_path / "a.parquet")  # a problem has negations, or none
    found, view = edits(tmp_path / "a.parquet")
    assert not any(effect.within_buckets for effect in found.effects["a"].effects)
    assert not any("with the other wordings of the same problem" in note for note in view.notes)
    assert any(note.startswith("Compared over all problems") and "negation" in note for note in view.notes)


def test_several_models_are_taken_together_and_shown_one_by_one(tmp_path):
    found, view = edits(*(write_set(tmp_path / f"{name}.parquet", seed=seed) for seed, name in enumerate("ab")))
    (negation,) = (one for one in found.effects[""].effects if one.kind == "negation")
    each = [next(e for e in found.effects[model].effects if e.kind == "negation") for model in "ab"]
    assert negation.n_broken_with == sum(one.n_broken_with for one in each)
    assert negation.rate_with == pytest.approx(sum(one.rate_with for one in each) / 2)
    assert [row[0].text for row in view.models.rows if len(row) == 1] == ["a", "b"]
    hrefs = [row[0].link for row in view.models.rows if row[0].below == "negation"]
    assert hrefs == [f"#?set=predictions&kind=negation&model={model}" for model in "ab"]
    assert "model" not in view.table.rows[0][0].link
    (plot,) = edit_plots([found])
    assert plot.plot.description.count("negation") == 2


def test_examples_are_first_those_that_flip_most_models(tmp_path):
    paths = [write_set(tmp_path / f"{name}.parquet") for name in "ab"]
    table = pq.read_table(paths[1])
    answers = [1 - int(i % 2 == 1 and i // 4 % 5 == 0) for i in range(len(table))]  # where other wordings flip too
    pq.write_table(table.set_column(4, "prediction", pa.array(answers)), paths[1])
    _, view = edits(*paths)
    (examples,) = (examples for sentence, _, examples in view.sentences if "negation" in sentence)
    assert [href.rpartition("bucket=")[2] for *_, href in examples] == ["b5", "b10", "b15"]


def test_groups_that_cut_problems_apart_are_not_resampled(tmp_path):
    path = write_set(tmp_path / "a.parquet", role="negation")
    table, intervals = pq.read_table(path), []
    numbers = range(len(table))
    for groups in ([i // 8 for i in numbers], [i % 4 // 2 for i in numbers], [i // 4 for i in numbers]):
        pq.write_table(table.append_column("group_id", pa.array([f"g{group}" for group in groups])), path)
        intervals.append([effect.confidence_interval for effect in edits(path)[0].effects["a"].effects])
    assert intervals[0] != intervals[1] == intervals[2]  # as if each problem were a group


def test_rows_that_a_model_lacks_are_left_out_of_its_numbers(tmp_path):
    found, _ = edits(write_set(tmp_path / "a.parquet"), write_set(tmp_path / "b.parquet", drop=4))
    sizes = [
        found.effects[model].effects[0].n_with + found.effects[model].effects[0].n_without for model in ("a", "b", "")
    ]
    assert sizes == [90, 87, 174]


def test_of_negated_texts_the_answers_that_stay_are_what_is_wrong(tmp_path):
    texts = (*TEXTS[:2], "The {} isn't on the table.", "There is no {} on the table.")
    found, view = edits(write_set(tmp_path / "a.parquet", role="negation", texts=texts))
    assert found.must_differ
    assert found.broken.sum() == 3 * N_BUCKETS - 25 - 6
    assert view.table.title.startswith("Answers that stay the original's")
    assert all("keep the original's answer" in text for text, *_ in view.sentences)


def test_without_originals_the_first_wording_takes_their_place_and_other_languages_have_fewer_kinds(tmp_path):
    texts = ("Die Tasse {} steht hier.", "Hier steht Tasse {}.", "Da steht 2 mal Tasse {}.", "Tasse {}!")
    found, view = edits(write_set(tmp_path / "a.parquet", original=False, texts=texts))
    assert (found.texts.rows[found.originals[0]][0], len(found.rows)) == ("Die Tasse cup a steht hier.", 3 * N_BUCKETS)
    assert "negation" not in {row[0].below for row in view.table.rows}
    assert "Not looked for, as the texts are not in English: negation, passive." in view.notes


def test_unanswered_rows_break_the_rule_as_the_policy_has_it(tmp_path):
    path = write_set(tmp_path / "a.parquet")
    table = pq.read_table(path)
    answers = table["prediction"].to_pylist()
    answers[0] = answers[2] = None  # of the first bucket: the original and a rewording
    pq.write_table(table.set_column(4, "prediction", pa.array(answers)), path)
    for policy, n_rows, first in (("wrong", 90, [1, 1, 1]), ("own_class", 90, [1, 0, 1]), ("drop_bucket", 87, None)):
        entries = load_models([path], QUICK.__class__(n_resamples=200, unparsed=policy))
        (found,) = edits_in(Report(entries, ReportOptions(score=QUICK)))
        assert found.answered.sum() == n_rows
        if first is not None:
            assert found.broken[:3, 0].astype(int).tolist() == first


@in_chromium[0]
@in_chromium[1]
def test_links_lead_to_the_rows_and_hostile_texts_stay_texts(chromium, tmp_path):
    address = write_page(tmp_path, write_set(tmp_path / "a.parquet", hostile=HOSTILE))
    with quiet(chromium, address, viewport={"width": 1100, "height": 800}) as page:
        page.locator("#edits table").get_by_role("link", name="adds or drops a negation").click()
        assert page.locator("#found").text_content().endswith("of 30, 30 answers to rewordings")
        page.locator("#edits ul.edit a").first.click()
        assert page.evaluate("document.activeElement.className").startswith("bucket")
        assert "is not on the table." in page.evaluate("document.activeElement.textContent")
        assert page.locator("#edits").inner_text().count(HOSTILE[:9]) > 0
