"""A batch that does not fit in memory is halved until it does, and every input is answered as ever.

On a GPU all but a little of the memory is taken first; on a CPU the model refuses more than some rows.

    python benchmarks/gpu/memory.py [--device cpu --tiny]
"""

from __future__ import annotations

from typing import Any

import torch
from models import largest_change, options, run, save_model, save_rows
from transformers import BertForSequenceClassification


def main(arguments: list[str] | None = None) -> None:
    with options(__doc__, arguments) as given:
        on_gpu = given.device != "cpu" and torch.cuda.is_available()
        rows = save_rows(given.scratch / "rows.jsonl", given.rows)
        model = save_model(given, "125m")
        _, expected = run(model, rows, given.scratch / "usual", device=given.device)
        forward, refused = BertForSequenceClassification.forward, []

        def counted(self: Any, *inputs: Any, **named: Any) -> Any:
            try:
                if not on_gpu and len(named["input_ids"]) > 2:
                    raise torch.OutOfMemoryError("CUDA out of memory. A CPU plays that it has no more.")
                return forward(self, *inputs, **named)
            except torch.OutOfMemoryError:
                refused.append(len(named["input_ids"]))
                raise

        taken = []
        if on_gpu:
            torch.cuda.empty_cache()
            free, _ = torch.cuda.mem_get_info()
            taken.append(torch.empty(free - 2**30, dtype=torch.uint8, device="cuda"))
        BertForSequenceClassification.forward = counted
        try:
            large = 4_000_000 if on_gpu else 4000
            _, found = run(model, rows, given.scratch / "large", batch_tokens=large, device=given.device)
        finally:
            BertForSequenceClassification.forward = forward
        change, flips = largest_change(expected, found)
        print(f"  {len(refused)} batches were refused, the largest of {max(refused, default=0):,} rows")
        print(f"  all {len(found):,} answered; largest change {change:.1e}, {flips} answers are others")
        if not refused:
            raise SystemExit("nothing was refused: give more --rows")


if __name__ == "__main__":
    main()
