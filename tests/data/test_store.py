"""The crash-safe store: nothing lost, nothing doubled, half lines repaired, identities kept apart."""

import errno
import fcntl
import json
import os
import random
import threading

import numpy as np
import pyarrow as pa
import pytest
from helpers.errors import refuses

from paraconsist.data.prompts import WrittenAnswer
from paraconsist.data.store import Failed, Results, ShardWriter, Store, content_identity, sealed, store_key
from paraconsist.errors import InputError

IDENTITY = {"model": {"weights_hash": "a"}, "task": "nli", "template_hash": "t"}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, IDENTITY)
    store.create()
    return store


def test_what_was_written_is_read_back_exactly(store):
    rows = [[0.1 + 0.2, 0.7 - 1e-17], [1 / 3, 2 / 3]]
    with store.writer(0) as shard:
        shard.append(["a", "b"], rows)
    with store.writer(1) as shard:
        shard.append(["c"], [[0.5, 0.5]])
    assert store.finished() == {"a": rows[0], "b": rows[1], "c": [0.5, 0.5]}


def test_what_comes_after_the_end_is_not_written_into_another_file(store, tmp_path):
    with store.writer(0) as shard:
        number = shard._descriptor
    with (tmp_path / "other").open("wb") as other:
        assert other.fileno() == number
        refuses("`output` must be a folder that can be written", shard.append, ["a"], [[0.5, 0.5]])
    assert (tmp_path / "other").read_bytes() == b""


def test_a_model_in_another_folder_is_the_same_if_its_weights_are():
    named, hashed = {"model": "adapter", "base_model": "base", "dtype": "float32"}, {"weights_hash": "a"}
    assert content_identity(named) == named
    assert content_identity(named | hashed) == {"dtype": "float32"} | hashed
    of_hub = named | hashed | {"revision": "1"}
    assert content_identity(of_hub) == {name: value for name, value in of_hub.items() if name != "model"}


def test_arrays_of_probabilities_are_written_and_read_to_the_last_bit(store, tmp_path):
    """By any reader of JSON, and beside lines of other kinds."""
    bits = np.random.default_rng(0).integers(0, 2**63, 600, dtype=np.uint64).view(np.float64)
    drawn = bits[np.isfinite(bits)][: len(bits) // 3 * 2]
    numbers = np.append(drawn[: len(drawn) // 8 * 8], [0.0, 0.5, 1.0, 5e-324, 1e-5, 1e22, 1 / 3, 0.1 + 0.2]).reshape(
        -1, 2
    )
    ids = [f"{i:032x}" for i in range(len(numbers))]
    with store.writer(0) as shard:
        shard.append(ids, numbers)
    other = Store(tmp_path, IDENTITY)
    lines = [json.loads(line) for line in shard.path.read_text().splitlines()]
    for found in ({one["input_id"]: [*map(float, one["probabilities"])] for one in lines}, other.finished()):
        assert np.array([found[one] for one in ids]).tobytes() == numbers.tobytes()
    with store.writer(0) as shard:
        shard.append(["cut", "plain"], numbers[:2], [3, 0])
        shard.append(["three", "one-two"], np.array([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]]))
    found = other.finished()
    assert [found[one] for one in ("cut", "plain", "one-two")] == [*numbers[:2].tolist(), [1.0, 0.0, 0.0]]
    assert (found.n_cut.sum(), len(found)) == (3, len(ids) + 4)


def test_a_shard_is_read_again_only_where_another_wrote_it(store, monkeypatch):
    monkeypatch.setattr("paraconsist.data.store._BLOCK", 3)
    expected = {
        "a": [0.5, 0.5],
        "b": WrittenAnswer(1, "Ü"),
        "c": [1.0],
        "d": Failed("too long", "r"),
        "e": [0.25, 0.75],
    }
    with store.writer(1) as shard:
        shard.append(["z"], np.array([[0.125, 0.875]]))
    with store.writer(0) as shard:
        shard.append(["b"], [expected["b"]])
        shard.append(["a", "e"], np.array([expected["a"], expected["e"]]))
        shard.append(["c", "d"], [expected["c"], expected["d"]], [2, 0])
        assert len(store.finished()) == 6  # from the disk, while it is open
    hidden = shard.path.with_name("hidden")
    with monkeypatch.context() as patch:
        patch.setattr("paraconsist.data.store._read_line", None)  # of its lines not all are plain
        found = store.finished()
    assert dict(found) == {**expected, "z": [0.125, 0.875]} == dict(store.finished())
    assert found.n_cut[found.places(["c"])] == 2
    with store.writer(0) as shard:
        shard.append(["f"], np.array([[0.5, 0.5]]))
    hidden.write_bytes(shard.path.read_bytes().replace(b"0.25, 0.75", b"0.75, 0.25"))
    hidden.replace(shard.path)
    refuses("is damaged at line 3", store.finished)


def test_a_store_that_was_never_written_is_empty(tmp_path):
    assert Store(tmp_path / "none", IDENTITY).finished() == {}


@pytest.mark.parametrize("kept", [0, 1, 10, 30])
def test_a_line_cut_by_a_kill_is_passed_over_and_then_cut_off(store, kept):
    with store.writer(0) as shard:
        shard.append(["a", "b"], [[0.25, 0.75], [0.5, 0.5]])
    path = store.folder / "rank-00000.jsonl"
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    path.write_bytes(whole[: second + kept])
    assert store.finished() == {"a": [0.25, 0.75]}
    with store.writer(0) as shard:
        shard.append(["b"], [[0.5, 0.5]])
    assert path.read_bytes() == whole


def test_a_half_line_longer_than_one_block_is_cut_off(store):
    path = store.folder / "rank-00000.jsonl"
    path.write_bytes(b'{"input_id": "a", "probabilities": [1.0]}\n' + b"x" * 200_000)
    with store.writer(0):
        pass
    assert path.read_bytes().endswith(b"[1.0]}\n")
    path.write_bytes(b"y" * 200_000)
    with store.writer(0):
        pass
    assert path.read_bytes() == b""


def test_a_damaged_whole_line_is_an_error_that_names_it(store):
    path = store.folder / "rank-00000.jsonl"
    path.write_bytes(sealed({"input_id": "a", "probabilities": [1.0]}) + b'{"input_id": \n')
    refuses(r"rank-00000.jsonl is damaged at line 2", store.finished)


def test_no_flipped_bit_changes_a_result(store):
    results = {"a": [0.25, 0.75], "b": WrittenAnswer(1, "Ünsure"), "c": [0.5, 0.5]}
    with store.writer(0) as shard:
        shard.append(list(results), results.values())
    path = store.folder / "rank-00000.jsonl"
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        try:
            assert store.finished().items() <= results.items()
        except InputError as problem:
            assert "is damaged at line" in str(problem)  # noqa: PT017
    path.write_bytes(whole)
    assert store.finished() == results


def test_a_shard_is_synced_by_itself_and_when_it_is_closed(store, monkeypatch):
    monkeypatch.setattr("paraconsist.data.store._SYNC_SECONDS", 0.01)
    synced, sizes = threading.Event(), []

    def fsync(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        synced.set()

    with store.writer(0) as shard:
        monkeypatch.setattr(os, "fsync", fsync)
        shard.append(["a"], [[1.0]])
        assert synced.wait(60)
        monkeypatch.setattr("paraconsist.data.store._SYNC_SECONDS", 60.0)
        shard.append(["b"], [[1.0]])
        size = shard.path.stat().st_size
    assert sizes[-1] == size


def test_a_full_disk_is_one_sentence_and_leaves_whole_lines(store, monkeypatch):
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) <= 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:10])

    with store.writer(0) as shard:
        shard.append(["a"], [[1.0]])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            refuses(r"`output` must be a folder .* No space left on device. Run the same", shard.append, ["b"], [[0.5]])
        shard.append(["c"], [[0.5]])
    assert store.finished() == {"a": [1.0], "c": [0.5]}


