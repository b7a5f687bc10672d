"""The page: its templates filled, its styles and scripts inlined under a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paraconsist._version import __version__
from paraconsist.comparing.rehearsal import end_rehearsal
from paraconsist.errors import input_error
from paraconsist.files import make_folder, replacing, to_json, write_text, writing
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, TRAJECTORIES, list_measures
from paraconsist.reporting import comparisons, tables
from paraconsist.reporting.formatting import OWN_WORDS, count, in_own_words, known, listed, plural
from paraconsist.reporting.page import provenance, screen
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.browser import BrowserData, browser_data, script_json
from paraconsist.reporting.page.edits import SetEdits, edit_plots, edits_of, views
from paraconsist.reporting.page.figures import Placed, report_plots
from paraconsist.reporting.page.models import Model, Report, ReportOptions, ie_results, set_apart
from paraconsist.reporting.papers import published_tables
from paraconsist.reporting.plots import inline_svg, write_plot
from paraconsist.reporting.table import WHOLE_PERCENT, Cell, Column, Table, to_html, with_symbols
from paraconsist.reporting.tables import link
from paraconsist.scoring.checked import Kind
from paraconsist.scoring.naming import is_generic
from paraconsist.scoring.outcomes import WORDING_CHANGE

_OF_INDEX = {"css": "style models screen", "js": "theme sort"}
#: Styles and scripts by page, in their order.
_PARTS = {
    "page.html": {
        "css": "style words browser models edits screen sureness",
        "js": "theme words buckets csv export marking answers browser sort screen sureness plots",
    },
    "sheet.html": {"css": "style sheet", "js": "theme csv sheet"},
}
#: Buckets of a set, and cells of all sets, in the tables of buckets that the models disagree about.
_MOST_BUCKETS, _MOST_CELLS = 200, 4000
#: On a slide: sets side by side, bars of each set in one row and in two, signatures.
_IN_A_ROW, _MOST_BARS, _MOST_SIGNATURES = 3, (8, 2), 2

#: Columns that a sheet's page shows together.
_SHEET_COLUMNS = {
    "same": [["question_1", "answer_1"], ["question_2", "answer_2"]],
    "right": [["question", "accepted"], ["answer"]],
}
#: What a sheet asks, what its page says of it, and the words for yes and no.
_SHEET_WORDS = {
    "same": (
        "Do the two answers say the same?",
        "Each row has two answers, to one problem or to two.",
        "The same",
        "Not the same",
    ),
    "right": ("Is the answer right?", "Each row has an answer, and those that are accepted.", "Right", "Wrong"),
}


@dataclass(frozen=True)
class ReportWritten:
    """The written page: its size in bytes, the plots' files, and how many of the buckets it shows."""

    page: Path
    n_bytes: int
    plots: tuple[Path, ...]
    n_shown: int
    n_buckets: int
    noun: str  # what the buckets are called: problems, or tasks
    sets_without_texts: tuple[str, ...]
    rows_without_texts: dict[str, tuple[int, int]]  # set -> rows without a text, and all rows, where some have texts


def write_report(
    models: Sequence[Model], output: Path, options: ReportOptions, *, plots_folder: Path | None = None
) -> ReportWritten:
    """Write one self-contained HTML page: no network, no other file.

    Every plot is also written to `plots_folder` as PNG, SVG and PDF.
    """
    if output.is_file() and output.resolve() in [model.path.resolve() for model in models]:
        raise input_error("report", "output", "be another file than the answers", got=str(output))
    report = Report(set_apart(models), options)
    edits = list(edits_in(report))
    plots = [*report_plots(report), *edit_plots(edits)]
    kinds = {each.aligned.name: each.by_row() for each in edits}
    most, most_bytes = (5_000, options.most_bytes) if options.most_buckets is None else (options.most_buckets, math.inf)
    data = browser_data(report.with_texts, list(report.by_model), most, most_bytes, kinds)
    content = _render(report, edits, plots, data).encode("utf-8", "replace")
    end_rehearsal()
    with writing("report", "output", output, kind="file"):
        make_folder(output.parent)
        with replacing(output) as partial:
            partial.write_bytes(content)
    drawn: list[Path] = []
    if plots_folder is not None:
        with writing("report", "plots", plots_folder):
            make_folder(plots_folder)
            drawn = [file for placed in plots for file in write_plot(placed.plot, plots_folder)]
    without_texts = tuple(aligned.name for aligned in report.with_texts if aligned.texts is None)
    of_buckets = data.n_shown, data.n_buckets, report.nouns[0]
    return ReportWritten(output, len(content), tuple(drawn), *of_buckets, without_texts, data.rows_without_texts)


