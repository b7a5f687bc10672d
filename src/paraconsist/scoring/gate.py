"""A condition on results, for continuous integration: ``pc.low >= 0.75``.

A condition is ``QUANTITY OPERATOR NUMBER``, several joined by ``and``. A quantity is a measure's short name
(``pc``, ``semantic``, ``change``, ... its headline value), with ``_published`` the value as its paper computes it where
that is another (``pc`` is the unbiased P_C, ``pc_published`` the plug-in; so are ``agreement``, ``vap``, ``pvap`` and
``between_variance``), any other key of its results (``paraphrastic_consistency_unbiased``, ``accuracy``),
``measure.key``, which is never another estimator's, or a key of the set: ``wording_change``, ``same_answer``,
``above_chance`` (`paraconsist.scoring.outcomes`), ``unparsed_rate``, a key of the noise floor
(``excess_inconsistency``), or ``below_4_of_5``, the number of problems less
than 4/5 of whose wordings (or runs) are right, with any two numbers. ``corrected.`` before a rate takes its value as
corrected by answers that people checked (``corrected.same_answer.low``). ``.low`` and ``.high`` take the ends of its
interval.

Where the policies for unparsed answers disagree on a condition it fails, unless one of them was named; so it does for
P_C where two wordings get the same answer more than 10 points less often, too rarely for the condition: P_C takes two
different wrong answers for consistent.

What is undefined fails. So does a consistency that says nothing of the model (a constant or nearly constant answer,
labels that never meet, nearly no answer that could be read; `paraconsist.scoring.alarms.degenerate`), whatever its
value, unless `allow_degenerate` is given. Accuracies and counts are judged there too.

Against another model, with a margin: ``pc.not_worse`` and ``wording_change.not_worse`` hold where a paired test shows
that the measure is not worse than the other model's by the margin or more (non-inferiority), ``pc.equivalent`` where it
is neither worse nor better by that much (two one-sided tests), at 1 less the confidence level.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TypeAlias

from paraconsist.data.options import SourceOptions
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import CATALOGUE, PARAPHRASTIC, SENSITIVITY, MeasureSpec
from paraconsist.measures.results import Values
from paraconsist.scoring.compare import compare
from paraconsist.scoring.options import CompareOptions, ScoreOptions
from paraconsist.scoring.outcomes import OF_WORDINGS, WORDING_CHANGE, are_far_apart
from paraconsist.scoring.roles import POLICIES
from paraconsist.scoring.score import SetScores
from paraconsist.scoring.sources import Opened, Source, open_source, read_json
from paraconsist.scoring.until import Until

#: Results by set, or by measure: as they are written, or typed.
Results: TypeAlias = Mapping[str, Values]

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"\s*([a-z0-9_.]+)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)\s*(%?)\s*")
_OF_THE_SET = ("unparsed_rate", "n_unparsed", "n_rows", "majority_rate", "n_dropped_buckets")
_OF_THE_WORDINGS = tuple(quantity.key for quantity in OF_WORDINGS)
_BELOW = re.compile(r"below_([0-9]+)_of_([1-9][0-9]*)")
_OF_DRAWS = re.compile(r"pass_(hat|at)_[0-9]+")
_N_WORST = 3
_PUBLISHED = "_published"
#: Names whose bare key is a plug-in estimate: they mean the unbiased one, as ``pc`` does.
_SHORT = ("agreement", "vap", "pvap", "between_variance")
_MARGIN = re.compile(r"\s*([a-z0-9_]+)\.(not_worse|equivalent)\s*")
_MARGIN_KEYS = {"not_worse": "p_not_worse1", "equivalent": "p_equivalent"}
_HOW = "Write for instance 'wording_change.high <= 10%' or 'change.high < 10% and unparsed_rate <= 0.01'."


@dataclass(frozen=True)
class Condition:
    """One comparison: what, which end (``""``, ``low``, ``high``), operator, bound.

    Against another model the end is ``not_worse`` or ``equivalent``, and p is compared with the bound.
    """

    quantity: str
    end: str
    comparison: str
    bound: float

    def __str__(self) -> str:
        return self.what if self.end in _MARGIN_KEYS else f"{self.what} {self.comparison} {self.bound:g}"

    @property
    def what(self) -> str:
        """The quantity and its end, as written."""
        return f"{self.quantity}.{self.end}" if self.end else self.quantity

    @property
    def meaning(self) -> str:
        """Which of a measure's two values is meant, where its paper computes another than the headline."""
        if self.end in _MARGIN_KEYS:
            return f"p, {self.bound:.4g} at most"
        spec, published = _spec_of(self.quantity)
        has_both = self.quantity.removesuffix(_PUBLISHED) in _SHORT or (spec is not None and spec.published)
        return "" if not has_both else "as published" if published else "unbiased"

    def holds(self, value: float) -> bool:
        """Say whether `value` meets it, apart from rounding; an undefined value never does."""
        value = self.bound if abs(value - self.bound) < 1e-9 else value
        return not math.isnan(value) and _OPERATORS[self.comparison](value, self.bound)

    def margin(self, value: float) -> float:
        """Return how far inside the bound `value` lies; negative outside, and lowest where undefined."""
        if math.isnan(value):
            return -math.inf
        return value - self.bound if self.comparison.startswith(">") else self.bound - value


