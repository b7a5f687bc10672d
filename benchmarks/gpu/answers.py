"""Answers of the device in float32, TF32 and bfloat16 against the processor's in float32; the bits of --deterministic.

python benchmarks/gpu/answers.py [--device cpu --tiny]
"""

from __future__ import annotations

import torch
from models import CAUSAL, SIZES, largest_change, options, run, save_model, save_rows


def main(arguments: list[str] | None = None) -> None:
    with options(__doc__, arguments) as given:
        many = save_rows(given.scratch / "rows.jsonl", min(given.rows, 2000))
        few = save_rows(given.scratch / "few.jsonl", min(given.rows, 100))  # of what a processor computes slowly
        dtypes = ["float32", "bfloat16", *(["tf32"] if given.device != "cpu" and torch.cuda.is_available() else [])]
        for size in SIZES:
            model, rows = save_model(given, size), few if size in CAUSAL else many
            _, expected = run(model, rows, given.scratch / f"{size}-cpu", device="cpu")
            for dtype in dtypes:
                _, found = run(model, rows, given.scratch / f"{size}-{dtype}", dtype=dtype, device=given.device)
                change, flips = largest_change(expected, found)
                print(
                    f"  {size:7} {dtype:9} largest change {change:.1e}, {flips} of {len(expected)} answers are others"
                )
        for dtype in ("float32", "bfloat16"):
            model, fixed = save_model(given, "minilm"), {"deterministic": True, "device": given.device, "dtype": dtype}
            plain, _ = run(model, many, given.scratch / f"plain {dtype}", device=given.device, dtype=dtype)
            exact, one = run(model, many, given.scratch / f"one {dtype}", **fixed)
            _, other = run(model, many, given.scratch / f"other {dtype}", batch_tokens=200, **fixed)
            price = exact.seconds / plain.seconds
            print(f"  --deterministic {dtype:9} same bits in other batches: {one == other}; {price:.2f} times the time")


if __name__ == "__main__":
    main()
