"""The command `paraphrase`: by rules, with a language model, with a judge, back from the sheet, and what it refuses."""

from __future__ import annotations

import csv
import json

import pytest
from helpers.models import tiny_encoder
from helpers.paraphrase import fill, write_places

from paraconsist.data.bucket_sets import load_bucket_set


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return write_places(tmp_path_factory.mktemp("paraphrase"))


def test_the_command_by_rules_and_back_from_the_sheet(tmp_path, places, command):
    output = tmp_path / "set"
    code, said, err = command("paraphrase", places / "rows.csv", "--no-entailment", "--keep", 2, "--output", output)
    assert code == 0, err
    assert "rows left out 1: no gold label" in err
    assert "candidates accepted (" in err
    assert "semantic similarity: not measured; it needs --measure with --embedding-model" in said
    sheet = tmp_path / "set.check.csv"
    n = len(sheet.read_text().splitlines()) - 1
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        n = len(list(csv.DictReader(stream)))
    fill(sheet, valid=["yes"] * (n - 1) + ["no"])
    said = command.out("paraphrase", output, "--checked", sheet, "--output", tmp_path / "kept")
    assert f"{n - 1} of {n} judged paraphrases are valid" in said
    assert load_bucket_set(str(tmp_path / "kept")).task.name == "nli"
    assert "`--output` must not be there already" in command.refused(
        "paraphrase", places / "rows.csv", "--no-entailment", "--output", output
    )
    said = command.out("paraphrase", output, "--measure", "--json", "--embedding-model", places / "nli")
    assert -1 <= json.loads(said)["semantic_similarity"] <= 1
    assert json.loads(said)["syntactic_distance"] is None


def test_a_filtered_set_says_how_often_its_check_errs(tmp_path, places, command):
    pytest.importorskip("wordllama")
    given = ("paraphrase", places / "rows.csv", "--no-entailment", "--keep", 2, "--check", "similar")
    code, _, err = command(*given, "--output", tmp_path / "set")
    assert code == 0, err
    error = "similar keeps 99 % of valid and 99 % of invalid paraphrases, on search queries that people judged"
    assert f"check: {error}" in err
    assert error in (tmp_path / "set" / "README.md").read_text(encoding="utf-8")
    assert load_bucket_set(str(tmp_path / "set")).error_of_check.startswith(error)
    refusal = command.refused(*given[:-1], "tokens", "--output", tmp_path / "other")
    assert "`--check` must be nli:MODEL, plui:MODEL, judge:FILE or similar; got 'tokens'" in refusal


@pytest.mark.faults
def test_the_next_command_runs_as_typed_because_the_set_remembers_its_task(tmp_path, command):
    rows = ["A man is riding a horse on the beach.", "Two dogs are running through the grass."] * 2
    with (tmp_path / "rows.csv").open("w") as stream:
        csv.writer(stream).writerows([("text", "label"), *((text, i % 2) for i, text in enumerate(rows))])
    given = ["--task", "sentiment", "--no-entailment", "--keep", 1, "--output", tmp_path / "set.parquet"]
    code, _, err = command("paraphrase", tmp_path / "rows.csv", *given)
    assert code == 0, err
    said = next(line for line in err.splitlines() if line.startswith("Next: paraconsist ")).split()[2:]
    assert "--task" not in said
    model = tiny_encoder(tmp_path / "model", ("negative", "positive"), words=" ".join(rows).split())
    said[said.index("MODEL")] = str(model)
    assert command(*said)[0] == 0
    assert load_bucket_set(said[said.index("--dataset") + 1]).task.name == "sentiment"


@pytest.mark.faults
def test_rules_for_english_refuse_german(tmp_path, command):
    texts = [f"Der Film ist {how} und die Musik auch." for how in ("gut", "schlecht", "lang", "neu")]
    with (tmp_path / "rows.csv").open("w") as stream:
        csv.writer(stream).writerows([("text", "label"), *((text, i % 2) for i, text in enumerate(texts))])
    given = ["--task", "sentiment", "--no-entailment", "--output", tmp_path / "set.parquet"]
    assert "rules (de)" in command.refused("paraphrase", tmp_path / "rows.csv", *given)


