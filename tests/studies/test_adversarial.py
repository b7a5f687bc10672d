"""Training with variants of the rows, and the paired comparison of before and after."""

import csv
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.commands import done, refused
from helpers.errors import refuses
from helpers.rows import easy_rows, write_csv
from helpers.study_rows import bucket_rows

from paraconsist.data.predictions import read_predictions
from paraconsist.errors import InputError
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.studies.adversarial import augment


def read(file: Path) -> list[dict]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def shout(text: str) -> str:
    """Words for words: "likes" becomes "adores"."""
    return text.replace("likes", "adores")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_csv(tmp_path / "train.csv", easy_rows(60))
    write_csv(tmp_path / "toy.csv", bucket_rows(15))
    write_csv(tmp_path / "words.csv", [{"key": "likes", "value": "adores"}, {"key": "hates", "value": "loathes"}])
    return tmp_path


def test_rows_are_written_three_ways(files: Path) -> None:
    made = augment(files / "train.csv", files / "rows", "test_adversarial:shout", ["update"])
    before, after, repeated = (read(getattr(made, kind)) for kind in ("before", "after", "repeated"))
    assert (made.n_rows, made.n_variants) == (60, 30)
    assert before == read(files / "train.csv")
    assert after[:60] == repeated[:60] == before
    assert [row["update"] for row in after[60:]] == [shout(r["update"]) for r in before if "likes" in r["update"]]
    assert repeated[60:] == [row for row in before if "likes" in row["update"]]
    assert [row["label"] for row in after[60:]] == ["1"] * 30
    few = augment(files / "train.csv", files / "few", "test_adversarial:shout", ["update"], limit=3)
    assert (few.n_rows, few.n_variants) == (3, sum("likes" in row["update"] for row in before[:3]))
    assert read(few.before) == before[:3]


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("test_adversarial:shout", ["nothing"], "be columns of train.csv"),
        ("test_adversarial:shout", [], "columns"),
        ("builtins:str", ["update"], "change at least one text"),
        ("nothing", ["update"], "wordnet_nouns"),
        ("textattack:WordNetAugmenter", ["update"], "unless TextAttack is installed"),
    ],
)
def test_what_makes_no_variant_is_refused(
    name: str, columns: list[str], message: str, files: Path, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "textattack", None)
    refuses(message, augment, files / "train.csv", files / "rows", name, columns)


def test_a_recipe_of_textattack_is_called_through_its_public_interface(files: Path, monkeypatch) -> None:
    class Augmenter:
        def __init__(self, pct_words_to_swap: float, transformations_per_example: int) -> None:
            assert (pct_words_to_swap, transformations_per_example) == (0.3, 1)

        def augment(self, text: str) -> list[str]:
            return [shout(text)] if "likes" in text else []

    package, module = ModuleType("textattack"), ModuleType("textattack.augmentation")
    module.ToyAugmenter = Augmenter  # type: ignore[attr-defined]
    package.augmentation = module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "textattack", package)
    monkeypatch.setitem(sys.modules, "textattack.augmentation", module)
    made = augment(files / "train.csv", files / "rows", "textattack:ToyAugmenter", ["update"], options={"share": 0.3})
    assert made.n_variants == 30
    with pytest.raises(InputError, match="name a recipe of TextAttack: ToyAugmenter"):
        augment(files / "train.csv", files / "rows", "textattack:Nothing", ["update"])


@pytest.mark.slow
def test_a_paraphraser_of_the_package_gives_its_first_candidate(tmp_path: Path) -> None:
    rows = [{"text": text, "label": i} for i, text in enumerate(("The kids are outside.", "Xyzzy.", ""))]
    write_csv(tmp_path / "train.csv", rows)
    (variant,) = read(augment(tmp_path / "train.csv", tmp_path / "rows", "paraphrase:rules", ["text"]).after)[3:]
    assert variant["label"] == "0"
    assert "outside" in variant["text"].lower()
    assert variant["text"] != "The kids are outside."


