"""What the scripts here share: models with random weights in real sizes, rows of random words, one run of them.

Each script takes ``--device cpu --tiny``, which shows in a minute that it works.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers import models as tokenizer_models

from paraconsist.data.predictions import read_predictions
from paraconsist.running.by_name import NamedRun, run_by_name
from paraconsist.running.options import LoadOptions, PromptOptions, RunOptions, SetOptions

WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lo", "mi")]
#: hidden size, layers, heads, heads of keys and values, inner size, tokens in the vocabulary
SIZES = {
    "minilm": (384, 6, 12, 12, 1536, 30522),
    "125m": (768, 12, 12, 12, 3072, 50265),
    "1.5b": (1536, 28, 12, 2, 8960, 151936),
}
CAUSAL = ("1.5b",)
_TINY = (32, 2, 2, 2, 64, 600)


@contextmanager
def options(description: str | None, arguments: list[str] | None) -> Iterator[argparse.Namespace]:
    """Read ``--device``, ``--tiny`` and ``--rows``; ``scratch`` is a folder for the while."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--device", help="by default the best there is; 'cpu' to try the script")
    parser.add_argument("--tiny", action="store_true", help="models of two small layers and 40 rows")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--models", type=Path, help="keep models in this folder, for the other scripts")
    read = parser.parse_args(arguments)
    read.rows = read.rows or (40 if read.tiny else 20_000)
    with tempfile.TemporaryDirectory() as scratch:
        read.scratch = Path(scratch)
        read.models = read.models or read.scratch / "models"
        kind = "cpu" if read.device == "cpu" or not torch.cuda.is_available() else torch.cuda.get_device_name()
        print(f"{(description or '').splitlines()[0]} On {kind}{', tiny' if read.tiny else ''}:")
        yield read


def tokenizer() -> Any:
    made = Tokenizer(tokenizer_models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["[PAD]", "[CLS]", "[SEP]"]
    trainer = trainers.BpeTrainer(
        vocab_size=590, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    pieces = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}
    made.post_processor = processors.TemplateProcessing(**pieces, special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", model_max_length=4096)


def save_model(given: argparse.Namespace, size: str) -> Path:
    """Save a model of a size if it is not there: two-label classifiers, a causal language model for the largest."""
    folder, tiny = given.models / size, given.tiny
    if (folder / "model.safetensors").exists():
        return folder
    hidden, layers, heads, key_heads, inner, vocabulary = _TINY if tiny else SIZES[size]
    torch.manual_seed(0)
    common = {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "max_position_embeddings": 4096,
        "pad_token_id": 0,
    }
    module: Any
    made = tokenizer()
    with torch.device("cpu" if given.device == "cpu" or not torch.cuda.is_available() else "cuda"):
        if size in CAUSAL:
            made.backend_tokenizer.post_processor = processors.ByteLevel()
            module = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**common, num_key_value_heads=key_heads))
        else:
            names = {0: "weakener", 1: "strengthener"}
            module = transformers.BertForSequenceClassification(transformers.BertConfig(**common, id2label=names))
    module.save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def save_rows(file: Path, n_rows: int, *, seed: int = 0) -> Path:
    """Write a bucket set of defeasible NLI, of random words: about 20 to 60 words a row, no row twice."""
    rng = random.Random(seed)
    with file.open("w") as stream:
        for i in range(n_rows):
            texts = {c: " ".join(rng.choices(WORDS, k=rng.randint(6, 20))) for c in ("premise", "hypothesis", "update")}
            role, label = "original" if i % 5 == 0 else "paraphrase", ("weakener", "strengthener")[i // 5 % 2]
            row = {"example_id": f"e{i}", "bucket_id": f"b{i // 5}", "role": role, **texts, "label": label}
            stream.write(json.dumps(row) + "\n")
    return file


def run(model: Path, rows: Path, output: Path, *, shots: int = 0, dtype: str = "float32", **more: Any) -> Any:
    """Run a model over rows as ``paraconsist run`` does; return the loop's statistics and id -> probabilities."""
    examples = [str(save_rows(output.parent / "examples.jsonl", 200, seed=1))] if shots else []
    prompts = PromptOptions(shots=shots or None, examples=examples)
    sets, loading = SetOptions([str(rows)], task="defeasible_nli"), LoadOptions(dtype=dtype)
    report: Any = run_by_name(NamedRun([str(model)], sets, prompts, loading, RunOptions(output, **more)))
    (statistics,) = report.statistics.values()
    if not report.is_main_process:
        return statistics, {}
    table = read_predictions(next(iter(report.files.values()))).table
    ids, values = table["example_id"].to_pylist(), table["probabilities"].to_pylist()
    return statistics, dict(zip(ids, values, strict=True))


def largest_change(one: dict[str, list[float]], other: dict[str, list[float]]) -> tuple[float, int]:
    """The largest change of a probability, and how many answers are others."""
    changes = [max(abs(a - b) for a, b in zip(one[i], other[i], strict=True)) for i in one]
    return max(changes), sum(one[i].index(max(one[i])) != other[i].index(max(other[i])) for i in one)
