"""Many models on many sets, ranked: each set by itself, over the buckets that its models share, all pairs at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.data.rows import Rows
from paraconsist.errors import InputError
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.results import Record
from paraconsist.measures.standings import Standing, standings
from paraconsist.scoring.alignment import align
from paraconsist.scoring.compare import compared_measures, read_models, values_of_units
from paraconsist.scoring.options import CompareOptions
from paraconsist.scoring.outcomes import Ranking, rank
from paraconsist.scoring.roles import apply_policy
from paraconsist.scoring.sources import Source

_LEAST_SHARE = 0.5  # of the buckets of one model, which all ranked have in common at least


@dataclass(frozen=True)
class SetRanking(Record):
    """The models of one set, ranked by each of its measures."""

    set: str
    n_common_buckets: int  # that all ranked models answered, and they are ranked on
    #: Of every measure and ranked model: ranks and groups of one measure hold
    #: for all of its pairs together at the confidence level; sets and measures are families of their own.
    standings: list[Standing]
    ranking: Ranking  # by steadiness above chance
    left_out: dict[str, str]  # model -> why it is not ranked


def rank_models(models: Mapping[str, Mapping[str, Source]], options: CompareOptions) -> list[SetRanking]:
    """Rank models (model -> set -> its predictions) on every set that two have, all pairs tested at once.

    The tests are joint sign flips of buckets, or of their groups (`UnitValues.pair_tests` of `measures.standings`).
    """
    names = dict.fromkeys(name for sets in models.values() for name in sets)
    by_set = {name: {model: sets[name] for model, sets in models.items() if name in sets} for name in names}
    return [_ranking(name, sources, options) for name, sources in by_set.items() if len(sources) > 1]


def _ranking(name: str, sources: Mapping[str, Source], options: CompareOptions) -> SetRanking:
    rows, left_out = _comparable(sources, options)
    if len(rows) < 2:
        return SetRanking(name, 0, [], Ranking(0, {}, [], {}), left_out)
    aligned = align(rows)
    models, ranked = list(rows), list[Standing]()
    for spec in compared_measures(sources, aligned, options):
        units = values_of_units(spec, aligned.rows, options)
        one, two, sums, p = units.pair_tests(n_draws=options.n_permutations, seed=options.seed)
        pairs = [(models[i], models[j]) for i, j in zip(one.tolist(), two.tolist(), strict=True)]
        is_better = (sums > 0.0) if spec is PARAPHRASTIC else (sums < 0.0)  # of violations fewer are better
        better = dict(zip(pairs, is_better.tolist(), strict=True))
        differ = dict(zip(pairs, (p <= 1.0 - options.confidence_level).tolist(), strict=True))
        ranked += standings(spec.name, models, better, differ)
    return SetRanking(name, aligned.n_common, ranked, rank(aligned.rows, {}, options), left_out)


def _comparable(sources: Mapping[str, Source], options: CompareOptions) -> tuple[dict[str, Rows], dict[str, str]]:
    """Return the rows of the models that are compared, and why others cannot be.

    These fit the one that answered the most problems, or the next one, if too few fit that.
    """
    rows: dict[str, Rows] = {}
    unread: dict[str, str] = {}
    for model, source in sources.items():
        try:
            rows[model] = apply_policy(read_models({model: source}, options)[model], options.policy)[0]
        except InputError as problem:
            unread[model] = str(problem)
    buckets = {model: np.unique(read.buckets) for model, read in rows.items() if read.buckets is not None}
    untried = sorted(buckets, key=lambda model: -len(buckets[model]))
    left_out = dict.fromkeys(rows, "")
    while untried and 2 * len(left_out) > len(rows):
        others = _misfits(untried[0], rows, buckets)
        untried = [model for model in untried if model in others]
        left_out = others if len(others) < len(left_out) else left_out
    return {model: read for model, read in rows.items() if model not in left_out}, unread | left_out


def _misfits(reference: str, rows: Mapping[str, Rows], buckets: Mapping[str, Any]) -> dict[str, str]:
    """Return the models (and why) that have other rows than one, or would leave all others too few in common."""
    reasons: dict[str, str] = {}
    shared: dict[str, Any] = {}
    for model in rows.keys() - {reference}:
        try:
            align({reference: rows[reference], model: rows[model]})
            shared[model] = np.intersect1d(buckets[reference], buckets[model])
        except InputError as problem:
            reasons[model] = str(problem)
    common, n = buckets[reference], len(buckets[reference])
    for model in sorted(shared, key=lambda model: (-len(shared[model]), model)):
        left = np.intersect1d(common, shared[model])
        if len(left) >= _LEAST_SHARE * n:
            common = left
            continue
        reasons[model] = f"answered {len(shared[model]):,} of the {n:,} problems that {reference} answered"
        if len(shared[model]) >= _LEAST_SHARE * n:
            reasons[model] += f", and {len(left):,} of the {len(common):,} that all ranked answered"
    return {model: reasons[model] for model in rows if model in reasons}
