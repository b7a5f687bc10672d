"""Results as tables for a terminal.

Which answers turn into which, and the confidence of inconsistent answers, as tables for a terminal.

Inconsistencies and prediction changes as tables for a terminal.

What flips when nothing changes, beside what flips under paraphrase.

Where answers could not be read: every measure under each policy, side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from paraconsist.measures.signatures import MEASURE_NAMES

#: Key, how a reader calls it, and whether it is shown in per cent.
_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("accuracy", "A, accuracy on paraphrases", True),
    ("original_accuracy", "A_O, accuracy on originals", True),
    ("paraphrastic_consistency", "P_C, paraphrastic consistency (published)", True),
    ("paraphrastic_consistency_unbiased", "P_C, unbiased", True),
    ("min_paraphrastic_consistency", "least P_C that this accuracy allows", True),
    ("agreement", "agreement (same label, right or wrong)", True),
    ("vap", "VAP, variance due to paraphrasing", False),
    ("vap_unbiased", "VAP, unbiased", False),
    ("pvap", "PVAP, share of variance due to paraphrasing", True),
    ("test_accuracy", "A_T, accuracy on the full test set", True),
    ("corrected_accuracy", "A, corrected for sampling", True),
    ("corrected_paraphrastic_consistency", "P_C, corrected", True),
    ("corrected_vap", "VAP, corrected", False),
    ("corrected_pvap", "PVAP, corrected", True),
    ("covered_mass", "test mass in deciles with buckets", True),
)
_STRATUM_COLUMNS = (
    ("accuracy", "A"),
    ("paraphrastic_consistency", "P_C"),
    ("paraphrastic_consistency_unbiased", "P_C unb."),
    ("pvap", "PVAP"),
)


def result_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what `paraconsist score` prints for one set: headline, breakdowns, warnings.

    Parameters
    ----------
    name : str
        The set's name.
    result : mapping
        What `paraconsist.scoring.score.score` returns.
    """
    measure = result["measures"]["paraphrastic_consistency"]
    yield _headline(name, result, measure)
    if result["strata"]:
        yield _breakdown(result["strata"])
    for warning in dict.fromkeys([*result["warnings"], *measure["warnings"]]):
        yield Text(f"warning: {warning}", style="yellow")
    yield Text(str(measure["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _headline(name: str, result: Mapping[str, Any], measure: Mapping[str, Any]) -> Table:
    model = f"{result['model']}, " if result["model"] else ""
    table = Table(
        box=SIMPLE_HEAD,
        title_style="bold",
        title=f"{escape(name)}: {escape(model)}{measure['n_buckets']:,} buckets, {measure['n_examples']:,} paraphrases",
        title_justify="left",
        caption=f"A constant answer would get accuracy {_number(result['majority_rate'], True)} and P_C 100.0 %.",
        caption_justify="left",
    )
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("interval", justify="right")
    intervals = measure["confidence_interval"]
    two_labels = math.isclose(measure["agreement"] or 0.0, measure["paraphrastic_consistency"], abs_tol=1e-9)
    for key, label, percent in _ROWS:
        if measure.get(key) is not None and not (key == "agreement" and two_labels):
            table.add_row(label, _number(measure[key], percent), _interval(intervals.get(key), percent))
    if result["n_unparsed"]:
        table.add_row("unparsed answers", _number(result["unparsed_rate"], True), "")
    return table


def _breakdown(strata: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title="By stratum (per cent; - is undefined)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("stratum", no_wrap=True)
    for label in ("buckets", "rows", *(label for _, label in _STRATUM_COLUMNS), "P_C interval"):
        table.add_column(label, justify="right", no_wrap=True)
    for column, values in strata.items():
        table.add_row(Text(column, style="bold"))
        for value, measures in values.items():
            measure = measures["paraphrastic_consistency"]
            table.add_row(
                escape(f"  {value}"),
                f"{measure['n_buckets']:,}",
                f"{measure['n_examples']:,}",
                *(_bare_percent(measure[key]) for key, _ in _STRATUM_COLUMNS),
                _interval(measure["confidence_interval"].get("paraphrastic_consistency"), True),
            )
        table.add_section()
    return table


def _number(value: float | None, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "undefined"
    return f"{100 * value:.1f} %" if percent else f"{value:.4f}"


def _bare_percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}"


def _interval(bounds: Sequence[float | None] | None, percent: bool) -> str:
    if bounds is None or any(b is None or math.isnan(b) for b in bounds):
        return ""
    low, high = (float(b) for b in bounds if b is not None)
    return f"[{100 * low:.1f}, {100 * high:.1f}]" if percent else f"[{low:.4f}, {high:.4f}]"


#: More lines than three labels can make; of longer tables the commonest are shown.
_MOST_LINES = 30


def figure_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the figures of every measure on pairs (BECEL's Figures 2 and 3).

    Parameters
    ----------
    name : str
        The set's name.
    result : mapping
        What `paraconsist.scoring.score.score` returns.
    """
    for measure, figures in result["figures"].items():
        yield _transitions(f"{name}, {measure}", figures["transitions"])
        if "confidence" in figures:
            yield _confidence(f"{name}, {measure}", figures["confidence"])


def _transitions(title: str, transitions: Sequence[Mapping[str, Any]]) -> Table:
    n_pairs = sum(line["n_pairs"] for line in transitions)
    shown, caption = list(range(len(transitions))), None
    if len(transitions) > _MOST_LINES:
        commonest = sorted(shown, key=lambda i: -int(transitions[i]["n_pairs"]))[:_MOST_LINES]
        shown, caption = sorted(commonest), f"the {_MOST_LINES} commonest of {len(transitions)}"
    table = _table(f"{title}: predictions by gold label", caption)
    for label in ("gold label", "on original", "on perturbed"):
        table.add_column(label)
    for label in ("pairs", "per cent"):
        table.add_column(label, justify="right")
    for line in (transitions[i] for i in shown):
        values = (line["label"], line["prediction"], line["perturbed_prediction"])
        table.add_row(*map(_label, values), f"{line['n_pairs']:,}", _percent(line["n_pairs"] / n_pairs))
    return table


def _confidence(title: str, confidence: Mapping[str, Mapping[str, Any]]) -> Table:
    table = _table(
        f"{title}: confidence",
        "Mean probability of the predicted label (per cent; - is undefined); unparsed answers have none.",
    )
    table.add_column("pairs")
    for label in ("n", "both sides", "on original", "on perturbed"):
        table.add_column(label, justify="right")
    for kind, part in confidence.items():
        means = (part[key] for key in ("confidence", "original_confidence", "perturbed_confidence"))
        table.add_row(kind, f"{part['n_pairs']:,}", *map(_percent, means))
    return table


def _table(title: str, caption: str | None) -> Table:
    return Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=escape(title),
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
    )


def _label(value: Any) -> str:
    return "unparsed" if value is None else escape(str(value))


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}"


_CONDITIONAL = ("transitive_inconsistency", "additive_inconsistency")


def _share_interval(bounds: Any) -> str:
    if bounds is None or any(b is None or math.isnan(b) for b in bounds):
        return ""
    return f"[{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"


def inconsistency_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield the layout of BECEL's Table 2: a line for each set, tau with interval, population and accuracies.

    Parameters
    ----------
    results : mapping
        Set name -> what `paraconsist.scoring.score.score` returns; sets without an inconsistency are passed over.
    """
    lines = [
        (name, measure, result, found)
        for name, result in results.items()
        for measure, found in result["measures"].items()
        if "inconsistency" in found
    ]
    if not lines:
        return
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title="Inconsistency (per cent, lower is better; - is undefined)",
        title_justify="left",
        title_style="bold",
        caption="rows: what the share is of. acc.: accuracy on the originals; pert.: on the perturbed side; "
        "maj.: of always giving the originals' commonest label.",
        caption_justify="left",
    )
    for label in ("set", "tau", "interval", "rows", "acc.", "pert.", "maj."):
        table.add_column(label, justify="left" if label == "set" else "right", no_wrap=True)
    for name, measure, result, found in lines:
        table.add_row(
            escape(_label_cell(name, measure)),
            _percent(found["inconsistency"]),
            _share_interval(found["confidence_interval"].get("inconsistency")),
            f"{found['n_satisfied']:,}/{found['n_rows']:,}" if measure in _CONDITIONAL else f"{found['n_pairs']:,}",
            _percent(found.get("accuracy")),
            _percent(found.get("perturbed_accuracy")),
            _percent(result["majority_rate"]),
        )
    yield table
    for name, _, result, found in lines:
        for warning in dict.fromkeys([*result["warnings"], *found["warnings"]]):
            yield Text(f"warning: {name}: {warning}", style="yellow")
    for signature in dict.fromkeys(str(found["signature"]) for *_, found in lines):
        yield Text(signature, style="dim", no_wrap=True, overflow="ignore")


def _label_cell(name: str, measure: str) -> str:
    """Return the set's name, and the measure's where the name does not say it."""
    short, kind = name.partition(":")[2] or name, measure.removesuffix("_inconsistency")
    return short if kind in short else f"{short} ({kind})"


def change_tables(name: str, result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the share of changed predictions, whole and by stratum (PaRTE's Figures 1 to 5)."""
    found = result["measures"]["prediction_change"]
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"{escape(name)}: changed predictions (share in per cent, lower is better)",
        title_justify="left",
        title_style="bold",
        caption="lost: right on the original and wrong on the paraphrase; gained: the other way round.",
        caption_justify="left",
    )
    for label in ("pairs", "n", "changed", "share", "interval", "lost", "gained"):
        table.add_column(label, justify="left" if label == "pairs" else "right", no_wrap=True)
    bounds = found["confidence_interval"]
    table.add_row("all", *_changes(found, bounds.get("change_rate")))
    for key, label in (
        ("change_rate_given_correct", "original right"),
        ("change_rate_given_incorrect", "original wrong"),
    ):
        table.add_row(f"  {label}", "", "", _percent(found[key]), _share_interval(bounds.get(key)), "", "")
    for column, values in (found.get("by_stratum") or {}).items():
        table.add_row(Text(str(column), style="bold"))
        for value, part in values.items():
            table.add_row(escape(f"  {value}"), *_changes(part, _first(part["confidence_interval"])))
    yield table
    for warning in dict.fromkeys([*result["warnings"], *found["warnings"]]):
        yield Text(f"warning: {warning}", style="yellow")
    yield Text(str(found["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _first(interval: Any) -> Any:
    return next(iter(interval.values())) if isinstance(interval, Mapping) else interval


def _changes(found: Mapping[str, Any], bounds: Any) -> tuple[str, ...]:
    return (
        f"{found['n_pairs']:,}",
        f"{found['n_changed']:,}",
        _percent(found["change_rate"]),
        _share_interval(bounds),
        f"{found['correct_to_incorrect']:,}",
        f"{found['incorrect_to_correct']:,}",
    )


_SHARES = ("problem", "paraphrase", "decoding", "numeric")


def noise_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield a table for every set whose inputs were asked again.

    Parameters
    ----------
    results : mapping
        Set name -> its results; ``noise_floor`` is what `paraconsist.measures.noise_floor.noise_floor` returns.
    """
    for name, result in results.items():
        found = result.get("noise_floor")
        if found is None:
            continue
        table = Table(
            box=SIMPLE_HEAD,
            title=escape(f"{name}: noise floor, {found['n_repeats']} repeats (per cent)"),
            title_justify="left",
            title_style="bold",
        )
        table.add_column("measure")
        table.add_column("value", justify="right")
        table.add_column("interval", justify="right")
        for key, value, label in _rows(found):
            table.add_row(label, _shown(value), _noise_interval(found["confidence_interval"].get(key)))
        yield table
        for warning in found["warnings"]:
            yield Text(f"warning: {warning}", style="yellow")
        yield Text(str(found["signature"]), style="dim", no_wrap=True, overflow="ignore")


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    for kind, value in found["flip_rate"].items():
        yield f"flip_rate/{kind}", value, f"answers that flip at no change ({kind})"
    yield "inconsistency", found["inconsistency"], "paraphrases one right, one wrong (1 - P_C, unbiased)"
    yield "excess_inconsistency", found["excess_inconsistency"], "of that, in excess of the noise"
    yield "consistency_in_excess", found["consistency_in_excess"], "P_C with the noise taken off"
    for part in _SHARES:
        if part in found["share"]:
            yield "", found["share"][part], f"share of variance: {part}"


def _shown(value: float | None) -> str:
    return "-" if value is None or value != value else f"{100 * value:.2f}"


def _noise_interval(bounds: Any) -> str:
    if bounds is None or any(b is None or b != b for b in bounds):
        return ""
    return f"[{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"


_SHORT = {name: short for short, name in MEASURE_NAMES.items()}


def policy_tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield one table for all sets with an unparsed answer; nothing where there is none.

    Parameters
    ----------
    results : mapping
        Set name -> what `paraconsist.scoring.score.score` returns.
    """
    told = {name: result for name, result in results.items() if result["by_policy"]}
    if not told:
        return
    table = Table(
        box=SIMPLE_HEAD,
        title="What unparsed answers count as (per cent)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("set (measure)")
    table.add_column("unparsed", justify="right", no_wrap=True)
    table.add_column("counts as", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("interval", justify="right", no_wrap=True)
    for name, result in told.items():
        for measure in result["measures"]:
            first = (escape(f"{name} ({_SHORT.get(measure, measure)})"), f"{100 * result['unparsed_rate']:.1f}")
            for policy, found in result["by_policy"].items():
                chosen = "*" if policy == result["unparsed_policy"] else " "
                table.add_row(*first, f"{chosen} {policy.replace('_', ' ')}", *_value_or_dash(found[measure]))
                first = ("", "")
    yield table
    yield "* is what the tables above are of."


def _value_or_dash(found: Mapping[str, Any] | None) -> tuple[str, str]:
    if found is None:
        return "-", ""
    (value,) = (value for key, value in found.items() if key != "confidence_interval")
    low, high = found["confidence_interval"]
    if value is None or value != value:
        return "-", ""
    return f"{100 * value:.1f}", "" if low is None or low != low else f"[{100 * low:.1f}, {100 * high:.1f}]"