@dataclass(frozen=True)
class Check:
    """A condition on one set: its value, why that cannot be judged (undefined: nan; or degenerate), if it holds."""

    condition: Condition
    set_name: str
    value: float
    reason: str = ""
    within: str = ""  # where the difference from another model lies
    worst: tuple[str, ...] = ()  # where it does not hold, the buckets to look at

    @property
    def passed(self) -> bool:
        return not self.reason and self.condition.holds(self.value)


def parse_conditions(text: str, confidence_level: float = 0.95) -> tuple[Condition, ...]:
    """Read conditions; the tests of ``not_worse`` and ``equivalent`` are at 1 less the confidence level.

    InputError if the text is no condition.

    >>> [str(condition) for condition in parse_conditions("pc.low >= 75% and unparsed_rate<=0.01")]
    ['pc.low >= 0.75', 'unparsed_rate <= 0.01']
    """
    conditions = []
    for part in re.split(r"\band\b|&&", text.lower()):
        if tested := _MARGIN.fullmatch(part):
            conditions.append(Condition(tested[1], tested[2], "<=", 1.0 - confidence_level))
            continue
        match, number = _CONDITION.fullmatch(part), math.nan
        with suppress(ValueError):
            number = float(match[3]) if match else math.nan
        if match is None or not math.isfinite(number):
            wanted = "be QUANTITY >=, <=, > or < NUMBER"
            raise input_error("gate", "condition", wanted, got=part.strip() or text, remedy=_HOW)
        quantity, dot, end = match[1].rpartition(".")
        if end not in ("low", "high") or not dot:
            quantity, end = match[1], ""
        conditions.append(Condition(quantity, end, match[2], number / 100 if match[4] else number))
    return tuple(conditions)


def check(conditions: tuple[Condition, ...], results: Results, *, allow_degenerate: bool = False) -> list[Check]:
    """Check every condition on every set that has its quantity.

    `results` are set name -> what `paraconsist.scoring.score.score` returns, or its strict JSON; with
    `allow_degenerate` a consistency is judged by its value also where it says nothing of the model. InputError if no
    set has the quantity, a set has it twice, it has no interval, or the bound of a share is in per cent; a quantity
    that a typing error names must not pass for one that holds.
    """
    checks = []
    for condition in conditions:
        values = {name: _find(condition, result, allow_degenerate) for name, result in results.items()}
        known = {name: value for name, value in values.items() if value is not None}
        if not known:
            must, got = "name a measure that both models have, with `against` and `margin`", str(condition)
            if condition.end in _MARGIN_KEYS:
                remedy = "'wording_change.not_worse' needs no gold labels; `paraconsist compare` compares accuracies."
                raise input_error("gate", "condition", must, got=got, remedy=remedy)
            listed = sorted({key for result in results.values() for key in _known(result)})
            perhaps = "".join(f"Perhaps {key}? " for key in get_close_matches(condition.quantity, listed, 1))
            first = condition.quantity.partition(".")[0]
            has_draws = any(map(_OF_DRAWS.fullmatch, listed))
            if spec := SENSITIVITY if _OF_DRAWS.fullmatch(first) and not has_draws else _spec_of(first)[0]:
                perhaps = f"Give `measure` {spec.name}, which is not measured by default here. "
            if first.startswith(("excess_", "flip_rate")):
                perhaps = "It takes inputs that were asked again: a run with `--repeats`, or a column `--trial`. "
            must, got = "name a quantity of the results", condition.quantity
            raise input_error("gate", "condition", must, got=got, remedy=f"{perhaps}Known here: {', '.join(listed)}.")
        for name, (value, reason) in known.items():
            objection = "" if allow_degenerate else _objection(condition, value, results[name])
            checks.append(Check(condition, name, value, reason or objection, _within(condition, results[name])))
    return checks


