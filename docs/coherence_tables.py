"""The tables of docs/coherence.md: the published forecasters' arbitrage, as published and exactly."""

from __future__ import annotations

from functools import cache

import pandas as pd
from table_sources import Cells, data, table

from paraconsist.measures.probability_coherence import LEAST, RELATIONS, arbitrage

_PAGE, _TEN = "docs/coherence.md", list(RELATIONS)[:10]


@cache
def tuples() -> pd.DataFrame:
    """Every tuple that is at hand: its check, forecaster, published and exact arbitrage."""
    folder, key = data() / "recorded", ["forecaster", "set", "tuple"]
    rows, published = (pd.read_parquet(folder / f"forecasters{part}.parquet") for part in ("", "_tuples"))
    parts = []
    for check in _TEN:
        p = rows[rows["check"] == check].pivot(index=key, columns="role", values="probability")
        part = published[published["check"] == check].set_index(key).sort_index()
        exact = arbitrage(RELATIONS[check], p.loc[part.index, list(RELATIONS[check].statements)].to_numpy())
        assert (exact.gain - exact.guaranteed)[exact.gain > 0].max() <= 1e-9
        parts.append(part.assign(exact=exact.gain).reset_index())
    return pd.concat(parts)


@table("coherence-relations", _PAGE)
def by_relation() -> list[Cells]:
    """Mean and number of violated tuples of each relation, over all forecasters and both sets."""
    made: list[Cells] = []
    for check in _TEN:
        part = tuples().query("check == @check")
        means = [f"{part[column].mean():.6f}" for column in ("default", "exact")]
        counts = [f"{int((part[column] >= LEAST['arbitrage']).sum()):,}" for column in ("default", "exact")]
        made.append([check, f"{len(part):,}", *means, *counts])
    return made


@table("coherence-forecasters", _PAGE)
def by_forecaster() -> list[Cells]:
    """Exact mean of each forecaster and relation, and the mean over relations as published and exactly."""
    means = tuples().groupby(["forecaster", "check"])[["default", "exact"]].mean().unstack()
    both = pd.DataFrame({column: means[column].mean(axis=1) for column in ("default", "exact")})
    return [
        [
            name,
            *(f"{means['exact'].loc[name, check]:.3f}" for check in _TEN),
            *(f"{both.loc[name, c]:.3f}" for c in both),
        ]
        for name in both.sort_values("exact").index
    ]
