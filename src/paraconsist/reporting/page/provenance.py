"""What comes with the numbers of a page: errors, warnings and notes, signatures, metadata of the runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from paraconsist.data.sharing import public
from paraconsist.reporting.formatting import count, listed
from paraconsist.reporting.page.models import Model, Report
from paraconsist.reporting.table import Cell, Column, Table
from paraconsist.scoring.compare import ModelPair, SetComparison

LEVELS = ERROR, WARNING, NOTE = "errors", "warnings", "notes"
_FEW = 0.02
#: Keys of the metadata of a run's predictions, and their labels.
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
#: What a run over an endpoint records of each set, and the labels.
_SPENT = {
    "n_requests": "requests",
    "prompt_tokens": "tokens read",
    "completion_tokens": "tokens written",
    "cost": "cost",
    "n_uncounted": "answers of unknown tokens and cost",
}


def notices(report: Report) -> dict[str, list[tuple[str, str]]]:
    """Return errors, warnings and notes, each (sentence, models and sets) once.

    An error means that a number does not describe the model, a warning is about its rows, a note about the estimate or
    about few rows.
    """
    where: dict[tuple[str, str], list[str]] = {}
    several = len(report.sets) > 1
    for model in report.models:
        for name, scored in model.sets.items():
            place = f"{name}, {model.name}" if several else model.name
            estimated = [warning for values in scored.measures.values() for warning in values.get("warnings", ())]
            few = [sentence for sentence in scored.warnings if _is_about_few(sentence)]
            of_rows = [sentence for sentence in scored.warnings if sentence not in few]
            levels = {ERROR: scored.degenerate, WARNING: of_rows, NOTE: [*few, *estimated]}
            for level, sentences in levels.items():
                for sentence in dict.fromkeys(map(str, sentences)):
                    where.setdefault((level, sentence), []).append(place)
        for name, why in model.apart.items():
            where[WARNING, f"not compared with the others on {name}: {why}"] = [model.name]
        notes = [*model.notes, *(w for values in model.experiment.values() for w in values.get("warnings") or ())]
        for sentence in dict.fromkeys(map(str, notes)):
            where.setdefault((NOTE, sentence), []).append(model.name)
    told = {sentence for _, sentence in where}
    for comparison in report.compared:
        for sentence in (one for one in dict.fromkeys(comparison.warnings) if one.partition(": ")[2] not in told):
            where.setdefault((NOTE, sentence), []).append(f"{comparison.set}, compared" if several else "compared")
    n_results = sum(len(model.sets) for model in report.models)
    by_level: dict[str, list[tuple[str, str]]] = {}
    seen: set[str] = set()
    for (level, sentence), places in sorted(where.items(), key=lambda item: LEVELS.index(item[0][0])):
        if sentence not in seen:
            by_level.setdefault(level, []).append((sentence, "" if len(places) >= n_results else listed(places)))
        seen.add(sentence)
    return by_level


def _is_about_few(sentence: str) -> bool:
    """Return whether a warning is about so many of so many, and these are few."""
    parts = [[int(n.replace(",", "")) for n in pair] for pair in re.findall(r"(\d[\d,]*) of (\d[\d,]*)", sentence)]
    return bool(parts) and all(n < _FEW * whole for n, whole in parts)


def signatures(models: Sequence[Model], compared: Sequence[SetComparison] = ()) -> list[tuple[str, str]]:
    """Return (set and model, signature) of every result and difference, pairs with one signature together."""
    lines: list[tuple[str, str]] = []
    for model in models:
        parts = [(name, values) for name, scored in model.sets.items() for values in scored.measures.values()]
        named = [*parts, *model.experiment.items()]
        lines += [(f"{name}, {model.name}", str(v["signature"])) for name, v in named if v.get("signature")]
    pairs: dict[tuple[str, str], list[ModelPair]] = {}
    for comparison in compared:
        for pair in comparison.pairs:
            pairs.setdefault((comparison.set, str(pair.result["signature"])), []).append(pair)
    for (name, line), same in pairs.items():
        models_of = f"{same[0].first} minus {same[0].second}" if len(same) == 1 else f"{count(len(same))} pairs"
        lines.append((f"{name}, {models_of}", line))
    return lines


def identity_tables(models: Sequence[Model]) -> Iterator[Table]:
    """Yield for each model a table of its runs' metadata, a column for each set."""
    for model in models:
        metadata = {
            name: public(scored.predictions.metadata)
            for name, scored in model.sets.items()
            if scored.predictions.metadata
        }
        if not metadata:
            continue
        identities = [part if isinstance(part := of_set.get("model"), Mapping) else {} for of_set in metadata.values()]
        lines = {
            f"model: {key}": [_text(identity.get(key)) for identity in identities]
            for key in dict.fromkeys(key for identity in identities for key in identity)
        }
        for key, label in _IDENTITY.items():
            if any(key in of_set for of_set in metadata.values()):
                lines[label] = [_text(of_set.get(key)) for of_set in metadata.values()]
        passes = [of_pass.get("sets", {}) for of_pass in (model.run.get("endpoint") or {}).values()]
        spent = {name: values for sets in passes for name, values in sets.items()}
        for key, label in _SPENT.items():
            if spent.keys() >= metadata.keys() and any(of_set.get(key) is not None for of_set in spent.values()):
                lines[label] = [_text(spent[name].get(key)) for name in metadata]
        empty = [Cell()] * (len(metadata) - 1)
        rows = []
        for label, values in lines.items():
            same = len(set(values)) == 1 and label != "set"
            note = "the same for all sets" if empty else ""
            cells = [Cell(values[0], below=note), *empty] if same else [Cell(value) for value in values]
            rows.append([Cell(label, head=True), *cells])
        run = model.run
        times = [key for key in ("started", "ended") if key in run]
        rows += [[Cell(key, head=True), Cell(str(run[key])), *empty] for key in times]
        columns = [Column("field", words=True), *(Column(name, words=True) for name in metadata)]
        yield Table(f"Metadata of the run of {model.name}", columns, rows)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
