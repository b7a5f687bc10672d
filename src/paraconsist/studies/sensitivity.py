"""Semantic sensitivity, the whole pipeline of Arakelyan et al. (2024): right originals, variants, fooling rates.

Variants with a different answer from their original's are compared with the others: confidence, distance, overlap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.data.store import RunFolder
from paraconsist.data.tables import joined
from paraconsist.errors import check_choice, input_error, renamed
from paraconsist.files import Json, locked, to_strict_json, write_json
from paraconsist.measures.buckets import partition
from paraconsist.measures.catalogue import FOOLING, SHIFT
from paraconsist.measures.distribution_shift import DistributionShiftResult, distribution_shift
from paraconsist.measures.diversity import jaccard, lexical_distance
from paraconsist.measures.fooling_rate import PRESETS, FoolingRateResult, fooling_rate
from paraconsist.measures.intervals import Units, intervals, mean_of_sums
from paraconsist.models.encoders import Encoder, cosines, encoder_of, load_encoder
from paraconsist.models.labels import LabelMap, resolve_label_map
from paraconsist.models.loading import load_model
from paraconsist.running.predictor import Predictor
from paraconsist.running.run import predictions_parts, run_metadata, texts_table, utc
from paraconsist.studies import StudyRecord
from paraconsist.studies.options import SensitivityOptions
from paraconsist.transforms.paraphrase.generators import Generator, GeneratorSettings, endpoint_facts, load_generator
from paraconsist.transforms.paraphrase.refining import MutualEntailment, Refined, refine
from paraconsist.transforms.paraphrase.sets import GeneratedSet, write_generated
from paraconsist.transforms.perturbation import LabelledRow, LabelledSet, sampled

Floats = npt.NDArray[np.float64]

_COLUMN = "hypothesis"


@dataclass(frozen=True)
class SideMean(StudyRecord):
    """The mean of a number over variants, with interval and standard deviation; nan without variants."""

    mean: float = math.nan
    confidence_interval: tuple[float, float] = (math.nan, math.nan)
    standard_deviation: float = math.nan


@dataclass(frozen=True)
class Side(StudyRecord):
    """The distances of `n` variants with a changed (or unchanged) answer from their originals."""

    n: int
    confidence_change: SideMean
    embedding_distance: SideMean  # 1 - cosine; nan without an encoder
    token_overlap: SideMean  # Jaccard
    lexical_distance: SideMean


@dataclass(frozen=True)
class SensitivityReport:
    """The results of the pipeline."""

    n_rows: int  # originals that were asked
    n_right: int  # those answered right
    n_used: int  # right originals for which variants were generated
    refined: Refined  # candidates and what became of them
    generated: GeneratedSet  # the variants
    n_with: Mapping[int, int]  # k -> originals with at least k accepted variants
    fooling: FoolingRateResult
    shift: DistributionShiftResult
    sides: Mapping[str, Side]  # of `compare_sides`
    label_map: LabelMap

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the texts, ready for JSON but for nan."""
        return {
            "n_rows": self.n_rows,
            "n_right": self.n_right,
            "n_used": self.n_used,
            "generation": self.refined.to_dict(),
            "originals_with_at_least": {str(k): n for k, n in self.n_with.items()},
            FOOLING.name: self.fooling.to_dict(),
            SHIFT.name: self.shift.to_dict(),
            "sides": {name: side.to_dict() for name, side in self.sides.items()},
            "label_map": self.label_map.describe(),
        }


def generator_settings(preset: str, settings: GeneratorSettings) -> GeneratorSettings:
    """Return generation settings for a preset of the fooling rate: under ``code`` the first 5 that pass are enough.

    InputError for a preset that needs more variants than `settings` asks for.
    """
    check_choice("sensitivity", "preset", preset, PRESETS)
    variants, least = PRESETS[preset]
    keep = settings.keep if variants is None else min(settings.keep, variants)
    if keep < least:
        raise input_error("sensitivity", "keep", f"be at least {least} under preset {preset}", got=keep)
    return replace(settings, keep=keep, mutual_entailment=True)


