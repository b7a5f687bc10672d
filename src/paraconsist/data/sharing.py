"""What others may see of a run: names in place of this machine's paths, no hosts and no addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'`,;()<>\[\]]+", re.IGNORECASE)
_ROOT = re.compile(r"[/\\][^/\\\n]+[/\\]|(?:~|\.{1,2}|[A-Za-z]:)[/\\]")
_PATH = re.compile(r"(?<![\w.:/\\])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]+[^\s/\\\"'`,;:()\[\]]+){2,}")


def public_name(name: str) -> str:
    """Return a model's name: of a folder its last part, for where it is on a machine says nothing elsewhere.

    >>> public_name("/home/ada/models/bow"), public_name("org/name"), public_name("C:\\\\models\\\\bow")
    ('bow', 'org/name', 'bow')
    """
    is_local = bool(_ROOT.match(name)) or "\\" in name or name.count("/") > 1
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1] if is_local else name


def local_names(value: Any) -> dict[str, str]:
    """Return the models of the identities in a value that lie on this machine: as they are called -> their names."""
    names: dict[str, str] = {}
    if isinstance(value, Mapping):
        if isinstance(model := value.get("model"), str):
            # an identity with a hash of weights is a folder's, whatever its name looks like
            name = re.split(r"[/\\]", model.rstrip("/\\"))[-1] if "weights_hash" in value else public_name(model)
            names = {model: name} if name != model else {}
        for inner in value.values():
            names |= local_names(inner)
    return names


def public(value: Any, names: Mapping[str, str] | None = None) -> Any:
    """Return plain values with every text made public: `local_names` by name, other paths by their last part.

    >>> public({"model": "runs/bow", "weights_hash": "0", "endpoint": "http://gpu7.lab:8000/v1"})
    {'model': 'bow', 'weights_hash': '0', 'endpoint': '(address)'}
    """
    names = local_names(value) if names is None else names
    if isinstance(value, Mapping):
        return {key: public(inner, names) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [public(inner, names) for inner in value]
    if not isinstance(value, str):
        return value
    for path, name in names.items():
        value = value.replace(path, name)
    if _ROOT.match(value) and "\n" not in value:
        return public_name(value)
    return _PATH.sub(lambda path: public_name(path[0]), _ADDRESS.sub("(address)", value))
