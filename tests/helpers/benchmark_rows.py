"""Stand-in rows of benchmarks' schemas, written for these tests, and lm-eval's own tasks on them, offline."""

import hashlib
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import datasets
from lm_eval import tasks
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import paraconsist.transforms.reworded_tasks as reworded_tasks

TREE = Path(tasks.__file__).parent
_THINGS = ["lantern", "kettle", "ladder", "anchor", "basket", "compass"]
_COLOURS = ["red", "green", "blue", "yellow", "grey", "brown"]


def _question(i):
    return f"A man is carrying a {_COLOURS[i]} {_THINGS[i]} near {i + 2} big boats. What isn't on the boat?"


def _four(i):
    return [f"the {_THINGS[(i + k) % 6]} and {k + 3} ropes" for k in range(4)]


def _arc(i):
    return {
        "id": f"q{i}", "question": _question(i), "choices": {"text": _four(i), "label": list("ABCD")},
        "answerKey": "ABCD"[i % 4],
    }  # fmt: skip


def _mmlu(i):
    return {"question": _question(i), "choices": _four(i), "answer": i % 4, "subject": "boats"}


def _five(i):
    texts = [*_four(i), f"a {_COLOURS[i]} sail"]
    return {"question": _question(i), "choices": {"text": texts, "label": list("ABCDE")}, "answerKey": "ABCDE"[i % 5]}


def _span(kind, value):
    empty = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
    return {**empty, kind: value}


def _drop(i):
    others = {"number": [str(i)], "date": [{"day": "", "month": "", "year": ""}], "spans": [[]]}
    passage = f"The big {_THINGS[i]} was sold for {i + 7} coins. It isn't for sale."
    return {
        "query_id": str(i), "passage": passage, "question": "How many coins was it sold for?",
        "answer": _span("number", str(i + 7)), "validated_answers": others, "section_id": "s",
    }  # fmt: skip


#: (path, name) of a set on the Hub -> how its i-th row is made.
ROWS = {
    ("allenai/ai2_arc", "ARC-Easy"): _arc,
    ("allenai/ai2_arc", "ARC-Challenge"): _arc,
    ("Rowan/hellaswag", None): lambda i: {
        "ctx_a": "A man is on a big boat.", "ctx_b": f"he lifts the {_THINGS[i]}", "endings": _four(i),
        "activity_label": ["Sailing", "Rowing"][i % 2], "label": str(i % 4),
    },
    ("baber/piqa", None): lambda i: {
        "goal": f"To clean a {_THINGS[i]}, which isn't big", "sol1": "use 2 cups of sand", "sol2": "use a soft cloth",
        "label": i % 2,
    },
    ("allenai/openbookqa", "main"): lambda i: {
        "id": str(i), "question_stem": f"A big {_THINGS[i]} floats because it", "answerKey": "ABCD"[i % 4],
        "choices": {"text": _four(i), "label": list("ABCD")},
    },
    ("tau/commonsense_qa", None): _five,
    ("aps/super_glue", "boolq"): lambda i: {
        "passage": f"The {_THINGS[i]} is on the big boat.", "label": i % 2,
        "question": f"is the {_THINGS[i]} on a boat",
    },
    ("aps/super_glue", "copa"): lambda i: {
        "premise": f"The big {_THINGS[i]} fell.", "question": ["cause", "effect"][i % 2], "choice1": "It was loose.",
        "choice2": "It was blue.", "label": i % 2,
    },
    ("nyu-mll/glue", "rte"): lambda i: {
        "sentence1": f"A man is holding a big {_THINGS[i]}.", "sentence2": f"A man has a {_THINGS[i]}.", "label": i % 2,
        "idx": i,
    },
    ("allenai/winogrande", "winogrande_xl"): lambda i: {
        "sentence": f"The {_THINGS[i]} did not fit in the box because the _ was too big.", "option1": _THINGS[i],
        "option2": "box", "answer": str(i % 2 + 1),
    },
    ("truthfulqa/truthful_qa", "multiple_choice"): lambda i: {
        "question": f"What is a big {_THINGS[i]} for?",
        "mc1_targets": {"choices": _four(i), "labels": [1, 0, 0, 0]},
        "mc2_targets": {"choices": _four(i), "labels": [1, 1, 0, 0]},
    },
    ("allenai/sciq", None): lambda i: {
        "support": f"A big {_THINGS[i]} is made of metal.", "question": f"What is a {_THINGS[i]} made of?",
        "distractor1": "wood", "distractor2": "glass", "distractor3": "paper", "correct_answer": "metal",
    },
    ("EleutherAI/lambada_openai", "default"): lambda i: {"text": f"The man looked at the {_THINGS[i]} on the big boat"},
    ("cimec/lambada", None): lambda i: {"text": f"the man looked at the {_THINGS[i]} on the boat", "domain": "None"},
    ("openai/gsm8k", "main"): lambda i: {
        "question": f"A man has {i + 2} big boats and buys 3 more. How many are there?",
        "answer": f"{i + 2} + 3 = <<{i + 2}+3={i + 5}>>{i + 5}\n#### {i + 5}",
    },
    ("google-research-datasets/nq_open", None): lambda i: {
        "question": f"who made the first big {_THINGS[i]}", "answer": [f"the smith of port {i}", "a smith"],
    },
    ("mandarjoshi/trivia_qa", "rc.nocontext"): lambda i: {
        "question": f"Which big {_THINGS[i]} isn't heavy", "question_id": str(i),
        "answer": {"aliases": [f"paper {i}", "paper one"], "value": f"paper {i}"},
    },
    ("EleutherAI/drop", None): _drop,
    ("lighteval/squad_v2", None): lambda i: {
        "id": str(i), "title": "Boats", "context": f"The {_THINGS[i]} is on the big boat.",
        "question": f"Where is the {_THINGS[i]} now?", "answers": {"text": ["on the big boat"], "answer_start": [4]},
    },
    ("TIGER-Lab/MMLU-Pro", None): lambda i: {
        "question_id": i, "question": _question(i), "options": _four(i), "answer": "ABCD"[i % 4], "answer_index": i % 4,
        "cot_content": f"A: Let's think step by step. It floats. The answer is ({'ABCD'[i % 4]}).",
        "category": "biology", "src": "made",
    },
    ("SaylorTwift/bbh", "snarks"): lambda i: {
        "input": f"Which is sarcastic?\nOptions:\n(A) A big {_THINGS[i]} is heavy\n(B) I love a wet {_THINGS[i]}",
        "target": f"({'AB'[i % 2]})",
    },
    ("EleutherAI/wikitext_document_level", "wikitext-2-raw-v1"): lambda i: {"page": f"The {_THINGS[i]} is a thing."},
}  # fmt: skip