def _within(condition: Condition, result: Values) -> str:
    """Return in which interval the difference from the other model lies; empty for other conditions."""
    test = _tested(condition, result)["margin_test"] if condition.end in _MARGIN_KEYS else None
    if test is None:
        return ""
    low, high = test["interval"]
    few = ": too few problems to tell" if low < -test["margin"] and high > test["margin"] else ""
    return f"the difference is {low:+.4f} to {high:+.4f}, the margin {test['margin']:g}{few}"


def check_sequentially(conditions: tuple[Condition, ...], results: Results) -> list[tuple[Condition, str, bool | None]]:
    """Return for every condition and set whether it holds; None where more buckets must be asked to know.

    The confidence sequence of a run with ``until`` decides, which is wrong at any look in at most 1 less the confidence
    level: to let a model pass that is below the bar, and to fail one that is above it, in half of that each.
    InputError for runs of a fixed size, and quantities other than the run's.
    """
    verdicts = []
    for condition in conditions:
        for name, result in results.items():
            found = result.get("until")
            if found is None:
                remedy = "Give `until` to `run`; a run of a fixed size has pc.low and the like."
                must = "be a run that is asked until something is known where `sequential` is given"
                raise input_error("gate", "path", must, got=name, remedy=remedy)
            if condition.quantity != found["quantity"] or condition.end:
                must = f"be about {found['quantity']}, which the run asks for, where `sequential` is given"
                raise input_error("gate", "condition", must, got=str(condition))
            bar, found = Until(condition.quantity, condition.comparison, condition.bound), found.get("own") or found
            verdicts.append((condition, name, bar.verdict(found["low"], found["high"])))
    return verdicts


def with_worst(checks: Sequence[Check], sets: Mapping[str, SetScores]) -> list[Check]:
    """Return checks that name, where a condition does not hold, the buckets that depend most on the wording."""
    return [
        one
        if one.passed or one.set_name not in sets
        else replace(one, worst=tuple(map(str, sets[one.set_name].worst(_N_WORST))))
        for one in checks
    ]


def _objection(condition: Condition, value: float, result: Values) -> str:
    """Return why a value that meets its condition says less than it seems to; empty where it does not."""
    if not condition.holds(value):
        return ""
    reasons = []
    wording, spec = result.get("wording", {}), _spec_of(condition.quantity)[0]
    is_consistency = spec is PARAPHRASTIC or condition.quantity in (PARAPHRASTIC.headline, PARAPHRASTIC.published)
    if is_consistency and wording and condition.end not in _MARGIN_KEYS:
        same = _value(condition, wording, "same_answer")
        measured = result["measures"][PARAPHRASTIC.name]
        if same is not None and not condition.holds(same[0]) and are_far_apart(measured, wording):
            reasons.append(
                f"two wordings get the same answer {100 * wording['same_answer']:.1f} % of the time, as P_C takes two "
                "different wrong answers for consistent; write same_answer or wording_change"
            )
    named = result.get("options", {}).get("unparsed") is not None
    found = {} if named else {policy: _under(policy, condition, result) for policy in POLICIES}
    by_policy = {policy: value[0] for policy, value in found.items() if value is not None}
    if not all(condition.holds(value) for value in by_policy.values()):
        said = {policy: "undefined" if math.isnan(value) else f"{value:.4f}" for policy, value in by_policy.items()}
        listed = ", ".join(f"{policy} {value}" for policy, value in said.items())
        reasons.append(f"the policies for unparsed answers disagree ({listed}): name the one that you mean")
    return "; ".join(reasons)


