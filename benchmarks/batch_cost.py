"""What a batch costs apart from its tokens, in tokens: the number by which `BatchPolicy` cuts batches.

Encoders of several sizes, with random weights, compute batches of 1 to 8 rows of 24 and 40 tokens on one thread; a line
is fitted to their processor time. Where it meets the axis, divided by its slope, is how many tokens a batch is worth.

    python benchmarks/batch_cost.py
    python benchmarks/batch_cost.py --dtype bfloat16
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from transformers import BertConfig, BertModel

SIZES = ((128, 2), (384, 6), (768, 4), (1024, 4))  # dimensions and layers
_ROUNDS, _ROWS = 3, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    dtype = getattr(torch, parser.parse_args().dtype)
    torch.set_num_threads(1)
    for size, n_layers in SIZES:
        heads = {"num_attention_heads": size // 64, "intermediate_size": 4 * size}
        model = BertModel(BertConfig(hidden_size=size, num_hidden_layers=n_layers, **heads)).eval().to(dtype)
        tokens, seconds = [], []
        with torch.inference_mode():
            for n_rows, width in [(n_rows, width) for n_rows in (1, 2, 4, 8) for width in (24, 40)] * _ROUNDS:
                batch, n_times = torch.randint(1000, 2000, (n_rows, width)), _ROWS // n_rows
                model(input_ids=batch)
                began = time.process_time()
                for _ in range(n_times):
                    model(input_ids=batch)
                tokens.append(n_rows * width)
                seconds.append((time.process_time() - began) / n_times)
        slope, start = 1e6 * np.polyfit(tokens, seconds, 1)
        print(f"{size:5} dimensions, {n_layers} layers: a token {slope:6.1f} us, a batch {start:7.0f} us, ", end="")
        print(f"as much as {start / slope:.0f} tokens", flush=True)


if __name__ == "__main__":
    main()
