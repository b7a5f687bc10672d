"""The first screen: of each set the finding, a bar for each model, one scale, the surest flips, and what to do next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist._version import __version__
from paraconsist.data.rows import Rows
from paraconsist.errors import InputError
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, PARAPHRASTIC, MeasureSpec, Quantity
from paraconsist.measures.difference_tests import rejects
from paraconsist.measures.results import parse_signature
from paraconsist.measures.rules import ORIGINAL, PARAPHRASE
from paraconsist.reporting.formatting import (
    Values,
    bounds,
    count,
    decimal,
    known,
    listed,
    minus,
    number,
    often,
    p_value,
    percent,
    plural,
    quantity,
)
from paraconsist.reporting.page.aligned import AlignedSet
from paraconsist.reporting.page.excerpts import boundary
from paraconsist.reporting.page.models import Model, Report, ie_results
from paraconsist.reporting.plots.consistency import OUTCOME_KINDS
from paraconsist.reporting.tables import finding, headline_name, link, no_interval
from paraconsist.scoring.compare import SetComparison, tested_by
from paraconsist.scoring.naming import is_generic
from paraconsist.scoring.outcomes import (
    OUTCOME_WORDS,
    STEADINESS,
    WORDING_CHANGE,
    WORDINGS,
    Outcome,
    Ranking,
    differing_pairs,
    is_right,
    problems_of,
)
from paraconsist.scoring.roles import apply_policy, violations
from paraconsist.scoring.score import SetScores

_MOST_GROUPS = 8  # of models that do not differ, which are drawn as lines
_MOST_LETTERS = 300  # of a text in a flip that is shown
_MOST_FLIPS, _MOST_STEPS = 20, 3
_MANY_POINTS = 0.05  # half of an interval that more problems should narrow


@dataclass(frozen=True)
class Bar:
    """A model's problems in parts: (colour, words, how many, share, where it starts, link that lists them)."""

    model: str
    parts: Sequence[tuple[str, str, int, float, float, str]]
    value: str = ""  # the headline, where models are compared
    noun: str = "problem"
    scale: tuple[float, ...] = ()  # per cent: steadiness, the two ends of its interval where it has one
    accuracy: float | None = None  # per cent, on that scale's line
    groups: Sequence[bool] = ()  # of each group of models that do not differ, whether this one is in it
    unranked: str = ""  # why it has no place among the others

    @property
    def n(self) -> int:
        """How many problems it is of."""
        return sum(part[2] for part in self.parts)

    @classmethod
    def of(cls, model: str, parts: Sequence[tuple[str, str, int, str]], value: str = "", noun: str = "problem") -> Bar:
        """Lay parts (colour, words, how many, link) side by side."""
        n, start, placed = sum(size for _, _, size, _ in parts), 0, []
        for colour, words, size, href in parts:
            placed += [(colour, words, size, size / n, start / n, href)] if size else []
            start += size
        return cls(model, placed, value, noun)


@dataclass(frozen=True)
class Fact:
    """A number in words; `measure` and `key` locate it in ``score --json``, `term` in the glossary."""

    words: str
    term: str
    value: str
    below: str
    measure: str
    key: str
    scale: tuple[float, ...] = ()  # per cent: the interval's two ends, the value; empty where it is undefined


@dataclass(frozen=True)
class Example:
    """One problem that breaks the rule: its shared texts, and two rows (text, answer, whether right, probability).

    Whether it is right is None without a gold label.
    """

    model: str
    shared: Sequence[tuple[str, str]]
    gold: str
    rows: Sequence[tuple[str, str, bool | None, str]]
    href: str


@dataclass(frozen=True)
class Step:
    """What a reader may do next, with a link on the page or what to add to a command."""

    words: str
    href: str = ""
    command: str = ""


@dataclass(frozen=True)
class Block:
    """One set on the first screen; `headline` and `symbol` belong to the numbers next to the bars."""

    set: str
    title: str  # the finding, without a full stop
    sentence: str = ""  # how sure it is, and what else belongs to it
    bars: Sequence[Bar] = ()
    coin: Bar | None = None  # what answers that are right as often, each by chance, would give
    headline: str = ""
    symbol: str = ""
    facts: Sequence[Fact] = ()
    examples: Sequence[Example] = ()
    n_flips: int = 0
    steps: Sequence[Step] = ()
    brief: Sequence[str] = ()  # how sure the finding is, in a line
    sureness: Sequence[tuple[str, str]] = ()  # a sentence, and the term in it that the glossary explains
    cited: str = ""  # a sentence for a paper

    @property
    def kinds(self) -> dict[str, str]:
        """The colours and words of all bars' parts."""
        return {colour: words for bar in self.bars for colour, words, *_ in bar.parts}


