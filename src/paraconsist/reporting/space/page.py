"""Results as HTML, by the macros of ``templates/page.html``."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paraconsist.data.predictions import Predictions
from paraconsist.reporting.formatting import bounds, decimal, known, minus, number, p_value, percent, plural
from paraconsist.reporting.page import ReportOptions, write_report
from paraconsist.reporting.page.write import templates
from paraconsist.reporting.space.forms import Headline, Module, PageResult, scratch_folder
from paraconsist.scoring.options import ScoreOptions

_MOST_KEYS = 60
_MOST_BYTES = 1_500_000  # of the buckets in a report
_PREVIEW_ROWS, _PREVIEW_COLUMNS = 4, 12
_HIDDEN = ("confidence_interval", "signature", "warnings", "intervals")
#: What is said of the intervals, not of the model.
_ABOUT_INTERVALS = ("standard_error", "n_clusters", "design_effect", "bias")
#: How a headline is written, and its unit.
_STYLES: Mapping[str, tuple[Callable[[Any], str], str]] = {
    "percent": (percent, "\N{THIN SPACE}%"),
    "points": (partial(percent, signed=True), " points"),
    "number": (partial(decimal, digits=3), ""),
    "p": (p_value, ""),
}


def header(module: Module) -> str:
    """Return the top of the page."""
    return str(_macros().header(module.spec))


def empty_page() -> str:
    """Return what stands in place of results before there are any."""
    return str(_macros().empty())


def preview(predictions: Predictions, name: str) -> str:
    """Return the first rows of the visitor's file."""
    table = predictions.table
    names = table.column_names[:_PREVIEW_COLUMNS]
    rows = [list(row.values()) for row in table.select(names).slice(0, _PREVIEW_ROWS).to_pylist()]
    note = f"{name}: {plural(table.num_rows, 'row')}, {plural(table.num_columns, 'column')}"
    note += f" (the first {len(names)} shown)" if table.num_columns > len(names) else ""
    return str(_macros().preview(note, predictions.metadata.get("notes", ()), names, rows))


def report_of(module: Module, result: PageResult, intervals: Mapping[str, Any]) -> str:
    """Return the report of a result as the one page that `paraconsist report` writes, empty where there is none."""
    if not result.models:
        return ""
    options = ReportOptions(module.spec.title, ScoreOptions(**intervals), most_bytes=_MOST_BYTES)
    with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
        return write_report(result.models, Path(folder) / "report.html", options).page.read_text(encoding="utf-8")


def results_page(module: Module, result: PageResult, confidence_level: float, report: str = "") -> str:
    """Return the page of results; `confidence_level` is for the words beside the intervals."""
    keys = result.keys
    lines: list[list[str]] = []
    about: list[list[str]] = []
    for path, value, interval in _flat(keys, keys.get("confidence_interval", {})):
        if path[0] in _ABOUT_INTERVALS:
            about.append([" · ".join(path), _value(value)])
        else:
            lines.append([" · ".join(path), _value(value), " to ".join(map(number, bounds(interval) or ()))])
    page = _macros().results(
        headlines=[_headline(one, keys, confidence_level) for one in module.headlines],
        warnings=[] if report else list(dict.fromkeys([*result.warnings, *keys.get("warnings", ())])),
        result=result,
        report=report,
        lines=lines[:_MOST_KEYS],
        n_more=len(lines) - _MOST_KEYS,
        about=about[:_MOST_KEYS],
        signature=keys.get("signature", ""),
        command=" ".join(word if word == "FILE" else shlex.quote(word) for word in result.command),
    )
    return str(page)


def _headline(headline: Headline, keys: Mapping[str, Any], level: float) -> dict[str, str]:
    value, interval = _at(keys, headline.path), _at(keys.get("confidence_interval", {}), headline.path)
    show, unit = _STYLES[headline.style]
    ends = "no interval" if isinstance(interval, (list, tuple)) else ""
    if both := bounds(interval):
        low, high = (minus(show(end)) for end in both)
        ends = f"{level * 100:g}\N{THIN SPACE}% interval {low} to {high}{unit}"
    text = minus(show(value)) + unit if known(value) else "undefined"
    key = ".".join(headline.path)
    return {"key": key, "exact": repr(value), "text": text, "interval": ends, "label": headline.label}


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join([*map(_value, value[:12]), *(["…"] if len(value) > 12 else [])])
    return "undefined" if isinstance(value, float) and not known(value) else "" if value is None else number(value)


def _flat(
    keys: Mapping[str, Any], intervals: Any, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield every value's path, the value, and its interval: beside it, or at its path among all intervals."""
    for key, value in keys.items():
        if key in _HIDDEN:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, value.get("confidence_interval", _at(intervals, [key])), (*before, str(key)))
        else:
            yield (*before, str(key)), value, None if isinstance(value, (list, tuple)) else _at(intervals, [key])


def _at(keys: Any, path: Sequence[str]) -> Any:
    for key in path:
        keys = keys.get(key) if isinstance(keys, Mapping) else None
    return keys


def _lines(value: Any) -> list[Any]:
    return value if isinstance(value, list) and all(isinstance(line, str) for line in value) else [value]


def _macros() -> Any:
    """Return the macros of ``templates/page.html``."""
    return templates("paraconsist.reporting.space", plural=plural, lines=_lines).get_template("page.html").module
