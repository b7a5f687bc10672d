"""What can be refused is refused before a judge is paid, at every door and however the judge is named."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.faulty_server import FaultyServer, first

import paraconsist as pc
from paraconsist.data.predictions import write_predictions
from paraconsist.data.tables import read_table

ANSWERS = {"a": ["Paris", "Rome"], "b": ["blue", "red"], "c": ["7", "8"]}


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[tuple[FaultyServer, str]]:
    """A server that finds most answers the same, and its judge's name."""
    with FaultyServer(write=lambda text, body: "no" if "Rome" in text or "green" in text else "yes") as server:
        file = tmp_path / "judge.yaml"
        file.write_text(f"model: {server.model}\nendpoint: {server.url}\n")
        yield server, f"judge:{file}"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [
        {"bucket_id": bucket, "prediction": text, "label": texts[0], "question": "Which?"}
        for bucket, texts in ANSWERS.items()
        for text in texts
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


#: A command, with SOURCE and OUT, that is refused; the option, or what else the message says.
REFUSED = [
    ("report SOURCE --output OUT/a.html --measure nosuch", "`--measure` must"),
    ("report SOURCE --output OUT/a.html --name a --name b", "`--name` must"),
    ("report SOURCE --output OUT/a.html --texts nosuch.csv", "`--texts` must"),
    ("report SOURCE --output OUT/a.html --checked nosuch.csv", "`--checked` must"),
    ("report SOURCE nosuch.csv --output OUT/a.html", "must name a"),
    ("report SOURCE --output SOURCE", "`--output` must"),
    ("report SOURCE SOURCE --name a --name b --margin -1 --output OUT/a.html", "`--margin` must"),
    ("report SOURCE --summary --output OUT/a.html --unparsed nosuch", "`--unparsed` must"),
    ("report SOURCE --site OUT/site --texts nosuch.csv", "`--texts` must"),
    ("leaderboard SOURCE SOURCE --name a --name b --output OUT/board --measure nosuch", "`--measure` must"),
    ("leaderboard SOURCE SOURCE --name a --name b --output OUT/board --texts nosuch.csv", "`--texts` must"),
    ("gate nosuch>=0 SOURCE", "`condition` must name a quantity"),
    ("gate wording_change<=9 SOURCE", "`condition` must compare a share"),
    ("gate wording_change<=9% SOURCE --set nosuch", "`--set` must"),
    ("gate wording_change<=9% SOURCE --sequential", "`--sequential` is given"),
    ("gate wording_change<=9% SOURCE --measure nosuch", "`--measure` must"),
    ("gate wording_change.not_worse SOURCE --against nosuch.csv --margin .1", "must name a file"),
    ("gate wording_change.not_worse SOURCE --against SOURCE", "`--margin` must"),
    ("sheet SOURCE SOURCE --output OUT/sheet.csv", "must be files of different models"),
    ("sheet SOURCE nosuch.csv --output OUT/sheet.csv", "must name a file"),
    ("sheet SOURCE --output OUT/sheet.csv --question nosuch", "`--question` must"),
    ("sheet SOURCE --output OUT/sheet.csv --n 0", "`--n` must"),
    ("sheet SOURCE --output OUT/sheet.csv --apart 5", "`--apart` must"),
    ("score SOURCE --unparsed nosuch", "`--unparsed` must"),
    ("compare SOURCE nosuch.csv", "must name a file"),
    ("plan SOURCE --half-width .1 --against nosuch.csv", "must name a file"),
    ("plan SOURCE --half-width .1 --measure nosuch", "`--measure` must"),
    ("plan SOURCE --half-width .1 --checked nosuch.csv", "`--checked` must"),
    ("variance SOURCE --outcome prediction --level problem=bucket_id --level nosuch", "`--level` must"),
    ("variance SOURCE --outcome correct --level problem=bucket_id --rank nosuch", "`--rank` must"),
]
#: A command that ends well; a condition may not hold.
DONE = [
    "report SOURCE --output OUT/a.html",
    "report SOURCE --summary --output OUT/a.html",
    "report SOURCE SOURCE --name a --name b --site OUT/site",
    "leaderboard SOURCE SOURCE --name a --name b --output OUT/board",
    "gate wording_change<=100% SOURCE",
    "gate wording_change.not_worse SOURCE --against OTHER --margin .99",
    "sheet SOURCE --output OUT/sheet.csv",
    "sheet SOURCE --output OUT/sheet.html --mark right",
    "score SOURCE --output OUT/results.json",
    "compare SOURCE OTHER",
    "plan SOURCE --half-width .1",
    "plan SOURCE --half-width .1 --against OTHER",
    "variance SOURCE --outcome prediction --level problem=bucket_id",
    "variance SOURCE --outcome correct --level problem=bucket_id",
]


@pytest.mark.faults
@pytest.mark.parametrize("is_named", ["by an option", "by the file"])
@pytest.mark.parametrize(("line", "said"), REFUSED)
def test_what_a_command_refuses_is_refused_before_a_judge_is_paid(tmp_path, command, judge, rows, line, said, is_named):
    """All doors but `score` and `compare` paid for all verdicts first, as did these for a judge that the file names."""
    server, same = judge
    if is_named == "by the file":
        table, rows = read_table(rows, function="test"), rows.with_suffix(".parquet")
        write_predictions(rows, table, {"same": same})
    words = line.replace("SOURCE", str(rows)).replace("OUT", str(tmp_path)).split()
    named = ["--same", same] if is_named == "by an option" else []
    code, _, told = command(*words, *named)
    assert (code, said in told) == (2, True), told
    assert len(server.received) == 0


@pytest.mark.faults
def test_what_is_told_of_a_judge_s_endpoint_says_that_it_is_the_judge_s(monkeypatch, judge):
    """A run over another endpoint looked as if its own were silent, or had refused."""
    server, same = judge
    monkeypatch.setattr("paraconsist.models.endpoint.client._SILENCE", 0.0)
    server.raw = {"flagged": (400, {}, b'{"error": {"message": "The prompt was flagged."}}')}
    server.script = first("429:0", "flagged")
    about = f"This is about the judge, of {re.escape(same.removeprefix('judge:'))}."
    silent = f"no request was answered .*; they are sent again, less often. {about}"
    refused = f"the endpoint refused 1 of 2 texts, which have no answer. It said: The prompt was flagged. {about}"
    with (
        pytest.warns(UserWarning, match=silent),
        pytest.warns(UserWarning, match=refused),
        pytest.warns(UserWarning, match="the judge gave"),
    ):
        pc.answer_similarity(["a"], ["b"], same=same)


@pytest.mark.parametrize("line", DONE)
def test_a_judge_is_asked_each_pair_once_in_both_orders_at_every_door(tmp_path, command, judge, rows, line):
    """What is made up first is seen nowhere: a rehearsal with verdicts that are paid already says the same."""
    server, same = judge
    other = rows.with_name("other.jsonl")
    other.write_text(rows.read_text().replace("Rome", "Lyon").replace('"red"', '"green"'))
    for name, path in (("SOURCE", rows), ("OTHER", other), ("OUT", tmp_path)):
        line = line.replace(name, str(path))
    words = line.split()
    code, out, told = command(*words, "--same", same)
    assert code in (0, 1), told
    n_sent = len({json.dumps(request.body) for request in server.received})
    assert len(server.received) == n_sent >= 2 * len(ANSWERS)
    made = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.suffix in (".html", ".csv", ".json")}
    again = command(*words, "--same", same, *["--overwrite"] * line.startswith("sheet"))
    assert again == (code, out, told)
    assert made == {path: path.read_bytes() for path in made}
    assert len(server.received) == n_sent
