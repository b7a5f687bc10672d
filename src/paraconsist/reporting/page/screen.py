"""The first screen: for each set a sentence, a bar for each model, four numbers, one flip, and the uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraconsist.errors import InputError
from paraconsist.measures.catalogue import CATALOGUE, CHANGE, PARAPHRASTIC, MeasureSpec, Quantity
from paraconsist.measures.results import parse_signature
from paraconsist.measures.rules import ORIGINAL
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
    quantity,
)
from paraconsist.reporting.page.aligned import AlignedSet, SetTexts
from paraconsist.reporting.page.excerpts import boundary
from paraconsist.reporting.page.models import Model, ie_results
from paraconsist.reporting.tables import finding, link
from paraconsist.scoring.compare import SetComparison, tested_by
from paraconsist.scoring.outcomes import STEADINESS, WORDING_CHANGE
from paraconsist.scoring.roles import violations
from paraconsist.scoring.score import SetScores

#: (Upper bound of a share of broken rules, the verdict below it).
_VERDICTS = ((0.02, "Almost always."), (0.05, "Mostly."), (0.15, "Not always."), (0.4, "Often not."), (1.01, "No."))
_NOTHING, _TOO_FEW = "Nothing can be said.", "Too few problems to say."
#: What becomes of a problem -> the colour and the words of that part of the bar.
_OUTCOMES = {
    "right": ("right", "right in every wording"),
    "depends": ("mixed", "right in some wordings, wrong in others"),
    "wrong": ("wrong", "wrong in every wording"),
}
_LEAST = f"min_{PARAPHRASTIC.published}"
_MOST_LETTERS = 300  # of a text in the flip that is shown


@dataclass(frozen=True)
class Bar:
    """A model's problems in parts: (colour, words, how many, share, where it starts, link that lists them)."""

    model: str
    parts: Sequence[tuple[str, str, int, float, float, str]]
    value: str = ""  # the headline, where models are compared

    @property
    def n(self) -> int:
        """How many problems it is of."""
        return sum(part[2] for part in self.parts)

    @classmethod
    def of(cls, model: str, parts: Sequence[tuple[str, str, int, str]], value: str = "") -> Bar:
        """Lay parts (colour, words, how many, link) side by side."""
        n, start, placed = sum(size for _, _, size, _ in parts), 0, []
        for colour, words, size, href in parts:
            placed += [(colour, words, size, size / n, start / n, href)] if size else []
            start += size
        return cls(model, placed, value)


@dataclass(frozen=True)
class Fact:
    """A number in words; `measure` and `key` locate it in ``score --json``, `term` in the glossary."""

    words: str
    term: str
    value: str
    below: str
    measure: str
    key: str
    scale: tuple[float, ...] = ()  # per cent: the least possible value, the interval's two ends, the value
    links: Sequence[tuple[str, str]] = ()  # (text, address)


@dataclass(frozen=True)
class Example:
    """One problem that breaks the rule: its shared texts, and two rows (text, answer, whether right, probability)."""

    model: str
    shared: Sequence[tuple[str, str]]
    gold: str
    rows: Sequence[tuple[str, str, bool, str]]
    href: str


@dataclass(frozen=True)
class Block:
    """One set on the first screen; `headline` and `symbol` belong to the numbers next to the bars."""

    set: str
    verdict: str
    sentence: str
    bars: Sequence[Bar] = ()
    headline: str = ""
    symbol: str = ""
    errors: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    example: Example | None = None
    sureness: Sequence[tuple[str, str]] = ()  # a sentence, and the term in it that the glossary explains

    @property
    def kinds(self) -> dict[str, str]:
        """The colours and words of all bars' parts."""
        return {colour: words for bar in self.bars for colour, words, *_ in bar.parts}


