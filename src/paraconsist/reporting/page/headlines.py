"""What surrounds the tables: a number and a sentence for each set and model; warnings, signatures, identities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraconsist.reporting.formatting import bounds, known, percent
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import Cell, Column, Table, measures_of, results_of, share

#: Where there would be more cards, the page has none.
_MOST_CARDS = 12
_BROKEN = {
    "semantic_inconsistency": "of pairs get two answers although the texts mean the same",
    "symmetric_inconsistency": "of pairs get another answer when the two texts are swapped",
    "negational_inconsistency": "of pairs get the same answer after a negation",
    "transitive_inconsistency": "of conclusions do not follow from two premises that were both answered right",
    "additive_inconsistency": "of merged texts are answered wrong although both parts were answered right",
}
#: What the metadata of a run's predictions hold, and how the page calls it.
_IDENTITY = {
    "set": "set",
    "set_fingerprint": "fingerprint of the set",
    "n_rows": "rows",
    "task": "task",
    "template_hash": "template",
    "label_names": "labels",
    "label_map": "label map",
    "device": "device",
    "n_processes": "processes",
    "batch_policy": "batches",
    "seed": "seed",
    "versions": "versions",
}


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
    colour: int


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the cards: one for each set, model and headline measure; none where there would be too many."""
    numbers = {entry.name: number % 6 for number, entry in enumerate(entries)}
    cards = []
    for label, key, low, name, model, values, sentence in (*_consistencies(entries), *_rates(entries)):
        value, cell = values[key], share(values, key)
        ends = bounds(values.get("confidence_interval"), key) or (value, value)
        least = values.get("min_paraphrastic_consistency") if low else 0.0
        scale = tuple(_scaled(place, low) for place in (least, *ends, value))
        axis = (f"{100 * low:g}", "100")
        cards.append(Headline(name, model, label, cell.text, cell.below, sentence, scale, axis, numbers[model]))
    return cards if len(cards) <= _MOST_CARDS else []


#: Label, key, where the line begins, set, model, the measure's values, the sentence.
_Card = tuple[str, str, float, str, str, Mapping[str, Any], str]


def _consistencies(entries: Sequence[Entry]) -> Iterator[_Card]:
    key = "paraphrastic_consistency"
    for name, model, result, values in results_of(entries, key):
        if not known(values.get(key)):
            continue
        original, majority = values.get("original_accuracy"), result.get("majority_rate")
        beside = f" and on {percent(original)} % of the originals" if known(original) else ""
        chance = f" (always the commonest label: {percent(majority)} %)" if known(majority) else ""
        sentence = (
            f"Right on {percent(values['accuracy'])} % of the paraphrases{beside}{chance}. Two paraphrases of one "
            f"problem are both right or both wrong {percent(values[key])} % of the time; a model this accurate could "
            f"be as low as {percent(values.get('min_paraphrastic_consistency'))} %."
        )
        yield "P_C, paraphrastic consistency", key, 0.5, name, model, values, sentence


def _rates(entries: Sequence[Entry]) -> Iterator[_Card]:
    for measure in measures_of(entries):
        for name, model, _, values in results_of(entries, measure):
            key = "inconsistency" if "inconsistency" in values else "change_rate"
            if known(values.get(key)):
                sentence = _rate_sentence(measure, values, percent(values[key]))
                yield measure.replace("_", " "), key, 0.0, name, model, values, sentence


def _rate_sentence(measure: str, values: Mapping[str, Any], rate: str) -> str:
    if measure == "prediction_change":
        return (
            f"{values['n_changed']:,} of {values['n_pairs']:,} answers change under a paraphrase: "
            f"{values['correct_to_incorrect']:,} from right to wrong, "
            f"{values['incorrect_to_correct']:,} from wrong to right."
        )
    return f"{rate} % {_BROKEN.get(measure, 'of rows break the rule')}. Lower is better."


def _scaled(value: Any, low: float) -> float:
    return round(min(100.0, max(0.0, 100.0 * (float(value) - low) / (1.0 - low))), 2) if known(value) else 0.0


def alarms(entries: Sequence[Entry]) -> list[tuple[str, list[str]]]:
    """Return (set and model, sentences), without repetitions, for what somebody should look at first."""
    several = len(entries) > 1
    sentences: list[tuple[str, Sequence[Any]]] = [(entry.name, entry.notes) for entry in entries]
    for entry in entries:
        for name, scored in entry.sets.items():
            of_measures = scored.results.get("measures", {}).values()
            lines = [*scored.results.get("warnings", []), *(w for v in of_measures for w in v.get("warnings", []))]
            sentences.append((f"{name}, {entry.name}" if several else name, lines))
        sentences += [(f"{name}, {entry.name}", v.get("warnings") or ()) for name, v in entry.more.items()]
    return [(where, list(dict.fromkeys(map(str, lines)))) for where, lines in sentences if lines]


def signatures(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return (set and model, signature line) of every result."""
    lines: list[tuple[str, str]] = []
    for entry in entries:
        parts = [(n, values) for n, s in entry.sets.items() for values in s.results.get("measures", {}).values()]
        named = [*parts, *entry.more.items()]
        lines += [(f"{name}, {entry.name}", str(v["signature"])) for name, v in named if v.get("signature")]
    return lines


def identity_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (model, table): a column for each of its sets, of what its run wrote about itself."""
    for entry in entries:
        metadata = {name: s.predictions.metadata for name, s in entry.sets.items() if s.predictions.metadata}
        if not metadata:
            continue
        models = [_of_model(one) for one in metadata.values()]
        lines = {
            f"model: {key}": [_text(model.get(key)) for model in models]
            for key in dict.fromkeys(key for model in models for key in model)
        }
        for key, label in _IDENTITY.items():
            if any(key in one for one in metadata.values()):
                lines[label] = [_text(one.get(key)) for one in metadata.values()]
        empty = [Cell("")] * (len(metadata) - 1)
        rows = []
        for label, values in lines.items():
            same = len(set(values)) == 1 and label != "set"
            note = "the same for all sets" if empty else ""
            cells = [Cell(values[0], note), *empty] if same else [Cell(value) for value in values]
            rows.append([Cell(label, head=True), *cells])
        times = [key for key in ("started", "ended") if key in entry.run]
        rows += [[Cell(key, head=True), Cell(str(entry.run[key])), *empty] for key in times]
        columns = [Column("", numeric=False), *(Column(name, numeric=False) for name in metadata)]
        yield entry.name, Table(f"What the run of {entry.name} said of itself", columns, rows)


def _of_model(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    model = metadata.get("model")
    return model if isinstance(model, Mapping) else {}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