def blocks(report: Report) -> list[Block]:
    """Return the blocks of the sets in their order, then of the IE tests."""
    of_sets = [_block(report, item) for item in report.with_texts]
    return [*of_sets, *(_ie_block(name, values) for name, values in ie_results(report.models))]


def title(report: Report, blocks: Sequence[Block]) -> str:
    """Return the page's title: the finding, or what the findings on several sets are about."""
    if len(blocks) == 1:
        return blocks[0].title
    if len(report.models) > 1:
        on = f" on {n} sets" if (n := len(blocks) - len(report.aligned) + len(report.distinct)) > 1 else ""
        return f"{len(report.models)} models{on}: how consistent are they?"
    name = _called(report.models[0].name) or "the model"
    able = [scored for scored in report.models[0].sets.values() if not scored.degenerate]
    rates = [scored.wording.wording_change for scored in able if scored.wording is not None]
    if len(rates) < len(blocks) or not rates:
        return f"How consistent is {name}?"
    low, high = (percent(end(rates)) for end in (min, max))
    span = f"{low} to {high} % of the time, by set" if low != high else f"{low} % of the time, on every set"
    return f"Two wordings of a problem get different answers from {name} {span}"


def _is_of_wordings(spec: MeasureSpec) -> bool:
    return spec.target == PARAPHRASE and not spec.is_about_probabilities


def _called(model: str) -> str:
    return "" if is_generic(model) else model


def _block(report: Report, item: AlignedSet) -> Block:
    spec, where = CATALOGUE[item.measure], {"set": item.name} if len(report.aligned) > 1 else {}
    results = {model: report.by_model[model][item.name] for model in item.models}
    values = {model: result.measures.get(spec.name, {}) for model, result in results.items()}
    who = {model: {**where, "model": model} if len(report.models) > 1 else where for model in item.models}
    names = sorted(item.models, key=lambda model: _broken(spec, values[model]))
    comparison = next((compared for compared in report.compared if compared.set == item.name), None)
    ranking = comparison.ranking if comparison is not None and _is_of_wordings(spec) else None
    if ranking is not None and ranking.standings:
        names = [*ranking.steadiness, *(name for name in names if name not in ranking.steadiness)]
    bars = [_bar(item, model, spec, values[model], who[model]) for model in names]
    if len(names) > 1 and ranking is not None:
        bars, said = _on_one_scale(bars, ranking, results), ranked(ranking, results)
        sizes = {wording.n_problems for m in ranking.steadiness if (wording := results[m].wording)}
        of_each = " on all that each answered" * (sizes != {ranking.n_problems})  # the order is of the common ones
        block = Block(item.name, *said, bars, headline=f"steadiness{of_each}", symbol=STEADINESS.symbol)
    elif len(names) > 1:
        said = _compared(spec, values, results, comparison)
        block = Block(item.name, *said, bars, headline=headline_name(spec), symbol=spec.symbol)
    else:
        change = report.changed.get(item.name, {}).get(names[0]) if spec is PARAPHRASTIC else None
        block = _of_one_model(item, spec, results[names[0]], bars[0], change, who[names[0]])
    examples, n_flips = ([], 0) if where else flips(item, spec, who)
    return replace(block, examples=examples, n_flips=n_flips)


