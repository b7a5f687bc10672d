"""What a batch costs apart from its tokens, in tokens: the number by which `BatchPolicy` cuts batches.

Encoders of several sizes, with random weights, compute batches of 1 to 8 rows of 24 and 40 tokens on one thread (of 32
to 2,048 rows on a GPU, by the clock); a line is fitted to their processor time. Where it meets the axis, divided by its
slope, is how many tokens a batch is worth.

    python benchmarks/batch_cost.py
    python benchmarks/batch_cost.py --dtype bfloat16 --device cuda
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
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    given = parser.parse_args()
    dtype, on_gpu = getattr(torch, given.dtype), given.device == "cuda"
    torch.set_num_threads(1)
    torch.backends.cuda.enable_cudnn_sdp(False)  # as a run does
    rows = (32, 128, 512, 2048) if on_gpu else (1, 2, 4, 8)

    def clock() -> float:
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() if on_gpu else time.process_time()

    for size, n_layers in SIZES:
        heads = {"num_attention_heads": size // 64, "intermediate_size": 4 * size}
        model = BertModel(BertConfig(hidden_size=size, num_hidden_layers=n_layers, **heads)).eval()
        model.to(given.device, dtype)
        tokens, seconds = [], []
        with torch.inference_mode():
            for n_rows, width in [(n_rows, width) for n_rows in rows for width in (24, 40)] * _ROUNDS:
                batch = torch.randint(1000, 2000, (n_rows, width), device=given.device)
                n_times = max(_ROWS // n_rows, 2)
                model(input_ids=batch)
                began = clock()
                for _ in range(n_times):
                    model(input_ids=batch)
                tokens.append(n_rows * width)
                seconds.append((clock() - began) / n_times)
        slope, start = 1e6 * np.polyfit(tokens, seconds, 1)
        print(f"{size:5} dimensions, {n_layers} layers: a token {slope:6.1f} us, a batch {start:7.0f} us, ", end="")
        print(f"as much as {start / slope:.0f} tokens", flush=True)


if __name__ == "__main__":
    main()
