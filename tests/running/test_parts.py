"""A run in parts: disjoint, together all, and merged what one run gives, byte by byte of what is predicted."""

from __future__ import annotations

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest
from helpers.endpoint import arguments as endpoint_arguments
from helpers.endpoint import done, refused
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer
from helpers.models import tiny_encoder
from helpers.processes import write_set

from paraconsist.data.predictions import read_predictions
from paraconsist.data.store import RunFolder, sealed
from paraconsist.running.parts import Part, _merge_stores, _together, merge_parts
from paraconsist.running.run import summed

pytestmark = pytest.mark.slow
N = 3


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    tiny_encoder(folder / "model")
    write_set(folder / "set.jsonl")
    write_set(folder / "few.jsonl", 2)
    for output, *more in (["whole"], *([f"part{i}", "--part", f"{i}/{N}"] for i in range(1, N + 1))):
        done([*_run(folder, "few.jsonl"), "--output", str(folder / output), *more])
    return folder


def _run(folder, *others, model="model"):
    sets = [part for name in ("set.jsonl", *others) for part in ("--dataset", str(folder / name))]
    return ["run", "--model", str(folder / model), *sets, "--device", "cpu", "--n-resamples", "20"]


def _parts(place):
    return [place / f"part{i}" for i in range(1, N + 1)]


def _same(merged, whole, names):
    for name in names:
        for kind in ("predictions", "texts"):
            ours, theirs = (folder / kind / f"{name}.parquet" for folder in (merged, whole))
            left, right = pq.read_table(ours), pq.read_table(theirs)
            assert left.drop_columns(_loose(left)).equals(right.drop_columns(_loose(right)))
        about = [read_predictions(folder / "predictions" / f"{name}.parquet").metadata for folder in (merged, whole)]
        for one in about:
            one.pop("n_processes", None), one.pop("endpoint", None)
        assert about[0] == about[1]


def _loose(table):
    return [name for name in ("probabilities",) if name in table.column_names]


def test_merged_parts_are_the_whole_run(place, tmp_path):
    out = done(["merge", *map(str, reversed(_parts(place))), "--output", str(tmp_path), "--n-resamples", "20"])
    assert "3 parts in " in out
    _same(tmp_path, place / "whole", ("set", "few"))
    merged, whole = (
        read_predictions(folder / "predictions" / "set.parquet").table for folder in (tmp_path, place / "whole")
    )
    pairs = zip(merged["probabilities"].to_pylist(), whole["probabilities"].to_pylist(), strict=True)
    assert max(abs(a - b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True)) < 1e-6
    ours, theirs = (json.loads((folder / "run.json").read_text()) for folder in (tmp_path, place / "whole"))
    assert (ours["models"], ours["sets"], set(ours)) == (theirs["models"], theirs["sets"], set(theirs))
    (loop,), (alone,) = ours["loop"].values(), theirs["loop"].values()
    assert all(loop[key] == alone[key] for key in ("n_inputs", "n_computed", "n_tokens"))
    assert (tmp_path / "results.json").is_file()
    # the merged store is whole: the plain command finds everything there
    assert "distinct inputs were there already" in done([*_run(place, "few.jsonl"), "--output", str(tmp_path)])


def test_compact_parts_are_merged_and_a_compact_run_goes_on(place, tmp_path):
    parts = [shutil.copytree(part, tmp_path / part.name) for part in _parts(place)]
    done(["compact", *map(str, parts)])
    done(["merge", *map(str, parts), "--output", str(tmp_path / "merged"), "--n-resamples", "20"])
    _same(tmp_path / "merged", place / "whole", ("set", "few"))
    again = [*_run(place, "few.jsonl"), "--output", str(tmp_path / "merged")]
    done(["compact", str(tmp_path / "merged")])
    assert "distinct inputs were there already" in done(again)
    assert "files, all well." in done(["check", str(tmp_path / "merged")])
    write_set(tmp_path / "more.jsonl", seed=1)
    out = done([*again, "--dataset", str(tmp_path / "more.jsonl")])
    assert re.search(r"[1-9]\d* distinct inputs computed \([1-9]\d* were there already\)", out)
    _same(tmp_path / "merged", place / "whole", ("set", "few"))


def test_parts_are_disjoint_and_together_all(place):
    ids = [
        set(read_predictions(part / "predictions" / "set.parquet").table["input_id"].to_pylist())
        for part in _parts(place)
    ]
    whole = read_predictions(place / "whole" / "predictions" / "set.parquet").table["input_id"].to_pylist()
    assert sum(map(len, ids)) == len(set.union(*ids)) == len(set(whole))
    assert set.union(*ids) == set(whole)
    assert min(map(len, ids)) > 0


