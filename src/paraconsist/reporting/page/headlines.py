"""What surrounds the numbers: errors, warnings and notes; signatures; what runs said of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.data.sharing import public
from paraconsist.reporting import table as model
from paraconsist.reporting.beside import published_tables
from paraconsist.reporting.formatting import listed
from paraconsist.reporting.page.entries import Entry, set_names
from paraconsist.reporting.page.tables import Cell, Column, Table
from paraconsist.reporting.tables import figure_tables, noise_tables, policy_tables
from paraconsist.scoring.compare import SetComparison

LEVELS = ERROR, WARNING, NOTE = "errors", "warnings", "notes"
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


def notices(entries: Sequence[Entry], compared: Sequence[SetComparison]) -> dict[str, list[tuple[str, str]]]:
    """Return errors, warnings and notes, each (sentence, what it is of) once for all models and sets.

    An error is why a number says nothing of the model, a warning is about its rows, a note about how it was estimated.
    """
    where: dict[tuple[str, str], list[str]] = {}
    several = len(set_names(entries)) > 1
    for entry in entries:
        for name, scored in entry.sets.items():
            of = f"{name}, {entry.name}" if several else entry.name
            result = scored.results
            estimated = [w for v in result.get("measures", {}).values() for w in v.get("warnings", [])]
            levels = {ERROR: result.get("degenerate"), WARNING: result.get("warnings"), NOTE: estimated}
            for level, sentences in levels.items():
                for sentence in dict.fromkeys(map(str, sentences or ())):
                    where.setdefault((level, sentence), []).append(of)
        notes = [*entry.notes, *(w for values in entry.more.values() for w in values.get("warnings") or ())]
        for sentence in dict.fromkeys(map(str, notes)):
            where.setdefault((NOTE, sentence), []).append(entry.name)
    for one in compared:
        for sentence in dict.fromkeys(one.warnings):
            where.setdefault((NOTE, sentence), []).append(f"{one.set}, compared" if several else "compared")
    everything = sum(len(entry.sets) for entry in entries)
    by_level: dict[str, list[tuple[str, str]]] = {}
    seen: set[str] = set()
    for (level, sentence), names in sorted(where.items(), key=lambda item: LEVELS.index(item[0][0])):
        if sentence not in seen:
            by_level.setdefault(level, []).append((sentence, "" if len(names) >= everything else listed(names)))
        seen.add(sentence)
    return by_level


def reliability_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table]]:
    """Yield (model, table) of what the terminal says of noise, unparsed answers and confidence."""
    for entry in entries:
        results = {name: scored.results for name, scored in entry.sets.items()}
        figures = (
            part for name, result in results.items() if result.get("figures") for part in figure_tables(name, result)
        )
        policies = {name: result for name, result in results.items() if result.get("by_policy")}
        for made in (*noise_tables(results), *policy_tables(policies), *figures):
            if isinstance(made, model.Table) and "gold label" not in made.columns[0].label:
                yield entry.name, _of_terminal(made)


def paper_tables(entries: Sequence[Entry]) -> Iterator[tuple[str, Table | str]]:
    """Yield (model, table or sentence) of what papers print of their models on the same rows."""
    for entry in entries:
        for made in published_tables({name: scored.results for name, scored in entry.sets.items()}):
            yield entry.name, _of_terminal(made) if isinstance(made, model.Table) else made.text


def _of_terminal(made: model.Table) -> Table:
    columns = [Column(column.label, numeric=not column.words) for column in made.columns]
    lines = ([cell.text for cell in row] for row in made.rows if row)
    rows = [[Cell(first, head=bool(first)), *(Cell(cell, ours=True) for cell in rest)] for first, *rest in lines]
    return Table(made.title, columns, rows, made.caption)


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
        columns = [Column("field", numeric=False), *(Column(name, numeric=False) for name in metadata)]
        yield entry.name, Table(f"What the run of {entry.name} said of itself", columns, rows)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
