"""Kill a run over a faulty endpoint at random moments, resume it each time, and compare with an undisturbed run.

The server is scripted: four of ten requests meet a 429, a 500, a cut connection, a malformed answer or a hang. After
each kill (SIGKILL) the next start must send nothing that was stored. At the end each answer stands in the journal, and
each input in the shard, exactly once, and the predictions equal the undisturbed ones. What was under way at a kill, at
most as many requests as are sent at a time, may have been answered twice by the server; how many were is printed.

    python benchmarks/endpoint_soak.py --kills 20
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.endpoint import CONCURRENCY, SEVERAL_TOKENS, arguments, done, kill_and_resume, predictions
from helpers.faulty_server import FaultyServer, at_random
from helpers.processes import write_set

FAULTS = ("429:0.1", "500", "cut", "malformed", "hang")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=float, default=0.4, help="Share of the requests that meet a fault.")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write_set(place / "set.jsonl", options.rows)
        (place / "several.yaml").write_text(SEVERAL_TOKENS)
        several = {"template": place / "several.yaml"}
        ways = {
            "the first token": {},
            "a request for each label": several,
            "written answers": {"scoring": "generate", "api": "chat"},
        }
        total = 0
        for number, (name, given) in enumerate(ways.items()):
            n_kills = options.kills // len(ways) + (number < options.kills % len(ways))
            given = {"concurrency": CONCURRENCY, "timeout": 2, **given}
            with FaultyServer() as server:
                done(arguments(server.url, place / "set.jsonl", place / f"whole-{number}", **given))
            expected = predictions(place / f"whole-{number}").table
            output = place / f"run-{number}"
            with FaultyServer(script=at_random(options.seed, options.faults, FAULTS), delay=0.01) as server:
                line = arguments(server.url, place / "set.jsonl", output, **given)
                kills, n_requests, repeated = kill_and_resume(line, output, server, rng, n_kills, options.rows // 6)
                received = len(server.received)
            assert kills == n_kills, "the run ended before it could be killed: give more --rows"
            assert predictions(output).table.equals(expected), "the predictions differ"
            total += kills
            print(
                f"{name}: {kills} kills; {received:,} requests came in, {n_requests:,} answers were needed and each is "
                f"stored once, {repeated} were answered twice (under way at a kill); predictions equal.",
                flush=True,
            )
    print(f"{total} kills: nothing lost, nothing stored twice, nothing sent again that was stored.")


if __name__ == "__main__":
    main()
