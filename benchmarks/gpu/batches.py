"""How many tokens of padding a batch is worth: inputs a second by the cost that cuts batches, each cost twice.

python benchmarks/gpu/batches.py [--device cpu --tiny]
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from unittest.mock import patch

from models import options, run, save_model, save_rows

from paraconsist.models.batching import BatchPolicy

COSTS = (256.0, 1024.0, 4096.0, 16384.0)
MODELS = (("minilm", "float32"), ("minilm", "bfloat16"), ("125m", "bfloat16"))


def main(arguments: list[str] | None = None) -> None:
    usual = BatchPolicy.for_device

    def policy(device: str, max_tokens: int | None = None, *, cost: float) -> BatchPolicy:
        return replace(usual(device, max_tokens), batch_cost=cost)

    with options(__doc__, arguments) as given:
        rows = save_rows(given.scratch / "rows.jsonl", given.rows)
        for size, dtype in MODELS:
            for cost in COSTS:
                rates = []
                for turn in range(2):
                    output = given.scratch / f"{size} {dtype} {cost} {turn}"
                    with patch.object(BatchPolicy, "for_device", partial(policy, cost=cost)):
                        loop, _ = run(save_model(given, size), rows, output, dtype=dtype, device=given.device)
                    rates.append(f"{loop.n_computed / loop.seconds:,.0f}")
                print(
                    f"  {size:7} {dtype:9} a batch as {cost:6,.0f} tokens: {' and '.join(rates)} inputs/s", flush=True
                )


if __name__ == "__main__":
    main()
