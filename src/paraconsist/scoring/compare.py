"""Compare models on the sets that they all answered: every pair, corrected p-values, a Pareto table; rank many."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paraconsist.data.options import converted
from paraconsist.data.rows import Rows
from paraconsist.errors import InputError, check_choice, input_error, renamed
from paraconsist.measures.buckets import partition
from paraconsist.measures.catalogue import PARAPHRASTIC, SEMANTIC, MeasureSpec, counted_roles, reads_probabilities
from paraconsist.measures.consistency_difference import (
    ConsistencyDifferenceResult,
    consistency_difference,
    share_difference,
    unit_values,
)
from paraconsist.measures.difference_tests import METHODS, MarginTest, margin_verdict, rejects
from paraconsist.measures.inconsistency_difference import InconsistencyDifferenceResult, inconsistency_difference
from paraconsist.measures.results import UNCERTAINTY, Record, Values, parse_signature
from paraconsist.measures.rules import ORIGINAL
from paraconsist.measures.standings import (
    CORRECTIONS,
    PairTest,
    ParetoRow,
    Standing,
    UnitValues,
    corrected_margin_p_values,
    corrected_p_values,
    joint_test,
    pareto_table,
    standings,
)
from paraconsist.scoring.alarms import degenerate
from paraconsist.scoring.alignment import Aligned, align, rows_with_ids
from paraconsist.scoring.options import CompareOptions, ScoreOptions
from paraconsist.scoring.outcomes import BY_WORDINGS, Ranking, problems_of, rank, unread, wording_change, wordings_of
from paraconsist.scoring.roles import apply_policy, check_parsed, groups_of, members_of, per_problem, violations
from paraconsist.scoring.score import chosen_measures, origin_of
from paraconsist.scoring.sources import Opened, Source, about_its_rows, public_model, with_measures

if TYPE_CHECKING:
    from paraconsist.scoring.checked import CheckedDifference

Difference: TypeAlias = ConsistencyDifferenceResult | InconsistencyDifferenceResult


@dataclass(frozen=True)
class ModelPair(Record):
    """Two models on one set by one measure."""

    first: str
    second: str
    measure: str
    result: Difference
    #: Of the headline difference, over all pairs, sets and measures compared, those of a constant answer among them.
    corrected_p_value: float
    #: With more than two models: p by joint sign flips of all pairs (max-T), and an interval at the level that goes
    #: with it, which excludes 0 just where this p is at most 1 less the confidence level. All pairs, sets and measures
    #: hold together (sets and measures by Bonferroni).
    simultaneous_p_value: float | None = None
    simultaneous_interval: list[float] | None = None


@dataclass(frozen=True)
class SetComparison(Record):
    """Every compared pair of models on one set."""

    set: str
    n_common_buckets: int
    n_buckets: dict[str, int]  # how many buckets each model's file has
    n_unparsed: dict[str, int]  # unparsed answers of each model, before the policy
    pairs: list[ModelPair]
    pareto: list[ParetoRow]  # of the models that are ranked; empty if the set has no P_C
    #: By the simultaneous p, of the models that are ranked; empty for fewer than three, or if not all pairs are there.
    standings: list[Standing]
    ranking: Ranking  # by steadiness above chance
    correction: str
    n_comparisons: int  # what the correction runs over
    warnings: list[str]
    #: Differences of rates corrected by answers that people checked; None without a sheet.
    checked: list[CheckedDifference] | None = None
    noun: str = field(default="problem", repr=False)  # what a bucket is called: the tasks of agents

    def ranked_by(self, measure: str) -> list[Standing]:
        """Return the models' ranks by a measure; of wordings by steadiness, as everywhere, where that ranks them."""
        own = [row for row in self.standings if row.measure == measure]
        if measure == BY_WORDINGS.name or (own and measure == PARAPHRASTIC.name):
            return self.ranking.standings or own
        return own


def compare_options(options: ScoreOptions, margin: float | None = None) -> CompareOptions:
    """Return the options of a comparison of models that were scored by some options.

    Methods of intervals that comparisons do not have, such as the bootstrap, become the default.
    """
    method = options.interval_method if options.interval_method in METHODS else CompareOptions.interval_method
    return converted(options, CompareOptions, margin=margin, interval_method=method)


