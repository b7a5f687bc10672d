"""Answers drawn at a temperature: the distribution, and that nothing but prompt and seed decides a draw."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.language_models import byte_tokenizer, tiny_language_model
from helpers.models import WORDS
from scipy.stats import chisquare

from paraconsist.data.prompts import Example, Prompt, templates
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.models.loading import prompted
from paraconsist.models.pretrained import LanguageModel
from paraconsist.models.prompted import Draws, GenerationSettings, PromptSettings, generate

TASK = get_task("defeasible_nli")


def a_prompt(shots: int) -> Prompt:
    template = replace(templates()["s24-delta"], labels={"weakener": "W", "strengthener": "S"})
    rows = [dict(zip(TASK.columns, WORDS[3 * i : 3 * i + 3], strict=True)) for i in range(shots)]
    return Prompt(template, tuple(Example(row, "weakener") for row in rows))


def writer(kind: str, shots: int = 2, **settings):
    tokenizer = byte_tokenizer(60)
    language = LanguageModel(
        tiny_language_model(kind, tokenizer, scale=2.0), tokenizer, "seq2seq" if kind == "t5" else "causal"
    )
    asked = {"scoring": "generate", "max_new_tokens": 5, "temperature": 1.0, **settings}
    return prompted(language, PromptSettings(a_prompt(shots), **asked))


def write(model, rows) -> list[str]:
    prepared = model.prepare([model.encode(TASK, row) for row in rows])
    return [answer.raw_output for answer in model.write(prepared)]


ROWS = [
    {"premise": " ".join(WORDS[: 1 + i % 3]), "hypothesis": WORDS[i % 7], "update": " ".join(WORDS[i : i + 1 + i % 4])}
    for i in range(12)
]


def test_tokens_come_as_often_as_they_are_probable():
    torch.manual_seed(0)
    settings = PromptSettings(a_prompt(0), scoring="generate", max_new_tokens=1, temperature=0.7)
    n, logits = 20_000, torch.randn(6) * 1.5
    logits[2] = -torch.inf  # what a model must not write
    draws = Draws.of(settings, [[i] for i in range(n)])
    drawn = draws(torch.zeros(n, 3, dtype=torch.long), logits.expand(n, -1)).argmax(dim=-1)
    counts = np.bincount(drawn.numpy(), minlength=6)
    expected = torch.softmax(logits.double() / 0.7, dim=-1).numpy() * n
    assert counts[2] == 0
    kept = expected > 0
    assert chisquare(counts[kept], expected[kept]).pvalue > 0.001


def test_without_a_temperature_nothing_is_drawn():
    settings = PromptSettings(a_prompt(0), scoring="generate")
    assert Draws.of(settings, [[1]]) is None
    assert "temperature" not in settings.identity
    warm = replace(settings, temperature=0.5, seed=3)
    assert (warm.identity["temperature"], warm.identity["seed"]) == ("0.5", "3")
    with pytest.raises(InputError, match="`temperature` must be given only with `scoring` generate"):
        PromptSettings(a_prompt(0), temperature=0.5)
    with pytest.raises(InputError, match="`temperature` must be 0 or more"):
        replace(settings, temperature=-1.0)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_a_draw_depends_on_prompt_and_seed_alone(kind):
    model = writer(kind)
    together = write(model, ROWS)
    assert [write(model, [row])[0] for row in ROWS] == together
    assert write(model, ROWS[::-1])[::-1] == together
    other = write(model.with_seed(1), ROWS)
    assert sum(one != two for one, two in zip(together, other, strict=True)) > 6
    assert write(model.with_seed(1), ROWS[3:]) == other[3:]
    assert write(model, ROWS) == together  # the model itself keeps its seed
    cold = writer(kind, temperature=0.0)
    assert write(cold.with_seed(1), ROWS) == write(cold, ROWS) != together


def test_behind_a_shared_prefix_the_same_is_drawn_as_without():
    shared, alone = writer("llama", shots=4), writer("llama", shots=4, share=False)
    assert write(shared, ROWS) == write(alone, ROWS)
    assert shared._prefix is not None


@pytest.mark.parametrize("kind", ["llama", "t5"])
@pytest.mark.parametrize("asked", [{}, {"temperature": 1.0}, {"n": 2, "num_beams": 2}])
def test_free_texts_of_numbers_that_are_not_finite_are_refused(kind, asked):
    tokenizer = byte_tokenizer()
    module = tiny_language_model(kind, tokenizer)
    with torch.no_grad():
        module.get_output_embeddings().weight[3] = torch.nan
    language = LanguageModel(module, tokenizer, "seq2seq" if kind == "t5" else "causal")
    with pytest.raises(InputError, match="`language` must compute finite numbers"):
        generate(language, ["the dog", "a"], GenerationSettings(max_new_tokens=3, **asked))


@pytest.mark.parametrize("tokens", [{}, {"pad_token": None}, {"pad_token": None, "eos_token": None}])
def test_texts_of_different_lengths_are_written_as_each_alone(tokens):
    """Also where the tokenizer names no token to fill up with, nor the model one that ends a text."""
    tokenizer = byte_tokenizer()
    module = tiny_language_model("llama", tokenizer)
    for name, token in tokens.items():
        setattr(tokenizer, name, token)
    if "eos_token" in tokens:
        module.generation_config.eos_token_id = None
    language, texts = LanguageModel(module, tokenizer, "causal"), ["the dog", "a", "the dog reads a book"]
    settings = GenerationSettings(max_new_tokens=4)
    assert generate(language, texts, settings) == [generate(language, [text], settings)[0] for text in texts]
