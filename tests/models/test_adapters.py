"""Adapters of PEFT: the model with the adapter in its weights, and an identity of both."""

import json
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from helpers.errors import refuses
from helpers.language_models import save_language_model
from helpers.models import tiny_encoder

from paraconsist.data.prompts import Prompt, templates
from paraconsist.data.sharing import public
from paraconsist.data.store import content_identity
from paraconsist.data.tasks import get_task
from paraconsist.models.loading import load_model
from paraconsist.models.prompted import PromptedModel, PromptSettings

peft = pytest.importorskip("peft", reason="peft is not installed")
TASK = get_task("defeasible_nli")
ROW = {"premise": "The dog sleeps.", "hypothesis": "It is wet.", "update": "It has found a roof."}


@contextmanager
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft calls what transformers has renamed
        yield


def lora(base, folder, kind, seed=0, **options):
    """Write an adapter whose matrices are not 0, as they are before training."""
    torch.manual_seed(seed)
    with quietly():
        model = peft.get_peft_model(base, peft.LoraConfig(r=4, task_type=kind, **options))
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                weights.normal_(0.0, 0.3)
    model.save_pretrained(str(folder))
    return model.eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import transformers

    place = tmp_path_factory.mktemp("models")
    save_language_model(place / "causal", "llama")
    tiny_encoder(place / "encoder")
    for seed, name in enumerate(("lora", "other")):
        base = transformers.AutoModelForCausalLM.from_pretrained(place / "causal")
        lora(base, place / name, "CAUSAL_LM", seed)
    base = transformers.AutoModelForSequenceClassification.from_pretrained(place / "encoder")
    lora(base, place / "head", "SEQ_CLS", modules_to_save=["classifier"])
    return place


def opened(folder):
    return load_model(folder, task=TASK, ask=lambda: PromptSettings(Prompt(templates()["s24-delta"])))


def logits(model):
    return model.logits(model.prepare([model.encode(TASK, ROW)])).detach().numpy()


@pytest.mark.parametrize(("name", "base"), [("lora", "causal"), ("head", "encoder")])
def test_the_answers_are_those_of_the_model_with_its_adapter(folder, name, base):
    model, plain = opened(folder / name), opened(folder / base)
    assert isinstance(model, PromptedModel) is (name == "lora")
    assert np.abs(logits(model) - logits(plain)).max() > 1e-2
    with quietly():
        plain.module = peft.PeftModel.from_pretrained(plain.module, str(folder / name)).eval()
    ids = torch.arange(5, 25)[None]
    assert model.module(ids).logits.detach().numpy() == pytest.approx(
        plain.module(ids).logits.detach().numpy(), abs=1e-4
    )


def test_the_identity_is_of_the_adapter_and_of_its_model(folder, tmp_path):
    one, other, plain = (opened(folder / name).identity for name in ("lora", "other", "causal"))
    assert (one["model"], one["base_model"]) == (str(folder / "lora"), str(folder / "causal"))
    assert len({one["weights_hash"], other["weights_hash"], plain["weights_hash"]}) == 3
    assert one["settings_hash"] == plain["settings_hash"]
    assert one == opened(folder / "lora").identity
    assert str(folder) not in json.dumps(public(dict(one)))
    assert str(folder) not in json.dumps(content_identity(one))  # both may be moved
    config = json.loads((folder / "lora" / "adapter_config.json").read_text())
    scaled = tmp_path / "scaled"
    scaled.mkdir()
    (scaled / "adapter_config.json").write_text(json.dumps({**config, "lora_alpha": 2 * config["lora_alpha"]}))
    (scaled / "adapter_model.safetensors").write_bytes((folder / "lora" / "adapter_model.safetensors").read_bytes())
    assert opened(scaled).identity["files"] != one["files"]


def broken(folder, tmp_path, change):
    (tmp_path / "a").mkdir()
    for file in (folder / "lora").iterdir():
        (tmp_path / "a" / file.name).write_bytes(file.read_bytes())
    change(tmp_path / "a")
    return tmp_path / "a"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda place: (place / "adapter_config.json").write_text("{"), "names no base model"),
        (lambda place: (place / "adapter_config.json").write_text('{"base_model_name_or_path": null}'), "no base"),
        (lambda place: (place / "adapter_config.json").write_text('{"base_model_name_or_path": "/no/x"}'), "'/no/x'"),
        (lambda place: (place / "adapter_model.safetensors").unlink(), r"has no adapter_model\.safetensors"),
        (lambda place: (place / "adapter_model.safetensors").write_bytes(b"x"), "adapter cannot be read"),
        (lambda place: (place / "model.safetensors").write_bytes(b"x"), "holds a model and an adapter"),
    ],
)
def test_adapters_that_cannot_be_used(folder, tmp_path, change, said):
    refuses(said, opened, broken(folder, tmp_path, change))


def test_prompts_that_are_learnt_are_no_weights(folder, tmp_path):
    import transformers

    base = transformers.AutoModelForCausalLM.from_pretrained(folder / "causal")
    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with quietly():
        peft.get_peft_model(base, config).save_pretrained(str(tmp_path / "prompt"))
    refuses("cannot be put into the weights", opened, tmp_path / "prompt")


def test_without_peft_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    refuses(r"paraconsist\[adapters\]", opened, folder / "lora")
