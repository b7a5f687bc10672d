"""Scores and comparisons as people hold them: `paraconsist.score` and `paraconsist.compare` return them.

They stand in this room, above scoring, because they know how to show themselves: as a table, in a notebook, as a plot,
as a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraconsist.errors import input_error
from paraconsist.files import to_strict_json
from paraconsist.measures.catalogue import CATALOGUE, CHANGE
from paraconsist.scoring.compare import CompareOptions, SetComparison, compare_opened
from paraconsist.scoring.gate import Check, check, check_margin, parse_conditions, with_margin_tests
from paraconsist.scoring.options import SourceOptions
from paraconsist.scoring.score import ScoreOptions, SetScores, score_sources
from paraconsist.scoring.sources import Opened, open_source

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paraconsist.reporting.table import Part


@dataclass(frozen=True, repr=False)
class Scores:
    """One model's scores on one set or several."""

    opened: Opened  # what was scored
    sets: Mapping[str, SetScores]  # set name -> its rows and measures; breakdowns are computed when they are asked for

    def to_dict(self) -> dict[str, Any]:
        """Return strict JSON, as ``paraconsist score --json`` prints it: set name -> results."""
        return dict(to_strict_json({name: scored.to_dict() for name, scored in self.sets.items()}))

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each number: set, measure, stratum, value, low, high, n_clusters.

        `stratum` is empty for the whole set and ``column=value`` for a part of it; `measure` is ``measure.key``, or
        the measure's name alone for its headline.
        """
        import pandas as pd

        lines = [line for name, scored in self.sets.items() for line in _lines(name, scored)]
        return pd.DataFrame(lines, columns=["set", "measure", "stratum", "value", "low", "high", "n_clusters"])

    def published(self) -> pd.DataFrame:
        """Return what papers print of their models on the same sets, by the same estimators.

        A line for each number: set, measure, key, model, value (a share), here (this result's), source.
        """
        import pandas as pd

        from paraconsist.reporting.beside import beside

        printed = [one for name, result in self.to_dict().items() for one in beside(name, result)[0]]
        lines = [
            (one.set, one.measure, one.key, model, value / 100, one.own, one.source)
            for one in printed
            for model, value in one.models.items()
        ]
        return pd.DataFrame(lines, columns=["set", "measure", "key", "model", "value", "here", "source"])

    def edits(self, **options: Any) -> pd.DataFrame:
        """Return what flips the answers: a line for each set and kind of edit (see `paraconsist.edit_effects`).

        Texts are those beside a run's predictions, or in the file scored; `options` are those of
        `paraconsist.reporting.page.ReportOptions`, among them `texts`. A set without texts has no lines.
        """
        import pandas as pd

        from paraconsist.measures.edit_effects import EditEffect
        from paraconsist.reporting.page import ReportOptions
        from paraconsist.reporting.page.entries import entry_of
        from paraconsist.reporting.page.write import edits_in

        sets = edits_in([entry_of(self)], ReportOptions(**options))
        effects = [(one.aligned.name, each) for one in sets for part in one.effects.values() for each in part.effects]
        columns = ["set", *(one.name for one in fields(EditEffect))]
        return pd.DataFrame([{"set": name, **each.to_dict()} for name, each in effects], columns=columns)

    def plot(self, name: str | None = None) -> Figure:
        """Return a plot of the report, which notebooks show; ``.savefig("plot.svg")`` writes it.

        Parameters
        ----------
        name : str, optional
            ``accuracy-consistency`` (P_C against accuracy, with its intervals), ``buckets-0`` (how many buckets have
            which share of right answers, and what a coin of this accuracy would give), ``sureness-0`` (probability of
            the gold label on originals against paraphrases), ``strata-0``, ``changes-0`` (answers that change),
            ``inconsistency``, ``fooling`` or ``ie-0``: what the scores hold. The number is the set's, 0 for the first;
            a beginning such as ``buckets`` will do. By default the first that there is.

        Raises
        ------
        InputError
            If there is no such plot; the message lists those that there are.
        """
        from paraconsist.reporting.page.entries import entry_of
        from paraconsist.reporting.page.write import plots_of
        from paraconsist.reporting.plots.canvas import drawn

        plots = {placed.plot.name: placed.plot for placed in plots_of([entry_of(self)])}
        wanted = next(iter(plots), "") if name is None else name.replace("_", "-")
        chosen = next((plot for known, plot in plots.items() if known == wanted or known.startswith(wanted)), None)
        if chosen is None:
            raise input_error("plot", "name", f"be one of {', '.join(plots)}", got=name)
        return drawn(chosen)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page; options are those of `paraconsist.reporting.page.ReportOptions`."""
        from paraconsist.reporting.page import ReportOptions, write_report
        from paraconsist.reporting.page.entries import entry_of

        return write_report([entry_of(self)], Path(path), ReportOptions(**options)).page

    def log_to(self, tracker: str) -> str:
        """Log every number to ``"mlflow"`` or ``"trackio"``: see `paraconsist.reporting.trackers.log_results`."""
        from paraconsist.reporting.trackers import log_results

        return log_results(self.to_dict(), tracker)

    def gate(
        self, condition: str, *, against: Scores | None = None, margin: float | None = None, **options: bool
    ) -> bool:
        """Say whether a condition such as ``pc.low >= 0.75`` holds in every set.

        Against another model's scores, ``pc.not_worse`` holds where P_C is shown not to be worse by `margin` (a share)
        or more, ``pc.equivalent`` where it is neither worse nor better by that much. A consistency that says nothing of
        the model, as that of a constant answer, holds no condition unless `allow_degenerate` is given.
        """
        return all(one.passed for one in self.checks(condition, against=against, margin=margin, **options))

    def checks(
        self,
        condition: str,
        *,
        against: Scores | None = None,
        margin: float | None = None,
        allow_degenerate: bool = False,
    ) -> list[Check]:
        """Return the condition's value on every set; for the tests against another model p."""
        conditions = parse_conditions(condition)
        check_margin(conditions, against, margin)
        results = {name: scored.to_dict() for name, scored in self.sets.items()}
        if against is not None:
            results = with_margin_tests(results, self.opened, against.opened, CompareOptions(margin=margin))
        return check(conditions, results, allow_degenerate=allow_degenerate)

    def to_markdown(self) -> str:
        """Return the tables as Markdown, as ``paraconsist score --markdown`` prints them."""
        from paraconsist.reporting.table import as_markdown

        return as_markdown(score_tables(self.to_dict()))

    def to_latex(self) -> str:
        """Return the tables for LaTeX with the package booktabs."""
        from paraconsist.reporting.table import as_latex

        return as_latex(score_tables(self.to_dict()))

    def __repr__(self) -> str:
        from paraconsist.reporting.table import as_text

        return as_text(score_tables(self.to_dict()))

    def _repr_html_(self) -> str:
        from paraconsist.reporting.table import as_html

        return as_html(score_tables(self.to_dict()))


@dataclass(frozen=True, repr=False)
class Comparison:
    """Models on the sets that all of them answered, paired."""

    sets: tuple[SetComparison, ...]
    left_out: Mapping[str, Sequence[str]]  # model -> sets that not every model has

    def to_dict(self) -> list[dict[str, Any]]:
        """Return strict JSON, as ``paraconsist compare --json`` prints it: a mapping for each set."""
        return list(to_strict_json([one.to_dict() for one in self.sets]))

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each pair of models: its difference with interval and p-values, alone and for all pairs."""
        import pandas as pd

        lines = []
        for one in self.sets:
            for pair in one.pairs:
                low, high = pair.result["confidence_interval"]["difference"]
                number = (pair.result["difference"], low, high, pair.result["p_value"], pair.corrected_p_value)
                together = (pair.simultaneous_p_value, *(pair.simultaneous_interval or (None, None)))
                lines.append((one.set, pair.measure, pair.first, pair.second, *number, *together))
        names = ["set", "measure", "first", "second", "difference", "low", "high", "p_value", "corrected_p_value"]
        names += ["simultaneous_p_value", "simultaneous_low", "simultaneous_high"]
        return pd.DataFrame(lines, columns=names)

    def plot(self, name: str | None = None) -> Figure:
        """Return the forest of paired differences of a set (by default the first), around a line at 0.

        Up to 15 pairs are all shown; of more those with the best model. InputError if no set has this
        name.
        """
        from paraconsist.reporting.page.figures import difference_plots
        from paraconsist.reporting.plots.canvas import drawn

        plots = {placed.set: placed.plot for placed in difference_plots(self.sets)}
        wanted = next(iter(plots), "") if name is None else name
        if wanted not in plots:
            raise input_error("plot", "name", f"be one of {', '.join(plots)}", got=name)
        return drawn(plots[wanted])

    def to_markdown(self) -> str:
        """Return the tables as Markdown, as ``paraconsist compare --markdown`` prints them."""
        from paraconsist.reporting.table import as_markdown

        return as_markdown(self._tables())

    def to_latex(self) -> str:
        """Return the tables for LaTeX with the package booktabs."""
        from paraconsist.reporting.table import as_latex

        return as_latex(self._tables())

    def __repr__(self) -> str:
        from paraconsist.reporting.table import as_text

        return as_text(self._tables())

    def _repr_html_(self) -> str:
        from paraconsist.reporting.table import as_html

        return as_html(self._tables())

    def _tables(self) -> Iterator[Part]:
        from paraconsist.reporting.tables import comparison_tables

        return comparison_tables(self.to_dict())


@dataclass(frozen=True)
class Run:
    """A run folder: what `paraconsist.run` left."""

    folder: Path

    def score(self, **options: Any) -> Scores:
        """Score its sets; options are those of `score`."""
        return score(self.folder, **options)


def score(
    source: Any,
    *,
    test: Any = None,
    training: Any = None,
    measures: Sequence[str] | None = None,
    unparsed: str = "wrong",
    renormalize: bool = False,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    **columns: Any,
) -> Scores:
    """Score predictions made anywhere: accuracy, consistency, intervals.

    Parameters
    ----------
    source : path, table, or sequence of them
        A predictions file, another tool's log, a run folder, or a table in memory (pandas, polars, pyarrow,
        `datasets.Dataset`).
    test : as `source`, optional
        The model's predictions on the full test set: test accuracy and corrected values.
    training : path or table, optional
        What the model was trained on: rows of the set that stand in it are counted.
    measures : sequence of str, optional
        By default what the run names, else what the rows' roles call for.
    unparsed : {"wrong", "own_class", "drop_bucket"}
        What answers that could not be read count as.
    renormalize : bool
        Divide corrected values by the covered mass (the published values do not).
    interval_method, confidence_level, n_resamples, seed
        Of the intervals: closed forms that hold (``"auto"``), ``"bootstrap"`` or ``"closed_form"``.
    **columns
        What the columns are called, and how logs are read: ``bucket="question_id"``, ``prediction``, ``label``,
        ``role``, ``group`` and the other fields of `paraconsist.scoring.options.SourceOptions`. `exclude`, a table with
        a column ``bucket_id`` or a sequence of ids, are buckets to leave out.

    Raises
    ------
    InputError
        If a file cannot be read, lacks a column or a bucket that is to be left out; the message names what to do.

    Examples
    --------
    >>> rows = {"question_id": [1, 1, 2, 2], "answer": ["a", "a", "b", "a"], "gold": ["a", "a", "b", "b"]}
    >>> scores = score(rows, bucket="question_id", prediction="answer", label="gold")
    >>> scores.sets["predictions"].measures["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"]
    0.5
    """
    opened = open_source(source, source_options(score, columns), test=test)
    options = ScoreOptions(
        measures=measures,
        unparsed=unparsed,
        renormalize=renormalize,
        interval_method=interval_method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
    )
    return Scores(opened, score_sources(opened, options, training=training))


def compare(
    *models: Any,
    names: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    estimator: str = "unbiased",
    correction: str = "holm",
    against_first: bool = False,
    unparsed: str = "wrong",
    margin: float | None = None,
    interval_method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    seed: int = 0,
    **columns: Any,
) -> Comparison:
    """Compare models on what all of them answered: paired differences with intervals and permutation p-values.

    Parameters
    ----------
    *models : Scores, path or table
        Two or more; as `score` takes them.
    names : sequence of str, optional
        What to call them; by default the models' own names, or the shortest ends of the paths that differ.
    estimator : {"unbiased", "plugin"}
        Which P_C is the headline.
    correction : {"holm", "bonferroni", "benjamini_hochberg", "none"}
        Of p, over all pairs and sets.
    against_first : bool
        Compare every model with the first only.
    margin : float, optional
        A share, 0.02 for two points: p of non-inferiority and of equivalence.
    interval_method : {"auto", "sign_flip", "closed_form"}
        The test of paraphrastic consistency that p and interval both come from: sign flips (the default), or t.
    n_permutations : int
        Of the permutation test.
    measures, unparsed, confidence_level, n_resamples, seed, **columns
        As for `score`.

    Raises
    ------
    InputError
        If fewer than two models are given, or they have no set in common.
    """
    read = source_options(compare, columns)
    opened = [one.opened if isinstance(one, Scores) else open_source(one, read, function="compare") for one in models]
    options = CompareOptions(
        example=read.example,
        measures=measures,
        estimator=estimator,
        interval_method=interval_method,
        margin=margin,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        n_permutations=n_permutations,
        seed=seed,
        correction=correction,
        against_first=against_first,
        unparsed=unparsed,
    )
    compared, left_out = compare_opened(opened, options, names)
    return Comparison(tuple(compared), left_out)


def source_options(call: Callable[..., Any], columns: Mapping[str, Any]) -> SourceOptions:
    """Return further keywords of a call as `SourceOptions`, or raise an error that names one that is none."""
    known = [one.name for one in fields(SourceOptions)]
    for name in columns:
        if name not in known:
            own = [key for key in signature(call).parameters if key not in ("source", "models", "inputs", "columns")]
            near = get_close_matches(name, known + own, 1)
            remedy = f"Did you mean `{near[0]}`?" if near else ""
            raise input_error(call.__name__, name, f"be a parameter; there are {', '.join(own + known)}", remedy=remedy)
    texts = {name: value for name, value in columns.items() if value is not None}
    for name in ("probabilities", "label_names"):
        if isinstance(value := columns.get(name), Sequence) and not isinstance(value, str):
            texts[name] = ",".join(value)
    return SourceOptions(**texts)


def score_tables(results: Mapping[str, Any], *, figures: bool = False, published: bool = True) -> Iterator[Part]:
    """Yield the tables of every set; with `figures` also what lies behind the rates on pairs.

    Without `published` nothing is said of what papers print of the same sets.
    """
    from paraconsist.reporting import tables
    from paraconsist.reporting.beside import published_tables

    for name, result in results.items():
        for spec, values in ((CATALOGUE[measure], values) for measure, values in result["measures"].items()):
            yield from tables.result_tables(name, result, spec) if tables.has_own_table(spec, values) else ()
        if CHANGE.name in result["measures"]:
            yield from tables.change_tables(name, result)
    yield from tables.inconsistency_tables(results)
    yield from published_tables(results) if published else ()
    yield from tables.policy_tables(results)
    yield from tables.noise_tables(results)
    for name, result in results.items() if figures else ():
        yield from tables.figure_tables(name, result)


def _lines(name: str, scored: SetScores) -> Iterator[tuple[Any, ...]]:
    parts = [(f"{column}={value}", part) for column, by in scored.strata.items() for value, part in by.items()]
    for stratum, measures in [("", scored.measures), *parts]:
        for measure, keys in measures.items():
            for key, (low, high) in keys["confidence_interval"].items():
                if isinstance(keys.get(key), (int, float)):
                    is_headline = measure in CATALOGUE and key == CATALOGUE[measure].headline
                    label = measure if is_headline else f"{measure}.{key}"
                    yield name, label, stratum, keys[key], low, high, keys.get("n_clusters", {}).get(key)
