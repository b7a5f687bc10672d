"""Semantic sensitivity from a model's name to a folder: variants as a bucket set, predictions as a run has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.predictions import write_predictions
from paraconsist.data.run_folder import RunFolder
from paraconsist.errors import renamed
from paraconsist.files import locked, to_strict_json, write_json
from paraconsist.models.encoders import encoder_of, load_encoder
from paraconsist.models.loading import load_model
from paraconsist.running.outputs import predictions_table, run_metadata, texts_table
from paraconsist.running.predictor import Predictor
from paraconsist.studies.sensitivity import SensitivityReport, generator_settings, measure_sensitivity
from paraconsist.transforms.paraphrase.generators import (
    EXAMPLES,
    Generator,
    GeneratorSettings,
    endpoint_facts,
    load_generator,
    read_examples,
)
from paraconsist.transforms.paraphrase.sets import write_generated
from paraconsist.transforms.perturbation import LabelledSet


@dataclass(frozen=True)
class SensitivityRun:
    """What `run_sensitivity` left in `folder`, and how it came about."""

    folder: RunFolder
    report: SensitivityReport
    settings: GeneratorSettings
    generator: Generator
    results: Mapping[str, Any]


def run_sensitivity(
    data: LabelledSet,
    model: str,
    output: Path,
    settings: GeneratorSettings,
    *,
    preset: str = "paper",
    generator: str = "rules",
    examples: Path | None = None,
    loading: Mapping[str, Any] | None = None,
    embedding_model: str | None = None,
    device: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    **options: Any,
) -> SensitivityRun:
    """Measure semantic sensitivity, and keep everything in a folder; the same call goes on with an interrupted one.

    `output` gets ``sensitivity.json``, ``variants.parquet``, and predictions and texts of the variants. `model` is the
    folder or Hub id of the classifier that answers and judges; `settings` and `preset` as for
    `paraconsist.studies.sensitivity.generator_settings`; `generator`, `examples` (a CSV) and `loading` as for
    `paraconsist.transforms.paraphrase.generators.load_generator`; `embedding_model` is by default the model's own,
    where it has one; `seed` is that of draws, sampling and bootstrap; `options` are those of
    `paraconsist.studies.sensitivity.measure_sensitivity`. InputError as these functions raise it.
    """
    settings = generator_settings(preset, settings)
    classifier = load_model(model, task=data.task)
    folder = RunFolder(output)
    with locked(output, "sensitivity", "output"):
        folder.open({"nli": dict(classifier.identity)}, overwrite=overwrite)
        solved, answers = EXAMPLES if examples is None else read_examples(examples), folder.path / "answers"
        made = load_generator(generator, settings, seed=seed, examples=solved, answers=answers, **(loading or {}))
        with renamed(model="embedding_model"):
            encoder = encoder_of(classifier) if embedding_model is None else load_encoder(embedding_model)
        predictor = Predictor(classifier, data.task, store=folder.store, device=device)
        options |= {"preset": preset, "encoder": encoder, "name": generator, "seed": seed}
        report = measure_sensitivity(predictor, data, made, settings, **options)
        facts = {
            "data": data.name,
            "model": dict(classifier.identity),
            "preset": preset,
            "generator": generator,
            "settings": settings.to_dict(),
            "seed": seed,
            **endpoint_facts(made),
        }
        _write(folder, report, predictor, facts)
        results = to_strict_json({**facts, **report.to_dict()})
        write_json(folder.path / "sensitivity.json", results)
        return SensitivityRun(folder, report, settings, made, results)


def _write(folder: RunFolder, report: SensitivityReport, predictor: Predictor, facts: Mapping[str, Any]) -> None:
    """Write the variants as a bucket set, and predictions and texts as a run has them."""
    variants = folder.path / "variants.parquet"
    data = report.generated.data
    write_generated(report.generated.rows(), data, variants, {"column": "hypothesis", "source": data.name, **facts})
    rows = load_bucket_set(str(variants), task="nli")
    table = predictions_table(rows, predictor.finished(rows), report.label_map)
    metadata = run_metadata(rows, predictor.model.identity, report.label_map, seed=facts["seed"])
    write_predictions(folder.predictions_file("variants"), table, metadata)
    texts = folder.texts_file("variants")
    texts.parent.mkdir(exist_ok=True)
    write_predictions(texts, texts_table(rows), {"format": "paraconsist-texts-1", "set": rows.name})
    folder.update_run({"sets": {"variants": "predictions/variants.parquet"}})
