"""The page put together: templates filled, styles and scripts inlined under a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraconsist._version import __version__
from paraconsist.errors import extras
from paraconsist.files import make_folder, replacing, writing
from paraconsist.measures.catalogue import CATALOGUE, IE_TEST, list_measures
from paraconsist.reporting.formatting import listed
from paraconsist.reporting.page import changes, comparison, figures, headlines, screen, tables
from paraconsist.reporting.page.aligned import AlignedSet, SetTexts, align, read_texts_files, set_texts
from paraconsist.reporting.page.browser import BrowserData, browser_data
from paraconsist.reporting.page.edits import SetEdits, edit_plots, edits_of, views
from paraconsist.reporting.page.entries import Entry, is_generic, set_names
from paraconsist.reporting.page.figures import Placed, report_plots
from paraconsist.reporting.plots import inline_svg, write_plot
from paraconsist.scoring.compare import SetComparison
from paraconsist.scoring.options import ScoreOptions

_STYLES = ("style.css", "words.css", "browser.css", "models.css", "edits.css", "screen.css", "sureness.css")
_SCRIPTS = (
    "theme.js",
    "words.js",
    "buckets.js",
    "export.js",
    "marking.js",
    "browser.js",
    "screen.js",
    "sureness.js",
    "plots.js",
)


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows."""

    title: str | None = None
    score: ScoreOptions = field(default_factory=ScoreOptions)  # files' columns; intervals of what is scored here
    texts: Sequence[str] = ()  # files with texts, or names of prepared sets
    text_columns: Sequence[str] = ()  # to show; by default the task's, else those that look like texts
    most_buckets: int | None = None  # in the flip browser; by default 5,000, and no more than `most_bytes` of them
    most_bytes: int = 3_500_000
    margin: float | None = None  # of non-inferiority and equivalence, a share
    index: str | None = None  # where the page leads back to, of a site


@dataclass(frozen=True)
class ReportWritten:
    """What was written: the page, its size in bytes, the plots' files, and how many buckets it shows of how many."""

    page: Path
    n_bytes: int
    plots: tuple[Path, ...]
    n_shown: int
    n_buckets: int
    sets_without_texts: tuple[str, ...]
    rows_without_texts: dict[str, tuple[int, int]]  # of sets with texts: rows that lack theirs, of how many


def write_report(
    entries: Sequence[Entry], output: Path, options: ReportOptions, *, plots_folder: Path | None = None
) -> ReportWritten:
    """Write one self-contained HTML page: no network, no other file.

    Every plot also goes to `plots_folder`, made if it is not there, as PNG and SVG.
    """
    sets = _aligned(entries)
    files = read_texts_files(options.texts)
    texts = [_texts(aligned, entries, files, options) for aligned in sets]
    changed = changes.changes_of(entries, sets, options.score.intervals)
    compared = comparison.compare_entries(entries, options.score, options.margin)
    edited = [edits_of(*one, options.score.intervals) for one in zip(sets, texts, strict=True)]
    plots = [*report_plots(entries, sets, changed, compared), *edit_plots(one for one in edited if one is not None)]
    kinds = [{} if one is None else one.by_row() for one in edited]
    most, most_bytes = (5_000, options.most_bytes) if options.most_buckets is None else (options.most_buckets, math.inf)
    both = list(zip(sets, texts, strict=True))
    data = browser_data(both, [entry.name for entry in entries], most, most_bytes, kinds)
    content = _render(entries, both, options, changed, compared, edited, plots, data).encode("utf-8", "replace")
    with writing("report", "output", output, kind="file"):
        make_folder(output.parent)
        with replacing(output) as partial:
            partial.write_bytes(content)
    drawn: list[Path] = []
    if plots_folder is not None:
        with writing("report", "plots", plots_folder):
            make_folder(plots_folder)
            drawn = [file for placed in plots for file in write_plot(placed.plot, plots_folder)]
    without_texts = tuple(aligned.name for aligned, of_set in zip(sets, texts, strict=True) if of_set is None)
    numbers = data.n_shown, data.n_buckets, without_texts, data.rows_without_texts
    return ReportWritten(output, len(content), tuple(drawn), *numbers)