@renamed(roles="role", groups="group")
def compare(
    models: Mapping[str, Mapping[str, Source]], options: CompareOptions, *, need_pairs: bool = True
) -> list[SetComparison]:
    """Compare models (model -> set -> its predictions; two or more) on every set that all of them have.

    InputError if sets differ, no bucket is common, what is common is not the same in every file, or no measure compares
    two models on any set, unless `need_pairs` is False.
    """
    if len(models) < 2:
        raise input_error("compare", "models", "be two at least", got=list(models))
    for model, sources in models.items():
        if asked := [name for name, source in sources.items() if "until" in source.predictions.metadata]:
            remedy = "Tests for a fixed number of buckets do not hold for it: compare runs without `until`."
            must = "not be runs that were asked until something was known"
            raise input_error("compare", "models", must, got=f"{model}, {asked[0]}", remedy=remedy)
    models = {model: with_measures(sources, options.measures) for model, sources in models.items()}
    sets = {name: {m: of[name] for m, of in models.items()} for name in _common_sets(models)}
    parts = {name: _one_set(sources, options) for name, sources in sets.items()}
    if need_pairs and not any(part.specs and part.who for part in parts.values()):
        if not any(part.specs for part in parts.values()):
            remedy = "Without gold labels models are compared on problems with two wordings."
            raise input_error("compare", "label", "name a column of the predictions", got=None, remedy=remedy)
        why = dict.fromkeys(model for part in parts.values() for model in unread(part.aligned.rows))
        must = "have an answer that could be read to a problem that all models answered"
        raise input_error("compare", "models", must, got=", ".join(why), remedy="Mend what reads the answers.")
    n_families = sum(len(part.specs) for part in parts.values())
    by_set = [[pair for spec in p.specs for pair in _pairs(p, spec, n_families, options)] for p in parts.values()]
    pairs = list(chain.from_iterable(by_set))
    p_values = corrected_p_values([float(pair.result["p_value"]) for pair in pairs], options.correction)
    pairs = [replace(pair, corrected_p_value=p) for pair, p in zip(pairs, p_values, strict=True)]
    corrected = iter(_with_corrected_margins(pairs, options))
    compared = [
        _compared(name, part, list(islice(corrected, len(of_set))), len(pairs), options)
        for (name, part), of_set in zip(parts.items(), by_set, strict=True)
    ]
    if not options.checked:
        return compared
    from paraconsist.scoring.checked import checked_differences, read_checked

    sheets, level = read_checked(options.checked, options.policy), options.confidence_level
    for i, comparison in enumerate(compared):
        found, notes = checked_differences(sets[comparison.set], parts[comparison.set].who, sheets, level)
        compared[i] = replace(comparison, checked=found, warnings=[*comparison.warnings, *notes])
    return compared


def _compared(
    name: str, part: _Part, pairs: list[ModelPair], n_comparisons: int, options: CompareOptions
) -> SetComparison:
    models, ranking = list(part.aligned.rows), rank(part.aligned.rows, part.unranked, options)
    able = [model for model in models if model not in ranking.unranked]
    pairs = [pair if {pair.first, pair.second} <= {*able} else _without_verdict(pair) for pair in pairs]
    ranked = _with_ranks(part.specs) if len(able) > 2 and not options.against_first else []
    warnings = (pair.result["warnings"] for pair in pairs)
    return SetComparison(
        set=name,
        n_common_buckets=part.aligned.n_common,
        n_buckets=part.aligned.n_buckets,
        n_unparsed=part.n_unparsed,
        pairs=pairs,
        pareto=_pareto(pairs, able, options),
        standings=[one for spec in ranked for one in _standings(spec, able, pairs, options)],
        ranking=ranking,
        correction=options.correction,
        n_comparisons=n_comparisons,
        warnings=list(dict.fromkeys(chain(part.aligned.notes, _undefined(pairs), *warnings))),
        noun=next(iter(part.aligned.rows.values())).nouns[0],
    )


def _without_verdict(pair: ModelPair) -> ModelPair:
    """Return a pair of which one model has no rank: that a constant answer is not worse says nothing."""
    test: MarginTest | None = pair.result.margin_test
    return replace(pair, result=replace(pair.result, margin_test=test and {**test, "verdict": "unranked"}))


