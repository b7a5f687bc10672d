"""What results have in common: their uncertainty, plain Python values, a short text and a table for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

#: The mappings of values to what is known of their uncertainty.
UNCERTAINTY = ("confidence_interval", "standard_error", "n_clusters", "design_effect")
#: What stands after a result's own values.
_LAST = ("chance", "chance_corrected", *UNCERTAINTY, "bias", "signature", "warnings")


class Record(Mapping[str, Any]):
    """Base of frozen dataclasses that are written as mappings, and that can be read as the mapping that is written.

    The keys are the names of the fields; a field that is None, or has no text, has no key.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, as plain Python; what was not requested (None) or has no text is left out.

        Undefined values stay ``nan``; `to_strict_json` turns them into ``None`` for files.
        """
        return {name: _plain(value) for name, value in self._written().items()}

    def __getitem__(self, key: str) -> Any:
        """Return one value of `to_dict`."""
        written = self._written()
        if key not in written:
            raise KeyError(f"{type(self).__name__} has no {key!r}; its keys are {', '.join(written)}")
        return _plain(written[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._written())

    def __len__(self) -> int:
        return len(self._written())

    def _written(self) -> dict[str, Any]:
        names = sorted((f.name for f in fields(self) if f.repr), key=_place)  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        return {key: value for key, value in values.items() if not (value is None or (key in _LAST and value == {}))}


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Record):
    """Base of what measures return; a result declares its values only.

    Attributes
    ----------
    confidence_interval : dict of str to list of two floats
        Of each value, by its name.
    standard_error : dict of str to float
        Cluster-robust.
    n_clusters : dict of str to int
        The independent units behind each value: groups, or rows (buckets, for means over buckets) where there are none.
    design_effect : dict of str to float
        Variance of each value over that of as many independent rows (buckets): 1 without `groups`.
    chance, chance_corrected : float or None
        What the headline would be if the model's own answers were shuffled over the texts, and the consistency above
        that, on one scale for all measures: 1 if no wording changes anything, 0 as if the wording decided all (see
        `paraconsist.measures.chance`); nan for a constant answer. None for what answers cannot be shuffled in.
    signature : str
        How the numbers were made; see `paraconsist.measures.signatures`.
    warnings : tuple of str
        What to know before reading them.
    """

    confidence_interval: dict[str, Any]
    standard_error: dict[str, Any] = field(default_factory=dict)
    n_clusters: Any = field(default_factory=dict)
    design_effect: dict[str, Any] = field(default_factory=dict)
    chance: float | None = None
    chance_corrected: float | None = None
    signature: str
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        rows = list(self._rows())
        width = max(len(name) for name, *_ in rows)
        lines = [f"{name:<{width}}  {value}  {interval}".rstrip() for name, value, interval in rows]
        notes = [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([type(self).__name__, *(f"  {line}" for line in (*lines, self.signature, *notes))])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._rows())
        notes = "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>{notes}<p>{escape(self.signature)}</p>"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and interval of every number; of a mapping only the entries with an interval."""
        level = self.confidence_interval
        for name, value in self.to_dict().items():
            ends = level.get(name, {})
            if isinstance(value, Mapping) and name not in _LAST:
                for key, inner in value.items():
                    pair = ends.get(key) if isinstance(ends, Mapping) and ends else level.get(f"{name}/{key}")
                    if pair:
                        yield f"{name}/{key}", _text(inner), _ends(pair)
            elif isinstance(value, (bool, int, float)):
                yield name, _text(value), _ends(ends)


def _place(name: str) -> int:
    return _LAST.index(name) + 1 if name in _LAST else 0


def _ends(interval: Any) -> str:
    return f"[{_text(interval[0])}, {_text(interval[1])}]" if interval and interval[0] == interval[0] else ""


def _text(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    return value
