"""Running `paraconsist run` over an endpoint, killing it, and looking at what it left."""

import json
import random
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

from helpers.commands import Command, in_process, words
from helpers.faulty_server import FaultyServer
from helpers.processes import Forked

from paraconsist.data.predictions import read_predictions

CONCURRENCY = 4
command = Command(partial(in_process, warn="ignore"))
done, refused = command.done, command.refused
SEVERAL_TOKENS = (
    'question: "{premise} {hypothesis} {update}"\nlabels: {weakener: weakening, strengthener: supporting}\n'
)
WRITTEN = 'question: "{premise} {hypothesis} {update}"\nlabels: {weakener: "e", strengthener: "s"}\n'


def arguments(url: str, data: Path, output: Path, **options: object) -> list[str]:
    given = {"endpoint": url, "model": "toy", "dataset": data, "output": output, "n_resamples": 20}
    return words("run", **given | options)


def besides_the_estimate(said: str) -> list[str]:
    """Return the lines that a run prints but for the first, of what it expects to send."""
    return [line for line in said.splitlines() if not line.startswith("estimate: ")]


def predictions(output: Path, name: str = "set"):
    return read_predictions(output / "predictions" / f"{name}.parquet")


def stored(output: Path, name: str) -> list[dict]:
    """Return the whole lines of the journal (``answers.jsonl``) or of the shard."""
    lines: list[bytes] = []
    for path in output.glob(f"store/*/{name}"):
        data = path.read_bytes()
        lines += data[: data.rfind(b"\n") + 1].splitlines()
    return [json.loads(line) for line in lines]


def answered_tags(output: Path) -> list[str]:
    return [f"{line['input_id']}:{line['part']}" for line in stored(output, "answers.jsonl")]


def kill_after(process: Forked, server: FaultyServer, n_received: int) -> bool:
    """Kill the run by SIGKILL once the server has received so many requests; False if it ended before."""
    while process.poll() is None and len(server.received) < n_received:
        time.sleep(0.001)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def kill_and_resume(
    given: list[str], output: Path, server: FaultyServer, rng: random.Random, n_kills: int, per_round: int
) -> tuple[int, int, int]:
    """Kill a run `n_kills` times at random moments, and check after each start that nothing stored was sent again.

    Returns
    -------
    tuple of int
        Kills, requests that the run's answers took, and those that were answered more than once (under way at a kill).
    """
    kills = 0
    while True:
        before, seen = set(answered_tags(output)), len(server.received)
        process = Forked(given)
        if kills < n_kills:
            kills += kill_after(process, server, seen + rng.randint(1, per_round))
        ended = process.wait()
        assert not before & set(server.sent(seen)), "what was stored was sent again"
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
    answers = Counter(server.answered())
    repeated = sum(n - 1 for n in answers.values())
    assert repeated <= kills * CONCURRENCY, "more were answered twice than were under way"
    tags = answered_tags(output)
    assert sorted(tags) == sorted(set(tags)) == sorted(answers), "an answer was lost or stored twice"
    ids = [record["input_id"] for record in stored(output, "rank-*.jsonl")]
    assert sorted(ids) == sorted(set(ids)) == sorted(set(predictions(output).table["input_id"].to_pylist()))
    return kills, len(tags), repeated
