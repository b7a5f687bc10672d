"""A run's numbers as a record of Every Eval Ever, schema 0.2.2; `paraconsist.data.logs.every_eval_ever` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from paraconsist._version import __version__
from paraconsist.measures.catalogue import CATALOGUE
from paraconsist.reporting.formatting import bounds, known


def evaluation_record(
    name: str, result: Mapping[str, Any], dataset: str | None, repo_id: str, ended: str | None
) -> dict[str, Any] | None:
    """Return the record of one set: each measure's headline and accuracy, with interval, units and signature.

    `dataset` is the set's repository on the Hub, `repo_id` that of the run, `ended` when it did (ISO 8601). None where
    the model is not known, or no number is defined.
    """
    model, owner = str(result.get("model") or ""), repo_id.partition("/")[0]
    of_hub = {"source_type": "hf_dataset", "hf_repo": dataset} if dataset else {"source_type": "other"}
    level, numbers = result.get("options", {}).get("confidence_level"), []
    for measure, values in result["measures"].items():
        for key in (CATALOGUE[measure].headline, "accuracy"):
            if not known(values.get(key)):
                continue
            ends = bounds(values.get("confidence_interval"), key)
            sure = {"lower": ends[0], "upper": ends[1], "confidence_level": level} if ends else None
            uncertainty = {"confidence_interval": sure, "num_samples": values.get("n_clusters", {}).get(key)}
            metric = {
                "evaluation_description": CATALOGUE[measure].question,
                "metric_id": key if key == "accuracy" else f"paraconsist.{measure}.{key}",
                "metric_unit": "proportion",
                "lower_is_better": key != "accuracy" and not CATALOGUE[measure].higher_is_better,
                **{"score_type": "continuous", "min_score": 0.0, "max_score": 1.0},
            }
            score = {"score": values[key], "details": {"signature": str(values["signature"])}}
            score["uncertainty"] = {what: part for what, part in uncertainty.items() if part is not None}
            source = {"evaluation_name": name, "source_data": {"dataset_name": name, **of_hub}}
            numbers.append({**source, "metric_config": metric, "score_details": score})
    if not model or not numbers or ended is None:
        return None
    return {
        "schema_version": "0.2.2",
        "evaluation_id": f"{name}/{model}/{ended}",
        "evaluation_timestamp": ended,
        "retrieved_timestamp": str(int(datetime.fromisoformat(ended.replace("Z", "+00:00")).timestamp())),
        "source_metadata": {
            **{"source_name": repo_id, "source_type": "evaluation_run", "source_organization_name": owner},
            "evaluator_relationship": "first_party" if model.startswith(f"{owner}/") else "third_party",
        },
        "model_info": {"name": model, "id": model},
        "eval_library": {"name": "paraconsist", "version": __version__},
        "evaluation_results": numbers,
    }