def blocks(
    models: Sequence[Model],
    sets: Sequence[tuple[AlignedSet, SetTexts | None]],
    changed: Mapping[tuple[str, str], Values],
    compared: Sequence[SetComparison],
) -> list[Block]:
    """Return the blocks of the sets in their order, then of the IE tests."""
    comparisons = {comparison.set: comparison for comparison in compared}
    of_sets = [
        _block(models, item, texts, changed, comparisons.get(item.name), {"set": item.name} if len(sets) > 1 else {})
        for item, texts in sets
    ]
    return [*of_sets, *(_ie_block(name, values) for name, values in ie_results(models))]


def _block(
    models: Sequence[Model],
    item: AlignedSet,
    texts: SetTexts | None,
    changed: Mapping[tuple[str, str], Values],
    comparison: SetComparison | None,
    where: Values,
) -> Block:
    spec = CATALOGUE[item.measure]
    results = {model.name: model.sets[item.name] for model in models if model.name in item.models}
    values = {model: result.measures.get(spec.name, {}) for model, result in results.items()}
    who = {model: {**where, "model": model} if len(models) > 1 else where for model in item.models}
    names = sorted(item.models, key=lambda model: _rank(spec, values[model]))
    best, verdict, errors, facts = names[0], "", [], []
    bars = [_bar(item, model, spec, values[model], who[model]) for model in names]
    if len(names) > 1:
        sentence = _compared(spec, values, results, comparison)
    else:
        change = changed.get((item.name, best)) if spec is PARAPHRASTIC else None
        errors = list(results[best].degenerate)
        facts = list(_facts(spec, values[best], change, results[best], who[best]))
        verdict, sentence = _verdict(spec, values[best], errors)
        if spec.mean_over == "buckets" and (wording := results[best].wording) is not None:
            sure = bounds(wording.confidence_interval, "wording_change") is not None
            verdict = _NOTHING if errors else _in_words(wording.wording_change) if sure else _TOO_FEW
            sentence = finding(results[best])
    example = None if where else flip(item, texts, spec, who)
    sureness = list(_sureness(spec, values[best], results[best], len(item.bucket_ids)))
    return Block(item.name, verdict, sentence, bars, _name(spec), spec.symbol, errors, facts, example, sureness)


def _ie_block(name: str, values: Values) -> Block:
    """Return the block of an IE test, which is two-sided, so that a difference may be a gain."""
    before, after = values["accuracy"], values["transformed_accuracy"]
    ends = bounds(values.get("confidence_interval"), "accuracy_difference")
    low, high = (percent(-end, signed=True) for end in (ends[1], ends[0])) if ends else ("", "")
    interval = f", {level(values)} interval {low} to {high}" if ends else ""
    sentence = (
        f"A change that keeps the meaning takes accuracy from {percent(before)} % to {percent(after)} % "
        f"({percent(after - before, signed=True)} points{interval}, p {p_value(values.get('p_value'))})."
    )
    bars = []
    if values.get("n_runs") == 1:
        n, single = int(values["n"]), int(values["n10"]) + int(values["n01"])
        both = round(before * n) - int(values["n10"])
        parts = [("right", "right on both", both, ""), ("mixed", "right on one of the two", single, "")]
        bars = [Bar.of(name, [*parts, ("wrong", "wrong on both", n - both - single, "")])]
    verdict = "It moves accuracy." if values.get("reject") else "Not shown to move accuracy."
    return Block(name, verdict, minus(sentence), bars)


def _name(spec: MeasureSpec) -> str:
    return next((q.name for q in spec.quantities if q.key == spec.headline), spec.title.lower())


def _broken(spec: MeasureSpec, values: Values) -> float | None:
    """Return the share that breaks the measure's rule, None where it is undefined."""
    value: Any = values.get(spec.headline)
    return (1.0 - value if spec.higher_is_better else float(value)) if known(value) else None


def _rank(spec: MeasureSpec, values: Values) -> float:
    broken = _broken(spec, values)
    return 2.0 if broken is None else broken


def level(values: Values) -> str:
    """Return the level of a result's intervals: ``95 %``."""
    parts = parse_signature(values["signature"]).parts if values.get("signature") else {}
    return f"{100 * float(parts.get('level', 0.95)):g} %"


