"""The loop's share of what the device multiplies at most, for three sizes; 36 shots; what cuDNN's attention costs.

The most is measured: products of square matrices in the same dtype. Operations are twice the weights outside of the
embeddings for each token; those of attention are left out, so that shares are a little too low.

    python benchmarks/gpu/speed.py [--device cpu --tiny]
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import torch
from models import CAUSAL, SIZES, options, run, save_model, save_rows
from safetensors import safe_open


def peak(device: str, dtype: torch.dtype, n: int) -> float:
    """Operations a second in products of (n, n) matrices: the best of five tries."""
    one = torch.randn(n, n, device=device, dtype=dtype)
    times = []
    for _ in range(6):
        started = time.perf_counter()
        for _ in range(10):
            product = one @ one
        product[0, 0].item()  # waits for the device
        times.append(time.perf_counter() - started)
    return 20 * n**3 / min(times[1:])


def n_weights(folder: Path) -> int:
    """Weights that every token meets: all but the embeddings."""
    with safe_open(folder / "model.safetensors", "pt") as weights:
        names = [name for name in weights.keys() if "embed" not in name]  # noqa: SIM118
        return sum(torch.Size(weights.get_slice(name).get_shape()).numel() for name in names)


def main(arguments: list[str] | None = None) -> None:
    with options(__doc__, arguments) as given:
        device = "cpu" if given.device == "cpu" or not torch.cuda.is_available() else "cuda"
        rows = save_rows(given.scratch / "rows.jsonl", given.rows)
        few = save_rows(given.scratch / "few.jsonl", min(given.rows, 2000))
        for dtype in ("float32", "bfloat16"):
            most = peak(device, getattr(torch, dtype), 256 if given.tiny else 8192)
            print(f"  {dtype}: at most {most / 1e12:.3g} tera-operations/s")
            for size in SIZES:
                model, measured = save_model(given, size), few if size in CAUSAL and dtype == "float32" else rows
                run(model, few, given.scratch / f"warm {dtype} {size}", dtype=dtype, device=given.device)
                loop, _ = run(model, measured, given.scratch / f"{dtype} {size}", dtype=dtype, device=given.device)
                share = 2 * n_weights(model) * loop.n_tokens / loop.seconds / most
                rate = f"{loop.n_computed / loop.seconds:,.0f} inputs/s, {loop.n_tokens / loop.seconds:,.0f} tokens/s"
                print(f"  {size:7} {rate}, {100 * share:.1f} % of the most, batches of {loop.max_tokens:,} tokens")
        for size in CAUSAL:
            model = save_model(given, size)
            for shots in (0, 4 if given.tiny else 36):
                output = given.scratch / f"{size} {shots} shots"
                loop, _ = run(model, few, output, shots=shots, dtype="bfloat16", device=given.device)
                print(f"  {size:7} bfloat16, {shots} shots: {loop.n_computed / loop.seconds:,.1f} inputs/s")
        kernels = torch.backends.cuda
        for size in SIZES:
            for name, switch in (("without", nullcontext()), ("with", patch.object(kernels, "enable_cudnn_sdp"))):
                with switch:  # a run turns cuDNN's attention off, unless the switch does nothing
                    output = given.scratch / f"{size} {name} cuDNN"
                    loop, _ = run(save_model(given, size), few, output, dtype="bfloat16", device=given.device)
                rate = f"{loop.n_computed / loop.seconds:,.0f} inputs/s"
                print(f"  {size:7} bfloat16, {name} cuDNN's attention: {rate}")


if __name__ == "__main__":
    main()