def test_parts_over_an_endpoint(place, tmp_path):
    options = {"concurrency": 4, "shots": 2, "examples": place / "set.jsonl", "limit": 40}
    with FaultyServer(
        script=lambda _, tag: "400" if tag.split(":")[0][-1:] in "012345" and tag != "probe" else None
    ) as server:
        for output, more in (("whole", {}), *((f"part{i}", {"part": f"{i}/2"}) for i in (1, 2))):
            done(endpoint_arguments(server.url, place / "set.jsonl", tmp_path / output, **options, **more))
    folder = merge_parts([tmp_path / "part1", tmp_path / "part2"], tmp_path / "merged")
    _same(folder.path, tmp_path / "whole", ("set",))
    assert read_predictions(folder.path / "predictions" / "set.parquet").metadata["inputs"]["n_failed"] > 3
    used = [
        json.loads((tmp_path / name / "run.json").read_text())["endpoint"]["defeasible_nli"]
        for name in ("merged", "whole")
    ]
    assert all(used[0][key] == used[1][key] for key in ("n_requests", "prompt_tokens", "completion_tokens", "served"))


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/3/5", "a/b", "-1/3"])
def test_a_part_that_is_none(text):
    refuses(r"run: `part` must be I/N, such as 3/8, with I from 1 to N", Part.read, text)


def test_parts_that_do_not_fit_together(place, tmp_path):
    parts = list(map(str, _parts(place)))
    tiny_encoder(tmp_path / "model", seed=1)
    other = tmp_path / "other"
    done([
        *_run(place, model=tmp_path / "model"), "--dataset", str(place / "few.jsonl"), "--output", str(other), "--part",
        "3/3"
    ])  # fmt: skip
    fourth = tmp_path / "fourth"
    done([*_run(place, "few.jsonl"), "--output", str(fourth), "--part", "4/4"])
    damaged = shutil.copytree(parts[2], tmp_path / "damaged")
    file = damaged / "predictions" / "set.parquet"
    file.write_bytes(file.read_bytes().replace(b"e10", b"e01", 1))
    set_of_two = tmp_path / "one_set"
    done([*_run(place), "--output", str(set_of_two), "--part", "3/3"])
    rows = [json.loads(line) for line in (place / "set.jsonl").read_text().splitlines()]
    rows[5]["update"] = "another day"
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    changed = tmp_path / "changed"
    sets = ["--dataset", str(tmp_path / "set.jsonl"), "--dataset", str(place / "few.jsonl")]
    line = ["run", "--model", str(place / "model"), *sets, "--device", "cpu", "--output", str(changed), "--part", "3/3"]
    done(line)
    for given, message in (
        ([*parts[:2], str(changed)], "must be of one run: set_fingerprint of set is '"),
        (parts[:2], "must be all 3. Absent: 3/3."),
        ([*parts, parts[0]], "part 1/3 is repeated"),
        ([*parts[:2], str(other)], "must be of one run: models of part 3/3 are not those of part 1/3"),
        ([*parts[:2], str(set_of_two)], "must be of one run: sets of part 3/3 are not those of part 1/3"),
        ([*parts, str(fourth)], "must be of one division, not of 3 and 4 parts"),
        ([*parts[:2], str(damaged)], "predictions/set.parquet: not as it was written. Run that part again."),
        ([str(place / "whole")], "must be finished parts of a run"),
        ([str(place)], "Each is the folder of a finished `paraconsist run --part I/N`."),
    ):
        said = refused(["merge", *given, "--output", str(tmp_path / "merged")])
        assert message in said, said
        assert said.count("\n") == 1
    assert not (tmp_path / "merged").exists()


def test_a_part_is_not_scored_as_a_run_and_has_no_noise(place):
    assert "part 1/3" in refused(["score", str(place / "part1")])
    assert "`--part` must not be given with `--noise-floor` or `--repeats`" in refused(
        [*_run(place), "--output", str(place / "noise"), "--part", "1/3", "--noise-floor", "1"]
    )


@pytest.mark.faults
@pytest.mark.parametrize("merged", [_together, summed])
def test_the_padding_of_parts_and_rounds_is_that_of_all_their_tokens(merged):
    """100 tokens of 100, and 100 of 400: parts said 37.5 % for 60 %, and rounds what the last one had."""
    two = [{"n_tokens": 100, "padding": 0.0}, {"n_tokens": 100, "padding": 0.75}]
    assert merged(two) == {"n_tokens": 200, "padding": pytest.approx(0.6)}
    assert merged([{"n_tokens": 0, "padding": 0.0}] * 2) == {"n_tokens": 0, "padding": 0.0}


@pytest.mark.faults
def test_a_line_that_a_kill_cut_short_does_not_spoil_the_next_part_s(tmp_path):
    """The two became one line that cannot be read: an answer was lost, and the merged run did not go on."""
    lines = [sealed({"input_id": name}) for name in "abc"]
    for part, data in {"one": lines[0] + lines[1][:9], "two": lines[2]}.items():
        journal = tmp_path / part / "store" / "key" / "answers.jsonl"
        journal.parent.mkdir(parents=True)
        journal.write_bytes(data)
    _merge_stores([RunFolder(tmp_path / "one"), RunFolder(tmp_path / "two")], RunFolder(tmp_path / "merged"))
    assert (tmp_path / "merged" / "store" / "key" / "answers.jsonl").read_bytes() == lines[0] + lines[2]


@pytest.mark.faults
def test_a_cost_that_is_known_of_some_parts_is_not_known_of_all():
    """It was the text "None, 0.5"."""
    assert _together([{"cost": None}, {"cost": 0.5}]) == {"cost": None}
