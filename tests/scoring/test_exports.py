"""Results in other tools' forms: lm-eval's files, read back to the same numbers, and Markdown."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.logs import inspect_log, lines, samples

from paraconsist.data.logs.reading import read_logs
from paraconsist.data.options import SourceOptions
from paraconsist.reporting.table import Line, as_markdown, table
from paraconsist.scoring.export import export_lm_eval
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import score_set
from paraconsist.scoring.sources import Source


def results(command, *args: object) -> dict[str, Any]:
    code, out, err = command("score", *args, "--json", "--n-resamples", 400)
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize(
    "given",
    [
        (samples("yes_no"), "--bucket", "doc.question_id", "--role", "kind", "--stratum", "doc.indoors"),
        (samples("which_place"), "--bucket", "meta.fact"),
        (samples("yes_no_generated"), "--bucket", "question_id", "--filter", "anywhere", "--role", "kind"),
        (inspect_log("yes-no"), "--bucket", "question_id"),
    ],
    ids=["chosen", "texts", "generated", "inspect"],
)
def test_what_is_exported_is_read_back(command, tmp_path, given):
    ((name, first),) = results(command, *given, "--export", "lm-eval", "--output-dir", tmp_path).items()
    (summary,), (rows,) = tmp_path.rglob("results_*.json"), tmp_path.rglob(f"samples_{name}_*.jsonl")
    assert summary.parent == rows.parent == tmp_path / first["model"].replace("/", "__")
    assert summary.stem.removeprefix("results_") == rows.stem.removeprefix(f"samples_{name}_")
    said = json.loads(summary.read_text())["results"][name]
    exported = lines(rows)
    assert said["acc,none"] == pytest.approx(sum(row["acc"] for row in exported) / len(exported))
    measure = first["measures"]["paraphrastic_consistency"]
    assert said["paraphrastic_consistency,none"] == measure["paraphrastic_consistency"]
    assert said["paraphrastic_consistency_stderr,none"] == measure["standard_error"]["paraphrastic_consistency"]

    stratum = ["--stratum", "doc.doc.indoors"] if "doc.indoors" in given else []
    ((_, again),) = results(command, tmp_path, "--bucket", "doc.bucket_id", *stratum).items()
    assert again["n_unparsed"] == first["n_unparsed"]
    assert again["model"] == first["model"]
    skipped = ("signature",)
    for key in measure.keys() - set(skipped):
        assert again["measures"]["paraphrastic_consistency"][key] == measure[key], key
    if stratum:
        assert again["strata"]["doc.doc.indoors"].keys() == first["strata"]["doc.indoors"].keys()


def test_exports_keep_the_keys_of_lm_eval(tmp_path):
    wanted = lines(samples("yes_no"))[0].keys()
    (rows,) = read_logs([samples("yes_no")], SourceOptions(bucket="question_id")).values()
    result = score_set(Source("set", rows), ScoreOptions(n_resamples=400)).to_dict()
    written = export_lm_eval(tmp_path, "a/b c", result, rows, SourceOptions(), now=datetime(2026, 1, 2, 3, 4, 5))
    assert [file.name for file in written] == [
        "results_2026-01-02T03-04-05.json",
        "samples_a__b__c_2026-01-02T03-04-05.jsonl",
    ]
    assert lines(written[1])[0].keys() == wanted
    real = json.loads(next(samples("yes_no").parent.glob("results_*")).read_text())
    ours = json.loads(written[0].read_text())
    kept = {"results", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config", "model_name"}
    assert kept <= real.keys() & ours.keys()
    assert ours["n-samples"]["a__b__c"] == real["n-samples"]["yes_no"]


def test_a_plain_table_is_exported_too(command, tmp_path):
    file = tmp_path / "mine.csv"
    rows = [f"{q},{row}" for q in "ab" for row in ("Original,yes,yes", "PARAPHRASE,yes,no", "paraphrase,yes,")]
    file.write_text("\n".join(["q,kind,gold,said", *rows]))
    given = ("--bucket", "q", "--role", "kind", "--label", "gold", "--prediction", "said")
    first = results(command, file, *given, "--export", "lm-eval", "--output-dir", tmp_path / "out")["mine"]
    assert first["n_unparsed"] == 2
    again = results(command, tmp_path / "out", "--bucket", "doc.bucket_id")["mine"]
    for result in (first, again):
        result["measures"]["paraphrastic_consistency"].pop("signature")
    assert again["measures"] == first["measures"]


def test_an_export_says_which_end_of_each_number_is_better(command, tmp_path):
    file = tmp_path / "pairs.csv"
    rows = [
        f"{q},{row}" for q in "abcdef" for row in ("original,1,1", f"paraphrase,1,{int(q > 'b')}", "paraphrase,1,1")
    ]
    file.write_text("\n".join(["bucket_id,role,label,prediction", *rows]))
    measures = ("semantic_inconsistency", "paraphrastic_consistency")
    given = [part for name in measures for part in ("--measure", name)]
    results(command, file, *given, "--export", "lm-eval", "--output-dir", tmp_path / "out")
    written = json.loads(next((tmp_path / "out").rglob("results_*.json")).read_text())
    (better,) = written["higher_is_better"].values()
    higher = ["semantic_inconsistency_accuracy", "semantic_inconsistency_chance_corrected", "consistently_right"]
    lower = ["semantic_inconsistency_inconsistency", "consistently_wrong", "vap_unbiased"]
    assert [better[key] for key in higher + lower] == [True] * 3 + [False] * 3
    assert not any(key.endswith("chance") for key in better)


def test_a_folder_that_cannot_be_written(command, tmp_path):
    (tmp_path / "file").write_text("")
    given = ("--bucket", "question_id", "--export", "lm-eval", "--output-dir", tmp_path / "file")
    code, _, err = command("score", samples("yes_no"), *given, "--n-resamples", 400)
    assert code == 2
    assert "`--output-dir` must be a folder that can be written" in err


def test_markdown_through_the_command(command):
    given = ("--bucket", "question_id", "--role", "kind", "--markdown", "--n-resamples", 400)
    code, out, err = command("score", samples("yes_no"), *given)
    assert code == 0, err
    found = out.splitlines()
    assert found[:4] == [
        "**yes_no: tiny-random-llama, 18 buckets, 43 paraphrases**",
        "",
        "| measure | value | interval |",
        "| --- | ---: | ---: |",
    ]
    assert any(line.startswith("| P_C as published | 91.0 % | [") for line in found)
    assert all(line.count("|") == found[2].count("|") for line in found[2 : found.index("", 2)])
    assert found[-1].startswith("`pc|est:unbiased|")


def test_markdown_shows_hostile_text_as_text():
    rows = [["[x](javascript:alert)"], ["</script><img onerror=`a`>\n_em_ a_b *c* ![i](u)"]]
    made = as_markdown([table("[bold]a[/bold] [red]", ["<b>|"], rows), Line("line | two")])
    assert made.splitlines() == [
        "**[bold]a[/bold] [red]**",
        "",
        "| &lt;b&gt;\\| |",
        "| --- |",
        "| [x\\](javascript:alert) |",
        "| &lt;/script&gt;&lt;img onerror=\\`a\\`&gt; \\_em\\_ a_b \\*c\\* ![i\\](u) |",
        "",
        "line \\| two",
    ]


@pytest.mark.parametrize("word", ["Original", "ORIGINAL", "original"])
def test_roles_in_any_case(command, tmp_path, word):
    file = Path(tmp_path / "rows.csv")
    file.write_text(f"bucket_id,role,label,prediction\na,{word},1,1\na,Paraphrase,1,0\nb,paraphrase,0,0\n")
    measure = results(command, file)["rows"]["measures"]["paraphrastic_consistency"]
    assert (measure["original_accuracy"], measure["n_examples"]) == (1.0, 2)
    file.write_text(file.read_text().replace(word, "first"))
    code, _, err = command("score", file)
    assert (code, "got 'first' at row 1" in err) == (2, True)


def test_paths_and_expressions_in_plain_tables(command, tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = [
        {"id": f"{b}-{v}", "meta": {"first": v == 0}, "label": 1, "prediction": b} for b in (0, 1) for v in range(3)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ("--bucket", r'id ~ "^(\d+)"', "--original", "meta.first")
    measure = results(command, file, *given)["rows"]["measures"]["paraphrastic_consistency"]
    assert (measure["n_buckets"], measure["n_examples"], measure["accuracy"]) == (2, 4, 0.5)
    code, _, err = command("score", file, "--bucket", "meta.second")
    assert (code, "Its columns are id, meta.first" in err) == (2, True)