def test_the_command_with_a_language_model(tmp_path, places, command):
    given = ["paraphrase", places / "rows.csv", "--generator", places / "causal", "--preset", "s24", "--seed", 2]
    code, said, err = command(*given, "--max-new-tokens", 6, "--tries", 3, "--output", tmp_path / "a.parquet", "--json")
    assert code == 0, err
    found = json.loads(said)
    counts = found["counts"]
    assert counts["n_candidates"] >= 4 * 9
    assert counts["n_accepted"] + sum(counts["left_out"].values()) == counts["n_judged"]
    assert found["settings"]["temperature"] == 0.7
    assert "candidates accepted (" in err
    assert load_bucket_set(str(tmp_path / "a.parquet")).table.num_rows == counts["n_accepted"] + 4


def saved_with_one_answer(places, folder, label):
    """Save the tiny NLI model with a head that says one label whatever it reads."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(places / "nli")
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.nn.functional.one_hot(torch.tensor(label), 3).float())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(places / "nli").save_pretrained(folder)
    return folder


def test_the_command_with_a_judge(tmp_path, places, command):
    always = saved_with_one_answer(places, tmp_path / "always", 1)  # contradiction, entailment, neutral
    given = ["paraphrase", places / "rows.csv", "--keep", 3, "--json", "--output", tmp_path / "b.parquet"]
    said = command.out(*given, "--nli-model", always)
    assert "not entailed both ways" not in json.loads(said)["counts"]["left_out"]
    never = saved_with_one_answer(places, tmp_path / "never", 2)
    err = command.refused(*given, "--nli-model", never, "--overwrite")
    assert "must have enough paraphrases" in err
    assert "(0.0 %), for 4 distinct originals" in err
    assert "must have one label called entailment" in command.refused(
        *given, "--nli-model", never, "--overwrite", "--label-map", "neutral=entailment"
    )  # now there are two


def blank(texts):
    return [["", " "] for _ in texts]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--output", "OUT"], "`--nli-model` must be given: preset a24"),
        ([], "`--output` must be given"),
        (["--output", "OUT", "--nli-model", "OTHER"], "`--nli-model` must have one label called entailment"),
        (["--output", "OUT", "--nli-model", "NOWHERE"], "`--nli-model` must"),
        (["--output", "OUT", "--no-entailment", "--beams", "4"], "`--candidates` must not be above"),
        (["--output", "OUT", "--no-entailment", "--generator", f"{__name__}:blank", "--tries", "3"], "write texts"),
        (["--output", "OUT", "--no-entailment", "--generator", "NLI"], "`--generator` must be rules, module:function"),
        (["--output", "OUT", "--no-entailment", "--generator", "NOWHERE"], "`--generator` must"),
        (["--output", "OUT", "--no-entailment", "--column", "update"], "`--column` must be one of premise, hypothesis"),
        (["--output", "OUT", "--no-entailment", "--least", "50"], "`originals` must have enough paraphrases"),
        (["--output", "out.csv", "--no-entailment"], "`--output` must end in .parquet, or be a folder's name"),
        (["--output", "OUT", "--no-entailment", "--examples", "NOWHERE"], "`--examples` must name a CSV"),
        (["--measure"], "`bucket_id` must be a column"),
        (["--measure", "--parser", "corenlp"], "`bucket_id` must be a column"),
    ],
)
def test_the_command_refuses(tmp_path, places, command, given, message):
    named = {
        "OUT": tmp_path / "out.parquet",
        "OTHER": places / "other",
        "NLI": places / "nli",
        "NOWHERE": tmp_path / "no",
    }
    assert message in command.refused("paraphrase", places / "rows.csv", *(named.get(item, item) for item in given))
    assert not (tmp_path / "out.parquet").exists()
