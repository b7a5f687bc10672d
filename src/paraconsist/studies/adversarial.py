"""Adversarial training: does training on variants make a model more consistent? (Table 3 of Jang et al. 2022.)"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paraconsist.data.tables import read_table
from paraconsist.data.writing import write_table
from paraconsist.errors import input_error
from paraconsist.files import Json, locked, write_json
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC
from paraconsist.reporting.formatting import percent
from paraconsist.studies import StudyRecord
from paraconsist.studies.options import AdversarialOptions
from paraconsist.studies.sweep import Measured, train_and_run
from paraconsist.transforms.interface import Fitted, apply_to_columns, texts_of
from paraconsist.transforms.registry import FixedTransformation, transformation

_FUNCTION = "adversarial"
KINDS = ("before", "after", "repeated")
_TEXTATTACK = "textattack:"
_PARAPHRASE = "paraphrase:"


@dataclass(frozen=True)
class Comparison(StudyRecord):
    """The paired difference *after - before* (or *after - repeated*) of one seed, set and measure."""

    seed: int
    set: str
    against: str
    measure: str
    result: Json  # as `paraconsist.scoring.compare` gives it

    @property
    def difference(self) -> float:
        return float(self.result["difference"])

    def _written(self) -> dict[str, Any]:
        written = super()._written()
        return {**written, **written.pop("result")}


@dataclass(frozen=True)
class OverSeeds(StudyRecord):
    """The mean difference over seeds, with the p of a paired t; nan for one seed, or where all seeds are equal."""

    set: str
    measure: str
    against: str
    difference: float
    p_value: float
    n_seeds: int


@dataclass(frozen=True)
class AdversarialResult(StudyRecord):
    """All runs of the study and their comparisons."""

    transformation: str
    columns: Sequence[str]
    n_rows: int
    n_variants: int
    runs: Mapping[str, Mapping[str, Measured]]  # seed -> kind -> set -> measures
    comparisons: Sequence[Comparison]
    over_seeds: Sequence[OverSeeds]


def adversarial(options: AdversarialOptions, *, say: Callable[[str], None] = lambda line: None) -> AdversarialResult:
    """Train before and after, run both, compare them on the same rows; resume an interrupted study.

    The result is also written to ``adversarial.json``.
    """
    name, settings, limit = options.transformation, options.transformation_options, options.limit
    kinds = KINDS if options.control else KINDS[:2]
    runs: dict[str, dict[str, Measured]] = {}
    comparisons: list[Comparison] = []
    with locked(options.output, _FUNCTION, "output"):
        rows = augment(options.train_file, options.output / "rows", name, options.columns, settings, limit)
        say(f"{rows.n_rows:,} rows, {rows.n_variants:,} of them with a variant.")
        for seed in options.seeds:
            of_seed = runs[str(seed)] = {}
            for kind in kinds:
                folder, here = _folder(options, kind, seed), {"train_file": getattr(rows, kind), "seed": seed}
                training = options.train(folder / "model", model=options.model, **here)
                of_seed[kind] = train_and_run(training, folder / "run", options)
                say(f"seed {seed}, {kind}: {_short(of_seed[kind])}")
            for other in kinds[:1] + kinds[2:]:
                comparisons += _compare(options, seed, other)
        counts, means = (rows.n_rows, rows.n_variants), _over_seeds(comparisons)
        result = AdversarialResult(options.transformation, list(options.columns), *counts, runs, comparisons, means)
        write_json(options.output / "adversarial.json", result, indent=1)
    return result


def _folder(options: AdversarialOptions, kind: str, seed: int) -> Path:
    return options.output / f"{kind}-seed-{seed}"


def _compare(options: AdversarialOptions, seed: int, other: str) -> list[Comparison]:
    """Compare `after` with another kind, for each set and measure (tau of paraphrases too)."""
    from paraconsist.scoring.compare import compare
    from paraconsist.scoring.options import CompareOptions
    from paraconsist.scoring.sources import open_source

    sets = {kind: open_source(_folder(options, kind, seed) / "run").sets for kind in ("after", other)}
    comparisons: list[Comparison] = []
    for name, source in sets["after"].items():
        measures = list(source.predictions.metadata.get("measures") or ())
        if set(source.predictions.table["role"].unique().to_pylist()) == {"original", "paraphrase"}:
            measures = list(dict.fromkeys([*(measures or [PARAPHRASTIC.name]), SEMANTIC.name]))
        settings = CompareOptions(
            measures=measures or None,
            n_resamples=options.n_resamples,
            n_permutations=options.n_permutations,
            correction="none",
        )
        for compared in compare({kind: {name: of_kind[name]} for kind, of_kind in sets.items()}, settings):
            comparisons += [Comparison(seed, name, other, pair.measure, pair.result) for pair in compared.pairs]
    return comparisons


def _over_seeds(comparisons: Sequence[Comparison]) -> list[OverSeeds]:
    from scipy.stats import ttest_1samp

    groups: dict[tuple[str, str, str], list[float]] = {}
    for entry in comparisons:
        groups.setdefault((entry.set, entry.measure, entry.against), []).append(entry.difference)
    means = []
    for group, values in groups.items():
        p = float(ttest_1samp(values, 0.0).pvalue) if max(values) > min(values) else float("nan")
        means.append(OverSeeds(*group, sum(values) / len(values), p, len(values)))
    return means


def _short(sets: Measured) -> str:
    parts = (
        f"{name} {measure} {percent(values.get(CATALOGUE[measure].headline))}"
        for name, measures in sets.items()
        for measure, values in measures.items()
    )
    return "; ".join(parts) or "{}"


@dataclass(frozen=True)
class Augmented:
    """The files that `augment` writes."""

    before: Path  # the rows
    after: Path  # the rows and the variants
    repeated: Path  # the rows, and those with a variant twice (as much text, nothing new)
    n_rows: int
    n_variants: int  # how many of the rows the transformation changed; the others have no variant


def textattack_augmenter(recipe: str, share: float = 0.1) -> Callable[[Sequence[str]], list[str]]:
    """Return the function that makes one variant of each text by TextAttack; the text itself where there is none.

    `recipe` is a class of ``textattack.augmentation``; `share` of a text's words is changed, its ``pct_words_to_swap``.
    """
    try:
        from textattack import augmentation  # type: ignore[import-not-found]
    except ImportError:
        must = "be one of this package's unless TextAttack is installed"
        remedy = "pip install textattack, or use wordnet_nouns."
        raise input_error(_FUNCTION, "transformation", must, got=_TEXTATTACK + recipe, remedy=remedy) from None
    make = getattr(augmentation, recipe, None)
    if make is None:
        names = sorted(name for name in dir(augmentation) if name.endswith("Augmenter"))
        raise input_error(_FUNCTION, "transformation", f"name a recipe of TextAttack: {', '.join(names)}", got=recipe)
    augmenter = make(pct_words_to_swap=share, transformations_per_example=1)
    return lambda texts: [next(iter(augmenter.augment(text)), text) if text.strip() else text for text in texts]


def first_paraphrase(generator: str, preset: str = "a24", seed: int = 0) -> Callable[[Sequence[str]], list[str]]:
    """Return the function that makes a generator's first candidate for each text; the text itself without one."""
    from paraconsist.transforms.paraphrase.generators import GeneratorOptions, call, load_generator
    from paraconsist.transforms.paraphrase.generators import preset as settings_of

    loaded = load_generator(GeneratorOptions(generator), settings_of(preset), seed=seed)
    return lambda texts: [
        next((c for c in candidates if c.strip()), text) if text.strip() else text
        for text, candidates in zip(texts, call(loaded, texts), strict=True)
    ]