def test_without_locks_of_the_file_system_a_shard_opens(store, monkeypatch):
    reason = OSError(errno.EIO, "Input/output error")

    def flock(descriptor: int, operation: int) -> None:
        raise reason

    monkeypatch.setattr(fcntl, "flock", flock)
    refuses(r"can be written; .*The system says: Input/output error", store.writer, 0)
    reason = OSError(errno.ENOSYS, "Function not implemented")
    with store.writer(0) as shard:
        shard.append(["a"], [[1.0]])
    assert store.finished() == {"a": [1.0]}


def test_two_values_for_one_input_are_an_error(store):
    for rank, value in enumerate([0.5, 0.6]):
        with store.writer(rank) as shard:
            shard.append(["a"], [[value, 1 - value]])
    refuses("second, different value for input a", store.finished)


def test_a_shard_in_use_is_refused(store):
    with store.writer(0), pytest.raises(InputError, match="not be in use by another run"):
        ShardWriter(store.folder / "rank-00000.jsonl")


@pytest.mark.parametrize(
    "changed",
    [
        {**IDENTITY, "model": {"weights_hash": "b"}},
        {**IDENTITY, "task": "defeasible_nli"},
        {**IDENTITY, "template_hash": "u"},
    ],
)
def test_another_identity_never_meets_old_predictions(store, tmp_path, changed):
    with store.writer(0) as shard:
        shard.append(["a"], [[1.0]])
    assert Store(tmp_path, changed).finished() == {}
    assert Store(tmp_path, dict(reversed(IDENTITY.items()))).finished() == {"a": [1.0]}


def test_the_folder_says_whose_it_is(store):
    assert json.loads((store.folder / "identity.json").read_text()) == IDENTITY
    assert store.folder.name == store_key(IDENTITY)


@pytest.mark.parametrize("n_bytes", [1 << 24, 16])
def test_results_are_those_of_the_lines_one_by_one(store, monkeypatch, n_bytes):
    """Against a dict, over blocks: probabilities, written answers, failures that were asked again, unusual ids."""
    monkeypatch.setattr("paraconsist.data.store._BLOCK", 4)
    monkeypatch.setattr("paraconsist.data.arrays._SORTED", 3)
    monkeypatch.setattr("paraconsist.data.arrays._IN_MEMORY", n_bytes)
    rng, expected = random.Random(0), {'é"': [0.5, 0.5], "first": WrittenAnswer(None, "?")}
    for i in range(23):
        kinds = [rng.random(), 1e-17 * i], WrittenAnswer(i % 2, f"text\n{i}"), Failed("too long", "r"), [float(i)]
        expected[f"id{rng.randrange(10**i + 1)}"] = rng.choice(kinds)
    expected["again"], expected["kept"] = [0.25, 0.75], [0.5, 0.5]
    with store.writer(0) as shard:
        shard.append(
            ["again", "kept", "again"], [Failed("not finite", "r"), [0.5, 0.5], Failed("no answer", "r")], [0, 7, 0]
        )
        shard.append([*expected], expected.values())
    found = store.finished()
    assert dict(found) == expected
    assert len(found) == len(expected)
    assert [found.at(place) for place in found.places([*expected])] == [*expected.values()]
    assert found.places(pa.chunked_array([["id", "kept"], ["again", ""]])).tolist().count(-1) == 2
    assert found.n_cut.sum() == 7
    assert dict(Results.of(expected)) == expected
    assert "id" not in found