def _undefined(pairs: Sequence[ModelPair]) -> Iterator[str]:
    """Yield a warning if nothing but P_C is compared, and it is undefined where the wording change is not."""
    is_undefined = all(p.measure == PARAPHRASTIC.name and np.isnan(p.result["difference"]) for p in pairs)
    if is_undefined and any(BY_WORDINGS.name in pair.result["differences"] for pair in pairs):
        yield "no problem has two paraphrases, so P_C is undefined: name wording_change as the measure"
    elif is_undefined:
        yield "no problem has two rows, so only accuracies are compared, and a margin has no verdict"


def _with_ranks(specs: Sequence[MeasureSpec]) -> list[MeasureSpec]:
    """Return the measures that models are ranked by: a constant answer has no wording change, so steadiness ranks."""
    return [spec for spec in specs if spec is not BY_WORDINGS]


def _with_corrected_margins(pairs: list[ModelPair], options: CompareOptions) -> list[ModelPair]:
    """Correct the margin tests of several pairs; their verdicts are by the corrected p."""
    tests = [pair.result.margin_test for pair in pairs]
    if len(tests) < 2 or not any(tests):
        return pairs
    p_values = np.array([[test["p_not_worse1"], test["p_not_worse2"]] if test else [1.0, 1.0] for test in tests])
    corrected = list[ModelPair]()
    of_each = corrected_margin_p_values(p_values, options.correction).tolist()
    for pair, test, (first, second) in zip(pairs, tests, of_each, strict=True):
        replaced: MarginTest | None = test and {
            **test,
            "verdict": margin_verdict(first, second, options.confidence_level),
            "corrected_p_not_worse1": first,
            "corrected_p_not_worse2": second,
            "corrected_p_equivalent": max(first, second),
        }
        corrected.append(replace(pair, result=replace(pair.result, margin_test=replaced)))
    return corrected


def compare_opened(
    opened: Sequence[Opened], options: CompareOptions, names: Sequence[str] | None = None
) -> tuple[list[SetComparison], dict[str, list[str]]]:
    """Compare what was opened; return the comparisons and, for each model, the sets that not every model has.

    Models are called by `names`, else by the shortest ends of their paths that differ, else by their own names or the
    columns of their predictions. Where every model has one set, and at most one name for it is known, these are taken
    for the same set. InputError if two are the same file, or the number of names differs from the models'.
    """
    check_choice("compare", "correction", options.correction, CORRECTIONS)
    check_choice("compare", "estimator", options.estimator, ("unbiased", "plugin"))
    by_set = _by_set(opened, names)
    compared = compare(by_set, options)
    used = {one.set for one in compared}
    left_out = {
        model: [n for n, of in with_measures(sets, options.measures).items() if of.has_name and n not in used]
        for model, sets in by_set.items()
    }
    return compared, {model: sets for model, sets in left_out.items() if sets}


def rank_opened(
    opened: Sequence[Opened], options: CompareOptions, names: Sequence[str] | None = None
) -> list[SetRanking]:
    """Rank what was opened on every set that two have; names and errors are as in `compare_opened`."""
    by_set = _by_set(opened, names)
    ranked = rank_models(by_set, options)
    if not ranked:
        _common_sets(by_set)
    for place, one in enumerate(ranked):
        why = "no problem has two wordings" if one.n_common_buckets else "no other model can be compared with it"
        of_set = [model for model, sets in by_set.items() if one.set in sets and model not in one.ranking.steadiness]
        unranked = {**dict.fromkeys(of_set, why), **one.ranking.unranked, **one.left_out}
        ranked[place] = replace(one, ranking=replace(one.ranking, unranked=unranked))
    return ranked


def _by_set(opened: Sequence[Opened], names: Sequence[str] | None) -> dict[str, dict[str, Source]]:
    """Return the sources by model and set."""
    _check_different(opened)
    models = dict(zip(_names(opened, names), opened, strict=True))
    known = {name for one in opened for name, source in one.sets.items() if source.has_name}
    is_one = len(known) <= 1 and all(len(one.sets) == 1 for one in opened)
    shared, is_divided = next(iter(known), ""), any(source.target for one in opened for source in one.sets.values())

    def name_of(model: str, one: Opened, name: str) -> str:
        source = one.sets[name]
        if is_one or source.has_name or len(one.sets) > 1:
            return shared if is_one else name
        return _only_role(source) if is_divided else model

    return {model: {name_of(model, one, name): of for name, of in one.sets.items()} for model, one in models.items()}


def _only_role(source: Source) -> str:
    """Return the role of the rows that are counted, as sets of a file with rows of several are called."""
    table, name = source.predictions.table, source.columns.role
    roles = table[name].unique().to_pylist() if name in table.column_names else [PARAPHRASTIC.target]
    counted = counted_roles({str(role).lower() for role in roles})
    return ", ".join(counted)


