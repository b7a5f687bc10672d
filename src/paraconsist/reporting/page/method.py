"""How the numbers were made: signatures, the identity of each run, and what was found suspicious."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paraconsist.reporting.page.entries import Entry
from paraconsist.reporting.page.numbers import Cell, Column, Table

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
