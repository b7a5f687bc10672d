"""From a visitor's columns to what a page shows, for the measures that `paraconsist score` knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from paraconsist.data.rows import ColumnNames, Rows
from paraconsist.scoring.answer_changes import PAIR_MEASURES
from paraconsist.scoring.roles import MEASURES, partners
from paraconsist.scoring.score import ScoreOptions, score
from paraconsist.space import figures
from paraconsist.space.columns import Long, long_rows
from paraconsist.space.drawing import BAD, GOOD, GRID
from paraconsist.space.flips import broken_rows, bucket_flips, pair_flips, share_right
from paraconsist.space.modules import Chosen, Found

_NEEDS_LABELS = ("accuracy", "perturbed_accuracy")


def as_the_command(name: str) -> Callable[[Chosen], Found]:
    """Return a function that scores as ``paraconsist score --measure {name}`` does, and draws.

    Parameters
    ----------
    name : str
        One of `paraconsist.scoring.roles.MEASURES`.
    """

    def measure(chosen: Chosen) -> Found:
        long = long_rows(chosen, MEASURES[name].target)
        warnings: Sequence[str] = ()
        transitions: list[dict[str, Any]] = []
        if long.has_labels:
            result = score(long.predictions, ScoreOptions(measures=[name], **_scored(chosen)))
            keys, warnings = result["measures"][name], result["warnings"]
            transitions = result["figures"].get(name, {}).get("transitions", [])
        else:
            keys = _without_labels(MEASURES[name].score(long.rows(), chosen.intervals))
        rows = long.rows()
        looks: Callable[..., Found] = _LOOKS.get(name, _pair_looks)
        shown = looks(name, long, rows, keys, transitions)
        return Found(
            keys=shown.keys,
            warnings=warnings,
            figure=shown.figure,
            caption=shown.caption,
            flips=shown.flips,
            command=_command(name, chosen, long),
        )

    return measure


def _without_labels(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the stand-ins for gold labels have spoilt."""
    return {
        key: _without_labels(value) if isinstance(value, Mapping) else value
        for key, value in keys.items()
        if key not in _NEEDS_LABELS
    }


def _scored(chosen: Chosen) -> dict[str, Any]:
    return {"columns": ColumnNames(strata=()), **chosen.intervals}


def _paraphrastic_looks(
    name: str, long: Long, rows: Rows, keys: dict[str, Any], transitions: list[dict[str, Any]]
) -> Found:
    _, shares, _ = share_right(rows)
    caption = (
        "Bars: buckets by their share of right answers. Curve: the chance that two wordings drawn from such a bucket "
        "are both right or both wrong. Broken line: its mean over the buckets, which is P_C."
    )
    figure = figures.bucket_histogram(shares, keys["paraphrastic_consistency"])
    return Found(keys=keys, figure=figure, caption=caption, flips=bucket_flips(long, rows))


def _pair_looks(name: str, long: Long, rows: Rows, keys: dict[str, Any], transitions: list[dict[str, Any]]) -> Found:
    targets, others = partners(rows, name, MEASURES[name].target, ["original"])
    must_differ = PAIR_MEASURES[name]
    if not transitions:  # without labels
        sides = zip(rows.predictions[others["original"]].tolist(), rows.predictions[targets].tolist(), strict=True)
        found: dict[tuple[Any, Any], int] = {}
        for pair in sides:
            found[pair] = found.get(pair, 0) + 1
        transitions = [
            {"prediction": long.shown(a), "perturbed_prediction": long.shown(b), "n_pairs": n}
            for (a, b), n in sorted(found.items())
        ]
    caption = (
        "Pairs by their two answers. On the diagonal the answer stays, which a negation must not allow."
        if must_differ
        else "Pairs by their two answers. Off the diagonal the answer changes, although the meaning does not."
    )
    return Found(
        keys=keys,
        figure=figures.transitions(transitions, must_differ=must_differ),
        caption=caption,
        flips=pair_flips(long, rows, others["original"], targets, broken_if_same=must_differ),
    )


