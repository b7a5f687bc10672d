"""Many models as a static site: an index of their numbers, or a leaderboard, and a page for each."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paraconsist.data.options import SourceOptions, documented, taken
from paraconsist.errors import input_error
from paraconsist.files import locked, staged, write_text, writing
from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.reporting.formatting import bounds, interval, known, percent, rank_words
from paraconsist.reporting.page import headlines
from paraconsist.reporting.page.comparison import (
    compare_entries,
    comparison_signatures,
    matrices,
    sources_of,
)
from paraconsist.reporting.page.entries import Entry, load_entries, set_names
from paraconsist.reporting.page.tables import MODEL, Cell, Column, Table, in_print, measures_of
from paraconsist.reporting.page.write import ReportOptions, filled, write_report
from paraconsist.scoring.compare import SetComparison, compare_options
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.ranking import SetRanking, rank_models

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


@documented(SourceOptions, ScoreOptions)
def leaderboard(
    *inputs: str | Path,
    output: str | Path,
    names: Sequence[str] = (),
    title: str | None = None,
    space: bool = False,
    texts: Sequence[str] = (),
    rescore: bool = False,
    **options: Any,
) -> SiteWritten:
    """Rank models on every set, and write it as a static site: an index with a table, and a page for each model.

    Models of a set are compared on the buckets that all of them answered. A rank interval holds every place that a
    model may truly have, and models with a letter in common are not shown to differ, for all pairs of a set together
    (`paraconsist.scoring.ranking.rank_models`). The numbers beside are each model's own, as `score` has them.

    Parameters
    ----------
    *inputs : str or path
        Run folders, predictions files, logs, published predictions; those of one model make one line together.
    output : path
        The site's folder. A site that is there stays whole until the new one is.
    names, title : sequence of str, str, optional
        Of the models in their order, by default as they call themselves; of the index.
    space : bool
        Add a ``README.md`` that makes the folder a static Space.
    texts : sequence of str
        Files with texts, or names of prepared sets, that the models' pages show.
    rescore : bool
        Score run folders anew, whatever their ``results.json`` says.

    Raises
    ------
    InputError
        If an input cannot be read, or `output` holds what no site has written.
    """
    read, scoring = taken(leaderboard, options, SourceOptions, ScoreOptions)
    anew = rescore or scoring.unparsed != ScoreOptions().unparsed  # a run's own results are under this policy
    entries = load_entries([Path(one) for one in inputs], scoring, names, read=read, rescore=anew, join=True)
    report = ReportOptions(title=title, score=scoring, texts=texts)
    return write_site(entries, Path(output), report, space=space, leaderboard=True)


def write_site(
    entries: Sequence[Entry], folder: Path, options: ReportOptions, *, space: bool = False, leaderboard: bool = False
) -> SiteWritten:
    """Write ``index.html`` and a page for each model below ``models``, fit for GitHub Pages or a static Space.

    The index compares the models on the sets that all of them answered; a `leaderboard` ranks those of each set.

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
        front = _leaderboard if leaderboard else _index
        index = front(entries, replace(options, title=title)).encode("utf-8", "replace").decode()
        with staged(pages) as new:
            own = replace(options, title=None, index="../index.html")
            written = [write_report([entry], new / page_name(entry.name), own) for entry in entries]
        with writing("report", "site", folder):
            write_text(folder / ".nojekyll", "")  # GitHub Pages serves the files as they are
            if space and not (folder / "README.md").exists():
                card = f"---\ntitle: {json.dumps(title)}\nsdk: static\napp_file: index.html\n---\n"
                write_text(folder / "README.md", f"{card}\nWritten by paraconsist.\n")
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
        table=index_table(entries, compared),
        matrices=list(matrices(compared, linked=False)),
        signatures=[*headlines.signatures(entries), *comparison_signatures(compared)],
    )


def _leaderboard(entries: Sequence[Entry], options: ReportOptions) -> str:
    judged = [
        replace(e, sets={n: one for n, one in e.sets.items() if not one.results.get("degenerate")}) for e in entries
    ]
    ranked = rank_models(sources_of(judged), compare_options(options.score))
    boards = [_board(together, ranked) for together in _sharing_sets(entries)]
    return filled(
        "leaderboard.html",
        ("style.css", "models.css", "screen.css"),
        ("theme.js", "index.js"),
        title=options.title,
        n_models=len(entries),
        level=f"{100 * options.score.confidence_level:g}",
        boards=boards,
        has_ranks=any(one.standings for one in ranked),
        has_letters=any(table.note for board in boards for _, table in board["tables"]),
        signatures=headlines.signatures(entries),
    )


