"""What was found, as HTML: everything that comes from a file is escaped here."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.data.predictions import Predictions
from paraconsist.reporting.space.forms import Flips, Found, Headline, Module

_MOST_LETTERS = 220
_MOST_KEYS = 60
_PREVIEW_ROWS, _PREVIEW_COLUMNS = 4, 12
_HIDDEN = ("confidence_interval", "signature", "warnings", "intervals")
#: What is said of the intervals, not of the model.
_ABOUT_INTERVALS = ("standard_error", "n_clusters", "design_effect", "bias")


def header(module: Module) -> str:
    """Return the top of the page."""
    return (
        f'<header class="pc-top"><h1>{_text(module.title)}</h1><p class="pc-question">{_text(module.question)}</p>'
        f'<p class="pc-muted">{_text(module.direction)}</p></header>'
    )


def empty_page() -> str:
    """Return what stands in place of results before there are any."""
    return '<div class="pc-empty"><p>Results appear here.</p><p>Upload predictions, or try the example.</p></div>'


def preview(predictions: Predictions, name: str) -> str:
    """Return the first rows of the visitor's file."""
    table = predictions.table
    names = table.column_names[:_PREVIEW_COLUMNS]
    rows = table.slice(0, _PREVIEW_ROWS).to_pylist()
    more = table.num_columns - len(names)
    cells = [[row[column] for column in names] for row in rows]
    note = f"{_text(name)}: {_count(table.num_rows, 'row')}, {_count(table.num_columns, 'column')}"
    note += f" (the first {len(names)} shown)" if more > 0 else ""
    return f'<div class="pc-preview"><p class="pc-muted">{note}</p>{_table(names, cells, letters=60)}</div>'


def results_page(module: Module, found: Found, confidence_level: float) -> str:
    """Return the page of results.

    Parameters
    ----------
    module : Module
    found : Found
    confidence_level : float
        For the words beside the intervals.
    """
    keys = found.keys
    warnings = [*found.warnings, *keys.get("warnings", ())]
    parts = [
        f'<section class="pc-headlines">{"".join(_headline(one, keys, confidence_level) for one in module.headlines)}'
        "</section>"
    ]
    if warnings:
        items = "".join(f"<li>{_text(warning)}</li>" for warning in warnings)
        parts.append(
            f'<section class="pc-warnings" role="note"><h2>Before you read this</h2><ul>{items}</ul></section>'
        )
    if found.figure:
        parts.append(
            f'<figure class="pc-figure">{found.figure}<figcaption>{_text(found.caption)}</figcaption></figure>'
        )
    if found.flips is not None:
        parts.append(_flips(found.flips))
    parts.append(_keys(keys))
    parts.append(_signature(keys, found))
    return f'<div class="pc-results">{"".join(parts)}</div>'


def _headline(headline: Headline, keys: Mapping[str, Any], level: float) -> str:
    value, interval = _at(keys, headline.path), _at(keys.get("confidence_interval", {}), headline.path)
    shown, ends = _shown(value, headline.style), ""
    if isinstance(interval, (list, tuple)) and len(interval) == 2:
        low, high = (_shown(end, headline.style, unit=False) for end in interval)
        unit = "&thinsp;%" if headline.style == "percent" else ""
        ends = f'<span class="pc-interval">{level * 100:g}&thinsp;% interval {low} to {high}{unit}</span>'
        if any(_undefined(end) for end in interval):
            ends = '<span class="pc-interval">no interval</span>'
    exactly = f'data-key="{_text(".".join(headline.path))}" data-value="{_text(repr(value))}"'
    label = f'<span class="pc-label">{_text(headline.label)}</span>'
    return f'<div class="pc-headline"><span class="pc-value" {exactly}>{shown}</span>{ends}{label}</div>'


