"""The first thing on the page: for each set and model one number, drawn on a line, and one sentence.

How the numbers were made: signatures, the identity of each run, and what was found suspicious.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paraconsist.reporting.formatting import Cell, Column, Table, bounds, interval, known, percent
from paraconsist.reporting.page.entries import Entry
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


_SHOWN = (
    ("set", "set"),
    ("set_fingerprint", "fingerprint of the set"),
    ("n_rows", "rows"),
    ("task", "task"),
    ("template_hash", "template"),
    ("label_names", "labels"),
    ("label_map", "label map"),
    ("device", "device"),
    ("n_processes", "processes"),
    ("batch_policy", "batches"),
    ("seed", "seed"),
    ("versions", "versions"),
)


def alarms(entries: Sequence[Entry]) -> list[tuple[str, list[str]]]:
    """Return (set and model, sentences), without repetitions, for what somebody should look at first."""
    found = [(entry.name, list(entry.notes)) for entry in entries if entry.notes]
    for entry in entries:
        for name, scored in entry.sets.items():
            said = list(scored.results.get("warnings", []))
            for values in scored.results.get("measures", {}).values():
                said += values.get("warnings", [])
            if said:
                title = f"{name}, {entry.name}" if len(entries) > 1 else name
                found.append((title, list(dict.fromkeys(map(str, said)))))
        for name, values in entry.more.items():
            if values.get("warnings"):
                found.append((f"{name}, {entry.name}", [str(line) for line in values["warnings"]]))
    return found


def signatures(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return (set and model, signature line) of every result."""
    found = []
    for entry in entries:
        for name, scored in entry.sets.items():
            said = [values.get("signature") for values in scored.results.get("measures", {}).values()]
            found += [(f"{name}, {entry.name}", str(line)) for line in said if line]
        found += [(f"{name}, {entry.name}", str(values["signature"])) for name, values in entry.more.items()]
    return found


def identity_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (model, table): a column for each of its sets, of what the run said of itself."""
    for entry in entries:
        said = {name: scored.predictions.metadata for name, scored in entry.sets.items()}
        said = {name: metadata for name, metadata in said.items() if metadata}
        if not said:
            continue
        lines: dict[str, list[str]] = {}
        for key in dict.fromkeys(k for metadata in said.values() for k in _of_model(metadata)):
            lines[f"model: {key}"] = [_text(_of_model(metadata).get(key)) for metadata in said.values()]
        for key, label in _SHOWN:
            if any(key in metadata for metadata in said.values()):
                lines[label] = [_text(metadata.get(key)) for metadata in said.values()]
        rows = []
        for label, values in lines.items():
            same = len(set(values)) == 1 and label != "set"
            cells = [Cell(values[0])] + [Cell("")] * (len(values) - 1) if same else [Cell(value) for value in values]
            if same and len(values) > 1:
                cells = [Cell(values[0], below="the same for all sets"), *cells[1:]]
            rows.append([Cell(label, head=True), *cells])
        empty = [Cell("")] * (len(said) - 1)
        times = [key for key in ("started", "ended") if key in entry.run]
        rows += [[Cell(key, head=True), Cell(str(entry.run[key])), *empty] for key in times]
        columns = [Column("", numeric=False), *(Column(name, numeric=False) for name in said)]
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