def _check_different(opened: Sequence[Opened]) -> None:
    """Refuse one model given twice: it would differ from itself in nothing."""
    paths = [one.path for one in opened if one.path is not None]
    if len(opened) < 2:
        got = list(map(str, paths)) or f"{len(opened)} table"
        remedy = "Give another; of a table with a column for each, `prediction` names them: a,b; with rows of each, a "
        remedy += "column model does."
        raise input_error("compare", "paths", "name two models at least", got=got, remedy=remedy)
    contents = {p: p.resolve() if p.is_dir() else hashlib.sha256(p.read_bytes()).hexdigest() for p in {*paths}}
    seen: dict[Any, Path] = {}
    for path, one in ((one.path, one) for one in opened if one.path is not None):
        key = contents[path], *{source.model for source in one.sets.values()}
        if key in seen:
            remedy = "The two hold the same, byte for byte: give the other model's."
            must = "be different models' predictions"
            raise input_error("compare", "paths", must, got=[str(seen[key]), str(path)], remedy=remedy)
        seen[key] = path


def _names(opened: Sequence[Opened], names: Sequence[str] | None) -> list[str]:
    if names:
        if len(names) != len(opened) or len(set(names)) != len(names):
            wanted = f"be given once for each of the {len(opened)} models, all different"
            raise input_error("compare", "name", wanted, got=list(names))
        return list(names)
    paths = [one.path for one in opened if one.path is not None]
    if len(paths) < len(opened):
        sources = [next(iter(one.sets.values())) for one in opened]
        ways: list[list[str | None]] = [[each.model for each in sources], [each.columns.prediction for each in sources]]
        own = next((way for way in ways if None not in way and len(set(way)) == len(way)), ways[0])
        return [f"model {i}" if own.count(name) > 1 or name is None else name for i, name in enumerate(own, 1)]
    of_logs = [{public_model(s.predictions) if s.is_log else None for s in one.sets.values()} for one in opened]
    said = [name for of_log in of_logs if len(of_log) == 1 for name in of_log if name is not None]
    if len(said) == len(opened) == len(set(said)):  # logs are called by when they were written, or by their task
        return said
    parts = [[*path.resolve().parts[:-1], path.stem if path.is_file() else path.name] for path in paths]
    for path, part, one in zip(paths, parts, opened, strict=True):  # a file of several models is named by each
        part += {source.model or "" for source in one.sets.values()} if paths.count(path) > 1 else ()
    ends = (["/".join(part[-n:]) for part in parts] for n in range(1, max(map(len, parts)) + 1))
    return next((names for names in ends if len(set(names)) == len(names)), list(map(str, paths)))


def _common_sets(models: Mapping[str, Mapping[str, Source]]) -> list[str]:
    first, *others = models.values()
    common = [name for name in first if all(name in other for other in others)]
    if not common:
        listed = "; ".join(f"{model}: {', '.join(sets)}" for model, sets in models.items())
        remedy = "Run both models on one set, or give one predictions file of each."
        if any(source.target for sets in models.values() for source in sets.values()):
            remedy = "A file with several roles has a set for each: give all models' files rows of the same roles."
        raise input_error("compare", "models", "have a set in common", got=listed, remedy=remedy)
    return common


@dataclass(frozen=True)
class _Part:
    """One set: its rows, what is measured, the pairs of models, and what signatures say of each model's file."""

    aligned: Aligned
    specs: Sequence[MeasureSpec]
    who: list[tuple[str, str]]
    origins: Mapping[str, Mapping[str, str]]
    n_unparsed: dict[str, int]
    unranked: dict[str, str]  # model -> why its consistency says nothing of it


def tested_by(spec: MeasureSpec) -> MeasureSpec:
    """Return the measure whose test is used for the differences: P_C for measures of whole buckets."""
    return PARAPHRASTIC if spec.mean_over == "buckets" else spec


def read_models(sources: Mapping[str, Source], options: CompareOptions) -> dict[str, Rows]:
    """Return each model's rows of one set as they stand, with their own ids where every file has them."""
    rows = {}
    has_ids = all(source.columns.example in source.predictions.table.column_names for source in sources.values())
    for model, source in sources.items():
        need = reads_probabilities(options.measures or source.predictions.metadata.get("measures"))
        rows[model] = rows_with_ids(source, with_ids=has_ids, need_probabilities=need)
        check_parsed("compare", "models", rows[model], model)
    return rows