def _of_one_model(
    item: AlignedSet, spec: MeasureSpec, result: SetScores, bar: Bar, change: Values | None, where: Values
) -> Block:
    values: Values = result.measures.get(spec.name, {})
    noun, _ = result.rows.nouns
    of_wordings = result.wording if _is_of_wordings(spec) else None
    if of_wordings is not None:
        claim, sure, changed, _ = finding(result, _called(bar.model))
        sure += _corrected(result)
        sentence = f"{sure}; {changed}." if sure else ""
        of_scale = _fact("wording", STEADINESS, of_wordings)
        facts = [replace(fact, words="steadiness", value=fact.value.removesuffix(" %")) for fact in of_scale]
        precision = _Precision.of(WORDING_CHANGE.key, of_wordings, noun)
    else:
        claim, sure = _verdict(spec, values, result)
        sentence, facts = f"{sure}." if sure else "", list(_facts(spec, values, result))
        broken = item.inconsistency[bar.model]
        sizes = {"n_buckets": len(broken), "n_tested": np.count_nonzero(~np.isnan(broken))}
        precision = _Precision.of(spec.headline, {**values, **sizes}, noun)
    is_void = bool(result.degenerate) and of_wordings is not None
    return Block(
        item.name,
        claim,
        minus(f"{sentence[:1].upper()}{sentence[1:]}"),
        [bar],
        None if is_void or of_wordings is None else _coin(item, bar.model),
        headline_name(spec),
        spec.symbol,
        [] if is_void else [fact for fact in facts if fact.scale or of_wordings is None],
        steps=list(islice(_steps(precision, result, change, bar, where), _MOST_STEPS)),
        brief=list(_brief(precision, result)),
        sureness=list(_sureness(precision, spec, result)),
        cited=f"{claim} ({sure}; {precision.sample}, {item.name}; paraconsist {__version__})."
        if sure and precision.half_width is not None
        else "",
    )


def _corrected(result: SetScores) -> str:
    """Return the wording change without the comparer's errors, where people checked enough of its verdicts."""
    rate = None if result.checked is None else result.checked.rates.get(WORDING_CHANGE.key)
    if rate is None or rate.refused:
        return ""
    value, *ends = (percent(share) for share in (rate.corrected, *rate.confidence_interval["corrected"]))
    return f"; corrected by answers that people checked {value} %, {' to '.join(ends)}"


def _ie_block(name: str, values: Values) -> Block:
    """Return the block of an IE test, which is two-sided, so that a difference may be a gain."""
    before, after = values["accuracy"], values["transformed_accuracy"]
    ends = bounds(values.get("confidence_interval"), "accuracy_difference")
    low, high = (percent(-end, signed=True) for end in (ends[1], ends[0])) if ends else ("", "")
    interval = f", {level(values)} interval {low} to {high}" if ends else ""
    claim = f"A change that keeps the meaning takes accuracy from {percent(before)} % to {percent(after)} %"
    moves = "More than chance" if values.get("reject") else "Not shown to be more than chance"
    points, p = percent(after - before, signed=True), p_value(values.get("p_value"))
    sentence = f"{moves}: {points} points{interval}, p {p}."
    if (n := values.get("n_runs", 1)) > 1:  # the p is the least of all, not that of the mean
        n_rejected = sum(values.get("rejected") or ())
        sentence = f"More than chance in {n_rejected} of {n} runs, p {p}; {points} points on average{interval}."
    bars = []
    if values.get("n_runs") == 1:
        n, single = int(values["n"]), int(values["n10"]) + int(values["n01"])
        both = round(before * n) - int(values["n10"])
        parts = [("right", "right on both", both, ""), ("mixed", "right on one of the two", single, "")]
        bars = [Bar.of(name, [*parts, ("wrong", "wrong on both", n - both - single, "")])]
    return Block(name, claim, minus(sentence), bars)


def _broken(spec: MeasureSpec, values: Values) -> float:
    """Return the share that breaks the measure's rule, by which models are ranked; inf where it is undefined."""
    if not known(value := values.get(spec.headline)):
        return math.inf
    return 1.0 - value if spec.higher_is_better else value


def level(values: Values) -> str:
    """Return the level of a result's intervals: ``95 %``."""
    parts = parse_signature(values["signature"]).parts if values.get("signature") else {}
    return f"{100 * float(parts.get('level', 0.95)):g} %"


def levels(models: Sequence[Model]) -> list[str]:
    """Return the levels of all intervals in the page's tables."""
    scored = [one for model in models for one in model.sets.values() if one.until is None]
    measures = [values for one in scored for values in one.measures.values()]
    return sorted({level(values) for values in [*measures, *(v for m in models for v in m.experiment.values())]})


def _interval(spec: MeasureSpec, values: Values, result: SetScores, *, of_broken: bool = False) -> str:
    ends = bounds(values.get("confidence_interval"), spec.headline)
    if ends is None:
        return no_interval(result)
    low, high = (1.0 - ends[1], 1.0 - ends[0]) if of_broken and spec.higher_is_better else ends
    return f"{level(values)} interval {percent(low)} to {percent(high)}"


class _Words(dict[str, str]):
    """Fills a measure's sentence: a key of the results becomes its value, a noun how many of it break the rule."""

    def __init__(self, broken: float, values: Values) -> None:
        super().__init__({key: quantity(v, True) if isinstance(v, float) else number(v) for key, v in values.items()})
        self.broken = broken

    def __missing__(self, noun: str) -> str:
        return often(self.broken, noun)


