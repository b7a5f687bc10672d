"""Kill every command that writes at the calls that change its folder, and take the power away: what is left is whole.

A small library (`crash_shim.c`, compiled by gcc and preloaded) numbers each call of a command that creates, writes,
cuts, syncs, renames or removes something. For every command, in a folder of its own:

- undisturbed, twice: what it leaves, and that it leaves the same twice;
- killed (SIGKILL) before the n-th of these calls, or in the middle of it where it writes: every file under a name of
  the undisturbed folder must be whole, and the same command must end with the undisturbed result and no file more;
- power cuts: a folder is made of what was synced alone. Of two kinds: whatever was not synced never happened, or
  names are kept and what was not synced in files is lost. After the end nothing may be missing; at a moment before,
  files must be whole and the same command must end with the undisturbed result.

    python benchmarks/crash.py --kills 20 --cuts 2
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
from helpers.crashed import LEFT_OVER, WORKING, Disk, Tree, different, half_written, results_of, tree  # noqa: E402

#: Seconds that a command may take; a longer one is a fault.
PATIENCE = 240
# commands, each in a child that has all imports done


class Place:
    """Where commands run: the folder of inputs, and the one that is watched."""

    def __init__(self, base: Path, library: Path) -> None:
        self.base = base.resolve()
        self.inputs, self.work = self.base / "inputs", self.base / "work"
        self.log, self.snapshots, self.printed = self.base / "log", self.base / "snapshots", self.base / "printed"
        self.library = ctypes.CDLL(str(library))
        self.start: Path | None = None  # a run folder that a command goes on in
        self.inputs.mkdir(parents=True)

    def clear(self, *, start: bool = True) -> None:
        for folder in (self.work, self.snapshots):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        if start and self.start is not None:
            shutil.copytree(self.start, self.work / "out")

    def run(self, line: str, *, kill_at: int = 0, watched: bool = True) -> int:
        """Run a line of `paraconsist` in a child; return its exit code, less than 0 where a signal ended it."""
        child = os.fork()
        if child == 0:
            self._be(line, kill_at if watched else None)
        deadline = time.monotonic() + PATIENCE
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return 124
            time.sleep(0.005)

    def _be(self, line: str, kill_at: int | None) -> None:
        code = 70
        try:
            out = os.open(self.printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for descriptor in (1, 2):
                os.dup2(out, descriptor)
            os.chdir(self.work if kill_at is not None else self.inputs)
            if kill_at is not None:
                paths = (os.fsencode(path) for path in (self.work, self.log, self.snapshots))
                self.library.crash_arm(*paths, ctypes.c_long(kill_at))
            from paraconsist.cli.app import main

            main(line.split())
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def events(self) -> list[list[str]]:
        """Number, call, path, other path and size of each event of the last watched command."""
        return [line.split("\t") for line in self.log.read_text(errors="surrogateescape").splitlines()]

    def last_words(self) -> str:
        lines = self.printed.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""


#: What commands import late, or on their first use of something; done before the first child, no child has to.
LATE = """datasets matplotlib.backends.backend_agg matplotlib.backends.backend_svg pandas scipy.optimize scipy.stats
spacy nltk lemminflect zss apted rapidfuzz
sklearn.ensemble sklearn.linear_model sklearn.feature_extraction.text torch transformers paraconsist.cli.app
transformers.models.bert.modeling_bert transformers.trainer paraconsist.models.training.trainer
paraconsist.reporting.page.write paraconsist.running.run paraconsist.studies.adversarial
paraconsist.studies.ie.experiment paraconsist.studies.selection paraconsist.studies.sensitivity"""


SENTENCES = [
    *("a man is riding a bike", "two kids are outside", "the dog is sleeping", "a woman is near the car"),
    *("many people are talking", "a boy is eating dinner", "there is a dog outside", "the kids are happy"),
]


def write_inputs(place: Place) -> None:
    """Write small models, sets and runs: a model's answers, and those of one that sees the premise only."""
    from helpers.ie_rows import write_experiment
    from helpers.models import tiny_encoder
    from helpers.perturb import NLI_ROWS
    from helpers.perturb import write_csv as write_columns
    from helpers.rows import WORDS, easy_rows, write_csv
    from helpers.study_rows import bucket_rows

    inputs = place.inputs
    write_csv(inputs / "train.csv", easy_rows(48))
    contexts = [f"{WORDS[i % 20]} {i}" for i in range(30)]
    write_csv(inputs / "rows.csv", [{**row, "premise": contexts[i // 4]} for i, row in enumerate(easy_rows(120))])
    write_csv(inputs / "toy.csv", bucket_rows(12))
    write_csv(inputs / "words.csv", [{"key": "likes", "value": "adores"}, {"key": "girl", "value": "lass"}])
    write_columns(inputs / "nli.csv", ("premise", "hypothesis", "label"), NLI_ROWS)
    (inputs / "ie").mkdir()
    write_experiment(inputs / "ie", n_train=60, n_validation=12, n_test=24)
    labels = ("entailment", "neutral", "contradiction")
    judged = [(SENTENCES[(i + 3) % 8], text, labels[(i + j) % 3]) for j in range(3) for i, text in enumerate(SENTENCES)]
    write_columns(inputs / "judged.csv", ("premise", "hypothesis", "label"), judged)
    words = list(
        dict.fromkeys(" ".join([*SENTENCES, "children sofa bicycle road right now currently lady guy"]).split())
    )
    tiny_encoder(inputs / "nli", ("contradiction", "entailment", "neutral"), words=words, seed=1)
    for name, more in (("model", ""), ("partial", "--input-columns premise")):
        for line in (
            f"train --model bow --train-file train.csv --epochs 1 --device cpu --output {name} {more}",
            f"run --model {name} --dataset toy.csv --output run-{name} --device cpu --n-resamples 20",
        ):
            if place.run(line, watched=False):
                raise SystemExit(f"the inputs could not be made: {place.last_words()}")
    for part in (1, 2):
        line = f"run --model model --dataset toy.csv --part {part}/2 --output part-{part} --device cpu"
        if place.run(line, watched=False):
            raise SystemExit(f"the inputs could not be made: {place.last_words()}")

    write_answers(place)


def write_answers(place: Place) -> None:
    """Write the folder of an export, answers to its requests, and a folder that half of them were put in."""
    inputs = place.inputs
    line = line_of("export-requests", inputs).replace("--output out", "--output exported")
    if place.run(line, watched=False):
        raise SystemExit(f"the inputs could not be made: {place.last_words()}")
    lines = []
    for file in sorted((inputs / "exported" / "requests").glob("*.jsonl")):
        for number, request in enumerate(map(json.loads, file.read_text().splitlines())):
            said = {"model": "toy", "choices": [{"message": {"role": "assistant", "content": "WS"[number % 2]}}]}
            response = {"status_code": 200, "body": said}
            lines.append(json.dumps({"custom_id": request["custom_id"], "response": response, "error": None}) + "\n")
    (inputs / "answers.jsonl").write_text("".join(lines))
    (inputs / "half.jsonl").write_text("".join(lines[::2]))
    shutil.copytree(inputs / "exported", inputs / "half")
    if place.run("import-answers half.jsonl --output half --n-resamples 20", watched=False) != 2:
        raise SystemExit(f"half of the answers are no error: {place.last_words()}")


#: Every command that writes, at its smallest, run in a folder beside `inputs`.
COMMANDS = {
    "run": "run --model {model} --dataset {toy} --batch-tokens 60 --output out --device cpu {few}",
    "merge": "merge {part_1} {part_2} --output out {few}",
    "compact": "compact out",
    "export-requests": "export-requests --model toy --dataset {toy} --api chat --scoring generate --output out",
    "export-requests, half answered": "export-requests --model toy --dataset {toy} --api chat --scoring generate "
    "--output out",
    "import-answers": "import-answers {answers} --output out {few}",
    "score --output": "score {run}/predictions/toy.parquet --output results.json {few}",
    "train": "train --model bow --train-file {rows} --eval-file {train} --epochs 2 --best-model "
    "--batch-size 16 --limit 80 --resume --output out --device cpu",
    "build": "build sample --folder folder --cache-dir cache",
    "ie-test": "ie-test --train {ie}train.csv --validation {ie}validation.csv --test {ie}test.csv --rhos 0,1 --runs 2 "
    "--transformation dictionary --transformation-option dictionary={ie}dictionary.csv "
    "--parameter n_estimators=2 --output out",
    "transform": "transform {nli} --dictionary {words} --sheet sheet.csv --sheet-size 1 --output out.csv",
    "perturb": "perturb {nli} --property symmetric --output out.parquet",
    "paraphrase": "paraphrase {nli} --no-entailment --keep 2 --output out",
    "select": "select {rows} --encoder {model} --confidence-model {model} --n-classifiers 4 --train-size 40 "
    "--cutoff 20 --n-easy 3 --n-difficult 3 --pool 0.5 --places 2 --output out --device cpu",
    "sensitivity": "sensitivity {judged} --model {judge} --tries 2 --output out --device cpu {few}",
    "adversarial": "adversarial --model bow {study} --columns update --transformation dictionary "
    "--dictionary {words} --n-permutations 20 --output out",
    "sweep": "sweep --model bow {study} --shares 0.5,1 --output out",
    "artifacts": "artifacts --partial {partial} --full {run} --output table.json {few}",
    "compare": "compare {run} {partial} --output compared.json --n-permutations 20 {few}",
    "report": "report {run} {partial} --plots plots --output page.html",
}
#: Commands that go on in a folder -> that folder.
STARTS = {"export-requests, half answered": "half", "import-answers": "exported", "compact": "run-model"}
_STUDY = "--dataset {toy} --train-file {train} --set epochs=1 --device cpu --n-resamples 20"
_PLACES = {"model": "model", "toy": "toy.csv", "run": "run-model", "partial": "run-partial", "rows": "rows.csv"}
_PLACES |= {
    "train": "train.csv",
    "ie": "ie/",
    "nli": "nli.csv",
    "words": "words.csv",
    "judge": "nli",
    "judged": "judged.csv",
    "part_1": "part-1",
    "part_2": "part-2",
    "answers": "answers.jsonl",
}


def line_of(name: str, inputs: Path) -> str:
    """Return a command's line, with the inputs' places in it."""
    places = {key: f"../inputs/{place}" for key, place in _PLACES.items()}
    if "requests" in name:  # an export remembers the place
        places["toy"] = str(inputs / "toy.csv")
    return COMMANDS[name].format(study=_STUDY.format(**places), few="--n-resamples 20", **places)


# the trials


@dataclass
class Findings:
    """What was tried with one command, and what failed; `half` and `resumed` count trials, not files."""

    kills: int = 0
    cuts: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    stories: list[str] = field(default_factory=list)

    def add(self, kind: str, story: str) -> None:
        self.faults[kind] += 1
        self.stories.append(f"{kind}: {story}")


def points(events: Sequence[Sequence[str]], n: int, rng: random.Random) -> list[int]:
    """Draw `n` events, each kind of call and place in turn, so that a rename counts as much as a thousand writes."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for number, call, path, *_ in events:
        kinds.setdefault((call, re.sub(r"[0-9a-f]{6,}|\d+", "#", Path(path).name)), []).append(int(number))
    queues = [rng.sample(numbers, len(numbers)) for numbers in kinds.values()]
    rng.shuffle(queues)
    drawn: list[int] = []
    while len(drawn) < n and any(queues):
        for queue in queues:
            if queue and len(drawn) < n:
                drawn.append(queue.pop())
    return drawn


class Trials:
    """All trials with one command."""

    def __init__(self, place: Place, line: str, rng: random.Random) -> None:
        self.place, self.line, self.rng, self.findings = place, line, rng, Findings()
        self.snapshots = place.base / "reference"
        first = self._undisturbed()
        self.reference = results_of(self._undisturbed())
        self.log = place.events()
        shutil.rmtree(self.snapshots, ignore_errors=True)
        shutil.copytree(place.snapshots, self.snapshots)
        odd = different(results_of(first), self.reference)
        if odd:
            self.findings.add("not the same twice", ", ".join(odd))
        self._check_log()

    def _undisturbed(self) -> Tree:
        self.place.clear()
        code = self.place.run(self.line)
        if code:
            raise SystemExit(f"{self.line}: exit {code}: {self.place.last_words()}")
        return tree(self.place.work)

    def _check_log(self) -> None:
        """The log explains every file that is there; else calls went by unseen."""
        there = tree(self.place.work)
        self.place.clear(start=False)
        self._disk(len(self.log)).write(self.place.work, names_kept=True)
        unseen = there.keys() ^ tree(self.place.work).keys()
        if unseen:
            self.findings.add("unseen", ", ".join(sorted(unseen)))

    def _disk(self, n: int) -> Disk:
        disk = Disk(self.place.work, self.snapshots)
        if self.place.start is not None:
            disk.hold("out", self.place.start)
        for number, call, path, other, _ in self.log[:n]:
            disk.play(number, call, path, other)
        return disk

    def kill(self, at: int) -> None:
        self.place.clear()
        if self.place.run(self.line, kill_at=at) == -signal.SIGKILL:
            self.findings.kills += 1
            self._go_on(f"killed at {at}, {self._event(self.place.events()[-1])}")

    def cut(self, at: int, *, names_kept: bool) -> None:
        self.place.clear(start=False)
        self.findings.cuts += 1
        self._disk(at).write(self.place.work, names_kept=names_kept)
        kind = "names kept" if names_kept else "nothing kept that was not synced"
        if at == len(self.log):
            odd = different(results_of(tree(self.place.work)), self.reference)
            lost = [name for name in odd if not name.startswith("+")]  # what is left over the next command removes
            if lost:
                self.findings.add("lost", f"power cut after the end, {kind}: {', '.join(lost)}")
        where = "after the end" if at == len(self.log) else f"after {at}, {self._event(self.log[at - 1])}"
        self._go_on(f"power cut {where}, {kind}")

    def _event(self, event: Sequence[str]) -> str:
        return " ".join([event[1], *(os.path.relpath(path, self.place.work) for path in event[2:4] if path)])

    def _go_on(self, story: str) -> None:
        """Look at what is left, and at what the same command makes of it."""
        before = results_of(tree(self.place.work))
        start = {} if self.place.start is None else {f"out/{name}": old for name, old in tree(self.place.start).items()}
        half = [name for name in half_written(before, self.reference) if before[name] != start.get(name)]
        if half:
            self.findings.add("half written", f"{story}: {', '.join(half)}")
        code = self.place.run(self.line)
        if code and different(before, self.reference):  # it may refuse to do over what it has done
            self.findings.add("not resumed", f"{story}: exit {code}: {self.place.last_words()}")
            return
        after = tree(self.place.work)
        odd = different(results_of(after), self.reference)
        odd += [f"+{name}" for name in after if WORKING.search(name) and LEFT_OVER.search(name)]
        left = [name for name in odd if name.startswith("+")]
        if left:
            self.findings.add("left over", f"{story}: {', '.join(left)}")
        if len(left) < len(odd):
            self.findings.add("another result", f"{story}: {', '.join(odd)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="of each command")
    parser.add_argument(
        "--cuts", type=int, default=1, help="of each command before its end; those after it are always made"
    )
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, metavar="NAME", help="all by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if os.environ.get("PARACONSIST_CRASH_SHIM") is None:
        raise SystemExit(_again_with_shim())
    base = Path(os.environ["PARACONSIST_CRASH_SHIM"]).parent
    place = Place(base / "place", base / "crash_shim.so")
    for name in LATE.split():
        with suppress(ImportError):  # commands say themselves what they need
            import_module(name)
    write_inputs(place)
    print(f"| command | {' | '.join(COLUMNS)} |\n|---{'|---' * len(COLUMNS)}|", flush=True)
    failed = False
    totals: Counter[str] = Counter()
    for name in options.commands or COMMANDS:
        rng = random.Random(f"{options.seed} {name}")
        place.start = place.inputs / STARTS[name] if name in STARTS else None
        trials = Trials(place, line_of(name, place.inputs), rng)
        n = len(trials.log)
        for at in points(trials.log, options.kills, rng):
            trials.kill(at)
        for at in [n, *(rng.randint(1, n - 1) for _ in range(options.cuts))]:
            for names_kept in (False, True):
                trials.cut(at, names_kept=names_kept)
        failed |= bool(trials.findings.faults)
        totals.update(_row(name, n, trials.findings))
    _print_row("all", totals)
    sys.exit(failed)


COLUMNS = ("calls", "kills", "power cuts", "half written", "not resumed", "left over", "lost")


def _row(name: str, n_calls: int, findings: Findings) -> dict[str, int]:
    faults = findings.faults
    failed = faults["not resumed"] + faults["another result"]
    counts = (
        n_calls,
        findings.kills,
        findings.cuts,
        faults["half written"],
        failed,
        faults["left over"],
        faults["lost"],
    )
    row = dict(zip(COLUMNS, counts, strict=True))
    _print_row(name, row)
    for story in findings.stories:
        print(f"  {name}: {story}", file=sys.stderr, flush=True)
    return row


def _print_row(name: str, row: Mapping[str, int]) -> None:
    print(f"| {name} | {' | '.join(f'{row[column]:,}' for column in COLUMNS)} |", flush=True)


def _again_with_shim() -> int:
    """Compile the library and start again with it."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        raise SystemExit("crash.py needs Linux and gcc, for the library that numbers the calls of a process.")
    with tempfile.TemporaryDirectory(prefix="paraconsist-crash-") as folder:
        library = Path(folder).resolve() / "crash_shim.so"
        compile_it = ["gcc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "crash_shim.c", "-ldl", "-lpthread"]
        subprocess.run(compile_it, check=True)
        own = {"PARACONSIST_CRASH_SHIM": library, "LD_PRELOAD": library, "HF_HOME": library.parent / "home"}
        own |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0"}
        environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
        return subprocess.run([sys.executable, *sys.argv], env=environment).returncode


if __name__ == "__main__":
    main()
