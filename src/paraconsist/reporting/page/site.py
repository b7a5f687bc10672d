"""Many models as a static site: an index of their numbers, and a page for each, every file for itself."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paraconsist.errors import input_error
from paraconsist.files import locked, staged, write_text, writing
from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.reporting.formatting import bounds, interval, known, percent
from paraconsist.reporting.page import headlines
from paraconsist.reporting.page.comparison import compare_entries, comparison_signatures, matrices, rank_words
from paraconsist.reporting.page.entries import Entry, set_names
from paraconsist.reporting.page.tables import MODEL, Cell, Column, Table, in_print, measures_of
from paraconsist.reporting.page.write import ReportOptions, filled, write_report
from paraconsist.scoring.compare import SetComparison

_PAGES = "models"  # the folder of the models' pages
_PAGE = re.compile(r"[a-z0-9-]{1,60}-[0-9a-f]{8}\.html")
#: Of more sets and measures than this the index shows the headlines only.
_FEW = 3


@dataclass(frozen=True)
class SiteWritten:
    """What was written: the index, how many models have a page, and how many bytes all pages hold."""

    index: Path
    n_models: int
    n_bytes: int


def write_site(entries: Sequence[Entry], folder: Path, options: ReportOptions, *, space: bool = False) -> SiteWritten:
    """Write ``index.html`` and a page for each model below ``models``, fit for GitHub Pages or a static Space.

    Every page is one file that loads nothing. The models' pages take the place of the old ones all at once, and the
    index follows: whatever happens meanwhile, the site that was there stays whole. With `space` a ``README.md`` says
    that a Space is static; one that is there is left as it is. InputError if ``models`` holds what no site has written.
    """
    pages = folder / _PAGES
    foreign = [path.name for path in pages.iterdir() if not _PAGE.fullmatch(path.name)] if pages.is_dir() else []
    if foreign:
        must = f"be a folder whose {_PAGES} holds nothing but the pages of such a site"
        raise input_error("report", "site", must, got=foreign[0], remedy="Choose another folder.")
    one = f"How consistent is {entries[0].name}?"
    title = options.title or (f"Which of {len(entries)} models is the most consistent?" if len(entries) > 1 else one)
    with locked(folder, "report", "site"):
        index = _index(entries, replace(options, title=title)).encode("utf-8", "replace").decode()
        with staged(pages) as new:
            own = replace(options, title=None, index="../index.html")
            written = [write_report([entry], new / page_name(entry.name), own) for entry in entries]
        with writing("report", "site", folder):
            write_text(folder / ".nojekyll", "")  # GitHub Pages serves the files as they are
            if space and not (folder / "README.md").exists():
                front = f"---\ntitle: {json.dumps(title)}\nsdk: static\napp_file: index.html\n---\n"
                write_text(folder / "README.md", f"{front}\nWritten by `paraconsist report --site`.\n")
            write_text(folder / "index.html", index)
    return SiteWritten(folder / "index.html", len(entries), len(index.encode()) + sum(page.n_bytes for page in written))


def page_name(model: str) -> str:
    """Return what a model's page is called: safe on every file system, the same whatever models stand beside it.

    >>> page_name("Bär/chen 7B"), page_name("..")
    ('bar-chen-7b-c4700af8.html', 'model-5ec1f7e7.html')
    """
    plain = unicodedata.normalize("NFKD", model).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:51] or "model"
    return f"{words}-{hashlib.sha256(model.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.html"


def _index(entries: Sequence[Entry], options: ReportOptions) -> str:
    compared = compare_entries(entries, options.score, options.margin)
    return filled(
        "index.html",
        ("style.css", "models.css", "screen.css"),
        ("theme.js", "index.js"),
        title=options.title,
        n_models=len(entries),
        sets=set_names(entries),
        table=index_table(entries, compared, {entry.name: f"{_PAGES}/{page_name(entry.name)}" for entry in entries}),
        matrices=list(matrices(compared, linked=False)),
        signatures=[*headlines.signatures(entries), *comparison_signatures(compared)],
    )


def index_table(entries: Sequence[Entry], compared: Sequence[SetComparison], pages: dict[str, str]) -> Table:
    """Return a line for each model, the best in the first set first, and its name leads to its place in `pages`.

    Of every set and measure it has the headline, above chance and accuracy where there are few, ranks and groups.
    """
    ranks = {(one.set, row["measure"], row["model"]): row for one in compared for row in one.standings}
    scored = [
        (name, CATALOGUE[measure])
        for name in set_names(entries)
        for measure in measures_of([entry for entry in entries if name in entry.sets])
        if measure in scored_measures()
    ]
    has_ranks = {(name, spec.name) for name, spec in scored if any(key[:2] == (name, spec.name) for key in ranks)}
    first: list[float] = []  # the sign by which the first number is sorted
    columns, rows = [MODEL], [[Cell(entry.name, head=True, href=pages[entry.name])] for entry in entries]
    for name, spec in scored:
        over = f", {name}" if len(scored) > 1 else ""
        for key, label in _keys(spec, len(scored)):
            cells = [_value(entry, name, spec, key) for entry in entries]
            if all(cell.sort is None for cell in cells):
                continue
            first.append(1.0 if key == spec.headline and not spec.higher_is_better else -1.0)
            columns.append(Column(f"{label}{over}"))
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
            if key == spec.headline and (name, spec.name) in has_ranks:
                columns.append(Column(f"rank{over}"))
                for row, entry in zip(rows, entries, strict=True):
                    rank = ranks.get((name, spec.name, entry.name))
                    group = "" if rank is None else f"group {rank['letters']}"
                    row.append(Cell(rank_words(rank), group, sort=None if rank is None else rank["rank_low"]))
    if first:
        rows.sort(key=lambda row: float("inf") if row[1].sort is None else first[0] * row[1].sort)
    caption = "Every model, in per cent, with intervals"
    if len(scored) == 1:
        caption += f": {scored[0][1].title.lower()}, {scored[0][0]}"
    note = "Models with a letter in common are not shown to differ. Ranks and groups hold for all pairs together."
    return Table(caption, columns, rows, note if has_ranks else "", kind="sortable")


def _keys(spec: MeasureSpec, n: int) -> Iterator[tuple[str, str]]:
    """Yield (key, label) of what the index shows of a measure: next to the headline chance and accuracy."""
    symbols = {q.key: q.symbol for q in spec.quantities}
    yield spec.headline, spec.symbol or spec.title.lower()
    if n <= _FEW:
        yield ABOVE_CHANCE.key, ABOVE_CHANCE.symbol
    if n <= _FEW or spec is PARAPHRASTIC:
        yield "accuracy", symbols.get("accuracy", "accuracy")


def _value(entry: Entry, name: str, spec: MeasureSpec, key: str) -> Cell:
    measures = entry.sets[name].results.get("measures", {}) if name in entry.sets else {}
    values = measures.get(spec.name, {})
    value, ends = values.get(key), bounds(values.get("confidence_interval"), key)
    return Cell(percent(value), in_print(interval(ends)), sort=value if known(value) else None)
