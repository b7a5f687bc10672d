"""What all builders share, on a made-up set: downloads, mirror, checks, and all-or-nothing preparing."""

import hashlib
import os
import subprocess
import sys
import textwrap
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import datasets
import pytest
from helpers.errors import refuses
from helpers.toy_builder import CONTENT, FILE, ToyBuilder, toy_rows

from paraconsist.data.tasks import get_task, input_id
from paraconsist.dataset_builders import BUILDERS, builder_class, upstream
from paraconsist.dataset_builders.bucket_set import BucketSetBuilder
from paraconsist.errors import InputError


class OtherBuilder(ToyBuilder):
    NAME = "other_toy"


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    path = tmp_path / "mirror" / "upstream" / "github.com" / FILE.relative_path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return tmp_path / "mirror"


def prepared(mirror: Path, cache: Path, cls: type[BucketSetBuilder] = ToyBuilder) -> BucketSetBuilder:
    builder = cls(cache_dir=str(cache), data_dir=mirror)
    builder.download_and_prepare()
    return builder


# The rows


def test_rows_and_schema(mirror, tmp_path):
    rows = prepared(mirror, tmp_path / "cache").as_dataset(split="test")
    assert rows.column_names == [
        "example_id",
        "input_id",
        "bucket_id",
        "group_id",
        "role",
        "premise",
        "hypothesis",
        "label",
        "allowed_labels",
        "worker",
    ]
    assert rows.features["label"].names == ["entailment", "neutral", "contradiction"]
    assert rows[3] == {
        **toy_rows()[3],
        "input_id": input_id("nli", toy_rows()[3]),
        "group_id": "b1",
        "allowed_labels": [2],
    }


@pytest.mark.parametrize("below", ["", "upstream", "upstream/github.com"])
def test_a_mirror_may_be_named_at_any_level(mirror, tmp_path, below):
    assert len(prepared(mirror / below, tmp_path / "cache").as_dataset(split="test")) == 6


def test_the_mirror_does_not_enter_the_identity(mirror, tmp_path):
    plain, mirrored = (ToyBuilder(cache_dir=str(tmp_path)), ToyBuilder(cache_dir=str(tmp_path), data_dir=mirror))
    assert plain.cache_dir == mirrored.cache_dir


def test_the_cache_is_named_after_the_set_its_version_and_its_content(mirror, tmp_path):
    builder = prepared(mirror, tmp_path / "cache")
    assert Path(builder.cache_dir) == tmp_path / "cache" / "toy" / "all" / "1.2.0" / ToyBuilder.content_hash()
    other = prepared(mirror, tmp_path / "cache", OtherBuilder)
    assert Path(other.cache_dir).parts[-4] == "other_toy"


def test_every_config_of_every_builder_has_version_task_counts_and_known_strata():
    for name in BUILDERS:
        cls = builder_class(name)
        assert cls.NAME in (name, f"paraconsist_{name}")
        for config in cls.BUILDER_CONFIGS:
            assert str(config.version) != "0.0.0"
            two_way = ("entailment", "not_entailment")  # RTE: the one set with labels of its own
            assert config.label_names in (get_task(config.task).label_names, two_way)
            assert config.counts
            assert set(config.strata) <= set(cls.STRATA)


def test_an_edit_of_code_or_shipped_data_changes_the_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(ToyBuilder, "source_folder", classmethod(lambda cls: tmp_path))
    hashes = {ToyBuilder.content_hash()}
    for name, text in (("builder.py", "a"), ("builder.py", "b"), ("rows.jsonl", "b"), ("rows.jsonl", "c")):
        (tmp_path / name).write_text(text)
        hashes.add(ToyBuilder.content_hash())
    assert len(hashes) == 5
    (tmp_path / "README.md").write_text("documentation does not rebuild")
    assert ToyBuilder.content_hash() in hashes


def test_unknown_builder():
    refuses(r"`name` must be one of becel, paranlu, parte, sample; got 'paranlp'", builder_class, "paranlp")


# Preparing, whole or not at all


def test_a_second_call_builds_nothing(mirror, tmp_path):
    prepared(mirror, tmp_path / "cache")
    before = ToyBuilder.generated
    left = tmp_path / "cache" / ".toy.paraconsist-staging"
    (left / "set").mkdir(parents=True)  # by a power cut at the end of the first
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"))  # no mirror, no network: nothing is read
    builder.download_and_prepare()
    assert ToyBuilder.generated == before
    assert not left.exists()
    assert len(builder.as_dataset(split="test")) == 6


