"""Language models with a prompt of few examples, and rows of uneven lengths for them."""

from __future__ import annotations

import random
from dataclasses import replace

from helpers.language_models import tiny_language_model
from helpers.models import WORDS

from paraconsist.data.prompts import Example, Prompt, templates
from paraconsist.data.tasks import get_task
from paraconsist.models.loading import prompted
from paraconsist.models.pretrained import LanguageModel
from paraconsist.models.prompted import PromptSettings

TASK = get_task("defeasible_nli")
LABELS = {"weakener": "we went", "strengthener": "wet strong", "other": "W"}


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 9))) + "."


def ragged_rows(seed: int = 0) -> list[dict[str, str]]:
    """Buckets of uneven sizes and contexts of uneven lengths; one row stands twice."""
    rng = random.Random(seed)
    rows = []
    for size in (4, 1, 3):
        context = {"premise": sentence(rng), "hypothesis": sentence(rng)}
        rows += [{**context, "update": sentence(rng)} for _ in range(size)]
    return [*rows, rows[2]]


def make_prompt(shots: int = 2, labels: dict[str, str] = LABELS) -> Prompt:
    rng = random.Random(1)
    names = list(labels)
    template = replace(templates()["s24-delta"], labels=labels)
    examples = [Example({c: sentence(rng) for c in TASK.columns}, names[i % len(names)]) for i in range(shots)]
    return Prompt(template, tuple(examples))


def scorer(kind: str, tokenizer, prompt: Prompt, *, module=None, max_length=None, **settings):
    module = tiny_language_model(kind, tokenizer) if module is None else module
    language = LanguageModel(module, tokenizer, "seq2seq" if kind == "t5" else "causal")
    return prompted(language, PromptSettings(prompt, **settings), max_length=max_length)


def prepared(model, rows):
    return model.prepare([model.encode(TASK, row) for row in rows])
