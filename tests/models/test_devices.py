"""The way to an accelerator, on a device of the tests: no float64, no foreign operands, no wait of the host for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from accelerate.state import PartialState
from helpers.language_models import byte_tokenizer, save_language_model, tiny_language_model
from helpers.mock_device import MockDevice, MockMemory, OnDevice, place, spread
from helpers.models import tiny_encoder
from helpers.prompts import TASK, make_prompt, prepared, ragged_rows, scorer

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.store import Store
from paraconsist.errors import InputError
from paraconsist.models.batching import BatchPolicy, check_device
from paraconsist.models.causal_engine import FrozenLayer, Pack
from paraconsist.models.loading import load_model
from paraconsist.models.prompted import PromptSettings
from paraconsist.running import loop
from paraconsist.running.loop import Memory, _results, compute, start_accelerator

pytestmark = pytest.mark.faults
#: For the results of a batch.
ONE_WAIT = {"aten._to_copy": 1}


def results(model, rows, memory=None) -> np.ndarray:
    parts = [*_results(model, [*map(str, range(len(rows)))], rows, memory or Memory())]
    assert [i for ids, _, _ in parts for i in ids] == [*map(str, range(len(rows)))]
    return np.concatenate([part for _, _, part in parts])


def test_the_device_refuses_what_accelerators_refuse():
    with MockDevice() as device:
        here, there = (torch.ones(2, device=f"mps:{i}") for i in range(2))
        with pytest.raises(TypeError, match="float64"):
            here.double()
        for foreign in (there, torch.ones(2)):
            with pytest.raises(RuntimeError, match="same device"):
                here + foreign
        with pytest.raises(RuntimeError, match="same device"):
            here[torch.zeros(1, dtype=torch.long, device="mps:1")]
        assert here[torch.zeros(1, dtype=torch.long)].cpu().tolist() == [1]
        assert isinstance(here + torch.tensor(1.0), OnDevice)
        before = device.waits.total()
        here.sum().item(), here.nonzero(), torch.unique(here)
        assert device.waits.total() == before + 3


def test_scores_of_a_classifier(tmp_path):
    model = load_model(tiny_encoder(tmp_path), task=TASK)
    rows = prepared(model, ragged_rows())
    expected = results(model, rows)
    with MockDevice() as device:
        place(model.module)
        for batch in (rows, rows[:1]):
            device.waits.clear()
            np.testing.assert_allclose(results(model, batch), expected[: len(batch)], rtol=0, atol=1e-6)
            device.waits.pop("__bool__", None)  # transformers looks if a mask hides anything
            assert device.waits == ONE_WAIT


@pytest.mark.parametrize("kind", ["llama", "gemma3", "mistral_sliding", "bloom"])
def test_scores_of_a_language_model(kind):
    model = scorer(kind, byte_tokenizer(), make_prompt())
    rows = prepared(model, ragged_rows())
    expected = results(model, rows)
    fresh = scorer(kind, byte_tokenizer(), make_prompt(), module=model.module)
    with MockDevice() as device:
        place(model.module)
        prepared(fresh, ragged_rows())
        np.testing.assert_allclose(results(fresh, rows), expected, rtol=0, atol=1e-6)
        assert fresh.engine.way == model.engine.way != "plain"
        device.waits.clear()
        results(fresh, rows)
        assert device.waits == ONE_WAIT


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_answers_drawn_after_a_prefix(kind):
    options = {"scoring": "generate", "max_new_tokens": 5, "temperature": 1.0}
    model = scorer(kind, byte_tokenizer(), make_prompt(), **options)
    expected = model.write(prepared(model, ragged_rows()))
    fresh = scorer(kind, byte_tokenizer(), make_prompt(), module=model.module, **options)
    with MockDevice():
        place(model.module)
        assert fresh.write(prepared(fresh, ragged_rows())) == expected
    assert fresh._prefix is not None


@pytest.mark.parametrize("share", [True, False])
def test_scores_of_a_language_model_that_two_devices_share(share):
    model = scorer("llama", byte_tokenizer(), make_prompt(), share=share)
    rows = prepared(model, ragged_rows())
    expected = results(model, rows)
    fresh = scorer("llama", byte_tokenizer(), make_prompt(), module=model.module, share=share)
    with MockDevice():
        spread(model.module)
        prepared(fresh, ragged_rows())
        np.testing.assert_allclose(results(fresh, rows), expected, rtol=0, atol=1e-6)
    assert fresh.engine.way == ("packed" if share else "plain")


def test_a_model_that_keeps_only_last_places_is_computed_at_all_of_them():
    model = scorer("llama", byte_tokenizer(), make_prompt())
    rows = prepared(model, ragged_rows())
    expected, forward = results(model, rows), model.module.forward

    @wraps(forward)
    def older(logits_to_keep: int = 0, **inputs):
        return forward(logits_to_keep=slice(-logits_to_keep, None), **inputs)

    fresh = scorer("llama", byte_tokenizer(), make_prompt(), module=model.module)
    prepared(fresh, ragged_rows())
    model.module.forward = older
    np.testing.assert_allclose(results(fresh, rows), expected, rtol=0, atol=1e-6)
    assert fresh.engine.way == "packed"
    model.module.forward = lambda **inputs: {}["rope"]
    broken = scorer("llama", byte_tokenizer(), make_prompt(), module=model.module)
    with pytest.raises(InputError, match="rope") as caught:
        broken.logits(prepared(broken, ragged_rows()))
    assert (caught.value.parameter, caught.value.got) == ("model", "LlamaForCausalLM")


def test_under_a_launcher_a_model_is_not_spread_over_devices(tmp_path, monkeypatch):
    save_language_model(tmp_path)
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as caught:
        load_model(tmp_path, task=TASK, ask=lambda: PromptSettings(make_prompt(), device_map="auto"))
    assert caught.value.parameter == "device_map"


def test_a_run_on_another_device_than_the_first_one_of_this_python(monkeypatch):
    """accelerate keeps the device of the first: a run on the GPU after one on the processor was on the processor."""
    kinds = []
    for device, best in (("cpu", "cpu"), (None, "meta"), ("cpu", "cpu"), (None, "meta")):
        monkeypatch.setattr(loop, "check_device", lambda function, asked, best=best: best)
        monkeypatch.setattr(PartialState, "default_device", property(lambda self: torch.device("meta")))
        kinds.append(start_accelerator(device=device).device.type)
    assert kinds == ["cpu", "meta"] * 2
    monkeypatch.undo()
    assert start_accelerator().device.type == check_device("run", None)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_scores_of_packs_that_threads_compute_at_a_time(kind):
    """The second writes over the room of the first after the device has computed it."""
    model, rows = scorer(kind, byte_tokenizer(), make_prompt()), [*ragged_rows(0), *ragged_rows(1)] * 6
    some = prepared(model, rows)
    parts = [some[i : i + 5] for i in range(0, len(some), 5)]
    expected = [model.logits(part) for part in parts]
    assert model.queues
    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(model.logits, parts)]
    torch.testing.assert_close(torch.cat(found), torch.cat(expected), rtol=0, atol=1e-5)


def short_by_one(pack, n_prefix, window=None, device="cpu"):
    return visible(pack, n_prefix, None if window is None else window - 1, device)


def leaking(pack, n_prefix, window=None, device="cpu"):
    return torch.tril(torch.ones_like(visible(pack, n_prefix, window, device)), n_prefix)


def seeing_ahead(pack, n_prefix, window=None, device="cpu"):
    """The first of the prompts sees the last one's end; the last sees what it should."""
    seen = visible(pack, n_prefix, window, device)
    seen[: np.flatnonzero(np.diff(pack.depths) < 0)[0] + 1, -3:] = True
    return seen