def _sharing_sets(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries in parts no two of which have a set in common, the largest first."""
    parts: list[list[Entry]] = []
    for entry in entries:
        joined = [part for part in parts if entry.sets.keys() & set(set_names(part))]
        parts = [*(p for p in parts if p not in joined), [*(other for part in joined for other in part), entry]]
    return sorted(parts, key=len, reverse=True)


def _board(entries: Sequence[Entry], rankings: Sequence[SetRanking]) -> dict[str, Any]:
    """Return a table of all sets that some models have in common, one of each set, and who is not ranked, and why."""
    members = {name: [entry for entry in entries if name in entry.sets] for name in set_names(entries)}
    names = sorted(members, key=lambda name: -len(members[name]))
    ranked = [one for one in rankings if one.set in members]
    sizes = {one.set: (len({row["model"] for row in one.standings}), one.n_common_buckets) for one in ranked}
    words = {name: f": {n} models ranked on {size:,} problems" for name, (n, size) in sizes.items() if n}
    specs = [CATALOGUE[name] for name in measures_of(entries) if name in scored_measures()]
    left_out = [(f"{model}, {one.set}", why) for one in ranked for model, why in one.left_out.items()]
    void = [(f"{e.name}, {name}", e.sets[name].results.get("degenerate")) for name in names for e in members[name]]
    return {
        "sets": names,
        "questions": [f"{one.title} ({one.symbol}): {one.question} {one.direction}" for one in specs],
        "overview": index_table(entries, ranked, names, few=0) if len(names) > 1 else None,
        "tables": [(name + words.get(name, ""), index_table(members[name], ranked, [name])) for name in names],
        "left_out": left_out + [(who, why[0]) for who, why in void if why],
    }


def index_table(
    entries: Sequence[Entry],
    compared: Sequence[SetComparison | SetRanking],
    names: Sequence[str] | None = None,
    few: int = _FEW,
) -> Table:
    """Return a line for each model, the best in the first of the sets first, and its name leads to its page.

    Of every set and measure it has the headline, above chance and accuracy where there are few, ranks and groups.
    """
    names = set_names(entries) if names is None else names
    ranks = {(one.set, row["measure"], row["model"]): row for one in compared for row in one.standings}
    n_ranked = Counter(key[:2] for key in ranks)
    past_z = {key[:2] for key, row in ranks.items() if any(map(str.isdigit, row["letters"]))}  # too many for a reader
    scored = [
        (name, CATALOGUE[measure])
        for name in names
        for measure in measures_of([entry for entry in entries if name in entry.sets])
        if measure in scored_measures()
    ]
    first: list[float] = []  # the sign by which the first number is sorted
    links = [f"{_PAGES}/{page_name(entry.name)}" for entry in entries]
    columns, rows = [MODEL], [[Cell(e.name, head=True, href=to)] for e, to in zip(entries, links, strict=True)]
    for name, spec in scored:
        over = f", {name}" if len(scored) > 1 else ""
        for key, label in _keys(spec, is_brief=len(scored) > few):
            cells = [_value(entry, name, spec, key) for entry in entries]
            if all(cell.sort is None for cell in cells):
                continue
            first.append(1.0 if key == spec.headline and not spec.higher_is_better else -1.0)
            columns.append(Column(f"{label}{over}"))
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
            if key == spec.headline and (n := n_ranked[name, spec.name]):
                columns.append(Column(f"rank{over}"))
                for row, entry in zip(rows, entries, strict=True):
                    rank = ranks.get((name, spec.name, entry.name))
                    if rank is None:
                        row.append(Cell(""))
                        continue
                    low, high = rank["rank_low"], rank["rank_high"]
                    group = "" if (name, spec.name) in past_z else f"group {rank['letters']}"
                    row.append(Cell(rank_words(rank), group, sort=low + high / 1000, bar=((low - 1) / n, high / n)))
    if first:
        has_rank = columns[2:3] and columns[2].label.startswith("rank")
        missing = float("inf")  # last, after who is not ranked
        rows.sort(key=lambda row: missing if row[1].sort is None else first[0] * row[1].sort)
        rows.sort(key=lambda row: row[1].sort is None or (has_rank and row[2].sort is None))
    caption = "Every model, in per cent, with intervals"
    if len(scored) == 1:
        caption += f": {scored[0][1].title.lower()}, {scored[0][0]}"
    has_letters = any((name, spec.name) in n_ranked.keys() - past_z for name, spec in scored)
    note = "Models with a letter in common are not shown to differ. Ranks and groups hold for all pairs together."
    return Table(caption, columns, rows, note if has_letters else "", kind="sortable")


def _keys(spec: MeasureSpec, *, is_brief: bool) -> Iterator[tuple[str, str]]:
    """Yield (key, label) of what the index shows of a measure: next to the headline chance and accuracy."""
    symbols = {q.key: q.symbol for q in spec.quantities}
    yield spec.headline, spec.symbol or spec.title.lower()
    if not is_brief:
        yield ABOVE_CHANCE.key, ABOVE_CHANCE.symbol
    if not is_brief or spec is PARAPHRASTIC:
        yield "accuracy", symbols.get("accuracy", "accuracy")


def _value(entry: Entry, name: str, spec: MeasureSpec, key: str) -> Cell:
    measures = entry.sets[name].results.get("measures", {}) if name in entry.sets else {}
    values = measures.get(spec.name, {})
    value, ends = values.get(key), bounds(values.get("confidence_interval"), key)
    return Cell(in_print(percent(value)), in_print(interval(ends)), sort=value if known(value) else None)