def levels(models: Sequence[Model]) -> list[str]:
    """Return the levels of all intervals on the page."""
    measures = [values for model in models for scored in model.sets.values() for values in scored.measures.values()]
    return sorted({level(values) for values in [*measures, *(v for m in models for v in m.experiment.values())]})


def _interval(spec: MeasureSpec, values: Values, *, of_broken: bool = False) -> str:
    ends = bounds(values.get("confidence_interval"), spec.headline)
    if ends is None:
        return "too few problems for an interval"
    low, high = (1.0 - ends[1], 1.0 - ends[0]) if of_broken and spec.higher_is_better else ends
    return f"{level(values)} interval {percent(low)} to {percent(high)}"


class _Words(dict[str, str]):
    """Fills a measure's sentence: a key of the results becomes its value, a noun how many of it break the rule."""

    def __init__(self, broken: float, values: Values) -> None:
        super().__init__({key: quantity(v, True) if isinstance(v, float) else number(v) for key, v in values.items()})
        self.broken = broken

    def __missing__(self, noun: str) -> str:
        return often(self.broken, noun)


def _verdict(spec: MeasureSpec, values: Values, errors: Sequence[str]) -> tuple[str, str]:
    """Return the verdict and the sentence behind it, in the measure's words."""
    broken = _broken(spec, values)
    if broken is None:
        return _NOTHING, next(iter(values.get("warnings") or ()), f"{spec.symbol} is undefined.")
    words = spec.sentence.format_map(_Words(broken, values)).removesuffix(".") or spec.question
    sentence = f"{words} ({percent(broken)} %, {_interval(spec, values, of_broken=True)})."
    if errors or not spec.asks:
        return _NOTHING if errors else "", sentence
    if bounds(values.get("confidence_interval"), spec.headline) is None:
        return _TOO_FEW, sentence
    return _in_words(broken), sentence


def _in_words(broken: float) -> str:
    return next(verdict for end, verdict in _VERDICTS if broken < end)


def _bar(item: AlignedSet, model: str, spec: MeasureSpec, values: Values, where: Values) -> Bar:
    """Return the set's problems by outcome; each part links to its filter of the flip browser."""
    broken = item.inconsistency[model]
    outcomes, untested = item.outcomes[model], np.isnan(broken)
    if spec.mean_over == "buckets":
        kinds = [(outcome, *words, outcomes == outcome) for outcome, words in _OUTCOMES.items()]
    else:  # the browser's "same" takes in what is not tested
        kept, breaks = spec.outcomes
        kinds = [("" if untested.any() else "same", "right", kept, broken == 0.0)]
        kinds += [("broken", "wrong", breaks, broken > 0.0), ("", "none", "not tested", untested)]
    parts = [(c, words, int(mask.sum()), link(show=show, **where) if show else "") for show, c, words, mask in kinds]
    return Bar.of(model, parts, quantity(values.get(spec.headline), True))


def _facts(
    spec: MeasureSpec, values: Values, change: Values | None, result: SetScores, where: Values
) -> Iterator[Fact]:
    """Yield the four numbers."""
    majority, original = result.majority_rate, values.get("original_accuracy")
    context = [f"on the originals: {percent(original)}"] if known(original) else []
    context += [f"always the commonest label: {percent(majority)}"] if known(majority) else []
    if spec is not PARAPHRASTIC:
        for q in spec.quantities[:4]:
            yield from _fact(spec.name, q, values, context if q.key == "accuracy" else ())
        return
    by_key = {q.key: q for q in spec.quantities}
    links = []
    if change:
        turned = (("correct_to_incorrect", "lost"), ("incorrect_to_correct", "gained"))
        links = [(f"{count(change[key])} {show}", link(show=show, **where)) for key, show in turned]
    if (wording := result.wording) is not None:
        yield from _fact("wording", WORDING_CHANGE, wording, links=links)
    yield from _fact(spec.name, by_key[spec.headline], values, least=values.get(_LEAST))
    if wording is not None:
        yield from _fact("wording", STEADINESS, wording, [STEADINESS.meaning])
    yield from _fact(spec.name, by_key["accuracy"], values, context)