visible = Pack.visible


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize(
    ("kind", "wrong"),
    [("llama", leaking), ("qwen3", seeing_ahead), ("gpt2", leaking)]
    + [(kind, short_by_one) for kind in ("mistral_sliding", "qwen2_sliding", "gemma2")],
)
def test_masks_that_are_wrong_are_refused_in_any_dtype(kind, wrong, dtype, monkeypatch):
    """In bfloat16 a wrong mask changes numbers about as much as rounding does."""
    module = tiny_language_model(kind, byte_tokenizer()).to(dtype)
    before = {name: (id(weights), weights.dtype) for name, weights in module.named_parameters(remove_duplicate=False)}
    scores = []
    for visible_to, way in ((visible, "packed"), (wrong, "expanded")):
        monkeypatch.setattr(Pack, "visible", visible_to)
        model = scorer(kind, byte_tokenizer(), make_prompt(), module=module)
        scores.append(model.logits(prepared(model, ragged_rows())))
        assert model.engine.way == way
        assert model.engine.prefix.layers[0][0].dtype == dtype
    torch.testing.assert_close(*scores, rtol=0, atol=1e-4 if dtype == torch.float32 else 0.25)
    after = {name: (id(weights), weights.dtype) for name, weights in module.named_parameters(remove_duplicate=False)}
    assert after == before


