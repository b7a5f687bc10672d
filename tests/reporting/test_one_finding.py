"""Sentence, bar, table, gate, JSON and the rows behind the links say the same of random tables.

PARACONSIST_TABLES says how many tables; 10,000 take some minutes.
"""

import json
import os
import random
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import paraconsist as pc
from paraconsist.files import to_strict_json
from paraconsist.reporting.formatting import percent
from paraconsist.reporting.page.aligned import align
from paraconsist.reporting.page.browser import browser_data
from paraconsist.reporting.page.models import Report, ReportOptions, model_from
from paraconsist.reporting.page.screen import blocks
from paraconsist.reporting.table import as_text
from paraconsist.reporting.tables import finding, rates, score_tables
from paraconsist.scoring.gate import check, parse_conditions

_TABLES = int(os.environ.get("PARACONSIST_TABLES", "300"))
_BATCH = 50


def random_table(rng: random.Random) -> pd.DataFrame:
    labels = ["a", "b", "c", "d"][: rng.randint(2, 4)]
    sure, has_originals = rng.random(), rng.random() < 0.7
    rows = []
    for bucket in range(rng.randint(2, 25)):
        gold = usual = rng.choice(labels)
        if rng.random() < 0.3:
            usual = rng.choice(labels)
        roles = ["original"] * (has_originals and rng.random() < 0.9) + ["paraphrase"] * rng.randint(1, 5)
        for role in roles:
            answer = usual if rng.random() < sure else rng.choice(labels)
            rows.append((f"b{bucket}", None if rng.random() < 0.02 else answer, gold, role))
    return pd.DataFrame(rows, columns=["bucket_id", "prediction", "label", "role"])


def behind_links(data, outcome):
    """The page's buckets of an outcome, each as the answers of its wordings; -1 is unparsed, which agrees with none."""
    chosen = [
        bucket for bucket in json.loads(data.json)["buckets"] if bucket["o"][0] and outcome in ("", bucket["o"][0])
    ]
    return [[(row[4][0][0], row[2]) for row in bucket["r"]] for bucket in chosen]


@pytest.mark.faults
@pytest.mark.parametrize("start", range(0, _TABLES, _BATCH))
def test_everything_says_the_same(start):
    for seed in range(start, min(start + _BATCH, _TABLES)):
        scores = pc.score(random_table(random.Random(seed)))
        ((name, scored),) = scores.sets.items()
        written = to_strict_json(scored.to_dict())
        model = model_from(scores.opened, scores.sets)
        aligned = align(name, {model.name: scored})
        (block,) = blocks(Report([model], ReportOptions(score=scored.options)))
        if scored.wording is None or scored.degenerate:
            assert scored.wording is None or block.title.startswith("Nothing can be said of consistency: ")
            continue
        sentence = str(finding(scored))
        said = re.match(
            r"Two wordings .* answers ([\d.]+) % .*; ([\d,]+) of ([\d,]+) problems? changes?\. (.*)", sentence
        )
        assert said is not None
        # the page and the terminal
        assert sentence.startswith(block.title)
        assert block.sentence.endswith(f"{said[2]} of {said[3]} problem{' changes' if said[3] == '1' else 's change'}.")
        assert sentence[:60] in as_text(score_tables(scores.sets)).replace("\n", " ")
        # JSON and gate
        value = written["wording"]["wording_change"]
        assert said[1] == percent(value) == percent(scored.wording.wording_change)
        (judged,) = check(parse_conditions("wording_change <= 0.3"), {name: scored.to_dict()})
        assert (judged.value, judged.passed) == (value, value <= 0.3)
        assert f"{said[1]} %" in block.title
        steady = written["wording"]["above_chance"]
        shown = [fact.value.replace("−", "-") for fact in block.facts]
        assert shown == ([] if steady is None else [percent(steady)])
        # the bar, the counts and what the links list
        data = browser_data([aligned], [model.name], 10_000, 1e9)
        counts = [written["wording"][f"n_{outcome}"] for outcome in ("right", "depends", "wrong")]
        bar = {words.split(",")[0]: size for _, words, size, *_ in block.bars[0].parts}
        shown = ("right in every wording", "right in some wordings", "wrong in every wording")
        assert [bar.get(words, 0) for words in shown] == counts
        assert [len(behind_links(data, letter)) for letter in "rdw"] == counts
        for letter, holds in (("r", all), ("w", lambda rights: not any(rights))):
            assert all(holds([answer == gold for answer, gold in bucket]) for bucket in behind_links(data, letter))
        answers = [[answer for answer, _ in bucket] for bucket in behind_links(data, "")]
        differ = [np.mean([a != b or a == -1 for a, b in combinations(bucket, 2)]) for bucket in answers]
        assert value == pytest.approx(np.mean(differ), abs=1e-12)
        assert int(said[2]) == sum(any(a != b or a == -1 for a, b in combinations(bucket, 2)) for bucket in answers)


@pytest.mark.faults
def test_wordings_that_differ_from_their_original_are_not_right_in_every_wording():
    """Originals count: a page said "changes every answer" above a bar that was full of "right in every wording"."""
    answers = (("original", "no"), ("paraphrase", "yes"), ("paraphrase", "yes"))
    frame = pd.DataFrame(
        [(f"b{i}", answer, "yes", role) for i in range(12) for role, answer in answers],
        columns=["bucket_id", "prediction", "label", "role"],
    )
    scores = pc.score(frame)
    (scored,) = scores.sets.values()
    model = model_from(scores.opened, scores.sets)
    (block,) = blocks(Report([model]))
    assert (scored.wording.wording_change, scored.wording.n_depends) == (pytest.approx(2 / 3), 12)
    assert [part[1:3] for part in block.bars[0].parts] == [("right in some wordings, wrong in others", 12)]
    assert "12 of 12 problems change" in block.sentence


def test_of_answers_that_a_comparer_reads_the_table_has_the_steadiness_of_the_first_screen():
    """The same answers are no classes here: the table's number was that of a sketch of them."""
    answers = ["x y", "x y z", "q", "r", "r", "s", "u v w", "u v", "u"]
    scores = pc.score({"bucket_id": list("aaabbbccc"), "prediction": answers}, same="tokens")
    (table,) = rates({"m": scores.sets})
    above = table.rows[0][[column.label for column in table.columns].index("above chance")]
    assert above.value == scores.sets["predictions"].wording.above_chance == pytest.approx(5 / 9)