def compared_measures(sources: Mapping[str, Source], aligned: Aligned, options: CompareOptions) -> list[MeasureSpec]:
    """Return the measures that models are compared by on one set."""
    recorded = next((m for source in sources.values() if (m := source.predictions.metadata.get("measures"))), None)
    first = next(iter(aligned.rows.values()))
    wanted = about_its_rows(next(iter(sources.values())), options.measures) or ()
    named = [name for name in wanted if name != BY_WORDINGS.name]
    specs = [BY_WORDINGS] if len(named) < len(wanted) else []
    if named or not specs:
        chosen = chosen_measures("compare", named, {"measures": recorded or []}, first)
        tested = [tested_by(spec) for spec in chosen]
        replaced = _give_way(first, named, recorded or ())
        if any(spec in replaced for spec in tested):
            specs = [BY_WORDINGS]  # alone by default: a second test would double the family of the correction
            tested = [spec for spec in tested if spec not in replaced]
        specs += tested
    if BY_WORDINGS in specs and not len(wordings_of(first)):
        if len(named) < len(wanted):
            must = f"hold problems with two wordings for {BY_WORDINGS.name}"
            raise input_error("compare", "models", must, got=f"one wording of each ({len(first)} rows)")
        specs.remove(BY_WORDINGS)
    return list({spec.name: spec for spec in specs}.values())


def _give_way(rows: Rows, named: Sequence[str], recorded: Sequence[str]) -> list[MeasureSpec]:
    """Return the measures in place of which models are compared by the wording change.

    P_C is of two paraphrases: where no problem has two, only who names it gets it, undefined and with a warning.
    """
    if rows.is_without_gold:
        return [PARAPHRASTIC, *[SEMANTIC] * (not named and SEMANTIC.name not in recorded)]
    rewordings = np.asarray(rows.buckets)[rows.roles == "paraphrase"]
    has_two = len(np.unique(rewordings)) < len(rewordings)
    return [] if named or has_two or not len(wordings_of(rows)) else [PARAPHRASTIC]


def _one_set(sources: Mapping[str, Source], options: CompareOptions) -> _Part:
    rows = read_models(sources, options)
    n_unparsed = {model: int(read.unparsed.sum()) for model, read in rows.items()}
    aligned = align({model: apply_policy(read, options.policy)[0] for model, read in rows.items()})
    specs = compared_measures(sources, aligned, options)
    names = list(aligned.rows)
    pairs = [(names[0], other) for other in names[1:]] if options.against_first else list(combinations(names, 2))
    left_out = unread(aligned.rows)
    chosen = [pair for pair in pairs if left_out.keys().isdisjoint(pair)]
    origins = {model: origin_of(source.predictions.metadata) for model, source in sources.items()}
    void = {m: degenerate(read, options.policy, sources[m].predictions.label_names) for m, read in rows.items()}
    unranked = {model: why[0] for model, why in void.items() if why}
    return _Part(
        replace(aligned, notes=[*aligned.notes, *_notes(sources)]), specs, chosen, origins, n_unparsed, unranked
    )


def _notes(sources: Mapping[str, Source]) -> list[str]:
    """Return what was noted in reading the files, with the models that it is about where these are not all."""
    models: dict[str, list[str]] = {}
    for model, source in sources.items():
        for note in source.predictions.metadata.get("notes", ()):
            models.setdefault(note, []).append(model)
    return [note if len(of) == len(sources) else f"{', '.join(of)}: {note}" for note, of in models.items()]