def plots_of(entries: Sequence[Entry]) -> list[Placed]:
    """Return the page's plots without the page."""
    sets = _aligned(entries)
    return report_plots(entries, sets, changes.changes_of(entries, sets, ScoreOptions().intervals))


def edits_in(entries: Sequence[Entry], options: ReportOptions) -> Iterator[SetEdits]:
    """Yield what flips the answers to each set of which texts are at hand."""
    files = read_texts_files(options.texts)
    for name in set_names(entries):
        aligned = align(name, {entry.name: entry.sets[name] for entry in entries if name in entry.sets})
        if edits := edits_of(aligned, _texts(aligned, entries, files, options), options.score.intervals):
            yield edits


def _aligned(entries: Sequence[Entry]) -> list[AlignedSet]:
    with extras("report"):
        for package in ("matplotlib", "jinja2"):
            __import__(package)
    return [align(name, {e.name: e.sets[name] for e in entries if name in e.sets}) for name in set_names(entries)]


def _texts(
    aligned: AlignedSet, entries: Sequence[Entry], files: Sequence[Any], options: ReportOptions
) -> SetTexts | None:
    scored = [entry.sets[aligned.name] for entry in entries if aligned.name in entry.sets]
    kept = [one.texts for one in scored if one.texts is not None]
    return set_texts(aligned, kept, files, scored[0].columns, options.text_columns)


def _render(
    entries: Sequence[Entry],
    sets: Sequence[tuple[AlignedSet, SetTexts | None]],
    options: ReportOptions,
    changed: changes.Changes,
    compared: Sequence[SetComparison],
    edited: Sequence[SetEdits | None],
    plots: Sequence[Placed],
    data: BrowserData,
) -> str:
    from markupsafe import Markup

    by_section: dict[str, list[dict[str, Any]]] = {}
    for placed in plots:
        svg = "" if placed.section == "sureness" else Markup(inline_svg(placed.plot))  # which the browser's data draw
        view = {"set": placed.set, "plot": placed.plot, "svg": svg}
        by_section.setdefault(placed.section, []).append(view)
    return filled(
        "page.html",
        _STYLES,
        _SCRIPTS,
        title=options.title or _title(entries, [item for item, _ in sets]),
        facts=_facts(entries, sets),
        blocks=screen.blocks(entries, sets, changed, compared),
        models=[entry.name for entry in entries],
        sets=set_names(entries),
        several=len(entries) > 1,
        notices=headlines.notices(entries, compared),
        reliability=list(headlines.reliability_tables(entries)),
        level=listed(screen.levels(entries)),
        headline_table=tables.headline_table(entries),
        inconsistency_table=tables.inconsistency_table(entries),
        papers=list(headlines.paper_tables(entries)),
        matrices=list(comparison.matrices(compared)),
        comparison=list(comparison.comparison_tables(compared)),
        heat_maps=list(comparison.heat_maps([item for item, _ in sets])),
        plots=by_section,
        sureness=figures.sureness(entries, [aligned for aligned, _ in sets]),
        breakdowns=list(tables.breakdowns(entries)),
        changes=list(changes.change_tables(changed, entries)),
        edits=list(views(one for one in edited if one is not None)),
        transitions=list(changes.transition_tables(entries)),
        fooling=list(changes.fooling_tables(entries)),
        ie=list(changes.ie_tables(entries)),
        numbers=tables.every_number(entries),
        signatures=[*headlines.signatures(entries), *comparison.comparison_signatures(compared)],
        identities=list(headlines.identity_tables(entries)),
        browser=data,
        data=Markup(data.json),
        index=options.index,
    )


