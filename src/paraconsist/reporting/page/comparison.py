"""Models of a page against each other: their comparison, and the buckets that they disagree about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC
from paraconsist.reporting.formatting import count, known
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.models import Model
from paraconsist.reporting.table import WHOLE_PERCENT, Cell, Column, Table
from paraconsist.reporting.tables import link
from paraconsist.scoring.compare import SetComparison, compare, compare_options
from paraconsist.scoring.options import ScoreOptions

#: Buckets of a set, and cells of all sets, in the tables of buckets that the models disagree about.
_MOST_BUCKETS, _MOST_CELLS = 200, 4000


def compare_models(models: Sequence[Model], options: ScoreOptions, margin: float | None = None) -> list[SetComparison]:
    """Compare the models on every set that all of them have; return nothing where they have none in common.

    A model is left out if none of its answers to one of the sets could be read.
    """
    models = [model for model in models if all(scored.n_unparsed < len(scored.rows) for scored in model.sets.values())]
    common = [name for name in models[0].sets if all(name in model.sets for model in models)] if models else []
    if len(models) < 2 or not common:
        return []
    sources = {model.name: {name: model.sets[name].source for name in common} for model in models}
    return compare(sources, compare_options(options, margin))


def heat_maps(sets: Sequence[AlignedSet]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table): a line for each bucket that the models disagree about, the most first, a column for each.

    Disagreement is the standard deviation over the models of the share of right wordings, or of broken rules, that the
    cells show. The last line is the mean of the other buckets.
    """
    several = [aligned for aligned in sets if len(aligned.models) > 1]
    most = min(_MOST_BUCKETS, _MOST_CELLS // max(1, sum(len(aligned.models) for aligned in several)))
    for aligned in several:
        is_right = aligned.measure == PARAPHRASTIC.name
        by_model = aligned.accuracy if is_right else aligned.inconsistency
        values = np.ma.masked_invalid(np.array([by_model[model] for model in aligned.models]))
        spread = np.round(values.std(axis=0).filled(0.0), 9)
        worst = aligned.worst_first()
        order = worst[np.argsort(-spread[worst], kind="stable")]
        first, rest = np.split(order, [min(most, int((spread > 0.0).sum()))])
        rows = []
        for place in first.tolist():
            bucket = str(aligned.bucket_ids[place])
            cells = []
            for model, value in zip(aligned.models, values[:, place].filled(np.nan).tolist(), strict=True):
                distance = 2.0 * value - 1.0 if is_right else -value  # from what is neither good nor bad
                level = int(np.ceil(3.0 * abs(distance))) if known(value) else 0
                shade = f"{'better' if distance > 0.0 else 'worse'}-{level}" if level else ""
                href = link(set=aligned.name, model=model, bucket=bucket)
                cells.append(Cell(value, unit=WHOLE_PERCENT, link=href, shade=shade))
            rows.append([Cell(bucket, head=True, link=link(set=aligned.name, bucket=bucket)), *cells])
        if len(rest):
            means = values[:, rest].mean(axis=1).filled(np.nan).tolist()
            words = f"mean of {'the other ' if rows else ''}{count(len(rest))}"
            rows.append([Cell(words, head=True), *(Cell(mean, unit=WHOLE_PERCENT) for mean in means)])
        what = "Wordings answered right" if is_right else f"{CATALOGUE[aligned.measure].title}: broken rules"
        columns = [Column("bucket", words=True), *(Column(model, upright=True) for model in aligned.models)]
        caption = "" if len(first) == len(order) else f"{count(len(first))} of {count(len(order))} buckets are shown."
        yield aligned.name, Table(f"{what}, in per cent, {aligned.name}", columns, rows, caption, kind="heat")
