"""Claims of the README on two models: the published predictions of RoBERTa-large and the bag of words, compared."""

from __future__ import annotations

from collections.abc import Callable

from documented_metrics import SETS
from documented_numbers import Claim
from documented_sources import Sources

from paraconsist.data.predictions import read_predictions
from paraconsist.data.reshaping import with_groups
from paraconsist.data.rows import ColumnNames
from paraconsist.scoring.compare import CompareOptions, compare

README = "README.md"
MODELS = ("roberta-large", "bow")
COLUMNS = ColumnNames(
    bucket="bucket_id", prediction="pred", label="gold", original="is_original", group="context_id", strata=()
)


def difference(name: str) -> Callable[[Sources], dict[str, float]]:
    def values(sources: Sources) -> dict[str, float]:
        folder = sources.data / "paranlu"
        given = {
            model: {
                name: with_groups(
                    read_predictions(folder / "predictions" / f"{name}__{model}__human.parquet"),
                    folder / "items" / f"{name}_human.parquet",
                    bucket="bucket_id",
                    group="context_id",
                )
            }
            for model in MODELS
        }
        (found,) = compare(given, CompareOptions(example="paraphrase_id"))
        result = found.pairs[0].result
        low, high = result["confidence_interval"]["difference"]
        return {
            "value": 100 * result["difference"],
            "low": 100 * low,
            "high": 100 * high,
            "p": result["p_value"],
            "effect": result["design_effect"]["difference"],
        }

    return values


#: How many digits p has in the README.
DIGITS = {"delta-ATOMIC": 2, "delta-SNLI": 3, "delta-SOCIAL": 2, "alpha-NLI": 4}
CLAIMS = [
    Claim(
        README,
        f"| {shown} | {{value:.1f}} | {{low:.1f}} to {{high:.1f}} | {{p:.{digits}}} | {{effect:.1f}} |",
        difference(SETS[shown]),
        "data",
    )
    for shown, digits in DIGITS.items()
]