def _under(policy: str, condition: Condition, result: Values) -> tuple[float, str] | None:
    """Return a condition's value under a policy for unparsed answers; None where it is not known."""
    if condition.end in _MARGIN_KEYS:
        test = _tested(condition, result)["margin_tests"].get(policy)
        return None if test is None else (test[_MARGIN_KEYS[condition.end]], "")
    spec, published = _spec_of(condition.quantity)
    if condition.quantity in _OF_THE_WORDINGS:
        return _value(condition, result.get("wording_by_policy", {}).get(policy, {}), condition.quantity)
    keys = None if spec is None or published else result.get("by_policy", {}).get(policy, {}).get(spec.name)
    if spec is None or not keys:
        return None
    ends = {"confidence_interval": {spec.headline: keys["confidence_interval"]}}
    return _value(condition, {**keys, **ends}, spec.headline)


def warnings_of(results: Results, conditions: tuple[Condition, ...]) -> list[str]:
    """Return what results warn of, each sentence once with its set's name: of measures those with a quantity judged."""
    names = {name for condition in conditions for name in condition.quantity.split(".")}  # such as corrected.pc
    specs = {spec.name for name in names if (spec := _spec_of(name)[0]) is not None}
    lines = [
        f"{name}: {warning}"
        for name, result in results.items()
        for measure, part in (("", result), *result["measures"].items())
        if not measure or measure in specs or names & part.keys()
        for warning in part.get("warnings", ())
    ]
    return list(dict.fromkeys(lines))


def opened_or_written(files: Sequence[Path], read: SourceOptions, options: ScoreOptions) -> Opened | Results:
    """Return what a file holds: predictions, opened, as of several files, or results by set as they were written.

    InputError if there is no such file, it holds neither results nor predictions, or options are given that results
    which are written cannot follow.
    """
    path = files[0]
    if len(files) == 1 and path.suffix == ".json" and path.is_file():
        written = read_json(path, "gate")
        if _is_whole(written):
            for given, each in ((one, each) for one in (read, options) for each in fields(one)):
                if getattr(given, each.name) != each.default:
                    remedy = f"{path.name} holds results as they were scored: name the predictions."
                    raise input_error("gate", each.name, "be given with predictions only", remedy=remedy)
            return written
    return open_source(files, read, function="gate")


def has_results(opened: Opened, read: SourceOptions, options: ScoreOptions) -> bool:
    """Say whether a run folder holds results by default options that are newer than its predictions.

    A run with ``until`` stopped by its own confidence level, at which it is judged.
    """
    is_default = (read, options) == (SourceOptions(), ScoreOptions())
    if not is_default or not opened.saved_is_newer or not _is_whole(opened.saved):
        return False
    of_sets = [part.get("options", {}) for part in opened.saved.values() if "until" not in part]
    return all(of.get(each.name, each.default) == each.default for of in of_sets for each in fields(ScoreOptions))


def check_margin(conditions: Sequence[Condition], against: object, margin: float | None) -> None:
    """Raise where another model or a margin is given that no condition, or not both of them, would be about."""
    if margin is not None and against is None:
        raise input_error("gate", "against", "be given with `margin`", remedy="A margin is against another model.")
    if against is not None and not any(one.end in _MARGIN_KEYS for one in conditions):
        remedy = "Write 'wording_change.not_worse' or 'pc.equivalent'."
        raise input_error("gate", "condition", "compare with the other model where `against` is given", remedy=remedy)


