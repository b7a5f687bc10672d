"""Prepared sets as a person meets them: by bare name, from a folder, and through the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from paraconsist.cli.options import as_command
from paraconsist.data.building import config_named, is_prepared, prepare, write_folder
from paraconsist.errors import InputError

SAMPLE = {
    "defeasible_nli": {"test": {"original": 60, "paraphrase": 321}},
    "defeasible_nli_test": {"test": {"original": 160}},
    "defeasible_nli_train": {"train": {"original": 480}, "validation": {"original": 80}},
}

DUMP = """
import json, sys
from datasets import load_dataset
from datasets.utils.logging import disable_progress_bar
disable_progress_bar()
for path, config, streaming in json.loads(sys.argv[1]):
    found = load_dataset(path, config, streaming=streaming)
    print(json.dumps({split: {"names": rows.features["label"].names, "columns": list(rows.features),
                              "rows": list(rows)} for split, rows in found.items()}))
"""


def load_fresh(*calls: tuple[str, str, bool], home: Path, cwd: Path) -> list[dict]:
    """`load_dataset` of (path, configuration, whether to stream) each, in one new process, offline, with own caches."""
    done = subprocess.run(
        [sys.executable, "-c", DUMP, json.dumps(calls)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "HF_HOME": str(home), "HF_DATASETS_CACHE": str(home / "ds"), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()[-len(calls) :]]


def rows_of(name: str, config: str, cache: Path) -> dict:
    return {split: rows.to_list() for split, rows in prepare(name, config, cache_dir=cache).as_dataset().items()}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "home" / "ds"


@pytest.mark.parametrize("config", SAMPLE)
def test_sample_counts(cache, config):
    found = rows_of("sample", config, cache)
    for split, roles in SAMPLE[config].items():
        for role, n in roles.items():
            assert sum(row["role"] == role for row in found[split]) == n
    assert set(found) == set(SAMPLE[config])
    assert {row["label"] for rows in found.values() for row in rows} == {0, 1}


def test_sample_originals_stand_in_its_test_set_and_no_training_context_does(cache):
    buckets = rows_of("sample", "defeasible_nli", cache)["test"]
    test = rows_of("sample", "defeasible_nli_test", cache)["test"]
    train = rows_of("sample", "defeasible_nli_train", cache)
    originals = {row["input_id"]: row["label"] for row in buckets if row["role"] == "original"}
    assert len(originals) == 60
    assert originals.items() <= {row["input_id"]: row["label"] for row in test}.items()
    groups = {split: {row["group_id"] for row in rows} for split, rows in train.items()}
    assert not groups["train"] & groups["validation"]
    assert not (groups["train"] | groups["validation"]) & {row["group_id"] for row in test}
    assert all(row["rewording"] == "original" for row in buckets if row["role"] == "original")


@pytest.mark.slow
def test_bare_name_folder_and_stream_agree_in_fresh_processes(cache, tmp_path):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = write_folder("sample", tmp_path / "out", cache_dir=cache)
    configs = ("defeasible_nli", "defeasible_nli_train")
    named = [("paraconsist_sample", config, False) for config in configs]
    *by_name, streamed = load_fresh(*named, ("paraconsist_sample", configs[0], True), home=home, cwd=elsewhere)
    for config, loaded in zip(configs, by_name, strict=True):
        assert {split: found["rows"] for split, found in loaded.items()} == rows_of("sample", config, cache)
        assert all(found["names"] == ["weakener", "strengthener"] for found in loaded.values())
    assert streamed == by_name[0]
    written = [(str(folder), config, False) for config in configs]
    assert load_fresh(*written, ("out", configs[0], True), home=home, cwd=tmp_path) == [*by_name, streamed]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("config", ["delta_atomic", "alpha_nli_automatic"])
def test_paranlu_by_bare_name_and_from_a_folder(data_folder, cache, tmp_path, config):
    home = tmp_path / "home"
    folder = write_folder("paranlu", tmp_path / "out", configs=[config], data_dir=data_folder, cache_dir=cache)
    by_name, by_folder = load_fresh(("paranlu", config, False), (str(folder), config, False), home=home, cwd=tmp_path)
    assert by_name["test"]["rows"] == rows_of("paranlu", config, cache)["test"]
    assert by_folder == by_name


# The folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def front_matter(folder: Path) -> dict:
    return yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def test_the_card_says_what_the_folder_holds(cache, tmp_path):
    folder = write_folder("sample", tmp_path / "new" / "out", cache_dir=cache)
    card = front_matter(folder)
    assert [c["config_name"] for c in card["configs"]] == list(SAMPLE)
    assert [c["config_name"] for c in card["configs"] if c.get("default")] == ["defeasible_nli"]
    assert card["license"] == "apache-2.0"
    for info in card["dataset_info"]:
        sizes = {split["name"]: split["num_examples"] for split in info["splits"]}
        assert sizes == {split: sum(roles.values()) for split, roles in SAMPLE[info["config_name"]].items()}
    paths = {file["path"] for c in card["configs"] for file in c["data_files"]}
    assert set(tree(folder)) == {*paths, "README.md"}


def test_writing_twice_gives_the_same_bytes(cache, tmp_path):
    folder = write_folder("sample", tmp_path / "out", cache_dir=cache)
    before = tree(folder)
    write_folder("sample", folder, cache_dir=cache)
    assert tree(folder) == before
    assert tree(write_folder("sample", tmp_path / "again", cache_dir=tmp_path / "other")) == before
    assert {p.name for p in tmp_path.iterdir()} == {"home", "other", "out", "again"}


def test_configs_of_an_earlier_call_stay(cache, tmp_path):
    folder = tmp_path / "out"
    write_folder("sample", folder, configs=["defeasible_nli_train"], cache_dir=cache)
    assert [c["config_name"] for c in front_matter(folder)["configs"] if c.get("default")] == ["defeasible_nli_train"]
    write_folder("sample", folder, configs=["defeasible_nli", "defeasible_nli"], cache_dir=cache)
    assert [c["config_name"] for c in front_matter(folder)["configs"]] == ["defeasible_nli", "defeasible_nli_train"]
    assert {i["config_name"] for i in front_matter(folder)["dataset_info"]} == set(SAMPLE) - {"defeasible_nli_test"}


@pytest.mark.parametrize("content", [{"notes.txt": "mine"}, {"README.md": "# mine"}, {"README.md": "---\na: b\n---\n"}])
def test_a_folder_with_something_else_is_left_alone(cache, tmp_path, content):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in content.items():
        (folder / name).write_text(text)
    with pytest.raises(InputError, match=r"`folder` must be new, empty, or a folder that this command wrote"):
        write_folder("sample", folder, cache_dir=cache)
    assert {p.name: p.read_text() for p in folder.iterdir()} == content


def test_an_empty_folder_is_filled(cache, tmp_path):
    (tmp_path / "out").mkdir()
    folder = write_folder("sample", tmp_path / "out", configs=["defeasible_nli"], cache_dir=cache)
    assert {p.name for p in folder.iterdir()} == {"README.md", "data"}


def test_a_folder_that_cannot_be_written(cache, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"`folder` must be a folder that can be written; got '.*file/out'"):
        write_folder("sample", tmp_path / "file" / "out", cache_dir=cache)
    with pytest.raises(InputError, match="`folder` must be new, empty"):
        write_folder("sample", tmp_path / "file", cache_dir=cache)


# prepare


def test_is_prepared_writes_nothing(cache):
    assert not is_prepared("sample", "defeasible_nli", cache_dir=cache)
    assert not cache.exists()
    prepare("sample", "defeasible_nli", cache_dir=cache)
    assert is_prepared("sample", "defeasible_nli", cache_dir=cache)
    assert not is_prepared("sample", "defeasible_nli_test", cache_dir=cache)


def test_the_default_config():
    assert config_named("sample").name == "defeasible_nli"
    assert config_named("paranlu").name == "delta_snli"


def test_unknown_names(cache):
    with pytest.raises(InputError, match=r"`name` must be one of becel, paranlu, parte, sample; got 'paralnu'"):
        prepare("paralnu", "delta_snli", cache_dir=cache)
    with pytest.raises(InputError, match=r"`config` must be a config of paranlu: alpha_nli, .*; got 'delta'"):
        prepare("paranlu", "delta", cache_dir=cache)


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"`cache_dir` must be a folder that can be written; got '.*file/cache'"):
        prepare("sample", cache_dir=tmp_path / "file" / "cache")


# The commands


def command(function, *arguments: str):
    return CliRunner().invoke(as_command("build", function), [str(a) for a in arguments])


def test_build_prints_counts_and_what_to_type(cache, tmp_path):
    from paraconsist.cli.build import build

    done = command(build, "sample", "--cache-dir", cache, "--folder", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "test: 381 rows (60 original, 321 paraphrase)" in done.output
    assert "train: 480 rows" in done.output
    assert f'load_dataset("paraconsist_sample", "defeasible_nli", cache_dir="{cache}")' in done.output
    assert f'load_dataset("{tmp_path / "out"}", "defeasible_nli")' in done.output
    assert "HF_HUB_OFFLINE=1" in done.output


def test_build_one_config(cache):
    from paraconsist.cli.build import build

    done = command(build, "sample", "--config-name", "defeasible_nli_test", "--cache-dir", cache)
    assert done.exit_code == 0, done.output
    assert is_prepared("sample", "defeasible_nli_test", cache_dir=cache)
    assert not is_prepared("sample", "defeasible_nli", cache_dir=cache)


def test_build_warns_of_a_folder_that_hides_the_name(cache, tmp_path, monkeypatch):
    from paraconsist.cli.build import build

    monkeypatch.chdir(tmp_path)
    done = command(
        build, "sample", "--config-name", "defeasible_nli", "--cache-dir", cache, "--folder", "paraconsist_sample"
    )
    assert "the folder ./paraconsist_sample hides the set" in done.output


def test_build_into_the_folder_of_another_set(cache, tmp_path):
    from paraconsist.cli.build import build

    folder = tmp_path / "out"
    given = ["--config-name", "defeasible_nli", "--cache-dir", cache, "--folder", folder]
    assert command(build, "sample", *given).exit_code == 0
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("config_name: defeasible_nli", "config_name: other"))
    done = command(build, "sample", *given)
    assert isinstance(done.exception, InputError)
    assert "a folder that this command wrote for the same set" in str(done.exception)
    (folder / "README.md").write_text(card)
    assert command(build, "sample", *given).exit_code == 0


@pytest.mark.real_data
def test_build_paranlu_from_a_mirror(data_folder, cache):
    from paraconsist.cli.build import build

    done = command(build, "paranlu", "--data-dir", data_folder, "--cache-dir", cache)
    assert done.exit_code == 0, done.output
    assert "test: 2,230 rows (250 original, 1,980 paraphrase)" in done.output
    assert "test: 9,439 rows" in done.output
    assert done.output.count("load_dataset(") == 12


def test_build_of_an_unknown_set_or_config(cache):
    from paraconsist.cli.build import build

    for arguments in (["nothing"], ["sample", "--config-name", "nothing"]):
        assert isinstance(command(build, *arguments, "--cache-dir", cache).exception, InputError)
    assert not cache.exists()


def test_list_shows_what_there_is(monkeypatch):
    from paraconsist.cli.build import list_

    monkeypatch.setenv("COLUMNS", "250")
    done = command(list_, "--long")
    assert done.exit_code == 0, done.output
    for word in ("paraphrastic_consistency", "paranlu:delta_social_automatic", "1,688 paraphrase", "abductive_nli"):
        assert word in done.output
    assert "s24-roberta" in done.output
    assert "--vectors" in done.output
    assert "`vectors`" not in done.output


@pytest.mark.slow
def test_a_piped_standard_error_gets_no_progress_bars(cache):
    given = [sys.executable, "-m", "paraconsist", "build", "sample", "--cache-dir", str(cache)]
    env = {name: value for name, value in os.environ.items() if "PROGRESS_BARS" not in name}
    done = subprocess.run(given, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "examples" not in done.stderr


@pytest.mark.slow
def test_list_and_build_do_not_import_torch(cache):
    code = (
        "import sys; import paraconsist.cli.build; from paraconsist.cli.app import _run; "
        "assert 'datasets' not in sys.modules; assert _run(['list']) == 0; "
        f"assert _run(['build', 'sample', '--config-name', 'defeasible_nli', '--cache-dir', {str(cache)!r}]) == 0; "
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