def _verdict(spec: MeasureSpec, values: Values, result: SetScores) -> tuple[str, str]:
    """Return the finding in the measure's words, and how sure it is."""
    broken = _broken(spec, values)
    if broken == math.inf:
        return f"{spec.symbol} is undefined", next(iter(values.get("warnings") or ()), "").removesuffix(".")
    if result.degenerate:
        return f"Nothing can be said of consistency: {result.degenerate[0]}", ""
    words = spec.sentence.format_map(_Words(broken, values)).removesuffix(".") or spec.question
    return f"{words} ({percent(broken)} %)", _interval(spec, values, result, of_broken=True)


def _bar(item: AlignedSet, model: str, spec: MeasureSpec, values: Values, where: Values) -> Bar:
    """Return the set's problems by outcome; each part links to its filter of the flip browser."""
    broken = item.inconsistency[model]
    outcomes, untested = item.outcomes[model], np.isnan(broken)
    if item.rows[model].unparsed.all():
        kinds = [("", "none", "no answer could be read", np.ones(len(broken), dtype=np.bool_))]
    elif _is_of_wordings(spec) and (outcomes != "").any():
        shown, noun = {"changes": "broken"}, item.rows[model].nouns[1]
        kinds = [
            (shown.get(outcome, outcome), colour, OUTCOME_WORDS[outcome].replace("wording", noun), outcomes == outcome)
            for outcome, colour in OUTCOME_KINDS.items()
        ]
    else:
        kept, breaks = spec.outcomes
        kinds = [("same", "right", kept, broken == 0.0)]
        kinds += [("broken", "wrong", breaks, broken > 0.0), ("", "none", "not tested", untested)]
    parts = [(c, words, int(mask.sum()), link(show=show, **where) if show else "") for show, c, words, mask in kinds]
    return Bar.of(model, parts, quantity(values.get(spec.headline), True), item.rows[model].nouns[0])


def _coin(item: AlignedSet, model: str) -> Bar | None:
    """Return what would become of the problems if every answer were right with one chance; None without gold labels."""
    problems = problems_of(apply_policy(item.rows[model], item.policies[model])[0])
    if (coin := problems.coin) is None:
        return None
    n, (right, wrong) = len(problems), (round(len(problems) * share) for share in (coin.right, coin.wrong))
    sizes: dict[Outcome, int] = {"right": right, "depends": n - right - wrong, "wrong": wrong}
    name = f"a coin that is right as often ({percent(coin.accuracy)} %): {' / '.join(map(count, sizes.values()))}"
    problem, wording = item.rows[model].nouns
    words = {key: text.replace("wording", wording) for key, text in OUTCOME_WORDS.items()}
    return Bar.of(name, [(OUTCOME_KINDS[key], words[key], size, "") for key, size in sizes.items()], noun=problem)


def _facts(spec: MeasureSpec, values: Values, result: SetScores) -> Iterator[Fact]:
    """Yield the first four numbers of a measure that is not of wordings."""
    majority, original = result.majority_rate, values.get("original_accuracy")
    context = [f"on the originals: {percent(original)}"] if known(original) else []
    context += [f"always the commonest label: {percent(majority)}"] if known(majority) else []
    for q in spec.quantities[:4]:
        yield from _fact(spec.name, q, values, context if q.key == "accuracy" else ())