def _keys(keys: Mapping[str, Any]) -> str:
    lines: list[list[str]] = []
    about: list[list[str]] = []
    for path, value, interval in _flat(keys, keys.get("confidence_interval", {})):
        ends = ""
        if isinstance(interval, (list, tuple)) and len(interval) == 2:
            ends = f"{_number(interval[0])} to {_number(interval[1])}"
        (about if path[0] in _ABOUT_INTERVALS else lines).append([" · ".join(path), _number(value), ends])
    more = f'<p class="pc-muted">{len(lines) - _MOST_KEYS} more are not shown.</p>' if len(lines) > _MOST_KEYS else ""
    table = _table(["key", "value", "interval"], lines[:_MOST_KEYS], numbers=(1, 2))
    closed = ""
    if about:
        inner = _table(["key", "value"], [line[:2] for line in about[:_MOST_KEYS]], numbers=(1,))
        closed = f'<details class="pc-about"><summary>About the intervals</summary>{inner}</details>'
    return f'<section class="pc-keys"><h2>All values</h2>{table}{more}{closed}</section>'


def _flat(
    keys: Mapping[str, Any], intervals: Any, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield every value's path, the value, and its interval: beside it, or at its path among all intervals."""
    for key, value in keys.items():
        if key in _HIDDEN:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, value.get("confidence_interval", _at(intervals, [key])), (*before, str(key)))
        elif isinstance(value, (list, tuple)):
            shown = ", ".join([*map(_number, value[:12]), *(["…"] if len(value) > 12 else [])])
            yield (*before, str(key)), shown, None
        else:
            yield (*before, str(key)), value, _at(intervals, [key])


def _flips(flips: Flips) -> str:
    if not flips.n:
        return f'<section class="pc-flips"><h2>{_text(flips.title)}</h2><p class="pc-muted">None.</p></section>'
    shown = len(flips.rows)
    note = f"{_count(flips.n, 'line')}, worst first" + (f"; the first {shown} are shown" if shown < flips.n else "")
    return (
        f'<section class="pc-flips"><h2>{_text(flips.title)}</h2><p class="pc-muted">{note}</p>'
        f"{_table(flips.header, flips.rows)}</section>"
    )


def _signature(keys: Mapping[str, Any], found: Found) -> str:
    command = ""
    if found.command:
        line = " ".join(word if word == "FILE" else shlex.quote(word) for word in found.command)
        command = f'<h2>The same on the command line</h2><pre class="pc-command">{_text(line)}</pre>'
    signature = keys.get("signature", "")
    return (
        f'<section class="pc-signature"><h2>Signature</h2><pre class="pc-command">{_text(signature)}</pre>{command}'
        "</section>"
    )


def _table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], *, letters: int = _MOST_LETTERS, numbers: Sequence[int] = ()
) -> str:
    def cell(value: Any, place: int) -> str:
        lines = value if isinstance(value, list) and all(isinstance(line, str) for line in value) else [value]
        inner = "<br>".join(_text(_cut(line, letters)) for line in lines)
        words = "pc-number" if place in numbers else "pc-words" if _is_long(value) else ""
        return f'<td class="{words}" data-label="{_text(_cut(head[place], 40))}">{inner}</td>'

    top = "".join(f"<th>{_text(_cut(name, 40))}</th>" for name in head)
    body = "".join(f"<tr>{''.join(cell(value, i) for i, value in enumerate(row))}</tr>" for row in rows)
    return (
        f'<div class="pc-scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _at(keys: Any, path: Sequence[str]) -> Any:
    for key in path:
        keys = keys.get(key) if isinstance(keys, Mapping) else None
    return keys


def _is_long(value: Any) -> bool:
    return (
        max((len(line) for line in value if isinstance(line, str)), default=0) > 24
        if isinstance(value, list)
        else False
    )


def _undefined(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _shown(value: Any, style: str, *, unit: bool = True) -> str:
    if _undefined(value):
        return "undefined"
    if style == "percent":
        return f"{value * 100:.1f}".replace("-", "−") + ("&thinsp;%" if unit else "")
    if style == "p":
        return "&lt; 0.0001" if value < 0.0001 else f"{value:.4f}"
    return f"{value:.3f}"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "undefined" if not math.isfinite(value) else f"{value:.6g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _cut(value: Any, letters: int) -> str:
    shown = "" if value is None else str(value)
    return shown if len(shown) <= letters else shown[: letters - 1] + "…"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)