def _fact(
    result: str,
    q: Quantity,
    values: Values,
    context: Sequence[str] = (),
    *,
    least: Any = None,
    links: Sequence[tuple[str, str]] = (),
) -> Iterator[Fact]:
    if q.key not in values:
        return
    value, ends = values[q.key], bounds(values.get("confidence_interval"), q.key)
    written = percent if q.is_share else decimal
    interval = [f"{level(values)}: {written(ends[0])} to {written(ends[1])}"] if ends else []
    scale = (least, *(ends or (value, value)), value) if known(least) and known(value) else ()
    texts = (minus(quantity(value, q.is_share)), minus(" · ".join([*interval, *context])))
    yield Fact(q.plain, q.symbol, *texts, result, q.key, tuple(100.0 * place for place in scale), links)


def _sureness(spec: MeasureSpec, values: Values, result: SetScores, n_problems: int) -> Iterator[tuple[str, str]]:
    """Yield sentences on how far the numbers of one model can be trusted, each with the term that it explains."""
    n = int(values.get("n_buckets", n_problems))
    of = [q for q in spec.quantities if q.key in ("accuracy", spec.headline)]
    effects = [(q.name, _of(values.get("design_effect"), q.key)) for q in of]
    factors = ", ".join(f"{effect:.1f} for {name}" for name, effect in effects if known(effect))
    clusters = max((int(c) for q in of if known(c := _of(values.get("n_clusters"), q.key))), default=n)
    origin = f"from {clusters:,} contexts, which the intervals resample" if clusters < n else "independent ones"
    yield f"{n:,} problems, {origin}{f' (design effect {factors})' if factors else ''}.", "design effect"
    if (ends := bounds(values.get("confidence_interval"), spec.headline)) is None:
        yield "There is no interval: too few problems, or none that differ.", "interval"
    else:
        contexts = f" from {4 * clusters:,} contexts" if clusters < n else ""
        width = f"± {percent((ends[1] - ends[0]) / 2)} points for {spec.symbol}"
        yield f"About {4 * n:,} problems{contexts}, four times as many, would halve the interval ({width}).", "interval"
    if (floor := result.noise_floor) is None:
        yield "Asked once: how often answers flip when nothing changes (the noise floor) is unknown.", "noise floor"
    else:
        rates = ", ".join(f"{percent(rate, digits=2)} % ({kind})" for kind, rate in floor["flip_rate"].items())
        yield f"Asked again unchanged (the noise floor), answers flip in {rates}.", "noise floor"
    policies = []
    for policy, by_measure in result.by_policy.items():
        of_policy = percent((by_measure.get(spec.name) or {}).get(spec.headline))
        is_used = policy == result.options.policy
        policies.append(f"{policy.replace('_', ' ')} {of_policy}{' (used here)' if is_used else ''}")
    rate = f"{count(result.n_unparsed)} answers ({percent(result.n_unparsed / len(result.rows))} %) could not be read"
    more = f"{rate}. {spec.symbol} by what they count as: {', '.join(policies)}."
    yield (more, "unparsed") if policies else ("Every answer could be read.", "unparsed")


def _of(by_key: Any, key: str) -> Any:
    return by_key.get(key) if isinstance(by_key, Mapping) else by_key