def _pairs(part: _Part, spec: MeasureSpec, n_families: int, options: CompareOptions) -> Iterator[ModelPair]:
    """Yield a measure's pairs; of three models and more with p-values and intervals that hold for all of them together.

    Their corrected p-values are those of all sets and measures, and still to come.
    """
    rows = part.aligned.rows
    level, joint = 1.0, None
    if len(part.who) > 1:
        columns = [list(map(list(rows).index, models)) for models in zip(*part.who, strict=True)]
        differences = values_of_units(spec, rows, options).differences(*columns)
        joint = joint_test(differences, n_draws=options.n_permutations, seed=options.seed)
        level = 1.0 - joint.critical((1.0 - options.confidence_level) / n_families)
    for one, two in part.who:
        result = _compare(spec, rows[one], rows[two], options)
        result = result if spec is BY_WORDINGS else per_problem(result, rows[one])
        origin = _origin_of_both(part.origins[one], part.origins[two])
        signature = parse_signature(result.signature).replace(unparsed=options.policy, **origin)
        p, ends = None, None
        if joint is not None:
            p, ends = min(1.0, n_families * joint.adjusted(result.p_value)), [-1.0, 1.0]
            if level < 1.0 and isinstance(result, ConsistencyDifferenceResult):
                test_ends = [np.nan, np.nan] if result.test is None else result.test.interval(level)
                ends = np.clip(test_ends, -1.0, 1.0).tolist()
            elif level < 1.0:
                wider = replace(options, confidence_level=level, margin=None)
                ends = _compare(spec, rows[one], rows[two], wider).confidence_interval["difference"]
        yield ModelPair(one, two, spec.name, replace(result, signature=str(signature)), float("nan"), p, ends)


def _origin_of_both(one: Mapping[str, str], two: Mapping[str, str]) -> dict[str, str]:
    """Return what signatures say of two files: both values of a part in which they differ."""
    usual = {"dtype": "float32"}
    both = {name: [file.get(name, usual.get(name)) for file in (one, two)] for name in {**one, **two}}
    return {name: ", ".join(dict.fromkeys(filter(None, values))) for name, values in both.items()}


def _compare(spec: MeasureSpec, first: Rows, second: Rows, options: CompareOptions) -> Difference:
    names = ("confidence_level", "margin", "n_permutations", "seed")
    settings: dict[str, Any] = {name: getattr(options, name) for name in names}
    if spec in (PARAPHRASTIC, BY_WORDINGS):
        settings |= {"interval_method": options.interval_method, "n_resamples": options.n_resamples}
        by_wordings = _wording_change(first, second, settings) if len(wordings_of(first)) else None
        if by_wordings is not None and first.is_without_gold:
            return by_wordings
        settings |= _wordings(first, options)
        by_right = consistency_difference(first.predictions, second.predictions, **settings)
        if spec is BY_WORDINGS and by_wordings is not None:
            return _joined(by_wordings, by_right)
        return _joined(by_right, by_wordings)
    one, other = violations(spec, first), violations(spec, second)
    return inconsistency_difference(
        one.amount > 0,
        other.amount > 0,
        satisfied1=one.counts if spec.is_conditional else None,
        satisfied2=other.counts if spec.is_conditional else None,
        groups=members_of(first, one.positions, one.partners) or groups_of(first, one.positions),
        **settings,
    )


def _wording_change(first: Rows, second: Rows, settings: Values) -> ConsistencyDifferenceResult:
    """Compare two models by how often two wordings of a problem get different answers."""
    units = wording_change({"first": first, "second": second})
    n_rows, n_problems = len(wordings_of(first)), len(problems_of(first))
    one, two = units.values.T
    result = share_difference(BY_WORDINGS.name, one, two, units.groups, n_examples=n_rows, **settings)
    return replace(result, n_buckets=n_problems)


def _joined(
    result: ConsistencyDifferenceResult, more: ConsistencyDifferenceResult | None
) -> ConsistencyDifferenceResult:
    """Return a result with the measures of another beside its own."""
    if more is None:
        return result
    tables = ("values1", "values2", "differences", "p_values", "p_value_error", *UNCERTAINTY)
    both: Any = {name: {**getattr(more, name), **getattr(result, name)} for name in tables}
    return replace(result, **both)


def _wordings(rows: Rows, options: CompareOptions) -> dict[str, Any]:
    """Return the parameters of a comparison of P_C, except for the predictions."""
    roles = rows.roles.tolist() if (rows.roles == ORIGINAL).any() else None
    columns = {"references": rows.labels, "buckets": rows.buckets, "roles": roles, "groups": rows.groups}
    return {**columns, "estimator": options.estimator}