#: Folders of lm-eval's tree that are indexed: to read all of its 14,000 files takes some 10 s.
FOLDERS = [
    "arc", "hellaswag", "piqa", "openbookqa", "commonsense_qa", "super_glue/boolq", "super_glue/copa", "glue/rte",
    "winogrande", "truthfulqa", "sciq", "lambada", "gsm8k", "nq_open", "triviaqa", "drop", "squadv2", "mmlu_pro",
    "bbh/zeroshot", "wikitext", "mmlu/default",
]  # fmt: skip


def _numbered(value, number):
    """Return a row's value with the number of the round of six after each thing, so that no two rows are alike."""
    if isinstance(value, str) and number:
        return re.sub("|".join(_THINGS), lambda match: f"{match[0]} {number}", value)
    if isinstance(value, dict):
        return {name: _numbered(inner, number) for name, inner in value.items()}
    return [_numbered(inner, number) for inner in value] if isinstance(value, list) else value


def load_dataset(path, name=None, *, n=6, **_):
    """Return n stand-in rows in every split, as `datasets.load_dataset` would real ones."""
    make = _mmlu if path == "cais/mmlu" else ROWS[path, name]
    rows = datasets.Dataset.from_list([_numbered(make(i % 6), i // 6) for i in range(n)])
    return datasets.DatasetDict(dict.fromkeys(("train", "validation", "test", "dev"), rows))


def stand_in(patch, n=6):
    """Give lm-eval n stand-in rows a set, and the command an index of `FOLDERS`; `patch` is a MonkeyPatch."""
    loading = {"load_dataset": partial(load_dataset, n=n)}
    patch.setattr("lm_eval.api.task.datasets", SimpleNamespace(**{**vars(datasets), **loading}))
    index = TaskManager(include_path=[TREE / folder for folder in FOLDERS], include_defaults=False)

    def manager(include_path=None):
        return TaskManager(include_path=include_path, include_defaults=False) if include_path else index

    patch.setattr(reworded_tasks, "task_manager", manager)
    return index


class HashedModel(LM):
    """A model whose answers follow from the requests alone, some of them right."""

    tokenizer_name = "hashed"

    @staticmethod
    def _number(request):
        return int.from_bytes(hashlib.sha256(repr(request.args).encode()).digest()[:6], "big")

    def loglikelihood(self, requests, disable_tqdm=False):
        numbers = [*map(self._number, requests)]
        return [(-(number % 10007) / 1000, number % 2 == 0) for number in numbers]

    def generate_until(self, requests, disable_tqdm=False):
        pool = ["The answer is (B).", "(A)", "#### 7", "a smith", "paper one", "10"]
        return [pool[self._number(request) % len(pool)] for request in requests]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        return [-1.0 for _ in requests]
