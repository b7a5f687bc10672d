"""The page: its templates filled, its styles and scripts inlined under a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paraconsist._version import __version__
from paraconsist.errors import extras
from paraconsist.files import make_folder, replacing, writing
from paraconsist.measures.catalogue import CATALOGUE, IE_TEST, PARAPHRASTIC, list_measures
from paraconsist.reporting import comparisons, tables
from paraconsist.reporting.formatting import Values, listed
from paraconsist.reporting.page import comparison, figures, provenance, screen
from paraconsist.reporting.page.aligned import AlignedSet, SetTexts, align, read_texts_files, set_texts
from paraconsist.reporting.page.browser import BrowserData, browser_data
from paraconsist.reporting.page.edits import SetEdits, edit_plots, edits_of, views
from paraconsist.reporting.page.figures import Placed, report_plots
from paraconsist.reporting.page.models import Model, changes_of, ie_results, is_generic
from paraconsist.reporting.papers import published_tables
from paraconsist.reporting.plots import inline_svg, write_plot
from paraconsist.reporting.table import Table, to_html, with_symbols
from paraconsist.scoring.compare import SetComparison
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.outcomes import WORDING_CHANGE

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
    most_buckets: int | None = None  # in the flip browser; by default at most 5,000 and at most `most_bytes`
    most_bytes: int = 3_500_000
    margin: float | None = None  # of non-inferiority and equivalence, a share
    index: str | None = None  # the site's index, to which the page links


@dataclass(frozen=True)
class ReportWritten:
    """The written page: its size in bytes, the plots' files, and how many of the buckets it shows."""

    page: Path
    n_bytes: int
    plots: tuple[Path, ...]
    n_shown: int
    n_buckets: int
    sets_without_texts: tuple[str, ...]
    rows_without_texts: dict[str, tuple[int, int]]  # set -> rows without a text, and all rows, where some have texts


def write_report(
    models: Sequence[Model], output: Path, options: ReportOptions, *, plots_folder: Path | None = None
) -> ReportWritten:
    """Write one self-contained HTML page: no network, no other file.

    Every plot is also written to `plots_folder` as PNG and SVG.
    """
    sets = _aligned(models)
    files = read_texts_files(options.texts)
    both = [(aligned, _texts(aligned, models, files, options)) for aligned in sets]
    changed = changes_of(models, options.score.intervals)
    compared = comparison.compare_models(models, options.score, options.margin)
    edited = [edits_of(aligned, texts, options.score.intervals) for aligned, texts in both]
    plots = [
        *report_plots(models, sets, changed, compared),
        *edit_plots(edits for edits in edited if edits is not None),
    ]
    kinds = [{} if edits is None else edits.by_row() for edits in edited]
    most, most_bytes = (5_000, options.most_bytes) if options.most_buckets is None else (options.most_buckets, math.inf)
    data = browser_data(both, [model.name for model in models], most, most_bytes, kinds)
    content = _render(models, both, options, changed, compared, edited, plots, data).encode("utf-8", "replace")
    with writing("report", "output", output, kind="file"):
        make_folder(output.parent)
        with replacing(output) as partial:
            partial.write_bytes(content)
    drawn: list[Path] = []
    if plots_folder is not None:
        with writing("report", "plots", plots_folder):
            make_folder(plots_folder)
            drawn = [file for placed in plots for file in write_plot(placed.plot, plots_folder)]
    without_texts = tuple(aligned.name for aligned, texts in both if texts is None)
    numbers = data.n_shown, data.n_buckets, without_texts, data.rows_without_texts
    return ReportWritten(output, len(content), tuple(drawn), *numbers)


def plots_of(models: Sequence[Model]) -> list[Placed]:
    """Return the page's plots without the page."""
    return report_plots(models, _aligned(models), changes_of(models, ScoreOptions().intervals))


def edits_in(models: Sequence[Model], options: ReportOptions) -> Iterator[SetEdits]:
    """Yield what flips the answers to each set that has texts."""
    files = read_texts_files(options.texts)
    for aligned in _aligned(models):
        if edits := edits_of(aligned, _texts(aligned, models, files, options), options.score.intervals):
            yield edits


def _aligned(models: Sequence[Model]) -> list[AlignedSet]:
    with extras("report"):
        for package in ("matplotlib", "jinja2"):
            __import__(package)
    names = tables.set_names({model.name: model.sets for model in models})
    return [align(name, {m.name: m.sets[name] for m in models if name in m.sets}) for name in names]


def _texts(
    aligned: AlignedSet, models: Sequence[Model], files: Sequence[Any], options: ReportOptions
) -> SetTexts | None:
    sources = [model.sets[aligned.name].source for model in models if aligned.name in model.sets]
    kept = [source.texts for source in sources if source.texts is not None]
    return set_texts(aligned, kept, files, sources[0].columns, options.text_columns)