def values_of_units(spec: MeasureSpec, rows: Mapping[str, Rows], options: CompareOptions) -> UnitValues:
    """Return what each unit of the models' aligned rows adds to each model's P_C, or to its violations."""
    first = next(iter(rows.values()))
    if spec is BY_WORDINGS:
        return wording_change(rows)
    if spec is PARAPHRASTIC:
        return unit_values({model: one.predictions for model, one in rows.items()}, **_wordings(first, options))
    by_model = [violations(spec, one) for one in rows.values()]
    kept = np.stack([(one.amount > 0).astype(np.float64) for one in by_model], axis=1)
    counted = np.stack([one.counts for one in by_model], axis=1) if spec.is_conditional else None
    members = members_of(first, by_model[0].positions, by_model[0].partners)
    groups = groups_of(first, by_model[0].positions)
    if members is not None:  # only the likeness of the pairs is used: each row counts for both of its members
        groups, kept = np.concatenate(members), np.concatenate([kept, kept])
        counted = None if counted is None else np.concatenate([counted, counted])
    return UnitValues(kept, counted, None if groups is None else partition(groups).codes)


def _standings(
    spec: MeasureSpec, models: Sequence[str], pairs: Sequence[ModelPair], options: CompareOptions
) -> list[Standing]:
    """Return the models' ranks and letters."""
    of_measure = (pair for pair in pairs if pair.measure == spec.name and {pair.first, pair.second} <= {*models})
    mine = {(pair.first, pair.second): pair for pair in of_measure}
    sign = 1.0 if spec is PARAPHRASTIC else -1.0  # of violations fewer are better
    better = {who: sign * pair.result["difference"] >= 0.0 for who, pair in mine.items()}
    differ = {who: rejects(pair.simultaneous_p_value or 0.0, options.confidence_level) for who, pair in mine.items()}
    return standings(spec.name, models, better, differ)


def _pareto(pairs: Sequence[ModelPair], names: Sequence[str], options: CompareOptions) -> list[ParetoRow]:
    """Return the models' accuracy against their P_C, over the common buckets, with the tests of their pairs."""
    results = {(pair.first, pair.second): pair.result for pair in pairs if pair.measure == PARAPHRASTIC.name}
    axes = ("accuracy", PARAPHRASTIC.headline if options.estimator == "unbiased" else PARAPHRASTIC.published)
    p_values = [result["p_values"][axis] for result in results.values() for axis in axes]
    corrected = iter(corrected_p_values(p_values, options.correction))
    values: dict[str, dict[str, float]] = {}
    tests = {}
    for (first, second), result in results.items():
        values |= {first: result["values1"], second: result["values2"]}
        parts = [(result["differences"][axis], result["p_values"][axis], next(corrected)) for axis in axes]
        tests[first, second] = PairTest(*parts[0], *parts[1])
    accuracy, consistency = ({m: values[m][axis] for m in names if m in values} for axis in axes)
    if len(accuracy) < 2:
        return []
    return pareto_table(accuracy, consistency, tests, alpha=1.0 - options.confidence_level)


# ---- many models, each set by itself, over the buckets that its models share

_LEAST_SHARE = 0.5  # of the buckets of one model, which all ranked have in common at least
_UNTIL = "it was asked until something was known: tests for a fixed number of problems do not hold"


@dataclass(frozen=True)
class SetRanking(Record):
    """The models of one set, ranked by each of its measures."""

    set: str
    n_common_buckets: int  # that all ranked models answered, and they are ranked on
    #: Of every measure and ranked model: ranks and groups of one measure hold
    #: for all of its pairs together at the confidence level; sets and measures are families of their own.
    standings: list[Standing]
    ranking: Ranking  # by steadiness above chance
    left_out: dict[str, str]  # model -> why it is not ranked


@renamed(groups="group")
def rank_models(models: Mapping[str, Mapping[str, Source]], options: CompareOptions) -> list[SetRanking]:
    """Rank models (model -> set -> its predictions) on every set that two have, all pairs tested at once.

    The tests are joint sign flips of buckets, or of their groups (`UnitValues.pair_tests` of `measures.standings`).
    """
    models = {model: with_measures(sources, options.measures) for model, sources in models.items()}
    names = dict.fromkeys(name for sets in models.values() for name in sets)
    by_set = {name: {model: sets[name] for model, sets in models.items() if name in sets} for name in names}
    return [_ranking(name, sources, options) for name, sources in by_set.items() if len(sources) > 1]