def filled(template: str, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """Return a page from its template, with styles and scripts inlined under a policy that allows nothing else."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("paraconsist.reporting.page", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signs"] = _signs
    environment.globals["help"] = Glossary()
    style, script = ("\n".join(_source(environment, name) for name in names) for names in (styles, scripts))
    page = environment.get_template(template)
    own = {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script), "version": __version__}
    return page.render(**values, **own)


def _signs(text: str) -> Any:
    """Return a text with the papers' signs set as they are printed: P_C with its C below, no number without its %."""
    from markupsafe import Markup, escape

    return Markup(
        re.sub(r"\b([AP])_([COT])\b", r"\1<sub>\2</sub>", str(escape(text)).replace(" %", "\N{NO-BREAK SPACE}%"))
    )


def _title(entries: Sequence[Entry], sets: Sequence[AlignedSet]) -> str:
    """Return a question that a good model answers with yes, in the words of the measure that all sets share."""
    if not sets:
        return IE_TEST.question
    name = "the model" if is_generic(entries[0].name) else entries[0].name
    if len(entries) > 1:
        return f"Which of {len(entries)} models is the most consistent?"
    asks = {CATALOGUE[item.measure].asks for item in sets}
    return (asks.pop() if len(asks) == 1 else "").format(model=name) or f"Is {name} consistent?"


def _facts(entries: Sequence[Entry], sets: Sequence[tuple[AlignedSet, Any]]) -> list[str]:
    """Return what the page is of, for the line above its title."""
    if not sets:
        return [entry.name for entry in entries[:1]]
    n_problems, n_rows = (
        sum(sizes) for sizes in zip(*((len(i.bucket_ids), len(i.bucket)) for i, _ in sets), strict=True)
    )
    names = [item.name for item, _ in sets if not is_generic(item.name)]
    of = [names[0]] if len(sets) == 1 and names else [f"{len(sets)} sets"] * (len(sets) > 1)
    model = [entries[0].name] * (len(entries) == 1 and entries[0].name not in of and not is_generic(entries[0].name))
    return [*model, *of, f"{n_problems:,} problems in {n_rows:,} wordings"]


def _source(environment: Any, name: str) -> str:
    return str(environment.loader.get_source(environment, name)[0])


def _policy(style: str, script: str) -> str:
    """Return a policy under which the page's own style and script run, and nothing is fetched."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    sources = f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    return f"{sources}; base-uri 'none'; form-action 'none'"


#: What is no number of a measure; those are explained by the catalogue.
_TERMS = {
    "bucket": "One problem in several wordings, all with one right answer. The original is not counted among its "
    "paraphrases.",
    "interval": "Where the value would lie in most repetitions (95 of 100, where nothing else is written) with other "
    "problems of the same kind. The signature says how it was made.",
    "design effect": "How many times as many problems it takes because they resemble each other within a context (or "
    "wordings within a problem). 1: they say as much as independent ones.",
    "context": "What several problems share, such as a premise. Intervals resample contexts, as they are independent.",
    "noise floor": "How often an answer flips when nothing was changed: other batches, other precision, or another "
    "draw. A share of flips below it says nothing about wording.",
    "unparsed": "An answer that could not be read. It counts as wrong, as a class of its own, or its problem is left "
    "out.",
    "tau": "The share of pairs or triples that break the rule of a set: same answer for the same meaning, another for "
    "a negation. Lower is better.",
    "least P_C": "With bucket accuracy a no model has a P_C below 1 − 2a(1 − a), which a coin of this accuracy gets.",
}


class Glossary:
    """Explains the terms that a page uses; called by its templates."""

    def __init__(self) -> None:
        quantities = [q for spec in list_measures() for q in spec.quantities if q.meaning]
        terms = {spec.symbol: f"{spec.question} {spec.direction}" for spec in list_measures()}
        terms |= {q.symbol: f"{q.plain[0].upper()}{q.plain[1:]}: {q.meaning}." for q in reversed(quantities)}
        self.terms = terms | _TERMS
        self.used: dict[tuple[str, str], str] = {}  # (term, what it means) -> the element's id

    def __call__(self, term: str, meaning: str = "") -> Any:
        """Return a button that opens what a term means; nothing where nobody knows."""
        from markupsafe import Markup

        text = self.terms.get(term, meaning)
        if not text:
            return ""
        name = self.used.setdefault((term, text), f"term-{len(self.used)}")
        button = '<button type="button" class="help" popovertarget="{}" aria-label="What is {}?">?</button>'
        return Markup(button).format(name, term)