def _additive_looks(
    name: str, long: Long, rows: Rows, keys: dict[str, Any], transitions: list[dict[str, Any]]
) -> Found:
    targets, others = partners(rows, name, "merged", ["part_1", "part_2"])
    gold = rows.labels[targets]
    right = np.logical_and.reduce([rows.predictions[side] == gold for side in others.values()])
    broken = right & (rows.predictions[targets] != gold)
    parts = [("", _counted(right, broken, "a part is wrong: not counted", "label kept", "label lost"))]
    return Found(
        keys=keys,
        figure=figures.bars(parts),
        caption="Only rows whose two parts are both answered right count.",
        flips=broken_rows(long, rows, targets, others, broken, lambda at: long.shown(rows.labels[at].item())),
    )


def _transitive_looks(
    name: str, long: Long, rows: Rows, keys: dict[str, Any], transitions: list[dict[str, Any]]
) -> Found:
    targets, others = partners(rows, name, "consequent", ["antecedent_1", "antecedent_2"])
    right = np.logical_and.reduce([rows.predictions[side] == rows.labels[side] for side in others.values()])
    sets = [[rows.labels[at].item()] if rows.allowed is None else rows.allowed[at] for at in targets.tolist()]
    inside = np.array(
        [guess in allowed for guess, allowed in zip(rows.predictions[targets].tolist(), sets, strict=True)]
    )
    broken = right & ~inside

    def shown(allowed: Sequence[Any]) -> str:
        return " or ".join(str(long.shown(label)) for label in allowed)

    golds = [[str(long.shown(label)) for label in rows.labels[side].tolist()] for side in others.values()]
    rules = [f"{a} & {b} → {shown(c)}" for a, b, c in zip(*golds, sets, strict=True)]
    parts = []
    for rule in sorted(set(rules), key=lambda rule: -rules.count(rule))[:8]:
        at = np.array([one == rule for one in rules])
        parts.append((rule, _counted(right[at], broken[at], "not counted", "kept", "broken")))
    if long.predictions.label_names and "by_rule" in keys:
        named = {re.sub(r"\d+", lambda m: str(long.shown(int(m[0]))), rule): v for rule, v in keys["by_rule"].items()}
        keys = {**keys, "by_rule": named}
    by_target = dict(zip(targets.tolist(), sets, strict=True))
    return Found(
        keys=keys,
        figure=figures.bars(parts),
        caption="Rows by their rule. Only rows whose two premises are both answered right count.",
        flips=broken_rows(long, rows, targets, others, broken, lambda at: shown(by_target[at])),
    )


_LOOKS: dict[str, Callable[..., Found]] = {
    "paraphrastic_consistency": _paraphrastic_looks,
    "additive_inconsistency": _additive_looks,
    "transitive_inconsistency": _transitive_looks,
}


def _counted(right: Any, broken: Any, *names: str) -> list[tuple[str, int, str]]:
    counts = (int((~right).sum()), int((right & ~broken).sum()), int(broken.sum()))
    return [(what, n, colour) for what, n, colour in zip(names, counts, (GRID, GOOD, BAD), strict=True)]


def _command(name: str, chosen: Chosen, long: Long) -> list[str]:
    """Return the same on the command line, or nothing where the command takes the file otherwise."""
    columns, names = chosen.columns, chosen.predictions.table.column_names
    wide = bool(chosen.layout.sides)
    if not long.has_labels or (wide and "paraphrase" not in chosen.layout.sides):
        return []
    called = {"prediction": "prediction", "label": "label"}
    if wide:
        words = ["--original-prediction", columns["original_prediction"]]
    else:
        words, called = [], {"bucket": "bucket_id", **called}
        # what the command takes by its name although the visitor left it out
        if not columns.get("role") and "role" in names:
            return []
    if not columns.get("group") and "group_id" in names:
        return []
    for key, default in {**called, "group": "group_id", "role": "role"}.items():
        given = columns.get(key)
        option = "original" if key == "role" and long.flagged else key
        if given and (given != default or option != key):
            words += [f"--{option}", given]
    if chosen.label_names:
        words += ["--label-names", ",".join(chosen.label_names)]
    words += ["--measure", name]
    defaults = Chosen(chosen.predictions, chosen.layout, {})
    for key in ("confidence_level", "n_resamples", "seed"):
        if getattr(chosen, key) != getattr(defaults, key):
            words += [f"--{key.replace('_', '-')}", str(getattr(chosen, key))]
    return ["paraconsist", "score", "FILE", *words]