def _ranking(name: str, sources: Mapping[str, Source], options: CompareOptions) -> SetRanking:
    rows, unranked, left_out = _comparable(sources, options)
    if not rows or len(rows) + len(unranked) < 2:
        return SetRanking(name, 0, [], Ranking(0, {}, [], unranked), left_out)
    aligned, ranked = align(rows), list[Standing]()
    ranking = rank(aligned.rows, unranked, options)
    able = {model: read for model, read in aligned.rows.items() if model not in ranking.unranked}
    models = list(able)
    for spec in _with_ranks(compared_measures(sources, aligned, options)) if len(able) > 1 else ():
        units = values_of_units(spec, able, options)
        one, two, sums, p = units.pair_tests(n_draws=options.n_permutations, seed=options.seed)
        pairs = [(models[i], models[j]) for i, j in zip(one.tolist(), two.tolist(), strict=True)]
        is_better = (sums >= 0.0) if spec is PARAPHRASTIC else (sums <= 0.0)  # of violations fewer are better
        better = dict(zip(pairs, is_better.tolist(), strict=True))
        differ = dict(zip(pairs, rejects(p, options.confidence_level).tolist(), strict=True))
        ranked += standings(spec.name, models, better, differ)
    return SetRanking(name, aligned.n_common, ranked, ranking, left_out)


def misfits(sources: Mapping[str, Source]) -> dict[str, str]:
    """Return the models of a set (and why) that have other rows than most, or were asked until something was known."""
    if len(sources) < 2:
        return {}
    until = [model for model, source in sources.items() if "until" in source.predictions.metadata]
    has_ids = all(source.columns.example in source.predictions.table.column_names for source in sources.values())
    rows = {m: rows_with_ids(source, with_ids=has_ids) for m, source in sources.items() if m not in until}
    return dict.fromkeys(until, _UNTIL) | _fewest([*rows], lambda reference: _unaligned(reference, rows))


def _fewest(models: Sequence[str], misfits_of: Callable[[str], dict[str, str]]) -> dict[str, str]:
    """Return the models (and why) that do not fit one, the first for which these are no more than half."""
    untried, fewest = models, dict.fromkeys(models, "")
    while untried and 2 * len(fewest) > len(models):
        others = misfits_of(untried[0])
        untried = [model for model in untried if model in others]
        fewest = min(fewest, others, key=len)
    return fewest


def _unaligned(reference: str, rows: Mapping[str, Rows]) -> dict[str, str]:
    reasons = {}
    for model in (model for model in rows if model != reference):
        try:
            align({reference: rows[reference], model: rows[model]})
        except InputError as problem:
            reasons[model] = str(problem).removeprefix("compare: ")
    return reasons


def _comparable(
    sources: Mapping[str, Source], options: CompareOptions
) -> tuple[dict[str, Rows], dict[str, str], dict[str, str]]:
    """Return the rows of the models that are compared, why some say nothing of consistency, and why others do not fit.

    These fit the one that answered the most problems, or the next one, if too few fit that.
    """
    rows: dict[str, Rows] = {}
    void: dict[str, str] = {}
    unread: dict[str, str] = {}
    for model, source in sources.items():
        if "until" in source.predictions.metadata:
            void[model] = _UNTIL
            continue
        try:
            read = read_models({model: source}, options)[model]
            if why := degenerate(read, options.policy, source.predictions.label_names):
                void[model] = why[0]
            else:
                rows[model] = apply_policy(read, options.policy)[0]
        except InputError as problem:
            unread[model] = str(problem)
    buckets = {model: np.unique(read.buckets) for model, read in rows.items() if read.buckets is not None}
    order = sorted(buckets, key=lambda model: -len(buckets[model]))
    left_out = _fewest(order, lambda reference: _misfits(reference, rows, buckets))
    return {model: read for model, read in rows.items() if model not in left_out}, void, unread | left_out


def _misfits(reference: str, rows: Mapping[str, Rows], buckets: Mapping[str, Any]) -> dict[str, str]:
    """Return the models (and why) that have other rows than one, or would leave all others too few in common."""
    reasons = _unaligned(reference, rows)
    others = rows.keys() - {reference, *reasons}
    shared = {model: np.intersect1d(buckets[reference], buckets[model]) for model in others}
    common, n = buckets[reference], len(buckets[reference])
    for model in sorted(shared, key=lambda model: (-len(shared[model]), model)):
        left = np.intersect1d(common, shared[model])
        if len(left) >= _LEAST_SHARE * n:
            common = left
            continue
        reasons[model] = f"answered {len(shared[model]):,} of the {n:,} problems that {reference} answered"
        if len(shared[model]) >= _LEAST_SHARE * n:
            reasons[model] += f", and {len(left):,} of the {len(common):,} that all ranked answered"
    return {model: reasons[model] for model in rows if model in reasons}
