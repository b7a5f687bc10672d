"""Texts of a run that may be published: names in place of this machine's paths, no hosts, addresses or keys."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s\"'`,;()<>\[\]]+", re.IGNORECASE)
_ROOT = re.compile(r"[/\\][^/\\\n]+[/\\]|(?:~|\.{1,2}|[A-Za-z]:)[/\\]")
_PATH = re.compile(r"(?<![\w.:/\\])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]+[^\s/\\\"'`,;:()\[\]]+){2,}")
#: The texts that are kept as values of a request's fields; any other text may be a key.
_WORDS = frozenset(
    ("auto", "default", "high", "json_object", "low", "max", "medium", "minimal", "none", "text", "xhigh")
)
_HASHED = re.compile("sha256:[0-9a-f]{16}")


def without_keys(value: Any) -> Any:
    """Replace possible keys among the values of a request's fields by their hashes.

    Names, numbers below 1e9, true, false, null and common words (low, none) are kept.

    >>> without_keys({"top_k": 1, "reasoning_effort": "low", "user": ["x7"]})
    {'top_k': 1, 'reasoning_effort': 'low', 'user': ['sha256:8cf3ebbdacddfddd']}
    """
    if isinstance(value, Mapping):
        return {name: without_keys(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_keys(inner) for inner in value]
    if value is None or (isinstance(value, (int, float)) and abs(value) < 1e9):
        return value
    text = str(value)
    if text in _WORDS or _HASHED.fullmatch(text):
        return text
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def request_fields_text(fields: str | Mapping[str, object]) -> str:
    """Return a request's further fields, or their JSON text, as one line `without_keys`."""
    values = json.loads(fields) if isinstance(fields, str) else fields
    return json.dumps(without_keys(values), sort_keys=True, ensure_ascii=False)


def public_name(name: str) -> str:
    """Return a model's public name: for a local folder its last part.

    >>> public_name("/home/ada/models/bow"), public_name("org/name"), public_name("C:\\\\models\\\\bow")
    ('bow', 'org/name', 'bow')
    """
    is_local = bool(_ROOT.match(name)) or "\\" in name or name.count("/") > 1
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1] if is_local else name


def public_comparer(named: str) -> str:
    """Return a comparer's or check's name with the last part of a path on this machine (``judge:FILE``)."""
    kind, colon, given = named.partition(":")
    return named if kind == "regex" else f"{kind}{colon}{public_name(given)}"


def local_names(value: Any) -> dict[str, str]:
    """Return the paths of local models in the identities of a value, each with its public name."""
    names: dict[str, str] = {}
    if isinstance(value, Mapping):
        if isinstance(model := value.get("model"), str):
            # an identity with a hash of weights belongs to a folder, even if its name has no slash
            name = re.split(r"[/\\]", model.rstrip("/\\"))[-1] if "weights_hash" in value else public_name(model)
            names = {model: name} if name != model else {}
        for inner in value.values():
            names |= local_names(inner)
    return names


def public(value: Any, names: Mapping[str, str] | None = None) -> Any:
    """Return plain values whose texts may be published: `local_names` by name, other paths by their last part.

    >>> public({"model": "runs/bow", "weights_hash": "0", "endpoint": "http://gpu7.lab:8000/v1"})
    {'model': 'bow', 'weights_hash': '0', 'endpoint': '(address)'}
    """
    names = local_names(value) if names is None else names
    if isinstance(value, Mapping):
        fields = value.get("request_fields")  # earlier versions stored them with their keys
        changes = {"request_fields": request_fields_text(fields)} if isinstance(fields, str) else {}
        return {key: public(inner, names) for key, inner in {**value, **changes}.items()}
    if isinstance(value, (list, tuple)):
        return [public(inner, names) for inner in value]
    if not isinstance(value, str):
        return value
    for path, name in names.items():
        value = value.replace(path, name)
    if _ROOT.match(value) and "\n" not in value:
        return public_name(value)
    return _PATH.sub(lambda path: public_name(path[0]), _ADDRESS.sub("(address)", value))
