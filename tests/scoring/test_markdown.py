"""Results as Markdown, and roles and paths in plain tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.logs import samples, scored

from paraconsist.reporting.table import Line, as_markdown, table


def test_markdown_through_the_command(command):
    given = ("--bucket", "question_id", "--role", "kind", "--markdown", "--n-resamples", 400)
    sentence, empty, *found = command.out("score", samples("yes_no"), *given).splitlines()
    assert sentence.startswith("yes_no: Two wordings of a problem get different answers 52.2 % of the time")
    assert empty == ""
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
    measure = scored(command, file)["measures"]["paraphrastic_consistency"]
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
    measure = scored(command, file, *given)["measures"]["paraphrastic_consistency"]
    assert (measure["n_buckets"], measure["n_examples"], measure["accuracy"]) == (2, 4, 0.5)
    code, _, err = command("score", file, "--bucket", "meta.second")
    assert (code, "Its columns are id, meta.first" in err) == (2, True)