def measure_sensitivity(
    predictor: Predictor,
    data: LabelledSet,
    generator: Generator,
    settings: GeneratorSettings,
    options: SensitivityOptions | None = None,
    encoder: Encoder | None = None,
) -> SensitivityReport:
    """Generate variants of right originals that the model finds equivalent, and see which have a different answer.

    The predictor's model, on task ``nli``, answers and judges the variants, which `generator` writes by the `settings`
    of `generator_settings`. `encoder` measures the distance of variants from their originals.
    """
    options = options or SensitivityOptions()
    if data.task.name != "nli":
        must = "be nli: variants are judged by mutual entailment under the same model"
        remedy = "For other tasks: paraconsist paraphrase, then run and score."
        raise input_error("sensitivity", "task", must, got=data.task.name, remedy=remedy)
    mapped = resolve_label_map(predictor.label_names, data.label_names, options.label_map, options.label_rule)
    if -1 in mapped.targets:
        must = "give every label of the model a label of the task"
        raise input_error("sensitivity", "label_map", must, got=options.label_map)
    judge = MutualEntailment(predictor, options.label_map)
    answers, _ = mapped.apply(predictor.probabilities([_texts(data, row) for row in data.rows]))
    right = [row for row, answer in zip(data.rows, answers.tolist(), strict=True) if answer == row.label]
    if not right:
        must, got = "answer at least one row right", f"none of {len(data.rows):,}"
        remedy = "Look at its label names and accuracy: `label_map` says what its labels mean."
        raise input_error("sensitivity", "model", must, got=got, remedy=remedy)
    used = sampled(right, options.limit, options.seed)
    place = data.column(_COLUMN)
    refined = refine([row.texts[place] for row in used], generator, settings, judge)
    rules = getattr(generator, "rules", None)
    generated = GeneratedSet(replace(data, rows=used), _COLUMN, refined.accepted, options.generator, 1, rules)
    if not generated.kept():
        must = "write at least one variant that the model finds entailed both ways"
        reasons = ", ".join(f"{n:,} {why}" for why, n in refined.reasons.most_common()) or "nothing"
        got = f"none of {refined.n_judged:,} candidates passed"
        raise input_error("sensitivity", "generator", must, got=got, remedy=f"Left out: {reasons}.")
    sizes = [len(refined.accepted[row.texts[place]]) for row in used]
    most, least = PRESETS[options.preset]
    pairs = [(row, text) for row, texts in generated.kept() if len(texts) >= least for text in texts[:most]]
    if not pairs:
        must = f"find an original with {least} variants or more"
        got = f"at most {max(len(texts) for _, texts in generated.kept())}"
        remedy = "Ask for more candidates or tries, or take `preset` paper."
        raise input_error("sensitivity", "preset", must, got=got, remedy=remedy)
    rows, variants = [row for row, _ in pairs], [text for _, text in pairs]
    changed_rows = [{**_texts(data, row), _COLUMN: text} for row, text in pairs]
    predictions, probabilities = mapped.apply(predictor.probabilities(changed_rows))
    _, before = mapped.apply(predictor.probabilities([_texts(data, row) for row in rows]))
    group_of = {row["bucket_id"]: row["group_id"] for row in generated.rows()}
    groups = [group_of[row.example_id] for row in rows]
    numbers, gold = np.arange(len(rows)), np.array([row.label for row in rows], dtype=np.int64)
    resampling: dict[str, Any] = {"n_resamples": options.n_resamples, "seed": options.seed}
    sides = compare_sides(
        np.asarray(predictions != gold),  # the originals are all right
        [row.texts[place] for row in rows],
        variants,
        probabilities[numbers, gold] - before[numbers, gold],
        groups=groups,
        encoder=encoder,
        **resampling,
    )
    names = data.label_names
    labels = [names[row.label] for row in rows]
    fooling = fooling_rate(  # the preset decides about originals without a variant
        [names[i] for i in predictions.tolist()],
        labels,
        labels,
        [row.example_id for row in rows],
        originals={row.example_id: (names[row.label], names[row.label]) for row in used},
        preset=options.preset,
        groups={row.example_id: _context(row, place) for row in used},
        **resampling,
    )
    return SensitivityReport(
        n_rows=len(data.rows),
        n_right=len(right),
        n_used=len(used),
        refined=refined,
        generated=generated,
        n_with={k: sum(size >= k for size in sizes) for k in range(1, settings.keep + 1)},
        fooling=fooling,
        shift=distribution_shift(probabilities, before, groups=groups, **resampling),
        sides=sides,
        label_map=mapped,
    )


def _context(row: LabelledRow, place: int) -> str:
    if row.group_id != row.example_id:
        return row.group_id
    return repr(tuple(text for i, text in enumerate(row.texts) if i != place))


def _texts(data: LabelledSet, row: LabelledRow) -> dict[str, str]:
    return dict(zip(data.task.columns, row.texts, strict=True))


_RANGES = {
    "confidence_change": (-1.0, 1.0),
    "embedding_distance": (0.0, 2.0),
    "token_overlap": (0.0, 1.0),
    "lexical_distance": (0.0, 1.0),
}