def with_margin_tests(
    results: Results, model: Opened, against: Opened, options: CompareOptions, conditions: Sequence[Condition]
) -> Results:
    """Return a model's results with the ``margin_test`` of each measure of the conditions against another model.

    Sets that the other model lacks stay as they are; where each has one set, these are taken for the same. InputError
    if the two cannot be compared, or there is no margin.
    """
    if options.margin is None:
        raise input_error("gate", "margin", "be given with `against`", got=None, remedy="Two points are 0.02.")
    with_margin = {name: {**one, "measures": dict(one["measures"])} for name, one in results.items()}
    models: dict[str, Mapping[str, Source]] = {"the model": model.sets, "the other model": against.sets}
    if all(len(sets) == 1 for sets in (*models.values(), with_margin)):
        models = {who: {next(iter(with_margin)): next(iter(sets.values()))} for who, sets in models.items()}
    of_wordings = {one.quantity == WORDING_CHANGE.key for one in conditions if one.end in _MARGIN_KEYS}
    wanted = [replace(options, measures=[WORDING_CHANGE.key]) if only else options for only in of_wordings]
    policies = [options.policy] if options.unparsed else POLICIES
    for policy in sorted(policies, key=lambda policy: policy != options.policy):
        compared = []
        with suppress(*[InputError] if policy != options.policy else []):  # the policy leaves nothing to compare
            compared = [one for asked in wanted for one in compare(models, replace(asked, unparsed=policy))]
        tested = {(one.set, pair.measure): pair.result.get("margin_test") for one in compared for pair in one.pairs}
        measures = {WORDING_CHANGE.key, PARAPHRASTIC.name, *(measure for _, measure in tested)}
        for name, measure in product({one.set for one in compared} & with_margin.keys(), measures):
            is_of_wordings = measure == WORDING_CHANGE.key
            place: dict[str, Values] = with_margin[name] if is_of_wordings else with_margin[name]["measures"]
            key = "wording" if is_of_wordings else measure
            if key in place:
                tests = {**place[key].get("margin_tests", {}), policy: tested.get((name, measure))}
                place[key] = {**place[key], "margin_test": tests[options.policy], "margin_tests": tests}
        if policy == options.policy and not any(n for one in compared for n in one.n_unparsed.values()):
            break
    return with_margin


def _tested(condition: Condition, result: Values) -> Values:
    """Return the keys of what is tested against another model, empty where the set has no such measure."""
    if condition.quantity == WORDING_CHANGE.key:
        return result.get("wording") or {}
    spec, published = _spec_of(condition.quantity)
    return {} if published else result["measures"].get(condition.quantity if spec is None else spec.name, {})


def _is_whole(written: Values) -> bool:
    """Say whether a JSON file holds results of sets and nothing else."""
    return bool(written) and all(isinstance(part, Mapping) and "measures" in part for part in written.values())


def _find(condition: Condition, result: Values, allow_degenerate: bool) -> tuple[float, str] | None:
    """Return the value in one set's results, and why it cannot be judged; None where the set has no such quantity."""
    void = "" if allow_degenerate else "; ".join(result.get("degenerate", ()))
    if condition.end in _MARGIN_KEYS:
        keys = _tested(condition, result)
        if "margin_test" not in keys:
            return None
        test = keys["margin_test"]
        return (math.nan, "nothing to compare") if test is None else (test[_MARGIN_KEYS[condition.end]], void)
    keys, key = _place(condition.quantity, result)
    return _value(condition, keys, key, "" if keys is result else void)


