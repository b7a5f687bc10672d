"""Results as HTML: everything that comes from a file is escaped here."""

from __future__ import annotations

import html
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.data.predictions import Predictions
from paraconsist.reporting.formatting import bounds, decimal, known, number, p_value, percent, plural
from paraconsist.reporting.page.write import ReportOptions, write_report
from paraconsist.reporting.space.forms import Flips, Headline, Module, PageResult
from paraconsist.reporting.space.upload import scratch_folder
from paraconsist.scoring.score import ScoreOptions

_MOST_LETTERS = 220
_MOST_KEYS = 60
_MOST_BYTES = 1_500_000  # of the buckets in a report
_PREVIEW_ROWS, _PREVIEW_COLUMNS = 4, 12
_HIDDEN = ("confidence_interval", "signature", "warnings", "intervals")
#: What is said of the intervals, not of the model.
_ABOUT_INTERVALS = ("standard_error", "n_clusters", "design_effect", "bias")


def header(module: Module) -> str:
    """Return the top of the page."""
    spec = module.spec
    return (
        f'<header class="pc-top"><h1>{_text(spec.title)}</h1><p class="pc-question">{_text(spec.question)}</p>'
        f'<p class="pc-muted">{_text(spec.direction)}</p></header>'
    )


def empty_page() -> str:
    """Return what stands in place of results before there are any."""
    return '<div class="pc-empty"><p>Results appear here.</p><p>Upload predictions, or try the example.</p></div>'


def preview(predictions: Predictions, name: str) -> str:
    """Return the first rows of the visitor's file."""
    table = predictions.table
    names = table.column_names[:_PREVIEW_COLUMNS]
    rows = table.slice(0, _PREVIEW_ROWS).to_pylist()
    cells = [[row[column] for column in names] for row in rows]
    note = f"{_text(name)}: {plural(table.num_rows, 'row')}, {plural(table.num_columns, 'column')}"
    note += f" (the first {len(names)} shown)" if table.num_columns > len(names) else ""
    remarks = "".join(f'<p class="pc-muted">{_text(one)}</p>' for one in predictions.metadata.get("notes", ()))
    return f'<div class="pc-preview"><p class="pc-muted">{note}</p>{remarks}{_table(names, cells, letters=60)}</div>'


def report_of(module: Module, result: PageResult, intervals: Mapping[str, Any]) -> str:
    """Return the report of a result as the one page that `paraconsist report` writes, empty where there is none."""
    if not result.entries:
        return ""
    options = ReportOptions(module.spec.title, ScoreOptions(**intervals), most_bytes=_MOST_BYTES)
    with tempfile.TemporaryDirectory(prefix="paraconsist-", dir=scratch_folder()) as folder:
        return write_report(result.entries, Path(folder) / "report.html", options).page.read_text(encoding="utf-8")


def results_page(module: Module, result: PageResult, confidence_level: float, report: str = "") -> str:
    """Return the page of results; `confidence_level` is for the words beside the intervals."""
    keys = result.keys
    headlines = "".join(_headline(one, keys, confidence_level) for one in module.headlines)
    parts = [f'<section class="pc-headlines">{headlines}</section>']
    if not report and (warnings := dict.fromkeys([*result.warnings, *keys.get("warnings", ())])):
        items = "".join(f"<li>{_text(warning)}</li>" for warning in warnings)
        inner = f"<h2>Before you read this</h2><ul>{items}</ul>"
        parts.append(f'<section class="pc-warnings" role="note">{inner}</section>')
    if result.figure:
        caption = f"<figcaption>{_text(result.caption)}</figcaption>"
        parts.append(f'<figure class="pc-figure">{result.figure}{caption}</figure>')
    if report:  # it may run its own script, offer files and copy; it reaches nothing of this page
        may = 'sandbox="allow-scripts allow-downloads" allow="clipboard-write"'
        parts.append(f'<iframe class="pc-report" title="Report" {may} srcdoc="{_text(report)}"></iframe>')
    if result.flips is not None:
        parts.append(_flips(result.flips))
    values = _keys(keys)
    parts.append(f"<details><summary>All values</summary>{values}</details>" if report else values)
    parts.append(_signature(keys, result))
    return f'<div class="pc-results" tabindex="-1">{"".join(parts)}</div>'


