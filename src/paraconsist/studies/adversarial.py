"""Adversarial training: does training on variants make a model more consistent? (Table 3 of Jang et al. 2022.)"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraconsist.errors import input_error
from paraconsist.files import write_json
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SEMANTIC
from paraconsist.reporting.formatting import percent
from paraconsist.studies.augment import augment
from paraconsist.studies.sweep import train_and_run
from paraconsist.studies.sweep_grid import StudyOptions

_FUNCTION = "adversarial"
KINDS = ("before", "after", "repeated")


@dataclass(frozen=True, kw_only=True)
class AdversarialOptions(StudyOptions):
    """What to train, on what variants, and what to run; what is not listed here is as for every study.

    Attributes
    ----------
    model : str
    train_file : Path
    columns : sequence of str
        Columns of the training rows to change.
    transformation : str
        Of `paraconsist.transforms.registry`, ``module:function``, ``paraphrase:GENERATOR`` or
        ``textattack:RECIPE``.
    transformation_options : mapping
    control : bool
        Also train on the rows with a variant repeated in place of the variant: as many steps, nothing new.
    n_permutations : int
        Of the paired comparisons.
    """

    model: str
    train_file: Path
    columns: Sequence[str]
    transformation: str = "wordnet_nouns"
    transformation_options: Mapping[str, Any] = field(default_factory=dict)
    control: bool = False
    n_permutations: int = 10_000

    def __post_init__(self) -> None:
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise input_error(_FUNCTION, "seeds", "be numbers from 0 on, each once", got=list(self.seeds))


def adversarial(options: AdversarialOptions, *, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Train before and after, run both, compare them on the same rows.

    Trainings and runs go on where an interrupted command stopped.

    Returns
    -------
    dict
        ``n_rows``, ``n_variants``; ``runs``: seed -> kind -> set -> measures; ``comparisons``: for each seed, set and
        measure the paired difference *after - before* (and *after - repeated*), its interval and p, as
        `paraconsist.scoring.compare` gives them; ``over_seeds``: their mean with the p of a paired t over seeds.
        Also in ``adversarial.json``.

    Raises
    ------
    InputError
        As for training, running, scoring and the transformation.
    """
    rows = augment(
        options.train_file,
        options.output / "rows",
        options.transformation,
        options.columns,
        options=options.transformation_options,
        limit=options.limit,
    )
    say(f"{rows.n_rows:,} rows, {rows.n_variants:,} of them with a variant.")
    kinds = KINDS if options.control else KINDS[:2]
    runs: dict[str, dict[str, Any]] = {}
    comparisons = []
    for seed in options.seeds:
        of_seed = runs[str(seed)] = {}
        for kind in kinds:
            folder = _folder(options, kind, seed)
            training = options.train(folder / "model", model=options.model, train_file=getattr(rows, kind), seed=seed)
            of_seed[kind] = train_and_run(training, folder / "run", options)
            say(f"seed {seed}, {kind}: {_short(of_seed[kind])}")
        for other in kinds[:1] + kinds[2:]:
            comparisons += _compare(options, seed, other)
    results = {
        "transformation": options.transformation,
        "columns": list(options.columns),
        "n_rows": rows.n_rows,
        "n_variants": rows.n_variants,
        "runs": runs,
        "comparisons": comparisons,
        "over_seeds": _over_seeds(comparisons),
    }
    write_json(options.output / "adversarial.json", results, indent=1)
    return results


def _folder(options: AdversarialOptions, kind: str, seed: int) -> Path:
    return options.output / f"{kind}-seed-{seed}"


def _compare(options: AdversarialOptions, seed: int, other: str) -> list[dict[str, Any]]:
    """The paired comparison of `after` with another kind, for each set and measure (tau of paraphrases too)."""
    from paraconsist.scoring.compare import CompareOptions, compare
    from paraconsist.scoring.sources import open_source

    sets = {kind: open_source(_folder(options, kind, seed) / "run").sets for kind in ("after", other)}
    out: list[dict[str, Any]] = []
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
        about = {"seed": seed, "set": name, "against": other}
        for compared in compare({kind: {name: of_kind[name]} for kind, of_kind in sets.items()}, settings):
            out += [{**about, "measure": pair.measure, **pair.result} for pair in compared.pairs]
    return out


def _over_seeds(comparisons: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean difference over seeds, with the p of a paired t where there are two seeds or more."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for entry in comparisons:
        groups.setdefault((entry["set"], entry["measure"], entry["against"]), []).append(float(entry["difference"]))
    out = []
    for (name, measure, against), differences in groups.items():
        mean = sum(differences) / len(differences)
        p = float("nan")
        if len(differences) > 1 and max(differences) > min(differences):
            from scipy.stats import ttest_1samp

            p = float(ttest_1samp(differences, 0.0).pvalue)
        about = {"set": name, "measure": measure, "against": against}
        out.append({**about, "difference": mean, "p_value": p, "n_seeds": len(differences)})
    return out


def _short(results: Mapping[str, Any]) -> str:
    parts = []
    for name, measures in results.items():
        for measure, values in measures.items():
            key = CATALOGUE[measure].headline
            parts.append(f"{name} {measure} {percent(values.get(key))}")
    return "; ".join(parts) or json.dumps(results)
