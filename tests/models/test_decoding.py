"""Writing behind a shared prefix: what it moves for a new token, and that the text is the model's own."""

import inspect
from types import SimpleNamespace

import pytest
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from paraconsist.models.causal_engine import cache_name, compute_prefix
from paraconsist.models.prompted import GrowingLayer

N_PREFIX, N_ROWS, N_NEW = 2000, 4, 24


class Copies(TorchDispatchMode):
    """Counts the bytes that are written by what only moves numbers."""

    def __init__(self):
        super().__init__()
        self.n_bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function.overloadpacket in (torch.ops.aten.cat, torch.ops.aten.copy_, torch.ops.aten.clone):
            self.n_bytes += out.numel() * out.element_size()
        return out


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 300}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 4096}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).eval()


def numbers(*shape):
    return torch.randint(3, 300, shape, generator=torch.Generator().manual_seed(1)).tolist()


def written(module, rows, n_new, cache=None):
    ids = torch.tensor(rows)
    options = {"max_new_tokens": n_new, "do_sample": False, "eos_token_id": None, cache_name(module): cache}
    return module.generate(ids, attention_mask=torch.ones_like(ids), **options)[:, ids.shape[1] :].tolist()


@torch.inference_mode()
def test_a_new_token_moves_a_fifth_of_the_keys_at_most_and_the_text_is_the_same(module):
    shared, rows = numbers(N_PREFIX), numbers(N_ROWS, 9)
    prefix = compute_prefix(module, shared)
    whole = [[*shared, *row] for row in rows]
    with Copies() as copies:
        answers = written(module, whole, N_NEW, prefix.first(N_PREFIX, kind=GrowingLayer))
    assert answers == written(module, whole, N_NEW)
    config = module.config
    keys_and_values = 2 * config.num_hidden_layers * config.hidden_size * 4 * N_ROWS * (N_PREFIX + 9)
    assert copies.n_bytes / N_NEW <= 0.2 * keys_and_values


@torch.inference_mode()
@pytest.mark.parametrize("n_new", [1, 64, 70, 150])
def test_answers_longer_than_the_room_are_the_same(module, n_new):
    shared, rows = numbers(40), numbers(3, 5)
    whole = [[*shared, *row] for row in rows]
    cache = compute_prefix(module, shared).first(40, kind=GrowingLayer)
    assert written(module, whole, n_new, cache) == written(module, whole, n_new)


def test_what_is_computed_is_called_as_the_model_calls_it(module):
    """`past_key_values` before transformers 5.24, `cache` from then on: models of one release may differ."""
    older = SimpleNamespace(forward=lambda input_ids, past_key_values=None, use_cache=None: None)
    newer = SimpleNamespace(forward=lambda input_ids, cache=None, use_cache=None, **deprecated: None)
    assert (cache_name(older), cache_name(newer)) == ("past_key_values", "cache")
    assert cache_name(module) in inspect.signature(module.forward).parameters
