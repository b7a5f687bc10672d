"""Files become models and sets: by what they say, else by shared buckets and their own names; none is lost."""

import json
import random
from pathlib import Path

import pytest
from helpers.errors import refuses

from paraconsist.data.long_format import bucket_ids
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import read_predictions, write_predictions
from paraconsist.errors import InputError
from paraconsist.reporting.page import load_models
from paraconsist.scoring.options import ScoreOptions

QUICK = ScoreOptions(n_resamples=100)
FAST = ("--n-resamples", 100)


def write(path: Path, seed: int = 0, buckets: str = "q", **metadata: object) -> Path:
    """Write a model's answers to twelve buckets, with metadata as Parquet, else as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(seed)
    rows = [(f"{buckets}{b}", int(drawn.random() < 0.8), 1) for b in range(12) for _ in range(4)]
    csv = path.with_suffix(".csv")
    csv.write_text("\n".join(",".join(map(str, row)) for row in [("bucket_id", "prediction", "label"), *rows]) + "\n")
    if not metadata:
        return csv
    write_predictions(path.with_suffix(".parquet"), read_predictions(csv).table, metadata)
    return path.with_suffix(".parquet")


def loaded(*paths: Path, names=(), sets=()) -> dict[str, list[str]]:
    """Return model -> its sets."""
    models = load_models(paths, QUICK, names, sets=sets)
    assert sum(len(model.sets) for model in models) == len(paths)
    return {model.name: list(model.sets) for model in models}


@pytest.mark.faults
def test_one_file_name_in_several_folders(tmp_path):
    """FAULTS P18: of two files of one name the first was lost."""
    same = [write(tmp_path / name / "model", i) for i, name in enumerate("ab")]
    assert loaded(*same) == {"a": ["predictions"], "b": ["predictions"]}
    apart = [write(tmp_path / name / "model", i, buckets=name) for i, name in enumerate("cd")]
    assert loaded(*apart) == {"model": ["c", "d"]}


@pytest.mark.faults
def test_models_and_sets_in_folders_either_way(tmp_path):
    """FAULTS P18: five files of two models on four sets were two sets."""
    by_set = [write(tmp_path / s / m, i, buckets=s) for s in ("snli", "atomic") for i, m in enumerate(("bow", "large"))]
    assert loaded(*by_set) == {"bow": ["snli", "atomic"], "large": ["snli", "atomic"]}
    by_model = [write(tmp_path / m / s, i, buckets=s) for i, m in enumerate("ab") for s in ("snli", "atomic")]
    assert loaded(*by_model) == {"a": ["snli", "atomic"], "b": ["snli", "atomic"]}
    deep = [write(tmp_path / m / s / "p", i, buckets=s) for i, m in enumerate("cd") for s in ("snli", "atomic")]
    assert loaded(*deep) == {"c": ["snli", "atomic"], "d": ["snli", "atomic"]}
    five = [write(tmp_path / s / f"{m}", buckets=s) for s, m in [("s1", "x"), ("s1", "y"), ("s2", "x"), ("s3", "x"),
                                                                 ("s4", "y")]]  # fmt: skip
    assert loaded(*five) == {"x": ["s1", "s2", "s3"], "y": ["s1", "s4"]}


def test_in_a_mixture_each_set_is_called_by_its_own_file_or_folder(tmp_path):
    """All were numbered as soon as one had a name of another kind."""
    by_set = [write(tmp_path / s / m, i, buckets=s) for s in ("snli", "atomic") for i, m in enumerate(("bow", "large"))]
    found = loaded(*by_set, write(tmp_path / "agents", buckets="task"), write(tmp_path / "results", buckets="none"))
    both = ["snli", "atomic"]
    assert found == {"bow": both, "large": both, "agents": ["agents"], "results": ["predictions 4"]}


@pytest.mark.faults
def test_no_set_is_called_by_words_that_names_share(tmp_path):
    """FAULTS P22: a set called "large"."""
    files = [write(tmp_path / name, i) for i, name in enumerate(("roberta-large", "deberta-v3-large"))]
    assert loaded(*files) == {"roberta-large": ["predictions"], "deberta-v3-large": ["predictions"]}
    assert loaded(*files, sets=["snli"] * 2, names=["one", "two"]) == {"one": ["snli"], "two": ["snli"]}
    others = [write(tmp_path / name, i, buckets="other") for i, name in enumerate(("x-large", "y-large"))]
    assert [*loaded(*files, *others).values()] == [["predictions 1"]] * 2 + [["predictions 2"]] * 2
    assert loaded(*files, *others, names=[*"abab"], sets=["s", "s", "t", "t"]) == {"a": ["s", "t"], "b": ["s", "t"]}


def test_what_files_say_comes_first(tmp_path):
    of_model = {"model": {"model": "org/m"}}
    named = write(tmp_path / "file", set="snli", **of_model)
    assert loaded(named, write(tmp_path / "other", 1)) == {"m": ["snli"], "other": ["snli"]}
    # buckets of one id in two sets that files name are not of one set
    both = [write(tmp_path / f"{name}", set=name, **of_model) for name in ("snli", "atomic")]
    assert loaded(*both) == {"m": ["snli", "atomic"]}
    with pytest.raises(InputError, match=r"`set` must say which set .*other\.csv is of; got \['atomic', 'snli'\]"):
        loaded(*both, tmp_path / "other.csv")
    assert loaded(write(tmp_path / "alone")) == {"alone": ["alone"]}
    assert loaded(*(write(tmp_path / name, buckets=name) for name in ("s", "t"))) == {"predictions": ["s", "t"]}


def test_what_is_ambiguous_is_an_error_that_says_what_to_type(tmp_path, command):
    twice = [write(tmp_path / name, i, set="s", model={"model": "m"}) for i, name in enumerate("ab")]
    for name in ("report", "leaderboard"):
        said = command.refused(name, *twice, "--output", tmp_path / "out", *FAST)
        assert f"`--name` must be different for two files of one set; got 'm'. Both {twice[0]} and {twice[1]}" in said
        assert "name the models of all 2 files in order (--name a --name b)" in said
    assert loaded(*twice, names=["a", "b"]) == {"a": ["s"], "b": ["s"]}
    refuses(r"`name` must be given once for each of these, in order: .*got \['a'\]", loaded, *twice, names=["a"])
    refuses("be different for two files of one set", loaded, *twice, names=["a", "a"])
    refuses("be different for two files of one set", loaded, twice[0], twice[0])


def test_every_file_is_on_the_pages(tmp_path, command):
    files = [write(tmp_path / s / m, i, buckets=s) for s in ("snli", "atomic") for i, m in enumerate(("bow", "large"))]
    page, site, board = tmp_path / "page.html", tmp_path / "site", tmp_path / "board"
    command.out("report", *files, "--output", page, *FAST)
    assert all(word in page.read_text(encoding="utf-8") for word in ("snli", "atomic", "bow", "large"))
    command.out("report", *files, "--site", site, *FAST, "--set", "s", "--set", "s", "--set", "t", "--set", "t")
    assert "1 model," in command.out("report", files[0], "--site", tmp_path / "one", *FAST)
    assert "2 models" in command.out("leaderboard", *files, "--output", board, *FAST)
    for folder in (site, board):
        assert len(list((folder / "models").iterdir())) == 2


@pytest.mark.real_data
@pytest.mark.faults
def test_the_published_predictions_of_paranlu(data_folder, tmp_path):
    """FAULTS P18: `leaderboard` of 32 files said "1 model"."""
    models, files = ("bow", "roberta-large"), []
    for name in ("snli", "atomic", "social"):
        for model in models:
            (tmp_path / name).mkdir(exist_ok=True)
            files.append(tmp_path / name / f"{model}.parquet")
            files[-1].symlink_to(data_folder / "paranlu" / "predictions" / f"{name}__{model}__human.parquet")
    read = SourceOptions(label="gold", prediction="pred", original="is_original", confidence="conf_gold")
    found = load_models(files, QUICK, read=read)
    assert {model.name: list(model.sets) for model in found} == {m: ["snli", "atomic", "social"] for m in models}
    table4 = json.loads((data_folder / "paranlu" / "expected_values.json").read_text())["table4"]
    published = {(row["dataset"], row["model"]): row["computed"]["P_C"] for row in table4}
    for model in found:
        for name, scored in model.sets.items():
            value = scored.measures["paraphrastic_consistency"]["paraphrastic_consistency"]
            assert value == pytest.approx(published[name, model.name], abs=1e-12)
            assert len(set(bucket_ids(scored.source.predictions, scored.source.columns.bucket))) == 250