def compare_sides(
    changed: npt.NDArray[np.bool_],
    originals: Sequence[str],
    variants: Sequence[str],
    confidence_change: Floats,
    *,
    groups: Sequence[str],
    encoder: Encoder | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Side]:
    """Return how far ``changed`` and ``unchanged`` variants are from their originals.

    Arrays and sequences have shape (n,). `changed` is true where the variant has a different answer from its
    original's; `confidence_change` is the probability of the gold label on the variant less that on the original.
    Intervals resample `groups`.
    """
    values = {
        "confidence_change": np.asarray(confidence_change, dtype=np.float64),
        "embedding_distance": np.full(len(originals), np.nan),
        "token_overlap": np.array([jaccard(v, o) for v, o in zip(variants, originals, strict=True)]),
        "lexical_distance": np.array([lexical_distance(v, o) for v, o in zip(variants, originals, strict=True)]),
    }
    if encoder is not None:
        values["embedding_distance"] = 1.0 - cosines(encoder(variants), encoder(originals))
    sides = {}
    for side, rows in (("changed", changed), ("unchanged", ~changed)):
        of_side = [group for group, is_here in zip(groups, rows.tolist(), strict=True) if is_here]
        means = {
            name: _mean(column[rows], of_side, _RANGES[name], n_resamples, seed) for name, column in values.items()
        }
        sides[side] = Side(int(rows.sum()), **means)
    return sides


def _mean(values: Floats, groups: Sequence[str], ends: tuple[float, float], n_resamples: int, seed: int) -> SideMean:
    if not len(values) or np.isnan(values).any():
        return SideMean()
    codes = partition(list(groups), function="sensitivity", parameter="groups").codes
    units, rng = Units.of_rows(values[:, None], codes), np.random.default_rng(seed)
    interval = intervals(units, mean_of_sums, [ends], [True], n_resamples=n_resamples, rng=rng)
    return SideMean(float(values.mean()), (float(interval.low[0]), float(interval.high[0])), float(values.std()))


@dataclass(frozen=True)
class SensitivityRun:
    """The folder that `run_sensitivity` wrote, its report, and the settings and generator of the variants."""

    folder: RunFolder
    report: SensitivityReport
    settings: GeneratorSettings
    generator: Generator
    results: Json


def run_sensitivity(
    data: LabelledSet,
    model: str,
    output: Path,
    settings: GeneratorSettings,
    options: SensitivityOptions,
    say: Callable[[str], object] | None = None,
) -> SensitivityRun:
    """Measure semantic sensitivity, and keep everything in a folder; the same call resumes an interrupted one.

    `output` gets ``sensitivity.json``, ``variants.parquet``, and predictions and texts of the variants. `model` is the
    folder or Hub id of the classifier that answers and judges; `settings` are those of `generator_settings`.
    `say` is as in `load_generator`.
    """
    classifier = load_model(model, task=data.task)
    folder = RunFolder(output)
    with locked(output, "sensitivity", "output"):
        folder.open({"nli": dict(classifier.identity)}, overwrite=options.overwrite)
        generator = load_generator(options, settings, seed=options.seed, answers=folder.path / "answers", say=say)
        own = options.embedding_model is None
        with renamed(model="embedding_model"):
            encoder = encoder_of(classifier) if own else load_encoder(str(options.embedding_model))
        predictor = Predictor(classifier, data.task, store=folder.store, device=options.device)
        report = measure_sensitivity(predictor, data, generator, settings, options, encoder)
        facts = {
            "data": data.name,
            "model": dict(classifier.identity),
            "preset": options.preset,
            "generator": options.generator,
            "settings": asdict(settings),
            "seed": options.seed,
            **endpoint_facts(generator),
        }
        results = to_strict_json({**facts, **report.to_dict()})
        write_json(folder.path / "sensitivity.json", results)
        _write(folder, report, predictor, facts)
        return SensitivityRun(folder, report, settings, generator, results)


def _write(folder: RunFolder, report: SensitivityReport, predictor: Predictor, facts: Mapping[str, object]) -> None:
    """Write the variants as a bucket set, and predictions and texts as a run has them."""
    variants = folder.path / "variants.parquet"
    data = report.generated.data
    write_generated(report.generated.rows(), data, variants, {"column": "hypothesis", "source": data.name, **facts})
    rows = load_bucket_set(str(variants), task="nli")
    table = joined(predictions_parts(rows, predictor.finished(rows), report.label_map))
    metadata = run_metadata(rows, predictor.model.identity, report.label_map, seed=facts["seed"])
    folder.write(folder.file_of("predictions", "variants"), table, metadata)
    texts = {"format": "paraconsist-texts-1", "set": rows.name}
    folder.write(folder.file_of("texts", "variants"), texts_table(rows), texts)
    folder.update_run({"sets": {"variants": "predictions/variants.parquet"}, "ended": utc(time.time())})
