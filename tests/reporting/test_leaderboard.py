"""``leaderboard``: models of several sets ranked, as `score` and `rank_models` say; sorted in a browser."""

import re

import pandas as pd
import pytest
from helpers.browser import in_chromium, quiet
from helpers.report import rows, write_run
from test_report_models import FAST, Tables, answers_of, command
from test_report_site import without_plots

import paraconsist as pc
from paraconsist.data.predictions import write_predictions
from paraconsist.errors import InputError
from paraconsist.scoring.compare import rank_models
from paraconsist.scoring.options import CompareOptions
from paraconsist.scoring.sources import open_source


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Three models on two sets, of which one answered other rows of the first; two judges on a third set, by order."""
    import pyarrow as pa

    folder = tmp_path_factory.mktemp("board")
    paths = [
        write_run(folder / f"m{i}", answers=answers_of(i, share), model=f"org/m{i}")
        for i, share in enumerate((0.97, 0.6, 0.9))
    ]
    few = {bucket: answers for bucket, answers in answers_of(9, 0.9).items() if bucket < "b03"}
    paths.append(write_run(folder / "few", answers=few, model="org/few"))
    constant = {bucket: "1" * len(answers) for bucket, answers in answers_of(0, 1).items()}
    paths.append(write_run(folder / "constant", answers=constant, model="org/constant"))
    for i in range(3):
        path = folder / f"second-{i}.parquet"
        write_predictions(
            path, pa.Table.from_pylist(rows(answers_of(i + 5, 0.8))), {"set": "second", "model": {"model": f"org/m{i}"}}
        )
        paths.append(path)
    for i, flips in enumerate(("0101010101", "0000000001")):
        items = [{"bucket_id": f"q{n}", "role": role, "label": 0, "prediction": int(digit) if role == "swap" else 0}
                 for n, digit in enumerate(flips) for role in ("original", "swap")]  # fmt: skip
        path = folder / f"judge-{i}.parquet"
        write_predictions(path, pa.Table.from_pylist(items), {"set": "orders", "model": {"model": f"judge {i}"}})
        paths.append(path)
    with without_plots():
        command("leaderboard", *map(str, paths), "--output", str(folder / "site"), "--space", *FAST)
    return folder, paths


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return a folder with files of three models, whose answers to ten problems change more and more often."""
    folder = tmp_path_factory.mktemp("answers")
    for model, flips in (("a", 9), ("b", 4), ("c", 3)):
        frame = pd.DataFrame({"bucket_id": [i // 4 for i in range(60)], "label": [i // 4 % 2 for i in range(60)]})
        frame["prediction"] = frame["label"].where(frame.index % flips > 0, 1 - frame["label"])
        frame.to_csv(folder / f"{model}.csv", index=False)
        frame.drop(columns="label").to_csv(folder / f"{model}-without.csv", index=False)
    return folder


def tables_of(folder, names, **options):
    with without_plots():
        paths = [folder / f"{name}.csv" for name in names]
        models = [name[0] for name in names]
        sets = ["without" if "without" in name else "with" for name in names]
        board = pc.leaderboard(*paths, output=folder / "site", names=models, sets=sets, n_resamples=200, **options)
    page = board.index.read_text(encoding="utf-8")
    heads = {title: [cell["text"].strip() for cell in lines[0]] for title, lines in Tables(page).tables.items()}
    return page, heads


def test_without_gold_labels_a_board_has_the_wording_change_and_says_how_it_ranks(answers):
    """It asked the question of prompt sensitivity, which it did not show, and said neither how it ranks nor on what."""
    page, heads = tables_of(answers, ["a-without", "b-without", "c-without"])
    columns = ["model", "steadiness ?", "rank ?", "wording change ?"]
    assert heads == {"Every model, in per cent, with intervals: wording change, without": columns}
    assert "Wording change (wording change): How often do two wordings of a problem get different answers?" in page
    assert "without: 3 models ranked on 15 problems." in page
    assert "How the ranks were made" in page
    value = pc.score(answers / "a-without.csv").to_dict()["a-without"]["wording"]["wording_change"]
    assert f"{100 * value:.1f}" in page


def test_a_column_of_a_board_is_there_once(answers):
    """Steadiness and ranks were there for each measure of whole problems, also for those of other sets."""
    names = [f"{model}{ending}" for ending in ("", "-without") for model in "abc"]
    _, heads = tables_of(answers, names)
    for columns in heads.values():
        assert len(columns) == len(set(columns))
    assert heads["Every model, in per cent, with intervals"] == [
        *("model", "steadiness, with ?", "rank, with ?", "A, with ?", "steadiness, without", "rank, without"),
    ]
    _, heads = tables_of(answers, "abc", measures=["paraphrastic_consistency", "prompt_sensitivity"])
    (columns,) = heads.values()
    assert [column for column in columns if column.startswith(("steadiness", "rank"))] == [
        *("steadiness, with ?", "rank, with ?")
    ]


def test_the_board_is_what_score_and_the_ranking_say(board):
    folder, paths = board
    page = (folder / "site" / "index.html").read_text(encoding="utf-8")
    tables = Tables(page).tables
    first = tables["Every model, in per cent, with intervals: paraphrastic consistency, toy:set"]
    assert [cell["text"].strip() for cell in first[0]] == ["model", "steadiness ?", "rank ?", "PC ?", "A ?"]
    scores = {f"m{i}": pc.score(paths[i], n_resamples=300).to_dict()["toy:set"] for i in range(3)}
    values = {m: of["wording"]["above_chance"] for m, of in scores.items()}
    sources = {f"m{i}": open_source(paths[i]).sets for i in range(3)} | {"few": open_source(paths[3]).sets}
    (ranked,) = rank_models(sources, CompareOptions(n_resamples=300))
    ranks = {row["model"]: row for row in ranked.ranking.standings}
    lines = {line[0]["text"].strip(): line for line in first[1:]}
    assert sorted(values, key=values.get, reverse=True) == list(lines)[:3]
    assert list(lines)[3:] == ["few", "constant"]  # who is not ranked is last
    assert "org/constant" not in page
    assert "a constant answer has consistency 1" in page
    for name, (_, headline, rank, *_) in lines.items():
        if name in ("few", "constant"):
            assert rank["text"] == "not ranked"
            continue
        low, high = ranks[name]["rank_low"], ranks[name]["rank_high"]
        assert headline["text"] == f"{100 * values[name]:.1f}".replace("-", "−")
        assert (rank["text"], rank["below"]) == (
            f"{low}" if low == high else f"{low} to {high}",
            f"group {ranks[name]['letters']}",
        )
    overview = tables["Every model, in per cent, with intervals"]
    assert {line[0]["text"].strip() for line in overview[1:]} == {"m0", "m1", "m2", "few", "constant"}
    judges = tables["Every model, in per cent, with intervals: symmetric inconsistency, orders"]
    assert [line[0]["text"].strip() for line in judges[1:]] == ["judge 1", "judge 0"]  # fewer flips are better
    assert "toy:set: 3 models ranked on 12 problems" in page
    assert "answered 3 of the 12 problems that" in page
    assert re.findall(r"<h2>(.*?)</h2>", page)[:2] == ["toy:set, second", "orders"]
    for line in (*first[1:], *judges[1:]):
        assert (folder / "site" / line[0]["href"]).is_file()
    assert "sdk: static" in (folder / "site" / "README.md").read_text()
    written = {path.name: path.read_bytes() for path in (folder / "site").rglob("*.html")}
    with without_plots():
        again = pc.leaderboard(*paths, output=folder / "again", n_resamples=300)
    assert {path.name: path.read_bytes() for path in (folder / "again").rglob("*.html")} == written
    assert again.n_models == 7
    with pytest.raises(InputError, match="confidence"):
        pc.leaderboard(*paths, output=folder / "again", confidense=0.9)


def test_a_board_of_one_model_speaks_of_no_ranks(tmp_path):
    run = write_run(tmp_path / "one", answers={f"b{i:02}": "0110" for i in range(12)})
    with without_plots():
        page = pc.leaderboard(run, output=tmp_path / "site", n_resamples=300).index.read_text(encoding="utf-8")
    assert re.search(r">−\d", page)  # less consistent than by chance
    assert not re.search(r">\s*-\d|rank of|How the ranks", page)


def test_a_model_that_is_constant_where_the_others_answered_is_told_why_it_has_no_rank(tmp_path):
    """It stood as not ranked without a reason."""
    whole = {f"b{i:02}": ("0011" if i < 12 else "0000", "0111")[i % 2] for i in range(20)}
    few = {bucket: answers for bucket, answers in whole.items() if bucket < "b12"}
    same = {bucket: "1111" if bucket < "b12" else "0000" for bucket in whole}
    made = {"whole": whole, "few": few, "same": same}
    runs = [write_run(tmp_path / name, answers=answers, model=name) for name, answers in made.items()]
    with without_plots():
        page = pc.leaderboard(*runs, output=tmp_path / "site", n_resamples=300).index.read_text(encoding="utf-8")
    assert "1 not ranked" in page
    assert "<dt>same, toy:set</dt><dd>a constant answer to the problems that all models answered</dd>" in page


class TestBrowser:
    pytestmark = in_chromium

    def test_it_is_read_and_sorted_at_every_width(self, board, chromium):
        with quiet(chromium, (board[0] / "site" / "index.html").as_uri()) as page:
            names = "[...document.querySelector('#board-1 tbody').rows].map((row) => row.cells[0].textContent.trim())"
            before = page.evaluate(names)
            assert before[3:] == ["few", "constant"]
            page.locator("#board-1 th button").nth(1).focus()
            page.keyboard.press("Enter")
            down = page.evaluate(names)
            assert [name for name in down if name in before[:3]] == before[:3]  # the best is the steadiest
            page.keyboard.press("Enter")
            assert page.evaluate(names)[0] == before[2]
            for width in (390, 1440):
                for scheme in ("light", "dark"):
                    page.set_viewport_size({"width": width, "height": 900})
                    page.emulate_media(color_scheme=scheme)
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.bar rect").first.bounding_box()["width"] > 1