def augment(
    file: Path, folder: Path, name: str, columns: Sequence[str], options: Json | None = None, limit: int | None = None
) -> Augmented:
    """Write the training rows three ways: as they are, with a variant of each, and with rows repeated instead.

    Only the first `limit` rows of `file` are used. `folder` gets ``before.csv``, ``after.csv`` and ``repeated.csv``, in
    which `columns` are changed. `name` is a transformation of `paraconsist.transforms.registry`, ``module:function``,
    ``paraphrase:GENERATOR`` (``rules``, or a language model), or ``textattack:RECIPE``, with its `options`.
    """
    table = read_table(file, function=_FUNCTION, parameter="train_file")
    table = table if limit is None else table.slice(0, limit)
    texts = texts_of(table, columns, function=_FUNCTION, name=file.name)
    corpus, settings = [text for values in texts.values() for text in values], options or {}
    makers: dict[str, Callable[..., Callable[[Sequence[str]], list[str]]]]
    makers = {_TEXTATTACK: textattack_augmenter, _PARAPHRASE: first_paraphrase}
    kind, colon, which = name.partition(":")
    if make := makers.get(kind + colon):
        distinct = list(dict.fromkeys(corpus))
        variants = dict(zip(distinct, make(which, **settings)(distinct), strict=True))
        fitted: Fitted = FixedTransformation(name, settings, variants.__getitem__, name)
    else:
        fitted = transformation(name, **settings).fit(corpus)
    changed = apply_to_columns(fitted, texts, name)
    different = [
        row for row in range(len(table)) if any(_words(changed[c][row]) != _words(texts[c][row]) for c in columns)
    ]
    variants = again = table.take(pa.array(different, pa.int64()))
    for column in columns:
        new = pa.array([changed[column][i] for i in different], table.schema.field(column).type)
        variants = variants.set_column(table.column_names.index(column), column, new)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"{kind}.csv" for kind in ("before", "after", "repeated")}
    write_table(table, paths["before"])
    write_table(pa.concat_tables([table, variants]), paths["after"])
    write_table(pa.concat_tables([table, again]), paths["repeated"])
    return Augmented(**paths, n_rows=table.num_rows, n_variants=len(different))


def _words(text: str) -> list[str]:
    """Return the words without case and punctuation: a variant must differ in them."""
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()