def flipped(file: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("file", ["toy-test.arrow", "dataset_info.json", "paraconsist.json"])
@pytest.mark.parametrize("damage", [Path.unlink, flipped, lambda file: file.write_text("")])
def test_a_damaged_set_is_built_again(mirror, tmp_path, file, damage):
    builder = prepared(mirror, tmp_path / "cache")
    rows = builder.as_dataset(split="test").to_list()
    damage(Path(builder.cache_dir) / file)
    if (damage, file) == (Path.unlink, "paraconsist.json"):  # as sets were prepared before there were checksums
        assert builder.is_prepared()
        return
    assert not builder.is_prepared()
    with pytest.warns(UserWarning, match="damaged: it is built again"):
        assert prepared(mirror, tmp_path / "cache").as_dataset(split="test").to_list() == rows
    assert builder.is_prepared()


def test_force_redownload_builds_again(mirror, tmp_path):
    builder = prepared(mirror, tmp_path / "cache")
    before = ToyBuilder.generated
    builder.download_and_prepare(download_mode="force_redownload")
    assert ToyBuilder.generated == before + 1
    assert len(builder.as_dataset(split="test")) == 6


def test_the_latest_prepared_version_is_the_one_served(mirror, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = prepared(mirror, cache)
    ToyBuilder(cache_dir=str(cache), data_dir=mirror, hash="e" * 64).download_and_prepare()

    def served() -> str:
        return datasets.load_dataset_builder("toy", "all", cache_dir=str(cache)).hash

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert served() == "e" * 64
    first.download_and_prepare()  # back to the earlier code: already there, but it must be served again
    assert served() == first.hash


def test_other_output_folders_work_as_in_datasets(mirror, tmp_path):
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"), data_dir=mirror)
    builder.download_and_prepare(str(tmp_path / "out"), file_format="parquet")
    assert (tmp_path / "out" / "toy-test.parquet").is_file()


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import helpers.toy_builder as t

def rows(self, split, files):
    yield from t.toy_rows()[:3]
    os.kill(os.getpid(), signal.SIGKILL)

t.ToyBuilder.rows = rows
cache, mirror = sys.argv[1:]
t.ToyBuilder(cache_dir=cache, data_dir=mirror).download_and_prepare()
"""


@pytest.mark.slow
def test_four_builds_at_once(mirror, tmp_path):
    code = "import sys; sys.path.insert(0, sys.argv[3]); import helpers.toy_builder as t; sys.stdin.read(1)\n"
    code += "t.ToyBuilder(cache_dir=sys.argv[1], data_dir=sys.argv[2]).download_and_prepare()\n"
    code += "print(t.ToyBuilder.generated)"
    cache, tests = tmp_path / "with blanks and Ümläute", Path(__file__).resolve().parents[1]
    line = [sys.executable, "-W", "error::UserWarning:dataset_builders", "-c", code, cache, mirror, tests]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    builds = [subprocess.Popen(line, env={**os.environ, "HF_HOME": str(tmp_path / "home")}, **pipes) for _ in range(4)]
    generated = [build.communicate("x")[0].strip() for build in builds]
    assert sorted(generated) == ["0", "0", "0", "1"]
    assert len(prepared(mirror, cache).as_dataset(split="test")) == 6


@pytest.mark.slow
def test_a_killed_build_leaves_nothing_that_is_served(mirror, tmp_path):
    cache = tmp_path / "cache"
    code = KILLED.format(tests=str(Path(__file__).resolve().parents[1]))
    killed = subprocess.run(
        [sys.executable, "-c", code, cache, mirror],
        capture_output=True,
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
    )
    assert killed.returncode == -9, killed.stderr.decode()
    assert list(cache.glob(".toy.paraconsist-staging/*"))  # it was killed while it wrote
    assert not list(cache.glob("toy/*"))  # what load_dataset would look through
    assert len(prepared(mirror, cache).as_dataset(split="test")) == 6
    assert not list(cache.glob(".*staging*"))


def test_a_cache_that_cannot_be_written(mirror, tmp_path):
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"), data_dir=mirror)
    (tmp_path / "cache" / "toy").write_text("a file where the folder should be")
    refuses(r"`cache_dir` must be a folder that can be written; got .*HF_DATASETS_CACHE", builder.download_and_prepare)


# Streaming


def test_streaming_gives_the_same_rows(mirror, tmp_path):
    builder = prepared(mirror, tmp_path / "cache")
    assert list(builder.as_streaming_dataset(split="test")) == builder.as_dataset(split="test").to_list()


def test_streaming_checks_the_file_too(mirror, tmp_path):
    (mirror / "upstream" / "github.com" / FILE.relative_path).write_bytes(CONTENT[:-1])
    stream = ToyBuilder(cache_dir=str(tmp_path / "cache"), data_dir=mirror).as_streaming_dataset(split="test")
    refuses("must have sha256", list, stream)


# Files: mirror and network


def test_a_folder_that_is_no_mirror(tmp_path):
    with pytest.raises(InputError, match=r"`data_dir` must be a folder that mirrors the upstream files; got '.*none'"):
        ToyBuilder(cache_dir=str(tmp_path), data_dir=tmp_path / "none")


def test_a_file_that_the_mirror_lacks(mirror, tmp_path):
    (mirror / "upstream" / "github.com" / FILE.relative_path).unlink()
    with pytest.raises(InputError, match=r"must hold the file who/what/c0ffee/data/toy\.json; .* Save https://raw"):
        prepared(mirror, tmp_path / "cache")


def test_a_corrupt_mirror_file(mirror, tmp_path):
    path = mirror / "upstream" / "github.com" / FILE.relative_path
    path.write_bytes(CONTENT + b" ")
    found = hashlib.sha256(CONTENT + b" ").hexdigest()
    with pytest.raises(InputError) as caught:
        prepared(mirror, tmp_path / "cache")
    message = str(caught.value)
    assert message.startswith(f"build toy: `data/toy.json` must have sha256 {FILE.sha256}; got {found} (")
    assert f"Replace the file with the one at {FILE.url}." in message
    assert path.exists()
    assert not (tmp_path / "cache" / "toy").exists()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The upstream host, on this machine; yields the served folder."""
    root = tmp_path / "served"
    (root / FILE.relative_path).parent.mkdir(parents=True)

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(root))

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(upstream, "_BASE_URL", f"http://127.0.0.1:{http.server_port}")
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "downloads")
        yield root
        http.shutdown()
        thread.join()


