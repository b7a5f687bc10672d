"""What surrounds the tables: a number and a sentence for each set and model; warnings, signatures, identities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraconsist.data.sharing import public
from paraconsist.measures.catalogue import ABOVE_CHANCE, CATALOGUE, PARAPHRASTIC, MeasureSpec, scored_measures
from paraconsist.reporting.formatting import bounds, known, number, percent, quantity
from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.tables import Cell, Column, Table, measures_of, results_of, share
from paraconsist.reporting.tables import AGREEMENT, direction, has_two_labels

#: Where there would be more cards, the page has none.
_MOST_CARDS = 12
_LEAST = f"min_{PARAPHRASTIC.published}"
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
    """One card: a number, in plain words and on a line."""

    set: str
    model: str
    label: str  # what the number is
    value: str  # in per cent, as the interval; "undefined" where there is none, and the sentence is the reason
    interval: str
    sentence: str
    # places from 0 to 100: where the possible values begin, the interval's ends, the value; empty where undefined
    scale: tuple[float, ...]
    ends: tuple[str, str]  # what stands at the two ends of the line
    colour: int  # the model's number in the palette


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the cards: one for each set, model and measure; none where there would be too many."""
    colours = {entry.name: number % 6 for number, entry in enumerate(entries)}
    specs = [CATALOGUE[measure] for measure in measures_of(entries) if measure in scored_measures()]
    cards = []
    for spec in sorted(specs, key=lambda spec: spec is not PARAPHRASTIC):
        for name, model, result, values in results_of(entries, spec.name):
            value = values.get(spec.headline)
            if not known(value):
                reason = next(iter(values.get("warnings", ())), "")
                label = spec.title.lower()
                cards.append(Headline(name, model, label, "undefined", "", reason, (), ("", ""), colours[model]))
                continue
            label, sentence, low = spec.title.lower(), _sentence(spec, values), 0.0
            if spec is PARAPHRASTIC:
                label, sentence, low = f"{spec.symbol}, {label}", _beside_accuracy(sentence, result, values), 0.5
            least = values.get(_LEAST) if low else 0.0
            ends = bounds(values.get("confidence_interval"), spec.headline) or (value, value)
            scale = tuple(_scaled(place, low) for place in (least, *ends, value))
            cell, axis = share(values, spec.headline), (f"{100 * low:g}", "100")
            cards.append(Headline(name, model, label, cell.text, cell.below, sentence, scale, axis, colours[model]))
    return cards if len(cards) <= _MOST_CARDS else []


def _sentence(spec: MeasureSpec, values: Mapping[str, Any]) -> str:
    words = {key: quantity(value, True) if isinstance(value, float) else number(value) for key, value in values.items()}
    sentence = spec.sentence.format_map(words) or spec.question
    return sentence if spec is PARAPHRASTIC else f"{sentence} {direction([spec]).capitalize()}."


def _beside_accuracy(sentence: str, result: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    original, majority = values.get("original_accuracy"), result.get("majority_rate")
    beside = f" and on {percent(original)} % of the originals" if known(original) else ""
    chance = f" (always the commonest label: {percent(majority)} %)" if known(majority) else ""
    return (
        f"Right on {percent(values['accuracy'])} % of the paraphrases{beside}{chance}. {sentence.removesuffix('.')}; a "
        f"model this accurate could be as low as {percent(values.get(_LEAST))} %.{_same_answer(values)}"
    )


def _same_answer(values: Mapping[str, Any]) -> str:
    """Return how often the answer is the same, where that is another thing, and what is above chance."""
    same, above = values.get(AGREEMENT), values.get(ABOVE_CHANCE.key)
    is_other = known(same) and not has_two_labels(values)
    sentence = f" They get the same answer {percent(same)} % of the time." if is_other else ""
    meaning = "0: as if the wording decided all, 100: no wording changes an answer"
    return sentence + (f" Above chance: {percent(above)} ({meaning})." if known(above) else "")


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
        metadata = {name: public(s.predictions.metadata) for name, s in entry.sets.items() if s.predictions.metadata}
        if not metadata:
            continue
        models = [m if isinstance(m := one.get("model"), Mapping) else {} for one in metadata.values()]
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


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
