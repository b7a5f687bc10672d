"""The endpoint's key: read from the environment, shown nowhere."""

from __future__ import annotations

import os
import warnings

from paraconsist.errors import input_error
from paraconsist.models.endpoint.settings import EndpointSettings

_DEFAULT_VARIABLE = "OPENAI_API_KEY"
_DEFAULT_HOST = "api.openai.com"
_MASK = "***"


class Key:
    """A secret that neither ``repr`` nor pickling gives away."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return f"Key({_MASK})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    @property
    def headers(self) -> dict[str, str]:
        """What is sent."""
        return {"Authorization": f"Bearer {self._secret}"}

    def hide(self, text: str) -> str:
        """Return `text` without the key, and without long parts of it (servers quote keys, sometimes cut)."""
        text = text.replace(self._secret, _MASK)
        words = []
        for word in text.split(" "):
            bare = word.strip(".,;:!?'\"()[]{}<>")
            part = bare.strip("*.…")
            ours = len(part) >= 6 and (part in self._secret or _is_cut_from(part, self._secret))
            words.append(word.replace(bare, _MASK) if ours else word)
        return " ".join(words)


def _is_cut_from(word: str, secret: str) -> bool:
    """Whether a word is the secret with its middle starred or dotted out."""
    for mark in ("*", "...", "…"):
        first, found, rest = word.partition(mark)
        if found:
            last = rest.lstrip("*.…")
            return len(first) + len(last) >= 4 and secret.startswith(first) and secret.endswith(last)
    return False


def find_key(settings: EndpointSettings) -> Key | None:
    """Return the key for an endpoint, or None where none is asked for.

    The default variable's key goes to its own host only: another endpoint gets a key only where the user names the
    variable.

    Raises
    ------
    InputError
        If the variable that was named is not set. The message does not repeat the name, which might be the key
        itself, given by mistake.
    """
    named = settings.key_variable
    variable = named if named is not None else _DEFAULT_VARIABLE if settings.host == _DEFAULT_HOST else None
    if variable is None:
        return None
    secret = os.environ.get(variable, "").strip()
    if secret:
        if not secret.isascii() or any(c.isspace() or not c.isprintable() for c in secret):
            raise input_error(
                "run", "api_key_variable", "name a variable that holds a key: ASCII characters, no white space"
            )
        if settings.url.startswith("http://") and not settings.is_local:
            warnings.warn(f"the key for {settings.host} goes over http, unencrypted", UserWarning, stacklevel=2)
        return Key(secret)
    if named is None:
        return None
    raise input_error(
        "run",
        "api_key_variable",
        "name an environment variable that is set",
        remedy="Give the variable's name, not the key itself, and export it: keys are read from the environment only.",
    )