@pytest.mark.slow
def test_before_and_after_are_compared_on_the_same_rows(files: Path) -> None:
    line = ["adversarial", "--model", "bow", "--train-file", files / "train.csv", "--dataset", files / "toy.csv",
               "--columns", "update", "--transformation", "dictionary", "--dictionary", files / "words.csv",
               "--output", files / "out", "--set", "epochs=2", "--seeds", "0,1", "--control", "--device", "cpu",
               "--n-resamples", 20, "--n-permutations", 200]  # fmt: skip
    done(line)
    said = json.loads((files / "out" / "adversarial.json").read_text())
    assert (said["n_rows"], said["n_variants"]) == (60, 60)
    asked = {(c["seed"], c["against"], c["measure"]) for c in said["comparisons"]}
    measures = ("paraphrastic_consistency", "semantic_inconsistency")
    assert asked == {(s, a, m) for s in (0, 1) for a in ("before", "repeated") for m in measures}
    found = {}
    for kind in ("after", "before"):
        found[kind] = read_predictions(files / "out" / f"{kind}-seed-0" / "run" / "predictions" / "toy.parquet").table
    after, before = found["after"], found["before"]
    expected = consistency_difference(
        after["prediction"].to_pylist(),
        before["prediction"].to_pylist(),
        after["label"].to_pylist(),
        after["bucket_id"].to_pylist(),
        roles=after["role"].to_pylist(),
        n_resamples=20,
        n_permutations=200,
    )
    entry = next(
        c for c in said["comparisons"] if (c["seed"], c["against"], c["measure"]) == (0, "before", measures[0])
    )
    assert (entry["difference"], entry["p_value"]) == (expected.difference, expected.p_value)
    over = next(o for o in said["over_seeds"] if (o["measure"], o["against"]) == (measures[1], "before"))
    each = [c["difference"] for c in said["comparisons"] if (c["measure"], c["against"]) == (measures[1], "before")]
    assert over["difference"] == pytest.approx(sum(each) / 2)
    trained = (files / "out" / "after-seed-0" / "model" / "training.json").stat().st_mtime_ns
    said_again = done(line)
    assert (files / "out" / "after-seed-0" / "model" / "training.json").stat().st_mtime_ns == trained
    assert json.loads((files / "out" / "adversarial.json").read_text()) == said
    assert max(map(len, said_again.splitlines())) <= 120


def test_options_that_cannot_be_are_refused(files: Path) -> None:
    base = ["adversarial", "--model", "bow", "--train-file", files / "train.csv", "--dataset", files / "toy.csv",
            "--columns", "update", "--output", files / "out"]  # fmt: skip
    assert "be whole numbers" in refused(*base, "--seeds", "a")
    assert "each once" in refused(*base, "--seeds", "1,1")
    assert "of the form NAME=VALUE" in refused(*base, "--set", "epochs")
    assert "`label_names` must be a list of names, as [a, b]; got 'no,yes'" in refused(
        *base, "--set", "label_names=no,yes"
    )
    assert "Did you mean `label_names`?" in refused(*base, "--set", "label_mames=1")  # it was met as a crash


@pytest.mark.slow
def test_a_model_s_labels_are_mapped_by_an_option_that_the_error_names(files: Path) -> None:
    """It named a parameter that the command had no option for."""
    line = ["adversarial", "--model", "bow", "--train-file", files / "train.csv", "--dataset", files / "toy.csv",
            "--columns", "update", "--transformation", "dictionary", "--dictionary", files / "words.csv",
            "--output", files / "out", "--set", "epochs=1", "--set", "label_names=[down, up]", "--device", "cpu",
            "--n-resamples", 20, "--n-permutations", 200]  # fmt: skip
    assert "name it: `--label-map` down=TASK_LABEL `--label-map` up=TASK_LABEL." in refused(*line)
    done([*line, "--label-map", "down=weakener", "--label-map", "up=strengthener"])
    run = read_predictions(files / "out" / "after-seed-0" / "run" / "predictions" / "toy.parquet")
    assert {"weakener", "strengthener"} <= set(re.findall(r"\w+", str(run.metadata["label_map"])))