def _render(
    models: Sequence[Model],
    sets: Sequence[tuple[AlignedSet, SetTexts | None]],
    options: ReportOptions,
    changed: Mapping[tuple[str, str], Values],
    compared: Sequence[SetComparison],
    edited: Sequence[SetEdits | None],
    plots: Sequence[Placed],
    data: BrowserData,
) -> str:
    from markupsafe import Markup

    by_model = {model.name: model.sets for model in models}
    by_section: dict[str, list[dict[str, object]]] = {}
    for placed in plots:
        svg = "" if placed.section == "sureness" else Markup(inline_svg(placed.plot))  # which the browser's data draw
        by_section.setdefault(placed.section, []).append({"set": placed.set, "plot": placed.plot, "svg": svg})
    aligned = [item for item, _ in sets]
    return filled(
        "page.html",
        _STYLES,
        _SCRIPTS,
        title=options.title or _title(models, aligned),
        facts=_facts(models, sets),
        blocks=screen.blocks(models, sets, changed, compared),
        models=list(by_model),
        sets=tables.set_names(by_model),
        several=len(models) > 1,
        notices=provenance.notices(models, compared),
        reliability=[(model.name, part) for model in models for part in _reliability(model)],
        level=listed(screen.levels(models)),
        headline_tables=[part for part in (tables.summary(by_model), tables.rates(by_model)) if part is not None],
        papers=[(model.name, part) for model in models for part in published_tables(model.sets)],
        matrices=list(comparisons.matrices(compared)),
        comparison=[
            part for part in (comparisons.differences(compared), comparisons.beaten(compared)) if part is not None
        ],
        heat_maps=list(comparison.heat_maps(aligned)),
        plots=by_section,
        sureness=figures.sureness(by_model, aligned),
        breakdowns=list(_breakdowns(models)),
        changes=list(_changes(changed, len(models))),
        edits=list(views(edits for edits in edited if edits is not None)),
        transitions=list(_transitions(models)),
        fooling=list(tables.fooling(by_model)),
        ie=list(_ie_tables(models)),
        numbers=list(_numbers(models)),
        signatures=provenance.signatures(models, compared),
        identities=list(provenance.identity_tables(models)),
        browser=data,
        data=Markup(data.json),
        index=options.index,
    )


def _reliability(model: Model) -> Iterator[Table]:
    """Yield what is known of noise, unparsed answers and confidence."""
    yield from (tables.noise(name, scored.noise_floor) for name, scored in model.sets.items() if scored.noise_floor)
    figured = [(name, *item) for name, scored in model.sets.items() for item in scored.figures.items()]
    parts = (tables.policies(model.sets), *(tables.confidence(*arguments) for arguments in figured))
    yield from (part for part in parts if part is not None)


def _breakdowns(models: Sequence[Model]) -> Iterator[tuple[str, str, Table]]:
    """Yield (set, title, table) of every set and measure that are broken down by strata."""
    for name in tables.set_names({model.name: model.sets for model in models}):
        by_model = {model.name: model.sets[name] for model in models if name in model.sets}
        parts = (
            part for scored in by_model.values() for by_value in scored.strata.values() for part in by_value.values()
        )
        for spec in (CATALOGUE[measure] for measure in dict.fromkeys(measure for part in parts for measure in part)):
            if (table := tables.strata(name, by_model, spec, len(models))) is not None:
                yield name, name if spec.name == PARAPHRASTIC.name else f"{name}: {spec.title.lower()}", table


def _changes(changed: Mapping[tuple[str, str], Values], n_models: int) -> Iterator[tuple[str, Table]]:
    for name in dict.fromkeys(name for name, _ in changed):
        of_set = {model: values for (of, model), values in changed.items() if of == name}
        yield name, tables.changes(name, of_set, n_models)


def _transitions(models: Sequence[Model]) -> Iterator[tuple[str, Table]]:
    for model in models:
        for name, scored in model.sets.items():
            for measure, parts in scored.figures.items():
                table = tables.transitions(name, measure, parts, model.name if len(models) > 1 else "")
                title = f"{name}, {model.name}: {CATALOGUE[measure].title.lower()}"
                yield title, replace(table, title="Which answers turn into which")


def _ie_tables(models: Sequence[Model]) -> Iterator[tuple[str, Table]]:
    for name, values in ie_results(models):
        yield name, tables.invariance(values)
        if by_rho := values.get("experiment", {}).get("by_rho"):
            yield f"{name}, by rho", tables.invariance_by_rho(by_rho)