def write_summary(models: Sequence[Model], output: Path, options: ReportOptions) -> int:
    """Write the finding alone, one screen of 16:9 for a slide, and return its size in bytes.

    It has the bars, the scale, how many problems and the signatures; of many sets or models the first.
    """
    report = Report(set_apart(models), options)
    blocks = screen.blocks(report)
    n_bars = _MOST_BARS[len(blocks) > _IN_A_ROW]
    shown = []
    for block in blocks[: 2 * _IN_A_ROW]:  # a slide lists no problems that its bars could lead to
        bars = [replace(bar, parts=[(*part[:5], "") for part in bar.parts]) for bar in block.bars[:n_bars]]
        shown.append(replace(block, bars=bars, examples=(), steps=(), cited=""))
    n_more = sum(len(block.bars) for block in blocks) - sum(len(block.bars) for block in shown)
    lines = [line for _, line in provenance.signatures(report.models)]
    content = filled(
        "summary.html",
        title=options.title or screen.title(report, blocks),
        is_finding=len(blocks) == 1 and not options.title,
        facts=_facts(report),
        blocks=shown,
        several=len(models) > 1,
        notices={},
        n_more=n_more,
        signatures=list(dict.fromkeys(lines))[:_MOST_SIGNATURES],
    )
    end_rehearsal()
    with writing("report", "output", output, kind="file"):
        make_folder(output.parent)
        write_text(output, content)
    return len(content.encode())


def edits_in(report: Report) -> Iterator[SetEdits]:
    """Yield what flips the answers to each set that has texts, and as many problems as were wanted in advance."""
    for aligned in report.with_texts:
        if any(report.by_model[model][aligned.name].until for model in aligned.models):
            continue
        if edits := edits_of(aligned, report.options.score.intervals):
            yield edits


def _render(report: Report, edits: Sequence[SetEdits], plots: Sequence[Placed], data: BrowserData) -> str:
    models, by_model, compared = report.models, report.by_model, report.compared
    by_section: dict[str, list[Placed]] = {}  # the page draws sureness itself, from the browser's data
    for placed in plots:
        by_section.setdefault(placed.section, []).append(placed)
    blocks = screen.blocks(report)
    steadiest = [model for comparison in compared if comparison.ranking for model in comparison.ranking.steadiness]
    in_order = {model: by_model[model] for model in [*steadiest, *by_model]}
    return filled(
        "page.html",
        title=report.options.title or screen.title(report, blocks),
        is_finding=len(blocks) == 1 and not report.options.title,
        facts=_facts(report),
        blocks=blocks,
        models=list(by_model),
        sets=report.sets,
        several=len(models) > 1,
        notices=provenance.notices(report),
        reliability=[(model.name, part) for model in models for part in _reliability(model)],
        checked="What people checked, " * any(s.checked or s.validity for m in models for s in m.sets.values()),
        level=listed(screen.levels(models)),
        headline_tables=[*tables.summary(in_order), *tables.rates(in_order), *_relations(models)],
        papers=[(model.name, part) for model in models for part in published_tables(model.sets)],
        matrices=list(comparisons.matrices(compared)),
        comparison=[*comparisons.differences(compared), *comparisons.beaten(compared)],
        heat_maps=list(heat_maps(report.aligned)),
        plots=by_section,
        sureness=report.sureness,
        breakdowns=list(_breakdowns(by_model)),
        changes=[(name, tables.changes(name, of_set, len(models))) for name, of_set in report.changed.items()],
        edits=list(views(edits)),
        transitions=list(_transitions(models)),
        fooling=list(tables.fooling(by_model)),
        ie=list(_ie_tables(models)),
        numbers=list(_numbers(models)),
        signatures=provenance.signatures(models, compared),
        identities=list(provenance.identity_tables(models)),
        noun=report.nouns[0],
        browser=data,
        data=data.json,
        index=report.options.index,
    )


