"""Scores and comparisons as `paraconsist.score` and `paraconsist.compare` return them.

They are above scoring because they show themselves: as tables, in a notebook, as plots, as a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist._version import __version__
from paraconsist.comparing.rehearsal import rehearsed
from paraconsist.data.options import SourceOptions, documented, taken
from paraconsist.data.tables import in_arrow, read_table
from paraconsist.errors import check_whole, input_error, renamed
from paraconsist.files import to_strict_json
from paraconsist.measures.results import Values
from paraconsist.reporting.comparisons import comparison_tables
from paraconsist.reporting.papers import values_of_set
from paraconsist.reporting.table import Part, as_html, as_latex, as_markdown, as_text
from paraconsist.reporting.tables import cited, first_look, score_tables
from paraconsist.scoring.options import CompareOptions, ScoreOptions
from paraconsist.scoring.outcomes import WORDING_CHANGE, Unsteady, compared_by, problems_of
from paraconsist.scoring.score import SetScores, score_sources
from paraconsist.scoring.sources import Opened, open_models, open_source

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paraconsist.scoring.compare import SetComparison
    from paraconsist.scoring.gate import Check


class _Shown:
    """Base of what shows itself as tables."""

    def to_markdown(self) -> str:
        """Return the tables as Markdown, as the command prints them with ``--markdown``."""
        return as_markdown(self._tables())

    def to_latex(self) -> str:
        """Return the tables for LaTeX with the package booktabs."""
        return as_latex(self._tables())

    def to_bibtex(self) -> str:
        """Return the entry to cite this package by; the paper of each measure is in `citation` of its metric."""
        return (
            f"@software{{paraconsist,\n  title = {{paraconsist}},\n  author = {{{{The paraconsist authors}}}},\n"
            f"  version = {{{__version__}}},\n}}\n"
        )

    def __repr__(self) -> str:
        return as_text(self._tables(is_first=True))

    def _repr_html_(self) -> str:
        return as_html(self._tables(is_first=True))

    def _tables(self, *, is_first: bool = False) -> Iterator[Part]:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Scores(_Shown):
    """One model's scores on one set or several."""

    opened: Opened  # what was scored
    sets: Mapping[str, SetScores]  # set name -> its rows and measures; breakdowns are computed when they are needed

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings; with several sets, each begins with its set's name."""
        lines = [
            f"{name}: {each}" if len(self.sets) > 1 else each
            for name, scored in self.sets.items()
            for each in (
                *scored.warnings,
                *(each for values in scored.measures.values() for each in values["warnings"]),
            )
        ]
        return tuple(dict.fromkeys(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return strict JSON, as ``paraconsist score --json`` prints it: set name -> results."""
        return dict(to_strict_json({name: scored.to_dict() for name, scored in self.sets.items()}))

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each number: set, measure, stratum, value, low, high, n_clusters.

        `stratum` is empty for the whole set and ``column=value`` for a part of it; `measure` is ``measure.key``, or
        the measure's name alone for its headline. The wording change is one of them (`Outcomes`).
        """
        import pandas as pd

        lines = [line for name, scored in self.sets.items() for line in _lines(name, scored)]
        return pd.DataFrame(lines, columns=["set", "measure", "stratum", "value", "low", "high", "n_clusters"])

    def published(self) -> pd.DataFrame:
        """Return what papers print of their models on the same sets, by the same estimators.

        A line for each number: set, measure, key, model, value (a share), here (this result's), source.
        """
        import pandas as pd

        printed = [values for name, scored in self.sets.items() for values in values_of_set(name, scored)[0]]
        lines = [
            (values.set, values.measure, values.key, model, value / 100, values.own, values.source)
            for values in printed
            for model, value in values.models.items()
        ]
        return pd.DataFrame(lines, columns=["set", "measure", "key", "model", "value", "here", "source"])

    def edits(self, **options: Any) -> pd.DataFrame:
        """Return what flips the answers: a line for each set and kind of edit (see `paraconsist.edit_effects`).

        The texts come from the run folder or the file that was scored; `options` are those of
        `paraconsist.reporting.page.ReportOptions`, such as `texts`. A set without texts has no lines.
        """
        import pandas as pd

        from paraconsist.measures.edit_effects import EditEffect
        from paraconsist.reporting.page.models import Report, ReportOptions, model_from
        from paraconsist.reporting.page.write import edits_in

        sets = edits_in(Report([model_from(self.opened, self.sets)], ReportOptions(**options)))
        effects = [
            {"set": edits.aligned.name, **effect.to_dict()}
            for edits in sets
            for of_model in edits.effects.values()
            for effect in of_model.effects
        ]
        return pd.DataFrame(effects, columns=["set", *(field.name for field in fields(EditEffect))])

    def outcomes(self) -> pd.DataFrame:
        """Return what becomes of each problem over all its wordings, a line for each of two wordings or more.

        Columns: set, bucket, outcome (``right`` or ``wrong`` in every wording, else ``depends``; without gold labels
        ``same`` or ``changes``), n_wordings, n_right (missing without gold labels).
        """
        import pandas as pd

        frames = []
        for name, scored in self.sets.items():
            problems = problems_of(scored.kept)
            right = pd.array([None] * len(problems) if problems.n_right is None else problems.n_right, dtype="Int64")
            columns = {"bucket": problems.ids, "outcome": problems.outcomes, "n_wordings": problems.n_wordings}
            frames.append(pd.DataFrame({"set": name, **columns, "n_right": right}))
        return pd.concat(frames, ignore_index=True)

    def worst(self, n: int = 10) -> pd.DataFrame:
        """Return the `n` buckets of each set whose answers depend most on the wording, the worst first.

        Columns: set, bucket, wording_change (the share of pairs of its wordings with another answer), n_wordings,
        n_answers (different ones), n_right (missing without gold labels), answers (as text, the most frequent first).
        Buckets that get one answer are not among them.
        """
        import pandas as pd

        check_whole("worst", "n", n)
        lines = [(name, *bucket) for name, scored in self.sets.items() for bucket in scored.worst(n)]
        return pd.DataFrame(lines, columns=["set", *Unsteady._fields]).astype({"n_right": "Int64"})

    def plot(self, name: str | None = None, *, width: float | None = None, caption: bool = False) -> Figure:
        """Return a plot of the report, which notebooks show; ``.savefig("plot.pdf")`` writes it: PNG, SVG or PDF.

        Parameters
        ----------
        name : str, optional
            ``outcomes-0`` (what becomes of the problems over all their wordings), ``accuracy-consistency`` (P_C against
            accuracy, with its intervals), ``buckets-0`` (how many buckets have which share of right answers, and what a
            coin of this accuracy would give), ``sureness-0`` (probability of the gold label on originals against
            paraphrases), ``strata-0``, ``changes-0`` (answers that change), ``inconsistency``, ``fooling`` or ``ie-0``,
            as far as the scores have them. The number is the set's, 0 for the first; a prefix such as ``buckets`` is
            enough. By default the first plot.
        width : float, optional
            In mm, from 50 to 500, of what is saved: 85 for a column of a journal, 178 for a page.
        caption : bool
            Write below it what is found, of how many problems, and the signatures of the numbers.

        Raises
        ------
        InputError
            If there is no such plot; the message lists the plots.
        """
        from paraconsist.reporting.page.figures import report_plots
        from paraconsist.reporting.page.models import Report, model_from
        from paraconsist.reporting.plots.canvas import drawn

        report = Report([model_from(self.opened, self.sets)])
        plots = {placed.plot.name: placed for placed in report_plots(report)}
        wanted = next(iter(plots), "") if name is None else name.replace("_", "-")
        chosen = next((placed for known, placed in plots.items() if known.startswith(wanted)), None)
        if chosen is None:
            raise input_error("plot", "name", f"be one of {', '.join(plots)}", got=name)
        return drawn(chosen.plot, width, cited(self.sets, chosen.set) if caption else "")

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page; options are those of `paraconsist.reporting.page.ReportOptions`."""
        from paraconsist.reporting.page import ReportOptions, write_report
        from paraconsist.reporting.page.models import model_from

        return write_report([model_from(self.opened, self.sets)], Path(path), ReportOptions(**options)).page

    def log_to(self, tracker: str) -> str:
        """Log every number to ``"mlflow"`` or ``"trackio"``: see `paraconsist.reporting.trackers.log_results`."""
        from paraconsist.reporting.trackers import log_results

        return log_results(self.to_dict(), tracker)

    def gate(
        self, condition: str, *, against: Scores | None = None, margin: float | None = None, **options: bool
    ) -> bool:
        """Return whether a condition such as ``pc.low >= 0.75`` holds in every set.

        Against another model's scores, ``pc.not_worse`` (``wording_change.not_worse``, without gold labels) holds where
        P_C is shown not to be worse by `margin` (a share) or more, ``pc.equivalent`` where it is neither worse nor
        better by that much. No condition holds for a degenerate consistency, such as that of a constant answer, unless
        `allow_degenerate` is given.
        """
        return all(check.passed for check in self.checks(condition, against=against, margin=margin, **options))

    def gate_sequentially(self, condition: str) -> bool | None:
        """Return whether a condition holds in every set of a run with ``until``; None where more must be asked to know.

        It is ``paraconsist gate --sequential``: whenever it is called, both errors together are at most 1 less the
        confidence level.
        """
        from paraconsist.scoring.gate import check_sequentially, parse_conditions

        verdicts = {holds for *_, holds in check_sequentially(parse_conditions(condition), self.to_dict())}
        return False if False in verdicts else None if None in verdicts else True

    def checks(
        self,
        condition: str,
        *,
        against: Scores | None = None,
        margin: float | None = None,
        allow_degenerate: bool = False,
    ) -> list[Check]:
        """Return the condition's value on every set; for tests against another model, p by the scores' own options."""
        from paraconsist.scoring.compare import compare_options
        from paraconsist.scoring.gate import check, check_margin, parse_conditions, with_margin_tests, with_worst

        options = next(iter(self.sets.values())).options
        conditions = parse_conditions(condition, options.confidence_level)
        check_margin(conditions, against, margin)
        if not isinstance(against, (Scores, type(None))):
            raise input_error("gate", "against", "be scores, as `score` returns them", got=against)
        results: Mapping[str, Values] = {name: scored.to_dict() for name, scored in self.sets.items()}
        if against is not None:
            comparing = compare_options(options, margin)
            results = with_margin_tests(results, self.opened, against.opened, comparing, conditions)
        return with_worst(check(conditions, results, allow_degenerate=allow_degenerate), self.sets)

    def _tables(self, *, is_first: bool = False) -> Iterator[Part]:
        return first_look(self.sets, self.warnings) if is_first else score_tables(self.sets)


@dataclass(frozen=True, repr=False)
class Comparison(_Shown):
    """Models on the sets that all of them answered, paired."""

    sets: tuple[SetComparison, ...]
    left_out: Mapping[str, Sequence[str]]  # model -> sets that not every model has

    def to_dict(self) -> list[dict[str, Any]]:
        """Return strict JSON, as ``paraconsist compare --json`` prints it: a mapping for each set."""
        return list(to_strict_json([comparison.to_dict() for comparison in self.sets]))

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each pair of models and quantity: its difference with interval and p-values.

        `measure` is the measure's name alone for its headline, which has p-values and intervals for all pairs together
        too, else ``measure.key``, as in `Scores.to_frame`.
        """
        import pandas as pd

        lines = []
        for comparison in self.sets:
            for pair in comparison.pairs:
                result, who = pair.result, (pair.first, pair.second)
                low, high = result["confidence_interval"]["difference"]
                alone = (result["difference"], low, high, result["p_value"], pair.corrected_p_value)
                together = (pair.simultaneous_p_value, *(pair.simultaneous_interval or (None, None)))
                lines.append((comparison.set, pair.measure, *who, *alone, *together))
                spec = compared_by(pair.measure)
                main = spec.published if "|est:plugin|" in result["signature"] else spec.headline
                for key, difference in result.get("differences", {}).items():
                    if key == main:
                        continue
                    ends = result["confidence_interval"].get(key, (None, None))
                    of_key = (difference, *ends, result["p_values"].get(key), None, None, None, None)
                    lines.append((comparison.set, f"{pair.measure}.{key}", *who, *of_key))
        names = ["set", "measure", "first", "second", "difference", "low", "high", "p_value", "corrected_p_value"]
        names += ["simultaneous_p_value", "simultaneous_low", "simultaneous_high"]
        return pd.DataFrame(lines, columns=names)

    def plot(self, name: str | None = None, *, width: float | None = None, caption: bool = False) -> Figure:
        """Return the forest of paired differences of a set (by default the first), around a line at 0.

        More than 15 pairs are shown against the model that is ranked first only. InputError if no set has this name.
        `width` and `caption` are as in `Scores.plot`.
        """
        from paraconsist.reporting.page.figures import difference_plots
        from paraconsist.reporting.plots.canvas import drawn

        plots = {placed.set: placed.plot for placed in difference_plots(self.sets)}
        wanted = next(iter(plots), "") if name is None else name
        if wanted not in plots:
            must = f"be one of {', '.join(plots)}" if plots else "be of a comparison that has differences"
            raise input_error("plot", "name", must, got=name)
        lines = {str(pair.result["signature"]) for one in self.sets if one.set == wanted for pair in one.pairs}
        return drawn(plots[wanted], width, " ".join([plots[wanted].caption, *sorted(lines)]) if caption else "")

    def _tables(self, *, is_first: bool = False) -> Iterator[Part]:
        return comparison_tables(self.sets)


@dataclass(frozen=True)
class Run:
    """A run folder, as `paraconsist.run` returns it."""

    folder: Path

    def score(self, **options: Any) -> Scores:
        """Score its sets; options are those of `score`."""
        return score(self.folder, **options)


@documented(SourceOptions, ScoreOptions)
@rehearsed
@renamed(path="source")
def score(source: Any, *, test: Any = None, training: Any = None, **options: Any) -> Scores:
    """Score predictions from any tool: accuracy, consistency, intervals.

    Parameters
    ----------
    source : path, table, or sequence of them
        A predictions file, another tool's log, a run folder, or a table in memory (pandas, polars, pyarrow,
        `datasets.Dataset`).
    test : as `source`, optional
        The model's predictions on the full test set: test accuracy and corrected values.
    training : path or table, optional
        The data that the model was trained on: rows of the set that also occur in it are counted.

    Raises
    ------
    InputError
        If a file cannot be read, or a column or an excluded bucket is missing; the message says what to do.

    Examples
    --------
    >>> rows = {"question_id": [1, 1, 2, 2], "answer": ["a", "a", "b", "a"], "gold": ["a", "a", "b", "b"]}
    >>> scores = score(rows, bucket="question_id", prediction="answer", label="gold")
    >>> scores.sets["predictions"].measures["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]
    0.5
    """
    columns, scoring = taken(score, options, SourceOptions, ScoreOptions)
    opened = open_source(source, columns, test=test)
    if training is not None:
        is_path = isinstance(training, (str, Path))
        training = read_table(training, function="score", parameter="training") if is_path else in_arrow(training)
    return Scores(opened, score_sources(opened, scoring, training=training))


@documented(SourceOptions, CompareOptions)
@rehearsed
@renamed("compare", path="models", paths="models")
def compare(*models: Any, names: Sequence[str] | None = None, **options: Any) -> Comparison:
    """Compare models on the buckets that all of them answered: paired differences, intervals, permutation p-values.

    Parameters
    ----------
    *models : Scores, path or table; or one mapping of names to these
        Two or more, as `score` takes them; or a table with rows of several, named in its column model. Options that say
        how files are read do not apply to `Scores`; other options are by default those that the `Scores` share.
    names : sequence of str, optional
        Names of the models; by default their own names, the shortest ends of the paths that differ, or, of tables, the
        columns of their predictions.

    Raises
    ------
    InputError
        If there are fewer than two models, or they have no set in common.
    """
    from paraconsist.scoring.compare import compare_opened

    compared, left_out = compare_opened(*_models(compare, models, names, options))
    return Comparison(tuple(compared), left_out)


@documented(SourceOptions, CompareOptions)
@rehearsed
@renamed("rank", path="models", paths="models")
def rank(*models: Any, names: Sequence[str] | None = None, **options: Any) -> pd.DataFrame:
    """Rank models by steadiness: how often two wordings get the same answer, above chance, all pairs tested at once.

    Parameters
    ----------
    *models : Scores, path or table; or one mapping of names to these
        Two or more, as `compare` takes them.
    names : sequence of str, optional
        Names of the models, as in `compare`.

    Returns
    -------
    pandas.DataFrame
        A line for each set and model, the steadiest first: set, model, steadiness (0: as if answers were shuffled over
        the texts; 1: never another answer), rank_low and rank_high (the true ranks of all models lie between theirs
        with the confidence level), letters (models with one in common are not shown to differ), n_problems (which all
        ranked models answered), unranked (why a model has no rank, such as a constant answer).

    Raises
    ------
    InputError
        If there are fewer than two models, or they have no set in common.
    """
    import pandas as pd

    from paraconsist.scoring.compare import rank_opened

    lines: list[tuple[Any, ...]] = []
    for of_set in rank_opened(*_models(rank, models, names, options)):
        name, ranking = of_set.set, of_set.ranking
        for row in ranking.standings:
            values = ranking.steadiness[row.model], row.rank_low, row.rank_high, row.letters, ranking.n_problems
            lines.append((name, row.model, *values, ""))
        unranked = ranking.unranked | of_set.left_out
        lines += [(name, model, None, None, None, "", ranking.n_problems, why) for model, why in unranked.items()]
    columns = ["set", "model", "steadiness", "rank_low", "rank_high", "letters", "n_problems", "unranked"]
    return pd.DataFrame(lines, columns=columns).astype({"steadiness": float, "rank_low": "Int64", "rank_high": "Int64"})


def _models(
    function: Callable[..., Any], models: tuple[Any, ...], names: Sequence[str] | None, options: Mapping[str, Any]
) -> tuple[list[Opened], CompareOptions, Sequence[str] | None]:
    """Return models that were given to a function, opened, with its options and the models' names."""
    from paraconsist.scoring.compare import compare_options

    name = function.__name__
    if len(models) == 1 and isinstance(models[0], Mapping):
        names, models = names or [*models[0]], tuple(models[0].values())
    own = [compare_options(next(iter(model.sets.values())).options) for model in models if isinstance(model, Scores)]
    if "unparsed" not in options and len(policies := {each.policy for each in own}) > 1:
        raise input_error(name, "unparsed", "be given, as the scores differ in it", got=sorted(policies))
    values = {key: [vars(each)[key] for each in own] for key in (vars(own[0]) if own else ())}
    shared = {key: first for key, (first, *others) in values.items() if all(other == first for other in others)}
    columns, comparing = taken(function, {**shared, **options}, SourceOptions, CompareOptions)
    opened = [
        opened
        for model in models
        for opened in ([model.opened] if isinstance(model, Scores) else open_models(model, columns, function=name))
    ]
    return opened, comparing, names


def _lines(name: str, scored: SetScores) -> Iterator[tuple[Any, ...]]:
    parts = [(f"{column}={value}", part) for column, by in scored.strata.items() for value, part in by.items()]
    of_wordings: dict[str, Any] = {} if scored.wording is None else {WORDING_CHANGE.key: scored.wording}
    for stratum, measures in [("", {**scored.measures, **of_wordings}), *parts]:
        for measure, keys in measures.items():
            for key, (low, high) in keys["confidence_interval"].items():
                if isinstance(keys.get(key), (int, float)):
                    label = measure if key == compared_by(measure).headline else f"{measure}.{key}"
                    yield name, label, stratum, keys[key], low, high, keys.get("n_clusters", {}).get(key)