def _steps(precision: _Precision, result: SetScores, change: Values | None, bar: Bar, where: Values) -> Iterator[Step]:
    """Yield what to do next, what is most urgent first."""
    if result.degenerate:
        yield Step("Read its answers", "#browser")
        return
    is_run, has_wordings = result.rows.calls is not None, PARAPHRASE in result.rows.roles
    differ = "answers do not agree" if has_wordings else "answers break the rule"
    problem, differ = precision.noun, "runs do not end alike" if is_run else differ
    mixed = [(n, f"whose {differ}", href) for _, _, n, *_, href in bar.parts if "show=broken" in href]
    for _, words, n, *_, href in bar.parts:  # where all are wrong, answers may differ too
        mixed += [(n, f"whose {differ}" if is_run else words, href)] * ("show=depends" in href)
    if change and change["correct_to_incorrect"]:
        lost = plural(int(change["correct_to_incorrect"]), "answer")
        yield Step(f"Read the {lost} lost to rewording", link(show="lost", **where))
    else:
        yield from (Step(f"Read the {plural(n, problem)} {words}", href) for n, words, href in mixed)
    n, half = precision.n, precision.half_width
    if result.until is None if half is None else half > _MANY_POINTS:
        more = "there is no interval yet" if half is None else f"about {count(4 * n)} would halve the interval"
        wanted = 0.02 if half is None else half / 2.0
        command = f"paraconsist plan PREDICTIONS{precision.measure} --half-width {wanted:.2g}"
        command *= has_wordings and bool(mixed) and n > 1
        if result.until is not None:
            command = f"paraconsist run ... --until '{result.until.quantity} ± {wanted:.2g}'"
        yield Step(f"{'Run more tasks' if is_run else 'Ask about more problems'}: {more}", command=command)
    if is_run:
        return
    if result.noise_floor is None and result.until is None and result.source.noise is None:
        words = "Ask again unchanged: how often answers flip by themselves is unknown"
        asked = result.source.predictions.metadata.get("model", {})
        is_drawn = asked.get("kind") == "function" or float(asked.get("temperature", 0.0)) > 0.0
        yield Step(words, command=f"paraconsist run ... {'--repeats' if is_drawn else '--noise-floor'} 2")
    if has_wordings and mixed:
        yield Step("Mark what is no paraphrase, and see the numbers without it", link(show="broken", **where))


def _fact(result: str, q: Quantity, values: Values, context: Sequence[str] = ()) -> Iterator[Fact]:
    if q.key not in values:
        return
    value, ends = values[q.key], bounds(values.get("confidence_interval"), q.key)
    written = percent if q.is_share else decimal
    interval = [f"{level(values)}: {written(ends[0])} to {written(ends[1])}"] if ends else []
    scale = tuple(100.0 * place for place in (*(ends or (value, value)), value)) if known(value) else ()
    texts = (minus(quantity(value, q.is_share)), minus(" · ".join([*interval, *context])))
    yield Fact(q.plain, q.symbol, *texts, result, q.key, scale)


@dataclass(frozen=True)
class _Precision:
    """How sure the finding on one model is."""

    n: int  # problems
    tested: int  # of these, the ones that the rule is about
    clusters: int  # what the intervals resample: contexts, or the problems themselves
    half_width: float | None  # of the interval; None without one
    effect: float | None  # the design effect
    noun: str = "problem"
    measure: str = ""  # the option of `plan` that names it

    @classmethod
    def of(cls, key: str, values: Values, noun: str) -> _Precision:
        """Return it of one of a result's values."""
        n = int(values.get("n_problems", values.get("n_buckets", 0)))
        tested = int(values.get("n_tested", n))
        of_keys = (values.get(name) for name in ("n_clusters", "design_effect"))
        clusters, effect = (part.get(key) if isinstance(part, Mapping) else part for part in of_keys)
        ends = bounds(values.get("confidence_interval"), key)
        half = None if ends is None else (ends[1] - ends[0]) / 2
        measure = f" --measure {key}" if key == WORDING_CHANGE.key and noun == "problem" else ""  # of runs P_C says it
        sizes = n, tested, int(clusters) if known(clusters) else tested
        return cls(*sizes, half, effect if known(effect) else None, noun, measure)

    @property
    def problems(self) -> str:
        """How many problems the finding is of."""
        return f"{count(self.tested)} of " * (self.tested < self.n) + plural(self.n, self.noun)

    @property
    def sample(self) -> str:
        """The problems, and their contexts where several share one."""
        contexts = f" from {plural(self.clusters, 'context')}" if self.clusters < self.tested else ""
        return f"{self.problems}{contexts}"


def _brief(precision: _Precision, result: SetScores) -> Iterator[str]:
    """Yield how sure the finding is, in a line."""
    yield precision.sample
    half = precision.half_width
    if not result.degenerate:
        yield no_interval(result) if half is None else f"± {percent(half)} points"
    yield f"{plural(result.n_unparsed, 'answer')} not read" if result.n_unparsed else "every answer read"


