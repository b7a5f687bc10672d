"""``report --site``: an index with the numbers of `score` and `compare`, a page for each model, whole or not at all."""

import json
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

import pytest
import yaml
from helpers.browser import QUICK
from helpers.report import ANSWERS, write_run
from test_report_models import FAST, Tables, answers_of, command

from paraconsist.cli.app import main
from paraconsist.errors import InputError
from paraconsist.reporting.page import ReportOptions, load_models, site, write
from paraconsist.running.processes import do_all

NAMES = ("..", "Bär/ü:*?<b>", "x" * 300)


def without_plots():
    return patch.object(write, "report_plots", lambda *_: [])


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_index_is_what_score_and_compare_say_and_leads_to_every_page(tmp_path, capsys):
    shares = (0.6, 0.97, 0.9)
    paths = [str(write_run(tmp_path / f"m{i}", answers=answers_of(i, share))) for i, share in enumerate(shares)]
    named = [part for name in NAMES for part in ("--name", name)]
    folder = tmp_path / "docs"
    with without_plots():
        command("report", *paths, *named, "--site", str(folder), "--space", "--rescore", *FAST)
    assert "3 models" in capsys.readouterr().out
    command("compare", *paths, *named, "--json", *FAST)
    ranks = {row["model"]: row for row in json.loads(capsys.readouterr().out)[0]["ranking"]["standings"]}
    table = Tables((folder / "index.html").read_text(encoding="utf-8")).tables
    lines = table["Every model, in per cent, with intervals: paraphrastic consistency, toy:set"]
    assert [cell["text"].strip() for cell in lines[0]] == ["model", "steadiness ?", "rank ?", "PC ?", "A ?"]
    values = {}
    for path, name in zip(paths, NAMES, strict=True):
        command("score", path, "--json", *FAST)
        scored = json.loads(capsys.readouterr().out)["toy:set"]
        values[name] = scored["wording"], scored["measures"]["paraphrastic_consistency"]
    best = sorted(NAMES, key=lambda name: -values[name][0]["above_chance"])
    assert [line[0]["text"].strip() for line in lines[1:]] == best
    for model, steadiness, rank, headline, accuracy in lines[1:]:
        name = model["text"].strip()
        wording, measure = values[name]
        shown = (steadiness, wording, "above_chance"), (headline, measure, "paraphrastic_consistency_unbiased")
        for cell, of, key in (*shown, (accuracy, measure, "accuracy")):
            ends = [end and f"{100 * end:.1f}" for end in of["confidence_interval"][key]]
            assert cell["text"] == f"{100 * of[key]:.1f}".replace("-0.0", "0.0").replace("-", "−")
            assert cell["below"] == (f"[{ends[0]}, {ends[1]}]".replace("-", "−") if None not in ends else "")
        low, high = ranks[name]["rank_low"], ranks[name]["rank_high"]
        assert rank["text"] == (f"{low}" if low == high else f"{low} to {high}")
        assert rank["below"] == f"group {ranks[name]['letters']}"
        page = (folder / unquote(model["href"])).resolve()
        assert page.parent == folder / "models"
        assert len(page.name) < 80
        assert '<a href="../index.html">' in page.read_text(encoding="utf-8")
    assert "Differences in PC, in points, toy:set" in table
    assert sorted(path for path in files(folder) if not path.startswith("models/")) == [
        ".nojekyll",
        "README.md",
        "index.html",
    ]
    front = (folder / "README.md").read_text().split("---\n")[1]
    assert "sdk: static\n" in front


def test_the_title_of_a_space_is_read_as_it_was_given(tmp_path):
    """Signs beyond the first 65,536 came back as halves, which nothing can write."""
    title = 'Which "model" 🎉 <is> best?'
    entries = load_models([write_run(tmp_path / "a", answers={"half": ANSWERS["half"]})], QUICK)
    with without_plots():
        site.write_site(entries, tmp_path / "site", ReportOptions(title=title, score=QUICK), space=True)
    front = (tmp_path / "site" / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    assert yaml.safe_load(front) == {"title": title, "sdk": "static", "app_file": "index.html"}
    (tmp_path / "site" / "README.md").write_text("mine")
    with without_plots():
        site.write_site(entries, tmp_path / "site", ReportOptions(title=title, score=QUICK), space=True)
    assert (tmp_path / "site" / "README.md").read_text() == "mine"


def test_a_site_is_written_whole_or_not_at_all_and_only_over_a_site(tmp_path):
    answers = {bucket: ANSWERS[bucket] for bucket in ("half", "lost")}
    entries = load_models([write_run(tmp_path / f"m{i}", answers=answers) for i in "ab"], QUICK)
    folder, options = tmp_path / "site", ReportOptions(score=QUICK)
    with without_plots():
        site.write_site(entries, folder, options)
        before = files(folder)
        assert len([path for path in before if path.startswith("models/")]) == 2
        real, calls = site.write_report, []

        def full_disk(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        with patch.object(site, "write_report", full_disk), pytest.raises(OSError, match="No space left"):
            site.write_site(entries, folder, options)
        assert files(folder) == before
        (folder / "notes.txt").write_text("mine")
        site.write_site(entries[:1], folder, options)
        assert len(list((folder / "models").iterdir())) == 1  # pages of models that are gone go
        assert (folder / "notes.txt").read_text() == "mine"
    (folder / "models" / "weights.bin").write_text("mine")
    with pytest.raises(InputError, match=r"weights\.bin"):
        site.write_site(entries, folder, options)
    for wrong in (["--space"], ["--site", "s", "--output", "o.html"]):
        with pytest.raises(SystemExit) as end:
            main(["report", str(tmp_path / "ma"), *wrong])
        assert end.value.code == 2


@pytest.mark.slow
def test_many_pages_are_written_by_processes_as_by_one(tmp_path):
    """What several processes write is the same, byte for byte; few pages need no second process."""
    answers = {f"b{i}": "1101" if i % 3 else "1111" for i in range(6)}
    paths = [write_run(tmp_path / f"m{i}", answers={**answers, "b0": f"{i:04b}"}) for i in range(8)]
    entries, calls = load_models(paths, QUICK), []

    def spread(work, pieces, **options):
        calls.append(options["jobs"])
        do_all(work, pieces, **options)

    for folder, how in (("one", None), ("two", spread)):
        with patch.object(site.os, "cpu_count", lambda: 2):
            written = site.write_site(entries, tmp_path / folder, ReportOptions(score=QUICK), spread=how)
        assert written.n_bytes == sum(map(len, files(tmp_path / folder).values()))
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert calls == [2]
    with without_plots():
        site.write_site(entries[:7], tmp_path / "few", ReportOptions(score=QUICK), spread=spread)
    assert calls == [2]
