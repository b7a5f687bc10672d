"""The first thing on the page: for each set and model one number, drawn on a line, and one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.numbers import bounds, interval, known, percent
from paraconsist.reporting.page.tables import results_of

_MOST = 12


@dataclass(frozen=True)
class Headline:
    """One card.

    Attributes
    ----------
    set, model : str
    label : str
        What the number is.
    value, interval : str
        In per cent.
    sentence : str
        In plain words.
    scale : tuple of float
        Places from 0 to 100 on the line: where the possible values begin, the interval's ends, the value.
    ends : tuple of str
        What stands at the two ends of the line.
    colour : int
        The model's number in the palette.
    """

    set: str
    model: str
    label: str
    value: str
    interval: str
    sentence: str
    scale: tuple[float, ...]
    ends: tuple[str, str]
    colour: int = 0


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the cards: one for each set, model and headline measure; none where there would be too many."""
    numbers = {entry.name: number % 6 for number, entry in enumerate(entries)}
    made = [replace(card, colour=numbers[card.model]) for card in (*_consistencies(entries), *_rates(entries))]
    return made if len(made) <= _MOST else []


def _consistencies(entries: Sequence[Entry]) -> Iterator[Headline]:
    for name, model, result, found in results_of(entries, "paraphrastic_consistency"):
        value = found.get("paraphrastic_consistency")
        if not known(value):
            continue
        ends = bounds(found.get("confidence_interval"), "paraphrastic_consistency")
        least = found.get("min_paraphrastic_consistency")
        original = found.get("original_accuracy")
        beside = f" and on {percent(original)} % of the originals" if known(original) else ""
        majority = result.get("majority_rate")
        chance = f" (always the commonest label: {percent(majority)} %)" if known(majority) else ""
        yield Headline(
            name,
            model,
            "P_C, paraphrastic consistency",
            percent(value),
            interval(ends),
            f"Right on {percent(found['accuracy'])} % of the paraphrases{beside}{chance}. Two paraphrases of one "
            f"problem are both right or both wrong {percent(value)} % of the time; a model this accurate could be as "
            f"low as {percent(least)} %.",
            (_scaled(least, 0.5), *(_scaled(end, 0.5) for end in ends or (value, value)), _scaled(value, 0.5)),
            ("50", "100"),
        )


def _rates(entries: Sequence[Entry]) -> Iterator[Headline]:
    measures = dict.fromkeys(m for e in entries for s in e.sets.values() for m in s.results.get("measures", {}))
    for measure in measures:
        for name, model, _, found in results_of(entries, measure):
            key = "inconsistency" if "inconsistency" in found else "change_rate"
            if not known(found.get(key)):
                continue
            ends = bounds(found.get("confidence_interval"), key)
            value = found[key]
            yield Headline(
                name,
                model,
                measure.replace("_", " "),
                percent(value),
                interval(ends),
                _rate_sentence(measure, found, percent(value)),
                (0.0, *(_scaled(end, 0.0) for end in ends or (value, value)), _scaled(value, 0.0)),
                ("0", "100"),
            )


def _rate_sentence(measure: str, found: Mapping[str, Any], shown: str) -> str:
    if measure == "prediction_change":
        return (
            f"{found['n_changed']:,} of {found['n_pairs']:,} answers change under a paraphrase: "
            f"{found['correct_to_incorrect']:,} from right to wrong, "
            f"{found['incorrect_to_correct']:,} from wrong to right."
        )
    broken = {
        "semantic_inconsistency": "of pairs get two answers although the texts mean the same",
        "symmetric_inconsistency": "of pairs get another answer when the two texts are swapped",
        "negational_inconsistency": "of pairs get the same answer after a negation",
        "transitive_inconsistency": "of conclusions do not follow from two premises that were both answered right",
        "additive_inconsistency": "of merged texts are answered wrong although both parts were answered right",
    }
    return f"{shown} % {broken.get(measure, 'of rows break the rule')}. Lower is better."


def _scaled(value: Any, low: float) -> float:
    return round(min(100.0, max(0.0, 100.0 * (float(value) - low) / (1.0 - low))), 2) if known(value) else 0.0
