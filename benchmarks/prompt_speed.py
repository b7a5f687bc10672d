"""Label scoring of a causal model against lm-evaluation-harness's Hugging Face backend, side by side in one run.

Both get the same prompts of real rows, the same label words, the same module in memory (a Llama of about 50 million
parameters with random weights: speed does not depend on what it learnt) and the same threads. Timed is, for the
harness, `HFLM.loglikelihood` on ready prompts, with the quickest of the batch sizes given; for paraconsist the whole
loop: putting prompts together, finding identical ones, tokenising, the shared prefix and its check, batches, writing
the store. The harness gets a subset of the rows, for at 36 shots it needs seconds for each, and `--peer-seconds` at
most; paraconsist is timed on the whole set (or `--set-rows` of it) and on that subset. Choices and probabilities are
compared on what the harness answered. `--model` takes a folder, or `smollm2` (see tests/helpers/smollm2.py).

    pip install lm-eval
    python benchmarks/prompt_speed.py --data-dir DATA --shots 36 --rows 48
    python benchmarks/prompt_speed.py --data-dir DATA --model smollm2 --set-rows 500 --rows 500 --peer-seconds 300
    python benchmarks/prompt_speed.py --data-dir DATA --shots 0 --rows 2000
    python benchmarks/prompt_speed.py --data-dir DATA --shots 36 --memory
    python benchmarks/prompt_speed.py --data-dir DATA --model smollm2 --preparing
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.store import Store
from paraconsist.models.batching import BatchPolicy
from paraconsist.models.causal_engine import cache_name, compute_prefix
from paraconsist.models.prompted import CausalScorer, PromptSettings
from paraconsist.running.by_name import load_pools, make_prompt
from paraconsist.running.loop import compute, start_accelerator
from paraconsist.running.options import PromptOptions

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.smollm2 import save_smollm2

WAYS = ("packed", "a cache for each row", "whole prompts")
_N_ROWS_MEMORY = 16


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=32_000, special_tokens=["<pad>", "<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


def make_model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=10,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    module = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(3)  # answers of small random weights are nearly uniform
    return module


def clocks() -> np.ndarray[Any, Any]:
    """Seconds on the wall, and of processor time: the second does not hang on what else the machine does."""
    return np.array([time.perf_counter(), time.process_time()])


def peer_run(
    module: Any, tokenizer: Any, prompts: list[str], answers: tuple[str, ...], batch: int, seconds: float = math.inf
) -> Any:
    import logging

    logging.disable(logging.WARNING)
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    peer = HFLM(pretrained=module, tokenizer=tokenizer, batch_size=batch, device=str(module.device))
    size = len(prompts) if seconds == math.inf else batch
    values: list[float] = []
    started = clocks()
    for start in range(0, len(prompts), size):
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=(prompt, answer), idx=i)
            for prompt in prompts[start : start + size]
            for i, answer in enumerate(answers)
        ]
        with torch.inference_mode():
            values += [value for value, _ in peer.loglikelihood(requests, disable_tqdm=True)]
        if (clocks() - started)[0] > seconds:
            break
    return clocks() - started, torch.tensor(values).view(-1, len(answers))


def say_preparing(module: Any, tokenizer: Any, settings: PromptSettings, rows: BucketSet) -> None:
    """Print what it takes to put a prompt together and tokenise it, by processor time."""
    scorer = CausalScorer(module, tokenizer, settings, window=None, identity={})
    started = clocks()
    scorer.prepare(scorer.encode_all(rows.task, rows.table.slice(0, 64)))  # as the loop begins
    once, started = clocks() - started, clocks()
    inputs = scorer.encode_all(rows.task, rows.table)
    scorer.prepare(inputs)
    each, some = clocks() - started, [choices[0].text for choices in inputs[:50]]
    started = clocks()
    tokenizer(some)
    whole = clocks() - started
    print(
        f"  preparing a prompt: {1e3 * each[1] / len(inputs):.2f} ms of processor time, over {len(inputs):,}, after "
        f"{1e3 * once[1]:.0f} ms in which it is found what they have in common; only tokenising it whole: "
        f"{1e3 * whole[1] / len(some):.2f} ms"
    )


def our_run(
    module: Any, tokenizer: Any, settings: PromptSettings, rows: BucketSet, scratch: Path, batch_tokens: int | None
) -> Any:
    scorer = CausalScorer(module, tokenizer, settings, window=None, identity={})
    accelerator = start_accelerator(device="cpu" if module.device.type == "cpu" else None)
    store = Store(Path(tempfile.mkdtemp(dir=scratch)), {})
    started = clocks()
    loop = compute(scorer, [rows], store, accelerator, BatchPolicy.for_device(module.device.type, batch_tokens))
    taken = clocks() - started
    return taken, loop.n_computed, store.finished(), scorer


def compare(options: argparse.Namespace, rows: BucketSet, settings: PromptSettings, tokenizer: Any) -> None:
    module = AutoModelForCausalLM.from_pretrained(options.model) if options.model else make_model()
    module = module.eval().to(options.device)
    n_parameters = sum(p.numel() for p in module.parameters())
    distinct = first_distinct(rows, options.rows)
    prompts = [settings.prompt.text(rows.task, row) for row in distinct.table.to_pylist()]
    answers = settings.prompt.template.answers
    lengths = [len(tokenizer(prompt)["input_ids"]) for prompt in prompts]
    print(
        f"{rows.name}: {rows.table.num_rows:,} rows; {options.shots} shots; prompts of {min(lengths):,} to "
        f"{max(lengths):,} tokens; {n_parameters / 1e6:.0f}M parameters, {module.dtype}, {module.device}, "
        f"{torch.get_num_threads()} threads"
    )
    say_preparing(module, tokenizer, settings, first_distinct(rows, rows.table.num_rows))
    if options.preparing:
        return
    peer_run(module, tokenizer, [prompts[0][-200:]], answers, 1)
    best = options.batch[0]
    if len(options.batch) > 1:
        n = min(len(prompts), max(options.batch))
        best = min(options.batch, key=lambda b: float(peer_run(module, tokenizer, prompts[:n], answers, b)[0][1]))
    with tempfile.TemporaryDirectory() as scratch:
        ours: list[Any] = []
        ours_subset: list[Any] = []
        peer: list[Any] = []
        for _ in range(options.rounds):
            taken, theirs = peer_run(module, tokenizer, prompts, answers, best, options.peer_seconds)
            peer.append(len(theirs) / taken)
            taken, n, found, scorer = our_run(module, tokenizer, settings, rows, Path(scratch), options.batch_tokens)
            ours.append(n / taken)
            if n > len(prompts):  # else those rows are the whole set
                taken, _, found, scorer = our_run(
                    module, tokenizer, settings, distinct, Path(scratch), options.batch_tokens
                )
            ours_subset.append(len(prompts) / taken)
    probable = torch.tensor([found[i] for i in distinct.table["input_id"].to_pylist()[: len(theirs)]])
    expected = theirs.double().softmax(-1)
    same = int((probable.argmax(-1) == expected.argmax(-1)).sum())
    says = {
        f"lm-eval, {len(theirs):,} rows, batches of {best}": peer,
        f"paraconsist, the whole set ({n:,} distinct)": ours,
        f"paraconsist, {len(prompts):,} rows": ours_subset,
    }
    median = {name: np.median(rates, axis=0) for name, rates in says.items()}
    for name, rates in says.items():
        shown = ", ".join(f"{wall:.2f}" for wall, _ in rates)
        wall, processor = median[name]
        print(f"  {name:44} {wall:8.2f} rows/s (rounds: {shown}), {processor:8.2f} rows per second of processor time")
    theirs_rate, whole, same_rows = median.values()
    for name, rate in (("the whole set", whole), (f"{len(prompts):,} rows", same_rows)):
        wall, processor = rate / theirs_rate
        print(f"  times lm-eval's throughput, {name}: {wall:.1f} by the wall clock, {processor:.1f} by processor time")
    counts = [int((expected.argmax(-1) == label).sum()) for label in range(len(answers))]
    print(
        f"  same choices: {same} of {len(theirs)} (lm-eval's choices: {counts}); largest difference of "
        f"probabilities {float((probable - expected).abs().max()):.1e}"
    )
    print(
        f"  way: {scorer.engine.way}; prefix {len(scorer.engine.prefix_tokens):,} tokens, "
        f"{(scorer.engine.prefix.n_bytes if scorer.engine.prefix else 0) / 2**20:.0f} MiB, held once"
    )


def first_distinct(rows: BucketSet, n: int) -> BucketSet:
    ids = rows.table["input_id"].to_pylist()
    first = sorted({input_id: i for i, input_id in reversed(list(enumerate(ids)))}.values())[:n]
    return replace(rows, table=rows.table.take(pa.array(first)))


def memory_of(way: str, rows: BucketSet, settings: PromptSettings, tokenizer: Any, device: str) -> None:
    """Print the peak of memory above the loaded model, prefix included, for one batch computed in one way."""
    module = make_model().to(device)
    prompts = [settings.prompt.text(rows.task, row) for row in first_distinct(rows, _N_ROWS_MEMORY).table.to_pylist()]
    scorer = CausalScorer(module, tokenizer, settings, window=4096, identity={})
    prepared = scorer.prepare([(ask,) for ask in scorer_inputs(prompts)])
    prefix_tokens = scorer.engine.prefix_tokens
    module(input_ids=torch.zeros((1, 8), dtype=torch.long, device=device))
    before = peak(device)
    with torch.inference_mode():
        scorer.engine.prefix = compute_prefix(module, prefix_tokens) if way != "whole prompts" else None
        if way == "packed":
            scorer.engine.way, scorer.engine._compute = "packed", lambda r: scorer.engine._packed(r, None)
            scorer.logits(prepared)
        else:
            width = max(p.width for p in prepared)
            ids = torch.zeros((len(prepared), width), dtype=torch.long, device=device)
            cache = DynamicCache()
            if way == "whole prompts":
                shared = torch.tensor([prefix_tokens], device=device).expand(len(prepared), -1)
                ids = torch.cat([shared, ids], dim=1)
            else:
                for layer, (keys, values) in enumerate(scorer.engine.prefix.layers):
                    cache.update(*(t.repeat(len(prepared), 1, 1, 1) for t in (keys, values)), layer)
            module(input_ids=ids, use_cache=True, logits_to_keep=1, **{cache_name(module): cache})
    held = scorer.engine.prefix.n_bytes / 2**20 if scorer.engine.prefix else 0.0
    print(f"  {way:22} {(peak(device) - before) / 2**20:8.0f} MiB above the loaded model (one prefix: {held:.0f} MiB)")


def scorer_inputs(prompts: list[str]) -> list[Any]:
    from paraconsist.data.tasks import ModelInput

    return [ModelInput(prompt, None) for prompt in prompts]


def peak(device: str) -> float:
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return float(torch.cuda.max_memory_allocated())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", default="paranlu:delta_snli")
    parser.add_argument("--examples", default="paranlu:delta_snli_test")
    parser.add_argument("--data-dir")
    parser.add_argument("--shots", type=int, default=36)
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--set-rows", type=int)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", help="a folder, or smollm2; by default one of random weights")
    parser.add_argument("--peer-seconds", type=float, default=math.inf)
    parser.add_argument("--preparing", action="store_true", help="measure nothing else")
    parser.add_argument("--memory", nargs="?", const="all", choices=["all", *WAYS])
    options = parser.parse_args()
    rows = load_bucket_set(options.dataset, data_dir=options.data_dir).limited(options.set_rows)
    given = PromptOptions(
        shots=options.shots, examples=[options.examples] if options.shots else [], data_dir=options.data_dir
    )
    pools = load_pools(given)
    prompt = make_prompt(given, pools, rows.task, rows.label_names, set(rows.table["input_id"].to_pylist()))
    settings = PromptSettings(prompt)
    if options.model == "smollm2":
        options.model = save_smollm2(Path(tempfile.gettempdir()) / "smollm2")
    if options.model:
        tokenizer = AutoTokenizer.from_pretrained(options.model)
    else:
        tokenizer = make_tokenizer([settings.prompt.text(rows.task, row) for row in rows.table.to_pylist()[:500]])
    if options.memory == "all":
        print(f"peak for a batch of {_N_ROWS_MEMORY} rows, {options.shots} shots, each in a process of its own:")
        for way in WAYS:
            again = [sys.executable, __file__, *sys.argv[1:], "--memory", way]
            subprocess.run(again, check=True, env=os.environ)
    elif options.memory:
        memory_of(options.memory, rows, settings, tokenizer, options.device)
    else:
        compare(options, rows, settings, tokenizer)


if __name__ == "__main__":
    main()