def _sureness(precision: _Precision, spec: MeasureSpec, result: SetScores) -> Iterator[tuple[str, str]]:
    """Yield sentences on how far the numbers of one model can be trusted, each with the term that it explains."""
    n, clusters, half, effect = precision.n, precision.clusters, precision.half_width, precision.effect
    are_joined = clusters < precision.tested
    origin = (
        f"from {plural(clusters, 'context')}, which the intervals resample" if are_joined else "assumed independent"
    )
    problems = f"{precision.noun}s"
    of_design = "" if effect is None else f" (design effect {effect:.1f})"
    yield f"{precision.problems}, {origin}{of_design}.", "design effect"
    if half is None:
        why = f"too few {problems}, or none that differ" if result.until is None else no_interval(result)
        yield f"There is no interval: {why}.", "interval"
    elif not result.degenerate:
        contexts = f" from {4 * clusters:,} contexts" if are_joined else ""
        more = f"About {4 * n:,} {problems}{contexts}, four times as many,"
        yield f"{more} would halve the interval (± {percent(half)} points).", "interval"
    if result.rows.calls is not None:
        yield (
            "Every run counts: how often a task ends otherwise when nothing changes is the finding itself.",
            "noise floor",
        )
    elif (floor := result.noise_floor) is None:
        asked = (
            "Asked once" if result.source.noise is None else "Asked again, but not about paraphrases that could be read"
        )
        yield f"{asked}: how often answers flip when nothing changes (the noise floor) is unknown.", "noise floor"
    else:
        rates = ", ".join(f"{percent(rate, digits=2)} % ({kind})" for kind, rate in floor["flip_rate"].items())
        own, of_change = floor.get("excess_wording_change"), ""
        if known(own):
            amount = f"{percent(own)} points of the change between wordings are" if own > 0.0 else ""
            of_change = f"; {amount or 'the change between wordings is not'} above that"
        yield f"Asked again unchanged (the noise floor), answers flip in {rates}{of_change}.", "noise floor"
    policies = []
    quantity, values = result.headline_by_policy(spec)
    for policy in result.by_policy:
        of_policy = percent(values.get(policy, {}).get(quantity.key))
        is_used = policy == result.options.policy
        policies.append(f"{policy.replace('_', ' ')} {of_policy}{' (used here)' if is_used else ''}")
    share = percent(result.n_unparsed / len(result.rows))
    rate = f"{plural(result.n_unparsed, 'answer')} ({share} %) could not be read"
    symbol = spec.symbol if quantity.key == spec.headline else quantity.symbol.capitalize()
    more = f"{rate}. {symbol} by what they count as: {', '.join(policies)}."
    yield (more, "unparsed") if policies else ("Every answer could be read.", "unparsed")


def _compared(
    spec: MeasureSpec, values: Mapping[str, Values], results: Mapping[str, SetScores], comparison: SetComparison | None
) -> tuple[str, str]:
    """Return the best model, and the models that are not shown to differ from it."""
    void = [model for model, result in results.items() if result.degenerate]
    able = [model for model in values if model not in void and _broken(spec, values[model]) < math.inf]
    if not able:
        return "Every model's consistency is degenerate", ""
    best = min(able, key=lambda model: _broken(spec, values[model]))
    alike = [model for model in able if _broken(spec, values[model]) == _broken(spec, values[best])]
    claim = f"{listed(alike)} {'is' if len(alike) == 1 else 'are'} the most consistent of {len(values)} models"
    if len(able) == 1:
        claim = f"Of {len(values)} models only {best} can be ranked"
    sure = _interval(spec, values[best], results[best])
    sentence = f"{headline_name(spec)} {percent(values[best][spec.headline])} %, {sure}"
    tested = tested_by(spec).name
    of_able = [p for p in (comparison.pairs if comparison else ()) if {p.first, p.second} <= {*able}]
    pairs = [p for p in of_able if p.measure == tested and best in (p.first, p.second)]
    corrected = [(p, p.corrected_p_value if p.simultaneous_p_value is None else p.simultaneous_p_value) for p in pairs]
    confidence = float(level(values[best]).removesuffix(" %")) / 100.0
    rivals = [p.second if p.first == best else p.first for p, p_of in corrected if not rejects(p_of, confidence)]
    sentence = _with_rivals(sentence, rivals, bool(pairs), {model: values[model] for model in able})
    if unranked := [model for model in values if model not in able]:
        sentence += f" Not ranked: {listed(unranked)}."
    return claim, f"{sentence[0].upper()}{sentence[1:]}"