def heat_maps(sets: Sequence[AlignedSet]) -> Iterator[tuple[str, Table]]:
    """Yield (set, table): a line for each bucket that the models disagree about, the most first, a column for each.

    Disagreement is the standard deviation over the models of the share of right wordings, or of broken rules, that the
    cells show. The last line is the mean of the other buckets.
    """
    several = [aligned for aligned in sets if len(aligned.read) > 1]
    most = min(_MOST_BUCKETS, _MOST_CELLS // max(1, sum(len(aligned.read) for aligned in several)))
    for aligned in several:
        is_right = aligned.measure == PARAPHRASTIC.name
        by_model = aligned.accuracy if is_right else aligned.inconsistency
        values = np.ma.masked_invalid(np.array([by_model[model] for model in aligned.read]))
        spread = np.round(values.std(axis=0).filled(0.0), 9)
        worst = aligned.worst_first()
        order = worst[np.argsort(-spread[worst], kind="stable")]
        first, rest = np.split(order, [min(most, int((spread > 0.0).sum()))])
        rows = []
        for place in first.tolist():
            bucket = str(aligned.bucket_ids[place])
            cells = []
            for model, value in zip(aligned.read, values[:, place].filled(np.nan).tolist(), strict=True):
                distance = 2.0 * value - 1.0 if is_right else -value  # from what is neither good nor bad
                level = int(np.ceil(3.0 * abs(distance))) if known(value) else 0
                shade = f"{'better' if distance > 0.0 else 'worse'}-{level}" if level else ""
                href = link(set=aligned.name, model=model, bucket=bucket) if known(value) else ""
                cells.append(Cell(value, unit=WHOLE_PERCENT, link=href, shade=shade))
            rows.append([Cell(bucket, head=True, link=link(set=aligned.name, bucket=bucket)), *cells])
        if len(rest):
            means = values[:, rest].mean(axis=1).filled(np.nan).tolist()
            words = f"mean of {'the other ' if rows else ''}{count(len(rest))}"
            rows.append([Cell(words, head=True), *(Cell(mean, unit=WHOLE_PERCENT) for mean in means)])
        spec, all_rows = CATALOGUE[aligned.measure], aligned.rows.values()
        what = "Wordings answered right" if is_right else f"{spec.title}: broken rules"
        if spec.mean_over == "buckets" and all(rows.is_without_gold for rows in all_rows):
            what = WORDING_CHANGE.symbol.capitalize()
        if aligned.are_agents and not any(any(rows.calls or ()) for rows in all_rows):
            what = "Runs that end differently"
        noun = aligned.rows[aligned.read[0]].nouns[0]
        columns = [Column(noun, words=True), *(Column(model, upright=True) for model in aligned.read)]
        caption = "" if len(first) == len(order) else f"{count(len(first))} of {count(len(order))} {noun}s are shown."
        yield aligned.name, Table(f"{what}, in per cent, {aligned.name}", columns, rows, caption, kind="heat")


def _relations(models: Sequence[Model]) -> Iterator[Table]:
    """Yield what is known of the relations between statements, and of runs of agents, for each set and model."""
    for model in models:
        for name, scored in model.sets.items():
            of = name if len(models) == 1 else f"{name}, {model.name}"
            measures = [m for m, values in scored.measures.items() if m == TRAJECTORIES.name or "primacy" in values]
            own = [tables.headline(name, scored, CATALOGUE[measure]) for measure in measures]
            for table in (*own, *tables.relations(name, scored)):
                yield replace(table, title=table.title.replace(name, of, 1))


def _reliability(model: Model) -> Iterator[Table]:
    """Yield what is known of the comparer's errors, invalid paraphrases, noise, unparsed answers and confidence."""
    yield from (tables.corrected(name, scored.checked) for name, scored in model.sets.items() if scored.checked)
    for name, scored in model.sets.items():
        yield from () if scored.validity is None else tables.validity(name, scored.validity)
    yield from (tables.noise(name, scored.noise_floor) for name, scored in model.sets.items() if scored.noise_floor)
    yield from tables.policies(model.sets)
    for name, scored in model.sets.items():
        yield from (part for item in scored.figures.items() for part in tables.confidence(name, *item))


def _breakdowns(by_model: tables.ByModel) -> Iterator[tuple[str, str, Table]]:
    """Yield (set, title, table) of every set and measure that are broken down by strata."""
    for name in tables.set_names(by_model):
        of_set = {model: sets[name] for model, sets in by_model.items() if name in sets}
        parts = (part for *_, part in tables.by_stratum({model: scored.strata for model, scored in of_set.items()}))
        for spec in (CATALOGUE[measure] for measure in dict.fromkeys(measure for part in parts for measure in part)):
            for table in tables.strata(name, of_set, spec, len(by_model)):
                yield name, name if spec.name == PARAPHRASTIC.name else f"{name}: {spec.title.lower()}", table


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
            for table in tables.every_number(measure.replace("_", " "), values):
                yield f"{name}, {model.name}", table


def filled(template: str, **values: Any) -> str:
    """Return a page from its template, with styles and scripts inlined under a policy that allows nothing else."""
    from markupsafe import Markup

    noun = values.get("noun", "problem")
    environment, glossary = templates("paraconsist.reporting.page"), Glossary(noun)
    files = [
        [f"{name}.{ending}" for name in names.split()] for ending, names in _PARTS.get(template, _OF_INDEX).items()
    ]
    style, script = ("\n".join(environment.loader.get_source(environment, file)[0] for file in of) for of in files)
    inlined = {"style": Markup(style), "script": Markup(script), "policy": _policy(style, script)}
    made = {
        "help": glossary,
        "table": lambda table: Markup(to_html(_in_page_words(table, noun), glossary)),
        "worded": partial(in_own_words, noun=noun),
    }
    return str(environment.get_template(template).render(**values, **inlined, **made, version=__version__))


def _in_page_words(table: Table, noun: str) -> Table:
    """Return a table whose own words are the page's; names of models and sets, which are columns too, stay."""
    own, columns = partial(in_own_words, noun=noun), []
    for column in table.columns:
        label = own(column.label) if column.label.removesuffix("s") in OWN_WORDS[noun] else column.label
        columns.append(replace(column, label=label, help=own(column.help)))
    return replace(table, columns=columns, caption=own(table.caption))


@cache
def templates(package: str, **filters: Callable[..., Any]) -> Any:
    """Return a package's templates, which are compiled once for all pages."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signs": lambda text: Markup(with_symbols(text)), "svg": inline_svg, **filters}
    return environment


def _facts(report: Report) -> list[str]:
    """Return model, sets and sizes, for the line above the title."""
    models, sets = report.models, report.distinct
    if not sets:
        return [model.name for model in models[:1]]
    scored = [next(model.sets[item.name] for model in models if item.name in model.sets) for item in sets]
    rows = [of_set.rows for of_set in scored]
    counts = [len(i.bucket_ids) if r.problems is None else r.n_problems for i, r in zip(sets, rows, strict=True)]
    n_problems, n_rows = sum(counts), sum(len(item.bucket) for item in sets)
    names = [item.name for item in sets if not is_generic(item.name)]
    of = [names[0]] if len(sets) == 1 and names else [f"{len(sets)} sets"] * (len(sets) > 1)
    model = [models[0].name] * (len(models) == 1 and models[0].name not in of and not is_generic(models[0].name))
    problem, wording = min(r.nouns for r in rows)
    if len(sets) > 1 and all(of_set.source.target for of_set in scored):  # parts of a file, whose problems they share
        return [*model, *of, plural(len({bucket for item in sets for bucket in item.bucket_ids}), problem)]
    return [*model, *of, f"{plural(n_problems, problem)} in {plural(n_rows, wording)}"]


def _policy(style: str, script: str) -> str:
    """Return a policy under which the page's own style and script run, and nothing is fetched."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    sources = f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    sources += "; img-src blob:"  # of a figure that is saved as PNG
    return f"{sources}; base-uri 'none'; form-action 'none'"


#: Terms that the catalogue does not explain.
_TERMS = {
    "interval": "Where the value would lie in most repetitions (95 % unless stated otherwise) with other "
    "problems of the same kind. The signature names the method.",
    "design effect": "How much larger the sample must be because problems are correlated within a context (or wordings "
    "within a problem); 1 means independent.",
    "noise floor": "How often an answer flips when nothing was changed: other batches, other precision, or another "
    "draw. A share of flips below it is no effect of wording.",
    "unparsed": "An answer that could not be read. It counts as wrong, as a class of its own, or its problem is left "
    "out.",
    "tau": "The share of pairs or triples that break the rule of a set: same answer for the same meaning, another for "
    "a negation. Lower is better.",
    "least P_C publ.": "With accuracy a no model has a P_C as published below 1 − 2a(1 − a), which a coin of "
    "this accuracy gets. The unbiased P_C can be lower.",
}


class Glossary:
    """The help buttons of a page, which its templates ask for, and the terms that they explain."""

    def __init__(self, noun: str = "problem") -> None:
        self.noun = noun
        scored = [spec for spec in list_measures() if spec.target]  # tests have a p and a difference of their own
        quantities = [WORDING_CHANGE, *(q for spec in scored for q in spec.quantities if q.meaning)]
        terms = {spec.symbol: f"{spec.question} {spec.direction}" for spec in scored}
        terms |= {q.symbol: f"{q.plain[0].upper()}{q.plain[1:]}: {q.meaning}." for q in reversed(quantities)}
        self.terms = terms | _TERMS
        self.used: dict[tuple[str, str], str] = {}  # (term, meaning) -> the element's id

    def __call__(self, term: str, meaning: str = "") -> Any:
        """Return a help button for a term, or nothing if it is not in the glossary."""
        from markupsafe import Markup

        known = self.terms.get(term, "")  # a column may be called as another measure's number
        text = in_own_words(known if term in _TERMS or meaning in known else meaning, self.noun)
        if not text:
            return ""
        name = self.used.setdefault((term, text), f"term-{len(self.used)}")
        button = '<button type="button" class="help" popovertarget="{}" aria-label="What is {}?">?</button>'
        return Markup(button).format(name, term)


def sheet_page(sheet: pa.Table, mark: Kind, file: str) -> str:
    """Return a page of its own in which a drawn sheet is filled in; it saves the sheet as a CSV called `file`."""
    people = [name for name in sheet.column_names if name == mark or name.startswith(f"{mark}_")]
    rows = [[*row.values()] for row in sheet.to_pylist()]
    digest = hashlib.sha256(to_json(rows).encode("utf-8", "replace")).hexdigest()[:16]
    whole = {"columns": sheet.column_names, "rows": rows, "people": people, "shown": _SHEET_COLUMNS[mark], "id": digest}
    title, about, yes, no = _SHEET_WORDS[mark]
    asked = {"title": title, "about": about, "yes": yes, "no": no, "people": people, "file": file}
    return filled("sheet.html", data=script_json(whole), **asked)
