"""Many models as a static site: an index or a leaderboard, and a page for each model."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from paraconsist.comparing.rehearsal import end_rehearsal, rehearsed
from paraconsist.data.options import SourceOptions, documented, taken
from paraconsist.errors import check_flag, input_error
from paraconsist.files import launched, locked, staged, write_text, writing
from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, PARAPHRASTIC, MeasureSpec, Quantity, scored_measures
from paraconsist.reporting.comparisons import matrices, rank_words
from paraconsist.reporting.formatting import Values, plural
from paraconsist.reporting.page.browser import script_json
from paraconsist.reporting.page.models import Model, Progress, Report, ReportOptions, load_models, set_apart
from paraconsist.reporting.page.provenance import signatures
from paraconsist.reporting.page.screen import ranked
from paraconsist.reporting.page.write import filled, write_report
from paraconsist.reporting.table import Cell, Column, Table
from paraconsist.reporting.tables import MODEL, ByModel, measures_of, set_names, share
from paraconsist.scoring.compare import SetComparison, SetRanking, compare_options, rank_models
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.outcomes import STEADINESS, WORDING_CHANGE, compared_by
from paraconsist.scoring.score import SetScores

_PAGES = "models"  # the folder of the models' pages
_PAGE = re.compile(r"[a-z0-9-]{1,60}-[0-9a-f]{8}\.html")
_INDEX = "index.html"
_RANK = "Every place that the model may truly have, all pairs of models tested together."
#: The index shows only headlines where it has more sets and measures than this.
_FEW = 3
_LEAST_OF_PROCESS = 4  # models: starting a process takes as long as the pages of two

#: Does pieces of work in several processes, as `paraconsist.running.processes.do_all`.
Spread: TypeAlias = Callable[..., None]


@dataclass(frozen=True)
class SiteWritten:
    """The written site: its index, the number of models, and the bytes of all pages."""

    index: Path
    n_models: int
    n_bytes: int


@documented(SourceOptions, ScoreOptions)
@rehearsed
def leaderboard(
    *inputs: str | Path,
    output: str | Path,
    names: Sequence[str] = (),
    sets: Sequence[str] = (),
    title: str | None = None,
    space: bool = False,
    texts: Sequence[str] = (),
    rescore: bool = False,
    progress: Progress = lambda what, n_done, n: None,
    spread: Spread | None = None,
    **options: Any,
) -> SiteWritten:
    """Rank models on every set, and write it as a static site: an index with a table, and a page for each model.

    Models of a set are compared on the buckets that all of them answered. A rank interval holds every place that a
    model may truly have, and models with a letter in common are not shown to differ, for all pairs of a set together
    (`paraconsist.scoring.compare.rank_models`). The other numbers are each model's, as `score` has them.

    Parameters
    ----------
    *inputs : str or path
        Run folders, predictions files, logs, published predictions; those of one model share a line.
    output : path
        The site's folder. An existing site stays whole until the new one is complete.
    names, sets : sequence of str, optional
        Names of the model and of the set of each input, in order; by default as `docs/howto/report.md` says.
    title : str, optional
        Title of the index.
    space : bool
        Add a ``README.md`` that makes the folder a static Space.
    texts : sequence of str
        Files with texts, or names of prepared sets, that the models' pages show.
    rescore : bool
        Score run folders with `options` alone, not with other options in their ``results.json``.
    progress : callable
        Is called with what is being done ("scoring", "pages"), how many are done, and of how many.
    spread : callable, optional
        Writes pages of many models in several processes: `paraconsist.running.processes.do_all`, as the command does.

    Raises
    ------
    InputError
        If an input cannot be read, or `output` holds other files than a site's.
    """
    read, scoring = taken(leaderboard, options, SourceOptions, ScoreOptions)
    check_flag("leaderboard", "rescore", rescore)
    paths = [Path(path) for path in inputs]
    models = load_models(paths, scoring, names, sets=sets, read=read, rescore=rescore, join=True, progress=progress)
    report = ReportOptions(title=title, score=scoring, texts=texts)
    folder = Path(output)
    return write_site(models, folder, report, space=space, leaderboard=True, progress=progress, spread=spread)


@dataclass(frozen=True)
class _Pages:
    """The pages of a site, as work by the piece: each is the name of its file."""

    models: Sequence[Model]
    folder: Path
    options: ReportOptions
    leaderboard: bool

    def is_done(self, piece: str) -> bool:
        return False

    def do(self, piece: str) -> None:
        if piece == _INDEX:
            front = _leaderboard if self.leaderboard else _index
            text = front(self.models, self.options).encode("utf-8", "replace").decode()
            write_text(self.folder / piece, text)
            return
        model = next(model for model in self.models if page_name(model.name) == piece)
        write_report([model], self.folder / piece, replace(self.options, title=None, index=f"../{_INDEX}"))


def write_site(
    models: Sequence[Model],
    folder: Path,
    options: ReportOptions,
    *,
    space: bool = False,
    leaderboard: bool = False,
    progress: Progress = lambda what, n_done, n: None,
    spread: Spread | None = None,
) -> SiteWritten:
    """Write ``index.html`` and a page for each model below ``models``, fit for GitHub Pages or a static Space.

    The index compares the models on the sets that all of them answered; a `leaderboard` ranks those of each set. With
    `spread` the pages of many models are written in as many processes as there are cores.

    Every page is one file that loads nothing. The models' pages replace the old ones all at once, and the index
    follows, so that an existing site stays whole at any time. With `space` a ``README.md`` configures a static Space;
    an existing one is kept. InputError if ``models`` holds other files than a site's.
    """
    pages = folder / _PAGES
    foreign = [path.name for path in pages.iterdir() if not _PAGE.fullmatch(path.name)] if pages.is_dir() else []
    if foreign:
        must = f"be a folder whose {_PAGES} holds only pages of a site"
        raise input_error("report", "site", must, got=foreign[0], remedy="Choose another folder.")
    title = options.title or f"How consistent is {models[0].name}?"
    if options.title is None and len(models) > 1:
        title = f"Which of {len(models)} models is the most consistent?"
    pieces, done = [_INDEX, *(page_name(model.name) for model in models)], count(1)
    jobs = min(os.cpu_count() or 1, len(models) // _LEAST_OF_PROCESS)

    def say(piece: str) -> None:
        if piece != _INDEX:
            progress("pages", next(done), len(models))

    with locked(folder, "report", "site"):
        with staged(pages) as new:
            work = _Pages(models, new, replace(options, title=title), leaderboard)
            if spread is not None and jobs > 1 and launched()[1] == 1:
                spread(work, pieces, function="report", jobs=jobs, progress=say)
            else:
                for piece in pieces:
                    work.do(piece)
                    say(piece)
            end_rehearsal()
            n_bytes = sum(page.stat().st_size for page in new.iterdir())
            index = (new / _INDEX).read_text(encoding="utf-8")
            (new / _INDEX).unlink()
        with writing("report", "site", folder):
            write_text(folder / ".nojekyll", "")  # GitHub Pages serves the files as they are
            if space and not (folder / "README.md").exists():
                card = f"---\ntitle: {script_json(title)}\nsdk: static\napp_file: index.html\n---\n"
                write_text(folder / "README.md", f"{card}\nWritten by paraconsist.\n")
            write_text(folder / _INDEX, index)
    return SiteWritten(folder / _INDEX, len(models), n_bytes)


def page_name(model: str) -> str:
    """Return the file name of a model's page, safe on every file system and independent of the other models.

    >>> page_name("Bär/chen 7B"), page_name("..")
    ('bar-chen-7b-c4700af8.html', 'model-5ec1f7e7.html')
    """
    plain = unicodedata.normalize("NFKD", model).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:51] or "model"
    return f"{words}-{hashlib.sha256(model.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.html"


def _index(models: Sequence[Model], options: ReportOptions) -> str:
    plain, report, findings = Report(models, options), Report(set_apart(models), options), list[str]()
    for one in (one for one in report.compared if one.ranking.standings):
        claim, sentence = ranked(one.ranking, {m.name: m.sets[one.set] for m in report.models if one.set in m.sets})
        findings.append(f"{f'{one.set}: ' * (len(plain.sets) > 1)}{claim}. {sentence}")
    return filled(
        _INDEX,
        boards=(),
        has_ranks=False,
        findings=findings,
        title=options.title,
        n_models=len(models),
        sets=plain.sets,
        overview=index_table(plain.by_model, report.compared),
        matrices=list(matrices(report.compared, linked=False)),
        left_out=[
            *((f"{m.name}, {name}", why) for m in report.models for name, why in m.apart.items()),
            *((f"{m}, {one.set}", why) for one in report.compared for m, why in one.ranking.unranked.items()),
        ],
        noun=report.nouns[0],
        signatures=signatures(report.models, report.compared),
    )


def _leaderboard(models: Sequence[Model], options: ReportOptions) -> str:
    judged = {
        model.name: {name: scored.source for name, scored in model.sets.items() if not scored.degenerate}
        for model in models
    }
    ranked = rank_models(judged, compare_options(options.score))
    boards = [_board(together, ranked) for together in _sharing_sets(models)]
    return filled(
        _INDEX,
        findings=(),
        matrices=(),
        title=options.title,
        n_models=len(models),
        level=f"{100 * options.score.confidence_level:g}",
        boards=boards,
        has_ranks=any(one.ranking.standings or one.standings for one in ranked),
        has_letters=any(table.caption for board in boards for _, table in board.tables),
        signatures=signatures(models),
        noun=Report(models, options).nouns[0],
    )


def _sharing_sets(models: Sequence[Model]) -> list[ByModel]:
    """Return the models in parts no two of which have a set in common, the largest first."""
    parts: list[dict[str, Mapping[str, SetScores]]] = []
    for model in models:
        joined = [part for part in parts if model.sets.keys() & set(set_names(part))]
        parts = [part for part in parts if part not in joined]
        parts.append({name: sets for part in joined for name, sets in part.items()} | {model.name: model.sets})
    return sorted(parts, key=len, reverse=True)


@dataclass(frozen=True)
class _Board:
    """What a leaderboard shows of models with sets in common."""

    sets: list[str]
    questions: list[str]
    overview: Table | None  # all sets in one table, where there are several
    tables: list[tuple[str, Table]]  # (set, table)
    left_out: list[tuple[str, str]]  # (model and set, why it is not ranked)


def _board(by_model: ByModel, rankings: Sequence[SetRanking]) -> _Board:
    members = {name: {model: sets for model, sets in by_model.items() if name in sets} for name in set_names(by_model)}
    names = sorted(members, key=lambda name: -len(members[name]))
    ranked = [ranking for ranking in rankings if ranking.set in members]
    placed = {one.set: {row["model"] for row in (*one.ranking.standings, *one.standings)} for one in ranked}
    sizes = {one.set: (len(placed[one.set]), one.n_common_buckets) for one in ranked}
    noun = {name: next(iter(of.values()))[name].rows.nouns[0] for name, of in members.items()}
    words = {
        name: f": {plural(n, 'model')} ranked on {plural(size, noun[name])}" for name, (n, size) in sizes.items() if n
    }
    specs = {spec.name: spec for name in names for spec in _specs(name, by_model)}.values()
    reasons = [(one.set, {**one.ranking.unranked, **one.left_out}) for one in ranked]
    left_out = [(f"{model}, {name}", why) for name, of_models in reasons for model, why in of_models.items()]
    void = [
        (f"{model}, {name}", sets[name].degenerate[0])
        for name in names
        for model, sets in members[name].items()
        if sets[name].degenerate
    ]
    return _Board(
        sets=names,
        questions=[f"{spec.title} ({spec.symbol}): {spec.question} {spec.direction}" for spec in specs],
        overview=index_table(by_model, ranked, names, few=0) if len(names) > 1 else None,
        tables=[(name + words.get(name, ""), index_table(members[name], ranked, [name])) for name in names],
        left_out=left_out + void,
    )


def index_table(
    by_model: ByModel,
    compared: Sequence[SetComparison | SetRanking],
    names: Sequence[str] | None = None,
    few: int = _FEW,
) -> Table:
    """Return a line for each model, the best in the first of the sets first, with a link to its page.

    Measures of whole buckets have steadiness with ranks and groups, the others their headline; where sets and measures
    are few the headline, the value above chance and accuracy follow.
    """
    names = set_names(by_model) if names is None else names
    standings = [(part.set, row) for part in compared for row in (*part.ranking.standings, *part.standings)]
    ranks = {(name, row["measure"], row["model"]): row for name, row in standings}
    n_ranked = Counter(key[:2] for key in ranks)
    past_z = {key[:2] for key, row in ranks.items() if any(map(str.isdigit, row["letters"]))}  # too many for a reader
    scored = [(name, spec) for name in names for spec in _specs(name, by_model)]
    is_steady = set[str]()  # sets whose steadiness has its column: it is one for all measures
    signs: list[float] = []  # by which each number is sorted
    columns, rows = [MODEL], [[Cell(model, head=True, link=f"{_PAGES}/{page_name(model)}")] for model in by_model]
    for name, spec in scored:
        over = f", {name}" if len(scored) > 1 else ""
        for place, (key, label, meaning) in enumerate(_keys(spec, is_brief=len(scored) > few)):
            cells = [_value(sets, name, spec, key) for sets in by_model.values()]
            if all(cell.order is None for cell in cells) or (key == STEADINESS.key and name in is_steady):
                continue
            is_steady |= {name} if key == STEADINESS.key else set()
            signs.append(1.0 if key == spec.headline and not spec.higher_is_better else -1.0)
            columns.append(Column(f"{label}{over}", meaning * (name == scored[0][0])))
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
            measure = STEADINESS.key if key == STEADINESS.key else spec.name
            if place == 0 and (n := n_ranked[name, measure]):
                columns.append(Column(f"rank{over}", _RANK * (name == scored[0][0])))
                for row, model in zip(rows, by_model, strict=True):
                    rank = ranks.get((name, measure, model))
                    if rank is None:
                        row.append(Cell("not ranked" * (name in by_model[model])))
                        continue
                    low, high = rank["rank_low"], rank["rank_high"]
                    group = "" if (name, measure) in past_z else f"group {rank['letters']}"
                    by, bar = low + high / 1000, ((low - 1) / n, high / n)
                    row.append(Cell(rank_words(rank), below=group, sort=by, bar=bar))
    if signs:
        has_rank = len(columns) > 2 and columns[2].label.startswith("rank")
        missing = float("inf")  # last, after models without a rank
        rows.sort(key=lambda row: missing if row[1].order is None else signs[0] * row[1].order)
        rows.sort(key=lambda row: row[1].order is None or (has_rank and row[2].order is None))
    title = "Every model, in per cent, with intervals"
    if len(scored) == 1:
        title += f": {scored[0][1].title.lower()}, {scored[0][0]}"
    has_letters = any(cell.below for row in rows for cell in row)
    caption = "Models that share a group letter are not shown to differ; ranks and groups hold for all pairs together."
    return Table(title, columns, rows, caption if has_letters else "", kind="sortable")


def _specs(name: str, by_model: ByModel) -> Iterator[MeasureSpec]:
    """Yield the measures of a set; in place of one that needs the gold labels that it lacks the wording change."""
    of_set = {model: {name: sets[name]} for model, sets in by_model.items() if name in sets}
    for spec in (CATALOGUE[measure] for measure in measures_of(of_set) if measure in scored_measures()):
        is_without = all(sets[name].headline(spec) is WORDING_CHANGE for sets in of_set.values())
        yield compared_by(WORDING_CHANGE.key) if is_without else spec


def _keys(spec: MeasureSpec, *, is_brief: bool) -> Iterator[tuple[str, str, str]]:
    """Yield (key, label, meaning) of a measure's columns in the index; what models are ranked by is first."""
    quantities = {q.key: q for q in spec.quantities}
    headline = spec.headline, spec.symbol or spec.title.lower(), f"{spec.question} {spec.direction}"
    if spec.mean_over == "buckets":
        yield STEADINESS.key, "steadiness", STEADINESS.meaning
        yield from [] if is_brief else [headline]
    else:
        yield headline
        yield from [] if is_brief else [(ABOVE_CHANCE.key, ABOVE_CHANCE.symbol, ABOVE_CHANCE.meaning)]
    if not is_brief or spec is PARAPHRASTIC:
        accuracy = quantities.get("accuracy", Quantity("accuracy", "accuracy", "accuracy"))
        yield accuracy.key, accuracy.symbol, accuracy.meaning


def _value(sets: Mapping[str, SetScores], name: str, spec: MeasureSpec, key: str) -> Cell:
    scored = sets.get(name)
    values: Values = {} if scored is None else scored.measures.get(spec.name, {})
    if key in (STEADINESS.key, WORDING_CHANGE.key):
        values = {} if scored is None or scored.wording is None else scored.wording
    return share(values, key)