def _headline(headline: Headline, keys: Mapping[str, Any], level: float) -> str:
    value, interval = _at(keys, headline.path), _at(keys.get("confidence_interval", {}), headline.path)
    unit = {"percent": "&thinsp;%", "points": " points"}.get(headline.style, "")
    ends = ""
    if both := bounds(interval):
        low, high = (_styled(end, headline.style) for end in both)
        ends = f'<span class="pc-interval">{level * 100:g}&thinsp;% interval {low} to {high}{unit}</span>'
    elif isinstance(interval, (list, tuple)):
        ends = '<span class="pc-interval">no interval</span>'
    exactly = f'data-key="{_text(".".join(headline.path))}" data-value="{_text(repr(value))}"'
    text = _styled(value, headline.style) + (unit if known(value) else "")
    label = f'<span class="pc-label">{_text(headline.label)}</span>'
    return f'<div class="pc-headline"><span class="pc-value" {exactly}>{text}</span>{ends}{label}</div>'


def _styled(value: Any, style: str) -> str:
    if style in ("percent", "points"):
        return percent(value, signed=style == "points", undefined="undefined").replace("-", "−")
    if style == "p":
        return _text(p_value(value, undefined="undefined"))
    return decimal(value, digits=3, undefined="undefined")


def _keys(keys: Mapping[str, Any]) -> str:
    lines: list[list[str]] = []
    about: list[list[str]] = []
    for path, value, interval in _flat(keys, keys.get("confidence_interval", {})):
        ends = " to ".join(map(number, bounds(interval) or ()))
        (about if path[0] in _ABOUT_INTERVALS else lines).append([" · ".join(path), _value(value), ends])
    more = f'<p class="pc-muted">{len(lines) - _MOST_KEYS} more are not shown.</p>' if len(lines) > _MOST_KEYS else ""
    table = _table(["key", "value", "interval"], lines[:_MOST_KEYS], numbers=(1, 2))
    closed = ""
    if about:
        inner = _table(["key", "value"], [line[:2] for line in about[:_MOST_KEYS]], numbers=(1,))
        closed = f'<details class="pc-about"><summary>About the intervals</summary>{inner}</details>'
    return f'<section class="pc-keys"><h2>Values</h2>{table}{more}{closed}</section>'


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


def _flips(flips: Flips) -> str:
    if not flips.n:
        return f'<section class="pc-flips"><h2>{_text(flips.title)}</h2><p class="pc-muted">None.</p></section>'
    most = len(flips.rows)
    note = f"{plural(flips.n, 'line')}, worst first" + (f"; the first {most} are shown" if most < flips.n else "")
    head = f'<h2>{_text(flips.title)}</h2><p class="pc-muted">{note}</p>'
    return f'<section class="pc-flips">{head}{_table(flips.header, flips.rows)}</section>'


def _signature(keys: Mapping[str, Any], result: PageResult) -> str:
    command = ""
    if result.command:
        line = " ".join(word if word == "FILE" else shlex.quote(word) for word in result.command)
        command = f'<h2>The same on the command line</h2><pre class="pc-command">{_text(line)}</pre>'
    signature = f'<h2>Signature</h2><pre class="pc-command">{_text(keys.get("signature", ""))}</pre>'
    return f'<section class="pc-signature">{signature}{command}</section>'


def _table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], *, letters: int = _MOST_LETTERS, numbers: Sequence[int] = ()
) -> str:
    def cell(value: Any, place: int) -> str:
        lines = value if isinstance(value, list) and all(isinstance(line, str) for line in value) else [value]
        inner = "<br>".join(_text(_cut(line, letters)) for line in lines)
        is_long = isinstance(value, list) and any(isinstance(line, str) and len(line) > 24 for line in lines)
        words = "pc-number" if place in numbers else "pc-words" if is_long else ""
        return f'<td class="{words}" data-label="{_text(_cut(head[place], 40))}">{inner}</td>'

    top = "".join(f"<th>{_text(_cut(name, 40))}</th>" for name in head)
    body = "".join(f"<tr>{''.join(cell(value, i) for i, value in enumerate(row))}</tr>" for row in rows)
    inner = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="pc-scroll" tabindex="0"><table>{inner}</table></div>'


def _at(keys: Any, path: Sequence[str]) -> Any:
    for key in path:
        keys = keys.get(key) if isinstance(keys, Mapping) else None
    return keys


def _cut(value: Any, letters: int) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)