def _with_rivals(sentence: str, rivals: Sequence[str], is_tested: bool, values: Mapping[str, Values]) -> str:
    """Add to the best model's value who is not shown to differ from it, and which model is the most accurate."""
    if rivals:
        sentence += f"; {listed(rivals)} {'is' if len(rivals) == 1 else 'are'} not shown to differ from it"
    sentence += ", beyond chance." if is_tested and not rivals else "."
    accuracy = {model: of["accuracy"] for model, of in values.items() if known(of.get("accuracy"))}
    best = max(accuracy.values(), default=0.0)
    most = listed([model for model, value in accuracy.items() if value == best])
    return f"{sentence} Most accurate: {most} ({percent(best)} %)." if accuracy else sentence


def ranked(ranking: Ranking, results: Mapping[str, SetScores]) -> tuple[str, str]:
    """Return which model is the steadiest, which are not shown to differ from it, and who has no place and why."""
    if not ranking.standings:
        whys = {f"{why[0].upper()}{why[1:]}." for why in ranking.unranked.values()}
        return f"None of {len(results)} models can be ranked", whys.pop() if len(whys) == 1 else ""  # bars say each
    best, *others = (row.model for row in ranking.standings)
    wording = results[best].wording
    ends = bounds(None if wording is None else wording.confidence_interval, STEADINESS.key)
    level = f"{100 * results[best].options.confidence_level:g} %"
    sure = f", {level} interval {percent(ends[0], digits=0)} to {percent(ends[1], digits=0)}" if ends else ""
    if wording is None or wording.n_problems != ranking.n_problems:  # whose interval is of all that it answered
        sure = f" on the {plural(ranking.n_problems, results[best].rows.nouns[0])} that all answered"
    letters = {row.model: set(row.letters) for row in ranking.standings}
    rivals = [model for model in others if letters[model] & letters[best]]
    alike = [model for model, value in ranking.steadiness.items() if value == ranking.steadiness[best]]
    able = len(ranking.standings)
    of = f"{able} models" if able == len(results) else f"the {able} models that can be ranked"
    claim = f"{listed(alike)} {'is' if len(alike) == 1 else 'are'} the steadiest of {of}"
    if not others:
        claim = f"Of {len(results)} models only {best} can be ranked"
    sentence = minus(f"Steadiness {percent(round(ranking.steadiness[best], 9), digits=0)} of 100{sure}")
    values = {model: result.measures.get(PARAPHRASTIC.name, {}) for model, result in results.items()}
    sentence = _with_rivals(sentence, rivals, bool(others), values)
    if unranked := [model for model in {**ranking.unranked, **results} if model not in ranking.steadiness]:
        sentence += f" Not ranked: {listed(unranked)}."
    return claim, sentence


def _on_one_scale(bars: Sequence[Bar], ranking: Ranking, results: Mapping[str, SetScores]) -> list[Bar]:
    """Return the bars with each model's steadiness, accuracy and groups, or why it is not ranked."""
    shared = Counter(letter for row in ranking.standings for letter in row.letters)
    letters = sorted(letter for letter, n_models in shared.items() if n_models > 1)
    placed = {row.model: [letter in row.letters for letter in letters] for row in ranking.standings}
    made = []
    for bar in bars:
        wording, values = results[bar.model].wording, results[bar.model].measures.get(PARAPHRASTIC.name, {})
        accuracy = 100.0 * values["accuracy"] if known(values.get("accuracy")) else None
        if bar.model not in placed or wording is None:
            why = ranking.unranked.get(bar.model, next(iter(results[bar.model].degenerate), "no two wordings"))
            made.append(replace(bar, value="not ranked", accuracy=accuracy, unranked=why))
            continue
        ends = bounds(wording.confidence_interval, STEADINESS.key) or ()
        scale = tuple(100.0 * max(0.0, value) for value in (wording.above_chance, *ends))
        value = minus(percent(round(wording.above_chance, 9), digits=0))  # 12.5 may come as 12.500000001
        groups = placed[bar.model] if len(letters) <= _MOST_GROUPS else ()
        made.append(replace(bar, value=value, scale=scale, accuracy=accuracy, groups=groups))
    return made