def _place(quantity: str, result: Values) -> tuple[Values, str]:
    """Return the keys of results among which a quantity is, and its key, which these may lack."""
    measures: Results = {measure: _numbered(keys) for measure, keys in result["measures"].items()}
    first, _, rest = quantity.partition(".")
    spec, published = _spec_of(first)
    name = first if spec is None else spec.name
    if name in measures:
        return measures[name], rest or (name if spec is None else (published and spec.published) or spec.headline)
    if first == "corrected" and rest:
        spec, published = _spec_of(rest)
        key = f"{rest}_unbiased" if rest in _SHORT else rest if spec is None or published else spec.headline
        rate = result["checked"]["rates"].get(key) if result.get("checked") else None
        if rate is None:
            return {}, key
        ends = {key: rate["confidence_interval"]["corrected"]}
        refused = f"of the comparer, {rate['refused']}"
        return {key: rate["corrected"], "confidence_interval": ends, "warnings": [refused]}, key
    if rest or first in _OF_THE_SET:
        return result, quantity
    if first in _OF_THE_WORDINGS:
        return result.get("wording", {}), first
    if (bar := _BELOW.fullmatch(first)) and (by_right := result.get("wording", {}).get("n_by_right")):
        counted = ((Fraction(share), n) for share, n in by_right.items())
        return {first: sum(n for share, n in counted if share < Fraction(int(bar[1]), int(bar[2])))}, first
    short, of_buckets = first.removesuffix(_PUBLISHED), measures.get(PARAPHRASTIC.name, {})
    if short in _SHORT and f"{short}_unbiased" in of_buckets:
        return of_buckets, short if published else f"{short}_unbiased"
    holders = [measure for measure, keys in measures.items() if first in keys]
    if len(holders) > 1:
        remedy = f"There are {', '.join(f'{holder}.{first}' for holder in holders)}."
        raise input_error("gate", "condition", f"say whose {first}", got=quantity, remedy=remedy)
    return (measures[holders[0]] if holders else result.get("noise_floor") or {}), first


def _numbered(keys: Values) -> Values:
    """Return a measure's keys with a name for each of its numbered values: ``pass_hat_3``, ``pass_at_3``."""
    if "pass_hat_n" not in keys:
        return keys
    parts = {f"{name[:-1]}{n}": f"{name}/{n}" for name in ("pass_hat_n", "pass_at_n") for n in keys[name]}
    values = {key: keys[name][n] for key, (name, _, n) in ((key, part.partition("/")) for key, part in parts.items())}
    ends = keys.get("confidence_interval") or {}
    return {**keys, **values, "confidence_interval": {**ends, **{k: ends[p] for k, p in parts.items() if p in ends}}}


def _spec_of(name: str) -> tuple[MeasureSpec | None, bool]:
    """Return the measure that a condition names, if it is one, and whether its value as published is meant."""
    by_name = {spec.name: spec for spec in CATALOGUE.values()} | {spec.short: spec for spec in CATALOGUE.values()}
    spec = by_name.get(name.removesuffix(_PUBLISHED))
    published = name.endswith(_PUBLISHED)
    return (None if spec is None or (published and not spec.published) else spec), published


def _value(condition: Condition, keys: Values, key: str, void: str = "") -> tuple[float, str] | None:
    if key not in keys:
        return None
    value = whole = keys[key]
    if condition.end:
        bounds = keys.get("confidence_interval", {}).get(key)
        if bounds is None:
            raise input_error("gate", "condition", "name a quantity with an interval", got=str(condition))
        value = bounds[condition.end == "high"]
    value = math.nan if value is None else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise input_error("gate", "condition", "name a number", got=condition.quantity)
    is_count = isinstance(whole, int)
    if condition.bound > 1 and not is_count and not (isinstance(whole, float) and whole > 1):
        of_100 = f"{condition.what} {condition.comparison} {condition.bound / 100:.6g}"
        remedy = f"A share is not above 1: write '{of_100}', or a % after the number."
        raise input_error("gate", "condition", "compare a share with a share", got=str(condition), remedy=remedy)
    if math.isnan(value):
        why = next(iter(keys.get("warnings", ())), "it is undefined here")
        if condition.end and whole is not None and not math.isnan(whole) and "|until:" in str(keys.get("signature")):
            why = "the run was asked until something else was known, and other intervals do not hold there"
        return math.nan, why
    return float(value), "" if is_count or key.endswith("accuracy") else void


def _known(result: Values) -> list[str]:
    parts = [*result["measures"].values(), result.get("noise_floor") or {}]
    whole = [each for keys in parts for each in _numbered(keys).items()]
    numbers = [key for key, value in whole if isinstance(value, (int, float)) and not isinstance(value, bool)]
    names = [CATALOGUE[name].short if name in CATALOGUE else name for name in result["measures"]]
    return [*(_OF_THE_WORDINGS if "wording" in result else ()), *names, *numbers, *_OF_THE_SET]