@pytest.mark.slow
def test_downloads_and_streams(server, tmp_path):
    (server / FILE.relative_path).write_bytes(CONTENT)
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"))
    assert len(list(builder.as_streaming_dataset(split="test"))) == 6
    builder.download_and_prepare()
    assert len(builder.as_dataset(split="test")) == 6


@pytest.mark.slow
def test_a_corrupt_download_is_named_and_not_kept(server, tmp_path):
    (server / FILE.relative_path).write_bytes(b"<html>a login page</html>")
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"))
    refuses(r"`data/toy\.json` must have sha256 .*Run the command again to fetch http", builder.download_and_prepare)
    refuses("must have sha256", list, builder.as_streaming_dataset(split="test"))
    (server / FILE.relative_path).write_bytes(CONTENT)
    builder.download_and_prepare()
    assert len(builder.as_dataset(split="test")) == 6


@pytest.mark.slow
def test_a_file_that_is_not_there(server, tmp_path):
    with pytest.raises(InputError, match=r"`network` must give http://127.*toy\.json; .*`data_dir`"):
        ToyBuilder(cache_dir=str(tmp_path / "cache")).download_and_prepare()


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_offline_without_a_mirror(server, tmp_path, monkeypatch, streaming):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    builder = ToyBuilder(cache_dir=str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"`network` must give .*HF_HUB_OFFLINE must not be set.*`data_dir`"):
        if streaming:
            list(builder.as_streaming_dataset(split="test"))
        else:
            builder.download_and_prepare()


def test_a_builder_passes_on_what_is_wrong(mirror, tmp_path, monkeypatch):
    def short(self, split, files):
        yield from toy_rows()[:-1]

    monkeypatch.setattr(ToyBuilder, "rows", short)
    refuses(r"build toy:all \(test\): `counts` must be", prepared, mirror, tmp_path / "cache")
    assert not (tmp_path / "cache" / "toy").exists()


@pytest.mark.slow
def test_the_room_imports_what_it_may():
    code = """
        import sys
        import paraconsist.data.tasks
        assert not {"numpy", "datasets", "torch"} & set(sys.modules)
        from paraconsist.dataset_builders import BUILDERS, builder_class
        assert "datasets" not in sys.modules
        for name in BUILDERS:
            builder_class(name)
        assert not {"torch", "transformers", "evaluate", "accelerate", "scipy"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
