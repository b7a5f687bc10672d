"""From a visitor's columns to what a page shows, for the measures that have a function and no command.

From a visitor's columns to what a page shows, for the measures that `paraconsist score` knows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from paraconsist.data.predictions import Predictions
from paraconsist.data.rows import ColumnNames, Rows, read_rows
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, MeasureSpec
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.distribution_shift import distribution_shift, shifts
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE, unchanged
from paraconsist.reporting.plots import answers as figures
from paraconsist.reporting.plots.canvas import BAD, GOOD, GRID
from paraconsist.reporting.space.flips import broken_rows, bucket_flips, item_flips, pair_flips, share_right
from paraconsist.reporting.space.forms import Chosen, Found
from paraconsist.reporting.space.upload import Long, check_chosen, long_rows, probability_matrix
from paraconsist.scoring.roles import measure_rows, partners_of, violations
from paraconsist.scoring.score import ScoreOptions, score
from paraconsist.scoring.unparsed import POLICIES, apply_policy


def by_function(
    function: Callable[..., Any], parameters: Mapping[str, str], shown: Mapping[str, str]
) -> Callable[[Chosen], Found]:
    """Return a function that hands columns to a measure as they are, for a page without flips.

    Parameters
    ----------
    function : callable
        A measure that takes sequences and the interval options, and returns a `Result`.
    parameters : mapping of str to str
        Its parameter -> the field whose column it takes; absent columns are not passed.
    shown : mapping of str to str
        Key, a share in [0, 1] with an interval -> its name in the picture; undefined ones are left out.
    """

    def measure(chosen: Chosen) -> Found:
        check_chosen(chosen)
        table = chosen.predictions.table
        given = {
            parameter: table[chosen.columns[key]].to_pylist()
            for parameter, key in parameters.items()
            if chosen.columns.get(key)
        }
        keys = function(**given, **chosen.intervals, **chosen.options).to_dict()
        ends = keys["confidence_interval"]
        dots = [(name, [("mean", keys[key], ends[key], GOOD)]) for key, name in shown.items() if keys[key] == keys[key]]
        return Found(keys=keys, figure=figures.rates(dots) if dots else "", caption="Means over pairs, with intervals.")

    return measure


def measure_fooling(chosen: Chosen) -> Found:
    """Fooling rates of items and their variants, in either layout."""
    long = long_rows(chosen, "paraphrase")
    rows = long.rows()
    assert rows.buckets is not None
    given: dict[str, Any]
    if chosen.layout.key == "texts":
        targets, others = partners_of(rows, "fooling_rate", PARAPHRASE, [ORIGINAL])
        at = others["original"]
        before, gold = rows.predictions[at], rows.labels[at]
        everyone = np.flatnonzero(rows.roles == "original")
        pairs = zip(rows.predictions[everyone].tolist(), rows.labels[everyone].tolist(), strict=True)
        given = {"originals": dict(zip(rows.buckets[everyone].tolist(), pairs, strict=True))}
        if rows.groups is not None:
            given["groups"] = dict(zip(rows.buckets[everyone].tolist(), rows.groups[everyone].tolist(), strict=True))
    else:
        targets = np.arange(len(rows))
        before, gold = _beside(chosen, long, "original_prediction"), rows.labels
        given = {} if rows.groups is None else {"groups": rows.groups.tolist()}
    after, buckets = rows.predictions[targets], rows.buckets[targets]
    keys = fooling_rate(
        after.tolist(), before.tolist(), gold.tolist(), buckets.tolist(), **given, **chosen.intervals, **chosen.options
    ).to_dict()
    groups = []
    for label, found in keys["by_label"].items():
        name = str(long.shown(int(label))) if label.isdigit() else label
        ends = found["confidence_interval"]
        kinds = (("relaxed", "any other answer", BAD), ("strict", "the opposite answer", GOOD))
        groups.append((name, [(what, found[kind], ends[kind], colour) for kind, what, colour in kinds]))
    turned = (after != before) & (before == gold)
    ids, codes = np.unique(buckets, return_inverse=True)
    sizes, n_turned = np.bincount(codes), np.bincount(codes, weights=turned)

    def line(item: int) -> list[Any]:
        fooled = np.flatnonzero((codes == item) & turned)
        answers = [str(long.shown(value)) for value in dict.fromkeys(after[fooled].tolist())]
        cells = [ids[item].item(), long.shown(gold[fooled[0]].item()), f"{len(fooled)} of {sizes[item]}"]
        return [*cells, ", ".join(answers), long.lines(*targets[fooled[:3]].tolist())]

    header = ["item", "gold label", "variants that turn it", "into", "such variants"]
    return Found(
        keys=keys,
        warnings=_unparsed(rows),
        figure=figures.rates(groups),
        caption="Share of right items that at least one variant turns, by gold label, with intervals.",
        flips=item_flips(long, n_turned / sizes, line, "Items, answered right, that a variant turns", header),
    )


def measure_shift(chosen: Chosen) -> Found:
    """How far probabilities move between a text and its variant, in either layout."""
    long = long_rows(chosen, "paraphrase")
    rows = long.rows()
    table = chosen.predictions.table
    new = probability_matrix(table, chosen.columns["probabilities"], "probabilities")
    if chosen.layout.key == "texts":
        targets, others = partners_of(rows, "distribution_shift", PARAPHRASE, [ORIGINAL])
        new, old = [new[i] for i in targets.tolist()], [new[i] for i in others["original"].tolist()]
        groups = rows.buckets if rows.groups is None else rows.groups
        sides = list(zip(others["original"].tolist(), targets.tolist(), strict=True))
    else:
        targets, groups = np.arange(len(rows)), rows.groups
        sides = [(row, row) for row in range(len(rows))]
        old = probability_matrix(table, chosen.columns["original_probabilities"], "original probabilities")
    given = None if groups is None else groups[targets].tolist()
    keys = distribution_shift(new, old, groups=given, **chosen.intervals).to_dict()
    first, second = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    distances = shifts(second / second.sum(1, keepdims=True), first / first.sum(1, keepdims=True))[:, 0]
    changed = first.argmax(1) != second.argmax(1)

    def line(i: int) -> list[Any]:
        shown = [_probabilities(first[i]), _probabilities(second[i])]
        return [int(long.source[targets[i]]) + 1, f"{distances[i]:.3f}", *shown, long.lines(*sides[i])]

    header = ["row", "distance", "on the original", "on the variant", "text"]
    return Found(
        keys=keys,
        figure=figures.shift_histogram(distances, changed),
        caption="Pairs by how far their probabilities move; 0 is no move, 1 from one certain answer to another.",
        flips=item_flips(long, distances * changed, line, "Pairs whose most probable answer changes", header),
    )


def measure_ie_test(chosen: Chosen) -> Found:
    """The paired test of invariance, over one run or several, in either layout."""
    long = long_rows(chosen, "paraphrase")
    has_runs = bool(chosen.columns.get("run"))
    rows = long.rows(["run"] if has_runs else [])
    targets, others = partners_of(rows, "ie_test", PARAPHRASE, [ORIGINAL])
    originals = others["original"]
    given = {"runs": rows.strata["run"][targets].tolist()} if has_runs else {}
    options = dict(chosen.options)
    alpha = 1 - chosen.confidence_level
    keys = ie_test(
        rows.predictions[originals].tolist(),
        rows.predictions[targets].tolist(),
        rows.labels[originals].tolist(),
        alpha=round(alpha, 10),
        n_resamples=chosen.n_resamples,
        seed=chosen.seed,
        confidence_level=chosen.confidence_level,
        **given,
        **options,
    ).to_dict()
    if keys["n_runs"] > 1:
        figure = figures.p_values(keys["runs"], keys["p_values"], round(alpha, 10) / keys["n_runs"])
        caption = "Every run is tested; the level is divided by the number of runs."
    else:
        figure = figures.null_distribution(keys["n"], keys["n10"], keys["n01"], keys["statistic"], keys["p_value"])
        caption = "What t would be if the change cost nothing, and where it is. Drawn from 40,000 resamples."
        if str(options.get("method", "exact")).startswith("mcnemar"):
            figure = caption = ""  # another statistic
    return Found(
        keys=keys,
        warnings=_unparsed(rows),
        figure=figure,
        caption=caption,
        flips=pair_flips(
            long, rows, originals, targets, rows.predictions[originals] != rows.predictions[targets], _TWO_ANSWERS
        ),
    )


def measure_difference(chosen: Chosen) -> Found:
    """Paraphrastic consistency of two models on the same rows."""
    long = long_rows(chosen, "paraphrase")
    rows = long.rows()
    assert rows.buckets is not None
    first, second = (_beside(chosen, long, key) for key in ("predictions1", "predictions2"))
    roles = {"roles": rows.roles.tolist()} if (rows.roles == "original").any() else {}
    groups = {} if rows.groups is None else {"groups": rows.groups.tolist()}
    buckets, labels = rows.buckets.tolist(), rows.labels.tolist()
    found = consistency_difference(
        first.tolist(), second.tolist(), labels, buckets, **roles, **groups, **chosen.intervals, **chosen.options
    )
    keys = found.to_dict()
    shown = {
        "paraphrastic_consistency": "P_C, as published",
        "paraphrastic_consistency_unbiased": "P_C, unbiased",
        "accuracy": "accuracy",
    }
    dots = []
    for key, name in shown.items():
        one, other = (keys[which][key] for which in ("values1", "values2"))
        values = [("first model", one, (one, one), GOOD), ("second model", other, (other, other), BAD)]
        dots.append((name, values))
    is_measured = rows.roles == "paraphrase"
    ids, codes = np.unique(rows.buckets[is_measured], return_inverse=True)
    sizes = np.bincount(codes)
    rights = [np.bincount(codes, weights=(p == rows.labels)[is_measured]) for p in (first, second)]

    def line(i: int) -> list[Any]:
        at = np.flatnonzero(is_measured & (rows.buckets == ids[i]))[:3]
        return [ids[i].item(), *(f"{int(right[i])} of {sizes[i]}" for right in rights), long.lines(*at.tolist())]

    header = ["bucket", "first model right", "second model right", "text"]
    return Found(
        keys=keys,
        figure=figures.rates(dots),
        caption="Both models on the same rows. The interval above is of the difference, paired by bucket.",
        flips=item_flips(
            long, np.abs(rights[0] - rights[1]) / sizes, line, "Buckets that one model answers better", header
        ),
    )


def _beside(chosen: Chosen, long: Long, key: str) -> Any:
    """Return another column of predictions, read as all predictions are."""
    held = long.predictions
    place = held.table.column_names.index("prediction")
    column = chosen.predictions.table[chosen.columns[key]]
    swapped = Predictions(held.table.set_column(place, "prediction", column), held.metadata)
    return read_rows(swapped, ColumnNames(strata=()), need_buckets=False).predictions


def _unparsed(rows: Rows) -> Sequence[str]:
    n = int(rows.unparsed.sum())
    return [f"{n} of {len(rows)} predictions are unparsed and count as wrong answers."] if n else []


def _probabilities(values: Any) -> str:
    shown = [f"{value:.2f}" for value in values.tolist()[:6]]
    return ", ".join([*shown, "…"] if len(values) > 6 else shown)


_TWO_ANSWERS, _ONE_ANSWER = "Pairs with two answers", "Pairs with the same answer, where the answer must change"
_NEEDS_LABELS = ("accuracy", "perturbed_accuracy")


def as_the_command(name: str) -> Callable[[Chosen], Found]:
    """Return a function that scores as ``paraconsist score --measure {name}`` does, and draws.

    Parameters
    ----------
    name : str
        A measure that bucket sets are scored by.
    """
    spec = CATALOGUE[name]

    def measure(chosen: Chosen) -> Found:
        long = long_rows(chosen, spec.target)
        rows = apply_policy(long.rows(), POLICIES[0])[0]
        warnings: Sequence[str] = ()
        transitions: list[dict[str, Any]] = []
        if long.has_labels:
            result = score(long.predictions, ScoreOptions(measures=[name], **_scored(chosen)))
            keys, warnings = result["measures"][name], result["warnings"]
            transitions = result["figures"].get(name, {}).get("transitions", [])
        else:
            keys = _without_labels(measure_rows(spec, rows, **chosen.intervals))
        if spec is PARAPHRASTIC:
            shown = _paraphrastic_looks(long, rows, keys)
        elif spec.is_conditional:
            shown = _rule_looks(spec, long, rows, keys)
        else:
            shown = _pair_looks(spec, long, rows, keys, transitions)
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


def _paraphrastic_looks(long: Long, rows: Rows, keys: dict[str, Any]) -> Found:
    _, shares, _ = share_right(rows)
    caption = (
        "Bars: buckets by their share of right answers. Curve: the chance that two wordings drawn from such a bucket "
        "are both right or both wrong. Broken line: its mean over the buckets, which is P_C."
    )
    figure = figures.bucket_histogram(shares, keys[PARAPHRASTIC.headline])
    return Found(keys=keys, figure=figure, caption=caption, flips=bucket_flips(long, rows))


def _pair_looks(
    spec: MeasureSpec, long: Long, rows: Rows, keys: dict[str, Any], transitions: list[dict[str, Any]]
) -> Found:
    found = violations(spec, rows)
    originals, targets = found.partners[ORIGINAL], found.positions
    if not transitions:  # without labels
        counts = Counter(zip(rows.predictions[originals].tolist(), rows.predictions[targets].tolist(), strict=True))
        transitions = [
            {"prediction": long.shown(a), "perturbed_prediction": long.shown(b), "n_pairs": n}
            for (a, b), n in sorted(counts.items())
        ]
    must_differ = spec.breaks is unchanged
    caption = (
        "Pairs by their two answers. On the diagonal the answer stays, which a negation must not allow."
        if must_differ
        else "Pairs by their two answers. Off the diagonal the answer changes, although the meaning does not."
    )
    title = _ONE_ANSWER if must_differ else _TWO_ANSWERS
    return Found(
        keys=keys,
        figure=figures.transitions(transitions, must_differ=must_differ),
        caption=caption,
        flips=pair_flips(long, rows, originals, targets, found.broken, title),
    )


def _rule_looks(spec: MeasureSpec, long: Long, rows: Rows, keys: dict[str, Any]) -> Found:
    """Show conclusions by the rule they follow from: the partners' gold labels and what they allow."""
    found = violations(spec, rows)

    def allowed_at(at: int) -> str:
        labels = [rows.labels[at].item()] if rows.allowed is None else rows.allowed[at]
        return " or ".join(str(long.shown(label)) for label in labels)

    rules = [""] * len(found.positions)
    if rows.allowed is not None:
        golds = [[str(long.shown(label)) for label in rows.labels[side].tolist()] for side in found.partners.values()]
        conclusions = map(allowed_at, found.positions.tolist())
        rules = [f"{a} & {b} → {c}" for a, b, c in zip(*golds, conclusions, strict=True)]
    parts = []
    for rule, _ in Counter(rules).most_common(8):
        at = np.array([one == rule for one in rules])
        parts.append((rule, _counted(found.counts[at], found.broken[at], "not counted", "kept", "broken")))
    if long.predictions.label_names and "by_rule" in keys:
        named = {re.sub(r"\d+", lambda m: str(long.shown(int(m[0]))), rule): v for rule, v in keys["by_rule"].items()}
        keys = {**keys, "by_rule": named}
    return Found(
        keys=keys,
        figure=figures.bars(parts),
        caption=f"{'Rows by their rule. ' if rows.allowed is not None else ''}Only rows whose two partners are both "
        "answered right count.",
        flips=broken_rows(long, rows, found.positions, found.partners, found.broken, allowed_at),
    )


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