def flips(item: AlignedSet, spec: MeasureSpec, who: Mapping[str, Values]) -> tuple[list[Example], int]:
    """Return pairs of rows that break the rule, of different problems, and the number of all such pairs.

    The pair comes first of which the model is surest, that is of whose less sure answer. Where no wording is the
    original each problem has one pair.
    """
    candidates: list[tuple[Any, ...]] = []
    if (texts := item.texts) is None:
        return [], 0
    for model in item.models:
        rows = item.rows[model]
        right, sure = is_right(rows), rows.predicted_confidences
        if sure is None and rows.confidences is not None:  # of the gold label
            sure = np.where(right, rows.confidences, 1.0 - rows.confidences)
        of_place = {place: row for row, place in enumerate(item.positions[model].tolist())}
        for pair in _broken_pairs(spec, rows, right, sure):
            both = [texts.rows[of_place[place]] for place in pair]
            is_known = sure is None or np.isfinite(sure[list(pair)]).all()
            if is_known and all(both) and both[0] != both[1] and not rows.unparsed[list(pair)].any():
                letters = max(len(text) for of_row in both for text in of_row or ())
                rank = letters > _MOST_LETTERS, 0.0 if sure is None else -float(sure[list(pair)].min()), letters
                candidates.append((*rank, not right[pair[0]], model, pair, both, sure))
    found: dict[tuple[str, Any], Example] = {}
    for *_, model, pair, both, sure in sorted(candidates, key=lambda candidate: candidate[:6]):
        bucket = item.rows[model].buckets[pair[0]]  # type: ignore[index]
        if (model, bucket) not in found:
            href = link(bucket=str(bucket), **who[model])
            found[model, bucket] = _example(item, texts.columns, model, pair, both, sure, href)
        if len(found) == _MOST_FLIPS:
            break
    return list(found.values()), len(candidates)


def _broken_pairs(
    spec: MeasureSpec, rows: Rows, right: NDArray[np.bool_], sure: NDArray[np.float64] | None
) -> list[tuple[int, int]]:
    """Return pairs of rows that break the rule: an original and its partner.

    Where no wording is the original, it is a pair of each problem: two wordings with different answers, of which the
    model is surest, the right one first.
    """
    if ORIGINAL in rows.roles or spec.mean_over != "buckets":
        try:
            pairs = violations(CHANGE if spec.mean_over == "buckets" else spec, rows)
        except InputError:
            return []
        if (originals := pairs.partners.get(ORIGINAL)) is None:
            return []
        return [*zip(originals[pairs.broken].tolist(), pairs.positions[pairs.broken].tolist(), strict=True)]
    if rows.are_runs:  # of one wording: where they part is shown by their calls
        return []
    places, found = np.flatnonzero(np.isin(rows.roles, WORDINGS) & ~rows.unparsed), []
    rest = places[np.argsort(np.asarray(rows.buckets)[places], kind="stable")]
    for differ in differing_pairs(rows.take(places)):
        own, rest = rest[: len(differ)], rest[len(differ) :]
        first, second = (own[of_pair] for of_pair in np.nonzero(differ & (right[own][:, np.newaxis] >= right[own])))
        surest = right[first] != right[second] if sure is None else np.nan_to_num(np.minimum(sure[first], sure[second]))
        found += [(int(first[at]), int(second[at])) for at in (np.argmax(surest),)] if len(first) else []
    return found


def _example(
    item: AlignedSet,
    columns: Sequence[str],
    model: str,
    pair: tuple[int, int],
    both: Sequence[Sequence[str]],
    sure: NDArray[np.float64] | None,
    href: str,
) -> Example:
    rows, names = item.rows[model], item.predictions[model].label_names

    def name(label: Any) -> str:
        label = label.item() if isinstance(label, np.generic) else label  # texts have no `item`
        return names[label] if isinstance(label, int) and 0 <= label < len(names) else str(label)

    shared = [(field, _cut(a)) for field, a, b in zip(columns, *both, strict=True) if a == b and a]
    varying = [(a, b) for a, b in zip(*both, strict=True) if a != b]
    starts = [next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0) for a, b in varying]
    lines = []
    for side, place in enumerate(pair):
        text = " ".join(_cut(texts_of[side], start) for texts_of, start in zip(varying, starts, strict=True))
        certain = "" if sure is None else f"{percent(float(sure[place]), digits=0)}\N{NO-BREAK SPACE}%"
        right = bool(rows.predictions[place] == rows.labels[place]) if rows.has_gold[place] else None
        lines.append((text, name(rows.predictions[place]), right, certain))
    golds = {name(rows.labels[place]) for place in pair if rows.has_gold[place]}
    return Example(model, shared, golds.pop() if len(golds) == 1 else "", lines, href)


def _cut(text: str, differs: int = 0) -> str:
    """Return a text from shortly before where it differs."""
    start = boundary(text, max(0, differs - _MOST_LETTERS // 4))
    end = boundary(text, start + _MOST_LETTERS)
    return f"{'… ' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"