def _numbers(models: Sequence[Model]) -> Iterator[tuple[str, Table]]:
    for model in models:
        of_sets = ((name, *item) for name, scored in model.sets.items() for item in scored.measures.items())
        of_runs = ((name, name, values) for name, values in model.experiment.items())
        for name, measure, values in (*of_sets, *of_runs):
            if (table := tables.every_number(measure.replace("_", " "), values)) is not None:
                yield f"{name}, {model.name}", table


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
    glossary = Glossary()
    environment.filters["signs"] = lambda text: Markup(with_symbols(text))
    environment.globals["help"] = glossary
    environment.globals["table"] = lambda table: Markup(to_html(table, glossary))
    style, script = ("\n".join(_source(environment, name) for name in names) for names in (styles, scripts))
    page = environment.get_template(template)
    inlined = {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script)}
    return page.render(**values, **inlined, version=__version__)


def _title(models: Sequence[Model], sets: Sequence[AlignedSet]) -> str:
    """Return the question of the measure that all sets share, which a good model answers with yes."""
    if not sets:
        return IE_TEST.question
    name = "the model" if is_generic(models[0].name) else models[0].name
    if len(models) > 1:
        return f"Which of {len(models)} models is the most consistent?"
    asks = {CATALOGUE[item.measure].asks for item in sets}
    return (asks.pop() if len(asks) == 1 else "").format(model=name) or f"Is {name} consistent?"


def _facts(models: Sequence[Model], sets: Sequence[tuple[AlignedSet, Any]]) -> list[str]:
    """Return model, sets and sizes, for the line above the title."""
    if not sets:
        return [model.name for model in models[:1]]
    rows = [next(model.sets[item.name].rows for model in models if item.name in model.sets) for item, _ in sets]
    counts = [len(i.bucket_ids) if r.problems is None else r.n_problems for (i, _), r in zip(sets, rows, strict=True)]
    n_problems, n_rows = sum(counts), sum(len(item.bucket) for item, _ in sets)
    names = [item.name for item, _ in sets if not is_generic(item.name)]
    of = [names[0]] if len(sets) == 1 and names else [f"{len(sets)} sets"] * (len(sets) > 1)
    model = [models[0].name] * (len(models) == 1 and models[0].name not in of and not is_generic(models[0].name))
    return [*model, *of, f"{n_problems:,} problems in {n_rows:,} wordings"]


def _source(environment: Any, name: str) -> str:
    return str(environment.loader.get_source(environment, name)[0])


def _policy(style: str, script: str) -> str:
    """Return a policy under which the page's own style and script run, and nothing is fetched."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    sources = f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    return f"{sources}; base-uri 'none'; form-action 'none'"


#: Terms that the catalogue does not explain.
_TERMS = {
    "bucket": "One problem in several wordings, all with one right answer. The original is not counted among its "
    "paraphrases.",
    "interval": "Where the value would lie in most repetitions (95 % unless stated otherwise) with other "
    "problems of the same kind. The signature names the method.",
    "design effect": "How much larger the sample must be because problems are correlated within a context (or wordings "
    "within a problem); 1 means independent.",
    "context": "What several problems share, such as a premise. Intervals resample contexts, as they are independent.",
    "noise floor": "How often an answer flips when nothing was changed: other batches, other precision, or another "
    "draw. A share of flips below it is no effect of wording.",
    "unparsed": "An answer that could not be read. It counts as wrong, as a class of its own, or its problem is left "
    "out.",
    "tau": "The share of pairs or triples that break the rule of a set: same answer for the same meaning, another for "
    "a negation. Lower is better.",
    "least P_C publ.": "With bucket accuracy a no model has a P_C as published below 1 − 2a(1 − a), which a coin of "
    "this accuracy gets. The unbiased P_C can be lower.",
}


class Glossary:
    """The help buttons of a page, which its templates ask for, and the terms that they explain."""

    def __init__(self) -> None:
        quantities = [WORDING_CHANGE, *(q for spec in list_measures() for q in spec.quantities if q.meaning)]
        terms = {spec.symbol: f"{spec.question} {spec.direction}" for spec in list_measures()}
        terms |= {q.symbol: f"{q.plain[0].upper()}{q.plain[1:]}: {q.meaning}." for q in reversed(quantities)}
        self.terms = terms | _TERMS
        self.used: dict[tuple[str, str], str] = {}  # (term, meaning) -> the element's id

    def __call__(self, term: str, meaning: str = "") -> Any:
        """Return a help button for a term, or nothing if it is not in the glossary."""
        from markupsafe import Markup

        text = self.terms.get(term, meaning)
        if not text:
            return ""
        name = self.used.setdefault((term, text), f"term-{len(self.used)}")
        button = '<button type="button" class="help" popovertarget="{}" aria-label="What is {}?">?</button>'
        return Markup(button).format(name, term)