def test_a_written_answer_is_checked_as_strictly(monkeypatch):
    options = {"scoring": "generate", "max_new_tokens": 5}
    module = tiny_language_model("llama", byte_tokenizer()).to(torch.bfloat16)
    model = scorer("llama", byte_tokenizer(), make_prompt(), module=module, **options)
    model.write(prepared(model, ragged_rows()))
    assert model._prefix is not None
    sizes = FrozenLayer.get_mask_sizes
    monkeypatch.setattr(FrozenLayer, "get_mask_sizes", lambda layer, n: (sizes(layer, n)[0], 1))  # one key unseen
    model = scorer("llama", byte_tokenizer(), make_prompt(), module=module, **options)
    with pytest.warns(UserWarning, match="cannot share"):
        model.write(prepared(model, ragged_rows()))
    assert model._prefix is None


def test_what_did_not_fit_in_memory_is_not_tried_again(tmp_path, monkeypatch):
    model = load_model(tiny_encoder(tmp_path), task=TASK)
    rows = prepared(model, [row for seed in range(8) for row in ragged_rows(seed)])
    expected, logits, refused = results(model, rows), model.logits, []

    def small(batch):
        if len(batch) > 5:
            refused.append(len(batch))
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return logits(batch)

    monkeypatch.setattr(model, "logits", small)
    memory = Memory()
    for _ in range(5):
        np.testing.assert_allclose(results(model, rows, memory), expected, rtol=0, atol=1e-6)
    assert 0 < len(refused) < 12  # forwards that halve what is tried; the next rounds add none


@pytest.fixture
def run_on_device(tmp_path, monkeypatch):
    """Return a function that runs a classifier on a device of some bytes and returns what its loop counted."""
    model = load_model(tiny_encoder(tmp_path / "model"), task=TASK)
    model.reentrant = False  # the device is one of a single thread
    rows = [row for seed in range(30) for row in ragged_rows(seed)]
    ids = {"input_id": [f"{i}" for i in range(len(rows))]}
    table = pa.table(ids | {name: [row[name] for row in rows] for name in TASK.columns})
    bucket_set = BucketSet("set", TASK, TASK.label_names, table, "")
    expected = results(model, prepared(model, rows))
    module = model.module
    accelerator = SimpleNamespace(device=torch.device("mps", 0), num_processes=1, process_index=0, is_main_process=True)

    def run(policy, n_bytes=None):
        memory = MockMemory(torch.inf)
        if n_bytes is not None:
            monkeypatch.setattr(torch, "get_device_module", lambda device: memory)
        store = Store(tmp_path / f"store-{n_bytes}-{policy}", {})
        with MockDevice(), memory:
            place(module)
            module.hf_device_map = {"": 0}  # it is there already
            memory.n_bytes = memory.memory_allocated() + (n_bytes or torch.inf)
            statistics = compute(model, [bucket_set], store, accelerator, policy)
        np.testing.assert_allclose([store.finished()[i] for i in ids["input_id"]], expected, rtol=0, atol=1e-6)
        return statistics, memory

    return run


DEFAULT = BatchPolicy(max_tokens=512, fits=False)


@pytest.mark.parametrize(("n_bytes", "least", "most"), [(200_000, 32, 256), (1_000_000, 512, 2047), (1e8, 2048, 2048)])
def test_the_tokens_of_a_batch_are_fitted_to_the_free_memory(run_on_device, n_bytes, least, most):
    statistics, memory = run_on_device(DEFAULT, n_bytes)
    assert least <= statistics.max_tokens <= most
    assert memory.refused == 0
    assert memory.max_memory_allocated() > 0


def test_a_batch_that_does_not_fit_while_it_is_measured_ends_the_search(run_on_device):
    statistics, memory = run_on_device(DEFAULT, 40_000)
    assert statistics.max_tokens < 64
    assert 0 < memory.refused < 10


def test_a_number_of_tokens_that_was_chosen_is_kept_and_so_is_any_where_memory_is_unknown(run_on_device):
    assert run_on_device(DEFAULT)[0].max_tokens == 512
    statistics, memory = run_on_device(BatchPolicy(max_tokens=512), 200_000)
    assert (statistics.max_tokens, memory.refused > 0) == (512, True)
    assert BatchPolicy.for_device("cpu").fits
    assert BatchPolicy.for_device("cuda", 99).fits
    assert not BatchPolicy.for_device("cuda").fits