def _compared(
    spec: MeasureSpec, values: Mapping[str, Values], results: Mapping[str, SetScores], comparison: SetComparison | None
) -> str:
    """Return the best model, and the models that are not shown to differ from it."""
    void = [model for model, result in results.items() if result.degenerate]
    able = [model for model in values if model not in void and _broken(spec, values[model]) is not None]
    if not able:
        return "Every model's consistency is degenerate."
    best = min(able, key=lambda model: _rank(spec, values[model]))
    headline = f"{_name(spec)} {percent(values[best][spec.headline])} %, {_interval(spec, values[best])}"
    sentence = f"{best} is the most consistent of {len(values)} models ({headline})"
    tested = tested_by(spec).name
    pairs = [p for p in (comparison.pairs if comparison else ()) if p.measure == tested and best in (p.first, p.second)]
    corrected = [(p, p.corrected_p_value if p.simultaneous_p_value is None else p.simultaneous_p_value) for p in pairs]
    alpha = 1.0 - float(level(values[best]).removesuffix(" %")) / 100.0
    rivals = [p.second if p.first == best else p.first for p, p_of_pair in corrected if not p_of_pair <= alpha]
    if rivals:
        sentence += f"; {listed(rivals)} {'is' if len(rivals) == 1 else 'are'} not shown to differ from it"
    sentence += ", beyond chance." if pairs and not rivals else "."
    accuracy = {model: values[model]["accuracy"] for model in able if known(values[model].get("accuracy"))}
    if accuracy:
        right = max(accuracy, key=lambda model: accuracy[model])
        sentence += f" Most accurate: {right} ({percent(accuracy[right])} %)."
    return sentence + (f" Left out, as their answers are degenerate: {listed(void)}." if void else "")


def flip(item: AlignedSet, texts: SetTexts | None, spec: MeasureSpec, who: Mapping[str, Values]) -> Example | None:
    """Return two rows of a problem that break the rule though the model was sure of both."""
    candidates: list[tuple[Any, ...]] = []
    for model in item.models if texts is not None else ():
        rows = item.rows[model]
        try:
            pairs = violations(CHANGE if spec.mean_over == "buckets" else spec, rows)
        except InputError:
            continue
        if ORIGINAL not in pairs.partners:
            continue
        right, sure = rows.predictions == rows.labels, rows.predicted_confidences
        if sure is None and rows.confidences is not None:  # of the gold label
            sure = np.where(right, rows.confidences, 1.0 - rows.confidences)
        of_place = {place: row for row, place in enumerate(item.positions[model].tolist())}
        sides = (pairs.partners[ORIGINAL][pairs.broken].tolist(), pairs.positions[pairs.broken].tolist())
        for pair in zip(*sides, strict=True):
            both = [texts.rows[of_place[place]] for place in pair] if texts is not None else []
            is_known = sure is None or np.isfinite(sure[list(pair)]).all()
            if is_known and all(both) and both[0] != both[1] and not rows.unparsed[list(pair)].any():
                letters = max(len(text) for of_row in both for text in of_row or ())
                least = 0.0 if sure is None else float(sure[list(pair)].min())
                candidates.append(
                    (letters > _MOST_LETTERS, -least, letters, not right[pair[0]], model, pair, both, sure)
                )
    if not candidates or texts is None:
        return None
    *_, model, pair, both, sure = min(candidates, key=lambda candidate: candidate[:6])
    rows, names = item.rows[model], item.predictions[model].label_names

    def name(label: Any) -> str:
        label = label.item() if isinstance(label, np.generic) else label  # texts have no `item`
        return names[label] if isinstance(label, int) and 0 <= label < len(names) else str(label)

    shared = [(field, _cut(a)) for field, a, b in zip(texts.columns, *both, strict=True) if a == b and a]
    varying = [(a, b) for a, b in zip(*both, strict=True) if a != b]
    starts = [next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0) for a, b in varying]
    lines = []
    for side, place in enumerate(pair):
        text = " ".join(_cut(texts_of[side], start) for texts_of, start in zip(varying, starts, strict=True))
        certain = "" if sure is None else f"{percent(float(sure[place]), digits=0)}\N{NO-BREAK SPACE}%"
        is_right = bool(rows.predictions[place] == rows.labels[place])
        lines.append((text, name(rows.predictions[place]), is_right, certain))
    golds = {name(rows.labels[place]) for place in pair}
    href = link(bucket=str(rows.buckets[pair[0]]), **who[model])  # type: ignore[index]
    return Example(model, shared, golds.pop() if len(golds) == 1 else "", lines, href)


def _cut(text: str, differs: int = 0) -> str:
    """Return a text from shortly before where it differs."""
    start = boundary(text, max(0, differs - _MOST_LETTERS // 4))
    end = boundary(text, start + _MOST_LETTERS)
    return f"{'… ' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"
