"""What a transformation is: fitted to a corpus once, then a function from texts to texts that reports what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from paraconsist.errors import input_error

#: A text an item, or the texts of each item (premise and hypothesis).
Items: TypeAlias = Sequence[str] | Sequence[Sequence[str]]


class Fitted(Protocol):
    """A transformation that has seen its corpus."""

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return each text's transformed form, in order; never an empty text where there was one."""

    def report(self, texts: Items, changed: Items) -> dict[str, Any]:
        """Return what was done, item by item (a text, or an item's texts): shares and counts."""


@runtime_checkable
class HasSurface(Protocol):
    """A fitted transformation that also changes case and punctuation, which is no change of words."""

    def unchanged(self, text: str) -> str:
        """Return a text as `apply` would return it if it replaced no word."""


class Transformation(Protocol):
    """A change of text that should keep its meaning.

    `name` is as in the registry; `parameters` are every option with its value, ready for JSON: with the name and the
    corpus they say what was done.
    """

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, object]: ...

    def fit(self, texts: Sequence[str]) -> Fitted:
        """Learn from a corpus what is needed (word frequencies, say); a fixed transformation learns nothing."""


@dataclass(frozen=True)
class Substitution:
    """One word of a text that was replaced."""

    # The word as it stood, in lower case, and what stands there now.
    before: str
    after: str
    # Which word of the text it is (`replacing.bare_words`), where that is known.
    word: int | None = field(default=None, compare=False)


def checked_texts(texts: Sequence[str], function: str) -> Sequence[str]:
    """Return `texts`; raise, naming the row, if they are no sequence of texts."""
    if isinstance(texts, str):
        raise input_error(function, "texts", "be a sequence of texts, not one text", got=texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise input_error(function, "texts", "hold texts only", got=text, row=row)
    return texts


def each_text(apply: Callable[[str], object], texts: Sequence[str], function: str) -> list[str]:
    """Apply a function to each text, each distinct text once.

    InputError if it returns something else than a text, or an empty one for one that is not; the message names the row.
    """
    done: dict[str, str] = {}
    for row, text in enumerate(checked_texts(texts, function)):
        if text in done:
            continue
        result = apply(text)
        if not isinstance(result, str) or (text.strip() and not result.strip()):
            must = "not return an empty text" if isinstance(result, str) else "return a text for every text"
            remedy = f"The text was {text if len(text) <= 80 else text[:77] + '...'!r}."
            raise input_error(function, "transformation", must, got=result, row=row, remedy=remedy)
        done[text] = result
    return [done[text] for text in texts]


def apply_to_columns(
    fitted: Fitted, columns: Mapping[str, Sequence[str]], name: str, *, function: str = "transform"
) -> dict[str, list[str]]:
    """Transform columns of texts (column -> its texts); `name`, the transformation's, and `function` are for messages.

    InputError if a column holds something else than texts, or nothing at all changes.
    """
    changed = {column: fitted.apply(checked_texts(texts, function)) for column, texts in columns.items()}
    for column, texts in columns.items():
        if len(changed[column]) != len(texts):
            must = f"return {len(texts):,} texts for {column}"
            raise input_error(function, "transformation", must, got=len(changed[column]))
    before = columns
    if isinstance(fitted, HasSurface):
        before = {column: [fitted.unchanged(text) for text in texts] for column, texts in columns.items()}
    if any(texts for texts in columns.values()) and all(list(before[c]) == changed[c] for c in columns):
        must = f"change at least one text of {', '.join(columns)}"
        remedy = "Look at its dictionary, block list and columns: with nothing changed there is nothing to test."
        raise input_error(function, "transformation", must, got=name, remedy=remedy)
    return changed
