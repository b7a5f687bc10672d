"""Rewordings to be read: python benchmarks/rewordings.py --kind phrase [--n 200]

Of a kind of `paraconsist reword`, in random order with a fixed seed, what changed and what is around it. Rules of
English reword the questions of MathCheck (``maths/mathcheck_items.parquet`` in PARACONSIST_TEST_DATA); kinds of format
reword lm-eval's own tasks, on the questions of lm-eval's solved examples, of PARACONSIST_TEST_DATA, and, for the other
tasks, on the tests' stand-in rows. docs/rewordings.md has the counts of those that keep the meaning.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import yaml

from paraconsist.transforms.rewording import KINDS, Prompt, listing, reworded

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("PARACONSIST_TEST_DATA", ROOT.parent / "shared" / "data"))
AROUND = 5  # words
WIDE = 70  # characters of a part that is printed
Rows = list[dict[str, Any]]


def by_rule(kind: str) -> Iterator[str]:
    """Yield what a rule of English changes, each distinct question once."""
    column = pq.read_table(FOLDER / "maths" / "mathcheck_items.parquet")["question"].to_pylist()
    questions = sorted({question for question in column if question})
    random.Random(0).shuffle(questions)
    for question in questions:
        new = reworded(Prompt(question, words=(question,)), kind, 0, "0")
        if new is not None and new.text != question:
            yield changed(question, new.text)


def changed(old: str, new: str) -> str:
    """Return what changed, with some words around it."""
    a, b = old.split(" "), new.split(" ")
    parts = [each for each in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if each[0] != "equal"]
    _, i, _, j, _ = parts[0]
    _, _, i_end, _, j_end = parts[-1]
    before, after = (
        " ".join(words[max(start - AROUND, 0) : end + AROUND]) for words, start, end in ((a, i, i_end), (b, j, j_end))
    )
    return f"{before!r}  ->  {after!r}"


def sampled(rows: Rows) -> Rows:
    return random.Random(0).sample(rows, min(len(rows), 60))


def solved(folder: Path) -> Iterator[tuple[str, Rows]]:
    """Yield the solved examples that come with lm-eval's tasks, by the name of the task's set."""
    for file in sorted(folder.glob("*.yaml")):
        config = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        yield config.get("dataset_name", ""), config.get("fewshot_config", {}).get("samples", [])


def real_rows(tree: Path) -> dict[tuple[str, str | None], Rows]:
    """Return rows of real questions, by the set of the Hub whose schema they have."""
    exam: Rows = []
    for _, examples in solved(tree / "mmlu" / "flan_cot_fewshot"):
        for example in examples:
            question, *parts = re.split(r"\s*\(([A-D])\)\s+", example["question"])
            right = re.search(r"answer is \(([A-D])\)", example["target"])
            if parts[::2] == [*"ABCD"] and right:
                exam.append({"question": question, "choices": parts[1::2], "answer": "ABCD".index(right[1])})
    about = {"subject": "all", "category": "biology", "cot_content": "A: Let's think step by step."}
    more = [{**row, "options": row["choices"], "answer": "ABCD"[row["answer"]], **about} for row in exam]
    arc = [
        {
            "question": row["question"],
            "choices": {"text": row["choices"], "label": [*"ABCD"]},
            "answerKey": new["answer"],
        }
        for row, new in zip(exam, more, strict=True)
    ]
    maths = pq.read_table(FOLDER / "maths" / "mathcheck_items.parquet").to_pylist()
    maths = [row for row in maths if row["task"] == "solving"]
    maths = [{"question": row["question"], "answer": f"#### {row['answer']}"} for row in maths]
    asked = pq.read_table(FOLDER / "free_text" / "evouna_nq.parquet").to_pylist()
    asked = [*{row["question"]: {"question": row["question"], "answer": [row["golden"]]} for row in asked}.values()]
    with (FOLDER / "parte" / "prte_test.csv").open(encoding="utf-8") as stream:
        pairs = [
            {
                "sentence1": row["original_pair_premise"],
                "sentence2": row["original_pair_hypothesis"],
                "label": 0,
                "idx": 0,
            }
            for row in csv.DictReader(stream)
        ]
    medical = [
        {
            **dict(zip(("opa", "opb", "opc", "opd"), row["choices"], strict=True)),
            "question": row["question"],
            "cop": row["answer"],
        }
        for row in exam
    ]
    bbh = {
        ("SaylorTwift/bbh", name): [
            {**row, "target": re.sub(r"(?s).*answer is (.*?)[.]?\s*\Z", r"\1", row["target"])} for row in rows
        ]
        for name, rows in solved(tree / "bbh" / "cot_fewshot")
        if rows
    }
    return {
        ("cais/mmlu", "astronomy"): [{**row, "subject": "astronomy"} for row in exam],
        ("TIGER-Lab/MMLU-Pro", None): more,
        ("openlifescienceai/medmcqa", None): medical,
        ("allenai/ai2_arc", "ARC-Easy"): arc,
        ("openai/gsm8k", "main"): sampled(maths),
        ("google-research-datasets/nq_open", None): sampled(asked),
        ("nyu-mll/glue", "rte"): sampled(pairs),
        **bbh,
    }


def of_format(kind: str) -> Iterator[str]:
    """Yield what a kind of format changes in the prompts of tasks, one of each task in turn."""
    sys.path.insert(0, str(ROOT / "tests"))
    os.environ["TQDM_DISABLE"] = "1"
    import datasets
    import pytest
    from helpers import benchmark_rows

    logging.disable(logging.WARNING)
    datasets.disable_progress_bars()
    from paraconsist.errors import InputError
    from paraconsist.transforms.reworded_tasks import RewordOptions, reword_lm_eval

    real = real_rows(benchmark_rows.TREE)
    benchmark_rows.FOLDERS.extend(("bbh/cot_fewshot", "medmcqa"))

    @cache
    def load(path: str, name: str | None = None) -> Any:
        if (path, name) not in real:
            return benchmark_rows.load_dataset(path, name)
        rows = datasets.Dataset.from_list(real[path, name])
        return datasets.DatasetDict(dict.fromkeys(("train", "validation", "test", "dev"), rows))

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        index = benchmark_rows.stand_in(patch)
        loading = {"load_dataset": lambda path, name=None, **_: load(path, name)}
        patch.setattr("lm_eval.api.task.datasets", SimpleNamespace(**{**vars(datasets), **loading}))
        found: list[list[str]] = []
        for task in sorted(index.all_subtasks):
            path = index.task_index[task].yaml_path.relative_to(benchmark_rows.TREE).parts[0]
            if (path == "mmlu" and task != "mmlu_astronomy") or (path == "mmlu_pro" and task != "mmlu_pro_biology"):
                continue  # the same form and, here, the same questions
            try:
                reword_lm_eval(task, Path(place, task), RewordOptions(kind))
            except (InputError, KeyError):  # not for this task, or one whose set has no rows here
                continue
            show = of_shots if kind == "shot_order" else of_rows
            found.append([f"{task}: {each}" for each in show(Path(place, task), task)])
            random.Random(task).shuffle(found[-1])
    yield from (each for turn in zip_longest(*found) for each in turn if each is not None)


def of_rows(folder: Path, task: str) -> Iterator[str]:
    """Yield what changed in each row of a task: options by their old labels and the key, or the text around it."""
    original: dict[str, Any] = {}
    for row in map(json.loads, (folder / f"{task}_reworded.jsonl").read_text(encoding="utf-8").splitlines()):
        original = original if row["wording"] else row
        if not row["wording"]:
            continue
        if "original_options" not in row:
            new = row["text"] if "text" in row else row["options"][0]  # contexts, which only an instruction changes
            yield changed(original["text"], new) if "text" in original else repr(new)
            continue
        old, new = (listing(each["text"], len(each["original_options"])) for each in ({**row, **original}, row))
        places = {line[4].strip(): line[2] for line in old}
        options = " | ".join(f"{line[2]} (was {places[line[4].strip()]}) {line[4][:WIDE]}" for line in new)
        around = row["text"][: new[0].start()].strip()[-3 * WIDE :], row["text"][new[-1].end() :][:WIDE]
        yield f"key {original['answer']} -> {row['answer']} {around} {options}"


def of_shots(folder: Path, task: str) -> Iterator[str]:
    """Yield how solved examples begin, with their old places, in each prompt of a task."""
    from lm_eval.tasks import TaskManager

    made = TaskManager(include_path=folder, include_defaults=False).load(f"{task}_reworded")["tasks"][
        f"{task}_reworded"
    ]
    made.set_fewshot_seed(1234)
    made.build_all_requests(rank=0, world_size=1)
    original: list[str] = []
    for request in made.instances:
        shots = request.args[0].split(made.config.fewshot_delimiter)
        original = original if request.doc["wording"] else shots
        if request.doc["wording"]:
            places = [original.index(shot) if shot in original else "?" for shot in shots]
            yield " | ".join(f"{place}: {shot.strip()[:WIDE]!r}" for place, shot in zip(places, shots, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=[*KINDS], required=True)
    parser.add_argument("--n", type=int, default=200)
    options = parser.parse_args()
    source = by_rule if KINDS[options.kind].english else of_format
    for number, text in zip(range(options.n), source(options.kind), strict=False):
        print(number, text)


if __name__ == "__main__":
    main()
