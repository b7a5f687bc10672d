"""The crash-safe store: nothing lost, nothing doubled, half lines repaired, identities kept apart."""

from __future__ import annotations

import json

import pytest

from paraconsist.data.store import ShardWriter, Store, store_key
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
    path.write_text('{"input_id": "a", "probabilities": [1.0]}\n{"input_id": \n')
    with pytest.raises(InputError, match=r"rank-00000.jsonl is damaged at line 2"):
        store.finished()


def test_two_values_for_one_input_are_an_error(store):
    for rank, value in enumerate([0.5, 0.6]):
        with store.writer(rank) as shard:
            shard.append(["a"], [[value, 1 - value]])
    with pytest.raises(InputError, match="second, different value for input a"):
        store.finished()


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
